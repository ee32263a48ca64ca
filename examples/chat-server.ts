// A chat over TCP: each room is a fiber that nobody else can look into, each user is the fiber of a connection.
//
//   npm run example chat-server 5000         and then, in two windows:  nc localhost 5000

import { ensure, Fiber, main, type Routine, receive } from 'polyphony'
import { listen, type Stream } from 'polyphony/io'

type Subscriber = (name: string, text: string) => void
type RoomMessage =
  | { type: 'subscribe'; subscriber: Subscriber }
  | { type: 'unsubscribe'; subscriber: Subscriber }
  | { type: 'say'; name: string; text: string }
type Room = Fiber<void, RoomMessage>

function* chatRoom(): Routine<void> {
  const subscribers = new Set<Subscriber>()
  for (;;) {
    const message = yield* receive<RoomMessage>()
    if (message.type === 'subscribe') subscribers.add(message.subscriber)
    else if (message.type === 'unsubscribe') subscribers.delete(message.subscriber)
    else for (const tell of subscribers) tell(message.name, message.text)
  }
}

function* chatUser(socket: Stream, roomCalled: (name: string) => Room): Routine<void> {
  yield* socket.write('your name: ')
  const me = (yield* socket.gets()) ?? ''
  const subscriber: Subscriber = (name, text) => void socket.tryWrite(`${name}: ${text}\n`) // who does not read misses it
  let room: Room | undefined
  const leave = () => void room?.send({ type: 'unsubscribe', subscriber })
  yield* ensure(function* () {
    yield* socket.write('connect ROOM, send TEXT, disconnect\n')
    for (let line: string | undefined; (line = yield* socket.gets()) !== undefined; ) {
      const [, verb, rest = ''] = /^(\w+) ?(.*)$/.exec(line) ?? []
      if (verb === 'send') room?.send({ type: 'say', name: me, text: rest })
      else leave()
      if (verb === 'disconnect') room = undefined
      if (verb === 'connect') {
        room = roomCalled(rest)
        room.send({ type: 'subscribe', subscriber })
        yield* socket.write(`you are in ${rest}\n`)
      }
    }
  }, leave)
}

main(function* () {
  const building = Fiber.current
  const rooms = new Map<string, Room>()
  const roomCalled = (name: string): Room => {
    const room = rooms.get(name) ?? building.spin(`room ${name}`, chatRoom)
    rooms.set(name, room)
    return room
  }
  const server = yield* listen({ port: Number(process.argv[2] ?? 0) })
  console.log(`listening on port ${server.port}`)
  yield* server.acceptLoop((socket) => chatUser(socket, roomCalled))
})

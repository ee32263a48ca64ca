// A chat: every room is a fiber, every user is a fiber, and they know each other only by messages.
//
//   ada connect tea      bob connect tea      ada send hello      bob disconnect
//
// Type such lines; an empty one ends the program.

import { Fiber, main, type Routine, receive, receiveLoop, spin } from 'polyphony'
import { gets } from 'polyphony/io'

const HELP = 'NAME connect ROOM, NAME send TEXT, or NAME disconnect'

type Subscriber = (name: string, text: string) => void

/** What a room understands. */
type RoomMessage =
  | { type: 'subscribe'; subscriber: Subscriber }
  | { type: 'unsubscribe'; subscriber: Subscriber }
  | { type: 'addMessage'; name: string; text: string }
  | { type: 'close' }

function* chatRoom(): Routine<void> {
  const subscribers = new Set<Subscriber>() // nobody else can touch it
  for (;;) {
    const message = yield* receive<RoomMessage>()
    switch (message.type) {
      case 'subscribe':
        subscribers.add(message.subscriber)
        break
      case 'unsubscribe':
        subscribers.delete(message.subscriber)
        break
      case 'addMessage':
        for (const tell of subscribers) tell(message.name, message.text)
        break
      case 'close':
        return
    }
  }
}

type Room = Fiber<void, RoomMessage>
type User = Fiber<void, string>

/** Follows the commands of one user. */
function* chatUser(name: string, roomCalled: (name: string) => Room): Routine<void> {
  const subscriber: Subscriber = (from, text) => console.log(`[${name}] ${from}: ${text}`)
  let room: Room | undefined
  yield* receiveLoop((command: string): boolean => {
    const [, verb, rest = ''] = /^(\w+) ?(.*)$/.exec(command) ?? []
    switch (verb) {
      case 'connect':
        room = roomCalled(rest)
        room.send({ type: 'subscribe', subscriber })
        break
      case 'disconnect':
        room?.send({ type: 'unsubscribe', subscriber })
        room = undefined
        break
      case 'send':
        room?.send({ type: 'addMessage', name, text: rest })
        break
      case 'quit':
        return false // ends the loop
      default:
        console.log(`[${name}] connect ROOM, send TEXT, or disconnect`)
    }
    return true
  })
}

main(function* () {
  const me = Fiber.current
  const rooms = new Map<string, Room>()
  const users = new Map<string, User>()

  function roomCalled(name: string): Room {
    let room = rooms.get(name)
    if (room === undefined) rooms.set(name, (room = me.spin(`room ${name}`, chatRoom)))
    return room
  }

  console.log(HELP)
  for (let line = yield* gets(); line; line = yield* gets()) {
    const [, name = '', command = ''] = /^(\w+) (.+)$/.exec(line) ?? []
    if (name === '') {
      console.log(HELP)
      continue
    }
    let user = users.get(name)
    if (user === undefined) users.set(name, (user = spin(name, chatUser, name, roomCalled)))
    user.send(command)
  }

  // Messages come in order: what was said before the end is still heard.
  for (const user of users.values()) user.send('quit')
  yield* Fiber.await(...users.values())
  for (const room of rooms.values()) room.send({ type: 'close' })
  yield* Fiber.await(...rooms.values())
})

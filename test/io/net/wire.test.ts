// What a socket tells its stream while no fiber reads: `gone()` and its hook, for every kind of connection.

import type { Socket as NetSocket } from 'node:net'
import { type Socket, StreamClosed } from 'polyphony/io'
import {
  assert,
  eventually,
  type Fiber,
  moveOnAfter,
  type Op,
  type Routine,
  race,
  snooze,
  spin,
  suspend,
  thrownBy,
  turns,
  until,
  untilWaiting,
} from '../../prelude.js'
import { ends, forEveryKind, KINDS, reset, sent, type Transport } from './ends.js'

const BYTES = Buffer.alloc(10_000, 'pipelined ')

/** How a peer goes away, and what is told of it. A close of TLS is an end or a reset: session tickets may be unread. */
const WAYS: [how: string, go: (peer: NetSocket) => unknown, told: 'ended' | 'lost', except?: Transport][] = [
  ['an end', (peer) => peer.end(), 'ended'],
  ['a close', (peer) => peer.destroy(), 'ended', 'TLS'],
  ['a reset', reset, 'lost', 'Unix'],
]

/** What the hook is told, for code of the library that has no fiber to spare. */
function hooked(socket: Socket): string[] {
  const log: string[] = []
  const inside = socket as unknown as { onGone: (how: string) => void; watch(): void }
  inside.onGone = (how) => void log.push(how)
  inside.watch()
  return log
}

/** The bytes that can still be read. */
function* rest(socket: Socket): Routine<string> {
  let text = ''
  try {
    for (let chunk: Buffer | undefined; (chunk = yield* socket.read()) !== undefined; ) text += chunk
  } catch (error) {
    assert.equal((error as { code?: string }).code, 'ECONNRESET')
  }
  return text
}

for (const [how, go, told, except] of WAYS) {
  const kinds = KINDS.filter(({ transport }) => transport !== except)

  for (const [what, bytes] of [
    ['nothing', ''],
    ['10 kB', `${BYTES}`],
  ] as const) {
    forEveryKind(
      `${how} with ${what} unread is noticed by a handler that does not read`,
      function* (server, kind) {
        const [socket, peer] = yield* ends(server, kind)
        const watching = spin(() => socket.gone())
        yield* untilWaiting(watching)
        assert.equal(watching.waitsFor, `${socket.name}.gone()`)
        if (bytes !== '') yield* sent(peer, bytes)
        yield* eventually(() => socket.stats().unread === bytes.length)
        assert.deepEqual([watching.state, socket.stats().readers], ['waiting', 0])
        go(peer)
        assert.equal(yield* watching, told)
        assert.equal(yield* socket.gone(), told) // and at once, later
        assert.equal(yield* rest(socket), bytes)
        assert.equal(yield* socket.gone(), told)
      },
      { kinds },
    )
  }

  forEveryKind(
    `${how} is told to two watchers, one of them in a race, and to the hook`,
    function* (server, kind) {
      const [socket, peer] = yield* ends(server, kind)
      const log = hooked(socket)
      const watchers = [spin(() => socket.gone()), spin(() => race([() => socket.gone(), () => suspend()]))]
      yield* untilWaiting(...watchers)
      go(peer)
      for (const watcher of watchers as Fiber<any>[]) assert.equal(yield* watcher, told)
      yield* until(turns(20))
      assert.deepEqual(log, [told])
    },
    { kinds },
  )

  forEveryKind(
    `${how} is told to the hook alone: no fiber is needed`,
    function* (server, kind) {
      const [socket, peer] = yield* ends(server, kind)
      const log = hooked(socket)
      go(peer)
      yield* eventually(() => log.length > 0)
      yield* socket.close()
      yield* until(turns(20))
      assert.deepEqual(log, [told])
    },
    { kinds },
  )
}

forEveryKind('gone() takes no place among readers, and does not hold them up', function* (server, kind) {
  const [socket, peer] = yield* ends(server, kind)
  const watching = spin(() => socket.gone())
  yield* untilWaiting(watching)
  const readers = [spin(() => socket.gets()), spin(() => socket.gets())]
  yield* untilWaiting(...readers)
  assert.equal(socket.stats().readers, 2)
  yield* sent(peer, 'one\ntwo\nthree\n')
  assert.deepEqual([yield* readers[0]!, yield* readers[1]!, yield* socket.gets()], ['one', 'two', 'three'])
  assert.equal(watching.state, 'waiting')
  peer.end('four')
  assert.equal(yield* watching, 'ended')
  assert.equal(`${yield* socket.readAll()}`, 'four')
})

forEveryKind(
  'gone() on a stream that is closed here throws; a close ends the wait',
  function* (server, kind) {
    for (const close of [(socket: Socket) => socket.close(), (socket: Socket) => void socket.destroy()]) {
      const [socket] = yield* ends(server, kind)
      const watching = spin(() => thrownBy(socket.gone()))
      yield* untilWaiting(watching)
      const closing = close(socket)
      if (closing !== undefined) yield* closing as Op<void>
      for (const error of [yield* watching, yield* thrownBy(socket.gone())]) {
        assert.ok(error instanceof StreamClosed)
        assert.equal(error.message, `${socket.name}.gone() failed: the stream is closed`)
      }
    }
  },
)

forEveryKind(
  'a wait for gone() that is stopped or killed leaves nothing, and the next one hears',
  function* (server, kind) {
    const [socket, peer] = yield* ends(server, kind)
    for (const verb of ['stop', 'kill'] as const) {
      const watching = spin({ link: false }, () => socket.gone())
      yield* untilWaiting(watching)
      yield* watching[verb]()
    }
    assert.equal(yield* moveOnAfter(0, () => socket.gone(), 'not yet'), 'not yet')
    const watching = spin(() => socket.gone())
    yield* untilWaiting(watching)
    yield* sent(peer, 'a line\n')
    assert.equal(yield* socket.gets(), 'a line')
    peer.end()
    assert.equal(yield* watching, 'ended')
  },
)

/** Ways to take what has arrived, without waiting for more. */
const TAKES: [string, (socket: Socket) => Op<unknown> | unknown][] = [
  ['read()', (socket) => socket.read()],
  ['gets()', (socket) => socket.gets()],
  ['readExactly()', (socket) => socket.readExactly(1000)],
  ['tryRead()', (socket) => socket.tryRead()],
]

for (const [what, take] of TAKES) {
  forEveryKind(
    `beyond the read-ahead an end is noticed only when some is read, by ${what}`,
    function* (server, kind) {
      const [socket, peer] = yield* ends(server, kind)
      const watching = spin(() => socket.gone())
      yield* untilWaiting(watching)
      yield* sent(peer, `${'x'.repeat(999)}\n`.repeat(20))
      peer.end()
      yield* eventually(() => socket.stats().unread >= 1000)
      yield* until(turns(50))
      const ahead = socket.stats().unread
      assert.ok(ahead >= 1000 && ahead <= 20_000, `${ahead} bytes ahead`)
      if (kind.transport !== 'TLS' && kind.isShared)
        assert.ok(watching.state === 'waiting' || ahead === 20_000)
      for (let i = 0; i < 200 && watching.state === 'waiting'; i++) {
        const taken = socket.stats().unread > 0 ? take(socket) : snooze()
        if (typeof taken === 'object' && taken !== null && !Buffer.isBuffer(taken))
          yield* taken as Op<unknown>
        if (socket.stats().unread < 1000) yield* until(turns(5))
      }
      assert.equal(yield* watching, 'ended')
    },
    { options: { readAhead: 1000 } },
  )
}

// Sockets, by TCP and Unix sockets, with the shared receive buffer and without: the two directions and their ends,
// peers that do not read, and peers that leave in the middle.

import { once } from 'node:events'
import type { Socket as NetSocket } from 'node:net'
import { join } from 'node:path'
import { connect, IOError, type Server, type Socket, StreamClosed } from 'polyphony/io'
import { wires } from '#io/net/wire'
import {
  assert,
  describe,
  eventually,
  Fiber,
  moveOnAfter,
  type Op,
  type Routine,
  scope,
  sleep,
  snooze,
  spin,
  suspend,
  TimedOut,
  thrownBy,
  turn,
  turns,
  until,
  untilWaiting,
  use,
} from '../../prelude.js'
import { accepted, bothEnds, connected, folder, listening, opened, rawClient, realTest } from '../real.js'
import { ca, host, serving } from '../tls.js'
import { ends, forEveryKind, nodePeer, onVirtualClock, reset, sent, targetOf } from './ends.js'

const MEGABYTE = 1024 * 1024

/** Waits until a count does not change any more. */
async function settled(count: () => number): Promise<number> {
  for (let before = -1; count() !== before; await turns(20)) before = count()
  return count()
}

for (const kind of ['TCP', 'Unix'] as const) {
  for (const isShared of [true, false]) {
    describe(`${kind} sockets ${isShared ? 'with the shared buffer' : 'as Node made them'}`, () => {
      const socketTest = (name: string, body: (server: Server) => Routine<void>) =>
        realTest(name, function* () {
          wires.work = isShared ? undefined : false
          yield* use(wires, () => void (wires.work = undefined))
          const server = yield* listening(kind === 'TCP' ? {} : { path: join(yield* folder(), 's') })
          yield* body(server)
          assert.equal(wires.work, isShared)
        })

      /** A connection, from the side that was accepted and from the other. */
      function* eitherEnd(server: Server): Routine<[Socket, Socket][]> {
        const [one, other] = yield* bothEnds(server)
        return [yield* bothEnds(server), [other, one]]
      }

      socketTest('carry bytes both ways at once; a side that has ended can read on', function* (server) {
        const ends = yield* bothEnds(server)
        const chunks = Array.from({ length: 100 }, (_, i) => Buffer.alloc(i * 300, i))
        const send = function* (to: Socket): Routine<void> {
          for (const chunk of chunks) yield* to.write(chunk)
          yield* to.end()
        }
        const readers = ends.map((end) => spin(() => end.readAll()))
        for (const end of ends) spin(send, end)
        for (const read of yield* Fiber.await(...readers)) assert.ok(read.equals(Buffer.concat(chunks)))
        for (const [near, far] of yield* eitherEnd(server)) {
          yield* near.end('question')
          assert.equal(`${yield* far.readAll()}`, 'question')
          yield* far.end('answer')
          assert.deepEqual([`${yield* near.readAll()}`, yield* near.read()], ['answer', undefined])
        }
      })

      socketTest('a writer waits while the other side does not read: memory is bounded', function* (server) {
        for (const [reader, writer] of yield* eitherEnd(server)) {
          const chunk = Buffer.alloc(MEGABYTE)
          const writing = spin(function* () {
            for (let i = 0; i < 64; i++) yield* writer.write(chunk)
            yield* writer.end()
          })
          assert.ok((yield* reader.read())!.length > 0) // it begins to read ahead
          const written = yield* until(settled(() => writer.stats().written))
          assert.equal(writing.state, 'waiting')
          assert.ok(written < 32 * MEGABYTE, `${written} bytes were written that are not read`)
          assert.ok(reader.stats().unread <= 256 * 1024, `${reader.stats().unread} bytes were read ahead`)
          assert.equal(writer.tryWrite('x'), false)
          let count = reader.stats().received - reader.stats().unread
          yield* reader.readLoop((bytes) => void (count += bytes.length))
          assert.equal(count, 64 * MEGABYTE)
          yield* writing
        }
      })

      socketTest('a side that leaves in the middle of a write: the writer is told', function* (server) {
        const [reader, writer] = yield* bothEnds(server)
        const writing = spin({ link: false }, function* () {
          for (;;) yield* writer.write(Buffer.alloc(MEGABYTE))
        })
        yield* reader.read()
        reader.destroy()
        const error = yield* thrownBy(writing)
        assert.ok(error instanceof IOError)
        assert.match(error.code, /^(EPIPE|ECONNRESET)$/)
        assert.ok(error.message.startsWith(`${writer.name}.write() failed: `), error.message)
        const again = yield* thrownBy(writer.write('more'))
        assert.notEqual(again, error)
        assert.ok(again instanceof IOError || again instanceof StreamClosed)
      })

      if (kind === 'TCP') {
        socketTest('a reset: what had come can be read, then every wait is told', function* (server) {
          const { socket: peer } = yield* rawClient(server)
          const socket = yield* accepted(server)
          yield* until(new Promise((sent) => peer.write('a line\nhalf', sent)))
          assert.equal(yield* socket.gets(), 'a line')
          peer.resetAndDestroy()
          const error = yield* thrownBy(socket.gets())
          assert.ok(error instanceof IOError)
          assert.deepEqual([error.code, error.syscall], ['ECONNRESET', 'read'])
          const name = `tcp 127.0.0.1:${socket.remotePort}`
          assert.equal(error.message, `${name}.gets() failed: connection reset by peer (ECONNRESET)`)
          assert.equal(`${yield* socket.read()}`, 'half')
          assert.equal((yield* thrownBy(socket.read())).code, 'ECONNRESET')
          assert.equal((yield* thrownBy(socket.write('x'))).code, 'ECONNRESET')
          yield* socket.close()
          assert.ok((yield* thrownBy(socket.read())) instanceof StreamClosed)
        })
      }

      socketTest('close() sends what was written; a fiber that gives up closes at once', function* (server) {
        for (const [one, other] of yield* eitherEnd(server)) {
          one.tryWrite(Buffer.alloc(4 * MEGABYTE))
          const closing = spin(() => one.close())
          assert.equal((yield* other.readAll()).length, 4 * MEGABYTE)
          yield* closing
          assert.ok((yield* thrownBy(one.write('x'))) instanceof StreamClosed)
        }
        const [half] = yield* bothEnds(server)
        yield* half.end()
        yield* half.close() // although the other side has not ended
        const [one, other] = yield* bothEnds(server)
        one.tryWrite(Buffer.alloc(32 * MEGABYTE))
        const closing = spin(() => one.close())
        yield* snooze()
        assert.equal(closing.waitsFor, `${one.name}.close()`)
        yield* closing.stop()
        const outcome = yield* spin({ link: false }, () => other.readAll()).join()
        assert.ok(outcome.type !== 'value' || outcome.value.length < 32 * MEGABYTE)
      })
    })
  }
}

/** All that a socket of Node's gives, up to its end. */
const allOf = (socket: NetSocket): Promise<string> =>
  new Promise((resolve, reject) => {
    let text = ''
    socket.on('data', (chunk) => void (text += chunk)).on('error', reject)
    socket.on('end', () => resolve(text)).resume()
  })

describe('S75 close()', () => {
  const large = MEGABYTE // more than the system takes for a peer that does not read yet

  forEveryKind(
    'what was written arrives although the other side has sent bytes that were not read',
    function* (server, kind) {
      for (const isRead of [false, true]) {
        const [stream, peer] = yield* ends(server, kind)
        yield* sent(peer, 'x'.repeat(200_000))
        if (isRead) yield* stream.read(1)
        const closing = spin(function* () {
          yield* stream.write('y'.repeat(large))
          yield* stream.close()
        })
        const all = until(allOf(peer)) // reads from now on
        assert.equal((yield* all).length, large)
        peer.end()
        yield* closing
      }
    },
  )

  forEveryKind(
    'what was written arrives although the other side sends on until it has all',
    function* (server, kind) {
      const [stream, peer] = yield* ends(server, kind)
      yield* sent(peer, 'x')
      yield* stream.read()
      const sending = spin(function* () {
        for (;;) {
          yield* sent(peer, 'x')
          yield* turn()
        }
      })
      const closing = spin(function* () {
        yield* stream.write('y'.repeat(large))
        yield* stream.close()
      })
      const all = until(allOf(peer))
      assert.equal((yield* all).length, large)
      yield* sending.stop()
      peer.end()
      yield* closing
    },
  )

  forEveryKind(
    'while the other side sends, the connection is held; when it ends, it is closed at once',
    function* (server, kind) {
      const [stream, peer] = yield* ends(server, kind)
      yield* sent(peer, 'x')
      const closing = spin(() => stream.close())
      yield* until(once(peer.resume(), 'end'))
      yield* sent(peer, 'more')
      assert.equal(closing.state, 'waiting')
      peer.end()
      yield* closing
    },
  )

  realTest('a peer that never ends its sending is cut after closeTimeout, without an error', function* () {
    const server = yield* listening({ closeTimeout: 100 })
    const { socket } = yield* rawClient(server)
    socket.on('error', () => {})
    const stream = yield* accepted(server)
    const sending = spin(function* () {
      for (;;) {
        socket.write('x')
        yield* turn()
      }
    })
    yield* stream.read()
    yield* stream.close()
    yield* sending.stop()
  })
})

describe('detach()', () => {
  /** The socket of a stream, given back to Node; destroyed when the fiber is over. */
  const detached = (stream: Socket): Op<NetSocket> => use(stream.detach(), (socket) => void socket.destroy())

  const TEXT = 'the quick brown fox'

  forEveryKind('no byte is lost, wherever the moment of detach() is', function* (server, kind) {
    for (let at = 0; at <= TEXT.length; at++) {
      for (const taken of [0, Math.floor(at / 2), at]) {
        for (const isLate of [false, true]) {
          const [stream, peer] = yield* ends(server, kind)
          stream.tryRead() // reads ahead from now on
          if (at > 0) yield* sent(peer, TEXT.slice(0, at))
          if (!isLate) yield* eventually(() => stream.stats().unread === at)
          const first = taken === 0 ? '' : `${yield* stream.readExactly(taken)}`
          if (isLate) peer.end(TEXT.slice(at)) // in this very turn
          const socket = yield* detached(stream)
          if (!isLate) peer.end(TEXT.slice(at))
          assert.equal(first + (yield* until(allOf(socket))), TEXT, `${at}, ${taken}`)
          peer.destroy()
        }
      }
    }
  })

  forEveryKind('bytes that come one by one meanwhile arrive in their order', function* (server, kind) {
    const [stream, peer] = yield* ends(server, kind)
    const text = Array.from({ length: 200 }, (_, i) => `${i} `).join('')
    const writing = spin(function* () {
      for (const byte of text) yield* sent(peer, byte)
      peer.end()
    })
    const first = `${yield* stream.readExactly(100)}`
    const socket = yield* detached(stream)
    assert.equal(first + (yield* until(allOf(socket))), text)
    yield* writing
  })

  forEveryKind(
    'what was written is sent before what Node writes; the end goes both ways',
    function* (server, kind) {
      const [stream, peer] = yield* ends(server, kind)
      const large = 'x'.repeat(16 * MEGABYTE)
      stream.tryWrite('small ')
      stream.tryWrite(large)
      const writing = spin(() => thrownBy(stream.write('in line'))) // waits for room, and has not begun
      yield* untilWaiting(writing)
      const socket = yield* detached(stream)
      socket.end(' last')
      peer.resume()
      const got = yield* until(allOf(peer))
      assert.ok(got === `small ${large} last`, `${got.length} characters, ${got.slice(-20)}`)
      assert.equal((yield* writing).message, `${stream.name}.write() failed: the stream was detached`)
      peer.end('bye')
      assert.equal(yield* until(allOf(socket)), 'bye')
    },
  )

  forEveryKind('it waits for no write: one in progress has to be over', function* (server, kind) {
    const [stream, peer] = yield* ends(server, kind)
    const bytes = Buffer.alloc(16 * MEGABYTE, 'x')
    const writing = spin(() => stream.write(bytes))
    yield* untilWaiting(writing)
    assert.throws(() => stream.detach(), {
      code: 'BAD_STATE',
      message: /cannot be detached: 1 write in progress, .* Detach it after that\.$/,
    })
    assert.equal(stream.isClosed, false)
    const all = until(allOf(peer))
    yield* writing
    bytes.fill('y') // the memory is the caller's again
    const socket = yield* detached(stream)
    socket.end()
    assert.ok((yield* all) === 'x'.repeat(bytes.length))
  })

  forEveryKind(
    'every wait is told, the stream counts as closed, and its names stay',
    function* (server, kind) {
      const [stream] = yield* ends(server, kind)
      const { name } = stream
      const waits = [spin(() => thrownBy(stream.read())), spin(() => thrownBy(stream.gone()))]
      yield* untilWaiting(...waits)
      const socket = yield* detached(stream)
      for (const [i, what] of ['read', 'gone'].entries()) {
        const error = yield* waits[i]!
        assert.ok(error instanceof StreamClosed)
        assert.equal(error.message, `${name}.${what}() failed: the stream was detached`)
      }
      assert.deepEqual([stream.isClosed, stream.name, stream.tryWrite('x')], [true, name, false])
      assert.equal(stream.tryRead(), undefined)
      for (const call of [() => stream.unread(Buffer.from('x')), () => stream.detach()]) {
        assert.throws(
          call,
          (error) => error instanceof StreamClosed && /the stream was detached$/.test(error.message),
        )
      }
      yield* stream.close()
      stream.destroy()
      assert.equal(socket.destroyed, false)
    },
  )

  forEveryKind(
    'after a close, an end with bytes unread, or a loss, it says why not',
    function* (server, kind) {
      const [closed] = yield* ends(server, kind)
      yield* closed.close()
      assert.throws(() => closed.detach(), {
        code: 'STREAM_CLOSED',
        message: `${closed.name}.detach() failed: the stream is closed`,
      })
      const [over, peer] = yield* ends(server, kind)
      peer.end('12345')
      assert.equal(yield* over.gone(), 'ended')
      assert.throws(() => over.detach(), {
        code: 'BAD_STATE',
        message: `${over.name} cannot be detached: the other side has ended, and 5 bytes are unread. Read them here.`,
      })
      assert.equal(`${yield* over.readAll()}`, '12345')
      const socket = yield* detached(over) // nothing is unread any more
      peer.resume()
      socket.end('answer')
      assert.equal(yield* until(allOf(peer)), 'answer')
      if (kind.transport === 'Unix') return
      const [lost, rude] = yield* ends(server, kind)
      const watching = spin(() => lost.gone())
      yield* untilWaiting(watching)
      reset(rude)
      yield* watching
      assert.throws(() => lost.detach(), /detach\(\) failed: /)
    },
  )

  for (const verb of ['end', 'stop', 'kill'] as const) {
    forEveryKind(
      `the ${verb} of the fiber or scope that opened it does not close it`,
      function* (server, kind) {
        const given: NetSocket[] = []
        const body = function* (): Routine<void> {
          yield* scope(function* () {
            given.push((yield* connect(targetOf(server, kind))).detach())
          })
          given.push((yield* connect(targetOf(server, kind))).detach())
          given.push((yield* server.accept())!.detach())
          if (verb !== 'end') yield* suspend()
        }
        const fiber = spin({ link: false }, body)
        if (verb === 'end') yield* fiber
        else {
          yield* eventually(() => given.length === 3)
          yield* fiber[verb]()
        }
        yield* use(given, () => given.forEach((socket) => void socket.destroy()))
        yield* until(turns(20))
        assert.deepEqual(
          given.map(({ destroyed }) => destroyed),
          [false, false, false],
        )
        const [first, , far] = given as [NetSocket, NetSocket, NetSocket]
        first.end('still open')
        assert.equal(yield* until(allOf(far)), 'still open')
      },
    )
  }

  forEveryKind(
    'an accept loop counts it as open until Node’s socket is closed',
    function* (server, kind) {
      const given: NetSocket[] = []
      const loop = spin(() =>
        server.acceptLoop(function* (stream) {
          given.push(stream.detach())
        }),
      )
      const peers = [yield* nodePeer(server, kind), yield* nodePeer(server, kind)]
      for (let i = 1; i <= 2; i++) {
        yield* eventually(() => given.length === i)
        yield* until(turns(20))
        assert.deepEqual([given.length, server.stats().open], [i, 1])
        if (i === 2) yield* server.close()
        assert.equal(loop.state, 'waiting')
        given[i - 1]!.destroy()
      }
      yield* loop
      assert.equal(server.stats().open, 0)
      for (const peer of peers) peer.destroy()
    },
    { options: { maxConnections: 1 } },
  )
})

describe('peers that do not read', () => {
  /** A message that says its number and its length. */
  const message = (n: number) => {
    const bytes = Buffer.alloc(100_000, n % 251)
    bytes.writeUInt32BE(n)
    return bytes
  }

  onVirtualClock(
    '3,000 writes that are cut hold little; each arrives whole or not at all, in order',
    function* (server, kind) {
      const [stream, peer] = yield* ends(server, kind)
      for (let n = 0; n < 3000; n++) yield* moveOnAfter(1, () => stream.write(message(n)))
      const { unsent, written } = stream.stats()
      assert.ok(unsent <= 300_000, `${unsent} bytes are kept`)
      assert.ok(written < 64 * MEGABYTE, `${written} bytes were handed over`)
      const got: Buffer[] = []
      peer.on('data', (chunk) => void got.push(chunk)).resume()
      const ended = until(once(peer, 'end'))
      yield* stream.end(message(3000))
      yield* ended
      const all = Buffer.concat(got)
      assert.equal(all.length, stream.stats().written)
      let last = -1
      for (let at = 0; at < all.length; at += 100_000) {
        const n = all.readUInt32BE(at)
        assert.ok(n > last && all.subarray(at, at + 100_000).equals(message(n)), `${n} after ${last}`)
        last = n
      }
      assert.equal(last, 3000)
    },
  )

  onVirtualClock(
    'close() throws TimedOut when its time is up, and the connection is cut',
    function* (server, kind) {
      const [stream, peer] = yield* ends(server, kind)
      const writing = spin(() => thrownBy(stream.write(Buffer.alloc(16 * MEGABYTE))))
      yield* untilWaiting(writing)
      const waiting = spin(() => thrownBy(stream.write('in line')))
      yield* untilWaiting(waiting)
      const closers = [spin(() => thrownBy(stream.close())), spin(() => thrownBy(stream.close()))]
      for (const error of yield* Fiber.await(...closers, writing, waiting)) {
        assert.ok(error instanceof TimedOut)
        const what = `${stream.name}.close() took longer than 300 ms: `
        assert.match(
          error.message.replace(what, ''),
          /^\d+ bytes were not taken by the other side, and are lost$/,
        )
      }
      assert.deepEqual([stream.isClosed, stream.stats().writers], [true, 0])
      peer.destroy()
    },
    { options: { closeTimeout: 300 } },
  )

  for (const [what, handler] of [
    [
      'is cut in its write',
      (socket: Socket) => moveOnAfter(200, () => socket.write(Buffer.alloc(16 * MEGABYTE))),
    ],
    ['has filled it by tryWrite()', (socket: Socket) => fill(socket)],
    ['has an error', (socket: Socket) => failAfterWriting(socket)],
  ] as [string, (socket: Socket) => Op<unknown>][]) {
    onVirtualClock(
      `the place of a peer that does not read is free after closeTimeout, if its handler ${what}`,
      function* (server, kind) {
        const errors: unknown[] = []
        let served = 0
        const loop = spin(() =>
          server.acceptLoop(
            function* (socket) {
              if (++served === 2) return yield* socket.write('welcome')
              return yield* handler(socket)
            },
            { onError: (error) => void errors.push(error) },
          ),
        )
        const rude = yield* nodePeer(server, kind)
        yield* eventually(() => served === 1)
        const polite = yield* nodePeer(server, kind)
        let got = ''
        polite.on('data', (chunk) => void (got += chunk)).resume()
        yield* until(once(polite, 'end'))
        assert.deepEqual([got, served, errors.length], ['welcome', 2, what === 'has an error' ? 1 : 0])
        yield* server.close()
        yield* loop // which is silent, too
        assert.equal(server.stats().open, 0)
        rude.destroy()
      },
      { options: { maxConnections: 1, closeTimeout: 300 } },
    )
  }

  /** As the program of a web server that sends a body as long as there is room. */
  function* fill(socket: Socket): Routine<void> {
    const bytes = Buffer.alloc(4000)
    for (let n = 0; socket.tryWrite(bytes); ) if (++n % 16 === 0) yield* sleep(0)
  }

  function* failAfterWriting(socket: Socket): Routine<void> {
    socket.tryWrite(Buffer.alloc(16 * MEGABYTE))
    throw new Error('as the test asks')
  }

  forEveryKind('a kill in the middle of a write closes the connection at once', function* (server, kind) {
    const peer = yield* nodePeer(server, kind)
    const writing = spin({ link: false }, function* () {
      const socket = yield* server.accept()
      yield* socket!.write(Buffer.alloc(16 * MEGABYTE))
    })
    yield* eventually(() => writing.waitsFor?.endsWith('.write()') === true)
    yield* writing.kill()
    let count = 0
    peer.on('data', (chunk) => void (count += chunk.length)).resume()
    yield* until(new Promise((resolve) => peer.on('end', resolve).on('close', resolve)))
    assert.ok(count < 16 * MEGABYTE, `${count}`)
  })
})

realTest('noDelay and keepAlive can be given, also with TLS, set and unset', function* () {
  const nodeOf = (socket: Socket) => (socket as any).channel.socket
  const NAMES = ['kSetNoDelay', 'kSetKeepAlive', 'kSetKeepAliveInitialDelay']
  const given = (node: any) =>
    NAMES.map((name) => node[Object.getOwnPropertySymbols(node).find((each) => each.description === name)!])
  const server = yield* listening({ noDelay: false, keepAlive: 1000 })
  const client = yield* connected(server, { noDelay: false, keepAlive: true })
  assert.deepEqual(given(nodeOf(client)), [false, true, 0])
  const secure = yield* opened(connect({ host, port: (yield* serving()).port, tls: { ca }, keepAlive: 1000 }))
  assert.deepEqual(given(nodeOf(secure)), [true, true, 1])
  for (const each of [client, yield* accepted(server)]) {
    const log: string[] = []
    const handle = nodeOf(each)._handle // what the system is told
    for (const verb of ['setNoDelay', 'setKeepAlive']) {
      handle[verb] = (...args: unknown[]) => void log.push(`${verb} ${args.join(' ')}`.trimEnd())
    }
    each.setNoDelay()
    each.setNoDelay(false)
    each.setKeepAlive(true, 5000)
    each.setKeepAlive(false)
    assert.deepEqual(log, [
      'setNoDelay true',
      'setNoDelay false',
      'setKeepAlive true 5',
      'setKeepAlive false 0',
    ])
  }
})

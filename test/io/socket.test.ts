// Sockets, by TCP and Unix sockets, with the shared receive buffer and without: the two directions and their ends,
// peers that do not read, and peers that leave in the middle.

import { join } from 'node:path'
import { connect, IOError, type Server, type Socket, StreamClosed } from 'polyphony/io'
import { adoption } from '#io/adopt'
import {
  assert,
  describe,
  Fiber,
  type Routine,
  snooze,
  spin,
  thrownBy,
  turns,
  until,
  use,
} from '../prelude.js'
import { accepted, bothEnds, connected, folder, listening, opened, rawClient, realTest } from './real.js'
import { ca, host, serving } from './tls.js'

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
          adoption.works = isShared ? undefined : false
          yield* use(adoption, () => void (adoption.works = undefined))
          const server = yield* listening(kind === 'TCP' ? {} : { path: join(yield* folder(), 's') })
          yield* body(server)
          assert.equal(adoption.works, isShared)
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

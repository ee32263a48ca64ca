// Sockets, by TCP and Unix sockets, with the shared receive buffer and without: the two directions and their ends,
// those who do not read, and those who leave in the middle.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { Fiber, type Routine, snooze, spin, until } from 'polyphony'
import { connect, IOError, listen, type Server, type Socket, StreamClosed } from 'polyphony/io'
import { adoption } from '#io/adopt'
import { thrownBy } from '../prelude.js'
import { eventually, inFolder, rawClient, real, turns } from './real.js'

const MEGABYTE = 1024 * 1024

interface Sockets {
  server: Server
  /** Two ends of a connection, the first of which was accepted. */
  pair(): Routine<[Socket, Socket]>
  where: { host: string; port: number } | { path: string }
}

for (const kind of ['TCP', 'Unix'] as const) {
  for (const shared of [true, false]) {
    describe(`${kind} sockets ${shared ? 'with the shared buffer' : 'as Node made them'}`, () => {
      before(() => {
        adoption.works = shared ? undefined : false
      })
      after(() => {
        adoption.works = undefined
      })

      function sockets(body: (sockets: Sockets) => Routine<void>): Promise<void> {
        return inFolder((folder) =>
          real(function* () {
            const server = yield* listen(kind === 'TCP' ? { host: '127.0.0.1' } : { path: join(folder, 's') })
            const where = kind === 'TCP' ? { host: '127.0.0.1', port: server.port } : { path: server.address }
            const opened: Socket[] = []
            try {
              yield* body({
                server,
                where,
                *pair() {
                  const client = yield* connect(where)
                  const accepted = (yield* server.accept()) as Socket
                  opened.push(client, accepted)
                  return [accepted, client]
                },
              })
              assert.equal(adoption.works ?? shared, shared)
            } finally {
              for (const socket of opened) socket.destroy()
              server.destroy()
            }
          }),
        )
      }

      test('carry bytes both ways at once', () =>
        sockets(function* ({ pair }) {
          const ends = yield* pair()
          const sizes = yield* Fiber.await(
            ...ends.flatMap((socket) => [
              spin(function* () {
                for (let i = 0; i < 100; i++) yield* socket.write(Buffer.alloc(i * 300, i))
                yield* socket.end()
                return 0
              }),
              spin(function* () {
                const all = yield* socket.readAll()
                for (let i = 0, at = 0; i < 100; at += i++ * 300) {
                  assert.ok(all.subarray(at, at + i * 300).every((byte) => byte === i))
                }
                return all.length
              }),
            ]),
          )
          assert.deepEqual(sizes, [0, 4950 * 300, 0, 4950 * 300])
        }))

      test('a side that has ended can read on, and the other can write on', () =>
        sockets(function* ({ pair }) {
          for (const [one, other] of [yield* pair(), (yield* pair()).reverse() as [Socket, Socket]]) {
            yield* one.end('question')
            assert.equal(`${yield* other.readAll()}`, 'question')
            yield* other.write('first ')
            yield* other.end('second')
            assert.equal(`${yield* one.readAll()}`, 'first second')
            assert.equal(yield* one.read(), undefined)
            const late = yield* thrownBy(one.write('third'))
            assert.ok(late instanceof StreamClosed)
            assert.match(
              late.message,
              /^(tcp|unix) .*\.write\(\) came too late: the stream (was ended|is closed)/,
            )
          }
        }))

      test('a writer waits while the other side does not read, and memory is bounded', () =>
        sockets(function* ({ pair }) {
          for (const [reader, writer] of [yield* pair(), (yield* pair()).reverse() as [Socket, Socket]]) {
            const chunk = Buffer.alloc(MEGABYTE)
            const writing = spin(function* () {
              for (let i = 0; i < 64; i++) yield* writer.write(chunk)
              yield* writer.end()
            })
            assert.ok((yield* reader.read())!.length > 0) // it begins to read ahead
            let written = -1
            yield* until(
              (async () => {
                while (writer.stats().written !== written) {
                  written = writer.stats().written
                  await turns(20)
                }
              })(),
            )
            assert.equal(writing.state, 'waiting')
            assert.ok(written < 32 * MEGABYTE, `${written} bytes were written that nobody reads`)
            assert.ok(reader.stats().unread <= 256 * 1024, `${reader.stats().unread} bytes were read ahead`)
            assert.equal(writer.tryWrite('x'), false)
            let count = reader.stats().received - reader.stats().unread
            yield* reader.readLoop((bytes) => void (count += bytes.length))
            assert.equal(count, 64 * MEGABYTE)
            yield* writing
          }
        }))

      test('small writes to one who does not read are bounded too', () =>
        sockets(function* ({ pair }) {
          const [reader, writer] = yield* pair()
          const line = `${'x'.repeat(99)}\n`
          let lines = 0
          const writing = spin(function* () {
            for (;;) {
              yield* writer.write(line)
              lines++
            }
          })
          let before = -1
          yield* until(
            (async () => {
              while (lines !== before) {
                before = lines
                await turns(20)
              }
            })(),
          )
          assert.equal(writing.waitsFor, `${writer.name}.write()`)
          assert.ok(lines * 100 < 32 * MEGABYTE, `${lines} lines were written`)
          yield* writing.stop()
          const ending = spin(() => writer.end())
          let count = 0
          yield* reader.readLoop((bytes) => void (count += bytes.length))
          yield* ending
          assert.equal(count, (lines + 1) * 100) // the one that was underway is sent all the same
        }))

      test('bytes that come one at a time are put together', () =>
        sockets(function* ({ server, where }) {
          const loop = spin(() =>
            server.acceptLoop(function* (socket) {
              for (let line: string | undefined; (line = yield* socket.gets()) !== undefined; ) {
                yield* socket.write(`<${line}>`)
              }
            }),
          )
          const client = yield* until(rawClient(where))
          client.socket.setNoDelay(true)
          for (const byte of Buffer.from('h\u00e9llo\r\nworld\nrest')) {
            yield* until(new Promise((sent) => client.socket.write(Buffer.from([byte]), sent)))
            yield* until(turns(1))
          }
          client.socket.end()
          assert.equal(yield* until(client.all), '<h\u00e9llo><world><rest>')
          client.socket.destroy()
          yield* server.close()
          yield* loop
        }))

      test('those who connect and say nothing disturb nobody', () =>
        sockets(function* ({ server, where }) {
          const loop = spin(() =>
            server.acceptLoop((socket) => socket.readLoop((chunk) => socket.write(chunk))),
          )
          const silent = []
          for (let i = 0; i < 50; i++) silent.push(yield* until(rawClient(where)))
          const client = yield* connect(where)
          yield* client.write('anybody?\n')
          assert.equal(yield* client.gets(), 'anybody?')
          yield* client.close()
          yield* eventually(() => server.stats().open === 50)
          yield* loop.stop()
          for (const { all, socket } of silent) {
            assert.equal(yield* until(all), '')
            socket.destroy()
          }
        }))

      test('a side that leaves in the middle of a write: the writer is told, and by whom', () =>
        sockets(function* ({ pair }) {
          const [reader, writer] = yield* pair()
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
        }))

      if (kind === 'TCP') {
        test('a reset: what had come can be read, then every wait is told', () =>
          sockets(function* ({ server, where }) {
            const client = yield* until(rawClient(where))
            const socket = (yield* server.accept()) as Socket
            yield* until(new Promise((sent) => client.socket.write('a line\nhalf', sent)))
            assert.equal(yield* socket.gets(), 'a line')
            client.socket.resetAndDestroy()
            const waiting = spin({ link: false }, () => socket.gets())
            const error = yield* thrownBy(waiting)
            assert.ok(error instanceof IOError)
            assert.deepEqual([error.code, error.syscall], ['ECONNRESET', 'read'])
            assert.equal(
              error.message,
              `tcp 127.0.0.1:${socket.remotePort}.gets() failed: connection reset by peer (ECONNRESET)`,
            )
            assert.equal(`${yield* socket.read()}`, 'half')
            assert.equal((yield* thrownBy(socket.read())).code, 'ECONNRESET')
            assert.equal((yield* thrownBy(socket.write('x'))).code, 'ECONNRESET')
            yield* socket.close()
            assert.ok((yield* thrownBy(socket.read())) instanceof StreamClosed)
          }))

        test('noDelay and keepAlive can be set, and unset', () =>
          sockets(function* ({ server, where }) {
            const set = { noDelay: false, keepAlive: 1000 }
            const client = yield* connect({ ...where, ...set } as never)
            const socket = (yield* server.accept()) as Socket
            for (const each of [client, socket]) {
              each.setNoDelay(false)
              each.setNoDelay()
              each.setKeepAlive(true, 5000)
              each.setKeepAlive(false)
            }
            yield* client.close()
            yield* socket.close()
          }))
      }

      test('close() sends what was written, however much', () =>
        sockets(function* ({ pair }) {
          for (const [one, other] of [yield* pair(), (yield* pair()).reverse() as [Socket, Socket]]) {
            const closing = spin(function* () {
              one.tryWrite(Buffer.alloc(4 * MEGABYTE))
              yield* one.close()
            })
            assert.equal((yield* other.readAll()).length, 4 * MEGABYTE)
            yield* closing
            assert.ok((yield* thrownBy(one.read())) instanceof StreamClosed)
            assert.ok((yield* thrownBy(one.write('x'))) instanceof StreamClosed)
          }
        }))

      test('who gives up waiting for close() closes at once', () =>
        sockets(function* ({ pair }) {
          const [one, other] = yield* pair()
          one.tryWrite(Buffer.alloc(32 * MEGABYTE))
          const closing = spin(() => one.close())
          yield* snooze()
          assert.equal(closing.waitsFor, `${one.name}.close()`)
          yield* closing.stop()
          const outcome = yield* spin({ link: false }, () => other.readAll()).join()
          const size = outcome.type === 'value' ? outcome.value.length : 0
          assert.ok(size < 32 * MEGABYTE)
        }))

      test('a fiber that waits to read is told when another closes', () =>
        sockets(function* ({ pair }) {
          const [one] = yield* pair()
          const reading = spin({ link: false }, () => one.gets())
          yield* snooze()
          yield* one.close()
          const error = yield* thrownBy(reading)
          assert.ok(error instanceof StreamClosed)
          assert.equal(error.message, `${one.name}.gets() came too late: the stream is closed`)
        }))
    })
  }
}

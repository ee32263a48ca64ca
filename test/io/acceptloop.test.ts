// acceptLoop: a fiber for each connection, what ends it, and what becomes of its connection.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  BadArgument,
  Fiber,
  fiberTree,
  type Routine,
  sleep,
  snooze,
  spin,
  suspend,
  tap,
  until,
} from 'polyphony'
import { connect, listen, type Server, type Socket, StreamClosed } from 'polyphony/io'
import { thrownBy } from '../prelude.js'
import { eventually, rawClient, real } from './real.js'

const HERE = { host: '127.0.0.1' }
const to = (server: Server) => ({ ...HERE, port: server.port })

/** Asks by a line, and reads the answer up to the end. */
function* ask(server: Server, line: string): Routine<string> {
  const socket = yield* connect(to(server))
  yield* socket.write(`${line}\n`)
  const answer = `${yield* socket.readAll()}`
  yield* socket.close()
  return answer
}

/** The fibers of connections that are alive. */
const connections = (loop: Fiber) => loop.children.map(({ name }) => name)

describe('acceptLoop', () => {
  test('spins a fiber for each connection, which has a number', () =>
    real(function* () {
      const server = yield* listen(HERE)
      const loop = spin('server', () =>
        server.acceptLoop(function* (socket) {
          yield* socket.gets()
          yield* socket.write(Fiber.current.path)
        }),
      )
      assert.equal(yield* ask(server, ''), 'run > server > conn#1')
      assert.equal(yield* ask(server, ''), 'run > server > conn#2')
      const [one, two] = [yield* connect(to(server)), yield* connect(to(server))]
      yield* eventually(() => server.stats().open === 2)
      assert.deepEqual(connections(loop).sort(), ['conn#3', 'conn#4'])
      one.destroy()
      two.destroy()
      yield* server.close()
      yield* loop
      assert.deepEqual(server.stats(), {
        connections: 4,
        backlog: 0,
        open: 0,
        dropped: 0,
        failed: 0,
        waiting: 0,
      })
    }))

  test('when a body is over, what it wrote is sent and the connection is closed', () =>
    real(function* () {
      const server = yield* listen(HERE)
      const loop = spin(() =>
        server.acceptLoop((socket) => socket.tryWrite('x'.repeat(1_000_000)) && undefined),
      )
      const client = yield* until(rawClient(to(server)))
      assert.equal((yield* until(client.all)).length, 1_000_000)
      client.socket.destroy()
      yield* server.close()
      yield* loop
    }))

  test('S02 S03 children of a connection are stopped before it is closed', () =>
    real(function* (reports) {
      const server = yield* listen(HERE)
      const log: string[] = []
      const loop = spin(() =>
        server.acceptLoop(function* (socket) {
          spin('reader', function* () {
            try {
              yield* socket.read()
            } finally {
              log.push(socket.isClosed ? 'closed' : 'open')
            }
          })
          yield* socket.write('done')
        }),
      )
      assert.equal(yield* ask(server, 'not even read'), 'done')
      yield* server.close()
      yield* loop
      assert.deepEqual(log.length === 0 ? ['open'] : log, ['open'])
      assert.deepEqual(reports, [])
    }))

  test('close() of the server ends it when the connections that are open have ended', () =>
    real(function* () {
      const server = yield* listen(HERE)
      const loop = spin(() => server.acceptLoop((socket) => socket.readLoop((chunk) => socket.write(chunk))))
      const client = yield* connect(to(server))
      yield* client.write('one\n')
      assert.equal(yield* client.gets(), 'one')
      yield* server.close()
      yield* snooze()
      assert.equal(loop.state, 'waiting')
      yield* client.end('two\n')
      assert.equal(yield* client.gets(), 'two')
      assert.equal(yield* loop, undefined)
      yield* client.close()
    }))

  test('a body that returns false ends it; the others go on, and the server can be used again', () =>
    real(function* () {
      const server = yield* listen(HERE)
      const loop = spin(() =>
        server.acceptLoop(function* (socket) {
          const line = yield* socket.gets()
          yield* socket.write(`${line}!`)
          return line !== 'enough'
        }),
      )
      const slow = yield* connect(to(server))
      yield* eventually(() => server.stats().open === 1)
      assert.equal(yield* ask(server, 'one'), 'one!')
      assert.equal(yield* ask(server, 'enough'), 'enough!')
      assert.equal(loop.state, 'waiting')
      yield* slow.write('last\n')
      assert.equal(`${yield* slow.readAll()}`, 'last!')
      yield* slow.close()
      yield* loop
      assert.equal(server.isClosed, false)
      const again = spin(() => server.acceptLoop((socket) => socket.end('hello again')))
      assert.equal(yield* ask(server, ''), 'hello again')
      yield* server.close()
      yield* again
    }))

  test('a connection that came for a loop that has just ended goes to the next who accepts', () =>
    real(function* () {
      const server = yield* listen({ ...HERE, maxConnections: 1 })
      const loop = spin(() =>
        server.acceptLoop(function* (socket) {
          yield* socket.gets()
          return false
        }),
      )
      const [first, second] = [yield* connect(to(server)), yield* connect(to(server))]
      yield* eventually(() => server.stats().backlog === 1)
      yield* first.end('over\n')
      yield* loop
      const socket = yield* server.accept()
      assert.equal(socket?.remotePort, second.localPort)
      for (const each of [first, second, socket]) each?.destroy()
      yield* server.close()
    }))

  test('ends at once when the server is closed already', () =>
    real(function* () {
      const server = yield* listen(HERE)
      yield* server.close()
      assert.equal(yield* server.acceptLoop(() => {}), undefined)
    }))

  test('refuses what it cannot run', () =>
    real(function* () {
      const server = yield* listen(HERE)
      assert.throws(() => server.acceptLoop((async () => {}) as never), BadArgument)
      assert.throws(() => server.acceptLoop(undefined as never), /acceptLoop\(\) needs a function/)
      assert.throws(
        () => server.acceptLoop(() => {}, { onEror: () => {} } as never),
        /has no option "onEror"/,
      )
      assert.throws(
        () => server.acceptLoop(() => {}, { onError: 5 } as never),
        /onError of server .* needs a function/,
      )
      yield* server.close()
    }))
})

describe('errors of a connection', () => {
  test('S29 an error is reported with its fiber, closes its connection, and harms no other', () =>
    real(function* (reports) {
      const server = yield* listen(HERE)
      const loop = spin('server', () =>
        server.acceptLoop(function* (socket) {
          const line = yield* socket.gets()
          yield* socket.write('so far')
          if (line === 'fail') throw new Error('no such thing')
        }),
      )
      const other = yield* connect(to(server))
      assert.equal(yield* ask(server, 'fail'), 'so far') // what was written is sent all the same
      yield* other.write('go on\n')
      assert.equal(`${yield* other.readAll()}`, 'so far')
      yield* other.close()
      yield* server.close()
      yield* loop
      assert.deepEqual(
        reports.map(({ kind, error }) => [kind, (error as Error).message]),
        [['unobserved', 'no such thing']],
      )
      assert.match(reports[0]?.message ?? '', /^run > server > conn#\d failed/)
    }))

  test('onError is called instead, with the connection, and may wait and answer', () =>
    real(function* (reports) {
      const server = yield* listen(HERE)
      const errors: unknown[] = []
      const loop = spin(() =>
        server.acceptLoop(
          function* (socket) {
            yield* socket.gets()
            throw new Error('bad request')
          },
          {
            *onError(error, socket) {
              errors.push(error)
              yield* snooze()
              yield* socket.write(`sorry: ${(error as Error).message}`)
            },
          },
        ),
      )
      assert.equal(yield* ask(server, 'x'), 'sorry: bad request')
      yield* server.close()
      yield* loop
      assert.equal(errors.length, 1)
      assert.deepEqual(reports, [])
    }))

  test('an error of onError itself is reported', () =>
    real(function* (reports) {
      const server = yield* listen(HERE)
      const loop = spin(() =>
        server.acceptLoop(
          () => {
            throw new Error('first')
          },
          {
            onError() {
              throw new Error('second')
            },
          },
        ),
      )
      assert.equal(yield* ask(server, ''), '')
      yield* server.close()
      yield* loop
      assert.deepEqual(
        reports.map(({ error }) => (error as Error).message),
        ['second'],
      )
    }))

  test('that the other side went away is no error of ours: nobody is told', () =>
    real(function* (reports) {
      const server = yield* listen(HERE)
      const seen: unknown[] = []
      const loop = spin(() =>
        server.acceptLoop(
          function* (socket) {
            const mode = yield* socket.gets()
            yield* socket.write('ready')
            try {
              if (mode === 'read') yield* socket.readAll()
              else for (;;) yield* socket.write('x'.repeat(100_000))
            } catch (error) {
              seen.push(error)
              throw error
            }
          },
          { onError: (error) => void seen.push(`told ${error}`) },
        ),
      )
      for (const mode of ['read', 'write']) {
        const { socket } = yield* until(rawClient(to(server)))
        socket.write(`${mode}\n`)
        yield* until(new Promise((resolve) => socket.once('data', resolve)))
        socket.on('error', () => {}).resetAndDestroy()
      }
      yield* eventually(() => seen.length === 2)
      for (const error of seen) assert.match((error as any).code, /^(ECONNRESET|EPIPE)$/)
      yield* server.close()
      yield* loop
      assert.deepEqual(reports, [])
    }))

  test('the reset of another connection is an error like any other', () =>
    real(function* (reports) {
      const server = yield* listen(HERE)
      const behind = yield* listen(HERE)
      const loop = spin('proxy', () =>
        server.acceptLoop(function* () {
          const other = yield* connect(to(behind))
          try {
            yield* other.readAll()
          } finally {
            other.destroy()
          }
        }),
      )
      const client = yield* until(rawClient(to(server)))
      const target = yield* behind.accept()
      ;(target as any).channel.socket.resetAndDestroy()
      assert.equal(yield* until(client.all), '')
      client.socket.destroy()
      yield* server.close()
      yield* loop
      yield* behind.close()
      assert.deepEqual(
        reports.map(({ error }) => (error as any).code),
        ['ECONNRESET'],
      )
    }))

  test('a read of a connection that the body itself has closed is an error like any other', () =>
    real(function* (reports) {
      const server = yield* listen(HERE)
      const loop = spin(() =>
        server.acceptLoop(function* (socket) {
          yield* socket.close()
          yield* socket.read()
        }),
      )
      assert.equal(yield* ask(server, ''), '')
      yield* server.close()
      yield* loop
      assert.ok(reports[0]?.error instanceof StreamClosed)
    }))
})

describe('maxConnections', () => {
  test('so many are open at a time; more wait in the backlog, in their order', () =>
    real(function* () {
      const server = yield* listen({ ...HERE, maxConnections: 2 })
      let open = 0
      let most = 0
      const loop = spin(() =>
        server.acceptLoop(function* (socket) {
          most = Math.max(most, ++open)
          const line = yield* socket.gets()
          yield* socket.write(`${line}`)
          open--
        }),
      )
      const clients: Socket[] = []
      for (let i = 0; i < 5; i++) {
        clients.push(yield* connect(to(server)))
        yield* eventually(() => server.stats().connections === i + 1)
      }
      const { open: inLoop, backlog } = server.stats()
      assert.deepEqual({ inLoop, backlog }, { inLoop: 2, backlog: 3 })
      for (const [i, client] of clients.entries()) {
        yield* client.write(`${i}\n`)
        assert.equal(`${yield* client.readAll()}`, `${i}`)
        yield* client.close()
      }
      assert.equal(most, 2)
      yield* server.close()
      yield* loop
    }))

  test('is that of the server, for all its loops', () =>
    real(function* () {
      const server = yield* listen({ ...HERE, maxConnections: 1 })
      const loops = [1, 2].map(() => spin(() => server.acceptLoop((socket) => socket.readAll())))
      const clients = [yield* connect(to(server)), yield* connect(to(server))]
      yield* eventually(() => server.stats().connections === 2)
      assert.equal(server.stats().open, 1)
      for (const client of clients) yield* client.close()
      yield* eventually(() => server.stats().open === 0 && server.stats().backlog === 0)
      yield* server.close()
      yield* Fiber.await(...loops)
    }))

  for (const [what, end] of [
    ['stopped', (fiber: Fiber) => fiber.stop()],
    ['killed', (fiber: Fiber) => fiber.kill()],
    ['raised at', (fiber: Fiber) => fiber.raise('enough')],
  ] as const) {
    test(`S05 a fiber that is ${what} before it starts closes its connection and makes room for the next`, () =>
      real(function* () {
        const server = yield* listen({ ...HERE, maxConnections: 1 })
        let started = 0
        const loop = spin('server', () =>
          server.acceptLoop(function* (socket) {
            started++
            yield* socket.write('hello')
          }),
        )
        const untap = tap((event, fiber) => {
          if (event !== 'schedule' || fiber.name !== 'conn#1') return
          untap()
          end(fiber)
        })
        const first = yield* until(rawClient(to(server)))
        assert.equal(yield* until(first.all), '')
        first.socket.destroy()
        assert.equal(started, 0)
        assert.equal(yield* ask(server, ''), 'hello')
        yield* server.close()
        yield* loop
      }))
  }
})

describe('the end of an accept loop', () => {
  test('S02 stopped, it stops its connections, which may say goodbye', () =>
    real(function* () {
      const server = yield* listen(HERE)
      const loop = spin(() =>
        server.acceptLoop(function* (socket) {
          try {
            yield* sleep()
          } finally {
            yield* socket.write('goodbye')
          }
        }),
      )
      const clients = [yield* until(rawClient(to(server))), yield* until(rawClient(to(server)))]
      yield* eventually(() => server.stats().open === 2)
      yield* loop.stop()
      assert.equal(server.stats().open, 0)
      for (const client of clients) {
        assert.equal(yield* until(client.all), 'goodbye')
        client.socket.destroy()
      }
      yield* server.close()
    }))

  test('S18 a peer that does not read what it is sent cannot keep it beyond its grace', () =>
    real(function* () {
      const server = yield* listen(HERE)
      const loop = spin({ grace: 20 }, () =>
        server.acceptLoop(function* (socket) {
          yield* socket.write(Buffer.alloc(20_000_000))
        }),
      )
      const client = yield* connect(to(server))
      yield* eventually(() => server.stats().open === 1)
      yield* loop.stop()
      assert.equal(loop.outcome?.type, 'stopped')
      assert.equal(server.stats().open, 0)
      client.destroy()
      yield* server.close()
    }))

  test('killed, it closes them at once', () =>
    real(function* () {
      const server = yield* listen({ ...HERE, maxConnections: 5 })
      const loop = spin(() => server.acceptLoop(() => suspend()))
      const client = yield* until(rawClient(to(server)))
      yield* eventually(() => server.stats().open === 1)
      yield* loop.kill()
      assert.equal(yield* until(client.all), '')
      client.socket.destroy()
      assert.equal(server.stats().open, 0)
      yield* server.close()
    }))

  test('stopped while it waits for room, it leaves nothing behind', () =>
    real(function* () {
      const server = yield* listen({ ...HERE, maxConnections: 1 })
      const loop = spin(() => server.acceptLoop(() => suspend()))
      const clients = [yield* until(rawClient(to(server))), yield* until(rawClient(to(server)))]
      yield* eventually(() => server.stats().open === 1 && server.stats().backlog === 1)
      yield* loop.stop()
      const next = spin(() => server.acceptLoop((socket) => socket.end('welcome')))
      assert.equal(yield* until((clients[1] as any).all as Promise<string>), 'welcome')
      for (const { socket } of clients) socket.destroy()
      yield* server.close()
      yield* next
    }))

  test('S06 S34 killed in the turn in which a connection was given to it, it leaves it to others', () =>
    real(function* () {
      const server = yield* listen(HERE)
      const loop = spin(() => server.acceptLoop(() => assert.fail('it was killed')))
      yield* snooze()
      const untap = tap((event, fiber) => {
        if (event === 'schedule' && fiber === loop) loop.kill()
      })
      const client = yield* connect(to(server))
      yield* loop.join()
      untap()
      const socket = yield* server.accept()
      assert.equal(socket?.remotePort, client.localPort)
      client.destroy()
      socket?.destroy()
      yield* server.close()
    }))

  test('the tree shows what each waits for', () =>
    real(function* () {
      const server = yield* listen(HERE)
      const loop = spin('server', () => server.acceptLoop((socket) => socket.gets()))
      const client = yield* connect(to(server))
      yield* eventually(() => server.stats().open === 1)
      yield* snooze()
      const view = fiberTree()[0]?.children.find(({ name }) => name === 'server')
      assert.equal(view?.waitsFor, `server 127.0.0.1:${server.port}.accept()`)
      assert.equal(view?.children[0]?.waitsFor, `tcp 127.0.0.1:${client.localPort}.gets()`)
      yield* loop.stop()
      client.destroy()
      yield* server.close()
      assert.ok((yield* thrownBy(client.read())) instanceof StreamClosed)
    }))
})

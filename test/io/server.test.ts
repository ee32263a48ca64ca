// A server: who gets which connection, what waits, what is dropped, and what its end does.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { Fiber, moveOnAfter, scope, snooze, spin, until, use } from 'polyphony'
import { connect, listen } from 'polyphony/io'
import { eventually, rawClient, real } from './real.js'

const HERE = { host: '127.0.0.1' }

describe('a server', () => {
  test('S52 fibers that wait are given connections in the order they came', () =>
    real(function* () {
      const server = yield* listen(HERE)
      const acceptors = [1, 2, 3].map((n) => spin(`acceptor ${n}`, () => server.accept()))
      yield* snooze()
      assert.equal(acceptors[0]?.waitsFor, `server 127.0.0.1:${server.port}.accept()`)
      assert.equal(server.stats().waiting, 3)
      yield* (acceptors[1] as Fiber).stop()
      const clients = []
      for (const acceptor of [acceptors[0], acceptors[2]]) {
        const client = yield* connect({ ...HERE, port: server.port })
        const socket = yield* acceptor as Fiber<any>
        assert.equal(socket.remotePort, client.localPort)
        clients.push(client, socket)
      }
      for (const socket of clients) socket.destroy()
      yield* server.close()
    }))

  test('connections that came before anybody asked wait in the backlog, in their order', () =>
    real(function* () {
      const server = yield* listen(HERE)
      assert.equal(server.tryAccept(), undefined)
      const clients = []
      for (let i = 0; i < 3; i++) {
        clients.push(yield* connect({ ...HERE, port: server.port }))
        yield* eventually(() => server.stats().connections === i + 1)
      }
      assert.equal(server.stats().backlog, 3)
      const sockets = [yield* server.accept(), server.tryAccept(), yield* server.accept()]
      assert.deepEqual(
        sockets.map((socket) => socket?.remotePort),
        clients.map((client) => client.localPort),
      )
      assert.equal(server.tryAccept(), undefined)
      for (const socket of [...clients, ...sockets]) socket?.destroy()
      yield* server.close()
    }))

  test('what came with a connection in the backlog can be read when it is accepted', () =>
    real(function* () {
      const server = yield* listen(HERE)
      const client = yield* connect({ ...HERE, port: server.port })
      yield* client.end('early\n')
      yield* eventually(() => server.stats().backlog === 1)
      const socket = yield* server.accept()
      assert.equal(yield* socket!.gets(), 'early')
      assert.equal(yield* socket!.gets(), undefined)
      yield* socket!.close()
      yield* client.close()
      yield* server.close()
    }))

  test('connections beyond the backlog are dropped, counted, and reported once in a while', () =>
    real(function* (reports) {
      const server = yield* listen({ ...HERE, backlog: 2 })
      const clients = []
      for (let i = 0; i < 5; i++) {
        clients.push(yield* until(rawClient({ port: server.port })))
        yield* eventually(() => server.stats().connections === i + 1)
      }
      const { backlog, dropped, connections } = server.stats()
      assert.deepEqual({ backlog, dropped, connections }, { backlog: 2, dropped: 3, connections: 5 })
      for (const client of clients.slice(2)) assert.equal(yield* until(client.all), '')
      assert.deepEqual(
        reports.map(({ kind, message }) => [kind, message]),
        [
          [
            'dropped',
            `${server.name}: the backlog of 2 connections is full: more are dropped until some are accepted (so far: 1 dropped, 0 failed)`,
          ],
        ],
      )
      for (const { socket } of clients) socket.destroy()
      yield* server.close()
    }))

  test('a failed accept is counted and reported once in a while, and others are accepted', () =>
    real(function* (reports) {
      const server = yield* listen(HERE)
      const { server: net } = server as unknown as { server: NodeJS.EventEmitter }
      // What Node does when the system refuses: there is no way to make it refuse here.
      for (let i = 0; i < 3; i++)
        net.emit('error', Object.assign(new Error('accept EMFILE'), { code: 'EMFILE' }))
      const client = yield* connect({ ...HERE, port: server.port })
      const socket = yield* server.accept()
      assert.equal(server.stats().failed, 3)
      assert.deepEqual(
        reports.map(({ message }) => message),
        [`${server.name}: a connection could not be accepted: accept EMFILE (so far: 0 dropped, 1 failed)`],
      )
      client.destroy()
      socket?.destroy()
      yield* server.close()
    }))

  test('close() closes the backlog, lets accept() end with undefined, and leaves accepted connections alone', () =>
    real(function* () {
      const server = yield* listen(HERE)
      const [one, two] = [
        yield* until(rawClient({ port: server.port })),
        yield* until(rawClient({ port: server.port })),
      ]
      yield* eventually(() => server.stats().backlog === 2)
      const accepted = yield* server.accept()
      yield* server.close()
      yield* server.close()
      assert.equal(server.isClosed, true)
      assert.equal(yield* server.accept(), undefined)
      const waiting = [one, two].find(({ socket }) => socket.localPort !== accepted?.remotePort)
      const talking = [one, two].find(({ socket }) => socket.localPort === accepted?.remotePort)
      assert.equal(yield* until(waiting!.all), '')
      yield* accepted!.end('still here')
      assert.equal(yield* until(talking!.all), 'still here')
      accepted!.destroy()
      for (const { socket } of [one, two]) socket.destroy()
    }))

  test('close() ends every accept() that waits', () =>
    real(function* () {
      const server = yield* listen(HERE)
      const acceptors = [1, 2].map(() => spin(() => server.accept()))
      yield* snooze()
      yield* server.close()
      assert.deepEqual(yield* Fiber.await(...acceptors), [undefined, undefined])
    }))

  test('S60 use() closes it at the end of the scope', () =>
    real(function* () {
      const server = yield* scope(function* () {
        return yield* use(yield* listen(HERE))
      })
      assert.equal(server.isClosed, true)
    }))

  test('S17 a loop that swallows its stop and accepts again is refused', () =>
    real(function* () {
      const server = yield* listen(HERE)
      let caught = 0
      const deaf = spin(function* () {
        for (;;) {
          try {
            yield* server.accept()
          } catch {
            caught++
          }
        }
      })
      yield* snooze()
      yield* deaf.stop()
      assert.equal(caught, 3)
      yield* server.close()
    }))

  test('a wait that timed out takes no connection with it', () =>
    real(function* () {
      const server = yield* listen(HERE)
      assert.equal(yield* moveOnAfter(0, () => server.accept(), 'nobody'), 'nobody')
      const client = yield* connect({ ...HERE, port: server.port })
      const socket = yield* server.accept()
      assert.ok(socket !== undefined)
      client.destroy()
      socket?.destroy()
      yield* server.close()
    }))
})

describe('a burst of connections', () => {
  /** The client in a thread: connects so many times, says so, and reads what each is told. */
  const source = `
    const { parentPort, workerData } = require('node:worker_threads')
    const net = require('node:net')
    const { port, count, flag } = workerData
    let connected = 0, told = 0
    for (let i = 0; i < count; i++) {
      let text = ''
      net.connect(port, '127.0.0.1', () => {
        if (++connected < count) return
        Atomics.store(flag, 0, 1)
        Atomics.notify(flag, 0)
      }).setEncoding('utf8').on('data', (more) => (text += more)).on('close', () => {
        if (text === 'welcome') told++
        if (--connected === 0) parentPort.postMessage(told)
      }).on('error', (error) => parentPort.postMessage(String(error)))
    }`

  test('I9 of 1,000 is taken by the backlog while the server is busy, and all of them are served', () =>
    real(function* () {
      const count = 1000
      const server = yield* listen(HERE)
      const flag = new Int32Array(new SharedArrayBuffer(4))
      const worker = new Worker(source, {
        eval: true,
        execArgv: [],
        workerData: { port: server.port, count, flag },
      })
      const answer = new Promise<unknown>((resolve, reject) => {
        worker.once('message', resolve).once('error', reject)
      })
      // Busy: this thread does nothing else until the system has let all of them in.
      assert.notEqual(Atomics.wait(flag, 0, 0, 20_000), 'timed-out')
      spin(() => server.acceptLoop((socket) => socket.write('welcome')))
      assert.equal(yield* until(answer), count)
      const { connections, dropped } = server.stats()
      assert.deepEqual({ connections, dropped }, { connections: count, dropped: 0 })
      yield* server.close()
      yield* until(worker.terminate())
    }))
})

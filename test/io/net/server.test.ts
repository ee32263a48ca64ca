// A server: which fiber gets which connection, what waits, what is dropped, and what its end does.

import { Worker } from 'node:worker_threads'
import { listen, type Server, type Socket } from 'polyphony/io'
import {
  assert,
  BadYield,
  describe,
  eventually,
  Fiber,
  moveOnAfter,
  type Routine,
  scope,
  snooze,
  spin,
  until,
  use,
} from '../../prelude.js'
import { accepted, connected, listening, opened, rawClient, realTest } from '../real.js'

describe('a server', () => {
  realTest('fibers that wait are given connections in the order they came', function* () {
    const server = yield* listening()
    const acceptors = [1, 2, 3].map((n) => spin(`acceptor ${n}`, () => server.accept()))
    yield* snooze()
    assert.equal(acceptors[0]?.waitsFor, `server 127.0.0.1:${server.port}.accept()`)
    assert.equal(server.stats().waiting, 3)
    yield* (acceptors[1] as Fiber).stop()
    assert.equal(yield* moveOnAfter(0, () => server.accept(), 'none'), 'none')
    for (const acceptor of [acceptors[0], acceptors[2]]) {
      const client = yield* connected(server)
      const socket = yield* opened(acceptor as Fiber<Socket>)
      assert.equal(socket.remotePort, client.localPort)
    }
  })

  realTest('connections that came early wait in the backlog, in their order', function* () {
    const server = yield* listening()
    assert.equal(server.tryAccept(), undefined)
    const clients: Socket[] = []
    for (let i = 0; i < 3; i++) {
      const client = yield* connected(server)
      clients.push(client)
      yield* client.end(`${i}\n`)
      yield* eventually(() => server.stats().backlog === i + 1)
    }
    for (const i of [0, 1, 2]) {
      const socket = i === 1 ? server.tryAccept()! : yield* accepted(server)
      yield* use(socket, () => void socket.destroy())
      assert.equal(socket.remotePort, clients[i]?.localPort)
      assert.deepEqual([yield* socket.gets(), yield* socket.gets()], [`${i}`, undefined]) // what came meanwhile
    }
    assert.equal(server.tryAccept(), undefined)
  })

  realTest('connections beyond the backlog are dropped, counted, and reported', function* (reports) {
    const server = yield* listening({ backlog: 2 })
    const clients = []
    for (let i = 0; i < 5; i++) {
      clients.push(yield* rawClient(server))
      yield* eventually(() => server.stats().connections === i + 1)
    }
    const { backlog, dropped, connections } = server.stats()
    assert.deepEqual({ backlog, dropped, connections }, { backlog: 2, dropped: 3, connections: 5 })
    for (const client of clients.slice(2)) assert.equal(yield* until(client.all), '')
    const message =
      `${server.name}: the backlog of 2 connections is full: ` +
      'more are dropped until some are accepted (so far: 1 dropped, 0 failed)'
    assert.deepEqual(reports, [{ kind: 'dropped', message }])
  })

  realTest('a failed accept is counted and reported, and others are accepted', function* (reports) {
    const server = yield* listening()
    // What Node does when the system refuses: there is no way to make it refuse here.
    const { server: node } = server as unknown as { server: NodeJS.EventEmitter }
    const refused = Object.assign(new Error('accept EMFILE'), { code: 'EMFILE' })
    for (let i = 0; i < 3; i++) node.emit('error', refused)
    yield* connected(server)
    assert.ok((yield* accepted(server)).remotePort)
    assert.equal(server.stats().failed, 3)
    const message = `${server.name}: a connection could not be accepted: accept EMFILE (so far: 0 dropped, 1 failed)`
    assert.deepEqual(reports, [{ kind: 'dropped', message }])
  })

  realTest('close() closes the backlog, ends every accept(), and nothing else', function* () {
    const server = yield* listening()
    const clients = [yield* rawClient(server), yield* rawClient(server)]
    yield* eventually(() => server.stats().backlog === 2)
    const socket = yield* accepted(server)
    yield* server.close()
    yield* server.close()
    assert.equal(server.isClosed, true)
    assert.equal(yield* server.accept(), undefined)
    yield* socket.end('still here')
    for (const client of clients) {
      const isAccepted = client.socket.localPort === socket.remotePort
      assert.equal(yield* until(client.all), isAccepted ? 'still here' : '')
    }
    const other = yield* listening()
    const acceptors = [1, 2].map(() => spin(() => other.accept()))
    yield* snooze()
    yield* other.close()
    assert.deepEqual(yield* Fiber.await(...acceptors), [undefined, undefined])
  })

  realTest('maxConnections are open at a time, in all of its loops; more wait in their order', function* () {
    let [open, most] = [0, 0]
    const body = function* (socket: Socket): Routine<void> {
      most = Math.max(most, ++open)
      yield* socket.write(`${yield* socket.gets()}`)
      open--
    }
    const server = yield* listening({ maxConnections: 2 })
    for (let i = 0; i < 2; i++) spin(() => server.acceptLoop(body))
    const clients: Socket[] = []
    for (let i = 0; i < 5; i++) {
      clients.push(yield* connected(server))
      yield* eventually(() => server.stats().connections === i + 1)
    }
    assert.deepEqual([server.stats().open, server.stats().backlog], [2, 3])
    for (const [i, client] of clients.entries()) {
      yield* client.write(`${i}\n`)
      assert.equal(`${yield* client.readAll()}`, `${i}`)
    }
    assert.equal(most, 2)
  })

  realTest('use() closes it at the end of the scope', function* () {
    const server = yield* scope(function* () {
      return yield* use(yield* listen({ host: '127.0.0.1' }))
    })
    assert.equal(server.isClosed, true)
  })

  realTest('acceptLoop() refuses what it cannot run', function* () {
    const server = yield* listening()
    const rows: [unknown[], RegExp][] = [
      [[async () => {}], /async function/],
      [[undefined], /acceptLoop\(\) needs a function/],
      [[() => {}, { onEror: () => {} }], /has no option "onEror"/],
      [[() => {}, { onError: 5 }], /onError of server .* needs a function/],
    ]
    for (const [args, message] of rows) {
      assert.throws(() => server.acceptLoop(...(args as [() => void])), message)
    }
  })

  realTest('to accept is to wait for new work: a fiber that is being stopped cannot', function* () {
    const server = yield* listening()
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
  })

  realTest('accept() iterated by hand is a named error, and costs no connection', function* () {
    const [server, closed] = [yield* listening(), yield* listening()]
    yield* closed.close()
    const client = yield* connected(server)
    yield* eventually(() => server.stats().backlog === 1)
    const byHand = (each: Server) => [...(each.accept() as unknown as unknown[])]
    const share = () => {
      for (let n = 0; ; n++) {
        try {
          byHand(closed)
        } catch (error) {
          assert.ok(error instanceof BadYield)
          return n
        }
      }
    }
    share()
    for (let left = share(); left > 0; left--) byHand(closed) // the share of this fiber in the turn is spent
    assert.throws(() => byHand(server), BadYield)
    assert.equal((yield* accepted(server)).remotePort, client.localPort)
    assert.throws(() => byHand(server), BadYield)
    assert.equal(server.stats().waiting, 0)
  })
})

/** A thread that connects so many times, and says when it has. */
const burst = `
  const { port, count, flag } = require('node:worker_threads').workerData
  let connected = 0
  for (let i = 0; i < count; i++) {
    require('node:net').connect(port, '127.0.0.1', () => {
      if (++connected === count) Atomics.notify(flag, 0, Atomics.store(flag, 0, 1))
    })
  }`

realTest('a burst of 1,000 while the server is busy is taken by the backlog (I9)', function* () {
  const count = 1000
  const server = yield* listening()
  const flag = new Int32Array(new SharedArrayBuffer(4))
  const workerData = { port: server.port, count, flag }
  const worker = new Worker(burst, { eval: true, execArgv: [], workerData })
  yield* use(worker, () => until(worker.terminate()))
  // Busy: this thread does nothing else until the system has let all of them in.
  assert.notEqual(Atomics.wait(flag, 0, 0, 20_000), 'timed-out')
  yield* eventually(() => server.stats().connections === count)
  assert.deepEqual([server.stats().backlog, server.stats().dropped], [count, 0])
})

// acceptLoop: a fiber for each connection, what ends it, and what becomes of its connection.

import { once } from 'node:events'
import type { AcceptLoopOptions, ListenOptions, Server, Socket } from 'polyphony/io'
import {
  assert,
  describe,
  ensure,
  eventually,
  Fiber,
  type Op,
  type Routine,
  snooze,
  spin,
  suspend,
  tap,
  until,
  waits,
} from '../../prelude.js'
import { accepted, bothEnds, connected, listening, rawClient, realTest } from '../real.js'

/** A server and the fiber of its accept loop. */
function* serving(
  body: (socket: Socket) => Op<unknown> | void,
  options: ListenOptions & AcceptLoopOptions & { grace?: number } = {},
): Routine<[Server, Fiber]> {
  const { onError, grace, ...where } = options
  const server = yield* listening(where)
  return [server, spin({ name: 'server', grace }, () => server.acceptLoop(body, onError ? { onError } : {}))]
}

/** Asks by a line, and reads the answer up to the end. */
function* ask(server: Server, line: string): Routine<string> {
  const socket = yield* connected(server)
  yield* socket.write(`${line}\n`)
  const answer = `${yield* socket.readAll()}`
  yield* socket.close()
  return answer
}

describe('acceptLoop', () => {
  realTest('spins a fiber for each connection, which has a number', function* () {
    const [server, loop] = yield* serving(function* (socket) {
      yield* socket.write(`${Fiber.current.path}\n`)
      yield* socket.gets()
    })
    for (const n of [1, 2]) {
      assert.equal(yield* (yield* connected(server)).gets(), `run > test > server > conn#${n}`)
    }
    assert.equal(loop.waitsFor, `server 127.0.0.1:${server.port}.accept()`)
    const stats = { connections: 2, backlog: 0, open: 2, dropped: 0, failed: 0, waiting: 1 }
    assert.deepEqual(server.stats(), stats)
    yield* loop.stop()
    assert.deepEqual(server.stats(), { ...stats, open: 0, waiting: 0 })
  })

  realTest('when a body is over, what it wrote is sent and the connection is closed', function* (reports) {
    const [server, loop] = yield* serving((socket) => void socket.tryWrite('x'.repeat(1_000_000)))
    assert.equal((yield* until((yield* rawClient(server)).all)).length, 1_000_000)
    yield* server.close()
    yield* loop
    assert.deepEqual(reports, [])
  })

  realTest('children of a connection are stopped before it is closed', function* () {
    let wasClosed: boolean | undefined
    const [server] = yield* serving(function* (socket) {
      spin(() => waits(() => void (wasClosed = socket.isClosed)))
      yield* snooze()
    })
    assert.equal(yield* until((yield* rawClient(server)).all), '')
    assert.equal(wasClosed, false)
  })

  realTest('close() of the server ends it when the connections that are open have ended', function* () {
    const [server, loop] = yield* serving((socket) => socket.readLoop((chunk) => socket.write(chunk)))
    const client = yield* connected(server)
    yield* eventually(() => server.stats().open === 1)
    yield* server.close()
    yield* snooze()
    assert.equal(loop.state, 'waiting')
    yield* client.end('still served\n')
    assert.equal(yield* client.gets(), 'still served')
    yield* loop
    yield* server.acceptLoop(() => {}) // and one that begins now ends at once
  })

  realTest('a body that returns false ends it; its connections and other loops go on', function* () {
    let isOver = false
    const answer = function* (socket: Socket): Routine<string | undefined> {
      const line = yield* socket.gets()
      yield* socket.write(`${line}!`)
      return line
    }
    const [server, loop] = yield* serving(function* (socket: Socket): Routine<boolean> {
      isOver = (yield* answer(socket)) === 'enough'
      return !isOver
    })
    const slow = yield* connected(server)
    yield* eventually(() => server.stats().open === 1)
    const other = spin(() => server.acceptLoop((socket) => answer(socket)))
    while (!isOver) assert.equal(yield* ask(server, 'enough'), 'enough!') // either loop may be given it
    assert.deepEqual([loop.state, other.state], ['waiting', 'waiting'])
    yield* slow.write('last\n')
    assert.equal(`${yield* slow.readAll()}`, 'last!')
    yield* loop
    assert.equal(server.isClosed, false)
    assert.equal(yield* ask(server, 'two'), 'two!')
    assert.equal(other.state, 'waiting')
  })

  realTest('a connection that comes as a loop ends goes to the next that accepts', function* () {
    const body = function* (socket: Socket): Routine<boolean> {
      yield* socket.gets()
      return false
    }
    const [server, loop] = yield* serving(body, { maxConnections: 1 })
    const [first, second] = [yield* connected(server), yield* connected(server)]
    yield* eventually(() => server.stats().backlog === 1)
    yield* first.end('over\n')
    yield* loop
    assert.equal((yield* accepted(server)).remotePort, second.localPort)
  })
})

describe('errors of a connection', () => {
  realTest('an error is reported with its fiber, and harms no other', function* (reports) {
    const [server] = yield* serving(function* (socket) {
      const line = yield* socket.gets()
      yield* socket.write('so far')
      if (line === 'fail') throw new Error('no such thing')
    })
    const other = yield* connected(server)
    assert.equal(yield* ask(server, 'fail'), 'so far') // what was written is sent all the same
    yield* other.write('go on\n')
    assert.equal(`${yield* other.readAll()}`, 'so far')
    yield* eventually(() => reports.length > 0)
    const [{ kind, error, message } = assert.fail(), ...more] = reports
    assert.deepEqual([kind, (error as Error).message, more], ['unobserved', 'no such thing', []])
    assert.match(message, /^run > test > server > conn#\d failed/)
  })

  realTest('onError may wait and answer instead; an error of its own is reported', function* (reports) {
    const body = function* (socket: Socket): Routine<void> {
      throw new Error(yield* socket.gets())
    }
    const onError = function* (error: unknown, socket: Socket): Routine<void> {
      const { message } = error as Error
      yield* snooze()
      yield* socket.write(`sorry: ${message}`)
      if (message === 'second') throw new Error('of onError')
    }
    const [server, loop] = yield* serving(body, { onError })
    for (const word of ['first', 'second']) assert.equal(yield* ask(server, word), `sorry: ${word}`)
    yield* server.close()
    yield* loop
    const messages = reports.map(({ error }) => (error as Error).message)
    assert.deepEqual(messages, ['of onError'])
  })

  realTest('that the other side went away is neither reported nor given to onError', function* (reports) {
    const seen: any[] = []
    const body = function* (socket: Socket): Routine<void> {
      const mode = yield* socket.gets()
      yield* socket.write('ready')
      if (mode === 'close') return void socket.tryWrite(Buffer.alloc(20_000_000)) // it breaks when it is closed
      try {
        if (mode === 'read') yield* socket.readAll()
        else for (;;) yield* socket.write('x'.repeat(100_000))
      } catch (error) {
        seen.push(error)
        throw error
      }
    }
    const [server, loop] = yield* serving(body, { onError: (error) => void seen.push(`told ${error}`) })
    for (const mode of ['read', 'write', 'close']) {
      const { socket } = yield* rawClient(server)
      socket.write(`${mode}\n`)
      yield* until(once(socket, 'data'))
      socket.resetAndDestroy()
    }
    yield* eventually(() => seen.length === 2)
    for (const error of seen) assert.match(error.code, /^(ECONNRESET|EPIPE)$/)
    yield* server.close()
    yield* loop
    assert.deepEqual(reports, [])
  })

  for (const [what, code] of [
    ['the reset of another connection', 'ECONNRESET'],
    ['a read of a connection that its own body has closed', 'STREAM_CLOSED'],
  ] as const) {
    realTest(`${what} is an error like any other`, function* (reports) {
      const [target, other] = yield* bothEnds(yield* listening())
      const [server] = yield* serving((socket) => {
        if (code === 'ECONNRESET') return other.readAll()
        socket.destroy()
        return socket.read()
      })
      const { all } = yield* rawClient(server)
      ;(target as any).channel.socket.resetAndDestroy()
      assert.equal(yield* until(all), '')
      yield* eventually(() => reports.length === 1)
      assert.equal((reports[0] as any).error.code, code)
    })
  }
})

for (const verb of ['stop', 'kill', 'raise'] as const) {
  realTest(`a fiber that meets a ${verb} before it starts closes its connection`, function* () {
    let started = 0
    const body = function* (socket: Socket): Routine<void> {
      started++
      yield* socket.write('hello')
    }
    const [server] = yield* serving(body, { maxConnections: 1 })
    const untap = tap((event, fiber) => {
      if (event !== 'schedule' || fiber.name !== 'conn#1') return
      untap()
      fiber[verb as 'raise']('enough')
    })
    const first = yield* rawClient(server)
    assert.deepEqual([yield* until(first.all), started], ['', 0])
    assert.equal(yield* ask(server, ''), 'hello') // there is room for the next
  })
}

describe('the end of an accept loop', () => {
  realTest('stopped, it stops its connections, which may say goodbye', function* (reports) {
    const goodbye = (socket: Socket) => ensure(suspend, () => socket.write('goodbye'))
    const [server, loop] = yield* serving(goodbye, { onError: assert.fail })
    const clients = [yield* rawClient(server), yield* rawClient(server)]
    yield* eventually(() => server.stats().open === 2)
    yield* loop.stop()
    assert.equal(server.stats().open, 0)
    for (const { all } of clients) assert.equal(yield* until(all), 'goodbye')
    assert.deepEqual(reports, []) // a stop is no error for onError
  })

  realTest('a peer that does not read what it is sent cannot keep it beyond its grace', function* () {
    const [server, loop] = yield* serving((socket) => socket.write(Buffer.alloc(20_000_000)), { grace: 20 })
    yield* connected(server)
    yield* eventually(() => server.stats().open === 1)
    yield* loop.stop()
    assert.deepEqual([loop.outcome?.type, server.stats().open], ['stopped', 0])
  })

  for (const verb of ['stop', 'kill'] as const) {
    realTest(`a ${verb} closes its connections, and leaves what waits for room to the next`, function* () {
      const [server, loop] = yield* serving(() => suspend(), { maxConnections: 1 })
      const [first, second] = [yield* rawClient(server), yield* rawClient(server)]
      yield* eventually(() => server.stats().open === 1 && server.stats().backlog === 1)
      yield* loop[verb]()
      assert.equal(server.stats().open, 0)
      const next = () => spin(() => server.acceptLoop((socket) => socket.end('welcome')))
      const idle = next()
      assert.deepEqual([yield* until(first.all), yield* until(second.all)], ['', 'welcome'])
      yield* idle[verb]() // the room that it had for its next connection is free
      next()
      assert.equal(yield* ask(server, ''), 'welcome')
    })
  }

  for (const next of ['comes later', 'waits already', 'is not to come'] as const) {
    realTest(`killed as it is given a connection, it leaves it to the next, which ${next}`, function* () {
      const [server, loop] = yield* serving(() => assert.fail('it was killed'))
      yield* snooze()
      const waiting = next === 'waits already' ? spin(() => accepted(server)) : undefined
      const untap = tap((event, fiber) => {
        if (event !== 'schedule' || fiber !== loop) return
        loop.kill()
        if (next === 'is not to come') server.destroy()
      })
      const { socket, all } = yield* rawClient(server)
      yield* loop.join()
      untap()
      if (next === 'is not to come') assert.equal(yield* until(all), '')
      else assert.equal((yield* waiting ?? accepted(server)).remotePort, socket.localPort)
    })
  }
})

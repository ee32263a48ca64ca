// connect: where it leads, and what is left when its fiber does not wait any more.

import dns from 'node:dns'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { connect, IOError, Socket, StreamClosed } from 'polyphony/io'
import {
  assert,
  BadYield,
  describe,
  eventually,
  moveOnAfter,
  type Op,
  type Routine,
  scope,
  snooze,
  spin,
  TimedOut,
  tap,
  thrownBy,
  turns,
  until,
  use,
} from '../../prelude.js'
import {
  accepted,
  bothEnds,
  folder,
  listening,
  opened,
  realTest,
  refusesTwo,
  struckWaiting,
} from '../real.js'
import { forEveryKind, targetOf } from './ends.js'

/** The port of a server of Node's that says hello. */
function* helloServer(host = '127.0.0.1'): Routine<number> {
  const server = createServer((socket) => socket.on('error', () => {}).end('hello\n')).listen(0, host)
  yield* use(server, () => void server.close())
  yield* until(once(server, 'listening'))
  return (server.address() as { port: number }).port
}

/** A port where nothing listens. */
function* freePort(): Routine<number> {
  const server = yield* listening()
  yield* server.close()
  return server.port
}

describe('connect', () => {
  realTest('leads to an address, here of IPv6, and knows its place also when it is closed', function* () {
    const host = '::1'
    const port = yield* helloServer(host)
    const socket = yield* opened(connect({ host, port, timeout: 60_000 }))
    yield* until(turns(20))
    assert.equal(socket.stats().received, 0) // nothing comes before it is asked for
    assert.equal(yield* socket.gets(), 'hello')
    assert.equal(socket.localAddress, host)
    assert.ok((socket.localPort as number) > 0)
    yield* socket.close()
    const { name, remoteAddress, remotePort } = socket
    assert.deepEqual([name, remoteAddress, remotePort], [`tcp [::1]:${port}`, host, port])
  })

  realTest('family and localAddress choose; without a host it leads to this machine', function* () {
    const port = yield* helloServer()
    for (const more of [{}, { host: 'localhost', family: 4, localAddress: '127.0.0.1' }] as const) {
      const socket = yield* opened(connect({ port, ...more }))
      assert.deepEqual([yield* socket.gets(), socket.localAddress], ['hello', '127.0.0.1'])
    }
    const error = yield* thrownBy(connect({ host: '127.0.0.1', port, localAddress: '192.0.2.1' }))
    assert.equal(error.code, 'EADDRNOTAVAIL')
    assert.ok((yield* thrownBy(connect({ host: 'localhost', port, family: 6 }))) instanceof IOError)
  })

  realTest('of two addresses the second is tried when the first refuses', function* () {
    const port = yield* helloServer()
    const free = yield* freePort()
    const { lookup } = dns // a name with two addresses, whatever names this machine knows
    yield* use(null, () => void (dns.lookup = lookup))
    ;(dns as any).lookup = (_name: string, _options: object, found: (...args: unknown[]) => void) =>
      found(null, [
        { address: '::1', family: 6 },
        { address: '127.0.0.1', family: 4 },
      ])
    const socket = yield* opened(connect({ host: 'two.example', port }))
    assert.deepEqual([yield* socket.gets(), socket.remoteAddress], ['hello', '127.0.0.1'])
    const { message } = yield* thrownBy(connect({ host: 'two.example', port: free }))
    assert.equal(message, `connect(two.example:${free}) failed: connection refused (ECONNREFUSED)`)
  })

  realTest('leads to a Unix socket, whose path is its name', function* () {
    const path = join(yield* folder(), 's')
    for (const { name, remoteAddress, remotePort, localAddress } of yield* bothEnds(
      yield* listening({ path }),
    )) {
      assert.equal(name, `unix ${path}`)
      assert.deepEqual([remoteAddress, remotePort, localAddress], [undefined, undefined, undefined])
    }
  })

  realTest('says what refused, what is unknown, and which file is missing', function* () {
    const port = yield* freePort()
    const refused = yield* thrownBy(connect({ host: '127.0.0.1', port }))
    assert.ok(refused instanceof IOError)
    assert.deepEqual([refused.code, refused.syscall], ['ECONNREFUSED', 'connect'])
    assert.equal(refused.message, `connect(127.0.0.1:${port}) failed: connection refused (ECONNREFUSED)`)
    assert.equal((refused.cause as NodeJS.ErrnoException).code, 'ECONNREFUSED')
    const unknown = yield* thrownBy(connect({ host: 'unknown.invalid', port: 80 }))
    assert.match(unknown.message, /^connect\(unknown\.invalid:80\) failed: .*(ENOTFOUND|EAI_AGAIN)/)
    assert.match((yield* thrownBy(connect({ host: '::1', port }))).message, /^connect\(\[::1\]:\d+\) failed/)
    const op = connect({ path: '/no/such/socket', timeout: 60_000 })
    const [first, second] = [yield* thrownBy(op), yield* thrownBy(op)] // an op can be used again
    assert.equal(second.message, 'connect(/no/such/socket) failed: no such file or directory (ENOENT)')
    assert.notEqual(first, second)
  })

  realTest('a timeout of Infinity is no limit', function* () {
    const port = yield* helloServer()
    const socket = yield* opened(connect({ port, timeout: Infinity }))
    assert.equal(yield* socket.gets(), 'hello')
  })
})

describe('a connection that no fiber waits for any more', () => {
  for (const verb of ['stop', 'kill'] as const) {
    for (const [host, doing] of [
      ['127.0.0.1', 'while it connects'],
      ['localhost', 'while the name is looked up'],
    ] as const) {
      realTest(`is closed: ${verb} ${doing}`, function* () {
        const { port } = yield* listening()
        const fiber = yield* struckWaiting(
          () => connect({ host, port }),
          (each) => {
            assert.equal(each.waitsFor, `connect(${host}:${port})`)
            each[verb]()
          },
        )
        assert.equal(fiber.outcome?.type, 'stopped')
        yield* opened(connect({ host, port })) // lookups are answered in their order, so the one above is over
      })
    }

    realTest(`one that has come is received, although a ${verb} strikes in that turn`, function* () {
      const server = yield* listening()
      let isReceived = false
      const untap = tap((event, fiber, value) => {
        if (event === 'schedule' && value instanceof Socket) fiber[verb]()
      })
      const fiber = spin(function* () {
        const socket = yield* connect({ host: '127.0.0.1', port: server.port })
        isReceived = true
        socket.destroy()
        yield* snooze()
        assert.fail('it was stopped')
      })
      yield* fiber.join()
      untap()
      assert.deepEqual([isReceived, fiber.outcome?.type], [true, 'stopped'])
    })
  }

  realTest('is closed: timed out, or iterated by hand; an op serves one wait at a time', function* () {
    const { port } = yield* listening()
    assert.equal(yield* moveOnAfter(0, () => connect({ port }), 'late'), 'late')
    const late = yield* thrownBy(connect({ port, timeout: 0 }))
    assert.ok(late instanceof TimedOut)
    assert.equal(late.message, `connect(localhost:${port}) took longer than 0 ms`)
    assert.throws(() => [...(connect({ port }) as Op<any> & any[])], BadYield)
    const [, first] = yield* refusesTwo(() => connect({ port }))
    yield* opened(first)
  })
})

describe('the owner of a connection', () => {
  forEveryKind(
    'is the scope or fiber that opened or accepted it, unless it is detached',
    function* (server, kind) {
      const made: Socket[] = []
      const target = targetOf(server, kind)
      function* open(detached: boolean): Routine<void> {
        made.push(yield* connect({ ...target, detached }) as Op<Socket>)
        made.push((yield* server.accept({ detached }))!)
        made.push(yield* connect({ ...target, detached }) as Op<Socket>)
        yield* eventually(() => server.stats().backlog === 1)
        made.push(server.tryAccept({ detached })!)
      }
      for (const owner of [() => scope(() => open(false)), () => spin('owner', () => open(false))]) {
        made.length = 0
        yield* owner()
        assert.deepEqual(
          made.map(({ isClosed }) => isClosed),
          [true, true, true, true],
        )
      }
      const error = yield* thrownBy(made[0]!.read())
      assert.ok(error instanceof StreamClosed)
      const [, path] =
        /at the end of the scope or fiber that it belonged to \((.*)\)\./.exec(error.message) ?? []
      assert.equal(path, 'run > test > owner', error.message)
      made.length = 0
      yield* scope(() => open(true))
      assert.deepEqual(
        made.map(({ isClosed }) => isClosed),
        [false, false, false, false],
      )
      yield* made[0]!.write('still open\n')
      assert.equal(yield* made[1]!.gets(), 'still open')
      for (const each of made) each.destroy()
    },
  )

  forEveryKind(
    'is the body of connect(), whose result it gives; what was written is sent',
    function* (server, kind) {
      const target = targetOf(server, kind)
      let inside: Socket | undefined
      const value = yield* connect(target, function* (socket: Socket) {
        inside = socket
        yield* socket.write('hello\n')
        socket.tryWrite('x'.repeat(100_000))
        return 42
      })
      assert.deepEqual([value, inside?.isClosed], [42, true])
      const far = yield* accepted(server)
      assert.deepEqual([yield* far.gets(), (yield* far.readAll()).length], ['hello', 100_000])
      const error = new Error('of the body')
      const failing = function* (socket: Socket): Routine<void> {
        inside = socket
        throw error
      }
      assert.equal(yield* thrownBy(connect(target, failing)), error)
      assert.equal(inside?.isClosed, true)
      assert.equal(yield* (yield* accepted(server)).read(), undefined)
      assert.throws(() => connect({ ...target, detached: true }, failing), /it cannot be detached$/)
    },
  )
})

// connect: where it leads, what it refuses, and what is left when nobody waits for it any more.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import dns from 'node:dns'
import { once as onceEvent } from 'node:events'
import { createServer, type Server as NetServer, Socket as NetSocket } from 'node:net'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { BadArgument, moveOnAfter, type Routine, snooze, spin, TimedOut, tap, until } from 'polyphony'
import { connect, IOError, listen, Socket } from 'polyphony/io'
import { virtual } from 'polyphony/testing'
import { thrownBy } from '../prelude.js'
import { inFolder, real, struckWaiting } from './real.js'

/** A server that is not ours and says hello; its port. */
function* helloServer(host: string): Routine<{ server: NetServer; port: number }> {
  const server = createServer((socket) => socket.on('error', () => {}).end('hello\n')).listen(0, host)
  yield* until(onceEvent(server, 'listening'))
  return { server, port: (server.address() as { port: number }).port }
}

describe('connect', () => {
  for (const host of ['127.0.0.1', '::1']) {
    test(`leads to ${host}`, () =>
      real(function* () {
        const { server, port } = yield* helloServer(host)
        const socket = yield* connect({ host, port })
        assert.equal(yield* socket.gets(), 'hello')
        assert.deepEqual([socket.remoteAddress, socket.remotePort], [host, port])
        assert.equal(socket.localAddress, host)
        assert.ok((socket.localPort as number) > 0)
        const name = host === '::1' ? `tcp [::1]:${port}` : `tcp 127.0.0.1:${port}`
        assert.equal(socket.name, name)
        yield* socket.close()
        assert.equal(socket.name, name) // also when nobody can be asked any more
        assert.equal(socket.remoteAddress, host)
        server.close()
      }))
  }

  test('a name leads to whichever of its addresses answers', () =>
    real(function* () {
      const { server, port } = yield* helloServer('127.0.0.1')
      for (const host of [undefined, 'localhost']) {
        const socket = yield* connect(host === undefined ? { port } : { host, port })
        assert.equal(yield* socket.gets(), 'hello')
        yield* socket.close()
      }
      server.close()
    }))

  test('of two addresses, the second is tried when the first refuses, and reads as any other', () =>
    real(function* () {
      const { server, port } = yield* helloServer('127.0.0.1')
      // A name with two addresses, whatever names this machine knows.
      const { lookup } = dns
      ;(dns as any).lookup = (_name: string, _options: object, found: (...args: unknown[]) => void) =>
        found(null, [
          { address: '::1', family: 6 },
          { address: '127.0.0.1', family: 4 },
        ])
      try {
        const socket = yield* connect({ host: 'two.example', port })
        assert.equal(yield* socket.gets(), 'hello')
        assert.equal(socket.remoteAddress, '127.0.0.1')
        yield* socket.close()
        server.close()
        const error = yield* thrownBy(connect({ host: 'two.example', port }))
        assert.ok(error instanceof IOError)
        assert.equal(error.code, 'ECONNREFUSED')
        assert.equal(error.message, `connect(two.example:${port}) failed: connection refused (ECONNREFUSED)`)
      } finally {
        dns.lookup = lookup
      }
    }))

  test('family and localAddress choose', () =>
    real(function* () {
      const { server, port } = yield* helloServer('127.0.0.1')
      const socket = yield* connect({ host: 'localhost', port, family: 4, localAddress: '127.0.0.1' })
      assert.equal(socket.localAddress, '127.0.0.1')
      yield* socket.close()
      const error = yield* thrownBy(connect({ host: '127.0.0.1', port, localAddress: '192.0.2.1' }))
      assert.equal(error.code, 'EADDRNOTAVAIL')
      server.close()
    }))

  test('leads to a Unix socket, whose path is its name', () =>
    inFolder((folder) =>
      real(function* () {
        const path = join(folder, 's')
        const server = yield* listen({ path })
        spin(() => server.acceptLoop((socket) => socket.write(`${socket.name}\n`)))
        const socket = yield* connect({ path })
        assert.equal(socket.name, `unix ${path}`)
        assert.equal(yield* socket.gets(), `unix ${path}`)
        assert.deepEqual(
          [socket.remoteAddress, socket.remotePort, socket.localAddress],
          [undefined, undefined, undefined],
        )
        yield* socket.close()
        yield* server.close()
      }),
    ))

  test('says who refused, who is unknown, and which file is not there', () =>
    real(function* () {
      const { server, port } = yield* helloServer('127.0.0.1')
      server.close()
      yield* until(onceEvent(server, 'close'))
      const refused = yield* thrownBy(connect({ host: '127.0.0.1', port }))
      assert.ok(refused instanceof IOError)
      assert.deepEqual([refused.code, refused.syscall], ['ECONNREFUSED', 'connect'])
      assert.equal(refused.message, `connect(127.0.0.1:${port}) failed: connection refused (ECONNREFUSED)`)
      assert.equal((refused.cause as NodeJS.ErrnoException).code, 'ECONNREFUSED')
      const unknown = yield* thrownBy(connect({ host: 'nobody.invalid', port: 80 }))
      assert.match(unknown.code, /^(ENOTFOUND|EAI_AGAIN)$/)
      assert.match(unknown.message, /^connect\(nobody\.invalid:80\) failed: /)
      const missing = yield* thrownBy(connect({ path: '/no/such/socket' }))
      assert.equal(missing.message, 'connect(/no/such/socket) failed: no such file or directory (ENOENT)')
      assert.match(
        (yield* thrownBy(connect({ host: '::1', port }))).message,
        /^connect\(\[::1\]:\d+\) failed/,
      )
    }))

  test('each yield* that fails has an error of its own, and the op can be used again', () =>
    real(function* () {
      const op = connect({ path: '/no/such/socket' })
      const [first, second] = [yield* thrownBy(op), yield* thrownBy(op)]
      assert.notEqual(first, second)
      assert.equal(second.code, 'ENOENT')
    }))

  test('refuses what it cannot mean, by name', () => {
    const cases: [unknown, RegExp][] = [
      [8080, /connect\(\) needs an object of options: connect\(\{ port: 8080 \}\)/],
      [{ port: 80, host: 'http://x' }, /the host of connect\(\) must be a name or an address and no URL/],
      [{}, /connect\(\) needs a port, or the path of a Unix socket/],
      [{ port: 0 }, /the port of connect\(\) must be a whole number from 1 to 65535, got 0/],
      [{ port: '80' }, /the port of connect\(\) must be a whole number from 1 to 65535, got "80"/],
      [{ port: 65536 }, /got 65536/],
      [{ port: 80, path: '/x' }, /either a path or a host and port, not both/],
      [{ port: 80, host: '' }, /the host of connect\(\) must be a string that is not empty/],
      [{ path: 5 }, /the path of connect\(\) must be a string/],
      [{ path: 'x'.repeat(200) }, /the path of connect\(\) has 200 bytes, but a Unix socket can have 10[37]/],
      [{ port: 80, timeout: -1 }, /the timeout of connect\(\) needs a duration/],
      [{ port: 80, family: 5 }, /the family of connect\(\) must be 4 or 6, got 5/],
      [{ port: 80, localAddress: 'here' }, /localAddress of connect\(\) must be an IP address, got "here"/],
      [{ port: 80, noDelay: 'yes' }, /noDelay of connect\(\) must be true or false, got "yes"/],
      [{ port: 80, keepAlive: -5 }, /keepAlive of connect\(\) needs a duration/],
      [{ port: 80, tiemout: 5 }, /connect\(\) has no option "tiemout"; there are: host, port, path/],
    ]
    for (const [options, message] of cases) {
      assert.throws(
        () => connect(options as never),
        (error) => error instanceof BadArgument && message.test(error.message),
        JSON.stringify(options),
      )
    }
  })
})

describe('a connection that nobody waits for any more', () => {
  /** A port where connections are neither accepted nor refused: its backlog is full, and its process does nothing. */
  async function deafPort(): Promise<{ port: number; end(): Promise<void> }> {
    const source = `
      const server = require('node:net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
        require('node:fs').writeSync(1, server.address().port + '\\n')
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
      })`
    const child = spawn(process.execPath, ['-e', source], { stdio: ['ignore', 'pipe', 'inherit'] })
    const [chunk] = await onceEvent(child.stdout, 'data')
    const port = Number(chunk)
    const fillers: NetSocket[] = []
    // Those that are made while there is room. More than enough.
    for (let i = 0; i < 8; i++) {
      fillers.push(new NetSocket().on('error', () => {}).connect(port, '127.0.0.1'))
    }
    await onceEvent(fillers[0] as NetSocket, 'connect')
    return {
      port,
      async end() {
        for (const filler of fillers) filler.destroy()
        child.kill('SIGKILL')
        await onceEvent(child, 'close')
      },
    }
  }

  test('times out with TimedOut, which names it', async () => {
    const { port, end } = await deafPort()
    try {
      await virtual(function* () {
        const error = yield* thrownBy(connect({ host: '127.0.0.1', port, timeout: 5_000 }))
        assert.ok(error instanceof TimedOut)
        assert.equal(error.message, `connect(127.0.0.1:${port}) took longer than 5000 ms`)
      })
    } finally {
      await end()
    }
  })

  test('a time-out that is not reached leaves no timer', () =>
    real(function* () {
      const { server, port } = yield* helloServer('127.0.0.1')
      const socket = yield* connect({ host: '127.0.0.1', port, timeout: 60_000 })
      yield* socket.close()
      assert.equal((yield* thrownBy(connect({ path: '/no/such', timeout: 60_000 }))).code, 'ENOENT')
      server.close()
    }))

  for (const verb of ['stop', 'kill'] as const) {
    for (const host of ['127.0.0.1', 'localhost']) {
      const doing = host === 'localhost' ? 'while the name is looked up' : 'while it connects'
      test(`S35 is closed: ${verb} ${doing}`, () =>
        real(function* () {
          const server = yield* listen({ host: '127.0.0.1' })
          const fiber = yield* struckWaiting(
            function* () {
              yield* connect({ host, port: server.port })
            },
            (each) => {
              assert.equal(each.waitsFor, `connect(${host}:${server.port})`)
              each[verb]()
            },
          )
          assert.equal(fiber.outcome?.type, 'stopped')
          // Lookups are answered in their order, so the one above is over.
          const socket = yield* connect({ host, port: server.port })
          socket.destroy()
          yield* server.close()
        }))
    }

    test(`S34 a connection that has come is received, although a ${verb} strikes in the same turn`, () =>
      real(function* () {
        const server = yield* listen({ host: '127.0.0.1' })
        let received = false
        const untap = tap((event, fiber, value) => {
          if (event === 'schedule' && value instanceof Socket) fiber[verb]()
        })
        const fiber = spin(function* () {
          const socket = yield* connect({ host: '127.0.0.1', port: server.port })
          received = true
          socket.destroy()
          yield* snooze()
          assert.fail('it was stopped')
        })
        yield* fiber.join()
        untap()
        assert.deepEqual([received, fiber.outcome?.type], [true, 'stopped'])
        yield* server.close()
      }))
  }

  test('S35 is closed: timed out', () =>
    real(function* () {
      const server = yield* listen({ host: '127.0.0.1' })
      assert.equal(yield* moveOnAfter(0, () => connect({ port: server.port }), 'late'), 'late')
      yield* server.close()
    }))
})

// listen: where, how, and what it refuses; the files of Unix sockets.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once as onceEvent } from 'node:events'
import { existsSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { BadArgument, until } from 'polyphony'
import { connect, IOError, listen } from 'polyphony/io'
import { thrownBy } from '../prelude.js'
import { inFolder, real, struckWaiting } from './real.js'

describe('listen', () => {
  test('finds a port that is free, and says which', () =>
    real(function* () {
      const server = yield* listen()
      assert.ok(server.port > 0)
      assert.equal(server.name, `server :${server.port}`)
      const socket = yield* connect({ host: '127.0.0.1', port: server.port })
      socket.destroy()
      yield* server.close()
      assert.ok(server.port > 0) // also afterwards
    }))

  test('on one address, of either family', () =>
    real(function* () {
      for (const host of ['127.0.0.1', '::1']) {
        const server = yield* listen({ host })
        assert.equal(server.address, host)
        assert.equal(server.name, `server ${host === '::1' ? '[::1]' : host}:${server.port}`)
        const socket = yield* connect({ host, port: server.port })
        const accepted = yield* server.accept()
        assert.equal(accepted?.localAddress, host)
        assert.equal(accepted?.remotePort, socket.localPort)
        socket.destroy()
        accepted?.destroy()
        yield* server.close()
      }
    }))

  test('ipv6Only refuses IPv4', () =>
    real(function* () {
      const server = yield* listen({ host: '::', ipv6Only: true })
      const error = yield* thrownBy(connect({ host: '127.0.0.1', port: server.port }))
      assert.equal(error.code, 'ECONNREFUSED')
      yield* server.close()
    }))

  test('says that a port is in use, and what to do', () =>
    real(function* () {
      const server = yield* listen({ host: '127.0.0.1' })
      const error = yield* thrownBy(listen({ host: '127.0.0.1', port: server.port }))
      assert.ok(error instanceof IOError)
      assert.deepEqual([error.code, error.syscall], ['EADDRINUSE', 'listen'])
      assert.equal(
        error.message,
        `listen(127.0.0.1:${server.port}) failed: address already in use (EADDRINUSE). ` +
          'Somebody listens there already: choose another port, or 0 for any that is free.',
      )
      yield* server.close()
      yield* (yield* listen({ host: '127.0.0.1', port: server.port })).close() // free again at once
    }))

  test('says that a host is unknown, or is not one of ours', () =>
    real(function* () {
      const unknown = yield* thrownBy(listen({ host: 'nobody.invalid' }))
      assert.match(unknown.code, /^(ENOTFOUND|EAI_AGAIN)$/)
      assert.match(unknown.message, /^listen\(nobody\.invalid:0\) failed: /)
      assert.equal((yield* thrownBy(listen({ host: '192.0.2.1' }))).code, 'EADDRNOTAVAIL')
    }))

  test('several may share a port by reusePort, where Node can', () =>
    real(function* () {
      const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
      if (major < 22 || (major === 22 && minor < 12)) {
        assert.throws(() => listen({ reusePort: true }), /needs Node 22\.12 or later, this is v/)
        return
      }
      const one = yield* listen({ host: '127.0.0.1', reusePort: true })
      const two = yield* listen({ host: '127.0.0.1', port: one.port, reusePort: true })
      yield* one.close()
      yield* two.close()
    }))

  test('S35 a server that listens when its fiber has left is closed', () =>
    real(function* () {
      for (const options of [{}, { host: '127.0.0.1' }, { host: 'localhost' }]) {
        const fiber = yield* struckWaiting(
          function* () {
            yield* listen(options)
          },
          (each) => each.stop(),
        )
        assert.equal(fiber.outcome?.type, 'stopped')
      }
      // Lookups are answered in their order: the one above is over.
      yield* (yield* listen({ host: 'localhost' })).close()
    }))

  test('refuses what it cannot mean, by name', () => {
    const cases: [unknown, RegExp][] = [
      [8080, /listen\(\) needs an object of options: listen\(\{ port: 8080 \}\)/],
      [{ port: -1 }, /the port of listen\(\) must be a whole number from 0 to 65535, got -1/],
      [{ port: 80, path: '/x' }, /either a path or a host and port/],
      [{ backlog: 0 }, /the backlog of listen\(\) needs a whole number, 1 or more, got 0/],
      [{ maxConnections: 1.5 }, /maxConnections of listen\(\) needs a whole number, 1 or more, got 1.5/],
      [{ path: '/x', mode: 0o1777 }, /the mode of listen\(\) must be from 0 to 0o777/],
      [{ mode: 0o600 }, /listen\(\) has mode for Unix sockets only/],
      [{ removeStale: true }, /listen\(\) has removeStale for Unix sockets only/],
      [{ ipv6Only: 1 }, /ipv6Only of listen\(\) must be true or false, got 1/],
      [{ path: `/${'x'.repeat(150)}` }, /the path of listen\(\) has 151 bytes/],
      [{ prot: 80 }, /listen\(\) has no option "prot"; there are: port, host/],
    ]
    for (const [options, message] of cases) {
      assert.throws(
        () => listen(options as never),
        (error) => error instanceof BadArgument && message.test(error.message),
        JSON.stringify(options),
      )
    }
  })
})

describe('the file of a Unix socket', () => {
  test('is removed when the server is closed', () =>
    inFolder((folder) =>
      real(function* () {
        const path = join(folder, 's')
        for (const end of ['close', 'destroy'] as const) {
          const server = yield* listen({ path })
          assert.deepEqual([server.address, server.port, server.name], [path, 0, `server ${path}`])
          assert.ok(statSync(path).isSocket())
          if (end === 'close') yield* server.close()
          else server.destroy()
          assert.equal(existsSync(path), false)
        }
      }),
    ))

  test('has the permissions it was given', () =>
    inFolder((folder) =>
      real(function* () {
        for (const mode of [0o600, 0o666]) {
          const server = yield* listen({ path: join(folder, 's'), mode })
          assert.equal(statSync(server.address).mode & 0o777, mode)
          yield* server.close()
        }
      }),
    ))

  test('that is in use is refused, with what to do, and left alone', () =>
    inFolder((folder) =>
      real(function* () {
        const path = join(folder, 's')
        const server = yield* listen({ path })
        for (const removeStale of [false, true]) {
          const error = yield* thrownBy(listen({ path, removeStale }))
          assert.equal(error.code, 'EADDRINUSE')
          assert.match(
            error.message,
            /Somebody listens there already, or the file was left .* removeStale: true/,
          )
        }
        const socket = yield* connect({ path })
        socket.destroy()
        yield* server.close()
      }),
    ))

  /** Leaves the file of a server that was killed. */
  async function leave(path: string): Promise<void> {
    const source = `require('node:net').createServer().listen(process.argv[1], () => process.kill(process.pid, 'SIGKILL'))`
    const child = spawn(process.execPath, ['-e', source, path], { stdio: 'inherit' })
    await onceEvent(child, 'exit')
  }

  test('left by a program that was killed is refused, or removed if told so', () =>
    inFolder((folder) =>
      real(function* () {
        const path = join(folder, 's')
        yield* until(leave(path))
        assert.ok(statSync(path).isSocket())
        assert.equal((yield* thrownBy(listen({ path }))).code, 'EADDRINUSE')
        const server = yield* listen({ path, removeStale: true })
        const socket = yield* connect({ path })
        socket.destroy()
        yield* server.close()
      }),
    ))

  test('that is no socket is never removed', () =>
    inFolder((folder) =>
      real(function* () {
        const path = join(folder, 'letters')
        writeFileSync(path, 'dear diary')
        assert.equal((yield* thrownBy(listen({ path, removeStale: true }))).code, 'EADDRINUSE')
        assert.ok(existsSync(path))
      }),
    ))

  test('in a folder that is not there: says so', () =>
    inFolder((folder) =>
      real(function* () {
        const path = join(folder, 'no', 's')
        const error = yield* thrownBy(listen({ path }))
        assert.match(error.message, /\((EACCES|ENOENT)\)\. There is no folder .*no\.$/)
      }),
    ))
})

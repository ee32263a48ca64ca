// listen: where and how; the files of Unix sockets.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect, IOError, listen, type Server } from 'polyphony/io'
import {
  assert,
  BadYield,
  describe,
  eventually,
  type Fiber,
  type Op,
  spin,
  suspend,
  thrownBy,
  until,
} from '../../prelude.js'
import {
  accepted,
  connected,
  folder,
  listening,
  opened,
  realTest,
  refusesTwo,
  struckWaiting,
} from '../real.js'

describe('listen', () => {
  realTest('on all addresses or on one, at a port that is free, and says which', function* () {
    for (const [options, name, address] of [
      [undefined, '', '127.0.0.1'],
      [{ host: '127.0.0.1' }, '127.0.0.1', '127.0.0.1'],
      [{ host: '::1' }, '[::1]', '::1'],
    ] as const) {
      const server = yield* opened(listen(options))
      yield* opened(connect({ host: address, port: server.port }))
      yield* accepted(server)
      if (options !== undefined) assert.equal(server.address, address)
      yield* server.close()
      assert.equal(server.name, `server ${name}:${server.port}`)
    }
  })

  realTest('ipv6Only refuses IPv4', function* () {
    const { port } = yield* listening({ host: '::', ipv6Only: true })
    assert.equal((yield* thrownBy(connect({ host: '127.0.0.1', port }))).code, 'ECONNREFUSED')
  })

  realTest('says that a port is in use, and what to do; a closed one is free at once', function* () {
    const server = yield* listening()
    const { port } = server
    const error = yield* thrownBy(listening({ port }))
    assert.ok(error instanceof IOError)
    assert.deepEqual([error.code, error.syscall], ['EADDRINUSE', 'listen'])
    assert.equal(
      error.message,
      `listen(127.0.0.1:${port}) failed: address already in use (EADDRINUSE). ` +
        'A process listens there already: choose another port, or 0 for any that is free.',
    )
    yield* server.close()
    yield* listening({ port })
  })

  realTest('says that a host is unknown, or is not one of this machine', function* () {
    const { message } = yield* thrownBy(listen({ host: 'unknown.invalid' }))
    assert.match(message, /^listen\(unknown\.invalid:0\) failed: .*(ENOTFOUND|EAI_AGAIN)\)?$/)
    assert.match((yield* thrownBy(listen({ host: '192.0.2.1' }))).message, /\(EADDRNOTAVAIL\)$/)
  })

  realTest('several may share a port by reusePort, where Node can', function* () {
    const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
    if (major < 22 || (major === 22 && minor < 12)) {
      assert.throws(() => listen({ reusePort: true }), /needs Node 22\.12 or later, this is v/)
    } else {
      const { port } = yield* listening({ reusePort: true })
      yield* listening({ port, reusePort: true })
    }
  })

  realTest('a server that listens when its fiber has left is closed', function* () {
    for (const options of [{}, { host: '127.0.0.1' }, { host: 'localhost' }]) {
      const fiber = yield* struckWaiting(
        () => listen(options),
        (each) => each.stop(),
      )
      assert.equal(fiber.outcome?.type, 'stopped')
    }
    assert.throws(() => [...(listen({ host: 'localhost' }) as Op<any> & any[])], BadYield)
    const [, first] = yield* refusesTwo(() => listen({ host: 'localhost' }))
    yield* opened(first) // lookups are answered in their order: those above are over
  })
})

describe('the file of a Unix socket', () => {
  realTest('has the permissions that were given, and is removed when the server is closed', function* () {
    const path = join(yield* folder(), 's')
    for (const [end, mode] of [
      ['close', 0o600],
      ['destroy', 0o666],
    ] as const) {
      const server = yield* listening({ path, mode })
      assert.deepEqual([server.address, server.port, server.name], [path, 0, `server ${path}`])
      assert.ok(statSync(path).isSocket())
      assert.equal(statSync(path).mode & 0o777, mode)
      if (end === 'close') yield* server.close()
      else server.destroy()
      assert.equal(existsSync(path), false)
    }
  })

  realTest('that is in use is refused, with what to do, and left alone', function* () {
    const path = join(yield* folder(), 's')
    const server = yield* listening({ path })
    for (const removeStale of [false, true]) {
      const error = yield* thrownBy(listen({ path, removeStale }))
      assert.match(error.message, /\(EADDRINUSE\)\. A process listens there already, or .* removeStale: true/)
    }
    yield* connected(server)
  })

  realTest('left by a program that was killed is refused, or removed if told so', function* () {
    const path = join(yield* folder(), 's')
    const source = `require('node:net').createServer().listen(process.argv[1], () => process.kill(process.pid, 'SIGKILL'))`
    yield* until(once(spawn(process.execPath, ['-e', source, path], { stdio: 'inherit' }), 'exit'))
    assert.ok(statSync(path).isSocket())
    assert.equal((yield* thrownBy(listen({ path }))).code, 'EADDRINUSE')
    yield* connected(yield* listening({ path, removeStale: true }))
  })

  realTest('that is no socket is never removed; in a folder that is not there: says so', function* () {
    const place = yield* folder()
    const path = join(place, 'letters')
    writeFileSync(path, 'dear diary')
    assert.equal((yield* thrownBy(listen({ path, removeStale: true }))).code, 'EADDRINUSE')
    assert.ok(existsSync(path))
    const error = yield* thrownBy(listen({ path: join(place, 'no', 's') }))
    assert.match(error.message, /\((EACCES|ENOENT)\)\. There is no folder .*no\.$/)
  })
})

describe('a server', () => {
  realTest(
    'belongs to the scope or fiber that opened it, however that ends, unless it is detached',
    function* () {
      const servers: Server[] = []
      const ends: [what: string, end: (fiber: Fiber) => void][] = [
        ['its end', () => {}],
        ['stop', (fiber) => void fiber.stop()],
        ['kill', (fiber) => void fiber.kill()],
      ]
      for (const [what, end] of ends) {
        const fiber = spin(function* () {
          for (const detached of [false, true]) servers.push(yield* listen({ host: '127.0.0.1', detached }))
          if (what !== 'its end') yield* suspend()
        })
        yield* eventually(() => servers.length === 2)
        end(fiber)
        yield* fiber.join()
        const [owned, detached] = servers.splice(0) as [Server, Server]
        assert.deepEqual([what, owned.isClosed, detached.isClosed], [what, true, false])
        yield* detached.close()
      }
    },
  )
})

// TLS with those who are not ours: Node's own tls, and openssl where it is installed. What they hear when we end, close and
// destroy; what we hear when they go without a word.

import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import net, { type AddressInfo } from 'node:net'
import { describe, it } from 'node:test'
import tls from 'node:tls'
import { spin, until } from 'polyphony'
import { connect, listen, type TlsSocket } from 'polyphony/io'
import { program } from '../prelude.js'
import { ca, clean, echo, fixture, pair, serving } from './tls.js'

const host = '127.0.0.1'
const local = pair('local')
const hasOpenssl = spawnSync('openssl', ['version']).status === 0

describe('foreign clients', () => {
  it("Node's talks to our server, and hears the end", () =>
    clean(function* () {
      const server = yield* serving(local, echo, { alpn: ['talk'] })
      const client = tls.connect({ host, port: server.port, ca, ALPNProtocols: ['mumble', 'talk'] })
      yield* until(once(client, 'secureConnect'))
      assert.equal(client.alpnProtocol, 'talk')
      let heard = ''
      client.on('data', (bytes) => (heard += bytes))
      client.end('hello '.repeat(50_000))
      yield* until(once(client, 'end'))
      assert.equal(heard.length, 300_000)
      yield* server.close()
    }))

  it(`${hasOpenssl ? 'openssl s_client' : "Node's, in a process of its own,"} talks to our server`, () =>
    clean(function* () {
      const server = yield* serving(local, (socket) => socket.write(`you asked for ${socket.servername}\n`))
      const client = hasOpenssl ? openssl(server.port) : nodeClient(server.port)
      let heard = ''
      client.stdout.setEncoding('utf8').on('data', (text: string) => (heard += text))
      const [code] = (yield* until(once(client, 'close'))) as [number]
      assert.match(heard, /you asked for localhost\n/)
      assert.equal(code, 0)
      assert.deepEqual(server.stats().handshakes, { underway: 0, done: 1, failed: 0 })
      yield* server.close()
    }))

  function openssl(port: number) {
    const where = ['-connect', `${host}:${port}`, '-servername', 'localhost', '-CAfile', fixture('ca.pem')]
    return spawn('openssl', ['s_client', ...where, '-verify_return_error', '-quiet'], {
      stdio: ['pipe', 'pipe', 'ignore'],
    })
  }

  function nodeClient(port: number) {
    const source = `require('node:tls').connect({ port: ${port}, servername: 'localhost', rejectUnauthorized: false }).pipe(process.stdout)`
    return spawn(process.execPath, ['-e', source], { stdio: ['pipe', 'pipe', 'ignore'] })
  }
})

describe('foreign servers', () => {
  it("our client talks to Node's, and to its half-closed connections", () =>
    clean(function* () {
      const node = tls.createServer({ ...local, allowHalfOpen: true, ALPNProtocols: ['talk'] }, (socket) => {
        let heard = 0
        socket.on('data', (bytes) => (heard += bytes.length))
        socket.on('end', () => socket.end(`${heard} bytes`))
      })
      node.listen(0, host)
      yield* until(once(node, 'listening'))
      const { port } = node.address() as AddressInfo
      const client = yield* connect({ host, port, tls: { ca }, alpn: ['talk'] })
      assert.equal(client.alpnProtocol, 'talk')
      for (let i = 0; i < 100; i++) yield* client.write('x'.repeat(999), Buffer.from('y'))
      yield* client.end()
      assert.equal(`${yield* client.readAll()}`, '100000 bytes')
      yield* client.close()
      node.close()
    }))

  it('a server that goes away without a word is heard as an end, as in Node', () =>
    clean(function* () {
      const node = tls.createServer(local, (socket) => {
        socket.write('half a mess', () => socket.destroy())
      })
      node.listen(0, host)
      yield* until(once(node, 'listening'))
      const client = yield* connect({ host, port: (node.address() as AddressInfo).port, tls: { ca } })
      assert.equal(`${yield* client.readAll()}`, 'half a mess')
      yield* client.close()
      node.close()
    }))
})

describe('what goes over the wire at the end', () => {
  const ALERT = 21
  const cases: [string, (socket: TlsSocket) => void, boolean][] = [
    ['close() says goodbye (close_notify)', (socket) => void spin(() => socket.close()), true],
    ['end() says goodbye', (socket) => void spin(() => socket.end()), true],
    ['destroy() just goes', (socket) => socket.destroy(), false],
  ]
  for (const [what, leave, saysGoodbye] of cases) {
    it(what, () =>
      clean(function* () {
        // With TLS 1.2 one can tell from outside what kind of record it is.
        const server = yield* listen({ host, tls: { ...local, maxVersion: 'TLSv1.2' } })
        const records: number[] = []
        const wires: net.Socket[] = []
        const spy = net.createServer((near) => {
          const far = net.connect(server.port, host)
          let bytes = Buffer.alloc(0)
          far.on('data', (chunk) => {
            bytes = Buffer.concat([bytes, chunk])
            for (let size = 0; bytes.length >= 5 && bytes.length >= (size = 5 + bytes.readUInt16BE(3)); ) {
              records.push(bytes[0] as number)
              bytes = bytes.subarray(size)
            }
          })
          for (const socket of [near, far]) wires.push(socket.on('error', () => {}))
          near.pipe(far)
          far.pipe(near)
        })
        spy.listen(0, host)
        yield* until(once(spy, 'listening'))
        const client = spin(() => connect({ host, port: (spy.address() as AddressInfo).port, tls: { ca } }))
        const socket = yield* server.accept()
        const friend = yield* client
        yield* friend.write('x')
        yield* socket!.read()
        leave(socket as TlsSocket)
        assert.equal(yield* friend.read(), undefined)
        yield* friend.close()
        assert.equal(records.includes(ALERT), saysGoodbye, `records: ${records}`)
        yield* socket!.close()
        for (const wire of wires) wire.destroy()
        spy.close()
        yield* server.close()
      }),
    )
  }
})

describe('the process', () => {
  it('is not held by a server and connections that nobody waits for', async () => {
    const source = `
      import { readFileSync } from 'node:fs'
      import { main } from 'polyphony'
      import { connect, listen } from 'polyphony/io'
      const [cert, key, ca] = ${JSON.stringify(['local.pem', 'local.key', 'ca.pem'].map(fixture))}.map((path) => readFileSync(path))
      main(function* () {
        const server = yield* listen({ host: '127.0.0.1', tls: { cert, key } })
        const client = yield* connect({ host: '127.0.0.1', port: server.port, tls: { ca } })
        yield* (yield* server.accept()).write('hello')
        console.log(String(yield* client.read()))
      })`
    assert.deepEqual(await program(source), { code: 0, stdout: 'hello\n', stderr: '' })
  })

  it('is held by a handshake that somebody waits for', async () => {
    const source = `
      import net from 'node:net'
      import { main, spin } from 'polyphony'
      import { connect, IOError } from 'polyphony/io'
      const server = net.createServer((socket) => {
        server.close()
        socket.unref()
        setTimeout(() => socket.destroy(), 20).unref()
      })
      server.listen(0, '127.0.0.1', () => {
        server.unref()
        main(function* () {
          try {
            yield* connect({ host: '127.0.0.1', port: server.address().port, tls: true })
          } catch (error) {
            console.log(error instanceof IOError, error.code)
          }
        })
      })`
    assert.deepEqual(await program(source), { code: 0, stdout: 'true ECONNRESET\n', stderr: '' })
  })
})

// Code of others on sockets that were detached: ws, node:http and node:http2, over TCP and TLS. The first bytes are read by a
// fiber, the rest by them: no byte is lost, however the bytes come.

import { once } from 'node:events'
import { createServer, type Server as HttpServer, IncomingMessage } from 'node:http'
import * as http2 from 'node:http2'
import type { Socket as NetSocket } from 'node:net'
import type { Duplex } from 'node:stream'
import { connect as tlsConnect } from 'node:tls'
import type { Server, Socket } from 'polyphony/io'
import { WebSocket, WebSocketServer } from 'ws'
import { assert, describe, eventually, type Routine, spin, until, use } from '../../prelude.js'
import { ca } from '../tls.js'
import { forEveryKind, KINDS, type Kind, nodePeer, sent } from './ends.js'

const kinds = KINDS.filter(({ transport }) => transport !== 'Unix')
const origin = ({ port }: Server, { transport }: Kind, scheme = 'http') =>
  `${scheme}${transport === 'TLS' ? 's' : ''}://localhost:${port}`

/** Spins the loop of a server whose handler gives its socket away; in the end, all places are free. */
function* serving(server: Server, handler: (socket: Socket) => Routine<unknown>): Routine<void> {
  const loop = spin('server', () => server.acceptLoop(handler))
  yield* use(loop, function* () {
    yield* server.close()
    yield* loop.join()
    yield* eventually(() => server.stats().open === 0)
  })
}

/** The head of a request, read by a fiber. */
function* headOf(socket: Socket): Routine<Buffer> {
  return (yield* socket.readUntil('\r\n\r\n')) as Buffer
}

/** A request as node:http would make it of a head. */
function requestOf(head: Buffer, socket: NetSocket): IncomingMessage {
  const [first = '', ...lines] = `${head}`.trimEnd().split('\r\n')
  const request = new IncomingMessage(socket)
  ;[request.method, request.url] = first.split(' ') as [string, string]
  for (const line of lines) {
    const colon = line.indexOf(':')
    request.headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim()
  }
  return request
}

describe('ws', () => {
  const SIZES = [5, 125, 126, 4096, 65_535, 65_536, 300_000]

  forEveryKind(
    'a WebSocket on a detached socket echoes 5 B to 300 kB, and its close is the end of the connection',
    function* (server, kind) {
      const websockets = new WebSocketServer({ noServer: true })
      yield* serving(server, function* (socket) {
        const head = yield* headOf(socket)
        const given = socket.detach()
        assert.equal(socket.isClosed, true)
        websockets.handleUpgrade(requestOf(head, given), given as Duplex, Buffer.alloc(0), (peer) => {
          peer.on('message', (data, isBinary) => peer.send(data as Buffer, { binary: isBinary }))
        })
      })
      const client = new WebSocket(origin(server, kind, 'ws'), { ca, perMessageDeflate: false })
      const got: Buffer[] = []
      client.on('message', (data) => void got.push(data as Buffer))
      yield* until(once(client, 'open'))
      yield* eventually(() => server.stats().open === 1)
      for (const size of SIZES) client.send(Buffer.alloc(size, size % 251))
      yield* eventually(() => got.length === SIZES.length)
      for (const [i, size] of SIZES.entries()) assert.ok(got[i]?.equals(Buffer.alloc(size, size % 251)))
      assert.equal(server.stats().open, 1) // its fiber has long ended
      client.close()
      yield* until(once(client, 'close'))
      yield* eventually(() => server.stats().open === 0)
    },
    { kinds },
  )

  forEveryKind(
    'frames that came with the request, before the socket was detached, are not lost',
    function* (server, kind) {
      const websockets = new WebSocketServer({ noServer: true })
      const got: string[] = []
      yield* serving(server, function* (socket) {
        const head = yield* headOf(socket)
        yield* eventually(() => socket.stats().unread >= 9)
        const given = socket.detach()
        websockets.handleUpgrade(requestOf(head, given), given as Duplex, Buffer.alloc(0), (peer) => {
          peer.on('message', (data) => void got.push(`${data}`))
        })
      })
      const peer = yield* nodePeer(server, kind)
      const request =
        'GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
        'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n'
      const frame = Buffer.from([0x81, 0x83, 0, 0, 0, 0, 0x61, 0x62, 0x63]) // 'abc', with a mask of zeros
      yield* sent(peer, Buffer.concat([Buffer.from(request), frame]))
      yield* eventually(() => got.length === 1)
      peer.write(frame)
      yield* eventually(() => got.length === 2)
      assert.deepEqual(got, ['abc', 'abc'])
      peer.destroy()
    },
    { kinds },
  )
})

describe('node:http', () => {
  /** Echoes bodies, and says how many requests a connection has had. */
  function* nodeServer(): Routine<HttpServer> {
    const counts = new WeakMap<object, number>()
    const http = createServer((request, answer) => {
      const count = (counts.get(request.socket) ?? 0) + 1
      counts.set(request.socket, count)
      answer.setHeader('x-count', count)
      request.pipe(answer)
    })
    return yield* use(http, () => void http.closeAllConnections())
  }

  /** An answer with a Content-Length or in chunks, read to its end; the connection stays open. */
  function* answer(read: (until: string) => Routine<Buffer>, take: (count: number) => Routine<Buffer>) {
    const head = `${yield* read('\r\n\r\n')}`
    const parts: Buffer[] = []
    if (/content-length: 0\r/i.test(head)) return { head, body: Buffer.alloc(0) }
    for (;;) {
      const size = Number.parseInt(`${yield* read('\r\n')}`, 16)
      const part = yield* take(size + 2)
      parts.push(part.subarray(0, size))
      if (size === 0) return { head, body: Buffer.concat(parts) }
    }
  }

  forEveryKind(
    'a connection whose first bytes were looked at and put back serves 20 GETs and a POST of 300 kB',
    function* (server, kind) {
      const http = yield* nodeServer()
      yield* serving(server, function* (socket) {
        const first = yield* socket.readExactly(3)
        assert.equal(`${first}`, 'GET')
        socket.unread(first)
        http.emit('connection', socket.detach())
      })
      const peer = yield* nodePeer(server, kind)
      let inbox = Buffer.alloc(0)
      peer.on('data', (more: Buffer) => void (inbox = Buffer.concat([inbox, more]))).resume()
      function* take(count: number): Routine<Buffer> {
        yield* eventually(() => inbox.length >= count)
        const bytes = inbox.subarray(0, count)
        inbox = inbox.subarray(count)
        return bytes
      }
      function* read(mark: string): Routine<Buffer> {
        yield* eventually(() => inbox.includes(mark))
        return yield* take(inbox.indexOf(mark) + mark.length)
      }
      const get = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'
      yield* sent(peer, get.repeat(10)) // pipelined
      for (let i = 1; i <= 20; i++) {
        if (i > 10) peer.write(get)
        const { head, body } = yield* answer(read, take)
        assert.match(head, new RegExp(`^HTTP/1.1 200 OK\r\nx-count: ${i}\r\n`))
        assert.equal(body.length, 0)
      }
      const data = Buffer.from(Array.from({ length: 300_000 }, (_, i) => (i * 31) % 253))
      peer.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${data.length}\r\n\r\n`)
      peer.write(data)
      const { head, body } = yield* answer(read, take)
      assert.match(head, /\r\nx-count: 21\r\n/)
      assert.ok(body.equals(data))
      peer.end()
      yield* eventually(() => server.stats().open === 0)
    },
    { kinds },
  )
})

describe('node:http2', () => {
  forEveryKind(
    'a session begins after the preface was looked at and put back: 20 requests side by side',
    function* (server, kind) {
      yield* serving(server, function* (socket) {
        const preface = yield* socket.readExactly(24)
        assert.ok(`${preface}`.startsWith('PRI * HTTP/2.0'))
        socket.unread(preface)
        const session = http2.performServerHandshake(socket.detach())
        session.on('stream', (stream) => {
          stream.respond({ ':status': 200 })
          stream.pipe(stream)
        })
      })
      const client = http2.connect(origin(server, kind), {
        createConnection:
          kind.transport === 'TLS'
            ? () => tlsConnect({ host: '127.0.0.1', port: server.port, ca, servername: 'localhost' })
            : (undefined as never),
      })
      yield* use(client, () => void client.destroy())
      const bodies = Array.from({ length: 20 }, (_, i) => Buffer.alloc(i * 5000, i))
      const asked = bodies.map(async (body) => {
        const request = client.request({ ':path': '/', ':method': 'POST' })
        request.end(body)
        const parts: Buffer[] = []
        for await (const part of request) parts.push(part as Buffer)
        return Buffer.concat(parts)
      })
      for (const [i, got] of (yield* until(Promise.all(asked))).entries()) assert.ok(got.equals(bodies[i]!))
      yield* until(new Promise<void>((resolve) => client.close(resolve)))
      yield* eventually(() => server.stats().open === 0)
    },
    { kinds },
  )
})

// The contract of a stream (test/shared/stream.ts), kept by every kind there is. A new kind is one more entry here.

import { mkdtempSync, rmSync } from 'node:fs'
import { connect as connectSocket, createServer, type Server as NodeServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Duplex } from 'node:stream'
import { after } from 'node:test'
import { action, type Routine } from 'polyphony'
import { connect, fromNode, type ListenOptions, listen, pair, pipe, type Stream } from 'polyphony/io'
import { aStream } from '../shared/stream.js'
import { ca, pair as certificate } from './tls.js'

const folder = mkdtempSync(join(tmpdir(), 'polyphony-stream-'))
after(() => rmSync(folder, { recursive: true }))
let sockets = 0
const newPath = () => join(folder, `${++sockets}.sock`)

aStream('a pair in memory', {
  *connect() {
    return pair()
  },
  isReal: false,
  reset: (end) => end.destroy(),
})

aStream('a pipe in memory', {
  *connect() {
    const stream = pipe()
    return [stream, stream]
  },
  isReal: false,
  isPipe: true,
})

/** A connection to a server of ours. */
function* connection(options: ListenOptions): Routine<[Stream, Stream]> {
  const server = yield* listen(options)
  const client = yield* connect(
    options.path ? { path: options.path } : { host: '127.0.0.1', port: server.port },
  )
  const socket = (yield* server.accept()) as Stream
  yield* server.close()
  return [client, socket]
}

/** A reset, which only a TCP socket can send. */
function reset(end: Stream): void {
  const { socket } = (end as unknown as { channel: { socket: Socket } }).channel
  socket.resetAndDestroy()
}

aStream('a TCP connection', {
  connect: () => connection({ host: '127.0.0.1', port: 0 }),
  isReal: true,
  reset,
})

aStream('a connection by a Unix socket', {
  connect: () => connection({ path: newPath() }),
  isReal: true,
})

function* tlsConnection(): Routine<[Stream, Stream]> {
  const server = yield* listen({ host: '127.0.0.1', port: 0, tls: certificate('local') })
  const client = yield* connect({ host: '127.0.0.1', port: server.port, tls: { ca } })
  const socket = (yield* server.accept()) as Stream
  yield* server.close()
  return [client, socket]
}

aStream('a TLS connection', { connect: tlsConnection, isReal: true })

/** Two streams of Node in memory, each of which reads what the other writes. */
class Side extends Duplex {
  other!: Side
  private wanted: ((error?: Error) => void) | null = null

  override _read(): void {
    const { wanted } = this
    this.wanted = null
    wanted?.()
  }
  override _write(chunk: Buffer, _encoding: string, taken: (error?: Error) => void): void {
    if (this.other.destroyed) taken(brokenPipe())
    else {
      this.other.wanted = taken
      this.other.push(chunk)
    }
  }
  override _final(done: () => void): void {
    this.other.push(null)
    done()
  }
  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    if (!this.other.destroyed && !this.writableFinished) {
      this.other.destroy(Object.assign(new Error('reset'), { code: 'ECONNRESET' }))
    }
    this.wanted?.(brokenPipe())
    done(error)
  }
}

function brokenPipe(): Error {
  return Object.assign(new Error('broken pipe'), { code: 'EPIPE' })
}

aStream('a Duplex of Node', {
  *connect() {
    const [a, b] = [new Side(), new Side()]
    a.other = b
    b.other = a
    return [fromNode(a), fromNode(b)]
  },
  isReal: true,
})

function* nodeSockets(): Routine<[Stream, Stream]> {
  const path = newPath()
  const server = yield* action<NodeServer>((settle, fail) => {
    const made = createServer({ allowHalfOpen: true, pauseOnConnect: true })
    made.on('error', fail)
    made.listen(path, () => settle(made))
  })
  const ends = yield* action<[Socket, Socket]>((settle, fail) => {
    const client = connectSocket({ path, allowHalfOpen: true })
    client.on('error', fail)
    server.once('connection', (socket) => {
      client.off('error', fail)
      settle([client, socket])
    })
  })
  server.close()
  return [fromNode(ends[0] as Duplex), fromNode(ends[1] as Duplex)]
}

aStream('a socket of Node', { connect: nodeSockets, isReal: true })

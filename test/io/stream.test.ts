// The contract of a stream (test/shared/stream.ts), kept by every kind there is. A new kind is one more entry here.

import { mkdtempSync, rmSync } from 'node:fs'
import { connect as connectSocket, createServer, type Server as NodeServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Duplex } from 'node:stream'
import { after } from 'node:test'
import { action, type Routine } from 'polyphony'
import { type Stream as AnyStream, connect, type ListenOptions, listen, pair, pipe } from 'polyphony/io'
import { NodeChannel } from '#io/nodechannel'
import { Stream } from '#io/stream'
import { aStream } from '../shared/stream.js'

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
function* connection(options: ListenOptions): Routine<[AnyStream, AnyStream]> {
  const server = yield* listen(options)
  const client = yield* connect(
    options.path ? { path: options.path } : { host: '127.0.0.1', port: server.port },
  )
  const socket = (yield* server.accept()) as AnyStream
  yield* server.close()
  return [client, socket]
}

/** A reset, which only a TCP socket can send. */
function reset(end: AnyStream): void {
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

/** A stream of Node as ours. */
function streamOn(duplex: Duplex): Stream {
  return new Stream(
    (stream) => new NodeChannel('duplex', stream, { readable: () => duplex, writable: () => duplex }),
  )
}

/** Two streams of Node in memory, each of which reads what the other writes. */
class Side extends Duplex {
  other!: Side
  private wanted: (() => void) | null = null

  override _read(): void {
    const { wanted } = this
    this.wanted = null
    wanted?.()
  }
  override _write(chunk: Buffer, _encoding: string, taken: () => void): void {
    this.other.wanted = taken
    this.other.push(chunk)
  }
  override _final(done: () => void): void {
    this.other.push(null)
    done()
  }
  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    if (!this.other.destroyed && !this.writableFinished) {
      this.other.destroy(Object.assign(new Error('reset'), { code: 'ECONNRESET' }))
    }
    done(error)
  }
}

aStream('a Duplex of Node', {
  *connect() {
    const [a, b] = [new Side(), new Side()]
    a.other = b
    b.other = a
    return [streamOn(a), streamOn(b)]
  },
  isReal: true,
})

function* nodeSockets(): Routine<[AnyStream, AnyStream]> {
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
  return [streamOn(ends[0]), streamOn(ends[1])]
}

aStream('a socket of Node', { connect: nodeSockets, isReal: true })

// The contract of a stream (test/shared/stream.ts), kept by every kind there is. A new kind is one more entry here.

import { connect as connectSocket, createServer, type Server as NodeServer, type Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { fromNode, type ListenOptions, type Stream } from 'polyphony/io'
import { action, describe, type Routine } from '../../prelude.js'
import { aStream, keeps, MEMORY } from '../../shared/stream.js'
import { freshPath } from '../folder.js'
import { accepted, connected, listening } from '../real.js'
import { ca, pair as certificate } from '../tls.js'

/** A connection to a server of ours. */
function* connection(options: ListenOptions, more = {}): Routine<[Stream, Stream]> {
  const server = yield* listening(options)
  const ends: [Stream, Stream] = [yield* connected(server, more), yield* accepted(server)]
  yield* server.close()
  return ends
}

/** A reset, which only a TCP socket can send. */
function reset(end: Stream): void {
  const { socket } = (end as unknown as { channel: { socket: Socket } }).channel
  socket.resetAndDestroy()
}

/** A stream of Node in memory that reads what the other one writes. */
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

function* sides(): Routine<[Stream, Stream]> {
  const [a, b] = [new Side(), new Side()]
  a.other = b
  b.other = a
  return [fromNode(a), fromNode(b)]
}

function* nodeSockets(): Routine<[Stream, Stream]> {
  const path = freshPath()
  const server = yield* action<NodeServer>((settle, fail) => {
    const made = createServer({ allowHalfOpen: true, pauseOnConnect: true })
    made.on('error', fail).listen(path, () => settle(made))
  })
  const ends = yield* action<[Socket, Socket]>((settle, fail) => {
    const client = connectSocket({ path, allowHalfOpen: true }).once('error', fail)
    server.once('connection', (socket) => settle([client.off('error', fail), socket]))
  })
  server.close()
  return [fromNode(ends[0] as Duplex), fromNode(ends[1] as Duplex)]
}

const MUCH = 16 * 1024 * 1024

for (const kind of [
  { name: 'a TCP connection', connect: () => connection({}), reset, much: MUCH },
  { name: 'a Unix socket', connect: () => connection({ path: freshPath() }), much: MUCH },
  {
    name: 'a TLS connection',
    connect: () => connection({ tls: certificate('local') }, { tls: { ca } }),
    much: MUCH,
  },
  { name: 'a Duplex of Node', connect: sides, much: 1_000_000 },
  { name: 'a socket of Node', connect: nodeSockets, much: MUCH },
]) {
  describe(`${kind.name} is a stream`, () => aStream({ ...kind, isReal: true }))
}

describe('a stream in memory, beyond the rules', () => {
  for (const kind of MEMORY) keeps('words', kind)
})

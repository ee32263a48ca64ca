// Streams in memory: a pipe, whose bytes come out where they went in, and a pair, each of which reads what the other
// writes. They keep every promise that sockets keep, and no part of the world is involved, so tests can run in virtual time.

import { BaseChannel, type Chunk, type Receiver } from './channel.js'
import { Stream } from './stream.js'

/** How many bytes may be underway before a writer has to wait. */
const ROOM = 64 * 1024

/** One direction: what was written and not yet handed over. */
class Duct {
  private readonly chunks: Buffer[] = []
  private size = 0
  private isFlowing = false
  private isFull = false
  private isEnding = false
  /** Set once: who reads, and who writes. */
  reader!: Receiver
  writer!: Receiver

  write(chunk: Chunk): boolean {
    const bytes = Buffer.from(chunk as Buffer)
    this.chunks.push(bytes)
    this.size += bytes.length
    this.flow()
    this.isFull = this.size >= ROOM
    return !this.isFull
  }

  resume(): void {
    this.isFlowing = true
    this.flow()
  }

  pause(): void {
    this.isFlowing = false
  }

  end(): void {
    this.isEnding = true
    this.flow()
  }

  /** Gone: nothing comes out any more. */
  clear(): void {
    this.chunks.length = 0
    this.size = 0
  }

  private flow(): void {
    for (let chunk: Buffer | undefined; this.isFlowing && (chunk = this.chunks.shift()) !== undefined; ) {
      this.size -= chunk.length
      this.isFlowing = this.reader.received(chunk, true)
    }
    if (this.isFull && this.size === 0) {
      this.isFull = false
      this.writer.drained()
    }
    if (this.isEnding && this.size === 0) this.reader.ended()
  }
}

class MemoryChannel extends BaseChannel {
  /** The channel of the other side; itself for a pipe. */
  other: MemoryChannel = this

  constructor(
    readonly name: string,
    readonly receiver: Receiver,
    private readonly inward: Duct,
    private readonly outward: Duct,
  ) {
    super()
    inward.reader = receiver
    outward.writer = receiver
  }

  resume(): void {
    this.inward.resume()
  }
  pause(): void {
    this.inward.pause()
  }
  write(chunk: Chunk): boolean {
    return this.outward.write(chunk)
  }
  end(): void {
    this.outward.end()
    this.receiver.finished()
  }
  /** The other side can still read what was sent. */
  close(): void {
    this.outward.end()
    this.inward.clear()
    this.receiver.closed()
  }
  destroy(): void {
    this.outward.clear()
    if (this.other !== this) this.other.receiver.failed(reset()) // first: an end would look as if all had come
    this.close()
  }
}
Object.assign(MemoryChannel.prototype, { isOutside: false })

function reset(): Error {
  return Object.assign(new Error('connection reset by peer'), { code: 'ECONNRESET', syscall: 'read' })
}

/**
 * A stream in memory: what is written to it can be read from it.
 *
 * ```ts
 * const stream = pipe()
 * spin(() => stream.end('hello\n'))
 * console.log(yield* stream.gets()) // hello
 * ```
 */
export function pipe(name = 'pipe'): Stream {
  const duct = new Duct()
  return new Stream((stream) => new MemoryChannel(name, stream, duct, duct))
}

/**
 * Two streams in memory that are connected: what is written to one can be read from the other. For tests of protocols.
 *
 * ```ts
 * const [client, server] = pair()
 * yield* client.write('ping\n')
 * console.log(yield* server.gets()) // ping
 * ```
 */
export function pair(): [Stream, Stream] {
  const there = new Duct()
  const back = new Duct()
  const make = (name: string, inward: Duct, outward: Duct) =>
    new Stream((stream) => new MemoryChannel(name, stream, inward, outward))
  const [client, server] = [make('client', back, there), make('server', there, back)]
  const [a, b] = [client.channel as MemoryChannel, server.channel as MemoryChannel]
  a.other = b
  b.other = a
  return [client, server]
}

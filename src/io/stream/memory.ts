// Streams in memory: a pipe, which gives back what was written to it, and a pair of streams, each of which reads what the other
// writes. They keep the same promises as sockets and need nothing of the system, so tests can run in virtual time.

import { check } from '../../core/index.js'
import { BaseChannel, type Chunk, type Receiver } from './channel.js'
import { Stream } from './stream.js'

/** How many bytes may be in a duct before a writer has to wait. */
const ROOM = 64 * 1024

// The states of a direction:
const OPEN = 0
const ENDING = 1
/** The reader has received the end. */
const OVER = 2
/** The reader has closed: what is written is dropped. */
const SHUT = 3

/** One direction: what was written and not yet handed over. */
class Duct {
  private readonly chunks: Buffer[] = []
  private size = 0
  private isFlowing = false
  /** From when there are `ROOM` bytes until there are none. */
  isFull = false
  private phase = OPEN
  /** Where the bytes come from, and where they go; set once. */
  from!: MemoryChannel
  to!: MemoryChannel

  write(chunk: Chunk): boolean {
    if (this.phase === SHUT) throw systemError('EPIPE', 'broken pipe', 'write')
    const bytes = Buffer.from(chunk as Buffer)
    this.chunks.push(bytes)
    this.size += bytes.length
    this.flow()
    if (this.size >= ROOM) this.isFull = true
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
    if (this.phase === OPEN) this.phase = ENDING
    this.flow()
  }

  get isOver(): boolean {
    return this.phase === OVER
  }

  /** The reader is closed. Fibers that wait for room go on, as if the system had taken the bytes. */
  shut(): void {
    this.phase = SHUT
    this.chunks.length = 0
    this.size = 0
    this.flow()
  }

  private flow(): void {
    for (let chunk: Buffer | undefined; this.isFlowing && (chunk = this.chunks.shift()) !== undefined; ) {
      this.size -= chunk.length
      this.isFlowing = this.to.receiver.received(chunk, true)
    }
    if (this.isFull && this.size === 0) {
      this.isFull = false
      this.from.drained()
    }
    if (this.phase === ENDING && this.size === 0) {
      this.phase = OVER
      this.to.ended()
    }
  }
}

// The states of a channel:
const LIVE = 0
const ENDED = 1
const CLOSING = 2
const CLOSED = 3

/** Bytes count as sent when there is room for more, as with a socket. */
class MemoryChannel extends BaseChannel {
  /** The channel of the other side; itself for a pipe. */
  other: MemoryChannel = this
  private phase = LIVE

  constructor(
    readonly name: string,
    readonly receiver: Receiver,
    private readonly inward: Duct,
    private readonly outward: Duct,
  ) {
    super()
    inward.to = this
    outward.from = this
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
    this.phase = ENDED
    if (!this.outward.isFull) this.receiver.finished()
    this.outward.end()
    this.closeIfOver()
  }
  override discard(): void {
    if (this.other === this)
      this.shut() // a pipe: no fiber can read what is in it any more
    else this.inward.resume()
  }
  /** The other side can still read what was sent. */
  close(): void {
    this.phase = CLOSING
    if (!this.outward.isFull) this.shut()
  }
  destroy(): void {
    this.phase = CLOSED
    if (this.other !== this) this.other.reset()
    this.receiver.closed()
    this.outward.shut()
    this.inward.shut()
  }

  drained(): void {
    this.receiver.drained()
    if (this.outward.isFull) return // by a write that waited for room
    if (this.phase === CLOSING) this.shut()
    else if (this.phase === ENDED) {
      this.receiver.finished()
      this.closeIfOver()
    }
  }
  ended(): void {
    this.receiver.ended()
    this.closeIfOver()
  }

  /** Both sides have ended: it closes by itself, as a socket does. */
  private closeIfOver(): void {
    if (this.phase === ENDED && this.inward.isOver && !this.outward.isFull) this.shut()
  }
  private shut(): void {
    this.phase = CLOSED
    this.receiver.closed()
    this.outward.end()
    this.inward.shut()
  }
  private reset(): void {
    this.receiver.failed(systemError('ECONNRESET', 'connection reset by peer', 'read'))
    this.phase = CLOSED
    this.receiver.closed()
  }
}
Object.assign(MemoryChannel.prototype, { isOutside: false })

function systemError(code: string, message: string, syscall: string): Error {
  return Object.assign(new Error(message), { code, syscall })
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
  check.name(name, 'the name of pipe()')
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

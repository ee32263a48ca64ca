// Streams of Node as a channel: standard input and output, TLS sockets, the pipes of a process, whatever `fromNode` is
// given. Nothing is read that nobody waits for, and a stream that nobody waits for does not hold the process.
//
// A channel has one stream of Node, in one or both directions.

import { Socket } from 'node:net'
import type { Readable, Writable } from 'node:stream'
import { BadState } from '../core/index.js'
import { BaseChannel, type Chunk, type Receiver } from './channel.js'
import { ioError, StreamClosed } from './errors.js'

/** Chunks that are longer are not copied where that can be helped; whoever writes them waits until they are sent. */
const LARGE = 16 * 1024

const UNOPENED = 0
const IDLE = 1
const FLOWING = 2

export interface NodeStreams {
  /** To read from; a function is called by the first who waits to read. */
  readable?: Readable | (() => Readable)
  /** To write to; a function is called by the first who writes. */
  writable?: Writable | (() => Writable)
  /** Why there is none, for one who tries. */
  why?: string
  /** See Channel. */
  isIdle?: boolean
}

export class NodeChannel extends BaseChannel {
  override readonly isIdle: boolean
  /** Of all that is read, so much may lie unread. */
  override readAhead = 0
  private readable: Readable | null = null
  private writable: Writable | null = null
  private flow = UNOPENED
  /** The stream is there, and not closed. */
  private isOpen = false

  constructor(
    readonly name: string,
    private readonly receiver: Receiver,
    private readonly streams: NodeStreams,
  ) {
    super()
    this.isIdle = streams.isIdle ?? false
    if (typeof streams.readable === 'object') this.input()
    if (typeof streams.writable === 'object') this.output()
  }

  // Reading

  resume(): void {
    if (this.flow === FLOWING) return
    const stream = this.input()
    const { readableEnded, errored, destroyed } = stream
    if (readableEnded) this.receiver.ended()
    else if (errored) this.receiver.failed(errored)
    else if (destroyed) this.receiver.closed()
    else {
      this.flow = FLOWING
      stream.on('data', this.receive)
      stream.resume()
    }
  }

  pause(): void {
    if (this.flow !== FLOWING) return
    this.flow = IDLE
    const stream = this.readable as Readable
    stream.off('data', this.receive)
    stream.pause()
    process.nextTick(this.pauseAgain)
  }

  /** Node goes on reading, and holds the process, if standard input was paused while a chunk was handed over. */
  private readonly pauseAgain = (): void => {
    const stream = this.readable as Readable
    if (stream.isPaused()) stream.resume().pause() // only a pause that follows a resume counts
  }

  /** Somebody else paused the stream. In the next turn of the event loop, lest one who insists keep it from turning. */
  private readonly paused = (): void => {
    if (this.flow === FLOWING) setImmediate(this.resumeAgain)
  }

  private readonly resumeAgain = (): void => {
    const stream = this.readable as Readable
    if (this.flow === FLOWING && stream.isPaused()) stream.resume()
  }

  private readonly receive = (chunk: Buffer | string): void => {
    const encoding = (this.readable as Readable).readableEncoding ?? 'utf8' // somebody may have set one
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk
    if (!this.receiver.received(bytes, true)) this.pause()
  }

  private input(): Readable {
    if (this.readable !== null) return this.readable
    const { readable } = this.streams
    if (readable === undefined) throw this.oneWay('read from')
    const stream = typeof readable === 'function' ? readable() : readable
    this.readable = stream
    this.flow = IDLE
    if (stream !== (this.writable as unknown)) this.watch(stream)
    stream.on('end', () => this.receiver.ended())
    stream.on('pause', this.paused)
    return stream
  }

  private oneWay(what: string): BadState {
    const { why } = this.streams
    return new BadState(`${this.name} cannot be ${what}${why === undefined ? '' : `: ${why}`}`)
  }

  // Writing

  private output(): Writable {
    if (this.writable !== null) return this.writable
    const { writable } = this.streams
    if (writable === undefined) throw this.oneWay('written to')
    const stream = typeof writable === 'function' ? writable() : writable
    this.writable = stream
    if (stream !== (this.readable as unknown)) this.watch(stream)
    stream.on('drain', this.drained)
    return stream
  }

  /** The stream to write to. Node tells nobody of a write that comes too late. */
  private openOutput(what: string): Writable {
    const stream = this.output()
    const { errored, destroyed, writableEnded } = stream
    if (errored) throw ioError(errored, `${this.name}.${what}()`)
    if (!destroyed && !writableEnded) return stream
    const why = destroyed ? 'the stream is closed' : 'the stream was ended for writing'
    throw new StreamClosed(`${this.name}.${what}() came too late: ${why}`)
  }

  write(chunk: Chunk): boolean {
    const stream = this.openOutput('write')
    if (typeof chunk === 'string') return stream.write(chunk, 'utf8')
    // A socket needs the bytes until they are sent. Others may hand them on, and then nobody knows until when.
    if (chunk.length < LARGE || !(stream instanceof Socket)) return stream.write(Buffer.from(chunk))
    stream.write(chunk, this.sent)
    return stream.writableLength === 0
  }

  private readonly drained = (): void => this.receiver.drained()

  /** A write that went wrong is told by what comes next: the error, or the close. */
  private readonly sent = (error?: Error | null): void => {
    if (error == null && (this.writable as Writable).writableLength === 0) this.receiver.drained()
  }

  end(): void {
    const stream = this.output()
    if (stream.writableFinished) this.receiver.finished()
    else if (stream.writableEnded) stream.once('finish', () => this.receiver.finished())
    else {
      this.openOutput('end').end((error?: Error | null) => {
        if (error == null) this.receiver.finished()
      })
    }
  }

  // The end

  /** The listeners stay: an error while nobody waits must not end the process, the next wait will tell it. */
  private watch(stream: Readable | Writable): void {
    stream.on('error', (error) => this.receiver.failed(error))
    if (stream.closed) return // what it is, the first who uses it is told
    this.isOpen = true
    stream.on('close', () => {
      this.isOpen = false
      if (hasEnded(stream) && this.readable === null) this.receiver.ended() // there was nothing to read
      this.receiver.closed()
    })
  }

  close(): void {
    const { writable } = this
    if (writable === null || writable.writableFinished || writable.destroyed || writable.errored)
      this.destroy()
    else if (writable.writableEnded) writable.once('finish', () => this.destroy())
    else {
      writable.end((error?: Error | null) => {
        if (error == null) this.destroy() // else Node does it, and says why
      })
    }
  }

  destroy(): void {
    const { readable, writable } = this
    readable?.destroy()
    writable?.destroy()
    if (!this.isOpen || this.isSilent) this.receiver.closed()
  }

  /** Some streams never tell that they are closed. */
  private get isSilent(): boolean {
    return [this.readable, this.writable].some((stream) => stream !== null && !tellsClose(stream))
  }
}

/** Whether a stream that is closed had come to its end. */
function hasEnded(stream: Readable | Writable): boolean {
  return (stream as Readable).readableEnded ?? (stream as Writable).writableFinished
}

function tellsClose(stream: Readable | Writable): boolean {
  const { _readableState, _writableState } = stream as unknown as Record<
    string,
    { emitClose?: boolean } | undefined
  >
  return (_readableState?.emitClose ?? _writableState?.emitClose) !== false
}

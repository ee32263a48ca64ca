// Any streams of Node as a channel: standard input and output, TLS sockets, the pipes of a process. Nothing is read
// that nobody waits for, and a stream that nobody waits for does not hold the process.

import type { Readable, Writable } from 'node:stream'
import { BaseChannel, type Chunk, type Receiver } from './channel.js'

const UNOPENED = 0
const IDLE = 1
const FLOWING = 2

export interface NodeStreams {
  /** Opened by the first who waits to read. */
  readable?: () => Readable
  /** Opened by the first who writes. */
  writable?: () => Writable
  /** See Channel. */
  isIdle?: boolean
}

export class NodeChannel extends BaseChannel {
  override readonly isIdle: boolean
  private readable: Readable | null = null
  private writable: Writable | null = null
  private flow = UNOPENED

  constructor(
    readonly name: string,
    private readonly receiver: Receiver,
    private readonly streams: NodeStreams,
  ) {
    super()
    this.isIdle = streams.isIdle ?? false
  }

  override get readAhead(): number {
    return 0
  }

  resume(): void {
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
    const open = this.streams.readable
    if (open === undefined) throw new Error(`${this.name} cannot be read from`)
    const stream = open()
    this.readable = stream
    this.flow = IDLE
    // They stay: an error while nobody waits must not end the process, the next wait will tell it.
    if (stream !== (this.writable as unknown)) this.watch(stream)
    stream.on('end', () => this.receiver.ended())
    stream.on('pause', this.paused)
    return stream
  }

  private output(): Writable {
    if (this.writable !== null) return this.writable
    const open = this.streams.writable
    if (open === undefined) throw new Error(`${this.name} cannot be written to`)
    const stream = open()
    this.writable = stream
    if (stream !== (this.readable as unknown)) this.watch(stream)
    stream.on('drain', () => this.receiver.drained())
    return stream
  }

  private watch(stream: Readable | Writable): void {
    stream.on('error', (error) => this.receiver.failed(error))
    stream.on('close', () => this.receiver.closed())
  }

  write(chunk: Chunk): boolean {
    return this.output().write(chunk)
  }

  end(): void {
    this.output().end(() => this.receiver.finished())
  }

  close(): void {
    const { writable } = this
    if (writable === null || writable.writableFinished || writable.destroyed) this.destroy()
    else writable.end(() => this.destroy())
  }

  destroy(): void {
    const { readable, writable } = this
    if (readable !== null) readable.destroy()
    if (writable !== null && writable !== (readable as unknown)) writable.destroy()
    if (readable === null && writable === null) this.receiver.closed()
  }
}

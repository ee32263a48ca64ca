// A stream of Node as a channel: standard input and output, the pipes of a process, what `fromNode` is given. It reads only while a
// fiber waits for bytes, and does not hold the process otherwise.
//
// A channel has one stream of Node for both directions, or one for each.

import { Socket } from 'node:net'
import type { Duplex, Readable, Writable } from 'node:stream'
import { BadArgument, BadState, check, show } from '../../core/index.js'
import { ioError, StreamClosed } from '../errors.js'
import { BaseChannel, type Chunk, type Receiver } from './channel.js'
import { type Reader, Stream, type Writer } from './stream.js'

/** Longer chunks are not copied if the stream is a socket; the writer waits until they are sent. */
const LARGE = 16 * 1024

const UNOPENED = 0
const IDLE = 1
const FLOWING = 2

export interface NodeStreams {
  /** To read from; a function is called when a fiber first waits to read. */
  readable?: Readable | (() => Readable)
  /** To write to; a function is called at the first write. */
  writable?: Writable | (() => Writable)
  /** Why a direction is missing, for the error of a call that needs it. */
  why?: string
  /** See Channel. */
  isIdle?: boolean
}

export class NodeChannel extends BaseChannel {
  override readonly isIdle: boolean
  /** Nothing is read ahead. */
  override readAhead = 0
  private readable: Readable | null = null
  private writable: Writable | null = null
  private flow = UNOPENED
  /** Whether the stream exists and is not closed. */
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

  // ---- reading

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

  /** If standard input is paused while a chunk is handed over, Node goes on reading and holds the process. */
  private readonly pauseAgain = (): void => {
    const stream = this.readable as Readable
    if (stream.isPaused()) stream.resume().pause() // a pause counts only after a resume
  }

  /** Other code paused the stream. It is resumed in the next turn of the event loop, so that code that pauses it again and again
   * cannot block the loop. */
  private readonly paused = (): void => {
    if (this.flow === FLOWING) setImmediate(this.resumeAgain)
  }

  private readonly resumeAgain = (): void => {
    const stream = this.readable as Readable
    if (this.flow === FLOWING && stream.isPaused()) stream.resume()
  }

  private readonly receive = (chunk: Buffer | string): void => {
    const encoding = (this.readable as Readable).readableEncoding ?? 'utf8' // other code may have set one
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

  // ---- writing

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

  /** The stream to write to. Node reports no error for a write after the end. */
  private openOutput(what: string): Writable {
    const stream = this.output()
    const { errored, destroyed, writableEnded } = stream
    if (errored) throw ioError(errored, `${this.name}.${what}()`)
    if (!destroyed && !writableEnded) return stream
    const why = destroyed ? 'the stream is closed' : 'the stream was ended for writing'
    throw new StreamClosed(`${this.name}.${what}() failed: ${why}`)
  }

  write(chunk: Chunk): boolean {
    const stream = this.openOutput('write')
    if (typeof chunk === 'string') return stream.write(chunk, 'utf8')
    // A socket needs the bytes until they are sent. Other streams may pass them on, and it is not known when they are done with them.
    if (chunk.length < LARGE || !(stream instanceof Socket)) return stream.write(Buffer.from(chunk))
    stream.write(chunk, this.sent)
    return stream.writableLength === 0
  }

  private readonly drained = (): void => this.receiver.drained()

  /** The event 'error' or 'close' reports a write that failed. */
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

  // ---- the end

  /** The listeners stay: an error while no fiber waits must not end the process; the next wait throws it. */
  private watch(stream: Readable | Writable): void {
    stream.on('error', (error) => this.receiver.failed(error))
    if (stream.closed) return // the first use says so
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
        if (error == null) this.destroy() // else Node destroys it, and emits the error
      })
    }
  }

  destroy(): void {
    const { readable, writable } = this
    readable?.destroy()
    writable?.destroy()
    if (!this.isOpen || this.isSilent) this.receiver.closed()
  }

  /** Whether a stream never emits 'close'. */
  private get isSilent(): boolean {
    return [this.readable, this.writable].some((stream) => stream !== null && !tellsClose(stream))
  }
}

/** Whether a closed stream had ended before. */
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

// ---- fromNode

/** Options of `fromNode`. */
export interface FromNodeOptions {
  /** Its name in errors and in the tree; default: the path of a file, else the name of its class. */
  name?: string
}

/** The type that `fromNode` returns: something to read from, to write to, or both. */
export type FromNode<S> = S extends Duplex ? Stream : S extends Readable ? Reader : Writer

/**
 * Makes a stream out of a stream of Node, to read lines from it, or to write to it and wait for room. The new stream owns the old
 * one: closing it closes both. Nothing is read before a fiber waits for it.
 *
 * ```ts
 * const { PassThrough } = yield* until(import('node:stream'))
 * const node = new PassThrough()
 * const stream = fromNode(node)
 * node.end('one\ntwo\n')
 * console.log(yield* stream.gets(), yield* stream.gets(), yield* stream.gets()) // one two undefined
 * ```
 */
export function fromNode<S extends Readable | Writable>(stream: S, options?: FromNodeOptions): FromNode<S>
export function fromNode(stream: Readable | Writable, options: FromNodeOptions = {}): Stream {
  const { name } = check.options(options, { name: check.name }, 'fromNode()')
  const { on, read, write, end } = (stream ?? {}) as Partial<Duplex>
  const readable = typeof on === 'function' && typeof read === 'function' ? (stream as Readable) : undefined
  const writable =
    typeof on === 'function' && typeof write === 'function' && typeof end === 'function'
      ? (stream as Writable)
      : undefined
  if (readable === undefined && writable === undefined)
    throw new BadArgument(`fromNode() needs a stream of Node, got ${show(stream)}`)
  if (readable?.readableObjectMode === true || writable?.writableObjectMode === true)
    throw new BadArgument(
      `fromNode() needs a stream of bytes, and this one (${nameOf(stream)}) carries objects. ` +
        'Take them one by one with each(stream, body), or iterate(stream).',
    )
  return new Stream((receiver) => new NodeChannel(name ?? nameOf(stream), receiver, { readable, writable }))
}

function nameOf(stream: object): string {
  const { path } = stream as { path?: unknown }
  if (typeof path === 'string' || path instanceof Uint8Array) return `${path}`
  return stream.constructor?.name || 'stream'
}

// What happens beneath a stream: it stands on a channel (channel.ts), keeps what has come and was not yet taken, and the
// lines of those who wait. The words that fibers use are in stream.ts, the waits in reading.ts and writing.ts.
//
//   channel --received--> [ intake ] --a line, a chunk--> the first of the readers, in the order they came
//   channel <--write----- writers, who then wait for room
//
//   inflow    paused <-> flowing -> over | broken
//   outflow   open <-> full -> ending -> ended
//   phase     live -> closing -> cut -> closed      by us: after all is sent, or at once
//                  -> gone -> closed                by the other side: what has come can still be read
//
// A tap listener may call anything here, in the middle of anything (S70): whoever is answered is out of the line before, and
// after each answer nothing is taken for granted.

import { type BaseOp, type Fiber, fail, settle } from '../core/index.js'
import type { Channel, Chunk, Receiver } from './channel.js'
import { asSentence, ioError, StreamClosed } from './errors.js'
import { Intake } from './intake.js'
import { Line } from './line.js'
import { copyOf, MORE, type Taking } from './reading.js'
import type { Sending } from './writing.js'

const PAUSED = 0
const FLOWING = 1
/** The other side has ended: after what has come there is nothing more. */
const OVER = 2
/** No more can come, and there was no end. */
const BROKEN = 3

const OPEN = 0
/** Until `drained`, whatever the channel says to later chunks. */
const FULL = 1
const ENDING = 2
const ENDED = 3

const LIVE = 0
/** Closed by the other side: what has come can still be read. */
const GONE = 1
/** By `close`: what was written is being sent. */
const CLOSING = 2
/** By `destroy`: what was not sent is lost. */
const CUT = 3
const CLOSED = 4

/** What went through a stream, and who waits. */
export interface StreamStats {
  /** Bytes that have come. */
  readonly received: number
  /** Bytes and characters that were written. */
  readonly written: number
  /** Bytes that have come and were not yet taken. */
  readonly unread: number
  /** Fibers that wait to read. */
  readonly readers: number
  /** Fibers that wait for room to write, or for the end to be sent. */
  readonly writers: number
}

/** A stream without its words. */
export class Flow {
  /** @internal */
  readonly channel: Channel
  private readonly intake = new Intake()
  private readonly readers: Line<Taking<any>>
  private writers: Line<Sending> | null = null
  private closers: Line<BaseOp<void>> | null = null
  private inflow = PAUSED
  private outflow = OPEN
  private phase = LIVE
  /** What broke it; from `close` on, what kept that from sending everything. */
  private error: unknown = null
  private bytesReceived = 0
  private bytesWritten = 0

  /** On a channel of one's own making; the library's own streams come from `connect`, `listen`, `pipe` and others. */
  constructor(connect: (receiver: Receiver) => Channel) {
    this.channel = connect(this)
    this.readers = new Line(this.channel.isOutside)
  }

  /** What it is: `tcp 127.0.0.1:80`, `stdin`, the path of a file. */
  get name(): string {
    return this.channel.name
  }

  /** Closes at once: what was not sent is lost. Never waits. */
  destroy(): void {
    if (this.phase >= CUT) return
    const isGone = this.phase === GONE
    if (this.phase < CLOSING) this.error = null // who closes does not care for what was before
    this.phase = isGone ? CLOSED : CUT
    this.forget()
    this.refuseWriters()
    if (isGone) return
    try {
      this.channel.destroy()
    } catch (error) {
      this.closed()
      throw asSentence(error, `${this.name}.destroy()`)
    }
  }

  /** Whether it is closed, or closing. */
  get isClosed(): boolean {
    return this.phase !== LIVE
  }

  /** What went through, and who waits. */
  stats(): StreamStats {
    return {
      received: this.bytesReceived,
      written: this.bytesWritten,
      unread: this.intake.size,
      readers: this.readers.size,
      writers: this.writers?.size ?? 0,
    }
  }

  // Reading

  /** @internal */
  joinReaders(fiber: Fiber, op: Taking<any>): void {
    if (
      this.readers.size === 0 &&
      (op.max < 0 || this.intake.size > 0 || this.inflow >= OVER || this.phase !== LIVE)
    ) {
      const found = this.taken(op)
      if (found !== MORE) {
        settle(fiber, op, found)
        return
      }
    }
    this.readers.join(fiber, op)
    if (this.inflow === PAUSED) this.resume(fiber, op)
  }

  /** The fiber is the first to wait: bytes are wanted. */
  private resume(fiber: Fiber, op: Taking<any>): void {
    this.inflow = FLOWING
    try {
      this.channel.resume()
    } catch (error) {
      if (this.inflow === FLOWING) this.inflow = PAUSED
      if (this.readers.size === 0)
        this.failed(error) // it was answered before that
      else {
        this.leaveReaders(fiber)
        throw asSentence(error, op.describe())
      }
    }
  }

  /** @internal */
  leaveReaders(fiber: Fiber): void {
    this.readers.leave(fiber)
    this.serve() // half a line that was no use to this one may be what the next waits for
    this.calm()
  }

  /** @internal A line that can be had at once, if nobody is before in the line of readers. */
  readyLine(): string | undefined {
    return this.readers.size === 0 && this.phase < CLOSING ? this.intake.readyLine() : undefined
  }

  /** @internal Forgets what has come and was not yet taken. Gives how many bytes that were. */
  forgetUnread(): number {
    return this.intake.clear()
  }

  /** What the op can have now, or MORE. Throws why there will be nothing. */
  private taken<T>(op: Taking<T>): T | typeof MORE {
    if (this.phase >= CLOSING) throw this.broken(op.describe())
    const found = op.take(this.intake, this.inflow === OVER)
    if (found === MORE && this.inflow === BROKEN) throw this.broken(op.describe())
    return found
  }

  /** Serves as many as can be served, in their order. */
  private serve(): void {
    for (let place = this.readers.first; place !== null; place = this.readers.first) {
      const { item: op } = place
      const fiber = place.fiber as Fiber
      let found: unknown
      let answer: typeof settle | typeof fail = settle
      try {
        found = this.taken(op)
        if (found === MORE) return
      } catch (error) {
        found = error
        answer = fail
      }
      // Out of the line before it is answered: a tap listener that hears of the answer may stop another, which serves again.
      this.readers.remove(place)
      answer(fiber, op, found)
    }
  }

  /** Nobody waits any more: a channel that does not read ahead is told. */
  private calm(): void {
    if (this.readers.size > 0 || this.inflow !== FLOWING || this.channel.readAhead > 0) return
    this.inflow = PAUSED
    this.channel.pause()
  }

  /** @internal */
  received(bytes: Buffer, isOwned: boolean): boolean {
    if (bytes.length === 0) return this.inflow === FLOWING
    this.bytesReceived += bytes.length
    const { readers, intake } = this
    const { first } = readers
    if (first !== null && intake.size === 0 && bytes.length <= first.item.max) {
      const fiber = first.fiber as Fiber
      readers.remove(first)
      first.item.receive(fiber, bytes, isOwned)
    } else {
      if (this.phase >= CLOSING) return this.phase === CLOSING // nobody will read it, but nothing may stay in the way
      if (this.inflow >= OVER) return false
      intake.push(isOwned ? bytes : copyOf(bytes))
      this.serve()
    }
    if (readers.size > 0 || intake.size < this.channel.readAhead || this.inflow >= OVER) return true
    this.inflow = PAUSED
    return false
  }

  /** @internal */
  ended(): void {
    if (this.inflow >= OVER) return
    this.inflow = OVER
    this.serve()
    if (this.channel.canGrow && this.phase === LIVE && this.error === null) this.inflow = PAUSED
  }

  // Writing

  /** @internal Whether a write would not have to wait. */
  get hasRoom(): boolean {
    return this.outflow !== FULL
  }

  /** @internal Hands chunks over. Whether there is room for more. */
  send(chunks: Chunk | readonly Chunk[], what: string): boolean {
    this.checkOpen(what)
    try {
      if (typeof chunks === 'string' || chunks instanceof Uint8Array) this.sendOne(chunks)
      else for (const chunk of chunks) this.sendOne(chunk)
    } catch (error) {
      throw asSentence(error, `${this.name}.${what}()`)
    }
    return this.outflow !== FULL
  }

  private sendOne(chunk: Chunk): void {
    if (chunk.length === 0) return
    this.bytesWritten += chunk.length
    if (!this.channel.write(chunk)) this.outflow = FULL
  }

  /** @internal Hands copies over, if there is room: nobody will be told when the chunks may be reused. */
  trySend(chunks: readonly Chunk[], what: string): boolean {
    this.checkOpen(what)
    if (this.outflow === FULL) return false
    const copies = chunks.map((chunk) => (typeof chunk === 'string' ? chunk : copyOf(chunk as Buffer)))
    this.send(copies, what)
    return true
  }

  /** @internal Hands the last chunks over, and the end. Whether all is sent already. */
  sendEnd(chunks: readonly Chunk[]): boolean {
    if (this.phase >= CLOSING) throw this.broken(`${this.name}.end()`)
    if (chunks.length > 0) this.send(chunks, 'end')
    const { outflow } = this
    if (outflow < ENDING) {
      this.checkOpen('end')
      this.outflow = ENDING
      try {
        this.channel.end()
      } catch (error) {
        this.outflow = outflow
        throw asSentence(error, `${this.name}.end()`)
      }
    }
    return this.outflow === ENDED
  }

  private checkOpen(what: string): void {
    if (this.phase === LIVE && this.error === null && this.outflow < ENDING) return
    if (this.phase < CLOSING && this.outflow >= ENDING)
      throw new StreamClosed(`${this.name}.${what}() came too late: the stream was ended for writing`)
    throw this.broken(`${this.name}.${what}()`)
  }

  /** @internal */
  joinWriters(fiber: Fiber, op: Sending): void {
    // It may have broken, or been closed, while the chunks were handed over.
    if (this.error !== null || this.phase === GONE || this.phase >= CUT) throw this.broken(op.describe())
    this.writers ??= new Line(this.channel.isOutside)
    op.mark = this.outflow >= ENDING ? Infinity : this.bytesWritten
    this.writers.join(fiber, op)
  }

  /** @internal */
  leaveWriters(fiber: Fiber): void {
    this.writers?.leave(fiber)
  }

  /** @internal */
  drained(upTo = Infinity): void {
    if (this.outflow === FULL && upTo >= this.bytesWritten) this.outflow = OPEN
    if (this.outflow < ENDED) this.writers?.release(upTo === Infinity ? this.bytesWritten : upTo)
  }

  /** @internal */
  refused(error: unknown): void {
    if (this.outflow === FULL) this.outflow = OPEN
    this.writers?.refuseAll((what) => ioError(error, what))
  }

  /** @internal */
  finished(): void {
    if (this.outflow === ENDING) this.outflow = ENDED
    this.writers?.release()
  }

  // The end

  /** @internal Whether it is closed already. */
  beginClose(): boolean {
    if (this.phase === GONE) this.destroy()
    else if (this.phase === LIVE) {
      this.phase = CLOSING
      this.error = null
      this.forget()
      if ((this.phase as number) === CLOSING) this.closeChannel()
    }
    return this.phase === CLOSED
  }

  private closeChannel(): void {
    const what = `${this.name}.close()`
    try {
      this.channel.close()
    } catch (error) {
      try {
        this.destroy()
      } catch {
        // Why it could not be closed in order says more.
      }
      throw asSentence(error, what)
    }
    if (this.phase === CLOSED && this.error !== null) throw ioError(this.error, what)
  }

  /** @internal */
  joinClosers(fiber: Fiber, op: BaseOp<void>): void {
    this.closers ??= new Line(this.channel.isOutside)
    this.closers.join(fiber, op)
  }

  /** @internal */
  leaveClosers(fiber: Fiber): void {
    this.closers?.leave(fiber)
  }

  /** @internal */
  failed(error: unknown): void {
    if (this.phase >= CUT) return // what was not sent is lost, as was asked for
    if (this.phase === CLOSING && error instanceof StreamClosed) return // so it shall be
    this.error ??= error ?? new Error('no reason was given')
    if (this.inflow < OVER) this.inflow = BROKEN
    this.serve()
    if (this.phase < CLOSING) this.refuseWriters()
  }

  /** @internal */
  closed(error?: unknown): void {
    if (this.phase === CLOSED || this.phase === GONE) return
    if (error !== undefined && this.phase < CUT) this.error ??= error
    if (this.phase !== LIVE) this.phase = CLOSED
    else {
      this.phase = GONE
      this.error ??= new StreamClosed(this.inflow === OVER ? 'it was closed' : 'it was closed before its end')
    }
    if (this.inflow < OVER) this.inflow = BROKEN
    this.serve()
    this.refuseWriters()
    if (this.error === null) this.closers?.release()
    else this.closers?.refuseAll((what) => ioError(this.error, what))
  }

  /** It is closed by us: who waits to read hears of it, and nobody will want what has come. */
  private forget(): void {
    this.serve()
    while (this.intake.chunk() !== undefined) {}
  }

  private refuseWriters(): void {
    // While it was being closed in order: then it is not the close that they have to hear of.
    const isLost = this.phase >= CLOSING && this.error !== null
    this.writers?.refuseAll((what) => (isLost ? ioError(this.error, what) : this.broken(what)))
  }

  /** Why there is nothing to be had here any more. */
  private broken(what: string): Error {
    if (this.phase < CLOSING && this.error instanceof StreamClosed)
      return new StreamClosed(`${what} can give nothing more: ${this.error.message}`)
    if (this.phase < CLOSING && this.error !== null) return ioError(this.error, what)
    return new StreamClosed(`${what} came too late: the stream is closed`)
  }
}

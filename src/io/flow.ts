// What happens beneath a stream: it stands on a channel (channel.ts), keeps what has come and was not yet taken, and the
// lines of those who wait. The words that fibers use are in stream.ts, the waits in reading.ts and writing.ts.
//
//   channel --received--> [ intake ] --a line, a chunk--> the first of the readers, in the order they came
//   channel <--write----- writers, who then wait for room
//
//   inflow    paused <-> flowing -> over
//   outflow   open <-> full -> ending -> ended
//   phase     live -> closing -> closed      by us
//                  -> gone -> closed         by the other side: what has come can still be read

import { type Fiber, fail, type Place, PolyphonyError, settle, Waiters } from '../core/index.js'
import type { Channel, Chunk, Receiver } from './channel.js'
import { ioError, StreamClosed } from './errors.js'
import { Intake } from './intake.js'
import { copyOf, MORE, type Taking } from './reading.js'

const PAUSED = 0
const FLOWING = 1
const OVER = 2

const OPEN = 0
const FULL = 1
const ENDING = 2
const ENDED = 3

const LIVE = 0
/** Closed by the other side: what has come can still be read. */
const GONE = 1
const CLOSING = 2
const CLOSED = 3

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
  private readonly readers = new Waiters<Taking<any>>()
  private writers: Waiters<number> | null = null
  private closers: Waiters<number> | null = null
  private inflow = PAUSED
  private outflow = OPEN
  private phase = LIVE
  private error: unknown = null
  private bytesReceived = 0
  private bytesWritten = 0

  /** On a channel of one's own making; the library's own streams come from `connect`, `listen`, `pipe` and others. */
  constructor(connect: (receiver: Receiver) => Channel) {
    this.channel = connect(this)
  }

  /** What it is: `tcp 127.0.0.1:80`, `stdin`, the path of a file. */
  get name(): string {
    return this.channel.name
  }

  /** Closes at once: what was not sent is lost. Never waits. */
  destroy(): void {
    if (this.phase === CLOSED) return
    if (this.phase === GONE) {
      this.phase = CLOSED
      return
    }
    this.phase = CLOSING
    this.serve() // they hear of it
    this.refuseWriters()
    this.channel.destroy()
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
    if (this.readers.size === 0) {
      const found = this.taken(op)
      if (found !== MORE) {
        settle(fiber, op, found)
        return
      }
    }
    this.readers.join(fiber, op)
    this.hold(fiber)
    if (this.inflow !== PAUSED) return
    this.inflow = FLOWING
    try {
      this.channel.resume()
    } catch (error) {
      this.inflow = PAUSED
      this.leaveReaders(fiber)
      throw error instanceof PolyphonyError ? error : ioError(error, op.describe())
    }
  }

  /** @internal */
  leaveReaders(fiber: Fiber): void {
    this.readers.leave(fiber)
    this.letGo(fiber)
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

  /** @internal Chunks that were used up, and that nobody has a view of, are given back. */
  recycle(recycle: (chunk: Buffer) => void): void {
    this.intake.recycle = recycle
  }

  /** What the op can have now, or MORE. Throws why there will be nothing. */
  private taken<T>(op: Taking<T>): T | typeof MORE {
    if (this.phase >= CLOSING) throw this.broken(op.describe())
    const found = op.take(this.intake, this.inflow === OVER && this.error === null)
    if (found === MORE && this.error !== null) throw this.broken(op.describe())
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
      this.letGo(fiber)
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
    this.bytesReceived += bytes.length
    const { readers, intake } = this
    const { first } = readers
    if (first !== null && intake.size === 0 && bytes.length <= first.item.max) {
      const fiber = first.fiber as Fiber
      readers.remove(first)
      this.letGo(fiber)
      first.item.receive(fiber, bytes, isOwned)
    } else {
      intake.push(isOwned ? bytes : copyOf(bytes))
      this.serve()
    }
    if (readers.size > 0 || intake.size < this.channel.readAhead || this.inflow === OVER) return true
    this.inflow = PAUSED
    return false
  }

  /** @internal */
  ended(): void {
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
  send(chunks: readonly Chunk[], what: string): boolean {
    this.checkOpen(what)
    let hasRoom = this.outflow !== FULL
    for (const chunk of chunks) {
      if (chunk.length === 0) continue
      this.bytesWritten += chunk.length
      hasRoom = this.channel.write(chunk)
    }
    this.outflow = hasRoom ? OPEN : FULL
    return hasRoom
  }

  /** @internal Hands the last chunks over, and the end. Whether it was sent before. */
  sendEnd(chunks: readonly Chunk[]): boolean {
    if (chunks.length > 0) this.send(chunks, 'end')
    else if (this.outflow < ENDING) this.checkOpen('end')
    if (this.outflow === ENDED) return true
    if (this.outflow !== ENDING) {
      this.outflow = ENDING
      this.channel.end()
    }
    return (this.outflow as number) === ENDED
  }

  private checkOpen(what: string): void {
    if (this.phase !== LIVE || this.error !== null) throw this.broken(`${this.name}.${what}()`)
    if (this.outflow >= ENDING) {
      throw new StreamClosed(`${this.name}.${what}() came too late: the stream was ended for writing`)
    }
  }

  /** @internal */
  joinWriters(fiber: Fiber): void {
    this.writers ??= new Waiters()
    this.writers.join(fiber, this.outflow >= ENDING ? Infinity : this.bytesWritten)
    this.hold(fiber)
  }

  /** @internal */
  leaveWriters(fiber: Fiber): void {
    this.writers?.leave(fiber)
    this.letGo(fiber)
  }

  /** @internal */
  drained(upTo = Infinity): void {
    if (this.outflow === FULL && upTo >= this.bytesWritten) this.outflow = OPEN
    if (this.outflow < ENDED) this.release(this.writers, upTo === Infinity ? this.bytesWritten : upTo)
  }

  /** @internal */
  refused(error: unknown): boolean {
    const isHeard = (this.writers?.size ?? 0) > 0
    if (this.outflow === FULL) this.outflow = OPEN
    this.refuseWriters(error)
    return isHeard
  }

  /** @internal */
  finished(): void {
    this.outflow = ENDED
    this.release(this.writers)
  }

  // The end

  /** @internal Whether it is closed already. */
  beginClose(): boolean {
    if (this.phase === LIVE) {
      this.phase = CLOSING
      this.serve() // they hear of it
      this.channel.close()
    } else if (this.phase === GONE) this.phase = CLOSED
    return (this.phase as number) === CLOSED
  }

  /** @internal */
  joinClosers(fiber: Fiber): void {
    this.closers ??= new Waiters()
    this.closers.join(fiber, 0)
    this.hold(fiber)
  }

  /** @internal */
  leaveClosers(fiber: Fiber): void {
    this.closers?.leave(fiber)
    this.letGo(fiber)
  }

  /** @internal */
  failed(error: unknown): void {
    this.error ??= error
    this.inflow = OVER
    this.serve()
    this.refuseWriters()
  }

  /** @internal */
  closed(error?: unknown): void {
    if (this.phase === CLOSED || this.phase === GONE) return
    if (this.phase === CLOSING) this.phase = CLOSED
    else {
      this.phase = GONE
      if (this.inflow !== OVER) this.error ??= new StreamClosed('it was closed before its end')
    }
    this.inflow = OVER
    this.serve()
    this.refuseWriters()
    if (error === undefined) this.release(this.closers)
    else this.refuse(this.closers, () => ioError(error, `${this.name}.close()`))
  }

  private refuseWriters(error?: unknown): void {
    this.refuse(this.writers, (upTo) => {
      const what = `${this.name}.${upTo === Infinity ? 'end' : 'write'}()`
      return error === undefined ? this.broken(what) : ioError(error, what)
    })
  }

  /** Everybody in this line is told what went wrong. */
  private refuse(line: Waiters<number> | null, errorFor: (upTo: number) => Error): void {
    for (let place = line?.first ?? null; place !== null; place = line?.first ?? null) {
      if (this.out(line as Waiters<number>, place)) place.refuse(errorFor(place.item))
    }
  }

  /** Everybody in this line goes on, up to those who wait for more to be written. */
  private release(line: Waiters<number> | null, upTo = Infinity): void {
    for (let place = line?.first ?? null; place !== null && place.item <= upTo; place = line?.first ?? null) {
      if (this.out(line as Waiters<number>, place)) place.give(undefined)
    }
  }

  /** Takes a place out of its line. False: its fiber has gone, because it could not wait any longer (S35). */
  private out(line: Waiters<number>, place: Place<number>): boolean {
    const fiber = place.fiber as Fiber
    line.remove(place)
    this.letGo(fiber)
    return fiber.value === place
  }

  /** Why there is nothing to be had here any more. */
  private broken(what: string): Error {
    if (this.phase < CLOSING && this.error instanceof StreamClosed)
      return new StreamClosed(`${what} can give nothing more: ${this.error.message}`)
    if (this.phase < CLOSING && this.error !== null) return ioError(this.error, what)
    return new StreamClosed(`${what} came too late: the stream is closed`)
  }

  // S64: who waits for the outside holds the process.

  private hold({ runtime }: Fiber): void {
    if (!this.channel.isOutside) return
    runtime.hold()
    runtime.external++
  }

  private letGo({ runtime }: Fiber): void {
    if (!this.channel.isOutside) return
    runtime.external--
    runtime.release()
  }
}

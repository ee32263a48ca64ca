// The half of a stream that receives: it keeps what has come and was not yet taken, and the line of those who wait for it.
// The other half, and the end, are in flow.ts.
//
//   channel --received--> [ intake ] --a line, a chunk--> the first of the readers, in the order they came
//
// A tap listener may call anything here, in the middle of anything (S70): whoever is answered is out of the line before, and
// after each answer nothing is taken for granted.

import { type Fiber, fail, settle } from '../core/index.js'
import type { Channel, Receiver } from './channel.js'
import { asSentence, ioError, StreamClosed } from './errors.js'
import { Intake } from './intake.js'
import { Line } from './line.js'
import { BROKEN, CLOSING, FLOWING, LIVE, OVER, PAUSED } from './phase.js'
import { copyOf, MORE, type Taking } from './reading.js'

export abstract class Inflow {
  /** @internal */
  readonly channel: Channel
  protected readonly intake = new Intake()
  protected readonly readers: Line<Taking<any>>
  protected inflow = PAUSED
  protected phase = LIVE
  /** What broke it; from `close` on, what kept that from sending everything. */
  protected error: unknown = null
  protected bytesReceived = 0

  /** On a channel of one's own making; the library's own streams come from `connect`, `listen`, `pipe` and others. */
  constructor(connect: (receiver: Receiver) => Channel) {
    this.channel = connect(this as unknown as Receiver)
    this.readers = new Line(this.channel.isOutside)
  }

  /** What it is: `tcp 127.0.0.1:80`, `stdin`, the path of a file. */
  get name(): string {
    return this.channel.name
  }

  /** @internal */
  abstract failed(error: unknown): void

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

  /** @internal Chunks that were used up, and that nobody has a view of, are given back. */
  recycle(recycle: (chunk: Buffer) => void): void {
    this.intake.recycle = recycle
  }

  /** What the op can have now, or MORE. Throws why there will be nothing. */
  private taken<T>(op: Taking<T>): T | typeof MORE {
    if (this.phase >= CLOSING) throw this.broken(op.describe())
    const found = op.take(this.intake, this.inflow === OVER)
    if (found === MORE && this.inflow === BROKEN) throw this.broken(op.describe())
    return found
  }

  /** Serves as many as can be served, in their order. */
  protected serve(): void {
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

  /** It is closed by us: who waits to read hears of it, and nobody will want what has come. */
  protected forget(): void {
    this.serve()
    this.intake.clear()
  }

  /** Why there is nothing to be had here any more. */
  protected broken(what: string): Error {
    if (this.phase < CLOSING && this.error instanceof StreamClosed)
      return new StreamClosed(`${what} can give nothing more: ${this.error.message}`)
    if (this.phase < CLOSING && this.error !== null) return ioError(this.error, what)
    return new StreamClosed(`${what} came too late: the stream is closed`)
  }
}

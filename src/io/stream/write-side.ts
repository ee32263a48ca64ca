// The side of a stream that sends: how much was written, whether there is room, and the line of fibers that write.
//
//   writers   [ handed over, wait until sent ][ not begun, wait for room ]  --hand over-->  channel
//
// A write is handed over in the call as long as less than ROOM is pending. Beyond that it waits in line with its chunks, so that
// a write that is cut before it began leaves nothing behind, and one that has begun counts against the limit until it is
// sent. So no stream holds more than ROOM and one write, whatever its fibers do.

import { type BaseOp, type Fiber, fail, settle } from '../../core/index.js'
import { asSentence, StreamClosed } from '../errors.js'
import type { Chunk } from './channel.js'
import { OutsideWaiters } from './outside-waiters.js'
import { CUT, DRAINING, ENDED, ENDING, FULL, GONE, LIVE, OPEN, type WriteState } from './phase.js'
import { copyOf } from './read-ops.js'
import type { Stream } from './stream.js'

/** How many bytes and characters may be pending before further writes wait in line. */
const ROOM = 64 * 1024

/** The mark of a wait whose chunks have not been handed over. */
export const UNSENT = -1

/** An op that writes: `mark` says how much of all that was ever written must be sent before it goes on, or UNSENT. */
export interface Sending extends BaseOp<void> {
  mark: number
  /** Hands over what it has to send. */
  handOver(): void
}

export class WriteSide {
  state: WriteState = OPEN
  /** Bytes and characters that were ever handed over, and how many of them are known to be sent. */
  total = 0
  private sent = 0
  /** Fibers that wait until what they handed over is sent; fibers that wait to hand over. */
  private senders: OutsideWaiters<Sending> | null = null
  private queue: OutsideWaiters<Sending> | null = null

  constructor(private readonly stream: Stream) {}

  /** How many fibers wait here. */
  get waiting(): number {
    return this.sending + (this.queue?.size ?? 0)
  }

  /** How many of them have handed over their chunks, whose memory is in use until they are sent. */
  get sending(): number {
    return this.senders?.size ?? 0
  }

  /** What was handed over and is not yet sent. */
  get pending(): number {
    return this.total - this.sent
  }

  /** Whether a write can be handed over now. */
  get hasRoom(): boolean {
    return (this.state !== FULL || this.pending < ROOM) && !this.hasQueue
  }

  /** Whether fibers wait to hand over. */
  get hasQueue(): boolean {
    return this.queue !== null && this.queue.size > 0
  }

  // ---- handing over

  /** Hands chunks to the channel. Whether there is room for more. */
  send(chunks: Chunk | readonly Chunk[], what: string): boolean {
    this.checkOpen(what)
    try {
      if (typeof chunks === 'string' || chunks instanceof Uint8Array) this.sendOne(chunks)
      else for (const chunk of chunks) this.sendOne(chunk)
    } catch (error) {
      throw asSentence(error, `${this.stream.name}.${what}()`)
    }
    return this.state !== FULL
  }

  private sendOne(chunk: Chunk): void {
    if (chunk.length === 0) return
    this.total += chunk.length
    if (!this.stream.channel.write(chunk)) this.state = FULL
    else if (this.state !== FULL) this.sent = this.total
  }

  /** Hands copies over, if they can be sent: the caller will not be told when the chunks may be reused. */
  trySend(chunks: readonly Chunk[], what: string): boolean {
    const { stream } = this
    if (stream.phase !== LIVE || stream.error !== null || this.state !== OPEN) return false
    const copies = chunks.map((chunk) => (typeof chunk === 'string' ? chunk : copyOf(chunk as Buffer)))
    try {
      this.send(copies, what)
      return true
    } catch {
      return false // a write that waits is told why
    }
  }

  /** Hands the last chunks over, and the end. Whether all is sent already. */
  sendEnd(chunks: readonly Chunk[]): boolean {
    const { stream, state } = this
    const what = `${stream.name}.end()`
    if (stream.phase >= CUT) throw stream.broken(what)
    if (chunks.length > 0) this.send(chunks, 'end')
    if (state < ENDING) {
      this.checkOpen('end')
      this.state = ENDING
      try {
        stream.channel.end()
      } catch (error) {
        this.state = state
        throw asSentence(error, what)
      }
    }
    return (this.state as WriteState) === ENDED
  }

  /** While the stream is draining, writes that were in the queue before are still handed over. */
  private checkOpen(what: string): void {
    const { stream } = this
    if ((stream.phase === LIVE || stream.phase === DRAINING) && stream.error === null && this.state < ENDING)
      return
    const call = `${stream.name}.${what}()`
    if (stream.phase < DRAINING && this.state >= ENDING)
      throw new StreamClosed(`${call} failed: the stream was ended for writing`)
    throw stream.broken(call)
  }

  // ---- fibers

  /** The op waits until what it has handed over is sent. */
  joinSenders(fiber: Fiber, op: Sending): void {
    this.checkSound(op)
    op.mark = this.markNow
    this.senders ??= new OutsideWaiters(this.stream.channel.isOutside)
    this.senders.join(fiber, op)
  }

  /** The op waits for room. */
  joinQueue(fiber: Fiber, op: Sending): void {
    if (this.stream.phase !== LIVE || this.stream.error !== null) throw this.stream.broken(op.describe())
    op.mark = UNSENT
    this.queue ??= new OutsideWaiters(this.stream.channel.isOutside)
    this.queue.join(fiber, op)
  }

  /** The stream may have broken, or been closed, while the chunks were handed over. */
  private checkSound(op: Sending): void {
    const { stream } = this
    if (stream.error !== null || stream.phase === GONE || stream.phase >= CUT)
      throw stream.broken(op.describe())
  }

  leave(fiber: Fiber, op: Sending): void {
    const isQueued = op.mark === UNSENT || this.queue?.first?.fiber === fiber // the first may just be handing over
    ;(isQueued ? this.queue : this.senders)?.leave(fiber)
    if (isQueued) this.queueMoved()
  }

  /** Hands over what waits in the queue, as far as there is room. */
  private advance(): void {
    const { queue } = this
    for (let place = queue?.first ?? null; place !== null && queue !== null; place = queue.first) {
      const { item: op } = place
      const fiber = place.fiber as Fiber
      if ((this.state === FULL && this.pending >= ROOM) || op.mark !== UNSENT) return // it is being handed over, further out
      op.mark = this.total
      let answer: (() => void) | null = null
      try {
        op.handOver()
        op.mark = this.markNow
        this.checkSound(op)
        if (this.isSent(op.mark)) answer = () => settle(fiber, op, undefined)
      } catch (error) {
        answer = () => fail(fiber, op, error)
      }
      if (place.isStale) continue // the fiber was answered, or has left, while its chunks were handed over
      queue.remove(place)
      if (answer !== null) answer()
      else (this.senders ??= new OutsideWaiters(this.stream.channel.isOutside)).add(place)
    }
    this.queueMoved()
  }

  /** The mark of an op that has just handed over its chunks, and perhaps the end. */
  private get markNow(): number {
    return this.state >= ENDING ? Infinity : this.total
  }

  private isSent(mark: number): boolean {
    return this.state === ENDED || this.state === OPEN || mark <= this.sent
  }

  /** A close that waits until the queue is empty goes on. */
  private queueMoved(): void {
    if (this.stream.phase === DRAINING && !this.hasQueue) this.stream.closeLater()
  }

  // ---- the channel

  drained(upTo = Infinity): void {
    this.sent = Math.min(upTo, this.total)
    if (this.state === FULL && this.sent === this.total) this.state = OPEN
    if (this.state < ENDED) this.release(this.sent)
    this.advance()
  }

  /** Answers those that wait for no more to be sent. */
  private release(upTo: number): void {
    const { senders } = this
    for (let place = senders?.first ?? null; place !== null; place = senders?.first ?? null) {
      if (place.item.mark > upTo) return
      senders?.answer(place, undefined)
    }
  }

  /** What was handed over cannot be sent. False: no fiber waited for it. */
  refused(why: (what: string) => Error): boolean {
    const isHeard = this.sending > 0
    this.sent = this.total
    if (this.state === FULL) this.state = OPEN
    this.senders?.refuseAll(why)
    this.advance()
    return isHeard
  }

  finished(): void {
    if (this.state === ENDING) this.state = ENDED
    this.sent = this.total
    this.release(Infinity)
    this.advance()
  }

  /** The stream is broken or closed: all that wait are told. */
  refuseAll(why: (what: string) => Error): void {
    this.senders?.refuseAll(why)
    this.queue?.refuseAll(why)
  }
}

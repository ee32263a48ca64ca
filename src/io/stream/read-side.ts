// The side of a stream that receives: it keeps what has arrived and was not yet taken, and the line of fibers that wait for it.
//
//   channel --received--> [ read buffer ] --a line, a chunk--> the first of the readers, in the order they came
//
// A tap listener may call anything here, in the middle of anything (S70): a fiber that is answered is out of the line before,
// and after each answer nothing is taken for granted.

import { type Fiber, fail, settle } from '../../core/index.js'
import { asSentence } from '../errors.js'
import { OutsideWaiters } from './outside-waiters.js'
import { BROKEN, CUT, DRAINING, FLOWING, LIVE, OVER, PAUSED, type ReadState } from './phase.js'
import { ReadBuffer } from './read-buffer.js'
import { copyOf, MORE, type Taking } from './read-ops.js'
import type { Stream } from './stream.js'

/** What a stream without a buffer has. Nothing is ever put into it. */
const NOTHING = new ReadBuffer()

export class ReadSide {
  readonly readers: OutsideWaiters<Taking<any>>
  state: ReadState = PAUSED
  /** Bytes that have arrived. */
  total = 0
  /** What was not taken as it arrived; allocated when that first happens. */
  private buffer: ReadBuffer | null = null

  constructor(private readonly stream: Stream) {
    this.readers = new OutsideWaiters(stream.channel.isOutside)
  }

  /** How many bytes have arrived and were not yet taken. */
  get unread(): number {
    return this.buffer === null ? 0 : this.buffer.size
  }

  private get ownBuffer(): ReadBuffer {
    return (this.buffer ??= new ReadBuffer(this.stream.recycler))
  }

  // ---- fibers

  join(fiber: Fiber, op: Taking<any>): void {
    const isReady = op.max < 0 || this.unread > 0 || this.state >= OVER || this.stream.phase !== LIVE
    if (isReady && this.readers.size === 0) {
      const found = this.taken(op)
      if (found !== MORE) {
        settle(fiber, op, found)
        if (this.state === PAUSED) this.stream.watch()
        return
      }
    }
    this.readers.join(fiber, op)
    if (this.state === PAUSED) this.resume(fiber, op)
  }

  /** The fiber is the first to wait: bytes are wanted. */
  private resume(fiber: Fiber, op: Taking<any>): void {
    try {
      this.flow()
    } catch (error) {
      if (this.readers.size === 0)
        this.stream.failed(error) // it was answered before that
      else {
        this.leave(fiber)
        throw asSentence(error, op.describe())
      }
    }
  }

  private flow(): void {
    this.state = FLOWING
    try {
      this.stream.channel.resume()
    } catch (error) {
      if (this.state === FLOWING) this.state = PAUSED
      throw error
    }
  }

  /** Reads ahead, so that the end of the other side is noticed although no fiber reads. */
  resumeIfWatched(): void {
    const { stream } = this
    if (!stream.isWatched || this.state !== PAUSED || stream.phase !== LIVE) return
    if (this.unread < stream.channel.readAhead) this.flow()
  }

  leave(fiber: Fiber): void {
    this.readers.leave(fiber)
    this.serve() // half a line that was no use to this one may be what the next waits for
    this.calm()
  }

  /** The last reader has left: a channel that does not read ahead is paused. */
  private calm(): void {
    if (this.readers.size > 0 || this.state !== FLOWING || this.stream.channel.readAhead > 0) return
    this.state = PAUSED
    this.stream.channel.pause()
  }

  /** What the op can have now, or undefined. Never waits; fibers that wait go first. */
  tryTake<T>(op: Taking<T>): T | undefined {
    const { stream } = this
    if (this.readers.size > 0) return undefined
    const found = this.state === BROKEN && this.unread === 0 ? MORE : this.taken(op)
    if (found !== MORE) {
      if (this.state === PAUSED) stream.watch()
      return found
    }
    if (this.state === PAUSED && stream.phase === LIVE && stream.channel.readAhead > 0) this.flow()
    return undefined
  }

  /** A line that can be had at once, if no fiber is in line before. */
  readyLine(): string | undefined {
    const { buffer } = this
    if (buffer === null || this.readers.size > 0 || this.stream.phase >= DRAINING) return undefined
    const line = buffer.readyLine()
    if (line !== undefined && this.state === PAUSED && this.stream.isWatched) this.stream.watch()
    return line
  }

  /** Puts bytes back before what has arrived. */
  unshift(bytes: Buffer): void {
    if (bytes.length === 0) return
    this.ownBuffer.unshift(bytes)
    this.serve()
  }

  /** Discards what has arrived and was not yet taken. Returns how many bytes that were. */
  clear(): number {
    return this.buffer === null ? 0 : this.buffer.clear()
  }

  /** Takes everything that has arrived. */
  takeAll(): Buffer {
    return this.buffer === null ? Buffer.alloc(0) : this.buffer.bytes(this.buffer.size)
  }

  /** What the op can have now, or MORE. Throws why there will be nothing. */
  private taken<T>(op: Taking<T>): T | typeof MORE {
    const { stream } = this
    if (stream.phase >= DRAINING) throw stream.broken(op.describe())
    const found = op.take(this.buffer ?? NOTHING, this.state === OVER)
    if (found === MORE && this.state === BROKEN) throw stream.broken(op.describe())
    return found
  }

  /** Serves as many as can be served, in their order. */
  serve(): void {
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

  // ---- the channel

  received(bytes: Buffer, isOwned: boolean): boolean {
    if (bytes.length === 0) return this.state === FLOWING
    this.total += bytes.length
    const { readers, stream } = this
    const { first } = readers
    if (first !== null && this.unread === 0 && bytes.length <= first.item.max) {
      const fiber = first.fiber as Fiber
      readers.remove(first)
      first.item.receive(fiber, bytes, isOwned)
    } else {
      if (stream.phase >= DRAINING) return stream.phase < CUT // it will not be read, but nothing may stay in the way
      if (this.state >= OVER) return false
      this.ownBuffer.push(isOwned ? bytes : copyOf(bytes))
      this.serve()
    }
    if (readers.size > 0 || this.unread < stream.channel.readAhead || this.state >= OVER) return true
    this.state = PAUSED
    return false
  }

  ended(): void {
    this.state = OVER
    this.serve()
  }

  /** No more can arrive. */
  break(): void {
    if (this.state < OVER) this.state = BROKEN
  }

  /** The stream is closed here: readers are told, and what has arrived is dropped. */
  close(): void {
    this.serve()
    this.clear()
  }
}

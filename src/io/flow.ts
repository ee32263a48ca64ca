// What happens beneath a stream. It stands on a channel (channel.ts); how it receives is in inflow.ts, how it sends and how it
// ends is here. The words that fibers use are in stream.ts, the waits in reading.ts and writing.ts.
//
//   channel <--write----- writers, who then wait for room

import type { BaseOp, Fiber } from '../core/index.js'
import type { Chunk, Receiver } from './channel.js'
import { asSentence, ioError, StreamClosed } from './errors.js'
import { Inflow } from './inflow.js'
import { Line } from './line.js'
import { BROKEN, CLOSED, CLOSING, CUT, ENDED, ENDING, FULL, GONE, LIVE, OPEN, OVER } from './phase.js'
import { copyOf } from './reading.js'
import type { Sending } from './writing.js'

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

/** @internal It hears all that a channel tells. The class itself cannot say so: those methods are not in its declaration. */
export type Hearing<F extends Receiver = Flow> = F

/** A stream without its words. */
export class Flow extends Inflow {
  private writers: Line<Sending> | null = null
  private closers: Line<BaseOp<void>> | null = null
  private outflow = OPEN
  private bytesWritten = 0

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

  /** @internal Hands copies over, if they can be sent: nobody will be told when the chunks may be reused. */
  trySend(chunks: readonly Chunk[], what: string): boolean {
    if (this.phase !== LIVE || this.error !== null || this.outflow !== OPEN) return false
    const copies = chunks.map((chunk) => (typeof chunk === 'string' ? chunk : copyOf(chunk as Buffer)))
    try {
      this.send(copies, what)
      return true
    } catch {
      return false // whoever writes and waits is told why
    }
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
  refused(error: unknown): boolean {
    const isHeard = (this.writers?.size ?? 0) > 0
    if (this.outflow === FULL) this.outflow = OPEN
    this.writers?.refuseAll((what) => ioError(error, what))
    return isHeard
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
      this.cut()
      throw asSentence(error, what)
    }
    if (this.phase === CLOSED && this.error !== null) throw ioError(this.error, what)
  }

  /** It cannot be closed in order. Why not says more than what may go wrong now. */
  private cut(): void {
    try {
      this.destroy()
    } catch {}
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
    if (this.phase === CLOSING) this.cut()
    else this.refuseWriters()
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

  private refuseWriters(): void {
    // While it was being closed in order: then it is not the close that they have to hear of.
    const isLost = this.phase >= CLOSING && this.error !== null
    this.writers?.refuseAll((what) => (isLost ? ioError(this.error, what) : this.broken(what)))
  }
}

// The waits of writing, ending and closing. Chunks are handed over in the order of the calls; then the op waits until they are
// on their way, if there is no room for more. If that wait is stopped, the bytes are sent all the same: half a message is of no
// use. A write that is stopped before its chunks were handed over leaves nothing.

import {
  BadArgument,
  BaseOp,
  type Fiber,
  LATER,
  runningFiber,
  type Switchpoint,
  settle,
  show,
} from '../../core/index.js'
import { run } from '../../node/index.js'
import type { Chunk } from './channel.js'
import { writeWasCut } from './read-loop.js'
import type { Stream } from './stream.js'
import { type Sending, UNSENT } from './write-side.js'

abstract class SendingOp extends BaseOp<void> implements Sending {
  mark = 0

  constructor(protected readonly stream: Stream) {
    super()
  }

  abstract handOver(): void

  abort(fiber: Fiber): void | typeof LATER {
    if (this.mark !== UNSENT) {
      writeWasCut()
      if (this.stream.channel.isPatient) return LATER
    }
    this.stream.writing.leave(fiber, this)
  }
  override get kind(): string {
    return 'write'
  }
  override get resource(): object {
    return this.stream
  }
}

export class Write extends SendingOp {
  /** Handed over by `next`; only the wait until it is sent is left. */
  private isHandedOver = false

  constructor(
    stream: Stream,
    private readonly chunks: Chunk | readonly Chunk[],
  ) {
    super(stream)
    checkChunks(chunks, stream, 'write')
  }

  /** Most writes find room, and need not be entered. */
  override next(): IteratorResult<Switchpoint, void> {
    const { writing } = this.stream
    const fiber = writing.hasRoom ? this.tryFastPath() : null
    if (fiber === null) return super.next()
    if (writing.send(this.chunks, 'write')) return this.finishNow(fiber, undefined)
    this.isHandedOver = true
    return super.next()
  }

  enter(fiber: Fiber): void {
    const { writing } = this.stream
    if (this.isHandedOver) {
      this.isHandedOver = false
      writing.joinSenders(fiber, this)
    } else if (!writing.hasRoom) writing.joinQueue(fiber, this)
    else if (writing.send(this.chunks, 'write')) settle(fiber, this, undefined)
    else writing.joinSenders(fiber, this)
  }

  handOver(): void {
    this.stream.writing.send(this.chunks, 'write')
  }

  describe(): string {
    return `${this.stream.name}.write()`
  }
}

export class End extends SendingOp {
  constructor(
    stream: Stream,
    private readonly chunks: readonly Chunk[],
  ) {
    super(stream)
    checkChunks(chunks, stream, 'end')
  }

  enter(fiber: Fiber): void {
    const { writing } = this.stream
    this.stream.checkNotClosing('end')
    if (writing.hasQueue) writing.joinQueue(fiber, this)
    else if (writing.sendEnd(this.chunks)) settle(fiber, this, undefined)
    else writing.joinSenders(fiber, this)
  }

  handOver(): void {
    this.stream.writing.sendEnd(this.chunks)
  }

  describe(): string {
    return `${this.stream.name}.end()`
  }
}

/** Closes a stream in order. A fiber that cannot wait for that, or does not wait to the end, closes it at once. */
export class Close extends BaseOp<void> {
  private isEntered = false

  constructor(private readonly stream: Stream) {
    super()
  }

  /** A signal that strikes here, and a fiber that is forced to end (S19), keep it from being entered: it closes all the same. */
  override next(): IteratorResult<Switchpoint, void> {
    const fiber = runningFiber()
    try {
      return super.next()
    } finally {
      if (!this.isEntered && fiber !== null) this.stream.destroy()
    }
  }

  enter(fiber: Fiber): void {
    this.isEntered = true
    if (this.stream.beginClose(fiber.runtime)) settle(fiber, this, undefined)
    else this.stream.joinClosers(fiber, this)
  }

  abort(fiber: Fiber): void | typeof LATER {
    if (this.stream.channel.isPatient) return LATER
    this.stream.leaveClosers(fiber)
    this.stream.destroy()
  }

  describe(): string {
    return `${this.stream.name}.close()`
  }
  override get kind(): string {
    return 'close'
  }
  override get resource(): object {
    return this.stream
  }
}

/** For `use` in a fiber and `await using` in async code: closes when it is first waited for, by `yield*` or by `await`. */
export class Disposal extends Close implements PromiseLike<void> {
  // biome-ignore lint/suspicious/noThenProperty: async code waits for it
  then<A = void, B = never>(
    settled?: ((value: void) => A | PromiseLike<A>) | null,
    failed?: ((error: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return run(() => this as Close, { name: this.describe() }).then(settled, failed)
  }
}

export function checkChunks(chunks: unknown, stream: Stream, what: string): void {
  if (typeof chunks === 'string' || chunks instanceof Uint8Array) return
  for (const chunk of Array.isArray(chunks) ? chunks : [chunks]) {
    if (typeof chunk === 'string' || chunk instanceof Uint8Array) continue
    throw new BadArgument(`${stream.name}.${what}() needs strings or bytes (Uint8Array), got ${show(chunk)}`)
  }
}

// readLoop: a body for each chunk, as it comes. The chunk is lent: it is valid until the body has ended.

import { BaseOp, type Fiber, type Op, op, type Routine, runReturned, settle } from '../core/index.js'
import type { Flow } from './flow.js'
import type { Intake } from './intake.js'
import { cutWrites, giveBack, type Lent, lend, loseLent } from './lent.js'
import { copyOf, MORE, Taking } from './reading.js'

/**
 * Waits for the next chunk and keeps it, in a buffer that is lent if it can be; false at the end of the stream. The chunk is
 * never in a variable of the loop: a generator keeps its variables while it waits, so each idle connection would keep its last
 * buffer.
 */
class Borrow extends Taking<boolean> {
  private chunk: Buffer | null = null
  private lent: Lent | null = null
  private cutBefore = 0

  take(intake: Intake, isEnded: boolean): boolean | typeof MORE {
    this.chunk = intake.chunk(this.max) ?? null
    return this.chunk !== null || (isEnded ? false : MORE)
  }

  override receive(fiber: Fiber, bytes: Buffer, isOwned: boolean): void {
    if (isOwned) this.chunk = bytes
    else {
      this.lent = lend(bytes)
      this.chunk = this.lent === null ? copyOf(bytes) : this.lent.hold(bytes)
    }
    settle(fiber, this, true)
  }

  feed(body: (chunk: Buffer) => unknown): unknown {
    this.cutBefore = cutWrites
    return body(this.chunk as Buffer)
  }

  /** The body has ended. */
  giveBack(): void {
    this.chunk = null
    const { lent } = this
    if (lent === null) return
    this.lent = null
    if (cutWrites === this.cutBefore) giveBack(lent)
    else loseLent()
  }

  /** The loop was left. If its body was cut, somebody may still hold the chunk. */
  lose(): void {
    if (this.lent !== null) loseLent()
    this.lent = null
  }

  describe(): string {
    return `${this.stream.name}.readLoop()`
  }
}

/** The loop as an op. Its description is made only when asked for: the name of the other end may cost a system call. */
export function readLoop(stream: Flow, body: (chunk: Buffer) => unknown, max: number): Op<void> {
  return op(
    () => `${stream.name}.readLoop()`,
    () => looping(stream, body, max),
  )
}

function* looping(stream: Flow, body: (chunk: Buffer) => unknown, max: number): Routine<void> {
  const next = new Borrow(stream, max)
  try {
    while (yield* next) {
      let result = next.feed(body)
      if (result instanceof BaseOp) result = yield* result as Op<unknown>
      else if (typeof result === 'object' && result !== null) result = yield* runReturned(result, body)
      next.giveBack()
      if (result === false) return
    }
  } finally {
    next.lose()
  }
}

// OutsideOp: waits for work that Node, a driver or a device does and answers with a callback. While a fiber waits for it, the
// process is held, and the wait does not count as a deadlock (S64); work that answered LATER holds it until it ends. Each wait is an Attempt of its own, so a late answer never
// reaches another wait, even if the same op is waited for again: a late value goes to `discard` (S35).
//
//   enter -> start(attempt) -> ... attempt.settle(value) or attempt.fail(error)
//                           -> stopped: cancel()  -> the fiber leaves; a value that comes later is discarded
//                                       LATER     -> the fiber goes on waiting, as long as its grace allows

import { callout } from './current.js'
import type { Fiber } from './fiber.js'
import { fail, LateOp, refuseEnter, settle } from './op.js'
import { LATER } from './switchpoint.js'

/** Of an attempt. `left`: the fiber has left; the answer is still to come. */
type Phase = 'open' | 'left' | 'answered'

/** One wait of an `OutsideOp`, for its callbacks to answer. Only the first answer counts. */
export class Attempt<T> {
  private phase: Phase = 'open'

  /** @internal */
  constructor(
    private readonly op: OutsideOp<T>,
    /** The waiting fiber. */
    readonly fiber: Fiber,
  ) {
    fiber.runtime.hold()
    fiber.runtime.external++
  }

  /** The work is done. If the fiber has left, the value goes to `discard`. */
  settle(value: T): void {
    const { phase, op, fiber } = this
    this.end('answered')
    if (phase === 'open') settle(fiber, op, value)
    else if (phase === 'left') op.late(value, fiber)
  }

  /** The work has failed. If the fiber has left, the error is dropped. */
  fail(error: unknown): void {
    const { phase, op, fiber } = this
    this.end('answered')
    if (phase === 'open') fail(fiber, op, error)
  }

  /** Whether a fiber waits for the answer. */
  get isOpen(): boolean {
    return this.phase === 'open'
  }

  /** @internal */
  leave(): void {
    this.end('left')
  }

  /** Releases the process, which the wait held. */
  private end(phase: Phase): void {
    const { fiber } = this
    const wasOpen = this.phase === 'open'
    if (wasOpen || phase === 'answered') this.phase = phase
    if (!wasOpen) return
    fiber.runtime.external--
    fiber.runtime.release()
    this.op.ended(this)
  }
}

/**
 * The base of an op that waits for work outside: a request, a query, a callback of Node. While a fiber waits, the process is
 * held, and the wait does not count as a deadlock (S64). A subclass implements `start`, `cancel` and `describe`, and
 * `discard` if a late value needs disposal.
 *
 * ```ts
 * class Stat extends OutsideOp<string> {
 *   constructor(private readonly name: string) {
 *     super()
 *   }
 *   protected start(attempt: Attempt<string>) {
 *     setImmediate(() => attempt.settle(`${this.name} has 42 bytes`)) // a driver calls back
 *   }
 *   protected cancel() {} // there is nothing to undo
 *   override discard(late: string) {
 *     console.log(`discarded: ${late}`) // never printed
 *   }
 *   describe() {
 *     return `stat(${this.name})`
 *   }
 * }
 * console.log(yield* new Stat('a.txt')) // a.txt has 42 bytes
 * ```
 */
export abstract class OutsideOp<T> extends LateOp<T> {
  private attempt: Attempt<T> | null = null

  /** Starts the work; its callbacks answer the attempt, now or later. An exception is thrown at the wait. */
  protected abstract start(attempt: Attempt<T>): void
  /** The fiber is leaving: cancels the work. `LATER` if it cannot be cancelled: then the fiber waits for its end (S35). */
  protected abstract cancel(fiber: Fiber): void | typeof LATER
  /** The wait is over, answered or left: releases what it needed. */
  protected over(_fiber: Fiber): void {}

  /** Makes an attempt and starts the work. */
  enter(fiber: Fiber): void {
    if (this.attempt !== null) this.refuseSecond(this.attempt.fiber)
    const attempt = new Attempt(this, fiber)
    this.attempt = attempt
    try {
      const left: unknown = this.start(attempt)
      if (left !== undefined) refuseEnter(this, left, 'start()')
    } catch (error) {
      attempt.leave()
      throw error
    }
  }

  /** Cancels the work and leaves the attempt, unless `cancel` answers `LATER`. */
  abort(fiber: Fiber): void | typeof LATER {
    const { attempt } = this
    let later: unknown
    try {
      later = this.cancel(fiber)
    } finally {
      if (later !== LATER) attempt?.leave() // also if `cancel` threw, which is reported
    }
    return later === LATER ? LATER : undefined
  }

  /** A value that the fiber does not receive. Attempts answer once, so it is lost unless it is discarded here. */
  override late(value: unknown, fiber: Fiber): void {
    this.leftBehind()
    super.late(value, fiber)
  }

  /** @internal */
  ended(attempt: Attempt<T>): void {
    if (this.attempt === attempt) this.attempt = null
    const { fiber } = attempt
    callout(fiber.runtime, 'over() of an op', () => this.over(fiber)) // its text is not made for each wait
  }
}

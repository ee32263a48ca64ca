// action: callback APIs as ops. The user's function starts the work and may return a cleanup. However the wait ends, the
// cleanup runs once, at that moment; later callbacks are ignored.
//
//   started  ->  waiting  ->  over        answered: further calls are ignored
//                         \-> left        the fiber has left: one late value goes to `discard`

import {
  BadArgument,
  type Checks,
  check,
  type Fiber,
  fail,
  LateOp,
  nameOf,
  type Op,
  settle,
  show,
} from '../core/index.js'

/** The function given to `action`: it starts the work, and may return a function that cleans up. */
export type Start<T> = (
  settle: (value: T) => void,
  fail: (error: unknown) => void,
) => (() => void) | undefined | void

/** Options of `action`. */
export type ActionOptions<T> = DiscardOptions<T>

/** What a wait for the outside may be told. */
export interface DiscardOptions<T> {
  /** Gets rid of a value that arrives after the fiber has left: closes it, releases it. */
  discard?: (value: T) => void
}
export const DISCARD_OPTIONS: Checks<DiscardOptions<any>> = { discard: check.function }

/** Of an attempt. */
type Phase = 'started' | 'waiting' | 'over' | 'left'

export class Action<T> extends LateOp<T> {
  private attempt: Attempt<T> | null = null
  override discard?: (value: T) => void

  constructor(
    readonly start: Start<T>,
    discard?: (value: T) => void,
    private readonly what = `action(${nameOf(start)})`,
  ) {
    super()
    if (discard !== undefined) this.discard = discard
  }

  enter(fiber: Fiber): void {
    this.refuseSecond(this.attempt === null ? null : this.attempt.fiber)
    const attempt = new Attempt(this, fiber)
    this.attempt = attempt
    try {
      attempt.begin()
    } catch (error) {
      this.attempt = null
      throw error
    }
  }

  abort(): void {
    this.attempt?.leave()
  }

  /** The wait is over: the op may be used again. */
  ended(): void {
    this.attempt = null
  }

  /** A value came after the fiber had left. */
  missed(value: T, fiber: Fiber): void {
    this.drop(value, fiber)
  }

  describe(): string {
    return this.what
  }
  override get kind(): string {
    return 'action'
  }
}

/** One wait of an action. Its callbacks belong to it. */
class Attempt<T> {
  private phase: Phase = 'started'
  private cleanup: (() => unknown) | undefined = undefined
  /** An answer that came while the user's function was still running. */
  private early: {
    readonly answer: (fiber: Fiber, op: Action<T>, value: any) => boolean
    value: unknown
  } | null = null

  constructor(
    private readonly op: Action<T>,
    readonly fiber: Fiber,
  ) {}

  begin(): void {
    const { op, fiber } = this
    try {
      const cleanup: unknown = op.start(
        (value) => this.answer(settle, value),
        (error) => this.answer(fail, error),
      )
      this.cleanup = checkCleanup(cleanup, `${op.describe()} in ${fiber.path}`)
    } catch (error) {
      this.phase = 'left'
      const { early } = this
      if (early?.answer === settle) this.answer(settle, early.value)
      throw error
    }
    this.phase = 'waiting'
    fiber.runtime.external++
    if (this.early !== null) this.answer(this.early.answer, this.early.value)
  }

  private answer(answer: (fiber: Fiber, op: Action<T>, value: any) => boolean, value: unknown): void {
    const { phase, op, fiber } = this
    if (phase === 'started') this.early ??= { answer, value }
    else if (phase === 'waiting') {
      this.end('over')
      answer(fiber, op, value)
    } else if (phase === 'left') {
      this.phase = 'over'
      if (answer === settle) op.missed(value as T, fiber)
    }
  }

  leave(): void {
    this.end('left')
  }

  private end(phase: Phase): void {
    const { op, fiber, cleanup } = this
    this.phase = phase
    this.cleanup = undefined
    fiber.runtime.external--
    op.ended()
    try {
      const returned = cleanup?.()
      if (typeof (returned as Iterator<unknown> | undefined)?.next === 'function') {
        throw new BadArgument(
          `the cleanup of ${op.describe()} is a function*, which never ran. It cannot wait: do the waiting in ensure() around the action.`,
        )
      }
    } catch (error) {
      fiber.runtime.uncaught(error, `the cleanup of ${op.describe()} in ${fiber.path} failed`)
    }
  }
}

/** Checks what the user's function returned: an arrow function may return something else by accident. */
function checkCleanup(cleanup: unknown, what: string): (() => unknown) | undefined {
  if (cleanup === undefined || typeof cleanup === 'function') return cleanup as (() => unknown) | undefined
  if (typeof (cleanup as PromiseLike<unknown> | null)?.then === 'function') {
    ;(cleanup as PromiseLike<unknown>).then(undefined, () => {}) // refused: its rejection must not count as unhandled
    throw new BadArgument(
      `the function of ${what} returned a promise. It calls settle or fail and may return a function that cleans up; ` +
        'to wait for a promise, use until().',
    )
  }
  throw new BadArgument(
    `the function of ${what} returned ${show(cleanup)}. It may return a function that cleans up, or nothing; ` +
      'put braces around the body of an arrow function.',
  )
}

/**
 * Turns a callback API into an op. The function is called when the wait begins; `settle` and `fail` end the wait. The
 * function may return a cleanup, which is called once, as soon as the wait is settled, failed or stopped.
 *
 * ```ts
 * const wait = (ms: number) =>
 *   action<string>((settle) => {
 *     const timer = setTimeout(settle, ms, 'done')
 *     return () => clearTimeout(timer)
 *   })
 * console.log(yield* wait(5)) // done
 * ```
 *
 * A second call of `settle` or `fail` has no effect, nor has one after the fiber has left; a late value goes to
 * `discard`. Each `yield*` calls the function again.
 */
export function action<T>(start: Start<T>, options: ActionOptions<T> = {}): Op<T> {
  if (typeof start !== 'function') {
    throw new BadArgument(`action() needs a function (settle, fail) => cleanup, got ${show(start)}`)
  }
  return new Action(start, check.options(options, DISCARD_OPTIONS, 'action()').discard)
}

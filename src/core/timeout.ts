// Time limits and barriers: moveOnAfter, cancelAfter, shield, ensure.
//
// When the time of a limit is up, its body is stopped with a signal of its own. When that signal comes out of the body,
// moveOnAfter returns its value and cancelAfter throws its error. So limits nest in every combination (S66).

import { Block, done } from './block.js'
import { checkBody, op, type Result, type Returned } from './body.js'
import { current } from './current.js'
import {
  addSuppressed,
  Cancel,
  checkError,
  type ErrorClass,
  type ErrorLike,
  isStop,
  makeError,
  suppressedErrors,
} from './errors.js'
import type { Fiber } from './fiber.js'
import type { Op, Routine, Switchpoint } from './op.js'
import { check, checkOptions, checkTimeLimit } from './options.js'
import { BARS_ALL, BARS_STOPS, type Barrier, LIVE, NO_BARRIER } from './state.js'
import { isForced, requestEnd } from './switchpoint.js'
import type { TimerNode } from './timers.js'

/** The handle that the body of a time limit receives. */
export interface Timeout {
  /** Restarts the time limit; `ms` gives it another length from now on. */
  reset(ms?: number): void
  /** Extends the time limit by `ms` milliseconds; `Infinity` removes it. */
  extend(ms: number): void
  /** Milliseconds left; 0 when it has expired, `Infinity` if there is no limit. */
  readonly remaining: number
}

abstract class Limit<T> extends Block<T> implements Timeout, TimerNode {
  /** @internal */ time = 0
  /** @internal */ seq = 0
  /** @internal */ index = -1
  /** The length that `reset` has given it. */
  protected length: number

  constructor(
    protected readonly ms: number,
    body: (...args: any[]) => unknown,
    private readonly grace: number | undefined,
    where: string,
  ) {
    super(body, where)
    this.length = ms
    checkTimeLimit(ms, where)
  }

  /** Whether the error that it throws can carry errors of the combinators that it cut short. */
  protected get keepsErrors(): boolean {
    return false
  }

  /** The result of the block, once its signal was thrown and the body is over. */
  protected abstract expired(fiber: Fiber, signal: unknown, isCut: boolean): IteratorResult<Switchpoint, T>

  override get endsEarly(): boolean {
    return this.length < Infinity
  }

  protected override begin(): Timeout {
    const { runtime } = this.fiber as Fiber
    this.length = this.ms
    if (this.ms === 0)
      this.fire() // delivered at the first switchpoint
    else if (this.ms < Infinity) runtime.addTimer(this, runtime.now() + this.ms)
    else this.time = Infinity
    return this
  }

  /** @internal As a timer: the time is up. */
  fire(): void {
    if (this._phase === LIVE) requestEnd(this, `${this.describe()} timed out`, this.grace, this.keepsErrors)
  }

  reset(ms?: number): void {
    if (ms !== undefined) {
      checkTimeLimit(ms, 'reset()')
      this.length = ms
    }
    this.setTime((now) => now + this.length)
  }
  extend(ms: number): void {
    checkTimeLimit(ms, 'extend()')
    this.setTime(() => this.time + ms)
  }
  get remaining(): number {
    if (this.fiber === null || this._phase !== LIVE) return 0
    return Math.max(0, this.time - this.fiber.runtime.now())
  }

  /** Has no effect after the limit has expired, or its block is over. */
  private setTime(time: (now: number) => number): void {
    if (this.fiber === null || this._phase !== LIVE) return
    const { runtime } = this.fiber
    const at = time(runtime.now())
    this.clear(runtime)
    if (at < Infinity) runtime.addTimer(this, at)
    else this.time = at
  }

  private clear(runtime: Fiber['runtime']): void {
    if (this.index >= 0) runtime.timers.remove(this)
  }

  protected override returned(value: unknown, isCut: boolean): IteratorResult<Switchpoint, T> {
    const { fiber, stopSignal, wasStruck } = this
    this.leave()
    return wasStruck ? this.expired(fiber as Fiber, stopSignal, isCut) : done(value as T) // S34: if the signal was not thrown yet, the result counts
  }

  protected override thrown(error: unknown): IteratorResult<Switchpoint, T> {
    const { fiber, stopSignal, wasStruck } = this
    const isOwn = this.isOwn(error)
    this.leaveWith(error)
    if (isOwn) return this.expired(fiber as Fiber, stopSignal, false)
    if (wasStruck) this.keepExpiry(fiber as Fiber, error)
    throw error
  }

  /** An error of the cleanup is thrown instead of the expiry, which is kept beside it. */
  protected keepExpiry(_fiber: Fiber, _error: unknown): void {}

  protected override leave(): void {
    this.clear((this.fiber as Fiber).runtime)
    super.leave()
  }
  override abandon(errors: unknown[]): void {
    this.clear((this.fiber as Fiber).runtime)
    super.abandon(errors)
  }
  override passedBy(signal: unknown, isStop: boolean): void {
    super.passedBy(signal, isStop)
    if (isStop) this.clear((this.fiber as Fiber).runtime)
  }
}

class MoveOn<T> extends Limit<T> {
  constructor(
    ms: number,
    body: (...args: any[]) => unknown,
    grace: number | undefined,
    private readonly value: unknown,
  ) {
    super(ms, body, grace, 'moveOnAfter()')
  }
  override describe(): string {
    return `moveOnAfter(${this.ms})`
  }
  protected expired(): IteratorResult<Switchpoint, T> {
    return done(this.value as T)
  }
}

class CancelAfter<T> extends Limit<T> {
  constructor(
    ms: number,
    body: (...args: any[]) => unknown,
    private readonly given: ErrorLike | undefined,
    private readonly message: string | undefined,
  ) {
    super(ms, body, undefined, 'cancelAfter()')
    checkError(given, message, 'cancelAfter()')
  }
  override describe(): string {
    return `cancelAfter(${this.ms})`
  }
  protected override get keepsErrors(): boolean {
    return true
  }
  protected expired(fiber: Fiber, signal: unknown, isCut: boolean): IteratorResult<Switchpoint, T> {
    if (isCut && isForced(fiber)) return done(undefined as T) // the code around it is being ended by return(), not by errors
    const error = this.makeError(fiber)
    for (const other of suppressedErrors(signal)) addSuppressed(fiber, error, other)
    throw error
  }
  protected override keepExpiry(fiber: Fiber, error: unknown): void {
    addSuppressed(fiber, error, this.makeError(fiber))
  }
  private makeError(fiber: Fiber): unknown {
    try {
      return makeError(
        this.given,
        Cancel,
        this.message ?? `${fiber.path} was cancelled after ${this.length} ms`,
      )
    } catch (error) {
      return error // thrown by the constructor of the given class
    }
  }
}

/**
 * Runs a body for at most `ms` milliseconds. When the time is up, the body is stopped, with its cleanup, and `value` is
 * returned (S65, S66). `Infinity` means no limit. The body receives a handle with `reset()`, `extend(ms)` and `remaining`.
 * With `{ value, grace }` instead of a value, `grace` is how long the cleanup of the body may wait; an object with either of these
 * two keys is taken for such options.
 *
 * ```ts
 * const answer = yield* moveOnAfter(1000, () => receive(), 'nothing came')
 * console.log(answer) // nothing came
 * ```
 */
export function moveOnAfter<R>(
  ms: number,
  body: (timeout: Timeout) => Returned<R>,
  options?: { grace: number },
): Op<Result<R> | undefined>
export function moveOnAfter<R, V>(
  ms: number,
  body: (timeout: Timeout) => Returned<R>,
  options: { value: V; grace?: number },
): Op<Result<R> | V>
export function moveOnAfter<R, V>(
  ms: number,
  body: (timeout: Timeout) => Returned<R>,
  value: V,
): Op<Result<R> | V>
export function moveOnAfter(
  ms: number,
  body: (timeout: Timeout) => any,
  valueOrOptions?: unknown,
): Op<unknown> {
  return isMoveOnOptions(valueOrOptions)
    ? new MoveOn(ms, body, valueOrOptions.grace, valueOrOptions.value)
    : new MoveOn(ms, body, undefined, valueOrOptions)
}

const MOVE_ON_OPTIONS = { value: check.any, grace: checkTimeLimit }

/** A plain object with the key `value` or `grace` is options; anything else is the value itself. */
function isMoveOnOptions(given: unknown): given is { value?: unknown; grace?: number } {
  if (typeof given !== 'object' || given === null || Object.getPrototypeOf(given) !== Object.prototype)
    return false
  if (!Object.hasOwn(given, 'value') && !Object.hasOwn(given, 'grace')) return false
  checkOptions(given, MOVE_ON_OPTIONS, 'moveOnAfter()')
  return true
}

/**
 * Runs a body for at most `ms` milliseconds. When the time is up, the body is stopped, with its cleanup, and `Cancel` (or the
 * given error, class or message, or a class with its message) is thrown here (S66). Inside, the body sees a stop, never the `Cancel`.
 *
 * ```ts
 * try {
 *   yield* cancelAfter(1000, () => receive(), 'no answer')
 * } catch (error) {
 *   console.log((error as Error).message) // no answer
 * }
 * ```
 */
export function cancelAfter<R>(
  ms: number,
  body: (timeout: Timeout) => Returned<R>,
  error?: ErrorLike,
): Op<Result<R>>
export function cancelAfter<R>(
  ms: number,
  body: (timeout: Timeout) => Returned<R>,
  error: ErrorClass,
  message: string,
): Op<Result<R>>
export function cancelAfter(
  ms: number,
  body: (timeout: Timeout) => unknown,
  error?: ErrorLike,
  message?: string,
): Op<unknown> {
  return new CancelAfter(ms, body, error, message)
}

/** A block with a barrier against signals. With NO_BARRIER it only adds a switchpoint at its beginning. */
export class BarrierBlock<T> extends Block<T> {
  constructor(
    body: (...args: any[]) => unknown,
    private readonly keepsOut: Barrier,
    private readonly what: string,
  ) {
    super(body, what)
  }
  override get barrier(): Barrier {
    return this.keepsOut
  }
  override describe(): string {
    return this.what
  }
  /** The cleanup of `ensure` begins even if a signal is pending: it has no switchpoint before it. */
  protected override enter(): IteratorResult<Switchpoint, T> {
    return this.keepsOut === BARS_ALL ? this.enterAnyway() : super.enter()
  }
}

/**
 * Delays stops, and the expiry of outer blocks, until the body is over or a deadline passes. Errors are not delayed (S20).
 *
 * ```ts
 * const payment = spin(function* () {
 *   yield* shield(function* () {
 *     yield* sleep(20)
 *     console.log('committed') // committed
 *   })
 *   yield* sleep(1000)
 *   console.log('too late') // never printed
 * })
 * yield* sleep(10)
 * yield* payment.stop()
 * ```
 */
export function shield<R>(body: () => Returned<R>): Op<Result<R>> {
  return new BarrierBlock<Result<R>>(body, BARS_STOPS, 'shield()')
}

/**
 * Runs a body, then a cleanup that may wait and runs to completion: signals that arrive meanwhile are delayed until it is
 * over, or a deadline forces it (S16b). If both fail, the body's error is thrown, with the other in `suppressed`.
 *
 * ```ts
 * const fiber = spin(() =>
 *   ensure(
 *     () => console.log('work done'), // work done
 *     function* () {
 *       yield* sleep(100)
 *       console.log('cleanup done') // cleanup done
 *     },
 *   ),
 * )
 * yield* sleep(10) // it is in its cleanup now
 * yield* fiber.stop()
 * ```
 */
export function ensure<R, C>(body: () => Returned<R>, cleanup: () => Returned<C>): Op<Result<R>> {
  checkBody(body, 'ensure()')
  checkBody(cleanup, 'ensure()')
  return op('ensure()', () => ensuring(body as () => Result<R>, cleanup))
}

function* ensuring<T>(body: () => Op<T> | T, cleanup: () => unknown): Routine<T> {
  let failed = false
  let failure: unknown
  let value: T | undefined
  try {
    value = yield* new BarrierBlock<T>(body, NO_BARRIER, 'ensure()')
  } catch (error) {
    failed = true
    failure = error
  } finally {
    try {
      yield* new BarrierBlock(cleanup as () => any, BARS_ALL, 'ensure()')
    } catch (error) {
      // biome-ignore lint/correctness/noUnsafeFinally: an error of the cleanup outweighs a stop, also a forced one
      if (!failed || isStop(failure)) throw error
      addSuppressed(current.fiber as Fiber, failure, error)
    } finally {
      // biome-ignore lint/correctness/noUnsafeFinally: a forced end must not lose the body's error
      if (failed && !isStop(failure)) throw failure
    }
  }
  if (failed) throw failure
  return value as T
}

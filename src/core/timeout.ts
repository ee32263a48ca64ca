// Time limits and walls: moveOnAfter, cancelAfter, shield, ensure.

import { Block, done } from './block.js'
import { checkBody, type Result, type Returned, repeatable } from './body.js'
import { Cancel, checkError, type ErrorLike, isStop, makeError } from './errors.js'
import { Fiber } from './fiber.js'
import { HOLD, OPEN, SHIELD } from './gate.js'
import type { Op, Routine, Switchpoint } from './op.js'
import { checkGrace, checkMs } from './options.js'
import { LIVE, REQUESTED } from './phase.js'
import { interrupt } from './stop.js'
import { keepBeside } from './tree.js'

/** The handle that the body of a time limit receives. */
export interface Timeout {
  /** Starts the time anew. */
  reset(): void
  /** Puts the end off by so many milliseconds. */
  extend(ms: number): void
  /** Milliseconds left; 0 when it has expired. */
  readonly remaining: number
}

abstract class Limit<T> extends Block<T> implements Timeout {
  constructor(
    protected readonly ms: number,
    body: (...args: any[]) => unknown,
    grace: number | undefined,
    where: string,
  ) {
    super(body, grace, where)
    checkMs(ms, where)
    checkGrace(grace, where)
  }

  /** The time is up. */
  protected abstract expire(): void

  protected override argument(): Timeout {
    return this
  }
  override get isTimed(): boolean {
    return true
  }

  protected override begin(): void {
    const { runtime } = this.fiber as Fiber
    if (this.ms > 0) runtime.addTimer(this, runtime.now() + this.ms)
    else this.expire() // fires at the first switchpoint
  }

  override fire(): void {
    if (this._phase === LIVE) this.expire()
    else super.fire()
  }

  protected get hasExpired(): boolean {
    return this._phase !== LIVE
  }

  reset(): void {
    this.setTime((now) => now + this.ms)
  }
  extend(ms: number): void {
    checkMs(ms, 'extend()')
    this.setTime(() => this.time + ms)
  }
  get remaining(): number {
    if (this.fiber === null || this._phase !== LIVE || this.index < 0) return 0
    return Math.max(0, this.time - this.fiber.runtime.now())
  }

  /** A limit that has expired, or whose block is over, stays as it is. */
  private setTime(time: (now: number) => number): void {
    if (this.fiber === null || this._phase !== LIVE || this.hasExpired) return
    const { runtime } = this.fiber
    const at = time(runtime.now())
    runtime.timers.remove(this)
    runtime.addTimer(this, at)
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
  protected expire(): void {
    this.request(`${this.describe()} timed out`)
  }
  protected override returned(value: unknown): IteratorResult<Switchpoint, T> {
    const struck = this.wasStruck
    this.leave()
    return done((struck ? this.value : value) as T) // S34: not struck yet, the result stands
  }
  protected override thrown(error: unknown): IteratorResult<Switchpoint, T> {
    const own = this.isOwn(error)
    this.leave()
    if (own) return done(this.value as T)
    throw error
  }
}

class CancelAfter<T> extends Limit<T> {
  private error: Error | null = null
  constructor(
    ms: number,
    body: (...args: any[]) => unknown,
    private readonly given: ErrorLike | undefined,
  ) {
    super(ms, body, undefined, 'cancelAfter()')
    checkError(given)
  }
  override describe(): string {
    return `cancelAfter(${this.ms})`
  }
  protected override begin(): void {
    this.error = null
    super.begin()
  }
  protected override get hasExpired(): boolean {
    return this.error !== null
  }
  protected expire(): void {
    const fiber = this.fiber as Fiber
    try {
      this.error = makeError(this.given, Cancel, `${fiber.path} was cancelled after ${this.ms} ms`)
    } catch (error) {
      this.error = error as Error // of the class that was given
    }
    this._phase = REQUESTED
    interrupt(fiber)
  }
  /** An ordinary error, thrown once: afterwards the block lives as before (S66). */
  override struck(): Error {
    this._phase = LIVE
    return this.error as Error
  }
}

/**
 * Runs a body for at most `ms` milliseconds. When the time is up the block is stopped, with its cleanup, and `value`
 * is returned (S65, S66). The body receives a handle with `reset()`, `extend(ms)` and `remaining`.
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

/** Any value may be given plainly, but for an object that has nothing but `value` and `grace`. */
function isMoveOnOptions(given: unknown): given is { value?: unknown; grace?: number } {
  if (typeof given !== 'object' || given === null) return false
  const keys = Object.keys(given)
  return keys.length > 0 && keys.every((key) => key === 'value' || key === 'grace')
}

/**
 * Runs a body for at most `ms` milliseconds. When the time is up, `Cancel` (or the error, class or message given) is
 * thrown inside it: an ordinary error that may be caught (S66).
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
): Op<Result<R>> {
  return new CancelAfter<Result<R>>(ms, body, error)
}

/** A stretch of code that lets in as much as its wall says; with an open one, only a switchpoint where it begins. */
export class Wall<T> extends Block<T> {
  constructor(
    body: (...args: any[]) => unknown,
    wall: number,
    private readonly what: string,
  ) {
    super(body, undefined, what)
    this.wall = wall
  }
  override describe(): string {
    return this.what
  }
  protected override get crossesGate(): boolean {
    return this.wall !== HOLD
  }
}

/**
 * Holds stops, and the expiry of outer blocks, until the body is over or a deadline passes. Not errors (S20).
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
  return new Wall<Result<R>>(body, SHIELD, 'shield()')
}

/**
 * Runs a body, then a cleanup that may wait and is always whole: whatever arrives meanwhile is held until it is over,
 * or a deadline forces it (S16b). If both fail, the body's error is thrown and keeps the other in `suppressed`.
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
  return repeatable('ensure()', () => ensuring(body as () => Result<R>, cleanup))
}

function* ensuring<T>(body: () => Op<T> | T, cleanup: () => unknown): Routine<T> {
  let failed = false
  let failure: unknown
  let value: T | undefined
  try {
    value = yield* new Wall<T>(body, OPEN, 'ensure()')
  } catch (error) {
    failed = true
    failure = error
  } finally {
    try {
      yield* new Wall(cleanup as () => any, HOLD, 'ensure()')
    } catch (error) {
      // biome-ignore lint/correctness/noUnsafeFinally: an error of the cleanup outweighs a stop, also a forced one
      if (!failed || isStop(failure)) throw error
      keepBeside(Fiber.current, failure, error)
    } finally {
      // biome-ignore lint/correctness/noUnsafeFinally: a forced end must not lose the body's error
      if (failed && !isStop(failure)) throw failure
    }
  }
  if (failed) throw failure
  return value as T
}

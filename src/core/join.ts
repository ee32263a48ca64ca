// Waits for fibers to end: await, join, Fiber.await, Fiber.select. Every wait is a listener to the death of the awaited
// fiber (tree.ts).

import { current } from './current.js'
import {
  addSuppressed,
  BadArgument,
  BadYield,
  DeadlockError,
  FiberStopped,
  isStop,
  markReceived,
} from './errors.js'
import type { Fiber } from './fiber.js'
import { BaseOp, enteredTwice, fail, type Routine, settle } from './op.js'
import { isBetweenLives } from './restart.js'
import {
  ABANDONED,
  type AnswerCode,
  DIED,
  type EndCode,
  ERROR,
  makeOutcome,
  NONE,
  type Outcome,
  OVER,
  STOPPED,
  VALUE,
  WAITING,
} from './state.js'
import { SNOOZE } from './suspend.js'
import { keepError } from './switchpoint.js'
import { type EndListener, heirOf, listen, unlisten } from './tree.js'
import { refuseCircle } from './waitsfor.js'

/** Whether a fiber is dead for its awaiters: no restart by a supervisor is pending (S41). */
export function isDead(fiber: Fiber<any, any>): boolean {
  return fiber._phase === OVER && !isBetweenLives(fiber)
}

/** Waits for one fiber. The op is itself the node in the list of listeners. */
abstract class AwaitingOp<T> extends BaseOp<T> implements EndListener {
  watcher: Fiber | null = null
  before: EndListener | null = null
  after: EndListener | null = null

  constructor(readonly target: Fiber<any, any>) {
    super()
  }

  get moment(): typeof DIED {
    return DIED
  }
  override get kind(): string {
    return 'await'
  }
  override get waitsOn(): Fiber<any, any> {
    return this.target
  }

  enter(fiber: Fiber): void {
    const { target } = this
    if (isDead(target)) {
      this.answer(fiber, target.how as EndCode, target.value)
      return
    }
    if (this.watcher !== null) throw enteredTwice(this, this.watcher)
    if (target._state === WAITING || target === fiber) refuseCircle(fiber, this)
    this.watcher = fiber
    listen(target, this)
  }

  abort(): void {
    this.watcher = null
    unlisten(this.target, this)
  }

  told(how: EndCode, value: unknown): void {
    const fiber = this.watcher as Fiber
    this.watcher = null
    this.answer(fiber, how, value)
  }

  /** The target is dead: answers the waiting fiber. */
  protected abstract answer(fiber: Fiber, how: EndCode, value: unknown): void
}

export class AwaitOp<T> extends AwaitingOp<T> {
  protected answer(fiber: Fiber, how: EndCode, value: unknown): void {
    const error = how === VALUE ? undefined : failureOf(this.target, how, value)
    if (how === VALUE || error === undefined) settle(fiber, this, value as T)
    else {
      markReceived(error, fiber) // S25: the error does not bubble to this fiber again
      fail(fiber, this, error)
    }
  }
  describe(): string {
    return `${this.target.name} to end`
  }
}

export class JoinOp<T> extends AwaitingOp<Outcome<T>> {
  protected answer(fiber: Fiber, how: EndCode, value: unknown): void {
    if (how === ERROR) markReceived(value, fiber)
    settle(fiber, this, makeOutcome<T>(how, value))
  }
  describe(): string {
    return `${this.target.name} to end`
  }
}

/** What `await` throws for this end; undefined if it returns a value (S31). */
export function failureOf(fiber: Fiber<any, any>, how: AnswerCode | EndCode, value: unknown): unknown {
  if (how === ERROR) return value
  if (how === ABANDONED) {
    return new FiberStopped(`${fiber.path} was abandoned: it would not end when it was forced to`)
  }
  if (how === STOPPED && value === undefined) {
    return new FiberStopped(
      `${fiber.path} was stopped without a value. join() waits for a fiber without throwing; stop(value) gives it one.`,
      { cause: fiber.stopReason },
    )
  }
  return undefined
}

/** What hears of the ends of the fibers that it watches. */
export interface WatchListener {
  oneEnded(watch: Watch): void
}

/** One of several awaited fibers, and how it ended: kept here, since the fiber may be restarted meanwhile. */
export class Watch implements EndListener {
  before: EndListener | null = null
  after: EndListener | null = null
  how: EndCode | typeof NONE = NONE
  value: unknown = undefined
  /** The waiting fiber; null when it no longer waits for this one. */
  watcher: Fiber | null = null
  /** No other fiber received the error, since the watcher was listening (S24): it must not be lost. */
  isOurs = false

  constructor(
    private readonly listener: WatchListener,
    readonly target: Fiber<any, any>,
  ) {}

  get moment(): typeof DIED {
    return DIED
  }

  /** Begins to watch. False if the fiber is dead already: then its end is recorded at once. */
  begin(watcher: Fiber): boolean {
    const { target } = this
    if (isDead(target)) {
      this.record(target.how as EndCode, target.value)
      return false
    }
    this.watcher = watcher
    listen(target, this)
    return true
  }

  end(): void {
    if (this.watcher === null) return
    this.watcher = null
    unlisten(this.target, this)
  }

  told(how: EndCode, value: unknown): void {
    const { target, watcher } = this
    this.isOurs = target.isIsolated || (target.parent ?? heirOf(target)) === watcher
    this.watcher = null
    this.record(how, value)
    this.listener.oneEnded(this)
  }

  private record(how: EndCode, value: unknown): void {
    this.how = how
    this.value = value
  }
  get hasEnded(): boolean {
    return this.how !== NONE
  }
  /** What `await` would throw; undefined if the fiber has a value, or lives. */
  get failure(): unknown {
    return this.how === NONE ? undefined : failureOf(this.target, this.how, this.value)
  }
}

/** When a wait for several fibers is over: at the first end, at the first failure, or when all have ended. */
type Until = 'first' | 'failure' | 'all'

/**
 * Waits for several fibers; linear in their number. Returns the watch that ended the wait, null if all had to end. Internal:
 * the function that makes one enters it, once.
 */
class ManyOp extends BaseOp<Watch | null> implements WatchListener {
  readonly watches: Watch[]
  private fiber: Fiber | null = null
  private missing = 0

  constructor(
    fibers: readonly Fiber<any, any>[],
    private readonly until: Until,
  ) {
    super()
    this.watches = fibers.map((fiber) => new Watch(this, fiber))
  }

  override get kind(): string {
    return 'await'
  }
  override get waitsOn(): Fiber<any, any> | null {
    const missing = this.watches.filter((watch) => watch.watcher !== null)
    return missing.length === 1 ? (missing[0] as Watch).target : null
  }

  enter(fiber: Fiber): void {
    if (this.watches.some((watch) => watch.target === fiber)) {
      throw new DeadlockError(`${fiber.path} awaits itself, which would never end`)
    }
    this.fiber = fiber
    for (const watch of this.watches) if (watch.begin(fiber)) this.missing++
    const decided = this.watches.find((watch) => this.decides(watch))
    if (decided !== undefined || this.missing === 0) this.finish(decided ?? null)
  }

  /** The wait is cut short: errors that no other fiber received, since this one listened, must not be lost. */
  abort(fiber: Fiber): void {
    this.leave()
    for (const { how, value, isOurs } of this.watches) {
      if (how === ERROR && isOurs && markReceived(value, fiber)) keepError(fiber, value)
    }
  }

  private leave(): void {
    for (const watch of this.watches) watch.end()
  }

  oneEnded(watch: Watch): void {
    this.missing--
    if (this.decides(watch)) this.finish(watch)
    else if (this.missing === 0) this.finish(null)
  }

  private decides(watch: Watch): boolean {
    if (watch.how === NONE || this.until === 'all') return false
    return this.until === 'first' || watch.failure !== undefined
  }

  private finish(decided: Watch | null): void {
    const fiber = this.fiber as Fiber
    this.leave()
    for (const watch of decided === null ? this.watches : [decided]) {
      if (watch.how === ERROR) markReceived(watch.value, fiber)
    }
    settle(fiber, this, decided)
  }

  describe(): string {
    const names = this.watches.filter((watch) => watch.how === NONE).map((watch) => watch.target.name)
    return `${names.slice(0, 3).join(', ')}${names.length > 3 ? ` and ${names.length - 3} more` : ''} to end`
  }
}

/** Waits until all are dead; returns the outcomes in order. */
export function* joinAll(fibers: readonly Fiber<any, any>[]): Routine<Outcome<unknown>[]> {
  const op = new ManyOp(fibers, 'all')
  yield* op
  return op.watches.map((watch) => makeOutcome(watch.how, watch.value))
}

/** `Fiber.await`: all values, or the first error after the rest have been stopped and awaited (S31). */
export function* awaitAll(fibers: readonly Fiber<any, any>[]): Routine<unknown[]> {
  const op = new ManyOp(fibers, 'failure')
  const failed = yield* op
  if (failed === null) return op.watches.map((watch) => watch.value)
  const error = failed.failure
  for (const fiber of fibers) fiber.stop(undefined, { reason: `${failed.target.name} failed` })
  yield* settleRest(fibers, error)
  throw error // not reached: settleRest throws it
}

/** Waits for the other fibers, then throws `error`. Signals and errors that arrive meanwhile are not lost. */
function* settleRest(fibers: readonly Fiber<any, any>[], error: unknown): Routine<void> {
  const watcher = current.fiber as Fiber
  let isCut = true // also by a stop, or by return() when it is forced
  try {
    for (;;) {
      try {
        yield* SNOOZE // pending errors are delivered here, so that each does not cut the wait below
        for (const outcome of yield* joinAll(fibers)) {
          if (outcome.type === 'error') addSuppressed(watcher, error, outcome.error)
        }
        break
      } catch (struck) {
        if (isStop(struck)) break // the error outweighs it
        if (struck instanceof BadYield) {
          isCut = false // iterated by hand: waiting is impossible (S69)
          addSuppressed(watcher, struck, error)
          throw struck
        }
        addSuppressed(watcher, error, struck)
      }
    }
  } finally {
    // biome-ignore lint/correctness/noUnsafeFinally: a forced end must not lose the error
    if (isCut) throw error
  }
}

/** `Fiber.select`: the first to end; the others are not stopped (S37). */
export function* selectFirst(fibers: readonly Fiber<any, any>[]): Routine<[Fiber<any, any>, unknown]> {
  if (fibers.length === 0) throw new BadArgument('Fiber.select() needs at least one fiber to wait for')
  const first = (yield* new ManyOp(fibers, 'first')) as Watch
  const error = first.failure
  if (error === undefined) return [first.target, first.value]
  throw error
}

// Waiting for fibers to end. Everybody who waits is an observer in the list of the fiber it waits for.

import { BadArgument, BadYield, DeadlockError, FiberStopped, isStop, markReceived, show } from './errors.js'
import { Fiber } from './fiber.js'
import { BaseOp, enteredTwice, fail, type Routine, settle } from './op.js'
import { makeOutcome, type Outcome } from './outcome.js'
import { ABANDONED, DEAD, ERROR, NONE, STOPPED, VALUE, WAITING } from './phase.js'
import type { Region } from './region.js'
import { keepError, queueError } from './stop.js'
import { heirOf, keepBeside, type Observer, observe, unobserve } from './tree.js'

/** Waits for one fiber: the op is itself the node in the list of observers. */
abstract class ObserveOp<T> extends BaseOp<T> implements Observer {
  watcher: Fiber | null = null
  before: Observer | null = null
  after: Observer | null = null

  constructor(readonly target: Fiber<any, any>) {
    super()
  }

  enter(fiber: Fiber): void {
    const { target } = this
    if (target._state === DEAD) {
      this.answer(fiber, target.how, target.value)
      return
    }
    if (this.watcher !== null) throw enteredTwice(this, this.watcher)
    checkCycle(fiber, target)
    this.watcher = fiber
    observe(target, this)
  }

  abort(): void {
    this.watcher = null
    unobserve(this.target, this)
  }

  ended(how: number, value: unknown): void {
    const fiber = this.watcher as Fiber
    this.watcher = null
    this.answer(fiber, how, value)
  }

  /** The target is dead: tell the fiber that waits. */
  protected abstract answer(fiber: Fiber, how: number, value: unknown): void
}

export class AwaitOp<T> extends ObserveOp<T> {
  protected answer(fiber: Fiber, how: number, value: unknown): void {
    const error = how === VALUE ? undefined : failureOf(this.target, how, value)
    if (how === VALUE || error === undefined) settle(fiber, this, value as T)
    else {
      markReceived(error, fiber) // S25: it will not bubble there again
      fail(fiber, this, error)
    }
  }
  describe(): string {
    return `${this.target.name} to end`
  }
}

export class JoinOp<T> extends ObserveOp<Outcome<T>> {
  protected answer(fiber: Fiber, how: number, value: unknown): void {
    if (how === ERROR) markReceived(value, fiber)
    settle(fiber, this, makeOutcome<T>(how, value))
  }
  describe(): string {
    return `${this.target.name} to end`
  }
}

/** What `await` throws for an end like this; undefined if it gives a value (S31). */
export function failureOf(fiber: Fiber<any, any>, how: number, value: unknown): unknown {
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

/** S32: looks along single awaits, at most 100, and not through a fiber that waits inside a time-out. */
function checkCycle(fiber: Fiber, target: Fiber<any, any>): void {
  if (target === fiber) throw new DeadlockError(`${fiber.path} awaits itself, which would never end`)
  if (target._state !== WAITING || hasTimeLimit(fiber)) return
  const names = [fiber.name]
  for (let f: Fiber<any, any> = target; names.length < 100; ) {
    names.push(f.name)
    if (f === fiber) throw new DeadlockError(`these fibers await each other: ${names.join(' -> ')}`)
    if (f._state !== WAITING || !(f.op instanceof ObserveOp) || hasTimeLimit(f)) return
    f = f.op.target
  }
}

function hasTimeLimit(fiber: Fiber<any, any>): boolean {
  for (let region: Region | null = fiber.innermost; region !== null; region = region.outer) {
    if (region.isTimed) return true
  }
  return false
}

/** One of several fibers that an op waits for, and how it ended: kept here, since it may be restarted meanwhile. */
class Watch implements Observer {
  watcher: Fiber | null = null
  before: Observer | null = null
  after: Observer | null = null
  how = NONE
  value: unknown = undefined
  /** It ended while it was watched, and nobody else was told of its error because the watcher was. */
  isOurs = false

  constructor(
    private readonly op: ManyOp,
    readonly target: Fiber<any, any>,
  ) {}

  ended(how: number, value: unknown): void {
    const { target, watcher } = this
    this.isOurs = target.isIsolated || (target.parent ?? heirOf(target)) === watcher
    this.watcher = null
    this.record(how, value)
    this.op.oneEnded(this)
  }
  record(how: number, value: unknown): void {
    this.how = how
    this.value = value
  }
  get failure(): unknown {
    return this.how === NONE ? undefined : failureOf(this.target, this.how, this.value)
  }
}

/** When a wait for several fibers is over: at the first end, at the first failure, or when all have ended. */
type Until = 'first' | 'failure' | 'all'

/**
 * Waits for several fibers; linear in their number. Gives the watch that decided the matter, null if all had to end.
 * Never handed out: whoever makes one enters it, once.
 */
class ManyOp extends BaseOp<Watch | null> {
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

  enter(fiber: Fiber): void {
    if (this.watches.some((watch) => watch.target === fiber)) {
      throw new DeadlockError(`${fiber.path} awaits itself, which would never end`)
    }
    this.fiber = fiber
    for (const watch of this.watches) {
      if (watch.target._state === DEAD) watch.record(watch.target.how, watch.target.value)
      else this.missing++
    }
    const decided = this.watches.find((watch) => this.decides(watch))
    if (decided !== undefined || this.missing === 0) {
      this.finish(decided ?? null)
      return
    }
    for (const watch of this.watches) {
      if (watch.how !== NONE) continue
      watch.watcher = fiber
      observe(watch.target, watch)
    }
  }

  /** The wait is cut: errors that were told to nobody else, because we listened, must not be lost. */
  abort(fiber: Fiber): void {
    this.leave()
    for (const { how, value, isOurs } of this.watches) {
      if (how === ERROR && isOurs && markReceived(value, fiber)) keepError(fiber, value)
    }
  }

  private leave(): void {
    for (const watch of this.watches) {
      if (watch.watcher === null) continue
      watch.watcher = null
      unobserve(watch.target, watch)
    }
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

export function checkFibers(fibers: readonly unknown[], where: string): void {
  for (const fiber of fibers) {
    if (!(fiber instanceof Fiber))
      throw new BadArgument(`${where} needs fibers to wait for, got ${show(fiber)}`)
  }
}

/** Waits until all are dead; gives the outcomes in order. */
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
  throw error
}

/** Waits for the others although `error` is known already. Whatever strikes meanwhile, none of the errors is lost. */
function* settleRest(fibers: readonly Fiber<any, any>[], error: unknown): Routine<void> {
  const watcher = Fiber.current
  let isCut = true // by a stop, or by return() when it is forced
  try {
    for (;;) {
      try {
        for (const outcome of yield* joinAll(fibers)) {
          if (outcome.type === 'error') keepBeside(watcher, error, outcome.error)
        }
        break
      } catch (struck) {
        if (isStop(struck)) throw struck
        if (struck instanceof BadYield) {
          isCut = false // it is iterated by hand, so nothing can be waited for (S69)
          keepBeside(watcher, struck, error)
          throw struck
        }
        keepBeside(watcher, error, struck)
      }
    }
    isCut = false
  } finally {
    if (isCut) queueError(watcher, error, true)
  }
}

/** `Fiber.select`: the first to end, and nobody is stopped (S37). */
export function* selectFirst(fibers: readonly Fiber<any, any>[]): Routine<[Fiber<any, any>, unknown]> {
  if (fibers.length === 0) throw new BadArgument('Fiber.select() needs at least one fiber to wait for')
  const first = (yield* new ManyOp(fibers, 'first')) as Watch
  const error = first.failure
  if (error === undefined) return [first.target, first.value]
  throw error
}

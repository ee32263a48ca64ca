// Waiting for fibers to end. Everybody who waits is an observer in the list of the fiber it waits for.

import { BadArgument, DeadlockError, FiberStopped, markReceived, show } from './errors.js'
import { Fiber } from './fiber.js'
import { BaseOp, fail, type Routine, settle } from './op.js'
import { makeOutcome, type Outcome } from './outcome.js'
import { ABANDONED, DEAD, ERROR, STOPPED, VALUE, WAITING } from './phase.js'
import { keepBeside, type Observer, observe, unobserve } from './tree.js'

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
      this.answer(fiber)
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

  ended(): void {
    const fiber = this.watcher as Fiber
    this.watcher = null
    this.answer(fiber)
  }

  /** The target is dead: tell the fiber that waits. */
  protected abstract answer(fiber: Fiber): void
}

export class AwaitOp<T> extends ObserveOp<T> {
  protected answer(fiber: Fiber): void {
    const { target } = this
    if (target.how === VALUE) {
      settle(fiber, this, target.value as T)
      return
    }
    const error = failureOf(target)
    if (error === undefined) settle(fiber, this, target.value as T)
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
  protected answer(fiber: Fiber): void {
    const { target } = this
    if (target.how === ERROR) markReceived(target.value, fiber)
    settle(fiber, this, makeOutcome<T>(target.how, target.value))
  }
  describe(): string {
    return `${this.target.name} to end`
  }
}

/** What `await` throws for a dead fiber; undefined if it gives a value (S31). */
function failureOf(fiber: Fiber<any, any>): unknown {
  if (fiber.how === ERROR) return fiber.value
  if (fiber.how === ABANDONED) {
    return new FiberStopped(`${fiber.path} was abandoned: it would not end when it was forced to`)
  }
  if (fiber.how === STOPPED && fiber.value === undefined) {
    return new FiberStopped(
      `${fiber.path} was stopped without a value. join() waits for a fiber without throwing; stop(value) gives it one.`,
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
  for (let block = fiber.block; block !== null; block = block.outer) if (block.isTimed) return true
  return false
}

export function enteredTwice(op: { describe(): string }, by: Fiber): BadArgument {
  return new BadArgument(
    `${op.describe()} is already being waited for by ${by.path}. Make a new op for each wait.`,
  )
}

/** One of the fibers that an op waits for together. */
class Watch implements Observer {
  before: Observer | null = null
  after: Observer | null = null
  watcher: Fiber | null
  constructor(
    readonly op: ManyOp<unknown>,
    readonly target: Fiber<any, any>,
  ) {
    this.watcher = op.watcher
  }
  ended(fiber: Fiber): void {
    this.watcher = null
    this.op.oneEnded(fiber)
  }
}

/** Waits for several fibers: until all are dead, or until `isEnough`. Linear in their number. */
abstract class ManyOp<T> extends BaseOp<T> {
  watcher: Fiber | null = null
  protected missing = 0
  private watches: Watch[] = []

  constructor(readonly fibers: readonly Fiber<any, any>[]) {
    super()
    for (const fiber of fibers) {
      if (!(fiber instanceof Fiber)) throw new BadArgument(`expected fibers to wait for, got ${show(fiber)}`)
    }
  }

  /** The first dead fiber that decides the matter, undefined to wait for all. */
  protected abstract isEnough(fiber: Fiber<any, any>): boolean
  protected abstract answer(watcher: Fiber, last: Fiber<any, any> | null): void

  enter(fiber: Fiber): void {
    if (this.watcher !== null) throw enteredTwice(this, this.watcher)
    if (this.fibers.includes(fiber))
      throw new DeadlockError(`${fiber.path} awaits itself, which would never end`)
    this.watcher = fiber
    this.missing = 0
    for (const target of this.fibers) if (target._state !== DEAD) this.missing++
    const decided = this.fibers.find((target) => target._state === DEAD && this.isEnough(target))
    if (decided !== undefined || this.missing === 0) {
      this.finish(decided ?? null)
      return
    }
    for (const target of this.fibers) {
      if (target._state === DEAD) continue
      const watch = new Watch(this, target)
      this.watches.push(watch)
      observe(target, watch)
    }
  }

  oneEnded(fiber: Fiber<any, any>): void {
    if (this.watcher === null) return
    this.missing--
    if (this.isEnough(fiber)) this.finish(fiber)
    else if (this.missing === 0) this.finish(null)
  }

  abort(): void {
    this.watcher = null
    for (const watch of this.watches) if (watch.watcher !== null) unobserve(watch.target, watch)
    this.watches = []
  }

  private finish(fiber: Fiber<any, any> | null): void {
    const watcher = this.watcher as Fiber
    this.abort()
    this.answer(watcher, fiber)
  }

  describe(): string {
    const names = this.fibers.filter((f) => f._state !== DEAD).map((f) => f.name)
    return `${names.slice(0, 3).join(', ')}${names.length > 3 ? ` and ${names.length - 3} more` : ''} to end`
  }
}

class SettledOp extends ManyOp<void> {
  protected isEnough(): boolean {
    return false
  }
  protected answer(watcher: Fiber): void {
    settle(watcher, this, undefined)
  }
}

class FailedOp extends ManyOp<Fiber<any, any> | null> {
  protected isEnough(fiber: Fiber<any, any>): boolean {
    return fiber.how !== VALUE && failureOf(fiber) !== undefined
  }
  protected answer(watcher: Fiber, failed: Fiber<any, any> | null): void {
    settle(watcher, this, failed)
  }
}

class FirstOp extends ManyOp<Fiber<any, any>> {
  protected isEnough(): boolean {
    return true
  }
  protected answer(watcher: Fiber, first: Fiber<any, any> | null): void {
    settle(watcher, this, first as Fiber<any, any>)
  }
}

/** Waits until all are dead; gives the outcomes in order. */
export function* joinAll(fibers: readonly Fiber<any, any>[]): Routine<Outcome<unknown>[]> {
  yield* new SettledOp(fibers)
  for (const fiber of fibers) if (fiber.how === ERROR) markReceived(fiber.value, Fiber.current)
  return fibers.map((fiber) => makeOutcome(fiber.how, fiber.value))
}

/** `Fiber.await`: all values, or the first error after the rest have been stopped and awaited (S31). */
export function* awaitAll(fibers: readonly Fiber<any, any>[]): Routine<unknown[]> {
  const failed = yield* new FailedOp(fibers)
  if (failed === null) return fibers.map((fiber) => fiber.value)
  const error = failureOf(failed)
  markReceived(error, Fiber.current)
  for (const fiber of fibers) fiber.stop(undefined, { reason: `${failed.name} failed` })
  yield* joinAll(fibers)
  for (const fiber of fibers) if (fiber.how === ERROR) keepBeside(fiber, error, fiber.value)
  throw error
}

/** `Fiber.select`: the first to end, and nobody is stopped (S37). */
export function* selectFirst(fibers: readonly Fiber<any, any>[]): Routine<[Fiber<any, any>, unknown]> {
  if (fibers.length === 0) throw new BadArgument('Fiber.select() needs at least one fiber to wait for')
  const first = yield* new FirstOp(fibers)
  const error = failureOf(first)
  if (error === undefined) return [first, first.value]
  markReceived(error, Fiber.current)
  throw error
}

// scope: runs a body and waits for the children spun in it; the first error stops the rest, then is thrown (S23, S28).
// attempt: the same, but returns an outcome. Both are blocks (block.ts); children are kept by tree.ts.

import { Block, done } from './block.js'
import type { Result, Returned } from './body.js'
import type { CleanupList } from './cleanup.js'
import { callout } from './current.js'
import { addSuppressed, carries, isStop, type Stop } from './errors.js'
import type { Fiber } from './fiber.js'
import { BaseOp, type Op, type Switchpoint, settle } from './op.js'
import { FORCED, LIVE, type Outcome, UNWINDING } from './state.js'
import { graceEnd, isForced, requestEnd } from './switchpoint.js'
import { moveTo, ownerFrom, stopChildren } from './tree.js'

/** Waits at the end of a scope until its last child is gone. A new object for each wait, since scopes nest. */
class ChildrenGone extends BaseOp<void> {
  constructor(private readonly scope: Scope<any>) {
    super()
  }
  enter(fiber: Fiber): void {
    if (this.scope.newest === null) settle(fiber, this, undefined)
  }
  abort(): void {}
  describe(): string {
    return 'the children of its scope'
  }
  override get kind(): string {
    return 'children'
  }
}

// A scope goes through three stages.
/** The body runs. */
const BODY = 70
/** The body is over; the children go on. */
const GATHERING = 71
/** The children have been asked to end. */
const ENDING = 72

export class Scope<T> extends Block<T> {
  /** @internal The fiber that runs or ran it. Kept after the end, for the `parent` of dead children. */
  host!: Fiber
  /** @internal Cleanups to run when the children are gone (S60). */
  cleanups: CleanupList | null = null
  private isClosed = false
  private stage: typeof BODY | typeof GATHERING | typeof ENDING = BODY
  private gone: ChildrenGone | null = null
  private value: unknown = undefined
  /** Errors in order: the first is thrown, the others are suppressed (S23). */
  private failures: unknown[] = []
  /** The stop of an outer region, thrown through this scope. */
  private passingStop: Stop | null = null
  /** The deadline of the children, once they were asked to end. */
  private childrenEndAt = Infinity

  constructor(body: (...args: any[]) => unknown, where = 'scope()') {
    super(body, where)
  }

  describe(): string {
    return 'scope()'
  }
  override get isOwner(): boolean {
    return true
  }
  /** @internal Whether children may still be added, or restarted. */
  get isOpen(): boolean {
    return this.fiber !== null && this.stage !== ENDING && !this.isClosed
  }

  /** @internal Whether there was no error so far, and no stop. */
  get isSound(): boolean {
    return this.stage !== ENDING && this.failures.length === 0
  }

  protected override begin(): void {
    this.host = this.fiber as Fiber
    this.stage = BODY
    this.gone = null
    this.failures = []
    this.cleanups = null
    this.passingStop = null
  }

  /** @internal The body is about to stop the children: no others are let in. For a scope that is entered once. */
  close(): void {
    this.isClosed = true
  }

  /** A child failed: the body is stopped, then the other children, then the error is thrown. */
  childFailed(error: unknown): void {
    this.failures.push(error)
    if (this.stage === GATHERING) this.endChildren()
    else if (this.stage === BODY && this._phase === LIVE) requestEnd(this, error, undefined)
  }

  /** @internal Whether errors of its children stay with them, as with `link: false`. */
  get isolates(): boolean {
    return false
  }
  /** @internal A child is dead. If it returns true, an error is handled. */
  childEnded(_child: Fiber): boolean {
    return false
  }
  /** @internal A child was moved to another owner. */
  childLeft(_child: Fiber): void {}

  /** The last child is gone. */
  emptied(): void {
    const fiber = this.fiber
    if (fiber !== null && this.gone !== null) settle(fiber, this.gone, undefined)
  }

  /** @internal */
  childDeadline(now: number): number {
    const fiber = this.fiber as Fiber
    if (fiber._phase !== FORCED && isForced(fiber)) return now
    return Math.min(now + fiber.grace, graceEnd(fiber))
  }

  protected override returned(value: unknown): IteratorResult<Switchpoint, T> {
    if (this.stage === BODY) {
      this.stage = GATHERING
      this.value = value
      if (this.failures.length > 0 || this._phase >= UNWINDING) this.endChildren()
    }
    return this.waitForChildren()
  }

  /** The body threw, or a signal was thrown in the wait at the end. May be called more than once: every error is kept. */
  protected override thrown(error: unknown): IteratorResult<Switchpoint, T> {
    if (!this.isOwn(error)) {
      if (isStop(error)) this.passingStop = error
      else this.failures.push(error)
    }
    this.endChildren()
    return this.waitForChildren()
  }

  /** Asks the children to end; a second time only if their deadline is nearer now. */
  private endChildren(): void {
    const deadline = this.childDeadline((this.fiber as Fiber).runtime.now())
    if (this.stage === ENDING && deadline >= this.childrenEndAt) return
    this.stage = ENDING
    this.childrenEndAt = deadline
    stopChildren(this)
  }

  private waitForChildren(): IteratorResult<Switchpoint, T> {
    const fiber = this.fiber as Fiber
    if (this.newest !== null) {
      if (!isForced(fiber)) return this.run((this.gone = new ChildrenGone(this)))
      this.handOver(fiber)
    }
    if (this.cleanups !== null && this.isSound) this.cleanups.passOn(this.value, ownerFrom(this.outer, fiber))
    if (this.cleanups !== null) {
      const { cleanups } = this
      this.cleanups = null
      return this.run(cleanups.block((error) => this.failures.push(error)))
    }
    return this.conclude(fiber, this.failures, this.passingStop)
  }

  /** The scope is over. An error is thrown rather than a stop that passes through (S22). */
  protected conclude(
    fiber: Fiber,
    failures: unknown[],
    passingStop: Stop | null,
  ): IteratorResult<Switchpoint, T> {
    const { value } = this
    this.leave()
    if (failures.length > 0) throw firstWithOthers(fiber, failures)
    if (passingStop !== null) throw passingStop
    return done(value as T)
  }

  /** The scope can no longer wait: its children become children of the fiber, which does not die before them. */
  private handOver(fiber: Fiber): void {
    this.endChildren()
    while (this.newest !== null) moveTo(this.newest, fiber)
  }

  override abandon(errors: unknown[]): void {
    const fiber = this.fiber as Fiber
    this.handOver(fiber)
    errors.push(...this.failures)
    this.cleanups?.moveTo(fiber)
    super.abandon(errors)
  }
}

function firstWithOthers(fiber: Fiber, failures: unknown[]): unknown {
  const [first] = failures
  for (let i = 1; i < failures.length; i++) addSuppressed(fiber, first, failures[i])
  return first
}

/** A scope that returns how its body and children ended, and throws only signals from outside. */
class Attempt<T> extends Scope<Outcome<T>> {
  /** Errors thrown into the fiber from outside while the body ran. */
  private foreign: unknown[] = []

  override describe(): string {
    return 'attempt()'
  }

  protected override begin(): void {
    super.begin()
    this.foreign = []
  }

  override passedBy(signal: unknown, isStop: boolean): void {
    super.passedBy(signal, isStop)
    if (!isStop) this.foreign.push(signal)
  }

  protected override conclude(
    fiber: Fiber,
    failures: unknown[],
    passingStop: Stop | null,
  ): IteratorResult<Switchpoint, any> {
    const isCut = (this._phase >= UNWINDING && this.stopSignal === null) || isForced(fiber)
    const foreign = failures.findIndex((error) => this.foreign.some((other) => carries(error, other)))
    if (foreign > 0) failures.unshift(...failures.splice(foreign, 1)) // this one is thrown
    if (isCut || foreign >= 0 || failures.length === 0) {
      const result = super.conclude(fiber, failures, passingStop)
      return done({ type: 'value', value: result.value })
    }
    this.leave()
    return done({ type: 'error', error: firstWithOthers(fiber, failures) })
  }
}

/**
 * Runs a body, then waits for every fiber spun inside it. The first error stops the others and is thrown here (S28).
 *
 * ```ts
 * yield* scope(function* () {
 *   spin(function* () {
 *     yield* sleep(20)
 *     console.log('one') // one
 *   })
 *   spin(function* () {
 *     yield* sleep(10)
 *     console.log('two') // two
 *   })
 * })
 * console.log('both are done') // both are done
 * ```
 */
export function scope<R>(body: () => Returned<R>): Op<Result<R>> {
  return new Scope<Result<R>>(body)
}

/**
 * Runs a body as `scope` does, and returns its outcome instead of throwing its errors. Only signals from outside are thrown:
 * a stop, the end of a time limit around it, `raise`, the error of a child that was not spun in the body.
 *
 * ```ts
 * import { main } from 'polyphony'
 * import { attempt } from 'polyphony/op'
 *
 * main(function* () {
 *   const outcome = yield* attempt(() => {
 *     throw new Error('out of order')
 *   })
 *   console.log(outcome.type)
 * })
 * ```
 *
 * ```text
 * error
 * ```
 */
export function attempt<R>(body: () => Returned<R>): Op<Outcome<Result<R>>> {
  return new Attempt<Result<R>>(body, 'attempt()')
}

/** What is told of the children of a nursery. Both functions get the arguments of the child's body too, and must not wait. */
export interface NurseryEvents<A extends unknown[] = any[]> {
  /** A child has ended; `child.outcome` says how. If it returns true, an error is handled; else it is reported (S29). */
  ended(child: Fiber<any, any>, ...args: A): boolean | void
  /** A child was moved to another parent: its end will not be told here. */
  left?(child: Fiber<any, any>, ...args: A): void
}

class Nursery<T> extends Scope<T> {
  constructor(
    body: () => unknown,
    private readonly events: NurseryEvents,
  ) {
    super(body, 'nursery()')
  }

  override describe(): string {
    return 'nursery()'
  }
  override get isolates(): boolean {
    return true
  }
  override childEnded(child: Fiber): boolean {
    const { events } = this
    return callout(child.runtime, 'ended() of nursery()', () => events.ended(child, ...child.args)) === true
  }
  override childLeft(child: Fiber): void {
    const { events } = this
    callout(child.runtime, 'left() of nursery()', () => events.left?.(child, ...child.args))
  }
}

/**
 * Runs a body as `scope` does, for children that have nothing to do with each other, such as the connections of a server:
 * the error of one does not stop the others. Each end is told to a function, without a listener for each child.
 *
 * ```ts
 * function* visit(guest: string) {
 *   if (guest === 'Bob') throw new Error('no table for Bob')
 *   return 'fed'
 * }
 * function ended(child: Fiber, guest: string) {
 *   console.log(guest, child.outcome?.type) // Ann value, Bob error
 *   return true // the error is handled
 * }
 * yield* nursery(() => void ['Ann', 'Bob'].map((guest) => spin(visit, guest)), { ended })
 * ```
 */
export function nursery<R>(body: () => Returned<R>, events: NurseryEvents): Op<Result<R>> {
  return new Nursery<Result<R>>(body, events)
}

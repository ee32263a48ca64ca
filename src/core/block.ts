// A block: a stretch of a fiber's code that the library drives itself (time limits, scopes, shields, bodies that hold a lock).
//
//   yield* moveOnAfter(1000, body)
//          = iterator over the body's generator, region (S65), and what the block needs besides: one object
//
// It drives the body's generator by hand instead of by yield*, so it can answer with return() when it is forced
// while its fiber lives on, and so it learns when the generator is dropped. Results are handed through unchanged: step knows
// a genuine wait by identity.

import { refuseYield } from './badyield.js'
import { checkBody, isGenerator, nextOf, returnOf, runnerOf, throwOf } from './body.js'
import { current } from './current.js'
import { debugging, describe, opEntered, rememberOp } from './debug.js'
import { addSuppressed, BadState, carries, isOverflow, isStop, notInFiber, type Stop } from './errors.js'
import type { Fiber } from './fiber.js'
import { DONE, enteredTwice, misused, type Op, SUSPENDED, type Switchpoint } from './op.js'
import {
  type Barrier,
  ERROR,
  FORCED,
  FORCED_YIELDS,
  LIVE,
  NO_BARRIER,
  PASS,
  type PhaseCode,
  REFUSED,
  RUNNING,
  SIGNAL,
  TURN,
  UNWINDING,
  VALUE,
} from './state.js'
import { SNOOZE } from './suspend.js'
import {
  abandonInside,
  gate,
  isForced,
  type Ladder,
  ladderOf,
  type Region,
  restoreBudget,
  unchain,
} from './switchpoint.js'

const NEXT = 60
const THROW = 61
const RETURN = 62
/** How an iterator is resumed. */
type Resumption = typeof NEXT | typeof THROW | typeof RETURN

/**
 * What the methods that begin something give instead of a result: `inner` is to be driven. They do not drive it themselves, so
 * that they are off the stack while it runs: blocks may nest deeply.
 */
const GO_ON: IteratorYieldResult<Switchpoint> = { done: false, value: SUSPENDED.value }

/** A region inside a fiber. Subclasses define the argument of its body, its signals, and its result. */
export abstract class Block<T> implements Op<T>, Iterator<Switchpoint, T, unknown> {
  /** @internal */ _phase: PhaseCode = LIVE
  /** @internal */ stopSignal: Stop | null = null
  /** @internal */ ladder: Ladder | null = null
  /** @internal */ newest: Fiber<any, any> | null = null
  /** @internal The fiber that runs it; null while not entered. */ fiber: Fiber | null = null
  /** @internal The region around it, while it is entered. */ outer!: Region
  /** What runs: the body, or an op in its place. */
  private inner: Iterator<unknown> | null = null
  /** Whether `inner` is a generator, to be driven through the shared functions, or else an op. */
  private isNative = false
  /** The fiber while it enters, or while it lets other fibers run before it goes on (S50). */
  protected passing: Fiber | null = null

  constructor(
    protected readonly body: (...args: any[]) => unknown,
    where: string,
  ) {
    checkBody(body, where)
    if (debugging) rememberOp(this, current.fiber)
  }

  // ---- implemented by subclasses

  /** The block begins. Returns what the body is called with. */
  protected begin(): unknown {
    return undefined
  }
  /** The body ended with a value. `isCut`: because it was made to return, as was the code around the block if that is forced too. */
  protected returned(value: unknown, _isCut: boolean): IteratorResult<Switchpoint, T> {
    this.leave()
    return done(value as T)
  }
  /** The body ended with an error. */
  protected thrown(error: unknown): IteratorResult<Switchpoint, T> {
    this.leaveWith(error)
    throw error
  }
  /** @internal */
  abstract describe(): string
  /** @internal */
  get barrier(): Barrier {
    return NO_BARRIER
  }
  /** @internal Whether it may end what runs in it before that ends by itself: a time limit, a race. */
  get endsEarly(): boolean {
    return false
  }
  /** @internal */
  get isOwner(): boolean {
    return false
  }
  /** @internal */
  get idle(): boolean {
    return false
  }

  // ---- as an iterator

  [Symbol.iterator](): Iterator<Switchpoint, T, unknown> {
    const by = this.fiber ?? this.passing
    if (by !== null) throw enteredTwice(this, by)
    return this
  }

  next(value?: unknown): IteratorResult<Switchpoint, T> {
    const fiber = this.fiber
    if (fiber === null) {
      const result = this.passing === null ? this.enter() : this.comeBack()
      return result === GO_ON ? this.drive(NEXT, undefined) : result
    }
    if (this.isMisused(fiber)) return this.endMisuse(fiber)
    // Forced, and not resumed by a value that came before (S34).
    const isEnding = this._phase === FORCED && fiber.how === SIGNAL
    return isEnding ? this.drive(RETURN, undefined) : this.drive(NEXT, value)
  }

  throw(error: unknown): IteratorResult<Switchpoint, T> {
    const fiber = this.fiber
    if (fiber === null) return this.failEntry(error)
    return this.isMisused(fiber) ? this.endMisuse(fiber) : this.drive(THROW, error)
  }

  return(value?: unknown): IteratorResult<Switchpoint, T> {
    const fiber = this.fiber
    if (fiber === null) return this.endEntry(value)
    return this.isMisused(fiber) ? this.endMisuse(fiber) : this.drive(RETURN, value)
  }

  /** Whether the program iterates it by hand: from another fiber (S61), or while its fiber waits (S69). */
  private isMisused(fiber: Fiber): boolean {
    return current.fiber !== fiber || fiber._state !== RUNNING
  }

  private endMisuse(fiber: Fiber): IteratorResult<Switchpoint, T> {
    if (current.fiber !== fiber) {
      throw new BadState(`${describe(this)} of ${fiber.path} was iterated from another fiber (S61)`)
    }
    const error = misused(fiber, this) // S69
    this._phase = FORCED // code that iterates it by hand cannot wait, so nothing inside may
    return this.drive(THROW, error)
  }

  // ---- entering

  /** The first next(): a switchpoint of its own, then the body begins, before any other fiber runs (S10). */
  protected enter(): IteratorResult<Switchpoint, T> {
    const fiber = current.fiber
    if (fiber === null) throw notInFiber(describe(this))
    if (debugging) opEntered(this)
    const gated = --fiber.budget < 0 ? gate(fiber, this) : PASS
    if (gated === REFUSED) return SUSPENDED
    return gated === TURN ? this.openThenGiveWay(fiber) : this.open(fiber)
  }

  /** Begins without a switchpoint, even if a signal is pending. */
  protected enterAnyway(): IteratorResult<Switchpoint, T> {
    const fiber = current.fiber
    if (fiber === null) throw notInFiber(describe(this))
    if (debugging) opEntered(this)
    return this.open(fiber)
  }

  /** Another next() before the body has begun, or after it has ended: the fiber has had to wait there. */
  protected comeBack(): IteratorResult<Switchpoint, T> {
    this.passing = null
    return SNOOZE.next() as IteratorResult<Switchpoint, any>
  }

  /** An error for the wait in front of the body, or behind it. */
  protected failEntry(error: unknown): IteratorResult<Switchpoint, T> {
    this.passing = null
    throw error
  }

  /** A forced end of that wait. */
  protected endEntry(value: unknown): IteratorResult<Switchpoint, any> {
    this.passing = null
    return SNOOZE.return(value)
  }

  /** The budget is spent (S50). A body that waits lets other fibers run by that; one that does not gives way at its end. */
  private openThenGiveWay(fiber: Fiber): IteratorResult<Switchpoint, T> {
    let isError = false
    let value: unknown
    try {
      let result = this.open(fiber)
      if (result === GO_ON) result = this.drive(NEXT, undefined)
      if (!result.done) return result
      value = result.value
    } catch (error) {
      if (isOverflow(error)) throw error // at once: it takes as much stack again to come back here
      isError = true
      value = error
    }
    this.passing = fiber
    fiber.op = SNOOZE
    fiber.how = isError ? ERROR : VALUE
    fiber.value = value
    fiber.runtime.push(fiber)
    return SUSPENDED
  }

  /** Into the chain of regions, and the body begins. */
  protected open(fiber: Fiber): IteratorResult<Switchpoint, T> {
    this.attach(fiber)
    return this.start()
  }

  protected attach(fiber: Fiber): void {
    if (this._phase !== LIVE) this.renew() // it has ended once, and is entered again
    this.fiber = fiber
    this.outer = fiber.innermost
    fiber.innermost = this
  }

  protected renew(): void {
    this._phase = LIVE
    this.stopSignal = null
    this.ladder = null
  }

  protected start(): IteratorResult<Switchpoint, T> {
    let returned: unknown
    this.inner = null
    try {
      const { body } = this
      returned = body(this.begin())
      if (typeof returned === 'object' && returned !== null) {
        this.isNative = isGenerator(returned)
        this.inner = this.isNative ? (returned as Iterator<unknown>) : runnerOf(returned, body)
      }
    } catch (error) {
      return isOverflow(error) ? this.overflown(error) : this.thrown(error)
    }
    return this.inner === null ? this.returned(returned, false) : GO_ON // a plain value needs no running
  }

  // ---- running

  /** Replaces what runs by an op, or by a generator of the library. */
  protected run(inner: Iterator<unknown>, isNative = false): IteratorResult<Switchpoint, any> {
    this.inner = inner
    this.isNative = isNative
    return GO_ON
  }

  private drive(how: Resumption, value: unknown): IteratorResult<Switchpoint, any> {
    for (;;) {
      let result: IteratorResult<unknown>
      let end: IteratorResult<Switchpoint, T> | undefined
      try {
        result =
          how === NEXT && this.isNative
            ? nextOf.call(this.inner as Iterator<unknown>, value)
            : this.advance(how, value)
        if (result === SUSPENDED && this._phase !== FORCED) return SUSPENDED
        if (!result.done) result = this.answerYield(result)
        if (!result.done) return result as IteratorResult<Switchpoint>
      } catch (error) {
        end = isOverflow(error) ? this.overflown(error) : this.thrown(error)
        if (end !== GO_ON) return end
        how = NEXT
        continue
      }
      end = this.returned(result.value, how === RETURN || this._phase === FORCED)
      if (end !== GO_ON) return end
      how = NEXT
    }
  }

  /** The body has yielded something other than a wait, or is forced: answers until it waits or ends. */
  private answerYield(result: IteratorResult<unknown>): IteratorResult<unknown> {
    const fiber = this.fiber as Fiber
    while (!result.done) {
      const isWait = result === SUSPENDED || isForced(fiber)
      if (isWait && (this._phase !== FORCED || fiber._phase === FORCED)) return result
      if (isWait) {
        fiber.rareState().refusals = 0
        if (++ladderOf(this, fiber).forcedYields > FORCED_YIELDS) return this.giveUp(fiber)
        result = this.advance(RETURN, undefined)
      } else {
        // S61: a raw yield must not cross the block.
        result = refuseYield(fiber, result, (error) => this.advance(THROW, error))
      }
    }
    return result
  }

  /**
   * The stack overflowed further in. Generators there may wait to be ended, and ending them takes stack: without enough of it this
   * block stays in the chain for the region around it. Else what is further in is ended from here, the innermost first.
   */
  private overflown(error: unknown): IteratorResult<Switchpoint, T> {
    if (!hasStack()) throw error
    const fiber = this.fiber as Fiber
    for (const lost of abandonInside(this, fiber, error)) addSuppressed(fiber, error, lost)
    let result: IteratorResult<unknown>
    try {
      result = this.advance(THROW, error)
      if (!result.done) result = this.answerYield(result)
    } catch (later) {
      return this.thrown(later)
    }
    return result.done ? this.returned(result.value, false) : (result as IteratorResult<Switchpoint>)
  }

  private advance(how: Resumption, value: unknown): IteratorResult<unknown> {
    if (how === THROW && this.inner === null) throw value // there was too little stack to begin, and then to leave
    const inner = this.inner as Required<Iterator<unknown>>
    if (this.isNative) {
      return how === THROW ? throwOf.call(inner, value) : returnOf.call(inner, value)
    }
    if (how === NEXT) return inner.next()
    if (how === THROW) return inner.throw(value)
    return inner.return === undefined ? { done: true, value } : inner.return(value)
  }

  /** The generator of a forced block does not end: it is dropped, and the block ends (S19). */
  private giveUp(fiber: Fiber): IteratorResult<unknown> {
    fiber.runtime.counts.abandoned++
    fiber.runtime.report({
      kind: 'abandoned',
      message: `the body of ${describe(this)} in ${fiber.path} was abandoned: it went on yielding after it had been forced to end`,
    })
    const [first, ...others] = abandonInside(this, fiber)
    if (first === undefined) return { done: true, value: undefined }
    for (const other of others) addSuppressed(fiber, first, other)
    throw first
  }

  // ---- leaving

  /** Out of the chain of regions. */
  protected leave(): void {
    const fiber = this.fiber as Fiber
    const isInOrder = fiber.innermost === this
    if (isInOrder) fiber.innermost = this.outer
    else unchain(this, fiber)
    if (this.ladder !== null) this.ladder.disarm()
    this.fiber = null
    this.inner = null
    if (this._phase !== LIVE) restoreBudget(fiber)
    this.left(true)
    if (!isInOrder) throw this.wrongOrder(fiber)
  }

  private wrongOrder(fiber: Fiber): BadState {
    return new BadState(
      `blocks of ${fiber.path} were left in the wrong order: ${describe(this)} was not the innermost (S61)`,
    )
  }

  /** Leaves because of an error. An error of leaving is added to its `suppressed`; a stop it replaces, as in `ensure`. */
  protected leaveWith(error: unknown): void {
    const fiber = this.fiber as Fiber
    try {
      this.leave()
    } catch (later) {
      if (isStop(error)) throw later
      addSuppressed(fiber, error, later)
    }
  }

  /** The block was left. `isSound` is false if its generator was dropped, and may still use what the block holds. */
  protected left(_isSound: boolean): void {}

  /** @internal Throws a stack overflow into the body, if that is not over. Nothing in it may wait any more. */
  endBody(overflow: unknown, errors: unknown[]): void {
    const { _phase: phase } = this
    this._phase = FORCED
    ;(this.fiber as Fiber).budget = 0 // so that ops look whether they may wait
    try {
      let result = this.advance(THROW, overflow)
      for (let n = 0; !result.done && n < FORCED_YIELDS; n++) result = this.advance(RETURN, undefined)
    } catch (error) {
      if (error !== overflow) errors.push(error)
    }
    this._phase = phase // if the stack overflows again it stays in the chain for now, and must not keep others from waiting
  }

  /** @internal */
  abandon(_errors: unknown[]): void {
    const { runtime } = this.fiber as Fiber
    if (this.ladder !== null) this.ladder.disarm()
    try {
      this.left(false)
    } catch (error) {
      if (isOverflow(error)) throw error // a region further out, with more stack, does it again
      runtime.uncaught(error, `leaving ${describe(this)} failed`) // S70: the code around it is gone
    }
    this.fiber = null
    this.inner = null
  }

  /** @internal The signal of an outer region passes through: this block must not cut its cleanup short now (S16). */
  passedBy(_signal: unknown, isStop: boolean): void {
    if (!isStop) return
    this._phase = UNWINDING
    this.stopSignal = null
    if (this.ladder !== null) this.ladder.disarm()
  }

  /** Whether its own signal was thrown. */
  protected get wasStruck(): boolean {
    return this._phase >= UNWINDING && this.stopSignal !== null
  }
  /** Whether this error is that signal on its way out (S66). */
  protected isOwn(error: unknown): boolean {
    return this.wasStruck && carries(error, this.stopSignal)
  }
}

export function done<T>(value: T): IteratorResult<never, T> {
  DONE.value = value
  return DONE
}

/** Calls below a block while it is left, with room to spare: timers, a line of waiters, the run queue. */
const LEAVING = 30

/** Whether enough stack is left to leave a block. Half-way out of stack, what it holds would be given back half. */
function hasStack(): boolean {
  try {
    return descend(LEAVING) === 0
  } catch {
    return false
  }
}

function descend(levels: number): number {
  return levels === 0 ? 0 : descend(levels - 1)
}

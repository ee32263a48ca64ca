// A block: a stretch of a fiber's code with a ladder of its own (time limits, scopes, shields).
//
//   yield* moveOnAfter(1000, body)
//          = iterator over the body's generator, timer node, and the handle given to the body: one object
//
// It drives the body's generator by hand instead of by yield*, so it can answer with return() when it is forced
// while its fiber lives on. Results are handed through unchanged: step knows a genuine wait by identity.

import { refuseYield } from './badyield.js'
import { checkBody, isGenerator, isPlainGenerator, nextOf, returnOf, runnerOf, throwOf } from './body.js'
import { debugging, opEntered, rememberOp } from './debug.js'
import { BadState, carries, Stop } from './errors.js'
import type { Fiber } from './fiber.js'
import { gate, isForced, notInFiber, OPEN, PASS, REFUSED, TURN } from './gate.js'
import { DONE, enteredTwice, misused, type Op, SUSPENDED, type Switchpoint } from './op.js'
import { FORCED, FORCED_YIELDS, LIVE, REQUESTED, RUNNING, SIGNAL, UNWINDING } from './phase.js'
import { Region } from './region.js'
import { baton } from './runqueue.js'
import { interrupt, reportOverdue } from './stop.js'
import { SNOOZE } from './suspend.js'

const NEXT = 0
const THROW = 1
const RETURN = 2

/** A region inside a fiber. Subclasses say what strikes, and what their end means. */
export abstract class Block<T> extends Region implements Op<T>, Iterator<Switchpoint, T, unknown> {
  /** @internal The fiber that runs it; null while not entered. */ fiber: Fiber | null = null
  /** @internal */ outer: Region | null = null
  /** @internal How far it lets signals in. */ wall = OPEN
  /** @internal */ readonly grace: number | undefined
  /** @internal As a timer: first the time limit, then the deadline of the cleanup. */ time = 0
  /** @internal */ seq = 0
  /** @internal */ index = -1
  protected inner: Iterator<unknown> | null = null
  /** Whether `inner` is a generator, to be driven through the shared functions, or else an op. */
  private native = false
  /** The fiber that lets others run before it begins (S50). */
  private pausedBy: Fiber | null = null
  private swallows = 0
  private forcedYields = 0

  constructor(
    protected readonly body: (...args: any[]) => unknown,
    grace: number | undefined,
    where: string,
  ) {
    super()
    checkBody(body, where)
    this.grace = grace
    if (debugging) rememberOp(this, baton.fiber)
  }

  [Symbol.iterator](): this {
    const by = this.fiber ?? this.pausedBy
    if (by !== null) throw enteredTwice(this, by)
    return this
  }

  next(value?: unknown): IteratorResult<Switchpoint, T> {
    const fiber = this.fiber
    if (fiber === null) return this.pausedBy === null ? this.enter() : this.open(this.unpause())
    // Forced, and not resumed by a value that came before (S34).
    if (this._phase === FORCED && fiber.how === SIGNAL) return this.resume(RETURN, undefined)
    return this.resume(NEXT, value)
  }

  throw(error: unknown): IteratorResult<Switchpoint, T> {
    if (this.fiber !== null) return this.resume(THROW, error)
    this.pausedBy = null
    throw error
  }

  return(value?: unknown): IteratorResult<Switchpoint, any> {
    if (this.fiber !== null) return this.resume(RETURN, value)
    this.pausedBy = null
    return SNOOZE.return(value)
  }

  // ---- what subclasses give

  /** What the body is called with. */
  protected argument(): unknown {
    return undefined
  }
  /** The block begins. */
  protected begin(): void {}
  /** The body ended with a value. */
  protected returned(value: unknown): IteratorResult<Switchpoint, T> {
    this.leave()
    return done(value as T)
  }
  /** The body ended with an error. */
  protected thrown(error: unknown): IteratorResult<Switchpoint, T> {
    this.leave()
    throw error
  }
  /** @internal */
  abstract describe(): string
  /** @internal */
  get isTimed(): boolean {
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

  // ---- running

  /** The first next(): a switchpoint of its own, then the body begins. */
  private enter(): IteratorResult<Switchpoint, T> {
    const fiber = baton.fiber
    if (fiber === null) throw notInFiber(this.describe())
    if (debugging) opEntered(this)
    if (this.crossesGate) {
      const gated = --fiber.budget < 0 ? gate(fiber, this) : PASS
      if (gated === REFUSED) return SUSPENDED
      if (gated === TURN) {
        this.pausedBy = fiber
        return SNOOZE.next() as IteratorResult<Switchpoint, any>
      }
    }
    return this.open(fiber)
  }

  /** Back from the turn that it had to give to others before it began (S50). */
  private unpause(): Fiber {
    this.pausedBy = null
    SNOOZE.next()
    return baton.fiber as Fiber
  }

  private open(fiber: Fiber): IteratorResult<Switchpoint, T> {
    this.fiber = fiber
    this.outer = fiber.innermost
    this._phase = LIVE
    this.stopSignal = null
    this.swallows = 0
    this.forcedYields = 0
    fiber.innermost = this
    this.begin()
    try {
      const { body } = this
      const returned = body(this.argument())
      this.native = isPlainGenerator(returned, body)
      this.inner = this.native ? (returned as Iterator<unknown>) : runnerOf(returned, body)
      if (!this.native) this.native = isGenerator(this.inner)
    } catch (error) {
      return this.thrown(error)
    }
    return this.drive(NEXT, undefined)
  }

  /** Whether entering is a switchpoint. The cleanup of `ensure` must be reached whatever is pending. */
  protected get crossesGate(): boolean {
    return true
  }

  private resume(how: number, value: unknown): IteratorResult<Switchpoint, T> {
    if (baton.fiber !== this.fiber) {
      throw new BadState(`${this.describe()} of ${this.fiber?.path} was iterated from another fiber (S61)`)
    }
    const fiber = this.fiber as Fiber
    if (fiber._state === RUNNING) return this.drive(how, value)
    const error = misused(fiber, this) // S69
    this._phase = FORCED // whoever iterates it by hand cannot wait, so nothing inside may
    return this.drive(THROW, error)
  }

  /** Goes on with an op instead of the body. */
  protected wait(op: Iterator<unknown>): IteratorResult<Switchpoint, any> {
    this.inner = op
    this.native = false
    return this.drive(NEXT, undefined)
  }

  protected drive(how: number, value: unknown): IteratorResult<Switchpoint, any> {
    const fiber = this.fiber as Fiber
    for (;;) {
      let result: IteratorResult<unknown>
      try {
        result = this.advance(how, value)
        while (!result.done && result !== SUSPENDED && !isForced(fiber)) {
          // S61: a raw yield must not cross the block.
          result = refuseYield(fiber, result, (error) => this.advance(THROW, error))
        }
      } catch (error) {
        return this.thrown(error)
      }
      if (result.done) return this.returned(result.value)
      if (this._phase !== FORCED || fiber._phase === FORCED) return result as IteratorResult<Switchpoint>
      fiber.coldRecord().refusals = 0
      if (++this.forcedYields > FORCED_YIELDS) return this.giveUp(fiber)
      how = RETURN
    }
  }

  private advance(how: number, value: unknown): IteratorResult<unknown> {
    if (this.native) {
      const generator = this.inner as Iterator<unknown>
      if (how === NEXT) return nextOf.call(generator, value)
      return how === THROW ? throwOf.call(generator, value) : returnOf.call(generator, value)
    }
    const op = this.inner as Iterator<unknown>
    if (how === NEXT) return op.next()
    if (how === RETURN) return op.return?.(value) ?? { done: true, value }
    return (op as Required<Iterator<unknown>>).throw(value)
  }

  /** The generator of a forced block never lets go: it is dropped, and the block ends (S19). */
  private giveUp(fiber: Fiber): IteratorResult<Switchpoint, T> {
    fiber.runtime.counts.abandoned++
    fiber.runtime.report({
      kind: 'abandoned',
      message: `the body of ${this.describe()} in ${fiber.path} was abandoned: it went on yielding after it had been forced to end`,
    })
    this.abandonInside()
    return this.returned(undefined)
  }

  /** Out of the chain of regions. */
  protected leave(): void {
    const fiber = this.fiber as Fiber
    if (this.index >= 0) fiber.runtime.timers.remove(this)
    this.fiber = null
    this.inner = null
    const isInnermost = fiber.innermost === this
    if (isInnermost) fiber.innermost = this.outer as Region
    else this.unchain(fiber)
    this.outer = null
    if (!isInnermost) {
      throw new BadState(
        `blocks of ${fiber.path} were left in the wrong order: ${this.describe()} was not the innermost (S61)`,
      )
    }
  }

  /** @internal The fiber's body is over while this block was open: its generator was abandoned. */
  abandon(): void {
    const { runtime } = this.fiber as Fiber
    runtime.timers.remove(this)
    this.fiber = null
    this.inner = null
  }

  // ---- ending

  /** Asks the block to end. */
  protected request(reason: unknown): void {
    const fiber = this.fiber as Fiber
    const now = fiber.runtime.now()
    this._phase = REQUESTED
    this.stopSignal = new Stop(undefined, reason, now, now + (this.grace ?? fiber.grace), false)
    interrupt(fiber)
  }

  /** @internal */
  get deadline(): number {
    return this.stopSignal?.deadline ?? Infinity
  }

  /** @internal Starts counting the time that cleanup may take. */
  armDeadline(): void {
    const fiber = this.fiber as Fiber
    if (this.index >= 0 || this.deadline === Infinity || this._phase === FORCED) return
    fiber.runtime.addTimer(this, this.deadline)
  }

  /** @internal A region further out is struck: its signal passes through here, and nothing of ours may cut the cleanup (S16). */
  passThrough(): void {
    this._phase = UNWINDING
    this.stopSignal = null
    if (this.index >= 0) (this.fiber as Fiber).runtime.timers.remove(this)
  }

  /** @internal As a timer: the deadline of the cleanup. */
  fire(): void {
    if (this._phase !== LIVE && this._phase !== FORCED) reportOverdue(this, this.fiber as Fiber)
  }

  /** @internal */
  swallowed(): number {
    return ++this.swallows
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

// The wait contract. An op describes a wait; nothing has happened until a fiber enters it with `yield*`.
//
//   yield* op  ->  op.next()  first call:  gate (signals, budget)  ->  enter(fiber)
//                                            settled at once  ->  DONE, the generator goes on
//                                            not yet          ->  SUSPENDED, handed up to step by identity
//                             resumed:     the answer, or the signal that strikes
//
// An op describes, the backend does, `settle` is the only way back.

import { debugging, opEntered, rememberOp } from './debug.js'
import { BadArgument, type BadYield } from './errors.js'
import type { Fiber } from './fiber.js'
import { gate, interruption, isForced, iteratedByHand, notInFiber, PASS, REFUSED } from './gate.js'
import { ABORTING, ERROR, NONE, RUNNABLE, RUNNING, SIGNAL, VALUE, WAITING } from './phase.js'
import { baton } from './runqueue.js'
import { boundLater, interrupt } from './stop.js'
import { emit, tapped } from './tap.js'

declare const brand: unique symbol
/** What travels up to the scheduler while a fiber waits. Only the library makes them. */
export interface Switchpoint {
  readonly [brand]: true
}

/**
 * Something a fiber can wait for: `const value = yield* op`. What a generator function returns is an `Op` too, so functions
 * that wait compose like any others (S08).
 */
export interface Op<T> {
  /** What `yield*` calls. */
  [Symbol.iterator](): Iterator<Switchpoint, T, unknown>
}

/**
 * What a generator function that waits returns, for annotations.
 *
 * ```ts
 * function* twice(n: number): Routine<number> {
 *   yield* sleep(10)
 *   return 2 * n
 * }
 * console.log(yield* twice(21)) // 42
 * ```
 */
export type Routine<T> = Generator<Switchpoint, T, unknown>

/** The result object that says "this fiber waits". Known by identity, so that nothing else can pass for it. */
export const SUSPENDED: IteratorYieldResult<Switchpoint> = { done: false, value: {} as Switchpoint }
/** The result object of every finished op. Its value is read at once, so one object serves all. */
export const DONE: IteratorReturnResult<any> = { done: true, value: undefined }

/** `abort` answers this when the op cannot end at once (work in a thread pool): the fiber waits for it (S35). */
export const LATER = Symbol('later')

/**
 * The base of every op. A subclass gives `enter`, `abort` and `describe`.
 * An op that is always woken through its fiber may be a shared object without state;
 * one that can be answered late must be a new object for each wait, and extend `LateOp`.
 */
export abstract class BaseOp<T> implements Op<T>, Iterator<Switchpoint, T, unknown> {
  /** Waits for new outside work, which is never cleanup: refused while unwinding (S17). */
  declare readonly idle: boolean

  constructor() {
    if (debugging) rememberOp(this, baton.fiber)
  }

  /** Registers the wait. May settle at once; throws only before it has registered anything. */
  abstract enter(fiber: Fiber): void
  /** Takes the wait back. Called at most once, only while not settled. May settle instead of leaving. */
  abstract abort(fiber: Fiber): void | typeof LATER
  /** What it is, for the tree: `sleep(100)`. */
  abstract describe(): string

  /** An answer nobody waits for any more. */
  late(_value: unknown, fiber: Fiber): void {
    if (tapped) emit('late', fiber, this)
  }

  [Symbol.iterator](): this {
    return this
  }

  next(): IteratorResult<Switchpoint, T> {
    const fiber = baton.fiber
    if (fiber === null) throw notInFiber(describe(this))
    if (fiber.op !== null) {
      if (resume(fiber, this)) return DONE
      throw DONE.value
    }
    if (debugging) opEntered(this)
    const gated = --fiber.budget < 0 ? gate(fiber, this) : PASS
    if (gated === REFUSED) return SUSPENDED
    fiber.op = this
    try {
      this.enter(fiber)
    } catch (error) {
      fiber.op = null
      throw error
    }
    return park(fiber, gated)
  }

  /** The library never calls it: a generator that waits here is driven by hand. */
  throw(error: unknown): IteratorResult<Switchpoint, T> {
    if (baton.fiber?.op === this) dropOp(baton.fiber, this)
    throw error
  }

  /** Only `step` and forced blocks may call it; anything else iterates the op by hand (S69). */
  return(value?: unknown): IteratorResult<Switchpoint, any> {
    const fiber = baton.fiber
    if (fiber !== null && fiber.op === this) {
      if (fiber._state !== RUNNING) throw misused(fiber, this)
      forget(fiber)
    }
    return { done: true, value }
  }
}
;(BaseOp.prototype as { idle: boolean }).idle = false

/** What an op says it is; a `describe` that throws says nothing (S70). */
export function describe(op: { describe(): string }): string {
  try {
    return op.describe()
  } catch {
    return `an op of class ${op.constructor.name} whose describe() failed`
  }
}

/** An op that the outside may answer after its fiber has left. A late value goes to `discard` (S35). */
export abstract class LateOp<T> extends BaseOp<T> {
  /** The fiber has left without an answer. */
  left = false

  /** Gets rid of a value that nobody will receive: closes the descriptor, releases the client. */
  discard?(value: T): void

  override late(value: unknown, fiber: Fiber): void {
    if (tapped) emit('late', fiber, this)
    if (!this.left) return
    this.left = false
    this.drop(value as T, fiber)
  }

  /** Hands a value to `discard`, whose errors are nobody's (S70). */
  protected drop(value: T, fiber: Fiber): void {
    try {
      this.discard?.(value)
    } catch (error) {
      fiber.runtime.uncaught(error, `discarding the late value of ${describe(this)} failed`)
    }
  }
}

/**
 * For ops that can often finish at once, and then need not be entered: the running fiber if nothing is pending in it
 * and it has budget left, of which `doneIn` spends one; else null, and `super.next()` does it the long way.
 */
export function freePass(): Fiber | null {
  const { fiber } = baton
  return fiber !== null && fiber.op === null && fiber.budget > 0 && !debugging ? fiber : null
}

/** The answer of an op that finishes at once in a fiber that has a free pass. */
export function doneIn<T>(fiber: Fiber, value: T): IteratorResult<never, T> {
  fiber.budget--
  DONE.value = value
  return DONE
}

/** After `enter`: the answer if there is one already, else the fiber waits. `gated` says whether a turn is due (S50). */
function park(fiber: Fiber, gated: number): IteratorResult<Switchpoint, any> {
  if (fiber.how === NONE) {
    fiber._state = WAITING
    if (fiber.budget <= 0) interrupt(fiber) // a signal may have come while it entered
    return SUSPENDED
  }
  if (gated === PASS) {
    if (resume(fiber, fiber.op as BaseOp<unknown>)) return DONE
    throw DONE.value
  }
  fiber.runtime.push(fiber)
  return SUSPENDED
}

/**
 * The fiber runs again in the op it waited in. True: DONE has the answer. False: DONE has what the caller must throw;
 * thrown in `next` itself, because most of what a throw costs is the depth of the stack below the generator.
 */
export function resume(fiber: Fiber, op: BaseOp<unknown>): boolean {
  if (fiber.op !== op || fiber._state !== RUNNING) {
    DONE.value = misused(fiber, op)
    return false
  }
  const { how, value } = fiber
  forget(fiber)
  DONE.value = how === SIGNAL ? interruption(fiber) : value
  return how === VALUE
}

/** The op that `fiber` waits for has an answer. False if it came too late. */
export function settle<T>(fiber: Fiber, op: BaseOp<T>, value: T): boolean {
  return answer(fiber, op as BaseOp<unknown>, VALUE, value)
}

/** The op that `fiber` waits for has failed. False if it came too late. */
export function fail(fiber: Fiber, op: BaseOp<any>, error: unknown): boolean {
  return answer(fiber, op, ERROR, error)
}

function answer(fiber: Fiber, op: BaseOp<unknown>, how: number, value: unknown): boolean {
  // S34: only the op that the fiber waits in can answer, and only once.
  if (fiber.op !== op || (fiber.how !== NONE && fiber.how !== ABORTING)) {
    if (fiber.op === op && fiber.how === SIGNAL && fiber._state === WAITING) fiber.runtime.push(fiber) // S35: it was LATER
    if (how === VALUE) op.late(value, fiber)
    else if (tapped) emit('late', fiber, value)
    return false
  }
  fiber.how = how
  fiber.value = value
  if (fiber._state === WAITING) fiber.runtime.push(fiber)
  return true
}

/**
 * Takes a waiting fiber out of its op, if it is in one, so that a signal can strike. Completion wins: an abort may still
 * settle (S34). An op that ends LATER is waited for, unless there is no more patience (S35).
 */
export function withdraw(fiber: Fiber, isPatient = true): void {
  if (fiber.how === ABORTING) return // the abort itself called back
  let isLater = false
  if (fiber.op !== null && fiber.how === NONE) {
    fiber.how = ABORTING
    isLater = abortOp(fiber, fiber.op) === LATER
  }
  if (fiber._state !== WAITING) return
  fiber.how = SIGNAL
  if (isLater && isPatient && !isForced(fiber)) boundLater(fiber)
  else fiber.runtime.push(fiber)
}

/** Aborts an op; an exception from `abort` never lands in the fiber that happened to cause it (S70). */
function abortOp(fiber: Fiber, op: BaseOp<unknown>): void | typeof LATER {
  try {
    return op.abort(fiber)
  } catch (error) {
    fiber.runtime.uncaught(error, `aborting ${describe(op)} failed`)
  } finally {
    // Unless the abort itself settled it: then the fiber gets that value.
    if (op instanceof LateOp && fiber.how !== VALUE && fiber.how !== ERROR) op.left = true
  }
}

function forget(fiber: Fiber): void {
  fiber.op = null
  fiber.how = NONE
  fiber.value = undefined
}

/** Takes back an op that was entered by hand: the fiber runs, yet the op believes that it waits. */
export function dropOp(fiber: Fiber, op: BaseOp<unknown>): void {
  if (fiber._state === WAITING) abortOp(fiber, op)
  if (fiber._state === RUNNABLE) {
    fiber.runtime.queue.delete(fiber)
    if (fiber.how === VALUE) op.late(fiber.value, fiber)
  }
  forget(fiber)
  fiber._state = RUNNING
}

/** An op that has state serves one wait at a time. */
export function enteredTwice(op: { describe(): string }, by: Fiber): BadArgument {
  return new BadArgument(
    `${describe(op)} is already being waited for by ${by.path}. Make a new op for each wait.`,
  )
}

/** S69: makes the fiber sound again and says what went wrong. */
export function misused(fiber: Fiber, op: { describe(): string }): BadYield {
  const waiting = fiber.op as BaseOp<unknown>
  dropOp(fiber, waiting)
  const what = waiting === op ? describe(op) : `${describe(waiting)}, then ${describe(op)},`
  return iteratedByHand(fiber, what, describe(waiting))
}

// The wait contract. An op describes a wait; nothing has happened until a fiber enters it with `yield*`.
//
//   yield* op  ->  op.next()  first call:  gate (signals, budget)  ->  enter(fiber)
//                                            settled at once  ->  DONE, the generator goes on
//                                            not yet          ->  SUSPENDED, handed up to step by identity
//                             resumed:     the answer, or the signal that is delivered
//
// An op describes, the backend does, `settle` is the only way back.

import { callout, current } from './current.js'
import { copyEntered, debugging, describe, opEntered, rememberOp } from './debug.js'
import { BadArgument, type BadYield, iteratedByHand, notInFiber } from './errors.js'
import type { Fiber } from './fiber.js'
import {
  ABORTING,
  ERROR,
  NONE,
  PASS,
  type Passage,
  REFUSED,
  RUNNABLE,
  RUNNING,
  SIGNAL,
  VALUE,
  WAITING,
} from './state.js'
import { abortOp, gate, interrupt, interruption, type LATER } from './switchpoint.js'
import { emit, tapped } from './tap.js'
import { refuseCircle } from './waitsfor.js'

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

/** The result object that means "this fiber waits". It is compared by identity, so nothing else can be mistaken for it. */
export const SUSPENDED: IteratorYieldResult<Switchpoint> = { done: false, value: {} as Switchpoint }
/** The result object of every finished op. Its value is read at once, so one object serves all. */
export const DONE: IteratorReturnResult<any> = { done: true, value: undefined }

/**
 * The base of every op. A subclass implements `enter`, `abort` and `describe`. An op without state may be one object for all
 * waits; one that has state is a new object for each wait.
 *
 * ```ts
 * const desk: { guest: Fiber | null } = { guest: null }
 * class Bell extends BaseOp<string> {
 *   enter(fiber: Fiber) {
 *     desk.guest = fiber
 *   }
 *   abort() {
 *     desk.guest = null
 *   }
 *   describe() {
 *     return 'the bell'
 *   }
 * }
 * const bell = new Bell()
 * const guest = spin('guest', () => bell)
 * yield* snooze()
 * console.log(`${guest}`) // main > guest (waiting for the bell)
 * if (desk.guest !== null) settle(desk.guest, bell, 'ding')
 * console.log(yield* guest) // ding
 * ```
 */
export abstract class BaseOp<T> implements Op<T>, Iterator<Switchpoint, T, unknown> {
  constructor() {
    if (debugging) rememberOp(this, current.fiber)
  }

  /** Registers the wait. May settle at once; throws only before it has registered anything. */
  abstract enter(fiber: Fiber): void
  /** Takes the wait back. Called at most once, only while not settled. May settle instead of leaving. */
  abstract abort(fiber: Fiber): void | typeof LATER
  /** What it is, for trees, reports and errors: `sleep(100)`. */
  abstract describe(): string

  /** Whether it waits for new outside work, which is never cleanup: refused while unwinding (S17). */
  get idle(): boolean {
    return false
  }
  /** The kind of wait, for tools: 'sleep', 'lock', 'promise'. */
  get kind(): string {
    return 'op'
  }
  /** The one fiber that has to act before this wait can end by itself: the fiber that is awaited, the holder of the lock (S32). */
  get waitsOn(): Fiber<any, any> | null {
    return null
  }
  /** Whether no other code can end the wait. Checked only when a circle was found. */
  get isCertain(): boolean {
    return true
  }
  /** What is waited for, if it is an object that fibers share: a mutex, a queue, a pool. */
  get resource(): object | null {
    return null
  }

  /** An answer that its fiber does not receive. If the answer must not be lost, such as a lock, the op takes it back here. */
  late(_value: unknown, fiber: Fiber): void {
    if (tapped) emit('late', fiber, this)
  }

  /** @internal The fiber has left without an answer. */
  leftBehind?(): void

  // ---- for subclasses and code that makes ops

  /**
   * Exempts this op from the debug report of ops that are made and never entered: it serves many waits, or was started
   * without `yield*`.
   */
  droppable(): this {
    if (debugging) opEntered(this)
    return this
  }

  /**
   * Returns an op without state, which serves all waits, to a caller. In debug mode each caller gets a copy, so that a
   * forgotten `yield*` is found.
   */
  handOut(): this {
    if (!debugging) return this
    // Its methods run on the op itself, which may have private fields.
    const copy: this = Object.create(this, {
      describe: { value: () => this.describe() },
      [Symbol.iterator]: { value: () => copyEntered(copy, this, current.fiber) },
    })
    rememberOp(copy, current.fiber)
    return copy
  }

  /** In `enter`, when the fiber has to wait: throws `DeadlockError` if the waits of `waitsOn` close a circle (S32). */
  refuseCircle(fiber: Fiber): void {
    refuseCircle(fiber, this as BaseOp<any>)
  }

  /** In `enter` of an op that has state: throws if a fiber waits in it already. */
  protected refuseSecond(by: Fiber<any, any> | null): void {
    if (by !== null) throw enteredTwice(this, by)
  }

  /** In `abort`: whether a signal takes the fiber out of its wait. Else it was iterated by hand, and `LATER` means nothing (S69). */
  protected isInterrupted(fiber: Fiber): boolean {
    return fiber.how === ABORTING
  }

  /**
   * For an op that can often finish at once, in `next`: the running fiber, if nothing is pending in it and it has budget left.
   * Then `finishNow` gives the answer without entering the op. Else null, and `super.next()` takes the long way.
   */
  protected tryFastPath(): Fiber | null {
    return tryFastPath()
  }

  /** The answer of an op that finishes at once in the fiber that `tryFastPath` gave. */
  protected finishNow(fiber: Fiber, value: T): IteratorResult<Switchpoint, T> {
    fiber.budget--
    DONE.value = value
    return DONE
  }

  // ---- as an iterator

  /** What `yield*` calls: an op is its own iterator. */
  [Symbol.iterator](): Iterator<Switchpoint, T, unknown> {
    return this
  }

  /** The switchpoint: a pending signal is thrown, then the op is entered. Called again, it returns the answer. */
  next(): IteratorResult<Switchpoint, T> {
    const fiber = current.fiber
    if (fiber === null) throw notInFiber(describe(this))
    if (fiber.op !== null) return resume(fiber, this) ? DONE : throwAnswer()
    if (debugging) opEntered(this)
    const gated = --fiber.budget < 0 ? gate(fiber, this) : PASS
    if (gated === REFUSED) return SUSPENDED
    fiber.op = this
    try {
      const left: unknown = this.enter(fiber)
      if (left !== undefined) refuseEnter(this, left)
      return park(fiber, gated)
    } catch (error) {
      if (fiber.op === this) dropOp(fiber, this) // `enter` threw, or the stack overflowed behind it
      throw error
    }
  }

  /** Takes back a wait that was begun by hand, and throws. The library itself never calls it. */
  throw(error: unknown): IteratorResult<Switchpoint, T> {
    if (current.fiber?.op === this) dropOp(current.fiber, this)
    throw error
  }

  /** A forced end of the generator that waits here. Only the library may call it (S69). */
  return(value?: unknown): IteratorResult<Switchpoint, T> {
    const fiber = current.fiber
    if (fiber !== null && fiber.op === this) {
      if (fiber._state !== RUNNING) throw misused(fiber, this)
      forget(fiber)
    }
    return { done: true, value: value as T }
  }
}

/**
 * The base of an op that waits for new work, such as a message, an item or a connection. New work is never cleanup, so it is
 * refused while the fiber is being stopped (S17).
 *
 * ```ts
 * class NextOrder extends IdleOp<string> {
 *   enter() {} // there never is one
 *   abort() {}
 *   describe() {
 *     return 'an order'
 *   }
 * }
 * const waiter = spin('waiter', () => new NextOrder())
 * yield* snooze()
 * console.log(`${waiter}`) // main > waiter (waiting for an order)
 * yield* waiter.stop()
 * ```
 */
export abstract class IdleOp<T> extends BaseOp<T> {
  /** True. */
  override get idle(): boolean {
    return true
  }
}

/** An op that the outside may answer after its fiber has left. A late value goes to `discard` (S35). */
export abstract class LateOp<T> extends BaseOp<T> {
  private isLeft = false

  /** Disposes of a value that no fiber will receive: closes the descriptor, releases the client. */
  discard?(value: T): void

  override leftBehind(): void {
    this.isLeft = true
  }

  override late(value: unknown, fiber: Fiber): void {
    if (tapped) emit('late', fiber, this)
    if (!this.isLeft) return
    this.isLeft = false
    this.drop(value as T, fiber)
  }

  /** Hands a value to `discard`. */
  protected drop(value: T, fiber: Fiber): void {
    if (this.discard === undefined) return
    callout(fiber.runtime, `discarding the late value of ${describe(this)}`, () => this.discard?.(value))
  }
}

/** The running fiber if an op may finish at once in it: nothing is pending, and it has budget left. */
export function tryFastPath(): Fiber | null {
  const { fiber } = current
  return fiber !== null && fiber.op === null && fiber.budget > 0 && !debugging ? fiber : null
}

/** After `enter`: the answer if there is one already, else the fiber waits. `gated` says whether a turn is due (S50). */
function park(fiber: Fiber, gated: Passage): IteratorResult<Switchpoint, any> {
  if (fiber.how === NONE) {
    fiber._state = WAITING
    if (fiber.budget <= 0) interrupt(fiber) // a signal may have come while it entered; cleanup that waits has a deadline
    return SUSPENDED
  }
  if (gated === PASS) return resume(fiber, fiber.op as BaseOp<unknown>) ? DONE : throwAnswer()
  fiber.runtime.push(fiber)
  return SUSPENDED
}

/** The fiber runs again in the op it waited in. True: DONE has the answer. False: DONE has what the caller must throw. */
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

/**
 * Throws what `resume` has left in DONE. In a small function of its own: V8 finds out where in the code a throw stands, which takes
 * the longer the more was inlined there.
 */
export function throwAnswer(): never {
  throw DONE.value
}

/**
 * Answers the op that a fiber waits in; the fiber goes on with the value. False if it no longer waits in that op: then the
 * value goes to `op.late`. May be called in `enter`.
 *
 * ```ts
 * class Immediate<T> extends BaseOp<T> {
 *   constructor(private readonly value: T) {
 *     super()
 *   }
 *   enter(fiber: Fiber) {
 *     settle(fiber, this, this.value)
 *   }
 *   abort() {}
 *   describe() {
 *     return 'a value'
 *   }
 * }
 * console.log(yield* new Immediate(42)) // 42
 * ```
 */
export function settle<T>(fiber: Fiber, op: BaseOp<T>, value: T): boolean {
  return answer(fiber, op as BaseOp<unknown>, VALUE, value)
}

/**
 * Makes the op that a fiber waits in fail: the error is thrown at its `yield*`. False if the fiber no longer waits in that op.
 *
 * ```ts
 * class Refusal extends BaseOp<never> {
 *   enter(fiber: Fiber) {
 *     fail(fiber, this, new Error('not today'))
 *   }
 *   abort() {}
 *   describe() {
 *     return 'a refusal'
 *   }
 * }
 * try {
 *   yield* new Refusal()
 * } catch (error) {
 *   console.log((error as Error).message) // not today
 * }
 * ```
 */
export function fail(fiber: Fiber, op: BaseOp<any>, error: unknown): boolean {
  return answer(fiber, op, ERROR, error)
}

export function answer(
  fiber: Fiber,
  op: BaseOp<unknown>,
  how: typeof VALUE | typeof ERROR,
  value: unknown,
): boolean {
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

function forget(fiber: Fiber): void {
  fiber.op = null
  fiber.how = NONE
  fiber.value = undefined
}

/** Takes back an op that was entered by hand, or could not be entered whole: the fiber runs, yet the op believes that it waits. */
export function dropOp(fiber: Fiber, op: BaseOp<unknown>): void {
  if (fiber._state === WAITING) abortOp(fiber, op)
  if (fiber._state === RUNNABLE) fiber.runtime.queue.delete(fiber)
  if (fiber.how === VALUE) op.late(fiber.value, fiber)
  forget(fiber)
  fiber._state = RUNNING
}

/**
 * The fiber that runs now; null outside any fiber. `Fiber.current` throws there.
 *
 * ```ts
 * console.log(runningFiber()?.name) // main
 * ```
 */
export function runningFiber(): Fiber | null
/** With the name of a call: throws `NotInFiber` outside any fiber. */
export function runningFiber(where: string): Fiber
export function runningFiber(where?: string): Fiber | null {
  if (current.fiber === null && where !== undefined) throw notInFiber(where)
  return current.fiber
}

/** `enter` of an op, or `start` of an `OutsideOp`, gave something back: an async function or a generator function does nothing useful there. */
export function refuseEnter(op: BaseOp<any>, given: unknown, method = 'enter()'): void {
  const { then, next } = (given ?? {}) as { then?: unknown; next?: unknown }
  if (typeof then === 'function')
    (given as Promise<unknown>).then(undefined, () => {}) // refused: its rejection must not count as unhandled
  else if (typeof next !== 'function') return
  const what = typeof then === 'function' ? 'a promise' : 'a generator, which never ran'
  throw new BadArgument(
    `${method} of ${describe(op)} returned ${what}. It begins the wait and returns; the answer is given later, by settle or fail. ` +
      'To wait for a promise use until(promise).',
  )
}

/** An op that has state serves one wait at a time. */
export function enteredTwice(op: { describe(): string }, by: Fiber): BadArgument {
  return new BadArgument(
    `${describe(op)} is already being waited for by ${by.path}. Make a new op for each wait.`,
  )
}

/** S69: resets the fiber and returns the error. */
export function misused(fiber: Fiber, op: { describe(): string }): BadYield {
  const waiting = fiber.op as BaseOp<unknown>
  dropOp(fiber, waiting)
  const what = waiting === op ? describe(op) : `${describe(waiting)}, then ${describe(op)},`
  return iteratedByHand(fiber, what, describe(waiting))
}

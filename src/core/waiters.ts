// Waiters: a line of fibers that wait for the same thing: a lock, an item, room in a queue. First come, first served (S52).
//
//   first <-> waiter <-> waiter <-> last        one for each waiting fiber, kept in `fiber.value` meanwhile
//
// `handOver` gives a value to the first in line as the answer of its wait (S36). A fiber whose wait is aborted leaves the
// line; the others keep their places. Ops that wait in line need no state, so one op can serve all waits. Async code has no
// fiber: it waits in a subclass of Waiter (`add`).

import { BadState } from './errors.js'
import type { Fiber } from './fiber.js'
import { append, remove } from './list.js'
import { type BaseOp, fail, settle } from './op.js'

/**
 * A fiber in line, with an item: what it wants to push, or how it wants to hold a lock. A subclass lets code without a fiber
 * wait in the same line.
 *
 * ```ts
 * class Caller extends Waiter<undefined> {
 *   constructor(private readonly callback: (value: unknown) => void) {
 *     super(null, undefined)
 *   }
 *   override give(value: unknown) {
 *     this.callback(value)
 *   }
 * }
 * const line = new Waiters()
 * line.add(new Caller((value) => console.log(value))) // hello
 * line.handOver('hello')
 * ```
 */
export class Waiter<I> {
  /** @internal */ before: Waiter<I> | null = null
  /** @internal */ after: Waiter<I> | null = null
  /** @internal The line that it is in, or was in last. */
  line: Waiters<I> | null = null
  constructor(
    /** The waiting fiber; null in subclasses for code without a fiber. */
    readonly fiber: Fiber<any, any> | null,
    /** The item given to `join`. */
    readonly item: I,
  ) {}

  /** @internal Whether its fiber has left the wait without leaving the line: an `abort` or `enter` that is wrong. */
  get isStale(): boolean {
    return this.fiber !== null && this.fiber.value !== this
  }

  /** Ends the wait with a value. */
  give(value: unknown): void {
    const fiber = this.fiber as Fiber
    settle(fiber, fiber.op as BaseOp<unknown>, value)
  }
  /** Ends the wait with an error. */
  refuse(error: unknown): void {
    const fiber = this.fiber as Fiber
    fail(fiber, fiber.op as BaseOp<unknown>, error)
  }
}

/**
 * A line of fibers that wait for the same thing, first come, first served (S52). An op joins in `enter` and leaves in
 * `abort`. `handOver` answers the first wait directly: no other fiber can take the value in between (S36).
 *
 * ```ts
 * const line = new Waiters()
 * class Turn extends BaseOp<string> {
 *   enter(fiber: Fiber) {
 *     line.join(fiber, undefined)
 *   }
 *   abort(fiber: Fiber) {
 *     line.leave(fiber)
 *   }
 *   describe() {
 *     return 'a turn'
 *   }
 * }
 * const first = spin(() => new Turn())
 * const second = spin(() => new Turn())
 * yield* snooze()
 * line.handOver('for the first')
 * line.handOver('for the second')
 * console.log(yield* first, '-', yield* second) // for the first - for the second
 * ```
 */
export class Waiters<I = undefined> {
  /** The first in line. */
  first: Waiter<I> | null = null
  private last: Waiter<I> | null = null
  /** The number of waiters. */
  size = 0

  /** Puts a fiber in line; call it at the end of an op's `enter`. */
  join(fiber: Fiber<any, any>, item: I): Waiter<I> {
    if (fiber.op === null) throw new BadState(`${fiber.path} can join a line only in the enter() of an op`)
    if (fiber.value !== undefined) refuseSecondLine(fiber)
    const waiter = new Waiter(fiber, item)
    fiber.value = waiter
    this.add(waiter)
    return waiter
  }

  /** Adds a waiter that was made elsewhere. */
  add(waiter: Waiter<I>): void {
    waiter.line = this
    this.last = append(this.last, waiter)
    if (this.first === null) this.first = waiter
    this.size++
  }

  /** Removes a fiber without an answer; call it in an op's `abort`. Returns its item. */
  leave(fiber: Fiber<any, any>): I {
    const waiter = fiber.value
    if (!(waiter instanceof Waiter) || waiter.line !== this) {
      throw new BadState(
        `${fiber.path} is not in this line; leave() belongs in the abort() of the op that joined it, and to the line that it joined`,
      )
    }
    fiber.value = undefined
    this.remove(waiter)
    return waiter.item
  }

  /** Answers the first in line with a value. False if the line is empty. */
  handOver(value: unknown): boolean {
    const waiter = this.takeFirst()
    if (waiter === null) return false
    waiter.give(value)
    return true
  }

  /** Answers this waiter with a value. */
  give(waiter: Waiter<I>, value: unknown): void {
    this.remove(waiter)
    if (!waiter.isStale) waiter.give(value)
  }

  /** Answers the first in line with an error. False if the line is empty. */
  refuse(error: unknown): boolean {
    const waiter = this.takeFirst()
    if (waiter === null) return false
    waiter.refuse(error)
    return true
  }

  /** Takes the first in line out, and those before it whose fibers are gone. */
  private takeFirst(): Waiter<I> | null {
    let waiter = this.first
    while (waiter !== null) {
      this.remove(waiter)
      if (!waiter.isStale) return waiter
      waiter = this.first
    }
    return null
  }

  /** The waiters, the first in line first. The one that is visited may be answered. */
  *[Symbol.iterator](): Generator<Waiter<I>> {
    for (let waiter = this.first, after: Waiter<I> | null; waiter !== null; waiter = after) {
      after = waiter.after
      yield waiter
    }
  }

  /** Removes a waiter, which must be in the line. */
  remove(waiter: Waiter<I>): void {
    if (this.first === waiter) this.first = waiter.after
    this.last = remove(this.last, waiter)
    this.size--
  }
}

/** A fiber is in one line at a time: if it has left the other one, it may join this one. */
function refuseSecondLine(fiber: Fiber<any, any>): void {
  const { value } = fiber
  if (!(value instanceof Waiter) || (value.before === null && value.line?.first !== value)) return
  throw new BadState(
    `${fiber.path} cannot join this line: it is in another one. A wait is in one line at a time; to wait for the first of two, use race()`,
  )
}

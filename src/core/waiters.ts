// Fibers that wait in line for the same thing: a lock, an item, room in a queue. First come, first served (S52).
//
//   first <-> place <-> place <-> last        one place for each fiber that waits, kept in its `value` meanwhile
//
// Whoever has something to give hands it to the first in line as the answer of its wait (S36). A fiber that is taken
// out of its wait leaves its place, and nobody else loses theirs. Ops that wait in line need no state of their own,
// so a primitive can have one op for all who wait.

import type { Fiber } from './fiber.js'
import { type BaseOp, fail, settle } from './op.js'

/** Where a fiber stands in line, and what it brought with it: the item it wants to push, its mode. */
export class Place<I> {
  before: Place<I> | null = null
  after: Place<I> | null = null
  constructor(
    readonly fiber: Fiber<any, any>,
    readonly item: I,
  ) {}
}

export class Waiters<I = undefined> {
  first: Place<I> | null = null
  private last: Place<I> | null = null
  size = 0

  /** At the end of an op's `enter`: the fiber has to wait. */
  join(fiber: Fiber<any, any>, item: I): void {
    const place = new Place(fiber, item)
    fiber.value = place
    place.before = this.last
    if (this.last === null) this.first = place
    else this.last.after = place
    this.last = place
    this.size++
  }

  /** In an op's `abort`: the fiber goes away with empty hands. Gives what it had brought. */
  leave(fiber: Fiber<any, any>): I {
    const place = fiber.value as Place<I>
    fiber.value = undefined
    this.remove(place)
    return place.item
  }

  /** The first in line goes on with this value. False if nobody waits. */
  handOver(value: unknown): boolean {
    if (this.first === null) return false
    this.give(this.first, value)
    return true
  }

  /** This one goes on with this value. */
  give(place: Place<I>, value: unknown): void {
    this.remove(place)
    settle(place.fiber, place.fiber.op as BaseOp<unknown>, value)
  }

  /** The first in line goes on with an error. False if nobody waits. */
  refuse(error: unknown): boolean {
    const place = this.first
    if (place === null) return false
    this.remove(place)
    fail(place.fiber, place.fiber.op as BaseOp<unknown>, error)
    return true
  }

  /** Those who wait, the first in line first. */
  *[Symbol.iterator](): Generator<Place<I>> {
    for (let place = this.first; place !== null; place = place.after) yield place
  }

  private remove(place: Place<I>): void {
    const { before, after } = place
    if (before === null) this.first = after
    else before.after = after
    if (after === null) this.last = before
    else after.before = before
    this.size--
  }
}

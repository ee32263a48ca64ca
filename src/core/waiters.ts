// Fibers that wait in line for the same thing: a lock, an item, room in a queue. First come, first served (S52).
//
//   first <-> place <-> place <-> last        one place for each fiber that waits, kept in its `value` meanwhile
//
// Whoever has something to give hands it to the first in line as the answer of its wait (S36). A fiber that is taken
// out of its wait leaves its place, and nobody else loses theirs. Ops that wait in line need no state of their own,
// so a primitive can have one op for all who wait. Async code has no fiber: it waits in a place of its own kind (`add`).

import type { Fiber } from './fiber.js'
import { type BaseOp, fail, settle } from './op.js'

/** Where a fiber stands in line, and what it brought with it: the item it wants to push, its mode. */
export class Place<I> {
  before: Place<I> | null = null
  after: Place<I> | null = null
  constructor(
    /** Null only in places that answer in another way. */
    readonly fiber: Fiber<any, any> | null,
    readonly item: I,
  ) {}

  /** What it waited for has come. */
  give(value: unknown): void {
    const fiber = this.fiber as Fiber
    settle(fiber, fiber.op as BaseOp<unknown>, value)
  }
  /** What it waited for cannot come any more. */
  refuse(error: unknown): void {
    const fiber = this.fiber as Fiber
    fail(fiber, fiber.op as BaseOp<unknown>, error)
  }
}

export class Waiters<I = undefined> {
  first: Place<I> | null = null
  private last: Place<I> | null = null
  size = 0

  /** At the end of an op's `enter`: the fiber has to wait. */
  join(fiber: Fiber<any, any>, item: I): void {
    const place = new Place(fiber, item)
    fiber.value = place
    this.add(place)
  }

  /** For whoever makes their own place. */
  add(place: Place<I>): void {
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
    place.give(value)
  }

  /** The first in line goes on with an error. False if nobody waits. */
  refuse(error: unknown): boolean {
    const place = this.first
    if (place === null) return false
    this.remove(place)
    place.refuse(error)
    return true
  }

  /** Those who wait, the first in line first. */
  *[Symbol.iterator](): Generator<Place<I>> {
    for (let place = this.first; place !== null; place = place.after) yield place
  }

  /** Takes a place out of the line; it must be in it. */
  remove(place: Place<I>): void {
    const { before, after } = place
    if (before === null) this.first = after
    else before.after = after
    if (after === null) this.last = before
    else after.before = before
    this.size--
  }
}

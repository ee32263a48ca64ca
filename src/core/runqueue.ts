// The run queue: the fibers that can go on, first come, first served, linked through the fibers themselves.
//
//   head -> A -> B -> C <- tail        linked through `behind`; a fiber is in it at most once
//
// And the baton: who runs now. Both objects are made anew for each turn, on purpose. A fiber that was just made lives in
// V8's nursery; to write it into an object that has grown old costs more than all the rest of a switch's bookkeeping,
// into a young one it costs nothing. (Bench rows: switch, message.)

import type { Fiber } from './fiber.js'

export class RunQueue {
  private head: Fiber | null = null
  private tail: Fiber | null = null
  size = 0

  /** The same queue as a young object; this one must not be used any more. */
  renew(): RunQueue {
    const young = new RunQueue()
    young.head = this.head
    young.tail = this.tail
    young.size = this.size
    return young
  }

  push(fiber: Fiber): void {
    if (this.tail === null) this.head = fiber
    else this.tail.behind = fiber
    this.tail = fiber
    this.size++
  }

  unshift(fiber: Fiber): void {
    fiber.behind = this.head
    this.head = fiber
    if (this.tail === null) this.tail = fiber
    this.size++
  }

  /** The first; only when `size > 0`. */
  shift(): Fiber {
    const fiber = this.head as Fiber
    this.head = fiber.behind
    fiber.behind = null
    if (this.head === null) this.tail = null
    this.size--
    return fiber
  }

  /** Takes out the one at `index`, which must be there. For schedules that tests choose. */
  take(index: number): Fiber {
    if (index === 0) return this.shift()
    let before = this.head as Fiber
    for (let i = 1; i < index; i++) before = before.behind as Fiber
    return this.removeAfter(before)
  }

  /** Takes a fiber out, wherever it is. */
  delete(fiber: Fiber): void {
    if (this.head === fiber) {
      this.shift()
      return
    }
    for (let before = this.head; before !== null; before = before.behind) {
      if (before.behind !== fiber) continue
      this.removeAfter(before)
      return
    }
  }

  private removeAfter(before: Fiber): Fiber {
    const fiber = before.behind as Fiber
    before.behind = fiber.behind
    fiber.behind = null
    if (before.behind === null) this.tail = before
    this.size--
    return fiber
  }
}

/** Whoever holds it runs. */
export class Baton {
  fiber: Fiber | null = null
}

/** The baton of the turn that is going on in this thread; without one, nobody holds it. */
export let baton = new Baton()

/** A turn begins or ends: gives the baton that was used until now, to be put back. */
export function changeBaton(next: Baton): Baton {
  const last = baton
  baton = next
  return last
}

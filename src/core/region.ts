// A region: a fiber, or a block inside one (S65). Both go through the same phases, and up the same ladder.
//
//   fiber.innermost -> block -> block -> fiber        linked through `outer`; without blocks, the fiber itself

import type { Stop } from './errors.js'
import type { Fiber } from './fiber.js'
import { LIVE, UNWINDING } from './phase.js'

/** A region inside a fiber is told when a signal passes through it, and when its generator is given up. */
interface Inner {
  outer: Region | null
  passThrough(): void
  abandon(): void
}

export abstract class Region {
  /** @internal */ _phase = LIVE
  /** @internal What is thrown into it, once it has been asked to end. */ stopSignal: Stop | null = null
  /** @internal The children that hang on it, newest first. */ newest: Fiber<any, any> | null = null

  /** @internal The fiber it is, or is in; null while a block is not entered. */
  abstract get fiber(): Fiber | null
  /** @internal The region around it; null for a fiber. */
  abstract get outer(): Region | null
  /** @internal How far it lets signals in. */
  abstract get wall(): number
  /** @internal Whether children hang on it: a fiber or a scope. */
  abstract get isOwner(): boolean
  /** @internal Whether it ends by itself after a time (S32). */
  abstract get isTimed(): boolean
  /** @internal When its cleanup has to be over; Infinity if nothing bounds it. */
  abstract get deadline(): number
  /** @internal Starts counting the time that its cleanup may take (S18). */
  abstract armDeadline(): void
  /** @internal Another idle op was refused; how many by now (S17). */
  abstract swallowed(): number

  /** @internal Its signal is to be thrown now: says what, and changes the phase. */
  struck(): unknown {
    this._phase = UNWINDING
    for (let inner = this.fiber?.innermost as Region; inner !== this; inner = inner.outer as Region) {
      ;(inner as unknown as Inner).passThrough()
    }
    return this.stopSignal
  }

  /** @internal It is left while regions further in are open (S61): they hang on what is around it now. */
  unchain(fiber: Fiber): void {
    for (let inner: Region | null = fiber.innermost; inner !== null; inner = inner.outer) {
      if (inner.outer === this) (inner as unknown as Inner).outer = this.outer
    }
  }

  /** @internal Its generator is over, or given up, while blocks were still open in it. */
  abandonInside(): void {
    const fiber = this.fiber as Fiber
    for (let inner = fiber.innermost; inner !== this; inner = inner.outer as Region) {
      ;(inner as unknown as Inner).abandon()
    }
    fiber.innermost = this
  }
}

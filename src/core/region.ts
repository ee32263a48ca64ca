// A region: a fiber, or a block inside one (S65). Both go through the same phases, and up the same ladder.

import type { Stop } from './errors.js'
import type { Fiber } from './fiber.js'
import { LIVE, UNWINDING } from './phase.js'

export abstract class Region {
  /** @internal */ _phase = LIVE
  /** @internal What is thrown into it, once it has been asked to end. */ stopSignal: Stop | null = null
  /** @internal The children that hang on it, newest first. */ newest: Fiber<any, any> | null = null

  /** @internal The fiber it is, or is in; null while a block is not entered. */
  abstract get fiber(): Fiber | null
  /** @internal Starts counting the time that its cleanup may take (S18). */
  abstract armDeadline(): void
  /** @internal Another idle op was refused; how many by now (S17). */
  abstract swallowed(): number

  /** @internal Its signal is to be thrown now: says what, and changes the phase. */
  struck(): unknown {
    this._phase = UNWINDING
    const { block } = this.fiber as Fiber
    for (let inner = block; inner !== null && (inner as Region) !== this; inner = inner.outer)
      inner.passThrough()
    return this.stopSignal
  }
}

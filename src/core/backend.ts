// What the core needs from the world: a clock, a wake-up call, a turn of the event loop, and someone to report to.
// The Node backend lives in src/node, the virtual one in src/testing; the core knows neither.

import type { Fiber } from './fiber.js'

/** What a runtime needs from its surroundings. Write another one to run fibers elsewhere. */
export interface Backend {
  /** Milliseconds on a clock that never goes back. */
  now(): number
  /** Something became runnable while nothing ran: call `runtime.turn()` soon. */
  wake(): void
  /** A batch is over but there is more to do: give the event loop its turn, then call `runtime.batch()`.
   * May be asked for again before it has come. */
  yieldTurn(): void
  /** A turn is over. The next timer is due at `nextTimer` (Infinity: none); call `runtime.batch()` then. Unless a fiber
   * waits for time, `isAwaited`, that must not keep the process alive. */
  rest(nextTimer: number, isAwaited: boolean): void
  /** The number of ops that hold the process (S64) went from 0 to 1 or back. */
  hold(held: boolean): void
  /** Something that must not pass silently: a swallowed stop, an abandoned fiber, an error nobody observed,
   * a lock whose holder is dead, connections or items that had to be dropped. */
  report(report: Report): void
  /** Takes hold of the async context of this moment (`spin({ context: true })`). Left out: there is no such thing here. */
  capture?(): Context
}

/** An async context: runs the steps of a fiber inside it. */
export type Context = (step: (fiber: Fiber) => void, fiber: Fiber) => void

/** A thing that happened which the program should hear about. */
export interface Report {
  /** What it is about. */
  readonly kind: 'forced' | 'abandoned' | 'unobserved' | 'uncaught' | 'slow' | 'floating' | 'held' | 'dropped'
  /** A sentence for people. */
  readonly message: string
  /** The error, if it is about one. */
  readonly error?: unknown
}

// The Backend interface: what the core needs from its platform: a clock, a wake-up call, a turn of the event loop, a place
// for reports. The Node backend is in src/node, the virtual one in src/testing; the core knows neither.

import type { Fiber } from './fiber.js'

/** What a runtime needs from its platform. Implement it to run fibers elsewhere. */
export interface Backend {
  /** Milliseconds on a monotonic clock. */
  now(): number
  /** A fiber became runnable while none ran: call `runtime.turn()` soon. */
  wake(): void
  /** Whether a turn may also run in the callback of a promise that a fiber has waited for; default false. */
  readonly isDirect?: boolean
  /** A batch is over but fibers are runnable: give the event loop its turn, then call `runtime.batch()`. May be called
   * again before that. */
  yieldTurn(): void
  /** A turn is over. The next timer is due at `nextTimer` (Infinity: none); call `runtime.batch()` then. The timer must
   * keep the process alive only if a fiber waits for it (`isAwaited`). */
  rest(nextTimer: number, isAwaited: boolean): void
  /** The number of ops that hold the process (S64) went from 0 to 1 or back. */
  hold(held: boolean): void
  /** Something that must not go unnoticed: a swallowed stop, an abandoned fiber, an unobserved error, the lock of a dead
   * fiber, connections or items that had to be dropped. */
  report(report: Report): void
  /** Captures the current async context, for `spin({ context: true })`. Absent if the platform has none. */
  capture?(): Context
}

/** An async context: runs the steps of a fiber inside it. */
export type Context = (step: (fiber: Fiber) => void, fiber: Fiber) => void

/** An event that the program should report to its users. */
export interface Report {
  /** What it is about. */
  readonly kind: 'forced' | 'abandoned' | 'unobserved' | 'uncaught' | 'slow' | 'floating' | 'held' | 'dropped'
  /** A sentence for people. */
  readonly message: string
  /** The error, if it is about one. */
  readonly error?: unknown
}

// current: which fiber runs now. callout: calls code that belongs to no fiber.

import type { Fiber } from './fiber.js'

/**
 * The running fiber. The object is replaced now and then, on purpose, like the run queue (runtime.ts): writing a young fiber
 * into an old object costs more than the rest of a switch.
 */
export class Current {
  fiber: Fiber | null = null
}

export let current = new Current()

/** Replaces the object; returns the one before, to be put back. */
export function changeCurrent(next: Current): Current {
  const last = current
  current = next
  return last
}

interface Reporter {
  uncaught(error: unknown, what: string): void
}

/**
 * Calls user code, or code of another room, from inside the scheduler: abort listeners, discards, listeners to an end,
 * cleanups of actions. One rule for all of them (S70): an exception is reported, and never thrown in the fiber that happens to
 * run; and no fiber is current during the call, so that nothing it spins or waits for becomes part of a fiber by accident.
 * `what` names the callback in the report: 'an abort listener'. Returns its result.
 */
export function callout<T>(runtime: Reporter, what: string, callback: () => T): T | undefined {
  const holder = current
  const { fiber } = holder
  holder.fiber = null
  try {
    return callback()
  } catch (error) {
    runtime.uncaught(error, `${what} failed`)
    return undefined
  } finally {
    holder.fiber = fiber
  }
}

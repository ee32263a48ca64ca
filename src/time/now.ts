// The clock that everything here goes by.

import { baton, notInFiber } from '../core/index.js'

/**
 * Milliseconds on the clock that sleeps and time limits go by, which never goes back. In `virtual` tests it is the virtual one.
 *
 * ```ts
 * const begin = now()
 * yield* sleep(100)
 * console.log(now() - begin) // 100
 * ```
 */
export function now(): number {
  if (baton.fiber === null) throw notInFiber('now()')
  return baton.fiber.runtime.now()
}

// Time limits for tests of the real backend: a fact and not the clock says when the time is up.

import { type cancelAfter, Fiber, type moveOnAfter, type Op, spin, type Timeout } from 'polyphony'
import { eventually } from '../prelude.js'

/** So long that it never matters: the limit is made to expire by the test. */
const AN_HOUR = 3_600_000

/** Lets a limit expire now, in the way its timer would. */
function expire(limit: Timeout): void {
  const node = limit as unknown as { fiber: Fiber; fire(): void }
  ;(node.fiber as any).runtime.removeTimer(node)
  node.fire()
}

/**
 * A `moveOnAfter` or `cancelAfter` whose time is up as soon as `isDue`, on a slow machine too; without it, as soon as its
 * body waits. `otherwise` is the value or the error of the limit.
 */
export function expiring(
  limitBy: typeof moveOnAfter | typeof cancelAfter,
  body: () => Op<unknown>,
  otherwise?: unknown,
  isDue?: () => boolean,
): Op<unknown> {
  const limited = function* (limit: Timeout) {
    const fiber = Fiber.current
    const alarm = spin(function* () {
      yield* eventually(isDue ?? (() => fiber.state === 'waiting'))
      expire(limit)
    })
    try {
      return yield* body()
    } finally {
      alarm.stop()
    }
  }
  return (limitBy as (...args: unknown[]) => Op<unknown>)(AN_HOUR, limited, otherwise)
}

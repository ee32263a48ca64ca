// sequence: an exact order between fibers in tests, instead of sleeps and repeated snoozes.

import { BadArgument, Fiber, type Op, type Routine, show, suspend } from '../core/index.js'

/** The points of a `sequence`: call it with a number to pass that point. */
export interface Sequence {
  /** Waits until all points before `n` have been passed, then passes this one. */
  (n: number): Op<void>
  /** Whether all points have been passed. */
  readonly isDone: boolean
}

/**
 * Makes points 0 to n-1 that fibers pass in this order, whichever fibers they are in.
 *
 * ```ts
 * const log: string[] = []
 * const at = sequence(2)
 * const late = spin(function* () {
 *   yield* at(1)
 *   log.push('second')
 * })
 * const early = spin(function* () {
 *   yield* at(0)
 *   log.push('first')
 * })
 * yield* Fiber.await(late, early)
 * console.log(log, at.isDone) // [ 'first', 'second' ] true
 * ```
 */
export function sequence(n: number): Sequence {
  if (!Number.isInteger(n) || n < 1)
    throw new BadArgument(`sequence() needs how many points there are, got ${show(n)}`)
  let next = 0
  const waiting = new Map<number, Fiber>()
  function* point(i: number): Routine<void> {
    if (i < next || waiting.has(i)) throw new BadArgument(`sequence point ${i} was reached twice`)
    if (!Number.isInteger(i) || i >= n)
      throw new BadArgument(`this sequence has the points 0 to ${n - 1}, got ${show(i)}`)
    waiting.set(i, Fiber.current)
    try {
      while (next !== i) yield* suspend()
    } finally {
      waiting.delete(i)
    }
    next = i + 1
    waiting.get(next)?.schedule()
  }
  return Object.defineProperty(point as unknown as Sequence, 'isDone', { get: () => next === n })
}

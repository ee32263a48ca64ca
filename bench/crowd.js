// For rows in which 100 fibers share one lock or pool: n operations, divided among them, all begun before the first ends.
import { Fiber, spin } from '../dist/index.js'

export const CROWD = 100

/** Fibers: each runs `loop(times)`. */
export function* crowd(n, loop) {
  const fibers = []
  for (let i = 0; i < CROWD; i++) fibers.push(spin(loop, n / CROWD))
  yield* Fiber.await(...fibers)
}

/** Async functions: likewise. */
export function asyncCrowd(n, loop) {
  return Promise.all(Array.from({ length: CROWD }, () => loop(n / CROWD)))
}

/** Effects: likewise; `loop(times)` gives an effect. */
export function effectCrowd({ Effect }, n, loop) {
  const loops = Array.from({ length: CROWD }, () => loop(n / CROWD))
  return Effect.runPromise(Effect.all(loops, { concurrency: 'unbounded', discard: true }))
}

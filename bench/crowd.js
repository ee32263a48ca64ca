// For rows in which 100 fibers share one lock or pool, or 1,000 one executor: n operations, divided among them, all begun
// before the first ends.
import { Fiber, spin } from '../dist/index.js'

export const CROWD = 100

/** Fibers: each runs `loop(times)`. */
export function* crowd(n, loop, size = CROWD) {
  const fibers = []
  for (let i = 0; i < size; i++) fibers.push(spin(loop, n / size))
  yield* Fiber.await(...fibers)
}

/** Async functions: likewise. */
export function asyncCrowd(n, loop, size = CROWD) {
  return Promise.all(Array.from({ length: size }, () => loop(n / size)))
}

/** Callbacks: n operations, `size` at a time. `operate(i, done)` calls `done` when the operation is over. */
export function callbackCrowd(n, operate, size = CROWD) {
  return new Promise((resolve) => {
    let begun = 0
    let left = n
    const next = () => {
      if (begun < n) operate(begun++, over)
    }
    const over = () => {
      if (--left === 0) resolve()
      else next()
    }
    for (let i = 0; i < size; i++) next()
  })
}

/** Effects: likewise; `loop(times)` gives an effect. */
export function effectCrowd({ Effect }, n, loop) {
  const loops = Array.from({ length: CROWD }, () => loop(n / CROWD))
  return Effect.runPromise(Effect.all(loops, { concurrency: 'unbounded', discard: true }))
}

// What several test files need.

import assert from 'node:assert/strict'
import { type Op, type Routine, sleep, suppressedErrors } from 'polyphony'

/** What an op throws. */
export function* thrownBy(op: Op<unknown>): Routine<any> {
  try {
    yield* op
  } catch (error) {
    return error
  }
  return assert.fail('nothing was thrown')
}

/** A body that fails after a while. */
export function* failAfter(ms: number, error: Error): Routine<never> {
  yield* sleep(ms)
  throw error
}

/** An error with everything that it carries in `suppressed`. */
export function whole(error: unknown): unknown[] {
  return [error, ...suppressedErrors(error).flatMap(whole)]
}

/** Numbers from 0 (included) to 1; the same seed gives the same ones. */
export function random(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

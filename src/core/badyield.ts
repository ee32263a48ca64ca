// refuseYield: what happens when a body yields something other than the wait of an op. Called by step.ts and block.ts.

import { iteratorOf } from './body.js'
import { describe } from './debug.js'
import { BadYield, show } from './errors.js'
import type { Fiber } from './fiber.js'
import { SUSPENDED } from './op.js'
import { FORCED_YIELDS } from './state.js'
import { force } from './switchpoint.js'

/** Throws a `BadYield` at the yield: the body may catch it and go on. */
export function refuseYield(
  fiber: Fiber,
  result: IteratorResult<unknown>,
  throwInto: (error: unknown) => IteratorResult<unknown>,
): IteratorResult<unknown> {
  const error = badYield(fiber, result)
  if (++fiber.rareState().badYields > FORCED_YIELDS) {
    // A loop that catches the error and yields again would never release the thread.
    fiber.runtime.report({
      kind: 'forced',
      message: `${error.message}. It did so ${FORCED_YIELDS} times and was forced to end`,
    })
    force(fiber, fiber)
  }
  try {
    return throwInto(error)
  } catch (thrown) {
    // The TypeError of an iterator without `throw` (`yield*` of an array) must not hide the BadYield.
    const hidden = thrown instanceof TypeError && thrown.message.includes("does not provide a 'throw' method")
    throw hidden ? error : thrown
  }
}

interface Described {
  describe(): string
}

/** The message says what was yielded, and what to write instead. */
function badYield(fiber: Fiber, result: IteratorResult<unknown>): BadYield {
  if (result === SUSPENDED) return new BadYield(`${fiber.path} yielded the wait of an op that is not waiting`)
  const { value } = result
  const where = `${fiber.path} yielded ${show(value)}, which is not an op`
  if (typeof value === 'object' && value !== null) {
    if (typeof (value as PromiseLike<unknown>).then === 'function') {
      return new BadYield(`${where}. A promise is waited for with: yield* until(promise)`)
    }
    if (isOp(value)) {
      const op = typeof (value as Described).describe === 'function' ? describe(value as Described) : 'the op'
      return new BadYield(`${fiber.path} yielded ${op} without the star. Write yield* ${op}`)
    }
  }
  return new BadYield(`${where}. Only yield* of an op can wait`)
}

function isOp(value: object): boolean {
  try {
    return iteratorOf(value) !== undefined
  } catch {
    return false // its iterator cannot be made now
  }
}

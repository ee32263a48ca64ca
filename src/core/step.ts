// Runs one fiber until its next wait. No other file resumes a fiber's generator (a block drives that of its own body).

import { refuseYield } from './badyield.js'
import { callBody, drive, isGenerator, nextOf, returnOf, runReturned, throwOf } from './body.js'
import { current } from './current.js'
import type { Fiber } from './fiber.js'
import { SUSPENDED } from './op.js'
import {
  ABANDONED,
  type EndCode,
  ERROR,
  FORCED,
  FORCED_YIELDS,
  LIVE,
  RUNNING,
  SIGNAL,
  STOPPED,
  VALUE,
} from './state.js'
import { ladderOf } from './switchpoint.js'
import { emit, tapped, tappedSwitches } from './tap.js'
import { bodyEnded } from './tree.js'

/** Resumes a runnable fiber. */
export function step(fiber: Fiber): void {
  current.fiber = fiber
  fiber._state = RUNNING
  if (tappedSwitches) emit('unblock', fiber)
  let how: EndCode = VALUE
  let value: unknown
  const generator = fiber.generator
  if (generator === null && (fiber._phase !== LIVE || fiber.errors !== null)) {
    endUnstarted(fiber)
    return
  }
  try {
    let result: IteratorResult<unknown>
    if (generator === null) {
      start(fiber)
      result = nextOf.call(fiber.generator as Iterator<unknown>)
    } else if (fiber._phase === FORCED && fiber.how === SIGNAL) {
      result = returnOf.call(generator) // S19; a value that came before is delivered first (S34)
    } else result = nextOf.call(generator)
    if (result !== SUSPENDED || fiber._state === RUNNING) result = settleYield(fiber, result)
    if (!result.done) {
      if (tappedSwitches) emit('block', fiber, fiber.op)
      return
    }
    value = result.value
  } catch (error) {
    how = error === ABANDON ? ABANDONED : ERROR
    value = error
  }
  bodyEnded(fiber, how, value) // outside the try: nothing that happens in it is an error of the body
}

/** A signal came before the first line ran (S05, S67). Errors go first (S26). */
function endUnstarted(fiber: Fiber): void {
  const pending = fiber.errors?.shift() // never empty while it is there
  if (pending === undefined) bodyEnded(fiber, STOPPED, undefined)
  else bodyEnded(fiber, ERROR, pending.error)
}

/** Thrown inside `step` only. */
const ABANDON = Symbol('abandon')

/** The first turn: calls the body (S05). */
function start(fiber: Fiber): void {
  const { body } = fiber
  const returned = callBody(body, fiber.args)
  fiber.generator = isGenerator(returned) ? returned : drive(runReturned(returned, body))
}

/** Handles everything that a generator may yield but a plain wait: its end, forced yields, things that are not ops. */
function settleYield(fiber: Fiber, result: IteratorResult<unknown>): IteratorResult<unknown> {
  const generator = fiber.generator as Iterator<unknown>
  while (!result.done && (result !== SUSPENDED || fiber._state === RUNNING)) {
    if (fiber._phase === FORCED) {
      fiber.rareState().refusals = 0
      if (++ladderOf(fiber, fiber).forcedYields > FORCED_YIELDS) abandon(fiber)
      result = returnOf.call(generator)
    } else result = refuseYield(fiber, result, (error) => throwOf.call(generator, error))
  }
  return result
}

function abandon(fiber: Fiber): never {
  fiber.runtime.counts.abandoned++
  if (tapped) emit('abandoned', fiber)
  fiber.runtime.report({
    kind: 'abandoned',
    message:
      `${fiber.path} was abandoned: it went on yielding after it had been forced to end ${FORCED_YIELDS} times. ` +
      'A finally block in it never lets go; what it holds is lost.',
  })
  throw ABANDON
}

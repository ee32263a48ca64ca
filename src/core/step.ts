// Runs one fiber until its next wait. Nobody else touches a fiber's generator.

import { refuseYield } from './badyield.js'
import {
  callBody,
  drive,
  isGenerator,
  isImpostor,
  isPlainGenerator,
  nextOf,
  returnOf,
  runnerOf,
  runReturned,
  throwOf,
} from './body.js'
import type { Fiber } from './fiber.js'
import { SUSPENDED } from './op.js'
import { ABANDONED, ERROR, FORCED, FORCED_YIELDS, LIVE, RUNNING, SIGNAL, VALUE } from './phase.js'
import { baton } from './runqueue.js'
import { endUnstarted } from './stop.js'
import { emit, tapped } from './tap.js'
import { bodyEnded } from './tree.js'

/** Gives a runnable fiber its turn. */
export function step(fiber: Fiber): void {
  baton.fiber = fiber
  fiber._state = RUNNING
  if (tapped) emit('unblock', fiber)
  try {
    const generator = fiber.generator
    let result: IteratorResult<unknown>
    if (generator === null) {
      if (!start(fiber)) return
      result = nextOf.call(fiber.generator as Iterator<unknown>)
    } else if (fiber._phase === FORCED && fiber.how === SIGNAL) {
      result = returnOf.call(generator) // S19; a value that came before is delivered first (S34)
    } else result = nextOf.call(generator)
    if (result !== SUSPENDED || fiber._state === RUNNING) result = settleYield(fiber, result)
    if (result.done) bodyEnded(fiber, VALUE, result.value)
    else if (tapped) emit('block', fiber, fiber.op)
  } catch (error) {
    if (error === ABANDON) bodyEnded(fiber, ABANDONED, undefined)
    else if (isImpostor(fiber.generator)) {
      fiber.generator = runReturned(fiber.generator, fiber.body)
      step(fiber)
    } else bodyEnded(fiber, ERROR, error)
  }
}

/** Thrown inside `step` only. */
const ABANDON = Symbol('abandon')

/** The first turn: calls the body (S05). False if there is nothing to resume: it has ended already. */
function start(fiber: Fiber): boolean {
  if (fiber._phase !== LIVE || fiber.errors !== null) {
    endUnstarted(fiber)
    return false
  }
  const { body } = fiber
  const returned = callBody(body, fiber.args)
  if (isPlainGenerator(returned, body)) fiber.generator = returned as Iterator<unknown>
  else {
    const runner = runnerOf(returned, body)
    fiber.generator = isGenerator(runner) ? runner : drive(runner)
  }
  return true
}

/** Deals with everything a generator may give but a plain wait: its end, forced yields, things that are no ops. */
function settleYield(fiber: Fiber, result: IteratorResult<unknown>): IteratorResult<unknown> {
  const generator = fiber.generator as Iterator<unknown>
  while (!result.done && (result !== SUSPENDED || fiber._state === RUNNING)) {
    if (fiber._phase === FORCED) {
      const cold = fiber.coldRecord()
      cold.refusals = 0
      if (++cold.forcedYields > FORCED_YIELDS) abandon(fiber)
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

// What happens at a switchpoint: which signal strikes now, which has to wait, and whose turn it is.
//
// A fiber carries a chain of blocks, innermost first, that ends in the fiber itself. Each is a region (S65).
//
//   op  <-  block  <-  block (shield)  <-  block (unwinding)  <-  fiber
//           inside-out walk: the outermost requested region strikes, but nothing reaches past a shield
//           or past a region that is already unwinding.

import { BadYield, NotInFiber, type Stop } from './errors.js'
import type { Fiber } from './fiber.js'
import { type BaseOp, describe } from './op.js'
import { BUDGET, CLOSING, FORCED, FORCED_YIELDS, LIVE, REQUESTED, SWALLOWS, UNWINDING } from './phase.js'
import type { Region } from './region.js'
import { force } from './stop.js'
import { emit, tapped } from './tap.js'

/** Go on; an op that is ready finishes at once. */
export const PASS = 0
/** Go on, but an op that is ready lets the others run first: the budget is spent (S50). */
export const TURN = 1
/** Forced: the op is not entered (S19). */
export const REFUSED = 2

/** How far a wall lets signals in. */
export const OPEN = 0
/** `shield`: holds stops and the expiry of outer blocks (S20). */
export const SHIELD = 1
/** The cleanup of `ensure`: holds everything (S16b). */
export const HOLD = 2

/** What an op calls when the budget is spent or something is pending. Throws the signal that strikes. */
export function gate(fiber: Fiber, op: Pick<BaseOp<unknown>, 'idle' | 'describe'>): number {
  const runtime = fiber.runtime
  if (runtime.probe !== null) runtime.probe(fiber, op)
  if (isForced(fiber)) {
    if (++fiber.coldRecord().refusals <= FORCED_YIELDS) return REFUSED
    throw iteratedByHand(fiber, describe(op as BaseOp<unknown>)) // nobody has taken its yield for an answer (S69)
  }
  const signal = takeSignal(fiber)
  if (signal !== NOTHING) throw signal
  const unwinding = op.idle ? unwindingRegion(fiber) : null
  if (unwinding !== null) {
    refuse(fiber, unwinding, op)
    return REFUSED
  }
  if (!armDeadlines(fiber) && fiber.errors === null && runtime.probe === null) {
    fiber.budget = BUDGET
    return TURN
  }
  if (fiber.budget > -BUDGET) return PASS
  fiber.budget = 0
  return TURN
}

/** What strikes a fiber that was taken out of its wait; there always is something. */
export function interruption(fiber: Fiber): unknown {
  fiber.cold?.deadline?.stopWaiting()
  const signal = takeSignal(fiber)
  if (signal !== NOTHING) return signal
  return new BadYield(`${fiber.path} was interrupted by nothing; this is a fault of the library`)
}

/** No signal: anything else may be thrown, even null. */
const NOTHING = Symbol('nothing')

/** What is to be thrown at this switchpoint, or NOTHING; whoever asks must throw it. Errors strike first (S26). */
function takeSignal(fiber: Fiber): unknown {
  const errors = fiber.errors
  if (errors !== null && canRaise(fiber)) {
    const { error } = errors.shift()
    if (errors.size === 0) fiber.errors = null
    return error
  }
  const target = findTarget(fiber)
  return target === null ? NOTHING : target.struck()
}

/** The region whose signal strikes at this switchpoint, if any. */
export function findTarget(fiber: Fiber): Region | null {
  let found: Region | null = null
  for (let region: Region | null = fiber.innermost; region !== null; region = region.outer) {
    if (region._phase === REQUESTED) found = region
    else if (region._phase !== LIVE || region.wall !== OPEN) return found
  }
  return found
}

/** Whether a raise or a child error may strike here: not inside `ensure` cleanup, not where something unwinds (S65). */
export function canRaise(fiber: Fiber): boolean {
  for (let region: Region | null = fiber.innermost; region !== null; region = region.outer) {
    if (region._phase >= UNWINDING || region.wall === HOLD) return false
  }
  return true
}

/** Whether nothing may be waited for here any more: the fiber, or a block around this point, is forced. */
export function isForced(fiber: Fiber): boolean {
  for (let region: Region | null = fiber.innermost; region !== null; region = region.outer) {
    if (region._phase === FORCED) return true
  }
  return false
}

/** The region whose signal was thrown and whose cleanup runs here; null inside a shield or ensure of that cleanup. */
export function unwindingRegion(fiber: Fiber): Region | null {
  for (let region: Region | null = fiber.innermost; region !== null; region = region.outer) {
    if (region.wall !== OPEN) return null
    if (region._phase === UNWINDING && region.stopSignal !== null) return region
  }
  return null
}

/** Cleanup is about to wait, or a signal is held: from here on the deadline counts (S18). False if nothing here is ending. */
export function armDeadlines(fiber: Fiber): boolean {
  let isEnding = false
  for (let region: Region | null = fiber.innermost; region !== null; region = region.outer) {
    if (region._phase === LIVE || region._phase === CLOSING) continue
    isEnding = true
    region.armDeadline()
  }
  return isEnding
}

/** S17: an idle op while unwinding throws the signal again; the third time ends the patience. */
function refuse(fiber: Fiber, region: Region, op: Pick<BaseOp<unknown>, 'describe'>): void {
  const runtime = fiber.runtime
  runtime.counts.refused++
  if (tapped) emit('refused', fiber, op)
  if (region.swallowed() < SWALLOWS) throw region.stopSignal as Stop
  runtime.report({
    kind: 'forced',
    message:
      `swallowed stop at ${describe(op as BaseOp<unknown>)}: ${fiber.path} caught its stop ${SWALLOWS} times and went on waiting for work, ` +
      'so it was forced to end. In a catch, rethrow what isStop() tells you is a stop.',
  })
  force(region)
}

/** S69: an op was taken apart by a spread, a destructuring or a loop. */
export function iteratedByHand(fiber: Fiber, what: string, op = what): BadYield {
  return new BadYield(
    `${what} was iterated by something other than yield* in ${fiber.path}. ` +
      `Ops cannot be spread, destructured or looped over; write: const value = yield* ${op}`,
  )
}

export function notInFiber(what: string): NotInFiber {
  return new NotInFiber(
    `${what} was used outside any fiber. Start a program with main(function* () { ... }), ` +
      'or call run(function* () { ... }) from async code. In a callback, fiber.spin(...) makes a child of a fiber that you kept.',
  )
}

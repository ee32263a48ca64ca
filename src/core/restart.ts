// Restarting (S41): the present incarnation is stopped like any fiber, then the same Fiber object runs its body again.
//
//   askRestart -> stop -> (tree) everything has ended -> reincarnate
//                                 an error of the teardown -> forgetRestart
//
// A supervisor may hold a restart (S42): the fiber stays dead until `revive` or `release`. Awaiters go on waiting meanwhile;
// only if the child failed by itself do they get that end at once.

import { stopOnAbort } from './abort.js'
import { BadState, type Stop } from './errors.js'
import type { Fiber } from './fiber.js'
import { append } from './list.js'
import { Call } from './mailbox.js'
import { check, checkOptions } from './options.js'
import { Ring } from './ring.js'
import { ERROR, FORCED_YIELDS, LIVE, NONE, OVER } from './state.js'
import { requestStop } from './switchpoint.js'
import { emit, tapped } from './tap.js'
import type { Owner } from './tree.js'

/** A restart that waits for the end of the present incarnation (S41). */
export interface Restart {
  readonly args: readonly unknown[] | undefined
  /** Messages sent after the call, for the new incarnation. */
  readonly mailbox: Ring<unknown>
  /** The stop of the present incarnation. */
  readonly stop: Stop
  /** The fiber stays dead until its supervisor revives it (S42). */
  readonly isHeld: boolean
  /** The restart was requested when the fiber was dead, so its awaiters have been answered. */
  readonly isLate: boolean
}

/** Options of `restartWith`. */
export interface RestartOptions {
  /** New arguments of the body. */
  args?: readonly unknown[]
  /** Passes the waiting messages to the new incarnation. */
  keepMailbox?: boolean
  /** Milliseconds that the cleanup of the present incarnation may wait. */
  grace?: number
}

const RESTART_OPTIONS = { args: check.array, keepMailbox: check.boolean, grace: check.timeLimit }

/** Replaces the mailbox now, and asks the fiber to end unless it is dead. */
export function askRestart(fiber: Fiber<any, any>, options: RestartOptions, isHeld: boolean): void {
  checkRestart(fiber)
  checkOptions(options, RESTART_OPTIONS, 'restartWith()')
  const stop = fiber.makeStop(undefined, { grace: options.grace, reason: 'restart' }, 'restartWith()')
  const mailbox = carryOver(fiber.rare?.restart?.mailbox ?? fiber._mailbox, options.keepMailbox === true)
  fiber._mailbox = null
  const isLate = fiber._phase === OVER && !isBetweenLives(fiber)
  const rare = fiber.rareState()
  const earlier = rare.restart // of two restarts, the stop of the first counts, and its arguments unless there are new ones
  const args = options.args ?? earlier?.args
  rare.restart = { args, mailbox, stop: earlier?.stop ?? stop, isHeld, isLate }
  rare.mailbox?.changed()
  if (fiber._phase !== OVER) requestStop(fiber, stop)
}

/** The mailbox of the next incarnation: all unread messages, or only the questions of callers that wait for the answer. */
function carryOver(mailbox: Ring<unknown> | null, isWhole: boolean): Ring<unknown> {
  if (isWhole && mailbox !== null) return mailbox
  const kept = new Ring<unknown>()
  for (let i = 0; mailbox !== null && i < mailbox.size; i++) {
    const message = mailbox.at(i)
    if (message instanceof Call && message.isAwaited) kept.push(message)
  }
  return kept
}

function checkRestart(fiber: Fiber<any, any>): void {
  const refuse = (why: string) => new BadState(`${fiber.path} cannot be restarted: ${why}`)
  if (fiber.isMain || fiber.owner === null) {
    throw refuse("it is the root of its tree. Restart a child, or run main's work in a child")
  }
  if (isAbandoned(fiber)) throw refuse('it was abandoned and its generator may still hold resources')
  if (!fiber.owner.isOpen) throw refuse('its parent is over')
}

function isAbandoned(fiber: Fiber<any, any>): boolean {
  return fiber.ladder !== null && fiber.ladder.forcedYields > FORCED_YIELDS
}

/** S41: of stop and restart the later call wins, with its own value and reason. Returns the cancelled restart. */
export function cancelRestart(fiber: Fiber<any, any>, stop: Stop): Restart | null {
  const { rare } = fiber
  if (rare === null || rare.restart === null) return null
  const { restart } = rare
  rare.restart = null
  fiber._mailbox = restart.mailbox // for another restart
  if (fiber.stopSignal === restart.stop) restart.stop.become(stop)
  return restart
}

/** Puts a dead fiber back under its old owner, and restarts it at once. */
export function revive(fiber: Fiber<any, any>): void {
  const owner = fiber.owner as Owner
  owner.newest = append<Fiber<any, any>>(owner.newest, fiber)
  fiber.runtime.alive++
  reincarnate(fiber)
  const signal = fiber.rare?.abortSignal
  if (signal != null) stopOnAbort(fiber, signal)
  owner.host.rare?.supervisor?.childChanged(fiber)
}

/** Whether a requested restart can happen now that the fiber has ended. */
export function canReincarnate(fiber: Fiber): boolean {
  const restart = fiber.rare?.restart
  if (restart == null || restart.isHeld) return false
  return fiber.how !== ERROR && !isAbandoned(fiber) && fiber.owner?.isOpen === true
}

/** An error while the fiber ends cancels a restart (S41), unless a supervisor holds it and decides. */
export function forgetRestart(fiber: Fiber): void {
  const { rare } = fiber
  if (rare !== null && !rare.restart?.isHeld && !canReincarnate(fiber)) rare.restart = null
}

/** Whether another incarnation will follow the present one, as far as is known now. */
export function isRestarting(fiber: Fiber<any, any>): boolean {
  return fiber.rare?.restart != null
}

/** Whether a supervisor holds the restart of this fiber. */
export function isHeld(fiber: Fiber<any, any>): boolean {
  return fiber.rare?.restart?.isHeld === true
}

/** Whether a supervisor holds the restart of a fiber that it stopped itself: for its awaiters the fiber is not dead. */
export function isBetweenLives(fiber: Fiber<any, any>): boolean {
  return isHeld(fiber) && fiber.rare?.restart?.isLate === false && fiber.how !== ERROR
}

/** S41: resets the fiber and makes it runnable. */
export function reincarnate(fiber: Fiber): void {
  const rare = fiber.rareState()
  const { restart } = rare
  if (restart?.args !== undefined) fiber.args = restart.args
  if (restart !== null) fiber._mailbox = restart.mailbox
  rare.restart = null
  rare.incarnation++
  fiber.ladder = null
  rare.badYields = 0
  rare.controller = null
  if (rare.born !== undefined) fiber.locals = rare.born
  fiber.how = NONE
  fiber.value = undefined
  fiber.stopSignal = null
  fiber._phase = LIVE
  fiber.budget = fiber.runtime.freshBudget
  fiber.runtime.push(fiber)
  if (tapped) emit('restart', fiber)
  const signal = rare.abortSignal
  if (signal?.aborted) fiber.stop(undefined, { reason: signal.reason }) // S57: as if it had just been spun
}

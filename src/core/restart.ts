// Restarting (S41): the present incarnation is torn down like any fiber, then the same handle lives again.
//
//   askRestart -> stop -> (tree) everything has ended -> reincarnate        a supervisor may hold it back meanwhile (S42)
//                                 an error of the teardown -> forgetRestart

import type { Restart } from './cold.js'
import { BadState } from './errors.js'
import type { Fiber } from './fiber.js'
import { checkOptions } from './options.js'
import { DEAD, ERROR, LIVE, NONE } from './phase.js'
import { Ring } from './ring.js'
import { requestStop } from './stop.js'
import { emit, tapped } from './tap.js'
import { link, type Owner } from './tree.js'

/** What `restartWith` may be told. */
export interface RestartOptions {
  /** What the body is called with from now on. */
  args?: readonly unknown[]
  /** Hands the messages that wait to the new incarnation. */
  keepMailbox?: boolean
  /** Milliseconds that the cleanup of the present incarnation may wait. */
  grace?: number
}

/** The mailbox is cut now; unless it is dead, the fiber is asked to end. */
export function askRestart(fiber: Fiber<any, any>, options: RestartOptions, isHeld: boolean): void {
  checkRestart(fiber)
  checkOptions(options, ['args', 'keepMailbox', 'grace'], 'restartWith()')
  const stop = fiber.makeStop(undefined, { grace: options.grace, reason: 'restart' }, 'restartWith()')
  const mailbox =
    (options.keepMailbox && (fiber.cold?.restart?.mailbox ?? fiber._mailbox)) || new Ring<unknown>()
  if (fiber._mailbox !== mailbox) fiber._mailbox = null
  const cold = fiber.coldRecord()
  cold.restart = { args: options.args, mailbox, stop: cold.restart?.stop ?? stop, isHeld } // of two, the first tears it down
  cold.mailbox?.changed()
  if (fiber._state !== DEAD) requestStop(fiber, stop)
}

function checkRestart(fiber: Fiber<any, any>): void {
  const refuse = (why: string) => new BadState(`${fiber.path} cannot be restarted: ${why}`)
  if (fiber.isMain || fiber.owner === null) {
    throw refuse("it is the root of its tree. Restart a child, or run main's work in a child")
  }
  if (fiber.isAbandoned) throw refuse('it was abandoned and its generator may still hold resources')
  if (!fiber.owner.isOpen) throw refuse('its parent is over')
}

/** A dead fiber goes back under its old owner, and lives again at once. */
export function revive(fiber: Fiber<any, any>): void {
  link(fiber, fiber.owner as Owner)
  fiber.runtime.alive++
  reincarnate(fiber)
}

/** Whether the restart that was asked for takes place now that the fiber has ended. */
export function canReincarnate(fiber: Fiber, restart: Restart | null): boolean {
  if (restart === null || restart.isHeld) return false
  return fiber.how !== ERROR && !fiber.isAbandoned && fiber.owner?.isOpen === true
}

/** An error of the teardown cancels a restart (S41); of one that is held the supervisor decides. */
export function forgetRestart(fiber: Fiber): void {
  const { cold } = fiber
  if (cold !== null && !cold.restart?.isHeld && !canReincarnate(fiber, cold.restart)) cold.restart = null
}

/** S41: the same handle lives again, with a clean slate. */
export function reincarnate(fiber: Fiber): void {
  const cold = fiber.coldRecord()
  const restart = cold.restart
  if (restart?.args !== undefined) fiber.args = restart.args
  if (restart != null) fiber._mailbox = restart.mailbox
  cold.restart = null
  cold.incarnation++
  cold.tight = Infinity
  cold.swallows = 0
  cold.forcedYields = 0
  cold.badYields = 0
  if (cold.born !== undefined) fiber.locals = cold.born
  cold.controller = null
  fiber.how = NONE
  fiber.value = undefined
  fiber.stopSignal = null
  fiber._phase = LIVE
  fiber.budget = fiber.runtime.freshBudget
  fiber.runtime.push(fiber)
  if (tapped) emit('restart', fiber)
  const signal = cold.abortSignal
  if (signal?.aborted) fiber.stop(undefined, { reason: signal.reason }) // S57: as if it had just been spun
}

// The stop ladder (S15-S21): ask, throw once, let cleanup wait until the deadline, then force, then abandon.
// This file asks and forces; the throwing is done at switchpoints (gate), the abandoning by step.

import { hurryCleanups } from './cleanup.js'
import type { Cold } from './cold.js'
import type { Stop } from './errors.js'
import type { Fiber } from './fiber.js'
import { armDeadlines, canRaise, findTarget } from './gate.js'
import { describe, withdraw } from './op.js'
import { CLOSING, DEAD, ERROR, FORCED, LIVE, REQUESTED, SIGNAL, STOPPED, WAITING } from './phase.js'
import type { Region } from './region.js'
import { Ring } from './ring.js'
import { emit, tapped } from './tap.js'
import type { TimerNode } from './timers.js'
import { bodyEnded, listChildren } from './tree.js'

/** Asks a fiber to end. A second call never throws twice: it can only bring the deadline nearer (S21). */
export function requestStop(fiber: Fiber, stop: Stop): void {
  if (fiber._phase === LIVE) {
    fiber._phase = REQUESTED
    fiber.stopSignal = stop
    if (tapped) emit('stop', fiber, stop)
    fiber.cold?.controller?.abort(stop.reason)
    if (fiber.deadline <= stop.since) force(fiber)
    else interrupt(fiber)
  } else if (fiber._phase < FORCED) {
    tighten(fiber, stop)
  } else if (fiber._phase === FORCED) {
    // Its body is at its end; what may still be shortened is the time of its children.
    fiber.coldRecord().tight = Math.min(fiber.deadline, stop.deadlineFor(fiber))
  } else if (fiber._phase === CLOSING) tightenChildren(fiber, stop)
}

/** The body is over, its children are dying or its cleanups run: they may have to hurry. A list, not recursion: trees may be deep. */
function tightenChildren(fiber: Fiber, stop: Stop): void {
  const closing = [fiber]
  for (let parent = closing.pop(); parent !== undefined; parent = closing.pop()) {
    hurryCleanups(parent, stop)
    for (const child of listChildren(parent)) {
      if (child._phase === CLOSING) closing.push(child)
      else requestStop(child, stop)
    }
  }
}

/** S41: of stop and restart the later verb wins, with its own value and reason. */
export function cancelRestart(fiber: Fiber<any, any>, stop: Stop): void {
  const restart = fiber.cold?.restart
  if (restart == null) return
  ;(fiber.cold as Cold).restart = null
  if (restart.isHeld && fiber._state === DEAD) endForGood(fiber)
  if (restart.isHeld) fiber.parent?.cold?.supervisor?.childChanged(fiber)
  if (fiber.stopSignal === restart.stop) restart.stop.become(stop)
}

/** It is dead and will not live again after all: those who waited for its next incarnation are told (S39). */
export function endForGood(fiber: Fiber<any, any>): void {
  fiber.cold?.ended(fiber.how, fiber.value)
  fiber.cold?.mailbox?.close()
}

/** S21: the first value and reason stay, the smaller grace wins. */
function tighten(fiber: Fiber, later: Stop): void {
  const deadline = later.deadlineFor(fiber)
  if (deadline >= fiber.deadline) return
  fiber.coldRecord().tight = deadline
  if (deadline <= later.since) force(fiber)
  else if (fiber.cold?.deadline != null) fiber.armDeadline()
  if (tapped) emit('stop', fiber, fiber.stopSignal)
}

/** Something became pending for this fiber: strike at once if it waits where a signal can reach it. */
export function interrupt(fiber: Fiber): void {
  fiber.budget = 0
  if (fiber._state !== WAITING) return
  if (fiber.how === SIGNAL) {
    boundLater(fiber)
  } else if (findTarget(fiber) !== null || (fiber.errors !== null && canRaise(fiber))) {
    withdraw(fiber)
  } else {
    armDeadlines(fiber) // held by a shield or by cleanup further in, but its deadline counts all the same (S65)
  }
}

/** Stopped or raised in before it ran one line (S05, S67). Errors strike first (S26). */
export function endUnstarted(fiber: Fiber): void {
  const pending = fiber.errors?.shift() // never empty while it is there
  if (pending === undefined) bodyEnded(fiber, STOPPED, undefined)
  else bodyEnded(fiber, ERROR, pending.error)
}

/**
 * S35: an aborted op has not ended yet. The fiber waits for it, but no longer than the grace of what strikes;
 * something else that wants to strike meanwhile may shorten that.
 */
export function boundLater(fiber: Fiber): void {
  const cold = fiber.coldRecord()
  if (cold.deadline === null) cold.deadline = new Deadline(fiber)
  let latest = cold.deadline.leaveAt
  for (let region: Region | null = fiber.innermost; region !== null; region = region.outer) {
    latest = Math.min(latest, region.deadline)
  }
  cold.deadline.leaveAt = latest
  cold.deadline.arm()
}

/** Throws an error into a fiber at its current or next switchpoint: `raise`, `cancel`, or the error of a child. */
export function queueError(fiber: Fiber, error: unknown, fromChild: boolean): void {
  keepError(fiber, error, fromChild)
  interrupt(fiber)
}

/** The same for a fiber that is being interrupted anyway. */
export function keepError(fiber: Fiber, error: unknown, fromChild = true): void {
  ;(fiber.errors ??= new Ring()).push({ error, fromChild })
}

/** The end of patience: no more waiting, every yield is answered by `return()` (S19). */
export function force(region: Region): void {
  const fiber = region.fiber as Fiber
  if (region._phase >= FORCED) return
  region._phase = FORCED
  fiber.budget = 0
  fiber.runtime.counts.forced++
  if (tapped) emit('forced', fiber, region)
  if (fiber._state === WAITING) withdraw(fiber, false) // completion wins here too: a value is delivered before the first return()
}

/** The deadline of a fiber whose cleanup waits, and of an op that answered LATER. Made only when needed. */
export class Deadline implements TimerNode {
  time = 0
  seq = 0
  index = -1
  /** When the fiber is forced. */
  forceAt = Infinity
  /** When an aborted op that has not ended is left behind (S35). */
  leaveAt = Infinity

  constructor(readonly fiber: Fiber) {}

  arm(): void {
    const { timers } = this.fiber.runtime
    timers.remove(this)
    const time = Math.min(this.forceAt, this.leaveAt)
    if (time < Infinity) this.fiber.runtime.addTimer(this, time)
  }

  /** The op that answered LATER has ended, or was left behind. */
  stopWaiting(): void {
    if (this.leaveAt === Infinity) return
    this.leaveAt = Infinity
    this.arm()
  }

  disarm(): void {
    this.forceAt = Infinity
    this.leaveAt = Infinity
    this.fiber.runtime.timers.remove(this)
  }

  fire(): void {
    const { fiber, time } = this
    const leave = this.leaveAt <= time
    const forced = this.forceAt <= time
    if (leave) this.leaveAt = Infinity
    if (forced) this.forceAt = Infinity
    this.arm()
    if (forced && fiber._phase < FORCED) reportOverdue(fiber, fiber)
    else if (leave && fiber._state === WAITING && fiber.how === SIGNAL) fiber.runtime.push(fiber)
  }
}

/** The grace of a region is over: says so, and forces it. */
export function reportOverdue(region: Region, fiber: Fiber): void {
  const site = region.stopSignal?.site // only in debug mode
  const waiting = fiber.op === null ? 'running' : `waiting for ${describe(fiber.op)}`
  fiber.runtime.report({
    kind: 'forced',
    message:
      `${region === fiber ? fiber.path : `a block of ${fiber.path}`} was forced to end: its grace is over and it was still ${waiting}. ` +
      `Give it more with {grace}, or make its cleanup shorter.${site ? `\nIt was stopped here:\n${site}` : ''}`,
  })
  force(region)
}

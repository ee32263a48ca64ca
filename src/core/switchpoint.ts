// What happens at a switchpoint. Three questions are answered here and nowhere else:
//
//   which signal is thrown here?   survey, findTarget, gate, interrupt
//   what does a stop do?           requestStop, requestEnd, force (the ladder S15-S21: ask, throw once, force)
//   when will this be forced?      deadlineOf, Ladder
//
// A fiber carries a chain of blocks, innermost first, that ends in the fiber itself. Each is a region (S65).
//
//   op  <-  block  <-  block (shield)  <-  block (unwinding)  <-  fiber
//           inside-out walk: the signal of the outermost requested region is delivered, but nothing reaches past a
//           barrier or past a region that is already unwinding.

import type { Block } from './block.js'
import { callout } from './current.js'
import { describe } from './debug.js'
import { BadYield, iteratedByHand, Stop } from './errors.js'
import type { Fiber } from './fiber.js'
import { listBackwards } from './list.js'
import type { BaseOp } from './op.js'
import { checkFiber } from './options.js'
import { Ring } from './ring.js'
import {
  ABORTING,
  BARS_ALL,
  BUDGET,
  CLOSING,
  ERROR,
  FORCED,
  FORCED_YIELDS,
  LIVE,
  NO_BARRIER,
  NONE,
  PASS,
  type Passage,
  type PhaseCode,
  REFUSED,
  REQUESTED,
  SIGNAL,
  SWALLOWS,
  TURN,
  UNWINDING,
  VALUE,
  WAITING,
} from './state.js'
import { emit, tapped } from './tap.js'
import type { TimerNode } from './timers.js'

/**
 * A fiber, or a block inside one (S65). Both go through the same phases and up the same ladder (`_phase`, `stopSignal`,
 * `ladder`), and both may have children (`newest`). Blocks are linked through `outer`; the last one's is the fiber.
 */
export type Region = Fiber<any, any> | Block<any>

const NO_BLOCKS: readonly Block<unknown>[] = []

/** The blocks that a fiber is in now, the innermost first, including those that hold locks or resources. */
export function blocksOf(fiber: Fiber): readonly Block<unknown>[] {
  return fiber.innermost === fiber ? NO_BLOCKS : (regionsOf(fiber).slice(0, -1) as Block<unknown>[])
}

// ---- which signal is thrown here

// What a walk over the regions of a fiber has found, as bits.
/** Waiting is no longer allowed: the fiber, or a block around this point, is forced. */
const IS_FORCED = 1
/** A region is on its way to its end: ops must ask for signals. */
const IS_ENDING = 2
/** An error may not be thrown here: inside the cleanup of `ensure`, or where something unwinds (S65). */
const NO_ERRORS = 4
/** The signal of a region is to be delivered here: `findTarget` says which. */
const HAS_TARGET = 8

function survey(fiber: Fiber): number {
  let found = 0
  let isReached = true // by signals from further out
  for (let region: Region = fiber.innermost; region !== fiber; region = (region as Block<any>).outer) {
    const { _phase: phase, barrier } = region as Block<any>
    if (phase !== LIVE) found |= bitsOf(phase, isReached)
    if (barrier === BARS_ALL) found |= NO_ERRORS
    if ((phase !== LIVE && phase !== REQUESTED) || (phase === LIVE && barrier !== NO_BARRIER))
      isReached = false
  }
  return fiber._phase === LIVE ? found : found | bitsOf(fiber._phase, isReached)
}

/** What the phase of one region means for everything inside it. */
function bitsOf(phase: PhaseCode, isReached: boolean): number {
  if (phase === REQUESTED) return isReached ? IS_ENDING | HAS_TARGET : IS_ENDING
  if (phase === CLOSING) return NO_ERRORS
  return phase === FORCED ? IS_ENDING | NO_ERRORS | IS_FORCED : IS_ENDING | NO_ERRORS
}

/** The outermost region with a signal that can be delivered here; there is one (HAS_TARGET). */
function findTarget(fiber: Fiber): Region {
  let target: Region = fiber
  let region: Region = fiber.innermost
  for (; region !== fiber; region = (region as Block<any>).outer) {
    if (region._phase === REQUESTED) target = region
    else if (region._phase !== LIVE || (region as Block<any>).barrier !== NO_BARRIER) return target
  }
  return fiber._phase === REQUESTED ? fiber : target
}

/** The region that has thrown its signal and runs its cleanup here; null inside a barrier of that cleanup. */
function findUnwinding(fiber: Fiber): Region | null {
  let region: Region = fiber.innermost
  for (; region !== fiber; region = (region as Block<any>).outer) {
    if ((region as Block<any>).barrier !== NO_BARRIER) return null
    if (region._phase === UNWINDING && region.stopSignal !== null) return region
  }
  return fiber._phase === UNWINDING ? fiber : null
}

/** Whether waiting is no longer allowed here. */
export function isForced(fiber: Fiber): boolean {
  return (survey(fiber) & IS_FORCED) !== 0
}

/** Whether neither the fiber nor a block that it is in was asked to end. */
export function isCalm(fiber: Fiber): boolean {
  return fiber.errors === null && (survey(fiber) & IS_ENDING) === 0
}

/** Whether cleanup of something that was stopped runs here, outside of any barrier (S17). */
export function isUnwinding(fiber: Fiber): boolean {
  return fiber.budget <= 0 && findUnwinding(fiber) !== null
}

/** What an op calls when the budget is spent or something is pending. Throws the signal that is delivered here. */
export function gate(fiber: Fiber, op: { readonly idle: boolean; describe(): string }): Passage {
  const runtime = fiber.runtime
  if (runtime.probe !== null) runtime.probe(fiber, op)
  const found = survey(fiber)
  if ((found & IS_FORCED) !== 0) {
    if (++fiber.rareState().refusals <= FORCED_YIELDS) return REFUSED
    throw iteratedByHand(fiber, describe(op)) // the yields are not answered: something iterates the op by hand (S69)
  }
  const signal = takeSignal(fiber, found)
  if (signal !== NOTHING) throw signal
  if ((found & IS_ENDING) !== 0) {
    const unwinding = op.idle ? findUnwinding(fiber) : null
    if (unwinding !== null) {
      refuse(fiber, unwinding, op)
      return REFUSED
    }
  } else if (fiber.errors === null && runtime.probe === null) {
    fiber.budget = BUDGET
    return TURN
  }
  if (fiber.budget > -BUDGET) return PASS
  fiber.budget = 0
  armDeadlines(fiber) // cleanup that is never out of ready ops has its deadline too
  return TURN
}

/** What is thrown into a fiber whose wait was aborted; there always is something. */
export function interruption(fiber: Fiber): unknown {
  fiber.ladder?.stopWaiting()
  const signal = takeSignal(fiber, survey(fiber))
  if (signal !== NOTHING) return signal
  return new BadYield(`internal error: ${fiber.path} was interrupted without a signal. Please report this.`)
}

/** No signal. A symbol, since any value may be thrown, even null. */
const NOTHING = Symbol('nothing')

/** What is to be thrown at this switchpoint, or NOTHING; the caller must throw it. Errors go first (S26). */
function takeSignal(fiber: Fiber, found: number): unknown {
  const errors = fiber.errors
  if (errors !== null && (found & NO_ERRORS) === 0) {
    const { error } = errors.shift()
    if (errors.size === 0) fiber.errors = null
    passThrough(fiber, fiber, error, false)
    restoreBudget(fiber)
    return error
  }
  if ((found & HAS_TARGET) === 0) return NOTHING
  const target = findTarget(fiber)
  target._phase = UNWINDING
  passThrough(fiber, target, target.stopSignal, true)
  return target.stopSignal
}

/** Tells the regions inside `target` that a signal passes through them. */
function passThrough(fiber: Fiber, target: Region, signal: unknown, isStop: boolean): void {
  for (let inner: Region = fiber.innermost; inner !== target; inner = (inner as Block<any>).outer) {
    ;(inner as Block<any>).passedBy(signal, isStop)
  }
}

/**
 * A signal was delivered, or an ending region was left: the budget is a fresh one, unless something else is pending (S50). Once
 * for each turn: a loop over limits of 0 ms must let others run.
 */
export function restoreBudget(fiber: Fiber): void {
  const { runtime } = fiber
  fiber.budget = 0
  if (!isCalm(fiber) || runtime.restoredAt === runtime.switches) return
  runtime.restoredAt = runtime.switches
  fiber.budget = runtime.freshBudget
}

/** S17: an idle op while unwinding throws the signal again; the third time forces the region. */
function refuse(fiber: Fiber, region: Region, op: { describe(): string }): void {
  const runtime = fiber.runtime
  runtime.counts.refused++
  if (tapped) emit('refused', fiber, op)
  if (++ladderOf(region, fiber).swallows < SWALLOWS) throw region.stopSignal as Stop
  runtime.report({
    kind: 'forced',
    message:
      `swallowed stop at ${describe(op)}: ${fiber.path} caught its stop ${SWALLOWS} times and went on waiting for work, ` +
      'so it was forced to end. In a catch, rethrow what isStop() tells you is a stop.',
  })
  force(region, fiber)
}

/** Something became pending for this fiber: it is delivered at once if the fiber waits where a signal can reach it. */
export function interrupt(fiber: Fiber): void {
  fiber.budget = 0
  if (fiber._state !== WAITING) return
  if (fiber.how === SIGNAL) {
    boundLater(fiber)
    return
  }
  const found = survey(fiber)
  if ((found & IS_FORCED) !== 0)
    withdraw(fiber, false) // forced while it entered this wait
  else if ((found & HAS_TARGET) !== 0 || (fiber.errors !== null && (found & NO_ERRORS) === 0)) withdraw(fiber)
  else armDeadlines(fiber) // held by a barrier or by cleanup further in, but its deadline counts all the same (S65)
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

// ---- the chain of regions

/**
 * Abandons the blocks of a fiber inside a region, whose generator is over or was dropped. Returns the errors that they kept. After a
 * stack overflow, bodies further in may not have had the stack to end: they are ended here, the innermost first.
 */
export function abandonInside(region: Region, fiber: Fiber, overflow?: unknown): unknown[] {
  const errors: unknown[] = []
  while (fiber.innermost !== region) {
    const inner = fiber.innermost as Block<any>
    if (overflow !== undefined) inner.endBody(overflow, errors)
    inner.abandon(errors)
    fiber.innermost = inner.outer // at once: if the stack overflows, a region further out goes on from here
  }
  return errors
}

/** A block is left while regions further in are open (S61): they hang on what is around it from now on. */
export function unchain(block: Block<any>, fiber: Fiber): void {
  for (let inner: Region = fiber.innermost; inner !== fiber; inner = (inner as Block<any>).outer) {
    if ((inner as Block<any>).outer === block) (inner as Block<any>).outer = block.outer
  }
}

/** All regions of a fiber, the innermost first, the fiber itself last. */
export function regionsOf(fiber: Fiber<any, any>): Region[] {
  const regions: Region[] = []
  for (let region: Region = fiber.innermost; region !== fiber; region = (region as Block<any>).outer) {
    regions.push(region)
  }
  regions.push(fiber)
  return regions
}

// ---- taking a wait back

declare const later: unique symbol
/** The type of `LATER`. Not a symbol, since that of a symbol is lost where a function returns it. */
export interface Later {
  readonly [later]: true
}

/**
 * What `abort` returns when the work cannot be cancelled, such as a write that has begun: the fiber waits for its end, as
 * long as its grace allows, and the answer is late (S35).
 *
 * ```ts
 * class Commit extends OutsideOp<string> {
 *   protected start(attempt: Attempt<string>) {
 *     setImmediate(() => attempt.settle('committed'))
 *   }
 *   protected cancel(): typeof LATER {
 *     return LATER
 *   }
 *   override discard(late: string) {
 *     console.log(`stopped, but ${late}`) // stopped, but committed
 *   }
 *   describe() {
 *     return 'commit()'
 *   }
 * }
 * const fiber = spin(() => new Commit())
 * yield* snooze()
 * yield* fiber.stop()
 * ```
 */
export const LATER = Object.freeze({}) as Later

/**
 * Takes a waiting fiber out of its op, if it is in one, so that a signal can be delivered. Completion wins: an abort may
 * still settle (S34). An op that ends LATER is waited for, unless the deadline has passed (S35).
 */
function withdraw(fiber: Fiber, isPatient = true): void {
  if (fiber.how === ABORTING) return // the abort itself called back
  let isLater = false
  if (fiber.op !== null && fiber.how === NONE) {
    fiber.how = ABORTING
    isLater = abortOp(fiber, fiber.op) === LATER
  }
  if ((fiber._state as number) !== WAITING) return
  fiber.how = SIGNAL
  if (isLater && isPatient && !isForced(fiber)) boundLater(fiber)
  else fiber.runtime.push(fiber)
}

/** Aborts an op; an exception from `abort` never lands in the fiber that happened to cause it (S70). */
export function abortOp(fiber: Fiber, op: BaseOp<unknown>): void | typeof LATER {
  try {
    return op.abort(fiber)
  } catch (error) {
    fiber.runtime.uncaught(error, `aborting ${describe(op)} failed`)
  } finally {
    // Unless the abort itself settled it: then the fiber gets that value.
    if (fiber.how !== VALUE && fiber.how !== ERROR) op.leftBehind?.()
  }
}

/**
 * S35: an aborted op has not ended yet. The fiber waits for it, but no longer than the grace of what is to be delivered;
 * another signal may shorten that meanwhile.
 */
function boundLater(fiber: Fiber): void {
  let latest = graceEnd(fiber)
  for (const region of regionsOf(fiber)) latest = Math.min(latest, deadlineOf(region, fiber))
  ladderOf(fiber, fiber).waitUntil(latest)
}

// ---- asking to end, and forcing

/** Asks a fiber to end. A second call never throws twice: it can only bring the deadline nearer (S21). */
export function requestStop(fiber: Fiber, stop: Stop): void {
  const phase = fiber._phase
  if (phase === LIVE) {
    fiber._phase = REQUESTED
    fiber.stopSignal = stop
    if (tapped) emit('stop', fiber, stop)
    const controller = fiber.rare === null ? null : fiber.rare.controller
    if (controller !== null) callout(fiber.runtime, 'an abort listener', () => controller.abort(stop.reason))
    if (deadlineOf(fiber, fiber) <= stop.since) force(fiber, fiber)
    else interrupt(fiber)
  } else if (phase < FORCED) tighten(fiber, stop)
  else if (phase === FORCED) {
    // Its body is at its end; what may still be shortened is the time of its children.
    bringNearer(fiber, boundFor(fiber, stop))
  } else if (phase === CLOSING) tightenChildren(fiber, stop)
}

/** Asks a block to end. */
export function requestEnd(
  block: Block<any>,
  reason: unknown,
  grace: number | undefined,
  keepsErrors = false,
): void {
  const fiber = block.fiber as Fiber
  const now = fiber.runtime.now()
  block._phase = REQUESTED
  block.stopSignal = new Stop(
    undefined,
    reason,
    now,
    now + (grace ?? fiber.grace),
    false,
    undefined,
    keepsErrors,
  )
  interrupt(fiber)
}

/** S21: the first value and reason stay, the smaller grace wins. */
function tighten(fiber: Fiber, later: Stop): void {
  const deadline = boundFor(fiber, later)
  const isWaiting = fiber._state === WAITING || fiber.ladder !== null
  if (!bringNearer(fiber, deadline)) return
  if (deadline <= later.since) force(fiber, fiber)
  else if (isWaiting) armDeadline(fiber, fiber)
  if (tapped) emit('stop', fiber, fiber.stopSignal)
}

/** The body is over, its children are dying or its cleanups run: they may have to hurry. A list, not recursion: trees may be deep. */
function tightenChildren(fiber: Fiber, stop: Stop): void {
  const closing = [fiber]
  for (let parent = closing.pop(); parent !== undefined; parent = closing.pop()) {
    parent.rare?.cleanups?.hurry(parent, stop)
    for (const child of listBackwards<Fiber<any, any>>(parent.newest)) {
      if (child._phase === CLOSING) closing.push(child)
      else requestStop(child, stop)
    }
  }
}

/** Forces a region: it may no longer wait, every yield is answered by `return()` (S19). */
export function force(region: Region, fiber: Fiber): void {
  if (region._phase >= FORCED) return
  region._phase = FORCED
  fiber.budget = 0
  fiber.runtime.counts.forced++
  if (tapped) emit('forced', fiber, region)
  if (fiber._state === WAITING) withdraw(fiber, false) // completion wins here too: a value is delivered before the first return()
}

// ---- deadlines

/** The deadline that a stop sets for the cleanup of a fiber. That of a parent's stop is only an upper bound of its grace. */
export function boundFor(fiber: Fiber<any, any>, stop: Stop): number {
  return stop.bound ? Math.min(stop.deadline, stop.since + fiber._grace) : stop.deadline
}

/** The deadline of a region's cleanup; Infinity if there is none (S18). */
export function deadlineOf(region: Region, fiber: Fiber): number {
  const { stopSignal: stop, ladder } = region
  if (stop === null) return Infinity
  const deadline = boundFor(fiber, stop)
  return ladder === null ? deadline : Math.min(deadline, ladder.latest)
}

/** The deadline of a fiber; of one that was not stopped, what it would be if it were stopped now. */
export function graceEnd(fiber: Fiber): number {
  return fiber.stopSignal === null ? fiber.runtime.now() + fiber._grace : deadlineOf(fiber, fiber)
}

/**
 * Milliseconds until the code that runs now in a fiber is forced to end (S18): `Infinity` unless the fiber, or a block that it
 * is in, was stopped; 0 if it may not wait any more. For cleanup that has to divide its time.
 *
 * ```ts
 * const fiber = spin(function* () {
 *   try {
 *     yield* sleep()
 *   } finally {
 *     console.log(timeLeft(Fiber.current) <= 200) // true
 *   }
 * })
 * yield* snooze()
 * console.log(timeLeft(fiber)) // Infinity
 * yield* fiber.stop(undefined, { grace: 200 })
 * ```
 */
export function timeLeft(fiber: Fiber<any, any>): number {
  checkFiber(fiber, 'timeLeft()')
  let time = Infinity
  for (const region of regionsOf(fiber)) {
    if (region._phase !== CLOSING) time = Math.min(time, forceTime(region, fiber))
  }
  return isForced(fiber) ? 0 : Math.max(0, time - fiber.runtime.now())
}

/** A body that still has children may use half of what is left, so that they can clean up too (S18). */
function forceTime(region: Region, fiber: Fiber): number {
  const whole = deadlineOf(region, fiber)
  if (region !== fiber || whole === Infinity || !hasChildren(fiber)) return whole
  const now = fiber.runtime.now()
  return now + Math.max(0, whole - now) / 2
}

function hasChildren(fiber: Fiber): boolean {
  for (let region: Region = fiber.innermost; region !== fiber; region = (region as Block<any>).outer) {
    if (region.newest !== null) return true
  }
  return fiber.newest !== null
}

/** Cleanup waits, or a signal is held: from here on the timers of the deadlines run. */
function armDeadlines(fiber: Fiber): void {
  for (let region: Region = fiber.innermost; region !== fiber; region = (region as Block<any>).outer) {
    if (region._phase !== LIVE) armDeadline(region, fiber)
  }
  if (fiber._phase !== LIVE && fiber._phase !== CLOSING) armDeadline(fiber, fiber)
}

/** Sets the timer that forces a region. A region that is forced already, or has no deadline, needs none. */
export function armDeadline(region: Region, fiber: Fiber): void {
  if (region._phase === FORCED || region.stopSignal === null) return
  const time = forceTime(region, fiber)
  if (time < Infinity) ladderOf(region, fiber).forceBy(time)
}

/** Brings the deadline of a fiber nearer. False if it is as near already. */
function bringNearer(fiber: Fiber, deadline: number): boolean {
  if (deadline >= deadlineOf(fiber, fiber)) return false
  ladderOf(fiber, fiber).latest = deadline
  return true
}

export function ladderOf(region: Region, fiber: Fiber): Ladder {
  region.ladder ??= new Ladder(region, fiber)
  return region.ladder
}

/** The deadlines and counters of a region between its signal and its forced end. Made when it first waits there. */
export class Ladder implements TimerNode {
  time = 0
  seq = 0
  index = -1
  /** A deadline that was brought nearer after the stop was asked for (S21). */
  latest = Infinity
  /** Idle ops that were refused (S17). */
  swallows = 0
  /** Yields that were answered by return() (S19). */
  forcedYields = 0
  /** When the region is forced. */
  private forceAt = Infinity
  /** When an aborted op that has not ended is left behind (S35). */
  private leaveAt = Infinity

  constructor(
    private readonly region: Region,
    private readonly fiber: Fiber,
  ) {}

  forceBy(time: number): void {
    if (time >= this.forceAt) return
    this.forceAt = time
    this.arm()
  }

  /** The fiber waits for an op that answered LATER, until this time at most. */
  waitUntil(time: number): void {
    this.leaveAt = Math.min(this.leaveAt, time)
    this.arm()
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
    if (this.index >= 0) this.fiber.runtime.timers.remove(this)
  }

  private arm(): void {
    const { runtime } = this.fiber
    if (this.index >= 0) runtime.timers.remove(this)
    const time = Math.min(this.forceAt, this.leaveAt)
    if (time < Infinity) runtime.addTimer(this, time)
  }

  fire(): void {
    const { region, fiber, time } = this
    const isLeft = this.leaveAt <= time
    const isForced = this.forceAt <= time
    if (isLeft) this.leaveAt = Infinity
    if (isForced) this.forceAt = Infinity
    this.arm()
    if (isForced && region._phase < FORCED) {
      const whole = deadlineOf(region, fiber)
      if (time >= whole || hasChildren(fiber)) {
        reportOverdue(region, fiber)
        force(region, fiber)
        return
      }
      this.forceBy(whole) // the children that the other half was for are gone
    }
    if (isLeft && fiber._state === WAITING && fiber.how === SIGNAL) fiber.runtime.push(fiber)
  }
}

function reportOverdue(region: Region, fiber: Fiber): void {
  const site = region.stopSignal?.site // only in debug mode
  const waiting = fiber.op === null ? 'running' : `waiting for ${describe(fiber.op)}`
  fiber.runtime.report({
    kind: 'forced',
    message:
      `${region === fiber ? fiber.path : `a block of ${fiber.path}`} was forced to end: its grace is over and it was still ${waiting}. ` +
      `Give it more with {grace}, or make its cleanup shorter.${site ? `\nIt was stopped here:\n${site}` : ''}`,
  })
}

// Who owns whom, what happens when a body ends, and who learns of a death. Nobody else decides these.
//
//   parent.newest -> C -> B -> A        children, newest first, linked through older/newer
//
// A fiber is dead when its body has ended and all its children are dead (S01).

import { endCleanups, startCleanups } from './cleanup.js'
import { debugging, floatingOps, lengthenStack, opSite } from './debug.js'
import {
  carries,
  errorFiber,
  FiberStopped,
  isStop,
  leaveBody,
  markReceived,
  Stop,
  suppress,
} from './errors.js'
import type { Fiber } from './fiber.js'
import { describe, dropOp } from './op.js'
import { makeOutcome } from './outcome.js'
import { CLOSING, DEAD, ERROR, FORCED, OVER, STOPPED, UNWINDING, VALUE, WAITING } from './phase.js'
import { canReincarnate, forgetRestart, reincarnate } from './restart.js'
import type { Scope } from './scope.js'
import { cancelRestart, queueError, requestStop } from './stop.js'
import { emit, tapped } from './tap.js'

/** What children hang on: a fiber, or a scope inside one. `host` is the fiber itself, or the one that runs the scope. */
export type Owner = Fiber<any, any> | Scope<any>

/** Someone who waits for a fiber to end. Nodes of a doubly linked list, so leaving is cheap. */
export interface Observer {
  /** The fiber that waits. */
  watcher: Fiber | null
  before: Observer | null
  after: Observer | null
  /** It is dead; `how` and `value` tell how. It may be restarted before the watcher runs. */
  ended(how: number, value: unknown): void
}

export function link(fiber: Fiber, owner: Owner): void {
  fiber.owner = owner
  fiber.newer = null
  fiber.older = owner.newest
  if (owner.newest !== null) owner.newest.newer = fiber
  owner.newest = fiber
}

export function unlink(fiber: Fiber): void {
  const { owner, older, newer } = fiber
  if (owner === null) return
  if (newer !== null) newer.older = older
  else owner.newest = older
  if (older !== null) older.newer = newer
  fiber.older = null
  fiber.newer = null
}

export function observe(fiber: Fiber, observer: Observer): void {
  // Appended, so that awaiters are woken in the order in which they came.
  const last = fiber.lastObserver
  observer.before = last
  observer.after = null
  if (last !== null) last.after = observer
  fiber.lastObserver = observer
}

export function unobserve(fiber: Fiber, observer: Observer): void {
  const { before, after } = observer
  if (after !== null) after.before = before
  else if (fiber.lastObserver === observer) fiber.lastObserver = before
  if (before !== null) before.after = after
  observer.before = null // `after` stays: tellObservers may be on its way past this node
}

/** The body is over, one way or another. Decides the outcome, then stops the children (S02). */
export function bodyEnded(fiber: Fiber, how: number, value: unknown): void {
  if (fiber._phase === CLOSING) {
    // Its cleanups, rather.
    fiber.generator = null
    fiber.abandonInside()
    endCleanups(fiber)
    awaitChildren(fiber)
    return
  }
  const unwound = fiber._phase === UNWINDING || fiber._phase === FORCED
  if (how === ERROR) {
    if (unwound && carries(value, fiber.stopSignal)) how = STOPPED
    else {
      if (debugging && errorFiber(value) === undefined) lengthenStack(value, fiber)
      value = leaveBody(isStop(value) ? foreignStop(fiber, value) : value, fiber)
    }
  } else if (how === VALUE && unwound) how = STOPPED // S66
  if (how === STOPPED) value = fiber.stopSignal?.value
  fiber.generator = null
  if (fiber.op !== null) dropOp(fiber, fiber.op)
  fiber.how = how
  fiber.value = value
  fiber.cold?.deadline?.disarm()
  fiber.abandonInside()
  const errors = fiber.errors
  fiber.errors = null
  while (errors !== null && errors.size > 0) {
    const { error, fromChild } = errors.shift()
    if (fromChild)
      foldError(fiber, error) // S26
    else if (tapped) emit('dropped', fiber, error)
  }
  fiber._phase = CLOSING
  awaitChildren(fiber)
}

function awaitChildren(fiber: Fiber): void {
  if (fiber.newest === null) {
    die(fiber)
    return
  }
  fiber._state = WAITING
  if (!fiber.willRun) fiber.cold?.ranOut()
  stopChildren(fiber)
}

function foreignStop(fiber: Fiber, stop: Stop): FiberStopped {
  return new FiberStopped(`${fiber.path} threw the stop signal of another fiber or block`, { cause: stop })
}

/** An error that arrives when the body is over: it becomes the outcome, or is kept beside the one that is (S22, S27). */
export function foldError(fiber: Fiber, error: unknown): void {
  const cleaning = fiber.cold?.cleaning
  if (cleaning != null) cleaning.errors.push(error)
  else if (fiber.how !== ERROR) {
    fiber.how = ERROR
    fiber.value = error
  } else keepBeside(fiber, fiber.value, error)
}

/** Suppresses `later` onto `first`; if that is impossible it is at least reported (S22). */
export function keepBeside(fiber: Fiber, first: unknown, later: unknown): void {
  if (suppress(first, later)) return
  fiber.runtime.report({
    kind: 'unobserved',
    message: `an error in ${fiber.path} could not be kept beside the one before it`,
    error: later,
  })
}

/** Asks every child of `owner` to end, newest first; all share one signal and one deadline (S03). */
export function stopChildren(owner: Owner, grace?: number): void {
  const fiber = owner.host as Fiber
  const now = fiber.runtime.now()
  const cause = fiber.stopSignal
  const reason = cause?.reason ?? `${fiber.path} ended`
  const deadline = grace === undefined ? owner.childDeadline(now) : now + grace
  const stop = new Stop(undefined, reason, now, deadline, true)
  for (const child of listChildren(owner)) {
    if (child.owner !== owner) continue // a listener to an earlier stop has moved it
    cancelRestart(child, stop)
    requestStop(child, stop)
  }
}

/** The children, newest first, as they are now: stopping one may call listeners that move others. */
export function listChildren(owner: Owner): Fiber[] {
  const children: Fiber[] = []
  for (let child = owner.newest; child !== null; child = child.older) children.push(child)
  return children
}

/** The last child is gone and the body is over. A loop, never recursion: trees may be deep. */
function die(first: Fiber): void {
  for (let fiber: Fiber | null = first; fiber !== null; ) {
    if (fiber.cold !== null && startCleanups(fiber)) return
    if (debugging) reportFloating(fiber)
    if (tapped) emit('end', fiber)
    forgetRestart(fiber)
    fiber.cold?.ended(fiber.how, fiber.value)
    const owner: Owner | null = fiber.owner
    const reborn = fiber.cold !== null && canReincarnate(fiber, fiber.cold.restart)
    tellMonitors(fiber, reborn)
    if (reborn) {
      reincarnate(fiber)
      owner?.host.cold?.supervisor?.childChanged(fiber)
      return
    }
    fiber._state = DEAD
    fiber._phase = OVER
    forgetRestart(fiber)
    if (!fiber.cold?.raw) fiber.runtime.alive--
    unlink(fiber)
    const heard = tellObservers(fiber, owner === null ? heirOf(fiber) : owner.host)
    fiber.cold?.release(fiber)
    const isCovered = owner?.host.cold?.supervisor?.childEnded(fiber) === true // S42
    if (fiber.how === ERROR && !isCovered) {
      if (fiber.isIsolated ? heard === NOBODY : heard !== PARENT) bubble(fiber, owner)
    }
    if (owner === null) {
      rootEnded(fiber)
      return
    }
    fiber = emptied(owner)
  }
}

/** A child was taken away rather than ended: its old owner may have waited for just that. */
export function childLeft(owner: Owner): void {
  const done = emptied(owner)
  if (done !== null) die(done)
}

/** A child of `owner` is gone. If it was the last, a scope goes on, and a fiber whose body is over can die: gives that one. */
function emptied(owner: Owner): Fiber | null {
  if (owner.newest !== null) return null
  if (isScope(owner)) owner.emptied()
  else if (owner._phase === CLOSING && owner.cold?.cleaning == null) return owner
  return null
}

function isScope(owner: Owner): owner is Scope<any> {
  return owner.host !== owner
}

const NOBODY = 0
const OTHERS = 1
const PARENT = 2

function tellObservers(fiber: Fiber, parent: Fiber | null): number {
  let observer = fiber.lastObserver
  if (observer === null) return NOBODY
  fiber.lastObserver = null
  while (observer.before !== null) observer = observer.before
  let heard = OTHERS
  const { how, value } = fiber
  while (observer !== null) {
    if (observer.watcher !== null) {
      if (observer.watcher === parent) heard = PARENT
      observer.before = null
      observer.ended(how, value)
    }
    observer = observer.after
  }
  return heard
}

/** S24: the error goes to whoever owns the failed fiber, unless they were told already; once per error object (S25). */
function bubble(fiber: Fiber, owner: Owner | null): void {
  const error = fiber.value
  const receiver = owner ?? heirOf(fiber)
  if (fiber.isIsolated) {
    reportUnobserved(fiber, 'nobody was awaiting it') // S29
  } else if (receiver === null || receiver._phase === OVER) {
    if (fiber.cold?.raw || fiber.cold?.outOfBand) reportUnobserved(fiber, 'there is no main to tell')
  } else if (markReceived(error, receiver.host)) {
    if (isScope(receiver)) receiver.childFailed(error)
    else if (receiver._phase === CLOSING) foldError(receiver, error)
    else queueError(receiver, error, true)
  }
}

/** Who hears of the end of a root: of a raw one whoever transferred to it last, if alive, else main (S62); of an out-of-band one main (S46). */
export function heirOf(fiber: Fiber<any, any>): Fiber | null {
  const { cold, runtime } = fiber
  if (cold === null || !(cold.raw || cold.outOfBand)) return null
  const { raw, transferrer } = cold
  return raw && transferrer !== null && transferrer._phase < CLOSING ? transferrer : runtime.main
}

/** A fiber without a parent is dead. When it was a raw one, its heir runs next (S62). */
function rootEnded(fiber: Fiber): void {
  const { runtime } = fiber
  runtime.roots.delete(fiber)
  if (!fiber.cold?.raw) runtime.onRootEnd?.(fiber)
  else if (fiber.how !== ERROR) heirOf(fiber)?.scheduleWithPriority(fiber.value)
}

function reportUnobserved(fiber: Fiber, why: string): void {
  fiber.runtime.report({
    kind: 'unobserved',
    message: `${fiber.path} failed and ${why}`,
    error: fiber.value,
  })
}

function tellMonitors(fiber: Fiber, isReborn: boolean): void {
  const monitors = fiber.cold?.monitors
  if (monitors == null) return
  const outcome = makeOutcome(fiber.how, fiber.value)
  for (const monitor of monitors) {
    monitor.notify({ type: 'end', fiber, outcome })
    if (!isReborn) monitor.cold?.monitoring?.delete(fiber) // a watcher keeps no dead fiber alive (S04)
  }
}

function reportFloating(fiber: Fiber): void {
  for (const op of floatingOps(fiber)) {
    fiber.runtime.report({
      kind: 'floating',
      message: `${describe(op)} was made in ${fiber.path} and never waited for. Did you forget yield*?\n${opSite(op) ?? ''}`,
    })
  }
}

// The tree: parents and children, what happens when a body ends, and which listeners are told of a death. Decided only here.
//
//   owner.newest -> C <-> B <-> A        children, newest first
//
// A fiber is dead when its body has ended and all its children are dead (S01). A death is one act, in this order:
//
//    1  the cleanups of `use` (the fiber runs once more for them)
//    2  tap listeners hear 'end'
//    3  listeners to RAN_OUT: locks that it held go to the next in line
//    4  listeners to ENDED, in the order in which they came: what it held or watched is let go; monitors, callers
//    5  a restart that was asked for: the fiber lives again, and its death ends here
//    6  it leaves its owner and is no longer counted
//    7  listeners to DIED, in the order in which they came: the fibers that await it. Not while a supervisor holds its restart
//    8  its own ties: the AbortSignal that stops it, the fibers it monitors, pushers to its mailbox
//    9  its supervisor, or else its parent, receives its error (S24, S42)
//   10  of a root: the runtime, or the fiber that transferred to it
//   11  its owner, if it waited for its last child
//
// Nothing called on the way can disturb it: exceptions are reported (S70), a restart asked for after 5 waits until the end.

import type { Block } from './block.js'
import { callout } from './current.js'
import { debugging, describe, floatingOps, lengthenStack, opSite } from './debug.js'
import {
  addSuppressed,
  BadArgument,
  carries,
  errorFiber,
  FiberStopped,
  isOverflow,
  isStop,
  markReceived,
  Stop,
  show,
  tagError,
} from './errors.js'
import type { Fiber } from './fiber.js'
import { append, firstOf, type Linked, listBackwards, remove } from './list.js'
import { dropOp } from './op.js'
import { checkFiber, checkFunction } from './options.js'
import type { RareState } from './rare.js'
import {
  cancelRestart,
  canReincarnate,
  forgetRestart,
  isBetweenLives,
  isHeld,
  reincarnate,
  revive,
} from './restart.js'
import type { Scope } from './scope.js'
import {
  CLOSING,
  DEAD,
  DIED,
  ENDED,
  type EndCode,
  ERROR,
  FORCED,
  type Moment,
  makeOutcome,
  OVER,
  RAN_OUT,
  STOPPED,
  UNWINDING,
  VALUE,
  WAITING,
} from './state.js'
import { abandonInside, queueError, type Region, requestStop } from './switchpoint.js'
import { emit, tapped } from './tap.js'

/** What has children: a fiber, or a scope inside one. `host` is the fiber itself, or the one that runs the scope. */
export type Owner = Fiber<any, any> | Scope<any>

/** Handles the ends of children instead of their parent (S42). */
export interface Supervisor {
  /** Whether the end of one child may end or restart others (S32). */
  readonly endsEarly: boolean
  /** A child was spun or attached. */
  childCame(child: Fiber<any, any>): void
  /** A child is dead; `child.outcome` says how it ended. If it returns true, an error is handled, and does not bubble. */
  childEnded(child: Fiber<any, any>): boolean
  /** A child was moved to another parent, lives again, or its held restart was called off. */
  childChanged(child: Fiber<any, any>): void
}

// ---- listening to an end

/** A node in the list of listeners to the end of a fiber. It must not leave that list while it is being told. */
export interface EndListener extends Linked<EndListener> {
  readonly moment: Moment
  /** The fiber that waits for this end, if any: an error that it receives here does not bubble to it too (S24). */
  readonly watcher: Fiber | null
  told(how: EndCode, value: unknown): void
  /** Called when the fiber is dead. A listener with this method stays in the list, in case the fiber is restarted. */
  stayBehind?(): void
}

export function listen(fiber: Fiber, listener: EndListener): void {
  if (listener.moment !== DIED) fiber.rareState() // listeners to earlier moments are looked for only where there is one
  fiber.lastListener = append(fiber.lastListener, listener)
}

export function unlisten(fiber: Fiber, listener: EndListener): void {
  fiber.lastListener = remove(fiber.lastListener, listener)
}

class EndCallback implements EndListener {
  before: EndListener | null = null
  after: EndListener | null = null
  readonly watcher = null
  constructor(
    private readonly fiber: Fiber<any, any>,
    readonly moment: Moment,
    private readonly callback: () => void,
  ) {}

  told(): void {
    const { fiber, callback } = this
    callout(fiber.runtime, `a listener to the end of ${fiber.path}`, callback)
  }
}

/**
 * When a listener to the end of a fiber is called: when no more code of it will run, though children may still be ending;
 * when this incarnation is over; or when it is dead, has left its parent and is not restarted.
 */
export type EndMoment = 'ranOut' | 'ended' | 'died'
const MOMENTS = { ranOut: RAN_OUT, ended: ENDED, died: DIED } as const

/**
 * Calls back once when this incarnation of a fiber has ended; returns a function that removes the callback. The callback must
 * not wait. `fiber.outcome` says how the fiber ended.
 *
 * ```ts
 * const worker = spin('worker', () => sleep(10))
 * onEnd(worker, () => {
 *   console.log(worker.outcome?.type) // value
 * })
 * yield* worker
 * ```
 */
export function onEnd(fiber: Fiber<any, any>, callback: () => void, moment: EndMoment = 'ended'): () => void {
  checkFiber(fiber, 'onEnd()')
  checkFunction(callback, 'the callback of onEnd()')
  if (!Object.hasOwn(MOMENTS, moment))
    throw new BadArgument(
      `onEnd() knows no moment ${show(moment)}; there are: ${Object.keys(MOMENTS).join(', ')}`,
    )
  const listener = new EndCallback(fiber, MOMENTS[moment], callback)
  listen(fiber, listener)
  return () => unlisten(fiber, listener)
}

/** Whether no more code of this fiber will run, although its children may still be ending. */
export function hasRunOut(fiber: Fiber<any, any>): boolean {
  return !fiber.willRun
}

/** Tells the listeners to a moment before death. They are removed first; each may add itself again, or remove one that is not told yet. */
function tell(fiber: Fiber, moment: typeof RAN_OUT | typeof ENDED): void {
  if (fiber.lastListener === null) return
  const untold: Linked<any> = { before: null, after: null } // the head of a list of its own
  let last = untold
  for (const listener of listBackwards(fiber.lastListener).reverse()) {
    if (listener.moment !== moment) continue
    unlisten(fiber, listener)
    last = append(last, listener)
  }
  for (let next: EndListener | null = untold.after; next !== null; next = untold.after) {
    remove(null, next)
    callListener(fiber, next)
  }
}

// Which watchers a death was told to.
const UNHEARD = 80
const HEARD = 81
const HEARD_BY_PARENT = 82
type Heard = typeof UNHEARD | typeof HEARD | typeof HEARD_BY_PARENT

/** Tells the listeners to a death. */
function tellDeath(fiber: Fiber, parent: Fiber | null): Heard {
  let heard: Heard = UNHEARD
  let last: EndListener | null = null
  let listener = firstOf(fiber.lastListener)
  while (listener !== null) {
    const { watcher } = listener
    if (watcher !== null && heard !== HEARD_BY_PARENT) heard = watcher === parent ? HEARD_BY_PARENT : HEARD
    if (listener.moment === DIED) callListener(fiber, listener)
    const { after }: EndListener = listener // read now: the one that was next may have left
    listener.before = listener.after = null
    listener.stayBehind?.()
    // A listener to an earlier moment has been told, and waits for the next incarnation.
    if (listener.stayBehind !== undefined || (listener.moment !== DIED && isHeld(fiber))) {
      last = append(last, listener)
    }
    listener = after
  }
  fiber.lastListener = last
  return heard
}

function callListener(fiber: Fiber, listener: EndListener): void {
  try {
    listener.told(fiber.how as EndCode, fiber.value)
  } catch (error) {
    fiber.runtime.uncaught(error, `a listener to the end of ${fiber.path} failed`)
  }
}

// ---- the end of a body

/** The body is over, one way or another. Decides the outcome, then stops the children (S02). */
export function bodyEnded(fiber: Fiber, how: EndCode, value: unknown): void {
  fiber.generator = null
  if (fiber._phase === CLOSING) {
    // These were its cleanups.
    const errors = abandonInside(fiber, fiber)
    if (how === ERROR) errors.push(value)
    for (const error of errors) foldError(fiber, error)
    fiber.rare?.cleanups?.ended(fiber)
    awaitChildren(fiber)
    return
  }
  const hasUnwound = fiber._phase === UNWINDING || fiber._phase === FORCED
  if (how === ERROR) {
    if (hasUnwound && carries(value, fiber.stopSignal)) how = STOPPED
    else value = leaveBody(fiber, value)
  } else if (how === VALUE && hasUnwound) how = STOPPED // S66
  if (how === STOPPED) value = fiber.stopSignal?.value
  if (fiber.op !== null) dropOp(fiber, fiber.op)
  fiber.how = how
  fiber.value = value
  if (fiber.ladder !== null) fiber.ladder.disarm()
  if (fiber.innermost !== fiber || fiber.errors !== null) foldPending(fiber, value)
  fiber._phase = CLOSING
  awaitChildren(fiber)
}

/** Errors of blocks that were left open, and those of children that were not delivered yet (S26). Other pending ones are dropped. */
function foldPending(fiber: Fiber, value: unknown): void {
  const errors = abandonInside(fiber, fiber, isOverflow(value) ? value : undefined)
  while (fiber.errors !== null && fiber.errors.size > 0) {
    const { error, fromChild } = fiber.errors.shift()
    if (fromChild) errors.push(error)
    else if (tapped) emit('dropped', fiber, error)
  }
  fiber.errors = null
  for (const error of errors) foldError(fiber, error)
}

/** An error leaves the body: it is tagged with its fiber, and wrapped if it is not an object. */
function leaveBody(fiber: Fiber, error: unknown): unknown {
  const isNew = errorFiber(error) === undefined
  if (isOverflow(error)) explainOverflow(fiber, error)
  if (isNew && debugging) lengthenStack(error, fiber)
  if (!isStop(error)) return tagError(error, fiber)
  const message = `${fiber.path} threw the stop signal of another fiber or block`
  return tagError(new FiberStopped(message, { cause: error }), fiber)
}

function explainOverflow(fiber: Fiber, error: Error): void {
  if (error.message.includes('nest too deeply')) return
  try {
    error.message +=
      `: the calls of ${fiber.path} nest too deeply. Each yield* of a generator and each block takes up stack for as long as it is ` +
      'open; use a loop, or spin a fiber for each level.'
  } catch {
    // a frozen error stays as it is
  }
}

function awaitChildren(fiber: Fiber): void {
  if (fiber.newest === null) {
    die(fiber)
    return
  }
  fiber._state = WAITING
  if (fiber.rare !== null && !fiber.willRun) tell(fiber, RAN_OUT)
  stopChildren(fiber)
}

/** An error that arrives when the body is over: it becomes the outcome, or is kept beside the one that is (S22, S27). */
export function foldError(fiber: Fiber, error: unknown): void {
  if (fiber.rare?.cleanups?.keep(error)) return
  if (fiber.how !== ERROR) {
    fiber.how = ERROR
    fiber.value = error
  } else addSuppressed(fiber, fiber.value, error)
}

// ---- children

/** Asks every child of `owner` to end, newest first; all share one signal and one deadline (S03). */
export function stopChildren(owner: Owner, grace?: number): void {
  const fiber = owner.host as Fiber
  const now = fiber.runtime.now()
  const cause = fiber.stopSignal
  const reason = cause?.reason ?? `${fiber.path} ended`
  const deadline = grace === undefined ? owner.childDeadline(now) : now + grace
  const stop = new Stop(undefined, reason, now, deadline, true)
  // As they are now: stopping one may call listeners that move others.
  for (const child of listBackwards<Fiber>(owner.newest)) {
    if (child.owner === owner) stopFiber(child, stop)
  }
}

/** Asks a fiber to end; a restart that it waits for is called off. */
export function stopFiber(fiber: Fiber<any, any>, stop: Stop): void {
  const restart = fiber.rare === null ? null : cancelRestart(fiber, stop)
  if (restart?.isHeld) {
    if (fiber._phase === OVER) endForGood(fiber)
    fiber.parent?.rare?.supervisor?.childChanged(fiber)
  }
  requestStop(fiber, stop)
}

/** A supervisor calls off the restart that it holds, if it does. */
export function release(fiber: Fiber<any, any>): void {
  if (!isHeld(fiber)) return
  fiber.rareState().restart = null
  if (fiber._phase === OVER) endForGood(fiber)
}

/** The held restart of a dead fiber is called off: listeners that waited for its next incarnation are told of its death. */
function endForGood(fiber: Fiber<any, any>): void {
  tell(fiber, ENDED)
  tellDeath(fiber, fiber.parent)
  fiber.rare?.mailbox?.close()
}

/** A fiber spun inside a `scope` belongs to that scope. */
export function innermostOwner(fiber: Fiber): Owner {
  return ownerFrom(fiber.innermost, fiber)
}

/** This region of a fiber if it is an owner, else the nearest around it. */
export function ownerFrom(innermost: Region, fiber: Fiber): Owner {
  let region = innermost
  while (region !== fiber && !(region as Block<any>).isOwner) region = (region as Block<any>).outer
  return region as Owner
}

/** Moves a fiber to another owner. */
export function moveTo(fiber: Fiber<any, any>, owner: Owner): void {
  const old = fiber.owner
  if (old !== null) {
    old.newest = remove<Fiber>(old.newest, fiber)
    if (isScope(old)) old.childLeft(fiber)
  }
  fiber.owner = owner
  owner.newest = append<Fiber>(owner.newest, fiber)
  if (tapped) emit('move', fiber, old?.host)
}

/** A child was moved away: its old owner may have waited for its last child. */
export function childLeft(owner: Owner): void {
  const done = emptied(owner)
  if (done !== null) die(done)
}

/** A child of `owner` is gone. If it was the last, a scope goes on; a fiber with a finished body can die, and is returned. */
function emptied(owner: Owner): Fiber | null {
  if (owner.newest !== null) return null
  if (isScope(owner)) owner.emptied()
  else if (owner._phase === CLOSING && owner.rare?.cleanups?.isRunning !== true) return owner
  return null
}

function isScope(owner: Owner): owner is Scope<any> {
  return (owner as Partial<Scope<any>>).childFailed !== undefined
}

// ---- death

/** The last child is gone and the body is over. A loop, never recursion: trees may be deep. */
function die(first: Fiber): void {
  for (let fiber: Fiber | null = first; fiber !== null && fiber._state !== DEAD; ) {
    const { rare, runtime } = fiber
    if (rare !== null && rare.cleanups !== null) {
      if (fiber.how === VALUE && fiber.owner !== null) rare.cleanups.passOn(fiber.value, fiber.owner)
      if (rare.cleanups !== null) {
        rare.cleanups.start(fiber)
        return
      }
    }
    fiber._state = DEAD
    if (debugging) reportFloating(fiber)
    if (tapped) emit('end', fiber, makeOutcome(fiber.how, fiber.value))
    const { owner }: { owner: Owner | null } = fiber
    const host: Fiber | null = owner === null ? null : owner.host
    if (rare !== null) {
      forgetRestart(fiber)
      tell(fiber, RAN_OUT)
      tell(fiber, ENDED)
      if (canReincarnate(fiber)) {
        reincarnate(fiber)
        host?.rare?.supervisor?.childChanged(fiber)
        return
      }
    }
    if (rare === null || !rare.isRaw) runtime.alive--
    if (owner !== null) owner.newest = remove<Fiber>(owner.newest, fiber)
    let heard: Heard = UNHEARD
    if (fiber.lastListener !== null && (rare === null || !isBetweenLives(fiber))) {
      heard = tellDeath(fiber, host ?? heirOf(fiber))
    }
    if (rare !== null) releaseTies(fiber, rare)
    const isCovered =
      (owner !== host && (owner as Scope<any>).childEnded(fiber)) ||
      host?.rare?.supervisor?.childEnded(fiber) === true // S42
    if (fiber.how === ERROR && !isCovered) {
      if (fiber.isIsolated ? heard === UNHEARD : heard !== HEARD_BY_PARENT) bubble(fiber, owner, host)
    }
    fiber._phase = OVER
    if (owner === null) {
      rootEnded(fiber)
      return
    }
    const restart = fiber.rare?.restart
    if (restart != null && !restart.isHeld) revive(fiber) // asked for meanwhile
    fiber = emptied(owner)
  }
}

/** Removes the references from outside to a dead fiber, and from it to the outside. */
function releaseTies(fiber: Fiber, rare: RareState): void {
  const { stopListening, monitoring } = rare
  rare.stopListening = null
  rare.monitoring = null
  if (stopListening !== null) callout(fiber.runtime, 'removing an abort listener', stopListening)
  if (monitoring !== null) for (const monitor of monitoring) monitor.end()
  if (rare.restart === null) rare.mailbox?.close()
}

/** S24: the error goes to the owner of the failed fiber, unless it has received it already; once per error object (S25). */
function bubble(fiber: Fiber, owner: Owner | null, host: Fiber | null): void {
  const error = fiber.value
  const receiver = owner ?? heirOf(fiber)
  if (fiber.isIsolated) {
    reportUnobserved(fiber, 'nobody was awaiting it') // S29
  } else if (receiver === null || receiver._phase === OVER) {
    if (fiber.rare?.isRaw || fiber.rare?.isOutOfBand) reportUnobserved(fiber, 'there is no main to tell')
  } else if (markReceived(error, host ?? (receiver as Fiber))) {
    if (isScope(receiver)) receiver.childFailed(error)
    else if (receiver._phase === CLOSING) foldError(receiver, error)
    else queueError(receiver, error, true)
  }
}

/** The fiber that gets the error of a root: for a raw one the fiber that last transferred to it, if alive, else main (S62); for an out-of-band one main (S46). */
export function heirOf(fiber: Fiber<any, any>): Fiber | null {
  const { rare, runtime } = fiber
  if (rare === null || !(rare.isRaw || rare.isOutOfBand)) return null
  const { isRaw, transferrer } = rare
  return isRaw && transferrer !== null && transferrer._phase < CLOSING ? transferrer : runtime.main
}

/** A fiber without a parent is dead. When it was a raw one, its heir runs next (S62). */
function rootEnded(fiber: Fiber): void {
  const { runtime } = fiber
  runtime.roots.delete(fiber)
  const { onRootEnd } = runtime
  if (!fiber.rare?.isRaw) {
    if (onRootEnd !== null)
      callout(runtime, `what waits for the end of ${fiber.path}`, () => onRootEnd(fiber))
  } else if (fiber.how !== ERROR) heirOf(fiber)?.scheduleWithPriority(fiber.value)
}

function reportUnobserved(fiber: Fiber, why: string): void {
  fiber.runtime.report({
    kind: 'unobserved',
    message: `${fiber.path} failed and ${why}`,
    error: fiber.value,
  })
}

function reportFloating(fiber: Fiber): void {
  for (const op of floatingOps(fiber)) {
    fiber.runtime.report({
      kind: 'floating',
      message: `${describe(op)} was made in ${fiber.path} and never waited for. Did you forget yield*?\n${opSite(op) ?? ''}`,
    })
  }
}

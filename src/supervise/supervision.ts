// One supervision: a plain loop in the supervising fiber, as in OTP. Ends of children are collected as they happen
// (childEnded) and dealt with one after the other (handle): told, judged, and answered by a restart or not.
//
//   child dies -> ends -> handle -> restart: hold it, take its group down newest first, wait the back-off -> startDue
//                                -> done:    nothing is kept
//                                -> fail:    thrown; shutdown stops the others newest first, then it leaves `supervise`
//
// A held restart (core, Fiber.holdRestart) is what a dead child has while it waits for its time: messages sent to it
// are kept for the next incarnation, and a stop calls it off.

import {
  BadState,
  Fiber,
  isStop,
  keepBeside,
  markReceived,
  type Outcome,
  queueError,
  Ring,
  type Routine,
  runReturned,
  type Supervisor,
  spin,
} from '../core/index.js'
import { Change } from './change.js'
import { Intensity } from './intensity.js'
import type { ChildSpec, Policy } from './options.js'
import { Roster } from './roster.js'

/** A child has ended; it may have been restarted since. */
interface End {
  readonly fiber: Fiber
  readonly incarnation: number
  readonly outcome: Outcome<unknown>
}

/** What is done about an end: `again` if somebody else has restarted the child already. */
type Verdict = 'restart' | 'done' | 'fail' | 'again'

export class Supervision implements Supervisor {
  private readonly roster: Roster
  private readonly intensity: Intensity
  /** Not dealt with yet, in order. */
  private readonly ends = new Ring<End>()
  /** Of these, the ones whose children are down for a restart of their group. */
  private readonly groupEnds = new Ring<End>()
  /** The one that is being dealt with; its error is not lost if that is cut short (S22). */
  private inHand: End | null = null
  /** Dead children, and when they will be restarted. */
  private readonly due = new Map<Fiber, number>()
  private waiting: Change | null = null
  /** A child has ended for good by its own means. */
  private hasLost = false
  private lastError: unknown = undefined
  /** What `supervise` will throw; later errors are kept beside it (S23). */
  private failure: { readonly error: unknown; readonly isThrown: boolean } | null = null

  constructor(
    private readonly host: Fiber,
    private readonly children: readonly (Fiber<any, any> | ChildSpec)[] | undefined,
    private readonly policy: Policy,
  ) {
    this.roster = new Roster(host, children !== undefined, policy.restart)
    this.intensity = new Intensity(host, policy)
    const cold = host.coldRecord()
    cold.supervisor = this
    cold.atEnd ??= new Set()
    cold.atEnd.add(this.abandoned)
  }

  // ---- what the tree tells

  childEnded(child: Fiber): boolean {
    // A fiber that is over without having left `supervise` was abandoned: it takes care of nothing.
    if (!this.roster.has(child) || !this.host.isOpen) return false
    this.due.delete(child)
    const outcome = child.outcome as Outcome<unknown>
    if (outcome.type === 'error') markReceived(outcome.error, this.host)
    this.ends.push({ fiber: child, incarnation: child.incarnation, outcome })
    this.waiting?.look()
    return true
  }

  childChanged(child: Fiber): void {
    if (child.parent !== this.host) this.roster.drop(child)
    if (this.due.has(child) && !isHeld(child)) {
      this.due.delete(child)
      this.hasLost = true // it was stopped while it waited for its restart
    }
    this.waiting?.look()
  }

  // ---- while it lasts

  /** The body of `supervise`. */
  *watch(): Routine<void> {
    try {
      this.begin()
      while (!this.isDone()) {
        const next = this.nextDue()
        yield* this.until(
          () => this.ends.size > 0 || this.isDone() || next <= this.now(),
          () => this.describe(),
          next,
        )
        if (this.ends.size > 0) yield* this.handle(this.ends.shift())
        else this.startDue() // last: an end that waits to be dealt with may concern the same children
      }
    } catch (error) {
      if (!isStop(error)) this.failure = { error, isThrown: true }
      throw error
    }
  }

  private begin(): void {
    const { host, children = [] } = this
    for (const child of children) {
      if (!(child instanceof Fiber)) {
        const { name, grace, body, args = [], restart } = child
        const spun = spin({ name, grace }, body as (...args: unknown[]) => unknown, ...args)
        this.roster.add(spun, restart, grace !== undefined)
      } else if (child.state === 'dead') {
        this.roster.add(child)
        this.childEnded(child)
      } else {
        if (child.parent !== host) child.attachTo(host)
        this.roster.add(child)
      }
    }
  }

  private isDone(): boolean {
    const { until } = this.policy
    if (until === 'never' || this.ends.size > 0) return false
    return (until === 'any' && this.hasLost) || (this.due.size === 0 && !this.roster.hasLiving())
  }

  private *handle(end: End): Routine<void> {
    const verdict = yield* this.judge(end)
    if (verdict === 'restart') yield* this.restart(end.fiber)
    else if (verdict === 'done') this.hasLost = true
  }

  /** Tells the callbacks, and decides. An error that nothing is done about is thrown. */
  private *judge(end: End): Routine<Verdict> {
    const { fiber, outcome, incarnation } = end
    const isOld = fiber.incarnation !== incarnation
    this.inHand = end
    const said = yield* this.tell(end)
    this.inHand = null
    if (outcome.type === 'error') this.lastError = outcome.error
    if (fiber.incarnation !== incarnation) {
      if (!isOld) this.intensity.count(fiber, this.lastError) // a callback has restarted it
      return 'again'
    }
    const verdict = said ?? this.rule(fiber, outcome)
    if (verdict === 'fail') throw (outcome as { error: unknown }).error
    return verdict
  }

  private rule(fiber: Fiber, outcome: Outcome<unknown>): Verdict {
    const rule = fiber.parent === this.host ? this.roster.ruleOf(fiber) : 'never' // it would go back to its old parent
    switch (outcome.type) {
      case 'error':
        return rule === 'never' ? 'fail' : 'restart'
      case 'value':
        return rule === 'always' ? 'restart' : 'done'
      default:
        return isHeld(fiber) ? 'restart' : 'done' // held: we stopped it ourselves, for its group (S44)
    }
  }

  private *tell({ fiber, outcome }: End): Routine<Verdict | undefined> {
    const { onError, onDone } = this.policy
    let said: Verdict | undefined
    if (onError !== undefined && outcome.type === 'error') {
      said = readVerdict(yield* call(onError, outcome.error, fiber))
    }
    if (onDone !== undefined) said = readVerdict(yield* call(onDone, fiber, outcome)) ?? said
    return said
  }

  // ---- restarts

  private *restart(fiber: Fiber): Routine<void> {
    this.intensity.count(fiber, this.lastError)
    fiber.holdRestart()
    const group = this.groupOf(fiber)
    for (const member of [...group].reverse()) {
      const mayReturn = this.roster.ruleOf(member) !== 'never' && member.phase === 'live'
      yield* this.takeDown(member, mayReturn)
    }
    const members = new Set(group) // their ends belong to this restart, and do not count as others
    this.pickEnds((member) => members.has(member))
    while (this.groupEnds.size > 0) yield* this.judgeMember(this.groupEnds.shift())
    const time = this.now() + this.intensity.delay(fiber)
    for (const member of group) if (isHeld(member)) this.due.set(member, time)
  }

  /** Who is restarted together with a child, in start order (S42). */
  private groupOf(fiber: Fiber): Fiber[] {
    if (this.policy.strategy === 'oneForOne') return [fiber]
    const all = this.roster.inOrder([...this.due.keys(), ...this.pickEnds(() => false), fiber])
    return this.policy.strategy === 'oneForAll' ? all : all.slice(all.indexOf(fiber))
  }

  /** Puts aside the ends of some fibers; gives all fibers whose ends are not dealt with yet. */
  private pickEnds(isMember: (fiber: Fiber) => boolean): Fiber[] {
    const fibers: Fiber[] = []
    for (let n = this.ends.size; n > 0; n--) {
      const end = this.ends.shift()
      fibers.push(end.fiber)
      ;(isMember(end.fiber) ? this.groupEnds : this.ends).push(end)
    }
    return fibers
  }

  private *judgeMember(end: End): Routine<void> {
    const { fiber } = end
    const verdict = yield* this.judge(end)
    if (verdict === 'done') release(fiber)
    else if (verdict === 'restart' && !isHeld(fiber)) fiber.holdRestart()
  }

  /** Asks a child to end and waits for it; not if it was moved away or restarted meanwhile. */
  private *takeDown(child: Fiber, mayReturn: boolean, latest = Infinity): Routine<void> {
    if (child.state === 'dead' || !this.roster.has(child)) return
    const grace = this.roster.graceOf(child)
    const { incarnation } = child
    if (mayReturn) child.holdRestart({ grace })
    else child.stop(undefined, { grace, reason: this.host.stopReason ?? `${this.host.path} stopped it` })
    yield* this.until(
      () => child.state === 'dead' || child.incarnation !== incarnation || !this.roster.has(child),
      () => `supervise: ${child.name} to end`,
      latest,
    )
  }

  private nextDue(): number {
    let next = Infinity
    for (const time of this.due.values()) next = Math.min(next, time)
    return next
  }

  private startDue(): void {
    const now = this.now()
    const ready = [...this.due.keys()].filter((child) => (this.due.get(child) as number) <= now)
    if (ready.length === 0) return
    const isReady = new Set(ready)
    for (const child of this.roster.inOrder(ready)) {
      if (!isReady.has(child)) continue
      this.due.delete(child)
      if (!isHeld(child)) continue // somebody has restarted it meanwhile
      child.restartWith({ keepMailbox: true })
      this.intensity.cameBack(child)
    }
  }

  // ---- the end

  /** The cleanup of `supervise`: whatever ends it, no child that it watched is left (S44). */
  *shutdown(): Routine<void> {
    let isWhole = false
    try {
      for (const child of this.due.keys()) release(child)
      this.due.clear()
      const { host } = this
      // While the host itself is being stopped, one by one for as long as it may wait; then the tree stops the rest at once.
      const now = this.now()
      const latest = host.phase === 'live' ? Infinity : now + (host.deadline - now) / 2 - 1
      while (this.roster.hasLiving() && this.now() < latest) {
        for (const child of this.roster.inOrder([]).reverse()) yield* this.takeDown(child, false, latest)
      }
      isWhole = true
    } finally {
      this.leave(isWhole)
    }
    if (this.failure !== null) throw this.failure.error
  }

  /** Nothing is watched any more, and no error is lost (S22). */
  private leave(isWhole: boolean): void {
    const { host } = this
    if (!isWhole) for (const child of this.roster.inOrder([]).reverse()) child.stop()
    this.uninstall()
    for (const error of this.unhandled()) {
      if (this.failure === null) this.failure = { error, isThrown: false }
      else keepBeside(host, this.failure.error, error)
    }
    if (!isWhole && this.failure !== null && !this.failure.isThrown) {
      queueError(host, this.failure.error, true)
    }
  }

  private uninstall(): void {
    const cold = this.host.coldRecord()
    cold.supervisor = null
    cold.atEnd?.delete(this.abandoned)
  }

  private *unhandled(): Generator<unknown> {
    const ends = this.inHand === null ? [] : [this.inHand]
    this.inHand = null
    while (this.groupEnds.size > 0) ends.push(this.groupEnds.shift())
    while (this.ends.size > 0) ends.push(this.ends.shift())
    for (const { outcome, fiber } of ends) {
      release(fiber)
      if (outcome.type === 'error') yield outcome.error
    }
  }

  /** The fiber was given up in a callback that would not end (S19). */
  private readonly abandoned = (): void => {
    const { host } = this
    this.uninstall()
    for (const error of this.unhandled()) {
      const message = `a child of ${host.path} failed, and its supervisor was abandoned`
      host.runtime.report({ kind: 'unobserved', message, error })
    }
  }

  // ---- waiting

  private *until(isReady: () => boolean, what: () => string, latest = Infinity): Routine<void> {
    const change = new Change(isReady, latest, what)
    this.waiting = change
    try {
      yield* change
    } finally {
      this.waiting = null
    }
  }

  private now(): number {
    return this.host.runtime.now()
  }

  private describe(): string {
    let count = 0
    for (const _ of this.roster.living()) count++
    const later = this.due.size === 0 ? '' : `, ${this.due.size} to be restarted`
    return `supervise(${count} ${count === 1 ? 'child' : 'children'}${later})`
  }
}

/** Whether a dead child waits for its restart; a stop would have called that off. */
function isHeld(child: Fiber): boolean {
  return child.state === 'dead' && child.cold?.restart?.isHeld === true
}

/** It will not be restarted after all: what is sent to it finds nobody. */
function release(child: Fiber): void {
  if (child.cold?.restart?.isHeld) child.cold.restart = null
}

/** A callback. `(fiber) => fiber.restart()` returns the fiber, which is not to be waited for. */
function* call(body: (...args: any[]) => unknown, ...args: unknown[]): Routine<unknown> {
  const returned = body(...args)
  return returned instanceof Fiber ? undefined : yield* runReturned(returned, body)
}

function readVerdict(returned: unknown): Verdict | undefined {
  if (returned === 'restart') return 'restart'
  return returned === 'ignore' ? 'done' : undefined
}

/** Refuses what can never be a child of `host`, and a second supervision at the same time. */
export function checkFamily(host: Fiber, children: readonly unknown[]): void {
  if (host.cold?.supervisor != null) {
    throw new BadState(
      `${host.path} is supervising already. A fiber has one supervision at a time: spin a child that supervises, or give one list`,
    )
  }
  for (let fiber: Fiber | null = host; fiber !== null; fiber = fiber.parent) {
    if (!children.includes(fiber)) continue
    const why = fiber === host ? 'itself' : `${fiber.path}, which it belongs to`
    throw new BadState(`${host.path} cannot supervise ${why}`)
  }
}

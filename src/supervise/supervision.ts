// One supervision: a plain loop in the supervising fiber, as in OTP. Ends of children are collected as they happen
// (childEnded) and dealt with one after the other (handle): told, judged, and answered by a restart or not.
//
//   child dies -> ends -> handle -> restart: hold it, take its group down newest first, wait the back-off -> startDue
//                                -> done:    nothing is kept
//                                -> fail:    thrown; shutdown stops the others newest first, then it leaves `supervise`

import {
  Fiber,
  isStop,
  keepBeside,
  markReceived,
  type Outcome,
  queueError,
  type Routine,
  type Supervisor,
  spin,
} from '../core/index.js'
import { Change } from './change.js'
import { Due } from './due.js'
import { type End, Ends } from './ends.js'
import { isHeld, release } from './held.js'
import { Intensity } from './intensity.js'
import type { ChildSpec, Policy } from './options.js'
import { Roster } from './roster.js'
import { byRule, tell, type Verdict } from './verdict.js'

export class Supervision implements Supervisor {
  private readonly roster: Roster
  private readonly intensity: Intensity
  private readonly ends = new Ends()
  /** Dead children, and when they will be restarted. */
  private readonly due = new Due()
  /** Those that are being taken down to be restarted together. */
  private group: readonly Fiber[] = []
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
    const isAtWork = this.host.isOpen || this.host.cold?.cleaning != null
    if (!this.roster.has(child) || !isAtWork) return false
    this.due.remove(child)
    const outcome = child.outcome as Outcome<unknown>
    if (outcome.type === 'error') markReceived(outcome.error, this.host)
    this.ends.add(child)
    this.waiting?.look()
    return true
  }

  childChanged(child: Fiber): void {
    if (child.parent !== this.host) this.roster.drop(child)
    if (this.due.has(child) && !isHeld(child)) {
      this.due.remove(child)
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
        const { next } = this.due
        yield* this.until(
          () => this.ends.size > 0 || this.isDone() || next <= this.now(),
          () => this.describe(),
          next,
        )
        if (this.ends.size > 0) yield* this.handle(this.ends.next(false))
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
    if (verdict === 'restart') yield* this.restart(end)
    else if (verdict === 'done') this.hasLost = true
  }

  /** Tells the callbacks, and decides. An error that nothing is done about is thrown. */
  private *judge(end: End): Routine<Verdict> {
    const { fiber, outcome, incarnation } = end
    const isOld = fiber.incarnation !== incarnation
    const said = yield* tell(end, this.policy)
    this.ends.done()
    if (outcome.type === 'error') this.lastError = outcome.error
    if (fiber.incarnation !== incarnation) {
      if (!isOld) this.intensity.count(fiber, this.lastError) // a callback has restarted it
      return 'again'
    }
    // It would go back to its old parent, or to the scope of the host that it was spun in.
    const mayReturn = fiber.parent === this.host && fiber.owner?.isOpen
    const rule = mayReturn ? this.roster.ruleOf(fiber) : 'never'
    const verdict = said ?? byRule(rule, fiber, outcome)
    if (verdict === 'fail') throw (outcome as { error: unknown }).error
    return verdict
  }

  // ---- restarts

  private *restart(end: End): Routine<void> {
    const { fiber } = end
    this.intensity.count(fiber, this.lastError)
    const wait = this.hold(end)
    const group = this.groupOf(fiber)
    this.group = group
    for (const member of [...group].reverse()) {
      const mayReturn = this.roster.ruleOf(member) !== 'never' && member.phase === 'live'
      yield* this.takeDown(member, mayReturn)
    }
    if (group.length > 1) this.ends.setApart(new Set(group))
    while (this.ends.groupSize > 0) yield* this.judgeMember(this.ends.next(true))
    const time = this.now() + wait
    for (const member of group) if (isHeld(member)) this.due.add(member, time)
    this.group = []
  }

  /** Gives how long to wait. If that or the restart is impossible, the error that it should answer is not forgotten (S22). */
  private hold({ fiber, outcome }: End): number {
    try {
      fiber.holdRestart()
      this.group = [fiber]
      return this.intensity.delay(fiber)
    } catch (error) {
      if (outcome.type === 'error') keepBeside(this.host, error, outcome.error)
      throw error
    }
  }

  /** Who is restarted together with a child, in start order (S42). */
  private groupOf(fiber: Fiber): Fiber[] {
    if (this.policy.strategy === 'oneForOne') return [fiber]
    const all = this.roster.inOrder([...this.due.fibers(), ...this.ends.fibers(), fiber])
    return this.policy.strategy === 'oneForAll' ? all : all.slice(all.indexOf(fiber))
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

  private startDue(): void {
    for (const child of this.roster.sort(this.due.take(this.now()))) {
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
      for (const child of [...this.due.fibers(), ...this.group]) release(child)
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
    for (const error of this.ends.unhandled()) {
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

  /** The fiber was given up in a callback that would not end (S19). */
  private readonly abandoned = (): void => {
    const { host } = this
    this.uninstall()
    for (const error of this.ends.unhandled()) {
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

// The supervisor: a plain loop in the supervising fiber (the host), as in OTP. The tree reports every end of a child to it.
// Ends are queued and handled one after the other: the callbacks are called, then the child is restarted or not.
//
//   child ends -> ends -> judge -> restart: its group is stopped newest first, then all wait for their restart (due)
//                               -> none:    the child is over, and nothing is kept of it
//                               -> throw:   the others are stopped, newest first, and `supervise` throws the error
//
// Members are the children that live, wait for a restart, or whose end is in the queue:
//
//   first <-> ... <-> newest        in start order: that of the list, else that in which they were spun
//
// Other children of the host are never looked at, and the cost of an end or a restart does not grow with their number.

import {
  addSuppressed,
  append,
  BaseOp,
  Block,
  ensure,
  Fiber,
  graceEnd,
  innermostOwner,
  isHeld,
  isStop,
  type Linked,
  listBackwards,
  markReceived,
  type Outcome,
  type Owner,
  Ring,
  type Routine,
  release,
  remove,
  runReturned,
  settle,
  spin,
  type TimerNode,
  Timers,
  type Supervisor as TreeSupervisor,
} from '../core/index.js'
import { RestartIntensityError } from './errors.js'
import type { ChildSpec, Policy, RestartRule } from './options.js'

type Child = Fiber<any, any>

/**
 * A child under supervision, and its status:
 * - watched: it lives, or its end is in the queue
 * - dismissed: its supervisor has asked it to end for good
 * - waiting: its restart is decided, and held until it is due
 * - over: it has ended for good, or has another parent; it is not in the list of members
 */
class Member implements Linked<Member>, TimerNode {
  status: 'watched' | 'dismissed' | 'waiting' | 'over' = 'watched'
  // In the list of members:
  before: Member | null = null
  after: Member | null = null
  // Among the restarts that are due:
  time = 0
  seq = 0
  index = -1
  /** Consecutive restarts (S43), and the time of the last one. */
  restarts = 0
  since = Infinity

  constructor(
    readonly fiber: Child,
    readonly rule: RestartRule,
    readonly hasOwnGrace: boolean,
  ) {}

  fire(): void {
    this.fiber.restartWith({ keepMailbox: true })
  }
}

/** The end of one incarnation of a child, which may have been restarted since. */
interface End {
  readonly member: Member
  readonly incarnation: number
  readonly outcome: Outcome<unknown>
  readonly wasDismissed: boolean
}

/** How an end is handled. `restarted`: a callback has restarted the child itself. */
type Answer = 'restart' | 'restarted' | 'none'

export class Supervisor implements TreeSupervisor {
  /** The host, or its innermost scope: children of outer scopes are not watched. */
  private readonly owner: Owner
  /** All members. Listed children stay in it when they are over, since they may be restarted by hand. */
  private readonly members = new Map<Child, Member>()
  private newest: Member | null = null
  /** Ends that are not handled yet. The first stays in it while it is handled, so that a signal to the host loses no error (S22). */
  private readonly ends = new Ring<End>()
  /** Members that wait for their restart. */
  private readonly due = new Timers()
  private wait: Wait | null = null
  /** A child has ended for good without being stopped by the supervisor. */
  private hasOneEnded = false
  /** The times of restarts within the window of S43. */
  private readonly restartTimes = new Ring<number>()
  private lastError: unknown = undefined
  /** Errors thrown in the host while it supervised. */
  private readonly hostErrors: unknown[] = []

  constructor(
    private readonly host: Fiber,
    /** Undefined: all children of the host, or of the scope that it is in. */
    private readonly children: readonly (Child | ChildSpec)[] | undefined,
    private readonly policy: Policy,
  ) {
    this.owner = innermostOwner(host)
  }

  /** From now on the tree calls childCame, childEnded and childChanged. */
  install(): void {
    this.host.rareState().supervisor = this
  }

  // ---- called by the tree

  get endsEarly(): boolean {
    return this.policy.until === 'any' || this.policy.strategy !== 'oneForOne'
  }

  childCame(child: Child): void {
    if (this.children === undefined && !this.members.has(child)) this.add(child)
  }

  childEnded(child: Child): boolean {
    const member = this.members.get(child)
    if (member === undefined) return false
    const outcome = child.outcome as Outcome<unknown>
    if (outcome.type === 'error') markReceived(outcome.error, this.host)
    const wasDismissed = member.status === 'dismissed'
    this.ends.push({ member, incarnation: child.incarnation, outcome, wasDismissed })
    this.wait?.look()
    return true
  }

  childChanged(child: Child): void {
    const member = this.members.get(child)
    if (member === undefined) {
      if (child.owner === this.owner) this.childCame(child) // restarted after it was over
      return
    }
    if (child.parent !== this.host) {
      this.drop(member)
      this.members.delete(child)
    } else if (child.state !== 'dead') {
      this.due.remove(member)
      if (member.status === 'over') this.newest = append(this.newest, member)
      member.status = 'watched'
      member.since = this.now()
    } else if (member.status === 'waiting') {
      this.drop(member) // stopped while it waited for its restart
      this.hasOneEnded = true
    }
    this.wait?.look()
  }

  private add(fiber: Child, rule = this.policy.restart, hasOwnGrace = false): void {
    const member = new Member(fiber, rule, hasOwnGrace)
    this.members.set(fiber, member)
    this.newest = append(this.newest, member)
  }

  /** The child is over. Nothing is kept of children that were not listed (S04). */
  private drop(member: Member): void {
    member.status = 'over'
    this.due.remove(member)
    this.newest = remove(this.newest, member)
    if (this.children === undefined) this.members.delete(member.fiber)
  }

  // ---- the loop

  /** The body of `supervise`. */
  *watch(): Routine<void> {
    try {
      this.begin()
      while (!this.isDone()) {
        const { next } = this.due
        const isReady = () => this.ends.size > 0 || next <= this.now() || this.isDone()
        yield* this.until(isReady, () => this.describe(), next)
        if (this.ends.size > 0) yield* this.answer(this.ends.at(0))
        else this.due.fire(this.now()) // last: an end in the queue may concern the same children
      }
    } catch (error) {
      if (!isStop(error)) this.hostErrors.push(error)
      throw error
    }
  }

  private begin(): void {
    const { host, children } = this
    if (children === undefined) {
      const present = listBackwards<Child>(this.owner.newest)
      for (const child of present.sort((a, b) => a.id - b.id)) this.add(child)
      return
    }
    for (const child of children) {
      if (!(child instanceof Fiber)) {
        const { name, grace, body, args = [], restart } = child
        const spun = spin({ name, grace }, body as (...args: unknown[]) => unknown, ...args)
        this.add(spun, restart, grace !== undefined)
      } else {
        if (child.state !== 'dead' && child.parent !== host) child.attachTo(host)
        this.add(child)
        if (child.state === 'dead') this.childEnded(child)
      }
    }
  }

  private isDone(): boolean {
    const { until } = this.policy
    if (until === 'never' || this.ends.size > 0) return false
    return this.newest === null || (until === 'any' && this.hasOneEnded)
  }

  /** Handles the first end of the queue. */
  private *answer(end: End): Routine<void> {
    const { member } = end
    const answer = yield* this.judge(end)
    const delay = answer === 'restart' ? this.nextDelay(member) : 0
    this.ends.shift()
    if (answer !== 'none') this.countRestart(member)
    if (answer !== 'restart') return
    const group = this.groupOf(member)
    for (const each of [...group].reverse()) yield* this.takeDown(each, each.rule !== 'never')
    for (let ends = this.bringForward(group); ends > 0; ends--) {
      const itsAnswer = yield* this.judge(this.ends.at(0))
      this.ends.shift()
      if (itsAnswer === 'restarted') this.countRestart(member)
    }
    const time = this.now() + delay
    for (const each of group) {
      this.due.remove(each)
      if (each.status === 'waiting') this.due.add(each, time)
    }
  }

  /** Calls the callbacks and decides, by what they return or else by the rule. An error without a restart is thrown. */
  private *judge({ member, incarnation, outcome, wasDismissed }: End): Routine<Answer> {
    const { fiber } = member
    const isOld = fiber.incarnation !== incarnation
    const said = yield* tell(fiber, outcome, this.policy)
    if (outcome.type === 'error') this.lastError = outcome.error
    if (fiber.incarnation !== incarnation) return isOld ? 'none' : 'restarted'
    // A restart would put it under its old parent, or into the scope in which it was spun.
    const mayReturn = fiber.parent === this.host && fiber.owner?.isOpen === true
    const answer = said ?? byRule(mayReturn ? member.rule : 'never', fiber, outcome)
    if (answer === 'restart') {
      if (!isHeld(fiber)) fiber.holdRestart()
      member.status = 'waiting'
      return 'restart'
    }
    const isByOwnMeans = outcome.type === 'value' || outcome.type === 'error'
    if (isByOwnMeans || !(wasDismissed || isHeld(fiber))) this.hasOneEnded = true
    this.drop(member)
    release(fiber)
    return 'none'
  }

  // ---- restarts

  /** The children that are restarted together with one, in start order (S42). */
  private groupOf(member: Member): Member[] {
    switch (this.policy.strategy) {
      case 'oneForOne':
        return [member]
      case 'oneForAll':
        return listBackwards(this.newest).reverse()
      case 'restForOne': {
        const group: Member[] = []
        for (let each: Member | null = member; each !== null; each = each.after) group.push(each)
        return group
      }
    }
  }

  /** Moves the ends of a stopped group to the front, since they belong to its restart. Returns how many there are. */
  private bringForward(group: readonly Member[]): number {
    if (group.length === 1) return 0
    const { ends } = this
    const isOfGroup = new Set(group)
    const others: End[] = []
    for (let n = ends.size; n > 0; n--) {
      const end = ends.shift()
      if (isOfGroup.has(end.member)) ends.push(end)
      else others.push(end)
    }
    const count = ends.size
    for (const end of others) ends.push(end)
    return count
  }

  /** Stops a child and waits for its end, or until it gets another parent or is restarted by hand. */
  private *takeDown(member: Member, comesBack: boolean, latest = Infinity): Routine<void> {
    const { fiber } = member
    if (member.status === 'over' || fiber.state === 'dead') return
    // A child that supervises has no time limit of its own: its children have theirs (S44).
    const grace = fiber.rare?.supervisor != null && !member.hasOwnGrace ? Infinity : undefined
    const { incarnation } = fiber
    // A child that was stopped, or ends by itself, is not restarted; but a restart by hand happens with the group.
    const isEnding = fiber.phase !== 'live' && fiber.rare?.restart == null
    if (comesBack && !isEnding) fiber.holdRestart({ grace })
    else {
      if (!isEnding) member.status = 'dismissed'
      fiber.stop(undefined, { grace, reason: this.stopReason })
    }
    const isDown = () =>
      fiber.state === 'dead' || fiber.incarnation !== incarnation || member.status === 'over'
    yield* this.until(isDown, () => `supervise: ${fiber.name} to end`, latest)
  }

  /** S43: a restart counts when it is decided, before its delay. Throws if there are too many. */
  private countRestart({ fiber }: Member): void {
    const { restarts, within } = this.policy
    if (restarts === Infinity) return
    const { restartTimes: times, host } = this
    while (times.size > 0 && times.at(0) < this.now() - within) times.shift()
    times.push(this.now())
    if (times.size <= restarts) return
    throw new RestartIntensityError(
      `${fiber.name} would be restart number ${times.size} within ${within} ms in ${host.path}, which allows ${restarts}. ` +
        'Mend the child, wait longer between restarts with {backoff}, or allow more with {intensity: {restarts, within}}.',
      { cause: this.lastError },
    )
  }

  /** How long to wait before the next restart. A child that has lived longer than `within` starts counting anew. */
  private nextDelay(member: Member): number {
    const { within, delay } = this.policy
    member.restarts = this.now() - member.since > within ? 1 : member.restarts + 1
    return delay(member.restarts)
  }

  // ---- the end

  /** The cleanup of `supervise`: stops every watched child, however supervision ends (S44). */
  *shutdown(): Routine<void> {
    const { host } = this
    try {
      for (const { fiber } of listBackwards(this.newest)) release(fiber)
      // While the host itself is being stopped: one by one for half of its grace, then all that are left at once.
      const now = this.now()
      const latest = host.phase === 'live' ? Infinity : now + (graceEnd(host) - now) / 2 - 1
      for (let last = this.newest; last !== null && this.now() < latest; last = this.newest) {
        yield* this.takeDown(last, false, latest)
        if (last.fiber.state === 'dead') this.drop(last)
      }
    } finally {
      const [first, ...others] = this.leave()
      for (const other of others) addSuppressed(host, first, other)
      // biome-ignore lint/correctness/noUnsafeFinally: an error outweighs a stop, also a forced one
      if (first !== undefined) throw first
    }
  }

  /** Ends supervision and stops the children. Returns the errors that were not handled, the first one first (S22). */
  leave(): unknown[] {
    this.host.rareState().supervisor = null
    for (const { fiber } of listBackwards(this.newest)) fiber.stop(undefined, { reason: this.stopReason })
    const errors = this.hostErrors
    while (this.ends.size > 0) {
      const { outcome } = this.ends.shift()
      if (outcome.type === 'error') errors.push(outcome.error)
    }
    return errors
  }

  private get stopReason(): unknown {
    return this.host.stopReason ?? `${this.host.path} stopped it`
  }

  // ---- waiting

  private *until(isReady: () => boolean, what: () => string, latest: number): Routine<void> {
    this.wait = new Wait(isReady, latest, what)
    yield* this.wait
  }

  private now(): number {
    return this.host.runtime.now()
  }

  private describe(): string {
    const count = listBackwards(this.newest).filter(({ fiber }) => fiber.state !== 'dead').length
    const later = this.due.size === 0 ? '' : `, ${this.due.size} to be restarted`
    return `supervise(${count} ${count === 1 ? 'child' : 'children'}${later})`
  }
}

/** The block in which the host supervises. If its generator is abandoned, supervision still ends (S19). */
export class Supervision extends Block<void> {
  constructor(private readonly supervisor: Supervisor) {
    const body = () =>
      ensure(
        () => supervisor.watch(),
        () => supervisor.shutdown(),
      )
    super(body, 'supervise()')
  }
  protected override begin(): void {
    this.supervisor.install()
  }
  override abandon(errors: unknown[]): void {
    errors.push(...this.supervisor.leave())
    super.abandon(errors)
  }
  describe(): string {
    return 'supervise()'
  }
}

/** The wait of the host: until a condition holds, or until a time. The supervisor calls `look` after each change. */
class Wait extends BaseOp<void> implements TimerNode {
  time = 0
  seq = 0
  index = -1
  private fiber: Fiber | null = null

  constructor(
    private readonly isReady: () => boolean,
    private readonly latest: number,
    private readonly what: () => string,
  ) {
    super()
  }

  enter(fiber: Fiber): void {
    if (this.isReady()) {
      settle(fiber, this, undefined)
      return
    }
    this.fiber = fiber
    if (this.latest < Infinity) fiber.runtime.addTimer(this, this.latest)
  }

  abort(fiber: Fiber): void {
    this.fiber = null
    if (this.index >= 0) fiber.runtime.removeTimer(this)
  }

  look(): void {
    if (this.fiber !== null && this.isReady()) this.fire()
  }

  fire(): void {
    const fiber = this.fiber as Fiber
    this.abort(fiber)
    settle(fiber, this, undefined)
  }

  describe(): string {
    return this.what()
  }
  override get kind(): string {
    return 'supervise'
  }
}

/** Handles an end by the rule of the child. */
function byRule(rule: RestartRule, fiber: Child, outcome: Outcome<unknown>): Answer {
  switch (outcome.type) {
    case 'error':
      if (rule === 'never') throw outcome.error
      return 'restart'
    case 'value':
      return rule === 'always' ? 'restart' : 'none'
    default:
      return isHeld(fiber) ? 'restart' : 'none' // held: the supervisor stopped it, to restart its group (S44)
  }
}

/** Calls the callbacks; returns their decision, if they make one. */
function* tell(fiber: Child, outcome: Outcome<unknown>, policy: Policy): Routine<Answer | undefined> {
  const { onError, onDone } = policy
  let said: Answer | undefined
  if (onError !== undefined && outcome.type === 'error') {
    said = readAnswer(yield* callBack(onError, outcome.error, fiber))
  }
  if (onDone !== undefined) said = readAnswer(yield* callBack(onDone, fiber, outcome)) ?? said
  return said
}

/** `(fiber) => fiber.restart()` returns the fiber, which must not be awaited. */
function* callBack(body: (...args: any[]) => unknown, ...args: unknown[]): Routine<unknown> {
  const returned = body(...args)
  return returned instanceof Fiber ? undefined : yield* runReturned(returned, body)
}

function readAnswer(returned: unknown): Answer | undefined {
  if (returned === 'restart') return 'restart'
  return returned === 'ignore' ? 'none' : undefined
}

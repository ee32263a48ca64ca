// What the combinators have in common: a fiber (the host) runs members in children of its own and hears of every end.
//
//   host --scope--> member, member, member        ours: stopped and awaited before the host goes on
//                   a Fiber that was given         theirs: only awaited, never stopped
//
// The host observes its members from their first line to their end, so their errors come here and not up the tree.
// A combinator says when the matter is decided (`judge`) and what that means; whatever else went wrong is never lost:
// it is kept beside what is thrown (S22).

import {
  BaseOp,
  DeadlockError,
  debugging,
  Fiber,
  failureOf,
  isStop,
  keepBeside,
  makeOutcome,
  markReceived,
  type Observer,
  type Op,
  type Outcome,
  observe,
  opEntered,
  queueError,
  type Routine,
  scope,
  settle,
  spin,
  unobserve,
} from '../core/index.js'

/** One of those that a team waits for, and how it ended: kept here, since a fiber may be restarted. */
export class Member implements Observer {
  watcher: Fiber | null = null
  before: Observer | null = null
  after: Observer | null = null
  outcome: Outcome<unknown> | null = null
  /** Why it has no value; made only when it is asked for. */
  private end: { how: number; value: unknown } | null = null
  /** Its error, or its value, has reached somebody: it is not lost. */
  isTold = false

  constructor(
    private readonly team: Team,
    readonly fiber: Fiber<any, any>,
    readonly isOurs: boolean,
  ) {}

  ended(how: number, value: unknown): void {
    this.watcher = null
    this.end = { how, value }
    this.outcome = makeOutcome(how, value)
    this.team.memberEnded(this)
  }

  /** Whether it ended with a value: as with `await()`, one that was given by `stop(value)` counts (S31). */
  get hasValue(): boolean {
    const { outcome } = this
    return outcome?.type === 'value' || (outcome?.type === 'stopped' && outcome.value !== undefined)
  }
  get value(): unknown {
    return this.end?.value
  }
  /** Its error has reached nobody yet. */
  get isUntold(): boolean {
    return this.isOurs && !this.isTold && this.outcome?.type === 'error'
  }
  /** What is thrown for an end without a value. */
  get failure(): unknown {
    return this.end === null ? undefined : failureOf(this.fiber, this.end.how, this.end.value)
  }
}

/** Waits for news of the team. */
class News extends BaseOp<void> {
  constructor(private readonly team: Team) {
    super()
    if (debugging) opEntered(this) // never handed out
  }
  enter(fiber: Fiber): void {
    if (this.team.takeNews()) settle(fiber, this, undefined)
  }
  abort(): void {}
  describe(): string {
    return this.team.describe()
  }
}

export abstract class Team {
  readonly host = Fiber.current
  readonly members = new Set<Member>()
  /** Those that have not ended. */
  alive = 0
  protected readonly news: Op<void> & BaseOp<void> = new News(this)
  private hasNews = false
  private isClosed = false

  constructor(
    /** The combinator, for messages: 'all()'. */
    protected readonly where: string,
    /** Takes the values that nobody will receive (S37). */
    private readonly discard?: ((value: any) => void) | undefined,
  ) {}

  // ---- what combinators give

  /** What runs in the scope of the team: makes members, waits for `news`, gives the result. */
  protected abstract work(): Routine<unknown>
  /** A member has ended; `tellNews()` wakes the host. */
  protected abstract judge(member: Member): void

  /** All is over. */
  protected over(): void {}

  // ---- members

  /** A child of the host, in the scope of the team. */
  protected hire(name: string, body: (...args: any[]) => unknown, ...args: unknown[]): Member {
    return this.watch(spin(name, body as () => unknown, ...(args as [])), true)
  }

  /** Somebody else's fiber. */
  protected include(fiber: Fiber<any, any>): Member {
    if (fiber === this.host) {
      throw new DeadlockError(`${fiber.path} awaits itself in ${this.where}, which would never end`)
    }
    return this.watch(fiber, false)
  }

  private watch(fiber: Fiber<any, any>, isOurs: boolean): Member {
    const member = new Member(this, fiber, isOurs)
    this.members.add(member)
    this.alive++
    if (fiber.state === 'dead') {
      member.ended(fiber.how, fiber.value)
    } else {
      member.watcher = this.host
      observe(fiber, member)
    }
    return member
  }

  memberEnded(member: Member): void {
    if (this.isClosed) {
      this.drop(member) // it had to be left behind
      return
    }
    this.alive--
    if (member.outcome?.type === 'error') markReceived(member.outcome.error, this.host) // S25
    this.judge(member)
  }

  protected tellNews(): void {
    this.hasNews = true
    if (this.host.op === this.news) settle(this.host, this.news, undefined)
  }
  takeNews(): boolean {
    const { hasNews } = this
    this.hasNews = false
    return hasNews
  }

  /** The matter is decided: ends of fibers that are not ours are no longer our business. */
  protected letOthersGo(): void {
    for (const member of this.members) if (!member.isOurs) this.unwatch(member)
  }

  private unwatch(member: Member): void {
    if (member.watcher === null) return
    member.watcher = null
    unobserve(member.fiber, member)
  }

  /** Asks those of ours that live to end, newest first (S03). */
  protected stopOurs(reason: string): void {
    for (const { fiber, isOurs, outcome } of [...this.members].reverse()) {
      if (isOurs && outcome === null) fiber.stop(undefined, { reason })
    }
  }

  // ---- running

  /** Runs the work; when it is over, so are all members of ours (S28, S37). */
  *run(): Routine<any> {
    let how: 'returned' | 'thrown' | 'cut' = 'cut' // stays so when it is answered by return()
    let result: unknown
    try {
      result = yield* scope(() => this.work())
      how = 'returned'
    } catch (thrown) {
      how = 'thrown'
      result = thrown
    } finally {
      this.letOthersGo()
      if (how === 'cut') this.finish(true, undefined)
    }
    if (how === 'returned') this.finish(false, undefined)
    else this.finish(isStop(result), isStop(result) ? undefined : { error: result })
    if (how === 'thrown') throw result
    return result
  }

  /**
   * Sees to what reached nobody. Errors of members are kept beside the one that is thrown, or are thrown themselves:
   * in the cleanup of a member, an error outweighs the value of another. When a stop goes through here they strike
   * later, or become the outcome (S22, S26).
   */
  private finish(isStopped: boolean, thrown: { error: unknown } | undefined): void {
    this.isClosed = true
    this.over()
    const errors = [...this.members].filter((member) => member.isUntold).map((member) => member.value)
    const failure = thrown ?? (errors.length > 0 ? { error: errors[0] } : undefined)
    for (const error of errors) keepBeside(this.host, failure?.error, error)
    if (isStopped && failure !== undefined) queueError(this.host, failure.error, true)
    for (const member of this.members) {
      const isReceived = member.isTold && !isStopped && failure === undefined
      if (member.isOurs && !isReceived) this.discardLater(member)
    }
    if (!isStopped && thrown === undefined && failure !== undefined) throw failure.error
  }

  /** S37: a value that nobody receives, now or when its fiber, which had to be left behind, ends. */
  private discardLater(member: Member): void {
    this.unwatch(member)
    if (this.discard === undefined) return
    if (member.outcome !== null) this.drop(member)
    else {
      member.watcher = member.fiber // not the host: its errors go up the tree as usual
      observe(member.fiber, member)
    }
  }

  private drop(member: Member): void {
    if (member.outcome?.type !== 'value') return
    try {
      this.discard?.(member.outcome.value)
    } catch (error) {
      this.host.runtime.uncaught(error, `discarding a value of ${this.where} failed`) // S70
    }
  }

  /** For the tree: whom the host waits for. */
  describe(): string {
    const names = [...this.members]
      .filter((member) => member.outcome === null)
      .map((member) => member.fiber.name)
    const more = names.length > 3 ? ` and ${names.length - 3} more` : ''
    return `${this.where}: ${names.slice(0, 3).join(', ')}${more}`
  }
}

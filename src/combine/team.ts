// Team: the base of all combinators. A fiber (the host) runs members in children of its own and is told of every end.
//
//   host --scope--> member, member, member        hired: stopped and awaited before the host goes on
//                   a Fiber from the list         included: only awaited, never stopped
//
// The host watches its members from the start, so their errors come here instead of going up the tree. A combinator
// decides in `judge` when it is done. No other error is lost: it is thrown, or kept in `suppressed` of what is thrown
// (S22). Signals to the host itself go through at once.

import {
  addSuppressed,
  BaseOp,
  callout,
  DeadlockError,
  Fiber,
  isStop,
  makeOutcome,
  markReceived,
  type Op,
  type Outcome,
  onEnd,
  type Routine,
  Scope,
  settle,
  spin,
  Watch,
  type WatchListener,
} from '../core/index.js'

/** One of the fibers that a team waits for, and how it ended. */
export class Member extends Watch {
  /** The combinator has returned or thrown its value or error: it is not lost. */
  isTold = false
  /** It failed without being stopped, in a combinator whose members may fail: a normal outcome if the combinator finishes. */
  isTolerated = false

  constructor(
    team: WatchListener,
    fiber: Fiber<any, any>,
    readonly isHired: boolean,
  ) {
    super(team, fiber)
  }

  /** Null while it lives. */
  get outcome(): Outcome<unknown> | null {
    return this.hasEnded ? makeOutcome(this.how, this.value) : null
  }
  /** Whether it ended with a value. As with `await()`, the value of `stop(value)` counts (S31). */
  get hasValue(): boolean {
    return this.hasEnded && this.failure === undefined
  }
  /** Whether it ended with an error that no code has received yet. For an included fiber: also no other awaiter. */
  get isUntold(): boolean {
    return (this.isHired || this.isOurs) && !this.isTold && this.outcome?.type === 'error'
  }
}

/** Wakes the host when `tellNews` is called. */
class News extends BaseOp<void> {
  constructor(private readonly team: Team) {
    super()
    this.droppable() // never handed out
  }
  enter(fiber: Fiber): void {
    if (this.team.takeNews()) settle(fiber, this, undefined)
  }
  abort(): void {}
  describe(): string {
    return this.team.describe()
  }
  override get kind(): string {
    return 'members'
  }
}

/** The scope of the members. */
class TeamScope extends Scope<unknown> {
  constructor(private readonly team: Team) {
    super(() => team.work())
  }
  override get endsEarly(): boolean {
    return this.team.endsEarly
  }
}

export abstract class Team implements WatchListener {
  readonly host = Fiber.current
  readonly members = new Set<Member>()
  /** Members that have not ended. */
  alive = 0
  protected readonly news: Op<void> & BaseOp<void> = new News(this)
  private hasNews = false
  /** The members are spun in it. */
  private readonly scope = new TeamScope(this)

  constructor(
    /** The combinator, for messages: 'all()'. */
    protected readonly where: string,
    /** Disposes of values that no code will receive (S37). */
    private readonly discard?: ((value: any) => void) | undefined,
  ) {}

  // ---- implemented by combinators

  /** Runs in the scope of the team: makes members, waits for `news`, returns the result. */
  abstract work(): Routine<unknown>
  /** Called when a member has ended; may wake the host with `tellNews()`. */
  protected abstract judge(member: Member): void

  /** Whether the end of one member ends the others, so that a circle among these is no deadlock (S32). */
  get endsEarly(): boolean {
    return false
  }
  /** Called once, at the end. */
  protected over(): void {}

  // ---- members

  /** Adds a child of the host, spun in the scope of the team. */
  protected hire(name: string, body: (...args: any[]) => unknown, ...args: unknown[]): Member {
    return this.watch(spin(name, body as () => unknown, ...(args as [])), true)
  }

  /** Adds a fiber that belongs to other code. */
  protected include(fiber: Fiber<any, any>): Member {
    if (fiber === this.host) {
      throw new DeadlockError(`${fiber.path} awaits itself in ${this.where}, which would never end`)
    }
    return this.watch(fiber, false)
  }

  private watch(fiber: Fiber<any, any>, isHired: boolean): Member {
    const member = new Member(this, fiber, isHired)
    this.members.add(member)
    this.alive++
    if (!member.begin(this.host)) this.oneEnded(member)
    return member
  }

  oneEnded(member: Member): void {
    this.alive--
    if (member.outcome?.type === 'error') markReceived(member.value, this.host) // S25
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

  /** Stops watching the included fibers: their ends no longer count. */
  protected letOthersGo(): void {
    for (const member of this.members) if (!member.isHired) member.end()
  }

  /** Asks the hired members that live to end, newest first (S03). */
  protected stopHired(reason: string): void {
    this.scope.close()
    for (const { target, isHired, hasEnded } of [...this.members].reverse()) {
      if (isHired && !hasEnded) target.stop(undefined, { reason })
    }
  }

  // ---- running

  /** Runs the work; when it is over, so are all hired members (S28, S37). */
  *run(): Routine<any> {
    let isOver = false // stays false if the generator is ended by return()
    let result: unknown
    try {
      result = yield* this.scope
      isOver = true
    } catch (thrown) {
      isOver = true
      this.finish(thrown, true)
      throw thrown
    } finally {
      if (!isOver) this.finish(undefined, true)
    }
    this.finish(undefined, false)
    return result
  }

  /**
   * Deals with errors and values that no code has received. If an error is thrown, the errors of members are added to its
   * `suppressed`. If none or only a stop is thrown, the first of them is thrown: an error outweighs a value and a stop.
   *
   * A tolerated failure is a normal outcome if the combinator finishes. If it is cut short, the failure of an included
   * fiber is thrown, as if the fiber had not been included; that of a hired one is added to `suppressed`, or reported if
   * only a stop is thrown.
   */
  private finish(thrown: unknown, isCut: boolean): void {
    this.letOthersGo()
    this.over()
    const isError = thrown !== undefined && !isStop(thrown)
    const untold = [...this.members].filter((member) => member.isUntold && (isCut || !member.isTolerated))
    const first = untold.find((member) => !member.isTolerated || !member.isHired)
    const failure = isError ? thrown : first?.value
    const keeper = failure ?? (isStop(thrown) && thrown.keepsErrors ? thrown : undefined)
    for (const member of untold) this.keep(member, keeper)
    for (const member of this.members) {
      const isReceived = member.isTold && !isCut && failure === undefined
      if (member.isHired && !isReceived) this.discardLater(member)
    }
    if (!isError && failure !== undefined) throw failure
  }

  private keep({ target, value }: Member, keeper: unknown): void {
    if (keeper !== undefined) addSuppressed(this.host, keeper, value)
    else {
      const message = `${target.path} failed, and ${this.where} was stopped before it could throw the error`
      this.host.runtime.report({ kind: 'unobserved', message, error: value })
    }
  }

  /** S37: discards a value that no code receives, now or when the abandoned fiber ends. */
  private discardLater(member: Member): void {
    member.end()
    if (this.discard === undefined) return
    if (member.hasEnded) this.drop(member.outcome)
    else onEnd(member.target, () => this.drop(member.target.outcome ?? null), 'died')
  }

  private drop(outcome: Outcome<unknown> | null): void {
    const { discard } = this
    if (outcome?.type !== 'value' || discard === undefined) return
    callout(this.host.runtime, `discarding a value of ${this.where}`, () => discard(outcome.value)) // S70
  }

  /** For the tree: what the host waits for. */
  describe(): string {
    const names = [...this.members].filter((member) => !member.hasEnded).map((member) => member.target.name)
    const more = names.length > 3 ? ` and ${names.length - 3} more` : ''
    return `${this.where}: ${names.slice(0, 3).join(', ')}${more}`
  }
}

// What `all`, `allSettled`, `race` and `any` have in common: a list of ops, bodies and fibers, each a member of a team.

import {
  BadArgument,
  checkBody,
  checkOptions,
  debugging,
  Fiber,
  nameOf,
  type Op,
  type Outcome,
  opEntered,
  type Refused,
  type Result,
  type Returned,
  type Routine,
  runBody,
  show,
} from '../core/index.js'
import { type Member, Team } from './team.js'

/** What a combinator takes: an op, a body, or a fiber, which is only awaited. */
export type Item = Op<any> | (() => unknown)

/** What an item gives. */
export type ItemResult<I> = I extends () => infer R ? Result<R> : I extends Op<infer T> ? T : never
/** What each item of a list gives, in order. */
export type ItemResults<L extends readonly Offered[]> = { -readonly [K in keyof L]: ItemResult<L[K]> }
/** How each item of a list ended, in order. */
export type ItemOutcomes<L extends readonly Offered[]> = {
  -readonly [K in keyof L]: Outcome<ItemResult<L[K]>>
}
/** What people put into a list. Promises are let in here, for `Checked` to refuse them with a reason. */
export type Offered = Item | PromiseLike<any>
/** A list without promises, in which every body returns what a body may return. */
export type Checked<L extends readonly Offered[]> = {
  readonly [K in keyof L]: L[K] extends () => infer R
    ? () => Returned<R>
    : L[K] extends Op<any>
      ? L[K]
      : L[K] extends PromiseLike<any>
        ? Refused<'a promise cannot be stopped: write until(promise)'>
        : L[K]
}

/** What `race` and `any` may be told. */
export interface RaceOptions<T> {
  /** Gets rid of a value that nobody receives: that of a loser, or of a winner that came too late (S37). */
  discard?: (value: T) => void
}

/** Checks a list at the call. Gives a copy: the list may change before it is run. */
export function checkList(list: readonly unknown[], where: string): readonly Item[] {
  if (!Array.isArray(list))
    throw new BadArgument(`${where} needs an array of ops or bodies, got ${show(list)}`)
  return Array.from(list, (item, index) => checkItem(item, `item ${index} of ${where}`))
}

/** Checks the list of `race` and `any`, which cannot be empty: who should win? */
export function checkContenders(list: readonly unknown[], where: string): readonly Item[] {
  const items = checkList(list, where)
  if (items.length === 0)
    throw new BadArgument(`${where} needs at least one op or body: nobody can win an empty list`)
  return items
}

export function checkDiscard<T>(options: RaceOptions<T>, where: string): ((value: T) => void) | undefined {
  const { discard } = checkOptions(options, ['discard'], where)
  if (discard === undefined || typeof discard === 'function') return discard
  throw new BadArgument(`${where} needs a function as discard, got ${show(discard)}`)
}

function checkItem(item: unknown, what: string): Item {
  if (typeof item === 'function') {
    checkBody(item, what)
    return item as () => unknown
  }
  const isOp =
    typeof item === 'object' &&
    typeof (item as Op<unknown> | null)?.[Symbol.iterator] === 'function' &&
    !Array.isArray(item) &&
    !ArrayBuffer.isView(item) &&
    !(item instanceof Map) &&
    !(item instanceof Set)
  // What fibers and async code can both wait for is an op here.
  if (!isOp && typeof (item as PromiseLike<unknown> | null)?.then === 'function') {
    ;(item as PromiseLike<unknown>).then(undefined, () => {}) // refused: its rejection is nobody's
    throw new BadArgument(`${what} is a promise, which cannot be stopped. Write until(promise)`)
  }
  if (!isOp) {
    throw new BadArgument(
      `${what} must be an op, a body or a fiber, got ${show(item)}. Wrap a promise in until(promise), a value in () => value`,
    )
  }
  if (debugging) opEntered(item as unknown as { describe(): string }) // it is ours now
  return item as Op<unknown>
}

/** A team whose members are the items of a list. */
export abstract class Contest extends Team {
  /** Who decided the matter; null if it took all of them. */
  protected decider: Member | null = null
  /** Those that have not ended; none once the matter is decided. */
  private missing: number
  private readonly started = new Set<Item>()

  constructor(
    private readonly items: readonly Item[],
    where: string,
    private readonly options: ContestOptions = {},
  ) {
    super(where, options.discard)
    this.missing = items.length
  }

  /** Whether the end of this member decides the matter. */
  protected abstract decides(member: Member): boolean
  /** The matter is decided. */
  protected abstract result(): unknown

  protected *work(): Routine<unknown> {
    for (const item of this.items) (item as Partial<Handed>).handedOver?.()
    for (const [index, item] of this.items.entries()) {
      if (this.missing === 0) break // fibers that are dead already have decided it
      if (item instanceof Fiber) this.include(item)
      else {
        const ticket: Ticket = { item, member: null }
        ticket.member = this.hire(this.nameFor(item, index), attempt, this, ticket)
      }
    }
    if (this.items.length > 0) yield* this.news
    return this.result()
  }

  private nameFor(item: Item, index: number): string {
    return (typeof item === 'function' && nameOf(item)) || `${this.where.slice(0, -2)}[${index}]`
  }

  protected judge(member: Member): void {
    if (this.missing === 0) return
    const isDecided = this.decides(member)
    if (isDecided) this.decider = member
    this.missing = isDecided ? 0 : this.missing - 1
    if (this.missing > 0) return
    this.letOthersGo()
    this.tellNews()
  }

  /** What is thrown because of this member. */
  protected tell(member: Member): unknown {
    member.isTold = true
    return member.failure
  }

  began(item: Item): void {
    this.started.add(item)
  }

  /** A member failed before anybody had stopped it: for `any` and `allSettled` that is an outcome like any other. */
  failedByItself(member: Member): void {
    if (this.options.isTolerant) member.isTold = true
  }

  /** A promise that nobody came to wait for must be taken care of all the same. */
  protected override over(): void {
    for (const item of this.items) {
      if (!this.started.has(item)) (item as Partial<Handed>).leftOut?.(this.host)
    }
  }
}

/** What an op around a promise is told: it must not reject while its member waits for its turn, nor if that never comes. */
interface Handed {
  handedOver(): void
  leftOut(fiber: Fiber): void
}

interface ContestOptions {
  /** Whether members may fail. What they throw as they are being stopped is an error all the same. */
  isTolerant?: boolean
  discard?: ((value: any) => void) | undefined
}

/** What the body of a member is given. */
interface Ticket {
  readonly item: Item
  /** Known when the body runs. */
  member: Member | null
}

/** The body of a member. */
function* attempt(contest: Contest, { item, member }: Ticket): Routine<unknown> {
  contest.began(item)
  try {
    return yield* typeof item === 'function' ? runBody(item) : item
  } catch (error) {
    const { phase } = Fiber.current
    if (phase === 'live' || phase === 'requested') contest.failedByItself(member as Member)
    throw error
  }
}

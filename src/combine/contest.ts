// Contest: what `all`, `allSettled`, `race` and `any` share. It takes a list of ops, bodies and fibers and makes each a
// member of a team (team.ts). A subclass decides which end settles the result.

import {
  BadArgument,
  check,
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

/** The result of an item. */
export type ItemResult<I> = I extends () => infer R ? Result<R> : I extends Op<infer T> ? T : never
/** The result of each item of a list, in order. */
export type ItemResults<L extends readonly Offered[]> = { -readonly [K in keyof L]: ItemResult<L[K]> }
/** The outcome of each item of a list, in order. */
export type ItemOutcomes<L extends readonly Offered[]> = {
  -readonly [K in keyof L]: Outcome<ItemResult<L[K]>>
}
/** What the type of a list admits. Promises are included, so that `Checked` can refuse them with a reason. */
export type Offered = Item | PromiseLike<any>
/** What a list must be beside itself: nothing more if it is valid, else a type that says what is wrong with it. */
export type Checked<L extends readonly Offered[]> = L extends Valid<L> ? unknown : Valid<L>
/** A list without promises, in which every body has a valid return type. */
type Valid<L extends readonly Offered[]> = {
  readonly [K in keyof L]: L[K] extends () => infer R
    ? () => Returned<R>
    : L[K] extends Op<any>
      ? L[K]
      : L[K] extends PromiseLike<any>
        ? Refused<'a promise cannot be stopped: write until(promise)'>
        : L[K]
}

/** Options of `race` and `any`. */
export interface RaceOptions<T> {
  /** Disposes of a value that no code receives: of a loser, or of a winner that came too late (S37). */
  discard?: (value: T) => void
}

/** Checks a list at the call. Returns a copy, since the list may change before the op runs. */
export function checkList(list: readonly unknown[], where: string): readonly Item[] {
  if (!Array.isArray(list))
    throw new BadArgument(`${where} needs an array of ops or bodies, got ${show(list)}`)
  return Array.from(list, (item, index) => checkItem(item, `item ${index} of ${where}`))
}

/** Checks the list of `race` and `any`, which must not be empty. */
export function checkContenders(list: readonly unknown[], where: string): readonly Item[] {
  const items = checkList(list, where)
  if (items.length === 0)
    throw new BadArgument(`${where} needs at least one op or body: an empty list has no winner`)
  return items
}

function checkItem(item: unknown, what: string): Item {
  if (typeof item === 'function') {
    check.body(item, what)
    return item as () => unknown
  }
  const isOp =
    typeof item === 'object' &&
    typeof (item as Op<unknown> | null)?.[Symbol.iterator] === 'function' &&
    !Array.isArray(item) &&
    !ArrayBuffer.isView(item) &&
    !(item instanceof Map) &&
    !(item instanceof Set)
  // An object that is both an op and a thenable counts as an op.
  if (!isOp && typeof (item as PromiseLike<unknown> | null)?.then === 'function') {
    ;(item as PromiseLike<unknown>).then(undefined, () => {}) // refused: its rejection must not count as unhandled
    throw new BadArgument(`${what} is a promise, which cannot be stopped. Write until(promise)`)
  }
  if (!isOp) {
    throw new BadArgument(
      `${what} must be an op, a body or a fiber, got ${show(item)}. Wrap a promise in until(promise), a value in () => value`,
    )
  }
  if (debugging) opEntered(item as unknown as { describe(): string }) // no "never entered" warning for it
  return item as Op<unknown>
}

/** A team whose members are the items of a list. */
export abstract class Contest extends Team {
  /** The member that decided the contest; null if all had to end. */
  protected decider: Member | null = null
  /** Number of members whose end is still awaited; 0 once the contest is decided. */
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

  /** Whether the end of this member decides the contest. */
  protected abstract decides(member: Member): boolean
  /** Returns or throws the result, once the contest is decided. */
  protected abstract result(): unknown

  *work(): Routine<unknown> {
    for (const item of this.items) (item as Partial<Handed>).handedOver?.()
    for (const [index, item] of this.items.entries()) {
      if (this.missing === 0) break // decided by a fiber that was dead already
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
    if (!member.isHired) this.failedByItself(member)
    if (this.missing === 0) return
    const isDecided = this.decides(member)
    if (isDecided) this.decider = member
    this.missing = isDecided ? 0 : this.missing - 1
    if (this.missing > 0) return
    this.letOthersGo()
    this.tellNews()
  }

  /** The error to throw because of this member, which thereby counts as told. */
  protected tell(member: Member): unknown {
    member.isTold = true
    return member.failure
  }

  began(item: Item): void {
    this.started.add(item)
  }

  /** The member failed without being stopped: for `any` and `allSettled` that is a normal outcome. */
  failedByItself(member: Member): void {
    if (this.options.isTolerant) member.isTolerated = true
  }

  /** The rejection of a promise that no member waited for must be handled too. */
  protected override over(): void {
    for (const item of this.items) {
      if (!this.started.has(item)) (item as Partial<Handed>).leftOut?.(this.host)
    }
  }
}

/** Implemented by `until(promise)`: its rejection is handled while its member has not started, and if it never starts. */
interface Handed {
  handedOver(): void
  leftOut(fiber: Fiber): void
}

interface ContestOptions {
  /** Whether members may fail. Errors thrown while a member is being stopped are still errors. */
  isTolerant?: boolean
  discard?: ((value: any) => void) | undefined
}

/** The argument of a member's body. */
interface Ticket {
  readonly item: Item
  /** Set before the body runs. */
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

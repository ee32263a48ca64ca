// Waiting for promises. A promise cannot be stopped, so a fiber that leaves lets it be: a late rejection is taken care
// of, a late value goes to `discard`. Given a function, the promise gets an AbortSignal that the leaving fiber aborts.

import {
  BadArgument,
  baton,
  enteredTwice,
  type Fiber,
  fail,
  LateOp,
  type Op,
  type Switchpoint,
  settle,
  show,
} from '../core/index.js'
import { checkDiscard, type DiscardOptions } from './discard.js'

/** What `until` may be told about its promise. */
export type UntilOptions<T> = DiscardOptions<T>

type Source<T> = PromiseLike<T> | ((signal: AbortSignal) => PromiseLike<T>)

class Until<T> extends LateOp<T> {
  private fiber: Fiber | null = null
  /** Counts the waits, so that the promise of an earlier one cannot answer a later one. */
  private entry = 0
  private controller: AbortController | null = null
  private reaction: Reaction | null = null
  override discard?: (value: T) => void

  constructor(
    private readonly source: Source<T>,
    discard?: (value: T) => void,
  ) {
    super()
    if (discard !== undefined) this.discard = discard
  }

  /** A promise that exists already must be taken care of even if a stop strikes before it is waited for. */
  override next(): IteratorResult<Switchpoint, T> {
    try {
      return super.next()
    } finally {
      if (baton.fiber !== null) this.leftOut(baton.fiber)
    }
  }

  /** It was given to somebody, a combinator, who will come to wait for it: nobody has to fear that it is forgotten. */
  handedOver(): void {
    if (typeof this.source !== 'function') Promise.resolve(this.source).then(undefined, () => {})
  }

  /** Nobody has come. */
  leftOut(fiber: Fiber): void {
    if (this.entry === 0 && typeof this.source !== 'function') leaveBehind(this.source).forget(this, 0, fiber)
  }

  enter(fiber: Fiber): void {
    if (this.fiber !== null) throw enteredTwice(this, this.fiber)
    const promise = typeof this.source === 'function' ? this.call(this.source) : this.source
    this.fiber = fiber
    this.entry++
    fiber.runtime.external++
    const known = lasting.get(promise)
    if (known === undefined) this.reaction = new Reaction(promise, this)
    else (this.reaction = known).join(this)
  }

  private call(source: (signal: AbortSignal) => PromiseLike<T>): PromiseLike<T> {
    this.controller = new AbortController()
    const promise = source(this.controller.signal)
    if (typeof promise?.then !== 'function') {
      throw new BadArgument(
        `until() needs a promise, or a function that returns one; it returned ${show(promise)}`,
      )
    }
    return promise
  }

  /** The promise has ended while this op was waited for. */
  answered(answer: typeof settle | typeof fail, value: unknown): void {
    const fiber = this.end()
    answer(fiber, this as LateOp<any>, value)
  }

  /** It has ended after the fiber had left: unless somebody waits anew by now, or a new call was made, nobody has it. */
  missed(value: unknown, entry: number, fiber: Fiber): void {
    if (entry === this.entry || typeof this.source === 'function') this.drop(value as T, fiber)
  }

  abort(fiber: Fiber): void {
    const { reaction } = this
    this.end() // left behind: nobody waits for it any more
    reaction?.leave(this, this.entry, fiber)
    this.controller?.abort(fiber.stopReason)
  }

  private end(): Fiber {
    const fiber = this.fiber as Fiber
    this.fiber = null
    this.reaction = null
    fiber.runtime.external--
    return fiber
  }

  describe(): string {
    return 'a promise'
  }
}

/**
 * What a promise tells when it ends. Nothing can be taken back from a promise, so whoever leaves takes itself out here;
 * and from then on all who wait for that promise share this one, however often they come and go.
 */
class Reaction {
  /** Those who joined it, in order of arrival; most have only the one that made it. */
  private others: Set<Until<any>> | null = null
  /** Those who have left and want to get rid of a late value. */
  private left: Map<Until<any>, { entry: number; fiber: Fiber }> | null = null

  constructor(
    private readonly promise: PromiseLike<unknown>,
    private first: Until<any> | null,
  ) {
    // Promise.resolve: a thenable of somebody's own may answer twice, or throw.
    Promise.resolve(promise).then(
      (value) => this.tell(settle, value),
      (error) => this.tell(fail, error),
    )
  }

  join(op: Until<any>): void {
    if (this.others === null) this.others = new Set()
    this.others.add(op)
  }

  leave(op: Until<any>, entry: number, fiber: Fiber): void {
    if (this.first === op) this.first = null
    else this.others?.delete(op)
    // A promise ends once, for all; a thenable of another kind may start anew at each look.
    if (this.promise instanceof Promise && !lasting.has(this.promise)) lasting.set(this.promise, this)
    this.forget(op, entry, fiber)
  }

  /** The fiber has gone. */
  forget(op: Until<any>, entry: number, fiber: Fiber): void {
    if (op.discard === undefined) return
    if (this.left === null) this.left = new Map()
    this.left.set(op, { entry, fiber })
  }

  private tell(answer: typeof settle | typeof fail, value: unknown): void {
    const { first, others, left, promise } = this
    if (lasting.get(promise) === this) lasting.delete(promise)
    this.first = this.others = this.left = null
    first?.answered(answer, value)
    if (others !== null) for (const op of others) op.answered(answer, value)
    if (left === null || answer === fail) return
    for (const [op, { entry, fiber }] of left) op.missed(value, entry, fiber)
  }
}

/** The promises that fibers have left, and may come back to. */
const lasting = new WeakMap<object, Reaction>()

function leaveBehind(promise: PromiseLike<unknown>): Reaction {
  let reaction = lasting.get(promise)
  if (reaction === undefined) {
    reaction = new Reaction(promise, null)
    if (promise instanceof Promise) lasting.set(promise, reaction)
  }
  return reaction
}

/**
 * Waits for a promise (S58). The function form gets an AbortSignal that is aborted when the fiber leaves (S57).
 *
 * ```ts
 * import { setTimeout as wait } from 'node:timers/promises'
 * import { main, moveOnAfter, until } from 'polyphony'
 *
 * main(function* () {
 *   console.log(yield* until(wait(5, 'a promise')))
 *   const slow = () => until((signal) => wait(60_000, 'too late', { signal })) // aborted: nothing is left behind
 *   console.log(yield* moveOnAfter(10, slow, 'moved on'))
 * })
 * ```
 *
 * ```text
 * a promise
 * moved on
 * ```
 */
export function until<T>(
  source: PromiseLike<T> | ((signal: AbortSignal) => PromiseLike<T>),
  options: UntilOptions<T> = {},
): Op<T> {
  if (typeof source !== 'function' && typeof (source as PromiseLike<T> | null)?.then !== 'function') {
    throw new BadArgument(`until() needs a promise, or a function that returns one, got ${show(source)}`)
  }
  return new Until(source, checkDiscard(options, 'until()'))
}

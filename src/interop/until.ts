// until: waits for a promise. A promise cannot be stopped, so when a fiber leaves, a late rejection counts as handled, and
// a late value goes to `discard`. A function gets an AbortSignal, which aborts when the fiber leaves.
//
//   until(promise)  <--->  Reaction: one for each promise that is waited for  <---  promise.then(onValue, onError)
//
// A callback cannot be removed from a promise, so a leaving fiber removes itself from the reaction. The reaction stays
// attached to its promise and serves all later waits for it; once the promise has settled, it is reused for another.

import {
  answer,
  BadArgument,
  BaseOp,
  check,
  current,
  debugging,
  ERROR,
  type Fiber,
  type Op,
  type Runtime,
  SUSPENDED,
  type Switchpoint,
  show,
  VALUE,
  WAITING,
} from '../core/index.js'
import { DISCARD_OPTIONS, type DiscardOptions } from './action.js'

/** Options of `until`. */
export type UntilOptions<T> = DiscardOptions<T>

type Source<T> = PromiseLike<T> | ((signal: AbortSignal) => PromiseLike<T>)

class Until<T> extends BaseOp<T> {
  /** The waiting fiber. */
  private fiber: Fiber | null = null
  /** The reaction of the last wait; null before the first. */
  private reaction: Reaction | null = null
  private controller: AbortController | null = null

  constructor(
    private readonly source: Source<T>,
    readonly discard: ((value: T) => void) | undefined,
  ) {
    super()
  }

  // A hot path in programs that use many promises, so it has a shortcut: a promise is never settled at once, and to wait
  // for one runs no user code.
  override next(): IteratorResult<Switchpoint, T> {
    const { fiber } = current
    if (fiber !== null && fiber.op === this) return super.next()
    const isShort =
      fiber !== null && fiber.op === null && fiber.budget > 0 && this.fiber === null && !debugging
    if (!isShort || !(this.source instanceof Promise)) return this.longWay()
    fiber.budget--
    this.register(fiber, this.source)
    fiber.op = this
    fiber._state = WAITING
    return SUSPENDED
  }

  private longWay(): IteratorResult<Switchpoint, T> {
    if (this.reaction !== null) return super.next()
    try {
      return super.next()
    } finally {
      // The rejection of an existing promise must be handled even if a stop is delivered before the wait begins.
      if (current.fiber !== null) this.leftOut(current.fiber)
    }
  }

  /** Called when a combinator takes the op, whose member waits for it later or never: a rejection counts as handled from now. */
  handedOver(): void {
    if (this.source instanceof Promise) reactionOf(this.source)
  }

  /** Called when the op is never waited for. */
  leftOut(fiber: Fiber): void {
    if (this.reaction !== null || !(this.source instanceof Promise)) return // a thenable may start its work in then()
    reactionOf(this.source).orphan(this.discard, fiber.runtime)
  }

  enter(fiber: Fiber): void {
    this.refuseSecond(this.fiber)
    this.register(fiber, typeof this.source === 'function' ? this.call(this.source) : this.source)
  }

  private register(fiber: Fiber, promise: PromiseLike<T>): void {
    const known = lasting?.get(promise)
    if (known === undefined) this.reaction = newReaction(promise, fiber)
    else (this.reaction = known).join(fiber)
    this.fiber = fiber
    fiber.runtime.external++
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

  /** The wait is over, answered or aborted. */
  end(fiber: Fiber): void {
    this.fiber = null
    fiber.runtime.external--
  }

  abort(fiber: Fiber): void {
    this.end(fiber)
    this.reaction?.leave(fiber, this.discard)
    this.controller?.abort(fiber.stopReason)
  }

  describe(): string {
    return 'a promise'
  }
  override get kind(): string {
    return 'promise'
  }
}

/** The callbacks on a promise, and the fibers that wait for it, each in an `Until`. */
class Reaction {
  private promise: PromiseLike<unknown> | null = null
  /** Most promises have one waiting fiber, `first`. `others` joined later, in order. */
  private first: Fiber | null = null
  private others: Set<Fiber> | null = null
  /** Disposes of the value if no fiber receives it: the `discard` of the last wait that left, and its runtime. */
  private discard: ((value: any) => void) | null = null
  private runtime: Runtime | null = null
  /** Whether the promise calls back without an async context. Otherwise it has that of the first fiber (S56). */
  private isPlain = false
  private readonly onValue = (value: unknown) => this.tell(VALUE, value)
  private readonly onError = (error: unknown) => this.tell(ERROR, error)

  attach(promise: PromiseLike<unknown>, fiber: Fiber | null): void {
    // Promise.resolve: a thenable that is not a promise may answer twice, or throw. The original `then`, as in `await`:
    // the promise may have a property of that name.
    then.call(Promise.resolve(promise), this.onValue, this.onError)
    this.promise = promise
    this.first = fiber
    this.isPlain = fiber !== null && !isCarrying(fiber)
  }

  join(fiber: Fiber): void {
    if (this.first === null) this.first = fiber
    else (this.others ??= new Set()).add(fiber)
  }

  leave(fiber: Fiber, discard: ((value: any) => void) | undefined): void {
    if (this.first === fiber) this.first = null
    else this.others?.delete(fiber)
    remember(this.promise as PromiseLike<unknown>, this)
    this.orphan(discard, fiber.runtime)
  }

  /** A wait has left, or never began. */
  orphan(discard: ((value: any) => void) | undefined, runtime: Runtime): void {
    if (discard === undefined) return
    this.discard = discard
    this.runtime = runtime
  }

  private tell(how: typeof VALUE | typeof ERROR, value: unknown): void {
    const { discard, first, isPlain, others, runtime } = this
    const promise = this.promise as PromiseLike<unknown>
    if (lasting !== null && lasting.get(promise) === this) lasting.delete(promise)
    this.promise = this.first = this.others = this.discard = this.runtime = null
    if (spares.length < MAX_SPARES) spares.push(this)
    if (first !== null && others === null) {
      const op = endWait(first, promise)
      if (isPlain || isCarrying(first)) first.runtime.arrive(first, op, how, value)
      else answer(first, op, how, value)
      return
    }
    // No fiber may run before all are answered: it might stop another one.
    for (const fiber of first === null ? (others ?? []) : [first, ...(others ?? [])]) {
      answer(fiber, endWait(fiber, promise), how, value)
    }
    // Waits that began before any fiber had left have reactions of their own, which are called in this tick too.
    if (how === VALUE && discard !== null)
      then.call(Promise.resolve(), () => dispose(promise, value, discard, runtime))
  }
}

/** Discards the value of a promise, unless it was discarded before or a fiber has received it. */
function dispose(
  promise: object,
  value: unknown,
  discard: (value: any) => void,
  runtime: Runtime | null,
): void {
  if (taken.has(promise)) return
  taken.add(promise)
  try {
    discard(value)
  } catch (error) {
    runtime?.uncaught(error, 'discarding the late value of a promise failed') // S70
  }
}

/** Whether the steps of a fiber run in an async context of their own. */
function isCarrying(fiber: Fiber): boolean {
  return fiber.rare !== null && fiber.rare.context !== null
}

/** Ends the wait of a fiber, which gets its answer. Returns its op. */
function endWait(fiber: Fiber, promise: object): Until<any> {
  const op = fiber.op as Until<any>
  op.end(fiber)
  if (hasDiscards) taken.add(promise)
  return op
}

const { then } = Promise.prototype
/** Reactions to reuse: making one costs as much as the rest of a wait. */
const spares: Reaction[] = []
const MAX_SPARES = 1000
/** The reactions of promises that a fiber has left, for later waits. Most programs have none. */
let lasting: WeakMap<object, Reaction> | null = null
/** Promises whose value was received or discarded. Maintained once a wait has a `discard`. */
const taken = new WeakSet<object>()
let hasDiscards = false

function newReaction(promise: PromiseLike<unknown>, fiber: Fiber | null): Reaction {
  const reaction = spares.pop() ?? new Reaction()
  reaction.attach(promise, fiber)
  return reaction
}

/** The reaction of a promise that may never be waited for. */
function reactionOf(promise: PromiseLike<unknown>): Reaction {
  const known = lasting?.get(promise)
  if (known !== undefined) return known
  const reaction = newReaction(promise, null)
  remember(promise, reaction)
  return reaction
}

/** Only for promises: another thenable may start its work anew with each `then`. */
function remember(promise: PromiseLike<unknown>, reaction: Reaction): void {
  if (promise instanceof Promise) (lasting ??= new WeakMap()).set(promise, reaction)
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
  options?: UntilOptions<T>,
): Op<T> {
  if (typeof source !== 'function' && typeof (source as PromiseLike<T> | null)?.then !== 'function') {
    throw new BadArgument(`until() needs a promise, or a function that returns one, got ${show(source)}`)
  }
  if (options === undefined) return new Until(source, undefined)
  const { discard } = check.options(options, DISCARD_OPTIONS, 'until()')
  if (discard !== undefined) hasDiscards = true
  return new Until(source, discard)
}

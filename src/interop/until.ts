// Waiting for promises. A promise cannot be stopped, so a fiber that leaves lets it be: a late rejection is taken care
// of, a late value goes to `discard`. Given a function, the promise gets an AbortSignal that the leaving fiber aborts.

import {
  BadArgument,
  baton,
  checkOptions,
  enteredTwice,
  type Fiber,
  fail,
  LateOp,
  type Op,
  type Switchpoint,
  settle,
  show,
} from '../core/index.js'

/** What `until` may be told about its promise. */
export interface UntilOptions<T> {
  /** Gets rid of a value that arrives after the fiber has left: closes it, releases it. */
  discard?: (value: T) => void
}

type Source<T> = PromiseLike<T> | ((signal: AbortSignal) => PromiseLike<T>)

class Until<T> extends LateOp<T> {
  private fiber: Fiber | null = null
  /** Counts the waits, so that the promise of an earlier one cannot answer a later one. */
  private entry = 0
  private controller: AbortController | null = null
  override discard?: (value: T) => void

  constructor(
    private readonly source: Source<T>,
    options: UntilOptions<T>,
  ) {
    super()
    if (options.discard !== undefined) this.discard = options.discard
  }

  /** A promise that exists already must be taken care of even if a stop strikes before it is waited for. */
  override next(): IteratorResult<Switchpoint, T> {
    try {
      return super.next()
    } finally {
      if (this.entry === 0 && baton.fiber !== null) this.leaveBehind(baton.fiber)
    }
  }

  /** It was given to somebody, a combinator, who has not come to wait for it. */
  leftOut(fiber: Fiber): void {
    if (this.entry === 0) this.leaveBehind(fiber)
  }

  enter(fiber: Fiber): void {
    if (this.fiber !== null) throw enteredTwice(this, this.fiber)
    const promise = typeof this.source === 'function' ? this.call(this.source) : this.source
    this.fiber = fiber
    this.left = false
    fiber.runtime.external++
    const entry = ++this.entry
    // Promise.resolve: a thenable of somebody's own may answer twice, or throw.
    Promise.resolve(promise).then(
      (value) => {
        if (this.isLatest(fiber, entry)) settle(fiber, this, value)
        else if (typeof this.source === 'function') this.drop(value, fiber) // of a call of its own
      },
      (error) => {
        if (this.isLatest(fiber, entry)) fail(fiber, this, error)
      },
    )
  }

  /** The promise of a wait has ended: whether nobody waits anew by now. */
  private isLatest(fiber: Fiber, entry: number): boolean {
    if (this.entry !== entry) return false
    if (this.fiber !== null) fiber.runtime.external--
    this.fiber = null
    return true
  }

  private leaveBehind(fiber: Fiber): void {
    if (typeof this.source === 'function') return
    Promise.resolve(this.source).then(
      (value) => {
        if (this.entry === 0) this.drop(value, fiber) // nobody has waited for it since
      },
      () => {},
    )
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

  abort(fiber: Fiber): void {
    this.fiber = null
    fiber.runtime.external-- // left behind: nobody waits for it any more
    this.controller?.abort(fiber.stopReason)
  }

  describe(): string {
    return 'a promise'
  }
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
  return new Until(source, checkOptions(options, ['discard'], 'until()'))
}

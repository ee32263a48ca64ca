// Waiting for promises. A promise cannot be stopped, so a fiber that leaves lets it be: a late rejection is taken care
// of, a late value goes to `discard`. Given a function, the promise gets an AbortSignal that the leaving fiber aborts.

import { BadArgument, type Fiber, fail, LateOp, type Op, settle, show } from '../core/index.js'

export interface UntilOptions<T> {
  /** Gets rid of a value that arrives after the fiber has left: closes it, releases it. */
  discard?: (value: T) => void
}

class Until<T> extends LateOp<T> {
  private controller: AbortController | null = null
  override discard?: (value: T) => void

  constructor(
    private readonly source: PromiseLike<T> | ((signal: AbortSignal) => PromiseLike<T>),
    options: UntilOptions<T>,
  ) {
    super()
    if (options.discard !== undefined) this.discard = options.discard
  }

  enter(fiber: Fiber): void {
    const promise = typeof this.source === 'function' ? this.call(this.source) : this.source
    this.left = false
    fiber.runtime.external++
    promise.then(
      (value) => {
        fiber.runtime.external--
        settle(fiber, this, value)
      },
      (error) => {
        fiber.runtime.external--
        fail(fiber, this, error)
      },
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
    this.controller?.abort(fiber.stopReason)
  }

  describe(): string {
    return 'a promise'
  }
}

/**
 * Waits for a promise. The function form gets an AbortSignal that is aborted when the fiber leaves.
 *
 * ```ts
 * const response = yield* until((signal) => fetch(url, { signal }))
 * ```
 */
export function until<T>(
  source: PromiseLike<T> | ((signal: AbortSignal) => PromiseLike<T>),
  options: UntilOptions<T> = {},
): Op<T> {
  if (typeof source !== 'function' && typeof (source as PromiseLike<T> | null)?.then !== 'function') {
    throw new BadArgument(`until() needs a promise, or a function that returns one, got ${show(source)}`)
  }
  return new Until(source, options)
}

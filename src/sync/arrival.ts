// Functions that may be bodies or return promises: what they return is run, or waited for. (The bridge to promises for
// everybody is `until`, in a room further up.)

import {
  BaseOp,
  checkBody,
  type Fiber,
  fail,
  type Op,
  type Routine,
  runReturned,
  settle,
} from '../core/index.js'

/** What such a function may return: an op to run, a promise to wait for, or the result itself. */
export type Answer<T> = Op<T> | PromiseLike<T> | T

const AsyncFunctionPrototype = Object.getPrototypeOf(async () => {})

/** Whether it is an async function. */
export function isAsync(fn: unknown): boolean {
  return typeof fn === 'function' && Object.getPrototypeOf(fn) === AsyncFunctionPrototype
}

/** Refuses at the call what is neither a body nor an async function. */
export function checkEither(fn: unknown, where: string): void {
  if (!isAsync(fn)) checkBody(fn, where)
}

export function isPromise(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && typeof (value as PromiseLike<unknown> | null)?.then === 'function'
}

/** Runs what such a function has returned. A value that comes when the fiber has left is given to `late`. */
export function* runEither<T>(
  returned: Answer<T>,
  fn: (...args: any[]) => unknown,
  late?: (value: T) => void,
): Routine<T> {
  if (isPromise(returned)) return (yield* new Arrival(returned as PromiseLike<T>, late)) as T
  return (yield* runReturned(returned, fn)) as T
}

/** Waits for a promise that exists already: it is taken care of from the start, whether it is ever waited for or not. */
export class Arrival<T> extends BaseOp<T> {
  private fiber: Fiber | null = null

  constructor(
    promise: PromiseLike<T>,
    private readonly orphaned?: (value: T) => void,
  ) {
    super()
    // Promise.resolve: a thenable of somebody's own may answer twice, or throw.
    Promise.resolve(promise).then(
      (value) => {
        const fiber = this.leave()
        if (fiber === null) this.late(value)
        else settle(fiber, this, value)
      },
      (error) => {
        const fiber = this.leave()
        if (fiber !== null) fail(fiber, this, error)
      },
    )
  }

  enter(fiber: Fiber): void {
    this.fiber = fiber
    fiber.runtime.external++
  }
  abort(): void {
    this.leave()
  }
  private leave(): Fiber | null {
    const { fiber } = this
    this.fiber = null
    if (fiber !== null) fiber.runtime.external--
    return fiber
  }
  override late(value: unknown): void {
    this.orphaned?.(value as T)
  }
  describe(): string {
    return 'a promise'
  }
}

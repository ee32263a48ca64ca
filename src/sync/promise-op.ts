// Runs functions that may be bodies or return promises, and has PromiseOp, the op that waits for an existing promise.
// Internal: the public bridge to promises is `until`, in interop/.

import { BaseOp, check, type Fiber, fail, type Op, type Routine, runReturned, settle } from '../core/index.js'

/** What a body or an async function may return: an op to run, a promise to wait for, or the result itself. */
export type Answer<T> = Op<T> | PromiseLike<T> | T

const AsyncFunctionPrototype = Object.getPrototypeOf(async () => {})

export function isAsync(fn: unknown): boolean {
  return typeof fn === 'function' && Object.getPrototypeOf(fn) === AsyncFunctionPrototype
}

/** Throws unless `fn` is a body or an async function. */
export function checkBodyOrAsync(fn: unknown, where: string): void {
  if (!isAsync(fn)) check.body(fn, where)
}

export function isPromise(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && typeof (value as PromiseLike<unknown> | null)?.then === 'function'
}

/** Runs what a body or an async function returned. A promise that resolves after the fiber has left goes to `late`. */
export function* runBodyOrPromise<T>(
  returned: Answer<T>,
  fn: (...args: any[]) => unknown,
  late?: (value: T) => void,
): Routine<T> {
  if (isPromise(returned)) return (yield* new PromiseOp(returned as PromiseLike<T>, late)) as T
  return (yield* runReturned(returned, fn)) as T
}

/** Waits for an existing promise. Its rejection counts as handled from the start, whether it is ever waited for or not. */
export class PromiseOp<T> extends BaseOp<T> {
  private fiber: Fiber | null = null

  constructor(
    promise: PromiseLike<T>,
    private readonly orphaned?: (value: T) => void,
  ) {
    super()
    // Promise.resolve: a thenable that is not a promise may answer twice, or throw.
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
  override get kind(): string {
    return 'promise'
  }
}

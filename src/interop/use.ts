// use: disposes of a resource at the end of the scope in which it was acquired (S60). `using` works in generators too,
// but `await using` cannot: its cleanup would wait without a switchpoint. The list of cleanups is in core/cleanup.ts.

import {
  addCleanup,
  BadArgument,
  BaseOp,
  check,
  current,
  type Fiber,
  notInFiber,
  type Op,
  type Returned,
  settle,
  show,
} from '../core/index.js'
import { until } from './until.js'

class Use<T> extends BaseOp<T> {
  constructor(
    private readonly value: T,
    private readonly dispose: () => unknown,
  ) {
    super()
  }

  /** Registers before the switchpoint: a stop delivered there must not leave the resource undisposed. */
  override [Symbol.iterator](): this {
    const fiber = current.fiber
    if (fiber === null) throw notInFiber('use()')
    addCleanup(fiber, this.dispose)
    return this
  }
  enter(fiber: Fiber): void {
    settle(fiber, this, this.value)
  }
  abort(): void {}
  describe(): string {
    return 'use()'
  }
}

/**
 * Returns the resource, and disposes of it at the end of the innermost `scope`, or else of the fiber: after all its
 * children have ended, the newest resource first. The disposal runs to completion, like the cleanup of `ensure` (S60). A
 * resource without `[Symbol.asyncDispose]` or `[Symbol.dispose]` needs a second argument, a function that disposes of it.
 *
 * ```ts
 * yield* scope(function* () {
 *   const name = yield* use('a connection', function* (name) {
 *     yield* sleep(10)
 *     console.log(`closed ${name}`) // closed a connection
 *   })
 *   console.log(`using ${name}`) // using a connection
 * })
 * ```
 */
export function use<T extends Disposable | AsyncDisposable | null | undefined>(resource: T): Op<T>
export function use<T, R>(resource: T, dispose: (resource: T) => Returned<R>): Op<T>
export function use<T>(resource: T, dispose?: (resource: T) => unknown): Op<T> {
  if (dispose !== undefined) {
    check.body(dispose, 'the disposal of use()')
    return new Use(resource, () => dispose(resource))
  }
  return new Use(resource, disposerOf(resource))
}

/** Something that is both an op and a promise, such as the close of a stream, is waited for as an op. */
function isOp(value: unknown): value is Op<unknown> {
  return typeof (value as Op<unknown> | null | undefined)?.[Symbol.iterator] === 'function'
}

function disposerOf(resource: unknown): () => unknown {
  if (resource === undefined || resource === null) return () => {} // as `using` does
  const { [Symbol.asyncDispose]: disposeAsync, [Symbol.dispose]: dispose } = resource as AsyncDisposable &
    Disposable
  if (typeof disposeAsync === 'function') {
    return () => {
      const disposal: unknown = disposeAsync.call(resource)
      return isOp(disposal) ? disposal : until(Promise.resolve(disposal))
    }
  }
  if (typeof dispose === 'function') return () => void dispose.call(resource)
  throw new BadArgument(
    `use() needs something with [Symbol.asyncDispose] or [Symbol.dispose], got ${show(resource)}. ` +
      'A second argument can say how to dispose of it: use(resource, (resource) => resource.close())',
  )
}

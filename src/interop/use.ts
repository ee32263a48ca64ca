// Resources that are let go when the scope they were taken in is over (S60). `using` works in generators too, but
// `await using` cannot: its cleanup would wait without a switchpoint.

import {
  addCleanup,
  BadArgument,
  BaseOp,
  baton,
  checkBody,
  type Fiber,
  innermostOwner,
  notInFiber,
  type Op,
  type Returned,
  settle,
  show,
} from '../core/index.js'
import { until } from './until.js'

class Use<T> extends BaseOp<T> {
  constructor(
    private readonly resource: T,
    private readonly dispose: () => unknown,
  ) {
    super()
  }

  /** Registers before the switchpoint: a stop that strikes there must not leave the resource behind. */
  override [Symbol.iterator](): this {
    const fiber = baton.fiber
    if (fiber === null) throw notInFiber('use()')
    addCleanup(innermostOwner(fiber), this.dispose)
    return this
  }
  enter(fiber: Fiber): void {
    settle(fiber, this, this.resource)
  }
  abort(): void {}
  describe(): string {
    return 'use()'
  }
}

/**
 * Gives the resource, and disposes of it when the innermost `scope`, or else the fiber, is over: after all its children have
 * ended, the newest resource first. Cleanup that waits is whole, like that of `ensure` (S60). What has neither
 * `[Symbol.asyncDispose]` nor `[Symbol.dispose]` needs a second argument that says how.
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
    checkBody(dispose, 'use()')
    return new Use(resource, () => dispose(resource))
  }
  return new Use(resource, disposerOf(resource))
}

/** What fibers and async code can both wait for, such as the close of a stream, is waited for as fibers do. */
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

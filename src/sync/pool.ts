// ResourcePool: a few resources shared by many fibers, each used by one fiber at a time. This file is the public face:
// options, checks and messages. Slots and the line of waiters are in pool-state.ts, `acquire` in pool-acquire.ts,
// creating, checking and destroying in pool-lifecycle.ts.

import {
  BadArgument,
  BadState,
  type Checks,
  check,
  type Op,
  op,
  type Result,
  type Returned,
  type Routine,
  runningFiber,
  scope,
  spin,
  spinRoot,
} from '../core/index.js'
import { PoolClosed } from './errors.js'
import { isInside, PoolAcquire, refusal, slotOf, TakeEmptySlot, TakeSlot } from './pool-acquire.js'
import { PoolLifecycle } from './pool-lifecycle.js'
import { PoolState, type PoolStats } from './pool-state.js'
import { type Answer, checkBodyOrAsync } from './promise-op.js'

/** How many resources a pool keeps, and for how long. Times are milliseconds; a time left out means no limit. */
export interface PoolSettings<R> {
  /** The most resources that may exist at a time. */
  limit: number
  /** Destroys a resource. It runs in a fiber outside the tree, and has five seconds (S18). Its errors are reported. */
  destroy?: (resource: R) => Answer<unknown>
  /** Checks a used resource each time before it is handed out again. If it returns false or fails, the resource is
   * destroyed and a new one created. */
  validate?: (resource: R) => Answer<unknown>
  /** Destroys resources that were idle for this long. */
  idleTimeout?: number
  /** Destroys resources that are older, as soon as they are not in use. */
  maxAge?: number
  /** How long `acquire` may wait for a resource, including its creation; then it throws `TimedOut`. */
  acquireTimeout?: number
  /** Shown in errors and trees. */
  name?: string
}

/** The options of a pool. `C` is what `create` returns: an op, a promise or the resource itself. */
export interface PoolOptions<R, C = Answer<R>> extends PoolSettings<R> {
  /** Creates a resource: a body, or a function that returns a promise. The signal aborts if the fiber stops waiting for it. */
  create: (signal: AbortSignal) => C
}
const OPTIONS: Checks<PoolOptions<any>> = {
  limit: check.limit,
  create: checkBodyOrAsync,
  destroy: checkBodyOrAsync,
  validate: checkBodyOrAsync,
  idleTimeout: check.timeLimit,
  maxAge: check.timeLimit,
  acquireTimeout: check.timeLimit,
  name: check.name,
}

/**
 * A few resources, such as connections, shared by many fibers. They are created on demand, up to `limit`; then fibers
 * wait, and are served first come, first served (S36, S52).
 *
 * A pool serves the fibers of one runtime. If a fiber is stopped while `create` runs, the late resource joins the pool
 * if there is room, and is destroyed if not.
 *
 * ```ts
 * let opened = 0
 * const pool = new ResourcePool({ limit: 2, create: () => ({ id: ++opened }) })
 * function* query(sql: string) {
 *   return yield* pool.acquire(function* (connection) {
 *     yield* sleep(10)
 *     return `${sql} by ${connection.id}`
 *   })
 * }
 * const queries = ['insert', 'update', 'select'].map((sql) => spin(query, sql))
 * console.log(yield* Fiber.await(...queries)) // [ 'insert by 1', 'update by 2', 'select by 1' ]
 * yield* pool.close()
 * ```
 */
export class ResourcePool<R> implements AsyncDisposable {
  /** The name in trees and messages. */
  readonly name: string
  private readonly state: PoolState<R>
  private readonly takeSlot: TakeSlot<R>

  constructor(options: PoolOptions<R, PromiseLike<R>>)
  constructor(options: PoolOptions<R, Op<R>>)
  constructor(options: PoolOptions<R, Returned<R>>)
  constructor(settings: PoolSettings<R>, create: (signal: AbortSignal) => PromiseLike<R>)
  constructor(settings: PoolSettings<R>, create: (signal: AbortSignal) => Op<R>)
  constructor(settings: PoolSettings<R>, create: (signal: AbortSignal) => Returned<R>)
  constructor(given: Partial<PoolOptions<R>>, second?: (signal: AbortSignal) => Answer<R>) {
    const where = 'new ResourcePool()'
    if (second !== undefined && given?.create !== undefined) {
      throw new BadArgument(`${where} was given two functions that create, one of them in its options`)
    }
    const options = second === undefined ? given : { ...given, create: second }
    check.options(options, OPTIONS, where, ['limit', 'create'])
    const { limit, create, destroy, validate, name } = options
    const { idleTimeout = Infinity, maxAge = Infinity, acquireTimeout = Infinity } = options
    this.name = name ?? 'pool'
    this.state = new PoolState<R>(
      this,
      limit as number,
      name === undefined ? 'a pool' : `the pool ${name}`,
      idleTimeout,
      maxAge,
      acquireTimeout,
      new PoolLifecycle<R>(create as (signal: AbortSignal) => Answer<R>, destroy, validate),
    )
    this.takeSlot = new TakeSlot(this.state)
  }

  /**
   * Runs a body with a resource of its own, and releases the resource however the body ends. A nested `acquire` of the
   * same fiber gets the same resource; its children get others.
   *
   * ```ts
   * const pool = new ResourcePool({ limit: 1, create: () => ['one', 'two'] })
   * console.log(yield* pool.acquire((rows) => rows.length)) // 2
   * ```
   */
  acquire<T>(body: (resource: R) => Returned<T>): Op<Result<T>> {
    return new PoolAcquire<R, Result<T>>(this.state, body, this.takeSlot)
  }

  /**
   * Takes a resource out of the pool, for example a broken connection. It is destroyed when it is released, or at once if
   * it is idle; then the first fiber in line may create another. False if it is not in this pool.
   *
   * ```ts
   * let made = 0
   * const pool = new ResourcePool({ limit: 1, create: () => `number ${++made}` })
   * yield* pool.acquire((resource) => pool.discard(resource))
   * console.log(yield* pool.acquire((resource) => resource)) // number 2
   * ```
   */
  discard(resource: R): boolean {
    const { state } = this
    const fiber = runningFiber()
    const mine = fiber === null ? undefined : slotOf(fiber, state)
    return state.discard(resource, mine)
  }

  /**
   * Creates resources up to the limit, all at the same time.
   *
   * ```ts
   * const pool = new ResourcePool({ limit: 3, create: () => sleep(100) })
   * yield* pool.fill()
   * console.log(pool.available) // 3
   * ```
   */
  fill(): Op<void> {
    return op(`fill() of ${this.state.label}`, () => this.filling())
  }

  private *filling(): Routine<void> {
    const { state } = this
    const fiber = runningFiber(`fill() of ${state.label}`)
    if (state.isClosed) throw refusal(state, fiber)
    if (state.limit === Infinity) throw new BadState(`${state.label} has no limit, so fill() would never end`)
    yield* scope(() => {
      const takeEmptySlot = new TakeEmptySlot(state)
      for (let n = state.limit - state.slots.size; n > 0; n--) {
        spin('create', () => new PoolAcquire(state, () => {}, takeEmptySlot))
      }
    })
  }

  /**
   * Closes the pool and waits until every resource is destroyed: fibers in line get `PoolClosed`, fibers that hold a
   * resource may finish. Closing a closed pool throws.
   *
   * ```ts
   * const pool = new ResourcePool({
   *   limit: 1,
   *   create: () => 'a resource',
   *   destroy: (resource) => console.log(`the end of ${resource}`), // the end of a resource
   * })
   * yield* pool.fill()
   * yield* pool.close()
   * ```
   */
  close(): Op<void> {
    return op(`close() of ${this.state.label}`, () => this.closing())
  }

  private *closing(): Routine<void> {
    const { state } = this
    const fiber = runningFiber(`close() of ${state.label}`)
    if (state.isClosed)
      throw new PoolClosed(`${fiber.path} wanted to close ${state.label}, which was closed before`)
    if (isInside(fiber, state)) {
      throw new BadState(
        `${fiber.path} cannot close ${state.label} inside acquire(): it would wait for itself. Close it outside.`,
      )
    }
    state.close()
    yield* state.emptied()
  }

  /** Closes the pool unless it is closed, and waits until it is empty. */
  [Symbol.asyncDispose](): Promise<void> {
    const { state } = this
    if (!state.isClosed) state.close()
    const { runtime } = state
    if (state.isEmpty || runtime === null) return Promise.resolve()
    return new Promise((resolve) => {
      spinRoot(runtime, function* closePool() {
        yield* state.emptied()
        resolve()
      })
    })
  }

  /** The most resources that may exist at a time. */
  get limit(): number {
    return this.state.limit
  }
  /** How many resources there are, including those being created or destroyed. */
  get size(): number {
    return this.state.slots.size
  }
  /** How many resources are idle, ready to be handed out. */
  get available(): number {
    return this.state.idle.length
  }
  /** How many fibers wait for a resource. */
  get waiting(): number {
    return this.state.line.size
  }
  /** Whether `close()` has been called. */
  get isClosed(): boolean {
    return this.state.isClosed
  }

  /** Current numbers, and totals since the pool was made. */
  stats(): PoolStats {
    return this.state.stats()
  }
}

// ResourcePool: a few resources shared by many fibers, each in the hands of one fiber at a time. The public face; the
// work is done by stock (who gets what), lease (holding it) and upkeep (creating, checking, destroying).

import {
  BadArgument,
  BadState,
  baton,
  checkMs,
  checkName,
  checkOptions,
  notInFiber,
  type Op,
  type Result,
  type Returned,
  type Routine,
  repeatable,
  scope,
  show,
  spin,
  spinRoot,
} from '../core/index.js'
import { type Answer, checkEither } from './arrival.js'
import { PoolClosed } from './errors.js'
import { isInside, Lease, refusal, slotOf, Turn, Vacancy } from './lease.js'
import { type PoolStats, Stock } from './stock.js'
import { Upkeep } from './upkeep.js'

/** How long a pool keeps its resources, and how many. Times are milliseconds; without one there is no limit. */
export interface PoolSettings<R> {
  /** How many resources there may be at a time. */
  limit: number
  /** Ends one. It runs in a fiber outside the tree, and has five seconds (S18). Its errors are reported. */
  destroy?: (resource: R) => Answer<unknown>
  /** Looks at a resource that was used before, each time it is handed out. If it returns false or fails, the resource is
   * destroyed, and a new one created. */
  validate?: (resource: R) => Answer<unknown>
  /** Destroys what nobody has used for so long. */
  idleTimeout?: number
  /** Destroys what is older, as soon as it is not in use. */
  maxAge?: number
  /** How long `acquire` may wait for a resource, its creation included; then it throws `TimedOut`. */
  acquireTimeout?: number
  /** Shown in errors and trees. */
  name?: string
}

/** What a pool is made with. `C` is what `create` returns: an op, a promise or the resource itself. */
export interface PoolOptions<R, C = Answer<R>> extends PoolSettings<R> {
  /** Makes a resource: a body, or a function that returns a promise. The signal is aborted when nobody waits for it any more. */
  create: (signal: AbortSignal) => C
}
const OPTION_NAMES = [
  'limit',
  'create',
  'destroy',
  'validate',
  'idleTimeout',
  'maxAge',
  'acquireTimeout',
  'name',
]

/**
 * A few resources, such as connections, shared by many fibers. They are created when they are needed, up to `limit`;
 * then fibers wait, and are served in the order in which they came (S36, S52).
 *
 * A pool serves the fibers of one runtime. A resource whose `create` was left behind by a stop comes late: it joins
 * the pool if there is room, and is destroyed if not.
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
  private readonly stock: Stock<R>
  private readonly turn: Turn<R>

  constructor(options: PoolOptions<R, PromiseLike<R>>)
  constructor(options: PoolOptions<R, Op<R>>)
  constructor(options: PoolOptions<R, Returned<R>>)
  constructor(settings: PoolSettings<R>, create: (signal: AbortSignal) => PromiseLike<R>)
  constructor(settings: PoolSettings<R>, create: (signal: AbortSignal) => Op<R>)
  constructor(settings: PoolSettings<R>, create: (signal: AbortSignal) => Returned<R>)
  constructor(given: Partial<PoolOptions<R>>, second?: (signal: AbortSignal) => Answer<R>) {
    const where = 'new ResourcePool()'
    const options = checkOptions(given, OPTION_NAMES, where)
    const { limit, create = second, destroy, validate, name } = options
    if (!(Number.isInteger(limit) && (limit as number) > 0)) {
      throw new BadArgument(`${where} needs a limit that is a whole number above 0, got ${show(limit)}`)
    }
    if (second !== undefined && create !== second) {
      throw new BadArgument(`${where} was given two functions that create, one of them in its options`)
    }
    checkEither(create, `the create of ${where}`)
    if (destroy !== undefined) checkEither(destroy, `the destroy of ${where}`)
    if (validate !== undefined) checkEither(validate, `the validate of ${where}`)
    checkName(name, where)
    const time = (key: 'idleTimeout' | 'maxAge' | 'acquireTimeout') => {
      const { [key]: ms = Infinity } = options
      return ms === Infinity ? ms : checkMs(ms, `the ${key} of ${where}`)
    }
    this.stock = new Stock<R>(
      limit as number,
      name === undefined ? 'a pool' : `the pool ${name}`,
      time('idleTimeout'),
      time('maxAge'),
      time('acquireTimeout'),
      new Upkeep<R>(create as (signal: AbortSignal) => Answer<R>, destroy, validate),
    )
    this.turn = new Turn(this.stock)
  }

  /**
   * Runs a body with a resource of its own, and gives it back however that ends. Inside, the same fiber gets the same
   * resource again; its children do not.
   *
   * ```ts
   * const pool = new ResourcePool({ limit: 1, create: () => ['one', 'two'] })
   * console.log(yield* pool.acquire((rows) => rows.length)) // 2
   * ```
   */
  acquire<T>(body: (resource: R) => Returned<T>): Op<Result<T>> {
    return new Lease<R, Result<T>>(this.stock, body, this.turn)
  }

  /**
   * This resource is not handed out again. It is destroyed when it comes back, at once if it is idle; then the first in
   * line may create another. False if it is not in this pool.
   *
   * ```ts
   * let made = 0
   * const pool = new ResourcePool({ limit: 1, create: () => `number ${++made}` })
   * yield* pool.acquire((resource) => pool.discard(resource))
   * console.log(yield* pool.acquire((resource) => resource)) // number 2
   * ```
   */
  discard(resource: R): boolean {
    const { stock } = this
    const mine = baton.fiber === null ? undefined : slotOf(baton.fiber, stock)
    return stock.discard(resource, mine)
  }

  /**
   * Creates as many resources as there may be, all at the same time.
   *
   * ```ts
   * const pool = new ResourcePool({ limit: 3, create: () => sleep(100) })
   * yield* pool.fill()
   * console.log(pool.available) // 3
   * ```
   */
  fill(): Op<void> {
    return repeatable(`fill() of ${this.stock.label}`, () => this.filling())
  }

  private *filling(): Routine<void> {
    const { stock } = this
    if (baton.fiber === null) throw notInFiber(`fill() of ${stock.label}`)
    if (stock.isClosed) throw refusal(stock, baton.fiber)
    yield* scope(() => {
      const vacancy = new Vacancy(stock)
      for (let n = stock.limit - stock.slots.size; n > 0; n--) {
        spin('create', () => new Lease(stock, () => {}, vacancy))
      }
    })
  }

  /**
   * Ends the pool: those in line are refused with `PoolClosed`, those who have a resource may finish, and every
   * resource is destroyed. Once is enough: closing a closed pool throws.
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
    return repeatable(`close() of ${this.stock.label}`, () => this.closing())
  }

  private *closing(): Routine<void> {
    const { stock } = this
    const { fiber } = baton
    if (fiber === null) throw notInFiber(`close() of ${stock.label}`)
    if (stock.isClosed)
      throw new PoolClosed(`${fiber.path} wanted to close ${stock.label}, which was closed before`)
    if (isInside(fiber, stock)) {
      throw new BadState(
        `${fiber.path} cannot close ${stock.label} inside acquire(): it would wait for itself. Close it outside.`,
      )
    }
    stock.close()
    yield* stock.emptied()
  }

  /** Closes the pool, if that has not been done, and waits until it is empty. */
  [Symbol.asyncDispose](): Promise<void> {
    const { stock } = this
    if (!stock.isClosed) stock.close()
    const { runtime } = stock
    if (stock.isEmpty || runtime === null) return Promise.resolve()
    return new Promise((resolve) => {
      spinRoot(runtime, function* closePool() {
        yield* stock.emptied()
        resolve()
      })
    })
  }

  /** How many resources there may be. */
  get limit(): number {
    return this.stock.limit
  }
  /** How many there are, those that are being created or destroyed included. */
  get size(): number {
    return this.stock.slots.size
  }
  /** How many are idle, ready to be handed out. */
  get available(): number {
    return this.stock.idle.length
  }
  /** How many fibers wait for one. */
  get waiting(): number {
    return this.stock.line.size
  }
  /** Whether `close()` has been called. */
  get isClosed(): boolean {
    return this.stock.isClosed
  }

  /** What is there now, and what was counted on the way. */
  stats(): PoolStats {
    return this.stock.stats()
  }
}

// A number of permits, shared by fibers. A permit has no owner: any fiber may release what another has acquired.
//
//   a fiber waits  =>  inUse >= limit        a released permit goes to the first in line at once (S36)
//
// For a lock with an owner see mutex.ts; for permits with something attached, pool.ts.

import {
  BadState,
  BaseOp,
  check,
  type Fiber,
  hold,
  type Op,
  type Result,
  type Returned,
  runningFiber,
  type Switchpoint,
  settle,
  Waiters,
} from '../core/index.js'

/** Options of `new Semaphore()`. */
export interface SemaphoreOptions {
  /** Its name in messages; default `semaphore`. */
  name?: string
}

/** What `semaphore.stats()` returns. */
export interface SemaphoreStats {
  /** How many permits there are. */
  readonly limit: number
  /** Permits that are taken. */
  readonly inUse: number
  /** Permits that are free. */
  readonly available: number
  /** Fibers that wait for a permit. */
  readonly waiting: number
  /** Permits acquired so far. */
  readonly acquired: number
  /** How many of these acquires had to wait. */
  readonly waited: number
}

class Acquire extends BaseOp<void> {
  constructor(private readonly semaphore: Semaphore) {
    super()
  }
  override next(): IteratorResult<Switchpoint, void> {
    const fiber = this.tryFastPath()
    if (fiber === null || !this.semaphore.hasPermit) return super.next()
    const result = this.finishNow(fiber, undefined)
    this.semaphore.tryAcquire() // last: an overflow of the stack does not lose the permit
    return result
  }
  enter(fiber: Fiber): void {
    if (this.semaphore.hasPermit) {
      settle(fiber, this, undefined)
      this.semaphore.tryAcquire()
    } else this.semaphore.join(fiber)
  }
  abort(fiber: Fiber): void {
    this.semaphore.leave(fiber)
  }
  describe(): string {
    return `${this.semaphore.name}.acquire()`
  }
  /** An op iterated by hand (S69) got the permit after the fiber had left. */
  override late(value: unknown, fiber: Fiber): void {
    super.late(value, fiber)
    this.semaphore.release()
  }
  override get kind(): string {
    return 'permit'
  }
  override get resource(): object {
    return this.semaphore
  }
}

/**
 * Lets a limited number of fibers at a time into a stretch of code. First come, first served (S52).
 *
 * ```ts
 * const downloads = new Semaphore(2)
 * let busy = 0
 * function* download() {
 *   yield* downloads.acquire(function* () {
 *     busy++
 *     yield* sleep(10)
 *     console.log(`${busy} at a time`) // 2 at a time, 2 at a time
 *     yield* sleep(10)
 *     busy--
 *   })
 * }
 * yield* Fiber.await(spin(download), spin(download))
 * ```
 */
export class Semaphore {
  /** Its name in messages. */
  readonly name: string
  /** @internal */ readonly taking: Acquire
  /** @internal */ readonly where: string
  private _limit: number
  private used = 0
  private readonly line = new Waiters()
  private acquired = 0
  private waited = 0

  constructor(limit: number, options: SemaphoreOptions = {}) {
    const { name } = check.options(options, { name: check.name }, 'new Semaphore()')
    this._limit = check.limit(limit, 'the limit of a semaphore')
    this.name = name ?? 'semaphore'
    this.taking = new Acquire(this).droppable()
    this.where = `${this.name}.acquire()`
  }

  /**
   * Waits for a permit, runs the body, and releases the permit however the body ends.
   *
   * ```ts
   * const semaphore = new Semaphore(1)
   * console.log(yield* semaphore.acquire(() => semaphore.available)) // 0
   * console.log(semaphore.available) // 1
   * ```
   */
  acquire<R>(body: () => Returned<R>): Op<Result<R>>
  /** Waits for a permit. Release it in a `finally`; `acquire(body)` does that for you. */
  acquire(): Op<void>
  acquire(...args: [body?: () => any]): Op<any> {
    if (args.length > 0) return hold(this, args[0] as () => any)
    return this.taking.handOut()
  }

  /** Takes a permit if one is free; false if not. */
  tryAcquire(): boolean {
    if (!this.hasPermit) return false
    this.used++
    this.acquired++
    return true
  }

  /**
   * Gives a permit back. It goes to the first fiber in line.
   *
   * ```ts
   * const semaphore = new Semaphore(2, { name: 'seats' })
   * try {
   *   semaphore.release()
   * } catch (error) {
   *   console.log((error as Error).message) // main cannot release seats: no permit is out
   * }
   * ```
   */
  release(): void {
    if (this.used === 0) {
      const caller = runningFiber()?.path ?? 'code outside any fiber'
      throw new BadState(`${caller} cannot release ${this.name}: no permit is out`)
    }
    this.used--
    if (this.line.size > 0) this.admit()
  }

  /** How many permits there are. A higher limit admits waiting fibers; a lower one takes effect as permits are released. */
  get limit(): number {
    return this._limit
  }
  set limit(limit: number) {
    this._limit = check.limit(limit, `the limit of ${this.name}`)
    this.admit()
  }

  /** Permits that are free. */
  get available(): number {
    return Math.max(0, this._limit - this.used)
  }

  /** Permits that are taken. */
  get inUse(): number {
    return this.used
  }

  /** Fibers that wait for a permit. */
  get waiting(): number {
    return this.line.size
  }

  /** Current numbers, and totals so far. */
  stats(): SemaphoreStats {
    const { limit, inUse, available, waiting, acquired, waited } = this
    return { limit, inUse, available, waiting, acquired, waited }
  }

  /** @internal */
  get hasPermit(): boolean {
    return this.used < this._limit
  }
  /** @internal */
  giveBack(): void {
    this.release()
  }
  /** @internal */
  join(fiber: Fiber): void {
    this.line.join(fiber, undefined)
  }
  /** @internal */
  leave(fiber: Fiber): void {
    this.line.leave(fiber)
  }

  private admit(): void {
    while (this.line.size > 0 && this.tryAcquire()) {
      this.waited++
      this.line.handOver(undefined)
    }
  }
}

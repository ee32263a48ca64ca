// So many fibers at a time. A permit belongs to nobody in particular: any fiber may release what another has acquired.
//
//   someone waits  =>  inUse >= limit        a permit that comes free goes to the first in line at once (S36)

import {
  BadArgument,
  BadState,
  BaseOp,
  baton,
  checkName,
  checkOptions,
  debugging,
  doneIn,
  type Fiber,
  freePass,
  type Op,
  type Result,
  type Returned,
  type Switchpoint,
  settle,
  shared,
  show,
  Waiters,
} from '../core/index.js'
import { Holding } from './holding.js'

/** How a semaphore is made. */
export interface SemaphoreOptions {
  /** What messages call it; default `semaphore`. */
  name?: string
}

/** How a semaphore is doing. */
export interface SemaphoreStats {
  /** How many may be in at a time. */
  readonly limit: number
  /** Permits that are out. */
  readonly inUse: number
  /** Permits that can be had without waiting. */
  readonly available: number
  /** Fibers that wait for one. */
  readonly waiting: number
  /** Permits given out so far. */
  readonly acquired: number
  /** How many of these were waited for. */
  readonly waited: number
}

class Acquire extends BaseOp<void> {
  constructor(private readonly semaphore: Semaphore) {
    super()
  }
  override next(): IteratorResult<Switchpoint, void> {
    const fiber = freePass()
    return fiber !== null && this.semaphore.tryAcquire() ? doneIn(fiber, undefined) : super.next()
  }
  enter(fiber: Fiber): void {
    if (this.semaphore.tryAcquire()) settle(fiber, this, undefined)
    else this.semaphore.join(fiber)
  }
  abort(fiber: Fiber): void {
    this.semaphore.leave(fiber)
  }
  describe(): string {
    return `${this.semaphore.name}.acquire()`
  }
  /** It has got a permit, and was iterated by hand (S69). */
  override late(value: unknown, fiber: Fiber): void {
    super.late(value, fiber)
    this.semaphore.release()
  }
}

/** A number of things that can be had at a time. */
export function checkLimit(limit: unknown, where: string): number {
  if (limit === Infinity || (Number.isInteger(limit) && (limit as number) > 0)) return limit as number
  throw new BadArgument(`${where} needs a whole number from 1 up, or Infinity, got ${show(limit)}`)
}

/**
 * Lets so many fibers at a time into a stretch of code. First come, first served (S52).
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
  /** What messages call it. */
  readonly name: string
  /** @internal */ readonly taking: Acquire
  /** @internal */ readonly where: string
  private _limit: number
  private used = 0
  private readonly line = new Waiters()
  private acquired = 0
  private waited = 0

  constructor(limit: number, options: SemaphoreOptions = {}) {
    const { name } = checkOptions(options, ['name'], 'new Semaphore()')
    checkName(name, 'new Semaphore()')
    this._limit = checkLimit(limit, 'the limit of a semaphore')
    this.name = name ?? 'semaphore'
    this.taking = shared(new Acquire(this))
    this.where = `${this.name}.acquire()`
  }

  /**
   * Waits for a permit, runs the body, and releases the permit whatever way the body ends.
   *
   * ```ts
   * const semaphore = new Semaphore(1)
   * console.log(yield* semaphore.acquire(() => semaphore.available)) // 0
   * console.log(semaphore.available) // 1
   * ```
   */
  acquire<R>(body: () => Returned<R>): Op<Result<R>>
  /** Waits for a permit. Release it in a `finally`; with a body that is done for you. */
  acquire(): Op<void>
  acquire(...args: [body?: () => any]): Op<any> {
    if (args.length > 0) return new Holding(this, args[0] as () => any)
    return debugging ? new Acquire(this) : this.taking
  }

  /** Takes a permit if there is one. */
  tryAcquire(): boolean {
    if (this.used >= this._limit) return false
    this.used++
    this.acquired++
    return true
  }

  /**
   * Gives a permit back. The first in line has it then.
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
      const who = baton.fiber === null ? 'code outside any fiber' : baton.fiber.path
      throw new BadState(`${who} cannot release ${this.name}: no permit is out`)
    }
    this.used--
    if (this.line.size > 0) this.admit()
  }

  /** How many may be in at a time. More lets the next in line in; fewer takes effect as permits come back. */
  get limit(): number {
    return this._limit
  }
  set limit(limit: number) {
    this._limit = checkLimit(limit, `the limit of ${this.name}`)
    this.admit()
  }

  /** Permits that can be had without waiting. */
  get available(): number {
    return Math.max(0, this._limit - this.used)
  }

  /** Permits that are out. */
  get inUse(): number {
    return this.used
  }

  /** Fibers that wait for one. */
  get waiting(): number {
    return this.line.size
  }

  /** How it is doing. */
  stats(): SemaphoreStats {
    const { limit, inUse, available, waiting, acquired, waited } = this
    return { limit, inUse, available, waiting, acquired, waited }
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

// A lock for one fiber at a time. Re-entrant: the fiber that holds it may lock it again, and unlocks it as many times.
//
//   holder --holds--> mutex <--wait in line-- fibers, each with a claim: how deep it will hold it
//
// A lock belongs to one incarnation of a fiber (S41). If that ends without unlocking, the first fiber in line gets the
// lock, and a report says so. Conditions are in condition.ts, permits in semaphore.ts.

import {
  BadState,
  BaseOp,
  check,
  type Fiber,
  hasRunOut,
  hold,
  type Op,
  onEnd,
  type Result,
  type Returned,
  runningFiber,
  type Switchpoint,
  settle,
  type Waiter,
  Waiters,
} from '../core/index.js'

/** Options of `new Mutex()`. */
export interface MutexOptions {
  /** Its name in messages; default `mutex`. */
  name?: string
}

/** What `mutex.stats()` returns. */
export interface MutexStats {
  /** Whether a fiber holds it. */
  readonly isLocked: boolean
  /** How many times its holder has locked it. */
  readonly depth: number
  /** Fibers that wait for it. */
  readonly waiting: number
  /** How often it was locked so far, nested locks not counted. */
  readonly locked: number
  /** How many of these locks were waited for. */
  readonly waited: number
}

/** What a waiting fiber will get: the mutex, locked `depth` times, and `answer` as the result of its wait. */
export interface Claim {
  readonly depth: number
  readonly answer: unknown
}
const ONCE: Claim = { depth: 1, answer: undefined }

class Lock extends BaseOp<void> {
  constructor(private readonly mutex: Mutex) {
    super()
  }
  override next(): IteratorResult<Switchpoint, void> {
    const fiber = this.tryFastPath()
    if (fiber === null || !this.mutex.isOpenTo(fiber)) return super.next()
    const result = this.finishNow(fiber, undefined)
    this.mutex.take(fiber) // last: an overflow of the stack does not leave it locked
    return result
  }
  enter(fiber: Fiber): void {
    if (this.mutex.isOpenTo(fiber)) {
      settle(fiber, this, undefined)
      this.mutex.take(fiber)
    } else if (this.mutex.claim(fiber, ONCE, this) === null) settle(fiber, this, undefined)
  }
  abort(fiber: Fiber): void {
    this.mutex.leave(fiber)
  }
  describe(): string {
    return `${this.mutex.name}.lock()`
  }
  override get kind(): string {
    return 'lock'
  }
  override get waitsOn(): Fiber | null {
    return this.mutex.holder
  }
  override get resource(): Mutex {
    return this.mutex
  }
  /** An op iterated by hand (S69) got the lock after the fiber had left. */
  override late(value: unknown, fiber: Fiber): void {
    super.late(value, fiber)
    this.mutex.unlock()
  }
}

/**
 * Lets one fiber at a time into a stretch of code. First come, first served (S52), and re-entrant.
 *
 * ```ts
 * const mutex = new Mutex()
 * function* greet(name: string) {
 *   yield* mutex.synchronize(function* () {
 *     console.log('hello') // hello, hello
 *     yield* sleep(10)
 *     console.log(name) // Ann, Bob
 *   })
 * }
 * yield* Fiber.await(spin(greet, 'Ann'), spin(greet, 'Bob'))
 * ```
 */
export class Mutex {
  /** Its name in messages. */
  readonly name: string
  /** @internal */ readonly taking: Lock
  /** @internal */ readonly where: string
  private owner: Fiber | null = null
  /** The incarnation of the owner that locked it. */
  private incarnation = 0
  private depth = 0
  private readonly line = new Waiters<Claim>()
  /** The owner while other fibers wait: then its end must be noticed at once. */
  private watched: Fiber | null = null
  private forgetOwner = (): void => {}
  /** Fibers forced out of a condition's wait before they had the lock back, with the number of unlocks still to ignore. */
  private forfeited: WeakMap<Fiber, number> | null = null
  private locked = 0
  private waited = 0

  constructor(options: MutexOptions = {}) {
    const { name } = check.options(options, { name: check.name }, 'new Mutex()')
    this.name = name ?? 'mutex'
    this.taking = new Lock(this).droppable()
    this.where = `${this.name}.synchronize()`
  }

  /**
   * Locks the mutex, runs the body, and unlocks the mutex however the body ends.
   *
   * ```ts
   * const mutex = new Mutex()
   * const twice = (n: number) => mutex.synchronize(() => 2 * n)
   * console.log(yield* mutex.synchronize(() => twice(21))) // 42
   * ```
   */
  synchronize<R>(body: () => Returned<R>): Op<Result<R>> {
    return hold(this, body)
  }

  /** Waits until no other fiber holds the mutex. Unlock it in a `finally`; `synchronize` does that for you. */
  lock(): Op<void> {
    return this.taking.handOut()
  }

  /** Locks the mutex if that is possible without waiting; false if not. */
  tryLock(): boolean {
    const fiber = runningFiber(`${this.name}.tryLock()`)
    if (this.owner !== null && !this.isOwner(fiber) && !this.isOrphaned()) return false
    return this.claim(fiber, ONCE, null) === null
  }

  /**
   * Undoes one `lock()` of the current fiber. The last unlock passes the mutex to the first fiber in line.
   *
   * ```ts
   * const mutex = new Mutex({ name: 'door' })
   * try {
   *   mutex.unlock()
   * } catch (error) {
   *   console.log((error as Error).message) // main cannot unlock door: it is not locked
   * }
   * ```
   */
  unlock(): void {
    const fiber = runningFiber()
    if (fiber === null || !this.isOwner(fiber)) {
      if (fiber === null || !this.wasForfeited(fiber)) throw this.notHeld('unlock', fiber)
    } else if (--this.depth === 0) this.passOn()
  }

  /** Whether a fiber holds it. */
  get isLocked(): boolean {
    return this.holder !== null
  }

  /** Whether the current fiber holds it. */
  get isHeld(): boolean {
    const fiber = runningFiber()
    return fiber !== null && this.isOwner(fiber)
  }

  /** The fiber that holds it, or null. */
  get holder(): Fiber | null {
    return this.owner === null || this.isGone(this.owner) ? null : this.owner
  }

  /** Fibers that wait for it. */
  get waiting(): number {
    return this.line.size
  }

  /** Current numbers, and totals so far. */
  stats(): MutexStats {
    const { isLocked, depth, waiting, locked, waited } = this
    return { isLocked, depth: isLocked ? depth : 0, waiting, locked, waited }
  }

  // ---- for the ops of this room

  /** @internal */
  giveBack(): void {
    this.unlock()
  }

  /** @internal Whether a fiber need not wait: the mutex is free, or its own. */
  isOpenTo(fiber: Fiber): boolean {
    return this.owner === null || this.isOwner(fiber)
  }

  /** @internal Locks a mutex that is open to the fiber. */
  take(fiber: Fiber): void {
    if (this.owner === null) this.give(fiber, 1)
    else this.depth++
  }

  /** @internal Gives the mutex to a fiber, or puts the fiber in line and returns its waiter. `op` is the wait that begins. */
  claim(fiber: Fiber, claim: Claim, op: BaseOp<unknown> | null): Waiter<Claim> | null {
    const { owner } = this
    if (owner !== null) {
      if (this.isOwner(fiber)) {
        this.depth += claim.depth
        return null
      }
      if (this.isGone(owner)) this.takeFrom(owner)
      if (this.owner !== null) {
        op?.refuseCircle(fiber)
        const waiter = this.line.join(fiber, claim)
        this.watch()
        return waiter
      }
    }
    this.give(fiber, claim.depth)
    return null
  }

  /** @internal A fiber leaves the line. */
  leave(fiber: Fiber): void {
    this.line.leave(fiber)
    if (this.line.size === 0) this.unwatch()
  }

  /** @internal Removes a waiter. */
  withdraw(waiter: Waiter<Claim>): void {
    this.line.remove(waiter)
    if (this.line.size === 0) this.unwatch()
  }

  /** @internal Unlocks it completely. Returns how often it was locked. */
  giveUp(fiber: Fiber, what: string): number {
    if (!this.isOwner(fiber)) throw this.notHeld(what, fiber)
    const { depth } = this
    this.passOn()
    return depth
  }

  /** @internal The fiber goes on without the lock; its next `depth` unlocks are ignored. */
  forfeit(fiber: Fiber, depth: number): void {
    this.forfeited ??= new WeakMap()
    this.forfeited.set(fiber, depth + (this.forfeited.get(fiber) ?? 0))
    fiber.runtime.report({
      kind: 'held',
      message:
        `${fiber.path} had to leave the wait of a condition before it could lock ${this.name} again` +
        `${this.owner === null ? '' : `, which ${this.owner.path} held for too long`}. It goes on without it.`,
    })
  }

  private wasForfeited(fiber: Fiber): boolean {
    const owed = this.forfeited?.get(fiber) ?? 0
    if (owed > 0) this.forfeited?.set(fiber, owed - 1)
    return owed > 0
  }

  // ---- the owner

  /** @internal */
  isOwner(fiber: Fiber): boolean {
    return this.owner === fiber && this.incarnation === fiber.incarnation
  }

  /** Whether the incarnation that locked it is over. */
  private isGone(owner: Fiber): boolean {
    return hasRunOut(owner) || this.incarnation !== owner.incarnation
  }

  private give(fiber: Fiber, depth: number): void {
    this.owner = fiber
    this.incarnation = fiber.incarnation
    this.depth = depth
    this.locked++
  }

  /** Gives the mutex to the first in line, if there is one (S36). */
  private passOn(): void {
    if (this.watched !== null) this.unwatch()
    const next = this.line.first
    if (next === null) {
      this.owner = null
      this.depth = 0
      return
    }
    this.give(next.fiber as Fiber, next.item.depth)
    this.waited++
    this.line.handOver(next.item.answer)
    if (this.line.size > 0) this.watch()
  }

  private watch(): void {
    if (this.watched !== null) return
    this.watched = this.owner as Fiber
    this.forgetOwner = onEnd(this.watched, this.orphaned, 'ranOut')
  }

  private unwatch(): void {
    this.forgetOwner()
    this.watched = null
  }

  /** The owner has ended while other fibers wait. */
  private readonly orphaned = (): void => this.takeFrom(this.owner as Fiber)

  private isOrphaned(): boolean {
    return this.owner !== null && this.isGone(this.owner) && this.line.size === 0
  }

  private takeFrom(owner: Fiber): void {
    owner.runtime.report({
      kind: 'held',
      message:
        `${owner.path} ended without unlocking ${this.name}, so it was taken from it. ` +
        'Use synchronize(body), or unlock in a finally.',
    })
    this.passOn()
  }

  private notHeld(what: string, fiber: Fiber | null): BadState {
    const caller = fiber === null ? 'code outside any fiber' : fiber.path
    const { holder } = this
    const why =
      holder === null ? 'it is not locked' : `${holder.path} holds it. Only the fiber that locked it can.`
    return new BadState(`${caller} cannot ${what} ${this.name}: ${why}`)
  }
}

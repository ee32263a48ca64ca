// A lock for one fiber at a time. Re-entrant: the fiber that holds it may lock it again, and unlocks it as many times.
//
//   holder --holds--> mutex <--wait in line-- fibers, each with a claim: how deep it will hold it
//
// A lock belongs to an incarnation of a fiber (S41). If that ends without unlocking, nobody can unlock it any more: the
// next in line gets it, and the program is told.

import {
  BadState,
  BaseOp,
  baton,
  checkName,
  checkOptions,
  debugging,
  doneIn,
  type Fiber,
  freePass,
  notInFiber,
  type Op,
  type Place,
  type Result,
  type Returned,
  type Switchpoint,
  settle,
  shared,
  Waiters,
} from '../core/index.js'
import { Holding } from './holding.js'

/** How a mutex is made. */
export interface MutexOptions {
  /** What messages call it; default `mutex`. */
  name?: string
}

/** How a mutex is doing. */
export interface MutexStats {
  /** Whether a fiber holds it. */
  readonly isLocked: boolean
  /** How many times its holder has locked it. */
  readonly depth: number
  /** Fibers that wait for it. */
  readonly waiting: number
  /** How often it was locked so far, by those who did not hold it already. */
  readonly locked: number
  /** How many of these had to wait. */
  readonly waited: number
}

/** What a fiber in line will get: the mutex, locked so many times, and this as the answer of its wait. */
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
    const fiber = freePass()
    return fiber !== null && this.mutex.takeFree(fiber) ? doneIn(fiber, undefined) : super.next()
  }
  enter(fiber: Fiber): void {
    if (this.mutex.claim(fiber, ONCE)) settle(fiber, this, undefined)
  }
  abort(fiber: Fiber): void {
    this.mutex.withdraw(fiber.value as Place<Claim>)
  }
  describe(): string {
    return `${this.mutex.name}.lock()`
  }
  /** It has got the lock, and was iterated by hand (S69). */
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
  /** What messages call it. */
  readonly name: string
  /** @internal */ readonly taking: Lock
  /** @internal */ readonly where: string
  private owner: Fiber | null = null
  /** Which life of the owner has locked it. */
  private incarnation = 0
  private depth = 0
  private readonly line = new Waiters<Claim>()
  /** The owner while others wait: then its end must be noticed at once. */
  private watched: Fiber | null = null
  /** Fibers forced out of the wait of a condition before they had the lock back: how many unlocks they owe. */
  private forfeited: WeakMap<Fiber, number> | null = null
  private locked = 0
  private waited = 0

  constructor(options: MutexOptions = {}) {
    const { name } = checkOptions(options, ['name'], 'new Mutex()')
    checkName(name, 'new Mutex()')
    this.name = name ?? 'mutex'
    this.taking = shared(new Lock(this))
    this.where = `${this.name}.synchronize()`
  }

  /**
   * Locks it, runs the body, and unlocks it, whatever way the body ends.
   *
   * ```ts
   * const mutex = new Mutex()
   * const twice = (n: number) => mutex.synchronize(() => 2 * n)
   * console.log(yield* mutex.synchronize(() => twice(21))) // 42
   * ```
   */
  synchronize<R>(body: () => Returned<R>): Op<Result<R>> {
    return new Holding<Result<R>>(this, body)
  }

  /** Waits until nobody else holds it. Unlock it in a `finally`; `synchronize` does that for you. */
  lock(): Op<void> {
    return debugging ? new Lock(this) : this.taking
  }

  /** Locks it if that is possible without waiting. */
  tryLock(): boolean {
    const fiber = baton.fiber
    if (fiber === null) throw notInFiber(`${this.name}.tryLock()`)
    if (this.owner !== null && !this.isOwner(fiber) && !this.isOrphaned()) return false
    return this.claim(fiber, ONCE)
  }

  /**
   * Undoes one `lock()` of the current fiber. Then the first in line has it.
   *
   * ```ts
   * const mutex = new Mutex({ name: 'door' })
   * try {
   *   mutex.unlock()
   * } catch (error) {
   *   console.log((error as Error).message) // main cannot unlock door: nobody holds it
   * }
   * ```
   */
  unlock(): void {
    const fiber = baton.fiber
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
    return baton.fiber !== null && this.isOwner(baton.fiber)
  }

  /** The fiber that holds it, or null. */
  get holder(): Fiber | null {
    return this.owner === null || this.isGone(this.owner) ? null : this.owner
  }

  /** Fibers that wait for it. */
  get waiting(): number {
    return this.line.size
  }

  /** How it is doing. */
  stats(): MutexStats {
    const { isLocked, depth, waiting, locked, waited } = this
    return { isLocked, depth: isLocked ? depth : 0, waiting, locked, waited }
  }

  // ---- what the ops of this room use

  /** @internal */
  giveBack(): void {
    this.unlock()
  }

  /** @internal Gives the mutex to a fiber if nobody has it. */
  takeFree(fiber: Fiber): boolean {
    if (this.owner !== null) return false
    this.give(fiber, 1)
    return true
  }

  /** @internal Gives the mutex to a fiber. False: it stands in line now. */
  claim(fiber: Fiber, claim: Claim): boolean {
    const { owner } = this
    if (owner !== null) {
      if (this.isOwner(fiber)) {
        this.depth += claim.depth
        return true
      }
      if (this.isGone(owner)) this.takeFrom(owner)
      if (this.owner !== null) {
        this.line.join(fiber, claim)
        this.watch()
        return false
      }
    }
    this.give(fiber, claim.depth)
    return true
  }

  /** @internal Somebody in line goes away. */
  withdraw(place: Place<Claim>): void {
    this.line.remove(place)
    if (this.line.size === 0) this.unwatch()
  }

  /** @internal Gives it up, however often it was locked. Tells how often that was. */
  giveUp(fiber: Fiber, what: string): number {
    if (!this.isOwner(fiber)) throw this.notHeld(what, fiber)
    const { depth } = this
    this.passOn()
    return depth
  }

  /** @internal A fiber goes on without what it believes it holds: its unlocks mean nothing. */
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

  // ---- who holds it

  /** @internal */
  isOwner(fiber: Fiber): boolean {
    return this.owner === fiber && this.incarnation === fiber.incarnation
  }

  /** Whether the life in which this owner locked it is over. */
  private isGone(owner: Fiber): boolean {
    return !owner.willRun || this.incarnation !== owner.incarnation
  }

  private give(fiber: Fiber, depth: number): void {
    this.owner = fiber
    this.incarnation = fiber.incarnation
    this.depth = depth
    this.locked++
  }

  /** The first in line has it now, or nobody (S36). */
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
    const cold = this.watched.coldRecord()
    cold.locks ??= new Set()
    cold.locks.add(this.orphaned)
  }

  private unwatch(): void {
    this.watched?.cold?.locks?.delete(this.orphaned)
    this.watched = null
  }

  /** The owner has ended while others wait. */
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
    const who = fiber === null ? 'code outside any fiber' : fiber.path
    const { holder } = this
    return new BadState(
      `${who} cannot ${what} ${this.name}: ${holder === null ? 'nobody' : holder.path} holds it` +
        (holder === null ? '' : '. Only the fiber that locked it can.'),
    )
  }
}

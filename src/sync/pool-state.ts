// The state of a resource pool: its slots, the idle resources and the line of waiting fibers.
//
//   empty -> used <-> idle          a slot is room for one resource; there are at most `limit` slots
//     ^        |        |           empty: the fiber that holds the slot creates the resource
//     |    discarded    |           used: a fiber works with the resource; checking: `validate` runs first
//     +--- destroying <-+           destroying: `destroy` runs, in a fiber of its own
//
// While a fiber waits in line, no slot is free and nothing is idle: a released slot goes to the first in line (S36, S52).
// pool-acquire.ts takes and releases slots; pool-lifecycle.ts creates, checks and destroys resources.

import {
  BaseOp,
  type Fiber,
  type Runtime,
  settle,
  type TimerNode,
  type Waiter,
  Waiters,
} from '../core/index.js'
import { PoolClosed, TimedOut } from './errors.js'
import type { PoolLifecycle } from './pool-lifecycle.js'

/** `discarded`: in use, and destroyed when it is released. */
type SlotPhase = 'empty' | 'idle' | 'used' | 'checking' | 'discarded' | 'destroying'

/** Room for one resource. */
export class Slot<R> {
  phase: SlotPhase = 'empty'
  resource: R | undefined = undefined
  /** The outermost acquire that uses the slot; its end releases the slot. */
  holder: object | null = null
  createdAt = 0
  idleSince = 0
  /** How long the holding fiber waited in line, in milliseconds. */
  waited = 0
}

/** A fiber in line, and the timer of its `acquireTimeout`. */
class Waiting implements TimerNode {
  time = 0
  seq = 0
  index = -1
  constructor(
    private readonly pool: PoolState<any>,
    readonly fiber: Fiber,
    readonly since: number,
  ) {}
  waiter!: Waiter<Waiting>
  fire(): void {
    this.pool.expire(this)
  }
}

/** Destroys expired idle resources. Its timer does not keep the process alive. */
class Sweep implements TimerNode {
  time = 0
  seq = 0
  index = -1
  constructor(private readonly pool: PoolState<any>) {}
  fire(): void {
    this.pool.sweep()
  }
}

/** Waits until a closing pool is empty. */
class Emptied extends BaseOp<void> {
  constructor(private readonly pool: PoolState<any>) {
    super()
  }
  enter(fiber: Fiber): void {
    if (this.pool.isEmpty) settle(fiber, this, undefined)
    else this.pool.watchers.join(fiber, undefined)
  }
  abort(fiber: Fiber): void {
    this.pool.watchers.leave(fiber)
  }
  describe(): string {
    return `the last resources of ${this.pool.label}`
  }
  override get kind(): string {
    return 'pool'
  }
  override get resource(): object {
    return this.pool.pool
  }
}

/** What `pool.stats()` returns. */
export interface PoolStats {
  /** The most resources that may exist at a time. */
  readonly limit: number
  /** How many resources there are, including those being created or destroyed. */
  readonly size: number
  /** Held by fibers. */
  readonly inUse: number
  /** Ready to be handed out. */
  readonly idle: number
  /** Being created. */
  readonly creating: number
  /** Being destroyed. */
  readonly destroying: number
  /** Fibers waiting in line. */
  readonly waiting: number
  /** How many were created so far. */
  readonly created: number
  /** How many were destroyed so far. */
  readonly destroyed: number
  /** The acquires that got their resource after a wait in line: how many, and how long they waited, in milliseconds. */
  readonly waits: { readonly count: number; readonly mean: number; readonly max: number }
}

export class PoolState<R> {
  /** Never more than `limit`, except for late resources, which are destroyed at once. */
  readonly slots = new Set<Slot<R>>()
  /** A stack: the last used goes out first, so that surplus resources reach their idle timeout. */
  readonly idle: Slot<R>[] = []
  readonly line = new Waiters<Waiting>()
  readonly watchers = new Waiters()
  runtime: Runtime | null = null
  created = 0
  destroyed = 0
  private phase: 'open' | 'closing' = 'open'
  private readonly neverExpires: boolean
  private readonly waits = { count: 0, sum: 0, max: 0 }
  private readonly sweeper = new Sweep(this)

  constructor(
    /** The public face, for views. */
    readonly pool: object,
    readonly limit: number,
    readonly label: string,
    readonly idleTimeout: number,
    readonly maxAge: number,
    readonly acquireTimeout: number,
    readonly lifecycle: PoolLifecycle<R>,
  ) {
    this.neverExpires = idleTimeout === Infinity && maxAge === Infinity
  }

  get isClosed(): boolean {
    return this.phase !== 'open'
  }
  get isEmpty(): boolean {
    return this.slots.size === 0
  }
  now(): number {
    return (this.runtime as Runtime).now()
  }

  // ---- handing out

  /** Takes an idle slot, or else an empty one. */
  take(): Slot<R> | undefined {
    for (let slot = this.idle.pop(); slot !== undefined; slot = this.idle.pop()) {
      if (this.neverExpires || this.expiryOf(slot) >= this.now()) {
        slot.phase = 'used'
        slot.waited = 0
        return slot
      }
      this.destroy(slot) // expired, and the sweep is late
    }
    return this.takeEmpty()
  }

  takeEmpty(): Slot<R> | undefined {
    if (this.slots.size >= this.limit) return undefined
    const slot = new Slot<R>()
    this.slots.add(slot)
    return slot
  }

  /** Puts the fiber in line. */
  queueUp(fiber: Fiber): void {
    const { runtime } = fiber
    const since = runtime.now()
    const waiting = new Waiting(this, fiber, since)
    waiting.waiter = this.line.join(fiber, waiting)
    if (this.acquireTimeout !== Infinity) runtime.addTimer(waiting, since + this.acquireTimeout)
  }

  /** Removes a fiber whose wait was aborted. */
  leaveLine(fiber: Fiber): void {
    const waiting = this.line.leave(fiber)
    if (waiting.index >= 0) fiber.runtime.removeTimer(waiting)
  }

  /** The acquire timeout has expired. */
  expire({ waiter, fiber, since }: Waiting): void {
    this.line.remove(waiter)
    waiter.refuse(this.timedOut(fiber, this.now() - since))
  }

  private handOver(slot: Slot<R>): void {
    const { item } = this.line.first as { item: Waiting }
    if (item.index >= 0) item.fiber.runtime.removeTimer(item)
    slot.waited = this.now() - item.since
    const { waits } = this
    waits.count++
    waits.sum += slot.waited
    waits.max = Math.max(waits.max, slot.waited)
    this.line.handOver(slot)
  }

  // ---- taking back

  /** Called when the holder is done with the slot. What follows depends on the phase. */
  release(slot: Slot<R>): void {
    slot.holder = null
    if (slot.phase === 'empty') this.vacate(slot)
    else if (slot.phase === 'used' && this.phase === 'open' && !this.isTooOld(slot)) {
      if (this.line.first !== null) this.handOver(slot)
      else this.makeIdle(slot)
    } else if (slot.phase !== 'destroying') this.destroy(slot) // `afterDestroy` vacates the slot
  }

  private isTooOld(slot: Slot<R>): boolean {
    return this.maxAge !== Infinity && this.now() - slot.createdAt >= this.maxAge
  }

  private makeIdle(slot: Slot<R>): void {
    slot.phase = 'idle'
    this.idle[this.idle.length] = slot // cheaper than push(), which V8 does not inline here: the array was made empty
    if (this.neverExpires) return
    slot.idleSince = this.now()
    this.sweepAt(this.expiryOf(slot))
  }

  /** The slot is empty: the first in line may fill it; if there is none, the slot is removed. */
  private vacate(slot: Slot<R>): void {
    const isWanted = this.line.first !== null && this.slots.size <= this.limit
    if (isWanted) this.handOver(slot)
    else this.slots.delete(slot)
    while (this.isEmpty && this.watchers.handOver(undefined));
  }

  /** Takes in a resource whose acquire was left while `create` ran. */
  adoptLate(resource: R): void {
    const hasRoom = !this.isClosed && this.slots.size < this.limit
    const slot = new Slot<R>()
    this.slots.add(slot)
    this.filled(slot, resource)
    if (!hasRoom) slot.phase = 'discarded'
    this.release(slot)
  }

  /** Called when `create` has returned a resource. */
  filled(slot: Slot<R>, resource: R): void {
    slot.resource = resource
    slot.phase = 'used'
    this.created++
    if (this.maxAge !== Infinity) slot.createdAt = this.now()
  }

  // ---- ends

  /** Destroys the resource and empties the slot. Returns the fiber in which `destroy` runs, if there is one. */
  destroy(slot: Slot<R>): Fiber | undefined {
    slot.phase = 'destroying'
    return this.lifecycle.destroy(this, slot)
  }

  /** Called when the resource is destroyed. A slot with a holder stays: the holder waits to create a new resource in it. */
  afterDestroy(slot: Slot<R>): void {
    this.destroyed++
    slot.resource = undefined
    slot.phase = 'empty'
    if (slot.holder === null) this.vacate(slot)
  }

  /**
   * Destroys a resource: now if it is idle, else when it is released. False if it is not in the pool. If several slots
   * have the same resource, `mine` goes first, then one that is in use.
   */
  discard(resource: R, mine: Slot<R> | undefined): boolean {
    const slot = mine !== undefined && mine.resource === resource ? mine : this.find(resource)
    if (slot === undefined) return false
    if (slot.phase === 'idle') {
      this.idle.splice(this.idle.indexOf(slot), 1)
      this.destroy(slot)
    } else if (slot.phase !== 'destroying') slot.phase = 'discarded'
    return true
  }

  private find(resource: R): Slot<R> | undefined {
    let found: Slot<R> | undefined
    for (const slot of this.slots) {
      if (slot.phase === 'empty' || slot.resource !== resource) continue
      if (slot.holder !== null) return slot
      found ??= slot
    }
    return found
  }

  /** When an idle resource is to be destroyed. */
  private expiryOf(slot: Slot<R>): number {
    return Math.min(slot.idleSince + this.idleTimeout, slot.createdAt + this.maxAge)
  }

  private sweepAt(time: number): void {
    const { sweeper } = this
    if (sweeper.index >= 0) {
      if (sweeper.time <= time) return // the sweep arms itself again
      this.runtime?.weakTimers.remove(sweeper)
    }
    this.runtime?.addWeakTimer(sweeper, time)
  }

  /** Destroys the expired idle resources. */
  sweep(): void {
    const now = this.now()
    let next = Infinity
    for (const slot of this.idle.splice(0)) {
      const end = this.expiryOf(slot)
      if (end <= now) this.destroy(slot)
      else {
        this.idle.push(slot)
        next = Math.min(next, end)
      }
    }
    if (next !== Infinity) this.sweepAt(next)
  }

  /** Refuses the fibers in line and destroys what is idle. Resources in use are destroyed when they are released. */
  close(): void {
    this.phase = 'closing'
    this.runtime?.weakTimers.remove(this.sweeper)
    for (let place = this.line.first; place !== null; place = this.line.first) {
      const { fiber, index } = place.item
      if (index >= 0) fiber.runtime.removeTimer(place.item)
      this.line.refuse(
        new PoolClosed(`${fiber.path} waited for a resource of ${this.label}, which was closed`),
      )
    }
    for (const slot of this.idle.splice(0)) this.destroy(slot)
  }

  /** Waits until every resource is destroyed. */
  emptied(): BaseOp<void> {
    return new Emptied(this)
  }

  // ---- messages and statistics

  timedOut(fiber: Fiber, ms: number): TimedOut {
    const { limit, size, inUse, idle, creating, destroying, waiting } = this.stats()
    return new TimedOut(
      `${fiber.path} got no resource from ${this.label} in ${Math.round(ms)} ms. It has ${size} of ${limit}: ` +
        `${inUse} in use, ${idle} idle, ${creating} being created, ${destroying} being destroyed; ${waiting} more waiting. ` +
        'Hold resources for a shorter time, raise the limit, or look at what create waits for.',
    )
  }

  stats(): PoolStats {
    const number = { empty: 0, idle: 0, used: 0, checking: 0, discarded: 0, destroying: 0 }
    for (const { phase } of this.slots) number[phase]++
    const { count: served, sum, max } = this.waits
    return {
      limit: this.limit,
      size: this.slots.size,
      inUse: number.used + number.checking + number.discarded,
      idle: number.idle,
      creating: number.empty,
      destroying: number.destroying,
      waiting: this.line.size,
      created: this.created,
      destroyed: this.destroyed,
      waits: { count: served, mean: served === 0 ? 0 : sum / served, max },
    }
  }
}

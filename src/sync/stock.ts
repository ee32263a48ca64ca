// The stock of a resource pool: which resources there are, who gets the next one, and how they end.
//
//   slots:  empty -> used <-> idle        a slot is room for one resource; there are `limit` of them
//             ^        |        |         empty: whoever holds it creates the resource
//             |     doomed      |         used: in somebody's hands; checking: on its way there
//             +------ dying <---+         dying: `destroy` runs, in a fiber of its own
//
// While anybody waits in line, no slot is free and nothing is idle: what comes back goes to the first (S36, S52).
// Leases (lease.ts) take slots and put them back; upkeep.ts creates, checks and destroys what is in them.

import { BaseOp, type Fiber, fail, type Runtime, settle, type TimerNode, Waiters } from '../core/index.js'
import { PoolClosed, TimedOut } from './errors.js'
import type { Upkeep } from './upkeep.js'

export const EMPTY = 0
export const IDLE = 1
export const USED = 2
export const CHECKING = 3
/** In use, and to be destroyed when it comes back. */
export const DOOMED = 4
export const DYING = 5

/** Room for one resource. */
export class Slot<R> {
  phase = EMPTY
  resource: R | undefined = undefined
  /** The lease that has it in its hands: when that is over, the slot comes back. */
  holder: object | null = null
  born = 0
  idleSince = 0
  /** How long the fiber that has it now stood in line, in milliseconds. */
  waited = 0
}

/** A fiber in line: since when, and the timer of its patience. */
class Waiting implements TimerNode {
  time = 0
  seq = 0
  index = -1
  constructor(
    private readonly stock: Stock<any>,
    readonly fiber: Fiber,
    readonly since: number,
  ) {}
  fire(): void {
    this.stock.expire(this.fiber)
  }
}

/** Destroys what has been idle for too long. Its timer keeps no program alive. */
class Sweep implements TimerNode {
  time = 0
  seq = 0
  index = -1
  constructor(private readonly stock: Stock<any>) {}
  fire(): void {
    this.stock.sweep()
  }
}

/** Waits until a closing pool is empty. */
class Emptied extends BaseOp<void> {
  constructor(private readonly stock: Stock<any>) {
    super()
  }
  enter(fiber: Fiber): void {
    if (this.stock.isEmpty) settle(fiber, this, undefined)
    else this.stock.watchers.join(fiber, undefined)
  }
  abort(fiber: Fiber): void {
    this.stock.watchers.leave(fiber)
  }
  describe(): string {
    return `the last resources of ${this.stock.label}`
  }
}

const OPEN = 0
const CLOSING = 1

/** What a pool tells of itself. */
export interface PoolStats {
  /** How many resources there may be. */
  readonly limit: number
  /** How many there are, those that are being created or destroyed included. */
  readonly size: number
  /** In the hands of fibers. */
  readonly inUse: number
  /** Ready to be handed out. */
  readonly idle: number
  /** Being created. */
  readonly creating: number
  /** Being destroyed. */
  readonly destroying: number
  /** Fibers in line. */
  readonly waiting: number
  /** How many were created so far. */
  readonly created: number
  /** How many were destroyed so far. */
  readonly destroyed: number
  /** How many acquires had to wait in line until they were served, and how long, in milliseconds. */
  readonly waits: { readonly count: number; readonly mean: number; readonly max: number }
}

export class Stock<R> {
  /** Every slot that is taken: never more than `limit`, but for resources that come late and are destroyed at once. */
  readonly slots = new Set<Slot<R>>()
  /** The last used goes out first, so that those who are not needed grow old. */
  readonly idle: Slot<R>[] = []
  readonly line = new Waiters<Waiting>()
  readonly watchers = new Waiters()
  runtime: Runtime | null = null
  created = 0
  destroyed = 0
  private state = OPEN
  private readonly waits = { count: 0, sum: 0, max: 0 }
  private readonly sweeper = new Sweep(this)

  constructor(
    readonly limit: number,
    readonly label: string,
    readonly idleTimeout: number,
    readonly maxAge: number,
    readonly acquireTimeout: number,
    readonly upkeep: Upkeep<R>,
  ) {}

  get isClosed(): boolean {
    return this.state !== OPEN
  }
  get isEmpty(): boolean {
    return this.slots.size === 0
  }
  now(): number {
    return (this.runtime as Runtime).now()
  }

  // ---- handing out

  /** A slot for a newcomer, if there is one. */
  take(): Slot<R> | undefined {
    for (let slot = this.idle.pop(); slot !== undefined; slot = this.idle.pop()) {
      if (this.keepsForEver || this.endOf(slot) >= this.now()) {
        slot.phase = USED
        slot.waited = 0
        return slot
      }
      this.bury(slot) // its time has come, and the timer is late
    }
    return this.takeEmpty()
  }

  private get keepsForEver(): boolean {
    return this.idleTimeout === Infinity && this.maxAge === Infinity
  }

  takeEmpty(): Slot<R> | undefined {
    if (this.slots.size >= this.limit) return undefined
    const slot = new Slot<R>()
    this.slots.add(slot)
    return slot
  }

  /** There is none: the fiber stands in line. */
  queueUp(fiber: Fiber): void {
    const { runtime } = fiber
    const since = runtime.now()
    const waiting = new Waiting(this, fiber, since)
    this.line.join(fiber, waiting)
    if (this.acquireTimeout !== Infinity) runtime.addTimer(waiting, since + this.acquireTimeout)
  }

  /** A fiber leaves the line with empty hands. */
  leaveLine(fiber: Fiber): void {
    const waiting = this.line.leave(fiber)
    if (waiting.index >= 0) fiber.runtime.removeTimer(waiting)
  }

  /** Its patience is at its end. */
  expire(fiber: Fiber): void {
    const { since } = this.line.leave(fiber)
    fail(fiber, fiber.op as BaseOp<unknown>, this.timedOut(fiber, this.now() - since))
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

  /** Whoever had it in its hands has let go: what becomes of it depends on its phase. */
  putBack(slot: Slot<R>): void {
    slot.holder = null
    if (slot.phase === EMPTY) this.vacate(slot)
    else if (slot.phase === USED && this.state === OPEN && !this.isWorn(slot)) {
      if (this.line.first !== null) this.handOver(slot)
      else this.shelve(slot)
    } else if (slot.phase !== DYING) this.bury(slot) // a dying one is vacated at its end
  }

  private isWorn(slot: Slot<R>): boolean {
    return this.maxAge !== Infinity && this.now() - slot.born >= this.maxAge
  }

  private shelve(slot: Slot<R>): void {
    slot.phase = IDLE
    this.idle.push(slot)
    if (this.keepsForEver) return
    slot.idleSince = this.now()
    this.sweepAt(this.endOf(slot))
  }

  /** The slot is empty: the first in line may fill it, else it is given up. */
  private vacate(slot: Slot<R>): void {
    const isWanted = this.line.first !== null && this.slots.size <= this.limit
    if (isWanted) this.handOver(slot)
    else this.slots.delete(slot)
    while (this.isEmpty && this.watchers.handOver(undefined));
  }

  /** A resource that nobody waits for any more: its acquire was left while it was being created. */
  adopt(resource: R): void {
    const isWelcome = !this.isClosed && this.slots.size < this.limit
    const slot = new Slot<R>()
    this.slots.add(slot)
    this.filled(slot, resource)
    if (!isWelcome) slot.phase = DOOMED
    this.putBack(slot)
  }

  /** Its resource has been created. */
  filled(slot: Slot<R>, resource: R): void {
    slot.resource = resource
    slot.phase = USED
    this.created++
    if (this.maxAge !== Infinity) slot.born = this.now()
  }

  // ---- ends

  /** Destroys the resource; gives the fiber that does it, if it takes one. Then the slot is empty. */
  bury(slot: Slot<R>): Fiber | undefined {
    slot.phase = DYING
    return this.upkeep.destroy(this, slot)
  }

  /** The resource is destroyed. The slot is free, unless somebody holds it and waits for just that. */
  buried(slot: Slot<R>): void {
    this.destroyed++
    slot.resource = undefined
    slot.phase = EMPTY
    if (slot.holder === null) this.vacate(slot)
  }

  /**
   * A resource is to be destroyed: now if it is idle, else when it comes back. False if it is not here. If there are
   * several that are the same, it is `mine`, or else one that is in use.
   */
  discard(resource: R, mine: Slot<R> | undefined): boolean {
    const slot = mine !== undefined && mine.resource === resource ? mine : this.find(resource)
    if (slot === undefined) return false
    if (slot.phase === IDLE) {
      this.idle.splice(this.idle.indexOf(slot), 1)
      this.bury(slot)
    } else if (slot.phase !== DYING) slot.phase = DOOMED
    return true
  }

  private find(resource: R): Slot<R> | undefined {
    let found: Slot<R> | undefined
    for (const slot of this.slots) {
      if (slot.phase === EMPTY || slot.resource !== resource) continue
      if (slot.holder !== null) return slot
      found ??= slot
    }
    return found
  }

  /** When an idle resource has to go. */
  private endOf(slot: Slot<R>): number {
    return Math.min(slot.idleSince + this.idleTimeout, slot.born + this.maxAge)
  }

  private sweepAt(time: number): void {
    const { sweeper } = this
    if (sweeper.index >= 0) {
      if (sweeper.time <= time) return // it looks again then
      this.runtime?.weakTimers.remove(sweeper)
    }
    this.runtime?.addWeakTimer(sweeper, time)
  }

  /** Destroys the idle resources whose time has come. */
  sweep(): void {
    const now = this.now()
    let next = Infinity
    for (const slot of this.idle.splice(0)) {
      const end = this.endOf(slot)
      if (end <= now) this.bury(slot)
      else {
        this.idle.push(slot)
        next = Math.min(next, end)
      }
    }
    if (next !== Infinity) this.sweepAt(next)
  }

  /** No more comers: those in line are refused, what is idle is destroyed, what is in use when it comes back. */
  close(): void {
    this.state = CLOSING
    this.runtime?.weakTimers.remove(this.sweeper)
    for (let place = this.line.first; place !== null; place = this.line.first) {
      const { fiber, index } = place.item
      if (index >= 0) fiber.runtime.removeTimer(place.item)
      this.line.refuse(
        new PoolClosed(`${fiber.path} waited for a resource of ${this.label}, which was closed`),
      )
    }
    for (const slot of this.idle.splice(0)) this.bury(slot)
  }

  /** Waits until nothing is left. */
  emptied(): BaseOp<void> {
    return new Emptied(this)
  }

  // ---- words

  timedOut(fiber: Fiber, ms: number): TimedOut {
    const { limit, size, inUse, idle, creating, destroying, waiting } = this.stats()
    return new TimedOut(
      `${fiber.path} got no resource from ${this.label} in ${Math.round(ms)} ms. It has ${size} of ${limit}: ` +
        `${inUse} in use, ${idle} idle, ${creating} being created, ${destroying} being destroyed; ${waiting} more waiting. ` +
        'Hold resources for a shorter time, raise the limit, or look at what create waits for.',
    )
  }

  stats(): PoolStats {
    const count = [0, 0, 0, 0, 0, 0]
    for (const { phase } of this.slots) (count[phase] as number)++
    const [creating = 0, idle = 0, used = 0, checking = 0, doomed = 0, destroying = 0] = count
    const { count: served, sum, max } = this.waits
    return {
      limit: this.limit,
      size: this.slots.size,
      inUse: used + checking + doomed,
      idle,
      creating,
      destroying,
      waiting: this.line.size,
      created: this.created,
      destroyed: this.destroyed,
      waits: { count: served, mean: served === 0 ? 0 : sum / served, max },
    }
  }
}

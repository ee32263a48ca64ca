// A lease: a fiber's hold on a resource of a pool.
//
//   acquire(body):  wait for a slot (Turn)  ->  create or check the resource, if need be  ->  body  ->  give it back
//
// A nested acquire finds the lease in its fiber's chain of regions, and shares its slot.

import {
  BadState,
  BaseOp,
  baton,
  debugging,
  type Fiber,
  notInFiber,
  opEntered,
  type Region,
  type Switchpoint,
  settle,
  shared,
} from '../core/index.js'
import { PoolClosed } from './errors.js'
import { Hold } from './hold.js'
import { DOOMED, type Slot, type Stock, USED } from './stock.js'
import { READY } from './upkeep.js'

/** Waits in line for a slot. Always woken through its fiber, so one serves all. */
export class Turn<R> extends BaseOp<Slot<R> | undefined> {
  constructor(protected readonly stock: Stock<R>) {
    super()
    shared(this)
  }

  enter(fiber: Fiber): void {
    const { stock } = this
    if (stock.runtime !== fiber.runtime) moveIn(stock, fiber)
    const slot = slotOf(fiber, stock) ?? this.take(fiber)
    if (slot === undefined) stock.queueUp(fiber)
    else settle(fiber, this, slot)
  }

  /** An idle resource for a fiber that is in no block, so that it holds none: most acquires need no more than this. */
  takeReady(fiber: Fiber): Slot<R> | undefined {
    const { stock } = this
    if (stock.idle.length === 0 || fiber.innermost !== fiber || fiber.runtime !== stock.runtime)
      return undefined
    return stock.take()
  }

  private take(fiber: Fiber): Slot<R> | undefined {
    if (this.stock.isClosed) throw refusal(this.stock, fiber)
    return this.stock.take()
  }

  abort(fiber: Fiber): void {
    this.stock.leaveLine(fiber)
  }

  /** Nobody is there to receive the slot. */
  override late(value: unknown): void {
    const slot = value as Slot<R> | undefined
    if (slot !== undefined && slot.holder === null) this.stock.putBack(slot)
  }

  describe(): string {
    return `a resource of ${this.stock.label}`
  }
}

/** For `fill`: an empty slot, or nothing if all are taken. */
export class Vacancy<R> extends Turn<R> {
  override takeReady(): undefined {}
  override enter(fiber: Fiber): void {
    if (this.stock.isClosed) throw refusal(this.stock, fiber)
    if (this.stock.runtime !== fiber.runtime) moveIn(this.stock, fiber)
    settle(fiber, this, this.stock.takeEmpty())
  }
}

export function refusal(stock: Stock<any>, fiber: Fiber): PoolClosed {
  return new PoolClosed(`${fiber.path} wanted a resource of ${stock.label}, which is closed`)
}

/** Its clock, its timers and the fibers that destroy resources are of the runtime that uses it. */
function moveIn(stock: Stock<any>, fiber: Fiber): void {
  if (!stock.isEmpty) {
    throw new BadState(
      `${stock.label} is used by the fibers of another runtime, and cannot serve ${fiber.path}. Make a pool for each.`,
    )
  }
  stock.runtime = fiber.runtime
}

/** The slot that a fiber has in its hands. */
export function slotOf<R>(fiber: Fiber, stock: Stock<R>): Slot<R> | undefined {
  for (let region: Region | null = fiber.innermost; region !== null; region = region.outer) {
    if (region instanceof Lease && region.stock === stock && region.isHolding) return region.slot as Slot<R>
  }
  return undefined
}

/** Whether a fiber stands inside an acquire, one that still creates or checks its resource included. */
export function isInside(fiber: Fiber, stock: Stock<any>): boolean {
  for (let region: Region | null = fiber.innermost; region !== null; region = region.outer) {
    if (region instanceof Lease && region.stock === stock) return true
  }
  return false
}

const HOLDING = 0
/** The resource is being created or checked; the body has not begun. */
const PREPARING = 1

export class Lease<R, T> extends Hold<T> {
  slot: Slot<R> | undefined = undefined
  private stage = HOLDING

  constructor(
    readonly stock: Stock<R>,
    body: (resource: R) => unknown,
    private readonly turn: Turn<R>,
  ) {
    super(body, 'acquire()')
  }

  get isHolding(): boolean {
    return this.stage === HOLDING
  }

  describe(): string {
    return `acquire() of ${this.stock.label}`
  }

  // ---- before it has a slot

  protected override enter(): IteratorResult<Switchpoint, any> {
    const fiber = baton.fiber
    if (fiber === null) throw notInFiber(this.describe())
    if (this.comer === null) {
      if (debugging) opEntered(this)
      const slot = fiber.budget > 0 && fiber.op === null ? this.turn.takeReady(fiber) : undefined
      if (slot !== undefined) {
        fiber.budget--
        return this.hold(fiber, slot)
      }
      this.comer = fiber
    }
    let result: IteratorResult<Switchpoint, Slot<R> | undefined>
    try {
      result = this.turn.next()
    } catch (error) {
      this.comer = null
      throw error
    }
    if (!result.done) return result
    this.comer = null
    return result.value === undefined ? result : this.hold(fiber, result.value)
  }

  protected failEntry(error: unknown): IteratorResult<Switchpoint, any> {
    this.comer = null
    return this.turn.throw(error)
  }

  protected endEntry(value: unknown): IteratorResult<Switchpoint, any> {
    this.comer = null
    return this.turn.return(value)
  }

  // ---- with it

  private hold(fiber: Fiber, slot: Slot<R>): IteratorResult<Switchpoint, any> {
    const isNested = slot.holder !== null
    if (!isNested) slot.holder = this
    this.slot = slot
    this.stage = HOLDING
    this.attach(fiber)
    const { upkeep } = this.stock
    if (isNested || upkeep.isReady(slot)) return this.start(slot.resource)
    this.stage = PREPARING
    return this.run(upkeep.prepare(this.stock, slot), true)
  }

  protected override ended(result: IteratorResult<any>): IteratorResult<Switchpoint, any> {
    if (this.stage === PREPARING) {
      this.stage = HOLDING
      if (result.value === READY) return this.start((this.slot as Slot<R>).resource)
    }
    return super.ended(result)
  }

  protected letGo(isSound: boolean): void {
    const slot = this.slot as Slot<R>
    this.slot = undefined
    if (slot.holder !== this) return
    if (!isSound && slot.phase === USED) slot.phase = DOOMED
    this.stock.putBack(slot)
  }
}

// PoolAcquire: the block behind `pool.acquire(body)`.
//
//   wait for a slot (TakeSlot)  ->  create or check the resource, if needed  ->  body  ->  release the slot
//
// A nested acquire finds the outer one in the fiber's chain of blocks, and shares its slot. The slots and the line are in
// pool-state.ts.

import { BadState, BaseOp, blocksOf, type Fiber, HoldBlock, type Switchpoint, settle } from '../core/index.js'
import { PoolClosed } from './errors.js'
import { READY } from './pool-lifecycle.js'
import type { PoolState, Slot } from './pool-state.js'

/** Waits in line for a slot. It has no state per wait, so one object serves all fibers. */
export class TakeSlot<R> extends BaseOp<Slot<R> | undefined> {
  constructor(protected readonly pool: PoolState<R>) {
    super()
    this.droppable()
  }

  enter(fiber: Fiber): void {
    const { pool } = this
    if (pool.runtime !== fiber.runtime) bindRuntime(pool, fiber)
    const slot = slotOf(fiber, pool) ?? this.take(fiber)
    if (slot === undefined) pool.queueUp(fiber)
    else settle(fiber, this, slot)
  }

  /** The common case: a resource is idle, and the fiber holds none. */
  override next(): IteratorResult<Switchpoint, Slot<R> | undefined> {
    const fiber = this.tryFastPath()
    const slot = fiber === null ? undefined : this.takeReady(fiber)
    return fiber === null || slot === undefined ? super.next() : this.finishNow(fiber, slot)
  }

  protected takeReady(fiber: Fiber): Slot<R> | undefined {
    const { pool } = this
    if (pool.idle.length === 0 || fiber.runtime !== pool.runtime) return undefined
    if (isInside(fiber, pool)) return undefined
    return pool.take()
  }

  private take(fiber: Fiber): Slot<R> | undefined {
    if (this.pool.isClosed) throw refusal(this.pool, fiber)
    return this.pool.take()
  }

  abort(fiber: Fiber): void {
    this.pool.leaveLine(fiber)
  }

  /** The fiber left before it received the slot. */
  override late(value: unknown): void {
    const slot = value as Slot<R> | undefined
    if (slot !== undefined && slot.holder === null) this.pool.release(slot)
  }

  describe(): string {
    return `a resource of ${this.pool.label}`
  }
  override get kind(): string {
    return 'pool'
  }
  override get resource(): object {
    return this.pool.pool
  }
}

/** For `fill`: takes an empty slot, or none if all are taken. Never waits. */
export class TakeEmptySlot<R> extends TakeSlot<R> {
  protected override takeReady(): undefined {}
  override enter(fiber: Fiber): void {
    if (this.pool.isClosed) throw refusal(this.pool, fiber)
    if (this.pool.runtime !== fiber.runtime) bindRuntime(this.pool, fiber)
    settle(fiber, this, this.pool.takeEmpty())
  }
}

export function refusal(pool: PoolState<any>, fiber: Fiber): PoolClosed {
  return new PoolClosed(`${fiber.path} wanted a resource of ${pool.label}, which is closed`)
}

/** A pool takes its clock, its timers and its destroying fibers from the runtime that uses it; an empty pool may change it. */
function bindRuntime(pool: PoolState<any>, fiber: Fiber): void {
  if (!pool.isEmpty) {
    throw new BadState(
      `${pool.label} is used by the fibers of another runtime, and cannot serve ${fiber.path}. Make a pool for each.`,
    )
  }
  pool.runtime = fiber.runtime
}

/** The slot that a fiber holds. */
export function slotOf<R>(fiber: Fiber, pool: PoolState<R>): Slot<R> | undefined {
  for (const block of blocksOf(fiber)) {
    if (block instanceof PoolAcquire && block.pool === pool && block.isHolding) return block.slot
  }
  return undefined
}

/** Whether a fiber is inside an acquire, also while the resource is created or checked. */
export function isInside(fiber: Fiber, pool: PoolState<any>): boolean {
  for (const block of blocksOf(fiber)) if (block instanceof PoolAcquire && block.pool === pool) return true
  return false
}

const HOLDING = 100
/** The resource is being created or checked; the body has not begun. */
const PREPARING = 101

export class PoolAcquire<R, T> extends HoldBlock<T, Slot<R> | undefined> {
  private stage: typeof HOLDING | typeof PREPARING = HOLDING

  constructor(
    readonly pool: PoolState<R>,
    body: (resource: R) => unknown,
    protected readonly taking: TakeSlot<R>,
  ) {
    super(body, 'acquire()')
  }

  get slot(): Slot<R> | undefined {
    return this.held
  }

  get isHolding(): boolean {
    return this.stage === HOLDING
  }

  describe(): string {
    return `acquire() of ${this.pool.label}`
  }

  protected override taken(): IteratorResult<Switchpoint, any> {
    const slot = this.held
    this.stage = HOLDING
    if (slot === undefined) return this.returned(undefined, false) // `fill`: all slots are taken
    const isNested = slot.holder !== null
    if (!isNested) slot.holder = this
    const { lifecycle } = this.pool
    if (isNested || lifecycle.isReady(slot)) return this.start()
    this.stage = PREPARING
    return this.run(lifecycle.prepare(this.pool, slot), true)
  }

  protected override begin(): R {
    return (this.held as Slot<R>).resource as R
  }

  protected override returned(value: unknown, isCut: boolean): IteratorResult<Switchpoint, any> {
    if (this.stage === PREPARING) {
      this.stage = HOLDING
      if (value === READY) return this.start()
    }
    return super.returned(value, isCut)
  }

  protected left(isSound: boolean): void {
    const slot = this.held
    this.held = undefined
    if (slot === undefined || (slot.holder !== null && slot.holder !== this)) return // none, or that of an acquire around this one
    if (!isSound && slot.phase === 'used') slot.phase = 'discarded'
    this.pool.release(slot)
  }
}

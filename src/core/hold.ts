// HoldBlock: runs a body while the fiber holds something: a lock, a permit, a resource of a pool. It is released however the
// body ends, and the fiber's chain of blocks shows what the fiber holds.
//
//   yield* semaphore.acquire(body)        taking (an op, waits in line)  ->  body  ->  left: released

import { Block } from './block.js'
import type { Result, Returned } from './body.js'
import { current } from './current.js'
import { debugging, describe, opEntered } from './debug.js'
import { BadArgument, notInFiber, show } from './errors.js'
import type { Fiber } from './fiber.js'
import type { BaseOp, Op, Switchpoint } from './op.js'
import { LIVE } from './state.js'

/**
 * A block that holds something while its body runs: it waits for it first, and releases it however the body ends.
 */
export abstract class HoldBlock<T, Held = unknown> extends Block<T> {
  /** The op that waits for what is to be held. It may be shared between blocks. */
  protected abstract readonly taking: BaseOp<Held>
  /** What `taking` gave. */
  protected held!: Held
  /** Called when `taking` is done: the body begins. */
  protected taken(_fiber: Fiber): IteratorResult<Switchpoint, T> {
    return this.start()
  }
  /** Releases what is held. `isSound` is false if an abandoned generator may still use it. */
  protected abstract override left(isSound: boolean): void

  protected override enter(): IteratorResult<Switchpoint, T> {
    const fiber = current.fiber
    if (fiber === null) throw notInFiber(describe(this))
    if (debugging) opEntered(this)
    return this.take(fiber)
  }

  protected override comeBack(): IteratorResult<Switchpoint, T> {
    return this.take(this.passing as Fiber)
  }

  private take(fiber: Fiber): IteratorResult<Switchpoint, T> {
    if (this._phase !== LIVE) this.renew()
    this.passing = null
    const result = this.taking.next()
    if (!result.done) {
      this.passing = fiber
      return result
    }
    // As in `attach`, but without a call: an overflow of the stack now finds the block in the chain, and gives back what it holds.
    this.held = result.value
    this.fiber = fiber
    this.outer = fiber.innermost
    fiber.innermost = this
    return this.taken(fiber)
  }

  protected override failEntry(error: unknown): IteratorResult<Switchpoint, any> {
    this.passing = null
    return this.taking.throw(error)
  }

  protected override endEntry(value: unknown): IteratorResult<Switchpoint, any> {
    this.passing = null
    return this.taking.return(value)
  }
}

/** What can be held while a body runs: see `hold`. */
export interface Holdable {
  /** The op that waits for it. If it has no state, it serves all waits; else make a holdable for each. */
  readonly taking: BaseOp<void>
  /** Releases it. Called in the fiber that holds it. */
  giveBack(): void
  /** The call, for messages: `mutex.synchronize()`. A field, since making the text each time would cost as much as locking. */
  readonly where: string
}

/**
 * Waits for a lock or a permit, runs a body, and releases it however the body ends: also if it has to be abandoned. The body may be
 * a generator function, or a plain function that returns an op or a value, as everywhere.
 *
 * ```ts
 * class Take extends BaseOp<void> {
 *   enter(fiber: Fiber) {
 *     console.log('taken') // taken
 *     settle(fiber, this, undefined)
 *   }
 *   abort() {}
 *   describe() {
 *     return 'key.with()'
 *   }
 * }
 * const key: Holdable = {
 *   where: 'key.with()',
 *   taking: new Take().droppable(),
 *   giveBack: () => console.log('given back'), // given back
 * }
 * console.log(yield* hold(key, () => 42)) // 42
 * ```
 */
export function hold<R>(what: Holdable, body: () => Returned<R>): Op<Result<R>> {
  if (what?.taking === undefined || typeof what.giveBack !== 'function') {
    const missing = what?.taking === undefined ? 'an op `taking`' : 'a function `giveBack`'
    throw new BadArgument(`hold() needs ${missing} in what is to be held, got ${show(what)}`)
  }
  return new Holding<Result<R>>(what, body)
}

class Holding<T> extends HoldBlock<T, void> {
  protected readonly taking: BaseOp<void>

  constructor(
    private readonly what: Holdable,
    body: () => unknown,
  ) {
    super(body, what.where)
    this.taking = what.taking
  }

  /** @internal */
  describe(): string {
    return this.what.where
  }

  protected left(): void {
    this.what.giveBack()
  }
}

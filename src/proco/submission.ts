// Handing in an item: `submit` waits for the result, `submitAsync` only for room. In a fiber both begin when they are
// first waited for, and whoever comes later waits for the same item.

import { type BadState, type Fiber, type Switchpoint, settle } from '../core/index.js'
import { Dual } from './dual.js'
import { CANCELLED, DONE, Eventual, FAILED } from './eventual.js'
import type { Front } from './front.js'
import { type Extras, type Future, type Submitter, WAITING } from './future.js'
import type { SubmitOptions } from './limits.js'

/** Knows which run of an executor is the present one. */
export interface Desk {
  /** The present run; throws if there is none. */
  readonly front: Front
  /** Whether its handler is being called at this moment. */
  readonly isCalling: boolean
  readonly label: string
}

/** An item to be handed in. */
abstract class Submission<T> extends Dual<T> {
  constructor(
    protected readonly desk: Desk,
    protected readonly item: unknown,
    protected readonly options: SubmitOptions | undefined,
  ) {
    super(desk.isCalling)
  }
  override get resource(): object {
    return this.desk
  }
}

/** Waits for the result of an item. The fiber that handed it in cancels it when it leaves (S83). */
export class Submit<R> extends Submission<R> {
  private future: Future<R> | null = null
  private owner: Fiber | null = null

  enter(fiber: Fiber): void {
    if (this.future === null) {
      const { front } = this.desk
      front.refuseSubmit(fiber, this.options)
      this.owner = fiber
      this.future = front.submit(this.item, this.options)
    }
    this.future.wait(fiber, this)
  }
  get front(): Front | null {
    return this.future === null ? null : this.future.lane.front
  }
  abort(fiber: Fiber): void {
    const { future, owner } = this
    future?.leaveLine(fiber)
    if (fiber !== owner) return
    this.owner = null
    future?.cancel(fiber.stopReason)
  }
  protected begin(): Promise<R> {
    try {
      this.future ??= this.handIn()
    } catch (error) {
      return Promise.reject(error)
    }
    return this.future.promise()
  }
  private handIn(): Future<R> {
    const { front } = this.desk
    if (this.isInside && front.isSole) throw front.refusal('wait for the result of another item')
    return front.submit(this.item, this.options)
  }
  describe(): string {
    return `${this.desk.label}.submit()`
  }
}

/** Waits for room only, and gives the future. */
export class SubmitAsync<R> extends Submission<Future<R>> implements Submitter {
  private future: Future<R> | null = null
  private owner: Fiber | null = null
  /** Only if there was no room at once. */
  private acceptance: Eventual<Future<R>> | null = null

  /** Mostly there is room, and nothing to wait for. */
  override next(): IteratorResult<Switchpoint, Future<R>> {
    const fiber = this.future === null ? this.tryFastPath() : null
    if (fiber === null) return super.next()
    const future = this.handIn(fiber)
    return this.acceptance === null ? this.finishNow(fiber, future) : super.next()
  }
  enter(fiber: Fiber): void {
    const future = this.future ?? this.handIn(fiber)
    if (this.acceptance === null) settle(fiber, this, future)
    else this.acceptance.wait(fiber, this)
  }
  private handIn(fiber: Fiber | null): Future<R> {
    const { front } = this.desk
    const future: Future<R> = front.submit(this.item, this.options, this)
    if (future.phase === WAITING) {
      const refusal = this.refusal(fiber, future)
      if (refusal !== null) {
        ;(future.extras as Extras).submitter = null
        future.leave(CANCELLED, undefined)
        throw refusal
      }
      this.acceptance = new Eventual<Future<R>>(undefined)
      this.owner = fiber
    }
    this.future = future
    return future
  }

  private refusal(fiber: Fiber | null, { lane }: Future<R>): BadState | null {
    const { front } = lane
    const what = 'wait for room in its queue'
    if (fiber !== null) return front.refusalFor(fiber, what, lane)
    return this.isInside && front.isSole ? front.refusal(what) : null
  }

  get front(): Front | null {
    return this.future === null ? null : this.future.lane.front
  }
  accepted(): void {
    this.owner = null
    this.acceptance?.settle(DONE, this.future)
  }
  /** Refused, cancelled or timed out before there was room. */
  settled(future: Future<R>): void {
    this.owner = null
    if (this.acceptance !== null && this.acceptance.phase < DONE)
      this.acceptance.settle(FAILED, future.content)
  }

  abort(fiber: Fiber): void {
    this.acceptance?.leaveLine(fiber)
    if (fiber === this.owner) this.future?.cancel(fiber.stopReason)
  }
  protected begin(): Promise<Future<R>> {
    try {
      const future = this.future ?? this.handIn(null)
      return this.acceptance === null ? Promise.resolve(future) : this.acceptance.promise()
    } catch (error) {
      return Promise.reject(error)
    }
  }
  describe(): string {
    return `${this.desk.label}.submitAsync()`
  }
}

/** What has an end to wait for. */
export interface Draining extends Desk {
  /** Begins to exit, or gives the run that does; null if there is none, and `isSure` says that this is as well. */
  drain(isSure: boolean, fiber: Fiber | null, isInside: boolean): Eventual<void> | null
}

/** Waits for an end that has been asked for. */
export class End extends Dual<void> {
  readonly front = null

  constructor(
    private readonly eventual: Eventual<void>,
    private readonly label: string,
  ) {
    super(false)
  }
  enter(fiber: Fiber): void {
    this.eventual.wait(fiber, this)
  }
  abort(fiber: Fiber): void {
    this.eventual.leaveLine(fiber)
  }
  protected begin(): Promise<void> {
    return this.eventual.promise()
  }
  describe(): string {
    return `the end of ${this.label}`
  }
}

/** Waits until everything is handled and all handlers are gone. */
export class Exit extends Dual<void> {
  readonly front = null
  private ending: Eventual<void> | null = null

  constructor(
    private readonly desk: Draining,
    /** Whether it is as well if it is not running. */
    private readonly isSure = false,
  ) {
    super(desk.isCalling)
  }
  enter(fiber: Fiber): void {
    if (this.ending === null) this.drain(fiber)
    this.ending?.wait(fiber, this)
  }
  private drain(fiber: Fiber | null): Eventual<void> {
    const { desk, isSure } = this
    this.ending = desk.drain(isSure, fiber, this.isInside) ?? OVER
    return this.ending
  }
  abort(fiber: Fiber): void {
    this.ending?.leaveLine(fiber)
  }
  protected begin(): Promise<void> {
    try {
      return (this.ending ?? this.drain(null)).promise()
    } catch (error) {
      return Promise.reject(error)
    }
  }
  describe(): string {
    return `${this.desk.label}.exit()`
  }
  override get resource(): object {
    return this.desk
  }
}
const OVER = new Eventual<void>(undefined)
OVER.settle(DONE, undefined)

// The future of one item, and the item itself while it is on its way: one object, so that an item nobody looks at costs
// one allocation. It is a node of the list that it stands in, so leaving costs the same wherever it stands.
//
//   WAITING   in the line for room; nobody but its submission knows it yet
//   QUEUED    accepted, in a queue
//   RUNNING   in a batch, in the hands of the handler
//   DONE, FAILED, CANCELLED      settled, exactly once (S78)

import { Cancel, type Fiber } from '../core/index.js'
import type { Batch } from './batch.js'
import { type Awaitable, Dual } from './dual.js'
import { inWords } from './errors.js'
import { CANCELLED, DONE, Eventual } from './eventual.js'
import type { Front } from './front.js'
import type { Lane } from './lane.js'
import type { Limits } from './limits.js'

export const WAITING = 0
export const QUEUED = 1
export const RUNNING = 2

/** How far an item has come. */
export type FutureState = 'queued' | 'running' | 'done' | 'failed' | 'cancelled'
const STATES = ['waiting', 'queued', 'running', 'done', 'failed', 'cancelled']

/** The submission that the item came with. */
export interface Submitter {
  /** There was no room, and now there is: the item is in the queue. */
  accepted(): void
  /** The item has an outcome. */
  settled(future: Future<any>): void
}

/** What an item was submitted with, and its submission while that waits for room. */
export class Extras {
  limits: Limits | null = null
  submitter: Submitter | null = null
  /** Whether it was given a key: then the order counts (S80). */
  isKeyed = false
}

/**
 * The outcome of an item to be: `get()` waits for it, as often as one likes. It is not a promise, and not thenable: so
 * `await proco.submitAsync(item)` waits only until the item is accepted.
 *
 * ```ts
 * const proco = Proco.new<number, number>().start((n) => n * n)
 * const future = yield* proco.submitAsync(9)
 * console.log(future.state) // queued
 * console.log(yield* future.get()) // 81
 * console.log(future.state, future.done) // done true
 * yield* proco.exit()
 * ```
 */
export class Future<R> extends Eventual<R> {
  /** @internal Its neighbours in the list it stands in. */ before: Future<any> | null = null
  /** @internal */ after: Future<any> | null = null
  /** @internal */ batch: Batch<any> | null = null
  /** @internal What few items have. */ extras: Extras | null = null

  /** @internal */
  constructor(
    /** The item; later the result, or the error. */
    content: unknown,
    /** @internal */ readonly lane: Lane,
  ) {
    super(content)
  }

  /** How far it has come: `'queued' | 'running' | 'done' | 'failed' | 'cancelled'`. */
  get state(): FutureState {
    return STATES[this.phase] as FutureState
  }

  /** Whether it has an outcome, of whichever kind. */
  get done(): boolean {
    return this.phase >= DONE
  }

  /**
   * Waits for the outcome: gives the result or throws the error, each time anew. To stop waiting is not to cancel: the
   * item goes on.
   */
  get(): Awaitable<R> {
    return new Get<R>(this).offer()
  }

  /**
   * Cancels the item: `get()` throws `Cancel` from now on. One that is in a queue leaves it at once; one that the handler
   * has is no longer waited for, and when nobody waits for any item of its batch, the handler is stopped (S82). False
   * if it had an outcome already.
   *
   * ```ts
   * const proco = Proco.new<number>().start(() => sleep(1000))
   * const [first, second] = [yield* proco.submitAsync(1), yield* proco.submitAsync(2)]
   * console.log(second.cancel(), second.state) // true cancelled
   * console.log(second.cancel()) // false
   * proco.kill()
   * ```
   */
  cancel(reason?: unknown): boolean {
    if (this.phase >= DONE) return false
    const { label } = this.lane.front
    const error =
      reason === undefined
        ? new Cancel(`an item of ${label} was cancelled`)
        : new Cancel(`an item of ${label} was cancelled: ${inWords(reason)}`, { cause: reason })
    this.leave(CANCELLED, error)
    return true
  }

  /** @internal It had to wait for room, and is in the queue now. */
  accepted(): void {
    const { extras } = this
    const submitter = extras?.submitter ?? null
    if (extras === null || submitter === null) return
    extras.submitter = null
    submitter.accepted()
  }

  /** @internal Leaves wherever it stands, with an error. */
  leave(phase: number, error: unknown): void {
    const { lane, batch } = this
    const from = this.phase
    if (from >= DONE) return // a listener of a signal has been quicker
    if (from !== WAITING) lane.front.counts.add(phase, 1)
    if (from === WAITING) lane.line.remove(this)
    else if (from === QUEUED) lane.drop(this)
    this.settle(phase, error)
    if (from === RUNNING) (batch as Batch<any>).left(error)
    if (from === QUEUED) lane.front.look()
  }

  /** @internal It has its outcome. Whoever calls this has taken it off its list. */
  override settle(phase: number, content: unknown): void {
    const { extras } = this
    this.batch = null
    super.settle(phase, content)
    if (extras !== null) {
      this.extras = null
      extras.limits?.end()
      extras.submitter?.settled(this)
    }
  }

  /** For the console: `Future { queued }`. */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return `Future { ${this.state} }`
  }
}

class Get<R> extends Dual<R> {
  constructor(private readonly future: Future<R>) {
    super(future.lane.front.isCalling)
  }
  get front(): Front {
    return this.future.lane.front
  }
  enter(fiber: Fiber): void {
    const { future } = this
    if (!future.done) {
      const lane = future.phase < RUNNING ? future.lane : null
      this.front.refuseInside(fiber, 'wait for one of its items', lane)
    }
    future.wait(fiber, this)
  }
  abort(fiber: Fiber): void {
    this.future.leaveLine(fiber)
  }
  protected begin(): Promise<R> {
    const { future, front } = this
    if (this.isInside && !future.done && front.isSole)
      return Promise.reject(front.refusal('wait for one of its items'))
    return future.promise()
  }
  describe(): string {
    return `a future of ${this.front.label}`
  }
  override get resource(): object {
    return this.future
  }
}

// Something happens, and fibers wait for it. An event resets itself: a signal wakes the fibers that wait now, and if there
// are none, the next `await()` takes it. With `latch` it stays signalled until `reset()`.
//
// A woken fiber is out of the line at once, so signals that come before it has run are not its own: the latest is kept.
// Were they dropped, a loop over `await()` would be left with an old value.

import { BaseOp, check, type Fiber, type Op, settle, Waiters } from '../core/index.js'

/** How an event is made. */
export interface EventOptions {
  /** Once signalled it stays so, for every fiber, until `reset()`; default false. */
  latch?: boolean
}

/** How an event is doing. */
export interface EventStats {
  /** Whether the next `await()` returns at once. */
  readonly isSignaled: boolean
  /** Fibers that wait for it. */
  readonly waiting: number
  /** How often it was signalled so far. */
  readonly signals: number
}

class Await<T> extends BaseOp<T> {
  constructor(private readonly event: Event<T>) {
    super()
  }
  enter(fiber: Fiber): void {
    if (this.event.isSignaled) settle(fiber, this, this.event.take())
    else this.event.line.join(fiber, undefined)
  }
  abort(fiber: Fiber): void {
    this.event.line.leave(fiber)
  }
  describe(): string {
    return 'event.await()'
  }
  /** It has got the signal, and was iterated by hand (S69). */
  override late(value: unknown, fiber: Fiber): void {
    super.late(value, fiber)
    this.event.putBack(value as T)
  }
  override get kind(): string {
    return 'event'
  }
  override get resource(): object {
    return this.event
  }
}

/**
 * Wakes fibers that wait for something to happen, and gives them a value. A signal that finds no waiting fiber is kept for
 * the next `await()`. One is kept at most, the latest.
 *
 * ```ts
 * const ready = new Event<string>()
 * spin(function* () {
 *   console.log(yield* ready.await()) // the door is open
 * })
 * yield* snooze()
 * ready.signal('the door is open')
 * ```
 */
export class Event<T = void> {
  /** @internal */ readonly line = new Waiters()
  private readonly isLatch: boolean
  private readonly waiter: Await<T>
  private signaled = false
  private value: T | undefined = undefined
  private signals = 0

  constructor(options: EventOptions = {}) {
    const { latch = false } = check.options(options, { latch: check.boolean }, 'new Event()')
    this.isLatch = latch
    this.waiter = new Await(this).droppable()
  }

  /** Waits for the signal, and returns its value. */
  await(): Op<T> {
    return this.waiter.handOut()
  }

  /**
   * It has happened: every fiber that waits now goes on with the value. If none waits, also because those that did were woken
   * just before, the value is kept, and replaces an earlier one.
   *
   * ```ts
   * const event = new Event<number>()
   * event.signal(1)
   * event.signal(2)
   * console.log(yield* event.await(), event.isSignaled) // 2 false
   * ```
   */
  signal(...[value]: undefined extends T ? [value?: T] : [value: T]): void {
    this.signals++
    if (this.isLatch || this.line.size === 0) {
      this.signaled = true
      this.value = value
    }
    for (let waiting = this.line.size; waiting > 0; waiting--) this.line.handOver(value)
  }

  /**
   * Forgets a signal that was kept. What a latch needs to be used again.
   *
   * ```ts
   * const open = new Event({ latch: true })
   * open.signal()
   * yield* open.await()
   * yield* open.await() // still signalled
   * open.reset()
   * console.log(open.isSignaled) // false
   * ```
   */
  reset(): void {
    this.signaled = false
    this.value = undefined
  }

  /** Whether the next `await()` returns at once. */
  get isSignaled(): boolean {
    return this.signaled
  }

  /** Fibers that wait for it. */
  get waiting(): number {
    return this.line.size
  }

  /** How it is doing. */
  stats(): EventStats {
    const { isSignaled, waiting, signals } = this
    return { isSignaled, waiting, signals }
  }

  /** @internal The value of the signal that is kept. */
  take(): T {
    const value = this.value as T
    if (!this.isLatch) this.reset()
    return value
  }
  /** @internal No fiber has received it after all; a later signal outweighs it. */
  putBack(value: T): void {
    if (this.signaled) return
    this.signaled = true
    this.value = value
  }
}

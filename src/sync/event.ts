// Something happens, and fibers wait for it. An event resets itself: a signal wakes those who wait now, and if nobody
// does, the next who asks takes it. With `latch` it stays signalled until `reset()`.

import {
  BadArgument,
  BaseOp,
  checkOptions,
  debugging,
  type Fiber,
  type Op,
  settle,
  shared,
  show,
  Waiters,
} from '../core/index.js'

/** How an event is made. */
export interface EventOptions {
  /** Once signalled it stays so, for everybody, until `reset()`; default false. */
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
}

/**
 * Wakes fibers that wait for something to happen, and gives them a value. A signal that nobody waits for is kept, once,
 * for the next who does.
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
    const { latch = false } = checkOptions(options, ['latch'], 'new Event()')
    if (typeof latch !== 'boolean') {
      throw new BadArgument(`latch of new Event() is true or false, got ${show(latch)}`)
    }
    this.isLatch = latch
    this.waiter = shared(new Await(this))
  }

  /** Waits for the signal, and returns its value. */
  await(): Op<T> {
    return debugging ? new Await(this) : this.waiter
  }

  /**
   * It has happened: everybody who waits now goes on with the value. If nobody waits, the latest value is kept.
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
  /** @internal Nobody has heard of it after all; a later signal outweighs it. */
  putBack(value: T): void {
    if (this.signaled) return
    this.signaled = true
    this.value = value
  }
}

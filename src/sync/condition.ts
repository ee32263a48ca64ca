// Condition: fibers wait until another fiber signals that something has changed.
//
//   wait():  unlocks the mutex -> in line for a signal -> (signalled) in line for the mutex -> locked again, goes on
//                                       |                        |
//                        stop or raise: the fiber leaves the line, its signal goes to the next waiter,
//                        and the mutex is still waited for
//
// With a mutex, the fiber moves from one line to the other without running in between, so it need not check again
// whether it may go on (S36). Only a deadline ends the wait before the mutex is locked again.

import {
  BadArgument,
  BaseOp,
  type Fiber,
  LATER,
  type Op,
  runningFiber,
  type Switchpoint,
  settle,
  show,
  type Waiter,
  Waiters,
} from '../core/index.js'
import { type Claim, Mutex } from './mutex.js'

/** What `condition.stats()` returns. */
export interface ConditionStats {
  /** Fibers that wait for a signal. */
  readonly waiting: number
  /** Signals so far, including broadcasts. */
  readonly signals: number
  /** How many fibers were woken so far. */
  readonly woken: number
}

/** One wait, and also the fiber's claim on the mutex. */
class Wait<V> extends BaseOp<V> implements Claim {
  /** How often the fiber had locked the mutex. */
  depth = 0
  /** The value of the signal. */
  answer: unknown = undefined
  /** The waiting fiber; null while not entered. */
  private fiber: Fiber | null = null
  /** The fiber's waiter in the line of the mutex; null while it waits for a signal. */
  private waiter: Waiter<Claim> | null = null
  /** True for `signal`, false for `broadcast`. */
  private isSingle = false

  constructor(
    private readonly condition: Condition<V>,
    private readonly mutex: Mutex | undefined,
  ) {
    super()
  }

  enter(fiber: Fiber): void {
    this.refuseSecond(this.fiber)
    this.depth = this.mutex?.giveUp(fiber, 'wait with') ?? 0
    this.fiber = fiber
    this.isSingle = false
    this.condition.line.join(fiber, this)
  }

  /** The signal has come: the wait is over once the mutex is locked again. */
  signaled(value: V, isSingle: boolean): void {
    const fiber = this.fiber as Fiber
    this.answer = value
    this.isSingle = isSingle
    if (this.relock(fiber)) settle(fiber, this, value)
  }

  /** False if the fiber has to wait for the mutex. */
  private relock(fiber: Fiber): boolean {
    if (this.mutex !== undefined) this.waiter = this.mutex.claim(fiber, this, null)
    return this.waiter === null
  }

  abort(fiber: Fiber): void | typeof LATER {
    if (this.waiter === null) {
      this.condition.line.leave(fiber)
      if (this.relock(fiber)) return undefined
    } else if (this.isSingle) this.condition.wakeOne(this.answer as V) // the signal goes to another fiber
    if (this.isInterrupted(fiber)) return LATER
    this.over() // iterated by hand (S69): the fiber does not wait for the mutex
  }

  override next(): IteratorResult<Switchpoint, V> {
    if (this.fiber === null || this.fiber !== runningFiber()) return super.next()
    try {
      return super.next()
    } finally {
      this.over()
    }
  }
  override return(value?: unknown): IteratorResult<Switchpoint, any> {
    try {
      return super.return(value)
    } finally {
      this.over()
    }
  }

  /** The fiber goes on, without the mutex if a deadline ended the wait for it (S19). */
  private over(): void {
    const { fiber, mutex, waiter } = this
    this.fiber = null
    this.waiter = null
    if (fiber === null || waiter === null || mutex?.isOwner(fiber)) return
    mutex?.withdraw(waiter)
    mutex?.forfeit(fiber, this.depth)
  }

  describe(): string {
    return 'condition.wait()'
  }
  override get kind(): string {
    return 'condition'
  }
  override get resource(): object {
    return this.condition
  }
}

/**
 * Lets fibers wait until another fiber signals that something has changed. With a mutex, `wait()` unlocks it while it
 * waits, and locks it again before it returns.
 *
 * ```ts
 * const mutex = new Mutex()
 * const changed = new Condition(mutex)
 * let balance = 0
 * spin(() =>
 *   mutex.synchronize(function* () {
 *     while (balance < 100) yield* changed.wait()
 *     console.log('enough') // enough
 *   }),
 * )
 * yield* snooze()
 * yield* mutex.synchronize(() => {
 *   balance = 100
 *   changed.broadcast()
 * })
 * ```
 */
export class Condition<V = void> {
  /** @internal */ readonly line = new Waiters<Wait<V>>()
  private signals = 0
  private woken = 0

  constructor(private readonly mutex?: Mutex) {
    if (mutex !== undefined && !(mutex instanceof Mutex)) {
      throw new BadArgument(`new Condition() needs a Mutex, or nothing, got ${show(mutex)}`)
    }
  }

  /**
   * Waits for a signal, and returns its value. Meanwhile the mutex is unlocked, however often the fiber had locked it; it
   * is locked again when `wait` returns or throws, also when the fiber is stopped. Only a deadline ends the wait before
   * that (S19): then the fiber goes on without the mutex, and a report says so.
   */
  wait(): Op<V> {
    return new Wait(this, this.mutex)
  }

  /**
   * Wakes the fiber that has waited longest. False if no fiber waits; the signal is not kept.
   *
   * ```ts
   * const condition = new Condition<string>()
   * console.log(condition.signal('unheard')) // false
   * spin(function* () {
   *   console.log(yield* condition.wait()) // heard
   * })
   * yield* snooze()
   * console.log(condition.signal('heard')) // true
   * ```
   */
  signal(...[value]: undefined extends V ? [value?: V] : [value: V]): boolean {
    this.signals++
    return this.wakeOne(value as V)
  }

  /** Wakes all waiting fibers, in order. Returns how many there were. */
  broadcast(...[value]: undefined extends V ? [value?: V] : [value: V]): number {
    this.signals++
    const { size } = this.line
    for (let i = 0; i < size; i++) this.wake(value as V, false)
    return size
  }

  /** Fibers that wait for a signal. */
  get waiting(): number {
    return this.line.size
  }

  /** Current numbers, and totals so far. */
  stats(): ConditionStats {
    const { waiting, signals, woken } = this
    return { waiting, signals, woken }
  }

  /** @internal */
  wakeOne(value: V): boolean {
    if (this.line.size === 0) return false
    this.wake(value, true)
    return true
  }

  private wake(value: V, isSingle: boolean): void {
    const waiter = this.line.first as Waiter<Wait<V>>
    this.line.remove(waiter)
    this.woken++
    waiter.item.signaled(value, isSingle)
  }
}

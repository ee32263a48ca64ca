// Waiting until another fiber says that something has changed.
//
//   wait():  mutex given up -> in line for a signal -> (signalled) in line for the mutex -> has it again, goes on
//                                    |                          |
//                     stopped, raised in: out of the line; its signal goes to the next, the mutex is waited for all the same
//
// A fiber that waits with a mutex goes from one line to the other without running in between, so it never has to look
// whether it may go on (S36). Only a deadline can take it out before it has the mutex back.

import {
  ABORTING,
  BadArgument,
  BaseOp,
  baton,
  enteredTwice,
  type Fiber,
  LATER,
  type Op,
  type Place,
  type Switchpoint,
  settle,
  show,
  Waiters,
} from '../core/index.js'
import { type Claim, Mutex } from './mutex.js'

/** How a condition is doing. */
export interface ConditionStats {
  /** Fibers that wait for a signal. */
  readonly waiting: number
  /** How often it was signalled so far, broadcasts included. */
  readonly signals: number
  /** How many fibers were woken so far. */
  readonly woken: number
}

/** One wait, also as the claim of its fiber on the mutex. */
class Wait<V> extends BaseOp<V> implements Claim {
  /** How often the fiber held the mutex. */
  depth = 0
  /** The value of the signal. */
  answer: unknown = undefined
  /** Who waits; null while not entered. */
  private fiber: Fiber | null = null
  /** Its place in the line for the mutex; null while it waits for a signal. */
  private place: Place<Claim> | null = null
  /** Whether the signal was meant for one fiber only. */
  private isSingle = false

  constructor(
    private readonly condition: Condition<V>,
    private readonly mutex: Mutex | undefined,
  ) {
    super()
  }

  enter(fiber: Fiber): void {
    if (this.fiber !== null) throw enteredTwice(this, this.fiber)
    this.depth = this.mutex?.giveUp(fiber, 'wait with') ?? 0
    this.fiber = fiber
    this.isSingle = false
    this.condition.line.join(fiber, this)
  }

  /** Out of the line for a signal: the wait is over once the mutex is there. */
  signaled(value: V, isSingle: boolean): void {
    const fiber = this.fiber as Fiber
    this.answer = value
    this.isSingle = isSingle
    if (this.relock(fiber)) settle(fiber, this, value)
  }

  /** False: it waits for the mutex now. */
  private relock(fiber: Fiber): boolean {
    if (this.mutex === undefined || this.mutex.claim(fiber, this)) return true
    this.place = fiber.value as Place<Claim>
    return false
  }

  abort(fiber: Fiber): void | typeof LATER {
    if (this.place === null) {
      this.condition.line.leave(fiber)
      if (this.relock(fiber)) return undefined
    } else if (this.isSingle) this.condition.wakeOne(this.answer as V) // a wake-up is not lost with the fiber
    if (fiber.how === ABORTING) return LATER
    this.over() // iterated by hand (S69): nobody will wait for the mutex
  }

  override next(): IteratorResult<Switchpoint, V> {
    if (this.fiber === null || this.fiber !== baton.fiber) return super.next()
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

  /** The fiber goes on. If a deadline took it out before it had the mutex back, it goes on without (S19). */
  private over(): void {
    const { fiber, mutex, place } = this
    this.fiber = null
    this.place = null
    if (fiber === null || place === null || mutex?.isOwner(fiber)) return
    mutex?.withdraw(place)
    mutex?.forfeit(fiber, this.depth)
  }

  describe(): string {
    return 'condition.wait()'
  }
}

/**
 * Lets fibers wait until another says that something has changed. With a mutex, `wait()` gives it up and has it back
 * before it goes on.
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
   * Waits for a signal, and returns its value. Gives the mutex up meanwhile, however often it is locked; the fiber has
   * it back when this returns or throws, also when it is stopped. Only a deadline ends the wait before that (S19): then it
   * goes on without the mutex, and that is reported.
   */
  wait(): Op<V> {
    return new Wait(this, this.mutex)
  }

  /**
   * Wakes the fiber that has waited longest. False if nobody waits: nothing is kept.
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

  /** Wakes everybody who waits, in order. Tells how many that were. */
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

  /** How it is doing. */
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
    const place = this.line.first as Place<Wait<V>>
    this.line.remove(place)
    this.woken++
    place.item.signaled(value, isSingle)
  }
}

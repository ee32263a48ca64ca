// The clock, sleep, and the waits of loops. A sleep is its own node in the heap of timers (core/timers.ts): one object per wait.

import {
  BaseOp,
  check,
  current,
  type Fiber,
  notInFiber,
  type Op,
  Snooze,
  settle,
  type TimerNode,
} from '../core/index.js'

export class Sleep extends BaseOp<void> implements TimerNode {
  time = 0
  seq = 0
  index = -1
  private fiber: Fiber | null = null

  constructor(readonly ms: number) {
    super()
  }

  /** When it is over, on the runtime's clock. */
  protected end(fiber: Fiber): number {
    return fiber.runtime.now() + this.ms
  }

  enter(fiber: Fiber): void {
    this.refuseSecond(this.fiber)
    this.fiber = fiber
    fiber.runtime.addTimer(this, this.end(fiber))
  }

  abort(fiber: Fiber): void {
    this.fiber = null
    fiber.runtime.removeTimer(this)
  }

  fire(): void {
    const fiber = this.fiber as Fiber
    this.fiber = null
    settle(fiber, this, undefined)
  }

  describe(): string {
    return `sleep(${Math.round(this.ms * 1000) / 1000})`
  }
  override get kind(): string {
    return 'sleep'
  }
}

/** Waits until a time on the runtime's clock, for the next round of a loop. That is new work, so refused in cleanup (S17). */
export class Tick extends Sleep {
  override get idle(): boolean {
    return true
  }
  constructor(
    private readonly at: number,
    ms: number,
    private readonly what: string,
  ) {
    super(ms)
  }
  protected override end(): number {
    return this.at
  }
  override describe(): string {
    return this.what
  }
}

/** The switchpoint before a round that is already due: other fibers run first, and it is refused in cleanup (S17). */
class NextRound extends Snooze {
  override get idle(): boolean {
    return true
  }
  override describe(): string {
    return 'the next round'
  }
}
export const NEXT_ROUND = new NextRound()

class Forever extends BaseOp<never> {
  enter(fiber: Fiber): void {
    fiber.runtime.hold()
  }
  abort(fiber: Fiber): void {
    fiber.runtime.release()
  }
  describe(): string {
    return 'sleep()'
  }
  override get kind(): string {
    return 'sleep'
  }
}

/**
 * Waits for a number of milliseconds. Without a number, or with `Infinity`, it waits until it is stopped, and keeps the process
 * alive (S64).
 *
 * ```ts
 * yield* sleep(500)
 * console.log('half a second later') // half a second later
 * ```
 */
export function sleep(ms: number): Op<void>
export function sleep(): Op<never>
export function sleep(...args: [ms?: number]): Op<void> {
  const isForever = args.length === 0 || args[0] === Infinity
  return isForever ? new Forever() : new Sleep(check.ms(args[0], 'sleep()'))
}

/**
 * Milliseconds on the clock that sleeps and time limits go by, which never goes back. In `virtual` tests it is the virtual one.
 *
 * ```ts
 * const begin = now()
 * yield* sleep(100)
 * console.log(now() - begin) // 100
 * ```
 */
export function now(): number {
  if (current.fiber === null) throw notInFiber('now()')
  return current.fiber.runtime.now()
}

// Waiting for time to pass. A sleep is its own node in the heap of timers: one object for the whole wait.

import {
  BaseOp,
  checkMs,
  enteredTwice,
  type Fiber,
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
    if (this.fiber !== null) throw enteredTwice(this, this.fiber)
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
}

/** Waits until a time on the runtime's clock, for the next round of a loop: new work, so refused in cleanup (S17). */
export class Tick extends Sleep {
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
;(Tick.prototype as { idle: boolean }).idle = true

/** The switchpoint of a round that is due already: others run first, and it is refused in cleanup (S17). */
class NextRound extends Snooze {
  override describe(): string {
    return 'the next round'
  }
}
;(NextRound.prototype as { idle: boolean }).idle = true
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
}

/**
 * Waits so many milliseconds. Without a number it waits for ever, and holds the process while it does (S64).
 *
 * ```ts
 * yield* sleep(500)
 * console.log('half a second later') // half a second later
 * ```
 */
export function sleep(ms: number): Op<void>
export function sleep(): Op<never>
export function sleep(...args: [ms?: number]): Op<void> {
  return args.length === 0 ? new Forever() : new Sleep(checkMs(args[0], 'sleep()'))
}

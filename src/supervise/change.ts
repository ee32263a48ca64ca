// What a supervising fiber waits in: until something that it cares about is true. Whoever changes something says so.

import { BaseOp, type Fiber, settle, type TimerNode } from '../core/index.js'

export class Change extends BaseOp<void> implements TimerNode {
  time = 0
  seq = 0
  index = -1
  private fiber: Fiber | null = null

  constructor(
    private readonly isReady: () => boolean,
    /** When to go on at the latest. */
    private readonly latest: number,
    private readonly what: () => string,
  ) {
    super()
  }

  enter(fiber: Fiber): void {
    if (this.isReady()) {
      settle(fiber, this, undefined)
      return
    }
    this.fiber = fiber
    if (this.latest < Infinity) fiber.runtime.addTimer(this, this.latest)
  }

  abort(fiber: Fiber): void {
    this.fiber = null
    if (this.index >= 0) fiber.runtime.removeTimer(this)
  }

  /** Something is different now. */
  look(): void {
    const fiber = this.fiber
    if (fiber === null || !this.isReady()) return
    this.abort(fiber)
    settle(fiber, this, undefined)
  }

  fire(): void {
    const fiber = this.fiber as Fiber
    this.fiber = null
    settle(fiber, this, undefined)
  }

  describe(): string {
    return this.what()
  }
}

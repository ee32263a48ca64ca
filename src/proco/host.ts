// The fiber that stands for a run of an executor in the tree: it waits for the end, and whatever is below it ends with it.
// It is a root of its own. As a child of its starter it would be stopped before `use()` could let it finish.

import { BaseOp, type Fiber, type Op, onEnd, type Routine, settle, spinRoot } from '../core/index.js'
import type { Front } from './front.js'

/** Waits for the end. */
class Hosting extends BaseOp<void> {
  constructor(private readonly front: Front) {
    super()
    this.droppable()
  }
  enter(fiber: Fiber): void {
    if (this.front.isOver) settle(fiber, this, undefined)
  }
  abort(): void {}
  describe(): string {
    const { depth, runningBatches } = this.front
    return `items (${depth} queued, ${runningBatches} in the hands of handlers)`
  }
  override get kind(): string {
    return 'executor'
  }
}

export class Host {
  readonly fiber: Fiber
  private readonly hosting: Hosting

  constructor(
    private readonly front: Front,
    starter: Fiber | null,
  ) {
    const name = front.label
    const isCarrying = starter?.rare?.context != null
    this.hosting = new Hosting(front)
    this.fiber = spinRoot(
      front.runtime,
      () => this.body(),
      isCarrying ? { name, context: true } : { name },
      'start()',
    )
    if (starter !== null) {
      this.fiber.locals = starter.locals
      this.fiber.grace = starter.grace
    }
    onEnd(this.fiber, () => this.ended(), 'died')
  }

  private *body(): Routine<void> {
    try {
      yield* this.hosting
    } finally {
      this.front.end() // if it was stopped from outside
    }
  }

  /** It is dead, and everything below it. */
  private ended(): void {
    this.front.end()
    this.front.closed()
  }

  /** All is done. */
  close(): void {
    if (this.fiber.op === this.hosting) settle(this.fiber, this.hosting, undefined)
  }

  /** Ends in order, with time for cleanup; the op waits for the end. */
  stop(): Op<unknown> {
    return this.fiber.stop()
  }
}

// The fiber that stands for a run of an executor in the tree: it waits for the end, and whatever is below it ends with it.
// It is a root of its own. As a child of its starter it would be stopped before `use()` could let it finish.

import {
  BaseOp,
  debugging,
  type Fiber,
  type Observer,
  type Op,
  observe,
  opEntered,
  type Routine,
  settle,
  spinRoot,
} from '../core/index.js'
import type { Front } from './front.js'

/** Waits for the end. */
class Hosting extends BaseOp<void> {
  constructor(private readonly front: Front) {
    super()
    if (debugging) opEntered(this)
  }
  enter(fiber: Fiber): void {
    if (this.front.isOver) settle(fiber, this, undefined)
  }
  abort(): void {}
  describe(): string {
    const { depth, runningBatches } = this.front
    return `items (${depth} queued, ${runningBatches} in the hands of handlers)`
  }
}

export class Host implements Observer {
  readonly fiber: Fiber
  // As an observer of its end:
  readonly watcher: Fiber
  before: Observer | null = null
  after: Observer | null = null
  private readonly hosting: Hosting

  constructor(
    private readonly front: Front,
    starter: Fiber | null,
  ) {
    const name = front.label
    const isCarrying = starter?.cold?.context != null
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
    this.watcher = this.fiber
    observe(this.fiber, this)
  }

  private *body(): Routine<void> {
    try {
      yield* this.hosting
    } finally {
      this.front.end() // if it was stopped from outside
    }
  }

  /** It is dead, and everything below it. */
  ended(): void {
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

// Work that Node does outside and answers by a callback: binding, sending, looking up a name. It holds the process while
// a fiber waits for it (S64). Each wait is an attempt of its own, so an answer that comes after its fiber has left
// finds nobody, even when the same op is being waited for again.

import { BaseOp, enteredTwice, type Fiber, fail, type LATER, settle } from '../core/index.js'

/** One wait for a request: what its callbacks answer. Only the first answer counts. */
export class Attempt<T> {
  private isOver = false

  constructor(
    private readonly op: Request<T>,
    readonly fiber: Fiber,
  ) {
    fiber.runtime.hold()
    fiber.runtime.external++
  }

  settle(value: T): void {
    if (this.end()) settle(this.fiber, this.op, value)
  }

  fail(error: unknown): void {
    if (this.end()) fail(this.fiber, this.op, error)
  }

  /** Gives back what the wait held. False if it was over before. */
  end(): boolean {
    if (this.isOver) return false
    this.isOver = true
    this.op.ended()
    this.fiber.runtime.external--
    this.fiber.runtime.release()
    return true
  }
}

export abstract class Request<T> extends BaseOp<T> {
  private attempt: Attempt<T> | null = null

  /** Begins the work. What it throws is thrown at the wait. */
  protected abstract start(attempt: Attempt<T>): void
  /** The fiber is leaving: undoes what was begun, or answers LATER because that cannot be undone (S35). */
  protected abstract cancel(): void | typeof LATER

  enter(fiber: Fiber): void {
    if (this.attempt !== null) throw enteredTwice(this, this.attempt.fiber)
    const attempt = new Attempt(this, fiber)
    this.attempt = attempt
    try {
      this.start(attempt)
    } catch (error) {
      attempt.end()
      throw error
    }
  }

  abort(): void | typeof LATER {
    const { attempt } = this
    const later = this.cancel()
    if (later === undefined) attempt?.end()
    return later
  }

  /** @internal */
  ended(): void {
    this.attempt = null
  }
}

// scope: runs a body, waits for the children spun in it; the first error stops the rest, then is thrown (S23, S28).

import { Block, done } from './block.js'
import type { Result, Returned } from './body.js'
import { isStop, type Stop } from './errors.js'
import type { Fiber } from './fiber.js'
import { isForced } from './gate.js'
import { BaseOp, type Op, type Switchpoint, settle } from './op.js'
import { FORCED, LIVE, UNWINDING } from './phase.js'
import { deadlineOf, queueError } from './stop.js'
import { keepBeside, link, stopChildren, unlink } from './tree.js'

/** Waits at the end of a scope until its last child is gone. */
class ChildrenGone extends BaseOp<void> {
  constructor(private readonly scope: Scope<any>) {
    super()
  }
  enter(fiber: Fiber): void {
    if (this.scope.newest === null) settle(fiber, this, undefined)
  }
  abort(): void {}
  describe(): string {
    return 'the children of its scope'
  }
}

export class Scope<T> extends Block<T> {
  private gone: ChildrenGone | null = null
  private bodyOver = false
  private isEnding = false
  private value: unknown = undefined
  private failed = false
  private error: unknown = undefined
  /** The stop of an outer region that passed through. */
  private passing: Stop | null = null

  constructor(body: (...args: any[]) => unknown) {
    super(body, undefined, 'scope()')
  }

  describe(): string {
    return 'scope()'
  }
  override get isScope(): boolean {
    return true
  }
  /** @internal Whether children may still be added. */
  get isOpen(): boolean {
    return this.fiber !== null && !this.isEnding
  }
  private endChildren(): void {
    this.isEnding = true
    stopChildren(this)
  }

  protected override begin(): void {
    this.bodyOver = false
    this.isEnding = false
    this.failed = false
    this.passing = null
    this.gone = null
  }

  /** A child failed: the body is stopped, then the other children, then the error is thrown. */
  childFailed(error: unknown): void {
    this.keep(error)
    if (this.bodyOver) this.endChildren()
    else if (this._phase === LIVE) this.request(error)
  }

  /** The last child is gone. */
  emptied(): void {
    const fiber = this.fiber
    if (fiber !== null && this.gone !== null) settle(fiber, this.gone, undefined)
  }

  /** @internal */
  childDeadline(now: number): number {
    const fiber = this.fiber as Fiber
    if (fiber._phase !== FORCED && isForced(fiber)) return now
    const own = now + (this.grace ?? fiber.grace)
    return fiber.stopSignal === null ? own : Math.min(own, deadlineOf(fiber))
  }

  protected override returned(value: unknown): IteratorResult<Switchpoint, T> {
    if (!this.bodyOver) {
      this.bodyOver = true
      this.value = value
      if (this.failed || this._phase >= UNWINDING) this.endChildren()
    }
    return this.waitForChildren()
  }

  /** The body, or the wait at the end, was struck. Both may happen more than once: every error is kept. */
  protected override thrown(error: unknown): IteratorResult<Switchpoint, T> {
    this.bodyOver = true
    if (!this.isOwn(error)) {
      if (isStop(error)) this.passing = error
      else this.keep(error)
    }
    this.endChildren()
    return this.waitForChildren()
  }

  private keep(error: unknown): void {
    if (this.failed) keepBeside(this.fiber as Fiber, this.error, error)
    else {
      this.failed = true
      this.error = error
    }
  }

  private waitForChildren(): IteratorResult<Switchpoint, T> {
    const fiber = this.fiber as Fiber
    if (this.newest !== null) {
      if (!isForced(fiber)) return this.wait((this.gone = new ChildrenGone(this)))
      this.handOver(fiber)
    }
    const { passing, failed, error, value } = this
    this.leave()
    if (passing !== null) {
      if (failed) queueError(fiber, error, true) // none is lost: it strikes later, or becomes the outcome
      throw passing
    }
    if (failed) throw error
    return done(value as T)
  }

  /** Nothing can be waited for any more: the fiber itself takes the children, and does not die before them. */
  private handOver(fiber: Fiber): void {
    this.endChildren()
    while (this.newest !== null) {
      const child = this.newest
      unlink(child)
      link(child, fiber)
    }
  }

  override abandon(): void {
    this.handOver(this.fiber as Fiber)
    super.abandon()
  }
}

/**
 * Runs a body, then waits for every fiber spun inside it. The first error stops the others and is thrown here.
 *
 * ```ts
 * yield* scope(function* () {
 *   spin(download, 'a')
 *   spin(download, 'b')
 * }) // both are done here, or none runs any more
 * ```
 */
export function scope<R>(body: () => Returned<R>): Op<Result<R>> {
  return new Scope<Result<R>>(body)
}

// scope: runs a body, waits for the children spun in it; the first error stops the rest, then is thrown (S23, S28).

import { Block, done } from './block.js'
import type { Result, Returned } from './body.js'
import { addCleanup, type Cleanup, Cleanups } from './cleanup.js'
import { isStop, type Stop } from './errors.js'
import type { Fiber } from './fiber.js'
import { isForced } from './gate.js'
import { BaseOp, type Op, type Switchpoint, settle } from './op.js'
import { FORCED, LIVE, UNWINDING } from './phase.js'
import { queueError } from './stop.js'
import { keepBeside, link, stopChildren, unlink } from './tree.js'

/** Waits at the end of a scope until its last child is gone; one object for each wait, since scopes nest. */
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

// A scope goes through three stages.
/** The body runs. */
const BODY = 0
/** The body is over; the children may take their time. */
const GATHERING = 1
/** The children have been asked to end. */
const ENDING = 2

export class Scope<T> extends Block<T> {
  /** @internal The fiber that runs it, or ran it: dead children still know their parent. */
  host!: Fiber
  private stage = BODY
  private gone: ChildrenGone | null = null
  private value: unknown = undefined
  /** What went wrong, in order: the first is thrown, the others are suppressed (S23). */
  private failures: unknown[] = []
  /** @internal What is to be done when the children are gone (S60). */
  cleanups: Cleanup[] | null = null
  /** The stop of an outer region that passed through. */
  private passing: Stop | null = null

  constructor(body: (...args: any[]) => unknown) {
    super(body, undefined, 'scope()')
  }

  describe(): string {
    return 'scope()'
  }
  override get isOwner(): boolean {
    return true
  }
  /** @internal Whether children may still be added, or restarted. */
  get isOpen(): boolean {
    return this.fiber !== null && this.stage !== ENDING
  }

  /** @internal Whether nothing has gone wrong so far, and nobody wants it to end. */
  get isSound(): boolean {
    return this.stage !== ENDING && this.failures.length === 0
  }

  protected override begin(): void {
    this.host = this.fiber as Fiber
    this.stage = BODY
    this.gone = null
    this.failures = []
    this.cleanups = null
    this.passing = null
  }

  /** A child failed: the body is stopped, then the other children, then the error is thrown. */
  childFailed(error: unknown): void {
    this.failures.push(error)
    if (this.stage !== BODY) this.endChildren()
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
    return Math.min(now + fiber.grace, fiber.deadline)
  }

  protected override returned(value: unknown): IteratorResult<Switchpoint, T> {
    if (this.stage === BODY) {
      this.stage = GATHERING
      this.value = value
      if (this.failures.length > 0 || this._phase >= UNWINDING) this.endChildren()
    }
    return this.waitForChildren()
  }

  /** The body, or the wait at the end, was struck. Both may happen more than once: every error is kept. */
  protected override thrown(error: unknown): IteratorResult<Switchpoint, T> {
    if (!this.isOwn(error)) {
      if (isStop(error)) this.passing = error
      else this.failures.push(error)
    }
    this.endChildren()
    return this.waitForChildren()
  }

  private endChildren(): void {
    this.stage = ENDING
    stopChildren(this)
  }

  private waitForChildren(): IteratorResult<Switchpoint, T> {
    const fiber = this.fiber as Fiber
    if (this.newest !== null) {
      if (!isForced(fiber)) return this.wait((this.gone = new ChildrenGone(this)))
      this.handOver(fiber)
    }
    if (this.cleanups !== null) {
      const list = this.cleanups
      this.cleanups = null
      return this.wait(new Cleanups(list, (error) => this.failures.push(error)))
    }
    const { passing, failures, value } = this
    this.leave()
    const [first, ...others] = failures
    for (const other of others) keepBeside(fiber, first, other)
    if (passing !== null) {
      if (failures.length > 0) queueError(fiber, first, true) // none is lost: it strikes later, or becomes the outcome
      throw passing
    }
    if (failures.length > 0) throw first
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
    const fiber = this.fiber as Fiber
    this.handOver(fiber)
    for (const failure of this.failures) queueError(fiber, failure, true)
    for (const cleanup of this.cleanups ?? []) addCleanup(fiber, cleanup)
    super.abandon()
  }
}

/**
 * Runs a body, then waits for every fiber spun inside it. The first error stops the others and is thrown here (S28).
 *
 * ```ts
 * yield* scope(function* () {
 *   spin(function* () {
 *     yield* sleep(20)
 *     console.log('one') // one
 *   })
 *   spin(function* () {
 *     yield* sleep(10)
 *     console.log('two') // two
 *   })
 * })
 * console.log('both are done') // both are done
 * ```
 */
export function scope<R>(body: () => Returned<R>): Op<Result<R>> {
  return new Scope<Result<R>>(body)
}

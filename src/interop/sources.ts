// The sources behind `iterate` and `each` (iterate.ts).
//
//   SyncSource    arrays, sets, generators: never waits
//   AsyncSource   async iterables, Node streams, web streams: at most one pending next() at a time
//
// If a fiber leaves while next() is pending, the item is kept for the next fiber that asks (S59).

import {
  BaseOp,
  Fiber,
  IdleOp,
  moveOnAfter,
  type Op,
  op,
  type Routine,
  settle,
  show,
  Waiters,
} from '../core/index.js'
import { END, type Source } from '../sync/index.js'
import { until } from './until.js'

class TakeOp<T> extends BaseOp<T | typeof END> {
  constructor(private readonly source: SyncSource<T>) {
    super()
  }
  enter(fiber: Fiber): void {
    settle(fiber, this, this.source.take())
  }
  abort(): void {}
  describe(): string {
    return 'the next item'
  }
  override get kind(): string {
    return 'item'
  }
}

/** Items of a synchronous iterable. */
export class SyncSource<T> implements Source<T> {
  private iterator: Iterator<T> | null = null
  private phase: 'new' | 'open' | 'over' = 'new'
  private op: TakeOp<T> | null = null

  constructor(private readonly items: Iterable<T>) {}

  next(): Op<T | typeof END> {
    return (this.op ??= new TakeOp(this).droppable()).handOut()
  }

  /** `next` without a switchpoint, for callers that have one of their own. */
  take(): T | typeof END {
    if (this.phase === 'over') return END
    this.phase = 'over' // also if next() throws
    this.iterator ??= this.items[Symbol.iterator]()
    const result = this.iterator.next()
    if (result.done) return END
    this.phase = 'open'
    return result.value
  }

  close(): Op<void> {
    return op('close()', () => this.closing())
  }

  private *closing(): Routine<void> {
    const isOpen = this.phase === 'open'
    this.phase = 'over'
    if (isOpen) this.iterator?.return?.()
  }
}

/** An async iterator, reduced to what AsyncSource needs. */
export interface AsyncItems<T> {
  next(): PromiseLike<IteratorResult<T>>
  /** Ends the iteration early. If it returns a promise, that is waited for. */
  leave(): unknown
}

class NextOp<T> extends IdleOp<T | typeof END> {
  constructor(private readonly source: AsyncSource<T>) {
    super()
  }
  enter(fiber: Fiber): void {
    this.source.enter(fiber, this)
  }
  abort(fiber: Fiber): void {
    this.source.abort(fiber)
  }
  describe(): string {
    return 'the next item'
  }
  override get kind(): string {
    return 'item'
  }
  override get resource(): object {
    return this.source
  }
}

/** Items of an async iterable. Fibers that share it wait in line; each item goes to the first. */
export class AsyncSource<T> implements Source<T> {
  private items: AsyncItems<T> | null = null
  private phase: 'open' | 'over' = 'open'
  private isPulling = false
  /** What came when no fiber was waiting. */
  private kept: { item: T } | { error: unknown } | null = null
  private readonly line = new Waiters()
  private op: NextOp<T> | null = null

  constructor(private readonly make: () => AsyncItems<T>) {}

  next(): Op<T | typeof END> {
    return (this.op ??= new NextOp(this).droppable()).handOut()
  }

  enter(fiber: Fiber, op: NextOp<T>): void {
    const { kept } = this
    this.kept = null
    if (kept !== null && 'error' in kept) throw kept.error
    if (kept !== null) settle(fiber, op, kept.item)
    else if (this.phase === 'over') settle(fiber, op, END)
    else {
      this.pull()
      this.line.join(fiber, undefined)
      fiber.runtime.external++
    }
  }

  abort(fiber: Fiber): void {
    this.line.leave(fiber)
    fiber.runtime.external--
  }

  private pull(): void {
    if (this.isPulling) return
    let answer: PromiseLike<IteratorResult<T>>
    try {
      this.items ??= this.make()
      answer = this.items.next()
    } catch (error) {
      this.phase = 'over'
      throw error
    }
    this.isPulling = true
    // Promise.resolve: a thenable that is not a promise may answer twice, or throw.
    Promise.resolve(answer).then(
      (result) => this.came(result),
      (error) => this.failed(error),
    )
  }

  private came(result: IteratorResult<T>): void {
    this.isPulling = false
    if (this.phase === 'over') return
    let item: T | typeof END
    try {
      item = itemOf(result)
    } catch (error) {
      this.failed(error)
      return
    }
    if (item === END) this.end()
    else if (!this.give((line) => line.handOver(item))) this.kept = { item: item as T }
    else if (this.line.size > 0) this.pullOn()
  }

  private failed(error: unknown): void {
    if (this.phase === 'over') return
    if (!this.give((line) => line.refuse(error))) this.kept = { error }
    this.end()
  }

  /** Other fibers are still in line. */
  private pullOn(): void {
    try {
      this.pull()
    } catch (error) {
      this.give((line) => line.refuse(error))
      this.end()
    }
  }

  private end(): void {
    this.phase = 'over'
    while (this.give((line) => line.handOver(END))) {}
  }

  /** Answers the first in line. False if the line is empty. */
  private give(answer: (line: Waiters) => boolean): boolean {
    const waiter = this.line.first
    if (waiter === null) return false
    ;(waiter.fiber as Fiber).runtime.external--
    return answer(this.line)
  }

  close(): Op<void> {
    return op('close()', () => this.closing())
  }

  private *closing(): Routine<void> {
    if (this.phase === 'over') return
    this.kept = null
    this.end()
    this.items ??= this.make()
    const left = this.items.leave()
    if (typeof (left as PromiseLike<unknown> | null | undefined)?.then === 'function') {
      yield* waitForReturn(left as PromiseLike<unknown>)
    }
  }
}

/** Reads the result of next(), which may be anything if the iterator is written by hand. */
function itemOf<T>(result: IteratorResult<T>): T | typeof END {
  if (typeof result !== 'object' || result === null) {
    throw new TypeError(`the next() of an async iterator gave ${show(result)}, not an object`)
  }
  return result.done ? END : result.value
}

/**
 * An async generator answers return() only after the next() before it, which may never end. So the wait is limited to the
 * grace of this fiber; then the iterator is abandoned, and a report says so.
 */
function* waitForReturn(left: PromiseLike<unknown>): Routine<void> {
  const { grace, runtime, path } = Fiber.current
  const answer = yield* moveOnAfter(grace, () => until(left), GIVEN_UP)
  if (answer !== GIVEN_UP) return
  runtime.report({
    kind: 'forced',
    message:
      `an async iterator that ${path} has left did not answer return() for ${grace} ms, so it was left behind: ` +
      'its next() may never end. What it holds is lost.',
  })
}
const GIVEN_UP = Symbol('given up')

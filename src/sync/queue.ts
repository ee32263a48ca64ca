// Queue: items between fibers. Two lines: fibers that wait for an item, and, if there is a capacity, fibers that wait
// for room. Async code waits in the line for items too (queue-iterator.ts).
//
//   pushers ->  [ items ]  -> shifters
//
//   a shifter waits  =>  there are no items       a new item goes to the first shifter at once (S36)
//   a pusher waits   =>  there is no room         a free slot is filled at once, in order (S52)

import { BaseOp, check, type Fiber, IdleOp, type Op, Ring, settle, Waiters } from '../core/index.js'
import { QueueClosed } from './errors.js'
import { queueIterator } from './queue-iterator.js'
import { END, HAS_CLOSED, type Iterates, type Source } from './source.js'

/** Options of `new Queue()`. */
export interface QueueOptions {
  /** How many items it holds before `push` waits; default Infinity. */
  capacity?: number
  /** Its name in messages; default `queue`. */
  name?: string
}

const OPTIONS = { capacity: check.limit, name: check.name }

/** What `queue.stats()` returns. */
export interface QueueStats {
  /** Items in it. */
  readonly size: number
  /** How many it holds before `push` waits. */
  readonly capacity: number
  /** Fibers and async iterators that wait for an item. */
  readonly shifting: number
  /** Fibers that wait for room. */
  readonly pushing: number
  /** Items added so far. */
  readonly pushed: number
  /** Items taken out so far, by `shift`, `tryShift`, `shiftAll` or iteration. */
  readonly shifted: number
  /** Whether it was closed. */
  readonly closed: boolean
}

/** What a waiter for an item gets when the queue is closed: END, or with undefined an error. */
type AtEnd = typeof END | undefined

class Push<T> extends BaseOp<void> {
  constructor(
    private readonly queue: Queue<T>,
    private readonly item: T,
  ) {
    super()
  }
  enter(fiber: Fiber): void {
    if (this.queue.tryPush(this.item)) settle(fiber, this, undefined)
    else this.queue.pushers.join(fiber, this.item)
  }
  abort(fiber: Fiber): void {
    this.queue.pushers.leave(fiber)
  }
  describe(): string {
    return `${this.queue.name}.push()`
  }
  override get kind(): string {
    return 'queue'
  }
  override get resource(): object {
    return this.queue
  }
}

class Shift<T> extends IdleOp<any> {
  constructor(
    private readonly queue: Queue<T>,
    private readonly atEnd: AtEnd,
  ) {
    super()
  }
  enter(fiber: Fiber): void {
    const { queue } = this
    if (queue.size > 0) settle(fiber, this, queue.tryShift())
    else if (!queue.closed) queue.shifters.join(fiber, this.atEnd)
    else if (this.atEnd === END) settle(fiber, this, END)
    else throw queue.isOver('shift from')
  }
  abort(fiber: Fiber): void {
    this.queue.shifters.leave(fiber)
  }
  describe(): string {
    return this.atEnd === END ? `the next item of ${this.queue.name}` : `${this.queue.name}.shift()`
  }
  /** An op iterated by hand (S69) got the item after the fiber had left. */
  override late(item: unknown, fiber: Fiber): void {
    super.late(item, fiber)
    if (item !== END) this.queue.unshift(item as T)
  }
  override get kind(): string {
    return 'queue'
  }
  override get resource(): object {
    return this.queue
  }
}

/**
 * Passes items from fibers to fibers, in order. With a capacity, `push` waits for room. Any number of fibers may push
 * and shift.
 *
 * ```ts
 * const queue = new Queue<string>({ capacity: 2 })
 * spin(function* () {
 *   for (const word of ['one', 'two', 'three']) yield* queue.push(word)
 *   queue.close()
 * })
 * const words = queue.iterate()
 * for (let word = yield* words.next(); word !== END; word = yield* words.next()) {
 *   console.log(word) // one, two, three
 * }
 * ```
 */
export class Queue<T> implements Iterates<T> {
  /** Its name in messages. */
  readonly name: string
  /** @internal */ readonly shifters = new Waiters<AtEnd>()
  /** @internal */ readonly pushers = new Waiters<T>()
  private items = new Ring<T>()
  private _capacity: number
  private _closed = false
  private pushed = 0
  private shifted = 0
  private readonly shiftOp: Shift<T>
  private readonly nextOp: Shift<T>

  constructor(options: QueueOptions = {}) {
    const { capacity = Infinity, name = 'queue' } = check.options(options, OPTIONS, 'new Queue()')
    this._capacity = capacity
    this.name = name
    this.shiftOp = new Shift(this, undefined).droppable()
    this.nextOp = new Shift(this, END).droppable()
  }

  // ---- in

  /**
   * Puts an item at the end. Waits while the queue is full. Throws `QueueClosed` if the queue is closed, before or during
   * the wait.
   *
   * ```ts
   * const queue = new Queue<number>({ capacity: 1 })
   * yield* queue.push(1)
   * after(10, () => queue.tryShift())
   * yield* queue.push(2) // waits for room
   * console.log(queue.size) // 1
   * ```
   */
  push(item: T): Op<void> {
    return new Push(this, item)
  }

  /** Puts an item at the end. False if the queue is full. Throws `QueueClosed` if it is closed. */
  tryPush(item: T): boolean {
    if (this._closed) throw this.isOver('push to')
    if (this.shifters.first === null) {
      if (this.items.size >= this._capacity) return false
      this.items.push(item)
    } else this.handOver(item)
    this.pushed++
    return true
  }

  /**
   * Puts an item back, before all others. Never waits: it may exceed the capacity, and works on a closed queue.
   *
   * ```ts
   * const queue = new Queue<string>()
   * yield* queue.push('second')
   * queue.unshift('first')
   * console.log(yield* queue.shift()) // first
   * ```
   */
  unshift(item: T): void {
    if (this.shifters.first === null) this.items.unshift(item)
    else this.handOver(item)
    this.pushed++
  }

  // ---- out

  /** Takes the first item; waits until there is one. Throws `QueueClosed` once the queue is closed and empty. */
  shift(): Op<T> {
    return this.shiftOp.handOut()
  }

  /** Takes the first item, or returns undefined if the queue is empty. If items may be undefined, look at `size` first. */
  tryShift(): T | undefined {
    if (this.items.size === 0) return undefined
    const item = this.items.shift()
    this.shifted++
    this.fill()
    return item
  }

  /**
   * Takes all items. Never waits.
   *
   * ```ts
   * const queue = new Queue<number>()
   * for (const n of [1, 2, 3]) queue.tryPush(n)
   * console.log(queue.shiftAll(), queue.size) // [ 1, 2, 3 ] 0
   * ```
   */
  shiftAll(): T[] {
    const { items } = this
    const all: T[] = []
    this.shifted += items.size
    while (items.size > 0) all.push(items.shift())
    this.clear()
    return all
  }

  /** Removes the first occurrence of an item. False if it is not in the queue. */
  delete(item: T): boolean {
    const isFound = this.items.delete(item)
    if (isFound) this.fill()
    return isFound
  }

  /** Removes every item. */
  clear(): void {
    this.items = new Ring()
    this.fill()
  }

  // ---- iterating

  /**
   * The items one by one, then END once the queue is closed and empty. Several fibers may iterate over a queue: each item
   * goes to one of them.
   *
   * ```ts
   * const queue = new Queue<string>()
   * queue.tryPush('only')
   * queue.close()
   * const items = queue.iterate()
   * console.log(yield* items.next()) // only
   * console.log((yield* items.next()) === END) // true
   * ```
   */
  iterate(): Source<T> {
    return {
      next: () => this.nextOp.handOut(),
      close: () => HAS_CLOSED, // others may share the queue
    }
  }

  /** For `for await` in async code. It waits in the same line as fibers, and ends when the queue is closed and empty. */
  [Symbol.asyncIterator](): AsyncIterableIterator<T> {
    return queueIterator(this)
  }

  // ---- closing

  /** Closes the queue to new items. Items in it can still be shifted; waiting pushers and shifters get `QueueClosed`. */
  close(): void {
    if (this._closed) throw this.isOver('close', 'again')
    this._closed = true
    while (this.pushers.size > 0) this.pushers.refuse(this.isOver('push to'))
    for (let first = this.shifters.first; first !== null; first = this.shifters.first) {
      if (first.item === END) this.shifters.handOver(END)
      else this.shifters.refuse(this.isOver('shift from'))
    }
  }

  /** Whether it was closed. */
  get closed(): boolean {
    return this._closed
  }

  /** Closes the queue unless it is closed. */
  [Symbol.dispose](): void {
    if (!this._closed) this.close()
  }

  // ---- looking

  /** Items in it. */
  get size(): number {
    return this.items.size
  }

  /** How many items the queue holds before `push` waits. A higher capacity admits waiting pushers; a lower one takes effect
   * as items are shifted. */
  get capacity(): number {
    return this._capacity
  }
  set capacity(capacity: number) {
    this._capacity = check.limit(capacity, 'the capacity of a queue')
    this.fill()
  }

  /** Fibers and async iterators that wait for an item. */
  get waiting(): number {
    return this.shifters.size
  }

  /** Current numbers, and totals so far. */
  stats(): QueueStats {
    const { size, capacity, pushed, shifted, closed } = this
    return {
      size,
      capacity,
      shifting: this.shifters.size,
      pushing: this.pushers.size,
      pushed,
      shifted,
      closed,
    }
  }

  /** @internal */
  isOver(verb: string, again = ''): QueueClosed {
    const rest = again === '' ? '' : `Use [Symbol.dispose](), or look at ${this.name}.closed.`
    return new QueueClosed(
      `cannot ${verb} ${this.name}${again && ` ${again}`}: it was closed${rest && `. ${rest}`}`,
    )
  }

  private handOver(item: T): void {
    this.shifted++
    this.shifters.handOver(item)
  }

  /** Admits waiting pushers, in order, while there is room. */
  private fill(): void {
    for (let first = this.pushers.first; first !== null; first = this.pushers.first) {
      if (this.items.size >= this._capacity) return
      this.items.push(first.item)
      this.pushed++
      this.pushers.handOver(undefined)
    }
  }
}

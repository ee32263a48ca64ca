// Items that wait for fibers, or fibers that wait for items; with a capacity also fibers that wait for room.
//
//   pushers ->  [ items ]  -> shifters
//
//   someone waits to shift  =>  there are no items       an item goes to the first in line at once (S36)
//   someone waits to push   =>  there is no room         a slot that comes free is filled at once, in order (S52)

import {
  BadArgument,
  BaseOp,
  checkName,
  checkOptions,
  debugging,
  type Fiber,
  type Op,
  Ring,
  settle,
  shared,
  show,
  Waiters,
} from '../core/index.js'
import { QueueClosed } from './errors.js'
import { asyncIterator } from './queueasync.js'
import { END, type Iterates, type Source } from './source.js'

/** How a queue is made. */
export interface QueueOptions {
  /** How many items it holds before `push` waits; default: as many as there come. */
  capacity?: number
  /** What messages call it; default `queue`. */
  name?: string
}

/** How a queue is doing. */
export interface QueueStats {
  /** Items in it. */
  readonly size: number
  /** How many it holds before `push` waits. */
  readonly capacity: number
  /** Those who wait for an item. */
  readonly shifting: number
  /** Fibers that wait for room. */
  readonly pushing: number
  /** Items that came in so far. */
  readonly pushed: number
  /** Items that went out so far, by `shift` and its like. */
  readonly shifted: number
  /** Whether it was closed. */
  readonly closed: boolean
}

/** Those who wait for an item hold what they get at the end: END, or an error. */
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
}

class Shift<T> extends BaseOp<any> {
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
  /** It has got an item, and was iterated by hand (S69). */
  override late(item: unknown, fiber: Fiber): void {
    super.late(item, fiber)
    if (item !== END) this.queue.unshift(item as T)
  }
}
;(Shift.prototype as { idle: boolean }).idle = true

/** Leaving early: there is nothing to let go of, since others may share the queue. */
class Left extends BaseOp<void> {
  enter(fiber: Fiber): void {
    settle(fiber, this, undefined)
  }
  abort(): void {}
  describe(): string {
    return 'leaving a queue'
  }
}

/**
 * Passes items from fibers to fibers, in order. With a capacity, `push` waits for room. Any number may push and shift.
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
  /** What messages call it. */
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
    const { capacity = Infinity, name } = checkOptions(options, ['capacity', 'name'], 'new Queue()')
    checkName(name, 'new Queue()')
    this._capacity = checkCapacity(capacity)
    this.name = name ?? 'queue'
    this.shiftOp = shared(new Shift(this, undefined))
    this.nextOp = shared(new Shift(this, END))
  }

  // ---- in

  /**
   * Puts an item at the end. Waits while the queue is full. Throws `QueueClosed` if it is closed, also into those who wait.
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
   * Puts an item back, before all others. Never waits: it may exceed the capacity, and go into a closed queue.
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
    return debugging ? new Shift(this, undefined) : this.shiftOp
  }

  /** The first item if there is one, else undefined; where items may be undefined, `size` tells which. */
  tryShift(): T | undefined {
    if (this.items.size === 0) return undefined
    const item = this.items.shift()
    this.shifted++
    this.fill()
    return item
  }

  /**
   * All items that are in it. Never waits.
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

  /** Takes out the first item that is this one. False if it is not in the queue. */
  delete(item: T): boolean {
    const isFound = this.items.delete(item)
    if (isFound) this.fill()
    return isFound
  }

  /** Drops every item that is in it. */
  clear(): void {
    this.items = new Ring()
    this.fill()
  }

  // ---- iterating

  /**
   * The items one by one, then END once the queue is closed and empty. Several fibers may share a queue: each item goes to one of them.
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
      next: () => (debugging ? new Shift(this, END) : this.nextOp),
      close: () => new Left(),
    }
  }

  /** For `for await` in async code. It stands in the same line as fibers do, and its end is the end of the queue. */
  [Symbol.asyncIterator](): AsyncIterableIterator<T> {
    return asyncIterator(this)
  }

  // ---- closing

  /** No more items. Those that are in it can still be shifted; whoever waits to push, or for an item, gets `QueueClosed`. */
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

  /** Closes it, if it is not closed yet. */
  [Symbol.dispose](): void {
    if (!this._closed) this.close()
  }

  // ---- looking

  /** Items in it. */
  get size(): number {
    return this.items.size
  }

  /** How many items it holds before `push` waits. A larger one lets those in who wait; a smaller one takes effect as items go out. */
  get capacity(): number {
    return this._capacity
  }
  set capacity(capacity: number) {
    this._capacity = checkCapacity(capacity)
    this.fill()
  }

  /** Those who wait for an item. */
  get waiting(): number {
    return this.shifters.size
  }

  /** How it is doing. */
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

  /** Lets those in who wait for room, in order, one for each free slot. */
  private fill(): void {
    for (let first = this.pushers.first; first !== null; first = this.pushers.first) {
      if (this.items.size >= this._capacity) return
      this.items.push(first.item)
      this.pushed++
      this.pushers.handOver(undefined)
    }
  }
}

function checkCapacity(capacity: unknown): number {
  if (capacity === Infinity || (Number.isInteger(capacity) && (capacity as number) > 0))
    return capacity as number
  throw new BadArgument(
    `the capacity of a queue is a whole number from 1 up, or Infinity, got ${show(capacity)}`,
  )
}

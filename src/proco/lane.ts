// One queue and its dispatcher: items that wait to be taken, in order, and those that wait for room.
//
//   line -> [ queue, at most queueSize ] -> batch
//
//   someone in the line  =>  the queue is full        room that comes free is filled at once, in order (S79)
//
// The dispatcher is not a fiber: it says when the queue may be taken from. Without an interval that is always, so a
// handler that is free takes what is there (natural batching). With one, it begins to count when the queue was last
// taken from, and the queue is due at each whole interval after that, if there is something in it.

import type { TimerNode } from '../core/index.js'
import { Batch } from './batch.js'
import type { Front } from './front.js'
import { type Future, QUEUED, RUNNING } from './future.js'
import { List } from './list.js'

export class Lane implements TimerNode {
  /** Those who wait for room. */
  readonly line = new List()
  readonly queue = new List()
  /** Items with keys are being handled: the next ones wait for their end (S80). */
  isBusy = false
  // As a timer:
  time = 0
  seq = 0
  index = -1
  /** The interval has passed, or does not count any more. */
  private isDue = false
  /** When the dispatcher began to wait. */
  private since: number
  /** One of those in the queue, and when it came: how long items wait is measured on one at a time. */
  private probe: Future<any> | null = null
  private probeTime = 0

  constructor(readonly front: Front) {
    this.since = front.runtime.now()
  }

  /** Takes the item in, or lets it wait for room. */
  admit(future: Future<any>): boolean {
    if (this.queue.size < this.front.setup.queueSize) {
      this.accept(future)
      return true
    }
    this.line.push(future)
    return false
  }

  private accept(future: Future<any>): void {
    const { front } = this
    future.phase = QUEUED
    this.queue.push(future)
    front.counts.accepted++
    if (this.probe === null) this.measure(future)
    if (front.setup.interval > 0 && this.index < 0 && !this.isDue) this.arm()
    if (!front.isAsking && this.isReady) front.wake()
  }

  private measure(future: Future<any>): void {
    this.probe = future
    this.probeTime = this.front.runtime.now()
  }

  /** Whether it may be taken from now. */
  get isReady(): boolean {
    const { size } = this.queue
    if (size === 0 || this.isBusy) return false
    return this.front.setup.interval === 0 || this.isDue || size >= this.front.flushAt
  }

  /** The next batch; only when it is ready. */
  take(): Batch<any> {
    const { front, queue } = this
    const { batch, batchSize } = front.setup
    const batchOf = batch ? this.takeSome(Math.min(queue.size, batchSize)) : this.takeOne()
    if (this.front.setup.interval > 0) this.restart()
    if (this.line.size > 0) this.refill()
    return batchOf
  }

  private takeOne(): Batch<any> {
    const future = this.queue.shift()
    const batch = new Batch(this.front, this, future.content, future, 1)
    this.hand(future, batch)
    return batch
  }

  private takeSome(count: number): Batch<any> {
    const items = new Array<unknown>(count)
    const futures = new Array<Future<any>>(count)
    const batch = new Batch(this.front, this, items, futures, count)
    for (let i = 0; i < count; i++) {
      const future = this.queue.shift()
      items[i] = future.content
      futures[i] = future
      this.hand(future, batch)
    }
    return batch
  }

  private hand(future: Future<any>, batch: Batch<any>): void {
    future.phase = RUNNING
    future.batch = batch
    if (future.extras?.isKeyed) batch.isKeyed = this.isBusy = true
    if (future === this.probe) this.measured()
  }

  private measured(): void {
    this.probe = null
    this.front.waits.record((this.front.runtime.now() - this.probeTime) * 1000)
  }

  /** Takes an item out of the queue that is not wanted any more. */
  drop(future: Future<any>): void {
    this.queue.remove(future)
    if (future === this.probe) this.probe = null
    this.refill()
    if (this.queue.size > 0) return
    this.disarm()
    this.isDue = this.front.isHurried
  }

  private refill(): void {
    const { line, queue } = this
    while (line.size > 0 && queue.size < this.front.setup.queueSize) {
      const future = line.shift()
      this.accept(future)
      future.accepted()
    }
  }

  // ---- the interval

  /** From the next whole interval since the dispatcher began to wait. */
  private arm(): void {
    const { interval } = this.front.setup
    const { runtime } = this.front
    const intervals = (runtime.now() - this.since) / interval
    const passed = Math.floor(Math.min(intervals, Number.MAX_SAFE_INTEGER)) // for ever, if it is short enough
    runtime.addTimer(this, this.since + (passed + 1) * interval)
  }

  private disarm(): void {
    if (this.index >= 0) this.front.runtime.removeTimer(this)
  }

  /** It was taken from: the next interval begins. */
  private restart(): void {
    this.disarm()
    this.since = this.front.runtime.now()
    this.isDue = this.front.isHurried
    if (this.queue.size > 0 && !this.isDue) this.arm()
  }

  /** All is over. */
  clear(): void {
    this.disarm()
    this.probe = null
  }

  /** As a timer: the interval has passed. */
  fire(): void {
    this.hurry()
  }

  /** It may be taken from without waiting for more. */
  hurry(): void {
    this.disarm()
    this.isDue = true
    if (this.isReady) this.front.wake()
  }
}

// The book of a semaphore: how many permits are out.

import type { Op, Routine, Semaphore } from 'polyphony'
import { Book, type Desk, Line } from './book.js'

export class SemaphoreBook extends Book {
  private held = 0
  private acquired = 0
  private readonly line: Line

  constructor(
    name: string,
    desk: Desk,
    private readonly semaphore: Semaphore,
  ) {
    super(name, desk)
    this.line = new Line(name, desk, () => (semaphore as any).line)
  }

  private takes(number?: number): void {
    this.held++
    this.acquired++
    if (number !== undefined) this.line.served(number)
  }
  acquire(body?: () => Op<unknown>): Op<unknown> {
    const number = this.line.joins()
    const book = this
    if (body === undefined) return this.byHand(number)
    return this.semaphore.acquire(function* () {
      book.takes(number)
      try {
        return yield* body()
      } finally {
        book.held--
      }
    })
  }
  private *byHand(number: number): Routine<void> {
    try {
      yield* this.desk.wait('op', this.semaphore.acquire())
      this.takes(number)
    } finally {
      this.line.left()
    }
  }
  tryAcquire(): boolean {
    const isAcquired = this.semaphore.tryAcquire()
    if (isAcquired) this.takes()
    else
      this.expect(this.semaphore.inUse >= this.semaphore.limit, 'S36', 'tryAcquire() refused a free permit')
    return isAcquired
  }
  release(): void {
    this.held--
    this.semaphore.release()
  }
  set limit(limit: number) {
    this.semaphore.limit = limit
  }

  quiet(): void {
    const { limit, inUse, available, waiting, acquired } = this.semaphore.stats()
    this.expect(inUse === this.held, 'S34', `${inUse} permits are out, ${this.held} are held`)
    this.expect(waiting === 0 || inUse >= limit, 'S36', `${waiting} wait for a free permit`)
    this.expect(
      available === Math.max(0, limit - inUse) && acquired === this.acquired,
      'stats',
      `${acquired} acquired`,
    )
  }
  end(): void {
    this.quiet()
    this.expect(this.semaphore.inUse === 0 && this.semaphore.waiting === 0, 'S01', 'permits are still out')
  }
}

// The book of a condition: signals that have still to be heard. With a mutex, who was woken has it back.

import { type Condition, Fiber, type Routine } from 'polyphony'
import { Book, type Desk } from './book.js'
import type { MutexBook } from './mutex.js'

export class ConditionBook extends Book {
  /** How many have still to hear a signal. */
  private readonly due = new Map<string, number>()
  /** Waits that ended without a signal: a wake-up may have gone with them. */
  private disturbed = 0

  constructor(
    name: string,
    desk: Desk,
    private readonly condition: Condition<string>,
    private readonly mutex?: MutexBook,
  ) {
    super(name, desk)
  }

  *wait(): Routine<string> {
    const depth = this.mutex?.gives() ?? 0
    const locks = this.mutex?.inner.stats().locked
    let isWoken = false
    try {
      const value = yield* this.desk.wait('op', this.condition.wait())
      isWoken = true
      const left = this.due.get(value) ?? 0
      this.expect(left > 0, 'S34', `${value} was heard once too often`)
      this.due.set(value, left - 1)
      return value
    } finally {
      if (!isWoken) this.disturbed++
      if (this.mutex?.inner.isHeld) this.mutex.takes(depth, this.mutex.inner.stats().locked !== locks)
      else if (this.mutex)
        this.expect(
          this.desk.reports().some(({ message }) => message.startsWith(`${Fiber.current.path} had to leave`)),
          'S36',
          `${Fiber.current.name} goes on without its lock`,
        )
    }
  }
  signal(value: string): boolean {
    const { waiting } = this.condition
    const isHeard = this.condition.signal(value)
    this.expect(isHeard === waiting > 0, 'S36', `a signal was ${isHeard ? '' : 'not '}heard by ${waiting}`)
    if (isHeard) this.due.set(value, 1)
    return isHeard
  }
  broadcast(value: string): number {
    const count = this.condition.broadcast(value)
    this.due.set(value, count)
    return count
  }

  quiet(): void {
    if (this.mutex) return // those who were woken may have to wait for it
    for (const [value, left] of this.due) this.expect(left === 0, 'S34', `${left} have not heard ${value}`)
    this.due.clear()
  }
  end(): void {
    let lost = 0
    for (const left of this.due.values()) lost += left
    this.expect(lost <= (this.mutex ? this.disturbed : 0), 'S34', `${lost} signals were lost`)
    this.expect(this.condition.waiting === 0, 'S01', 'somebody still waits')
  }
}

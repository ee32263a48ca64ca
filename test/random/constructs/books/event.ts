// The book of an event: who has still to hear of it, and whether it is kept for the next.

import type { Event, Routine } from 'polyphony'
import { Book, type Desk } from './book.js'

export class EventBook extends Book {
  private readonly due = new Map<string, number>()
  private kept: string | undefined

  constructor(
    name: string,
    desk: Desk,
    private readonly event: Event<string>,
    private readonly isLatch: boolean,
  ) {
    super(name, desk)
  }

  *await(): Routine<string> {
    const value = yield* this.desk.wait('op', this.event.await())
    const left = this.due.get(value) ?? 0
    if (left > 0) this.due.set(value, left - 1)
    else {
      this.expect(value === this.kept, 'S34', `${value} was heard once too often`)
      if (!this.isLatch) this.kept = undefined
    }
    return value
  }
  signal(value: string): void {
    const { waiting } = this.event
    this.due.set(value, waiting)
    if (this.isLatch || waiting === 0) this.kept = value
    this.event.signal(value)
  }
  reset(): void {
    this.kept = undefined
    this.event.reset()
  }

  quiet(): void {
    const { isSignaled, waiting } = this.event.stats()
    this.expect(waiting === 0 || !isSignaled, 'S36', `${waiting} wait for what has happened`)
    this.expect(
      isSignaled === (this.kept !== undefined),
      'S34',
      `${this.kept} was ${isSignaled ? 'not ' : ''}taken`,
    )
    for (const [value, left] of this.due) this.expect(left === 0, 'S34', `${left} have not heard ${value}`)
    this.due.clear()
  }
  end(): void {
    this.quiet()
    this.expect(this.event.waiting === 0, 'S01', 'somebody still waits')
  }
}

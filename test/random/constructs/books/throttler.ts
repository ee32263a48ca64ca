// The book of a throttler: when somebody went through.

import type { Routine, Throttler } from 'polyphony'
import { Book, type Desk, Line } from './book.js'

export class ThrottlerBook extends Book {
  private readonly times: number[] = []
  private readonly line: Line

  constructor(
    name: string,
    desk: Desk,
    private readonly throttler: Throttler,
  ) {
    super(name, desk)
    this.line = new Line(name, desk, () => (throttler as any).line)
  }

  private passes(): void {
    const { times, throttler } = this
    const now = this.desk.now()
    const earlier = times.at(-throttler.burst)
    this.expect(
      earlier === undefined || now - earlier >= throttler.interval - 1e-9,
      'S52',
      `too fast: ${times}, ${now}`,
    )
    times.push(now)
  }
  *wait(): Routine<void> {
    const number = this.line.joins()
    try {
      yield* this.desk.wait('op', this.throttler.wait())
      this.passes()
      this.line.served(number)
    } finally {
      this.line.left()
    }
  }
  tryWait(): boolean {
    const isThrough = this.throttler.tryWait()
    if (isThrough) this.passes()
    return isThrough
  }

  quiet(): void {
    const { waiting, passed } = this.throttler.stats()
    const { alarm } = this.throttler as any
    this.expect(
      passed === this.times.length,
      'S34',
      `${passed} went through, ${this.times.length} know of it`,
    )
    this.expect(waiting === 0 || alarm.index >= 0, 'S36', `${waiting} wait, and nobody will call them`)
  }
  end(): void {
    this.quiet()
    this.expect(this.throttler.waiting === 0, 'S01', 'somebody still waits')
  }
}

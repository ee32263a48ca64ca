// The book of a mutex: who holds it, and how often.

import { Fiber, type Mutex, type Op, type Routine } from 'polyphony'
import { Book, type Desk, Line } from './book.js'

export class MutexBook extends Book {
  private owner: { fiber: Fiber; incarnation: number; depth: number } | null = null
  private locked = 0
  private readonly line: Line
  readonly inner: Mutex

  constructor(name: string, desk: Desk, mutex: Mutex) {
    super(name, desk)
    this.inner = mutex
    this.line = new Line(name, desk, () => (mutex as any).line)
  }

  private get holder(): Fiber | null {
    const { owner } = this
    if (owner === null || owner.fiber.incarnation !== owner.incarnation || !(owner.fiber as any).willRun)
      return null
    return owner.fiber
  }
  /** The current fiber has locked it, so many times more. */
  takes(depth = 1, isNew = true): void {
    const fiber = Fiber.current
    const { holder } = this
    this.expect(holder === null || holder === fiber, 'S34', `${fiber.name} and ${holder?.name} hold it`)
    this.expect(this.inner.isHeld, 'S34', `${fiber.name} has locked it and does not hold it`)
    if (holder === fiber && this.owner) this.owner.depth += depth
    else {
      this.owner = { fiber, incarnation: fiber.incarnation, depth }
      if (isNew) this.locked++ // the wait of a condition may have been cut before it gave the lock up
    }
  }
  /** Undoes locks of the current fiber, all of them unless told otherwise; gives how many. */
  gives(depth?: number): number {
    if (this.holder !== Fiber.current || this.owner === null) return 0
    const given = depth ?? this.owner.depth
    this.owner.depth -= given
    if (this.owner.depth === 0) this.owner = null
    return given
  }
  *lock(): Routine<void> {
    const number = this.line.joins(this.inner.isHeld)
    try {
      yield* this.desk.wait('op', this.inner.lock())
      this.takes()
      this.line.served(number)
    } finally {
      this.line.left()
    }
  }
  tryLock(): boolean {
    const isLocked = this.inner.tryLock()
    if (isLocked) this.takes()
    else
      this.expect(
        this.inner.holder !== null && this.inner.holder !== Fiber.current,
        'S36',
        'tryLock() refused a free lock',
      )
    return isLocked
  }
  unlock(): void {
    this.gives(1)
    this.inner.unlock()
  }
  synchronize(body: () => Op<unknown>): Op<unknown> {
    const number = this.line.joins(this.inner.isHeld)
    const book = this
    return this.inner.synchronize(function* () {
      book.takes()
      book.line.served(number)
      try {
        return yield* body()
      } finally {
        book.gives(1)
      }
    })
  }

  quiet(): void {
    const { isLocked, depth, waiting, locked } = this.inner.stats()
    const { holder } = this
    this.expect(
      isLocked === (holder !== null),
      'S34',
      `${holder?.name} should hold it, ${this.inner.holder?.name} does`,
    )
    this.expect(depth === (holder === null ? 0 : this.owner?.depth), 'stats', `locked ${depth} times`)
    this.expect(waiting === 0 || isLocked, 'S36', `${waiting} wait for a free lock`)
    this.expect(locked === this.locked, 'stats', `${locked} locks, not ${this.locked}`)
  }
  end(): void {
    this.quiet()
    this.expect(!this.inner.isLocked && this.inner.waiting === 0, 'S01', 'it is still locked')
  }
}

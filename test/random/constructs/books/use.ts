// The book of `use`: what was taken is let go once, the newest first.

import { Fiber, type Op, use } from 'polyphony'
import { innermostOwner } from '#core/tree'
import { Book, type Desk } from './book.js'

interface Used {
  fiber: Fiber
  owner: unknown
  state: 'kept' | 'let go'
}

/** What was taken by `use`. */
export class UseBook extends Book {
  private readonly used: Used[] = []

  constructor(
    desk: Desk,
    private readonly error: () => Error,
    private readonly cleanup: (body: () => Op<unknown>) => Op<void>,
  ) {
    super('use', desk)
  }

  take(name: string, ms: number, fails: boolean, sleep: (ms: number) => Op<unknown>): Op<string> {
    const book = this
    const fiber = Fiber.current
    const entry: Used = { fiber, owner: innermostOwner(fiber), state: 'kept' }
    this.used.push(entry)
    return this.desk.wait(
      'op',
      use(name, () =>
        this.cleanup(function* () {
          book.letsGo(entry, name)
          yield* sleep(ms)
          if (fails) throw book.error()
        }),
      ),
    )
  }
  private letsGo(entry: Used, name: string): void {
    this.expect(entry.state === 'kept', 'S60', `${name} was let go twice`)
    this.expect(Fiber.current === entry.fiber, 'S60', `${name} was let go by ${Fiber.current.name}`)
    entry.state = 'let go'
    const newer = this.used.slice(this.used.indexOf(entry) + 1)
    this.expect(
      !newer.some(({ owner, state }) => owner === entry.owner && state === 'kept'),
      'S60',
      `${name} was let go before a newer one`,
    )
    if (entry.owner === entry.fiber)
      this.expect(entry.fiber.children.length === 0, 'S60', `${name} was let go before the children`)
  }

  quiet(): void {}
  end(): void {
    for (const { fiber, state } of this.used) {
      this.expect(
        state === 'let go' || this.desk.watch.wasForced(fiber),
        'S60',
        `${fiber.name} has not let go`,
      )
    }
  }
}

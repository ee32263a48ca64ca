// What the books of all constructs have in common. A book keeps what its construct was given and what it gave, and says
// which rule is broken when the two do not fit.

import { Fiber, type Op, type Routine } from 'polyphony'
import type { Kind, Watch } from '../../invariants.js'

export type Wait = <T>(kind: Kind, op: Op<T>, ms?: number) => Routine<T>

/** What every book needs. */
export interface Desk {
  watch: Watch
  wait: Wait
  now: () => number
  reports: () => { message: string }[]
}

/** Whose turn it is: those who came first. Fibers that a construct moves by itself have no number. */
export class Line {
  private static count = 0
  private readonly numbers = new Map<Fiber, number>()

  constructor(
    private readonly name: string,
    private readonly desk: Desk,
    private readonly places: () => Iterable<{ fiber: Fiber | null }>,
  ) {}

  /** Gives a number, which is lower than all others for one who is in already and need not wait. */
  joins(isIn = false): number {
    if (isIn) return 0
    const number = ++Line.count
    this.numbers.set(Fiber.current, number)
    return number
  }
  /** The current fiber has got what it waited for. */
  served(number: number): void {
    for (const { fiber } of this.places()) {
      const other = this.numbers.get(fiber as Fiber)
      if (other !== undefined && other < number) {
        this.desk.watch.break('S52', `${Fiber.current.name} was served before ${fiber?.name} by ${this.name}`)
      }
    }
    this.left()
  }
  left(): void {
    this.numbers.delete(Fiber.current)
  }
}

export abstract class Book {
  constructor(
    protected readonly name: string,
    protected readonly desk: Desk,
  ) {}
  /** Nobody can run: everything that was given has arrived. */
  abstract quiet(): void
  /** All fibers are over. */
  abstract end(): void

  protected expect(is: boolean, rule: string, what: string): void {
    if (!is) this.desk.watch.break(rule, `${this.name}: ${what}`)
  }
}

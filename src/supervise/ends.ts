// The ends of children that are not dealt with yet, in order. Whatever cuts the supervisor short, it finds their errors
// here, so that none is lost (S22).

import { type Fiber, type Outcome, Ring } from '../core/index.js'
import { release } from './held.js'

/** A child has ended; it may have been restarted since. */
export interface End {
  readonly fiber: Fiber
  readonly incarnation: number
  readonly outcome: Outcome<unknown>
}

export class Ends {
  private readonly queue = new Ring<End>()
  /** Those whose children are down for a restart of their group. */
  private readonly group = new Ring<End>()
  /** The one that is being dealt with. */
  private inHand: End | null = null

  get size(): number {
    return this.queue.size
  }
  get groupSize(): number {
    return this.group.size
  }

  add(fiber: Fiber): void {
    const { incarnation } = fiber
    this.queue.push({ fiber, incarnation, outcome: fiber.outcome as Outcome<unknown> })
  }

  /** The next is in hand from now on, until `done`. */
  next(isOfGroup: boolean): End {
    const end = (isOfGroup ? this.group : this.queue).shift()
    this.inHand = end
    return end
  }

  /** Something was decided about the one in hand: its error has been received. */
  done(): void {
    this.inHand = null
  }

  /** Whose ends wait here. */
  fibers(): Fiber[] {
    return this.rotate(() => this.queue)
  }

  /** The ends of a group that is down belong to its restart: they are dealt with apart from the others. */
  setApart(group: ReadonlySet<Fiber>): void {
    this.rotate((fiber) => (group.has(fiber) ? this.group : this.queue))
  }

  private rotate(target: (fiber: Fiber) => Ring<End>): Fiber[] {
    const fibers: Fiber[] = []
    for (let n = this.queue.size; n > 0; n--) {
      const end = this.queue.shift()
      fibers.push(end.fiber)
      target(end.fiber).push(end)
    }
    return fibers
  }

  /** The errors of all that nothing was decided about. Asked for once, at the end. */
  *unhandled(): Generator<unknown> {
    const ends = this.inHand === null ? [] : [this.inHand]
    while (this.group.size > 0) ends.push(this.group.shift())
    while (this.queue.size > 0) ends.push(this.queue.shift())
    for (const { outcome, fiber } of ends) {
      release(fiber)
      if (outcome.type === 'error') yield outcome.error
    }
  }
}

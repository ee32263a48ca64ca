// A line of fibers that wait at a stream or a server, each with its op: a fiber that was forced out of an op that ends later
// may be in another one by then (S35). A wait for the outside holds the process (S64).

import { type BaseOp, type Fiber, fail, settle, type Waiter, Waiters } from '../../core/index.js'

export class OutsideWaiters<O extends BaseOp<any>> extends Waiters<O> {
  constructor(private readonly isOutside: boolean) {
    super()
  }

  override add(place: Waiter<O>): void {
    super.add(place)
    if (!this.isOutside) return
    const { runtime } = place.fiber as Fiber
    runtime.hold()
    runtime.external++
  }

  /** Takes a waiter out of the line, whether it leaves or is answered. */
  override remove(place: Waiter<O>): void {
    super.remove(place)
    if (!this.isOutside) return
    const { runtime } = place.fiber as Fiber
    runtime.external--
    runtime.release()
  }

  /** Answers all with a value. */
  settleAll(value: unknown): void {
    for (let place = this.first; place !== null; place = this.first) this.answer(place, value)
  }

  /** Answers one with a value. */
  answer(place: Waiter<O>, value: unknown): void {
    const { item } = place
    this.remove(place)
    settle(place.fiber as Fiber, item, value)
  }

  /** Answers all with an error of their own. */
  refuseAll(why: (what: string) => Error): void {
    for (let place = this.first; place !== null; place = this.first) {
      const error = why(place.item.describe())
      this.remove(place)
      fail(place.fiber as Fiber, place.item, error)
    }
  }
}

// Those who wait at a stream, in the order they came, each with its op: a fiber that was forced out of an op that ends
// later may be in another one by then (S35). Who waits for the outside holds the process (S64).

import { type BaseOp, type Fiber, fail, settle, type Waiter, Waiters } from '../core/index.js'

/** An op with a mark: it goes on when so much of all that was ever written has been sent. */
type Marked = BaseOp<any> & { readonly mark?: number }

export class Line<O extends Marked> extends Waiters<O> {
  constructor(private readonly isOutside: boolean) {
    super()
  }

  override join(fiber: Fiber, op: O): Waiter<O> {
    if (this.isOutside) {
      fiber.runtime.hold()
      fiber.runtime.external++
    }
    return super.join(fiber, op)
  }

  /** Out of the line, whether to leave or to be answered. */
  override remove(place: Waiter<O>): void {
    super.remove(place)
    if (!this.isOutside) return
    const { runtime } = place.fiber as Fiber
    runtime.external--
    runtime.release()
  }

  /** Everybody goes on, up to those who wait for more to be sent. */
  release(upTo = Infinity): void {
    for (let place = this.first; place !== null; place = this.first) {
      if ((place.item.mark ?? 0) > upTo) return
      this.remove(place)
      settle(place.fiber as Fiber, place.item, undefined)
    }
  }

  /** Everybody hears why not, in an error of their own. */
  refuseAll(why: (what: string) => Error): void {
    for (let place = this.first; place !== null; place = this.first) {
      const error = why(place.item.describe())
      this.remove(place)
      fail(place.fiber as Fiber, place.item, error)
    }
  }
}

// Running a body with a lock or a permit: mutex.synchronize(body), semaphore.acquire(body).

import { type BaseOp, baton, debugging, notInFiber, opEntered, type Switchpoint } from '../core/index.js'
import { Hold } from './hold.js'

/** What can be held while a body runs. */
export interface Holdable {
  /** Waits for it. A shared op: it has no state of its own. */
  readonly taking: BaseOp<void>
  /** Called in the fiber that holds it. */
  giveBack(): void
  /** The call, for messages: `mutex.synchronize()`. Made once, since making text costs as much as locking. */
  readonly where: string
}

export class Holding<T> extends Hold<T> {
  constructor(
    private readonly what: Holdable,
    body: () => unknown,
  ) {
    super(body, what.where)
  }

  describe(): string {
    return this.what.where
  }

  protected override enter(): IteratorResult<Switchpoint, any> {
    const fiber = baton.fiber
    if (fiber === null) throw notInFiber(this.what.where)
    if (this.comer === null) {
      if (debugging) opEntered(this)
      this.comer = fiber
    }
    let taken: IteratorResult<Switchpoint, void>
    try {
      taken = this.what.taking.next()
    } catch (error) {
      this.comer = null
      throw error
    }
    if (!taken.done) return taken
    this.attach(fiber)
    return this.start(undefined)
  }

  protected failEntry(error: unknown): IteratorResult<Switchpoint, any> {
    this.comer = null
    return this.what.taking.throw(error)
  }

  protected endEntry(value: unknown): IteratorResult<Switchpoint, any> {
    this.comer = null
    return this.what.taking.return(value)
  }

  protected letGo(): void {
    this.what.giveBack()
  }
}

// What a fiber is made of, and what the core does with it as a region (S65). The public face is in fiber.ts.
// All fields are set in the constructor, in one shape; what few fibers need is in `cold`.

import { Cold } from './cold.js'
import { debugging, rememberSpin } from './debug.js'
import type { Fiber } from './fiber.js'
import { OPEN } from './gate.js'
import type { BaseOp } from './op.js'
import { checkGrace } from './options.js'
import { CLOSING, FORCED_YIELDS, GRACE, NONE, RUNNABLE } from './phase.js'
import { Region } from './region.js'
import type { Ring } from './ring.js'
import type { Runtime } from './runtime.js'
import { Deadline } from './stop.js'
import type { Observer, Owner } from './tree.js'

let lastId = 0

export abstract class FiberRecord extends Region {
  /** A number that no other fiber of this process has. */
  readonly id = ++lastId
  /** @internal */ _grace = GRACE
  /** @internal */ _state = RUNNABLE
  /** @internal What `value` means. */ how = NONE
  /** @internal Ops that may still finish at once; below 0 the next op goes through the gate (S09). */ budget: number
  /** @internal */ generator: Iterator<unknown> | null = null
  /** @internal The op it waits in: `fiber.op === op` decides whether an answer is wanted. */
  op: BaseOp<any> | null = null
  /** @internal The answer of the op while alive, the result afterwards. */ value: unknown = undefined
  /** @internal The innermost region that it is in: itself, if that is no block. */ innermost: Region = this
  /** @internal To be thrown at the next switchpoints, in order of arrival (S26). */
  errors: Ring<{ error: unknown; fromChild: boolean }> | null = null
  /** @internal */ owner: Owner | null = null
  /** @internal The next in the run queue. */ behind: Fiber | null = null
  /** @internal */ older: Fiber<any, any> | null = null
  /** @internal */ newer: Fiber<any, any> | null = null
  /** @internal */ lastObserver: Observer | null = null
  /** @internal */ _mailbox: Ring<unknown> | null = null
  /** @internal Never changed in place: a writer makes a new map, so sharing is free (S56). */
  locals: ReadonlyMap<object, unknown> | null = null
  /** @internal */ cold: Cold | null = null
  /** @internal */ givenName: string | undefined = undefined

  constructor(
    /** @internal */ readonly body: (...args: any[]) => unknown,
    /** @internal */ public args: readonly unknown[],
    /** @internal */ readonly runtime: Runtime,
    parent: FiberRecord | null,
  ) {
    super()
    this.budget = runtime.freshBudget
    if (parent !== null) {
      this._grace = parent._grace
      this.locals = parent.locals
    }
    if (debugging) rememberSpin(this.fiber)
  }

  /** How long cleanup may wait when it is stopped, in milliseconds (S18). Children start with their parent's. */
  get grace(): number {
    return this._grace
  }
  set grace(grace: number) {
    checkGrace(grace, 'a fiber')
    this._grace = grace
  }

  /** @internal Every region has its fiber; a fiber's is itself. */
  get fiber(): Fiber {
    return this as unknown as Fiber
  }
  /** @internal */
  get outer(): null {
    return null
  }
  /** @internal */
  get wall(): number {
    return OPEN
  }
  /** @internal */
  get isOwner(): boolean {
    return true
  }
  /** @internal */
  get isTimed(): boolean {
    return false
  }
  /** @internal Every owner has its host; a scope's is the fiber that runs it, or ran it. */
  get host(): Fiber {
    return this as unknown as Fiber
  }
  /** @internal Whether children may still be added. */
  get isOpen(): boolean {
    return this._phase < CLOSING
  }
  /** @internal Whether code of its own will run in it: its body, or what `use` has left to be done. */
  get willRun(): boolean {
    return this.isOpen || (this.cold !== null && (this.cold.cleanups !== null || this.cold.cleaning !== null))
  }
  /** @internal */
  get isUnstarted(): boolean {
    return this.generator === null && this.op === null && this._phase < CLOSING
  }
  /** @internal */
  get isIsolated(): boolean {
    return this.cold?.isolated === true
  }
  /** @internal */
  get isAbandoned(): boolean {
    return this.cold !== null && this.cold.forcedYields > FORCED_YIELDS
  }
  /** @internal */
  coldRecord(): Cold {
    if (this.cold === null) this.cold = new Cold()
    return this.cold
  }

  /** @internal */
  swallowed(): number {
    return ++this.coldRecord().swallows
  }
  /** @internal When cleanup has to be over. Of a fiber that nobody has stopped: if it were stopped now. */
  get deadline(): number {
    const stop = this.stopSignal
    if (stop === null) return this.runtime.now() + this.grace
    return Math.min(stop.deadlineFor(this), this.cold?.tight ?? Infinity)
  }
  /** @internal The latest time for children that are stopped now. */
  childDeadline(): number {
    return this.deadline
  }
  private get hasChildren(): boolean {
    for (let region: Region | null = this.innermost; region !== null; region = region.outer) {
      if (region.newest !== null) return true
    }
    return false
  }
  /** @internal Starts counting. A body that still has children may use half of what is left (S18). */
  armDeadline(): void {
    const cold = this.coldRecord()
    if (cold.deadline === null) cold.deadline = new Deadline(this.fiber)
    const now = this.runtime.now()
    const whole = this.deadline
    const time = this.hasChildren ? now + Math.max(0, whole - now) / 2 : whole
    if (time >= cold.deadline.forceAt) return
    cold.deadline.forceAt = time
    cold.deadline.arm()
  }
}

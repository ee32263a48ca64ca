// How the resources of a pool are created, checked and destroyed: by bodies, or by functions that return promises.

import {
  ensure,
  Fiber,
  moveOnAfter,
  type Routine,
  type Runtime,
  runReturned,
  spin,
  spinRoot,
} from '../core/index.js'
import { type Answer, Arrival, isPromise, runEither } from './arrival.js'
import { CHECKING, EMPTY, type Slot, type Stock, USED } from './stock.js'

/** What `prepare` returns when the resource is ready; a forced end returns nothing. */
export const READY = Symbol('ready')
const LATE = Symbol('late')

export class Upkeep<R> {
  constructor(
    private readonly make: (signal: AbortSignal) => Answer<R>,
    private readonly end: ((resource: R) => Answer<unknown>) | undefined,
    private readonly check: ((resource: R) => Answer<unknown>) | undefined,
  ) {}

  /** Whether the resource in this slot can be handed out as it is. */
  isReady(slot: Slot<R>): boolean {
    return slot.phase === USED && this.check === undefined
  }

  /** Makes a slot ready in the fiber that holds it, for as long as that is patient. */
  *prepare(stock: Stock<R>, slot: Slot<R>): Routine<typeof READY> {
    if (stock.acquireTimeout === Infinity) yield* this.fill(stock, slot)
    else {
      const ms = Math.max(0, stock.acquireTimeout - slot.waited)
      const ended = yield* moveOnAfter(ms, () => this.fill(stock, slot), LATE)
      if (ended === LATE) throw stock.timedOut(Fiber.current, stock.acquireTimeout)
    }
    return READY
  }

  private *fill(stock: Stock<R>, slot: Slot<R>): Routine<void> {
    if (slot.phase === USED && !(yield* this.isGood(slot))) {
      const burial = stock.bury(slot)
      if (burial !== undefined) yield* burial.join()
    }
    if (slot.phase === EMPTY) yield* this.create(stock, slot)
  }

  /** Left in the middle, the slot stays empty; what comes late is adopted by the pool. */
  private *create(stock: Stock<R>, slot: Slot<R>): Routine<void> {
    const controller = new AbortController()
    try {
      const returned = this.make(controller.signal)
      stock.filled(slot, yield* runEither(returned, this.make, (late) => stock.adopt(late)))
    } finally {
      if (slot.phase === EMPTY) controller.abort(Fiber.current.stopReason)
    }
  }

  /** A check that is left in the middle leaves the resource in an unknown state: it stays `checking`, and is destroyed. */
  private *isGood(slot: Slot<R>): Routine<boolean> {
    const { check } = this
    if (check === undefined) return true
    slot.phase = CHECKING
    const isGood = yield* approves(check, slot.resource as R)
    if (!isGood || slot.phase !== CHECKING) return false // discarded meanwhile
    slot.phase = USED
    return true
  }

  /** Runs outside the tree, because who gives a resource back may have no time left (S19). Gives the fiber, if it takes one. */
  destroy(stock: Stock<R>, slot: Slot<R>): Fiber | undefined {
    const { end } = this
    if (end === undefined) {
      stock.buried(slot)
      return undefined
    }
    const runtime = stock.runtime as Runtime
    const body = () => this.burial(stock, slot, end)
    return spinRoot(runtime, body, { name: `destroy, ${stock.label}`, outOfBand: true })
  }

  /** Nobody stops it, but like all cleanup it has its grace (S18). */
  private *burial(stock: Stock<R>, slot: Slot<R>, end: (resource: R) => Answer<unknown>): Routine<void> {
    const { runtime, grace } = Fiber.current
    const what = `destroying a resource of ${stock.label}`
    try {
      const ended = yield* moveOnAfter(grace, () => runEither(end(slot.resource as R), end), LATE)
      if (ended === LATE) runtime.report({ kind: 'forced', message: `${what} took longer than ${grace} ms` })
    } catch (error) {
      runtime.uncaught(error, `${what} failed`)
    } finally {
      stock.buried(slot)
    }
  }
}

/** Whether a check does not return false, and does not fail. What is raised in this fiber meanwhile is no failure of the check. */
function* approves<R>(check: (resource: R) => Answer<unknown>, resource: R): Routine<boolean> {
  let answer: Answer<unknown>
  try {
    answer = check(resource)
  } catch {
    return false
  }
  if (isPromise(answer)) {
    const verdict = Promise.resolve(answer).then(
      (value) => value !== false,
      () => false,
    )
    return yield* new Arrival(verdict)
  }
  if (typeof answer !== 'object' || answer === null) return answer !== false
  const checking = spin({ name: 'validate', link: false }, () => runReturned(answer, check))
  const outcome = yield* ensure(
    () => checking.join(),
    () => checking.stop(),
  )
  return outcome.type === 'value' && outcome.value !== false
}

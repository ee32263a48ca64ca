// How the resources of a pool are created, checked and destroyed: by bodies, or by functions that return promises.

import {
  ensure,
  Fiber,
  HOLD,
  moveOnAfter,
  type Routine,
  type Runtime,
  runReturned,
  snooze,
  spin,
  spinRoot,
  Wall,
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
    const name = `destroy, ${stock.label}`
    const body = () => burial(end, slot.resource as R, stock.label)
    const fiber = spinRoot(stock.runtime as Runtime, body, { name, outOfBand: true })
    const cold = fiber.coldRecord()
    cold.atEnd = new Set(cold.atEnd).add(() => stock.buried(slot)) // however it ends
    return fiber
  }
}

/** Always whole (S16b), but like all cleanup it has its grace (S18). */
function* burial<R>(end: (resource: R) => Answer<unknown>, resource: R, label: string): Routine<void> {
  const { runtime, grace } = Fiber.current
  const what = `destroying a resource of ${label}`
  try {
    const returned = end(resource)
    if (typeof returned !== 'object' || returned === null) return
    const patiently = () => moveOnAfter(grace, () => runEither(returned, end), LATE)
    if ((yield* new Wall(patiently, HOLD, 'destroy')) === LATE) {
      runtime.report({ kind: 'forced', message: `${what} took longer than ${grace} ms, and was cut short` })
    }
  } catch (error) {
    runtime.uncaught(error, `${what} failed`)
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
  if (Fiber.current.phase === 'forced') yield* snooze() // nothing can be waited for any more: it is refused (S19)
  const checking = spin({ name: 'validate', link: false }, () => runReturned(answer, check))
  const outcome = yield* ensure(
    () => checking.join(),
    () => checking.stop(),
  )
  return outcome.type === 'value' && outcome.value !== false
}

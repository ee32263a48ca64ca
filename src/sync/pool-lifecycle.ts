// Runs the `create`, `validate` and `destroy` of a pool, which are bodies or functions that return promises. It decides
// nothing about lines and slots: that is pool-state.ts.

import {
  disown,
  ensure,
  Fiber,
  moveOnAfter,
  onEnd,
  type Routine,
  type Runtime,
  runReturned,
  snooze,
  spin,
  spinRoot,
} from '../core/index.js'
import type { PoolState, Slot } from './pool-state.js'
import { type Answer, isPromise, PromiseOp, runBodyOrPromise } from './promise-op.js'

/** What `prepare` returns when the resource is ready. A forced end returns undefined. */
export const READY = Symbol('ready')
const LATE = Symbol('late')

export class PoolLifecycle<R> {
  constructor(
    private readonly make: (signal: AbortSignal) => Answer<R>,
    private readonly end: ((resource: R) => Answer<unknown>) | undefined,
    private readonly check: ((resource: R) => Answer<unknown>) | undefined,
  ) {}

  /** Whether the slot has a resource that needs no check. */
  isReady(slot: Slot<R>): boolean {
    return slot.phase === 'used' && this.check === undefined
  }

  /** Creates or checks the resource, in the fiber that holds the slot and within its `acquireTimeout`. */
  *prepare(pool: PoolState<R>, slot: Slot<R>): Routine<typeof READY> {
    if (pool.acquireTimeout === Infinity) yield* this.fill(pool, slot)
    else {
      const ms = Math.max(0, pool.acquireTimeout - slot.waited)
      const ended = yield* moveOnAfter(ms, () => this.fill(pool, slot), LATE)
      if (ended === LATE) throw pool.timedOut(Fiber.current, pool.acquireTimeout)
    }
    return READY
  }

  private *fill(pool: PoolState<R>, slot: Slot<R>): Routine<void> {
    if (slot.phase === 'used' && !(yield* this.isGood(slot))) {
      const destroying = pool.destroy(slot)
      if (destroying !== undefined) yield* destroying.join()
    }
    if (slot.phase === 'empty') yield* this.create(pool, slot)
  }

  /** If the fiber leaves before `create` is done, the slot stays empty and the pool adopts the late resource. */
  private *create(pool: PoolState<R>, slot: Slot<R>): Routine<void> {
    const controller = new AbortController()
    try {
      const returned = this.make(controller.signal)
      const resource = yield* runBodyOrPromise(returned, this.make, (late) => pool.adoptLate(late))
      disown(Fiber.current, resource) // a connection belongs to the pool, not to the fiber that needed it first
      pool.filled(slot, resource)
    } finally {
      if (slot.phase === 'empty') controller.abort(Fiber.current.stopReason)
    }
  }

  /** If the fiber leaves during the check, the resource is in an unknown state: it stays `checking` and is destroyed. */
  private *isGood(slot: Slot<R>): Routine<boolean> {
    const { check } = this
    if (check === undefined) return true
    slot.phase = 'checking'
    const isGood = yield* passesCheck(check, slot.resource as R)
    if (!isGood || slot.phase !== 'checking') return false // discarded meanwhile
    slot.phase = 'used'
    return true
  }

  /** `destroy` runs in a root fiber, since the releasing fiber may be forced and unable to wait (S19). Returns that fiber. */
  destroy(pool: PoolState<R>, slot: Slot<R>): Fiber | undefined {
    const { end } = this
    if (end === undefined) {
      pool.afterDestroy(slot)
      return undefined
    }
    const name = `destroy, ${pool.label}`
    const body = () => runDestroy(end, slot.resource as R, pool.label)
    const fiber = spinRoot(pool.runtime as Runtime, body, { name, outOfBand: true })
    onEnd(fiber, () => pool.afterDestroy(slot)) // however it ends
    return fiber
  }
}

/** Runs `destroy` as a cleanup: a signal does not cut it short (S16b), the grace does (S18). */
function* runDestroy<R>(end: (resource: R) => Answer<unknown>, resource: R, label: string): Routine<void> {
  const { runtime, grace } = Fiber.current
  const what = `destroying a resource of ${label}`
  const failed = (error: unknown) => runtime.uncaught(error, `${what} failed`)
  let returned: Answer<unknown>
  try {
    returned = end(resource)
  } catch (error) {
    failed(error)
    return
  }
  if (typeof returned !== 'object' || returned === null) return
  const withGrace = function* () {
    try {
      const ended = yield* moveOnAfter(grace, () => runBodyOrPromise(returned, end), LATE)
      if (ended !== LATE) return
      runtime.report({ kind: 'forced', message: `${what} took longer than ${grace} ms, and was cut short` })
    } catch (error) {
      failed(error)
    }
  }
  yield* ensure(() => {}, withGrace) // a signal delivered before the cleanup is not its failure
}

/** False if the check returns false or fails. An error raised in this fiber meanwhile is not a failure of the check. */
function* passesCheck<R>(check: (resource: R) => Answer<unknown>, resource: R): Routine<boolean> {
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
    return yield* new PromiseOp(verdict)
  }
  if (typeof answer !== 'object' || answer === null) return answer !== false
  if (Fiber.current.phase === 'forced') yield* snooze() // a forced fiber cannot wait for the check: this throws (S19)
  const checking = spin({ name: 'validate', link: false }, () => runReturned(answer, check))
  const outcome = yield* ensure(
    () => checking.join(),
    () => checking.stop(),
  )
  return outcome.type === 'value' && outcome.value !== false
}

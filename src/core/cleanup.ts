// What `use` has left to be done when a scope or a fiber is over, after its children, newest first (S60).
//
// In a scope it is one more wait at the end. A fiber whose body is over runs once more, behind a wall, before it dies:
//
//   body ends -> children end -> [ cleanups, one by one ] -> dead, with the outcome of the body and the errors of both

import { drive } from './body.js'
import { leaveBody, Stop } from './errors.js'
import type { Fiber } from './fiber.js'
import { HOLD } from './gate.js'
import type { Routine } from './op.js'
import { FORCED, NONE, UNWINDING, VALUE } from './phase.js'
import { Scope } from './scope.js'
import { force } from './stop.js'
import { Wall } from './timeout.js'
import { foldError, type Owner } from './tree.js'

/** Something to be done at the end. Always whole, like the cleanup of `ensure` (S16b). */
export type Cleanup = () => unknown

/** Adds a cleanup to a scope or a fiber. */
export function addCleanup(owner: Owner, cleanup: Cleanup): void {
  const keeper = keeperOf(owner)
  if (keeper.cleanups === null) keeper.cleanups = []
  keeper.cleanups.push(cleanup)
}

/** Takes a cleanup back: there is nothing left to be done, and a fiber that lives long must not keep it. */
export function removeCleanup(owner: Owner, cleanup: Cleanup): void {
  const keeper = keeperOf(owner)
  const left = keeper.cleanups?.filter((other) => other !== cleanup)
  if (left !== undefined) keeper.cleanups = left.length > 0 ? left : null
}

/** For a cleanup: whether the scope or fiber it belongs to has ended in order, not by an error and not by a stop. */
export function endedInOrder(owner: Owner): boolean {
  return owner.host === owner ? owner.host.cold?.cleaning?.how === VALUE : (owner as Scope<any>).isSound
}

function keeperOf(owner: Owner): Pick<Scope<any>, 'cleanups'> {
  return owner.host === owner ? owner.host.coldRecord() : (owner as Scope<any>)
}

/** Runs all of them. Whatever one does, the others follow; what they throw is given to `failed`. */
export class Cleanups extends Wall<void> {
  constructor(
    list: Cleanup[],
    failed: (error: unknown) => void,
    /** When they have to be over, if that is known before they begin. */
    private stop: Stop | null = null,
  ) {
    super(() => runAll(list, failed), HOLD, 'use()')
  }

  protected override begin(): void {
    if (this.stop !== null) this.hurry(this.stop)
  }

  /** The fiber has been stopped, or stopped again: they may take no longer than that. */
  hurry(stop: Stop): void {
    if (this.fiber === null) {
      if (stop.deadline < (this.stop?.deadline ?? Infinity)) this.stop = stop
      return
    }
    if (this._phase === FORCED || stop.deadline >= this.deadline) return
    const { runtime } = this.fiber
    this._phase = UNWINDING
    this.stopSignal = stop
    runtime.timers.remove(this)
    if (stop.deadline <= runtime.now()) force(this)
    else this.armDeadline()
  }
}

/** One cleanup. What it spins, and takes in `use`, is over when it is. */
class CleanupScope extends Scope<unknown> {
  /** It begins whatever is pending. */
  protected override get crossesGate(): boolean {
    return false
  }
}

function* runAll(list: Cleanup[], failed: (error: unknown) => void): Routine<void> {
  let cleanup = list.pop()
  while (cleanup !== undefined) {
    try {
      yield* new CleanupScope(cleanup)
    } catch (error) {
      failed(error)
    } finally {
      cleanup = list.pop()
      // biome-ignore lint/correctness/noUnsafeFinally: forced out of one, it goes on with the next
      if (cleanup !== undefined) continue
    }
  }
}

/** The last child is gone: runs the cleanups of a fiber. False if there are none, or they have been run. */
export function startCleanups(fiber: Fiber): boolean {
  const { cold } = fiber
  const list = cold?.cleanups
  if (cold === null || list == null) return false
  const { how, value, stopSignal } = fiber
  const errors: unknown[] = []
  const bound = stopSignal === null ? null : boundBy(stopSignal, fiber.deadline)
  const cleanups = new Cleanups(list, (error) => errors.push(error), bound)
  cold.cleanups = null
  cold.cleaning = { how, value, errors, cleanups }
  fiber.how = NONE
  fiber.value = undefined
  fiber.budget = 0
  fiber.generator = drive(cleanups)
  fiber.runtime.push(fiber)
  return true
}

/** A stop of a fiber that runs its cleanups: they may take no longer than it allows (S21). */
export function hurryCleanups(fiber: Fiber, stop: Stop): void {
  fiber.cold?.cleaning?.cleanups.hurry(boundBy(stop, stop.deadlineFor(fiber)))
}

function boundBy({ reason, since }: Stop, deadline: number): Stop {
  return new Stop(undefined, reason, since, deadline, false)
}

/** They are over: the fiber has the outcome of its body again, and their errors beside it. */
export function endCleanups(fiber: Fiber): void {
  const cold = fiber.coldRecord()
  const { how, value, errors } = cold.cleaning as Cleaning
  cold.cleaning = null
  for (const late = fiber.errors; late !== null && late.size > 0; ) {
    const { error, fromChild } = late.shift()
    if (fromChild) errors.push(error)
  }
  fiber.errors = null
  fiber.how = how
  fiber.value = value
  for (const error of errors) foldError(fiber, leaveBody(error, fiber))
}

/** The cleanups of a fiber, while they run. */
export interface Cleaning {
  readonly how: number
  readonly value: unknown
  readonly errors: unknown[]
  readonly cleanups: Cleanups
}

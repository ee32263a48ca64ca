// Fiber-local values (S56): a child starts with the values that its parent has at the spin. The map is never changed in
// place: a write makes a new one, so sharing it with any number of children is free.

import type { Result, Returned } from './body.js'
import { op } from './body.js'
import { current } from './current.js'
import { Fiber } from './fiber.js'
import type { Op, Routine } from './op.js'
import { NO_BARRIER } from './state.js'
import { BarrierBlock } from './timeout.js'

/** A value of which each fiber has its own. */
export interface Local<T> {
  /** The current fiber's value. */
  get(): T
  /** Changes it for the current fiber, and for children spun from now on. */
  set(value: T): void
  /** Runs a body with another value, and puts the old one back. */
  with<R>(value: T, body: () => Returned<R>): Op<Result<R>>
}

/**
 * Makes a fiber-local value: a child starts with its parent's value; later changes in one do not affect the other (S56).
 *
 * ```ts
 * const user = createLocal('guest')
 * yield* user.with('ada', function* () {
 *   console.log(yield* spin(() => user.get())) // ada
 * })
 * console.log(user.get()) // guest
 * ```
 */
export function createLocal<T>(initial: T): Local<T>
export function createLocal<T>(): Local<T | undefined>
export function createLocal<T>(initial?: T): Local<T | undefined> {
  const local: Local<T | undefined> = {
    get() {
      const values = current.fiber === null ? null : current.fiber.locals
      return values?.has(local) ? (values.get(local) as T) : initial
    },
    set(value) {
      const fiber = Fiber.current
      remember(fiber)
      fiber.locals = new Map(fiber.locals).set(local, value)
    },
    with<R>(value: T | undefined, body: () => Returned<R>): Op<Result<R>> {
      return op('with()', () => within(local, value, body as () => Result<R>))
    },
  }
  return local
}

function* within<T, R>(local: Local<T>, value: T, body: () => R): Routine<R> {
  const fiber = Fiber.current
  const had = fiber.locals?.has(local) === true
  const before = local.get()
  local.set(value)
  try {
    return yield* new BarrierBlock<R>(body, NO_BARRIER, 'with()')
  } finally {
    const values = new Map(fiber.locals)
    if (had) values.set(local, before)
    else values.delete(local)
    fiber.locals = values
  }
}

/** A restarted fiber starts with the locals that it had at its spin (S41). */
function remember(fiber: Fiber): void {
  const rare = fiber.rareState()
  if (rare.born === undefined) rare.born = fiber.locals
}

// Fiber-local values (S56): a child starts with its parent's values of that moment. The record is never changed in
// place, a writer makes its own, so sharing it with any number of children is free.

import type { Result, Returned } from './body.js'
import { repeatable } from './body.js'
import { Fiber } from './fiber.js'
import { OPEN } from './gate.js'
import type { Op, Routine } from './op.js'
import { baton } from './runqueue.js'
import { Wall } from './timeout.js'

/** A value that each fiber has its own of. */
export interface Local<T> {
  /** The current fiber's value. */
  get(): T
  /** Changes it for the current fiber, and for children spun from now on. */
  set(value: T): void
  /** Runs a body with another value, and puts the old one back. */
  with<R>(value: T, body: () => Returned<R>): Op<Result<R>>
}

/**
 * Makes a fiber-local value: a child starts with its parent's, and what either sets after that is its own (S56).
 *
 * ```ts
 * const user = createLocal('nobody')
 * yield* user.with('ada', function* () {
 *   console.log(yield* spin(() => user.get())) // ada
 * })
 * console.log(user.get()) // nobody
 * ```
 */
export function createLocal<T>(initial: T): Local<T>
export function createLocal<T>(): Local<T | undefined>
export function createLocal<T>(initial?: T): Local<T | undefined> {
  const local: Local<T | undefined> = {
    get() {
      const values = baton.fiber === null ? null : baton.fiber.locals
      return values?.has(local) ? (values.get(local) as T) : initial
    },
    set(value) {
      const fiber = Fiber.current
      remember(fiber)
      fiber.locals = new Map(fiber.locals).set(local, value)
    },
    with<R>(value: T | undefined, body: () => Returned<R>): Op<Result<R>> {
      return repeatable('with()', () => within(local, value, body as () => Result<R>))
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
    return yield* new Wall<R>(body, OPEN, 'with()')
  } finally {
    const values = new Map(fiber.locals)
    if (had) values.set(local, before)
    else values.delete(local)
    fiber.locals = values
  }
}

/** A restarted fiber starts with the locals it was born with (S41). */
function remember(fiber: Fiber): void {
  const cold = fiber.coldRecord()
  if (cold.born === undefined) cold.born = fiber.locals
}

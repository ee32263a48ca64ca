// Two worlds in which the same test can live: fibers that `yield*`, and async functions that `await`. The body of a test
// is a generator that writes `yield* wait(op)`; in the world of fibers that is the op itself, in the other each wait is
// awaited by an async function.

import assert from 'node:assert/strict'
import { Event, isStop, type Op, type Routine, sleep, spin } from 'polyphony'
import type { Awaitable } from 'polyphony/proco'
import { leaks, virtual } from 'polyphony/testing'

/** What a body does that may wait. */
export type Doing<T> = Generator<any, T, any>

/** Opens once, with a value; whoever waits for it goes on then. */
export interface Gate<T> {
  open(value: T): void
  pass(): Doing<T>
}

export interface World {
  readonly name: string
  /** Runs a test; nothing may be left behind. */
  run(body: () => Doing<void>): Promise<void>
  wait<T>(op: Awaitable<T>): Doing<T>
  /** A handler such as people of this world write. */
  handler<A extends unknown[], T>(body: (...args: A) => Doing<T>): (...args: A) => Op<T> | PromiseLike<T>
  gate<T = void>(): Gate<T>
  /** Begins to run beside the test; what it gives waits for the end. */
  beside<T>(body: () => Doing<T>): () => Doing<T>
  /** Until everybody waits for something. */
  calm(): Doing<void>
}

export const fibers: World = {
  name: 'in fibers, with yield*',
  run: (body) => virtual(body as () => Routine<void>),
  wait: (op) => op[Symbol.iterator]() as Doing<any>,
  handler: (body) => body as () => Routine<any>,
  gate: <T>() => {
    const event = new Event<T>({ latch: true })
    return {
      open: (value) => (event as Event<any>).signal(value),
      pass: () => event.await()[Symbol.iterator]() as Doing<T>,
    }
  },
  beside: (body) => {
    const fiber = spin(function* () {
      try {
        return { value: yield* body() }
      } catch (error) {
        if (isStop(error)) throw error
        return { error }
      }
    })
    return function* () {
      const outcome = yield* fiber
      if ('error' in outcome) throw outcome.error
      return outcome.value
    }
  },
  calm: () => sleep(1)[Symbol.iterator]() as Doing<void>,
}

/** Awaits each of its waits. */
async function drive<T>(doing: Doing<T>): Promise<T> {
  let step = doing.next()
  while (!step.done) {
    const awaited = await Promise.resolve(step.value).then(
      (value: unknown) => ({ value }),
      (error: unknown) => ({ error }),
    )
    step = 'error' in awaited ? doing.throw(awaited.error) : doing.next(awaited.value)
  }
  return step.value
}

function* awaiting<T>(promise: PromiseLike<T>): Doing<T> {
  return yield promise
}

export const asyncs: World = {
  name: 'in async functions, with await',
  run: async (body) => {
    const before = leaks().fibers
    await drive(body())
    await new Promise((resolve) => setImmediate(resolve))
    assert.equal(leaks().fibers, before)
  },
  wait: awaiting,
  handler:
    (body) =>
    async (...args) =>
      drive(body(...args)),
  gate: <T>() => {
    let open!: (value: T) => void
    const promise = new Promise<T>((resolve) => {
      open = resolve
    })
    return { open, pass: () => awaiting(promise) }
  },
  beside: (body) => {
    const promise = drive(body())
    promise.catch(() => {}) // it is looked at later
    return () => awaiting(promise)
  },
  calm: () => awaiting(new Promise((resolve) => setImmediate(resolve))),
}

export const worlds: readonly World[] = [fibers, asyncs]

/** What something throws that one waits for. */
export function* thrown(doing: Doing<unknown>): Doing<any> {
  try {
    yield* doing
  } catch (error) {
    if (isStop(error)) throw error
    return error
  }
  return assert.fail('nothing was thrown')
}

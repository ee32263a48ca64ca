// What the tests of executors share: tests that run for fibers and for async code, and handlers that a test controls.

import type { Executor, Future, Work } from 'polyphony/proco'
import { assert, Fiber, isStop, type Op, type Routine, runtime, sleep, test, virtual } from '../prelude.js'
import { type Doing, type Gate, type World, worlds } from '../shared/worlds.js'

export { type Doing, thrown } from '../shared/worlds.js'
/** An executor of whichever types. */
export type Any = Omit<Executor<any, any, any>, 'start'> & {
  start(handler: (given: any, work: any) => any): Any
}
export type Futures = Future<any>[]
type AnyHandler = (given: any, work: any) => any

/**
 * Declares a test twice: submitters and handlers are fibers that `yield*`, or async functions that `await`. Executors that
 * `handled` and `held` have started exit at the end of the test.
 */
export function both(name: string, body: (world: World) => Doing<void>): void {
  for (const world of worlds) {
    test(`${name}, ${world.name}`, () =>
      world.run(function* () {
        handledNow.length = 0
        yield* body(world)
        for (const proco of handledNow) yield* world.wait(proco[Symbol.asyncDispose]())
      }))
  }
}
const handledNow: Any[] = []

/**
 * Declares a test twice on the virtual clock: `as(body)` is a handler in a fiber, or an async function that does the same in
 * a fiber of the test, which is not stopped when the item is cancelled.
 */
export function forHandlers(name: string, body: (as: (handler: AnyHandler) => any) => Routine<void>): void {
  test(`${name}, handled in fibers`, () => virtual(() => body((handler) => handler)))
  test(`${name}, handled by async functions`, () =>
    virtual(() => {
      const parent = Fiber.current
      return body((handler) => async (given: any, work: any) => promised(parent, () => handler(given, work)))
    }))
}

function promised(parent: Fiber, body: () => any): Promise<unknown> {
  return new Promise((resolve, reject) => {
    parent.spin(function* (): Routine<void> {
      try {
        const returned = body()
        resolve(isOp(returned) ? yield* returned : returned)
      } catch (error) {
        if (isStop(error)) throw error
        reject(error)
      }
    })
  })
}

function isOp(value: any): value is Op<unknown> {
  return typeof value?.next === 'function'
}

/** Starts the executor with a handler of this world. */
export function handled(world: World, executor: any, body: (given: any, work: Work) => Doing<any>): Any {
  handledNow.push(executor)
  return executor.start(world.handler(body))
}

/** Starts the executor with a handler whose calls end when the test says so. */
export function held(world: World, executor: any) {
  const began: any[] = []
  const works: Work[] = []
  const gates: { begin: Gate<void>; end: Gate<unknown> }[] = []
  const at = (n: number) => (gates[n] ??= { begin: world.gate(), end: world.gate() })
  const proco = handled(world, executor, function* (given: any, work: Work): Doing<any> {
    const n = began.push(given) - 1
    works.push(work)
    at(n).begin.open()
    const result = yield* at(n).end.pass()
    if (result instanceof Error) throw result
    return result ?? given
  })
  return {
    proco,
    /** What the handler was called with. */
    began,
    works,
    /** Until the nth call has begun. */
    begin: (n: number) => at(n).begin.pass(),
    end: (n: number, result?: unknown) => at(n).end.open(result),
  }
}

/** A handler in a fiber that takes some time, and what it has begun, done and ended. */
export function slow(ms: number, executor: any) {
  const log: string[] = []
  const proco: Any = executor.start(function* (item: unknown): Routine<string> {
    log.push(`begin ${item}`)
    try {
      yield* sleep(ms)
      log.push(`done ${item}`)
      return `${item}!`
    } finally {
      log.push(`end ${item}`)
    }
  })
  return { proco, log }
}

/** Milliseconds of this world's clock, also in async functions. */
export function clock(): () => number {
  const world = runtime()
  return () => world.now()
}

/** An error of this class, with this message. */
export function assertError(error: any, kind: new (...args: any[]) => Error, message: string | RegExp): void {
  assert.ok(error instanceof kind, String(error))
  if (typeof message === 'string') assert.equal(error.message, message)
  else assert.match(error.message, message)
}

/** The counts of an executor that are not 0. S78: accepted = queued + in the hands of handlers + done + failed + cancelled. */
export function tally(proco: Any): string {
  const { accepted, done, failed, cancelled, depth: queued, running, waiting } = proco.stats()
  const inHands = accepted - done - failed - cancelled - queued
  assert.ok(running > 0 ? inHands >= 0 : inHands === 0, 'S78 the counts add up')
  return Object.entries({ accepted, done, failed, cancelled, queued, running, waiting })
    .filter(([, count]) => count > 0)
    .map(([what, count]) => `${count} ${what}`)
    .join(', ')
}

export const states = (futures: Futures): string => futures.map(({ state }) => state).join(' ')

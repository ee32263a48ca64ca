// Bodies: generator functions, and plain functions that return an op or a value. How they are checked, called and run.
// Async functions and promises are refused with an explanation, since a fiber cannot be stopped inside one.

import { current } from './current.js'
import { debugging, opEntered, rememberOp } from './debug.js'
import { BadArgument, show } from './errors.js'
import type { Op, Routine, Switchpoint } from './op.js'

/** What can be run as a fiber or in a block: a generator function, or a plain function that returns an `Op` or a value (S05). */
export type Body<T, A extends unknown[] = []> = (...args: A) => Op<T> | T

declare const refused: unique symbol
/** A type without values, for what must not compile; it carries the reason. */
export interface Refused<Why extends string> {
  readonly [refused]: Why
}
/** What a body may return. Anything else is refused at compile time, with the reason in the type. */
export type Returned<R> =
  R extends Op<any>
    ? R
    : R extends PromiseLike<any>
      ? Refused<'a body must not be async: write function* and yield* until(promise)'>
      : R extends AsyncIterator<any, any, any>
        ? Refused<'a body must not be async: write function* and yield* until(promise)'>
        : R extends Iterator<any, any, any>
          ? Refused<'this generator has a yield without its star: write yield*'>
          : R
/** The result of a body with the return type `R`. */
export type Result<R> = R extends Op<infer T> ? T : R

const GeneratorFunction = Object.getPrototypeOf(function* () {}).constructor
const AsyncFunctionPrototype = Object.getPrototypeOf(async () => {})
const AsyncGeneratorFunctionPrototype = Object.getPrototypeOf(async function* () {})

/** The prototype of all generators, as a constructor for `instanceof`. */
function Generator(): void {}
Generator.prototype = GeneratorFunction.prototype.prototype

// The generators of each closure have a hidden class of their own, so `generator.next` would be looked up each time. The
// shared functions, called with the generator as `this`, need no lookup; neither does `instanceof`.
export const nextOf: (this: Iterator<unknown>, value?: unknown) => IteratorResult<any, any> =
  Generator.prototype.next
export const throwOf: (this: Iterator<unknown>, error: unknown) => IteratorResult<any, any> =
  Generator.prototype.throw
export const returnOf: (this: Iterator<unknown>, value?: unknown) => IteratorResult<any, any> =
  Generator.prototype.return

export function isGeneratorFunction(fn: object): boolean {
  return fn instanceof GeneratorFunction
}

/** Whether it is a generator of this realm, which the shared functions can drive. One of another realm is run as an op. */
export function isGenerator(value: unknown): value is Iterator<unknown> {
  return value instanceof (Generator as unknown as new () => object)
}

function isAsync(fn: object): boolean {
  const kind = Object.getPrototypeOf(fn)
  return kind === AsyncFunctionPrototype || kind === AsyncGeneratorFunctionPrototype
}

/** The name of a body; '' if it has none. */
export function nameOf(body: (...args: any[]) => unknown): string {
  try {
    return typeof body.name === 'string' ? body.name : ''
  } catch {
    return ''
  }
}

/** Throws for what is recognizably not a body: not a function, or an async one (S05). */
export function checkBody(body: unknown, where: string): void {
  if (typeof body === 'function' && isGeneratorFunction(body)) return
  refuseCall(body, where)
  if (typeof body !== 'function') {
    throw new BadArgument(`${where} needs a function* to run, got ${show(body)}`)
  }
  if (isAsync(body)) {
    throw new BadArgument(
      `${where} was given the async function ${nameOf(body as () => unknown) || '(anonymous)'}, which cannot be stopped at an await. ` +
        'Write function* and yield* until(promise) instead of await.',
    )
  }
}

/** Throws for a generator or an op, where a function that makes it is needed. */
function refuseCall(body: unknown, where: string): void {
  const { describe, next } = (body ?? {}) as { describe?: () => string; next?: unknown }
  if (typeof describe === 'function') {
    const op = describe.call(body)
    throw new BadArgument(`${where} was given ${op} itself. Pass a function that returns it: () => ${op}`)
  }
  if (typeof next === 'function') {
    throw new BadArgument(
      `${where} was given what a function* returned. Pass the function itself, or an arrow that calls it: () => work()`,
    )
  }
}

/** Calls a checked body. Avoids spreading, which is slow, for few arguments. */
export function callBody(body: (...args: any[]) => unknown, args: readonly unknown[]): unknown {
  switch (args.length) {
    case 0:
      return body()
    case 1:
      return body(args[0])
    case 2:
      return body(args[0], args[1])
    case 3:
      return body(args[0], args[1], args[2])
    default:
      return body(...args)
  }
}

/**
 * The iterator of an op, undefined for any other value. The iterator of an op has `throw`; those of arrays, maps and other
 * collections have not.
 */
export function iteratorOf(value: unknown): Iterator<unknown> | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const make = (value as Op<unknown>)[Symbol.iterator]
  if (typeof make !== 'function') return undefined
  const iterator = make.call(value) as Iterator<unknown>
  return typeof iterator?.next === 'function' && typeof iterator.throw === 'function' ? iterator : undefined
}

/** An iterator for what a body returned, if that is not a generator: of an op, or one that returns the value. */
export function runnerOf(returned: unknown, body: (...args: any[]) => unknown): Iterator<unknown> {
  const iterator = iteratorOf(returned)
  if (iterator !== undefined) return iterator
  if (isThenable(returned)) {
    returned.then(undefined, () => {}) // refused: its rejection must not count as unhandled
    throw new BadArgument(
      `${nameOf(body) || 'the body'} in ${current.fiber?.path} returned a promise. A fiber cannot be stopped inside a promise chain; ` +
        'return until(promise), or write function* and yield* until(promise).',
    )
  }
  return giveBack(returned)
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && typeof (value as PromiseLike<unknown> | null)?.then === 'function'
}

function* giveBack(value: unknown): Routine<unknown> {
  return value
}

/**
 * Runs a body inside the current fiber: `yield* run.of(body(x))`, any number of times, one at a time. Its methods are the
 * same for all bodies, which spares `yield*` a lookup for each closure.
 */
export class Run<T> implements Op<T>, Iterator<Switchpoint, T, unknown> {
  private inner: Iterator<any, any> | null = null
  private isNative = false

  constructor(private readonly body: (...args: any[]) => unknown) {}

  of(returned: unknown): this {
    this.isNative = isGenerator(returned)
    this.inner = this.isNative ? (returned as Iterator<unknown>) : runnerOf(returned, this.body)
    return this
  }

  [Symbol.iterator](): this {
    return this
  }

  next(value?: unknown): IteratorResult<Switchpoint, T> {
    const inner = this.inner as Iterator<any, any>
    return this.isNative ? nextOf.call(inner, value) : inner.next(value)
  }

  throw(error: unknown): IteratorResult<Switchpoint, T> {
    const inner = this.inner as Required<Iterator<any, any>>
    return this.isNative ? throwOf.call(inner, error) : inner.throw(error)
  }

  return(value?: unknown): IteratorResult<Switchpoint, any> {
    const inner = this.inner as Iterator<any, any>
    if (this.isNative) return returnOf.call(inner, value)
    return inner.return?.(value) ?? { done: true, value }
  }
}

/**
 * Runs what a body has returned: an op, a generator or a value. For code that needs to look at it first. The body itself is
 * for messages.
 *
 * ```ts
 * const body = (n: number) => (n > 0 ? sleep(n) : 'no wait')
 * const returned = body(0)
 * console.log(yield* runReturned(returned, body)) // no wait
 * ```
 */
export function runReturned(returned: unknown, body: (...args: any[]) => unknown): Op<unknown> {
  return new Run(body).of(returned)
}

/**
 * Calls a body in the current fiber and runs it: a generator function, or a plain function that returns an op or a value.
 *
 * ```ts
 * function* slow(n: number) {
 *   yield* sleep(10)
 *   return 2 * n
 * }
 * console.log(yield* runBody(slow, 21), yield* runBody((n: number) => n + 1, 21)) // 42 22
 * ```
 */
export function runBody<R>(body: (...args: any[]) => Returned<R>, ...args: unknown[]): Op<Result<R>>
export function runBody<T>(body: (...args: any[]) => Op<T> | T, ...args: unknown[]): Op<T>
export function runBody(body: (...args: any[]) => unknown, ...args: unknown[]): Op<unknown> {
  if (typeof body !== 'function') checkBody(body, 'runBody()')
  return new Run(body).of(callBody(body, args))
}

/** Runs an op as a generator. */
export function* drive(op: Op<unknown>): Routine<unknown> {
  return yield* op
}

/**
 * Makes an op of a generator function: nothing runs before `yield*`, and each `yield*` starts anew. `describe` is its text in
 * messages and tools; give a function if making the text is expensive.
 *
 * ```ts
 * const twice = (n: number): Op<number> =>
 *   op('twice()', function* () {
 *     yield* sleep(10)
 *     return 2 * n
 *   })
 * console.log(yield* all([twice(1), twice(2)])) // [ 2, 4 ]
 * ```
 */
export function op<T>(describe: string | (() => string), make: () => Op<T>): Op<T> {
  if (typeof make !== 'function' || isAsync(make)) checkBody(make, 'op()')
  const made = {
    describe: typeof describe === 'string' ? () => describe : describe,
    [Symbol.iterator]() {
      if (debugging) opEntered(made)
      const routine = make()
      return (isGenerator(routine) ? routine : iteratorOfOp(routine)) as Iterator<Switchpoint, T, unknown>
    },
  }
  if (debugging) rememberOp(made, current.fiber)
  return made
}

function iteratorOfOp(made: unknown): Iterator<unknown> {
  const iterator = iteratorOf(made)
  if (iterator === undefined)
    throw new BadArgument(`op() needs a function*, or one that returns an op; it returned ${show(made)}`)
  return iterator
}

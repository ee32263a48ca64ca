// What may be run as a body: a generator function, or a plain function that returns an op or a value.
// Promises are refused with a sentence, because a fiber cannot be stopped inside one.

import { debugging, opEntered, rememberOp } from './debug.js'
import { BadArgument, show } from './errors.js'
import type { Op, Routine } from './op.js'
import { baton } from './runqueue.js'

/** What can be run as a fiber or in a block: a generator function, or a plain function that returns an `Op` or a value (S05). */
export type Body<T, A extends unknown[] = []> = (...args: A) => Op<T> | T

declare const refused: unique symbol
/** A type that nothing has, for what must not compile; it carries the reason. */
export interface Refused<Why extends string> {
  readonly [refused]: Why
}
/** What a body may return. The wrong things are refused at compile time, with the reason in the type. */
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
/** What running a body gives. */
export type Result<R> = R extends Op<infer T> ? T : R

const GeneratorFunction = Object.getPrototypeOf(function* () {}).constructor
const AsyncFunctionPrototype = Object.getPrototypeOf(async () => {})
const AsyncGeneratorFunctionPrototype = Object.getPrototypeOf(async function* () {})
const GeneratorPrototype = GeneratorFunction.prototype.prototype

// Each closure's generators have a hidden class of their own, so `generator.next` would be looked up anew each time.
// The shared functions, called with the generator as `this`, are not.
export const nextOf: (this: Iterator<unknown>, value?: unknown) => IteratorResult<any, any> =
  GeneratorPrototype.next
export const throwOf: (this: Iterator<unknown>, error: unknown) => IteratorResult<any, any> =
  GeneratorPrototype.throw
export const returnOf: (this: Iterator<unknown>, value?: unknown) => IteratorResult<any, any> =
  GeneratorPrototype.return

export function isGeneratorFunction(fn: object): boolean {
  return fn instanceof GeneratorFunction
}

/** Whether it is a generator that the shared functions can drive. Slow; the kind of the body tells it faster. */
export function isGenerator(iterator: unknown): iterator is Iterator<unknown> {
  return (
    (iterator as Iterator<unknown>).next === nextOf && (iterator as any)[Symbol.toStringTag] === 'Generator'
  )
}

/** What a body calls itself; '' if it has no name that can be shown. */
export function nameOf(body: (...args: any[]) => unknown): string {
  try {
    return typeof body.name === 'string' ? body.name : ''
  } catch {
    return ''
  }
}

/** Refuses at the call what can be seen from the function object alone (S05). */
export function checkBody(body: unknown, where: string): void {
  if (typeof body === 'function' && isGeneratorFunction(body)) return
  refuseCall(body, where)
  if (typeof body !== 'function') {
    throw new BadArgument(`${where} needs a function* to run, got ${show(body)}`)
  }
  const kind = Object.getPrototypeOf(body)
  if (kind === AsyncFunctionPrototype || kind === AsyncGeneratorFunctionPrototype) {
    throw new BadArgument(
      `${where} was given the async function ${nameOf(body as () => unknown) || '(anonymous)'}, which cannot be stopped at an await. ` +
        'Write function* and yield* until(promise) instead of await.',
    )
  }
}

/** Refuses what should have been called later: the generator of a function*, or an op. */
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

/** Calls a body that was checked before, without spreading when there is little to spread. */
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
 * The iterator of an op, undefined for any other value. An op's iterator can take an error: it has `throw`. Those of
 * arrays, maps and other collections have not.
 */
export function iteratorOf(value: unknown): Iterator<unknown> | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const make = (value as Op<unknown>)[Symbol.iterator]
  if (typeof make !== 'function') return undefined
  const iterator = make.call(value) as Iterator<unknown>
  return typeof iterator?.next === 'function' && typeof iterator.throw === 'function' ? iterator : undefined
}

/** Whether a body has returned a generator, by its looks: a proxy of a generator function may return anything. */
export function isPlainGenerator(returned: unknown, body: (...args: any[]) => unknown): boolean {
  return isGeneratorFunction(body) && typeof returned === 'object' && returned !== null
}

/** Whether what was driven as a generator, and failed, is none. */
export function isImpostor(generator: Iterator<unknown> | null): boolean {
  if (generator === null) return false
  try {
    nextOf.call(generator) // a real one is over
    return false
  } catch {
    return true
  }
}

/** What runs a body, by what it returned: the iterator of an op, or a generator that gives the value back. */
export function runnerOf(returned: unknown, body: (...args: any[]) => unknown): Iterator<unknown> {
  const iterator = iteratorOf(returned)
  if (iterator !== undefined) return iterator
  const isBare = isPlainGenerator(returned, body) && !isThenable(returned)
  return isBare ? dress(returned as Iterator<unknown>) : giveBack(returned, body)
}

/** For a generator whose function was given another `prototype`: it has lost its methods. */
function dress(generator: Iterator<unknown>): Iterator<unknown> {
  return {
    next: (value) => nextOf.call(generator, value),
    throw: (error) => throwOf.call(generator, error),
    return: (value) => returnOf.call(generator, value),
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && typeof (value as PromiseLike<unknown> | null)?.then === 'function'
}

/** The result of a plain body; a promise is not one. */
function* giveBack(value: unknown, body: (...args: any[]) => unknown): Routine<unknown> {
  if (isThenable(value)) {
    value.then(undefined, () => {}) // refused: its rejection is nobody's
    throw new BadArgument(
      `${nameOf(body) || 'the body'} in ${baton.fiber?.path} returned a promise. A fiber cannot be stopped inside a promise chain; ` +
        'return until(promise), or write function* and yield* until(promise).',
    )
  }
  return value
}

/** What has an iterator already, as `yield*` wants it. */
class Given {
  constructor(private readonly iterator: Iterator<unknown>) {}
  [Symbol.iterator](): Iterator<unknown> {
    return this.iterator
  }
}

/** Runs an op as a generator. */
export function* drive(iterator: Iterator<unknown>): Routine<unknown> {
  return yield* new Given(iterator) as Op<unknown>
}

/** An op out of a generator function: each `yield*` of it starts anew. */
export function repeatable<T>(describe: string, make: () => Routine<T>): Op<T> {
  const op = {
    describe: () => describe,
    [Symbol.iterator]() {
      if (debugging) opEntered(op)
      return make()
    },
  }
  if (debugging) rememberOp(op, baton.fiber)
  return op
}

/** Runs what a body returned, whatever it is. */
export function* runReturned(returned: unknown, body: (...args: any[]) => unknown): Routine<unknown> {
  return yield* new Given(runnerOf(returned, body)) as Op<unknown>
}

/** Calls a body of either kind inside the current fiber: `yield* runBody(body, x)`. */
export function* runBody<T>(body: (...args: any[]) => Op<T> | T, ...args: unknown[]): Routine<T> {
  return yield* new Given(runnerOf(callBody(body, args), body)) as unknown as Op<T>
}

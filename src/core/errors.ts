// Every error of the core, each with a stable `code`, and the information kept for an error object: which fiber it came
// from, which fibers have received it, and which later errors it suppressed.

import type { Fiber } from './fiber.js'

/**
 * The base of every error that the library makes.
 *
 * ```ts
 * try {
 *   sleep(-1)
 * } catch (error) {
 *   if (error instanceof PolyphonyError) console.log(error.code) // BAD_ARGUMENT
 * }
 * ```
 */
export class PolyphonyError extends Error {
  /** Stable, for programs. The message is for people. */
  readonly code: string = 'POLYPHONY'
  override get name(): string {
    return this.constructor.name
  }
}

/**
 * Thrown by `cancelAfter` when its time is up, and by `fiber.cancel()` in a fiber: an ordinary error that may be caught.
 *
 * ```ts
 * try {
 *   yield* cancelAfter(100, () => sleep(1000))
 * } catch (error) {
 *   console.log(error instanceof Cancel) // true
 * }
 * ```
 */
export class Cancel extends PolyphonyError {
  override readonly code = 'CANCEL'
}

/**
 * Thrown by `await()` if the awaited fiber was stopped without a value (S31). It never means that the awaiting fiber is
 * being stopped.
 *
 * ```ts
 * const fiber = spin(() => sleep(1000))
 * fiber.stop()
 * try {
 *   yield* fiber
 * } catch (error) {
 *   console.log(error instanceof FiberStopped) // true
 * }
 * ```
 */
export class FiberStopped extends PolyphonyError {
  override readonly code = 'FIBER_STOPPED'
}

/**
 * A fiber waits for something that can never come (S32, S33).
 *
 * ```ts
 * try {
 *   yield* Fiber.current // waits for itself
 * } catch (error) {
 *   console.log(error instanceof DeadlockError) // true
 * }
 * ```
 */
export class DeadlockError extends PolyphonyError {
  override readonly code = 'DEADLOCK'
}

/**
 * Something that needs a fiber was used outside one.
 *
 * ```ts
 * import { NotInFiber, spin } from 'polyphony'
 *
 * try {
 *   spin(() => {}) // has no parent here: main() and run() make the first fiber
 * } catch (error) {
 *   console.log(error instanceof NotInFiber)
 * }
 * ```
 *
 * ```text
 * true
 * ```
 */
export class NotInFiber extends PolyphonyError {
  override readonly code = 'NOT_IN_FIBER'
}

/**
 * A body yielded something that is not an op, or an op was iterated by something other than `yield*` (S69).
 *
 * ```ts
 * try {
 *   const [nothing] = sleep(10) // should be: yield* sleep(10)
 * } catch (error) {
 *   console.log(error instanceof BadYield) // true
 * }
 * ```
 */
export class BadYield extends PolyphonyError {
  override readonly code = 'BAD_YIELD'
}

/**
 * A wrong argument; the message names it and says what is allowed.
 *
 * ```ts
 * try {
 *   every(0, () => {})
 * } catch (error) {
 *   console.log(error instanceof BadArgument) // true
 * }
 * ```
 */
export class BadArgument extends PolyphonyError {
  override readonly code = 'BAD_ARGUMENT'
}

/**
 * A call that is not possible in the present state, such as restarting main or attaching in a cycle.
 *
 * ```ts
 * try {
 *   Fiber.current.attachTo(Fiber.current)
 * } catch (error) {
 *   console.log(error instanceof BadState) // true
 * }
 * ```
 */
export class BadState extends PolyphonyError {
  override readonly code = 'BAD_STATE'
}

/**
 * Wraps a thrown value that is not an object (`throw 'oops'`), so that it can go up the tree; `cause` is that value.
 *
 * ```ts
 * const fiber = spin(function* () {
 *   throw 'oops'
 * })
 * try {
 *   yield* fiber
 * } catch (error) {
 *   console.log((error as NonErrorThrown).cause) // oops
 * }
 * ```
 */
export class NonErrorThrown extends PolyphonyError {
  override readonly code = 'NON_ERROR_THROWN'
  constructor(value: unknown, where: string) {
    super(`${where} threw ${show(value)}, which is not an Error`, { cause: value })
  }
}

/**
 * The signal that a stop throws into a fiber or a block. It is not an `Error` and has no stack, which would cost more than
 * the whole stop. All children of a parent that are stopped together share one.
 *
 * ```ts
 * const fiber = spin(function* () {
 *   try {
 *     yield* sleep(1000)
 *   } catch (thrown) {
 *     if (isStop(thrown)) console.log(thrown.message) // being stopped: too slow
 *     throw thrown
 *   }
 * })
 * yield* snooze()
 * yield* fiber.stop('bye', { reason: 'too slow' })
 * ```
 */
export class Stop {
  /** As in errors, for printing. */
  readonly name = 'Stop'
  constructor(
    /** The value given to `stop(value)`. */
    public value: unknown,
    /** The `reason` given to `stop`, or a sentence. */
    public reason: unknown,
    /** @internal When the stop was requested. */
    readonly since: number,
    /** @internal When cleanup that still waits is forced. For children it is an upper bound: their grace may be shorter (S18). */
    readonly deadline: number,
    /** @internal Whether `deadline` is only an upper bound. */
    readonly bound: boolean,
    /** @internal Where stop() was called, in debug mode (S14). */
    readonly site: string | undefined = undefined,
    /** @internal Whether the region that it ends throws an error that can carry its `suppressed`. */
    readonly keepsErrors = false,
  ) {}
  /** @internal A restart turned into a stop. */
  become(other: Stop): void {
    this.value = other.value
    this.reason = other.reason
  }
  /** The reason, in a sentence. */
  get message(): string {
    return `being stopped: ${typeof this.reason === 'string' ? this.reason : show(this.reason)}`
  }
  /** `Stop: ` and the message. */
  toString(): string {
    return `Stop: ${this.message}`
  }
}

/**
 * Tells a stop apart from an error in a `catch`. Rethrow it when you have cleaned up (S17).
 *
 * ```ts
 * const fiber = spin(function* () {
 *   try {
 *     yield* sleep(1000)
 *   } catch (thrown) {
 *     if (isStop(thrown)) throw thrown
 *     console.log('an ordinary error') // never printed
 *   }
 * })
 * yield* snooze()
 * console.log(yield* fiber.stop()) // { type: 'stopped', value: undefined }
 * ```
 */
export function isStop(thrown: unknown): thrown is Stop {
  try {
    return thrown instanceof Stop
  } catch {
    return false // a proxy with a trap
  }
}

/** Whether `thrown` is this signal, or carries it in its `cause` chain (S66). */
export function carries(thrown: unknown, signal: unknown): boolean {
  try {
    for (let depth = 0; depth < 20; depth++) {
      if (thrown === signal) return signal !== null
      if (typeof thrown !== 'object' || thrown === null) return false
      thrown = (thrown as { cause?: unknown }).cause
    }
  } catch {
    // a `cause` that throws when it is read
  }
  return false
}

/** What is known of an error beyond its own fields. */
interface ErrorInfo {
  fiber: Fiber
  received: WeakSet<Fiber>
  /** The content of its `suppressed` as a set, for fast lookup. */
  suppressed: Set<unknown> | null
}
const errorInfo = new WeakMap<object, ErrorInfo>()

/**
 * The fiber that an error came from (S24).
 *
 * ```ts
 * const parser = spin('parser', function* () {
 *   throw new Error('bad input')
 * })
 * try {
 *   yield* parser
 * } catch (error) {
 *   console.log(errorFiber(error)?.name) // parser
 * }
 * ```
 */
export function errorFiber(error: unknown): Fiber | undefined {
  return typeof error === 'object' && error !== null ? errorInfo.get(error)?.fiber : undefined
}

/** An error leaves the body of `fiber`: records where it came from, and wraps it if it is not an object. */
export function tagError(error: unknown, fiber: Fiber): object {
  const isObject = (typeof error === 'object' && error !== null) || typeof error === 'function'
  const traveller = (isObject ? error : new NonErrorThrown(error, fiber.path)) as object
  if (!errorInfo.has(traveller))
    errorInfo.set(traveller, { fiber, received: new WeakSet(), suppressed: null })
  return traveller
}

/** Marks an error as received by `fiber`. False if the fiber has received the same object before (S25). */
export function markReceived(error: unknown, fiber: Fiber): boolean {
  const { received } = errorInfo.get(tagError(error, fiber)) as ErrorInfo
  if (received.has(fiber)) return false
  received.add(fiber)
  return true
}

/**
 * Adds `later` to `first.suppressed` (S22). If that is impossible, for instance because `first` is frozen, `later` is
 * reported.
 */
export function addSuppressed(fiber: Fiber, first: unknown, later: unknown): void {
  if (suppress(first, later, fiber)) return
  fiber.runtime.report({
    kind: 'unobserved',
    message: `an error in ${fiber.path} could not be kept beside the one before it`,
    error: later,
  })
}

function suppress(first: unknown, later: unknown, fiber: Fiber): boolean {
  if (first === later || (isOverflow(first) && isOverflow(later))) return true // that it overflowed twice says nothing new
  if ((typeof first !== 'object' && typeof first !== 'function') || first === null) return false
  const info = errorInfo.get(tagError(first, fiber)) as ErrorInfo
  try {
    const before = (first as { suppressed?: unknown }).suppressed
    // Existing content stays: a SuppressedError has one of its own.
    const list: unknown[] = before === undefined ? [] : Array.isArray(before) ? before : [before]
    if (info.suppressed === null || info.suppressed.size !== list.length) info.suppressed = new Set(list)
    if (info.suppressed.has(later)) return true
    info.suppressed.add(later)
    if (list === before && !Object.isFrozen(before)) return list.push(later) > 0
    return Reflect.defineProperty(first, 'suppressed', {
      value: [...list, later],
      configurable: true,
      writable: true,
      enumerable: false,
    })
  } catch {
    return false // a getter that throws
  }
}

/**
 * The later errors that this one suppressed, if any (S22).
 *
 * ```ts
 * function* failing(what: string) {
 *   throw new Error(what)
 * }
 * try {
 *   yield* ensure(() => failing('the work failed'), () => failing('so did the cleanup'))
 * } catch (error) {
 *   console.log(suppressedErrors(error).map(String)) // [ 'Error: so did the cleanup' ]
 * }
 * ```
 */
export function suppressedErrors(error: unknown): readonly unknown[] {
  try {
    const list = (error as { suppressed?: unknown } | null | undefined)?.suppressed
    return Array.isArray(list) ? list : list === undefined ? [] : [list]
  } catch {
    return []
  }
}

/** A class of errors, made with a message. */
export type ErrorClass = new (message?: string) => Error
/** What `raise` and `cancelAfter` accept: an error, an error class or a message. */
export type ErrorLike = Error | ErrorClass | string

/** Turns an ErrorLike into an error object; a message becomes a `Base`. */
export function makeError(given: ErrorLike | undefined, Base: ErrorClass, message: string): Error {
  if (given === undefined) return new Base(message)
  if (typeof given === 'string') return new Base(given)
  return typeof given === 'function' ? new given(message) : given
}

/** Throws unless it is an ErrorLike or undefined. A message of its own goes with a class only. */
export function checkError(given: ErrorLike | undefined, message: string | undefined, where: string): void {
  const isClass = typeof given === 'function' && (given === Error || given.prototype instanceof Error)
  if (given !== undefined && typeof given !== 'string' && !isClass && !isError(given)) {
    const hint = Array.isArray(given) ? '. A class and its message are two arguments' : ''
    throw new BadArgument(`${where} needs an error, an error class or a message, got ${show(given)}${hint}`)
  }
  if (message === undefined || (isClass && typeof message === 'string')) return
  throw new BadArgument(
    isClass
      ? `${where} needs a string as the message of the error class, got ${show(message)}`
      : `${where} takes a message only after an error class, got ${show(given)} and ${show(message)}`,
  )
}

/** Whether it is an error, also one of another realm or one that only inherits from Error. */
function isError(given: unknown): boolean {
  return given instanceof Error || Object.prototype.toString.call(given) === '[object Error]'
}

/** S69: an op was spread, destructured or looped over. */
export function iteratedByHand(fiber: Fiber, what: string, op = what): BadYield {
  return new BadYield(
    `${what} was iterated by something other than yield* in ${fiber.path}. ` +
      `Ops cannot be spread, destructured or looped over; write: const value = yield* ${op}`,
  )
}

export function notInFiber(what: string): NotInFiber {
  return new NotInFiber(
    `${what} was used outside any fiber. Start a program with main(function* () { ... }), ` +
      'or call run(function* () { ... }) from async code. In a callback, fiber.spin(...) makes a child of a fiber that you kept.',
  )
}

/**
 * Whether an error is a stack overflow, which engines tell only in the message. Called where little stack is left: no regular
 * expression, since V8 ends the process if it has no stack to compile one.
 */
export function isOverflow(error: unknown): error is Error {
  try {
    if (!(error instanceof Error)) return false
    return error.message.includes('call stack size') || error.message.includes('too much recursion')
  } catch {
    return false // a proxy with a trap, or a message that is no text
  }
}

/**
 * A value as it should appear in a message: short, on one line.
 *
 * ```ts
 * console.log(show('text'), show([1, 2]), show(() => 1)) // "text" an array of 2 a function
 * ```
 */
export function show(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 60 ? `${value.slice(0, 57)}...` : value)
  if (typeof value === 'function') return value.name ? `function ${value.name}` : 'a function'
  if (typeof value !== 'object' || value === null) return String(value)
  try {
    if (Array.isArray(value)) return `an array of ${value.length}`
    if (value instanceof Error) return `${value.name}: ${value.message}`
    return `an object of class ${value.constructor?.name || 'unknown'}`
  } catch {
    return 'an object that cannot be shown'
  }
}

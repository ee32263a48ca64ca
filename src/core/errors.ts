// Every error of the core, each with a stable `code`, and the few facts kept beside an error object:
// which fiber it came from, who has already received it, and which later errors it outshone.

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
  /** Stable: what programs look at. The message is for people. */
  readonly code: string = 'POLYPHONY'
  override get name(): string {
    return this.constructor.name
  }
}

/**
 * What `cancelAfter` throws into its block, and `fiber.cancel()` into a fiber: an ordinary error that may be caught.
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
 * What `await()` throws when the awaited fiber was stopped without a value (S31). It never means that you are being stopped.
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
 * Nothing that a fiber waits for can ever come (S32, S33).
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
 *   spin(() => {}) // who would be its parent? main() and run() make the first fiber
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
 * An argument of the wrong kind, named together with what is allowed.
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
 * A call that makes no sense at this moment, such as restarting main or attaching in a cycle.
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
 * Wraps something thrown that is not an object (`throw 'oops'`), so that it can travel up the tree; `cause` is the thing.
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
 * The signal that a stop throws into a fiber or a block. A light object without a stack, never an `Error`:
 * making a stack would cost more than the whole stop. All children of a parent that are stopped together share one.
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
  /** As errors have one, for those who print it. */
  readonly name = 'Stop'
  constructor(
    /** The value given to `stop(value)`. */
    public value: unknown,
    /** Why: what was given as `reason`, or a sentence. */
    public reason: unknown,
    /** @internal When it was asked for. */
    readonly since: number,
    /** @internal When waiting cleanup ends. Of children: the bound from above, their own grace may be shorter (S18). */
    readonly deadline: number,
    /** @internal Whether `deadline` is only a bound. */
    readonly bound: boolean,
    /** @internal Where stop() was called, in debug mode (S14). */
    readonly site: string | undefined = undefined,
  ) {}
  /** @internal When the cleanup of a fiber that it stops has to be over. */
  deadlineFor(fiber: { grace: number }): number {
    return this.bound ? Math.min(this.deadline, this.since + fiber.grace) : this.deadline
  }
  /** @internal Of a restart that turned into a stop. */
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
export function carries(thrown: unknown, signal: Stop | null): boolean {
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

interface Facts {
  fiber: Fiber
  received: WeakSet<Fiber>
}
const facts = new WeakMap<object, Facts>()

/**
 * The fiber that an error came from: the first one whose body it left (S24).
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
  return typeof error === 'object' && error !== null ? facts.get(error)?.fiber : undefined
}

/** An error leaves the body of `fiber`: remember where it came from, and make it something that can travel. */
export function leaveBody(error: unknown, fiber: Fiber): object {
  const known = (typeof error === 'object' && error !== null) || typeof error === 'function'
  const traveller = (known ? error : new NonErrorThrown(error, fiber.path)) as object
  if (!facts.has(traveller)) facts.set(traveller, { fiber, received: new WeakSet() })
  return traveller
}

/** `fiber` receives this error. False if it has received the same object before (S25). */
export function markReceived(error: unknown, fiber: Fiber): boolean {
  const entry = facts.get(leaveBody(error, fiber))
  if (entry === undefined || entry.received.has(fiber)) return false
  entry.received.add(fiber)
  return true
}

/** Keeps `later` beside `first` in `first.suppressed` (S22). False if `first` cannot hold it (a frozen object). */
export function suppress(first: unknown, later: unknown): boolean {
  if (first === later) return true
  if ((typeof first !== 'object' && typeof first !== 'function') || first === null) return false
  try {
    const before = (first as { suppressed?: unknown }).suppressed
    if (Array.isArray(before) && before.includes(later)) return true
    if (Array.isArray(before) && !Object.isFrozen(before)) return before.push(later) > 0
    // What is there already stays: a SuppressedError brings one of its own.
    const list = before === undefined ? [] : Array.isArray(before) ? before : [before]
    const value = [...list, later]
    return Reflect.defineProperty(first, 'suppressed', {
      value,
      configurable: true,
      writable: true,
      enumerable: false,
    })
  } catch {
    return false // a getter that throws
  }
}

/**
 * The later errors that this one outshone, if any (S22).
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

/** What `raise` and `cancelAfter` accept: an error, an error class or a message. */
export type ErrorLike = Error | (new (message?: string) => Error) | string

/** Turns what was given into an error object, made by `Base` when it is only a message. */
export function makeError(
  given: ErrorLike | undefined,
  Base: new (message?: string) => Error,
  message: string,
): Error {
  checkError(given)
  if (given === undefined) return new Base(message)
  if (typeof given === 'string') return new Base(given)
  return typeof given === 'function' ? new given(message) : given
}

/** Refuses what cannot be thrown as an error. */
export function checkError(given: ErrorLike | undefined): void {
  const isClass = typeof given === 'function' && given.prototype instanceof Error
  if (
    given === undefined ||
    typeof given === 'string' ||
    isClass ||
    (typeof given === 'object' && given !== null)
  )
    return
  throw new BadArgument(`expected an error, an error class or a message, got ${show(given)}`)
}

/** A value as it should appear in a message: short, on one line. */
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

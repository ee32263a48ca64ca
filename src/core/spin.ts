// The call signatures and options of `spin` and `run`, their checks, and how options are applied to a fiber. Fibers are made
// in fiber.ts.

import { checkSignal, stopOnAbort } from './abort.js'
import { checkBody, type Result, type Returned } from './body.js'
import { BadArgument } from './errors.js'
import type { Fiber } from './fiber.js'
import type { Op } from './op.js'
import { type Checks, checkBoolean, checkName, checkOptions, checkTimeLimit } from './options.js'
import type { Runtime } from './runtime.js'

/** Options of `spin`. */
export interface SpinOptions {
  /** Shown in trees and reports. */
  name?: string
  /** Milliseconds that its cleanup may wait when it is stopped; default: the parent's, for a root 5,000. */
  grace?: number
  /** Stops the fiber when the signal aborts. */
  signal?: AbortSignal
  /** If false, errors go only to the fibers that await this one, not to its parent (S29); default true. */
  link?: boolean
  /**
   * If true, the fiber runs in the async context (AsyncLocalStorage) of its spin, and so do its children, each in that of
   * its own spin. If false, it runs without one. Default: as the parent (S56).
   */
  context?: boolean
}

/** The ways to call `spin`: with a body; with a name or options before it. */
export interface Spin {
  <R, A extends unknown[]>(body: (...args: A) => Returned<R>, ...args: A): Fiber<Result<R>>
  // The compiler shows the last signature when none fits, so a name and options share it.
  <R, A extends unknown[]>(
    nameOrOptions: string | SpinOptions,
    body: (...args: A) => Returned<R>,
    ...args: A
  ): Fiber<Result<R>>
}

/** Options of `run`. */
export interface RunOptions {
  /** Shown in trees and reports. */
  name?: string
  /** Stops the run when the signal aborts. */
  signal?: AbortSignal
  /** Milliseconds that its cleanup may wait when it is stopped. */
  grace?: number
  /**
   * Whether the root fiber and its children run in the async context of their spin. Default: true if `run` is called in one
   * (S56).
   */
  context?: boolean
}

/** The options of `run`. */
export const RUN_OPTIONS: Checks<RunOptions> = {
  signal: checkSignal,
  name: checkName,
  grace: checkTimeLimit,
  context: checkBoolean,
}
type RootOptions = SpinOptions & { outOfBand?: boolean }
const SPIN_OPTIONS: Checks<SpinOptions> = { ...RUN_OPTIONS, link: checkBoolean }
const ROOT_OPTIONS: Checks<RootOptions> = { ...SPIN_OPTIONS, outOfBand: checkBoolean }

/** Checks the options of `spin`. */
export function checkSpinOptions(given: unknown, runtime: Runtime): SpinOptions {
  const isOp = typeof (given as Op<unknown> | null)?.[Symbol.iterator] === 'function'
  if (typeof given !== 'object' || given === null || isOp) checkBody(given, 'spin()')
  return checkContext(checkOptions(given as SpinOptions, SPIN_OPTIONS, 'spin()'), runtime, 'spin()')
}

/** Checks the options of a root fiber. */
export function checkRootOptions(options: RootOptions, runtime: Runtime, where: string): void {
  checkContext(checkOptions(options, ROOT_OPTIONS, where), runtime, where)
}

function checkContext(options: SpinOptions, runtime: Runtime, where: string): SpinOptions {
  if (options.context !== true || runtime.backend.capture !== undefined) return options
  throw new BadArgument(`${where} cannot carry an async context: the backend has no capture()`)
}

/** Applies the options of `spin` or `run` to a new fiber. */
export function applyOptions(fiber: Fiber, options: SpinOptions): void {
  if (options.grace !== undefined) fiber.grace = options.grace
  if (options.link === false) fiber.rareState().isIsolated = true
  if (options.context !== undefined) carryContext(fiber, options.context)
  if (options.signal !== undefined) stopOnAbort(fiber, options.signal)
}

/** The child of a fiber with an async context gets one too: that of its own spin (S56). */
export function inheritContext(fiber: Fiber<any, any>, parent: Fiber): void {
  if (parent.rare !== null && parent.rare.context !== null) carryContext(fiber, true)
}

/** S56: captures the current async context for all steps of the fiber, cleanup included. */
function carryContext(fiber: Fiber<any, any>, isCarried: boolean): void {
  if (isCarried) fiber.rareState().context ??= fiber.runtime.backend.capture?.() ?? null
  else if (fiber.rare !== null) fiber.rare.context = null
}

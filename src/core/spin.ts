// Making fibers: as children (spin), or as the root of a tree (main, run, out-of-band).

import { onAbort } from './abort.js'
import { checkBody, nameOf, type Result, type Returned } from './body.js'
import { BadArgument, BadState, show } from './errors.js'
import { Fiber } from './fiber.js'
import { isForced, notInFiber } from './gate.js'
import type { Op } from './op.js'
import { checkGrace, checkName, checkOptions } from './options.js'
import { FORCED } from './phase.js'
import type { Region } from './region.js'
import { baton } from './runqueue.js'
import type { Runtime } from './runtime.js'
import { emit, tapped } from './tap.js'
import { link, type Owner } from './tree.js'

/** What `spin` may be told about the new fiber. */
export interface SpinOptions {
  /** Shown in trees and reports. */
  name?: string
  /** Milliseconds that its cleanup may wait when it is stopped; default: the parent's, at first 5,000. */
  grace?: number
  /** Stops the fiber when it is aborted. */
  signal?: AbortSignal
  /** `false`: errors go only to those who await the fiber, not to its parent (S29). */
  link?: boolean
  /**
   * `true`: it runs in the async context of this moment (AsyncLocalStorage), and so do its children, each in that of its
   * own spin. `false`: it does not, although its parent does. Default: as the parent (S56).
   */
  context?: boolean
}
const OPTION_NAMES = ['name', 'grace', 'signal', 'link', 'context']

/** The ways to call `spin`: with a body; with a name or options before it. */
export interface Spin {
  <R, A extends unknown[]>(body: (...args: A) => Returned<R>, ...args: A): Fiber<Result<R>>
  // The last is the one that the compiler speaks of when none fits, so a name and options share it.
  <R, A extends unknown[]>(
    nameOrOptions: string | SpinOptions,
    body: (...args: A) => Returned<R>,
    ...args: A
  ): Fiber<Result<R>>
}

const NO_ARGS: readonly unknown[] = []

/**
 * Starts a child of the current fiber and returns it at once; the body runs later (S05). A name or options may come
 * first, the arguments of the body come last.
 *
 * ```ts
 * function* work(ms: number) {
 *   yield* sleep(ms)
 *   return `${ms} ms later`
 * }
 * const plain = spin(work, 10)
 * const named = spin('worker', work, 20)
 * const patient = spin({ name: 'patient', grace: 30_000 }, work, 30)
 * console.log(yield* Fiber.await(plain, named, patient)) // [ '10 ms later', '20 ms later', '30 ms later' ]
 * ```
 */
export const spin = function spin(first: unknown, ...rest: unknown[]): Fiber {
  if (baton.fiber === null) throw notInFiber('spin()')
  return spinUnder(baton.fiber, first, rest)
} as Spin

/** `spin` for a given parent. */
export function spinUnder(parent: Fiber, first: unknown, rest: readonly unknown[]): Fiber {
  if (typeof first === 'function') {
    return spawn(parent, first as () => unknown, rest.length > 0 ? rest : NO_ARGS) // an idle fiber keeps no empty array
  }
  const body = rest[0] as () => unknown
  const args = rest.length > 1 ? rest.slice(1) : NO_ARGS
  if (typeof first === 'string') {
    checkName(first, 'spin()')
    return spawn(parent, body, args, first)
  }
  if (
    typeof first !== 'object' ||
    first === null ||
    typeof (first as Op<unknown>)[Symbol.iterator] === 'function'
  ) {
    checkBody(first, 'spin()')
  }
  const options = checkOptions(first as SpinOptions, OPTION_NAMES, 'spin()')
  checkGrace(options.grace, 'spin()')
  checkSignal(options.signal, 'spin()')
  checkName(options.name, 'spin()')
  checkContext(options.context, parent.runtime, 'spin()')
  const fiber = spawn(parent, body, args, options.name)
  applyOptions(fiber, options)
  return fiber
}

function spawn(
  parent: Fiber,
  body: (...args: any[]) => unknown,
  args: readonly unknown[],
  name?: string,
): Fiber {
  checkBody(body, 'spin()')
  if (parent._phase >= FORCED && !isCleaning(parent)) {
    const why = parent._phase === FORCED ? 'is being forced to end' : 'is over'
    throw new BadState(`${nameOf(body) || 'a fiber'} cannot be spun: its parent ${parent.path} ${why}`)
  }
  const { runtime } = parent
  const fiber = new Fiber(body, args, runtime, parent)
  if (name !== undefined) fiber.givenName = name
  inheritContext(fiber, parent)
  link(fiber, parent === baton.fiber ? innermostOwner(parent) : parent)
  runtime.alive++
  if (tapped) emit('spin', fiber)
  runtime.push(fiber)
  return fiber
}

/** Its body is over, and it runs what `use` has left to be done: each cleanup is a scope, which may have children (S06). */
function isCleaning(fiber: Fiber): boolean {
  return fiber.cold?.cleaning != null && fiber === baton.fiber && !isForced(fiber)
}

/** A fiber spun inside a `scope` belongs to that scope. */
export function innermostOwner(fiber: Fiber): Owner {
  let region = fiber.innermost
  while (!region.isOwner) region = region.outer as Region
  return region as Owner
}

/** What `run` may be told about its root fiber. */
export interface RunOptions {
  /** Shown in trees and reports. */
  name?: string
  /** Stops it when it is aborted. */
  signal?: AbortSignal
  /** Milliseconds that its cleanup may wait when it is stopped. */
  grace?: number
  /** Its steps, and those of its children, run in the async context of their spin (S56). */
  context?: boolean
}

/** Starts the root of a tree. `where` is the call that asked for it, for errors. */
export function spinRoot(
  runtime: Runtime,
  body: (...args: any[]) => unknown,
  options: RunOptions & { outOfBand?: boolean } = {},
  where = 'run()',
): Fiber {
  checkBody(body, where)
  checkGrace(options.grace, where)
  checkSignal(options.signal, where)
  checkName(options.name, where)
  checkContext(options.context, runtime, where)
  const fiber = new Fiber(body, NO_ARGS, runtime, null)
  fiber.givenName = options.name
  runtime.roots.add(fiber)
  runtime.alive++
  if (options.outOfBand) fiber.coldRecord().outOfBand = true
  if (tapped) emit('spin', fiber)
  runtime.push(fiber, options.outOfBand)
  applyOptions(fiber, options)
  return fiber
}

function applyOptions(fiber: Fiber, options: SpinOptions): void {
  if (options.grace !== undefined) fiber.grace = options.grace
  if (options.link === false) fiber.coldRecord().isolated = true
  if (options.context !== undefined) carryContext(fiber, options.context)
  if (options.signal !== undefined) stopOnAbort(fiber, options.signal)
}

/** The child of a fiber that carries a context carries one too: that of its own spin (S56). */
export function inheritContext(fiber: Fiber<any, any>, parent: Fiber): void {
  if (parent.cold !== null && parent.cold.context !== null) carryContext(fiber, true)
}

/** S56: from its first step to its last, cleanup included, it runs in the async context of this moment. */
function carryContext(fiber: Fiber<any, any>, isCarried: boolean): void {
  if (isCarried) fiber.coldRecord().context ??= fiber.runtime.backend.capture?.() ?? null
  else if (fiber.cold !== null) fiber.cold.context = null
}

/** S57: one listener, removed when the fiber ends, put back when it is restarted. */
export function stopOnAbort(fiber: Fiber<any, any>, signal: AbortSignal): void {
  const cold = fiber.coldRecord()
  cold.abortSignal = signal
  if (signal.aborted) {
    fiber.stop(undefined, { reason: signal.reason })
    return
  }
  cold.unlisten = onAbort(signal, () => fiber.stop(undefined, { reason: signal.reason }))
}

export function checkSignal(signal: AbortSignal | undefined, where: string): void {
  if (signal === undefined || typeof signal?.addEventListener === 'function') return
  throw new BadArgument(`${where} needs an AbortSignal as signal, got ${show(signal)}`)
}

function checkContext(context: boolean | undefined, runtime: Runtime, where: string): void {
  if (context === undefined || context === false) return
  if (context !== true) throw new BadArgument(`${where} needs true or false as context, got ${show(context)}`)
  if (runtime.backend.capture !== undefined) return
  throw new BadArgument(`${where} cannot carry an async context: the backend has no capture()`)
}

// Debug mode (POLYPHONY_DEBUG=1): stacks that continue through spin sites, ops that remember where they were made.
// Costs an Error object for each spin and op, so it is off unless asked for.

import type { Fiber } from './fiber.js'

/** An op or a block. */
interface Described {
  describe(): string
}

export let debugging = globalThis.process?.env?.POLYPHONY_DEBUG === '1'

export function setDebug(on: boolean): void {
  debugging = on
}

/** The lines of the caller's stack that are not the library's own. */
export function callSite(): string {
  const limit = Error.stackTraceLimit
  Error.stackTraceLimit = 25
  const stack = new Error().stack ?? ''
  Error.stackTraceLimit = limit
  return userStack(stack.slice(stack.indexOf('\n') + 1))
}

const here = new URL('..', import.meta.url).href
/** A stack without the frames of the library and of Node: what the user wrote. */
export function userStack(stack: string): string {
  return stack
    .split('\n')
    .filter((line) => !isLibraryFrame(line))
    .join('\n')
}

function isLibraryFrame(line: string): boolean {
  return (
    /^\s+at /.test(line) &&
    (line.includes(here) || /\bnode:/.test(line) || line.includes('.next (<anonymous>)'))
  )
}

const spinSites = new WeakMap<Fiber, string>()
const opSites = new WeakMap<object, string>()
/** The ops that a fiber has made and not entered, and in whose set each op is. */
const floating = new WeakMap<Fiber, Set<Described>>()
const makers = new WeakMap<object, Set<Described>>()

export function rememberSpin(fiber: Fiber): void {
  spinSites.set(fiber, callSite())
}

/** An op was made by `fiber`: remember where, until it is entered. */
export function rememberOp(op: Described, fiber: Fiber | null): void {
  opSites.set(op, callSite())
  if (fiber === null) return
  let ops = floating.get(fiber)
  if (ops === undefined) floating.set(fiber, (ops = new Set()))
  ops.add(op)
  makers.set(op, ops)
}

/** The op was entered by `yield*`, in whichever fiber. */
export function opEntered(op: Described): void {
  makers.get(op)?.delete(op)
}

/** An op that serves many waits is not one that somebody forgot to wait for. */
export function shared<O extends Described>(op: O): O {
  if (debugging) opEntered(op)
  return op
}

export function opSite(op: object): string | undefined {
  return opSites.get(op)
}

/** The ops that `fiber` made and never entered. */
export function floatingOps(fiber: Fiber): Iterable<Described> {
  const ops = floating.get(fiber) ?? []
  floating.delete(fiber)
  return ops
}

/** Lets the stack of an error that leaves `fiber` go on through the spin sites, up to the root. */
export function lengthenStack(error: unknown, fiber: Fiber): void {
  try {
    if (!(error instanceof Error) || typeof error.stack !== 'string') return
    const lines = [userStack(error.stack)]
    for (let f: Fiber | null = fiber; f !== null; f = f.parent) {
      const site = spinSites.get(f)
      if (site) lines.push(`    -- ${f.name} was spun`, site)
    }
    error.stack = lines.join('\n')
  } catch {
    // A frozen error, or one with a stack of its own, stays as it is.
  }
}

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

/**
 * How the places of the library's frames begin, by the address of this module. Source maps turn addresses into paths, and
 * dist into src. In a bundle there are none: nothing distinguishes a frame of the library from one of the user there.
 */
export function libraryPlaces(url: unknown): string[] {
  const root = /^(file:.*\/)(?:dist\/core\/debug\.js|src\/core\/debug\.ts)$/.exec(String(url))?.[1]
  if (root === undefined) return []
  const path = decodeURIComponent(root.replace(/^file:\/\/(?:\/(?=[A-Z]:))?/i, ''))
  return [root, `(${path}`, ` ${path}`].flatMap((start) => [`${start}dist/`, `${start}src/`])
}

// Not new URL(...): bundlers take that for an asset, and import.meta.url is undefined in a CommonJS bundle.
const places = libraryPlaces(import.meta.url)

/** A stack without the frames of the library and of Node: what the user wrote. */
export function userStack(stack: string, library = places): string {
  return stack
    .split('\n')
    .filter((line) => !isLibraryFrame(line, library))
    .join('\n')
}

function isLibraryFrame(line: string, library: string[]): boolean {
  if (!/^\s+at /.test(line)) return false
  const frame = line.replaceAll('\\', '/')
  return (
    /\bnode:/.test(frame) ||
    frame.includes('.next (<anonymous>)') ||
    library.some((place) => frame.includes(place))
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

// Debug mode (POLYPHONY_DEBUG=1): stacks that continue through spin sites, ops that remember where they were made. It costs
// an Error object for each spin and op, so it is off by default.

import type { Fiber } from './fiber.js'

/** An op or a block. */
interface Described {
  describe(): string
}

/** The description of an op, also if its `describe` throws (S70). */
export function describe(op: Described): string {
  try {
    const text: unknown = op.describe()
    if (typeof text === 'string') return text
  } catch {}
  return `an op of class ${op.constructor.name} whose describe() gives no text`
}

export let debugging = globalThis.process?.env?.POLYPHONY_DEBUG === '1'

export function setDebug(on: boolean): void {
  debugging = on
}

/** The caller's stack without the frames of the library. */
export function callSite(): string {
  const limit = Error.stackTraceLimit
  Error.stackTraceLimit = 25
  const stack = new Error().stack ?? ''
  Error.stackTraceLimit = limit
  return userStack(stack.slice(stack.indexOf('\n') + 1))
}

/**
 * How the locations of the library's frames begin, given the URL of this module. Source maps turn URLs into paths, and dist
 * into src. In a bundle there are none, since library frames look like user frames there.
 */
export function libraryPlaces(url: unknown): string[] {
  const root = /^(file:.*\/)(?:dist\/core\/debug\.js|src\/core\/debug\.ts)$/.exec(String(url))?.[1]
  if (root === undefined) return []
  const path = decodeURIComponent(root.replace(/^file:\/\/(?:\/(?=[A-Z]:))?/i, ''))
  return [root, `(${path}`, ` ${path}`].flatMap((start) => [`${start}dist/`, `${start}src/`])
}

// Not new URL(...): bundlers take that for an asset, and import.meta.url is undefined in a CommonJS bundle.
const places = libraryPlaces(import.meta.url)

/** A stack without the frames of the library and of Node. */
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
/** The last shared op that each fiber has waited for. */
const sharedWaits = new WeakMap<Fiber, { op: object; site: string | undefined }>()
/** The ops that each fiber has made and not entered; and for each op, the set that it is in. */
const floating = new WeakMap<Fiber, Set<Described>>()
const makers = new WeakMap<object, Set<Described>>()

export function rememberSpin(fiber: Fiber): void {
  spinSites.set(fiber, callSite())
}

/** Records where `fiber` made an op, until the op is entered. */
export function rememberOp(op: Described, fiber: Fiber | null): void {
  // An op of a user is made in a constructor of the user; the place that counts is where that was called.
  opSites.set(op, callSite().replace(/^(\s+at new .*\n)+/, ''))
  if (fiber === null) return
  let ops = floating.get(fiber)
  if (ops === undefined) floating.set(fiber, (ops = new Set()))
  ops.add(op)
  makers.set(op, ops)
}

/** The op was entered by `yield*`, in any fiber. */
export function opEntered(op: Described): void {
  makers.get(op)?.delete(op)
}

/** A fiber enters a shared op, of which it was given a copy. Returns the op. */
export function copyEntered<O extends Described>(copy: O, op: O, fiber: Fiber | null): O {
  opEntered(copy)
  if (fiber !== null) sharedWaits.set(fiber, { op, site: opSites.get(copy) })
  return op
}

/** Where an op was made; of a shared one, where the fiber got it that waits for it. */
export function opSite(op: object, fiber?: Fiber<any, any>): string | undefined {
  const wait = fiber && sharedWaits.get(fiber)
  return wait?.op === op ? wait.site : opSites.get(op)
}

/** The ops that `fiber` made and never entered. */
export function floatingOps(fiber: Fiber): Iterable<Described> {
  const ops = floating.get(fiber) ?? []
  floating.delete(fiber)
  return ops
}

/** Extends the stack of an error that leaves `fiber` by the spin sites up to the root. */
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

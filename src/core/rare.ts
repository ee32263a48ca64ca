// RareState: rarely used fiber state, allocated on first use to keep idle fibers small. The other fields are in fiber.ts.

import type { Context } from './backend.js'
import type { CleanupList } from './cleanup.js'
import type { Fiber } from './fiber.js'
import type { Mailbox } from './mailbox.js'
import type { Monitor } from './monitor.js'
import type { Restart } from './restart.js'
import type { Supervisor } from './tree.js'

export class RareState {
  incarnation = 1
  restart: Restart | null = null
  /** Ops refused to a forced fiber since it last yielded, and yields of things that are not ops. */
  refusals = 0
  badYields = 0
  /** `fiber.signal`; the AbortSignal that stops this fiber, and the function that removes the listener to it. */
  controller: AbortController | null = null
  abortSignal: AbortSignal | null = null
  stopListening: (() => void) | null = null
  /** Raw fibers have no parent; control goes back to the fiber that transferred to them last (S62). */
  isRaw = false
  transferrer: Fiber<any, any> | null = null
  /** Out-of-band fibers: roots that pass their errors to main (S46). */
  isOutOfBand = false
  /** `link: false`: errors go to awaiters only (S29). */
  isIsolated = false
  /** Set while this fiber is in `supervise`. */
  supervisor: Supervisor | null = null
  /** The monitors that this fiber has set: on living fibers, and all of them by target. */
  monitoring: Set<Monitor> | null = null
  monitors: WeakMap<Fiber<any, any>, Monitor> | null = null
  /** The cleanups of `use` (S60). */
  cleanups: CleanupList | null = null
  /** `fiber.mailbox`: the cap of its messages, and the fibers that wait for room. */
  mailbox: Mailbox<any> | null = null
  /** The async context in which its steps run, if it carries one (S56). */
  context: Context | null = null
  /** Its locals at the spin, once they have been changed. */
  born: ReadonlyMap<object, unknown> | null | undefined = undefined
}

/** Whether a body has left state in its fiber, which must not reach the next body run in the same fiber. */
export function hasTraces(fiber: Fiber): boolean {
  return fiber.newest !== null || fiber._mailbox !== null || (fiber.rare !== null && !isUntouched(fiber.rare))
}

/** Whether the state is as a new fiber has it that carries an async context (S56). */
function isUntouched(rare: RareState): boolean {
  const isAlone = rare.mailbox === null && rare.monitors === null && rare.monitoring === null
  const isPlain = rare.controller === null && rare.cleanups === null && rare.born === undefined
  return isAlone && isPlain && rare.restart === null && rare.incarnation === 1 && rare.badYields === 0
}

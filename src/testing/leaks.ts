// The leak sentinel: a count of everything that should be gone when a test is over.

import { runtimes } from '../core/index.js'

/** What is there now. Take one before and one after, and compare. */
export interface Leaks {
  readonly fibers: number
  readonly timers: number
  readonly runQueue: number
  readonly pendingOps: number
  /** Listeners on the process, by event. */
  readonly listeners: Record<string, number>
  /** What keeps the event loop alive, as Node names it; standard streams and what ends by itself aside. */
  readonly resources: string[]
}

/**
 * Counts what is alive in every runtime of this thread, and what Node holds.
 *
 * ```ts
 * const before = leaks()
 * await run(program)
 * assert.deepEqual(leaks(), before)
 * ```
 */
export function leaks(): Leaks {
  const sum = { fibers: 0, timers: 0, runQueue: 0, pendingOps: 0 }
  for (const runtime of runtimes) {
    const stats = runtime.stats()
    sum.fibers += stats.fibers
    sum.timers += stats.timers
    sum.runQueue += stats.runQueue
    sum.pendingOps += stats.pendingOps
  }
  return { ...sum, ...nodeProbe() }
}

function nodeProbe(): Pick<Leaks, 'listeners' | 'resources'> {
  const process = globalThis.process
  if (process?.getActiveResourcesInfo === undefined) return { listeners: {}, resources: [] }
  const listeners: Record<string, number> = {}
  for (const event of process.eventNames()) listeners[String(event)] = process.listenerCount(event as string)
  const standard = /^(TTYWrap|PipeWrap|FSReqCallback|FSReqPromise|Immediate)$/
  return { listeners, resources: process.getActiveResourcesInfo().filter((name) => !standard.test(name)) }
}

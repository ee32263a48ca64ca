// leaks: counts everything that should be gone when a test is over.

import { runtimes } from '../core/index.js'

/** What `leaks` returns: take one before and one after a test, and compare. */
export interface Leaks {
  /** Fibers that are not dead. */
  readonly fibers: number
  /** Timers that are set. */
  readonly timers: number
  /** Runnable fibers. */
  readonly runQueue: number
  /** Ops that hold the process. */
  readonly pendingOps: number
  /** Listeners on the process, by event. */
  readonly listeners: Record<string, number>
  /** What keeps the event loop alive, as Node names it, without standard streams and requests that end by themselves. */
  readonly resources: string[]
}

/**
 * Counts what is alive in every runtime of this thread, and what keeps Node alive. Take one before and one after a test,
 * and compare.
 *
 * ```ts
 * import { run, sleep, spin } from 'polyphony'
 * import { leaks } from 'polyphony/testing'
 *
 * const running = run(function* () {
 *   spin(() => sleep())
 *   yield* sleep(10)
 * })
 * console.log(leaks().fibers)
 * await running
 * console.log(leaks().fibers)
 * ```
 *
 * ```text
 * 1
 * 0
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
  const standard = /^(TTYWrap|PipeWrap|FSReqCallback|FSReqPromise|CloseReq|Immediate)$/
  return { listeners, resources: process.getActiveResourcesInfo().filter((name) => !standard.test(name)) }
}

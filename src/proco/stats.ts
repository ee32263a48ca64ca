// How an executor is doing, in figures.

import type { ProcoState } from './executor.js'
import type { Front } from './front.js'
import { type Distribution, Histogram } from './histogram.js'

/** Figures of a run; those of the last one while it is idle. */
export interface ProcoStats {
  /** Where it is in its life. */
  readonly state: ProcoState
  /** Items in queues. */
  readonly depth: number
  /** Submitters that wait for room. */
  readonly waiting: number
  /** Handlers at work. */
  readonly running: number
  /** Items that were taken in: `depth`, those in the hands of handlers, and those that have an outcome. */
  readonly accepted: number
  /** Items that have a result. */
  readonly done: number
  /** Items whose handler failed, or that timed out. */
  readonly failed: number
  /** Items that were cancelled or killed. */
  readonly cancelled: number
  /** Milliseconds that items waited in a queue, measured on one at a time in each queue. */
  readonly wait: Distribution
  /** Milliseconds that handlers took for a batch. */
  readonly run: Distribution
  /** Items in a batch. */
  readonly batchSize: Distribution
}

const EMPTY = new Histogram().read()
const MICROSECONDS = 1000

export function statsOf(state: ProcoState, front: Front | null): ProcoStats {
  if (front === null) {
    const none = { depth: 0, waiting: 0, running: 0, accepted: 0, done: 0, failed: 0, cancelled: 0 }
    return { state, ...none, wait: EMPTY, run: EMPTY, batchSize: EMPTY }
  }
  const { depth, waiting, runningBatches, counts, waits, runs, sizes } = front
  return {
    state,
    depth,
    waiting,
    running: runningBatches,
    ...counts,
    wait: waits.read(MICROSECONDS),
    run: runs.read(MICROSECONDS),
    batchSize: sizes.read(),
  }
}

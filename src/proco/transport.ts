// The seam between the front, which knows items, futures and limits, and whatever carries out the work: fibers here,
// worker threads or other machines elsewhere. A transport only ever sees batches.

import type { Fiber } from '../core/index.js'
import type { Batch } from './batch.js'
import type { Lane } from './lane.js'

/**
 * Carries out batches. It pulls: while it has a place free it calls `front.take()`, which gives a batch or undefined, and
 * for each batch it says once how that ended: `batch.succeed(value)`, `batch.fail(error)`, or `batch.end()` if it was
 * told to stop it.
 */
export interface Transport {
  /** There is something to take. Said once until `take()` is called; who frees a place without that calls `front.freed()`. */
  wake(): void
  /** This batch is not wanted any more: end it in order, then say `batch.end()`. Until then it takes up its place. */
  stop(batch: Batch<any>, reason: unknown): void
  /** All is done: let everything go, then call `front.closed()`. */
  close(): void
  /** End everything at once, then call `front.closed()`. Nobody waits for any batch any more. */
  kill(): void
  /** Whether this fiber is part of the work, and to wait for another item would mean to wait for ever (S85). */
  isStuck(fiber: Fiber): boolean
  /** Whether this fiber is the one that handles items with keys of this queue. */
  isHandling(fiber: Fiber, lane: Lane): boolean
  /** Whether this fiber is part of the work. */
  isInside(fiber: Fiber): boolean
}

// What a transport sees of the work: some items that are handled together, and the ways to say how that ended. Without
// batch mode it is a batch of one.

import { Cancel, show } from '../core/index.js'
import { Killed, MissingResult } from './errors.js'
import { DONE, FAILED } from './eventual.js'
import type { Front } from './front.js'
import { type Future, RUNNING } from './future.js'
import type { Lane } from './lane.js'

/** What a handler may want to know of the work it was given. */
export interface Work {
  /** Aborted when the work is no longer wanted: all its items were cancelled or timed out, or the executor was killed. */
  readonly signal: AbortSignal
}

/** Items that are handled together. */
export class Batch<I> implements Work {
  /** Futures that have no outcome yet. */
  open: number
  /** When it was taken, if it is timed. */
  since = -1
  /** Where it stands among those that run. */
  index = -1
  /** Whether one of its items has a key: nothing else of its queue runs meanwhile (S80). */
  isKeyed = false
  /** What the transport handles it with. */
  carrier: unknown = null
  private controller: AbortController | null = null
  private aborted: { reason: unknown } | null = null

  constructor(
    private readonly front: Front,
    readonly lane: Lane,
    /** What the handler is called with: an array of items in batch mode, else the item. */
    readonly argument: I | I[],
    /** Those of its items; one of a single item has no array. */
    private readonly futures: Future<any> | Future<any>[],
    readonly size: number,
  ) {
    this.open = size
  }

  get signal(): AbortSignal {
    if (this.controller === null) {
      this.controller = new AbortController()
      if (this.aborted !== null) this.controller.abort(this.aborted.reason)
    }
    return this.controller.signal
  }

  /** The handler has returned. */
  succeed(value: unknown): void {
    if (this.front.setup.results === 'each') {
      try {
        this.deal(value)
      } catch (error) {
        this.fail(error) // an array that cannot be read
        return
      }
    } else this.settleAll(DONE, value)
    this.front.over(this)
  }

  /** The handler has failed, or was lost. */
  fail(error: unknown): void {
    if (this.open > 0) this.front.log.failed(error, this.size)
    else if (!isAborted(error)) this.front.log.lost(error)
    this.settleAll(FAILED, error)
    this.front.over(this)
  }

  /** It is over, and its items have their outcomes. */
  end(): void {
    this.front.over(this)
  }

  /** One of its items is not waited for any more; `error` says why. */
  left(error: unknown): void {
    if (--this.open === 0) this.front.giveUp(this, error)
  }

  /** Tells the handler, if it listens, that the work is not wanted any more. */
  abort(reason: unknown): void {
    this.aborted = { reason }
    this.controller?.abort(reason)
  }

  /** All that are still open get the same outcome. */
  settleAll(phase: number, content: unknown): void {
    const { futures, open } = this
    if (open === 0) return
    this.open = 0
    this.front.counts.add(phase, open)
    if (Array.isArray(futures)) {
      for (const future of futures) if (future.phase === RUNNING) future.settle(phase, content)
    } else if (futures.phase === RUNNING) futures.settle(phase, content)
  }

  /** `results('each')`: an outcome for each item, by position. An Error fails its item; who gets none fails too. */
  private deal(results: unknown): void {
    const { front } = this
    const futures = this.futures as Future<any>[]
    const given = Array.isArray(results) ? results.length : 0
    if (given !== futures.length) front.log.mismatch(given, futures.length)
    for (let i = 0; i < futures.length; i++) {
      const future = futures[i] as Future<any>
      const result: unknown =
        i < given ? (results as unknown[])[i] : missing(front.label, results, i, futures.length)
      const phase = isError(result) ? FAILED : DONE
      if (future.phase !== RUNNING) continue // it has left; asked last, since a getter may do anything
      this.open--
      front.counts.add(phase, 1)
      future.settle(phase, result)
    }
  }
}

/** Also one of another realm: in test runners that use `vm`, those of Node itself are. */
function isError(result: unknown): boolean {
  if (typeof result !== 'object' || result === null) return false
  return result instanceof Error || Object.prototype.toString.call(result) === '[object Error]'
}

/** What is to be expected of a handler whose work was cancelled or killed. */
function isAborted(error: unknown): boolean {
  try {
    return (
      error instanceof Killed || error instanceof Cancel || (error as Error | null)?.name === 'AbortError'
    )
  } catch {
    return false // it cannot be looked at
  }
}

function missing(label: string, results: unknown, index: number, size: number): MissingResult {
  const what = Array.isArray(results) ? `an array of ${results.length}` : show(results)
  return new MissingResult(
    `the handler of ${label} returned ${what} for ${size} item${size === 1 ? '' : 's'}, so item ${index} has no result. ` +
      "With results: 'each' it returns an array with one result, or Error, for each item.",
  )
}

// What may end an item from outside: its time-out and its AbortSignal. Only items that were given one have such an object.

import { Cancel, check, onAbort, type Runtime, type TimerNode } from '../core/index.js'
import { TimedOut } from '../sync/index.js'
import { inWords } from './errors.js'
import { CANCELLED, FAILED } from './eventual.js'
import type { Future } from './future.js'

/** What may be said of one item. */
export interface SubmitOptions {
  /** Items with the same key go through the same queue, and one batch after the other, in order (S80). */
  key?: unknown
  /** Cancels the item when it is aborted; `get()` then throws `Cancel`, whose cause is the signal's reason. */
  signal?: AbortSignal
  /** Milliseconds from now to the result, waiting for room included; after that `get()` throws `TimedOut`. */
  timeout?: number
}
const OPTIONS = { key: check.any, signal: check.signal, timeout: check.timeLimit }

/** Gives a copy: the item may be handed in later, when the caller has changed the object. */
export function checkSubmitOptions(options: SubmitOptions, where: string): SubmitOptions {
  const { key, signal, timeout } = check.options(options, OPTIONS, where)
  return { key, signal, timeout } as SubmitOptions
}

/** The limits of one item, from its submission to its outcome. */
export class Limits implements TimerNode {
  time = 0
  seq = 0
  index = -1
  private unlisten: (() => void) | null = null

  constructor(
    private readonly future: Future<any>,
    private readonly runtime: Runtime,
    { signal, timeout }: SubmitOptions,
  ) {
    if (signal !== undefined)
      // first: one that is not what it seems may throw
      this.unlisten = onAbort(signal, () => future.leave(CANCELLED, aborted(future.lane.front.label, signal)))
    if (timeout !== undefined && timeout < Infinity) {
      this.timeout = timeout
      runtime.addTimer(this, runtime.now() + timeout)
    }
  }
  private readonly timeout: number = 0

  /** As a timer: it has taken too long. */
  fire(): void {
    const { future } = this
    const { label } = future.lane.front
    future.leave(
      FAILED,
      new TimedOut(`an item of ${label} was ${future.state} for too long: its timeout is ${this.timeout} ms`),
    )
  }

  end(): void {
    if (this.index >= 0) this.runtime.removeTimer(this)
    this.unlisten?.()
    this.unlisten = null
  }
}

export function aborted(label: string, { reason }: AbortSignal): Cancel {
  return new Cancel(`an item of ${label} was cancelled by its signal: ${inWords(reason)}`, { cause: reason })
}

// The place where tools listen: the inspector, the tests, a trace printed by hand. When nobody listens, an event
// costs one comparison. Listeners see events as they happen and must not throw; one that does is reported (S70).

import type { Fiber } from './fiber.js'
import { baton } from './runqueue.js'

/**
 * What happened to a fiber. spin: it was made. schedule: it became runnable. unblock: its turn began. block: its turn is over,
 * and `detail` is the op that it waits in, or `snooze()`. end: it is dead. The others are notes of things that would otherwise go unseen.
 */
export type TapEvent =
  | 'spin'
  | 'schedule'
  | 'unblock'
  | 'block'
  | 'end'
  | 'stop'
  | 'raise'
  | 'restart'
  | 'forced'
  | 'abandoned'
  | 'refused'
  | 'late'
  | 'dropped'
  | 'deadLetter'

/** What `tap` calls at every event. It must not throw; one that does is reported (S70). */
export type TapListener = (event: TapEvent, fiber: Fiber, detail?: unknown) => void

/** True while someone listens. Read it before calling `emit`. */
export let tapped = false
const listeners = new Set<TapListener>()
let emitting = false

/**
 * Listens to everything that happens to fibers. Returns a function that ends the listening.
 *
 * ```ts
 * const seen: string[] = []
 * const untap = tap((event, fiber) => seen.push(`${event} ${fiber.name}`))
 * spin('worker', () => {})
 * untap()
 * console.log(seen) // [ 'spin worker', 'schedule worker' ]
 * ```
 */
export function tap(listener: TapListener): () => void {
  listeners.add(listener)
  tapped = true
  return () => {
    listeners.delete(listener)
    tapped = listeners.size > 0
  }
}

/** Tells the listeners. What a listener itself causes is not told again. */
export function emit(event: TapEvent, fiber: Fiber, detail?: unknown): void {
  if (emitting) return
  emitting = true
  const holder = baton.fiber
  baton.fiber = null // a listener is nobody's code: what it waits for must not land in the fiber that happened to run
  try {
    for (const listener of listeners) {
      try {
        listener(event, fiber, detail)
      } catch (error) {
        fiber.runtime.uncaught(error, 'a tap listener threw')
      }
    }
  } finally {
    baton.fiber = holder
    emitting = false
  }
}

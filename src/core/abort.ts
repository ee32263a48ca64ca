// Listens to AbortSignals. Each signal gets one listener, however many callbacks there are, since adding many listeners to
// one signal is quadratic. The other direction, `fiber.signal`, is in fiber.ts.

import { BadArgument, show } from './errors.js'
import type { Fiber } from './fiber.js'

interface Watched {
  readonly callbacks: Set<() => void>
  readonly listener: () => void
}
const watched = new WeakMap<AbortSignal, Watched>()

/**
 * Calls back once when the signal aborts, which must not have happened yet; returns a function that removes the callback.
 * Each signal has one listener, however many callbacks there are: thousands of requests may share a signal (S57).
 *
 * ```ts
 * const controller = new AbortController()
 * onAbort(controller.signal, () => console.log('aborted')) // aborted
 * const forget = onAbort(controller.signal, () => console.log('forgotten')) // never printed
 * forget()
 * controller.abort()
 * ```
 */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
  checkSignal(signal, 'onAbort()')
  let entry = watched.get(signal)
  if (entry === undefined) {
    const callbacks = new Set<() => void>()
    const listener = () => {
      for (const each of [...callbacks]) each()
    }
    entry = { callbacks, listener }
    watched.set(signal, entry)
    signal.addEventListener('abort', listener, { once: true })
  }
  const { callbacks, listener } = entry
  callbacks.add(callback)
  return () => {
    if (!callbacks.delete(callback) || callbacks.size > 0) return
    signal.removeEventListener('abort', listener)
    watched.delete(signal)
  }
}

/** Throws unless `signal` is an AbortSignal. */
export function checkSignal(signal: unknown, what: string): void {
  if (typeof (signal as AbortSignal | null)?.addEventListener === 'function') return
  throw new BadArgument(`${what} needs an AbortSignal, got ${show(signal)}`)
}

/** S57: stops the fiber when the signal aborts. The listener is removed when the fiber ends, and added at a restart. */
export function stopOnAbort(fiber: Fiber<any, any>, signal: AbortSignal): void {
  const rare = fiber.rareState()
  rare.abortSignal = signal
  const stop = () => fiber.stop(undefined, { reason: signal.reason })
  if (signal.aborted) stop()
  else rare.stopListening = onAbort(signal, stop)
}

// Listening to AbortSignals. However many listen to one signal, it has one listener of ours: adding many to a signal is
// quadratic.

interface Watched {
  readonly callbacks: Set<() => void>
  readonly listener: () => void
}
const watched = new WeakMap<AbortSignal, Watched>()

/** Calls back once when a signal that is not aborted yet is; gives what ends the listening (S57). */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
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

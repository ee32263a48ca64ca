// subscribe: adds and removes listeners of Node's emitters and of the web's event targets. Used by on and once (events.ts).

import { BadArgument, show } from '../core/index.js'

/** The name of an event. */
export type EventName = string | symbol

/** An event emitter as in Node. */
export interface Emitter {
  /** Adds a listener. */
  on(event: any, listener: (...args: any[]) => void): unknown
  /** Removes a listener. */
  removeListener(event: any, listener: (...args: any[]) => void): unknown
}

export function isEmitter(emitter: Emitter | EventTarget): emitter is Emitter {
  const { on, removeListener } = emitter as Emitter
  return typeof on === 'function' && typeof removeListener === 'function'
}

export function checkEmitter(emitter: Emitter | EventTarget, event: EventName, where: string): void {
  if (emitter == null || !(isEmitter(emitter) || isTarget(emitter))) {
    throw new BadArgument(`${where} needs an EventEmitter or an EventTarget, got ${show(emitter)}`)
  }
  if (typeof event !== 'string' && (typeof event !== 'symbol' || !isEmitter(emitter))) {
    throw new BadArgument(`${where} needs the name of an event, got ${show(event)}`)
  }
}

function isTarget(target: Emitter | EventTarget): target is EventTarget {
  const { addEventListener, removeEventListener } = target as EventTarget
  return typeof addEventListener === 'function' && typeof removeEventListener === 'function'
}

/** Adds all listeners, or none if one fails. Returns a function that removes them. */
export function subscribe(
  emitter: Emitter | EventTarget,
  listeners: ReadonlyMap<EventName, (...args: any[]) => void>,
): () => void {
  const added: [EventName, (...args: any[]) => void][] = []
  /** If removing one throws, the others are still removed. */
  const remove = () => {
    let broken: { readonly error: unknown } | null = null
    while (added.length > 0) {
      const [event, listener] = added.pop() as (typeof added)[number]
      try {
        if (isEmitter(emitter)) emitter.removeListener(event, listener)
        else emitter.removeEventListener(event as string, listener)
      } catch (error) {
        broken ??= { error }
      }
    }
    if (broken !== null) throw broken.error
  }
  try {
    for (const [event, listener] of listeners) {
      added.push([event, listener])
      if (isEmitter(emitter)) emitter.on(event, listener)
      else emitter.addEventListener(event as string, listener)
    }
  } catch (error) {
    try {
      remove()
    } catch {} // the first error is thrown
    throw error
  }
  return remove
}

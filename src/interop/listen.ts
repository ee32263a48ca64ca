// Adding and removing listeners, of Node's emitters and of the web's event targets.

import { BadArgument, show } from '../core/index.js'

/** The name of an event. */
export type EventName = string | symbol

/** What listeners can be added to in the way of Node. */
export interface Emitter {
  /** Adds a listener. */
  on(event: any, listener: (...args: any[]) => void): unknown
  /** Takes it away again. */
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

/** Adds all of them or none. Gives what removes them. */
export function subscribe(
  emitter: Emitter | EventTarget,
  listeners: ReadonlyMap<EventName, (...args: any[]) => void>,
): () => void {
  const added: [EventName, (...args: any[]) => void][] = []
  /** Whatever one of them throws, the others are removed too. */
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
    } catch {} // no worse than what is thrown
    throw error
  }
  return remove
}

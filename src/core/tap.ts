// tap: where tools listen to events of fibers: the inspector, tests, a trace. Without listeners, an event costs one
// comparison; the three events of every switch have a flag of their own, so that listening to the others does not slow
// switches down. Listeners are called synchronously and must not throw; an exception is reported (S70).

import { callout } from './current.js'
import { BadArgument, show } from './errors.js'
import type { Fiber } from './fiber.js'
import { checkOptions } from './options.js'

const SWITCH_EVENTS = ['schedule', 'unblock', 'block'] as const
const EVENTS = [
  'spin',
  ...SWITCH_EVENTS,
  'end',
  'move',
  'stop',
  'raise',
  'restart',
  'forced',
  'abandoned',
  'refused',
  'late',
  'dropped',
  'deadLetter',
] as const

/**
 * What happened to a fiber. spin: it was made. schedule: it became runnable. unblock: its step began. block: its step is over,
 * and `detail` is the op that it waits in, or `snooze()`. end: an incarnation has ended, and `detail` is its outcome. move: it
 * has another parent, and `detail` is the old one. The others make things visible that would otherwise go unnoticed.
 */
export type TapEvent = (typeof EVENTS)[number]

/** Called at every event. It must not throw; an exception is reported (S70). */
export type TapListener = (event: TapEvent, fiber: Fiber, detail?: unknown) => void

/** Options of `tap`. */
export interface TapOptions {
  /** The events to listen to; default: all. `schedule`, `unblock` and `block` happen at every switch, and cost most. */
  events?: readonly TapEvent[]
}

/** True while a tool listens to any event but those of switches. Read it before calling `emit`. */
export let tapped = false
/** True while a tool listens to the events of switches. */
export let tappedSwitches = false
let taps: readonly { readonly listener: TapListener; readonly events: ReadonlySet<TapEvent> }[] = []
let isEmitting = false

/**
 * Listens to events of fibers. Returns a function that removes the listener.
 *
 * ```ts
 * const seen: string[] = []
 * const untap = tap((event, fiber) => seen.push(`${event} ${fiber.name}`), { events: ['spin', 'end'] })
 * yield* spin('worker', () => {})
 * untap()
 * console.log(seen) // [ 'spin worker', 'end worker' ]
 * ```
 */
export function tap(listener: TapListener, options: TapOptions = {}): () => void {
  if (typeof listener !== 'function')
    throw new BadArgument(`tap() needs a function to call, got ${show(listener)}`)
  const { events = EVENTS } = checkOptions(options, { events: checkEvents }, 'tap()')
  const entry = { listener, events: new Set(events) }
  setTaps([...taps, entry])
  return () => setTaps(taps.filter((other) => other !== entry))
}

function setTaps(next: typeof taps): void {
  taps = next
  const wanted = new Set(taps.flatMap(({ events }) => [...events]))
  tappedSwitches = SWITCH_EVENTS.some((event) => wanted.has(event))
  tapped = EVENTS.some((event) => wanted.has(event) && !SWITCH_EVENTS.includes(event as 'block'))
}

function checkEvents(events: unknown): void {
  if (!Array.isArray(events)) throw new BadArgument(`tap() needs an array of events, got ${show(events)}`)
  for (const event of events) {
    if (EVENTS.includes(event)) continue
    throw new BadArgument(`tap() knows no event ${show(event)}; there are: ${EVENTS.join(', ')}`)
  }
}

/** Calls the listeners. Events that a listener itself causes are not emitted. */
export function emit(event: TapEvent, fiber: Fiber, detail?: unknown): void {
  if (isEmitting) return
  isEmitting = true
  try {
    for (const { listener, events } of taps) {
      if (events.has(event)) callout(fiber.runtime, 'a tap listener', () => listener(event, fiber, detail))
    }
  } finally {
    isEmitting = false
  }
}

// Node's event loop as a backend (core/backend.ts). Fibers drain in one microtask; the loop gets its turn by setImmediate;
// all timers of a runtime share one setTimeout, which holds the process exactly while a fiber waits for time (S64).
//
// Turns run without an async context (S56). A microtask, an immediate or a timer runs in the async context in which it was
// requested, which may be that of any caller; so they are requested `outside`.

import { AsyncResource } from 'node:async_hooks'
import type { Backend, Context, Report, Runtime } from '../core/index.js'
import { printReport } from './report.js'

// Copied now: fake timers that a test installs later must not stop this clock.
const { clearTimeout, performance, setImmediate, setInterval, setTimeout } = globalThis
const resolved = Promise.resolve()
/** Long enough to never matter, short enough for setTimeout. */
const A_LONG_TIME = 2 ** 31 - 1

/** A resource without an async context. */
const outside = new AsyncResource('polyphony')
// An AsyncResource keeps its async context under symbols: since Node 24 all stores in one map, before that one by one.
const symbols = Object.getOwnPropertySymbols(outside)
const FRAME_KEY = symbols.find((key) => key.description === 'context_frame')
const ID_KEYS = symbols.filter((key) => key.description?.endsWith('async_id_symbol'))
for (const key of symbols) {
  if (!ID_KEYS.includes(key)) Reflect.set(outside, key, undefined) // this module may be imported inside a context
}

/** An AsyncResource, as in AsyncLocalStorage.snapshot(), at a hundredth of its cost. */
function captureContext(): Context {
  const resource = new AsyncResource('polyphony.fiber')
  return (step, fiber) => resource.runInAsyncScope(step, null, fiber)
}

/**
 * Whether any AsyncLocalStorage has a value here. Node has no API for it; a test checks this on each version of Node.
 * Before Node 24, promises have ids once a storage has been used; while they have none, no storage has a value.
 */
export function isInContext(): boolean {
  const lookAt = (thing: object) => thing as Record<symbol, unknown>
  if (FRAME_KEY !== undefined) return hasStores(lookAt(new AsyncResource('polyphony'))[FRAME_KEY])
  const promise = lookAt(Promise.resolve())
  if (ID_KEYS.every((key) => promise[key] === undefined)) return false
  const resource = lookAt(new AsyncResource('polyphony'))
  return Object.getOwnPropertySymbols(resource).some(
    (key) => !ID_KEYS.includes(key) && resource[key] !== undefined,
  )
}

/** A storage without a value may still be in the map. */
function hasStores(frame: unknown): boolean {
  let isFound = false
  if (frame !== undefined) {
    Map.prototype.forEach.call(frame, (store) => {
      isFound ||= store !== undefined
    })
  }
  return isFound
}

export class NodeBackend implements Backend {
  readonly isDirect = true
  private timeout: NodeJS.Timeout | null = null
  private armedFor = Infinity
  private isRef = false
  private isYielding = false
  private keepAlive: NodeJS.Timeout | null = null
  private readonly askForTurn: () => void
  private readonly askForBatch: () => void
  private readonly askForAlarm: () => void

  constructor(runtime: Runtime) {
    const turn = () => runtime.turn()
    const immediate = () => {
      this.isYielding = false
      runtime.batch()
    }
    const ring = () => {
      this.armedFor = Infinity
      this.timeout = null
      runtime.batch()
    }
    this.askForTurn = () => void resolved.then(turn)
    this.askForBatch = () => void setImmediate(immediate)
    this.askForAlarm = () => {
      const ms = Math.min(A_LONG_TIME, Math.max(1, Math.ceil(this.armedFor - this.now())))
      this.timeout = setTimeout(ring, ms)
    }
  }

  capture(): Context {
    return captureContext()
  }

  now(): number {
    return performance.now()
  }

  wake(): void {
    outside.runInAsyncScope(this.askForTurn)
  }

  yieldTurn(): void {
    if (this.isYielding) return
    this.isYielding = true
    outside.runInAsyncScope(this.askForBatch)
  }

  /** If the next timer is cancelled, the timeout stays armed but no longer keeps the process: most time-outs never fire. */
  rest(next: number, isAwaited: boolean): void {
    if (next < this.armedFor) this.arm(next)
    if (this.timeout !== null && isAwaited !== this.isRef) {
      this.isRef = isAwaited
      if (isAwaited) this.timeout.ref()
      else this.timeout.unref()
    }
  }

  private arm(time: number): void {
    if (this.timeout !== null) clearTimeout(this.timeout)
    this.armedFor = time
    outside.runInAsyncScope(this.askForAlarm)
    this.isRef = true
  }

  /** The interval is reused: making a new one for each wait would cost more. */
  hold(held: boolean): void {
    if (this.keepAlive === null) this.keepAlive = setInterval(() => {}, A_LONG_TIME)
    if (held) this.keepAlive.ref()
    else this.keepAlive.unref()
  }

  report(report: Report): void {
    printReport(report)
  }
}

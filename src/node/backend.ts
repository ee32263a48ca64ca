// The real world: Node's event loop as a backend. Fibers drain in one microtask; the loop gets its turn by setImmediate;
// all timers of a runtime share one setTimeout, which holds the process exactly while a fiber waits for time (S64).

import { AsyncResource } from 'node:async_hooks'
import type { Backend, Context, Report, Runtime } from '../core/index.js'
import { printReport } from './report.js'

// As they are now: fake timers that a test installs later, and takes away again, must not stop this clock.
const { clearTimeout, performance, setImmediate, setInterval, setTimeout } = globalThis
const resolved = Promise.resolve()
/** The context of no one: that of the import. */
const outside = new AsyncResource('polyphony')
/** Long enough to never matter, short enough for setTimeout. */
const A_LONG_TIME = 2 ** 31 - 1

/** An AsyncResource, which is what AsyncLocalStorage.snapshot() is made of, at a hundredth of its cost. */
function captureContext(): Context {
  const resource = new AsyncResource('polyphony.fiber')
  return (step, fiber) => resource.runInAsyncScope(step, null, fiber)
}

export class NodeBackend implements Backend {
  private timeout: NodeJS.Timeout | null = null
  private armedFor = Infinity
  private isRef = false
  private isYielding = false
  /** Whether any fiber has ever carried an async context. */
  private isCarrying = false
  private keepAlive: NodeJS.Timeout | null = null
  private readonly turn: () => void
  private readonly immediate: () => void
  private readonly ring: () => void

  constructor(runtime: Runtime) {
    const turn = () => runtime.turn()
    const batch = () => runtime.batch()
    this.turn = () => this.go(turn)
    this.immediate = () => {
      this.isYielding = false
      this.go(batch)
    }
    this.ring = () => {
      this.armedFor = Infinity
      this.timeout = null
      this.go(batch)
    }
  }

  /** Once fibers carry contexts, that of whoever happened to wake the others must not become theirs. */
  private go(turn: () => void): void {
    if (this.isCarrying) outside.runInAsyncScope(turn)
    else turn()
  }

  capture(): Context {
    this.isCarrying = true
    return captureContext()
  }

  now(): number {
    return performance.now()
  }

  wake(): void {
    resolved.then(this.turn)
  }

  yieldTurn(): void {
    if (this.isYielding) return
    this.isYielding = true
    setImmediate(this.immediate)
  }

  /** On cancel the timer stays armed, it only lets go of the process: most time-outs never fire. */
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
    this.timeout = setTimeout(this.ring, Math.min(A_LONG_TIME, Math.max(1, Math.ceil(time - this.now()))))
    this.isRef = true
  }

  /** The timer stays: where a wait follows a wait, as in a conversation, to make a new one each time would cost more. */
  hold(held: boolean): void {
    if (this.keepAlive === null) this.keepAlive = setInterval(() => {}, A_LONG_TIME)
    if (held) this.keepAlive.ref()
    else this.keepAlive.unref()
  }

  report(report: Report): void {
    printReport(report)
  }
}

// World: a runtime with a virtual clock, for one test. When no fiber is runnable, the clock jumps to the next timer, so a
// test never really sleeps, and runs the same way each time.

import { AsyncResource } from 'node:async_hooks'
import {
  type Backend,
  type Context,
  DeadlockError,
  type Fiber,
  FiberStopped,
  isSuspended,
  type Outcome,
  type Policy,
  PolyphonyError,
  type Probe,
  type Report,
  Runtime,
  spinRoot,
} from '../core/index.js'
import { formatTrees, viewTrees } from '../view/index.js'

// Copied now: fake timers that a test installs later must not stop this.
const { clearInterval, setInterval } = globalThis
const A_LONG_TIME = 2 ** 31 - 1

class VirtualBackend implements Backend {
  time = 0
  readonly reports: Report[] = []
  onReport: ((report: Report) => void) | null = null
  /** What `onReport` threw first: it must not be thrown in the fiber that happened to cause the report (S70). */
  refusal: { error: unknown } | null = null
  /** Called when an event from outside makes a fiber runnable while `advance` is not running. */
  onWake: (() => void) | null = null
  /** Called when an event from outside sets a timer meanwhile. */
  onTimer: (() => void) | null = null
  private keepAlive: ReturnType<typeof setInterval> | undefined

  now(): number {
    return this.time
  }
  wake(): void {
    this.onWake?.()
  }
  yieldTurn(): void {}
  rest(_nextTimer: number, isAwaited: boolean): void {
    if (isAwaited) this.onTimer?.()
  }
  /** Keeps the process alive while a fiber waits for something outside. */
  hold(held: boolean): void {
    clearInterval(this.keepAlive)
    if (held) this.keepAlive = setInterval(() => {}, A_LONG_TIME)
  }
  report(report: Report): void {
    this.reports.push(report)
    try {
      this.onReport?.(report)
    } catch (error) {
      this.refusal ??= { error }
    }
  }
  capture(): Context {
    const resource = new AsyncResource('polyphony.fiber')
    return (step, fiber) => resource.runInAsyncScope(step, null, fiber)
  }
}

interface WorldOptions {
  policy?: Policy | null
  probe?: Probe | null
  /** The calling function, for messages. */
  where?: string
  /** After this many switches the run counts as endless. */
  maxSwitches?: number
  /** Called with each report; default: they are only kept. */
  onReport?: (report: Report) => void
}

export class World {
  readonly backend = new VirtualBackend()
  readonly runtime: Runtime
  readonly root: Fiber
  private readonly maxSwitches: number

  constructor(body: () => unknown, options: WorldOptions = {}) {
    this.backend.onReport = options.onReport ?? null
    this.runtime = new Runtime(() => this.backend)
    this.runtime.isTimed = true // reading this clock costs nothing
    this.runtime.policy = options.policy ?? null
    this.runtime.probe = options.probe ?? null
    this.maxSwitches = options.maxSwitches ?? 5_000_000
    this.root = spinRoot(this.runtime, body, { name: 'main' }, options.where)
    this.runtime.main = this.root
  }

  /** Runs until the root is dead ('done') or fibers wait only for something outside ('outside'). `jump`: whether the clock may jump. */
  advance(jump = true): 'done' | 'outside' {
    const { runtime, root } = this
    for (;;) {
      while (!runtime.queue.isEmpty) {
        runtime.batch()
        if (runtime.stats().switches > this.maxSwitches)
          this.refuse(`still running after ${this.maxSwitches} switches`)
      }
      if (root.state === 'dead') return 'done'
      if (!jump && runtime.external > 0) return 'outside'
      if (runtime.timers.size > 0) this.jump()
      else if (runtime.external > 0) return 'outside'
      else if (isSuspended(root)) root.schedule(undefined)
      else this.refuse('nothing can ever happen here again')
    }
  }

  /** Moves the clock to the next timer and fires it. */
  jump(): void {
    const { backend, runtime } = this
    backend.time = Math.max(backend.time, runtime.nextTimer)
    runtime.batch()
  }

  private refuse(why: string): never {
    const error = new DeadlockError(`${why}:\n\n${formatTrees(viewTrees(this.runtime))}\n`)
    throw error
  }

  get outcome(): Outcome<unknown> {
    return this.root.outcome as Outcome<unknown>
  }

  /** Returns the result of the root, or throws its error. */
  result(): unknown {
    const { outcome } = this
    if (outcome.type === 'error') throw outcome.error
    if (outcome.type === 'value' || (outcome.type === 'stopped' && outcome.value !== undefined))
      return outcome.value
    throw new FiberStopped(`${this.root.path} was ${outcome.type} without a value`)
  }

  /** Throws what `onReport` threw. */
  checkReports(): void {
    if (this.backend.refusal !== null) throw this.backend.refusal.error
  }

  /** Throws if anything of a finished world is left. */
  checkLeaks(): void {
    const { fibers, timers, runQueue, pendingOps } = this.runtime.stats()
    const left = Object.entries({ fibers, timers, runQueue, pendingOps }).filter(([, n]) => n !== 0)
    if (left.length === 0) return
    throw new LeakError(
      `after the end there were still ${left.map(([name, n]) => `${n} ${name}`).join(', ')}`,
    )
  }

  close(): void {
    this.backend.hold(false)
    this.runtime.close()
  }
}

/**
 * A fiber, a timer or a wait outlived the test.
 *
 * ```ts
 * import { Fiber, sleep } from 'polyphony'
 * import { LeakError, virtual } from 'polyphony/testing'
 *
 * const test = virtual(() => {
 *   Fiber.outOfBand(() => sleep(1000)) // has no parent to stop it
 * })
 * await test.catch((error) => console.log(error instanceof LeakError))
 * ```
 *
 * ```text
 * true
 * ```
 */
export class LeakError extends PolyphonyError {
  override readonly code = 'LEAK'
}

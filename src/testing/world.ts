// A world of its own for one test: a runtime whose clock jumps. When nothing is runnable, time moves to the next timer,
// so a test never really sleeps, and runs the same way each time.

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

// As they are now: fake timers that a test installs later must not stop this.
const { clearInterval, setInterval } = globalThis
const A_LONG_TIME = 2 ** 31 - 1

class VirtualBackend implements Backend {
  time = 0
  readonly reports: Report[] = []
  /** Called when something from outside made a fiber runnable while nobody drove the world. */
  onWake: (() => void) | null = null
  /** Called when something from outside has set a timer meanwhile. */
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
  /** A wait for the outside: the process must not end before its answer has come. */
  hold(held: boolean): void {
    clearInterval(this.keepAlive)
    if (held) this.keepAlive = setInterval(() => {}, A_LONG_TIME)
  }
  report(report: Report): void {
    this.reports.push(report)
  }
  capture(): Context {
    const resource = new AsyncResource('polyphony.fiber')
    return (step, fiber) => resource.runInAsyncScope(step, null, fiber)
  }
}

interface WorldOptions {
  policy?: Policy | null
  probe?: Probe | null
  /** The call that made it, for errors. */
  where?: string
  /** How many switches before the world counts as endless. */
  maxSwitches?: number
}

export class World {
  readonly backend = new VirtualBackend()
  readonly runtime: Runtime
  readonly root: Fiber
  private readonly maxSwitches: number

  constructor(body: () => unknown, options: WorldOptions = {}) {
    this.runtime = new Runtime(() => this.backend)
    this.runtime.policy = options.policy ?? null
    this.runtime.probe = options.probe ?? null
    this.maxSwitches = options.maxSwitches ?? 5_000_000
    this.root = spinRoot(this.runtime, body, { name: 'main' }, options.where)
    this.runtime.main = this.root
  }

  /** Runs until the root is dead ('done') or only the outside can go on ('outside'). Jumps over time unless told not to. */
  advance(jump = true): 'done' | 'outside' {
    const { runtime, root } = this
    for (;;) {
      while (runtime.queue.size > 0) {
        runtime.batch()
        if (runtime.stats().switches > this.maxSwitches) this.refuse('this world goes on for ever')
      }
      if (root.state === 'dead') return 'done'
      if (!jump && runtime.external > 0) return 'outside'
      if (runtime.timers.size > 0) this.jump()
      else if (runtime.external > 0) return 'outside'
      else if (isSuspended(root)) root.schedule(undefined)
      else this.refuse('nothing can ever happen here again')
    }
  }

  /** To the next timer. */
  jump(): void {
    const { backend, runtime } = this
    backend.time = Math.max(backend.time, runtime.nextTimer)
    runtime.timers.fire(backend.time)
    runtime.weakTimers.fire(backend.time)
    if (runtime.queue.size === 0) runtime.turn() // else it would think that it is awake, and tell nobody of the next one
  }

  private refuse(why: string): never {
    const error = new DeadlockError(`${why}:\n\n${formatTrees(viewTrees(this.runtime))}\n`)
    throw error
  }

  get outcome(): Outcome<unknown> {
    return this.root.outcome as Outcome<unknown>
  }

  /** The result of the root, or its error. */
  result(): unknown {
    const { outcome } = this
    if (outcome.type === 'error') throw outcome.error
    if (outcome.type === 'value' || (outcome.type === 'stopped' && outcome.value !== undefined))
      return outcome.value
    throw new FiberStopped(`${this.root.path} was ${outcome.type} without a value`)
  }

  /** Whether anything of a finished world is left; throws what. */
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
 * Something was left behind: a fiber, a timer or a wait that outlived the test.
 *
 * ```ts
 * import { Fiber, sleep } from 'polyphony'
 * import { LeakError, virtual } from 'polyphony/testing'
 *
 * const test = virtual(() => {
 *   Fiber.outOfBand(() => sleep(1000)) // belongs to nobody, so nobody stops it
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

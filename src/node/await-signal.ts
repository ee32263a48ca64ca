// awaitSignal: waits for a signal of the process. Handlers that stay are in trap.ts; which listener gets a signal is
// decided in signals.ts.

import { BadArgument, type Fiber, IdleOp, type Op, settle } from '../core/index.js'
import {
  checkSignalName,
  checkThread,
  holdFor,
  type Listener,
  listen,
  type SignalName,
  unlisten,
} from './signals.js'

class AwaitSignal extends IdleOp<string> implements Listener {
  private fiber: Fiber | null = null

  constructor(private readonly signals: ReadonlySet<string>) {
    super()
  }

  enter(fiber: Fiber): void {
    this.refuseSecond(this.fiber)
    this.fiber = fiber
    for (const signal of this.signals) listen(signal, this, 'takers')
    holdFor(fiber, true)
  }

  abort(fiber: Fiber): void {
    this.fiber = null
    for (const signal of this.signals) unlisten(signal, this, 'takers')
    holdFor(fiber, false)
  }

  heard(signal: string): void {
    const { fiber } = this
    if (fiber === null) return // aborted by another listener to the same signal
    this.abort(fiber)
    settle(fiber, this, signal)
  }

  describe(): string {
    return `awaitSignal(${[...this.signals].join(', ')})`
  }
  override get kind(): string {
    return 'signal'
  }
}

/**
 * Waits for the first of these signals and returns its full name. While a fiber waits, `main` does not act on them, and
 * the process is kept alive (S47, S64). Names are with or without SIG, in upper or lower case.
 *
 * ```ts
 * import { awaitSignal, main, sleep, spin } from 'polyphony'
 *
 * main(function* () {
 *   spin(function* () {
 *     yield* sleep(10)
 *     process.kill(process.pid, 'SIGTERM') // as `kill` does
 *   })
 *   const signal = yield* awaitSignal('INT', 'TERM')
 *   console.log(`got ${signal}, quitting`)
 * })
 * ```
 *
 * ```text
 * got SIGTERM, quitting
 * ```
 *
 * Between two waits, `main` acts on the signals again. For signals that may come more than once, use `trap`.
 */
export function awaitSignal<S extends string>(...signals: S[]): Op<SignalName<S>> {
  const names = signals.map((name) => checkSignalName(name, 'awaitSignal()'))
  if (names.length === 0) {
    throw new BadArgument("awaitSignal() needs at least one signal to wait for: awaitSignal('INT', 'TERM')")
  }
  checkThread('awaitSignal()')
  return new AwaitSignal(new Set(names)) as Op<any>
}

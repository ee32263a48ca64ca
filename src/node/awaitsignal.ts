// Waiting for a signal of the process as if it were anything else.

import { BadArgument, BaseOp, enteredTwice, type Fiber, type Op, settle } from '../core/index.js'
import {
  checkSignalName,
  checkThread,
  holdFor,
  type Listener,
  listen,
  type SignalName,
  unlisten,
} from './signals.js'

class AwaitSignal extends BaseOp<string> implements Listener {
  private fiber: Fiber | null = null

  constructor(private readonly signals: ReadonlySet<string>) {
    super()
  }

  enter(fiber: Fiber): void {
    if (this.fiber !== null) throw enteredTwice(this, this.fiber)
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
    if (fiber === null) return // taken out by another listener to the same signal
    this.abort(fiber)
    settle(fiber, this, signal)
  }

  describe(): string {
    return `awaitSignal(${[...this.signals].join(', ')})`
  }
}
;(AwaitSignal.prototype as { idle: boolean }).idle = true // S17: new work, never cleanup

/**
 * Waits for the first of these signals and gives its full name. While a fiber waits, `main` does not act on them, and
 * the process is held (S47, S64). A signal is named with or without SIG, in any case.
 *
 * ```ts
 * import { awaitSignal, main, sleep, spin } from 'polyphony'
 *
 * main(function* () {
 *   spin(function* () {
 *     yield* sleep(10)
 *     process.kill(process.pid, 'SIGTERM') // somebody wants us to end
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
 * Between two waits nobody waits, and `main` acts again. For signals that come again and again, use `trap`.
 */
export function awaitSignal<S extends string>(...signals: S[]): Op<SignalName<S>> {
  const names = signals.map((name) => checkSignalName(name, 'awaitSignal()'))
  if (names.length === 0) {
    throw new BadArgument("awaitSignal() needs at least one signal to wait for: awaitSignal('INT', 'TERM')")
  }
  checkThread('awaitSignal()')
  return new AwaitSignal(new Set(names)) as Op<any>
}

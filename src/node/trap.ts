// Handlers for signals. Each signal runs its handlers on fresh fibers outside the tree, at the head of the run queue (S46):
// they may wait, send messages, stop others. A trap lives as long as the fiber that set it.

import {
  baton,
  checkBody,
  Fiber,
  type Op,
  type Returned,
  type Routine,
  type Runtime,
  runBody,
  spinRoot,
} from '../core/index.js'
import { nodeRuntime } from './run.js'
import {
  checkSignalName,
  checkThread,
  holdFor,
  type Listener,
  listen,
  type SignalName,
  unlisten,
} from './signals.js'

class Trap implements Listener {
  readonly runtime: Runtime
  /** Handlers that have begun and are not over. */
  private readonly handlers = new Set<Fiber>()

  constructor(
    readonly signal: string,
    private readonly handler: (signal: any) => unknown,
    /** Null: it was set outside any fiber. */
    readonly owner: Fiber | null,
  ) {
    this.runtime = owner?.runtime ?? nodeRuntime()
    traps.add(this)
    listen(signal, this, 'takers')
    holdFor(this, true)
    if (owner !== null) atEnd(owner, this.ownerEnded)
  }

  heard(): void {
    const fiber = spinRoot(this.runtime, takeCall, { name: `trap ${this.signal}`, outOfBand: true }, 'trap()')
    const calls = callsOf(this.runtime)
    calls.push(this)
    fresh.add(fiber)
    atEnd(fiber, () => fresh.delete(fiber) && calls.pop()) // killed before it began
  }

  /** Runs in the fiber of one call. */
  *handle(fiber: Fiber): Routine<void> {
    fiber.name = `trap ${this.signal}`
    this.handlers.add(fiber)
    atEnd(fiber, () => this.handlers.delete(fiber))
    runs.set(fiber, this)
    yield* runBody(this.handler, this.signal)
  }

  readonly remove = (): void => {
    if (!traps.delete(this)) return
    unlisten(this.signal, this, 'takers')
    holdFor(this, false)
    this.owner?.cold?.atEnd?.delete(this.ownerEnded)
  }

  /** Whoever the handlers work for is gone. */
  readonly ownerEnded = (): void => {
    this.remove()
    const reason = `${this.owner === null ? 'main' : this.owner.path} ended`
    for (const fiber of [...this.handlers]) fiber.stop(undefined, { reason })
  }
}

/** Those that are set. */
const traps = new Set<Trap>()
/** Which trap a fiber is the handler of. */
const runs = new WeakMap<Fiber, Trap>()

/** Fibers of handlers that have not begun, as many as there are calls. */
const fresh = new WeakSet<Fiber>()
/** What has been heard and not been begun, in order. */
const callsByRuntime = new WeakMap<Runtime, Trap[]>()

function callsOf(runtime: Runtime): Trap[] {
  let calls = callsByRuntime.get(runtime)
  if (calls === undefined) callsByRuntime.set(runtime, (calls = []))
  return calls
}

/**
 * The body of every handler's fiber. Each goes to the head of the queue, so of two signals that come together the later
 * one would be handled first. But before they begin the fibers are all alike: the first to begin takes the first call.
 */
function takeCall(): Op<void> {
  const fiber = Fiber.current
  fresh.delete(fiber)
  return (callsOf(fiber.runtime).shift() as Trap).handle(fiber)
}

function atEnd(fiber: Fiber, tell: () => unknown): void {
  const cold = fiber.coldRecord()
  cold.atEnd ??= new Set()
  cold.atEnd.add(tell)
}

/** A trap set by a handler belongs to whom the handler works for: the handler itself is soon over. */
function findOwner(): Fiber | null {
  const { fiber } = baton
  const trap = fiber === null ? undefined : runs.get(fiber)
  return trap === undefined || trap.owner?.state === 'dead' ? fiber : trap.owner
}

/** Main is over, and with it the program: traps that belong to no fiber go too. */
export function dropTraps(): void {
  for (const trap of [...traps]) if (trap.owner === null) trap.ownerEnded()
}

/**
 * Calls a handler at each signal of this name (with or without SIG, in any case), on a fiber of its own outside the tree.
 * It may wait and send messages; its errors go to main (S46). While it is set, `main` does not act on that signal (S47).
 *
 * ```ts
 * import { exit, main, sleep, spin, trap } from 'polyphony'
 *
 * main(function* () {
 *   trap('HUP', (signal) => console.log(`${signal}: reading the settings again`))
 *   trap('TERM', function* () {
 *     yield* sleep(10) // may wait
 *     exit(0)
 *   })
 *   process.kill(process.pid, 'SIGHUP')
 *   process.kill(process.pid, 'SIGTERM')
 *   yield* sleep()
 * })
 * ```
 *
 * ```text
 * SIGHUP: reading the settings again
 * ```
 *
 * Several traps for one signal all run, the first one set first. A trap holds the process (S64) and goes with the fiber
 * that set it; outside any fiber it stays until main is over. The function returned removes it before.
 */
export function trap<S extends string, R>(
  signal: S,
  handler: (signal: SignalName<S>) => Returned<R>,
): () => void {
  const name = checkSignalName(signal, 'trap()')
  checkBody(handler, 'trap()')
  checkThread('trap()')
  return new Trap(name, handler, findOwner()).remove
}

// trap: handlers for signals. Each signal runs its handlers on new fibers outside the tree, at the head of the run queue
// (S46): they may wait, send messages, stop other fibers. A trap ends with the fiber that set it.

import {
  check,
  current,
  Fiber,
  type Op,
  onEnd,
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
  /** Handlers that are running. */
  private readonly handlers = new Set<Fiber>()
  /** Removes the listener to the owner's end. */
  private forgetOwner = (): void => {}

  constructor(
    readonly signal: string,
    private readonly handler: (signal: any) => unknown,
    /** Null if it was set outside any fiber. */
    readonly owner: Fiber | null,
  ) {
    this.runtime = owner?.runtime ?? nodeRuntime()
    traps.add(this)
    listen(signal, this, 'takers')
    holdFor(this, true)
    if (owner !== null) this.forgetOwner = onEnd(owner, this.ownerEnded)
  }

  heard(): void {
    const fiber = spinRoot(this.runtime, takeCall, { name: `trap ${this.signal}`, outOfBand: true }, 'trap()')
    const calls = callsOf(this.runtime)
    calls.push(this)
    fresh.add(fiber)
    onEnd(fiber, () => fresh.delete(fiber) && calls.pop()) // killed before it began
  }

  /** Runs in the fiber of one call. */
  *handle(fiber: Fiber): Routine<void> {
    fiber.name = `trap ${this.signal}`
    this.handlers.add(fiber)
    onEnd(fiber, () => this.handlers.delete(fiber))
    runs.set(fiber, this)
    yield* runBody(this.handler, this.signal)
  }

  readonly remove = (): void => {
    if (!traps.delete(this)) return
    holdFor(this, false)
    this.forgetOwner()
    unlisten(this.signal, this, 'takers') // last: a listener of the process may throw
  }

  /** The owner has ended: removes the trap and stops its handlers. */
  readonly ownerEnded = (): void => {
    this.remove()
    const reason = `${this.owner === null ? 'main' : this.owner.path} ended`
    for (const fiber of [...this.handlers]) fiber.stop(undefined, { reason })
  }
}

/** All traps that are set. */
const traps = new Set<Trap>()
/** The trap of each handler fiber. */
const runs = new WeakMap<Fiber, Trap>()

/** Handler fibers that have not begun, as many as there are pending calls. */
const fresh = new WeakSet<Fiber>()
/** Calls that have not begun, in order. */
const callsByRuntime = new WeakMap<Runtime, Trap[]>()

function callsOf(runtime: Runtime): Trap[] {
  let calls = callsByRuntime.get(runtime)
  if (calls === undefined) callsByRuntime.set(runtime, (calls = []))
  return calls
}

/**
 * The body of every handler fiber. Each goes to the head of the run queue, so of two signals that come together the later
 * would be handled first. So a fiber takes its call only when it begins: the first to begin takes the first call.
 */
function takeCall(): Op<void> {
  const fiber = Fiber.current
  fresh.delete(fiber)
  return (callsOf(fiber.runtime).shift() as Trap).handle(fiber)
}

/** A trap set by a handler belongs to the owner of the handler's trap, since the handler itself ends soon. */
function findOwner(): Fiber | null {
  const { fiber } = current
  const trap = fiber === null ? undefined : runs.get(fiber)
  return trap === undefined || trap.owner?.state === 'dead' ? fiber : trap.owner
}

/** Main is over: removes the traps that belong to no fiber. */
export function dropTraps(): void {
  for (const trap of [...traps]) if (trap.owner === null) trap.ownerEnded()
}

/**
 * Calls a handler at each signal of this name (with or without SIG, in upper or lower case), on a fiber of its own outside
 * the tree. The handler may wait and send messages; its errors go to main (S46). While a trap is set, `main` does not act
 * on that signal (S47).
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
 * Several traps for one signal all run, in the order in which they were set. A trap keeps the process alive (S64) and ends
 * with the fiber that set it; set outside any fiber, it stays until main is over. The returned function removes it.
 */
export function trap<S extends string, R>(
  signal: S,
  handler: (signal: SignalName<S>) => Returned<R>,
): () => void {
  const name = checkSignalName(signal, 'trap()')
  check.body(handler, 'trap()')
  checkThread('trap()')
  return new Trap(name, handler, findOwner()).remove
}

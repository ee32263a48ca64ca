// Running fibers on Node: the runtime of this thread, and `run`, the way in from async code.

import {
  checkOptions,
  DeadlockError,
  type Fiber,
  FiberStopped,
  isSuspended,
  type Outcome,
  type Result,
  type Returned,
  type RunOptions,
  Runtime,
  type RuntimeStats,
  spinRoot,
} from '../core/index.js'
import { type FiberView, formatTrees, viewTrees } from '../view/index.js'
import { NodeBackend } from './backend.js'

let shared: Runtime | undefined

/** The runtime of this thread, made at the first use. */
export function nodeRuntime(): Runtime {
  if (shared === undefined) {
    shared = new Runtime((runtime) => new NodeBackend(runtime))
    shared.onRootEnd = rootEnded
  }
  return shared
}

/** Who wants to know how a root ended. */
interface Ending {
  /** It is dead. */
  ended(outcome: Outcome<any>): void
  /** Nothing can ever wake it; it lives on, waiting. */
  deadlocked(error: DeadlockError): void
}
const endings = new Map<Fiber, Ending>()
/** Roots that have been told of their deadlock. */
const told = new WeakSet<Fiber>()

/** Starts a root fiber. While any lives, an empty event loop means a deadlock. */
export function startRoot(body: () => unknown, options: RunOptions, where: string, ending: Ending): Fiber {
  const fiber = spinRoot(nodeRuntime(), body, options, where)
  if (endings.size === 0) process.on('beforeExit', loopIsEmpty)
  endings.set(fiber, ending)
  return fiber
}

function rootEnded(fiber: Fiber): void {
  const ending = endings.get(fiber)
  if (ending === undefined) return
  endings.delete(fiber)
  if (endings.size === 0) process.off('beforeExit', loopIsEmpty)
  ending.ended(fiber.outcome as Outcome<unknown>)
}

/**
 * F4: the loop is empty, yet fibers live. A root in a bare suspend() goes on (decision 5: "We're done" comes last);
 * if there is none, nothing that the others wait for can ever come.
 */
function loopIsEmpty(): void {
  process.nextTick(lookAround) // after every other listener to beforeExit: one of them may wake a fiber
}

function lookAround(): void {
  const roots = [...endings.keys()]
  for (const fiber of roots.filter(isSuspended)) fiber.schedule(undefined)
  if (nodeRuntime().queue.size > 0) {
    setImmediate(() => {}) // fibers will run: the loop must not end before
    return
  }
  if (isBusy()) return // a listener has started something: the loop will be empty again
  const waiting = roots.filter((fiber) => !told.has(fiber))
  const tree = formatTrees(viewTrees(nodeRuntime()))
  for (const fiber of waiting) {
    const error = new DeadlockError(
      `deadlock: nothing can ever wake ${fiber.name}. This is what its fibers wait for:\n\n${tree}\n`,
    )
    error.stack = `${error.name}: ${error.message}`
    told.add(fiber)
    endings.get(fiber)?.deadlocked(error)
  }
}

/** Whether something keeps the event loop alive. Standard streams are listed although they do not. */
function isBusy(): boolean {
  return process.getActiveResourcesInfo().some((name) => name !== 'TTYWrap' && name !== 'PipeWrap')
}

/** What `run` returns: a promise of the result that can also be stopped. */
export interface Running<T> extends Promise<T>, AsyncDisposable {
  /** The root fiber of this run. */
  readonly fiber: Fiber<T>
  /** Stops the fiber; resolves when it and all its children are dead. */
  stop(value?: unknown, options?: { grace?: number; reason?: unknown }): Promise<Outcome<T>>
}

/**
 * Runs fibers from async code. Installs no signal handlers and never exits the process. Stopped without a value, it
 * rejects with `FiberStopped`. With `{ context: true }` its fibers carry the async context of the call, for loggers and
 * OpenTelemetry (S56).
 *
 * ```ts
 * import { run, sleep } from 'polyphony'
 *
 * const answer = await run(function* () {
 *   yield* sleep(10)
 *   return 42
 * })
 * console.log(answer)
 *
 * await using server = run(() => sleep()) // stopped, and waited for, where this block ends
 * ```
 *
 * ```text
 * 42
 * ```
 */
export function run<R>(body: () => Returned<R>, options: RunOptions = {}): Running<Result<R>> {
  type T = Result<R>
  checkOptions(options, ['signal', 'name', 'grace', 'context'], 'run()')
  let finish!: (outcome: Outcome<T>) => void
  const ended = new Promise<Outcome<T>>((resolve) => {
    finish = resolve
  })
  let settle!: { resolve(value: T): void; reject(error: unknown): void }
  const promise = new Promise<T>((resolve, reject) => {
    settle = { resolve, reject }
  })
  const fiber = startRoot(body, { name: 'run', ...options }, 'run()', {
    deadlocked: (error) => settle.reject(error),
    ended(outcome) {
      finish(outcome)
      if (outcome.type === 'value') settle.resolve(outcome.value)
      else if (outcome.type === 'error') settle.reject(outcome.error)
      else if (outcome.type === 'stopped' && outcome.value !== undefined) settle.resolve(outcome.value as T)
      else {
        promise.catch(() => {}) // whoever stops a run knows that it has no result
        settle.reject(
          new FiberStopped(`${fiber.path} was ${outcome.type} without a value`, { cause: fiber.stopReason }),
        )
      }
    },
  }) as Fiber<T>
  const stop = (value?: unknown, stopOptions?: { grace?: number; reason?: unknown }) => {
    fiber.stop(value, stopOptions)
    return ended
  }
  return Object.assign(promise, {
    fiber,
    stop,
    [Symbol.asyncDispose]: () => stop().then(() => {}),
  })
}

/**
 * The live trees as data, one for each `main` or `run`.
 *
 * ```ts
 * import { fiberTree, run, sleep, spin } from 'polyphony'
 *
 * await run(function* () {
 *   spin('worker', () => sleep())
 *   yield* sleep(1)
 *   const [tree] = fiberTree()
 *   console.log(tree?.children.map(({ name, waitsFor }) => `${name} waits for ${waitsFor}`))
 * })
 * ```
 *
 * ```text
 * [ 'worker waits for sleep()' ]
 * ```
 */
export function fiberTree(): FiberView[] {
  return viewTrees(nodeRuntime())
}

/**
 * The live trees as text, with what each fiber waits for; written to stderr unless told otherwise.
 *
 * ```ts
 * import { main, printTree, receive, sleep, spin } from 'polyphony'
 *
 * main(function* () {
 *   spin('clock', () => sleep(1000))
 *   spin('inbox', () => receive())
 *   yield* sleep(1)
 *   printTree()
 * })
 * ```
 *
 * ```text
 * main  running
 * ├─ clock  waiting for sleep(1000)
 * └─ inbox  waiting for receive()
 * ```
 */
export function printTree(write: (text: string) => void = (text) => process.stderr.write(`${text}\n`)): void {
  write(formatTrees(fiberTree()))
}

/**
 * What is there now in this thread, and what was counted on the way.
 *
 * ```ts
 * import { main, runtimeStats, sleep, spin } from 'polyphony'
 *
 * main(function* () {
 *   spin(() => sleep(1000))
 *   yield* sleep(1)
 *   const { fibers, timers } = runtimeStats()
 *   console.log({ fibers, timers })
 * })
 * ```
 *
 * ```text
 * { fibers: 2, timers: 1 }
 * ```
 */
export function runtimeStats(): RuntimeStats {
  return nodeRuntime().stats()
}

// Running fibers on Node: the runtime of this thread, root fibers and their deadlocks, and `run`, for async code. `main`
// (main.ts) is built on it.

import {
  BadArgument,
  BadState,
  check,
  DeadlockError,
  type Fiber,
  FiberStopped,
  isSuspended,
  type Meter,
  type Outcome,
  type Result,
  type Returned,
  RUN_OPTIONS,
  type RunOptions,
  Runtime,
  type RuntimeStats,
  show,
  spinRoot,
} from '../core/index.js'
import { type FiberView, formatTrees, viewTrees } from '../view/index.js'
import { isInContext, NodeBackend } from './backend.js'

let shared: Runtime | undefined

/** The runtime of this thread, made at the first use. */
export function nodeRuntime(): Runtime {
  if (shared === undefined) {
    shared = new Runtime((runtime) => new NodeBackend(runtime))
    shared.onRootEnd = rootEnded
  }
  return shared
}

/** What `main` and `run` do when their root ends. */
interface Ending {
  /** The root is dead. */
  ended(outcome: Outcome<any>): void
  /** Nothing can ever wake the root. It stays alive, waiting. */
  deadlocked(error: DeadlockError): void
}
const endings = new Map<Fiber, Ending>()
/** Roots whose deadlock has been reported. */
const deadlocked = new WeakSet<Fiber>()

/** Starts a root fiber. While a root lives, an empty event loop means a deadlock. */
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
  ending.ended(fiber.outcome as Outcome<unknown>)
  if (endings.size === 0) process.off('beforeExit', loopIsEmpty)
}

/**
 * F4: the event loop is empty, yet fibers live. A root in a bare suspend() goes on (decision 5: "We're done" comes last);
 * if there is none, nothing can ever wake the others.
 */
function loopIsEmpty(): void {
  process.nextTick(findDeadlock) // after every other listener to beforeExit: one of them may wake a fiber
}

function findDeadlock(): void {
  const roots = [...endings.keys()]
  for (const fiber of roots.filter(isSuspended)) fiber.schedule(undefined)
  if (!nodeRuntime().queue.isEmpty) {
    setImmediate(() => {}) // keeps the loop alive until the fibers have run
    return
  }
  if (isBusy()) return // a listener has started something: beforeExit will come again
  const waiting = roots.filter((fiber) => !deadlocked.has(fiber))
  const tree = formatTrees(viewTrees(nodeRuntime()))
  for (const fiber of waiting) {
    const error = new DeadlockError(
      `deadlock: nothing can ever wake ${fiber.name}. This is what its fibers wait for:\n\n${tree}\n`,
    )
    error.stack = `${error.name}: ${error.message}`
    deadlocked.add(fiber)
    endings.get(fiber)?.deadlocked(error)
  }
}

/** Whether something keeps the event loop alive. Node also lists standard streams, which do not. */
function isBusy(): boolean {
  return process.getActiveResourcesInfo().some((name) => name !== 'TTYWrap' && name !== 'PipeWrap')
}

/** What `run` returns: a promise of the result, with a `stop` method. */
export interface Running<T> extends Promise<T>, AsyncDisposable {
  /** The root fiber of this run. */
  readonly fiber: Fiber<T>
  /** Stops the fiber; resolves when it and all its children are dead. */
  stop(value?: unknown, options?: { grace?: number; reason?: unknown }): Promise<Outcome<T>>
}

/**
 * Runs fibers from async code. Installs no signal handlers and never exits the process. The promise rejects with
 * `FiberStopped` if the run is stopped without a value. Its fibers carry the async context of the call, if it has one,
 * for loggers and OpenTelemetry (S56).
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
  check.options(options, RUN_OPTIONS, 'run()')
  const stopping: ((outcome: Outcome<T>) => void)[] = []
  let settle!: { resolve(value: T): void; reject(error: unknown): void }
  const promise = new Promise<T>((resolve, reject) => {
    settle = { resolve, reject }
  })
  const { context = isInContext() } = options // S56
  const fiber = startRoot(body, { name: 'run', ...options, context }, 'run()', {
    deadlocked: (error) => settle.reject(error),
    ended(outcome) {
      for (const resolve of stopping) resolve(outcome)
      if (outcome.type === 'value') settle.resolve(outcome.value)
      else if (outcome.type === 'error') settle.reject(outcome.error)
      else if (outcome.type === 'stopped' && outcome.value !== undefined) settle.resolve(outcome.value as T)
      else {
        promise.catch(() => {}) // a stopped run is not an unhandled rejection
        settle.reject(
          new FiberStopped(`${fiber.path} was ${outcome.type} without a value`, { cause: fiber.stopReason }),
        )
      }
    },
  }) as Fiber<T>
  const stop = (value?: unknown, stopOptions?: { grace?: number; reason?: unknown }) => {
    fiber.stop(value, stopOptions)
    return new Promise<Outcome<T>>((resolve) => {
      if (fiber.outcome === undefined) stopping.push(resolve)
      else resolve(fiber.outcome)
    })
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
 * Writes the live trees as text, with what each fiber waits for; to stderr by default.
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
 * Measures the steps of the fibers of this thread, and records when each wait began (`since` in `fiberTree()`), until the
 * returned function is called. There is one meter at a time. Without a meter, nothing is measured.
 *
 * ```ts
 * import { meter, run, sleep } from 'polyphony'
 *
 * let steps = 0
 * const end = meter({ turn() {}, begin() {}, end: () => void steps++ })
 * await run(function* () {
 *   yield* sleep(1)
 * })
 * end()
 * console.log(steps)
 * ```
 *
 * ```text
 * 2
 * ```
 */
export function meter(meter: Meter): () => void {
  const isMeter = [meter?.turn, meter?.begin, meter?.end].every((method) => typeof method === 'function')
  if (!isMeter)
    throw new BadArgument(`meter() needs an object with turn(), begin() and end(), got ${show(meter)}`)
  const runtime = nodeRuntime()
  if (runtime.meter !== null) throw new BadState('meter() is in use: there is one meter at a time')
  runtime.meter = meter
  return () => {
    if (runtime.meter === meter) runtime.meter = null
  }
}

/**
 * Numbers of this thread's runtime: what is there now, and totals so far.
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

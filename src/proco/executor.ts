// The executor: the public face. A run, from `start` to its end, is a front (queues, batches, futures) and a transport
// that carries out the batches; a new start makes new ones.

import {
  addCleanup,
  BadArgument,
  BadState,
  type Fiber,
  type Routine,
  runningFiber,
  show,
} from '../core/index.js'
import { nodeRuntime } from '../node/index.js'
import { checkBodyOrAsync, isAsync } from '../sync/index.js'
import type { Work } from './batch.js'
import { Callers } from './callers.js'
import { type AnyHandler, Crew } from './crew.js'
import type { Awaitable } from './dual.js'
import { NotRunning } from './errors.js'
import type { Eventual } from './eventual.js'
import { Front } from './front.js'
import type { Future } from './future.js'
import { Host } from './host.js'
import { checkSubmitOptions, type SubmitOptions } from './limits.js'
import { Log } from './log.js'
import { makeSetup, type ProcoOptions, type Setup } from './options.js'
import { type ProcoStats, statsOf } from './stats.js'
import { End, Exit, Submit, SubmitAsync } from './submission.js'
import type { Given, Mode, Reply, ResultOf } from './types.js'

/** Where an executor is in its life. */
export type ProcoState = 'idle' | 'running' | 'draining'
const STATES: readonly ProcoState[] = ['running', 'draining', 'idle']

/**
 * Takes items from any number of submitters, and hands them to a handler: one by one, or in batches. `Proco` makes one.
 *
 * ```ts
 * const proco = Proco.interval(100).threads(4).batch(true).new<number, number>()
 * proco.start(function* (items) {
 *   yield* sleep(10)
 *   return items.length
 * })
 * const future = yield* proco.submitAsync(1) // waits only while the queue is full
 * console.log(yield* proco.submit(2)) // 2
 * console.log(yield* future.get()) // 2
 * yield* proco.exit() // handles what is left
 * ```
 */
export class Executor<I, R, M extends Mode = 'item'> implements AsyncDisposable {
  /** The present run, or the last one. */
  private run: Front | null = null

  private readonly setup: Setup

  /** @internal */
  constructor(options: ProcoOptions = {}, template: ProcoOptions = {}, where = 'new Proco()') {
    this.setup = makeSetup(template, options, where)
  }

  /** @internal What messages call it. */
  get label(): string {
    return this.setup.name
  }

  // ---- its life

  /**
   * Starts it with what is to be done with the items: a fiber body, a plain function or an async one. Gives itself.
   *
   * Started in a fiber, it is over when the scope or fiber is that it was started in, after the children there: it exits,
   * and what is left is handled; but if that was stopped or has failed, it is killed (S84).
   *
   * ```ts
   * const proco = Proco.new().start((n: number) => n + 1)
   * console.log(yield* proco.submit(1)) // 2
   * yield* proco.exit()
   * ```
   */
  start<J extends I, X extends Reply<R, M>>(
    handler: (given: Given<J, M>, work: Work) => X,
  ): Executor<J, ResultOf<X, M>, M> {
    checkHandler(handler, `${this.label}.start()`)
    if (this.state !== 'idle') throw this.startedTwice()
    const starter = runningFiber()
    const runtime = starter?.runtime ?? nodeRuntime()
    const front = new Front(this.setup, runtime, new Log(this.setup.logger, this.label, runtime))
    const host = new Host(front, starter)
    front.connect(new (isAsync(handler) ? Callers : Crew)(front, handler as AnyHandler, host))
    this.run = front
    if (starter !== null) endWith(starter, front, host)
    front.log.started(this.setup)
    return this as unknown as Executor<J, ResultOf<X, M>, M>
  }

  private startedTwice(): BadState {
    const rest =
      this.state === 'running' ? 'Make another one, or exit() this one first.' : 'Wait for its exit() first.'
    return new BadState(`${this.label} cannot be started: it is ${this.state}. ${rest}`)
  }

  /**
   * Takes no more items, handles those it has, and ends. Submitters that wait for room are refused with `NotRunning`. It
   * may be started again after that.
   *
   * ```ts
   * const proco = Proco.new<string>().start((line) => console.log(line)) // one, two
   * yield* proco.submitAsync('one')
   * yield* proco.submitAsync('two')
   * yield* proco.exit()
   * console.log(proco.state) // idle
   * ```
   */
  exit(): Awaitable<void> {
    return new Exit(this).offer()
  }

  /**
   * Ends it at once: every item that has no outcome fails with `Killed`, now, and handlers are stopped without time for
   * cleanup that waits. It may be started again at once.
   *
   * ```ts
   * const proco = Proco.new<number>().start(() => sleep(1000))
   * const future = yield* proco.submitAsync(1)
   * proco.kill()
   * console.log(future.state, proco.state) // cancelled idle
   * ```
   */
  kill(): void {
    this.front.kill()
  }

  /** `await using`, and `use()` in fibers: `exit()`, if it is running; else it waits until the handlers are gone. */
  [Symbol.asyncDispose](): Awaitable<void> {
    return new Exit(this, true).offer()
  }

  /** `'idle'` before the start and after the end, `'running'`, or `'draining'` while it exits. */
  get state(): ProcoState {
    return this.run === null ? 'idle' : (STATES[this.run.phase] as ProcoState)
  }

  // ---- items

  /**
   * Hands in an item and waits for its result. A fiber that is stopped meanwhile, or gives up, cancels the item.
   *
   * ```ts
   * const proco = Proco.new<number, number>().start((n) => n * n)
   * console.log(yield* proco.submit(7)) // 49
   * yield* proco.exit()
   * ```
   */
  submit(item: I, options?: SubmitOptions): Awaitable<R> {
    const own = options === undefined ? undefined : checkSubmitOptions(options, `${this.label}.submit()`)
    return new Submit<R>(this, item, own).offer()
  }

  /**
   * Hands in an item, waits only while the queue is full, and gives its future.
   *
   * ```ts
   * const proco = Proco.new<number, number>().start((n) => n * n)
   * const futures = [yield* proco.submitAsync(2), yield* proco.submitAsync(3)]
   * for (const future of futures) console.log(yield* future.get()) // 4, 9
   * yield* proco.exit()
   * ```
   */
  submitAsync(item: I, options?: SubmitOptions): Awaitable<Future<R>> {
    const own = options === undefined ? undefined : checkSubmitOptions(options, `${this.label}.submitAsync()`)
    return new SubmitAsync<R>(this, item, own).offer()
  }

  /**
   * Hands in an item if there is room for it now, and gives its future; undefined if there is none.
   *
   * ```ts
   * const proco = Proco.queueSize(1).new<number, number>().start((n) => n * n)
   * const futures = [proco.trySubmit(2), proco.trySubmit(3)]
   * console.log(futures.map((future) => future?.state)) // [ 'queued', undefined ]
   * yield* proco.exit()
   * ```
   */
  trySubmit(item: I, options?: SubmitOptions): Future<R> | undefined {
    const own = options === undefined ? undefined : checkSubmitOptions(options, `${this.label}.trySubmit()`)
    const { front } = this
    return front.hasRoom(own) ? front.submit(item, own) : undefined
  }

  // ---- looking

  /** How it is doing, since its last start. */
  stats(): ProcoStats {
    return statsOf(this.state, this.run)
  }

  /** For the console: `Proco { running }`. */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return `Proco { ${this.state} }`
  }

  /** @internal The present run; throws if there is none. */
  get front(): Front {
    const { run } = this
    if (run !== null && !run.isOver) return run
    throw new NotRunning(
      `${this.label} is not running: ${run === null ? 'start() it first' : 'it has ended; start() it again'}`,
    )
  }

  /** @internal */
  get isCalling(): boolean {
    return this.run?.isCalling === true
  }

  /** @internal Begins to exit, or gives the run that does. Without a run: null for those who only want to be sure. */
  drain(isSure: boolean, fiber: Fiber | null, isInside: boolean): Eventual<void> | null {
    if (isSure && this.state === 'idle') return this.run?.gone ?? null
    const { front } = this
    if (fiber === null ? isInside : front.isInside(fiber)) {
      throw new BadState(
        `${fiber?.path ?? 'this'} is a handler of ${this.label} and cannot wait for its exit(): it would wait for its own end. ` +
          'Call exit() outside, or kill().',
      )
    }
    front.exit()
    return front.ending
  }
}

function checkHandler(handler: unknown, where: string): void {
  if (typeof handler === 'function' || (typeof handler === 'object' && handler !== null))
    checkBodyOrAsync(handler, where)
  else throw new BadArgument(`${where} needs a function that handles items, got ${show(handler)}`)
}

/** When the scope or fiber that it was started in is over, so is it (S84); and it is forgotten there when it ends before. */
function endWith(starter: Fiber, front: Front, host: Host): void {
  front.whenClosed = addCleanup(starter, (isInOrder) => endAfter(isInOrder, front, host))
}

function* endAfter(isInOrder: boolean, front: Front, host: Host): Routine<void> {
  if (!isInOrder || front.isOver) {
    front.end()
    yield* host.stop()
    return
  }
  front.exit()
  try {
    yield* new End(front.gone, front.label)
  } finally {
    front.kill() // if it took too long
  }
}

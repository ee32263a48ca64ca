// The fiber: one generator with its place in the tree. This file is its public face, record.ts what it is made of;
// the work is done by step (running), gate and stop (signals) and tree (ends).

import { checkBody, nameOf, type Result, type Returned, repeatable } from './body.js'
import { callSite, debugging, opEntered } from './debug.js'
import { BadArgument, BadState, Cancel, type ErrorLike, makeError, Stop, show } from './errors.js'
import { notInFiber } from './gate.js'
import { deliver, Mailbox } from './mailbox.js'
import { AwaitOp, awaitAll, checkFibers, JoinOp, joinAll, selectFirst } from './observe.js'
import { describe, type Op, type Switchpoint } from './op.js'
import { checkGrace, checkName, checkOptions } from './options.js'
import { makeOutcome, type Outcome } from './outcome.js'
import * as P from './phase.js'
import { FiberRecord } from './record.js'
import type { Region } from './region.js'
import { askRestart, type RestartOptions, revive } from './restart.js'
import { baton } from './runqueue.js'
import type { Runtime } from './runtime.js'
import { inheritContext, type Spin, spinRoot, spinUnder, stopOnAbort } from './spin.js'
import { cancelRestart, queueError, requestStop } from './stop.js'
import { wake } from './suspend.js'
import { emit, tapped } from './tap.js'
import { childLeft, link, type Owner, stopChildren, unlink } from './tree.js'

/** What `monitor()` sends to the mailbox of its caller when the fiber ends. */
export interface FiberEnd {
  /** Tells it apart from other messages. */
  readonly type: 'end'
  /** Who has ended. */
  readonly fiber: Fiber
  /** How it ended. */
  readonly outcome: Outcome<unknown>
}

/** How a fiber is to be stopped. */
export interface StopOptions {
  /** Milliseconds that cleanup may wait before it is forced (S18). */
  grace?: number
  /** Why; shows in `fiber.stopReason`, also of every descendant. */
  reason?: unknown
}

type Results<F extends readonly Fiber<any, any>[]> = {
  -readonly [K in keyof F]: F[K] extends Fiber<infer T, any> ? T : never
}

/** One of the fibers with its value. */
type Selected<F extends readonly Fiber<any, any>[]> = {
  [K in keyof F]: F[K] extends Fiber<infer T, any> ? [F[K], T] : never
}[number]

const NO_ARGS: readonly unknown[] = []

/**
 * A running generator in the tree. `spin` makes one; `new Fiber(body)` makes a raw one that belongs to nobody and
 * runs only when somebody transfers to it (S62). `T` is its value, `M` types the messages it is sent.
 *
 * ```ts
 * const fiber = spin('answer', function* () {
 *   yield* sleep(10)
 *   return 42
 * })
 * console.log(fiber.state) // runnable
 * console.log(yield* fiber) // 42
 * console.log(fiber.state) // dead
 * ```
 */
export class Fiber<T = unknown, M = any> extends FiberRecord implements Op<T> {
  /**
   * Makes a raw fiber. The first `transfer` or `schedule` runs it, and that value is the body's argument (S62).
   *
   * ```ts
   * const here = Fiber.current
   * const echo = new Fiber(function* (word: string) {
   *   for (;;) word = yield* transfer<string>(here, word.toUpperCase())
   * })
   * console.log(yield* transfer(echo, 'ping')) // PING
   * ```
   */
  constructor(body: (value: any) => Op<T> | T)
  /** @internal */
  constructor(
    body: (...args: any[]) => unknown,
    args: readonly unknown[],
    runtime: Runtime,
    parent: Fiber | null,
  )
  constructor(
    body: (...args: any[]) => unknown,
    args = NO_ARGS,
    runtime?: Runtime,
    parent: Fiber | null = null,
  ) {
    super(body, args, runtime ?? Fiber.current.runtime, runtime === undefined ? Fiber.current : parent)
    if (runtime === undefined) {
      checkBody(body, 'new Fiber()')
      this._state = P.WAITING
      this.coldRecord().raw = true
      inheritContext(this, Fiber.current)
    }
  }

  // ---- which one it is

  /** The fiber that runs now. Throws `NotInFiber` outside one. */
  static get current(): Fiber {
    if (baton.fiber === null) throw notInFiber('Fiber.current')
    return baton.fiber
  }

  /** The given name, else the name of the body with the fiber's number. */
  get name(): string {
    return this.givenName ?? `${nameOf(this.body) || 'fiber'}#${this.id}`
  }
  set name(name: string) {
    checkName(name, 'a fiber')
    this.givenName = name
  }

  /** The names from the root to this fiber: `main > server > conn#42`. */
  get path(): string {
    const names: string[] = []
    for (let fiber: Fiber | null = this; fiber !== null; fiber = fiber.parent) names.push(fiber.name)
    return names.reverse().join(' > ')
  }

  /** Whether it is the fiber of `main()`. */
  get isMain(): boolean {
    return this.runtime.main === this
  }

  /** What it is doing now: `'runnable' | 'running' | 'waiting' | 'dead'`. */
  get state(): P.State {
    return P.STATES[this._state] as P.State
  }

  /** How far its end has come: `'live' | 'requested' | 'unwinding' | 'forced' | 'closing' | 'dead'`. */
  get phase(): P.Phase {
    return P.PHASES[this._phase] as P.Phase
  }

  /** How it ended; undefined while it lives. */
  get outcome(): Outcome<T> | undefined {
    return this._state === P.DEAD ? makeOutcome<T>(this.how, this.value) : undefined
  }

  /** How many times it has been started: 1, and one more for each restart. */
  get incarnation(): number {
    return this.cold?.incarnation ?? 1
  }

  /** Why it is being, or was, stopped (S14). */
  get stopReason(): unknown {
    return this.stopSignal?.reason
  }

  /** What it waits for, as text; undefined while it does not wait. */
  get waitsFor(): string | undefined {
    return this.op === null || this._state !== P.WAITING ? undefined : describe(this.op)
  }

  /** An AbortSignal that fires when this fiber is asked to stop (S57). Made at the first look. */
  get signal(): AbortSignal {
    const cold = this.coldRecord()
    if (cold.controller === null) {
      cold.controller = new AbortController()
      if (this._phase !== P.LIVE) cold.controller.abort(this.stopReason)
    }
    return cold.controller.signal
  }

  /** The fiber it belongs to; null for the root of a tree. */
  get parent(): Fiber | null {
    return this.owner === null ? null : this.owner.host
  }

  /** Its living children, oldest first, also those that belong to a scope it is in. */
  get children(): Fiber[] {
    const found: Fiber[] = []
    for (let region: Region | null = this.innermost; region !== null; region = region.outer) {
      for (let child = region.newest; child !== null; child = child.older) found.push(child)
    }
    return found.sort((a, b) => a.id - b.id)
  }

  // ---- waiting for it

  /** `yield* fiber` waits for the end and gives the value (S31). */
  [Symbol.iterator](): Iterator<Switchpoint, T, unknown> {
    return new AwaitOp<T>(this)
  }

  /** Waits for the end: gives the value, throws the error, or throws `FiberStopped` if it was stopped without a value (S31). */
  await(): Op<T> {
    return new AwaitOp<T>(this)
  }

  /**
   * Waits for the end and tells how it was. Never throws (S31).
   *
   * ```ts
   * const fiber = spin(() => sleep(1000))
   * fiber.stop('enough')
   * console.log(yield* fiber.join()) // { type: 'stopped', value: 'enough' }
   * ```
   */
  join(): Op<Outcome<T>> {
    return new JoinOp<T>(this)
  }

  /**
   * Waits for all of them: results in argument order. On the first error the rest are stopped and awaited, then it is thrown (S31).
   *
   * ```ts
   * const [a, b] = yield* Fiber.await(spin(() => 1), spin(() => 'two'))
   * console.log(a, b) // 1 two
   * ```
   */
  static await<F extends readonly Fiber<any, any>[]>(...fibers: F): Op<Results<F>> {
    checkFibers(fibers, 'Fiber.await()')
    return repeatable('Fiber.await()', () => awaitAll(fibers)) as Op<any>
  }

  /**
   * The first of them to end, as `[fiber, value]`. Throws if that one failed. Stops nobody (S37).
   *
   * ```ts
   * const slow = spin('slow', () => sleep(100))
   * const quick = spin('quick', () => sleep(10))
   * const [winner] = yield* Fiber.select(slow, quick)
   * console.log(winner.name) // quick
   * ```
   */
  static select<F extends readonly Fiber<any, any>[]>(...fibers: F): Op<Selected<F>> {
    checkFibers(fibers, 'Fiber.select()')
    return repeatable('Fiber.select()', () => selectFirst(fibers)) as Op<any>
  }

  // ---- ending it

  /**
   * Ends it in order: cleanup runs and may wait (S11, S16). The outcome is `stopped` with the value. `yield*` the result to see it through.
   *
   * ```ts
   * const fiber = spin(function* () {
   *   try {
   *     yield* sleep(1000)
   *   } finally {
   *     yield* sleep(10)
   *     console.log('cleaned up') // cleaned up
   *   }
   * })
   * yield* snooze()
   * console.log(yield* fiber.stop('enough')) // { type: 'stopped', value: 'enough' }
   * ```
   */
  stop(value?: unknown, options: StopOptions = {}): Op<Outcome<T>> {
    const stop = this.makeStop(value, options, 'stop()')
    cancelRestart(this, stop)
    requestStop(this, stop)
    return this.seenThrough()
  }

  /** Like `stop`, without a value: what parents do to their children. */
  terminate(options: StopOptions = {}): Op<Outcome<T>> {
    return this.stop(undefined, options)
  }

  /** Ends it at once: only synchronous cleanup still runs (S19). */
  kill(): Op<Outcome<T>> {
    return this.stop(undefined, { grace: 0, reason: 'killed' })
  }

  /**
   * Throws an error at its current switchpoint. An ordinary error: it may be caught (S67).
   *
   * ```ts
   * const fiber = spin(function* () {
   *   try {
   *     yield* sleep(1000)
   *   } catch (error) {
   *     console.log(`survived ${(error as Error).message}`) // survived a shock
   *   }
   * })
   * yield* snooze()
   * yield* fiber.raise('a shock')
   * ```
   */
  raise(error?: ErrorLike): Op<Outcome<T>> {
    this.throwInto(makeError(error, Error, `raised in ${this.path}`))
    return this.seenThrough()
  }

  /** Throws `Cancel`, or the error given, at its current switchpoint (S67). */
  cancel(error?: ErrorLike): Op<Outcome<T>> {
    this.throwInto(makeError(error, Cancel, `${this.path} was cancelled`))
    return this.seenThrough()
  }

  /** What a verb returns: `yield*` it to wait for the end. Nobody has to. */
  private seenThrough(): Op<Outcome<T>> {
    const op = new JoinOp<T>(this)
    if (debugging) opEntered(op)
    return op
  }

  private throwInto(error: Error): void {
    // S67: only a live fiber can be raised in.
    if (this._phase !== P.LIVE) {
      if (tapped) emit('dropped', this, error)
    } else {
      if (tapped) emit('raise', this, error)
      queueError(this, error, false)
    }
  }

  /**
   * Ends it with its children, then runs its body again: the same handle, a new incarnation (S41).
   * Arguments, if given, replace the old ones. The mailbox is emptied now; later messages reach the new incarnation.
   *
   * ```ts
   * function* search(word: string) {
   *   yield* sleep(20)
   *   return `found ${word}`
   * }
   * const fiber = spin(search, 'cat')
   * yield* sleep(5)
   * fiber.restart('dog')
   * console.log(yield* fiber, fiber.incarnation) // found dog 2
   * ```
   */
  restart(...args: unknown[]): this {
    return this.restartWith(args.length > 0 ? { args } : {})
  }

  /** `restart` with options: `keepMailbox` hands the waiting messages to the new incarnation. */
  restartWith(options: RestartOptions): this {
    askRestart(this, options, false)
    if (this._state === P.DEAD) {
      revive(this)
      const signal = this.cold?.abortSignal
      if (signal != null) stopOnAbort(this, signal)
    }
    return this
  }

  /** @internal Ends it, unless it is dead; it lives again when `restartWith` is called. A stop calls it off (S42). */
  holdRestart(options: { grace?: number } = {}): void {
    askRestart(this, options, true)
  }

  /** @internal */
  makeStop(value: unknown, options: StopOptions, where: string): Stop {
    const { grace = this.grace } = checkOptions(options, ['grace', 'reason'], where)
    checkGrace(grace, where)
    const now = this.runtime.now()
    const reason =
      options.reason ??
      (baton.fiber === null ? 'stopped from outside any fiber' : `stopped by ${baton.fiber.name}`)
    return new Stop(value, reason, now, now + grace, false, debugging ? callSite() : undefined)
  }

  // ---- resuming it

  /**
   * Wakes it from `suspend` or `transfer` with a value; an Error is thrown there. False if it waits for something else (S63).
   *
   * ```ts
   * const fiber = spin(() => suspend())
   * yield* snooze()
   * fiber.schedule('good morning')
   * console.log(yield* fiber) // good morning
   * ```
   */
  schedule(value?: unknown): boolean {
    return wake(this, value, false)
  }

  /** Like `schedule`, at the head of the run queue (S51). */
  scheduleWithPriority(value?: unknown): boolean {
    return wake(this, value, true)
  }

  /**
   * Puts a message into its mailbox. Never waits. False if the mailbox is full, or the fiber dead: such a message is
   * counted, not kept (S38, S39).
   *
   * ```ts
   * const echo = spin(function* () {
   *   return yield* receive()
   * })
   * console.log(echo.send('hello')) // true
   * console.log(yield* echo) // hello
   * console.log(echo.send('anybody?')) // false
   * ```
   */
  send(message: M): boolean {
    return deliver(this, message)
  }

  /** The messages that wait for it; can be bounded with `cap(n)` (S38). */
  get mailbox(): Mailbox<M> {
    const cold = this.coldRecord()
    if (cold.mailbox === null) cold.mailbox = new Mailbox(this)
    return cold.mailbox
  }

  /**
   * From now on its end, of every incarnation, arrives in the caller's mailbox as a `FiberEnd`.
   *
   * ```ts
   * const worker = spin('worker', () => 'done')
   * worker.monitor()
   * const end: FiberEnd = yield* receive()
   * console.log(end.fiber.name, end.outcome) // worker { type: 'value', value: 'done' }
   * ```
   */
  monitor(): void {
    const watcher = Fiber.current
    if (this._state === P.DEAD) {
      watcher.notify({ type: 'end', fiber: this, outcome: this.outcome as Outcome<T> })
      return
    }
    const cold = this.coldRecord()
    if (cold.monitors === null) cold.monitors = new Set()
    cold.monitors.add(watcher)
    const own = watcher.coldRecord()
    if (own.monitoring === null) own.monitoring = new Set()
    own.monitoring.add(this)
  }

  /** @internal A message that must not be lost because the mailbox is full. */
  notify(end: FiberEnd): void {
    deliver(this, end, false)
  }

  /** Ends what `monitor()` began. */
  unmonitor(): void {
    this.cold?.monitors?.delete(Fiber.current)
    Fiber.current.cold?.monitoring?.delete(this)
  }

  // ---- the tree

  /** Spins a child of this fiber, from wherever you are. */
  get spin(): Spin {
    return ((first: any, ...rest: any[]) => spinUnder(this, first, rest)) as Spin
  }

  /**
   * Runs a body as a root fiber outside the tree, at the head of the run queue; its errors go to main (S46).
   *
   * ```ts
   * spin(() => console.log('second')) // second
   * Fiber.outOfBand(() => console.log('first')) // first
   * yield* snooze()
   * ```
   */
  static outOfBand<R>(body: () => Returned<R>): Fiber<Result<R>> {
    const options = { outOfBand: true, name: 'outOfBand' }
    return spinRoot(Fiber.current.runtime, body, options, 'Fiber.outOfBand()') as Fiber<Result<R>>
  }

  /** Makes it a child of another fiber (S07). */
  attachTo(parent: Fiber<any, any>): this {
    const refuse = (why: string) => new BadState(`${this.path} cannot be attached to ${parent.path}: ${why}`)
    if (!(parent instanceof Fiber)) throw new BadArgument(`attachTo() needs a fiber, got ${show(parent)}`)
    for (let f: Fiber | null = parent; f !== null; f = f.parent) {
      if (f === this) throw refuse(f === parent ? 'they are the same fiber' : 'that would make a cycle')
    }
    if (this.owner === null && !this.cold?.raw) throw refuse('it is the root of its tree')
    if (this._state === P.DEAD) throw refuse('it is dead')
    if (!parent.isOpen) throw refuse('the new parent is over')
    if (parent.runtime !== this.runtime) throw refuse('they live in different runtimes')
    const old = this.owner
    unlink(this)
    link(this, parent)
    if (this.cold?.raw) {
      this.cold.raw = false
      this.runtime.alive++
    }
    old?.host.cold?.supervisor?.childChanged(this)
    if (old !== null) childLeft(old)
    return this
  }

  /**
   * Gives it to the root of its tree, so that it outlives its parent (S07).
   *
   * ```ts
   * const late = yield* spin(function* () {
   *   const child = spin(function* () {
   *     yield* sleep(10)
   *     return 'still here'
   *   })
   *   return child.detach()
   * })
   * console.log(yield* late) // still here
   * ```
   */
  detach(): this {
    let root: Fiber = this
    while (root.parent !== null) root = root.parent
    return root === this ? this : this.attachTo(root)
  }

  /** Asks all children to stop, newest first, without waiting. */
  stopChildren(options: { grace?: number } = {}): void {
    checkGrace(checkOptions(options, ['grace'], 'stopChildren()').grace, 'stopChildren()')
    for (let region: Region | null = this.innermost; region !== null; region = region.outer) {
      if (region.newest !== null) stopChildren(region as Owner, options.grace)
    }
  }

  /**
   * Waits until all present children are dead; gives their outcomes, oldest first (S02).
   *
   * ```ts
   * spin(() => 1)
   * spin(() => 2)
   * console.log(yield* Fiber.current.joinChildren()) // [ { type: 'value', value: 1 }, { type: 'value', value: 2 } ]
   * ```
   */
  joinChildren(): Op<Outcome<unknown>[]> {
    return repeatable('joinChildren()', () => joinAll(this.children))
  }

  /** Stops all children and waits for them. */
  shutdownChildren(options: { grace?: number } = {}): Op<Outcome<unknown>[]> {
    const children = this.children
    this.stopChildren(options)
    const op = repeatable('shutdownChildren()', () => joinAll(children))
    if (debugging) opEntered(op as unknown as { describe(): string })
    return op
  }
}

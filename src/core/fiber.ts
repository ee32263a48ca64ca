// The fiber: one generator with its place in the tree. This file is its public face, record.ts what it is made of;
// the work is done by step (running), gate and stop (signals) and tree (ends).

import { checkBody, type Result, type Returned, repeatable } from './body.js'
import { callSite, debugging, opEntered } from './debug.js'
import { BadArgument, BadState, Cancel, type ErrorLike, makeError, Stop, show } from './errors.js'
import { notInFiber } from './gate.js'
import { AwaitOp, awaitAll, checkFibers, JoinOp, joinAll, selectFirst } from './observe.js'
import { describe, type Op, type Switchpoint } from './op.js'
import { checkGrace, checkName, checkOptions } from './options.js'
import { makeOutcome, type Outcome } from './outcome.js'
import * as P from './phase.js'
import { FiberRecord } from './record.js'
import type { Region } from './region.js'
import { Ring } from './ring.js'
import { baton } from './runqueue.js'
import type { Runtime } from './runtime.js'
import { type Spin, spinRoot, spinUnder, stopOnAbort } from './spin.js'
import { cancelRestart, queueError, requestStop } from './stop.js'
import { deliver, wake } from './suspend.js'
import { emit, tapped } from './tap.js'
import { childLeft, link, type Owner, reincarnate, stopChildren, unlink } from './tree.js'

/** What `monitor()` sends to the mailbox of its caller when the fiber ends. */
export interface FiberEnd {
  readonly type: 'end'
  readonly fiber: Fiber
  readonly outcome: Outcome<unknown>
}

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
 * runs only when somebody transfers to it.
 *
 * ```ts
 * const fiber = spin(function* () { yield* sleep(10); return 42 })
 * console.log(yield* fiber) // 42
 * ```
 */
export class Fiber<T = unknown, M = any> extends FiberRecord implements Op<T> {
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
    return this.givenName ?? `${this.body.name || 'fiber'}#${this.id}`
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

  get isMain(): boolean {
    return this.runtime.main === this
  }

  /** `'runnable' | 'running' | 'waiting' | 'dead'` */
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

  /** An AbortSignal that fires when this fiber is asked to stop. Made at the first look. */
  get signal(): AbortSignal {
    const cold = this.coldRecord()
    if (cold.controller === null) {
      cold.controller = new AbortController()
      if (this._phase !== P.LIVE) cold.controller.abort(this.stopReason)
    }
    return cold.controller.signal
  }

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

  /** Waits for the end: gives the value, throws the error, or throws `FiberStopped` if it was stopped without a value. */
  await(): Op<T> {
    return new AwaitOp<T>(this)
  }

  /** Waits for the end and tells how it was. Never throws. */
  join(): Op<Outcome<T>> {
    return new JoinOp<T>(this)
  }

  /** Results in argument order. On the first error the rest are stopped and awaited, then it is thrown. */
  static await<F extends readonly Fiber<any, any>[]>(...fibers: F): Op<Results<F>> {
    checkFibers(fibers, 'Fiber.await()')
    return repeatable('Fiber.await()', () => awaitAll(fibers)) as Op<any>
  }

  /** The first of them to end, as `[fiber, value]`. Throws if that one failed. Stops nobody. */
  static select<F extends readonly Fiber<any, any>[]>(...fibers: F): Op<Selected<F>> {
    checkFibers(fibers, 'Fiber.select()')
    return repeatable('Fiber.select()', () => selectFirst(fibers)) as Op<any>
  }

  // ---- ending it

  /** Ends it in order: cleanup runs and may wait. The outcome is `stopped(value)`. `yield*` the result to see it through. */
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

  /** Ends it at once: only synchronous cleanup still runs. */
  kill(): Op<Outcome<T>> {
    return this.stop(undefined, { grace: 0, reason: 'killed' })
  }

  /** Throws an error at its current switchpoint. An ordinary error: it may be caught. */
  raise(error?: ErrorLike): Op<Outcome<T>> {
    this.throwInto(makeError(error, Error, `raised in ${this.path}`))
    return this.seenThrough()
  }

  /** Throws `Cancel`, or the error given, at its current switchpoint. */
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
   */
  restart(...args: unknown[]): this {
    return this.restartWith(args.length > 0 ? { args } : {})
  }

  /** `restart` with options: `keepMailbox` hands the waiting messages to the new incarnation. */
  restartWith(options: { args?: readonly unknown[]; keepMailbox?: boolean; grace?: number }): this {
    this.checkRestart()
    checkOptions(options, ['args', 'keepMailbox', 'grace'], 'restartWith()')
    const stop = this.makeStop(undefined, { grace: options.grace, reason: 'restart' }, 'restartWith()')
    const mailbox =
      (options.keepMailbox && (this.cold?.restart?.mailbox ?? this._mailbox)) || new Ring<unknown>()
    if (this._mailbox !== mailbox) this._mailbox = null
    const cold = this.coldRecord()
    cold.restart = { args: options.args, mailbox, stop }
    if (this._state === P.DEAD) {
      link(this, this.owner as Owner)
      this.runtime.alive++
      reincarnate(this)
      if (cold.abortSignal !== null) stopOnAbort(this, cold.abortSignal)
    } else requestStop(this, stop)
    return this
  }

  private checkRestart(): void {
    const refuse = (why: string) => new BadState(`${this.path} cannot be restarted: ${why}`)
    if (this.isMain || this.owner === null) {
      throw refuse("it is the root of its tree. Restart a child, or run main's work in a child")
    }
    if (this.isAbandoned) throw refuse('it was abandoned and its generator may still hold resources')
    if (!this.owner.isOpen) throw refuse('its parent is over')
  }

  private makeStop(value: unknown, options: StopOptions, where: string): Stop {
    const { grace = this.grace } = checkOptions(options, ['grace', 'reason'], where)
    checkGrace(grace, where)
    const now = this.runtime.now()
    const reason =
      options.reason ??
      (baton.fiber === null ? 'stopped from outside any fiber' : `stopped by ${baton.fiber.name}`)
    return new Stop(value, reason, now, now + grace, false, debugging ? callSite() : undefined)
  }

  // ---- resuming it

  /** Wakes it from `suspend` or `transfer` with a value; an Error is thrown there. False if it waits for something else. */
  schedule(value?: unknown): boolean {
    return wake(this, value, false)
  }

  /** Like `schedule`, at the head of the run queue. */
  scheduleWithPriority(value?: unknown): boolean {
    return wake(this, value, true)
  }

  /** Puts a message into its mailbox. False if it is dead: the message is counted, not kept (S39). */
  send(message: M): boolean {
    return deliver(this, message)
  }

  /** Its end, of every incarnation, will arrive in the caller's mailbox as `{type: 'end', fiber, outcome}`. */
  monitor(): void {
    const watcher = Fiber.current
    if (this._state === P.DEAD) {
      watcher.send({ type: 'end', fiber: this, outcome: this.outcome } as FiberEnd)
      return
    }
    const cold = this.coldRecord()
    if (cold.monitors === null) cold.monitors = new Set()
    cold.monitors.add(watcher)
    const own = watcher.coldRecord()
    if (own.monitoring === null) own.monitoring = new Set()
    own.monitoring.add(this)
  }

  unmonitor(): void {
    this.cold?.monitors?.delete(Fiber.current)
    Fiber.current.cold?.monitoring?.delete(this)
  }

  // ---- the tree

  /** Spins a child of this fiber, from wherever you are. */
  get spin(): Spin {
    return ((first: any, ...rest: any[]) => spinUnder(this, first, rest)) as Spin
  }

  /** Runs a body as a root fiber outside the tree, at the head of the run queue; its errors go to main (S46). */
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
    this.runtime.roots.delete(this)
    unlink(this)
    link(this, parent)
    if (this.cold?.raw) {
      this.cold.raw = false
      this.runtime.alive++
    }
    if (old !== null) childLeft(old)
    return this
  }

  /** Gives it to the root of its tree, so that it outlives its parent (S07). */
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

  /** Waits until all present children are dead; gives their outcomes, oldest first. */
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

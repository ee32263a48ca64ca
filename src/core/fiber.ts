// Fiber: one generator and its position in the tree. Its fields, its public methods, and how fibers are made (spin). Running
// is in step.ts, signals and deadlines in switchpoint.ts, ends in tree.ts, rarely used fields in rare.ts.

import { checkBody, nameOf, op, type Result, type Returned } from './body.js'
import { current } from './current.js'
import { callSite, debugging, describe, opEntered, rememberSpin } from './debug.js'
import {
  BadArgument,
  BadState,
  Cancel,
  checkError,
  type ErrorClass,
  type ErrorLike,
  makeError,
  notInFiber,
  Stop,
  show,
} from './errors.js'
import { AwaitOp, awaitAll, JoinOp, joinAll, selectFirst } from './join.js'
import { append } from './list.js'
import { deliver, Mailbox } from './mailbox.js'
import { monitor, unmonitor } from './monitor.js'
import type { BaseOp, Op, Switchpoint } from './op.js'
import { check, checkName, checkOptions, checkTimeLimit } from './options.js'
import { RareState } from './rare.js'
import { askRestart, type RestartOptions, revive } from './restart.js'
import type { Ring } from './ring.js'
import type { Runtime } from './runtime.js'
import {
  applyOptions,
  checkRootOptions,
  checkSpinOptions,
  inheritContext,
  type RunOptions,
  type Spin,
} from './spin.js'
import {
  type AnswerCode,
  CLOSING,
  DEAD,
  type EndCode,
  FORCED,
  GRACE,
  LIVE,
  makeOutcome,
  NONE,
  type Outcome,
  OVER,
  type Phase,
  type PhaseCode,
  phaseName,
  RUNNABLE,
  STATES,
  type State,
  type StateCode,
  WAITING,
} from './state.js'
import { wake } from './suspend.js'
import { graceEnd, isForced, type Ladder, queueError, type Region, regionsOf } from './switchpoint.js'
import { emit, tapped } from './tap.js'
import {
  childLeft,
  type EndListener,
  innermostOwner,
  moveTo,
  type Owner,
  stopChildren,
  stopFiber,
} from './tree.js'

/** Options of `stop`. */
export interface StopOptions {
  /** Milliseconds that cleanup may wait before it is forced (S18). */
  grace?: number
  /** The reason, shown as `fiber.stopReason` of the fiber and its descendants. */
  reason?: unknown
}

/** What `stop`, `kill`, `raise` and others return. They have acted already: `yield*` it to wait for the end, or ignore it (S08). */
export interface Ending<T> extends Op<Outcome<T>> {
  /** Marks it for tools: unlike any other op it may be dropped. */
  readonly isEnding: true
}

type Results<F extends readonly Fiber<any, any>[]> = {
  -readonly [K in keyof F]: F[K] extends Fiber<infer T, any> ? T : never
}

/** One of the fibers with its value. */
type Selected<F extends readonly Fiber<any, any>[]> = {
  [K in keyof F]: F[K] extends Fiber<infer T, any> ? [F[K], T] : never
}[number]

const NO_ARGS: readonly unknown[] = []
const NO_OPTIONS: StopOptions = {}
const STOP_OPTIONS = { grace: checkTimeLimit, reason: check.any }
let lastId = 0

/**
 * A running generator in the tree. `spin` makes one; `new Fiber(body)` makes a raw one, which has no parent and
 * runs only when a fiber transfers to it (S62). `T` is its value, `M` types the messages it is sent.
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
export class Fiber<T = unknown, M = any> implements Op<T> {
  // All fields are set in the constructor, in one shape.
  /** @internal */ _phase: PhaseCode = LIVE
  /** @internal The signal thrown into it, once it was asked to end. */ stopSignal: Stop | null = null
  /** @internal Deadlines and counters of its end, made when needed. */ ladder: Ladder | null = null
  /** @internal The children that hang on it, newest first. */ newest: Fiber<any, any> | null = null
  /** A number that no other fiber of this process has. */
  readonly id = ++lastId
  /** @internal */ _grace = GRACE
  /** @internal */ _state: StateCode = RUNNABLE
  /** @internal What `value` means. */ how: AnswerCode | EndCode = NONE
  /** @internal Ops that may still finish at once; below 0 the next op goes through the gate (S09). */ budget: number
  /** @internal */ generator: Iterator<unknown> | null = null
  /** @internal The op it waits in: `fiber.op === op` decides whether an answer is wanted. */
  op: BaseOp<any> | null = null
  /** @internal The answer of the op while alive, the result afterwards. */ value: unknown = undefined
  /** @internal The innermost region that it is in: a block, or the fiber itself. */ innermost: Region = this
  /** @internal Errors to be thrown at the next switchpoints, in order of arrival (S26). */
  errors: Ring<{ error: unknown; fromChild: boolean }> | null = null
  /** @internal */ owner: Owner | null = null
  /** @internal The next in the run queue. */ behind: Fiber | null = null
  /** @internal Siblings, the older and the newer one. */
  before: Fiber<any, any> | null = null
  /** @internal */ after: Fiber<any, any> | null = null
  /** @internal The list of listeners to its end (see tree.ts). */ lastListener: EndListener | null = null
  /** @internal */ _mailbox: Ring<unknown> | null = null
  /** @internal Never changed in place: a writer makes a new map, so sharing is free (S56). */
  locals: ReadonlyMap<object, unknown> | null = null
  /** @internal */ rare: RareState | null = null
  /** @internal */ givenName: string | undefined = undefined
  /** @internal When it began to wait; 0 unless steps are watched (see Runtime.watchedStep). */ since = 0
  /** @internal */ readonly body: (...args: any[]) => unknown
  /** @internal */ args: readonly unknown[]
  /** Its runtime: for ops that need a clock, timers, or hold the process (`polyphony/op`). */
  readonly runtime: Runtime

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
    const isRaw = runtime === undefined
    if (isRaw) parent = Fiber.current
    this.body = body
    this.args = args
    this.runtime = runtime ?? (parent as Fiber).runtime
    this.budget = this.runtime.freshBudget
    if (parent !== null) {
      this._grace = parent._grace
      this.locals = parent.locals
    }
    if (debugging) rememberSpin(this)
    if (isRaw) {
      checkBody(body, 'new Fiber()')
      this._state = WAITING
      this.rareState().isRaw = true
      inheritContext(this, parent as Fiber)
    }
  }

  // ---- identity and state

  /** The fiber that runs now. Throws `NotInFiber` outside one. */
  static get current(): Fiber {
    if (current.fiber === null) throw notInFiber('Fiber.current')
    return current.fiber
  }

  /** The given name, else the name of the body with the fiber's number. */
  get name(): string {
    return this.givenName ?? `${nameOf(this.body) || 'fiber'}#${this.id}`
  }
  set name(name: string) {
    checkName(name, 'the name of a fiber')
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
  get state(): State {
    return STATES[this._state] as State
  }

  /** How far its end has come: `'live' | 'requested' | 'unwinding' | 'forced' | 'closing' | 'dead'`. */
  get phase(): Phase {
    return phaseName(this._phase)
  }

  /** How it ended; undefined while it lives. */
  get outcome(): Outcome<T> | undefined {
    return this._state === DEAD ? makeOutcome<T>(this.how, this.value) : undefined
  }

  /** How many times it has been started: 1, and one more for each restart. */
  get incarnation(): number {
    return this.rare?.incarnation ?? 1
  }

  /** Why it is being, or was, stopped (S14). */
  get stopReason(): unknown {
    return this.stopSignal?.reason
  }

  /** What it waits for, as text; undefined while it does not wait. */
  get waitsFor(): string | undefined {
    return this.op === null || this._state !== WAITING ? undefined : describe(this.op)
  }

  /** An AbortSignal that aborts when this fiber is asked to stop (S57). Made on first use. */
  get signal(): AbortSignal {
    const rare = this.rareState()
    if (rare.controller === null) {
      rare.controller = new AbortController()
      if (this._phase !== LIVE) rare.controller.abort(this.stopReason)
    }
    return rare.controller.signal
  }

  /** The fiber it belongs to; null for the root of a tree. */
  get parent(): Fiber | null {
    return this.owner === null ? null : this.owner.host
  }

  /** Its living children, oldest first, also those that belong to a scope it is in. */
  get children(): Fiber[] {
    const found: Fiber[] = []
    for (const region of regionsOf(this)) {
      for (let child = region.newest; child !== null; child = child.before) found.push(child)
    }
    return found.sort((a, b) => a.id - b.id)
  }

  /** How long cleanup may wait when it is stopped, in milliseconds (S18). Children start with their parent's. */
  get grace(): number {
    return this._grace
  }
  set grace(grace: number) {
    checkTimeLimit(grace, 'the grace of a fiber')
    this._grace = grace
  }

  // ---- waiting for it

  /** `yield* fiber` waits for the end and returns the value (S31). */
  [Symbol.iterator](): Iterator<Switchpoint, T, unknown> {
    return new AwaitOp<T>(this)
  }

  /** Waits for the end: returns the value, throws the error, or throws `FiberStopped` if it was stopped without a value (S31). */
  await(): Op<T> {
    return new AwaitOp<T>(this)
  }

  /**
   * Waits for the end and returns the outcome. Never throws (S31).
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
   * Waits for several fibers; returns their values in argument order. On the first error, the rest are stopped and awaited,
   * then the error is thrown (S31).
   *
   * ```ts
   * const [a, b] = yield* Fiber.await(spin(() => 1), spin(() => 'two'))
   * console.log(a, b) // 1 two
   * ```
   */
  static await<F extends readonly Fiber<any, any>[]>(...fibers: F): Op<Results<F>> {
    checkFibers(fibers, 'Fiber.await()')
    return op('Fiber.await()', () => awaitAll(fibers)) as Op<any>
  }

  /**
   * Waits for the first of several fibers to end; returns `[fiber, value]`. Throws if that fiber failed. The others are not
   * stopped (S37).
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
    return op('Fiber.select()', () => selectFirst(fibers)) as Op<any>
  }

  // ---- ending it

  /**
   * Stops the fiber: cleanup runs and may wait (S11, S16). The outcome is `stopped` with the value. `yield*` the result to
   * wait for the end.
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
  stop(value?: unknown, options: StopOptions = NO_OPTIONS): Ending<T> {
    stopFiber(this, this.makeStop(value, options, 'stop()'))
    return this.seenThrough()
  }

  /** Like `stop`, without a value: what parents do to their children. */
  terminate(options: StopOptions = NO_OPTIONS): Ending<T> {
    return this.stop(undefined, options)
  }

  /** Ends the fiber at once: only synchronous cleanup still runs (S19). */
  kill(): Ending<T> {
    return this.stop(undefined, { grace: 0, reason: 'killed' })
  }

  /**
   * Throws an error at its current switchpoint: an error, a class with its message, or only a message. It is an ordinary
   * error, which may be caught (S67).
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
  raise(error?: ErrorLike): Ending<T>
  /** With a class of errors and its message. */
  raise(error: ErrorClass, message: string): Ending<T>
  raise(error?: ErrorLike, message?: string): Ending<T> {
    checkError(error, message, 'raise()')
    this.throwInto(makeError(error, Error, message ?? `raised in ${this.path}`))
    return this.seenThrough()
  }

  /** Throws `Cancel`, or the error given, at its current switchpoint (S67). The error is given as to `raise`. */
  cancel(error?: ErrorLike): Ending<T>
  /** With a class of errors and its message. */
  cancel(error: ErrorClass, message: string): Ending<T>
  cancel(error?: ErrorLike, message?: string): Ending<T> {
    checkError(error, message, 'cancel()')
    this.throwInto(makeError(error, Cancel, message ?? `${this.path} was cancelled`))
    return this.seenThrough()
  }

  /** What a verb returns: it may be dropped. */
  private seenThrough(): Ending<T> {
    return new JoinOp<T>(this).droppable() as unknown as Ending<T>
  }

  private throwInto(error: Error): void {
    // S67: only a live fiber can be raised in.
    if (this._phase !== LIVE) {
      if (tapped) emit('dropped', this, error)
    } else {
      if (tapped) emit('raise', this, error)
      queueError(this, error, false)
    }
  }

  /**
   * Stops the fiber and its children, then runs its body again: the same object, a new incarnation (S41).
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

  /** `restart` with options: `keepMailbox` passes the waiting messages to the new incarnation. */
  restartWith(options: RestartOptions): this {
    askRestart(this, options, false)
    if (this._phase === OVER) revive(this)
    return this
  }

  /** @internal Stops the fiber, unless it is dead, and restarts it when `restartWith` is called. A stop calls it off (S42). */
  holdRestart(options: { grace?: number } = {}): void {
    askRestart(this, options, true)
  }

  /** @internal */
  makeStop(value: unknown, options: StopOptions, where: string): Stop {
    if (options !== NO_OPTIONS) checkOptions(options, STOP_OPTIONS, where)
    const { grace = this._grace } = options
    const now = this.runtime.now()
    const reason =
      options.reason ??
      (current.fiber === null ? 'stopped from outside any fiber' : `stopped by ${current.fiber.name}`)
    return new Stop(value, reason, now, now + grace, false, debugging ? callSite() : undefined)
  }

  // ---- resuming it

  /**
   * Wakes the fiber from `suspend` or `transfer` with a value; an Error is thrown there. False if it waits for something else
   * (S63).
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

  /** Its unread messages; `cap(n)` sets a capacity (S38). */
  get mailbox(): Mailbox<M> {
    const rare = this.rareState()
    rare.mailbox ??= new Mailbox(this)
    return rare.mailbox
  }

  /**
   * From now on each end of this fiber, of every incarnation, arrives in the caller's mailbox as a `FiberEnd`.
   *
   * ```ts
   * const worker = spin('worker', () => 'done')
   * worker.monitor()
   * const end: FiberEnd = yield* receive()
   * console.log(end.fiber.name, end.outcome) // worker { type: 'value', value: 'done' }
   * ```
   */
  monitor(): void {
    monitor(this, Fiber.current)
  }

  /** Undoes `monitor()`. */
  unmonitor(): void {
    unmonitor(this, Fiber.current)
  }

  // ---- the tree

  /** Spins a child of this fiber, also from other fibers and from callbacks. */
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
    if (this.owner === null && !this.rare?.isRaw) throw refuse('it is the root of its tree')
    if (this._state === DEAD) throw refuse('it is dead')
    if (!parent.isOpen) throw refuse('the new parent is over')
    if (parent.runtime !== this.runtime) throw refuse('they live in different runtimes')
    const old = this.owner
    moveTo(this, parent)
    if (this.rare?.isRaw) {
      this.rare.isRaw = false
      this.runtime.alive++
    }
    old?.host.rare?.supervisor?.childChanged(this)
    parent.rare?.supervisor?.childCame(this)
    if (old !== null) childLeft(old)
    return this
  }

  /**
   * Makes it a child of the root of its tree, so that it outlives its parent (S07).
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
    checkOptions(options, { grace: checkTimeLimit }, 'stopChildren()')
    for (const region of regionsOf(this)) {
      if (region.newest !== null) stopChildren(region as Owner, options.grace)
    }
  }

  /**
   * Waits until all present children are dead; returns their outcomes, oldest first (S02).
   *
   * ```ts
   * spin(() => 1)
   * spin(() => 2)
   * console.log(yield* Fiber.current.joinChildren()) // [ { type: 'value', value: 1 }, { type: 'value', value: 2 } ]
   * ```
   */
  joinChildren(): Op<Outcome<unknown>[]> {
    return op('joinChildren()', () => joinAll(this.children))
  }

  /** Stops all children and waits for them. */
  shutdownChildren(options: { grace?: number } = {}): Op<Outcome<unknown>[]> {
    const children = this.children
    this.stopChildren(options)
    const joining = op('shutdownChildren()', () => joinAll(children))
    if (debugging) opEntered(joining as unknown as { describe(): string }) // they have been asked already
    return joining
  }

  // ---- as text

  /** Its path and what it is doing: `main > server (waiting for accept())`. */
  toString(): string {
    const { waitsFor } = this
    const doing = waitsFor === undefined ? this.state : `waiting for ${waitsFor}`
    return `${this.path} (${doing}${this.phase === 'live' || this.phase === 'dead' ? '' : `, ${this.phase}`})`
  }

  /** What `console.log(fiber)` prints. */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return `Fiber ${this.toString()}`
  }

  // ---- for the other files of the core

  /** @internal */
  get mailboxSize(): number {
    return (this.rare?.restart?.mailbox ?? this._mailbox)?.size ?? 0
  }

  /** @internal */
  rareState(): RareState {
    if (this.rare === null) this.rare = new RareState()
    return this.rare
  }

  /** @internal Every owner has its host; a scope's is the fiber that runs it, or ran it. */
  get host(): Fiber {
    return this as unknown as Fiber
  }
  /** @internal Whether children may still be added. */
  get isOpen(): boolean {
    return this._phase < CLOSING
  }
  /** @internal Whether code of its own will still run: its body, or cleanups of `use`. */
  get willRun(): boolean {
    return this.isOpen || (this.rare !== null && this.rare.cleanups !== null)
  }
  /** @internal */
  get isUnstarted(): boolean {
    return this.generator === null && this.op === null && this._phase < CLOSING
  }
  /** @internal As an owner: errors of its children are its own. */
  get isolates(): boolean {
    return false
  }
  /** @internal */
  get isIsolated(): boolean {
    return this.rare?.isIsolated === true || (this.owner?.isolates ?? false)
  }
  /** @internal The latest time for children that are stopped now. */
  childDeadline(): number {
    return graceEnd(this)
  }
}

function checkFibers(fibers: readonly unknown[], where: string): void {
  for (const fiber of fibers) {
    if (!(fiber instanceof Fiber)) {
      throw new BadArgument(`${where} needs fibers to wait for, got ${show(fiber)}`)
    }
  }
}

// ---- making fibers

/**
 * Starts a child of the current fiber and returns it at once; the body runs later (S05). A name or options may come
 * first, the arguments of the body come last.
 *
 * ```ts
 * function* work(ms: number) {
 *   yield* sleep(ms)
 *   return `${ms} ms later`
 * }
 * const plain = spin(work, 10)
 * const named = spin('worker', work, 20)
 * const patient = spin({ name: 'patient', grace: 30_000 }, work, 30)
 * console.log(yield* Fiber.await(plain, named, patient)) // [ '10 ms later', '20 ms later', '30 ms later' ]
 * ```
 */
export const spin = function spin(first: unknown, ...rest: unknown[]): Fiber {
  if (current.fiber === null) throw notInFiber('spin()')
  return spinUnder(current.fiber, first, rest)
} as Spin

/** `spin` for a given parent. */
function spinUnder(parent: Fiber, first: unknown, rest: readonly unknown[]): Fiber {
  if (typeof first === 'function') {
    return spawn(parent, first as () => unknown, rest.length > 0 ? rest : NO_ARGS) // an idle fiber keeps no empty array
  }
  const body = rest[0] as () => unknown
  const args = rest.length > 1 ? rest.slice(1) : NO_ARGS
  if (typeof first === 'string') {
    checkName(first, 'the name of spin()')
    return spawn(parent, body, args, first)
  }
  const options = checkSpinOptions(first, parent.runtime)
  const fiber = spawn(parent, body, args, options.name)
  applyOptions(fiber, options)
  return fiber
}

function spawn(
  parent: Fiber,
  body: (...args: any[]) => unknown,
  args: readonly unknown[],
  name?: string,
): Fiber {
  checkBody(body, 'spin()')
  const owner = parent === current.fiber && parent.innermost !== parent ? innermostOwner(parent) : parent
  if (!owner.isOpen || (parent._phase >= FORCED && isForced(parent))) refuseSpin(parent, owner, body)
  const { runtime } = parent
  const fiber = new Fiber(body, args, runtime, parent)
  if (name !== undefined) fiber.givenName = name
  if (parent.rare !== null) inheritContext(fiber, parent)
  fiber.owner = owner
  owner.newest = append<Fiber<any, any>>(owner.newest, fiber)
  runtime.alive++
  if (tapped) emit('spin', fiber)
  runtime.push(fiber)
  if (parent.rare !== null) parent.rare.supervisor?.childCame(fiber)
  return fiber
}

/** Nothing can be spun into what is ending (S06): it would not be stopped, or not be waited for. */
function refuseSpin(parent: Fiber, owner: Owner, body: (...args: any[]) => unknown): never {
  const what =
    owner === parent
      ? `its parent ${parent.path} ${parent._phase === FORCED ? 'is being forced to end' : 'is over'}`
      : `the scope in ${parent.path} that it would belong to is ending`
  throw new BadState(`${nameOf(body) || 'a fiber'} cannot be spun: ${what}`)
}

/**
 * Starts a fiber without a parent: a pool uses it to close a resource when the releasing fiber cannot wait. `outOfBand` puts
 * it at the head of the run queue and sends its errors to `main`. `where` names the call, for errors.
 *
 * ```ts
 * const { runtime } = Fiber.current
 * const closing = spinRoot(runtime, () => sleep(10), { name: 'closing' })
 * console.log(closing.path, closing.parent) // closing null
 * yield* closing
 * ```
 */
export function spinRoot(
  runtime: Runtime,
  body: (...args: any[]) => unknown,
  options: RunOptions & { outOfBand?: boolean; link?: boolean } = {},
  where = 'run()',
): Fiber {
  checkBody(body, where)
  checkRootOptions(options, runtime, where)
  const fiber = new Fiber(body, NO_ARGS, runtime, null)
  fiber.givenName = options.name
  runtime.roots.add(fiber)
  runtime.alive++
  if (options.outOfBand) fiber.rareState().isOutOfBand = true
  if (tapped) emit('spin', fiber)
  runtime.push(fiber, options.outOfBand)
  applyOptions(fiber, options)
  return fiber
}

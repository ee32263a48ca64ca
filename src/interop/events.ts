// on and once: events of emitters (Node) and targets (the web) as sources and ops. Listeners are added at the call, so
// that no event is missed between two waits, and removed by the first of close(), the end, an error, the fiber's end.
//
//   open  ->  ended        an 'error' or the event named by `end` came; unread events can still be read
//         \->  closed       close() was called, or the fiber has ended: unread events are dropped

// biome-ignore lint/suspicious/noTsIgnore: expected only in projects without the types of Node
/** @ts-ignore: such a project has no emitters of Node either */
import type { EventEmitter } from 'node:events'
import {
  type Checks,
  check,
  Fiber,
  fail,
  IdleOp,
  type Op,
  onEnd,
  Ring,
  settle,
  Waiters,
} from '../core/index.js'
import { END, HAS_CLOSED, type Iterates, type Source } from '../sync/index.js'
import { Action, type Start } from './action.js'
import { checkEmitter, type Emitter, type EventName, isEmitter, subscribe } from './subscribe.js'

/** Options of `on`. */
export interface OnOptions {
  /** If true, each item is an array of all arguments of the event; default false: the first argument. */
  args?: boolean
  /** The event that ends the source. */
  end?: EventName
  /** How many unread events are kept before the oldest is dropped; default Infinity. */
  capacity?: number
}

/** Options of `once`. */
export interface OnceOptions {
  /** If true, returns an array of all arguments of the event; default false: the first argument. */
  args?: boolean
}

const ONCE_OPTIONS: Checks<OnceOptions> = { args: check.boolean }
const ON_OPTIONS: Checks<OnOptions> = { ...ONCE_OPTIONS, end: check.any, capacity: check.limit }

type EventMap<M> = Record<keyof M, any[]>

type Phase = 'open' | 'ended' | 'closed'

/**
 * The events of an emitter, one by one: what `on` returns.
 *
 * ```ts
 * import { EventEmitter } from 'node:events'
 * import { main, on } from 'polyphony'
 *
 * main(function* () {
 *   const sensor = new EventEmitter()
 *   const newest = on<number>(sensor, 'degrees', { capacity: 1 })
 *   for (const degrees of [18, 19, 21]) sensor.emit('degrees', degrees)
 *   console.log(newest.stats())
 *   console.log(yield* newest.next())
 * })
 * ```
 *
 * ```text
 * { unread: 1, dropped: 2, waiting: 0 }
 * 21
 * ```
 */
export class Events<T> implements Source<T>, Iterates<T> {
  private phase: Phase = 'open'
  private readonly unread = new Ring<T>()
  private readonly waiters = new Waiters()
  private failure: { readonly error: unknown } | null = null
  private dropped = 0
  private unsubscribe: (() => void) | null = null
  /** Ends the listening to the end of the owner. */
  private forgetEnd = (): void => {}
  private nextOp: NextEvent<T> | null = null

  /** @internal */
  constructor(
    /** @internal */ readonly emitter: Emitter,
    private readonly event: EventName,
    private readonly options: OnOptions,
    private readonly owner: Fiber,
  ) {
    const { args, end } = options
    const listeners = new Map<EventName, (...args: any[]) => void>()
    if (end !== undefined) listeners.set(end, () => this.finish())
    if (isEmitter(emitter)) listeners.set('error', (error) => this.fail(error))
    listeners.set(event, args ? (...all) => this.take(all as T) : (first) => this.take(first))
    this.unsubscribe = subscribe(emitter, listeners)
    this.forgetEnd = onEnd(owner, () => void this.close())
    if (this.phase !== 'open') this.stopListening(this.phase) // an event came while listeners were being added
  }

  /** Waits for the next event; `END` when there are no more. Throws the error of an `'error'` event. */
  next(): Op<T | typeof END> {
    this.nextOp ??= new NextEvent(this).droppable()
    return this.nextOp.handOut()
  }

  /** Removes the listeners at once. Unread events are dropped, and waiting fibers get `END`. */
  close(): Op<void> {
    this.stopListening('closed')
    while (this.unread.size > 0) this.unread.shift()
    if (this.failure !== null) this.reportFailure(this.failure.error)
    this.failure = null
    return HAS_CLOSED // closed already: waiting for it is optional
  }

  /** Returns itself, for `each`. */
  iterate(): Source<T> {
    return this
  }

  /** How many events are unread, how many were dropped because of `capacity`, and how many fibers wait for one. */
  stats(): { unread: number; dropped: number; waiting: number } {
    return { unread: this.unread.size, dropped: this.dropped, waiting: this.waiters.size }
  }

  private take(item: T): void {
    if (this.phase !== 'open') return // removed while the event was being emitted
    if (this.handOver(item)) return
    this.unread.push(item)
    if (this.unread.size <= (this.options.capacity ?? Infinity)) return
    this.unread.shift()
    this.dropped++
  }

  private finish(): void {
    if (this.phase === 'open') this.stopListening('ended')
  }

  private fail(error: unknown): void {
    if (this.phase !== 'open') return
    if (this.waiters.size > 0) {
      this.owner.runtime.external--
      this.waiters.refuse(error)
    } else this.failure = { error }
    this.stopListening('ended')
  }

  private handOver(item: T | typeof END): boolean {
    if (this.waiters.size === 0) return false
    this.owner.runtime.external--
    return this.waiters.handOver(item)
  }

  private stopListening(phase: Phase): void {
    this.phase = phase
    while (this.handOver(END));
    const { unsubscribe, owner } = this
    this.unsubscribe = null
    if (this.failure === null) this.forgetEnd()
    try {
      unsubscribe?.()
    } catch (error) {
      owner.runtime.uncaught(error, `removing the listeners of ${this.describe()} in ${owner.path} failed`)
    }
  }

  private reportFailure(error: unknown): void {
    const message = `${this.describe()} in ${this.owner.path} got an error that was never read`
    this.owner.runtime.report({ kind: 'unobserved', message, error })
  }

  /** @internal For `NextEvent`. */
  enter(fiber: Fiber, op: NextEvent<T>): void {
    const { unread, failure } = this
    if (unread.size > 0) settle(fiber, op, unread.shift())
    else if (failure !== null) {
      this.failure = null
      this.forgetEnd()
      fail(fiber, op, failure.error)
    } else if (this.phase !== 'open') settle(fiber, op, END)
    else {
      this.waiters.join(fiber, undefined)
      this.owner.runtime.external++
    }
  }

  /** @internal */
  leave(fiber: Fiber): void {
    this.waiters.leave(fiber)
    this.owner.runtime.external--
  }

  /** @internal */
  describe(): string {
    return `on(${String(this.event)})`
  }
}

class NextEvent<T> extends IdleOp<T | typeof END> {
  constructor(private readonly events: Events<T>) {
    super()
  }
  enter(fiber: Fiber): void {
    this.events.enter(fiber, this)
  }
  abort(fiber: Fiber): void {
    this.events.leave(fiber)
  }
  describe(): string {
    return `${this.events.describe()}.next()`
  }
  override get kind(): string {
    return 'emitter'
  }
  override get resource(): object {
    return this.events.emitter
  }
}

/** The wait of `once`. */
class Once extends Action<unknown> {
  constructor(
    start: Start<unknown>,
    private readonly emitter: object,
    event: EventName,
  ) {
    super(start, undefined, `once(${String(event)})`)
  }
  override get kind(): string {
    return 'emitter'
  }
  override get resource(): object {
    return this.emitter
  }
}

/**
 * The events of an emitter or an event target, one by one. It listens from the call on, until `close()` or the end of
 * the calling fiber. An item is the first argument of the event; with `{ args: true }`, an array of all.
 *
 * ```ts
 * import { EventEmitter } from 'node:events'
 * import { main, on } from 'polyphony'
 *
 * main(function* () {
 *   const chat = new EventEmitter<{ line: [text: string] }>()
 *   const lines = on(chat, 'line')
 *   chat.emit('line', 'hello')
 *   chat.emit('line', 'anybody there?')
 *   console.log(yield* lines.next())
 *   console.log(yield* lines.next())
 *   yield* lines.close()
 *   console.log(chat.listenerCount('line'))
 * })
 * ```
 *
 * ```text
 * hello
 * anybody there?
 * 0
 * ```
 *
 * An `'error'` event of an emitter is thrown by `next()` after the events before it; then the source ends. Emitters
 * cannot be slowed down: unread events are kept, without limit unless `capacity` is given.
 */
export function on<M extends EventMap<M>, K extends keyof M>(
  emitter: EventEmitter<M>,
  event: K,
  options: OnOptions & { args: true },
): Events<M[K]>
export function on<M extends EventMap<M>, K extends keyof M>(
  emitter: EventEmitter<M>,
  event: K,
  options?: OnOptions & { args?: false },
): Events<M[K][0]>
export function on<T = any>(emitter: Emitter, event: EventName, options?: OnOptions): Events<T>
export function on<T = Event>(target: EventTarget, event: string, options?: OnOptions): Events<T>
export function on(
  emitter: Emitter | EventTarget,
  event: EventName,
  options: OnOptions = {},
): Events<unknown> {
  const owner = Fiber.current
  checkEmitter(emitter, event, 'on()')
  const { end } = check.options(options, ON_OPTIONS, 'on()')
  if (end !== undefined) checkEmitter(emitter, end, 'the end of on()')
  return new Events(emitter as Emitter, event, options, owner)
}

/**
 * Waits for one event of an emitter or an event target, and returns its first argument; with `{ args: true }`, an array
 * of all. An `'error'` event of an emitter is thrown. However the wait ends, its listeners are removed.
 *
 * ```ts
 * import { spawn } from 'node:child_process'
 * import { main, once } from 'polyphony'
 *
 * main(function* () {
 *   const child = spawn(process.execPath, ['-e', 'process.exitCode = 3'])
 *   const [code, signal] = yield* once<[number, string | null]>(child, 'exit', { args: true })
 *   console.log(code, signal)
 * })
 * ```
 *
 * ```text
 * 3 null
 * ```
 */
export function once<M extends EventMap<M>, K extends keyof M>(
  emitter: EventEmitter<M>,
  event: K,
  options: OnceOptions & { args: true },
): Op<M[K]>
export function once<M extends EventMap<M>, K extends keyof M>(
  emitter: EventEmitter<M>,
  event: K,
  options?: OnceOptions & { args?: false },
): Op<M[K][0]>
export function once<T = any>(emitter: Emitter, event: EventName, options?: OnceOptions): Op<T>
export function once<T = Event>(target: EventTarget, event: string, options?: OnceOptions): Op<T>
export function once(
  emitter: Emitter | EventTarget,
  event: EventName,
  options: OnceOptions = {},
): Op<unknown> {
  checkEmitter(emitter, event, 'once()')
  const { args } = check.options(options, ONCE_OPTIONS, 'once()')
  const start = (answer: (value: unknown) => void, refuse: (error: unknown) => void) => {
    const listeners = new Map<EventName, (...args: any[]) => void>()
    if (isEmitter(emitter)) listeners.set('error', refuse)
    listeners.set(event, args ? (...all) => answer(all) : answer)
    return subscribe(emitter, listeners)
  }
  return new Once(start, emitter, event)
}

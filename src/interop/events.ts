// Events of emitters (Node) and targets (the web) as sources and ops. Listeners are added at the call, so that no event
// is missed between two waits, and removed by whatever comes first: close(), the end, an error, the end of the fiber.
//
//   open  ->  ended        an 'error' or the event named by `end` came; what is unread can still be read
//         \->  closed       nobody wants any more

// biome-ignore lint/suspicious/noTsIgnore: expected only in projects without the types of Node
/** @ts-ignore: such a project has no emitters of Node either */
import type { EventEmitter } from 'node:events'
import {
  BadArgument,
  BaseOp,
  checkOptions,
  debugging,
  Fiber,
  fail,
  type Op,
  Ring,
  settle,
  show,
  Waiters,
} from '../core/index.js'
import { END, type Iterates, type Source } from '../sync/index.js'
import { Action } from './action.js'
import { checkEmitter, type Emitter, type EventName, isEmitter, subscribe } from './listen.js'

/** What `on` may be told. */
export interface OnOptions {
  /** Each item is an array with all arguments of the event; without it, the first argument. */
  args?: boolean
  /** The event after which there are no more. */
  end?: EventName
  /** How many unread events are kept: one more, and the oldest is dropped. Default: all are kept. */
  capacity?: number
}

/** What `once` may be told. */
export interface OnceOptions {
  /** Gives an array with all arguments of the event; without it, the first argument. */
  args?: boolean
}

type EventMap<M> = Record<keyof M, any[]>

const OPEN = 0
const ENDED = 1
const CLOSED = 2

/**
 * The events of an emitter, one by one: what `on` gives.
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
  private phase = OPEN
  private readonly unread = new Ring<T>()
  private readonly waiters = new Waiters()
  private failure: { readonly error: unknown } | null = null
  private dropped = 0
  private unsubscribe: (() => void) | null = null
  private readonly atEnd = () => void this.close()
  private nextOp: NextEvent<T> | null = null

  /** @internal */
  constructor(
    emitter: Emitter,
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
    const cold = owner.coldRecord()
    cold.atEnd ??= new Set()
    cold.atEnd.add(this.atEnd)
    if (this.phase !== OPEN) this.stopListening(this.phase) // it was over before all listeners were there
  }

  /** Waits for the next event; `END` when there are no more. Throws the error if the emitter had one. */
  next(): Op<T | typeof END> {
    if (debugging) return new NextEvent(this)
    this.nextOp ??= new NextEvent(this)
    return this.nextOp
  }

  /** Removes the listeners at once. Unread events are dropped, and those who wait get `END`. */
  close(): Op<void> {
    this.stopListening(CLOSED)
    while (this.unread.size > 0) this.unread.shift()
    if (this.failure !== null) this.reportFailure(this.failure.error)
    this.failure = null
    return HAS_CLOSED // it has happened: nobody has to wait for it
  }

  /** Itself: `each` asks for it. */
  iterate(): Source<T> {
    return this
  }

  /** How many events are unread, how many were dropped for want of room, and how many fibers wait for one. */
  stats(): { unread: number; dropped: number; waiting: number } {
    return { unread: this.unread.size, dropped: this.dropped, waiting: this.waiters.size }
  }

  private take(item: T): void {
    if (this.phase !== OPEN) return // removed while the event was being emitted
    if (this.handOver(item)) return
    this.unread.push(item)
    if (this.unread.size <= (this.options.capacity ?? Infinity)) return
    this.unread.shift()
    this.dropped++
  }

  private finish(): void {
    if (this.phase === OPEN) this.stopListening(ENDED)
  }

  private fail(error: unknown): void {
    if (this.phase !== OPEN) return
    if (this.waiters.size > 0) {
      this.owner.runtime.external--
      this.waiters.refuse(error)
    } else this.failure = { error }
    this.stopListening(ENDED)
  }

  private handOver(item: T | typeof END): boolean {
    if (this.waiters.size === 0) return false
    this.owner.runtime.external--
    return this.waiters.handOver(item)
  }

  private stopListening(phase: number): void {
    this.phase = phase
    while (this.handOver(END));
    const { unsubscribe, owner } = this
    this.unsubscribe = null
    if (this.failure === null) owner.cold?.atEnd?.delete(this.atEnd)
    try {
      unsubscribe?.()
    } catch (error) {
      owner.runtime.uncaught(error, `removing the listeners of ${this.describe()} in ${owner.path} failed`)
    }
  }

  private reportFailure(error: unknown): void {
    const message = `${this.describe()} in ${this.owner.path} got an error that nobody has read`
    this.owner.runtime.report({ kind: 'unobserved', message, error })
  }

  /** @internal For `NextEvent`. */
  enter(fiber: Fiber, op: NextEvent<T>): void {
    const { unread, failure } = this
    if (unread.size > 0) settle(fiber, op, unread.shift())
    else if (failure !== null) {
      this.failure = null
      this.owner.cold?.atEnd?.delete(this.atEnd)
      fail(fiber, op, failure.error)
    } else if (this.phase !== OPEN) settle(fiber, op, END)
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

class NextEvent<T> extends BaseOp<T | typeof END> {
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
}
;(NextEvent.prototype as { idle: boolean }).idle = true // S17: new work, never cleanup

class Closed extends BaseOp<void> {
  enter(fiber: Fiber): void {
    settle(fiber, this, undefined)
  }
  abort(): void {}
  describe(): string {
    return 'close()'
  }
}
const HAS_CLOSED = new Closed()

/**
 * The events of an emitter or an event target, one by one. It listens from the call on, until `close()` or until the
 * fiber that made it ends. An item is the first argument of the event; with `{ args: true }`, an array of all.
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
 * An `'error'` event of an emitter is thrown by `next()` when the events before it have been read; then it is over.
 * Emitters cannot be slowed down: unread events are kept, all of them unless `capacity` says how many.
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
  const { args, end, capacity } = checkOptions(options, ['args', 'end', 'capacity'], 'on()')
  checkArgs(args, 'on()')
  if (end !== undefined) checkEmitter(emitter, end, 'the end of on()')
  if (capacity !== undefined && capacity !== Infinity && !(Number.isInteger(capacity) && capacity > 0)) {
    throw new BadArgument(`on() needs a whole number above 0 as capacity, got ${show(capacity)}`)
  }
  return new Events(emitter as Emitter, event, options, owner)
}

/**
 * Waits for one event of an emitter or an event target, and gives its first argument; with `{ args: true }`, an array
 * of all. An `'error'` event of an emitter is thrown. Whichever way it ends, no listener stays.
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
  const { args } = checkOptions(options, ['args'], 'once()')
  checkArgs(args, 'once()')
  const start = (answer: (value: unknown) => void, refuse: (error: unknown) => void) => {
    const listeners = new Map<EventName, (...args: any[]) => void>()
    if (isEmitter(emitter)) listeners.set('error', refuse)
    listeners.set(event, args ? (...all) => answer(all) : answer)
    return subscribe(emitter, listeners)
  }
  return new Action(start, undefined, `once(${String(event)})`)
}

function checkArgs(args: unknown, where: string): void {
  if (args === undefined || typeof args === 'boolean') return
  throw new BadArgument(`${where} needs true or false as args, got ${show(args)}`)
}

// A stream: what fibers read from and write to. Its two sides are in read-side.ts and write-side.ts, its waits in read-ops.ts and
// write-ops.ts; how it ends is here. It stands on a channel (channel.ts).
//
//   fibers --read, gets--> [ ReadSide  ] <--received-- channel
//          --write-------> [ WriteSide ] --write-----> channel
//          --close, destroy, gone--> the end of both, reported by the channel: ended, finished, failed, closed

import { constants } from 'node:buffer'
import {
  addCleanup,
  BadArgument,
  type BaseOp,
  check,
  type Fiber,
  type Op,
  type Returned,
  type Routine,
  type Runtime,
  settle,
  show,
  type TimerNode,
} from '../../core/index.js'
import { type Iterates, type Source, TimedOut } from '../../sync/index.js'
import { checkCount } from '../checks.js'
import { asSentence, closedByOwner, ioError, StreamClosed } from '../errors.js'
import type { Channel, Chunk, Receiver } from './channel.js'
import {
  bytesOf,
  checkLineOptions,
  LINE_LIMIT,
  type LimitOptions,
  type LineOptions,
  limitOf,
  maxOf,
  NO_OPTIONS,
  READ_LIMIT,
  type ReadLoopOptions,
} from './options.js'
import { OutsideWaiters } from './outside-waiters.js'
import {
  BROKEN,
  CLOSED,
  CLOSING,
  CUT,
  DETACHED,
  DRAINING,
  GONE,
  LIVE,
  OVER,
  PAUSED,
  type Phase,
} from './phase.js'
import { readLoop } from './read-loop.js'
import {
  ALL,
  copyOf,
  counted,
  Gets,
  GetsUntil,
  Gone,
  type HowGone,
  itemsOf,
  Read,
  ReadAll,
  ReadExactly,
  ReadInto,
  ReadUntil,
} from './read-ops.js'
import { ReadSide } from './read-side.js'
import { Close, checkChunks, Disposal, End, Write } from './write-ops.js'
import { WriteSide } from './write-side.js'

type Ending = 'close' | 'destroy' | 'isClosed' | 'stats' | typeof Symbol.asyncDispose

/** Something to read from. */
export type Reader = Pick<
  Stream,
  | 'name'
  | 'read'
  | 'tryRead'
  | 'readInto'
  | 'unread'
  | 'gone'
  | 'readExactly'
  | 'readUntil'
  | 'gets'
  | 'readAll'
  | 'readLoop'
  | 'feedLoop'
  | 'iterate'
  | 'lines'
  | Ending
>
/** Something to write to. */
export type Writer = Pick<Stream, 'name' | 'write' | 'tryWrite' | 'end' | Ending>

/** What went through a stream, and what waits. */
export interface StreamStats {
  /** Bytes that have arrived. */
  readonly received: number
  /** Bytes and characters that were written. */
  readonly written: number
  /** Bytes that have arrived and were not yet taken. */
  readonly unread: number
  /** Bytes and characters that were written and that the system has not yet taken: if this does not change, the other side
   * does not read. */
  readonly unsent: number
  /** Fibers that wait to read. */
  readonly readers: number
  /** Fibers that wait for room to write, or for the end to be sent. */
  readonly writers: number
}

/** @internal It hears all that a channel tells. The class itself cannot say so: those methods are not in its declaration. */
export type Hearing<F extends Receiver = Stream> = F

/** Bounds the time that a close may take. */
class CloseLimit implements TimerNode {
  time = 0
  seq = 0
  index = -1
  constructor(private readonly stream: Stream) {}
  fire(): void {
    this.stream.closeExpired()
  }
}

/**
 * A stream of bytes in both directions: a socket, a pipe, a file. Several fibers may wait at once; they are served in
 * the order they came. A wait that is stopped or times out takes nothing with it.
 *
 * ```ts
 * const stream = pipe()
 * yield* stream.write('hello\n', 'world\n')
 * yield* stream.end()
 * console.log(yield* stream.gets(), yield* stream.gets(), yield* stream.gets()) // hello world undefined
 * ```
 */
export class Stream implements Iterates<Buffer>, AsyncDisposable {
  /** @internal */
  readonly channel: Channel
  /** @internal */
  readonly reading: ReadSide
  /** @internal */
  readonly writing: WriteSide
  /** @internal */
  phase: Phase = LIVE
  /** @internal What broke it; from `close` on, what kept that from sending everything. */
  error: unknown = null
  /** @internal Called when the other side has gone: at most once for each way. For code that has no fiber to spare. */
  onGone: ((how: HowGone) => void) | null = null
  /** @internal Gets memory that was read into and is not used any more. */
  recycler: ((chunk: Buffer) => void) | null = null
  /** Called when it is closed, whichever side closed it. */
  private onClosed: (() => void) | null = null
  private closers: OutsideWaiters<BaseOp<void>> | null = null
  private watchers: OutsideWaiters<Gone> | null = null
  private readOp: Read | null = null
  private getsOp: Gets | null = null

  /** On a channel of one's own making; the library's own streams come from `connect`, `listen`, `pipe` and others. */
  constructor(connect: (receiver: Receiver) => Channel) {
    this.channel = connect(this)
    this.reading = new ReadSide(this)
    this.writing = new WriteSide(this)
  }

  /** What it is: `tcp 127.0.0.1:80`, `stdin`, the path of a file. */
  get name(): string {
    return this.channel.name
  }

  /** Whether it is closed, or closing. */
  get isClosed(): boolean {
    return this.phase !== LIVE
  }

  /** What went through, and what waits. */
  stats(): StreamStats {
    const { reading, writing, channel } = this
    return {
      received: reading.total,
      written: writing.total,
      unread: reading.unread,
      unsent: channel.unsent ?? writing.pending,
      readers: reading.readers.size,
      writers: writing.waiting,
    }
  }

  // ---- reading

  /** The next bytes, as many as have come but `max` at the most; `undefined` at the end. They are the caller's. */
  read(max?: number): Op<Buffer | undefined> {
    if (max !== undefined && max !== Infinity)
      return new Read(
        this,
        checkCount(max, 1, () => `${this.name}.read(max)`),
      )
    return (this.readOp ??= new Read(this, ALL).droppable()).handOut()
  }

  private checkMax(max: number, what: string): number {
    return max === Infinity
      ? ALL
      : Math.min(
          ALL,
          checkCount(max, 1, () => `${this.name}.${what}(max)`),
        )
  }

  /**
   * Reads into memory of the caller, as many bytes as have arrived and fit; gives how many, and 0 at the end. Nothing is
   * allocated. While it waits, the memory must not be used for anything else.
   *
   * ```ts
   * const stream = pipe()
   * yield* stream.end('four and twenty')
   * const bytes = new Uint8Array(4)
   * for (let n: number; (n = yield* stream.readInto(bytes)) > 0; ) console.log(n) // 4, 4, 4, 3
   * ```
   */
  readInto(target: Uint8Array): Op<number> {
    if (target instanceof Uint8Array && target.length > 0) return new ReadInto(this, target)
    throw new BadArgument(`${this.name}.readInto() needs bytes (Uint8Array), not empty; got ${show(target)}`)
  }

  /** What has arrived, `max` bytes at most, if there is something and no fiber waits for it; else `undefined`, also where the
   * stream is closed or broken: `read` tells. Never waits. */
  tryRead(max?: number): Buffer | undefined {
    const most = max === undefined ? ALL : this.checkMax(max, 'tryRead')
    if (this.phase >= DRAINING) return undefined
    return this.reading.tryTake(new Read(this, most).droppable())
  }

  /**
   * Puts bytes back: they are read next, before what has arrived since. For protocols that look at the first bytes to decide
   * what follows.
   *
   * ```ts
   * const stream = pipe()
   * yield* stream.write('GET / HTTP/1.1\r\n')
   * const first = yield* stream.readExactly(3)
   * stream.unread(first)
   * console.log(`${first}`, yield* stream.gets()) // GET GET / HTTP/1.1
   * ```
   */
  unread(bytes: Uint8Array): void {
    if (!(bytes instanceof Uint8Array))
      throw new BadArgument(`${this.name}.unread() needs bytes (Uint8Array), got ${show(bytes)}`)
    this.checkNotClosing('unread')
    this.reading.unshift(copyOf(bytes as Buffer))
  }

  /** Exactly so many bytes; `UnexpectedEnd` if the stream ends before, and then they stay where they are. */
  readExactly(count: number): Op<Buffer> {
    const what = () => `${this.name}.readExactly(count)`
    if (count > constants.MAX_LENGTH) throw new BadArgument(`${what()}: no buffer holds ${count} bytes`)
    return new ReadExactly(this, checkCount(count, 0, what))
  }

  /** Everything up to the delimiter, which is included; `undefined` at the end, and `UnexpectedEnd` if something stands before the
   * end without it, which then stays where it is. At most 1 MiB unless `limit` says otherwise. */
  readUntil(delimiter: Chunk, options: LimitOptions = NO_OPTIONS): Op<Buffer | undefined> {
    const where = () => `${this.name}.readUntil()`
    const bytes = bytesOf(delimiter, () => `the delimiter of ${where()}`)
    return new ReadUntil(this, bytes, limitOf(options, LINE_LIMIT, where))
  }

  /** The next line without its end (`\n` or `\r\n`, or a `separator`), also a last one that has none; `undefined` when there are no
   * more. At most 1 MiB unless `limit` says otherwise. */
  gets(options?: LineOptions): Op<string | undefined> {
    if (options !== undefined) return this.lineOp(options, 'gets')
    return (this.getsOp ??= new Gets(this, LINE_LIMIT).droppable()).handOut()
  }

  private lineOp(options: LineOptions, what: string): Gets | GetsUntil {
    const { limit, separator } = checkLineOptions(options, () => `${this.name}.${what}()`)
    return separator === undefined ? new Gets(this, limit) : new GetsUntil(this, separator, limit)
  }

  /** All that comes until the end. At most 64 MiB unless `limit` says otherwise. */
  readAll(options: LimitOptions = NO_OPTIONS): Op<Buffer> {
    return new ReadAll(
      this,
      limitOf(options, READ_LIMIT, () => `${this.name}.readAll()`),
    )
  }

  /**
   * Runs the body for each chunk as it comes, until the end or until it returns `false`. The chunk is lent: it is valid
   * until the body has ended. This is the quickest way to read.
   *
   * ```ts
   * const stream = pipe()
   * yield* stream.end('one two')
   * yield* stream.readLoop((chunk) => console.log(`${chunk}`)) // one two
   * ```
   */
  readLoop<R>(body: (chunk: Buffer) => Returned<R>, options: ReadLoopOptions = NO_OPTIONS): Op<void> {
    if (!isPlain(body)) check.body(body, `${this.name}.readLoop()`)
    const max = maxOf(options, () => `${this.name}.readLoop()`)
    return readLoop(this, body as (chunk: Buffer) => unknown, max)
  }

  /**
   * Feeds a parser: calls its method for each chunk as it comes, until the end or until it returns `false`. The chunk is
   * lent, as in `readLoop`.
   *
   * ```ts
   * const stream = pipe()
   * yield* stream.end('abc')
   * const counter = { count: 0, feed: (chunk: Buffer) => void (counter.count += chunk.length) }
   * yield* stream.feedLoop(counter, 'feed')
   * console.log(counter.count) // 3
   * ```
   */
  feedLoop<K extends string>(
    receiver: { [key in K]: (chunk: Buffer) => unknown },
    method: K,
    options?: ReadLoopOptions,
  ): Op<void> {
    if (typeof receiver?.[method] !== 'function') {
      throw new BadArgument(`${this.name}.feedLoop() found no method ${show(method)} in ${show(receiver)}`)
    }
    return this.readLoop((chunk) => receiver[method](chunk) as undefined, options)
  }

  /**
   * The chunks as they come, which are the caller's: `each(stream, body)` runs a body for each of them. A loop that is left early
   * leaves the rest in the stream, which stays open.
   *
   * ```ts
   * const stream = pipe()
   * yield* stream.end('one two')
   * yield* each(stream, (chunk) => console.log(`${chunk}`)) // one two
   * ```
   */
  iterate(): Source<Buffer> {
    return itemsOf(this, new Read(this, ALL))
  }

  /**
   * The lines, one by one, as `gets` gives them.
   *
   * ```ts
   * const stream = pipe()
   * yield* stream.end('one\ntwo\n')
   * yield* each(stream.lines(), (line, index) => console.log(index, line)) // 0 one, 1 two
   * ```
   */
  lines(options: LimitOptions = NO_OPTIONS): Source<string> {
    return itemsOf(
      this,
      new Gets(
        this,
        limitOf(options, LINE_LIMIT, () => `${this.name}.lines()`),
      ),
    )
  }

  // ---- writing

  /** Sends strings (as UTF-8) and bytes, in the order of the calls. Waits while there is no room; afterwards the bytes
   * may be reused. What is written in one turn travels together. */
  write(...chunks: Chunk[]): Op<void> {
    const [chunk] = chunks
    const isOne = chunks.length === 1 && (typeof chunk === 'string' || chunk instanceof Uint8Array)
    return new Write(this, isOne ? (chunk as Chunk) : chunks)
  }

  /** Sends if it can be done now, and never waits. False: there is no room, or the stream is closed, ended or broken, and
   * nothing was sent. */
  tryWrite(...chunks: Chunk[]): boolean {
    checkChunks(chunks, this, 'tryWrite')
    return this.writing.trySend(chunks, 'tryWrite')
  }

  /** Sends these chunks and then the end; goes on when all is sent. Reading goes on as before. */
  end(...chunks: Chunk[]): Op<void> {
    return new End(this, chunks)
  }

  // ---- the end

  /** Sends what was written, then closes. Fibers that wait to read get `StreamClosed`. A connection is held until the other side
   * ends too, or is silent for a moment, so that it can take everything. If the wait is stopped, or its fiber cannot wait any
   * more, the stream is closed at once. */
  close(): Op<void> {
    return new Close(this)
  }

  /** Closes at once: what was not sent is lost. Never waits. */
  destroy(): void {
    if (this.phase >= CUT) return
    const isGone = this.phase === GONE
    if (this.phase < DRAINING)
      this.error = null // an explicit close discards earlier errors
    else if (this.error === null) this.cutClosers()
    this.phase = isGone ? CLOSED : CUT
    this.closeSides()
    if (isGone) return
    try {
      this.channel.destroy()
    } catch (error) {
      this.closed()
      throw asSentence(error, `${this.name}.destroy()`)
    }
  }

  /**
   * For `use(stream)` in a fiber and `await using` in async code: closes the stream.
   *
   * ```ts
   * const stream = pipe()
   * yield* scope(() => use(stream))
   * console.log(stream.isClosed) // true
   * ```
   */
  [Symbol.asyncDispose](): Op<void> & PromiseLike<void> {
    return new Disposal(this)
  }

  /**
   * Waits until the other side has gone, while no fiber reads: `'ended'` if it has sent its end, `'lost'` if the connection
   * broke. Takes no bytes, and no place in the line of readers. What arrives meanwhile is kept, up to the read-ahead; beyond
   * that reading pauses, and neither an end nor a reset is noticed until some of it is read.
   *
   * ```ts
   * const [client, server] = pair()
   * spin(() => client.end('no more\n'))
   * console.log(yield* server.gone(), yield* server.gets()) // ended no more
   * ```
   */
  gone(): Op<'ended' | 'lost'> {
    return new Gone(this)
  }

  /** @internal */
  get isWatched(): boolean {
    return this.onGone !== null || (this.watchers !== null && this.watchers.size > 0)
  }

  /** @internal */
  joinWatchers(fiber: Fiber, op: Gone): void {
    const { reading, channel } = this
    if (this.phase >= DRAINING) throw this.broken(op.describe())
    if (reading.state === OVER) settle(fiber, op, 'ended')
    else if (reading.state === BROKEN || this.phase === GONE) settle(fiber, op, 'lost')
    else {
      this.watchers ??= new OutsideWaiters(channel.isOutside)
      this.watchers.join(fiber, op)
      this.watch()
    }
  }

  /** @internal Reads ahead from now on, so that an end is noticed; for `onGone`, once it is set. */
  watch(): void {
    try {
      this.reading.resumeIfWatched()
    } catch (error) {
      this.failed(error)
    }
  }

  /** @internal */
  leaveWatchers(fiber: Fiber): void {
    this.watchers?.leave(fiber)
  }

  private tellGone(how: HowGone): void {
    this.watchers?.settleAll(how)
    this.onGone?.(how)
  }

  /** @internal The innermost scope of the fiber, or else the fiber, closes it at its end, unless it is closed before. */
  ownedBy(fiber: Fiber): this {
    if (this.phase === LIVE) this.whenClosed(addCleanup(fiber, () => this.ownerEnded(), this))
    return this
  }

  private *ownerEnded(): Routine<void> {
    const why = closedByOwner()
    try {
      yield* this.finish()
    } finally {
      this.error = new StreamClosed(why)
    }
  }

  /** @internal Closes it in order while the fiber may wait, else at once. That the other side went away is no error. */
  *finish(): Routine<void> {
    try {
      yield* new Close(this)
    } catch (error) {
      if (!this.isLostBy(error)) throw error
    } finally {
      this.destroy()
    }
  }

  /** @internal Calls back when it is closed, whichever side closes it. */
  whenClosed(callback: () => void): void {
    const { onClosed } = this
    this.onClosed =
      onClosed === null
        ? callback
        : () => {
            onClosed()
            callback()
          }
  }

  private tellClosed(): void {
    const { onClosed } = this
    this.onClosed = null
    onClosed?.()
  }

  /** @internal The fiber that owns it has given it away. */
  disown(): void {
    this.tellClosed()
  }

  /** @internal Whether its channel is not closed yet. */
  get isOpen(): boolean {
    return this.phase !== GONE && this.phase < CLOSED
  }

  /** @internal What was beneath it belongs to other code now. */
  protected detached(): void {
    this.phase = DETACHED
    this.closeSides()
    this.tellClosed()
  }

  /** @internal Whether an error is that of the connection itself: the other side went away, or cannot be reached any more. */
  isLostBy(error: unknown): boolean {
    return (error instanceof TimedOut || error instanceof StreamClosed) && error.cause === this
  }

  /** @internal Begins to close in order. Whether it is closed already. */
  beginClose(runtime: Runtime): boolean {
    if (this.phase === GONE) this.destroy()
    else if (this.phase === LIVE) {
      this.phase = DRAINING
      this.error = null
      this.channel.discard?.()
      this.reading.close()
      this.refuseWatchers()
      if ((this.phase as Phase) === DRAINING && !this.writing.hasQueue) this.closeChannel()
      if ((this.phase as Phase) < CUT) this.boundClose(runtime)
    }
    return (this.phase as Phase) >= CLOSED
  }

  private closeChannel(): void {
    this.phase = CLOSING
    try {
      this.channel.close()
    } catch (error) {
      this.cut()
      throw asSentence(error, `${this.name}.close()`)
    }
    if ((this.phase as Phase) === CLOSED && this.error !== null) throw this.unsent(`${this.name}.close()`)
  }

  /** @internal Nothing is left in the queue of writers: a close that waited for that goes on. What goes wrong is for the fibers that
   * close, not for the channel that has just drained. */
  closeLater(): void {
    this.phase = CLOSING
    try {
      this.channel.close()
    } catch (error) {
      this.error ??= error
      this.cut()
    }
  }

  private boundClose(runtime: Runtime): void {
    const { closeTimeout = Infinity } = this.channel
    if (closeTimeout === Infinity) return
    const limit = new CloseLimit(this)
    runtime.addTimer(limit, runtime.now() + closeTimeout)
    this.whenClosed(() => runtime.removeTimer(limit))
  }

  /** @internal The time for the close is up. */
  closeExpired(): void {
    const { name, channel } = this
    const left = channel.unsent ?? this.writing.pending
    if (left > 0 || this.phase === DRAINING) {
      this.error ??= new TimedOut(
        `${name}.close() took longer than ${channel.closeTimeout} ms: ${left} bytes were not taken by the other side, and are lost`,
        { cause: this },
      )
    }
    this.cut()
  }

  /** It cannot be closed in order. Why not says more than what may go wrong now. */
  private cut(): void {
    try {
      this.destroy()
    } catch {}
  }

  /** @internal */
  joinClosers(fiber: Fiber, op: BaseOp<void>): void {
    this.closers ??= new OutsideWaiters(this.channel.isOutside)
    this.closers.join(fiber, op)
  }

  /** @internal */
  leaveClosers(fiber: Fiber): void {
    this.closers?.leave(fiber)
  }

  /** It is destroyed while fibers close it in order: they are told what was lost by that. */
  private cutClosers(): void {
    const { channel, writing } = this
    const left = channel.unsent ?? writing.pending
    if (left === 0 && !writing.hasQueue) return
    const why = `the stream was destroyed before everything was sent, and ${counted(left, 'byte')} are lost`
    this.closers?.refuseAll((what) => new StreamClosed(`${what} failed: ${why}`, { cause: this }))
  }

  /** Fibers that wait are told that the stream is closed here; what has arrived is dropped. */
  private closeSides(): void {
    this.reading.close()
    this.refuseWatchers()
    this.refuseWriters()
  }

  private refuseWatchers(): void {
    this.watchers?.refuseAll((what) => this.broken(what))
  }

  private refuseWriters(): void {
    // While it was being closed in order, what went wrong says more than that it is closed.
    const isLost = this.phase >= DRAINING && this.error !== null
    this.writing.refuseAll((what) => (isLost ? this.unsent(what) : this.broken(what)))
  }

  /** @internal */
  checkNotClosing(what: string): void {
    if (this.phase >= DRAINING) throw this.broken(`${this.name}.${what}()`)
  }

  /** @internal Why nothing can be had here any more. */
  broken(what: string): Error {
    const { error, phase } = this
    if (error !== null && phase < DRAINING && !(error instanceof StreamClosed)) return ioError(error, what)
    const why = phase === DETACHED ? 'the stream was detached' : 'the stream is closed'
    return new StreamClosed(`${what} failed: ${error instanceof StreamClosed ? error.message : why}`)
  }

  /** Why what was written could not be sent. */
  private unsent(what: string): Error {
    const { error } = this
    return error instanceof TimedOut ? new TimedOut(error.message, { cause: this }) : ioError(error, what)
  }

  // ---- what the channel reports (Receiver)

  /** @internal */
  received(bytes: Buffer, isOwned: boolean): boolean {
    return this.reading.received(bytes, isOwned)
  }

  /** @internal */
  ended(): void {
    const { reading, channel } = this
    if (reading.state >= OVER) return
    reading.ended()
    this.tellGone('ended')
    if (channel.canGrow && this.phase === LIVE && this.error === null) reading.state = PAUSED
  }

  /** @internal */
  drained(upTo?: number): void {
    this.writing.drained(upTo)
  }

  /** @internal */
  refused(error: unknown): boolean {
    return this.writing.refused((what) => ioError(error, what))
  }

  /** @internal */
  finished(): void {
    this.writing.finished()
  }

  /** @internal */
  failed(error: unknown): void {
    if (this.phase >= CUT) return // what was not sent is lost, as was asked for
    if (this.phase >= DRAINING && error instanceof StreamClosed) return // so it shall be
    const isFirst = this.error === null
    this.error ??= error ?? new Error('no reason was given')
    this.reading.break()
    this.reading.serve()
    if (this.phase >= DRAINING) this.cut()
    else {
      this.refuseWriters()
      if (isFirst) this.tellGone('lost')
    }
  }

  /** @internal */
  closed(error?: unknown): void {
    if (!this.isOpen) return
    const wasLive = this.phase === LIVE
    const isNews = wasLive && this.error === null // else `failed` has told it
    if (this.phase === CLOSING && this.error === null && error === undefined) this.writing.drained() // all is sent
    if (error !== undefined && this.phase < CUT) this.error ??= error
    if (!wasLive) this.phase = CLOSED
    else {
      this.phase = GONE
      const isEnded = this.reading.state === OVER
      this.error ??= new StreamClosed(
        isEnded ? 'the stream was closed' : 'the stream was closed before its end',
      )
    }
    this.reading.break()
    this.tellClosed()
    this.reading.serve()
    this.refuseWriters()
    if (isNews) this.tellGone('lost')
    // Closed by the other side, or at the end of its owner: it is closed, as was asked for.
    if (this.error === null || this.error instanceof StreamClosed) this.closers?.settleAll(undefined)
    else this.closers?.refuseAll((what) => this.unsent(what))
  }

  /** @internal Discards what has arrived and was not yet taken. Returns how many bytes that were. */
  forgetUnread(): number {
    return this.reading.clear()
  }

  /** @internal Memory that was read into, and of which there is no other view, is given back. */
  recycle(recycle: (chunk: Buffer) => void): void {
    this.recycler = recycle
  }
}

/** A plain function, as most bodies of loops are: it need not be looked at closely. */
function isPlain(body: any): boolean {
  return (
    typeof body === 'function' &&
    Object.getPrototypeOf(body) === Function.prototype &&
    body.describe === undefined &&
    body.next === undefined
  )
}

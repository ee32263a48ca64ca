// The waits of reading. Each says what it would take from what has arrived, or that it must wait for more; the read side of the
// stream keeps the line of waiting fibers. Nothing is taken before it is whole, so a wait that is cut takes nothing with it.

import { BaseOp, type Fiber, type Op, type Switchpoint, settle } from '../../core/index.js'
import { END, HAS_CLOSED, type Source } from '../../sync/index.js'
import { LimitExceeded, UnexpectedEnd } from '../errors.js'
import { type ReadBuffer, WINDOW } from './read-buffer.js'
import type { Stream } from './stream.js'

/** The answer of a `take` that needs more to come. */
export const MORE = Symbol('more')

/** The `max` of a read that takes whatever arrives. A small integer: V8 keeps others in an object of their own. */
export const ALL = 2 ** 30 - 1

/** A wait for bytes. It has no state but what it wants, so one can serve many. */
export abstract class Taking<T> extends BaseOp<T> {
  constructor(
    protected readonly stream: Stream,
    /** How many bytes it takes straight as they arrive, when nothing is before them; if more arrive, all go to the buffer. */
    readonly max = -1,
  ) {
    super()
  }

  /** What it waits for, if that is there. `isEnded`: no more can come. May throw. */
  abstract take(buffer: ReadBuffer, isEnded: boolean): T | typeof MORE

  /** Takes bytes as they arrive. */
  receive(_fiber: Fiber, _bytes: Buffer, _isOwned: boolean): void {}

  enter(fiber: Fiber): void {
    this.stream.reading.join(fiber, this)
  }

  abort(fiber: Fiber): void {
    this.stream.reading.leave(fiber)
  }
  override get kind(): string {
    return 'read'
  }
  override get resource(): object {
    return this.stream
  }
}
Object.defineProperty(Taking.prototype, 'idle', {
  get(this: { stream: Stream }) {
    return this.stream.channel.isIdle
  },
})

export class Read extends Taking<Buffer | undefined> {
  take(buffer: ReadBuffer, isEnded: boolean): Buffer | undefined | typeof MORE {
    return buffer.chunk(this.max) ?? (isEnded ? undefined : MORE)
  }
  override receive(fiber: Fiber, bytes: Buffer, isOwned: boolean): void {
    settle(fiber, this, isOwned ? bytes : copyOf(bytes))
  }
  describe(): string {
    return `${this.stream.name}.read(${this.max === ALL ? '' : this.max})`
  }
}

/** Reads into memory of the caller. */
export class ReadInto extends Taking<number> {
  constructor(
    stream: Stream,
    private readonly target: Uint8Array,
  ) {
    super(stream, target.length)
  }
  take(buffer: ReadBuffer, isEnded: boolean): number | typeof MORE {
    const bytes = buffer.chunk(this.target.length)
    if (bytes === undefined) return isEnded ? 0 : MORE
    this.target.set(bytes)
    return bytes.length
  }
  override receive(fiber: Fiber, bytes: Buffer): void {
    this.target.set(bytes)
    settle(fiber, this, bytes.length)
  }
  describe(): string {
    return `${this.stream.name}.readInto()`
  }
}

/** How the other side went away: with an end, or without one. */
export type HowGone = 'ended' | 'lost'

/** Waits until the other side has gone. Takes no bytes, and no place in the line of readers. */
export class Gone extends BaseOp<HowGone> {
  constructor(private readonly stream: Stream) {
    super()
  }
  enter(fiber: Fiber): void {
    this.stream.joinWatchers(fiber, this)
  }
  abort(fiber: Fiber): void {
    this.stream.leaveWatchers(fiber)
  }
  describe(): string {
    return `${this.stream.name}.gone()`
  }
  override get kind(): string {
    return 'gone'
  }
  override get resource(): object {
    return this.stream
  }
}

export class ReadExactly extends Taking<Buffer> {
  constructor(
    stream: Stream,
    private readonly count: number,
  ) {
    super(stream)
  }
  take(buffer: ReadBuffer, isEnded: boolean): Buffer | typeof MORE {
    if (buffer.size >= this.count) return buffer.bytes(this.count)
    if (!isEnded) return MORE
    throw new UnexpectedEnd(`${this.describe()}: the stream ended after ${counted(buffer.size, 'byte')}`)
  }
  describe(): string {
    return `${this.stream.name}.readExactly(${this.count})`
  }
}

export class Gets extends Taking<string | undefined> {
  constructor(
    stream: Stream,
    private readonly limit: number,
  ) {
    super(stream)
  }
  /** Most lines of a file are there already: then nothing has to be entered. */
  override next(): IteratorResult<Switchpoint, string | undefined> {
    const fiber = this.limit < WINDOW ? null : this.tryFastPath()
    const line = fiber === null ? undefined : this.stream.reading.readyLine()
    return line === undefined ? super.next() : this.finishNow(fiber as Fiber, line)
  }
  take(buffer: ReadBuffer, isEnded: boolean): string | undefined | typeof MORE {
    const line = buffer.line(this.limit)
    if (line !== undefined) return line
    if (buffer.size > this.limit) throw tooLong(this, this.limit)
    return isEnded ? buffer.lastLine() : MORE
  }
  describe(): string {
    return `${this.stream.name}.gets()`
  }
}

/** A line that ends with a separator of the caller's choice. */
export class GetsUntil extends Taking<string | undefined> {
  constructor(
    stream: Stream,
    private readonly separator: Buffer,
    private readonly limit: number,
  ) {
    super(stream)
  }
  take(buffer: ReadBuffer, isEnded: boolean): string | undefined | typeof MORE {
    const { separator, limit } = this
    const count = buffer.find(separator)
    const { length } = separator
    if (count > limit + length || (count < 0 && buffer.size > limit + (isEnded ? 0 : length)))
      throw tooLong(this, limit)
    if (count >= 0) return buffer.bytes(count).toString('utf8', 0, count - length)
    return isEnded ? buffer.lastLine() : MORE
  }
  describe(): string {
    return `${this.stream.name}.gets({ separator: ${JSON.stringify(this.separator.toString('latin1'))} })`
  }
}

function tooLong(op: BaseOp<unknown>, limit: number): LimitExceeded {
  return new LimitExceeded(
    `${op.describe()}: a line is longer than ${counted(limit, 'byte')}. ` +
      'Give gets({ limit }) a higher limit, or take what has come with read().',
  )
}

export class ReadUntil extends Taking<Buffer | undefined> {
  constructor(
    stream: Stream,
    private readonly delimiter: Buffer,
    private readonly limit: number,
  ) {
    super(stream)
  }
  take(buffer: ReadBuffer, isEnded: boolean): Buffer | undefined | typeof MORE {
    const count = buffer.find(this.delimiter)
    if (count >= 0 && count <= this.limit) return buffer.bytes(count)
    if (count > this.limit || buffer.size > this.limit) {
      throw new LimitExceeded(
        `${this.describe()}: the delimiter did not come within ${counted(this.limit, 'byte')}`,
      )
    }
    if (!isEnded) return MORE
    if (buffer.size === 0) return undefined
    throw new UnexpectedEnd(
      `${this.describe()}: the stream ended after ${counted(buffer.size, 'byte')}, without the delimiter`,
    )
  }
  describe(): string {
    return `${this.stream.name}.readUntil(${JSON.stringify(this.delimiter.toString('latin1'))})`
  }
}

export class ReadAll extends Taking<Buffer> {
  constructor(
    stream: Stream,
    private readonly limit: number,
  ) {
    super(stream)
  }
  take(buffer: ReadBuffer, isEnded: boolean): Buffer | typeof MORE {
    if (buffer.size > this.limit) {
      throw new LimitExceeded(
        `${this.describe()}: more than ${counted(this.limit, 'byte')} came. ` +
          'Give readAll({ limit }) a higher limit, or take the bytes as they come with readLoop().',
      )
    }
    return isEnded ? buffer.bytes(buffer.size) : MORE
  }
  describe(): string {
    return `${this.stream.name}.readAll()`
  }
}

export function counted(n: number, what: string): string {
  return `${n} ${what}${n === 1 ? '' : 's'}`
}

/** From this size on, copies are cut from a slab: V8 is slow with many buffers of their own (bench row: TCP echo of 16 kB, read()). */
const LARGE = 4096
/** A copy that is kept keeps its slab: that is why slabs are not larger. */
const SLAB = 256 * 1024
let slab = Buffer.alloc(0)
let used = 0

/** A copy of bytes whose memory will be used for others. Small copies share memory that Node hands out. */
export function copyOf(bytes: Buffer): Buffer {
  const { length } = bytes
  let copy: Buffer
  if (length < LARGE || length > SLAB / 4) copy = Buffer.allocUnsafe(length)
  else {
    if (used + length > slab.length) {
      slab = Buffer.allocUnsafeSlow(SLAB)
      used = 0
    }
    copy = slab.subarray(used, (used += length))
  }
  copy.set(bytes)
  return copy
}

// ---- a stream as a source of items, for `each`, `iterate`, `forEach` and `toAsyncIterable`: chunks, or lines

/** Waits as another op does, and gives END where that gives undefined. */
class Next<T> extends Taking<T | typeof END> {
  constructor(
    stream: Stream,
    private readonly taking: Taking<T | undefined>,
  ) {
    super(stream, taking.max)
  }
  take(buffer: ReadBuffer, isEnded: boolean): T | typeof END | typeof MORE {
    const found = this.taking.take(buffer, isEnded)
    return found === undefined ? END : found
  }
  override receive(fiber: Fiber, bytes: Buffer, isOwned: boolean): void {
    settle(fiber, this as Taking<unknown>, isOwned ? bytes : copyOf(bytes))
  }
  describe(): string {
    return this.taking.describe()
  }
}

/** What the op gives, again and again. A loop that is left early leaves the rest in the stream, which stays open. */
export function itemsOf<T>(stream: Stream, taking: Taking<T | undefined>): Source<T> {
  const next = new Next(stream, taking).droppable()
  return {
    next: (): Op<T | typeof END> => next.handOut(),
    close: () => HAS_CLOSED,
  }
}

// The waits of reading. Each says what it would take from what has come, or that it must wait for more; the stream keeps
// the line of those who wait. Nothing is taken before it is whole, so a wait that is cut takes nothing with it.

import { BaseOp, type Fiber, type Switchpoint, settle } from '../core/index.js'
import { LimitExceeded, UnexpectedEnd } from './errors.js'
import type { Flow } from './flow.js'
import { type Intake, WINDOW } from './intake.js'

/** The answer of a `take` that needs more to come. */
export const MORE = Symbol('more')

/** A wait for bytes. It has no state but what it wants, so one can serve many. */
export abstract class Taking<T> extends BaseOp<T> {
  constructor(
    protected readonly stream: Flow,
    /** It takes so many bytes just as they arrive, when nothing is before them; if more come, all go to the intake first. */
    readonly max = -1,
  ) {
    super()
  }

  /** What it waits for, if that is there. `isEnded`: no more can come. May throw. */
  abstract take(intake: Intake, isEnded: boolean): T | typeof MORE

  /** Takes bytes as they arrive. */
  receive(_fiber: Fiber, _bytes: Buffer, _isOwned: boolean): void {}

  enter(fiber: Fiber): void {
    this.stream.joinReaders(fiber, this)
  }

  abort(fiber: Fiber): void {
    this.stream.leaveReaders(fiber)
  }
  override get kind(): string {
    return 'read'
  }
  override get resource(): object {
    return this.stream
  }
}
Object.defineProperty(Taking.prototype, 'idle', {
  get(this: { stream: Flow }) {
    return this.stream.channel.isIdle
  },
})

export class Read extends Taking<Buffer | undefined> {
  take(intake: Intake, isEnded: boolean): Buffer | undefined | typeof MORE {
    return intake.chunk(this.max) ?? (isEnded ? undefined : MORE)
  }
  override receive(fiber: Fiber, bytes: Buffer, isOwned: boolean): void {
    settle(fiber, this, isOwned ? bytes : copyOf(bytes))
  }
  describe(): string {
    return `${this.stream.name}.read(${this.max === Infinity ? '' : this.max})`
  }
}

export class ReadExactly extends Taking<Buffer> {
  constructor(
    stream: Flow,
    private readonly count: number,
  ) {
    super(stream)
  }
  take(intake: Intake, isEnded: boolean): Buffer | typeof MORE {
    if (intake.size >= this.count) return intake.bytes(this.count)
    if (!isEnded) return MORE
    throw new UnexpectedEnd(`${this.describe()}: the stream ended after ${counted(intake.size, 'byte')}`)
  }
  describe(): string {
    return `${this.stream.name}.readExactly(${this.count})`
  }
}

export class Gets extends Taking<string | undefined> {
  constructor(
    stream: Flow,
    private readonly limit: number,
  ) {
    super(stream)
  }
  /** Most lines of a file are there already: then nothing has to be entered. */
  override next(): IteratorResult<Switchpoint, string | undefined> {
    const fiber = this.limit < WINDOW ? null : this.tryFastPath()
    const line = fiber === null ? undefined : this.stream.readyLine()
    return line === undefined ? super.next() : this.finishNow(fiber as Fiber, line)
  }
  take(intake: Intake, isEnded: boolean): string | undefined | typeof MORE {
    const line = intake.line(this.limit)
    if (line !== undefined) return line
    if (intake.size > this.limit) throw this.tooLong()
    return isEnded ? intake.lastLine() : MORE
  }
  private tooLong(): LimitExceeded {
    return new LimitExceeded(
      `${this.describe()}: a line is longer than ${counted(this.limit, 'byte')}. ` +
        'Give gets({ limit }) a higher limit, or take what has come with read().',
    )
  }
  describe(): string {
    return `${this.stream.name}.gets()`
  }
}

export class ReadUntil extends Taking<Buffer | undefined> {
  constructor(
    stream: Flow,
    private readonly delimiter: Buffer,
    private readonly limit: number,
  ) {
    super(stream)
  }
  take(intake: Intake, isEnded: boolean): Buffer | undefined | typeof MORE {
    const count = intake.find(this.delimiter)
    if (count >= 0 && count <= this.limit) return intake.bytes(count)
    if (count > this.limit || intake.size > this.limit) {
      throw new LimitExceeded(
        `${this.describe()}: the delimiter did not come within ${counted(this.limit, 'byte')}`,
      )
    }
    if (!isEnded) return MORE
    if (intake.size === 0) return undefined
    throw new UnexpectedEnd(
      `${this.describe()}: the stream ended after ${counted(intake.size, 'byte')}, without the delimiter`,
    )
  }
  describe(): string {
    return `${this.stream.name}.readUntil(${JSON.stringify(this.delimiter.toString('latin1'))})`
  }
}

export class ReadAll extends Taking<Buffer> {
  constructor(
    stream: Flow,
    private readonly limit: number,
  ) {
    super(stream)
  }
  take(intake: Intake, isEnded: boolean): Buffer | typeof MORE {
    if (intake.size > this.limit) {
      throw new LimitExceeded(
        `${this.describe()}: more than ${counted(this.limit, 'byte')} came. ` +
          'Give readAll({ limit }) a higher limit, or take the bytes as they come with readLoop().',
      )
    }
    return isEnded ? intake.bytes(intake.size) : MORE
  }
  describe(): string {
    return `${this.stream.name}.readAll()`
  }
}

export function counted(n: number, what: string): string {
  return `${n} ${what}${n === 1 ? '' : 's'}`
}

/** Bytes that stay when those they came in are used for the next. Small ones share memory that Node hands out. */
export function copyOf(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafe(bytes.length)
  copy.set(bytes)
  return copy
}

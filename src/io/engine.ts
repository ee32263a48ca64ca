// Drives a compressor or decompressor of node:zlib from one fiber, piece by piece: it wants input, or it has output, or it is
// at its end. The work is done in Node's threads; nothing is worked ahead of what is taken.
//
//   wait -> HUNGRY: feed it, or tell it that this was all        bytes: take them        END

import type { Transform } from 'node:stream'
import { type Attempt, OutsideOp } from '../core/index.js'
import { CorruptInput, UnexpectedEnd } from './errors.js'
import { counted } from './reading.js'

/** It wants more input. */
export const HUNGRY = Symbol('hungry')
/** There is no more output. */
export const END = Symbol('end')
/** There is nothing to say yet. */
const NOTHING = Symbol('nothing')

type News = Buffer | typeof HUNGRY | typeof END

export type Zlib = Transform & { readonly bytesWritten: number }

/** The wait for news, of one fiber at a time. */
export class Engine extends OutsideOp<News> {
  private waiting: Attempt<News> | null = null
  private isHungry = true
  private isEnded = false
  private fed = 0
  private error: NodeJS.ErrnoException | null = null

  constructor(
    private readonly zlib: Zlib,
    /** For errors and the tree: `gunzip(stdin)`. */
    private readonly what: string,
  ) {
    super()
    zlib.on('readable', this.wake)
    zlib.on('end', () => {
      this.isEnded = true
      this.wake()
    })
    zlib.on('error', (error) => {
      this.error = error
      this.wake()
    })
  }

  /** Gives it input. It keeps reading those bytes until it is hungry again. */
  feed(bytes: Buffer): void {
    this.isHungry = false
    this.fed += bytes.length
    this.zlib.write(bytes, (error) => {
      if (error) return // told by the event
      this.isHungry = true
      this.wake()
    })
  }

  /** That was all the input. */
  finish(): void {
    this.isHungry = false
    this.zlib.end()
  }

  /** How much of the input it had no use for. */
  get leftover(): number {
    return this.fed - this.zlib.bytesWritten
  }

  /** What it is doing is of no use any more. A thread that is at work ends its piece; nobody hears of it. */
  destroy(): void {
    this.zlib.destroy()
  }

  private news(): News | typeof NOTHING {
    const output = this.zlib.read() as Buffer | null // asking also lets it go on, and it may call back meanwhile
    if (output !== null) return output
    if (this.error !== null) throw this.broken(this.error)
    if (this.isEnded) return END
    return this.isHungry ? HUNGRY : NOTHING
  }

  private broken(cause: NodeJS.ErrnoException): Error {
    if (cause.code === 'Z_BUF_ERROR') {
      return new UnexpectedEnd(`${this.what}: the input ended after ${counted(this.fed, 'byte')}, too early`)
    }
    return new CorruptInput(`${this.what}: the input is corrupt (${cause.message})`, { cause })
  }

  private readonly wake = (): void => {
    if (this.waiting !== null) this.tell(this.waiting)
  }

  private tell(attempt: Attempt<News>): void {
    this.waiting = null // reading may call back
    let news: News | typeof NOTHING
    try {
      news = this.news()
    } catch (error) {
      attempt.fail(error)
      return
    }
    if (news === NOTHING) this.waiting = attempt
    else attempt.settle(news)
  }

  protected start(attempt: Attempt<News>): void {
    this.tell(attempt)
  }

  protected cancel(): void {} // the fiber that is cut destroys the engine

  describe(): string {
    return this.what
  }
  override get kind(): string {
    return 'compression'
  }
}

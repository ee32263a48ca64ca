// Drives a compressor or decompressor of node:zlib from one fiber, piece by piece: it wants input, or it has output, or it is
// at its end. The work is done in Node's threads; nothing is worked ahead of what is taken.
//
//   wait -> HUNGRY: feed it, or tell it that this was all        bytes: take them        END

import type { Transform } from 'node:stream'
import { BaseOp, type Fiber, fail, settle } from '../core/index.js'
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

/** The wait for news. One fiber at a time, so it needs no state of its own. */
export class Engine extends BaseOp<News> {
  private fiber: Fiber | null = null
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
    const { fiber } = this
    if (fiber === null) return
    this.fiber = null
    let answer: typeof settle | typeof fail = settle
    let news: any
    try {
      news = this.news()
    } catch (error) {
      news = error
      answer = fail
    }
    this.fiber = fiber
    if (news === NOTHING) return
    this.letGo(fiber)
    answer(fiber, this, news)
  }

  enter(fiber: Fiber): void {
    const news = this.news()
    if (news !== NOTHING) {
      settle(fiber, this, news)
      return
    }
    this.fiber = fiber
    fiber.runtime.hold() // S64
    fiber.runtime.external++
  }

  abort(fiber: Fiber): void {
    this.letGo(fiber)
  }

  private letGo({ runtime }: Fiber): void {
    this.fiber = null
    runtime.external--
    runtime.release()
  }

  describe(): string {
    return this.what
  }
}

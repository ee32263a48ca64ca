// Reading from a Node stream by fibers. The stream flows exactly while somebody waits: nobody waiting means that
// nothing is read ahead and that the stream does not hold the process. What has arrived stays here until it is taken,
// so a fiber that leaves its wait takes nothing with it.
//
//   stream --data--> [ intake ] --line or chunk--> the first of the waiters, in the order they came

import type { Readable } from 'node:stream'
import { BadState, BaseOp, enteredTwice, type Fiber, fail, type Op, settle } from '../core/index.js'
import { Intake } from './intake.js'

/**
 * Something to read from. Several fibers may wait at once; they are served in the order they came. To wait for input is
 * to wait for new work, so a fiber that is being stopped cannot (S17).
 *
 * While a fiber waits, the reader owns its stream: it resumes the stream when somebody else pauses it. A second reader of
 * the same stream, or other listeners for `data` or `readable`, would take input from each other, and are not supported.
 *
 * In this example, the input is the two lines `hello` and `world`.
 *
 * ```ts
 * import { Fiber, main, spin } from 'polyphony'
 * import { type Reader, stdin } from 'polyphony/io'
 *
 * const one = (input: Reader) => input.gets()
 *
 * main(function* () {
 *   console.log(yield* Fiber.await(spin(one, stdin), spin(one, stdin), spin(one, stdin)))
 * })
 * ```
 * ```text
 * [ 'hello', 'world', undefined ]
 * ```
 */
export class Reader {
  private readonly intake = new Intake()
  private readonly waiters = new Set<Wait<unknown>>()
  private opened: Readable | null = null
  private isFlowing = false
  /** What the stream told by an `error` event. Not every stream that does is destroyed, or remembers it. */
  private error: Error | null = null

  /** `open` is called once, by the first wait. */
  constructor(
    /** What it is called where somebody waits for it. */
    readonly name: string,
    private readonly open: () => Readable,
  ) {}

  /** The next line without its end (`\n` or `\r\n`); `undefined` when there are no more. */
  gets(): Op<string | undefined> {
    return new Gets(this)
  }

  /** The next bytes, as many as have come; `undefined` at the end. They are the caller's. */
  read(): Op<Buffer | undefined> {
    return new Read(this)
  }

  /** @internal A fiber begins to wait. It is answered at once if nobody is before it and what it wants is there. */
  join(wait: Wait<unknown>, fiber: Fiber): void {
    const stream = this.stream()
    if (this.waiters.size === 0 && this.answer(wait, fiber)) return
    wait.fiber = fiber
    this.waiters.add(wait)
    fiber.runtime.hold() // S64
    fiber.runtime.external++
    if (this.isFlowing) return
    this.isFlowing = true
    stream.on('data', this.receive)
    stream.resume()
  }

  /** @internal A fiber waits no more, and has no answer. */
  leave(wait: Wait<unknown>): void {
    const fiber = wait.fiber as Fiber
    this.remove(wait)
    this.letGo(fiber)
  }

  private remove(wait: Wait<unknown>): void {
    wait.fiber = null
    this.waiters.delete(wait)
  }

  /** After a wait: gives back what it held. */
  private letGo({ runtime }: Fiber): void {
    runtime.external--
    runtime.release()
    if (this.waiters.size > 0) return
    this.isFlowing = false
    this.stream().off('data', this.receive)
    this.stream().pause()
    process.nextTick(this.pauseAgain)
  }

  /** Node goes on reading, and holds the process, if standard input was paused while a chunk was handed over. */
  private readonly pauseAgain = (): void => {
    if (this.stream().isPaused()) this.stream().resume().pause() // only a pause that follows a resume counts
  }

  /** Somebody else paused the stream. In the next turn of the event loop, lest one who insists keep it from turning. */
  private readonly paused = (): void => {
    if (this.isFlowing) setImmediate(this.resumeAgain)
  }

  private readonly resumeAgain = (): void => {
    if (this.isFlowing && this.stream().isPaused()) this.stream().resume()
  }

  /** @internal Answers as many as can be answered, in their order. */
  readonly serve = (): void => {
    for (const wait of this.waiters) {
      const fiber = wait.fiber as Fiber
      if (!this.answer(wait, fiber)) return
      this.letGo(fiber)
    }
  }

  private readonly failed = (error: Error): void => {
    this.error ??= error
    this.serve()
  }

  private readonly receive = (chunk: Buffer | string): void => {
    const encoding = this.stream().readableEncoding ?? 'utf8' // somebody may have set one
    this.intake.push(typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk)
    this.serve()
  }

  /** The wait is out before it is answered: a tap listener that hears of the answer may stop another, which serves again. */
  private answer(wait: Wait<unknown>, fiber: Fiber): boolean {
    const { readableEnded } = this.stream()
    let found: unknown
    let error: unknown = null
    try {
      found = wait.take(this.intake, readableEnded)
      if (found === undefined && !readableEnded) {
        error = this.brokenBy(wait)
        if (error === null) return false
      }
    } catch (tooLong) {
      error = tooLong
    }
    this.remove(wait)
    if (error === null) settle(fiber, wait, found)
    else fail(fiber, wait, error)
    return true
  }

  /** Why nothing more will come, though the stream has not ended; null if more may come. */
  private brokenBy(wait: Wait<unknown>): Error | null {
    const { errored, destroyed } = this.stream()
    return this.error ?? errored ?? (destroyed ? closedEarly(wait) : null)
  }

  private stream(): Readable {
    if (this.opened === null) {
      this.opened = this.open()
      // They stay: an error while nobody waits must not end the process, the next wait will tell it.
      this.opened.on('error', this.failed)
      for (const event of ['end', 'close']) this.opened.on(event, this.serve)
      this.opened.on('pause', this.paused)
    }
    return this.opened
  }
}

abstract class Wait<T> extends BaseOp<T | undefined> {
  fiber: Fiber | null = null

  constructor(protected readonly reader: Reader) {
    super()
  }

  /** What it waits for, if that is there. After the end of the stream `undefined` is an answer too. */
  abstract take(intake: Intake, isEnded: boolean): T | undefined

  enter(fiber: Fiber): void {
    if (this.fiber !== null) throw enteredTwice(this, this.fiber)
    this.reader.join(this, fiber)
  }

  abort(): void {
    this.reader.leave(this)
    this.reader.serve() // half a line that was no use to this one may be what the next waits for
  }
}

;(Wait.prototype as { idle: boolean }).idle = true

class Gets extends Wait<string> {
  take(intake: Intake, isEnded: boolean): string | undefined {
    return intake.line() ?? (isEnded ? intake.lastLine() : undefined)
  }
  describe(): string {
    return `${this.reader.name}.gets()`
  }
}

class Read extends Wait<Buffer> {
  take(intake: Intake): Buffer | undefined {
    return intake.chunk()
  }
  describe(): string {
    return `${this.reader.name}.read()`
  }
}

function closedEarly(wait: Wait<unknown>): BadState {
  return new BadState(`${wait.describe()} can give nothing more: the stream was destroyed before its end`)
}

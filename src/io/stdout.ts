// Standard output and standard error. Importing this opens nothing: they are first touched by the first who writes.

import { constants } from 'node:os'
import type { Writable } from 'node:stream'
import type { Op } from '../core/index.js'
import { exitSilently, run } from '../node/index.js'
import { BaseChannel, type Chunk, type Receiver } from './channel.js'
import { Stream, type Writer } from './stream.js'

class OutputChannel extends BaseChannel {
  private stream: Writable | null = null
  /** How long the chunks are that Node has not yet written, and how much it has. */
  private readonly lengths: number[] = []
  private written = 0

  constructor(
    readonly name: string,
    private readonly receiver: Receiver,
    private readonly open: () => Writable,
  ) {
    super()
  }

  /** Always has to be waited for: an error is told where it was written. */
  write(chunk: Chunk): boolean {
    if (this.stream === null) {
      this.stream = this.open()
      this.stream.on('error', this.failed)
    }
    this.lengths.push(chunk.length)
    this.stream.write(chunk, this.sent)
    return false
  }

  private readonly sent = (error?: Error | null): void => {
    this.written += this.lengths.shift() as number
    if (error) this.failed(error)
    else this.receiver.drained(this.written)
  }

  /** Nobody reads it any more: the way of the system to end a program then is a signal, which Node does not let through. */
  private readonly failed = (error: Error): void => {
    if ((error as NodeJS.ErrnoException).code === 'EPIPE')
      exitSilently(error, 128 + constants.signals.SIGPIPE)
    this.receiver.failed(error)
  }

  resume(): void {
    throw new Error(`${this.name} cannot be read from`)
  }
  pause(): void {}
  end(): void {}
  close(): void {}
  destroy(): void {}
}

/** It belongs to the process, not to whoever writes: it is never closed. */
class Output extends Stream {
  constructor(name: string, open: () => Writable) {
    super((stream) => new OutputChannel(name, stream, open))
  }

  override end(...chunks: Chunk[]): Op<void> {
    return this.write(...chunks)
  }

  override close(): Op<void> {
    return this.write()
  }

  override destroy(): void {}

  override [Symbol.asyncDispose](): Op<void> & PromiseLike<void> {
    const op = this.close()
    const written = () => run(() => op, { name: `${this.name}.close()` })
    // biome-ignore lint/suspicious/noThenProperty: async code waits for it
    return Object.assign(op, { then: (...answers: any[]) => written().then(...answers) as any })
  }
}

/**
 * Where the program writes its results. A write is over when the system has the bytes, so a fiber waits while a slow reader
 * of a pipe has not made room; others run on. It keeps its order with `console.log`.
 *
 * `end()` and `close()` wait until all is written, and leave it open: it belongs to the process.
 *
 * When the reader has gone (`prog | head -1`), a write throws an `IOError` with the code `EPIPE`. A program that does
 * not catch it ends in order, without a word, with code 141.
 *
 * ```ts
 * import { main } from 'polyphony'
 * import { stdout } from 'polyphony/io'
 *
 * main(function* () {
 *   yield* stdout.write('no line end ')
 *   console.log('in between')
 *   yield* stdout.write('one, ', Buffer.from('two'), '\n')
 * })
 * ```
 * ```text
 * no line end in between
 * one, two
 * ```
 */
export const stdout: Writer = new Output('stdout', () => process.stdout)

/**
 * Where the program writes what is not a result: errors, progress. Otherwise like `stdout`.
 *
 * ```ts
 * import { main } from 'polyphony'
 * import { stderr } from 'polyphony/io'
 *
 * main(() => stderr.write('careful\n'))
 * ```
 * ```text
 * careful
 * ```
 */
export const stderr: Writer = new Output('stderr', () => process.stderr)

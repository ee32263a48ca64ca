// Standard input, output and errors of our own process. Importing this opens nothing: each stream of Node is first touched when a
// fiber reads from it or writes to it. What the descriptors of a child process are is in descriptors.ts.

import { constants } from 'node:os'
import type { Writable } from 'node:stream'
import type { Op } from '../../core/index.js'
import { exitSilently, run } from '../../node/index.js'
import { BaseChannel, type Chunk, type Receiver } from '../stream/channel.js'
import { NodeChannel } from '../stream/node-stream.js'
import { type Reader, Stream, type Writer } from '../stream/stream.js'

/**
 * The standard input of the program. In this example, the two lines `hello` and `world`.
 *
 * ```ts
 * import { main } from 'polyphony'
 * import { stdin } from 'polyphony/io'
 *
 * main(function* () {
 *   console.log(yield* stdin.gets())
 *   console.log(`${yield* stdin.read()}`.trimEnd())
 *   console.log(yield* stdin.gets())
 * })
 * ```
 * ```text
 * hello
 * world
 * undefined
 * ```
 */
export const stdin: Reader = new Stream(
  (stream) => new NodeChannel('stdin', stream, { readable: () => process.stdin, isIdle: true }),
)

/**
 * The next line of standard input, without its end; `undefined` when there are no more. The same as `stdin.gets()`.
 * In this example, the two lines are `hello` and `world`.
 *
 * ```ts
 * import { main } from 'polyphony'
 * import { gets } from 'polyphony/io'
 *
 * main(function* () {
 *   for (let line: string | undefined; (line = yield* gets()) !== undefined; ) console.log(line.toUpperCase())
 * })
 * ```
 * ```text
 * HELLO
 * WORLD
 * ```
 */
export function gets(): Op<string | undefined> {
  return stdin.gets()
}

// Output and errors

class OutputChannel extends BaseChannel {
  private stream: Writable | null = null
  /** The lengths of the chunks that Node has not yet written, and how much it has written. */
  private readonly lengths: number[] = []
  private written = 0

  constructor(
    readonly name: string,
    private readonly receiver: Receiver,
    private readonly open: () => Writable,
  ) {
    super()
  }

  /** Every write is waited for, so that an error is thrown by the write that caused it. */
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

  /** EPIPE: the reader is gone. The system would end the program with SIGPIPE, which Node ignores. */
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

/** It belongs to the process, not to the fiber that writes: it is never closed. */
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
 * of a pipe has not made room; other fibers run on. It keeps its order with `console.log`.
 *
 * `end()` and `close()` wait until all is written, and leave it open: it belongs to the process.
 *
 * When the reader has gone (`prog | head -1`), a write throws an `IOError` with the code `EPIPE`. A program that does
 * not catch it ends in order, without a report, with code 141.
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

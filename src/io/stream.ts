// A stream: what fibers read from and write to, in words. What happens beneath is in flow.ts.

import { constants } from 'node:buffer'
import { BadArgument, check, type Op, type Returned, show } from '../core/index.js'
import type { Iterates, Source } from '../sync/index.js'
import type { Chunk } from './channel.js'
import { checkCount } from './checks.js'
import { Disposal } from './disposal.js'
import { Flow } from './flow.js'
import { itemsOf } from './items.js'
import { copyOf, Gets, Read, ReadAll, ReadExactly, ReadUntil } from './reading.js'
import { readLoop } from './readloop.js'
import { Close, checkChunks, End, Write } from './writing.js'

/** How long a line may be, unless told otherwise. */
export const LINE_LIMIT = 1024 * 1024
/** How much `readAll` takes, unless told otherwise. */
export const READ_LIMIT = 64 * 1024 * 1024

/** What the limits of one read may be. */
export interface LimitOptions {
  /** How many bytes at the most. */
  limit?: number
}

/** How a read loop is to read. */
export interface ReadLoopOptions {
  /** How long a chunk may be at the most. */
  max?: number
}

type Ending = 'close' | 'destroy' | 'isClosed' | 'stats' | typeof Symbol.asyncDispose

/** Something to read from. */
export type Reader = Pick<
  Stream,
  | 'name'
  | 'read'
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
export class Stream extends Flow implements Iterates<Buffer>, AsyncDisposable {
  private readOp: Read | null = null
  private getsOp: Gets | null = null

  /** The next bytes, as many as have come but `max` at the most; `undefined` at the end. They are the caller's. */
  read(max?: number): Op<Buffer | undefined> {
    if (max !== undefined && max !== Infinity)
      return new Read(this, checkCount(max, 1, `${this.name}.read(max)`))
    return (this.readOp ??= new Read(this, Infinity).droppable()).handOut()
  }

  /** Exactly so many bytes; `UnexpectedEnd` if the stream ends before, and then they stay where they are. */
  readExactly(count: number): Op<Buffer> {
    const what = `${this.name}.readExactly(count)`
    if (count > constants.MAX_LENGTH) throw new BadArgument(`${what}: no buffer holds ${count} bytes`)
    return new ReadExactly(this, checkCount(count, 0, what))
  }

  /** Everything up to the delimiter, which is included; `undefined` at the end, and `UnexpectedEnd` if something stands before the
   * end without it, which then stays where it is. At most 1 MiB unless `limit` says otherwise. */
  readUntil(delimiter: Chunk, options: LimitOptions = {}): Op<Buffer | undefined> {
    checkChunks([delimiter], this, 'readUntil')
    if (delimiter.length === 0)
      throw new BadArgument(`${this.name}.readUntil() needs a delimiter that is not empty`)
    const bytes = typeof delimiter === 'string' ? Buffer.from(delimiter) : copyOf(delimiter as Buffer)
    return new ReadUntil(this, bytes, limitOf(options, LINE_LIMIT, `${this.name}.readUntil()`))
  }

  /** The next line without its end (`\n` or `\r\n`), also a last one that has none; `undefined` when there are no more. At most 1 MiB unless `limit`
   * says otherwise. */
  gets(options?: LimitOptions): Op<string | undefined> {
    if (options !== undefined) return new Gets(this, limitOf(options, LINE_LIMIT, `${this.name}.gets()`))
    return (this.getsOp ??= new Gets(this, LINE_LIMIT).droppable()).handOut()
  }

  /** All that comes until the end. At most 64 MiB unless `limit` says otherwise. */
  readAll(options: LimitOptions = {}): Op<Buffer> {
    return new ReadAll(this, limitOf(options, READ_LIMIT, `${this.name}.readAll()`))
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
    const max = options === NO_OPTIONS ? Infinity : maxOf(options, `${this.name}.readLoop()`)
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
   * The chunks as they come, which are the caller's: `each(stream, body)` runs a body for each of them. Who leaves early
   * leaves the rest in the stream, which stays open.
   *
   * ```ts
   * const stream = pipe()
   * yield* stream.end('one two')
   * yield* each(stream, (chunk) => console.log(`${chunk}`)) // one two
   * ```
   */
  iterate(): Source<Buffer> {
    return itemsOf(this, new Read(this, Infinity))
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
  lines(options: LimitOptions = {}): Source<string> {
    return itemsOf(this, new Gets(this, limitOf(options, LINE_LIMIT, `${this.name}.lines()`)))
  }

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
    return this.trySend(chunks, 'tryWrite')
  }

  /** Sends these chunks and then the end; goes on when all is sent. Reading goes on as before. */
  end(...chunks: Chunk[]): Op<void> {
    return new End(this, chunks)
  }

  /** Sends what was written, then closes. Fibers that wait to read get `StreamClosed`. Whoever gives up waiting for it closes
   * at once. */
  close(): Op<void> {
    return new Close(this)
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
}

const NO_OPTIONS: ReadLoopOptions = {}

/** A plain function, as most bodies of loops are: it need not be looked at closely. */
function isPlain(body: any): boolean {
  return (
    typeof body === 'function' &&
    Object.getPrototypeOf(body) === Function.prototype &&
    body.describe === undefined &&
    body.next === undefined
  )
}

function maxOf(options: ReadLoopOptions, where: string): number {
  check.options(options, ['max'], where)
  return options.max === undefined || options.max === Infinity
    ? Infinity
    : checkCount(options.max, 1, `max of ${where}`)
}

export function limitOf(options: LimitOptions, usual: number, where: string): number {
  check.options(options, ['limit'], where)
  const { limit = usual } = options
  return limit === Infinity ? limit : checkCount(limit, 1, `limit of ${where}`)
}

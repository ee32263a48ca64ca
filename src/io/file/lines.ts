// Lines of files and streams: all of them, one by one in a loop, or as items for `each` and `forEach`.

import {
  BaseOp,
  check,
  type Fiber,
  type Op,
  op,
  type Returned,
  type Routine,
  runReturned,
  type Switchpoint,
} from '../../core/index.js'
import { END, type Iterates, type Source } from '../../sync/index.js'
import { checkPath } from '../checks.js'
import { checkLineOptions, type LineOptions } from '../stream/options.js'
import { type Reader, Stream } from '../stream/stream.js'
import type { File } from './file.js'
import { isOptions, OpenCall, withFile } from './open.js'

/** The lines of something: `yield*` gives all of them, `each` and `forEach` take them one by one. */
export interface Lines extends Op<string[]>, Iterates<string> {
  /** What `yield*` calls. The type says also that its items are strings, for `forEach`. */
  [Symbol.iterator](): Iterator<Switchpoint & string, string[], unknown>
}

/** Takes the next line from a reader; undefined when there are no more. */
type Next = (reader: Reader) => Op<string | undefined>

/**
 * Runs the body for each line of a file or a stream, until the end or until it returns `false`. A file is opened and closed; a stream
 * is left as it is. A line may have 1 MiB unless `limit` says otherwise.
 *
 * ```ts
 * yield* writeFile('fruit.txt', 'apple\nbanana\ncherry\n')
 * yield* readLines('fruit.txt', (line) => console.log(line)) // apple, banana, cherry
 * console.log((yield* readLines('fruit.txt')).length) // 3
 * yield* forEach(readLines('fruit.txt'), () => sleep(10), { concurrency: 2 })
 * ```
 */
export function readLines<R>(
  source: string | URL | Reader,
  body: (line: string) => Returned<R>,
  options?: LineOptions,
): Op<void>
/**
 * All lines, without their ends. As items of `each` and `forEach` they come one by one.
 *
 * ```ts
 * yield* writeFile('names', 'one\0two\0')
 * console.log(yield* readLines('names', { separator: '\0' })) // [ 'one', 'two' ]
 * ```
 */
export function readLines(source: string | URL | Reader, options: LineOptions): Lines
/** All lines, without their ends. */
export function readLines(source: string | URL | Reader): Lines
export function readLines(source: string | URL | Reader, ...rest: unknown[]): any {
  const isReader = typeof (source as Reader | null)?.gets === 'function'
  const from = isReader ? (source as Reader) : checkPath(source, 'readLines()')
  const what = `readLines(${typeof from === 'string' ? from : from.name})`
  const [first] = rest
  if (rest.length === 0 || isOptions(first)) return allLines(from, what, nextOf(first as LineOptions))
  check.body(first, 'readLines()')
  const next = nextOf(rest[1] as LineOptions | undefined)
  return op(what, () =>
    reading(from, what, (reader) => loop(reader, next, first as (line: string) => unknown)),
  )
}

const gets: Next = (reader) => reader.gets()

function nextOf(options?: LineOptions): Next {
  if (options === undefined) return gets
  const own = checkLineOptions(options, 'readLines()')
  return (reader) => reader.gets(own)
}

function allLines(from: string | Reader, what: string, next: Next): Lines {
  const lines = op(what, () => reading(from, what, (reader) => collect(reader, next)))
  return Object.assign(lines, { iterate: () => new LineSource(from, what, next) }) as Lines
}

/** Runs a loop over a file, which is open meanwhile, or a stream. */
function* reading<T>(from: string | Reader, what: string, body: (reader: Reader) => Routine<T>): Routine<T> {
  if (typeof from !== 'string') return yield* body(from)
  return yield* withFile(from, 'r', body, undefined, what)
}

function* collect(reader: Reader, next: Next): Routine<string[]> {
  const lines: string[] = []
  for (let line: string | undefined; (line = yield* next(reader)) !== undefined; ) lines.push(line)
  return lines
}

function* loop(reader: Reader, next: Next, body: (line: string) => unknown): Routine<void> {
  const ready = next === gets && reader instanceof Stream ? new ReadyLines(reader, body) : null
  for (;;) {
    let returned = ready === null ? undefined : yield* ready
    if (returned === undefined) {
      const line = yield* next(reader)
      if (line === undefined) return
      returned = body(line)
    }
    if (typeof returned === 'object' && returned !== null) returned = yield* runReturned(returned, body)
    if (returned === false) return
  }
}

// The quick part of the loop. Most lines of a file have been read when the loop asks for them: the body is called for one after
// the other, without a wait for each, as long as a wait would be over at once (S50).

/** What the loop has to see to: what a body returned that is an object or `false`; else it waits for the next line. */
class ReadyLines extends BaseOp<unknown> {
  constructor(
    private readonly stream: Stream,
    private readonly body: (line: string) => unknown,
  ) {
    super()
    this.droppable() // one op serves the whole loop
  }

  /** Never waits, so that it is never entered. Each line takes of the fiber's budget as a wait for it would. */
  override next(): IteratorResult<Switchpoint, unknown> {
    for (let fiber = this.tryFastPath(); fiber !== null; fiber = this.tryFastPath()) {
      const line = this.stream.reading.readyLine()
      if (line === undefined) break
      this.finishNow(fiber, undefined)
      const returned = this.body(line)
      if (returned === false || (typeof returned === 'object' && returned !== null)) {
        return { done: true, value: returned }
      }
    }
    return NOTHING
  }

  enter(_fiber: Fiber): void {}
  abort(_fiber: Fiber): void {}

  describe(): string {
    return `${this.stream.name}.gets()`
  }
}

const NOTHING: IteratorResult<Switchpoint, unknown> = { done: true, value: undefined }

/** The lines, one by one. A file is opened for the first, and closed after the last or when the loop is left early. */
class LineSource implements Source<string> {
  private reader: Reader | null
  /** The file that was opened here. */
  private file: File | null = null
  private isOver = false

  constructor(
    private readonly from: string | Reader,
    private readonly what: string,
    private readonly nextLine: Next,
  ) {
    this.reader = typeof from === 'string' ? null : from
  }

  next(): Op<string | typeof END> {
    return op(
      () => `a line of ${this.what}`,
      () => this.take(),
    )
  }

  private *take(): Routine<string | typeof END> {
    if (this.reader === null && !this.isOver) yield* this.open(this.from as string)
    const line = this.reader === null ? undefined : yield* this.nextLine(this.reader)
    if (line === undefined) yield* this.close()
    return line ?? END
  }

  /** Several fibers may ask for the first line at once, and the source may be closed meanwhile. */
  private *open(path: string): Routine<void> {
    const file = yield* new OpenCall(path, 'r', 0, this.what)
    if (this.file === null && !this.isOver) this.reader = this.file = file
    else file.destroy()
  }

  close(): Op<void> {
    return op(this.what, () => this.leave())
  }

  private *leave(): Routine<void> {
    const { file } = this
    if (typeof this.from === 'string') {
      this.isOver = true
      this.reader = this.file = null
    }
    if (file !== null) yield* file.close()
  }
}

// Lines of files and streams: all of them, one by one in a loop, or as items for `each` and `forEach`.

import {
  check,
  type Fiber,
  type Op,
  op,
  type Returned,
  type Routine,
  runReturned,
  type Switchpoint,
  tryFastPath,
} from '../core/index.js'
import { END, type Iterates, type Source } from '../sync/index.js'
import type { File } from './file.js'
import { checkPath } from './filepath.js'
import { Flow } from './flow.js'
import { OpenCall, withFile } from './openfile.js'
import { LINE_LIMIT, type LimitOptions, limitOf, type Reader } from './stream.js'

/** The lines of something: `yield*` gives all of them, `each` and `forEach` take them one by one. */
export interface Lines extends Op<string[]>, Iterates<string> {
  /** What `yield*` calls. The type says also that its items are strings, for `forEach`. */
  [Symbol.iterator](): Iterator<Switchpoint & string, string[], unknown>
}

/**
 * Runs the body for each line of a file or a stream, until the end or until it returns `false`. A file is opened and closed; a stream
 * is left as it is.
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
  options?: LimitOptions,
): Op<void>
/** All lines, without their ends. As items of `each` and `forEach` they come one by one. */
export function readLines(source: string | URL | Reader): Lines
export function readLines(
  source: string | URL | Reader,
  ...rest: [body?: (line: string) => unknown, options?: LimitOptions]
): any {
  const isReader = typeof (source as Reader | null)?.gets === 'function'
  const from = isReader ? (source as Reader) : checkPath(source, 'readLines()')
  const name = typeof from === 'string' ? from : from.name
  if (rest.length === 0) return allLines(from, name)
  const [body, options] = rest
  check.body(body, 'readLines()')
  if (options !== undefined) limitOf(options, LINE_LIMIT, 'readLines()')
  return op(`readLines(${name})`, () =>
    reading(from, (reader) => loop(reader, body as (line: string) => unknown, options)),
  )
}

function allLines(from: string | Reader, name: string): Lines {
  const lines = op(`readLines(${name})`, () => reading(from, collect))
  const iterate = () => (typeof from === 'string' ? new LineSource(from) : from.lines())
  return Object.assign(lines, { iterate }) as Lines
}

/** Runs a loop over a file, which is open meanwhile, or a stream. */
function* reading<T>(from: string | Reader, body: (reader: Reader) => Routine<T>): Routine<T> {
  if (typeof from !== 'string') return yield* body(from)
  return yield* withFile(from, 'r', body, undefined, `readLines(${from})`)
}

function* collect(reader: Reader): Routine<string[]> {
  const lines: string[] = []
  for (let line: string | undefined; (line = yield* reader.gets()) !== undefined; ) lines.push(line)
  return lines
}

function* loop(reader: Reader, body: (line: string) => unknown, options?: LimitOptions): Routine<void> {
  const flow = options === undefined && reader instanceof Flow ? reader : null
  for (;;) {
    // Most lines are there already. They are taken without a wait, as long as a wait would do the same (S50).
    const fiber = tryFastPath()
    let line = fiber === null ? undefined : flow?.readyLine()
    if (line === undefined) line = yield* reader.gets(options)
    else (fiber as Fiber).budget--
    if (line === undefined) return
    const returned = body(line)
    if (returned === false) return
    if (typeof returned === 'object' && returned !== null) {
      if ((yield* runReturned(returned, body)) === false) return
    }
  }
}

/** The lines of a file, one by one. It is opened for the first, and closed after the last or when somebody leaves early. */
class LineSource implements Source<string> {
  private file: File | null = null
  private isOver = false

  constructor(private readonly path: string) {}

  next(): Op<string | typeof END> {
    return op(`a line of ${this.path}`, () => this.take())
  }

  private *take(): Routine<string | typeof END> {
    if (this.file === null && !this.isOver) yield* this.open()
    const line = this.file === null ? undefined : yield* this.file.gets()
    if (line === undefined) yield* this.close()
    return line ?? END
  }

  /** Several may ask for the first line at once, and somebody may have left meanwhile. */
  private *open(): Routine<void> {
    const file = yield* new OpenCall(this.path, 'r', 0, `readLines(${this.path})`)
    if (this.file === null && !this.isOver) this.file = file
    else file.destroy()
  }

  close(): Op<void> {
    return op(`readLines(${this.path})`, () => this.leave())
  }

  private *leave(): Routine<void> {
    const { file } = this
    this.isOver = true
    this.file = null
    if (file !== null) yield* file.close()
  }
}

// Compression: from a stream, a string or bytes, to a stream or into memory. One fiber drives a compressor or decompressor of
// node:zlib piece by piece. The work is done in Node's thread pool, and never ahead of the output that is taken.
//
//   yield* engine -> HUNGRY: it needs input (feed)        bytes: output        END: there is no more output

import type { Transform } from 'node:stream'
import {
  constants,
  createBrotliCompress,
  createBrotliDecompress,
  createDeflate,
  createGunzip,
  createGzip,
  createInflate,
} from 'node:zlib'
import {
  type Attempt,
  BadArgument,
  check,
  type Op,
  OutsideOp,
  op,
  type Routine,
  show,
} from '../core/index.js'
import { checkCount } from './checks.js'
import { CorruptInput, LimitExceeded, UnexpectedEnd } from './errors.js'
import { type ByteSource, checkSource, isTarget, Supply } from './stream/copy.js'
import { counted } from './stream/read-ops.js'
import type { Writer } from './stream/stream.js'

/** Options of `deflate`. */
export interface DeflateOptions {
  /** From 0 (no compression) and 1 (the fastest) to 9 (the smallest output); default 6. */
  level?: number
}

/** Options of `gzip`. */
export interface GzipOptions extends DeflateOptions {}

/** Options of `brotli`. */
export interface BrotliOptions {
  /** From 0 (the fastest) to 11 (the smallest output, and by far the slowest); default 11. For output that is made on request, 4 or 5 is usual. */
  quality?: number
}

/** Options of `inflate` and `unbrotli`. */
export interface UnzipOptions {
  /**
   * The most bytes of output; beyond that, `LimitExceeded` is thrown. A few kilobytes of input can decompress to gigabytes, so
   * give a limit for input that is not trusted. Default: no limit.
   */
  limit?: number
}

/** Options of `gunzip`. */
export interface GunzipOptions extends UnzipOptions {}

/** What one of the functions below does with its input. */
interface Recipe {
  readonly make: () => Zlib
  readonly limit?: number | undefined
  /** Whether input may follow that zlib does not use. */
  readonly mayTrail?: boolean
}

/** The size of a piece of output. */
const SIZE = { chunkSize: 64 * 1024 }

/**
 * Compresses into the format of gzip. Without a stream to write to, gives the bytes; else how many were written, and leaves the
 * stream open.
 *
 * ```ts
 * const file = pipe()
 * const count = yield* gzip('so much, so much, so much to say', file, { level: 9 })
 * yield* file.end()
 * const bytes = yield* file.readAll()
 * console.log(bytes.length === count) // true
 * console.log(`${yield* gunzip(bytes)}`) // so much, so much, so much to say
 * ```
 */
export function gzip(src: ByteSource, options?: GzipOptions): Op<Buffer>
export function gzip(src: ByteSource, dst: Writer, options?: GzipOptions): Op<number>
export function gzip(src: ByteSource, ...rest: Rest<GzipOptions>): Op<Buffer | number> {
  return zip('gzip', ['level'], src, rest, ({ level }) => {
    checkLevel(level, 9, 'the level of gzip()')
    return { make: () => createGzip({ ...SIZE, level }) }
  })
}

/**
 * Decompresses the format of gzip, one file or several in a row. Without a stream to write to, gives the bytes; else how many
 * were written. Throws `CorruptInput` if the input is something else, `UnexpectedEnd` if its end is missing.
 *
 * ```ts
 * const bytes = yield* gzip('hello')
 * console.log(`${yield* gunzip(bytes, { limit: 1000 })}`) // hello
 * ```
 */
export function gunzip(src: ByteSource, options?: GunzipOptions): Op<Buffer>
export function gunzip(src: ByteSource, dst: Writer, options?: GunzipOptions): Op<number>
export function gunzip(src: ByteSource, ...rest: Rest<GunzipOptions>): Op<Buffer | number> {
  const recipeOf = ({ limit }: GunzipOptions) => ({ make: () => createGunzip(SIZE), limit, mayTrail: true }) // zeros may follow, as on tapes
  return zip('gunzip', ['limit'], src, rest, recipeOf)
}

/**
 * Compresses into the format of zlib, which HTTP calls `deflate`. Without a stream to write to, gives the bytes; else how
 * many were written.
 *
 * ```ts
 * const bytes = yield* deflate('a'.repeat(1000), { level: 9 })
 * console.log(bytes.length < 30) // true
 * ```
 */
export function deflate(src: ByteSource, options?: DeflateOptions): Op<Buffer>
export function deflate(src: ByteSource, dst: Writer, options?: DeflateOptions): Op<number>
export function deflate(src: ByteSource, ...rest: Rest<DeflateOptions>): Op<Buffer | number> {
  return zip('deflate', ['level'], src, rest, ({ level }) => {
    checkLevel(level, 9, 'the level of deflate()')
    return { make: () => createDeflate({ ...SIZE, level }) }
  })
}

/**
 * Decompresses the format of zlib, as `deflate` makes it. Without a stream to write to, gives the bytes; else how many were written.
 *
 * ```ts
 * const bytes = yield* deflate('hello')
 * console.log(`${yield* inflate(bytes)}`) // hello
 * try {
 *   yield* inflate(yield* deflate('a'.repeat(1_000_000)), { limit: 1000 })
 * } catch (error) {
 *   console.log(error instanceof LimitExceeded) // true
 * }
 * ```
 */
export function inflate(src: ByteSource, options?: UnzipOptions): Op<Buffer>
export function inflate(src: ByteSource, dst: Writer, options?: UnzipOptions): Op<number>
export function inflate(src: ByteSource, ...rest: Rest<UnzipOptions>): Op<Buffer | number> {
  return zip('inflate', ['limit'], src, rest, ({ limit }) => ({ make: () => createInflate(SIZE), limit }))
}

/**
 * Compresses with Brotli. Without a stream to write to, gives the bytes; else how many were written.
 *
 * ```ts
 * const bytes = yield* brotli('hello, hello, hello', { quality: 5 })
 * console.log(`${yield* unbrotli(bytes)}`) // hello, hello, hello
 * ```
 */
export function brotli(src: ByteSource, options?: BrotliOptions): Op<Buffer>
export function brotli(src: ByteSource, dst: Writer, options?: BrotliOptions): Op<number>
export function brotli(src: ByteSource, ...rest: Rest<BrotliOptions>): Op<Buffer | number> {
  return zip('brotli', ['quality'], src, rest, ({ quality }) => {
    checkLevel(quality, 11, 'the quality of brotli()')
    const params = quality === undefined ? {} : { [constants.BROTLI_PARAM_QUALITY]: quality }
    return { make: () => createBrotliCompress({ ...SIZE, params }) }
  })
}

/**
 * Decompresses the format of Brotli. Without a stream to write to, gives the bytes; else how many were written.
 *
 * ```ts
 * const target = pipe()
 * console.log(yield* unbrotli(yield* brotli('hello'), target)) // 5
 * ```
 */
export function unbrotli(src: ByteSource, options?: UnzipOptions): Op<Buffer>
export function unbrotli(src: ByteSource, dst: Writer, options?: UnzipOptions): Op<number>
export function unbrotli(src: ByteSource, ...rest: Rest<UnzipOptions>): Op<Buffer | number> {
  return zip('unbrotli', ['limit'], src, rest, ({ limit }) => ({
    make: () => createBrotliDecompress(SIZE),
    limit,
  }))
}

/** The arguments after the source: a stream and options, or options only. */
type Rest<O> = [dst?: Writer | O, options?: O]

function zip<O extends object>(
  verb: string,
  names: readonly string[],
  src: ByteSource,
  rest: Rest<O>,
  recipeOf: (options: O) => Recipe,
): Op<Buffer | number> {
  const where = `${verb}()`
  checkSource(src, where)
  const [second, third] = rest
  if (typeof second === 'string' || second instanceof Uint8Array) {
    throw new BadArgument(
      `${where} needs a stream to write to, or options, got ${show(second)}. For a file: openFile(path, 'w', (file) => ${verb}(source, file))`,
    )
  }
  const dst = isTarget(second) ? second : undefined
  const given = (dst === undefined && second !== undefined ? second : third) as O | undefined
  if (dst === undefined && second !== undefined && third !== undefined) {
    throw new BadArgument(`${where} needs a stream to write to before the options, got ${show(second)}`)
  }
  const options = { ...check.options(given ?? ({} as O), names, where) }
  const recipe = recipeOf(options)
  const { limit } = recipe
  if (limit !== undefined && limit !== Infinity) checkCount(limit, 0, `the limit of ${where}`)
  return op(where, () => zipping(verb, src, dst, recipe))
}

function* zipping(
  verb: string,
  src: ByteSource,
  dst: Writer | undefined,
  { make, limit = Infinity, mayTrail = false }: Recipe,
): Routine<Buffer | number> {
  const supply = new Supply(src)
  const what = `${verb}(${supply.name})`
  const engine = new Engine(make(), what)
  const kept: Buffer[] = []
  let total = 0
  try {
    for (;;) {
      const output = yield* engine
      if (output === END) break
      if (output === HUNGRY) {
        engine.feed(yield* supply.next())
        continue
      }
      total += output.length
      if (total > limit) throw tooMuch(what, verb, limit)
      if (dst === undefined) kept.push(output)
      else yield* dst.write(output)
    }
    if (engine.leftover > 0 && !mayTrail) throw trailing(what)
    return dst === undefined ? Buffer.concat(kept, total) : total
  } finally {
    engine.destroy()
  }
}

function tooMuch(what: string, verb: string, limit: number): LimitExceeded {
  return new LimitExceeded(
    `${what}: more than ${counted(limit, 'byte')} came out. If the input is trusted, give ${verb}() a higher limit.`,
  )
}

function trailing(what: string): CorruptInput {
  return new CorruptInput(`${what}: the input is corrupt (other bytes follow its end)`)
}

function checkLevel(level: unknown, most: number, what: string): void {
  if (level === undefined || (Number.isInteger(level) && (level as number) >= 0 && (level as number) <= most))
    return
  throw new BadArgument(`${what} needs a whole number from 0 to ${most}, got ${show(level)}`)
}

// ---- the engine

/** More input is needed. */
const HUNGRY = Symbol('hungry')
/** There is no more output. */
const END = Symbol('end')
/** Neither input is needed nor output there: zlib is at work. */
const NOTHING = Symbol('nothing')

type News = Buffer | typeof HUNGRY | typeof END

type Zlib = Transform & { readonly bytesWritten: number }

/** The wait for the next piece of output, or for the need of input. One fiber at a time. */
class Engine extends OutsideOp<News> {
  private waiting: Attempt<News> | null = null
  private isHungry = true
  private isEnded = false
  private fed = 0
  private error: NodeJS.ErrnoException | null = null

  constructor(
    private readonly zlib: Zlib,
    /** Its name in errors and in the tree: `gunzip(stdin)`. */
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

  /** Gives it input, or undefined at the end of the input. The bytes must not change until it is HUNGRY again. */
  feed(bytes: Buffer | undefined): void {
    this.isHungry = false
    if (bytes === undefined) {
      this.zlib.end()
      return
    }
    this.fed += bytes.length
    this.zlib.write(bytes, (error) => {
      if (error) return // the event tells it
      this.isHungry = true
      this.wake()
    })
  }

  /** How many bytes of the input it did not use. */
  get leftover(): number {
    return this.fed - this.zlib.bytesWritten
  }

  /** Ends it. A thread that is at work finishes its piece, and the result is dropped. */
  destroy(): void {
    this.zlib.destroy()
  }

  private news(): News | typeof NOTHING {
    const output = this.zlib.read() as Buffer | null // this also starts the next piece, and may call `wake`
    if (output !== null) return output
    if (this.error !== null) throw this.broken(this.error)
    if (this.isEnded) return END
    return this.isHungry ? HUNGRY : NOTHING
  }

  private broken(cause: NodeJS.ErrnoException): Error {
    if (cause.code === 'Z_BUF_ERROR') {
      return new UnexpectedEnd(`${this.what}: the input ended too early, after ${counted(this.fed, 'byte')}`)
    }
    return new CorruptInput(`${this.what}: the input is corrupt (${cause.message})`, { cause })
  }

  private readonly wake = (): void => {
    if (this.waiting !== null) this.tell(this.waiting)
  }

  private tell(attempt: Attempt<News>): void {
    this.waiting = null // `news` may call `wake`
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

  protected cancel(): void {} // the fiber destroys the engine when it leaves `zipping`

  describe(): string {
    return this.what
  }
  override get kind(): string {
    return 'compression'
  }
}

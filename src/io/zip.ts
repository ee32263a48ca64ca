// Compression: from a stream, a string or bytes, to a stream or into memory. The formats are node:zlib's; the driving is in
// engine.ts, and the header of gzip, which zlib keeps to itself, in gzipheader.ts.

import {
  constants,
  createBrotliCompress,
  createBrotliDecompress,
  createDeflate,
  createGunzip,
  createGzip,
  createInflate,
} from 'node:zlib'
import { BadArgument, check, type Op, op, type Routine, show } from '../core/index.js'
import { checkCount } from './checks.js'
import { type ByteSource, checkSource, isTarget, Supply } from './copy.js'
import { END, Engine, HUNGRY, type Zlib } from './engine.js'
import { CorruptInput, LimitExceeded } from './errors.js'
import { type GzipHeader, type GzipHeaderOptions, headerReader, headerWriter } from './gzipheader.js'
import { counted } from './reading.js'
import type { Writer } from './stream.js'

/** How to deflate. */
export interface DeflateOptions {
  /** From 0, which only wraps, over 1, the quickest, to 9, the smallest; default 6. */
  level?: number
}

/** How to gzip, and what the header says. */
export interface GzipOptions extends DeflateOptions, GzipHeaderOptions {}

/** How to compress with Brotli. */
export interface BrotliOptions {
  /** From 0, the quickest, to 11, the smallest and by far the slowest; default 11. For what is made on the fly, 4 or 5 is usual. */
  quality?: number
}

/** How to decompress. */
export interface UnzipOptions {
  /**
   * How many bytes may come out; with more, `LimitExceeded` is thrown. A few kilobytes can hold gigabytes of nothing, so
   * give a limit to whatever comes from strangers. Default: no limit.
   */
  limit?: number
}

/** How to gunzip. */
export interface GunzipOptions extends UnzipOptions {
  /** Called with what the file says of itself, as soon as that has been read; of several files in one, the first. */
  onHeader?: (header: GzipHeader) => void
}

/** What one of the functions below does with its input. */
interface Recipe {
  readonly make: () => Zlib
  readonly limit?: number | undefined
  /** Looks at each piece of input. */
  readonly look?: ((input: Buffer) => void) | undefined
  /** Changes the first piece of output. */
  readonly dress?: ((first: Buffer) => Buffer) | undefined
  /** Whether there may be more input than is used. */
  readonly mayTrail?: boolean
}

/** So many bytes are made at a time. */
const SIZE = { chunkSize: 64 * 1024 }

/**
 * Compresses into the format of gzip. Without a stream to write to, gives the bytes; else how many were written, and leaves the
 * stream open.
 *
 * ```ts
 * const file = pipe()
 * const count = yield* gzip('so much, so much, so much to say', file, { level: 9, name: 'speech.txt' })
 * yield* file.end()
 * const bytes = yield* file.readAll()
 * console.log(bytes.length === count) // true
 * console.log(`${yield* gunzip(bytes)}`) // so much, so much, so much to say
 * ```
 */
export function gzip(src: ByteSource, options?: GzipOptions): Op<Buffer>
export function gzip(src: ByteSource, dst: Writer, options?: GzipOptions): Op<number>
export function gzip(src: ByteSource, ...rest: Rest<GzipOptions>): Op<Buffer | number> {
  return zip('gzip', ['level', 'name', 'comment', 'mtime'], src, rest, (options) => {
    const { level } = options
    checkLevel(level, 9, 'level of gzip()')
    return { make: () => createGzip({ ...SIZE, level }), dress: headerWriter(options) }
  })
}

/**
 * Decompresses what `gzip` made, one file or several after each other. Without a stream to write to, gives the bytes; else how many
 * were written. Throws `CorruptInput` if it is something else, `UnexpectedEnd` if it is not all.
 *
 * ```ts
 * const bytes = yield* gzip('hello', { name: 'greeting.txt', mtime: new Date('2024-02-29') })
 * const onHeader = ({ name, mtime }: GzipHeader) => console.log(name, mtime?.getUTCDate()) // greeting.txt 29
 * console.log(`${yield* gunzip(bytes, { onHeader })}`) // hello
 * ```
 */
export function gunzip(src: ByteSource, options?: GunzipOptions): Op<Buffer>
export function gunzip(src: ByteSource, dst: Writer, options?: GunzipOptions): Op<number>
export function gunzip(src: ByteSource, ...rest: Rest<GunzipOptions>): Op<Buffer | number> {
  return zip('gunzip', ['limit', 'onHeader'], src, rest, ({ limit, onHeader }) => {
    if (onHeader !== undefined && typeof onHeader !== 'function') {
      throw new BadArgument(`onHeader of gunzip() is a function, got ${show(onHeader)}`)
    }
    const look = () => (onHeader === undefined ? undefined : headerReader(onHeader))
    return { make: () => createGunzip(SIZE), limit, look: look(), mayTrail: true } // zeros may follow: tapes need them
  })
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
    checkLevel(level, 9, 'level of deflate()')
    return { make: () => createDeflate({ ...SIZE, level }) }
  })
}

/**
 * Decompresses what `deflate` made. Without a stream to write to, gives the bytes; else how many were written.
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
    checkLevel(quality, 11, 'quality of brotli()')
    const params = quality === undefined ? {} : { [constants.BROTLI_PARAM_QUALITY]: quality }
    return { make: () => createBrotliCompress({ ...SIZE, params }) }
  })
}

/**
 * Decompresses what `brotli` made. Without a stream to write to, gives the bytes; else how many were written.
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

/** What may follow the source: a stream and options, or options only. */
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
  const { limit } = recipeOf(options)
  if (limit !== undefined && limit !== Infinity) checkCount(limit, 0, `limit of ${where}`)
  return op(where, () => zipping(verb, src, dst, recipeOf(options)))
}

function* zipping(
  verb: string,
  src: ByteSource,
  dst: Writer | undefined,
  { make, limit = Infinity, look, dress, mayTrail = false }: Recipe,
): Routine<Buffer | number> {
  const supply = new Supply(src)
  const what = `${verb}(${supply.name})`
  const engine = new Engine(make(), what)
  const kept: Buffer[] = []
  let total = 0
  try {
    for (;;) {
      const news = yield* engine
      if (news === END) break
      if (news === HUNGRY) {
        const input = yield* supply.next()
        if (input === undefined) engine.finish()
        else {
          look?.(input)
          engine.feed(input)
        }
        continue
      }
      const output = total === 0 && dress !== undefined ? dress(news) : news
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
    `${what}: more than ${counted(limit, 'byte')} came out. Give ${verb}() a higher limit if that is meant to be.`,
  )
}

function trailing(what: string): CorruptInput {
  return new CorruptInput(`${what}: the input is corrupt (something follows its end)`)
}

function checkLevel(level: unknown, most: number, what: string): void {
  if (level === undefined || (Number.isInteger(level) && (level as number) >= 0 && (level as number) <= most))
    return
  throw new BadArgument(`${what} is a whole number from 0 to ${most}, got ${show(level)}`)
}

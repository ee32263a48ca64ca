// copy: bytes from one stream to another, no faster than they are taken; proxy: both ways at once. Also the sources of copying and
// compressing: a stream, or bytes that are there already.

import { BadArgument, check, type Op, op, type Routine, scope, show, spin } from '../../core/index.js'
import { checkCount } from '../checks.js'
import type { Chunk } from './channel.js'
import { counted } from './read-ops.js'
import type { Reader, Stream, Writer } from './stream.js'

/** How many bytes are moved at a time, unless told otherwise. */
const CHUNK = 64 * 1024

/** What can be copied or compressed: a stream, or a string or bytes that are there already. A string is text, not a path. */
export type ByteSource = Reader | Chunk

/** How to copy. */
export interface CopyOptions {
  /** So many bytes at the most; what comes after them stays unread. Default: all, up to the end. */
  max?: number
  /** How many bytes to move at a time, at the most; default 65536. */
  chunk?: number
  /** Tells the other side that this was all; default false. */
  end?: boolean
}

/** Takes chunks from either kind of source. */
export class Supply {
  /** For errors and the tree: the name of the stream, or how many bytes there are. */
  readonly name: string
  private readonly bytes: Buffer | null
  private taken = 0

  constructor(private readonly source: ByteSource) {
    this.bytes = bytesOf(source)
    this.name = this.bytes === null ? (source as Reader).name : counted(this.bytes.length, 'byte')
  }

  /** The next bytes; undefined at the end. */
  *next(max = CHUNK): Routine<Buffer | undefined> {
    if (this.bytes === null) return yield* (this.source as Reader).read(max)
    if (this.taken === this.bytes.length) return undefined
    const chunk = this.bytes.subarray(this.taken, this.taken + max)
    this.taken += chunk.length
    return chunk
  }
}

function bytesOf(source: ByteSource): Buffer | null {
  if (typeof source === 'string') return Buffer.from(source)
  if (!(source instanceof Uint8Array)) return null
  return Buffer.from(source.buffer, source.byteOffset, source.byteLength)
}

/**
 * Copies from a stream (or a string, or bytes) to a stream, and tells how many bytes. Takes no more than the other side
 * takes. Leaves both open; with `end`, tells the other side that this was all. What a stop cuts was copied up to there.
 *
 * ```ts
 * const [source, target] = [pipe(), pipe()]
 * yield* source.end('four and twenty')
 * console.log(yield* copy(source, target, { max: 4 })) // 4
 * console.log(yield* copy(source, target, { end: true })) // 11
 * console.log(`${yield* target.readAll()}`) // four and twenty
 * ```
 */
export function copy(src: ByteSource, dst: Writer, options: CopyOptions = {}): Op<number> {
  checkSource(src, 'copy()')
  checkTarget(dst, 'copy()')
  const {
    max = Infinity,
    chunk = CHUNK,
    end = false,
  } = check.options(options, ['max', 'chunk', 'end'], 'copy()')
  if (max !== Infinity) checkCount(max, 0, 'max of copy()')
  checkCount(chunk, 1, 'chunk of copy()')
  if (typeof end !== 'boolean') throw new BadArgument(`end of copy() is true or false, got ${show(end)}`)
  return op('copy()', () => copying(src, dst, max, chunk, end))
}

function* copying(src: ByteSource, dst: Writer, max: number, chunk: number, end: boolean): Routine<number> {
  let total = 0
  if (max === Infinity && bytesOf(src) === null) {
    // The chunks are lent: nothing is allocated for them. A write that is over needs its bytes no more.
    const forward = (bytes: Buffer) => {
      total += bytes.length
      return dst.write(bytes)
    }
    yield* (src as Reader).readLoop(forward, { max: chunk })
  } else {
    const supply = new Supply(src)
    while (total < max) {
      const bytes = yield* supply.next(Math.min(chunk, max - total))
      if (bytes === undefined) break
      total += bytes.length
      yield* dst.write(bytes)
    }
  }
  if (end) yield* dst.end()
  return total
}

/** How many bytes went in each direction. */
export interface Proxied {
  /** From the first stream to the second. */
  readonly there: number
  /** From the second stream to the first. */
  readonly back: number
}

/**
 * Connects two streams: copies in both directions at once, and passes each end on, so that one direction may go on when the other
 * is over. It is over when both are, and gives how many bytes went through. An error in one direction ends the other, and is
 * thrown. Leaves both streams to be closed by their owners.
 *
 * ```ts
 * const [client, front] = pair()
 * const [back, service] = pair()
 * spin(() => proxy(front, back))
 * yield* client.end('ping\n')
 * console.log(yield* service.gets(), yield* service.gets()) // ping undefined
 * yield* service.end('pong\n')
 * console.log(yield* client.gets()) // pong
 * ```
 */
export function proxy(a: Stream, b: Stream): Op<Proxied> {
  for (const stream of [a, b]) {
    checkSource(stream, 'proxy()')
    checkTarget(stream, 'proxy()')
  }
  if (a === b) throw new BadArgument(`proxy() needs two streams, got ${a.name} twice`)
  return op('proxy()', () =>
    scope(function* () {
      const back = spin('back', () => copy(b, a, { end: true }))
      const there = yield* copy(a, b, { end: true })
      return { there, back: yield* back }
    }),
  )
}

// ---- checks

export function checkSource(source: unknown, where: string): void {
  if (typeof source === 'string' || source instanceof Uint8Array) return
  const { read, readLoop } = (source ?? {}) as Partial<Reader>
  if (typeof read === 'function' && typeof readLoop === 'function') return
  throw new BadArgument(`${where} needs a stream to read from, a string or bytes, got ${show(source)}`)
}

/** Whether it is a stream that can be written to. */
export function isTarget(target: unknown): target is Writer {
  const { write, end } = (target ?? {}) as Partial<Writer>
  return typeof write === 'function' && typeof end === 'function'
}

function checkTarget(target: unknown, where: string): void {
  if (!isTarget(target)) throw new BadArgument(`${where} needs a stream to write to, got ${show(target)}`)
}

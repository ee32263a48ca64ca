// The header of gzip (RFC 1952), which node:zlib neither writes nor tells: name, comment and time of what is inside.
//
//   1f 8b 08 flags | time, 4 bytes | 2 bytes | extra: length, bytes | name \0 | comment \0 | check, 2 bytes
//    each of the last four only if its flag is set

import { BadArgument, show } from '../core/index.js'

const FIXED = 10
const HAS_CHECK = 2
const HAS_EXTRA = 4
const HAS_NAME = 8
const HAS_COMMENT = 16
/** A header that has no end by then is not looked for any further. */
const LONGEST = 128 * 1024

/** What a gzip file tells of what is inside. */
export interface GzipHeader {
  /** The name of the file. */
  readonly name?: string
  /** Whatever somebody wanted to say. */
  readonly comment?: string
  /** When the file was last changed. */
  readonly mtime?: Date
}

/** What may be written into the header. */
export interface GzipHeaderOptions {
  /** The name of the file; default: none. */
  name?: string
  /** Whatever you want to say; default: nothing. */
  comment?: string
  /** When the file was last changed: a date, or milliseconds since 1970; default: nothing, so equal input gives equal output. */
  mtime?: Date | number
}

/** What comes out of zlib begins with a header that says nothing: puts ours in its place. Undefined: leave it as it is. */
export function headerWriter(options: GzipHeaderOptions): ((first: Buffer) => Buffer) | undefined {
  const { name, comment, mtime } = options
  const seconds = checkTime(mtime)
  const texts = [checkText(name, 'name'), checkText(comment, 'comment')]
  if (name === undefined && comment === undefined && seconds === 0) return undefined
  return (first) => {
    const fixed = Buffer.from(first.subarray(0, FIXED))
    fixed[3] = (name === undefined ? 0 : HAS_NAME) | (comment === undefined ? 0 : HAS_COMMENT)
    fixed.writeUInt32LE(seconds, 4)
    return Buffer.concat([fixed, ...texts, first.subarray(FIXED)])
  }
}

/** Whole seconds, as many as 32 bits hold. */
function checkTime(mtime: Date | number | undefined): number {
  if (mtime === undefined) return 0
  const seconds = Math.floor(Number(mtime) / 1000)
  if ((mtime instanceof Date || typeof mtime === 'number') && seconds >= 0 && seconds < 2 ** 32)
    return seconds
  throw new BadArgument(
    `mtime of gzip() is a date from 1970 to 2106, or its milliseconds, got ${show(mtime)}`,
  )
}

/** In Latin-1, as the format asks, and with a zero at its end. */
function checkText(text: string | undefined, what: string): Buffer {
  if (text === undefined) return Buffer.alloc(0)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: any character of Latin-1 but the one that ends it
  if (typeof text === 'string' && /^[\x01-\xff]*$/.test(text)) return Buffer.from(`${text}\0`, 'latin1')
  throw new BadArgument(`${what} of gzip() is text in Latin-1 without a zero in it, got ${show(text)}`)
}

/** Looks at chunks from the beginning of a gzip file until it has seen the whole header, and tells it. */
export function headerReader(tell: (header: GzipHeader) => void): (chunk: Buffer) => void {
  let seen: Buffer | null = Buffer.alloc(0)
  return (chunk) => {
    if (seen === null) return
    seen = seen.length === 0 ? chunk : Buffer.concat([seen, chunk])
    const header = parse(seen)
    if (header === undefined && seen.length < LONGEST) return
    seen = null
    if (header) tell(header)
  }
}

/** Undefined: more is needed. Null: it is not gzip, which zlib will say better. */
function parse(bytes: Buffer): GzipHeader | undefined | null {
  if (bytes.length < FIXED) return undefined
  if (bytes.readUInt16BE(0) !== 0x1f8b) return null
  const flags = bytes[3] as number
  const seconds = bytes.readUInt32LE(4)
  let at = FIXED
  if (flags & HAS_EXTRA) {
    if (bytes.length < at + 2) return undefined
    at += 2 + bytes.readUInt16LE(at)
  }
  const text = (flag: number): string | undefined | null => {
    if (!(flags & flag)) return undefined
    const end = bytes.indexOf(0, at)
    if (end < 0 || at > bytes.length) return null
    const found = bytes.toString('latin1', at, end)
    at = end + 1
    return found
  }
  const name = text(HAS_NAME)
  const comment = name === null ? null : text(HAS_COMMENT)
  if (name === null || comment === null) return undefined
  if (bytes.length < at + (flags & HAS_CHECK ? 2 : 0)) return undefined
  return {
    ...(name === undefined ? {} : { name }),
    ...(comment === undefined ? {} : { comment }),
    ...(seconds === 0 ? {} : { mtime: new Date(seconds * 1000) }),
  }
}

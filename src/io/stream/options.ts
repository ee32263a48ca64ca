// What reads may be told: limits, separators, sizes; and the checks of it.

import { BadArgument, check, show } from '../../core/index.js'
import { checkCount } from '../checks.js'
import type { Chunk } from './channel.js'
import { ALL } from './read-ops.js'

/** How long a line may be, unless told otherwise. */
export const LINE_LIMIT = 1024 * 1024
/** How much `readAll` takes, unless told otherwise. */
export const READ_LIMIT = 64 * 1024 * 1024

/** What the limits of one read may be. */
export interface LimitOptions {
  /** How many bytes at the most. */
  limit?: number
}

/** How lines are read. */
export interface LineOptions extends LimitOptions {
  /** What ends a line, exactly: a string or bytes, such as `'\0'`. Default: `\n` or `\r\n`. */
  separator?: Chunk
}

/** How a read loop is to read. */
export interface ReadLoopOptions {
  /** How long a chunk may be at the most. */
  max?: number
}

/** The options of a call that was given none. */
export const NO_OPTIONS = {}

/** The text of a call, made only if it is needed: the name of a socket costs a system call. */
type Where = string | (() => string)
function textOf(where: Where): string {
  return typeof where === 'string' ? where : where()
}

export function maxOf(options: ReadLoopOptions, where: Where): number {
  if (options === NO_OPTIONS) return ALL
  const { max = Infinity } = check.options(options, ['max'], textOf(where))
  return max === Infinity ? ALL : checkCount(max, 1, () => `max of ${textOf(where)}`)
}

export function limitOf(options: LimitOptions, usual: number, where: Where, others: string[] = []): number {
  if (options === NO_OPTIONS) return usual
  const { limit = usual } = check.options(options, ['limit', ...others], textOf(where))
  return limit === Infinity ? limit : checkCount(limit, 1, () => `limit of ${textOf(where)}`)
}

/** How lines are read: the limit, and the bytes of the separator if one is given. */
export function checkLineOptions(
  options: LineOptions,
  where: Where,
): { limit: number; separator: Buffer | undefined } {
  const limit = limitOf(options, LINE_LIMIT, where, ['separator'])
  const { separator } = options
  if (separator === undefined) return { limit, separator }
  return { limit, separator: bytesOf(separator, () => `separator of ${textOf(where)}`) }
}

/** The bytes of a delimiter, as a copy. */
export function bytesOf(delimiter: unknown, what: () => string): Buffer {
  const isRight = typeof delimiter === 'string' || delimiter instanceof Uint8Array
  if (isRight && delimiter.length > 0) return Buffer.from(delimiter as string)
  throw new BadArgument(`${what()} must be a string or bytes (Uint8Array), not empty; got ${show(delimiter)}`)
}

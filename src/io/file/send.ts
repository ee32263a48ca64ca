// sendFile: a file, or a range of it, to a stream, with an exact number of bytes. What a web server needs for static files.

import { BadArgument, check, type Op, op, type Routine, show } from '../../core/index.js'
import { checkCount, checkFlag, checkPath } from '../checks.js'
import { IOError, UnexpectedEnd } from '../errors.js'
import { copy, isTarget } from '../stream/copy.js'
import { counted } from '../stream/read-ops.js'
import type { Writer } from '../stream/stream.js'
import type { File } from './file.js'
import { withFile } from './open.js'

/** Which bytes of a file `sendFile` sends. */
export interface SendFileOptions {
  /** The position of the first byte; default 0. */
  start?: number
  /** How many bytes; default: up to the end that the file has when it is opened. */
  length?: number
  /** Whether to end the target after the last byte, as in `copy`; default false. */
  end?: boolean
}

/**
 * Sends a file, or a range of it, to a stream, no faster than the stream takes it, and returns the number of bytes. The file is
 * opened and closed. The number is exact: bytes that are appended meanwhile are not sent, and too few are an error.
 *
 * A range beyond the end of the file is an `IOError` with the code `ERANGE`, before anything is sent. If the file becomes shorter
 * while it is sent, that is an `UnexpectedEnd`.
 *
 * ```ts
 * yield* writeFile('page.txt', 'four and twenty')
 * const target = pipe()
 * console.log(yield* sendFile('page.txt', target, { start: 5, length: 3 })) // 3
 * console.log(yield* sendFile('page.txt', target, { start: 8, end: true })) // 7
 * console.log(`${yield* target.readAll()}`) // and twenty
 * ```
 */
export function sendFile(path: string | URL, target: Writer, options: SendFileOptions = {}): Op<number> {
  const where = checkPath(path, 'sendFile()')
  if (!isTarget(target)) throw new BadArgument(`sendFile() needs a stream to write to, got ${show(target)}`)
  const { start = 0, length, end = false } = check.options(options, ['start', 'length', 'end'], 'sendFile()')
  checkCount(start, 0, 'start of sendFile()')
  if (length !== undefined) checkCount(length, 0, 'length of sendFile()')
  checkFlag(end, 'end of sendFile()')
  const what = `sendFile(${where})`
  return op(what, () =>
    withFile(where, 'r', (file) => send(file, target, { start, length, end }, what), undefined, what),
  )
}

interface Range {
  readonly start: number
  readonly length: number | undefined
  readonly end: boolean
}

function* send(file: File, target: Writer, { start, length, end }: Range, what: string): Routine<number> {
  const stats = yield* file.stat()
  // A device or a pipe has no size, and files of /proc say 0.
  const size = stats.isFile() && stats.size > 0 ? stats.size : Infinity
  if (start + (length ?? 0) > size) throw beyond(what, start, length, size)
  if (start > 0) file.seek(start)
  const wanted = length ?? size - start
  const sent = yield* copy(file, target, { max: wanted })
  if (sent === 0 && size === Infinity && start + (length ?? 0) > 0) throw beyond(what, start, length, 0)
  if (sent < wanted && wanted !== Infinity) {
    throw new UnexpectedEnd(
      `${what}: the file ended after ${sent} of ${counted(wanted, 'byte')}; it became shorter while it was sent`,
    )
  }
  if (end) yield* target.end()
  return sent
}

function beyond(what: string, start: number, length: number | undefined, size: number): IOError {
  const range =
    length === undefined
      ? `for position ${start}`
      : `for ${counted(length, 'byte')} from position ${start} on`
  return new IOError(`${what} failed: the file has ${counted(size, 'byte')}, too few ${range} (ERANGE)`, {
    code: 'ERANGE',
  })
}

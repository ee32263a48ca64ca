// Files as a whole: read, written, appended to in one call. Each opens its file and closes it, however it ends.

import { randomBytes } from 'node:crypto'
import { chmod, read, rename, stat, unlink } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { BadArgument, check, ensure, type Op, op, type Routine, show } from '../../core/index.js'
import { checkMode, checkPath } from '../checks.js'
import { LimitExceeded } from '../errors.js'
import type { Chunk } from '../stream/channel.js'
import { limitOf, READ_LIMIT } from '../stream/options.js'
import { counted } from '../stream/read-ops.js'
import { FileCall } from './call.js'
import type { File } from './file.js'
import { withFile } from './open.js'

/** The most bytes in one read. A fiber that is stopped waits for the end of the read. */
const PART = 4 * 1024 * 1024
/** The size of the first buffer where that of the file is not known. */
const FIRST_GUESS = 64 * 1024

/** How `readFile` reads. */
export interface ReadFileOptions {
  /** The encoding of the text, such as `utf8`: then the result is a string, not bytes. */
  encoding?: BufferEncoding
  /** The most bytes; default: the size of the file, and 64 MiB for what has none, such as a device. */
  limit?: number
}

/** How `writeFile` writes. */
export interface WriteFileOptions {
  /** `w` replaces the contents, `wx` fails if the file exists, `a` appends; default `w`. */
  flag?: 'w' | 'wx' | 'a' | 'ax'
  /** The permissions of a new file; default 0o666. */
  mode?: number
  /** Writes another file beside it, and renames that when it is complete and on the disk: readers see the old contents or the
   * new ones, never a part. */
  atomic?: boolean
}

/**
 * The contents of a file, as bytes or, with an encoding, as text.
 *
 * ```ts
 * yield* writeFile('greeting.txt', 'hello')
 * console.log(yield* readFile('greeting.txt', { encoding: 'utf8' })) // hello
 * console.log((yield* readFile('greeting.txt')).length) // 5
 * ```
 */
export function readFile(
  path: string | URL,
  options: ReadFileOptions & { encoding: BufferEncoding },
): Op<string>
export function readFile(path: string | URL, options?: ReadFileOptions & { encoding?: never }): Op<Buffer>
export function readFile(path: string | URL, options: ReadFileOptions = {}): Op<string | Buffer> {
  const where = checkPath(path, 'readFile()')
  if (typeof options === 'string') {
    throw new BadArgument(`readFile() needs an object of options: { encoding: ${show(options)} }`)
  }
  const { encoding, limit } = check.options(options, ['encoding', 'limit'], 'readFile()')
  if (encoding !== undefined && !Buffer.isEncoding(encoding)) {
    throw new BadArgument(`readFile() has no encoding ${show(encoding)}`)
  }
  if (limit !== undefined) limitOf({ limit }, READ_LIMIT, 'readFile()')
  const what = `readFile(${where})`
  return op(what, function* () {
    const bytes = yield* withFile(where, 'r', (file) => contents(file, limit), undefined, what)
    return encoding === undefined ? bytes : bytes.toString(encoding)
  })
}

function* contents(file: File, limit?: number): Routine<Buffer> {
  const stats = yield* file.stat()
  const { size } = stats
  const most = limit ?? Math.max(size, READ_LIMIT)
  if (!stats.isFile()) return yield* file.readAll({ limit: most })
  let bytes = roomFor(file, size > most ? 0 : size > 0 ? size + 1 : FIRST_GUESS) // one more byte, to see the end
  let length = 0
  for (;;) {
    if (Math.max(length, size) > most) throw tooLarge(file.path, most)
    if (length === bytes.length) bytes = Buffer.concat([bytes], 2 * length)
    const count = yield* readInto(file, bytes, length)
    if (count === 0) break
    length += count
  }
  return length > bytes.length / 2 ? bytes.subarray(0, length) : Buffer.from(bytes.subarray(0, length))
}

function roomFor(file: File, size: number): Buffer {
  try {
    return Buffer.allocUnsafeSlow(size)
  } catch (cause) {
    throw new LimitExceeded(
      `readFile(${file.path}): there is no room for ${counted(size, 'byte')}. Take them as they come with openFile() and readLoop().`,
      { cause },
    )
  }
}

function readInto(file: File, bytes: Buffer, at: number): Op<number> {
  return file.call('read', (fd, done) => read(fd, bytes, at, Math.min(PART, bytes.length - at), null, done))
}

function tooLarge(path: string, most: number): LimitExceeded {
  return new LimitExceeded(
    `readFile(${path}): there are more than ${counted(most, 'byte')}. ` +
      'Give it a higher limit, or take the bytes as they come with openFile() and readLoop().',
  )
}

/**
 * Writes a file and replaces its contents. If the fiber is stopped meanwhile, a part may be written, unless the write is `atomic`.
 *
 * ```ts
 * const path = 'config.json'
 * yield* writeFile(path, JSON.stringify({ port: 8080 }), { atomic: true })
 * console.log(yield* readFile(path, { encoding: 'utf8' })) // {"port":8080}
 * ```
 */
export function writeFile(path: string | URL, data: Chunk, options: WriteFileOptions = {}): Op<void> {
  const where = checkPath(path, 'writeFile()')
  const {
    flag = 'w',
    mode,
    atomic = false,
  } = check.options(options, ['flag', 'mode', 'atomic'], 'writeFile()')
  if (!WRITING.includes(flag)) {
    throw new BadArgument(`writeFile() has no flag ${show(flag)}; there are: ${WRITING.join(', ')}`)
  }
  if (mode !== undefined) checkMode(mode, 'writeFile()')
  checkData(data, 'writeFile()')
  const what = `writeFile(${where})`
  if (!atomic) return op(what, () => withFile(where, flag, (file) => file.write(data), mode, what))
  if (flag !== 'w') throw new BadArgument(`writeFile() cannot be atomic with the flag '${flag}'`)
  return op(what, () => replace(where, data, mode))
}
const WRITING = ['w', 'wx', 'a', 'ax']

/**
 * Adds to the end of a file, which is created if it does not exist.
 *
 * ```ts
 * const path = 'log.txt'
 * yield* writeFile(path, 'one\n')
 * yield* appendFile(path, 'two\n')
 * console.log(yield* readLines(path)) // [ 'one', 'two' ]
 * ```
 */
export function appendFile(path: string | URL, data: Chunk, options: { mode?: number } = {}): Op<void> {
  const where = checkPath(path, 'appendFile()')
  const { mode } = check.options(options, ['mode'], 'appendFile()')
  if (mode !== undefined) checkMode(mode, 'appendFile()')
  checkData(data, 'appendFile()')
  const what = `appendFile(${where})`
  return op(what, () => withFile(where, 'a', (file) => file.write(data), mode, what))
}

function checkData(data: unknown, where: string): void {
  if (typeof data === 'string' || data instanceof Uint8Array) return
  throw new BadArgument(`${where} needs a string or bytes (Uint8Array), got ${show(data)}`)
}

/** The most bytes of a file name. */
const LONGEST_NAME = 255

/** A name beside the file that no other thread has, nor a program that was killed and had the same pid. */
function draftOf(path: string): string {
  const end = `.${randomBytes(6).toString('hex')}.tmp`
  const name = `.${basename(path)}${end}`
  return join(dirname(path), Buffer.byteLength(name) > LONGEST_NAME ? end : name)
}

/** Writes a draft beside the file, then renames it. */
function* replace(path: string, data: Chunk, mode?: number): Routine<void> {
  const draft = draftOf(path)
  let isDraft = false
  yield* ensure(
    function* () {
      const permissions = mode ?? (yield* permissionsOf(path))
      isDraft = true
      yield* withFile(draft, 'wx', (file) => writeWhole(file, data), permissions, `writeFile(${path})`)
      if (permissions !== undefined)
        yield* pathCall('writeFile', path, (done) => chmod(draft, permissions, done))
      yield* pathCall('writeFile', path, (done) => rename(draft, path, done))
      isDraft = false
    },
    function* () {
      if (isDraft) yield* pathCall('writeFile', path, (done) => unlink(draft, () => done(null)))
    },
  )
}

function* writeWhole(file: File, data: Chunk): Routine<void> {
  yield* file.write(data)
  yield* file.sync()
}

/** The permissions of the file that is to be replaced, if there is one. */
function permissionsOf(path: string): Op<number | undefined> {
  return pathCall('writeFile', path, (done) =>
    stat(path, (error, stats) => done(null, error ? undefined : stats.mode & 0o7777)),
  )
}

function pathCall<T>(
  what: string,
  path: string,
  start: (done: (error: unknown, value?: T) => void) => void,
): Op<T> {
  return new FileCall<T>(`${what}(${path})`, start)
}

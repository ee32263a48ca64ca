// Opening a file: two calls into the thread pool, as one wait. A file that is opened when its fiber has left is closed
// (S35).

import { close, closeSync, constants, fstat, open, openSync, type Stats, statSync } from 'node:fs'
import {
  BadArgument,
  check,
  ensure,
  type Op,
  op,
  type Result,
  type Returned,
  type Routine,
  show,
} from '../core/index.js'
import { StreamClosed } from './errors.js'
import { File } from './file.js'
import { FileCall } from './filecall.js'
import type { Done } from './filechannel.js'
import { checkMode, checkPath } from './filepath.js'

/** What a file is opened for, in the words of Node: `r` reads, `w` writes anew, `a` appends, `+` does both, `x` makes a new one. */
export type FileFlags = 'r' | 'r+' | 'w' | 'w+' | 'wx' | 'wx+' | 'a' | 'a+' | 'ax' | 'ax+'
const FLAGS = ['r', 'r+', 'w', 'w+', 'wx', 'wx+', 'a', 'a+', 'ax', 'ax+']

export class OpenCall extends FileCall<File> {
  constructor(path: string, flags: string, mode: number, what = `openFile(${path})`) {
    const opening = new Opening(path, flags)
    super(what, (done) => opening.start(mode, done), {
      discard: (file) => file.destroy(),
      hurry: () => opening.hurry(),
    })
  }
}

class Opening {
  /** Nobody will have it: closed again before the fiber goes on. */
  private isVain = false
  /** The other side of a named pipe, opened by us so that opening this side can end. */
  private otherSide: number | null = null

  constructor(
    private readonly path: string,
    private readonly flags: string,
  ) {}

  start(mode: number, done: Done<File>): void {
    this.isVain = false
    open(this.path, this.flags, mode, (error, fd) => {
      if (this.otherSide !== null) closeSync(this.otherSide)
      this.otherSide = null
      if (error) done(error)
      else fstat(fd, (error, stats) => this.opened(fd, error, stats, done))
    })
  }

  private opened(fd: number, error: unknown, stats: Stats, done: Done<File>): void {
    const { path, flags } = this
    const problem = error ?? (stats.isDirectory() ? isDirectory(path) : null)
    if (problem || this.isVain) {
      close(fd, () => done(problem ?? new StreamClosed(`${path} was opened too late`)))
      return
    }
    const isSeekable = stats.isFile() || stats.isBlockDevice()
    done(null, new File({ path, fd, flags, isSeekable }, stats.isFIFO() || stats.isSocket()))
  }

  /** To open a named pipe is to wait for its other side: in a thread that nothing else can free, not even the end of the
   * process. */
  hurry(): void {
    this.isVain = true
    try {
      if (!statSync(this.path).isFIFO()) return
      this.otherSide ??= openSync(this.path, constants.O_RDWR | constants.O_NONBLOCK)
    } catch {
      // Not ours to open: then the grace is the bound.
    }
  }
}

/** The system lets directories be opened, and refuses to read them. */
function isDirectory(path: string): Error {
  return Object.assign(new Error(`EISDIR: illegal operation on a directory, open '${path}'`), {
    code: 'EISDIR',
    errno: -21,
    syscall: 'open',
    path,
  })
}

/**
 * Opens a file, for reading unless the flags say otherwise. With a body, the file is closed when the body is over,
 * whatever way it ends, and its result is given.
 *
 * ```ts
 * const path = 'example.txt'
 * yield* openFile(path, 'w', (file) => file.write('hello\n'))
 * console.log(yield* openFile(path, 'r', (file) => file.gets())) // hello
 * ```
 */
export function openFile<R>(
  path: string | URL,
  flags: FileFlags,
  body: (file: File) => Returned<R>,
): Op<Result<R>>
/** Opens a file. Close it in an `ensure`, or with `use`; with a body that is done for you. `mode` is for a new file. */
export function openFile(path: string | URL, flags?: FileFlags, mode?: number): Op<File>
export function openFile(path: string | URL, flags: FileFlags = 'r', last: unknown = 0o666): Op<any> {
  const where = checkPath(path, 'openFile()')
  if (!FLAGS.includes(flags)) {
    throw new BadArgument(`openFile() has no flags ${show(flags)}; there are: ${FLAGS.join(', ')}`)
  }
  if (typeof last === 'number') return new OpenCall(where, flags, checkMode(last, 'openFile()'))
  check.body(last, 'openFile()')
  return op(`openFile(${where})`, () => withFile(where, flags, last as (file: File) => unknown))
}

/** A file for as long as a body runs; `what` is what its user called. What has to be done to close it is done, even if the fiber is forced to end (S19). */
export function* withFile<T>(
  path: string,
  flags: string,
  body: (file: File) => Op<T> | T,
  mode = 0o666,
  what?: string,
): Routine<T> {
  const file = yield* new OpenCall(path, flags, mode, what)
  try {
    return (yield* ensure(
      () => body(file) as any,
      () => file.close(),
    )) as T
  } finally {
    file.destroy()
  }
}

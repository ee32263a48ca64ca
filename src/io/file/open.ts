// Opening a file: open and fstat in the thread pool, as one wait. A file without a body belongs to the scope or fiber that opened
// it; one that is opened after its fiber was stopped is closed again (S35).

import { close, closeSync, constants, fstat, open, openSync, type Stats, statSync } from 'node:fs'
import { isatty } from 'node:tty'
import {
  BadArgument,
  check,
  ensure,
  type Fiber,
  type Op,
  op,
  type Result,
  type Returned,
  type Routine,
  show,
} from '../../core/index.js'
import { checkFlag, checkMode, checkPath } from '../checks.js'
import { StreamClosed } from '../errors.js'
import { FileCall } from './call.js'
import type { Done, FileKind } from './channel.js'
import { File } from './file.js'

/** What a file is opened for, as in node:fs: `r` reads, `w` replaces the contents, `a` appends, `+` does both, `x` makes a new one. */
export type FileFlags = 'r' | 'r+' | 'w' | 'w+' | 'wx' | 'wx+' | 'a' | 'a+' | 'ax' | 'ax+'
const FLAGS = ['r', 'r+', 'w', 'w+', 'wx', 'wx+', 'a', 'a+', 'ax', 'ax+']
const NEW_FILE = 0o666

/** How `openFile` opens a file. */
export interface OpenFileOptions {
  /** The permissions of a new file; default 0o666. */
  mode?: number
  /** Whether the file stays open when the scope or fiber that opened it is over: the caller closes it. Default false. */
  detached?: boolean
}

/** Waits for a file, which the caller closes. `what` is the call for the tree and for errors: `readLines(hosts)`. */
export class OpenCall extends FileCall<File> {
  constructor(
    path: string,
    flags: string,
    mode: number,
    what: string,
    give?: (file: File, fiber: Fiber) => void,
  ) {
    super(what, (done) => new Opening(path, flags, mode, done), {
      ...(give && { give }),
      discard: (file) => file.destroy(),
    })
  }
}

/** One attempt to open a file. */
class Opening {
  /** The waiting fiber was stopped: what is opened is closed again. */
  private isStopped = false
  /** The call to open has not returned. */
  private isPending = true
  /** The other side of a named pipe, opened to let the pending open return. */
  private otherSide: number | null = null

  constructor(
    private readonly path: string,
    private readonly flags: string,
    mode: number,
    private readonly done: Done<File>,
  ) {
    open(path, flags, mode, (error, fd) => {
      this.isPending = false
      if (this.otherSide !== null) closeSync(this.otherSide)
      if (error) done(error)
      else fstat(fd, (error, stats) => this.opened(fd, error, stats))
    })
  }

  private opened(fd: number, error: unknown, stats: Stats): void {
    const { path, flags } = this
    if (error || stats.isDirectory()) this.close(fd, error ?? isDirectory(path))
    else if (this.isStopped)
      this.close(fd, new StreamClosed(`${path} was closed: the wait for it was stopped`))
    else {
      let file: File
      try {
        file = new File({ path, fd, flags, kind: kindOf(fd, stats) })
      } catch (error) {
        this.close(fd, error) // Node cannot use it
        return
      }
      this.done(null, file)
    }
  }

  private close(fd: number, why: unknown): void {
    close(fd, () => this.done(why))
  }

  /** To open a named pipe is to wait for its other side, in a thread that nothing else can free, not even the exit of the process. */
  hurry(): void {
    this.isStopped = true
    if (!this.isPending) return
    try {
      if (!statSync(this.path).isFIFO()) return
      this.otherSide ??= openSync(this.path, constants.O_RDWR | constants.O_NONBLOCK)
    } catch {
      // Its permissions do not allow it: then the grace is the bound.
    }
  }
}

function kindOf(fd: number, stats: Stats): FileKind {
  if (stats.isFile() || stats.isBlockDevice()) return 'disk'
  if (stats.isFIFO() || stats.isSocket()) return 'pipe'
  return isatty(fd) ? 'terminal' : 'device'
}

/** The system opens directories for reading, and then refuses each read. */
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
 * however it ends, and the result is that of the body.
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
/**
 * Opens a file. It belongs to the innermost `scope`, or else to the fiber, that opens it, and is closed with it, however that
 * ends; `close()` closes it before. A file for another fiber, or for longer, is opened with `detached: true`: then
 * the caller closes it. A number instead of the options is the `mode`.
 *
 * ```ts
 * let file: File | undefined
 * yield* scope(function* () {
 *   file = yield* openFile('notes.txt', 'w', { mode: 0o600 })
 *   yield* file.write('one\n')
 * })
 * console.log(file?.isClosed) // true
 * ```
 */
export function openFile(path: string | URL, flags?: FileFlags, options?: OpenFileOptions | number): Op<File>
export function openFile(path: string | URL, flags: FileFlags = 'r', last: unknown = {}): Op<any> {
  const where = checkPath(path, 'openFile()')
  if (!FLAGS.includes(flags)) {
    throw new BadArgument(`openFile() has no flags ${show(flags)}; there are: ${FLAGS.join(', ')}`)
  }
  const what = `openFile(${where})`
  const { mode, detached } = readOptions(last)
  if (mode !== undefined) return new OpenCall(where, flags, mode, what, detached ? undefined : belongTo)
  check.body(last, 'openFile()')
  return op(what, () => withFile(where, flags, last as (file: File) => unknown, undefined, what))
}

/** The options of `openFile`; no mode if its last argument is a body. */
function readOptions(last: unknown): { mode?: number; detached?: boolean } {
  if (typeof last === 'number') return { mode: checkMode(last, 'openFile()') }
  if (!isOptions(last)) return {}
  const { mode = NEW_FILE, detached = false } = check.options(
    last as OpenFileOptions,
    ['mode', 'detached'],
    'openFile()',
  )
  checkFlag(detached, 'detached of openFile()')
  return { mode: checkMode(mode, 'openFile()'), detached }
}

/** Whether an argument that may be a body is an object of options. An op or a generator is a mistake, and no options. */
export function isOptions(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !(Symbol.iterator in value) && !('next' in value)
}

function belongTo(file: File, fiber: Fiber): void {
  file.ownedBy(fiber)
}

/** A file for as long as a body runs. It is closed even if the fiber is forced to end (S19). */
export function* withFile<T>(
  path: string,
  flags: string,
  body: (file: File) => Op<T> | T,
  mode = NEW_FILE,
  what = `openFile(${path})`,
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

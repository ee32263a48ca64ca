// Files as streams, and what a file can do besides. How they are opened is in openfile.ts, how they work in filechannel.ts.

import { fstat, fsync, ftruncate, type Stats } from 'node:fs'
import { BadArgument, type Op, show } from '../core/index.js'
import { StreamClosed } from './errors.js'
import { FileCall } from './filecall.js'
import { type Done, FileChannel, type Opened } from './filechannel.js'
import { PipeChannel } from './filepipe.js'
import { Stream } from './stream.js'

/**
 * An open file: a stream with a place in it. What is read or written next is at `position`, which moves on as it is; only
 * what is appended (flags `a`) goes to the end and leaves the place as it is. The end of a file is not for ever: when it
 * has grown, reading goes on.
 *
 * A write has happened when its wait is over, and its error is thrown there. Who is stopped in one waits for its end
 * (S35).
 *
 * ```ts
 * const file = yield* openFile('notes.txt', 'w+')
 * yield* file.write('one\n', 'two\n')
 * file.seek(0)
 * console.log(yield* file.gets(), file.position) // one 4
 * yield* file.close()
 * ```
 */
export class File extends Stream {
  /** Where it is, as it was given to `openFile`. */
  readonly path: string
  /** The number that the system knows it by. */
  readonly fd: number

  /** @internal */
  constructor(opened: Opened, isPipe: boolean) {
    super((stream) =>
      isPipe ? new PipeChannel(opened, stream) : new FileChannel(opened, stream as unknown as File),
    )
    this.path = opened.path
    this.fd = opened.fd
  }

  /** Where the next bytes are read, and written. Pipes and devices have no place. */
  get position(): number {
    return (this.channel as FileChannel).placeBefore(this.stats().unread)
  }

  /** Goes to another place. Never waits; what is written already is not touched. */
  seek(position: number): void {
    if (!Number.isSafeInteger(position) || position < 0) {
      throw new BadArgument(
        `${this.path}.seek() needs a whole number of bytes, 0 or more, got ${show(position)}`,
      )
    }
    if (this.isClosed) throw this.closedError('seek')
    ;(this.channel as FileChannel).seek(position)
  }

  /** What the system knows of it: size, times, permissions. */
  stat(): Op<Stats> {
    return this.call('stat', (fd, done) => fstat(fd, done))
  }

  /** Cuts it off, or fills it up with zeros, at this length. The place stays. */
  truncate(length = 0): Op<void> {
    if (!Number.isSafeInteger(length) || length < 0) {
      throw new BadArgument(
        `${this.path}.truncate() needs a whole number of bytes, 0 or more, got ${show(length)}`,
      )
    }
    return this.call('truncate', (fd, done) => {
      ;(this.channel as FileChannel).forgetRead()
      ftruncate(fd, length, done)
    })
  }

  /** Goes on when all that was written is on the disk, and would survive a loss of power. */
  sync(): Op<void> {
    return this.call('sync', (fd, done) => fsync(fd, done))
  }

  /** @internal Other work with the file. */
  call<T>(what: string, start: (fd: number, done: Done<T>) => void): Op<T> {
    return new FileCall<T>(`${this.path}.${what}()`, (done) => {
      if (this.isClosed) throw this.closedError(what)
      ;(this.channel as FileChannel).perform(start, done)
    })
  }

  private closedError(what: string): StreamClosed {
    return new StreamClosed(`${this.path}.${what}() came too late: the file is closed`)
  }
}

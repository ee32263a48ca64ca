// Files as streams, with a position, and other calls of node:fs. How they are opened is in open.ts; the channels beneath are in
// channel.ts and event-channel.ts.

import { fstat, fsync, ftruncate, type Stats } from 'node:fs'
import { BadArgument, type Op, show } from '../../core/index.js'
import { StreamClosed } from '../errors.js'
import { Stream } from '../stream/stream.js'
import { FileCall } from './call.js'
import { type Done, FileChannel, type Opened } from './channel.js'
import { EventChannel } from './event-channel.js'

/**
 * An open file: a stream with a position. The next read or write begins at `position` and moves it; only appending (flags `a`)
 * writes at the end and leaves the position as it is. The end of a file is not final: when the file has grown, reading
 * goes on.
 *
 * A write is done when its wait is over, and its error is thrown there. A fiber that is stopped in a write waits for its end
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
  /** The path that was given to `openFile`. */
  readonly path: string
  /** The descriptor of the system. */
  readonly fd: number

  /** @internal */
  constructor(opened: Opened) {
    const { path, fd, kind } = opened
    const isPatient = kind === 'disk' || kind === 'device'
    super((stream) =>
      isPatient ? new FileChannel(opened, stream as unknown as File) : new EventChannel(opened, stream),
    )
    this.path = path
    this.fd = fd
  }

  /** Where the next read or write begins. Pipes, terminals and devices have no position. */
  get position(): number {
    return (this.channel as FileChannel).positionBefore(this.stats().unread)
  }

  /** Changes the position. Never waits, and changes no byte of the file. */
  seek(position: number): void {
    if (!Number.isSafeInteger(position) || position < 0) {
      throw new BadArgument(
        `${this.path}.seek() needs a whole number of bytes, 0 or more, got ${show(position)}`,
      )
    }
    if (this.isClosed) throw this.closedError('seek')
    ;(this.channel as FileChannel).seek(position)
  }

  /** Size, times and permissions, as `fs.fstat` gives them. */
  stat(): Op<Stats> {
    return this.call('stat', (fd, done) => fstat(fd, done))
  }

  /** Shortens the file to this length, or extends it with zeros. The position stays. */
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

  /** Waits until all that was written is on the disk and would survive a loss of power. */
  sync(): Op<void> {
    return this.call('sync', (fd, done) => fsync(fd, done))
  }

  /** @internal Another call of node:fs with this file. */
  call<T>(what: string, start: (fd: number, done: Done<T>) => void): Op<T> {
    return new FileCall<T>(`${this.path}.${what}()`, (done) => {
      if (this.isClosed) throw this.closedError(what)
      ;(this.channel as FileChannel).perform({ what, start, done })
    })
  }

  private closedError(what: string): StreamClosed {
    return new StreamClosed(`${this.path}.${what}() failed: the file is closed`)
  }
}

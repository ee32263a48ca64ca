// A file as a channel. Node does file work in its thread pool and calls back when it is done. One operation runs at a time, in
// this order of precedence: pending writes, other calls (stat, sync ...), the close, reading ahead. What may block for ever
// in a thread, a named pipe or a terminal, is not read here but by the event loop: event-channel.ts.
//
//   position                    where the next bytes are read from the disk, beyond the unread bytes of the stream
//   position - unread           the position that the caller sees: the next read or write begins there
//
// Bytes that were read ahead are dropped when the position changes: by a seek, or by a write there.

import { close, read, writev } from 'node:fs'
import { BadState } from '../../core/index.js'
import { StreamClosed } from '../errors.js'
import { BaseChannel, type Chunk, type Receiver } from '../stream/channel.js'

/** Bytes per read: few at first, more after several full reads, since each read is a round trip to a thread. */
const LITTLE = 64 * 1024
const MUCH = 256 * 1024
/** The number of full reads in a row before reads become large. */
const FULL_READS = 4

/** Buffers for the next reads, small and large ones. Beyond this number they are left to the garbage collector. */
const spare: Record<number, Buffer[]> = { [LITTLE]: [], [MUCH]: [] }
const MOST_SPARE = 8
/** The memory that files read into. Chunks that were copied lie in other memory, which they share with bytes of other streams. */
const fileMemory = new WeakSet<ArrayBufferLike>()

function bufferOf(size: number): Buffer {
  const kept = spare[size]?.pop()
  if (kept !== undefined) return kept
  const buffer = Buffer.allocUnsafeSlow(size)
  fileMemory.add(buffer.buffer)
  return buffer
}

function recycle({ buffer }: Buffer): void {
  const kept = fileMemory.has(buffer) ? (spare[buffer.byteLength] as Buffer[]) : null
  if (kept !== null && kept.length < MOST_SPARE) kept.push(Buffer.from(buffer))
}
/** The most pieces that the system takes in one write. */
const MAX_PIECES = 1024

/** The thread's work. `soon`: a write begins at the end of the turn, so that what is written in one turn goes together. */
type Work = 'idle' | 'soon' | 'busy'

/** How far the end of the file has come: `ending` and `ended` are about writing, `closed` begins with the system's close. */
type Phase = 'open' | 'ending' | 'ended' | 'closing' | 'closed'

/** What a path leads to. A `device` is one that never blocks, such as /dev/null; only a `disk` file has positions. */
export type FileKind = 'disk' | 'device' | 'pipe' | 'terminal'

/** How a file was opened. */
export interface Opened {
  readonly path: string
  readonly fd: number
  /** The flags that were given. */
  readonly flags: string
  readonly kind: FileKind
}

/** What the channel of a file calls. */
export interface FileReceiver extends Receiver {
  /** Drops what was received and not yet taken. Returns the number of bytes. */
  forgetUnread(): number
  /** Sets the function that takes back chunks that were used up. */
  recycle(recycle: (chunk: Buffer) => void): void
}

/** The callback of a call of node:fs. */
export type Done<T> = (error: unknown, value?: T) => void

/** A call of node:fs with this file, such as fstat. */
export interface Task<T> {
  /** For errors: `stat`. */
  readonly what: string
  readonly start: (fd: number, done: Done<T>) => void
  readonly done: Done<T>
}

interface Piece {
  bytes: Uint8Array
  /** Where it is written; null: at the end of the file, or wherever the device is. */
  position: number | null
  /** Its length when it was handed over, in bytes or characters. */
  readonly length: number
}

export class FileChannel extends BaseChannel {
  private work: Work = 'idle'
  private phase: Phase = 'open'
  /** The stream wants bytes. */
  private isWanted = false
  private position = 0
  /** Counts the changes of position: the bytes of a read that began before one are dropped. */
  private moves = 0
  private movesBeforeRead = 0
  override readAhead = LITTLE
  /** How many reads in a row were full. */
  private fullReads = 0
  private buffer: Buffer = NO_BYTES
  private outbox: Piece[] = []
  /** The pieces that are being written. */
  private batch: Piece[] = []
  /** How many bytes and characters have been written so far. */
  private written = 0
  private readonly tasks: Task<any>[] = []
  /** The error of a write that no fiber waited for. The close reports it. */
  private unreported: unknown

  constructor(
    private readonly file: Opened,
    private readonly receiver: FileReceiver,
  ) {
    super()
    receiver.recycle(recycle)
  }

  get name(): string {
    return this.file.path
  }

  private get isSeekable(): boolean {
    return this.file.kind === 'disk'
  }

  // The position

  /** The position that the caller sees, given the number of unread bytes. */
  positionBefore(unread: number): number {
    this.checkSeekable('position')
    return this.position - unread
  }

  seek(position: number): void {
    this.checkSeekable('seek()')
    this.forgetRead()
    this.position = position
    this.fullReads = 0
  }

  private checkSeekable(what: string): void {
    if (!this.isSeekable) throw hasNo(what, this.file)
  }

  /** Bytes that were read ahead, or are being read, must be read again. */
  forgetRead(): void {
    if (!this.isSeekable) return
    this.position -= this.receiver.forgetUnread()
    this.moves++
  }

  // Reading

  resume(): void {
    if (!canRead(this.file.flags)) throw this.wrongFlags('read from')
    this.isWanted = true
    this.next()
  }

  pause(): void {
    this.isWanted = false
  }

  private readOn(): void {
    this.work = 'busy'
    this.movesBeforeRead = this.moves
    const size = this.fullReads < FULL_READS ? LITTLE : MUCH
    this.readAhead = 2 * size // one chunk is read while the other is used
    this.buffer = bufferOf(size)
    read(this.file.fd, this.buffer, 0, size, this.isSeekable ? this.position : null, this.didRead)
  }

  private readonly didRead = (error: unknown, count: number): void => {
    const { buffer, receiver } = this
    this.work = 'idle'
    this.buffer = NO_BYTES
    let isTaken = false
    if (!this.isClosing && this.movesBeforeRead === this.moves) {
      isTaken = !error && count >= buffer.length / 2 // fewer bytes are copied
      this.fullReads = count === buffer.length ? this.fullReads + 1 : 0
      if (error || count === 0) this.isWanted = false
      if (error) receiver.failed(error)
      else if (count === 0) receiver.ended()
      else {
        this.position += count
        if (!receiver.received(buffer.subarray(0, count), isTaken)) this.isWanted = false
      }
    }
    if (!isTaken) recycle(buffer)
    this.next()
  }

  // Writing

  /** Always answers false: each write is waited for, so that its error is thrown there. */
  write(chunk: Chunk): boolean {
    const { flags } = this.file
    if (!canWrite(flags)) throw this.wrongFlags('written to')
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
    let position: number | null = null
    if (this.isSeekable && !flags.startsWith('a')) {
      this.forgetRead()
      position = this.position
      this.position += bytes.length
    }
    this.outbox.push({ bytes, position, length: chunk.length })
    if (this.work === 'idle') {
      this.work = 'soon'
      process.nextTick(this.begin)
    }
    return false
  }

  private readonly begin = (): void => {
    this.work = 'idle'
    this.next()
  }

  /** Writes as many pieces as follow each other. */
  private writeOut(): void {
    const { outbox } = this
    const [first] = outbox as [Piece]
    let count = 1
    let end = (first.position ?? 0) + first.bytes.length
    for (; count < Math.min(outbox.length, MAX_PIECES); count++) {
      const { position, bytes } = outbox[count] as Piece
      if (position !== null && position !== end) break
      end += bytes.length
    }
    this.batch = outbox.splice(0, count)
    this.writeBatch()
  }

  private writeBatch(): void {
    const { batch } = this
    this.work = 'busy'
    const pieces = batch.map(({ bytes }) => bytes)
    writev(this.file.fd, pieces, (batch[0] as Piece).position as number, this.didWrite)
  }

  private readonly didWrite = (error: unknown, count: number): void => {
    const { batch } = this
    this.work = 'idle'
    if (error || count === 0) {
      this.failedToWrite(error ?? new Error('the system took nothing'))
      return
    }
    let left = count
    for (let piece = batch[0]; piece !== undefined && left >= piece.bytes.length; piece = batch[0]) {
      left -= piece.bytes.length
      this.written += piece.length
      batch.shift()
    }
    if (batch.length > 0) {
      const piece = batch[0] as Piece // the system took only a part
      piece.bytes = piece.bytes.subarray(left)
      if (piece.position !== null) piece.position += left
      this.writeBatch()
      return
    }
    this.next()
    this.receiver.drained(this.written)
  }

  /** Drops what could not be written and what was to follow it. The position is that of the first byte that was not written. */
  private failedToWrite(error: unknown): void {
    const lost = [...this.batch, ...this.outbox]
    const { position } = lost[0] as Piece
    this.batch = []
    this.outbox = []
    this.receiver.drained(this.written)
    for (const { length } of lost) this.written += length
    if (position !== null) this.seek(position)
    if (!this.receiver.refused(error)) {
      this.unreported ??= error
      this.receiver.failed(error)
    }
    this.next()
  }

  private wrongFlags(done: string): BadState {
    return new BadState(`${this.name} cannot be ${done}: ${openedFor(this.file.flags)}`)
  }

  // Other calls

  /** Makes another call with the file, in its turn. */
  perform(task: Task<any>): void {
    this.tasks.push(task)
    this.next()
  }

  private performNext(): void {
    const { start, done } = this.tasks.shift() as Task<any>
    this.work = 'busy'
    start(this.file.fd, (error, value) => {
      this.work = 'idle'
      this.next()
      done(error, value)
    })
  }

  private next(): void {
    if (this.work !== 'idle') return
    if (this.outbox.length > 0) {
      this.writeOut()
      return
    }
    if (this.phase === 'ending') this.tellEnd()
    if (this.work !== 'idle') return // a tap listener that heard of the end may have closed the file
    if (this.tasks.length > 0) this.performNext()
    else if (this.phase === 'closing') this.closeNow()
    else if (this.isWanted) this.readOn()
  }

  // The end

  private get isClosing(): boolean {
    return this.phase === 'closing' || this.phase === 'closed'
  }

  end(): void {
    this.phase = 'ending'
    this.next()
  }

  private tellEnd(): void {
    this.phase = 'ended'
    this.receiver.finished()
  }

  close(): void {
    this.phase = 'closing'
    this.next()
  }

  /** A call that is under way cannot be cancelled; the file is closed after it. */
  destroy(): void {
    if (this.phase !== 'closed') this.phase = 'closing'
    this.outbox = []
    for (const { what, done } of this.tasks.splice(0)) {
      done(new StreamClosed(`${this.name}.${what}() failed: the file was closed before it began`))
    }
    this.next()
  }

  private closeNow(): void {
    this.phase = 'closed'
    this.work = 'busy'
    this.receiver.finished() // all is written: a fiber in end() goes on, also if the close came before that
    close(this.file.fd, (error) => this.receiver.closed(error ?? this.unreported))
  }
}
Object.assign(FileChannel.prototype, { isPatient: true, canGrow: true })

const NO_BYTES = Buffer.alloc(0)

export function canRead(flags: string): boolean {
  return flags.startsWith('r') || flags.includes('+')
}
export function canWrite(flags: string): boolean {
  return !flags.startsWith('r') || flags.includes('+')
}

/** There is no position in a device, a pipe or a terminal. */
export function hasNo(what: string, { path, kind }: Opened): BadState {
  return new BadState(`${path} has no ${what}: it is a ${kind}, not a file on a disk`)
}

/** Why a file cannot be read from, or not be written to. */
export function openedFor(flags: string): string {
  return `it was opened with '${flags}', for ${canRead(flags) ? 'reading' : 'writing'} only`
}

// A file as a channel. Node does file work in its thread pool and tells when it is done, so there is one operation at a time:
// what was written goes first, then what else was asked of the file, then reading, ahead of who reads.
//
//   position                    where the next bytes are read from the disk, beyond those that wait in the stream
//   position - unread           where the file is for its user: what is read or written next is there
//
// Bytes that were read ahead are forgotten when the place changes: by a seek, or because something is written there.

import { close, read, writev } from 'node:fs'
import { BadState } from '../core/index.js'
import { BaseChannel, type Chunk, type Receiver } from './channel.js'
import { StreamClosed } from './errors.js'

/** How much is read at once: little at first, more once it is clear that much is wanted, for each read is a trip to a thread. */
const LITTLE = 64 * 1024
const MUCH = 256 * 1024
/** So many reads must come back full before. */
const PATIENCE = 4

/** Buffers for the next reads, small and large ones; more than these are left to the garbage. */
const spare: Record<number, Buffer[]> = { [LITTLE]: [], [MUCH]: [] }
const MOST_SPARE = 8
function recycle({ buffer }: Buffer): void {
  const kept = spare[buffer.byteLength]
  if (kept !== undefined && kept.length < MOST_SPARE) kept.push(Buffer.from(buffer))
}
/** The system takes so many pieces at once. */
const MAX_PIECES = 1024

// What is underway.
const NOTHING = 0
/** A write begins when the turn is over: what is written in one turn goes together. */
const SOON = 1
const WORKING = 2

// How far it has come.
const OPEN = 0
const CLOSING = 1

/** How a file was opened. */
export interface Opened {
  readonly path: string
  readonly fd: number
  /** The flags that were given. */
  readonly flags: string
  /** Whether it has places: a device may have none. */
  readonly isSeekable: boolean
}

/** Who hears from the channel of a file. */
export interface FileReceiver extends Receiver {
  /** Forgets what has come and was not yet taken. Gives how many bytes that were. */
  forgetUnread(): number
  /** Chunks that were used up are given back. */
  recycle(recycle: (chunk: Buffer) => void): void
}

/** The end of a piece of work, as Node tells it. */
export type Done<T> = (error: unknown, value?: T) => void

interface Piece {
  bytes: Uint8Array
  /** Where it goes; null: to the end, or wherever the device is. */
  position: number | null
  /** How long it was when it was handed over, in bytes or characters. */
  readonly length: number
}

export class FileChannel extends BaseChannel {
  private position = 0
  /** Counts the changes of place: a read that began before one is not wanted any more. */
  private place = 0
  private placeOfRead = 0
  private underway = NOTHING
  private stage = OPEN
  /** Somebody waits until all is written, which was the last. */
  private isEnding = false
  private isWanted = false
  override readAhead = LITTLE
  /** How many reads in a row came back full. */
  private fullReads = 0
  private buffer: Buffer = NO_BYTES
  private outbox: Piece[] = []
  private batch: Piece[] = []
  /** How many bytes and characters have been written so far. */
  private written = 0
  private readonly tasks: { start: (fd: number, done: Done<any>) => void; done: Done<any> }[] = []
  /** What went wrong when nobody waited for it. Closing tells. */
  private untold: unknown

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

  // The place

  /** Where the file is, given that so many bytes wait to be read. */
  placeBefore(unread: number): number {
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
    if (this.file.isSeekable) return
    throw new BadState(`${this.name} has no ${what}: it is no file on a disk, but a device or a pipe`)
  }

  /** Bytes that were read ahead, or are just being, must be read anew. */
  forgetRead(): void {
    if (!this.file.isSeekable) return
    this.position -= this.receiver.forgetUnread()
    this.place++
  }

  // Reading

  resume(): void {
    const { flags } = this.file
    if (!canRead(flags)) throw new BadState(wrongFlags(this.file, 'read', 'writing'))
    this.isWanted = true
    this.next()
  }

  pause(): void {
    this.isWanted = false
  }

  private readOn(): void {
    const { fd, isSeekable } = this.file
    this.underway = WORKING
    this.placeOfRead = this.place
    const size = this.fullReads < PATIENCE ? LITTLE : MUCH
    this.readAhead = 2 * size // one chunk is read while the other is used
    this.buffer = spare[size]?.pop() ?? Buffer.allocUnsafeSlow(size)
    read(fd, this.buffer, 0, size, isSeekable ? this.position : null, this.didRead)
  }

  private readonly didRead = (error: unknown, count: number): void => {
    const { buffer, receiver } = this
    this.underway = NOTHING
    this.buffer = NO_BYTES
    let isTaken = false
    if (this.stage < CLOSING && this.placeOfRead === this.place) {
      isTaken = !error && count >= buffer.length / 2 // fewer are copied
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

  /** Always has to be waited for: an error is told where it was written. */
  write(chunk: Chunk): boolean {
    const { isSeekable, flags } = this.file
    if (!canWrite(flags)) throw new BadState(wrongFlags(this.file, 'write', 'reading'))
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
    let position: number | null = null
    if (isSeekable && !flags.startsWith('a')) {
      this.forgetRead()
      position = this.position
      this.position += bytes.length
    }
    this.outbox.push({ bytes, position, length: chunk.length })
    if (this.underway === NOTHING) {
      this.underway = SOON
      process.nextTick(this.begin)
    }
    return false
  }

  private readonly begin = (): void => {
    this.underway = NOTHING
    this.next()
  }

  /** As many pieces as follow each other. */
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
    this.underway = WORKING
    const pieces = batch.map(({ bytes }) => bytes)
    writev(this.file.fd, pieces, (batch[0] as Piece).position as number, this.didWrite)
  }

  private readonly didWrite = (error: unknown, count: number): void => {
    const { batch } = this
    this.underway = NOTHING
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

  /** What could not be written is dropped, and so is what was to follow it. The file is where writing came to its end. */
  private failedToWrite(error: unknown): void {
    const lost = [...this.batch, ...this.outbox]
    const { position } = lost[0] as Piece
    this.batch = []
    this.outbox = []
    this.receiver.drained(this.written)
    for (const { length } of lost) this.written += length
    if (position !== null) this.seek(position)
    if (!this.receiver.refused(error)) {
      this.untold ??= error
      this.receiver.failed(error)
    }
    this.next()
  }

  // Other work

  /** Does something else with the file, in its turn. */
  perform<T>(start: (fd: number, done: Done<T>) => void, done: Done<T>): void {
    this.tasks.push({ start, done })
    this.next()
  }

  private performNext(): void {
    const { start, done } = this.tasks.shift() as (typeof this.tasks)[0]
    this.underway = WORKING
    start(this.file.fd, (error, value) => {
      this.underway = NOTHING
      this.next()
      done(error, value)
    })
  }

  private next(): void {
    if (this.underway !== NOTHING) return
    if (this.isEnding && this.outbox.length === 0) {
      this.isEnding = false
      this.receiver.finished()
    }
    if (this.outbox.length > 0) this.writeOut()
    else if (this.tasks.length > 0) this.performNext()
    else if (this.stage === CLOSING) this.closeNow()
    else if (this.isWanted) this.readOn()
  }

  // The end

  end(): void {
    this.isEnding = true
    this.next()
  }

  close(): void {
    this.stage = CLOSING
    this.next()
  }

  /** What is underway cannot be called back; the file is closed after it. */
  destroy(): void {
    this.stage = CLOSING
    this.outbox = []
    for (const { done } of this.tasks.splice(0)) done(new StreamClosed(`${this.name} was closed`))
    this.next()
  }

  private closeNow(): void {
    this.underway = WORKING // for good
    close(this.file.fd, (error) => this.receiver.closed(error ?? this.untold))
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

function wrongFlags({ path, flags }: Opened, verb: string, purpose: string): string {
  return `${path} cannot be ${verb === 'read' ? 'read from' : 'written to'}: it was opened with '${flags}', for ${purpose} only`
}

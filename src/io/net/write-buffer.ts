// What waits to be sent on a socket. What is written in one turn is sent together.
//
//   write(small)  ->  arena or outbox  --at the end of the turn-->  one write
//   write(large)  ->  what waits and the chunk, one write; not copied, so the writer waits until it is taken
//
// Small chunks are copied into the arena, one socket's behind the other's. Most are sent as soon as they are handed to Node, and
// the place is free again; if one is not, Node keeps that arena and another takes its place. A socket has a buffer only while it has
// something to send; idle buffers wait in a pool.

import type { Socket as NetSocket } from 'node:net'
import { runningFiber } from '../../core/index.js'
import type { Chunk } from '../stream/channel.js'

/** Bytes of this length and more are not copied. */
const LARGE = 4096
/** How many bytes may wait to be sent before a writer has to wait. */
const ROOM = 64 * 1024
const ARENA = 16 * 1024
const NOTHING = Buffer.alloc(0)
/** How many buffers are kept for sockets to come. */
const MOST_IDLE = 256

let arena = Buffer.allocUnsafeSlow(ARENA)
let used = 0
/** The view of it that was sent last: messages of a protocol are often equally long. */
let lastView = arena

/** What a buffer needs to know of its channel. */
export interface Sender {
  readonly socket: NetSocket
  /** The buffer, while there is something to send. */
  buffer: WriteBuffer | null
  /** Whether it has kept an arena once: it gets memory of its own from then on. */
  isSlow: boolean
  /** All is sent. */
  drained(): void
}

export class WriteBuffer {
  /** What waits to be sent, if it is not in the arena. */
  private outbox: Chunk | Chunk[] | null = null
  /** What waits in the arena: nothing if they are equal. */
  private from = 0
  private to = 0
  /** The length of all that waits. */
  waiting = 0
  /** Whether it is in the list of those that are flushed when the turn is over. */
  private isListed = false
  /** Whether a write was answered with false: `drained` follows when everything is sent. */
  private isFull = false

  private constructor(private sender: Sender) {}

  /** The buffer of a sender. */
  static of(sender: Sender): WriteBuffer {
    let { buffer } = sender
    if (buffer === null) {
      buffer = idle.pop() ?? new WriteBuffer(sender)
      buffer.sender = sender
      sender.buffer = buffer
    }
    return buffer
  }

  write(chunk: Chunk): boolean {
    if (typeof chunk === 'string') this.put(chunk)
    else if (chunk.length >= LARGE) return this.writeLarge(chunk)
    else if (!this.copy(chunk)) this.put(Buffer.from(chunk))
    this.waiting += chunk.length
    if (!this.isListed) {
      this.isListed = true
      flushSoon(this)
    }
    if (this.waiting + this.sender.socket.writableLength >= ROOM) this.isFull = true
    return !this.isFull
  }

  private writeLarge(chunk: Uint8Array): boolean {
    const { socket } = this.sender
    let isBorrowed = false
    if (this.waiting === 0) socket.write(chunk)
    else {
      socket.cork()
      isBorrowed = this.handOver()
      socket.write(chunk)
      socket.uncork()
    }
    if (socket.writableLength === 0) {
      const isOpen = !this.isFull
      this.release()
      return isOpen
    }
    if (isBorrowed) this.keepArena()
    this.isFull = true
    socket.write(NOTHING, this.sent)
    return false
  }

  /** Copies into the arena, behind what this socket has there. False if that cannot be. */
  private copy(chunk: Uint8Array): boolean {
    const { length } = chunk
    if (this.outbox !== null || this.sender.isSlow || used + length > ARENA) return false
    if (this.from === this.to) this.from = used
    else if (this.to !== used) return false // another socket's bytes are behind
    arena.set(chunk, used)
    this.to = used += length
    return true
  }

  private put(chunk: Chunk): void {
    const { outbox } = this
    if (this.from < this.to) this.outbox = [Buffer.from(this.stretch()), chunk]
    else if (outbox === null) this.outbox = chunk
    else if (typeof outbox === 'string' && typeof chunk === 'string') this.outbox = outbox + chunk
    else if (Array.isArray(outbox)) outbox.push(chunk)
    else this.outbox = [outbox, chunk]
  }

  /** What waits in the arena; it is handed over, or copied. */
  private stretch(): Buffer {
    const { from, to } = this
    this.from = this.to = 0
    if (from !== 0) return arena.subarray(from, to)
    if (lastView.length !== to) lastView = arena.subarray(0, to)
    return lastView
  }

  /** Hands everything to Node. */
  flush(): void {
    const { socket } = this.sender
    if (this.waiting > 0 && this.handOver() && socket.writableLength > 0) this.keepArena()
    this.release()
  }

  /** The turn is over. */
  turnOver(): void {
    this.isListed = false
    this.flush()
  }

  /** Hands to Node what waits. Whether that lies in the arena. */
  private handOver(): boolean {
    const { outbox } = this
    const { socket } = this.sender
    this.outbox = null
    this.waiting = 0
    const chunk = outbox === null ? this.stretch() : Array.isArray(outbox) ? joined(outbox) : outbox
    if (this.isFull)
      socket.write(chunk, this.sent) // a fiber waits for it
    else socket.write(chunk)
    return outbox === null
  }

  private keepArena(): void {
    this.sender.isSlow = true
    const old = arena
    arena = Buffer.allocUnsafeSlow(ARENA)
    arena.set(old.subarray(0, used)) // of other sockets, not handed over yet
    lastView = arena
  }

  /** For a write that a fiber waits for. One that went wrong is told by what comes next: the error, or the close. */
  private readonly sent = (error?: Error | null): void => {
    const { sender } = this
    if (error || !this.isFull || this.waiting > 0 || sender.socket.writableLength > 0) return
    this.isFull = false
    this.release()
    sender.drained()
  }

  /** What was not sent is lost. */
  drop(): void {
    this.outbox = null
    this.from = this.to = this.waiting = 0
    if (this.isFull)
      this.sender.buffer = null // Node may still call back: this one is not used again
    else this.release()
  }

  /** Back to the pool, unless something is still to be done. */
  private release(): void {
    if (this.isListed || this.isFull || this.waiting > 0) return
    this.sender.buffer = null
    if (idle.length < MOST_IDLE) idle.push(this)
  }
}

const idle: WriteBuffer[] = []

function joined(chunks: Chunk[]): Buffer {
  return Buffer.concat(chunks.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)))
}

let listed: WriteBuffer[] = []

/** When the run queue is empty, or, outside of a turn, when this tick of Node is over. */
function flushSoon(buffer: WriteBuffer): void {
  if (listed.push(buffer) > 1) return
  if (runningFiber()?.runtime.afterTurn(flushAll) !== true) process.nextTick(flushAll)
}

function flushAll(): void {
  const all = listed
  listed = []
  for (const buffer of all) buffer.turnOver()
  if (listed.length === 0) used = 0
}

// What sockets do with what is written to them. What is written in one turn is sent together.
//
//   write(small)  ->  arena or outbox  --at the end of the turn-->  one write
//   write(large)  ->  what waits and the chunk, one write; not copied, so the writer waits until it is taken
//
// Small chunks are copied into the arena, one socket's behind the other's. Most are sent as soon as they are handed to Node, and
// the place is free again; if one is not, Node keeps that arena and we take another.

import type { Socket } from 'node:net'
import { runningFiber } from '../core/index.js'
import { BaseChannel, type Chunk } from './channel.js'

/** Bytes of this length and more are not copied. */
const LARGE = 4096
/** So many may wait to be sent before a writer has to wait. */
const ROOM = 64 * 1024
const ARENA = 16 * 1024
const NOTHING = Buffer.alloc(0)

let arena = Buffer.allocUnsafeSlow(ARENA)
let used = 0
/** The view of it that was sent last: messages of a protocol are often equally long. */
let lastView = arena

export abstract class SendingChannel extends BaseChannel {
  /** What waits to be sent, if it is not in the arena. */
  private outbox: Chunk | Chunk[] | null = null
  /** What waits in the arena: nothing if they are equal. */
  private from = 0
  private to = 0
  /** The length of all that waits. */
  private waiting = 0
  private isDirty = false
  /** A write was answered with false: `drained` follows when everything is sent. */
  private isFull = false
  /** It has kept an arena once: it gets memory of its own from then on. */
  private isSlow = false
  private onSent: ((error?: Error | null) => void) | null = null

  abstract readonly socket: Socket
  protected abstract drained(): void

  write(chunk: Chunk): boolean {
    if (typeof chunk === 'string') this.put(chunk)
    else if (chunk.length >= LARGE) return this.writeLarge(chunk)
    else if (!this.copy(chunk)) this.put(Buffer.from(chunk))
    this.waiting += chunk.length
    if (!this.isDirty) {
      this.isDirty = true
      flushSoon(this)
    }
    if (this.waiting + this.socket.writableLength >= ROOM) this.isFull = true
    return !this.isFull
  }

  private writeLarge(chunk: Uint8Array): boolean {
    const { socket } = this
    let isBorrowed = false
    if (this.waiting === 0) socket.write(chunk)
    else {
      socket.cork()
      isBorrowed = this.handOver()
      socket.write(chunk)
      socket.uncork()
    }
    if (socket.writableLength === 0) return !this.isFull
    if (isBorrowed) this.keepArena()
    this.isFull = true
    socket.write(NOTHING, this.sent)
    return false
  }

  /** Into the arena, behind what this socket has there. False if that cannot be. */
  private copy(chunk: Uint8Array): boolean {
    const { length } = chunk
    if (this.outbox !== null || this.isSlow || used + length > ARENA) return false
    if (this.from === this.to) this.from = used
    else if (this.to !== used) return false // somebody else's is behind
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

  flush(): void {
    this.isDirty = false
    if (this.waiting > 0 && this.handOver() && this.socket.writableLength > 0) this.keepArena()
  }

  /** Gives Node what waits. Whether that lies in the arena. */
  private handOver(): boolean {
    const { outbox, socket } = this
    this.outbox = null
    this.waiting = 0
    const chunk = outbox === null ? this.stretch() : Array.isArray(outbox) ? joined(outbox) : outbox
    if (this.isFull)
      socket.write(chunk, this.sent) // somebody waits for it
    else socket.write(chunk)
    return outbox === null
  }

  private keepArena(): void {
    this.isSlow = true
    const old = arena
    arena = Buffer.allocUnsafeSlow(ARENA)
    arena.set(old.subarray(0, used)) // of others, not handed over yet
    lastView = arena
  }

  /** For a write that somebody waits for. One function for all of them. One that went wrong is told by what comes next: the
   * error, or the close. */
  private get sent(): (error?: Error | null) => void {
    return (this.onSent ??= (error) => {
      if (error || !this.isFull || this.waiting > 0 || this.socket.writableLength > 0) return
      this.isFull = false
      this.drained()
    })
  }

  /** What was not sent is lost. */
  protected drop(): void {
    this.outbox = null
    this.from = this.to = 0
    this.waiting = 0
  }
}

function joined(chunks: Chunk[]): Buffer {
  return Buffer.concat(chunks.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)))
}

let dirty: SendingChannel[] = []

/** When the run queue is empty, or, outside of a turn, when this tick of Node is over. */
function flushSoon(channel: SendingChannel): void {
  if (dirty.push(channel) > 1) return
  if (runningFiber()?.runtime.afterTurn(flushAll) !== true) process.nextTick(flushAll)
}

function flushAll(): void {
  const all = dirty
  dirty = []
  for (const channel of all) channel.flush()
  if (dirty.length === 0) used = 0
}

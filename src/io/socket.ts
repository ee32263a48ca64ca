// A plain socket (TCP or Unix) as a channel, without Node's readable side: bytes arrive in one buffer that all sockets share
// (`onread`), and go straight to whoever waits. What is written in one turn is sent together.
//
//   write(small)  ->  arena or outbox  --at the end of the turn-->  one write
//   write(large)  ->  what waits and the chunk, one write; not copied, so the writer waits until it is taken

import { Socket } from 'node:net'
import { baton } from '../core/index.js'
import { BaseChannel, type Chunk } from './channel.js'
import { Stream } from './stream.js'

const RECEIVE_SIZE = 64 * 1024
/** Bytes of this length and more are not copied. */
const LARGE = 4096
/** So many may wait to be sent before a writer has to wait. */
const ROOM = 64 * 1024

/** The kernel writes here, and the bytes are taken before anybody else can read. */
const receiveBuffer = Buffer.allocUnsafeSlow(RECEIVE_SIZE)
/** The view of it that was used last: messages of a protocol are often equally long. */
let view = receiveBuffer

const STREAM = Symbol('polyphony.stream')
type Owned = Socket & { [STREAM]: Stream | null }

/** For `onread`. Called as a method of its socket, so one function serves all. */
function received(this: Owned, count: number): boolean {
  const stream = this[STREAM]
  if (stream === null || stream === undefined) return false
  if (view.length !== count) view = receiveBuffer.subarray(0, count)
  return stream.received(view, false)
}
/** What a socket must be made with. On Windows a read begins before its bytes are there, so each needs its own buffer. */
export const onread =
  process.platform === 'win32'
    ? undefined
    : { buffer: receiveBuffer, callback: received as unknown as () => boolean }

/** Whether an accepted connection can be given the shared buffer: Node has an option for it, but does not document it. */
let canAdopt: boolean | undefined

/** An accepted connection as a socket that reads into the shared buffer; the same socket if that cannot be done here. */
export function adopt(accepted: Socket): Socket {
  const handle = (accepted as unknown as { _handle: any })._handle
  canAdopt ??= onread !== undefined && typeof handle?.useUserBuffer === 'function'
  if (!canAdopt || handle === null) return accepted
  const options = { handle, onread, allowHalfOpen: true, manualStart: true }
  const socket = new Socket(options as object)
  if ((socket as unknown as { _handle: unknown })._handle !== handle) {
    canAdopt = false
    socket.destroy()
    return accepted
  }
  ;(accepted as unknown as { _handle: unknown })._handle = null // it is the other's now
  return socket
}

class SocketChannel extends BaseChannel {
  /** What waits to be sent: strings, and bytes that did not fit behind those in the arena. */
  private outbox: Chunk | Chunk[] | null = null
  /** Or: a stretch of the arena. */
  private from = 0
  private to = 0
  private waiting = 0
  private isDirty = false
  /** The last write was answered with false: `drained` is due when everything is sent. */
  private isFull = false
  private label: string | undefined
  private onSent: (() => void) | null = null

  constructor(readonly socket: Owned) {
    super()
  }

  get name(): string {
    return (this.label ??= nameOf(this.socket))
  }

  resume(): void {
    this.socket.resume()
  }
  pause(): void {
    this.socket.pause()
  }

  write(chunk: Chunk): boolean {
    if (typeof chunk !== 'string' && chunk.length >= LARGE) return this.writeLarge(chunk)
    if (typeof chunk === 'string') this.put(chunk)
    else if (this.outbox !== null || !this.copy(chunk)) this.put(Buffer.from(chunk))
    this.waiting += chunk.length
    if (!this.isDirty) {
      this.isDirty = true
      flushSoon(this)
    }
    if (!this.isFull && this.waiting + this.socket.writableLength >= ROOM) this.isFull = true
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
    if (isBorrowed) renewArena()
    this.isFull = true
    socket.write(NOTHING, this.sent)
    return false
  }

  /** Into the arena, behind what is there of this socket. False if it does not fit, or somebody else's is behind. */
  private copy(chunk: Uint8Array): boolean {
    const { length } = chunk
    if (used + length > ARENA) return false
    if (this.from === this.to) this.from = used
    else if (this.to !== used) return false
    arena.set(chunk, used)
    this.to = used += length
    return true
  }

  private put(chunk: Chunk): void {
    if (this.from < this.to) {
      const before = Buffer.from(arena.subarray(this.from, this.to))
      this.from = this.to = 0
      this.outbox = [before, chunk]
      return
    }
    const { outbox } = this
    if (outbox === null) this.outbox = chunk
    else if (typeof outbox === 'string' && typeof chunk === 'string') this.outbox = outbox + chunk
    else if (Array.isArray(outbox)) outbox.push(chunk)
    else this.outbox = [outbox, chunk]
  }

  flush(): void {
    this.isDirty = false
    if (this.waiting === 0) return
    const isBorrowed = this.handOver()
    if (isBorrowed && this.socket.writableLength > 0) renewArena()
  }

  /** Gives Node what waits to be sent. Whether that lies in the arena. */
  private handOver(): boolean {
    const { socket, outbox } = this
    this.waiting = 0
    const chunk = this.taken()
    if (this.isFull)
      socket.write(chunk, this.sent) // somebody waits for it
    else socket.write(chunk)
    return outbox === null
  }

  /** What waits to be sent, in one piece. */
  private taken(): Chunk {
    const { outbox, from, to, socket } = this
    if (outbox === null) {
      this.from = this.to = 0
      if (socket.writableLength > 0) return Buffer.from(arena.subarray(from, to))
      if (from !== 0) return arena.subarray(from, to)
      if (sentView.length !== to) sentView = arena.subarray(0, to)
      return sentView
    }
    this.outbox = null
    if (!Array.isArray(outbox)) return outbox
    return Buffer.concat(outbox.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)))
  }

  private get sent(): () => void {
    return (this.onSent ??= () => {
      const { socket } = this
      if (!this.isFull || socket.writableLength > 0 || this.waiting > 0) return
      this.isFull = false
      socket[STREAM]?.drained()
    })
  }

  end(): void {
    this.flush()
    this.socket.end()
  }

  close(): void {
    const { socket } = this
    this.flush()
    if (socket.writableFinished || socket.destroyed) this.destroy()
    else socket.end(() => socket.destroy())
  }

  destroy(): void {
    this.outbox = null
    this.from = this.to = 0
    this.waiting = 0
    this.socket.destroy()
    if (this.socket.closed) this.socket[STREAM]?.closed()
  }
}

// Small chunks are copied here, one socket's behind the other's. Most are sent as soon as they are flushed, and the place is
// free again; if one is not, Node keeps it and we take another.

const ARENA = 16 * 1024
let arena = Buffer.allocUnsafeSlow(ARENA)
let used = 0
/** The view of it that was used last. */
let sentView = arena
const NOTHING = Buffer.alloc(0)

/** Node keeps the old one until all of it is sent. What others have in it and was not flushed yet comes along. */
function renewArena(): void {
  const old = arena
  arena = Buffer.allocUnsafeSlow(ARENA)
  arena.set(old.subarray(0, used))
  sentView = arena
}

let dirty: SocketChannel[] = []

/** When the run queue is empty, or, outside of a turn, when this tick of Node is over. */
function flushSoon(channel: SocketChannel): void {
  if (dirty.push(channel) === 1 && baton.fiber?.runtime.afterTurn(flushAll) !== true)
    process.nextTick(flushAll)
}

function flushAll(): void {
  const all = dirty
  if (all.length === 1) {
    ;(all[0] as SocketChannel).flush()
    all.length = 0
  } else {
    dirty = []
    for (const channel of all) channel.flush()
  }
  used = 0
}

// One function for all sockets, each: Node calls a listener with its socket as `this`.
function ended(this: Owned): void {
  this[STREAM]?.ended()
}
function failed(this: Owned, error: Error): void {
  this[STREAM]?.failed(error)
}
function closed(this: Owned): void {
  this[STREAM]?.closed()
}
function drained(this: Owned): void {
  this[STREAM]?.drained()
}
function finished(this: Owned): void {
  this[STREAM]?.finished()
}

/** A stream on a connected socket that was made with `onread`. A socket holds the process only while a fiber waits for it. */
export function socketStream(plain: Socket): Stream {
  const socket = plain as Owned
  const stream = new Stream(() => new SocketChannel(socket))
  socket[STREAM] = stream
  socket.on('end', ended)
  socket.on('error', failed)
  socket.on('close', closed)
  socket.on('drain', drained)
  socket.on('finish', finished)
  socket.unref()
  return stream
}

function nameOf(socket: Socket): string {
  const { remoteAddress, remotePort, remoteFamily } = socket
  if (remoteAddress === undefined) return 'unix socket'
  return remoteFamily === 'IPv6'
    ? `tcp [${remoteAddress}]:${remotePort}`
    : `tcp ${remoteAddress}:${remotePort}`
}

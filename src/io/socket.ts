// A plain socket (TCP or Unix) as a channel, without Node's readable side: bytes arrive in one buffer that all sockets share
// (`onread`), and go straight to whoever waits. Where that cannot be had, they arrive as Node's 'data' instead. What is
// written in one turn is sent together.
//
//   write(small)  ->  arena or outbox  --at the end of the turn-->  one write
//   write(large)  ->  what waits and the chunk, one write; not copied, so the writer waits until it is taken

import type { Socket as NetSocket } from 'node:net'
import { baton } from '../core/index.js'
import { BaseChannel, type Chunk } from './channel.js'
import { Stream } from './stream.js'

const RECEIVE_SIZE = 64 * 1024
/** Bytes of this length and more are not copied. */
const LARGE = 4096
/** So many may wait to be sent before a writer has to wait. */
const ROOM = 64 * 1024

/** The kernel writes here, and the bytes are taken before anybody else can read. */
export const receiveBuffer = Buffer.allocUnsafeSlow(RECEIVE_SIZE)
/** The view of it that was used last: messages of a protocol are often equally long. */
let view = receiveBuffer

const STREAM = Symbol('polyphony.stream')
type Owned = NetSocket & { [STREAM]: Stream | null }

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

export class SocketChannel extends BaseChannel {
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
  /** What broke it, if something did. */
  error: unknown = null
  private onSent: (() => void) | null = null

  constructor(
    /** For those who build on it, such as TLS. */
    readonly socket: Owned,
    /** Of a Unix socket. */
    private readonly path: string | undefined,
  ) {
    super()
    if (path === undefined) socket.remoteAddress // Node keeps it: when the socket is closed, it is too late to ask
  }

  get name(): string {
    return (this.label ??= nameOf(this.socket, this.path))
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
function receivedData(this: Owned, bytes: Buffer): void {
  if (this[STREAM]?.received(bytes, true) === false) this.pause()
}
function ended(this: Owned): void {
  this[STREAM]?.ended()
}
function failed(this: Owned, error: Error): void {
  const stream = this[STREAM]
  if (stream === null) return
  ;(stream.channel as SocketChannel).error ??= error
  stream.failed(error)
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

/**
 * A connection, by TCP or a Unix socket: a stream that knows where it leads. Made by `connect`, and by `accept` and
 * `acceptLoop` of a server.
 *
 * ```ts
 * const server = yield* listen({ host: '127.0.0.1' })
 * const socket = yield* connect({ host: '127.0.0.1', port: server.port })
 * console.log(socket.remoteAddress, socket.remotePort === server.port) // 127.0.0.1 true
 * socket.destroy()
 * yield* server.close()
 * ```
 */
export class Socket extends Stream {
  /** @internal On a connected socket, which reads into the shared buffer if it was made with `onread`. */
  constructor(plain: NetSocket, isShared: boolean, path?: string) {
    const socket = plain as Owned
    super(() => new SocketChannel(socket, path))
    socket[STREAM] = this
    if (!isShared) socket.on('data', receivedData)
    socket.on('end', ended)
    socket.on('error', failed)
    socket.on('close', closed)
    socket.on('drain', drained)
    socket.on('finish', finished)
    socket.unref() // it holds the process only while a fiber waits for it
  }

  private get net(): NetSocket {
    return (this.channel as SocketChannel).socket
  }

  /** The address of the other side; `undefined` for a Unix socket. */
  get remoteAddress(): string | undefined {
    return this.net.remoteAddress
  }

  /** The port of the other side; `undefined` for a Unix socket. */
  get remotePort(): number | undefined {
    return this.net.remotePort
  }

  /** The address on this side; `undefined` for a Unix socket, and when it is closed. */
  get localAddress(): string | undefined {
    return this.net.localAddress
  }

  /** The port on this side; `undefined` for a Unix socket, and when it is closed. */
  get localPort(): number | undefined {
    return this.net.localPort
  }

  /** Whether small packets are sent at once. They are, unless told otherwise. */
  setNoDelay(isOn = true): void {
    this.net.setNoDelay(isOn)
  }

  /** Whether the system looks now and then if the other side is still there, and after how many milliseconds of silence. */
  setKeepAlive(isOn = true, ms = 0): void {
    this.net.setKeepAlive(isOn, ms)
  }

  /** @internal Whether an error is that of the connection itself: the other side went away, or cannot be reached any more. */
  isLostBy(error: unknown): boolean {
    const { error: own } = this.channel as SocketChannel
    return own !== null && (error as Error | null)?.cause === own
  }
}

function nameOf(socket: NetSocket, path: string | undefined): string {
  if (path !== undefined) return `unix ${path}`
  const { remoteAddress, remotePort, remoteFamily } = socket
  if (remoteAddress === undefined) return 'tcp (gone)' // before we could ask
  return `tcp ${remoteFamily === 'IPv6' ? `[${remoteAddress}]` : remoteAddress}:${remotePort}`
}

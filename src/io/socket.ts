// A plain socket (TCP or Unix) as a channel, without Node's readable side: bytes arrive in one buffer that all sockets share
// (`onread`), and go straight to whoever waits. What is written in one turn is sent together.
//
//   write(small)  ->  outbox  --at the end of the turn-->  one write
//   write(large)  ->  outbox and the chunk, one write; not copied, so the writer waits until it is taken

import { Socket } from 'node:net'
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
  private outbox: Chunk | Chunk[] | null = null
  private waiting = 0
  private isDirty = false
  private label: string | undefined

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
    const { socket } = this
    if (chunk.length >= LARGE && typeof chunk !== 'string') {
      const { outbox } = this
      if (outbox === null) socket.write(chunk, this.sent)
      else {
        socket.cork()
        this.flush()
        socket.write(chunk, this.sent)
        socket.uncork()
      }
      return socket.writableLength === 0
    }
    this.put(typeof chunk === 'string' ? chunk : Buffer.from(chunk))
    this.waiting += chunk.length
    if (!this.isDirty) {
      this.isDirty = true
      flushSoon(this)
    }
    return this.waiting + socket.writableLength < ROOM
  }

  private put(chunk: Chunk): void {
    const { outbox } = this
    if (outbox === null) this.outbox = chunk
    else if (typeof outbox === 'string' && typeof chunk === 'string') this.outbox = outbox + chunk
    else if (Array.isArray(outbox)) outbox.push(chunk)
    else this.outbox = [outbox, chunk]
  }

  flush(): void {
    const { outbox, socket } = this
    this.isDirty = false
    if (outbox === null) return
    const count = this.waiting
    this.outbox = null
    this.waiting = 0
    const chunk = Array.isArray(outbox)
      ? Buffer.concat(outbox.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)))
      : outbox
    if (count < ROOM) socket.write(chunk)
    else socket.write(chunk, this.sent) // somebody waits for it
  }

  private get sent(): () => void {
    return () => {
      if (this.socket.writableLength === 0) this.socket[STREAM]?.drained()
    }
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
    this.socket.destroy()
    if (this.socket.closed) this.socket[STREAM]?.closed()
  }
}

let dirty: SocketChannel[] = []

/** When the run queue is empty: Node's ticks come after its microtasks, in which fibers run. */
function flushSoon(channel: SocketChannel): void {
  if (dirty.push(channel) === 1) process.nextTick(flushAll)
}

function flushAll(): void {
  const all = dirty
  dirty = []
  for (const channel of all) channel.flush()
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

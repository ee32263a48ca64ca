// A socket (TCP, Unix or TLS) as a channel, and as the stream that fibers use. Plain ones do without Node's readable side: bytes
// arrive in one buffer that all sockets share, and go straight to the fiber that waits (wire.ts). TLS sockets, and plain ones
// where that does not work, tell by listeners. How it sends is in write-buffer.ts.

import type { Socket as NetSocket } from 'node:net'
import { BadState } from '../../core/index.js'
import { BaseChannel, type Chunk } from '../stream/channel.js'
import { LIVE, OVER } from '../stream/phase.js'
import { counted } from '../stream/read-ops.js'
import type { ReadSide } from '../stream/read-side.js'
import { Stream } from '../stream/stream.js'
import type { ChannelSettings } from './options.js'
import { type Attached, isShared, STREAM, writeQueueOf } from './wire.js'
import { type Sender, WriteBuffer } from './write-buffer.js'

/** How many milliseconds the other side must be silent before a connection is closed; more if it is known to send. */
const SILENCE = 100
const LONG_SILENCE = 500

/**
 * Closes a connection after its last byte was sent, but not while the other side still sends: the system answers bytes that arrive
 * after the close, or that were never read, with a reset, and drops what it has not yet delivered. Meanwhile they are discarded.
 * When the other side ends, Node closes the connection by itself.
 */
class Linger {
  /** How many bytes had arrived when this last looked. */
  private seen = 0
  /** Whether bytes were dropped that no fiber had read. */
  private readonly hasDropped: boolean

  constructor(
    private readonly socket: Attached,
    private readonly reading: ReadSide,
  ) {
    this.hasDropped = reading.unread > 0
  }

  sentAll(): void {
    this.wait(this.hasDropped ? LONG_SILENCE : SILENCE)
  }

  private wait(ms: number): void {
    this.seen = this.reading.total
    setTimeout(this.look, ms).unref()
  }

  private readonly look = (): void => {
    if (this.reading.total === this.seen) this.socket.destroy()
    else this.wait(LONG_SILENCE)
  }
}

export class SocketChannel extends BaseChannel implements Sender {
  private label: string | undefined
  /** What broke it, if something did. */
  error: unknown = null
  buffer: WriteBuffer | null = null
  isSlow = false
  private linger: Linger | null = null

  constructor(
    /** For streams that build on it, such as TLS. */
    readonly socket: Attached,
    /** What all sockets of a server have in common. */
    private readonly settings: ChannelSettings,
  ) {
    super()
    // Node keeps it. When the connection is closed or reset, it is too late to ask.
    if (settings.path === undefined) socket.remoteAddress
  }

  get name(): string {
    return (this.label ??= nameOf(this.socket, this.settings.path))
  }
  get unsent(): number {
    const { socket, buffer } = this
    return (buffer?.waiting ?? 0) + (writeQueueOf(socket) ?? socket.writableLength)
  }

  resume(): void {
    const { socket } = this
    if (isShared(socket))
      socket.read(0) // begins to read, without Node's readable side
    else socket.resume()
  }
  pause(): void {
    this.socket.pause()
  }

  write(chunk: Chunk): boolean {
    return WriteBuffer.of(this).write(chunk)
  }

  drained(): void {
    this.socket[STREAM]?.drained()
  }

  end(): void {
    const { socket } = this
    this.buffer?.flush()
    socket.end((error?: Error | null) => {
      if (!error) socket[STREAM]?.finished() // else `failed` tells it
    })
  }

  override discard(): void {
    const { socket } = this
    const { reading } = socket[STREAM] as Stream
    if (socket.destroyed || reading.state >= OVER) return
    this.linger = new Linger(socket, reading)
    this.resume()
  }

  close(): void {
    const { socket } = this
    this.buffer?.flush()
    if (socket.writableFinished || socket.destroyed || this.isDone) socket[STREAM]?.destroy()
    else {
      socket.end((error?: Error | null) => {
        if (error) return // Node destroys it, and says why
        if (this.linger === null) socket.destroy()
        else this.linger.sentAll()
      })
    }
  }

  /** The other side has ended, all of it was read, and the system has everything: it sends the end when the descriptor is closed. */
  private get isDone(): boolean {
    const { socket } = this
    return isShared(socket) && socket.readableEnded && socket.writableLength === 0 && !socket.writableEnded
  }

  destroy(): void {
    const { socket } = this
    this.buffer?.drop()
    socket.destroy()
    if (socket.closed) socket[STREAM]?.closed()
  }
}

Object.defineProperties(SocketChannel.prototype, {
  readAhead: {
    get(this: { settings: ChannelSettings }) {
      return this.settings.readAhead
    },
  },
  closeTimeout: {
    get(this: { settings: ChannelSettings }) {
      return this.settings.closeTimeout
    },
  },
})

// One function for all sockets, each: Node calls a listener with its socket as `this`.
function receivedData(this: Attached, bytes: Buffer): void {
  if (this[STREAM]?.received(bytes, true) === false) this.pause()
}
function ended(this: Attached): void {
  this[STREAM]?.ended()
}
function failed(this: Attached, error: Error): void {
  this[STREAM]?.failed(error)
}
function closed(this: Attached): void {
  this[STREAM]?.closed()
}
const LISTENERS: [event: string, listener: (...args: any[]) => void][] = [
  ['data', receivedData],
  ['end', ended],
  ['error', failed],
  ['close', closed],
]

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
  /** @internal On a connected socket. */
  constructor(plain: NetSocket, settings: ChannelSettings) {
    const socket = plain as Attached
    super(() => new SocketChannel(socket, settings))
    socket[STREAM] = this
    if (!isShared(socket)) for (const [event, listener] of LISTENERS) socket.on(event, listener)
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

  /**
   * Gives the socket back to Node, with nothing lost: what was written is sent, and what has arrived and was not read is read
   * next there. For libraries that take a `net.Socket`, such as `ws`, `node:http` and `node:http2`. This stream counts as closed;
   * from now on the socket is the caller's to close, also if its fiber ends.
   *
   * ```ts
   * const server = yield* listen({ host: '127.0.0.1' })
   * const client = yield* connect({ host: '127.0.0.1', port: server.port })
   * yield* client.write('GET / HTTP/1.1\r\n')
   * const stream = (yield* server.accept())!
   * console.log(yield* stream.read(4)) // <Buffer 47 45 54 20>
   * const socket = stream.detach()
   * const rest = yield* once(socket, 'data')
   * console.log(`${rest}`.trim(), stream.isClosed) // / HTTP/1.1 true
   * socket.destroy()
   * yield* client.close()
   * yield* server.close()
   * ```
   */
  detach(): NetSocket {
    const { reading } = this
    const { socket, buffer } = this.channel as SocketChannel
    if (this.phase !== LIVE || this.error !== null) throw this.broken(`${this.name}.detach()`)
    const isOver = reading.state === OVER
    if (isOver && reading.unread > 0) {
      throw new BadState(
        `${this.name} cannot be detached: the other side has ended, and ${reading.unread} bytes are unread. ` +
          'Read them here.',
      )
    }
    const { sending } = this.writing
    if (sending > 0) {
      throw new BadState(
        `${this.name} cannot be detached: ${counted(sending, 'write')} ` +
          'in progress, and the memory would be in use without a wait for it. Detach it after that.',
      )
    }
    buffer?.flush()
    const unread = reading.takeAll()
    for (const [event, listener] of LISTENERS) socket.off(event, listener)
    socket[STREAM] = null
    this.detached()
    socket.ref()
    socket.pause()
    // Not flowing: bytes that are put back into a flowing stream are lost.
    ;(socket as { readableFlowing: boolean | null }).readableFlowing = null
    if (unread.length > 0) socket.unshift(unread)
    return socket
  }

  /** @internal Calls back when the connection is closed, also one that was detached. */
  whenGone(callback: () => void): void {
    const { socket } = this.channel as SocketChannel
    if (socket[STREAM] !== null && this.isOpen) this.whenClosed(callback)
    else if (socket.closed) callback()
    else socket.once('close', callback)
  }

  /** @internal */
  override failed(error: unknown): void {
    ;(this.channel as SocketChannel).error ??= error
    super.failed(error)
  }

  /** @internal */
  override isLostBy(error: unknown): boolean {
    const { error: own } = this.channel as SocketChannel
    return (own !== null && (error as Error | null)?.cause === own) || super.isLostBy(error)
  }
}

function nameOf(socket: NetSocket, path: string | undefined): string {
  if (path !== undefined) return `unix ${path}`
  const { remoteAddress, remotePort, remoteFamily } = socket
  if (remoteAddress === undefined) return 'tcp (gone)' // before we could ask
  return `tcp ${remoteFamily === 'IPv6' ? `[${remoteAddress}]` : remoteAddress}:${remotePort}`
}

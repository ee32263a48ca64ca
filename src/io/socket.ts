// A plain socket (TCP or Unix) as a channel, without Node's readable side: bytes arrive in one buffer that all sockets share
// (`onread`), and go straight to whoever waits. Where that cannot be had, they arrive as Node's 'data' instead. How it
// sends is in outbox.ts.

import type { Socket as NetSocket } from 'node:net'
import { SendingChannel } from './outbox.js'
import { Stream } from './stream.js'

const RECEIVE_SIZE = 64 * 1024

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

export class SocketChannel extends SendingChannel {
  private label: string | undefined
  /** What broke it, if something did. */
  error: unknown = null

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

  protected drained(): void {
    this.socket[STREAM]?.drained()
  }

  end(): void {
    const { socket } = this
    this.flush()
    socket.end((error?: Error | null) => {
      if (!error) socket[STREAM]?.finished() // else `failed` tells it
    })
  }

  close(): void {
    const { socket } = this
    this.flush()
    if (socket.writableFinished || socket.destroyed) this.destroy()
    else {
      socket.end((error?: Error | null) => {
        if (!error) socket.destroy() // else Node does it, and says why
      })
    }
  }

  destroy(): void {
    this.drop()
    this.socket.destroy()
    if (this.socket.closed) this.socket[STREAM]?.closed()
  }
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

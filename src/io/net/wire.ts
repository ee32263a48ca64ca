// The parts of Node that sockets use and that Node does not document: each is looked for once, and where it is missing or works
// otherwise, connections stay as Node makes them (docs/decisions/0017-undocumented-parts-of-node.md).
//
//   one receive buffer   `onread` is documented for sockets that connect; accepted ones need the option `handle`
//   one socket           the `onconnection` of a server's handle: else Node makes a socket for each connection, and ours is a second
//   no listeners         a Wire tells its stream in `emit`, so a connection needs no listeners, and less memory
//
// On Windows a read begins before its bytes are there, so each socket needs its own buffer.

import { type Server as NetServer, Socket as NetSocket, type SocketConstructorOpts } from 'node:net'
import type { Stream } from '../stream/stream.js'

const RECEIVE_SIZE = 64 * 1024

/** The kernel writes here, and the bytes are taken before the next read. */
const receiveBuffer = Buffer.allocUnsafeSlow(RECEIVE_SIZE)
/** The view of it that was used last: messages of a protocol are often equally long. */
let view = receiveBuffer

/** Where a socket of Node keeps the stream that it belongs to; null once it was detached. */
export const STREAM = Symbol('polyphony.stream')
export type Attached = NetSocket & { [STREAM]: Stream | null }

/** For `onread`. Node calls it as a method of its socket, so one function serves all. */
function received(this: Attached, count: number): boolean {
  const stream = this[STREAM]
  if (view.length !== count) view = receiveBuffer.subarray(0, count)
  if (stream !== null) return stream.received(view, false)
  return this.push(Buffer.from(view)) // it was detached: Node's readable side takes over
}

/** What a socket must be made with to read into the shared buffer. */
const onread =
  process.platform === 'win32'
    ? undefined
    : { buffer: receiveBuffer, callback: received as unknown as () => boolean }

const EMIT = NetSocket.prototype.emit

/** A socket of Node that tells its stream what happens, without listeners. Detached, it is as any other. */
export class Wire extends NetSocket {
  [STREAM]: Stream | null

  constructor(options: SocketConstructorOpts) {
    super(options) // written out: the constructor that TypeScript makes spreads its arguments, which is slow
    this[STREAM] = null
  }

  override emit(event: string | symbol, first?: unknown): boolean {
    const stream = this[STREAM]
    // biome-ignore lint/complexity/noArguments: a rest parameter would be an array for each event
    if (stream === null) return EMIT.apply(this, arguments as never)
    if (event === 'end') stream.ended()
    else if (event === 'error') stream.failed(first)
    else if (event === 'close') stream.closed()
    // biome-ignore lint/complexity/noArguments: as above
    else return EMIT.apply(this, arguments as never)
    return true
  }
}

/** A socket that is to connect. It reads into the shared buffer where that works. */
export function newWire(settings: object): Wire {
  return new Wire({ ...settings, ...(onread === undefined ? {} : { onread }) } as SocketConstructorOpts)
}

/** Whether a socket takes its bytes from the shared buffer, and needs no listener to 'data'. */
export function isShared(socket: NetSocket): boolean {
  return onread !== undefined && socket instanceof Wire
}

/** What Node passes to the callback of a listening handle. */
interface Handle {
  readonly fd?: number
  close(): void
}
interface ServerHandle {
  onconnection?: (this: unknown, status: number, handle?: Handle) => void
}

/** What a server of Node sets on the sockets that it makes itself. */
interface ServerSettings {
  readonly noDelay?: boolean
  readonly keepAlive?: boolean
  readonly keepAliveInitialDelay?: number
}

/** Whether accepted connections can be wires here; undefined: not known yet. A test may say that they cannot. */
export const wires: { work: boolean | undefined } = { work: undefined }

/** What is done with connections as they come. */
export interface Acceptor {
  /** Whether there is room for one more with this descriptor (-1: not known). If not, it is closed. */
  admits(descriptor: number): boolean
  accepted(socket: NetSocket): void
}

/** Hands the connections of a server that listens to the acceptor: as wires if they are wanted and work here, else as Node makes
 * them. */
export function acceptConnections(server: NetServer, acceptor: Acceptor, wantsWires: boolean): void {
  const inside = (server as unknown as { _handle: ServerHandle | null })._handle
  const original = inside?.onconnection
  wires.work ??= canAdopt()
  if (wantsWires && wires.work && inside !== null && typeof original === 'function') {
    const { noDelay, keepAlive, keepAliveInitialDelay } = server as unknown as ServerSettings
    inside.onconnection = function (status, handle) {
      if (status !== 0 || handle === undefined) original.call(this, status, handle)
      else if (!acceptor.admits(handle.fd ?? -1)) handle.close()
      else {
        const socket = adopted(handle)
        if (noDelay) socket.setNoDelay(true)
        if (keepAlive) socket.setKeepAlive(true, keepAliveInitialDelay)
        acceptor.accepted(socket)
      }
    }
  } else {
    server.on('connection', (socket) => {
      if (acceptor.admits(descriptorOf(socket))) acceptor.accepted(socket)
      else socket.destroy()
    })
  }
}

function adopted(handle: object): Wire {
  return new Wire({ handle, onread, allowHalfOpen: true, manualStart: true } as SocketConstructorOpts)
}

/** Makes a wire around a handle of its own making, to see whether it takes the handle and the buffer. */
function canAdopt(): boolean {
  let buffer: unknown
  const handle = {
    useUserBuffer(given: unknown) {
      buffer = given
    },
    close() {},
  }
  try {
    if (onread === undefined) return false
    const socket = adopted(handle) as unknown as { _handle: unknown }
    return socket._handle === handle && buffer === receiveBuffer
  } catch {
    return false
  }
}

/** The number of the descriptor of a socket; -1: not known. */
function descriptorOf(socket: NetSocket): number {
  return (socket as unknown as { _handle: { fd?: number } | null })._handle?.fd ?? -1
}

/** What the system has not yet taken of the write that Node is at; undefined: not known. */
export function writeQueueOf(socket: NetSocket): number | undefined {
  const { _handle, _writableState } = socket as unknown as {
    _handle: { writeQueueSize?: unknown } | null
    _writableState?: { writelen?: unknown }
  }
  const queued = _handle?.writeQueueSize
  const underway = _writableState?.writelen
  if (typeof queued !== 'number' || typeof underway !== 'number') return undefined
  return Math.max(0, socket.writableLength - underway) + queued
}

// connect: a socket to somebody else. A connection that arrives when its fiber has left is closed (S35).

import { connect as connectSocket, type Socket } from 'node:net'
import {
  BadArgument,
  checkOptions,
  enteredTwice,
  type Fiber,
  fail,
  LateOp,
  type Op,
  settle,
  show,
} from '../core/index.js'
import { ioError } from './errors.js'
import { onread, socketStream } from './socket.js'
import type { Stream } from './stream.js'

/** Where to connect to, and how. */
export interface ConnectOptions {
  /** A name or an address; default 'localhost'. */
  host?: string
  /** Which one; needed unless there is a path. */
  port?: number
  /** The path of a Unix socket, instead of host and port. */
  path?: string
  /** Whether small packets are sent at once; default true. */
  noDelay?: boolean
  /** Whether the system looks now and then if the other side is still there; true, or after how many milliseconds. */
  keepAlive?: boolean | number
}

class Connect extends LateOp<Stream> {
  private socket: Socket | null = null
  private fiber: Fiber | null = null

  constructor(private readonly options: ConnectOptions) {
    super()
  }

  enter(fiber: Fiber): void {
    if (this.fiber !== null) throw enteredTwice(this, this.fiber)
    const { host, port, path, noDelay = true, keepAlive = false } = this.options
    const target = path === undefined ? { host: host ?? 'localhost', port: port as number } : { path }
    const socket = connectSocket({
      ...target,
      ...(onread === undefined ? {} : { onread }),
      allowHalfOpen: true,
      noDelay,
      keepAlive: keepAlive !== false,
      keepAliveInitialDelay: typeof keepAlive === 'number' ? keepAlive : 0,
    } as never)
    socket.pause()
    this.fiber = fiber
    this.socket = socket
    fiber.runtime.hold()
    fiber.runtime.external++
    socket.on('error', this.failed)
    socket.on('connect', this.connected)
  }

  private readonly connected = (): void => {
    const { fiber, socket } = this
    if (fiber === null || socket === null) return
    this.over(fiber)
    socket.off('error', this.failed)
    settle(fiber, this, socketStream(socket))
  }

  private readonly failed = (error: Error): void => {
    const { fiber } = this
    if (fiber === null) return
    this.over(fiber)
    fail(fiber, this, ioError(error, this.describe()))
  }

  private over(fiber: Fiber): void {
    this.fiber = null
    this.socket = null
    fiber.runtime.external--
    fiber.runtime.release()
  }

  abort(fiber: Fiber): void {
    this.socket?.destroy()
    this.over(fiber)
  }

  override discard(stream: Stream): void {
    stream.destroy()
  }

  describe(): string {
    const { host = 'localhost', port, path } = this.options
    return `connect(${path ?? `${host}:${port}`})`
  }
}

/**
 * Connects to a TCP port or a Unix socket.
 *
 * ```ts
 * const server = yield* listen({ port: 0 })
 * spin(() => server.acceptLoop((socket) => socket.end('welcome\n')))
 * const socket = yield* connect({ port: server.port })
 * console.log(yield* socket.gets()) // welcome
 * yield* socket.close()
 * yield* server.close()
 * ```
 */
export function connect(options: ConnectOptions): Op<Stream> {
  checkOptions(options, ['host', 'port', 'path', 'noDelay', 'keepAlive'], 'connect()')
  const { port, path } = options
  if (path === undefined && !(Number.isInteger(port) && (port as number) >= 0 && (port as number) < 65536)) {
    throw new BadArgument(
      `connect() needs a port from 0 to 65535, or the path of a Unix socket; got ${show(port)}`,
    )
  }
  return new Connect(options)
}

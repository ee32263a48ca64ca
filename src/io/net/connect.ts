// connect: a socket to a server. A connection that is made when its fiber has left is closed (S35). It belongs to the scope or fiber
// that made it, or to a body.

import { isIP, type Socket as NetSocket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import {
  type Attempt,
  BadArgument,
  check,
  ensure,
  type Fiber,
  type Op,
  OutsideOp,
  op,
  type Result,
  type Returned,
  type Routine,
  show,
  type TimerNode,
} from '../../core/index.js'
import { TimedOut } from '../../sync/index.js'
import { checkFlag } from '../checks.js'
import { ioError } from '../errors.js'
import { checkClientTls, clientError, type TlsClientOptions } from '../tls/options.js'
import { connectTls, TlsSocket } from '../tls/socket.js'
import {
  channelSettings,
  checkNoPort,
  checkSocketOptions,
  type SocketOptions,
  socketSettings,
  whereOf,
} from './options.js'
import { Socket } from './socket.js'
import { newWire } from './wire.js'

/** Where to connect to, and how. */
export interface ConnectOptions extends SocketOptions {
  /** A name or an address; default `localhost`. Of a name with several addresses, each is tried, as Node does it. */
  host?: string
  /** Which one; needed unless there is a path. */
  port?: number
  /** The path of a Unix socket, instead of host and port. */
  path?: string
  /** How many milliseconds it may take until the connection is there; then `TimedOut`. Default: as long as the system tries. */
  timeout?: number
  /** The address on this side. */
  localAddress?: string
  /** Only addresses of IPv4 or of IPv6; default: both. */
  family?: 4 | 6
  /** Whether to speak TLS, and how. The handshake is part of `connect`. */
  tls?: boolean | TlsClientOptions
  /** The protocols that are offered in the handshake, such as `['h2', 'http/1.1']`. */
  alpn?: readonly string[]
  /** Whether the connection stays open when the scope or fiber that made it is over: the caller closes it. Default false. */
  detached?: boolean
}

class Connect extends OutsideOp<Socket> implements TimerNode {
  time = 0
  seq = 0
  index = -1
  private socket: NetSocket | null = null
  private waiting: Attempt<Socket> | null = null

  constructor(
    private readonly options: ConnectOptions,
    private readonly tls: TlsClientOptions | undefined,
    /** Whether the fiber that connects owns the connection. */
    private readonly isOwned: boolean,
  ) {
    super()
  }

  protected start(attempt: Attempt<Socket>): void {
    const { timeout } = this.options
    const { runtime } = attempt.fiber
    const socket = this.begin()
    socket.pause()
    socket.on('error', this.failed)
    socket.on(this.tls === undefined ? 'connect' : 'secureConnect', this.connected)
    this.waiting = attempt
    this.socket = socket
    if (timeout !== undefined && timeout < Infinity) runtime.addTimer(this, runtime.now() + timeout)
  }

  private begin(): NetSocket {
    const { host = 'localhost', port, path, localAddress, family } = this.options
    const target = {
      ...(path === undefined ? { host, port } : { path }),
      ...(localAddress === undefined ? {} : { localAddress }),
      ...(family === undefined ? {} : { family }),
    }
    const settings = socketSettings(this.options)
    if (this.tls !== undefined)
      return connectTls({ ...target, ...settings }, this.tls, this.options.alpn, this.describe())
    try {
      return newWire(settings).connect(target as never)
    } catch (error) {
      throw ioError(error, this.describe())
    }
  }

  private readonly connected = (): void => {
    const { waiting, socket } = this
    if (waiting === null || socket === null) return
    socket.off('error', this.failed)
    socket.off(this.tls === undefined ? 'connect' : 'secureConnect', this.connected)
    const settings = channelSettings(this.options)
    const stream =
      this.tls === undefined ? new Socket(socket, settings) : new TlsSocket(socket as TLSSocket, settings)
    if (this.isOwned && waiting.isOpen) stream.ownedBy(waiting.fiber)
    waiting.settle(stream)
  }

  private readonly failed = (error: Error): void => {
    this.waiting?.fail((this.tls === undefined ? ioError : clientError)(error, this.describe()))
  }

  /** The time is up. */
  fire(): void {
    this.socket?.destroy()
    this.waiting?.fail(new TimedOut(`${this.describe()} took longer than ${this.options.timeout} ms`))
  }

  protected cancel(): void {
    this.socket?.destroy()
  }

  protected override over({ runtime }: Fiber): void {
    this.waiting = null
    this.socket = null
    runtime.removeTimer(this)
  }

  override discard(socket: Socket): void {
    socket.destroy()
  }

  describe(): string {
    return `connect(${whereOf({ host: 'localhost', ...this.options })})`
  }
  override get kind(): string {
    return 'connect'
  }
}

const OPTIONS = [
  'host',
  'port',
  'path',
  'noDelay',
  'keepAlive',
  'readAhead',
  'closeTimeout',
  'detached',
  'timeout',
  'localAddress',
  'family',
  'tls',
  'alpn',
]

/**
 * Connects to a TCP port or a Unix socket. With a body, the connection is closed when the body is over, whatever way it ends,
 * and its result is given. What goes wrong is an `IOError` with the system's code, such as `ECONNREFUSED` or `ENOTFOUND`.
 *
 * ```ts
 * const server = yield* listen({ port: 0 })
 * spin(() => server.acceptLoop((socket) => socket.end('welcome\n')))
 * console.log(yield* connect({ port: server.port }, (socket) => socket.gets())) // welcome
 * yield* server.close()
 * ```
 */
export function connect<R>(
  options: ConnectOptions & { tls: true | TlsClientOptions },
  body: (socket: TlsSocket) => Returned<R>,
): Op<Result<R>>
export function connect<R>(options: ConnectOptions, body: (socket: Socket) => Returned<R>): Op<Result<R>>
/** Connects. The connection belongs to the innermost `scope`, or else to the fiber, that made it, and is closed with it, unless
 * it is `detached`. */
export function connect(options: ConnectOptions & { tls: true | TlsClientOptions }): Op<TlsSocket>
export function connect(options: ConnectOptions): Op<Socket>
export function connect(options: ConnectOptions, ...rest: [body?: unknown]): Op<any> {
  checkNoPort(options, 'connect')
  check.options(options, OPTIONS, 'connect()')
  checkSocketOptions(options, 1, 'connect()')
  const { port, path, timeout, localAddress, family, detached = false } = options
  if (port === undefined && path === undefined) {
    throw new BadArgument('connect() needs a port, or the path of a Unix socket')
  }
  if (timeout !== undefined) check.timeLimit(timeout, 'the timeout of connect()')
  if (localAddress !== undefined && isIP(localAddress) === 0) {
    throw new BadArgument(`the localAddress of connect() must be an IP address, got ${show(localAddress)}`)
  }
  if (family !== undefined && family !== 4 && family !== 6) {
    throw new BadArgument(`the family of connect() must be 4 or 6, got ${show(family)}`)
  }
  checkFlag(detached, 'detached of connect()')
  const tls = checkClientTls(options.tls, options.alpn, 'connect()')
  const own = { ...options }
  if (rest.length === 0) return new Connect(own, tls, !detached)
  const [body] = rest
  check.body(body, 'connect()')
  if (detached)
    throw new BadArgument('connect() with a body closes the connection after it: it cannot be detached')
  const connecting = new Connect(own, tls, false).droppable()
  return op(connecting.describe(), () => withSocket(connecting, body as (socket: Socket) => unknown))
}

function* withSocket(connecting: Connect, body: (socket: Socket) => unknown): Routine<unknown> {
  const socket = yield* connecting
  try {
    return yield* ensure(
      () => body(socket) as undefined,
      () => socket.finish(),
    )
  } finally {
    socket.destroy()
  }
}

// A server: connections that were made and that nobody has accepted yet wait in its backlog.
//
//   the kernel --> Node accepts --> [ backlog ] --accept--> the first of the fibers that wait

import { createServer, type Server as NodeServer, type Socket } from 'node:net'
import {
  BaseOp,
  checkBody,
  checkOptions,
  enteredTwice,
  type Fiber,
  fail,
  LateOp,
  type Op,
  type Returned,
  repeatable,
  settle,
  Waiters,
} from '../core/index.js'
import { acceptLoop } from './acceptloop.js'
import { ioError } from './errors.js'
import { adopt, socketStream } from './socket.js'
import type { Stream } from './stream.js'

/** Where to listen, and how. */
export interface ListenOptions {
  /** Default 0: any port that is free. */
  port?: number
  /** The address to listen on; default: all of them. */
  host?: string
  /** The path of a Unix socket, instead of host and port. */
  path?: string
  /** How many connections may wait to be accepted; default 511. */
  backlog?: number
  /** How many may be open at once in `acceptLoop`; more wait in the backlog. */
  maxConnections?: number
  /** Whether small packets are sent at once; default true. */
  noDelay?: boolean
  /** Whether the system looks now and then if the other side is still there; true, or after how many milliseconds. */
  keepAlive?: boolean | number
}

class Accept extends BaseOp<Stream | undefined> {
  constructor(private readonly server: Server) {
    super()
  }
  enter(fiber: Fiber): void {
    this.server.join(fiber, this)
  }
  abort(fiber: Fiber): void {
    this.server.leave(fiber)
  }
  describe(): string {
    return `${this.server.name}.accept()`
  }
}
;(Accept.prototype as { idle: boolean }).idle = true

/**
 * Listens for connections. Made by `listen`.
 *
 * ```ts
 * const server = yield* listen({ port: 0 })
 * const client = yield* connect({ port: server.port })
 * const socket = yield* server.accept()
 * yield* socket!.end('welcome\n')
 * console.log(yield* client.gets()) // welcome
 * yield* server.close()
 * ```
 */
export class Server {
  private readonly waiting = new Waiters()
  private readonly backlog: Stream[] = []
  private isOpen = true

  /** @internal */
  constructor(
    private readonly server: NodeServer,
    /** @internal */
    readonly maxConnections: number,
    private readonly limit: number,
  ) {
    server.unref()
  }

  /** The port, or 0 for a Unix socket. */
  get port(): number {
    const address = this.server.address()
    return typeof address === 'object' && address !== null ? address.port : 0
  }

  /** What it is, for the tree and for errors. */
  get name(): string {
    const address = this.server.address()
    if (address === null) return 'server'
    return typeof address === 'string' ? `server ${address}` : `server :${address.port}`
  }

  /** The next connection; `undefined` when the server is closed. */
  accept(): Op<Stream | undefined> {
    return new Accept(this)
  }

  /** Spins a fiber for each connection, until the server is closed or a body returns `false`; then waits for those that
   * are open. The connection is closed when its body is over. */
  acceptLoop<R>(body: (socket: Stream) => Returned<R>): Op<void> {
    const where = `${this.name}.acceptLoop()`
    checkBody(body, where)
    return repeatable(where, () => acceptLoop(this, body as (socket: Stream) => unknown))
  }

  /** Listens no more. Connections in the backlog are closed; those that were accepted are not. */
  close(): Op<void> {
    return repeatable(`${this.name}.close()`, () => this.shut())
  }

  private *shut() {
    this.destroy()
  }

  /** Listens no more. Never waits. */
  destroy(): void {
    if (!this.isOpen) return
    this.isOpen = false
    this.server.close()
    for (const stream of this.backlog.splice(0)) stream.destroy()
    for (let place = this.waiting.first; place !== null; place = this.waiting.first) {
      this.letGo(place.fiber as Fiber)
      this.waiting.give(place, undefined)
    }
  }

  /** @internal Somebody has connected. */
  connected(accepted: Socket): void {
    if (!this.isOpen) {
      accepted.destroy()
      return
    }
    const stream = socketStream(adopt(accepted))
    const place = this.waiting.first
    if (place !== null) {
      this.letGo(place.fiber as Fiber)
      this.waiting.give(place, stream)
    } else if (this.backlog.length < this.limit) this.backlog.push(stream)
    else stream.destroy()
  }

  /** @internal */
  join(fiber: Fiber, op: Accept): void {
    if (!this.isOpen) settle(fiber, op, undefined)
    else if (this.backlog.length > 0) settle(fiber, op, this.backlog.shift())
    else {
      this.waiting.join(fiber, undefined)
      fiber.runtime.hold()
      fiber.runtime.external++
    }
  }

  /** @internal */
  leave(fiber: Fiber): void {
    this.waiting.leave(fiber)
    this.letGo(fiber)
  }

  private letGo({ runtime }: Fiber): void {
    runtime.external--
    runtime.release()
  }
}

class Listen extends LateOp<Server> {
  private server: NodeServer | null = null
  private fiber: Fiber | null = null

  constructor(private readonly options: ListenOptions) {
    super()
  }

  enter(fiber: Fiber): void {
    if (this.fiber !== null) throw enteredTwice(this, this.fiber)
    const { port = 0, host, path, backlog = 511, maxConnections = Infinity, noDelay = true } = this.options
    const node = createServer({ allowHalfOpen: true, pauseOnConnect: true, noDelay })
    const server = new Server(node, maxConnections, backlog)
    node.on('connection', (socket) => server.connected(socket))
    this.fiber = fiber
    this.server = node
    fiber.runtime.hold()
    fiber.runtime.external++
    node.on('error', this.failed)
    node.once('listening', () => {
      if (this.fiber !== fiber) return
      this.over(fiber)
      settle(fiber, this, server)
    })
    node.listen(
      path === undefined ? { port, ...(host === undefined ? {} : { host }), backlog } : { path, backlog },
    )
  }

  private readonly failed = (error: Error): void => {
    const { fiber } = this
    if (fiber === null) return
    this.over(fiber)
    fail(fiber, this, ioError(error, this.describe()))
  }

  private over(fiber: Fiber): void {
    this.fiber = null
    this.server = null
    fiber.runtime.external--
    fiber.runtime.release()
  }

  abort(fiber: Fiber): void {
    this.server?.close()
    this.over(fiber)
  }

  override discard(server: Server): void {
    server.destroy()
  }

  describe(): string {
    const { port = 0, host = '', path } = this.options
    return `listen(${path ?? `${host}:${port}`})`
  }
}

/**
 * Listens on a TCP port or a Unix socket; goes on when it listens.
 *
 * ```ts
 * const server = yield* listen({ port: 0 })
 * spin(() => server.acceptLoop((socket) => socket.readLoop((chunk) => socket.write(chunk))))
 * const socket = yield* connect({ port: server.port })
 * yield* socket.end('echo\n')
 * console.log(yield* socket.gets()) // echo
 * yield* server.close()
 * ```
 */
export function listen(options: ListenOptions = {}): Op<Server> {
  checkOptions(
    options,
    ['port', 'host', 'path', 'backlog', 'maxConnections', 'noDelay', 'keepAlive'],
    'listen()',
  )
  return new Listen(options)
}

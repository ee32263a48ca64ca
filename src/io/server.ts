// A server: connections that were made and that nobody has accepted yet wait in its backlog.
//
//   the kernel --> Node accepts --> [ backlog ] --accept--> the first of the fibers that wait
//                              \--> dropped, when the backlog is full or descriptors run out
//
//   open -> closed

import type { Server as NetServer, Socket as NetSocket } from 'node:net'
import {
  check,
  type Fiber,
  IdleOp,
  type Op,
  op,
  type Returned,
  Ring,
  type Runtime,
  settle,
} from '../core/index.js'
import { Semaphore } from '../sync/index.js'
import { acceptLoop, type Handler } from './acceptloop.js'
import { adopt, adoption } from './adopt.js'
import { descriptorBound, descriptorOf } from './descriptors.js'
import { reasonOf } from './errors.js'
import { Line } from './line.js'
import { Socket } from './socket.js'
import { whereOf } from './socketoptions.js'

/** Trouble with accepting is reported once in so many milliseconds. */
const REPORT_EVERY = 60_000

/** How a server is doing. */
export interface ServerStats {
  /** Connections that have come. */
  readonly connections: number
  /** Those that wait to be accepted. */
  readonly backlog: number
  /** Those that are open in accept loops. */
  readonly open: number
  /** Those that were closed at once: the backlog was full, or descriptors were running out. */
  readonly dropped: number
  /** How often the system could not accept one. */
  readonly failed: number
  /** Fibers that wait for one. */
  readonly waiting: number
}

/** What an accept loop may be told. */
export interface AcceptLoopOptions<R = unknown> {
  /** Called with the error of a body instead of reporting it; may wait, and write. The connection is closed afterwards. */
  onError?: (error: unknown, socket: Socket) => Returned<R>
}

class Accept extends IdleOp<Socket | undefined> {
  constructor(private readonly server: Server) {
    super()
  }
  enter(fiber: Fiber): void {
    this.server.join(fiber, this)
  }
  abort(fiber: Fiber): void {
    this.server.leave(fiber)
  }
  /** It has got one, and was iterated by hand (S69). */
  override late(socket: Socket | undefined, fiber: Fiber): void {
    super.late(socket, fiber)
    if (socket !== undefined) this.server.putBack(socket)
  }
  describe(): string {
    return `${this.server.name}.accept()`
  }
  override get kind(): string {
    return 'accept'
  }
  override get resource(): object {
    return this.server
  }
}

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
  /** The address it listens on, or the path of its Unix socket. */
  readonly address: string
  /** The port, or 0 for a Unix socket. */
  readonly port: number
  /** What it is, for the tree and for errors. */
  readonly name: string
  /** @internal So many may be open in accept loops. Null: any number. */
  readonly room: Semaphore | null
  /** @internal How many are open in accept loops, and how many have been. */
  open = 0
  /** @internal */
  handled = 0
  protected readonly path: string | undefined
  private readonly line = new Line<Accept>(true)
  private readonly backlog = new Ring<Socket>()
  private readonly acceptOp = new Accept(this).droppable()
  private isOpen = true
  private connections = 0
  private dropped = 0
  private failed = 0
  private lastReport = -Infinity

  /** @internal */
  constructor(
    private readonly runtime: Runtime,
    private readonly server: NetServer,
    maxConnections: number,
    private readonly maxBacklog: number,
  ) {
    const place = server.address()
    this.path = typeof place === 'string' ? place : undefined
    this.port = typeof place === 'object' && place !== null ? place.port : 0
    this.address = typeof place === 'object' && place !== null ? place.address : (place ?? '')
    this.name = `server ${this.path ?? whereOf({ host: isAny(this.address) ? '' : this.address, port: this.port })}`
    this.room = maxConnections === Infinity ? null : new Semaphore(maxConnections, { name: 'maxConnections' })
  }

  /** The next connection; `undefined` when the server is closed. */
  accept(): Op<Socket | undefined> {
    return this.acceptOp.handOut()
  }

  /** A connection if one has come, else `undefined`. Never waits. */
  tryAccept(): Socket | undefined {
    return this.backlog.size > 0 ? this.backlog.shift() : undefined
  }

  /**
   * Spins a fiber for each connection, until the server is closed or a body returns `false`; then waits for those that
   * are open. When a body is over, its fiber's children are stopped, what was written is sent and the connection is
   * closed. The error of a body is reported and harms no other (S29); that the other side went away is none.
   *
   * ```ts
   * const server = yield* listen({ port: 0 })
   * spin(() =>
   *   server.acceptLoop(function* (socket) {
   *     const name = yield* socket.gets()
   *     yield* socket.write(`hello ${name}\n`)
   *   }),
   * )
   * const client = yield* connect({ port: server.port })
   * yield* client.write('world\n')
   * console.log(yield* client.gets(), yield* client.gets()) // hello world undefined
   * yield* server.close()
   * ```
   */
  acceptLoop<R, E>(body: (socket: Socket) => Returned<R>, options: AcceptLoopOptions<E> = {}): Op<void> {
    const where = `${this.name}.acceptLoop()`
    check.body(body, where)
    const { onError } = check.options(options, ['onError'], where)
    if (onError !== undefined) check.body(onError, `onError of ${where}`)
    return op(where, () => acceptLoop(this, body as Handler, onError as Handler | undefined))
  }

  /** Listens no more, and removes the file of a Unix socket. Connections in the backlog are closed; those that were accepted
   * are not. */
  close(): Op<void> {
    return op(`${this.name}.close()`, () => this.shut())
  }

  private *shut() {
    this.destroy()
  }

  /** As `close`, but never waits. */
  destroy(): void {
    if (!this.isOpen) return
    this.isOpen = false
    this.server.close()
    while (this.backlog.size > 0) this.backlog.shift().destroy()
    for (let place = this.line.first; place !== null; place = this.line.first) {
      this.line.give(place, undefined)
    }
  }

  /** Whether it listens no more. */
  get isClosed(): boolean {
    return !this.isOpen
  }

  /** For `use` and `await using`: closes it. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.destroy()
  }

  /** How it is doing. */
  stats(): ServerStats {
    const { connections, backlog, open, dropped, failed, line } = this
    return { connections, backlog: backlog.size, open, dropped, failed, waiting: line.size }
  }

  /** @internal Somebody has connected. */
  connected(accepted: NetSocket): void {
    if (!this.isOpen) {
      accepted.destroy()
      return
    }
    this.connections++
    if (descriptorOf(accepted) >= descriptorBound()) {
      this.drop(accepted)
      this.report(
        'descriptors are running out: connections are dropped until others are closed. ' +
          'Raise the limit (ulimit -n), or give listen({ maxConnections }) and a smaller backlog',
      )
    } else if (this.line.size === 0 && this.backlog.size >= this.maxBacklog) {
      this.drop(accepted)
      this.report(
        `the backlog of ${this.maxBacklog} connections is full: more are dropped until some are accepted`,
      )
    } else this.welcome(accepted)
  }

  /** A server that speaks TLS has more to do before a fiber gets it. */
  protected welcome(accepted: NetSocket): void {
    const socket = adopt(accepted)
    this.arrived(new Socket(socket, adoption.works === true, this.path))
  }

  private drop(accepted: NetSocket): void {
    this.dropped++
    accepted.destroy()
  }

  /** @internal A connection for the first who waits, or for the backlog. */
  arrived(socket: Socket): void {
    const place = this.line.first
    if (place === null) this.backlog.push(socket)
    else {
      this.line.give(place, socket)
    }
  }

  /** @internal Whoever had it has no use for it: it goes to the next. */
  putBack(socket: Socket): void {
    if (!this.isOpen) socket.destroy()
    else if (this.line.size > 0) this.arrived(socket)
    else this.backlog.unshift(socket)
  }

  /** @internal The system could not accept a connection. There will be others. */
  acceptFailed(error: unknown): void {
    this.failed++
    this.report(`a connection could not be accepted: ${reasonOf(error)}`)
  }

  private report(what: string): void {
    const now = this.runtime.now()
    if (now - this.lastReport < REPORT_EVERY) return
    this.lastReport = now
    const { dropped, failed } = this
    this.runtime.report({
      kind: 'dropped',
      message: `${this.name}: ${what} (so far: ${dropped} dropped, ${failed} failed)`,
    })
  }

  /** @internal */
  join(fiber: Fiber, op: Accept): void {
    if (!this.isOpen) settle(fiber, op, undefined)
    else if (this.backlog.size > 0) settle(fiber, op, this.backlog.shift())
    else this.line.join(fiber, op)
  }

  /** @internal */
  leave(fiber: Fiber): void {
    this.line.leave(fiber)
  }

  /** @internal A fiber that waits for a connection goes on without one. */
  dismiss(fiber: Fiber): void {
    for (const place of this.line) {
      if (place.fiber !== fiber) continue
      this.line.give(place, undefined)
      return
    }
  }
}

function isAny(address: string): boolean {
  return address === '::' || address === '0.0.0.0'
}

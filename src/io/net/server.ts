// A server: connections that were made and are not yet accepted wait in its backlog.
//
//   the kernel --> Node accepts --> [ backlog ] --accept--> the first of the fibers that wait, which owns it
//                              \--> dropped, when the backlog is full or descriptors run out
//
//   open -> closed

import { readFileSync } from 'node:fs'
import type { Server as NetServer, Socket as NetSocket } from 'node:net'
import {
  addCleanup,
  check,
  type Fiber,
  IdleOp,
  type Op,
  op,
  type Returned,
  Ring,
  type Runtime,
  runningFiber,
  settle,
} from '../../core/index.js'
import { Semaphore } from '../../sync/index.js'
import { closedByOwner, reasonOf, StreamClosed } from '../errors.js'
import { OutsideWaiters } from '../stream/outside-waiters.js'
import { AcceptLoop, type Handler } from './accept-loop.js'
import { type ChannelSettings, channelSettings, type SocketOptions, whereOf } from './options.js'
import { Socket } from './socket.js'

const NO_OPTIONS: AcceptOptions = {}

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

/** How a connection is accepted. */
export interface AcceptOptions {
  /** Whether the connection stays open when the scope or fiber that accepted it is over: the caller closes it. Default false. */
  detached?: boolean
}

class Accept extends IdleOp<Socket | undefined> {
  constructor(
    private readonly server: Server,
    /** Whether the fiber that accepts a connection owns it. */
    private readonly isOwned: boolean,
  ) {
    super()
  }
  enter(fiber: Fiber): void {
    this.server.join(fiber, this)
  }
  abort(fiber: Fiber): void {
    this.server.leave(fiber)
  }
  give(fiber: Fiber, socket: Socket | undefined): void {
    if (this.isOwned) socket?.ownedBy(fiber)
    settle(fiber, this, socket)
  }
  /** It has a connection, and was iterated by hand (S69). */
  override late(socket: Socket | undefined, fiber: Fiber): void {
    super.late(socket, fiber)
    socket?.disown()
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
  /** @internal Places for connections in accept loops. Null: any number. */
  readonly room: Semaphore | null
  /** @internal How many are open in accept loops, and how many have been. */
  open = 0
  /** @internal */
  handled = 0
  protected readonly settings: ChannelSettings
  private readonly line = new OutsideWaiters<Accept>(true)
  private readonly backlog = new Ring<Socket>()
  private readonly acceptOp = new Accept(this, true).droppable()
  /** @internal */
  readonly acceptDetached = new Accept(this, false).droppable()
  private isOpen = true
  private connections = 0
  private dropped = 0
  private failed = 0
  private lastReport = -Infinity
  /** Takes it off the cleanups of its owner. */
  private disown: (() => void) | null = null
  /** Why it is closed, if its owner did that. */
  private closedBy: string | null = null

  /** @internal */
  constructor(
    /** @internal */
    readonly runtime: Runtime,
    private readonly server: NetServer,
    options: SocketOptions,
    maxConnections: number,
    private readonly maxBacklog: number,
  ) {
    const place = server.address()
    const path = typeof place === 'string' ? place : undefined
    this.settings = channelSettings({ ...options, path })
    this.port = typeof place === 'object' && place !== null ? place.port : 0
    this.address = typeof place === 'object' && place !== null ? place.address : (place ?? '')
    this.name = `server ${path ?? whereOf({ host: isAny(this.address) ? '' : this.address, port: this.port })}`
    this.room = maxConnections === Infinity ? null : new Semaphore(maxConnections, { name: 'maxConnections' })
  }

  /** The next connection; `undefined` when the server is closed, and `StreamClosed` if its owner was over before the call. The connection belongs to the innermost `scope`, or else to the
   * fiber, that accepts it, and is closed with it, unless it is `detached`. */
  accept(options: AcceptOptions = NO_OPTIONS): Op<Socket | undefined> {
    return (this.isDetached(options, 'accept') ? this.acceptDetached : this.acceptOp).handOut()
  }

  /** A connection if one has come, else `undefined`. Never waits. It belongs to the running fiber, as with `accept`. */
  tryAccept(options: AcceptOptions = NO_OPTIONS): Socket | undefined {
    const isDetached = this.isDetached(options, 'tryAccept')
    if (this.backlog.size === 0) return undefined
    const socket = this.backlog.shift()
    const fiber = runningFiber()
    if (fiber !== null && !isDetached) socket.ownedBy(fiber)
    return socket
  }

  private isDetached(options: AcceptOptions, what: string): boolean {
    if (options === NO_OPTIONS) return false
    return check.options(options, { detached: check.boolean }, `${this.name}.${what}()`).detached === true
  }

  /**
   * Spins a fiber for each connection, until the server is closed or a body returns `false`; then waits for those that
   * are open. When a fiber is over, with its children, what was written is sent and the connection is closed, within
   * `closeTimeout`. The error of a body is reported and harms no other (S29); that the other side went away is none.
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
    return op(where, () => new AcceptLoop(this, body as Handler, onError as Handler | undefined).run())
  }

  /** Listens no more, and removes the file of a Unix socket. Connections in the backlog are closed; those that were accepted
   * are not. */
  close(): Op<void> {
    return op(`${this.name}.close()`, () => this.shut())
  }

  private *shut() {
    this.destroy()
  }

  /** @internal The innermost scope of the fiber, or else the fiber, closes it at its end, unless it is closed before. */
  ownedBy(fiber: Fiber): this {
    this.disown = addCleanup(fiber, () => this.ownerEnded(), this)
    return this
  }

  private ownerEnded(): void {
    this.closedBy = closedByOwner()
    this.destroy()
  }

  /** As `close`, but never waits. */
  destroy(): void {
    if (!this.isOpen) return
    this.isOpen = false
    this.disown?.()
    this.server.close()
    while (this.backlog.size > 0) this.backlog.shift().destroy()
    this.line.settleAll(undefined)
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

  /** @internal Whether there is room for one more, whose descriptor this is. */
  admits(descriptor: number): boolean {
    if (!this.isOpen) return false
    this.connections++
    if (descriptor >= descriptorBound()) {
      this.drop(
        'descriptors are running out: connections are dropped until others are closed. ' +
          'Raise the limit (ulimit -n), or give listen({ maxConnections }) and a smaller backlog',
      )
      return false
    }
    if (this.line.size > 0 || this.backlog.size < this.maxBacklog) return true
    this.drop(
      `the backlog of ${this.maxBacklog} connections is full: more are dropped until some are accepted`,
    )
    return false
  }

  private drop(why: string): void {
    this.dropped++
    this.report(why)
  }

  /** @internal A connection was made. A server that speaks TLS has more to do before a fiber gets it. */
  accepted(socket: NetSocket): void {
    this.arrived(new Socket(socket, this.settings))
  }

  /** @internal A connection for the first fiber in line, or for the backlog. */
  arrived(socket: Socket): void {
    const place = this.line.first
    if (place === null) this.backlog.push(socket)
    else {
      this.line.remove(place)
      place.item.give(place.fiber as Fiber, socket)
    }
  }

  /** @internal A connection for which there was no use goes to the next in line. */
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
    if (this.closedBy !== null) throw new StreamClosed(`${op.describe()} failed: ${this.closedBy}`)
    if (!this.isOpen) settle(fiber, op, undefined)
    else if (this.backlog.size > 0) op.give(fiber, this.backlog.shift())
    else this.line.join(fiber, op)
  }

  /** @internal */
  leave(fiber: Fiber): void {
    this.line.leave(fiber)
  }

  /** @internal A fiber that waits for a connection goes on without one. */
  dismiss(fiber: Fiber): void {
    for (const place of this.line) if (place.fiber === fiber) this.line.answer(place, undefined)
  }
}

function isAny(address: string): boolean {
  return address === '::' || address === '0.0.0.0'
}

// ---- how many descriptors are left: when the last is taken, libuv accepts and closes what comes without a word, and no code of
// the program can open a file. So the last few are not given to connections.

const MOST_KEPT = 64

/** How many this process may have; Infinity where the system does not tell. */
let limit: number | undefined

function limitOf(): number {
  try {
    const line = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))
    return line === null ? Infinity : Number(line[1])
  } catch {
    return Infinity
  }
}

/** Connections may have descriptors below this number: the system gives the lowest that is free. */
function descriptorBound(): number {
  limit ??= limitOf()
  return limit - Math.min(MOST_KEPT, Math.floor(limit / 8))
}

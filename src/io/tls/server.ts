// A server that speaks TLS. Handshakes come between the connections that Node accepts and the sockets that fibers get. They go on
// side by side, so a slow one does not delay the others. A handshake that fails is counted, and passed to onHandshakeError.
//
//   net server --socket--> [ handshakes underway ] --TlsSocket--> [ backlog ] --accept--> a fiber
//                                  \--> failed, or longer than handshakeTimeout
//
// A server of Node that never listens does the handshakes: each connection is handed to it. `setTls` makes a new one; the old one
// finishes the handshakes that it has begun.

import { randomBytes } from 'node:crypto'
import type { Server as NetServer, Socket as NetSocket } from 'node:net'
import { createServer, type Server as NodeTlsServer, type SecureContext, TLSSocket } from 'node:tls'
import {
  BadArgument,
  check,
  Fiber,
  isStop,
  NonErrorThrown,
  type Op,
  onEnd,
  op,
  type Returned,
  type Routine,
  type Runtime,
  runBody,
  show,
  spinRoot,
  type TimerNode,
} from '../../core/index.js'
import type { SocketOptions } from '../net/options.js'
import { type AcceptLoopOptions, type AcceptOptions, Server, type ServerStats } from '../net/server.js'
import {
  checkServerTls,
  contextOf,
  given,
  handshakeTimeout,
  type Sni,
  serverError,
  type TlsContext,
  type TlsServerOptions,
  tried,
} from './options.js'
import { TlsSocket } from './socket.js'

const HANDSHAKE_MS = 10_000
/** Node has a time limit of its own, 2 minutes by default: ours is the only one. */
const NEVER = 2 ** 31 - 1

/** The handshakes of a server. */
export interface HandshakeStats {
  /** Handshakes that have begun and are not over. */
  readonly underway: number
  /** Handshakes that succeeded. */
  readonly done: number
  /** Handshakes that failed: no TLS, a hang-up, no version or cipher in common, a bad certificate, too slow. */
  readonly failed: number
}

/** The counters of a server that speaks TLS. */
export interface TlsServerStats extends ServerStats {
  /** Its handshakes. */
  readonly handshakes: HandshakeStats
}

/**
 * Listens for TLS connections. Made by `listen` with `tls`. A handshake that fails or is never finished delays no other connection
 * and ends no loop: it is counted in `stats()` and passed to `onHandshakeError`.
 *
 * ```ts
 * function* renew(server: TlsServer, read: () => Op<{ cert: Buffer; key: Buffer }>) {
 *   yield* every(24 * 3_600_000, function* () {
 *     server.setTls(yield* read())
 *   })
 * }
 * ```
 */
export class TlsServer extends Server {
  /** @internal */
  constructor(
    private readonly handshakes: Handshakes,
    runtime: Runtime,
    node: NetServer,
    options: SocketOptions,
    maxConnections: number,
    maxBacklog: number,
  ) {
    super(runtime, node, options, maxConnections, maxBacklog)
    handshakes.admit = (secure) => {
      // A socket that is written and closed in the tick in which its handshake ends would send no close_notify: Node's TLS 1.3 is
      // still sending at that moment.
      setImmediate(this.admit, new TlsSocket(secure, this.settings))
    }
  }

  private readonly admit = (socket: TlsSocket): void => {
    if (this.isClosed) socket.destroy()
    else this.arrived(socket)
  }

  /** The next connection whose handshake is done; `undefined` when the server is closed. */
  override accept(options?: AcceptOptions): Op<TlsSocket | undefined> {
    return super.accept(options) as Op<TlsSocket | undefined>
  }

  /** A connection whose handshake is done, if there is one, else `undefined`. Never waits. */
  override tryAccept(options?: AcceptOptions): TlsSocket | undefined {
    return super.tryAccept(options) as TlsSocket | undefined
  }

  /** As `acceptLoop` of every server, for connections whose handshake is done. */
  override acceptLoop<R, E>(
    body: (socket: TlsSocket) => Returned<R>,
    options: AcceptLoopOptions<E> = {},
  ): Op<void> {
    return super.acceptLoop(body as never, options)
  }

  /** Changes certificates, keys or rules for later handshakes; options that are not named stay as they were. Open connections live
   * on. If an option is wrong it throws, and nothing has changed. */
  setTls(changes: TlsServerOptions): void {
    this.handshakes.update(changes, `${this.name}.setTls()`)
  }

  /** Stops listening. Connections in the backlog are closed and handshakes are cut; connections that were accepted stay open. Waits
   * for bodies of `sni` that are still cleaning up. */
  override close(): Op<void> {
    return op(`${this.name}.close()`, () => this.closed())
  }

  private *closed(): Routine<void> {
    this.destroy()
    const { current } = Fiber
    for (const fiber of this.handshakes.sniFibers) if (fiber !== current) yield* fiber.join()
  }

  /** As `close`, but never waits. */
  override destroy(): void {
    this.handshakes.close()
    super.destroy()
  }

  /** Its counters. */
  override stats(): TlsServerStats {
    return { ...super.stats(), handshakes: this.handshakes.stats() }
  }

  /** @internal */
  override accepted(accepted: NetSocket): void {
    this.handshakes.begin(accepted, this.settings.path === undefined ? peerOf(accepted) : 'a Unix socket')
  }
}

// ---- handshakes

/** A handshake that is underway, and its time limit. */
class Handshake implements TimerNode {
  time = 0
  seq = 0
  index = -1

  constructor(
    readonly socket: NetSocket,
    /** The address of the client, for messages. It is unknown once the connection is closed. */
    readonly peer: string,
    readonly ms: number,
    private readonly expired: (handshake: Handshake) => void,
  ) {}

  fire(): void {
    this.expired(this)
  }
}

function peerOf({ remoteAddress, remotePort, remoteFamily }: NetSocket): string {
  if (remoteAddress === undefined) return 'a client that has hung up'
  return remoteFamily === 'IPv6' ? `[${remoteAddress}]:${remotePort}` : `${remoteAddress}:${remotePort}`
}

/** @internal The handshakes of a server. Made before it listens, so that a bad certificate is an error of `listen`. */
export class Handshakes {
  /** Fibers that run the body of `sni`. */
  readonly sniFibers = new Set<Fiber>()
  /** Called with each connection whose handshake is done. Null: the server is closed, or does not listen yet. */
  admit: ((secure: TLSSocket) => void) | null = null
  private readonly underway = new Map<NetSocket, Handshake>()
  private node: NodeTlsServer
  private ticketKeys: Buffer
  private done = 0
  private failed = 0

  constructor(
    private options: TlsServerOptions,
    private readonly alpn: readonly string[] | undefined,
    private readonly runtime: Runtime,
    /** The call that it was given to, for messages. */
    private readonly where: string,
  ) {
    this.ticketKeys = options.ticketKeys ?? randomBytes(48)
    this.node = this.serverFor(options, where)
  }

  /** Changes options for later handshakes. If it throws, nothing has changed. */
  update(changes: TlsServerOptions, where: string): void {
    checkServerTls(changes, undefined, where)
    const options = { ...this.options, ...changes }
    // A client that is no longer trusted must not come back by an old session.
    const changesTrust = ['ca', 'crl', 'requestCert', 'rejectUnauthorized'].some((name) => name in changes)
    const before = this.ticketKeys
    this.ticketKeys = changes.ticketKeys ?? (changesTrust ? randomBytes(48) : before)
    try {
      this.node = this.serverFor(options, where)
      this.options = options
    } catch (error) {
      this.ticketKeys = before
      throw error
    }
  }

  /** A server of Node for handshakes with these options. */
  private serverFor(options: TlsServerOptions, where: string): NodeTlsServer {
    const { sni, handshakeTimeout: _ours, onHandshakeError, ...rest } = options
    const { alpn, ticketKeys } = this
    const settings = {
      ...given(rest),
      ticketKeys,
      handshakeTimeout: NEVER,
      ...(alpn === undefined ? {} : { ALPNProtocols: [...alpn] }),
      ...(sni === undefined
        ? {}
        : { SNICallback: this.sniCallback(sni, where, onHandshakeError === undefined) }),
    }
    const node = tried(() => createServer(settings as object), where)
    node.on('secureConnection', (secure) => this.secured(secure))
    node.on('tlsClientError', (error, secure) => this.broken(error, secure))
    return node
  }

  /** Begins the handshake of a connection. */
  begin(socket: NetSocket, peer: string): void {
    if (socket.destroyed) return
    const { runtime } = this
    const { handshakeTimeout: ms = HANDSHAKE_MS } = this.options
    const handshake = new Handshake(socket, peer, ms, this.expired)
    this.underway.set(socket, handshake)
    // The timer is weak, and the socket holds no process: a server does so only while a fiber waits for it (S64).
    if (ms < Infinity) runtime.addWeakTimer(handshake, runtime.now() + ms)
    socket.unref()
    socket.allowHalfOpen = false // a hang-up ends the handshake; afterwards it is half-open again
    this.node.emit('connection', socket)
  }

  private secured(secure: TLSSocket): void {
    if (this.take(parentOf(secure)) === undefined || this.admit === null) {
      secure.destroy() // the server was closed
      return
    }
    this.done++
    secure.allowHalfOpen = true
    this.admit(secure)
  }

  private broken(error: Error, secure: TLSSocket): void {
    const handshake = this.take(parentOf(secure))
    if (handshake === undefined) return // it has failed before
    const refusal = secure.authorizationError as unknown as string | null
    this.fail(serverError(error, handshake.peer, refusal ?? undefined))
  }

  private readonly expired = ({ socket, peer, ms }: Handshake): void => {
    this.take(socket)
    socket.destroy()
    this.fail(handshakeTimeout(peer, ms))
  }

  /** Removes a handshake that is over; undefined if it was removed before. */
  private take(socket: NetSocket): Handshake | undefined {
    const handshake = this.underway.get(socket)
    if (handshake === undefined) return undefined
    this.underway.delete(socket)
    this.runtime.weakTimers.remove(handshake)
    return handshake
  }

  private fail(error: ReturnType<typeof serverError>): void {
    this.failed++
    const { onHandshakeError } = this.options
    try {
      onHandshakeError?.(error)
    } catch (thrown) {
      this.runtime.uncaught(thrown, `onHandshakeError of ${this.where} failed`)
    }
  }

  /** Cuts all handshakes. */
  close(): void {
    this.admit = null
    for (const socket of this.underway.keys()) {
      this.take(socket)
      socket.destroy()
    }
    for (const fiber of this.sniFibers) fiber.stop(undefined, { reason: 'the server was closed' })
  }

  stats(): HandshakeStats {
    return { underway: this.underway.size, done: this.done, failed: this.failed }
  }

  // ---- SNI: the certificate for the name that a client asks for

  /** A callback for Node. The contexts of a table are made at once, so that a bad certificate is an error of `listen`. */
  private sniCallback(sni: Sni, where: string, isReported: boolean): SniCallback {
    if (typeof sni === 'function') {
      check.body(sni, `sni of ${where}`)
      return this.sniBody(sni, where, isReported)
    }
    if (typeof sni !== 'object' || sni === null) {
      throw new BadArgument(
        `sni of ${where} needs certificates by name, or a function that finds them, got ${show(sni)}`,
      )
    }
    const table = new Map<string, SecureContext>()
    for (const [name, options] of Object.entries(sni)) {
      table.set(name.toLowerCase(), contextOf(options, `sni ${show(name)} of ${where}`))
    }
    return (servername, answer) => {
      const name = servername.toLowerCase()
      answer(null, table.get(name) ?? table.get(name.replace(/^[^.]+/, '*')))
    }
  }

  /** Runs a body for each name, on a fiber of its own: it may wait, to read a file or ask a database. */
  private sniBody(sni: (servername: string) => unknown, where: string, isReported: boolean): SniCallback {
    const { runtime, sniFibers } = this
    function* find(servername: string, answer: Answer): Routine<void> {
      const what = `sni(${show(servername)}) of ${where}`
      try {
        const found = (yield* runBody(sni, servername)) as TlsContext | null | undefined
        answer(null, found == null ? undefined : contextOf(found, what))
      } catch (error) {
        if (isStop(error)) throw error
        if (isReported) runtime.uncaught(error, `${what} failed`)
        answer(error instanceof Error ? error : new NonErrorThrown(error, what))
      }
    }
    // Node calls it as a method of the socket, which tells when the client hangs up.
    return function (this: unknown, servername, answer) {
      const name = `sni ${printable(servername)}`
      const fiber = spinRoot(runtime, () => find(servername, answer), { name, link: false })
      onEnd(fiber, () => sniFibers.delete(fiber))
      sniFibers.add(fiber)
      if (this instanceof TLSSocket) this.once('close', () => fiber.stop(undefined, { reason: 'hung up' }))
    }
  }
}

/** The connection below TLS. */
function parentOf(secure: TLSSocket): NetSocket {
  return (secure as unknown as { _parent: NetSocket })._parent
}

type Answer = (error: Error | null, context?: SecureContext) => void
type SniCallback = (this: unknown, servername: string, answer: Answer) => void

/** A client can send any bytes as the name: what is not the name of a host is escaped. */
function printable(servername: string): string {
  return /^[\w.-]+$/.test(servername) ? servername : show(servername)
}

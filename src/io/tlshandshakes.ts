// The handshakes of a server, between the connections that Node has accepted and the sockets that fibers get.
// Each goes its own way, so a slow one holds up nobody; one that fails is counted, and told to whoever asked.
//
//   net server --a socket--> [ handshakes underway ] --a TlsSocket--> [ backlog ] --accept--> a fiber
//                                     \--> failed: counted, told to onHandshakeError
//
// The shaking itself is done by a server of Node's that never listens and is handed each connection. New certificates: a
// new such server; the old one serves those who are in the middle of it.

import { randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import { createServer, type Server as NodeTlsServer, type TLSSocket } from 'node:tls'
import type { Fiber, Runtime } from '../core/index.js'
import { handshakeTimeout, serverError } from './tlserrors.js'
import { checkServerTls, given, type TlsServerOptions, tried } from './tlsoptions.js'
import { sniOf } from './tlssni.js'

const HANDSHAKE_MS = 10_000

/** The handshakes of a server. */
export interface HandshakeStats {
  /** Those that are not over yet. */
  readonly underway: number
  /** Those that ended well. */
  readonly done: number
  /** Those that did not: not TLS, hung up, nothing in common, a bad certificate, too slow. */
  readonly failed: number
}

/** One that is not over yet. */
interface Handshake {
  readonly peer: string
  readonly timer: NodeJS.Timeout
}

export class Handshakes {
  private readonly underway = new Map<Socket, Handshake>()
  /** Fibers that look for a certificate. */
  readonly searchers = new Set<Fiber>()
  private node: NodeTlsServer
  private options: TlsServerOptions
  private ticketKeys: Buffer
  private done = 0
  private failed = 0
  /** Gets those that are done. */
  admit: ((secure: TLSSocket) => void) | null = null

  constructor(
    options: TlsServerOptions,
    private readonly alpn: readonly string[] | undefined,
    private readonly runtime: Runtime,
    private readonly where: string,
  ) {
    this.options = options
    this.ticketKeys = options.ticketKeys ?? randomBytes(48)
    this.node = this.shaker(options, where)
  }

  /** For the handshakes to come; what is not named stays as it was. If it is no good, all stays as it was. */
  update(changes: TlsServerOptions, where: string): void {
    checkServerTls(changes, undefined, where)
    const options = { ...this.options, ...changes }
    // Who was trusted before must not come back by an old session.
    const isStricter =
      'ca' in changes || 'crl' in changes || 'requestCert' in changes || 'rejectUnauthorized' in changes
    const before = this.ticketKeys
    this.ticketKeys = changes.ticketKeys ?? (isStricter ? randomBytes(48) : before)
    try {
      this.node = this.shaker(options, where)
      this.options = options
    } catch (error) {
      this.ticketKeys = before
      throw error
    }
  }

  private shaker(options: TlsServerOptions, where: string): NodeTlsServer {
    const { sni, handshakeTimeout: _own, onHandshakeError, ...rest } = options
    const { alpn, runtime, searchers, ticketKeys } = this
    const asked = { runtime, where, searchers, isAlone: onHandshakeError === undefined }
    const settings = {
      ...given(rest),
      ticketKeys,
      ...(alpn === undefined ? {} : { ALPNProtocols: [...alpn] }),
      ...(sni === undefined ? {} : { SNICallback: sniOf(sni, asked) as () => void }),
    }
    const node = tried(() => createServer(settings), where)
    node.on('secureConnection', (socket) => this.secured(socket))
    node.on('tlsClientError', (error, socket) => this.broken(error, socket))
    return node
  }

  /** A connection was accepted. */
  begin(socket: Socket): void {
    if (socket.destroyed) return
    const { handshakeTimeout: ms = HANDSHAKE_MS } = this.options
    const peer = peerOf(socket)
    const timer = setTimeout(() => this.expired(socket, ms), ms).unref()
    this.underway.set(socket, { peer, timer })
    socket.unref()
    socket.allowHalfOpen = false // a hang-up ends the handshake; afterwards it is half-open again
    this.node.emit('connection', socket)
  }

  private secured(secure: TLSSocket): void {
    if (this.over(secure) === undefined || this.admit === null) {
      secure.destroy() // the server was closed
      return
    }
    this.done++
    secure.allowHalfOpen = true
    this.admit(secure)
  }

  private broken(error: Error, secure: TLSSocket): void {
    const handshake = this.over(secure)
    if (handshake === undefined) return // it was told before
    const refusal = secure.authorizationError as unknown as string | null
    this.tell(serverError(error, handshake.peer, refusal ?? undefined))
  }

  private expired(socket: Socket, ms: number): void {
    const handshake = this.underway.get(socket) as Handshake
    this.underway.delete(socket)
    socket.destroy()
    this.tell(handshakeTimeout(handshake.peer, ms))
  }

  /** Takes it off the list; undefined if it was not on it any more. */
  private over(secure: TLSSocket): Handshake | undefined {
    const socket = (secure as unknown as { _parent: Socket })._parent
    const handshake = this.underway.get(socket)
    if (handshake === undefined) return undefined
    this.underway.delete(socket)
    clearTimeout(handshake.timer)
    return handshake
  }

  private tell(error: ReturnType<typeof serverError>): void {
    this.failed++
    const { onHandshakeError } = this.options
    try {
      onHandshakeError?.(error)
    } catch (thrown) {
      this.runtime.uncaught(thrown, `onHandshakeError of ${this.where} failed`)
    }
  }

  /** Nobody wants them any more. */
  close(): void {
    this.admit = null
    for (const [socket, { timer }] of this.underway) {
      clearTimeout(timer)
      socket.destroy()
    }
    this.underway.clear()
    for (const fiber of this.searchers) fiber.stop(undefined, { reason: 'the server was closed' })
  }

  stats(): HandshakeStats {
    return { underway: this.underway.size, done: this.done, failed: this.failed }
  }
}

function peerOf({ remoteAddress, remotePort, remoteFamily }: Socket): string {
  if (remoteAddress === undefined) return 'a Unix socket'
  return remoteFamily === 'IPv6' ? `[${remoteAddress}]:${remotePort}` : `${remoteAddress}:${remotePort}`
}

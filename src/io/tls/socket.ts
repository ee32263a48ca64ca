// A TLS connection: a Socket, with the results of its handshake. And the handshake of a client, which is part of `connect`.

import { isIP } from 'node:net'
import { connect, type PeerCertificate, type TLSSocket } from 'node:tls'
import type { ChannelSettings } from '../net/options.js'
import { Socket, type SocketChannel } from '../net/socket.js'
import { given, type TlsClientOptions, tried } from './options.js'

/**
 * A TLS connection whose handshake is done. Made by `connect`, and by `accept` and `acceptLoop` of a server that listens with
 * `tls`. `end()` sends close_notify: no more bytes will follow. Reading goes on as long as the other side writes; some
 * programs close the connection at once instead.
 *
 * ```ts
 * function* greet(socket: TlsSocket) {
 *   const { alpnProtocol, servername, protocol } = socket
 *   yield* socket.write(`welcome to ${servername}: ${alpnProtocol} over ${protocol}\n`)
 * }
 * const serve = (server: TlsServer) => server.acceptLoop(greet)
 * ```
 */
export class TlsSocket extends Socket {
  /** The version of TLS: `TLSv1.3`. */
  readonly protocol: string
  /** Whether an earlier session was resumed. */
  readonly isResumed: boolean
  private readonly label: string
  private certificate: PeerCertificate | undefined
  private lastSession: Buffer | undefined

  /** @internal */
  constructor(socket: TLSSocket, settings: ChannelSettings) {
    socket.pause() // no bytes are read before a fiber reads
    super(socket, settings)
    this.protocol = socket.getProtocol() ?? ''
    this.isResumed = socket.isSessionReused()
    this.label = super.name.replace(/^\w+/, 'tls')
    if (this.protocol !== 'TLSv1.3') this.lastSession = socket.getSession()
    socket.on('session', (session: Buffer) => {
      this.lastSession = session
    })
  }

  /** Gives the socket back to Node, as `detach` of every socket: for libraries that take a `TLSSocket`. */
  override detach(): TLSSocket {
    return super.detach() as TLSSocket
  }

  private get tls(): TLSSocket {
    return (this.channel as SocketChannel).socket as unknown as TLSSocket
  }

  /** Its name in messages: `tls 127.0.0.1:443`. */
  override get name(): string {
    return this.label
  }

  /** The protocol that was agreed on (ALPN): the first in the server's list that the client offered. */
  get alpnProtocol(): string | undefined {
    return this.tls.alpnProtocol || undefined
  }

  /** The name of the server that the client asked for (SNI). */
  get servername(): string | undefined {
    return (this.tls as { servername?: string | false }).servername || undefined
  }

  /** Whether the certificate of the other side is trusted. On a server, false unless it asks clients for a certificate. */
  get authorized(): boolean {
    return this.tls.authorized
  }

  /** Why it is not trusted, as a code of Node: `DEPTH_ZERO_SELF_SIGNED_CERT`. */
  get authorizationError(): string | undefined {
    const why: unknown = this.tls.authorizationError
    if (why === null || why === undefined) return undefined
    return (why as NodeJS.ErrnoException).code ?? String(why)
  }

  /** The certificate of the other side, if it has sent one. First read it before the connection is closed. */
  get peerCertificate(): PeerCertificate | undefined {
    if (this.certificate !== undefined) return this.certificate
    const certificate = this.tls.getPeerCertificate()
    if (certificate?.raw === undefined) return undefined
    return (this.certificate = certificate)
  }

  /** The session of a client: a later `connect({ tls: { session } })` has a shorter handshake. With TLS 1.3 it arrives
   * after the handshake, with the first bytes that are read. */
  get session(): Buffer | undefined {
    return this.lastSession
  }
}

interface Target {
  host?: string
  noDelay?: boolean
  keepAlive?: boolean
  keepAliveInitialDelay?: number
}

/** Connects and begins the handshake; the event 'secureConnect' tells its end. */
export function connectTls(
  target: object,
  tls: TlsClientOptions,
  alpn: readonly string[] | undefined,
  where: string,
): TLSSocket {
  const { host = 'localhost', noDelay, keepAlive, keepAliveInitialDelay } = target as Target
  const { servername = isIP(host) === 0 ? host : '' } = tls
  const options = {
    ...target,
    ...given(tls),
    ...(servername === '' ? {} : { servername }),
    ...(alpn === undefined ? {} : { ALPNProtocols: [...alpn] }),
  }
  const socket: TLSSocket = tried(() => connect(options as object), where)
  // tls.connect ignores these options.
  socket.setNoDelay(noDelay)
  if (keepAlive) socket.setKeepAlive(true, keepAliveInitialDelay)
  return socket
}

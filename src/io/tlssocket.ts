// A connection whose bytes are encrypted on their way: what Socket promises, and what the handshake has told.

import type { PeerCertificate, TLSSocket } from 'node:tls'
import { Socket, type SocketChannel } from './socket.js'

/**
 * A TLS connection whose handshake is done. Made by `connect`, and by `accept` and `acceptLoop` of a server that listens with
 * `tls`. `end()` tells the other side that no more will come (close_notify), and reading goes on as long as the other
 * side writes; some programs close at once instead.
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
  /** The version: `TLSv1.3`. */
  readonly protocol: string
  /** Whether an earlier session was resumed. */
  readonly isResumed: boolean
  private readonly label: string
  private certificate: PeerCertificate | undefined
  private lastSession: Buffer | undefined

  /** @internal */
  constructor(socket: TLSSocket, path?: string) {
    socket.pause() // nothing comes before somebody asks
    super(socket, false, path)
    this.protocol = socket.getProtocol() ?? ''
    this.isResumed = socket.isSessionReused()
    this.label = super.name.replace(/^\w+/, 'tls')
    if (this.protocol !== 'TLSv1.3') this.lastSession = socket.getSession()
    socket.on('session', (session: Buffer) => {
      this.lastSession = session
    })
  }

  private get tls(): TLSSocket {
    return (this.channel as SocketChannel).socket as unknown as TLSSocket
  }

  /** What it is: `tls 127.0.0.1:443`. */
  override get name(): string {
    return this.label
  }

  /** The protocol that both sides speak (ALPN): the first in the server's list that the client offered. */
  get alpnProtocol(): string | undefined {
    return this.tls.alpnProtocol || undefined
  }

  /** The name of the server that the client asked for (SNI). */
  get servername(): string | undefined {
    return (this.tls as { servername?: string | false }).servername || undefined
  }

  /** Whether the other side has proved who it is. A server knows it only of clients that it asks for a certificate. */
  get authorized(): boolean {
    return this.tls.authorized
  }

  /** Why it has not, in Node's word: `DEPTH_ZERO_SELF_SIGNED_CERT`. */
  get authorizationError(): string | undefined {
    const why: unknown = this.tls.authorizationError
    if (why === null || why === undefined) return undefined
    return (why as NodeJS.ErrnoException).code ?? String(why)
  }

  /** The certificate of the other side, if it has shown one. Ask before the connection is closed. */
  get peerCertificate(): PeerCertificate | undefined {
    if (this.certificate !== undefined) return this.certificate
    const certificate = this.tls.getPeerCertificate()
    if (certificate?.raw === undefined) return undefined
    return (this.certificate = certificate)
  }

  /** Of a client: with it, a later `connect({ tls: { session } })` needs a shorter handshake. With TLS 1.3 it comes
   * after the handshake, with the first bytes that are read. */
  get session(): Buffer | undefined {
    return this.lastSession
  }
}

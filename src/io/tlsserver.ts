// A server that speaks TLS: a connection goes to a fiber when its handshake is done (tlshandshakes.ts).

import type { Server as NetServer, Socket as NetSocket } from 'node:net'
import { Fiber, type Op, op, type Returned, type Routine, type Runtime } from '../core/index.js'
import { type AcceptLoopOptions, Server, type ServerStats } from './server.js'
import type { HandshakeStats, Handshakes } from './tlshandshakes.js'
import type { TlsServerOptions } from './tlsoptions.js'
import { TlsSocket } from './tlssocket.js'

/** How a server that speaks TLS is doing. */
export interface TlsServerStats extends ServerStats {
  /** Its handshakes. */
  readonly handshakes: HandshakeStats
}

/**
 * Listens for TLS connections. Made by `listen` with `tls`. A handshake that fails or is never finished holds up nobody,
 * and no loop ends because of it: it is counted in `stats()` and told to `onHandshakeError`.
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
    maxConnections: number,
    maxBacklog: number,
  ) {
    super(runtime, node, maxConnections, maxBacklog)
    handshakes.admit = (secure) => {
      // Written and closed in the very tick in which the handshake ends, it would go without a goodbye: Node's TLS 1.3 is
      // still sending then, and forgets close_notify.
      setImmediate(this.admit, new TlsSocket(secure, this.path))
    }
  }

  private readonly admit = (socket: TlsSocket): void => {
    if (this.isClosed) socket.destroy()
    else this.arrived(socket)
  }

  /** The next connection whose handshake is done; `undefined` when the server is closed. */
  override accept(): Op<TlsSocket | undefined> {
    return super.accept() as Op<TlsSocket | undefined>
  }

  /** A connection if one has come, else `undefined`. Never waits. */
  override tryAccept(): TlsSocket | undefined {
    return super.tryAccept() as TlsSocket | undefined
  }

  /** As that of every server; handshakes that fail are no concern of it. */
  override acceptLoop<R, E>(
    body: (socket: TlsSocket) => Returned<R>,
    options: AcceptLoopOptions<E> = {},
  ): Op<void> {
    return super.acceptLoop(body as never, options)
  }

  /** New certificates, keys or rules for the handshakes to come; what is not named stays as it was. Connections that are
   * there live on. If something is wrong with them it throws, and all stays as it was. */
  setTls(changes: TlsServerOptions): void {
    this.handshakes.update(changes, `${this.name}.setTls()`)
  }

  /** Listens no more. Connections in the backlog are closed, and handshakes cut; those that were accepted are not. Waits
   * for bodies of `sni` that are still cleaning up. */
  override close(): Op<void> {
    return op(`${this.name}.close()`, () => this.closed())
  }

  private *closed(): Routine<void> {
    this.destroy()
    const { current } = Fiber
    for (const fiber of this.handshakes.searchers) if (fiber !== current) yield* fiber.join()
  }

  /** As `close`, but never waits. */
  override destroy(): void {
    this.handshakes.close()
    super.destroy()
  }

  /** How it is doing. */
  override stats(): TlsServerStats {
    return { ...super.stats(), handshakes: this.handshakes.stats() }
  }

  protected override welcome(accepted: NetSocket): void {
    this.handshakes.begin(accepted)
  }
}

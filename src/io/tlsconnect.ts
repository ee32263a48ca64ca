// The TLS side of `connect`: the handshake is part of it, and one that fails is an error of `connect`.

import { isIP } from 'node:net'
import { connect, type TLSSocket } from 'node:tls'
import { given, type TlsClientOptions, tried } from './tlsoptions.js'

interface Target {
  host?: string
  noDelay?: boolean
  keepAlive?: boolean
  keepAliveInitialDelay?: number
}

/** A socket that connects and shakes hands; 'secureConnect' tells when that is done. */
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
    onread: undefined, // the bytes come decrypted, through Node's readable side
  }
  const socket: TLSSocket = tried(() => connect(options as object), where)
  // Node's TLS takes no notice of them.
  socket.setNoDelay(noDelay)
  if (keepAlive) socket.setKeepAlive(true, keepAliveInitialDelay)
  return socket
}

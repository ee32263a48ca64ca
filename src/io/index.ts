// Input and output ('polyphony/io'): streams of bytes over standard input, sockets and memory.

export type { Channel, Chunk, Receiver } from './channel.js'
export { type ConnectOptions, connect } from './connect.js'
export { IOError, LimitExceeded, StreamClosed, UnexpectedEnd } from './errors.js'
export type { StreamStats } from './flow.js'
export { type ListenOptions, listen } from './listen.js'
export { pair, pipe } from './memory.js'
export { type AcceptLoopOptions, Server, type ServerStats } from './server.js'
export { Socket } from './socket.js'
export type { SocketOptions } from './socketoptions.js'
export { gets, stdin } from './stdin.js'
export {
  type LimitOptions,
  type Reader,
  type ReadLoopOptions,
  Stream,
  type Writer,
} from './stream.js'
export type { HandshakeStats } from './tlshandshakes.js'
export type { Sni, TlsClientOptions, TlsContext, TlsServerOptions } from './tlsoptions.js'
export { TlsServer, type TlsServerStats } from './tlsserver.js'
export { TlsSocket } from './tlssocket.js'

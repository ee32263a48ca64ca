// Input and output ('polyphony/io'): streams of bytes over standard input and output, files, sockets and memory; UDP; compression.

export type { Channel, Chunk, Receiver } from './channel.js'
export type { ProcessOptions, Stdio } from './command.js'
export { type ConnectOptions, connect } from './connect.js'
export { type ByteSource, type CopyOptions, copy } from './copy.js'
export { CorruptInput, IOError, LimitExceeded, ProcessFailed, StreamClosed, UnexpectedEnd } from './errors.js'
export { type ExecOptions, type Executed, exec } from './exec.js'
export { File } from './file.js'
export type { StreamStats } from './flow.js'
export { type FromNode, type FromNodeOptions, fromNode } from './fromnode.js'
export type { GzipHeader, GzipHeaderOptions } from './gzipheader.js'
export { type Lines, readLines } from './lines.js'
export { type ListenOptions, listen } from './listen.js'
export { type Address, type LookupOptions, lookup } from './lookup.js'
export { pair, pipe } from './memory.js'
export { type FileFlags, openFile } from './openfile.js'
export { Process, type ProcessEnd, type ProcessStats } from './process.js'
export { type AcceptLoopOptions, Server, type ServerStats } from './server.js'
export { Socket } from './socket.js'
export type { SocketOptions } from './socketoptions.js'
export {
  type SpawnProcessOptions,
  spawnProcess,
  type WatchProcessOptions,
  watchProcess,
} from './spawnprocess.js'
export { gets, stdin } from './stdin.js'
export { stderr, stdout } from './stdout.js'
export { type LimitOptions, type Reader, type ReadLoopOptions, Stream, type Writer } from './stream.js'
export type { HandshakeStats } from './tlshandshakes.js'
export type { Sni, TlsClientOptions, TlsContext, TlsServerOptions } from './tlsoptions.js'
export { TlsServer, type TlsServerStats } from './tlsserver.js'
export { TlsSocket } from './tlssocket.js'
export { type Datagram, type GroupOptions, UdpSocket, type UdpStats } from './udp.js'
export { type UdpOptions, udp } from './udpopen.js'
export type { Destination } from './udpsend.js'
export { appendFile, type ReadFileOptions, readFile, type WriteFileOptions, writeFile } from './wholefile.js'
export {
  type BrotliOptions,
  brotli,
  type DeflateOptions,
  deflate,
  type GunzipOptions,
  type GzipOptions,
  gunzip,
  gzip,
  inflate,
  type UnzipOptions,
  unbrotli,
} from './zip.js'

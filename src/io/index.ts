// Input and output ('polyphony/io'): streams over sockets, TLS, files, processes, standard input and output, and memory; UDP, compression.
// What all streams have in common is in stream/; net/, tls/, file/ and process/ build on it.

export { CorruptInput, IOError, LimitExceeded, ProcessFailed, StreamClosed, UnexpectedEnd } from './errors.js'
export { File } from './file/file.js'
export { type Lines, readLines } from './file/lines.js'
export { type FileFlags, type OpenFileOptions, openFile } from './file/open.js'
export { type SendFileOptions, sendFile } from './file/send.js'
export {
  appendFile,
  type ReadFileOptions,
  readFile,
  type WriteFileOptions,
  writeFile,
} from './file/whole-file.js'
export { type ConnectOptions, connect } from './net/connect.js'
export { type ListenOptions, listen } from './net/listen.js'
export { type Address, type LookupOptions, lookup } from './net/lookup.js'
export type { SocketOptions } from './net/options.js'
export { type AcceptLoopOptions, type AcceptOptions, Server, type ServerStats } from './net/server.js'
export { Socket } from './net/socket.js'
export type { ProcessOptions } from './process/command.js'
export type { Stdio, StdioOption } from './process/descriptors.js'
export { type ExecOptions, type Executed, exec } from './process/exec.js'
export { Process, type ProcessEnd, type ProcessStats } from './process/process.js'
export {
  type SpawnProcessOptions,
  spawnProcess,
  type WatchProcessOptions,
  watchProcess,
} from './process/spawn.js'
export { gets, stderr, stdin, stdout } from './process/stdio.js'
export type { Channel, Chunk, Receiver } from './stream/channel.js'
export { type ByteSource, type CopyOptions, copy, type Proxied, proxy } from './stream/copy.js'
export { pair, pipe } from './stream/memory.js'
export { type FromNode, type FromNodeOptions, fromNode } from './stream/node-stream.js'
export type { LimitOptions, LineOptions, ReadLoopOptions } from './stream/options.js'
export { type Reader, Stream, type StreamStats, type Writer } from './stream/stream.js'
export type { Sni, TlsClientOptions, TlsContext, TlsServerOptions } from './tls/options.js'
export { type HandshakeStats, TlsServer, type TlsServerStats } from './tls/server.js'
export { TlsSocket } from './tls/socket.js'
export {
  type Datagram,
  type Destination,
  type GroupOptions,
  type UdpOptions,
  UdpSocket,
  type UdpStats,
  udp,
} from './udp.js'
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

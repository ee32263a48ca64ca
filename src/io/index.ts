// Input and output ('polyphony/io'): streams of bytes over standard input, sockets and memory.

export type { Channel, Chunk, Receiver } from './channel.js'
export { type ConnectOptions, connect } from './connect.js'
export { IOError, LimitExceeded, StreamClosed, UnexpectedEnd } from './errors.js'
export { File } from './file.js'
export type { StreamStats } from './flow.js'
export { type Lines, readLines } from './lines.js'
export { pair, pipe } from './memory.js'
export { type FileFlags, openFile } from './openfile.js'
export { type ListenOptions, listen, Server } from './server.js'
export { gets, stdin } from './stdin.js'
export {
  type LimitOptions,
  type Reader,
  type ReadLoopOptions,
  Stream,
  type Writer,
} from './stream.js'
export { appendFile, type ReadFileOptions, readFile, type WriteFileOptions, writeFile } from './wholefile.js'

// Input and output ('polyphony/io'): streams of bytes over standard input, sockets, processes and memory.

export type { Channel, Chunk, Receiver } from './channel.js'
export type { ProcessOptions, Stdio } from './command.js'
export { type ConnectOptions, connect } from './connect.js'
export { IOError, LimitExceeded, ProcessFailed, StreamClosed, UnexpectedEnd } from './errors.js'
export { type ExecOptions, type Executed, exec } from './exec.js'
export type { StreamStats } from './flow.js'
export { type FromNodeOptions, fromNode } from './fromnode.js'
export { pair, pipe } from './memory.js'
export { Process, type ProcessEnd, type ProcessStats } from './process.js'
export { type ListenOptions, listen, Server } from './server.js'
export {
  type SpawnProcessOptions,
  spawnProcess,
  type WatchProcessOptions,
  watchProcess,
} from './spawnprocess.js'
export { gets, stdin } from './stdin.js'
export {
  type LimitOptions,
  type Reader,
  type ReadLoopOptions,
  Stream,
  type Writer,
} from './stream.js'

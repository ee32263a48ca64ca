// exec: runs a process to its end, and returns what it has printed.

import {
  BadArgument,
  check,
  ensure,
  Fiber,
  type Op,
  op,
  type Routine,
  scope,
  show,
  spin,
} from '../../core/index.js'
import { IOError, LimitExceeded, ProcessFailed, StreamClosed } from '../errors.js'
import type { Chunk } from '../stream/channel.js'
import { READ_LIMIT } from '../stream/options.js'
import { counted } from '../stream/read-ops.js'
import type { Reader, Writer } from '../stream/stream.js'
import { Command, describeCall, OPTIONS, type ProcessOptions } from './command.js'
import type { Process, ProcessEnd } from './process.js'
import { Start } from './spawn.js'

/** How `exec` is to run a process. */
export interface ExecOptions extends ProcessOptions {
  /** What it reads: a string, bytes, or a stream that is copied to it; default: nothing. */
  input?: Chunk | Reader
  /** How its output becomes text, or 'buffer' for bytes; default 'utf8'. */
  encoding?: BufferEncoding | 'buffer'
  /** How many bytes each of its outputs may have; default 64 MiB. */
  limit?: number
  /** Whether to throw `ProcessFailed` if its status is not 0; default false. */
  check?: boolean
}

/** How a process ended, and what it printed. */
export interface Executed<T = string> extends ProcessEnd {
  /** What it printed; with `stderr: 'merge'`, its errors too. */
  readonly stdout: T
  /** What it printed as errors; empty with `stderr: 'merge'`. */
  readonly stderr: T
}

/**
 * Runs a process to its end and returns its status and what it printed. That its status is not 0 is no error, unless `check`
 * says so. A fiber that is stopped here ends the process first: SIGTERM, and SIGKILL after the grace.
 *
 * ```ts
 * const { status, stdout } = yield* exec('tr', ['a-z', 'A-Z'], { input: 'hello' })
 * console.log(status, stdout) // 0 HELLO
 * ```
 */
export function exec(
  cmd: string,
  args?: readonly string[],
  options?: ExecOptions & { encoding?: BufferEncoding },
): Op<Executed>
export function exec(
  cmd: string,
  args: readonly string[],
  options: ExecOptions & { encoding: 'buffer' },
): Op<Executed<Buffer>>
export function exec(
  cmd: string,
  args: readonly string[],
  options: ExecOptions,
): Op<Executed<string | Buffer>>
export function exec(
  cmd: string,
  args: readonly string[] = [],
  options: ExecOptions = {},
): Op<Executed<any>> {
  const where = describeCall('exec', cmd)
  check.options(options, EXEC_OPTIONS, where)
  const stdin = options.input === undefined ? 'ignore' : 'pipe'
  const command = new Command(cmd, args, options, [stdin, 'pipe', 'pipe'], where)
  return op(where, () => executing(command, options))
}

const EXEC_OPTIONS = {
  ...OPTIONS,
  input: checkInput,
  encoding: checkEncoding,
  limit: check.limit,
  check: check.boolean,
}

function* executing(command: Command, options: ExecOptions): Routine<Executed<any>> {
  const { encoding = 'utf8', check = false } = options
  const process = yield* new Start(command)
  process.forget() // from here on it is ended below
  const done = yield* ensure(
    () => scope(() => conversation(process, options, command)),
    () => process.close(),
  )
  const text = (bytes: Buffer) => (encoding === 'buffer' ? bytes : bytes.toString(encoding))
  const executed = { ...done, stdout: text(done.stdout), stderr: text(done.stderr) }
  if (check && done.status !== 0)
    throw new ProcessFailed(command.where, executed, command.isMerged ? executed.stdout : executed.stderr)
  return executed
}

/** All streams at once: a process may want to print before it reads on. */
function* conversation(process: Process, options: ExecOptions, command: Command): Routine<Executed<Buffer>> {
  const { input, limit = READ_LIMIT } = options
  const { where, isMerged } = command
  const feeder = spin('stdin', feed, process.stdin, input)
  const stdout = spin('stdout', gather, process.stdout, limit, `the stdout of ${where}`)
  const stderr = spin('stderr', gather, isMerged ? null : process.stderr, limit, `the stderr of ${where}`)
  const end = spin('end', function* () {
    const ended = yield* process.wait()
    feeder.stop(true) // it may wait for more input, and the process reads no more
    return ended
  })
  const [ended, out, err] = yield* Fiber.await(end, stdout, stderr, feeder)
  return { ...ended, stdout: out, stderr: err }
}

function* gather(output: Reader | null, limit: number, what: string): Routine<Buffer> {
  if (output === null) return Buffer.alloc(0)
  try {
    return yield* output.readAll({ limit })
  } catch (error) {
    if (!(error instanceof LimitExceeded)) throw error
    throw new LimitExceeded(
      `${what} is longer than ${counted(limit, 'byte')}. Give it a higher limit, or take the output as it comes: spawnProcess()`,
    )
  }
}

function* feed(stdin: Writer, input: Chunk | Reader | undefined): Routine<void> {
  if (input === undefined) return
  if (isChunk(input)) yield* taken(stdin.end(input))
  else {
    yield* input.readLoop((chunk) => taken(stdin.write(chunk)))
    yield* taken(stdin.end())
  }
}

/** Whether the process takes more input. That it does not read all of its input is no error. */
function* taken(op: Op<void>): Routine<boolean> {
  try {
    yield* op
    return true
  } catch (error) {
    if (error instanceof IOError || error instanceof StreamClosed) return false
    throw error
  }
}

function isChunk(input: unknown): input is Chunk {
  return typeof input === 'string' || input instanceof Uint8Array
}

function checkInput(input: unknown, what: string): void {
  if (isChunk(input) || typeof (input as Partial<Reader> | null)?.readLoop === 'function') return
  throw new BadArgument(`${what} needs a string, bytes or a stream to read from, got ${show(input)}`)
}

function checkEncoding(encoding: unknown, what: string): void {
  if (encoding === 'buffer' || Buffer.isEncoding(encoding as string)) return
  throw new BadArgument(`${what} needs one of Node's, or 'buffer', got ${show(encoding)}`)
}

// exec: runs a process to its end, and gives what it has printed.

import { BadArgument, ensure, Fiber, type Op, op, type Routine, scope, show, spin } from '../core/index.js'
import type { Chunk } from './channel.js'
import { Command, type ProcessOptions, readOptions } from './command.js'
import { IOError, LimitExceeded, ProcessFailed, StreamClosed } from './errors.js'
import type { Process, ProcessEnd } from './process.js'
import { counted } from './reading.js'
import { Start } from './spawnprocess.js'
import { READ_LIMIT, type Reader, type Writer } from './stream.js'

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
  /** What it printed. */
  readonly stdout: T
  /** What it printed as errors. */
  readonly stderr: T
}

/**
 * Runs a process to its end and gives its status and what it printed. That its status is not 0 is no error, unless `check`
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
  const where = `exec(${cmd})`
  readOptions(options, ['input', 'encoding', 'limit', 'check'], where)
  const { input, encoding = 'utf8', limit = READ_LIMIT } = options
  checkInput(input, where)
  if (encoding !== 'buffer' && !Buffer.isEncoding(encoding))
    throw new BadArgument(`the encoding of ${where} is one of Node's, or 'buffer'; got ${show(encoding)}`)
  if (limit !== Infinity && !(Number.isSafeInteger(limit) && limit > 0))
    throw new BadArgument(`the limit of ${where} is a number of bytes, 1 or more; got ${show(limit)}`)
  const stdin = input === undefined ? 'ignore' : 'pipe'
  const command = new Command(cmd, args, options, [stdin, 'pipe', 'pipe'], 'exec')
  return op(where, () => executing(command, options))
}

function* executing(command: Command, options: ExecOptions): Routine<Executed<any>> {
  const { encoding = 'utf8', check = false } = options
  const process = yield* new Start(command, false)
  const done = yield* ensure(
    () => scope(() => conversation(process, options, command.where)),
    () => process.close(),
  )
  const text = (bytes: Buffer) => (encoding === 'buffer' ? bytes : bytes.toString(encoding))
  const executed = { ...done, stdout: text(done.stdout), stderr: text(done.stderr) }
  if (check && done.status !== 0) throw new ProcessFailed(command.where, executed)
  return executed
}

/** All three streams at once: a process may want to print before it reads on. */
function* conversation(process: Process, options: ExecOptions, where: string): Routine<Executed<Buffer>> {
  const { input, limit = READ_LIMIT } = options
  const feeder = spin('stdin', feed, process.stdin, input)
  const stdout = spin('stdout', gather, process.stdout, limit, `the stdout of ${where}`)
  const stderr = spin('stderr', gather, process.stderr, limit, `the stderr of ${where}`)
  const end = spin('end', function* () {
    const ended = yield* process.wait()
    feeder.stop(true) // it may wait for more to feed, and nobody is left to eat it
    return ended
  })
  const [ended, out, err] = yield* Fiber.await(end, stdout, stderr, feeder)
  return { ...ended, stdout: out, stderr: err }
}

function* gather(output: Reader, limit: number, what: string): Routine<Buffer> {
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

/** Whether the process takes any more. One that does not read its input to the end has its reasons. */
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

function checkInput(input: unknown, where: string): void {
  if (input === undefined || isChunk(input)) return
  if (typeof (input as Partial<Reader> | null)?.readLoop === 'function') return
  throw new BadArgument(
    `the input of ${where} is a string, bytes or a stream to read from; got ${show(input)}`,
  )
}

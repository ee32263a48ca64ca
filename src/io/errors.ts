// What can go wrong with the outside world, in sentences. System errors keep their code (ECONNREFUSED, ENOENT, EPIPE);
// each wait that fails gets an error of its own, so that its stack and its fiber are those of the `yield*` that asked.

import { createRequire } from 'node:module'
import { PolyphonyError } from '../core/index.js'

/**
 * The system refused something: `code` is its own word for it, such as `ECONNREFUSED` or `ENOENT`. The message names the
 * peer or the path; `cause` is Node's error.
 *
 * ```ts
 * try {
 *   yield* connect({ path: '/no/such/socket' })
 * } catch (error) {
 *   if (error instanceof IOError) console.log(error.code) // ENOENT
 *   console.log(`${error}`) // IOError: connect(/no/such/socket) failed: no such file or directory (ENOENT)
 * }
 * ```
 */
export class IOError extends PolyphonyError {
  /** The system's word for it. */
  override readonly code: string
  /** The system call that failed, if Node told. */
  readonly syscall: string | undefined

  constructor(message: string, cause: unknown) {
    super(message, { cause })
    const { code, syscall } = (cause ?? {}) as NodeJS.ErrnoException
    this.code = typeof code === 'string' ? code : 'IO'
    this.syscall = syscall
  }
}

/**
 * A stream was used after it was closed, or closed while somebody waited for it.
 *
 * ```ts
 * const stream = pipe()
 * yield* stream.close()
 * try {
 *   yield* stream.write('hello')
 * } catch (error) {
 *   console.log(`${error}`) // StreamClosed: pipe.write() came too late: the stream is closed
 * }
 * ```
 */
export class StreamClosed extends PolyphonyError {
  override readonly code = 'STREAM_CLOSED'
}

/**
 * A stream ended in the middle of what was asked for. What had come is still there to be read.
 *
 * ```ts
 * const stream = pipe()
 * yield* stream.end('abc')
 * try {
 *   yield* stream.readExactly(5)
 * } catch (error) {
 *   console.log((error as Error).message) // pipe.readExactly(5): the stream ended after 3 bytes
 * }
 * console.log(`${yield* stream.read()}`) // abc
 * ```
 */
export class UnexpectedEnd extends PolyphonyError {
  override readonly code = 'UNEXPECTED_END'
}

/**
 * More came than was allowed for: a line over its limit, more bytes than `readAll` may take. What came is still there to
 * be read.
 *
 * ```ts
 * const stream = pipe()
 * yield* stream.write('a long line\n')
 * try {
 *   yield* stream.gets({ limit: 4 })
 * } catch (error) {
 *   console.log(error instanceof LimitExceeded, (error as LimitExceeded).code) // true LIMIT_EXCEEDED
 * }
 * ```
 */
export class LimitExceeded extends PolyphonyError {
  override readonly code = 'LIMIT_EXCEEDED'
}

/**
 * A process ended with another status than 0, or by a signal, and `check` was asked for.
 *
 * ```ts
 * try {
 *   yield* exec('sh', ['-c', 'echo no such thing >&2; exit 3'], { check: true })
 * } catch (error) {
 *   if (error instanceof ProcessFailed) console.log(error.status, error.stderr.trim()) // 3 no such thing
 *   console.log((error as Error).message) // exec(sh) ended with status 3: no such thing
 * }
 * ```
 */
export class ProcessFailed extends PolyphonyError {
  override readonly code = 'PROCESS_FAILED'
  /** Its exit status; null if a signal ended it. */
  readonly status: number | null
  /** The signal that ended it, if one did. */
  readonly signal: NodeJS.Signals | null
  /** What it had printed, if that was read. */
  readonly stdout: string
  /** What it had printed as errors, if that was read. */
  readonly stderr: string

  constructor(what: string, end: FailedEnd) {
    const { status, signal, stdout = '', stderr = '' } = end
    super(
      `${what} ${status === null ? `was ended by ${signal}` : `ended with status ${status}`}${lastLine(`${stderr}`)}`,
    )
    this.status = status
    this.signal = signal
    this.stdout = `${stdout}`
    this.stderr = `${stderr}`
  }
}

/** What is known of the end of a process. */
interface FailedEnd {
  readonly status: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout?: string | Buffer
  readonly stderr?: string | Buffer
}

/** The last words of a process are usually the reason. */
function lastLine(stderr: string): string {
  const line = stderr.trimEnd().split('\n').at(-1)?.trim() ?? ''
  return line === '' ? '' : `: ${line.length > 200 ? `${line.slice(0, 197)}...` : line}`
}

/** An error of Node's as ours. `what` says what was tried, with the peer or the path: `connect(localhost:80)`. */
export function ioError(cause: unknown, what: string): IOError {
  return new IOError(`${what} failed: ${reasonOf(cause)}`, cause)
}

/** What OpenSSL tells besides a message full of numbers. */
interface OpenSslError {
  library?: string
  reason?: string
}

/** The same for what may be a sentence of ours already. */
export function asSentence(cause: unknown, what: string): PolyphonyError {
  return cause instanceof PolyphonyError ? cause : ioError(cause, what)
}

let errorMap: Map<number, [string, string]> | undefined

/**
 * By number, the code and the words of each system error. An `import` of node:util would open standard output (Node 26).
 * Where `require` begins its search makes no difference for a built-in module; import.meta.url is undefined in CommonJS bundles.
 */
function systemErrors(): Map<number, [string, string]> {
  return (errorMap ??= createRequire('/')('node:util').getSystemErrorMap() as Map<number, [string, string]>)
}

/** In words, with the code: 'connection refused (ECONNREFUSED)'. */
export function reasonOf(cause: unknown): string {
  if (cause instanceof AggregateError && cause.errors.length > 0) return reasonOf(cause.errors[0]) // one for each address
  const { code, errno, message, library, reason } = (cause ?? {}) as NodeJS.ErrnoException & OpenSslError
  const words = typeof errno === 'number' ? systemErrors().get(errno)?.[1] : undefined
  const text = words ?? (library === undefined ? undefined : reason) ?? message ?? String(cause)
  return code === undefined || text.includes(code) ? text : `${text} (${code})`
}

/**
 * What was to be decompressed is not what it should be. `cause` is the error of zlib, if it found out.
 *
 * ```ts
 * try {
 *   yield* gunzip('this is no gzip')
 * } catch (error) {
 *   console.log(`${error}`) // CorruptInput: gunzip(15 bytes): the input is corrupt (incorrect header check)
 * }
 * ```
 */
export class CorruptInput extends PolyphonyError {
  override readonly code = 'CORRUPT_INPUT'
}

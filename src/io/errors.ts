// The errors of input and output. Errors of the system keep their code (ECONNREFUSED, ENOENT, EPIPE) and get a message in words. Each
// wait that fails gets an error of its own, so that the stack and the fiber are those of the `yield*` that waited.

import { createRequire } from 'node:module'
import { Fiber, PolyphonyError } from '../core/index.js'

/**
 * An error of the system: `code` is the system's, such as `ECONNREFUSED` or `ENOENT`. The message names the peer or the
 * path; `cause` is the error of Node.
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
  /** The code of the system, such as `ENOENT`. */
  override readonly code: string
  /** The system call that failed, if it is known. */
  readonly syscall: string | undefined

  constructor(message: string, cause: unknown) {
    super(message, { cause })
    const { code, syscall } = (cause ?? {}) as NodeJS.ErrnoException
    this.code = typeof code === 'string' ? code : 'IO'
    this.syscall = syscall
  }
}

/**
 * A stream or a UDP socket was used after it was closed, or was closed while a fiber waited for it.
 *
 * ```ts
 * const stream = pipe()
 * yield* stream.close()
 * try {
 *   yield* stream.write('hello')
 * } catch (error) {
 *   console.log(`${error}`) // StreamClosed: pipe.write() failed: the stream is closed
 * }
 * ```
 */
export class StreamClosed extends PolyphonyError {
  override readonly code = 'STREAM_CLOSED'
}

/** Why a connection, a file or a server is closed: the running fiber, which cleans up, is or was its owner. */
export function closedByOwner(): string {
  return (
    `it was closed at the end of the scope or fiber that it belonged to (${Fiber.current.path}). ` +
    'To keep it open, open it with detached: true'
  )
}

/**
 * A stream ended before all that was to be read had arrived. What had arrived can still be read.
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
 * There were more bytes than allowed: a line longer than its limit, more output than `gunzip` may make. What a stream has
 * received can still be read.
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
 * A process that was run with `check` ended with another status than 0, or by a signal.
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
  /** The exit status; null if a signal ended the process. */
  readonly status: number | null
  /** The signal that ended the process, else null. */
  readonly signal: NodeJS.Signals | null
  /** The standard output, if it was read. */
  readonly stdout: string
  /** The standard error output, if it was read. */
  readonly stderr: string

  /** `words`: where it said why; its last line becomes part of the message. */
  constructor(what: string, end: FailedEnd, words: string | Buffer = end.stderr ?? '') {
    const { status, signal, stdout = '', stderr = '' } = end
    super(
      `${what} ${status === null ? `was ended by ${signal}` : `ended with status ${status}`}${lastLine(`${words}`)}`,
    )
    this.status = status
    this.signal = signal
    this.stdout = `${stdout}`
    this.stderr = `${stderr}`
  }
}

/** How a process has ended. */
interface FailedEnd {
  readonly status: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout?: string | Buffer
  readonly stderr?: string | Buffer
}

/** The last line of what the process said, which usually is the reason. */
function lastLine(words: string): string {
  const line = words.trimEnd().split('\n').at(-1)?.trim() ?? ''
  return line === '' ? '' : `: ${line.length > 200 ? `${line.slice(0, 197)}...` : line}`
}

/** An `IOError` for an error of Node. `what` is the call that failed, with the peer or the path: `connect(localhost:80)`. */
export function ioError(cause: unknown, what: string): IOError {
  return new IOError(`${what} failed: ${reasonOf(cause)}`, cause)
}

/** Fields of an OpenSSL error, whose message is mostly numbers. */
interface OpenSslError {
  library?: string
  reason?: string
}

/** As `ioError`; an error of this package is returned as it is. */
export function asSentence(cause: unknown, what: string): PolyphonyError {
  return cause instanceof PolyphonyError ? cause : ioError(cause, what)
}

let errorMap: Map<number, [string, string]> | undefined

/**
 * The code and the words of each system error, by number. An `import` of node:util would open standard output (Node 26).
 * The path given to createRequire makes no difference for a built-in module; import.meta.url is undefined in CommonJS bundles.
 */
function systemErrors(): Map<number, [string, string]> {
  return (errorMap ??= createRequire('/')('node:util').getSystemErrorMap() as Map<number, [string, string]>)
}

/** The reason in words, with the code: 'connection refused (ECONNREFUSED)'. */
export function reasonOf(cause: unknown): string {
  if (cause instanceof AggregateError && cause.errors.length > 0) return reasonOf(cause.errors[0]) // one for each address
  const { code, errno, message, library, reason } = (cause ?? {}) as NodeJS.ErrnoException & OpenSslError
  const words = typeof errno === 'number' ? systemErrors().get(errno)?.[1] : undefined
  const text = words ?? (library === undefined ? undefined : reason) ?? message ?? String(cause)
  return code === undefined || text.includes(code) ? text : `${text} (${code})`
}

/**
 * Input that was to be decompressed is in another format, or damaged. `cause` is the error of zlib, if there is one.
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

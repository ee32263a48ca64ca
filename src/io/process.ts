// A process that runs beside us: its streams, its end, and how it is ended. It holds our own process while it runs (S64).
//
//   running --exit--> ended        what it has printed until then can still be read
//
// When it ends, what lies in its pipes is taken into memory, so that its descriptors are free even if nobody ever reads.

import type { ChildProcess } from 'node:child_process'
import type { Socket } from 'node:net'
import { constants } from 'node:os'
import type { Readable } from 'node:stream'
import { BadArgument, BaseOp, check, type Fiber, type Op, op, settle, show, Waiters } from '../core/index.js'
import type { Command, Stdio } from './command.js'
import { ending } from './ending.js'
import { ioError } from './errors.js'
import type { StreamStats } from './flow.js'
import { NodeChannel, type NodeStreams } from './nodechannel.js'
import { type Reader, Stream, type Writer } from './stream.js'

/** How much of what an ended process has printed is kept for those who have not read it yet. */
const KEPT = 1024 * 1024

/** How a process ended: by itself, with a status, or by a signal. The other one is null. */
export interface ProcessEnd {
  /** Its exit status; 0 means that all went well. */
  readonly status: number | null
  /** The signal that ended it, such as 'SIGTERM'. */
  readonly signal: NodeJS.Signals | null
}

/** What went through the streams of a process, and who waits for its end. */
export interface ProcessStats {
  /** Fibers that wait for its end. */
  readonly waiting: number
  /** What was written to it. */
  readonly stdin: StreamStats
  /** What it has printed. */
  readonly stdout: StreamStats
  /** What it has printed as errors. */
  readonly stderr: StreamStats
}

class Wait extends BaseOp<ProcessEnd> {
  constructor(
    private readonly process: Process,
    private readonly line: Waiters,
  ) {
    super()
  }
  enter(fiber: Fiber): void {
    const { end } = this.process
    if (end === undefined) this.line.join(fiber, undefined)
    else settle(fiber, this, end)
  }
  abort(fiber: Fiber): void {
    this.line.leave(fiber)
  }
  describe(): string {
    return `${this.process.name}.wait()`
  }
  override get kind(): string {
    return 'process'
  }
  override get resource(): object {
    return this.process
  }
}

/**
 * A process. Made by `spawnProcess`.
 *
 * ```ts
 * const cat = yield* spawnProcess('cat')
 * yield* cat.stdin.end('hello\n')
 * console.log(yield* cat.stdout.gets()) // hello
 * console.log(yield* cat.wait()) // { status: 0, signal: null }
 * ```
 */
export class Process {
  /** The number that the system knows it by. */
  readonly pid: number
  /** The name of its program. */
  readonly name: string
  /** What it reads; its end is the end of its input. */
  readonly stdin: Writer
  /** What it prints. */
  readonly stdout: Reader
  /** What it prints as errors. */
  readonly stderr: Reader
  private readonly grace: number
  private readonly streams: readonly [Stream, Stream, Stream]
  private readonly line = new Waiters()
  private howEnded: ProcessEnd | undefined
  /** Why a signal could not be sent. */
  private refusal: unknown

  /** @internal */
  constructor(
    command: Command,
    private readonly node: ChildProcess,
    fiber: Fiber,
    /** Called when it is over and its streams are closed: nothing is left to be done for it. */
    gone: () => void,
  ) {
    const { stdin, stdout, stderr } = node
    this.pid = node.pid as number
    this.name = command.name
    this.grace = command.grace
    this.streams = [
      stdin === null
        ? this.none('stdin', command.stdio[0])
        : this.stream('stdin', stdin, { writable: stdin }),
      this.output('stdout', stdout, command.stdio[1]),
      this.output('stderr', stderr, command.stdio[2]),
    ]
    ;[this.stdin, this.stdout, this.stderr] = this.streams
    // Node throws away what it finds here when the process ends, and nobody has asked for it yet.
    node.stdio.fill(null as never)
    fiber.runtime.hold()
    fiber.runtime.external++
    node.on('error', (error) => (this.refusal = error))
    node.on('close', gone)
    node.on('exit', (status, signal) => {
      fiber.runtime.external--
      fiber.runtime.release()
      this.ended({ status, signal })
    })
  }

  private output(which: string, node: Readable | null, stdio: Stdio): Stream {
    return node === null ? this.none(which, stdio) : this.stream(which, node, { readable: node })
  }

  private none(which: string, stdio: Stdio): Stream {
    const why = `the process was started with stdio '${stdio}'`
    return new Stream((receiver) => new NodeChannel(`${this.name}.${which}`, receiver, { why }))
  }

  /** A pipe holds our process only while somebody waits for it. */
  private stream(which: string, node: object, streams: NodeStreams): Stream {
    ;(node as Socket).unref()
    return new Stream((receiver) => new NodeChannel(`${this.name}.${which}`, receiver, streams))
  }

  private ended(end: ProcessEnd): void {
    const { node, streams, line } = this
    const [stdin, ...outputs] = streams
    this.howEnded = Object.freeze(end)
    if (node.stdin?.writableFinished === false) stdin.failed(brokenPipe())
    for (const [i, output] of [node.stdout, node.stderr].entries()) {
      if (output !== null) keepRest(outputs[i] as Stream, output)
    }
    while (line.handOver(end));
  }

  /** How it ended; `undefined` while it runs. */
  get end(): ProcessEnd | undefined {
    return this.howEnded
  }

  /** Waits until it has ended, and says how. That its status is not 0 is no error. */
  wait(): Op<ProcessEnd> {
    return new Wait(this, this.line)
  }

  /** Sends it a signal, 'SIGTERM' unless told otherwise, and waits for nothing. False: it has ended already. */
  kill(signal: NodeJS.Signals | number = 'SIGTERM'): boolean {
    if (
      !(
        signal in constants.signals ||
        signal === 0 ||
        Object.values(constants.signals).includes(signal as number)
      )
    )
      throw new BadArgument(`${this.name}.kill() needs a signal such as 'SIGTERM', got ${show(signal)}`)
    this.refusal = undefined
    const isSent = this.node.kill(signal)
    if (this.refusal !== undefined) throw ioError(this.refusal, `${this.name}.kill(${show(signal)})`)
    return isSent
  }

  /**
   * Ends it: asks with SIGTERM, kills it after its grace, waits for its end, and closes its streams. Whoever gives up
   * waiting kills it at once. This is what happens by itself when the fiber or scope that started it is over.
   *
   * ```ts
   * const sleeper = yield* spawnProcess('sleep', ['1000'])
   * console.log(yield* sleeper.close({ grace: 0 })) // { status: null, signal: 'SIGKILL' }
   * ```
   */
  close(options: { grace?: number } = {}): Op<ProcessEnd> {
    const where = `${this.name}.close()`
    const { grace = this.grace } = check.options(options, { grace: check.timeLimit }, where)
    return op(where, () => ending(this, grace))
  }

  /** Who waits, and what went through its streams. */
  stats(): ProcessStats {
    const [stdin, stdout, stderr] = this.streams
    return {
      waiting: this.line.size,
      stdin: stdin.stats(),
      stdout: stdout.stats(),
      stderr: stderr.stats(),
    }
  }

  /** @internal Closes its streams at once. */
  closeStreams(): void {
    for (const stream of this.streams) stream.destroy()
  }
}

function keepRest(stream: Stream, output: Readable): void {
  const channel = stream.channel as NodeChannel
  channel.readAhead = KEPT
  if (!output.destroyed) channel.resume()
}

/** What the system would say to one who writes now. */
function brokenPipe(): Error {
  return Object.assign(new Error('broken pipe'), { code: 'EPIPE', syscall: 'write' })
}

// A process that runs beside ours: its streams, its end, and the signals that it is sent. It holds our own process while it
// runs (S64). How it is ended is in ending.ts, what a signal to it reaches besides in group.ts.
//
//   running --exit--> ended        what it has printed until then can still be read
//
// When it ends, what lies in its pipes is taken into memory, so that its descriptors are free even if they are never read.

import type { ChildProcess } from 'node:child_process'
import type { Socket } from 'node:net'
import { constants } from 'node:os'
import type { Readable, Writable } from 'node:stream'
import {
  BadArgument,
  BaseOp,
  check,
  type Fiber,
  type Op,
  op,
  type Routine,
  settle,
  show,
  Waiters,
} from '../../core/index.js'
import { ioError } from '../errors.js'
import { NodeChannel, type NodeStreams } from '../stream/node-stream.js'
import type { StreamStats } from '../stream/stream.js'
import { type Reader, Stream, type Writer } from '../stream/stream.js'
import type { Command } from './command.js'
import { describeStdio, type Stdio } from './descriptors.js'
import { ending } from './ending.js'
import { GroupEnd, ProcessGroup } from './group.js'

/** How much of what an ended process has printed is kept until it is read. */
const KEPT = 1024 * 1024

/** How a process ended: by itself, with a status, or by a signal. The other one is null. */
export interface ProcessEnd {
  /** Its exit status; 0 means that all went well. */
  readonly status: number | null
  /** The signal that ended it, such as 'SIGTERM'. */
  readonly signal: NodeJS.Signals | null
}

/** What went through the streams of a process, and how many fibers wait for its end. */
export interface ProcessStats {
  /** Fibers that wait for its end. */
  readonly waiting: number
  /** What was written to it. */
  readonly stdin: StreamStats
  /** What it has printed. */
  readonly stdout: StreamStats
  /** What it has printed as errors. */
  readonly stderr: StreamStats
  /** The same for each descriptor, by number; those above are the first three. */
  readonly streams: readonly StreamStats[]
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
  /** The streams of all its descriptors, by number. The first three are `stdin`, `stdout` and `stderr`; those that follow go in
   * both directions. */
  readonly streams: readonly Stream[]
  private readonly grace: number
  private readonly group: ProcessGroup | null
  private readonly line = new Waiters()
  private howEnded: ProcessEnd | undefined
  /** Why a signal could not be sent. */
  private refusal: unknown
  /** @internal The fiber or scope that started it does not end it any more. */
  forget: () => void = () => {}

  /** @internal */
  constructor(
    command: Command,
    private readonly node: ChildProcess,
    /** The streams of Node to its descriptors, by number. */
    private readonly nodeStreams: readonly (Readable | Writable | null | undefined)[],
    isGroup: boolean,
    fiber: Fiber,
  ) {
    const { runtime } = fiber
    let parts = 1 + (isGroup ? 1 : 0)
    const partGone = () => {
      if (--parts === 0) this.forget() // nothing is left to be done for it
    }
    this.pid = node.pid as number
    this.name = command.name
    this.grace = command.grace
    this.group = isGroup ? new ProcessGroup(this.pid, partGone) : null
    this.streams = command.stdio.map((entry, number) => {
      const stream = nodeStreams[number]
      if (stream == null) return this.none(number, absence(command, entry, number))
      parts++
      stream.once('close', partGone)
      return this.stream(number, stream)
    })
    ;[this.stdin, this.stdout, this.stderr] = this.streams as [Stream, Stream, Stream]
    // Node discards what it finds here when the process ends, also if it was not read yet.
    node.stdio.fill(null as never)
    runtime.hold()
    runtime.external++
    node.on('error', (error) => (this.refusal = error))
    node.on('exit', (status, signal) => {
      runtime.external--
      runtime.release()
      this.group?.leaderExited()
      this.ended({ status, signal })
      partGone()
    })
  }

  private none(number: number, why: string): Stream {
    return new Stream((receiver) => new NodeChannel(this.nameOf(number), receiver, { why }))
  }

  /** A pipe holds our process only while a fiber waits for it. */
  private stream(number: number, node: Readable | Writable): Stream {
    ;(node as Socket).unref()
    const streams: NodeStreams = {
      ...(number !== 0 && { readable: node as Readable }),
      ...((number === 0 || number > 2) && { writable: node as Writable }),
    }
    return new Stream((receiver) => new NodeChannel(this.nameOf(number), receiver, streams))
  }

  private nameOf(number: number): string {
    return `${this.name}.${STANDARD[number] ?? `streams[${number}]`}`
  }

  private ended(end: ProcessEnd): void {
    this.howEnded = Object.freeze(end)
    for (const [number, stream] of this.streams.entries()) {
      const node = this.nodeStreams[number]
      if (node == null) continue
      if (number > 0) keepRest(stream, node as Readable)
      else if (!(node as Writable).writableFinished) stream.failed(brokenPipe())
    }
    while (this.line.handOver(end));
  }

  /** How it ended; `undefined` while it runs. */
  get end(): ProcessEnd | undefined {
    return this.howEnded
  }

  /** Waits until it has ended, and says how. That its status is not 0 is no error. */
  wait(): Op<ProcessEnd> {
    return new Wait(this, this.line)
  }

  /** Sends it a signal, 'SIGTERM' unless told otherwise, and waits for nothing. With a group, the signal goes to all members of it,
   * also when the process itself has ended. False: nothing is left that could receive it. */
  kill(signal: NodeJS.Signals | number = 'SIGTERM'): boolean {
    if (!isSignal(signal))
      throw new BadArgument(`${this.name}.kill() needs a signal such as 'SIGTERM', got ${show(signal)}`)
    this.refusal = undefined
    const isSent = this.group?.signal(signal) ?? this.node.kill(signal)
    if (this.refusal !== undefined) throw ioError(this.refusal, `${this.name}.kill(${show(signal)})`)
    return isSent
  }

  /**
   * Ends it: asks with SIGTERM, kills it after its grace, waits for its end, and closes its streams. The same for what is left of
   * its group, if it has one. If the wait is stopped, it is killed at once. All this happens by itself when the fiber or
   * scope that started it is over.
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

  /** How many fibers wait for its end, and what went through its streams. */
  stats(): ProcessStats {
    const streams = this.streams.map((stream) => stream.stats())
    const [stdin, stdout, stderr] = streams as [StreamStats, StreamStats, StreamStats]
    return { waiting: this.line.size, stdin, stdout, stderr, streams }
  }

  /** @internal Whether it has ended, and nothing of its group is left. */
  get isOver(): boolean {
    return this.howEnded !== undefined && this.group?.isThere() !== true
  }

  /** @internal Waits until it is over. */
  *over(): Routine<void> {
    yield* this.wait()
    if (this.group !== null) yield* new GroupEnd(this.group, this.name)
  }

  /** @internal Closes its streams at once. */
  closeStreams(): void {
    for (const stream of this.streams) stream.destroy()
  }
}

const STANDARD = ['stdin', 'stdout', 'stderr']

/** Why there is no stream for a descriptor. */
function absence(command: Command, entry: Stdio, number: number): string {
  if (command.isMerged && number === 2)
    return `the process was started with stderr 'merge', so its errors are in stdout`
  return `the process was started with ${describeStdio(entry)}`
}

function isSignal(signal: unknown): boolean {
  const { signals } = constants
  return (
    signal === 0 ||
    Object.hasOwn(signals, signal as string) ||
    Object.values(signals).includes(signal as never)
  )
}

function keepRest(stream: Stream, output: Readable): void {
  const channel = stream.channel as NodeChannel
  channel.readAhead = KEPT
  if (!output.destroyed) channel.resume()
}

/** The error of the system for a write to a process that has ended. */
function brokenPipe(): Error {
  return Object.assign(new Error('broken pipe'), { code: 'EPIPE', syscall: 'write' })
}

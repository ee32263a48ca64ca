// Starting a process, to talk with it (spawnProcess) or to watch over it (watchProcess).

import type { ChildProcess } from 'node:child_process'
import {
  type Attempt,
  addCleanup,
  check,
  ensure,
  type Fiber,
  type Op,
  OutsideOp,
  op,
  type Routine,
} from '../../core/index.js'
import { ProcessFailed } from '../errors.js'
import { Command, describeCall, OPTIONS, type ProcessOptions } from './command.js'
import { readStdio, type StdioOption } from './descriptors.js'
import { Process, type ProcessEnd } from './process.js'
import { openSocketPair, type SocketPair } from './socket-pair.js'

/** How `spawnProcess` is to run a process. */
export interface SpawnProcessOptions extends ProcessOptions {
  /** Its standard input, output and errors and any further descriptors, or one word for the first three; default 'pipe': streams
   * for us. A pipe that is not read fills up, and then the process waits: what you do not read is better 'inherit' or 'ignore'. */
  stdio?: StdioOption
}

/** How `watchProcess` is to run a process. */
export interface WatchProcessOptions extends ProcessOptions {
  /** Its standard input, output and errors and any further descriptors, or one word for the first three; default: no input, and
   * it prints where we do. */
  stdio?: StdioOption
  /** Whether to throw `ProcessFailed` if its status is not 0; default false. */
  check?: boolean
}

const SPAWN_OPTIONS = { ...OPTIONS, stdio: check.any }
const WATCH_OPTIONS = { ...SPAWN_OPTIONS, check: check.boolean }

/**
 * Starts a process. Node tells a moment later if it could not be started: that is what is waited for. The process is ended with
 * the scope or fiber that starts it, unless it is ended or forgotten before.
 */
export class Start extends OutsideOp<Process> {
  constructor(private readonly command: Command) {
    super()
  }

  protected start(attempt: Attempt<Process>): void {
    if (this.command.needsPair) openSocketPair((error, pair) => this.paired(attempt, error, pair))
    else this.launch(attempt, null)
  }

  private paired(attempt: Attempt<Process>, error: Error | null, pair: SocketPair | null): void {
    try {
      if (pair === null) throw this.command.failure(error)
      if (attempt.isOpen) this.launch(attempt, pair)
      else discard(pair)
    } catch (failure) {
      attempt.fail(failure)
    }
  }

  private launch(attempt: Attempt<Process>, pair: SocketPair | null): void {
    const { command } = this
    const { isGroup } = command
    let node: ChildProcess
    try {
      node = command.start(isGroup, pair?.theirs)
    } catch (error) {
      if (pair !== null) discard(pair)
      throw error
    }
    if (node.pid !== undefined) {
      pair?.theirs.destroy() // the process has its own now
      attempt.settle(this.adopt(attempt.fiber, node, isGroup, pair))
      return
    }
    node.on('error', (error) => {
      for (const stream of node.stdio ?? []) stream?.destroy()
      if (pair !== null) discard(pair)
      attempt.fail(command.failure(error))
    })
  }

  private adopt(fiber: Fiber, node: ChildProcess, isGroup: boolean, pair: SocketPair | null): Process {
    const nodeStreams = [...node.stdio]
    if (pair !== null) nodeStreams[1] = pair.ours
    const process = new Process(this.command, node, nodeStreams, isGroup, fiber)
    process.forget = addCleanup(fiber, () => process.close(), process)
    return process
  }

  protected cancel(): void {}

  describe(): string {
    return this.command.where
  }
  override get kind(): string {
    return 'process'
  }
}

function discard({ ours, theirs }: SocketPair): void {
  ours.destroy()
  theirs.destroy()
}

/**
 * Starts a process to talk with: `stdin`, `stdout` and `stderr` are streams. It belongs to the innermost `scope`, or else
 * to the fiber, that starts it, and is ended with it: SIGTERM, and SIGKILL after the grace.
 *
 * ```ts
 * const bc = yield* spawnProcess('sh', ['-c', 'while read a b; do echo $((a + b)); done'])
 * yield* bc.stdin.write('20 22\n')
 * console.log(yield* bc.stdout.gets()) // 42
 * ```
 */
export function spawnProcess(
  cmd: string,
  args: readonly string[] = [],
  options: SpawnProcessOptions = {},
): Op<Process> {
  const where = describeCall('spawnProcess', cmd)
  const { stdio } = check.options(options, SPAWN_OPTIONS, where)
  const each = readStdio(stdio, ['pipe', 'pipe', 'pipe'], where)
  return new Start(new Command(cmd, args, options, each, where))
}

/**
 * Runs a process and waits for its end. A fiber that is stopped here ends the process first: SIGTERM, and SIGKILL after the
 * grace. Under `supervise` with `restart: 'always'` this keeps a process running.
 *
 * ```ts
 * console.log(yield* watchProcess('sh', ['-c', 'exit 3'])) // { status: 3, signal: null }
 * ```
 */
export function watchProcess(
  cmd: string,
  args: readonly string[] = [],
  options: WatchProcessOptions = {},
): Op<ProcessEnd> {
  const where = describeCall('watchProcess', cmd)
  const { stdio, check: isChecked = false } = check.options(options, WATCH_OPTIONS, where)
  const each = readStdio(stdio, ['ignore', 'inherit', 'inherit'], where)
  const command = new Command(cmd, args, options, each, where)
  return op(where, () => watching(command, isChecked))
}

function* watching(command: Command, isChecked: boolean): Routine<ProcessEnd> {
  const process = yield* new Start(command)
  process.forget() // from here on it is ended below
  const end = yield* ensure(
    () => process.wait(),
    () => process.close(),
  )
  if (isChecked && end.status !== 0) throw new ProcessFailed(command.where, end)
  return end
}

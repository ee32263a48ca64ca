// Starting a process, to talk with it (spawnProcess) or to watch over it (watchProcess).

import type { ChildProcess } from 'node:child_process'
import {
  type Attempt,
  addCleanup,
  ensure,
  type Fiber,
  type Op,
  OutsideOp,
  op,
  type Routine,
} from '../core/index.js'
import { Command, type ProcessOptions, readOptions, readStdio, type Stdio } from './command.js'
import { ProcessFailed } from './errors.js'
import { Process, type ProcessEnd } from './process.js'

/** How `spawnProcess` is to run a process. */
export interface SpawnProcessOptions extends ProcessOptions {
  /** Its standard input, output and errors, or one word for all three; default 'pipe': streams for us. A pipe that
   * nobody reads fills up, and then the process waits: what you do not read is better 'inherit' or 'ignore'. */
  stdio?: Stdio | readonly [stdin: Stdio, stdout: Stdio, stderr: Stdio]
}

/** How `watchProcess` is to run a process. */
export interface WatchProcessOptions extends ProcessOptions {
  /** Its standard input, output and errors, or one word for all three; default: no input, and it prints where we do. */
  stdio?: Stdio | readonly [stdin: Stdio, stdout: Stdio, stderr: Stdio]
  /** Whether to throw `ProcessFailed` if its status is not 0; default false. */
  check?: boolean
}

/** Starts a process, at once. One that cannot be started is told a moment later: that is what is waited for. */
export class Start extends OutsideOp<Process> {
  constructor(
    private readonly command: Command,
    /** Whether it is ended with the scope or fiber that starts it. Else the caller sees to that. */
    private readonly isOwned: boolean,
  ) {
    super()
  }

  protected start(attempt: Attempt<Process>): void {
    const node = this.command.start()
    if (node.pid !== undefined) {
      attempt.settle(this.adopt(attempt.fiber, node))
      return
    }
    node.on('error', (error) => {
      for (const stream of node.stdio ?? []) stream?.destroy()
      attempt.fail(this.command.failure(error))
    })
  }

  private adopt(fiber: Fiber, node: ChildProcess): Process {
    const close = () => process.close()
    const process: Process = new Process(this.command, node, fiber, () => forget())
    const forget = this.isOwned ? addCleanup(fiber, close) : () => {}
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
  const where = `spawnProcess(${cmd})`
  const { stdio } = readOptions(options, ['stdio'], where)
  const each = readStdio(stdio, ['pipe', 'pipe', 'pipe'], where)
  return new Start(new Command(cmd, args, options, each, 'spawnProcess'), true)
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
  const where = `watchProcess(${cmd})`
  const { stdio, check = false } = readOptions(options, ['stdio', 'check'], where)
  const each = readStdio(stdio, ['ignore', 'inherit', 'inherit'], where)
  const command = new Command(cmd, args, options, each, 'watchProcess')
  return op(where, () => watching(command, check))
}

function* watching(command: Command, check: boolean): Routine<ProcessEnd> {
  const process = yield* new Start(command, false)
  const end = yield* ensure(
    () => process.wait(),
    () => process.close(),
  )
  if (check && end.status !== 0) throw new ProcessFailed(command.where, end)
  return end
}

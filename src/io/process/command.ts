// A command: what is to be run as a process, how, and why it could not be started, in words. It is checked when it is made, and
// can be started any number of times. Node starts a process in the call; only that it could not be started is told later.

import { type ChildProcess, spawn } from 'node:child_process'
import { statSync } from 'node:fs'
import type { Socket } from 'node:net'
import { basename } from 'node:path'
import { BadArgument, type Check, check, show } from '../../core/index.js'
import { checkPath } from '../checks.js'
import { IOError, ioError } from '../errors.js'
import { isTerminal, mergeErrors, nodeStdio, type Stdio } from './descriptors.js'

/** How a process is to be run. */
export interface ProcessOptions {
  /** The directory that it runs in; default: ours. */
  cwd?: string | URL
  /** Its environment variables, all of them; default: ours. To add some: `{ ...process.env, LANG: 'C' }`. */
  env?: Record<string, string | undefined>
  /** How many milliseconds it has to end when it is asked to, before it is killed; default 5,000. */
  grace?: number
  /** Whether it leads a process group of its own, so that each signal reaches the processes that it has started, too, and none of
   * them outlives it; default true, unless its input is our terminal. Not on Windows. */
  group?: boolean
  /** 'merge': what it prints as errors goes to its standard output, in the order in which it was printed. Not on Windows. */
  stderr?: 'merge'
}

/** How long a process has to end when it is asked to. */
const GRACE = 5000

/** The checks of the options that all calls have. */
export const OPTIONS = {
  cwd: checkPath,
  env: checkEnv,
  grace: check.timeLimit,
  group: checkGroup,
  stderr: checkStderr,
} satisfies Record<keyof ProcessOptions, Check>

export class Command {
  /** For errors and the tree: the file without its directory. */
  readonly name: string
  readonly grace: number
  /** What its descriptors are, by number. */
  readonly stdio: readonly Stdio[]
  /** Whether its errors go to its output. */
  readonly isMerged: boolean
  private readonly cwd: string | undefined

  constructor(
    private readonly file: string,
    private readonly args: readonly string[],
    private readonly options: ProcessOptions,
    stdio: readonly Stdio[],
    /** What was called, for errors and the tree: `exec(git)`. */
    readonly where: string,
  ) {
    if (typeof file !== 'string' || file === '')
      throw new BadArgument(`${where} needs the name of a program, got ${show(file)}`)
    if (!Array.isArray(args)) throw new BadArgument(`${where} needs an array of arguments, got ${show(args)}`)
    for (const arg of [file, ...args]) {
      if (typeof arg === 'string' && !arg.includes('\0')) continue
      throw new BadArgument(`${where} needs arguments that are strings without \\0, got ${show(arg)}`)
    }
    const { grace = GRACE, cwd, stderr } = options
    this.name = basename(file)
    this.grace = grace
    this.isMerged = stderr === 'merge'
    this.stdio = this.isMerged ? mergeErrors(stdio, where) : stdio
    this.cwd = cwd === undefined ? undefined : checkPath(cwd, `the cwd of ${where}`)
  }

  /** Whether its output and its errors are one stream for us, which needs a pair of sockets. */
  get needsPair(): boolean {
    return this.isMerged && this.stdio[1] === 'pipe'
  }

  /**
   * Whether it leads a process group of its own. Such a process has no terminal: Ctrl-C does not reach it, and it cannot ask the user. So by
   * default one whose input is our terminal stays in our group, where the terminal reaches all processes itself.
   */
  get isGroup(): boolean {
    return this.options.group ?? (process.platform !== 'win32' && !isTerminal(this.stdio[0] as Stdio))
  }

  /** Starts it, with `output` as its output and errors if it needs a pair. Without a `pid` it has failed, and the event 'error' says why. */
  start(detached: boolean, output?: Socket): ChildProcess {
    const { cwd, file, args, options, where } = this
    const stdio = this.stdio.map((entry) => nodeStdio(entry, where))
    if (output !== undefined) stdio.fill(output, 1, 3)
    try {
      return spawn(file, args, { cwd, env: options.env as NodeJS.ProcessEnv, stdio, detached })
    } catch (error) {
      throw this.failure(error)
    }
  }

  /** Why it could not be started. Node says ENOENT of the program when it is the directory that does not exist. */
  failure(error: unknown): IOError {
    const { where, cwd, file, args } = this
    const failed = ioError(error, where)
    const trouble = cwd === undefined ? undefined : troubleWith(cwd)
    if (trouble !== undefined)
      return new IOError(
        `${where} failed: it cannot be run in ${show(cwd)}: ${trouble} (${failed.code})`,
        error,
      )
    if (failed.code !== 'ENOENT' || args.length > 0 || !/\s/.test(file)) return failed
    return new IOError(
      `${failed.message}. There is no shell that takes it apart: give the arguments as an array`,
      error,
    )
  }
}

/** What was called, for errors and the tree: `exec(git)`. */
export function describeCall(caller: string, file: unknown): string {
  return `${caller}(${typeof file === 'string' ? file : ''})`
}

function troubleWith(cwd: string): string | undefined {
  try {
    return statSync(cwd).isDirectory() ? undefined : 'not a directory'
  } catch {
    return 'no such directory'
  }
}

function checkEnv(env: unknown, what: string): void {
  if (typeof env !== 'object' || env === null || Array.isArray(env))
    throw new BadArgument(`${what} needs an object of strings, got ${show(env)}`)
  for (const [name, value] of Object.entries(env)) {
    const isText = value === undefined || (typeof value === 'string' && !value.includes('\0'))
    if (isText && !name.includes('\0')) continue
    throw new BadArgument(`${what} needs strings without \\0, got ${show(value)} for ${show(name)}`)
  }
}

function checkGroup(group: unknown, what: string): void {
  check.boolean(group, what)
  if (group === true) refuseOnWindows(what, 'there are no process groups')
}

function checkStderr(stderr: unknown, what: string): void {
  check.oneOf('merge')(stderr, what)
  refuseOnWindows(what, 'a descriptor cannot be given to a process twice')
}

function refuseOnWindows(what: string, why: string): void {
  if (process.platform === 'win32') throw new BadArgument(`${what} cannot be had on Windows: ${why}`)
}

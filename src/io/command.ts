// What is to be run as a process: the checks, the start, and why it could not be started, in words.
// Node starts a process at once, in the call; only that it could not be started is told a moment later.

import { type ChildProcess, spawn } from 'node:child_process'
import { statSync } from 'node:fs'
import { basename } from 'node:path'
import { BadArgument, check, show } from '../core/index.js'
import { IOError, ioError } from './errors.js'
import { checkPath } from './filepath.js'

const STDIO = ['pipe', 'inherit', 'ignore'] as const
/** One of the three standard streams of a process: a stream for us, the one of our own process, or none. */
export type Stdio = (typeof STDIO)[number]
/** Standard input, output and errors. */
type AllStdio = readonly [Stdio, Stdio, Stdio]

/** How a process is to be run. */
export interface ProcessOptions {
  /** In which directory; default: ours. */
  cwd?: string | URL
  /** Its environment variables, all of them; default: ours. To add some: `{ ...process.env, LANG: 'C' }`. */
  env?: Record<string, string | undefined>
  /** How many milliseconds it has to end when it is asked to, before it is killed; default 5,000. */
  grace?: number
}

/** How long a process has to end when it is asked to. */
export const GRACE = 5000
export const COMMON = ['cwd', 'env', 'grace'] as const

export class Command {
  /** For errors and the tree: the file without its directory. */
  readonly name: string
  readonly grace: number
  private readonly cwd: string | undefined

  constructor(
    private readonly file: string,
    private readonly args: readonly string[],
    private readonly options: ProcessOptions,
    readonly stdio: AllStdio,
    /** The call that asked for it: `exec`. */
    private readonly caller: string,
  ) {
    if (typeof file !== 'string' || file === '')
      throw new BadArgument(`${caller}() needs the name of a program, got ${show(file)}`)
    if (!Array.isArray(args))
      throw new BadArgument(`${this.where} needs an array of arguments, got ${show(args)}`)
    for (const arg of [file, ...args]) {
      if (typeof arg === 'string' && !arg.includes('\0')) continue
      throw new BadArgument(`${this.where} needs arguments that are strings without \\0, got ${show(arg)}`)
    }
    if (options.grace !== undefined) check.timeLimit(options.grace, `the grace of ${this.where}`)
    this.name = basename(file)
    this.grace = options.grace ?? GRACE
    this.cwd = options.cwd instanceof URL ? checkPath(options.cwd, `the cwd of ${this.where}`) : options.cwd
  }

  /** What was called, for errors and the tree: `exec(git)`. */
  get where(): string {
    return `${this.caller}(${this.file})`
  }

  /** Starts it. Without a `pid` it has failed, and the event 'error' says why. */
  start(): ChildProcess {
    const { cwd, file, args, options, stdio } = this
    try {
      return spawn(file, args, { cwd, env: options.env as NodeJS.ProcessEnv, stdio: [...stdio] })
    } catch (error) {
      throw this.failure(error)
    }
  }

  /** Why it could not be started. Node says ENOENT of the program when it is the directory that does not exist. */
  failure(error: unknown): IOError {
    const { where, cwd, file, args } = this
    if (cwd !== undefined) {
      try {
        if (!statSync(cwd).isDirectory()) return notIn(where, cwd, 'not a directory', error)
      } catch {
        return notIn(where, cwd, 'no such directory', error)
      }
    }
    const failed = ioError(error, where)
    if (failed.code !== 'ENOENT' || args.length > 0 || !/\s/.test(file)) return failed
    return new IOError(
      `${failed.message}. There is no shell that takes it apart: give the arguments as an array`,
      error,
    )
  }
}

function notIn(where: string, cwd: string, why: string, error: unknown): IOError {
  return new IOError(`${where} failed: it cannot be run in ${show(cwd)}: ${why} (ENOENT)`, error)
}

/** Checks the options, and what is given as stdio. */
export function readStdio(given: unknown, usual: AllStdio, where: string): AllStdio {
  if (given === undefined) return usual
  const all = Array.isArray(given) ? given : [given, given, given]
  if (all.length === 3 && all.every((each) => STDIO.includes(each))) return all as unknown as AllStdio
  const words = STDIO.map((word) => `'${word}'`).join(', ')
  throw new BadArgument(
    `the stdio of ${where} is one of ${words}, or an array of three of them; got ${
      Array.isArray(given) ? `[${given.map(show).join(', ')}]` : show(given)
    }`,
  )
}

/** The options of a call, checked. */
export function readOptions<O extends ProcessOptions>(options: O, more: readonly string[], where: string): O {
  check.options(options, [...COMMON, ...more], where)
  const { cwd, env, check: isChecked } = options as O & { check?: unknown }
  if (cwd !== undefined && typeof cwd !== 'string' && !(cwd instanceof URL))
    throw new BadArgument(`the cwd of ${where} is a path, got ${show(cwd)}`)
  if (env !== undefined && (typeof env !== 'object' || env === null))
    throw new BadArgument(`the env of ${where} is an object of strings, got ${show(env)}`)
  if (isChecked !== undefined && typeof isChecked !== 'boolean')
    throw new BadArgument(`the check of ${where} is true or false, got ${show(isChecked)}`)
  return options
}

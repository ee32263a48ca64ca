// main and exit: a program that owns its process. Runs the main fiber, then sets the exit code and lets the event loop
// drain (S45). Signals (S47) are in shutdown.ts, the runtime and `run` in run.ts.

import { BadArgument, BadState, type Checks, check, type Returned, show } from '../core/index.js'
import { formatError, silentExitCode } from './report.js'
import { nodeRuntime, startRoot } from './run.js'
import { Shutdown, TreeDump } from './shutdown.js'
import { dropTraps } from './trap.js'

const DEADLOCK_CODE = 13
/** How long handles may keep the process after main is dead. */
const LINGER_MS = 1000

/** The code given to `exit`. */
let requested: number | undefined
/** Ends a process that does not end by itself after main is over. */
let lingering: NodeJS.Timeout | undefined
/** Handles the signals that stop main. */
let shutdown: Shutdown | undefined

/** Options of `main`. */
export interface MainOptions {
  /** If true, every fiber carries the async context of its spin, for loggers and OpenTelemetry; default false (S56). */
  context?: boolean
  /** Milliseconds that all cleanup may wait when the program is stopped, by a signal or `exit`; default 5,000 (S18). */
  grace?: number
  /**
   * A signal that prints the live tree on stderr, such as `'SIGUSR2'`; default none (S48). The environment variable
   * `POLYPHONY_TREE_SIGNAL` overrides it.
   */
  treeOn?: string
}
const OPTIONS: Checks<MainOptions> = {
  context: check.boolean,
  grace: check.timeLimit,
  treeOn: check.any, // the environment goes first: TreeDump checks it
}

/**
 * Runs a program. When the body is over, its children are stopped and the process ends with code 0; with 1 after an
 * uncaught error, which is printed with the path of its fiber; with 13 when no fiber can ever go on (S30, S33, S45).
 * Ctrl-C, SIGTERM and SIGHUP stop the program: cleanup runs, and the code is 130, 143 or 129 (S47).
 *
 * ```ts
 * import { main, sleep, spin } from 'polyphony'
 *
 * main(function* () {
 *   const friend = spin(function* () {
 *     yield* sleep(10)
 *     return 'a fiber'
 *   })
 *   console.log(`hello from ${yield* friend}`)
 * })
 * ```
 *
 * ```text
 * hello from a fiber
 * ```
 */
export function main<R>(body: () => Returned<R>, options: MainOptions = {}): void {
  const { treeOn, ...rootOptions } = check.options(options, OPTIONS, 'main()')
  const runtime = nodeRuntime()
  if (runtime.main !== null) {
    throw new BadState('main() runs already; a process has one. Use spin() for a child, or run() beside it.')
  }
  const treeDump = new TreeDump(treeOn)
  const fiber = startRoot(body, { name: 'main', ...rootOptions }, 'main()', {
    deadlocked(error) {
      printError(error)
      process.exitCode = DEADLOCK_CODE
    },
    ended(outcome) {
      runtime.main = null
      if (outcome.type === 'error') {
        const code = silentExitCode(outcome.error)
        if (code === undefined) printError(outcome.error)
        process.exitCode = code ?? 1
      } else process.exitCode = requested ?? signals.code ?? process.exitCode ?? 0
      signals.ended()
      treeDump.close()
      dropTraps()
      lingering = setTimeout(endLingering, LINGER_MS).unref()
    },
  })
  requested = undefined
  clearTimeout(lingering)
  shutdown?.close()
  const signals = (shutdown = new Shutdown(fiber))
  treeDump.open()
  runtime.main = fiber
}

function printError(error: unknown): void {
  process.stderr.write(`${formatError(error)}\n`)
}

/** Something other than a fiber still keeps the process after LINGER_MS: names it and exits, unless output is still being written. */
function endLingering(): void {
  if (process.stdout.writableLength > 0 || process.stderr.writableLength > 0) {
    lingering = setTimeout(endLingering, LINGER_MS).unref()
    return
  }
  const holding = [...new Set(process.getActiveResourcesInfo())].filter((name) => !STANDARD.has(name))
  process.stderr.write(
    `polyphony: main is over but the process was kept open by ${holding.join(', ') || 'something'}; exiting\n`,
  )
  process.exit()
}
const STANDARD = new Set(['TTYWrap', 'PipeWrap'])

/**
 * Ends the program: main is stopped, cleanup runs, the process exits with `code` (S45).
 *
 * ```ts
 * import { exit, main, sleep } from 'polyphony'
 *
 * main(function* () {
 *   try {
 *     exit(3)
 *     yield* sleep(1000)
 *   } finally {
 *     console.log('cleaned up')
 *   }
 * })
 * ```
 *
 * ```text
 * cleaned up
 * exit code 3
 * ```
 */
export function exit(code = 0): void {
  if (!Number.isInteger(code) || code < 0 || code > 255) {
    throw new BadArgument(`exit() needs a whole number from 0 to 255, got ${show(code)}`)
  }
  const { main } = nodeRuntime()
  if (main === null)
    throw new BadState('exit() needs a running main(); from async code, stop the run() instead')
  requested = code
  main.stop(undefined, { reason: `exit(${code})` })
}

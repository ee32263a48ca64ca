// What main does about signals by default: the first stops it, another Ctrl-C cuts cleanup short, the one after that exits
// (S47); and one of its choice prints the live tree (S48). Signals taken by trap or awaitSignal do not stop it.
//
//   open  ->  stopping  ->  killing  ->  exit        one step for each SIGINT that is not an echo of the one before
//     \ SIGTERM, SIGHUP /

import { writeSync } from 'node:fs'
import { constants } from 'node:os'
import { isMainThread } from 'node:worker_threads'
import type { Fiber } from '../core/index.js'
import { printTree, runtimeStats } from './run.js'
import { checkSignalName, ECHO_MS, isEchoing, isTaken, type Listener, listen, unlisten } from './signals.js'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** The exit code of a program ended by a signal, as in shells. */
function codeOf(signal: string): number {
  return 128 + constants.signals[signal as keyof typeof constants.signals]
}

export class Shutdown implements Listener {
  private phase: 'open' | 'stopping' | 'killing' = 'open'
  /** The first signal, and the time of the last one that was not an echo. */
  private signal: string | undefined
  private at = -Infinity

  constructor(private readonly main: Fiber) {
    if (isMainThread) for (const signal of SIGNALS) listen(signal, this, 'main')
  }

  /** The exit code, if a signal has ended the process. */
  get code(): number | undefined {
    return this.signal === undefined ? undefined : codeOf(this.signal)
  }

  heard(signal: string): void {
    const { main, phase } = this
    const now = main.runtime.now()
    if (phase !== 'open' && now - this.at <= ECHO_MS) return
    if (main.state === 'dead') process.exit() // main has ended, and something keeps the process
    if (phase !== 'open' && signal !== 'SIGINT') return // a second SIGTERM changes nothing
    this.at = now
    if (phase === 'open') {
      this.phase = 'stopping'
      this.signal = signal
      say(`${signal}: stopping, ${graceText(main)}${hint(signal)}`)
      main.stop(undefined, { reason: signal })
    } else if (phase === 'stopping') {
      this.phase = 'killing'
      say(`${signal}: cleanup may no longer wait; another SIGINT exits at once`)
      for (const root of [...main.runtime.roots]) root.kill()
    } else process.exit(codeOf(signal))
  }

  /**
   * Main is dead. While the process drains its output, an echo of the signal that ended it may still come; without a
   * listener it would kill the process and cut the output off. So the listeners stay; they do not hold the process.
   */
  ended(): void {
    if (this.phase === 'open' && !SIGNALS.some(isEchoing)) this.close()
  }

  close(): void {
    for (const signal of SIGNALS) unlisten(signal, this, 'main')
  }
}

function graceText({ grace }: Fiber): string {
  return grace === Infinity ? 'cleanup takes the time it needs' : `cleanup has up to ${grace / 1000} s`
}

function hint(signal: string): string {
  if (isTaken('SIGINT')) return ''
  return signal === 'SIGINT' ? '; Ctrl-C again cuts it short' : '; SIGINT cuts it short'
}

/** Writes directly to the descriptor: after SIGHUP the terminal may be gone, which must not become an error. */
function say(text: string): void {
  try {
    writeSync(2, `polyphony: ${text}\n`)
  } catch {}
}

const VARIABLE = 'POLYPHONY_TREE_SIGNAL'

/**
 * Prints the live tree of a program in production when it gets the right signal: kill -USR2 <pid>. It is printed between two batches
 * of fibers, so also while they are busy; it asks no fiber and holds nothing.
 */
export class TreeDump implements Listener {
  private readonly signal: string | undefined

  /** The environment variable goes before the option of `main`. */
  constructor(treeOn: string | undefined) {
    const asked = process.env[VARIABLE]
    if (asked) this.signal = checkSignalName(asked, VARIABLE)
    else if (treeOn !== undefined) this.signal = checkSignalName(treeOn, 'the treeOn of main()')
  }

  open(): void {
    if (this.signal !== undefined) listen(this.signal, this, 'observers')
  }

  close(): void {
    if (this.signal !== undefined) unlisten(this.signal, this, 'observers')
  }

  heard(signal: string): void {
    const { fibers, runQueue, timers } = runtimeStats()
    process.stderr.write(
      `polyphony: ${signal}: process ${process.pid} has ${fibers} fibers, ${runQueue} of them runnable, and ${timers} timers\n`,
    )
    printTree()
  }
}

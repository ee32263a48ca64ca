// What main does about signals of its own accord: the first asks it to stop in order, another Ctrl-C cuts cleanup short,
// the one after that exits (S47). Signals that the program takes itself, by trap or awaitSignal, are not seen here.
//
//   open  ->  stopping  ->  killing  ->  exit        one step for each SIGINT that is no echo of the one before
//     \ SIGTERM, SIGHUP /

import { writeSync } from 'node:fs'
import { constants } from 'node:os'
import { isMainThread } from 'node:worker_threads'
import type { Fiber } from '../core/index.js'
import { ECHO_MS, isEchoing, isTaken, type Listener, listen, unlisten } from './signals.js'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

const OPEN = 0
const STOPPING = 1
const KILLING = 2

/** The exit code that shells give a program that was ended by a signal. */
function codeOf(signal: string): number {
  return 128 + constants.signals[signal as keyof typeof constants.signals]
}

export class Shutdown implements Listener {
  private phase = OPEN
  /** The signal that began it, and when the last one that counted came. */
  private signal: string | undefined
  private at = -Infinity

  constructor(private readonly main: Fiber) {
    if (isMainThread) for (const signal of SIGNALS) listen(signal, this, 'main')
  }

  /** What the process exits with, if a signal has ended it. */
  get code(): number | undefined {
    return this.signal === undefined ? undefined : codeOf(this.signal)
  }

  heard(signal: string): void {
    const { main, phase } = this
    const now = main.runtime.now()
    if (phase !== OPEN && now - this.at <= ECHO_MS) return
    if (main.state === 'dead') process.exit() // it was asked for, and something lingers
    if (phase !== OPEN && signal !== 'SIGINT') return // SIGTERM again changes nothing
    this.at = now
    if (phase === OPEN) {
      this.phase = STOPPING
      this.signal = signal
      say(`${signal}: stopping, ${patience(main)}${hint(signal)}`)
      main.stop(undefined, { reason: signal })
    } else if (phase === STOPPING) {
      this.phase = KILLING
      say(`${signal}: cleanup may not wait any more; once more exits at once`)
      for (const root of [...main.runtime.roots]) root.kill()
    } else process.exit(codeOf(signal))
  }

  /**
   * Main is dead. While the process drains its output, the echo of the signal that has ended it may still come; to Node
   * that would be a new one, and cut the output off. Such listeners hold nothing, and are gone with the process.
   */
  ended(): void {
    if (this.phase === OPEN && !SIGNALS.some(isEchoing)) this.close()
  }

  close(): void {
    for (const signal of SIGNALS) unlisten(signal, this, 'main')
  }
}

function patience({ grace }: Fiber): string {
  return grace === Infinity ? 'cleanup takes the time it needs' : `cleanup has up to ${grace / 1000} s`
}

function hint(signal: string): string {
  if (isTaken('SIGINT')) return ''
  return signal === 'SIGINT' ? '; Ctrl-C again cuts it short' : '; SIGINT cuts it short'
}

/** Straight to the descriptor: after SIGHUP the terminal may be gone, and that must not become an error. */
function say(text: string): void {
  try {
    writeSync(2, `polyphony: ${text}\n`)
  } catch {}
}

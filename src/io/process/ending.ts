// How a process is ended (S77). It, and its group if it has one, is asked with SIGTERM, and killed when the grace is over or
// when the fiber has no more time. Afterwards it has ended, nothing of its group is left, and its streams are closed.

import { Fiber, moveOnAfter, type Op, type Routine, timeLeft } from '../../core/index.js'
import type { ProcessEnd } from './process.js'

/** This share of the time that a fiber has left may be spent on waiting; the rest is for the kill and what follows it. */
const SHARE = 0.9

interface Ending {
  /** Whether it has ended, and nothing of its group is left. */
  readonly isOver: boolean
  wait(): Op<ProcessEnd>
  /** Waits until it is over. */
  over(): Routine<void>
  kill(signal: 'SIGTERM' | 'SIGKILL'): boolean
  closeStreams(): void
}

export function* ending(process: Ending, grace: number): Routine<ProcessEnd> {
  try {
    if (!process.isOver) yield* asking(process, patience(Fiber.current, grace))
    return yield* process.wait()
  } finally {
    process.closeStreams()
  }
}

/** A fiber that is forced to end (S19) waits for nothing, but the process is killed even then. */
function* asking(process: Ending, ms: number): Routine<void> {
  try {
    if (ms <= 0) return
    process.kill('SIGTERM')
    yield* moveOnAfter(ms, () => process.over())
  } finally {
    if (!process.isOver) process.kill('SIGKILL')
  }
}

/** How long to wait for the end: not so long that the fiber would be forced to end before (S18). */
function patience(fiber: Fiber, grace: number): number {
  return Math.min(grace, SHARE * timeLeft(fiber))
}

// How a process is ended (S77): it is asked with SIGTERM, and killed when its grace is over, or when its fiber has no more
// time. Afterwards it is gone, nothing of it is left, and its streams are closed.

import { Fiber, forcedAt, moveOnAfter, type Op, type Routine } from '../core/index.js'
import type { ProcessEnd } from './process.js'

/** So much of the time that a fiber has left may be spent on waiting; the rest is for the kill and for what follows. */
const SHARE = 0.9

interface Ending {
  readonly end: ProcessEnd | undefined
  wait(): Op<ProcessEnd>
  kill(signal: 'SIGTERM' | 'SIGKILL'): boolean
  closeStreams(): void
}

export function* ending(process: Ending, grace: number): Routine<ProcessEnd> {
  try {
    if (process.end === undefined) yield* asking(process, patience(Fiber.current, grace))
    return yield* process.wait()
  } finally {
    process.closeStreams()
  }
}

/** A fiber that is forced to end (S19) waits for nothing, but even then the process does not stay. */
function* asking(process: Ending, ms: number): Routine<void> {
  try {
    if (ms <= 0) return
    process.kill('SIGTERM')
    yield* moveOnAfter(ms, () => process.wait())
  } finally {
    if (process.end === undefined) process.kill('SIGKILL')
  }
}

/** How long to wait for an end: not so long that the fiber would be forced to end before (S18). */
function patience(fiber: Fiber, grace: number): number {
  return Math.min(grace, SHARE * (forcedAt(fiber) - fiber.runtime.now()))
}

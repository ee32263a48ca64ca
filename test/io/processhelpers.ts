// What the tests of processes look at: descriptors and children of this process, programs for children to run.

import { readdirSync, readFileSync } from 'node:fs'
import { Fiber, type Op, type Routine, spin, until } from 'polyphony'
import { virtual } from 'polyphony/testing'
import '../shared/spare.js'

/** What is open in this process. */
export function descriptors(): number {
  return readdirSync('/proc/self/fd').length
}

/** The processes that this one has started and that are not gone; also those that are dead and that nobody has buried. */
export function children(): string[] {
  const list = readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, 'utf8')
  return list.split(' ').filter((pid) => pid !== '')
}

/** Whether there is a process of this number; one that is dead and not buried counts. */
export function exists(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** A turn of the event loop. */
export const loopTurn = () => until(new Promise<void>((resolve) => setImmediate(resolve)))

/** Waits until no process is left that this one has started. */
export function* noChildren(): Routine<void> {
  while (children().length > 0) yield* loopTurn()
}

/** Freezes the processes that this one has started: frozen, they do not even end when they are asked to. */
export function* freezeChildren(): Routine<void> {
  for (const pid of children()) {
    process.kill(Number(pid), 'SIGSTOP')
    while (!/\) T /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))) yield* loopTurn()
  }
}

/** A program for Node, as the arguments of a process. */
export const js = (source: string): [string, string[]] => [process.execPath, ['-e', source]]

/** A program for the shell. */
export const sh = (source: string): [string, string[]] => ['sh', ['-c', source]]

/** Says 'ready', and does not end when it is asked to. */
export const deaf = sh('trap "" TERM; echo ready; exec sleep 1000')

/** Says 'ready', and ends when it is asked to. */
export const polite = sh('echo ready; exec sleep 1000')

/**
 * Runs a scenario again and again, in a world of its own, and disturbs it at its first switchpoint, then at its second, until
 * there are no more. Says how often. Real processes, but time jumps.
 */
export async function disturbedEverywhere(
  scenario: () => Op<unknown>,
  disturb: (fiber: Fiber, target: Fiber<any>) => void,
  check: (at: number) => void,
): Promise<number> {
  for (let at = 0; ; at++) {
    let seen = 0
    await virtual(function* () {
      const me = Fiber.current
      const { runtime } = me as any
      runtime.probe = (fiber: Fiber) => {
        if (fiber !== me && seen++ === at) disturb(fiber, target)
      }
      const target = spin({ name: 'target', link: false }, scenario)
      yield* target.join()
      runtime.probe = null
      yield* noChildren()
    })
    check(at)
    if (seen <= at) return at
  }
}

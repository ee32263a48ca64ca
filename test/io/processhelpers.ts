// What the tests of processes look at: the children of this process, and programs for them to run.

import { readFileSync } from 'node:fs'
import { Fiber, type Op, type Routine, spin } from 'polyphony'
import { type Process, type SpawnProcessOptions, spawnProcess } from 'polyphony/io'
import { virtual } from 'polyphony/testing'
import { assert, eventually } from '../prelude.js'
import { held } from '../shared/outside.js'

/** The processes that this one has started and that are not gone; dead ones that were not waited for count. */
export function children(): string[] {
  const list = readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, 'utf8')
  return list.split(' ').filter((pid) => pid !== '')
}

/** What the system says of a process: its state (R, S, T, Z ...) and its group; undefined if there is none. */
export function processState(pid: number): { state: string; group: number } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    const [state, , group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ') as [string, string, string]
    return { state, group: Number(group) }
  } catch {
    return undefined
  }
}

/** Whether a process runs. One that is dead and was not waited for does not. */
export const isRunning = (pid: number): boolean => !['Z', 'X', undefined].includes(processState(pid)?.state)

export const noChildren = (): Routine<void> => eventually(() => children().length === 0)

/** Freezes the processes that this one has started: frozen, they do not even end when they are asked to. */
export function* freezeChildren(): Routine<void> {
  for (const pid of children()) {
    process.kill(Number(pid), 'SIGSTOP')
    yield* eventually(() => /\) T /.test(readFileSync(`/proc/${pid}/stat`, 'utf8')))
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

/** A process that has said 'ready'. */
export function* ready(
  program = polite,
  grace?: number,
  options: SpawnProcessOptions = {},
): Routine<Process> {
  const process = yield* spawnProcess(...program, { grace, ...options })
  assert.equal(yield* process.stdout.gets(), 'ready')
  return process
}

/**
 * Runs a scenario again and again, in a world of its own, and disturbs it at its first switchpoint, then at its second,
 * until there are no more. Afterwards no process and no descriptor is left. Real processes, but time jumps.
 */
export async function disturbedEverywhere(
  scenario: () => Op<unknown>,
  disturb: (fiber: Fiber, target: Fiber<any>) => unknown,
): Promise<void> {
  const before = held().descriptors
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
    assert.equal(held().descriptors, before, `descriptors after switchpoint ${at}`)
    if (seen <= at) return
  }
}

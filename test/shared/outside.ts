// What tests with real sockets and files need: trouble at every switchpoint in real time, and a count of descriptors.

import assert from 'node:assert/strict'
import { existsSync, readdirSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { Fiber, FiberStopped, isStop, type Routine, run, spin } from 'polyphony'
import { type Leaks, leaks } from 'polyphony/testing'
import { comesTrue } from '../prelude.js'
import './spare.js'

/** What this process holds: all that leaks() counts, and its descriptors, where the system tells. */
export interface Held extends Leaks {
  readonly descriptors: number
}

export function held(): Held {
  return { ...leaks(), descriptors: descriptors() }
}

/** How many descriptors this process has open; 0 where the system does not tell. */
export function descriptors(): number {
  const place = ['/proc/self/fd', '/dev/fd'].find((path) => existsSync(path))
  return place === undefined ? 0 : readdirSync(place).length
}

/** It holds no more than before: at once, or as soon as what had begun (a lookup, a close) is over. */
export async function untilHeld(before: Held, when = ''): Promise<void> {
  if (await comesTrue(() => isNoMore(held(), before))) return
  assert.deepEqual(held(), before, `something is left behind${when}`)
}

/** What the test before this one had begun may have been open at first, and be closed now. */
function isNoMore(now: Held, before: Held): boolean {
  const [{ resources, descriptors, ...rest }, expected] = [now, before]
  const others = [...expected.resources]
  const isKnown = (name: string) => others.includes(name) && others.splice(others.indexOf(name), 1).length > 0
  const { fibers, timers, runQueue, pendingOps, listeners } = expected
  return (
    descriptors <= expected.descriptors &&
    resources.every(isKnown) &&
    isDeepStrictEqual(rest, { fibers, timers, runQueue, pendingOps, listeners })
  )
}

/** What makes trouble at a switchpoint. */
export const TROUBLE = {
  stop: (fiber: Fiber) => void fiber.stop(),
  'stop all': (_: Fiber, root: Fiber) => void root.stop(),
  kill: (fiber: Fiber) => void fiber.kill(),
  raise: (fiber: Fiber) => void fiber.raise(new Trouble('raised by the test')),
}

export class Trouble extends Error {}

/**
 * Runs a scenario once to count its switchpoints, then once for each of them and each kind of trouble, which strikes
 * exactly there. Nothing may be left behind. Gives the number of runs.
 */
export async function disturb(scenario: () => Routine<unknown>): Promise<number> {
  let runs = 0
  const total = await disturbed(scenario, -1, () => {})
  for (const trouble of Object.values(TROUBLE)) {
    for (let at = 0; at < total; at++) {
      await disturbed(scenario, at, trouble)
      runs++
    }
  }
  return runs
}

async function disturbed(
  scenario: () => Routine<unknown>,
  at: number,
  trouble: (fiber: Fiber, root: Fiber) => void,
): Promise<number> {
  let seen = 0
  const before = held()
  try {
    await run(function* () {
      const { runtime } = Fiber.current as any
      let root: Fiber | null = null
      runtime.probe = (fiber: Fiber) => {
        if (root !== null && seen++ === at) trouble(fiber, root)
      }
      try {
        root = spin({ name: 'scenario', link: false }, scenario)
        yield* root
      } finally {
        runtime.probe = null
      }
    })
  } catch (error) {
    const isExpected = error instanceof Trouble || error instanceof FiberStopped || isStop(error)
    if (at < 0 || !isExpected) throw error
  }
  await untilHeld(before, ` after trouble at switchpoint ${at}`)
  return seen
}

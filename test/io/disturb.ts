// Runs a scenario with real sockets once, counting its switchpoints, then once for each of them with something going wrong
// exactly there. What `stopEverywhere` does in virtual time, in the real one.

import assert from 'node:assert/strict'
import { Fiber, FiberStopped, type Routine, spin } from 'polyphony'
import { InjectedFailure } from 'polyphony/testing'
import { isGone, real } from './real.js'

/** What goes wrong: throws, or does something to the fiber that is at the switchpoint, or to the whole scenario. */
export type Disturbance = (fiber: Fiber, whole: Fiber, what: string) => void

export const disturbances: Record<string, Disturbance> = {
  stop: (fiber) => void fiber.stop(),
  'stop the whole': (_, whole) => void whole.stop(),
  kill: (fiber) => void fiber.kill(),
  'kill the whole': (_, whole) => void whole.kill(),
  raise: (fiber) => void fiber.raise(new InjectedFailure('raised by the test')),
  fail(_fiber, _whole, what) {
    throw new InjectedFailure(`${what} was made to fail by the test`)
  },
}

/** How many switchpoints were disturbed. `check` looks at what the scenario left, after each run. */
export async function everywhere(
  scenario: () => Routine<unknown>,
  disturb: Disturbance,
  check: () => void = () => {},
): Promise<number> {
  const quiet = await runOnce(scenario, -1, () => {})
  check()
  for (let at = 0; at < quiet.seen; at++) {
    let place = `switchpoint ${at} of ${quiet.seen}, which was not reached`
    try {
      await runOnce(scenario, at, (fiber, whole, what) => {
        place = `switchpoint ${at} of ${quiet.seen}, ${what} in ${fiber.path}`
        disturb(fiber, whole, what)
      })
      check()
    } catch (error) {
      throw new Error(`disturbed at ${place}: ${error}`, { cause: error })
    }
  }
  return quiet.seen
}

async function runOnce(
  scenario: () => Routine<unknown>,
  at: number,
  disturb: Disturbance,
): Promise<{ seen: number }> {
  let seen = 0
  await real(function* (reports) {
    const { runtime } = Fiber.current as any
    let whole: Fiber | null = null
    runtime.probe = (fiber: Fiber, op: { describe(): string }) => {
      if (whole !== null && isWithin(fiber, whole) && seen++ === at) disturb(fiber, whole, op.describe())
    }
    try {
      whole = spin({ name: 'whole', link: false }, scenario)
      const outcome = yield* whole.join()
      assert.notEqual(outcome.type, 'abandoned')
      if (at < 0) assert.deepEqual([outcome.type, reports], ['value', []])
      else if (outcome.type === 'error' && !isExpected(outcome.error)) throw outcome.error
      const bad = reports.find(
        ({ kind, error }) => kind !== 'forced' && !(kind === 'unobserved' && isExpected(error)),
      )
      assert.equal(bad?.error ?? bad?.message, undefined)
    } finally {
      runtime.probe = null
    }
  })
  return { seen }
}

function isWithin(fiber: Fiber, whole: Fiber): boolean {
  for (let each: Fiber | null = fiber; each !== null; each = each.parent) if (each === whole) return true
  return false
}

/** A scenario that was disturbed may fail by that, by awaiting what was stopped, or because the other side is gone. */
function isExpected(error: unknown): boolean {
  return error instanceof FiberStopped || error instanceof InjectedFailure || isGone(error)
}

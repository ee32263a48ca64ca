// What the explored scenarios share.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type Routine, snooze } from 'polyphony'
import { explore } from 'polyphony/testing'

/** Runs a scenario in every order of its fibers, to the last, and says how many there were. Not under a seed. */
export function everyOrder(t: TestContext, scenario: () => unknown): void {
  if (leftOut(t)) return
  const { schedules, complete } = explore(scenario, { maxSchedules: 300_000 })
  assert.ok(complete, `only ${schedules} orders were run`)
  assert.ok(schedules > 1, 'there was nothing to choose')
  t.diagnostic(`${schedules} orders`)
}

/** Whether a seed shuffles this run. Every order has been run without it, and would be the same orders again. */
export function leftOut(t: TestContext): boolean {
  if (!process.env.POLY_SEED) return false
  t.diagnostic('every order: not again under a seed')
  return true
}

/** Fails at its second turn. */
export function* fails(error: Error): Routine<never> {
  yield* snooze()
  throw error
}

/** Gives a value at its second turn. */
export function* gives<T>(value: T): Routine<T> {
  yield* snooze()
  return value
}

/** Does something at its second turn, or after so many snoozes. */
export function* soon(act: () => unknown, snoozes = 1): Routine<void> {
  for (let n = 0; n < snoozes; n++) yield* snooze()
  act()
}

/** A test of every order. What the scenario returns says what an order has shown; `shown`, if given, is all of that. */
export function inEveryOrder(name: string, scenario: () => Routine<unknown>, shown?: unknown[]): void {
  test(name, (t) => {
    const seen = new Set<unknown>()
    everyOrder(t, function* () {
      seen.add(yield* scenario())
    })
    if (shown !== undefined && !process.env.POLY_SEED) assert.deepEqual([...seen].sort(), shown)
  })
}

// Runs a scenario once to count its switchpoints, then once for each of them with something going wrong exactly there.
// The cheapest and most productive test there is.

import {
  BadArgument,
  checkBody,
  checkOptions,
  type Fiber,
  FiberStopped,
  type Outcome,
  PolyphonyError,
} from '../core/index.js'
import { World } from './world.js'

/** How a scenario is to be disturbed everywhere. */
export interface EverywhereOptions {
  /** Looks at how the scenario ended, after each run. Throw to fail. */
  check?: (outcome: Outcome<unknown>) => void
  /** How many runs at the most; default 10,000. */
  maxRuns?: number
}

/** How much was tried. */
export interface EverywhereResult {
  /** Switchpoints of the undisturbed scenario. */
  readonly switchpoints: number
  /** How often the scenario was run and disturbed. */
  readonly runs: number
}

/**
 * A scenario did not survive a disturbance; the message says which, `cause` is what happened.
 *
 * ```ts
 * import { sleep } from 'polyphony'
 * import { DisturbanceFailed, stopEverywhere } from 'polyphony/testing'
 *
 * let open = 0
 * function* careless() {
 *   open = 1
 *   yield* sleep(10) // stopped here, it never closes
 *   open = 0
 * }
 * const check = () => {
 *   if (open > 0) throw new Error('left open')
 * }
 * try {
 *   stopEverywhere(careless, { check })
 * } catch (error) {
 *   console.log(error instanceof DisturbanceFailed, (error as Error).message)
 * }
 * ```
 *
 * ```text
 * true stopping at switchpoint 0 of 1, sleep(10) in main: left open
 * ```
 */
export class DisturbanceFailed extends PolyphonyError {
  override readonly code = 'DISTURBANCE_FAILED'
  constructor(what: string, cause: unknown) {
    super(`${what}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
  }
}

/**
 * The error that `failEverywhere` and `raiseEverywhere` put in.
 *
 * ```ts
 * import { sleep } from 'polyphony'
 * import { failEverywhere, InjectedFailure } from 'polyphony/testing'
 *
 * failEverywhere(function* () {
 *   try {
 *     yield* sleep(10)
 *   } catch (error) {
 *     console.log(error instanceof InjectedFailure)
 *   }
 * })
 * ```
 *
 * ```text
 * true
 * ```
 */
export class InjectedFailure extends PolyphonyError {
  override readonly code = 'INJECTED_FAILURE'
}

/**
 * Stops the fiber at each switchpoint in turn, and, in as many more runs, the whole scenario at that moment.
 * Throws if it then deadlocks, leaves something behind, is abandoned, or fails by anything but the stop.
 *
 * ```ts
 * import assert from 'node:assert/strict'
 * import { sleep } from 'polyphony'
 * import { stopEverywhere } from 'polyphony/testing'
 *
 * let open = 0
 * function* job() {
 *   open++
 *   try {
 *     yield* sleep(10)
 *     yield* sleep(10)
 *   } finally {
 *     open--
 *   }
 * }
 * console.log(stopEverywhere(job, { check: () => assert.equal(open, 0) }))
 * ```
 *
 * ```text
 * { switchpoints: 2, runs: 4 }
 * ```
 */
export function stopEverywhere(scenario: () => unknown, options: EverywhereOptions = {}): EverywhereResult {
  const self = everywhere(scenario, options, 'stopping', (fiber) => void fiber.stop())
  const root = everywhere(scenario, options, 'stopping main', (_, main) => void main.stop())
  return { switchpoints: self.switchpoints, runs: self.runs + root.runs }
}

/**
 * Raises an error in the fiber at each switchpoint in turn. Throws as `stopEverywhere` does.
 *
 * ```ts
 * import { sleep } from 'polyphony'
 * import { raiseEverywhere } from 'polyphony/testing'
 *
 * console.log(raiseEverywhere(() => sleep(10)))
 * ```
 *
 * ```text
 * { switchpoints: 1, runs: 1 }
 * ```
 */
export function raiseEverywhere(scenario: () => unknown, options: EverywhereOptions = {}): EverywhereResult {
  return everywhere(
    scenario,
    options,
    'raising',
    (fiber) => void fiber.raise(new InjectedFailure('raised by the test')),
  )
}

/**
 * Lets the operation at each switchpoint in turn fail, as if the backend had refused it. Throws as `stopEverywhere` does.
 *
 * ```ts
 * import { sleep, spin } from 'polyphony'
 * import { failEverywhere } from 'polyphony/testing'
 *
 * function* scenario() {
 *   yield* spin(() => sleep(10))
 *   yield* sleep(10)
 * }
 * console.log(failEverywhere(scenario))
 * ```
 *
 * ```text
 * { switchpoints: 3, runs: 3 }
 * ```
 */
export function failEverywhere(scenario: () => unknown, options: EverywhereOptions = {}): EverywhereResult {
  return everywhere(scenario, options, 'failing', (_, __, what) => {
    throw new InjectedFailure(`${what} was made to fail by the test`)
  })
}

type Disturb = (fiber: Fiber, main: Fiber, what: string) => void

function everywhere(
  scenario: () => unknown,
  options: EverywhereOptions,
  doing: string,
  disturb: Disturb,
): EverywhereResult {
  checkBody(scenario, 'this test')
  checkOptions(options, ['check', 'maxRuns'], 'this test')
  const { maxRuns = 10_000, check } = options
  const quiet = runDisturbed(scenario, -1, () => {})
  const runs = Math.min(quiet.seen, maxRuns)
  for (let at = 0; at < runs; at++) {
    let place = `${doing} at switchpoint ${at}`
    try {
      const { outcome } = runDisturbed(scenario, at, (fiber, main, what) => {
        place = `${doing} at switchpoint ${at} of ${quiet.seen}, ${what} in ${fiber.path}`
        disturb(fiber, main, what)
      })
      check?.(outcome)
    } catch (error) {
      throw new DisturbanceFailed(place, error)
    }
  }
  return { switchpoints: quiet.seen, runs }
}

/** One run, disturbed at one switchpoint. Checks what must hold whatever happens. */
function runDisturbed(
  scenario: () => unknown,
  at: number,
  disturb: Disturb,
): { seen: number; outcome: Outcome<unknown> } {
  let seen = 0
  const world: World = new World(scenario, {
    maxSwitches: 1_000_000,
    probe: (fiber, op) => {
      if (seen++ === at) disturb(fiber, world.root, op.describe())
    },
  })
  try {
    if (world.advance() === 'outside') {
      throw new BadArgument(
        'the scenario waits for a promise or another thing outside; use fibers and time only',
      )
    }
    world.checkLeaks()
    const abandoned = world.backend.reports.find(
      ({ kind }) => kind === 'forced' || kind === 'abandoned' || kind === 'uncaught',
    )
    if (abandoned !== undefined) throw new Error(abandoned.message)
    const { outcome } = world
    if (outcome.type === 'error' && !isExpected(outcome.error, at)) throw outcome.error
    return { seen, outcome }
  } finally {
    world.close()
  }
}

/** An undisturbed scenario must not fail; a disturbed one may fail by the disturbance, or by awaiting what was stopped. */
function isExpected(error: unknown, at: number): boolean {
  return at >= 0 && (error instanceof FiberStopped || error instanceof InjectedFailure)
}

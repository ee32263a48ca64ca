// stopEverywhere, raiseEverywhere, failEverywhere: run a scenario once to count its switchpoints, then once for each of
// them with a disturbance exactly there.

import {
  BadArgument,
  type Checks,
  check,
  type Fiber,
  FiberStopped,
  type Outcome,
  PolyphonyError,
} from '../core/index.js'
import { World } from './world.js'

/** Options of `stopEverywhere`, `raiseEverywhere` and `failEverywhere`. */
export interface EverywhereOptions {
  /** Called after each run with the outcome of the scenario. Throw to fail. */
  check?: (outcome: Outcome<unknown>) => void
  /** The most runs; default 10,000. */
  maxRuns?: number
}
const OPTIONS: Checks<EverywhereOptions> = { check: check.function, maxRuns: check.limit }

/** What `stopEverywhere`, `raiseEverywhere` and `failEverywhere` return. */
export interface EverywhereResult {
  /** Switchpoints of the undisturbed scenario. */
  readonly switchpoints: number
  /** How often the scenario was run and disturbed. */
  readonly runs: number
}

/**
 * A scenario failed after a disturbance; the message says which, `cause` is the failure.
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
 * The error that `failEverywhere` and `raiseEverywhere` inject.
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
 * Stops the fiber at each switchpoint in turn, and, in as many more runs, the whole scenario at that moment. Throws if the
 * scenario then deadlocks, leaks, is abandoned, or fails for any reason but the stop.
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
  const self = everywhere('stopEverywhere()', scenario, options, 'stopping', (fiber) => void fiber.stop())
  const root = everywhere(
    'stopEverywhere()',
    scenario,
    options,
    'stopping main',
    (_, main) => void main.stop(),
  )
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
    'raiseEverywhere()',
    scenario,
    options,
    'raising',
    (fiber) => void fiber.raise(new InjectedFailure('raised by the test')),
  )
}

/**
 * Makes the op at each switchpoint in turn fail. Throws as `stopEverywhere` does.
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
  return everywhere('failEverywhere()', scenario, options, 'failing', (_, __, what) => {
    throw new InjectedFailure(`${what} was made to fail by the test`)
  })
}

type Disturb = (fiber: Fiber, main: Fiber, what: string) => void

function everywhere(
  where: string,
  scenario: () => unknown,
  options: EverywhereOptions,
  doing: string,
  disturb: Disturb,
): EverywhereResult {
  check.body(scenario, where)
  const { maxRuns = 10_000, check: examine } = check.options(options, OPTIONS, where)
  const undisturbed = runDisturbed(scenario, -1, () => {})
  const runs = Math.min(undisturbed.seen, maxRuns)
  for (let at = 0; at < runs; at++) {
    let place = `${doing} at switchpoint ${at}`
    try {
      const { outcome } = runDisturbed(scenario, at, (fiber, main, what) => {
        place = `${doing} at switchpoint ${at} of ${undisturbed.seen}, ${what} in ${fiber.path}`
        disturb(fiber, main, what)
      })
      examine?.(outcome)
    } catch (error) {
      throw new DisturbanceFailed(place, error)
    }
  }
  return { switchpoints: undisturbed.seen, runs }
}

/** One run, disturbed at one switchpoint. Checks what must hold after every run. */
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

/** An undisturbed scenario must not fail; a disturbed one may fail with the injected error, or by awaiting a stopped fiber. */
function isExpected(error: unknown, at: number): boolean {
  return at >= 0 && (error instanceof FiberStopped || error instanceof InjectedFailure)
}

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

export interface EverywhereOptions {
  /** Looks at how the scenario ended, after each run. Throw to fail. */
  check?: (outcome: Outcome<unknown>) => void
  /** How many runs at the most; default 10,000. */
  maxRuns?: number
}

export interface EverywhereResult {
  /** Switchpoints of the undisturbed scenario. */
  readonly switchpoints: number
  readonly runs: number
}

/** A scenario did not survive a disturbance. */
export class DisturbanceFailed extends PolyphonyError {
  override readonly code = 'DISTURBANCE_FAILED'
  constructor(what: string, cause: unknown) {
    super(`${what}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
  }
}

/** The error that `failEverywhere` and `raiseEverywhere` put in. */
export class InjectedFailure extends PolyphonyError {
  override readonly code = 'INJECTED_FAILURE'
}

/**
 * Stops the fiber at each switchpoint in turn, and, in as many more runs, the whole scenario at that moment.
 * Throws if it then deadlocks, leaves something behind, is abandoned, or fails by anything but the stop.
 */
export function stopEverywhere(scenario: () => unknown, options: EverywhereOptions = {}): EverywhereResult {
  const self = everywhere(scenario, options, 'stopping', (fiber) => void fiber.stop())
  const root = everywhere(scenario, options, 'stopping main', (_, main) => void main.stop())
  return { switchpoints: self.switchpoints, runs: self.runs + root.runs }
}

/** Raises an error in the fiber at each switchpoint in turn. */
export function raiseEverywhere(scenario: () => unknown, options: EverywhereOptions = {}): EverywhereResult {
  return everywhere(
    scenario,
    options,
    'raising',
    (fiber) => void fiber.raise(new InjectedFailure('raised by the test')),
  )
}

/** Lets the operation at each switchpoint in turn fail, as if the backend had refused it. */
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

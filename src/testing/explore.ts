// The explorer: runs a scenario in every possible order of its runnable fibers.
//
// A schedule is the list of choices made wherever more than one fiber was runnable; 0 is the order of the queue.
// Depth first: after each run, the last choice that has an alternative left is changed, and all before it are repeated.

import { BadArgument, type Checks, check, type Policy, PolyphonyError, show } from '../core/index.js'
import { World } from './world.js'

/** Options of `explore`. */
export interface ExploreOptions {
  /** The most schedules to run; default 100,000. */
  maxSchedules?: number
  /** How often a schedule may differ from the order of the queue; default Infinity. */
  preemptions?: number
  /** Runs only this schedule: the trace from the message of a failure. */
  trace?: string
}
const OPTIONS: Checks<ExploreOptions> = {
  maxSchedules: check.limit,
  preemptions: check.number(0),
  trace: readTrace,
}

/** What `explore` returns. */
export interface Exploration {
  /** How many orders of the fibers were run. */
  readonly schedules: number
  /** Whether every schedule was run. */
  readonly complete: boolean
}

/**
 * An order of the fibers in which the scenario failed; the message tells how to repeat it.
 *
 * ```ts
 * import { Fiber, snooze, spin } from 'polyphony'
 * import { explore, ScheduleFailed } from 'polyphony/testing'
 *
 * function* scenario() {
 *   let count = 0
 *   function* increment() {
 *     const before = count
 *     yield* snooze() // another fiber may run here
 *     count = before + 1
 *   }
 *   yield* Fiber.await(spin(increment), spin(increment))
 *   if (count !== 2) throw new Error(`counted ${count}`)
 * }
 * try {
 *   explore(scenario)
 * } catch (error) {
 *   if (error instanceof ScheduleFailed) console.log(error.message)
 * }
 * ```
 *
 * ```text
 * schedule 1 failed: counted 1
 * repeat it with explore(scenario, { trace: '0' })
 * ```
 */
export class ScheduleFailed extends PolyphonyError {
  override readonly code = 'SCHEDULE_FAILED'
  constructor(
    /** Pass it to `explore` to run this schedule again. */
    readonly trace: string,
    schedules: number,
    cause: unknown,
  ) {
    const what = cause instanceof Error ? cause.message : String(cause)
    super(`schedule ${schedules} failed: ${what}\nrepeat it with explore(scenario, { trace: '${trace}' })`, {
      cause,
    })
  }
}

/**
 * Runs `scenario` as a main fiber in every possible order of its fibers, on a virtual clock. The scenario must create
 * everything it uses, and must not wait for promises or I/O. Throws at the first order in which it fails, deadlocks or leaks.
 *
 * ```ts
 * import assert from 'node:assert/strict'
 * import { Fiber, snooze, spin } from 'polyphony'
 * import { explore } from 'polyphony/testing'
 *
 * const { complete } = explore(function* () {
 *   let count = 0
 *   function* increment() {
 *     yield* snooze()
 *     count++
 *   }
 *   yield* Fiber.await(spin(increment), spin(increment))
 *   assert.equal(count, 2)
 * })
 * console.log({ complete })
 * ```
 *
 * ```text
 * { complete: true }
 * ```
 */
export function explore(scenario: () => unknown, options: ExploreOptions = {}): Exploration {
  check.body(scenario, 'explore()')
  const {
    maxSchedules = 100_000,
    preemptions = Infinity,
    trace,
  } = check.options(options, OPTIONS, 'explore()')
  let prefix = trace === undefined ? [] : readTrace(trace)
  for (let schedules = 1; ; schedules++) {
    const choices: number[] = []
    const widths: number[] = []
    const policy: Policy = (queue) => {
      const n = queue.size
      if (n === 1) return queue.shift()
      const choice = Math.min(prefix[choices.length] ?? 0, n - 1)
      choices.push(choice)
      widths.push(n)
      return queue.take(choice)
    }
    runOnce(scenario, policy, (error) => new ScheduleFailed(writeTrace(choices), schedules, error))
    if (trace !== undefined) return { schedules, complete: false }
    const next = nextPrefix(choices, widths, preemptions)
    if (next === undefined) return { schedules, complete: preemptions === Infinity }
    if (schedules >= maxSchedules) return { schedules, complete: false }
    prefix = next
  }
}

function runOnce(scenario: () => unknown, policy: Policy, failed: (error: unknown) => Error): void {
  const world = new World(scenario, { policy, maxSwitches: 100_000 })
  try {
    if (world.advance() === 'outside') {
      throw new BadArgument(
        'the scenario waits for a promise or another thing outside; only fibers and time can be explored',
      )
    }
    world.result()
    world.checkLeaks()
  } catch (error) {
    throw failed(error)
  } finally {
    world.close()
  }
}

function nextPrefix(choices: number[], widths: number[], preemptions: number): number[] | undefined {
  for (let i = choices.length - 1; i >= 0; i--) {
    const choice = (choices[i] as number) + 1
    if (choice >= (widths[i] as number)) continue
    const before = choices.slice(0, i)
    if (before.filter((c) => c !== 0).length + 1 > preemptions) continue
    return [...before, choice]
  }
  return undefined
}

function writeTrace(choices: number[]): string {
  return choices
    .map((c) => c.toString(36))
    .join('.')
    .replace(/(\.0)+$/, '')
}

function readTrace(trace: string): number[] {
  if (typeof trace !== 'string' || !/^([0-9a-z]+(\.[0-9a-z]+)*)?$/.test(trace)) {
    throw new BadArgument(
      `explore() cannot read the trace ${show(trace)}; give it one that a failure printed`,
    )
  }
  return trace === '' ? [] : trace.split('.').map((c) => Number.parseInt(c, 36))
}

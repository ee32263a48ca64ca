// The options `backoff` and `jitter`: how long to wait before another try. `retry` (combine/) and `supervise` share them.

import { BadArgument, type Checks, check, show } from '../core/index.js'

/**
 * The waits between tries, in milliseconds: always the same (a number), growing (`delay` before the second try, then
 * `factor` times as long each time, default 2, never more than `max`), or computed by a function of the number of failed
 * tries (1, 2, 3 ...).
 */
export type Backoff =
  | number
  | { delay: number; factor?: number; max?: number }
  | ((failures: number) => number)

/** How long to wait before another try. */
export interface BackoffOptions {
  /** The waits between tries; default 0. */
  backoff?: Backoff
  /** The random share of each wait, from 0 (the default) to 1: with 0.2 a wait is up to 20% shorter, never longer. */
  jitter?: number
}

export const BACKOFF_OPTIONS: Checks<BackoffOptions> = { backoff: readSteady, jitter: check.number(0, 1) }
const GROWTH = { delay: check.ms, factor: checkFactor, max: check.timeLimit }

/** Takes checked options. Returns a function from the number of failures (1, 2, 3 ...) to the wait. */
export function readBackoff(
  { backoff = 0, jitter = 0 }: BackoffOptions,
  where: string,
): (failures: number) => number {
  const steady = readSteady(backoff, `the backoff of ${where}`)
  return jitter === 0 ? steady : (failures) => steady(failures) * (1 - jitter * Math.random())
}

function readSteady(backoff: Backoff, what: string): (failures: number) => number {
  if (typeof backoff === 'function') return (failures) => check.ms(backoff(failures), what)
  if (typeof backoff === 'number') {
    check.ms(backoff, what)
    return () => backoff
  }
  if (typeof backoff !== 'object' || backoff === null) {
    throw new BadArgument(
      `${what} is a number of milliseconds, {delay, factor, max} or a function, got ${show(backoff)}`,
    )
  }
  const { delay, factor = 2, max = LONGEST } = check.options(backoff, GROWTH, what, ['delay'])
  // A delay of 0 times an overflow would be NaN.
  return (failures) => (delay === 0 ? 0 : Math.min(delay * factor ** (failures - 1), max, LONGEST))
}

function checkFactor(factor: unknown, what: string): void {
  if (typeof factor !== 'number' || !(factor >= 1 && factor < Infinity))
    throw new BadArgument(`${what} needs a number of 1 or more, got ${show(factor)}`)
}

/** The `max` of growing waits if none is given: a day. */
const LONGEST = 24 * 60 * 60 * 1000

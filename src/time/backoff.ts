// How long to wait before something is tried again. `retry` and supervision read it the same way.

import { BadArgument, checkMs, checkOptions, show } from '../core/index.js'

/**
 * The waits between tries, in milliseconds: always the same (a number), growing (`delay` before the second try, then
 * `factor` times as long each time, 2 unless told otherwise, never more than `max`), or whatever a function says, given
 * the number of tries that have failed (1, 2, 3 ...).
 */
export type Backoff =
  | number
  | { delay: number; factor?: number; max?: number }
  | ((failures: number) => number)

/** How long to wait before something is tried again; at once unless told otherwise. */
export interface BackoffOptions {
  /** The waits between tries. */
  backoff?: Backoff
  /** How much of each wait is left to chance, from 0 (nothing, as it is unless told otherwise) to 1: never longer, up to so much shorter. */
  jitter?: number
}

/** Checks what was given, by name. Gives the function that says how long to wait after so many failures (1, 2, 3 ...). */
export function readBackoff(
  { backoff = 0, jitter = 0 }: BackoffOptions,
  where: string,
): (failures: number) => number {
  if (typeof jitter !== 'number' || !(jitter >= 0 && jitter <= 1))
    throw new BadArgument(`${where} needs a jitter from 0 to 1, got ${show(jitter)}`)
  const steady = readSteady(backoff, where)
  return jitter === 0 ? steady : (failures) => steady(failures) * (1 - jitter * Math.random())
}

function readSteady(backoff: Backoff, where: string): (failures: number) => number {
  const what = `the backoff of ${where}`
  if (typeof backoff === 'function') return (failures) => checkMs(backoff(failures), what)
  if (typeof backoff === 'number') {
    checkMs(backoff, what)
    return () => backoff
  }
  if (typeof backoff !== 'object' || backoff === null) {
    throw new BadArgument(
      `${what} is a number of milliseconds, {delay, factor, max} or a function, got ${show(backoff)}`,
    )
  }
  const { delay, factor = 2, max = LONGEST } = checkOptions(backoff, ['delay', 'factor', 'max'], what)
  checkMs(delay, `the delay in ${what}`)
  if (max !== Infinity) checkMs(max, `the max in ${what}`)
  if (typeof factor !== 'number' || !(factor >= 1 && factor < Infinity))
    throw new BadArgument(`${what} needs a factor of 1 or more, got ${show(factor)}`)
  // 0 times an overflow is NaN: no delay stays none.
  return (failures) => (delay === 0 ? 0 : Math.min(delay * factor ** (failures - 1), max, LONGEST))
}

/** Waits that grow without a `max` end here: a day. */
const LONGEST = 24 * 60 * 60 * 1000

// Trying again what failed.

import {
  BadArgument,
  checkBody,
  checkOptions,
  Fiber,
  isStop,
  keepBeside,
  type Op,
  type Result,
  type Returned,
  type Routine,
  repeatable,
  scope,
  show,
  unwindingRegion,
} from '../core/index.js'
import { type BackoffOptions, readBackoff, sleep } from '../time/index.js'

/** How `retry` goes about it. */
export interface RetryOptions extends BackoffOptions {
  /** How many tries there are in all; default 3. `Infinity` never gives up. */
  times?: number
  /** Whether to go on after this error; `attempt` is the number of the try that failed, from 1. Default: after every error. */
  when?: (error: unknown, attempt: number) => boolean
}

/** So many of the earlier errors are kept beside the last. */
const KEPT = 10

/**
 * Runs a body until it succeeds, at most `times` times, waiting as `backoff` says in between. A stop is never tried again.
 * The last error is thrown, with those before it in `suppressed` (the latest ten). Each try is a `scope`: what it spun is
 * over before the next one.
 *
 * ```ts
 * const text = yield* retry(
 *   function* (attempt) {
 *     yield* sleep(10)
 *     if (attempt < 3) throw new Error('not yet')
 *     return `worked at try ${attempt}`
 *   },
 *   { times: 5, backoff: { delay: 100, factor: 2, max: 1000 }, jitter: 0.5 },
 * )
 * console.log(text) // worked at try 3
 * ```
 */
export function retry<R>(body: (attempt: number) => Returned<R>, options: RetryOptions = {}): Op<Result<R>> {
  checkBody(body, 'retry()')
  checkOptions(options, ['times', 'backoff', 'jitter', 'when'], 'retry()')
  const { times = 3, when } = options
  if (!(Number.isInteger(times) || times === Infinity) || times < 1)
    throw new BadArgument(`retry() needs a whole number of times from 1 up, got ${show(times)}`)
  if (when !== undefined && typeof when !== 'function')
    throw new BadArgument(`retry() needs a function as when, got ${show(when)}`)
  const delay = readBackoff(options, 'retry()')
  return repeatable('retry()', () => trying(body as (attempt: number) => Result<R>, times, delay, when))
}

function* trying<T>(
  body: (attempt: number) => Op<T> | T,
  times: number,
  delay: (failures: number) => number,
  when: RetryOptions['when'],
): Routine<T> {
  const host = Fiber.current
  const earlier: unknown[] = []
  const before = unwindingRegion(host) // cleanup may try again, too
  for (let attempt = 1; ; attempt++) {
    try {
      return yield* scope(() => body(attempt) as any) as Op<T>
    } catch (error) {
      // A stop, or what cleanup threw while something around here is being stopped.
      if (isStop(error) || unwindingRegion(host) !== before) throw error
      const last = attempt >= times ? error : goOn(when, error, attempt)
      if (last !== GO_ON) {
        for (const other of earlier) keepBeside(host, last, other)
        keepBeside(host, last, error)
        throw last
      }
      earlier.push(error)
      if (earlier.length > KEPT) earlier.shift()
    }
    yield* sleep(delay(attempt))
  }
}

const GO_ON = Symbol('go on')

/** What is to be thrown after this error, if anything. */
function goOn(when: RetryOptions['when'], error: unknown, attempt: number): unknown {
  if (when === undefined) return GO_ON
  try {
    const answer: unknown = when(error, attempt)
    if (typeof answer === 'boolean') return answer ? GO_ON : error
    return new BadArgument(`the when of retry() must return true or false, got ${show(answer)}`)
  } catch (broken) {
    return broken
  }
}

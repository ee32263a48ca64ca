// retry: runs a body again when it fails. The waits in between are computed by time/backoff.ts.

import {
  addSuppressed,
  attempt,
  BadArgument,
  type Checks,
  check,
  Fiber,
  type Op,
  type Outcome,
  op,
  type Result,
  type Returned,
  type Routine,
  show,
} from '../core/index.js'
import { BACKOFF_OPTIONS, type BackoffOptions, readBackoff, sleep } from '../time/index.js'

/** Options of `retry`. */
export interface RetryOptions extends BackoffOptions {
  /** The total number of tries; default 3. `Infinity` never gives up. */
  times?: number
  /** Whether to try again after this error; `attempt` is the number of the failed try, from 1. Default: after every error. */
  when?: (error: unknown, attempt: number) => boolean
}

const OPTIONS: Checks<RetryOptions> = { times: check.limit, ...BACKOFF_OPTIONS, when: check.function }

/** How many of the earlier errors are kept in `suppressed`. */
const KEPT = 10

/**
 * Runs a body until it succeeds, at most `times` times, with waits of `backoff` in between. Only errors of the body itself
 * lead to another try: a stop, the end of a time limit around it, `raise` and the error of an unrelated child are thrown
 * at once. The last error is thrown, with the ten before it in `suppressed`. Each try is a `scope`: the fibers it spun
 * have ended before the next try.
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
  check.body(body, 'retry()')
  const { times = 3, when } = check.options(options, OPTIONS, 'retry()')
  const delay = readBackoff(options, 'retry()')
  return op('retry()', () => trying(body as (attempt: number) => Result<R>, times, delay, when))
}

function* trying<T>(
  body: (attempt: number) => Op<T> | T,
  times: number,
  delay: (failures: number) => number,
  when: RetryOptions['when'],
): Routine<T> {
  const host = Fiber.current
  const earlier: unknown[] = []
  for (let n = 1; ; n++) {
    const outcome: Outcome<any> = yield* attempt(() => body(n) as any)
    if (outcome.type === 'value') return outcome.value as T
    const { error } = outcome as { error: unknown }
    const last = n >= times ? error : goOn(when, error, n)
    if (last !== GO_ON) {
      for (const other of earlier) addSuppressed(host, last, other)
      addSuppressed(host, last, error)
      throw last
    }
    earlier.push(error)
    if (earlier.length > KEPT) earlier.shift()
    yield* sleep(delay(n))
  }
}

const GO_ON = Symbol('go on')

/** GO_ON, or what to throw instead of another try. */
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

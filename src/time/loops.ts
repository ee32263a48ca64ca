// Loops that wait between rounds, on a grid that does not drift: every, throttledLoop, spinLoop; and after.
// Each ends when its body returns false.

import {
  BadArgument,
  checkBody,
  checkMs,
  checkName,
  checkOptions,
  Fiber,
  nameOf,
  type Op,
  type Result,
  type Returned,
  type Routine,
  repeatable,
  runBody,
  show,
  spin,
} from '../core/index.js'
import { NEXT_ROUND, Sleep, Tick } from './sleep.js'
import { type Rate, readBurst, readInterval, Throttler } from './throttler.js'

/** How fast a loop goes: give either a rate or an interval. */
export interface Pace extends Rate {
  /** Ends after so many rounds. */
  count?: number
}

/**
 * Runs a body once in `ms` milliseconds, the first time after one period; ends when it returns false. It does not drift:
 * ticks missed by a slow body are skipped.
 *
 * ```ts
 * let ticks = 0
 * yield* every(100, () => {
 *   console.log('tick') // tick, tick, tick
 *   return ++ticks < 3
 * })
 * ```
 */
export function every<R>(ms: number, body: () => Returned<R>): Op<void> {
  checkBody(body, 'every()')
  if (checkMs(ms, 'every()') === 0)
    throw new BadArgument('every() needs a period above 0; loop over snooze() instead')
  return repeatable(`every(${ms})`, () => rounds(body, ms, ms, Infinity, `every(${ms})`))
}

/**
 * Runs a body again and again, at most `rate` times a second (or once in `interval` milliseconds), the first time at
 * once; ends when it returns false. Rounds missed by a slow body are skipped. Given a `Throttler`, it shares its turns.
 *
 * ```ts
 * yield* throttledLoop({ rate: 10, count: 3 }, function* () {
 *   console.log('knock') // knock, knock, knock
 * })
 * ```
 */
export function throttledLoop<R>(pace: number | Pace | Throttler, body: () => Returned<R>): Op<void> {
  checkBody(body, 'throttledLoop()')
  const loop =
    pace instanceof Throttler ? () => turns(body, pace, Infinity) : paced(body, pace, 'throttledLoop()')
  return repeatable('throttledLoop()', loop)
}

/**
 * A child that repeats its body, as fast as it can or at a given pace, until it returns false or is stopped.
 *
 * ```ts
 * const blinker = spinLoop(() => console.log('blink'), { interval: 100 }) // blink, blink, blink
 * yield* sleep(250)
 * yield* blinker.stop()
 * ```
 */
export function spinLoop<R>(body: () => Returned<R>, options: Pace & { name?: string } = {}): Fiber<void> {
  checkBody(body, 'spinLoop()')
  const { name, ...pace } = checkOptions(options, [...PACE_NAMES, 'name'], 'spinLoop()')
  checkName(name, 'spinLoop()')
  const isPaced = pace.rate !== undefined || pace.interval !== undefined
  const loop = paced(body, isPaced ? pace : { ...pace, interval: 0 }, 'spinLoop()')
  const shown = name ?? nameOf(body)
  return shown === '' ? spin(loop) : spin(shown, loop)
}

/**
 * A child that sleeps, then runs its body.
 *
 * ```ts
 * const alarm = after(1000, () => 'time is up')
 * console.log(yield* alarm) // time is up
 * ```
 */
export function after<R>(ms: number, body: () => Returned<R>): Fiber<Result<R>> {
  checkBody(body, 'after()')
  checkMs(ms, 'after()')
  return spin(later<Result<R>>, ms, body as () => Result<R>)
}

function* later<T>(ms: number, body: () => Op<T> | T): Routine<T> {
  yield* new Sleep(ms)
  return yield* runBody(body)
}

/** A loop at a pace: with turns of a throttler of its own, or, when there is nothing to wait for, as fast as it can. */
function paced(body: () => unknown, pace: number | Pace, where: string): () => Routine<void> {
  const { count = Infinity, ...rate } =
    typeof pace === 'number' ? { rate: pace } : checkOptions(pace, PACE_NAMES, where)
  if (typeof count !== 'number' || !(count >= 0))
    throw new BadArgument(`${where} needs a count of 0 or more, got ${show(count)}`)
  const interval = readInterval(rate, where)
  readBurst(rate, where)
  if (interval === 0) return () => rounds(body, 0, 0, count, where)
  return () => turns(body, new Throttler(rate), count)
}
const PACE_NAMES = ['rate', 'interval', 'burst', 'count']

function* turns(body: () => unknown, throttler: Throttler, count: number): Routine<void> {
  for (let round = 0; round < count; round++) {
    if (throttler.isReady(Fiber.current)) yield* NEXT_ROUND // others run first
    yield* throttler.nextRound()
    if ((yield* runBody(body as () => Op<unknown>)) === false) return
  }
}

/** The grid: a round is due one interval after the last was due; if that is past, at once, and the grid starts anew. */
function* rounds(
  body: () => unknown,
  first: number,
  interval: number,
  count: number,
  what: string,
): Routine<void> {
  const { runtime } = Fiber.current
  let due = runtime.now() + first
  for (let round = 0; round < count; round++) {
    const now = runtime.now()
    if (due > now) yield* new Tick(due, due - now, what)
    else {
      due = now
      yield* NEXT_ROUND
    }
    if ((yield* runBody(body as () => Op<unknown>)) === false) return
    due += interval
  }
}

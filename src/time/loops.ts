// Loops that wait between rounds, on a grid that does not drift: every, throttledLoop, spinLoop; and after. A loop ends
// when its body returns false. The grid of throttledLoop and spinLoop is a Throttler (throttler.ts).

import {
  BadArgument,
  type Checks,
  check,
  Fiber,
  isUnwinding,
  nameOf,
  type Op,
  op,
  type Result,
  type Returned,
  type Routine,
  Run,
  runBody,
  spin,
} from '../core/index.js'
import { NEXT_ROUND, Sleep, Tick } from './sleep.js'
import { RATE_OPTIONS, type Rate, readInterval, Throttler } from './throttler.js'

/** How fast a loop runs: either a rate or an interval. */
export interface Pace extends Rate {
  /** The loop ends after this many rounds. */
  count?: number
}

/**
 * Runs a body once in `ms` milliseconds, the first time after one period, until the body returns false. It does not
 * drift: ticks missed by a slow body are skipped.
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
  check.body(body, 'every()')
  if (check.ms(ms, 'every()') === 0)
    throw new BadArgument('every() needs a period above 0; loop over snooze() instead')
  return op(`every(${ms})`, () => rounds(body, ms, `every(${ms})`))
}

/**
 * Runs a body again and again, at most `rate` times a second (or once in `interval` milliseconds), the first time at
 * once, until the body returns false. Rounds missed by a slow body are skipped. Given a `Throttler`, the loop shares its
 * turns.
 *
 * ```ts
 * yield* throttledLoop({ rate: 10, count: 3 }, function* () {
 *   console.log('knock') // knock, knock, knock
 * })
 * ```
 */
export function throttledLoop<R>(pace: number | Pace | Throttler, body: () => Returned<R>): Op<void> {
  check.body(body, 'throttledLoop()')
  const loop =
    pace instanceof Throttler ? () => turns(body, pace, Infinity) : paced(body, pace, 'throttledLoop()')
  return op('throttledLoop()', loop)
}

/**
 * Spins a child that repeats its body, as fast as it can or at a given pace, until the body returns false or the child
 * is stopped.
 *
 * ```ts
 * const blinker = spinLoop(() => console.log('blink'), { interval: 100 }) // blink, blink, blink
 * yield* sleep(250)
 * yield* blinker.stop()
 * ```
 */
export function spinLoop<R>(body: () => Returned<R>, options: Pace & { name?: string } = {}): Fiber<void> {
  check.body(body, 'spinLoop()')
  const { name, ...pace } = check.options(options, LOOP_OPTIONS, 'spinLoop()')
  const isPaced = pace.rate !== undefined || pace.interval !== undefined
  const loop = paced(body, isPaced ? pace : { ...pace, interval: 0 }, 'spinLoop()')
  const shown = name ?? nameOf(body)
  return shown === '' ? spin(loop) : spin(shown, loop)
}

/**
 * Spins a child that sleeps, then runs its body.
 *
 * ```ts
 * const alarm = after(1000, () => 'time is up')
 * console.log(yield* alarm) // time is up
 * ```
 */
export function after<R>(ms: number, body: () => Returned<R>): Fiber<Result<R>> {
  check.body(body, 'after()')
  check.ms(ms, 'after()')
  return spin(later<Result<R>>, ms, body as () => Result<R>)
}

function* later<T>(ms: number, body: () => Op<T> | T): Routine<T> {
  yield* new Sleep(ms)
  return yield* runBody(body)
}

/** A loop at a pace: with a throttler of its own, unless the interval is 0. */
function paced(body: () => unknown, pace: number | Pace, where: string): () => Routine<void> {
  const given: Pace = typeof pace === 'number' ? { rate: pace } : pace
  const { count = Infinity, ...rate } = check.options(given, PACE_OPTIONS, where)
  const interval = readInterval(rate, where)
  if (interval === 0) return () => roundAfterRound(body, count)
  return () => turns(body, new Throttler(rate), count)
}
const PACE_OPTIONS: Checks<Pace> = { ...RATE_OPTIONS, count: check.number(0) }
const LOOP_OPTIONS = { ...PACE_OPTIONS, name: check.name }

function* turns(body: () => unknown, throttler: Throttler, count: number): Routine<void> {
  for (let round = 0; round < count; round++) {
    if (throttler.isReady(Fiber.current)) yield* NEXT_ROUND // other fibers run first
    yield* throttler.nextRound()
    if ((yield* runBody(body as () => Op<unknown>)) === false) return
  }
}

/**
 * A loop without pauses. Other fibers run between two rounds, at a switchpoint of the body or else at NEXT_ROUND. While
 * the fiber unwinds, the next round is refused (S17).
 */
function* roundAfterRound(body: () => unknown, count: number): Routine<void> {
  const fiber = Fiber.current
  const { runtime } = fiber
  const run = new Run(body)
  let before = -1
  for (let round = 0; round < count; round++) {
    if (runtime.switches === before || isUnwinding(fiber)) yield* NEXT_ROUND
    before = runtime.switches
    if ((yield* run.of(body())) === false) return
  }
}

/** A round is due one interval after the last was due. If that is past, it runs at once and the grid starts anew. */
function* rounds(body: () => unknown, interval: number, what: string): Routine<void> {
  const { runtime } = Fiber.current
  let due = runtime.now() + interval
  for (;;) {
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

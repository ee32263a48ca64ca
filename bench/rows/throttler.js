// Does a throttler keep its rate? Ten fibers share one at 1,000 a second and do nothing else, for five seconds. Counted is
// how far their number is off, and the most of them in any one second, wherever it begins.
import { Fiber, run, spin, Throttler } from '../../dist/index.js'

const RATE = 1000
const SHARERS = 10

/** Ten async loops that go on until the time is over; `pass` waits for its turn, and calls back when it has it. */
async function asyncPasses(ms, pass) {
  const times = []
  const begin = performance.now()
  const note = () => {
    times.push(performance.now() - begin)
  }
  async function loop() {
    while (performance.now() - begin < ms) await pass(note)
  }
  await Promise.all(Array.from({ length: SHARERS }, loop))
  return times
}

/** The same with fibers. */
async function passes(ms) {
  const times = []
  const throttler = new Throttler(RATE)
  const begin = performance.now()
  function* loop() {
    while (performance.now() - begin < ms) {
      yield* throttler.wait()
      times.push(performance.now() - begin)
    }
  }
  await run(function* () {
    yield* Fiber.await(...Array.from({ length: SHARERS }, () => spin(loop)))
  })
  return times
}

/** async: a grid of times by the clock, and a sleep until the next. */
function plainThrottler() {
  let next = performance.now()
  return async (fn) => {
    const now = performance.now()
    next = Math.max(next + 1000 / RATE, now)
    if (next > now) await new Promise((resolve) => setTimeout(resolve, next - now))
    fn()
  }
}

/** bottleneck: minTime is the time between two. Each job of it costs a timer or two, one after the other, with a reservoir
 * instead of minTime and with all jobs given beforehand too, so that it never gets near a thousand a second. */
function bottleneck({ default: Bottleneck }) {
  return (ms) => {
    const limiter = new Bottleneck({ minTime: 1000 / RATE })
    return asyncPasses(ms, (note) => limiter.schedule(async () => note()))
  }
}

/** p-throttle: one in each millisecond. With 1,000 in each second it lets a second's worth through at once. */
function pThrottle({ default: pThrottle }) {
  return (ms) =>
    asyncPasses(
      ms,
      pThrottle({ limit: 1, interval: 1000 / RATE })((note) => note()),
    )
}

/** How far the number that passed in `ms` is off, in per cent. */
function offTheRate(times, ms) {
  const count = times.filter((time) => time <= ms).length
  return Math.abs((count * 1000) / ms / RATE - 1) * 100
}

/** The most in any second: for each, how many came in the second that begins with it. */
function mostInASecond(times) {
  times.sort((a, b) => a - b)
  let most = 0
  let end = 0
  for (const [begin, time] of times.entries()) {
    while (end < times.length && times[end] < time + 1000) end++
    most = Math.max(most, end - begin)
  }
  return most
}

const row = (name, unit, most, judge) => ({
  name,
  note: 'counted where a call runs. A busy machine delays some that were let through in time, and after such a pause there are more in a second than were let through in one.',
  slow: true,
  unit,
  aim: { most },
  n: 5000, // milliseconds
  smoke: 50,
  rounds: 3,
  apart: true,
  ours: async (ms) => judge(await passes(ms), ms),
  async: async (ms) => judge(await asyncPasses(ms, plainThrottler()), ms),
  bottleneck: (library) => async (ms) => judge(await bottleneck(library)(ms), ms),
  'p-throttle': (library) => async (ms) => judge(await pThrottle(library)(ms), ms),
})

export const rows = [
  row('throttler at 1,000/s for 5 s: off the rate', '%', 1, offTheRate),
  row('throttler at 1,000/s for 5 s: most in any second', 'calls', RATE + 1, mostInASecond),
]

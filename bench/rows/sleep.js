// What does a sleep cost when 100,000 sleep at the same time, for 1 to 100 ms? The whole life of a fiber that sleeps once.
import { Fiber, run, sleep, spin } from '../../dist/index.js'

const timeOf = (i) => 1 + (i % 100)

function* sleeper(ms) {
  yield* sleep(ms)
}
function* namedSleepers(n) {
  const fibers = []
  for (let i = 0; i < n; i++) fibers.push(spin(sleeper, timeOf(i)))
  yield* Fiber.await(...fibers)
}
function* closureSleepers(n) {
  const fibers = []
  for (let i = 0; i < n; i++) {
    fibers.push(
      spin(function* () {
        yield* sleep(timeOf(i))
      }),
    )
  }
  yield* Fiber.await(...fibers)
}

/** async: an async function for each, which waits for a promise of setTimeout. (The bare promise, with no function that
 * goes on after it, costs less than half; but nothing then sleeps.) */
async function sleepAsync(ms) {
  await new Promise((resolve) => setTimeout(resolve, ms))
}
async function timeouts(n) {
  const promises = []
  for (let i = 0; i < n; i++) promises.push(sleepAsync(timeOf(i)))
  await Promise.all(promises)
}

/** effect: Effect.sleep in forked fibers, joined together (Effect.forEach with concurrency costs more). */
function effect({ Effect, Fiber }) {
  const sleepers = Effect.fnUntraced(function* (n) {
    const fibers = []
    for (let i = 0; i < n; i++) fibers.push(yield* Effect.forkChild(Effect.sleep(timeOf(i))))
    yield* Fiber.joinAll(fibers)
  })
  return (n) => Effect.runPromise(sleepers(n))
}

/** effection: sleep in spawned tasks, awaited one after the other (`all` costs no less). */
function effection({ run, spawn, sleep }) {
  function* sleepers(n) {
    const tasks = []
    for (let i = 0; i < n; i++) tasks.push(yield* spawn(() => sleep(timeOf(i))))
    for (const task of tasks) yield* task
  }
  return (n) => run(() => sleepers(n))
}

const common = {
  heavy: 2000,
  // A task of effection is so much dearer that 100,000 would take minutes. Each costs the same with 5,000.
  n: { effection: 2000, else: 1e5 },
  note: 'effection with 2,000 at a time.',
  async: timeouts,
  effect,
  effection,
}

export const rows = [
  {
    name: '100,000 sleeps at a time, named body',
    short: { effection: 10 },
    aim: { async: 0.9 },
    ...common,
    ours: (n) => run(() => namedSleepers(n)),
  },
  {
    name: '100,000 sleeps at a time, inline closures',
    aim: { async: 1.5 },
    ...common,
    ours: (n) => run(() => closureSleepers(n)),
  },
]

// What does it cost to let the others go first? A fiber that snoozes, beside `await null`, and beside the least that runs
// generators in turn (../trampoline.js): no library with `yield*` can be faster than that.
import { Fiber, run, snooze, spin } from '../../dist/index.js'
import { pass, trampoline } from '../trampoline.js'

// The clock starts when the last one begins, so that starting them is not counted.

function* snoozer(n, clock) {
  clock?.start()
  for (let i = 0; i < n; i++) yield* snooze()
}
function* snoozers(count, n, clock) {
  const fibers = []
  for (let i = 1; i < count; i++) fibers.push(spin(snoozer, n / count))
  fibers.push(spin(snoozer, n / count, clock))
  yield* Fiber.await(...fibers)
}

async function awaiter(n, clock) {
  clock?.start()
  for (let i = 0; i < n; i++) await null
}
async function awaiters(count, n, clock) {
  const promises = []
  for (let i = 1; i < count; i++) promises.push(awaiter(n / count))
  promises.push(awaiter(n / count, clock))
  await Promise.all(promises)
}

function* passer(n, clock) {
  clock?.start()
  for (let i = 0; i < n; i++) yield* pass
}
async function passers(count, n, clock) {
  const generators = []
  for (let i = 1; i < count; i++) generators.push(passer(n / count))
  generators.push(passer(n / count, clock))
  trampoline(generators)
}

/** effect: Effect.yieldNow, in fibers forked by Effect.forkChild and joined together. */
function effect({ Effect, Fiber }) {
  const yielder = Effect.fnUntraced(function* (n, clock) {
    clock?.start()
    for (let i = 0; i < n; i++) yield* Effect.yieldNow
  })
  return Effect.fnUntraced(function* (count, n, clock) {
    const fibers = []
    for (let i = 1; i < count; i++) fibers.push(yield* Effect.forkChild(yielder(n / count)))
    fibers.push(yield* Effect.forkChild(yielder(n / count, clock)))
    yield* Fiber.joinAll(fibers)
  })
}

/**
 * effection: it has no yield of its own; waiting for a resolved promise is its cheapest real switch (sleep(0) costs over ten
 * times as much).
 */
function effection({ spawn, until }) {
  function* waiter(n, clock) {
    clock?.start()
    for (let i = 0; i < n; i++) yield* until(Promise.resolve())
  }
  return function* (count, n, clock) {
    const tasks = []
    for (let i = 1; i < count; i++) tasks.push(yield* spawn(() => waiter(n / count)))
    tasks.push(yield* spawn(() => waiter(n / count, clock)))
    for (const task of tasks) yield* task
  }
}

const row = (name, count, aim, n) => ({
  name,
  aim,
  n,
  short: count > 100 ? { effection: 10 } : true,
  multiple: count,
  ours: (n, clock) => run(() => snoozers(count, n, clock)),
  async: (n, clock) => awaiters(count, n, clock),
  trampoline: (n, clock) => passers(count, n, clock),
  effect(library) {
    const yielders = effect(library)
    return (n, clock) => library.Effect.runPromise(yielders(count, n, clock))
  },
  effection(library) {
    const waiters = effection(library)
    return (n, clock) => library.run(() => waiters(count, n, clock))
  },
})

export const rows = [
  row('switch, 1 fiber', 1, { trampoline: 1.1, effect: 6, effection: 6 }),
  row('switch, 100 fibers', 100, { trampoline: 1.1, effect: 6, effection: 6 }),
  // Fixed counts: a fiber must switch often enough for its beginning and end not to matter.
  row(
    'switch, 10,000 fibers',
    10_000,
    { trampoline: 1.1, effect: 10 },
    { effect: 2e5, effection: 1e5, else: 1e6 },
  ),
]

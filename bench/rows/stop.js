// What does it cost to stop a parent and the 100,000 children that wait under it? In the first row only the stop is
// measured, from the call until the last one is dead; in the second their whole life. Async functions cannot be stopped, so
// there is no figure for them.
import { run, spin, suspend } from '../../dist/index.js'

function* waiter() {
  yield* suspend()
}
function* parentOf(n, state) {
  for (let i = 0; i < n; i++) spin(waiter)
  state.hasBegun = true
  yield* suspend()
}

/** Waits until the children have begun as well. */
async function allBegun(state) {
  while (!state.hasBegun) await turn()
  for (let i = 0; i < 10; i++) await turn()
}
const turn = () => new Promise((resolve) => setImmediate(resolve))

async function ours(n, clock) {
  const state = { hasBegun: false }
  const parent = run(() => parentOf(n, state))
  await allBegun(state)
  clock?.start()
  await parent.stop()
  clock?.stop()
}

/** effect: Fiber.interrupt of the parent, which interrupts its children and waits for them. Their body is a generator, as ours. */
function effect({ Effect, Fiber }) {
  const waiter = Effect.gen(function* () {
    yield* Effect.never
  })
  const parentOf = Effect.fnUntraced(function* (n, state) {
    for (let i = 0; i < n; i++) yield* Effect.forkChild(waiter)
    state.hasBegun = true
    yield* Effect.never
  })
  return async (n, clock) => {
    const state = { hasBegun: false }
    const parent = Effect.runFork(parentOf(n, state))
    await allBegun(state)
    clock?.start()
    await Effect.runPromise(Fiber.interrupt(parent))
    clock?.stop()
  }
}

/** effection: halt of the parent task. */
function effection({ run, spawn, suspend }) {
  function* waiter() {
    yield* suspend()
  }
  function* parentOf(n, state) {
    for (let i = 0; i < n; i++) yield* spawn(waiter)
    state.hasBegun = true
    yield* suspend()
  }
  return async (n, clock) => {
    const state = { hasBegun: false }
    const parent = run(() => parentOf(n, state))
    await allBegun(state)
    clock?.start()
    await parent.halt()
    clock?.stop()
  }
}

const common = {
  note: 'effection with a tree of 2,000.',
  n: { effection: 2000, else: 1e5 },
  heavy: 2000,
}

export const rows = [
  {
    name: 'stop a tree of 100,000 waiting fibers',
    short: { effection: 10 },
    aim: { effect: 1, effection: 10 },
    ...common,
    ours,
    effect,
    effection,
  },
  {
    name: 'make such a tree, and stop it',
    detail: true,
    ...common,
    ours: (n) => ours(n),
    effect: (library) => {
      const whole = effect(library)
      return (n) => whole(n)
    },
    effection: (library) => {
      const whole = effection(library)
      return (n) => whole(n)
    },
  },
]

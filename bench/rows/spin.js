// What does it cost to start a fiber that does nothing, and wait for its end? Beside awaiting an async function. One after the
// other, and 100,000 at once.
import { Fiber, run, spin } from '../../dist/index.js'

function* nothing() {}
async function empty() {}

function* spinShared(n) {
  for (let i = 0; i < n; i++) yield* spin(nothing)
}
async function awaitShared(n) {
  for (let i = 0; i < n; i++) await empty()
}

function* spinClosures(n) {
  for (let i = 0; i < n; i++) {
    yield* spin(function* () {
      return i
    })
  }
}
async function awaitClosures(n) {
  for (let i = 0; i < n; i++) await (async () => i)()
}

function* spinMany(n) {
  const fibers = []
  for (let i = 0; i < n; i++) fibers.push(spin(nothing))
  yield* Fiber.await(...fibers)
}
async function awaitMany(n) {
  const promises = []
  for (let i = 0; i < n; i++) promises.push(empty())
  await Promise.all(promises)
}

/** effect: Effect.forkChild of an effect that is ready, then Fiber.join. */
const forkAndJoin =
  (options) =>
  ({ Effect, Fiber }) => {
    const loop = Effect.fnUntraced(function* (n) {
      for (let i = 0; i < n; i++) yield* Fiber.join(yield* Effect.forkChild(Effect.void, options))
    })
    return (n) => Effect.runPromise(loop(n))
  }

export const rows = [
  {
    name: 'spin and await, shared function',
    short: { effection: 10 },
    aim: { async: 6, effect: 7, effection: 100 },
    ours: (n) => run(() => spinShared(n)),
    async: awaitShared,
    effect: forkAndJoin(),
    // effection: spawn, then wait for the task.
    effection: ({ run, spawn }) => {
      function* empty() {}
      function* loop(n) {
        for (let i = 0; i < n; i++) yield* yield* spawn(empty)
      }
      return (n) => run(() => loop(n))
    },
  },
  {
    name: 'the same, effect with startImmediately',
    detail: true,
    note: 'effect runs the child inside the fork, which is not its default. Our fibers begin later, as its others do.',
    ours: (n) => run(() => spinShared(n)),
    effect: forkAndJoin({ startImmediately: true }),
  },
  {
    name: 'spin and await, inline closure',
    aim: { effect: 2 },
    ours: (n) => run(() => spinClosures(n)),
    async: awaitClosures,
    // effect: Effect.gen around the closure, forked and joined.
    effect: ({ Effect, Fiber }) => {
      const loop = Effect.fnUntraced(function* (n) {
        for (let i = 0; i < n; i++) {
          const fiber = yield* Effect.forkChild(
            Effect.gen(function* () {
              return i
            }),
          )
          yield* Fiber.join(fiber)
        }
      })
      return (n) => Effect.runPromise(loop(n))
    },
    effection: ({ run, spawn }) => {
      function* loop(n) {
        for (let i = 0; i < n; i++) {
          yield* yield* spawn(function* () {
            return i
          })
        }
      }
      return (n) => run(() => loop(n))
    },
  },
  {
    name: '100,000 fibers at once, shared function',
    note: 'effection with 2,000 at once.',
    short: { effection: 10 },
    aim: { async: 2, effect: 1 },
    n: { effection: 2000, else: 1e5 },
    // Apart, so that no contestant collects the garbage of another.
    apart: true,
    warmups: 8,
    processes: 3,
    rounds: 5,
    ours: (n) => run(() => spinMany(n)),
    async: awaitMany,
    // effect: as above, joined together.
    effect: ({ Effect, Fiber }) => {
      const many = Effect.fnUntraced(function* (n) {
        const fibers = []
        for (let i = 0; i < n; i++) fibers.push(yield* Effect.forkChild(Effect.void))
        yield* Fiber.joinAll(fibers)
      })
      return (n) => Effect.runPromise(many(n))
    },
    effection: ({ run, spawn }) => {
      function* empty() {}
      function* many(n) {
        const tasks = []
        for (let i = 0; i < n; i++) tasks.push(yield* spawn(empty))
        for (const task of tasks) yield* task
      }
      return (n) => run(() => many(n))
    },
  },
]

// Do timers and sockets get their turn while fibers never wait? What is counted is what happens between two callbacks
// of setImmediate that ask again each time: steps of fibers, or milliseconds.
import { Fiber, receive, run, runtimeStats, snooze, spin } from '../../dist/index.js'

/** Where a loop gives up that has not let anybody else have a turn. */
const NEVER = 5e6

/** Calls `look` at every turn of the event loop for some milliseconds, then sets `isOver`. */
function watch(ms, state, look) {
  return new Promise((resolve) => {
    const begin = performance.now()
    const again = () => {
      look()
      state.isOver = performance.now() - begin > ms
      if (state.isOver) resolve()
      else setImmediate(again)
    }
    setImmediate(again)
  })
}

/** The largest number of steps between two turns. `count` gives the steps so far. */
async function stepsBetween(ms, start, count) {
  const state = { isOver: false, steps: 0 }
  let last = count(state)
  let most = 0
  const watching = watch(ms, state, () => {
    most = Math.max(most, count(state) - last)
    last = count(state)
  })
  const running = start(state)
  await watching
  await running
  return most
}

const switches = () => runtimeStats().switches

/** Spins for half a millisecond, as a parser or a template would. */
function work() {
  const end = performance.now() + 0.5
  while (performance.now() < end);
}

export const rows = [
  {
    name: 'starvation: steps, fibers that only snooze',
    slow: true,
    aim: { most: 1024 },
    unit: 'steps',
    rounds: 3,
    n: 300,
    smoke: 20,
    ours: (ms) =>
      stepsBetween(
        ms,
        (state) =>
          run(function* () {
            const fibers = []
            for (let i = 0; i < 100; i++) {
              fibers.push(
                spin(function* () {
                  while (!state.isOver) yield* snooze()
                }),
              )
            }
            yield* Fiber.await(...fibers)
          }),
        switches,
      ),
    never: NEVER,
    // async: the event loop never gets a turn.
    async: (ms) =>
      stepsBetween(
        ms,
        async (state) => {
          while (!state.isOver && state.steps++ < NEVER) await null
        },
        (state) => state.steps,
      ),
    // effect: every Effect.yieldNow goes through setImmediate, together with those of the other fibers.
    effect:
      ({ Effect, Fiber }) =>
      (ms) =>
        stepsBetween(
          ms,
          (state) =>
            Effect.runPromise(
              Effect.gen(function* () {
                const fibers = []
                for (let i = 0; i < 100; i++) {
                  const fiber = Effect.gen(function* () {
                    while (!state.isOver) {
                      state.steps++
                      yield* Effect.yieldNow
                    }
                  })
                  fibers.push(yield* Effect.forkChild(fiber))
                }
                yield* Fiber.joinAll(fibers)
              }),
            ),
          (state) => state.steps,
        ),
  },
  {
    name: 'starvation: steps, fibers that wake each other',
    detail: true,
    aim: { most: 1024 },
    unit: 'steps',
    rounds: 3,
    n: 300,
    smoke: 20,
    ours: (ms) =>
      stepsBetween(
        ms,
        (state) =>
          run(function* () {
            const asker = Fiber.current
            const echo = spin(function* () {
              while (!state.isOver) asker.send(yield* receive())
            })
            while (!state.isOver) {
              echo.send(1)
              yield* receive()
            }
            yield* echo.stop()
          }),
        switches,
      ),
  },
  slowest('starvation: ms, ops that are always ready', 11, function* (state) {
    const self = Fiber.current
    while (!state.isOver) {
      self.send(1)
      yield* receive()
    }
  }),
  slowest('starvation: ms, steps of half a millisecond', 11, function* (state) {
    while (!state.isOver) {
      work()
      yield* snooze()
    }
  }),
]

/** Time between two turns: 10 ms, and what runs until the next look at the clock. */
function slowest(name, most, body) {
  return {
    name,
    note: 'The ninth decile, in CPU time or in time by the clock, whichever is less: the first has the compiler in it, the second the pauses of a busy machine.',
    detail: true,
    aim: { most },
    unit: 'ms',
    rounds: 3,
    n: 300,
    smoke: 20,
    ours: async (ms) => {
      const state = { isOver: false }
      const times = []
      let last = performance.now()
      let lastUsage = process.cpuUsage()
      const watching = watch(ms, state, () => {
        const now = performance.now()
        const { user, system } = process.cpuUsage(lastUsage)
        times.push(Math.min((user + system) / 1000, now - last))
        last = now
        lastUsage = process.cpuUsage()
      })
      await run(() => body(state))
      await watching
      return times.sort((a, b) => a - b)[Math.floor(times.length * 0.9)]
    },
  }
}

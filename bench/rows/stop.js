// What does it cost to stop a parent and the 100,000 children that wait under it? Only the stop is measured, from the call
// until the last one is dead. Async functions cannot be stopped, so there is no figure for them.
import { run, spin, suspend } from '../../dist/index.js'

function* waiter() {
  yield* suspend()
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

/** Waits until all have begun. */
async function settled() {
  for (let i = 0; i < 10; i++) await turn()
}

export const rows = [
  {
    name: 'stop a tree of 100,000 waiting fibers',
    note: 'effection with a tree of 2,000.',
    aim: { effect: 1, effection: 10 },
    n: { effection: 2000, else: 1e5 },
    heavy: 2000,

    ours: async (n, clock) => {
      let begun = 0
      const parent = run(function* () {
        for (let i = 0; i < n; i++) spin(waiter)
        begun = n
        yield* suspend()
      })
      while (begun < n) await turn()
      await settled()
      clock.start()
      await parent.stop()
      clock.stop()
    },

    // effect: Fiber.interrupt of the parent, which interrupts its children and waits for them.
    effect:
      ({ Effect, Fiber }) =>
      async (n, clock) => {
        let begun = 0
        const parent = Effect.runFork(
          Effect.gen(function* () {
            for (let i = 0; i < n; i++) yield* Effect.forkChild(Effect.never)
            begun = n
            yield* Effect.never
          }),
        )
        while (begun < n) await turn()
        await settled()
        clock.start()
        await Effect.runPromise(Fiber.interrupt(parent))
        clock.stop()
      },

    // effection: halt of the parent task.
    effection:
      ({ run, spawn, suspend }) =>
      async (n, clock) => {
        let begun = 0
        const parent = run(function* () {
          for (let i = 0; i < n; i++) yield* spawn(suspend)
          begun = n
          yield* suspend()
        })
        while (begun < n) await turn()
        await settled()
        clock.start()
        await parent.halt()
        clock.stop()
      },
  },
]

// Do a million sleeping fibers fit? The largest resident size of a process in which they all sleep for an hour.
import { run, sleep, spin } from '../../dist/index.js'

const HOUR = 3_600_000

function* sleeper() {
  yield* sleep(HOUR)
}

const megabytes = () => process.resourceUsage().maxRSS / 1024

/** Waits until all have begun. */
async function settled(hasBegun) {
  while (!hasBegun()) await new Promise((resolve) => setImmediate(resolve))
  for (let i = 0; i < 2000; i++) await new Promise((resolve) => setImmediate(resolve))
}

/** Scales what the fibers take, and not what Node takes, to a million. */
async function scaled(n, fill) {
  const before = megabytes()
  await fill()
  return before + (megabytes() - before) * (1e6 / n)
}

export const rows = [
  {
    name: 'a million sleeping fibers',
    note: 'effection with 50,000, scaled up.',
    aim: { most: 1000 },
    unit: 'MB',
    n: { effection: 50_000, else: 1e6 },
    rounds: 1,
    apart: true,
    slow: true,

    ours: (n) =>
      scaled(n, async () => {
        let begun = 0
        run(function* () {
          for (let i = 0; i < n; i++) spin(sleeper)
          begun = n
          yield* sleep(HOUR)
        })
        await settled(() => begun === n)
      }),

    // async: async functions that await a setTimeout promise.
    async: (n) =>
      scaled(n, async () => {
        const sleeper = async () => {
          await new Promise((resolve) => setTimeout(resolve, HOUR))
        }
        for (let i = 0; i < n; i++) sleeper()
      }),

    effect:
      ({ Effect }) =>
      (n) =>
        scaled(n, async () => {
          let begun = 0
          Effect.runFork(
            Effect.gen(function* () {
              for (let i = 0; i < n; i++) yield* Effect.forkChild(Effect.sleep(HOUR))
              begun = n
              yield* Effect.never
            }),
          )
          await settled(() => begun === n)
        }),

    effection:
      ({ run, spawn, sleep }) =>
      (n) =>
        scaled(n, async () => {
          let begun = 0
          run(function* () {
            for (let i = 0; i < n; i++) yield* spawn(() => sleep(HOUR))
            begun = n
            yield* sleep(HOUR)
          })
          await settled(() => begun === n)
        }),
  },
]

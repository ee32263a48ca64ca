// How much heap does a fiber hold that only waits?
import { run, snooze, spin, suspend } from '../../dist/index.js'

function* waiter() {
  yield* suspend()
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

/** Bytes of live heap, after a full collection. */
function heap() {
  globalThis.gc?.()
  globalThis.gc?.()
  return process.memoryUsage().heapUsed
}

/** Heap for each of n, when `make` has made them all and they have all begun to wait. */
async function bytesEach(n, make) {
  const before = heap()
  const undo = await make(n)
  for (let i = 0; i < 10; i++) await turn()
  const bytes = (heap() - before) / n
  await undo()
  return bytes
}

/** What the idle async functions wait for: a promise each, whose resolver somebody holds. */
let parked = []
const park = () => new Promise((resolve) => parked.push(resolve))
function unpark() {
  for (const resolve of parked) resolve()
  parked = []
}
async function asyncWaiter() {
  await park()
}

/** Makes n fibers under one parent. */
function ours(make) {
  return (n) =>
    bytesEach(n, async () => {
      const parent = run(function* () {
        for (let i = 0; i < n; i++) make()
        yield* suspend()
      })
      await run(snooze)
      return () => parent.stop()
    })
}

const effect =
  (make) =>
  ({ Effect, Fiber }) =>
  (n) =>
    bytesEach(n, async () => {
      let begun = 0
      const waiter = make(Effect)
      const parent = Effect.runFork(
        Effect.gen(function* () {
          for (let i = 0; i < n; i++) yield* Effect.forkChild(waiter())
          begun = n
          yield* Effect.never
        }),
      )
      while (begun < n) await turn()
      return () => Effect.runPromise(Fiber.interrupt(parent))
    })

const effection =
  (make) =>
  ({ run, spawn, suspend }) =>
  (n) =>
    bytesEach(n, async () => {
      let begun = 0
      const waiter = make(suspend)
      const parent = run(function* () {
        for (let i = 0; i < n; i++) yield* spawn(waiter())
        begun = n
        yield* suspend()
      })
      while (begun < n) await turn()
      return () => parent.halt()
    })

const common = { unit: 'bytes', n: { effection: 5000, else: 1e5 }, rounds: 3 }

export const rows = [
  {
    name: 'memory of an idle fiber, shared function',
    aim: { most: 450 },
    ...common,
    ours: ours(() => spin(waiter)),
    async: (n) =>
      bytesEach(n, async () => {
        for (let i = 0; i < n; i++) asyncWaiter()
        return unpark
      }),
    // effect: forked fibers that all run one Effect.gen, which waits in Effect.never.
    effect: effect((Effect) => {
      const waiter = Effect.gen(function* () {
        yield* Effect.never
      })
      return () => waiter
    }),
    // effection: spawned tasks in suspend().
    effection: effection((suspend) => {
      function* waiter() {
        yield* suspend()
      }
      return () => waiter
    }),
  },
  {
    name: 'memory of an idle fiber, inline closure',
    aim: { most: 900 },
    ...common,
    ours: ours(() =>
      spin(function* () {
        yield* suspend()
      }),
    ),
    async: (n) =>
      bytesEach(n, async () => {
        for (let i = 0; i < n; i++) {
          ;(async () => {
            await park()
          })()
        }
        return unpark
      }),
    effect: effect(
      (Effect) => () =>
        Effect.gen(function* () {
          yield* Effect.never
        }),
    ),
    effection: effection(
      (suspend) => () =>
        function* () {
          yield* suspend()
        },
    ),
  },
]

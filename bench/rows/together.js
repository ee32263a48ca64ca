// What does it cost to wait for several things at once: for all of ten, and for the first of two?
import { all, race, run, snooze, suspend } from '../../dist/index.js'

function* work() {
  yield* snooze()
  return 1
}
async function asyncWork() {
  await null
  return 1
}
const never = new Promise(() => {})

const TEN = Array.from({ length: 10 }, () => work)
const TWO = [work, suspend]

function* allLoop(n) {
  for (let i = 0; i < n; i++) yield* all(TEN)
}
function* raceLoop(n) {
  for (let i = 0; i < n; i++) yield* race(TWO)
}
async function asyncAllLoop(n) {
  for (let i = 0; i < n; i++) await Promise.all(TEN.map(asyncWork))
}
async function asyncLoser() {
  await never
}
async function asyncRaceLoop(n) {
  for (let i = 0; i < n; i++) await Promise.race([asyncWork(), asyncLoser()])
}

/** effect: one effect that yields and then succeeds. */
const effectWork = ({ Effect }) => Effect.as(Effect.yieldNow, 1)

export const rows = [
  {
    name: 'all of ten',
    note: 'all of ours, effect and effection starts a fiber for each; Promise.all only waits, and when one fails it leaves the rest running.',
    ours: (n) => run(() => allLoop(n)),
    async: asyncAllLoop,
    effect: (library) => {
      const { Effect } = library
      const ten = Array.from({ length: 10 }, () => effectWork(library))
      const loop = Effect.fnUntraced(function* (n) {
        for (let i = 0; i < n; i++) yield* Effect.all(ten, { concurrency: 'unbounded' })
      })
      return (n) => Effect.runPromise(loop(n))
    },
    effection: ({ run, all, until }) => {
      function* work() {
        yield* until(Promise.resolve())
        return 1
      }
      function* loop(n) {
        for (let i = 0; i < n; i++) yield* all(TEN.map(work))
      }
      return (n) => run(() => loop(n))
    },
  },
  {
    name: 'race of two',
    note: 'the loser waits for ever. We, effect and effection stop it, and go on when it has ended; Promise.race forgets it, with whatever it holds.',
    ours: (n) => run(() => raceLoop(n)),
    async: asyncRaceLoop,
    effect: (library) => {
      const { Effect } = library
      const work = effectWork(library)
      const loop = Effect.fnUntraced(function* (n) {
        for (let i = 0; i < n; i++) yield* Effect.race(work, Effect.never)
      })
      return (n) => Effect.runPromise(loop(n))
    },
    effection: ({ run, race, suspend, until }) => {
      function* work() {
        yield* until(Promise.resolve())
        return 1
      }
      function* loop(n) {
        for (let i = 0; i < n; i++) yield* race([work(), suspend()])
      }
      return (n) => run(() => loop(n))
    },
  },
]

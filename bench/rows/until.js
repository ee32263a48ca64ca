// What does it cost to cross to promises? `until` of a promise that is ready, of what an async function returns, and of one that
// is rejected, beside `await`. Programs do this all the time: every driver and every client of a service gives promises.
import { run, until } from '../../dist/index.js'
import { asyncCrowd, CROWD, crowd, effectCrowd } from '../crowd.js'

async function atOnce(i) {
  return i
}
async function later(i) {
  await null
  return i
}
/** One for all: to make an error costs more than the rest. */
const failure = new Error('rejected')

function* readyLoop(n) {
  for (let i = 0; i < n; i++) yield* until(Promise.resolve(i))
}
function* calledLoop(n) {
  for (let i = 0; i < n; i++) yield* until(atOnce(i))
}
function* laterLoop(n) {
  for (let i = 0; i < n; i++) yield* until(later(i))
}
function* rejectedLoop(n) {
  for (let i = 0; i < n; i++) {
    try {
      yield* until(Promise.reject(failure))
    } catch {}
  }
}

async function asyncReadyLoop(n) {
  for (let i = 0; i < n; i++) await Promise.resolve(i)
}
async function asyncCalledLoop(n) {
  for (let i = 0; i < n; i++) await atOnce(i)
}
async function asyncLaterLoop(n) {
  for (let i = 0; i < n; i++) await later(i)
}
async function asyncRejectedLoop(n) {
  for (let i = 0; i < n; i++) {
    try {
      await Promise.reject(failure)
    } catch {}
  }
}

/** effect: Effect.promise. */
const effectLoop = ({ Effect }, promiseOf) =>
  Effect.fnUntraced(function* (n) {
    for (let i = 0; i < n; i++) yield* Effect.promise(() => promiseOf(i))
  })
const effect = (promiseOf) => (library) => {
  const loop = effectLoop(library, promiseOf)
  return (n) => library.Effect.runPromise(loop(n))
}
const effectMany = (promiseOf) => (library) => {
  const loop = effectLoop(library, promiseOf)
  return (n) => effectCrowd(library, n, loop)
}

/** effection: until; `call` of a function that returns a promise costs more. */
const effectionLoop = ({ until }, promiseOf) =>
  function* (n) {
    for (let i = 0; i < n; i++) yield* until(promiseOf(i))
  }
const effection = (promiseOf) => (library) => {
  const loop = effectionLoop(library, promiseOf)
  return (n) => library.run(() => loop(n))
}
const effectionMany = (promiseOf) => (library) => {
  const { all, run } = library
  const loop = effectionLoop(library, promiseOf)
  return (n) => run(() => all(Array.from({ length: CROWD }, () => loop(n / CROWD))))
}

const ready = (i) => Promise.resolve(i)

export const rows = [
  {
    name: 'until: a promise that is ready',
    short: true,
    aim: { async: 4.5, effect: 2 },
    ours: (n) => run(() => readyLoop(n)),
    async: asyncReadyLoop,
    effect: effect(ready),
    effection: effection(ready),
  },
  {
    name: 'until: an async function that returns at once',
    short: true,
    detail: true,
    ours: (n) => run(() => calledLoop(n)),
    async: asyncCalledLoop,
    effect: effect(atOnce),
    effection: effection(atOnce),
  },
  {
    name: 'until: a promise that is rejected',
    detail: true,
    ours: (n) => run(() => rejectedLoop(n)),
    async: asyncRejectedLoop,
    // effect: Effect.tryPromise with the error as it is, Effect.ignore around it.
    effect: ({ Effect }) => {
      const attempt = { try: () => Promise.reject(failure), catch: (error) => error }
      const loop = Effect.fnUntraced(function* (n) {
        for (let i = 0; i < n; i++) yield* Effect.ignore(Effect.tryPromise(attempt))
      })
      return (n) => Effect.runPromise(loop(n))
    },
    effection: ({ run, until }) => {
      function* loop(n) {
        for (let i = 0; i < n; i++) {
          try {
            yield* until(Promise.reject(failure))
          } catch {}
        }
      }
      return (n) => run(() => loop(n))
    },
  },
  {
    name: 'until: 100 fibers, a promise that is ready',
    detail: true,
    multiple: CROWD,
    ours: (n) => run(() => crowd(n, readyLoop)),
    async: (n) => asyncCrowd(n, asyncReadyLoop),
    effect: effectMany(ready),
    effection: effectionMany(ready),
  },
  {
    name: 'until: 100 fibers, an async function that waits once',
    detail: true,
    multiple: CROWD,
    ours: (n) => run(() => crowd(n, laterLoop)),
    async: (n) => asyncCrowd(n, asyncLaterLoop),
    effect: effectMany(later),
    effection: effectionMany(later),
  },
]

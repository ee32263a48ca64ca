// What does it cost to do something with each of 100,000 items, 100 at a time, when the something is ready at once?
import { forEach, run } from '../../dist/index.js'

const CONCURRENCY = 100

let list = []
/** The items: one list, made once. */
function itemsOf(n) {
  if (list.length !== n) list = Array.from({ length: n }, (_, i) => i)
  return list
}

function* work(item) {
  return item
}
async function asyncWork(item) {
  return item
}

/** async: as many workers as may run, which share an iterator. */
async function workers(items, fn, concurrency) {
  const results = new Array(items.length)
  const entries = items.entries()
  async function worker() {
    for (const [i, item] of entries) results[i] = await fn(item)
  }
  await Promise.all(Array.from({ length: concurrency }, worker))
  return results
}

export const rows = [
  {
    name: 'forEach over 100,000 items, 100 at a time',
    aim: { 'p-limit': 3, 'p-map': 3 },
    n: 1e5,
    ours: (n) => run(() => forEach(itemsOf(n), work, { concurrency: CONCURRENCY })),
    async: (n) => workers(itemsOf(n), asyncWork, CONCURRENCY),
    effect:
      ({ Effect }) =>
      (n) =>
        Effect.runPromise(Effect.forEach(itemsOf(n), Effect.succeed, { concurrency: CONCURRENCY })),
    'p-limit':
      ({ default: pLimit }) =>
      (n) =>
        pLimit(CONCURRENCY).map(itemsOf(n), asyncWork),
    'p-map':
      ({ default: pMap }) =>
      (n) =>
        pMap(itemsOf(n), asyncWork, { concurrency: CONCURRENCY }),
  },
]

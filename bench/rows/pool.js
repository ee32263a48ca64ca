// What does it cost to borrow a resource that lies ready, and to share 10 among 100 fibers? The resources are plain objects,
// made once; in the crowd each borrower waits once while it has its resource, as in mutex.js.
import { ResourcePool, run, snooze } from '../../dist/index.js'
import { asyncCrowd, CROWD, crowd, effectCrowd } from '../crowd.js'
import { PlainPool } from '../plain.js'

const LIMIT = 10

const create = () => ({ isOpen: true })
const asyncCreate = async () => create()

function* work(resource) {
  return resource
}
async function asyncWork(resource) {
  return resource
}
function* wait() {
  yield* snooze()
}
async function asyncWait() {
  await null
}

function* loop(pool, body, n) {
  for (let i = 0; i < n; i++) yield* pool.acquire(body)
}

/** async, and generic-pool: use(fn). */
async function useLoop(pool, fn, n) {
  for (let i = 0; i < n; i++) await pool.use(fn)
}

/** tarn: it has no use(fn), so try and finally around what one does. */
async function tarnLoop(pool, fn, n) {
  for (let i = 0; i < n; i++) {
    const resource = await pool.acquire().promise
    try {
      await fn(resource)
    } finally {
      pool.release(resource)
    }
  }
}

const effectLoop = ({ Effect, Pool }) =>
  Effect.fnUntraced(function* (pool, use, n) {
    for (let i = 0; i < n; i++) yield* Pool.use(pool, use)
  })

/** generic-pool and tarn with their defaults: no validation, and tarn's time limits of 30 seconds. */
const genericPool = ({ createPool }) =>
  createPool({ create: asyncCreate, destroy: async () => {} }, { max: LIMIT })
const tarnPool = ({ Pool }) => new Pool({ create: asyncCreate, destroy: () => {}, min: 0, max: LIMIT })

/** Runs, and closes the pool, so that no timer of it goes on. */
async function thenClose(running, close) {
  await running
  await close()
}

export const rows = [
  {
    name: 'pool: acquire(body), free',
    aim: { async: 0.7, 'generic-pool': 2, tarn: 2 },
    note: 'tarn sets a timer for each acquire: its time limit of 30 seconds cannot be switched off.',
    ours: (n) => run(() => loop(new ResourcePool({ limit: LIMIT, create }), work, n)),
    async: (n) => useLoop(new PlainPool(LIMIT, asyncCreate), asyncWork, n),
    effect: (library) => {
      const { Effect, Pool } = library
      const loop = effectLoop(library)
      return (n) =>
        Effect.runPromise(
          Effect.scoped(
            Effect.flatMap(Pool.make({ acquire: Effect.sync(create), size: LIMIT }), (pool) =>
              loop(pool, Effect.succeed, n),
            ),
          ),
        )
    },
    'generic-pool': (library) => (n) => {
      const pool = genericPool(library)
      return thenClose(useLoop(pool, asyncWork, n), () => pool.drain())
    },
    tarn: (library) => (n) => {
      const pool = tarnPool(library)
      return thenClose(tarnLoop(pool, asyncWork, n), () => pool.destroy())
    },
  },
  {
    name: 'pool: 10 resources, 100 fibers',
    multiple: CROWD,
    ours: (n) => {
      const pool = new ResourcePool({ limit: LIMIT, create })
      return run(() => crowd(n, (times) => loop(pool, wait, times)))
    },
    async: (n) => {
      const pool = new PlainPool(LIMIT, asyncCreate)
      return asyncCrowd(n, (times) => useLoop(pool, asyncWait, times))
    },
    effect: (library) => {
      const { Effect, Pool } = library
      const loop = effectLoop(library)
      const yieldNow = () => Effect.yieldNow
      return (n) =>
        Effect.runPromise(
          Effect.scoped(
            Effect.flatMap(Pool.make({ acquire: Effect.sync(create), size: LIMIT }), (pool) =>
              Effect.promise(() => effectCrowd(library, n, (times) => loop(pool, yieldNow, times))),
            ),
          ),
        )
    },
    'generic-pool': (library) => (n) => {
      const pool = genericPool(library)
      return thenClose(
        asyncCrowd(n, (times) => useLoop(pool, asyncWait, times)),
        () => pool.drain(),
      )
    },
    tarn: (library) => (n) => {
      const pool = tarnPool(library)
      return thenClose(
        asyncCrowd(n, (times) => tarnLoop(pool, asyncWait, times)),
        () => pool.destroy(),
      )
    },
  },
]

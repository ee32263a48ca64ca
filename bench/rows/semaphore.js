// What does a permit cost when there are enough, and when 100 fibers share 10? In the crowd each holder waits once while
// it has a permit, as in mutex.js.
import { run, Semaphore, snooze } from '../../dist/index.js'
import { asyncCrowd, CROWD, crowd, effectCrowd } from '../crowd.js'
import { PlainSemaphore } from '../plain.js'

const LIMIT = 10

function* work() {
  return 1
}
async function asyncWork() {
  return 1
}
function* wait() {
  yield* snooze()
}
async function asyncWait() {
  await null
}

function* bareLoop(semaphore, n) {
  for (let i = 0; i < n; i++) {
    yield* semaphore.acquire()
    semaphore.release()
  }
}
function* bodyLoop(semaphore, body, n) {
  for (let i = 0; i < n; i++) yield* semaphore.acquire(body)
}

/** async, and async-sema, which has the same two functions. */
async function asyncBareLoop(semaphore, n) {
  for (let i = 0; i < n; i++) {
    await semaphore.acquire()
    semaphore.release()
  }
}
async function asyncUseLoop(semaphore, fn, n) {
  for (let i = 0; i < n; i++) await semaphore.use(fn)
}

/** async-mutex: acquire gives a number and the function that releases. */
async function releaserLoop(semaphore, n) {
  for (let i = 0; i < n; i++) {
    const [, release] = await semaphore.acquire()
    release()
  }
}
async function exclusiveLoop(semaphore, fn, n) {
  for (let i = 0; i < n; i++) await semaphore.runExclusive(fn)
}

/** async-sema has no function that takes a body: try and finally, as its page shows. */
async function semaLoop(semaphore, fn, n) {
  for (let i = 0; i < n; i++) {
    await semaphore.acquire()
    try {
      await fn()
    } finally {
      semaphore.release()
    }
  }
}

const permitLoop = ({ Effect }) =>
  Effect.fnUntraced(function* (semaphore, effect, n) {
    for (let i = 0; i < n; i++) yield* semaphore.withPermit(effect)
  })

export const rows = [
  {
    name: 'semaphore: acquire and release, free',
    aim: { async: 0.7, 'async-mutex': 2 },
    ours: (n) => run(() => bareLoop(new Semaphore(LIMIT), n)),
    async: (n) => asyncBareLoop(new PlainSemaphore(LIMIT), n),
    'async-mutex':
      ({ Semaphore }) =>
      (n) =>
        releaserLoop(new Semaphore(LIMIT), n),
    'async-sema':
      ({ Sema }) =>
      (n) =>
        asyncBareLoop(new Sema(LIMIT), n),
  },
  {
    name: 'semaphore: acquire(body), free',
    aim: { async: 0.7, 'async-mutex': 2 },
    ours: (n) => run(() => bodyLoop(new Semaphore(LIMIT), work, n)),
    async: (n) => asyncUseLoop(new PlainSemaphore(LIMIT), asyncWork, n),
    effect: (library) => {
      const { Effect, Semaphore } = library
      const loop = permitLoop(library)
      return (n) => Effect.runPromise(loop(Semaphore.makeUnsafe(LIMIT), Effect.succeed(1), n))
    },
    'async-mutex':
      ({ Semaphore }) =>
      (n) =>
        exclusiveLoop(new Semaphore(LIMIT), asyncWork, n),
    'async-sema':
      ({ Sema }) =>
      (n) =>
        semaLoop(new Sema(LIMIT), asyncWork, n),
  },
  {
    name: 'semaphore: 10 permits, 100 fibers',
    short: true,
    multiple: CROWD,
    ours: (n) => {
      const semaphore = new Semaphore(LIMIT)
      return run(() => crowd(n, (times) => bodyLoop(semaphore, wait, times)))
    },
    async: (n) => {
      const semaphore = new PlainSemaphore(LIMIT)
      return asyncCrowd(n, (times) => asyncUseLoop(semaphore, asyncWait, times))
    },
    effect: (library) => {
      const { Effect, Semaphore } = library
      const loop = permitLoop(library)
      return (n) => {
        const semaphore = Semaphore.makeUnsafe(LIMIT)
        return effectCrowd(library, n, (times) => loop(semaphore, Effect.yieldNow, times))
      }
    },
    'async-mutex':
      ({ Semaphore }) =>
      (n) => {
        const semaphore = new Semaphore(LIMIT)
        return asyncCrowd(n, (times) => exclusiveLoop(semaphore, asyncWait, times))
      },
    'async-sema':
      ({ Sema }) =>
      (n) => {
        const semaphore = new Sema(LIMIT, { capacity: CROWD })
        return asyncCrowd(n, (times) => semaLoop(semaphore, asyncWait, times))
      },
  },
]

// What does a lock cost when it is free, and when 100 fibers want it? In the crowd each holder waits once while it has the
// lock (snooze, await null), or nobody would ever meet another.
import { Mutex, run, snooze } from '../../dist/index.js'
import { asyncCrowd, CROWD, crowd, effectCrowd } from '../crowd.js'
import { PlainSemaphore } from '../plain.js'

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

function* lockLoop(mutex, n) {
  for (let i = 0; i < n; i++) {
    yield* mutex.lock()
    mutex.unlock()
  }
}
function* synchronizeLoop(mutex, body, n) {
  for (let i = 0; i < n; i++) yield* mutex.synchronize(body)
}

/** async: a plain mutex of promises is a semaphore of one. */
async function asyncLockLoop(mutex, n) {
  for (let i = 0; i < n; i++) {
    await mutex.acquire()
    mutex.release()
  }
}
async function asyncUseLoop(mutex, fn, n) {
  for (let i = 0; i < n; i++) await mutex.use(fn)
}

/** async-mutex: acquire gives the function that releases. */
async function releaserLoop(mutex, n) {
  for (let i = 0; i < n; i++) {
    const release = await mutex.acquire()
    release()
  }
}
async function exclusiveLoop(mutex, fn, n) {
  for (let i = 0; i < n; i++) await mutex.runExclusive(fn)
}

/** effect: it has no mutex but a Semaphore of one. */
const permitLoop = ({ Effect }) =>
  Effect.fnUntraced(function* (mutex, effect, n) {
    for (let i = 0; i < n; i++) yield* mutex.withPermit(effect)
  })

export const rows = [
  {
    name: 'mutex: lock and unlock, free',
    aim: { async: 0.7, 'async-mutex': 2 },
    ours: (n) => run(() => lockLoop(new Mutex(), n)),
    async: (n) => asyncLockLoop(new PlainSemaphore(1), n),
    'async-mutex':
      ({ Mutex }) =>
      (n) =>
        releaserLoop(new Mutex(), n),
  },
  {
    name: 'mutex: synchronize, free',
    aim: { async: 0.7, 'async-mutex': 2 },
    ours: (n) => run(() => synchronizeLoop(new Mutex(), work, n)),
    async: (n) => asyncUseLoop(new PlainSemaphore(1), asyncWork, n),
    effect: (library) => {
      const { Effect, Semaphore } = library
      const loop = permitLoop(library)
      return (n) => Effect.runPromise(loop(Semaphore.makeUnsafe(1), Effect.succeed(1), n))
    },
    'async-mutex':
      ({ Mutex }) =>
      (n) =>
        exclusiveLoop(new Mutex(), asyncWork, n),
  },
  {
    name: 'mutex: synchronize, 100 fibers',
    multiple: CROWD,
    ours: (n) => {
      const mutex = new Mutex()
      return run(() => crowd(n, (times) => synchronizeLoop(mutex, wait, times)))
    },
    async: (n) => {
      const mutex = new PlainSemaphore(1)
      return asyncCrowd(n, (times) => asyncUseLoop(mutex, asyncWait, times))
    },
    effect: (library) => {
      const { Effect, Semaphore } = library
      const loop = permitLoop(library)
      return (n) => {
        const mutex = Semaphore.makeUnsafe(1)
        return effectCrowd(library, n, (times) => loop(mutex, Effect.yieldNow, times))
      }
    },
    'async-mutex':
      ({ Mutex }) =>
      (n) => {
        const mutex = new Mutex()
        return asyncCrowd(n, (times) => exclusiveLoop(mutex, asyncWait, times))
      },
  },
]

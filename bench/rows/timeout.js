// What does a time limit cost that never strikes, because what it limits is ready at once, or waits for one turn only?
import { cancelAfter, moveOnAfter, run, snooze } from '../../dist/index.js'

function* one() {
  return 1
}
function* moveOnLoop(n) {
  for (let i = 0; i < n; i++) yield* moveOnAfter(1000, one)
}
function* cancelLoop(n) {
  for (let i = 0; i < n; i++) yield* cancelAfter(1000, one)
}

function* oneLater() {
  yield* snooze()
  return 1
}
function* moveOnLaterLoop(n) {
  for (let i = 0; i < n; i++) yield* moveOnAfter(1000, oneLater)
}
function* cancelLaterLoop(n) {
  for (let i = 0; i < n; i++) yield* cancelAfter(1000, oneLater)
}

/** async: a promise with setTimeout and clearTimeout. */
function limited(ms, promise) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(reject, ms)
    promise.then((value) => {
      clearTimeout(timer)
      resolve(value)
    })
  })
}
async function asyncLoop(n) {
  for (let i = 0; i < n; i++) await limited(1000, Promise.resolve(1))
}

async function asyncOneLater() {
  await null
  return 1
}
async function asyncLaterLoop(n) {
  for (let i = 0; i < n; i++) await limited(1000, asyncOneLater())
}

/** async: AbortSignal.timeout and Promise.race. Its timer cannot be cleared; the listener is taken away. */
async function signalled(ms, promise) {
  const signal = AbortSignal.timeout(ms)
  let strike
  const timedOut = new Promise((_, reject) => {
    strike = () => reject(signal.reason)
    signal.addEventListener('abort', strike)
  })
  try {
    return await Promise.race([promise, timedOut])
  } finally {
    signal.removeEventListener('abort', strike)
  }
}
async function signalLoop(n) {
  for (let i = 0; i < n; i++) await signalled(1000, asyncOneLater())
}

/** effect: its own time limits. */
const effectLoop =
  (limit, one) =>
  ({ Effect }) => {
    const limited = one(Effect)
    const loop = Effect.fnUntraced(function* (n) {
      for (let i = 0; i < n; i++) yield* Effect[limit](limited, 1000)
    })
    return (n) => Effect.runPromise(loop(n))
  }
const ready = (Effect) => Effect.succeed(1)
const later = (Effect) => Effect.as(Effect.yieldNow, 1)

/** effection: a race with sleep; it has no time limit of its own. */
function effection({ run, race, sleep, call }) {
  function* loop(n) {
    for (let i = 0; i < n; i++) yield* race([call(one), sleep(1000)])
  }
  return (n) => run(() => loop(n))
}
function effectionLater({ run, race, sleep, until }) {
  function* loop(n) {
    for (let i = 0; i < n; i++) yield* race([until(Promise.resolve(1)), sleep(1000)])
  }
  return (n) => run(() => loop(n))
}

const common = { aim: { async: 0.3, effect: 8 }, async: asyncLoop, effection }
const commonLater = { async: asyncLaterLoop, effection: effectionLater }

export const rows = [
  {
    name: 'moveOnAfter around a ready op',
    short: { effection: 10 },
    ...common,
    ours: (n) => run(() => moveOnLoop(n)),
    effect: effectLoop('timeoutOption', ready),
  },
  {
    name: 'cancelAfter around a ready op',
    ...common,
    ours: (n) => run(() => cancelLoop(n)),
    effect: effectLoop('timeout', ready),
  },
  {
    name: 'moveOnAfter around a wait',
    detail: true,
    ...commonLater,
    ours: (n) => run(() => moveOnLaterLoop(n)),
    effect: effectLoop('timeoutOption', later),
  },
  {
    name: 'cancelAfter around a wait',
    detail: true,
    ...commonLater,
    ours: (n) => run(() => cancelLaterLoop(n)),
    effect: effectLoop('timeout', later),
  },
  {
    name: 'cancelAfter beside AbortSignal.timeout',
    note: 'around a wait as in the row before, where async has setTimeout and clearTimeout; here it has AbortSignal.timeout and Promise.race. The timer of the signal cannot be cleared and stays until it strikes.',
    heavy: 1000,
    ours: (n) => run(() => cancelLaterLoop(n)),
    async: signalLoop,
  },
]

// What does a time limit cost when what it limits is ready at once, so that the limit never strikes?
import { cancelAfter, moveOnAfter, run } from '../../dist/index.js'

function* one() {
  return 1
}
function* moveOnLoop(n) {
  for (let i = 0; i < n; i++) yield* moveOnAfter(1000, one)
}
function* cancelLoop(n) {
  for (let i = 0; i < n; i++) yield* cancelAfter(1000, one)
}

/** async: a promise with setTimeout and clearTimeout. */
async function asyncLoop(n) {
  for (let i = 0; i < n; i++) {
    await new Promise((resolve, reject) => {
      const timer = setTimeout(reject, 1000)
      Promise.resolve(1).then((value) => {
        clearTimeout(timer)
        resolve(value)
      })
    })
  }
}

/** effect: its own time limits, around an effect that has succeeded. */
const effectLoop =
  (limit) =>
  ({ Effect }) => {
    const loop = Effect.fnUntraced(function* (n) {
      for (let i = 0; i < n; i++) yield* Effect[limit](Effect.succeed(1), 1000)
    })
    return (n) => Effect.runPromise(loop(n))
  }

/** effection: a race with sleep; it has no time limit of its own. */
function effection({ run, race, sleep, call }) {
  function* loop(n) {
    for (let i = 0; i < n; i++) yield* race([call(one), sleep(1000)])
  }
  return (n) => run(() => loop(n))
}

const common = { aim: { async: 0.3, effect: 8 }, async: asyncLoop, effection }

export const rows = [
  {
    name: 'moveOnAfter around a ready op',
    ...common,
    ours: (n) => run(() => moveOnLoop(n)),
    effect: effectLoop('timeoutOption'),
  },
  {
    name: 'cancelAfter around a ready op',
    ...common,
    ours: (n) => run(() => cancelLoop(n)),
    effect: effectLoop('timeout'),
  },
]

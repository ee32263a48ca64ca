// Does a wait cost more at the bottom of many calls? A loop of waits, 3, 10 and 50 generators deep, beside the least that runs
// generators (../trampoline.js): with `yield*` each level costs what it costs there.
import { run, snooze } from '../../dist/index.js'
import { pass, trampoline } from '../trampoline.js'

function* descend(depth, n) {
  if (depth > 0) yield* descend(depth - 1, n)
  else for (let i = 0; i < n; i++) yield* snooze()
}

function* passDown(depth, n) {
  if (depth > 0) yield* passDown(depth - 1, n)
  else for (let i = 0; i < n; i++) yield* pass
}

async function asyncDescend(depth, n) {
  if (depth > 0) await asyncDescend(depth - 1, n)
  else for (let i = 0; i < n; i++) await null
}

const deep = (depth) => ({
  name: `wait ${depth} calls deep`,
  detail: depth !== 10,
  ...(depth === 10 && { short: true }),
  aim: depth < 50 ? { trampoline: 1.1 } : {},
  ours: (n) => run(() => descend(depth, n)),
  async: (n) => asyncDescend(depth, n),
  trampoline: async (n) => trampoline([passDown(depth, n)]),

  // effect: effect functions in effect functions, Effect.yieldNow at the bottom.
  effect: ({ Effect }) => {
    const descend = Effect.fnUntraced(function* (depth, n) {
      if (depth > 0) yield* descend(depth - 1, n)
      else for (let i = 0; i < n; i++) yield* Effect.yieldNow
    })
    return (n) => Effect.runPromise(descend(depth, n))
  },

  // effection: yield* all the way, as ours; a resolved promise at the bottom.
  effection: ({ run, until }) => {
    function* descend(depth, n) {
      if (depth > 0) yield* descend(depth - 1, n)
      else for (let i = 0; i < n; i++) yield* until(Promise.resolve())
    }
    return (n) => run(() => descend(depth, n))
  },
})

export const rows = [deep(3), deep(10), deep(50)]

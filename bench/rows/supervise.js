// What does a restart cost? One child that fails at once, until it has failed often enough.
import { run, supervise } from '../../dist/index.js'

function restarts(n) {
  let left = n
  function* child() {
    if (left-- > 0) throw new Error('broken')
  }
  return supervise([{ name: 'child', body: child }], {
    restart: 'onError',
    intensity: { restarts: Infinity },
  })
}

/** async: try again in a loop. */
async function asyncRestarts(n) {
  let left = n
  async function child() {
    if (left-- > 0) throw new Error('broken')
  }
  for (;;) {
    try {
      return await child()
    } catch {}
  }
}

export const rows = [
  {
    name: 'supervise: restart a child that failed',
    detail: true,
    note: 'async and effect (Effect.retry) have no supervisors: they only run the same code again. Each failure makes an Error with its stack.',
    ours: (n) => run(() => restarts(n)),
    async: asyncRestarts,
    effect:
      ({ Effect }) =>
      (n) => {
        let left = n
        const child = Effect.suspend(() => (left-- > 0 ? Effect.fail(new Error('broken')) : Effect.void))
        return Effect.runPromise(Effect.retry(child, { times: n }))
      },
  },
]

// supervise: what compiles, and the mistakes that do not.

import { type Fiber, type Op, sleep, supervise } from 'polyphony'
import { expectType } from './equal.js'

declare const fiber: Fiber<number, string>
function* worker(n: number) {
  yield* sleep(n)
  return { n }
}

expectType<Op<void>>()(supervise())
expectType<Op<void>>()(supervise({ restart: 'always', until: 'any', backoff: { delay: 1 }, jitter: 0.5 }))
expectType<Op<void>>()(supervise([fiber, { body: worker, args: [1] }]))
supervise([fiber] as const, { strategy: 'restForOne' })
supervise([{ body: () => sleep(1) }, { body: () => 1 }, { body: () => {} }, { body: () => ({ a: 1 }) }])
supervise({ onDone: (child) => child.restart(), onError: () => 'ignore' })
supervise({
  *onDone(child, outcome) {
    yield* sleep(1)
    if (outcome.type === 'error') console.log(child.name, outcome.error)
  },
})

// @ts-expect-error: an async body cannot be stopped
supervise([{ body: async () => 1 }])
// @ts-expect-error: an async generator
supervise([{ body: async function* () {} }])
const starless = function* () {
  yield sleep(1)
}
// @ts-expect-error: yield sleep(1)
supervise([{ body: starless }])
// @ts-expect-error: an async callback
supervise({ onDone: async () => {} })
// @ts-expect-error: a function is no child
supervise([worker])
// @ts-expect-error: no such rule
supervise({ restart: 'sometimes' })
// @ts-expect-error: no such strategy
supervise([], { strategy: 'one_for_one' })
// @ts-expect-error: no such option
supervise({ restarts: 3 })
// @ts-expect-error: one fiber is no list
supervise(fiber)

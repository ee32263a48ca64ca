// How much is done for many: the statements of the library that run for 300 and for 1,200, counted by the engine, on
// the virtual clock. So the ratio is the same on every machine.

import { Session } from 'node:inspector'
import {
  all,
  allSettled,
  any,
  Fiber,
  forEach,
  type Op,
  type Routine,
  race,
  scope,
  sleep,
  spin,
  supervise,
} from 'polyphony'
import { virtual } from 'polyphony/testing'

const FEW = 300
const TIMES = 4
/** Four times as many take four times as long; sixteen times, if each looks at all others. */
const MOST = 6

function* fails(): Routine<void> {
  yield* sleep(5)
  throw new Error('failed')
}

function* failsInCleanup(): Routine<void> {
  try {
    yield* sleep()
  } finally {
    yield* sleep(1)
    // biome-ignore lint/correctness/noUnsafeFinally: that is the point
    throw new Error('failed in its cleanup')
  }
}

const list = (n: number, body: () => Op<unknown>) => Array.from({ length: n }, () => body)
const spins = (n: number, body: () => Op<unknown>) => () => {
  for (let i = 0; i < n; i++) spin(body)
}

const kinds: Record<string, (n: number) => Op<unknown>> = {
  'a scope, all fail': (n) => scope(spins(n, fails)),
  'a scope whose body still runs, all fail': (n) =>
    scope(function* () {
      spins(n, fails)()
      yield* sleep(50)
    }),
  'a scope, all fail in their cleanup': (n) =>
    scope(function* () {
      spins(n, failsInCleanup)()
      yield* fails()
    }),
  'a scope, one after the other fails': (n) =>
    scope(() => {
      for (let i = 0; i < n; i++) spin(later, i)
    }),
  'a fiber, all fail': (n) => spin({ link: false }, spins(n, failsInCleanup)).join(),
  all: (n) => all(list(n, fails)),
  allSettled: (n) => allSettled(list(n, fails)),
  any: (n) => any(list(n, fails)),
  race: (n) => race(list(n, fails)),
  forEach: (n) => forEach(list(n, fails), (body) => body(), { concurrency: Infinity }),
  supervise: (n) => supervise(list(n, fails).map((body) => ({ body }))),
  'supervise, one after the other ends, with as many newer children that are not in its list': (n) => {
    const children = Array.from({ length: n }, (_, i) => spin(() => sleep(i)))
    spins(n, sleep)()
    return supervise(children)
  },
  'supervise, the last fails as often, restForOne': (n) => {
    let left = n
    const last = () => (left-- > 0 ? fails() : undefined)
    const children = [...list(n, () => sleep(10 * n)), last].map((body) => ({ body }))
    return supervise(children, {
      restart: 'onError',
      strategy: 'restForOne',
      intensity: { restarts: Infinity },
    })
  },
  'Fiber.await': (n) => Fiber.await(...list(n, fails).map((body) => spin(body))),
}

function* later(ms: number): Routine<void> {
  try {
    yield* sleep(ms / 100)
  } finally {
    // biome-ignore lint/correctness/noUnsafeFinally: that is the point
    throw new Error('failed')
  }
}

/** How often parts of the library ran meanwhile. */
async function countOf(n: number, kind: (n: number) => Op<unknown>): Promise<number> {
  const session = new Session()
  session.connect()
  session.post('Profiler.enable')
  session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
  await virtual(() => spin({ link: false }, () => kind(n)).join())
  let sum = 0
  session.post('Profiler.takePreciseCoverage', (error, coverage) => {
    if (error) throw error
    for (const script of coverage.result) {
      if (!/\/dist\/(?!testing)/.test(script.url)) continue
      for (const each of script.functions) for (const { count } of each.ranges) sum += count
    }
  })
  session.disconnect()
  return sum
}

const kind = kinds[process.argv[2] ?? '']
if (kind === undefined) console.log(Object.keys(kinds).join('\n'))
else {
  await countOf(FEW, kind) // warm: what is done once is done
  const [few, many] = [await countOf(FEW, kind), await countOf(FEW * TIMES, kind)]
  const ratio = many / few
  console.log(
    ratio <= MOST ? 'as many times as much' : `${TIMES} times as many take ${ratio.toFixed(1)} times as much`,
  )
}

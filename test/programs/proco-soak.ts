// Many items through executors of several kinds, with handlers that fail at random and items that are cancelled at random,
// in queues, in the line and in the hands of handlers: the counts add up to the last item, and the heap stays flat, also
// when the producers outrun the handler. How many is the first argument. Run with --expose-gc.

import { isStop, main, type Routine, runtimeStats, scope, snooze, spin } from 'polyphony'
import { type Executor, type Future, Proco, type ProcoOptions } from 'polyphony/proco'
import { heapUsed } from './heapused.js'

const ROUNDS = 12
const WARM_UP = 3
const PRODUCERS = 50
/** Futures that a producer keeps before it looks at them. */
const KEPT = 20
/** A leak of a byte for each item would be less than this; one of an object for each, far more. */
const ALLOWED = 1_000_000

const total = Number(process.argv[2] ?? 1_000_000)
type Any = Executor<number, unknown, any>

let state = 1
/** A number from 0 to n - 1, the same in each run. */
function random(n: number): number {
  state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff
  return (state >>> 8) % n
}

/** What the producers have seen. */
const seen = { accepted: 0, done: 0, failed: 0, cancelled: 0, refused: 0 }

function* handle(given: number | number[]): Routine<unknown> {
  const luck = random(20)
  if (luck === 0) throw new Error('bad luck')
  if (luck < 4) yield* snooze()
  if (!Array.isArray(given)) return given
  return luck === 4 ? given.slice(1) : given.map((n) => (n % 10 === 0 ? new Error('not this one') : n))
}

/** Hands in `n` items in every way, and looks at each outcome. */
function* produce(proco: Any, n: number): Routine<void> {
  const kept: Future<unknown>[] = []
  for (let i = 0; i < n; i++) {
    const way = random(10)
    if (way === 0) yield* waitFor(proco, i)
    else {
      const future = way === 1 ? proco.trySubmit(i) : yield* handIn(proco, i, way)
      if (future === undefined) seen.refused++
      else kept.push(future)
    }
    if (kept.length === KEPT) yield* lookAt(kept)
  }
  yield* lookAt(kept)
}

function* waitFor(proco: Any, item: number): Routine<void> {
  seen.accepted++
  try {
    yield* proco.submit(item)
    seen.done++
  } catch (error) {
    if (isStop(error)) throw error
    seen.failed++
  }
}

/** Undefined if it was cancelled, or timed out, before there was room. */
function* handIn(proco: Any, item: number, way: number): Routine<Future<unknown> | undefined> {
  const controller = way === 2 ? new AbortController() : null
  if (controller !== null) spin(() => controller.abort('random'))
  try {
    if (controller !== null) return yield* proco.submitAsync(item, { signal: controller.signal })
    if (way === 3) return yield* proco.submitAsync(item, { timeout: random(2) === 0 ? 0 : 60_000 })
    if (way === 4) return yield* proco.submitAsync(item, { key: item % 7 })
    return yield* proco.submitAsync(item)
  } catch (error) {
    if (isStop(error)) throw error
    return undefined
  }
}

function* lookAt(kept: Future<unknown>[]): Routine<void> {
  for (const future of kept) {
    if (random(5) === 0) future.cancel('random')
    else if (random(2) === 0) yield* snooze()
  }
  for (const future of kept) {
    try {
      yield* future.get()
    } catch (error) {
      if (isStop(error)) throw error
    }
    seen.accepted++
    seen[future.state as 'done' | 'failed' | 'cancelled']++
  }
  kept.length = 0
}

/** Hands in faster than is handled, and looks at nothing. */
function* outrun(proco: Any, n: number): Routine<void> {
  for (let i = 0; i < n; i++) yield* proco.submitAsync(i)
  seen.accepted += n
}

const kinds: Record<string, { options: ProcoOptions; work: typeof produce }> = {
  'item by item': { options: { threads: 4, queues: 2, queueSize: 30 }, work: produce },
  'in batches': { options: { batch: true, batchSize: 100, queueSize: 40 }, work: produce },
  'each its own result': {
    options: { batch: true, results: 'each', threads: 2, queueSize: 40 },
    work: produce,
  },
  'producers that outrun the handler': { options: { queueSize: 1000 }, work: outrun },
}

function* soak(name: string, options: ProcoOptions, work: typeof produce, items: number): Routine<number> {
  Object.assign(seen, { accepted: 0, done: 0, failed: 0, cancelled: 0, refused: 0 })
  const proco = new Proco(options as object) as unknown as Any
  proco.start(handle as any)
  const heaps: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    yield* scope(() => {
      for (let n = 0; n < PRODUCERS; n++) spin(work, proco, Math.ceil(items / ROUNDS / PRODUCERS))
    })
    heaps.push(heapUsed())
  }
  yield* proco.exit()
  const { accepted, done, failed, cancelled, depth, running } = proco.stats()
  const grown = Math.max(...heaps.slice(WARM_UP)) - (heaps[WARM_UP - 1] as number)
  const counts = { accepted, done, failed, cancelled }
  console.log(
    `${name}: ${JSON.stringify(counts)}, ${seen.refused} refused, heap ${grown < 0 ? '' : '+'}${grown} bytes`,
  )
  const isRight =
    accepted === done + failed + cancelled &&
    depth === 0 &&
    running === 0 &&
    accepted === seen.accepted &&
    (work === outrun ||
      (done === seen.done &&
        failed === seen.failed &&
        cancelled === seen.cancelled &&
        failed > 0 &&
        cancelled > 0))
  if (!isRight) throw new Error(`the counts do not add up: the producers saw ${JSON.stringify(seen)}`)
  if (grown > ALLOWED) throw new Error(`the heap has grown: ${heaps.join(', ')}`)
  return accepted + seen.refused
}

main(function* () {
  let items = 0
  const share = total / Object.keys(kinds).length
  for (const [name, { options, work }] of Object.entries(kinds))
    items += yield* soak(name, options, work, share)
  const { fibers, timers } = runtimeStats()
  console.log(`${items >= total ? 'all' : items} items, ${fibers} fiber, ${timers} timers left`)
})

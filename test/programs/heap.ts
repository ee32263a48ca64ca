// Heap tests, run with --expose-gc: node --expose-gc heap.js <one of the kinds of work below> | dead | sleepers

import { Fiber, main, moveOnAfter, receive, runtimeStats, scope, sleep, snooze, spin, until } from 'polyphony'
import { heapUsed } from './heapused.js'

const WARM_UP = 2
const ROUNDS = 10
const EACH = 100_000
const A_MILLION = ROUNDS * EACH
const SIDE_BY_SIDE = 1000

const work: Record<string, (n: number) => Generator<any, void, any>> = {
  /** S04: a finished child is forgotten at once. */
  *spins(n) {
    for (let i = 0; i < n; i++) yield* spin(nothing, i).join()
  },
  /** Nobody awaits them, main goes on. */
  *unawaited(n) {
    for (let i = 0; i < n; i++) {
      spin(nothing, i)
      if (i % 1000 === 0) yield* snooze()
    }
    yield* snooze()
  },
  /** Sleeps that are stopped long before their time. */
  *sleeps(n) {
    for (let i = 0; i < n; i++) {
      const sleeper = spin(sleepLong)
      yield* snooze()
      yield* sleeper.stop()
    }
  },
  *timeouts(n) {
    for (let i = 0; i < n; i++) yield* moveOnAfter(60_000, snooze)
  },
  /** Limits that are left in time by a sleep that ends first; many at once, since these sleeps are real. */
  *ended(n) {
    for (let i = 0; i < n; i += SIDE_BY_SIDE) {
      yield* scope(() => {
        for (let k = 0; k < SIDE_BY_SIDE; k++) spin(endInTime)
      })
    }
  },
  /** Limits that expire and cut a long sleep. */
  *expired(n) {
    for (let i = 0; i < n; i += SIDE_BY_SIDE) {
      yield* scope(() => {
        for (let k = 0; k < SIDE_BY_SIDE; k++) spin(expire)
      })
    }
  },
  /** One fiber, run again and again. */
  *restarts(n) {
    const fiber = spin(receive)
    for (let i = 0; i < n; i++) {
      const { incarnation } = fiber
      fiber.restart()
      while (fiber.incarnation === incarnation) yield* snooze()
      yield* snooze()
    }
    yield* fiber.stop()
  },
  /** The one that was not selected must not remember who asked. */
  *selects(n) {
    const lasting = spin(sleepLong)
    for (let i = 0; i < n; i++) yield* Fiber.select(lasting, spin(nothing, i))
    yield* lasting.stop()
  },
  /** Nor must one whose awaiters were stopped. */
  *awaiters(n) {
    const lasting = spin(sleepLong)
    for (let i = 0; i < n; i++) {
      const awaiter = spin(awaitIt, lasting)
      yield* snooze()
      yield* awaiter.stop()
    }
    yield* lasting.stop()
  },
  /** A promise that never ends, waited for and left again and again, at the wait and before it. */
  *promises(n) {
    const never = new Promise(() => {})
    for (let i = 0; i < n; i++) {
      const waiter = spin(waitFor, never, i % 10 === 0)
      yield* snooze()
      yield* waiter.stop()
    }
  },
  *messages(n) {
    const sink = spin(function* () {
      for (;;) yield* receive()
    })
    for (let i = 0; i < n; i++) {
      sink.send({ i })
      if (i % 100 === 0) yield* snooze()
    }
    yield* sink.stop()
  },
}

function* nothing(i: number) {
  return i
}
function* awaitIt(fiber: Fiber) {
  yield* fiber
}
function* waitFor(promise: Promise<unknown>, isStopped: boolean) {
  if (isStopped) Fiber.current.stop()
  yield* until(promise)
}
function* sleepLong() {
  yield* sleep(60_000)
}

function* endInTime() {
  yield* moveOnAfter(60_000, () => sleep(1))
}
function* expire() {
  yield* moveOnAfter(1, sleepLong)
}

/** A million fibers that sleep at the same time, then are stopped. */
function* sleepers(): Generator<any, void, any> {
  for (let i = 0; i < A_MILLION; i++) spin(sleepLong)
  while (runtimeStats().runQueue > 0 || runtimeStats().timers < A_MILLION) yield* snooze()
  const megabytes = Math.round(process.memoryUsage().rss / 2 ** 20)
  console.log(megabytes < 1024 ? 'less than 1 GB' : `${megabytes} MB`)
  yield* Fiber.current.shutdownChildren()
  console.log(`${runtimeStats().fibers} fiber, ${runtimeStats().timers} timers left`)
}

/** Dead fibers whose handles are gone are collected; so is what they returned and held. */
function* dead(): Generator<any, void, any> {
  const refs: WeakRef<object>[] = []
  for (let i = 0; i < 100; i++) {
    const fiber: Fiber<object> = spin(function* () {
      const result = { big: new Array(1000).fill(i) }
      refs.push(new WeakRef(result))
      yield* sleep(1)
      return result
    })
    refs.push(new WeakRef(fiber))
    if (i % 2 === 0) yield* fiber
    else {
      yield* snooze()
      yield* fiber.stop()
    }
  }
  yield* sleep(1)
  gc?.()
  yield* sleep(1)
  gc?.()
  const left = refs.filter((ref) => ref.deref() !== undefined).length
  // The interpreter may still hold the very last one in a register.
  console.log(left <= 2 ? 'collected' : `${left} of ${refs.length} are still there`)
}

main(function* () {
  const kind = process.argv[2] as string
  if (kind === 'dead') return yield* dead()
  if (kind === 'sleepers') return yield* sleepers()
  const body = work[kind]
  if (body === undefined) throw new Error(`no such work: ${kind}`)
  for (let round = 0; round < WARM_UP; round++) yield* body(EACH)
  const before = heapUsed()
  for (let round = 0; round < ROUNDS; round++) yield* body(EACH)
  const grown = heapUsed() - before
  // Less than a byte for each of the million.
  console.log(grown < 1_000_000 ? 'flat' : `grew by ${grown} bytes`)
})

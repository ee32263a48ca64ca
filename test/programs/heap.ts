// Heap tests, run with --expose-gc: node --expose-gc heap.js spins | sleeps | timeouts | messages | dead

import { type Fiber, main, moveOnAfter, receive, sleep, snooze, spin } from 'polyphony'

const ROUNDS = 10
const EACH = 100_000

function heapUsed(): number {
  gc?.()
  gc?.()
  return process.memoryUsage().heapUsed
}

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
function* sleepLong() {
  yield* sleep(60_000)
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
  const body = work[kind]
  if (body === undefined) throw new Error(`no such work: ${kind}`)
  yield* body(EACH)
  const before = heapUsed()
  for (let round = 0; round < ROUNDS; round++) yield* body(EACH)
  const grown = heapUsed() - before
  // Less than a byte for each of the million.
  console.log(grown < 1_000_000 ? 'flat' : `grew by ${grown} bytes`)
})

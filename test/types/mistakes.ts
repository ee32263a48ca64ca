// What must not compile: each line below an expect-error is a mistake people make.

import {
  type Call,
  call,
  ensure,
  every,
  Fiber,
  main,
  moveOnAfter,
  type Op,
  ResourcePool,
  receiveLoop,
  run,
  scope,
  sleep,
  spin,
  spinLoop,
  Throttler,
  throttledLoop,
  until,
} from 'polyphony'

// ---- the forgotten star

// @ts-expect-error: yield sleep(1)
spin(function* () {
  yield sleep(1)
})
// @ts-expect-error: yield sleep(1)
main(function* () {
  yield sleep(1)
})
// @ts-expect-error: yield sleep(1)
run(function* () {
  yield sleep(1)
})
// @ts-expect-error: yield sleep(1)
scope(function* () {
  yield sleep(1)
})
// @ts-expect-error: yield sleep(1)
moveOnAfter(10, function* () {
  yield sleep(1)
})
// @ts-expect-error: a star forgotten among others
spin(function* () {
  yield* sleep(1)
  yield sleep(1)
  yield* sleep(1)
})
// @ts-expect-error: yield of nothing
spin(function* () {
  yield
})
// @ts-expect-error: spinLoop
spinLoop(function* () {
  yield sleep(1)
})

// ---- yield* of things that are not ops

spin(function* () {
  // @ts-expect-error: a promise has no iterator
  yield* Promise.resolve(1)
})
// @ts-expect-error: an array is iterable, but its items are no switchpoints
spin(function* () {
  yield* [1, 2, 3]
})
// @ts-expect-error: nor are ops in an array
spin(function* () {
  yield* [sleep(1), sleep(2)]
})
// @ts-expect-error: nor the letters of a string
run(function* () {
  yield* 'abc'
})

// ---- async functions

const later = async () => 1

// @ts-expect-error: async functions cannot be stopped
spin(later)
// @ts-expect-error: with a name
spin('later', later)
// @ts-expect-error: with options
spin({ name: 'later' }, later)
// @ts-expect-error: with arguments
spin(async (n: number) => n, 1)
// @ts-expect-error: an async generator
spin(async function* () {})
// @ts-expect-error: run
run(later)
// @ts-expect-error: the cleanup of ensure
ensure(() => 1, later)
// @ts-expect-error: every
every(5, later)
// @ts-expect-error: throttledLoop
throttledLoop(5, later)
// @ts-expect-error: out of band
Fiber.outOfBand(later)
// @ts-expect-error: a raw yield in a loop
every(5, function* () {
  yield 5
})
// @ts-expect-error: main
main(later)
// @ts-expect-error: scope
scope(later)
// @ts-expect-error: moveOnAfter
moveOnAfter(10, later)
// @ts-expect-error: a plain function that returns a promise
moveOnAfter(10, () => Promise.resolve(1))
// @ts-expect-error: a plain function that returns a promise
spin(() => fetchText('somewhere'))

declare function fetchText(url: string): Promise<string>
spin(() => until(fetchText('somewhere'))) // this is how

// ---- wrong arguments

function* add(a: number, b: number) {
  yield* sleep(1)
  return a + b
}
spin(add, 1, 2)
spin('sum', add, 1, 2)
spin({ grace: 10 }, add, 1, 2)
// @ts-expect-error: one is missing
spin(add, 1)
// @ts-expect-error: one too many
spin(add, 1, 2, 3)
// @ts-expect-error: not a number
spin(add, 1, '2')
// @ts-expect-error: one is missing
spin('sum', add, 1)
// @ts-expect-error: not a number
spin({ name: 'sum' }, add, 1, '2')
// @ts-expect-error: no such option
spin({ title: 'sum' }, add, 1, 2)
// @ts-expect-error: an op is not a body
spin(sleep(1))
// @ts-expect-error: a generator that was called already is not a body
spin(add(1, 2))
// @ts-expect-error: a duration is a number
sleep('1s')
// @ts-expect-error: the body is missing
every(100)
// @ts-expect-error: the duration is missing
moveOnAfter(() => sleep(1))

// ---- results are what they are

spin(function* () {
  const sum = yield* spin(add, 1, 2)
  // @ts-expect-error: a number has no length
  sum.length
  // @ts-expect-error: moveOnAfter may also give nothing
  ;(yield* moveOnAfter(10, () => spin(add, 1, 2))).toFixed()
})

const forged: Op<number> = {
  // @ts-expect-error: nobody else can make a switchpoint
  *[Symbol.iterator]() {
    yield {}
    return 1
  },
}
void forged

// ---- messages of the wrong type

spin(function* () {
  const counter: Fiber<void, { type: 'add'; n: number } | Call<'count', number>> = spin(() => sleep(1))
  // @ts-expect-error: no such message
  counter.send({ type: 'remove' })
  // @ts-expect-error: no such question
  yield* call(counter, 'size')
  // @ts-expect-error: an async body
  yield* receiveLoop(async () => {})
})

// ---- pools and throttlers

const pool = new ResourcePool({ limit: 1, create: () => 'a connection' })
// @ts-expect-error: an async body
pool.acquire(async (connection) => connection)
// @ts-expect-error: yield sleep(1)
pool.acquire(function* () {
  yield sleep(1)
})
// @ts-expect-error: not a resource of this pool
pool.discard(1)
// @ts-expect-error: nothing makes its resources
new ResourcePool({ limit: 1 })
// @ts-expect-error: no such option
new ResourcePool({ limit: 1, max: 2, create: () => 1 })
new ResourcePool({
  limit: 1,
  // @ts-expect-error: yield sleep(1)
  *create() {
    yield sleep(1)
  },
})
// @ts-expect-error: an async body
new Throttler(1).process(async () => {})

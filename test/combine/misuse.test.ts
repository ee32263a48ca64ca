// Lists, bodies and options that cannot be meant, and a yield* that was forgotten.

import {
  all,
  allSettled,
  any,
  assert,
  describe,
  each,
  forEach,
  type Op,
  race,
  retry,
  sleep,
  spin,
  test,
  thrownBy,
  turns,
} from '../prelude.js'
import { forgotten } from '../shared/debug.js'
import { NO_BODIES, needFiber, refuses } from '../shared/refuses.js'

const nothing = () => {}
const contests = { all, allSettled, race, any } as Record<string, (list: any, options?: any) => Op<unknown>>

for (const [name, contest] of Object.entries(contests)) {
  describe(name, () => {
    const place = (rest: string) => RegExp(`^item 1 of ${name}\\(\\) ${rest}`)
    const second = (item: unknown) => contest([nothing, item])
    const values = [5, 'text', null, undefined, [1, 2], new Map(), new Set(), new Uint8Array(1)]
    refuses([
      [name, contest, [undefined, 5, nothing, new Set()], /needs an array of ops or bodies, got/],
      [
        'a list',
        second,
        values,
        place('must be an op, a body or a fiber, got .*until\\(promise\\).*=> value'),
      ],
      ['a list', second, [async () => 1], place('was given the async function.*until\\(promise\\)')],
      ['a list', contest, [new Array(1)], /^item 0 .* got undefined/],
    ])

    test('refuses a promise, whose rejection is handled then', async () => {
      const rejected = Promise.reject(new Error('not waited for'))
      assert.throws(() => second(rejected), {
        code: 'BAD_ARGUMENT',
        message: /item 1 .* is a promise.*until/,
      })
      await turns()
    })

    test('tells a body that returns a promise what to write instead', function* () {
      const op: Op<any> = contest([() => Promise.resolve(1)])
      const error = name === 'allSettled' ? (yield* op)[0].error : yield* thrownBy(op)
      assert.match((error.errors?.[0] ?? error).message, /returned a promise.*until\(promise\)/)
    })
  })
}

describe('race and any', () => {
  for (const contest of [race, any]) {
    refuses([
      [contest.name, contest, [[]], /needs at least one op or body/],
      [contest.name, (options) => contest([nothing], options), [{ discards: 1 }], /there are: discard/],
      [
        contest.name,
        (discard) => contest([nothing], { discard }),
        [1, null],
        /the discard of .* needs a function/,
      ],
    ])
  }
})

describe('forEach and retry', () => {
  refuses([
    ['forEach()', (items) => forEach(items, nothing), [5, null], /forEach\(\) needs something with items/],
    ['forEach()', (body) => forEach([], body), NO_BODIES, /forEach\(\)|function/],
    ['forEach()', (options) => forEach([], nothing, options), [{ limit: 2 }], /there are: concurrency/],
    [
      'forEach()',
      (concurrency) => forEach([], nothing, { concurrency }),
      [0, -1, 1.5, Number.NaN, '2', null],
      /the concurrency of forEach\(\) needs a whole number above 0, or Infinity/,
    ],
    ['retry()', (body) => retry(body), NO_BODIES, /retry\(\)|function/],
    ['retry()', (options) => retry(nothing, options), [{ tries: 3 }], /times, backoff, jitter, when/],
    [
      'retry()',
      (times) => retry(nothing, { times }),
      [0, -1, 1.5, '3', Number.NaN],
      /the times of retry\(\) need a whole number above 0, or Infinity/,
    ],
    ['retry()', (when) => retry(nothing, { when }), [true, null], /the when of retry\(\) needs a function/],
    ['retry()', (backoff) => retry(nothing, { backoff }), [-1], /the backoff of retry\(\) needs a duration/],
    [
      'retry()',
      (jitter) => retry(nothing, { jitter }),
      [2],
      /the jitter of retry\(\) needs a number from 0 to 1/,
    ],
  ])

  test('forEach() tells a body that returns a promise what to write instead', function* () {
    const error = yield* thrownBy(forEach([1], (() => Promise.resolve(1)) as any))
    assert.match(error.message, /until\(promise\)/)
  })
})

describe('outside any fiber', () => {
  needFiber([[() => [...all([sleep(1)])], /was used outside/]])
})

test('debug mode finds nothing forgotten in what is waited for', async () => {
  const found = await forgotten(function* () {
    async function* items() {
      yield 1
    }
    for (const contest of Object.values(contests)) yield* contest([sleep(1), () => sleep(1)])
    yield* each(items(), () => sleep(1))
    yield* forEach([1, 2], () => sleep(1))
    yield* forEach(items(), () => sleep(1), { concurrency: 2 })
    yield* retry(() => sleep(1))
    const stopped = spin(function* () {
      const members = all([sleep(1), sleep(2)])
      stopped.stop()
      yield* members
    })
    yield* stopped.join()
  })
  assert.deepEqual(found, [])
})

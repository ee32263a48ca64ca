// What the combinators and iteration infer, and what they must not accept.

import {
  all,
  allSettled,
  any,
  type END,
  each,
  type Fiber,
  forEach,
  iterate,
  type Op,
  type Outcome,
  race,
  retry,
  type Source,
  sleep,
} from 'polyphony'
import { expectType } from './equal.js'

function* half(n: number) {
  yield* sleep(1)
  return n / 2
}
declare const fiber: Fiber<boolean>
declare const list: Op<number>[]
declare const bodies: (() => string)[]

// all: tuples stay tuples, of ops, bodies, plain functions, fibers, bodies that return fibers
expectType<Op<[number, number, string, boolean, boolean, void]>>()(
  all([half(4), () => half(4), () => 'plain', fiber, () => fiber, sleep(1)]),
)
expectType<Op<[number, string]>>()(
  all([
    function* () {
      return yield* half(4)
    },
    function* () {
      yield* sleep(1)
      return 'done' as string
    },
  ]),
)
expectType<Op<[]>>()(all([]))
expectType<Op<number[]>>()(all(list))
expectType<Op<string[]>>()(all(bodies))
expectType<Op<[...string[], number]>>()(all([...bodies, () => half(4)]))
expectType<Op<[number, ...string[]]>>()(all([half(4), ...bodies]))
expectType<Op<string | void>>()(race([...bodies, () => sleep(20)]))
expectType<Op<number[]>>()(all([1, 2, 3].map((n) => half(n))))
expectType<Op<number[]>>()(all([1, 2, 3].map((n) => () => half(n))))
expectType<Op<[Outcome<number>, Outcome<boolean>]>>()(allSettled([() => half(4), fiber]))
expectType<Op<Outcome<number>[]>>()(allSettled(list))

// race, any: one of them
expectType<Op<number | string>>()(race([() => half(4), () => 'plain' as string]))
expectType<Op<number | boolean>>()(any([half(4), fiber]))
expectType<Op<number>>()(any(list))
race([() => half(4), () => 'plain' as string], { discard: (value) => expectType<number | string>()(value) })

// forEach, each, iterate
expectType<Op<number[]>>()(forEach([1, 2], half))
expectType<Op<string[]>>()(forEach(new Set(['a']), (word, index) => word.repeat(index), { concurrency: 2 }))
expectType<Op<void>>()(each(['a'], (word) => expectType<string>()(word)))
declare const chunks: ReadableStream<Uint8Array>
expectType<Op<void>>()(each(chunks, (chunk) => void chunk.byteLength))
declare const numbers: AsyncIterable<number>
expectType<Source<number>>()(iterate(numbers))
expectType<Op<number | typeof END>>()(iterate(numbers).next())
expectType<Op<number[]>>()(forEach(iterate(numbers), (n) => n))

// retry
expectType<Op<number>>()(retry((attempt) => half(attempt), { times: 2, backoff: { delay: 1 } }))

// ---- what must not compile

// @ts-expect-error: a promise
all([Promise.resolve(1)])
// @ts-expect-error: a plain value
all([5])
// @ts-expect-error: an async body
all([async () => 1])
// @ts-expect-error: a body that returns a promise
race([() => 1, () => Promise.resolve(1)])
// @ts-expect-error: the star is forgotten
any([function* () { yield sleep(1) }]) // biome-ignore format: one line
// @ts-expect-error: a body takes no arguments here
all([half])
// @ts-expect-error: not an array
all(half(1), half(2))
// @ts-expect-error: an async body
forEach([1], async () => 1)
// @ts-expect-error: no such option
forEach([1], half, { limit: 2 })
// @ts-expect-error: nothing that has items
forEach(5, half)
// @ts-expect-error: an async body
each([1], async () => {})
// @ts-expect-error: an async body
retry(async () => 1)
// @ts-expect-error: no such option
retry(() => half(1), { tries: 2 })

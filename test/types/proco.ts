// The types of executors: what a handler gets and returns in each mode, and the mistakes that must not compile.

import { type Op, sleep, spin, until } from 'polyphony'
import {
  type Awaitable,
  type Executor,
  type Future,
  type Handler,
  Proco,
  type ProcoOptions,
  type ProcoState,
  type ProcoTemplate,
  type Work,
} from 'polyphony/proco'
import { expectType } from './equal.js'

spin(function* () {
  // ---- the mode comes from the options

  expectType<Executor<string, number, 'item'>>()(Proco.new<string, number>())
  expectType<Executor<string, number, 'item'>>()(new Proco<string, number>())
  expectType<Executor<string, number, 'item'>>()(new Proco<string, number>({ threads: 2 }))
  expectType<Executor<string, number, 'item'>>()(new Proco<string, number>({ batch: false }))
  expectType<Executor<string, number, 'batch'>>()(new Proco<string, number>({ batch: true }))
  expectType<Executor<string, number, 'batch'>>()(new Proco<string, number>({ batch: true, batchSize: 9 }))
  expectType<Executor<string, number, 'each'>>()(new Proco<string, number>({ batch: true, results: 'each' }))
  expectType<Executor<string, number, 'batch'>>()(
    new Proco<string, number>({ batch: true, results: 'shared' }),
  )

  expectType<ProcoTemplate<false, 'shared'>>()(
    Proco.threads(1).queues(1).queueSize(1).interval(1).batchSize(1),
  )
  expectType<ProcoTemplate<true, 'shared'>>()(Proco.batch(true))
  expectType<ProcoTemplate<true, 'each'>>()(Proco.batch(true).results('each'))
  expectType<ProcoTemplate<true, 'each'>>()(Proco.results('each').logger(console).batch(true))
  expectType<Executor<string, number, 'batch'>>()(Proco.batch(true).threads(2).new<string, number>())
  expectType<Executor<string, number, 'each'>>()(Proco.results('each').batch(true).new<string, number>())

  // ---- options given to new() override the chain

  expectType<Executor<string, number, 'batch'>>()(Proco.threads(2).new<string, number>({ batch: true }))
  expectType<Executor<string, number, 'item'>>()(Proco.batch(true).new<string, number>({ batch: false }))
  expectType<Executor<string, number, 'each'>>()(Proco.results('each').new<string, number>({ batch: true }))
  expectType<Executor<string, number, 'each'>>()(Proco.new<string, number>({ batch: true, results: 'each' }))
  expectType<Executor<string, number, 'batch'>>()(Proco.batch(true).new<string, number>({ threads: 2 }))

  // ---- the handler is given items of the right type, and its result is that of submit

  const typed = Proco.new<string, number>()
  typed.start((item, work) => {
    expectType<string>()(item)
    expectType<Work>()(work)
    expectType<AbortSignal>()(work.signal)
    return item.length
  })
  expectType<Awaitable<number>>()(typed.submit('text'))
  expectType<number>()(yield* typed.submit('text'))
  expectType<Awaitable<Future<number>>>()(typed.submitAsync('text'))
  expectType<Future<number>>()(yield* typed.submitAsync('text'))
  expectType<Future<number> | undefined>()(typed.trySubmit('text'))
  expectType<number>()(yield* (yield* typed.submitAsync('text')).get())
  expectType<void>()(yield* typed.exit())
  expectType<void>()(typed.kill())
  expectType<ProcoState>()(typed.state)

  typed.start(function* (item) {
    expectType<string>()(item)
    yield* sleep(1)
    return item.length
  })
  typed.start(async (item) => item.length)
  typed.start((item) => until(Promise.resolve(item.length)))
  typed.start(() => 1)

  const batches = Proco.batch(true).new<string, number>()
  batches.start((items) => {
    expectType<string[]>()(items)
    return items.length
  })
  batches.start(function* (items) {
    yield* sleep(1)
    return items.length
  })
  expectType<number>()(yield* batches.submit('text'))

  const each = Proco.batch(true).results('each').new<string, number>()
  each.start((items) => {
    expectType<string[]>()(items)
    return items.map((text) => (text === '' ? new Error('empty') : text.length))
  })
  each.start(function* (items) {
    yield* sleep(1)
    return items.map((text) => text.length)
  })
  each.start(async (items) => items.map((text) => text.length))
  expectType<number>()(yield* each.submit('text'))

  // ---- without type arguments, start() tells

  const plain = Proco.new().start((n: number) => `${n}`)
  expectType<Executor<number, string, 'item'>>()(plain)
  expectType<string>()(yield* plain.submit(1))
  const inFiber = Proco.new().start(function* (n: number) {
    yield* sleep(1)
    return [n]
  })
  expectType<number[]>()(yield* inFiber.submit(1))
  const inAsync = Proco.new().start(async (n: number) => n > 1)
  expectType<boolean>()(yield* inAsync.submit(1))
  const byOp = Proco.new().start((n: number) => until(Promise.resolve({ n })))
  expectType<{ n: number }>()(yield* byOp.submit(1))
  const nothing = Proco.new().start((_: number) => {})
  expectType<void>()(yield* nothing.submit(1))
  const shared = Proco.batch(true)
    .new()
    .start((items: number[]) => new Set(items))
  expectType<Set<number>>()(yield* shared.submit(1))
  const dealt = Proco.batch(true)
    .results('each')
    .new()
    .start((items: number[]) => items.map((n) => (n > 0 ? `${n}` : new RangeError('below'))))
  expectType<string>()(yield* dealt.submit(1))
  const dealtLater = Proco.batch(true)
    .results('each')
    .new()
    .start(async (items: number[]) => items.map((n) => n * 2))
  expectType<number>()(yield* dealtLater.submit(1))
  const chained = Proco.new<number, number>().start((n) => n)
  expectType<number>()(yield* chained.submit(1))

  // ---- handlers written elsewhere

  const handler: Handler<string, number> = (text) => text.length
  typed.start(handler)
  const batchHandler: Handler<string, number, 'batch'> = function* (items) {
    yield* sleep(1)
    return items.length
  }
  batches.start(batchHandler)
  const eachHandler: Handler<string, number, 'each'> = async (items) => items.map(() => new Error('none'))
  each.start(eachHandler)

  // ---- both ways to wait

  const op: Op<number> = typed.submit('text')
  const promiseLike: PromiseLike<number> = typed.submit('text')
  expectType<Promise<string>>()(typed.submit('text').then((n) => `${n}`))
  expectType<Promise<number | undefined>>()(typed.submit('text').catch(() => undefined))
  expectType<Promise<number>>()(typed.submit('text').finally(() => {}))
  const options: ProcoOptions = { threads: 1, queues: 1, queueSize: 1, interval: 0, batchSize: 1, name: 'x' }
  return [op, promiseLike, options]
})

async function inAsyncCode(): Promise<void> {
  await using proco = Proco.new().start((n: number) => `${n}`)
  expectType<string>()(await proco.submit(1))
  const future = await proco.submitAsync(1)
  expectType<Future<string>>()(future)
  expectType<Future<string>>()(await future)
  expectType<string>()(await future.get())
  expectType<void>()(await proco.exit())
  expectType<[string, string]>()(await Promise.all([proco.submit(1), proco.submit(2)]))
}

function* mistakes() {
  const typed = Proco.new<string, number>()
  // @ts-expect-error: no item of this executor
  typed.submit(1)
  // @ts-expect-error: an item is missing
  typed.submit()
  // @ts-expect-error: the result is another
  typed.start(() => 'text')
  // @ts-expect-error: the result of the promise is another
  typed.start(async () => 'text')
  // @ts-expect-error: it gets text
  typed.start((n: number) => n)
  // @ts-expect-error: a star is missing
  typed.start(function* () {
    yield sleep(1)
    return 1
  })
  // @ts-expect-error: an async generator
  typed.start(async function* () {
    yield 1
  })
  // @ts-expect-error: no handler
  typed.start()
  const batches = Proco.batch(true).new<string, number>()
  // @ts-expect-error: it gets an array
  batches.start((text: string) => text.length)
  const each = Proco.batch(true).results('each').new<string, number>()
  // @ts-expect-error: it has to return an array
  each.start((items) => items.length)
  // @ts-expect-error: it has to return an array of numbers
  each.start((items) => items)
  // @ts-expect-error: the array of the promise as well
  each.start(async (items) => items)

  // @ts-expect-error: no such option
  Proco.thread(1)
  // @ts-expect-error: no such option
  new Proco({ thread: 1 })
  // @ts-expect-error: no such option
  Proco.threads(1).new({ queue_size: 1 })
  // @ts-expect-error: not a number
  Proco.threads('1')
  // @ts-expect-error: true or false
  Proco.batch(1)
  // @ts-expect-error: shared or each
  Proco.results('all')
  // @ts-expect-error: a logger has four functions
  Proco.logger({ info() {} })
  // @ts-expect-error: each item has its own result anyway
  new Proco({ results: 'each' as const, batch: 'no' })
  // @ts-expect-error: no such option of an item
  typed.submit('text', { timout: 1 })
  // @ts-expect-error: a signal, not its controller
  typed.submit('text', { signal: new AbortController() })

  const future = yield* typed.submitAsync('text')
  // @ts-expect-error: a future is not thenable
  future.then()
  // @ts-expect-error: nor an op
  yield* future
  // @ts-expect-error: nobody sets the state
  future.state = 'done'
  // @ts-expect-error: nor this one
  typed.state = 'idle'
}

export { inAsyncCode, mistakes }

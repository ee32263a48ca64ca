// Futures: lazy, not thenable; and ops that are yielded and awaited both.

import { createHook } from 'node:async_hooks'
import { inspect } from 'node:util'
import { Proco } from 'polyphony/proco'
import { assert, type Op, run, sleep, spin, test, thrownBy, turns, until } from '../prelude.js'
import { type Any, type Futures, slow, states } from './handlers.js'

test('queued, running, and one of done, failed, cancelled; the console shows it', function* () {
  const proco: Any = Proco.new().start(function* (n: number) {
    yield* sleep(10)
    if (n === 2) throw new Error('two')
  })
  const futures: Futures = [1, 2, 3].map((n) => proco.trySubmit(n)!)
  const shown = () => futures.map((future) => inspect(future).replace(/^Future \{ (.*) \}$/, '$1')).join(' ')
  for (const expected of ['queued queued queued', 'running queued queued', 'done running queued']) {
    assert.deepEqual([states(futures), shown()], [expected, expected])
    yield* sleep(expected.startsWith('queued') ? 5 : 10)
  }
  assert.equal(states(futures), 'done failed running')
  futures[2]!.cancel()
  assert.equal(shown(), 'done failed cancelled')
  assert.ok(futures.every(({ done }) => done))
  assert.equal(inspect(proco), 'Proco { running }')
})

test('a fiber that leaves keeps no place in the line for an outcome', function* () {
  const proco: Any = Proco.new().start(() => sleep(10))
  const future = proco.trySubmit(1)!
  const waiters = [1, 2, 3].map(() => spin(() => future.get()))
  yield* sleep(1)
  for (const waiter of waiters) yield* waiter.stop()
  assert.deepEqual([(future as any).waiter, (future as any).line.size], [null, 0])
  yield* proco.exit()
})

test('no promise is made until async code looks', function* () {
  let promises = 0
  const hook = createHook({ init: (_, type) => void (promises += type === 'PROMISE' ? 1 : 0) })
  const proco: Any = Proco.new().start((n) => n)
  hook.enable()
  const future = yield* proco.submitAsync(1)
  assert.deepEqual([yield* future.get(), yield* proco.submit(2), promises], [1, 2, 0])
  future.get().then(() => {})
  hook.disable()
  assert.notEqual(promises, 0)
})

test('fibers and async code get the same outcome, whichever asks first', async () => {
  for (const fail of [false, true]) {
    let finish!: () => void
    const proco: Any = Proco.new().start(
      () => new Promise((resolve, reject) => (finish = () => (fail ? reject : resolve)('outcome'))),
    )
    const future = await proco.submitAsync(1)
    assert.equal(await (future as unknown), future) // not thenable
    const caught = () => future.get().catch((error: unknown) => error)
    const inFiber = () => run(() => (fail ? thrownBy(future.get()) : future.get()) as Op<unknown>)
    const answers = [caught(), inFiber(), caught(), inFiber()]
    await turns()
    finish()
    for (const answer of [...answers, caught(), inFiber()]) assert.equal(await answer, 'outcome')
    await proco.exit()
  }
})

test('one op may be yielded and awaited: it is one submission', function* () {
  const { proco, log } = slow(5, Proco.queueSize(1).new())
  const op = proco.submit('a')
  const promise = op.then((text: string) => text)
  yield* sleep(1)
  assert.deepEqual([yield* op, yield* until(promise)], ['a!', 'a!'])
  const other = proco.submit('b')
  const fiber = spin(() => other)
  yield* sleep(1)
  proco.trySubmit('c')
  const blocked = proco.submitAsync('d')
  const accepted = blocked.then((future) => future)
  assert.deepEqual([yield* until(other), yield* fiber], ['b!', 'b!'])
  const future = yield* blocked
  assert.equal(yield* until(accepted), future)
  assert.equal(yield* future.get(), 'd!')
  assert.equal(log.filter((line) => line.startsWith('begin')).join(), 'begin a,begin b,begin c,begin d')
})

test('an op in a fiber has then, catch and finally, as a promise has', function* () {
  const proco: Any = Proco.new().start((n: number) => (n < 0 ? Promise.reject(new RangeError('below')) : n))
  const ops = [1, -1, 3, -2].map((n) => proco.submit(n))
  let ended = 0
  assert.equal(Object.prototype.toString.call(ops[0]), '[object Awaitable]')
  assert.equal(yield* until(ops[0]!.then((n: number) => n + 1)), 2)
  assert.equal(yield* until(ops[1]!.catch((error: Error) => error.message)), 'below')
  assert.equal(yield* until(ops[2]!.finally(() => ended++)), 3)
  assert.ok((yield* thrownBy(until(ops[3]!.finally(() => ended++)))) instanceof RangeError)
  assert.equal(ended, 2)
})

test('a failed item that is not looked at is no unhandled rejection; a promise of submit is', async () => {
  const unhandled: unknown[] = []
  const listeners = process.listeners('unhandledRejection')
  process.removeAllListeners('unhandledRejection').on('unhandledRejection', (error) => unhandled.push(error))
  try {
    const proco: Any = Proco.new().start((n) => Promise.reject(n))
    const future = await proco.submitAsync(1)
    proco.trySubmit(2)
    proco.submit(3)
    await proco.exit()
    await turns(2)
    assert.equal(future.state, 'failed')
  } finally {
    process.removeAllListeners('unhandledRejection')
    for (const listener of listeners) process.on('unhandledRejection', listener)
  }
  assert.deepEqual(unhandled, [3])
})

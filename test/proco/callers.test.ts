// Handlers that are async functions: they cannot be stopped, so what becomes of their place, their answers and their errors.

import { Killed, Proco } from 'polyphony/proco'
import { assert, leaks, mock, runtime, sleep, spin, test, thrownBy, turns } from '../prelude.js'
import { type Any, type Futures, tally } from './handlers.js'

const never = () => new Promise<never>(() => {})

test('a killed one may still answer, or fail: the next run is untouched, and no rejection is unhandled', async () => {
  const calls: { resolve(text: string): void; reject(error: Error): void }[] = []
  const handler = async () => await new Promise((resolve, reject) => calls.push({ resolve, reject }))
  const proco: Any = new Proco({ threads: 2 }).start(handler)
  const old: Futures = ['a', 'b'].map((item) => proco.trySubmit(item)!)
  await turns()
  proco.kill()
  proco.start(handler)
  const future = proco.trySubmit('c')!
  await turns()
  calls[0]!.resolve('late')
  calls[1]!.reject(new Error('late'))
  await turns()
  assert.equal(tally(proco), '1 accepted, 1 running')
  calls[2]!.resolve('c!')
  assert.equal(await future.get(), 'c!')
  for (const each of old) await assert.rejects(each.get(), Killed)
  await proco.exit()
})

test('of a killed executor with many items nothing is left', async () => {
  const before = leaks()
  const proco: Any = new Proco({ threads: 4 }).start(async () => await never())
  const futures: Futures = Array.from({ length: 100 }, (_, n) => proco.trySubmit(n)!)
  await turns()
  proco.kill()
  assert.ok(futures.every(({ state }) => state === 'cancelled'))
  assert.equal(tally(proco), '100 accepted, 100 cancelled') // no place is taken, though promises are open
  await proco[Symbol.asyncDispose]()
  assert.deepEqual(leaks(), before)
})

const unreadable = Object.defineProperty({}, 'then', { get: () => assert.fail('then') })
const proxies: [what: string, mocked: () => unknown, outcome: unknown][] = [
  ['throws', () => assert.fail('mocked'), 'failed mocked'],
  ['returns a plain value', () => 7, 7],
  ['returns what cannot be awaited', () => unreadable, 'failed then'],
]
for (const [what, mocked, outcome] of proxies) {
  test(`a proxy of an async function, as mocks are, that ${what}`, function* () {
    const proco: Any = Proco.new().start(mock.fn(async () => {}, mocked as () => any))
    for (let n = 0; n < 2; n++) {
      const future = yield* proco.submitAsync(n)
      yield* sleep(1)
      const isFailed = future.state === 'failed'
      const got = isFailed ? `failed ${(yield* thrownBy(future.get())).message}` : yield* future.get()
      assert.equal(got, outcome)
    }
    yield* proco.exit()
    assert.equal(runtime().external, 0)
  })
}

test('one that never settles leaves nothing behind when its owner is left without its host', function* () {
  const before = runtime().external
  const proco: Any = Proco.new()
  const owner = spin(function* () {
    proco.start(async () => await never())
    proco.trySubmit(1)
    yield* sleep(1)
    for (const root of runtime().roots) if (root.name === 'proco') root.stop()
    yield* sleep()
  })
  yield* sleep(5)
  yield* owner.stop()
  const ended = [proco.state, runtime().external, tally(proco)]
  assert.deepEqual(ended, ['idle', before, '1 accepted, 1 cancelled'])
})

// Debug mode: a forgotten yield* is found also where one op serves all who wait, and nothing else is taken for one.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  Condition,
  Event,
  Fiber,
  Mutex,
  type Op,
  Queue,
  ResourcePool,
  Semaphore,
  sleep,
  spin,
  Throttler,
} from 'polyphony'
import { virtual } from 'polyphony/testing'
import { setDebug } from '#core/debug'

/** What a body has made and not waited for, by the reports of debug mode. */
function forgotten(body: () => unknown): Promise<string[]> {
  setDebug(true)
  return virtual(function* () {
    yield* spin({ name: 'careless' }, body as () => any)
    const { reports } = (Fiber.current as any).runtime.backend
    return reports
      .filter(({ kind }: any) => kind === 'floating')
      .map(({ message }: any) => message.split(' was made')[0] as string)
  }).finally(() => setDebug(false))
}

const waits: [string, () => Op<unknown>][] = [
  ['mutex.lock()', () => new Mutex().lock()],
  ['mutex.synchronize()', () => new Mutex().synchronize(() => 1)],
  ['semaphore.acquire()', () => new Semaphore(1).acquire()],
  ['semaphore.acquire()', () => new Semaphore(1).acquire(() => 1)],
  ['queue.push()', () => new Queue().push(1)],
  ['queue.shift()', () => new Queue().shift()],
  ['the next item of queue', () => new Queue().iterate().next()],
  ['condition.wait()', () => new Condition().wait()],
  ['event.await()', () => new Event().await()],
  ['acquire() of a pool', () => new ResourcePool({ limit: 1, create: () => 1 }).acquire(() => 1)],
  ['fill() of a pool', () => new ResourcePool({ limit: 1, create: () => 1 }).fill()],
  ['close() of a pool', () => new ResourcePool({ limit: 1, create: () => 1 }).close()],
  ['a throttler, once in 10 ms', () => new Throttler(100).wait()],
  ['process()', () => new Throttler(100).process(() => 1)],
]
for (const [what, make] of waits) {
  test(`a forgotten yield* is found: ${what}`, async () => {
    assert.deepEqual(await forgotten(() => void make()), [what])
  })
}

test('what is waited for is not reported, nor the making of a lock', async () => {
  const found = await forgotten(function* () {
    const mutex = new Mutex()
    const semaphore = new Semaphore(1)
    const queue = new Queue<number>({ capacity: 1 })
    const event = new Event()
    const condition = new Condition(mutex)
    spin(function* () {
      yield* sleep(1)
      yield* mutex.synchronize(() => condition.signal())
      event.signal()
    })
    yield* mutex.synchronize(() => condition.wait())
    yield* semaphore.acquire(() => semaphore.available)
    yield* semaphore.acquire()
    yield* queue.push(1)
    yield* queue.shift()
    yield* event.await()
    const pool = new ResourcePool({ limit: 1, create: () => 1, destroy: () => {} })
    yield* pool.fill()
    yield* pool.acquire(() => pool.acquire((n) => n))
    yield* pool.close()
    const throttler = new Throttler(100)
    yield* throttler.wait()
    yield* throttler.process(() => 1)
  })
  assert.deepEqual(found, [])
})

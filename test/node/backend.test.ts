// Node's timers under the backend. These are the only tests in the process of a test file that wait for the real clock. What they
// assert holds on a machine of any speed: lower bounds, and what a timer does when it comes.

import { AsyncLocalStorage } from 'node:async_hooks'
import {
  assert,
  cancelAfter,
  describe,
  leaks,
  moveOnAfter,
  ResourcePool,
  run,
  sleep,
  Throttler,
  test,
  turns,
  until,
} from '../prelude.js'

describe('time on Node', () => {
  test('a sleep takes at least as long as it says', async () => {
    const begin = performance.now()
    await run(() => sleep(20))
    assert.ok(performance.now() - begin >= 20)
  })

  test('time limits expire', async () => {
    assert.equal(await run(() => moveOnAfter(5, () => sleep(), 'moved on')), 'moved on')
    await assert.rejects(
      run(() => cancelAfter(5, () => sleep(), 'no answer')),
      /no answer/,
    )
  })

  test('a fiber in the line of a throttler holds the process, and leaves no timer behind', async () => {
    const before = leaks().timers
    const throttler = new Throttler({ interval: 5 })
    const begin = performance.now()
    await run(function* () {
      yield* throttler.wait()
      yield* throttler.wait()
    })
    assert.ok(performance.now() - begin >= 5)
    assert.equal(leaks().timers, before)
  })

  test('the end of an idle resource does not hold the process, though a time limit had a timer before', async () => {
    const held = () => process.getActiveResourcesInfo().filter((each) => each === 'Timeout').length
    const before = held()
    const pool = new ResourcePool({ limit: 1, create: () => 'it', idleTimeout: 60_000 })
    await run(function* () {
      yield* moveOnAfter(3_600_000, () => until(turns()))
      yield* until(turns())
      yield* pool.acquire(() => {})
      yield* until(turns())
    })
    assert.equal(held(), before)
    await run(() => pool.close())
  })

  test('a fiber that a timer has woken is in its own async context', async () => {
    const storage = new AsyncLocalStorage<string>()
    const sleeper = (name: string) =>
      storage.run(name, () =>
        run(
          function* () {
            yield* sleep(5)
            return storage.getStore()
          },
          { context: true },
        ),
      )
    const plain = run(function* () {
      yield* sleep(5)
      return storage.getStore()
    })
    assert.deepEqual(await Promise.all([sleeper('one'), sleeper('two'), plain]), ['one', 'two', undefined])
  })
})

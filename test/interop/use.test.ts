// use: what may be disposed of, what its cleanup may do, and stops that come while it runs.

import {
  all,
  assert,
  describe,
  Fiber,
  failing,
  forEach,
  now,
  type Op,
  Queue,
  race,
  scope,
  sleep,
  snooze,
  spin,
  started,
  supervise,
  turns,
  use,
  waits,
} from '../prelude.js'
import { take, test } from './outside.js'

describe('use', () => {
  test('asyncDispose is waited for, and comes before dispose; an op that it gives is waited for as one', function* () {
    const log: string[] = []
    const dispose = () => void log.push('dispose')
    yield* scope(function* () {
      yield* use({ [Symbol.dispose]: dispose })
      yield* use({
        [Symbol.asyncDispose]: () => turns().then(() => void log.push('asyncDispose')),
        [Symbol.dispose]: () => assert.fail('both'),
      })
      yield* use({ [Symbol.asyncDispose]: () => waits(() => log.push('op'), 5) as unknown as Promise<void> })
      assert.deepEqual([yield* use(null), yield* use(undefined)], [null, undefined])
    })
    assert.deepEqual([log, now()], [['op', 'asyncDispose', 'dispose'], 5])
  })

  test('S41 a restarted fiber disposes of what it held before it runs anew', function* () {
    const log: string[] = []
    const fiber = yield* started(function* () {
      yield* take(`r${Fiber.current.incarnation}`, log, 5)
      yield* sleep(10)
    })
    fiber.restart()
    yield* fiber
    assert.deepEqual(log, ['closing r1', 'closed r1', 'closing r2', 'closed r2'])
  })

  test('S17 its cleanup may wait for new work, as that of ensure', function* () {
    const queue = new Queue<string>()
    const got: unknown[] = []
    const fiber = yield* started(function* () {
      yield* use('x', function* () {
        got.push(yield* queue.shift())
      })
      yield* sleep()
    })
    fiber.stop()
    yield* sleep(1)
    queue.tryPush('last words')
    yield* fiber.join()
    assert.deepEqual(got, ['last words'])
  })

  test('S06 its cleanup may spin and use what spins, however the fiber has ended', function* () {
    const disposers: (() => Op<unknown>)[] = [
      () => all([() => sleep(5), () => 2]),
      () => race([() => sleep(5), () => sleep(2)]),
      () => forEach([1, 2, 3], () => sleep(1), { concurrency: 2 }),
      () => scope(() => void spin(() => sleep(3))),
      () => supervise([{ body: () => sleep(4) }]),
      () => spin(() => sleep(3)),
    ]
    const endings = { value: () => snooze(), stopped: () => sleep(), error: () => failing('failed') }
    for (const [expected, ending] of Object.entries(endings)) {
      let whole = 0
      const fiber = yield* started(function* () {
        for (const dispose of disposers) {
          yield* use(0, function* () {
            yield* dispose()
            whole++
          })
        }
        yield* ending()
      })
      if (expected === 'stopped') fiber.stop()
      assert.deepEqual([(yield* fiber.join()).type, whole], [expected, disposers.length])
    }
  })

  test('S22 a child of a cleanup that fails makes its fiber fail, and the other cleanups run', function* () {
    const log: string[] = []
    const fiber = spin({ link: false }, function* () {
      yield* use('first', () => void log.push('first'))
      yield* use('second', function* () {
        spin(() => assert.fail('child of the cleanup'))
        yield* sleep(5)
        log.push('never')
      })
    })
    const outcome = yield* fiber.join()
    assert.equal(outcome.type === 'error' && (outcome.error as Error).message, 'child of the cleanup')
    assert.deepEqual(log, ['first'])
  })
})

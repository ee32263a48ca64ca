// use: what may be disposed of, what its cleanup may do, and stops that come while it runs.

import {
  all,
  assert,
  describe,
  ensure,
  Fiber,
  forEach,
  now,
  type Op,
  Queue,
  race,
  scope,
  sleep,
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

  test('S21 a kill while a fiber disposes ends the waiting at once, a stop leaves it its grace', function* () {
    const log: string[] = []
    const holds = () =>
      started(function* () {
        yield* take('a', log, 1000)
        return 'value'
      })
    const [killed, stopped] = [yield* holds(), yield* holds()]
    const start = now()
    assert.deepEqual([yield* killed.kill(), now()], [{ type: 'value', value: 'value' }, start])
    assert.deepEqual([(yield* stopped.stop(undefined, { grace: 20 })).type, now()], ['value', start + 20])
    assert.deepEqual(log, ['closing a', 'closing a'])
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
    const got: unknown[] = []
    const queue = new Queue<string>()
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

  const disposers: Record<string, () => Op<unknown>> = {
    all: () => all([() => sleep(5), () => 2]),
    race: () => race([() => sleep(5), () => sleep(2)]),
    forEach: () => forEach([1, 2, 3], () => sleep(1), { concurrency: 2 }),
    scope: () => scope(() => void spin(() => sleep(3))),
    supervise: () => supervise([{ body: () => sleep(4) }]),
    spin: () => spin(() => sleep(3)),
  }
  for (const [name, dispose] of Object.entries(disposers)) {
    test(`S06 its cleanup may use ${name}, however the fiber has ended`, function* () {
      const log: string[] = []
      function* user(ending: string) {
        yield* use(ending, () => void log.push(ending))
        yield* use(ending, () => ensure(dispose, () => log.push(ending)))
        if (ending === 'stopped') yield* sleep()
        if (ending === 'failed') throw new Error('failed')
      }
      const fibers = ['returned', 'stopped', 'failed'].map((ending) => spin({ link: false }, user, ending))
      yield* sleep(1)
      fibers[1]?.stop()
      const types: string[] = []
      for (const fiber of fibers) types.push((yield* fiber.join()).type)
      assert.deepEqual(types, ['value', 'stopped', 'error'])
      assert.deepEqual(log.sort().join(), 'failed,failed,returned,returned,stopped,stopped')
    })
  }

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

  test('S19 a killed fiber waits for the children of a cleanup that was forced, and begins the others', function* () {
    const log: string[] = []
    const fiber = yield* started(function* () {
      yield* use('first', () => void log.push('first'))
      yield* use('second', function* () {
        spin(() => waits(() => log.push('child')))
        yield* sleep()
      })
    })
    assert.equal((yield* fiber.kill()).type, 'value')
    assert.deepEqual(log.sort(), ['child', 'first'])
  })
})

// Waiting for time to pass, and running a body later.

import { after, assert, describe, Fiber, moveOnAfter, now, sleep, spin, test } from '../prelude.js'
import { anOp } from '../shared/op.js'

describe('sleep', () => {
  anOp('sleep()', () => sleep(10))

  test('takes exactly as long as it says; 0 takes no time, and lets others run', function* () {
    yield* sleep(250)
    assert.equal(now(), 250)
    yield* sleep(0.5)
    const other = spin(() => 'has run')
    yield* sleep(0)
    assert.deepEqual([now(), other.state], [250.5, 'dead'])
  })

  test('without a number waits until it is stopped; a stop ends either at once', function* () {
    const sleepers = [spin(() => sleep()), spin(() => sleep(2_000_000))]
    assert.equal(yield* moveOnAfter(1_000_000, () => sleep(), 'over'), 'over')
    assert.equal(now(), 1_000_000)
    assert.deepEqual(
      sleepers.map(({ waitsFor }) => waitsFor),
      ['sleep()', 'sleep(2000000)'],
    )
    for (const sleeper of sleepers) {
      assert.deepEqual(yield* sleeper.stop('early'), { type: 'stopped', value: 'early' })
    }
    assert.equal(now(), 1_000_000)
  })
})

describe('after', () => {
  test('runs its body later, in a child; not if that is stopped before', function* () {
    const fiber = after(100, () => now())
    const stopped = after(100, () => assert.fail('it was stopped'))
    assert.equal(fiber.parent, Fiber.current)
    yield* sleep(50)
    yield* stopped.stop()
    assert.equal(yield* fiber, 100)
    assert.equal(yield* after(1, () => after(2, now)), 103)
  })
})

test('sleep(Infinity) waits for ever, as sleep() does', function* () {
  assert.equal(yield* moveOnAfter(1e9, () => sleep(Infinity), 'for ever'), 'for ever')
})

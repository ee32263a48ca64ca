// How long to wait before something is tried again.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type BackoffOptions, BadArgument } from 'polyphony'
import { readBackoff } from '#time/backoff'

const waits = (options: BackoffOptions, tries = [1, 2, 3, 4]) => tries.map(readBackoff(options, 'test()'))

test('no wait unless told, a steady one, a growing one, or what a function says', () => {
  assert.deepEqual(waits({}), [0, 0, 0, 0])
  assert.deepEqual(waits({ backoff: 50 }), [50, 50, 50, 50])
  assert.deepEqual(waits({ backoff: { delay: 10 } }), [10, 20, 40, 80])
  assert.deepEqual(waits({ backoff: { delay: 10, factor: 1.5 } }), [10, 15, 22.5, 33.75])
  assert.deepEqual(waits({ backoff: { delay: 10, max: 30 } }), [10, 20, 30, 30])
  assert.deepEqual(waits({ backoff: { delay: 10, factor: 1, max: Infinity } }), [10, 10, 10, 10])
  assert.deepEqual(waits({ backoff: (failures) => failures ** 2 }), [1, 4, 9, 16])
})

test('waits that grow without a limit stay what a timer can hold', () => {
  const day = 24 * 60 * 60 * 1000
  assert.deepEqual(waits({ backoff: { delay: 1000 } }, [100, 10_000]), [day, day])
  assert.deepEqual(waits({ backoff: { delay: 0 } }, [1, 10_000]), [0, 0])
  assert.deepEqual(waits({ backoff: { delay: 1, max: Infinity } }, [10_000]), [day])
})

test('jitter makes waits shorter, by at most so much, and never longer', () => {
  const many = Array.from({ length: 1000 }, (_, i) => i + 1)
  for (const jitter of [0.25, 1]) {
    const found = waits({ backoff: 100, jitter }, many)
    assert.ok(found.every((ms) => ms <= 100 && ms >= 100 * (1 - jitter)))
    assert.ok(Math.min(...found) < 100 * (1 - 0.9 * jitter) && Math.max(...found) > 100 * (1 - 0.1 * jitter))
  }
  assert.deepEqual(new Set(waits({ backoff: 100, jitter: 0 }, many)), new Set([100]))
})

test('wrong ones are refused by name', () => {
  const refused = (options: unknown, message: RegExp) =>
    assert.throws(
      () => waits(options as BackoffOptions),
      (error) => error instanceof BadArgument && message.test(error.message),
    )
  refused(
    { backoff: 'long' },
    /the backoff of test\(\) is a number of milliseconds, \{delay, factor, max\} or a function/,
  )
  refused({ backoff: null }, /is a number of milliseconds/)
  refused({ backoff: -5 }, /the backoff of test\(\) needs a duration/)
  refused({ backoff: {} }, /the delay in the backoff of test\(\) needs a duration.* got undefined/)
  refused({ backoff: { delay: 5, min: 1 } }, /has no option "min"; there are: delay, factor, max/)
  refused({ backoff: { delay: 5, factor: 0.5 } }, /needs a factor of 1 or more, got 0.5/)
  refused({ backoff: { delay: 5, max: -1 } }, /the max in the backoff/)
  refused({ backoff: () => 'soon' }, /the backoff of test\(\) needs a duration .* got "soon"/)
  for (const jitter of [-0.1, 1.1, '1', Number.NaN]) refused({ jitter }, /needs a jitter from 0 to 1/)
})

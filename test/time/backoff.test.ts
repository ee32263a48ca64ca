// How long to wait before something is tried again.

import { readBackoff } from '#time/backoff'
import { assert, type BackoffOptions, test } from '../prelude.js'

const delays = (options: BackoffOptions, tries = [1, 2, 3, 4]) => tries.map(readBackoff(options, 'test()'))
const day = 24 * 60 * 60 * 1000

const rows: [what: string, options: BackoffOptions, expected: number[], tries?: number[]][] = [
  ['none', {}, [0, 0, 0, 0]],
  ['a number', { backoff: 50 }, [50, 50, 50, 50]],
  ['a delay', { backoff: { delay: 10 } }, [10, 20, 40, 80]],
  ['a factor', { backoff: { delay: 10, factor: 1.5 } }, [10, 15, 22.5, 33.75]],
  ['a max', { backoff: { delay: 10, max: 30 } }, [10, 20, 30, 30]],
  ['no growth', { backoff: { delay: 10, factor: 1, max: Infinity } }, [10, 10, 10, 10]],
  ['a function', { backoff: (failures) => failures ** 2 }, [1, 4, 9, 16]],
  ['no limit: a day is the longest', { backoff: { delay: 1000 } }, [day, day], [100, 10_000]],
  ['an endless max: a day too', { backoff: { delay: 1, max: Infinity } }, [day], [10_000]],
  ['a delay of 0, which stays 0', { backoff: { delay: 0 } }, [0, 0], [1, 10_000]],
]
for (const [what, options, expected, tries] of rows) {
  test(`a backoff of ${what}`, () => assert.deepEqual(delays(options, tries), expected))
}

test('jitter makes waits shorter, by at most so much, and never longer', () => {
  const many = Array.from({ length: 1000 }, (_, i) => i + 1)
  for (const jitter of [0.25, 1]) {
    const found = delays({ backoff: 100, jitter }, many)
    assert.ok(found.every((ms) => ms <= 100 && ms >= 100 * (1 - jitter)))
    assert.ok(Math.min(...found) < 100 * (1 - 0.9 * jitter) && Math.max(...found) > 100 * (1 - 0.1 * jitter))
  }
  assert.deepEqual(new Set(delays({ backoff: 100, jitter: 0 }, many)), new Set([100]))
})

// The figures of an executor.

import { Proco } from 'polyphony/proco'
import { Histogram } from '#proco/histogram'
import { assert, sleep, test } from '../prelude.js'
import type { Any } from './handlers.js'

test('before the first start everything is 0', () => {
  const none = { count: 0, mean: 0, max: 0, p50: 0, p99: 0 }
  const counts = { depth: 0, waiting: 0, running: 0, accepted: 0, done: 0, failed: 0, cancelled: 0 }
  assert.deepEqual(Proco.new().stats(), { state: 'idle', ...counts, wait: none, run: none, batchSize: none })
})

test('wait, run and batch sizes, in milliseconds and items; a new start begins at 0', function* () {
  const proco: Any = new Proco({ batch: true }).start(() => sleep(100))
  proco.trySubmit(0)
  yield* sleep(40)
  proco.trySubmit(-1)!.cancel() // how long items wait is measured on one at a time
  for (let n = 0; n < 9; n++) proco.trySubmit(n)
  yield* proco.exit()
  const { wait, run, batchSize, state, done } = proco.stats()
  assert.deepEqual([state, done], ['idle', 10])
  assert.deepEqual(batchSize, { count: 2, mean: 5, max: 9, p50: 1, p99: 9 })
  assert.deepEqual(run, { count: 2, mean: 100, max: 100, p50: 100, p99: 100 })
  assert.deepEqual([wait.count, wait.max, wait.mean], [2, 60, 30])
  proco.start(() => {})
  assert.deepEqual([proco.stats().done, proco.stats().run.count], [0, 0])
  proco.kill()
})

test('run: a slow handler among many quick ones is not missed, and weeks are not too long', function* () {
  const proco: Any = Proco.new().start(function* (ms: number) {
    if (ms > 0) yield* sleep(ms)
  })
  for (let n = 0; n < 100; n++) yield* proco.submit(n === 50 ? 2 ** 31 - 1 : 0)
  const { count, max, p50, p99, mean } = proco.stats().run
  assert.deepEqual([count, max, p50, p99, mean], [100, 2 ** 31 - 1, 0, 0, (2 ** 31 - 1) / 100])
})

test('run: of plain functions that return at once, one in sixteen is timed, and counts for all', function* () {
  const proco: Any = Proco.new().start(() => {})
  for (let n = 0; n < 100; n++) yield* proco.submit(n)
  assert.equal(proco.stats().run.count, 1 + 6 * 16)
})

test('a histogram is right up to 15, at most an eighth too high above, and takes odd values as 0', () => {
  for (const n of [0, 1, 15, 16, 17, 100, 1000, 65_537, 2 ** 31, 1.8 * 2 ** 31]) {
    const histogram = new Histogram()
    for (const value of [n, n, 2 ** 40]) histogram.record(value)
    const { p50 } = histogram.read()
    assert.ok(p50 >= n && p50 <= (n < 16 ? n : n * 1.125), `${p50} for ${n}`)
  }
  const histogram = new Histogram()
  for (const odd of [-1, Number.NaN, -0, 0.9]) histogram.record(odd)
  assert.deepEqual(histogram.read(), { count: 4, mean: 0, max: 0, p50: 0, p99: 0 })
})

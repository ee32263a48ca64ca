// The figures of an executor, and what the console shows.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { inspect } from 'node:util'
import { sleep, spin } from 'polyphony'
import { type Future, Proco } from 'polyphony/proco'
import { virtual } from 'polyphony/testing'
import { thrownBy } from '../prelude.js'
import { addUp } from '../shared/proco.js'

describe('the stats of an executor', () => {
  it('before the first start everything is 0', () => {
    const none = { count: 0, mean: 0, max: 0, p50: 0, p99: 0 }
    assert.deepEqual(Proco.new().stats(), {
      state: 'idle',
      depth: 0,
      waiting: 0,
      running: 0,
      accepted: 0,
      done: 0,
      failed: 0,
      cancelled: 0,
      wait: none,
      run: none,
      batchSize: none,
    })
  })

  it('S78 the counts add up at every moment', () =>
    virtual(function* () {
      const proco = Proco.queueSize(3)
        .threads(2)
        .new<string, void>()
        .start(function* (item) {
          yield* sleep(10)
          if (item === 'fails') throw new Error('x')
        })
      const futures: Future<void>[] = []
      const watcher = spin(function* () {
        for (let n = 0; n < 100; n++) {
          const stats = proco.stats()
          addUp(stats, futures.filter((future) => future.state === 'running').length)
          assert.ok(stats.depth <= 3)
          assert.ok(stats.running <= 2)
          yield* sleep(1)
        }
      })
      const items = ['fine', 'fails', 'cancelled', 'times out', 'fine', 'fails', 'fine', 'times out']
      for (const item of items) {
        const future = yield* proco.submitAsync(item, item === 'times out' ? { timeout: 25 } : undefined)
        futures.push(future)
        if (item === 'cancelled') future.cancel()
      }
      spin(() => thrownBy(proco.submit('killed')))
      spin(() => thrownBy(proco.submit('killed')))
      yield* sleep(1)
      assert.equal(proco.stats().waiting, 2)
      proco.kill()
      const { state, depth, waiting, accepted, done, failed, cancelled } = proco.stats()
      assert.deepEqual([state, depth, waiting], ['idle', 0, 0])
      assert.equal(accepted, done + failed + cancelled)
      assert.ok(done > 0 && failed > 0 && cancelled > 0)
      yield* watcher
    }))

  it('wait, run and batch sizes, in milliseconds and items', () =>
    virtual(function* () {
      const proco = Proco.batch(true)
        .new<number, void>()
        .start(() => sleep(100))
      proco.trySubmit(0)
      yield* sleep(40)
      for (let n = 0; n < 9; n++) proco.trySubmit(n)
      yield* proco.exit()
      const { wait, run, batchSize } = proco.stats()
      assert.deepEqual(
        [batchSize.count, batchSize.mean, batchSize.max, batchSize.p50, batchSize.p99],
        [2, 5, 9, 1, 9],
      )
      assert.deepEqual([run.count, run.mean, run.max], [2, 100, 100])
      assert.ok(run.p50 >= 100 && run.p50 <= 112.5)
      assert.deepEqual([wait.count, wait.max, wait.mean], [2, 60, 30])
    }))

  it('a new start begins at 0; those of the last run stay until then', () =>
    virtual(function* () {
      const proco = Proco.new<number, number>().start((n) => n)
      yield* proco.submit(1)
      yield* proco.exit()
      assert.deepEqual([proco.stats().done, proco.stats().state], [1, 'idle'])
      proco.start((n) => n)
      assert.deepEqual([proco.stats().done, proco.stats().run.count], [0, 0])
      proco.kill()
    }))

  it('the console shows what state things are in', () =>
    virtual(function* () {
      const proco = Proco.new<number, number>()
      assert.equal(inspect(proco), 'Proco { idle }')
      proco.start(function* (n) {
        yield* sleep(1)
        if (n < 0) throw new Error('x')
        return n
      })
      assert.equal(inspect(proco), 'Proco { running }')
      const futures = [1, -1, 2, 3].map((n) => proco.trySubmit(n)!)
      futures[3]!.cancel()
      assert.deepEqual(
        futures.map((future) => inspect(future)),
        ['Future { queued }', 'Future { queued }', 'Future { queued }', 'Future { cancelled }'],
      )
      yield* sleep(0.5)
      assert.equal(inspect(futures[0]), 'Future { running }')
      yield* sleep(5)
      assert.deepEqual(futures.map((future) => inspect(future)).slice(0, 2), [
        'Future { done }',
        'Future { failed }',
      ])
      yield* proco.exit()
    }))

  it('run: a slow one among many quick ones is not missed', () =>
    virtual(function* () {
      const proco = Proco.new<number, number>().start(function* (n) {
        if (n === 50) yield* sleep(10_000)
        return n
      })
      for (let n = 0; n < 100; n++) yield* proco.submit(n)
      const { count, max } = proco.stats().run
      assert.deepEqual([count, max], [100, 10_000])
      yield* proco.exit()
    }))
})

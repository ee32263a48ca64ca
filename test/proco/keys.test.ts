// S79, S80 with several queues: who goes where, and what stays in order.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { scope, sleep, spin } from 'polyphony'
import { Proco } from 'polyphony/proco'
import { virtual } from 'polyphony/testing'
import { thrownBy } from '../prelude.js'
import { clock } from '../time/clock.js'

describe('S80 keys', () => {
  it('items with the same key are handled one after the other, those with others meanwhile', () =>
    virtual(function* () {
      const time = clock()
      const log: [number, string][] = []
      const proco = Proco.threads(3)
        .queues(3)
        .new<string, void>()
        .start(function* (item) {
          log.push([time(), item])
          yield* sleep(10)
        })
      for (const item of ['a0', 'b0', 'a1', 'b1', 'a2'])
        yield* proco.submitAsync(item, { key: item[0] === 'a' ? 1 : 2 })
      yield* proco.exit()
      assert.deepEqual(log.sort(), [
        [0, 'a0'],
        [0, 'b0'],
        [10, 'a1'],
        [10, 'b1'],
        [20, 'a2'],
      ])
    }))

  it('with one queue and many threads a key still means one after the other', () =>
    virtual(function* () {
      const time = clock()
      const log: [number, number][] = []
      const proco = Proco.threads(4)
        .new<number, void>()
        .start(function* (n) {
          log.push([time(), n])
          yield* sleep(10)
        })
      for (const n of [1, 2, 3]) yield* proco.submitAsync(n, { key: 'k' })
      yield* proco.exit()
      assert.deepEqual(log, [
        [0, 1],
        [10, 2],
        [20, 3],
      ])
    }))

  it('in batches: the next batch of a queue with keys begins when the one before has ended', () =>
    virtual(function* () {
      const time = clock()
      const log: [number, string[]][] = []
      const proco = Proco.threads(4)
        .batch(true)
        .batchSize(2)
        .new<string, void>()
        .start(function* (items) {
          log.push([time(), items])
          yield* sleep(10)
        })
      for (const item of ['a', 'b', 'c', 'd', 'e']) proco.trySubmit(item, { key: item })
      yield* proco.exit()
      assert.deepEqual(log, [
        [0, ['a', 'b']],
        [10, ['c', 'd']],
        [20, ['e']],
      ])
    }))

  it('whether the one before succeeds, fails, is cancelled, times out or is stopped: the next one waits for its end', () =>
    virtual(function* () {
      const time = clock()
      const log: [number, string][] = []
      const proco = Proco.threads(4)
        .new<string, void>()
        .start(function* (item) {
          log.push([time(), item])
          if (item === 'fails') throw new Error('x')
          try {
            yield* sleep(100)
          } finally {
            yield* sleep(5)
          }
        })
      const submit = (item: string, options = {}) => proco.trySubmit(item, { key: 'k', ...options })!
      submit('fails')
      const cancelled = submit('cancelled')
      submit('timed out', { timeout: 30 })
      submit('last')
      yield* sleep(10)
      cancelled.cancel()
      yield* sleep(100)
      assert.deepEqual(log, [
        [0, 'fails'],
        [0, 'cancelled'],
        [15, 'timed out'],
        [35, 'last'],
      ])
      proco.kill()
    }))

  it('an item without a key is not held up by its own kind, only by keys in its queue', () =>
    virtual(function* () {
      const time = clock()
      const log: [number, string][] = []
      const proco = Proco.threads(4)
        .new<string, void>()
        .start(function* (item) {
          log.push([time(), item])
          yield* sleep(10)
        })
      proco.trySubmit('free 1')
      proco.trySubmit('free 2')
      proco.trySubmit('keyed', { key: 1 })
      proco.trySubmit('free 3')
      yield* proco.exit()
      assert.deepEqual(log, [
        [0, 'free 1'],
        [0, 'free 2'],
        [0, 'keyed'],
        [10, 'free 3'],
      ])
    }))

  it('the same key, the same queue: equal text and numbers, and the same object or function', () =>
    virtual(function* () {
      const object = {}
      const fn = () => {}
      const symbol = Symbol('s')
      for (const key of ['text', '', 7, -7, 1.5, Number.NaN, 0n, true, null, symbol, object, fn]) {
        const proco = Proco.queues(7)
          .queueSize(1)
          .new<number, void>()
          .start(() => {})
        assert.ok(proco.trySubmit(1, { key }))
        assert.equal(proco.trySubmit(2, { key }), undefined, `${String(key)} was put in another queue`)
        yield* proco.exit()
      }
    }))

  it('keys spread over the queues', () =>
    virtual(function* () {
      for (const make of [
        (n: number) => `user:${n}`,
        (n: number) => n,
        (n: number) => ({ n }),
        (n: number) => -n - 1,
      ]) {
        const proco = Proco.queues(4)
          .queueSize(1)
          .new<number, void>()
          .start(() => {})
        let accepted = 0
        for (let n = 0; n < 50; n++) if (proco.trySubmit(n, { key: make(n) }) !== undefined) accepted++
        assert.equal(accepted, 4)
        yield* proco.exit()
      }
    }))
})

describe('S79 several queues', () => {
  it('items without a key take turns, and pass over a queue that is full', () =>
    virtual(function* () {
      const proco = Proco.queues(3)
        .queueSize(2)
        .new<number, void>()
        .start(() => sleep(1))
      proco.trySubmit(0, { key: 0 })
      proco.trySubmit(0, { key: 0 })
      assert.equal(proco.trySubmit(0, { key: 0 }), undefined)
      const futures = [1, 2, 3, 4].map((n) => proco.trySubmit(n))
      assert.ok(futures.every((future) => future !== undefined))
      assert.equal(proco.trySubmit(5), undefined)
      assert.equal(proco.stats().depth, 6)
      yield* proco.exit()
    }))

  it('queueSize is the size of each', () =>
    virtual(function* () {
      const proco = Proco.queues(3)
        .queueSize(5)
        .new<number, void>()
        .start(() => {})
      let accepted = 0
      while (proco.trySubmit(accepted) !== undefined) accepted++
      assert.equal(accepted, 15)
      yield* proco.exit()
    }))

  it('an item with a key waits for room in its own queue, though others have some', () =>
    virtual(function* () {
      const time = clock()
      const proco = Proco.queues(2)
        .queueSize(1)
        .new<number, number>()
        .start(function* () {
          yield* sleep(10)
          return time()
        })
      proco.trySubmit(1, { key: 0 })
      yield* sleep(1)
      proco.trySubmit(2, { key: 0 })
      assert.equal(proco.trySubmit(3, { key: 0 }), undefined)
      const waiting = spin(() => proco.submit(3, { key: 0 }))
      yield* sleep(1)
      assert.equal(proco.stats().waiting, 1)
      assert.ok(proco.trySubmit(4, { key: 1 }))
      assert.equal(yield* waiting, 40)
      yield* proco.exit()
    }))

  it('exit and kill reach every queue, and everybody who waits for room', () =>
    virtual(function* () {
      for (const end of ['exit', 'kill'] as const) {
        const proco = Proco.queues(3)
          .queueSize(1)
          .new<number, void>()
          .start(() => sleep(10))
        const futures = [0, 1, 2].map((key) => proco.trySubmit(key, { key })!)
        yield* sleep(1) // one is handled now
        futures.push(proco.trySubmit(0, { key: 0 })!)
        yield* scope(function* () {
          for (const key of [0, 1, 2]) spin(() => thrownBy(proco.submitAsync(9, { key })))
          yield* sleep(1)
          assert.equal(proco.stats().waiting, 3)
          if (end === 'kill') proco.kill()
          else yield* proco.exit()
        })
        assert.ok(futures.every((future) => future.done))
        assert.deepEqual([proco.stats().waiting, proco.stats().depth], [0, 0])
      }
    }))
})

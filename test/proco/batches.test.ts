// S81: when a queue is dispatched, and what with. The clock is virtual, so the moments are exact.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { sleep } from 'polyphony'
import { Proco, type ProcoTemplate } from 'polyphony/proco'
import { virtual } from 'polyphony/testing'
import { clock } from '../time/clock.js'

/** Starts an executor in batch mode that notes when it was given what. */
function noting(template: ProcoTemplate<boolean, any>, handling = 0) {
  const time = clock()
  const log: [at: number, given: any][] = []
  const proco = template.new<number, number>({ name: 'mill' } as any) as any
  proco.start(function* (given: unknown) {
    log.push([time(), given])
    if (handling > 0) yield* sleep(handling)
    return given
  })
  return { proco: proco as ReturnType<typeof Proco.new<number, any>>, log, time }
}

describe('S81 without an interval', () => {
  it('a free handler takes what is there and never waits for more', () =>
    virtual(function* () {
      const { proco, log } = noting(Proco.batch(true), 10)
      yield* proco.submitAsync(1)
      yield* sleep(1)
      for (const n of [2, 3, 4]) yield* proco.submitAsync(n)
      yield* sleep(50)
      yield* proco.submitAsync(5)
      yield* proco.exit()
      assert.deepEqual(log, [
        [0, [1]],
        [10, [2, 3, 4]],
        [51, [5]],
      ])
    }))

  it('B6 up to batchSize; free handlers share what is there', () =>
    virtual(function* () {
      const { proco, log } = noting(Proco.batch(true).batchSize(2).threads(2), 10)
      for (const n of [1, 2, 3, 4, 5]) proco.trySubmit(n)
      yield* proco.exit()
      assert.deepEqual(log, [
        [0, [1, 2]],
        [0, [3, 4]],
        [10, [5]],
      ])
    }))

  it('each queue makes its own batches, and they take turns', () =>
    virtual(function* () {
      const { proco, log } = noting(Proco.batch(true).queues(2), 10)
      for (const n of [1, 2, 3, 4]) proco.trySubmit(n)
      yield* sleep(1)
      for (const n of [5, 6]) proco.trySubmit(n)
      yield* proco.exit()
      assert.deepEqual(log, [
        [0, [1, 3]],
        [10, [2, 4, 6]],
        [20, [5]],
      ])
    }))
})

describe('B9 S81 with an interval', () => {
  it('50 ms arrivals, interval 200: batches at 200, 400 and 600 ms of 4, 4 and 2', () =>
    virtual(function* () {
      const { proco, log } = noting(Proco.interval(200).batch(true))
      yield* sleep(10)
      for (let n = 1; n <= 10; n++) {
        yield* proco.submitAsync(n)
        yield* sleep(50)
      }
      yield* sleep(200)
      assert.deepEqual(log, [
        [200, [1, 2, 3, 4]],
        [400, [5, 6, 7, 8]],
        [600, [9, 10]],
      ])
      yield* proco.exit()
    }))

  it('item by item, four items at once: one at each interval, at 100, 200, 300 and 400 ms', () =>
    virtual(function* () {
      const { proco, log } = noting(Proco.interval(100))
      for (const n of [1, 2, 3, 4]) proco.trySubmit(n)
      yield* sleep(500)
      assert.deepEqual(log, [
        [100, 1],
        [200, 2],
        [300, 3],
        [400, 4],
      ])
      yield* proco.exit()
    }))

  it('the first item after an idle time is held until the next whole interval since the last dispatch', () =>
    virtual(function* () {
      const { proco, log } = noting(Proco.interval(100).batch(true))
      yield* sleep(250) // since the start
      proco.trySubmit(1)
      yield* sleep(100)
      assert.deepEqual(log, [[300, [1]]])
      yield* sleep(500 - 350)
      yield* sleep(30)
      proco.trySubmit(2) // at 530
      yield* sleep(100)
      assert.deepEqual(log[1], [600, [2]])
      yield* proco.exit()
    }))

  it('an item that comes exactly at a whole interval waits for the next', () =>
    virtual(function* () {
      const { proco, log } = noting(Proco.interval(100).batch(true))
      yield* sleep(100)
      proco.trySubmit(1)
      yield* sleep(150)
      assert.deepEqual(log, [[200, [1]]])
      yield* proco.exit()
    }))

  it('a queue with batchSize items is dispatched at once, and the interval begins anew', () =>
    virtual(function* () {
      const { proco, log } = noting(Proco.interval(100).batch(true).batchSize(3))
      yield* sleep(50)
      for (const n of [1, 2, 3, 4]) proco.trySubmit(n)
      yield* sleep(200)
      assert.deepEqual(log, [
        [50, [1, 2, 3]],
        [150, [4]],
      ])
      for (const n of [5, 6, 7, 8, 9, 10, 11]) proco.trySubmit(n)
      yield* sleep(150)
      assert.deepEqual(log.slice(2), [
        [250, [5, 6, 7]],
        [250, [8, 9, 10]],
        [350, [11]],
      ])
      yield* proco.exit()
    }))

  it('a queue that is full is dispatched at once, if batchSize is larger than queueSize', () =>
    virtual(function* () {
      const { proco, log } = noting(Proco.interval(100).batch(true).batchSize(10).queueSize(2))
      for (const n of [1, 2]) proco.trySubmit(n)
      yield* proco.submitAsync(3)
      yield* sleep(150)
      assert.deepEqual(log, [
        [0, [1, 2]],
        [100, [3]],
      ])
      yield* proco.exit()
    }))

  it('batchSize does not hurry an executor that goes item by item', () =>
    virtual(function* () {
      const { proco, log } = noting(Proco.interval(100).batchSize(1))
      for (const n of [1, 2]) proco.trySubmit(n)
      yield* sleep(250)
      assert.deepEqual(log, [
        [100, 1],
        [200, 2],
      ])
      yield* proco.exit()
    }))

  it('a handler that is late takes all that has come by then', () =>
    virtual(function* () {
      const { proco, log } = noting(Proco.interval(100).batch(true), 250)
      proco.trySubmit(1)
      yield* sleep(150)
      proco.trySubmit(2) // due at 200, while the handler is busy until 350
      yield* sleep(150)
      proco.trySubmit(3)
      yield* sleep(400)
      assert.deepEqual(log, [
        [100, [1]],
        [350, [2, 3]],
      ])
      yield* proco.exit()
    }))

  it('each queue keeps its own interval', () =>
    virtual(function* () {
      const { proco, log } = noting(Proco.interval(100).queues(2).batch(true).batchSize(2))
      for (const key of [0, 1]) proco.trySubmit(key, { key })
      yield* sleep(40)
      proco.trySubmit(10, { key: 0 }) // the first queue is dispatched at 40
      yield* sleep(10)
      proco.trySubmit(20, { key: 0 })
      yield* sleep(200)
      assert.deepEqual(log, [
        [40, [0, 10]],
        [100, [1]],
        [140, [20]],
      ])
      yield* proco.exit()
    }))

  it('exit lets batches go without waiting', () =>
    virtual(function* () {
      const { proco, log, time } = noting(Proco.interval(100).batch(true).batchSize(2), 5)
      for (const n of [1, 2, 3, 4, 5]) proco.trySubmit(n)
      yield* sleep(1)
      yield* proco.exit()
      assert.equal(time(), 15)
      assert.deepEqual(log, [
        [0, [1, 2]],
        [5, [3, 4]],
        [10, [5]],
      ])
    }))

  it('exit lets a batch go at once that waits for its interval', () =>
    virtual(function* () {
      const { proco, log, time } = noting(Proco.interval(100).batch(true).queues(2))
      for (const n of [1, 2, 3]) proco.trySubmit(n)
      yield* sleep(1)
      yield* proco.exit()
      assert.equal(time(), 1)
      assert.deepEqual(log, [
        [1, [1, 3]],
        [1, [2]],
      ])
    }))

  it('one item after the other still keeps its pace while it exits', () =>
    virtual(function* () {
      const { proco, log, time } = noting(Proco.interval(100))
      for (const n of [1, 2, 3]) proco.trySubmit(n)
      yield* proco.exit()
      assert.equal(time(), 300)
      assert.deepEqual(log, [
        [100, 1],
        [200, 2],
        [300, 3],
      ])
    }))

  it('kill lets nothing go, and no timer is left', () =>
    virtual(function* () {
      const { proco, log } = noting(Proco.interval(100).batch(true))
      const future = proco.trySubmit(1)!
      yield* sleep(10)
      proco.kill()
      assert.equal(future.state, 'cancelled')
      yield* sleep(200)
      assert.deepEqual(log, [])
    }))

  it('an item that is cancelled before its time is not dispatched, and the next one waits for the next interval', () =>
    virtual(function* () {
      const { proco, log } = noting(Proco.interval(100).batch(true))
      proco.trySubmit(1)!.cancel()
      yield* sleep(150)
      proco.trySubmit(2)
      yield* sleep(100)
      assert.deepEqual(log, [[200, [2]]])
      yield* proco.exit()
    }))

  it('so does the next one when the queue was due, but all its items were cancelled before a handler was free', () =>
    virtual(function* () {
      const { proco, log } = noting(Proco.interval(100).batch(true), 150)
      proco.trySubmit(1) // handled from 100 to 250
      yield* sleep(110)
      const second = proco.trySubmit(2)! // due at 200
      yield* sleep(110)
      second.cancel()
      yield* sleep(50)
      proco.trySubmit(3) // at 270, with the handler free
      yield* sleep(100)
      assert.deepEqual(log, [
        [100, [1]],
        [300, [3]],
      ])
      yield* proco.exit()
    }))

  it('the interval counts from the start again after a restart', () =>
    virtual(function* () {
      const { proco, time } = noting(Proco.interval(100).batch(true))
      yield* proco.exit()
      yield* sleep(130)
      proco.start(() => time())
      assert.equal(yield* proco.submit(1), 230)
      yield* proco.exit()
    }))
})

it('B16 S81 size or time, whichever comes first', () =>
  virtual(function* () {
    const { proco, log } = noting(Proco.interval(20).batch(true).batchSize(5))
    for (let n = 0; n < 12; n++) proco.trySubmit(n)
    yield* sleep(100)
    assert.deepEqual(
      log.map(([at, items]) => [at, items.length]),
      [
        [0, 5],
        [0, 5],
        [20, 2],
      ],
    )
    yield* proco.exit()
  }))

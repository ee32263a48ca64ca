// Futures: lazy, not thenable, settled exactly once; and ops that are yielded and awaited both.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { cancelAfter, retry, run, sleep, snooze, spin, until } from 'polyphony'
import { type Future, Proco } from 'polyphony/proco'
import { virtual } from 'polyphony/testing'
import { thrownBy } from '../prelude.js'
import { clock } from '../time/clock.js'

describe('S78 S83 a future', () => {
  it('queued, running, and one of done, failed, cancelled', () =>
    virtual(function* () {
      const proco = Proco.new<number, number>().start(function* (n) {
        yield* sleep(10)
        if (n === 2) throw new Error('two')
        return n
      })
      const [one, two, three] = [1, 2, 3].map((n) => proco.trySubmit(n)!) as [
        Future<number>,
        Future<number>,
        Future<number>,
      ]
      const states = () => [one, two, three].map(({ state, done }) => `${state} ${done}`)
      assert.deepEqual(states(), ['queued false', 'queued false', 'queued false'])
      yield* sleep(5)
      assert.deepEqual(states(), ['running false', 'queued false', 'queued false'])
      yield* sleep(10)
      assert.deepEqual(states(), ['done true', 'running false', 'queued false'])
      yield* sleep(10)
      assert.deepEqual(states(), ['done true', 'failed true', 'running false'])
      three.cancel()
      assert.deepEqual(states(), ['done true', 'failed true', 'cancelled true'])
      yield* proco.exit()
    }))

  it('makes no promise until async code looks', () =>
    virtual(function* () {
      let promises = 0
      const Original = globalThis.Promise
      const proco = Proco.new<number, number>().start((n) => n)
      class Counting<T> extends Original<T> {
        constructor(executor: ConstructorParameters<typeof Original<T>>[0]) {
          super(executor)
          promises++
        }
      }
      globalThis.Promise = Counting as typeof Promise
      try {
        const future = yield* proco.submitAsync(1)
        assert.equal(yield* future.get(), 1)
        assert.equal(yield* proco.submit(2), 2)
        yield* proco.exit()
        assert.equal(promises, 0)
        future.get().then(() => {})
        assert.notEqual(promises, 0)
      } finally {
        globalThis.Promise = Original
      }
    }))

  it('is the same for fibers and async code, whoever asks first', async () => {
    let finish!: (value: string) => void
    const proco = Proco.new<number, string>().start(
      () =>
        new Promise<string>((resolve) => {
          finish = resolve
        }),
    )
    const future = await proco.submitAsync(1)
    const answers = [
      future.get().then((text) => text),
      run(() => future.get()),
      future.get().then((text) => text),
    ]
    await new Promise((resolve) => setImmediate(resolve))
    finish('both')
    assert.deepEqual(await Promise.all(answers), ['both', 'both', 'both'])
    assert.equal(await run(() => future.get()), 'both')
    await proco.exit()
  })

  it('one op may be yielded and awaited: it is one submission', () =>
    virtual(function* () {
      let calls = 0
      const proco = Proco.new<number, number>().start(function* (n) {
        calls++
        yield* sleep(5)
        return n
      })
      const op = proco.submit(1)
      const promise = op.then((n) => n)
      yield* sleep(1)
      assert.equal(yield* op, 1)
      assert.equal(yield* until(promise), 1)
      const other = proco.submit(2)
      const fiber = spin(() => other)
      yield* sleep(1)
      assert.equal(yield* until(other), 2)
      assert.equal(yield* fiber, 2)
      assert.equal(calls, 2)
      yield* proco.exit()
    }))

  it('submitAsync, yielded and awaited while the queue is full: the same future', () =>
    virtual(function* () {
      const proco = Proco.queueSize(1)
        .new<number, number>()
        .start(function* (n) {
          yield* sleep(5)
          return n
        })
      proco.trySubmit(1)
      yield* sleep(1)
      proco.trySubmit(2)
      const op = proco.submitAsync(3)
      const promise = op.then((future) => future)
      yield* snooze()
      const future = yield* op
      assert.equal(yield* until(promise), future)
      assert.equal(proco.stats().accepted, 3)
      assert.equal(yield* future.get(), 3)
      yield* proco.exit()
    }))

  it('of a batch settles with all others of it, at the same moment', () =>
    virtual(function* () {
      const time = clock()
      const proco = Proco.batch(true)
        .new<number, number>()
        .start(function* (items) {
          yield* sleep(10)
          return items.length
        })
      const got: number[] = []
      const futures = [1, 2, 3].map((n) => proco.trySubmit(n)!)
      const fibers = futures.map((future) =>
        spin(function* () {
          assert.equal(yield* future.get(), 3)
          got.push(time())
        }),
      )
      for (const fiber of fibers) yield* fiber
      assert.deepEqual(got, [10, 10, 10])
      yield* proco.exit()
    }))

  it('many waiters of many futures each get their own', () =>
    virtual(function* () {
      const proco = Proco.threads(7)
        .new<number, number>()
        .start(function* (n) {
          yield* sleep(n % 5)
          if (n % 3 === 0) throw new RangeError(String(n))
          return n
        })
      const waiters: (() => Generator<any, void, any>)[] = []
      for (let n = 0; n < 60; n++) {
        const future = yield* proco.submitAsync(n)
        for (let i = 0; i < 3; i++) {
          waiters.push(function* () {
            if (n % 3 === 0) assert.equal((yield* thrownBy(future.get())).message, String(n))
            else assert.equal(yield* future.get(), n)
          })
        }
      }
      const fibers = waiters.map((body) => spin(body))
      for (const fiber of fibers) yield* fiber
      yield* proco.exit()
    }))
})

it('B16 a time-out in the handler: the item fails, the handler goes on with the next', () =>
  virtual(function* () {
    const proco = Proco.new<number, number>().start((ms) =>
      cancelAfter(50, function* () {
        yield* sleep(ms)
        return ms
      }),
    )
    assert.equal(yield* proco.submit(10), 10)
    assert.equal((yield* thrownBy(proco.submit(100))).code, 'CANCEL')
    assert.equal(yield* proco.submit(20), 20)
    yield* proco.exit()
  }))

it('B16 retries in the handler, with a pause between them', () =>
  virtual(function* () {
    let tries = 0
    const proco = Proco.new<number, number>().start((n) =>
      retry(
        function* () {
          yield* sleep(1)
          if (++tries % 3 !== 0) throw new Error('again')
          return n
        },
        { times: 3 },
      ),
    )
    assert.equal(yield* proco.submit(1), 1)
    assert.equal(yield* proco.submit(2), 2)
    assert.equal(tries, 6)
    yield* proco.exit()
  }))

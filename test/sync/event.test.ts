// The event: a signal that is kept once, and one that stays.

import { assert, describe, Event, Fiber, run, sleep, spin, started, test, thrownBy } from '../prelude.js'

describe('an event', () => {
  test('signalled, wakes every fiber that waits, with its value, and resets itself', function* () {
    const event = new Event<string>()
    const fibers = [1, 2, 3].map(() => spin(() => event.await()))
    yield* sleep(1)
    assert.equal(fibers[0]?.waitsFor, 'event.await()')
    assert.deepEqual(event.stats(), { isSignaled: false, waiting: 3, signals: 0 })
    event.signal('now')
    assert.deepEqual(event.stats(), { isSignaled: false, waiting: 0, signals: 1 })
    assert.deepEqual(yield* Fiber.await(...fibers), ['now', 'now', 'now'])
  })

  test('keeps the latest signal that no fiber waits for, for the next that asks, or until it is reset', function* () {
    const event = new Event<number>()
    event.signal(1)
    event.signal(2)
    assert.deepEqual(event.stats(), { isSignaled: true, waiting: 0, signals: 2 })
    assert.equal(yield* event.await(), 2)
    const second = yield* started(() => event.await())
    assert.equal(event.waiting, 1)
    event.signal(3)
    assert.equal(yield* second, 3)
    event.signal(4)
    event.reset()
    assert.equal(event.isSignaled, false)
  })

  test('signalled again before a woken fiber has run, keeps the latest for the next await: a loop sees the first of a burst and the last', function* () {
    const event = new Event<number>()
    const seen: number[] = []
    const loop = yield* started(function* () {
      for (;;) seen.push(yield* event.await())
    })
    for (const n of [1, 2, 3]) event.signal(n)
    assert.deepEqual(event.stats(), { isSignaled: true, waiting: 0, signals: 3 })
    yield* sleep(1)
    assert.deepEqual([seen, event.isSignaled], [[1, 3], false])
    yield* loop.stop()
  })

  test('gives what was kept to one fiber only, and each that waited its own signal', function* () {
    const event = new Event<number>()
    const early = [yield* started(() => event.await()), yield* started(() => event.await())]
    event.signal(1)
    event.signal(2)
    const late = [yield* started(() => event.await()), yield* started(() => event.await())]
    assert.deepEqual(yield* Fiber.await(...early), [1, 1])
    assert.equal(event.waiting, 1)
    event.signal(3)
    assert.deepEqual((yield* Fiber.await(...late)).sort(), [2, 3])
  })

  test('with latch, stays signalled for every fiber until it is reset', function* () {
    const event = new Event<string>({ latch: true })
    const waiter = yield* started(() => event.await())
    event.signal('open')
    assert.deepEqual([yield* waiter, yield* event.await()], ['open', 'open'])
    event.signal('wide open')
    assert.deepEqual([yield* event.await(), event.isSignaled], ['wide open', true])
    event.reset()
    yield* started(() => event.await())
    assert.equal(event.waiting, 1)
  })

  test('loses no signal to an error, a stop or a kill: a fiber that has its answer gets it, one raised in before leaves it', function* () {
    const event = new Event<string>()
    const late = yield* started(() => event.await())
    event.signal('the answer')
    late.raise('too late')
    assert.equal(yield* late, 'the answer')
    for (const verb of ['stop', 'kill'] as const) {
      let heard = ''
      const ended = yield* started(function* () {
        heard = yield* event.await()
      })
      event.signal(`before the ${verb}`)
      yield* ended[verb]()
      assert.deepEqual([heard, event.isSignaled], [`before the ${verb}`, false])
    }
    const early = yield* started(() => thrownBy(event.await()))
    early.raise('enough')
    assert.equal(event.waiting, 0)
    event.signal('kept')
    assert.equal((yield* early).message, 'enough')
    assert.equal(yield* event.await(), 'kept')
  })

  test('keeps the value that an await by hand was refused', function* () {
    const event = new Event<number>()
    for (let n = 0; ; n++) {
      event.signal(n)
      try {
        const [_] = event.await() as any
      } catch {
        return assert.equal(yield* event.await(), n) // S50: the budget was spent
      }
    }
  })

  test('signalled outside any fiber, wakes fibers', async () => {
    const event = new Event<string>()
    const running = run(() => event.await())
    setImmediate(() => event.signal('from a callback'))
    assert.equal(await running, 'from a callback')
  })
})

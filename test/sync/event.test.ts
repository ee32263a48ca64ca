// The event: a signal that is kept once, and one that stays.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { BadArgument, BadYield, Event, Fiber, type Routine, run, sleep, snooze, spin } from 'polyphony'
import { raiseEverywhere, stopEverywhere, virtual } from 'polyphony/testing'
import { everyOrder } from '../explore/orders.js'
import { thrownBy } from '../prelude.js'
import { killers } from '../shared/killers.js'

function* awaitInto(event: Event<any>, log: unknown[]): Routine<void> {
  log.push(yield* event.await())
}

describe('an event', () => {
  it('X6 a signal wakes everybody who waits, with its value, and resets itself', () =>
    virtual(function* () {
      const event = new Event<string>()
      const log: unknown[] = []
      for (let n = 0; n < 3; n++) spin(awaitInto, event, log)
      yield* sleep(1)
      assert.equal(event.waiting, 3)
      event.signal('now')
      assert.equal(event.isSignaled, false)
      yield* Fiber.current.joinChildren()
      assert.deepEqual(log, ['now', 'now', 'now'])
    }))

  it('X6 a signal that nobody waits for is kept once: the latest, for the next who asks', () =>
    virtual(function* () {
      const event = new Event<number>()
      const log: unknown[] = []
      event.signal(1)
      event.signal(2)
      assert.equal(event.isSignaled, true)
      yield* spin(awaitInto, event, log)
      assert.equal(event.isSignaled, false)
      const second = spin(awaitInto, event, log)
      yield* sleep(1)
      assert.equal(second.state, 'waiting')
      event.signal(3)
      yield* second
      assert.deepEqual(log, [2, 3])
    }))

  it('F5.3 S34 an answer that arrives together with a raise is not lost', () =>
    virtual(function* () {
      const event = new Event<string>()
      const log: unknown[] = []
      const fiber = spin({ link: false }, function* () {
        yield* awaitInto(event, log)
        yield* snooze()
      })
      yield* sleep(1)
      event.signal('the answer')
      fiber.raise('too late')
      const outcome = yield* fiber.join()
      assert.equal(outcome.type, 'error')
      assert.deepEqual(log, ['the answer'])
    }))

  it('F5.3 a waiter that is raised in before the signal leaves it to the next', () =>
    virtual(function* () {
      const event = new Event<string>()
      const fiber = spin({ link: false }, () => event.await())
      yield* sleep(1)
      fiber.raise('enough')
      event.signal('kept')
      yield* fiber.join()
      assert.equal(yield* event.await(), 'kept')
    }))

  it('X6 an error raised while it waits is thrown there', () =>
    virtual(function* () {
      const event = new Event()
      const fiber = spin(() => thrownBy(event.await()))
      yield* sleep(1)
      fiber.raise('boo')
      assert.equal((yield* fiber).message, 'boo')
      assert.equal(event.waiting, 0)
    }))

  it('reset forgets a signal that was kept', () =>
    virtual(function* () {
      const event = new Event()
      event.signal()
      event.reset()
      assert.equal(event.isSignaled, false)
    }))

  it('with latch it stays signalled, for everybody, until it is reset', () =>
    virtual(function* () {
      const event = new Event<string>({ latch: true })
      const log: unknown[] = []
      const waiter = spin(awaitInto, event, log)
      yield* sleep(1)
      event.signal('open')
      assert.equal(event.isSignaled, true)
      yield* waiter
      yield* awaitInto(event, log)
      event.signal('wide open')
      yield* awaitInto(event, log)
      assert.deepEqual(log, ['open', 'open', 'wide open'])
      event.reset()
      const late = spin(awaitInto, event, log)
      yield* sleep(1)
      assert.equal(late.state, 'waiting')
      yield* late.stop()
    }))

  it('signalled from outside any fiber, it wakes fibers', async () => {
    const event = new Event<string>()
    const running = run(() => event.await())
    setImmediate(() => event.signal('from a callback'))
    assert.equal(await running, 'from a callback')
  })

  it('counts in stats(), and shows in the tree', () =>
    virtual(function* () {
      const event = new Event()
      const fiber = spin(() => event.await())
      yield* sleep(1)
      assert.equal(fiber.waitsFor, 'event.await()')
      assert.deepEqual(event.stats(), { isSignaled: false, waiting: 1, signals: 0 })
      event.signal()
      event.signal()
      assert.deepEqual(event.stats(), { isSignaled: true, waiting: 0, signals: 2 })
      yield* fiber
    }))

  it('wrong options are refused by name', () => {
    assert.throws(() => new Event({ latched: true } as any), /no option "latched"; there are: latch/)
    assert.throws(() => new Event({ latch: 1 } as any), /latch of new Event\(\) is true or false, got 1/)
    assert.throws(() => new Event(true as any), BadArgument)
  })

  it('S69 await() iterated by hand is a named error, and keeps the signal', () =>
    virtual(function* () {
      const event = new Event<number>()
      assert.throws(() => [...(event.await() as any)], BadYield)
      assert.equal(event.waiting, 0)
      let taken = 0
      for (let n = 0; n < 200; n++) {
        event.signal(n)
        try {
          const [_] = event.await() as any
          taken++
        } catch (error) {
          assert.ok(error instanceof BadYield)
          assert.equal(yield* event.await(), n)
        }
      }
      assert.ok(taken < 200, 'the budget never ran out')
    }))

  for (const [how, kill] of killers) {
    it(`F5.3 no order of three who wait, two signals and ${how} loses a signal`, (t) => {
      everyOrder(t, function* () {
        const event = new Event<number>()
        const log: unknown[] = []
        const fibers = [1, 2, 3].map(() => spin({ link: false }, awaitInto, event, log))
        yield* snooze()
        event.signal(1)
        kill(fibers)
        yield* sleep(1)
        assert.ok(log.length > 0 || event.isSignaled, 'the signal was lost')
        event.signal(2)
        yield* sleep(1)
        assert.equal(event.waiting, 0)
        for (const fiber of fibers) yield* fiber.join()
      })
    })
  }

  it('F5.3 stopped or raised in everywhere, nobody is left in line and no signal is lost', () => {
    let event = new Event()
    let log: unknown[] = []
    const everyone = function* () {
      event = new Event()
      log = []
      const fibers = [1, 2].map(() => spin({ link: false }, awaitInto, event, log))
      yield* sleep(1)
      event.signal()
      for (const fiber of fibers) yield* fiber.join()
    }
    const check = () => {
      assert.equal(event.waiting, 0)
      assert.ok(log.length > 0 || event.isSignaled || event.stats().signals === 0)
    }
    stopEverywhere(everyone, { check })
    raiseEverywhere(everyone, { check })
  })
})

// S24, S25, S31, S34, S37: waiting for fibers that end, fail or are stopped meanwhile, in every order.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Fiber, FiberStopped, isStop, type Routine, sleep, snooze, spin } from 'polyphony'
import { raiseEverywhere, stopEverywhere } from 'polyphony/testing'
import { thrownBy, whole } from '../prelude.js'
import { everyOrder, fails, gives } from './orders.js'

test('S37 select of two that end in one turn gives one of them, and leaves the other its value', (t) => {
  everyOrder(t, function* () {
    const fibers = [spin(gives, 'a'), spin(gives, 'b')] as const
    const [first, value] = yield* Fiber.select(...fibers)
    assert.equal(first.outcome?.type, 'value')
    assert.equal(value, first === fibers[0] ? 'a' : 'b')
    assert.deepEqual(yield* Fiber.await(...fibers), ['a', 'b'])
  })
})

test('S37 select of one that fails throws its error once, and stops nobody', (t) => {
  everyOrder(t, function* () {
    const error = new Error('selected')
    const other = spin(function* () {
      yield* sleep(5)
      return 'other'
    })
    const thrown = yield* thrownBy(
      Fiber.select(
        other,
        spin(fails, error),
        spin(() => sleep(9)),
      ),
    )
    assert.equal(thrown, error)
    yield* snooze() // S25: it does not come up as well
    assert.equal(yield* other, 'other')
  })
})

test('S34 S37 a fiber that is stopped while it selects gets the value if it was there, and nobody else is touched', (t) => {
  everyOrder(t, function* () {
    const fibers = [spin(gives, 'a'), spin(gives, 'b')] as const
    let selected: unknown
    let isWaiting = false
    const selecting = spin(function* () {
      isWaiting = true
      selected = (yield* Fiber.select(...fibers))[1]
      isWaiting = false
      yield* sleep(1000)
    })
    let hadAnswer = false
    spin(function* () {
      yield* snooze()
      hadAnswer = isWaiting && selecting.state === 'runnable'
      selecting.stop()
    })
    const outcome = yield* selecting.join()
    assert.equal(outcome.type, 'stopped')
    if (hadAnswer) assert.ok(selected === 'a' || selected === 'b')
    assert.deepEqual(yield* Fiber.await(...fibers), ['a', 'b'])
  })
})

for (const verb of ['stop', 'kill'] as const) {
  test(`S22 S37 a ${verb} while a child that is selected fails: the error is not lost`, (t) => {
    everyOrder(t, function* () {
      const error = new Error('child')
      let hasFailed = false
      const seen: unknown[] = []
      const selecting = spin({ link: false }, function* () {
        const child = spin(function* () {
          yield* snooze()
          hasFailed = true
          throw error
        })
        try {
          yield* Fiber.select(
            child,
            spin(() => sleep(9)),
          )
        } catch (caught) {
          if (isStop(caught)) throw caught
          seen.push(caught)
        }
      })
      spin(function* () {
        yield* snooze()
        selecting[verb]()
      })
      const outcome = yield* selecting.join()
      const received = [...seen, ...(outcome.type === 'error' ? [outcome.error] : [])].flatMap(whole)
      assert.deepEqual(received, hasFailed ? [error] : [])
    })
  })
}

test('S34 completion wins: an awaiter that has its answer when the stop comes gets it', (t) => {
  let won = 0
  everyOrder(t, function* () {
    const target = spin(gives, 'value')
    let got: unknown
    let isWaiting = false
    const awaiter = spin(function* () {
      isWaiting = true
      got = yield* target
      isWaiting = false
      yield* sleep(1000)
      assert.fail('the stop strikes at the next switchpoint')
    })
    let hadAnswer = false
    spin(function* () {
      yield* snooze()
      hadAnswer = isWaiting && awaiter.state === 'runnable'
      awaiter.stop('stopped')
    })
    assert.deepEqual(yield* awaiter.join(), { type: 'stopped', value: 'stopped' })
    if (hadAnswer) {
      won++
      assert.equal(got, 'value')
    }
    assert.equal(yield* target, 'value')
  })
  assert.ok(won > 0, 'no order let the answer come first')
})

test('S24 every awaiter receives the error, and so does the parent that does not await, each once', (t) => {
  everyOrder(t, function* () {
    const error = new Error('everybody')
    const seen: string[] = []
    const owner = spin(function* () {
      const child = spin(fails, error)
      for (const name of ['one', 'two']) {
        Fiber.current.parent?.spin(function* () {
          assert.equal(yield* thrownBy(child), error)
          seen.push(name)
        })
      }
      assert.equal(yield* thrownBy(sleep(1000)), error)
      seen.push('parent')
      yield* snooze()
      yield* snooze()
    })
    yield* owner
    yield* Fiber.current.joinChildren()
    assert.deepEqual(seen.sort(), ['one', 'parent', 'two'])
  })
})

test('S25 a parent that awaits receives the error by that alone', (t) => {
  everyOrder(t, function* () {
    const error = new Error('once')
    let times = 0
    const child = spin(fails, error)
    const other = spin(gives, 1)
    const tries = [child, other, sleep(1), child] // awaiting tells as often as one asks
    for (const op of tries) {
      try {
        yield* op
      } catch (caught) {
        assert.equal(caught, error)
        times++
      }
    }
    // At the first op it comes up, or is received by awaiting; the last one asks again.
    assert.equal(times, 2)
  })
})

test('S26 children that fail before their parent runs: each error is thrown, at one switchpoint after the other', (t) => {
  everyOrder(t, function* () {
    const errors = ['one', 'two', 'three'].map((message) => new Error(message))
    for (const error of errors) spin(fails, error)
    const seen: unknown[] = []
    while (seen.length < errors.length) seen.push(yield* thrownBy(sleep(1000)))
    assert.deepEqual(new Set(seen), new Set(errors))
    yield* snooze() // no more of them
  })
})

test('S26 an error and a stop are pending together: the error strikes first, then the stop', (t) => {
  const orders = new Set<string>()
  everyOrder(t, function* () {
    const seen: string[] = []
    let hasFailed = false
    const fiber = spin(function* () {
      spin(function* () {
        yield* snooze()
        hasFailed = true
        throw new Error('child')
      })
      for (let i = 0; i < 2; i++) {
        try {
          yield* sleep(1000)
        } catch (thrown) {
          seen.push(isStop(thrown) ? 'stop' : 'error')
          if (isStop(thrown)) throw thrown
        }
      }
    })
    let isPending = false
    spin(function* () {
      yield* snooze()
      yield* snooze()
      isPending = hasFailed && seen.length === 0
      fiber.stop()
    })
    yield* fiber.join()
    if (isPending) assert.deepEqual(seen, ['error', 'stop'])
    orders.add(`${isPending}: ${seen}`)
  })
  assert.ok(orders.has('true: error,stop') && orders.has('false: stop') && orders.has('false: error,stop'))
})

test('S31 Fiber.await stops the others at the first error, and waits for their cleanup', (t) => {
  everyOrder(t, function* () {
    const error = new Error('one of them')
    let isOpen = false
    const careful = spin(function* () {
      isOpen = true
      try {
        yield* sleep(1000)
      } finally {
        yield* snooze()
        isOpen = false
      }
    })
    const thrown = yield* thrownBy(Fiber.await(careful, spin(fails, error), spin(gives, 1)))
    assert.equal(thrown, error)
    assert.equal(isOpen, false)
    assert.notEqual(careful.outcome, undefined)
  })
})

test('S12 S31 waiting for fibers, stopped or raised in at every switchpoint, disturbs none of them', () => {
  let fibers: Fiber[] = []
  const scenario = function* (): Routine<void> {
    const root = Fiber.current
    fibers = ['a', 'b'].map((value) => root.spin(gives, value))
    const waiting = spin({ link: false }, function* () {
      yield* Fiber.select(...fibers)
      yield* Fiber.await(...fibers)
    })
    yield* waiting.join()
    yield* Fiber.current.joinChildren()
  }
  const check = () => {
    for (const { outcome } of fibers) assert.notEqual(outcome, undefined)
  }
  assert.ok(stopEverywhere(scenario, { check }).switchpoints > 4)
  raiseEverywhere(scenario, { check })
})

test('S31 awaiting a fiber that is stopped as it ends tells how it ended, to all alike', (t) => {
  everyOrder(t, function* () {
    const target = spin(function* () {
      yield* snooze()
      return 'value'
    })
    const ask = function* (): Routine<unknown> {
      try {
        return yield* target
      } catch (error) {
        assert.ok(error instanceof FiberStopped)
        return 'stopped'
      }
    }
    const askers = [spin(ask), spin(ask)]
    target.stop()
    const answers = yield* Fiber.await(...askers)
    assert.deepEqual(answers, ['stopped', 'stopped'])
    assert.equal(target.outcome?.type, 'stopped')
  })
})

// S41: restarts that race with stops, with each other, with the fiber's own end and with messages, in every order.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ensure, Fiber, type Routine, receive, sleep, snooze, spin } from 'polyphony'
import { stopEverywhere } from 'polyphony/testing'
import { everyOrder } from './orders.js'

/** Never two lives at once; counts them. */
function* life(state: { lives: number; open: number }): Routine<string> {
  state.lives++
  assert.equal(++state.open, 1, 'the life before was not over')
  yield* ensure(
    function* () {
      yield* snooze()
      yield* snooze()
    },
    function* () {
      yield* snooze()
      state.open--
    },
  )
  return 'lived'
}

test('S41 a restart and a stop: the later verb wins', (t) => {
  const seen = new Set<string>()
  everyOrder(t, function* () {
    const state = { lives: 0, open: 0 }
    const fiber = spin(function* () {
      yield* life(state)
      yield* sleep(10)
    })
    let last = ''
    spin(function* () {
      yield* snooze()
      fiber.stop('enough')
      last = 'stop'
    })
    spin(function* () {
      yield* snooze()
      fiber.restart()
      last = 'restart'
    })
    yield* sleep(1)
    seen.add(last)
    assert.equal(fiber.state, last === 'stop' ? 'dead' : 'waiting')
    if (last === 'stop') assert.deepEqual(fiber.outcome, { type: 'stopped', value: 'enough' })
    yield* fiber.stop()
    assert.equal(state.open, 0)
  })
  assert.equal(seen.size, 2)
})

test('S41 two restarts: each life is over before the next begins, and the last one runs to its end', (t) => {
  everyOrder(t, function* () {
    const state = { lives: 0, open: 0 }
    const fiber = spin(life, state)
    for (let i = 0; i < 2; i++) {
      spin(function* () {
        yield* snooze()
        fiber.restart()
      })
    }
    yield* Fiber.current.joinChildren()
    assert.equal(yield* fiber, 'lived')
    assert.ok(fiber.incarnation === 2 || fiber.incarnation === 3)
    assert.ok(state.lives >= 1 && state.lives <= fiber.incarnation) // one stopped before its start runs no line (S05)
    assert.equal(state.open, 0)
  })
})

test('S41 a restart that races with the end of the fiber always gives it one more life', (t) => {
  everyOrder(t, function* () {
    let lives = 0
    const fiber = spin(function* () {
      const mine = ++lives
      yield* snooze()
      return mine
    })
    const waiting = spin(() => fiber.join())
    let wasOver = false
    yield* snooze()
    wasOver = fiber.outcome !== undefined
    fiber.restart()
    yield* fiber
    assert.equal(fiber.incarnation, 2)
    assert.deepEqual(fiber.outcome, { type: 'value', value: lives })
    // Who was told before the restart was told of the first end; the others kept waiting.
    const told = (yield* waiting) as { type: string; value: number }
    assert.equal(told.type, 'value')
    if (!wasOver) assert.equal(told.value, lives)
  })
})

test('S41 the mailbox is cut at the call: what was sent before is gone, what is sent after arrives once', (t) => {
  everyOrder(t, function* () {
    const got: string[] = []
    const fiber = spin(function* () {
      for (;;) got.push(`${Fiber.current.incarnation}: ${yield* receive<string>()}`)
    })
    const sender = spin(function* () {
      fiber.send('old')
      yield* snooze()
      fiber.restart()
      fiber.send('new')
    })
    const idle = spin(snooze)
    yield* Fiber.await(sender, idle)
    yield* sleep(1)
    yield* fiber.stop()
    assert.deepEqual(
      got.filter((line) => line !== '1: old'),
      ['2: new'],
    )
  })
})

test('S41 an error of the teardown cancels the restart, and is not lost', (t) => {
  everyOrder(t, function* () {
    const error = new Error('teardown')
    let lives = 0
    const fiber = spin({ link: false }, function* () {
      lives++
      try {
        yield* sleep(10)
      } finally {
        // biome-ignore lint/correctness/noUnsafeFinally: that is the point
        throw error
      }
    })
    spin(function* () {
      yield* snooze()
      fiber.restart()
    })
    const outcome = yield* fiber.join()
    yield* Fiber.current.joinChildren()
    assert.deepEqual(outcome, { type: 'error', error })
    assert.equal(lives, 1) // one restarted before its first turn has not lived: nothing fails, and its first life is the next
  })
})

test('S41 a restart called off by a stop at every switchpoint leaves nothing behind', () => {
  let state = { lives: 0, open: 0 }
  const scenario = function* () {
    state = { lives: 0, open: 0 }
    const fiber = spin({ link: false }, life, state)
    yield* snooze()
    fiber.restart()
    yield* fiber.join()
  }
  assert.ok(stopEverywhere(scenario, { check: () => assert.equal(state.open, 0) }).switchpoints > 4)
})

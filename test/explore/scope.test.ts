// S22, S23, S28: a scope whose children fail, whose body fails, and which is stopped, in every order.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Fiber, isStop, type Routine, scope, sleep, snooze, spin } from 'polyphony'
import { failEverywhere, raiseEverywhere, stopEverywhere } from 'polyphony/testing'
import { thrownBy, whole } from '../prelude.js'
import { everyOrder, fails, now } from './orders.js'

/** A child that cleans up when it is stopped. */
function* sibling(state: { open: number }): Routine<void> {
  state.open++
  try {
    yield* sleep(1000)
  } finally {
    yield* snooze()
    state.open--
  }
}

test('S28 a child that fails while the body waits: all others are over before the error is thrown', (t) => {
  everyOrder(t, function* () {
    const state = { open: 0 }
    const error = new Error('child')
    let isOver = false
    const thrown = yield* thrownBy(
      scope(function* () {
        spin(sibling, state)
        spin(fails, error)
        try {
          yield* sleep(1000)
        } finally {
          yield* snooze()
          isOver = true
        }
      }),
    )
    assert.equal(thrown, error)
    assert.deepEqual([state.open, isOver, now()], [0, true, 0]) // stopped, not waited for
    assert.deepEqual(Fiber.current.children, [])
    yield* snooze() // S25: it does not come up again
  })
})

test('S23 two children fail: one error is thrown, the other is suppressed, none is lost', (t) => {
  everyOrder(t, function* () {
    const errors = [new Error('first'), new Error('second')]
    const state = { open: 0 }
    const thrown = yield* thrownBy(
      scope(function* () {
        for (const error of errors) spin(fails, error)
        spin(sibling, state)
        yield* sleep(1000)
      }),
    )
    // The second may have been stopped before it could fail.
    const received = whole(thrown)
    assert.ok(errors.includes(thrown))
    assert.equal(now(), 0)
    assert.equal(new Set(received).size, received.length)
    assert.equal(state.open, 0)
  })
})

test('S22 a child fails, and so does the body as it is stopped: both errors arrive', (t) => {
  everyOrder(t, function* () {
    const [child, body] = [new Error('child'), new Error('body')]
    let childFailed = false
    const thrown = yield* thrownBy(
      scope(function* () {
        spin(function* () {
          yield* snooze()
          childFailed = true
          throw child
        })
        try {
          yield* snooze()
          yield* snooze()
        } finally {
          // biome-ignore lint/correctness/noUnsafeFinally: that is the point
          throw body
        }
      }),
    )
    assert.ok(whole(thrown).includes(body))
    assert.equal(whole(thrown).includes(child), childFailed)
  })
})

/** A fiber with a scope in it that fails by itself; what its catch has seen. */
function* failingScope(
  error: Error,
  state: { open: number; seen: unknown[]; failed: boolean },
): Routine<void> {
  try {
    yield* scope(function* () {
      spin(sibling, state)
      spin(function* () {
        yield* snooze()
        state.failed = true
        throw error
      })
      yield* snooze()
    })
  } catch (caught) {
    if (isStop(caught)) throw caught
    state.seen.push(caught)
  }
}

for (const verb of ['stop', 'kill', 'raise'] as const) {
  test(`S22 S65 a ${verb} from outside while a child fails: nobody is left, and the error is not lost`, (t) => {
    everyOrder(t, function* () {
      const error = new Error('child')
      const state = { open: 0, seen: [] as unknown[], failed: false }
      const worker = spin({ link: false }, failingScope, error, state)
      spin(function* () {
        yield* snooze()
        if (verb === 'raise') worker.raise('outside')
        else worker[verb]()
      })
      const outcome = yield* worker.join()
      yield* Fiber.current.joinChildren()
      assert.equal(state.open, verb === 'kill' ? state.open : 0) // a kill leaves no time for a cleanup that waits
      const received = [...state.seen, ...(outcome.type === 'error' ? [outcome.error] : [])].flatMap(whole)
      assert.equal(received.filter((seen) => seen === error).length, state.failed ? 1 : 0)
    })
  })
}

test('S28 a scope stopped, raised in or failing at every switchpoint leaves nobody behind', () => {
  let state = { open: 0 }
  const scenario = function* () {
    state = { open: 0 }
    yield* scope(function* () {
      spin(sibling, state)
      spin(() => sleep(5))
      yield* sleep(1)
      Fiber.current.stopChildren()
    })
  }
  const check = () => assert.equal(state.open, 0)
  assert.ok(stopEverywhere(scenario, { check }).switchpoints > 5)
  raiseEverywhere(scenario, { check: () => {} })
  failEverywhere(scenario, { check: () => {} })
})

// The turns of a runtime, on an event loop that is driven by hand. How long a batch lasts is S49.

import { setDebug } from '#core/debug'
import { runtimes } from '#core/index'
import { assert, describe, explore, Fiber, sleep, snooze, spin, suspend, test } from '../prelude.js'
import { Loop } from './loop.js'

/** A loop whose root has run until it waits, and how to wake the root from outside. */
function waiting(body: (loop: Loop) => Generator<any, unknown>): { loop: Loop; root: Fiber } {
  const loop = new Loop()
  const root = loop.spin(() => body(loop))
  loop.runtime.batch()
  loop.wakes = loop.yields = 0
  return { loop, root }
}

describe('a turn', () => {
  test('is all that a timer that wakes a fiber costs', () => {
    const loop = new Loop()
    const root = loop.spin(function* () {
      const before = loop.runtime.stats().turns
      for (let i = 0; i < 50; i++) yield* sleep(2)
      return loop.runtime.stats().turns - before
    })
    loop.run()
    assert.equal(loop.time, 100)
    assert.deepEqual(root.outcome, { type: 'value', value: 50 })
    assert.ok(!runtimes.has(loop.runtime))
  })

  test('is asked for once, however many fibers become runnable', () => {
    const { loop, root } = waiting(function* () {
      for (let i = 0; i < 2; i++) spin(() => suspend())
      yield* Fiber.current.joinChildren()
    })
    for (const child of root.children) child.schedule()
    assert.deepEqual([loop.wakes, loop.yields], [1, 0])
    loop.run()
    assert.equal(root.state, 'dead')
  })

  for (const [what, steps, ms] of [
    ['1,024 steps', 1023, 0],
    ['10 ms', 0, 10],
  ] as const) {
    test(`comes after the event loop's own once ${what} are spent`, () => {
      const { loop, root } = waiting(function* (loop) {
        for (let i = 0; i < steps; i++) yield* snooze()
        loop.time += ms
        yield* suspend()
      })
      root.schedule()
      assert.deepEqual([loop.wakes, loop.yields], [0, 1])
      loop.run()
    })
  }

  test('does not count the time between turns', () => {
    let ran = 0
    const { loop, root } = waiting(function* (loop) {
      loop.time += 4
      yield* suspend()
      for (; ran < 5; ran++) {
        loop.time += 1
        yield* snooze()
      }
    })
    loop.time += 100
    root.schedule()
    loop.runtime.turn()
    assert.deepEqual([ran, loop.yields], [5, 0])
    loop.run()
  })

  test('is asked for when a timer is due at the end of one', () => {
    const loop = new Loop()
    loop.spin(function* () {
      spin(() => sleep(1))
      yield* snooze()
      loop.time += 5
      yield* suspend()
    })
    for (const yields of [1, 1]) {
      loop.runtime.batch()
      assert.equal(loop.yields, yields)
    }
    loop.runtime.close()
  })

  test('reads the clock seldom while steps are quick, and at every slow one', () => {
    const { loop } = waiting(function* (loop) {
      for (let i = 0; i < 2000; i++) {
        loop.time += 0.005
        yield* snooze()
      }
      for (;;) {
        loop.time += 3
        yield* snooze()
      }
    })
    assert.ok(loop.reads < 100, `${loop.reads} looks at the clock in 1,024 steps`)
    loop.runtime.batch()
    const { switches } = loop.runtime.stats()
    loop.runtime.batch()
    assert.equal(loop.runtime.stats().switches - switches, 4)
    loop.runtime.close()
  })

  for (const [what, quick] of [
    ['a whole batch', 1025],
    ['a part of one', 100],
  ] as const) {
    test(`ends after 10 ms of slow steps also if it comes after ${what} of quick ones`, () => {
      let steps = 0
      const { loop, root } = waiting(function* (loop) {
        for (;;) {
          if (++steps === 100 && quick === 100) yield* suspend()
          if (steps > quick) loop.time += 3
          yield* snooze()
        }
      })
      root.schedule()
      loop.runtime.batch()
      assert.ok(steps <= quick + 6, `${steps - quick} slow steps`)
      loop.runtime.close()
    })
  }

  test('ends with what was left to its end, once', () => {
    const calls: string[] = []
    const [first, second] = [() => calls.push('first'), () => calls.push('second')]
    const { loop } = waiting(function* ({ runtime }) {
      calls.push(...[first, first, second].map((callback) => String(runtime.afterTurn(callback))))
      yield* snooze()
      calls.push('same turn')
    })
    loop.runtime.batch()
    assert.equal(calls.join(' '), 'true true false same turn first')
    assert.equal(loop.runtime.afterTurn(first), false)
    loop.runtime.close()
  })

  test('in debug mode names a fiber that holds the event loop for more than 100 ms', () => {
    setDebug(true)
    try {
      const { loop } = waiting(function* (loop) {
        loop.time += 100
        yield* snooze()
      })
      assert.deepEqual(loop.reports, [])
      const slow = waiting(function* (loop) {
        loop.time += 150
        yield* snooze()
      })
      assert.deepEqual(slow.loop.reports, ['slow: root held the event loop for 150 ms'])
      for (const each of [loop, slow.loop]) each.run()
    } finally {
      setDebug(false)
    }
  })
})

test('a world that runs inside a fiber leaves the answer that is about to be read', function* () {
  const inner = spin(() => 'the answer')[Symbol.iterator]()
  const next = () => {
    const result = inner.next()
    explore(() => snooze())
    return result
  }
  assert.equal(yield* { [Symbol.iterator]: () => ({ next }) }, 'the answer')
})

describe('the event loop is told', () => {
  const node = () => ({ time: 0, seq: 0, index: -1, fire() {} })

  test('when the next timer is due, and whether a fiber waits for it', () => {
    const loop = new Loop()
    const told = () => [loop.alarm, loop.isAwaited]
    const [strong, weak] = [node(), node()]
    loop.runtime.addWeakTimer(weak, 5)
    assert.deepEqual(told(), [5, false])
    loop.runtime.addTimer(strong, 3)
    assert.deepEqual(told(), [3, true])
    loop.runtime.removeTimer(strong)
    assert.deepEqual(told(), [5, false])
    loop.time = 5
    loop.runtime.batch()
    assert.deepEqual(told(), [Number.POSITIVE_INFINITY, false])
    assert.equal(loop.runtime.stats().timers, 0)
    loop.runtime.close()
  })

  test('of timers once, at the end of the turn in which they are set', () => {
    const { loop } = waiting(function* () {
      for (const ms of [5, 4, 3]) spin(() => sleep(ms))
      yield* suspend()
    })
    assert.equal(loop.rests, 1)
    assert.equal(loop.alarm, 3)
    loop.runtime.close()
  })

  test('that something holds the process, and that nothing does any more', () => {
    const loop = new Loop()
    for (const change of ['hold', 'hold', 'release', 'release', 'hold'] as const) loop.runtime[change]()
    assert.deepEqual(loop.held, [true, false, true])
    assert.equal(loop.runtime.stats().pendingOps, 1)
    loop.runtime.close()
  })
})

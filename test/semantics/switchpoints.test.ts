// S08-S10: what waits and what does not, where signals are noticed, and places in a queue.

import { BaseOp, settle } from '#core/index'
import {
  assert,
  createLocal,
  describe,
  ensure,
  Fiber,
  isStop,
  moveOnAfter,
  type Op,
  receive,
  receiveAllPending,
  runtime,
  scope,
  shield,
  sleep,
  snooze,
  spin,
  started,
  test,
  thrownBy,
  tryReceive,
  until,
} from '../prelude.js'

describe('S08 two kinds of functions', () => {
  test('an op does nothing until it is yield*ed', function* () {
    const ran = () => assert.fail('it ran')
    sleep(1000)
    moveOnAfter(1000, ran)
    scope(ran)
    until(ran)
    assert.equal(runtime().timers.size, 0)
    yield* sleep(1)
  })

  test('what cannot wait is an ordinary function: its effect is there at the next line', function* () {
    assert.equal(tryReceive(), undefined)
    for (const message of ['a', 'b']) assert.equal(Fiber.current.send(message), true)
    assert.equal(tryReceive(), 'a')
    assert.deepEqual([receiveAllPending(), receiveAllPending()], [['b'], []])
  })

  for (const [verb, phase, state] of [
    ['stop', 'requested', 'dead'],
    ['terminate', 'requested', 'dead'],
    ['kill', 'forced', 'dead'],
    ['raise', 'live', 'dead'],
    ['cancel', 'live', 'dead'],
    ['restart', 'requested', 'waiting'],
  ] as const) {
    test(`${verb} acts at the call, and what it returns may be left alone`, function* () {
      const fiber = yield* started(() => sleep() as any)
      fiber[verb]()
      assert.deepEqual([fiber.phase, fiber.state], [phase, 'runnable'])
      yield* sleep(1)
      assert.equal(fiber.state, state)
    })
  }
})

describe('S09 every yield* of an op is a switchpoint', () => {
  test('a pending stop is noticed by an op that could finish at once, which does not begin', function* () {
    const log: unknown[] = []
    yield* spin(function* () {
      Fiber.current.send('message')
      Fiber.current.stop()
      log.push(isStop(yield* thrownBy(receive())), tryReceive())
    }).join()
    assert.deepEqual(log, [true, 'message'])
  })

  test('a pending raise too, once', function* () {
    const dead = spin(() => 'value')
    yield* dead
    const error = new Error('raised')
    Fiber.current.raise(error)
    assert.equal(yield* thrownBy(dead), error)
    assert.equal(yield* dead, 'value')
  })

  const local = createLocal(0)
  const nothing = () => {}
  const dead = Promise.resolve()
  const ops: [string, () => Op<unknown>][] = [
    ['scope', () => scope(nothing)],
    ['shield', () => shield(nothing)],
    ['moveOnAfter', () => moveOnAfter(10, nothing)],
    ['ensure', () => ensure(nothing, nothing)],
    ['local.with', () => local.with(1, nothing)],
    ['snooze', () => snooze()],
    ['until', () => until(dead)],
    ['joinChildren', () => Fiber.current.joinChildren()],
    ['shutdownChildren', () => Fiber.current.shutdownChildren()],
    ['Fiber.await of nothing', () => Fiber.await()],
    ['its own stop', () => Fiber.current.stop()],
  ]
  for (const [name, op] of ops) {
    test(`${name} is one: it does not begin, and a loop of it can be stopped`, function* () {
      const fiber = spin(function* () {
        Fiber.current.stop('at the switchpoint')
        yield* op()
        assert.fail('it passed')
      })
      assert.deepEqual(yield* fiber.join(), { type: 'stopped', value: 'at the switchpoint' })
      const loop = spin(function* () {
        for (let n = 0; n < 10_000; n++) yield* op()
        assert.fail('it never let go')
      })
      yield* snooze()
      assert.equal((yield* loop.stop()).type, 'stopped')
    })
  }
})

describe('S10 a waiter takes its place first', () => {
  /** Always ready; counts how often it was entered. */
  class Ready extends BaseOp<number> {
    entered = 0
    enter(fiber: Fiber): void {
      settle(fiber, this, ++this.entered)
    }
    abort(): void {}
    describe(): string {
      return 'ready'
    }
  }

  test('when the budget is spent the op has been entered before others run, and keeps its value', function* () {
    const ready = new Ready()
    const values: number[] = []
    const seen: number[] = []
    const worker = spin(function* () {
      while (values.length < 1000) values.push(yield* ready)
    })
    for (; worker.state !== 'dead'; yield* snooze()) {
      if (values.length > 0 && values.length < 1000) seen.push(ready.entered - values.length)
    }
    assert.ok(seen.length > 0, 'it never let others run')
    assert.deepEqual(new Set(seen), new Set([1]))
    assert.deepEqual(
      values,
      Array.from(values, (_, i) => i + 1),
    )
  })
})

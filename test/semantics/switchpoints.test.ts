// S08-S10 and S50: what is a switchpoint, when signals are noticed, and how many ready ops a fiber may take in a row.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  ensure,
  Fiber,
  isStop,
  moveOnAfter,
  type Op,
  receive,
  receiveAllPending,
  scope,
  shield,
  sleep,
  snooze,
  spin,
  tap,
  tryReceive,
} from 'polyphony'
import { virtual } from 'polyphony/testing'
import { BaseOp, settle } from '#core/op'

const runtime = (): any => (Fiber.current as any).runtime

/** An op that is always ready: it counts how often it was entered. */
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

test('S08 an op does nothing until it is yield*ed', () =>
  virtual(function* () {
    let ran = false
    sleep(1000)
    moveOnAfter(1000, () => {
      ran = true
    })
    scope(() => {
      ran = true
    })
    assert.equal(runtime().timers.size, 0)
    yield* sleep(1)
    assert.equal(ran, false)
  }))

test('S08 what cannot wait is an ordinary function: its effect is there at the next line', () =>
  virtual(function* () {
    const me = Fiber.current
    assert.equal(tryReceive(), undefined)
    assert.equal(me.send('a'), true)
    assert.equal(me.send('b'), true)
    assert.equal(tryReceive(), 'a')
    assert.deepEqual(receiveAllPending(), ['b'])
    assert.deepEqual(receiveAllPending(), [])
  }))

test('S08 the verbs act at the call, and what they return may be left alone', () =>
  virtual(function* () {
    const verbs: [string, (fiber: Fiber) => unknown][] = [
      ['requested', (fiber) => fiber.stop()],
      ['requested', (fiber) => fiber.terminate()],
      ['forced', (fiber) => fiber.kill()],
      ['requested', (fiber) => fiber.restart()],
    ]
    for (const [phase, verb] of verbs) {
      const fiber = spin(() => sleep())
      yield* sleep(1)
      verb(fiber)
      assert.equal(fiber.phase, phase)
      yield* sleep(1)
      if (fiber.incarnation === 1) assert.equal(fiber.state, 'dead')
      yield* fiber.stop()
    }
    for (const verb of ['raise', 'cancel'] as const) {
      const fiber = spin({ link: false }, () => sleep())
      yield* sleep(1)
      fiber[verb]()
      assert.equal(fiber.state, 'runnable')
      yield* fiber.join()
    }
  }))

test('S09 a pending stop is noticed by an op that could finish at once', () =>
  virtual(function* () {
    const log: unknown[] = []
    const fiber = spin(function* () {
      const me = Fiber.current
      me.send('message')
      me.stop()
      try {
        log.push(yield* receive())
      } catch (error) {
        log.push(isStop(error), tryReceive())
        throw error
      }
    })
    yield* fiber.join()
    assert.deepEqual(log, [true, 'message']) // the message was not taken
  }))

test('S09 a pending raise is noticed by an op that could finish at once', () =>
  virtual(function* () {
    const dead = spin(() => 'value')
    yield* dead
    const error = new Error('raised')
    Fiber.current.raise(error)
    try {
      yield* dead
      assert.fail('not reached')
    } catch (caught) {
      assert.equal(caught, error)
    }
    assert.equal(yield* dead, 'value') // it struck once
  }))

test('S09 a stop is noticed at once even when no op in sight ever waits', () =>
  virtual(function* () {
    const ready = new Ready()
    const fiber = spin(function* () {
      for (;;) {
        if (ready.entered === 50) Fiber.current.stop()
        yield* ready
      }
    })
    yield* fiber.join()
    assert.equal(ready.entered, 50)
  }))

const blocks: [string, () => Op<unknown>][] = [
  ['scope', () => scope(() => 1)],
  ['shield', () => shield(() => 1)],
  ['moveOnAfter', () => moveOnAfter(10, () => 1)],
  [
    'ensure',
    () =>
      ensure(
        () => 1,
        () => {},
      ),
  ],
  ['snooze', () => snooze()],
  ['joinChildren', () => Fiber.current.joinChildren()],
  ['Fiber.await of nothing', () => Fiber.await()],
  ['shutdownChildren', () => Fiber.current.shutdownChildren()],
]
for (const [name, op] of blocks) {
  test(`S09 entering ${name} is a switchpoint, though its body never waits`, () =>
    virtual(function* () {
      let passed = false
      const fiber = spin(function* () {
        Fiber.current.stop('at the switchpoint')
        yield* op()
        passed = true
      })
      assert.deepEqual(yield* fiber.join(), { type: 'stopped', value: 'at the switchpoint' })
      assert.equal(passed, false)
    }))

  test(`S50 a loop over ${name} lets others run`, () =>
    virtual(function* () {
      let others = false
      const loop = spin(function* () {
        for (let round = 0; round < 50_000 && !others; round++) yield* op()
        return others
      })
      spin(() => {
        others = true
      })
      assert.equal(yield* loop, true)
    }))
}

test('S10 S50 when the budget is spent the op has been entered before others run, and keeps its value', () =>
  virtual(function* () {
    const ready = new Ready()
    const values: number[] = []
    const seen: [entered: number, returned: number][] = []
    const worker = spin(function* () {
      for (let i = 0; i < 1000; i++) values.push(yield* ready)
    })
    while (worker.state !== 'dead') {
      seen.push([ready.entered, values.length])
      yield* snooze()
    }
    const midway = seen.filter(([entered]) => entered > 0 && values.length === 1000 && entered < 1000)
    assert.ok(midway.length > 0, 'the worker never let anybody run')
    for (const [entered, returned] of midway) assert.equal(entered, returned + 1)
    assert.deepEqual(
      values,
      Array.from({ length: 1000 }, (_, i) => i + 1),
    )
  }))

test('S50 a fiber takes 128 ready ops in one turn, and not one more', () =>
  virtual(function* () {
    const ready = new Ready()
    const perTurn: number[] = []
    const worker = spin(function* () {
      for (let i = 0; i < 1000; i++) yield* ready
    })
    const untap = tap((event, fiber) => {
      if (event === 'unblock' && fiber === worker) perTurn.push(ready.entered)
    })
    yield* worker
    untap()
    // The op that found the budget spent was entered too, but its fiber goes on only in the next turn.
    assert.deepEqual(perTurn, [0, 129, 258, 387, 516, 645, 774, 903])
  }))

test('S50 a fiber with a held stop lets others run too', () =>
  virtual(function* () {
    let others = false
    let seen = false
    const ready = new Ready()
    const worker = spin(function* () {
      yield* shield(function* () {
        Fiber.current.stop()
        while (!others && ready.entered < 50_000) yield* ready
        seen = others
      })
    })
    spin(() => {
      others = true
    })
    yield* worker.join()
    assert.equal(seen, true)
  }))

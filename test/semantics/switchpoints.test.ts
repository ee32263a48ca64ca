// S08-S10: what waits and what does not, where signals are noticed, and places in a queue.

import { BaseOp, settle } from '#core/index'
import {
  all,
  allSettled,
  any,
  assert,
  cancelAfter,
  createLocal,
  describe,
  ensure,
  Fiber,
  isStop,
  moveOnAfter,
  type Op,
  type Routine,
  race,
  receive,
  receiveAllPending,
  reports,
  retry,
  runtime,
  scope,
  shield,
  sleep,
  snooze,
  spin,
  started,
  supervise,
  test,
  thrownBy,
  tryReceive,
  until,
} from '../prelude.js'
import { signals } from '../shared/signals.js'

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

  /** Blocks and combinators that are given, or look at, a fiber that fails in its first turn; and what they make of it. */
  const isFailure = (outcome: any) => outcome?.type === 'error'
  function* throwsIts(fiber: Fiber<any>, op: Op<unknown>): Routine<boolean> {
    return (yield* thrownBy(op)) === (fiber.outcome as any).error
  }
  function* later(): Routine<boolean> {
    yield* sleep(1)
    return true
  }
  const begins: [string, (fiber: Fiber<any>) => Op<unknown>][] = [
    ['scope', (fiber) => scope(() => fiber.join())],
    ['moveOnAfter', (fiber) => moveOnAfter(100, () => fiber.join())],
    ['cancelAfter', (fiber) => cancelAfter(100, () => fiber.join())],
    ['ensure', (fiber) => ensure(() => fiber.join(), Math.random)],
    ['shield', (fiber) => shield(() => fiber.join())],
    [
      'limits in a scope in a shield',
      (fiber) => shield(() => scope(() => moveOnAfter(9, () => fiber.join()))),
    ],
    ['retry', (fiber) => retry(() => fiber.join())],
    ['all', (fiber) => throwsIts(fiber, all([fiber]))],
    ['race', (fiber) => throwsIts(fiber, race([fiber]))],
    ['allSettled', (fiber) => allSettled([fiber])],
    ['any', (fiber) => any([fiber, later])],
    ['with of a local', (fiber) => createLocal(1).with(2, () => fiber.join())],
    ['supervise', (fiber) => supervised(fiber)],
  ]
  /** Whether supervise was told of the end. */
  function* supervised(fiber: Fiber): Routine<boolean> {
    let told = 0
    yield* supervise([fiber], { onError: () => (++told > 0 ? 'ignore' : undefined) })
    return told === 1
  }
  const isRight = (answer: any): boolean => answer === true || isFailure(answer) || answer?.some?.(isRight)

  /** A fiber fails in its first turn; the block on the next line must be the one that hears of it. */
  function* hears(begin: (fiber: Fiber<any>) => Op<unknown>, options: object): Routine<boolean> {
    const fiber = spin(options, () => {
      throw new Error('failed at once')
    })
    try {
      return isRight(yield* begin(fiber))
    } catch {
      return false
    }
  }

  /** Gives way once, then finishes so many ops that are ready. */
  function* spend(ops: number): Routine<void> {
    const ready = function* () {
      Fiber.current.send('message')
      yield* receive()
    }
    let hasGivenWay = false
    const other = spin(() => (hasGivenWay = true))
    while (!hasGivenWay) yield* ready()
    yield* other
    for (let i = 0; i < ops; i++) yield* ready()
  }

  for (const [name, begin] of begins) {
    test(`${name} begins at once, however much of the budget is spent: a fiber spun before it has not run yet`, function* () {
      for (const link of [true, false]) {
        let deaf = 0
        for (let i = 0; i < 1000; i++) if (!(yield* hears(begin, { link }))) deaf++
        assert.deepEqual([deaf, reports().length], [0, 0], `link: ${link}`)
        yield* sleep(1)
      }
    })

    test(`${name} begins at once when 128 ready ops have gone before`, function* () {
      const deaf: number[] = []
      for (let ops = 120; ops < 140; ops++) {
        yield* spend(ops)
        if (!(yield* hears(begin, {}))) deaf.push(ops)
      }
      assert.deepEqual(deaf, [])
    })

    test(`${name} begins at once right after a signal was delivered`, function* () {
      const deaf: string[] = []
      for (const [what, strike] of signals) {
        yield* strike()
        if (!(yield* hears(begin, {}))) deaf.push(what)
      }
      assert.deepEqual([deaf, reports()], [[], []])
    })
  }
})

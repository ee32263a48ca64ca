// Wrong input of every kind: refused with a named error that says what to do, and nothing has changed.

import {
  after,
  assert,
  cancelAfter,
  describe,
  Fiber,
  moveOnAfter,
  receive,
  receiveAllPending,
  scope,
  sleep,
  snooze,
  spin,
  spinLoop,
  suspend,
  test,
  thrownBy,
  transfer,
  tryReceive,
  until,
  virtual,
} from '../prelude.js'

const wrong = (x: unknown): any => x
const nothing = () => {}

describe('refused by name', () => {
  /** What the error says, and the call. Bodies, options and attachTo: S05, S07; durations: S18; the rest: the misuse of each room. */
  const rows: [RegExp, (fiber: Fiber) => unknown][] = [
    [/^Fiber\.outOfBand\(\) needs a function\*/, () => Fiber.outOfBand(wrong(5))],
    [/a name that is a string, got 5/, (fiber) => (fiber.name = wrong(5))],
    [/an object of options, got 5/, (fiber) => fiber.stop(0, wrong(5))],
    [/an object of options, got null/, (fiber) => fiber.stop(0, wrong(null))],
    [/got 42/, () => cancelAfter(10, nothing, wrong(42))],
    [/got function nothing/, () => cancelAfter(10, nothing, wrong(nothing))],
    [/Fiber.await/, () => Fiber.await(wrong(sleep(1)))],
    [/Fiber.select/, () => Fiber.select(wrong(null))],
    [/transfer\(\) needs a fiber/, () => transfer(wrong({}))],
  ]
  for (const [message, call] of rows) {
    test(`${call}`, function* () {
      const fiber = spin('fiber', () => sleep(5)) as Fiber
      yield* sleep(1)
      assert.throws(() => call(fiber), { code: 'BAD_ARGUMENT', message })
      assert.deepEqual([fiber.name, fiber.phase, Fiber.current.children], ['fiber', 'live', [fiber]])
      assert.deepEqual([(yield* fiber.join()).type, fiber.incarnation], ['value', 1])
    })
  }

  for (const [message, pick] of [
    [/main cannot transfer to itself/, () => Fiber.current],
    [/cannot transfer to main > dead: it is dead$/, (dead: Fiber) => dead],
    [/busy: it is waiting for sleep\(10\)/, () => Fiber.current.children[0] as Fiber],
    [/fresh: it is runnable/, () => spin('fresh', nothing)],
  ] as const) {
    test(`a transfer, ${message.source}`, function* () {
      const dead = spin('dead', nothing) as Fiber
      spin('busy', () => sleep(10))
      yield* sleep(1)
      const error = yield* thrownBy(transfer(pick(dead)))
      assert.equal(error.code, 'BAD_STATE')
      assert.match(error.message, message)
      yield* Fiber.current.joinChildren()
    })
  }

  test('extend by what is no duration', function* () {
    for (const ms of [-1, Number.NaN, Infinity, 2 ** 31, '5', null, {}, 5n]) {
      const error = yield* thrownBy(moveOnAfter(5, (limit) => limit.extend(wrong(ms))))
      assert.equal(error.code, 'BAD_ARGUMENT', String(ms))
      assert.match(error.message, ms === -1 ? /got -1/ : /got /)
    }
  })

  test('Fiber.select of nothing', function* () {
    assert.equal((yield* thrownBy(wrong(Fiber.select)())).code, 'BAD_ARGUMENT')
  })

  test('attachTo a fiber of another world', function* () {
    const outer = spin(() => until(inner))
    const inner = virtual(function* () {
      const fiber = spin(() => snooze())
      assert.throws(() => fiber.attachTo(outer), { code: 'BAD_STATE', message: /different runtimes/ })
      yield* fiber
    })
    yield* outer
  })
})

test('a duration may be 0, a fraction, the longest there is, and for a grace infinite', function* () {
  yield* sleep(0)
  yield* sleep(0.5)
  yield* moveOnAfter(2 ** 31 - 1, () => sleep(1), { grace: Number.POSITIVE_INFINITY })
})

describe('outside any fiber', () => {
  const spread = [sleep(1), snooze(), suspend(), receive(), scope(nothing), until(Promise.resolve())]
  const uses: (() => unknown)[] = [
    () => spin(nothing),
    () => Fiber.current,
    () => new Fiber(nothing),
    () => Fiber.outOfBand(nothing),
    () => tryReceive(),
    () => receiveAllPending(),
    () => after(1, nothing),
    () => spinLoop(nothing),
    ...spread.map((op) => () => [...wrong(op)]),
  ]
  test('every use throws NotInFiber, which names main and run', () => {
    for (const use of uses) {
      assert.throws(use, { code: 'NOT_IN_FIBER', message: /main\(function\*.*run\(function\*/ }, String(use))
    }
  })

  test('so it is in a callback of the event loop', function* () {
    const use = () => assert.throws(() => Fiber.current, { code: 'NOT_IN_FIBER' })
    yield* until(new Promise<void>((resolve) => setImmediate(() => resolve(use()))))
  })
})

// Wrong input of every kind: refused with a named error that says what to do, and nothing has changed.

import { runInNewContext } from 'node:vm'
import { addCleanup, onAbort, onEnd, op, runBody } from 'polyphony/op'
import {
  after,
  assert,
  cancelAfter,
  describe,
  endListeners,
  ensure,
  Fiber,
  meter,
  moveOnAfter,
  receive,
  receiveAllPending,
  scope,
  sleep,
  snooze,
  spin,
  spinLoop,
  suppressedErrors,
  suspend,
  tap,
  test,
  thrownBy,
  transfer,
  tryReceive,
  until,
  virtual,
} from '../prelude.js'
import { refuses } from '../shared/refuses.js'

const wrong = (x: unknown): any => x
const nothing = () => {}

describe('refused by name', () => {
  /** What the error says, and the call. Bodies, options and attachTo: S05, S07; durations: S18; the rest: the misuse of each room. */
  const rows: [RegExp, (fiber: Fiber) => unknown][] = [
    [/^Fiber\.outOfBand\(\) needs a function\*/, () => Fiber.outOfBand(wrong(5))],
    [/the name of a fiber needs a string that is not empty, got 5/, (fiber) => (fiber.name = wrong(5))],
    [/an object of options, got 5/, (fiber) => fiber.stop(0, wrong(5))],
    [/an object of options, got null/, (fiber) => fiber.stop(0, wrong(null))],
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

  /** What is no error, no class of errors and no message. An array is Ruby's way to give a class and a message. */
  const noErrors: [RegExp, unknown][] = [
    [/got an array of 2/, [TypeError, 'message']],
    [/got an array of 0/, []],
    [/got an object of class Object/, { message: 'looks like an error' }],
    [/got an object of class Promise/, Promise.resolve()],
    [/got an object of class Date/, new Date(0)],
    [/got an object/, Object.create(null)],
    [/got 42/, 42],
    [/got 42/, 42n],
    [/got null/, null],
    [/got true/, true],
    [/got Symbol\(\)/, Symbol()],
    [/got function nothing/, nothing],
    [/got function Date/, Date],
  ]
  for (const [what, give] of [
    ['raise', (fiber, given, message) => fiber.raise(given, message)],
    ['cancel', (fiber, given, message) => fiber.cancel(given, message)],
    ['cancelAfter', (_fiber, given, message) => cancelAfter(10, nothing, given, message)],
  ] as [string, (fiber: Fiber, given: any, message?: any) => unknown][]) {
    test(`what is no error, given to ${what}`, function* () {
      const fiber = spin({ link: false }, () => sleep(5)) as Fiber
      yield* sleep(1)
      for (const [message, given] of noErrors) {
        assert.throws(() => give(fiber, given), { code: 'BAD_ARGUMENT', message }, String(message))
        assert.equal(fiber.phase, 'live')
      }
      assert.equal((yield* fiber.join()).type, 'value')
    })

    test(`a message without a class of errors, given to ${what}`, function* () {
      const fiber = spin({ link: false }, () => sleep(5)) as Fiber
      yield* sleep(1)
      for (const given of [new Error('one'), 'one', undefined]) {
        const message = /takes a message only after an error class, got .* and "two"/
        assert.throws(() => give(fiber, given, 'two'), { code: 'BAD_ARGUMENT', message })
      }
      assert.throws(
        () => give(fiber, TypeError, 2),
        /needs a string as the message of the error class, got 2/,
      )
      assert.equal((yield* fiber.join()).type, 'value')
    })

    test(`an error of another realm may be given to ${what}`, function* () {
      const fiber = spin({ link: false }, () => sleep(5)) as Fiber
      const foreign = runInNewContext('new Error("foreign")')
      assert.doesNotThrow(() => give(fiber, foreign))
      assert.doesNotThrow(() => give(fiber, Object.create(Error.prototype)))
      yield* fiber.join()
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
    for (const ms of [-1, Number.NaN, -Infinity, 2 ** 31, '5', null, {}, 5n]) {
      const error = yield* thrownBy(moveOnAfter(5, (limit) => limit.extend(wrong(ms))))
      assert.equal(error.code, 'BAD_ARGUMENT', String(ms))
      assert.match(error.message, ms === -1 ? /got -1/ : /got /)
    }
  })

  test('a monitor of oneself: its message would never be read', function* () {
    const message = /^main cannot monitor itself: .*Call monitor\(\) of the fiber that is watched/
    assert.throws(() => Fiber.current.monitor(), { code: 'BAD_STATE', message })
    assert.equal(endListeners(Fiber.current), 0)
    Fiber.current.unmonitor() // nothing to take back
    yield* snooze()
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

  test('an array is told from other things that are no errors: a class and its message are easily put into one', function* () {
    const advice = /A class and its message are two arguments/
    assert.throws(() => Fiber.current.raise(wrong([Error, 'oops'])), advice)
    assert.throws(
      () => Fiber.current.raise(wrong(5)),
      (error: Error) => !advice.test(error.message),
    )
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

  test('an ensure is refused whole, its cleanup too', () => {
    const cleanup = () => assert.fail('cleaned up')
    const refused = { code: 'NOT_IN_FIBER' }
    const isRefused = (error: any) =>
      [error, ...suppressedErrors(error)].every(({ code }) => code === refused.code)
    assert.throws(() => [...wrong(ensure(nothing, cleanup))], isRefused)
  })

  test('so it is in a callback of the event loop', function* () {
    const use = () => assert.throws(() => Fiber.current, { code: 'NOT_IN_FIBER' })
    yield* until(new Promise<void>((resolve) => setImmediate(() => resolve(use()))))
  })
})

describe('parts of polyphony/op, and what tools use', () => {
  refuses([
    ['onEnd()', (x) => onEnd(x, () => {}), [undefined, 5, {}], /^onEnd\(\) needs a fiber, got/],
    [
      'addCleanup()',
      (x) => addCleanup(x, () => {}),
      [undefined, 5, {}],
      /^addCleanup\(\) needs a fiber, got/,
    ],
    ['onAbort()', (x) => onAbort(x, () => {}), [undefined, {}], /^onAbort\(\) needs an AbortSignal, got/],
    ['runBody()', (x) => runBody(x), [undefined, 5], /^runBody\(\) needs a function/],
    ['tap()', (x) => tap(x), [undefined, 5, {}], /^tap\(\) needs a function to call, got/],
    [
      'meter()',
      (x) => meter(x),
      [undefined, {}, { turn() {}, begin() {} }],
      /^meter\(\) needs an object with turn/,
    ],
    [
      'op()',
      (x) => op('x', x),
      [undefined, 5, async function* () {}],
      /^op\(\) (needs a function|was given the async)/,
    ],
  ])

  test('there is one meter at a time, and only its own end ends it', () => {
    const none = { turn() {}, begin() {}, end() {} }
    const end = meter(none)
    assert.throws(() => meter({ ...none }), { code: 'BAD_STATE', message: /one meter at a time/ })
    end()
    const second = meter({ ...none })
    end()
    assert.throws(() => meter(none), { code: 'BAD_STATE' })
    second()
  })

  test('what they call back is checked too', function* () {
    const fiber = Fiber.current
    const refusals: [call: () => unknown, message: RegExp][] = [
      [() => onEnd(fiber, wrong(5)), /^the callback of onEnd\(\) needs a function, got 5/],
      [() => onEnd(fiber, () => {}, wrong('later')), /no moment "later"; there are: ranOut, ended, died/],
      [() => addCleanup(fiber, wrong(5)), /^addCleanup\(\) needs a function\*/],
      [() => addCleanup(fiber, async () => {}), /^addCleanup\(\) was given the async function/],
    ]
    for (const [call, message] of refusals) assert.throws(call, { code: 'BAD_ARGUMENT', message })
  })

  test('a cleanup for a dead fiber is refused: it would never run', function* () {
    const dead = spin('done', () => 1)
    yield* dead
    assert.throws(() => addCleanup(dead, () => {}), {
      code: 'BAD_STATE',
      message: /too late: .*done is dead/,
    })
  })
})

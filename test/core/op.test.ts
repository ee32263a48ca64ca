// Ops that are driven by hand, and answers that come at once. What yield* does with an op is told by the rules.

import { BaseOp, hold, OutsideOp, op, settle } from 'polyphony/op'
import {
  assert,
  describe,
  Fiber,
  moveOnAfter,
  now,
  type Op,
  receive,
  runtime,
  Semaphore,
  sleep,
  test,
  thrownBy,
} from '../prelude.js'

describe('an op whose methods are async or generator functions', () => {
  class Odd extends BaseOp<string> {
    constructor(readonly enter: (fiber: Fiber) => any) {
      super()
    }
    abort(): void {}
    describe(): string {
      return 'an odd op'
    }
  }
  class OddWork extends OutsideOp<string> {
    constructor(protected readonly start: () => any) {
      super()
    }
    protected cancel(): void {}
    describe(): string {
      return 'odd work'
    }
  }

  test('is refused with what to do instead, and its rejection is handled', function* () {
    const rows: [Op<unknown>, RegExp][] = [
      [
        new Odd(async () => {}),
        /enter\(\) of an odd op returned a promise.*by settle or fail.*until\(promise\)/,
      ],
      [new Odd(() => Promise.reject(new Error('x'))), /enter\(\) of an odd op returned a promise/],
      [new Odd(function* () {}), /enter\(\) of an odd op returned a generator, which never ran/],
      [new OddWork(async () => {}), /start\(\) of odd work returned a promise/],
    ]
    for (const [op, message] of rows) {
      const error = yield* thrownBy(op)
      assert.deepEqual([error.code, message.test(error.message)], ['BAD_ARGUMENT', true], error.message)
    }
    assert.deepEqual([runtime().external, runtime().stats().pendingOps], [0, 0])
  })

  test('may return anything else by accident', function* () {
    const odd: Odd = new Odd((fiber) => settle(fiber, odd, 'answer'))
    assert.equal(yield* odd, 'answer')
  })
})

describe('op()', () => {
  test('takes a function* or one that returns an op, and refuses what is neither', function* () {
    assert.equal(
      yield* op('twice()', function* () {
        return 2
      }),
      2,
    )
    const makes = op('again()', () => moveOnAfter(1, () => sleep(), 'moved on'))
    for (let i = 0; i < 2; i++) assert.equal(yield* makes, 'moved on')
    const error = yield* thrownBy(op('one()', (() => 1) as never))
    assert.match(error.message, /op\(\) needs a function\*, or one that returns an op; it returned 1/)
  })
})

describe('hold()', () => {
  test('says what is missing in what is to be held', () => {
    assert.throws(
      () => hold({} as never, () => 1),
      /hold\(\) needs an op `taking` in what is to be held, got/,
    )
    assert.throws(() => hold(undefined as never, () => 1), /hold\(\) needs an op `taking`/)
    assert.throws(() => hold({ taking: 1 } as never, () => 1), /hold\(\) needs a function `giveBack`/)
  })
})

describe('an op that is driven by hand', () => {
  /** What `yield*` would do with an op, but for the wait. */
  const begin = (op: unknown) => {
    const iterator = (op as Iterable<unknown>)[Symbol.iterator]() as Required<Iterator<unknown>>
    iterator.next()
    return iterator
  }

  test('throws what is thrown into it, and the fiber stays sound', function* () {
    const error = new Error('by hand')
    assert.throws(
      () => begin(sleep(10)).throw(error),
      (thrown) => thrown === error,
    )
    yield* sleep(1)
  })

  test('is named by the op that comes next, together with that one', function* () {
    begin(sleep(10))
    assert.match((yield* thrownBy(receive())).message, /^sleep\(10\), then receive\(\), was iterated by/)
    const same = begin(sleep(20))
    assert.throws(() => same.next(), { message: /^sleep\(20\) was iterated by/ })
    yield* sleep(1)
  })
})

test('an op that finishes at once gives its own answer, not that of the op before', function* () {
  Fiber.current.send('a message')
  yield* receive()
  assert.equal(yield* new Semaphore(1).acquire(), undefined)
})

test('an op that settles and then throws leaves no answer for the next one', function* () {
  class Confused extends BaseOp<string> {
    enter(fiber: Fiber) {
      settle(fiber, this, 'stale')
      throw new Error('after the answer')
    }
    abort() {}
    describe() {
      return 'a confused op'
    }
  }
  assert.equal((yield* thrownBy(new Confused())).message, 'after the answer')
  assert.equal(yield* sleep(5), undefined)
  assert.equal(now(), 5)
})

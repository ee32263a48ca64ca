// Ops that are driven by hand, and answers that come at once. What yield* does with an op is told by the rules.

import { BaseOp, settle } from 'polyphony/op'
import { assert, describe, Fiber, now, receive, Semaphore, sleep, test, thrownBy } from '../prelude.js'

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

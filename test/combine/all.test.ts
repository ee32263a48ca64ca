// all and allSettled: several things at once, and all of them wanted.

import {
  after,
  all,
  allSettled,
  any,
  assert,
  describe,
  Fiber,
  FiberStopped,
  failAfter,
  now,
  type Routine,
  retry,
  sleep,
  spin,
  suppressedErrors,
  suspend,
  test,
  thrownBy,
  until,
  waits,
} from '../prelude.js'

/** Gives a value after a while. */
function* later<T>(ms: number, value: T): Routine<T> {
  yield* sleep(ms)
  return value
}

describe('all', () => {
  test('gives the values of ops, bodies and fibers in order, and takes as long as the slowest', function* () {
    const fiber = spin(later, 20, 'fiber')
    const given = spin(() => suspend())
    given.stop('enough')
    const values = yield* all([
      later(30, 'op'),
      () => later(10, 'body'),
      fiber,
      () => 'plain',
      function* () {},
      () => fiber, // a body that returns a fiber gives its value
      given, // and a fiber that was stopped with a value that one
      until(Promise.resolve('promise')),
    ])
    assert.deepEqual(values, ['op', 'body', 'fiber', 'plain', undefined, 'fiber', 'enough', 'promise'])
    assert.deepEqual([now(), yield* all([fiber]), yield* all([])], [30, ['fiber'], []])
  })

  test('throws the first error when the others are stopped and have cleaned up; what they throw is suppressed', function* () {
    const errors = [new Error('0'), new Error('1'), new Error('2')]
    const clumsy = (n: number) => () =>
      waits(function* () {
        yield* sleep(10 * n)
        throw errors[n]
      })
    const theirs = spin(later, 100, 'theirs')
    const op = all([clumsy(2), () => failAfter(10, errors[0]!), theirs, clumsy(1)])
    assert.equal(yield* thrownBy(op), errors[0])
    assert.deepEqual(new Set(suppressedErrors(errors[0])), new Set(errors.slice(1)))
    assert.deepEqual([now(), Fiber.current.children, theirs.state], [30, [theirs], 'waiting'])
  })

  test('throws the error of a given fiber, once, or FiberStopped if that was stopped without a value', function* () {
    const error = new Error('theirs')
    let isOver = false
    const theirs = spin({ link: false }, () => failAfter(5, error))
    yield* spin(function* () {
      spin(() => retry(() => theirs, { times: 2, backoff: 5 })) // fails with the same error, later
      assert.equal(yield* thrownBy(all([theirs, () => waits(() => (isOver = true))])), error)
      assert.ok(isOver)
      yield* sleep(10) // it does not come up again (S25)
    })
    const stopped = spin(() => suspend())
    stopped.stop()
    assert.ok((yield* thrownBy(all([stopped]))) instanceof FiberStopped)
    const unseen = () => assert.fail('it was decided before')
    assert.equal(yield* thrownBy(all([theirs, unseen])), error)
  })
})

describe('allSettled', () => {
  test('tells how each one ended, in order; an error neither stops the others nor comes up', function* () {
    const error = new Error('broken')
    const stopped = spin(() => suspend())
    const theirs = spin(() => failAfter(1, error))
    stopped.stop('enough')
    assert.deepEqual(yield* allSettled([later(20, 1), () => failAfter(10, error), stopped, theirs]), [
      { type: 'value', value: 1 },
      { type: 'error', error },
      { type: 'stopped', value: 'enough' },
      { type: 'error', error },
    ])
    assert.deepEqual([now(), yield* allSettled([])], [20, []])
    yield* sleep(1)
  })

  for (const [name, combine] of Object.entries({ allSettled, any })) {
    test(`${name} tells also the error of a member that was stopped from outside and failed in its cleanup`, function* () {
      const error = new Error('in cleanup')
      let member: Fiber | undefined
      const body = () => {
        member = Fiber.current
        return waits(() => {
          throw error
        })
      }
      spin(() => after(5, () => void member?.stop()))
      const told: any = name === 'any' ? yield* thrownBy(any([body])) : yield* combine([body])
      assert.deepEqual(told.errors ?? [told[0].error], [error])
      assert.deepEqual(suppressedErrors(told), [])
    })
  }

  test('stopped, forgets the errors that it would have told', function* () {
    const fiber = spin(() => allSettled([() => failAfter(1, new Error('told')), () => suspend()]))
    yield* sleep(5)
    assert.deepEqual(yield* fiber.stop(), { type: 'stopped', value: undefined })
  })
})

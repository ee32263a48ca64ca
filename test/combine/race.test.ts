// race and any: the first one wins, the others are over before it is told (S37). Here: discard, and errors.

import {
  after,
  any,
  assert,
  describe,
  Fiber,
  FiberStopped,
  failAfter,
  moveOnAfter,
  now,
  type Op,
  type Routine,
  race,
  reports,
  scope,
  sleep,
  spin,
  suppressedErrors,
  suspend,
  test,
  thrownBy,
  waits,
} from '../prelude.js'

function* later<T>(ms: number, value: T): Routine<T> {
  yield* sleep(ms)
  return value
}

/** Loses, but returns all the same. */
function* stubborn<T>(value: T, ms = 0): Routine<T> {
  try {
    yield* suspend()
  } catch {
    yield* sleep(ms)
  }
  return value
}

/** Loses, and fails in its cleanup. */
const clumsy = (error: Error) => () =>
  waits(function* () {
    yield* sleep(5)
    throw error
  })

/** What `discard` was given. */
function dropping(): { dropped: unknown[]; discard: (value: unknown) => void } {
  const dropped: unknown[] = []
  return { dropped, discard: (value) => void dropped.push(value) }
}

for (const contest of [race, any]) {
  describe(contest.name, () => {
    test('gives the first value, when the losers have cleaned up; a given fiber is not stopped', function* () {
      const log: string[] = []
      const [first, second] = [spin(later, 10, 'first'), spin(later, 50, 'second')]
      const loser = () =>
        waits(function* () {
          yield* sleep(7)
          log.push('cleaned up')
        })
      const awaiting = [0, 2].map((ms) => spin(() => after(ms, () => second)))
      yield* sleep(1)
      assert.equal(yield* contest([later(50, 'slow'), () => later(5, 'quick'), second, loser]), 'quick')
      assert.deepEqual([log, now(), second.state], [['cleaned up'], 13, 'waiting'])
      assert.equal(yield* contest([second, first, () => suspend<string>()]), 'first')
      assert.equal(yield* contest([() => 'dead wins', first]), 'first')
      assert.deepEqual(yield* Fiber.await(...awaiting), ['second', 'second'])
      const given = spin(() => suspend<string>())
      given.stop('enough')
      assert.equal(yield* contest([given, () => suspend<string>()]), 'enough')
    })

    test('discards the values of losers, but not what one returns that was stopped', function* () {
      const { dropped, discard } = dropping()
      const order: string[] = []
      const close = ['a', 'b', 'c'].map(
        (name) =>
          function* () {
            yield* sleep(10)
            order.push(name)
            return name
          },
      )
      const list = [...close, () => later(20, 'late'), () => stubborn('stopped', 5)]
      const value = yield* contest(list, { discard })
      assert.deepEqual([value, ...dropped.sort()], [order[0], ...order.slice(1).sort()])
    })

    test('discards the winner too if a stop or an error goes through meanwhile', function* () {
      const slow = () => waits(() => sleep(50)) // still cleaning up when the time is over
      const { dropped, discard } = dropping()
      const op = contest([() => later(10, 'winner'), slow], { discard })
      assert.equal(yield* moveOnAfter(12, () => op, 'moved on'), 'moved on')
      const errors = [new Error('in cleanup'), new Error('in the other cleanup')]
      const list = [() => later(10, 'winner'), ...errors.map(clumsy)]
      const thrown = yield* thrownBy(contest(list, { discard }))
      assert.deepEqual(new Set([thrown, ...suppressedErrors(thrown)]), new Set(errors))
      assert.deepEqual(dropped, ['winner', 'winner'])
    })

    test('discards a value that comes as the host is killed, but not that of a given fiber', function* () {
      const { dropped, discard } = dropping()
      const late = function* () {
        yield* sleep(10)
        host.kill()
        return 'late'
      }
      const theirs = spin(later, 20, 'theirs')
      const host = spin((): any => contest([late, theirs], { discard }))
      const other = spin(() => contest([() => suspend(), theirs], { discard }))
      yield* host.join()
      yield* other.stop()
      yield* theirs
      assert.deepEqual(dropped, ['late'])
    })

    test('discards the value of a member that has detached itself, when that comes', function* () {
      const { dropped, discard } = dropping()
      const away = function* () {
        Fiber.current.detach()
        return yield* later(20, 'away')
      }
      const host = spin(() => contest([away, () => suspend<string>()], { discard }))
      yield* sleep(5)
      yield* host.stop()
      yield* sleep(20)
      assert.deepEqual(dropped, ['away'])
    })

    test('reports a discard that fails, and goes on', function* () {
      const discard = () => {
        throw new Error('cannot')
      }
      const value = yield* contest([() => later(1, 'a'), () => later(1, 'b')], { discard })
      assert.match(value, /^[ab]$/)
      assert.equal(reports().length, 1)
      assert.match(reports()[0]!, RegExp(`discarding a value of ${contest.name}\\(\\) failed: .*cannot`))
    })
  })
}

describe('race', () => {
  test('throws the error of the first to end, when the losers are over; their errors are suppressed', function* () {
    const [error, another] = [new Error('first'), new Error('another')]
    const thrown = yield* thrownBy(race([() => failAfter(5, error), () => sleep(50), clumsy(another)]))
    assert.equal(thrown, error)
    assert.deepEqual([suppressedErrors(thrown), now()], [[another], 10])
    const stopped = spin(() => suspend())
    stopped.stop()
    assert.ok((yield* thrownBy(race([stopped, () => suspend()]))) instanceof FiberStopped)
  })

  test('throws the error of a loser that failed in the same turn, and discards the winner', function* () {
    const error = new Error('close second')
    const { dropped, discard } = dropping()
    const op = race([() => later(5, 'winner'), () => failAfter(5, error)], { discard })
    assert.equal(yield* thrownBy(op), error)
    assert.deepEqual(dropped, ['winner'])
  })

  test('leaves the error of a given fiber that lost to its parent, while the losers clean up and later', function* () {
    const error = new Error('theirs')
    const { dropped, discard } = dropping()
    const theirs = spin(() => failAfter(10, error))
    const op = race([theirs, () => later(5, 'winner'), () => stubborn('loser', 20)], { discard })
    assert.equal(yield* thrownBy(op), error)
    assert.deepEqual(dropped, ['winner'])
    const another = new Error('another')
    const thrown = yield* thrownBy(
      scope(function* () {
        const failing = spin(() => failAfter(10, another))
        assert.equal(yield* race([failing, () => later(5, 'winner')]), 'winner')
        yield* suspend()
      }),
    )
    assert.equal(thrown, another)
  })
})

describe('any', () => {
  test('gives the first value, whatever fails before it or in the same turn; none of the errors comes up', function* () {
    const value = yield* any([
      () => failAfter(1, new Error('one')),
      () => later(10, 'value'),
      () => failAfter(10, new Error('close')),
      spin(() => failAfter(2, new Error('theirs'))),
    ])
    assert.equal(value, 'value')
    yield* sleep(1)
    const host = spin(() => any([() => failAfter(1, new Error('forgotten')), () => suspend()]))
    yield* sleep(5)
    assert.deepEqual(yield* host.stop(), { type: 'stopped', value: undefined })
  })

  test('throws an AggregateError with all errors in the order of the list, also if there is one', function* () {
    const [one, two] = [new Error('one'), new Error('two')]
    const stopped = spin(() => suspend())
    stopped.stop()
    const thrown = yield* thrownBy(any([() => failAfter(20, one), () => failAfter(10, two), stopped]))
    assert.ok(thrown instanceof AggregateError)
    assert.match(thrown.message, /all 3 contenders of any\(\) in main/)
    assert.deepEqual([thrown.errors.slice(0, 2), suppressedErrors(thrown)], [[one, two], []])
    assert.ok(thrown.errors[2] instanceof FiberStopped)
    assert.deepEqual((yield* thrownBy(any([() => failAfter(1, one)]))).errors, [one])
  })
})

describe('a given fiber that fails later', () => {
  test('is on its own again once the matter is decided, also while losers clean up', function* () {
    const isolated = spin({ name: 'isolated', link: false }, failAfter, 10, new Error('too late to count'))
    const loser = () => waits(() => sleep(20))
    assert.equal(yield* race([isolated, loser, () => later(5, 'won')]), 'won')
    assert.deepEqual(reports(), ['unobserved: main > isolated failed and nobody was awaiting it'])
  })

  for (const [name, contest] of Object.entries({ race, any }) as [string, (list: any[]) => Op<unknown>][]) {
    test(`than the end of a limit that has cut ${name} tells its parent, as any child does`, function* () {
      const error = new Error('late')
      const child = spin(failAfter, 10, error)
      yield* moveOnAfter(5, () => contest([child, () => sleep()]))
      assert.equal(yield* thrownBy(sleep(50)), error)
    })
  }
})

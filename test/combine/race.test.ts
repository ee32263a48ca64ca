// race and any: the first one wins, the others are over before it is told (S37).

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  any,
  BadArgument,
  Fiber,
  FiberStopped,
  moveOnAfter,
  type Routine,
  type RuntimeStats,
  race,
  scope,
  sleep,
  spin,
  suppressedErrors,
  suspend,
} from 'polyphony'
import { virtual } from 'polyphony/testing'
import { failAfter, thrownBy } from '../prelude.js'
import { clock } from '../time/clock.js'

function* later<T>(ms: number, value: T): Routine<T> {
  yield* sleep(ms)
  return value
}

/** Loses, but gives a value all the same. */
function* stubborn<T>(value: T, ms = 0): Routine<T> {
  try {
    yield* suspend()
  } catch {
    yield* sleep(ms)
  }
  return value
}

/** Loses, and fails in its cleanup. */
function* clumsy(error: Error): Routine<never> {
  try {
    return yield* suspend<never>()
  } finally {
    yield* sleep(5)
    // biome-ignore lint/correctness/noUnsafeFinally: that is the point
    throw error
  }
}

/** Gives its value in the same turn as it is told to stop: the answer comes first (S34). */
function* narrowly<T>(ms: number, value: T): Routine<T> {
  return yield* later(ms, value)
}

/** Of the world that the test runs in. */
function runtimeStatsHere(): RuntimeStats {
  return (Fiber.current as unknown as { runtime: { stats(): RuntimeStats } }).runtime.stats()
}

for (const [name, contest] of [
  ['race', race],
  ['any', any],
] as const) {
  describe(name, () => {
    it('S37 the first value wins; the losers have cleaned up before it is given', () =>
      virtual(function* () {
        const now = clock()
        const log: string[] = []
        const value = yield* contest([
          later(50, 'slow'),
          () => later(10, 'quick'),
          function* () {
            try {
              yield* suspend()
            } finally {
              yield* sleep(7)
              log.push('cleaned up')
            }
            return 'never'
          },
        ])
        assert.equal(value, 'quick')
        assert.deepEqual([log, now()], [['cleaned up'], 17])
        assert.deepEqual(Fiber.current.children, [])
      }))

    it('S37 a fiber that is not ours may win or lose, and is not stopped', () =>
      virtual(function* () {
        const first = spin(later, 10, 'first')
        const second = spin(later, 20, 'second')
        assert.equal(yield* contest([second, first, () => suspend<string>()]), 'first')
        assert.equal(second.state, 'waiting')
        assert.equal(yield* second, 'second')
        assert.equal(yield* contest([() => later(5, 'dead wins'), first]), 'first')
      }))

    it('S37 the values of losers go to discard, that of the winner does not', () =>
      virtual(function* () {
        const dropped: string[] = []
        const discard = (value: string) => void dropped.push(value)
        const value = yield* contest(
          [() => narrowly(10, 'a'), () => narrowly(10, 'b'), () => narrowly(10, 'c'), () => later(20, 'd')],
          { discard },
        )
        assert.deepEqual([value, ...dropped].sort(), ['a', 'b', 'c'])
      }))

    it('S37 S66 one that is stopped and returns all the same has no value to discard', () =>
      virtual(function* () {
        const dropped: unknown[] = []
        const discard = (value: unknown) => void dropped.push(value)
        assert.equal(yield* contest([() => later(1, 'a'), () => stubborn('b', 5)], { discard }), 'a')
        assert.deepEqual(dropped, [])
      }))

    it('S37 a winner that comes too late, because a stop went through, is discarded', () =>
      virtual(function* () {
        const dropped: unknown[] = []
        const discard = (value: unknown) => void dropped.push(value)
        const value = yield* moveOnAfter(
          12,
          () =>
            contest(
              [
                () => later(10, 'winner'),
                function* () {
                  try {
                    yield* suspend()
                  } finally {
                    yield* sleep(50) // still cleaning up when the time is over
                  }
                },
              ],
              { discard },
            ),
          'moved on',
        )
        assert.equal(value, 'moved on')
        assert.deepEqual(dropped, ['winner'])
      }))

    it('S37 a value that comes as the host is killed is discarded', () =>
      virtual(function* () {
        const dropped: unknown[] = []
        const discard = (value: unknown) => void dropped.push(value)
        const host: Fiber = spin(() => contest([late, () => suspend()], { discard }))
        function* late() {
          yield* sleep(10)
          host.kill()
          return 'late'
        }
        yield* host.join()
        assert.deepEqual(dropped, ['late'])
      }))

    it('S70 a discard that fails is reported, and changes nothing', () =>
      virtual(function* () {
        const before = runtimeStatsHere().reports
        const discard = () => {
          throw new Error('cannot')
        }
        assert.match(yield* contest([() => narrowly(1, 'a'), () => narrowly(1, 'b')], { discard }), /^[ab]$/)
        assert.equal(runtimeStatsHere().reports, before + 1)
      }))

    it('S22 an error in the cleanup of a loser is thrown, and the value of the winner discarded', () =>
      virtual(function* () {
        const [error, second] = [new Error('in cleanup'), new Error('in the other cleanup')]
        const dropped: unknown[] = []
        const discard = (value: unknown) => void dropped.push(value)
        const thrown = yield* thrownBy(
          contest([() => later(10, 'winner'), () => clumsy(error), () => clumsy(second)], { discard }),
        )
        assert.deepEqual(new Set([thrown, ...suppressedErrors(thrown)]), new Set([error, second]))
        assert.deepEqual(dropped, ['winner'])
      }))

    it('stopped itself, it stops its members and waits for them', () =>
      virtual(function* () {
        const now = clock()
        const fiber = spin(() => contest([() => stubborn('a', 10), () => stubborn('b', 20)]))
        yield* sleep(5)
        assert.deepEqual(yield* fiber.stop(), { type: 'stopped', value: undefined })
        assert.equal(now(), 25)
      }))

    it('stop(value) gives a contender a value', () =>
      virtual(function* () {
        const given = spin(() => suspend<string>())
        given.stop('enough')
        assert.equal(yield* contest([given, () => suspend<string>()]), 'enough')
      }))

    it('wrong use is refused at the call', () =>
      virtual(function* () {
        const refused = (call: () => unknown, message: RegExp) =>
          assert.throws(call, (error) => error instanceof BadArgument && message.test(error.message))
        refused(() => contest([]), /needs at least one op or body/)
        refused(
          () => contest([() => 1], { discards: 1 } as any),
          /has no option "discards"; there are: discard/,
        )
        refused(() => contest([() => 1], { discard: 1 as any }), /needs a function as discard, got 1/)
        refused(() => contest([Promise.resolve(1)] as any), /item 0 .* promise.*until/)
        refused(() => contest(5 as any), /needs an array/)
      }))

    it('children that a contender spun end with it', () =>
      virtual(function* () {
        let open = 0
        function* child() {
          open++
          try {
            yield* suspend()
          } finally {
            open--
          }
        }
        const value = yield* contest([
          function* () {
            spin(child)
            yield* sleep(1)
            return 'done'
          },
          function* () {
            spin(child)
            yield* suspend()
            return 'never'
          },
        ])
        assert.deepEqual([value, open], ['done', 0])
      }))
  })
}

describe('race', () => {
  it('S37 the first to end wins also by its error; the losers are stopped first, their errors suppressed', () =>
    virtual(function* () {
      const [error, later] = [new Error('first'), new Error('later')]
      const thrown = yield* thrownBy(race([() => failAfter(5, error), () => sleep(50), () => clumsy(later)]))
      assert.equal(thrown, error)
      assert.deepEqual(suppressedErrors(thrown), [later])
    }))

  it('S22 an error is never dropped: a loser that failed in the same turn is thrown', () =>
    virtual(function* () {
      const error = new Error('close second')
      const dropped: unknown[] = []
      const discard = (value: unknown) => void dropped.push(value)
      assert.equal(
        yield* thrownBy(race([() => narrowly(5, 'winner'), () => failAfter(5, error)], { discard })),
        error,
      )
      assert.deepEqual(dropped, ['winner'])
    }))

  it('a contender that is stopped without a value throws FiberStopped', () =>
    virtual(function* () {
      const fiber = spin(() => suspend())
      fiber.stop()
      assert.ok((yield* thrownBy(race([fiber, () => suspend()]))) instanceof FiberStopped)
    }))

  it('S24 a fiber that lost, and fails while the losers clean up, is heard by its parent', () =>
    virtual(function* () {
      const error = new Error('theirs')
      const theirs = spin(() => failAfter(10, error))
      const dropped: unknown[] = []
      const discard = (value: unknown) => void dropped.push(value)
      assert.equal(
        yield* thrownBy(race([theirs, () => later(5, 'winner'), () => stubborn('loser', 20)], { discard })),
        error,
      )
      assert.deepEqual(dropped, ['winner'])
    }))

  it('S24 the error of a fiber that lost goes where it would have gone', () =>
    virtual(function* () {
      const error = new Error('theirs')
      const thrown = yield* thrownBy(
        scope(function* () {
          const theirs = spin(() => failAfter(10, error))
          assert.equal(yield* race([theirs, () => later(5, 'winner')]), 'winner')
          yield* suspend()
        }),
      )
      assert.equal(thrown, error)
    }))
})

describe('any', () => {
  it('contenders may fail: the first value wins', () =>
    virtual(function* () {
      const value = yield* any([
        () => failAfter(1, new Error('one')),
        () => later(10, 'value'),
        () => failAfter(5, new Error('two')),
        spin(() => failAfter(2, new Error('theirs'))),
      ])
      assert.equal(value, 'value')
      yield* sleep(1) // none of the errors comes up later
    }))

  it('a loser that fails by itself in the same turn, or before its stop strikes, changes nothing', () =>
    virtual(function* () {
      assert.equal(
        yield* any([() => narrowly(5, 'winner'), () => failAfter(5, new Error('close'))]),
        'winner',
      )
    }))

  it('if all fail, it throws an AggregateError with their errors in the order of the list', () =>
    virtual(function* () {
      const [one, two] = [new Error('one'), new Error('two')]
      const stopped = spin(() => suspend())
      stopped.stop()
      const thrown = yield* thrownBy(any([() => failAfter(20, one), () => failAfter(10, two), stopped]))
      assert.ok(thrown instanceof AggregateError)
      assert.match(thrown.message, /all 3 contenders of any\(\) in main/)
      assert.deepEqual(thrown.errors.slice(0, 2), [one, two])
      assert.ok(thrown.errors[2] instanceof FiberStopped)
      assert.deepEqual(suppressedErrors(thrown), [])
    }))

  it('one shape: a single failure is an AggregateError too', () =>
    virtual(function* () {
      const error = new Error('alone')
      assert.deepEqual((yield* thrownBy(any([() => failAfter(1, error)]))).errors, [error])
    }))

  it('stopped itself, it forgets the errors of those that had failed', () =>
    virtual(function* () {
      const fiber = spin(() => any([() => failAfter(1, new Error('failed')), () => suspend()]))
      yield* sleep(5)
      assert.deepEqual(yield* fiber.stop(), { type: 'stopped', value: undefined })
    }))
})

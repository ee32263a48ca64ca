// retry: the same body again, after an error, never after a stop.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  BadArgument,
  Fiber,
  isStop,
  moveOnAfter,
  type Routine,
  retry,
  shield,
  sleep,
  snooze,
  spin,
  suppressedErrors,
  suspend,
} from 'polyphony'
import { virtual } from 'polyphony/testing'
import { thrownBy } from '../prelude.js'
import { clock } from '../time/clock.js'

/** Fails so many times, and notes when it was run. */
function failing(times: number, now = clock()) {
  const at: number[] = []
  const errors: Error[] = []
  function* body(attempt: number): Routine<string> {
    at.push(now())
    yield* snooze()
    if (attempt > times) return `at try ${attempt}`
    const error = new Error(`try ${attempt}`)
    errors.push(error)
    throw error
  }
  return { at, errors, body }
}

describe('retry', () => {
  it('runs again on an error, and tells the body which try it is', () =>
    virtual(function* () {
      const { at, body } = failing(2)
      assert.equal(yield* retry(body), 'at try 3')
      assert.deepEqual(at, [0, 0, 0])
      assert.equal(yield* retry(() => 'plain'), 'plain')
    }))

  it('gives up after so many tries in all, 3 unless told otherwise', () =>
    virtual(function* () {
      for (const [options, tries] of [
        [{}, 3],
        [{ times: 1 }, 1],
        [{ times: 5 }, 5],
      ] as const) {
        const { at, body } = failing(10)
        yield* thrownBy(retry(body, options))
        assert.equal(at.length, tries)
      }
      const { at, body } = failing(100)
      yield* retry(body, { times: Infinity })
      assert.equal(at.length, 101)
    }))

  it('throws the last error, with those before it in suppressed, oldest first, ten at the most', () =>
    virtual(function* () {
      const { errors, body } = failing(3)
      assert.equal(yield* thrownBy(retry(body)), errors[2])
      assert.deepEqual(suppressedErrors(errors[2]), errors.slice(0, 2))
      const many = failing(20)
      const thrown = yield* thrownBy(retry(many.body, { times: 20 }))
      assert.deepEqual(suppressedErrors(thrown), many.errors.slice(9, 19))
      const always = new Error('always the same')
      yield* thrownBy(
        retry(() => {
          throw always
        }),
      )
      assert.deepEqual(suppressedErrors(always), [])
    }))

  it('waits as the backoff says', () =>
    virtual(function* () {
      for (const [backoff, times] of [
        [10, [0, 10, 20, 30]],
        [{ delay: 10 }, [0, 10, 30, 70]],
        [{ delay: 10, factor: 3, max: 50 }, [0, 10, 40, 90]],
        [(failures: number) => failures * 100, [0, 100, 300, 600]],
      ] as const) {
        const { at, body } = failing(3)
        yield* retry(body, { times: 4, backoff })
        assert.deepEqual(at, times)
      }
    }))

  it('asks when() whether to go on', () =>
    virtual(function* () {
      const asked: unknown[] = []
      const { errors, body } = failing(5)
      const when = (error: unknown, attempt: number) => {
        asked.push([error, attempt])
        return attempt < 2
      }
      assert.equal(yield* thrownBy(retry(body, { times: 5, when })), errors[1])
      assert.deepEqual(asked, [
        [errors[0], 1],
        [errors[1], 2],
      ])
    }))

  it('S22 a when() that fails is thrown, and the error it was asked about is kept', () =>
    virtual(function* () {
      const { errors, body } = failing(5)
      const broken = new Error('in when')
      const when = () => {
        throw broken
      }
      assert.equal(yield* thrownBy(retry(body, { when })), broken)
      assert.deepEqual(suppressedErrors(broken), errors)
      const promised = (async () => true) as any
      const thrown = yield* thrownBy(retry(body, { when: promised }))
      assert.match(thrown.message, /must return true or false, got an object of class Promise/)
    }))

  it('never runs again after a stop, also not if the cleanup failed', () =>
    virtual(function* () {
      let runs = 0
      const fiber = spin(() =>
        retry(function* () {
          runs++
          yield* suspend()
        }),
      )
      yield* sleep(1)
      yield* fiber.stop()
      assert.deepEqual([runs, fiber.outcome], [1, { type: 'stopped', value: undefined }])
      const error = new Error('in cleanup')
      const clumsy = spin({ link: false }, () =>
        retry(
          function* () {
            runs++
            try {
              yield* suspend()
            } finally {
              // biome-ignore lint/correctness/noUnsafeFinally: that is the point
              throw error
            }
          },
          { backoff: 1 },
        ),
      )
      yield* sleep(1)
      yield* clumsy.stop()
      assert.deepEqual([runs, clumsy.outcome], [2, { type: 'error', error }])
    }))

  it('a time limit around it ends it, between the tries and in one', () =>
    virtual(function* () {
      const now = clock()
      const { at, body } = failing(100)
      assert.equal(
        yield* moveOnAfter(25, () => retry(body, { times: Infinity, backoff: 10 }), 'over'),
        'over',
      )
      assert.deepEqual([at, now()], [[0, 10, 20], 25])
      assert.equal(yield* moveOnAfter(5, () => retry(() => sleep(10)), 'over'), 'over')
    }))

  it('a time limit in the body is an error like any other, or none', () =>
    virtual(function* () {
      let runs = 0
      const value = yield* retry(() => {
        runs++
        return moveOnAfter(5, () => sleep(10), 'moved on')
      })
      assert.deepEqual([runs, value], [1, 'moved on'])
    }))

  it('works in cleanup that is allowed to wait', () =>
    virtual(function* () {
      let result: unknown
      const fiber = spin(function* () {
        try {
          yield* suspend()
        } catch (stop) {
          assert.ok(isStop(stop))
          const { body } = failing(2)
          result = yield* shield(() => retry(body, { backoff: 5 }))
          throw stop
        }
      })
      yield* sleep(1)
      yield* fiber.stop()
      assert.equal(result, 'at try 3')
    }))

  it('each try is a scope: what it spun is over before the next one, and its errors are errors of the try', () =>
    virtual(function* () {
      let open = 0
      const value = yield* retry(
        function* (attempt) {
          assert.equal(open, 0)
          spin(function* () {
            open++
            try {
              yield* sleep(10)
            } finally {
              yield* sleep(1)
              open--
            }
          })
          yield* snooze()
          if (attempt === 1) throw new Error('body')
          if (attempt === 2) {
            spin(() => {
              throw new Error('child')
            })
          }
          return attempt
        },
        { backoff: 1 },
      )
      assert.deepEqual([value, open, Fiber.current.children], [3, 0, []])
    }))

  it('wrong use is refused at the call', () =>
    virtual(function* () {
      const refused = (options: unknown, message: RegExp) =>
        assert.throws(
          () => retry(() => {}, options as any),
          (error) => error instanceof BadArgument && message.test(error.message),
        )
      refused({ tries: 3 }, /has no option "tries"; there are: times, backoff, jitter, when/)
      for (const times of [0, -1, 1.5, '3', Number.NaN])
        refused({ times }, /a whole number of times from 1 up/)
      refused({ when: true }, /needs a function as when, got true/)
      refused({ backoff: -1 }, /the backoff of retry\(\) needs a duration/)
      refused({ jitter: 2 }, /retry\(\) needs a jitter from 0 to 1, got 2/)
      assert.throws(() => retry((async () => {}) as any), /until\(promise\)/)
    }))
})

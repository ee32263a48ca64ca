// retry: the same body again, after an error, never after a stop.

import {
  assert,
  describe,
  Fiber,
  moveOnAfter,
  now,
  type RetryOptions,
  type Routine,
  retry,
  sleep,
  snooze,
  spin,
  started,
  suppressedErrors,
  suspend,
  test,
  thrownBy,
  waits,
} from '../prelude.js'

/** Fails so many times, and notes when it was run. */
function failing(times: number) {
  const begin = now()
  const at: number[] = []
  const errors: Error[] = []
  function* body(attempt: number): Routine<string> {
    at.push(now() - begin)
    yield* snooze()
    if (attempt > times) return `at try ${attempt}`
    const error = new Error(`try ${attempt}`)
    errors.push(error)
    throw error
  }
  return { at, errors, body }
}

describe('retry', () => {
  const rows: [what: string, options: RetryOptions, failures: number, at: number[], isOver: boolean][] = [
    ['three times in all unless told otherwise', {}, 2, [0, 0, 0], true],
    ['not more than three times', {}, 3, [0, 0, 0], false],
    ['once', { times: 1 }, 1, [0], false],
    ['as often as needed', { times: Infinity }, 50, Array(51).fill(0), true],
    ['after a steady wait', { times: 4, backoff: 10 }, 3, [0, 10, 20, 30], true],
    ['after a wait that grows', { times: 4, backoff: { delay: 10 } }, 4, [0, 10, 30, 70], false],
    ['after what a function says', { backoff: (failures) => failures * 100 }, 2, [0, 100, 300], true],
    ['while when() says so', { times: 9, when: (_, attempt) => attempt < 2 }, 9, [0, 0], false],
  ]
  for (const [what, options, failures, times, isOver] of rows) {
    test(`tries ${what}`, function* () {
      const { at, errors, body } = failing(failures)
      const op = retry(body, options)
      if (isOver) assert.equal(yield* op, `at try ${times.length}`)
      else assert.equal(yield* thrownBy(op), errors.at(-1))
      assert.deepEqual(at, times)
    })
  }

  test('throws the last error, with those before it in suppressed, oldest first, ten at the most', function* () {
    const { errors, body } = failing(20)
    const thrown = yield* thrownBy(retry(body, { times: 20 }))
    assert.deepEqual(suppressedErrors(thrown), errors.slice(9, 19))
    const always = new Error('always the same')
    const op = retry(() => {
      throw always
    })
    assert.equal(yield* thrownBy(op), always)
    assert.deepEqual(suppressedErrors(always), [])
  })

  test('throws what when() throws, with the error it was asked about; its answer must be true or false', function* () {
    const { errors, body } = failing(9)
    const broken = new Error('in when')
    const when = (error: unknown) => {
      assert.equal(error, errors[0])
      throw broken
    }
    assert.equal(yield* thrownBy(retry(body, { when })), broken)
    assert.deepEqual(suppressedErrors(broken), errors)
    const thrown = yield* thrownBy(retry(body, { when: (async () => true) as any }))
    assert.match(thrown.message, /must return true or false, got an object of class Promise/)
  })

  test('never tries again after a stop, also if the cleanup failed', function* () {
    const error = new Error('in cleanup')
    for (const isClumsy of [false, true]) {
      let runs = 0
      const body = () => {
        runs++
        return waits(() => {
          if (isClumsy) throw error
        })
      }
      const fiber = spin({ link: false }, () => retry(body, { backoff: 1 }))
      yield* sleep(1)
      const outcome = isClumsy ? { type: 'error', error } : { type: 'stopped', value: undefined }
      assert.deepEqual([yield* fiber.stop(), runs], [outcome, 1])
    }
  })

  test('is ended by a time limit around it, between the tries and in one; one inside is no error', function* () {
    const { at, body } = failing(100)
    const op = retry(body, { times: Infinity, backoff: 10 })
    assert.equal(yield* moveOnAfter(25, () => op, 'over'), 'over')
    assert.deepEqual([at, now()], [[0, 10, 20], 25])
    assert.equal(yield* moveOnAfter(5, () => retry(() => sleep(10)), 'over'), 'over')
    let runs = 0
    const inside = retry(() => {
      runs++
      return moveOnAfter(5, () => sleep(10), 'moved on')
    })
    assert.deepEqual([yield* inside, runs], ['moved on', 1])
  })

  test('tries again in the cleanup of a stop as well', function* () {
    const { at, body } = failing(2)
    const fiber = yield* started(() => waits(() => retry(body, { backoff: 5 })))
    assert.equal((yield* fiber.stop()).type, 'stopped')
    assert.deepEqual(at, [1, 6, 11])
  })

  test('makes each try a scope: what it spun is over before the next, and its errors are those of the try', function* () {
    let open = 0
    const value = yield* retry(
      function* (attempt) {
        assert.equal(open++, 0)
        spin(() =>
          waits(function* () {
            yield* sleep(1)
            open--
          }, 10),
        )
        yield* sleep(1) // it has begun
        if (attempt === 1) throw new Error('body')
        if (attempt === 2) {
          spin(() => {
            throw new Error('child')
          })
          yield* suspend()
        }
        return attempt
      },
      { backoff: 1 },
    )
    assert.deepEqual([value, open, Fiber.current.children], [3, 0, []])
  })
})

// retry: the same body again, after an error, never after a stop.

import {
  assert,
  Cancel,
  cancelAfter,
  describe,
  Fiber,
  failAfter,
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

  test('has nothing to do with the error of another child of its fiber: the fiber hears of it at once', function* () {
    const gone = new Error('the database is gone')
    const tries: number[] = []
    const host = spin({ link: false }, function* () {
      spin('database', failAfter, 5, gone)
      return yield* retry(function* (attempt) {
        tries.push(attempt)
        yield* sleep(10)
      })
    })
    assert.deepEqual([yield* host.join(), tries, now()], [{ type: 'error', error: gone }, [1], 5])
  })

  for (const [what, isBetween] of [
    ['in a try', false],
    ['between two tries', true],
  ] as const) {
    test(`is not asked about what strikes from outside, ${what}: when() and the later tries`, function* () {
      const asked: unknown[] = []
      const own = new Error('its own')
      const body = () => (isBetween ? failAfter(1, own) : sleep(1000))
      const options = { times: 5, backoff: 1000, when: (error: unknown) => asked.push(error) > 0 }
      const strikes: [string, (fiber: Fiber) => unknown][] = [
        ['raise', (fiber) => fiber.raise('struck')],
        ['cancel', (fiber) => fiber.cancel('struck')],
        ['a child', (fiber) => fiber.children[0]?.raise('struck')],
      ]
      for (const [name, strike] of strikes) {
        asked.length = 0
        const fiber = spin({ link: false }, function* () {
          spin(() => sleep())
          yield* retry(body, options)
        })
        yield* sleep(10)
        const begin = now()
        strike(fiber)
        const { error }: any = yield* fiber.join()
        assert.deepEqual([error?.message, now() - begin], ['struck', 0], name)
        assert.deepEqual(asked, isBetween ? [own] : [], name)
      }
    })
  }

  test('of an error that its own body throws on, though it came from outside, tries again', function* () {
    const [mine, tries]: [Error, number[]] = [new Error('of a fiber that the body awaits'), []]
    const target = spin({ link: false }, failAfter, 5, mine)
    const op = retry(function* (attempt) {
      tries.push(attempt)
      if (attempt < 3) yield* target
      return attempt
    })
    assert.deepEqual([yield* op, tries], [3, [1, 2, 3]])
  })

  test('tries again after the Cancel of a limit inside, and not after that of a limit around it', function* () {
    const tries: number[] = []
    const body = (attempt: number) => {
      tries.push(attempt)
      return cancelAfter(5, () => sleep(60))
    }
    assert.ok((yield* thrownBy(retry(body))) instanceof Cancel)
    assert.deepEqual([tries, now()], [[1, 2, 3], 15])
    const total = yield* thrownBy(cancelAfter(12, () => retry(body, { times: 100 }), 'total'))
    assert.deepEqual([total.message, tries.length, now()], ['total', 6, 27])
  })

  test('ends with a limit of a second around it, not after a minute', function* () {
    const op = cancelAfter(1000, () => retry(() => sleep(60_000), { times: 5 }))
    assert.ok((yield* thrownBy(op)) instanceof Cancel)
    assert.equal(now(), 1000)
  })
})

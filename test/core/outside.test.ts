// Ops that wait for the outside: one attempt for each wait, late values, what holds the process (S35, S64).

import { type Attempt, LATER, OutsideOp } from 'polyphony/op'
import { assert, describe, Fiber, moveOnAfter, reports, runtime, snooze, spin, test } from '../prelude.js'

/** Work that the test answers. */
class Work extends OutsideOp<string> {
  readonly attempts: Attempt<string>[] = []
  readonly log: string[] = []

  constructor(private readonly early?: string | Error | typeof LATER) {
    super()
  }
  protected start(attempt: Attempt<string>): void {
    this.attempts.push(attempt)
    if (typeof this.early === 'string') attempt.settle(this.early)
    else if (this.early instanceof Error) throw this.early
  }
  protected cancel(): void | typeof LATER {
    this.log.push('cancel')
    return this.early === LATER ? LATER : undefined
  }
  protected override over(): void {
    this.log.push('over')
  }
  override discard(late: string): void {
    this.log.push(`discard ${late}`)
    if (late === 'bad') throw new Error('it does not go away')
  }
  describe(): string {
    return 'work'
  }
}

const held = () => [runtime().external, runtime().stats().pendingOps]

/** A fiber that waits for the work. */
function* waiting(work: Work, options: { grace?: number } = {}) {
  const fiber = spin({ link: false, ...options }, () => work)
  yield* snooze()
  assert.deepEqual(held(), [1, 1])
  assert.equal(work.attempts.at(-1)?.isOpen, true)
  return fiber
}

describe('the answer of an attempt', () => {
  test('is the answer of the wait, and only the first counts', function* () {
    const work = new Work()
    const fiber = yield* waiting(work)
    const [attempt] = work.attempts as [Attempt<string>]
    attempt.settle('first')
    attempt.settle('second')
    attempt.fail(new Error('third'))
    assert.equal(yield* fiber, 'first')
    assert.deepEqual([work.log, held(), attempt.isOpen], [['over'], [0, 0], false])
  })

  test('may be an error', function* () {
    const work = new Work()
    const fiber = yield* waiting(work)
    work.attempts[0]?.fail(new Error('refused'))
    work.attempts[0]?.settle('late')
    const outcome = yield* fiber.join()
    assert.equal(outcome.type === 'error' && (outcome.error as Error).message, 'refused')
    assert.deepEqual([work.log, held()], [['over'], [0, 0]])
  })

  test('may come while it starts', function* () {
    assert.equal(yield* new Work('at once'), 'at once')
    assert.deepEqual(held(), [0, 0])
  })

  test('that cannot come, because the start throws, leaves nothing behind', function* () {
    const work = new Work(new Error('no socket'))
    const outcome = yield* spin({ link: false }, () => work).join()
    assert.equal(outcome.type === 'error' && (outcome.error as Error).message, 'no socket')
    work.attempts[0]?.settle('after all')
    assert.deepEqual(
      [work.log, held()],
      [
        ['over', 'discard after all'],
        [0, 0],
      ],
    )
  })
})

describe('a fiber that leaves', () => {
  test('cancels the work, and one late value is discarded', function* () {
    const work = new Work()
    const fiber = yield* waiting(work)
    yield* fiber.stop()
    assert.deepEqual(
      [work.log, held()],
      [
        ['cancel', 'over'],
        [0, 0],
      ],
    )
    work.attempts[0]?.settle('late')
    work.attempts[0]?.settle('later')
    assert.deepEqual(work.log, ['cancel', 'over', 'discard late'])
  })

  test('hears nothing of a late error, nor does the program', function* () {
    const work = new Work()
    const fiber = yield* waiting(work)
    yield* fiber.stop()
    work.attempts[0]?.fail(new Error('late'))
    work.attempts[0]?.settle('after that')
    assert.deepEqual([work.log, reports()], [['cancel', 'over'], []])
  })

  test('does not disturb the next wait for the same op', function* () {
    const work = new Work()
    const first = yield* waiting(work)
    yield* first.stop()
    const second = yield* waiting(work)
    work.attempts[0]?.settle('of the first')
    work.attempts[1]?.settle('of the second')
    assert.equal(yield* second, 'of the second')
    assert.deepEqual(work.log, ['cancel', 'over', 'discard of the first', 'over'])
  })

  test('waits for work that answers LATER, whose value is discarded', function* () {
    const work = new Work(LATER)
    const fiber = yield* waiting(work)
    const stopping = fiber.stop()
    yield* snooze()
    assert.deepEqual([fiber.state, work.log, held()], ['waiting', ['cancel'], [1, 1]])
    work.attempts[0]?.settle('done')
    yield* stopping
    assert.deepEqual(
      [work.log, held()],
      [
        ['cancel', 'over', 'discard done'],
        [0, 0],
      ],
    )
  })

  test('is held no longer than its grace by work that answers LATER; the process is', function* () {
    const work = new Work(LATER)
    const fiber = yield* waiting(work)
    yield* fiber.stop(undefined, { grace: 0 })
    assert.deepEqual([work.log, held()], [['cancel'], [1, 1]])
    work.attempts[0]?.settle('done')
    assert.deepEqual(
      [work.log, held()],
      [
        ['cancel', 'over', 'discard done'],
        [0, 0],
      ],
    )
  })

  test('is not disturbed by a discard that throws: that is reported', function* () {
    const work = new Work()
    const fiber = yield* waiting(work)
    yield* fiber.stop()
    work.attempts[0]?.settle('bad')
    assert.match(reports().join(), /discarding the late value of work failed/)
  })
})

describe('what an op throws when its wait is over is reported', () => {
  const error = new Error('of the op')
  class Bad extends Work {
    constructor(private readonly where: 'cancel' | 'over') {
      super()
    }
    protected override cancel(): void {
      if (this.where === 'cancel') throw error
    }
    protected override over(): void {
      super.over()
      if (this.where === 'over') throw error
    }
  }

  test('over() after an answer: the fiber has that answer, the process is released', function* () {
    const work = new Bad('over')
    const fiber = yield* waiting(work)
    work.attempts[0]?.settle('answer')
    assert.deepEqual([yield* fiber, held()], ['answer', [0, 0]])
    assert.match(reports().join(), /of the op/)
  })

  for (const where of ['cancel', 'over'] as const) {
    test(`${where}() when the fiber leaves: it is stopped all the same, and the process is released`, function* () {
      const work = new Bad(where)
      const fiber = yield* waiting(work)
      assert.equal((yield* fiber.stop()).type, 'stopped')
      assert.deepEqual([work.log, held()], [['over'], [0, 0]])
      assert.match(reports().join(), /of the op/)
    })
  }
})

test('two fibers cannot wait for the same one at a time', function* () {
  const work = new Work()
  const fiber = yield* waiting(work)
  assert.throws(
    () => [...(work as Iterable<unknown>)],
    /work is already being waited for by main > .*Make a new op for each wait/,
  )
  yield* fiber.stop()
  assert.equal(yield* moveOnAfter(0, () => work, Fiber.current.name), 'main')
})

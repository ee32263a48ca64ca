// scope: what it waits for, what stops it, and how it ends. That the first error stops the rest is S28.

import { attempt, nursery } from 'polyphony/op'
import {
  assert,
  describe,
  Fiber,
  failAfter,
  moveOnAfter,
  now,
  type Op,
  type Routine,
  reports,
  scope,
  sleep,
  spin,
  started,
  suppressedErrors,
  test,
  thrownBy,
  waits,
} from '../prelude.js'

/** A child that takes `ms` to clean up, and then says so. */
const cleansUp = (log: string[], ms = 10) =>
  spin(() => waits(() => waits(() => log.push(`child cleaned up at ${now()}`), ms)))

describe('a scope in peace', () => {
  test('gives the value of its body when all children have ended, late ones and their children too', function* () {
    const body = function* () {
      spin(() => scope(() => void spin(() => sleep(20))))
      yield* sleep(15)
      spin(() => sleep(10))
      return 'value'
    }
    assert.equal(yield* scope(body), 'value')
    assert.equal(now(), 25)
  })

  test('owns what is spun inside it, by any function; the innermost scope counts', function* () {
    const helper = (ms: number) => void spin(() => sleep(ms))
    yield* scope(function* () {
      helper(100)
      yield* scope(() => moveOnAfter(1000, () => helper(10)))
      assert.equal(now(), 10)
    })
    assert.equal(now(), 100)
  })

  test('can be entered again, in another fiber, whatever became of it before', function* () {
    let next: (() => unknown)[] = [() => assert.fail('oops'), () => sleep(), () => 'done']
    const again = scope(function* () {
      spin(() => sleep(10))
      yield* sleep(1)
      return yield* spin(next.shift() as () => Op<string>)
    })
    assert.equal((yield* thrownBy(again)).message, 'oops')
    assert.equal(yield* moveOnAfter(5, () => again, 'moved on'), 'moved on')
    const fiber = spin(() => again)
    assert.equal(yield* fiber, 'done')
    assert.equal(now(), 16)
    next = [() => sleep(1)]
    assert.equal(yield* again, undefined)
  })

  test('that ends restarts no child', function* () {
    let child: Fiber | undefined
    const fiber = yield* started(() =>
      scope(function* () {
        child = spin(() => {}) as Fiber
        spin(() => waits(() => sleep(10)))
        yield* sleep()
      }),
    )
    fiber.stop()
    yield* sleep(5)
    assert.throws(() => child?.restart(), { code: 'BAD_STATE', message: /its parent is over/ })
    yield* fiber.join()
  })
})

describe('an error', () => {
  test('of an inner scope that is caught leaves the outer one alone', function* () {
    const log: string[] = []
    yield* scope(function* () {
      spin(() => waits(() => log.push('child of the outer scope'), 20))
      log.push((yield* thrownBy(scope(() => void spin(() => assert.fail('inner'))))).message)
    })
    assert.deepEqual(log, ['inner', 'child of the outer scope'])
  })

  test('may strike the wait for the children more than once: every error is kept', function* () {
    const third = () => assert.fail('third')
    const fiber = yield* started(() => scope(() => void spin(() => waits(() => waits(third, 50)))))
    fiber.raise('first')
    yield* sleep(10)
    fiber.raise('second')
    const outcome = yield* fiber.join()
    assert.ok(outcome.type === 'error')
    const messages = [outcome.error, ...suppressedErrors(outcome.error)].map((e) => (e as Error).message)
    assert.deepEqual(messages, ['first', 'second', 'third'])
    assert.equal(now(), 51)
  })

  test('of a child stops the others with a deadline of their own, of which only they are reported', function* () {
    const fails = () => assert.fail('oops')
    const body = () => {
      spin('clings', () => waits(() => sleep()))
      spin(() => waits(fails, 5))
    }
    assert.equal((yield* thrownBy(scope(body))).message, 'oops')
    assert.equal(now(), 5005)
    assert.equal(reports().length, 1)
    assert.match(reports()[0] as string, /main > clings was forced to end/)
  })

  test('of a child while a stop goes through the scope is not lost', function* () {
    const late = () => assert.fail('late')
    const fiber = yield* started(() => scope(() => void spin(() => waits(late))))
    fiber.stop()
    const outcome = yield* fiber.join()
    assert.equal(outcome.type === 'error' && (outcome.error as Error).message, 'late')
  })

  test('from outside that comes after one of its own goes through attempt, with that one suppressed', function* () {
    const raised = new Error('raised')
    const fiber = yield* started(() =>
      attempt(function* () {
        spin(failAfter, 4, new Error('own'))
        spin(() => waits(() => sleep(20)))
      }),
    )
    yield* sleep(9)
    const { error }: any = yield* fiber.raise(raised)
    assert.equal(error, raised)
    assert.deepEqual(suppressedErrors(error).map(String), ['Error: own'])
  })

  test('from outside is the own one of a later use of the same attempt, if its body throws it then', function* () {
    const error = new Error('known')
    let times = 0
    const op = attempt(function* () {
      if (times++ === 0) yield* sleep()
      throw error
    })
    const fiber = yield* started(function* () {
      assert.equal(yield* thrownBy(op), error)
      return yield* op
    })
    fiber.raise(error)
    assert.deepEqual(yield* fiber, { type: 'error', error })
  })
})

describe('a stop', () => {
  test('of its fiber or a limit reaches a scope that waits for its children: they are stopped and awaited', function* () {
    const log: string[] = []
    const fiber = spin(function* () {
      yield* scope(() => void cleansUp(log))
      assert.fail('not reached')
    })
    yield* sleep(5)
    assert.deepEqual(yield* fiber.stop('v'), { type: 'stopped', value: 'v' })
    assert.equal(yield* moveOnAfter(5, () => scope(() => void cleansUp(log)), 'moved on'), 'moved on')
    assert.deepEqual(log, ['child cleaned up at 15', 'child cleaned up at 30'])
  })

  test('leaves the children time to clean up, though the body uses its part of the grace', function* () {
    const log: string[] = []
    const body = function* () {
      cleansUp(log, 1000)
      yield* waits(() => sleep())
    }
    const fiber = spin(() => scope(body))
    yield* sleep(1)
    yield* fiber.stop()
    assert.deepEqual(log, ['child cleaned up at 3501'])
  })

  test('without grace forces the children', function* () {
    const log: string[] = []
    const fiber = spin(() => scope(() => void cleansUp(log)))
    yield* sleep(1)
    assert.deepEqual(yield* fiber.kill(), { type: 'stopped', value: undefined })
    assert.deepEqual(log, ['child cleaned up at 1'])
  })

  test('of itself by the body ends it with its children, also one that awaits another', function* () {
    const fiber = spin(() =>
      scope(function* () {
        const slow = spin(() => sleep(100))
        spin(() => slow.join())
        yield* Fiber.current.stop('by its own body')
      }),
    )
    assert.deepEqual(yield* fiber.join(), { type: 'stopped', value: 'by its own body' })
    assert.equal(now(), 0)
  })
})

describe('nursery', () => {
  test('tells each end, with the arguments of the body; errors harm no other child, and are reported unless they are handled', function* () {
    const log: string[] = []
    function* visit(guest: string, ms: number): Routine<string> {
      yield* sleep(ms)
      if (guest === 'Bob' || guest === 'Cid') throw new Error(`no table for ${guest}`)
      return `fed ${guest}`
    }
    const value = yield* nursery(
      function* () {
        for (const [i, guest] of ['Ann', 'Bob', 'Cid', 'Dan'].entries()) spin(guest, visit, guest, 10 * i)
        yield* sleep(1)
        return 'the body is over'
      },
      {
        ended: (child, guest: string, ms: number) => {
          log.push(`${child.name} ${guest} ${ms} ${child.outcome?.type}`)
          return guest === 'Bob'
        },
      },
    )
    assert.deepEqual(log, ['Ann Ann 0 value', 'Bob Bob 10 error', 'Cid Cid 20 error', 'Dan Dan 30 value'])
    assert.deepEqual([value, now()], ['the body is over', 30])
    assert.match(reports().join('\n'), /main > Cid failed/)
    assert.equal(reports().length, 1)
  })

  test('an error of the body, and a stop, end the children, each of which is told', function* () {
    const ends: unknown[] = []
    const events = { ended: (child: Fiber) => void ends.push(child.outcome?.type) }
    const error = yield* thrownBy(
      nursery(function* () {
        spin(() => sleep())
        yield* sleep(1)
        throw new Error('the body failed')
      }, events),
    )
    assert.equal((error as Error).message, 'the body failed')
    const fiber = yield* started(() =>
      nursery(function* () {
        spin(() => sleep())
        yield* sleep()
      }, events),
    )
    yield* fiber.stop()
    assert.deepEqual(ends, ['stopped', 'stopped'])
  })

  test('a child that is moved away is told, and its end is not', function* () {
    const log: string[] = []
    yield* nursery(
      function* () {
        const child = spin('child', () => sleep(10))
        yield* sleep(1)
        child.detach()
      },
      {
        ended: () => void log.push('ended'),
        left: (child) => void log.push(`${child.name} left`),
      },
    )
    assert.deepEqual([log, now()], [['child left'], 1])
    yield* sleep(20)
    assert.equal(log.length, 1)
  })

  test('a listener that throws is reported, and has handled nothing', function* () {
    yield* nursery(() => void spin('child', () => 1), {
      ended: () => {
        throw new Error('I cannot bear it')
      },
    })
    assert.match(reports()[0] as string, /ended\(\) of nursery\(\) failed.*I cannot bear it/)
  })
})

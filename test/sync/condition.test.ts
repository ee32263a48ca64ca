// The condition: waiting for a signal, with and without a mutex that is given up meanwhile.

import {
  assert,
  BadState,
  BadYield,
  Condition,
  describe,
  Fiber,
  Mutex,
  moveOnAfter,
  now,
  type Routine,
  reports,
  sleep,
  spin,
  started,
  test,
  thrownBy,
} from '../prelude.js'
import { type ALine, aLine } from '../shared/line.js'

aLine('a condition', function* (): Routine<ALine> {
  const condition = new Condition()
  return {
    wait: () => condition.wait(),
    give(then) {
      condition.signal()
      then?.()
    },
    tryTake: () => condition.signal(), // another signal finds no waiter
    waiting: () => condition.waiting,
  }
})

function* waitFor(condition: Condition<any>, log: unknown[], name: unknown): Routine<void> {
  log.push([name, yield* condition.wait()])
}

describe('a condition', () => {
  test('signal wakes one fiber, broadcast all of them, with a value; a signal for no fiber is not kept', function* () {
    const condition = new Condition<string>()
    const log: unknown[] = []
    assert.deepEqual([condition.signal('lost'), condition.broadcast('lost')], [false, 0])
    for (const n of [1, 2, 3]) yield* started(() => waitFor(condition, log, n))
    assert.equal(condition.signal('a'), true)
    yield* sleep(1)
    assert.deepEqual(condition.stats(), { waiting: 2, signals: 3, woken: 1 })
    assert.equal(condition.broadcast('b'), 2)
    assert.deepEqual(condition.stats(), { waiting: 0, signals: 4, woken: 3 })
    yield* sleep(1)
    assert.deepEqual(log.slice(0, 1).concat(log.slice(1).sort()), [
      [1, 'a'],
      [2, 'b'],
      [3, 'b'],
    ])
    const waiter = yield* started(() => condition.wait())
    assert.equal(waiter.waitsFor, 'condition.wait()')
  })
})

describe('a condition with a mutex', () => {
  test('wait gives the mutex up, however often it is locked, and has it back as often', function* () {
    const mutex = new Mutex()
    const condition = new Condition<string>(mutex)
    const waiter = spin(() =>
      mutex.synchronize(() =>
        mutex.synchronize(function* () {
          const value = yield* condition.wait()
          assert.deepEqual([mutex.isHeld, mutex.stats().depth], [true, 2])
          yield* sleep(1)
          return value
        }),
      ),
    )
    yield* sleep(1)
    assert.equal(mutex.isLocked, false)
    yield* mutex.synchronize(function* () {
      assert.equal(condition.signal('changed'), true)
      yield* sleep(10)
      assert.equal(waiter.state, 'waiting') // until the mutex is free
    })
    assert.equal(mutex.holder, waiter)
    assert.equal(yield* waiter, 'changed')
    assert.equal(mutex.isLocked, false)
    const free = yield* started(() => mutex.synchronize(() => condition.wait()))
    condition.signal('while it is free')
    assert.equal(yield* free, 'while it is free')
  })

  test('wait is refused to a fiber that does not hold the mutex', function* () {
    const condition = new Condition(new Mutex({ name: 'ledger' }))
    const error = yield* thrownBy(condition.wait())
    assert.deepEqual(error, new BadState('main cannot wait with ledger: it is not locked'))
    assert.equal(condition.waiting, 0)
  })

  for (const verb of ['stop', 'raise'] as const) {
    test(`a fiber ended by ${verb} has the mutex back before that strikes`, function* () {
      const mutex = new Mutex()
      const condition = new Condition(mutex)
      const log: unknown[] = []
      const waiter = yield* started(() =>
        mutex.synchronize(function* () {
          try {
            yield* condition.wait()
          } finally {
            log.push(mutex.isHeld)
          }
        }),
      )
      yield* mutex.synchronize(function* () {
        waiter[verb]('enough')
        yield* sleep(10)
        log.push('the other leaves')
      })
      yield* waiter.join()
      assert.deepEqual(log, ['the other leaves', true])
      assert.deepEqual([mutex.isLocked, condition.waiting, reports()], [false, 0, []])
    })
  }

  test('a time limit around wait has the mutex back before it moves on', function* () {
    const mutex = new Mutex()
    const condition = new Condition(mutex)
    spin(function* () {
      yield* sleep(5)
      yield* mutex.synchronize(() => sleep(20))
    })
    yield* mutex.synchronize(function* () {
      const op = condition.wait()
      assert.equal(yield* moveOnAfter(10, () => op, 'timed out'), 'timed out')
      assert.deepEqual([mutex.isHeld, now()], [true, 25])
      assert.equal(yield* moveOnAfter(10, () => op, 'again'), 'again')
      assert.deepEqual([now(), condition.waiting], [35, 0])
    })
    assert.equal(mutex.isLocked, false)
  })

  const news: [string, (condition: Condition<string>) => unknown, unknown[]][] = [
    ['of a signal is passed on', (condition) => [1, 2].map(() => condition.signal('news')), ['late', 'news']],
    ['of a broadcast is not passed on', (condition) => condition.broadcast('news'), []],
  ]
  for (const [what, tell, heard] of news) {
    test(`what a stopped fiber had ${what}`, function* () {
      const mutex = new Mutex()
      const condition = new Condition<string>(mutex)
      const log: unknown[] = []
      spin(() =>
        mutex.synchronize(function* () {
          yield* waitFor(condition, log, 1)
          second.stop() // it was told, and waits for the mutex
          yield* sleep(1)
        }),
      )
      yield* sleep(1)
      const second = spin(() => mutex.synchronize(() => waitFor(condition, log, 2)))
      yield* sleep(1)
      yield* mutex.synchronize(function* () {
        spin(() => mutex.synchronize(() => waitFor(condition, log, 'late')))
        yield* sleep(1) // in line for the mutex, before the others
        tell(condition)
      })
      yield* sleep(5)
      assert.deepEqual(log.flat(), [1, 'news', ...heard])
      assert.equal(mutex.isLocked, false)
    })
  }

  test('no longer than its grace does a stopped fiber wait for the mutex; its unlock means nothing, with a report', function* () {
    for (const [grace, verb] of [
      [50, 'stop'],
      [5000, 'kill'],
    ] as const) {
      const mutex = new Mutex({ name: 'ledger' })
      const condition = new Condition(mutex)
      const waiter = spin({ name: 'waiter', grace }, function* () {
        yield* mutex.lock()
        yield* mutex.lock()
        try {
          yield* condition.wait()
        } finally {
          mutex.unlock()
          mutex.unlock()
          assert.throws(() => mutex.unlock(), BadState)
        }
      })
      yield* sleep(1)
      yield* mutex.lock()
      const before = now()
      assert.deepEqual(yield* waiter[verb](), { type: 'stopped', value: undefined })
      assert.equal(now() - before, verb === 'stop' ? 50 : 0)
      assert.deepEqual([mutex.holder, mutex.waiting], [Fiber.current, 0])
      mutex.unlock()
      assert.equal(mutex.isLocked, false)
    }
    const report =
      'held: main > waiter had to leave the wait of a condition before it could lock ledger again, which main held for too long. It goes on without it.'
    assert.deepEqual(reports(), [report, report])
  })

  test('forced out of two waits, a fiber owes two unlocks that mean nothing', function* () {
    const mutex = new Mutex()
    const condition = new Condition(mutex)
    for (let wait = 0; wait < 2; wait++) {
      yield* mutex.lock()
      const other = spin(() => mutex.synchronize(() => sleep(50)))
      yield* moveOnAfter(10, () => condition.wait(), { grace: 0 })
      assert.equal(mutex.holder, other)
      yield* other
    }
    mutex.unlock()
    mutex.unlock()
    assert.throws(() => mutex.unlock(), BadState)
  })

  test('iterated by hand it is a named error: the mutex is held as before, or lost to the next in line', function* () {
    const mutex = new Mutex()
    const condition = new Condition(mutex)
    yield* mutex.lock()
    assert.throws(() => [...(condition.wait() as any)], BadYield)
    assert.throws(() => {
      const [_] = condition.wait() as any
    }, BadYield)
    assert.deepEqual([mutex.isHeld, condition.waiting], [true, 0])
    const other = yield* started(() => mutex.synchronize(() => sleep(1)))
    assert.throws(() => [...(condition.wait() as any)], BadYield)
    assert.equal(mutex.holder, other)
    mutex.unlock() // means nothing any more
    assert.throws(() => mutex.unlock(), BadState)
    yield* other
    assert.deepEqual([mutex.isLocked, reports().length], [false, 1])
  })

  test('a fiber that is over in a wait begun by hand stands in no line', function* () {
    const mutex = new Mutex()
    const condition = new Condition(mutex)
    const careless = spin(function* () {
      yield* mutex.lock()
      yield* sleep(2)
      ;(condition.wait() as any).next()
    })
    yield* sleep(1)
    yield* mutex.synchronize(() => sleep(5))
    assert.equal(careless.state, 'dead')
    assert.deepEqual([condition.waiting, mutex.waiting, mutex.isLocked], [0, 0, false])
  })
})

// The condition: waiting for a signal, with and without a mutex that is given up meanwhile.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  BadArgument,
  BadState,
  BadYield,
  Condition,
  Fiber,
  isStop,
  Mutex,
  moveOnAfter,
  type Routine,
  sleep,
  snooze,
  spin,
} from 'polyphony'
import { raiseEverywhere, stopEverywhere, virtual } from 'polyphony/testing'
import { everyOrder } from '../explore/orders.js'
import { thrownBy } from '../prelude.js'
import { killers } from '../shared/killers.js'

function* waitFor(condition: Condition<any>, log: unknown[], name: unknown, at = 0): Routine<void> {
  yield* sleep(at)
  log.push([name, yield* condition.wait()])
}

function reports(): string[] {
  const { reports } = (Fiber.current as any).runtime.backend
  return reports.filter(({ kind }: any) => kind === 'held').map(({ message }: any) => message)
}

describe('a condition', () => {
  it('X4 signal wakes the one that has waited longest, with a value', () =>
    virtual(function* () {
      const condition = new Condition<string>()
      const log: unknown[] = []
      for (const n of [1, 2]) spin(waitFor, condition, log, n, n)
      yield* sleep(5)
      assert.equal(condition.signal('a'), true)
      yield* sleep(1)
      assert.deepEqual(log, [[1, 'a']])
      assert.equal(condition.signal('b'), true)
      yield* sleep(1)
      assert.deepEqual(log, [
        [1, 'a'],
        [2, 'b'],
      ])
    }))

  it('X4 a signal that nobody waits for is not kept', () =>
    virtual(function* () {
      const condition = new Condition()
      assert.equal(condition.signal(), false)
      assert.equal(condition.broadcast(), 0)
      assert.equal(yield* moveOnAfter(5, () => condition.wait(), 'nothing came'), 'nothing came')
    }))

  it('X5 broadcast wakes everybody who waits, returns at once, and tells how many', () =>
    virtual(function* () {
      const condition = new Condition<string>()
      const log: unknown[] = []
      for (const n of [1, 2, 3]) spin(waitFor, condition, log, n, n)
      yield* sleep(5)
      assert.equal(condition.waiting, 3)
      assert.equal(condition.broadcast('all'), 3)
      assert.equal(condition.waiting, 0)
      yield* sleep(1)
      assert.deepEqual(log.map(([n]: any) => n).sort(), [1, 2, 3])
    }))

  it('X5 a waiter that was stopped does not eat the next signal', () =>
    virtual(function* () {
      const condition = new Condition<string>()
      const log: unknown[] = []
      const first = spin(waitFor, condition, log, 1)
      spin(waitFor, condition, log, 2, 1)
      yield* sleep(5)
      yield* first.stop()
      assert.equal(condition.waiting, 1)
      condition.signal('for the second')
      yield* sleep(1)
      assert.deepEqual(log, [[2, 'for the second']])
    }))

  it('S34 signalled and then stopped: it gets the value first', () =>
    virtual(function* () {
      const condition = new Condition<string>()
      const log: unknown[] = []
      const waiter = spin(waitFor, condition, log, 1)
      yield* sleep(1)
      condition.signal('in time')
      yield* waiter.stop()
      assert.deepEqual(log, [[1, 'in time']])
    }))

  it('counts in stats(), and shows in the tree', () =>
    virtual(function* () {
      const condition = new Condition()
      const waiters = [1, 2].map(() => spin(() => condition.wait()))
      yield* sleep(1)
      assert.equal(waiters[0]?.waitsFor, 'condition.wait()')
      condition.signal()
      assert.deepEqual(condition.stats(), { waiting: 1, signals: 1, woken: 1 })
      condition.broadcast()
      assert.deepEqual(condition.stats(), { waiting: 0, signals: 2, woken: 2 })
      yield* Fiber.await(...waiters)
    }))

  it('takes a mutex or nothing', () => {
    for (const wrong of [null, {}, 'mutex', { mutex: new Mutex() }]) {
      assert.throws(() => new Condition(wrong as any), BadArgument)
    }
  })

  it('S69 one op serves one wait at a time, and may be used again', () =>
    virtual(function* () {
      const condition = new Condition<number>()
      const op = condition.wait()
      const first = spin(() => op)
      yield* sleep(1)
      assert.match((yield* thrownBy(op)).message, /already being waited for/)
      condition.signal(1)
      assert.equal(yield* first, 1)
      const second = spin(() => op)
      yield* sleep(1)
      condition.signal(2)
      assert.equal(yield* second, 2)
    }))
})

describe('a condition with a mutex', () => {
  it('X4 wait gives the mutex up, and has it back when it returns', () =>
    virtual(function* () {
      const mutex = new Mutex()
      const condition = new Condition<string>(mutex)
      const waiter = spin(() =>
        mutex.synchronize(function* () {
          const value = yield* condition.wait()
          assert.equal(mutex.isHeld, true)
          yield* sleep(1)
          return value
        }),
      )
      yield* sleep(1)
      assert.equal(mutex.isLocked, false)
      yield* mutex.synchronize(function* () {
        assert.equal(condition.signal('changed'), true)
        yield* sleep(10) // it is woken only when the mutex is free
        assert.equal(waiter.state, 'waiting')
      })
      assert.equal(mutex.holder, waiter)
      assert.equal(yield* waiter, 'changed')
      assert.equal(mutex.isLocked, false)
    }))

  it('X4 gives the mutex up however often it is locked, and has it back as often', () =>
    virtual(function* () {
      const mutex = new Mutex()
      const condition = new Condition(mutex)
      const waiter = spin(() =>
        mutex.synchronize(() =>
          mutex.synchronize(function* () {
            yield* condition.wait()
            assert.equal(mutex.stats().depth, 2)
          }),
        ),
      )
      yield* sleep(1)
      yield* mutex.synchronize(() => condition.signal())
      yield* waiter
      assert.equal(mutex.isLocked, false)
    }))

  it('X4 wait without the mutex is refused', () =>
    virtual(function* () {
      const mutex = new Mutex({ name: 'ledger' })
      const condition = new Condition(mutex)
      assert.deepEqual(
        yield* thrownBy(condition.wait()),
        new BadState('main cannot wait with ledger: nobody holds it'),
      )
      assert.equal(condition.waiting, 0)
    }))

  for (const verb of ['stop', 'raise'] as const) {
    it(`X4 ended by ${verb} it has the mutex back before that strikes`, () =>
      virtual(function* () {
        const mutex = new Mutex()
        const condition = new Condition(mutex)
        const log: unknown[] = []
        const waiter = spin({ link: false }, () =>
          mutex.synchronize(function* () {
            try {
              yield* condition.wait()
            } catch (error) {
              assert.equal(mutex.isHeld, true)
              log.push('struck')
              throw error
            }
          }),
        )
        yield* sleep(1)
        yield* mutex.synchronize(function* () {
          waiter[verb]('enough')
          yield* sleep(10)
          log.push('the other leaves')
        })
        yield* waiter.join()
        assert.deepEqual(log, ['the other leaves', 'struck'])
        assert.equal(mutex.isLocked, false)
        assert.equal(condition.waiting, 0)
        assert.deepEqual(reports(), [])
      }))
  }

  it('X5 signalled, then stopped while it waits for the mutex: the signal goes to the next', () =>
    virtual(function* () {
      const mutex = new Mutex()
      const condition = new Condition<string>(mutex)
      const log: unknown[] = []
      const [first] = [1, 2].map((n) => spin(() => mutex.synchronize(() => waitFor(condition, log, n))))
      yield* sleep(1)
      yield* mutex.synchronize(function* () {
        condition.signal('only one')
        ;(first as Fiber).stop()
        yield* sleep(1)
      })
      yield* Fiber.current.joinChildren()
      assert.deepEqual(log, [[2, 'only one']])
    }))

  it('X5 of a broadcast nothing is passed on: everybody has it already', () =>
    virtual(function* () {
      const mutex = new Mutex()
      const condition = new Condition<string>(mutex)
      const log: unknown[] = []
      const [first] = [1, 2].map((n) => spin(() => mutex.synchronize(() => waitFor(condition, log, n))))
      yield* sleep(1)
      const late = spin(() => mutex.synchronize(() => waitFor(condition, log, 'late')))
      yield* mutex.synchronize(function* () {
        condition.broadcast('all')
        ;(first as Fiber).stop()
        yield* sleep(1)
      })
      yield* sleep(1)
      assert.deepEqual(log, [[2, 'all']])
      yield* late.stop()
    }))

  it('X4 S19 killed while another holds the mutex: it goes without, its unlock harms nobody, and it is reported', () =>
    virtual(function* () {
      const mutex = new Mutex({ name: 'ledger' })
      const condition = new Condition(mutex)
      const waiter = spin('waiter', function* () {
        yield* mutex.lock()
        try {
          yield* condition.wait()
        } finally {
          mutex.unlock()
        }
      })
      yield* sleep(1)
      yield* mutex.lock()
      assert.deepEqual(yield* waiter.kill(), { type: 'stopped', value: undefined })
      assert.equal(mutex.holder, Fiber.current)
      assert.equal(mutex.waiting, 0)
      assert.deepEqual(reports(), [
        'main > waiter had to leave the wait of a condition before it could lock ledger again, which main held for too long. It goes on without it.',
      ])
      mutex.unlock()
      assert.equal(mutex.isLocked, false)
    }))

  it('X4 S18 a stopped waiter waits for the mutex no longer than its grace', () =>
    virtual(function* () {
      const mutex = new Mutex()
      const condition = new Condition(mutex)
      const waiter = spin({ grace: 50 }, () => mutex.synchronize(() => condition.wait()))
      yield* sleep(1)
      yield* mutex.lock()
      assert.deepEqual(yield* waiter.stop(), { type: 'stopped', value: undefined })
      assert.equal((Fiber.current as any).runtime.now(), 51)
      assert.equal(reports().length, 1)
      mutex.unlock()
      yield* mutex.lock() // nobody stands in line who has left
    }))

  it('X4 a time limit around wait gives the mutex back before it moves on', () =>
    virtual(function* () {
      const mutex = new Mutex()
      const condition = new Condition(mutex)
      const other = spin(function* () {
        yield* sleep(5)
        yield* mutex.synchronize(() => sleep(20))
      })
      yield* mutex.synchronize(function* () {
        assert.equal(yield* moveOnAfter(10, () => condition.wait(), 'timed out'), 'timed out')
        assert.equal(mutex.isHeld, true)
        assert.equal(other.state, 'dead')
      })
    }))

  it('X4 the mutex goes to those in line while it waits, and a dead holder does not keep it from coming back', () =>
    virtual(function* () {
      const mutex = new Mutex()
      const condition = new Condition(mutex)
      const waiter = spin(() => mutex.synchronize(() => condition.wait()))
      spin(function* () {
        yield* sleep(1)
        yield* mutex.lock()
        condition.signal()
        yield* sleep(1) // and ends without unlocking
      })
      yield* waiter
      assert.equal(mutex.isLocked, false)
      assert.equal(reports().length, 1)
    }))

  it('S69 wait() iterated by hand is a named error, and the mutex is held as before', () =>
    virtual(function* () {
      const mutex = new Mutex()
      const condition = new Condition(mutex)
      yield* mutex.lock()
      assert.throws(() => [...(condition.wait() as any)], BadYield)
      assert.throws(() => {
        const [_] = condition.wait() as any
      }, BadYield)
      assert.equal(mutex.isHeld, true)
      assert.equal(condition.waiting, 0)
      mutex.unlock()
    }))

  it('S69 iterated by hand while others want the mutex, nobody is left in a line', () =>
    virtual(function* () {
      const mutex = new Mutex()
      const condition = new Condition(mutex)
      yield* mutex.lock()
      const other = spin(() => mutex.synchronize(() => sleep(1)))
      yield* sleep(1)
      assert.throws(() => [...(condition.wait() as any)], BadYield)
      assert.equal(mutex.holder, other)
      mutex.unlock() // means nothing any more
      assert.throws(() => mutex.unlock(), BadState)
      yield* other
      assert.equal(mutex.isLocked, false)
      assert.equal(reports().length, 1)
    }))

  it('a fiber left in wait() by hand when its body ends leaves nobody in a line', () =>
    virtual(function* () {
      const mutex = new Mutex()
      const condition = new Condition(mutex)
      const careless = spin(function* () {
        yield* mutex.lock()
        ;(condition.wait() as any).next()
      })
      const other = spin(function* () {
        yield* sleep(1)
        yield* mutex.synchronize(() => {})
      })
      yield* careless.join()
      yield* other
      assert.deepEqual([condition.waiting, mutex.waiting], [0, 0])
    }))

  it('S17 cleanup may wait for a signal', () =>
    virtual(function* () {
      const condition = new Condition()
      const fiber = spin(function* () {
        try {
          yield* sleep(1000)
        } catch (error) {
          assert.ok(isStop(error))
        } finally {
          yield* condition.wait()
        }
      })
      yield* sleep(1)
      fiber.stop()
      yield* sleep(1)
      condition.signal()
      yield* sleep(1)
      assert.equal(fiber.state, 'dead')
    }))

  for (const [how, kill] of killers) {
    it(`X5 no order of two who wait, one who signals and ${how} loses a signal or the mutex`, (t) => {
      everyOrder(t, function* () {
        const mutex = new Mutex()
        const condition = new Condition(mutex)
        let room = 0
        let taken = 0
        const taker = () =>
          spin({ link: false }, () =>
            mutex.synchronize(function* () {
              while (room === 0) {
                yield* condition.wait()
                assert.equal(mutex.isHeld, true)
              }
              room--
              taken++
            }),
          )
        const takers = [taker(), taker()]
        const giver = spin(() =>
          mutex.synchronize(function* () {
            yield* snooze()
            room++
            condition.signal()
          }),
        )
        yield* snooze()
        kill(takers)
        yield* giver.join()
        yield* sleep(1)
        const isWaiting = takers.some((fiber) => fiber.state !== 'dead')
        assert.ok(room === 0 || !isWaiting, 'somebody waits for what is there')
        assert.equal(room + taken, 1)
        for (const fiber of takers) yield* fiber.stop()
        assert.deepEqual([mutex.isLocked, mutex.waiting, condition.waiting], [false, 0, 0])
      })
    })
  }

  it('X4 stopped or raised in everywhere, the mutex is given back', () => {
    let mutex = new Mutex()
    const everyone = function* () {
      mutex = new Mutex()
      const condition = new Condition(mutex)
      const waiters = [1, 2].map(() =>
        spin({ link: false }, () =>
          mutex.synchronize(function* () {
            yield* condition.wait()
            yield* sleep(1)
          }),
        ),
      )
      yield* sleep(1)
      yield* mutex.synchronize(() => condition.broadcast())
      for (const waiter of waiters) yield* moveOnAfter(10, () => waiter.join())
      for (const waiter of waiters) yield* waiter.stop()
    }
    const check = () => assert.deepEqual([mutex.isLocked, mutex.waiting], [false, 0])
    stopEverywhere(everyone, { check })
    raiseEverywhere(everyone, { check })
  })
})

// The semaphore: so many at a time, and a limit that changes while it is in use. What all locks share is in lock.test.ts.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { BadArgument, BadState, BadYield, Fiber, Semaphore, sleep, snooze, spin } from 'polyphony'
import { raiseEverywhere, stopEverywhere, virtual } from 'polyphony/testing'
import { everyOrder } from '../explore/orders.js'
import { killers } from '../shared/killers.js'

describe('the semaphore', () => {
  it('S52 lets so many in at a time, the others in the order in which they came', () =>
    virtual(function* () {
      const semaphore = new Semaphore(2)
      const log: string[] = []
      for (const n of [1, 2, 3, 4]) {
        spin(function* () {
          yield* sleep(n)
          yield* semaphore.acquire(function* () {
            log.push(`${n} in`)
            yield* sleep(10)
            log.push(`${n} out`)
          })
        })
      }
      yield* Fiber.current.joinChildren()
      assert.deepEqual(log, ['1 in', '2 in', '1 out', '3 in', '2 out', '4 in', '3 out', '4 out'])
      assert.equal(semaphore.available, 2)
    }))

  it('S08 tryAcquire never waits', () =>
    virtual(function* () {
      const semaphore = new Semaphore(1)
      assert.equal(semaphore.tryAcquire(), true)
      assert.equal(semaphore.tryAcquire(), false)
      semaphore.release()
      assert.equal(semaphore.tryAcquire(), true)
    }))

  it('a permit may be released by another fiber, or outside any', () =>
    virtual(function* () {
      const semaphore = new Semaphore(1)
      yield* semaphore.acquire()
      const waiter = spin(() => semaphore.acquire())
      yield* sleep(1)
      yield* spin(() => semaphore.release())
      yield* waiter
      assert.equal(semaphore.inUse, 1)
    }))

  it('S36 a released permit belongs to the first in line: nobody can slip in between', () =>
    virtual(function* () {
      const semaphore = new Semaphore(1)
      yield* semaphore.acquire()
      const waiter = spin(() => semaphore.acquire(() => {}))
      yield* sleep(1)
      semaphore.release()
      assert.equal(semaphore.tryAcquire(), false)
      yield* waiter
      assert.equal(semaphore.available, 1)
    }))

  it('a larger limit lets the first in line in at once, as many as there is room for', () =>
    virtual(function* () {
      const semaphore = new Semaphore(1)
      const log: number[] = []
      yield* semaphore.acquire()
      for (const n of [1, 2, 3, 4]) {
        spin(function* () {
          yield* sleep(n)
          yield* semaphore.acquire()
          log.push(n)
        })
      }
      yield* sleep(5)
      semaphore.limit = 3
      assert.equal(semaphore.inUse, 3)
      yield* sleep(1)
      assert.deepEqual(log.sort(), [1, 2])
      semaphore.limit = Infinity
      yield* sleep(1)
      assert.deepEqual(log.sort(), [1, 2, 3, 4])
      assert.equal(semaphore.available, Infinity)
    }))

  it('a smaller limit lets those inside finish, and takes effect as they leave', () =>
    virtual(function* () {
      const semaphore = new Semaphore(3)
      for (let n = 0; n < 3; n++) yield* semaphore.acquire()
      let got = false
      spin(function* () {
        yield* semaphore.acquire()
        got = true
      })
      yield* sleep(1)
      semaphore.limit = 1
      assert.deepEqual([semaphore.inUse, semaphore.available], [3, 0])
      for (const expected of [false, false, true]) {
        semaphore.release()
        yield* sleep(1)
        assert.equal(got, expected)
      }
      assert.equal(semaphore.inUse, 1)
    }))

  it('releasing what nobody holds is refused', () =>
    virtual(function* () {
      const semaphore = new Semaphore(1, { name: 'seats' })
      assert.throws(() => semaphore.release(), new BadState('main cannot release seats: no permit is out'))
      yield* semaphore.acquire()
      semaphore.release()
      assert.throws(() => semaphore.release(), BadState)
      assert.equal(semaphore.available, 1)
    }))

  it('a limit that is none is refused, at the making and later', () => {
    const semaphore = new Semaphore(2)
    for (const limit of [0, -1, 1.5, Number.NaN, '2', null, undefined, -Infinity]) {
      assert.throws(() => new Semaphore(limit as any), BadArgument, String(limit))
      assert.throws(() => {
        semaphore.limit = limit as any
      }, /the limit of semaphore needs a whole number from 1 up, or Infinity, got/)
    }
    assert.equal(semaphore.limit, 2)
    assert.throws(() => new Semaphore(1, { nome: 'x' } as any), /no option "nome"; there are: name/)
    assert.throws(() => new Semaphore(1, { name: '' }), BadArgument)
  })

  it('S69 acquire() iterated by hand is a named error, and costs no permit', () =>
    virtual(function* () {
      const semaphore = new Semaphore(1)
      yield* semaphore.acquire()
      assert.throws(() => [...(semaphore.acquire() as any)], BadYield)
      semaphore.release()
      assert.equal(semaphore.available, 1)
      for (let i = 0; i < 200; i++) {
        try {
          const [_] = semaphore.acquire() as any
          semaphore.release()
        } catch (error) {
          assert.ok(error instanceof BadYield)
        }
        assert.equal(semaphore.available, 1)
      }
    }))

  it('counts in stats()', () =>
    virtual(function* () {
      const semaphore = new Semaphore(2)
      yield* semaphore.acquire()
      yield* semaphore.acquire()
      const waiter = spin(() => semaphore.acquire())
      yield* sleep(1)
      assert.equal(waiter.waitsFor, 'semaphore.acquire()')
      assert.deepEqual(semaphore.stats(), {
        limit: 2,
        inUse: 2,
        available: 0,
        waiting: 1,
        acquired: 2,
        waited: 0,
      })
      semaphore.release()
      assert.equal(semaphore.stats().waited, 1)
      yield* waiter
      assert.equal(semaphore.waiting, 0)
    }))

  for (const [how, kill] of killers) {
    it(`F2 S34 no order of three fibers, a limit that changes and ${how} loses a permit`, (t) => {
      everyOrder(t, function* () {
        const semaphore = new Semaphore(1)
        const workers = [1, 2, 3].map(() => spin({ link: false }, () => semaphore.acquire(() => snooze())))
        yield* snooze()
        semaphore.limit = 2
        kill(workers)
        yield* snooze()
        semaphore.limit = 1
        for (const worker of workers) yield* worker.join()
        assert.deepEqual([semaphore.available, semaphore.waiting], [1, 0])
      })
    })
  }

  it('S16 acquired and released by hand, stopped or raised in everywhere, every permit comes back', () => {
    let semaphore = new Semaphore(2)
    const everyone = function* () {
      semaphore = new Semaphore(2)
      const workers = [1, 2, 3].map(() =>
        spin({ link: false }, function* () {
          yield* semaphore.acquire()
          try {
            yield* sleep(1)
          } finally {
            semaphore.release()
          }
        }),
      )
      for (const worker of workers) yield* worker.join()
    }
    const check = () => assert.deepEqual([semaphore.available, semaphore.waiting], [2, 0])
    stopEverywhere(everyone, { check })
    raiseEverywhere(everyone, { check })
  })
})

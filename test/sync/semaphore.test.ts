// The semaphore: so many at a time, and a limit that changes while it is in use.

import { assert, BadState, describe, Semaphore, sleep, spin, started, test, waits } from '../prelude.js'
import { aLine } from '../shared/line.js'
import { aLock, lineAt } from '../shared/lock.js'
import { semaphoreLock } from './locks.js'

aLock('a semaphore', semaphoreLock)
aLine('a semaphore', () => lineAt(semaphoreLock()))

describe('a semaphore', () => {
  test('lets so many in at a time, and the next when one leaves', function* () {
    const semaphore = new Semaphore(2)
    const log: string[] = []
    for (const n of [1, 2, 3, 4]) {
      const visit = () => {
        log.push(`${n} in`)
        return waits(() => log.push(`${n} out`), 10)
      }
      yield* started(() => semaphore.acquire(visit))
    }
    yield* sleep(20)
    assert.deepEqual(log, ['1 in', '2 in', '1 out', '3 in', '2 out', '4 in', '3 out', '4 out'])
  })

  test('counts permits, which any code may release, but not more than are out', function* () {
    const semaphore = new Semaphore(2, { name: 'seats' })
    assert.equal(semaphore.tryAcquire(), true)
    yield* semaphore.acquire()
    assert.equal(semaphore.tryAcquire(), false)
    const waiter = yield* started(() => semaphore.acquire())
    assert.equal(waiter.waitsFor, 'seats.acquire()')
    const stats = { limit: 2, inUse: 2, available: 0, waiting: 1, acquired: 2, waited: 0 }
    assert.deepEqual(semaphore.stats(), stats)
    yield* spin(() => semaphore.release())
    yield* waiter
    assert.deepEqual(semaphore.stats(), { ...stats, waiting: 0, acquired: 3, waited: 1 })
    semaphore.release()
    semaphore.release()
    assert.throws(() => semaphore.release(), new BadState('main cannot release seats: no permit is out'))
    assert.equal(semaphore.available, 2)
  })

  test('a larger limit lets in as many as there is room for, a smaller one takes effect as they leave', function* () {
    const semaphore = new Semaphore(1)
    const log: number[] = []
    yield* semaphore.acquire()
    for (const n of [1, 2, 3, 4]) {
      yield* started(function* () {
        yield* semaphore.acquire()
        log.push(n)
      })
    }
    semaphore.limit = 3
    yield* sleep(1)
    assert.deepEqual([log.sort(), semaphore.inUse, semaphore.limit], [[1, 2], 3, 3])
    semaphore.limit = 1
    assert.equal(semaphore.available, 0)
    for (const served of [2, 2, 3]) {
      semaphore.release()
      yield* sleep(1)
      assert.equal(log.length, served)
    }
    semaphore.limit = Infinity
    yield* sleep(1)
    assert.deepEqual([log.length, semaphore.available], [4, Infinity])
  })
})

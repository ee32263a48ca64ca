// The mutex: who holds it, how often, and what becomes of it when its holder is gone. What all locks share is in lock.test.ts.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  BadArgument,
  BadState,
  BadYield,
  Fiber,
  Mutex,
  NotInFiber,
  type Routine,
  sleep,
  snooze,
  spin,
  suspend,
  use,
} from 'polyphony'
import { raiseEverywhere, stopEverywhere, virtual } from 'polyphony/testing'
import { everyOrder } from '../explore/orders.js'
import { thrownBy } from '../prelude.js'

function reports(): string[] {
  const { reports } = (Fiber.current as any).runtime.backend
  return reports.filter(({ kind }: any) => kind === 'held').map(({ message }: any) => message)
}

function* lockAndForget(mutex: Mutex): Routine<void> {
  yield* mutex.lock()
  yield* sleep(10)
}

function* lockAndLog(mutex: Mutex, log: unknown[], name: unknown, at: number): Routine<void> {
  yield* sleep(at)
  yield* mutex.synchronize(() => log.push(name))
}

describe('the mutex', () => {
  it('X1 is locked by the fiber that locked it, until that unlocks it', () =>
    virtual(function* () {
      const mutex = new Mutex()
      assert.equal(mutex.isLocked, false)
      assert.equal(mutex.holder, null)
      assert.equal(mutex.isHeld, false)
      yield* mutex.lock()
      assert.equal(mutex.isLocked, true)
      assert.equal(mutex.holder, Fiber.current)
      assert.equal(mutex.isHeld, true)
      assert.equal(yield* spin(() => mutex.isHeld), false)
      mutex.unlock()
      assert.equal(mutex.isLocked, false)
    }))

  it('X1 is re-entrant: unlocked as often as it was locked, in whatever way', () =>
    virtual(function* () {
      const mutex = new Mutex()
      const log: unknown[] = []
      yield* mutex.lock()
      assert.equal(mutex.tryLock(), true)
      spin(lockAndLog, mutex, log, 'other', 0)
      yield* sleep(1)
      yield* mutex.synchronize(function* () {
        assert.equal(mutex.stats().depth, 3)
        yield* sleep(1)
      })
      mutex.unlock()
      yield* sleep(1)
      assert.deepEqual(log, [])
      mutex.unlock()
      assert.equal(mutex.isHeld, false)
      yield* sleep(1)
      assert.deepEqual(log, ['other'])
    }))

  it('S08 tryLock never waits: false while another holds it', () =>
    virtual(function* () {
      const mutex = new Mutex()
      const holder = spin(() => mutex.synchronize(() => sleep(10)))
      yield* sleep(1)
      assert.equal(mutex.tryLock(), false)
      yield* holder
      assert.equal(mutex.tryLock(), true)
      mutex.unlock()
    }))

  it('X1 unlock by a fiber that does not hold it names both, and changes nothing', () =>
    virtual(function* () {
      const mutex = new Mutex({ name: 'ledger' })
      assert.throws(() => mutex.unlock(), new BadState('main cannot unlock ledger: nobody holds it'))
      const holder = spin('clerk', () => mutex.synchronize(() => sleep(10)))
      yield* sleep(1)
      assert.throws(() => mutex.unlock(), {
        code: 'BAD_STATE',
        message: 'main cannot unlock ledger: main > clerk holds it. Only the fiber that locked it can.',
      })
      assert.equal(mutex.holder, holder)
      yield* holder
    }))

  it('unlock and tryLock outside any fiber say so', () => {
    const mutex = new Mutex()
    assert.throws(() => mutex.unlock(), /code outside any fiber cannot unlock mutex/)
    assert.throws(() => mutex.tryLock(), NotInFiber)
    assert.equal(mutex.isHeld, false)
  })

  it('unlocked too early inside synchronize, the end of it says so', () =>
    virtual(function* () {
      const mutex = new Mutex()
      const error = yield* thrownBy(mutex.synchronize(() => mutex.unlock()))
      assert.ok(error instanceof BadState)
      assert.equal(mutex.isLocked, false)
    }))

  it('X2 a holder that died is detected by the next who locks, and reported', () =>
    virtual(function* () {
      const mutex = new Mutex({ name: 'ledger' })
      yield* spin('careless', lockAndForget, mutex)
      assert.equal(mutex.isLocked, false)
      assert.equal(mutex.holder, null)
      assert.deepEqual(reports(), [])
      yield* mutex.lock()
      assert.equal(mutex.holder, Fiber.current)
      assert.deepEqual(reports(), [
        'main > careless ended without unlocking ledger, so it was taken from it. Use synchronize(body), or unlock in a finally.',
      ])
      mutex.unlock()
    }))

  it('X2 tryLock takes over from a dead holder too', () =>
    virtual(function* () {
      const mutex = new Mutex()
      yield* spin(lockAndForget, mutex)
      assert.equal(mutex.tryLock(), true)
      assert.equal(reports().length, 1)
    }))

  it('X2 those who wait when the holder dies get it, in order', () =>
    virtual(function* () {
      const mutex = new Mutex()
      const log: unknown[] = []
      const careless = spin(lockAndForget, mutex)
      for (const n of [1, 2, 3]) spin(lockAndLog, mutex, log, n, n)
      yield* careless
      yield* Fiber.current.joinChildren()
      assert.deepEqual(log, [1, 2, 3])
      assert.equal(mutex.isLocked, false)
      assert.equal(reports().length, 1)
    }))

  it('X2 one after the other may die with it', () =>
    virtual(function* () {
      const mutex = new Mutex()
      const log: unknown[] = []
      for (let n = 0; n < 3; n++) spin(lockAndForget, mutex)
      spin(lockAndLog, mutex, log, 'at last', 1)
      yield* Fiber.current.joinChildren()
      assert.deepEqual(log, ['at last'])
      assert.equal(reports().length, 3)
    }))

  it('X2 S41 a restarted holder does not hold it any more', () =>
    virtual(function* () {
      const mutex = new Mutex()
      const log: unknown[] = []
      const fiber = spin(function* () {
        const { incarnation } = Fiber.current
        if (incarnation === 2) assert.equal(mutex.isHeld, false)
        yield* mutex.lock()
        log.push(incarnation)
        if (incarnation === 1) yield* suspend()
        mutex.unlock()
      })
      yield* sleep(1)
      fiber.restart()
      yield* fiber
      assert.deepEqual(log, [1, 2])
      assert.equal(mutex.isLocked, false)
      assert.equal(reports().length, 1)
    }))

  it('X2 S41 those who wait get it when the holder is restarted', () =>
    virtual(function* () {
      const mutex = new Mutex()
      const log: unknown[] = []
      const fiber = spin(function* () {
        if (Fiber.current.incarnation === 1) yield* mutex.lock()
        yield* sleep(10)
      })
      spin(lockAndLog, mutex, log, 'waiter', 1)
      yield* sleep(5)
      fiber.restart()
      yield* sleep(1)
      assert.deepEqual(log, ['waiter'])
    }))

  it('X2 a child that cleans up may lock what the body of its parent has left locked', () =>
    virtual(function* () {
      const mutex = new Mutex()
      const log: unknown[] = []
      yield* spin(function* () {
        yield* mutex.lock()
        spin(function* () {
          try {
            yield* sleep(1000)
          } finally {
            yield* mutex.lock()
            log.push('cleaned up')
            mutex.unlock()
          }
        })
        yield* sleep(1)
      })
      assert.deepEqual(log, ['cleaned up'])
    }))

  it('X2 a holder keeps nothing of a mutex that it has unlocked, nor of waiters that have left', () =>
    virtual(function* () {
      const mutex = new Mutex()
      const watched = () => (Fiber.current as any).cold?.locks?.size ?? 0
      yield* mutex.lock()
      const waiter = spin(() => mutex.synchronize(() => {}))
      yield* sleep(1)
      assert.equal(watched(), 1)
      yield* waiter.stop()
      assert.equal(watched(), 0)
      spin(() => mutex.synchronize(() => {}))
      yield* sleep(1)
      mutex.unlock()
      assert.equal(watched(), 0)
      yield* Fiber.current.joinChildren()
    }))

  it('S36 unlock hands it over: nobody can slip in between', () =>
    virtual(function* () {
      const mutex = new Mutex()
      yield* mutex.lock()
      const waiter = spin(() => mutex.synchronize(() => {}))
      yield* sleep(1)
      mutex.unlock()
      assert.equal(mutex.holder, waiter)
      assert.equal(mutex.tryLock(), false)
      yield* waiter
    }))

  it('S69 lock() iterated by hand is a named error, and leaves it unlocked', () =>
    virtual(function* () {
      const mutex = new Mutex()
      const holder = spin(() => mutex.synchronize(() => sleep(10)))
      yield* sleep(1)
      assert.throws(() => [...(mutex.lock() as any)], BadYield)
      yield* holder
      assert.equal(mutex.isLocked, false)
      for (let i = 0; i < 200; i++) {
        // The budget runs out in one of these: then the lock was given, and must be taken back.
        try {
          const [_] = mutex.lock() as any
          mutex.unlock()
        } catch (error) {
          assert.ok(error instanceof BadYield)
        }
        assert.equal(mutex.isLocked, false)
      }
    }))

  it('counts in stats()', () =>
    virtual(function* () {
      const mutex = new Mutex()
      assert.deepEqual(mutex.stats(), { isLocked: false, depth: 0, waiting: 0, locked: 0, waited: 0 })
      yield* mutex.lock()
      yield* mutex.lock()
      spin(() => mutex.synchronize(() => {}))
      yield* sleep(1)
      assert.deepEqual(mutex.stats(), { isLocked: true, depth: 2, waiting: 1, locked: 1, waited: 0 })
      mutex.unlock()
      mutex.unlock()
      yield* sleep(1)
      assert.deepEqual(mutex.stats(), { isLocked: false, depth: 0, waiting: 0, locked: 2, waited: 1 })
    }))

  it('the tree shows who waits for it, by its name', () =>
    virtual(function* () {
      const mutex = new Mutex({ name: 'ledger' })
      yield* mutex.lock()
      const waiter = spin(() => mutex.lock())
      yield* sleep(1)
      assert.equal(waiter.waitsFor, 'ledger.lock()')
      yield* waiter.stop()
    }))

  it('wrong options are refused by name', () => {
    assert.throws(() => new Mutex({ nome: 'x' } as any), /no option "nome"; there are: name/)
    assert.throws(() => new Mutex({ name: 42 } as any), BadArgument)
    assert.throws(() => new Mutex('name' as any), BadArgument)
  })

  it('X2 no order of three fibers, one of which dies with it, keeps the others out', (t) => {
    everyOrder(t, function* () {
      const mutex = new Mutex()
      const log: unknown[] = []
      spin(function* () {
        yield* mutex.lock()
        yield* snooze()
      })
      for (const n of [1, 2]) spin(() => mutex.synchronize(() => log.push(n)))
      yield* Fiber.current.joinChildren()
      assert.deepEqual(log.sort(), [1, 2])
      yield* mutex.lock()
    })
  })

  it('X1 locked and unlocked by hand, stopped or raised in everywhere, it is given back', () => {
    let mutex = new Mutex()
    const everyone = function* () {
      mutex = new Mutex()
      const workers = [1, 2, 3].map(() =>
        spin({ link: false }, function* () {
          yield* mutex.lock()
          try {
            yield* mutex.lock()
            try {
              yield* sleep(1)
            } finally {
              mutex.unlock()
            }
          } finally {
            mutex.unlock()
          }
        }),
      )
      for (const worker of workers) yield* worker.join()
    }
    const check = () => assert.equal(mutex.isLocked, false)
    stopEverywhere(everyone, { check })
    raiseEverywhere(everyone, { check })
  })

  it('S60 a fiber whose body is over still holds it until its cleanups have unlocked it', () =>
    virtual(function* () {
      const mutex = new Mutex()
      const log: string[] = []
      spin(function* () {
        yield* mutex.lock()
        yield* use(mutex, function* () {
          yield* sleep(10)
          log.push('unlocks')
          mutex.unlock()
        })
      })
      yield* sleep(5)
      assert.equal(mutex.isLocked, true)
      yield* mutex.synchronize(() => log.push('locked'))
      assert.deepEqual(log, ['unlocks', 'locked'])
    }))
})

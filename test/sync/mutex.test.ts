// The mutex: the fiber that holds it, how often, and what becomes of it when its holder is gone.

import {
  assert,
  BadState,
  describe,
  endListeners,
  Fiber,
  Mutex,
  now,
  type Routine,
  reports,
  shield,
  sleep,
  spin,
  started,
  suspend,
  test,
  thrownBy,
  use,
  waits,
} from '../prelude.js'
import { aLine } from '../shared/line.js'
import { aLock, lineAt } from '../shared/lock.js'
import { mutexLock } from './locks.js'

aLock('a mutex', mutexLock)
aLine('a mutex', () => lineAt(mutexLock()))

function* lockAndForget(mutex: Mutex): Routine<void> {
  yield* mutex.lock()
  yield* sleep(10)
}

/** A fiber that locks it as soon as it can, and notes it. */
function* locker(mutex: Mutex, log: unknown[], name: unknown): Routine<Fiber> {
  const fiber = spin(() => mutex.synchronize(() => void log.push(name)))
  yield* sleep(1)
  return fiber
}

describe('a mutex', () => {
  test('belongs to the fiber that locked it until it is unlocked as often, and counts locks and waits', function* () {
    const mutex = new Mutex()
    const seen = () => [mutex.isLocked, mutex.holder, mutex.isHeld, mutex.stats().depth]
    assert.deepEqual(seen(), [false, null, false, 0])
    yield* mutex.lock()
    assert.equal(mutex.tryLock(), true)
    const log: unknown[] = []
    yield* locker(mutex, log, 'other')
    assert.deepEqual(mutex.stats(), { isLocked: true, depth: 2, waiting: 1, locked: 1, waited: 0 })
    assert.equal(yield* spin(() => mutex.isHeld || mutex.tryLock()), false)
    yield* mutex.synchronize(function* () {
      yield* mutex.lock()
      assert.deepEqual(seen(), [true, Fiber.current, true, 4])
      mutex.unlock()
    })
    mutex.unlock()
    yield* sleep(1)
    assert.deepEqual(log, [])
    mutex.unlock()
    assert.equal(mutex.isHeld, false)
    yield* sleep(1)
    assert.deepEqual([log, ...seen()], [['other'], false, null, false, 0])
    assert.deepEqual(mutex.stats(), { isLocked: false, depth: 0, waiting: 0, locked: 2, waited: 1 })
  })

  test('unlocked by a fiber that does not hold it names both, and changes nothing', function* () {
    const mutex = new Mutex({ name: 'ledger' })
    assert.throws(() => mutex.unlock(), new BadState('main cannot unlock ledger: it is not locked'))
    const holder = spin('clerk', () => mutex.synchronize(() => sleep(10)))
    yield* sleep(1)
    const message = 'main cannot unlock ledger: main > clerk holds it. Only the fiber that locked it can.'
    assert.throws(() => mutex.unlock(), new BadState(message))
    assert.equal(mutex.holder, holder)
    const waiter = yield* started(() => mutex.lock())
    assert.equal(waiter.waitsFor, 'ledger.lock()')
    assert.throws(() => new Mutex().unlock(), /main cannot unlock mutex/)
  })

  test('left locked by a fiber that is over, it goes to the next that locks it, with a report', function* () {
    for (const lock of [
      (mutex: Mutex) => mutex.tryLock(),
      function* (mutex: Mutex): Routine<boolean> {
        yield* mutex.lock()
        return true
      },
    ]) {
      const mutex = new Mutex({ name: 'ledger' })
      const before = reports().length
      const careless = spin('careless', lockAndForget, mutex)
      yield* careless
      assert.deepEqual([mutex.isLocked, mutex.holder, mutex.stats().depth], [false, null, 0])
      assert.equal(reports().length, before)
      assert.equal(yield* spin(lock as any, mutex), true)
      assert.deepEqual(reports().slice(before), [
        'held: main > careless ended without unlocking ledger, so it was taken from it. Use synchronize(body), or unlock in a finally.',
      ])
    }
  })

  test('left locked, it goes to those in line, in order, also if they leave it locked too', function* () {
    const mutex = new Mutex()
    const log: unknown[] = []
    for (let n = 0; n < 2; n++) yield* started(() => lockAndForget(mutex))
    for (const n of [1, 2, 3]) yield* locker(mutex, log, n)
    yield* Fiber.current.joinChildren()
    assert.deepEqual([log, mutex.isLocked, reports().length], [[1, 2, 3], false, 2])
  })

  test('left locked by a body whose children still clean up, it is theirs to lock', function* () {
    const mutex = new Mutex()
    const log: unknown[] = []
    const forgetful = spin(function* () {
      yield* mutex.lock()
      spin(waits, () => mutex.synchronize(() => void log.push('the child')))
      spin(() => shield(() => mutex.synchronize(() => waits(() => log.push('a child in line'), 10))))
      yield* sleep(2)
    })
    yield* sleep(1)
    yield* locker(mutex, log, 'a stranger')
    yield* forgetful
    yield* Fiber.current.joinChildren()
    assert.deepEqual([log, mutex.isLocked], [['a child in line', 'a stranger', 'the child'], false])
  })

  test('is held until the cleanups of its fiber have unlocked it', function* () {
    const mutex = new Mutex()
    yield* started(function* () {
      yield* mutex.lock()
      yield* use(mutex, () => waits(() => mutex.unlock(), 10))
    })
    assert.equal(mutex.isLocked, true)
    yield* mutex.lock()
    assert.deepEqual([now(), reports()], [10, []])
  })

  test('is not held by the next incarnation of its holder, and goes to the next in line', function* () {
    for (const isWanted of [false, true]) {
      const mutex = new Mutex()
      const log: unknown[] = []
      const fiber = spin(function* () {
        assert.equal(mutex.isHeld, false)
        yield* mutex.lock()
        log.push(Fiber.current.incarnation)
        if (Fiber.current.incarnation === 1) yield* suspend()
        mutex.unlock()
      })
      yield* sleep(1)
      if (isWanted) yield* locker(mutex, log, 'waiter')
      fiber.restart()
      yield* fiber
      yield* sleep(1)
      assert.deepEqual(log, isWanted ? [1, 'waiter', 2] : [1, 2])
      assert.equal(mutex.isLocked, false)
    }
    assert.equal(reports().length, 2)
  })

  test('leaves nothing with a holder that has unlocked it, or when its waiters have left', function* () {
    const mutex = new Mutex()
    const watched = () => endListeners(Fiber.current)
    yield* mutex.lock()
    const first = yield* locker(mutex, [], 1)
    const second = yield* locker(mutex, [], 2)
    assert.equal(watched(), 1)
    yield* first.stop()
    assert.equal(watched(), 1)
    yield* second.stop()
    assert.equal(watched(), 0)
    yield* locker(mutex, [], 3)
    mutex.unlock()
    assert.equal(watched(), 0)
    assert.ok((yield* thrownBy(mutex.synchronize(() => mutex.unlock()))) instanceof BadState)
  })
})

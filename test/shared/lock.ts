// What every lock promises: at most one fiber is inside, first come, first served, and nothing is ever lost.
// Run against the mutex, a semaphore of 1, and whatever else lets one fiber in at a time.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  BadArgument,
  BadYield,
  Fiber,
  isStop,
  moveOnAfter,
  NotInFiber,
  type Op,
  type Routine,
  sleep,
  snooze,
  spin,
} from 'polyphony'
import { failEverywhere, raiseEverywhere, stopEverywhere, virtual } from 'polyphony/testing'
import { everyOrder } from '../explore/orders.js'
import { switches, thrownBy } from '../prelude.js'
import { killers } from './killers.js'

/** A lock, seen from the outside. */
export interface ALock {
  /** Runs a body inside. */
  hold(body: () => any): Op<any>
  /** Whether nobody is inside. */
  readonly isFree: boolean
  /** Fibers that wait to get in. */
  readonly waiting: number
}

/** Comes in at a time of its own, stays, and says so. */
function* visit(lock: ALock, log: unknown[], name: unknown, at = 0, stay = 10): Routine<void> {
  yield* sleep(at)
  yield* lock.hold(function* () {
    log.push(`${name} in`)
    try {
      yield* sleep(stay)
    } finally {
      log.push(`${name} out`)
    }
  })
}

function isBack(lock: ALock): void {
  assert.equal(lock.isFree, true, 'it was not given back')
  assert.equal(lock.waiting, 0, 'somebody stands in line who does not wait')
}

/** Three fibers go in one after the other, and a killer strikes at any moment. */
function threeAndAKiller(make: () => ALock, kill: (fibers: Fiber[]) => unknown): () => Routine<void> {
  return function* () {
    const lock = make()
    let inside = 0
    const workers = [1, 2, 3].map(() =>
      spin({ link: false }, function* () {
        yield* lock.hold(function* () {
          assert.equal(++inside, 1, 'two are inside')
          try {
            yield* snooze()
          } finally {
            inside--
          }
        })
      }),
    )
    const killer = spin(function* () {
      yield* snooze()
      kill(workers)
    })
    for (const fiber of [killer, ...workers]) yield* fiber.join()
    assert.equal(inside, 0)
    isBack(lock)
  }
}

export function aLock(name: string, make: () => ALock): void {
  describe(`${name} is a lock`, () => {
    it('S52 lets one in at a time, in the order in which they came', () =>
      virtual(function* () {
        const lock = make()
        const log: string[] = []
        for (const n of [1, 2, 3]) spin(visit, lock, log, n, n)
        yield* Fiber.current.joinChildren()
        assert.deepEqual(log, ['1 in', '1 out', '2 in', '2 out', '3 in', '3 out'])
        isBack(lock)
      }))

    it('gives what the body gives: a value, an object, the answer of an op, the result of a generator', () =>
      virtual(function* () {
        const lock = make()
        const object = { an: 'object' }
        assert.equal(yield* lock.hold(() => 1), 1)
        assert.equal(yield* lock.hold(() => undefined), undefined)
        assert.equal(yield* lock.hold(() => object), object)
        assert.equal(yield* lock.hold(() => sleep(1)), undefined)
        assert.equal(
          yield* lock.hold(function* () {
            yield* sleep(1)
            return 'done'
          }),
          'done',
        )
        isBack(lock)
      }))

    it('is given back when the body throws, before and after it has waited', () =>
      virtual(function* () {
        const lock = make()
        const error = new Error('in the body')
        const fail = () => {
          throw error
        }
        assert.equal(yield* thrownBy(lock.hold(fail)), error)
        isBack(lock)
        const op = lock.hold(function* () {
          yield* sleep(1)
          fail()
        })
        assert.equal(yield* thrownBy(op), error)
        isBack(lock)
      }))

    for (const verb of ['stop', 'kill', 'raise'] as const) {
      it(`is given back when the fiber inside is ended by ${verb}, and the next comes in`, () =>
        virtual(function* () {
          const lock = make()
          const log: string[] = []
          const first = spin({ link: false }, visit, lock, log, 1, 0, 1000)
          spin(visit, lock, log, 2, 1)
          yield* sleep(5)
          first[verb]()
          yield* Fiber.current.joinChildren()
          assert.deepEqual(log, ['1 in', '1 out', '2 in', '2 out'])
          isBack(lock)
        }))
    }

    it('S16 stays held while the cleanup of a stopped body waits', () =>
      virtual(function* () {
        const lock = make()
        const log: string[] = []
        const first = spin(() =>
          lock.hold(function* () {
            try {
              yield* sleep(1000)
            } finally {
              yield* sleep(20)
              log.push('cleaned up')
            }
          }),
        )
        spin(visit, lock, log, 2, 1)
        yield* sleep(5)
        yield* first.stop()
        yield* Fiber.current.joinChildren()
        assert.deepEqual(log, ['cleaned up', '2 in', '2 out'])
      }))

    it('S34 handed over and then stopped: it is let in first, and gives it back at its first switchpoint', () =>
      virtual(function* () {
        const lock = make()
        const log: string[] = []
        spin(function* () {
          yield* lock.hold(() => sleep(10))
          second.stop() // it has the lock, and has not run yet
        })
        const second = spin(visit, lock, log, 2, 1)
        spin(visit, lock, log, 3, 2)
        yield* Fiber.current.joinChildren()
        assert.deepEqual(log, ['2 in', '2 out', '3 in', '3 out'])
      }))

    it('S52 one who is stopped in line leaves its place, and nobody else loses theirs', () =>
      virtual(function* () {
        const lock = make()
        const log: string[] = []
        const fibers = [1, 2, 3, 4].map((n) => spin(visit, lock, log, n, n))
        yield* sleep(5)
        assert.equal(lock.waiting, 3)
        yield* (fibers[2] as Fiber).stop()
        assert.equal(lock.waiting, 2)
        yield* Fiber.current.joinChildren()
        assert.deepEqual(log, ['1 in', '1 out', '2 in', '2 out', '4 in', '4 out'])
      }))

    it('S65 one whose time is up in line leaves its place, and can come again', () =>
      virtual(function* () {
        const lock = make()
        const log: unknown[] = []
        spin(visit, lock, log, 1, 0, 50)
        yield* sleep(1)
        log.push(yield* moveOnAfter(10, () => lock.hold(() => 'inside'), 'gave up'))
        log.push(yield* lock.hold(() => 'inside'))
        assert.deepEqual(log, ['1 in', 'gave up', '1 out', 'inside'])
      }))

    it('S09 a pending stop strikes before it is entered, also when it is free', () =>
      virtual(function* () {
        const lock = make()
        let wasIn = false
        const fiber = spin(function* () {
          Fiber.current.stop()
          yield* lock.hold(() => {
            wasIn = true
          })
        })
        yield* fiber.join()
        assert.equal(wasIn, false)
        isBack(lock)
      }))

    it('S19 a body that had to be abandoned inside does not keep the others out', () =>
      virtual(function* () {
        const lock = make()
        const log: string[] = []
        const stubborn = spin(() =>
          lock.hold(function* () {
            for (;;) {
              // biome-ignore lint/suspicious/noConfusingLabels: a plain `continue` would be taken for a useless one
              hold: try {
                yield* sleep(1000)
              } finally {
                // biome-ignore lint/correctness/noUnsafeFinally: it never lets go
                break hold
              }
            }
          }),
        )
        spin(visit, lock, log, 'next', 1)
        yield* sleep(5)
        assert.deepEqual(yield* stubborn.kill(), { type: 'abandoned' })
        yield* Fiber.current.joinChildren()
        assert.deepEqual(log, ['next in', 'next out'])
        isBack(lock)
      }))

    it('S17 cleanup may wait for it', () =>
      virtual(function* () {
        const lock = make()
        const log: string[] = []
        spin(visit, lock, log, 1, 0, 20)
        const second = spin(function* () {
          try {
            yield* sleep(1000)
          } finally {
            yield* visit(lock, log, 'cleanup')
          }
        })
        yield* sleep(5)
        assert.deepEqual(yield* second.stop(), { type: 'stopped', value: undefined })
        assert.deepEqual(log, ['1 in', '1 out', 'cleanup in', 'cleanup out'])
      }))

    it('S50 a fiber that takes it again and again lets the others run', () =>
      virtual(function* () {
        const lock = make()
        const before = switches()
        for (let n = 0; n < 1300; n++) yield* lock.hold(() => 1)
        assert.ok(switches() - before >= 10, `${switches() - before} turns`)
      }))

    it('ten thousand in line all come in', () =>
      virtual(function* () {
        const lock = make()
        let count = 0
        for (let n = 0; n < 10_000; n++) spin(() => lock.hold(() => void count++))
        yield* lock.hold(() => sleep(1))
        yield* Fiber.current.joinChildren()
        assert.equal(count, 10_000)
        isBack(lock)
      }))

    it('a body that cannot be one is refused at the call', () =>
      virtual(function* () {
        const lock = make()
        for (const body of [undefined, null, 42, 'text', {}, async () => 1, (function* () {})()]) {
          assert.throws(() => lock.hold(body as any), BadArgument)
        }
        isBack(lock)
      }))

    it('a body that returns a promise is refused with a sentence that names until, and it is given back', () =>
      virtual(function* () {
        const lock = make()
        const error = yield* thrownBy(lock.hold(() => Promise.resolve(1)))
        assert.ok(error instanceof BadArgument)
        assert.match(error.message, /until/)
        isBack(lock)
      }))

    it('S69 iterated by anything but yield*, it is a named error and nothing stays held', () =>
      virtual(function* () {
        const lock = make()
        assert.throws(() => [...(lock.hold(() => sleep(1)) as any)], BadYield)
        isBack(lock)
        yield* visit(lock, [], 'still sound')
        const holder = spin(visit, lock, [], 'holder')
        yield* sleep(1)
        assert.throws(() => [...(lock.hold(() => 1) as any)], BadYield)
        assert.throws(() => {
          const [_] = lock.hold(() => 1) as any
        }, BadYield)
        yield* holder
        isBack(lock)
      }))

    it('S69 one op serves one wait at a time, and may be used again afterwards', () =>
      virtual(function* () {
        const lock = make()
        const op = lock.hold(() => sleep(10))
        const first = spin(() => op)
        yield* sleep(1)
        assert.match((yield* thrownBy(op)).message, /already being waited for by main > /)
        yield* first
        yield* op
        isBack(lock)
      }))

    it('outside any fiber it says so', () => {
      const lock = make()
      assert.throws(() => [...(lock.hold(() => 1) as any)], NotInFiber)
      isBack(lock)
    })

    it('a stop inside is seen by the body as any stop', () =>
      virtual(function* () {
        const lock = make()
        let seen: unknown
        const fiber = spin(() =>
          lock.hold(function* () {
            try {
              yield* sleep(1000)
            } catch (error) {
              seen = error
              throw error
            }
          }),
        )
        yield* sleep(1)
        yield* fiber.stop()
        assert.equal(isStop(seen), true)
      }))

    for (const [how, kill] of killers) {
      it(`F2 S34 S36 no order of three fibers and ${how} loses it, or lets two in`, (t) => {
        everyOrder(t, threeAndAKiller(make, kill))
      })
    }

    it('F2 S34 a limit that expires as it is handed over does not lose it', (t) => {
      everyOrder(t, function* () {
        const lock = make()
        spin(() => lock.hold(() => sleep(5)))
        yield* snooze()
        for (let n = 0; n < 3; n++) spin(() => moveOnAfter(5, () => lock.hold(() => snooze())))
        yield* Fiber.current.joinChildren()
        isBack(lock)
      })
    })

    it('S16 S34 stopped, raised in or failing at every switchpoint, it is given back', (t) => {
      let lock = make()
      const everyone = function* () {
        lock = make()
        const workers = [1, 2, 3].map(() => spin({ link: false }, visit, lock, [], 'worker'))
        for (const worker of workers) yield* worker.join()
      }
      const check = () => isBack(lock)
      const { switchpoints } = stopEverywhere(everyone, { check })
      assert.ok(switchpoints >= 9)
      raiseEverywhere(everyone, { check })
      failEverywhere(everyone, { check })
      t.diagnostic(`${switchpoints} switchpoints`)
    })
  })
}

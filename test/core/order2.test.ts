// Promises about order between runnable fibers: they hold for the first-in first-out run queue, not for shuffled ones.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  Fiber,
  isStop,
  type Routine,
  receive,
  sleep,
  snooze,
  spin,
  suppressedErrors,
  suspend,
  transfer,
} from 'polyphony'
import { explore } from 'polyphony/testing'

/** Runs a body once, first in, first out, whatever POLY_SEED says. */
function inOrder(body: () => Routine<void>): void {
  explore(body, { trace: '' })
}

function* fails(error: Error): Routine<never> {
  throw error
}

describe('first in, first out', () => {
  it('S31 several awaiters are woken in the order in which they came (L16)', () =>
    inOrder(function* () {
      const log: string[] = []
      const target = spin(() => suspend())
      const waiter = (name: string) =>
        spin(function* () {
          yield* target.join()
          log.push(name)
        })
      for (const name of ['a', 'b', 'c']) waiter(name)
      yield* sleep(1)
      target.schedule()
      yield* Fiber.current.joinChildren()
      assert.deepEqual(log, ['a', 'b', 'c'])
    }))

  it('S31 an awaiter that leaves does not change the order of the others', () =>
    inOrder(function* () {
      const log: string[] = []
      const target = spin(() => suspend())
      const waiters = ['a', 'b', 'c', 'd'].map((name) =>
        spin(function* () {
          yield* target.join()
          log.push(name)
        }),
      )
      yield* sleep(1)
      waiters[1]!.stop()
      waiters[3]!.stop()
      yield* sleep(1)
      target.schedule()
      yield* Fiber.current.joinChildren()
      assert.deepEqual(log, ['a', 'c'])
    }))

  it('S26 two children that fail before the parent runs: both strike, at successive switchpoints (F5.1)', () =>
    inOrder(function* () {
      const [a, b] = [new Error('a'), new Error('b')]
      spin(fails, a)
      spin(fails, b)
      const caught: unknown[] = []
      for (let i = 0; i < 3; i++) {
        try {
          yield* snooze()
        } catch (e) {
          caught.push(e)
        }
      }
      assert.deepEqual(caught, [a, b])
    }))

  it('S26 a parent that catches only the first fails with the second', () =>
    inOrder(function* () {
      const [a, b] = [new Error('a'), new Error('b')]
      const parent = spin(function* () {
        spin(fails, a)
        spin(fails, b)
        try {
          yield* suspend()
        } catch (e) {
          assert.equal(e, a)
        }
      })
      assert.deepEqual(yield* parent.join(), { type: 'error', error: b })
    }))

  it('S26 a parent that catches neither fails with the first, the second suppressed', () =>
    inOrder(function* () {
      const [a, b] = [new Error('a'), new Error('b')]
      const parent = spin(function* () {
        spin(fails, a)
        spin(fails, b)
        yield* suspend()
      })
      assert.deepEqual(yield* parent.join(), { type: 'error', error: a })
      assert.deepEqual(suppressedErrors(a), [b])
    }))

  it('S26 a child error and a stop of the same turn: the error first, then the stop', () =>
    inOrder(function* () {
      const error = new Error('child')
      const log: unknown[] = []
      const parent = spin(function* () {
        spin(fails, error)
        for (let i = 0; i < 2; i++) {
          try {
            yield* suspend()
          } catch (e) {
            log.push(isStop(e) ? 'stop' : e)
          }
        }
      })
      yield* snooze() // the parent waits, the child is queued behind this fiber
      parent.stop()
      yield* parent.join()
      // The stop was asked for first, but its strike had not happened when the error arrived.
      assert.deepEqual(log, [error, 'stop'])
    }))

  it('S31 Fiber.await of two that fail in one turn throws the first, the second suppressed', () =>
    inOrder(function* () {
      const [a, b] = [new Error('a'), new Error('b')]
      const fibers = [spin(fails, a), spin(fails, b)]
      try {
        yield* Fiber.await(...fibers)
        assert.fail('did not throw')
      } catch (e) {
        assert.equal(e, a)
        assert.deepEqual(suppressedErrors(a), [b])
      }
      yield* snooze()
    }))

  it('S38 fibers that got messages run in the order in which the messages were sent', () =>
    inOrder(function* () {
      const log: string[] = []
      const fibers = ['a', 'b', 'c'].map((name) =>
        spin(function* () {
          yield* receive()
          log.push(name)
        }),
      )
      yield* snooze()
      for (const i of [2, 0, 1]) fibers[i]!.send('m')
      yield* Fiber.current.joinChildren()
      assert.deepEqual(log, ['c', 'a', 'b'])
    }))

  it('S63 scheduleWithPriority puts a waiting fiber at the head of the queue', () =>
    inOrder(function* () {
      const log: string[] = []
      const fibers = ['a', 'b', 'c'].map((name) =>
        spin(function* () {
          yield* suspend()
          log.push(name)
        }),
      )
      yield* snooze()
      fibers[0]!.schedule()
      fibers[1]!.schedule()
      assert.equal(fibers[2]!.scheduleWithPriority(), true)
      yield* Fiber.current.joinChildren()
      assert.deepEqual(log, ['c', 'a', 'b'])
    }))

  it('S62 transfer runs its target next, before all that are runnable', () =>
    inOrder(function* () {
      const log: string[] = []
      for (const name of ['a', 'b']) {
        spin(function* () {
          log.push(name)
        })
      }
      const raw = new Fiber(function* () {
        log.push('raw')
      })
      yield* transfer(raw)
      log.push('main')
      yield* Fiber.current.joinChildren()
      assert.deepEqual(log, ['raw', 'main', 'a', 'b'])
    }))

  it('S41 a restarted fiber has its turn after those that were runnable before', () =>
    inOrder(function* () {
      const log: string[] = []
      const fiber = spin(function* () {
        log.push(`start ${Fiber.current.incarnation}`)
        yield* suspend()
      })
      yield* snooze()
      spin(function* () {
        log.push('other')
      })
      fiber.restart()
      yield* sleep(1)
      yield* fiber.stop()
      assert.deepEqual(log, ['start 1', 'other', 'start 2'])
    }))
})

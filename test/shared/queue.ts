// What every queue of items promises: in order, each item to one taker, and none is lost or doubled, whoever is stopped.
// Run against the queue with and without a capacity, and whatever else passes items on.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { BadYield, Fiber, isStop, type Op, type Routine, sleep, snooze, spin } from 'polyphony'
import { failEverywhere, raiseEverywhere, stopEverywhere, virtual } from 'polyphony/testing'
import { everyOrder } from '../explore/orders.js'
import { switches } from '../prelude.js'
import { killers } from './killers.js'

/** A queue, seen from the outside. */
export interface AQueue {
  push(item: unknown): Op<void>
  shift(): Op<any>
  readonly size: number
  /** Those who wait for an item. */
  readonly waiting: number
}

function* shiftInto(queue: AQueue, log: unknown[], at = 0): Routine<void> {
  yield* sleep(at)
  log.push(yield* queue.shift())
}

/** Two push, one shifts, and a killer strikes at any moment. Every item pushed is shifted or still there. */
function twoToOne(make: () => AQueue, kill: (fibers: Fiber[]) => unknown): () => Routine<void> {
  return function* () {
    const queue = make()
    const pushed: number[] = []
    const shifted: number[] = []
    const pusher = (n: number) =>
      spin({ link: false }, function* () {
        yield* queue.push(n)
        pushed.push(n)
      })
    const shifter = spin({ link: false }, function* () {
      for (let n = 0; n < 2; n++) shifted.push(yield* queue.shift())
    })
    const fibers = [pusher(1), shifter, pusher(2)]
    spin(function* () {
      yield* snooze()
      kill(fibers)
    })
    yield* sleep(1)
    shifter.stop()
    while (queue.size > 0) {
      shifted.push(yield* queue.shift())
      yield* sleep(1) // room for the next
    }
    for (const fiber of fibers) yield* fiber.join()
    assert.deepEqual(shifted.sort(), pushed.sort())
    assert.equal(queue.waiting, 0)
  }
}

/** One pushes, three shift, and a killer strikes at any moment: nobody is left waiting beside an item. */
function oneToThree(make: () => AQueue, kill: (fibers: Fiber[]) => unknown): () => Routine<void> {
  return function* () {
    const queue = make()
    const shifted: number[] = []
    const shifters = [1, 2, 3].map(() =>
      spin({ link: false }, function* () {
        shifted.push(yield* queue.shift())
        yield* snooze()
      }),
    )
    spin(function* () {
      for (const n of [1, 2]) yield* queue.push(n)
    })
    yield* snooze()
    kill(shifters)
    yield* sleep(1)
    assert.ok(queue.size === 0 || queue.waiting === 0, 'somebody waits, and there is an item')
    const left = queue.size
    for (let n = 0; n < left; n++) shifted.push(yield* queue.shift())
    for (const shifter of shifters) yield* shifter.stop()
    assert.deepEqual(shifted.sort(), [1, 2])
    assert.equal(queue.waiting, 0)
  }
}

export function aQueue(name: string, make: () => AQueue): void {
  describe(`${name} is a queue`, () => {
    it('gives items in the order in which they came', () =>
      virtual(function* () {
        const queue = make()
        const log: unknown[] = []
        spin(function* () {
          for (let n = 0; n < 100; n++) yield* queue.push(n)
        })
        for (let n = 0; n < 100; n++) log.push(yield* queue.shift())
        assert.deepEqual(
          log,
          Array.from({ length: 100 }, (_, n) => n),
        )
      }))

    it('carries any value: undefined, null, errors, functions, promises', () =>
      virtual(function* () {
        const queue = make()
        const items = [undefined, null, 0, '', new Error('an item'), () => 1, Promise.resolve(2), sleep]
        for (const item of items) {
          yield* queue.push(item)
          assert.equal(yield* queue.shift(), item)
        }
      }))

    it('S52 those who wait for an item get one in the order in which they came', () =>
      virtual(function* () {
        const queue = make()
        const log: unknown[] = []
        for (const n of [1, 2, 3]) {
          spin(function* () {
            yield* sleep(n)
            log.push([n, yield* queue.shift()])
          })
        }
        yield* sleep(5)
        assert.equal(queue.waiting, 3)
        for (const item of ['a', 'b', 'c']) yield* queue.push(item)
        yield* Fiber.current.joinChildren()
        assert.deepEqual(log.sort(), [
          [1, 'a'],
          [2, 'b'],
          [3, 'c'],
        ])
      }))

    it('S36 an item goes to the waiter itself: nobody can take it in between', () =>
      virtual(function* () {
        const queue = make()
        const log: unknown[] = []
        const waiter = spin(shiftInto, queue, log)
        yield* sleep(1)
        yield* queue.push('for the waiter')
        assert.equal(queue.size, 0)
        yield* waiter
        assert.deepEqual(log, ['for the waiter'])
      }))

    it('S34 an item handed over, then a stop: the fiber gets the item first', () =>
      virtual(function* () {
        const queue = make()
        const log: unknown[] = []
        const waiter = spin(shiftInto, queue, log)
        yield* sleep(1)
        yield* queue.push('item')
        yield* waiter.stop()
        assert.deepEqual(log, ['item'])
      }))

    it('F5.2 S52 one who is stopped in line leaves its place, and the next gets the item', () =>
      virtual(function* () {
        const queue = make()
        const log: unknown[] = []
        const first = spin(shiftInto, queue, log)
        spin(shiftInto, queue, log, 1)
        yield* sleep(5)
        first.stop()
        yield* queue.push('item')
        yield* sleep(1)
        assert.deepEqual(log, ['item'])
      }))

    it('S17 waiting for an item is refused while unwinding', () =>
      virtual(function* () {
        const queue = make()
        let refused = 0
        const fiber = spin(function* () {
          try {
            yield* queue.shift()
          } finally {
            try {
              yield* queue.shift()
            } catch (error) {
              if (isStop(error)) refused++
            }
          }
        })
        yield* sleep(1)
        yield* fiber.stop()
        assert.equal(refused, 1)
      }))

    it('S50 a fiber that finds an item each time lets the others run', () =>
      virtual(function* () {
        const queue = make()
        const before = switches()
        for (let n = 0; n < 1300; n++) {
          yield* queue.push(n)
          yield* queue.shift()
        }
        assert.ok(switches() - before >= 20, `${switches() - before} turns`)
      }))

    it('S69 shift() iterated by hand is a named error, and costs no item', () =>
      virtual(function* () {
        const queue = make()
        assert.throws(() => [...(queue.shift() as any)], BadYield)
        assert.equal(queue.waiting, 0)
        let shifted = 0
        for (let n = 0; n < 200; n++) {
          yield* queue.push(n)
          try {
            const [_] = queue.shift() as any
            shifted++
          } catch (error) {
            assert.ok(error instanceof BadYield)
            assert.equal(queue.size, 1)
            assert.equal(yield* queue.shift(), n)
          }
          assert.equal(queue.size, 0)
        }
        assert.ok(shifted < 200, 'the budget never ran out')
      }))

    for (const [how, kill] of killers) {
      it(`F2 F5.2 S34 no order of two who push, one who shifts and ${how} loses an item or doubles it`, (t) => {
        everyOrder(t, twoToOne(make, kill))
      })
      it(`F2 F5.2 S34 no order of one who pushes, three who shift and ${how} loses an item or a wake-up`, (t) => {
        everyOrder(t, oneToThree(make, kill))
      })
    }

    it('F5.2 stopped, raised in or failing at every switchpoint, no item is lost', () => {
      let queue = make()
      let pushed: number[] = []
      let shifted: number[] = []
      const everyone = function* () {
        queue = make()
        pushed = []
        shifted = []
        const producer = spin({ link: false }, function* () {
          for (let n = 0; n < 3; n++) {
            yield* queue.push(n)
            pushed.push(n)
          }
        })
        const consumers = [1, 2].map(() =>
          spin({ link: false }, function* () {
            for (;;) shifted.push(yield* queue.shift())
          }),
        )
        yield* producer.join()
        yield* sleep(1)
        for (const consumer of consumers) yield* consumer.stop()
      }
      const check = () => {
        // What was shifted was pushed; what is missing is still in the queue.
        assert.ok(shifted.length + queue.size >= pushed.length, 'an item was lost')
        assert.ok(shifted.length + queue.size <= pushed.length + 1, 'an item was doubled') // put in, and stopped before it said so
        assert.equal(queue.waiting, 0)
      }
      assert.ok(stopEverywhere(everyone, { check }).switchpoints >= 8)
      raiseEverywhere(everyone, { check })
      failEverywhere(everyone, { check })
    })
  })
}

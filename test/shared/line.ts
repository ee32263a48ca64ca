// What every line of waiters promises: first come, first served, what comes free is handed over directly, and a waiter
// that goes leaves nothing behind. Run against locks, queues, conditions and mailboxes.

import {
  assert,
  BadYield,
  describe,
  type Fiber,
  moveOnAfter,
  type Op,
  type Routine,
  sleep,
  started,
  test,
  waits,
} from '../prelude.js'

/** A line, seen from the outside. Nothing is to be had when it is made. */
export interface ALine {
  wait(): Op<unknown>
  /** Lets the first in line through, then calls `then` before that fiber runs. */
  give(then?: () => unknown): unknown
  /** Tries to get what was given, without waiting. */
  tryTake?(): unknown
  waiting(): number
  /** S17: waiting in it is never cleanup. */
  readonly isIdle?: boolean
}

export function aLine(name: string, make: () => Routine<ALine>): void {
  describe(`the line of ${name}`, () => {
    test('serves the first to come first; one that is stopped or out of time leaves its place', function* () {
      const line = yield* make()
      const log: number[] = []
      const waiters: Fiber<any>[] = []
      for (const n of [1, 2, 3, 4]) {
        const body = function* () {
          yield* line.wait()
          log.push(n)
        }
        waiters.push(yield* started(() => moveOnAfter(n === 3 ? 5 : 1000, body)))
      }
      assert.equal(line.waiting(), 4)
      yield* waiters[1]!.stop()
      assert.equal(line.waiting(), 3)
      yield* sleep(5)
      assert.equal(line.waiting(), 2)
      for (let n = 0; n < 2; n++) {
        line.give()
        yield* sleep(1)
      }
      assert.deepEqual([log, line.waiting()], [[1, 4], 0])
    })

    test('hands over directly: no other fiber gets it, and a stop that comes later does not lose it', function* () {
      const line = yield* make()
      let isServed = false
      const waiter = yield* started(function* () {
        yield* line.wait()
        isServed = true
      })
      line.give(() => {
        assert.equal(line.waiting(), 0)
        if (line.tryTake !== undefined) assert.ok(!line.tryTake(), 'it was taken in between')
        waiter.stop()
      })
      yield* waiter.join()
      assert.ok(isServed)
    })

    test('has no place for an op that is iterated by hand, which may be used again', function* () {
      const line = yield* make()
      const op = line.wait() as any
      assert.throws(() => [...op], BadYield)
      assert.throws(() => {
        const [_] = op
      }, BadYield)
      assert.equal(line.waiting(), 0)
      const waiter = yield* started(() => op)
      assert.equal(line.waiting(), 1)
      line.give()
      yield* waiter
    })

    test('may or may not be waited in by cleanup (S17)', function* () {
      const line = yield* make()
      let isServed = false
      const fiber = yield* started(() =>
        waits(function* () {
          yield* line.wait()
          isServed = true
        }),
      )
      fiber.stop()
      yield* sleep(1)
      line.give()
      assert.equal((yield* fiber.join()).type, 'stopped')
      assert.equal(isServed, !line.isIdle)
    })
  })
}

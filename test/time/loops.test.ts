import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { every, moveOnAfter, sleep, snooze, spin, spinLoop, throttledLoop } from 'polyphony'
import { virtual } from 'polyphony/testing'
import { clock } from './clock.js'

/** The times at which `loop` ran its body, which takes `bodyMs`, in `forMs` milliseconds. */
function* ticks(
  forMs: number,
  bodyMs: number,
  loop: (body: () => Generator<any, void, any>) => any,
): Generator<any, number[], any> {
  const now = clock()
  const seen: number[] = []
  yield* moveOnAfter(forMs, () =>
    loop(function* () {
      seen.push(now())
      if (bodyMs > 0) yield* sleep(bodyMs)
    }),
  )
  return seen
}

describe('every', () => {
  it('ticks on a grid that does not drift: 10, 20, ... 100', () =>
    virtual(function* () {
      const seen = yield* ticks(105, 3, (body) => every(10, body))
      assert.deepEqual(seen, [10, 20, 30, 40, 50, 60, 70, 80, 90, 100])
    }))

  it('a body slower than the period skips ticks and makes no burst: 20, 50, 80, 110', () =>
    virtual(function* () {
      const seen = yield* ticks(115, 30, (body) => every(20, body))
      assert.deepEqual(seen, [20, 50, 80, 110])
    }))

  it('after one slow round it is back on a steady pace, without catching up', () =>
    virtual(function* () {
      const now = clock()
      const seen: number[] = []
      yield* every(10, function* () {
        seen.push(now())
        if (seen.length === 2) yield* sleep(35)
        return seen.length < 6
      })
      assert.deepEqual(seen.slice(0, 2), [10, 20])
      const gaps = seen.slice(1).map((time, i) => time - (seen[i] as number))
      assert.ok(
        gaps.slice(2).every((gap) => gap === 10),
        `ticks at ${seen}`,
      )
    }))

  it('ends when its body returns false', () =>
    virtual(function* () {
      let rounds = 0
      yield* every(10, () => ++rounds < 3)
      assert.equal(rounds, 3)
    }))

  it('takes a plain function, and gives back nothing', () =>
    virtual(function* () {
      assert.equal(yield* every(10, () => false), undefined)
    }))

  it('an error of the body ends it', () =>
    virtual(function* () {
      const failing = () => {
        throw new Error('no more')
      }
      let caught: unknown
      try {
        yield* every(10, failing)
      } catch (error) {
        caught = error
      }
      assert.equal((caught as Error).message, 'no more')
    }))

  it('S17 is refused while unwinding: waiting for the next tick is never cleanup', () =>
    virtual(function* () {
      const log: string[] = []
      const fiber = spin(function* () {
        try {
          yield* sleep()
        } finally {
          log.push('cleanup')
          yield* every(10, () => {
            log.push('tick')
          })
          log.push('not reached')
        }
      })
      yield* sleep(1)
      yield* fiber.stop()
      assert.deepEqual(log, ['cleanup'])
    }))

  it('refuses a period of 0', () =>
    virtual(function* () {
      assert.throws(() => every(0, () => {}), { code: 'BAD_ARGUMENT' })
      assert.throws(() => every(-1, () => {}), { code: 'BAD_ARGUMENT' })
      assert.throws(() => every(1, undefined as never), { code: 'BAD_ARGUMENT' })
      yield* snooze()
    }))
})

describe('throttledLoop', () => {
  it('begins at once, then keeps its rate', () =>
    virtual(function* () {
      const seen = yield* ticks(45, 0, (body) => throttledLoop(100, body))
      assert.deepEqual(seen, [0, 10, 20, 30, 40])
    }))

  it('takes a rate, or an interval, and a count', () =>
    virtual(function* () {
      assert.deepEqual(
        yield* ticks(1000, 0, (body) => throttledLoop({ rate: 10, count: 3 }, body)),
        [0, 100, 200],
      )
      assert.deepEqual(
        yield* ticks(1000, 5, (body) => throttledLoop({ interval: 20, count: 2 }, body)),
        [0, 20],
      )
    }))

  it('runs 50 rounds in half a second at 100 a second', () =>
    virtual(function* () {
      const seen = yield* ticks(499, 0, (body) => throttledLoop(100, body))
      assert.equal(seen.length, 50)
    }))

  it('ends when its body returns false', () =>
    virtual(function* () {
      let rounds = 0
      yield* throttledLoop(1000, () => ++rounds < 3)
      assert.equal(rounds, 3)
    }))

  it('refuses a pace that says nothing, too much, or nonsense', () =>
    virtual(function* () {
      const nothing = () => {}
      for (const wrong of [
        {},
        { rate: 1, interval: 1 },
        { rate: 0 },
        { rate: -1 },
        { count: 1 },
        { speed: 1 },
        0,
      ]) {
        assert.throws(
          () => throttledLoop(wrong as never, nothing),
          { code: 'BAD_ARGUMENT' },
          JSON.stringify(wrong),
        )
      }
      yield* snooze()
    }))
})

describe('spinLoop', () => {
  it('is a child that repeats its body until that returns false', () =>
    virtual(function* () {
      let rounds = 0
      const fiber = spinLoop(() => ++rounds < 5)
      assert.equal(yield* fiber, undefined)
      assert.equal(rounds, 5)
    }))

  it('without a pace lets others run, even if its body never waits', () =>
    virtual(function* () {
      const fiber = spinLoop(() => {}, { name: 'busy' })
      yield* snooze()
      assert.equal(fiber.name, 'busy')
      assert.equal(fiber.state !== 'dead', true)
      yield* fiber.stop()
    }))

  it('keeps a rate or an interval', () =>
    virtual(function* () {
      const now = clock()
      const seen: number[] = []
      yield* spinLoop(() => void seen.push(now()), { rate: 100, count: 3 })
      yield* spinLoop(() => void seen.push(now()), { interval: 50, count: 2 })
      assert.deepEqual(seen.slice(0, 3), [0, 10, 20])
      assert.equal((seen[4] as number) - (seen[3] as number), 50)
    }))

  it('is stopped like any other fiber', () =>
    virtual(function* () {
      let rounds = 0
      const fiber = spinLoop(() => void rounds++, { interval: 10 })
      yield* sleep(25)
      yield* fiber.stop()
      yield* sleep(100)
      assert.equal(rounds, 3)
    }))
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { after, Fiber, moveOnAfter, sleep, snooze, spin, tap } from 'polyphony'
import { sequence, virtual } from 'polyphony/testing'
import { clock } from './clock.js'

describe('sleep', () => {
  it('takes exactly as long as it says', () =>
    virtual(function* () {
      const now = clock()
      yield* sleep(250)
      assert.equal(now(), 250)
      yield* sleep(0.5)
      assert.equal(now(), 250.5)
    }))

  it('of 0 lets others run, and takes no time', () =>
    virtual(function* () {
      const now = clock()
      let ran = false
      spin(() => {
        ran = true
      })
      yield* sleep(0)
      assert.equal(ran, true)
      assert.equal(now(), 0)
    }))

  it('wakes sleepers in the order of their time, not of their start', () =>
    virtual(function* () {
      const log: number[] = []
      const sleepers = [30, 10, 20].map((ms) =>
        spin(function* () {
          yield* sleep(ms)
          log.push(ms)
        }),
      )
      yield* Fiber.await(...sleepers)
      assert.deepEqual(log, [10, 20, 30])
    }))

  it('that is stopped ends at once', () =>
    virtual(function* () {
      const now = clock()
      const sleeper = spin(() => sleep(10_000))
      yield* sleep(5)
      assert.deepEqual(yield* sleeper.stop('early'), { type: 'stopped', value: 'early' })
      assert.equal(now(), 5)
    }))

  it('without a number waits until it is stopped', () =>
    virtual(function* () {
      const now = clock()
      assert.equal(yield* moveOnAfter(1_000_000, () => sleep(), 'over'), 'over')
      assert.equal(now(), 1_000_000)
    }))

  it('refuses durations that cannot be meant', () =>
    virtual(function* () {
      for (const wrong of [-1, Number.NaN, Infinity, 2 ** 31, '10', null]) {
        assert.throws(() => sleep(wrong as number), { code: 'BAD_ARGUMENT' }, String(wrong))
      }
      yield* snooze()
    }))

  it('is one wait: the same op cannot be waited for by two fibers at once', () =>
    virtual(function* () {
      const op = sleep(10)
      const first = spin(() => op)
      yield* sleep(1)
      const second = spin({ link: false }, function* () {
        yield* op
      })
      const outcome = yield* second.join()
      assert.equal(outcome.type === 'error' && (outcome.error as { code: string }).code, 'BAD_ARGUMENT')
      yield* first // it is not harmed
    }))
})

describe('after', () => {
  it('runs its body later, in a child', () =>
    virtual(function* () {
      const now = clock()
      const fiber = after(100, () => now())
      assert.equal(fiber.parent, Fiber.current)
      assert.equal(yield* fiber, 100)
    }))

  it('that is stopped never runs its body', () =>
    virtual(function* () {
      let ran = false
      const fiber = after(100, () => {
        ran = true
      })
      yield* sleep(50)
      yield* fiber.stop()
      yield* sleep(100)
      assert.equal(ran, false)
    }))
})

describe('equal times', () => {
  it('S68 deadlines fire in the order they were set, so a time-out around an equally long sleep wins', () =>
    virtual(function* () {
      assert.equal(yield* moveOnAfter(5, () => sleep(5), 'timed out'), 'timed out')
    }))

  it('S68 a sleep that was set before an equal time-out wakes first', () =>
    virtual(function* () {
      const at = sequence(2)
      const sleeper = spin(function* () {
        yield* at(0)
        yield* sleep(5)
      })
      const limited = spin(function* () {
        yield* at(1) // the other sleeps by now
        yield* moveOnAfter(5, () => sleep())
      })
      yield* sleep(1)
      const woken: Fiber[] = []
      const untap = tap((event, fiber) => event === 'schedule' && woken.push(fiber))
      yield* sleep(10)
      untap()
      assert.deepEqual(
        woken.filter((fiber) => fiber !== Fiber.current).map((fiber) => fiber.id),
        [sleeper.id, limited.id],
      )
    }))
})

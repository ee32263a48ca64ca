import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  Fiber,
  moveOnAfter,
  type Routine,
  run,
  sleep,
  snooze,
  spin,
  spinLoop,
  Throttler,
  throttledLoop,
} from 'polyphony'
import { explore, leaks, raiseEverywhere, stopEverywhere, virtual } from 'polyphony/testing'
import { turns } from '../prelude.js'
import { clock } from './clock.js'

/** Lets time pass while nothing runs, as when something blocks the event loop. */
function block(ms: number): void {
  ;(Fiber.current as any).runtime.backend.time += ms
}

/** The times at which a fiber that does nothing else goes through. */
function* passages(throttler: Throttler, forMs: number): Routine<number[]> {
  const now = clock()
  const seen: number[] = []
  yield* moveOnAfter(forMs, function* () {
    for (;;) {
      yield* throttler.wait()
      seen.push(now())
    }
  })
  return seen
}

/** The most that went in any stretch of so many milliseconds, both ends included. */
function mostIn(ms: number, times: number[]): number {
  let most = 0
  for (let i = 0, j = 0; i < times.length; i++) {
    while ((times[i] as number) - (times[j] as number) > ms) j++
    most = Math.max(most, i - j + 1)
  }
  return most
}

describe('a throttler', () => {
  it('T8 lets the first through at once, the others on a grid: 50 in half a second at 100 a second', () =>
    virtual(function* () {
      const seen = yield* passages(new Throttler(100), 499)
      assert.equal(seen.length, 50)
      assert.deepEqual(
        seen,
        seen.map((_, n) => n * 10),
      )
    }))

  it('T8 takes a rate or an interval, and does not drift where the interval is no whole number', () =>
    virtual(function* () {
      assert.deepEqual(yield* passages(new Throttler({ interval: 250 }), 1000), [0, 250, 500, 750])
      const seen = yield* passages(new Throttler({ rate: 3 }), 99_999)
      assert.equal(seen.length, 300)
      assert.ok(Math.abs((seen.at(-1) as number) - (299 * 1000) / 3) < 0.001)
      assert.equal((yield* passages(new Throttler(0.5), 9_999)).length, 5)
      assert.equal((yield* passages(new Throttler(2.5), 9_999)).length, 25)
    }))

  it('T8 S52 is shared between fibers, which are served in the order in which they came', () =>
    virtual(function* () {
      const now = clock()
      const throttler = new Throttler({ interval: 10 })
      const seen: string[] = []
      for (const [name, ms] of Object.entries({ a: 0, b: 1, c: 2 })) {
        spin(function* () {
          yield* sleep(ms)
          for (let n = 0; n < 2; n++) {
            yield* throttler.process(() => void seen.push(`${name} at ${now()}`))
            yield* sleep(3)
          }
        })
      }
      yield* Fiber.current.joinChildren()
      assert.deepEqual(seen, ['a at 0', 'b at 10', 'c at 20', 'a at 30', 'b at 40', 'c at 50'])
    }))

  it('burst: after a time in which none went so many go at once, then the grid', () =>
    virtual(function* () {
      const throttler = new Throttler({ rate: 100, burst: 3 })
      assert.deepEqual(yield* passages(throttler, 35), [0, 0, 0, 10, 20, 30])
      yield* sleep(1000)
      assert.deepEqual((yield* passages(throttler, 15)).map(Math.round), [0, 0, 0, 10])
      yield* sleep(20) // not all of it is back
      assert.equal((yield* passages(throttler, 1)).length, 2)
    }))

  it('without a burst what nobody wanted is lost: no two go at once after a pause', () =>
    virtual(function* () {
      const throttler = new Throttler(100)
      yield* throttler.wait()
      yield* sleep(500)
      assert.deepEqual(yield* passages(throttler, 25), [0, 10, 20])
    }))

  it('never lets more than rate * t + burst through in any stretch of time, whatever comes when', () =>
    virtual(function* () {
      for (const [rate, burst] of [
        [100, 1],
        [100, 7],
        [30, 2],
        [1000, 3],
      ] as const) {
        const now = clock()
        const throttler = new Throttler({ rate, burst })
        const times: number[] = []
        let seed = rate
        const random = () => (seed = (seed * 16_807) % 2_147_483_647) / 2_147_483_647
        for (let n = 0; n < 20; n++) {
          spin(function* () {
            for (let k = 0; k < 30; k++) {
              yield* sleep(random() < 0.3 ? random() * 200 : 0)
              yield* throttler.wait()
              times.push(now())
            }
          })
        }
        yield* Fiber.current.joinChildren()
        assert.equal(times.length, 600)
        for (const ms of [0, 5, 10, 33, 100, 500, 1000, 2000]) {
          const most = mostIn(ms, times)
          assert.ok(
            most <= (rate * ms) / 1000 + burst + 1e-6,
            `${most} in ${ms} ms at ${rate}/s, burst ${burst}`,
          )
        }
      }
    }))

  it('a waiter that is stopped leaves its turn to the next: nobody loses time', () =>
    virtual(function* () {
      const now = clock()
      const throttler = new Throttler({ interval: 10 })
      const seen: string[] = []
      const fibers = ['a', 'b', 'c', 'd'].map((name, n) =>
        spin(name, function* () {
          yield* sleep(n / 10)
          yield* throttler.wait()
          seen.push(`${name} at ${now()}`)
        }),
      )
      yield* sleep(5)
      yield* (fibers[1] as Fiber).stop()
      yield* sleep(10)
      assert.equal(throttler.waiting, 1)
      yield* Fiber.current.joinChildren()
      assert.deepEqual(seen, ['a at 0', 'c at 10', 'd at 20'])
    }))

  it('when the last waiter is stopped no timer is left, and the slot it waited for is not lost', () =>
    virtual(function* () {
      const now = clock()
      const throttler = new Throttler({ interval: 100 })
      yield* throttler.wait()
      yield* moveOnAfter(50, () => throttler.wait())
      assert.equal((Fiber.current as any).runtime.timers.size, 0)
      yield* throttler.wait()
      assert.equal(now(), 100)
    }))

  it('a late timer moves no later slot, and those who waited catch up', () =>
    virtual(function* () {
      const now = clock()
      const throttler = new Throttler({ interval: 10 })
      const seen: number[] = []
      for (let n = 0; n < 6; n++) {
        spin(function* () {
          yield* throttler.wait()
          seen.push(now())
        })
      }
      yield* sleep(5)
      block(20) // the timers of 10 and 20 come at 25
      yield* Fiber.current.joinChildren()
      assert.deepEqual(seen, [0, 25, 25, 30, 40, 50])
    }))

  it('so does a fiber that comes back at once, but not one that takes its time', () =>
    virtual(function* () {
      const now = clock()
      const throttler = new Throttler({ interval: 10 })
      const seen: number[] = []
      const fiber = spin(function* () {
        for (let n = 0; n < 6; n++) {
          yield* throttler.wait()
          seen.push(now())
          if (n === 4) yield* sleep(45)
        }
        yield* throttler.wait()
        seen.push(now())
      })
      yield* sleep(5)
      block(20)
      yield* fiber
      assert.deepEqual(seen, [0, 25, 25, 30, 40, 85, 95])
    }))

  it('a long halt is not caught up with, and no second sees more than rate + burst', () =>
    virtual(function* () {
      const now = clock()
      const throttler = new Throttler(1000)
      const times: number[] = []
      for (let n = 0; n < 5; n++) {
        spin(function* () {
          for (let k = 0; k < 600; k++) {
            yield* throttler.wait()
            times.push(now())
          }
        })
      }
      yield* sleep(0.5)
      for (const ms of [3, 90, 10_000, 40, 7]) {
        yield* sleep(150.2) // never at a slot: between being let through and running nothing blocks
        block(ms)
      }
      yield* Fiber.current.joinChildren()
      assert.equal(times.length, 3000)
      assert.ok(mostIn(50, times) <= 100 + 50 + 1, `${mostIn(50, times)} in 50 ms`)
      assert.ok(mostIn(1000, times) <= 1001, `${mostIn(1000, times)} in a second`)
      const took = (times.at(-1) as number) - 10_000 + 100
      assert.ok(took < 3000 * 1.01, `only what was more than 100 ms late is lost: it took ${took}`)
    }))

  it('keeps no time for each of many: 100,000 a second', () =>
    virtual(function* () {
      const throttler = new Throttler(100_000)
      const seen = yield* passages(throttler, 100)
      assert.ok(Math.abs(seen.length - 10_000) <= 1, `${seen.length}`)
    }))

  it('tryWait never waits, and does not overtake', () =>
    virtual(function* () {
      const throttler = new Throttler({ interval: 10, burst: 2 })
      assert.deepEqual([throttler.tryWait(), throttler.tryWait(), throttler.tryWait()], [true, true, false])
      const fiber = spin(() => throttler.wait())
      yield* sleep(1)
      block(10)
      assert.equal(throttler.tryWait(), false, 'somebody was here before')
      yield* fiber
    }))

  it('process gives the value or the error of its body', () =>
    virtual(function* () {
      const throttler = new Throttler(1000)
      assert.equal(yield* throttler.process(() => 1), 1)
      assert.equal(
        yield* throttler.process(function* () {
          yield* sleep(1)
          return 2
        }),
        2,
      )
      const failing = spin({ link: false }, () =>
        throttler.process(() => {
          throw new Error('oops')
        }),
      )
      assert.equal((yield* failing.join()).type, 'error')
      assert.throws(() => throttler.process(1 as never), { code: 'BAD_ARGUMENT' })
    }))

  it('S17 can be used in cleanup', () =>
    virtual(function* () {
      const throttler = new Throttler({ interval: 10 })
      let isClean = false
      const fiber = spin(function* () {
        try {
          yield* throttler.wait()
          yield* sleep()
        } finally {
          yield* throttler.process(() => {
            isClean = true
          })
        }
      })
      yield* sleep(1)
      yield* fiber.stop()
      assert.equal(isClean, true)
    }))

  it('stats: who waited, and how long', () =>
    virtual(function* () {
      const throttler = new Throttler({ rate: 100, burst: 2 })
      yield* passages(throttler, 25)
      assert.deepEqual(throttler.stats(), {
        rate: 100,
        burst: 2,
        waiting: 0,
        passed: 4,
        waits: { count: 2, mean: 10, max: 10 },
      })
    }))

  it('T8 refuses a rate that says nothing, too much, or nonsense', () => {
    const wrong = [0, -1, NaN, Infinity, undefined, null, 'x', {}, { rate: 1, interval: 1 }, { interval: 0 }]
    for (const rate of [
      ...wrong,
      { rate: 0 },
      { rate: 1, burst: 0 },
      { rate: 1, burst: 1.5 },
      { speed: 1 },
    ]) {
      assert.throws(() => new Throttler(rate as never), { code: 'BAD_ARGUMENT' }, JSON.stringify(rate))
    }
  })

  it('S64 a fiber in line is pending work, and what it leaves behind is nothing', async () => {
    const before = leaks()
    const throttler = new Throttler({ interval: 5 })
    await virtual(function* () {
      yield* throttler.wait()
      yield* throttler.wait()
    })
    assert.deepEqual(leaks(), before)
  })

  it('serves another runtime when nobody waits, and says so when somebody does', async () => {
    const throttler = new Throttler({ interval: 10_000 })
    const waiting = run(function* () {
      yield* throttler.wait()
      yield* throttler.wait()
    })
    while (waiting.fiber.state !== 'waiting') await turns()
    const error: any = await virtual(() => throttler.wait()).catch((error) => error)
    assert.equal(error.code, 'BAD_STATE')
    await waiting.stop()
    await virtual(() => throttler.wait())
  })
})

describe('loops with a throttler', () => {
  it('throttledLoop shares the turns of a throttler with others', () =>
    virtual(function* () {
      const now = clock()
      const throttler = new Throttler({ interval: 10 })
      const seen: string[] = []
      const loop = (name: string) => throttledLoop(throttler, () => seen.push(`${name} at ${now()}`) < 6)
      spin(loop, 'one')
      yield* sleep(5)
      spin(loop, 'two')
      yield* Fiber.current.joinChildren()
      assert.deepEqual(seen.slice(0, 4), ['one at 0', 'one at 10', 'two at 20', 'one at 30'])
    }))

  it('a body slower than its interval skips rounds and makes no burst', () =>
    virtual(function* () {
      const now = clock()
      const seen: number[] = []
      yield* throttledLoop({ interval: 20, count: 5 }, function* () {
        seen.push(now())
        yield* sleep(seen.length === 2 ? 50 : 5)
      })
      assert.deepEqual(seen, [0, 20, 70, 90, 110])
    }))

  it('a burst in a pace lets rounds catch up', () =>
    virtual(function* () {
      const now = clock()
      const seen: number[] = []
      yield* spinLoop(() => void seen.push(now()), { rate: 100, burst: 2, count: 4 })
      assert.deepEqual(seen, [0, 0, 10, 20])
    }))

  it('S17 the next round is refused while unwinding, also if it is due', () =>
    virtual(function* () {
      for (const pace of [{ interval: 10 }, { interval: 0 }, new Throttler({ interval: 10 })]) {
        let rounds = 0
        const fiber = spin(function* () {
          try {
            yield* sleep()
          } finally {
            yield* throttledLoop(pace, () => void rounds++)
          }
        })
        yield* sleep(1)
        yield* fiber.stop()
        assert.equal(rounds, 0)
      }
    }))
})

describe('a throttler under every schedule', () => {
  it('S34 S52 three fibers and a killer: every turn is one interval after the last, and none is lost', (t) => {
    for (const verb of ['stop', 'kill', 'raise'] as const) {
      const { schedules } = explore(
        function* () {
          const now = clock()
          const throttler = new Throttler({ interval: 10 })
          const times: number[] = []
          const fibers = [1, 2, 3].map(() =>
            spin({ link: false }, function* () {
              yield* throttler.wait()
              times.push(now())
              yield* snooze()
            }),
          )
          spin(function* () {
            yield* snooze()
            fibers[1]?.[verb]()
          })
          yield* Fiber.current.joinChildren()
          assert.equal(throttler.waiting, 0)
          assert.ok(times.length >= 2)
          assert.equal(times.length <= throttler.stats().passed, true)
          // Completion wins: a turn may have been given to the one that was ended, but no other is missing.
          assert.equal(times.at(-1), (throttler.stats().passed - 1) * 10)
        },
        { maxSchedules: 30_000 },
      )
      t.diagnostic(`${verb}: ${schedules} schedules`)
      assert.ok(schedules > 100)
    }
  })

  it('stopped or raised in at every switchpoint: nothing is left behind', () => {
    let throttler = new Throttler(100)
    const scenario = function* () {
      throttler = new Throttler({ interval: 10, burst: 2 })
      const fibers = [1, 2, 3, 4].map((n) => spin({ link: false }, () => throttler.process(() => sleep(n))))
      for (const fiber of fibers) yield* fiber.join()
      yield* throttledLoop({ rate: 100, count: 3 }, () => {})
    }
    const check = () => assert.equal(throttler.waiting, 0)
    assert.ok(stopEverywhere(scenario, { check }).switchpoints > 10)
    raiseEverywhere(scenario, { check })
  })
})

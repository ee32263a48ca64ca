// The throttler: so many a second, on a grid that does not drift, whatever comes when.

import {
  assert,
  describe,
  explore,
  Fiber,
  failAfter,
  leaks,
  moveOnAfter,
  now,
  type Routine,
  random,
  run,
  runtime,
  sleep,
  snooze,
  spin,
  started,
  Throttler,
  test,
  throttledLoop,
  turns,
  virtual,
  waits,
} from '../prelude.js'

/** Lets time pass while nothing runs, as when something blocks the event loop. */
function block(ms: number): void {
  runtime().backend.time += ms
}

/** The times at which a fiber that does nothing else goes through. */
function* passages(throttler: Throttler, forMs: number): Routine<number[]> {
  const begin = now()
  const seen: number[] = []
  yield* moveOnAfter(forMs, function* () {
    for (;;) {
      yield* throttler.wait()
      seen.push(now() - begin)
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

/** A fiber that goes through, and notes its name and when. */
function* passer(throttler: Throttler, name: string, log: string[]): Routine<Fiber> {
  const fiber = spin(() => throttler.process(() => void log.push(`${name} at ${now()}`)))
  yield* sleep(0.1)
  return fiber
}

describe('a throttler', () => {
  test('lets the first through at once, the others on a grid that does not drift', function* () {
    const rows: [ConstructorParameters<typeof Throttler>[0], ms: number, count: number, last: number][] = [
      [100, 499, 50, 490],
      [{ interval: 250 }, 999, 4, 750],
      [{ rate: 3 }, 99_999, 300, 299_000 / 3],
      [0.5, 9_999, 5, 8000],
      [100_000, 100, 10_000, 99.99],
    ]
    for (const [rate, ms, count, last] of rows) {
      const seen = yield* passages(new Throttler(rate), ms)
      assert.ok(Math.abs(seen.length - count) <= 1 && Math.abs((seen[count - 1] ?? last) - last) < 0.001)
    }
  })

  test('serves fibers in the order in which they came; the turn of a stopped one goes to the next', function* () {
    const throttler = new Throttler({ interval: 10 })
    const seen: string[] = []
    const fibers: Fiber[] = []
    for (const name of 'abcd') fibers.push(yield* passer(throttler, name, seen))
    yield* fibers[1]!.stop()
    yield* sleep(15)
    assert.equal(throttler.waiting, 1)
    assert.equal(fibers[3]!.waitsFor, 'a throttler, once in 10 ms')
    yield* fibers[3]!
    assert.deepEqual(seen, ['a at 0', 'c at 10', 'd at 20'])
  })

  test('keeps the slot that its last waiter has left, and no timer', function* () {
    const throttler = new Throttler({ interval: 100 })
    yield* throttler.wait()
    yield* moveOnAfter(50, () => throttler.wait())
    assert.equal(runtime().timers.size, 0)
    yield* throttler.wait()
    assert.equal(now(), 100)
  })

  test('lets a burst through after a pause, as many as the pause was long, then keeps the grid', function* () {
    const throttler = new Throttler({ rate: 100, burst: 3 })
    assert.deepEqual(yield* passages(throttler, 35), [0, 0, 0, 10, 20, 30])
    yield* sleep(1000)
    assert.deepEqual((yield* passages(throttler, 15)).map(Math.round), [0, 0, 0, 10])
    yield* sleep(20) // not all of it is back
    assert.equal((yield* passages(throttler, 1)).length, 2)
    const steady = new Throttler(100)
    yield* steady.wait()
    yield* sleep(500)
    assert.deepEqual(yield* passages(steady, 25), [0, 10, 20])
  })

  test('never lets more than rate * t + burst through in any stretch of time, whatever comes when', function* () {
    for (const [rate, burst] of [
      [100, 1],
      [100, 7],
      [30, 2],
      [1000, 3],
    ] as const) {
      const throttler = new Throttler({ rate, burst })
      const times: number[] = []
      const next = random(rate)
      for (let n = 0; n < 20; n++) {
        spin(function* () {
          for (let k = 0; k < 30; k++) {
            yield* sleep(next() < 0.3 ? next() * 200 : 0)
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
  })

  test('catches up after a late timer with all that wait', function* () {
    const throttler = new Throttler({ interval: 10 })
    const seen: string[] = []
    for (const name of 'abcdef') yield* passer(throttler, name, seen)
    yield* sleep(4.4)
    block(20) // the timers of 10 and 20 come at 25
    yield* Fiber.current.joinChildren()
    assert.deepEqual(seen.sort(), ['a at 0', 'b at 25', 'c at 25', 'd at 30', 'e at 40', 'f at 50'])
  })

  const halts: [halt: number, pauses: number[], times: number[]][] = [
    [20, [0, 0, 0, 0, 45, 0, 0], [0, 25, 25, 30, 40, 85, 95]],
    [20, [0, 45, 15, 0, 0], [0, 25, 70, 85, 95]],
    [40, [0, 0, 0, 0, 20, 0, 0], [0, 45, 45, 45, 45, 65, 75]],
    [10_000, [0, 50, 0, 0, 0], [0, 10_005, 10_055, 10_065, 10_075]],
  ]
  for (const [halt, pauses, times] of halts) {
    test(`late by ${halt} ms, catches up with one that comes back at once, not after its pauses ${pauses}`, function* () {
      const throttler = new Throttler({ interval: 10 })
      const seen: number[] = []
      const fiber = spin(function* () {
        for (const pause of pauses) {
          yield* throttler.wait()
          seen.push(now())
          if (pause > 0) yield* sleep(pause)
        }
      })
      yield* sleep(5)
      block(halt)
      yield* fiber
      assert.deepEqual(seen, times)
    })
  }

  test('catches up with 100 ms of a long halt at most, and no second sees more than rate + burst', function* () {
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
  })

  test('tryWait never waits, and does not overtake', function* () {
    const throttler = new Throttler({ interval: 10, burst: 2 })
    assert.deepEqual(
      [1, 2, 3].map(() => throttler.tryWait()),
      [true, true, false],
    )
    const fiber = spin(() => throttler.wait())
    yield* sleep(1)
    block(10)
    assert.equal(throttler.tryWait(), false, 'another was here before')
    yield* fiber
  })

  test('process gives the value or the error of its body; cleanup may wait for it', function* () {
    const throttler = new Throttler(1000)
    assert.equal(yield* throttler.process(() => 1), 1)
    assert.equal(yield* throttler.process(() => spin(() => 2)), 2)
    const error = new Error('oops')
    const fiber = yield* started(() => waits(() => throttler.process(() => failAfter(0, error))))
    assert.deepEqual(yield* fiber.stop(), { type: 'error', error })
  })

  test('tells how many went through, and how long they waited', function* () {
    const throttler = new Throttler({ rate: 100, burst: 2 })
    yield* passages(throttler, 25)
    const waits = { count: 2, mean: 10, max: 10 }
    assert.deepEqual(throttler.stats(), { rate: 100, burst: 2, waiting: 0, passed: 4, waits })
    assert.deepEqual(new Throttler(1).stats().waits, { count: 0, mean: 0, max: 0 })
  })

  test('serves another runtime when no fiber waits, with a fresh grid, and refuses when one does', async () => {
    const before = leaks()
    const throttler = new Throttler({ interval: 10_000 })
    const waiting = run(function* () {
      yield* throttler.wait()
      yield* throttler.wait()
    })
    while (waiting.fiber.state !== 'waiting') await turns()
    const error = await virtual(() => throttler.wait()).catch((error) => error)
    assert.equal(error.code, 'BAD_STATE')
    await waiting.stop()
    for (let n = 0; n < 2; n++) {
      await virtual(function* () {
        yield* throttler.wait()
        assert.equal(now(), 0)
        yield* throttler.wait()
      })
    }
    assert.deepEqual(leaks(), before)
  })

  for (const verb of ['stop', 'kill', 'raise'] as const) {
    test(`in any order of three fibers and a ${verb}, a turn is one interval after the last, and none is lost`, () => {
      const { schedules } = explore(
        function* () {
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
          // A turn may have been given to the one that was ended (S34), but no other is missing.
          const { passed, waiting } = throttler.stats()
          assert.ok(waiting === 0 && times.length >= 2 && times.length <= passed)
          assert.equal(times.at(-1), (passed - 1) * 10)
        },
        { maxSchedules: 10_000 },
      )
      assert.ok(schedules > 100)
    })
  }
})

test('a rate or a burst of Infinity is no limit', function* () {
  for (const rate of [Infinity, { rate: Infinity }, { rate: 1, burst: Infinity }]) {
    const throttler = new Throttler(rate)
    for (let i = 0; i < 10; i++) yield* throttler.wait()
    assert.deepEqual([throttler.tryWait(), throttler.stats().passed, now()], [true, 11, 0])
  }
  let rounds = 0
  yield* throttledLoop({ rate: 1, burst: Infinity }, () => ++rounds < 10)
  assert.deepEqual([rounds, now()], [10, 0])
})

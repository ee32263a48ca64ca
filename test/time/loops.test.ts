// Loops that wait between rounds, on a grid that does not drift.

import {
  assert,
  describe,
  every,
  Fiber,
  moveOnAfter,
  now,
  type Op,
  type Pace,
  type Routine,
  sleep,
  snooze,
  spin,
  spinLoop,
  started,
  Throttler,
  test,
  throttledLoop,
  thrownBy,
  waits,
} from '../prelude.js'

type Loop = (body: () => any) => Op<unknown>

const loops: Record<string, (ms: number) => Loop> = {
  every: (ms) => (body) => every(ms, body),
  throttledLoop: (ms) => (body) => throttledLoop({ interval: ms }, body),
  'throttledLoop with a throttler': (ms) => (body) => throttledLoop(new Throttler({ interval: ms }), body),
  spinLoop: (ms) => (body) => spinLoop(body, { interval: ms }),
}

/** The times at which a loop ran its body, whose rounds take so long, the last one again and again. */
function* ticks(loop: Loop, rounds: number[], count: number): Routine<number[]> {
  const begin = now()
  const seen: number[] = []
  yield* loop(function* () {
    seen.push(now() - begin)
    yield* sleep(rounds[Math.min(seen.length, rounds.length) - 1] as number)
    return seen.length < count
  })
  return seen
}

describe('loops', () => {
  for (const [name, make] of Object.entries(loops)) {
    const first = name === 'every' ? 10 : 0

    test(`${name}: the grid does not drift, and false ends it`, function* () {
      assert.deepEqual(
        yield* ticks(make(10), [0, 3, 7], 5),
        [0, 10, 20, 30, 40].map((ms) => first + ms),
      )
    })

    test(`${name}: a body slower than the interval skips rounds and makes no burst`, function* () {
      assert.deepEqual(
        yield* ticks(make(10), [0, 35, 15, 1], 6),
        [0, 10, 45, 60, 70, 80].map((ms) => first + ms),
      )
    })

    test(`${name}: gives nothing; an error of the body, or a stop, ends it`, function* () {
      assert.equal(yield* make(10)(() => false), undefined)
      const error = new Error('no more')
      const fail = () => {
        throw error
      }
      assert.equal(yield* thrownBy(make(10)(fail)), error)
      const before = now()
      yield* moveOnAfter(25, () => ticks(make(10), [0], 100))
      assert.equal(now() - before, 25)
    })

    if (name === 'spinLoop') continue // its rounds are those of a child, which cleanup may spin (S06)
    test(`${name}: the next round is never cleanup, also if it is due`, function* () {
      const fiber = yield* started(() => waits(() => make(10)(() => assert.fail('a round in cleanup'))))
      assert.equal((yield* fiber.stop()).type, 'stopped')
      assert.ok(now() < 10)
    })
  }

  test('without an interval, or with a throttler whose turn is not due, are never cleanup either', function* () {
    const throttler = new Throttler({ interval: 10 })
    throttler.tryWait()
    for (const pace of [{ interval: 0 }, throttler]) {
      const fiber = yield* started(() =>
        waits(() => throttledLoop(pace, () => assert.fail('a round in cleanup'))),
      )
      assert.equal((yield* fiber.stop()).type, 'stopped')
    }
  })

  test('spinLoop: a body that waits and catches its stop is refused the next round (S17)', function* () {
    let rounds = 0
    const loop = spinLoop(function* () {
      rounds++
      try {
        yield* sleep(10)
      } catch {}
    })
    yield* sleep(15)
    assert.equal((yield* loop.stop()).type, 'stopped')
    assert.deepEqual([rounds, now()], [2, 15])
  })

  const paces: [number | Pace, number[]][] = [
    [100, [0, 10, 20]],
    [{ rate: 10, count: 2 }, [0, 100]],
    [{ interval: 20, count: 2 }, [0, 20]],
    [{ rate: 100, burst: 2, count: 4 }, [0, 0, 10, 20]],
    [{ interval: 0, count: 3 }, [0, 0, 0]],
    [{ rate: 1, count: 0 }, []],
  ]
  for (const [pace, times] of paces) {
    test(`a pace of ${JSON.stringify(pace)} runs at ${times.join(', ') || 'no time'}`, function* () {
      const seen: number[] = []
      const body = () => seen.push(now()) < 3 || typeof pace === 'object'
      yield* throttledLoop(pace, body)
      if (typeof pace === 'object') {
        const begin = now()
        yield* spinLoop(() => void seen.push(now() - begin), pace)
        assert.deepEqual(seen.splice(times.length), times)
      }
      assert.deepEqual(seen, times)
    })
  }

  test('without a pace, or while rounds are due, other fibers run between them', function* () {
    for (const pace of [{}, { interval: 0 }, { rate: 100, burst: 90 }]) {
      let turns = 0
      const other = spin(function* () {
        for (;;) {
          turns++
          yield* snooze()
        }
      })
      yield* spinLoop(() => {}, { ...pace, count: 80 })
      assert.ok(turns > 5, `${turns} turns with ${JSON.stringify(pace)}`)
      yield* other.stop()
    }
  })

  test('share the turns of a throttler', function* () {
    const throttler = new Throttler({ interval: 10 })
    const seen: string[] = []
    const loop = (name: string) => throttledLoop(throttler, () => seen.push(`${name} at ${now()}`) < 6)
    const one = spin(loop, 'one')
    yield* sleep(5)
    const two = spin(loop, 'two')
    yield* sleep(1)
    assert.deepEqual([one.waitsFor, two.waitsFor], Array(2).fill('the next round, once in 10 ms'))
    yield* one
    yield* two
    assert.deepEqual(seen.slice(0, 4), ['one at 0', 'one at 10', 'two at 20', 'one at 30'])
  })

  test('spinLoop is a child with the name of its body, or a given one, that is stopped like any', function* () {
    let rounds = 0
    const tick = () => void rounds++
    const swallowing = () => thrownBy(sleep()) // no round comes after the one that swallows the stop
    const fibers = [spinLoop(tick, { interval: 10 }), spinLoop(swallowing, { name: 'busy' })]
    assert.deepEqual(
      fibers.map(({ name, parent }) => [name, parent]),
      ['tick', 'busy'].map((name) => [name, Fiber.current]),
    )
    yield* sleep(25)
    for (const fiber of fibers) assert.equal((yield* fiber.stop()).type, 'stopped')
    assert.deepEqual([rounds, now()], [3, 25])
  })
})

test('a spinLoop without a pace ends when its body returns false, at once or after a wait', function* () {
  let rounds = 0
  yield* spinLoop(() => ++rounds < 3)
  yield* spinLoop(function* () {
    yield* sleep(1)
    return ++rounds < 6
  })
  assert.equal(rounds, 6)
})

test('a slow body of every that swallows its stop is refused the next round, although that is overdue (S17)', function* () {
  const fiber = yield* started(() =>
    every(5, function* () {
      try {
        yield* sleep(20)
      } catch {
        yield* sleep(20)
      }
    }),
  )
  yield* sleep(50)
  yield* fiber.stop()
  assert.ok(now() < 100, `refused only after ${now()} ms`)
})

// The virtual clock: results and failures, promises beside time that jumps, seeds, worlds inside worlds.

import { Proco } from 'polyphony/proco'
import {
  assert,
  describe,
  explore,
  Fiber,
  leaks,
  mock,
  moveOnAfter,
  now,
  receive,
  run,
  ScheduleFailed,
  sleep,
  snooze,
  spin,
  spinLoop,
  started,
  suspend,
  test,
  turns,
  until,
  virtual,
} from '../prelude.js'

const never = new Promise<never>(() => {})

/** Fibers of this thread, and timers of Node. */
const held = () => [leaks().fibers, leaks().resources.filter((name) => name === 'Timeout').length]

describe('virtual', () => {
  test('runs a body and gives its result, however long it sleeps', async () => {
    const week = function* () {
      for (let day = 0; day < 7; day++) yield* sleep(24 * 3_600_000)
      return now() / 3_600_000
    }
    assert.deepEqual(
      [await virtual(week), await virtual(() => 42), await virtual(() => sleep(5))],
      [168, 42, undefined],
    )
  })

  test('a body that is stopped gives the value of the stop; without one, virtual rejects', async () => {
    const stopped = (value?: string) => () => {
      Fiber.current.stop(value)
      return sleep(1)
    }
    assert.equal(await virtual(stopped('value')), 'value')
    await assert.rejects(virtual(stopped()), /main was stopped without a value/)
  })

  test('reports go to stderr, or to onReport; what onReport throws fails the test, and nothing else', async () => {
    const log: unknown[] = []
    const forgotten = function* () {
      spin({ name: 'cache', link: false }, () => {
        throw new Error('cold')
      })
      yield* sleep(1)
      return 'done'
    }
    const print = mock.method(console, 'error', (...words: unknown[]) => log.push(...words.map(String)))
    assert.equal(await virtual(forgotten), 'done')
    print.mock.restore()
    await virtual(forgotten, { onReport: ({ kind, error }) => log.push(kind, String(error)) })
    const refuse = () => {
      throw new Error('no reports, please')
    }
    await assert.rejects(virtual(forgotten, { onReport: refuse }), /no reports, please/)
    const told = 'main > cache failed and nobody was awaiting it'
    assert.deepEqual(log, [`polyphony: ${told}`, 'Error: cold', 'unobserved', 'Error: cold'])
  })

  test('rejects with the error of the body, a deadlock, what is left behind, or a wrong option', async () => {
    const error = new Error('mine')
    const rows: [() => unknown, object][] = [
      [() => Promise.reject(error), { code: 'BAD_ARGUMENT' }],
      [
        () => {
          throw error
        },
        error,
      ],
      [
        () => spin('culprit', () => receive()),
        { code: 'DEADLOCK', message: /culprit.*waiting for receive\(\)/ },
      ],
      [() => void Fiber.outOfBand(() => sleep()), { code: 'LEAK', message: /1 fibers/ }],
      [() => void Fiber.outOfBand(() => sleep(5)), { code: 'LEAK', message: /1 fibers, 1 timers/ }],
    ]
    const before = held()
    for (const [body, expected] of rows) await assert.rejects(virtual(body as () => void), expected)
    assert.deepEqual(held(), before)
    await assert.rejects(
      virtual(() => 1, { speed: 2 } as never),
      /no option "speed"/,
    )
  })

  test('S64 a bare suspend() in main returns when all else is done (decision 5)', function* () {
    const sleeper = spin(() => sleep(1000))
    assert.equal(yield* suspend(), undefined)
    assert.equal(sleeper.state, 'dead')
  })

  test('holds the process while a fiber waits for ever, and not longer', function* () {
    const [fibers, timeouts] = held() as [number, number]
    const waiting = yield* started(() => sleep())
    assert.deepEqual(held(), [fibers + 1, timeouts + 1])
    yield* waiting.stop()
    assert.deepEqual(held(), [fibers, timeouts])
  })

  test('many worlds at once do not meet', async () => {
    const world = (n: number) =>
      virtual(function* () {
        yield* until(Promise.resolve())
        yield* sleep(n * 1000)
        return now()
      })
    assert.deepEqual(await Promise.all([3, 1, 2].map(world)), [3000, 1000, 2000])
  })
})

describe('promises on the virtual clock', () => {
  test('time does not jump past a promise that comes, even beside one that never does and a ticker', function* () {
    spin(() => until(never))
    yield* sleep(1)
    const soon = new Promise((resolve) => setImmediate(resolve, 'came'))
    assert.equal(yield* moveOnAfter(1000, () => until(soon), 'too late'), 'came')
    spinLoop(() => {}, { interval: 1000 })
    assert.equal(yield* until(turns(100).then(() => 'came')), 'came')
  })

  test('time passes while a promise does not come; a deadlock is found when it was left', async () => {
    const world = virtual(function* () {
      assert.equal(yield* moveOnAfter(1000, () => until(never), 'timed out'), 'timed out')
      yield* receive()
    })
    const hang = turns(1000).then(() => 'hangs')
    assert.equal(await Promise.race([world.catch(({ code }) => code), hang]), 'DEADLOCK')
  })

  const interval = () => Proco.interval(100).new<string, string>()

  test('a timer that async code sets while all fibers wait for that code is not missed', function* () {
    const proco = interval().start((item) => item)
    const later = async () => {
      await null // the world rests by now, without any timer
      return await proco.submit('item')
    }
    assert.equal(yield* until(later()), 'item')
    yield* proco.exit()
  })

  test('a timer that is due at once and wakes only async code does not end the world', function* () {
    const proco = interval().start((item) => item)
    const { code } = yield* until(proco.submit('late', { timeout: 0 }).catch((error) => error))
    assert.equal(code, 'TIMED_OUT')
    yield* proco.exit()
  })

  test('a timer that async code takes away is not jumped to', function* () {
    const proco = interval().start((item) => item)
    const future = yield* proco.submitAsync('never')
    yield* until(
      turns().then(() => {
        future.cancel()
        return turns(4)
      }),
    )
    yield* proco.exit()
    assert.deepEqual([now(), future.state], [0, 'cancelled'])
  })
})

describe('seeds', () => {
  /** The order in which five fibers of three steps each run. */
  async function order(seed?: number): Promise<string> {
    const log: number[] = []
    const steps = function* (n: number) {
      for (let i = 0; i < 3; i++) {
        log.push(n)
        yield* snooze()
      }
    }
    await virtual(
      () => Fiber.await(...[0, 1, 2, 3, 4].map((n) => spin(steps, n))),
      seed === undefined ? {} : { seed },
    )
    return log.join('')
  }

  /** What POLY_SEED is while something runs. */
  async function withSeed<T>(seed: string | undefined, body: () => Promise<T>): Promise<T> {
    const before = process.env.POLY_SEED
    const set = (value: string | undefined) => {
      if (value === undefined) delete process.env.POLY_SEED
      else process.env.POLY_SEED = value
    }
    set(seed)
    return body().finally(() => set(before))
  }

  test('the same seed gives the same order, other seeds give others, and everything runs', async () => {
    const orders = new Set<string>()
    for (let seed = 1; seed <= 20; seed++) orders.add(await order(seed)).add(await order(seed))
    assert.ok(orders.size >= 15 && orders.size <= 20, `${orders.size} orders`)
    for (const one of orders) assert.equal([...one].sort().join(''), '000111222333444')
  })

  test('POLY_SEED is the seed where none is given; empty or absent, nothing is shuffled', async () => {
    assert.equal(await withSeed('7', () => order()), await order(7))
    assert.notEqual(await withSeed('8', () => order()), await order(7))
    for (const none of ['', undefined]) assert.equal(await withSeed(none, () => order()), '012340123401234')
  })

  test('a failure prints the seed that repeats it', async () => {
    const { mock: printed } = mock.method(console, 'error', () => {})
    try {
      const failing = (seed?: number) =>
        virtual(() => assert.fail('broken'), seed === undefined ? {} : { seed })
      await withSeed(undefined, () => assert.rejects(failing(), /broken/))
      await assert.rejects(failing(7), /broken/)
    } finally {
      printed.restore()
    }
    const lines = printed.calls.map(({ arguments: [line] }) => line)
    assert.deepEqual(lines, ['polyphony: this run was shuffled, repeat it with POLY_SEED=7'])
  })
})

describe('a world inside a fiber', () => {
  test('the fiber that explores is the current one afterwards, also if a schedule failed', () =>
    run(function* () {
      const me = Fiber.current
      explore(() => Fiber.await(...[1, 2].map(() => spin(() => snooze()))))
      assert.equal(Fiber.current, me)
      assert.throws(() => explore(() => assert.fail('inner')), ScheduleFailed)
      assert.equal(Fiber.current, me)
      yield* snooze()
    }))

  test('a virtual clock in a run in a virtual clock: each keeps its own time', function* () {
    yield* until(run(() => until(virtual(() => sleep(3_600_000)))))
    assert.equal(yield* moveOnAfter(1, () => sleep(2), 'late'), 'late')
  })

  test('a fiber of the outer world may be stopped from the inner one, and have children spun there', function* () {
    const outer = yield* started(() => sleep())
    const spun: Fiber<string>[] = []
    explore(() => void spun.push(outer.spin(() => 'ran')))
    assert.deepEqual(yield* Fiber.await(...spun), ['ran'])
    explore(() => void outer.stop('from inside'))
    assert.equal(yield* outer, 'from inside')
  })
})

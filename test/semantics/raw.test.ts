// S62-S64: raw fibers, transfer and schedule, and what holds a program.

import {
  after,
  assert,
  awaitSignal,
  describe,
  explore,
  Fiber,
  failAfter,
  isStop,
  type Op,
  receive,
  reports,
  runtime,
  scope,
  sleep,
  snooze,
  spin,
  started,
  stopEverywhere,
  suspend,
  test,
  thrownBy,
  transfer,
  trap,
} from '../prelude.js'

describe('S62 raw fibers', () => {
  test('it has no parent, waits, and does not run by itself', function* () {
    let ran = false
    const raw = new Fiber(() => (ran = true))
    assert.equal(raw.parent, null)
    assert.equal(raw.state, 'waiting')
    assert.deepEqual(Fiber.current.children, [])
    yield* sleep(10)
    assert.equal(ran, false)
  })

  test('the first transfer or schedule runs it, with that value as the argument', function* () {
    const double = () =>
      new Fiber(function* (a: number) {
        yield* sleep(1)
        return a * 2
      })
    assert.equal(yield* transfer(double(), 21), 42)
    const raw = double()
    assert.equal(raw.schedule(4), true)
    assert.equal(raw.schedule(5), false)
    assert.equal(yield* raw, 8)
  })

  test('transfer gives what is transferred back, or what the raw fiber returns', function* () {
    const main = Fiber.current
    const raw = new Fiber(function* (a: unknown) {
      const b = yield* transfer(main, `got ${a}`)
      return `and ${b}`
    })
    assert.equal(yield* transfer(raw, 1), 'got 1')
    assert.equal(yield* transfer(raw, 2), 'and 2')
    assert.deepEqual(raw.outcome, { type: 'value', value: 'and 2' })
  })

  test('transfer runs its target next, before all that are runnable', () => {
    const body = function* () {
      const log: string[] = []
      for (const name of 'ab') spin(() => log.push(name))
      yield* transfer(new Fiber(() => log.push('raw')))
      log.push('main')
      yield* Fiber.current.joinChildren()
      assert.deepEqual(log, ['raw', 'main', 'a', 'b'])
    }
    explore(body, { trace: '' }) // in this order, whatever POLY_SEED says
  })

  test('two that switch by hand: the end of one leads to the fiber that last transferred to it', function* () {
    const log: string[] = []
    const f1: Fiber = new Fiber(function* () {
      log.push('f1')
      yield* transfer(f2)
      log.push('f1 again')
    })
    const f2: Fiber = new Fiber(function* () {
      log.push('f2')
      log.push(`f2 ${yield* transfer(f1)}`)
    })
    yield* transfer(f1)
    log.push('main')
    assert.deepEqual(log, ['f1', 'f2', 'f1 again', 'f2 undefined', 'main'])
  })

  const error = new Error('raw')
  const failing = () => new Fiber(() => failAfter(10, error))
  const told: [string, () => Op<unknown>][] = [
    [
      'the fiber that transferred to it gets its error',
      () => spin({ link: false }, () => transfer(failing())),
    ],
    ['main gets the error of one that was only scheduled', () => (failing().schedule() ? sleep() : snooze())],
    [
      'main gets its error if the fiber that transferred to it is dead',
      function* () {
        const child = spin(() => transfer(failing()))
        yield* sleep(1)
        yield* child.stop()
        yield* sleep()
      },
    ],
    [
      'the error of raw fibers that switched by hand reaches main',
      function* () {
        const f1: Fiber = new Fiber(function* () {
          yield* transfer(new Fiber(() => transfer(f1)))
          throw error
        })
        yield* transfer(f1)
      },
    ],
  ]
  for (const [promise, op] of told) {
    test(promise, function* () {
      assert.equal(yield* thrownBy(op()), error)
    })
  }

  test('the fiber that transferred goes on when the raw fiber is stopped', function* () {
    const raw = new Fiber(() => sleep())
    after(5, () => void raw.stop())
    yield* transfer(raw)
    assert.equal(raw.outcome?.type, 'stopped')
  })

  test('one that has not started can be stopped and raised in, without running a line', function* () {
    const [a, b] = [new Fiber(() => assert.fail()), new Fiber(() => assert.fail())]
    a.stop('v')
    assert.equal(a.schedule(), false)
    assert.deepEqual(yield* a.join(), { type: 'stopped', value: 'v' })
    assert.deepEqual(yield* b.raise(error), { type: 'error', error })
  })

  test('it receives, spins children and is awaited like any fiber', function* () {
    const raw = new Fiber(function* () {
      return [yield* spin(() => sleep(5)), yield* receive()]
    })
    raw.send('m')
    raw.schedule()
    assert.deepEqual(yield* raw, [undefined, 'm'])
  })

  test('attached to a parent it ends with it', function* () {
    const raw = new Fiber(() => sleep())
    yield* spin(function* () {
      raw.attachTo(Fiber.current)
      assert.equal(runtime().stats().fibers, 3)
      raw.schedule()
      yield* sleep(5)
    })
    assert.equal(raw.outcome?.type, 'stopped')
  })

  test('a parked fiber that is stopped gets its signal at the transfer', function* () {
    const raw = new Fiber(() => sleep(20))
    const parked = yield* started(function* () {
      assert.ok(isStop(yield* thrownBy(transfer(raw))))
    })
    assert.equal((yield* parked.stop()).type, 'stopped')
    yield* raw.join()
  })

  test('a transfer can be stopped anywhere', () => {
    stopEverywhere(function* () {
      const raw = new Fiber((n: number) => n + 1)
      yield* spin(() => transfer(raw, 1)).join()
      yield* raw.stop()
    })
  })

  test('without main, the error of a raw fiber or of one out of band is reported', function* () {
    const world = runtime()
    const { main } = world
    const raw = new Fiber(() => assert.fail('raw'))
    world.main = null
    raw.schedule()
    Fiber.outOfBand(() => assert.fail('out of band'))
    yield* sleep(1)
    world.main = main
    assert.equal(reports().filter((each) => /^unobserved: .* there is no main to tell$/.test(each)).length, 2)
  })
})

describe('S63 resume values', () => {
  const waits: [string, () => Op<unknown>][] = [
    ['suspend', () => suspend()],
    ['transfer', () => transfer(new Fiber(() => suspend()))],
  ]
  for (const [name, wait] of waits) {
    test(`schedule wakes a fiber that waits in ${name}, once, with the value`, function* () {
      const fiber = yield* started(wait)
      assert.deepEqual([fiber.schedule(1), fiber.schedule(2)], [true, false])
      assert.equal(yield* fiber, 1)
    })
  }

  test('it changes nothing for a fiber that waits for anything else, is runnable, running or dead', function* () {
    const sleeping = spin(() => sleep(10))
    const receiving = spin(() => receive())
    yield* sleep(1)
    const runnable = spin(() => 'ran')
    const refused = () =>
      [sleeping, receiving, runnable, Fiber.current].flatMap((fiber) => [
        fiber.schedule('x'),
        fiber.scheduleWithPriority('x'),
      ])
    assert.ok(!refused().includes(true))
    receiving.send('m')
    assert.deepEqual(yield* Fiber.await(sleeping, receiving, runnable), [undefined, 'm', 'ran'])
    assert.ok(!refused().includes(true))
  })

  test('an Error given to it is thrown at the wait', function* () {
    class Odd extends TypeError {}
    for (const error of [new Error('plain'), new Odd('odd')]) {
      const fiber = yield* started(() => suspend())
      assert.equal(fiber.schedule(error), true)
      assert.deepEqual(yield* fiber.join(), { type: 'error', error })
    }
  })

  test('a value that came before a stop is received; a fiber that was struck is not woken', function* () {
    const got: unknown[] = []
    const fiber = yield* started(function* () {
      for (;;) got.push(yield* suspend())
    })
    fiber.schedule('value')
    yield* fiber.stop()
    assert.deepEqual(got, ['value'])
    const struck = yield* started(() => suspend())
    struck.stop('stopped')
    assert.equal(struck.schedule('value'), false)
    assert.deepEqual(yield* struck.join(), { type: 'stopped', value: 'stopped' })
  })
})

describe('S64 pending work', () => {
  const holding: [string, () => Op<unknown>, timers: number, pendingOps: number][] = [
    ['sleep() without a number', () => sleep(), 0, 1],
    ['a timer that a fiber waits for', () => sleep(1000), 1, 0],
    ['awaitSignal', () => awaitSignal('SIGUSR2'), 0, 1],
    ['a trap', () => scope(() => (trap('SIGUSR2', () => {}) ? suspend() : 0)), 0, 1],
    ['suspend', () => suspend(), 0, 0],
  ]
  for (const [what, op, timers, pendingOps] of holding) {
    test(`${what}: what holds the program while the fiber waits is gone when it has left`, function* () {
      const held = () => [runtime().stats().timers, runtime().stats().pendingOps]
      const fiber = yield* started(op)
      assert.deepEqual(held(), [timers, pendingOps])
      yield* fiber.stop()
      assert.deepEqual(held(), [0, 0])
    })
  }
})

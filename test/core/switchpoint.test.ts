// How many ready ops a fiber may take in a row (S50), its deadline, and what taps hear of the ladder.

import { BaseOp, LATER, settle } from '#core/index'
import {
  assert,
  call,
  describe,
  Fiber,
  failAfter,
  moveOnAfter,
  now,
  type Routine,
  receive,
  runtime,
  shield,
  sleep,
  spin,
  started,
  supervise,
  tap,
  test,
  thrownBy,
  use,
  waits,
} from '../prelude.js'

/** When it is taken back it ends LATER: after so many milliseconds, or never. */
class Slow extends BaseOp<void> {
  constructor(private readonly ms?: number) {
    super()
  }
  enter(): void {}
  abort(fiber: any): typeof LATER {
    const timer = { time: 0, seq: 0, index: -1, fire: () => void settle(fiber, this, undefined) }
    if (this.ms !== undefined) fiber.runtime.addTimer(timer, fiber.runtime.now() + this.ms)
    return LATER
  }
  describe(): string {
    return 'a slow op'
  }
}

/** Ends its own fiber while that enters the wait. */
class Ends extends BaseOp<void> {
  aborted = 0
  constructor(private readonly end: (fiber: Fiber) => unknown) {
    super()
  }
  enter(fiber: Fiber): void {
    this.end(fiber)
  }
  abort(): void {
    this.aborted++
  }
  describe(): string {
    return 'an op that ends its fiber'
  }
}

describe('a fiber that is ended while it enters a wait', () => {
  const ends: [string, (fiber: Fiber) => unknown][] = [
    ['kill()', (fiber) => fiber.kill()],
    ['stop() without grace', (fiber) => fiber.stop(undefined, { grace: 0 })],
    ['stop()', (fiber) => fiber.stop()],
  ]
  for (const [what, end] of ends) {
    test(`by ${what} leaves it at once, and runs its cleanup`, function* () {
      const op = new Ends(end)
      const log: string[] = []
      const fiber = spin(function* () {
        try {
          yield* op
          log.push('went on')
        } finally {
          log.push('cleanup')
        }
      })
      const outcome = yield* moveOnAfter(1000, () => fiber.join())
      assert.deepEqual([outcome?.type, log, op.aborted, now()], ['stopped', ['cleanup'], 1, 0])
    })
  }
})

describe('the deadline of a fiber', () => {
  for (const [what, first, second] of [
    ['cleanup', () => waits(() => sleep(5)), () => waits(() => sleep())],
    ['an op that ends LATER', () => new Slow(), () => new Slow()],
  ] as [string, () => Routine<void>, () => Routine<void>][]) {
    test(`a new incarnation has its whole grace for ${what}, however the last one was hurried`, function* () {
      const fiber = yield* started(() => (Fiber.current.incarnation === 1 ? first() : second()))
      fiber.stop(undefined, { grace: 100 })
      yield* sleep(4)
      yield* fiber.kill()
      fiber.restart()
      yield* sleep(5)
      yield* fiber.stop(undefined, { grace: 500 })
      assert.equal(now(), 1 + 4 + 5 + 500)
    })
  }

  test('a deadline that was not needed does not stand in the way of the next', function* () {
    const fiber = yield* started(() => waits(() => (Fiber.current.incarnation === 1 ? sleep(3) : sleep())))
    yield* fiber.stop(undefined, { grace: 100 })
    fiber.restart()
    yield* sleep(6)
    yield* fiber.stop(undefined, { grace: 500 })
    assert.equal(now(), 1 + 3 + 6 + 500)
  })

  test('half of it is for a body with children, counted from its first wait, however often it waits', function* () {
    let forced = 0
    const fiber = yield* started(
      function* () {
        spin(() => waits(() => sleep(1000)))
        yield* waits(function* () {
          try {
            for (;;) yield* sleep(10)
          } finally {
            forced = now()
          }
        })
      },
      { grace: 100 },
    )
    yield* fiber.stop()
    assert.deepEqual([forced, now()], [51, 101])
  })

  test('that of an op that ended LATER is gone, and does not shorten the next', function* () {
    yield* moveOnAfter(5, () => new Slow(2), { grace: 10 })
    assert.deepEqual([now(), runtime().timers.size], [7, 0])
    yield* moveOnAfter(5, () => new Slow(), { grace: 100 })
    assert.equal(now(), 112)
  })

  test('that of a body which is over leaves no timer, though an op in a cleanup after it ends LATER', function* () {
    const fiber = yield* started(function* () {
      yield* use('a resource', () => moveOnAfter(5, () => new Slow(2)))
      yield* waits(() => sleep(3))
    })
    yield* fiber.stop()
    assert.deepEqual([now(), runtime().timers.size], [1 + 3 + 7, 0])
  })

  test('it counts on when an op that ends LATER has been left before it', function* () {
    const cleanup = function* () {
      yield* moveOnAfter(5, () => new Slow(), { grace: 5 })
      yield* sleep()
    }
    const fiber = yield* started(() => waits(cleanup), { grace: 100 })
    yield* fiber.stop()
    assert.equal(now(), 101)
  })
})

test('waits for the next life of a dead child whose restart is held end when that child is stopped', function* () {
  const told: unknown[] = []
  const worker = spin(function* () {
    Fiber.current.mailbox.cap(1)
    yield* failAfter(1, new Error('again'))
  })
  spin(function* () {
    yield* sleep(5)
    const asked = spin({ link: false }, () => call(worker, 'question'))
    yield* sleep(1)
    const pushed = spin(() => worker.mailbox.push('no room'))
    yield* sleep(1)
    worker.stop()
    told.push((yield* asked.join()).type, yield* pushed)
  })
  yield* supervise([worker], { backoff: 100, onError: () => 'restart' })
  yield* sleep(1)
  assert.deepEqual(told, ['error', false])
})

test('taps hear of each step of the ladder', function* () {
  const events: string[] = []
  const fiber = yield* started(function* () {
    for (;;) {
      // biome-ignore lint/suspicious/noConfusingLabels: a plain `continue` would be taken for a useless one
      hold: try {
        yield* receive()
      } catch {
        yield* sleep(1)
      } finally {
        // biome-ignore lint/correctness/noUnsafeFinally: that is the point
        break hold
      }
    }
  })
  const untap = tap((event, who) => who === fiber && !/block|schedule/.test(event) && events.push(event))
  fiber.stop()
  yield* sleep(0.5)
  yield* fiber.stop(undefined, { grace: 1000 }) // nearer
  untap()
  assert.deepEqual(events, ['stop', 'stop', 'refused', 'refused', 'refused', 'forced', 'abandoned', 'end'])
})

test('taps hear of roots, and the error of one that is out of band strikes main', function* () {
  const spun: string[] = []
  const untap = tap((event, fiber) => event === 'spin' && spun.push(fiber.name))
  const child = spin('child', function* () {
    Fiber.outOfBand(() => assert.fail('out of band'))
    yield* sleep(10)
  })
  const struck = yield* thrownBy(sleep(5))
  untap()
  assert.equal(struck.message, 'out of band')
  assert.deepEqual(spun, ['child', 'outOfBand'])
  yield* child
})

/** Always ready; counts how often it was entered. */
class Ready extends BaseOp<void> {
  entered = 0
  enter(fiber: Fiber): void {
    this.entered++
    settle(fiber, this, undefined)
  }
  abort(): void {}
  describe(): string {
    return 'ready'
  }
}

describe('the budget', () => {
  for (const [what, step, before] of [
    ['', 129, () => {}], // the op that found the budget spent was entered too
    [', also while a stop is held', 128, () => void Fiber.current.stop()],
  ] as const) {
    test(`a fiber takes 128 ready ops in one turn, and not one more${what}`, function* () {
      const ready = new Ready()
      const perTurn: number[] = []
      const worker = spin(() =>
        shield(function* () {
          before()
          while (ready.entered < 1000) yield* ready
        }),
      )
      const untap = tap(
        (event, fiber) => event === 'unblock' && fiber === worker && perTurn.push(ready.entered),
      )
      yield* worker.join()
      untap()
      assert.deepEqual(perTurn, [0, ...Array.from({ length: 7 }, (_, i) => 128 + i * step)])
    })
  }
})

// S34-S37: races between an answer and a signal, and between fibers. Some ops here are made by hand, on the contract of core/op.

import { type BaseOp, fail, LATER, LateOp, settle } from '#core/index'
import {
  any,
  assert,
  Cancel,
  cancelAfter,
  describe,
  ensure,
  Fiber,
  FiberStopped,
  failAfter,
  isStop,
  moveOnAfter,
  now,
  type Op,
  type Routine,
  race,
  raiseEverywhere,
  receive,
  reports,
  runtime,
  Semaphore,
  sleep,
  spin,
  started,
  stopEverywhere,
  suppressedErrors,
  suspend,
  type Timeout,
  tap,
  test,
  thrownBy,
  waits,
} from '../prelude.js'

/** An op that the test answers by hand, and that tells what was done to it. */
class Door extends LateOp<string> {
  readonly log: string[] = []
  fiber!: Fiber
  constructor(private readonly onAbort: (door: Door) => void | typeof LATER = () => {}) {
    super()
  }
  enter(fiber: Fiber): void {
    this.fiber = fiber
    this.log.push('enter')
  }
  abort(): void | typeof LATER {
    this.log.push('abort')
    return this.onAbort(this)
  }
  override discard(value: string): void {
    this.log.push(`discard ${value}`)
  }
  describe(): string {
    return 'a door'
  }
  open(value: string): boolean {
    return settle(this.fiber, this, value)
  }
  jam(error: unknown): boolean {
    return fail(this.fiber, this, error)
  }
}

/** A door whose abort cannot end at once. */
const slowDoor = () => new Door(() => LATER)

/** A fiber that waits at a door, and then for ever; it logs what it receives, and when. */
function* guest(door: Door, log: unknown[], options = {}): Routine<Fiber<void>> {
  return yield* started(function* () {
    try {
      log.push(yield* door)
    } catch (thrown) {
      log.push(isStop(thrown) ? `stop at ${now()}` : thrown)
      if (isStop(thrown)) throw thrown
    }
    yield* sleep()
  }, options)
}

const verbs: [string, (fiber: Fiber<any>) => unknown][] = [
  ['stop', (fiber) => fiber.stop()],
  ['kill', (fiber) => fiber.kill()],
  ['raise', (fiber) => fiber.raise(new Error('raised'))],
  ['cancel', (fiber) => fiber.cancel()],
]

describe('S34 completion wins', () => {
  for (const [verb, strike] of verbs) {
    test(`an answer that came before ${verb} is received first; the signal strikes next`, function* () {
      for (const answer of ['value', new Error('jammed')]) {
        const log: unknown[] = []
        const door = new Door()
        const fiber = yield* guest(door, log)
        assert.equal(typeof answer === 'string' ? door.open(answer) : door.jam(answer), true)
        strike(fiber)
        assert.notEqual((yield* fiber.join()).type, 'value')
        assert.deepEqual(log, [answer])
        assert.deepEqual(door.log, ['enter'])
      }
    })

    // A killed fiber is forced at once, so that a body which ends in its own way counts as stopped.
    const end = verb === 'kill' ? { type: 'stopped', value: undefined } : { type: 'value', value: 'value' }
    test(`if the body ends before the next switchpoint, its result stands: ${verb}, ${end.type}`, function* () {
      const door = new Door()
      const fiber = spin(() => door)
      yield* sleep(1)
      door.open('value')
      strike(fiber)
      assert.deepEqual(yield* fiber.join(), end)
    })
  }

  const limits = [moveOnAfter, cancelAfter] as [typeof cancelAfter, typeof cancelAfter]
  for (const limit of limits) {
    /** The limit expires at 10, in the turn in which the sleep inside is over, but later. */
    const answeredAtTheEnd = function* (last?: Op<unknown>) {
      let timeout!: Timeout
      const body = function* (its: Timeout) {
        timeout = its
        yield* sleep(10)
        if (last !== undefined) yield* last
        return 'result'
      }
      const fiber = spin({ link: false }, () => limit(9, body))
      yield* sleep(1)
      timeout.reset()
      return (yield* fiber.join()) as { type: string; value?: unknown }
    }

    test(`${limit.name}: a body that ends with the answer keeps its result, though its time is up`, function* () {
      const outcome = yield* answeredAtTheEnd()
      assert.deepEqual(outcome, { type: 'value', value: 'result' })
    })

    test(`${limit.name}: else the expiry strikes at the next switchpoint`, function* () {
      const outcome = yield* answeredAtTheEnd(sleep(0))
      assert.equal(outcome.type, limit === cancelAfter ? 'error' : 'value')
      assert.equal(now(), 10)
    })
  }

  test('an answer that comes just before its block is forced is received', function* () {
    const log: unknown[] = []
    const door = new Door()
    const timer = { time: 0, seq: 0, index: -1, fire: () => void door.open('in time') }
    runtime().addTimer(timer, 15)
    const body = () =>
      waits(function* () {
        log.push(yield* door) // the deadline is at 15 too, and was set later
        yield* sleep(1)
        log.push('not reached')
      })
    assert.equal(yield* moveOnAfter(5, body, { value: 'moved on', grace: 10 }), 'moved on')
    assert.deepEqual([log, now()], [['in time'], 15])
  })

  test('a message that came before the stop, the kill or the time-out is received; a later one stays', function* () {
    const log: unknown[] = []
    const takes = function* () {
      log.push(yield* receive())
      yield* sleep()
    }
    for (const verb of ['stop', 'kill'] as const) {
      const fiber = yield* started(takes)
      fiber.send(verb)
      fiber[verb]()
      assert.equal((yield* fiber.join()).type, 'stopped')
    }
    const main = Fiber.current
    spin(waits, () => main.send('in time'), 5) // set before the limit, so it fires first (S68)
    yield* moveOnAfter(5, takes)
    spin(waits, () => main.send('later'), 10)
    assert.equal(yield* moveOnAfter(5, takes, 'nothing'), 'nothing')
    assert.deepEqual(log, ['stop', 'kill', 'in time'])
    assert.equal(yield* receive(), 'later')
  })

  test('after the stop an answer comes too late', function* () {
    const fiber = yield* started(function* () {
      yield* suspend()
    })
    fiber.stop('v')
    assert.equal(fiber.schedule('answer'), false)
    assert.deepEqual(yield* fiber.join(), { type: 'stopped', value: 'v' })
  })

  test('a second answer is ignored and told to taps, never discarded when the first was received', function* () {
    const late: unknown[] = []
    const untap = tap((event, _fiber, detail) => void (event === 'late' && late.push(detail)))
    const [door, other] = [new Door(), receive() as BaseOp<unknown>]
    assert.equal(settle(Fiber.current, other, undefined), false)
    const fiber = spin(() => door)
    yield* sleep(1)
    assert.deepEqual([door.open('first'), door.open('second')], [true, false])
    assert.equal(yield* fiber, 'first')
    assert.equal(door.open('third'), false)
    untap()
    assert.deepEqual(door.log, ['enter'])
    assert.deepEqual(late, [other, door, door])
  })

  test('an op cannot wake a fiber that waits in another op', function* () {
    const [old, door] = [new Door(), new Door()]
    const fiber = spin(function* () {
      yield* moveOnAfter(1, () => old)
      return yield* door
    })
    yield* sleep(2)
    assert.deepEqual([old.open('stale'), old.jam(new Error('stale'))], [false, false])
    yield* sleep(1)
    assert.equal(fiber.state, 'waiting')
    door.open('right')
    assert.equal(yield* fiber, 'right')
    assert.deepEqual(old.log, ['enter', 'abort', 'discard stale'])
  })
})

describe('S35 taking a wait back', () => {
  test('an op is aborted once, and not if it has its answer', function* () {
    const log: unknown[] = []
    const door = new Door()
    const fiber = yield* guest(door, log)
    fiber.stop()
    fiber.stop()
    yield* fiber.kill()
    assert.deepEqual(door.log, ['enter', 'abort'])
  })

  test('it is aborted once also if its abort stops the fiber, and may settle after that', function* () {
    const error = new Error('raised')
    const stops = (door: Door) => void door.fiber.stop('from the abort')
    const log: unknown[] = []
    const doors = [new Door(stops), new Door((door) => void [stops(door), door.open('value')])] as const
    const first = yield* guest(doors[0], log)
    assert.deepEqual(yield* first.raise(error), { type: 'stopped', value: 'from the abort' })
    const second = yield* guest(doors[1], log)
    assert.deepEqual(yield* second.raise(error), { type: 'error', error })
    assert.deepEqual(log, [error, 'value'])
    for (const door of doors) assert.deepEqual(door.log, ['enter', 'abort'])
  })

  test('a value that comes too late is discarded, once; a late error is dropped, and told to taps', function* () {
    const late: unknown[] = []
    const error = new Error('late')
    const doors = [new Door(), new Door()] as const
    for (const door of doors) yield* (yield* guest(door, [])).stop()
    const untap = tap((event, _fiber, detail) => void (event === 'late' && late.push(detail)))
    assert.deepEqual([doors[0].open('late'), doors[0].open('later')], [false, false])
    doors[1].jam(error)
    untap()
    assert.deepEqual(doors[0].log, ['enter', 'abort', 'discard late'])
    assert.deepEqual(doors[1].log, ['enter', 'abort'])
    assert.deepEqual(late, [doors[0], doors[0], error])
  })

  for (const verb of ['stop', 'kill'] as const) {
    test(`an abort may settle or fail at once: the fiber receives that, the ${verb} comes next`, function* () {
      const error = new Error('aborted')
      const aborts: [unknown, (door: Door) => void | typeof LATER][] = [
        ['partial', (door) => void door.open('partial')],
        [error, (door) => void door.jam(error)],
        ['partial', (door) => (door.open('partial') ? LATER : undefined)],
      ]
      for (const [received, abort] of aborts) {
        const log: unknown[] = []
        const door = new Door(abort)
        const fiber = yield* guest(door, log)
        assert.equal((yield* fiber[verb]()).type, 'stopped')
        door.open('again') // what was received is not discarded
        assert.deepEqual([log, door.log, now()], [[received], ['enter', 'abort'], now()])
      }
      assert.equal(now(), 3)
    })
  }

  test('a stop that comes while an op begins takes it back', function* () {
    const log: unknown[] = []
    const door = new Door()
    door.enter = (fiber: Fiber) => void fiber.stop()
    yield* (yield* guest(door, log)).join()
    assert.deepEqual([log, door.log], [['stop at 0'], ['abort']])
  })

  test('an abort or a discard that fails is reported, and the signal strikes', function* () {
    const log: unknown[] = []
    const fails = () => {
      throw new Error('cannot')
    }
    const door = new Door(fails)
    door.discard = fails
    yield* (yield* guest(door, log)).stop()
    door.open('late')
    assert.deepEqual(log, ['stop at 1'])
    assert.match(reports().join(), /aborting a door failed.*discarding the late value of a door failed/)
  })

  test('an op that ends LATER is waited for, then the signal strikes; what came is discarded', function* () {
    const error = new Error('raised')
    const strikes: [(fiber: Fiber) => unknown, unknown][] = [
      [(fiber) => fiber.stop(), 'stop at'],
      [(fiber) => fiber.raise(error), error],
    ]
    for (const [strike, received] of strikes) {
      for (const answer of ['late', new Error('late')]) {
        const log: unknown[] = []
        const door = slowDoor()
        const fiber = yield* guest(door, log)
        strike(fiber)
        yield* sleep(10)
        assert.deepEqual(log, [])
        assert.equal(typeof answer === 'string' ? door.open(answer) : door.jam(answer), false)
        yield* sleep(1)
        const at = received === error ? error : `${received} ${now() - 1}`
        assert.deepEqual(log, [at])
        const discarded = typeof answer === 'string' ? ['discard late'] : []
        assert.deepEqual(door.log, ['enter', 'abort', ...discarded])
        yield* fiber.stop()
      }
    }
  })

  type Strike = (fiber: Fiber<any>) => unknown
  const stop: Strike = (fiber) => fiber.stop()
  const less: Strike = (fiber) => fiber.stop(undefined, { grace: 20 })
  const raise: Strike = (fiber) => fiber.raise('raised')
  const kill: Strike = (fiber) => fiber.kill()
  const nothing: Strike = () => {}
  const block = (door: Door) => moveOnAfter(5, () => door)
  const hasty = (door: Door) => moveOnAfter(5, () => door, { grace: 10 })
  const bounds: [string, number, (door: Door) => Op<unknown>, ...Strike[]][] = [
    ['the grace of the fiber', 51, (door) => door, stop],
    ['the grace of the fiber, for a raise', 51, (door) => door, raise],
    ['the grace of the stop', 21, (door) => door, less],
    ['a later stop with less grace', 31, (door) => door, stop, less],
    ['a stop after a raise', 31, (door) => door, raise, less],
    ['a kill', 11, (door) => door, stop, kill],
    ['the grace of a block', 15, hasty],
    ['the stop of the fiber around a block', 31, block, nothing, less],
  ]
  for (const [what, time, body, ...strikes] of bounds) {
    test(`that wait is bounded by ${what}`, function* () {
      const door = slowDoor()
      const fiber = spin({ link: false, grace: 50 }, () => body(door))
      for (const [i, strike] of strikes.entries()) {
        yield* sleep(i === 0 ? 1 : 10)
        strike(fiber)
      }
      const outcome = yield* fiber.join()
      assert.equal(outcome.type, body === hasty ? 'value' : strikes.includes(raise) ? 'error' : 'stopped')
      assert.equal(now(), time)
      door.open('very late')
      assert.deepEqual(door.log, ['enter', 'abort', 'discard very late'])
    })
  }

  for (const limit of [moveOnAfter, cancelAfter]) {
    test(`${limit.name} goes on as soon as the op has ended`, function* () {
      const door = slowDoor()
      const fiber: Fiber<unknown> = spin({ link: false }, () => limit(5, () => door))
      yield* sleep(8)
      door.open('late')
      const outcome = yield* fiber.join()
      assert.equal(now(), 8)
      assert.equal(outcome.type === 'error' && outcome.error instanceof Cancel, limit === cancelAfter)
      assert.deepEqual(door.log, ['enter', 'abort', 'discard late'])
    })
  }

  test('when the op has ended, the bound of its wait does not touch the next wait', function* () {
    const doors = [slowDoor(), slowDoor()] as const
    const worker = yield* started(
      function* () {
        assert.equal((yield* thrownBy(doors[0])).message, 'one')
        yield* sleep(90)
        return (yield* thrownBy(doors[1])).message
      },
      { grace: 100 },
    )
    worker.raise('one') // the bound of this wait is at 101
    doors[0].open('done')
    yield* sleep(95)
    worker.raise('two') // at 96: the bound of this wait is at 196
    yield* sleep(20)
    assert.equal(worker.state, 'waiting')
    doors[1].open('done')
    assert.equal(yield* worker, 'two')
    assert.equal(runtime().stats().timers, 0)
  })

  test('child errors wait for the op too, and none is lost', function* () {
    const error = new Error('child')
    const door = slowDoor()
    const fiber = yield* started(function* () {
      spin(failAfter, 5, error)
      yield* door
    })
    yield* sleep(10)
    assert.equal(fiber.state, 'waiting')
    door.open('late')
    assert.deepEqual(yield* fiber.join(), { type: 'error', error })
  })

  test('in the cleanup of ensure an op is not aborted before the deadline', function* () {
    const door = slowDoor()
    const fiber = yield* started(function* () {
      yield* ensure(sleep, () => door)
    })
    fiber.stop()
    yield* sleep(1)
    fiber.stop()
    door.open('in time')
    yield* fiber.join()
    assert.deepEqual(door.log, ['enter'])
  })
})

describe('S36 wakers hand over directly', () => {
  test('a message goes to the waiter as its value, whatever happens to it then', function* () {
    const got: unknown[] = []
    const fiber = yield* started(function* () {
      got.push(yield* receive())
      yield* suspend()
    })
    fiber.send('a')
    fiber.kill()
    fiber.send('b')
    yield* fiber.join()
    assert.deepEqual(got, ['a'])
  })

  test('a permit goes to the first in line: no fiber can slip in between', function* () {
    const semaphore = new Semaphore(1)
    yield* semaphore.acquire()
    const waiter = spin(() => semaphore.acquire())
    yield* sleep(1)
    semaphore.release()
    assert.equal(semaphore.tryAcquire(), false)
    yield* waiter
  })

  test('no permit is lost, wherever a fiber is stopped', () => {
    let semaphore = new Semaphore(1)
    const scenario = function* () {
      semaphore = new Semaphore(1)
      for (let i = 0; i < 3; i++) spin(() => semaphore.acquire(() => sleep(1)))
      yield* Fiber.current.joinChildren()
    }
    const check = () => assert.deepEqual([semaphore.available, semaphore.waiting], [1, 0])
    stopEverywhere(scenario, { check })
  })
})

describe('S37 race, any and Fiber.select', () => {
  function* valueAfter<T>(ms: number, value: T): Routine<T> {
    yield* sleep(ms)
    return value
  }

  for (const contest of [race, any]) {
    test(`${contest.name}: the losers have cleaned up before the value of the winner is given`, function* () {
      const log: string[] = []
      const loser = () =>
        waits(function* () {
          yield* sleep(7)
          log.push('cleaned up')
        })
      assert.equal(yield* contest([loser, () => valueAfter(10, 'quick')]), 'quick')
      assert.deepEqual([log, now(), Fiber.current.children], [['cleaned up'], 17, []])
    })

    test(`${contest.name}: values of losers are discarded, and that of a winner whose fiber is cut`, function* () {
      const dropped: unknown[] = []
      const options = { discard: (value: unknown) => void dropped.push(value) }
      const equals = ['a', 'b'].map((value) => () => valueAfter(10, value))
      const winner = yield* contest(equals, options)
      assert.deepEqual(dropped, winner === 'a' ? ['b'] : ['a'])
      const slow = () => waits(() => sleep(50))
      yield* moveOnAfter(12, () => contest([() => valueAfter(10, 'too late'), slow], options))
      assert.deepEqual(dropped.slice(1), ['too late'])
    })

    test(`${contest.name}: what a loser throws as it is stopped is thrown instead of the value`, function* () {
      const error = new Error('cleanup')
      const clumsy = () => waits(() => failAfter(5, error))
      assert.equal(yield* thrownBy(contest([clumsy, () => valueAfter(1, 'winner')])), error)
    })

    test(`${contest.name}: a Fiber in the list is awaited and never stopped`, function* () {
      const [first, second] = [spin(valueAfter, 10, 'first'), spin(valueAfter, 20, 'second')]
      assert.equal(yield* contest([second, first, () => suspend<string>()]), 'first')
      assert.equal(yield* second, 'second')
    })
  }

  test('in any contenders may fail, in race the first end decides', function* () {
    const [a, b] = [new Error('a'), new Error('b')]
    const contenders = [() => failAfter(1, a), () => valueAfter(5, 'v'), () => waits(() => failAfter(1, b))]
    assert.equal(yield* any(contenders.slice(0, 2)), 'v')
    assert.equal(yield* thrownBy(race(contenders)), a)
    assert.deepEqual(suppressedErrors(a), [b])
    const stopped = spin(() => sleep())
    stopped.stop()
    const { errors } = yield* thrownBy(any([stopped]))
    assert.ok(errors[0] instanceof FiberStopped)
  })

  test('Fiber.select gives the first to end with its value, dead or stopped, and stops no fiber', function* () {
    const [slow, fast] = [spin(valueAfter, 50, 'slow'), spin(valueAfter, 5, 'fast')]
    assert.deepEqual(yield* Fiber.select(slow, fast), [fast, 'fast'])
    assert.deepEqual(yield* Fiber.select(slow, fast), [fast, 'fast'])
    const stopped = spin(() => sleep())
    stopped.stop('v')
    assert.deepEqual(yield* Fiber.select(slow, stopped), [stopped, 'v'])
    assert.equal(yield* slow, 'slow')
  })

  test('Fiber.select throws if the first one failed, and the others live on', function* () {
    const [a, b] = [new Error('a'), new Error('later')]
    const [slow, loser] = [spin(valueAfter, 50, 'slow'), spin(failAfter, 20, b)]
    assert.equal(yield* thrownBy(Fiber.select(slow, loser, spin(failAfter, 5, a))), a)
    assert.equal(yield* thrownBy(slow), b) // a loser that fails later tells its parent as usual
    assert.equal(yield* slow, 'slow')
    const stopped = spin(() => sleep())
    stopped.stop()
    assert.ok((yield* thrownBy(Fiber.select(stopped))) instanceof FiberStopped)
  })

  test('a fiber given twice costs no other observer its answer', function* () {
    const target = spin(valueAfter, 5, 'v')
    const twice = spin(() => Fiber.select(target, target))
    yield* sleep(1)
    const other = spin(() => target.await())
    assert.deepEqual(yield* twice, [target, 'v'])
    assert.equal(yield* other, 'v')
  })

  test('Fiber.select can be stopped and raised in anywhere', () => {
    const scenario = function* () {
      const [a, b] = [spin(valueAfter, 5, 1), spin(valueAfter, 10, 2)]
      yield* Fiber.select(a, b)
      yield* b.join()
    }
    stopEverywhere(scenario)
    raiseEverywhere(scenario)
  })
})

// S34-S37: races between an answer and a signal, and between fibers. Some ops here are made by hand, on the contract of core/op.

import { type BaseOp, fail, LATER, LateOp, settle } from '#core/index'
import {
  any,
  assert,
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
  receive,
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
  tryReceive,
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
    test(`an answer that came before ${verb} is received first; the signal strikes at the next switchpoint`, function* () {
      for (const answer of ['value', new Error('jammed')]) {
        const log: unknown[] = []
        const door = new Door()
        const fiber = yield* guest(door, log)
        assert.equal(typeof answer === 'string' ? door.open(answer) : door.jam(answer), true)
        strike(fiber)
        assert.notEqual((yield* fiber.join()).type, 'value')
        assert.deepEqual([log, door.log], [[answer], ['enter']])
      }
      // If the body ends before that, its result stands; a killed fiber is forced at once, and counts as stopped.
      const door = new Door()
      const fiber = yield* started(() => door as Op<string>)
      door.open('value')
      strike(fiber)
      const end = verb === 'kill' ? { type: 'stopped', value: undefined } : { type: 'value', value: 'value' }
      assert.deepEqual(yield* fiber.join(), end)
    })
  }

  for (const limit of [moveOnAfter, cancelAfter] as [typeof cancelAfter, typeof cancelAfter]) {
    test(`${limit.name}: a body that ends with the answer keeps its result, though its time is up; else it strikes`, function* () {
      /** The limit expires in the turn in which the sleep inside is over, but later. */
      const answeredAtTheEnd = function* (last: () => Op<void>) {
        let timeout!: Timeout
        const fiber = yield* started(() =>
          limit(9, function* (its) {
            timeout = its
            yield* sleep(10)
            yield* last()
            return 'result'
          }),
        )
        timeout.reset()
        return yield* fiber.join()
      }
      assert.deepEqual(yield* answeredAtTheEnd(function* () {}), { type: 'value', value: 'result' })
      const struck: any = yield* answeredAtTheEnd(() => sleep(0))
      assert.deepEqual([struck.type, struck.value], [limit === cancelAfter ? 'error' : 'value', undefined])
      assert.equal(now(), 20)
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

  test('a message that came before the time-out is received; a later one stays', function* () {
    const main = Fiber.current
    const takes = function* () {
      const message = yield* receive()
      assert.equal(message, 'in time')
      yield* sleep()
    }
    spin(waits, () => main.send('in time'), 4)
    yield* moveOnAfter(5, takes)
    assert.equal(tryReceive(), undefined)
    spin(waits, () => main.send('later'), 10)
    assert.equal(yield* moveOnAfter(5, takes, 'nothing'), 'nothing')
    assert.equal(yield* receive(), 'later')
  })

  test('after the stop an answer comes too late', function* () {
    const fiber = yield* started(() => suspend())
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
  test('an op is aborted once, however many signals come', function* () {
    const door = new Door()
    const fiber = yield* guest(door, [])
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

  test('an op that ends LATER is waited for, then the signal strikes; what came is discarded', function* () {
    for (const verb of ['stop', 'raise'] as const) {
      for (const answer of ['late', new Error('late')]) {
        const log: any[] = []
        const door = slowDoor()
        const fiber = yield* guest(door, log)
        fiber[verb]('signal' as any)
        yield* sleep(10)
        assert.equal(log.length, 0)
        assert.equal(typeof answer === 'string' ? door.open(answer) : door.jam(answer), false)
        yield* sleep(1)
        assert.equal(log[0].message ?? log[0], verb === 'raise' ? 'signal' : `stop at ${now() - 1}`)
        assert.deepEqual(door.log.slice(2), typeof answer === 'string' ? ['discard late'] : [])
        yield* fiber.stop()
        assert.deepEqual([log.length, door.log.slice(0, 2)], [1, ['enter', 'abort']])
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
      spin(waits, () => door.open('late'), 8)
      const fiber: Fiber<unknown> = spin({ link: false }, () => limit(5, () => door))
      const { type } = yield* fiber.join()
      assert.deepEqual([type, now()], [limit === cancelAfter ? 'error' : 'value', 8])
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
  test('a message and a permit go to the first in line as its value: no fiber can slip in between', function* () {
    const semaphore = new Semaphore(1)
    yield* semaphore.acquire()
    const [waiter, reader] = [spin(() => semaphore.acquire()), spin(() => receive())]
    yield* sleep(1)
    semaphore.release()
    assert.equal(semaphore.tryAcquire(), false)
    reader.send('message')
    assert.equal(reader.mailbox.size, 0)
    assert.equal(yield* reader, 'message')
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
    test(`${contest.name}: the losers have cleaned up before the value is given; a Fiber in the list is never stopped`, function* () {
      let cleaned = 0
      const loser = () => waits(() => waits(() => (cleaned = now()), 7)) as Op<any>
      const [first, second] = [spin(valueAfter, 10, 'first'), spin(valueAfter, 20, 'second')]
      assert.equal(yield* contest([second, first, loser]), 'first')
      assert.deepEqual([cleaned, now(), Fiber.current.children], [17, 17, [second]])
      assert.equal(yield* second, 'second')
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
})

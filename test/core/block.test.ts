// What every kind of block has in common. What strikes in them, and when, is in semantics/regions.

import { timeLeft } from 'polyphony/op'
import { Scope } from '#core/scope'
import { NO_BARRIER } from '#core/state'
import { BarrierBlock } from '#core/timeout'
import {
  assert,
  BadYield,
  describe,
  Fiber,
  Mutex,
  moveOnAfter,
  neverLetsGo,
  now,
  type Op,
  receive,
  reports,
  runtime,
  type Switchpoint,
  scope,
  shield,
  sleep,
  spin,
  started,
  suppressedErrors,
  tap,
  test,
  thrownBy,
  use,
  waits,
} from '../prelude.js'

describe('a block that is used again', () => {
  test('has all its patience again', function* () {
    const swallows = moveOnAfter(5, function* () {
      for (let i = 0; i < 3; i++) yield* thrownBy(receive())
    })
    const forced = moveOnAfter(5, () => neverLetsGo(undefined, 60), { grace: 0 })
    for (const block of [swallows, swallows, forced, forced]) assert.equal(yield* block, undefined)
    const { abandoned, forced: timesForced } = runtime().stats()
    assert.deepEqual([abandoned, timesForced], [0, 2])
  })

  test('works after it was abandoned, alone, around and inside another', function* () {
    const inner = moveOnAfter(1000, () => neverLetsGo(undefined, 200))
    const shielded = shield(() => inner)
    const outer = moveOnAfter(5, () => shielded, { value: 'moved on', grace: 0 })
    for (let times = 1; times <= 2; times++) {
      assert.equal(yield* outer, 'moved on')
      assert.equal(runtime().stats().abandoned, times)
      assert.equal(runtime().timers.size, 0)
    }
    assert.match(reports()[1] as string, /abandoned: the body of moveOnAfter\(5\) in main was abandoned/)
    assert.equal(yield* moveOnAfter(5, () => sleep(), 'sound'), 'sound')
  })

  test('works after its fiber was abandoned, which has taken over its children and cleanups', function* () {
    const log: string[] = []
    const untap = tap((event) => event === 'abandoned' && log.push(event))
    let times = 200
    const again = scope(function* () {
      yield* use({ [Symbol.dispose]: () => log.push('disposed of') })
      if (times > 0) spin(() => waits(() => log.push('child stopped')))
      yield* moveOnAfter(1000, () => neverLetsGo(undefined, times))
      return 'whole'
    })
    const limit = moveOnAfter(2000, () => again)
    const fiber = spin(() => shield(() => limit))
    yield* sleep(1)
    assert.equal((yield* fiber.kill()).type, 'abandoned')
    untap()
    assert.deepEqual(log.splice(0), ['abandoned', 'child stopped', 'disposed of'])
    assert.equal(runtime().timers.size, 0)
    times = 0
    assert.equal(yield* limit, 'whole')
    assert.deepEqual(log, ['disposed of'])
  })

  test('has no deadline left from the time before', function* () {
    const times: number[] = []
    const limit = moveOnAfter(5, function* () {
      times.push(timeLeft(Fiber.current))
      yield* sleep()
    })
    yield* limit
    yield* limit
    assert.deepEqual(times, [Infinity, Infinity])
  })

  test('and holds something is struck again by the limit around it', function* () {
    const mutex = new Mutex()
    const locked = mutex.synchronize(() => sleep())
    const limit = moveOnAfter(5, () => locked, 'moved on')
    for (const time of [5, 10]) {
      assert.equal(yield* limit, 'moved on')
      assert.deepEqual([now(), mutex.isLocked, reports()], [time, false, []])
    }
  })

  test('may be entered again after it was iterated by hand while it gave way to others', function* () {
    const dead = spin(() => {})
    for (let i = 0; i < 127; i++) yield* dead
    const inner = shield(() => 'a value')
    const outer = shield(() => inner) as unknown as Iterator<unknown>
    assert.equal(outer.next().done, false)
    assert.throws(() => outer.next(), BadYield)
    assert.equal(yield* inner, 'a value')
  })
})

test('a block is not entered in a fiber that is forced', function* () {
  for (const block of [scope, shield, (body: () => unknown) => moveOnAfter(5, body)]) {
    const fiber = yield* started(() => waits(() => block(() => assert.fail('entered'))))
    assert.equal((yield* fiber.kill()).type, 'stopped')
  }
})

describe('when the stack ends', () => {
  const overflow = () => new RangeError('Maximum call stack size exceeded')

  /** A block that has too little stack to leave, so that a block around it has to do it; and the first time not even that can. */
  class Deep extends BarrierBlock<unknown> {
    constructor(
      body: () => unknown,
      private readonly log: string[],
      private readonly name: string,
      private isTooDeep = false,
    ) {
      super(body, NO_BARRIER, name)
    }
    protected override thrown(error: unknown): never {
      throw error
    }
    protected override left(): void {
      const { isTooDeep } = this
      this.isTooDeep = false
      if (isTooDeep) throw overflow()
      this.log.push(this.name)
    }
  }

  test('each block that could not leave is left once, by the first block around it that has stack enough', function* () {
    const log: string[] = []
    const innermost = new Deep(() => assert.fail(overflow()), log, 'innermost')
    const inner = new Deep(() => innermost, log, 'inner', true)
    const fiber: Fiber = spin({ link: false }, () => shield(() => shield(() => inner)))
    assert.match(String((yield* fiber.join() as any).error), /RangeError: Maximum call stack/)
    assert.deepEqual([log, reports()], [['innermost', 'inner'], []])
    assert.equal((fiber as any).innermost, fiber)
  })

  test('cleanup around a block that could not be left yet may wait', function* () {
    const log: string[] = []
    const inner = new Deep(() => assert.fail(overflow()), log, 'left', true)
    const body = function* () {
      try {
        yield* shield(() => inner)
      } finally {
        yield* sleep(5)
        log.push('cleaned up')
      }
    }
    const { error }: any = yield* spin({ link: false }, () => shield(body)).join()
    assert.match(String(error), /RangeError/)
    assert.deepEqual([log, now(), suppressedErrors(error)], [['cleaned up', 'left'], 5, []])
  })

  test('the error says what to do, once, however many fibers it passes', function* () {
    const inner = () => spin(() => assert.fail(overflow()))
    const fiber = spin({ link: false }, () => inner())
    const { error }: any = yield* fiber.join()
    assert.equal(String(error).split('nest too deeply').length, 2)
  })

  test('the errors that a scope had kept are not lost', function* () {
    class DeepScope extends Scope<unknown> {
      protected override thrown(error: unknown): never {
        throw error
      }
    }
    const inner = new DeepScope(function* () {
      spin(() => assert.fail('of a child'))
      try {
        yield* sleep()
      } finally {
        // biome-ignore lint/correctness/noUnsafeFinally: that is the point
        throw overflow()
      }
    })
    const fiber: Fiber = spin({ link: false }, () => shield(() => inner))
    const { error }: any = yield* fiber.join()
    assert.match(String(error), /RangeError/)
    assert.deepEqual(
      suppressedErrors(error).map((each: any) => each.message),
      ['of a child'],
    )
  })

  /** A block whose body there is no stack to resume: it is open when the block around it is told. */
  class Stuck extends BarrierBlock<unknown> {
    private isBegun = false

    constructor(body: () => unknown) {
      super(body, NO_BARRIER, 'stuck')
    }
    override next(value?: unknown): IteratorResult<Switchpoint, unknown> {
      if (this.isBegun) throw overflow()
      this.isBegun = true
      return super.next(value)
    }
  }

  test('a body that could not be resumed is ended by the block around it: its cleanup runs, and cannot wait', function* () {
    const log: unknown[] = []
    const stuck = new Stuck(function* () {
      try {
        yield* sleep(1)
      } catch (error) {
        log.push(String(error))
        yield* waits(() => log.push('cleaned up'))
      }
    })
    const { error }: any = yield* spin({ link: false }, () => shield(() => stuck)).join()
    assert.deepEqual(log, ['RangeError: Maximum call stack size exceeded', 'cleaned up'])
    assert.match(String(error), /RangeError: .*nest too deeply/)
    assert.deepEqual([suppressedErrors(error), now()], [[], 1])
  })

  test('an error of the cleanup of such a body is kept beside the overflow', function* () {
    const stuck = new Stuck(() => waits(() => assert.fail('of its cleanup'), 1))
    const { error }: any = yield* spin({ link: false }, () => shield(() => stuck)).join()
    assert.match(String(error), /RangeError/)
    assert.deepEqual(
      suppressedErrors(error).map((each: any) => each.message),
      ['of its cleanup'],
    )
  })

  /** An op that cannot be resumed for want of stack after it has waited so many times, but can be told so. */
  const stuckAfter = (waits: number, body: () => Generator<any, unknown, any>): Op<unknown> => ({
    [Symbol.iterator]() {
      const inner = body()
      let times = 0
      const resume = (how: () => any) => (times++ === waits ? assert.fail(overflow()) : how())
      return {
        next: () => resume(() => inner.next()),
        return: (value) => resume(() => inner.return(value)),
        throw: (error) => inner.throw(error),
      }
    },
  })

  test('a body may catch the overflow, wait and go on', function* () {
    const body = function* () {
      assert.match(String(yield* thrownBy(sleep(1))), /RangeError/)
      yield* sleep(5)
      return 'went on'
    }
    assert.equal(yield* shield(() => stuckAfter(1, body)), 'went on')
    assert.equal(now(), 6)
  })

  test('a body that catches it as its block is forced may not wait, and ends with the block', function* () {
    const log: string[] = []
    const cleanup = function* () {
      log.push(String(yield* thrownBy(sleep())))
      yield* waits(() => log.push('cleaned up'))
    }
    const limited = () => stuckAfter(2, () => waits(cleanup))
    assert.equal(yield* moveOnAfter(5, limited, { value: 'moved on', grace: 10 }), 'moved on')
    assert.deepEqual(log, ['RangeError: Maximum call stack size exceeded', 'cleaned up'])
    assert.equal(now(), 15)
  })
})

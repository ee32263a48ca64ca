// S12, S24-S26, S34, S37: waiting for fibers that end, fail or are stopped meanwhile, in every order.

import {
  assert,
  Fiber,
  isStop,
  type Op,
  type Routine,
  raiseEverywhere,
  sleep,
  snooze,
  spin,
  stopEverywhere,
  test,
  thrownBy,
  whole,
} from '../prelude.js'
import { fails, gives, inEveryOrder, soon } from './orders.js'

const two = () => [spin(gives, 'a'), spin(gives, 'b')] as const

inEveryOrder(
  'S37 select of two that end in one turn gives one of them, and leaves the other its value',
  function* () {
    const fibers = two()
    const [first, value] = yield* Fiber.select(...fibers)
    assert.deepEqual(first.outcome, { type: 'value', value })
    assert.equal(value, first === fibers[0] ? 'a' : 'b')
    assert.deepEqual(yield* Fiber.await(...fibers), ['a', 'b'])
    return value
  },
  ['a', 'b'],
)

const waitings: [string, (fibers: ReturnType<typeof two>) => Op<unknown>, unknown[]][] = [
  ['S34 S37 a fiber that selects', (fibers) => Fiber.select(...fibers), ['a', 'b', undefined]],
  ['S34 a fiber that awaits', ([fiber]) => fiber, ['a', undefined]],
]
for (const [who, wait, shown] of waitings) {
  inEveryOrder(
    `${who} and has its answer when it is stopped gets it; the others are not touched`,
    function* () {
      const fibers = two()
      let got: any
      let isWaiting = false
      const waiter = spin(function* () {
        isWaiting = true
        got = yield* wait(fibers)
        isWaiting = false
        yield* sleep(1000)
        assert.fail('the stop strikes at the next switchpoint')
      })
      let hadAnswer = false
      spin(soon, () => {
        hadAnswer = isWaiting && waiter.state === 'runnable'
        waiter.stop('stopped')
      })
      assert.deepEqual(yield* waiter.join(), { type: 'stopped', value: 'stopped' })
      if (hadAnswer) assert.notEqual(got, undefined)
      assert.deepEqual(yield* Fiber.await(...fibers), ['a', 'b'])
      return hadAnswer ? (got[1] ?? got) : undefined
    },
    shown,
  )
}

for (const verb of ['stop', 'kill'] as const) {
  inEveryOrder(`S22 S37 a ${verb} while a child that is selected fails: the error is not lost`, function* () {
    const error = new Error('child')
    let hasFailed = false
    const seen: unknown[] = []
    const selecting = spin({ link: false }, function* () {
      const child = spin(soon, () => {
        hasFailed = true
        throw error
      })
      const other = spin(() => sleep(9))
      const caught = yield* thrownBy(Fiber.select(child, other))
      if (isStop(caught)) throw caught
      seen.push(caught)
    })
    spin(soon, () => selecting[verb]())
    const outcome = yield* selecting.join()
    const received = [...seen, ...(outcome.type === 'error' ? [outcome.error] : [])].flatMap(whole)
    assert.deepEqual(received, hasFailed ? [error] : [])
  })
}

inEveryOrder(
  'S24 every awaiter receives the error, and so does the parent that does not await, each once',
  function* () {
    const error = new Error('everybody')
    const seen: string[] = []
    const hears = function* (name: string, op: Op<unknown>) {
      assert.equal(yield* thrownBy(op), error)
      seen.push(name)
    }
    yield* spin(function* () {
      const child = spin(fails, error)
      for (const name of ['one', 'two']) Fiber.current.parent?.spin(hears, name, child)
      yield* hears('parent', sleep(1000))
      yield* snooze()
      yield* snooze()
    })
    yield* Fiber.current.joinChildren()
    assert.deepEqual(seen.sort(), ['one', 'parent', 'two'])
  },
)

inEveryOrder('S25 a parent that awaits receives the error by that alone', function* () {
  const error = new Error('once')
  let times = 0
  const child = spin(fails, error)
  for (const op of [child, spin(gives, 1), sleep(1), child]) {
    try {
      yield* op
    } catch (caught) {
      assert.equal(caught, error)
      times++
    }
  }
  // At the first op it comes up, or is received by awaiting; the last one asks again.
  assert.equal(times, 2)
})

inEveryOrder(
  'S26 an error and a stop are pending together: the error strikes first, then the stop',
  function* () {
    const seen: string[] = []
    let hasFailed = false
    const fiber = spin(function* () {
      spin(soon, () => {
        hasFailed = true
        throw new Error('child')
      })
      for (let i = 0; i < 2; i++) {
        const thrown = yield* thrownBy(sleep(1000))
        seen.push(isStop(thrown) ? 'stop' : 'error')
        if (isStop(thrown)) throw thrown
      }
    })
    let isPending = false
    const stop = () => {
      isPending = hasFailed && seen.length === 0
      fiber.stop()
    }
    spin(soon, stop, 2)
    yield* fiber.join()
    return `${isPending}: ${seen}`
  },
  ['false: ', 'false: error,stop', 'false: stop', 'true: error,stop'],
)

test('S12 S31 waiting for fibers, stopped or raised in at every switchpoint, disturbs none of them', () => {
  let fibers: readonly Fiber[] = []
  const scenario = function* (): Routine<void> {
    fibers = two()
    const waiting = spin({ link: false }, function* () {
      yield* Fiber.select(...fibers)
      yield* Fiber.await(...fibers)
    })
    yield* waiting.join()
    yield* Fiber.current.joinChildren()
  }
  const check = () => {
    for (const { outcome } of fibers) assert.notEqual(outcome, undefined)
  }
  assert.ok(stopEverywhere(scenario, { check }).switchpoints > 4)
  raiseEverywhere(scenario, { check })
})

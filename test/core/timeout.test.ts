// moveOnAfter, cancelAfter and their handle; what the rules say of limits is in semantics/regions.

import { attempt } from '#core/index'
import {
  assert,
  Cancel,
  cancelAfter,
  describe,
  Fiber,
  failing,
  moveOnAfter,
  now,
  type Op,
  type Routine,
  runtime,
  shield,
  sleep,
  spin,
  started,
  type Timeout,
  test,
  thrownBy,
} from '../prelude.js'

type Limit = (ms: number, body: (timeout: Timeout) => Op<unknown>) => Op<unknown>
/** cancelAfter, whose error is not what these tests are about. */
function* cancels(ms: number, body: (timeout: Timeout) => Op<unknown>): Routine<unknown> {
  try {
    return yield* cancelAfter(ms, body)
  } catch (error) {
    if (!(error instanceof Cancel)) throw error
    return undefined
  }
}
const limits: [string, Limit][] = [
  ['moveOnAfter', moveOnAfter],
  ['cancelAfter', cancels],
]

describe('moveOnAfter', () => {
  test('takes an object with value or grace for options, and refuses other keys in it', function* () {
    for (const wrong of [
      { value: 1, gracee: 5 },
      { grace: 5, status: 504 },
    ]) {
      assert.throws(
        () => moveOnAfter(10, () => sleep(11), wrong),
        /moveOnAfter\(\) has no option "(gracee|status)"; there are: value, grace/,
      )
    }
    class Point {
      value = 1
      x = 2
    }
    const point = new Point()
    assert.equal(yield* moveOnAfter(10, () => sleep(11), point), point)
  })

  test('gives the value of its body when there is time, else its own', function* () {
    const rows: [Op<unknown>, unknown][] = [
      [moveOnAfter(10, () => sleep(9), 'too late'), undefined],
      [moveOnAfter(10, () => sleep(11), 'too late'), 'too late'],
      [moveOnAfter(10, () => sleep(11)), undefined],
      [moveOnAfter(10, () => sleep(11), { value: 'too late', grace: 5 }), 'too late'],
      [moveOnAfter(10, () => sleep(11), { grace: 5 }), undefined],
      [moveOnAfter(10, () => sleep(11), { value: { value: 1, status: 504 } }), { value: 1, status: 504 }],
      [moveOnAfter(10, () => sleep(11), { status: 504 }), { status: 504 }],
      [moveOnAfter(10, () => sleep(11), {}), {}],
      [moveOnAfter(10, () => sleep(11), null), null],
      [moveOnAfter(10, () => 'a plain value'), 'a plain value'],
    ]
    for (const [op, expected] of rows) assert.deepEqual(yield* op, expected)
    assert.equal(now(), 89)
  })

  test('of 0 ms fires at the first switchpoint', function* () {
    const log: string[] = []
    const body = function* () {
      log.push('begun')
      yield* sleep(0)
      log.push('not reached')
    }
    assert.equal(yield* moveOnAfter(0, body, 'moved on'), 'moved on')
    assert.deepEqual(log, ['begun'])
    assert.equal(yield* moveOnAfter(0, () => 'no switchpoint', 'moved on'), 'no switchpoint')
  })

  test('can be used again, one after the other', function* () {
    const limit = moveOnAfter(10, () => sleep(), 'again')
    for (let i = 0; i < 3; i++) assert.equal(yield* limit, 'again')
    assert.equal(now(), 30)
  })
})

describe('cancelAfter', () => {
  test('throws Cancel, or the error, class or message given', function* () {
    const mine = new TypeError('mine')
    const plain = yield* thrownBy(cancelAfter(1, () => sleep()))
    assert.ok(plain instanceof Cancel)
    assert.equal(plain.message, 'main was cancelled after 1 ms')
    assert.equal(yield* thrownBy(cancelAfter(1, () => sleep(), mine)), mine)
    assert.ok((yield* thrownBy(cancelAfter(1, () => sleep(), RangeError))) instanceof RangeError)
    const named = yield* thrownBy(cancelAfter(1, () => sleep(), 'too slow'))
    assert.ok(named instanceof Cancel && named.message === 'too slow')
    assert.equal(yield* cancelAfter(10, () => 'in time'), 'in time')
  })

  test('can be used again, one after the other', function* () {
    const body = function* (timeout: Timeout) {
      yield* sleep(3)
      timeout.reset()
      yield* sleep()
    }
    const limit = cancelAfter(5, body)
    for (let i = 0; i < 3; i++) assert.ok((yield* thrownBy(limit)) instanceof Cancel)
    assert.equal(now(), 24)
  })
})

describe('the handle', () => {
  for (const [name, limit] of limits) {
    test(`of ${name}: remaining counts down, reset begins anew, extend adds`, function* () {
      const log: number[] = []
      let kept: Timeout | undefined
      const body = function* (timeout: Timeout) {
        kept = timeout
        log.push(timeout.remaining)
        yield* sleep(30)
        log.push(timeout.remaining)
        timeout.reset()
        log.push(timeout.remaining)
        yield* sleep(30)
        timeout.extend(50)
        log.push(timeout.remaining)
        yield* thrownBy(sleep())
        log.push(timeout.remaining, now())
      }
      yield* attempt(() => limit(100, body))
      assert.deepEqual(log, [100, 70, 100, 120, 0, 180])
      kept?.reset() // the block is over: nothing happens
      kept?.extend(10)
      assert.equal(kept?.remaining, 0)
      assert.equal(runtime().timers.size, 0)
    })
  }

  test('reset(ms) gives it another length from then on, in this run only', function* () {
    const log: number[] = []
    const limited = moveOnAfter(10, function* (timeout: Timeout) {
      log.push(timeout.remaining)
      timeout.reset(100)
      yield* sleep(60)
      timeout.reset()
      log.push(timeout.remaining)
      timeout.reset(Infinity)
      yield* sleep(500)
      log.push(timeout.remaining)
      timeout.reset(5)
      yield* thrownBy(sleep())
      log.push(now())
    })
    for (let i = 0; i < 2; i++) yield* limited
    assert.deepEqual(log, [10, 100, Infinity, 565, 10, 100, Infinity, 1130])
  })

  test('reset(ms) names the length that has passed, and refuses what is no time', function* () {
    const error = yield* thrownBy(
      cancelAfter(10, (timeout) => {
        timeout.reset(20)
        return sleep()
      }),
    )
    assert.equal((error as Error).message, 'main was cancelled after 20 ms')
    yield* moveOnAfter(10, (timeout) => {
      for (const wrong of [-1, Number.NaN, '5'])
        assert.throws(() => timeout.reset(wrong as never), { code: 'BAD_ARGUMENT', message: /reset\(\)/ })
    })
  })

  test('reset(0) ends the block at its next switchpoint', function* () {
    const body = function* (timeout: Timeout) {
      timeout.reset(0)
      yield* sleep(1)
      return 'went on'
    }
    assert.deepEqual([yield* moveOnAfter(10, body, 'ended'), now()], ['ended', 0])
  })

  test('may be used in another fiber', function* () {
    const body = function* (timeout: Timeout) {
      spin(function* () {
        yield* sleep(9)
        timeout.reset()
      })
      yield* sleep(15)
      return 'done'
    }
    for (const [, limit] of limits) assert.equal(yield* limit(10, body), 'done')
  })

  test('of a limit whose timer is late says 0, not less', function* () {
    yield* moveOnAfter(10, function* (timeout) {
      runtime().backend.time += 20
      assert.equal(timeout.remaining, 0)
      yield* sleep(0)
    })
  })
})

describe('Infinity', () => {
  for (const [name, limit] of limits) {
    test(`is no limit: ${name} ends when its body does, and holds no timer`, function* () {
      const value = yield* limit(Infinity, function* (timeout) {
        assert.deepEqual([timeout.remaining, runtime().timers.size], [Infinity, 0])
        yield* sleep(2 ** 31 - 1)
        timeout.reset()
        timeout.extend(10)
        assert.equal(timeout.remaining, Infinity)
        yield* sleep(1000)
        return 'whole'
      })
      assert.deepEqual([value, now()], ['whole', 2 ** 31 + 999])
    })

    test(`takes the limit off when ${name} is extended by it; reset() sets it again`, function* () {
      const log: number[] = []
      yield* limit(10, function* (timeout) {
        timeout.extend(Infinity)
        yield* sleep(1000)
        log.push(timeout.remaining)
        timeout.reset()
        log.push(timeout.remaining)
        yield* sleep(100)
        log.push(now())
      })
      assert.deepEqual([log, now()], [[Infinity, 10], 1010])
    })

    test(`lets a stop and an outer limit end ${name} as ever`, function* () {
      assert.equal(yield* moveOnAfter(5, () => limit(Infinity, () => sleep()), 'moved on'), 'moved on')
      const fiber = yield* started(() => limit(Infinity, () => sleep()))
      assert.equal((yield* fiber.stop()).type, 'stopped')
    })
  }
})

describe('limits inside each other', () => {
  test('end each its own block, whichever is the shortest', function* () {
    const orders = ['10 20 30', '10 30 20', '20 10 30', '20 30 10', '30 10 20', '30 20 10']
    for (const [inner, middle, outer] of orders.map((order) => order.split(' ').map(Number)) as any) {
      const [start, log] = [now(), [] as string[]]
      const level = (name: string, ms: number, body: () => Op<unknown>) =>
        function* () {
          log.push(`${yield* moveOnAfter(ms, body, name)} at ${now() - start}`)
          yield* sleep()
        }
      const nest = level('inner', inner, () => sleep())
      yield* moveOnAfter(1000, level('outer', outer, level('middle', middle, nest)))
      const expected = [`outer at ${outer}`]
      if (middle < outer) expected.unshift(`middle at ${middle}`)
      if (inner < middle && inner < outer) expected.unshift(`inner at ${inner}`)
      assert.deepEqual(log, expected)
    }
  })

  test('of both kinds: the nearer one strikes', function* () {
    assert.ok((yield* thrownBy(moveOnAfter(20, () => cancelAfter(10, () => sleep())))) instanceof Cancel)
    assert.equal(yield* moveOnAfter(10, () => cancelAfter(20, () => sleep()), 'moved on'), 'moved on')
    assert.equal(yield* cancelAfter(20, () => moveOnAfter(10, () => sleep(), 'moved on')), 'moved on')
    assert.ok((yield* thrownBy(cancelAfter(10, () => moveOnAfter(20, () => sleep())))) instanceof Cancel)
    assert.equal(now(), 40)
  })
})

test('a limit leaves no timer behind, however its block ends', function* () {
  yield* moveOnAfter(1000, () => sleep(1))
  for (const limit of [cancelAfter, moveOnAfter]) yield* thrownBy(limit(1000, () => failing('oops')))
  const fiber = yield* started(() => moveOnAfter(1000, () => cancelAfter(1000, () => shield(() => sleep()))))
  yield* fiber.kill()
  for (let i = 0; i < 10_000; i++) yield* moveOnAfter(1000, (limit) => limit.reset())
  assert.equal(runtime().timers.size, 0)
  assert.deepEqual(Fiber.current.children, [])
})

// What is left to be done when a scope or a fiber is over. `use` is its public face (S60).

import { addCleanup } from 'polyphony/op'
import {
  assert,
  describe,
  Fiber,
  moveOnAfter,
  neverLetsGo,
  now,
  type Op,
  reports,
  scope,
  sleep,
  spin,
  tap,
  test,
  waits,
} from '../prelude.js'

const owners: [string, (body: () => Op<unknown>) => Op<unknown>][] = [
  ['fiber', (body) => body()],
  ['scope', (body) => scope(body)],
]
for (const [what, around] of owners) {
  describe(`a cleanup of a ${what}`, () => {
    test('knows whether it ended in order, not by an error or a stop', function* () {
      const told: boolean[] = []
      for (const end of [() => sleep(2), () => assert.fail('oops'), () => sleep()]) {
        const body = function* () {
          addCleanup(Fiber.current, (isInOrder) => told.push(isInOrder))
          yield* end()
        }
        const fiber = spin({ link: false }, () => around(body))
        yield* sleep(5)
        yield* fiber.stop()
      }
      assert.deepEqual(told, [true, false, false])
    })

    test('that is taken back is not done', function* () {
      const done: string[] = []
      const [a, b] = [() => done.push('a'), () => done.push('b')]
      const body = function* () {
        const takeBack = addCleanup(Fiber.current, a)
        addCleanup(Fiber.current, b)
        takeBack()
        takeBack()
      }
      yield* spin(() => around(body))
      assert.deepEqual(done, ['b'])
    })
  })
}

describe('stops of a fiber that cleans up', () => {
  for (const [graces, reported] of [
    [[10], 1],
    [[100, 10], 1],
    [[10, 100], 1],
    [[100, 0], 0],
  ] as const) {
    for (const isBegun of [true, false]) {
      const when = isBegun ? 'to the least' : 'before it begins'
      test(`with ${graces.join(', then ')} ms of grace bound it ${when}`, function* () {
        let end = 0
        const left: number[] = [...graces]
        const fiber: Fiber = spin(function* () {
          addCleanup(Fiber.current, () => waits(() => (end = now())))
          spin(() => {})
          yield* sleep(1)
        })
        /** Stops with these graces, when its cleanup has begun, or is about to begin. */
        const stop = () => {
          for (const grace of left.splice(0)) fiber.stop(undefined, { grace })
        }
        const untap = tap((event, told) => {
          if (!isBegun && event === 'schedule' && told === fiber && fiber.phase === 'closing') stop()
        })
        yield* sleep(2)
        stop()
        yield* fiber.join()
        untap()
        assert.deepEqual([end - (isBegun ? 2 : 1), reports().length], [Math.min(...graces), reported])
      })
    }
  }
})

for (const [what, last, childMs] of [
  ['forced', sleep, undefined],
  ['abandoned', () => neverLetsGo(), 5],
] as const) {
  test(`a child of a cleanup that was ${what} makes its fiber fail, which can be restarted`, function* () {
    const fiber: Fiber = spin({ link: false }, function* () {
      if (Fiber.current.incarnation === 2) return 'a second life'
      addCleanup(Fiber.current, function* () {
        spin(() => waits(() => assert.fail('of the child'), childMs))
        yield* last()
      })
      return yield* sleep()
    })
    yield* sleep(1)
    const outcome = yield* fiber.stop(undefined, { grace: 10 })
    assert.equal(outcome.type === 'error' && (outcome.error as Error).message, 'of the child')
    assert.equal(yield* fiber.restart(), 'a second life')
  })
}

test('one that its fiber has taken over from a scope can be taken back', function* () {
  const log: string[] = []
  let takeBack = () => {}
  const fiber = spin(function* () {
    addCleanup(Fiber.current, () => log.push('older'))
    const scoped = function* () {
      takeBack = addCleanup(Fiber.current, () => log.push('taken back'))
      yield* neverLetsGo(undefined, 200)
    }
    yield* moveOnAfter(5, () => scope(scoped), { grace: 0 })
    takeBack()
    takeBack()
  })
  yield* fiber
  assert.deepEqual(log, ['older'])
})

test('a stop with more time does not revive cleanups that a kill has forced', function* () {
  const fiber = spin(function* () {
    addCleanup(Fiber.current, () => waits(() => sleep(20)))
  })
  yield* sleep(1)
  fiber.kill()
  fiber.stop(undefined, { grace: 1000 })
  assert.deepEqual([yield* fiber.join(), now()], [{ type: 'value', value: undefined }, 1])
})

test('errors that a cleanup had in hand when it was forced are not lost, and the fiber can be restarted', function* () {
  const fiber: Fiber = spin({ link: false }, function* () {
    if (Fiber.current.incarnation === 2) return 'a second life'
    addCleanup(Fiber.current, function* () {
      const failed = spin(() => assert.fail('in hand'))
      const slow = spin(() => sleep())
      yield* moveOnAfter(5, () => Fiber.current.joinChildren(), { grace: 0 })
      return [failed, slow]
    })
    return yield* sleep()
  })
  yield* sleep(1)
  const outcome = yield* fiber.stop(undefined, { grace: 10 })
  assert.equal(outcome.type === 'error' && (outcome.error as Error).message, 'in hand')
  assert.equal(yield* fiber.restart(), 'a second life')
})

test('the error of a child that a forced block of a cleanup left behind is kept, while the cleanup goes on', function* () {
  const log: string[] = []
  const fiber: Fiber = spin({ link: false }, function* () {
    addCleanup(Fiber.current, function* () {
      const forced = function* () {
        spin(() => waits(() => waits(() => assert.fail('of the child'))))
        yield* sleep()
      }
      yield* moveOnAfter(5, () => scope(forced), { grace: 0 })
      yield* sleep(50)
      log.push('whole')
    })
  })
  const outcome = yield* fiber.join()
  assert.equal(outcome.type === 'error' && (outcome.error as Error).message, 'of the child')
  assert.deepEqual(log, ['whole'])
})

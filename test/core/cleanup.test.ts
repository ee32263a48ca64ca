// What is left to be done when a scope or a fiber is over. `use` is its public face (S60).

import { addCleanup, endedInOrder, innermostOwner, removeCleanup } from '#core/index'
import {
  assert,
  describe,
  Fiber,
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
          const owner = innermostOwner(Fiber.current)
          addCleanup(owner, () => told.push(endedInOrder(owner)))
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
        const owner = innermostOwner(Fiber.current)
        for (const each of [a, b]) addCleanup(owner, each)
        removeCleanup(owner, a)
        removeCleanup(owner, a)
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

// What is left to be done when a scope or a fiber is over. `use` is its public face (S60).

import { addCleanup, endedInOrder, innermostOwner, removeCleanup } from '#core/index'
import {
  assert,
  describe,
  Fiber,
  now,
  type Op,
  type Routine,
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
    const fails = () => assert.fail('oops')
    for (const [how, end, isInOrder] of [
      ['in order', () => sleep(2), true],
      ['by an error', fails, false],
      ['by a stop', () => sleep(), false],
    ] as const) {
      test(`knows that it ended ${how}`, function* () {
        const told: boolean[] = []
        const body = function* () {
          const owner = innermostOwner(Fiber.current)
          addCleanup(owner, () => told.push(endedInOrder(owner)))
          yield* end()
        }
        const fiber = spin({ link: false }, () => around(body))
        yield* sleep(5)
        yield* fiber.stop()
        assert.deepEqual(told, [isInOrder])
      })
    }

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
  /** Stops with these graces, when its cleanup has begun, or is about to begin. */
  function* stopped(graces: number[], isBegun: boolean) {
    let end = 0
    const fiber: Fiber = spin(function* () {
      addCleanup(Fiber.current, () => waits(() => (end = now())))
      spin(() => {})
      yield* sleep(1)
    })
    const stop = () => {
      for (const grace of graces.splice(0)) fiber.stop(undefined, { grace })
    }
    const untap = tap((event, told) => {
      if (!isBegun && event === 'schedule' && told === fiber && fiber.phase === 'closing') stop()
    })
    yield* sleep(1)
    if (isBegun) yield* sleep(1)
    if (isBegun) stop()
    yield* fiber.join()
    untap()
    return [end - (isBegun ? 2 : 1), reports().length]
  }
  for (const [graces, expected] of [
    [[10], [10, 1]],
    [
      [100, 10],
      [10, 1],
    ],
    [
      [10, 100],
      [10, 1],
    ],
    [
      [100, 0],
      [0, 0],
    ],
  ] as const) {
    test(`with ${graces.join(', then ')} ms of grace bound it to the least`, function* () {
      assert.deepEqual(yield* stopped([...graces], true), expected)
    })

    test(`with ${graces.join(', then ')} ms of grace bound it before it begins`, function* () {
      assert.deepEqual(yield* stopped([...graces], false), expected)
    })
  }
})

/** Goes on waiting though it is forced. */
function* clings(): Routine<void> {
  for (let i = 0; i < 200; i++) {
    // biome-ignore lint/suspicious/noConfusingLabels: a plain `continue` would be taken for a useless one
    hold: try {
      yield* sleep(1000)
    } finally {
      // biome-ignore lint/correctness/noUnsafeFinally: that is the point
      break hold
    }
  }
}
for (const [what, last, childMs] of [
  ['forced', sleep, undefined],
  ['abandoned', clings, 5],
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

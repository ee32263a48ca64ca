// Supervisors with a group that goes down and comes back after a back-off, struck at each switchpoint and at each millisecond.

import {
  assert,
  call,
  describe,
  ensure,
  Fiber,
  failAfter,
  failEverywhere,
  moveOnAfter,
  now,
  type Op,
  type Routine,
  raiseEverywhere,
  type Strategy,
  sleep,
  spin,
  stopEverywhere,
  supervise,
  test,
} from '../prelude.js'

const GROUPS: Strategy[] = ['oneForAll', 'restForOne']

/** In its first life it runs for longer than its group, and cleans up for 5 ms; its second life ends after 5 ms. */
function* member(): Routine<string> {
  if (Fiber.current.incarnation > 1) {
    yield* sleep(5)
    return 'second life'
  }
  return yield* ensure(
    () => sleep(40),
    () => sleep(5),
  ) as Op<any>
}

/** Fails at 5 ms in its first life. */
function* first(): Routine<void> {
  if (Fiber.current.incarnation === 1) yield* failAfter(5, new Error('first'))
}

describe('disturbed at any switchpoint, no fiber waits for ever', () => {
  for (const strategy of GROUPS) {
    test(strategy, () => {
      let end = 0
      const supervised = function* () {
        const target = spin({ name: 'member', link: false }, member)
        spin({ name: 'awaiter', link: false }, () =>
          ensure(
            () => sleep(),
            () => target.join(), // its cleanup waits for a child that may be held just then
          ),
        )
        const options = { strategy, restart: 'onError', backoff: 10 } as const
        yield* supervise([{ name: 'first', body: first }, target], options)
      }
      const scenario = () =>
        ensure(
          () => spin({ name: 'supervisor', link: false }, supervised).join(),
          () => {
            end = now()
          },
        )
      const check = () => assert.ok(end < 100, `it took ${end} ms`)
      assert.ok(stopEverywhere(scenario, { check }).switchpoints > 10)
      raiseEverywhere(scenario, { check })
      failEverywhere(scenario, { check })
    })
  }
})

describe('struck at any millisecond, whatever waits for a member is told in the end', () => {
  const verbs = ['stop', 'kill', 'raise', 'restart'] as const
  for (const strategy of GROUPS) {
    for (const who of ['the member', 'the supervisor'] as const) {
      test(`${strategy}, ${who}`, function* () {
        for (const verb of verbs) {
          for (let ms = 0; ms <= 30; ms++) yield* spin(() => strikeAt(ms, verb, who, strategy))
        }
      })
    }
  }

  function* strikeAt(
    ms: number,
    verb: (typeof verbs)[number],
    who: 'the member' | 'the supervisor',
    strategy: Strategy,
  ): Routine<void> {
    const target = spin({ name: 'member', link: false }, member)
    const supervisor = spin({ name: 'supervisor', link: false }, () =>
      supervise([{ name: 'first', body: first }, target], { strategy, restart: 'onError', backoff: 10 }),
    )
    const ways = [() => target.join(), () => target.await(), () => call(target, 'question')]
    const early = ways.map((way) => spin({ link: false }, way as () => Op<any>))
    yield* sleep(ms)
    const late = ways.map((way) => spin({ link: false }, way as () => Op<any>))
    if (supervisor.state === 'dead') {
      // nothing is left to be struck
    } else if (who === 'the member') target[verb](...([] as []))
    else supervisor[verb](...([] as []))
    const isOver = yield* moveOnAfter(100, function* () {
      for (const fiber of [supervisor, ...early, ...late]) yield* fiber.join()
      return true
    })
    const stuck = [...early, ...late].map(({ state }) => state)
    assert.ok(isOver, `${verb} of ${who} at ${ms} ms: ${supervisor.state}, ${stuck}`)
  }
})

// The combinators, stopped, raised in and made to fail at each of their switchpoints.

import {
  all,
  allSettled,
  any,
  assert,
  failEverywhere,
  forEach,
  moveOnAfter,
  type Routine,
  race,
  raiseEverywhere,
  retry,
  sleep,
  snooze,
  stopEverywhere,
  test,
} from '../prelude.js'

test('disturbed anywhere, the combinators leave no member behind', () => {
  let open = 0
  function* member(): Routine<number> {
    open++
    try {
      yield* sleep(1)
      yield* snooze()
      return 1
    } finally {
      open--
    }
  }
  const scenario = function* (): Routine<void> {
    open = 0
    yield* all([member(), member, () => member()])
    yield* allSettled([member, member])
    yield* race([member, () => sleep(5)])
    yield* any([member, () => sleep(5)])
    yield* moveOnAfter(1, () => all([sleep(5), member()]))
    yield* forEach([1, 2, 3], member, { concurrency: 2 })
    const when = (error: unknown) => !(error as Error).message.includes('test')
    yield* retry(member, { times: 2, backoff: 1, when })
  }
  const check = () => assert.equal(open, 0)
  assert.ok(stopEverywhere(scenario, { check }).switchpoints > 40)
  raiseEverywhere(scenario, { check })
  failEverywhere(scenario, { check })
})

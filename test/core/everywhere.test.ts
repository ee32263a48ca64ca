// Nested blocks, stopped, raised in and failing at every switchpoint, and in every order.

import {
  assert,
  ensure,
  explore,
  Fiber,
  failEverywhere,
  moveOnAfter,
  now,
  type Op,
  type Routine,
  raiseEverywhere,
  scope,
  shield,
  sleep,
  spin,
  stopEverywhere,
  test,
  waits,
} from '../prelude.js'

let open = 0
function held(body: () => Op<unknown>): Op<unknown> {
  open++
  return ensure(body, () => waits(() => open--, 3))
}

/** Every kind of block, with cleanup that is counted. */
function* everything(): Routine<void> {
  open = 0
  yield* scope(function* () {
    spin(() => held(() => sleep(20)))
    spin(function* () {
      yield* moveOnAfter(10, () => held(() => moveOnAfter(30, () => sleep(15))))
      yield* shield(() => held(() => sleep(5)))
    })
    yield* held(() => moveOnAfter(5, () => held(() => moveOnAfter(2, () => sleep(9)))))
  })
  yield* moveOnAfter(10, () =>
    scope(function* () {
      spin(() => held(() => sleep()))
      yield* held(() => sleep(4))
    }),
  )
}
// Cleanup waits, and failEverywhere may fail that wait too: then what it would have closed stays open.
for (const [everywhere, most] of [
  [stopEverywhere, 0],
  [raiseEverywhere, 0],
  [failEverywhere, 1],
] as const) {
  test(`nested blocks under ${everywhere.name} leave nothing open`, () => {
    const check = () => assert.ok(open <= most, `${open} are open`)
    assert.ok(everywhere(everything, { check }).switchpoints >= 20)
  })
}

test('nested limits, a shield and two stops end within the grace, in every order', () => {
  const scenario = function* () {
    let committed = true
    const victim = spin({ grace: 100 }, function* () {
      yield* moveOnAfter(1, function* () {
        yield* moveOnAfter(1, () => sleep(1))
        committed = false
        yield* shield(() => waits(() => (committed = true), 1))
      })
      yield* sleep(1)
    })
    for (const grace of [100, 50]) {
      spin(function* () {
        yield* sleep(1)
        victim.stop(undefined, { grace })
      })
    }
    yield* victim.join()
    assert.equal(committed, true)
    assert.ok(now() <= 3)
    yield* Fiber.current.joinChildren()
  }
  assert.ok(explore(scenario, { maxSchedules: 30_000 }).schedules > 1)
})

// What every kind of block has in common. What strikes in them, and when, is in semantics/regions.

import {
  assert,
  describe,
  moveOnAfter,
  neverLetsGo,
  receive,
  reports,
  runtime,
  scope,
  shield,
  sleep,
  spin,
  started,
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
})

test('a block is not entered in a fiber that is forced', function* () {
  for (const block of [scope, shield, (body: () => unknown) => moveOnAfter(5, body)]) {
    const fiber = yield* started(() => waits(() => block(() => assert.fail('entered'))))
    assert.equal((yield* fiber.kill()).type, 'stopped')
  }
})

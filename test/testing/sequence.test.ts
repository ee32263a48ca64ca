// Sequence points.

import { assert, describe, Fiber, sequence, sleep, spin, started, test, thrownBy } from '../prelude.js'

describe('sequence', () => {
  test('points are passed in their order, whichever fibers they are in', function* () {
    const at = sequence(5)
    const log: number[] = []
    const passing = (...points: number[]) =>
      spin(function* () {
        for (const n of points) {
          yield* at(n)
          log.push(n)
        }
      })
    const fibers = [passing(4), passing(1, 3), passing(0, 2)]
    assert.equal(at.isDone, false)
    yield* Fiber.await(...fibers)
    assert.deepEqual([log, at.isDone], [[0, 1, 2, 3, 4], true])
  })

  test('a fiber that is woken by something else waits on; one that is stopped leaves its point to another', function* () {
    const at = sequence(2)
    const waiting = yield* started(() => at(1))
    waiting.schedule()
    yield* sleep(1)
    assert.equal(waiting.state, 'waiting')
    yield* waiting.stop()
    const other = yield* started(() => at(1))
    yield* at(0)
    yield* other
    assert.ok(at.isDone)
  })

  test('a point is passed once, and must exist', function* () {
    const at = sequence(3)
    yield* at(0)
    yield* started(() => at(2))
    for (const twice of [0, 2, -1]) assert.match((yield* thrownBy(at(twice))).message, /reached twice/)
    for (const unknown of [3, 1.5])
      assert.match((yield* thrownBy(at(unknown))).message, /the points 0 to 2, got/)
    for (const n of [0, 1.5, NaN]) assert.throws(() => sequence(n), { code: 'BAD_ARGUMENT' })
  })
})

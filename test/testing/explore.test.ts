import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Fiber, receive, sleep, snooze, spin, until } from 'polyphony'
import { explore, ScheduleFailed } from 'polyphony/testing'

/** `fibers` fibers of `steps` steps each. */
function scenario(fibers: number, steps: number, log: string[] = []) {
  return function* () {
    const all = Array.from({ length: fibers }, (_, n) =>
      spin(function* () {
        for (let i = 1; i < steps; i++) yield* snooze()
        log.push(String(n))
      }),
    )
    yield* Fiber.await(...all)
  }
}

/** Right in the order of the queue, wrong in another: the second fiber trusts that the first has run. */
function* race() {
  let ready = false
  const setter = spin('setter', () => {
    ready = true
  })
  const user = spin('user', () => {
    if (!ready) throw new Error('not ready')
  })
  yield* Fiber.await(setter, user)
}

function failureOf(action: () => unknown): ScheduleFailed {
  try {
    action()
  } catch (error) {
    assert.ok(error instanceof ScheduleFailed, String(error))
    return error
  }
  throw new Error('no schedule failed')
}

describe('explore', () => {
  it('runs every order exactly once', () => {
    const orders = new Set<string>()
    let runs = 0
    const log: string[] = []
    const result = explore(function* () {
      log.length = 0
      runs++
      yield* scenario(3, 1, log)()
      orders.add(log.join(''))
    })
    assert.deepEqual(result, { schedules: 6, complete: true })
    assert.equal(runs, 6)
    assert.deepEqual([...orders].sort(), ['012', '021', '102', '120', '201', '210'])
  })

  it('counts the interleavings of longer fibers', () => {
    assert.deepEqual(explore(scenario(1, 5)), { schedules: 1, complete: true })
    assert.deepEqual(explore(scenario(2, 2)), { schedules: 6, complete: true }) // 4! / (2! 2!)
    assert.deepEqual(explore(scenario(2, 3)), { schedules: 20, complete: true }) // 6! / (3! 3!)
    assert.deepEqual(explore(scenario(3, 2)), { schedules: 90, complete: true }) // 6! / (2! 2! 2!)
  })

  it('finds a race that the order of the queue hides, and its trace replays it', () => {
    const failure = failureOf(() => explore(race))
    assert.match(failure.message, /not ready/)
    assert.equal((failure.cause as Error).message, 'not ready')
    assert.match(failure.message, new RegExp(`trace: '${failure.trace}'`))
    const again = failureOf(() => explore(race, { trace: failure.trace }))
    assert.equal((again.cause as Error).message, 'not ready')
    assert.equal(again.trace, failure.trace)
    assert.deepEqual(explore(race, { trace: '' }), { schedules: 1, complete: false })
  })

  it('a bound on preemptions makes the search small', () => {
    const counts = [0, 1, 2].map((preemptions) => explore(scenario(3, 2), { preemptions }).schedules)
    assert.equal(counts[0], 1)
    assert.ok((counts[1] as number) > 1)
    assert.ok((counts[2] as number) > (counts[1] as number))
    assert.ok((counts[2] as number) < 90)
    assert.deepEqual(explore(race, { preemptions: 0 }), { schedules: 1, complete: false })
    failureOf(() => explore(race, { preemptions: 1 }))
  })

  it('ends after maxSchedules, and says that it is not complete', () => {
    assert.deepEqual(explore(scenario(3, 2), { maxSchedules: 10 }), { schedules: 10, complete: false })
  })

  it('a deadlock in one order is a failure', () => {
    const failure = failureOf(() =>
      explore(function* () {
        const reader = spin('reader', function* () {
          yield* receive()
        })
        const writer = spin('writer', () => {
          if (reader.state === 'waiting') reader.send('x') // loses its message if it comes first
        })
        yield* Fiber.await(reader, writer)
      }),
    )
    assert.match(failure.message, /reader.*waiting for receive\(\)/)
  })

  it('something left behind is a failure', () => {
    const failure = failureOf(() =>
      explore(function* () {
        Fiber.outOfBand(() => sleep())
        yield* snooze()
      }),
    )
    assert.equal((failure.cause as { code: string }).code, 'LEAK')
  })

  it('time jumps', () => {
    const result = explore(function* () {
      yield* Fiber.await(
        spin(() => sleep(60_000)),
        spin(() => sleep(90_000)),
      )
    })
    assert.equal(result.complete, true)
  })

  it('refuses what it cannot explore', () => {
    const outside = failureOf(() => explore(() => until(Promise.resolve())))
    assert.match(outside.message, /promise/)
    assert.throws(() => explore(undefined as never), { code: 'BAD_ARGUMENT' })
    assert.throws(() => explore(race, { depth: 1 } as never), { code: 'BAD_ARGUMENT' })
  })
})

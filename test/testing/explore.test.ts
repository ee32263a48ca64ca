// The explorer: every order once, failures that can be repeated, bounds of the search.

import {
  assert,
  describe,
  explore,
  Fiber,
  leaks,
  receive,
  ScheduleFailed,
  sleep,
  snooze,
  spin,
  test,
  until,
} from '../prelude.js'

/** So many fibers of so many steps each, which note their end. */
const scenario = (fibers: number, steps: number, log: number[] = []) =>
  function* () {
    const body = function* (n: number) {
      for (let i = 1; i < steps; i++) yield* snooze()
      log.push(n)
    }
    yield* Fiber.await(...Array.from({ length: fibers }, (_, n) => spin(body, n)))
  }

/** Right in the order of the queue, wrong in another: the second fiber trusts that the first has run. */
function* race() {
  let ready = false
  const setter = spin('setter', () => void (ready = true))
  const user = spin('user', () => assert.ok(ready, 'not ready'))
  yield* Fiber.await(setter, user)
}

function failureOf(action: () => unknown): ScheduleFailed {
  try {
    action()
  } catch (error) {
    assert.ok(error instanceof ScheduleFailed, String(error))
    return error
  }
  return assert.fail('no schedule failed')
}

describe('explore', () => {
  test('runs every order exactly once', () => {
    const orders: string[] = []
    const result = explore(function* () {
      const log: number[] = []
      yield* scenario(3, 1, log)()
      orders.push(log.join(''))
    })
    assert.deepEqual(result, { schedules: 6, complete: true })
    assert.deepEqual(orders.sort(), ['012', '021', '102', '120', '201', '210'])
    assert.deepEqual(explore(scenario(3, 2)), { schedules: 90, complete: true }) // 6! / (2! 2! 2!)
  })

  test('finds a race that the order of the queue hides; its trace repeats it', () => {
    const failure = failureOf(() => explore(race))
    assert.equal((failure.cause as Error).message, 'not ready')
    assert.match(failure.message, /^schedule 2 failed: not ready\n.*trace: '1'/)
    assert.equal(failureOf(() => explore(race, { trace: '1' })).trace, '1')
    assert.deepEqual(explore(race, { trace: '' }), { schedules: 1, complete: false })
    const text = failureOf(() =>
      explore(() => {
        throw 'no error'
      }),
    )
    assert.match(text.message, /failed: .*no error/)
  })

  test('a bound on preemptions makes the search small, and a bound on schedules ends it', () => {
    const counts = [0, 1, 2].map(
      (preemptions) => explore(scenario(3, 2), { preemptions }).schedules,
    ) as number[]
    assert.deepEqual([counts[0], [...counts, 90].sort((a, b) => a - b)], [1, [...counts, 90]])
    assert.deepEqual(explore(race, { preemptions: 0 }), { schedules: 1, complete: false })
    failureOf(() => explore(race, { preemptions: 1 }))
    assert.deepEqual(explore(scenario(3, 2), { maxSchedules: 10 }), { schedules: 10, complete: false })
  })

  const faults: Record<string, [() => unknown, RegExp]> = {
    'a deadlock in one order': [
      function* () {
        const reader = spin('reader', () => receive())
        const writer = spin('writer', () => reader.state === 'waiting' && reader.send('x'))
        yield* Fiber.await(reader, writer)
      },
      /nothing can ever happen here again[\s\S]*reader.*waiting for receive\(\)/,
    ],
    'something left behind': [() => void Fiber.outOfBand(() => sleep()), /there were still 1 fibers/],
    'a world without end': [
      function* () {
        for (;;) yield* snooze()
      },
      /still running after 100000 switches/,
    ],
    'a promise': [() => until(Promise.resolve()), /only fibers and time can be explored/],
  }
  for (const [what, [body, message]] of Object.entries(faults)) {
    test(`${what} is a failure, of which nothing stays`, () => {
      const before = leaks()
      assert.match(failureOf(() => explore(body)).message, message)
      assert.deepEqual(leaks(), before)
    })
  }

  for (const [what, call, message] of [
    ['no body', () => explore(undefined as never), /explore\(\) needs a function/],
    ['another option', () => explore(race, { depth: 1 } as never), /no option "depth"/],
    ['a trace that it did not print', () => explore(race, { trace: 'a..b' }), /cannot read the trace "a..b"/],
    ['a trace that is no text', () => explore(race, { trace: 5 as never }), /cannot read the trace 5/],
  ] as const) {
    test(`refuses ${what}`, () => assert.throws(call, message))
  }
})

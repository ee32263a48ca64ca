// The disturbers find planted faults, and leave sound scenarios in peace.

import {
  assert,
  DisturbanceFailed,
  describe,
  Fiber,
  failAfter,
  failEverywhere,
  InjectedFailure,
  leaks,
  raiseEverywhere,
  receive,
  runtime,
  sleep,
  snooze,
  spin,
  stopEverywhere,
  test,
  until,
} from '../prelude.js'

let open = 0

/** Opens, waits and closes again: in a finally, or not. */
function* opens(isCareful: boolean) {
  open = 0
  yield* sleep(1)
  open++
  try {
    yield* sleep(1)
    yield* snooze()
    if (!isCareful) open--
  } finally {
    if (isCareful) open--
  }
}
const check = () => assert.equal(open, 0, 'left open')

/** A body that does something on its own when it is disturbed. */
const disturbed = (action: () => unknown) =>
  function* () {
    try {
      yield* sleep(1)
    } catch (error) {
      action()
      throw error
    }
  }

/** Faults that show only under a disturbance, and what is said of them. */
const faults: [string, () => unknown, RegExp][] = [
  ['a door left open', () => opens(false), /switchpoint 1 of 3, sleep\(1\) in main: left open/],
  [
    'a fiber that waits for one that is gone',
    function* () {
      const asker = spin({ name: 'asker', link: false }, () => receive())
      const answerer = spin({ name: 'answerer', link: false }, function* () {
        yield* sleep(1)
        asker.send('answer')
      })
      yield* answerer.join()
      yield* asker.join()
    },
    /answerer[\s\S]*asker.*waiting for receive\(\)/,
  ],
  ['another error', disturbed(() => assert.fail('made worse')), /in main: made worse/],
  ['a fiber left behind', disturbed(() => Fiber.outOfBand(() => sleep())), /there were still 1 fibers/],
  [
    'a callback that throws',
    disturbed(() => runtime().uncaught(new Error('in a callback'))),
    /in a callback/,
  ],
]

for (const everywhere of [stopEverywhere, raiseEverywhere, failEverywhere]) {
  describe(everywhere.name, () => {
    test('lets a scenario that cleans up pass', () => {
      const { switchpoints } = everywhere(() => opens(true), { check })
      assert.equal(switchpoints, 3)
      everywhere(() => spin(() => sleep(1))) // it awaits the disturbed fiber, and may fail with it
    })

    for (const [what, scenario, message] of faults) {
      test(`finds ${what}`, () => {
        open = 0
        const isFound = (error: Error) => error instanceof DisturbanceFailed && message.test(error.message)
        const before = leaks()
        assert.throws(() => everywhere(scenario, { check }), isFound)
        assert.deepEqual(leaks(), before)
      })
    }

    test('a scenario that fails undisturbed fails as it is', () => {
      const fails = (error: Error) =>
        error.message === 'broken anyway' && !(error instanceof DisturbanceFailed)
      assert.throws(() => everywhere(() => failAfter(1, new Error('broken anyway'))), fails)
      const own = new InjectedFailure('of the scenario itself')
      assert.throws(() => everywhere(() => failAfter(1, own)), own)
    })

    test('runs no more often than maxRuns', () => {
      let runs = 0
      const result = everywhere(
        function* () {
          runs++
          for (let i = 0; i < 10; i++) yield* snooze()
        },
        { maxRuns: 3 },
      )
      const passes = everywhere === stopEverywhere ? 2 : 1
      assert.deepEqual([result, runs], [{ switchpoints: 10, runs: 3 * passes }, 4 * passes])
    })

    test('refuses promises, wrong options and what is no body', () => {
      assert.throws(
        () => everywhere(() => until(Promise.resolve())),
        /waits for a promise or another thing outside/,
      )
      assert.throws(() => everywhere(() => 1, { retries: 3 } as never), /no option "retries"/)
      assert.throws(() => everywhere(5 as never), new RegExp(`${everywhere.name}\\(\\) needs a function`))
    })
  })
}

test('stopEverywhere stops the fiber, and in as many more runs main, at each switchpoint', () => {
  const ends: string[] = []
  const scenario = () => spin(() => sleep(5)).join()
  const result = stopEverywhere(scenario, { check: ({ type }) => ends.push(type) })
  assert.deepEqual(
    [result, ends.sort()],
    [{ switchpoints: 2, runs: 4 }, ['stopped', 'stopped', 'stopped', 'value']],
  )
})

test('stopEverywhere finds a swallowed stop', () => {
  const swallower = function* () {
    Fiber.current.send('a message')
    for (;;) {
      try {
        return yield* receive()
      } catch {}
    }
  }
  const isFound = (error: Error) => error instanceof DisturbanceFailed && /swallowed stop/.test(error.message)
  assert.throws(() => stopEverywhere(swallower), isFound)
})

test('what raiseEverywhere raises can be caught; what failEverywhere fails can be tried again', () => {
  const caught: string[] = []
  const trying = function* () {
    for (const ms of [1, 2]) {
      for (let isDone = false; !isDone; ) {
        try {
          yield* sleep(ms)
          isDone = true
        } catch (error) {
          assert.ok(error instanceof InjectedFailure)
          caught.push(error.message)
        }
      }
    }
  }
  raiseEverywhere(trying)
  failEverywhere(trying)
  const failed = (ms: number) => `sleep(${ms}) was made to fail by the test`
  assert.deepEqual(caught, ['raised by the test', 'raised by the test', failed(1), failed(2)])
})

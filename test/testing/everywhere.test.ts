// The disturbers must find planted bugs, and leave sound scenarios in peace.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ensure, Fiber, isStop, receive, sleep, snooze, spin } from 'polyphony'
import {
  DisturbanceFailed,
  failEverywhere,
  InjectedFailure,
  raiseEverywhere,
  stopEverywhere,
} from 'polyphony/testing'

const disturbers = { stopEverywhere, raiseEverywhere, failEverywhere }

/** A resource that tells whether it is still open. */
function door() {
  return {
    open: 0,
    check() {
      const { open } = this
      this.open = 0
      if (open !== 0) throw new Error('the door was left open')
    },
  }
}

for (const [name, everywhere] of Object.entries(disturbers)) {
  describe(name, () => {
    it('lets a scenario that cleans up pass', () => {
      const it = door()
      const result = everywhere(
        function* () {
          yield* sleep(1)
          it.open++
          try {
            yield* sleep(1)
            yield* snooze()
          } finally {
            it.open--
          }
        },
        { check: () => it.check() },
      )
      assert.equal(result.switchpoints, 3)
    })

    it('finds a door left open', () => {
      const it = door()
      const careless = () =>
        everywhere(
          function* () {
            yield* sleep(1)
            it.open++
            yield* sleep(1) // no finally
            it.open--
          },
          { check: () => it.check() },
        )
      assert.throws(careless, (error) => {
        assert.ok(error instanceof DisturbanceFailed)
        assert.match(error.message, /switchpoint 1 of 2, sleep\(1\) in main.*left open/)
        return true
      })
    })

    it('finds a fiber that waits for one that is gone', () => {
      const careless = () =>
        everywhere(function* () {
          const asker = spin({ name: 'asker', link: false }, function* () {
            yield* receive()
          })
          const answerer = spin({ name: 'answerer', link: false }, function* () {
            yield* sleep(1)
            asker.send('answer')
          })
          yield* answerer.join()
          yield* asker.join()
        })
      assert.throws(careless, (error) => {
        assert.ok(error instanceof DisturbanceFailed)
        assert.match(error.message, /answerer/)
        assert.match(error.message, /asker.*waiting for receive\(\)/)
        return true
      })
    })

    it('a scenario that fails undisturbed fails as it is', () => {
      const broken = () =>
        everywhere(function* () {
          yield* sleep(1)
          throw new RangeError('broken anyway')
        })
      assert.throws(broken, /broken anyway/)
    })

    it('a scenario that turns the disturbance into another error fails', () => {
      const worse = () =>
        everywhere(function* () {
          try {
            yield* sleep(1)
          } catch {
            throw new RangeError('made worse')
          }
        })
      assert.throws(worse, /made worse/)
    })

    it('does not run more often than maxRuns', () => {
      let runs = 0
      everywhere(
        function* () {
          runs++
          for (let i = 0; i < 10; i++) yield* snooze()
        },
        { maxRuns: 3 },
      )
      assert.ok(runs <= 8, `${runs} runs`)
    })

    it('refuses options that do not exist', () => {
      assert.throws(() => everywhere(() => 1, { retries: 3 } as never), { code: 'BAD_ARGUMENT' })
    })
  })
}

describe('stopEverywhere', () => {
  it('stops the fiber, and in as many more runs main, at each switchpoint', () => {
    const stopped: string[] = []
    const result = stopEverywhere(function* () {
      const child = spin('child', function* () {
        yield* witnessed('child')
      })
      yield* child.join()
    })
    function* witnessed(who: string) {
      try {
        yield* sleep(1)
      } catch (error) {
        if (isStop(error)) stopped.push(who)
        throw error
      }
    }
    assert.deepEqual(result, { switchpoints: 2, runs: 4 })
    assert.ok(stopped.length >= 1)
  })

  it('finds a swallowed stop', () => {
    const swallower = () =>
      stopEverywhere(function* () {
        Fiber.current.send('first')
        for (let i = 0; i < 5; i++) {
          try {
            yield* receive()
          } catch {} // goes on as if nothing had happened
          Fiber.current.send('more')
        }
      })
    assert.throws(swallower, (error) => {
      assert.ok(error instanceof DisturbanceFailed)
      assert.match(error.message, /swallowed stop at receive\(\)/)
      return true
    })
  })

  it('S16b a waiting cleanup under ensure is whole, wherever the stop comes', () => {
    let cleaned = 0
    stopEverywhere(
      () => {
        cleaned = 0
        return ensure(
          () => sleep(1),
          function* () {
            yield* sleep(1)
            yield* sleep(1)
            cleaned++
          },
        )
      },
      { check: () => assert.equal(cleaned, 1) },
    )
  })
})

describe('raiseEverywhere', () => {
  it('raises an error that a scenario may catch', () => {
    const caught: unknown[] = []
    raiseEverywhere(function* () {
      for (let i = 0; i < 3; i++) {
        try {
          yield* sleep(1)
        } catch (error) {
          caught.push(error)
        }
      }
    })
    assert.equal(caught.length, 3)
    assert.ok(caught.every((error) => error instanceof InjectedFailure))
  })
})

describe('failEverywhere', () => {
  it('lets each operation fail once, and retrying helps', () => {
    const failures: string[] = []
    failEverywhere(function* () {
      for (const ms of [1, 2]) {
        for (;;) {
          try {
            yield* sleep(ms)
            break
          } catch (error) {
            failures.push((error as Error).message)
          }
        }
      }
    })
    assert.equal(failures.length, 2)
    assert.match(failures[0] as string, /sleep\(1\)/)
    assert.match(failures[1] as string, /sleep\(2\)/)
  })
})

describe('what the disturbers look at', () => {
  it('everywhere: stopEverywhere also stops main, at each switchpoint of its children', () => {
    const ends: string[] = []
    const result = stopEverywhere(
      function* () {
        yield* spin(() => sleep(5)).join()
      },
      { check: ({ type }) => ends.push(type) },
    )
    assert.deepEqual(result, { switchpoints: 2, runs: 4 })
    assert.deepEqual(ends.sort(), ['stopped', 'stopped', 'stopped', 'value'])
  })

  it('everywhere: something that is left behind only when disturbed is found', () => {
    assert.throws(
      () =>
        stopEverywhere(function* () {
          try {
            yield* sleep(1)
          } catch (stop) {
            Fiber.outOfBand(() => sleep())
            throw stop
          }
        }),
      (error) => error instanceof DisturbanceFailed && /there were still 1 fibers/.test(error.message),
    )
  })

  it('everywhere: a fiber that swallows its stop, so that it has to be forced, is found', () => {
    assert.throws(
      () =>
        stopEverywhere(function* () {
          Fiber.current.send('a message')
          for (;;) {
            try {
              return yield* receive()
            } catch {
              // swallowed
            }
          }
        }),
      (error) => error instanceof DisturbanceFailed && /swallowed stop at receive/.test(error.message),
    )
  })
})

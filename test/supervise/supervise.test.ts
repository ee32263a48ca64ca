// supervise: what it waits for, who is restarted, and what happens to errors (S42-S44). The rows V1-V10 are those of the
// Ruby original.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  ensure,
  Fiber,
  moveOnAfter,
  type Outcome,
  RestartIntensityError,
  type Routine,
  scope,
  sleep,
  snooze,
  spin,
  supervise,
  suppressedErrors,
} from 'polyphony'
import { virtual } from 'polyphony/testing'
import { failAfter, thrownBy } from '../helpers.js'

/** The clock of this world. */
const now = (): number => (Fiber.current as any).runtime.now()

/** Fails so many times, then gives a value; counts its lives. */
function flaky(failures: number, ms = 1): { lives: number; body: () => Routine<string> } {
  const state = {
    lives: 0,
    *body(): Routine<string> {
      const life = ++state.lives
      yield* sleep(ms)
      if (life <= failures) throw new Error(`life ${life}`)
      return 'well'
    },
  }
  return state
}

/** Runs for ever, and says when it starts and ends. */
function* server(name: string, log: string[], cleanup = 0): Routine<void> {
  log.push(`+${name}`)
  yield* ensure(
    () => sleep(),
    function* () {
      if (cleanup > 0) yield* sleep(cleanup)
      log.push(`-${name}`)
    },
  )
}

describe('what it waits for', () => {
  it('S44 it returns when all children have ended', () =>
    virtual(function* () {
      spin(() => sleep(10))
      spin(() => sleep(30))
      yield* supervise()
      assert.equal(now(), 30)
      assert.deepEqual(Fiber.current.children, [])
    }))

  it('S44 the overview: it waits, then throws the error of a child', () =>
    virtual(function* () {
      const error = new Error('foo')
      spin(failAfter, 1000, error)
      spin(() => sleep(1000))
      assert.equal(yield* thrownBy(supervise()), error)
    }))
})

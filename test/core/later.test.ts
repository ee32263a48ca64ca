// S35: what an op that answers LATER leaves behind.

import assert from 'node:assert/strict'
import { it } from 'node:test'
import { type Fiber, runtimeStats, sleep, spin } from 'polyphony'
import { virtual } from 'polyphony/testing'
import { BaseOp, LATER, settle } from '#core/op'

/** Work that cannot be called back: it ends when `finish` is called. */
class Work extends BaseOp<string> {
  private fiber: Fiber | null = null
  enter(fiber: Fiber) {
    this.fiber = fiber
  }
  abort(): typeof LATER {
    return LATER
  }
  describe() {
    return 'work'
  }
  finish() {
    settle(this.fiber as Fiber, this, 'done')
  }
}

it('S35 when the work has ended, its time limit is gone and does not touch the next work', () =>
  virtual(function* () {
    const first = new Work()
    const second = new Work()
    const worker = spin({ grace: 100 }, function* () {
      try {
        yield* first
      } catch {
        yield* sleep(90)
      }
      try {
        yield* second
      } catch (error) {
        return (error as Error).message
      }
      return 'not raised'
    })
    yield* sleep(1)
    worker.raise('one') // the limit of this wait would be at 101
    first.finish()
    yield* sleep(95)
    worker.raise('two') // at 96: the limit of this wait is at 196
    yield* sleep(20)
    assert.equal(worker.state, 'waiting') // at 116 it still waits for the second work
    second.finish()
    assert.equal(yield* worker, 'two')
    assert.equal(runtimeStats().timers, 0)
  }))

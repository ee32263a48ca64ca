// How many turns the runtime takes, on a backend that is driven by hand: a count that no clock and no load can change.

import assert from 'node:assert/strict'
import { it } from 'node:test'
import { sleep } from 'polyphony'
import { Runtime } from '#core/runtime'
import { spinRoot } from '#core/spin'

/** An event loop with a clock that jumps: runs microtasks, then immediates, then the timer, until none is left. */
class Loop {
  time = 0
  private alarm = Infinity
  private readonly microtasks: (() => void)[] = []
  private readonly immediates: (() => void)[] = []
  readonly runtime = new Runtime((runtime) => ({
    now: () => this.time,
    wake: () => this.microtasks.push(() => runtime.turn()),
    yieldTurn: () => this.immediates.push(() => runtime.batch()),
    rest: (next) => {
      this.alarm = next
    },
    hold() {},
    report: ({ message }) => assert.fail(message),
  }))

  run(): void {
    for (;;) {
      const task = this.microtasks.shift() ?? this.immediates.shift()
      if (task !== undefined) task()
      else if (this.alarm < Infinity) this.ring()
      else break
    }
    this.runtime.close()
  }

  private ring(): void {
    this.time = this.alarm
    this.alarm = Infinity
    this.runtime.batch()
  }
}

it('a timer that wakes a fiber costs one turn', () => {
  const loop = new Loop()
  const root = spinRoot(loop.runtime, function* () {
    const before = loop.runtime.stats().turns
    for (let i = 0; i < 50; i++) yield* sleep(2)
    return loop.runtime.stats().turns - before
  })
  loop.run()
  assert.equal(loop.time, 100)
  assert.deepEqual(root.outcome, { type: 'value', value: 50 })
})

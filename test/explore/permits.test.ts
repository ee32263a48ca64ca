// F2 and S34-S36: a permit handed over directly is never lost, in whatever order fibers run and whenever one is stopped.
// A semaphore of 1, three workers and one killer, run in every possible order.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Fiber, moveOnAfter, type Op, type Routine, snooze, spin, suspend } from 'polyphony'
import { explore, failEverywhere, raiseEverywhere, stopEverywhere } from 'polyphony/testing'
import { BaseOp, settle } from '#core/op'

interface Semaphore {
  readonly free: number
  readonly waiting: Fiber[]
  acquire(): Op<void>
  release(): void
}

/** Written as an op: the permit is the answer of the wait. */
class OpSemaphore extends BaseOp<void> implements Semaphore {
  free = 1
  readonly waiting: Fiber[] = []

  acquire(): Op<void> {
    return this
  }
  enter(fiber: Fiber): void {
    if (this.free === 0) this.waiting.push(fiber)
    else {
      this.free--
      settle(fiber, this, undefined)
    }
  }
  abort(fiber: Fiber): void {
    this.waiting.splice(this.waiting.indexOf(fiber), 1)
  }
  describe(): string {
    return 'acquire()'
  }
  release(): void {
    const next = this.waiting.shift()
    if (next === undefined) this.free++
    else assert.equal(settle(next, this, undefined), true)
  }
}

/** Written by a user, on suspend and schedule alone. */
class SuspendSemaphore implements Semaphore {
  free = 1
  readonly waiting: Fiber[] = []

  release(): void {
    for (;;) {
      const next = this.waiting.shift()
      if (next === undefined) {
        this.free++
        return
      }
      if (next.schedule()) return // false: it is being stopped already
    }
  }
  *acquire(): Routine<void> {
    if (this.free > 0) {
      this.free--
      return
    }
    const me = Fiber.current
    this.waiting.push(me)
    try {
      yield* suspend()
    } finally {
      const place = this.waiting.indexOf(me)
      if (place >= 0) this.waiting.splice(place, 1) // not handed over
    }
  }
}

function* work(semaphore: Semaphore, inside: { count: number }): Routine<void> {
  yield* semaphore.acquire()
  try {
    assert.equal(++inside.count, 1)
    yield* snooze()
  } finally {
    inside.count--
    semaphore.release()
  }
}

/** Three workers and a killer. Afterwards the permit is back, whatever happened. */
function scenario(make: () => Semaphore, kill: (workers: Fiber[]) => unknown): () => Routine<void> {
  return function* () {
    const semaphore = make()
    const inside = { count: 0 }
    const workers = [1, 2, 3].map((n) => spin({ name: `worker ${n}`, link: false }, work, semaphore, inside))
    const killer = spin(function* () {
      yield* snooze()
      kill(workers)
    })
    yield* Fiber.current.joinChildren()
    assert.equal(killer.state, 'dead')
    assert.equal(semaphore.free, 1, 'a permit was lost')
    assert.deepEqual(semaphore.waiting, [])
    for (const worker of workers) assert.notEqual(worker.outcome?.type, 'abandoned')
  }
}

const semaphores: [string, () => Semaphore][] = [
  ['an op', () => new OpSemaphore()],
  ['suspend and schedule', () => new SuspendSemaphore()],
]
const killers: [string, (workers: Fiber[]) => unknown][] = [
  ['stop', (workers) => workers[1]?.stop()],
  ['kill', (workers) => workers[1]?.kill()],
  ['raise', (workers) => workers[1]?.raise('oops')],
]

for (const [how, make] of semaphores) {
  for (const [verb, kill] of killers) {
    test(`F2 S34 S36 a semaphore made of ${how}: no schedule with a ${verb} loses a permit`, () => {
      const { schedules, complete } = explore(scenario(make, kill), { maxSchedules: 200_000 })
      assert.ok(complete, `only ${schedules} schedules were run`)
      assert.ok(schedules > 1000)
    })
  }

  test(`F2 S34 a semaphore made of ${how}: nor does a schedule in which every worker is stopped, one killed on top`, () => {
    const { schedules } = explore(
      scenario(make, (workers) => {
        for (const worker of workers) worker.stop()
        workers[2]?.kill()
      }),
      { maxSchedules: 50_000 },
    )
    assert.ok(schedules > 1000)
  })

  test(`F2 S34 a semaphore made of ${how}: a limit that expires as the permit is handed over does not lose it`, () => {
    const { complete } = explore(function* () {
      const semaphore = make()
      const { runtime } = Fiber.current as any
      yield* semaphore.acquire()
      // A timer gives the permit back in the same instant as the limits expire, just before them.
      const timer = { time: 0, seq: 0, index: -1, fire: () => semaphore.release() }
      runtime.addTimer(timer, runtime.now() + 5)
      for (let n = 0; n < 3; n++) spin(() => moveOnAfter(5, () => work(semaphore, { count: 0 })))
      yield* Fiber.current.joinChildren()
      assert.equal(semaphore.free, 1, 'a permit was lost')
      assert.deepEqual(semaphore.waiting, [])
    })
    assert.ok(complete)
  })

  test(`F2 S34 a semaphore made of ${how}: stopped, raised in or failing at every switchpoint, the permit is back`, () => {
    let semaphore = make()
    const everyone = function* () {
      semaphore = make()
      const inside = { count: 0 }
      const workers = [1, 2, 3].map(() => spin({ link: false }, work, semaphore, inside))
      for (const worker of workers) yield* worker.join()
    }
    const isBack = () => {
      assert.equal(semaphore.free, 1, 'a permit was lost')
      assert.deepEqual(semaphore.waiting, [])
    }
    assert.ok(stopEverywhere(everyone, { check: isBack }).switchpoints >= 6)
    raiseEverywhere(everyone, { check: isBack })
    failEverywhere(everyone, { check: isBack })
  })
}

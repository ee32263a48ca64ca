// Who runs next: the order of the run queue, the length of a batch, and the head of the queue (S49, S51, S52).
// These promise FIFO, so they belong here and not among the tests that also run with shuffled schedules.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Backend, Fiber, receive, sleep, snooze, spin, suspend } from 'polyphony'
import { virtual } from 'polyphony/testing'
import { Runtime } from '#core/runtime'
import { spinRoot } from '#core/spin'

/** Runs without shuffling, whatever POLY_SEED says. */
function inOrder(body: () => Generator<any, void, any>): Promise<void> {
  const seed = process.env.POLY_SEED
  delete process.env.POLY_SEED
  try {
    return virtual(body)
  } finally {
    if (seed !== undefined) process.env.POLY_SEED = seed
  }
}

describe('S49 the run queue is FIFO', () => {
  it('S49 fibers begin in the order they were spun, and take turns', () =>
    inOrder(function* () {
      const log: string[] = []
      const fibers = ['a', 'b', 'c'].map((name) =>
        spin(function* () {
          for (let i = 0; i < 3; i++) {
            log.push(name + i)
            yield* snooze()
          }
        }),
      )
      yield* Fiber.await(...fibers)
      assert.equal(log.join(' '), 'a0 b0 c0 a1 b1 c1 a2 b2 c2')
    }))

  it('S49 a fiber that becomes runnable goes behind all that are runnable already', () =>
    inOrder(function* () {
      const log: string[] = []
      const waiter = spin(function* () {
        yield* suspend()
        log.push('waiter')
      })
      yield* snooze() // it waits now
      const others = ['a', 'b'].map((name) => spin(() => log.push(name)))
      waiter.schedule()
      others.push(spin(() => log.push('c')))
      yield* Fiber.await(waiter, ...(others as Fiber<any>[]))
      assert.equal(log.join(' '), 'a b waiter c')
    }))

  it('S49 fibers made runnable during a batch run in the same batch', () => {
    const { runtime, backend } = bench()
    let deep = 0
    spinRoot(runtime, function* () {
      const next = () => {
        if (++deep < 100) Fiber.current.parent?.spin(next)
      }
      yield* spin(next)
      yield* Fiber.current.joinChildren()
      while (deep < 100) yield* snooze()
    })
    runtime.batch()
    assert.equal(deep, 100)
    assert.equal(backend.yields, 0)
    runtime.close()
  })
})

/** A backend that counts, with a clock that is set by hand. */
class CountingBackend implements Backend {
  time = 0
  yields = 0
  now() {
    return this.time
  }
  wake() {}
  yieldTurn() {
    this.yields++
  }
  rest() {}
  hold() {}
  report() {}
}

function bench() {
  const backend = new CountingBackend()
  const runtime = new Runtime(() => backend)
  return { runtime, backend }
}

describe('S49 the length of a batch', () => {
  /** How many steps of `stepMs` run before the event loop gets its turn. */
  function stepsPerBatch(stepMs: (step: number) => number): number[] {
    const { runtime, backend } = bench()
    let steps = 0
    spinRoot(runtime, function* () {
      for (;;) {
        backend.time += stepMs(steps++)
        yield* snooze()
      }
    })
    const batches: number[] = []
    for (let i = 0; i < 3; i++) {
      const before = steps
      runtime.batch()
      batches.push(steps - before)
    }
    assert.equal(backend.yields, 3)
    runtime.close()
    return batches
  }

  it('S49 1,024 steps that take no time', () => {
    assert.deepEqual(
      stepsPerBatch(() => 0),
      [1024, 1024, 1024],
    )
  })

  it('S49 10 ms of slow steps, and not one step more', () => {
    assert.deepEqual(
      stepsPerBatch(() => 3),
      [4, 4, 4],
    )
    assert.deepEqual(
      stepsPerBatch(() => 1),
      [10, 10, 10],
    )
    assert.deepEqual(
      stepsPerBatch(() => 50),
      [1, 1, 1],
    )
  })

  it('S49 steps of a tenth of a millisecond overrun 10 ms by little', () => {
    for (const steps of stepsPerBatch(() => 0.1)) assert.ok(steps >= 100 && steps <= 164, `${steps} steps`)
  })
})

describe('S51 the head of the queue', () => {
  it('S51 scheduleWithPriority goes before everyone who is runnable', () =>
    inOrder(function* () {
      const log: string[] = []
      const waiter = spin(function* () {
        log.push(yield* suspend<string>())
      })
      yield* snooze()
      const others = ['a', 'b'].map((name) => spin(() => log.push(name)))
      assert.equal(waiter.scheduleWithPriority('first'), true)
      yield* Fiber.await(waiter, ...(others as Fiber<any>[]))
      assert.equal(log.join(' '), 'first a b')
    }))

  it('S51 a runnable fiber keeps its place and its value', () =>
    inOrder(function* () {
      const log: string[] = []
      const waiter = spin(function* () {
        log.push(yield* suspend<string>())
      })
      yield* snooze()
      const a = spin(() => log.push('a'))
      assert.equal(waiter.schedule('value'), true)
      assert.equal(waiter.scheduleWithPriority('other'), false)
      yield* Fiber.await<Fiber<any>[]>(waiter, a)
      assert.equal(log.join(' '), 'a value')
    }))

  it('S51 only a fiber in suspend or transfer can be scheduled', () =>
    inOrder(function* () {
      const receiver = spin(() => receive())
      const sleeper = spin(() => sleep(1))
      yield* snooze()
      assert.equal(receiver.scheduleWithPriority('x'), false)
      assert.equal(sleeper.scheduleWithPriority('x'), false)
      receiver.send('message')
      assert.equal(yield* receiver, 'message')
      yield* sleeper
    }))

  it('S51 an out-of-band fiber, as signal handlers are, begins before everyone who is runnable', () =>
    inOrder(function* () {
      const log: string[] = []
      const others = ['a', 'b'].map((name) => spin(() => log.push(name)))
      Fiber.outOfBand(() => log.push('handler'))
      yield* Fiber.await(...others)
      assert.equal(log.join(' '), 'handler a b')
    }))

  it('S51 stops and raises use the ordinary queue', () =>
    inOrder(function* () {
      const log: string[] = []
      function* witness(name: string) {
        try {
          yield* sleep()
        } catch {
          log.push(name)
        }
      }
      const stopped = spin(witness, 'stopped')
      const raised = spin(witness, 'raised')
      yield* snooze()
      const a = spin(() => log.push('a'))
      stopped.stop()
      const b = spin(() => log.push('b'))
      raised.raise(new Error('boo'))
      const c = spin(() => log.push('c'))
      yield* Fiber.await<Fiber<any>[]>(a, b, c, raised)
      yield* stopped.join()
      assert.equal(log.join(' '), 'a stopped b raised c')
    }))
})

describe('S52 who waits first goes first', () => {
  it('S52 messages are received in the order they were sent, also by a receiver that waits already', () =>
    inOrder(function* () {
      const receiver = spin(function* () {
        const got: number[] = []
        while (got.length < 4) got.push(yield* receive<number>())
        return got
      })
      receiver.send(1)
      yield* snooze() // it has taken 1 and waits
      for (const n of [2, 3, 4]) receiver.send(n)
      assert.deepEqual(yield* receiver, [1, 2, 3, 4])
    }))

  it('S52 those who wait for one fiber go on in the order they began; one that is stopped takes no place', () =>
    inOrder(function* () {
      const log: string[] = []
      const target = spin(() => sleep(10))
      const waiters = ['a', 'b', 'c', 'd'].map((name) =>
        spin(function* () {
          yield* target
          log.push(name)
        }),
      )
      yield* sleep(5)
      yield* (waiters[1] as Fiber).stop()
      yield* Fiber.current.joinChildren()
      assert.equal(log.join(' '), 'a c d')
    }))
})

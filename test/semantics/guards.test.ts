// Promises that no other test held: each of these fails under a mutant of scripts/mutants.js that used to survive.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  cancelAfter,
  ensure,
  Fiber,
  FiberStopped,
  isStop,
  moveOnAfter,
  type Op,
  type Routine,
  run,
  scope,
  sleep,
  spin,
  type Timeout,
  throttledLoop,
  until,
} from 'polyphony'
import { virtual } from 'polyphony/testing'
import { BaseOp, LATER, settle } from '#core/op'
import { thrownBy } from '../prelude.js'

const runtime = (): any => (Fiber.current as any).runtime

test('S04 a fiber that monitors others does not keep the dead ones', () =>
  virtual(function* () {
    for (let i = 0; i < 3; i++) {
      const child = spin(() => sleep(1))
      child.monitor()
      yield* child
    }
    assert.equal((Fiber.current as any).cold.monitoring.size, 0)
  }))

test('S16b a cleanup of ensure that is cut by force does not lose the error of the body', () =>
  virtual(function* () {
    const error = new Error('of the body')
    const fiber = spin({ link: false }, () =>
      ensure(
        () => {
          throw error
        },
        () => sleep(1000),
      ),
    )
    yield* sleep(1)
    assert.deepEqual(yield* fiber.kill(), { type: 'error', error })
  }))

test('S17 a loop whose round is due at once is refused while unwinding', () =>
  virtual(function* () {
    const log: unknown[] = []
    const fiber = spin(function* () {
      try {
        yield* sleep(1000)
      } finally {
        try {
          yield* throttledLoop({ interval: 0, count: 3 }, () => log.push('a round'))
        } catch (error) {
          log.push(isStop(error))
        }
      }
    })
    yield* sleep(1)
    yield* fiber.stop()
    assert.deepEqual(log, [true])
    assert.equal(runtime().stats().refused, 1)
  }))

let yields = 0

/** It takes back its own return, again and again. */
function* clinging(): Routine<void> {
  for (;;) {
    // biome-ignore lint/suspicious/noConfusingLabels: a plain `continue` would be taken for a useless one
    hold: try {
      yields++
      yield* sleep(1)
    } finally {
      // biome-ignore lint/correctness/noUnsafeFinally: that is what it is for
      break hold
    }
  }
}

test('S19 a forced generator may go on yielding a hundred times, then it is abandoned', () =>
  virtual(function* () {
    const fiber = spin(clinging)
    yield* sleep(0)
    yields = 0
    assert.deepEqual(yield* fiber.kill(), { type: 'abandoned' })
    assert.equal(yields, 101) // the last one is answered by nothing
  }))

test('S19 an abandoned block is counted', () =>
  virtual(function* () {
    assert.equal(yield* moveOnAfter(10, clinging, { value: 'moved on', grace: 0 }), 'moved on')
    assert.equal(runtime().stats().abandoned, 1)
  }))

test('S22 the error of a child is not lost when the scope that received it is abandoned', () =>
  virtual(function* () {
    const error = new Error('of the child')
    const fiber = spin({ link: false }, () =>
      scope(function* () {
        spin(() => {
          throw error
        })
        yield* clinging()
      }),
    )
    yield* sleep(10)
    assert.deepEqual(yield* fiber.kill(), { type: 'error', error })
    assert.equal(runtime().stats().abandoned, 1)
  }))

for (const [name, wait] of [
  ['join', (fiber: Fiber) => fiber.join()],
  ['await', (fiber: Fiber) => fiber.await()],
  ['Fiber.await', (fiber: Fiber) => Fiber.await(fiber)],
  ['Fiber.select', (fiber: Fiber) => Fiber.select(fiber)],
] as const) {
  test(`S25 an error that a fiber has learnt from ${name} does not come up into it as well`, () =>
    virtual(function* () {
      const error = new Error('twice')
      const fails = () => {
        throw error
      }
      try {
        yield* wait(spin(fails))
      } catch (caught) {
        assert.equal(caught, error)
      }
      const second = spin(fails)
      yield* sleep(1)
      assert.deepEqual(second.outcome, { type: 'error', error })
    }))
}

test('S32 a circle of awaits is no deadlock when the one that closes it has a time limit', () =>
  virtual(function* () {
    const waits = spin((): Op<string> => closes)
    const closes: Fiber<string> = spin(() => moveOnAfter(10, () => waits, 'enough'))
    assert.equal(yield* waits, 'enough')
  }))

test('S34 the Cancel of a limit that expires when the answer has just come strikes after it', () =>
  virtual(function* () {
    let limit!: Timeout
    const fiber = spin(() =>
      cancelAfter(5, function* (timeout) {
        limit = timeout
        yield* sleep(5)
        return 'the answer'
      }),
    )
    yield* sleep(0)
    limit.reset() // now both are due at 5, the limit last
    assert.equal(yield* fiber, 'the answer')
  }))

/** An op that stops its own fiber when it is taken back. */
class Vengeful extends BaseOp<never> {
  aborts = 0
  enter(): void {}
  abort(fiber: Fiber): void {
    this.aborts++
    fiber.stop('from the abort')
  }
  describe(): string {
    return 'a vengeful op'
  }
}

test('S35 an op is aborted once, also when its abort stops the fiber', () =>
  virtual(function* () {
    const op = new Vengeful()
    const caught: unknown[] = []
    const fiber = spin(function* () {
      try {
        yield* op
      } catch (error) {
        caught.push(error)
      }
      yield* sleep(1000)
    })
    yield* sleep(1)
    const error = new Error('raised')
    assert.deepEqual(yield* fiber.raise(error), { type: 'stopped', value: 'from the abort' })
    assert.deepEqual(caught, [error])
    assert.equal(op.aborts, 1)
  }))

/** An op that never ends when it is asked to. */
class Endless extends BaseOp<never> {
  enter(): void {}
  abort(): typeof LATER {
    return LATER
  }
  describe(): string {
    return 'an endless op'
  }
}

test('S35 a stop with less grace shortens the wait for an op that ends LATER; then the error that came first strikes', () =>
  virtual(function* () {
    const log: unknown[] = []
    const fiber = spin(function* () {
      try {
        yield* new Endless()
      } catch (error) {
        log.push(`${(error as Error).message} at ${runtime().now()}`)
      }
    })
    yield* sleep(1)
    fiber.raise('raised')
    yield* sleep(1)
    yield* fiber.stop(undefined, { grace: 10 })
    assert.deepEqual(log, ['raised at 12'])
  }))

test('S39 a fiber whose body is over takes no more messages, though its children still die', () =>
  virtual(function* () {
    const fiber = spin(function* () {
      spin(function* () {
        try {
          yield* sleep()
        } finally {
          yield* sleep(10)
        }
      })
      yield* sleep(1)
    })
    yield* sleep(5)
    assert.equal(fiber.phase, 'closing')
    assert.equal(fiber.send('anybody there?'), false)
    assert.equal(runtime().stats().deadLetters, 1)
  }))

test('S41 a new incarnation has its whole grace, however the last one was hurried', () =>
  virtual(function* () {
    const log: string[] = []
    const fiber = spin(function* () {
      try {
        yield* sleep()
      } finally {
        yield* sleep(20)
        log.push(`incarnation ${fiber.incarnation} cleaned up`)
      }
    })
    yield* sleep(1)
    fiber.stop()
    yield* sleep(1)
    yield* fiber.stop(undefined, { grace: 10 })
    fiber.restart()
    yield* sleep(1)
    yield* fiber.stop()
    assert.deepEqual(log, ['incarnation 2 cleaned up'])
  }))

test('S46 the error of an out-of-band fiber is thrown in main', () =>
  virtual(function* () {
    const error = new Error('out of band')
    const child = spin(function* () {
      Fiber.outOfBand(() => {
        throw error
      })
      yield* sleep(10)
      return 'not touched'
    })
    try {
      yield* sleep(5)
      assert.fail('main was not told')
    } catch (caught) {
      assert.equal(caught, error)
    }
    assert.equal(yield* child, 'not touched')
  }))

/** An op that a timer answers with its own description. */
class Timed extends BaseOp<string> {
  fiber!: Fiber
  enter(fiber: Fiber): void {
    this.fiber = fiber
  }
  abort(): void {}
  fire(): void {
    settle(this.fiber, this, this.describe())
  }
  describe(): string {
    return 'a timed op'
  }
}

test('S34 an answer that comes just before its block is forced is delivered', () =>
  virtual(function* () {
    const log: unknown[] = []
    const op = new Timed()
    runtime().addTimer({ time: 0, seq: 0, index: -1, fire: () => op.fire() }, 15)
    const body = function* () {
      try {
        yield* sleep()
      } finally {
        log.push(yield* op) // the deadline is at 15 too, and was set later
        yield* sleep(1)
        log.push('not reached')
      }
    }
    assert.equal(yield* moveOnAfter(5, body, { value: 'moved on', grace: 10 }), 'moved on')
    assert.deepEqual(log, ['a timed op'])
    assert.equal(runtime().now(), 15)
  }))

for (const [name, wait] of [
  ['await', (fiber: Fiber) => fiber.await()],
  ['join', (fiber: Fiber) => fiber.join()],
  ['Fiber.await', (fiber: Fiber) => Fiber.await(fiber)],
  ['Fiber.select', (fiber: Fiber) => Fiber.select(fiber)],
] as const) {
  test(`S52 a waiter in ${name} that is stopped leaves nothing with the fiber it waited for`, () =>
    virtual(function* () {
      const target = spin(() => sleep())
      const waiter = spin(() => wait(target))
      yield* sleep(1)
      assert.notEqual((target as any).lastObserver, null)
      yield* waiter.stop()
      assert.equal((target as any).lastObserver, null)
    }))
}

test('S58 an until that is waited for again is not answered by the promise of the first wait', () =>
  virtual(function* () {
    const resolve: ((value: string) => void)[] = []
    const op = until(() => new Promise<string>((done) => resolve.push(done)))
    assert.equal(yield* moveOnAfter(5, () => op, 'timed out'), 'timed out')
    spin(function* () {
      yield* sleep(1)
      resolve[0]?.('first')
      yield* sleep(1)
      resolve[1]?.('second')
    })
    assert.equal(yield* op, 'second')
  }))

test('S57 a fiber that is restarted while it ends because its signal was aborted is stopped before it starts', () =>
  virtual(function* () {
    const controller = new AbortController()
    const log: string[] = []
    const fiber = spin({ signal: controller.signal }, function* () {
      log.push(`incarnation ${fiber.incarnation}`)
      yield* sleep(10)
    })
    yield* sleep(1)
    controller.abort('enough')
    fiber.restart()
    assert.deepEqual(yield* fiber.join(), { type: 'stopped', value: undefined })
    assert.equal(fiber.stopReason, 'enough')
    assert.deepEqual(log, ['incarnation 1'])
  }))

test('S22 S26 an error that is null is kept and thrown like any other', () =>
  virtual(function* () {
    const caught: unknown[] = []
    const fiber = spin({ link: false }, function* () {
      try {
        yield* moveOnAfter(5, () =>
          scope(function* () {
            spin(function* () {
              try {
                yield* sleep()
              } finally {
                yield* sleep(20)
              }
            })
            yield* sleep(1)
            throw null
          }),
        )
        yield* sleep(50)
      } catch (error) {
        caught.push(error)
      }
    })
    yield* fiber.join()
    assert.deepEqual(caught, [null])
  }))

test('S14 S31 who awaits a stopped fiber learns why: the reason is the cause of FiberStopped', () =>
  virtual(function* () {
    const reason = new Error('the budget is spent')
    const fiber = spin(() => sleep())
    fiber.stop(undefined, { reason })
    const error = yield* thrownBy(fiber.await())
    assert.ok(error instanceof FiberStopped)
    assert.equal(error.cause, reason)
  }))

test('S57 the reason of an abort is the cause of what run rejects with', async () => {
  const reason = new Error('the client has left')
  const running = run(() => sleep(), { signal: AbortSignal.abort(reason) })
  await assert.rejects(running, (error) => error instanceof FiberStopped && error.cause === reason)
})

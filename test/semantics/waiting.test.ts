// Waiting for fibers: await, join, Fiber.await, Fiber.select, joinChildren, and waits that can never end (S31-S33).

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  DeadlockError,
  ensure,
  Fiber,
  FiberStopped,
  isStop,
  moveOnAfter,
  type Routine,
  receive,
  shield,
  sleep,
  snooze,
  spin,
  suppressedErrors,
  suspend,
} from 'polyphony'
import { explore, raiseEverywhere, stopEverywhere, virtual } from 'polyphony/testing'
import { failAfter, thrownBy, whole } from '../prelude.js'

function* valueAfter<T>(ms: number, value: T): Routine<T> {
  yield* sleep(ms)
  return value
}

describe('await and join', () => {
  it('S31 await gives the value, and yield* fiber is the same', () =>
    virtual(function* () {
      const fiber = spin(valueAfter, 5, 42)
      assert.equal(yield* fiber.await(), 42)
      assert.equal(yield* fiber, 42)
    }))

  it('S31 await throws the error itself', () =>
    virtual(function* () {
      const error = new Error('no')
      assert.equal(yield* thrownBy(spin(failAfter, 5, error).await()), error)
    }))

  it('S31 await on a fiber stopped with a value gives the value, falsy ones too', () =>
    virtual(function* () {
      for (const value of [7, 0, '', false, null]) {
        const fiber = spin(() => sleep())
        fiber.stop(value)
        assert.equal(yield* fiber.await(), value)
      }
    }))

  it('S31 await on a fiber stopped without a value throws FiberStopped, which names join', () =>
    virtual(function* () {
      const fiber = spin('worker', () => sleep())
      fiber.stop()
      const error = yield* thrownBy(fiber.await())
      assert.ok(error instanceof FiberStopped)
      assert.equal(error.code, 'FIBER_STOPPED')
      assert.match(error.message, /main > worker .*join\(\)/)
      assert.equal(isStop(error), false)
    }))

  it('S31 FiberStopped is an ordinary error: the fiber that awaited lives on', () =>
    virtual(function* () {
      const target = spin(() => sleep())
      const waiter = spin(function* () {
        yield* thrownBy(target.await())
        yield* sleep(10)
        return Fiber.current.phase
      })
      yield* sleep(1)
      target.stop()
      assert.equal(yield* waiter, 'live')
    }))

  it('S31 an uncaught FiberStopped fails the fiber that awaited', () =>
    virtual(function* () {
      const target = spin(() => sleep())
      const waiter = spin({ link: false }, () => target.await())
      yield* sleep(1)
      target.stop()
      const outcome = yield* waiter.join()
      assert.ok(outcome.type === 'error' && outcome.error instanceof FiberStopped)
    }))

  it('S31 join tells every kind of end and never throws', () =>
    virtual(function* () {
      const error = new Error('no')
      const stopped = spin(() => sleep())
      stopped.stop('v')
      assert.deepEqual(yield* spin(valueAfter, 1, 1).join(), { type: 'value', value: 1 })
      assert.deepEqual(yield* spin(failAfter, 1, error).join(), { type: 'error', error })
      assert.deepEqual(yield* stopped.join(), { type: 'stopped', value: 'v' })
    }))

  it('S31 a dead fiber answers at once, any number of times, to anybody (L16)', () =>
    virtual(function* () {
      const fiber = spin(valueAfter, 5, 42)
      yield* fiber
      const others = [1, 2, 3].map(() => spin(() => fiber.await()))
      assert.deepEqual(yield* Fiber.await(...others), [42, 42, 42])
      assert.equal(yield* fiber, 42)
    }))

  it('S31 stopping an awaiting fiber, or a time-out around it, does not stop the awaited one (L17)', () =>
    virtual(function* () {
      const target = spin(valueAfter, 100, 'whole')
      const waiter = spin(() => target.await())
      yield* sleep(1)
      yield* waiter.stop()
      assert.equal(yield* moveOnAfter(1, () => target.await(), 'late'), 'late')
      assert.equal(target.phase, 'live')
      assert.equal(yield* target, 'whole')
    }))

  it('S31 an ended child is no longer among the children (L20)', () =>
    virtual(function* () {
      const child = spin(valueAfter, 1, 1)
      assert.deepEqual(Fiber.current.children, [child])
      yield* child
      assert.deepEqual(Fiber.current.children, [])
    }))

  it('S31 a fiber is awaited until its children are dead', () =>
    virtual(function* () {
      let cleanedUp = false
      const parent = spin(function* () {
        spin(() =>
          ensure(
            () => sleep(),
            function* () {
              yield* sleep(10)
              cleanedUp = true
            },
          ),
        )
        yield* sleep(1)
        return 'value'
      })
      assert.equal(yield* parent, 'value')
      assert.ok(cleanedUp)
    }))

  it('S01 a fiber whose body is over and whose children are still dying is not running', () =>
    virtual(function* () {
      const parent = spin(function* () {
        spin(() =>
          ensure(
            () => sleep(),
            () => sleep(10),
          ),
        )
        yield* sleep(1)
      })
      yield* sleep(5)
      assert.equal(parent.phase, 'closing')
      assert.notEqual(parent.state, 'running')
      yield* parent.join()
    }))
})

describe('Fiber.await', () => {
  it('S31 results come in argument order, dead ones and stop values included (L18)', () =>
    virtual(function* () {
      const dead = spin(valueAfter, 1, 'dead')
      yield* dead
      const stopped = spin(() => sleep())
      stopped.stop('stopped')
      const slow = spin(valueAfter, 20, 'slow')
      const fast = spin(valueAfter, 2, 'fast')
      assert.deepEqual(yield* Fiber.await(slow, dead, fast, stopped), ['slow', 'dead', 'fast', 'stopped'])
    }))

  it('S31 without fibers it gives an empty list', () =>
    virtual(function* () {
      assert.deepEqual(yield* Fiber.await(), [])
    }))

  it('S31 on the first error the rest are stopped and awaited, then it is thrown', () =>
    virtual(function* () {
      const error = new Error('first')
      let cleanedUp = false
      const other = spin(() =>
        ensure(
          () => sleep(),
          function* () {
            yield* sleep(10)
            cleanedUp = true
          },
        ),
      )
      const failing = spin(failAfter, 5, error)
      assert.equal(yield* thrownBy(Fiber.await(other, failing)), error)
      assert.ok(cleanedUp)
      assert.equal(other.state, 'dead')
      yield* sleep(100) // it does not strike a second time
    }))

  it('S31 a fiber that is dead and failed already throws at once and the rest are stopped', () =>
    virtual(function* () {
      const error = new Error('before')
      const failed = spin({ link: false }, failAfter, 1, error)
      yield* failed.join()
      const other = spin(() => sleep())
      assert.equal(yield* thrownBy(Fiber.await(other, failed)), error)
      assert.equal(other.state, 'dead')
    }))

  it('S31 an error of the rest while they stop is suppressed', () =>
    virtual(function* () {
      const [a, b] = [new Error('first'), new Error('cleanup')]
      const other = spin(function* () {
        try {
          yield* sleep()
        } finally {
          yield* failAfter(5, b)
        }
      })
      assert.equal(yield* thrownBy(Fiber.await(other, spin(failAfter, 5, a))), a)
      assert.deepEqual(suppressedErrors(a), [b])
    }))

  it('S31 one stopped without a value counts as failed', () =>
    virtual(function* () {
      const stopped = spin(() => sleep())
      const other = spin(() => sleep())
      yield* sleep(1)
      stopped.stop()
      assert.ok((yield* thrownBy(Fiber.await(stopped, other))) instanceof FiberStopped)
      assert.equal(other.state, 'dead')
    }))

  it('S31 fibers of others may be awaited too', () =>
    virtual(function* () {
      let inner!: Fiber<number>
      const outer = spin(function* () {
        inner = spin(valueAfter, 10, 1)
        yield* inner
        return 2
      })
      yield* sleep(1)
      assert.deepEqual(yield* Fiber.await(outer, inner), [2, 1])
    }))

  it('S31 a fiber given twice costs no other observer its answer', () =>
    virtual(function* () {
      const error = new Error('no')
      const target = spin({ link: false }, failAfter, 5, error)
      const twice = spin({ link: false }, () => Fiber.await(target, target))
      yield* sleep(1)
      const other = spin(() => target.join())
      const outcome = yield* twice.join()
      assert.ok(outcome.type === 'error' && outcome.error === error)
      assert.deepEqual(yield* other, { type: 'error', error })
    }))

  it('S31 no schedule of two failing fibers and a third loses an error or leaves one running', () => {
    const { complete } = explore(function* () {
      const thrown: Error[] = []
      function* failing(name: string) {
        yield* snooze()
        const error = new Error(name)
        thrown.push(error)
        throw error
      }
      const fibers = [spin(failing, 'a'), spin(failing, 'b'), spin(() => suspend())]
      const caught = yield* thrownBy(Fiber.await(...fibers))
      assert.deepEqual(new Set(whole(caught)), new Set(thrown))
      assert.ok(fibers.every((fiber) => fiber.state === 'dead'))
    })
    assert.ok(complete)
  })

  it('S22 an error is not lost if the wait for the rest is struck by another error', () =>
    virtual(function* () {
      const [a, b] = [new Error('first'), new Error('of a bystander')]
      const waiter = spin(function* () {
        const slow = spin(() =>
          ensure(
            () => sleep(),
            () => sleep(50),
          ),
        )
        const failing = spin(failAfter, 5, a)
        spin(failAfter, 10, b)
        yield* Fiber.await(slow, failing)
      })
      const outcome = yield* waiter.join()
      assert.ok(outcome.type === 'error')
      assert.deepEqual(new Set(whole(outcome.error)), new Set([a, b]))
    }))

  for (const end of ['stop', 'kill'] as const) {
    it(`S22 an error is not lost if the wait for the rest is ended by ${end}`, () =>
      virtual(function* () {
        const error = new Error('first')
        const waiter = spin(function* () {
          const slow = spin(() =>
            ensure(
              () => sleep(),
              () => sleep(50),
            ),
          )
          yield* Fiber.await(slow, spin(failAfter, 5, error))
        })
        yield* sleep(10)
        const outcome = yield* waiter[end]()
        assert.ok(outcome.type === 'error' && outcome.error === error, outcome.type)
      }))
  }

  it('S22 an error that one of the rest threw is not lost if the wait for the others is ended by a stop', () =>
    virtual(function* () {
      const [a, b] = [new Error('first'), new Error('of the rest')]
      const waiter = spin(function* () {
        const slow = spin(() =>
          ensure(
            () => sleep(),
            () => sleep(50),
          ),
        )
        const second = spin(() =>
          ensure(
            () => sleep(),
            () => failAfter(5, b),
          ),
        )
        yield* Fiber.await(slow, second, spin(failAfter, 5, a))
      })
      yield* sleep(20)
      const outcome = yield* waiter.stop()
      assert.ok(outcome.type === 'error')
      assert.deepEqual(new Set(whole(outcome.error)), new Set([a, b]))
    }))

  const together = function* () {
    const slow = spin(() =>
      ensure(
        () => sleep(20),
        () => sleep(5),
      ),
    )
    const fast = spin(valueAfter, 5, 1)
    yield* Fiber.await(slow, fast)
  }
  it('S31 it can be stopped anywhere', () => void stopEverywhere(together))
  it('S31 it can be raised in anywhere', () => void raiseEverywhere(together))
})

describe('Fiber.select', () => {
  it('S37 the first to end is given with its value, and nobody is stopped (L19)', () =>
    virtual(function* () {
      const slow = spin(valueAfter, 50, 'slow')
      const fast = spin(valueAfter, 5, 'fast')
      assert.deepEqual(yield* Fiber.select(slow, fast), [fast, 'fast'])
      assert.equal(slow.phase, 'live')
      assert.equal(yield* slow, 'slow')
    }))

  it('S37 it throws if that one failed, and the others live on', () =>
    virtual(function* () {
      const error = new Error('no')
      const slow = spin(valueAfter, 50, 'slow')
      const failing = spin(failAfter, 5, error)
      assert.equal(yield* thrownBy(Fiber.select(slow, failing)), error)
      assert.equal(slow.phase, 'live')
      assert.equal(yield* slow, 'slow')
    }))

  it('S37 one that was dead already answers at once', () =>
    virtual(function* () {
      const dead = spin(valueAfter, 1, 'dead')
      yield* dead
      const slow = spin(valueAfter, 50, 'slow')
      assert.deepEqual(yield* Fiber.select(slow, dead), [dead, 'dead'])
      yield* slow.stop()
    }))

  it('S37 a loser that fails later tells its parent as usual', () =>
    virtual(function* () {
      const error = new Error('later')
      const failing = spin(failAfter, 50, error)
      yield* Fiber.select(failing, spin(valueAfter, 5, 1))
      assert.equal(yield* thrownBy(sleep()), error)
    }))

  it('S37 a stopped one gives its stop value, or throws FiberStopped', () =>
    virtual(function* () {
      const [a, b] = [spin(() => sleep()), spin(() => sleep())]
      yield* sleep(1)
      a.stop('v')
      assert.deepEqual(yield* Fiber.select(a, b), [a, 'v'])
      b.stop()
      assert.ok((yield* thrownBy(Fiber.select(b))) instanceof FiberStopped)
    }))

  it('S37 a fiber given twice costs no other observer its answer', () =>
    virtual(function* () {
      const target = spin(valueAfter, 5, 'v')
      const twice = spin(() => Fiber.select(target, target))
      yield* sleep(1)
      const other = spin(() => target.await())
      assert.deepEqual(yield* twice, [target, 'v'])
      assert.equal(yield* other, 'v')
    }))

  it('S37 in no schedule does it stop anyone or lose the error of a loser', () => {
    const { complete } = explore(function* () {
      const received: unknown[] = []
      const thrown: Error[] = []
      function* failing(name: string): Routine<never> {
        yield* snooze()
        const error = new Error(name)
        thrown.push(error)
        throw error
      }
      const parent = spin(function* () {
        const [a, b] = [spin(failing, 'a'), spin(failing, 'b')]
        try {
          yield* Fiber.select(a, b)
        } catch (e) {
          received.push(e)
        }
        try {
          for (let i = 0; i < 3; i++) yield* snooze()
        } catch (e) {
          received.push(e)
        }
      })
      const outcome = yield* parent.join()
      if (outcome.type === 'error') received.push(outcome.error)
      // A loser that was stopped before its turn, because the parent ended, throws nothing.
      assert.deepEqual(new Set(received.flatMap(whole)), new Set(thrown))
    })
    assert.ok(complete)
  })

  const selecting = function* () {
    const [a, b] = [spin(valueAfter, 5, 1), spin(valueAfter, 10, 2)]
    yield* Fiber.select(a, b)
    yield* b.join()
  }
  it('S37 it can be stopped anywhere', () => void stopEverywhere(selecting))
  it('S37 it can be raised in anywhere', () => void raiseEverywhere(selecting))
})

describe('joinChildren', () => {
  it('S02 it waits for the present children and tells their outcomes, oldest first', () =>
    virtual(function* () {
      const error = new Error('no')
      spin(valueAfter, 10, 1)
      spin(failAfter, 5, error)
      spin(() => sleep()).stop('v')
      assert.deepEqual(yield* Fiber.current.joinChildren(), [
        { type: 'value', value: 1 },
        { type: 'error', error },
        { type: 'stopped', value: 'v' },
      ])
      yield* sleep(100) // nothing strikes again
    }))

  it('S02 it lets a body wait for its children instead of stopping them', () =>
    virtual(function* () {
      const log: string[] = []
      const parent = spin(function* () {
        spin(function* () {
          yield* sleep(10)
          log.push('child')
        })
        yield* Fiber.current.joinChildren()
      })
      yield* parent
      assert.deepEqual(log, ['child'])
    }))

  it('S22 the error of a child is not lost if the wait is struck before the others have ended', () =>
    virtual(function* () {
      const [a, b] = [new Error('child'), new Error('raised')]
      const parent = spin(function* () {
        spin(failAfter, 5, a)
        spin(() => sleep())
        yield* Fiber.current.joinChildren()
      })
      yield* sleep(10)
      const outcome = yield* parent.raise(b)
      assert.ok(outcome.type === 'error')
      assert.deepEqual(new Set(whole(outcome.error)), new Set([a, b]))
    }))

  it('S22 the error of a child is not lost if the wait is stopped before the others have ended', () =>
    virtual(function* () {
      const error = new Error('child')
      const parent = spin(function* () {
        spin(failAfter, 5, error)
        spin(() => sleep())
        yield* Fiber.current.joinChildren()
      })
      yield* sleep(10)
      const outcome = yield* parent.stop()
      assert.ok(outcome.type === 'error' && outcome.error === error, outcome.type)
    }))

  it('S12 shutdownChildren stops them, waits for their cleanup and tells the outcomes', () =>
    virtual(function* () {
      let cleanedUp = false
      spin(() =>
        ensure(
          () => sleep(),
          function* () {
            yield* sleep(10)
            cleanedUp = true
          },
        ),
      )
      yield* sleep(1)
      const outcomes = yield* Fiber.current.shutdownChildren()
      assert.deepEqual(outcomes, [{ type: 'stopped', value: undefined }])
      assert.ok(cleanedUp)
    }))
})

describe('waits that can never end', () => {
  it('S32 awaiting or joining yourself throws DeadlockError at once', () =>
    virtual(function* () {
      for (const op of [Fiber.current.await(), Fiber.current.join()]) {
        const error = yield* thrownBy(op)
        assert.ok(error instanceof DeadlockError)
        assert.match(error.message, /main awaits itself/)
      }
    }))

  it('S32 Fiber.await with yourself among the fibers throws DeadlockError at once', () =>
    virtual(function* () {
      const other = spin(valueAfter, 10, 1)
      const fiber = spin({ link: false }, function* () {
        yield* Fiber.await(other, Fiber.current)
      })
      const outcome = yield* moveOnAfter(100, () => fiber.join())
      if (outcome === undefined) yield* fiber.kill()
      assert.ok(outcome?.type === 'error' && outcome.error instanceof DeadlockError, 'it waits for ever')
    }))

  it('S32 two fibers that await each other: the second is told, with their names', () =>
    virtual(function* () {
      let b!: Fiber
      const a = spin({ name: 'a', link: false }, function* () {
        yield* sleep(1)
        yield* b.await()
      })
      b = spin({ name: 'b', link: false }, function* () {
        yield* sleep(2)
        yield* a.await()
      })
      const outcome = yield* b.join()
      assert.ok(outcome.type === 'error' && outcome.error instanceof DeadlockError)
      assert.match(outcome.error.message, /b -> a -> b/)
      yield* a.join() // b has failed, so a goes on too
    }))

  it('S32 a ring of 50 fibers is found', () =>
    virtual(function* () {
      const fibers: Fiber<any>[] = []
      for (let i = 0; i < 50; i++) {
        fibers.push(
          spin({ link: false }, function* () {
            yield* sleep(i)
            yield* fibers[(i + 1) % 50]!.join()
          }),
        )
      }
      const outcome = yield* fibers[49]!.join()
      assert.ok(outcome.type === 'error' && outcome.error instanceof DeadlockError)
      yield* Fiber.current.joinChildren()
    }))

  it('S32 a cycle through a fiber that waits inside a time-out is none', () =>
    virtual(function* () {
      let b!: Fiber
      const a = spin(function* () {
        yield* sleep(1)
        return yield* moveOnAfter(100, () => b.join(), 'moved on')
      })
      b = spin(function* () {
        yield* sleep(2)
        return yield* a.await()
      })
      assert.equal(yield* b, 'moved on')
    }))

  it('S32 a child that awaits its parent is stopped when the parent ends', () =>
    virtual(function* () {
      let child!: Fiber
      const parent = spin(function* () {
        const self = Fiber.current
        child = spin(() => self.await())
        yield* sleep(10)
        return 1
      })
      assert.equal(yield* parent, 1)
      assert.equal(child.outcome?.type, 'stopped')
    }))

  it('S33 a program in which nothing can happen any more is rejected, with the tree and its waits', async () => {
    await assert.rejects(
      virtual(function* () {
        spin('reader', () => receive())
        yield* spin('sleeper', () => suspend())
      }),
      (error) => {
        assert.ok(error instanceof DeadlockError)
        assert.match(error.message, /main {2}waiting for sleeper to end/)
        assert.match(error.message, /reader {2}waiting for receive\(\)/)
        assert.match(error.message, /sleeper {2}waiting for suspend\(\)/)
        return true
      },
    )
  })

  it('S33 a mixed cycle is found by it', async () => {
    await assert.rejects(
      virtual(function* () {
        let b!: Fiber
        const a = spin(() => Fiber.await(b))
        b = spin(() => Fiber.await(a))
        yield* Fiber.await(a, b)
      }),
      DeadlockError,
    )
  })

  it('S33 a main fiber in a bare suspend goes on when nothing else can happen', () =>
    virtual(function* () {
      const log: string[] = []
      spin(function* () {
        yield* sleep(10)
        log.push('child')
      })
      assert.equal(yield* suspend(), undefined)
      log.push('main')
      assert.deepEqual(log, ['child', 'main'])
    }))

  it('S11 a stop observed by its own fiber strikes at once instead of waiting for itself', () =>
    virtual(function* () {
      const fiber = spin(function* () {
        yield* Fiber.current.stop('self')
        assert.fail('not reached')
      })
      assert.equal(yield* fiber.await(), 'self')
    }))

  it('S32 observing your own end inside a shield is a deadlock that is told', () =>
    virtual(function* () {
      const fiber = spin(function* () {
        const self = Fiber.current
        return yield* thrownBy(shield(() => self.stop()))
      })
      assert.ok((yield* fiber.await()) instanceof DeadlockError)
    }))
})

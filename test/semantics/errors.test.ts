// Errors between fibers: who receives them, in which order, and that none is lost (S22-S30).

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  Cancel,
  cancelAfter,
  ensure,
  errorFiber,
  Fiber,
  isStop,
  moveOnAfter,
  type Op,
  type Outcome,
  type Report,
  type Routine,
  receive,
  run,
  scope,
  shield,
  sleep,
  snooze,
  spin,
  suppressedErrors,
  suspend,
  tap,
} from 'polyphony'
import { explore, InjectedFailure, raiseEverywhere, stopEverywhere, virtual } from 'polyphony/testing'
import { leftOut } from '../explore/orders.js'
import { failAfter, whole } from '../prelude.js'

/** A child that fails while it cleans up. */
function* failInCleanup(error: Error) {
  try {
    yield* sleep()
  } finally {
    // biome-ignore lint/correctness/noUnsafeFinally: this is what the tests are about
    throw error
  }
}

function errorOf(outcome: Outcome<unknown>): any {
  assert.equal(outcome.type, 'error')
  return outcome.type === 'error' ? outcome.error : undefined
}

function reports(): Report[] {
  return (Fiber.current as any).runtime.backend.reports
}

const names = (errors: Iterable<unknown>) => [...errors].map((error) => (error as Error).message).sort()

describe('errors from cleanup', () => {
  it('S22 inside one body the error that leaves it is the outcome', () =>
    virtual(function* () {
      const fiber = spin(function* () {
        try {
          yield* sleep(1)
          throw new Error('first')
        } finally {
          // biome-ignore lint/correctness/noUnsafeFinally: this is what the test is about
          throw new Error('second')
        }
      })
      assert.equal(errorOf(yield* fiber.join()).message, 'second')
    }))

  it('S22 ensure keeps the error of the body and suppresses that of the cleanup', () =>
    virtual(function* () {
      const [a, b] = [new Error('body'), new Error('cleanup')]
      const fiber = spin(() =>
        ensure(
          () => failAfter(1, a),
          () => failAfter(1, b),
        ),
      )
      assert.equal(errorOf(yield* fiber.join()), a)
      assert.deepEqual(suppressedErrors(a), [b])
    }))

  it('S22 the error of a child that arrives when the parent has failed is suppressed onto it', () =>
    virtual(function* () {
      const [a, b] = [new Error('parent'), new Error('child')]
      const parent = spin(function* () {
        spin(failInCleanup, b)
        yield* sleep(1)
        throw a
      })
      assert.equal(errorOf(yield* parent.join()), a)
      assert.deepEqual(suppressedErrors(a), [b])
      assert.equal(Object.keys(a).includes('suppressed'), false)
    }))

  it('S22 a body that returned fails with the error of a child that ends badly (L9)', () =>
    virtual(function* () {
      const error = new Error('child')
      let child!: Fiber
      const parent = spin(function* () {
        child = spin(failInCleanup, error)
        yield* sleep(1)
        return 'fine'
      })
      assert.equal(errorOf(yield* parent.join()), error)
      assert.equal(errorFiber(error), child)
    }))

  it('S22 of several errors of closing children one is the outcome and the others are in it', () =>
    virtual(function* () {
      const errors = ['a', 'b', 'c'].map((name) => new Error(name))
      const parent = spin(function* () {
        for (const error of errors) spin(failInCleanup, error)
        yield* sleep(1)
      })
      const error = errorOf(yield* parent.join())
      assert.deepEqual(names(whole(error)), ['a', 'b', 'c'])
    }))

  it('S22 an error that cannot be kept beside a frozen one is reported', () =>
    virtual(function* () {
      const [a, b] = [Object.freeze(new Error('frozen')), new Error('later')]
      const parent = spin(function* () {
        spin(failInCleanup, b)
        yield* sleep(1)
        throw a
      })
      assert.equal(errorOf(yield* parent.join()), a)
      assert.deepEqual(
        reports().map((report) => report.error),
        [b],
      )
    }))

  it('S22 a suppressed property that is there already, of another kind, costs no error', () =>
    virtual(function* () {
      const a = Object.assign(new Error('a'), { suppressed: new Error('SuppressedError of the language') })
      const b = new Error('b')
      const parent = spin(function* () {
        spin(failInCleanup, b)
        yield* sleep(1)
        throw a
      })
      assert.equal(errorOf(yield* parent.join()), a)
      const kept = [...suppressedErrors(a), ...reports().map((report) => report.error)]
      assert.ok(kept.includes(b))
    }))

  it('S22 an error that is suppressed into itself by a detour is kept once', () =>
    virtual(function* () {
      const error = new Error('shared')
      const parent = spin(function* () {
        spin(failInCleanup, error)
        spin(failInCleanup, error)
        yield* sleep(1)
        throw error
      })
      assert.equal(errorOf(yield* parent.join()), error)
      assert.deepEqual(suppressedErrors(error), [])
    }))

  it('S22 what is thrown but is no object can travel: it is the cause of a NonErrorThrown', () =>
    virtual(function* () {
      for (const thing of ['oops', 5, undefined, null]) {
        const fiber = spin({ link: false }, function* () {
          throw thing
        })
        const error = errorOf(yield* fiber.join())
        assert.equal(error.code, 'NON_ERROR_THROWN')
        assert.equal(error.cause, thing)
      }
    }))
})

describe('the first error wins', () => {
  it('S23 scope throws the first error, the later ones are suppressed', () =>
    virtual(function* () {
      const [a, b] = [new Error('first'), new Error('cleanup')]
      const op = scope(function* () {
        spin(failInCleanup, b)
        spin(failAfter, 5, a)
        yield* sleep()
      })
      yield* throwsThe(op, a)
      assert.deepEqual(suppressedErrors(a), [b])
    }))

  it('S23 a scope with one error has the same shape as one with several', () =>
    virtual(function* () {
      const error = new Error('only')
      yield* throwsThe(
        scope(() => void spin(failAfter, 5, error)),
        error,
      )
      assert.deepEqual(suppressedErrors(error), [])
    }))

  it('S23 no schedule of two failing children and a failing body in a scope loses an error', () => {
    const { complete } = explore(function* () {
      const thrown: Error[] = []
      function* failing(name: string): Routine<void> {
        try {
          yield* snooze()
        } finally {
          const error = new Error(name)
          thrown.push(error)
          // biome-ignore lint/correctness/noUnsafeFinally: this is what the test is about
          throw error
        }
      }
      let caught: unknown
      try {
        yield* scope(function* () {
          spin(failing, 'a')
          spin(failing, 'b')
          yield* failing('body')
        })
      } catch (error) {
        caught = error
      }
      assert.deepEqual(names(whole(caught)), names(thrown))
    })
    assert.ok(complete)
  })
})

describe('who receives an error', () => {
  const waits: [string, () => Op<unknown>][] = [
    ['sleep', () => sleep(1000)],
    ['receive', () => receive()],
    ['suspend', () => suspend()],
    ['sleep for ever', () => sleep()],
    ['scope', () => scope(() => sleep(1000))],
    ['moveOnAfter', () => moveOnAfter(1000, () => sleep(2000))],
    ['shield', () => shield(() => sleep(1000))],
    ['a loop of snoozes', () => snoozing()],
  ]
  function* snoozing() {
    for (;;) {
      yield* sleep(1)
      for (let i = 0; i < 3; i++) yield* snooze()
    }
  }
  for (const [name, wait] of waits) {
    it(`S24 an uncaught error strikes the parent at its current switchpoint: ${name}`, () =>
      virtual(function* () {
        const error = new Error('child')
        const child = spin(failAfter, 5, error)
        yield* throwsThe(wait(), error)
        assert.equal(errorFiber(error), child)
      }))
  }

  it('S24 it strikes a parent that awaits another child', () =>
    virtual(function* () {
      const error = new Error('child')
      const other = spin(() => sleep(1000))
      spin(failAfter, 5, error)
      yield* throwsThe(other.await(), error)
      assert.notEqual(other.state, 'dead')
      yield* other.stop()
    }))

  it('S24 an error that nobody catches goes up to the root, the same object (L10)', async () => {
    const error = new Error('deep')
    const seen: unknown[] = []
    const watch = function* (body: () => Op<unknown>) {
      try {
        yield* body()
      } catch (e) {
        seen.push(e)
        throw e
      }
    }
    await assert.rejects(
      virtual(() =>
        watch(function* () {
          spin(watch, function* () {
            spin(watch, () => failAfter(5, error))
            yield* sleep()
          })
          yield* sleep()
        }),
      ),
      (e) => e === error,
    )
    assert.deepEqual(seen, [error, error, error])
  })

  it('S24 a parent that awaits receives the error from the await, once (L13)', () =>
    virtual(function* () {
      const error = new Error('child')
      const child = spin(failAfter, 5, error)
      yield* throwsThe(child.await(), error)
      yield* sleep(100) // a second delivery would strike here
    }))

  it('S24 a parent that joins receives the outcome and is not struck', () =>
    virtual(function* () {
      const error = new Error('child')
      const child = spin(failAfter, 5, error)
      assert.deepEqual(yield* child.join(), { type: 'error', error })
      yield* sleep(100)
    }))

  it('S24 every observer is told, and the parent too if it is not one of them', () =>
    virtual(function* () {
      const error = new Error('child')
      const child = spin({ name: 'child' }, failAfter, 5, error)
      const told: string[] = []
      const observe = (name: string) =>
        spin(function* () {
          try {
            yield* child.await()
          } catch (e) {
            assert.equal(e, error)
            told.push(name)
          }
        })
      const observers = [observe('a'), observe('b')]
      yield* throwsThe(sleep(), error)
      told.push('parent')
      yield* Fiber.await(...observers)
      assert.deepEqual(told.sort(), ['a', 'b', 'parent'])
    }))

  it('S24 a parent whose await timed out is no observer any more: the error bubbles', () =>
    virtual(function* () {
      const error = new Error('child')
      const child = spin(failAfter, 50, error)
      assert.equal(yield* moveOnAfter(5, () => child.await(), 'late'), 'late')
      yield* throwsThe(sleep(), error)
    }))

  it('S24 a stop never propagates, a cancel does (L14)', () =>
    virtual(function* () {
      for (const end of ['stop', 'terminate', 'kill'] as const) {
        const child = spin(() => sleep())
        yield* sleep(1)
        child[end]()
        yield* sleep(10)
        assert.equal(child.outcome?.type, 'stopped')
      }
      const child = spin(() => sleep())
      yield* sleep(1)
      child.cancel()
      yield* throwsA(sleep(10), Cancel)
    }))

  it('S24 a stop signal of another fiber that leaves a body is an error like any other', () =>
    virtual(function* () {
      let stolen: unknown
      const victim = spin(function* () {
        try {
          yield* sleep()
        } catch (e) {
          stolen = e
          throw e
        }
      })
      yield* sleep(1)
      yield* victim.stop()
      assert.ok(isStop(stolen))
      const thief = spin({ link: false }, function* () {
        throw stolen
      })
      assert.equal(errorOf(yield* thief.join()).code, 'FIBER_STOPPED')
    }))

  it('S24 the children of a detached fiber still tell their parent', () =>
    virtual(function* () {
      const error = new Error('inner')
      const caught: unknown[] = []
      const outer = spin(function* () {
        spin('detached', function* () {
          spin(failAfter, 5, error)
          try {
            yield* sleep()
          } catch (e) {
            caught.push(e)
          }
        }).detach()
      })
      yield* outer.join()
      yield* Fiber.current.joinChildren()
      assert.deepEqual(caught, [error])
    }))

  it('S25 an error that a sibling awaited and threw on bubbles into the parent once', () =>
    virtual(function* () {
      const error = new Error('child')
      const child = spin(failAfter, 5, error)
      const sibling = spin(() => child.await())
      const caught: unknown[] = []
      for (let i = 0; i < 3; i++) {
        try {
          yield* sleep(10)
        } catch (e) {
          caught.push(e)
        }
      }
      assert.deepEqual(caught, [error])
      assert.equal(errorOf(sibling.outcome as Outcome<unknown>), error)
    }))

  it('S25 an error received by awaiting does not bubble when it is thrown by another child', () =>
    virtual(function* () {
      const error = new Error('child')
      const child = spin({ link: false }, failAfter, 5, error)
      yield* throwsThe(child.await(), error)
      spin(failAfter, 5, error)
      yield* sleep(20)
    }))

  it('S25 awaiting always tells, also an error that bubbled before', () =>
    virtual(function* () {
      const error = new Error('child')
      const child = spin(failAfter, 5, error)
      yield* throwsThe(sleep(), error)
      for (let i = 0; i < 3; i++) yield* throwsThe(child.await(), error)
    }))
})

describe('several errors at once', () => {
  it('S26 two children that fail are both delivered to a parent that goes on (L12)', () =>
    virtual(function* () {
      const errors = [new Error('a'), new Error('b')]
      for (const error of errors) spin(failAfter, 5, error)
      const caught: unknown[] = []
      while (caught.length < 2) {
        try {
          yield* sleep()
        } catch (e) {
          caught.push(e)
        }
      }
      assert.deepEqual(names(caught), ['a', 'b'])
    }))

  it('S26 a body that ends with child errors undelivered fails with the first, the rest suppressed', () =>
    virtual(function* () {
      const [a, b] = [new Error('a'), new Error('b')]
      const parent = spin(function* () {
        spin(failAfter, 1, a)
        spin(failAfter, 2, b)
        yield* ensure(
          () => {},
          () => sleep(10), // holds everything
        )
        return 'no switchpoint after this'
      })
      assert.equal(errorOf(yield* parent.join()), a)
      assert.deepEqual(suppressedErrors(a), [b])
    }))

  it('S26 the own error of a body goes before child errors that were not delivered', () =>
    virtual(function* () {
      const [a, b] = [new Error('child'), new Error('body')]
      const parent = spin(function* () {
        spin(failAfter, 1, a)
        yield* ensure(
          () => {},
          () => sleep(10),
        )
        throw b
      })
      assert.equal(errorOf(yield* parent.join()), b)
      assert.deepEqual(suppressedErrors(b), [a])
    }))

  it('S26 errors strike before a stop, in order of arrival', () =>
    virtual(function* () {
      const log: unknown[] = []
      const [a, b] = [new Error('a'), new Error('b')]
      const fiber = spin(function* () {
        spin(failAfter, 1, a)
        spin(failAfter, 3, b)
        yield* ensure(
          () => {},
          () => sleep(10),
        )
        for (let i = 0; i < 3; i++) {
          try {
            yield* snooze()
          } catch (e) {
            log.push(isStop(e) ? 'stop' : e)
          }
        }
      })
      yield* sleep(2)
      assert.equal((yield* fiber.stop('value')).type, 'stopped')
      assert.deepEqual(log, [a, b, 'stop'])
    }))

  it('S26 a raise that was not delivered when the body ends is dropped and traced', () =>
    virtual(function* () {
      const dropped: unknown[] = []
      const untap = tap((event, _fiber, detail) => {
        if (event === 'dropped') dropped.push(detail)
      })
      const error = new Error('too late')
      const fiber = spin(function* () {
        yield* sleep(1)
        Fiber.current.raise(error)
        return 'done'
      })
      assert.equal(yield* fiber.await(), 'done')
      untap()
      assert.deepEqual(dropped, [error])
    }))

  it('S26 a child error reaches a fiber that has not started: it fails without running a line', () =>
    virtual(function* () {
      const error = new Error('child')
      const raw = new Fiber(function* () {
        assert.fail('must not run')
      })
      const child = raw.spin(failAfter, 5, error)
      yield* throwsThe(child.await(), error)
      yield* throwsThe(raw.await(), error)
    }))

  it('S27 a fiber that unwinds is not interrupted by the error of a child: its outcome becomes failed', () =>
    virtual(function* () {
      const error = new Error('child')
      let cleanedUp = false
      const fiber = spin(function* () {
        spin(failAfter, 10, error)
        try {
          yield* sleep()
        } finally {
          yield* sleep(20)
          cleanedUp = true
        }
      })
      yield* sleep(5)
      assert.equal(errorOf(yield* fiber.stop()), error)
      assert.ok(cleanedUp)
    }))

  it('S27 an error of the cleanup comes first, that of the child is suppressed', () =>
    virtual(function* () {
      const [a, b] = [new Error('cleanup'), new Error('child')]
      const fiber = spin(function* () {
        spin(failAfter, 10, b)
        try {
          yield* sleep()
        } finally {
          yield* sleep(20)
          // biome-ignore lint/correctness/noUnsafeFinally: this is what the test is about
          throw a
        }
      })
      yield* sleep(5)
      assert.equal(errorOf(yield* fiber.stop()), a)
      assert.deepEqual(suppressedErrors(a), [b])
    }))

  it('S27 a fiber whose body is over and whose child fails while closing is failed', () =>
    virtual(function* () {
      const error = new Error('child')
      const fiber = spin(function* () {
        spin(function* () {
          try {
            yield* sleep()
          } finally {
            yield* failAfter(10, error)
          }
        })
        yield* sleep(1)
        return 'value'
      })
      yield* throwsThe(fiber.await(), error)
    }))
})

describe('siblings and isolation', () => {
  it('S28 siblings are not touched if the parent handles the error (L11)', () =>
    virtual(function* () {
      const error = new Error('child')
      const sibling = spin(function* () {
        yield* sleep(100)
        return 'whole'
      })
      spin(failAfter, 5, error)
      yield* throwsThe(sleep(), error)
      assert.equal(sibling.phase, 'live')
      assert.equal(yield* sibling, 'whole')
    }))

  it('S28 siblings are stopped with the parent if it does not', () =>
    virtual(function* () {
      const error = new Error('child')
      let sibling!: Fiber
      const parent = spin(function* () {
        sibling = spin(() => sleep())
        spin(failAfter, 5, error)
        yield* sleep()
      })
      yield* throwsThe(parent.await(), error)
      assert.deepEqual(sibling.outcome, { type: 'stopped', value: undefined })
    }))

  it('S28 scope stops the siblings first, then throws', () =>
    virtual(function* () {
      const error = new Error('child')
      let sibling!: Fiber
      let cleanedUp = false
      const op = scope(function* () {
        sibling = spin(function* () {
          try {
            yield* sleep()
          } finally {
            yield* sleep(50)
            cleanedUp = true
          }
        })
        spin(failAfter, 5, error)
      })
      yield* throwsThe(op, error)
      assert.ok(cleanedUp)
      assert.equal(sibling.state, 'dead')
    }))

  it('S29 the error of an isolated fiber goes only to observers', () =>
    virtual(function* () {
      const error = new Error('isolated')
      const fiber = spin({ link: false }, failAfter, 5, error)
      const observer = spin(() => fiber.join())
      yield* sleep(100) // the parent is not struck
      assert.deepEqual(yield* observer, { type: 'error', error })
      assert.deepEqual(reports(), [])
    }))

  it('S29 with no observer at that moment it is reported at once, and awaiting later still tells', () =>
    virtual(function* () {
      const error = new Error('isolated')
      const fiber = spin({ link: false, name: 'alone' }, failAfter, 5, error)
      yield* sleep(5)
      yield* sleep(1)
      assert.deepEqual(
        reports().map(({ kind, error }) => ({ kind, error })),
        [{ kind: 'unobserved', error }],
      )
      assert.match(reports()[0]!.message, /main > alone/)
      yield* throwsThe(fiber.await(), error)
      assert.equal(reports().length, 1)
    }))

  it('S29 an isolated fiber does not fail its scope', () =>
    virtual(function* () {
      const value = yield* scope(function* () {
        spin({ link: false }, failAfter, 5, new Error('isolated'))
        yield* sleep(10)
        return 'fine'
      })
      assert.equal(value, 'fine')
      assert.equal(reports().length, 1)
    }))

  it('S29 inside an isolated fiber errors bubble as usual', () =>
    virtual(function* () {
      const error = new Error('grandchild')
      const fiber = spin({ link: false }, function* () {
        spin(failAfter, 5, error)
        yield* sleep()
      })
      assert.equal(errorOf(yield* fiber.join()), error)
    }))
})

describe('unhandled', () => {
  it('S30 run rejects with the error that reached the root, suppressed ones in it', async () => {
    const [a, b] = [new Error('a'), new Error('b')]
    const running = run(function* () {
      spin(failInCleanup, b)
      spin(function* () {
        throw a
      })
      yield* suspend()
    })
    await assert.rejects(running, (e) => e === a)
    assert.deepEqual(suppressedErrors(a), [b])
  })

  it('S30 errorFiber tells the path from the root to the fiber that failed', async () => {
    const error = new Error('deep')
    await assert.rejects(
      run(
        function* () {
          spin('server', function* () {
            spin('conn#42', function* () {
              throw error
            })
            yield* suspend()
          })
          yield* suspend()
        },
        { name: 'program' },
      ),
    )
    assert.equal(errorFiber(error)?.path, 'program > server > conn#42')
  })
})

describe('no error is lost in any schedule', () => {
  /** Runs fibers that throw each its own error, and checks that all of them are found somewhere. */
  function conserve(scenario: (thrower: (name: string) => Error) => Routine<unknown[]>) {
    return function* () {
      const thrown: Error[] = []
      const received = yield* scenario((name) => {
        const error = new Error(name)
        thrown.push(error)
        return error
      })
      const found = new Set(received.flatMap(whole))
      for (const error of thrown) assert.ok(found.has(error), `${error.message} was lost`)
    }
  }

  const failing = conserve(function* (thrower) {
    const received: unknown[] = []
    const parent = spin(function* () {
      for (const name of ['a', 'b']) {
        spin(function* () {
          yield* snooze()
          throw thrower(name)
        })
      }
      try {
        yield* snooze()
        yield* snooze()
      } catch (e) {
        received.push(e)
      }
    })
    const outcome = yield* parent.join()
    return outcome.type === 'error' ? [...received, outcome.error] : received
  })
  it('S22 S26 two failing children and a parent that catches one', () => {
    assert.ok(explore(failing).complete)
  })

  const stopped = conserve(function* (thrower) {
    const received: unknown[] = []
    const parent = spin(function* () {
      spin(function* () {
        try {
          yield* snooze()
        } finally {
          // biome-ignore lint/correctness/noUnsafeFinally: this is what the test is about
          throw thrower('child')
        }
      })
      try {
        yield* suspend()
      } catch (e) {
        if (!isStop(e)) received.push(e)
        yield* snooze()
        throw e
      }
    })
    spin(function* () {
      parent.stop()
    })
    const outcome = yield* parent.join()
    return outcome.type === 'error' ? [...received, outcome.error] : received
  })
  it('S22 S27 a child that fails while its parent is being stopped', () => {
    assert.ok(explore(stopped).complete)
  })

  const killed = conserve(function* (thrower) {
    const parent = spin(function* () {
      for (const name of ['a', 'b']) {
        spin(function* () {
          yield* snooze()
          throw thrower(name)
        })
      }
      yield* snooze()
      yield* scope(function* () {
        spin(function* () {
          throw thrower('c')
        })
        yield* snooze()
      })
    })
    spin(function* () {
      yield* snooze()
      parent.kill()
    })
    const outcome = yield* parent.join()
    return outcome.type === 'error' ? [outcome.error] : []
  })
  it('S22 S26 children that fail while their parent is killed', (t) => {
    if (leftOut(t)) return
    explore(killed, { maxSchedules: 5_000 })
  })

  function* family(): Routine<Outcome<unknown>[]> {
    const parent = spin(function* () {
      const child = spin(() => sleep(5))
      const sibling = spin(function* () {
        const outcome = yield* child.join()
        yield* snooze()
        return outcome
      })
      yield* scope(function* () {
        spin(() => sleep(3))
        spin(() => sleep(4))
        yield* sleep(1)
      })
      return [yield* child.join(), yield* sibling.join()]
    })
    const outcome = yield* parent.join()
    return outcome.type === 'value' ? outcome.value : [outcome]
  }
  it('S24 a tree that is stopped anywhere leaves nothing behind', () => {
    assert.ok(stopEverywhere(family).switchpoints > 5)
  })
  it('S24 an error raised anywhere in a tree is received by someone', () => {
    const check = (outcome: Outcome<unknown>) => {
      const ends = outcome.type === 'value' ? (outcome.value as Outcome<unknown>[]) : [outcome]
      const errors = ends.map((end) => end.type === 'error' && end.error)
      assert.ok(errors.some((error) => error instanceof InjectedFailure))
    }
    assert.ok(raiseEverywhere(family, { check }).runs > 5)
  })

  it('S22 an interrupted cancelAfter around failing children loses none of their errors', () => {
    const { complete } = explore(
      conserve(function* (thrower) {
        const received: unknown[] = []
        const parent = spin(function* () {
          try {
            yield* cancelAfter(0, function* () {
              yield* scope(function* () {
                spin(function* () {
                  throw thrower('child')
                })
                yield* snooze()
              })
            })
          } catch (e) {
            received.push(e)
          }
          yield* snooze()
        })
        const outcome = yield* parent.join()
        return outcome.type === 'error' ? [...received, outcome.error] : received
      }),
    )
    assert.ok(complete)
  })
})

describe('random programs', () => {
  /** Numbers from 0 to n-1, the same for the same seed. */
  function dice(seed: number): (n: number) => number {
    let state = seed * 2654435761 + 1
    return (n) => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0
      return Math.floor((state / 2 ** 32) * n)
    }
  }

  /** A tree of fibers that wait, fail, await, stop, raise and restart each other at random. */
  function* randomProgram(roll: (n: number) => number): Routine<void> {
    const main = Fiber.current
    const fibers: Fiber<any>[] = []
    const left: Error[] = []
    const received: unknown[] = []
    let steps = 80
    let restarts = 3
    const any = () => fibers[roll(fibers.length)]!
    const others = (n: number) => [...Array(n)].map(any).filter((fiber) => fiber !== Fiber.current)

    function grow(depth: number): void {
      if (depth > 3 || fibers.length > 15) return
      const fiber = spin({ name: `f${fibers.length}`, link: roll(10) > 0 }, function* () {
        try {
          yield* life(depth)
        } catch (e) {
          if (!isStop(e)) left.push(e as Error)
          throw e
        }
      })
      fibers.push(fiber)
    }

    function* life(depth: number): Routine<void> {
      try {
        for (let n = 1 + roll(5); n > 0; n--) yield* survive(depth)
      } finally {
        if (roll(3) === 0) yield* logged(sleep(roll(4)))
        // biome-ignore lint/correctness/noUnsafeFinally: cleanup that fails
        if (roll(10) === 0) throw new Error('cleanup')
      }
    }

    /** An error came from another fiber, or carries some that did. */
    function note(error: unknown): void {
      received.push(...(errorFiber(error) === undefined ? suppressedErrors(error) : [error]))
    }

    function* logged(op: Op<unknown>): Routine<unknown> {
      try {
        return yield* op
      } catch (e) {
        note(e)
        throw e
      }
    }

    /** Half of the errors are caught. */
    function* survive(depth: number): Routine<void> {
      try {
        yield* act(depth)
      } catch (e) {
        if (isStop(e)) throw e
        note(e)
        if (roll(2) === 0) throw e
      }
    }

    function* act(depth: number): Routine<void> {
      if (--steps < 0) return
      const twice = function* () {
        yield* survive(depth)
        yield* survive(depth)
      }
      switch (roll(16)) {
        case 0:
          throw new Error('own')
        case 1:
          yield* logged(snooze())
          break
        case 2:
          return void any().stop(undefined, roll(2) === 0 ? {} : { grace: roll(4) })
        case 3:
          return void any().kill()
        case 4:
          return void any().raise('raised')
        case 5: {
          const target = any()
          const isOver = target.parent === null || target.parent.phase !== 'live'
          if (!isOver && target.phase === 'live' && restarts-- > 0) target.restart()
          break
        }
        case 6: {
          const outcome = yield* moveOnAfter(5, () => any().join())
          if (outcome?.type === 'error') received.push(outcome.error)
          break
        }
        case 7:
          yield* logged(moveOnAfter(5, () => any().await()))
          break
        case 8:
          yield* logged(Fiber.await(...Fiber.current.children))
          break
        case 9: {
          const targets = others(2)
          if (targets.length > 0) yield* logged(moveOnAfter(5, () => Fiber.select(...targets)))
          break
        }
        case 10: {
          const outcomes = yield* moveOnAfter(5, () => Fiber.current.joinChildren())
          for (const outcome of outcomes ?? []) if (outcome.type === 'error') received.push(outcome.error)
          break
        }
        case 11:
          yield* logged(scope(twice))
          break
        case 12:
          yield* logged(moveOnAfter(roll(4), twice))
          break
        case 13:
          yield* logged(shield(twice))
          break
        case 14:
          yield* logged(ensure(twice, () => sleep(roll(3))))
          break
        default:
          grow(depth + 1)
          yield* logged(sleep(roll(4)))
      }
    }

    for (let i = 0; i < 3; i++) grow(0)
    for (let turn = 0, isQuiet = false; !isQuiet; turn++) {
      isQuiet = main.children.length === 0
      try {
        yield* sleep(20)
        if (turn > 3) main.stopChildren()
      } catch (e) {
        received.push(e)
        isQuiet = false
      }
    }
    const found = new Set([...received, ...reports().map((report) => report.error)].flatMap(whole))
    for (const error of left)
      assert.ok(found.has(error), `${error.message} of ${errorFiber(error)?.name} was lost`)
  }

  it('S22 in a thousand random programs every error that left a body was received or suppressed', async () => {
    for (let seed = 1; seed <= 1000; seed++) {
      try {
        await virtual(() => randomProgram(dice(seed)), { seed })
      } catch (error) {
        assert.fail(`program ${seed}: ${error}`)
      }
    }
  })
})

function* throwsThe(op: Op<unknown>, expected: unknown): Routine<void> {
  let caught: unknown
  try {
    yield* op
  } catch (e) {
    caught = e
  }
  assert.equal(caught, expected)
}

function* throwsA(op: Op<unknown>, expected: new () => Error): Routine<void> {
  try {
    yield* op
  } catch (e) {
    assert.ok(e instanceof expected, String(e))
    return
  }
  assert.fail(`did not throw ${expected.name}`)
}

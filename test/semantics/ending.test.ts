// S11-S14 and S67: the verbs that end a fiber, seeing the end through, and the reason that travels.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  Cancel,
  Fiber,
  FiberStopped,
  isStop,
  moveOnAfter,
  type Outcome,
  receive,
  type Stop,
  shield,
  sleep,
  spin,
  suspend,
  tap,
} from 'polyphony'
import { virtual } from 'polyphony/testing'
import { setDebug } from '#core/debug'

const now = (): number => (Fiber.current as any).runtime.now()

test('S11 a verb marks and schedules at the call: yield* on what it returns only observes', () =>
  virtual(function* () {
    const log: string[] = []
    const fiber = spin(function* () {
      try {
        yield* sleep()
      } finally {
        yield* sleep(10)
        log.push('cleaned up')
      }
    })
    yield* sleep(1)
    const seen = fiber.stop('v')
    assert.equal(fiber.phase, 'requested')
    yield* sleep(100)
    assert.deepEqual(log, ['cleaned up'])
    assert.equal(fiber.state, 'dead')
    assert.deepEqual(yield* seen, { type: 'stopped', value: 'v' })
    assert.deepEqual(yield* seen, { type: 'stopped', value: 'v' })
    assert.equal(now(), 101)
  }))

test('S11 the results of the five verbs', () =>
  virtual(function* () {
    const oops = new Error('oops')
    const verbs: [(fiber: Fiber) => Iterable<unknown>, (outcome: Outcome<unknown>) => void][] = [
      [(f) => f.stop(7) as any, (o) => assert.deepEqual(o, { type: 'stopped', value: 7 })],
      [
        (f) => f.terminate({ grace: 10 }) as any,
        (o) => assert.deepEqual(o, { type: 'stopped', value: undefined }),
      ],
      [(f) => f.kill() as any, (o) => assert.deepEqual(o, { type: 'stopped', value: undefined })],
      [(f) => f.cancel() as any, (o) => assert.ok(o.type === 'error' && o.error instanceof Cancel)],
      [(f) => f.cancel(oops) as any, (o) => assert.ok(o.type === 'error' && o.error === oops)],
      [(f) => f.raise(oops) as any, (o) => assert.ok(o.type === 'error' && o.error === oops)],
      [
        (f) => f.raise(TypeError) as any,
        (o) => assert.ok(o.type === 'error' && o.error instanceof TypeError),
      ],
    ]
    for (const [verb, check] of verbs) {
      const fiber = spin({ link: false }, () => sleep())
      yield* sleep(1)
      check((yield* verb(fiber) as any) as Outcome<unknown>)
    }
  }))

test('S11 raise and cancel tell the parent, stop, terminate and kill do not', () =>
  virtual(function* () {
    for (const verb of ['stop', 'terminate', 'kill', 'raise', 'cancel'] as const) {
      const heard = yield* spin(function* () {
        const child = spin(() => sleep())
        yield* sleep(1)
        child[verb]()
        try {
          yield* sleep(10)
          return 'nothing'
        } catch (error) {
          return (error as Error).name
        }
      })
      const expected = {
        raise: 'Error',
        cancel: 'Cancel',
        stop: 'nothing',
        terminate: 'nothing',
        kill: 'nothing',
      }
      assert.equal(heard, expected[verb], verb)
    }
  }))

test('S11 raise and cancel are ordinary errors: a fiber that catches them lives on', () =>
  virtual(function* () {
    const fiber = spin(function* () {
      const caught: string[] = []
      while (caught.length < 2) {
        try {
          yield* sleep()
        } catch (error) {
          caught.push((error as Error).message)
        }
      }
      return caught
    })
    yield* sleep(1)
    fiber.raise('one')
    yield* sleep(1)
    assert.equal(fiber.phase, 'live')
    fiber.cancel('two')
    assert.deepEqual(yield* fiber, ['one', 'two'])
  }))

test('S11 L5 every verb on a dead fiber does nothing, and what it returns tells how the fiber ended', () =>
  virtual(function* () {
    const fiber = spin(() => 'value')
    yield* fiber
    const ended = { type: 'value', value: 'value' }
    assert.deepEqual(yield* fiber.stop('other'), ended)
    assert.deepEqual(yield* fiber.terminate(), ended)
    assert.deepEqual(yield* fiber.kill(), ended)
    assert.deepEqual(yield* fiber.raise('late'), ended)
    assert.deepEqual(yield* fiber.cancel(), ended)
    assert.equal(fiber.phase, 'dead')
  }))

test('S11 a stop whose observer is itself stopped goes on by itself', () =>
  virtual(function* () {
    const log: string[] = []
    const target = spin(function* () {
      try {
        yield* sleep()
      } finally {
        yield* sleep(50)
        log.push('cleaned up')
      }
    })
    yield* sleep(1)
    const observer = spin(function* () {
      yield* target.stop()
    })
    yield* sleep(5)
    yield* observer.stop()
    assert.equal(target.phase, 'unwinding')
    yield* target.join()
    assert.deepEqual(log, ['cleaned up'])
  }))

test('S12 observing waits for the whole subtree and all cleanup', () =>
  virtual(function* () {
    const log: string[] = []
    function* level(depth: number): Generator<any, void, any> {
      if (depth > 0) spin(level, depth - 1)
      try {
        yield* sleep()
      } finally {
        yield* sleep(10)
        log.push(`level ${depth}`)
      }
    }
    const top = spin(level, 3)
    yield* sleep(1)
    assert.deepEqual(yield* top.stop(), { type: 'stopped', value: undefined })
    assert.deepEqual(log, ['level 3', 'level 2', 'level 1', 'level 0'])
    assert.equal(now(), 41)
  }))

test("S12 observing never throws the body's error, nor that of the cleanup", () =>
  virtual(function* () {
    const fails = spin(function* () {
      try {
        yield* sleep()
      } finally {
        yield* sleep(1)
        // biome-ignore lint/correctness/noUnsafeFinally: that is what this test is about
        throw new Error('cleanup failed')
      }
    })
    yield* sleep(1)
    const outcome = yield* fails.stop()
    assert.ok(outcome.type === 'error' && (outcome.error as Error).message === 'cleanup failed')
    yield* sleep(10) // it was observed by its parent, so it does not strike again here
  }))

test('S12 several fibers can observe one end', () =>
  virtual(function* () {
    const target = spin(() => sleep())
    yield* sleep(1)
    const observers = [1, 2, 3].map(() => spin(() => target.stop('v')))
    assert.deepEqual(
      yield* Fiber.await(...observers),
      observers.map(() => ({ type: 'stopped', value: 'v' })),
    )
  }))

test('S13 L4 stopping yourself strikes at the next switchpoint, not before', () =>
  virtual(function* () {
    const log: string[] = []
    const fiber = spin(function* () {
      try {
        Fiber.current.stop('by myself')
        log.push(Fiber.current.phase)
        yield* sleep(10)
        log.push('not reached')
      } finally {
        log.push(Fiber.current.phase)
        yield* sleep(5)
        log.push('cleaned up')
      }
    })
    assert.equal(yield* fiber, 'by myself')
    assert.deepEqual(log, ['requested', 'unwinding', 'cleaned up'])
    assert.equal(now(), 5)
  }))

test('S13 waiting for your own stop is that switchpoint', () =>
  virtual(function* () {
    const fiber = spin(function* () {
      yield* Fiber.current.stop('seen through')
      assert.fail('not reached')
    })
    assert.equal(yield* fiber, 'seen through')
  }))

test('S13 a fiber that stops itself and ends before any switchpoint keeps its result', () =>
  virtual(function* () {
    const fiber = spin(function* () {
      Fiber.current.stop('too late')
      return 'result'
    })
    assert.deepEqual(yield* fiber.join(), { type: 'value', value: 'result' })
  }))

test('S13 killing yourself: the next wait does not begin, synchronous cleanup runs', () =>
  virtual(function* () {
    const log: string[] = []
    const fiber = spin(function* () {
      try {
        Fiber.current.kill()
        log.push('still here')
        yield* sleep(10)
        log.push('not reached')
      } catch {
        log.push('not caught either')
      } finally {
        log.push('cleaned up')
      }
    })
    assert.deepEqual(yield* fiber.join(), { type: 'stopped', value: undefined })
    assert.deepEqual(log, ['still here', 'cleaned up'])
    assert.equal(now(), 0)
  }))

test('S13 main can stop itself', async () => {
  const log: string[] = []
  const result = await virtual(function* () {
    spin(function* () {
      try {
        yield* sleep()
      } finally {
        log.push('child cleaned up')
      }
    })
    yield* sleep(1)
    Fiber.current.stop('the end')
    yield* sleep()
    return 'not reached'
  })
  assert.equal(result, 'the end')
  assert.deepEqual(log, ['child cleaned up'])
})

test('S13 a fiber stopped by its own child, which it then awaits, ends in order', () =>
  virtual(function* () {
    const parent = spin(function* parent() {
      const self = Fiber.current
      const child = spin(function* () {
        yield* self.stop('by my child')
      })
      yield* child
    })
    assert.deepEqual(yield* parent.join(), { type: 'stopped', value: 'by my child' })
  }))

test('S14 a reason travels with the stop, to every descendant', () =>
  virtual(function* () {
    const reason = { why: 'maintenance' }
    const seen: unknown[] = []
    const fibers: Fiber[] = []
    function* level(depth: number): Generator<any, void, any> {
      if (depth > 0) fibers.push(spin(level, depth - 1))
      try {
        yield* sleep()
      } catch (error) {
        seen.push((error as Stop).reason)
        throw error
      }
    }
    const top = spin(level, 3)
    yield* sleep(1)
    assert.equal(top.stopReason, undefined)
    top.stop('value', { reason })
    assert.equal(top.stopReason, reason)
    yield* top.join()
    assert.deepEqual(seen, [reason, reason, reason, reason])
    for (const fiber of fibers) assert.equal(fiber.stopReason, reason)
  }))

test('S14 there is always a reason, given or not', () =>
  virtual(function* () {
    const reasonOf = function* (act: (fiber: Fiber) => unknown) {
      const fiber = spin(() => sleep())
      yield* sleep(1)
      act(fiber)
      yield* fiber.join()
      return fiber.stopReason
    }
    assert.match(String(yield* reasonOf((fiber) => fiber.stop())), /main/)
    assert.match(String(yield* reasonOf((fiber) => fiber.kill())), /kill/)
    let child: Fiber | undefined
    yield* spin('parent', function* () {
      child = spin(() => sleep())
      yield* sleep(1)
    })
    assert.match(String(child?.stopReason), /parent/)
    yield* moveOnAfter(1, function* () {
      try {
        yield* sleep()
      } catch (error) {
        assert.match(String((error as Stop).reason), /moveOnAfter/)
        throw error
      }
    })
  }))

test('S14 in debug mode a stop remembers who called it', () =>
  virtual(function* () {
    const caught: unknown[] = []
    const fiber = spin(function* () {
      try {
        yield* sleep()
      } catch (error) {
        caught.push(error)
        throw error
      }
    })
    yield* sleep(1)
    setDebug(true)
    try {
      fiber.stop()
    } finally {
      setDebug(false)
    }
    yield* fiber.join()
    assert.match(String((caught[0] as any).site), /ending\.test/)
  }))

test('S67 raise and cancel on an unstarted fiber fail it without running a line', () =>
  virtual(function* () {
    for (const verb of ['raise', 'cancel'] as const) {
      let ran = false
      const fiber = spin({ link: false }, function* () {
        ran = true
      })
      const outcome = yield* fiber[verb]('before it began')
      assert.ok(outcome.type === 'error')
      assert.equal((outcome.error as Error).message, 'before it began')
      assert.equal(ran, false)
    }
  }))

test('S67 L2 the parent hears of a child that failed before it began', () =>
  virtual(function* () {
    const child = spin(() => sleep(1))
    child.raise('early')
    try {
      yield* sleep(10)
      assert.fail('not reached')
    } catch (error) {
      assert.equal((error as Error).message, 'early')
    }
    try {
      yield* child
      assert.fail('not reached')
    } catch (error) {
      assert.equal((error as Error).message, 'early')
    }
  }))

test('S67 S26 raised and stopped before it began: the error strikes first', () =>
  virtual(function* () {
    const fiber = spin({ link: false }, () => 1)
    fiber.raise('error')
    fiber.stop('stopped')
    const outcome = yield* fiber.join()
    assert.equal(outcome.type, 'error')
  }))

test('S67 on a fiber that is not live raise and cancel are refused and traced', () =>
  virtual(function* () {
    const dropped: string[] = []
    const untap = tap((event, fiber, detail) => {
      if (event === 'dropped') dropped.push(`${fiber.name}: ${(detail as Error).message}`)
    })
    const fiber = spin('fiber', function* () {
      spin('child', function* () {
        try {
          yield* sleep()
        } finally {
          yield* sleep(10)
        }
      })
      try {
        yield* sleep()
      } finally {
        yield* sleep(10)
      }
    })
    yield* sleep(1)
    fiber.stop('v')
    fiber.raise('requested')
    yield* sleep(5)
    assert.equal(fiber.phase, 'unwinding')
    fiber.cancel('unwinding')
    yield* sleep(10)
    assert.equal(fiber.phase, 'closing')
    fiber.raise('closing')
    assert.deepEqual(yield* fiber.join(), { type: 'stopped', value: 'v' })
    fiber.raise('dead')
    untap()
    assert.deepEqual(dropped, ['fiber: requested', 'fiber: unwinding', 'fiber: closing', 'fiber: dead'])
  }))

test('S34 two things in one turn: a fiber that has its answer receives it before the stop strikes', () =>
  virtual(function* () {
    const log: unknown[] = []
    const fiber = spin(function* () {
      log.push(yield* suspend())
      yield* sleep(1)
      log.push('not reached')
    })
    yield* sleep(1)
    assert.equal(fiber.schedule('answer'), true)
    fiber.stop()
    yield* fiber.join()
    assert.deepEqual(log, ['answer'])
  }))

test('S34 two things in one turn: after the stop an answer comes too late', () =>
  virtual(function* () {
    const log: unknown[] = []
    const fiber = spin(function* () {
      log.push(yield* suspend())
    })
    yield* sleep(1)
    fiber.stop('v')
    assert.equal(fiber.schedule('answer'), false)
    assert.deepEqual(yield* fiber.join(), { type: 'stopped', value: 'v' })
    assert.deepEqual(log, [])
  }))

test('S34 a fiber that ends with the answer it already had is not stopped', () =>
  virtual(function* () {
    const fiber = spin(() => suspend<string>())
    yield* sleep(1)
    fiber.schedule('answer')
    fiber.stop('stopped')
    assert.deepEqual(yield* fiber.join(), { type: 'value', value: 'answer' })
  }))

test('S34 kill while runnable: the value that came before is delivered, the next wait does not begin', () =>
  virtual(function* () {
    const log: unknown[] = []
    const fiber = spin(function* () {
      try {
        log.push(yield* receive())
        yield* sleep(10)
        log.push('not reached')
      } finally {
        log.push('cleaned up')
      }
    })
    yield* sleep(1)
    fiber.send('message')
    fiber.kill()
    assert.equal(fiber.phase, 'forced')
    yield* fiber.join()
    assert.deepEqual(log, ['message', 'cleaned up'])
    assert.equal(now(), 1)
  }))

test('S26 S34 raise and stop in one turn: the error strikes first, then the stop', () =>
  virtual(function* () {
    const log: unknown[] = []
    const fiber = spin(function* () {
      for (;;) {
        try {
          yield* sleep()
        } catch (error) {
          if (isStop(error)) {
            log.push('stop')
            throw error
          }
          log.push((error as Error).message)
        }
      }
    })
    yield* sleep(1)
    fiber.raise('first')
    fiber.raise('second')
    fiber.stop('v')
    assert.deepEqual(yield* fiber.join(), { type: 'stopped', value: 'v' })
    assert.deepEqual(log, ['first', 'second', 'stop'])
  }))

test('L3 L6 stop ends a wait: finally blocks run and await gives the value', () =>
  virtual(function* () {
    const log: string[] = []
    const fiber = spin(function* () {
      try {
        yield* receive()
      } finally {
        log.push('cleaned up')
      }
    })
    yield* sleep(1)
    fiber.stop('value')
    assert.equal(yield* fiber, 'value')
    assert.deepEqual(log, ['cleaned up'])
    const plain = spin(() => sleep())
    yield* sleep(1)
    plain.terminate()
    try {
      yield* plain
      assert.fail('not reached')
    } catch (error) {
      assert.ok(error instanceof FiberStopped)
      assert.match(error.message, /join\(\)/)
    }
  }))

test('L29 stopping a hundred thousand fibers that never ran is no trouble, and one turn frees them all', () =>
  virtual(function* () {
    let ran = 0
    for (let i = 0; i < 100_000; i++) {
      spin(() => {
        ran++
      }).stop()
    }
    yield* Fiber.current.joinChildren()
    assert.equal(ran, 0)
    assert.deepEqual(Fiber.current.children, [])
    assert.equal((Fiber.current as any).runtime.stats().fibers, 1)
  }))

test('S13 S20 a fiber that stops itself inside a shield goes on to its end', () =>
  virtual(function* () {
    const log: string[] = []
    const fiber = spin(function* () {
      yield* shield(function* () {
        Fiber.current.stop('v')
        yield* sleep(10)
        log.push('shielded work done')
      })
      yield* sleep(10)
      log.push('not reached')
    })
    assert.equal(yield* fiber, 'v')
    assert.deepEqual(log, ['shielded work done'])
  }))

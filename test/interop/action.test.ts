// action: callback APIs as ops. What is cleaned up when, and what happens to answers nobody waits for.

import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { describe, it } from 'node:test'
import { action, BadArgument, Fiber, moveOnAfter, runtimeStats, sleep, snooze, spin, until } from 'polyphony'
import { explore, failEverywhere, raiseEverywhere, stopEverywhere, virtual } from 'polyphony/testing'
import { thrownBy } from '../prelude.js'

/** A callback API in the hands of the test. */
function callbacks<T>() {
  const calls: { settle(value: T): void; fail(error: unknown): void; cleanups: number }[] = []
  const op = (options?: { discard?: (value: T) => void }) =>
    action<T>((settle, fail) => {
      const call = { settle, fail, cleanups: 0 }
      calls.push(call)
      return () => {
        call.cleanups++
      }
    }, options)
  return { calls, op, last: () => calls.at(-1) as (typeof calls)[number] }
}

const reports = () => (Fiber.current as any).runtime.backend.reports as { kind: string; message: string }[]
const external = () => (Fiber.current as any).runtime.external as number

describe('action', () => {
  it('runs the function when the wait begins, and gives what it settles', () =>
    virtual(function* () {
      const { calls, op, last } = callbacks<string>()
      const waiting = op()
      assert.equal(calls.length, 0)
      spin(function* () {
        yield* sleep(5)
        last().settle('value')
      })
      assert.equal(yield* waiting, 'value')
      assert.equal(last().cleanups, 1)
    }))

  it('throws what it fails with, whatever that is', () =>
    virtual(function* () {
      for (const error of [new Error('no'), 'text', undefined]) {
        const op = action((_, fail) => fail(error))
        assert.equal(yield* thrownBy(op), error)
      }
    }))

  it('may settle at once: the cleanup runs before the fiber goes on', () =>
    virtual(function* () {
      const log: string[] = []
      const op = action<string>((settle) => {
        settle('at once')
        log.push('function over')
        return () => log.push('cleaned up')
      })
      log.push(yield* op)
      assert.deepEqual(log, ['function over', 'cleaned up', 'at once'])
    }))

  it('cleans up at the moment of the answer, not when the fiber runs again', () =>
    virtual(function* () {
      const { op, last } = callbacks<number>()
      const fiber = spin(op)
      yield* sleep(1)
      last().settle(1)
      assert.equal(last().cleanups, 1)
      assert.equal(fiber.state, 'runnable')
      yield* fiber
    }))

  it('S34 an answer that came before the stop is received', () =>
    virtual(function* () {
      const { op, last } = callbacks<number>()
      let got = 0
      const fiber = spin(function* () {
        got = yield* op()
        yield* sleep()
      })
      yield* sleep(1)
      last().settle(7)
      yield* fiber.stop()
      assert.equal(got, 7)
      assert.equal(last().cleanups, 1)
    }))

  it('cleans up once when the fiber is stopped, and when a limit expires', () =>
    virtual(function* () {
      const { op, last } = callbacks<number>()
      const fiber = spin(op)
      yield* sleep(1)
      fiber.stop()
      assert.equal(last().cleanups, 1)
      yield* fiber.join()
      assert.equal(yield* moveOnAfter(5, () => op(), -1), -1)
      assert.equal(last().cleanups, 1)
      last().settle(1)
      last().fail('late')
      assert.equal(last().cleanups, 1)
    }))

  it('the second answer changes nothing', () =>
    virtual(function* () {
      const discarded: string[] = []
      const { op, last } = callbacks<string>()
      const fiber = spin(() => op({ discard: (value) => void discarded.push(value) }))
      yield* sleep(1)
      last().settle('first')
      last().settle('second')
      last().fail(new Error('third'))
      assert.equal(yield* fiber, 'first')
      last().settle('fourth')
      assert.deepEqual(discarded, [])
      const twice = action<number>((settle, fail) => {
        settle(1)
        fail('no')
        settle(2)
      })
      assert.equal(yield* twice, 1)
    }))

  it('S35 a late value goes to discard, once; a late error is dropped', () =>
    virtual(function* () {
      const discarded: string[] = []
      const { op, last } = callbacks<string>()
      const options = { discard: (value: string) => void discarded.push(value) }
      yield* moveOnAfter(5, () => op(options))
      last().settle('late')
      last().settle('later')
      assert.deepEqual(discarded, ['late'])
      yield* moveOnAfter(5, () => op(options))
      last().fail('late')
      last().settle('after a failure')
      assert.deepEqual(discarded, ['late'])
    }))

  it('a value that the cleanup itself settles is late', () =>
    virtual(function* () {
      const discarded: string[] = []
      const op = action<string>((settle) => () => settle('from cleanup'), {
        discard: (value) => void discarded.push(value),
      })
      assert.equal(yield* moveOnAfter(5, () => op, 'moved on'), 'moved on')
      assert.deepEqual(discarded, ['from cleanup'])
    }))

  it('throws what the function itself throws; a value that it had settled goes to discard', () =>
    virtual(function* () {
      const error = new Error('broken')
      const discarded: string[] = []
      const op = action<string>(
        (settle) => {
          settle('value')
          throw error
        },
        { discard: (value) => void discarded.push(value) },
      )
      assert.equal(yield* thrownBy(op), error)
      assert.deepEqual(discarded, ['value'])
      assert.equal(yield* thrownBy(op), error) // and the op is as good as new
      yield* sleep(1)
      assert.equal(external(), 0)
    }))

  it('S70 an exception of the cleanup or of discard is reported, and the answer stands', () =>
    virtual(function* () {
      const op = action<number>((settle) => {
        setImmediate(settle, 42)
        return () => {
          throw new Error('cleanup is broken')
        }
      })
      assert.equal(yield* op, 42)
      assert.match(reports()[0]?.message ?? '', /cleanup of action\(.*\) in main failed: .*cleanup is broken/)
      const { op: wait, last } = callbacks<number>()
      const discard = () => {
        throw new Error('discard is broken')
      }
      yield* moveOnAfter(5, () => wait({ discard }))
      last().settle(1)
      assert.match(reports()[1]?.message ?? '', /discard is broken/)
      reports().length = 0
    }))

  it('each yield* calls the function anew, and an old callback cannot answer a new wait', () =>
    virtual(function* () {
      const { calls, op } = callbacks<string>()
      const discarded: string[] = []
      const same = op({ discard: (value) => void discarded.push(value) })
      yield* moveOnAfter(5, () => same)
      const fiber = spin(() => same)
      yield* sleep(1)
      calls[0]?.settle('of the first')
      assert.equal(fiber.state, 'waiting')
      calls[1]?.settle('of the second')
      assert.equal(yield* fiber, 'of the second')
      assert.deepEqual(discarded, ['of the first'])
      assert.deepEqual(
        calls.map((call) => call.cleanups),
        [1, 1],
      )
    }))

  it('S69 one op serves one wait at a time', () =>
    virtual(function* () {
      const { op } = callbacks<string>()
      const same = op()
      const fiber = spin('first', () => same)
      yield* sleep(1)
      const error = yield* thrownBy(same)
      assert.ok(error instanceof BadArgument)
      assert.match(error.message, /already being waited for by main > first/)
      yield* fiber.stop()
    }))

  it('S16 cleanup may wait for one: it is not idle', () =>
    virtual(function* () {
      let closed = false
      const fiber = spin(function* () {
        try {
          yield* sleep()
        } finally {
          yield* action<void>((settle) => {
            const immediate = setImmediate(settle)
            return () => clearImmediate(immediate)
          })
          closed = true
        }
      })
      yield* sleep(1)
      yield* fiber.stop()
      assert.ok(closed)
    }))

  it('the fiber shows what it waits for', () =>
    virtual(function* () {
      const fibers = [spin(() => action(function lookup() {})), spin(() => action(() => {}))]
      yield* sleep(1)
      assert.deepEqual(
        fibers.map((fiber) => fiber.waitsFor),
        ['action(lookup)', 'action()'],
      )
    }))

  it('a callback API of Node in full: no listener stays', () =>
    virtual(function* () {
      const emitter = new EventEmitter()
      const wait = () =>
        action<unknown>((settle) => {
          emitter.on('value', settle)
          return () => emitter.off('value', settle)
        })
      const fiber = spin(wait)
      yield* sleep(1)
      emitter.emit('value', 1)
      assert.equal(yield* fiber, 1)
      yield* moveOnAfter(1, wait)
      assert.equal(emitter.listenerCount('value'), 0)
    }))

  it('from the real world: a timer and a microtask', () =>
    virtual(function* () {
      assert.equal(yield* action<number>((settle) => void queueMicrotask(() => settle(1))), 1)
      assert.equal(yield* action<number>((settle) => void setImmediate(settle, 2)), 2)
      assert.equal(yield* until(Promise.resolve(3)), 3)
      assert.equal(external(), 0)
      assert.equal(runtimeStats().pendingOps, 0)
    }))

  it('wrong use is told in words', () =>
    virtual(function* () {
      assert.throws(() => action(5 as any), /action\(\) needs a function \(settle, fail\) => cleanup, got 5/)
      assert.throws(() => action(() => {}, { discord: 1 } as any), /no option "discord"; there are: discard/)
      assert.throws(() => action(() => {}, { discard: 1 } as any), /needs a function as discard, got 1/)
      const timer = yield* thrownBy(action(((s: any) => setTimeout(s, 1)) as any))
      assert.ok(timer instanceof BadArgument)
      assert.match(timer.message, /in main returned an object of class Timeout.*put braces/)
      const promise = yield* thrownBy(action((async () => Promise.reject(new Error('lost'))) as any))
      assert.ok(promise instanceof BadArgument)
      assert.match(promise.message, /returned a promise.*until\(\)/)
      const generator = action<number>((settle) => {
        setImmediate(settle, 1)
        return function* () {} as any
      })
      assert.equal(yield* generator, 1)
      assert.match(reports().pop()?.message ?? '', /is a function\*, which never ran/)
    }))
})

describe('action, disturbed', () => {
  /** Three fibers wait for answers that a fourth gives; counts what was started, cleaned up, received and discarded. */
  function scene() {
    const count = { started: 0, cleaned: 0, received: 0, discarded: 0, answered: 0 }
    const open = new Set<(value: number) => void>()
    const ask = () =>
      action<number>(
        (settle) => {
          count.started++
          open.add(settle)
          return () => {
            count.cleaned++
          }
        },
        { discard: () => void count.discarded++ },
      )
    function* asker() {
      yield* ask()
      count.received++
    }
    function* answerer(): Generator<any, void, any> {
      for (let n = 0; n < 3; n++) {
        yield* snooze()
        for (const settle of open) {
          open.delete(settle)
          count.answered++
          settle(n)
          break
        }
      }
    }
    const check = () => {
      assert.equal(count.cleaned, count.started, 'a cleanup was lost, or ran twice')
      assert.ok(count.received + count.discarded <= count.answered)
    }
    return { count, asker, answerer, check, open }
  }

  it('S34 S35 in every order with a killer, each value is received or discarded, and each start is cleaned up once', (t) => {
    const { schedules, complete } = explore(
      function* () {
        const { count, asker, answerer, check, open } = scene()
        const askers = [1, 2, 3].map(() => spin(asker))
        const last = spin(answerer)
        spin(function* () {
          yield* snooze()
          askers[1]?.stop()
          askers[2]?.kill()
        })
        yield* last.join()
        for (const fiber of askers) fiber.stop()
        for (const fiber of askers) yield* fiber.join()
        for (const settle of open) {
          count.answered++
          settle(0)
        }
        check()
        assert.equal(count.received + count.discarded, count.answered)
      },
      { maxSchedules: 20_000 },
    )
    t.diagnostic(`${schedules} schedules${complete ? ', all there are' : ''}`)
    assert.ok(schedules > 500)
  })

  it('stopped, raised in or failing at every switchpoint, every start is cleaned up once', () => {
    let check = () => {}
    const everyone = function* () {
      const made = scene()
      check = made.check
      const askers = [1, 2, 3].map(() => spin({ link: false }, made.asker))
      const answers = spin({ link: false }, made.answerer)
      yield* answers.join()
      for (const fiber of askers) fiber.stop()
      for (const fiber of askers) yield* fiber.join()
    }
    assert.ok(stopEverywhere(everyone, { check: () => check() }).switchpoints >= 6)
    raiseEverywhere(everyone, { check: () => check() })
    failEverywhere(everyone, { check: () => check() })
  })
})

// The bridge to async code: AbortSignal in and out (S57), promises (S58).

import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { describe, it } from 'node:test'
import {
  BadArgument,
  ensure,
  Fiber,
  FiberStopped,
  isStop,
  moveOnAfter,
  type Op,
  run,
  scope,
  sleep,
  spin,
  until,
} from 'polyphony'
import { virtual } from 'polyphony/testing'
import { thrownBy } from '../prelude.js'

const listeners = (signal: AbortSignal) => getEventListeners(signal, 'abort').length

/** A promise that the test settles by hand. */
function deferred<T = unknown>() {
  let resolve!: (value: T) => void
  let reject!: (error: unknown) => void
  const promise = new Promise<T>((yes, no) => {
    resolve = yes
    reject = no
  })
  return { promise, resolve, reject }
}

/** Lets promises settle and callbacks run. */
const loopTurns = () => until(new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve))))

/** Runs `test` and gives the unhandled rejections that came meanwhile. */
async function unhandled(test: () => Promise<void>): Promise<unknown[]> {
  const seen: unknown[] = []
  const earlier = process.listeners('unhandledRejection')
  process.removeAllListeners('unhandledRejection')
  process.on('unhandledRejection', (error) => seen.push(error))
  try {
    await test()
    for (let i = 0; i < 3; i++) await new Promise((resolve) => setImmediate(resolve))
  } finally {
    process.removeAllListeners('unhandledRejection')
    for (const listener of earlier) process.on('unhandledRejection', listener)
  }
  return seen
}

describe('AbortSignal in', () => {
  it('S57 the signal given to spin stops the fiber, and its reason travels', () =>
    virtual(function* () {
      const controller = new AbortController()
      let cleanedUp = false
      const fiber = spin({ signal: controller.signal }, () =>
        ensure(
          () => sleep(),
          function* () {
            yield* sleep(5)
            cleanedUp = true
          },
        ),
      )
      yield* sleep(1)
      controller.abort('enough')
      assert.deepEqual(yield* fiber.join(), { type: 'stopped', value: undefined })
      assert.equal(fiber.stopReason, 'enough')
      assert.ok(cleanedUp)
    }))

  it('S57 one that is aborted already stops it before it runs a line', () =>
    virtual(function* () {
      const fiber = spin({ signal: AbortSignal.abort('before') }, () => assert.fail('must not run'))
      assert.equal((yield* fiber.join()).type, 'stopped')
      assert.equal(fiber.stopReason, 'before')
    }))

  it('S57 there is one listener, and it is removed whichever way the fiber ends', () =>
    virtual(function* () {
      const { signal } = new AbortController()
      const bodies: (() => Op<unknown>)[] = [
        () => sleep(5),
        function* () {
          yield* sleep(5)
          throw new Error('no')
        },
      ]
      for (const body of bodies) {
        const fiber = spin({ signal, link: false }, body)
        assert.equal(listeners(signal), 1)
        yield* fiber.join()
        assert.equal(listeners(signal), 0)
      }
      const stopped = spin({ signal }, () => sleep())
      yield* stopped.stop()
      assert.equal(listeners(signal), 0)
    }))

  it('S57 restarts do not pile up listeners', () =>
    virtual(function* () {
      const { signal } = new AbortController()
      const fiber = spin({ signal }, () => sleep())
      for (let i = 0; i < 5; i++) {
        yield* sleep(1)
        fiber.restart()
        assert.equal(listeners(signal), 1)
      }
      yield* fiber.stop()
      assert.equal(listeners(signal), 0)
      fiber.restart()
      assert.ok(listeners(signal) <= 1)
      yield* fiber.stop()
      assert.equal(listeners(signal), 0)
    }))

  it('S57 an abort does not interrupt what has ended or is ending', () =>
    virtual(function* () {
      const controller = new AbortController()
      const fiber = spin({ signal: controller.signal }, function* () {
        spin(() =>
          ensure(
            () => sleep(),
            () => sleep(10),
          ),
        )
        yield* sleep(1)
        return 'value'
      })
      yield* sleep(5)
      assert.equal(fiber.phase, 'closing')
      controller.abort()
      assert.equal(yield* fiber.await(), 'value')
    }))

  it('S57 a hundred fibers can share a signal', () =>
    virtual(function* () {
      const controller = new AbortController()
      const fibers = Array.from({ length: 100 }, () => spin({ signal: controller.signal }, () => sleep()))
      yield* sleep(1)
      controller.abort()
      yield* Fiber.current.joinChildren()
      assert.ok(fibers.every((fiber) => fiber.outcome?.type === 'stopped'))
      assert.equal(listeners(controller.signal), 0)
    }))

  it('S57 the signal given to run stops it, and run rejects with FiberStopped', async () => {
    const controller = new AbortController()
    const running = run(() => sleep(), { signal: controller.signal })
    controller.abort('enough')
    await assert.rejects(running, FiberStopped)
    assert.equal(listeners(controller.signal), 0)
  })
})

describe('AbortSignal out', () => {
  it('S57 fiber.signal aborts when the fiber is asked to stop, before its cleanup runs', () =>
    virtual(function* () {
      const log: unknown[] = []
      const fiber = spin(function* () {
        const { signal } = Fiber.current
        signal.addEventListener('abort', () => log.push('aborted', signal.reason))
        try {
          yield* sleep()
        } finally {
          log.push('cleanup')
        }
      })
      yield* sleep(1)
      assert.equal(fiber.signal.aborted, false)
      fiber.stop(undefined, { reason: 'why' })
      assert.deepEqual(log, ['aborted', 'why'])
      yield* fiber.join()
      assert.deepEqual(log, ['aborted', 'why', 'cleanup'])
    }))

  it('S57 it is one object, and aborts with the parent too', () =>
    virtual(function* () {
      let signal!: AbortSignal
      const parent = spin(function* () {
        spin(function* () {
          signal = Fiber.current.signal
          assert.equal(signal, Fiber.current.signal)
          yield* sleep()
        })
        yield* sleep(5)
      })
      yield* sleep(1)
      assert.equal(signal.aborted, false)
      yield* parent.join()
      assert.equal(signal.aborted, true)
    }))

  it('S57 looked at for the first time while stopping it is aborted already', () =>
    virtual(function* () {
      let aborted: boolean | undefined
      const fiber = spin(function* () {
        try {
          yield* sleep()
        } finally {
          aborted = Fiber.current.signal.aborted
        }
      })
      yield* sleep(1)
      yield* fiber.stop()
      assert.equal(aborted, true)
    }))

  it('S57 a fiber that ends by itself, and a raise, do not abort it', () =>
    virtual(function* () {
      const ended = spin(() => sleep(5))
      const raised = spin({ link: false }, () => sleep())
      const signals = [ended.signal, raised.signal]
      yield* sleep(1)
      yield* raised.raise('error')
      yield* ended.join()
      assert.deepEqual(
        signals.map((signal) => signal.aborted),
        [false, false],
      )
    }))

  it('S57 a listener that acts on the fiber itself does no harm', () =>
    virtual(function* () {
      const fiber = spin(() => sleep())
      yield* sleep(1)
      fiber.signal.addEventListener('abort', () => {
        fiber.stop('second')
        fiber.kill()
        fiber.raise('no')
        fiber.schedule('no')
      })
      assert.deepEqual(yield* fiber.stop('first'), { type: 'stopped', value: 'first' })
    }))

  it('S57 until gives its function a signal that is aborted when the fiber leaves', () =>
    virtual(function* () {
      let signal!: AbortSignal
      const fiber = spin(() =>
        until((given) => {
          signal = given
          return new Promise(() => {})
        }),
      )
      yield* sleep(1)
      assert.equal(signal.aborted, false)
      yield* fiber.stop(undefined, { reason: 'why' })
      assert.equal(signal.aborted, true)
      assert.equal(signal.reason, 'why')
    }))

  it('S57 a time-out aborts it too, the end of the promise does not', () =>
    virtual(function* () {
      const signals: AbortSignal[] = []
      const wait = (promise: Promise<unknown>) =>
        until((signal) => {
          signals.push(signal)
          return promise
        })
      assert.equal(yield* moveOnAfter(5, () => wait(new Promise(() => {})), 'late'), 'late')
      assert.equal(yield* wait(Promise.resolve(1)), 1)
      assert.deepEqual(
        signals.map((signal) => signal.aborted),
        [true, false],
      )
    }))

  it('S57 each until has its own signal', () =>
    virtual(function* () {
      const signals: AbortSignal[] = []
      for (let i = 0; i < 2; i++) {
        yield* until(async (signal) => {
          signals.push(signal)
        })
      }
      assert.notEqual(signals[0], signals[1])
    }))

  it('S35 a promise that its abort rejects is left behind without a word', async () => {
    const seen = await unhandled(() =>
      virtual(function* () {
        const fiber = spin(() =>
          until(
            (signal) =>
              new Promise((_, reject) => {
                signal.addEventListener('abort', () => reject(signal.reason))
              }),
          ),
        )
        yield* sleep(1)
        assert.equal((yield* fiber.stop()).type, 'stopped')
      }),
    )
    assert.deepEqual(seen, [])
  })
})

describe('promises', () => {
  it('S58 until gives the value or throws the reason itself', () =>
    virtual(function* () {
      const error = new Error('no')
      assert.equal(yield* until(Promise.resolve(42)), 42)
      assert.equal(yield* thrownBy(until(Promise.reject(error))), error)
      assert.equal(yield* thrownBy(until(Promise.reject('text'))), 'text')
    }))

  it('S58 other fibers run meanwhile', () =>
    virtual(function* () {
      const { promise, resolve } = deferred<string>()
      spin(function* () {
        yield* sleep(10)
        resolve('value')
      })
      assert.equal(yield* until(promise), 'value')
    }))

  it('S58 several fibers can wait for the same promise', () =>
    virtual(function* () {
      const { promise, resolve } = deferred<number>()
      const fibers = [1, 2, 3].map(() => spin(() => until(promise)))
      yield* sleep(1)
      resolve(7)
      assert.deepEqual(yield* Fiber.await(...fibers), [7, 7, 7])
    }))

  it('S58 a fiber can be stopped while it waits: it does not wait for the promise', () =>
    virtual(function* () {
      const fiber = spin(() => until(new Promise(() => {})))
      yield* sleep(1)
      assert.equal((yield* fiber.stop()).type, 'stopped')
    }))

  it('S58 a rejection that comes too late is no unhandledRejection', async () => {
    const seen = await unhandled(() =>
      virtual(function* () {
        const { promise, reject } = deferred()
        const fiber = spin(() => until(promise))
        yield* sleep(1)
        yield* fiber.stop()
        reject(new Error('late'))
        yield* loopTurns()
      }),
    )
    assert.deepEqual(seen, [])
  })

  it('S58 nor is one of a promise at whose until a stop was already waiting', async () => {
    const seen = await unhandled(() =>
      virtual(function* () {
        const { promise, reject } = deferred()
        const fiber = spin(function* () {
          Fiber.current.stop()
          yield* until(promise) // the stop strikes here, before the wait begins
        })
        yield* fiber.join()
        reject(new Error('late'))
        yield* loopTurns()
      }),
    )
    assert.deepEqual(seen, [])
  })

  it('S58 a late value goes to discard, once', () =>
    virtual(function* () {
      const discarded: string[] = []
      const { promise, resolve } = deferred<string>()
      const fiber = spin(() => until(promise, { discard: (value) => void discarded.push(value) }))
      yield* sleep(1)
      yield* fiber.stop()
      resolve('late')
      yield* loopTurns()
      assert.deepEqual(discarded, ['late'])
    }))

  it('S58 a value at whose until a stop was already waiting goes to discard too', () =>
    virtual(function* () {
      const discarded: string[] = []
      const { promise, resolve } = deferred<string>()
      const fiber = spin(function* () {
        Fiber.current.stop()
        yield* until(promise, { discard: (value) => void discarded.push(value) })
      })
      yield* fiber.join()
      resolve('late')
      yield* loopTurns()
      assert.deepEqual(discarded, ['late'])
    }))

  it('S58 a value that was received is not discarded', () =>
    virtual(function* () {
      const discarded: string[] = []
      const discard = (value: string) => void discarded.push(value)
      assert.equal(yield* until(Promise.resolve('v'), { discard }), 'v')
      assert.deepEqual(discarded, [])
    }))

  it('S34 a value that came before the stop is received', () =>
    virtual(function* () {
      const got: unknown[] = []
      const { promise, resolve } = deferred<string>()
      const fiber = spin(function* () {
        got.push(yield* until(promise))
        yield* sleep()
      })
      yield* sleep(1)
      resolve('value')
      yield* until(promise) // both wait for the same promise; the fiber has its answer now
      yield* fiber.stop()
      assert.deepEqual(got, ['value'])
    }))

  it('S58 thenables that answer at once, twice or by throwing are waits like any other', () =>
    virtual(function* () {
      // biome-ignore-start lint/suspicious/noThenProperty: thenables are what this test is about
      const atOnce = { then: (yes: (value: number) => void) => yes(1) }
      const twice = {
        then(yes: (value: number) => void) {
          yes(1)
          yes(2)
        },
      }
      const error = new Error('then')
      const throwing = {
        then() {
          throw error
        },
      }
      // biome-ignore-end lint/suspicious/noThenProperty: thenables are what this test is about
      assert.equal(yield* until(atOnce as PromiseLike<number>), 1)
      assert.equal(yield* until(twice as PromiseLike<number>), 1)
      assert.equal(yield* thrownBy(until(throwing as PromiseLike<number>)), error)
      assert.equal((Fiber.current as any).runtime.external, 0)
    }))

  it('S58 a function that throws, or returns no promise, is told at the until', () =>
    virtual(function* () {
      const error = new Error('sync')
      const throwing = until(() => {
        throw error
      })
      assert.equal(yield* thrownBy(throwing), error)
      const wrong = yield* thrownBy(until((() => 5) as any))
      assert.ok(wrong instanceof BadArgument)
      assert.match(wrong.message, /it returned 5/)
      yield* sleep(1)
    }))

  it('S58 the function is called when the wait begins, not before, and not at all if a stop strikes first', () =>
    virtual(function* () {
      let calls = 0
      const fiber = spin(function* () {
        const op = until(async () => void calls++)
        assert.equal(calls, 0)
        yield* op
        assert.equal(calls, 1)
        Fiber.current.stop()
        yield* until(async () => void calls++)
      })
      yield* fiber.join()
      assert.equal(calls, 1)
    }))

  it('S58 in cleanup a promise can be waited for', () =>
    virtual(function* () {
      let closed = false
      const fiber = spin(function* () {
        try {
          yield* sleep()
        } finally {
          yield* until(Promise.resolve())
          closed = true
        }
      })
      yield* sleep(1)
      yield* fiber.stop()
      assert.ok(closed)
    }))

  it('S58 a rejected promise in a scope stops the siblings', () =>
    virtual(function* () {
      const error = new Error('no')
      let stopped = false
      const op = scope(function* () {
        spin(function* () {
          try {
            yield* sleep()
          } catch (e) {
            stopped = isStop(e)
            throw e
          }
        })
        yield* sleep(1)
        yield* until(Promise.reject(error))
      })
      assert.equal(yield* thrownBy(op), error)
      assert.ok(stopped)
    }))
})

describe('run', () => {
  it('S30 it is a promise of the value', async () => {
    assert.equal(await run(() => until(Promise.resolve(42))), 42)
  })

  it('S31 stopped with a value it resolves, without one it rejects and is marked as handled', async () => {
    const seen = await unhandled(async () => {
      const a = run(() => sleep())
      assert.deepEqual(await a.stop('v'), { type: 'stopped', value: 'v' })
      assert.equal(await a, 'v')
      const b = run(() => sleep())
      assert.equal((await b.stop()).type, 'stopped')
      await assert.rejects(b, FiberStopped)
      const c = run(() => sleep())
      await c.stop() // nobody looks at the promise
    })
    assert.deepEqual(seen, [])
  })

  it('S60 disposing of it stops it and waits', async () => {
    let cleanedUp = false
    const running = run(() =>
      ensure(
        () => sleep(),
        () => {
          cleanedUp = true
        },
      ),
    )
    await waits(running.fiber)
    await running[Symbol.asyncDispose]()
    assert.ok(cleanedUp)
    assert.equal(running.fiber.state, 'dead')
  })
})

/** Waits, outside any fiber, until a fiber waits. */
async function waits(fiber: Fiber): Promise<void> {
  while (fiber.state !== 'waiting') await new Promise((resolve) => setImmediate(resolve))
}

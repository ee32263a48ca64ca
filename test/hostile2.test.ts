// Hostile programs, second round.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  Fiber,
  moveOnAfter,
  type Op,
  run,
  type Switchpoint,
  scope,
  sleep,
  snooze,
  spin,
  suppressedErrors,
  suspend,
  tap,
  transfer,
  until,
} from 'polyphony'
import { virtual } from 'polyphony/testing'
import { failing, program, turns } from './prelude.js'

/** What comes first: the end of the promise, or many turns of the event loop, in which everything that can happen happens. */
function inTime<T>(promise: Promise<T>): Promise<T | 'hangs'> {
  const late = turns(1000).then(() => 'hangs' as const)
  return Promise.race([promise, late])
}

const never = new Promise<never>(() => {})

describe('a stop that comes while an op begins', () => {
  test('S13 a fiber that is stopped by the function given to until is stopped', async () => {
    const running = run(() =>
      until(() => {
        Fiber.current.stop()
        return never
      }),
    )
    const outcome = await inTime(running.catch((error) => error.code))
    assert.equal(outcome, 'FIBER_STOPPED')
  })

  test('S11 an error that is raised by the function given to until strikes', async () => {
    const running = run(() =>
      until(() => {
        Fiber.current.raise('struck')
        return never
      }),
    )
    const outcome = await inTime(running.catch((error) => error.message))
    assert.equal(outcome, 'struck')
  })

  test('S57 an AbortSignal that fires inside the function given to until stops the fiber', async () => {
    const controller = new AbortController()
    const running = run(
      () =>
        until(() => {
          controller.abort()
          return never
        }),
      { signal: controller.signal },
    )
    assert.equal(await inTime(running.catch((error) => error.code)), 'FIBER_STOPPED')
  })

  test('S18 a later stop with a shorter grace ends it all the same', () =>
    virtual(function* () {
      const fiber = spin({ link: false }, () =>
        until(() => {
          Fiber.current.stop()
          return never
        }),
      )
      yield* sleep(5)
      const ended = yield* moveOnAfter(100, () => fiber.stop(undefined, { grace: 10 }), 'hangs')
      assert.notEqual(ended, 'hangs')
    }))
})

describe('restart', () => {
  test('S39 a message to a fiber that died in the teardown of a restart is refused', () =>
    virtual(function* () {
      const fiber = spin({ link: false }, function* () {
        try {
          yield* sleep()
        } finally {
          yield* failing('teardown')
        }
      })
      yield* snooze()
      fiber.restart()
      yield* fiber.join()
      assert.equal(fiber.state, 'dead')
      assert.equal(fiber.send('hello'), false)
    }))
})

describe('until', () => {
  /** Raises in the current fiber while it waits. */
  function disturb() {
    const fiber = Fiber.current
    spin(function* () {
      yield* snooze()
      fiber.raise('disturbed')
    })
  }

  test('S58 a value that was received is not discarded, although an earlier wait for it was cut', () =>
    virtual(function* () {
      const log: string[] = []
      const connection = turns(5).then(() => 'connection')
      const op = until(connection, { discard: (value) => log.push(`closed ${value}`) })
      disturb()
      try {
        yield* op
      } catch {
        log.push('disturbed')
      }
      log.push(`got ${yield* op}`)
      yield* sleep(1)
      assert.deepEqual(log, ['disturbed', 'got connection'])
    }))

  test('S58 nor if the first wait never began', () =>
    virtual(function* () {
      const log: string[] = []
      const op = until(Promise.resolve('connection'), { discard: (value) => log.push(`closed ${value}`) })
      Fiber.current.raise('disturbed')
      try {
        yield* op
      } catch {
        log.push('disturbed')
      }
      log.push(`got ${yield* op}`)
      yield* sleep(1)
      assert.deepEqual(log, ['disturbed', 'got connection'])
    }))
})

describe('errors', () => {
  test('S22 the error of a raw fiber is not lost when Fiber.await is stopped while it waits for the rest', () =>
    virtual(function* () {
      const raw = new Fiber(function* () {
        try {
          yield* suspend()
        } finally {
          yield* failing('of the raw fiber')
        }
      })
      const waiter = spin({ link: false }, function* () {
        const slow = spin({ link: false }, function* () {
          try {
            yield* sleep()
          } finally {
            yield* sleep(100)
          }
        })
        const bad = spin({ link: false }, () => failing('first'))
        spin(function* () {
          waiter.schedule()
        })
        yield* transfer(raw) // now it hears of the end of the raw fiber
        yield* Fiber.await(bad, raw, slow)
      })
      yield* sleep(10)
      const outcome = yield* waiter.stop()
      assert.ok(outcome.type === 'error')
      const told = [outcome.error, ...suppressedErrors(outcome.error)].map(
        (error) => (error as Error).message,
      )
      assert.deepEqual(told.sort(), ['first', 'of the raw fiber'])
    }))

  test('S22 an error is not lost when joinChildren is stopped after the failed child was restarted elsewhere', () =>
    virtual(function* () {
      let runs = 0
      const parent = spin({ link: false, name: 'parent' }, function* () {
        spin('bad', function* () {
          if (++runs === 1) throw new Error('lost')
          yield* sleep()
        })
        spin('slow', () => sleep())
        yield* Fiber.current.joinChildren()
      })
      yield* snooze()
      const [bad, slow] = parent.children as [Fiber, Fiber]
      yield* snooze() // the error of bad went to joinChildren and to nobody else
      bad.restart().attachTo(slow)
      yield* snooze()
      const outcome = yield* parent.stop()
      assert.equal(outcome.type === 'error' && (outcome.error as Error).message, 'lost')
    }))

  test('S24 an end listener that attaches a failing raw fiber does not make its error vanish', () =>
    virtual(function* () {
      const raw = new Fiber(() => failing('of the raw fiber'))
      const home = spin(() => sleep())
      const untap = tap((event, fiber) => {
        if (event === 'end' && fiber === raw) raw.attachTo(home)
      })
      const told: string[] = []
      try {
        yield* moveOnAfter(10, () => transfer(raw))
        const outcome = home.outcome
        if (outcome?.type === 'error') told.push((outcome.error as Error).message)
      } catch (error) {
        told.push((error as Error).message)
      } finally {
        untap()
      }
      assert.deepEqual(told, ['of the raw fiber'])
    }))

  test('S30 the errors inside an AggregateError are printed', async () => {
    const { stderr } = await program(`
      import { main, until } from 'polyphony'
      main(() => until(Promise.any([Promise.reject(new Error('the reason'))])))`)
    assert.match(stderr, /the reason/)
  })
})

describe('yields that are no ops, in blocks', () => {
  /** An op of somebody's own that yields a number. */
  const yieldsNumber: Op<unknown> = {
    [Symbol.iterator]: () => ({
      next: () => ({ done: false, value: 5 as unknown as Switchpoint }),
      throw(error) {
        throw error
      },
      return: (value) => ({ done: true, value }),
    }),
  }

  test('S61 a raw yield of an op in a block is a BadYield, as it is in a fiber', () =>
    virtual(function* () {
      const inFiber = yield* spin({ link: false }, () => yieldsNumber).join()
      const inBlock = yield* spin({ link: false }, () => moveOnAfter(10, () => yieldsNumber)).join()
      const codes = [inFiber, inBlock].map((o) =>
        o.type === 'error' ? (o.error as { code: string }).code : o.type,
      )
      assert.deepEqual(codes, ['BAD_YIELD', 'BAD_YIELD'])
    }))

  test('S19 a block whose op has no return() is killed like a fiber whose op has none', () =>
    virtual(function* () {
      const noReturn: Op<unknown> = {
        [Symbol.iterator]() {
          const inner = sleep(100_000)[Symbol.iterator]()
          return { next: () => inner.next(), throw: (error) => inner.throw!(error) }
        },
      }
      const killed: string[] = []
      for (const body of [() => noReturn, () => moveOnAfter(50_000, () => noReturn)]) {
        const fiber = spin({ link: false }, body)
        yield* snooze()
        killed.push((yield* fiber.kill()).type)
      }
      assert.deepEqual(killed, ['stopped', 'stopped'])
    }))

  test('S69 a time-out that yields its own handle still runs its finally', () =>
    virtual(function* () {
      let cleaned = false
      const fiber = spin({ link: false }, () =>
        moveOnAfter(10, function* (timeout): Generator<Switchpoint, void> {
          try {
            yield timeout as unknown as Switchpoint
          } finally {
            cleaned = true
          }
        }),
      )
      yield* fiber.join()
      assert.ok(cleaned)
    }))

  test('S69 a yielded thing whose iterator cannot be made is a BadYield, and finally runs', () =>
    virtual(function* () {
      let cleaned = false
      const hostile = {
        [Symbol.iterator]() {
          throw new Error('no iterator')
        },
      }
      const outcome = yield* spin({ link: false }, function* (): Generator<Switchpoint, void> {
        try {
          yield hostile as unknown as Switchpoint
        } finally {
          cleaned = true
        }
      }).join()
      assert.ok(cleaned)
      assert.equal(outcome.type === 'error' && (outcome.error as { code: string }).code, 'BAD_YIELD')
    }))
})

describe('scopes that are stopped', () => {
  /** Takes a second to clean up, well within the grace of five. */
  function* worker(log: string[]) {
    try {
      yield* sleep()
    } finally {
      yield* sleep(1000)
      log.push('cleaned up')
    }
  }

  test('S18 children of a scope get to clean up, although the body of the scope uses up its part of the grace', () =>
    virtual(function* () {
      const log: string[] = []
      function* body() {
        spin(worker, log)
        try {
          yield* sleep()
        } finally {
          yield* sleep()
        }
      }
      for (const make of [body, () => scope(body)]) {
        const fiber = spin(make)
        yield* sleep(1)
        yield* fiber.stop()
      }
      assert.deepEqual(log, ['cleaned up', 'cleaned up'])
    }))

  test('S66 a scope whose body caught the stop of its fiber and returned stops its children, as a fiber does', () =>
    virtual(function* () {
      const log: string[] = []
      function* body() {
        spin(worker, log)
        try {
          yield* sleep()
        } catch {}
      }
      for (const make of [body, () => scope(body)]) {
        const fiber = spin(make)
        yield* sleep(1)
        yield* moveOnAfter(2000, () => fiber.stop())
        log.push(fiber.state)
      }
      assert.deepEqual(log, ['cleaned up', 'dead', 'cleaned up', 'dead'])
    }))
})

test('S21 a kill that comes when the body has just been forced still hurries the children', () =>
  virtual(function* () {
    const log: string[] = []
    const killer = spin(function* () {
      yield* sleep(50) // set before the deadline that forces the body at the same time: half of the grace
      assert.equal(fiber.phase, 'forced')
      fiber.kill()
    })
    yield* snooze()
    const fiber = spin(function* () {
      spin(function* () {
        try {
          yield* sleep()
        } finally {
          yield* sleep(30)
          log.push('took its time')
        }
      })
      yield* snooze()
      try {
        Fiber.current.stop(undefined, { grace: 100 })
        yield* sleep()
      } finally {
        yield* sleep()
      }
    })
    yield* Fiber.await(killer)
    yield* fiber.join()
    assert.deepEqual(log, [])
  }))

describe('listeners that call back', () => {
  test('S41 a fiber that is restarted while its observers are told: each of them still learns how it ended', () =>
    virtual(function* () {
      const fiber = spin('fiber', function* () {
        yield* sleep(1)
        return 'value'
      })
      const first = spin('first', () => fiber.await())
      const second = spin('second', () => Fiber.select(fiber))
      const untap = tap((event, who) => {
        if (event === 'schedule' && who === first && fiber.state === 'dead') fiber.restart()
      })
      yield* first
      const [, value] = yield* second
      untap()
      assert.equal(value, 'value')
    }))

  test('S01 a fiber whose last child is taken away by a tap listener as it ends dies once', () =>
    virtual(function* () {
      const parent = spin('parent', function* () {
        Fiber.current.raise('too late') // the body ends before it strikes: dropped, and told to taps (S26)
        spin('child', () => sleep(5))
      })
      const untap = tap((event, fiber) => {
        if (event === 'dropped' && fiber === parent) for (const child of parent.children) child.detach()
      })
      yield* parent.join()
      untap()
      yield* Fiber.current.joinChildren()
    })) // virtual finds -1 fibers
})

describe('the end of a process', { concurrency: 2 }, () => {
  test('S45 a message sent by a beforeExit listener wakes its fiber, also if the listener was installed after run', async () => {
    const { stdout } = await program(`
      import { receive, run } from 'polyphony'
      const waiting = run(function* () { return yield* receive() })
      waiting.then((value) => console.log(value), () => console.log('refused'))
      process.once('beforeExit', () => waiting.fiber.send('hello'))`)
    assert.equal(stdout, 'hello\n')
  })

  test('S45 a beforeExit listener that starts a timer, which then wakes the fiber, is waited for', async () => {
    const { code, stdout, stderr } = await program(`
      import { receive, run } from 'polyphony'
      const waiting = run(function* () { return yield* receive() })
      waiting.then((value) => console.log(value), () => console.log('refused'))
      process.once('beforeExit', () => setTimeout(() => waiting.fiber.send('hello'), 5))`)
    assert.deepEqual([code, stdout, stderr], [0, 'hello\n', ''])
  })

  test('S45 a main that is woken after all, and returns, exits with 0', async () => {
    const { code, stdout } = await program(`
      import { Fiber, main, receive } from 'polyphony'
      let fiber
      main(function* () { fiber = Fiber.current; console.log(yield* receive()) })
      process.once('beforeExit', () => fiber.send('hello'))`)
    assert.deepEqual([code, stdout], [0, 'hello\n'])
  })
})

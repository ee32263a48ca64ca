// S60: resources that are let go when the scope they were taken in is over.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  BadArgument,
  ensure,
  Fiber,
  moveOnAfter,
  NotInFiber,
  type Routine,
  run,
  scope,
  sleep,
  snooze,
  spin,
  suppressedErrors,
  tryReceive,
  until,
  use,
} from 'polyphony'
import { failEverywhere, raiseEverywhere, stopEverywhere, virtual } from 'polyphony/testing'
import { everyOrder } from '../explore/orders.js'
import { thrownBy } from '../prelude.js'

/** A resource that notes what becomes of it. */
function resource(name: string, log: string[], ms = 0) {
  return {
    name,
    *close(): Routine<void> {
      log.push(`closing ${name}`)
      yield* sleep(ms)
      log.push(`closed ${name}`)
    },
  }
}
function* take(name: string, log: string[], ms = 0): Routine<string> {
  const taken = yield* use(resource(name, log, ms), (r) => r.close())
  return taken.name
}

describe('use', () => {
  it('S60 gives the resource, and disposes of all in a scope when it is over, newest first', () =>
    virtual(function* () {
      const log: string[] = []
      const result = yield* scope(function* () {
        log.push(yield* take('a', log))
        log.push(yield* take('b', log, 10))
        return 'result'
      })
      assert.equal(result, 'result')
      assert.deepEqual(log, ['a', 'b', 'closing b', 'closed b', 'closing a', 'closed a'])
    }))

  it('S60 outside any scope it is the fiber that lets go, after its body and its children, before it is dead', () =>
    virtual(function* () {
      const log: string[] = []
      const fiber = spin(function* () {
        yield* take('a', log, 10)
        spin(function* () {
          try {
            yield* sleep(1000)
          } finally {
            yield* sleep(5)
            log.push('child')
          }
        })
        yield* sleep(1)
        try {
          return 'value'
        } finally {
          log.push('body')
        }
      })
      yield* sleep(10)
      assert.equal(fiber.phase, 'closing')
      assert.equal(fiber.waitsFor, 'sleep(10)')
      assert.equal(yield* fiber, 'value')
      assert.deepEqual(log, ['body', 'child', 'closing a', 'closed a'])
    }))

  it('S60 a stop lets go as well, and cleanup that waits is whole', () =>
    virtual(function* () {
      const log: string[] = []
      const fiber = spin(function* () {
        yield* take('a', log, 100)
        yield* scope(function* () {
          yield* take('b', log, 100)
          yield* sleep(1000)
        })
      })
      yield* sleep(1)
      assert.deepEqual(yield* fiber.stop('bye'), { type: 'stopped', value: 'bye' })
      assert.deepEqual(log, ['closing b', 'closed b', 'closing a', 'closed a'])
    }))

  it('S18 S60 the grace of a stop bounds it: what waits is forced, the others still begin', () =>
    virtual(function* () {
      for (const isScoped of [false, true]) {
        const log: string[] = []
        const body = function* () {
          yield* take('quick', log)
          yield* take('slow', log, 10_000)
          yield* sleep(1000)
        }
        const fiber = spin(isScoped ? () => scope(body) : body)
        yield* sleep(1)
        const begun = now()
        assert.equal((yield* fiber.stop(undefined, { grace: 50 })).type, 'stopped')
        assert.equal(now() - begun, 50)
        assert.deepEqual(log, ['closing slow', 'closing quick'])
      }
    }))

  it('S19 kill lets go of what needs no waiting', () =>
    virtual(function* () {
      const log: string[] = []
      const fiber = spin(function* () {
        yield* use({ [Symbol.dispose]: () => log.push('sync') })
        yield* take('waiting', log, 10)
        yield* sleep(1000)
      })
      yield* sleep(1)
      yield* fiber.kill()
      assert.deepEqual(log, ['closing waiting', 'sync'])
    }))

  it('S21 a kill while a fiber lets go ends the waiting at once', () =>
    virtual(function* () {
      const log: string[] = []
      const fiber = spin(function* () {
        yield* take('a', log, 1000)
        return 'value'
      })
      yield* sleep(10)
      assert.equal(fiber.phase, 'closing')
      assert.deepEqual(yield* fiber.kill(), { type: 'value', value: 'value' })
      assert.equal(now(), 10)
      assert.deepEqual(log, ['closing a'])
    }))

  it('S21 a stop while a fiber lets go gives it no more than its grace', () =>
    virtual(function* () {
      const log: string[] = []
      const fiber = spin(function* () {
        yield* take('a', log, 10_000)
      })
      yield* sleep(10)
      yield* fiber.stop(undefined, { grace: 20 })
      assert.equal(now(), 30)
    }))

  it('S34 a stop that strikes in use itself leaves nothing behind', () =>
    virtual(function* () {
      const log: string[] = []
      const fiber = spin(function* () {
        Fiber.current.stop()
        yield* take('a', log)
        log.push('never')
      })
      yield* fiber.join()
      assert.deepEqual(log, ['closing a', 'closed a'])
    }))

  it('S22 errors of the cleanup are kept beside the error of the body; without one, the first is thrown', () =>
    virtual(function* () {
      const failing = (message: string) =>
        use(message, function* () {
          yield* snooze()
          throw new Error(message)
        })
      function* body(isBroken: boolean) {
        yield* failing('one')
        yield* failing('two')
        if (isBroken) throw new Error('body')
      }
      const messages = (error: any) => [error, ...suppressedErrors(error)].map((e: any) => e.message)
      assert.deepEqual(messages(yield* thrownBy(scope(() => body(true)))), ['body', 'two', 'one'])
      assert.deepEqual(messages(yield* thrownBy(scope(() => body(false)))), ['two', 'one'])
      const broken = spin({ link: false }, body, true)
      assert.deepEqual(messages(yield* thrownBy(broken.await())), ['body', 'two', 'one'])
      const fine = spin({ link: false }, body, false)
      assert.deepEqual(messages(yield* thrownBy(fine.await())), ['two', 'one'])
      const stopped = spin({ link: false }, function* () {
        yield* body(false)
        yield* sleep(100)
      })
      yield* sleep(1)
      stopped.stop()
      assert.deepEqual(messages(yield* thrownBy(stopped.await())), ['two', 'one'])
    }))

  it('S41 a restarted fiber lets go of what its old incarnation held, before the new one begins', () =>
    virtual(function* () {
      const log: string[] = []
      const fiber = spin(function* () {
        const { incarnation } = Fiber.current
        log.push(`run ${incarnation}`)
        yield* take(`r${incarnation}`, log, 5)
        yield* sleep(10)
        return incarnation
      })
      yield* sleep(1)
      fiber.restart()
      assert.equal(yield* fiber, 2)
      assert.deepEqual(log, ['run 1', 'closing r1', 'closed r1', 'run 2', 'closing r2', 'closed r2'])
    }))

  it('S65 a time limit around it is not a scope: the resource lives on', () =>
    virtual(function* () {
      const log: string[] = []
      yield* scope(function* () {
        yield* moveOnAfter(10, function* () {
          yield* take('a', log)
          yield* sleep(100)
        })
        log.push('moved on')
      })
      assert.deepEqual(log, ['moved on', 'closing a', 'closed a'])
    }))

  it('S17 S60 cleanup may wait for messages, as in ensure', () =>
    virtual(function* () {
      const fiber = spin(function* () {
        yield* use('x', function* () {
          yield* moveOnAfter(5, () => suspended())
          tryReceive()
        })
      })
      yield* fiber
      assert.equal(now(), 5)
    }))

  it('S60 asyncDispose is waited for, and comes before dispose; null and undefined are passed through', async () => {
    const log: string[] = []
    await run(function* () {
      yield* use({
        async [Symbol.asyncDispose]() {
          await new Promise((resolve) => setImmediate(resolve))
          log.push('async')
        },
        [Symbol.dispose]() {
          log.push('sync')
        },
      })
      assert.equal(yield* use(null), null)
      assert.equal(yield* use(undefined), undefined)
    })
    assert.deepEqual(log, ['async'])
  })

  it('S60 works in cleanup: the resource goes when the fiber does', () =>
    virtual(function* () {
      const log: string[] = []
      const fiber = spin(function* () {
        yield* ensure(
          () => sleep(100),
          function* () {
            yield* take('late', log)
          },
        )
      })
      yield* sleep(1)
      yield* fiber.stop()
      assert.deepEqual(log, ['closing late', 'closed late'])
    }))

  it('wrong use is refused with a sentence', async () => {
    await virtual(function* () {
      assert.throws(() => use({ close() {} } as any), /needs something with \[Symbol.asyncDispose\]/)
      assert.throws(() => use(1, 'close' as any), BadArgument)
      assert.throws(() => use(1, (async () => {}) as any), BadArgument)
    })
    assert.throws(() => [...(use(null) as any)], NotInFiber)
  })

  it('S60 everything taken is let go, in every schedule with a killer', (t) => {
    everyOrder(t, function* () {
      const open = new Set<string>()
      function* hold(name: string) {
        open.add(name)
        yield* use(name, function* () {
          yield* snooze()
          open.delete(name)
        })
      }
      const fiber = spin({ link: false }, function* () {
        yield* hold('outer')
        yield* scope(function* () {
          yield* hold('inner')
          spin(() => hold('child'))
          yield* snooze()
        })
      })
      const killer = spin(function* () {
        yield* snooze()
        fiber.stop()
      })
      yield* fiber.join()
      yield* killer
      assert.deepEqual([...open], [])
    })
  })

  for (const everywhere of [stopEverywhere, raiseEverywhere, failEverywhere]) {
    it(`S60 everything taken is let go: ${everywhere.name}`, () => {
      let open = 0
      everywhere(function* () {
        open = 0
        function* hold(ms: number) {
          open++
          yield* use(ms, function* () {
            try {
              yield* sleep(ms)
            } finally {
              open--
            }
          })
        }
        try {
          yield* spin(function* () {
            yield* hold(1)
            yield* scope(function* () {
              yield* hold(2)
              spin(() => hold(3))
            })
            yield* hold(4)
          })
        } finally {
          yield* ensure(
            () => {},
            function* () {
              yield* Fiber.current.joinChildren()
              assert.equal(open, 0)
            },
          )
        }
      })
    })
  }
})

function now(): number {
  return (Fiber.current as any).runtime.now()
}
function suspended(): Routine<never> {
  return (function* () {
    for (;;) yield* sleep(1000)
  })()
}

it('S60 using works in a generator by try/finally', () =>
  virtual(function* () {
    const log: string[] = []
    const fiber = spin(function* () {
      using _file = { [Symbol.dispose]: () => log.push('disposed') }
      yield* sleep(100)
      log.push('never')
    })
    yield* sleep(1)
    yield* fiber.stop()
    assert.deepEqual(log, ['disposed'])
    assert.equal(yield* until(Promise.resolve(1)), 1)
  }))

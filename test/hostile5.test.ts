// Hostile programs, fifth round: supervision, combinators and the bridge to the async world, where they meet misuse and load.

import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { describe, test } from 'node:test'
import {
  all,
  call,
  END,
  each,
  ensure,
  Fiber,
  forEach,
  moveOnAfter,
  type Op,
  on,
  once,
  type Routine,
  race,
  retry,
  scope,
  sleep,
  spin,
  supervise,
  suppressedErrors,
  use,
} from 'polyphony'
import { virtual } from 'polyphony/testing'
import { thrownBy } from './prelude.js'

/** How an op that may never end ends. */
function* endOf(op: Op<unknown>): Routine<unknown> {
  try {
    return yield* moveOnAfter(60_000, () => op, 'waits for ever')
  } catch (error) {
    return (error as Error).name
  }
}

/** A supervisor whose child has failed and waits for its restart. */
function* waitingForRestart(): Routine<{ supervisor: Fiber; child: Fiber }> {
  const child = spin('child', function* () {
    yield* sleep(10)
    throw new Error('down')
  })
  const supervisor = spin('supervisor', () => supervise([child], { restart: 'onError', backoff: 1000 }))
  yield* sleep(20)
  return { supervisor, child }
}

describe('those who wait for an incarnation that never comes', () => {
  test('S39 a call to a child that waits for its restart fails when its supervisor is stopped', () =>
    virtual(function* () {
      const { supervisor, child } = yield* waitingForRestart()
      const caller = spin(() => endOf(call(child, 'hello?')))
      yield* sleep(5)
      yield* supervisor.stop()
      assert.equal(yield* caller, 'FiberStopped')
      assert.equal(child.send('anybody?'), false)
    }))

  test('S39 a call, and a push that waits for room, end when the restart is called off', () =>
    virtual(function* () {
      const { supervisor, child } = yield* waitingForRestart()
      child.mailbox.cap(1)
      child.send('fits')
      const pusher = spin(() => endOf(child.mailbox.push('does not fit')))
      const caller = spin(() => endOf(call(child, 'hello?')))
      yield* sleep(5)
      child.stop()
      assert.equal(yield* caller, 'FiberStopped')
      assert.equal(yield* pusher, false)
      yield* supervisor
    }))

  test('S39 S41 a call for the next incarnation fails when a stop, or an error of the teardown, cancels the restart', () =>
    virtual(function* () {
      const slowToEnd = (error?: Error) =>
        ensure(
          () => sleep(),
          function* () {
            yield* sleep(10)
            if (error !== undefined) throw error
          },
        )
      const stopped = spin(slowToEnd)
      const failed = spin({ link: false }, slowToEnd, new Error('teardown'))
      yield* sleep(1)
      stopped.restart()
      failed.restart()
      const callers = [stopped, failed].map((fiber) => spin(() => endOf(call(fiber, 'hello?'))))
      yield* sleep(1)
      stopped.stop()
      assert.deepEqual(yield* Fiber.await(...callers), ['FiberStopped', 'FiberStopped'])
    }))

  test('S44 a supervisor struck in the middle of a group restart leaves no child that seems to wait for one', () =>
    virtual(function* () {
      const fibers = ['a', 'b', 'c'].map((name) =>
        spin(name, function* () {
          yield* sleep(name === 'b' ? 10 : 60_000)
          throw new Error(name)
        }),
      )
      const supervisor = spin('supervisor', () =>
        supervise(fibers, {
          restart: 'onError',
          strategy: 'oneForAll',
          onDone: (fiber) => (fiber.name === 'a' ? sleep(100) : undefined),
        }),
      )
      yield* sleep(20)
      yield* supervisor.stop()
      assert.deepEqual(
        fibers.map((fiber) => fiber.send('anybody?')),
        [false, false, false],
      )
    }))
})

describe('supervision', () => {
  test('S22 a back-off that throws does not hide the error it should have answered', () =>
    virtual(function* () {
      const child = spin('child', function* () {
        yield* sleep(10)
        throw new Error('down')
      })
      const backoff = () => {
        throw new Error('no idea')
      }
      const error = yield* thrownBy(supervise([child], { restart: 'onError', backoff }))
      assert.equal(error.message, 'no idea')
      assert.deepEqual(suppressedErrors(error).map(String), ['Error: down'])
      assert.equal(child.send('anybody?'), false)
    }))

  test('S22 a restart that is impossible does not hide the error it should have answered', () =>
    virtual(function* () {
      let orphan!: Fiber
      yield* spin(function* () {
        orphan = spin({ link: false }, function* () {
          throw new Error('down')
        })
        yield* orphan.join()
      })
      const error = yield* thrownBy(supervise([orphan], { onDone: () => 'restart' }))
      assert.match(error.message, /cannot be restarted: its parent is over/)
      assert.deepEqual(suppressedErrors(error).map(String), ['Error: down'])
    }))

  for (const [what, options] of [
    ['at once', {}],
    ['each in its own time', { backoff: 1000, jitter: 1 }],
  ] as const) {
    test(`S43 restarting many children ${what} takes time in proportion to their number`, async () => {
      const cost = async (count: number): Promise<number> => {
        const before = process.cpuUsage()
        await virtual(function* () {
          const failed = new Set<number>()
          function* fickle(n: number) {
            yield* sleep(10)
            if (failed.has(n)) return
            failed.add(n)
            throw new Error('once')
          }
          for (let n = 0; n < count; n++) spin(fickle, n)
          yield* supervise({ restart: 'onError', intensity: { restarts: Infinity }, ...options })
        })
        const { user, system } = process.cpuUsage(before)
        return user + system
      }
      await cost(500)
      const few = await cost(1000)
      const many = await cost(16_000)
      assert.ok(many < few * 16 * 4, `${few} µs for 1000, ${many} µs for 16 times as many`)
    })
  }
})

describe('combinators', () => {
  test('retry tries again inside the cleanup of a stop as well', () =>
    virtual(function* () {
      let tries = 0
      const fiber = spin(function* () {
        try {
          yield* sleep()
        } finally {
          yield* retry(function* () {
            yield* sleep(1)
            if (++tries < 3) throw new Error('not yet')
          })
        }
      })
      yield* sleep(1)
      assert.equal((yield* fiber.stop()).type, 'stopped')
      assert.equal(tries, 3)
    }))

  test('S41 a worker of forEach that is restarted in the middle of an item makes it fail, not wait for ever', () =>
    virtual(function* () {
      const host = Fiber.current
      let isFirst = true
      function* body() {
        const worker = Fiber.current
        if (isFirst) host.spin(() => void worker.restart())
        isFirst = false
        yield* sleep(5)
      }
      assert.equal(yield* endOf(forEach([1, 2, 3], body)), 'FiberStopped')
    }))

  test('S60 what the body of forEach uses is let go when its item is done', () =>
    virtual(function* () {
      const log: string[] = []
      yield* forEach([1, 2], function* (n) {
        yield* use(n, function* () {
          yield* sleep(5)
          log.push(`closed ${n}`)
        })
        spin(() => use(n, () => void log.push(`closed by a child of ${n}`)))
        yield* sleep(1)
        log.push(`used ${n}`)
      })
      assert.deepEqual(log, [
        'closed by a child of 1',
        'used 1',
        'closed 1',
        'closed by a child of 2',
        'used 2',
        'closed 2',
      ])
    }))

  test('S22 S60 errors of what an item used are thrown by forEach, all of them', () =>
    virtual(function* () {
      const broken = (message: string) => () => {
        throw new Error(message)
      }
      const error = yield* thrownBy(
        forEach([1, 2], function* (n) {
          yield* use(n, broken('first opened'))
          yield* use(n, broken('last opened'))
        }),
      )
      assert.equal(error.message, 'last opened')
      assert.deepEqual(suppressedErrors(error).map(String), ['Error: first opened'])
    }))

  test('listeners of an item of forEach, and those who ask it, are let go when it is done', () =>
    virtual(function* () {
      const emitter = new EventEmitter()
      const counts: number[] = []
      const callers: Fiber<unknown>[] = []
      const asked = Fiber.current
      yield* forEach([1, 2, 3], function* () {
        on(emitter, 'news')
        counts.push(emitter.listenerCount('news'))
        const worker = Fiber.current
        if (counts.length === 1) callers.push(asked.spin(() => endOf(call(worker, 'hello?'))))
        yield* sleep(1)
      })
      assert.deepEqual(counts, [1, 1, 1])
      assert.equal(yield* callers[0] as Fiber<unknown>, 'FiberStopped')
    }))
})

describe('the async world', () => {
  const endless = (more: object): AsyncIterable<number> => ({
    [Symbol.asyncIterator]: () => ({ next: async () => ({ value: 1, done: false }), ...more }),
  })

  test('S59 an async iterator whose return() gives no promise is left in peace', () =>
    virtual(function* () {
      for (const given of [{ done: true }, null, undefined, 5]) {
        yield* each(endless({ return: () => given }), () => false)
      }
    }))

  test('S59 an async iterator whose result throws when it is read fails, and nothing is left unhandled', () =>
    virtual(function* () {
      const next = async () => ({
        get done(): boolean {
          throw new Error('unreadable')
        },
      })
      const error = yield* thrownBy(each(endless({ next }), () => {}))
      assert.equal(error.message, 'unreadable')
    }))

  /** Says something while a listener is being added. */
  class Hasty extends EventEmitter {
    constructor(
      private readonly at: string,
      private readonly args: unknown[] = [],
    ) {
      super()
    }
    override on(event: string, listener: (...args: any[]) => void): this {
      super.on(event, listener)
      if (event === this.at) this.emit(event, ...this.args)
      return this
    }
    get count(): number {
      return this.eventNames().length
    }
  }

  test('S58 an emitter that ends or fails while listeners are being added keeps none of them', () =>
    virtual(function* () {
      const ending = new Hasty('end')
      assert.equal(yield* on(ending, 'data', { end: 'end' }).next(), END)
      assert.equal(ending.count, 0)
      const failing = new Hasty('error', [new Error('at once')])
      assert.equal((yield* thrownBy(on(failing, 'data', { end: 'end' }).next())).message, 'at once')
      assert.equal((yield* thrownBy(once(failing, 'data'))).message, 'at once')
      assert.equal(failing.count, 0)
    }))

  test('S58 a listener that cannot be removed does not keep the others', async () => {
    class Clinging extends EventEmitter {
      override removeListener(event: string, listener: (...args: any[]) => void): this {
        super.removeListener(event, listener)
        throw new Error('cannot let go')
      }
    }
    const emitter = new Clinging()
    await virtual(function* () {
      yield* on(emitter, 'data', { end: 'end' }).close()
    })
    assert.deepEqual(emitter.eventNames(), [])
  })
})

describe('cleanup in use', () => {
  const disposers: Record<string, () => Op<unknown>> = {
    all: () => all([() => sleep(5), () => 2]),
    race: () => race([() => sleep(5), () => sleep(2)]),
    forEach: () => forEach([1, 2, 3], () => sleep(1), { concurrency: 2 }),
    scope: () =>
      scope(function* () {
        spin(() => sleep(3))
      }),
    supervise: () => supervise([{ body: () => sleep(4) }]),
    spin: () =>
      ensure(
        () => spin(() => sleep(3)).name,
        () => {},
      ),
  }
  for (const [name, dispose] of Object.entries(disposers)) {
    test(`S06 S60 what is disposed of at the end of a fiber may use ${name}`, () =>
      virtual(function* () {
        const log: string[] = []
        function* user(ending: string) {
          yield* use('first', () => void log.push(`first of ${ending}`))
          yield* use('second', () =>
            ensure(dispose, () => {
              log.push(`second of ${ending}`)
            }),
          )
          if (ending === 'stopped') yield* sleep()
          if (ending === 'failed') throw new Error('failed')
        }
        const endings = ['returned', 'stopped', 'failed']
        const fibers = endings.map((ending) => spin({ link: false }, user, ending))
        yield* sleep(1)
        fibers[1]?.stop()
        const types = []
        for (const fiber of fibers) types.push((yield* fiber.join()).type)
        assert.deepEqual(types, ['value', 'stopped', 'error'])
        assert.deepEqual(
          log.sort(),
          endings.flatMap((ending) => [`first of ${ending}`, `second of ${ending}`]).sort(),
        )
      }))
  }

  test('S22 S60 a child of a cleanup that fails makes its fiber fail, and the other cleanups run', () =>
    virtual(function* () {
      const log: string[] = []
      const fiber = spin({ link: false }, function* () {
        yield* use('first', () => void log.push('first'))
        yield* use('second', function* () {
          spin(function* () {
            yield* sleep(1)
            throw new Error('child of the cleanup')
          })
          yield* sleep(5)
          log.push('never')
        })
      })
      const outcome = yield* fiber.join()
      assert.equal(outcome.type === 'error' && String(outcome.error), 'Error: child of the cleanup')
      assert.deepEqual(log, ['first'])
    }))

  test('S18 S19 S60 a killed fiber waits for the children of a cleanup that was forced, and still begins the others', () =>
    virtual(function* () {
      const log: string[] = []
      const fiber = spin(function* () {
        yield* use('first', () => void log.push('first'))
        yield* use('second', function* () {
          spin('child', function* () {
            try {
              yield* sleep()
            } finally {
              log.push('child')
            }
          })
          yield* sleep()
        })
      })
      yield* sleep(5)
      const outcome = yield* fiber.kill()
      assert.equal(outcome.type, 'value')
      assert.deepEqual(log.sort(), ['child', 'first'])
    }))
})

// Hostile programs, fourth round: locks, pools, messages and rates, misused from within and from without.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  BadArgument,
  BadState,
  BadYield,
  type Call,
  call,
  Fiber,
  Mutex,
  moveOnAfter,
  NotInFiber,
  now,
  type Op,
  ResourcePool,
  type Routine,
  receive,
  receiveAllPending,
  Semaphore,
  scope,
  shield,
  sleep,
  snooze,
  spin,
  spinLoop,
  suppressedErrors,
  suspend,
  Throttler,
  tryReceive,
} from 'polyphony'
import { virtual } from 'polyphony/testing'
import { thrownBy } from './prelude.js'

/** A body that never lets go. */
function* clinging(): Routine<never> {
  for (;;) {
    // biome-ignore lint/suspicious/noConfusingLabels: a plain `continue` would be taken for a useless one
    hold: try {
      yield* sleep(1000)
    } finally {
      // biome-ignore lint/correctness/noUnsafeFinally: that is the point
      break hold
    }
  }
}

describe('what a body gave back by hand', () => {
  const locks = {
    'a lock': () => {
      const mutex = new Mutex()
      return {
        enter: (body: () => Routine<any>) => mutex.synchronize(body),
        giveBack: () => mutex.unlock(),
        isFree: () => !mutex.isLocked,
      }
    },
    'a permit': () => {
      const semaphore = new Semaphore(1)
      return {
        enter: (body: () => Routine<any>) => semaphore.acquire(body),
        giveBack: () => semaphore.release(),
        isFree: () => semaphore.available === 1,
      }
    },
  }
  for (const [name, make] of Object.entries(locks)) {
    test(`S70 ${name}: giving it back again when its fiber is abandoned harms nobody`, () =>
      virtual(function* () {
        const { enter, giveBack, isFree } = make()
        const fiber = spin(() =>
          enter(function* () {
            giveBack()
            yield* clinging()
          }),
        )
        yield* snooze()
        fiber.kill()
        assert.equal((yield* fiber.join()).type, 'abandoned')
        assert.ok(isFree())
      }))

    test(`S70 ${name}: nor when a block is abandoned`, () =>
      virtual(function* () {
        const { enter, giveBack, isFree } = make()
        const body = function* () {
          giveBack()
          yield* clinging()
        }
        assert.equal(yield* moveOnAfter(10, () => enter(body), { value: 'over', grace: 0 }), 'over')
        assert.ok(isFree())
      }))

    test(`S22 ${name}: the error of the body is thrown, and that of giving it back twice kept beside it`, () =>
      virtual(function* () {
        const { enter, giveBack } = make()
        const error = new Error('of the body')
        const failing = function* () {
          giveBack()
          yield* snooze()
          throw error
        }
        assert.equal(yield* thrownBy(enter(failing)), error)
        assert.ok(suppressedErrors(error)[0] instanceof BadState)
        const careless = function* () {
          giveBack()
        }
        assert.ok((yield* thrownBy(enter(careless))) instanceof BadState)
      }))
  }
})

test('a lock that a body has left behind goes to the next in line before the children of its fiber are dead', () =>
  virtual(function* () {
    const mutex = new Mutex()
    const waits: number[] = []
    const forgetful = spin(function* () {
      yield* mutex.lock()
      spin(() =>
        shield(function* () {
          yield* mutex.lock()
          waits.push(now())
          yield* sleep(10)
          mutex.unlock()
        }),
      )
      yield* sleep(1)
    })
    yield* snooze()
    yield* snooze()
    const stranger = spin(() => mutex.synchronize(() => waits.push(now())))
    const begin = now()
    yield* forgetful
    yield* stranger
    assert.deepEqual(
      waits.map((time) => time - begin),
      [1, 11],
    )
  }))

describe('left in the wrong order', () => {
  type Wrap = (body: () => Op<unknown>) => Op<unknown>
  const blocks: Record<string, Wrap> = {
    synchronize: (body) => new Mutex().synchronize(body),
    acquire: (body) => new Semaphore(1).acquire(body),
    moveOnAfter: (body) => moveOnAfter(1000, body),
    scope: (body) => scope(body),
  }
  for (const [outerName, outer] of Object.entries(blocks)) {
    for (const [innerName, inner] of Object.entries(blocks)) {
      test(`S61 ${outerName} before ${innerName}: a BadState, and the fiber stays sound`, () =>
        virtual(function* () {
          const errors: unknown[] = []
          const around = (function* () {
            yield* outer(() => suspend())
          })()
          around.next() // by hand: it stays open when the next one begins
          try {
            yield* snooze()
          } catch (error) {
            assert.ok(error instanceof BadYield)
          }
          yield* inner(function* () {
            try {
              around.return()
            } catch (error) {
              errors.push(error)
            }
            yield* snooze()
          })
          assert.ok(errors[0] instanceof BadState, String(errors[0]))
          assert.equal(yield* moveOnAfter(5, () => sleep(10), 'sound'), 'sound')
        }))
    }
  }
})

/** A pool of numbers, and how many there have been. */
function counting(settings: { idleTimeout: number }) {
  const create = { calls: 0 }
  return { create, pool: new ResourcePool({ limit: 1, ...settings, create: () => ++create.calls }) }
}

describe('pools', () => {
  test('a pool takes one create, and times that are times', () => {
    const create = () => 1
    const make: any = (...args: any[]) => new (ResourcePool as any)(...args)
    assert.throws(() => make({ limit: 1, create }, () => 2), BadArgument)
    assert.throws(() => make({ limit: 1, create, acquireTimeout: null }), BadArgument)
  })

  test('what is used outside any fiber says what it was', () => {
    const pool = new ResourcePool({ limit: 1, name: 'db', create: () => 1 })
    const outside: [() => unknown, RegExp][] = [
      [() => [...pool.close()], /^close\(\) of the pool db was used outside/],
      [() => [...pool.fill()], /^fill\(\) of the pool db was used outside/],
      [() => new Throttler(1).tryWait(), /^throttler.tryWait\(\) was used outside/],
    ]
    for (const [use, message] of outside) {
      assert.throws(use, (error) => error instanceof NotInFiber && message.test(error.message))
    }
    assert.equal(pool.isClosed, false)
  })

  test('closing a pool inside its own create is refused: it would wait for itself', () =>
    virtual(function* () {
      const pool: ResourcePool<number> = new ResourcePool({
        limit: 1,
        create: function* (): Routine<number> {
          yield* pool.close()
          return 1
        },
      })
      const error = yield* thrownBy(pool.acquire(() => {}))
      assert.ok(error instanceof BadState)
      assert.match(error.message, /cannot close a pool inside acquire\(\)/)
      assert.equal(pool.isClosed, false)
      assert.equal(pool.size, 0)
    }))

  test('a resource whose time has come is not handed out, even if the timer that ends it is late', async () => {
    const { create, pool } = counting({ idleTimeout: 20 })
    await virtual(function* () {
      assert.equal(yield* pool.acquire((resource) => resource), 1)
      ;(Fiber.current as any).runtime.backend.time += 30 // no timer fires meanwhile
      assert.equal(yield* pool.acquire((resource) => resource), 2)
      assert.equal(pool.stats().destroyed, 1)
      yield* pool.close()
    })
    assert.equal(create.calls, 2)
  })

  /** How many steps it takes to end so many idle resources, as time. */
  function* timeToEnd(n: number, end: (pool: ResourcePool<object>) => Routine<void>): Routine<number> {
    const pool = new ResourcePool({ limit: n, create: () => ({}), idleTimeout: 100 })
    yield* pool.fill()
    const begin = process.cpuUsage()
    yield* end(pool)
    assert.equal(pool.stats().destroyed, n)
    const { user, system } = process.cpuUsage(begin)
    return user + system
  }
  const ends: Record<string, (pool: ResourcePool<object>) => Routine<void>> = {
    *closing(pool) {
      yield* pool.close()
    },
    *'the idle time-out'() {
      yield* sleep(200)
    },
  }
  for (const [name, end] of Object.entries(ends)) {
    test(`${name} of ten times as many idle resources does not take a hundred times as long`, () =>
      virtual(function* () {
        yield* timeToEnd(3000, end)
        const few = yield* timeToEnd(3000, end)
        const many = yield* timeToEnd(30_000, end)
        assert.ok(many < 40 * few + 200_000, `${few} µs, then ${many} µs`)
      }))
  }
})

describe('messages', () => {
  test('S40 a match that receives is refused, and no message is lost or doubled', () =>
    virtual(function* () {
      for (const n of [1, 2, 3]) Fiber.current.send(n)
      const greedy = () => {
        tryReceive()
        return true
      }
      assert.ok((yield* thrownBy(receive(greedy))) instanceof NotInFiber)
      assert.deepEqual(receiveAllPending(), [1, 2, 3])
    }))

  test("S40 a match runs in nobody's name, whether the message was there before or comes later", () =>
    virtual(function* () {
      const seen: unknown[] = []
      const looking = (message: string) => {
        try {
          seen.push(Fiber.current.name)
        } catch (error) {
          seen.push((error as Error).name)
        }
        return message !== ''
      }
      const fiber = spin(function* () {
        yield* receive(looking)
        yield* receive(looking)
      })
      fiber.send('before')
      yield* snooze()
      fiber.send('later')
      yield* fiber
      assert.deepEqual(seen, ['NotInFiber', 'NotInFiber'])
    }))

  test('S39 a match may answer the very question it looks at', () =>
    virtual(function* () {
      const fiber: Fiber<void, Call<string, number>> = spin(function* () {
        yield* receive((question: Call<string, number>) => question.reply(42))
        yield* sleep(100)
      })
      yield* snooze()
      assert.equal(yield* call(fiber, 'what?', { timeout: 1000 }), 42)
      assert.equal((fiber as any).cold?.atEnd?.size ?? 0, 0)
    }))

  test('S52 a match that stops the fiber whose message it looks at costs nobody else their place', () =>
    virtual(function* () {
      const first = spin(() => fiber.mailbox.push('first'))
      const second = spin(() => fiber.mailbox.push('second'))
      const fiber: Fiber<string[], string> = spin(function* () {
        yield* sleep(10)
        const found = yield* moveOnAfter(
          10,
          () =>
            receive((message: string) => {
              if (message === 'first') first.stop()
              return message === 'first'
            }),
          'nothing',
        )
        assert.equal(fiber.mailbox.stats().pushing, 1)
        return [found, yield* receive(), yield* receive()]
      })
      fiber.mailbox.cap(1)
      fiber.send('full')
      assert.deepEqual(yield* fiber, ['nothing', 'full', 'second'])
      assert.equal(yield* second, true)
    }))
})

describe('rates', () => {
  test('a rate so small that its interval is no number any more is refused', () => {
    for (const rate of [Number.MIN_VALUE, 1e-306]) {
      assert.throws(() => new Throttler(rate), BadArgument)
    }
  })

  test('spinLoop refuses wrong options by name, with all that there are', () =>
    virtual(function* () {
      const wrong: [unknown, RegExp][] = [
        [null, /spinLoop\(\) needs an object of options, got null/],
        [10, /spinLoop\(\) needs an object of options, got 10/],
        [{ nmae: 'x' }, /spinLoop\(\) has no option "nmae"; there are: .*\bname\b/],
        [{ name: 5 }, /spinLoop\(\) needs a name that is a string, got 5/],
      ]
      for (const [options, message] of wrong) {
        const error = yield* thrownBy({
          *[Symbol.iterator](): any {
            spinLoop(() => false, options as any)
          },
        })
        assert.ok(error instanceof BadArgument)
        assert.match(error.message, message)
      }
    }))
})

// all and allSettled: several things at once, and all of them wanted.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  all,
  allSettled,
  BadArgument,
  DeadlockError,
  Fiber,
  FiberStopped,
  isStop,
  moveOnAfter,
  type Routine,
  run,
  sleep,
  spin,
  suppressedErrors,
  suspend,
  until,
} from 'polyphony'
import { virtual } from 'polyphony/testing'
import { failAfter, program, thrownBy, turns } from '../prelude.js'
import { clock } from '../time/clock.js'

/** Gives a value after a while. */
function* later<T>(ms: number, value: T): Routine<T> {
  yield* sleep(ms)
  return value
}

/** Waits for ever; its cleanup takes a while, and may fail. */
function* lasting(log: string[], name: string, ms = 0, error?: Error): Routine<never> {
  try {
    return yield* suspend<never>()
  } finally {
    yield* sleep(ms)
    log.push(name)
    // biome-ignore lint/correctness/noUnsafeFinally: that is the point
    if (error !== undefined) throw error
  }
}

describe('all', () => {
  it('gives the values of ops, bodies and fibers in order, and takes as long as the slowest', () =>
    virtual(function* () {
      const now = clock()
      const fiber = spin(later, 20, 'fiber')
      const values = yield* all([
        later(30, 'op'),
        () => later(10, 'body'),
        fiber,
        () => 'plain',
        function* () {},
        () => fiber, // a body that returns a fiber gives its value
      ])
      assert.deepEqual(values, ['op', 'body', 'fiber', 'plain', undefined, 'fiber'])
      assert.equal(now(), 30)
    }))

  it('gives [] for nothing', () =>
    virtual(function* () {
      assert.deepEqual(yield* all([]), [])
      assert.deepEqual(yield* allSettled([]), [])
    }))

  it('runs each in a child, which the tree shows by its name or its place in the list', () =>
    virtual(function* () {
      function* reader() {
        yield* sleep(10)
      }
      const me = Fiber.current
      const looker = spin(function* () {
        yield* sleep(5)
        return me.children.map(({ name }) => name)
      })
      yield* all([reader, sleep(10), () => sleep(10)])
      assert.deepEqual((yield* looker).slice(1), ['reader', 'all[1]', 'all[2]'])
    }))

  it('says what it waits for', () =>
    virtual(function* () {
      const fiber = spin(() => all([10, 20, 30, 40, 50].map((ms) => sleep(ms))))
      yield* sleep(1)
      assert.equal(fiber.waitsFor, 'all(): all[0], all[1], all[2] and 2 more')
      yield* fiber
    }))

  it('S23 S28 the first error stops the others, waits for them, and is thrown', () =>
    virtual(function* () {
      const now = clock()
      const log: string[] = []
      const error = new Error('broken')
      const thrown = yield* thrownBy(
        all([() => lasting(log, 'one', 20), () => failAfter(10, error), () => lasting(log, 'two', 5)]),
      )
      assert.equal(thrown, error)
      assert.deepEqual(log, ['two', 'one'])
      assert.equal(now(), 30)
      assert.deepEqual(Fiber.current.children, [])
    }))

  it('S22 what the others throw as they are stopped is suppressed, in the order in which it came', () =>
    virtual(function* () {
      const [first, second, third] = [new Error('1'), new Error('2'), new Error('3')]
      const thrown = yield* thrownBy(
        all([
          () => lasting([], 'a', 20, third),
          () => failAfter(10, first),
          () => lasting([], 'b', 5, second),
        ]),
      )
      assert.equal(thrown, first)
      assert.deepEqual(new Set(suppressedErrors(first)), new Set([second, third]))
    }))

  it('S31 a fiber that is not ours is awaited, never stopped; its error is thrown once', () =>
    virtual(function* () {
      const error = new Error('theirs')
      const theirs = spin(() => failAfter(5, error))
      const other = spin(later, 20, 'alive')
      const log: string[] = []
      assert.equal(yield* thrownBy(all([theirs, other, () => lasting(log, 'ours')])), error)
      assert.deepEqual(log, ['ours'])
      yield* sleep(1) // S25: it does not come up again
      assert.equal(other.state, 'waiting')
      assert.equal(yield* other, 'alive')
    }))

  it('S31 one that was stopped without a value throws FiberStopped; stop(value) gives a value', () =>
    virtual(function* () {
      const stopped = spin(() => suspend())
      stopped.stop()
      assert.ok((yield* thrownBy(all([stopped]))) instanceof FiberStopped)
      const given = spin(() => suspend())
      given.stop('enough')
      assert.deepEqual(yield* all([given]), ['enough'])
    }))

  it('fibers that are dead already count as they ended', () =>
    virtual(function* () {
      const value = spin(() => 1)
      const broken = spin({ link: false }, () => {
        throw new Error('dead')
      })
      yield* value
      yield* broken.join()
      assert.deepEqual(yield* all([value, () => 2]), [1, 2])
      let ran = false
      const thrown = yield* thrownBy(all([broken, () => void (ran = true)]))
      assert.equal(thrown.message, 'dead')
      assert.equal(ran, false)
    }))

  it('S28 stopped itself, it stops its members and waits for them', () =>
    virtual(function* () {
      const now = clock()
      const log: string[] = []
      const theirs = spin(later, 100, 'theirs')
      const fiber = spin(() => all([() => lasting(log, 'a', 10), () => lasting(log, 'b', 20), theirs]))
      yield* sleep(5)
      const outcome = yield* fiber.stop()
      assert.deepEqual(outcome, { type: 'stopped', value: undefined })
      assert.deepEqual([log, now()], [['a', 'b'], 25])
      assert.equal(yield* theirs, 'theirs')
    }))

  it('a time limit around it ends its members, and the fiber lives on', () =>
    virtual(function* () {
      const log: string[] = []
      const value = yield* moveOnAfter(10, () => all([() => lasting(log, 'a', 5), sleep(1000)]), 'moved on')
      assert.equal(value, 'moved on')
      assert.deepEqual(log, ['a'])
      assert.deepEqual(Fiber.current.children, [])
    }))

  it('S22 a cleanup that fails as it is stopped makes the outcome', () =>
    virtual(function* () {
      const error = new Error('in cleanup')
      const fiber = spin({ link: false }, () =>
        all([() => lasting([], 'a', 5, error), () => lasting([], 'b')]),
      )
      yield* sleep(1)
      assert.deepEqual(yield* fiber.stop(), { type: 'error', error })
    }))

  it('a kill leaves nobody behind', () =>
    virtual(function* () {
      const log: string[] = []
      const fiber = spin(() => all([() => lasting(log, 'a', 10), sleep(1000)]))
      yield* sleep(5)
      assert.deepEqual(yield* fiber.kill(), { type: 'stopped', value: undefined })
      assert.deepEqual(log, []) // no time for a cleanup that waits
    }))

  it('can be waited for again, and runs everything again', () =>
    virtual(function* () {
      let count = 0
      const twice = all([() => ++count, () => sleep(1)])
      assert.deepEqual(yield* twice, [1, undefined])
      assert.deepEqual(yield* twice, [2, undefined])
    }))

  it('the list may change after the call', () =>
    virtual(function* () {
      const list = [() => 1, () => 2]
      const op = all(list)
      list.pop()
      assert.deepEqual(yield* op, [1, 2])
    }))

  it('S32 a fiber that is to await itself is told so at once', () =>
    virtual(function* () {
      const thrown = yield* thrownBy(all([Fiber.current, () => 1]))
      assert.ok(thrown instanceof DeadlockError)
      assert.match(thrown.message, /awaits itself in all\(\)/)
    }))

  it('wrong items are refused at the call, by their place, with what to write instead', () =>
    virtual(function* () {
      const rejected = Promise.reject(new Error('nobody waits for it'))
      const wrong: [unknown, RegExp][] = [
        [[() => 1, rejected], /item 1 of all\(\) is a promise.*until\(promise\)/],
        [[5], /item 0 of all\(\) must be an op, a body or a fiber, got 5.*until\(promise\).*\(\) => value/],
        [[[1, 2]], /item 0 of all\(\) must be .* an array of 2/],
        [['text'], /item 0 .* got "text"/],
        [[null], /item 0 .* got null/],
        [[undefined], /item 0 .* got undefined/],
        [[new Map()], /item 0 .* class Map/],
        [[() => 1, async () => 1], /item 1 of all\(\) was given the async function.*until\(promise\)/],
        [() => 1, /all\(\) needs an array of ops or bodies, got a function/],
        [undefined, /needs an array/],
        [new Array(1), /item 0 .* got undefined/],
      ]
      for (const [list, message] of wrong) {
        assert.throws(
          () => all(list as any),
          (error) => error instanceof BadArgument && message.test(error.message),
        )
      }
      yield* until(new Promise((resolve) => setImmediate(resolve)))
    }))

  it('a body that returns a promise fails with what to write instead', () =>
    virtual(function* () {
      const thrown = yield* thrownBy(all([(() => Promise.resolve(1)) as any]))
      assert.match(thrown.message, /returned a promise.*until\(promise\)/)
    }))
})

describe('allSettled', () => {
  it('tells how each one ended, in order, and never throws for a member', () =>
    virtual(function* () {
      const error = new Error('broken')
      const stopped = spin(() => suspend())
      const theirs = spin(() => failAfter(1, error))
      stopped.stop('enough')
      assert.deepEqual(yield* allSettled([later(20, 1), () => failAfter(10, error), stopped, theirs]), [
        { type: 'value', value: 1 },
        { type: 'error', error },
        { type: 'stopped', value: 'enough' },
        { type: 'error', error },
      ])
      yield* sleep(1) // none of it comes up again
    }))

  it('an error does not stop the others', () =>
    virtual(function* () {
      const now = clock()
      yield* allSettled([() => failAfter(1, new Error('early')), later(50, 1)])
      assert.equal(now(), 50)
    }))

  it('stopped itself, it forgets the errors it would have told, but not those of a cleanup', () =>
    virtual(function* () {
      const fiber = spin(() => allSettled([() => failAfter(1, new Error('told')), () => suspend()]))
      yield* sleep(5)
      assert.deepEqual(yield* fiber.stop(), { type: 'stopped', value: undefined })
      const error = new Error('in cleanup')
      const other = spin({ link: false }, () =>
        allSettled([() => lasting([], 'a', 1, error), () => suspend()]),
      )
      yield* sleep(5)
      assert.deepEqual(yield* other.stop(), { type: 'error', error })
    }))
})

describe('outside the virtual world', () => {
  it('promises in the list are waited for together', async () => {
    const wait = (n: number) => turns(n).then(() => n)
    assert.deepEqual(await run(() => all([until(wait(2)), until(wait(1))])), [2, 1])
  })

  it('debug mode finds nothing that was made and never waited for', async () => {
    const { code, stdout, stderr } = await program(
      `
      import { all, allSettled, any, each, forEach, main, race, retry, sleep, spin } from 'polyphony'
      main(function* () {
        yield* all([sleep(1), () => sleep(1)])
        yield* allSettled([sleep(1), () => sleep(1)])
        yield* race([sleep(1), sleep(2)])
        yield* any([sleep(1), sleep(2)])
        yield* each((async function* () { yield 1 })(), () => sleep(1))
        yield* forEach([1, 2], () => sleep(1))
        yield* forEach((async function* () { yield 1 })(), () => sleep(1), { concurrency: 2 })
        yield* retry(() => sleep(1))
        const stopped = spin(function* () {
          const members = all([sleep(1), sleep(2)])
          stopped.stop()
          yield* members
        })
        yield* stopped.join()
        console.log('done')
      })`,
      { POLYPHONY_DEBUG: '1' },
    )
    assert.deepEqual([code, stdout], [0, 'done\n'])
    assert.doesNotMatch(stderr, /never waited for/) // a busy machine may be told that a fiber was slow
  })

  it('S58 a promise that is handed over is taken care of, however long its member has to wait for its turn', async () => {
    const { code, stdout, stderr } = await program(`
      import { all, run, spin, until } from 'polyphony'
      await run(function* () {
        spin(() => {
          const begin = Date.now()
          while (Date.now() - begin < 100);
        })
        try {
          yield* all([until(Promise.reject(new Error('boom')))])
        } catch (error) {
          console.log('caught', error.message)
        }
      })`)
    assert.deepEqual([code, stdout, stderr], [0, 'caught boom\n', ''])
  })

  it('S58 a promise that nobody came to wait for, because of a stop, is taken care of', async () => {
    const seen: unknown[] = []
    const listener = (error: unknown) => seen.push(error)
    process.on('unhandledRejection', listener)
    try {
      await run(function* () {
        const fiber = spin(function* () {
          Fiber.current.stop()
          try {
            yield* all([until(Promise.reject(new Error('left out'))), () => 1])
          } catch (error) {
            assert.ok(isStop(error))
            throw error
          }
        })
        yield* fiber.join()
        const other = spin(function* () {
          // The members are spun, and stopped before they run.
          const me = Fiber.current
          spin(() => void me.stop())
          yield* all([until(Promise.reject(new Error('left out too')))])
        })
        yield* other.join()
        yield* until(new Promise((resolve) => setImmediate(resolve)))
      })
      await new Promise((resolve) => setImmediate(resolve))
      assert.deepEqual(seen, [])
    } finally {
      process.off('unhandledRejection', listener)
    }
  })
})

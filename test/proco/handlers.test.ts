// What may be a handler, what it may return and throw, and what is refused.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { BadArgument, BadYield, Fiber, type Op, sleep, snooze, spin, suspend, until } from 'polyphony'
import { MissingResult, Proco } from 'polyphony/proco'
import { virtual } from 'polyphony/testing'
import { thrownBy } from '../prelude.js'
import { addUp } from '../shared/proco.js'

/** Starts with a handler that the compiler would refuse, or not know. */
const start = (handler: unknown) => Proco.new<any, any>().start(handler as () => unknown)

type Settle = (value: unknown) => void
/** Something that is no promise, and can be awaited. */
const thenable = (then: (yes: Settle, no: Settle) => void) =>
  Object.defineProperty({}, 'then', { value: then })

describe('a handler', () => {
  const doubling: Record<string, unknown> = {
    'a plain function': (n: number) => n * 2,
    'a generator function': function* (n: number) {
      yield* snooze()
      return n * 2
    },
    'a generator function that never waits': function* (n: number) {
      return n * 2
    },
    'a method of an object': {
      *double(n: number) {
        yield* sleep(1)
        return n * 2
      },
    }.double,
    'an async function': async (n: number) => {
      await null
      return n * 2
    },
    'a function that returns an op': (n: number) => until(Promise.resolve(n * 2)),
    'a function that returns a promise': (n: number) => Promise.resolve(n * 2),
    'a function that returns a thenable': (n: number) => thenable((yes) => yes(n * 2)),
    'a function that returns a fiber': (n: number) => spin(() => n * 2),
    'a function that returns a routine': (n: number) =>
      (function* () {
        yield* sleep(1)
        return n * 2
      })(),
    'a bound function': function (this: number, n: number) {
      return n * this
    }.bind(2),
  }
  for (const [what, handler] of Object.entries(doubling)) {
    it(`may be ${what}`, () =>
      virtual(function* () {
        const proco = start(handler)
        assert.equal(yield* proco.submit(21), 42)
        const futures = [1, 2, 3].map((n) => proco.trySubmit(n)!)
        for (const [i, future] of futures.entries()) assert.equal(yield* future.get(), (i + 1) * 2)
        yield* proco.exit()
      }))
  }

  it('may hand its item to another executor: what that gives is waited for in its fiber', () =>
    virtual(function* () {
      const inner = start(function* (n: number) {
        yield* sleep(10)
        return n + 1
      })
      const outer = start((n: number) => inner.submit(n))
      assert.equal(yield* outer.submit(1), 2)
      const future = yield* outer.submitAsync(1)
      yield* sleep(1)
      future.cancel()
      yield* outer.exit()
      assert.deepEqual([inner.stats().cancelled, inner.stats().depth], [1, 0])
      yield* inner.exit()
    }))

  it('returns values as they are: arrays, text, maps, functions, errors, undefined', () =>
    virtual(function* () {
      const values = [
        [1, 2],
        'text',
        new Map(),
        () => 1,
        new Error('value'),
        undefined,
        null,
        0,
        Symbol('s'),
        new Set([1]),
      ]
      const proco = start((i: number) => values[i])
      for (const [i, value] of values.entries()) assert.equal(yield* proco.submit(i), value)
      yield* proco.exit()
      assert.equal(proco.stats().done, values.length)
    }))

  it('is called with the item and its work, and nothing else', () =>
    virtual(function* () {
      const calls: unknown[][] = []
      const proco = start((...args: unknown[]) => void calls.push(args))
      yield* proco.submit('item')
      assert.equal(calls[0]!.length, 2)
      assert.equal(calls[0]![0], 'item')
      assert.ok((calls[0]![1] as any).signal instanceof AbortSignal)
      yield* proco.exit()
    }))

  it('may keep or change its array of items: nobody else has it', () =>
    virtual(function* () {
      const proco = Proco.batch(true)
        .results('each')
        .new<number, number>()
        .start((items) => items.splice(0).map((n) => n * 2))
      const futures = [1, 2, 3].map((n) => proco.trySubmit(n)!)
      for (const [i, future] of futures.entries()) assert.equal(yield* future.get(), (i + 1) * 2)
      yield* proco.exit()
    }))

  it('B1 must be a function, and not an async generator: refused at the call, and nothing is started', () => {
    const proco = Proco.new<any, any>({ name: 'mill' })
    for (const handler of [undefined, null, 1, 'text', {}, [], Promise.resolve(), async function* () {}]) {
      assert.throws(
        () => proco.start(handler as () => unknown),
        (error: unknown) => error instanceof BadArgument && /mill\.start\(\)/.test(error.message),
      )
      assert.equal(proco.state, 'idle')
    }
  })

  it('B8 that fails, in whichever way, fails its item and nothing else', () =>
    virtual(function* () {
      const error = new Error('mine')
      const ways: Record<string, unknown> = {
        'throws at once': () => {
          throw error
        },
        'throws in its fiber': function* () {
          yield* sleep(1)
          throw error
        },
        'throws before it waits': function* () {
          throw error
        },
        rejects: async () => {
          throw error
        },
        'rejects later': async () => {
          await null
          throw error
        },
        'returns an op that fails': () => until(Promise.reject(error)),
        'returns a thenable that rejects': () => thenable((_, no) => no(error)),
        'returns a thenable that throws': () =>
          thenable(() => {
            throw error
          }),
        'returns something whose then cannot be read': () =>
          Object.defineProperty({}, 'then', {
            get() {
              throw error
            },
          }),
        'returns a fiber that fails': () =>
          spin(function* () {
            yield* snooze()
            throw error
          }),
      }
      let way = ''
      const proco = start(function (this: unknown, item: string) {
        return item === 'fine' ? 'fine' : (ways[way] as (item: string) => unknown)(item)
      })
      for (way of Object.keys(ways)) {
        assert.equal(yield* thrownBy(proco.submit('fails')), error, way)
        assert.equal(yield* proco.submit('fine'), 'fine', way)
      }
      yield* proco.exit()
      const { done, failed } = proco.stats()
      assert.deepEqual([done, failed], [10, 10])
    }))

  it('that throws what is no error fails its item with just that, in every way of failing', () =>
    virtual(function* () {
      for (const thing of [undefined, null, 0, '', 'text', Symbol('s'), { stack: 1 }]) {
        for (const handler of [
          () => {
            throw thing
          },
          function* () {
            yield* snooze()
            throw thing
          },
          () => Promise.reject(thing),
        ]) {
          const proco = start(handler)
          const future = yield* proco.submitAsync(1)
          assert.equal(yield* thrownBy(future.get()), thing)
          assert.equal(future.state, 'failed')
          yield* proco.exit()
        }
      }
    }))

  it('that forgets a star, or yields something strange, fails its item with BadYield', () =>
    virtual(function* () {
      const proco = start(function* (what: string): Generator<any> {
        yield what === 'op' ? sleep(1) : Promise.resolve()
      })
      assert.ok((yield* thrownBy(proco.submit('op'))) instanceof BadYield)
      assert.ok((yield* thrownBy(proco.submit('promise'))) instanceof BadYield)
      yield* proco.exit()
    }))

  it('that throws its own Stop-like things does not end the executor', () =>
    virtual(function* () {
      const stopped = spin(() => suspend())
      yield* snooze()
      stopped.stop()
      const proco = start(function* (n: number) {
        if (n === 1) yield* stopped // throws FiberStopped
        return n
      })
      assert.equal((yield* thrownBy(proco.submit(1))).code, 'FIBER_STOPPED')
      assert.equal(yield* proco.submit(2), 2)
      yield* proco.exit()
    }))

  it('may have children and wait for them', () =>
    virtual(function* () {
      const proco = start(function* () {
        const children = [1, 2, 3].map((n) =>
          spin(function* () {
            yield* sleep(n)
            return n
          }),
        )
        return yield* Fiber.await(...children)
      })
      assert.deepEqual(yield* proco.submit(0), [1, 2, 3])
      yield* proco.exit()
    }))
})

describe("S78 results('each')", () => {
  const each = (handler: (items: number[]) => any, template = Proco.batch(true).results('each')) =>
    template.new<number, any>().start(handler)

  it('anything but an array of results: everybody is told, with what came instead', () =>
    virtual(function* () {
      let answer: unknown
      const proco = each(() => answer)
      const messages: string[] = []
      for (answer of [undefined, 'ab', { length: 2 }, new Set([1, 2]), Promise.resolve(7)]) {
        const futures = [proco.trySubmit(1)!, proco.trySubmit(2)!]
        for (const future of futures) {
          const error = yield* thrownBy(future.get())
          assert.ok(error instanceof MissingResult)
          assert.equal(error.code, 'MISSING_RESULT')
          if (future === futures[1]) messages.push(error.message.split('. ')[0]!)
        }
      }
      assert.deepEqual(messages, [
        'the handler of proco returned undefined for 2 items, so item 1 has no result',
        'the handler of proco returned "ab" for 2 items, so item 1 has no result',
        'the handler of proco returned an object of class Object for 2 items, so item 1 has no result',
        'the handler of proco returned an object of class Set for 2 items, so item 1 has no result',
        'the handler of proco returned 7 for 2 items, so item 1 has no result',
      ])
      yield* proco.exit()
    }))

  it('holes and undefined are results; errors of every class fail their item', () =>
    virtual(function* () {
      class Own extends Error {}
      // biome-ignore lint/suspicious/noSparseArray: that is the point
      const proco = each(() => [, undefined, new Own('own'), { message: 'no error' }])
      const futures = [1, 2, 3, 4].map((n) => proco.trySubmit(n)!)
      assert.equal(yield* futures[0]!.get(), undefined)
      assert.equal(yield* futures[1]!.get(), undefined)
      assert.ok((yield* thrownBy(futures[2]!.get())) instanceof Own)
      assert.deepEqual(yield* futures[3]!.get(), { message: 'no error' })
      yield* proco.exit()
      assert.deepEqual([proco.stats().done, proco.stats().failed], [3, 1])
    }))

  it('a batch of one that gets nothing says so in the singular', () =>
    virtual(function* () {
      const proco = each(() => [])
      const error = yield* thrownBy(proco.submit(1) as Op<unknown>)
      assert.match(
        error.message,
        /returned an array of 0 for 1 item, so item 0 has no result\. With results: 'each' it/,
      )
      yield* proco.exit()
    }))

  it('a handler that throws fails all, and one whose items have all left gets no complaint', () =>
    virtual(function* () {
      const error = new Error('all')
      const proco = each(function* (items) {
        yield* sleep(10)
        if (items.includes(1)) throw error
        return []
      })
      const futures = [1, 2].map((n) => proco.trySubmit(n)!)
      for (const future of futures) assert.equal(yield* thrownBy(future.get()), error)
      const gone = [3, 4].map((n) => proco.trySubmit(n)!)
      yield* sleep(1)
      gone[0]!.cancel()
      const missing = yield* thrownBy(gone[1]!.get())
      assert.ok(missing instanceof MissingResult)
      yield* proco.exit()
      addUp(proco.stats())
      assert.deepEqual([proco.stats().failed, proco.stats().cancelled], [3, 1])
    }))

  it('batchSize(1) and each: arrays of one', () =>
    virtual(function* () {
      const proco = each((items) => items.map((n) => n * 2), Proco.batch(true).results('each').batchSize(1))
      const futures = [1, 2].map((n) => proco.trySubmit(n)!)
      assert.deepEqual([yield* futures[0]!.get(), yield* futures[1]!.get()], [2, 4])
      yield* proco.exit()
    }))
})

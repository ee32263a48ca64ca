// forEach: many items, a few fibers, results in order.

import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { describe, it } from 'node:test'
import {
  BadArgument,
  createLocal,
  END,
  errorFiber,
  Fiber,
  FiberStopped,
  forEach,
  iterate,
  moveOnAfter,
  Queue,
  type Routine,
  run,
  type Source,
  sleep,
  snooze,
  spin,
  suppressedErrors,
  suspend,
  tryReceive,
  use,
} from 'polyphony'
import { virtual } from 'polyphony/testing'
import { failAfter, thrownBy } from '../prelude.js'
import { clock } from '../time/clock.js'

/** How many of something are there at the same time. */
class Count {
  now = 0
  most = 0
  enter(): void {
    this.most = Math.max(this.most, ++this.now)
  }
  *during<T>(ms: number, value: T): Routine<T> {
    this.enter()
    try {
      yield* sleep(ms)
      return value
    } finally {
      this.now--
    }
  }
}

describe('forEach', () => {
  it('gives the results in order, whatever the order in which they come', () =>
    virtual(function* () {
      const results = yield* forEach([30, 10, 20], (ms, index) => new Count().during(ms, `${index}: ${ms}`), {
        concurrency: 3,
      })
      assert.deepEqual(results, ['0: 30', '1: 10', '2: 20'])
    }))

  it('takes bodies of every kind, and every kind of items', () =>
    run(function* () {
      function* three() {
        yield* [1, 2, 3]
      }
      async function* threeLater() {
        yield* [1, 2, 3]
      }
      const kinds = [[1, 2, 3], new Set([1, 2, 3]), three, threeLater, () => Readable.from([1, 2, 3])]
      const bodies = [
        (n: number) => 2 * n,
        function* (n: number) {
          return 2 * n
        },
        function* (n: number) {
          yield* snooze()
          return 2 * n
        },
        (n: number) => spin(() => 2 * n),
      ]
      for (const kind of kinds) {
        for (const body of bodies) {
          for (const concurrency of [1, 2, Infinity]) {
            const items = typeof kind === 'function' ? kind() : kind
            assert.deepEqual(
              yield* forEach(items as number[], body as (n: number) => number, { concurrency }),
              [2, 4, 6],
            )
          }
        }
      }
    }))

  it('results may be objects, arrays or nothing', () =>
    virtual(function* () {
      const list = [[1], { a: 1 }, undefined, null, false, undefined]
      const results = yield* forEach(list, (item) => item)
      assert.deepEqual(results, list)
      assert.equal(results.length, 6)
      assert.deepEqual(yield* forEach([], () => 1), [])
      assert.deepEqual(Object.keys(yield* forEach([1, 2], () => {})), ['0', '1'])
    }))

  it('works one after the other unless told otherwise', () =>
    virtual(function* () {
      const [now, count] = [clock(), new Count()]
      yield* forEach([1, 2, 3], () => count.during(10, 1))
      assert.deepEqual([count.most, now()], [1, 30])
    }))

  it('works on as many items at the same time as it may, and no more', () =>
    virtual(function* () {
      for (const [concurrency, most, ms] of [
        [2, 2, 30],
        [4, 4, 20],
        [100, 6, 10],
        [Infinity, 6, 10],
      ] as const) {
        const [now, count] = [clock(), new Count()]
        yield* forEach([1, 2, 3, 4, 5, 6], () => count.during(10, 1), { concurrency })
        assert.deepEqual([count.most, now()], [most, ms])
      }
    }))

  it('takes an item only when a fiber is free for it', () =>
    virtual(function* () {
      let taken = 0
      function* items() {
        for (;;) yield ++taken
      }
      const fiber = spin(() => forEach(items(), () => suspend(), { concurrency: 3 }))
      yield* sleep(1)
      assert.equal(taken, 3)
      yield* fiber.stop()
    }))

  it('hires a fiber only when there is an item for it: an endless list of short work needs two', () =>
    virtual(function* () {
      function* items() {
        for (let n = 0; n < 10_000; n++) yield n
      }
      let most = 0
      const host = Fiber.current
      yield* forEach(
        items(),
        () => {
          most = Math.max(most, host.children.length)
        },
        { concurrency: Infinity },
      )
      assert.ok(most <= 2, `there were ${most}`)
    }))

  it('S49 S50 work that never waits lets others run', () =>
    virtual(function* () {
      let count = 0
      const fiber = spin(() => forEach(Array(10_000).fill(0), () => void count++, { concurrency: 5 }))
      const seen = new Set<number>()
      while (fiber.state !== 'dead') {
        seen.add(count)
        yield* snooze()
      }
      seen.delete(0)
      seen.delete(10_000)
      assert.ok(seen.size > 0, 'nobody ran between the first item and the last')
    }))

  it('S28 the first error stops the rest, waits for them, and is thrown; later ones are suppressed', () =>
    virtual(function* () {
      const now = clock()
      const [error, later] = [new Error('first'), new Error('later')]
      const begun: number[] = []
      const thrown = yield* thrownBy(
        forEach(
          [0, 1, 2, 3, 4],
          function* (n) {
            begun.push(n)
            if (n === 1) yield* failAfter(10, error)
            try {
              yield* sleep(100)
            } finally {
              yield* sleep(5)
              // biome-ignore lint/correctness/noUnsafeFinally: that is the point
              if (n === 2) throw later
            }
          },
          { concurrency: 3 },
        ),
      )
      assert.equal(thrown, error)
      assert.deepEqual(suppressedErrors(thrown), [later])
      assert.deepEqual([begun, now()], [[0, 1, 2], 15])
      assert.equal(errorFiber(thrown)?.name, 'forEach[1]')
      assert.deepEqual(Fiber.current.children, [])
    }))

  it('S59 however it ends, the source is let go', () =>
    virtual(function* () {
      const log: string[] = []
      function* items() {
        try {
          for (;;) yield 1
        } finally {
          log.push('closed')
        }
      }
      yield* thrownBy(forEach(items(), () => failAfter(1, new Error('broken'))))
      yield* moveOnAfter(10, () => forEach(items(), () => sleep(3), { concurrency: 2 }))
      const fiber = spin(() => forEach(items(), () => sleep(3), { concurrency: 2 }))
      yield* sleep(10)
      yield* fiber.stop()
      assert.deepEqual(log, ['closed', 'closed', 'closed'])
    }))

  it('an error of the source is thrown', () =>
    virtual(function* () {
      const error = new Error('source')
      function* items() {
        yield 1
        throw error
      }
      assert.equal(yield* thrownBy(forEach(items(), () => sleep(5), { concurrency: 2 })), error)
    }))

  it('shares a source with others: items that it did not take are still there', () =>
    virtual(function* () {
      let n = 0
      const source: Source<number> = {
        *next() {
          yield* sleep(1)
          return n < 10 ? n++ : END
        },
        *close() {},
      }
      yield* thrownBy(forEach(source, (item) => (item === 3 ? failAfter(0, new Error('enough')) : undefined)))
      assert.deepEqual(yield* forEach(source, (item) => item), [4, 5, 6, 7, 8, 9])
    }))

  it('S02 what the body of an item spun ends with that body', () =>
    virtual(function* () {
      const log: string[] = []
      yield* forEach([1, 2], function* (n) {
        spin(function* () {
          try {
            yield* suspend()
          } finally {
            yield* sleep(1)
            log.push(`child of ${n}`)
          }
        })
        yield* sleep(5)
        log.push(`body of ${n}`)
      })
      assert.deepEqual(log, ['body of 1', 'child of 1', 'body of 2', 'child of 2'])
    }))

  it('S24 S26 an error of such a child is thrown, from its body or from its cleanup', () =>
    virtual(function* () {
      const error = new Error('child')
      for (const clumsy of [
        () => failAfter(1, error),
        function* () {
          try {
            yield* suspend()
          } finally {
            // biome-ignore lint/correctness/noUnsafeFinally: that is the point
            throw error
          }
        },
      ]) {
        const thrown = yield* thrownBy(
          forEach([1, 2], function* () {
            spin(clumsy)
            yield* sleep(5)
          }),
        )
        assert.equal(thrown, error)
      }
    }))

  it('S56 fiber-local values of one item are not seen by the next, nor are its messages', () =>
    virtual(function* () {
      const user = createLocal('nobody')
      const users = yield* forEach([1, 2, 3], function* (n) {
        const before = user.get()
        user.set(`user ${n}`)
        yield* snooze()
        return before
      })
      assert.deepEqual(users, ['nobody', 'nobody', 'nobody'])
      const messages = yield* forEach([1, 2, 3], function* () {
        const before = tryReceive()
        Fiber.current.send('late')
        yield* snooze()
        return before
      })
      assert.deepEqual(messages, [undefined, undefined, undefined])
    }))

  it('S60 what an item used is disposed of when that item is over', () =>
    virtual(function* () {
      const log: string[] = []
      yield* forEach([1, 2], function* (n) {
        yield* use(n, function* () {
          yield* sleep(1)
          log.push(`disposed of ${n}`)
        })
        log.push(`used ${n}`)
      })
      assert.deepEqual(log, ['used 1', 'disposed of 1', 'used 2', 'disposed of 2'])
    }))

  it('a queue feeds it until it is closed', () =>
    virtual(function* () {
      const queue = new Queue<number>({ capacity: 1 })
      const count = new Count()
      spin(function* () {
        for (const n of [1, 2, 3, 4, 5]) yield* queue.push(n)
        queue.close()
      })
      const results = yield* forEach(queue, (n) => count.during(10, 2 * n), { concurrency: 2 })
      assert.deepEqual([results, count.most], [[2, 4, 6, 8, 10], 2])
    }))

  it('S17 a body that swallows its stop is given no other item', () =>
    virtual(function* () {
      const elapsed = clock()
      const sources = [[1, 2, 3], iterate([1, 2, 3])] as const
      for (const source of sources) {
        const begun: number[] = []
        yield* moveOnAfter(5, () =>
          forEach(source, function* (item) {
            begun.push(item)
            try {
              yield* sleep(10)
            } catch {}
          }),
        )
        assert.deepEqual(begun, [1])
      }
      assert.equal(elapsed(), 10)
    }))

  it('a fiber of it that is stopped from outside makes it fail: no result is made up', () =>
    virtual(function* () {
      const host = spin({ link: false }, () => forEach([1, 2], () => sleep(10), { concurrency: 2 }))
      yield* sleep(5)
      host.children[1]?.stop('instead')
      const outcome = yield* host.join()
      assert.ok(outcome.type === 'error' && outcome.error instanceof FiberStopped)
      assert.match((outcome.error as Error).message, /forEach\(\) in .* stopped/)
    }))

  it('says what it waits for', () =>
    virtual(function* () {
      const host = spin(() => forEach([1, 2], () => sleep(10), { concurrency: 2 }))
      yield* sleep(5)
      assert.equal(host.waitsFor, 'forEach(): forEach[0], forEach[1]')
      yield* host
    }))

  it('can be waited for again', () =>
    virtual(function* () {
      const twice = forEach([1, 2], (n) => n)
      assert.deepEqual(
        [yield* twice, yield* twice],
        [
          [1, 2],
          [1, 2],
        ],
      )
    }))

  it('wrong use is refused at the call', () =>
    virtual(function* () {
      const refused = (call: () => unknown, message: RegExp) =>
        assert.throws(call, (error) => error instanceof BadArgument && message.test(error.message))
      for (const concurrency of [0, -1, 1.5, Number.NaN, '2', null]) {
        refused(
          () => forEach([], () => {}, { concurrency: concurrency as number }),
          /a whole number from 1 up, or Infinity/,
        )
      }
      refused(
        () => forEach([], () => {}, { limit: 2 } as any),
        /has no option "limit"; there are: concurrency/,
      )
      refused(() => forEach(5 as any, () => {}), /forEach\(\) needs something with items/)
      refused(() => forEach([], 5 as any), /forEach\(\) needs a function\*/)
      refused(() => forEach([], (async () => {}) as any), /until\(promise\)/)
    }))

  it('a body that returns a promise fails with what to write instead', () =>
    virtual(function* () {
      assert.match(
        (yield* thrownBy(forEach([1], (() => Promise.resolve(1)) as any))).message,
        /until\(promise\)/,
      )
    }))
})

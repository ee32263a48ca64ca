// forEach: many items, a few fibers, results in order.

import { AsyncLocalStorage } from 'node:async_hooks'
import { EventEmitter } from 'node:events'
import { Readable } from 'node:stream'
import {
  assert,
  call,
  createLocal,
  describe,
  END,
  errorFiber,
  Fiber,
  FiberStopped,
  failAfter,
  forEach,
  iterate,
  moveOnAfter,
  now,
  on,
  Queue,
  run,
  type Source,
  sleep,
  snooze,
  spin,
  started,
  suppressedErrors,
  test,
  thrownBy,
  tryReceive,
  use,
  waits,
} from '../prelude.js'

describe('forEach', () => {
  for (const context of [false, true]) {
    test(`uses its fibers again for the next items${context ? ', also in an async context' : ''}`, () =>
      new AsyncLocalStorage<string>().run('store', () =>
        run(
          function* () {
            const ids = yield* forEach([1, 2, 3, 4, 5, 6], () => Fiber.current.id, { concurrency: 2 })
            assert.equal(new Set(ids).size, 1) // its body never waits
          },
          { context },
        ),
      ))
  }

  test('takes bodies of every kind, and every kind of items', () =>
    run(function* () {
      function* three() {
        yield* [1, 2, 3]
      }
      async function* threeLater() {
        yield* [1, 2, 3]
      }
      function queue() {
        const queue = new Queue<number>({ capacity: 1 })
        spin(function* () {
          for (const n of [1, 2, 3]) yield* queue.push(n)
          queue.close()
        })
        return queue
      }
      const kinds = [
        () => [1, 2, 3],
        () => new Set([1, 2, 3]),
        three,
        threeLater,
        queue,
        () => Readable.from([1, 2, 3]),
      ]
      const bodies: ((n: number) => any)[] = [
        (n) => 2 * n,
        function* (n) {
          return 2 * n
        },
        function* (n) {
          yield* snooze()
          return 2 * n
        },
        (n) => spin(() => 2 * n),
      ]
      for (const kind of kinds) {
        for (const body of bodies) {
          for (const concurrency of [1, 2, Infinity]) {
            assert.deepEqual(yield* forEach(kind() as Iterable<number>, body, { concurrency }), [2, 4, 6])
          }
        }
      }
    }))

  test('gives results in the order of the items, also objects and nothing', function* () {
    const body = function* (ms: number, index: number) {
      yield* sleep(ms)
      return `${index}: ${ms}`
    }
    assert.deepEqual(yield* forEach([30, 10, 20], body, { concurrency: 3 }), ['0: 30', '1: 10', '2: 20'])
    const list = [[1], { a: 1 }, undefined, null, false, undefined]
    assert.deepEqual(yield* forEach(list, (item) => item), list)
    assert.deepEqual(yield* forEach([], () => 1), [])
    assert.deepEqual(Object.keys(yield* forEach([1, 2], () => {})), ['0', '1'])
  })

  for (const [concurrency, most, ms] of [
    [undefined, 1, 60],
    [2, 2, 30],
    [4, 4, 20],
    [100, 6, 10],
    [Infinity, 6, 10],
  ] as const) {
    test(`with a concurrency of ${concurrency} works on ${most} of 6 items at the same time`, function* () {
      let [taken, open, seen] = [0, 0, 0]
      function* items() {
        while (taken < 6) yield taken++
      }
      const body = () => {
        seen = Math.max(seen, ++open)
        return waits(() => open--, 10)
      }
      const fiber = spin(() => forEach(items(), body, concurrency === undefined ? {} : { concurrency }))
      yield* sleep(1)
      assert.equal(taken, most) // an item is taken when a fiber is free for it
      yield* fiber
      assert.deepEqual([seen, now()], [most, ms])
    })
  }

  test('needs two fibers for an endless list of short work, and lets other fibers run', function* () {
    let count = 0
    let most = 0
    const body = () => {
      count++
      most = Math.max(most, host.children.length)
    }
    const host: Fiber<any> = spin(() => forEach(Array(10_000).fill(0), body, { concurrency: Infinity }))
    const seen = new Set<number>()
    while (host.state !== 'dead') {
      seen.add(count)
      yield* snooze()
    }
    assert.ok(most <= 2, `there were ${most} fibers`)
    assert.ok(seen.size > 10, 'no other fiber ran between the first item and the last')
  })

  test('throws the first error when the rest is stopped and over; later ones are suppressed', function* () {
    const [error, another] = [new Error('first'), new Error('another')]
    const begun: number[] = []
    const op = forEach(
      [0, 1, 2, 3, 4],
      function* (n) {
        begun.push(n)
        if (n === 1) yield* failAfter(10, error)
        yield* waits(function* () {
          yield* sleep(5)
          if (n === 2) throw another
        })
      },
      { concurrency: 3 },
    )
    assert.equal(yield* thrownBy(op), error)
    assert.deepEqual([suppressedErrors(error), begun, now()], [[another], [0, 1, 2], 15])
    assert.equal(errorFiber(error)?.name, 'forEach[1]')
  })

  test('lets its source go however it ends; an error of the source is thrown', function* () {
    let closed = 0
    function* items(limit = Infinity): Generator<number> {
      try {
        for (let n = 0; n < limit; n++) yield n
        throw new Error('of the source')
      } finally {
        closed++
      }
    }
    const working = (limit?: number) => forEach(items(limit), () => sleep(3), { concurrency: 2 })
    yield* thrownBy(forEach(items(), () => failAfter(1, new Error('of the body'))))
    assert.equal((yield* thrownBy(working(1))).message, 'of the source')
    yield* moveOnAfter(10, () => working())
    const fiber = yield* started(working)
    yield* fiber.stop()
    assert.equal(closed, 4)
  })

  test('shares a source with others: what it did not take is still there', function* () {
    let n = 0
    const source: Source<number> = {
      *next() {
        yield* sleep(1)
        return n < 10 ? n++ : END
      },
      *close() {},
    }
    const op = forEach(source, (item) => (item === 3 ? failAfter(0, new Error('enough')) : undefined))
    assert.equal((yield* thrownBy(op)).message, 'enough')
    assert.deepEqual(yield* forEach(source, (item) => item), [4, 5, 6, 7, 8, 9])
  })

  test('ends what the body of an item has begun with that item: children, disposables, listeners', function* () {
    const log: string[] = []
    const emitter = new EventEmitter()
    const callers: Fiber<any>[] = []
    const asked = Fiber.current
    yield* forEach([1, 2], function* (n) {
      on(emitter, 'news')
      yield* use(n, () => waits(() => log.push(`closed ${n}`), 5))
      spin(() => waits(() => waits(() => log.push(`child of ${n}`), 1)))
      const worker = Fiber.current
      callers.push(asked.spin(() => thrownBy(call(worker, 'hello?'))))
      yield* sleep(5)
      log.push(`body of ${n}, ${emitter.listenerCount('news')} listens`)
    })
    const ofEach = (n: number) => [`body of ${n}, 1 listens`, `child of ${n}`, `closed ${n}`]
    assert.deepEqual(log, [...ofEach(1), ...ofEach(2)])
    for (const caller of callers) assert.ok((yield* caller) instanceof FiberStopped)
  })

  test('throws the errors of children and disposables of an item', function* () {
    const [error, first] = [new Error('child'), new Error('first opened')]
    const failing = (error: Error) => () => {
      throw error
    }
    for (const child of [() => failAfter(1, error), () => waits(failing(error))]) {
      const op = forEach([1, 2], function* () {
        spin(child)
        yield* sleep(5)
      })
      assert.equal(yield* thrownBy(op), error)
    }
    const op = forEach([1, 2], function* (n) {
      yield* use(n, failing(first))
      yield* use(n, failing(error))
    })
    assert.equal(yield* thrownBy(op), error)
    assert.deepEqual(suppressedErrors(error), [first])
  })

  test('keeps local values and messages of an item from the next', function* () {
    const user = createLocal('nobody')
    const seen = yield* forEach([1, 2, 3], function* (n) {
      const before = user.get()
      if (n === 1) user.set('user 1')
      yield* snooze()
      return before
    })
    const messages = yield* forEach([1, 2, 3], function* () {
      const before = tryReceive()
      Fiber.current.send('late')
      yield* snooze()
      return before
    })
    assert.deepEqual([seen, messages], [Array(3).fill('nobody'), Array(3).fill(undefined)])
  })

  test('gives no other item to a body that swallows its stop', function* () {
    let n = 0
    const own: Source<number> = {
      *next() {
        return ++n
      },
      *close() {},
    }
    for (const source of [[1, 2, 3], iterate([1, 2, 3]), own]) {
      const begun: number[] = []
      const body = function* (item: number) {
        begun.push(item)
        try {
          yield* sleep(10)
        } catch {}
      }
      yield* moveOnAfter(5, () => forEach(source, body))
      assert.deepEqual(begun, [1])
    }
    assert.equal(now(), 15)
  })

  for (const [what, end] of [
    ['stopped', (worker: Fiber) => worker.stop('instead')],
    ['restarted', (worker: Fiber) => worker.restart()],
  ] as const) {
    test(`fails if one of its fibers is ${what} from outside: no result is made up`, function* () {
      const host = spin({ link: false }, () => forEach([1, 2, 3], () => sleep(10), { concurrency: 2 }))
      yield* sleep(5)
      assert.equal(host.waitsFor, 'forEach(): forEach[0], forEach[1]')
      end(host.children[1] as Fiber)
      const error = yield* thrownBy(host)
      assert.ok(error instanceof FiberStopped)
      assert.match(error.message, /forEach\(\) in .* was stopped or restarted from outside/)
    })
  }

  test('tells what its fibers wait for', function* () {
    const queue = new Queue<number>()
    const source: Source<number> = { next: () => queue.shift(), *close() {} }
    const host = spin(() => forEach(source, () => sleep(5), { concurrency: 3 }))
    for (const n of [1, 2]) queue.tryPush(n)
    yield* sleep(10)
    const waiting = host.children.map((child) => child.waitsFor)
    const turn = 'its turn to take an item'
    assert.deepEqual(waiting.sort(), [turn, turn, 'queue.shift()'])
  })
})

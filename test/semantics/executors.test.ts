// S78-S85: executors. `both` runs a test for fibers and for async code, `forHandlers` for handlers in fibers and async functions.

import { getEventListeners } from 'node:events'
import { runInNewContext } from 'node:vm'
import { type Future, Killed, MissingResult, NotRunning, Proco } from 'polyphony/proco'
import {
  after,
  all,
  assert,
  BadState,
  Cancel,
  describe,
  moveOnAfter,
  type Op,
  run,
  scope,
  sleep,
  spin,
  started,
  TimedOut,
  test,
  thrownBy,
  until,
  waits,
} from '../prelude.js'
import {
  type Any,
  assertError,
  both,
  clock,
  type Doing,
  type Futures,
  forHandlers,
  handled,
  held,
  slow,
  states,
  tally,
  thrown,
} from '../proco/handlers.js'

describe('S78 one outcome', () => {
  both('get gives the result, or throws the very error, as often as it is called', function* (w) {
    const [error, value] = [new Error('mine'), {}]
    const proco: Any = handled(w, Proco.new<boolean>(), function* (isFine: boolean) {
      if (!isFine) throw error
      return value
    })
    const [fine, broken] = [proco.trySubmit(true)!, proco.trySubmit(false)!]
    assert.deepEqual([fine.done, broken.done], [false, false])
    for (let n = 0; n < 3; n++) {
      assert.equal(yield* w.wait(fine.get()), value)
      assert.equal(yield* thrown(w.wait(broken.get())), error)
    }
    assert.deepEqual([fine.state, fine.done, broken.state, broken.done], ['done', true, 'failed', true])
    assert.deepEqual([fine.cancel(), broken.cancel()], [false, false])
    yield* w.wait(proco.exit())
    assert.equal(yield* w.wait(fine.get()), value)
  })

  both(
    "results('each'): an outcome for each item, by position; an Error of any realm fails its item",
    function* (w) {
      class Own extends Error {}
      const foreign = runInNewContext('new TypeError("from afar")')
      // biome-ignore lint/suspicious/noSparseArray: a hole is a result
      const results = [, undefined, new Own('own'), { message: 'no error' }, foreign, null, 'text']
      const proco: Any = handled(w, Proco.batch(true).results('each').new(), function* () {
        return results.concat(98, new Error('for no item'))
      })
      const futures: Futures = Array.from(results, (_, n) => proco.trySubmit(n)!)
      for (const n of [0, 1, 3, 5, 6]) assert.equal(yield* w.wait(futures[n]!.get()), results[n])
      for (const n of [2, 4]) assert.equal(yield* thrown(w.wait(futures[n]!.get())), results[n])
      assert.equal(tally(proco), '7 accepted, 5 done, 2 failed')
    },
  )

  both("results('each'): an item without an outcome fails with MissingResult", function* (w) {
    const rows: [answer: unknown, words: string, count?: number][] = [
      [['a'], 'an array of 1 for 2 items'],
      [[], 'an array of 0 for 1 item', 1],
      [undefined, 'undefined for 2 items'],
      ['ab', '"ab" for 2 items'],
      [{ 0: 'a', length: 2 }, 'an object of class Object for 2 items'],
      [new Set([1, 2]), 'an object of class Set for 2 items'],
      [null, 'null for 2 items'],
    ]
    for (const [answer, words, count = 2] of rows) {
      const proco: Any = handled(w, Proco.batch(true).results('each').new(), function* () {
        return answer
      })
      const futures: Futures = Array.from({ length: count }, (_, n) => proco.trySubmit(n)!)
      for (const [n, future] of futures.entries()) {
        if (Array.isArray(answer) && answer.length > n) assert.equal(yield* w.wait(future.get()), 'a')
        else {
          const error = yield* thrown(w.wait(future.get()))
          const start = `the handler of proco returned ${words}, so item ${n} has no result. With results: 'each' it`
          assertError(error, MissingResult, new RegExp(`^${start}`))
        }
      }
    }
  })

  both('with a signal that is aborted already, an item is not accepted', function* (w) {
    const proco: Any = handled(w, Proco.new(), () => assert.fail('not to be handled'))
    const signal = AbortSignal.abort('too late')
    for (const op of [() => proco.submit(1, { signal }), () => proco.submitAsync(1, { signal })]) {
      const error = yield* thrown(w.wait<unknown>(op()))
      assertError(error, Cancel, 'an item of proco was cancelled by its signal: too late')
      assert.equal(error.cause, 'too late')
    }
    assert.throws(() => proco.trySubmit(1, { signal }), Cancel)
    assert.equal(tally(proco), '')
  })

  both('a signal cancels its item while it waits for room, is queued, or runs', function* (w) {
    const { proco, began, begin, end } = held(w, Proco.queueSize(1).new())
    const controllers = [1, 2, 3, 4].map(() => new AbortController())
    const limits = (n: number) => ({ signal: controllers[n]!.signal })
    const running = yield* w.wait(proco.submitAsync(0, limits(0)))
    yield* begin(0)
    const queued = yield* w.wait(proco.submitAsync(1, limits(1)))
    const waiting = [2, 3].map((n) =>
      w.beside(() => w.wait<any>(n === 2 ? proco.submitAsync(n, limits(n)) : proco.submit(n, limits(n)))),
    )
    yield* w.calm()
    assert.equal(tally(proco), '2 accepted, 1 queued, 1 running, 2 waiting')
    for (const n of [3, 2, 1, 0]) controllers[n]!.abort(n)
    for (const [n, op] of [() => w.wait(running.get()), () => w.wait(queued.get()), ...waiting].entries()) {
      const error = yield* thrown(op())
      assert.ok(error instanceof Cancel)
      assert.equal(error.cause, n)
    }
    const late = new AbortController()
    const done = yield* w.wait(proco.submitAsync(4, { signal: late.signal }))
    end(1)
    assert.equal(yield* w.wait(done.get()), 4)
    for (const { signal } of [late, ...controllers])
      assert.equal(getEventListeners(signal, 'abort').length, 0)
    assert.deepEqual([began, tally(proco)], [[0, 4], '3 accepted, 1 done, 2 cancelled'])
  })

  forHandlers('a time-out counts from the submission: waiting for room, queued, running', function* (as) {
    const proco: Any = new Proco({ queueSize: 1 }).start(as(() => sleep(100)))
    const time = clock()
    const running = proco.trySubmit(1, { timeout: 30 })!
    yield* sleep(1)
    const queued = proco.trySubmit(2, { timeout: 10 })!
    for (const [op, at, message] of [
      [
        spin(() => thrownBy(proco.submitAsync(3, { timeout: 5 }))),
        6,
        'waiting for too long: its timeout is 5',
      ],
      [spin(() => thrownBy(proco.submit(4, { timeout: 6 }))), 7, 'waiting for too long: its timeout is 6'],
      [spin(() => thrownBy(queued.get())), 11, 'queued for too long: its timeout is 10'],
      [spin(() => thrownBy(running.get())), 30, 'running for too long: its timeout is 30'],
    ] as const) {
      assertError(yield* op, TimedOut, `an item of proco was ${message} ms`)
      assert.equal(time(), at)
    }
    assert.equal(states([running, queued]), 'failed failed')
    assert.equal(yield* moveOnAfter(10, () => proco.submit(5), 'begun'), 'begun') // the place is free again
    yield* proco.exit()
    assert.equal(tally(proco), '3 accepted, 2 failed, 1 cancelled')
  })
})

describe('S79 room', () => {
  both('a submitter that finds the queue full waits in line; trySubmit overtakes none', function* (w) {
    const { proco, began, begin, end } = held(w, Proco.queueSize(1).new())
    const first = yield* w.wait(proco.submitAsync('running'))
    yield* begin(0)
    const second = yield* w.wait(proco.submitAsync('queued'))
    assert.equal(states([first, second]), 'running queued')
    const later: (() => Doing<any>)[] = []
    for (const item of ['a', 'b', 'c', 'd']) {
      later.push(w.beside(() => w.wait<any>(item < 'c' ? proco.submit(item) : proco.submitAsync(item))))
      yield* w.calm()
    }
    for (let n = 0; n < 6; n++) {
      yield* begin(n)
      assert.equal(proco.stats().waiting, Math.max(0, 4 - n))
      if (n < 5) assert.deepEqual([proco.stats().depth, proco.trySubmit('pushy')], [1, undefined])
      end(n)
    }
    for (const item of ['a', 'b']) assert.equal(yield* later.shift()!(), item)
    for (const item of ['c', 'd']) assert.equal(yield* w.wait((yield* later.shift()!()).get()), item)
    yield* w.wait(proco.exit())
    assert.deepEqual(began, ['running', 'queued', 'a', 'b', 'c', 'd'])
  })

  both('an item that is cancelled in the queue makes room at once', function* (w) {
    const { proco, began, begin, end } = held(w, Proco.queueSize(2).new())
    yield* w.wait(proco.submitAsync(0))
    yield* begin(0)
    const first = yield* w.wait(proco.submitAsync(1))
    yield* w.wait(proco.submitAsync(2))
    const third = w.beside(() => w.wait(proco.submitAsync(3)))
    yield* w.calm()
    assert.equal(tally(proco), '3 accepted, 2 queued, 1 running, 1 waiting')
    assert.equal(first.cancel(), true)
    assert.equal(tally(proco), '4 accepted, 1 cancelled, 2 queued, 1 running')
    assert.equal((yield* third()).state, 'queued')
    for (const n of [0, 1, 2]) end(n)
    yield* w.wait(proco.exit())
    assert.deepEqual(began, [0, 2, 3])
  })

  test('with several queues, queueSize is that of each: with a key one waits for room there, without one for any', function* () {
    const proco: Any = new Proco({ queues: 3, queueSize: 2 }).start(() => sleep(10))
    const submit = (n: number) => proco.trySubmit(n, { key: 0 })
    assert.ok(submit(0))
    yield* sleep(1) // it is handled now
    assert.ok(submit(1) && submit(2))
    assert.equal(submit(3), undefined)
    const waiting = spin(() => proco.submit(3, { key: 0 }))
    yield* sleep(1)
    assert.equal(proco.stats().waiting, 1)
    for (const n of [4, 5, 6, 7]) assert.ok(proco.trySubmit(n))
    assert.equal(proco.trySubmit(8), undefined)
    assert.equal(proco.stats().depth, 6)
    yield* waiting
  })
})

describe('S80 order', () => {
  both('one queue and one thread: first come, first served, each item with its own result', function* (w) {
    const order: number[] = []
    const proco: Any = handled(w, Proco.new<number>(), function* (n: number) {
      order.push(n)
      return n * n
    })
    const futures: Futures = []
    for (let n = 0; n < 50; n++) futures.push(yield* w.wait(proco.submitAsync(n)))
    for (const [n, future] of futures.entries()) assert.equal(yield* w.wait(future.get()), n * n)
    assert.deepEqual(order, [...Array(50).keys()])
  })

  both('threads(3): three handlers at a time, no more, and a slow one holds up no other', function* (w) {
    const { proco, began, begin, end } = held(w, Proco.threads(3).new())
    const futures: Futures = []
    for (let n = 0; n < 6; n++) futures.push(yield* w.wait(proco.submitAsync(n)))
    yield* begin(2)
    yield* w.calm()
    assert.equal(tally(proco), '6 accepted, 3 queued, 3 running')
    for (const n of [1, 2, 3, 4, 5]) {
      yield* begin(n)
      end(n)
      yield* w.wait(futures[n]!.get())
      assert.ok(proco.stats().running <= 3)
    }
    assert.equal(states(futures), 'running done done done done done')
    end(0)
    yield* w.wait(proco.exit())
    assert.deepEqual(began, [0, 1, 2, 3, 4, 5])
  })

  // Items, whose key is their first letter, and when each was begun, if each takes 10 ms.
  const rows: [promise: string, options: object, items: string, begun: string][] = [
    ['one after the other', { threads: 4 }, 'k1 k2 k3', '0 k1, 10 k2, 20 k3'],
    ['beside other queues', { threads: 3, queues: 3 }, 'a1 b1 a2 b2 a3', '0 a1, 0 b1, 10 a2, 10 b2, 20 a3'],
    ['before those without a key that came later', { threads: 4 }, '1 2 k1 3', '0 1, 0 2, 0 k1, 10 3'],
    ['in batches', { threads: 4, batch: true, batchSize: 2 }, 'a1 1 b1 b2 a2', '0 a1+1, 10 b1+b2, 20 a2'],
  ]
  for (const [promise, options, items, begun] of rows) {
    forHandlers(`items with the same key are handled ${promise}`, function* (as) {
      const [time, log] = [clock(), [] as string[]]
      const handler = function* (given: string | string[]): Doing<void> {
        log.push(`${time()} ${[given].flat().join('+')}`)
        yield* sleep(10)
      }
      const proco: Any = new Proco(options).start(as(handler))
      for (const item of items.split(' '))
        proco.trySubmit(item, { key: /[a-z]/.exec(item)?.[0].charCodeAt(0) })
      yield* proco.exit()
      assert.deepEqual(log.sort(), begun.split(', ').sort())
    })
  }

  test('the next item with a key waits for the end of one that failed, was cancelled or timed out', function* () {
    const [time, log] = [clock(), [] as string[]]
    const proco: Any = new Proco({ threads: 4 }).start(function* (item: string) {
      log.push(`${time()} ${item}`)
      if (item === 'fails') throw new Error(item)
      yield* waits(() => sleep(5))
    })
    const submit = (item: string, timeout?: number) => proco.trySubmit(item, { key: 'k', timeout })!
    submit('fails')
    const future = submit('is cancelled')
    submit('times out', 13)
    submit('last')
    after(2, () => future.cancel())
    yield* sleep(50)
    assert.deepEqual(log, ['0 fails', '0 is cancelled', '7 times out', '18 last'])
    proco.kill()
  })
})

describe('S81 batches', () => {
  both('a free handler takes what is there, and all its items share one result', function* (w) {
    const { proco, began, begin, end } = held(w, Proco.batch(true).new())
    const first = yield* w.wait(proco.submitAsync(0))
    yield* begin(0)
    const rest: Futures = []
    for (const n of [1, 2, 3]) rest.push(yield* w.wait(proco.submitAsync(n)))
    assert.equal(states(rest), 'queued queued queued')
    const shared = {}
    end(0, 'one')
    end(1, shared)
    assert.equal(yield* w.wait(first.get()), 'one')
    for (const future of rest) assert.equal(yield* w.wait(future.get()), shared)
    assert.deepEqual(began, [[0], [1, 2, 3]])
  })

  const [batch, paced, single] = [Proco.batch(true), Proco.batch(true).interval(100), Proco.interval(100)]
  const byTwo = paced.batchSize(2)
  // What comes when: items, -n to cancel item n, or the end. What the handler, which takes some time, is given when.
  const rows: [promise: string, template: any, takes: number, comes: string, dispatched: string][] = [
    ['a free handler never waits for more', batch, 10, '0: 1, 1: 2 3 4, 51: 5', '0: 1, 10: 2 3 4, 51: 5'],
    ['no batch is larger than batchSize', batch.batchSize(2), 0, '0: 1 2 3', '0: 1 2, 0: 3'],
    ['free handlers share', batch.batchSize(2).threads(2), 9, '0: 1 2 3 4 5', '0: 1 2, 0: 3 4, 9: 5'],
    ['queues take turns', batch.queues(2), 10, '0: 1 2 3 4, 1: 5 6', '0: 1 3, 10: 2 4 6, 20: 5'],
    ['batches go at whole intervals', paced, 0, '10: 1, 99: 2, 101: 3', '100: 1 2, 200: 3'],
    ['one item goes at each interval', single, 0, '0: 1 2 3', '100: 1, 200: 2, 300: 3'],
    ['whole intervals since the start', paced, 0, '250: 1, 530: 2', '300: 1, 600: 2'],
    ['an item that comes at a whole interval waits for the next', paced, 0, '100: 1', '200: 1'],
    ['batchSize items go at once', byTwo, 0, '50: 1 2 3 4 5', '50: 1 2, 50: 3 4, 150: 5'],
    ['then the interval begins anew', byTwo, 0, '50: 1 2, 70: 3, 130: 4 5', '50: 1 2, 130: 3 4, 230: 5'],
    ['a full queue goes at once', paced.batchSize(9).queueSize(2), 0, '0: 1 2, 1: 3', '0: 1 2, 100: 3'],
    ['batchSize hurries no single items', single.batchSize(1), 0, '0: 1 2', '100: 1, 200: 2'],
    ['a late handler takes all that has come', paced, 250, '0: 1, 150: 2, 300: 3', '100: 1, 350: 2 3'],
    ['each queue has its interval', byTwo.queues(2), 0, '0: 1 2, 40: 3, 60: 4 5', '40: 1 3, 60: 2 4, 140: 5'],
    ['exit lets batches go', byTwo, 5, '0: 1 2 3 4 5, 1: exit', '0: 1 2, 5: 3 4, 10: 5, 15: exit'],
    ['exit lets all queues go', paced.queues(2), 0, '0: 1 2 3, 1: exit', '1: 1 3, 1: 2, 1: exit'],
    [
      'single items keep their pace until the exit',
      single,
      0,
      '0: 1 2, 1: exit',
      '100: 1, 200: 2, 200: exit',
    ],
    ['kill lets nothing go', paced, 0, '0: 1, 10: kill', '10: kill'],
    ['a cancelled item does not go; the next one waits', paced, 0, '0: 1 -1, 150: 2', '200: 2'],
    ['so if the queue was due', paced, 150, '0: 1, 110: 2, 220: -2, 270: 3', '100: 1, 300: 3'],
    ['the shortest interval there is', batch.interval(Number.MIN_VALUE), 0, '1: 1, 2: 2', '1: 1, 2: 2'],
  ]
  for (const [promise, template, takes, comes, dispatched] of rows) {
    forHandlers(promise, function* (as) {
      const [time, log, futures] = [clock(), [] as string[], [] as Futures]
      const proco: Any = template.new()
      const handler = function* (given: unknown): Doing<void> {
        log.push(`${time()}: ${[given].flat().join(' ')}`)
        if (takes > 0) yield* sleep(takes)
      }
      proco.start(as(handler))
      for (const [at, what] of comes.split(', ').map((each) => each.split(': '))) {
        yield* sleep(Number(at) - time())
        if (what === 'kill') proco.kill()
        else if (what === 'exit') yield* proco.exit()
        else {
          for (const n of what!.split(' ').map(Number))
            n > 0 ? (futures[n] = proco.trySubmit(n)!) : futures[-n]!.cancel()
        }
        if (proco.state === 'idle') log.push(`${time()}: ${what}`)
      }
      yield* sleep(400)
      yield* proco[Symbol.asyncDispose]()
      assert.deepEqual(log.sort(), dispatched.split(', ').sort())
    })
  }

  test('the interval counts from the start again after a restart', function* () {
    const [time, proco] = [clock(), paced.new<number, number>()]
    proco.start(() => 0)
    yield* proco.exit()
    yield* sleep(130)
    proco.start(() => time())
    assert.equal(yield* proco.submit(1), 230)
  })
})

describe('S82 trouble stays where it is', () => {
  both('a handler that fails fails its item and nothing else, whatever it throws', function* (w) {
    const proco: Any = handled(w, Proco.new(), function* (item: unknown) {
      if (item !== 'fine') throw item
      return item
    })
    for (const item of [new Error('an error'), 'text', 0, '', null, undefined, { stack: 1 }, Symbol('s')]) {
      assert.equal(yield* thrown(w.wait(proco.submit(item))), item)
      assert.equal(yield* w.wait(proco.submit('fine')), 'fine')
    }
    assert.equal(tally(proco), '16 accepted, 8 done, 8 failed')
  })

  both('a handler that fails fails its batch, and the next one is handled', function* (w) {
    const { proco, begin, end } = held(w, Proco.batch(true).new())
    const first: Futures = [proco.trySubmit(1)!, proco.trySubmit(2)!]
    yield* begin(0)
    const second: Futures = [proco.trySubmit(3)!, proco.trySubmit(4)!]
    const error = new Error('no')
    end(0, error)
    end(1)
    for (const future of first) assert.equal(yield* thrown(w.wait(future.get())), error)
    for (const future of second) assert.deepEqual(yield* w.wait(future.get()), [3, 4])
  })

  both('a cancelled item has its outcome at once, in the queue or in the hands of a handler', function* (w) {
    const { proco, began, works, begin, end } = held(w, Proco.new())
    const futures: Futures = [1, 2, 3].map((n) => proco.trySubmit(n)!)
    const got = [0, 1].map((n) => w.beside(() => w.wait(futures[n]!.get())))
    const reason = new Error('not needed')
    yield* begin(0)
    for (const n of [1, 0]) {
      const future = futures[n]!
      assert.deepEqual([future.cancel(reason), future.state, future.cancel()], [true, 'cancelled', false])
      const error = yield* thrown(got[n]!())
      assertError(error, Cancel, 'an item of proco was cancelled: not needed')
      assert.equal(error.cause, reason)
    }
    end(1)
    assert.equal(yield* w.wait(futures[2]!.get()), 3)
    assert.deepEqual(began, [1, 3])
    assert.deepEqual([works[0]!.signal.aborted, works[1]!.signal.aborted], [true, false])
    assert.equal(tally(proco), '3 accepted, 1 done, 2 cancelled')
  })

  both('the rest of its batch is handled; with the last item the handler is stopped', function* (w) {
    for (const results of ['shared', 'each'] as const) {
      const { proco, works, begin, end } = held(w, Proco.batch(true).results(results).new())
      const futures: Futures = [1, 2, 3].map((n) => proco.trySubmit(n)!)
      yield* begin(0)
      futures[0]!.cancel()
      assert.equal(states(futures), 'cancelled running running')
      end(0, ['a', 'b', 'c'])
      for (const n of [1, 2]) {
        const result = yield* w.wait(futures[n]!.get())
        assert.deepEqual(result, results === 'each' ? 'abc'[n] : ['a', 'b', 'c'])
      }
      const more: Futures = [4, 5].map((n) => proco.trySubmit(n)!)
      yield* begin(1)
      for (const [n, future] of more.entries()) {
        future.cancel(n)
        assert.equal(works[1]!.signal.aborted, n === 1)
      }
      const { reason } = works[1]!.signal
      assert.deepEqual([reason instanceof Cancel, reason.cause, works[0]!.signal.aborted], [true, 1, false])
      end(2, ['next'])
      yield* w.wait(proco.submit(6))
      assert.equal(tally(proco), '6 accepted, 3 done, 3 cancelled')
    }
  })

  test('a handler in a fiber has its place until it has ended, cleanup included', function* () {
    const [time, log] = [clock(), [] as string[]]
    const proco: Any = Proco.new().start(function* (item: string) {
      log.push(`${time()} ${item}`)
      yield* waits(() => sleep(20), 100)
    })
    const first = yield* proco.submitAsync('a')
    yield* proco.submitAsync('b')
    yield* sleep(10)
    first.cancel()
    yield* sleep(1)
    assert.equal(tally(proco), '2 accepted, 1 cancelled, 1 queued, 1 running')
    yield* proco.exit()
    assert.deepEqual(log, ['0 a', '30 b'])
  })

  test('the place of a promise, also its key, is free at once; its late answer settles nothing', function* () {
    for (const key of [undefined, 'k']) {
      const answers: ((text: string) => void)[] = []
      const proco: Any = Proco.new().start(async () => await new Promise((resolve) => answers.push(resolve)))
      const futures: Futures = ['a', 'b'].map((item) => proco.trySubmit(item, { key })!)
      yield* sleep(1)
      futures[0]!.cancel()
      yield* sleep(1)
      assert.equal(answers.length, 2)
      answers[0]!('late')
      yield* sleep(1)
      assert.equal(states(futures), 'cancelled running')
      answers[1]!('in time')
      assert.equal(yield* futures[1]!.get(), 'in time')
      yield* proco.exit()
      assert.equal(tally(proco), '2 accepted, 1 done, 1 cancelled')
    }
  })
})

describe('S83 waiting', () => {
  test('in a fiber nothing begins before it is waited for', function* () {
    const proco = Proco.new<number, number>().start((n) => n)
    const ops = [proco.submit(1), proco.submitAsync(2), proco.exit()]
    yield* sleep(1)
    assert.deepEqual([tally(proco), proco.state], ['', 'running'])
    for (const op of ops) yield* op as Op<unknown>
    assert.deepEqual([tally(proco), proco.state], ['2 accepted, 2 done', 'idle'])
  })

  test('in async code they are promises, and begin at the call', async () => {
    const items: number[] = []
    const proco = Proco.new<number, number>().start((n) => items.push(n))
    const promises = [proco.submit(1), proco.submit(2), proco.submitAsync(3)]
    assert.equal(proco.stats().accepted, 3)
    promises.push(proco.trySubmit(4)!.get(), proco.exit() as any)
    assert.equal(proco.state, 'draining')
    for (const promise of promises) {
      assert.ok(promise instanceof Promise)
      await promise
    }
    assert.deepEqual(items, [1, 2, 3, 4])
  })

  test('a fiber can wait for a promise that async code has begun', async () => {
    const proco = Proco.new<number, number>().start(async (n) => {
      if (n === 0) throw new Error('nothing')
      return n
    })
    const [fine, bad] = [proco.submit(1), proco.submit(0)]
    bad.catch(() => {}) // it is waited for later
    await run(function* () {
      assert.deepEqual(yield* all([fine, fine]), [1, 1])
      assert.equal((yield* thrownBy(bad)).message, 'nothing')
    })
    await proco.exit()
  })

  both('only once: a later waiter gets the same item, and the same end', function* (w) {
    const proco: Any = Proco.new().start((n: number) => n)
    const [submit, submitAsync] = [proco.submit(1), proco.submitAsync(2)]
    for (let n = 0; n < 2; n++) assert.equal(yield* w.wait(submit), 1)
    const future = yield* w.wait(submitAsync)
    assert.equal(yield* w.wait(submitAsync), future)
    assert.equal(yield* w.wait(future.get()), 2)
    const exit = proco.exit()
    for (let n = 0; n < 2; n++) yield* w.wait(exit)
    assert.deepEqual([yield* w.wait(submit), tally(proco)], [1, '2 accepted, 2 done'])
  })

  test('a fiber that leaves submit cancels its item: waiting for room, queued or running', function* () {
    const { proco, log } = slow(100, Proco.queueSize(1).new())
    const fibers = []
    for (const item of ['running', 'queued', 'blocked']) {
      fibers.push(spin(() => proco.submit(item)))
      yield* sleep(1)
    }
    assert.equal(tally(proco), '2 accepted, 1 queued, 1 running, 1 waiting')
    for (const left of ['1 queued, 1 running', '1 cancelled, 1 running', '2 cancelled']) {
      yield* fibers.pop()!.stop()
      yield* sleep(1)
      assert.equal(tally(proco), `2 accepted, ${left}`)
    }
    yield* proco.exit()
    assert.deepEqual([tally(proco), log], ['2 accepted, 2 cancelled', ['begin running', 'end running']])
  })

  test('a fiber that leaves submitAsync takes its item back, unless it was accepted', function* () {
    const { proco, log } = slow(10, Proco.queueSize(1).new())
    yield* proco.submitAsync('a')
    yield* sleep(1)
    yield* proco.submitAsync('b')
    const blocked = yield* started(() => proco.submitAsync('c'))
    yield* blocked.stop()
    assert.equal(proco.stats().waiting, 0)
    const accepted = spin(function* () {
      yield* proco.submitAsync('d')
      yield* sleep()
    })
    yield* sleep(15)
    yield* accepted.stop()
    yield* proco.exit()
    assert.deepEqual(log.filter((line) => line.startsWith('done')).join(), 'done a,done b,done d')
  })

  test('a fiber that leaves get only stops waiting: the others get the result', function* () {
    const { proco } = slow(10, Proco.new())
    const future = yield* proco.submitAsync('a')
    const waiters = [1, 2, 3].map(() => spin(() => future.get()))
    yield* sleep(1)
    yield* waiters[0]!.stop()
    yield* waiters[1]!.stop()
    assert.equal(future.state, 'running')
    assert.equal(yield* waiters[2]!, 'a!')
  })

  test('what a fiber has left does not disturb its next wait', function* () {
    const { proco } = slow(10, Proco.queueSize(1).new())
    yield* proco.submitAsync('a')
    yield* sleep(1)
    const future = yield* proco.submitAsync('b')
    const [submit, submitAsync] = [proco.submit('c'), proco.submitAsync('d')]
    for (const op of [submit, submitAsync]) spin(() => op as Op<any>)
    yield* sleep(1)
    for (const op of [submit, submitAsync, future.get()])
      assert.equal(yield* moveOnAfter(1, () => op as Op<any>, 'left'), 'left')
    yield* sleep(100)
    assert.equal(clock()(), 105)
  })

  test('of the fibers that wait for one submit, the first counts: only its end cancels the item', function* () {
    const { proco } = slow(10, Proco.new())
    for (const leaves of [1, 0]) {
      const op = proco.submit('a')
      const fibers = []
      for (const wait of [() => op, () => (leaves === 0 ? thrownBy(op) : op)]) {
        fibers.push(spin(wait as () => Op<any>))
        yield* sleep(1)
      }
      yield* fibers[leaves]!.stop(undefined, { reason: 'over' })
      const got: any = yield* fibers[1 - leaves]!
      if (leaves === 1) assert.equal(got, 'a!')
      else assert.deepEqual([got instanceof Cancel, got.cause], [true, 'over'])
    }
  })

  test('async code cannot leave: what it has begun goes on', function* () {
    const { proco } = slow(10, Proco.new())
    const promise = proco.submit('a').then((text: string) => text)
    yield* moveOnAfter(1, () => until(promise))
    assert.equal(yield* until(promise), 'a!')
  })
})

describe('S84 life', () => {
  both('idle, running, draining, idle, and again; a second start is refused', function* (w) {
    const idle: Any = Proco.new()
    assert.equal(idle.state, 'idle')
    const { proco, begin, end } = held(w, idle)
    assert.deepEqual([proco === idle, proco.state], [true, 'running'])
    assert.throws(
      () => proco.start(() => 2),
      /BadState: proco cannot be started: it is running\. Make another/,
    )
    const result = w.beside(() => w.wait(proco.submit(1)))
    yield* begin(0)
    const exits = [1, 2].map(() => w.beside(() => w.wait(proco.exit())))
    yield* w.calm()
    assert.equal(proco.state, 'draining')
    assert.throws(() => proco.start(() => 2), { message: /it is draining\. Wait for its exit\(\) first\.$/ })
    end(0)
    assert.equal(yield* result(), 1)
    for (const exit of exits) assert.equal(yield* exit(), undefined)
    assert.equal(proco.state, 'idle')
    proco.start((n: number) => n + 1)
    assert.deepEqual([tally(proco), yield* w.wait(proco.submit(1))], ['', 2])
  })

  both('before the start, after exit and after kill everything is refused with NotRunning', function* (w) {
    const proco: Any = Proco.new({ name: 'mill' })
    for (const [end, message] of [
      [undefined, /^mill is not running: start\(\) it first$/],
      [() => w.wait(proco.exit()), /^mill is not running: it has ended; start\(\) it again$/],
      [() => proco.kill(), /^mill is not running: it has ended; start\(\) it again$/],
    ] as const) {
      if (end !== undefined) proco.start(() => {})
      yield* (end?.() ?? []) as Doing<void>
      for (const op of [() => proco.submit(1), () => proco.submitAsync(1), () => proco.exit()]) {
        assertError(yield* thrown(w.wait<unknown>(op())), NotRunning, message)
      }
      assert.throws(() => proco.trySubmit(1), NotRunning)
      assert.throws(() => proco.kill(), NotRunning)
    }
  })

  both('exit refuses submitters that wait for room, and handles the rest', function* (w) {
    const { proco, began, begin, end } = held(w, Proco.queueSize(2).new())
    const futures: Futures = [yield* w.wait(proco.submitAsync(0))]
    yield* begin(0)
    for (const n of [1, 2]) futures.push(yield* w.wait(proco.submitAsync(n)))
    const submit = (n: number) => w.wait<any>(n === 3 ? proco.submitAsync(n) : proco.submit(n))
    const blocked = [3, 4].map((n) => w.beside(() => submit(n)))
    yield* w.calm()
    const exit = w.beside(() => w.wait(proco.exit()))
    const refused = 'proco takes no more items: it has been told to exit'
    for (const each of [...blocked, () => submit(5)]) assertError(yield* thrown(each()), NotRunning, refused)
    assert.equal(proco.state, 'draining')
    assert.throws(() => proco.trySubmit(5), NotRunning)
    for (let n = 0; n < 3; n++) {
      yield* begin(n)
      end(n, n * 10)
    }
    yield* exit()
    assert.deepEqual([began, states(futures)], [[0, 1, 2], 'done done done'])
    assert.deepEqual([yield* w.wait(futures[2]!.get()), tally(proco)], [20, '3 accepted, 3 done'])
  })

  both('kill gives every open item its outcome before it returns', function* (w) {
    const { proco, begin } = held(w, Proco.queueSize(1).new({ name: 'mill' }))
    const running = yield* w.wait(proco.submitAsync(1))
    yield* begin(0)
    const got = w.beside(() => w.wait(running.get()))
    const queued = yield* w.wait(proco.submitAsync(2))
    const submit = (n: number) => w.wait<any>(n === 3 ? proco.submit(n) : proco.submitAsync(n))
    const blocked = [3, 4].map((n) => w.beside(() => submit(n)))
    yield* w.calm()
    assert.equal(proco.kill(), undefined)
    assert.deepEqual([states([running, queued]), proco.state], ['cancelled cancelled', 'idle'])
    const words = ['being handled', 'in its queue', 'waiting for room', 'waiting for room']
    for (const op of [got, () => w.wait(queued.get()), ...blocked]) {
      assertError(yield* thrown(op()), Killed, `mill was killed while this item was ${words.shift()}`)
    }
    assert.match(tally(proco), /^2 accepted, 2 cancelled/)
  })

  both('an exit throws Killed to all its waiters if the executor is killed meanwhile', function* (w) {
    const { proco, begin } = held(w, Proco.new())
    yield* w.wait(proco.submitAsync(1))
    yield* begin(0)
    const exits = [1, 2].map(() => w.beside(() => w.wait(proco.exit())))
    yield* w.calm()
    proco.kill()
    const killed = 'proco was killed before it had handled everything'
    for (const exit of exits) assertError(yield* thrown(exit()), Killed, killed)
  })

  test('kill stops handlers without time for cleanup that waits; started again at once, the new run is untouched', function* () {
    const log: string[] = []
    const proco: Any = Proco.new().start(() =>
      waits(function* () {
        log.push('begin')
        yield* sleep(5)
        log.push('never')
      }),
    )
    const old = proco.trySubmit('old')!
    yield* sleep(1)
    proco.kill()
    proco.start((item: string) => `new ${item}`)
    assert.equal(yield* proco.submit('item'), 'new item')
    yield* sleep(10)
    assert.deepEqual([log, old.state, tally(proco)], [['begin'], 'cancelled', '1 accepted, 1 done'])
  })

  for (const [end, expected, at] of [
    ['ends in order', 'done done done', 30],
    ['fails', 'done cancelled cancelled', 15],
    ['is stopped', 'done cancelled cancelled', 15],
  ] as const) {
    for (const owner of ['fiber', 'scope']) {
      test(`it is over with the ${owner} that it was started in: that ${end}, so items are ${expected}`, function* () {
        const proco: Any = Proco.new()
        const futures: Futures = []
        const body = function* (): Doing<void> {
          proco.start(() => sleep(10))
          for (const n of [1, 2, 3]) futures.push(yield* proco.submitAsync(n))
          yield* sleep(15)
          if (end === 'fails') throw new Error('no more')
          if (end === 'is stopped') yield* sleep()
        }
        const fiber = spin({ link: false }, owner === 'fiber' ? body : ((() => scope(body)) as typeof body))
        if (end === 'is stopped') after(15, () => fiber.stop())
        yield* fiber.join()
        assert.deepEqual([proco.state, states(futures), clock()()], ['idle', expected, at])
        if (end !== 'ends in order') assert.ok((yield* thrownBy(futures[2]!.get())) instanceof Killed)
      })
    }
  }

  test('it ends after the children of its scope, which may still submit, also in their cleanup', function* () {
    const proco: Any = Proco.new()
    const log: string[] = []
    const child = function* (): Doing<void> {
      log.push(yield* proco.submit(`at ${clock()()}`))
    }
    const blocks: [(body: () => Doing<void>) => any, ms: number][] = [
      [scope, 10],
      [spin, 1000],
    ]
    for (const [block, ms] of blocks) {
      yield* block(function* (): Doing<void> {
        proco.start((text) => `${text}!`)
        spin(() => waits(child, ms))
        yield* sleep(1)
      })
      assert.equal(proco.state, 'idle')
    }
    assert.deepEqual(log, ['at 10!', 'at 11!']) // a scope waits for its children, a fiber stops them
  })
})

describe('S85 no handler waits for itself', () => {
  const refusals = {
    submit: 'wait for the result of another item',
    submitAsync: 'wait for room in its queue',
    get: 'wait for one of its items',
    exit: 'wait for its exit()',
  }
  for (const [way, words] of Object.entries(refusals)) {
    both(`the only handler may not ${words}; it goes on, and nothing else is refused`, function* (w) {
      let error: any
      const proco: any = Proco.queueSize(1).new({ name: 'mill' })
      handled(w, proco, function* (item: string): Doing<void> {
        if (item === 'leaf') return
        const leaf = proco.trySubmit('leaf') // the queue is full now
        error = yield* thrown(w.wait(way === 'get' ? leaf.get() : proco[way]('leaf')))
        assert.equal(proco.stats().waiting, 0)
      })
      yield* w.wait(proco.submit('outer'))
      const advice =
        way === 'exit'
          ? 'it would wait for its own end. Call exit() outside, or kill().'
          : 'all its handlers would wait for each other. Use submitAsync(), which does not wait for the result, or more threads.'
      assertError(error, BadState, /^(this|mill > mill\[0\]) is a handler of mill and cannot /)
      assert.equal(error.message.split(' and cannot ')[1], `${words}: ${advice}`)
      assert.equal(proco.state, 'running')
      yield* w.wait(proco.exit())
      assert.equal(tally(proco), '2 accepted, 2 done')
    })
  }

  test('nor may one that waits by a promise', function* () {
    const proco: Any = Proco.new().start((item) =>
      item === 'leaf' ? item : proco.submit('leaf').then(() => {}),
    )
    const error = yield* thrownBy(proco.submit('outer'))
    assertError(error, BadState, /^this is a handler of proco and cannot wait for the/)
    assert.equal(yield* proco.submit('leaf'), 'leaf')
  })

  both('submitAsync is fine while there is room, and get of a future that has its outcome', function* (w) {
    const proco: Any = handled(w, Proco.new(), function* (item: Future<any> | string): Doing<any> {
      if (typeof item === 'object') return yield* w.wait(item.get())
      return item === 'leaf' ? 'leaf done' : yield* w.wait(proco.submitAsync('leaf'))
    })
    const future = yield* w.wait(proco.submit('outer'))
    assert.equal(yield* w.wait(future.get()), 'leaf done')
    assert.equal(yield* w.wait(proco.submit(future)), 'leaf done')
  })

  both('with a second thread free, a handler may wait for another item', function* (w) {
    const proco: Any = handled(w, Proco.threads(2).new(), function* (n: number): Doing<number> {
      return n === 0 ? 1 : 1 + (yield* w.wait<number>(proco.submit(n - 1)))
    })
    assert.equal(yield* w.wait(proco.submit(1)), 2)
  })

  test('when all others wait in the same way, the last one is refused', function* () {
    const proco: Any = Proco.threads(4).queueSize(2).new()
    const ways: ((item: string) => Doing<any>)[] = [
      (item) => proco.submit(item)[Symbol.iterator]() as Doing<any>,
      function* (item) {
        return yield* (yield* proco.submitAsync(item)).get()
      },
      (item) => proco.submitAsync(item)[Symbol.iterator]() as Doing<any>,
      (item) => thrownBy(proco.submit(item)),
    ]
    proco.start(function* (n: number | string) {
      if (typeof n === 'string') return n
      yield* sleep(n + 1)
      return yield* ways[n]!('leaf')
    })
    const futures: Futures = []
    for (const n of ways.keys()) {
      futures.push(yield* proco.submitAsync(n))
      yield* sleep(0.1)
    }
    assert.ok((yield* futures[3]!.get()) instanceof BadState)
    for (const n of [0, 1]) assert.equal(yield* futures[n]!.get(), 'leaf')
    assert.equal((yield* futures[2]!.get()).state, 'done')
  })

  test('handlers that wait for another executor, for time, or for a fiber that is no handler do not count', function* () {
    const other: Any = Proco.new().start(() => sleep(10))
    const outside = spin(function* () {
      yield* sleep(5)
      return yield* proco.submit('leaf')
    })
    const waits: Record<string, () => unknown> = {
      other: () => other.submit(1),
      time: () => sleep(10),
      fiber: () => outside,
    }
    const proco: Any = new Proco({ threads: 4 }).start((item) => waits[item]?.() ?? item)
    const futures: Futures = Object.keys(waits).map((item) => proco.trySubmit(item)!)
    assert.equal(yield* futures[2]!.get(), 'leaf')
    yield* proco.exit()
    assert.equal(states(futures), 'done done done')
  })

  test('a handler with a keyed item may not wait in its queue, however many threads there are', function* () {
    const errors: Error[] = []
    const proco: Any = Proco.threads(4).queueSize(1).new({ name: 'mill' })
    proco.start(function* (item: string) {
      if (item !== 'outer') return
      errors.push(
        yield* thrownBy(proco.submit('same key', { key: 'a' })),
        yield* thrownBy(proco.submit('no key')),
      )
      const future = yield* proco.submitAsync('later')
      errors.push(yield* thrownBy(future.get()), yield* thrownBy(proco.submitAsync('no room')))
    })
    yield* proco.submit('outer', { key: 'a' })
    yield* proco.exit()
    const { submit, submitAsync, get } = refusals
    const advice =
      'it has an item with a key, so everything else in that queue waits for its end. Use submitAsync(), which does not wait for the result, or another queue.'
    assert.deepEqual(
      errors.map(({ message }) => message),
      [submit, submit, get, submitAsync].map(
        (words) => `mill > mill[0] is a handler of mill and cannot ${words}: ${advice}`,
      ),
    )
    assert.equal(tally(proco), '2 accepted, 2 done')
  })

  test('it may wait for an item of another queue, and without a key for one of its own', function* () {
    const proco: Any = Proco.threads(2).queues(2).new()
    proco.start((item: string) =>
      item === 'leaf' ? item : proco.submit('leaf', item === 'keyed' ? { key: 1 } : undefined),
    )
    assert.equal(yield* proco.submit('keyed', { key: 0 }), 'leaf')
    assert.equal(yield* proco.submit('plain'), 'leaf')
  })

  test('exit is refused however many threads there are; children of a handler are refused too', function* () {
    for (const threads of [1, 4]) {
      const proco: Any = Proco.threads(threads).new()
      proco.start(function* (item: string) {
        if (item === 'leaf') return item
        const submit = threads === 1 ? thrownBy(proco.submit('leaf')) : proco.submit('leaf')
        return yield* all([() => thrownBy(proco.exit()), () => submit])
      })
      const [exit, submit] = yield* proco.submit('outer')
      const words = /^proco > proco\[0\] > .* is a handler of proco and cannot wait for its exit\(\)/
      assert.match(exit.message, words)
      assert.ok(threads === 1 ? submit instanceof BadState : submit === 'leaf')
      yield* proco.exit()
    }
  })
})

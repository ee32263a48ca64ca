// Items that are handled together: results by position, and the signal of their work.

import { runInNewContext } from 'node:vm'
import { Killed, MissingResult, Proco, type Work } from 'polyphony/proco'
import { assert, describe, type Routine, reports, runtime, sleep, test, thrownBy } from '../prelude.js'
import { type Any, type Futures, forHandlers, states, tally } from './handlers.js'

describe("results('each')", () => {
  const each = Proco.batch(true).results('each')

  test('holes and undefined are results; errors of every class and realm fail their item', function* () {
    class Own extends Error {}
    const foreign = runInNewContext('new TypeError("from afar")')
    // biome-ignore lint/suspicious/noSparseArray: that is the point
    const results = [, undefined, new Own('own'), { message: 'no error' }, foreign, null, 'text']
    const proco: Any = each.new().start(() => results as any[])
    const futures: Futures = Array.from(results, (_, n) => proco.trySubmit(n)!)
    yield* proco.exit()
    assert.equal(states(futures), 'done done failed done failed done done')
    for (const n of [0, 1, 3, 5, 6]) assert.equal(yield* futures[n]!.get(), results[n])
    for (const n of [2, 4]) assert.equal(yield* thrownBy(futures[n]!.get()), results[n])
  })

  test('a batch of one without a result says so in the singular', function* () {
    const proco: Any = each.new().start(() => [])
    const error = yield* thrownBy(proco.submit(1))
    assert.ok(error instanceof MissingResult)
    assert.match(
      error.message,
      /returned an array of 0 for 1 item, so item 0 has no result\. With results: 'each' it/,
    )
  })

  test('a handler may keep and change its array of items', function* () {
    const proco: Any = each.new().start((items) => items.splice(0).map((n) => n * 2))
    const futures: Futures = [1, 2, 3].map((n) => proco.trySubmit(n)!)
    for (const [n, future] of futures.entries()) assert.equal(yield* future.get(), (n + 1) * 2)
  })

  forHandlers('an array that throws, or kills, as it is read: each item has one outcome', function* (as) {
    let act = (): void => {
      throw 'unreadable'
    }
    const proco: Any = each
      .new()
      .start(as(() => Object.defineProperty(['a', 'b', 'c'], 1, { get: () => act() })))
    for (const expected of ['done failed failed', 'done cancelled cancelled']) {
      const futures: Futures = [1, 2, 3].map((n) => proco.trySubmit(n)!)
      yield* sleep(1)
      assert.equal(states(futures), expected)
      const error = yield* thrownBy(futures[1]!.get())
      assert.ok(expected.includes('failed') ? error === 'unreadable' : error instanceof Killed)
      act = () => proco.kill()
    }
    assert.equal(tally(proco), '6 accepted, 2 done, 2 failed, 2 cancelled')
  })
})

describe('the signal of the work', () => {
  const listeners: [does: string, listener: (proco: Any, futures: Futures) => void, words: RegExp][] = [
    ['cancels the other items', (_, futures) => futures.map((each) => each.cancel('mine')), /mine/],
    ['kills the executor', (proco) => proco.kill(), /killed/],
  ]
  for (const [does, listener, words] of listeners) {
    forHandlers(`a listener that ${does}, of one signal: each has one outcome`, function* (as) {
      const before = runtime().external
      const controller = new AbortController()
      const handler = function* (_: unknown, work: Work): Routine<void> {
        work.signal.addEventListener('abort', () => listener(proco, futures))
        yield* sleep()
      }
      const proco: Any = Proco.new().start(as(handler))
      const futures: Futures = [1, 2, 3].map((n) => proco.trySubmit(n, { signal: controller.signal })!)
      yield* sleep(1)
      controller.abort('theirs')
      assert.equal(states(futures), 'cancelled cancelled cancelled')
      for (const n of [1, 2]) assert.match(String(yield* thrownBy(futures[n]!.get())), words)
      yield* proco[Symbol.asyncDispose]()
      assert.deepEqual([tally(proco), runtime().external], ['3 accepted, 3 cancelled', before])
    })
  }

  forHandlers(
    'kill aborts the signals, also those that are asked for later, when every item is settled',
    function* (as) {
      const works: Work[] = []
      const open: number[] = []
      const proco: Any = new Proco({ threads: 3 }).start(
        as(function* (n: number, work: Work) {
          works.push(work)
          if (n > 1)
            work.signal.addEventListener('abort', () =>
              open.push(futures.filter((each) => !each.done).length),
            )
          yield* sleep()
        }),
      )
      const futures: Futures = [1, 2, 3, 4, 5].map((n) => proco.trySubmit(n)!)
      yield* sleep(1)
      proco.kill()
      assert.deepEqual(open, [0, 0])
      for (const { signal } of works) assert.ok(signal.aborted && signal.reason instanceof Killed)
      yield* proco[Symbol.asyncDispose]()
    },
  )

  /** What a handler throws after its item was cancelled, and whether that is reported. */
  const late: [what: string, error: (work: Work) => unknown, isReported: boolean][] = [
    ['the reason of its signal', ({ signal }) => signal.reason, false],
    ['an AbortError', () => new DOMException('x', 'AbortError'), false],
    ['Killed', () => new Killed('x'), false],
    ['another error', () => new Error('x'), true],
    ['null', () => null, true],
    ['what cannot be looked at', () => new Proxy({}, { get: refuse, getPrototypeOf: refuse }), true],
  ]
  for (const [what, error, isReported] of late) {
    test(`a cancelled handler that fails with ${what}: ${isReported ? 'reported' : 'expected'}`, function* () {
      const proco: Any = Proco.new().start(function* (_, work: Work) {
        try {
          yield* sleep()
        } finally {
          // biome-ignore lint/correctness/noUnsafeFinally: that is the point
          throw error(work)
        }
      })
      const future = proco.trySubmit(1)!
      yield* sleep(1)
      future.cancel()
      yield* proco.exit()
      assert.equal(reports().length, isReported ? 1 : 0)
      if (isReported)
        assert.match(reports()[0]!, /^unobserved: proco: a handler failed when all its items had an/)
      assert.equal(tally(proco), '1 accepted, 1 cancelled')
    })
  }
  function refuse(): never {
    throw new Error('do not look')
  }
})

// Items that are handled together: results by position, and the signal of their work.

import { Killed, Proco, type Work } from 'polyphony/proco'
import { assert, describe, type Routine, reports, runtime, sleep, test, thrownBy, waits } from '../prelude.js'
import { type Any, type Futures, forHandlers, states, tally } from './handlers.js'

describe("results('each')", () => {
  const each = Proco.batch(true).results('each')

  test('a handler may keep and change its array of items', function* () {
    const proco: Any = each.new().start((items) => items.splice(0).map((n) => n * 2))
    const futures: Futures = [1, 2, 3].map((n) => proco.trySubmit(n)!)
    for (const [n, future] of futures.entries()) assert.equal(yield* future.get(), (n + 1) * 2)
  })

  forHandlers('an array that throws, or kills, as it is read: each item has one outcome', function* (as) {
    let act = (): void => {
      throw 'unreadable'
    }
    const proco: Any = each.new()
    proco.start(as(() => Object.defineProperty(['a', 'b', 'c'], 1, { get: () => act() })))
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
      const count = () => open.push(futures.filter((each) => !each.done).length)
      const handler = (n: number, work: Work) => {
        works.push(work)
        if (n > 1) work.signal.addEventListener('abort', count)
        return waits(() => {})
      }
      const proco: Any = new Proco({ threads: 3 }).start(as(handler))
      const futures: Futures = [1, 2, 3, 4, 5].map((n) => proco.trySubmit(n)!)
      yield* sleep(1)
      proco.kill()
      assert.deepEqual(open, [0, 0])
      for (const { signal } of works) assert.ok(signal.aborted && signal.reason instanceof Killed)
      yield* proco[Symbol.asyncDispose]()
    },
  )

  const refuse = () => assert.fail('do not look')
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
      const fail = (work: Work) => {
        throw error(work)
      }
      const proco: Any = Proco.new().start((_, work: Work) => waits(() => fail(work)))
      const future = proco.trySubmit(1)!
      yield* sleep(1)
      future.cancel()
      yield* proco.exit()
      const words = 'unobserved: proco: a handler failed when all its items had an'
      assert.deepEqual(
        reports().map((each) => each.slice(0, words.length)),
        isReported ? [words] : [],
      )
      assert.equal(tally(proco), '1 accepted, 1 cancelled')
    })
  }
})

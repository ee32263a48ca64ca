// What an executor promises to fibers and to async code alike: S78-S85, and the rows B1-B16 of the original.
// Nothing here depends on time; what does is in test/proco, on the virtual clock.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { BadState, Cancel } from 'polyphony'
import {
  type Future,
  Killed,
  MissingResult,
  NotRunning,
  Proco,
  type ProcoStats,
  type Work,
} from 'polyphony/proco'
import { type Doing, type Gate, thrown, type World } from './worlds.js'

/** S78 accepted = queued + in the hands of handlers + done + failed + cancelled. */
export function addUp(stats: ProcoStats, inHands = 0): void {
  const { accepted, depth, done, failed, cancelled } = stats
  assert.equal(accepted, depth + inHands + done + failed + cancelled)
}

/** A handler that says when it has begun, and ends when it is told to. */
function held<I>(w: World) {
  const began: I[] = []
  const gates: { begin: Gate<void>; end: Gate<unknown> }[] = []
  const at = (n: number) => (gates[n] ??= { begin: w.gate(), end: w.gate() })
  return {
    began,
    handler: w.handler(function* (given: any): Doing<any> {
      const n = began.push(given) - 1
      at(n).begin.open()
      const result = yield* at(n).end.pass()
      if (result instanceof Error) throw result
      return result ?? given
    }),
    /** Until the nth call has begun. */
    begin: (n: number) => at(n).begin.pass(),
    end: (n: number, result?: unknown) => at(n).end.open(result),
  }
}

export function anExecutor(w: World): void {
  const { wait, handler, gate, beside, calm } = w

  describe(`an executor ${w.name}`, () => {
    const test = (name: string, body: () => Doing<void>) => it(name, () => w.run(body))

    // ---- life

    test('B1 S84 start gives itself; idle, running, draining, idle, and again', function* () {
      const proco = Proco.new<number, number>()
      const { handler: hold, begin, end } = held<number>(w)
      assert.equal(proco.state, 'idle')
      assert.equal(proco.start(hold), proco)
      assert.equal(proco.state, 'running')
      const result = beside(() => wait(proco.submit(1)))
      yield* begin(0)
      const exit = beside(() => wait(proco.exit()))
      const second = beside(() => wait(proco.exit()))
      yield* calm()
      assert.equal(proco.state, 'draining')
      end(0)
      assert.equal(yield* result(), 1)
      assert.equal(yield* exit(), undefined)
      assert.equal(yield* second(), undefined)
      assert.equal(proco.state, 'idle')
      proco.start((n) => n + 1)
      assert.equal(proco.state, 'running')
      assert.equal(yield* wait(proco.submit(1)), 2)
      yield* wait(proco.exit())
      assert.equal(proco.state, 'idle')
    })

    test('B2 S84 a second start is refused, and harms nothing', function* () {
      const proco = Proco.new<number, number>().start((n) => n)
      assert.throws(
        () => proco.start(() => 2),
        (error: unknown) =>
          error instanceof BadState && /proco cannot be started: it is running/.test(error.message),
      )
      assert.equal(yield* wait(proco.submit(1)), 1)
      const { handler: hold, begin, end } = held<number>(w)
      yield* wait(proco.exit())
      proco.start(hold)
      yield* wait(proco.submitAsync(1))
      yield* begin(0)
      const exit = beside(() => wait(proco.exit()))
      yield* calm()
      assert.throws(() => proco.start(() => 2), /it is draining. Wait for its exit\(\)/)
      end(0)
      yield* exit()
    })

    test('B3 S84 before the start, after exit and after kill everything is refused with NotRunning', function* () {
      const proco = Proco.new<number, number>({ name: 'mill' })
      function* allRefused(): Doing<void> {
        assert.equal(proco.state, 'idle')
        for (const op of [() => proco.submit(1), () => proco.submitAsync(1), () => proco.exit()]) {
          const error = yield* thrown(wait<unknown>(op()))
          assert.ok(error instanceof NotRunning)
          assert.equal(error.code, 'NOT_RUNNING')
          assert.match(error.message, /^mill is not running: /)
        }
        assert.throws(() => proco.trySubmit(1), NotRunning)
        assert.throws(() => proco.kill(), NotRunning)
      }
      yield* allRefused()
      proco.start((n) => n)
      yield* wait(proco.exit())
      yield* allRefused()
      proco.start((n) => n)
      proco.kill()
      yield* allRefused()
      proco.start((n) => n)
      assert.equal(yield* wait(proco.submit(7)), 7)
      yield* wait(proco.exit())
    })

    test('B11 S84 exit handles everything that was accepted, refuses who waits for room, and gives nothing', function* () {
      const { handler: hold, began, begin, end } = held<number>(w)
      const proco = Proco.queueSize(2).new<number, number>().start(hold)
      const futures: Future<number>[] = [yield* wait(proco.submitAsync(0))]
      yield* begin(0)
      futures.push(yield* wait(proco.submitAsync(1)), yield* wait(proco.submitAsync(2)))
      const blocked = beside(() => wait(proco.submitAsync(3)))
      const blockedToo = beside(() => wait(proco.submit(4)))
      const exited = beside(function* (): Doing<unknown> {
        return yield* wait(proco.exit())
      })
      for (const each of [blocked, blockedToo]) {
        const error = yield* thrown(each())
        assert.ok(error instanceof NotRunning)
        assert.match(error.message, /takes no more items: it has been told to exit/)
      }
      assert.equal(proco.state, 'draining')
      assert.ok((yield* thrown(wait(proco.submit(5)))) instanceof NotRunning)
      assert.throws(() => proco.trySubmit(5), NotRunning)
      for (let n = 0; n < 3; n++) {
        yield* begin(n)
        end(n, n * 10)
      }
      assert.equal(yield* exited(), undefined)
      assert.deepEqual(began, [0, 1, 2])
      assert.deepEqual(
        futures.map((future) => future.state),
        ['done', 'done', 'done'],
      )
      assert.equal(yield* wait(futures[2]!.get()), 20)
      addUp(proco.stats())
      assert.equal(proco.stats().accepted, 3)
    })

    test('B12 S78 S84 kill gives every open item its outcome before it returns: running, queued, waiting for room', function* () {
      const { handler: hold, begin } = held<number>(w)
      const proco = Proco.queueSize(1).new<number, number>({ name: 'mill' }).start(hold)
      const running = yield* wait(proco.submitAsync(1))
      yield* begin(0)
      const submitting = beside(() => wait(running.get()))
      const queued = yield* wait(proco.submitAsync(2))
      const waiting = [beside(() => wait(proco.submit(3))), beside(() => wait(proco.submitAsync(4)))]
      yield* calm()
      assert.equal(proco.stats().waiting, 2)
      assert.equal(proco.kill(), undefined)
      assert.deepEqual([running.state, queued.state, proco.state], ['cancelled', 'cancelled', 'idle'])
      const words = ['being handled', 'in its queue', 'waiting for room', 'waiting for room']
      for (const op of [submitting, () => wait(queued.get()), ...waiting]) {
        const error = yield* thrown(op())
        assert.ok(error instanceof Killed)
        assert.equal(error.code, 'KILLED')
        assert.equal(error.message, `mill was killed while this item was ${words.shift()}`)
      }
      assert.deepEqual([proco.stats().accepted, proco.stats().cancelled], [2, 2])
    })

    test('B12 S84 exit of one that is killed meanwhile throws Killed, to all who wait', function* () {
      const { handler: hold, begin } = held<number>(w)
      const proco = Proco.new<number, number>().start(hold)
      const future = yield* wait(proco.submitAsync(1))
      yield* begin(0)
      const exits = [beside(() => wait(proco.exit())), beside(() => wait(proco.exit()))]
      yield* calm()
      proco.kill()
      for (const exit of exits) assert.ok((yield* thrown(exit())) instanceof Killed)
      assert.ok((yield* thrown(wait(future.get()))) instanceof Killed)
    })

    test('S84 restarted at once after kill, while the old handler still ends, the new run is untouched by it', function* () {
      const log: string[] = []
      const { handler: hold, begin } = held<string>(w)
      const proco = Proco.new<string, string>().start(hold)
      const old = yield* wait(proco.submitAsync('old'))
      yield* begin(0)
      proco.kill()
      proco.start((item) => {
        log.push(item)
        return `new ${item}`
      })
      assert.equal(proco.stats().accepted, 0)
      assert.equal(yield* wait(proco.submit('item')), 'new item')
      assert.equal(old.state, 'cancelled')
      assert.deepEqual(log, ['item'])
      assert.equal(proco.stats().done, 1)
      yield* wait(proco.exit())
    })

    test('S84 an executor that never got an item exits, and can be killed', function* () {
      const proco = Proco.threads(3)
        .queues(2)
        .batch(true)
        .new()
        .start(() => assert.fail('nothing to do'))
      yield* wait(proco.exit())
      proco.start(() => assert.fail('nothing to do'))
      proco.kill()
      assert.equal(proco.state, 'idle')
    })

    test('S84 the end of one that is not needed any more is sure, started or not', function* () {
      const proco = Proco.new<number, number>()
      yield* wait(proco[Symbol.asyncDispose]())
      proco.start((n) => n)
      const future = yield* wait(proco.submitAsync(1))
      yield* wait(proco[Symbol.asyncDispose]())
      assert.equal(future.state, 'done')
      yield* wait(proco[Symbol.asyncDispose]())
    })

    // ---- items

    test('B4 S79 submitAsync gives the future at once while there is room, else when there is; submit gives the result', function* () {
      const { handler: hold, begin, end } = held<number>(w)
      const proco = Proco.queueSize(1).new<number, number>().start(hold)
      const first = yield* wait(proco.submitAsync(1))
      yield* begin(0)
      const second = yield* wait(proco.submitAsync(2))
      assert.deepEqual([first.state, second.state], ['running', 'queued'])
      const third = beside(() => wait(proco.submitAsync(3)))
      yield* calm()
      const fourth = beside(() => wait(proco.submit(4)))
      yield* calm()
      assert.equal(proco.trySubmit(5), undefined)
      end(0, 'a')
      const future = yield* third()
      assert.equal(future.state, 'queued')
      assert.deepEqual([first.state, second.state], ['done', 'running'])
      for (const n of [1, 2, 3]) end(n)
      assert.equal(yield* fourth(), 4)
      assert.equal(yield* wait(future.get()), 3)
      yield* wait(proco.exit())
    })

    test('S79 who waits for room is let in in the order of arrival; trySubmit overtakes nobody', function* () {
      const { handler: hold, began, begin, end } = held<string>(w)
      const proco = Proco.queueSize(1).new<string, string>().start(hold)
      yield* wait(proco.submitAsync('running'))
      yield* begin(0)
      yield* wait(proco.submitAsync('queued'))
      const later: (() => Doing<unknown>)[] = []
      for (const item of ['a', 'b', 'c', 'd']) {
        const isSubmit = item === 'a' || item === 'c'
        later.push(
          beside<unknown>(() => wait<unknown>(isSubmit ? proco.submit(item) : proco.submitAsync(item))),
        )
        yield* calm()
      }
      assert.deepEqual([proco.stats().waiting, proco.stats().depth], [4, 1])
      for (let n = 0; n < 6; n++) {
        yield* begin(n)
        if (n < 5) {
          assert.equal(proco.stats().depth, 1)
          assert.equal(proco.trySubmit('pushy'), undefined)
        }
        end(n)
      }
      for (const each of later) yield* each()
      yield* wait(proco.exit())
      assert.deepEqual(began, ['running', 'queued', 'a', 'b', 'c', 'd'])
    })

    test('S79 an item that is cancelled in the queue makes room at once', function* () {
      const { handler: hold, began, begin, end } = held<number>(w)
      const proco = Proco.queueSize(2).new<number, number>().start(hold)
      yield* wait(proco.submitAsync(0))
      yield* begin(0)
      const first = yield* wait(proco.submitAsync(1))
      yield* wait(proco.submitAsync(2))
      const third = beside(() => wait(proco.submitAsync(3)))
      yield* calm()
      assert.equal(proco.stats().waiting, 1)
      assert.equal(first.cancel(), true)
      assert.deepEqual([proco.stats().waiting, proco.stats().depth], [0, 2])
      assert.equal((yield* third()).state, 'queued')
      for (const n of [0, 1, 2]) end(n)
      yield* wait(proco.exit())
      assert.deepEqual(began, [0, 2, 3])
    })

    test('B5 S80 one queue and one thread: strictly first come, first served, each with its own result', function* () {
      const order: number[] = []
      const proco = Proco.new<number, number>().start(
        handler(function* (n: number) {
          order.push(n)
          return n * n
        }),
      )
      const futures: Future<number>[] = []
      for (let n = 0; n < 50; n++) futures.push(yield* wait(proco.submitAsync(n)))
      for (const [n, future] of futures.entries()) assert.equal(yield* wait(future.get()), n * n)
      assert.deepEqual(order, [...Array(50).keys()])
      yield* wait(proco.exit())
    })

    test('B5 B10 threads(3): three handlers at a time, no more, and a slow one keeps nobody waiting', function* () {
      const { handler: hold, began, begin, end } = held<number>(w)
      const proco = Proco.threads(3).new<number, number>().start(hold)
      const futures: Future<number>[] = []
      for (let n = 0; n < 6; n++) futures.push(yield* wait(proco.submitAsync(n)))
      yield* begin(2)
      assert.deepEqual([began.length, proco.stats().running, proco.stats().depth], [3, 3, 3])
      for (const n of [1, 2, 3, 4, 5]) {
        yield* begin(n)
        end(n)
        yield* wait(futures[n]!.get())
        assert.ok(proco.stats().running <= 3)
      }
      assert.deepEqual(
        futures.map((future) => future.done),
        [false, true, true, true, true, true],
      )
      end(0)
      yield* wait(proco.exit())
      assert.deepEqual([...began].sort(), [0, 1, 2, 3, 4, 5])
    })

    test('B6 S81 natural batches: a free handler takes what is there, and all its items share one result', function* () {
      const { handler: hold, began, begin, end } = held<number[]>(w)
      const proco = Proco.batch(true).new<number, object>().start(hold)
      const first = yield* wait(proco.submitAsync(0))
      yield* begin(0)
      const rest: Future<object>[] = []
      for (const n of [1, 2, 3]) rest.push(yield* wait(proco.submitAsync(n)))
      assert.deepEqual(
        rest.map((future) => future.state),
        ['queued', 'queued', 'queued'],
      )
      end(0, 'one')
      yield* begin(1)
      const shared = { shared: true }
      end(1, shared)
      assert.equal(yield* wait(first.get()), 'one')
      for (const future of rest) assert.equal(yield* wait(future.get()), shared)
      assert.deepEqual(began, [[0], [1, 2, 3]])
      yield* wait(proco.exit())
    })

    test('B6 S81 no batch is larger than batchSize, and the result changes with the batch', function* () {
      const proco = Proco.batch(true)
        .batchSize(4)
        .new<number, number[]>()
        .start(
          handler(function* (items: number[]) {
            return items
          }),
        )
      const futures: Future<number[]>[] = []
      for (let n = 0; n < 10; n++) futures.push(proco.trySubmit(n)!)
      const results: number[][] = []
      for (const future of futures) results.push(yield* wait(future.get()))
      assert.deepEqual(results[0], [0, 1, 2, 3])
      assert.equal(results[3], results[0])
      assert.deepEqual(results[4], [4, 5, 6, 7])
      assert.deepEqual(results[9], [8, 9])
      yield* wait(proco.exit())
    })

    test('B14 batchSize(1): each item is a batch of its own, with its own future', function* () {
      const proco = Proco.batch(true)
        .batchSize(1)
        .new<number, number>()
        .start(
          handler(function* (items: number[]) {
            assert.equal(items.length, 1)
            return items[0]! * 2
          }),
        )
      const futures = [proco.trySubmit(1)!, yield* wait(proco.submitAsync(2))]
      assert.equal(yield* wait(proco.submit(3)), 6)
      assert.deepEqual([yield* wait(futures[0]!.get()), yield* wait(futures[1]!.get())], [2, 4])
      yield* wait(proco.exit())
    })

    test('S81 batchSize larger than queueSize: a full queue is a batch', function* () {
      const { handler: hold, began, begin, end } = held<number[]>(w)
      const proco = Proco.batch(true).batchSize(10).queueSize(2).new<number, number[]>().start(hold)
      yield* wait(proco.submitAsync(0))
      yield* begin(0)
      const rest: (() => Doing<unknown>)[] = []
      for (const n of [1, 2, 3]) {
        rest.push(beside(() => wait(proco.submit(n))))
        yield* calm()
      }
      assert.deepEqual([proco.stats().depth, proco.stats().waiting], [2, 1])
      for (const n of [0, 1, 2]) end(n)
      for (const each of rest) yield* each()
      assert.deepEqual(began, [[0], [1, 2], [3]])
      yield* wait(proco.exit())
    })

    test('B7 S78 a future has one outcome: get gives it, or throws the very error, as often as one asks', function* () {
      const error = new Error('mine')
      const value = { a: 1 }
      const proco = Proco.new<boolean, object>().start(
        handler(function* (isFine: boolean) {
          if (!isFine) throw error
          return value
        }),
      )
      const [fine, broken] = [proco.trySubmit(true)!, proco.trySubmit(false)!]
      assert.equal(fine.done, false)
      for (let n = 0; n < 3; n++) {
        assert.equal(yield* wait(fine.get()), value)
        assert.equal(yield* thrown(wait(broken.get())), error)
      }
      assert.deepEqual([fine.state, fine.done, broken.state, broken.done], ['done', true, 'failed', true])
      assert.equal(fine.cancel(), false)
      assert.equal(broken.cancel(), false)
      yield* wait(proco.exit())
      assert.equal(yield* wait(fine.get()), value)
    })

    test('S83 a future can be waited for by many, also before it has an outcome', function* () {
      const { handler: hold, begin, end } = held<number>(w)
      const proco = Proco.new<number, number>().start(hold)
      const future = yield* wait(proco.submitAsync(1))
      const all = [1, 2, 3].map(() => beside(() => wait(future.get())))
      yield* begin(0)
      end(0, 'all')
      for (const each of all) assert.equal(yield* each(), 'all')
      yield* wait(proco.exit())
    })

    test('S83 whoever comes later waits for the same item, and for the same end', function* () {
      let calls = 0
      const proco = Proco.new<number, number>().start((n) => {
        calls++
        return n
      })
      const [submit, submitAsync] = [proco.submit(1), proco.submitAsync(2)]
      assert.equal(yield* wait(submit), 1)
      assert.equal(yield* wait(submit), 1)
      const future = yield* wait(submitAsync)
      assert.equal(yield* wait(submitAsync), future)
      assert.equal(yield* wait(future.get()), 2)
      const exit = proco.exit()
      yield* wait(exit)
      yield* wait(exit)
      assert.equal(yield* wait(submit), 1)
      assert.equal(calls, 2)
    })

    test('B8 S82 a failing handler fails its item and nothing else, whatever it throws', function* () {
      const thrownThings = [new Error('an error'), 'a string', 0, null, undefined, { code: 'X' }, Symbol('s')]
      const proco = Proco.new<unknown, unknown>().start(
        handler(function* (item: unknown) {
          if (item !== 'fine') throw item
          return 'fine'
        }),
      )
      for (const item of thrownThings) {
        assert.equal(yield* thrown(wait(proco.submit(item))), item)
        assert.equal(yield* wait(proco.submit('fine')), 'fine')
      }
      const { done, failed, cancelled } = proco.stats()
      assert.deepEqual([done, failed, cancelled], [7, 7, 0])
      yield* wait(proco.exit())
    })

    test('B8 S82 a failing batch fails its items, and the next batch is handled', function* () {
      const { handler: hold, begin, end } = held<number[]>(w)
      const proco = Proco.batch(true).new<number, number[]>().start(hold)
      const first = [proco.trySubmit(1)!, proco.trySubmit(2)!]
      yield* begin(0)
      const second = [proco.trySubmit(3)!, proco.trySubmit(4)!]
      const error = new Error('no')
      end(0, error)
      end(1)
      for (const future of first) assert.equal(yield* thrown(wait(future.get())), error)
      for (const future of second) assert.deepEqual(yield* wait(future.get()), [3, 4])
      yield* wait(proco.exit())
    })

    test('B15 undefined and null are items like others, and results too', function* () {
      const seen: unknown[] = []
      const proco = Proco.new<unknown, unknown>().start(
        handler(function* (item: unknown) {
          seen.push(item)
          return item
        }),
      )
      assert.equal(yield* wait(proco.submit(undefined)), undefined)
      assert.equal(yield* wait(proco.submit(null)), null)
      const future = proco.trySubmit(undefined)!
      assert.equal(yield* wait(future.get()), undefined)
      assert.equal(future.state, 'done')
      yield* wait(proco.exit())
      assert.deepEqual(seen, [undefined, null, undefined])
      const batches = Proco.batch(true)
        .new<unknown, unknown>()
        .start((items) => items)
      const two = [batches.trySubmit(null)!, batches.trySubmit(undefined)!]
      assert.deepEqual(yield* wait(two[0]!.get()), [null, undefined])
      yield* wait(batches.exit())
    })

    // ---- each

    test("S78 results('each'): an outcome for each item, by position; an Error fails its item only", function* () {
      const error = new RangeError('odd')
      const proco = Proco.batch(true)
        .results('each')
        .new<number, number>()
        .start(
          handler(function* (items: number[]) {
            return items.map((n) => (n % 2 === 1 ? error : n * 10))
          }),
        )
      const futures = [1, 2, 3, 4].map((n) => proco.trySubmit(n)!)
      assert.equal(yield* thrown(wait(futures[0]!.get())), error)
      assert.equal(yield* wait(futures[1]!.get()), 20)
      assert.equal(yield* thrown(wait(futures[2]!.get())), error)
      assert.equal(yield* wait(futures[3]!.get()), 40)
      assert.deepEqual([proco.stats().done, proco.stats().failed], [2, 2])
      yield* wait(proco.exit())
    })

    test("S78 results('each'): too few outcomes, or none, fail those who got none with MissingResult", function* () {
      const answers: unknown[] = [['a'], [], undefined, 'text', { 0: 'a', length: 2 }, null, 3]
      for (const answer of answers) {
        const proco = Proco.batch(true)
          .results('each')
          .new<number, any>()
          .start(
            handler(function* (_: number[]) {
              return answer as any[]
            }),
          )
        const futures = [proco.trySubmit(1)!, proco.trySubmit(2)!]
        const errors: any[] = []
        for (const future of futures) {
          if (future === futures[0] && Array.isArray(answer) && answer.length === 1) {
            assert.equal(yield* wait(future.get()), 'a')
          } else errors.push(yield* thrown(wait(future.get())))
        }
        for (const error of errors) {
          assert.ok(error instanceof MissingResult, String(error))
          assert.match(
            error.message,
            /^the handler of proco returned .* for 2 items, so item [01] has no result/,
          )
        }
        yield* wait(proco.exit())
        addUp(proco.stats())
      }
    })

    test("S78 results('each'): outcomes for nobody are dropped", function* () {
      const proco = Proco.batch(true)
        .results('each')
        .new<number, number>()
        .start(
          handler(function* (items: number[]) {
            return [...items, 98, new Error('for nobody')]
          }),
        )
      assert.equal(yield* wait(proco.submit(1)), 1)
      assert.deepEqual([proco.stats().accepted, proco.stats().done, proco.stats().failed], [1, 1, 0])
      yield* wait(proco.exit())
    })

    test('S78 without each, an Error that is returned is a result', function* () {
      const error = new Error('a value')
      const proco = Proco.batch(true)
        .new<number, Error>()
        .start(
          handler(function* (_: number[]) {
            return error
          }),
        )
      assert.equal(yield* wait(proco.submit(1)), error)
      assert.equal(proco.stats().done, 1)
      yield* wait(proco.exit())
    })

    // ---- cancelling

    test('S82 cancelled while queued: it never reaches the handler', function* () {
      const { handler: hold, began, begin, end } = held<number>(w)
      const proco = Proco.new<number, number>().start(hold)
      yield* wait(proco.submitAsync(1))
      yield* begin(0)
      const future = yield* wait(proco.submitAsync(2))
      const got = beside(() => wait(future.get()))
      const reason = new Error('not needed')
      yield* calm()
      assert.equal(future.cancel(reason), true)
      assert.equal(future.state, 'cancelled')
      assert.equal(future.cancel(), false)
      const error = yield* thrown(got())
      assert.ok(error instanceof Cancel)
      assert.equal(error.cause, reason)
      assert.equal(error.message, 'an item of proco was cancelled: not needed')
      end(0)
      yield* wait(proco.exit())
      assert.deepEqual(began, [1])
      assert.equal(proco.stats().cancelled, 1)
    })

    test('S82 cancelled while it runs alone: the outcome is there at once, the handler is told, the next item is handled', function* () {
      const signals: AbortSignal[] = []
      const begun = gate()
      const proco = Proco.new<number, number>().start(
        handler(function* (n: number, { signal }: Work): Doing<number> {
          signals.push(signal)
          if (n === 1) {
            begun.open()
            yield* gate().pass() // for ever
          }
          return n
        }),
      )
      const future = yield* wait(proco.submitAsync(1))
      yield* begun.pass()
      const next = yield* wait(proco.submitAsync(2))
      assert.equal(signals[0]!.aborted, false)
      future.cancel('why not')
      assert.equal(future.state, 'cancelled')
      assert.equal(signals[0]!.aborted, true)
      assert.equal((yield* thrown(wait(future.get()))).cause, 'why not')
      assert.equal(yield* wait(next.get()), 2)
      assert.equal(signals[1]!.aborted, false)
      yield* wait(proco.exit())
      assert.deepEqual([proco.stats().done, proco.stats().failed, proco.stats().cancelled], [1, 0, 1])
    })

    test('S82 cancelled in a batch with others: they get their result, and the handler is not stopped', function* () {
      const { handler: hold, begin, end } = held<number[]>(w)
      const proco = Proco.batch(true).new<number, string>().start(hold)
      const futures = [1, 2, 3].map((n) => proco.trySubmit(n)!)
      yield* begin(0)
      futures[1]!.cancel()
      assert.deepEqual(
        futures.map((future) => future.state),
        ['running', 'cancelled', 'running'],
      )
      end(0, 'result')
      assert.equal(yield* wait(futures[0]!.get()), 'result')
      assert.equal(yield* wait(futures[2]!.get()), 'result')
      assert.ok((yield* thrown(wait(futures[1]!.get()))) instanceof Cancel)
      yield* wait(proco.exit())
      assert.deepEqual([proco.stats().done, proco.stats().cancelled], [2, 1])
    })

    test("S82 cancelled in a batch with results('each'): the others keep their places", function* () {
      const { handler: hold, begin, end } = held<number[]>(w)
      const proco = Proco.batch(true)
        .results('each')
        .new<number, string>()
        .start(hold as any)
      const futures = [1, 2, 3].map((n) => proco.trySubmit(n)!)
      yield* begin(0)
      futures[0]!.cancel()
      end(0, ['a', 'b', new Error('c')])
      assert.equal(yield* wait(futures[1]!.get()), 'b')
      assert.equal((yield* thrown(wait(futures[2]!.get()))).message, 'c')
      assert.equal(futures[0]!.state, 'cancelled')
      yield* wait(proco.exit())
      addUp(proco.stats())
    })

    test('S82 all items of a batch cancelled: the handler is stopped with the last', function* () {
      const begun = gate<AbortSignal>()
      const proco = Proco.batch(true)
        .new<number, string>()
        .start(
          handler(function* (items: number[], { signal }: Work): Doing<string> {
            if (items.includes(1)) {
              begun.open(signal)
              yield* gate().pass()
            }
            return 'next'
          }),
        )
      const futures = [1, 2].map((n) => proco.trySubmit(n)!)
      const signal = yield* begun.pass()
      futures[0]!.cancel()
      assert.equal(signal.aborted, false)
      futures[1]!.cancel()
      assert.equal(signal.aborted, true)
      assert.match(String(signal.reason), /an item of proco was cancelled/)
      assert.equal(yield* wait(proco.submit(3)), 'next')
      yield* wait(proco.exit())
    })

    test('S78 a signal that is aborted already: the item is not accepted, and the error is Cancel with the reason', function* () {
      const proco = Proco.new<number, number>().start(() => assert.fail('not to be handled'))
      const signal = AbortSignal.abort('too late')
      for (const op of [proco.submit(1, { signal }), proco.submitAsync(1, { signal })]) {
        const error = yield* thrown(wait<unknown>(op))
        assert.ok(error instanceof Cancel)
        assert.equal(error.cause, 'too late')
        assert.equal(error.message, 'an item of proco was cancelled by its signal: too late')
      }
      assert.throws(() => proco.trySubmit(1, { signal }), Cancel)
      assert.equal(proco.stats().accepted, 0)
      yield* wait(proco.exit())
    })

    test('S78 a signal aborted while the item waits for room, is queued, or runs: Cancel with the reason', function* () {
      const { handler: hold, began, begin } = held<number>(w)
      const proco = Proco.queueSize(1).new<number, number>().start(hold)
      const controllers = [1, 2, 3, 4].map(() => new AbortController())
      const [c1, c2, c3, c4] = controllers as [
        AbortController,
        AbortController,
        AbortController,
        AbortController,
      ]
      const running = yield* wait(proco.submitAsync(1, { signal: c1.signal }))
      yield* begin(0)
      const queued = yield* wait(proco.submitAsync(2, { signal: c2.signal }))
      const waiting = beside(() => wait(proco.submitAsync(3, { signal: c3.signal })))
      const waitingToo = beside(() => wait(proco.submit(4, { signal: c4.signal })))
      yield* calm()
      assert.equal(proco.stats().waiting, 2)
      for (const controller of controllers.reverse())
        controller.abort(new Error(`c${controllers.indexOf(controller)}`))
      const causes: string[] = []
      for (const op of [() => wait(running.get()), () => wait(queued.get()), waiting, waitingToo]) {
        const error = yield* thrown(op())
        assert.ok(error instanceof Cancel)
        causes.push((error.cause as Error).message)
      }
      assert.deepEqual(causes, ['c3', 'c2', 'c1', 'c0'])
      yield* wait(proco.exit())
      assert.deepEqual(began, [1])
      assert.deepEqual([proco.stats().accepted, proco.stats().cancelled], [2, 2])
    })

    test('S78 a signal aborted after the outcome changes nothing, and nobody listens to it any more', function* () {
      const proco = Proco.new<number, number>().start((n) => n)
      const controller = new AbortController()
      const future = yield* wait(proco.submitAsync(1, { signal: controller.signal }))
      assert.equal(yield* wait(future.get()), 1)
      controller.abort()
      assert.equal(future.state, 'done')
      assert.equal(yield* wait(future.get()), 1)
      yield* wait(proco.exit())
    })

    // ---- handlers and their executor

    test('B13 S85 submitAsync inside a handler is fine; submit in the sole handler is refused with a sentence', function* () {
      const proco: ReturnType<typeof make> = make()
      function make() {
        return Proco.new<string, unknown>().start(
          handler(function* (item: string): Doing<unknown> {
            if (item === 'leaf') return 'leaf done'
            if (item === 'inside') return yield* wait(proco.submitAsync('leaf'))
            return yield* thrown(wait(proco.submit('leaf')))
          }),
        )
      }
      const future = (yield* wait(proco.submit('inside'))) as Future<unknown>
      assert.equal(yield* wait(future.get()), 'leaf done')
      const error = (yield* wait(proco.submit('refused'))) as BadState
      assert.ok(error instanceof BadState)
      assert.match(error.message, /is a handler of proco and cannot wait for the result of another item/)
      assert.match(error.message, /Use submitAsync\(\)/)
      assert.equal(proco.stats().accepted, 3)
      yield* wait(proco.exit())
    })

    test('S85 in the sole handler a full queue, an open future and exit are refused too, before it has waited', function* () {
      const { proco, errors } = { proco: Proco.queueSize(1).new<string, unknown>(), errors: [] as Error[] }
      let open: Future<unknown> | undefined
      proco.start(
        handler(function* (item: string): Doing<void> {
          if (item === 'leaf') return
          open ??= proco.trySubmit('leaf')
          const op = item === 'room' ? proco.submitAsync('leaf') : item === 'get' ? open!.get() : proco.exit()
          errors.push(yield* thrown(wait<unknown>(op)))
        }),
      )
      for (const item of ['room', 'get', 'exit']) {
        open = item === 'get' ? proco.trySubmit('get') : undefined
        if (open === undefined) yield* wait(proco.submit(item))
        else yield* wait(open.get())
      }
      yield* wait(proco.exit())
      assert.ok(errors.every((error) => error instanceof BadState))
      assert.match(String(errors[0]), /cannot wait for room in its queue/)
      assert.match(String(errors[1]), /cannot wait for one of its items/)
      assert.match(String(errors[2]), /cannot wait for its exit\(\): it would wait for its own end/)
      addUp(proco.stats())
    })

    test('S85 with a second thread free, a handler may wait for another item', function* () {
      const proco: ReturnType<typeof make> = make()
      function make() {
        return Proco.threads(2)
          .new<number, number>()
          .start(
            handler(function* (n: number): Doing<number> {
              return n === 0 ? 1 : 1 + (yield* wait(proco.submit(n - 1)))
            }),
          )
      }
      assert.equal(yield* wait(proco.submit(1)), 2)
      yield* wait(proco.exit())
    })

    // ---- keys

    test('S80 items with the same key one after the other, in order, however many threads; other keys beside them', function* () {
      const running = new Map<string, number>()
      const order = new Map<string, number[]>()
      const proco = Proco.threads(4)
        .queues(4)
        .new<{ key: string; n: number }, void>()
        .start(
          handler(function* ({ key, n }: { key: string; n: number }): Doing<void> {
            running.set(key, (running.get(key) ?? 0) + 1)
            assert.equal(running.get(key), 1)
            order.set(key, [...(order.get(key) ?? []), n])
            yield* calm()
            running.set(key, running.get(key)! - 1)
          }),
        )
      for (let n = 0; n < 30; n++)
        yield* wait(proco.submitAsync({ key: `k${n % 5}`, n }, { key: `k${n % 5}` }))
      yield* wait(proco.exit())
      assert.equal(proco.stats().failed, 0)
      for (let k = 0; k < 5; k++)
        assert.deepEqual(
          order.get(`k${k}`),
          [0, 1, 2, 3, 4, 5].map((i) => i * 5 + k),
        )
    })

    // ---- the recipes of the README

    test('B16 an executor of blocks, retries in the handler, and callbacks', function* () {
      const blocks = Proco.threads(2)
        .new<() => number, number>()
        .start((block) => block())
      assert.equal(yield* wait(blocks.submit(() => 1 + 1)), 2)
      assert.equal(
        (yield* thrown(
          wait(
            blocks.submit(() => {
              throw new Error('in a block')
            }),
          ),
        )).message,
        'in a block',
      )
      yield* wait(blocks.exit())

      let tries = 0
      const stubborn = Proco.new<number, number>().start(
        handler(function* (n: number): Doing<number> {
          for (;;) {
            try {
              if (++tries < 3) throw new Error('again')
              return n
            } catch (error) {
              if (tries >= 3) throw error
            }
          }
        }),
      )
      assert.equal(yield* wait(stubborn.submit(5)), 5)
      assert.equal(tries, 3)
      yield* wait(stubborn.exit())

      const log: string[] = []
      const callbacks = Proco.new<{
        work: () => string
        onDone: (s: string) => void
        onError: (e: Error) => void
      }>()
      callbacks.start(
        handler(function* ({ work, onDone, onError }: any) {
          try {
            onDone(work())
          } catch (error) {
            onError(error)
          }
        }),
      )
      const listeners = {
        onDone: (text: string) => log.push(text),
        onError: (error: Error) => log.push(`error: ${error.message}`),
      }
      yield* wait(callbacks.submit({ work: () => 'fine', ...listeners }))
      yield* wait(
        callbacks.submit({
          work: () => {
            throw new Error('not fine')
          },
          ...listeners,
        }),
      )
      yield* wait(callbacks.exit())
      assert.deepEqual(log, ['fine', 'error: not fine'])
    })

    // ---- many

    test('S78 S84 exit and kill with 10,000 queued items: the counts add up and none is left open', function* () {
      let halfway = gate()
      const proco = Proco.queueSize(10_000).threads(3).new<number, number>()
      const work = handler(function* (n: number): Doing<number> {
        if (n % 7 === 0) throw new Error('seventh')
        if (n === 5001) halfway.open()
        return n
      })
      const fill = () => {
        const futures = Array.from({ length: 10_000 }, (_, n) => proco.trySubmit(n)!)
        for (let n = 0; n < 10_000; n += 10) futures[n]!.cancel()
        return futures
      }
      proco.start(work)
      const exited = fill()
      yield* wait(proco.exit())
      assert.ok(exited.every((future) => future.done))
      const { accepted, done, failed, cancelled } = proco.stats()
      const sevenths = exited.filter((_, n) => n % 7 === 0 && n % 10 !== 0).length
      assert.deepEqual([accepted, done, failed, cancelled], [10_000, 9000 - sevenths, sevenths, 1000])

      halfway = gate()
      proco.start(work)
      const killed = fill()
      yield* halfway.pass()
      proco.kill()
      assert.ok(killed.every((future) => future.done))
      addUp(proco.stats())
      assert.equal(proco.stats().accepted, 10_000)
      assert.ok(proco.stats().done > 0)
    })
  })
}

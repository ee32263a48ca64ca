// S85: no handler waits for itself; and other ways to use an executor wrongly.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { all, BadState, BadYield, Fiber, moveOnAfter, sleep, snooze, spin, until } from 'polyphony'
import { type Executor, type Future, Killed, NotRunning, Proco } from 'polyphony/proco'
import { virtual } from 'polyphony/testing'
import { setDebug } from '#core/debug'
import { thrownBy } from '../prelude.js'
import { addUp } from '../shared/proco.js'

type Any = Executor<any, any>

describe('S85 a handler that would wait for itself', () => {
  it('B13 is refused in submit, with its path and what to do instead; its item is not accepted', () =>
    virtual(function* () {
      const proco: Any = Proco.new<any, any>({ name: 'mill' }).start(function* () {
        yield* snooze()
        return yield* thrownBy(proco.submit('inner'))
      })
      const error = yield* proco.submit('outer')
      assert.ok(error instanceof BadState)
      assert.equal(
        error.message,
        'mill > mill[0] is a handler of mill and cannot wait for the result of another item: all its handlers would ' +
          'wait for each other. Use submitAsync(), which does not wait for the result, or more threads.',
      )
      assert.equal(proco.stats().accepted, 1)
      yield* proco.exit()
    }))

  it('uncaught, the refusal fails its item like any error', () =>
    virtual(function* () {
      const proco: Any = Proco.new<any, any>().start((item) => (item === 'leaf' ? 1 : proco.submit('leaf')))
      assert.ok((yield* thrownBy(proco.submit('outer'))) instanceof BadState)
      assert.equal(yield* proco.submit('leaf'), 1)
      yield* proco.exit()
    }))

  it('is refused in submitAsync only when the queue is full, and the item does not stay there', () =>
    virtual(function* () {
      const errors: unknown[] = []
      const proco: Any = Proco.queueSize(1)
        .new<any, any>()
        .start(function* (n: number) {
          if (n > 0) return n
          yield* proco.submitAsync(1)
          errors.push(yield* thrownBy(proco.submitAsync(2)))
          assert.deepEqual([proco.stats().waiting, proco.stats().depth], [0, 1])
          return n
        })
      assert.equal(yield* proco.submit(0), 0)
      yield* proco.exit()
      assert.equal(errors.length, 1)
      assert.match(String(errors[0]), /cannot wait for room in its queue/)
      assert.deepEqual([proco.stats().accepted, proco.stats().done], [2, 2])
    }))

  it('is refused in get of an open future; of one that has its outcome it is fine', () =>
    virtual(function* () {
      const results: unknown[] = []
      const proco: Any = Proco.new<any, any>().start(function* (item: Future<any> | number) {
        if (typeof item === 'number') return item
        results.push(yield* item.get())
        const open = yield* proco.submitAsync(2)
        results.push(yield* thrownBy(open.get()))
        return 'done'
      })
      const settled = yield* proco.submitAsync(1)
      yield* settled.get()
      assert.equal(yield* proco.submit(settled), 'done')
      yield* proco.exit()
      assert.equal(results[0], 1)
      assert.match(String(results[1]), /cannot wait for one of its items/)
      addUp(proco.stats())
    }))

  it('S80 is refused for an item of its own queue if it has one with a key, however many threads there are', () =>
    virtual(function* () {
      const errors: unknown[] = []
      const proco: Any = Proco.threads(4)
        .queueSize(1)
        .new<any, any>({ name: 'mill' })
        .start(function* (item: string) {
          if (item !== 'outer') return item
          errors.push(yield* thrownBy(proco.submit('same key', { key: 'a' })))
          errors.push(yield* thrownBy(proco.submit('no key')))
          const future = yield* proco.submitAsync('later')
          errors.push(yield* thrownBy(future.get()))
          errors.push(yield* thrownBy(proco.submitAsync('no room')))
          return item
        })
      assert.equal(yield* proco.submit('outer', { key: 'a' }), 'outer')
      yield* proco.exit()
      assert.equal(
        String(errors[0]),
        'BadState: mill > mill[0] is a handler of mill and cannot wait for the result of another item: it has an item with a ' +
          'key, so everything else in that queue waits for its end. Use submitAsync(), which does not wait for the ' +
          'result, or another queue.',
      )
      for (const error of errors) assert.match(String(error), /so everything else in that queue waits/)
      assert.equal(errors.length, 4)
      assert.deepEqual([proco.stats().accepted, proco.stats().done, proco.stats().waiting], [2, 2, 0])
    }))

  it('may wait for an item of another queue, and without a key for one of its own', () =>
    virtual(function* () {
      const proco: Any = Proco.threads(2)
        .queues(2)
        .new<any, any>()
        .start((item: string) =>
          item === 'keyed'
            ? proco.submit('leaf', { key: 1 })
            : item === 'plain'
              ? proco.submit('leaf')
              : item,
        )
      assert.equal(yield* proco.submit('keyed', { key: 0 }), 'leaf')
      assert.equal(yield* proco.submit('plain'), 'leaf')
      yield* proco.exit()
    }))

  it('is refused in exit, however many threads there are, and goes on running', () =>
    virtual(function* () {
      const proco: Any = Proco.threads(4)
        .new<any, any>()
        .start(() => thrownBy(proco.exit()))
      const error = yield* proco.submit(1)
      assert.ok(error instanceof BadState)
      assert.match(
        error.message,
        /^proco > proco\[0\] is a handler of proco and cannot wait for its exit\(\): it would wait for its own end\. Call exit\(\) outside, or kill\(\)\.$/,
      )
      assert.equal(proco.state, 'running')
      yield* proco.exit()
    }))

  it('is refused in a child of the handler too', () =>
    virtual(function* () {
      const proco: Any = Proco.new<any, any>().start(function* () {
        return yield* all([() => thrownBy(proco.submit(1)), () => thrownBy(proco.exit())])
      })
      for (const error of yield* proco.submit(1)) assert.ok(error instanceof BadState)
      yield* proco.exit()
    }))

  it('two handlers that wait for an item each: the second is refused, and both come to an end', () =>
    virtual(function* () {
      const errors: unknown[] = []
      const proco: Any = Proco.threads(2)
        .new<any, any>()
        .start(function* (item: string) {
          if (item === 'leaf') return 'leaf'
          yield* sleep(item === 'first' ? 1 : 2)
          try {
            return yield* proco.submit('leaf')
          } catch (error) {
            errors.push(error)
            return 'refused'
          }
        })
      const futures = [proco.trySubmit('first')!, proco.trySubmit('second')!]
      assert.equal(yield* futures[1]!.get(), 'refused')
      assert.equal(yield* futures[0]!.get(), 'leaf')
      assert.ok(errors[0] instanceof BadState)
      yield* proco.exit()
    }))

  it('the same with futures and full queues: whoever would be the last to wait is refused', () =>
    virtual(function* () {
      const proco: Any = Proco.threads(3)
        .queueSize(1)
        .new<any, any>()
        .start(function* (item: { way: string; ms: number } | 'leaf') {
          if (item === 'leaf') return 'leaf'
          yield* sleep(item.ms)
          if (item.way === 'get') {
            const future = yield* proco.submitAsync('leaf')
            return yield* future.get()
          }
          if (item.way === 'room') return (yield* proco.submitAsync('leaf')) && 'room'
          return yield* thrownBy(proco.submit('leaf'))
        })
      const futures: Future<any>[] = []
      for (const item of [
        { way: 'get', ms: 2 },
        { way: 'room', ms: 3 },
        { way: 'submit', ms: 4 },
      ]) {
        futures.push(yield* proco.submitAsync(item))
        yield* snooze()
      }
      assert.ok((yield* futures[2]!.get()) instanceof BadState)
      assert.equal(yield* futures[0]!.get(), 'leaf')
      assert.equal(yield* futures[1]!.get(), 'room')
      yield* proco.exit()
    }))

  it('handlers that wait for another executor, or for time, are not counted among those who wait', () =>
    virtual(function* () {
      const other = Proco.new<number, number>().start(function* (n) {
        yield* sleep(10)
        return n
      })
      const proco: Any = Proco.threads(2)
        .new<any, any>()
        .start(function* (item: string) {
          if (item === 'leaf') return 'leaf'
          return item === 'other' ? yield* other.submit(1) : yield* proco.submit('leaf')
        })
      const futures = [proco.trySubmit('other')!, proco.trySubmit('self')!]
      assert.equal(yield* futures[0]!.get(), 1)
      assert.equal(yield* futures[1]!.get(), 'leaf')
      yield* proco.exit()
      yield* other.exit()
    }))

  it('an async handler is refused before its first await, by every way to wait', () =>
    virtual(function* () {
      const proco: Any = Proco.queueSize(1)
        .new<any, any>()
        .start(async (way: string) => {
          if (way === 'leaf') return 'leaf'
          const leaf = proco.trySubmit('leaf')
          const op =
            way === 'submit'
              ? proco.submit('leaf')
              : way === 'room'
                ? proco.submitAsync('leaf')
                : way === 'get'
                  ? leaf!.get()
                  : proco.exit()
          return op.then(
            () => 'waited',
            (error) => error,
          )
        })
      for (const way of ['submit', 'room', 'get', 'exit']) {
        const error = yield* proco.submit(way)
        assert.ok(error instanceof BadState, way)
      }
      assert.equal(proco.state, 'running')
      yield* proco.exit()
    }))

  it('who only makes an op in a handler, and lets others wait for it, is not refused', () =>
    virtual(function* () {
      let op!: ReturnType<Any['submit']>
      const proco: Any = Proco.new<any, any>().start((item) => {
        if (item === 'outer') op = proco.submit('leaf')
        return item
      })
      yield* proco.submit('outer')
      assert.equal(yield* op, 'leaf')
      yield* proco.exit()
    }))

  it('a fiber that is no handler is not refused, also when a handler waits for it', () =>
    virtual(function* () {
      const proco: Any = Proco.threads(2)
        .new<any, any>()
        .start(function* (item: Fiber | number) {
          return item instanceof Fiber ? yield* item : item
        })
      const outside = spin(function* () {
        yield* sleep(5)
        return yield* proco.submit(7)
      })
      assert.equal(yield* proco.submit(outside), 7)
      yield* proco.exit()
    }))

  it('a handler of the run before is not refused in the new run', () =>
    virtual(function* () {
      const log: unknown[] = []
      const proco: Any = Proco.new<any, any>()
      proco.start(function* () {
        proco.kill()
        proco.start((n) => n)
        try {
          yield* sleep(1)
        } finally {
          log.push(proco.state)
        }
      })
      const future = proco.trySubmit(1)!
      assert.ok((yield* thrownBy(future.get())) instanceof Killed)
      yield* sleep(5)
      // It was started in a handler that was stopped: it is over with that (S84).
      assert.equal(proco.state, 'idle')
      assert.deepEqual(log, ['running'])
    }))
})

describe('other misuse of executors', () => {
  it('S69 submit() iterated by hand is a named error, and its item is cancelled before it is handled', () =>
    virtual(function* () {
      let calls = 0
      const proco = Proco.new<number, number>().start(() => ++calls)
      assert.throws(() => [...(proco.submit(1) as any)], BadYield)
      yield* proco.exit()
      const { accepted, cancelled } = proco.stats()
      assert.deepEqual([calls, accepted], [0, cancelled])
    }))

  it('an op of an executor that has ended meanwhile is refused when it begins', () =>
    virtual(function* () {
      const proco = Proco.new<number, number>().start((n) => n)
      const [submit, submitAsync, exit] = [proco.submit(1), proco.submitAsync(1), proco.exit()]
      yield* proco.exit()
      for (const op of [submit, submitAsync, exit]) assert.ok((yield* thrownBy(op)) instanceof NotRunning)
    }))

  it('an op made before the start works after it', () =>
    virtual(function* () {
      const proco = Proco.new<number, number>()
      const op = proco.submit(1)
      proco.start((n) => n)
      assert.equal(yield* op, 1)
      yield* proco.exit()
    }))

  it('an op that was refused may be tried again', () =>
    virtual(function* () {
      const proco = Proco.new<number, number>()
      const op = proco.submit(1)
      assert.ok((yield* thrownBy(op)) instanceof NotRunning)
      proco.start((n) => n)
      assert.equal(yield* op, 1)
      yield* proco.exit()
    }))

  it('two executors whose handlers wait for each other: a time limit ends it, and nothing is left open', () =>
    virtual(function* () {
      const one: Any = Proco.new<any, any>({ name: 'one' }).start((n) => two.submit(n))
      const two: Any = Proco.new<any, any>({ name: 'two' }).start((n) => one.submit(n))
      assert.equal(yield* moveOnAfter(10, () => one.submit(1), 'gave up'), 'gave up')
      yield* one.exit()
      yield* two.exit()
      addUp(one.stats())
      addUp(two.stats())
    }))
})

/** What a body has made and not waited for, by the reports of debug mode. */
function forgotten(body: () => unknown): Promise<string[]> {
  setDebug(true)
  return virtual(function* () {
    yield* spin({ name: 'careless' }, body as () => any)
    const { reports } = (Fiber.current as any).runtime.backend
    return reports
      .filter(({ kind }: any) => kind === 'floating')
      .map(({ message }: any) => message.split(' was made')[0] as string)
  }).finally(() => setDebug(false))
}

describe('debug mode', () => {
  const ops: [string, (proco: Any) => unknown][] = [
    ['proco.submit()', (proco) => proco.submit(1)],
    ['proco.submitAsync()', (proco) => proco.submitAsync(1)],
    ['a future of proco', (proco) => proco.trySubmit(1)!.get()],
    ['proco.exit()', (proco) => proco.exit()],
  ]
  for (const [what, make] of ops) {
    it(`a forgotten yield* is found: ${what}`, async () => {
      const found = await forgotten(function* () {
        const proco = Proco.new<any, any>().start(() => {})
        make(proco)
        yield* sleep(1)
        yield* proco.exit()
      })
      assert.deepEqual(found, [what])
    })
  }

  it('what is waited for is not reported: yielded, awaited, given on', async () => {
    const found = await forgotten(function* () {
      const proco = Proco.new<any, any>().start((n) => n)
      yield* proco.submit(1)
      const future = yield* proco.submitAsync(2)
      yield* future.get()
      yield* until((async () => await proco.submit(3))())
      yield* until(proco.submit(4).then((n) => n))
      yield* all([proco.submit(5), future.get()])
      yield* proco.exit()
      const failing = Proco.threads(2)
        .new<any, any>()
        .start(function* () {
          yield* sleep(1)
          throw new Error('x')
        })
      yield* thrownBy(failing.submit(1))
      failing.kill()
    })
    assert.deepEqual(found, [])
  })
})

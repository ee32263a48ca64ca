// Hostile use: handlers, loggers, listeners and results that misbehave, or use the executor from within.

import assert from 'node:assert/strict'
import { describe, it, mock } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Fiber, run, sleep, snooze, spin } from 'polyphony'
import { type Executor, type Future, Killed, Proco } from 'polyphony/proco'
import { virtual } from 'polyphony/testing'
import { Histogram } from '#proco/histogram'
import { thrownBy } from '../prelude.js'
import { addUp } from '../shared/proco.js'

type Any = Executor<any, any, any>

const never = () => new Promise<never>(() => {})

/** How many promises the runtime is told to wait for. */
const external = (): number => (Fiber.current as any).runtime.external

/** One of two handlers that do the same. */
function either(
  kind: 'fiber' | 'async',
  inFiber: (given: any, work: any) => any,
  inAsync: (given: any, work: any) => any,
): any {
  return kind === 'fiber' ? inFiber : inAsync
}

describe('S78 an item has one outcome', () => {
  for (const kind of ['fiber', 'async'] as const) {
    it(`when an abort listener ends what the same signal is about to end (${kind})`, () =>
      virtual(function* () {
        const controller = new AbortController()
        const { signal } = controller
        const listen = (work: any) =>
          work.signal.addEventListener('abort', () => {
            for (const f of rest) f.cancel('mine')
          })
        const proco: Any = Proco.new<any, any>().start(
          either(
            kind,
            function* (_: any, work: any) {
              listen(work)
              yield* sleep()
            },
            async (_: any, work: any) => {
              listen(work)
              await never()
            },
          ),
        )
        const first = yield* proco.submitAsync(0, { signal })
        const rest: Future<any>[] = []
        for (let n = 1; n < 4; n++) rest.push(yield* proco.submitAsync(n, { signal }))
        yield* sleep(1)
        controller.abort('theirs')
        assert.equal(first.state, 'cancelled')
        for (const f of rest) assert.match(String(yield* thrownBy(f.get())), /mine/)
        assert.equal(proco.stats().cancelled, 4)
        addUp(proco.stats())
        yield* proco.exit()
      }))

    it(`when an abort listener kills the executor (${kind})`, () =>
      virtual(function* () {
        const controller = new AbortController()
        const { signal } = controller
        const before = external()
        const listen = (work: any) => work.signal.addEventListener('abort', () => proco.kill())
        const proco: Any = Proco.new<any, any>().start(
          either(
            kind,
            function* (_: any, work: any) {
              listen(work)
              yield* sleep()
            },
            async (_: any, work: any) => {
              listen(work)
              await never()
            },
          ),
        )
        const futures: Future<any>[] = []
        for (let n = 0; n < 3; n++) futures.push(yield* proco.submitAsync(n, { signal }))
        yield* sleep(1)
        controller.abort('theirs')
        assert.equal(proco.state, 'idle')
        assert.deepEqual(
          futures.map((f) => f.state),
          ['cancelled', 'cancelled', 'cancelled'],
        )
        assert.ok((yield* thrownBy(futures[2]!.get())) instanceof Killed)
        assert.equal(proco.stats().cancelled, 3)
        addUp(proco.stats())
        yield* sleep(1)
        assert.equal(external(), before)
        assert.equal(proco.stats().running, 0)
      }))

    it(`S84 kill: an abort listener finds every item settled (${kind})`, () =>
      virtual(function* () {
        const open: number[] = []
        const listen = (work: any) =>
          work.signal.addEventListener('abort', () => {
            open.push(futures.filter((future) => !future.done).length)
          })
        const proco: Any = Proco.threads(3)
          .new<any, any>()
          .start(
            either(
              kind,
              function* (_: any, work: any) {
                listen(work)
                yield* sleep()
              },
              async (_: any, work: any) => {
                listen(work)
                await never()
              },
            ),
          )
        const futures: Future<any>[] = []
        for (let n = 0; n < 5; n++) futures.push(yield* proco.submitAsync(n))
        yield* sleep(1)
        proco.kill()
        assert.deepEqual(open, [0, 0, 0])
      }))

    for (const act of ['cancel', 'kill'] as const) {
      it(`when the logger ${act}s at the dispatch: the handler is not called (${kind})`, () =>
        virtual(function* () {
          const futures: Future<any>[] = []
          const called: unknown[] = []
          const problems: unknown[] = []
          const before = external()
          const logger = {
            debug() {
              try {
                if (futures[0]!.done) return
                if (act === 'kill') proco.kill()
                else futures[0]!.cancel()
              } catch (error) {
                problems.push(error)
              }
            },
            info() {},
            warn() {},
            error() {},
          }
          const proco: Any = Proco.logger(logger)
            .new<any, any>()
            .start(
              either(
                kind,
                function* (item: any) {
                  called.push(item)
                  return item
                },
                async (item: any) => {
                  called.push(item)
                  return item
                },
              ),
            )
          futures.push(yield* proco.submitAsync(1))
          futures.push(yield* proco.submitAsync(2))
          yield* sleep(1)
          assert.deepEqual(problems, [])
          assert.equal(futures[0]!.state, 'cancelled')
          assert.equal(futures[1]!.state, act === 'kill' ? 'cancelled' : 'done')
          assert.deepEqual(called, act === 'kill' ? [] : [2])
          addUp(proco.stats())
          assert.equal(proco.stats().running, 0)
          if (act === 'cancel') yield* proco.exit()
          assert.equal(external(), before)
        }))
    }

    it(`when the results are an array that throws, or kills, as it is read (${kind})`, () =>
      virtual(function* () {
        const trap = (act: () => void) => {
          const results: unknown[] = ['a', 'b', 'c']
          Object.defineProperty(results, 1, { get: act })
          return results
        }
        const boom = new Error('boom')
        let act = (): void => {
          throw boom
        }
        const proco: Any = Proco.batch(true)
          .results('each')
          .new<any, any>()
          .start(
            either(
              kind,
              () => trap(act),
              async () => trap(act),
            ),
          )
        const futures: Future<any>[] = []
        for (let n = 0; n < 3; n++) futures.push(yield* proco.submitAsync(n))
        yield* sleep(1)
        assert.deepEqual(
          futures.map((f) => f.state),
          ['done', 'failed', 'failed'],
        )
        assert.equal(yield* thrownBy(futures[1]!.get()), boom)
        act = () => proco.kill()
        futures.length = 0
        for (let n = 0; n < 3; n++) futures.push(yield* proco.submitAsync(n))
        yield* sleep(1)
        assert.deepEqual(
          futures.map((f) => f.state),
          ['done', 'cancelled', 'cancelled'],
        )
        addUp(proco.stats())
        assert.equal(proco.stats().cancelled, 2)
        assert.equal(proco.stats().running, 0)
      }))

    it(`S82 when a handler that was cancelled fails with something that cannot be looked at (${kind})`, () =>
      virtual(function* () {
        const evil = new Proxy(Object.create(null), {
          get() {
            throw new Error('do not look')
          },
          getPrototypeOf() {
            throw new Error('do not look')
          },
        })
        let fail!: () => void
        const proco: Any = Proco.new<any, any>().start(
          either(
            kind,
            function* (item: any) {
              try {
                yield* sleep(item)
              } finally {
                // biome-ignore lint/correctness/noUnsafeFinally: that is what is tested
                throw evil
              }
            },
            async (item: any) => {
              if (item > 0) await new Promise<void>((resolve) => (fail = resolve))
              throw evil
            },
          ),
        )
        const future = yield* proco.submitAsync(1000)
        yield* sleep(1)
        future.cancel()
        fail?.()
        assert.equal(yield* thrownBy(proco.submit(0)), evil)
        assert.equal(proco.stats().running, 0)
        yield* proco.exit()
      }))
  }
})

describe("results('each')", () => {
  it('an error of another realm fails its item too', () =>
    virtual(function* () {
      const foreign = runInNewContext('new TypeError("from afar")')
      const proco: Any = Proco.batch(true)
        .results('each')
        .new<any, any>()
        .start(() => [foreign])
      assert.equal(yield* thrownBy(proco.submit(1)), foreign)
      assert.equal(proco.stats().failed, 1)
      yield* proco.exit()
    }))
})

describe('S82 a proxy of an async function, as test runners make them', () => {
  for (const [what, handler, outcome] of [
    [
      'that throws fails its item',
      mock.fn(
        async () => {},
        () => {
          throw new Error('mocked')
        },
      ),
      'Error: mocked',
    ],
    ['that returns a plain value gives it', mock.fn(async () => {}, (() => 7) as any), 7],
    [
      'that returns an evil thenable fails its item',
      mock.fn(async () => {}, evilThenable as any),
      'Error: then',
    ],
  ] as const) {
    it(what, () =>
      virtual(function* () {
        const proco: Any = Proco.new<any, any>().start(handler as any)
        for (let n = 0; n < 2; n++) {
          const future = yield* proco.submitAsync(n)
          yield* sleep(1)
          const got = future.state === 'failed' ? String(yield* thrownBy(future.get())) : yield* future.get()
          assert.equal(got, outcome)
        }
        yield* proco.exit()
        assert.equal(external(), 0)
      }),
    )
  }
})

function evilThenable(): unknown {
  return {
    // biome-ignore lint/suspicious/noThenProperty: that is what is tested
    get then() {
      throw new Error('then')
    },
  }
}

describe('S84 the end', () => {
  for (const how of ['stopped', 'failed', 'host stopped'] as const) {
    it(`an async handler that never settles leaves nothing behind when the owner is ${how}`, () =>
      virtual(function* () {
        const before = external()
        const proco: Any = Proco.new<any, any>()
        const owner = spin({ link: false }, function* () {
          proco.start(async () => await never())
          yield* proco.submitAsync(1)
          yield* sleep(1)
          if (how === 'failed') throw new Error('owner')
          if (how === 'host stopped') {
            const host = [...(Fiber.current as any).runtime.roots].find((f: any) => f.name === 'proco') as any
            yield* host.stop()
          }
          yield* sleep()
        })
        yield* sleep(5)
        owner.stop()
        yield* thrownBy(owner)
        assert.equal(proco.state, 'idle')
        assert.equal(external(), before)
        assert.equal(proco.stats().running, 0)
      }))
  }
})

describe('the options of an item', () => {
  it('are those of the call: an object that is changed afterwards changes nothing', () =>
    virtual(function* () {
      const proco = Proco.new<number, number>().start(function* (n) {
        yield* sleep(10)
        return n
      })
      const options: any = { timeout: 100 }
      const op = proco.submit(1, options)
      options.timeout = 5
      assert.equal(yield* op, 1)
      yield* proco.exit()
    }))
})

for (const how of ['stop', 'kill'] as const) {
  it(`S84 the host: ${how} before its first turn, or by a handler; every item has its outcome, no worker is left`, () =>
    virtual(function* () {
      const end = () => {
        for (const root of (Fiber.current as any).runtime.roots) if (root.name === 'mill') root[how]()
      }
      const proco: Any = Proco.threads(2).new<any, any>({ name: 'mill' })
      proco.start(() => sleep())
      const futures: (Future<any> | undefined)[] = [proco.trySubmit(1)]
      end()
      futures.push(proco.trySubmit(2))
      yield* sleep(1)
      assert.equal(proco.state, 'idle')
      proco.start(function* () {
        end()
        Fiber.current.stop()
        yield* sleep(1)
      })
      for (let n = 0; n < 5; n++) futures.push(proco.trySubmit(n))
      yield* sleep(1)
      assert.equal(proco.state, 'idle')
      for (const future of futures) assert.equal(future?.done, true)
      assert.equal(yield* proco.start((n: any) => n).submit(1), 1)
      yield* proco.exit()
    }))
}

it('S79 a signal that throws when it is listened to: nothing is accepted, and no timer is left', () =>
  virtual(function* () {
    const proco = Proco.new<number, number>().start((n) => n)
    const signal: any = {
      aborted: false,
      addEventListener() {
        throw new Error('deaf')
      },
    }
    assert.throws(() => proco.trySubmit(1, { signal, timeout: 5 }), /deaf/)
    yield* sleep(10)
    const { waiting, accepted, failed } = proco.stats()
    assert.deepEqual([waiting, accepted, failed], [0, 0, 0])
    yield* proco.exit()
  }))

it('figures of handlers that take weeks are right, and none is below 0', () =>
  virtual(function* () {
    const proco = Proco.new<number, void>().start((ms) => sleep(ms))
    for (const ms of [1, 2 ** 31 - 1]) yield* proco.submit(ms)
    const { run } = proco.stats()
    assert.deepEqual([run.max, run.p99, run.mean], [2 ** 31 - 1, 2 ** 31 - 1, 2 ** 30])
    const histogram = new Histogram()
    for (const odd of [-1, NaN, -0, 0.9]) histogram.record(odd)
    assert.deepEqual(histogram.read(), { count: 4, mean: 0, max: 0, p50: 0, p99: 0 })
    yield* proco.exit()
  }))

it('S81 the shortest interval there is', () =>
  virtual(function* () {
    const proco = Proco.interval(Number.MIN_VALUE)
      .new<number, number>()
      .start((n) => n)
    yield* sleep(1)
    for (const n of [1, 2]) assert.equal(yield* proco.submit(n), n)
    yield* proco.exit()
  }))

describe('what is kept', () => {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as () => void

  async function left(refs: WeakRef<object>[]): Promise<number> {
    for (let n = 0; n < 5; n++) {
      await new Promise<void>((resolve) => setImmediate(resolve))
      gc()
    }
    return refs.filter((ref) => ref.deref() !== undefined).length
  }

  it('an executor that waits for work keeps neither the last item nor its result', async () => {
    const refs: WeakRef<object>[] = []
    const keep = <T extends object>(thing: T): T => {
      refs.push(new WeakRef(thing))
      return thing
    }
    const handlers: ((given: unknown) => any)[] = [
      () => keep({}),
      async () => keep({}),
      () => Promise.resolve(keep({})),
      function* () {
        yield* snooze()
        return keep({})
      },
    ]
    for (const handler of handlers) {
      for (const batch of [true, false]) {
        const proco: Any = Proco.new<any, any>({ batch } as object).start(handler)
        await (async () => {
          for (let n = 0; n < 3; n++) await proco.submit(keep({}))
        })()
        assert.equal(await left(refs), 0)
        await proco.exit()
      }
    }
    assert.equal(refs.length, 48)
  })

  it('an executor, or a future, that is kept does not keep the fiber that started it', async () => {
    const refs: WeakRef<object>[] = []
    const proco: Any = Proco.new<any, any>()
    const future = await run(function* () {
      const starter = spin(function* () {
        proco.start((n: any) => n)
        const future = yield* proco.submitAsync(1)
        yield* proco.exit()
        return future
      })
      refs.push(new WeakRef(starter))
      return yield* starter
    })
    assert.equal(await left(refs), 0)
    assert.equal(future.state, proco.state === 'idle' ? 'done' : '')
  })
})

// The life of an executor where the rule (S84) says no more: owners, disposal, the tree, and what is kept.

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Killed, NotRunning, Proco } from 'polyphony/proco'
import {
  after,
  assert,
  describe,
  Fiber,
  now,
  run,
  runtime,
  scope,
  sleep,
  spin,
  test,
  thrownBy,
  turns,
  use,
  waits,
} from '../prelude.js'
import { type Any, both, type Futures, forHandlers, states, tally } from './handlers.js'

/** Names of all fibers alive in this world. */
function names(): string[] {
  const withChildren = (fiber: Fiber): string[] => [fiber.name, ...fiber.children.flatMap(withChildren)]
  return [...runtime().roots].flatMap(withChildren)
}

describe('the owner of an executor', () => {
  test('does not fail because its executor is killed while that handles the rest', function* () {
    const proco: Any = Proco.new()
    after(10, () => proco.kill())
    yield* scope(function* () {
      proco.start(() => sleep(1000))
      proco.trySubmit(1)
    })
    assert.deepEqual([now(), tally(proco)], [10, '1 accepted, 1 cancelled'])
  })

  // An owner is stopped after 10 ms; its handler takes long, or has a long cleanup.
  const stops: [what: string, grace: number, (proco: Any) => unknown, cleanup: number, ends: number][] = [
    ['while it handles the rest has its grace for it', 100, () => {}, 0, 110],
    ['while it waits for exit kills the rest', 100, (proco) => proco.exit(), 0, 10],
    ['gives handlers time for cleanup', 100, () => sleep(), 5, 15],
    ['gives handlers no more time than its own grace', 20, () => sleep(), 1000, 30],
  ]
  for (const [what, grace, body, cleanup, ends] of stops) {
    test(`that is stopped ${what}`, function* () {
      const proco: Any = Proco.new()
      const owner = spin({ grace }, function* () {
        proco.start(() => waits(() => cleanup > 0 && sleep(cleanup), 1000))
        for (const n of [1, 2]) proco.trySubmit(n)
        yield* (body(proco) ?? []) as Iterable<never>
      })
      yield* sleep(10)
      owner.stop()
      yield* owner.join()
      assert.deepEqual([now(), proco.state], [ends, 'idle'])
      yield* proco[Symbol.asyncDispose]()
      assert.equal(tally(proco), '2 accepted, 2 cancelled')
    })
  }

  test('forgets an executor that has ended; started again elsewhere, it belongs there', function* () {
    const proco: Any = Proco.new()
    yield* scope(function* () {
      proco.start((n) => n)
      yield* proco.exit()
      yield* scope(function* () {
        proco.start((n) => n * 2)
        assert.equal(yield* proco.submit(1), 2)
      })
      assert.equal(proco.state, 'idle')
    })
    for (let n = 0; n < 10; n++) {
      proco.start((m) => m)
      yield* proco.submit(n)
      if (n % 2 === 0) yield* proco.exit()
      else proco.kill()
    }
    yield* sleep(1)
    assert.deepEqual([names(), (Fiber.current as any).rare?.cleanups ?? null], [['main'], null])
  })
})

describe('the end of an executor', () => {
  both('that never got an item', function* (w) {
    const options = { threads: 3, queues: 2, batch: true } as const
    const proco: Any = new Proco(options).start(() => assert.fail('nothing to do'))
    yield* w.wait(proco.exit())
    proco.start(() => assert.fail('nothing to do')).kill()
    assert.equal(proco.state, 'idle')
  })

  both('by disposal is sure: before the start, while it runs, and after the end', function* (w) {
    const proco: Any = Proco.new()
    yield* w.wait(proco[Symbol.asyncDispose]())
    proco.start((n) => n)
    const future = yield* w.wait(proco.submitAsync(1))
    for (let n = 0; n < 2; n++) yield* w.wait(proco[Symbol.asyncDispose]())
    assert.equal(future.state, 'done')
  })

  test('by disposal after a kill waits until the handlers are gone', function* () {
    const log: string[] = []
    const proco: Any = Proco.new().start(() => waits(() => log.push('handler ended')))
    proco.trySubmit(1)
    yield* sleep(1)
    proco.kill()
    assert.deepEqual(log, [])
    yield* proco[Symbol.asyncDispose]()
    assert.deepEqual(log, ['handler ended'])
  })

  forHandlers('by use(), or by the end of the scope, handles what is left', function* (as) {
    for (const isUsed of [true, false]) {
      const [start, done] = [now(), [] as number[]]
      const proco: Any = Proco.new()
      yield* scope(function* () {
        proco.start(as((n: number) => waits(() => void done.push(n), 10)))
        for (const each of isUsed ? [Proco.new(), proco] : []) yield* use(each as any)
        for (const n of [1, 2, 3]) yield* proco.submitAsync(n)
      })
      assert.deepEqual([done, now() - start, proco.state], [[1, 2, 3], 30, 'idle'])
    }
  })

  test('by await using handles what is left', async () => {
    const done: number[] = []
    const proco: Any = Proco.new()
    {
      await using started = proco.start(async (n) => void done.push(n))
      for (const n of [1, 2, 3]) await started.submitAsync(n)
    }
    assert.deepEqual([done, proco.state], [[1, 2, 3], 'idle'])
  })

  test('is not held up by a fiber that stops waiting for it', function* () {
    const proco: Any = Proco.new().start(() => sleep(10))
    const future = yield* proco.submitAsync(1)
    const exiting = [1, 2].map(() => spin(() => proco.exit()))
    yield* sleep(1)
    for (const fiber of exiting) yield* fiber.stop()
    assert.equal(proco.state, 'draining')
    yield* proco.exit()
    assert.equal(future.state, 'done')
  })

  test('reaches every queue, and every submitter that waits for room', function* () {
    for (const end of ['exit', 'kill'] as const) {
      const proco: Any = new Proco({ queues: 3, queueSize: 1 }).start(() => sleep(10))
      const submit = (key: number) => proco.trySubmit(key, { key })!
      const futures: Futures = [0, 1, 2].map(submit)
      yield* sleep(1) // one is handled now
      futures.push(submit(0))
      const waiting = [0, 1, 2].map((key) => spin(() => thrownBy(proco.submitAsync(9, { key }))))
      yield* sleep(1)
      assert.equal(proco.stats().waiting, 3)
      if (end === 'kill') proco.kill()
      else yield* proco.exit()
      for (const fiber of waiting) assert.ok((yield* fiber) instanceof (end === 'kill' ? Killed : NotRunning))
      assert.ok(futures.every(({ done }) => done))
      yield* proco[Symbol.asyncDispose]()
    }
  })

  for (const how of ['stop', 'kill'] as const) {
    test(`by ${how}() of its fiber, before its first turn or by a handler: every item has its outcome`, function* () {
      const end = () => [...runtime().roots].find((root) => root.name === 'mill')?.[how]()
      const proco: Any = new Proco({ threads: 2, name: 'mill' }).start(() => sleep())
      const futures: Futures = [proco.trySubmit(1)!]
      end()
      futures.push(proco.trySubmit(2)!)
      yield* sleep(1)
      assert.equal(proco.state, 'idle')
      proco.start(function* () {
        end()
        Fiber.current.stop()
        yield* sleep(1)
      })
      for (let n = 0; n < 5; n++) futures.push(proco.trySubmit(n)!)
      yield* sleep(1)
      assert.equal(proco.state, 'idle')
      assert.ok(futures.every(({ done }) => done))
      assert.equal(yield* proco.start((n) => n).submit(1), 1)
      yield* proco.exit()
      const held = proco.start(() => waits(() => sleep(20))).trySubmit(1)!
      yield* sleep(1)
      end()
      yield* sleep(1)
      assert.equal(held.state, 'cancelled') // at once, though its handler may have a cleanup
    })
  }

  test('comes as soon as the last item in its queue is cancelled', function* () {
    const proco: Any = new Proco({ interval: 100 }).start(() => {})
    const future = proco.trySubmit(1)!
    after(10, () => future.cancel())
    yield* proco.exit()
    assert.equal(now(), 10)
  })
})

test('the tree shows an executor by its name, and its workers', function* () {
  const proco: Any = new Proco({ threads: 2, name: 'mill' }).start(() => sleep(10))
  for (const n of [1, 2, 3]) yield* proco.submitAsync(n)
  yield* sleep(1)
  assert.deepEqual(names(), ['main', 'mill', 'mill[0]', 'mill[1]'])
  yield* proco.exit()
  assert.deepEqual(names(), ['main'])
})

test('an op is refused by the state when it begins, and may be tried again', function* () {
  const proco: Any = Proco.new()
  const op = proco.submit(1)
  assert.ok((yield* thrownBy(op)) instanceof NotRunning)
  proco.start((n) => n)
  assert.equal(yield* op, 1)
  const late = [proco.submit(1), proco.submitAsync(1), proco.exit()]
  yield* proco.exit()
  for (const each of late) assert.ok((yield* thrownBy(each)) instanceof NotRunning)
})

describe('what is kept', () => {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as () => void

  async function areGone(refs: WeakRef<object>[]): Promise<boolean> {
    for (let n = 0; n < 5 && refs.some((ref) => ref.deref() !== undefined); n++) {
      await turns()
      gc()
    }
    return refs.every((ref) => ref.deref() === undefined)
  }

  test('an executor that waits for work keeps neither the last item nor its result', async () => {
    const refs: WeakRef<object>[] = []
    const make = (): object => {
      const thing = {}
      refs.push(new WeakRef(thing))
      return thing
    }
    const inFiber = function* () {
      return make()
    }
    for (const handler of [make, async () => make(), () => Promise.resolve(make()), inFiber]) {
      for (const batch of [true, false]) {
        const proco: Any = (Proco.batch(batch).new() as any).start(handler)
        for (let n = 0; n < 3; n++) await proco.submit(make())
        assert.ok(await areGone(refs))
        await proco.exit()
      }
    }
    assert.equal(refs.length, 48)
  })

  test('a future that is kept keeps neither its item, nor its signal, nor its neighbours', async () => {
    const refs: WeakRef<object>[] = []
    const proco: Any = Proco.new().start(() => 'result')
    const submit = async (item: object, { signal } = new AbortController()) => {
      refs.push(new WeakRef(item), new WeakRef(signal))
      const future = await proco.submitAsync(item, { signal })
      await future.get()
      return future
    }
    const future = await submit({})
    const cancelled = [1, 2, 3].map(() => proco.trySubmit({})!)
    refs.push(new WeakRef(cancelled[0]!), new WeakRef(cancelled[2]!))
    cancelled[1]!.cancel()
    const kept = [future, cancelled.splice(0)[1]!]
    await proco.exit()
    assert.ok(await areGone(refs))
    assert.equal(states(kept), 'done cancelled')
  })

  test('an executor, or a future, that is kept does not keep the fiber that started it', async () => {
    const refs: WeakRef<object>[] = []
    const proco: Any = Proco.new()
    const future = await run(function* () {
      const starter = spin(function* () {
        proco.start((n) => n)
        const future = yield* proco.submitAsync(1)
        yield* proco.exit()
        return future
      })
      refs.push(new WeakRef(starter))
      return yield* starter
    })
    assert.ok(await areGone(refs))
    assert.equal(states([future]), 'done')
  })
})

// S56 to S61: fiber-local values, AbortSignals, promises and callbacks, iterators, disposables, blocks.

import { AsyncLocalStorage } from 'node:async_hooks'
import { EventEmitter } from 'node:events'
import { PassThrough, Readable } from 'node:stream'
import {
  collectGarbage,
  deferred,
  listeners,
  never,
  numbers,
  rest,
  settling,
  struck,
  take,
  test,
} from '../interop/outside.js'
import {
  action,
  all,
  allSettled,
  any,
  assert,
  BadState,
  BadYield,
  cancelAfter,
  createLocal,
  describe,
  END,
  each,
  ensure,
  Fiber,
  FiberStopped,
  failing,
  iterate,
  Mutex,
  moveOnAfter,
  now,
  type Op,
  on,
  once,
  PolyphonyError,
  type Routine,
  race,
  receive,
  reports,
  run,
  runtime,
  Semaphore,
  scope,
  shield,
  sleep,
  snooze,
  spin,
  started,
  suspend,
  thrownBy,
  transfer,
  turn,
  turns,
  until,
  use,
  waits,
  whole,
} from '../prelude.js'

describe('S56 fiber-local values', () => {
  test('a local that was never set has its initial value, outside any fiber too', () => {
    assert.equal(createLocal('outside').get(), 'outside')
    assert.equal(createLocal().get(), undefined)
  })

  test('a child starts with the values of its parent at that moment; after that each has its own', function* () {
    const [color, other] = [createLocal<string | undefined>('none'), createLocal('other')]
    color.set('red')
    const child = spin(function* () {
      const first = color.get()
      color.set(undefined)
      yield* sleep(5)
      return [first, color.get(), yield* spin(() => color.get()), other.get()]
    })
    const sibling = spin(() => color.get())
    color.set('green') // before the children have run a line
    assert.deepEqual(yield* child, ['red', undefined, undefined, 'other'])
    assert.deepEqual([yield* sibling, color.get()], ['red', 'green'])
  })

  test('the values are those of the fiber that spins, which a move does not change', function* () {
    const color = createLocal('none')
    const owner = yield* started(function* () {
      color.set('owner')
      yield* sleep(20)
    })
    color.set('spinner')
    const moved = spin(function* () {
      yield* sleep(5)
      return color.get()
    })
    const raw = new Fiber(function* () {
      return color.get()
    })
    color.set('later')
    moved.attachTo(owner)
    const values = [yield* owner.spin(() => color.get()), yield* moved, yield* transfer(raw)]
    assert.deepEqual(values, ['owner', 'spinner', 'spinner'])
  })

  test('with gives a block another value and puts the old one back, however the block ends', function* () {
    const [color, other] = [createLocal('none'), createLocal('other')]
    for (const old of ['none', 'old']) {
      if (old === 'old') color.set(old)
      const seen = yield* color.with('red', function* () {
        yield* sleep(1)
        other.set('stays')
        return [color.get(), yield* color.with('blue', () => color.get()), color.get()]
      })
      assert.deepEqual([seen, color.get(), other.get()], [['red', 'blue', 'red'], old, 'stays'])
      assert.equal((yield* thrownBy(color.with('red', () => failing('broken')))).message, 'broken')
      assert.equal(color.get(), old)
      yield* moveOnAfter(5, () => color.with('red', () => sleep()))
      assert.equal(color.get(), old)
    }
  })

  test('a child spun in with keeps the value; blocks of several fibers do not disturb each other', function* () {
    const id = createLocal(0)
    const request = (n: number) =>
      id.with(n, function* () {
        const child = spin(function* () {
          yield* sleep(5)
          return id.get()
        })
        for (let i = 0; i < 5; i++) {
          yield* snooze()
          assert.equal(id.get(), n)
        }
        return child.detach()
      })
    const children = yield* Fiber.await(...[1, 2, 3].map((n) => spin(request, n)))
    assert.deepEqual([id.get(), yield* Fiber.await(...children)], [0, [1, 2, 3]])
  })

  const storage = new AsyncLocalStorage<string>()
  const seen = () => storage.getStore()
  const carrying = <T>(store: string, body: () => Op<T>) =>
    storage.run(store, () => spin({ context: true }, body)) as Fiber<T>

  test('spin takes up the async context only if asked for, or if its fiber carries one', function* () {
    assert.deepEqual(yield* storage.run('store', () => Fiber.await(spin(seen))), [undefined])
    const none = carrying('store', () => spin({ context: false }, () => spin(seen)).await())
    assert.equal(yield* none, undefined)
  })

  test('every step of a fiber runs in the async context of its spin, after any wait', function* () {
    const emitter = new EventEmitter()
    const kinds: (() => Op<unknown>)[] = [
      () => snooze(),
      () => sleep(1),
      () => until(async () => assert.equal(seen(), 'store')),
      () => action<void>((settle) => void setImmediate(settle)),
      () => once(emitter, 'x'),
      () => receive(),
      () => suspend(),
      () => spin(() => sleep(1)).join(),
      () => moveOnAfter(1, () => sleep()),
    ]
    for (const wait of kinds) {
      const fiber = carrying('store', function* () {
        const before = seen()
        yield* wait()
        return [before, seen()]
      })
      yield* sleep(2)
      storage.run('of the one that wakes it', () => {
        emitter.emit('x')
        fiber.send('message')
        fiber.schedule('value')
      })
      assert.deepEqual([yield* fiber, seen()], [['store', 'store'], undefined], String(wait))
    }
  })

  test('cleanup runs in it too, thrown into or forced', function* () {
    const log: unknown[] = []
    for (const verb of ['stop', 'kill'] as const) {
      const fiber = carrying('store', () => waits(() => waits(() => log.push(seen()), 5)))
      yield* sleep(1)
      yield* storage.run('of the one that stops it', () => fiber[verb]())
    }
    assert.deepEqual(log, ['store', 'store'])
  })

  test('children have the context of their own spin, and so have raw fibers and restarted ones', function* () {
    const parent = carrying('parent', function* () {
      const here = Fiber.current
      const other = storage.run('other', () =>
        spin(function* () {
          yield* sleep(1)
          return yield* spin(seen)
        }),
      )
      const raw = new Fiber(() => transfer(here, seen()))
      return [yield* spin(() => spin(seen)), yield* other, yield* transfer(raw), seen()]
    })
    const expected = ['parent', 'other', 'parent', 'parent']
    assert.deepEqual(yield* parent, expected)
    assert.deepEqual(yield* parent.restart(), expected)
  })

  test('a context that is changed by enterWith reaches the children spun after it, and no other fiber', function* () {
    const fiber = carrying('store', function* () {
      storage.enterWith('entered')
      const child = spin(seen)
      yield* snooze() // Node decides how long it holds: until the next wait since Node 24, for ever before
      return yield* child
    })
    const sibling = carrying('store', function* () {
      yield* sleep(5)
      return seen()
    })
    assert.deepEqual([yield* fiber, yield* sibling, seen()], ['entered', 'store', undefined])
  })

  test('run carries the context of its call to its whole tree: callbacks inside see it, no other fiber does', async () => {
    const found: unknown[] = []
    const plain = run(function* () {
      for (let i = 0; i < 2; i++) {
        yield* receive()
        found.push(seen())
      }
    })
    const handle = (id: string) =>
      storage.run(id, () =>
        run(function* () {
          for (let i = 0; i < 9; i++) {
            assert.equal(seen(), id)
            yield* i % 3 === 0 ? turn() : i % 2 === 0 ? snooze() : until(Promise.resolve())
          }
          plain.fiber.send(1)
          yield* until(Promise.resolve().then(() => plain.fiber.send(2)))
          const inChild = yield* spin(() => spin(seen))
          return [inChild, yield* action<unknown>((settle) => void setImmediate(() => settle(seen())))]
        }),
      )
    const ids = ['a', 'b', 'c']
    assert.deepEqual(
      await Promise.all(ids.map(handle)),
      ids.map((id) => [id, id]),
    )
    await plain
    assert.deepEqual([found, seen()], [[undefined, undefined], undefined])
  })

  test('run carries any context there is, whatever its store is, and none if it is told so', async () => {
    for (const store of ['text', 0, false, null, {}, new Map(), new Set()]) {
      const any = new AsyncLocalStorage<unknown>()
      const see = () => any.getStore()
      const found = any.run(store, () => [
        run(see),
        run(function* () {
          yield* until(Promise.resolve())
          yield* turn()
          return see()
        }),
        run(see, { context: false }),
        any.exit(() => run(see)),
      ])
      assert.deepEqual(await Promise.all(found), [store, store, undefined, undefined])
    }
  })

  test('a fiber without a context never sees that of a caller which wakes it or stops it', async () => {
    const found = new Set<unknown>()
    const look = <T>(value: T): T => {
      found.add(seen())
      return value
    }
    const shared = deferred<void>()
    const calls: (() => void)[] = []
    const running = run(function* () {
      const waiting: (() => Op<unknown>)[] = [
        () => receive(),
        () => suspend(),
        () => until(shared.promise),
        () => action<void>((settle) => void calls.push(() => settle())),
      ]
      const fibers = waiting.map((wait) =>
        spin(function* () {
          look(yield* wait())
          look(yield* until(Promise.resolve()))
          look(yield* snooze())
          look(yield* turn())
          yield* waits(() => look(undefined))
        }),
      )
      yield* turn()
      storage.run('of the one that wakes', () => {
        fibers[0]?.send(1)
        fibers[1]?.schedule()
        for (const call of calls) call()
        shared.resolve()
        run(() => until(shared.promise)) // in a context, and joins the wait of another
      })
      for (let i = 0; i < 5; i++) look(yield* turn())
      storage.run('of the one that stops', () => {
        for (const fiber of fibers) fiber.stop()
      })
      yield* Fiber.current.joinChildren()
      look(yield* turn())
    })
    await running
    assert.deepEqual([...found], [undefined])
  })
})

describe('S57 AbortSignal', () => {
  test('the signal given to spin stops the fiber; its reason travels, and cleanup is whole', function* () {
    const controller = new AbortController()
    const log: string[] = []
    const fiber = spin({ signal: controller.signal }, () => waits(() => waits(() => log.push('clean'), 5)))
    yield* sleep(1)
    controller.abort('enough')
    assert.deepEqual(yield* fiber.join(), { type: 'stopped', value: undefined })
    assert.deepEqual([fiber.stopReason, log], ['enough', ['clean']])
  })

  test('the signal given to run stops it; the reason is the cause of FiberStopped', async () => {
    const reason = new Error('the client has left')
    const isStopped = (error: unknown) => error instanceof FiberStopped && error.cause === reason
    const controller = new AbortController()
    const running = run(() => sleep(), { signal: controller.signal })
    await turns()
    controller.abort(reason)
    await assert.rejects(running, isStopped)
    const late = run(() => assert.fail('it has begun'), { signal: controller.signal })
    await assert.rejects(late, isStopped)
  })

  test('a signal that is aborted already stops the fiber before it runs a line, at a restart too', function* () {
    const fiber = spin({ signal: AbortSignal.abort('before') }, () => assert.fail('it has begun'))
    assert.deepEqual([(yield* fiber.join()).type, fiber.stopReason], ['stopped', 'before'])
    const controller = new AbortController()
    let runs = 0
    const restarted = spin({ signal: controller.signal }, function* () {
      runs++
      yield* sleep(10)
    })
    yield* sleep(1)
    controller.abort('enough')
    restarted.restart()
    assert.deepEqual([(yield* restarted.join()).type, restarted.stopReason, runs], ['stopped', 'enough', 1])
  })

  test('fiber.signal is one object that aborts when the fiber is asked to stop, before its cleanup', function* () {
    const log: unknown[] = []
    const parent = spin(function* () {
      const child = spin(() => waits(() => log.push('cleanup')))
      child.signal.addEventListener('abort', () => log.push(child.signal.reason))
      yield* waits(() => log.push(Fiber.current.signal.aborted)) // looked at for the first time
    })
    yield* sleep(1)
    yield* parent.stop(undefined, { reason: 'why' })
    assert.deepEqual([log, parent.signal], [[true, 'why', 'cleanup'], parent.signal])
  })

  test('fiber.signal does not abort when the fiber ends by itself or by an error', function* () {
    const ended = spin(() => sleep(5))
    const raised = spin({ link: false }, () => sleep())
    const signals = [ended.signal, raised.signal]
    yield* raised.raise('error')
    yield* ended
    assert.ok(!signals.some(({ aborted }) => aborted))
  })

  test('a listener of fiber.signal may act on the fiber: the first stop stands', function* () {
    const fiber = yield* started(() => sleep())
    fiber.signal.addEventListener('abort', () => {
      fiber.stop('second')
      fiber.kill()
      fiber.raise('no')
      fiber.schedule('no')
    })
    assert.deepEqual(yield* fiber.stop('first'), { type: 'stopped', value: 'first' })
  })

  test('the signal that until gives to its function aborts when the fiber leaves, and only then', function* () {
    const signals: AbortSignal[] = []
    const waiting = (promise: Promise<unknown> = never) =>
      until((signal) => {
        signals.push(signal)
        return promise
      })
    const stopped = yield* started(() => waiting())
    assert.equal(signals[0]?.aborted, false)
    yield* stopped.stop(undefined, { reason: 'why' })
    assert.equal(signals[0]?.reason, 'why')
    yield* (yield* started(() => waiting())).kill()
    yield* (yield* started(() => waiting())).raise('error')
    yield* moveOnAfter(5, () => waiting())
    assert.equal(yield* waiting(Promise.resolve(1)), 1)
    assert.deepEqual(
      signals.map(({ aborted }) => aborted),
      [true, true, true, true, false],
    )
  })
})

describe('S58 promises and callbacks', () => {
  test('a thenable that begins its work when it is asked is not asked by an until that is never waited in', function* () {
    let asked = 0
    const query = (): any => ({
      // biome-ignore lint/suspicious/noThenProperty: the clients of databases have it
      then(answer: (value: number) => void) {
        asked++
        answer(1)
      },
    })
    yield* spin(function* () {
      Fiber.current.stop()
      yield* until(query())
    }).join()
    yield* race([() => 1, until(query())])
    assert.equal(asked, 0)
    assert.equal(yield* until(query()), 1)
  })

  test('until gives the value of a promise, or throws its reason itself', function* () {
    const error = new Error('no')
    assert.equal(yield* until(Promise.resolve(42)), 42)
    assert.equal(yield* until(async () => 42), 42)
    for (const reason of [error, 'text', undefined]) {
      assert.equal(yield* thrownBy(until(Promise.reject(reason))), reason)
    }
  })

  test('a fiber that is stopped does not wait for the promise; its late rejection is taken care of', function* () {
    const { promise, reject } = deferred()
    const aborted = (signal: AbortSignal) =>
      new Promise((_, no) => signal.addEventListener('abort', () => no(signal.reason)))
    for (const wait of [() => until(promise), () => until(() => promise), () => until(aborted)]) {
      assert.equal((yield* (yield* started(wait)).stop()).type, 'stopped')
    }
    reject(new Error('late'))
    yield* settling() // an unhandled rejection fails the test
  })

  test('so is that of a promise at whose until a stop was pending, and that of a refused body', function* () {
    yield* struck(() => until(Promise.reject(new Error('late'))))
    yield* struck(() => until(() => assert.fail('called, though the wait has not begun')))
    const refused = yield* spin(() => Promise.reject(new Error('late')) as any).join()
    assert.equal(refused.type === 'error' && (refused.error as PolyphonyError).code, 'BAD_ARGUMENT')
    yield* settling()
  })

  test('a late value goes to discard once, however many waits have left the promise', function* () {
    const { promise, resolve } = deferred<string>()
    const discarded: string[] = []
    const wait = () => until(promise, { discard: (value) => void discarded.push(value) })
    for (let i = 0; i < 3; i++) yield* moveOnAfter(1, wait)
    yield* struck(wait)
    yield* race([wait(), () => sleep(1)])
    yield* moveOnAfter(1, () => until(promise)) // has no discard, and takes nothing away
    resolve('value')
    yield* settling()
    assert.deepEqual(discarded, ['value'])
  })

  test('a value that a fiber receives is not discarded for those that have left, nor for those that come later', function* () {
    const { promise, resolve } = deferred<string>()
    const discarded: string[] = []
    const wait = () => until(promise, { discard: (value) => void discarded.push(value) })
    const back = wait()
    yield* moveOnAfter(1, () => back)
    yield* moveOnAfter(1, wait)
    yield* struck(wait)
    const fibers = [yield* started(() => back), yield* started(() => until(promise))]
    resolve('value')
    assert.deepEqual(yield* Fiber.await(...fibers), ['value', 'value'])
    yield* struck(wait)
    yield* settling()
    assert.equal(yield* wait(), 'value')
    yield* struck(wait)
    yield* settling()
    assert.deepEqual(discarded, [])
  })

  for (const [who, options] of [
    ['plain', undefined],
    ['careful', { discard: () => assert.fail('discarded') }],
  ] as const) {
    test(`a value is not discarded while a ${who} wait for it goes on, whichever came first`, function* () {
      for (const order of [
        ['stays', 'leaves', 'leaves'],
        ['leaves', 'stays', 'leaves'],
        ['leaves', 'leaves', 'stays'],
      ]) {
        const { promise, resolve } = deferred<string>()
        const fibers: Fiber<string>[] = []
        for (const kind of order) {
          const discard = () => assert.fail('discarded')
          fibers.push(yield* started(() => until(promise, kind === 'stays' ? options : { discard })))
        }
        for (const [i, kind] of order.entries()) if (kind === 'leaves') yield* (fibers[i] as Fiber).stop()
        resolve('value')
        assert.equal(yield* fibers[order.indexOf('stays')] as Fiber<string>, 'value')
        yield* settling()
        assert.deepEqual(reports(), [])
      }
    })
  }

  test('a value that fibers waited for together, and all have left, is discarded once', function* () {
    const { promise, resolve } = deferred<string>()
    const discarded: string[] = []
    const wait = () => until(promise, { discard: (value) => void discarded.push(value) })
    const fibers = [yield* started(wait), yield* started(wait), yield* started(wait)]
    for (const fiber of fibers) yield* fiber.stop()
    resolve('value')
    yield* settling()
    assert.deepEqual(discarded, ['value'])
  })

  test('an exception of discard is reported', function* () {
    const { promise, resolve } = deferred<string>()
    yield* moveOnAfter(1, () => until(promise, { discard: () => assert.fail('thrown by discard') }))
    resolve('late')
    yield* settling()
    assert.match(
      reports().join(),
      /^uncaught: discarding the late value of a promise failed: .*thrown by discard$/,
    )
  })

  test('a value that is there already, and that no fiber receives, is discarded too', function* () {
    const discarded: string[] = []
    const wait = (promise: Promise<string>) =>
      until(promise, { discard: (value) => void discarded.push(value) })
    yield* struck(() => wait(Promise.resolve('ready')))
    yield* settling()
    assert.deepEqual(discarded, ['ready'])
  })

  test('a promise is looked at once, and keeps nothing of the fibers that wait for it and leave', function* () {
    let looks = 0
    class Watched extends Promise<void> {
      // biome-ignore lint/suspicious/noThenProperty: it counts the looks
      override then(...args: any[]): any {
        looks++
        return (super.then as any)(...args)
      }
    }
    const ops: WeakRef<Op<void>>[] = []
    const waiting = (promise: Promise<void>, options?: { discard(): void }) => {
      const op = until(promise, options)
      ops.push(new WeakRef(op))
      return op
    }
    const left: ((promise: Promise<void>) => Op<unknown>)[] = [
      (promise) => struck(() => waiting(promise)),
      (promise) => moveOnAfter(1, () => waiting(promise)),
      (promise) => moveOnAfter(1, () => waiting(promise, { discard() {} })),
      (promise) => race([waiting(promise), () => 1]),
      (promise) => race([waiting(promise, { discard() {} }), () => sleep(1)]),
      (promise) => any([() => 1, waiting(promise)]),
    ]
    const promises = left.map(() => new Watched(() => {})) // they live on
    for (const [kind, leave] of left.entries()) {
      for (let i = 0; i < 5; i++) yield* leave(promises[kind] as Watched)
    }
    yield* settling()
    collectGarbage()
    const kept = ops.filter((op) => op.deref() !== undefined).length
    assert.deepEqual([looks, kept], [promises.length, 0])
  })

  test('action runs its function when the wait begins; its cleanup runs once, as soon as the wait is over', function* () {
    const log: string[] = []
    let answer!: { settle(value: string): void; fail(error: unknown): void }
    const op = action<string>((settle, fail) => {
      answer = { settle, fail }
      log.push('begun')
      return () => log.push('cleaned up')
    })
    const ends: ((fiber: Fiber) => unknown)[] = [
      () => answer.settle('value'),
      () => answer.fail('error'),
      (fiber) => fiber.stop(),
      (fiber) => fiber.kill(),
    ]
    const types: unknown[] = []
    for (const end of ends) {
      assert.deepEqual(log.splice(0), [])
      const fiber = yield* started(() => op)
      assert.deepEqual(log.splice(0), ['begun'])
      end(fiber)
      assert.deepEqual(log.splice(0), ['cleaned up'])
      answer.settle('second')
      answer.fail('third')
      const outcome = yield* fiber.join()
      types.push(outcome.type === 'value' ? outcome.value : outcome.type)
    }
    assert.deepEqual(types, ['value', 'error', 'stopped', 'stopped'])
  })

  test('once waits for one event; an error event is thrown; no listener stays', function* () {
    const emitter = new EventEmitter<{ exit: [number]; error: [Error] }>()
    const target = new EventTarget()
    const error = new Error('broken')
    const code = yield* started(() => once(emitter, 'exit'))
    for (const n of [1, 2]) emitter.emit('exit', n)
    const failed = yield* started(() => once(emitter, 'exit'))
    const wanted = yield* started(() => once(emitter, 'error'))
    emitter.emit('error', error)
    assert.deepEqual([yield* code, yield* failed.join(), yield* wanted], [1, { type: 'error', error }, error])
    yield* moveOnAfter(5, () => once(emitter, 'exit'))
    yield* moveOnAfter(5, () => once(target, 'x'))
    assert.deepEqual([listeners(emitter), listeners(target, 'x')], [0, 0])
  })

  test('on gives all events from the call on, one by one, until it is closed', function* () {
    const emitter = new EventEmitter<{ n: [number] }>()
    const numbers = on(emitter, 'n')
    for (let n = 0; n < 20; n++) emitter.emit('n', n)
    for (let n = 0; n < 20; n++) assert.equal(yield* numbers.next(), n)
    const next = yield* started(() => numbers.next())
    emitter.emit('n', 20)
    assert.equal(yield* next, 20)
    yield* numbers.close()
    assert.deepEqual([yield* numbers.next(), listeners(emitter)], [END, 0])
  })

  test('on listens no longer than its fiber lives, also if that is restarted', function* () {
    const emitter = new EventEmitter()
    for (const more of [() => snooze(), () => sleep(), () => failing('broken')]) {
      const fiber = yield* started(function* () {
        on(emitter, 'x')
        yield* more()
      })
      fiber.restart()
      yield* sleep(1)
      assert.ok(listeners(emitter) <= 2)
      yield* fiber.stop()
      assert.equal(listeners(emitter), 0)
    }
  })

  test('an error event is thrown at the next wait, after the events before it; then on is over', function* () {
    const emitter = new EventEmitter()
    const error = new Error('broken')
    const events = on(emitter, 'data')
    emitter.emit('data', 1)
    emitter.emit('error', error)
    assert.equal(listeners(emitter), 0)
    assert.equal(yield* events.next(), 1)
    assert.equal(yield* thrownBy(events.next()), error)
    assert.equal(yield* events.next(), END)
  })

  test('an error event that is never read is reported, once', function* () {
    const emitter = new EventEmitter()
    const fiber = spin('reader', function* () {
      on(emitter, 'data')
      yield* sleep(5)
    })
    yield* sleep(1)
    emitter.emit('error', new Error('broken'))
    yield* fiber
    const closed = on(emitter, 'data')
    emitter.emit('error', new Error('broken'))
    for (let i = 0; i < 2; i++) closed.close()
    assert.deepEqual(reports(), [
      'unobserved: on(data) in main > reader got an error that was never read',
      'unobserved: on(data) in main got an error that was never read',
    ])
  })

  for (const [name, wait] of [
    ['race', (op) => race([op, () => 1])],
    ['any', (op) => any([op, () => 1])],
    ['all, cut by a limit', (op) => moveOnAfter(1, () => all([op, () => sleep()]))],
    ['allSettled, cut by a limit', (op) => moveOnAfter(1, () => allSettled([op, () => sleep()]))],
  ] as [string, (op: Op<void>) => Op<unknown>][]) {
    test(`a promise whose until is given to ${name} is looked at once, and keeps nothing of it`, function* () {
      let looks = 0
      class Watched extends Promise<void> {
        // biome-ignore lint/suspicious/noThenProperty: it counts the looks
        override then(...args: any[]): any {
          looks++
          return (super.then as any)(...args)
        }
      }
      const promise = new Watched(() => {})
      const ops: WeakRef<Op<void>>[] = []
      const waiting = () => {
        const op: Op<void> = until<void>(promise)
        ops.push(new WeakRef(op))
        return op
      }
      for (let i = 0; i < 20; i++) yield* wait(waiting())
      yield* settling()
      collectGarbage()
      assert.equal(looks, 1)
      // The engine itself may still hold the last one.
      assert.ok(ops.filter((op) => op.deref() !== undefined).length <= 1)
    })
  }
})

describe('S59 async iterators', () => {
  const webStream = (log: unknown[], chunks: string[]) =>
    new ReadableStream<string>({
      async pull(controller) {
        controller.enqueue(chunks.shift() ?? (await never))
      },
      cancel: () => void log.push('cancelled'),
    })

  test('iterate gives the items of anything one by one, then END for ever', function* () {
    function* three() {
      yield* [1, 2, 3]
    }
    const web = ReadableStream.from([1, 2, 3]) as unknown as AsyncIterable<number>
    for (const items of [[1, 2, 3], new Set([1, 2, 3]), three(), numbers(), Readable.from([1, 2, 3]), web]) {
      const source = iterate<number>(items)
      assert.deepEqual([yield* rest(source), yield* source.next()], [[1, 2, 3], END])
    }
    assert.deepEqual(yield* rest(iterate('ab')), ['a', 'b'])
    assert.deepEqual(yield* rest(iterate([undefined, null])), [undefined, null])
  })

  test('each runs its body for every item, in order, in this fiber', function* () {
    const me = Fiber.current
    const seen: unknown[] = []
    yield* each(numbers(), function* (n, index) {
      assert.equal(Fiber.current, me)
      yield* snooze()
      seen.push([n, index])
    })
    yield* each(['plain'], (word) => void seen.push(word))
    assert.deepEqual(seen, [[1, 0], [2, 1], [3, 2], 'plain'])
  })

  test('each ends when its body returns false and nothing else, and runs the finally of a generator', function* () {
    const log: string[] = []
    yield* each(numbers(log), (n) => n < 2)
    yield* each(numbers(log), function* (n) {
      return n < 2
    })
    assert.deepEqual(log.splice(0), ['finally', 'finally'])
    for (const other of [undefined, null, 0]) yield* each(numbers(log), () => other)
    yield* each(numbers(log), function* () {
      return null
    })
    assert.equal(log.join(), 'whole,finally,whole,finally,whole,finally,whole,finally')
  })

  test('an error of the body lets the source go first; one of the source is thrown as it is', function* () {
    const log: string[] = []
    const error = yield* thrownBy(each(numbers(log), () => failing('of the body')))
    assert.deepEqual([error.message, log], ['of the body', ['finally']])
    const { promise, reject } = deferred()
    const broken = new Error('of the source')
    const failed = yield* thrownBy(each(numbers([], promise), () => reject(broken)))
    assert.equal(failed, broken)
  })

  test('an error from letting the source go is kept beside that of the body', function* () {
    async function* clumsy() {
      try {
        yield 1
      } finally {
        // biome-ignore lint/correctness/noUnsafeFinally: that is the point
        throw new Error('of the finally')
      }
    }
    const both = yield* thrownBy(each(clumsy(), () => failing('of the body')))
    assert.deepEqual(whole(both).map(String), ['Error: of the body', 'Error: of the finally'])
    assert.equal((yield* thrownBy(each(clumsy(), () => false))).message, 'of the finally')
  })

  test('a stop waits until the source is let go, however often it comes', function* () {
    const log: string[] = []
    async function* slow() {
      try {
        yield 1
      } finally {
        await turns()
        log.push('left')
      }
    }
    const fiber = yield* started(() => each(slow(), () => sleep()))
    for (let i = 0; i < 2; i++) fiber.stop()
    yield* fiber.join()
    assert.deepEqual([log, reports()], [['left'], []])
  })

  test('a generator that never answers is left behind after the grace of the fiber, and reported', function* () {
    const left = spin({ grace: 100, name: 'left' }, () => each(numbers([], never), () => {}))
    yield* settling()
    const start = now()
    assert.equal((yield* left.stop()).type, 'stopped')
    assert.equal(now() - start, 100)
    const options = { grace: 100, link: false, name: 'patient' }
    const patient = spin(options, () => each(numbers([], never), () => {}))
    yield* settling()
    assert.equal((yield* patient.raise('from outside')).type, 'error')
    assert.match(reports().join('\n'), /^forced: .*main > patient has left did not answer .* for 100 ms/m)
  })

  test('a Node stream is destroyed at once, whether it is left early, while it waits, or before its first item', function* () {
    const early = Readable.from(['a', 'b', 'c'])
    yield* each(early, (chunk) => chunk !== 'b')
    const [waiting, unread] = [new PassThrough(), new PassThrough()]
    const fiber = spin(() => each(waiting, () => {}))
    yield* settling()
    const start = now()
    yield* fiber.stop()
    yield* struck(() => each(unread, () => {}))
    assert.equal(now(), start)
    assert.ok(early.destroyed && waiting.destroyed && unread.destroyed)
  })

  test('a web stream is cancelled and unlocked; read to its end or broken, it is only unlocked', function* () {
    const log: unknown[] = []
    const early = webStream(log, ['a', 'b', 'c'])
    yield* each(early, (chunk) => chunk !== 'b')
    const waiting = webStream(log, ['a'])
    const fiber = spin(() => each(waiting, () => {}))
    yield* settling()
    assert.equal(waiting.locked, true)
    yield* fiber.stop()
    const over = new Blob(['text']).stream()
    assert.equal((yield* rest(iterate(over))).length, 1)
    const broken = new ReadableStream({ start: (controller) => controller.error('broken') })
    assert.equal(yield* thrownBy(each(broken, () => {})), 'broken')
    assert.deepEqual(log, ['cancelled', 'cancelled'])
    assert.ok(![early, waiting, over, broken].some(({ locked }) => locked))
  })

  test('a fiber that leaves while next() is under way loses no item, and no error', function* () {
    const { promise, resolve } = deferred()
    const source = iterate(numbers([], promise))
    assert.equal(yield* source.next(), 1)
    const reader = spin(() => source.next())
    yield* settling()
    yield* reader.stop()
    assert.equal(yield* moveOnAfter(0, () => source.next(), 'moved on'), 'moved on')
    resolve()
    yield* settling() // the item comes while no fiber waits
    assert.deepEqual(yield* rest(source), [2, 3])

    const failing = deferred()
    const broken = iterate(numbers([], failing.promise))
    yield* broken.next()
    yield* moveOnAfter(1, () => broken.next())
    failing.reject('broken')
    yield* settling()
    assert.equal(yield* thrownBy(broken.next()), 'broken')
    assert.equal(yield* broken.next(), END)
  })
})

describe('S60 disposables', () => {
  test('using works in a generator function, at the end of a block and at a stop', function* () {
    const log: string[] = []
    const resource = (name: string): Disposable => ({ [Symbol.dispose]: () => void log.push(name) })
    const fiber = yield* started(function* () {
      {
        using _inner = resource('inner')
        yield* snooze()
      }
      using _first = resource('first')
      using _second = resource('second')
      log.push('waiting')
      yield* sleep()
    })
    yield* fiber.stop()
    assert.deepEqual(log, ['inner', 'waiting', 'second', 'first'])
  })

  test('use gives the resource, and disposes of all in a scope when it is over, the newest first', function* () {
    const log: string[] = []
    const result = yield* scope(function* () {
      log.push(yield* take('a', log), yield* take('b', log, 10))
      return 'result'
    })
    assert.deepEqual([result, ...log], ['result', 'a', 'b', 'closing b', 'closed b', 'closing a', 'closed a'])
  })

  test('outside any scope the fiber disposes of it, after its body and its children, before it is dead', function* () {
    const log: string[] = []
    const fiber = spin(function* () {
      yield* take('a', log, 10)
      spin(() => waits(() => waits(() => log.push('child'), 5)))
      yield* waits(() => log.push('body'), 1)
      return 'value'
    })
    yield* sleep(10)
    assert.deepEqual([fiber.phase, fiber.waitsFor], ['closing', 'sleep(10)'])
    assert.equal(yield* fiber, 'value')
    assert.deepEqual(log, ['body', 'child', 'closing a', 'closed a'])
  })

  test('a time limit is no scope: the resource lives on', function* () {
    const log: string[] = []
    yield* scope(function* () {
      yield* moveOnAfter(10, function* () {
        yield* take('a', log)
        yield* sleep()
      })
      log.push('moved on')
    })
    assert.deepEqual(log, ['moved on', 'closing a', 'closed a'])
  })

  test('a scope whose body throws as it is forced to end still disposes of it', function* () {
    const log: string[] = []
    const body = function* () {
      yield* take('a', log)
      yield* waits(() => assert.fail('of the body'))
    }
    const fiber = yield* started(() => scope(body))
    assert.equal((yield* fiber.kill() as any).error.message, 'of the body')
    assert.deepEqual(log, ['closing a']) // it may not wait any more
  })

  test('it is registered before anything can strike', function* () {
    const log: string[] = []
    yield* struck(() => take('a', log))
    assert.deepEqual(log, ['closing a', 'closed a'])
  })

  for (const isScoped of [false, true]) {
    test(`the cleanup of a stopped ${isScoped ? 'scope' : 'fiber'} is whole, and bounded by the grace`, function* () {
      const log: string[] = []
      const body = function* () {
        yield* take('quick', log)
        yield* take('slow', log, 100)
        yield* sleep()
      }
      const spinning = () => started(isScoped ? () => scope(body) : body)
      assert.deepEqual(yield* (yield* spinning()).stop('bye'), { type: 'stopped', value: 'bye' })
      assert.deepEqual(log.splice(0), ['closing slow', 'closed slow', 'closing quick', 'closed quick'])
      const hasty = yield* spinning()
      const start = now()
      assert.equal((yield* hasty.stop(undefined, { grace: 50 })).type, 'stopped')
      assert.deepEqual([now() - start, log.splice(0)], [50, ['closing slow', 'closing quick']])
      yield* (yield* spinning()).kill()
      assert.deepEqual(log, ['closing slow', 'closing quick'])
    })
  }

  test('errors of cleanups are kept beside that of the body; without one, the first is thrown', function* () {
    function* body(how: string) {
      for (const name of ['one', 'two']) yield* use(name, () => failing(name))
      if (how === 'broken') throw new Error('body')
      if (how === 'stopped') yield* sleep()
    }
    const messages = (error: unknown) => whole(error).map((each) => (each as Error).message)
    for (const [how, expected] of [
      ['broken', ['body', 'two', 'one']],
      ['fine', ['two', 'one']],
      ['stopped', ['two', 'one']],
    ] as const) {
      for (const isScoped of [false, true]) {
        const fiber = yield* started(isScoped ? () => scope(() => body(how)) : () => body(how))
        fiber.stop()
        assert.deepEqual(messages(yield* thrownBy(fiber.await())), expected, how)
      }
    }
  })

  test('a handle from run() has [Symbol.asyncDispose]: it stops the fiber, and waits', async () => {
    const log: string[] = []
    {
      await using running = run(() => waits(() => until(turns(3).then(() => log.push('cleaned up')))))
      while (running.fiber.state !== 'waiting') await turns()
    }
    assert.deepEqual(log, ['cleaned up'])
  })
})

describe('S61 blocks stay in their fiber', () => {
  /** Drives the iterator of an op through another one, as a library for pull streams might. */
  function* byHand(iterator: Iterator<any, any, any>): Routine<any> {
    return yield* { [Symbol.iterator]: () => ({ next: () => iterator.next() }) } as Op<any>
  }
  const blocks: Record<string, () => Op<unknown>> = {
    scope: () => scope(() => sleep()),
    limit: () => moveOnAfter(100, () => sleep()),
    shield: () => shield(() => sleep()),
  }
  for (const [name, block] of Object.entries(blocks)) {
    test(`a ${name} that another fiber iterates throws`, function* () {
      const iterator = block()[Symbol.iterator]()
      const first = yield* started(() => byHand(iterator))
      assert.ok((yield* thrownBy(byHand(iterator))) instanceof BadState)
      yield* first.stop()
    })
  }

  test('blocks that are left in the wrong order throw', function* () {
    const error = yield* thrownBy(
      scope(function* () {
        const block = shield(() => snooze())[Symbol.iterator]()
        const steps = [() => block.next(), () => ({ done: true, value: undefined })] // entered, and never left
        yield* { [Symbol.iterator]: () => ({ next: () => steps.shift()?.() }) } as Op<void>
      }),
    )
    assert.ok(error instanceof PolyphonyError)
  })

  test('a block entered inside itself throws, and the fiber stays sound', function* () {
    const error = yield* thrownBy(
      scope(function* () {
        const block: Op<void> = moveOnAfter(10, () => block)
        yield* block
      }),
    )
    assert.ok(error instanceof PolyphonyError, String(error))
    assert.equal(yield* moveOnAfter(5, () => sleep(), 'sound'), 'sound')
  })

  test('a block does not cross a raw yield: it throws there, and strikes nothing later', function* () {
    const values = (function* () {
      yield* moveOnAfter(10, function* () {
        yield 1 as never
        yield 2 as never
      })
    })()
    assert.throws(() => values.next(), PolyphonyError)
    yield* sleep(20)
    assert.equal(runtime().timers.size, 0)
    const number = {
      *[Symbol.iterator]() {
        yield 5
      },
    } as unknown as Op<void>
    assert.equal((yield* thrownBy(moveOnAfter(10, () => number))).code, 'BAD_YIELD')
  })

  test('any block left before one inside it throws a named error, and the fiber stays sound', function* () {
    const wraps: ((body: () => Op<unknown>) => Op<unknown>)[] = [
      scope,
      shield,
      (body) => moveOnAfter(1000, body),
      (body) => new Mutex().synchronize(body),
      (body) => new Semaphore(1).acquire(body),
    ]
    for (const outer of wraps) {
      for (const inner of wraps) {
        yield* spin(function* () {
          const around = outer(() => suspend())[Symbol.iterator]() as Routine<unknown>
          around.next() // by hand: it stays open when the next one begins
          assert.ok((yield* thrownBy(snooze())) instanceof BadYield)
          yield* inner(function* () {
            assert.throws(() => around.return(0), BadState)
            yield* snooze()
          })
          assert.equal(yield* moveOnAfter(5, () => sleep(10), 'sound'), 'sound')
        })
      }
    }
  })

  const deep: [string, (body: () => Op<unknown>) => Op<unknown>][] = [
    ['scope', (body) => scope(body)],
    ['moveOnAfter', (body) => moveOnAfter(1000, body)],
    ['cancelAfter', (body) => cancelAfter(1000, body)],
    ['shield', (body) => shield(body)],
    ['ensure', (body) => ensure(body, () => {})],
    ['ensure, in its cleanup', (body) => ensure(() => {}, body)],
    ['synchronize', (body) => new Mutex().synchronize(body)],
  ]
  for (const [name, block] of deep) {
    test(`10,000 of ${name} in each other are an error that says so, each cleanup runs, and nothing is left`, function* () {
      let open = 0
      function* nest(depth: number): Routine<void> {
        open++
        try {
          if (depth > 0) yield* block(() => nest(depth - 1))
        } finally {
          open--
        }
      }
      for (const wait of [() => nest(10_000), () => moveOnAfter(100, () => nest(10_000))]) {
        const { error }: any = yield* spin({ link: false }, wait).join()
        const isSaid = error instanceof RangeError || /too deep/.test(error?.message)
        assert.ok(isSaid, String(error))
        assert.doesNotMatch(String(error), /wrong order|S61/)
        assert.deepEqual([open, Fiber.current.children, runtime().timers.size], [0, [], 0])
      }
      yield* sleep(1)
      assert.equal(yield* block(() => sleep(1)), undefined)
    })
  }
})

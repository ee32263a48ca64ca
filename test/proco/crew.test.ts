// Handlers in fibers: what may be a handler, how it fails, and what it leaves behind.

import { AsyncLocalStorage } from 'node:async_hooks'
import { Killed, Proco } from 'polyphony/proco'
import {
  assert,
  BadYield,
  createLocal,
  describe,
  errorFiber,
  Fiber,
  FiberStopped,
  type Routine,
  reports,
  run,
  runtime,
  scope,
  sleep,
  spin,
  test,
  thrownBy,
  tryReceive,
  turn,
  until,
  waits,
} from '../prelude.js'
import { type Any, type Futures, forHandlers, states, tally } from './handlers.js'

type Settle = (value: unknown) => void
/** Something that is no promise, and can be awaited. */
const thenable = (then: (yes: Settle, no: Settle) => void) =>
  Object.defineProperty({}, 'then', { value: then })
const thrower = (error: unknown) => () => {
  throw error
}

function* later<T>(value: T): Routine<T> {
  yield* sleep(1)
  return value
}

describe('a handler', () => {
  const doubling: Record<string, (n: number) => unknown> = {
    'an async function': async (n) => {
      await null
      return n * 2
    },
    'a function that returns an op': (n) => until(Promise.resolve(n * 2)),
    'a function that returns a promise': (n) => Promise.resolve(n * 2),
    'a function that returns a thenable': (n) => thenable((yes) => yes(n * 2)),
    'a function that returns a fiber': (n) => spin(() => n * 2),
    'a function that returns a routine': (n) => later(n * 2),
    'a bound function': function (this: number, n: number) {
      return n * this
    }.bind(2),
  }
  for (const [what, handler] of Object.entries(doubling)) {
    test(`may be ${what}`, function* () {
      const proco: Any = Proco.new().start(handler)
      const futures: Futures = [1, 2, 3].map((n) => proco.trySubmit(n)!)
      for (const [i, future] of futures.entries()) assert.equal(yield* future.get(), (i + 1) * 2)
    })
  }

  test('returns values as they are; it is called with the item and its work', function* () {
    const values = [[1], 'text', new Map(), () => 1, new Error('value'), undefined, null, 0, Symbol('s')]
    const proco: Any = Proco.new().start((...args: any[]) => {
      assert.equal(args.length, 2)
      assert.ok(args[1].signal instanceof AbortSignal)
      return args[0]
    })
    for (const value of values) assert.equal(yield* proco.submit(value), value)
    yield* proco.exit()
    assert.equal(tally(proco), '9 accepted, 9 done')
  })

  const failing: Record<string, (error: Error) => unknown> = {
    'throws at once': (error) => thrower(error)(),
    rejects: async (error) => thrower(error)(),
    'returns an op that fails': (error) => until(Promise.reject(error)),
    'returns a thenable that rejects': (error) => thenable((_, no) => no(error)),
    'returns a thenable that throws': (error) => thenable(thrower(error)),
    'returns something whose then cannot be read': (error) =>
      Object.defineProperty({}, 'then', { get: thrower(error) }),
    'returns a fiber that fails': (error) => spin(thrower(error)),
    'has a child that fails': function* (error) {
      spin(thrower(error))
      yield* sleep(1)
    },
  }
  for (const [what, fail] of Object.entries(failing)) {
    test(`that ${what} fails its item, with its own error, and nothing else`, function* () {
      const error = new Error('mine')
      const proco: Any = new Proco({ name: 'mill' }).start((item) => (item === 'fine' ? item : fail(error)))
      const thrown = yield* thrownBy(proco.submit('fails'))
      assert.ok(thrown === error || thrown.cause === error, String(thrown))
      assert.match(errorFiber(thrown)!.name, /^(mill\[0\]|fiber)/)
      assert.equal(yield* proco.submit('fine'), 'fine')
      yield* proco.exit()
      assert.deepEqual([tally(proco), reports()], ['2 accepted, 1 done, 1 failed', []])
    })
  }

  test('that throws at once leaves nothing behind that async code would be refused for', async () => {
    const error = new Error('mine')
    const proco: Any = Proco.new().start((item) => (item === 'fine' ? item : thrower(error)()))
    await assert.rejects(proco.submit('fails'), error)
    assert.equal(await proco.submit('fine'), 'fine')
    await proco.exit()
  })

  test('that forgets a star, or yields what is no op, fails its item with BadYield', function* () {
    const proco: Any = Proco.new().start(function* (what: string): Generator<any> {
      yield what === 'op' ? sleep(1) : Promise.resolve()
    })
    for (const what of ['op', 'promise']) assert.ok((yield* thrownBy(proco.submit(what))) instanceof BadYield)
  })

  forHandlers('may cancel its own item, and kill its own executor', function* (as) {
    const proco: Any = Proco.new().start(
      as((act: string) => (act === 'cancel' ? futures[0]!.cancel('myself') : proco.kill()) ?? sleep(1)),
    )
    const futures: Futures = ['cancel', 'kill', 'queued'].map((act) => proco.trySubmit(act)!)
    yield* sleep(5)
    assert.equal(states(futures), 'cancelled cancelled cancelled')
    assert.equal((yield* thrownBy(futures[0]!.get())).cause, 'myself')
    for (const n of [1, 2]) assert.ok((yield* thrownBy(futures[n]!.get())) instanceof Killed)
  })

  test('that swallows its stop: its result goes nowhere, and the next item has a worker of its own', function* () {
    const proco: Any = Proco.new().start(function* (item: string) {
      try {
        if (item === 'a') yield* sleep(100)
      } catch {
        yield* sleep(10)
      }
      return Fiber.current.name
    })
    const futures: Futures = ['a', 'b'].map((item) => proco.trySubmit(item)!)
    yield* sleep(1)
    futures[0]!.cancel('enough')
    assert.equal(yield* futures[1]!.get(), 'proco[1]')
    assert.equal((yield* thrownBy(futures[0]!.get())).cause, 'enough')
  })
})

describe('what a handler leaves behind', () => {
  test('children are stopped before the next item; locals and messages are gone', function* () {
    const name = createLocal('none')
    const log: unknown[] = []
    const proco: Any = Proco.new().start(function* (text: string) {
      log.push([text, name.get(), tryReceive(), Fiber.current.children.length])
      if (text !== 'b') name.set(text)
      if (text !== 'c') Fiber.current.send(`to ${text}`)
      if (text === 'a') spin(() => waits(() => log.push('child stopped')))
      yield* sleep(1)
    })
    const futures: Futures = ['a', 'b', 'c', 'd'].map((item) => proco.trySubmit(item)!)
    for (const future of futures) yield* future.get()
    yield* proco.exit()
    const seen = ['a', 'b', 'c', 'd'].map((text) => [text, 'none', undefined, 0])
    assert.deepEqual(log, [seen[0], 'child stopped', ...seen.slice(1)])
  })

  test('a child whose cleanup fails after the result is reported, or the logger is told', function* () {
    for (const isLogged of [false, true]) {
      const logged: string[] = []
      const logger = { debug() {}, info() {}, warn() {}, error: (message: string) => logged.push(message) }
      const proco: Any = new Proco(isLogged ? { logger } : {}).start(function* (n: number) {
        if (n === 1) spin(() => waits(thrower(new Error('in the cleanup'))))
        yield* sleep(1)
        return n
      })
      const futures: Futures = [1, 2].map((n) => proco.trySubmit(n)!)
      for (const [n, future] of futures.entries()) assert.equal(yield* future.get(), n + 1)
      yield* proco.exit()
      const [message, ...more] = isLogged ? logged : reports()
      assert.match(message!, /proco: a handler failed when all its items had an outcome: .*in the cleanup/)
      assert.equal(more.length, 0)
    }
  })

  test('a raise that comes too late for its handler is reported, and harms no other item', function* () {
    const proco: Any = Proco.new().start((n) => {
      if (n === 1) Fiber.current.raise(new Error('too late'))
      if (n === 2) Fiber.current.cancel()
      if (n === 3) Fiber.current.stop()
      return n
    })
    const futures: Futures = [1, 2, 3, 4].map((n) => proco.trySubmit(n)!)
    for (const [n, future] of futures.entries()) assert.equal(yield* future.get(), n + 1)
    yield* proco.exit()
    assert.equal(reports().length, 2)
  })

  const wasStopped = /^FiberStopped: proco > proco\[0\] was stopped while it handled this/
  /** What the user does to the fiber of a handler, and what its item is told. */
  const acts: [act: string, (fiber: Fiber) => unknown, words: RegExp][] = [
    ['stopped', (fiber) => fiber.stop(), wasStopped],
    ['killed', (fiber) => fiber.kill(), wasStopped],
    ['restarted', (fiber) => fiber.restart(), /^FiberStopped: .* was restarted while it handled this item$/],
    ['raised in', (fiber) => fiber.raise(new RangeError('from outside')), /^RangeError: from outside$/],
  ]
  for (const [what, act, words] of acts) {
    test(`the fiber of a handler is ${what}: its item fails, the next ones are handled`, function* () {
      const fibers: Fiber[] = []
      const proco: Any = Proco.new().start(function* () {
        fibers.push(Fiber.current)
        yield* sleep(10)
      })
      const futures: Futures = [1, 2, 3].map((n) => proco.trySubmit(n)!)
      yield* sleep(1)
      act(fibers[0]!)
      const error = yield* thrownBy(futures[0]!.get())
      assert.match(String(error), words)
      assert.equal(error instanceof FiberStopped, what !== 'raised in')
      yield* proco.exit()
      assert.equal(states(futures), 'failed done done')
    })

    test(`the fiber of a handler is ${what} before its first turn, or while it rests: nothing is lost`, function* () {
      const proco: Any = Proco.new().start((n) => n)
      for (const n of [1, 2, 3]) {
        const future = proco.trySubmit(n)!
        if (n === 1) act(workers()[0]!)
        assert.equal(yield* future.get(), n)
        yield* sleep(1)
        for (const worker of workers()) act(worker)
        if (n === 2) yield* sleep(1)
      }
    })
  }
})

function workers(): Fiber[] {
  return [...runtime().roots].find((root) => root.name === 'proco').children
}

describe('what handlers know of the fiber that started them', () => {
  test('its locals at the moment of the start; async functions run in no fiber, and know none', function* () {
    const user = createLocal('none')
    const proco: Any = Proco.new()
    const starts = function* () {
      proco.start(() => user.get())
      user.set('later')
      assert.equal(yield* proco.submit(1), 'ada')
      const inAsync: Any = Proco.new().start(async () => user.get())
      assert.equal(yield* inAsync.submit(1), 'none')
    }
    yield* user.with('ada', () => scope(starts))
    proco.start(() => user.get())
    assert.equal(yield* user.with('the submitter', () => proco.submit(1)), 'none')
  })

  test('its async context, if it carries one', () =>
    run(function* () {
      const storage = new AsyncLocalStorage<string>()
      const seen = (): unknown => storage.getStore()
      const starts = storage.run('starter', () =>
        spin({ context: true }, function* () {
          const inFiber: Any = Proco.new().start(function* () {
            const first = seen()
            yield* turn()
            return [first, seen()]
          })
          const inAsync: Any = Proco.new().start(async () => seen())
          return [yield* inFiber.submit(1), yield* inFiber.submit(2), yield* inAsync.submit(1)].flat()
        }),
      )
      assert.deepEqual(yield* starts, Array(5).fill('starter'))
      const plain: Any = Proco.new().start(() => seen())
      assert.equal(yield* storage.run('the submitter', () => plain.submit(1)), undefined)
      yield* plain.exit()
    }))
})

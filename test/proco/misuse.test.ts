// Wrong options, handlers and ops are refused, in words that say what is allowed.

import { Proco } from 'polyphony/proco'
import { all, assert, BadArgument, BadYield, describe, sleep, test, thrownBy, until } from '../prelude.js'
import { forgotten } from '../shared/debug.js'
import { type Any, tally } from './handlers.js'

const any = Proco as any

describe('an option', () => {
  const count = 'need a whole number above 0'
  const counts = [0, -1, 1.5, Number.NaN, '1', null, true, 1n]
  const logger = 'needs the functions debug, info, warn, error; '
  const rows: [key: string, words: string, values: unknown[]][] = [
    ['threads', count, [...counts, Infinity]],
    ['queues', count, [...counts, Infinity]],
    ['queueSize', 'needs a whole number above 0, or Infinity', counts],
    ['batchSize', 'needs a whole number above 0, or Infinity', counts],
    ['interval', 'needs a duration', [-1, Number.NaN, Infinity, '100', null, true, {}]],
    ['batch', 'needs true or false', [1, 'true', null, 0, {}]],
    ['results', "need one of 'shared', 'each'", ['all', true, null, 1]],
    ['logger', `${logger}debug, info, warn, error are missing`, [null, 1, 'console', {}, () => {}]],
    ['logger', `${logger}debug, error are missing`, [{ info() {}, warn() {} }]],
    ['logger', `${logger}debug is missing`, [{ ...console, debug: 1 }]],
  ]
  for (const [key, words, values] of rows) {
    test(`${key} ${words}: others are refused, in the chain and in the object`, () => {
      for (const value of values) {
        for (const [where, make] of [
          ['Proco', () => any[key](value)],
          ['Proco', () => any.threads(2)[key](value)],
          ['Proco.new()', () => any.new({ [key]: value })],
          ['new Proco()', () => new any({ [key]: value })],
        ] as const) {
          const start = `the ${key} of ${where} ${words}`
          assert.throws(make, (error) => error instanceof BadArgument && error.message.startsWith(start))
        }
      }
      assert.throws(() => any[key](), BadArgument)
    })
  }

  test('that does not exist is refused with those that do; so are options that are no object', () => {
    for (const make of [any.new, any.threads(1).new, (options: object) => new any(options)]) {
      assert.throws(() => make({ thread: 1 }), { code: 'BAD_ARGUMENT', message: /thread\b.*threads/ })
      for (const what of [null, 1, 'threads']) assert.throws(() => make(what), BadArgument)
    }
    assert.throws(() => new any({ name: 1 }), BadArgument)
    assert.equal(any.thread, undefined)
  })

  test("results: 'each' needs batch: true", () => {
    const message = /^results: 'each' of (new Proco|Proco\.new)\(\) needs batch: true; without it each item/
    assert.throws(() => any.results('each').new(), { code: 'BAD_ARGUMENT', message })
    assert.throws(() => new any({ results: 'each' }), { message })
    assert.throws(() => any.batch(true).results('each').new({ batch: false }), { message })
  })

  const wrong = [{ timout: 1 }, { timeout: -1 }, { timeout: Number.NaN }, { timeout: '1' }, { timeout: null }]
  const wrongSignals = [{ signal: {} }, { signal: 'stop' }, { signal: new AbortController() }, null, 5]
  for (const method of ['submit', 'submitAsync', 'trySubmit']) {
    test(`of an item is checked at the call of ${method}`, function* () {
      const proco = new any({ name: 'mill' }).start(() => {})
      for (const options of [...wrong, ...wrongSignals]) {
        const message = new RegExp(`mill\\.${method}\\(\\)`)
        assert.throws(() => proco[method](1, options), { code: 'BAD_ARGUMENT', message })
      }
      assert.equal(tally(proco), '')
    })
  }

  for (const method of ['submit', 'submitAsync', 'trySubmit']) {
    test(`of an item: a timeout of Infinity given to ${method} is no limit`, function* () {
      const proco = new any().start(() => sleep(2 ** 31 - 1))
      const given = proco[method](1, { timeout: Infinity })
      const future = method === 'submit' ? given : method === 'trySubmit' ? given.get() : (yield* given).get()
      assert.equal(yield* future, undefined)
      yield* proco.exit()
    })
  }

  test('of an item is that of the call: an object that is changed afterwards changes nothing', function* () {
    const proco: Any = Proco.new().start(() => sleep(10))
    const options = { timeout: 100 }
    const op = proco.submit(1, options)
    options.timeout = 5
    yield* op
  })

  test('a signal that throws when it is listened to: nothing is accepted, and no timer is left', function* () {
    const proco: Any = Proco.new().start(() => {})
    const signal: any = { aborted: false, addEventListener: () => assert.fail('deaf') }
    assert.throws(() => proco.trySubmit(1, { signal, timeout: 5 }), /deaf/)
    yield* sleep(10)
    assert.equal(tally(proco), '')
  })
})

test('a handler must be a function, and no async generator: nothing is started', () => {
  const proco: any = Proco.new({ name: 'mill' })
  for (const handler of [undefined, null, 1, 'text', {}, [], Promise.resolve(), async function* () {}]) {
    assert.throws(() => proco.start(handler), { code: 'BAD_ARGUMENT', message: /mill\.start\(\)/ })
    assert.equal(proco.state, 'idle')
  }
  assert.throws(() => proco.start(1), { message: 'mill.start() needs a function that handles items, got 1' })
})

test('S69 submit() iterated by hand is a named error, and its item is not handled', function* () {
  const proco: Any = Proco.new().start(() => assert.fail('not to be handled'))
  assert.throws(() => [...(proco.submit(1) as any)], BadYield)
  yield* proco.exit()
  assert.match(tally(proco), /^(1 accepted, 1 cancelled)?$/)
})

test('any reason may cancel, also one that cannot be put in words', function* () {
  const proco: Any = Proco.new().start(() => {})
  const odd = [Symbol('s'), Object.create(null), { toString: null }]
  for (const reason of [undefined, null, 0, '', new Error('e'), ...odd]) {
    const controller = new AbortController()
    const futures = [proco.trySubmit(1)!, proco.trySubmit(2, { signal: controller.signal })!]
    futures[0]!.cancel(reason)
    controller.abort(reason)
    for (const future of futures) {
      const error = yield* thrownBy(future.get())
      assert.equal(error.code, 'CANCEL')
      if (future === futures[0] || reason !== undefined) assert.equal(error.cause, reason)
    }
    assert.throws(() => proco.trySubmit(3, { signal: AbortSignal.abort(reason) }), { code: 'CANCEL' })
  }
})

describe('debug mode', () => {
  test('finds a forgotten yield*', async () => {
    const found = await forgotten(function* () {
      const proco: Any = Proco.new().start(() => {})
      proco.submit(1)
      proco.submitAsync(1)
      proco.trySubmit(1)!.get()
      proco.exit()
      yield* sleep(1)
    })
    const ops = ['proco.submit()', 'proco.submitAsync()', 'a future of proco', 'proco.exit()']
    assert.deepEqual(found, ops)
  })

  test('says nothing of what is yielded, awaited or given on', async () => {
    const found = await forgotten(function* () {
      const proco: Any = Proco.new().start((n) => n)
      const future = yield* proco.submitAsync(2)
      yield* until((async () => await proco.submit(3))())
      yield* until(proco.submit(4).then((n: number) => n))
      yield* all([proco.submit(5), future.get()])
      yield* proco.exit()
      for (const handler of [() => {}, async () => {}]) Proco.new().start(handler).kill()
    })
    assert.deepEqual(found, [])
  })
})

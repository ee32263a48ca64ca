// The options: by the chain, which is an immutable template, or by an object; each checked by name and value.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { BadArgument, type Op } from 'polyphony'
import { Proco } from 'polyphony/proco'
import { virtual } from 'polyphony/testing'

const any = Proco as any

describe('the options of an executor', () => {
  it('the chain makes a new template at each step, and never changes one', () =>
    virtual(function* () {
      const plain = Proco.queueSize(1)
      const roomy = plain.queueSize(3)
      const fill = function* (template: typeof plain): Generator<any, number, any> {
        const proco = template.new<number>().start(() => {})
        let n = 0
        while (proco.trySubmit(n) !== undefined) n++
        yield* proco.exit()
        return n
      }
      assert.equal(yield* fill(plain), 1)
      assert.equal(yield* fill(roomy), 3)
      assert.equal(yield* fill(plain), 1)
      assert.equal(Object.isFrozen(plain), true)
      assert.throws(() => {
        ;(plain as any).threads = 1
      }, TypeError)
    }))

  it('a template makes any number of executors, which share nothing', () =>
    virtual(function* () {
      const template = Proco.threads(2)
      const [one, two] = [template.new<number, number>(), template.new<number, number>()]
      one.start((n) => n)
      assert.deepEqual([one.state, two.state], ['running', 'idle'])
      assert.equal(yield* one.submit(1), 1)
      assert.equal(two.stats().accepted, 0)
      yield* one.exit()
    }))

  it('new() overrides the chain, and undefined overrides nothing', () =>
    virtual(function* () {
      const template = Proco.batch(true).batchSize(2)
      const sizes = function* (options: object): Generator<any, number[], any> {
        const proco = template.new(options as { batch: true }).start((items: number[]) => items.length)
        const futures = [1, 2, 3].map((n) => proco.trySubmit(n)!)
        const found: number[] = []
        for (const future of futures) found.push(yield* future.get())
        yield* proco.exit()
        return found
      }
      assert.deepEqual(yield* sizes({}), [2, 2, 1])
      assert.deepEqual(yield* sizes({ batchSize: 1 }), [1, 1, 1])
      assert.deepEqual(yield* sizes({ batchSize: Infinity }), [3, 3, 3])
      assert.deepEqual(yield* sizes({ batchSize: undefined }), [2, 2, 1])
    }))

  it('an object says the same as the chain', () =>
    virtual(function* () {
      const options = { threads: 2, queues: 1, queueSize: 5, interval: 0, batch: true, batchSize: 2 } as const
      const byChain = Proco.threads(2).queues(1).queueSize(5).interval(0).batch(true).batchSize(2).new()
      for (const proco of [new Proco({ ...options, batch: true }), Proco.new({ ...options }), byChain]) {
        proco.start((items: number[]) => items.length)
        const futures = [1, 2, 3, 4, 5].map((n) => proco.trySubmit(n)!)
        assert.equal(proco.trySubmit(6), undefined)
        yield* proco.exit()
        assert.equal(yield* futures[0]!.get() as Op<number>, 2)
        assert.equal(yield* futures[4]!.get() as Op<number>, 1)
      }
    }))

  it('the defaults: one thread, one queue of 1,000, no interval, item by item, and batches without limit', () =>
    virtual(function* () {
      const proco = new Proco<number, unknown>().start((n) => n)
      for (let n = 0; n < 1000; n++) assert.ok(proco.trySubmit(n))
      assert.equal(proco.trySubmit(1000), undefined)
      yield* proco.exit()
      assert.equal(proco.stats().batchSize.max, 1)
      const batches = Proco.batch(true)
        .new<number, number>()
        .start((items) => items.length)
      for (let n = 0; n < 1000; n++) batches.trySubmit(n)
      yield* batches.exit()
      assert.equal(batches.stats().batchSize.max, 1000)
    }))

  const counts = [0, -1, 1.5, Number.NaN, Infinity, '1', null, true, 1n]
  const wrong: Record<string, unknown[]> = {
    threads: counts,
    queues: counts,
    queueSize: counts,
    batchSize: counts.filter((value) => value !== Infinity),
    interval: [-1, Number.NaN, Infinity, '100', null, true, {}],
    batch: [1, 'true', null, 0, {}],
    results: ['all', true, null, 1],
    logger: [null, 1, 'console', {}, { info() {} }, () => {}],
  }
  for (const [key, values] of Object.entries(wrong)) {
    it(`${key}: a wrong value is refused by name, in the chain and in the object`, () => {
      for (const value of values) {
        const refused = (where: RegExp) => (error: unknown) => {
          assert.ok(error instanceof BadArgument, String(error))
          assert.match(error.message, new RegExp(`^the ${key} of `))
          assert.match(error.message, where)
          return true
        }
        assert.throws(() => any[key](value), refused(/of Proco /))
        assert.throws(() => any.threads(2)[key](value), refused(/of Proco /))
        assert.throws(() => any.new({ [key]: value }), refused(/of Proco\.new\(\)/))
        assert.throws(() => new any({ [key]: value }), refused(/of new Proco\(\)/))
      }
      assert.throws(() => any[key](), BadArgument)
    })
  }

  it('the name is text; it is given to new(), and is what trees and errors say', () =>
    virtual(function* () {
      assert.throws(() => new any({ name: 1 }), BadArgument)
      const proco = Proco.new<number>({ name: 'mill' }).start(() => {
        throw new Error('x')
      })
      const future = proco.trySubmit(1)!
      future.cancel()
      assert.match((future as any).content.message, /^an item of mill was cancelled/)
      yield* proco.exit()
    }))

  it('what the options say when they are wrong names what is allowed', () => {
    const message = (make: () => unknown): string => {
      try {
        make()
      } catch (error) {
        return (error as Error).message
      }
      return assert.fail('nothing was thrown')
    }
    assert.match(
      message(() => any.threads(0)),
      /must be a whole number above 0, got 0$/,
    )
    assert.match(
      message(() => any.batch('yes')),
      /must be true or false, got "yes"$/,
    )
    assert.match(
      message(() => any.results('all')),
      /must be 'shared' or 'each', got "all"$/,
    )
    assert.match(
      message(() => any.logger({ info() {}, warn() {} })),
      /needs the functions debug, info, warn, error; debug, error are missing$/,
    )
    assert.match(
      message(() => any.logger({ ...console, debug: 1 })),
      /debug is missing$/,
    )
  })

  it('unknown options are refused by name, with those that there are', () => {
    for (const make of [
      () => new any({ thread: 1 }),
      () => any.new({ thread: 1 }),
      () => any.threads(1).new({ thread: 1 }),
    ]) {
      assert.throws(make, (error: unknown) => {
        assert.ok(error instanceof BadArgument)
        assert.match(error.message, /thread\b/)
        assert.match(error.message, /threads/)
        return true
      })
    }
    for (const what of [null, 1, 'threads']) assert.throws(() => new any(what), BadArgument)
    assert.equal(any.thread, undefined)
  })

  it("results('each') needs batches; the template may say so in either order", () => {
    assert.throws(() => any.results('each').new(), /results: 'each' of Proco\.new\(\) needs batch: true/)
    assert.throws(() => new any({ results: 'each' }), BadArgument)
    assert.throws(() => any.batch(true).results('each').new({ batch: false }), BadArgument)
    assert.ok(Proco.results('each').batch(true).new())
    assert.ok(Proco.batch(true).results('each').new())
    assert.ok(Proco.results('each').new({ batch: true }))
  })

  it('batchSize without batch changes nothing: item by item', () =>
    virtual(function* () {
      const proco = Proco.batchSize(3)
        .new<number, number>()
        .start((n) => n)
      assert.equal(yield* proco.submit(1), 1)
      yield* proco.exit()
    }))

  it('the options of an item are checked at the call, by name and value', () =>
    virtual(function* () {
      const proco = Proco.new<number>({ name: 'mill' }).start(() => {}) as any
      for (const method of ['submit', 'submitAsync', 'trySubmit']) {
        for (const options of [
          { timout: 1 },
          { timeout: -1 },
          { timeout: Number.NaN },
          { timeout: '1' },
          { timeout: null },
          { signal: {} },
          { signal: 'stop' },
          { signal: new AbortController() },
          null,
          5,
        ]) {
          assert.throws(
            () => proco[method](1, options),
            (error: unknown) => {
              assert.ok(error instanceof BadArgument, `${method} ${JSON.stringify(options)}: ${error}`)
              assert.match(error.message, new RegExp(`mill.${method}\\(\\)`))
              return true
            },
          )
        }
      }
      assert.equal(proco.stats().accepted, 0)
      for (const key of [
        undefined,
        null,
        0,
        -1,
        1.5,
        Number.NaN,
        '',
        'a',
        true,
        1n,
        Symbol('k'),
        {},
        () => {},
      ]) {
        yield* proco.submit(1, { key })
      }
      assert.equal(proco.stats().done, 13)
      yield* proco.exit()
    }))
})

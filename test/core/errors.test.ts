// What is thrown may be hard to hold; what is shown is short.

import {
  assert,
  call,
  describe,
  ensure,
  Fiber,
  failAfter,
  runtime,
  scope,
  sleep,
  spin,
  started,
  suppressedErrors,
  test,
  thrownBy,
  waits,
} from '../prelude.js'

const refuseToTell = () => assert.fail('do not look')

describe('things thrown that are hard to hold', () => {
  const own = new Error('own')
  const things: [string, () => unknown][] = [
    ['a frozen error', () => Object.freeze(new Error('frozen'))],
    ['an error with a suppressed one of its own', () => Object.assign(new Error('e'), { suppressed: own })],
    ['one with a list of them', () => Object.assign(new Error('e'), { suppressed: [own] })],
    [
      'one with a frozen list of them',
      () => Object.assign(new Error('e'), { suppressed: Object.freeze([own]) }),
    ],
    [
      'one whose suppressed cannot be read',
      () => Object.defineProperty(new Error('e'), 'suppressed', { get: refuseToTell }),
    ],
    [
      'one whose cause cannot be read',
      () => Object.defineProperty(new Error('e'), 'cause', { get: refuseToTell }),
    ],
    ['a proxy whose traps throw', () => new Proxy({}, { getPrototypeOf: refuseToTell, get: refuseToTell })],
    ['a function', () => refuseToTell],
    ['a string', () => 'oops'],
    ['undefined', () => undefined],
    ['null', () => null],
  ]
  const inside: [string, (body: () => Generator<any, never, any>) => any][] = [
    ['a body', (body) => body()],
    ['a scope', (body) => scope(body)],
    ['the cleanup of a stopped fiber', (body) => waits(body)],
  ]
  for (const [what, make] of things) {
    test(`${what}: a fiber fails with it, and the later error of a child is not lost`, function* () {
      for (const [where, run] of inside) {
        const [thing, later] = [make(), new Error('later')]
        const fiber = yield* started(() =>
          run(function* () {
            spin(waits, () => failAfter(5, later))
            yield* sleep(1)
            throw thing
          }),
        )
        if (where.startsWith('the cleanup')) fiber.stop()
        const outcome = yield* fiber.join()
        assert.ok(outcome.type === 'error', where)
        const { error } = outcome as any
        if (error !== thing) assert.deepEqual([error.code, error.cause], ['NON_ERROR_THROWN', thing], where)
        const reported = runtime().backend.reports.map((report: any) => report.error)
        const kept = suppressedErrors(error)
        assert.equal([...kept, ...reported].filter((each) => each === later).length, 1, where)
        assert.equal(kept.includes(own), what.includes('of its own') || what.includes('of them'), where)
      }
    })
  }

  test('an ensure whose body and cleanup throw strings gives the one of the body', function* () {
    const throwing = (what: string) => () => {
      throw what
    }
    const thrown = yield* thrownBy(ensure(throwing('body'), throwing('cleanup')))
    assert.equal(thrown.cause ?? thrown, 'body')
  })

  test('only an Error is taken for an overflow of the stack: the message of anything else stays as it is', function* () {
    const thing = { message: 'Maximum call stack size exceeded' }
    const fiber = yield* started(() => {
      throw thing
    })
    assert.equal((yield* fiber.join() as any).error, thing)
    assert.equal(thing.message, 'Maximum call stack size exceeded')
  })

  test('an error that comes twice is kept once', function* () {
    const [first, later] = [new Error('first'), new Error('later')]
    const rest = [5, 6].map((ms) => spin({ link: false }, waits, () => failAfter(ms, later)))
    const all = Fiber.await(spin({ link: false }, failAfter, 1, first), ...rest)
    assert.equal(yield* thrownBy(all), first)
    assert.deepEqual(suppressedErrors(first), [later])
  })
})

describe('errors that are made', () => {
  test('raise and cancel take an error, a class or a message, and refuse anything else', function* () {
    const error = new RangeError('given')
    const given: [any, string][] = [
      [error, 'RangeError: given'],
      [RangeError, 'RangeError: '],
      ['a message', 'Error: a message'],
    ]
    for (const [what, shown] of given) {
      const fiber = yield* started(() => sleep())
      const outcome = yield* fiber.raise(what)
      assert.ok(outcome.type === 'error' && String(outcome.error).startsWith(shown), shown)
    }
    const fiber = yield* started(() => sleep())
    for (const wrong of [5, null, true, Symbol('s'), () => {}, class {}] as any[]) {
      assert.throws(() => fiber.raise(wrong), { code: 'BAD_ARGUMENT' })
      assert.throws(() => fiber.cancel(wrong), { code: 'BAD_ARGUMENT' })
    }
    yield* fiber.cancel()
    const cancelled = fiber.outcome as any
    assert.equal(cancelled.error.code, 'CANCEL')
  })

  const shown: [unknown, string][] = [
    ['text', '"text"'],
    ['x'.repeat(61), `"${'x'.repeat(57)}..."`],
    [function named() {}, 'function named'],
    [(() => () => {})(), 'a function'],
    [5, '5'],
    [null, 'null'],
    [[1, 2], 'an array of 2'],
    [new TypeError('wrong'), 'TypeError: wrong'],
    [new Map(), 'an object of class Map'],
    [Object.create(null), 'an object of class unknown'],
    [new Proxy({}, { get: refuseToTell }), 'an object that cannot be shown'],
  ]
  test('a value in a message is short and on one line', function* () {
    for (const [value, text] of shown) {
      assert.throws(() => call(value as Fiber, 1), { message: `call() needs a fiber to ask, got ${text}` })
    }
  })

  test('a stop says why', function* () {
    for (const [reason, text] of [...shown.slice(4), ['too slow', 'too slow'] as const]) {
      let thrown: any
      const fiber = yield* started(function* () {
        thrown = yield* thrownBy(sleep())
        throw thrown
      })
      yield* fiber.stop(undefined, { reason: reason ?? undefined })
      if (reason !== null) assert.equal(String(thrown), `Stop: being stopped: ${text}`)
    }
  })
})

// Wrong input of every kind: refused with a named error that says what to do, and nothing has changed.

import {
  after,
  assert,
  cancelAfter,
  describe,
  ensure,
  every,
  explore,
  Fiber,
  main,
  moveOnAfter,
  receive,
  receiveAllPending,
  run,
  scope,
  shield,
  sleep,
  snooze,
  spin,
  spinLoop,
  suspend,
  test,
  throttledLoop,
  thrownBy,
  transfer,
  tryReceive,
  until,
  virtual,
} from '../prelude.js'

const wrong = (x: unknown): any => x
const nothing = () => {}

describe('a body', () => {
  const takers: [string, (body: any) => unknown][] = [
    ['spin()', (body) => spin('name', body)],
    ['spin()', (body) => spin({ name: 'name' }, body)],
    ['scope()', (body) => scope(body)],
    ['shield()', (body) => shield(body)],
    ['moveOnAfter()', (body) => moveOnAfter(1, body)],
    ['cancelAfter()', (body) => cancelAfter(1, body)],
    ['ensure()', (body) => ensure(body, nothing)],
    ['ensure()', (body) => ensure(nothing, body)],
    ['new Fiber()', (body) => new Fiber(body)],
    ['Fiber.outOfBand()', (body) => Fiber.outOfBand(body)],
    ['after()', (body) => after(1, body)],
    ['every()', (body) => every(1, body)],
    ['spinLoop()', (body) => spinLoop(body)],
    ['throttledLoop()', (body) => throttledLoop(1, body)],
    ['run()', (body) => run(body)],
    ['main()', (body) => main(body)],
  ]
  for (const [name, take] of takers) {
    test(`of ${name} that is no function, or async, is refused at the call`, function* () {
      const code = 'BAD_ARGUMENT'
      for (const body of [undefined, null, 5, {}, [], Promise.resolve(), sleep(1)]) {
        assert.throws(() => take(body), { code, message: new RegExp(`^${name.replace(/[()]/g, '\\$&')}`) })
      }
      for (const body of [async function load() {}, async function* load() {}]) {
        assert.throws(() => take(body), { code, message: /async function load.*until\(promise\)/ })
      }
      assert.deepEqual(Fiber.current.children, [])
    })
  }

  test('that returns a promise fails its fiber or block', function* () {
    const returns = wrong(() => Promise.resolve(1))
    for (const op of [spin({ link: false }, returns).await(), scope(returns), moveOnAfter(5, returns)]) {
      const { code, message } = yield* thrownBy(op)
      assert.equal(code, 'BAD_ARGUMENT')
      assert.match(message, /returned a promise.*until\(promise\)/)
    }
  })
})

describe('refused by name', () => {
  /** What the error says, and the call. The fiber sleeps, and so does its child. */
  const wrongArguments: [RegExp, (fiber: Fiber) => unknown][] = [
    [/needs a function\*/, () => wrong(spin)()],
    [/needs a function\*/, () => wrong(spin)(null)],
    [/needs a function\*/, () => wrong(spin)(5)],
    [/needs a function\*/, () => wrong(spin)('name')],
    [/needs a function\*/, () => wrong(spin)({ name: 'x' })],
    [/"grce"; there are: name/, () => spin(wrong({ grce: 1 }), nothing)],
    [/a name that is a string, got Symbol\(x\)/, () => spin({ name: wrong(Symbol('x')) }, nothing)],
    [/a name that is a string, got ""/, () => spin({ name: '' }, nothing)],
    [/signal/, () => spin({ signal: wrong({}) }, nothing)],
    [/signal/, () => spin({ signal: wrong(5) }, nothing)],
    [/a name that is a string, got 5/, (fiber) => (fiber.name = wrong(5))],
    [/"limit"/, () => run(nothing, wrong({ limit: 1 }))],
    [/"grce"/, (fiber) => fiber.stop(0, wrong({ grce: 1 }))],
    [/an object of options, got 5/, (fiber) => fiber.stop(0, wrong(5))],
    [/an object of options, got null/, (fiber) => fiber.stop(0, wrong(null))],
    [/"grce"/, (fiber) => fiber.terminate(wrong({ grce: 1 }))],
    [/"keepmailbox"/, (fiber) => fiber.restartWith(wrong({ keepmailbox: true }))],
    [/"grce"/, () => Fiber.current.stopChildren(wrong({ grce: 1 }))],
    [/got 5/, (fiber) => fiber.raise(wrong(5))],
    [/got null/, (fiber) => fiber.cancel(wrong(null))],
    [/got 42/, () => cancelAfter(10, nothing, wrong(42))],
    [/got function nothing/, () => cancelAfter(10, nothing, wrong(nothing))],
    [/Fiber.await/, () => Fiber.await(wrong(sleep(1)))],
    [/Fiber.select/, () => Fiber.select(wrong(null))],
    [/transfer\(\) needs a fiber/, () => transfer(wrong({}))],
    [/until/, () => until(wrong(undefined))],
    [/attachTo\(\) needs a fiber/, (fiber) => fiber.attachTo(wrong({}))],
    [/every/, () => every(0, nothing)],
    [/count/, () => spinLoop(nothing, { count: wrong('x') })],
    [/trace/, () => explore(() => snooze(), { trace: '!' })],
    ...[0, -1, Number.NaN, {}, { rate: 1, interval: 1 }, { rate: 1, count: -1 }, { rte: 1 }].map(
      (pace): [RegExp, () => unknown] => [/throttle/, () => throttledLoop(wrong(pace), nothing)],
    ),
  ]
  const states: [RegExp, (fiber: Fiber, dead: Fiber) => unknown][] = [
    [/main cannot be restarted/, () => Fiber.current.restart()],
    [/main > dead is over/, (_, dead) => dead.spin(nothing)],
    [/that would make a cycle/, (fiber) => fiber.attachTo(fiber.children[0] as Fiber)],
    [/they are the same fiber/, (fiber) => fiber.attachTo(fiber)],
    [/the new parent is over/, (fiber, dead) => fiber.attachTo(dead)],
    [/it is dead/, (fiber, dead) => dead.attachTo(fiber)],
    [/it is the root of its tree/, () => Fiber.current.attachTo(new Fiber(nothing))],
  ]
  for (const [code, rows] of Object.entries({ BAD_ARGUMENT: wrongArguments, BAD_STATE: states })) {
    for (const [message, call] of rows) {
      test(`${call}`, function* () {
        const dead = spin('dead', nothing) as Fiber
        const fiber = spin('fiber', function* () {
          spin(() => sleep(5))
          yield* sleep(5)
        })
        yield* sleep(1)
        assert.throws(() => call(fiber, dead), { code, message })
        assert.deepEqual([fiber.name, fiber.parent, fiber.phase], ['fiber', Fiber.current, 'live'])
        assert.deepEqual(Fiber.current.children, [fiber])
        assert.equal((yield* fiber.join()).type, 'value')
        assert.equal(fiber.incarnation, 1)
      })
    }
  }

  for (const [message, pick] of [
    [/main cannot transfer to itself/, () => Fiber.current],
    [/cannot transfer to main > dead: it is dead$/, (dead: Fiber) => dead],
    [/busy: it is waiting for sleep\(10\)/, () => Fiber.current.children[0] as Fiber],
    [/fresh: it is runnable/, () => spin('fresh', nothing)],
  ] as const) {
    test(`a transfer, ${message.source}`, function* () {
      const dead = spin('dead', nothing) as Fiber
      spin('busy', () => sleep(10))
      yield* sleep(1)
      const error = yield* thrownBy(transfer(pick(dead)))
      assert.equal(error.code, 'BAD_STATE')
      assert.match(error.message, message)
      yield* Fiber.current.joinChildren()
    })
  }

  test('Fiber.select of nothing', function* () {
    assert.equal((yield* thrownBy(wrong(Fiber.select)())).code, 'BAD_ARGUMENT')
  })

  test('attachTo a fiber of another world', function* () {
    const outer = spin(() => until(inner))
    const inner = virtual(function* () {
      const fiber = spin(() => snooze())
      assert.throws(() => fiber.attachTo(outer), { code: 'BAD_STATE', message: /different runtimes/ })
      yield* fiber
    })
    yield* outer
  })
})

describe('a duration', () => {
  const takers: [string, (ms: any, fiber: Fiber) => unknown][] = [
    ['sleep', (ms) => sleep(ms)],
    ['moveOnAfter', (ms) => moveOnAfter(ms, nothing)],
    ['cancelAfter', (ms) => cancelAfter(ms, nothing)],
    ['after', (ms) => after(ms, nothing)],
    ['every', (ms) => every(ms, nothing)],
    ['throttledLoop', (ms) => throttledLoop({ interval: ms }, nothing)],
    ['extend', (ms) => [...wrong(moveOnAfter(5, (limit) => limit.extend(ms)))]],
    ['the grace of moveOnAfter', (grace) => moveOnAfter(1, nothing, { grace })],
    ['the grace of spin', (grace) => spin({ grace }, nothing)],
    ['the grace of stop', (grace, fiber) => fiber.stop(undefined, { grace })],
    ['the grace of terminate', (grace, fiber) => fiber.terminate({ grace })],
    ['the grace of restartWith', (grace, fiber) => fiber.restartWith({ grace })],
    ['the grace of stopChildren', (grace) => Fiber.current.stopChildren({ grace })],
    ['the grace of run', (grace) => run(nothing, { grace })],
    ['fiber.grace', (grace, fiber) => (fiber.grace = grace)],
  ]
  for (const [name, take] of takers) {
    test(`of ${name} that is negative, absurd or no number is refused at the call`, function* () {
      const fiber = spin(() => sleep(5)) as Fiber
      yield* snooze()
      const absurd = name.includes('grace') ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
      for (const ms of [-1, Number.NaN, absurd, 2 ** 31, '5', null, {}, 5n]) {
        assert.throws(() => take(ms, fiber), { code: 'BAD_ARGUMENT' }, String(ms))
      }
      assert.throws(() => take(-1, fiber), /-1/)
      assert.deepEqual(Fiber.current.children, [fiber])
      assert.equal((yield* fiber.join()).type, 'value')
    })
  }

  test('may be 0, a fraction, the longest there is, and for a grace infinite', function* () {
    yield* sleep(0)
    yield* sleep(0.5)
    yield* moveOnAfter(2 ** 31 - 1, () => sleep(1), { grace: Number.POSITIVE_INFINITY })
  })
})

describe('outside any fiber', () => {
  const spread = [sleep(1), snooze(), suspend(), receive(), scope(nothing), until(Promise.resolve())]
  const uses: (() => unknown)[] = [
    () => spin(nothing),
    () => Fiber.current,
    () => new Fiber(nothing),
    () => Fiber.outOfBand(nothing),
    () => tryReceive(),
    () => receiveAllPending(),
    () => after(1, nothing),
    () => spinLoop(nothing),
    ...spread.map((op) => () => [...wrong(op)]),
  ]
  test('every use throws NotInFiber, which names main and run', () => {
    for (const use of uses) {
      assert.throws(use, { code: 'NOT_IN_FIBER', message: /main\(function\*.*run\(function\*/ }, String(use))
    }
  })

  test('so it is in a callback of the event loop', function* () {
    const use = () => assert.throws(() => Fiber.current, { code: 'NOT_IN_FIBER' })
    yield* until(new Promise<void>((resolve) => setImmediate(() => resolve(use()))))
  })
})

// S15-S22: the stop ladder. Ask, throw once, let cleanup wait until the deadline, then force, then abandon.

import {
  after,
  all,
  allSettled,
  any,
  assert,
  BadArgument,
  cancelAfter,
  describe,
  ensure,
  every,
  Fiber,
  FiberStopped,
  failAfter,
  failEverywhere,
  forEach,
  isStop,
  moveOnAfter,
  NonErrorThrown,
  neverLetsGo,
  now,
  type Op,
  type Outcome,
  Queue,
  type Routine,
  race,
  raiseEverywhere,
  receive,
  reports,
  retry,
  runtime,
  type Switchpoint,
  scope,
  shield,
  sleep,
  spin,
  started,
  stopEverywhere,
  suppressedErrors,
  suspend,
  tap,
  test,
  throttledLoop,
  thrownBy,
  transfer,
  until,
  use,
  waits,
  whole,
} from '../prelude.js'

const nothing = () => {}
const forever = () => sleep()
const naps = (ms: number) => () => sleep(ms)
const isStopped = { type: 'stopped', value: undefined }
type Act = (fiber: Fiber) => unknown

/** `started` for any body. */
const begun = started as (body: () => Op<any>, options?: { grace?: number }) => Routine<Fiber<any>>

/** Stops a body that has begun to wait; how it ended. */
function* stopped(
  body: () => Op<any>,
  options = {},
  verb: 'stop' | 'kill' | 'raise' = 'stop',
): Routine<Outcome<any>> {
  return yield* (yield* begun(body, options))[verb]()
}

/** Notes when it was forced. */
const forcible = (log: unknown[]) => waits(() => log.push(`forced at ${now()}`))
/** Its cleanup waits for ever, and is forced. */
const clings = (log: unknown[]) => waits(() => forcible(log))

const fails = (error: unknown) => (): never => {
  throw error
}
/** Waits, and fails in its cleanup. */
const failsInCleanup = (error: any, ms = 0) => waits(() => failAfter(ms, error))

function errorOf(outcome: Outcome<unknown>): any {
  assert.equal(outcome.type, 'error')
  return outcome.type === 'error' && outcome.error
}

describe('S15 phases', () => {
  test('a fiber goes through them one after the other', function* () {
    const phases: string[] = []
    const note = () => phases.push(fiber.phase)
    const fiber: Fiber = spin({ grace: 20 }, function* () {
      spin(waits, note)
      note()
      yield* waits(() => {
        note()
        return waits(note)
      })
    })
    yield* sleep(1)
    fiber.stop()
    note()
    yield* fiber.join()
    note()
    assert.deepEqual(phases, ['live', 'requested', 'unwinding', 'forced', 'closing', 'dead'])
  })

  test('a block has the same, and its fiber lives on', function* () {
    const log: unknown[] = []
    yield* moveOnAfter(10, () => clings(log), { grace: 25 }) // forced
    yield* moveOnAfter(10, () => clings(log)) // the grace of its fiber
    assert.deepEqual(log, ['forced at 35', 'forced at 5045'])
    assert.equal(yield* moveOnAfter(10, neverLetsGo, { value: 'moved on', grace: 0 }), 'moved on') // abandoned
    const kinds = reports().map((line) => line.split(' ', 4).join(' '))
    assert.deepEqual(kinds, [...Array(3).fill('forced: a block of'), 'abandoned: the body of'])
    assert.equal(runtime().stats().abandoned, 1)
    yield* sleep(1)
    assert.equal(now(), 5056)
  })
})

describe('S16 thrown once', () => {
  test('nested finally blocks that wait run whole, and nothing after them runs', function* () {
    const log: string[] = []
    const level = function* (n: number): Routine<void> {
      try {
        yield* n > 1 ? level(n - 1) : sleep()
      } finally {
        log.push(`start ${n}`)
        yield* sleep(10)
        log.push(`end ${n}`)
      }
      log.push('not reached')
    }
    const expected = Array.from({ length: 10 }, (_, i) => [`start ${i + 1}`, `end ${i + 1}`]).flat()
    const fiber = yield* started(() => level(10))
    assert.deepEqual(yield* fiber.stop('v'), { type: 'stopped', value: 'v' })
    assert.deepEqual([log.splice(0), now()], [expected, 101])
    assert.equal(yield* moveOnAfter(10, () => level(10), 'timed out'), 'timed out')
    assert.deepEqual([log, now(), reports()], [expected, 211, []])
  })

  test('after that ops, spins, scopes and time limits work as usual', function* () {
    const log: unknown[] = []
    const cleanup = function* () {
      yield* spin(naps(5))
      yield* scope(() => void spin(naps(5)))
      log.push(yield* moveOnAfter(10, forever, 'gave up'))
      log.push((yield* thrownBy(cancelAfter(10, forever))).name, now())
    }
    yield* stopped(() => waits(cleanup))
    assert.deepEqual(log, ['gave up', 'Cancel', 31])
  })

  const failed = { type: 'error', error: new Error('child failed') }
  const withFailingChild = (body: () => Routine<void>) => {
    spin(failAfter, 50, failed.error)
    return body()
  }
  for (const [what, around, ended] of [
    ['a moveOnAfter around it', (body) => moveOnAfter(50, body), isStopped],
    ['a cancelAfter around it', (body) => cancelAfter(50, body), isStopped],
    ['a child that fails', withFailingChild, failed],
    ['a child of a scope that fails', (body) => scope(() => withFailingChild(body)), failed],
  ] as [string, (body: () => Routine<void>) => Op<void>, object][]) {
    test(`${what} does not cut the cleanup that a stop has begun, nor make the fiber go on`, function* () {
      const fiber = yield* started(function* () {
        yield* around(() => waits(naps(100)))
        assert.fail('it went on')
      })
      assert.deepEqual(yield* fiber.stop(), ended)
      assert.equal(now(), 101)
    })
  }

  for (const inner of [10, 15]) {
    test(`nor does an inner limit of ${inner} cut what the expiry of an outer one has begun`, function* () {
      const body = () => waits(naps(20))
      assert.equal(yield* moveOnAfter(10, () => moveOnAfter(inner, body, 'inner'), 'outer'), 'outer')
      assert.equal(now(), 30)
    })
  }
})

describe('S16b ensure', () => {
  test('gives the value of its body, after the cleanup; they nest, inner cleanup first, each whole', function* () {
    const log: string[] = []
    const note = (name: string) =>
      function* () {
        yield* sleep(10)
        log.push(name)
        return name
      }
    assert.equal(yield* ensure(note('body'), note('cleanup')), 'body')
    const outer = () => ensure(note('outer'), note('cleanup of the cleanup'))
    yield* stopped(() => ensure(() => ensure(forever, note('inner')), outer))
    assert.deepEqual(log, ['body', 'cleanup', 'inner', 'outer', 'cleanup of the cleanup'])
  })

  for (const [name, act, phase] of [
    ['stop', (fiber) => fiber.stop(), 'requested'],
    ['raise', (fiber) => fiber.raise('raised'), 'live'],
    ['cancel', (fiber) => fiber.cancel(), 'live'],
    ['child error', (fiber) => fiber.children[0]?.raise('child failed'), 'live'],
  ] as [string, Act, string][]) {
    test(`a ${name} does not cut its cleanup, whatever that runs for, and strikes right after it`, function* () {
      for (const body of [nothing, fails(new Error('body failed'))]) {
        const log: string[] = []
        const fiber = yield* started(function* () {
          spin(forever)
          yield* ensure(body, naps(10))
          log.push(fiber.phase)
          yield* sleep(1)
          assert.fail('it went on')
        })
        const begin = now()
        act(fiber)
        yield* fiber.join()
        assert.deepEqual([log, now() - begin], [body === nothing ? [phase] : [], 9])
      }
    })
  }

  test('an outer time limit waits for the cleanup; the block that is over keeps its result', function* () {
    assert.equal(yield* moveOnAfter(10, () => ensure(naps(5), naps(20)), 'timed out'), undefined) // S34
    assert.equal(now(), 25)
  })

  test('a deadline forces the cleanup, which is reported; a kill lets only its synchronous part run', function* () {
    const log: string[] = []
    const body = () => ensure(forever, () => forcible(log))
    yield* stopped(body, { grace: 100 })
    assert.match(reports().join(), /^forced: /)
    yield* stopped(body, {}, 'kill')
    assert.deepEqual(log, ['forced at 101', 'forced at 102'])
  })

  test("the body's own error is kept, with that of the cleanup beside it", function* () {
    const [a, b] = [new Error('a'), new Error('b')]
    assert.equal(yield* thrownBy(ensure(fails(a), fails(b))), a)
    assert.deepEqual(suppressedErrors(a), [b])
    for (const thrown of ['oops', undefined, null, 0]) {
      assert.equal(yield* thrownBy(ensure(fails(thrown), fails(b))), thrown)
    }
    assert.match(reports().join(), /unobserved/) // it cannot be kept beside a string, but it does not vanish
  })

  test('the error of the body outweighs a kill in the cleanup, that of the cleanup a stop', function* () {
    const error = new Error('outweighs')
    assert.equal(errorOf(yield* stopped(() => ensure(fails(error), forever), {}, 'kill')), error)
    assert.equal(errorOf(yield* stopped(() => ensure(forever, fails(error)))), error)
  })

  test('whatever happens at whichever switchpoint of nested blocks, what was opened is closed', () => {
    let open = 0
    const held = function* (body: () => Op<unknown>): Routine<unknown> {
      open++
      return yield* ensure(body, function* () {
        yield* sleep(3)
        open--
      })
    }
    const everything = function* () {
      open = 0
      yield* scope(function* () {
        spin(() => held(naps(20)))
        spin(function* () {
          yield* moveOnAfter(10, () => held(() => moveOnAfter(30, naps(15))))
          yield* shield(() => held(naps(5)))
        })
        yield* held(() => moveOnAfter(5, () => held(() => moveOnAfter(2, naps(9)))))
      })
    }
    const check = () => assert.equal(open, 0)
    assert.ok(stopEverywhere(everything, { check }).switchpoints >= 20)
    raiseEverywhere(everything, { check })
    // The wait of a cleanup may be the one that fails: then its own count is open.
    failEverywhere(everything, { check: () => assert.ok(open <= 1, `${open} were left open`) })
  })
})

describe('S17 waiting for new work is never cleanup', () => {
  const idle: [string, () => Op<unknown>][] = [
    ['receive()', () => receive()],
    ['suspend()', () => suspend()],
    ['transfer', () => transfer(new Fiber(() => 1))],
    ['queue.shift()', () => new Queue().shift()],
    ['every(10)', () => every(10, nothing)],
    ['throttledLoop, due at once,', () => throttledLoop({ interval: 0, count: 3 }, nothing)],
  ]
  for (const [name, op] of idle) {
    test(`${name} is refused while unwinding, by the same stop, but not inside shield and the cleanup of ensure`, function* () {
      const caught: unknown[] = []
      const fiber = yield* started(function* () {
        caught.push(yield* thrownBy(sleep()))
        yield* moveOnAfter(20, () => shield(() => moveOnAfter(10, op)))
        yield* ensure(nothing, () => moveOnAfter(10, op))
        assert.equal(runtime().stats().refused, 0)
        caught.push(yield* thrownBy(op()))
      })
      yield* fiber.stop()
      assert.ok(isStop(caught[0]))
      assert.deepEqual([caught.length, caught[1]], [2, caught[0]])
      assert.equal(runtime().stats().refused, 1)
      assert.deepEqual(reports(), []) // one refusal is counted, not reported
    })
  }

  test('a message that is there already, and a time limit around it, make no difference', function* () {
    const fiber = yield* started(() => waits(() => moveOnAfter(10, () => receive())))
    fiber.send('message')
    yield* fiber.stop()
    assert.deepEqual([now(), runtime().stats().refused], [1, 1])
  })

  test('at the third refusal a fiber, or a block, is forced and reported', function* () {
    let swallows = 0
    const swallowing = function* () {
      for (;;) {
        try {
          yield* receive()
        } catch {
          swallows++
        }
      }
    }
    assert.deepEqual(yield* stopped(swallowing), isStopped)
    assert.deepEqual([now(), swallows, runtime().stats().refused], [1, 3, 3])
    assert.match(reports().join(), /^forced: swallowed stop at receive\(\): main > swallowing#\d+ caught its/)
    assert.equal(yield* moveOnAfter(10, swallowing, 'moved on'), 'moved on')
    assert.deepEqual([now(), swallows, reports().length], [11, 6, 2])
    Fiber.current.send('the fiber itself may receive')
    yield* receive()
  })

  test('a fiber that swallows its stop and sleeps lives until the deadline, and is reported then', function* () {
    let rounds = 0
    const body = function* () {
      for (; ; rounds++) {
        try {
          yield* sleep(10)
        } catch {
          rounds = -1
        }
      }
    }
    yield* stopped(body, { grace: 95 })
    assert.deepEqual([now(), rounds], [96, 9])
    assert.match(
      reports().join(),
      /^forced: main > \S+ was forced .* its grace is over .* waiting for sleep\(10\).* shorter\.$/,
    )
  })
})

describe('S18 grace', () => {
  test('a body whose children are gone when its half is over has the rest too', function* () {
    const log: number[] = []
    const fiber = yield* started(function* () {
      spin(() => sleep())
      try {
        yield* sleep()
      } finally {
        yield* Fiber.current.shutdownChildren()
        yield* waits(() => log.push(now()), 1000)
      }
    })
    yield* fiber.stop(undefined, { grace: 200 })
    assert.deepEqual([log, now()], [[201], 201])
  })

  test('is 5 seconds unless told otherwise, and children start with that of their parent', function* () {
    const graces = () => [Fiber.current.grace, spin(nothing).grace, spin({ grace: 7 }, nothing).grace]
    assert.deepEqual(graces(), [5000, 5000, 7])
    assert.deepEqual(yield* spin({ grace: 100 }, graces), [100, 100, 7])
  })

  for (const [what, options, at, given] of [
    ['unless told otherwise', {}, 5000],
    ['the grace of the fiber', { grace: 30 }, 30],
    ['the grace of the stop', { grace: 30 }, 70, { grace: 70 }],
  ] as [string, object, number, object?][]) {
    test(`cleanup may wait ${at}: ${what}`, function* () {
      const log: string[] = []
      const fiber = yield* started(() => clings(log), options)
      assert.deepEqual(yield* fiber.stop('v', given), { type: 'stopped', value: 'v' })
      assert.deepEqual(log, [`forced at ${1 + at}`])
      assert.match(reports().join(), /^forced: .*grace/)
    })
  }

  test("a child has the smaller of its own grace and its parent's deadline, which bounds the whole subtree", function* () {
    const log: string[] = []
    const parent = function* () {
      spin({ grace: 20 }, clings, log)
      spin({ grace: 10_000 }, clings, log)
      yield* sleep()
    }
    yield* stopped(parent, { grace: 100 })
    assert.deepEqual(log, ['forced at 21', 'forced at 101'])
    function* level(depth: number): Routine<void> {
      if (depth > 0) spin(level, depth - 1)
      yield* clings([])
    }
    yield* stopped(() => level(6), { grace: 640 })
    assert.equal(now(), 101 + 641)
  })

  test('a body, also of a scope, that still has children may use half of what is left, so that they clean up too', function* () {
    const log: string[] = []
    const body = function* () {
      spin(waits, naps(400))
      yield* clings(log)
    }
    for (const parent of [body, () => scope(body)]) yield* stopped(parent, { grace: 1000 })
    assert.deepEqual([log, now()], [['forced at 501', 'forced at 1402'], 1802])
  })

  test('children of a scope do not outlast the deadline of a limit around it', function* () {
    const log: string[] = []
    const body = () => scope(() => void spin(clings, log))
    assert.equal(yield* moveOnAfter(10, body, { value: 'moved on', grace: 20 }), 'moved on')
    yield* Fiber.current.joinChildren()
    assert.deepEqual([log, now()], [['forced at 30'], 30])
  })

  const bad = [-1, Number.NaN, -Infinity, '5', null, {}, 5n]
  const absurd = [...bad, 2 ** 31]
  const endless = [...absurd, Infinity] // no limit, but these are none
  for (const [name, durations, take] of [
    ['sleep()', absurd, (ms) => sleep(ms)],
    ['moveOnAfter()', absurd, (ms) => moveOnAfter(ms, nothing)],
    ['cancelAfter()', absurd, (ms) => cancelAfter(ms, nothing)],
    ['after()', endless, (ms) => after(ms, nothing)],
    ['every()', [...endless, 0], (ms) => every(ms, nothing)],
    ['throttledLoop()', endless, (ms) => throttledLoop({ interval: ms }, nothing)],
    ['the grace of moveOnAfter()', bad, (grace) => moveOnAfter(1, nothing, { grace })],
    ['the grace of spin()', bad, (grace) => spin({ grace }, nothing)],
    ['the grace of stop()', bad, (grace) => Fiber.current.stop(undefined, { grace })],
    ['the grace of terminate()', bad, (grace) => Fiber.current.terminate({ grace })],
    ['the grace of stopChildren()', bad, (grace) => Fiber.current.stopChildren({ grace })],
    ['the grace of restartWith()', bad, (grace) => spin(nothing).restartWith({ grace })],
    ['the grace of a fiber', bad, (grace) => (Fiber.current.grace = grace)],
  ] as [string, unknown[], (ms: any) => unknown][]) {
    test(`${name} refuses durations that cannot be meant, and nothing happens`, function* () {
      for (const ms of durations) assert.throws(() => take(ms), BadArgument, String(ms))
      assert.throws(() => take(-1), /-1/)
      assert.deepEqual([Fiber.current.phase, Fiber.current.grace], ['live', 5000])
    })
  }

  test('cleanup that never has to wait has its deadline too', function* () {
    const ready = yield* begun(nothing as any)
    const timers: number[] = []
    yield* stopped(() =>
      waits(function* () {
        for (let i = 0; i < 300; i++) {
          if (i % 299 === 0) timers.push(runtime().timers.size)
          yield* ready.join()
        }
      }),
    )
    assert.deepEqual(timers, [0, 1])
  })
})

describe('S19 forced, then abandoned', () => {
  test('when forced, synchronous cleanup runs at every level, and nothing waits, is caught or goes on', function* () {
    const log: string[] = []
    const level = function* (n: number): Routine<void> {
      try {
        yield* n > 0 ? level(n - 1) : sleep()
      } catch {
        log.push('caught')
      } finally {
        log.push(`before ${n}`)
        yield* waits(() => log.push(`after ${n}`), 1)
        log.push('waited')
      }
      log.push('went on')
    }
    assert.deepEqual(yield* stopped(() => level(2), {}, 'kill'), isStopped)
    assert.deepEqual(log, ['before 0', 'after 0', 'before 1', 'after 1', 'before 2', 'after 2'])
    assert.equal(now(), 1)
  })

  test('a kill reaches through shield and ensure, and takes the children along', function* () {
    const log: string[] = []
    const body = (name: string) => shield(() => ensure(() => waits(() => log.push(name)), forever))
    const parent = function* () {
      spin(body, 'child')
      yield* body('parent')
    }
    yield* stopped(parent, {}, 'kill')
    assert.deepEqual([log, now()], [['parent', 'child'], 1])
  })

  test('a generator that goes on yielding a hundred times is abandoned; its children are stopped as usual', function* () {
    let yields = 0
    const body = function* () {
      spin(waits, naps(10))
      yield* neverLetsGo(() => yields++)
    }
    const fiber = yield* started(body, { grace: 100 })
    fiber.stop()
    yield* sleep(49.5)
    yields = 0
    assert.deepEqual(yield* fiber.join(), { type: 'abandoned' })
    assert.equal(now(), 61) // half of its grace, then the child
    assert.equal(yields, 101) // the last one is answered by nothing
    assert.match(reports().join(), /abandoned: main > \S+ was abandoned/)
    assert.equal(runtime().stats().abandoned, 1)
    const error = yield* thrownBy(fiber)
    assert.ok(error instanceof FiberStopped)
    assert.match(error.message, /was abandoned/)
    assert.throws(() => fiber.restart(), { code: 'BAD_STATE' })
    assert.deepEqual(yield* stopped(neverLetsGo, {}, 'kill'), { type: 'abandoned' })
  })

  test('it cannot be restarted either if the error of a child became its outcome', function* () {
    const error = new Error('child failed')
    const fiber = yield* started(function* () {
      spin(failsInCleanup, error)
      yield* sleep(1)
      yield* neverLetsGo()
    })
    yield* sleep(10)
    fiber.stop(undefined, { grace: 1 })
    assert.equal(errorOf(yield* fiber.join()), error)
    assert.throws(() => fiber.restart(), { code: 'BAD_STATE' })
  })

  for (const [name, inside] of [
    ['shield', () => shield(neverLetsGo)],
    ['scope', () => scope(neverLetsGo)],
    ['moveOnAfter', () => moveOnAfter(1000, neverLetsGo)],
    ['ensure', () => ensure(neverLetsGo, nothing)],
  ] as const) {
    test(`a body that never lets go inside ${name} inside a forced block is abandoned with it`, function* () {
      assert.equal(yield* moveOnAfter(10, inside, { value: 'moved on', grace: 0 }), 'moved on')
      assert.match(reports().join(), /abandoned/)
      // The fiber is sound: later blocks and stops work as ever.
      assert.equal(yield* moveOnAfter(5, forever, 'again'), 'again')
      assert.equal(now(), 15)
    })
  }

  test('a fiber that is killed while a block in it is forced ends with it: cleanup runs, and no code after the block', function* () {
    const log: string[] = []
    const fiber = spin(function* () {
      yield* moveOnAfter(
        5,
        () =>
          waits(function* () {
            try {
              yield* sleep() // longer than the grace: the block is forced here
            } finally {
              fiber.kill()
              yield* waits(() => log.push('cleaned up'))
            }
          }),
        { grace: 10 },
      )
      log.push('went on')
    }) as Fiber
    assert.equal((yield* fiber.join()).type, 'stopped')
    assert.deepEqual([log, now()], [['cleaned up'], 15])
  })

  test('a forced block whose cleanup yields raw values for ever is abandoned', function* () {
    const cleanup = function* () {
      for (let yields = 0; ; yields++) {
        assert.ok(yields < 1000, 'it is not let go')
        try {
          yield 5 as unknown as Switchpoint
        } catch {}
      }
    }
    assert.deepEqual(yield* stopped(() => moveOnAfter(1000, () => waits(cleanup)), {}, 'kill'), isStopped)
  })

  test('a fiber or a block whose op has no return() is killed like any other', function* () {
    const noReturn: Op<unknown> = {
      [Symbol.iterator]() {
        const inner = sleep()[Symbol.iterator]()
        return { next: () => inner.next(), throw: (error) => inner.throw!(error) }
      },
    }
    for (const body of [() => noReturn, () => moveOnAfter(50_000, () => noReturn)]) {
      assert.deepEqual(yield* stopped(body, {}, 'kill'), isStopped)
    }
  })

  test('of the errors that scopes in an abandoned block had kept, the first is thrown and the others are kept in it', function* () {
    const failed = (what: string, body: () => Op<unknown>) =>
      scope(function* () {
        spin(failAfter, 1, new Error(what))
        yield* body()
      })
    const clinging = () => failed('outer', () => failed('inner', () => neverLetsGo(undefined, 300)))
    const error = yield* thrownBy(moveOnAfter(5, () => shield(clinging), { grace: 5 }))
    assert.deepEqual(
      whole(error)
        .map((each: any) => each.message)
        .sort(),
      ['inner', 'outer'],
    )
  })
})

describe('S20 shield', () => {
  test('holds a stop until it ends, also of a fiber that stops itself in it; shields nest', function* () {
    const stopsItself = function* () {
      Fiber.current.stop('v')
      yield* sleep(10)
    }
    for (const inner of [naps(10), stopsItself]) {
      const [log, begin]: [string[], number] = [[], now()]
      const fiber = yield* started(function* () {
        yield* shield(function* () {
          yield* shield(inner)
          yield* sleep(10)
        })
        log.push('committed')
        yield* sleep(1)
        log.push('not reached')
      })
      assert.deepEqual(yield* fiber.stop('v'), { type: 'stopped', value: 'v' })
      assert.deepEqual([log, now() - begin], [['committed'], 20])
    }
  })

  for (const [name, limit] of [
    ['moveOnAfter', (ms, body) => moveOnAfter(ms, body)],
    ['cancelAfter', (ms, body) => thrownBy(cancelAfter(ms, body))],
  ] as [string, (ms: number, body: () => Op<unknown>) => Op<unknown>][]) {
    test(`holds the expiry of an outer ${name}, not of an inner one, also while unwinding`, function* () {
      const log: unknown[] = []
      const body = function* () {
        yield* shield(function* () {
          yield* limit(5, forever)
          log.push(now())
          yield* sleep(20)
          log.push(now())
        })
        yield* sleep(1)
        log.push('not reached')
      }
      yield* limit(10, body)
      yield* stopped(() => waits(() => limit(10, body)))
      assert.deepEqual(log, [5, 25, 31, 51])
    })
  }

  for (const [what, act] of [
    ['raise', (fiber) => fiber.raise('oops')],
    ['cancel', (fiber) => fiber.cancel('oops')],
    ['the error of a child', (fiber) => fiber.children[0]?.raise('oops')],
  ] as [string, Act][]) {
    test(`does not hold ${what}`, function* () {
      const fiber = yield* started(function* () {
        spin(forever)
        yield* shield(naps(100))
      })
      act(fiber)
      assert.equal(errorOf(yield* fiber.join()).message, 'oops')
      assert.equal(now(), 1)
    })
  }

  test('is forced at the deadline, which counts from the stop, and that is reported', function* () {
    const log: string[] = []
    const goesOn = function* () {
      yield* shield(naps(30))
      yield* clings(log)
    }
    for (const body of [() => shield(() => forcible(log)), goesOn]) yield* stopped(body, { grace: 50 })
    assert.deepEqual([log, reports().length], [['forced at 51', 'forced at 102'], 2])
  })
})

describe('S21 a second stop never throws twice', () => {
  const lateStops: [string, number, (fiber: Fiber) => void][] = [
    ['a stop', 210, (fiber) => fiber.stop(1, { grace: 200 })],
    ['a kill', 10, (fiber) => fiber.kill()],
    ['a stop of the parent', 210, (fiber) => fiber.parent?.stop(1, { grace: 200 })],
    [
      'a stop and then a kill',
      20,
      (fiber) => {
        fiber.stop()
        after(10, () => fiber.kill())
      },
    ],
  ]
  for (const [name, at, stop] of lateStops) {
    test(`${name} that comes when the body is over and a child dies bounds what is left to clean up (S60)`, function* () {
      const parent = spin({ link: false }, function* () {
        yield* spin('late', function* () {
          yield* use({}, () => sleep(60_000))
          spin(function* () {
            try {
              yield* sleep()
            } finally {
              yield* sleep(100)
            }
          })
          yield* sleep(1)
        })
      })
      yield* sleep(10)
      const [fiber] = parent.children as [Fiber]
      stop(fiber)
      yield* parent.join()
      assert.deepEqual([fiber.state, now()], ['dead', at])
    })
  }

  test('it brings nearer also the end of cleanup that had all the time of the world', function* () {
    const fiber = spin({ grace: Infinity }, function* () {
      try {
        yield* sleep()
      } finally {
        yield* sleep(50_000)
      }
    })
    yield* sleep(1)
    fiber.stop()
    yield* sleep(1)
    yield* fiber.stop(undefined, { grace: 100 })
    assert.equal(now(), 102)
  })

  test('the first value and reason stay, and cleanup that waits is not cut', function* () {
    let thrown = 0
    const fiber = yield* started(function* () {
      for (const ms of [1000, 10, 10]) {
        try {
          yield* sleep(ms)
        } catch {
          thrown++
        }
      }
    })
    fiber.stop('first', { reason: 'first reason' })
    fiber.stop('second', { reason: 'second reason' })
    yield* sleep(5)
    fiber.stop('third')
    fiber.terminate()
    assert.deepEqual(yield* fiber.join(), { type: 'stopped', value: 'first' })
    assert.deepEqual([fiber.stopReason, thrown, now()], ['first reason', 1, 21])
  })

  for (const [what, first, second, at] of [
    ['brings the deadline nearer', 5000, [20], [21, 31]],
    ['never puts it off', 50, [1000], [26, 51]],
    ['never puts off what another brought nearer', 5000, [20, 1000], [21, 31]],
    ['with a grace of 0 forces at once', 5000, [0], [11, 11]],
  ] as const) {
    test(`it ${what}, of the body and of its children`, function* () {
      const log: string[] = []
      const body = function* () {
        spin(clings, log)
        yield* clings(log)
      }
      const fiber = yield* started(body, { grace: first })
      fiber.stop()
      yield* sleep(10)
      for (const grace of second) fiber.stop(undefined, { grace })
      yield* fiber.join()
      assert.deepEqual(
        log,
        at.map((ms) => `forced at ${ms}`),
      )
    })
  }

  test('it ends the wait for a promise that had noticed no stop', function* () {
    const stopsItself = () => {
      Fiber.current.stop()
      return new Promise<void>(nothing)
    }
    const fiber = yield* begun(() => until(stopsItself))
    assert.notEqual(yield* moveOnAfter(100, () => fiber.stop(undefined, { grace: 10 }), 'hangs'), 'hangs')
  })

  for (const [what, hurry, at] of [
    ['a nearer deadline', (fiber) => fiber.stop('second', { grace: 20 }), 22],
    ['a kill', (fiber) => fiber.kill(), 2],
  ] as [string, (fiber: Fiber<any>) => Op<Outcome<any>>, number][]) {
    test(`${what} while the children are dying forces them all, however deep the tree`, function* () {
      const log: string[] = []
      function* level(depth: number): Routine<void> {
        if (depth === 0) return yield* clings(log)
        spin(level, depth - 1)
        yield* sleep()
      }
      const top = yield* started(() => level(20_000))
      top.stop('v')
      yield* sleep(1)
      assert.equal(top.phase, 'closing')
      assert.deepEqual(yield* hurry(top), { type: 'stopped', value: 'v' })
      assert.deepEqual(log, [`forced at ${at}`])
    })
  }

  test('a kill that comes when the body has just been forced still hurries the children', function* () {
    const fiber = yield* started(function* () {
      spin(waits, naps(30))
      yield* clings([])
    })
    const untap = tap((event, who) => event === 'forced' && who === fiber && fiber.kill())
    yield* fiber.stop(undefined, { grace: 100 })
    untap()
    assert.equal(now(), 51) // the child has not taken its 30
  })

  test('a kill after it forces at the call, and is not reported as if the time were over', function* () {
    const fiber = yield* begun(() => waits(forever))
    fiber.stop()
    yield* sleep(1)
    fiber.kill()
    assert.equal(fiber.phase, 'forced')
    yield* fiber.join()
    assert.deepEqual(reports(), [])
  })
})

describe('S22 errors of cleanup', () => {
  for (const [what, cut] of [
    ['a stop', (body: () => Op<unknown>) => spinAndStop(body)],
    ['moveOnAfter', (body: () => Op<unknown>) => moveOnAfter(2, body)],
  ] as const) {
    for (const [name, combine] of [
      ['allSettled', allSettled],
      ['any', any],
    ] as const) {
      test(`the error of a member of ${name} that is cut by ${what} is reported`, function* () {
        yield* cut(() => combine([() => sleep(50), () => assert.fail('E1')]))
        assert.match(reports().join(), /failed, and .* was stopped before it could throw the error/)
      })
    }
  }
  function* spinAndStop(body: () => Op<unknown>): Routine<void> {
    const fiber = spin(body)
    yield* sleep(2)
    yield* fiber.stop()
  }

  const errors = (...names: string[]) =>
    names.map((name) => new Error(name)) as Error[] & [Error, Error, Error]
  /** Fails with `own` while children fail in their cleanup, one after the other. */
  const failing = (own: unknown, ...late: unknown[]) =>
    function* () {
      late.forEach((error, i) => void spin(failsInCleanup, error, 10 * (i + 1)))
      yield* sleep(5)
      if (own !== RETURNS) throw own
      Fiber.current.stopChildren()
    }
  const RETURNS = Symbol('returns')

  test('inside one body the error that leaves it is the outcome, of a fiber that is stopped or killed too', function* () {
    const [error] = errors('cleanup failed')
    for (const verb of ['raise', 'stop', 'kill'] as const) {
      assert.equal(errorOf(yield* stopped(() => waits(fails(error)), {}, verb)), error)
    }
  })

  for (const [what, within] of [
    ['a fiber', (body: () => Routine<void>) => spin({ link: false }, body)],
    ['a scope', (body: () => Routine<void>) => scope(body)],
  ] as const) {
    test(`errors of children of ${what}: the first is thrown, later ones are suppressed onto it`, function* () {
      const [a, b, c] = errors('a', 'b', 'c')
      assert.equal(yield* thrownBy(within(failing(RETURNS, a, b, c))), a)
      assert.deepEqual(suppressedErrors(a), [b, c])
      assert.equal(Object.keys(a).includes('suppressed'), false)
      const [own, d, e] = errors('own', 'd', 'e')
      assert.equal(yield* thrownBy(within(failing(own, d, own, e))), own) // itself is not kept beside it
      assert.deepEqual(suppressedErrors(own), [d, e])
      yield* sleep(1)
    })

    test(`an error in ${what} that cannot be kept beside the first is reported`, function* () {
      const frozen = Object.freeze(new Error('frozen'))
      assert.equal(yield* thrownBy(within(failing(frozen, ...errors('later')))), frozen)
      assert.match(reports().join(), /^unobserved: an error in main\S* .*could not be kept beside/)
      assert.equal(runtime().backend.reports[0].error.message, 'later')
    })
  }

  test('what is thrown but is no object: the cause of a NonErrorThrown outside its body, itself inside', function* () {
    for (const thing of ['oops', 5, undefined, null]) {
      const error = yield* thrownBy(spin({ link: false }, failing(thing, ...errors('late'))))
      assert.ok(error instanceof NonErrorThrown)
      assert.deepEqual([error.cause, suppressedErrors(error).length], [thing, 1])
      assert.equal(yield* thrownBy(scope(failing(thing, ...errors('late')))), thing)
    }
  })

  let [error, other] = errors('first', 'other')
  /** Two children: one fails, the other takes long. */
  const two = () => [spin(waits, naps(50)), spin(failAfter, 5, error)]
  const awaitTwo = () => Fiber.await(...two())
  const awaitThree = () => Fiber.await(spin({ link: false }, failsInCleanup, other, 2), ...two())
  const joinTwo = function* () {
    spin(failAfter, 5, error)
    spin(forever)
    yield* Fiber.current.joinChildren()
  }
  const inScope = () =>
    scope(function* () {
      spin(failAfter, 5, error)
      yield* neverLetsGo()
    })
  for (const [what, body, act, names] of [
    ['Fiber.await is stopped', awaitTwo, (fiber) => fiber.stop(), ['first']],
    ['Fiber.await is killed', awaitTwo, (fiber) => fiber.kill(), ['first']],
    ['Fiber.await is struck', awaitTwo, (fiber) => fiber.raise(other), ['first', 'other']],
    ['Fiber.await of two that fail is stopped', awaitThree, (fiber) => fiber.stop(), ['first', 'other']],
    ['Fiber.await of two that fail is killed', awaitThree, (fiber) => fiber.kill(), ['first', 'other']],
    ['joinChildren is stopped', joinTwo, (fiber) => fiber.stop(), ['first']],
    ['joinChildren is killed', joinTwo, (fiber) => fiber.kill(), ['first']],
    ['joinChildren is struck', joinTwo, (fiber) => fiber.raise(other), ['first', 'other']],
    ['the scope that received it is abandoned', inScope, (fiber) => fiber.kill(), ['first']],
  ] as [string, () => Op<unknown>, Act, string[]][]) {
    test(`the error of a child is not lost if ${what} meanwhile`, function* () {
      ;[error, other] = errors('first', 'other')
      const fiber = yield* begun(body)
      yield* sleep(10)
      act(fiber)
      const received = whole(errorOf(yield* fiber.join())).map((each: any) => each.message)
      assert.deepEqual(received.sort(), names)
    })
  }

  test('nor is what the body or a child of a scope throws inside a block that times out', function* () {
    const timingOut = (body: () => any) =>
      scope(function* () {
        yield* moveOnAfter(10, () => scope(body))
        yield* sleep(1)
      })
    for (const thrown of [error, null]) {
      const body = function* () {
        spin(waits, naps(20))
        yield* sleep(1)
        throw thrown
      }
      assert.equal(yield* thrownBy(timingOut(body)), thrown) // at the block or at the switchpoint after it
      yield* sleep(1) // once
    }
    assert.equal(yield* thrownBy(timingOut(() => void spin(failsInCleanup, error, 5))), error)
    yield* sleep(1)
  })

  /** Ways to have a child whose cleanup fails when it is stopped. */
  const clumsy = (error: Error) => () => failsInCleanup(error, 1)
  const owners: [string, (child: () => Op<unknown>) => Op<unknown>][] = [
    [
      'scope',
      (child) =>
        scope(function* () {
          spin(child)
          yield* sleep()
        }),
    ],
    ['a scope that waits for its children', (child) => scope(() => void spin(child))],
    ['all', (child) => all([child, forever])],
    ['race', (child) => race([child, forever])],
    ['forEach', (child) => forEach([child, forever], (body) => body(), { concurrency: 2 })],
    ['retry', (child) => retry(() => scope(() => void spin(child)))],
    ['a scope in a scope', (child) => scope(() => scope(() => void spin(child)))],
  ]
  for (const [name, around] of owners) {
    test(`the error of a child's cleanup in ${name} that is cut by moveOnAfter is thrown there, not later`, function* () {
      const error = new Error('in the cleanup of a child')
      assert.equal(yield* thrownBy(moveOnAfter(10, () => around(clumsy(error)))), error)
      assert.equal(now(), 11)
      yield* sleep(1) // it strikes once
    })

    test(`the error of a child's cleanup in ${name} that is cut by cancelAfter is thrown there, and keeps the Cancel`, function* () {
      const error = new Error('in the cleanup of a child')
      const mine = new Error('too late')
      assert.equal(yield* thrownBy(cancelAfter(10, () => around(clumsy(error)), mine)), error)
      assert.deepEqual(suppressedErrors(error), [mine])
      yield* sleep(1)
    })

    test(`two children of ${name} whose cleanup fails: the first is thrown at the limit, the other is suppressed`, function* () {
      const errors = [new Error('first'), new Error('second')] as const
      const both = () =>
        all([
          () => around(() => failsInCleanup(errors[0], 1)),
          () => around(() => failsInCleanup(errors[1], 2)),
        ])
      assert.equal(yield* thrownBy(moveOnAfter(10, both)), errors[0])
      assert.deepEqual(whole(errors[0]), errors)
      yield* sleep(1)
    })

    test(`an outer limit cuts ${name} in an inner one: the error of a cleanup is thrown at the outer one`, function* () {
      const error = new Error('in the cleanup of a child')
      const inner = () => moveOnAfter(50, () => around(clumsy(error)))
      assert.equal(yield* thrownBy(moveOnAfter(10, inner)), error)
      assert.equal(now(), 11)
      yield* sleep(1)
    })
  }

  /** Every error that can be seen: what is thrown at the cut, at a later line, what is in the outcome, and what was reported. */
  function* seenOf(
    cut: (body: () => Op<unknown>) => Op<unknown>,
    body: () => Op<unknown>,
  ): Routine<unknown[]> {
    const seen: unknown[] = []
    const host = spin({ link: false }, function* () {
      for (const wait of [() => cut(body), () => sleep(50)]) {
        try {
          yield* wait()
        } catch (error) {
          seen.push(error)
          if (isStop(error)) throw error
        }
      }
    })
    const outcome = yield* host.join()
    if (outcome.type === 'error') seen.push(outcome.error)
    for (const report of runtime().backend.reports) seen.push(report.error)
    return seen.flatMap(whole)
  }
  const cuts: [string, (body: () => Op<unknown>) => Op<unknown>][] = [
    ['a moveOnAfter', (body) => moveOnAfter(10, body)],
    ['a cancelAfter', (body) => cancelAfter(10, body)],
    ['a stop', (body) => struck(body, (fiber) => fiber.stop())],
    ['a kill', (body) => struck(body, (fiber) => fiber.kill())],
    ['a raise', (body) => struck(body, (fiber) => fiber.raise('raised'))],
    ['the error of another child', (body) => struck(body, (fiber) => fiber.spin(fails(new Error('child'))))],
  ]
  function* struck(body: () => Op<unknown>, strike: Act): Routine<unknown> {
    const self = Fiber.current
    after(10, () => void strike(self))
    return yield* body()
  }
  const teams: [string, (members: any[]) => Op<unknown>][] = [
    ['allSettled', (members) => allSettled(members)],
    ['any', (members) => any(members)],
    ['all', (members) => all(members)],
    ['race', (members) => race(members)],
    ['Fiber.await', (members) => Fiber.await(...members.map((member) => asFiber(member)))],
    ['joinChildren', (members) => (members.map(asFiber) && Fiber.current.joinChildren()) as Op<unknown>],
  ]
  const asFiber = (member: any): Fiber<any> => (member instanceof Fiber ? member : spin(member))
  for (const [cut, by] of cuts) {
    for (const [team, wait] of teams) {
      test(`no error of a member of ${team} is lost when ${cut} cuts it`, function* () {
        for (const link of [true, false]) {
          const failed = new Error('failed before the cut')
          const given = () => wait([spin({ link }, failAfter, 1, failed), () => sleep(100)])
          assert.ok((yield* seenOf(by, given)).includes(failed), `a fiber that failed before; link: ${link}`)
          const late = new Error('failed in its cleanup')
          const own = () => wait([() => waits(fails(late)), () => sleep(100)])
          assert.ok((yield* seenOf(by, own)).includes(late), 'a member whose cleanup fails')
        }
      })
    }
  }

  test('what is read of the suppressed errors grows with their number, not with its square', function* () {
    /** How often the list was read while so many children failed in their cleanup. */
    const readsFor = function* (n: number): Routine<number> {
      let reads = 0
      const get = (list: unknown[], key: string | symbol) => {
        reads++
        return Reflect.get(list, key)
      }
      const first = Object.assign(new Error('first'), { suppressed: new Proxy([] as unknown[], { get }) })
      const body = function* () {
        for (let i = 0; i < n; i++) spin(() => waits(fails(new Error('later'))))
        yield* failAfter(1, first)
      }
      assert.equal(yield* thrownBy(scope(body)), first)
      const whole = reads
      assert.equal(suppressedErrors(first).length, n)
      return whole
    }
    const [few, many] = [yield* readsFor(100), yield* readsFor(400)]
    assert.ok(many <= 6 * few + 100, `${few} reads for 100 errors, ${many} for 400`)
  })

  for (const [team, wait] of [
    ['any', any],
    ['allSettled', allSettled],
  ] as [string, (members: any[]) => Op<unknown>][]) {
    test(`a failure that ${team} had taken for an outcome is kept beside the error that is thrown, and reported if that is only a stop`, function* () {
      const failed = new Error('tolerated')
      const body = () => wait([fails(failed), forever])
      assert.deepEqual(suppressedErrors(yield* thrownBy(cancelAfter(10, body))), [failed])
      const thrown: unknown[] = []
      const catching = function* () {
        try {
          yield* body()
        } catch (stop) {
          thrown.push(stop)
          throw stop
        }
      }
      yield* stopped(catching)
      yield* stopped(function* () {
        spin(catching)
        yield* sleep()
      })
      assert.deepEqual(thrown.map(suppressedErrors), [[], []])
      assert.equal(reports().filter((report) => /throw the error/.test(report)).length, 2)
    })
  }
})

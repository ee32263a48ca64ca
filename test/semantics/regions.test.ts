// S65-S70: what strikes where, after the signal, equal deadlines, ops used wrongly, and callbacks that throw.

import { BaseOp, DIED, ENDED, LateOp, listen, RAN_OUT, settle } from '#core/index'
import {
  assert,
  BadYield,
  type Call,
  Cancel,
  call,
  cancelAfter,
  describe,
  ensure,
  every,
  explore,
  Fiber,
  FiberStopped,
  failAfter,
  isStop,
  mock,
  moveOnAfter,
  NotInFiber,
  now,
  type Op,
  program,
  ResourcePool,
  type Routine,
  receive,
  reports,
  retry,
  run,
  runtime,
  type Stop,
  scope,
  shield,
  sleep,
  snooze,
  spin,
  started,
  suppressedErrors,
  suspend,
  type Timeout,
  tap,
  test,
  thrownBy,
  turn,
  until,
  waits,
} from '../prelude.js'
import { constructs } from '../shared/constructs.js'

/** Longer than any timer of the platform, and so than any limit. */
const LONG = 2 ** 31 - 1

const anything = (x: unknown): any => x

/** The error that a body ends with, in a fiber of its own. */
function* failureOf(body: () => unknown): Routine<any> {
  const outcome = yield* spin({ link: false, name: 'culprit' }, body as () => Op<unknown>).join()
  return outcome.type === 'error' ? outcome.error : assert.fail(`it did not fail: ${outcome.type}`)
}

describe('S65 which signal strikes', () => {
  test('of limits that expire together the outermost strikes', function* () {
    const inner = function* () {
      yield* moveOnAfter(10, () => sleep(), 'inner')
      assert.fail('the inner one was struck')
    }
    assert.equal(yield* moveOnAfter(10, inner, 'outer'), 'outer')
  })

  const strikes: [string, (fiber: Fiber) => unknown][] = [
    ['a limit', () => {}],
    ['a stop', (fiber) => fiber.stop()],
    ['a raise', (fiber) => fiber.raise('oops')],
    ['the error of a child', (fiber) => fiber.children[0]?.raise('oops')],
  ]
  for (const [what, strike] of strikes) {
    test(`${what} that comes while a region further in unwinds waits until that one is left`, function* () {
      const log: string[] = []
      const nest = function* () {
        const value = yield* moveOnAfter(10, () => waits(() => sleep(20)), 'inner')
        log.push(`${value} left at ${now()}`)
        yield* sleep(1)
        log.push('not reached')
      }
      const fiber = spin({ link: false }, function* () {
        spin(() => sleep())
        yield* moveOnAfter(what === 'a limit' ? 15 : 1000, nest)
      })
      yield* sleep(15)
      strike(fiber)
      yield* fiber.join()
      assert.deepEqual(log, ['inner left at 30'])
    })
  }

  const pool = new ResourcePool({ limit: 1, acquireTimeout: Infinity }, () => sleep(LONG))
  const answers = (body: () => Op<unknown>) => call(spin(answerer, body), 'a question', { timeout: Infinity })
  function* answerer(body: () => Op<unknown>) {
    const question = yield* receive<Call<string, unknown>>()
    question.reply(yield* body())
  }
  const extended = (body: () => Op<unknown>) =>
    moveOnAfter(1, (limit) => {
      limit.extend(Infinity)
      return body()
    })
  const endless: [string, (body: () => Op<unknown>) => Op<unknown>][] = [
    ['moveOnAfter', (body) => moveOnAfter(Infinity, body)],
    ['cancelAfter', (body) => cancelAfter(Infinity, body)],
    ['extend', extended],
    ['the timeout of call', answers],
    ['the acquireTimeout of a pool', (body) => pool.acquire(body)],
  ]
  for (const [where, limited] of endless) {
    test(`Infinity is no limit in ${where}`, function* () {
      const body = function* () {
        yield* sleep(LONG)
        return 'whole'
      }
      assert.equal(yield* limited(body), 'whole')
      assert.ok(now() >= LONG)
    })
  }

  const forced: number[] = []
  const clings = () => waits(() => forced.push(now()))
  const inners: [string, () => Op<unknown>][] = [
    ['a shield', () => shield(clings)],
    ['the cleanup of ensure', () => ensure(() => {}, clings)],
    ['a limit in a scope in a shield', () => shield(() => scope(() => moveOnAfter(10_000, clings)))],
    ['the cleanup of a limit', () => moveOnAfter(5, () => ensure(() => sleep(), clings))],
    ['cleanup that waits', () => waits(clings)],
  ]
  for (const [what, inner] of inners) {
    test(`the deadline of an outer region, a limit or a fiber, forces ${what}`, function* () {
      forced.length = 0
      const fiber = spin(inner)
      assert.equal(yield* moveOnAfter(10, inner, { value: 'moved on', grace: 15 }), 'moved on')
      assert.equal((yield* fiber.stop(undefined, { grace: 20 })).type, 'stopped')
      assert.deepEqual(forced, [25, 45])
      assert.equal(reports().length, 2)
    })
  }

  test('children of a scope in a shield are forced with a limit around it, and its fiber lives on', function* () {
    const log: string[] = []
    const body = function* () {
      spin(() => waits(() => waits(() => log.push(`child forced at ${now()}`))))
      yield* sleep()
    }
    const around = () => shield(() => scope(body))
    const value = yield* moveOnAfter(10, around, { value: 'moved on', grace: 20 })
    assert.deepEqual([value, now()], ['moved on', 30])
    yield* Fiber.current.joinChildren()
    assert.deepEqual(log, ['child forced at 30'])
    yield* sleep(1)
  })

  test('an inner limit that had expired too, and had less grace, does not cut the cleanup of an outer one', function* () {
    let cleaned = 0
    const cleanup = () => waits(() => (cleaned = now()), 50)
    const inner = () => moveOnAfter(10, () => waits(cleanup), { value: 'inner', grace: 1 })
    assert.equal(yield* moveOnAfter(10, inner, 'outer'), 'outer')
    assert.equal(cleaned, 60)
  })

  /** What happened when a strike came at 5 ms: what was thrown, or given, and when. */
  function* struckAt5(wait: () => Op<unknown>, strike: Strike): Routine<unknown[]> {
    const begin = now()
    const outcome: any = yield* strike(wait)
    return [outcome.error ?? outcome.value ?? outcome.type, now() - begin]
  }
  type Strike = (wait: () => Op<unknown>) => Op<unknown>
  const fromOutside = new Error('from outside')
  /** The host is struck by a verb at 5 ms. */
  const byVerb = (strike: (host: Fiber) => unknown): Strike =>
    function* (wait) {
      const host: Fiber = spin({ link: false }, wait)
      yield* sleep(5)
      strike(host)
      return yield* host.join()
    }
  const outside: [string, strike: Strike, expected: unknown][] = [
    ['raise', byVerb((host) => host.raise(fromOutside)), fromOutside],
    ['cancel', byVerb((host) => host.cancel(fromOutside)), fromOutside],
    ['stop', byVerb((host) => host.stop('enough')), 'enough'],
    [
      'the error of a child that has nothing to do with it',
      (wait) =>
        spin({ link: false }, function* () {
          spin('bystander', failAfter, 5, fromOutside)
          return yield* wait()
        }).join(),
      fromOutside,
    ],
    ['moveOnAfter around it', (wait) => spin(() => moveOnAfter(5, wait, 'moved on')).join(), 'moved on'],
    [
      'cancelAfter around it',
      (wait) => spin({ link: false }, () => cancelAfter(5, wait, fromOutside)).join(),
      fromOutside,
    ],
  ]
  for (const [what, strike, expected] of outside) {
    test(`${what} strikes at once, whatever the fiber waits in: no construct takes it for its own business`, function* () {
      const wrong: unknown[] = []
      for (const [name, wait] of constructs) {
        const seen = yield* struckAt5(wait, strike)
        if (seen[0] !== expected || seen[1] !== 5) wrong.push([name, ...seen.map(String)])
      }
      assert.deepEqual(wrong, [])
    })
  }

  /** Limits as they are used; both give 'outer' when they expire. */
  const outers: [string, (ms: number, body: () => Op<unknown>) => Op<unknown>][] = [
    ['moveOnAfter', (ms, body) => moveOnAfter(ms, body, 'outer')],
    [
      'cancelAfter',
      function* (ms, body) {
        try {
          return yield* cancelAfter(ms, body, 'outer')
        } catch (error) {
          return error instanceof Cancel ? error.message : error
        }
      },
    ],
  ]
  const slow = () => sleep(600)
  /** Tries six times, and goes on where `catches` says so. */
  const sixTimes = (attempt: () => Op<unknown>, catches: (error: unknown) => boolean) =>
    function* () {
      for (let i = 0; i < 6; i++) {
        try {
          yield* attempt()
        } catch (error) {
          if (!catches(error)) throw error
        }
      }
      return 'all of them were too slow'
    }
  const isCancel = (error: unknown) => error instanceof Cancel
  const attempts: [string, () => Op<unknown>][] = [
    ['a limit for each attempt, whose Cancel is caught', sixTimes(() => cancelAfter(5, slow), isCancel)],
    ['a limit for each attempt, without a Cancel', sixTimes(() => moveOnAfter(5, slow), isCancel)],
    ['no limit, and a catch of Cancel', sixTimes(slow, isCancel)],
    ['a longer limit, whose Cancel is caught', sixTimes(() => cancelAfter(40, slow), isCancel)],
    ['a limit of the same length, whose Cancel is caught', sixTimes(() => cancelAfter(12, slow), isCancel)],
    ['retry', () => retry(slow, { times: 5 })],
    ['retry with a limit for each try', () => retry(() => cancelAfter(5, slow), { times: 100 })],
    ['retry with a pause', () => retry(() => cancelAfter(5, slow), { times: 100, backoff: 20 })],
    ['retry when it is a Cancel', () => retry(() => cancelAfter(5, slow), { times: 100, when: isCancel })],
    ['a limit in a limit', sixTimes(() => cancelAfter(4, () => cancelAfter(8, slow)), isCancel)],
    ['limits in a scope', () => scope(sixTimes(() => scope(() => cancelAfter(5, slow)), isCancel))],
    ['a catch of everything that returns', () => moveOnAfter(50, () => thrownBy(slow()))],
    ['the same in a cancelAfter', () => cancelAfter(50, () => thrownBy(slow()))],
    [
      'a catch of everything around a limit',
      function* () {
        const [first, second] = [
          yield* thrownBy(cancelAfter(5, slow)),
          yield* thrownBy(cancelAfter(50, slow)),
        ]
        return [first, second]
      },
    ],
  ]
  for (const [outer, limit] of outers) {
    for (const [what, inner] of attempts) {
      test(`no code inside outlives ${outer}: ${what}`, function* () {
        assert.deepEqual([yield* limit(12, inner), now()], ['outer', 12])
      })
    }

    test(`${outer} that expires while a cancelAfter inside unwinds strikes when that one is left`, function* () {
      const log: unknown[] = []
      const body = function* () {
        const inner = cancelAfter(10, () => waits(() => sleep(20)), 'inner')
        log.push((yield* thrownBy(inner)).message, now())
        yield* sleep(1)
        log.push('not reached')
      }
      assert.deepEqual([yield* limit(15, body), log, now()], ['outer', ['inner', 30], 30])
    })

    test(`the error of a cleanup inside leaves ${outer}, also through a catch of Cancel`, function* () {
      const error = new Error('in cleanup')
      const clumsy = sixTimes(() => cancelAfter(40, () => waits(() => failAfter(1, error))), isCancel)
      const outcome = yield* spin({ link: false }, () => limit(12, clumsy)).join()
      const { error: thrown, value }: any = outcome
      assert.deepEqual([thrown ?? value, now()], [error, 13])
    })
  }

  test('three limits end each its own block, of whatever kind they are', function* () {
    const kinds = outers.map(([, limit]) => limit)
    for (const outer of kinds) {
      for (const middle of kinds) {
        for (const inner of kinds) {
          const [begin, log] = [now(), [] as unknown[]]
          const level = (limit: typeof outer, ms: number, body: () => Op<unknown>) =>
            function* () {
              log.push(yield* limit(ms, body), now() - begin)
              yield* sleep()
            }
          const nest = level(
            middle,
            20,
            level(inner, 10, () => sleep()),
          )
          log.push(yield* outer(30, nest), now() - begin)
          assert.deepEqual(log, ['outer', 10, 'outer', 20, 'outer', 30])
        }
      }
    }
  })

  test('a limit inside a shield strikes there, although a stop waits outside', function* () {
    const log: unknown[] = []
    const fiber = yield* started(() =>
      shield(function* () {
        log.push(yield* moveOnAfter(10, () => sleep(), 'limit'))
        log.push('committed')
      }),
    )
    yield* fiber.stop()
    assert.deepEqual([log, now()], [['limit', 'committed'], 10])
  })

  test('so does a limit that cleanup opens, although a limit further out has expired meanwhile', function* () {
    const log: unknown[] = []
    const cleanup = function* () {
      log.push(yield* moveOnAfter(30, () => sleep(), 'limit of the cleanup'))
    }
    const inner = () => moveOnAfter(10, () => waits(cleanup), 'inner')
    assert.equal(yield* moveOnAfter(20, inner, 'outer'), 'inner')
    assert.deepEqual(log, ['limit of the cleanup'])
  })

  test('a limit whose stop was held has no deadline any more when one further out is struck', function* () {
    let isWhole = false
    const held = () => shield(() => sleep(30))
    const cleanup = function* () {
      yield* sleep(100)
      isWhole = true
    }
    const inner = function* () {
      yield* held()
      yield* waits(cleanup)
    }
    const limited = () => moveOnAfter(10, inner, { value: 'inner', grace: 50 })
    spin(() => sleep()) // a child, for which a deadline leaves time
    assert.equal(yield* moveOnAfter(20, limited, 'outer'), 'outer')
    assert.deepEqual([isWhole, reports(), now()], [true, [], 130])
  })
})

describe('S66 after the signal was thrown', () => {
  test('a cancelAfter that expires throws also if its cleanup kills its own fiber: no code goes on as if nothing had happened', function* () {
    const log: unknown[] = []
    const fiber = spin({ link: false }, function* () {
      const value = yield* cancelAfter(
        1,
        function* () {
          try {
            yield* sleep()
          } finally {
            Fiber.current.kill()
          }
        },
        'too slow',
      )
      log.push(value)
    })
    const outcome = yield* fiber.join()
    assert.deepEqual([outcome.type, (outcome as any).error?.message, log], ['error', 'too slow', []])
  })

  test('a block or body that ends normally, or throws an error with the signal in its cause chain, counts as stopped', function* () {
    const wraps = (error: unknown): never => {
      throw new Error('wrapped again', { cause: new Error('wrapped', { cause: error }) })
    }
    for (const end of [() => 'its own', wraps]) {
      const body = function* () {
        const signal = yield* thrownBy(sleep())
        yield* sleep(1)
        return end(signal)
      }
      assert.equal(yield* moveOnAfter(1, body, 'timed out'), 'timed out')
      assert.deepEqual(yield* (yield* started<unknown>(body)).stop('v'), { type: 'stopped', value: 'v' })
    }
  })

  test('an error that does not carry the signal leaves the block', function* () {
    const other = new Error('other')
    assert.equal(yield* thrownBy(moveOnAfter(1, () => waits(() => failAfter(1, other)))), other)
  })

  test('the signal of another block or fiber, kept and thrown later, is an ordinary failure', function* () {
    let kept: unknown
    const keeps = function* () {
      kept = yield* thrownBy(sleep())
    }
    const fails = () => {
      throw kept
    }
    yield* moveOnAfter(1, keeps)
    assert.ok(isStop(kept))
    assert.ok((yield* failureOf(fails)) instanceof FiberStopped)
    yield* (yield* started(keeps)).stop()
    assert.ok((yield* failureOf(fails)) instanceof FiberStopped)
  })

  /** The name of the error that cancelAfter throws at its edge. */
  function* caught(ms: number, body: (timeout: Timeout) => Op<string>): Routine<string> {
    return (yield* thrownBy(cancelAfter(ms, body))).name
  }
  const limits: [(ms: number, body: (timeout: Timeout) => Op<string>) => Op<unknown>, unknown][] = [
    [moveOnAfter, undefined],
    [caught, 'Cancel'],
  ]
  for (const [limit, expected] of limits) {
    test(`${limit === caught ? 'cancelAfter' : limit.name} that has expired stays expired: reset() and extend() change nothing`, function* () {
      const body = function* (timeout: Timeout) {
        yield* thrownBy(sleep())
        timeout.reset()
        timeout.extend(5)
        assert.equal(timeout.remaining, 0)
        yield* sleep(20)
        return 'recovered'
      }
      assert.equal(yield* limit(10, body), expected)
      assert.equal(now(), 30)
      assert.equal(runtime().timers.size, 0)
    })
  }

  test('a limit that has expired and not struck yet stays expired as well', function* () {
    const body = function* (timeout: Timeout) {
      timeout.reset()
      timeout.extend(1000)
      yield* sleep(10)
      return 'revived'
    }
    assert.equal(yield* moveOnAfter(0, body, 'expired'), 'expired')
    assert.equal(now(), 0)
  })

  test('a scope whose body catches its stop and returns still throws the error of the child', function* () {
    const oops = new Error('oops')
    let caught: unknown
    const body = function* () {
      spin(failAfter, 5, oops)
      caught = yield* thrownBy(sleep())
      return 'value'
    }
    assert.equal(yield* thrownBy(scope(body)), oops)
    assert.deepEqual([isStop(caught), (caught as Stop).reason], [true, oops])
  })

  for (const [what, around] of [
    ['fiber', (body: () => Op<void>) => body()],
    ['scope', scope],
  ] as const) {
    test(`a ${what} whose body caught a stop and returned stops its children`, function* () {
      let cleaned = 0
      const fiber = spin(() =>
        around(function* () {
          spin(() => waits(() => waits(() => (cleaned = now()), 1000)))
          yield* thrownBy(sleep())
        }),
      )
      yield* sleep(1)
      yield* fiber.stop()
      assert.deepEqual([cleaned, now()], [1001, 1001])
    })
  }

  const mine = new TypeError('mine')
  const givens: [string, given: any, (thrown: any) => boolean][] = [
    ['Cancel', undefined, (thrown) => thrown instanceof Cancel],
    ['the error given', mine, (thrown) => thrown === mine],
    ['the class given', RangeError, (thrown) => thrown instanceof RangeError],
    ['the message given', 'too slow', (thrown) => thrown instanceof Cancel && thrown.message === 'too slow'],
  ]
  const throws = (signal: unknown): never => {
    throw signal
  }
  const carries = (signal: unknown): never => {
    throw new Error('wrapped', { cause: signal })
  }
  for (const [what, given, isRight] of givens) {
    test(`an expired cancelAfter unwinds its body with its own stop, and throws ${what} where it was entered`, function* () {
      const ends: [string, (signal: unknown) => unknown][] = [
        ['throws it again', throws],
        ['returns', () => 'its own'],
        ['throws an error that carries it', carries],
      ]
      for (const [how, end] of ends) {
        const begin = now()
        let inside: unknown
        const body = function* () {
          inside = yield* thrownBy(sleep())
          yield* sleep(20) // cleanup may wait
          return end(inside)
        }
        const thrown = yield* thrownBy(cancelAfter(10, body, given))
        assert.deepEqual(
          [isStop(inside), inside instanceof Cancel, isRight(thrown)],
          [true, false, true],
          how,
        )
        assert.equal(now() - begin, 30)
      }
    })

    test(`a cleanup error that leaves an expired cancelAfter is thrown, and keeps ${what} in suppressed`, function* () {
      const error = new Error('in cleanup')
      const thrown = yield* thrownBy(cancelAfter(10, () => waits(() => failAfter(5, error)), given))
      assert.equal(thrown, error)
      assert.deepEqual(suppressedErrors(error).map(isRight), [true])
    })
  }

  test('a Cancel can only be caught outside of its limit', function* () {
    const log: string[] = []
    const value = yield* thrownBy(
      cancelAfter(10, function* () {
        try {
          yield* sleep()
        } catch (error) {
          if (error instanceof Cancel) log.push('caught inside')
          throw error
        }
      }),
    )
    assert.deepEqual([value instanceof Cancel, log], [true, []])
  })

  test('while cancelAfter unwinds its body, idle ops are refused as in any stop', function* () {
    const body = function* () {
      for (;;) {
        try {
          yield* receive()
        } catch {}
      }
    }
    assert.ok((yield* thrownBy(cancelAfter(10, body))) instanceof Cancel)
    assert.equal(now(), 10)
    assert.match(reports().join(), /^forced: swallowed stop at receive\(\)/)
  })

  test('the cleanup in a cancelAfter has the grace of its fiber; then it is forced, and the error is thrown', function* () {
    const clings = () => waits(() => sleep())
    const fiber = spin({ link: false, grace: 20 }, () => cancelAfter(10, clings, mine))
    assert.deepEqual([yield* fiber.join(), now()], [{ type: 'error', error: mine }, 30])
    assert.match(reports().join(), /^forced: /)
  })

  test('children of a scope in a cancelAfter are over, cleanup and all, when the error is thrown', function* () {
    const log: unknown[] = []
    const body = () =>
      scope(function* () {
        spin(() => waits(() => waits(() => log.push('cleaned up'), 20)))
        yield* sleep()
      })
    assert.ok((yield* thrownBy(cancelAfter(10, body))) instanceof Cancel)
    assert.deepEqual([log, now()], [['cleaned up'], 30])
  })

  test('a limit of 0 ms strikes at the first switchpoint, also if that is ready', function* () {
    const ready = yield* started(() => sleep(0))
    const body = function* () {
      yield* ready
      return 'went on'
    }
    assert.equal(yield* moveOnAfter(0, body, 'struck'), 'struck')
  })

  test('a fiber that is killed in the cleanup which a cancelAfter has begun is stopped, and does not fail', function* () {
    const fiber = yield* started(() => cancelAfter(5, () => waits(() => sleep())))
    yield* sleep(10)
    assert.deepEqual(yield* fiber.kill(), { type: 'stopped', value: undefined })
  })
})

describe('S67 raise and cancel', () => {
  test('every error class may be given, Error itself too', function* () {
    const thrown = [
      (yield* spin({ link: false }, () => sleep()).raise(Error, 'no')) as { error?: Error },
      (yield* spin({ link: false }, () => sleep()).cancel(Error)) as { error?: Error },
    ].map(({ error }) => error?.constructor)
    thrown.push((yield* thrownBy(cancelAfter(1, () => sleep(), Error))).constructor)
    assert.deepEqual(thrown, [Error, Error, Error])
  })

  for (const verb of ['raise', 'cancel'] as const) {
    test(`${verb} on a fiber that has not started fails it without running a line`, function* () {
      const outcome = yield* spin({ link: false }, () => assert.fail())[verb]('before it began')
      assert.ok(outcome.type === 'error')
      assert.equal((outcome.error as Error).message, 'before it began')
    })
  }

  test('its parent hears of it; and the error strikes before a stop', function* () {
    const child = spin(() => assert.fail())
    child.raise('early')
    child.stop()
    assert.equal((yield* thrownBy(sleep(10))).message, 'early')
    assert.equal((yield* thrownBy(child)).message, 'early')
  })

  test('on a fiber that is ending they do nothing, and taps are told', function* () {
    const dropped: string[] = []
    const untap = tap((event, fiber, detail) => {
      if (event === 'dropped') dropped.push(`${fiber.name}: ${(detail as Error).message}`)
    })
    const cleansUp = () => waits(() => sleep(10))
    const fiber = spin('fiber', function* () {
      spin(cleansUp)
      yield* cleansUp()
    })
    yield* sleep(1)
    fiber.stop('v')
    fiber.raise('requested')
    yield* sleep(5)
    assert.equal(fiber.phase, 'unwinding')
    fiber.cancel('unwinding')
    yield* sleep(10)
    assert.equal(fiber.phase, 'closing')
    fiber.raise('closing')
    assert.deepEqual(yield* fiber.join(), { type: 'stopped', value: 'v' })
    fiber.raise('dead')
    untap()
    assert.deepEqual(dropped, ['fiber: requested', 'fiber: unwinding', 'fiber: closing', 'fiber: dead'])
  })
})

describe('S68 equal deadlines', () => {
  test('moveOnAfter(5, () => sleep(5)) times out', function* () {
    assert.equal(yield* moveOnAfter(5, () => sleep(5), 'timed out'), 'timed out')
  })

  test('they fire in the order they were set', () => {
    const body = function* () {
      const log: number[] = []
      const waitFor = [moveOnAfter(5, () => sleep()), sleep(5), moveOnAfter(5, () => suspend())]
      const wait = function* (op: Op<unknown>, i: number) {
        yield* op
        log.push(i)
      }
      waitFor.forEach((op, i) => void spin(wait, op, i))
      yield* Fiber.current.joinChildren()
      assert.deepEqual(log, [0, 1, 2])
    }
    explore(body, { trace: '' }) // in this order, whatever POLY_SEED says
  })
})

describe('S69 ops are for yield* only', () => {
  const noIterator = {
    [Symbol.iterator]() {
      throw new Error('no iterator')
    },
  }
  // The iterators of arrays and strings have no throw method, so the language turns what is thrown at them into a
  // TypeError of its own. The fiber still fails with the error that names what was yielded.
  const ownOp = (next: () => unknown) => ({ [Symbol.iterator]: () => ({ next, throw: rethrow }) })
  const repeating = () => {
    let first: unknown
    return ownOp(() => (first ??= anything(sleep(1)).next()))
  }
  function rethrow(error: unknown): never {
    throw error
  }
  function* yielding(thing: unknown): Routine<void> {
    yield anything(thing)
  }
  for (const [what, make, message] of [
    ['yield of a number', () => yielding(5), /yielded 5, which is not an op/],
    ['yield of undefined', () => yielding(undefined), /yielded undefined/],
    ['yield of null', () => yielding(null), /yielded null/],
    ['yield of an object', () => yielding({}), /yielded an object of class Object/],
    ['yield of an object without a class', () => yielding(Object.create(null)), /yielded an object/],
    ['yield of an iterable without an iterator', () => yielding(noIterator), /yielded an object/],
    [
      'yield of a promise',
      () => yielding(Promise.resolve()),
      /yielded an object of class Promise.*yield\* until\(promise\)/,
    ],
    [
      'yield of an op',
      () => yielding(sleep(1)),
      /yielded sleep\(1\) without the star. Write yield\* sleep\(1\)/,
    ],
    ['yield of a generator', () => yielding((function* () {})()), /yielded the op without the star/],
    ['yield* of an array', () => [1], /yielded 1/],
    ['yield* of a string', () => 'text', /yielded "t"/],
    ['yield* of the iterator of an array', () => [1].values(), /yielded 1/],
    ['yield* of an op of its own kind', () => ownOp(() => ({ value: 5 })), /yielded 5/],
    ['yield* of one that repeats its first wait', repeating, /yielded the wait of an op that is not waiting/],
  ] as [string, () => unknown, RegExp][]) {
    test(`${what} is a BadYield that says so`, function* () {
      let cleaned = 0
      const body = function* () {
        try {
          yield* anything(make())
        } finally {
          cleaned++
        }
      }
      for (const around of [body, () => moveOnAfter(10, body), () => scope(body), () => shield(body)]) {
        const error = yield* failureOf(around)
        assert.ok(error instanceof BadYield, String(error))
        assert.match(error.message, message)
        assert.match(error.message, /main > culprit/)
      }
      assert.equal(cleaned, 4)
    })
  }

  test('a TypeError of the body itself is not taken for a BadYield', function* () {
    const mine = new TypeError('mine')
    const body = function* () {
      try {
        yield anything(5)
      } catch {
        throw mine
      }
    }
    assert.equal(yield* failureOf(body), mine)
  })

  test('a BadYield can be caught, and the fiber goes on', function* () {
    const fiber = spin(function* () {
      for (let i = 0; i < 100; i++) {
        try {
          yield anything(5)
        } catch (error) {
          assert.ok(error instanceof BadYield)
        }
      }
      yield* sleep(1)
      return 'sound'
    })
    assert.equal(yield* fiber, 'sound')
    assert.deepEqual(reports(), [])
  })

  for (const [what, around] of [
    ['body', (body: () => Op<void>) => body()],
    ['block', (body: () => Op<void>) => moveOnAfter(1000, body)],
  ] as const) {
    test(`a ${what} that catches it a hundred times and goes on is forced to end, and reported`, function* () {
      let yields = 0
      const body = function* () {
        while (yields < 10_000) {
          try {
            yields++
            yield anything(5)
          } catch {}
        }
      }
      yield* spin({ link: false }, () => around(body)).join()
      assert.ok(yields < 300, `${yields} yields`)
      assert.match(reports()[0] as string, /forced: .*yielded 5.*It did so 100 times and was forced to end/)
    })
  }

  const hand: [string, (op: any) => unknown][] = [
    ['spread', (op) => [...op]],
    ['destructuring', ([x]) => x],
    ['for of with break', forOf],
    ['Array.from', (op) => Array.from(op)],
  ]
  function forOf(op: any) {
    for (const x of op) return x
  }
  function* seven(): Routine<number> {
    yield* sleep(5)
    return 7
  }
  const soon = () => until(new Promise((resolve) => setImmediate(resolve, 7)))
  /** Ops, and how many fibers may wait for one object. */
  const ops: [string, number, () => Op<any>][] = [
    ['sleep', 1, () => sleep(5)],
    ['await', 1, () => spin(seven).await()],
    ['join', 1, () => spin(seven).join()],
    ['scope', 1, () => scope(seven)],
    ['a scope with a child', 1, () => scope(() => void spin(seven))],
    ['moveOnAfter', 1, () => moveOnAfter(10, () => seven())],
    ['a limit in a scope', 1, () => scope(() => moveOnAfter(10, () => seven()))],
    ['until', 1, soon],
    ['snooze', 2, () => snooze()],
    ['suspend', 2, () => suspend()],
    ['receive', 2, () => receive()],
    ['Fiber.await', 2, () => Fiber.await(spin(seven))],
    ['Fiber.select', 2, () => Fiber.select(spin(seven))],
    ['ensure', 2, () => ensure(seven, () => {})],
    ['every', 2, () => every(5, () => false)],
    ['a generator', 0, seven],
  ]
  for (const [name, fibers, make] of ops) {
    test(`${name} iterated by hand is a named error, and the fiber stays sound`, function* () {
      for (const [way, iterate] of hand) {
        const fiber = spin({ link: false }, function* () {
          assert.throws(() => iterate(make()), BadYield, way)
          yield* sleep(1)
          Fiber.current.send('m')
          assert.equal(yield* receive(), 'm')
          yield* Fiber.current.shutdownChildren()
          return 'sound'
        })
        assert.deepEqual(yield* fiber.join(), { type: 'value', value: 'sound' })
      }
    })

    if (fibers === 0) continue
    const promise = fibers === 1 ? 'is a named error for the second' : 'serves both'
    test(`${name} entered by two fibers at once ${promise}; later it may be used again`, function* () {
      const op = make()
      const waiting = [1, 2].map(() => spin({ link: false }, () => op))
      yield* sleep(20)
      yield* turn()
      for (const fiber of waiting) fiber.stop('waited')
      const outcomes = yield* Fiber.await(...waiting.map((fiber) => spin(() => fiber.join())))
      const failed = outcomes.flatMap((outcome) => (outcome.type === 'error' ? [outcome.error as any] : []))
      assert.deepEqual(
        failed.map(({ code }) => code),
        fibers === 1 ? ['BAD_ARGUMENT'] : [],
      )
      const again = [yield* moveOnAfter(20, () => op), yield* moveOnAfter(20, () => op)]
      assert.deepEqual(again[0], again[1])
    })
  }

  test('an op spread in the finally of a killed fiber does not hold the thread', function* () {
    const fiber = spin(() => waits(() => assert.throws(() => [...anything(sleep(1))], BadYield)))
    yield* sleep(1)
    assert.equal((yield* fiber.kill()).type, 'stopped')
  })

  test('an op entered by next() and left alone is taken back when the next one is entered', function* () {
    anything(sleep(50)).next()
    assert.ok((yield* thrownBy(sleep(1))) instanceof BadYield)
    yield* sleep(1)
    assert.equal(now(), 1)
    anything(snooze()).next()
    assert.ok((yield* thrownBy(snooze())) instanceof BadYield)
    yield* snooze()
  })

  test('a fiber that ends in an op entered by hand ends once, whatever else happens to it', function* () {
    let ends = 0
    const untap = tap((event, fiber) => {
      if (event === 'end' && fiber.name === 'culprit') ends++
    })
    for (const verb of ['parent', 'stop', 'raise', 'schedule'] as const) {
      for (const op of [suspend(), sleep(50)]) {
        const body = () => {
          anything(op).next()
          if (verb !== 'parent') Fiber.current[verb]()
        }
        yield* spin({ name: 'culprit', link: false }, body).join()
        yield* sleep(1)
      }
    }
    untap()
    assert.equal(ends, 8)
  })

  test('a block whose first fiber lets others run before it begins is refused to a second', function* () {
    const block = moveOnAfter(1000, () => sleep(5))
    const enter = function* () {
      for (let n = 0; n < 128; n++) yield* Fiber.await() // ready at once: spends the budget
      yield* block
    }
    for (let n = 0; n < 2; n++) spin({ link: false }, enter)
    const outcomes = yield* Fiber.current.joinChildren()
    const errors = outcomes.flatMap((outcome) => (outcome.type === 'error' ? [String(outcome.error)] : []))
    assert.equal(errors.length, 1)
    assert.match(errors[0]!, /moveOnAfter\(1000\) is already being waited for by main > /)
  })

  test('a block that lets others run before it begins, iterated by hand, can be entered again', function* () {
    const block = moveOnAfter(10, () => 'ended')
    const ways: ((op: any) => unknown)[] = [
      ([x]) => x,
      (op) => [...op],
      (op) => [...anything(scope(() => op))],
    ]
    for (const way of ways) {
      let refused = 0
      for (let n = 0; n < 300; n++) {
        try {
          way(block)
        } catch (error) {
          assert.ok(error instanceof BadYield)
          refused++ // the budget was spent
          assert.equal(yield* block, 'ended')
        }
      }
      assert.ok(refused > 0)
    }
  })

  test('a block entered inside itself is a named error, and the fiber stays sound', function* () {
    const block: Op<unknown> = moveOnAfter(10, function* () {
      const { code } = yield* thrownBy(block)
      yield* sleep(1)
      return code
    })
    assert.equal(yield* block, 'BAD_ARGUMENT')
    assert.equal(yield* moveOnAfter(5, () => sleep(), 'sound'), 'sound')
  })
})

describe('S70 exceptions of callbacks', () => {
  function rethrows(): never {
    throw new Error('thrown by tap')
  }
  type Where = 'enter' | 'abort' | 'discard' | 'describe'
  class Bad extends LateOp<string> {
    fiber!: Fiber
    constructor(private readonly at: Where[]) {
      super()
    }
    private fail(where: Where): void {
      if (this.at.includes(where)) throw new Error(`thrown by ${where}`)
    }
    enter(fiber: Fiber): void {
      this.fiber = fiber
      this.fail('enter')
    }
    abort(): void {
      this.fail('abort')
    }
    override discard(): void {
      this.fail('discard')
    }
    describe(): string {
      this.fail('describe')
      return 'a bad op'
    }
  }

  test('one of enter is thrown into the fiber that enters, which goes on', function* () {
    assert.equal((yield* thrownBy(new Bad(['enter']))).message, 'thrown by enter')
    yield* sleep(1)
  })

  for (const [at, report] of [
    [['abort'], 'uncaught: aborting a bad op failed: Error: thrown by abort'],
    [
      ['abort', 'describe'],
      'uncaught: aborting an op of class Bad whose describe() gives no text failed: Error: thrown by abort',
    ],
    [['discard'], 'uncaught: discarding the late value of a bad op failed: Error: thrown by discard'],
  ] as [Where[], string][]) {
    test(`one of ${at.join(' and ')} is reported: no fiber sees it`, function* () {
      const op = new Bad(at)
      const fiber = spin(() => op)
      yield* sleep(1)
      assert.equal(typeof fiber.waitsFor, 'string')
      assert.equal((yield* fiber.stop()).type, 'stopped')
      assert.equal(settle(op.fiber, op, 'late'), false)
      assert.deepEqual(reports(), [report])
    })
  }

  test('one of describe does not reach the clock', function* () {
    const cleanup = () => new Bad(['describe'])
    const overdue = yield* started(() => waits(cleanup))
    assert.equal((yield* overdue.stop(undefined, { grace: 10 })).type, 'stopped')
  })

  test('one of describe does not hide NotInFiber', () => {
    assert.throws(() => [...anything(new Bad(['describe']))], NotInFiber)
  })

  test('one of a tap listener is reported, and the others still listen', function* () {
    const events: string[] = []
    const untaps = [tap(rethrows), tap((event) => events.push(event))]
    yield* spin(() => sleep(1)).join()
    for (const untap of untaps) untap()
    assert.ok(events.includes('spin') && events.includes('end'))
    assert.deepEqual(new Set(reports()), new Set(['uncaught: a tap listener failed: Error: thrown by tap']))
    assert.equal(runtime().stats().reports, reports().length)
  })

  test('what a tap listener does is not told again; it may explore', function* () {
    const told: string[] = []
    let explored = 0
    const untap = tap((event, fiber) => {
      told.push(`${event} ${fiber.name}`)
      if (event !== 'block') return
      explored += explore(() => snooze()).schedules
      assert.throws(() => [...anything(sleep(1))], NotInFiber)
    })
    yield* sleep(1)
    yield* sleep(1)
    untap()
    assert.equal(explored, 2)
    assert.deepEqual(new Set(told), new Set(['block main', 'schedule main', 'unblock main']))
    assert.deepEqual(reports(), [])
  })

  test('an op that settles twice in enter is answered once', function* () {
    class Twice extends BaseOp<string> {
      enter(fiber: Fiber): void {
        settle(fiber, this, 'first')
        settle(fiber, this, 'second')
      }
      abort(): void {}
      describe = () => 'twice'
    }
    assert.equal(yield* new Twice(), 'first')
    yield* sleep(1)
  })

  class Unmakeable extends Error {
    constructor() {
      super()
      throw new Error('cannot be made')
    }
  }
  for (const ms of [0, 10]) {
    test(`an error class that cannot be made fails the cancelAfter(${ms}) it was given to, not the clock`, function* () {
      const other = spin(() => sleep(20))
      const body = () => thrownBy(cancelAfter(ms, () => sleep(), Unmakeable))
      assert.equal((yield* moveOnAfter(50, body, new Error('late'))).message, 'cannot be made')
      yield* other
    })
  }

  const throws = {
    get() {
      throw new Error('do not look')
    },
  }
  const errorWith = (name: string, property: object) => Object.defineProperty(new Error('x'), name, property)
  for (const [what, error] of [
    ['has a cause that throws when it is read', errorWith('cause', throws)],
    ['is a proxy whose traps throw', new Proxy({}, { getPrototypeOf: throws.get })],
  ] as const) {
    test(`an error that ${what} does not break the scheduler`, function* () {
      const fiber = yield* started(function* () {
        spin(() => waits(rethrows)) // its cleanup fails too: to be kept beside the error
        yield* waits(() => {
          throw error
        })
      })
      assert.equal((yield* fiber.stop()).type, 'error')
    })
  }

  test('an error that cannot be printed does not take the scheduler with it', async () => {
    let printed = ''
    const write = mock.method(process.stderr, 'write', (text: string) => (printed += text) !== '')
    const fails = () => {
      throw errorWith('stack', throws)
    }
    await run(function* () {
      spin({ link: false }, fails)
      yield* turn()
    }).finally(() => write.mock.restore())
    assert.match(printed, /^polyphony: .*fails/)
  })

  for (const [what, name] of [
    ['is a symbol', { value: Symbol('name') }],
    ['throws when it is read', throws],
  ] as const) {
    test(`a body whose name ${what} does not break the scheduler`, function* () {
      const body = () => void spin(() => sleep()) // stopped when the body ends: the reason names the parent
      assert.equal((yield* spin(Object.defineProperty(body, 'name', name)).join()).type, 'value')
    })
  }

  test('a mocked body whose result cannot be looked at fails its fiber, not the scheduler', function* () {
    const shy = new Proxy({}, throws)
    const body = mock.fn(waits as () => unknown, () => shy)
    assert.equal((yield* failureOf(body)).message, 'do not look')
  })

  /** A signal that refuses to let go of its listeners. */
  const stubborn = (): any => ({
    aborted: false,
    addEventListener() {},
    removeEventListener: rethrowsAs('removeEventListener'),
  })
  function rethrowsAs(what: string): () => never {
    return () => {
      throw new Error(`thrown by ${what}`)
    }
  }
  const lives: [string, body: () => unknown, act: (fiber: Fiber) => unknown, type: string][] = [
    ['a value', () => 1, () => {}, 'value'],
    ['a value after a wait', () => sleep(5), () => {}, 'value'],
    ['an error', () => failAfter(1, new Error('its own')), () => {}, 'error'],
    ['a stop', () => sleep(), (fiber) => fiber.stop(), 'stopped'],
    ['a stop before its first turn', () => assert.fail(), (fiber) => fiber.stop(), 'stopped'],
    ['a kill', () => sleep(), (fiber) => fiber.kill(), 'stopped'],
    ['a raise', () => sleep(), (fiber) => fiber.raise('raised'), 'error'],
    ['children that are stopped with it', () => void spin(() => waits(() => sleep(5))), () => {}, 'value'],
  ]
  for (const [what, body, act, type] of lives) {
    test(`one of removeEventListener is reported, and a fiber that ends by ${what} dies once`, function* () {
      let ends = 0
      const untap = tap((event, subject) => void (event === 'end' && subject === fiber && ends++))
      const fiber: Fiber = spin({ link: false, signal: stubborn() }, body as () => Op<unknown>)
      const observers = [spin(() => fiber.join()), spin(() => fiber.join())]
      if (what !== 'a stop before its first turn') yield* sleep(0)
      act(fiber)
      assert.deepEqual(
        (yield* Fiber.await(...observers)).map((outcome: any) => outcome.type),
        [type, type],
      )
      yield* sleep(1)
      untap()
      assert.deepEqual([ends, fiber.state, runtime().stats().fibers], [1, 'dead', 1])
      assert.deepEqual(
        reports().map((report) => report.includes('thrown by removeEventListener')),
        [true],
      )
    })
  }

  test('one of removeEventListener does not cost a parent, siblings or awaiters their turn', function* () {
    const log: string[] = []
    const parent = spin(function* () {
      spin(() => waits(() => log.push('older sibling')))
      spin({ signal: stubborn() }, () => waits(() => log.push('child')))
      spin(() => waits(() => log.push('younger sibling')))
      yield* sleep(5)
    })
    const awaiter = spin(() => parent.join())
    yield* Fiber.await(parent, awaiter)
    assert.deepEqual(log.sort(), ['child', 'older sibling', 'younger sibling'])
    assert.equal(runtime().stats().fibers, 1)
  })

  test('a restart of such a fiber goes well', function* () {
    const fiber = spin({ link: false, signal: stubborn() }, () => sleep(10))
    yield* sleep(1)
    fiber.restart()
    assert.deepEqual([(yield* fiber.join()).type, fiber.incarnation], ['value', 2])
  })

  test('one that a listener of the process throws inside a death is reported; the tree ends, and no fiber is left', async () => {
    const { code, stdout, stderr } = await program(`
      import { moveOnAfter, run, runtimeStats, sleep, spin, trap } from 'polyphony'
      let p
      await run(function* () {
        p = spin({ name: 'p', link: false }, function* () {
          spin('c', function* () { trap('SIGUSR2', () => {}); yield* sleep() })
          yield* sleep(5)
        })
        yield* sleep(1)
        process.on('removeListener', () => p.spin(() => sleep(1))) // throws: p is over by then
        const outcome = yield* moveOnAfter(1000, () => p.join(), 'still not dead')
        console.log(outcome?.type ?? outcome)
      }).catch((error) => console.log(error.message))
      console.log(runtimeStats().fibers, p.state)
      process.removeAllListeners('removeListener')
      process.exit()`)
    assert.deepEqual([stdout, code], ['value\n0 dead\n', 0], stderr)
    assert.match(stderr, /polyphony: .*a fiber cannot be spun|polyphony: .*is over/)
  })

  for (const moment of [RAN_OUT, ENDED, DIED] as const) {
    test(`one of a listener to an end (${moment}) is reported, and the others are told`, function* () {
      const fiber = yield* started(() => sleep(5))
      const bad = {
        before: null,
        after: null,
        watcher: null,
        moment,
        told: () => assert.fail('thrown by a listener'),
      }
      listen(fiber, bad)
      assert.deepEqual(yield* fiber.join(), { type: 'value', value: undefined })
      assert.match(reports().join(), /^uncaught: a listener to the end of .* failed: .*thrown by a listener$/)
      assert.equal(runtime().stats().fibers, 1)
    })
  }
})

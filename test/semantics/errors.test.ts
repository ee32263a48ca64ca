// S23-S30: which fibers receive an error, in which order, and that none is lost.

import {
  after,
  all,
  allSettled,
  any,
  assert,
  describe,
  ensure,
  errorFiber,
  Fiber,
  failAfter,
  failing,
  forEach,
  InjectedFailure,
  isStop,
  moveOnAfter,
  type Op,
  type Outcome,
  program,
  type Routine,
  race,
  raiseEverywhere,
  receive,
  receiveAllPending,
  reports,
  run,
  scope,
  shield,
  sleep,
  snooze,
  spin,
  started,
  suppressedErrors,
  suspend,
  tap,
  test,
  thrownBy,
  transfer,
  waits,
} from '../prelude.js'

/** A body whose cleanup fails, at once or after a while. */
const failsInCleanup = (error: Error, ms?: number) =>
  waits(() => {
    if (ms !== undefined) return failAfter(ms, error)
    throw error
  })

/** Holds what arrives for ten milliseconds. */
const held = () =>
  ensure(
    () => {},
    () => sleep(10),
  )

const oops = () => [new Error('a'), new Error('b')] as const

/** Ways to run bodies side by side that throw the first error. */
const together: [string, (bodies: (() => Op<unknown>)[]) => Op<unknown>][] = [
  ['scope', (bodies) => scope(() => bodies.forEach((body) => void spin(body)))],
  ['all', (bodies) => all(bodies)],
  ['race', (bodies) => race(bodies)],
  ['forEach', (bodies) => forEach(bodies, (body) => body(), { concurrency: 3 })],
]

describe('S23 the first error wins', () => {
  for (const [name, op] of together) {
    test(`${name} throws the first error itself; the later ones are suppressed`, function* () {
      const [a, b] = oops()
      assert.equal(yield* thrownBy(op([() => failAfter(5, a)])), a)
      assert.deepEqual(suppressedErrors(a), [])
      const [first, later] = [new Error('first'), b]
      assert.equal(yield* thrownBy(op([() => failsInCleanup(later), () => failAfter(5, first)])), first)
      assert.deepEqual(suppressedErrors(first), [later])
    })
  }

  test('any throws an AggregateError, also of one error', function* () {
    const [a, b] = oops()
    const thrown = yield* thrownBy(any([() => failAfter(5, a)]))
    assert.ok(thrown instanceof AggregateError)
    assert.deepEqual(thrown.errors, [a])
    assert.deepEqual((yield* thrownBy(any([() => failAfter(5, a), () => failAfter(2, b)]))).errors, [a, b])
  })

  test('allSettled tells of every end', function* () {
    const [a, b] = oops()
    assert.deepEqual(yield* allSettled([() => failAfter(5, a), () => failAfter(2, b), () => 3]), [
      { type: 'error', error: a },
      { type: 'error', error: b },
      { type: 'value', value: 3 },
    ])
  })
})

describe('S24 who receives an error', () => {
  const switchpoints: [string, () => Op<unknown>][] = [
    ['sleep for ever', () => sleep()],
    ['receive', () => receive()],
    ['suspend', () => suspend()],
    ['scope', () => scope(() => sleep(1000))],
    ['moveOnAfter', () => moveOnAfter(1000, () => sleep(2000))],
    ['shield', () => shield(() => sleep(1000))],
    ['awaiting another child', () => Fiber.current.spin(() => sleep(1000))],
  ]
  for (const [name, wait] of switchpoints) {
    test(`an uncaught error strikes the parent at its switchpoint, once: ${name}`, function* () {
      const error = new Error('child')
      const child = spin(failAfter, 5, error)
      assert.equal(yield* thrownBy(wait()), error)
      assert.equal(errorFiber(error), child)
      yield* sleep(10)
    })
  }

  test('an error that no fiber catches goes up to the root, the same object', async () => {
    const error = new Error('deep')
    const seen: unknown[] = []
    function* level(depth: number): Routine<void> {
      try {
        if (depth === 0) throw error
        spin(level, depth - 1)
        yield* suspend()
      } catch (thrown) {
        seen.push(thrown)
        throw thrown
      }
    }
    await assert.rejects(
      run(() => level(2)),
      (thrown) => thrown === error,
    )
    assert.deepEqual(seen, [error, error, error])
  })

  test('every observer receives it, and so does the parent that is none of them', function* () {
    const error = new Error('child')
    const child = spin(failAfter, 5, error)
    const observers = [spin(() => thrownBy(child)), spin(() => child.join())]
    assert.equal(yield* thrownBy(sleep()), error)
    assert.deepEqual(yield* Fiber.await(...observers), [error, { type: 'error', error }])
  })

  test('a parent that observes receives it by that alone', function* () {
    const [a, b] = oops()
    assert.equal(yield* thrownBy(spin(failAfter, 5, a)), a)
    assert.deepEqual(yield* spin(failAfter, 5, b).join(), { type: 'error', error: b })
    yield* sleep(10) // a second delivery would strike here
  })

  test('a parent whose await has timed out is no observer any more', function* () {
    const error = new Error('child')
    const child = spin(failAfter, 50, error)
    assert.equal(yield* moveOnAfter(5, () => child, 'late'), 'late')
    assert.equal(yield* thrownBy(sleep()), error)
  })

  test('monitoring is not observing', function* () {
    const error = new Error('child')
    spin(failAfter, 1, error).monitor()
    assert.equal(yield* thrownBy(sleep()), error)
    assert.equal(receiveAllPending().length, 1)
  })

  test('an end listener that attaches a failing raw fiber does not make its error vanish', function* () {
    const raw = new Fiber(() => failing('raw'))
    const home = spin(() => sleep())
    const untap = tap((event, fiber) => {
      if (event === 'end' && fiber === raw) raw.attachTo(home)
    })
    const thrown = yield* thrownBy(moveOnAfter(10, () => transfer(raw)))
    untap()
    assert.equal(thrown.message, 'raw')
  })

  test('an error raised anywhere in a tree is received', () => {
    function* family(): Routine<unknown[]> {
      const child = spin(() => sleep(5))
      const sibling = spin(() => child.join())
      yield* scope(() => void spin(() => sleep(3)))
      return [yield* child.join(), yield* sibling.join()]
    }
    const check = (outcome: Outcome<unknown>) => {
      const isReceived = (end: any): boolean =>
        end.type === 'error' ? end.error instanceof InjectedFailure : [end.value].flat().some(isReceived)
      assert.ok(isReceived(outcome))
    }
    assert.ok(raiseEverywhere(() => spin(family).join(), { check }).runs > 5)
  })
})

describe('S25 once', () => {
  test('an error that a sibling awaited and threw on comes up once', function* () {
    const error = new Error('child')
    const child = spin(failAfter, 5, error)
    const sibling = spin(() => child.await())
    assert.equal(yield* thrownBy(sleep(10)), error)
    yield* sleep(10)
    assert.deepEqual(sibling.outcome, { type: 'error', error })
  })

  const ways: [string, (fiber: Fiber<any>) => Op<unknown>][] = [
    ['await', (fiber) => thrownBy(fiber.await())],
    ['join', (fiber) => fiber.join()],
    ['Fiber.await', (fiber) => thrownBy(Fiber.await(fiber))],
    ['Fiber.select', (fiber) => thrownBy(Fiber.select(fiber))],
    ['joinChildren', () => Fiber.current.joinChildren()],
  ]
  for (const [name, wait] of ways) {
    test(`an error that a fiber has received from ${name} does not come up into it as well`, function* () {
      const error = new Error('child')
      yield* wait(spin(failAfter, 1, error))
      const second = spin(failAfter, 1, error)
      yield* sleep(5)
      assert.deepEqual(second.outcome, { type: 'error', error })
    })
  }

  test('awaiting always tells, also of an error that came up before', function* () {
    const error = new Error('child')
    const child = spin(failAfter, 5, error)
    assert.equal(yield* thrownBy(sleep()), error)
    for (let i = 0; i < 3; i++) assert.equal(yield* thrownBy(child), error)
  })
})

describe('S26 several at once', () => {
  /** Two children fail while the fiber holds all signals; then it passes so many switchpoints. */
  function* receives(count: number, log: unknown[]): Routine<void> {
    yield* held()
    for (let i = 0; i < count; i++) {
      try {
        yield* snooze()
      } catch (thrown) {
        log.push(isStop(thrown) ? 'stop' : thrown)
      }
    }
  }
  const failsTwice = (count: number, log: unknown[], [a, b]: readonly [Error, Error]) =>
    spin({ link: false }, function* () {
      spin(failAfter, 1, a)
      spin(failAfter, 3, b)
      yield* receives(count, log)
    })

  test('errors strike at successive switchpoints in order of arrival, raised ones too, then the stop', function* () {
    const log: unknown[] = []
    const [a, b] = oops()
    const raised = new Error('raised')
    const fiber = failsTwice(5, log, [a, b])
    yield* sleep(2)
    fiber.raise(raised)
    yield* sleep(2)
    assert.deepEqual(yield* fiber.stop('v'), { type: 'stopped', value: 'v' })
    assert.deepEqual(log, [a, raised, b, 'stop'])
  })

  test('a fiber that ends before it has received them fails with the first, the rest suppressed', function* () {
    for (const count of [0, 1, 2]) {
      const log: unknown[] = []
      const errors = oops()
      const outcome = yield* failsTwice(count, log, errors).join()
      assert.deepEqual(log, errors.slice(0, count))
      assert.equal(outcome.type === 'error' ? outcome.error : undefined, errors[count])
      assert.deepEqual(suppressedErrors(errors[0]), count === 0 ? [errors[1]] : [])
    }
  })

  test('the own error of a body goes before child errors that were not delivered', function* () {
    const [a, b] = oops()
    const parent = spin(function* () {
      spin(failAfter, 1, a)
      yield* held()
      throw b
    })
    assert.equal(yield* thrownBy(parent), b)
    assert.deepEqual(suppressedErrors(b), [a])
  })

  test('a raise that was not delivered when the body ends is dropped, and told to taps', function* () {
    const error = new Error('too late')
    const dropped: unknown[] = []
    const untap = tap((event, _fiber, detail) => void (event === 'dropped' && dropped.push(detail)))
    const fiber = spin(function* () {
      yield* sleep(1)
      Fiber.current.raise(error)
      return 'done'
    })
    assert.equal(yield* fiber, 'done')
    untap()
    assert.deepEqual(dropped, [error])
  })

  test('a child error reaches a fiber that has not started: it fails without running a line', function* () {
    const error = new Error('child')
    const raw = new Fiber(() => assert.fail('must not run'))
    assert.equal(yield* thrownBy(raw.spin(failAfter, 5, error)), error)
    assert.equal(yield* thrownBy(raw), error)
  })
})

describe('S27 a fiber that is ending', () => {
  test('is not interrupted by the error of a child, which becomes its outcome', function* () {
    const error = new Error('child')
    let isClean = false
    const fiber = yield* started(function* () {
      spin(failAfter, 10, error)
      yield* waits(() => after(20, () => (isClean = true)))
    })
    assert.deepEqual(yield* fiber.stop('v'), { type: 'error', error })
    assert.ok(isClean)
  })

  test('keeps the error of its cleanup; that of the child is suppressed', function* () {
    const [a, b] = oops()
    const fiber = yield* started(function* () {
      spin(failAfter, 10, b)
      yield* failsInCleanup(a, 20)
    })
    assert.deepEqual(yield* fiber.stop(), { type: 'error', error: a })
    assert.deepEqual(suppressedErrors(a), [b])
  })
})

describe('S28 siblings', () => {
  test('are left alone if the parent handles the error, else stopped with it', function* () {
    const error = new Error('child')
    const siblings: Fiber<void>[] = []
    const family = (handles: boolean) =>
      spin({ link: false }, function* () {
        siblings.push(spin(() => sleep(100)))
        spin(failAfter, 5, error)
        if (handles) yield* thrownBy(sleep())
        yield* sleep(200)
      })
    yield* family(true).join()
    assert.equal(yield* thrownBy(family(false)), error)
    assert.deepEqual(
      siblings.map((sibling) => sibling.outcome?.type),
      ['value', 'stopped'],
    )
  })

  for (const [name, op] of together) {
    test(`${name} stops the others and waits for their cleanup, then throws`, function* () {
      const error = new Error('child')
      const log: string[] = []
      const other = (what: string) => () => waits(() => waits(() => log.push(what), 10))
      assert.equal(yield* thrownBy(op([other('one'), () => failAfter(5, error), other('two')])), error)
      assert.deepEqual(log.sort(), ['one', 'two'])
    })
  }

  test('scope stops its body too, and an error of the body stops the children first', function* () {
    const [a, b] = oops()
    const log: string[] = []
    const note = (what: string) => waits(() => void log.push(what))
    const fromChild = scope(function* () {
      spin(failAfter, 5, a)
      yield* note('body')
    })
    assert.equal(yield* thrownBy(fromChild), a)
    const fromBody = scope(function* () {
      spin(note, 'child')
      yield* failAfter(5, b)
    })
    assert.equal(yield* thrownBy(fromBody), b)
    assert.deepEqual(log, ['body', 'child'])
  })
})

describe('S29 isolation', () => {
  test('the error of an isolated fiber goes only to observers', function* () {
    const error = new Error('isolated')
    const fiber = spin({ link: false }, failAfter, 5, error)
    const observer = spin(() => fiber.join())
    yield* sleep(10) // the parent is not struck
    assert.deepEqual(yield* observer, { type: 'error', error })
    assert.deepEqual(reports(), [])
  })

  test('without an observer it is reported at once; awaiting later still tells', function* () {
    const error = new Error('isolated')
    const value = yield* scope(function* () {
      const fiber = spin({ link: false, name: 'alone' }, failAfter, 5, error)
      yield* sleep(6)
      assert.equal(reports().length, 1)
      assert.match(reports()[0]!, /^unobserved: .*main > alone/)
      assert.equal(yield* thrownBy(fiber), error)
      return 'the scope goes on'
    })
    assert.equal(value, 'the scope goes on')
    assert.equal(reports().length, 1)
  })

  test('inside an isolated fiber errors come up as usual', function* () {
    const error = new Error('grandchild')
    const fiber = spin({ link: false }, function* () {
      spin(failAfter, 5, error)
      yield* sleep()
    })
    assert.equal(yield* thrownBy(fiber), error)
  })
})

describe('S30 unhandled errors', () => {
  test('run rejects with the error that reached the root, the suppressed ones in it', async () => {
    const [a, b] = oops()
    const running = run(
      function* () {
        spin(failsInCleanup, b)
        spin('server', function* () {
          spin('conn#42', () => {
            throw a
          })
          yield* suspend()
        })
        yield* suspend()
      },
      { name: 'program' },
    )
    await assert.rejects(running, (thrown) => thrown === a)
    assert.deepEqual(suppressedErrors(a), [b])
    assert.equal(errorFiber(a)?.path, 'program > server > conn#42')
  })

  test('main prints the error, its path and every error that it carries, and exits with 1', async () => {
    const { code, stderr } = await program(`
      import { any, main, sleep, spin, suspend } from 'polyphony'
      main(function* () {
        spin('late', function* () {
          try { yield* suspend() } finally { throw new Error('the suppressed one') }
        })
        spin('server', () => any([() => { throw new Error('the reason') }]))
        yield* suspend()
      })`)
    assert.equal(code, 1)
    for (const line of ['AggregateError', 'main > server', 'the reason', 'the suppressed one', 'main > late'])
      assert.ok(stderr.includes(line), `${line} is missing in ${stderr}`)
  })
})

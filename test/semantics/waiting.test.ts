// S31-S33: waiting for fibers to end, and waits that can never end.

import { BaseOp } from 'polyphony/op'
import {
  after,
  all,
  any,
  assert,
  BadYield,
  type Call,
  Condition,
  call,
  cancelAfter,
  DeadlockError,
  describe,
  endListeners,
  ensure,
  Fiber,
  FiberStopped,
  failAfter,
  failing,
  isStop,
  Mutex,
  moveOnAfter,
  neverLetsGo,
  now,
  type Op,
  type Routine,
  race,
  raiseEverywhere,
  receive,
  runtime,
  Semaphore,
  scope,
  shield,
  sleep,
  spin,
  started,
  stopEverywhere,
  supervise,
  suppressedErrors,
  suspend,
  test,
  thrownBy,
  transfer,
  until,
  use,
  virtual,
  waits,
  whole,
} from '../prelude.js'

function* valueAfter<T>(ms: number, value: T): Routine<T> {
  yield* sleep(ms)
  return value
}

/** A fiber that waits, and cleans up for so long. */
const slow = (ms: number) => spin({ link: false }, waits, () => sleep(ms))

/** Ways to wait for one fiber. */
const ways: [string, (fiber: Fiber<any>) => Op<unknown>][] = [
  ['yield*', (fiber) => fiber],
  ['await', (fiber) => fiber.await()],
  ['join', (fiber) => fiber.join()],
  ['Fiber.await', (fiber) => Fiber.await(fiber)],
  ['Fiber.select', (fiber) => Fiber.select(fiber)],
]

describe('S31 three ways', () => {
  test('await gives the value, or that of the stop, also a falsy one, or throws the error', function* () {
    const error = new Error('no')
    assert.equal(yield* spin(valueAfter, 5, 42), 42)
    assert.equal(yield* spin(valueAfter, 5, 42).await(), 42)
    assert.equal(yield* thrownBy(spin(failAfter, 5, error)), error)
    for (const value of [7, 0, '', false, null]) {
      const fiber = spin(() => sleep())
      fiber.stop(value)
      assert.equal(yield* fiber, value)
      assert.deepEqual(yield* Fiber.await(fiber), [value])
    }
  })

  test('without a value of the stop it throws FiberStopped: an ordinary error with the reason as cause', function* () {
    const reason = new Error('the budget is spent')
    const fiber = spin('worker', () => sleep())
    fiber.stop(undefined, { reason })
    const error = yield* thrownBy(fiber)
    yield* sleep(5) // it lives on
    assert.ok(error instanceof FiberStopped && !isStop(error))
    assert.deepEqual([error.name, error.code, error.cause], ['FiberStopped', 'FIBER_STOPPED', reason])
    assert.match(error.message, /main > worker .*join\(\)/)
    const failed = yield* spin({ link: false }, () => fiber).join()
    assert.ok(failed.type === 'error' && failed.error instanceof FiberStopped)
  })

  test('an abandoned fiber was stopped without a value', function* () {
    const fiber = yield* started(neverLetsGo)
    assert.deepEqual(yield* fiber.kill(), { type: 'abandoned' })
    assert.deepEqual(yield* fiber.join(), { type: 'abandoned' })
    assert.match((yield* thrownBy(fiber)).message, /abandoned/)
  })

  test('join gives the outcome and never throws', function* () {
    const error = new Error('no')
    const stopped = spin(() => sleep())
    stopped.stop('v')
    assert.deepEqual(yield* spin(valueAfter, 1, 1).join(), { type: 'value', value: 1 })
    assert.deepEqual(yield* spin(failAfter, 1, error).join(), { type: 'error', error })
    assert.deepEqual(yield* stopped.join(), { type: 'stopped', value: 'v' })
  })

  for (const [name, wait] of ways) {
    test(`a stop of the waiter in ${name}, or a time-out, leaves the fiber alone`, function* () {
      const target = spin(valueAfter, 100, 'whole')
      const waiter = yield* started(() => scope(() => wait(target)) as Routine<unknown>)
      yield* waiter.stop()
      assert.equal(yield* moveOnAfter(1, () => wait(target), 'late'), 'late')
      assert.equal(yield* target, 'whole')
    })

    test(`a dead fiber answers ${name} at once, as often as it is asked`, function* () {
      const target = spin(valueAfter, 5, 'value')
      const first = yield* wait(target)
      for (let i = 0; i < 3; i++) assert.deepEqual(yield* wait(target), first)
      assert.deepEqual(yield* Fiber.await(spin(() => wait(target))), [first])
    })
  }

  test('Fiber.await gives all values in order, of dead ones too; of none an empty list', function* () {
    const dead = spin(valueAfter, 1, 'dead')
    yield* dead
    const [late, fast] = [spin(valueAfter, 20, 'late'), spin(valueAfter, 2, 'fast')]
    assert.deepEqual(yield* Fiber.await(late, dead, fast), ['late', 'dead', 'fast'])
    assert.deepEqual(yield* Fiber.await(), [])
  })

  test('at the first error it stops the rest, waits for them, then throws; their errors are suppressed', function* () {
    const [a, b] = [new Error('first'), new Error('cleanup')]
    let isClean = false
    const rest = [spin(waits, () => failAfter(5, b)), spin(waits, () => after(10, () => (isClean = true)))]
    assert.equal(yield* thrownBy(Fiber.await(...rest, spin('bad', failAfter, 5, a))), a)
    assert.ok(isClean)
    assert.equal(rest[1]!.stopReason, 'bad failed')
    assert.deepEqual(suppressedErrors(a), [b])
    yield* sleep(10) // it does not strike a second time
  })

  test('one that failed before, and one stopped without a value, count as errors', function* () {
    const error = new Error('before')
    const failed = spin({ link: false }, failAfter, 1, error)
    yield* failed.join()
    const others = [spin(() => sleep()), spin(() => sleep())]
    assert.equal(yield* thrownBy(Fiber.await(others[0]!, failed)), error)
    const stopped = spin(() => sleep())
    stopped.stop()
    assert.ok((yield* thrownBy(Fiber.await(others[1]!, stopped))) instanceof FiberStopped)
    for (const other of others) assert.equal(other.outcome?.type, 'stopped')
  })

  test('a fiber given twice to Fiber.await or Fiber.select costs no other observer its answer', function* () {
    for (const wait of [Fiber.await, Fiber.select] as ((...fibers: Fiber[]) => Op<unknown>)[]) {
      const error = new Error('no')
      const target = spin({ link: false }, failAfter, 5, error)
      const twice = spin(() => thrownBy(wait(target, target)))
      yield* sleep(1)
      const other = spin(() => target.join())
      assert.equal(yield* twice, error)
      assert.deepEqual(yield* other, { type: 'error', error })
    }
  })

  test('Fiber.await keeps how a fiber ended, though it lives again before the others have ended', function* () {
    const again = spin(() =>
      valueAfter([0, 10, 5, 30][Fiber.current.incarnation]!, Fiber.current.incarnation),
    )
    const slow = [spin(valueAfter, 25, 'slow'), spin(valueAfter, 25, 'slow too')]
    const early = spin(() => Fiber.await(again, ...slow))
    yield* again
    const late = spin(() => Fiber.await(again, ...slow))
    yield* sleep(1)
    assert.equal(yield* again.restart(), 2)
    const other = spin(() => again.restart())
    assert.deepEqual(yield* early, [1, 'slow', 'slow too'])
    assert.deepEqual(yield* late, [1, 'slow', 'slow too'])
    assert.equal(yield* other, 3)
  })

  test('what await and join return serves one wait at a time, and again after it', function* () {
    const fiber = spin(valueAfter, 10, 'value')
    for (const op of [fiber.await(), fiber.join()]) {
      const waiter = spin(() => moveOnAfter(5, () => op, 'timed out'))
      yield* sleep(1)
      const { code, message } = yield* thrownBy(op)
      assert.deepEqual([code, /already being waited for/.test(message)], ['BAD_ARGUMENT', true])
      assert.equal(yield* waiter, 'timed out')
      const answer = yield* op
      fiber.restart()
      assert.notEqual(answer, 'timed out')
      assert.notEqual(yield* op, 'timed out')
      fiber.restart()
    }
    yield* fiber
  })

  test('the error of a bystander strikes Fiber.await after the rest have ended, none is lost', function* () {
    const [a, b] = [new Error('first'), new Error('of a bystander')]
    const waiter = spin({ link: false }, function* () {
      spin(failAfter, 10, b)
      yield* Fiber.await(slow(50), spin(failAfter, 5, a))
    })
    assert.equal(yield* thrownBy(waiter), a)
    assert.deepEqual(suppressedErrors(a), [b])
  })

  test('the error of a raw fiber is not lost when Fiber.await is cut', function* () {
    const raw = new Fiber(() => waits(() => failing('of the raw fiber')))
    const waiter: Fiber = spin({ link: false }, function* () {
      const bad = spin({ link: false }, failAfter, 5, new Error('first'))
      spin(waits, () => waiter.schedule(), 1)
      yield* transfer(raw) // the waiter is told of its end from now on
      yield* Fiber.await(bad, raw, slow(100))
    })
    yield* sleep(10)
    const outcome = yield* waiter.stop()
    const told = whole(outcome.type === 'error' && outcome.error).map((error) => (error as Error).message)
    assert.deepEqual(told.sort(), ['first', 'of the raw fiber'])
  })

  test('an error is not lost when the failed child lives again elsewhere before joinChildren is cut', function* () {
    const error = new Error('of its first life')
    const parent = yield* started(function* () {
      spin(function* () {
        if (Fiber.current.incarnation === 1) yield* failAfter(5, error)
        yield* sleep()
      })
      spin(() => sleep())
      yield* Fiber.current.joinChildren()
    })
    const [bad, other] = parent.children as [Fiber, Fiber]
    yield* sleep(10)
    bad.restart().attachTo(other)
    yield* sleep(1)
    assert.deepEqual(yield* parent.stop(), { type: 'error', error })
  })

  test('Fiber.await that is iterated by hand after a failure loses no error', function* () {
    const error = new Error('first')
    const failed = spin({ link: false }, failAfter, 1, error)
    yield* failed.join()
    const waiting = Fiber.await(failed, slow(5))
    const thrown = yield* thrownBy(
      scope(() => {
        for (const _ of waiting);
      }),
    )
    assert.ok(thrown instanceof BadYield)
    assert.deepEqual(suppressedErrors(thrown), [error])
    yield* sleep(1) // it does not strike as well
  })

  test('a wait for fibers can be stopped and raised in anywhere', () => {
    const scenario = function* () {
      const [child, other] = [spin(valueAfter, 5, 1), spin(waits, () => sleep(5), 20)]
      yield* Fiber.select(other, child)
      yield* Fiber.await(other, child)
      yield* spin(() => child.join())
    }
    assert.ok(stopEverywhere(scenario).switchpoints > 5)
    raiseEverywhere(scenario)
  })
})

describe('S32 awaiting yourself', () => {
  const own: [string, (self: Fiber) => Op<unknown>][] = [
    ...ways,
    ['Fiber.await with others', (self) => Fiber.await(spin(valueAfter, 10, 1), self)],
    ['a stop inside a shield', (self) => shield(() => self.stop())],
    ['call', (self) => call(self, 'hello?')],
  ]
  for (const [name, wait] of own) {
    test(`throws DeadlockError at once: ${name}`, function* () {
      const fiber = spin('narcissus', () => thrownBy(scope(() => wait(Fiber.current))))
      const error = yield* fiber
      assert.ok(error instanceof DeadlockError)
      assert.match(error.message, /main > narcissus/)
    })
  }

  test('a push into the own full mailbox as well', function* () {
    const { mailbox } = Fiber.current
    mailbox.cap(1)
    yield* mailbox.push(1)
    const error = yield* thrownBy(mailbox.push(2))
    assert.ok(error instanceof DeadlockError)
    assert.match(error.message, /own full mailbox/)
  })

  test('a circle through a full mailbox is not refused: any code can raise the cap', function* () {
    const receiver = spin(function* () {
      Fiber.current.mailbox.cap(1)
      yield* sleep(2)
      return yield* sender
    })
    const sender: Fiber<boolean[]> = spin(function* () {
      yield* sleep(1)
      return [yield* receiver.mailbox.push(1), yield* receiver.mailbox.push(2)]
    })
    yield* sleep(3)
    assert.equal(receiver.state, 'waiting')
    receiver.mailbox.cap(2)
    assert.deepEqual(yield* receiver, [true, true])
  })

  /** So many fibers in a circle, each awaits the next; they come one after the other. */
  function circle(n: number, wait = (fiber: Fiber<any>): Op<unknown> => fiber.join()): Fiber<any>[] {
    const fibers: Fiber<any>[] = Array.from({ length: n }, (_, i) =>
      spin({ name: `f${i}`, link: false }, function* () {
        yield* sleep(i + 1)
        return yield* wait(fibers[(i + 1) % n]!)
      }),
    )
    return fibers
  }

  test('a circle of awaits is found by the fiber that closes it, and named', function* () {
    const [a, b] = circle(2)
    const error = yield* thrownBy(b!)
    assert.ok(error instanceof DeadlockError)
    assert.match(error.message, /main > f1.*main > f0/s)
    assert.deepEqual((yield* a!.join()).type, 'value') // b has ended, so a goes on
    assert.ok((yield* thrownBy(circle(1000).at(-1)!)) instanceof DeadlockError)
  })

  test('one that is longer than 1,000 is left to S33', async () => {
    const deadlock = virtual(() => circle(1001).at(-1)!)
    await assert.rejects(deadlock, { code: 'DEADLOCK', message: /f0 {2}waiting for f1 to end/ })
  })

  test('a circle in which one waits inside a time limit is none, whichever comes last', function* () {
    for (const limited of ['f0', 'f1', 'f2']) {
      const fibers = circle(3, (next) =>
        Fiber.current.name === limited ? moveOnAfter(50, () => scope(() => next), 'moved on') : next,
      )
      assert.deepEqual(yield* Fiber.await(...fibers), Array(3).fill('moved on'))
    }
  })

  test('a chain that ends in a fiber which waits for something else is none', function* () {
    const last = spin(valueAfter, 10, 'value')
    const first = spin(() => spin(() => last).await())
    assert.equal(yield* first, 'value')
  })

  test('a child may await an ancestor: it is stopped when that one ends', function* () {
    let child!: Fiber
    const parent = spin(function* () {
      const self = Fiber.current
      child = spin(() => self)
      yield* sleep(10)
      return 1
    })
    assert.equal(yield* parent, 1)
    assert.equal(child.outcome?.type, 'stopped')
  })

  /** A fiber that begins at `ms`, and gives what it ends with: the DeadlockError, or its value. */
  type Part = [name: string, ms: number, body: () => Op<unknown>]
  /** Runs the parts beside a fiber that lives on, and gives how each ended. What hangs is stopped after a while. */
  function* play(parts: Part[]): Routine<Record<string, any>> {
    spin('ticker', function* () {
      for (;;) yield* sleep(1)
    })
    const fibers = parts.map(([name, ms, body]) =>
      spin({ name, link: false }, function* () {
        yield* sleep(ms)
        return yield* body()
      }),
    )
    players.splice(0, Infinity, ...fibers)
    yield* sleep(100)
    const ends: Record<string, any> = {}
    for (const fiber of fibers) {
      const { error, value, type }: any = fiber.outcome ?? { value: 'hangs' }
      ends[fiber.name] = error ?? (type === 'stopped' ? type : value)
      fiber.kill()
    }
    return ends
  }
  /** The fibers of the play, by their place. */
  const players: Fiber<any>[] = []
  const part = (i: number) => players[i] as Fiber<any>
  const named = (...names: string[]) => names.map((name) => new Mutex({ name }))
  const inside = (mutex: Mutex | undefined, ms: number, then: () => Op<unknown>) => () =>
    mutex!.synchronize(function* () {
      yield* sleep(ms)
      return yield* then()
    })
  const isOver = () => sleep(0)

  /** What closes a circle, which part closes it, and what its message must name. */
  const circles: [string, () => Part[], closer: string, says: RegExp[]][] = [
    [
      'two mutexes, locked in two orders',
      () => {
        const [a, b] = named('accounts', 'ledger')
        return [
          ['one', 1, inside(a, 5, () => b!.synchronize(isOver))],
          ['two', 2, inside(b, 5, () => a!.synchronize(isOver))],
        ]
      },
      'two',
      [/main > one/, /main > two/, /accounts/, /ledger/],
    ],
    [
      'two mutexes, by lock()',
      () => {
        const [a, b] = named('accounts', 'ledger')
        const both = (x: Mutex, y: Mutex) =>
          function* () {
            yield* x.lock()
            try {
              yield* sleep(5)
              yield* y.lock()
              y.unlock()
            } finally {
              x.unlock()
            }
          }
        return [
          ['one', 1, both(a!, b!)],
          ['two', 2, both(b!, a!)],
        ]
      },
      'two',
      [/main > one/, /main > two/, /accounts/, /ledger/],
    ],
    [
      'three mutexes',
      () => {
        const list = named('a1', 'b2', 'c3')
        return list.map((mutex, i) => [
          `f${i}`,
          i,
          inside(mutex, 5, () => list[(i + 1) % 3]!.synchronize(isOver)),
        ])
      },
      'f2',
      [/main > f0/, /main > f1/, /main > f2/, /a1/, /b2/, /c3/],
    ],
    [
      'a mutex held twice by its fiber',
      () => {
        const [a, b] = named('accounts', 'ledger')
        return [
          ['one', 1, () => a!.synchronize(inside(a, 5, () => b!.synchronize(isOver)))],
          ['two', 2, inside(b, 5, () => a!.synchronize(isOver))],
        ]
      },
      'two',
      [/accounts/, /ledger/],
    ],
    [
      'a mutex, and an await of the fiber that wants it',
      () => {
        const [a] = named('accounts')
        return [
          ['one', 1, inside(a, 5, () => part(1).join())],
          ['two', 2, () => a!.synchronize(isOver)],
        ]
      },
      'one',
      [/main > one/, /main > two/, /accounts/],
    ],
    [
      'the same, and the await comes first',
      () => {
        const [a] = named('accounts')
        return [
          ['one', 1, inside(a, 5, () => part(1).join())],
          ['two', 10, () => a!.synchronize(isOver)],
        ]
      },
      'two',
      [/main > one/, /main > two/, /accounts/],
    ],
    [
      'a mutex, and a call to the fiber that wants it before it receives',
      () => {
        const [a] = named('accounts')
        return [
          ['one', 1, inside(a, 5, () => call(part(1), 'question'))],
          ['two', 2, () => a!.synchronize(isOver)],
        ]
      },
      'one',
      [/main > one/, /main > two/, /accounts/],
    ],
    [
      'two fibers that call each other',
      () => [
        ['one', 1, () => call(part(1), 'question')],
        ['two', 2, () => call(part(0), 'question')],
      ],
      'two',
      [/main > one/, /main > two/],
    ],
    [
      'a call and an await',
      () => [
        ['one', 1, () => call(part(1), 'question')],
        ['two', 2, () => part(0)],
      ],
      'two',
      [/main > one/, /main > two/],
    ],
    [
      'a mutex in a scope, a shield and an ensure',
      () => {
        const [a, b] = named('accounts', 'ledger')
        const wrapped = () =>
          scope(() =>
            shield(() =>
              ensure(
                () => b!.synchronize(isOver),
                () => {},
              ),
            ),
          )
        return [
          ['one', 1, inside(a, 5, wrapped)],
          ['two', 2, inside(b, 5, () => a!.synchronize(isOver))],
        ]
      },
      'two',
      [/accounts/, /ledger/],
    ],
  ]
  for (const [what, parts, closer, says] of circles) {
    test(`a circle is named when it closes, also beside fibers that live on: ${what}`, function* () {
      const ends = yield* play(parts())
      const error = ends[closer]
      assert.ok(error instanceof DeadlockError, `${closer}: ${error}`)
      for (const each of says) assert.match(error.message, each)
      // The circle is open again: the others go on, or hear of the end of that fiber.
      for (const [name, end] of Object.entries(ends)) assert.notEqual(end, 'hangs', name)
      assert.equal(Object.values(ends).filter((end) => end instanceof DeadlockError).length, 1)
    })
  }

  test('a fiber that wants a lock of its own kind which it holds already is told so', function* () {
    const key = { name: 'the key' }
    class Take extends BaseOp<void> {
      enter(fiber: Fiber): void {
        this.refuseCircle(fiber)
      }
      abort(): void {}
      describe(): string {
        return 'key.take()'
      }
      override get resource(): object {
        return key
      }
      override get waitsOn(): Fiber {
        return Fiber.current
      }
    }
    const { code, message } = yield* thrownBy(new Take())
    assert.deepEqual(
      [code, message],
      ['DEADLOCK', 'main waits for key.take() and holds it already, which would never end'],
    )
  })

  test('its message says what each of them holds and what it wants', function* () {
    const [a, b] = named('accounts', 'ledger')
    const ends = yield* play([
      ['one', 1, inside(a, 5, () => b!.synchronize(isOver))],
      ['two', 2, inside(b, 5, () => a!.synchronize(isOver))],
    ])
    const clause = (name: string) =>
      new RegExp(`main > ${name}\\b(?=[^>]*\\baccounts\\b)(?=[^>]*\\bledger\\b)`, 's')
    for (const name of ['one', 'two']) assert.match(String(ends.two), clause(name))
  })

  /** Waits that look like a circle and are none: each ends by itself. */
  const semaphores = () => [new Semaphore(1), new Semaphore(1)] as const
  const both = (): [Part, Part] => {
    const [a, b] = named('accounts', 'ledger')
    return [
      ['one', 1, inside(a, 5, () => b!.synchronize(isOver))],
      ['two', 2, inside(b, 5, () => a!.synchronize(isOver))],
    ]
  }
  const harmless: [string, () => Part[]][] = [
    [
      'both are members of an all() inside a time limit',
      () => [['parent', 1, () => moveOnAfter(50, () => all(both().map(([, , body]) => body)))]],
    ],
    ...[race, any].map((contest): [string, () => Part[]] => [
      `both are contenders of ${contest.name}(), which another one wins`,
      () => [['host', 1, () => contest([...both().map(([, , body]) => body), () => sleep(20)])]],
    ]),
    [
      'both are contenders of race(), which a fiber from outside wins',
      () => [
        ['host', 1, () => race([...both().map(([, , body]) => body), part(1)])],
        ['other', 20, isOver],
      ],
    ],
    [
      'another contender of a race further out wins',
      () => [['host', 1, () => race([() => all(both().map(([, , body]) => body)), () => sleep(20)])]],
    ],
    [
      'both are supervised until any has ended',
      () => {
        const children = [...both().map(([name, , body]) => ({ name, body })), { body: () => sleep(20) }]
        return [['supervisor', 1, () => supervise(children, { until: 'any' })]]
      },
    ],
    [
      'both are restarted with their group',
      () => {
        const [a, b] = named('accounts', 'ledger')
        const locks = (x: Mutex | undefined, y: Mutex | undefined) => () =>
          Fiber.current.incarnation === 1 ? inside(x, 5, () => y!.synchronize(isOver))() : isOver()
        const third = () => (Fiber.current.incarnation === 1 ? failAfter(20, new Error('third')) : isOver())
        const children = [third, locks(a, b), locks(b, a)].map((body) => ({ body }))
        return [['supervisor', 1, () => supervise(children, { restart: 'onError', strategy: 'oneForAll' })]]
      },
    ],
    ...['one', 'two'].flatMap((limited): [string, () => Part[]][] =>
      [moveOnAfter, cancelAfter].map((limit) => [
        `${limited} waits inside ${limit.name}`,
        () => {
          const [a, b] = named('accounts', 'ledger')
          const wait = (name: string, mutex: Mutex) => () =>
            name === limited
              ? moveOnAfter(1000, () => limit(20, () => mutex.synchronize(isOver)))
              : mutex.synchronize(isOver)
          return [
            ['one', 1, inside(a, 5, wait('one', b!))],
            ['two', 2, inside(b, 5, wait('two', a!))],
          ]
        },
      ]),
    ),
    [
      'the whole of one is inside a limit',
      () => {
        const [a, b] = named('accounts', 'ledger')
        return [
          [
            'one',
            1,
            () =>
              moveOnAfter(
                30,
                inside(a, 5, () => b!.synchronize(isOver)),
              ),
          ],
          ['two', 2, inside(b, 5, () => a!.synchronize(isOver))],
        ]
      },
    ],
    [
      'a call with a timeout',
      () => {
        const [a] = named('accounts')
        return [
          ['one', 1, inside(a, 5, () => thrownBy(call(part(1), 'question', { timeout: 20 })))],
          ['two', 2, () => a!.synchronize(isOver)],
        ]
      },
    ],
    [
      'one of them is being stopped',
      () => {
        const [a, b] = named('accounts', 'ledger')
        const stubborn = () => waits(() => moveOnAfter(20, () => b!.synchronize(isOver)))
        return [
          ['one', 1, inside(a, 5, stubborn)],
          ['two', 2, inside(b, 15, () => a!.synchronize(isOver))],
          ['killer', 10, () => void part(0).stop() as any],
        ]
      },
    ],
    [
      'one of them is asked to stop, and a shield holds it',
      () => {
        const [a, b] = named('accounts', 'ledger')
        return [
          ['one', 1, () => shield(inside(a, 10, () => b!.synchronize(isOver)))],
          ['two', 2, inside(b, 12, () => a!.synchronize(isOver))],
          ['killer', 5, () => void part(0).stop(undefined, { grace: 30 }) as any],
        ]
      },
    ],
    [
      'semaphores: any fiber may release them',
      () => {
        const [a, b] = semaphores()
        const both = (x: Semaphore, y: Semaphore) => () =>
          x.acquire(function* () {
            yield* sleep(5)
            yield* y.acquire()
          })
        return [
          ['one', 1, both(a, b)],
          ['two', 2, both(b, a)],
          [
            'third',
            30,
            function* () {
              a.release()
              b.release()
              yield* sleep(0)
            },
          ],
        ]
      },
    ],
    [
      'a promise that another program settles',
      () => {
        const [a] = named('accounts')
        let resolve!: () => void
        const promise = new Promise<void>((settle) => {
          resolve = settle
        })
        return [
          ['one', 1, inside(a, 5, () => until(promise))],
          ['two', 2, () => a!.synchronize(isOver)],
          [
            'third',
            30,
            function* () {
              resolve()
              yield* sleep(0)
            },
          ],
        ]
      },
    ],
    [
      'a call that its fiber has received: another may answer it',
      () => {
        const [a] = named('accounts')
        let question: Call
        return [
          ['one', 1, inside(a, 5, () => call(part(1), 'question'))],
          [
            'two',
            2,
            function* () {
              question = yield* receive<Call>()
              yield* a!.synchronize(isOver)
            },
          ],
          ['third', 30, () => sleep(question.reply('by another fiber') ? 0 : 1)],
        ]
      },
    ],
    [
      'the wait of a condition, which gives its mutex up',
      () => {
        const [a] = named('accounts')
        const condition = new Condition(a)
        return [
          ['one', 1, () => a!.synchronize(() => condition.wait())],
          ['two', 5, inside(a, 1, () => sleep(condition.signal() ? 5 : 5))],
        ]
      },
    ],
    [
      'a line at a mutex whose holder goes on',
      () => {
        const [a, b] = named('accounts', 'ledger')
        return [
          ['one', 1, inside(a, 20, isOver)],
          ['two', 2, inside(b, 5, () => a!.synchronize(isOver))],
          ['three', 3, () => b!.synchronize(isOver)],
        ]
      },
    ],
    [
      'a wait for the first of several',
      () => {
        const [a] = named('accounts')
        return [
          ['one', 1, inside(a, 5, () => Fiber.select(part(1), part(2)))],
          ['two', 2, () => a!.synchronize(isOver)],
          ['three', 3, () => sleep(10)],
        ]
      },
    ],
    [
      'a receive that any fiber may answer',
      () => {
        const [a] = named('accounts')
        return [
          ['one', 1, inside(a, 5, () => receive())],
          ['two', 2, () => a!.synchronize(isOver)],
          ['three', 10, () => sleep(part(0).send('go on') ? 0 : 1)],
        ]
      },
    ],
  ]
  for (const [what, parts] of harmless) {
    test(`what is no circle is not taken for one: ${what}`, function* () {
      const ends = yield* play(parts())
      for (const [name, end] of Object.entries(ends)) {
        assert.ok(!(end instanceof DeadlockError), `${name}: ${end}`)
        assert.notEqual(end, 'hangs', name)
      }
    })
  }

  /** Two fibers that wait for each other, the first of them as `options` say. */
  function pair(options: { signal?: AbortSignal }, first: () => void = () => {}): [Fiber<any>, Fiber<any>] {
    const a: Fiber<any> = spin({ name: 'a', link: false, ...options }, function* () {
      first()
      yield* sleep(1)
      return yield* b.join()
    })
    const b: Fiber<any> = spin({ name: 'b', link: false }, function* () {
      yield* sleep(2)
      return yield* a.join()
    })
    return [a, b]
  }

  test('a fiber with an AbortSignal may be stopped, so it closes no circle', function* () {
    const controller = new AbortController()
    const [a, b] = pair({ signal: controller.signal })
    yield* sleep(5)
    assert.deepEqual([a.state, b.state], ['waiting', 'waiting'])
    controller.abort()
    assert.deepEqual(yield* a.join(), { type: 'stopped', value: undefined })
    assert.equal((yield* b.join()).type, 'value')
  })

  test('a fiber with another child may be woken by the error of that, so it closes no circle', function* () {
    const [a, b] = pair({}, () => spin(failAfter, 10, new Error('of the child')))
    yield* sleep(5)
    assert.deepEqual([a.state, b.state], ['waiting', 'waiting'])
    assert.equal((yield* thrownBy(a)).message, 'of the child')
    assert.equal((yield* b.join()).type, 'value')
  })

  test('fibers whose parent is ending close no circle', function* () {
    let children: Fiber<any>[] = []
    const parent = yield* started(function* () {
      try {
        yield* sleep()
      } finally {
        children = pair({})
        yield* sleep(5)
      }
    })
    yield* parent.stop()
    for (const { outcome } of [parent, ...children]) assert.equal(outcome?.type, 'stopped')
    assert.equal(now(), 6)
  })

  test('a circle through a wait for several is found when only one of them is missing', function* () {
    const ended = spin(() => {})
    yield* ended
    for (const wait of [Fiber.await, Fiber.select] as ((...fibers: Fiber<any>[]) => Op<unknown>)[]) {
      const others = wait === Fiber.await ? [ended] : []
      const [, b] = circle(2, (next) => (Fiber.current.name === 'f0' ? wait(...others, next) : next))
      assert.ok((yield* thrownBy(b!)) instanceof DeadlockError)
    }
    const slow = spin(valueAfter, 10, 1)
    const [, b] = circle(2, (next) => (Fiber.current.name === 'f0' ? Fiber.select(slow, next) : next))
    assert.deepEqual(((yield* b!) as unknown[])[1], 1)
  })

  test('none leads through the cleanup of a fiber that is being stopped', function* () {
    const closing: Fiber = spin('closing', function* () {
      yield* use('a resource', () => waiting.join())
      yield* sleep()
    })
    const waiting: Fiber = spin('waiting', () => closing.join())
    yield* sleep(1)
    assert.equal((yield* closing.stop(undefined, { grace: 50 })).type, 'stopped')
    assert.equal(now(), 51)
  })

  test('one through the cleanup of a fiber that ended in order is found', function* () {
    const closing: Fiber = spin({ name: 'closing', link: false }, function* () {
      yield* use('a resource', () => waiting.join())
      yield* sleep(1)
    })
    const waiting: Fiber = spin('waiting', () => closing.join())
    assert.ok((yield* thrownBy(closing)) instanceof DeadlockError)
    assert.equal((yield* waiting.join()).type, 'value')
  })

  test('a call that is refused leaves nothing behind, and may be made again', function* () {
    assert.match((yield* thrownBy(call(Fiber.current, 'hello?'))).message, /calls itself/)
    assert.equal(Fiber.current.mailbox.size, 0)
    const caller: Fiber = spin({ name: 'caller', link: false }, function* () {
      const question = call(answerer, 'hello?')
      yield* sleep(5)
      assert.ok((yield* thrownBy(question)) instanceof DeadlockError)
      assert.equal(endListeners(answerer), 0)
      return yield* moveOnAfter(10, () => question, 'no answer')
    })
    const answerer: Fiber = spin('answerer', () => caller.join())
    assert.equal(yield* caller, 'no answer')
  })
})

describe('S33 deadlock of the whole program', () => {
  test('is rejected with the tree and what each fiber waits for', async () => {
    const deadlock = virtual(function* () {
      spin('reader', () => receive())
      spin('choosy', () => receive(function isEven() {} as () => boolean))
      spin('joiner', () => Fiber.current.parent!.join())
      const fibers = ['a', 'b', 'c', 'd', 'e'].map((name) => spin(name, () => suspend()))
      spin('three', () => Fiber.await(...fibers.slice(0, 3)))
      yield* Fiber.await(...fibers)
    })
    await assert.rejects(deadlock, (error: Error) => {
      assert.ok(error instanceof DeadlockError)
      for (const line of [
        /main {2}waiting for a, b, c and 2 more to end/,
        /reader {2}waiting for receive\(\)/,
        /choosy {2}waiting for receive\(isEven\)/,
        /joiner {2}waiting for main to end/,
        /e {2}waiting for suspend\(\)/,
        /three {2}waiting for a, b, c to end/,
      ])
        assert.match(error.message, line)
      return true
    })
  })

  const deadlocks: [string, () => Routine<unknown>][] = [
    [
      'a circle that single awaits do not show',
      function* () {
        const a: Fiber<any> = spin(() => Fiber.await(b))
        const b: Fiber<any> = spin(() => Fiber.await(a))
        yield* Fiber.await(a, b)
      },
    ],
    [
      'a transfer to a fiber that waits for ever',
      function* () {
        yield* transfer(new Fiber(() => suspend()))
      },
    ],
  ]
  for (const [name, body] of deadlocks) {
    test(`is found: ${name}`, () => assert.rejects(virtual(body), DeadlockError))
  }

  test('a main fiber in a bare suspend goes on when nothing else can happen', function* () {
    const log: string[] = []
    spin(waits, () => void log.push('child'), 10)
    assert.equal(yield* suspend(), undefined)
    assert.deepEqual(log, ['child'])
    assert.equal(runtime().now(), 10)
  })
})

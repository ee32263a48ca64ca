// S01-S07: the tree, how a fiber begins, and what its end means for its children.

import { createContext, runInContext } from 'node:vm'
import {
  action,
  after,
  any,
  assert,
  BadArgument,
  BadState,
  cancelAfter,
  describe,
  ensure,
  every,
  Fiber,
  failAfter,
  main,
  mock,
  moveOnAfter,
  now,
  type Op,
  type Routine,
  race,
  receive,
  receiveAllPending,
  reports,
  run,
  scope,
  shield,
  sleep,
  snooze,
  spin,
  spinLoop,
  started,
  tap,
  test,
  throttledLoop,
  thrownBy,
  turn,
  until,
  waits,
} from '../prelude.js'

function* valueAfter<T>(ms: number, value: T): Routine<T> {
  yield* sleep(ms)
  return value
}

const anything = (x: unknown): any => x

describe('S01 tree', () => {
  test('every fiber but a root has one parent', function* () {
    const main = Fiber.current
    const child = spin(() => spin(() => [Fiber.current, Fiber.current.parent]))
    const [grandchild, itsParent] = yield* child
    assert.deepEqual([main.parent, child.parent], [null, main])
    assert.equal(itsParent, child)
    assert.notEqual(grandchild, child)
  })

  test('a fiber is dead only when its body has ended and all its children are dead', function* () {
    const parent = yield* started(function* () {
      spin(waits, () => sleep(50))
      yield* sleep(1)
      return 42
    })
    yield* sleep(9)
    assert.deepEqual([parent.phase, parent.state, parent.outcome], ['closing', 'waiting', undefined])
    assert.equal(yield* parent, 42)
    assert.deepEqual([parent.phase, parent.state, now()], ['dead', 'dead', 51])
  })

  test('children die before their parents, however deep the tree', function* () {
    const deaths: string[] = []
    function* level(depth: number): Routine<void> {
      if (depth > 0) spin(`level ${depth}`, level, depth - 1)
      yield* sleep()
    }
    const top = spin('level 5', level, 4)
    yield* sleep(1)
    const untap = tap((event, fiber) => event === 'end' && deaths.push(fiber.name))
    yield* top.stop()
    untap()
    assert.deepEqual(deaths, ['level 1', 'level 2', 'level 3', 'level 4', 'level 5'])
  })

  test('a fiber whose last child is taken away by a tap listener as it ends dies once', function* () {
    const parent = spin(() => {
      Fiber.current.raise('too late') // the body ends before it strikes: dropped, and told to taps (S26)
      spin(() => sleep(5))
    })
    const untap = tap((event, fiber) => {
      if (event === 'dropped' && fiber === parent) for (const child of parent.children) child.detach()
    })
    yield* parent.join()
    untap()
    yield* Fiber.current.joinChildren()
  }) // one that died twice would leave -1 fibers
})

describe('S02 when a body ends, its children are stopped and waited for', () => {
  for (const [how, end] of [
    ['returns', () => 'its value'],
    ['fails', () => failAfter(0, new Error('its error'))],
  ] as [string, () => any][]) {
    test(`a body that ${how}: its children are stopped, then awaited, then it has its outcome`, function* () {
      const log: string[] = []
      const parent = spin({ link: false }, function* () {
        spin(waits, () => log.push(`stopped at ${now()}`))
        spin(waits, () => sleep(5))
        yield* sleep(25)
        return yield* scope(end)
      })
      const outcome: any = yield* parent.join()
      assert.equal(outcome.value ?? outcome.error.message, `its ${outcome.type}`)
      assert.deepEqual([log, now()], [['stopped at 25'], 30])
    })
  }

  test('a child that never had a turn is stopped with its parent, and runs no line', function* () {
    yield* spin(() => {
      spin(() => assert.fail('it ran'))
    })
    yield* sleep(1)
  })

  test('scope and joinChildren wait for children instead; joinChildren tells their outcomes, oldest first', function* () {
    const error = new Error('no')
    yield* scope(() => {
      spin(() => sleep(20))
      spin(() => sleep(10))
    })
    assert.equal(now(), 20)
    spin(() => after(10, () => 1))
    spin(failAfter, 5, error)
    spin(() => sleep()).stop('v')
    assert.deepEqual(yield* Fiber.current.joinChildren(), [
      { type: 'value', value: 1 },
      { type: 'error', error },
      { type: 'stopped', value: 'v' },
    ])
    yield* sleep(1) // the error does not strike as well
  })
})

describe('S03 order of the end', () => {
  test('the body goes first: its finally may still use its children', function* () {
    const log: string[] = []
    const parent = yield* started(function* () {
      const writer = spin(function* () {
        try {
          for (;;) log.push(`wrote ${yield* receive()}`)
        } finally {
          log.push('writer stopped')
        }
      })
      yield* waits(function* () {
        writer.send('goodbye')
        yield* sleep(10)
      })
    })
    yield* parent.stop()
    assert.deepEqual(log, ['wrote goodbye', 'writer stopped'])
  })

  test('children are asked to stop newest first', function* () {
    const asked: string[] = []
    const parent = spin(function* () {
      for (const name of ['oldest', 'middle', 'newest']) spin(name, () => sleep())
      yield* sleep(1)
    })
    const untap = tap((event, fiber) => event === 'stop' && asked.push(fiber.name))
    yield* parent
    untap()
    assert.deepEqual(asked, ['newest', 'middle', 'oldest'])
  })

  for (const [what, cleanup, ms] of [
    ['clean up side by side', () => sleep(100), 100],
    ['share one deadline, not the sum', () => sleep(), 1000],
  ] as const) {
    test(`children ${what}`, function* () {
      yield* spin({ grace: 1000 }, () => {
        for (let i = 0; i < 5; i++) spin(waits, cleanup)
        return sleep(1)
      })
      assert.equal(now(), 1 + ms)
    })
  }

  test('a listener that moves a sibling while children are stopped harms no other fiber', function* () {
    const other = spin(() => sleep(100))
    yield* spin(function* () {
      const moved = spin(() => sleep(50))
      spin(function* () {
        Fiber.current.signal.addEventListener('abort', () => moved.detach())
        yield* sleep()
      })
      yield* sleep(1)
    })
    assert.deepEqual(
      (yield* Fiber.current.joinChildren()).map(({ type }) => type),
      ['value', 'value'],
    )
    assert.equal(other.outcome?.type, 'value')
  })
})

describe('S04 a finished child is forgotten at once', () => {
  const collect = (globalThis as unknown as { gc(): void }).gc

  test('by its parent; its handle keeps the result', function* () {
    const child = spin(() => 'kept by the handle')
    assert.deepEqual(Fiber.current.children, [child])
    yield* child.join()
    assert.deepEqual(Fiber.current.children, [])
    assert.deepEqual(child.outcome, { type: 'value', value: 'kept by the handle' })
  })

  test('a hundred thousand spins leave the heap flat', async () => {
    await run(function* () {
      const rounds = function* (n: number) {
        for (; n > 0; n--) {
          for (let i = 0; i < 1000; i++) spin(snooze)
          yield* Fiber.current.joinChildren()
        }
      }
      yield* rounds(10)
      collect()
      const before = process.memoryUsage().heapUsed
      yield* rounds(100)
      collect()
      const grown = process.memoryUsage().heapUsed - before
      assert.ok(grown < 2_000_000, `the heap grew by ${grown} bytes`)
    })
  })

  test('by its siblings, also if their handles are kept', async () => {
    await run(function* () {
      const trio = () =>
        [receive, receive, receive].map((body) => spin(() => body())) as [Fiber, Fiber, Fiber]
      const make = function* (first: 0 | 2) {
        const fibers = trio()
        yield* turn()
        fibers[first].send('end first')
        yield* turn()
        fibers[1].send('end next')
        yield* turn()
        return [fibers[first], new WeakRef(fibers[1])] as const
      }
      const kept = [yield* make(0), yield* make(2)]
      yield* turn()
      collect()
      assert.deepEqual(
        kept.map(([, sibling]) => sibling.deref()),
        [undefined, undefined],
      )
    })
  })

  test('with its message, its error and the reason of its stop, also if it was monitored', async () => {
    const refs: WeakRef<object>[] = []
    const keep = <T extends object>(thing: T): T => {
      refs.push(new WeakRef(thing))
      return thing
    }
    await run(function* () {
      const make = function* () {
        const reader = spin(() => receive())
        const struck = keep(spin(() => thrownBy(sleep())))
        const stopped = keep(spin(() => sleep()))
        for (const child of [reader, struck, stopped]) child.monitor()
        yield* turn()
        reader.send(keep({}))
        struck.raise(keep(new Error('struck')))
        stopped.stop(keep({}), { reason: keep({}) })
        yield* turn()
        receiveAllPending()
      }
      yield* make()
      for (let i = 0; i < 5; i++) {
        yield* turn()
        collect()
      }
      assert.equal(refs.filter((ref) => ref.deref() !== undefined).length, 0)
    })
  })
})

describe('S05 start', () => {
  const nothing = () => {}
  function* plain() {
    yield* sleep(1)
    return 'ran'
  }
  /** Something from another realm. */
  const foreign = (source: string): (() => Op<unknown>) =>
    runInContext(`(${source})`, createContext({ sleep }))
  /** A fresh generator function that something is done to. */
  const altered = (alter: (body: any) => void): (() => Op<string>) => {
    const body = function* () {
      return yield* plain()
    }
    alter(body)
    return body
  }

  test('spin returns the handle at once; the body is called at a later turn, with its arguments', function* () {
    const log: string[] = []
    const sum = function* (a: number, b = log.push('default parameter')) {
      log.push('body')
      return a + b
    }
    const child = spin('child', sum, 1)
    const thrower = spin({ link: false }, () => {
      throw new Error('from the first turn')
    })
    assert.ok(child instanceof Fiber)
    assert.deepEqual([child.name, child.state, log], ['child', 'runnable', []])
    assert.equal(yield* child, 2)
    assert.deepEqual(log, ['default parameter', 'body'])
    assert.equal((yield* thrower.join()).type, 'error')
    const echo = (...args: number[]) => args
    for (const args of [[], [1], [1, 2], [1, 2, 3], [1, 2, 3, 4]]) {
      assert.deepEqual(yield* spin(echo, ...args), args)
      assert.deepEqual(yield* spin({}, echo, ...args), args)
    }
  })

  test('a fiber stopped before it starts never runs one line', function* () {
    const body = () => assert.fail('it ran')
    const [stopped, killed] = [spin(body), spin(body)]
    stopped.stop('never ran')
    killed.kill()
    assert.deepEqual(yield* stopped.join(), { type: 'stopped', value: 'never ran' })
    assert.deepEqual(yield* killed.join(), { type: 'stopped', value: undefined })
  })

  const takers: [string, (body: any) => unknown][] = [
    ['spin', (body) => spin('name', body)],
    ['spin', (body) => spin({ name: 'name' }, body)],
    ['scope', scope],
    ['shield', shield],
    ['moveOnAfter', (body) => moveOnAfter(1, body)],
    ['cancelAfter', (body) => cancelAfter(1, body)],
    ['ensure', (body) => ensure(body, () => {})],
    ['ensure', (body) => ensure(() => {}, body)],
    ['new Fiber', (body) => new Fiber(body)],
    ['after', (body) => after(1, body)],
    ['every', (body) => every(1, body)],
    ['spinLoop', spinLoop],
    ['throttledLoop', (body) => throttledLoop(1, body)],
    ['run', run],
    ['main', main],
  ]
  const notBodies: [unknown, RegExp][] = [
    ...[undefined, null, 5, {}, [], Promise.resolve()].map((it): [unknown, RegExp] => [it, /needs a func/]),
    [sleep(1), /was given sleep\(1\) itself.*\(\) => sleep\(1\)/],
    [plain(), /what a function\* returned/],
    [async function load() {}, /async function load.*until\(promise\)/],
    [async function* stream() {}, /async function stream.*until\(promise\)/],
    [async () => {}, /async function \(anonymous\)/],
  ]
  for (const [name, take] of takers) {
    test(`${name} refuses at the call what is no body, and says what it needs`, function* () {
      for (const [body, message] of notBodies) {
        const whole = new RegExp(`^${name}\\(\\) .*${message.source}`)
        assert.throws(() => take(body), { code: 'BAD_ARGUMENT', message: whole })
      }
      assert.deepEqual(Fiber.current.children, [])
    })
  }

  test('spin refuses a wrong first argument, name or option at the call, and leaves no fiber behind', function* () {
    const fiber = spin(() => sleep(5))
    const calls: [RegExp, () => unknown][] = [
      [/needs a function\*/, () => anything(spin)()],
      [/needs a function\*/, () => spin('name', anything(undefined))],
      [/needs a function\*/, () => spin(anything(null), plain)],
      [/needs a function\*/, () => spin(anything(5), plain)],
      [/needs a function\*/, () => spin(anything([]), plain)],
      [/sleep\(1\) itself/, () => spin(anything(sleep(1)), plain)],
      [/the name of spin\(\) needs a string/, () => spin({ name: anything(5) }, plain)],
      [/the name of spin\(\) needs a string/, () => spin('', plain)],
      [/the name of run\(\) needs a string/, () => run(nothing, { name: anything(5) })],
      [/grace of spin\(\)/, () => spin({ grace: -1 }, plain)],
      [/grace of run\(\)/, () => run(nothing, { grace: -1 })],
      [/AbortSignal/, () => spin({ signal: anything({}) }, plain)],
      [/the signal of run\(\) needs an AbortSignal/, () => run(nothing, { signal: anything(5) })],
      [/the context of spin\(\) needs true or false/, () => spin({ context: anything(5) }, plain)],
      [/the context of run\(\) needs true or false/, () => run(nothing, { context: anything(5) })],
      [/"grce"/, () => spin(anything({ grce: 1 }), plain)],
      [/"timeout"/, () => run(nothing, anything({ timeout: 10_000 }))],
      [/"grce"/, () => fiber.stop(undefined, anything({ grce: 1 }))],
      [/"grce"/, () => fiber.terminate(anything({ grce: 1 }))],
      [/"keepmailbox"/, () => fiber.restartWith(anything({ keepmailbox: true }))],
      [/"grce"/, () => Fiber.current.stopChildren(anything({ grce: 1 }))],
    ]
    for (const [message, call] of calls) assert.throws(call, { code: 'BAD_ARGUMENT', message }, String(call))
    assert.deepEqual([Fiber.current.children, fiber.phase], [[fiber], 'live'])
    yield* fiber
  })

  test('a body that returns a promise fails its fiber, and the sentence names until', function* () {
    const returns = anything(function load() {
      return Promise.reject(new Error('nobody minds'))
    })
    const bodies: [string, () => unknown][] = [
      ['load', returns],
      ['load', () => scope(returns)],
      ['load', () => moveOnAfter(5, returns)],
      ['body', foreign('async function () {}')],
      ['plain', mock.fn(plain as () => any, () => Promise.resolve())],
    ]
    for (const [name, body] of bodies) {
      const error = yield* thrownBy(spin({ link: false, name: 'culprit' }, body))
      assert.ok(error instanceof BadArgument)
      assert.match(error.message, new RegExp(`${name} in main > culprit returned a promise.*until`))
    }
  })

  for (const [what, body] of Object.entries<() => Op<unknown>>({
    'a bound generator function': plain.bind(null),
    'a proxy of a generator function': new Proxy(plain, {}),
    'a generator function whose prototype property is null': altered((body) => (body.prototype = null)),
    'a generator function that inherits from Function': altered((body) =>
      Object.setPrototypeOf(body, Function.prototype),
    ),
    'a generator function that inherits from nothing': altered((body) => Object.setPrototypeOf(body, null)),
    'a generator function of another realm': foreign('function* () { yield* sleep(1); return "ran" }'),
    'a mocked generator function that returns an op': mock.fn(plain, () => plain()),
    'a plain function that returns an op': () => spin(plain),
  })) {
    test(`${what} runs wherever a body may stand`, function* () {
      assert.equal(yield* spin(body), 'ran')
      assert.equal(yield* moveOnAfter(1000, body), 'ran')
      assert.equal(yield* ensure(body, body), 'ran')
      assert.equal(yield* after(1, body), 'ran')
      for (const verb of ['stop', 'kill'] as const) {
        const fiber = spin(body)
        yield* snooze()
        assert.equal((yield* fiber[verb]()).type, 'stopped')
      }
      assert.equal((yield* thrownBy(cancelAfter(0, body))).name, 'Cancel')
    })
  }

  test('what a body returns, if it is no op, is the result', function* () {
    for (const thing of [42, null, 'word', [1, 2], new Map(), { next: 1 }, () => 5]) {
      assert.equal(yield* spin(() => thing), thing)
      assert.equal(yield* scope(() => thing), thing)
    }
    const mocked = anything(mock.fn(plain as () => unknown, () => 42))
    assert.equal(yield* spin(mocked), 42)
    assert.equal(yield* moveOnAfter(10, mocked), 42)
  })
})

describe('S06 spinning while stopping', () => {
  test('cleanup may spin; the child is stopped when the cleanup is over', function* () {
    const log: unknown[] = []
    const parent = yield* started(() =>
      waits(function* () {
        spin(waits, () => log.push('the other was stopped'))
        log.push(yield* spin(() => after(10, () => 'helped')))
      }),
    )
    assert.deepEqual(yield* parent.stop('v'), { type: 'stopped', value: 'v' })
    assert.deepEqual([log, now()], [['helped', 'the other was stopped'], 11])
  })

  test("a child spun in cleanup inherits its parent's deadline", function* () {
    const cleanup = function* () {
      yield* sleep(40)
      spin({ grace: 10_000 }, waits, () => sleep())
      yield* sleep(1) // lets it start
    }
    const parent = yield* started(() => waits(cleanup), { grace: 100 })
    yield* parent.stop()
    assert.equal(now(), 101)
  })

  test('under a fiber that is forced, or over, spin throws', function* () {
    const errors: any[] = []
    const tries = () => {
      try {
        parent.spin(function late() {})
      } catch (error) {
        errors.push(error)
      }
    }
    const parent: Fiber = spin('parent', () => waits(tries))
    yield* sleep(1)
    yield* parent.kill()
    tries()
    assert.ok(errors.every((error) => error instanceof BadState))
    assert.deepEqual(
      errors.map(({ message }) => message.replace('late cannot be spun: its parent main > parent', '')),
      [' is being forced to end', ' is over'],
    )
  })

  /** Ways in which a scope comes to its end while a child of it still waits. */
  const endings: [string, (body: () => void) => Op<unknown>][] = [
    [
      'whose body failed',
      (begin) =>
        scope(function* () {
          begin()
          yield* sleep(1)
          throw new Error('its own')
        }),
    ],
    [
      'one of whose children failed',
      (begin) =>
        scope(function* () {
          begin()
          spin(failAfter, 1, new Error('its own'))
          yield* sleep()
        }),
    ],
    ['that is cut by a limit', (begin) => cancelAfter(1, () => scope(begin), 'its own')],
    [
      'whose body is cut by a limit',
      (begin) =>
        cancelAfter(
          1,
          () =>
            scope(function* () {
              begin()
              yield* sleep()
            }),
          'its own',
        ),
    ],
    [
      'whose fiber is raised in',
      (begin) => {
        const self = Fiber.current
        after(1, () => void self.raise('its own'))
        return scope(begin)
      },
    ],
  ]
  /** Where code runs while the children of a scope are asked to stop: the cleanup of an action, an abort listener. */
  const hooks: [string, (act: () => void) => Op<unknown>][] = [
    ['the cleanup of an action', (act) => action(() => act)],
    [
      'an abort listener',
      (act) =>
        until((signal) => {
          signal.addEventListener('abort', act)
          return new Promise(() => {})
        }),
    ],
    ['a listener to the signal of a fiber', (act) => listening(act)],
  ]
  function* listening(act: () => void): Routine<void> {
    Fiber.current.signal.addEventListener('abort', act)
    yield* sleep()
  }
  for (const [how, ends] of endings) {
    for (const [where, hook] of hooks) {
      test(`in ${where}, spin into a scope ${how} is refused, and the scope ends`, function* () {
        const refused: string[] = []
        const helper = () => {
          try {
            spin('helper', () => sleep())
            refused.push('not refused')
          } catch (error) {
            refused.push((error as any).code)
          }
        }
        const host = spin({ link: false }, () => ends(() => void spin(() => hook(helper))))
        const { error }: any = yield* moveOnAfter(1000, () => host.join(), { error: 'it never ended' })
        assert.equal(error.message ?? error, 'its own')
        // The children may be asked before the body has ended: then a helper is asked with them.
        const mayHelp = how === 'one of whose children failed'
        assert.match(refused.join(), mayHelp ? /./ : /^(BAD_STATE|NOT_IN_FIBER)$/)
        assert.equal(now(), 1)
        yield* host.kill()
      })
    }
  }

  for (const contest of [race, any]) {
    test(`spin into ${contest.name}() by the cleanup of a loser is refused, and it ends`, function* () {
      const loser = () => action<string>(() => () => void spin('helper', () => sleep()))
      const ended = yield* moveOnAfter(1000, () => contest([loser, () => valueAfter(1, 'won')]), 'never')
      assert.deepEqual([ended, now()], ['won', 1])
      assert.match(reports().join(), /^uncaught: .*(BadState|NotInFiber)/)
    })
  }

  test('what is refused to a cleanup of an action is reported, and harms no fiber', function* () {
    const body = function* () {
      spin('child', () => action(() => () => void spin('helper', () => sleep())))
      yield* sleep(1)
      throw new Error('body failed')
    }
    const thrown = yield* moveOnAfter(1000, () => thrownBy(scope(body)), new Error('it never ended'))
    assert.deepEqual([thrown?.message, now()], ['body failed', 1])
    assert.match(reports().join(), /^uncaught: .*(BadState|NotInFiber)/)
  })
})

describe('S07 attachTo and detach', () => {
  test('an attached fiber lives and dies with its new parent', function* () {
    const log: string[] = []
    const host = spin('host', () => sleep(50))
    yield* spin(function* () {
      const child = spin(waits, () => log.push(`child stopped at ${now()}`))
      spin(() => sleep()) // a sibling stays
      yield* sleep(1)
      assert.equal(child.attachTo(host), child)
      assert.deepEqual([Fiber.current.children.length, child.parent], [1, host])
    })
    assert.deepEqual(log, [])
    yield* host
    assert.deepEqual(log, ['child stopped at 50'])
  })

  test('detach gives a fiber to the root, so that it outlives its parents', function* () {
    yield* spin(() => spin(() => void spin('long', () => sleep(30)).detach()))
    assert.deepEqual(
      Fiber.current.children.map(({ name, parent }) => [name, parent?.name]),
      [['long', 'main']],
    )
    assert.equal(Fiber.current.detach(), Fiber.current) // a root stays where it is
    yield* Fiber.current.joinChildren()
    assert.equal(now(), 30)
  })

  test('a fiber can detach itself, also while its parent is already waiting for it to end', function* () {
    const child = function* () {
      yield* sleep(10)
      Fiber.current.detach()
      yield* sleep(10)
    }
    yield* spin(function* () {
      spin(waits, child)
      yield* sleep(1)
    })
    assert.equal(now(), 11) // the parent was over once the child had left
    yield* Fiber.current.joinChildren()
    assert.equal(now(), 21)
  })

  test('a scope does not wait for a fiber that was taken out of it, also if it was the last', function* () {
    yield* scope(() => {
      spin(() => sleep(10))
      spin(() => sleep(100)).detach()
    })
    assert.equal(now(), 10)
    spin(() => after(10, () => void last.detach()))
    let last!: Fiber
    yield* scope(() => void (last = spin(() => sleep())))
    assert.equal(now(), 20)
    yield* last.stop()
    yield* Fiber.current.joinChildren()
    assert.equal(now(), 100)
  })

  test('the error of an attached fiber goes to its new parent', function* () {
    const host = spin(() => thrownBy(sleep()))
    spin(failAfter, 5, new Error('oops')).attachTo(host)
    assert.equal((yield* host).message, 'oops')
  })

  test('a cycle, a root, the dead and what is no fiber are refused, and nothing moves', function* () {
    const main = Fiber.current
    const a = spin('a', () => sleep(10))
    const b = a.spin('b', () => sleep(10))
    const dead = spin('dead', () => 1)
    yield* dead
    const refusals: [() => unknown, RegExp][] = [
      [() => a.attachTo(b), /main > a cannot be attached to main > a > b: that would make a cycle/],
      [() => a.attachTo(a), /the same fiber/],
      [() => main.attachTo(a), /cycle/],
      [() => dead.attachTo(a), /it is dead/],
      [() => a.attachTo(dead), /the new parent is over/],
    ]
    for (const [attach, message] of refusals) assert.throws(attach, { code: 'BAD_STATE', message })
    for (const thing of [5, null, undefined, {}])
      assert.throws(() => a.attachTo(anything(thing)), BadArgument)
    assert.deepEqual([a.parent, b.parent], [main, a])
  })

  test('the root of a run cannot be attached to another tree', async () => {
    const [one, other] = [run(() => receive()), run(() => receive())]
    assert.throws(() => one.fiber.attachTo(other.fiber), /it is the root of its tree/)
    for (const running of [one, other]) running.fiber.send('go on')
    assert.deepEqual(await Promise.all([one, other]), ['go on', 'go on'])
  })
})

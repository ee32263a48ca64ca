// Supervision: S42 to S44. The cases follow OTP's own supervisor suite.

import {
  assert,
  call,
  describe,
  ensure,
  Fiber,
  failAfter,
  moveOnAfter,
  now,
  type Op,
  RestartIntensityError,
  type RestartRule,
  type Routine,
  receive,
  type Strategy,
  type SuperviseOptions,
  sleep,
  spin,
  started,
  supervise,
  suppressedErrors,
  test,
  thrownBy,
} from '../prelude.js'
import { failsAtEnd, failsOnce, flaky, kinds, server, slow } from '../supervise/lives.js'

const boom = new Error('boom')

const ends: Record<string, () => unknown> = {
  *value() {
    yield* sleep(1)
    return 1
  },
  *error() {
    yield* sleep(1)
    throw new Error('error')
  },
  *stopped() {
    Fiber.current.stop('of its own will')
    yield* sleep(1)
  },
}

/** Three servers and one that fails once, in the middle; gives what happened, and ends when `ms` have passed. */
function* drama(
  strategy: Strategy,
  rules: Record<string, RestartRule> = {},
  onDone?: SuperviseOptions['onDone'],
) {
  const log: string[] = []
  const spec = (name: string) => ({ name, body: server, args: [name, log, 2], restart: rules[name] })
  const bad = { name: 'x', body: failsOnce, args: ['x', log, 10] }
  const supervisor = spin(() =>
    supervise([spec('a'), spec('b'), bad, spec('c'), spec('d')], { strategy, restart: 'onError', onDone }),
  )
  yield* sleep(9)
  const before = log.join(' ')
  log.length = 0
  yield* sleep(50)
  const during = log.join(' ')
  log.length = 0
  yield* supervisor.stop()
  return { before, during, after: log.join(' ') }
}

describe('S42 rules and strategies', () => {
  const restarted: [RestartRule, string, boolean][] = [
    ['always', 'value', true],
    ['always', 'error', true],
    ['always', 'stopped', false],
    ['onError', 'value', false],
    ['onError', 'error', true],
    ['onError', 'stopped', false],
    ['never', 'value', false],
    ['never', 'stopped', false],
  ]
  for (const [rule, end, isRestarted] of restarted) {
    test(`${rule}: a child that ends by ${end} is ${isRestarted ? '' : 'not '}restarted`, function* () {
      let lives = 0
      const body = () => (++lives === 1 ? (ends[end]?.() as any) : sleep())
      const op = supervise([{ body, restart: rule }, { body: () => sleep(10) }], { until: 'all' })
      if (isRestarted) {
        const supervisor = spin(() => op)
        yield* sleep(20)
        yield* supervisor.stop()
      } else yield* op
      assert.equal(lives, isRestarted ? 2 : 1)
    })
  }

  test('never, which is the default: an error is thrown', function* () {
    const error = new Error('no')
    assert.equal(yield* thrownBy(supervise([{ body: failAfter, args: [1, error] }])), error)
    const explicit = supervise([{ body: failAfter, args: [1, error], restart: 'never' }], {
      restart: 'always',
    })
    assert.equal(yield* thrownBy(explicit), error)
  })

  test('a child whose cleanup fails when it is stopped has failed: it is restarted', function* () {
    const child: Fiber = spin(() => (child.incarnation === 1 ? failsAtEnd(boom) : undefined))
    spin(function* () {
      yield* sleep(1)
      child.stop()
    })
    yield* supervise([child], { restart: 'onError' })
    assert.equal(child.incarnation, 2)
  })

  test('a restart from outside is no end, and does not count', function* () {
    const told: string[] = []
    const child = spin(() => sleep(10))
    spin(function* () {
      for (let i = 0; i < 10; i++) {
        yield* sleep(5)
        child.restart()
      }
    })
    yield* supervise([child], { onDone: (_, outcome) => void told.push(outcome.type) })
    assert.deepEqual(told, ['value'])
    assert.equal(child.incarnation, 11)
  })

  test('a dead child that somebody restarts from outside is watched again', function* () {
    const child = spin('child', () => sleep(10))
    const lasting = spin('lasting', () => sleep(100))
    spin(function* () {
      yield* sleep(50)
      child.restart()
      yield* sleep(5)
      child.raise(new Error('raised'))
    })
    const error = yield* thrownBy(supervise([child, lasting]))
    assert.equal(error.message, 'raised')
    assert.equal(lasting.state, 'dead')
    assert.equal(now(), 55)
  })

  const started = '+a +b +x +c +d'
  const stopped = '-d -c -x -b -a'
  const strategies: [Strategy, string, string][] = [
    ['oneForOne', 'the others are left alone', '!x +x'],
    [
      'oneForAll',
      'the others are stopped newest first, then all are started in order',
      '!x -d -c -b -a +a +b +x +c +d',
    ],
    ['restForOne', 'later ones are stopped newest first, then started in order', '!x -d -c +x +c +d'],
  ]
  for (const [strategy, what, during] of strategies) {
    test(`${strategy}: ${what}`, function* () {
      assert.deepEqual(yield* drama(strategy), { before: started, during, after: stopped })
    })
  }

  test('a sibling that is not to be restarted is stopped with its group, and stays away', function* () {
    const all = yield* drama('oneForAll', { c: 'never' })
    assert.equal(all.during, '!x -d -c -b -a +a +b +x +d')
    assert.equal(all.after, '-d -x -b -a')
    const rest = yield* drama('restForOne', { d: 'never', a: 'never' })
    assert.equal(rest.during, '!x -d -c +x +c')
    const ignored = yield* drama('oneForAll', {}, ({ name }) => (name === 'c' ? 'ignore' : undefined))
    assert.equal(ignored.during, '!x -d -c -b -a +a +b +x +d')
  })

  test('without a list, start order is the order of spinning, also after restarts', function* () {
    const log: string[] = []
    const supervisor = spin(function* () {
      spin('a', failsOnce, 'a', log, 5)
      spin('b', failsOnce, 'b', log, 10)
      spin('c', server, 'c', log)
      yield* supervise({ strategy: 'restForOne', restart: 'onError' })
    })
    yield* sleep(7)
    assert.equal(log.splice(0).join(' '), '+a +b +c !a -c +a +b +c')
    yield* supervisor.stop()
    assert.equal(log.join(' '), '-c -b -a')
  })

  test('a child that ended for good before is not brought back by its group', function* () {
    const log: string[] = []
    let runs = 0
    const supervisor = spin(() =>
      supervise(
        [
          { name: 'done', body: () => void runs++ },
          { name: 'x', body: failsOnce, args: ['x', log, 10] },
        ],
        { strategy: 'oneForAll', restart: 'onError' },
      ),
    )
    yield* sleep(20)
    yield* supervisor.stop()
    assert.equal(runs, 1)
  })

  test('a sibling that fails while its group is stopped is restarted with it, and counts once', function* () {
    let lives = 0
    const log: string[] = []
    const body = () => (++lives === 1 ? failsAtEnd(new Error('cleanup')) : sleep())
    const supervisor = spin(() =>
      supervise([{ body }, { name: 'x', body: failsOnce, args: ['x', log, 10] }], {
        strategy: 'oneForAll',
        restart: 'onError',
        intensity: { restarts: 1 },
        onError: (error) => void log.push(`?${(error as Error).message}`),
      }),
    )
    yield* sleep(50)
    assert.equal(log.join(' '), '+x !x ?x ?cleanup +x')
    assert.equal(lives, 2)
    yield* supervisor.stop()
  })

  test('a child of another part that fails while a group is down is dealt with afterwards', function* () {
    const log: string[] = []
    const supervisor = spin(() =>
      supervise(
        [
          { name: 'a', body: failsOnce, args: ['a', log, 12] },
          { name: 'b', body: failsOnce, args: ['b', log, 10] },
          { name: 'c', body: server, args: ['c', log, 5] },
        ],
        { strategy: 'restForOne', restart: 'onError' },
      ),
    )
    yield* sleep(100)
    // b fails at 10, c needs until 15; a fails at 12, and takes all of them with it
    assert.equal(log.join(' '), '+a +b +c !b !a -c +a +b +c')
    yield* supervisor.stop()
  })

  test('two that fail in the same turn under oneForAll are one restart', function* () {
    const [a, b] = [flaky(1, 10), flaky(1, 10)]
    yield* supervise([{ body: a.body }, { body: b.body }], {
      strategy: 'oneForAll',
      restart: 'onError',
      intensity: { restarts: 1 },
    })
    assert.deepEqual([a.lives, b.lives], [2, 2])
  })

  test('restForOne: an earlier one that fails while the rest waits takes the rest with it', function* () {
    const log: string[] = []
    const stamp = function* (name: string, fails: number) {
      log.push(`${name}@${now()}`)
      if (Fiber.current.incarnation === 1 && fails > 0) yield* failAfter(fails, new Error(name))
      yield* sleep(1000)
    }
    const spec = (name: string, fails: number) => ({ name, body: stamp, args: [name, fails] })
    yield* supervise([spec('a', 50), spec('b', 10), spec('c', 0)], {
      strategy: 'restForOne',
      restart: 'onError',
      backoff: 100,
    })
    assert.equal(log.sort().join(' '), 'a@0 a@150 b@0 b@150 c@0 c@150')
  })

  test('the mailbox is cut when the restart is decided: messages sent while it waits for it arrive', function* () {
    const got: unknown[] = []
    const child = spin('child', function* () {
      if (Fiber.current.incarnation === 1) {
        yield* sleep(10)
        throw boom
      }
      for (;;) got.push(yield* receive())
    })
    spin('sender', function* () {
      child.send('before')
      yield* sleep(20)
      assert.equal(child.state, 'dead')
      assert.equal(child.send('meanwhile'), true)
      yield* sleep(100)
      child.send('after')
      yield* sleep(1)
      child.stop()
    })
    yield* supervise([child], { restart: 'onError', backoff: 50 })
    assert.deepEqual(got, ['meanwhile', 'after'])
    assert.equal(child.send('nobody'), false)
  })

  test('the error of a child spun with link: false is supervised too', function* () {
    spin({ link: false }, failAfter, 10, boom)
    assert.equal(yield* thrownBy(supervise()), boom)
    const worker = flaky(1)
    spin({ link: false }, worker.body)
    yield* supervise({ restart: 'onError' })
    assert.equal(worker.lives, 2)
    assert.deepEqual(kinds(), [])
  })

  test('those who await a supervised child hear of its error as well', function* () {
    const worker = flaky(1)
    const child = spin(worker.body)
    const awaiter = spin(() => child.await()) // what it throws again, its parent has received already
    yield* supervise([child], { restart: 'onError' })
    assert.equal(awaiter.outcome?.type, 'error')
    assert.equal(child.outcome?.type, 'value')
  })

  test('after it has returned, errors of children strike as before', function* () {
    yield* supervise([{ body: () => 1 }])
    spin(failAfter, 10, boom)
    assert.equal(yield* thrownBy(sleep(100)), boom)
  })
})

describe('S43 intensity and back-off', () => {
  test('three restarts in five seconds are allowed, the fourth ends it with the last error as cause', function* () {
    const worker = flaky(10, 10)
    const log: string[] = []
    const error = yield* thrownBy(
      supervise(
        [
          { body: server, args: ['a', log] },
          { name: 'worker', body: worker.body },
          { body: server, args: ['b', log] },
        ],
        { restart: 'onError' },
      ),
    )
    assert.ok(error instanceof RestartIntensityError)
    assert.equal(error.code, 'RESTART_INTENSITY')
    assert.equal((error.cause as Error).message, 'life 4')
    assert.match(error.message, /worker would be restart number 4 within 5000 ms in main, which allows 3/)
    assert.equal(worker.lives, 4)
    assert.deepEqual(log, ['+a', '+b', '-b', '-a'])
  })

  test('the window slides: what is older than it does not count', function* () {
    const worker = flaky(20, 1700) // never more than three in 5 s
    yield* supervise([{ body: worker.body }], { restart: 'onError' })
    assert.equal(worker.lives, 21)
  })

  test('restarts of all children count together', function* () {
    const workers = [flaky(1, 10), flaky(1, 20), flaky(1, 30)]
    const error = yield* thrownBy(
      supervise(
        workers.map(({ body }) => ({ body })),
        { restart: 'onError', intensity: { restarts: 2 } },
      ),
    )
    assert.equal(error.code, 'RESTART_INTENSITY')
    assert.deepEqual(
      workers.map(({ lives }) => lives),
      [2, 2, 1],
    )
  })

  test('a storm in no time is caught: a body that returns at once, under always', function* () {
    let lives = 0
    const error = yield* thrownBy(supervise([{ body: () => void lives++ }], { restart: 'always' }))
    assert.ok(error instanceof RestartIntensityError)
    assert.equal(error.cause, undefined)
    assert.equal(lives, 4)
  })

  test('a storm without a limit starves nobody', function* () {
    let lives = 0
    const supervisor = spin(() =>
      supervise([{ body: () => void lives++ }], { restart: 'always', intensity: { restarts: Infinity } }),
    )
    for (let i = 0; i < 100; i++) yield* sleep(0)
    yield* supervisor.stop()
    assert.ok(lives > 10)
  })

  test('restarts by hand count too: no storm without end', function* () {
    let lives = 0
    const op = supervise([{ body: () => void lives++ }], { onDone: (fiber) => fiber.restart() })
    assert.equal((yield* thrownBy(op)).code, 'RESTART_INTENSITY')
    assert.equal(lives, 4)
  })

  test('escalation goes up to the top when nothing helps', function* () {
    const cause = new Error('hopeless')
    let lives = 0
    const hopeless = function* () {
      lives++
      throw cause
    }
    const level = (body: () => unknown) => () => supervise([{ body: body as any }], { restart: 'onError' })
    const error = yield* thrownBy(level(level(hopeless))())
    assert.ok(error instanceof RestartIntensityError)
    assert.ok(error.cause instanceof RestartIntensityError)
    assert.equal(error.cause.cause, cause)
    assert.equal(lives, 16)
  })

  test('a restart waits, longer each time in a row', function* () {
    const times: number[] = []
    const body = function* () {
      times.push(now())
      if (Fiber.current.incarnation < 4) throw new Error('again')
    }
    yield* supervise([{ body }], { restart: 'onError', backoff: { delay: 100 } })
    assert.deepEqual(times, [0, 100, 300, 700])
  })

  test('a child that has lived for longer than the window begins a new row', function* () {
    const times: number[] = []
    const lives = [0, 0, 6000, 0]
    const body = function* () {
      times.push(now())
      const life = lives[Fiber.current.incarnation - 1]
      if (life === undefined) return
      yield* sleep(life)
      throw new Error('again')
    }
    yield* supervise([{ body }], { restart: 'onError', backoff: { delay: 100 } })
    assert.deepEqual(times, [0, 100, 300, 6400, 6600])
  })

  test('jitter shortens the wait', function* () {
    let at = 0
    const body = function* () {
      at = now()
      if (Fiber.current.incarnation === 1) throw new Error('again')
    }
    yield* supervise([{ body }], { restart: 'onError', backoff: 1000, jitter: 0.5 })
    assert.ok(at >= 500 && at <= 1000, `restarted at ${at}`)
  })

  test('a restart that waits still counts', function* () {
    const worker = flaky(9, 0)
    const op = supervise([{ body: worker.body }], {
      restart: 'onError',
      backoff: 1000,
      intensity: { restarts: 3, within: 5000 },
    })
    assert.equal((yield* thrownBy(op)).code, 'RESTART_INTENSITY')
    assert.equal(now(), 3000)
  })

  test('a stop calls off the restart that waits: the later verb wins', function* () {
    for (const until of ['all', 'any'] as const) {
      const since = now()
      const worker = flaky(1, 10)
      const child = spin(worker.body)
      const stopper = spin(function* () {
        yield* sleep(100)
        child.stop()
        yield* sleep()
      })
      const other = { body: () => sleep(200) }
      yield* supervise([child, other], { restart: 'onError', backoff: 1000, until })
      assert.equal(now() - since, until === 'any' ? 100 : 200)
      assert.equal(worker.lives, 1)
      assert.equal(child.send('anybody?'), false)
      yield* stopper.stop()
    }
  })

  test('a restart from outside does not wait, and the one that waits is forgotten', function* () {
    for (const life of [10, 2000]) {
      const since = now()
      const child: Fiber = spin(() => (child.incarnation === 1 ? failAfter(10, boom) : sleep(life)))
      spin(function* () {
        yield* sleep(100)
        child.restart()
      })
      yield* supervise([child], { restart: 'onError', backoff: 1000 })
      assert.equal(child.incarnation, 2)
      assert.equal(now() - since, 100 + life)
    }
  })

  test('a supervisor that is stopped while a child waits for its restart ends at once', function* () {
    const worker = flaky(1, 10)
    const child = spin(worker.body)
    const supervisor = spin(() => supervise([child], { restart: 'onError', backoff: 1000 }))
    yield* sleep(50)
    const caller = yield* started(() => call(child, 'anybody?') as Routine<any>)
    assert.deepEqual(yield* supervisor.stop('v'), { type: 'stopped', value: 'v' })
    assert.equal(now(), 51)
    assert.equal(child.send('anybody?'), false)
    assert.equal((yield* thrownBy(caller)).code, 'FIBER_STOPPED')
    yield* sleep(2000)
    assert.equal(worker.lives, 1)
  })
})

describe('S44 the end', () => {
  test('without children, or with an empty list, it returns at once; any does too', function* () {
    yield* supervise()
    yield* supervise([])
    yield* supervise({ until: 'any' })
    yield* supervise([], { until: 'any' })
    assert.equal(now(), 0)
  })

  test('until any: the first that ends for good ends it, the others are stopped', function* () {
    const log: string[] = []
    const quick = { name: 'quick', body: () => sleep(10) }
    yield* supervise([{ body: server, args: ['a', log] }, quick, { body: server, args: ['b', log, 5] }], {
      until: 'any',
    })
    assert.equal(now(), 15)
    assert.deepEqual(log, ['+a', '+b', '-b', '-a'])
    assert.deepEqual(Fiber.current.children, [])
  })

  test('until any: a child that somebody stopped has ended for good', function* () {
    const [a, b] = [spin(() => sleep()), spin(() => sleep())]
    spin(function* () {
      yield* sleep(5)
      a.stop()
      yield* sleep()
    })
    yield* supervise([a, b], { until: 'any', restart: 'always' })
    assert.equal(now(), 5)
    assert.equal(b.state, 'dead')
  })

  test('until any: a sibling that was stopped for a group and is not restarted does not count', function* () {
    const log: string[] = []
    const worker = flaky(1, 10)
    yield* supervise(
      [
        { name: 'flaky', body: worker.body, restart: 'onError' },
        { name: 'temporary', body: server, args: ['t', log], restart: 'never' },
        { name: 'lasting', body: () => sleep(100), restart: 'onError' },
      ],
      { until: 'any', strategy: 'oneForAll' },
    )
    assert.deepEqual(log, ['+t', '-t'])
    assert.equal(worker.lives, 2)
    assert.equal(now(), 20)
  })

  test('until never: it goes on without children, and leaves when it is struck', function* () {
    const log: string[] = []
    const supervisor = spin('supervisor', function* () {
      yield* moveOnAfter(100, () => supervise({ until: 'never' }))
      return now()
    })
    yield* sleep(50)
    assert.equal(supervisor.waitsFor, 'supervise(0 children)')
    supervisor.spin(server, 'late', log)
    assert.equal(yield* supervisor, 100)
    assert.deepEqual(log, ['+late', '-late'])
  })

  test('a sibling that somebody stopped just before is not restarted with its group', function* () {
    const log: string[] = []
    const a = spin('a', server, 'a', log, 10)
    const x = spin('x', failsOnce, 'x', log, 10)
    spin(function* () {
      yield* sleep(9)
      a.stop() // its cleanup is not over when x fails
    })
    const supervisor = spin(() => supervise([a, x], { strategy: 'oneForAll', restart: 'onError' }))
    yield* sleep(50)
    assert.equal(log.join(' '), '+a +x !x -a +x')
    yield* supervisor.stop()
  })

  test('a dead fiber in the list: its outcome counts at once', function* () {
    const done = spin(() => 1)
    const failed = spin({ link: false }, failAfter, 1, boom)
    yield* sleep(5)
    yield* supervise([done])
    assert.equal(yield* thrownBy(supervise([done, failed])), boom)
    const lasting = spin(() => sleep())
    yield* supervise([done, lasting], { until: 'any' })
    assert.equal(lasting.state, 'dead')
  })

  test('a dead fiber in the list is restarted by the rule, unless it is somebody else’s', function* () {
    const worker = flaky(1)
    const mine = spin({ link: false }, worker.body)
    const elsewhere = spin('elsewhere', () => sleep())
    const theirs = elsewhere.spin({ link: false }, failAfter, 1, boom)
    yield* sleep(5)
    yield* supervise([mine], { restart: 'onError' })
    assert.equal(worker.lives, 2)
    assert.equal(yield* thrownBy(supervise([theirs], { restart: 'onError' })), boom)
    yield* elsewhere.stop()
  })

  const strikes: Record<string, (supervisor: Fiber) => Op<unknown>> = {
    'a stop': (supervisor) => supervisor.stop(),
    'a raise': (supervisor) => supervisor.raise(boom),
    'a time limit': () => sleep(49),
    'a kill, without waiting for them': (supervisor) => supervisor.kill(),
  }
  for (const [what, strike] of Object.entries(strikes)) {
    test(`${what} ends it after its children were stopped, newest first; none is restarted`, function* () {
      const log: string[] = []
      const children = [slow('a', log, 10), slow('b', log, 10)]
      const supervisor = spin({ link: false }, () =>
        moveOnAfter(50, () => supervise(children, { restart: 'always' })),
      )
      yield* sleep(1)
      yield* strike(supervisor)
      const outcome = yield* supervisor.join()
      assert.deepEqual(log, ['+a', '+b', ...(what.startsWith('a kill') ? [] : ['-b', '-a'])])
      assert.equal(now(), { 'a stop': 21, 'a raise': 21, 'a time limit': 70 }[what] ?? 1)
      assert.equal(outcome.type, { 'a raise': 'error', 'a time limit': 'value' }[what] ?? 'stopped')
    })
  }

  test('an error that is not restarted stops the others one by one, newest first, then is thrown', function* () {
    const log: string[] = []
    const children = ['a', 'b', 'c'].map((name) => ({ name, body: server, args: [name, log, 10] }))
    const bad = { name: 'bad', body: failAfter, args: [5, boom] }
    assert.equal(yield* thrownBy(supervise([...children.slice(0, 2), bad, children[2]!])), boom)
    assert.deepEqual(log, ['+a', '+b', '+c', '-c', '-b', '-a'])
    assert.equal(now(), 35) // 5, then three times 10: serially
    assert.deepEqual(suppressedErrors(boom), [])
  })

  test('later errors are suppressed onto the first, in order', function* () {
    const first = new Error('first')
    const later = [new Error('c'), new Error('b'), new Error('a')]
    const children = later.map((error) => ({ body: failsAtEnd, args: [error] as unknown[] })).reverse()
    assert.equal(yield* thrownBy(supervise([...children, { body: failAfter, args: [5, first] }])), first)
    assert.deepEqual(suppressedErrors(first), later)
  })

  test('the error of a child that fails as it is stopped at the end is thrown, once', function* () {
    const children = [{ body: failsAtEnd, args: [boom] }, { body: () => sleep(1) }]
    assert.equal(yield* thrownBy(supervise(children, { until: 'any' })), boom)
    yield* sleep(10)
  })

  test('an error not yet dealt with when the supervisor is stopped makes it fail', function* () {
    const log: string[] = []
    const supervisor = spin({ link: false }, function* () {
      spin(failAfter, 10, boom)
      spin(failAfter, 5, new Error('dealt with'))
      spin(server, 'c', log, 10)
      yield* supervise({ strategy: 'restForOne', restart: 'onError' })
    })
    yield* sleep(12) // it waits until 15 for c, which fell with the second: it has not looked at the first yet
    assert.deepEqual(yield* supervisor.stop(), { type: 'error', error: boom })
  })

  test('an error in the hands of a callback is kept when the supervisor is stopped there', function* () {
    const supervisor = spin({ link: false }, function* () {
      spin(failAfter, 10, boom)
      yield* supervise({ restart: 'onError', onError: () => sleep(100) })
    })
    yield* sleep(50)
    assert.deepEqual(yield* supervisor.stop(), { type: 'error', error: boom })
    assert.equal(now(), 50)
  })

  test('so are the errors of a group that is down, and nothing of it is restarted', function* () {
    const log: string[] = []
    const [inHand, next] = [new Error('in hand'), new Error('next')]
    const supervisor = spin({ link: false }, function* () {
      const group = [
        spin(failsAtEnd, next),
        spin(failsAtEnd, inHand),
        spin(failAfter, 10, boom),
        spin(server, 'judged', log),
      ]
      yield* ensure(
        () =>
          supervise({
            strategy: 'oneForAll',
            restart: 'onError',
            onError: (error) => (error === boom ? undefined : sleep(100)),
          }),
        () => void log.push(...group.map((child) => `${child.send('anybody?')}`)),
      )
    })
    yield* sleep(50)
    assert.deepEqual(yield* supervisor.stop(), { type: 'error', error: inHand })
    assert.deepEqual(suppressedErrors(inHand), [next])
    assert.equal(log.join(' '), '+judged -judged false false false false')
  })

  test('a supervisor that is abandoned in a callback reports the errors it had in hand, and bubbles later ones', function* () {
    const late = new Error('late')
    let member!: Fiber
    const supervisor = spin({ link: false, grace: 10 }, function* () {
      spin(failsAtEnd, late, 1)
      spin(failAfter, 10, boom)
      member = spin(failsAtEnd, new Error('in hand'))
      yield* supervise({
        strategy: 'restForOne',
        restart: 'onError',
        *onError(error) {
          if (error === boom) return
          for (let tries = 0; ; tries++) {
            try {
              yield* sleep()
            } finally {
              // biome-ignore lint/correctness/noUnsafeFinally: it never lets go, that is the point
              if (tries >= 0) continue
            }
          }
        },
      })
    })
    yield* sleep(20)
    const outcome = yield* supervisor.stop()
    assert.equal(outcome.type, 'error')
    assert.equal((outcome as { error: unknown }).error, late)
    assert.deepEqual(kinds(), ['forced', 'abandoned', 'unobserved'])
    assert.equal(member.send('anybody?'), false)
  })

  test('when half its grace is used up, the rest are stopped at once, and nobody is forced', function* () {
    const log: string[] = []
    const supervisor = spin({ grace: 1000 }, () =>
      supervise([slow('a', log, 300), slow('b', log, 300), slow('c', log, 300), slow('d', log, 300)]),
    )
    yield* sleep(10)
    yield* supervisor.stop()
    assert.deepEqual(log.slice(0, 6), ['+a', '+b', '+c', '+d', '-d', '-c'])
    assert.deepEqual(log.slice(6).sort(), ['-a', '-b']) // in one turn
    assert.equal(now(), 809) // d: 310, c: asked then, the rest at 509
    assert.deepEqual(kinds(), [])
  })

  test('a time limit whose grace is over leaves no child unasked, and no error is lost', function* () {
    const [early, late] = [new Error('early'), new Error('late')]
    const log: string[] = []
    const children = [
      slow('a', log, 10),
      { body: failsAtEnd, args: [late, 30] },
      { body: failsAtEnd, args: [early] },
    ]
    yield* moveOnAfter(50, () => supervise(children), { grace: 5 })
    assert.equal(now(), 55)
    assert.equal(yield* thrownBy(sleep(1)), early)
    assert.equal(yield* thrownBy(sleep(100)), late)
    assert.deepEqual(log, ['+a', '-a'])
  })

  for (const [what, grace, end] of [
    ['a child that supervises has as long as its own children need', undefined, 12010],
    ['a grace given in its spec outweighs that', 500, 510],
  ] as const) {
    test(what, function* () {
      const log: string[] = []
      const below = () => supervise([slow('x', log, 4000), slow('y', log, 4000), slow('z', log, 4000)])
      const fatal = { body: failAfter, args: [10, boom] }
      yield* thrownBy(supervise([{ name: 'below', body: below, grace }, fatal]))
      assert.deepEqual(log, ['+x', '+y', '+z', ...(grace === undefined ? ['-z', '-y', '-x'] : [])])
      assert.equal(now(), end)
    })
  }

  test('each child is stopped with its own grace', function* () {
    const log: string[] = []
    const fatal = { body: failAfter, args: [10, new Error('fatal')] }
    yield* thrownBy(supervise([slow('quick', log, 100, 10), slow('slow', log, 100, 200), fatal]))
    assert.deepEqual(log, ['+quick', '+slow', '-slow'])
    assert.equal(now(), 120)
    assert.deepEqual(kinds(), ['forced'])
  })

  test('when supervise itself ends, it only stops what is left: the callbacks are not called', function* () {
    const told: string[] = []
    const error = new Error('fatal')
    const children = [
      { name: 'a', body: () => sleep() },
      { name: 'bad', body: failAfter, args: [5, error] },
    ]
    const op = supervise(children, { onDone: (fiber) => void told.push(fiber.name) })
    assert.equal(yield* thrownBy(op), error)
    assert.deepEqual(told, ['bad'])
  })

  test('a back-off that throws does not hide the error it should have answered', function* () {
    const child = spin('child', failAfter, 10, new Error('down'))
    const backoff = () => {
      throw new Error('no idea')
    }
    const error = yield* thrownBy(supervise([child], { restart: 'onError', backoff }))
    assert.equal(error.message, 'no idea')
    assert.deepEqual(suppressedErrors(error).map(String), ['Error: down'])
    assert.equal(child.send('anybody?'), false)
  })

  test('a restart that is impossible does not hide the error it should have answered', function* () {
    let orphan!: Fiber
    yield* spin(function* () {
      orphan = spin({ link: false }, failAfter, 1, new Error('down'))
      yield* orphan.join()
    })
    const error = yield* thrownBy(supervise([orphan], { onDone: () => 'restart' }))
    assert.match(error.message, /cannot be restarted: its parent is over/)
    assert.deepEqual(suppressedErrors(error).map(String), ['Error: down'])
  })
})

// Supervision: S42 to S44. The cases follow OTP's own supervisor suite.

import {
  after,
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
  reports,
  type Strategy,
  type SuperviseOptions,
  sleep,
  spin,
  started,
  supervise,
  suppressedErrors,
  test,
  thrownBy,
  waits,
} from '../prelude.js'
import { signals } from '../shared/signals.js'
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

/** Three servers and one that fails once, in the middle; gives what happened before that, then, and at the end. */
function* drama(
  strategy: Strategy,
  rules: Record<string, RestartRule> = {},
  onDone?: SuperviseOptions['onDone'],
) {
  const log: string[] = []
  const acts: string[] = []
  const spec = (name: string) => ({ name, body: server, args: [name, log, 2], restart: rules[name] })
  const bad = { name: 'x', body: failsOnce, args: ['x', log, 10] }
  const supervisor = spin(() =>
    supervise([spec('a'), spec('b'), bad, spec('c'), spec('d')], { strategy, restart: 'onError', onDone }),
  )
  for (const ms of [9, 50]) {
    yield* sleep(ms)
    acts.push(log.splice(0).join(' '))
  }
  yield* supervisor.stop()
  return [...acts, log.join(' ')]
}

describe('S42 rules and strategies', () => {
  for (const [rule, answered] of [
    ['always', ['value', 'error']],
    ['onError', ['error']],
    ['never', []],
  ] as [RestartRule, string[]][]) {
    test(`${rule}: of value, error and stopped, it answers ${answered.join(' and ') || 'none'} by a restart`, function* () {
      for (const [end, body] of Object.entries(ends)) {
        if (rule === 'never' && end === 'error') continue // it is thrown: see below
        const child: Fiber = spin(() => (child.incarnation === 1 ? body() : sleep()) as any)
        const supervised = function* () {
          yield* supervise([child], { restart: rule })
          return 'over'
        }
        const seen = [yield* moveOnAfter(20, supervised, 'goes on'), child.incarnation]
        assert.deepEqual(seen, answered.includes(end) ? ['goes on', 2] : ['over', 1], end)
      }
    })
  }

  test('never, which is the default: an error is thrown', function* () {
    const child = { body: failAfter, args: [1, boom] }
    assert.equal(yield* thrownBy(supervise([child])), boom)
    const explicit = supervise([{ ...child, restart: 'never' }], { restart: 'always' })
    assert.equal(yield* thrownBy(explicit), boom)
  })

  test('a child whose cleanup fails when it is stopped has failed: it is restarted', function* () {
    const child: Fiber = spin(() => (child.incarnation === 1 ? failsAtEnd(boom) : undefined))
    after(1, () => void child.stop())
    yield* supervise([child], { restart: 'onError' })
    assert.equal(child.incarnation, 2)
  })

  test('what onError says holds, unless onDone says something else', function* () {
    const said: ('ignore' | undefined)[] = [undefined, 'ignore']
    for (const done of said) {
      const child = spin(failsOnce, 'x', [], 10)
      const op = supervise([child], { onError: () => 'restart', onDone: () => done })
      yield* moveOnAfter(20, () => op)
      assert.equal(child.incarnation, done === undefined ? 2 : 1)
    }
  })

  test('a restart from outside is no end, and does not count', function* () {
    const told: string[] = []
    const child = spin(() => sleep(10))
    for (let ms = 5; ms <= 50; ms += 5) after(ms, () => void child.restart())
    yield* supervise([child], { onDone: (_, outcome) => void told.push(outcome.type) })
    assert.deepEqual([told, child.incarnation], [['value'], 11])
  })

  test('a dead child that somebody restarts from outside is watched again', function* () {
    const child = spin(() => sleep(10))
    const lasting = spin(() => sleep(100))
    after(50, () => void child.restart())
    after(55, () => void child.raise(boom))
    assert.equal(yield* thrownBy(supervise([child, lasting])), boom)
    assert.deepEqual([lasting.state, now()], ['dead', 55])
  })

  test('a child of a list that was over and is restarted by hand is waited for, and stopped at the end', function* () {
    for (const isStopped of [false, true]) {
      const since = now()
      const child: Fiber = spin(() => sleep(child.incarnation === 1 ? 10 : 50))
      const supervisor = spin(() => supervise([child, spin(() => sleep(20))]))
      after(15, () => void child.restart())
      yield* sleep(30)
      if (isStopped) supervisor.stop()
      yield* supervisor.join()
      assert.deepEqual([child.state, now() - since], ['dead', isStopped ? 30 : 65])
    }
  })

  test('a child of a list that was detached is not watched when it comes back, nor when it is restarted then', function* () {
    const host = Fiber.current
    const child: Fiber = spin(() => (child.incarnation === 1 ? sleep() : failAfter(5, boom)))
    spin(function* () {
      yield* sleep(1)
      child.attachTo(Fiber.current)
      child.attachTo(host)
      child.restart()
      yield* sleep(20)
    })
    const op = supervise([child, { body: () => sleep(20) }], { restart: 'onError' })
    assert.equal(yield* thrownBy(op), boom)
  })

  const strategies: [Strategy, string, string][] = [
    ['oneForOne', 'the others are left alone', '!x +x'],
    ['oneForAll', 'all are stopped newest first, then started in order', '!x -d -c -b -a +a +b +x +c +d'],
    ['restForOne', 'later ones are stopped newest first, then started in order', '!x -d -c +x +c +d'],
  ]
  for (const [strategy, what, during] of strategies) {
    test(`${strategy}: ${what}`, function* () {
      assert.deepEqual(yield* drama(strategy), ['+a +b +x +c +d', during, '-d -c -x -b -a'])
    })
  }

  test('a sibling that is not to be restarted is stopped with its group, and stays away', function* () {
    const withoutC = ['!x -d -c -b -a +a +b +x +d', '-d -x -b -a']
    assert.deepEqual((yield* drama('oneForAll', { c: 'never' })).slice(1), withoutC)
    const rest = yield* drama('restForOne', { d: 'never', a: 'never' })
    assert.equal(rest[1], '!x -d -c +x +c')
    const ignored = yield* drama('oneForAll', {}, ({ name }) => (name === 'c' ? 'ignore' : undefined))
    assert.deepEqual(ignored.slice(1), withoutC)
  })

  test('without a list, start order is the order of spinning, also after restarts', function* () {
    const log: string[] = []
    spin(failsOnce, 'a', log, 5)
    spin(failsOnce, 'b', log, 10)
    spin(server, 'c', log)
    yield* moveOnAfter(7, () => supervise({ strategy: 'restForOne', restart: 'onError' }))
    assert.equal(log.join(' '), '+a +b +c !a -c +a +b +c -c -b -a')
  })

  test('a child that ended for good before is not brought back by its group', function* () {
    const done = spin(() => 1)
    const failed = spin(failsOnce, 'x', [], 10)
    yield* moveOnAfter(20, () => supervise([done, failed], { strategy: 'oneForAll', restart: 'onError' }))
    assert.deepEqual([done.incarnation, failed.incarnation], [1, 2])
  })

  test('a sibling that fails while its group is stopped is restarted with it, and counts once', function* () {
    const log: string[] = []
    const sibling: Fiber = spin(() =>
      sibling.incarnation === 1 ? failsAtEnd(new Error('cleanup')) : sleep(),
    )
    const op = supervise([sibling, { body: failsOnce, args: ['x', log, 10] }], {
      strategy: 'oneForAll',
      restart: 'onError',
      intensity: { restarts: 1 },
      onError: (error) => void log.push(`?${(error as Error).message}`),
    })
    yield* moveOnAfter(50, () => op)
    assert.deepEqual([log.join(' '), sibling.incarnation], ['+x !x ?x ?cleanup +x -x', 2])
  })

  test('a sibling that is being restarted by hand when its group goes down comes back with it', function* () {
    const log: string[] = []
    const sibling = spin(server, 'a', log, 20)
    after(2, () => void sibling.restart('b', log))
    const failing = { body: failsOnce, args: ['x', log, 5] }
    yield* moveOnAfter(50, () => supervise([sibling, failing], { strategy: 'oneForAll', restart: 'onError' }))
    assert.equal(log.join(' '), '+a +x !x -a +b +x -x -b')
  })

  test('without a list, a child that was over and is restarted by hand is watched again, as the newest', function* () {
    const log: string[] = []
    const first: Fiber = spin(() => (first.incarnation === 1 ? sleep(1) : server('first', log)))
    spin(failsOnce, 'x', log, 10)
    after(5, () => void first.restart())
    yield* moveOnAfter(50, () => supervise({ strategy: 'restForOne', restart: 'onError' }))
    assert.deepEqual([log.join(' '), first.incarnation], ['+x !x -first +x -first -x', 3])
  })

  test('a child of another part that fails while a group is down is dealt with afterwards', function* () {
    const log: string[] = []
    spin(failsOnce, 'a', log, 12)
    spin(failsOnce, 'b', log, 10)
    spin(server, 'c', log, 5)
    yield* moveOnAfter(100, () => supervise({ strategy: 'restForOne', restart: 'onError' }))
    // b fails at 10, c needs until 15; a fails at 12, and takes all of them with it
    assert.equal(log.join(' '), '+a +b +c !b !a -c +a +b +c -c -b -a')
  })

  test('two that fail in the same turn under oneForAll are one restart', function* () {
    const [a, b] = [spin(flaky(1, 10).body), spin(flaky(1, 10).body)]
    yield* supervise([a, b], { strategy: 'oneForAll', restart: 'onError', intensity: { restarts: 1 } })
    assert.deepEqual([a.incarnation, b.incarnation], [2, 2])
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
      if (Fiber.current.incarnation === 1) yield* failAfter(10, boom)
      for (;;) got.push(yield* receive())
    })
    child.send('before')
    spin('sender', function* () {
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
    const child = spin(flaky(1).body)
    const awaiter = spin(() => child.await()) // what it throws again, its parent has received already
    yield* supervise([child], { restart: 'onError' })
    assert.deepEqual([awaiter.outcome?.type, child.outcome?.type], ['error', 'value'])
  })

  test('after it has returned, errors of children strike as before', function* () {
    yield* supervise([{ body: () => 1 }])
    spin(failAfter, 10, boom)
    assert.equal(yield* thrownBy(sleep(100)), boom)
  })

  for (const [what, strike] of signals) {
    test(`right after ${what}, a child that fails in its first turn is watched`, function* () {
      for (const link of [true, false]) {
        yield* strike()
        const child: Fiber<number> = spin({ link }, () => {
          if (child.incarnation < 3) throw new Error('at once')
          return child.incarnation
        })
        yield* supervise([child], { restart: 'onError' })
        assert.deepEqual([child.incarnation, reports()], [3, []])
      }
    })
  }

  test('a supervisor told of an error is the only one told, a thousand times in a row, also with link: false', function* () {
    let told = 0
    for (let i = 0; i < 1000; i++) {
      const child = spin({ link: false }, () => {
        throw new Error('at once')
      })
      yield* supervise([child], { onError: () => (++told > 0 ? 'ignore' : undefined) })
    }
    assert.deepEqual([told, reports().length], [1000, 0])
  })
})

describe('S43 intensity and back-off', () => {
  test('three restarts in five seconds are allowed, the fourth ends it with the last error as cause', function* () {
    const worker = flaky(10, 10)
    const log: string[] = []
    const children = [slow('a', log, 0), { name: 'worker', body: worker.body }, slow('b', log, 0)]
    const error = yield* thrownBy(supervise(children, { restart: 'onError' }))
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
    const children = [10, 20, 30].map((ms) => spin(flaky(1, ms).body))
    const op = supervise(children, { restart: 'onError', intensity: { restarts: 2 } })
    assert.equal((yield* thrownBy(op)).code, 'RESTART_INTENSITY')
    assert.deepEqual(
      children.map(({ incarnation }) => incarnation),
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
    let lives = 0
    const hopeless = () => {
      lives++
      throw boom
    }
    const level = (body: () => unknown) => () => supervise([{ body: body as any }], { restart: 'onError' })
    const error = yield* thrownBy(level(level(hopeless))())
    assert.ok(error instanceof RestartIntensityError)
    assert.ok(error.cause instanceof RestartIntensityError)
    assert.equal(error.cause.cause, boom)
    assert.equal(lives, 16)
  })

  /** When each incarnation began, of a child that fails after each of these lives, and then ends well. */
  function* births(lives: number[], options: SuperviseOptions) {
    const times: number[] = []
    const body = function* () {
      times.push(now())
      const life = lives[Fiber.current.incarnation - 1]
      if (life !== undefined) yield* failAfter(life, new Error('again'))
    }
    yield* supervise([{ body }], { restart: 'onError', ...options })
    return times
  }

  test('a restart waits, longer each time in a row; jitter shortens the wait', function* () {
    assert.deepEqual(yield* births([0, 0, 0], { backoff: { delay: 100 } }), [0, 100, 300, 700])
    const [first, second] = (yield* births([0], { backoff: 1000, jitter: 0.5 })) as [number, number]
    assert.ok(second - first >= 500 && second - first <= 1000, `restarted after ${second - first}`)
  })

  test('a child that has lived for longer than the window begins a new row', function* () {
    const times = yield* births([0, 0, 6000, 0], { backoff: { delay: 100 } })
    assert.deepEqual(times, [0, 100, 300, 6400, 6600])
  })

  test('so does one that was restarted by hand while it waited for its restart', function* () {
    const times: number[] = []
    const child = spin(function* () {
      times.push(now())
      yield* failAfter(times.length === 2 ? 6000 : 1, boom)
    })
    after(50, () => void child.restart())
    yield* moveOnAfter(6200, () => supervise([child], { restart: 'onError', backoff: { delay: 100 } }))
    assert.deepEqual(times, [0, 50, 6150])
  })

  test('a restart that waits still counts', function* () {
    const op = supervise([{ body: flaky(9, 0).body }], { restart: 'onError', backoff: 1000 })
    assert.equal((yield* thrownBy(op)).code, 'RESTART_INTENSITY')
    assert.equal(now(), 3000)
  })

  test('a restart by hand in a callback counts beside that of the group', function* () {
    const children = [spin(failsOnce, 'x', [], 5), spin('other', () => sleep())]
    const op = supervise(children, {
      strategy: 'oneForAll',
      restart: 'onError',
      intensity: { restarts: 1 },
      onDone: (fiber) => (fiber.name === 'other' && fiber.incarnation === 1 ? fiber.restart() : undefined),
    })
    assert.equal((yield* thrownBy(op)).code, 'RESTART_INTENSITY')
  })

  test('a child that was stopped while it waited for its restart stays dead when its time has come', function* () {
    const child = spin(flaky(1, 10).body)
    after(100, () => void child.stop())
    yield* supervise([child, { body: () => sleep(2000) }], { restart: 'onError', backoff: 1000 })
    assert.deepEqual([child.incarnation, now()], [1, 2000])
  })

  test('a stop calls off the restart that waits: the later verb wins', function* () {
    for (const until of ['all', 'any'] as const) {
      const since = now()
      const child = spin(flaky(1, 10).body)
      after(100, () => void child.stop())
      const other = { body: () => sleep(200) }
      yield* supervise([child, other], { restart: 'onError', backoff: 1000, until })
      assert.equal(now() - since, until === 'any' ? 100 : 200)
      assert.equal(child.incarnation, 1)
      assert.equal(child.send('anybody?'), false)
    }
  })

  test('a restart from outside does not wait, and the one that waits is forgotten', function* () {
    for (const life of [10, 2000]) {
      const since = now()
      const child: Fiber = spin(() => (child.incarnation === 1 ? failAfter(10, boom) : sleep(life)))
      after(100, () => void child.restart())
      yield* supervise([child], { restart: 'onError', backoff: 1000 })
      assert.equal(child.incarnation, 2)
      assert.equal(now() - since, 100 + life)
    }
  })

  test('a supervisor that is stopped while a child waits for its restart ends at once', function* () {
    const child = spin(flaky(1, 10).body)
    const supervisor = spin(() => supervise([child], { restart: 'onError', backoff: 1000 }))
    yield* sleep(50)
    const caller = yield* started(() => call(child, 'anybody?') as Routine<any>)
    assert.deepEqual(yield* supervisor.stop('v'), { type: 'stopped', value: 'v' })
    assert.equal(now(), 51)
    assert.equal(child.send('anybody?'), false)
    assert.equal((yield* thrownBy(caller)).code, 'FIBER_STOPPED')
    yield* sleep(2000)
    assert.equal(child.incarnation, 1)
  })
})

describe('S44 the end', () => {
  test('without children, or with an empty list, it returns at once; any does too', function* () {
    for (const until of ['all', 'any'] as const) {
      yield* supervise({ until })
      yield* supervise([], { until })
    }
    assert.equal(now(), 0)
  })

  test('until any: the first that ends for good ends it, the others are stopped', function* () {
    const log: string[] = []
    const children = [slow('a', log, 0), { body: () => sleep(10) }, slow('b', log, 5)]
    yield* supervise(children, { until: 'any' })
    assert.equal(now(), 15)
    assert.deepEqual(log, ['+a', '+b', '-b', '-a'])
    assert.deepEqual(Fiber.current.children, [])
  })

  test('a child that is being restarted by hand is stopped for the reason of the end, and does not come back', function* () {
    const log: unknown[] = []
    const body = function* () {
      log.push(Fiber.current.incarnation)
      yield* waits(function* () {
        yield* sleep(10)
        log.push(Fiber.current.stopReason)
      })
    }
    const host = yield* started(() => supervise([{ body }]))
    host.children[0]?.restart()
    yield* sleep(5)
    yield* host.stop(undefined, { reason: 'closing time' })
    assert.deepEqual([log, now()], [[1, 'closing time'], 11])
  })

  test('until any: a child that somebody stopped has ended for good', function* () {
    const [a, b] = [spin(() => sleep()), spin(() => sleep())]
    after(5, () => void a.stop())
    yield* supervise([a, b], { until: 'any', restart: 'always' })
    assert.deepEqual([now(), b.state], [5, 'dead'])
  })

  test('until any: a sibling that was stopped for a group and is not restarted does not count', function* () {
    const worker = spin(flaky(1, 10).body)
    const temporary = { body: () => sleep(), restart: 'never' as const }
    const lasting = { body: () => sleep(100) }
    const options = { until: 'any', strategy: 'oneForAll', restart: 'onError' } as const
    yield* supervise([worker, temporary, lasting], options)
    assert.deepEqual([worker.incarnation, now()], [2, 20])
  })

  test('until any: a sibling that ends by itself, or is stopped, while its group is taken down does count', function* () {
    for (const [sibling, stopAt, end] of [
      [() => sleep(8), 1000, 15],
      [() => waits(() => sleep(10)), 20, 25],
    ] as const) {
      const since = now()
      const child = spin(sibling)
      after(stopAt, () => void child.stop())
      const children = [spin(failsOnce, 'x', [], 5), child, slow('newest', [], 10)] // the newest is down at 15
      const options = { until: 'any', strategy: 'oneForAll', restart: 'onError' } as const
      yield* moveOnAfter(100, () => supervise(children, options))
      assert.equal(now() - since, end)
    }
  })

  test('a child that is restarted while it is being stopped for good is stopped again', function* () {
    const child = spin('child', server, 'child', [], 10)
    const supervisor = spin(() => supervise([child]))
    yield* sleep(5)
    supervisor.raise(boom)
    yield* sleep(5)
    child.restart()
    assert.equal(yield* thrownBy(sleep(1000)), boom)
    assert.deepEqual([child.state, supervisor.state, now() < 100], ['dead', 'dead', true])
  })

  test('until never: it goes on without children, and leaves when it is struck', function* () {
    const log: string[] = []
    const supervisor = spin(() => moveOnAfter(100, () => supervise({ until: 'never' })))
    yield* sleep(50)
    assert.equal(supervisor.waitsFor, 'supervise(0 children)')
    supervisor.spin(server, 'late', log)
    yield* supervisor
    assert.deepEqual([now(), log], [100, ['+late', '-late']])
  })

  test('a sibling that somebody stopped just before is not restarted with its group', function* () {
    const log: string[] = []
    const a = spin(server, 'a', log, 10)
    const x = spin(failsOnce, 'x', log, 10)
    after(9, () => void a.stop()) // its cleanup is not over when x fails
    yield* moveOnAfter(50, () => supervise([a, x], { strategy: 'oneForAll', restart: 'onError' }))
    assert.equal(log.join(' '), '+a +x !x -a +x -x')
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
    const mine = spin({ link: false }, flaky(1).body)
    const elsewhere = spin(() => sleep())
    const theirs = elsewhere.spin({ link: false }, failAfter, 1, boom)
    yield* sleep(5)
    yield* supervise([mine], { restart: 'onError' })
    assert.equal(mine.incarnation, 2)
    assert.equal(yield* thrownBy(supervise([theirs], { restart: 'onError' })), boom)
    yield* elsewhere.stop()
  })

  const strikes: [string, (supervisor: Fiber) => Op<unknown>, end: number, outcome: string][] = [
    ['a stop', (supervisor) => supervisor.stop(), 21, 'stopped'],
    ['a raise', (supervisor) => supervisor.raise(boom), 21, 'error'],
    ['a time limit', () => sleep(49), 70, 'value'],
    ['a kill, without waiting for them', (supervisor) => supervisor.kill(), 1, 'stopped'],
  ]
  for (const [what, strike, end, outcome] of strikes) {
    test(`${what} ends it after its children were stopped, newest first; none is restarted`, function* () {
      const log: string[] = []
      const children = [slow('a', log, 10), slow('b', log, 10)]
      const supervisor = yield* started(() =>
        moveOnAfter(50, () => supervise(children, { restart: 'always' })),
      )
      yield* strike(supervisor)
      assert.equal((yield* supervisor.join()).type, outcome)
      assert.deepEqual([log, now()], [['+a', '+b', ...(end > 1 ? ['-b', '-a'] : [])], end])
    })
  }

  test('an error that is not answered stops the others one by one, newest first; theirs are suppressed', function* () {
    const later = [new Error('c'), new Error('b'), new Error('a')]
    const children = later.map((error) => ({ body: failsAtEnd, args: [error, 10] as unknown[] })).reverse()
    const first = new Error('first')
    assert.equal(yield* thrownBy(supervise([...children, { body: failAfter, args: [5, first] }])), first)
    assert.deepEqual(suppressedErrors(first), later)
    assert.equal(now(), 35) // 5, then three times 10
  })

  test('what strikes from outside passes through once the children are stopped; their errors are all beside it', function* () {
    const [a, b] = [new Error('a'), new Error('b')]
    const children = [a, b].map((error) => ({ body: failsAtEnd, args: [error, 5] }))
    const strikes: ((host: Fiber, error: Error) => unknown)[] = [
      (host, error) => host.raise(error),
      (host, error) => host.spin(failAfter, 0, error), // not in the list
    ]
    for (const strike of strikes) {
      const outside = new Error('from outside')
      const host = spin({ link: false }, () =>
        supervise(children, { restart: 'always', strategy: 'oneForAll', onError: () => 'restart' }),
      )
      after(10, () => void strike(host, outside))
      assert.deepEqual(yield* host.join(), { type: 'error', error: outside })
      assert.deepEqual(suppressedErrors(outside), [b, a])
    }
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

  test('an error that a callback deals with then makes it fail too, with those of its group; none is restarted', function* () {
    const log: string[] = []
    const [inHand, next] = [new Error('in hand'), new Error('next')]
    const onError = (error: unknown) => (error === boom ? undefined : sleep(100))
    const supervisor = spin({ link: false }, function* () {
      const group = [
        spin(failsAtEnd, next),
        spin(failsAtEnd, inHand),
        spin(failAfter, 10, boom),
        spin(server, 'judged', log),
      ]
      yield* ensure(
        () => supervise({ strategy: 'oneForAll', restart: 'onError', onError }),
        () => void log.push(...group.map((child) => `${child.send('anybody?')}`)),
      )
    })
    yield* sleep(50)
    assert.deepEqual(yield* supervisor.stop(), { type: 'error', error: inHand })
    assert.deepEqual([suppressedErrors(inHand), now()], [[next], 50])
    assert.equal(log.join(' '), '+judged -judged false false false false')
  })

  test('a supervisor that is abandoned in a callback fails with the errors it had in hand, and with later ones', function* () {
    const late = new Error('late')
    const inHand = new Error('in hand')
    let member!: Fiber
    const supervisor = spin({ link: false, grace: 10 }, function* () {
      spin(failsAtEnd, late, 1)
      spin(failAfter, 10, boom)
      member = spin(failsAtEnd, inHand)
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
    assert.deepEqual(yield* supervisor.stop(), { type: 'error', error: inHand })
    assert.deepEqual([suppressedErrors(inHand), kinds()], [[late], ['forced', 'abandoned']])
    assert.equal(member.send('anybody?'), false)
  })

  test('when half its grace is used up, the rest are stopped at once, and nobody is forced', function* () {
    const log: string[] = []
    const children = ['a', 'b', 'c', 'd'].map((name) => slow(name, log, 300))
    const supervisor = spin({ grace: 1000 }, () => supervise(children))
    yield* sleep(10)
    yield* supervisor.stop()
    assert.deepEqual(log.slice(0, 6), ['+a', '+b', '+c', '+d', '-d', '-c'])
    assert.deepEqual(log.slice(6).sort(), ['-a', '-b']) // in one turn
    assert.equal(now(), 809) // d: 310, c: asked then, the rest at 509
    assert.deepEqual(kinds(), [])
  })

  test('a time limit whose grace is over leaves no child unasked; an error is thrown at its edge, a later one after it', function* () {
    const [early, late] = [new Error('early'), new Error('late')]
    const log: string[] = []
    const children = [
      slow('a', log, 10),
      { body: failsAtEnd, args: [late, 30] },
      { body: failsAtEnd, args: [early] },
    ]
    assert.equal(yield* thrownBy(moveOnAfter(50, () => supervise(children), { grace: 5 })), early)
    assert.equal(now(), 55)
    assert.equal(yield* thrownBy(sleep(100)), late)
    assert.deepEqual(log, ['+a', '-a'])
  })

  for (const [what, grace, end] of [
    ['a child that supervises has as long as its own children need', undefined, 12010],
    ['a child that supervises, with a grace in its spec, has no longer than that', 500, 510],
  ] as const) {
    test(what, function* () {
      const log: string[] = []
      const below = () => supervise(['x', 'y', 'z'].map((name) => slow(name, log, 4000)))
      const fatal = { body: failAfter, args: [10, boom] }
      yield* thrownBy(supervise([{ name: 'below', body: below, grace }, fatal]))
      assert.deepEqual(log, ['+x', '+y', '+z', ...(grace === undefined ? ['-z', '-y', '-x'] : [])])
      assert.equal(now(), end)
    })
  }

  test('each child is stopped with its own grace', function* () {
    const log: string[] = []
    const fatal = { body: failAfter, args: [10, boom] }
    yield* thrownBy(supervise([slow('quick', log, 100, 10), slow('slow', log, 100, 200), fatal]))
    assert.deepEqual(log, ['+quick', '+slow', '-slow'])
    assert.equal(now(), 120)
    assert.deepEqual(kinds(), ['forced'])
  })

  test('when supervise itself ends, it only stops what is left: the callbacks are not called', function* () {
    const told: string[] = []
    const children = [{ body: () => sleep() }, { name: 'bad', body: failAfter, args: [5, boom] }]
    const op = supervise(children, { onDone: (fiber) => void told.push(fiber.name) })
    assert.equal(yield* thrownBy(op), boom)
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

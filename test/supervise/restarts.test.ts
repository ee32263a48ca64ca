// Who is restarted, in which order, how often and when (S42, S43). The names follow the cases of OTP's own supervisor suite.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  Fiber,
  RestartIntensityError,
  type RestartRule,
  type Strategy,
  sleep,
  spin,
  supervise,
} from 'polyphony'
import { virtual } from 'polyphony/testing'
import { failAfter, thrownBy } from '../prelude.js'
import { failsOnce, flaky, now, server } from './lives.js'

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

describe('rules', () => {
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
    it(`S42 S44 ${rule}: a child that ends by ${end} is ${isRestarted ? '' : 'not '}restarted`, () =>
      virtual(function* () {
        let lives = 0
        const body = () => (++lives === 1 ? (ends[end]?.() as any) : sleep())
        const op = supervise([{ body, restart: rule }, { body: () => sleep(10) }], { until: 'all' })
        if (isRestarted) {
          const supervisor = spin(() => op)
          yield* sleep(20)
          yield* supervisor.stop()
        } else yield* op
        assert.equal(lives, isRestarted ? 2 : 1)
      }))
  }

  it('S44 never, which is the default: an error is thrown', () =>
    virtual(function* () {
      const error = new Error('no')
      assert.equal(yield* thrownBy(supervise([{ body: failAfter, args: [1, error] }])), error)
      const explicit = supervise([{ body: failAfter, args: [1, error], restart: 'never' }], {
        restart: 'always',
      })
      assert.equal(yield* thrownBy(explicit), error)
    }))

  it('V5 the rule of a spec outweighs the one for all', () =>
    virtual(function* () {
      const [a, b] = [flaky(1), flaky(0)]
      yield* supervise([{ body: a.body, restart: 'onError' }, { body: b.body }], { restart: 'never' })
      assert.deepEqual([a.lives, b.lives], [2, 1])
    }))

  it('S44 a child killed from outside is not restarted', () =>
    virtual(function* () {
      const child = spin(() => sleep())
      const supervisor = spin(() => supervise([child], { restart: 'always' }))
      yield* sleep(5)
      yield* child.kill()
      yield* supervisor
      assert.equal(child.incarnation, 1)
    }))

  it('S42 a child whose cleanup fails when it is stopped has failed: it is restarted', () =>
    virtual(function* () {
      let lives = 0
      const child = spin(function* () {
        if (++lives > 1) return
        try {
          yield* sleep()
        } finally {
          // biome-ignore lint/correctness/noUnsafeFinally: the cleanup fails, that is the point
          throw new Error('cleanup')
        }
      })
      spin(function* () {
        yield* sleep(1)
        child.stop()
      })
      yield* supervise([child], { restart: 'onError' })
      assert.equal(lives, 2)
    }))

  it('S41 a restart from outside is no end, and does not count', () =>
    virtual(function* () {
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
    }))

  it('S42 one whose teardown fails in a restart from outside is restarted by the rule', () =>
    virtual(function* () {
      let lives = 0
      const child = spin(function* () {
        if (++lives > 1) return
        try {
          yield* sleep()
        } finally {
          // biome-ignore lint/correctness/noUnsafeFinally: the cleanup fails, that is the point
          throw new Error('cleanup')
        }
      })
      spin(function* () {
        yield* sleep(1)
        child.restart()
      })
      yield* supervise([child], { restart: 'onError' })
      assert.deepEqual([lives, child.incarnation], [2, 2])
    }))

  it('S42 a dead child that somebody restarts from outside is watched again', () =>
    virtual(function* () {
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
    }))
})

/** Three servers and one that fails once, in the middle; gives what happened, and ends when `ms` have passed. */
function* drama(strategy: Strategy, rules: Record<string, RestartRule> = {}) {
  const log: string[] = []
  const spec = (name: string) => ({ name, body: server, args: [name, log, 2], restart: rules[name] })
  const bad = { name: 'x', body: failsOnce, args: ['x', log, 10] }
  const supervisor = spin(() =>
    supervise([spec('a'), spec('b'), bad, spec('c'), spec('d')], { strategy, restart: 'onError' }),
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

describe('strategies', () => {
  const started = '+a +b +x +c +d'
  const stopped = '-d -c -x -b -a'

  it('S42 oneForOne: the one that failed is restarted, the others are left alone', () =>
    virtual(function* () {
      assert.deepEqual(yield* drama('oneForOne'), { before: started, during: '!x +x', after: stopped })
    }))

  it('S42 oneForAll: the others are stopped newest first, then all are started in order', () =>
    virtual(function* () {
      assert.deepEqual(yield* drama('oneForAll'), {
        before: started,
        during: '!x -d -c -b -a +a +b +x +c +d',
        after: stopped,
      })
    }))

  it('S42 restForOne: those started later are stopped newest first, then started in order', () =>
    virtual(function* () {
      assert.deepEqual(yield* drama('restForOne'), {
        before: started,
        during: '!x -d -c +x +c +d',
        after: stopped,
      })
    }))

  it('S42 a sibling that is not to be restarted is stopped with its group, and stays away', () =>
    virtual(function* () {
      const all = yield* drama('oneForAll', { c: 'never' })
      assert.equal(all.during, '!x -d -c -b -a +a +b +x +d')
      assert.equal(all.after, '-d -x -b -a')
      const rest = yield* drama('restForOne', { d: 'never', a: 'never' })
      assert.equal(rest.during, '!x -d -c +x +c')
    }))

  it('S42 without a list, start order is the order of spinning, also after restarts', () =>
    virtual(function* () {
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
    }))

  it('S42 a child that ended for good before is not brought back by its group', () =>
    virtual(function* () {
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
    }))

  it('S44 a sibling that somebody stopped just before is not restarted with its group', () =>
    virtual(function* () {
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
    }))

  it('S44 nor is one that is stopped while it is being stopped for its group', () =>
    virtual(function* () {
      const log: string[] = []
      const a = spin('a', server, 'a', log, 10)
      const x = spin('x', failsOnce, 'x', log, 10)
      const supervisor = spin(() => supervise([a, x], { strategy: 'oneForAll', restart: 'onError' }))
      yield* sleep(15)
      a.stop('mine')
      yield* sleep(50)
      assert.equal(log.join(' '), '+a +x !x -a +x')
      assert.deepEqual(a.outcome, { type: 'stopped', value: 'mine' })
      yield* supervisor.stop()
    }))

  it('S42 a sibling that fails while its group is stopped is restarted with it, and counts once', () =>
    virtual(function* () {
      let lives = 0
      const log: string[] = []
      function* failsInCleanup() {
        lives++
        try {
          yield* sleep()
        } finally {
          // biome-ignore lint/correctness/noUnsafeFinally: the cleanup fails, that is the point
          if (lives === 1) throw new Error('cleanup')
        }
      }
      const supervisor = spin(() =>
        supervise([{ body: failsInCleanup }, { name: 'x', body: failsOnce, args: ['x', log, 10] }], {
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
    }))

  it('S44 if its rule is never, its error ends the supervision', () =>
    virtual(function* () {
      const error = new Error('cleanup')
      const log: string[] = []
      function* failsInCleanup() {
        try {
          yield* sleep()
        } finally {
          // biome-ignore lint/correctness/noUnsafeFinally: the cleanup fails, that is the point
          throw error
        }
      }
      const op = supervise(
        [
          { body: failsInCleanup, restart: 'never' },
          { name: 'x', body: failsOnce, args: ['x', log, 10] },
        ],
        { strategy: 'oneForAll', restart: 'onError' },
      )
      assert.equal(yield* thrownBy(op), error)
      assert.equal(log.join(' '), '+x !x')
    }))

  it('S42 a child of another part that fails while a group is down is dealt with afterwards', () =>
    virtual(function* () {
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
    }))

  it('S42 two that fail in the same turn under oneForAll are one restart', () =>
    virtual(function* () {
      const [a, b] = [flaky(1, 10), flaky(1, 10)]
      yield* supervise([{ body: a.body }, { body: b.body }], {
        strategy: 'oneForAll',
        restart: 'onError',
        intensity: { restarts: 1 },
      })
      assert.deepEqual([a.lives, b.lives], [2, 2])
    }))
})

describe('intensity', () => {
  it('S43 three restarts in five seconds are allowed, the fourth ends it with the last error as cause', () =>
    virtual(function* () {
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
    }))

  it('S43 the window slides: what is older than it does not count', () =>
    virtual(function* () {
      const worker = flaky(20, 1700) // never more than three in 5 s
      yield* supervise([{ body: worker.body }], { restart: 'onError' })
      assert.equal(worker.lives, 21)
    }))

  it('S43 restarts of all children count together', () =>
    virtual(function* () {
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
    }))

  it('S43 none allowed: the first error is one too many', () =>
    virtual(function* () {
      const op = supervise([{ body: flaky(1).body }], { restart: 'onError', intensity: { restarts: 0 } })
      assert.equal((yield* thrownBy(op)).code, 'RESTART_INTENSITY')
    }))

  it('V7 S43 a storm in no time is caught: a body that returns at once, under always', () =>
    virtual(function* () {
      let lives = 0
      const error = yield* thrownBy(supervise([{ body: () => void lives++ }], { restart: 'always' }))
      assert.ok(error instanceof RestartIntensityError)
      assert.equal(error.cause, undefined)
      assert.equal(lives, 4)
    }))

  it('V7 S43 and one that throws at its first step', () =>
    virtual(function* () {
      const error = yield* thrownBy(
        supervise(
          [
            {
              body: () => {
                throw new Error('at once')
              },
            },
          ],
          { restart: 'onError' },
        ),
      )
      assert.equal(error.code, 'RESTART_INTENSITY')
    }))

  it('S49 a storm without a limit starves nobody', () =>
    virtual(function* () {
      let lives = 0
      const supervisor = spin(() =>
        supervise([{ body: () => void lives++ }], { restart: 'always', intensity: { restarts: Infinity } }),
      )
      for (let i = 0; i < 100; i++) yield* sleep(0)
      yield* supervisor.stop()
      assert.ok(lives > 10)
    }))

  it('S43 an intensity that is reached while a group is down: the group stays down', () =>
    virtual(function* () {
      const log: string[] = []
      const worker = flaky(9, 10)
      const error = yield* thrownBy(
        supervise([{ body: server, args: ['a', log] }, { body: worker.body }], {
          strategy: 'oneForAll',
          restart: 'onError',
        }),
      )
      assert.equal(error.code, 'RESTART_INTENSITY')
      assert.equal(log.join(' '), '+a -a +a -a +a -a +a -a')
    }))
})

describe('back-off', () => {
  it('S43 a restart waits, longer each time in a row', () =>
    virtual(function* () {
      const times: number[] = []
      const body = function* () {
        times.push(now())
        if (Fiber.current.incarnation < 4) throw new Error('again')
      }
      yield* supervise([{ body }], { restart: 'onError', backoff: { delay: 100 } })
      assert.deepEqual(times, [0, 100, 300, 700])
    }))

  it('S43 a child that has lived for longer than the window begins a new row', () =>
    virtual(function* () {
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
    }))

  it('S43 jitter shortens the wait', () =>
    virtual(function* () {
      let at = 0
      const body = function* () {
        at = now()
        if (Fiber.current.incarnation === 1) throw new Error('again')
      }
      yield* supervise([{ body }], { restart: 'onError', backoff: 1000, jitter: 0.5 })
      assert.ok(at >= 500 && at <= 1000, `restarted at ${at}`)
    }))

  it('S43 a restart that waits still counts', () =>
    virtual(function* () {
      const worker = flaky(9, 0)
      const op = supervise([{ body: worker.body }], {
        restart: 'onError',
        backoff: 1000,
        intensity: { restarts: 3, within: 5000 },
      })
      assert.equal((yield* thrownBy(op)).code, 'RESTART_INTENSITY')
      assert.equal(now(), 3000)
    }))

  it('S43 while one waits for its restart, the others are watched', () =>
    virtual(function* () {
      const error = new Error('fatal')
      const op = supervise(
        [
          { name: 'slow', body: failAfter, args: [1, new Error('slow')], restart: 'onError' },
          { name: 'fatal', body: failAfter, args: [10, error] },
        ],
        { backoff: 1000 },
      )
      assert.equal(yield* thrownBy(op), error)
      assert.equal(now(), 10)
    }))

  it('S43 S44 one that waits for its restart counts as one left', () =>
    virtual(function* () {
      const worker = flaky(1, 10)
      yield* supervise([{ body: worker.body }], { restart: 'onError', backoff: 1000 })
      assert.equal(now(), 1020)
    }))

  it('S41 a stop calls off the restart that waits: the later verb wins', () =>
    virtual(function* () {
      for (const until of ['all', 'any'] as const) {
        const since = now()
        const worker = flaky(1, 10)
        const child = spin(worker.body)
        const stopper = spin(function* () {
          yield* sleep(100)
          child.stop()
          yield* sleep()
        })
        yield* supervise([child], { restart: 'onError', backoff: 1000, until })
        assert.equal(now() - since, 100)
        assert.equal(worker.lives, 1)
        assert.equal(child.send('anybody?'), false)
        yield* stopper.stop()
      }
    }))

  it('S41 a restart from outside does not wait, and the one that waits is forgotten', () =>
    virtual(function* () {
      const worker = flaky(1, 10)
      const child = spin(worker.body)
      spin(function* () {
        yield* sleep(100)
        child.restart()
      })
      yield* supervise([child], { restart: 'onError', backoff: 1000 })
      assert.equal(worker.lives, 2)
      assert.equal(now(), 110)
    }))

  it('S43 the whole group waits, and comes back together', () =>
    virtual(function* () {
      const log: string[] = []
      const stamp = function* (name: string) {
        log.push(`${name}@${now()}`)
        if (name === 'x' && Fiber.current.incarnation === 1) yield* failAfter(10, new Error('x'))
        yield* sleep(1000)
      }
      yield* supervise(
        ['a', 'x', 'b'].map((name) => ({ name, body: stamp, args: [name] })),
        { strategy: 'oneForAll', restart: 'onError', backoff: 100 },
      )
      assert.equal(log.sort().join(' '), 'a@0 a@110 b@0 b@110 x@0 x@110')
    }))

  it('S42 restForOne: an earlier one that fails while the rest waits takes the rest with it', () =>
    virtual(function* () {
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
    }))

  it('V8 S43 a supervisor that is stopped while a child waits for its restart ends at once', () =>
    virtual(function* () {
      const worker = flaky(1, 10)
      const child = spin(worker.body)
      const supervisor = spin(() => supervise([child], { restart: 'onError', backoff: 1000 }))
      yield* sleep(50)
      assert.deepEqual(yield* supervisor.stop('v'), { type: 'stopped', value: 'v' })
      assert.equal(now(), 50)
      assert.equal(child.send('anybody?'), false)
      yield* sleep(2000)
      assert.equal(worker.lives, 1)
    }))
})

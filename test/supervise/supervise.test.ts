// What supervise waits for, and whom it watches (S44). The rows V1 to V10 are those of the Ruby original.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  createLocal,
  Fiber,
  moveOnAfter,
  receive,
  scope,
  sleep,
  spin,
  supervise,
  suppressedErrors,
} from 'polyphony'
import { virtual } from 'polyphony/testing'
import { failAfter, thrownBy } from '../prelude.js'
import { flaky, now, reports, server } from './lives.js'

const boom = new Error('boom')

describe('until', () => {
  it('S44 it returns when all children have ended', () =>
    virtual(function* () {
      spin(() => sleep(10))
      spin(() => sleep(30))
      yield* supervise()
      assert.equal(now(), 30)
      assert.deepEqual(Fiber.current.children, [])
    }))

  it('S44 the overview: it waits, then throws the error of a child', () =>
    virtual(function* () {
      spin(failAfter, 1000, boom)
      const other = spin(() => sleep(1000))
      assert.equal(yield* thrownBy(supervise()), boom)
      assert.equal(other.state, 'dead')
    }))

  it('S44 without children, or with an empty list, it returns at once; any does too', () =>
    virtual(function* () {
      yield* supervise()
      yield* supervise([])
      yield* supervise({ until: 'any' })
      yield* supervise([], { until: 'any' })
      assert.equal(now(), 0)
    }))

  it('S44 until any: the first that ends for good ends it, the others are stopped', () =>
    virtual(function* () {
      const log: string[] = []
      const quick = { name: 'quick', body: () => sleep(10) }
      yield* supervise([{ body: server, args: ['a', log] }, quick, { body: server, args: ['b', log, 5] }], {
        until: 'any',
      })
      assert.equal(now(), 15)
      assert.deepEqual(log, ['+a', '+b', '-b', '-a'])
      assert.deepEqual(Fiber.current.children, [])
    }))

  it('S44 until any: a restart is no end for good', () =>
    virtual(function* () {
      const worker = flaky(2, 10)
      const log: string[] = []
      yield* supervise([{ body: worker.body }, { body: server, args: ['a', log] }], {
        until: 'any',
        restart: 'onError',
      })
      assert.equal(worker.lives, 3)
      assert.equal(now(), 30)
    }))

  it('S44 until any: a child that somebody stopped has ended for good', () =>
    virtual(function* () {
      const [a, b] = [spin(() => sleep()), spin(() => sleep())]
      spin(function* () {
        yield* sleep(5)
        a.stop()
        yield* sleep()
      })
      yield* supervise([a, b], { until: 'any', restart: 'always' })
      assert.equal(now(), 5)
      assert.equal(b.state, 'dead')
    }))

  it('S44 until any: a sibling that was stopped for a group and is not restarted does not count', () =>
    virtual(function* () {
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
    }))

  it('V1 S44 until never: it goes on without children, and leaves when it is struck', () =>
    virtual(function* () {
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
    }))
})

describe('who is watched', () => {
  it('V1 children that are spun or attached while it runs are watched too', () =>
    virtual(function* () {
      const log: string[] = []
      const supervisor = spin('supervisor', function* () {
        spin(() => sleep(10))
        yield* supervise({
          onDone: (fiber) => void log.push(`${fiber.name} at ${now()}`),
        })
      })
      const attached = spin('attached', () => sleep(50))
      yield* sleep(5)
      supervisor.spin('spun', () => sleep(20))
      attached.attachTo(supervisor)
      yield* supervisor
      assert.deepEqual(
        log.map((line) => line.replace(/^fiber#\d+/, 'first')),
        ['first at 10', 'spun at 25', 'attached at 50'],
      )
    }))

  it('V1 one that is spun by a callback is watched as well', () =>
    virtual(function* () {
      let more = 3
      spin(() => sleep(10))
      yield* supervise({
        onDone: () => {
          if (more-- > 0) spin(() => sleep(10))
        },
      })
      assert.equal(now(), 40)
    }))

  it('V2 a fiber of the list that is not a child is attached', () =>
    virtual(function* () {
      const stranger = spin('stranger', () => sleep(20))
      const supervisor = spin('supervisor', () => supervise([stranger]))
      yield* sleep(1)
      assert.equal(stranger.parent, supervisor)
      yield* supervisor
      assert.equal(now(), 20)
    }))

  it('V2 with a list, other children are not watched: their errors strike as always, and the listed are stopped', () =>
    virtual(function* () {
      const listed = spin('listed', () => sleep())
      spin('other', failAfter, 10, boom)
      assert.equal(yield* thrownBy(supervise([listed], { restart: 'onError' })), boom)
      assert.equal(listed.state, 'dead')
    }))

  it('V2 with a list, it does not wait for other children', () =>
    virtual(function* () {
      const other = spin('other', () => sleep(100))
      yield* supervise([spin(() => sleep(10))])
      assert.equal(now(), 10)
      assert.equal(other.state, 'waiting')
    }))

  it('S44 a dead fiber in the list: its outcome counts at once', () =>
    virtual(function* () {
      const done = spin(() => 1)
      const failed = spin({ link: false }, failAfter, 1, boom)
      yield* sleep(5)
      yield* supervise([done])
      assert.equal(yield* thrownBy(supervise([done, failed])), boom)
      const lasting = spin(() => sleep())
      yield* supervise([done, lasting], { until: 'any' })
      assert.equal(lasting.state, 'dead')
    }))

  it('S44 a dead fiber in the list is restarted by the rule, unless it is somebody else’s', () =>
    virtual(function* () {
      const worker = flaky(1)
      const mine = spin({ link: false }, worker.body)
      const elsewhere = spin('elsewhere', () => sleep())
      const theirs = elsewhere.spin({ link: false }, failAfter, 1, boom)
      yield* sleep(5)
      yield* supervise([mine], { restart: 'onError' })
      assert.equal(worker.lives, 2)
      assert.equal(yield* thrownBy(supervise([theirs], { restart: 'onError' })), boom)
      yield* elsewhere.stop()
    }))

  it('S44 a child that is detached is watched no more', () =>
    virtual(function* () {
      const child = spin('child', () => sleep(100))
      const supervisor = spin('supervisor', () => supervise([child]))
      yield* sleep(10)
      child.detach()
      yield* supervisor
      assert.equal(now(), 10)
      assert.equal(child.state, 'waiting')
    }))

  it('S44 nor is one that was among all children', () =>
    virtual(function* () {
      let child!: Fiber
      const supervisor = spin('supervisor', function* () {
        child = spin('child', failAfter, 100, boom)
        yield* supervise({ restart: 'always' })
      })
      yield* sleep(10)
      child.detach()
      yield* supervisor
      assert.equal(now(), 10)
      assert.equal(yield* thrownBy(sleep(1000)), boom)
    }))

  it('S44 in a scope it watches the children of the scope, and those that come meanwhile', () =>
    virtual(function* () {
      const outside = spin('outside', () => sleep(1000))
      const me = Fiber.current
      yield* scope(function* () {
        spin('inside', () => sleep(10))
        outside.spin(function* () {
          yield* sleep(5)
          me.spin('from outside', () => sleep(20))
        })
        yield* supervise()
        assert.equal(now(), 25)
      })
      assert.equal(outside.state, 'waiting')
    }))

  it('S44 a child of a scope that fails is restarted there; the scope is not struck', () =>
    virtual(function* () {
      const worker = flaky(2)
      yield* scope(function* () {
        spin(worker.body)
        yield* supervise({ restart: 'onError' })
      })
      assert.equal(worker.lives, 3)
    }))

  it('S29 S44 the error of a child spun with link: false is supervised too', () =>
    virtual(function* () {
      spin({ link: false }, failAfter, 10, boom)
      assert.equal(yield* thrownBy(supervise()), boom)
      const worker = flaky(1)
      spin({ link: false }, worker.body)
      yield* supervise({ restart: 'onError' })
      assert.equal(worker.lives, 2)
      assert.deepEqual(reports(), [])
    }))

  it('S24 those who await a supervised child hear of its error as well', () =>
    virtual(function* () {
      const worker = flaky(1)
      const child = spin(worker.body)
      const awaiter = spin({ link: false }, () => child.await())
      yield* supervise([child], { restart: 'onError' })
      assert.equal(awaiter.outcome?.type, 'error')
      assert.equal(child.outcome?.type, 'value')
    }))

  it('S42 after it has returned, errors of children strike as before', () =>
    virtual(function* () {
      yield* supervise([{ body: () => 1 }])
      spin(failAfter, 10, boom)
      assert.equal(yield* thrownBy(sleep(100)), boom)
    }))

  it('S44 the same op can be used again: the specs are spun anew', () =>
    virtual(function* () {
      let runs = 0
      const op = supervise([{ body: () => void runs++ }])
      yield* op
      yield* op
      assert.equal(runs, 2)
    }))
})

describe('specs', () => {
  it('S42 specs are spun in order, with name, arguments and grace', () =>
    virtual(function* () {
      const given: Record<string, unknown[]> = {}
      function* body(this: unknown, ...args: unknown[]) {
        given[Fiber.current.name] = args
        yield* sleep(10)
      }
      const supervisor = spin(() =>
        supervise([
          { name: 'one', body, args: [1, 'a'], grace: 7 },
          { name: 'two', body },
        ]),
      )
      yield* sleep(1)
      assert.deepEqual(
        supervisor.children.map(({ name, grace }) => [name, grace]),
        [
          ['one', 7],
          ['two', 5000],
        ],
      )
      yield* supervisor
      assert.deepEqual(given, { one: [1, 'a'], two: [] })
    }))

  it('S42 a body may be a plain function, or return an op', () =>
    virtual(function* () {
      yield* supervise([{ body: () => 1 }, { body: () => sleep(5) }, { body: () => {} }])
      assert.equal(now(), 5)
    }))

  it('S42 each incarnation has the arguments and locals of its birth', () =>
    virtual(function* () {
      const local = createLocal('birth')
      const seen: unknown[] = []
      yield* supervise(
        [
          {
            args: [1],
            *body(n: number) {
              seen.push([n, local.get()])
              local.set('changed')
              if (Fiber.current.incarnation < 3) throw boom
            },
          },
        ],
        { restart: 'onError' },
      )
      assert.deepEqual(seen, [
        [1, 'birth'],
        [1, 'birth'],
        [1, 'birth'],
      ])
    }))

  it('S41 F5.5 a restarted child keeps its handle', () =>
    virtual(function* () {
      const worker = flaky(2)
      const child = spin(worker.body)
      yield* supervise({ restart: 'onError' })
      assert.equal(child.incarnation, 3)
      assert.deepEqual(child.outcome, { type: 'value', value: 'well' })
    }))

  it('S41 F5.4 the mailbox is cut when the restart is decided: messages sent while it waits for it arrive', () =>
    virtual(function* () {
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
    }))
})

describe('errors', () => {
  it('S44 an error that is not restarted stops the others one by one, newest first, then is thrown', () =>
    virtual(function* () {
      const log: string[] = []
      const children = ['a', 'b', 'c'].map((name) => ({ name, body: server, args: [name, log, 10] }))
      const bad = { name: 'bad', body: failAfter, args: [5, boom] }
      assert.equal(yield* thrownBy(supervise([...children.slice(0, 2), bad, children[2]!])), boom)
      assert.deepEqual(log, ['+a', '+b', '+c', '-c', '-b', '-a'])
      assert.equal(now(), 35) // 5, then three times 10: serially
      assert.deepEqual(suppressedErrors(boom), [])
    }))

  it('S23 later errors are suppressed onto the first, in order', () =>
    virtual(function* () {
      const first = new Error('first')
      const later = [new Error('c'), new Error('b'), new Error('a')]
      const failing = (error: Error) => ({
        *body() {
          try {
            yield* sleep()
          } finally {
            // biome-ignore lint/correctness/noUnsafeFinally: the cleanup fails, that is the point
            throw error
          }
        },
      })
      const [c, b, a] = later as [Error, Error, Error]
      const children = [failing(a), failing(b), failing(c), { body: failAfter, args: [5, first] }]
      assert.equal(yield* thrownBy(supervise(children)), first)
      assert.deepEqual(suppressedErrors(first), later)
    }))

  it('S26 two children that fail in the same turn: none is lost', () =>
    virtual(function* () {
      const [one, two] = [new Error('one'), new Error('two')]
      spin(failAfter, 5, one)
      spin(failAfter, 5, two)
      const error = yield* thrownBy(supervise())
      assert.ok(error === one || error === two)
      assert.deepEqual(suppressedErrors(error), [error === one ? two : one])
    }))

  it('S25 an error that supervise has thrown does not strike again', () =>
    virtual(function* () {
      spin(failAfter, 5, boom)
      assert.equal(yield* thrownBy(supervise()), boom)
      yield* sleep(10)
    }))

  it('S44 a spec whose body throws at its first step is an error as any other', () =>
    virtual(function* () {
      const body = () => {
        throw boom
      }
      assert.equal(yield* thrownBy(supervise([{ body }])), boom)
    }))

  it('S44 a raise in the supervisor stops the children and is thrown', () =>
    virtual(function* () {
      const log: string[] = []
      const supervisor = spin({ link: false }, () =>
        supervise([
          { body: server, args: ['a', log, 10] },
          { body: server, args: ['b', log, 10] },
        ]),
      )
      yield* sleep(1)
      assert.deepEqual(yield* supervisor.raise(boom), { type: 'error', error: boom })
      assert.deepEqual(log, ['+a', '+b', '-b', '-a'])
      assert.equal(now(), 21)
    }))

  it('S22 an error not yet dealt with when the supervisor is stopped makes it fail', () =>
    virtual(function* () {
      const log: string[] = []
      const supervisor = spin({ link: false }, function* () {
        spin(failAfter, 10, boom)
        spin(failAfter, 5, new Error('dealt with'))
        spin(server, 'c', log, 10)
        yield* supervise({ strategy: 'restForOne', restart: 'onError' })
      })
      yield* sleep(12) // it waits until 15 for c, which fell with the second: it has not looked at the first yet
      assert.deepEqual(yield* supervisor.stop(), { type: 'error', error: boom })
    }))

  it('S22 children that fail while the stopped supervisor stops them make it fail', () =>
    virtual(function* () {
      const supervisor = spin({ link: false }, function* () {
        spin(function* () {
          try {
            yield* sleep()
          } finally {
            // biome-ignore lint/correctness/noUnsafeFinally: the cleanup fails, that is the point
            throw boom
          }
        })
        yield* supervise({ restart: 'always' })
      })
      yield* sleep(1)
      assert.deepEqual(yield* supervisor.stop('value'), { type: 'error', error: boom })
    }))

  it('S22 an error in the hands of a callback is kept when the supervisor is stopped there', () =>
    virtual(function* () {
      const supervisor = spin({ link: false }, function* () {
        spin(failAfter, 10, boom)
        yield* supervise({ restart: 'onError', onError: () => sleep(100) })
      })
      yield* sleep(50)
      assert.deepEqual(yield* supervisor.stop(), { type: 'error', error: boom })
      assert.equal(now(), 50)
    }))

  it('S22 S19 a supervisor that is abandoned in a callback reports the errors it had in hand, and bubbles later ones', () =>
    virtual(function* () {
      const late = new Error('late')
      const supervisor = spin({ link: false, grace: 10 }, function* () {
        spin(failAfter, 10, boom)
        spin(function* () {
          try {
            yield* sleep()
          } finally {
            yield* sleep(1)
            // biome-ignore lint/correctness/noUnsafeFinally: the cleanup fails, that is the point
            throw late
          }
        })
        yield* supervise({
          *onError() {
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
      assert.deepEqual(reports(), ['forced', 'abandoned', 'unobserved'])
    }))
})

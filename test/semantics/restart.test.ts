// S41: the same handle lives again, and monitors hear of every end.

import { getEventListeners } from 'node:events'
import {
  after,
  all,
  allSettled,
  any,
  assert,
  BadArgument,
  Call,
  call,
  createLocal,
  describe,
  endListeners,
  ensure,
  Fiber,
  type FiberEnd,
  failAfter,
  failEverywhere,
  isStop,
  moveOnAfter,
  now,
  type Op,
  type Routine,
  race,
  raiseEverywhere,
  receive,
  receiveAllPending,
  receiveLoop,
  reports,
  scope,
  sleep,
  snooze,
  spin,
  started,
  stopEverywhere,
  supervise,
  tap,
  test,
  thrownBy,
  waits,
} from '../prelude.js'

/** Gives the number of the incarnation after a while. */
function* number(ms = 10): Routine<number> {
  yield* sleep(ms)
  return Fiber.current.incarnation
}

/** Waits, cleans up for ten milliseconds, and logs each start. */
function* careful(log: string[] = []): Routine<number> {
  const { incarnation } = Fiber.current
  log.push(`start ${incarnation}`)
  yield* ensure(
    () => sleep(50),
    () => sleep(10),
  )
  return incarnation
}

/** Gives the messages that have come after a while, in this incarnation; in earlier ones it leaves them. */
function* pending(ms: number, incarnation = 1): Routine<unknown[]> {
  yield* sleep(ms)
  return Fiber.current.incarnation < incarnation ? [] : receiveAllPending()
}

describe('S41 restart', () => {
  test('restartWith takes an array as args, and nothing else', function* () {
    const fiber = spin(() => sleep())
    for (const args of [5, 'abc', { length: 2 }, () => [], null]) {
      assert.throws(
        () => fiber.restartWith({ args: args as [] }),
        /the args of restartWith\(\) need an array/,
      )
    }
    assert.throws(() => fiber.restartWith({ keepMailbox: 'no' as never }), BadArgument)
    yield* fiber.stop()
  })

  test('ends the fiber, then runs its body again: the same handle, incarnation one higher', function* () {
    const log: string[] = []
    const untap = tap((event, fiber) => void (event === 'restart' && log.push(`tap: ${fiber.name}`)))
    const fiber = spin('phoenix', function* () {
      log.push(`start ${Fiber.current.incarnation}`)
      try {
        return yield* number()
      } catch (thrown) {
        log.push(isStop(thrown) ? 'stopped' : String(thrown))
        throw thrown
      }
    })
    assert.equal(fiber.incarnation, 1)
    yield* sleep(5)
    assert.equal(fiber.restart(), fiber)
    assert.equal(yield* fiber, 2)
    untap()
    assert.deepEqual(log, ['start 1', 'stopped', 'tap: phoenix', 'start 2'])
  })

  test('a dead fiber lives again under its old parent, however it ended, any number of times', function* () {
    const owner = spin(() => sleep(1000))
    const fiber = owner.spin({ link: false }, number)
    const ends = [() => {}, () => fiber.raise('failed'), () => fiber.stop('v', { reason: 'enough' })]
    for (const end of ends) {
      yield* sleep(1)
      end()
      yield* fiber.join()
      fiber.restart()
      assert.deepEqual([fiber.parent, owner.children], [owner, [fiber]])
      assert.deepEqual([fiber.state, fiber.outcome, fiber.stopReason], ['runnable', undefined, undefined])
    }
    assert.equal(yield* fiber, 4)
    yield* owner.stop()
  })

  test('one that has not started is restarted before it ran a line', function* () {
    let runs = 0
    const fiber = spin(() => ++runs).restart()
    assert.equal(yield* fiber, 1)
    assert.equal(fiber.incarnation, 2)
  })

  test('a fiber may restart itself: at its next switchpoint, or when its body ends before that', function* () {
    const log: string[] = []
    const fiber = spin(function* () {
      const { incarnation } = Fiber.current
      if (incarnation < 3) Fiber.current.restart()
      log.push(`after ${incarnation}`)
      if (incarnation === 1) return
      yield* snooze()
      log.push(`whole ${incarnation}`)
    })
    yield* fiber.join()
    assert.deepEqual(log, ['after 1', 'after 2', 'after 3', 'whole 3'])
  })

  test('two restarts before the teardown is over are one', function* () {
    const fiber = spin(careful)
    for (const ms of [1, 5]) after(ms, () => void fiber.restart())
    assert.equal(yield* fiber, 2)
  })

  test('arguments that are given replace the old ones', function* () {
    const body = function* (a: string, b: number) {
      yield* sleep(10)
      return `${a}${b}`
    }
    const fiber = spin(body, 'a', 1)
    yield* sleep(5)
    assert.equal(yield* fiber.restart(), 'a1')
    assert.equal(yield* fiber.restart('b', 2), 'b2')
    assert.equal(yield* fiber.restartWith({ args: ['c', 3] }), 'c3')
    assert.equal(yield* fiber.restart(), 'c3')
  })

  test('fiber-local values are those of its birth', function* () {
    const color = createLocal('none')
    color.set('parent')
    const seen: string[] = []
    const fiber = spin(function* () {
      seen.push(color.get())
      color.set('child')
      yield* sleep(5)
    })
    yield* sleep(1)
    color.set('parent, later')
    fiber.restart()
    yield* fiber.join()
    yield* fiber.restart().join()
    assert.deepEqual(seen, ['parent', 'parent', 'parent'])
  })

  test('an incarnation has a fresh signal, the whole grace and its own patience', function* () {
    const signals: AbortSignal[] = []
    const log: string[] = []
    const fiber = spin(function* () {
      const { incarnation, signal } = Fiber.current
      signals.push(signal)
      yield* waits(function* () {
        for (let refusals = 0; refusals < 2; refusals++) assert.ok(isStop(yield* thrownBy(receive())))
        yield* sleep(20)
        log.push(`incarnation ${incarnation} cleaned up`)
      })
    })
    yield* sleep(1)
    fiber.stop()
    yield* sleep(1)
    yield* fiber.stop(undefined, { grace: 10 })
    for (let i = 0; i < 2; i++) {
      fiber.restart()
      assert.equal(fiber.phase, 'live')
      yield* sleep(1)
      yield* fiber.stop()
    }
    assert.deepEqual(log, ['incarnation 2 cleaned up', 'incarnation 3 cleaned up'])
    assert.equal(new Set(signals).size, 3)
    assert.equal(reports().length, 1) // only of the one that was hurried
  })

  test('bad yields and forced returns of an earlier incarnation do not count either', function* () {
    const fiber = spin(function* () {
      for (let i = 0; i < 60; i++) yield* thrownBy({ [Symbol.iterator]: () => [5].values() } as any)
      yield* clinging(60)
    })
    for (let i = 0; i < 2; i++) {
      yield* sleep(1)
      assert.deepEqual(yield* fiber.kill(), { type: 'stopped', value: undefined })
      fiber.restart()
    }
    yield* fiber.kill()
    assert.deepEqual(reports(), [])
  })

  test('the teardown is complete, children too, before the new body starts', function* () {
    const log: string[] = []
    const gone = (who: string, ms: number) =>
      waits(function* () {
        yield* sleep(10)
        log.push(`${who} gone`)
      }, ms)
    const fiber = spin(function* () {
      log.push(`start ${Fiber.current.incarnation}`)
      spin(gone, 'child', 500)
      yield* gone('body', 20)
    })
    yield* sleep(1)
    yield* fiber.restart().join()
    assert.deepEqual(log, ['start 1', 'body gone', 'child gone', 'start 2', 'body gone', 'child gone'])
  })

  test('a fiber whose body is over can be restarted while its children die', function* () {
    const fiber = spin(function* () {
      spin(waits, () => sleep(10))
      return yield* number(1)
    })
    yield* sleep(5)
    assert.equal(fiber.phase, 'closing')
    fiber.restart()
    yield* sleep(1)
    assert.equal(fiber.incarnation, 1)
    assert.equal(yield* fiber, 2)
  })

  test('awaiters keep waiting and get the end of the last incarnation', function* () {
    const fiber = spin(number)
    const waiters = [spin(() => fiber.await()), spin(() => fiber.join())]
    for (const ms of [5, 10, 15]) after(ms, () => void fiber.restart())
    assert.deepEqual(yield* Fiber.await(...waiters), [4, { type: 'value', value: 4 }])
  })

  test('restarted while its observers are told, each of them still learns how it ended', function* () {
    const fiber = spin(number)
    const first = spin(() => fiber.await())
    const second = spin(() => Fiber.select(fiber))
    const untap = tap((event, who) => {
      if (event === 'schedule' && who === first && fiber.state === 'dead') fiber.restart()
    })
    assert.deepEqual(yield* Fiber.await(first, second), [1, [fiber, 1]])
    untap()
  })

  for (const culprit of ['the body', 'a child']) {
    test(`an error of ${culprit} in the teardown cancels the restart, travels up and is one end`, function* () {
      const error = new Error('teardown')
      const fails = () => waits(() => failAfter(1, error))
      const fiber = spin(function* () {
        if (Fiber.current.incarnation > 1) return
        if (culprit === 'a child') spin(fails)
        yield* culprit === 'a child' ? sleep() : fails()
      })
      fiber.monitor()
      yield* sleep(1)
      fiber.restart()
      assert.equal(yield* thrownBy(sleep(100)), error)
      assert.deepEqual([fiber.state, fiber.incarnation], ['dead', 1])
      assert.deepEqual(ends(), ['error'])
      yield* fiber.restart().join() // the cancelled restart is not remembered
      yield* sleep(1)
      assert.deepEqual([fiber.state, fiber.incarnation], ['dead', 2])
    })
  }

  test('of two restarts, the arguments of the first hold unless the second has others', function* () {
    for (const [second, expected] of [
      [[], 2],
      [[3], 3],
    ]) {
      const seen: number[] = []
      const fiber = spin(function* (n: number) {
        seen.push(n)
        yield* waits(() => sleep(5))
      }, 1)
      yield* sleep(1)
      fiber.restart(2)
      fiber.restart(...(second as number[]))
      yield* sleep(10)
      yield* fiber.stop()
      assert.deepEqual(seen, [1, expected])
    }
  })

  test('between stop and restart the later verb wins, and its value counts', function* () {
    for (const verb of ['stop', 'terminate', 'kill'] as const) {
      const end = (value: string) => (verb === 'stop' ? fiber.stop(value, { reason: value }) : fiber[verb]())
      const log: string[] = []
      const fiber = spin(careful, log)
      yield* sleep(1)
      end('never seen')
      fiber.restart()
      assert.equal(yield* fiber, 2)
      for (let again = 0; again < 3; again++) {
        fiber.restart() // the second and the third fall into the teardown of the first
        yield* sleep(1)
      }
      end('seen')
      assert.deepEqual(yield* fiber.join(), { type: 'stopped', value: verb === 'stop' ? 'seen' : undefined })
      if (verb === 'stop') assert.equal(fiber.stopReason, 'seen')
      assert.deepEqual(log, ['start 1', 'start 2', 'start 3'])
    }
  })

  test('the value of a stop that began the teardown stays', function* () {
    const fiber = yield* started(careful)
    fiber.stop('first')
    fiber.restart()
    yield* sleep(1)
    assert.deepEqual(yield* fiber.stop('last'), { type: 'stopped', value: 'first' })
  })

  test('the end of the parent comes later and wins: the child does not live again', function* () {
    const log: string[] = []
    const restarted = function* () {
      const child = spin(careful, log)
      yield* sleep(1)
      return child.restart()
    }
    yield* spin(function* () {
      yield* restarted()
    })
    const failed = scope(function* () {
      yield* restarted()
      yield* failAfter(1, new Error('scope'))
    })
    assert.equal((yield* thrownBy(failed)).message, 'scope')
    const child = yield* restarted()
    Fiber.current.stopChildren()
    yield* child.join()
    assert.deepEqual(log, ['start 1', 'start 1', 'start 1'])
  })

  test('the AbortSignal given to spin ends every incarnation, also in the teardown', function* () {
    for (const moment of ['dead', 'alive', 'in the teardown', 'before it']) {
      const controller = new AbortController()
      const log: string[] = []
      const fiber = spin({ signal: controller.signal }, careful, log)
      yield* sleep(1)
      if (moment === 'dead') yield* fiber.stop()
      if (moment === 'before it') controller.abort()
      fiber.restart()
      yield* sleep(moment === 'in the teardown' ? 1 : 20)
      controller.abort()
      const outcome = yield* moveOnAfter(40, () => fiber.join())
      assert.equal(outcome?.type, 'stopped', moment)
      assert.equal(fiber.incarnation, moment === 'in the teardown' ? 1 : 2)
      assert.equal(getEventListeners(controller.signal, 'abort').length, 0)
      assert.equal(log.length, moment === 'dead' || moment === 'alive' ? 2 : 1)
    }
  })

  test('a raise during the teardown is refused, in the new incarnation it strikes', function* () {
    const error = new Error('raised')
    const fiber = yield* started(careful)
    fiber.restart()
    fiber.raise(new Error('refused'))
    yield* sleep(20)
    assert.equal(fiber.phase, 'live')
    assert.deepEqual(yield* fiber.raise(error), { type: 'error', error })
  })

  test('the mailbox is cut at the call, unless it is kept', function* () {
    for (const keepMailbox of [false, true]) {
      const seen: unknown[][] = []
      const fiber = spin(waits, () => void seen.push(receiveAllPending()), 20)
      fiber.send('before')
      yield* sleep(1)
      fiber.restartWith({ keepMailbox })
      fiber.send('after')
      assert.equal(fiber.mailbox.size, keepMailbox ? 2 : 1)
      yield* fiber.join()
      assert.deepEqual(seen, keepMailbox ? [[], ['before', 'after']] : [[], ['after']])
    }
  })

  for (const keepMailbox of [false, true]) {
    test(`a question that was not read is asked of the next incarnation${keepMailbox ? ', once, beside what is kept' : ''}`, function* () {
      const target = yield* started(function* () {
        if (Fiber.current.incarnation < 3) yield* waits(() => receiveAllPending(), 100)
        yield* receiveLoop((message: unknown) => {
          if (message instanceof Call) message.reply([message.message, Fiber.current.incarnation])
          return message !== 'end'
        })
      })
      const callers = ['first', 'second'].map((question) => spin(() => call(target, question)))
      const leaving = spin(() => call(target, 'taken back'))
      yield* sleep(1)
      target.send('a note')
      target.restartWith({ keepMailbox })
      yield* sleep(1)
      yield* leaving.stop()
      target.restartWith({ keepMailbox })
      assert.equal(target.mailbox.size, keepMailbox ? 3 : 2)
      assert.deepEqual(yield* Fiber.await(...callers), [
        ['first', 3],
        ['second', 3],
      ])
      target.send('end')
      yield* target
      assert.equal(endListeners(target), 0)
    })
  }

  test('restart, stop and restart again in one teardown: a question that was not read is answered by the next incarnation', function* () {
    for (const asked of ['before', 'between']) {
      for (const pause of [0, 2]) {
        const target = yield* started(function* () {
          try {
            if (Fiber.current.incarnation === 1) yield* sleep()
            for (;;) (yield* receive<Call>()).reply(Fiber.current.incarnation)
          } finally {
            yield* sleep(10)
          }
        })
        let caller!: Fiber<any>
        const asks = function* (moment: string): Routine<void> {
          if (asked === moment) caller = yield* started(() => call(target, 'question'))
        }
        yield* asks('before')
        target.restart()
        yield* asks('between')
        target.stop()
        if (pause > 0) yield* sleep(pause)
        target.restart()
        assert.equal(yield* moveOnAfter(1000, () => caller.await(), 'never'), 2)
        yield* target.stop()
      }
    }
  })

  test('a question that was not read fails if the restart is called off, or the fiber ends without reading it', function* () {
    for (const end of ['stop', 'kill', 'later'] as const) {
      const target = yield* started(() => waits(() => sleep(5), Fiber.current.incarnation === 1 ? 1000 : 5))
      const caller = yield* started(() => call(target, 'question'))
      target.restart()
      if (end !== 'later') target[end]()
      const { error }: any = yield* caller.join()
      assert.deepEqual([error.code, target.incarnation], ['FIBER_STOPPED', end === 'later' ? 2 : 1])
    }
  })

  test('a waiting receive of the old incarnation is handed no later message', function* () {
    const fiber = yield* started(function* () {
      return [Fiber.current.incarnation, yield* receive()]
    })
    fiber.restart()
    fiber.send('for the second')
    assert.deepEqual(yield* fiber, [2, 'for the second'])
  })

  test('a dead fiber starts with an empty mailbox', function* () {
    const fiber = spin(pending, 5, 2)
    fiber.send('never read')
    yield* fiber
    fiber.restart()
    fiber.send('read')
    assert.deepEqual(yield* fiber, ['read'])
  })

  test('it makes room: pushers that wait reach the new incarnation', function* () {
    const fiber = spin(pending, 10)
    fiber.mailbox.cap(1)
    fiber.send('old')
    const pusher = spin(() => fiber.mailbox.push('new'))
    yield* sleep(5)
    fiber.restart()
    assert.equal(yield* pusher, true)
    assert.deepEqual(yield* fiber, ['new'])
  })

  test('is refused if the parent is over or ending, and for main and raw fibers', function* () {
    const children: Fiber<any>[] = []
    const parent = spin(function* () {
      children.push(
        spin(() => 1),
        spin(careful),
      )
      yield* sleep(1)
    })
    yield* scope(() => void children.push(spin(() => 1)))
    yield* sleep(5)
    assert.equal(parent.phase, 'closing')
    const code = 'BAD_STATE'
    for (const child of children) {
      assert.throws(() => child.restart(), { code, message: /its parent is over/ })
      assert.equal(child.incarnation, 1)
    }
    yield* parent // the child that was refused does not keep it from ending
    for (const root of [Fiber.current, new Fiber(function* () {})]) {
      assert.throws(() => root.restart(), { code, message: /cannot be restarted: it is the root/ })
    }
    yield* sleep(1)
  })

  test('an abandoned fiber cannot be restarted', function* () {
    const fiber = yield* started(clinging)
    assert.deepEqual(yield* fiber.kill(), { type: 'abandoned' })
    assert.throws(() => fiber.restart(), { code: 'BAD_STATE', message: /was abandoned/ })
  })

  test('a refused restart changes nothing', function* () {
    const fiber = spin(waits, () => {}, 5)
    fiber.send('kept')
    yield* sleep(1)
    assert.throws(() => fiber.restartWith({ grace: Number.NaN }), { code: 'BAD_ARGUMENT' })
    assert.throws(() => fiber.restartWith({ keep: true } as object), { code: 'BAD_ARGUMENT' })
    yield* fiber
    assert.deepEqual([fiber.incarnation, fiber.mailbox.size], [1, 1])
  })

  test('grace bounds the teardown', function* () {
    const fiber = yield* started(careful)
    fiber.restartWith({ grace: 4 })
    yield* sleep(5)
    assert.equal(fiber.incarnation, 2)
    yield* fiber.kill()
  })

  test('a monitor hears of the end of each incarnation, until unmonitor', function* () {
    const fiber = spin(number)
    fiber.monitor()
    fiber.monitor() // twice tells once
    yield* sleep(5)
    fiber.restart()
    yield* fiber
    assert.deepEqual(receiveAllPending(), [
      { type: 'end', fiber, outcome: { type: 'stopped', value: undefined } },
      { type: 'end', fiber, outcome: { type: 'value', value: 2 } },
    ])
    fiber.monitor() // of one that is dead it is told at once
    assert.deepEqual(ends(), ['value'])
    yield* fiber.restart()
    assert.deepEqual(ends(), ['value'])
    fiber.restart().unmonitor()
    yield* fiber
    assert.deepEqual(ends(), [])
  })

  test('stopped, raised in or failing anywhere, what a restarted fiber opens is closed', () => {
    let open = 0
    const scenario = function* () {
      open = 0
      const fiber = spin(function* () {
        assert.equal(open++, 0)
        try {
          yield* scope(function* () {
            spin(() => sleep(10))
            yield* moveOnAfter(3, () => sleep())
          })
        } finally {
          open--
        }
      })
      for (let i = 0; i < 2; i++) {
        yield* sleep(1)
        fiber.restart()
      }
      yield* fiber.join()
    }
    const check = () => assert.equal(open, 0)
    assert.ok(stopEverywhere(scenario, { check }).switchpoints > 5)
    raiseEverywhere(scenario, { check })
    failEverywhere(scenario, { check })
  })

  /** Ways to hear of the end of a fiber that is restarted while they wait. */
  const hearers: [string, (fiber: Fiber<number>) => Op<unknown>][] = [
    ['yield*', (fiber) => fiber],
    ['await', (fiber) => fiber.await()],
    ['join', (fiber) => fiber.join()],
    ['Fiber.await', (fiber) => Fiber.await(fiber)],
    ['Fiber.select', (fiber) => selected(fiber)],
    ['all', (fiber) => all([fiber])],
    ['allSettled', (fiber) => allSettled([fiber])],
    ['race', (fiber) => race([fiber])],
    ['any', (fiber) => any([fiber])],
    ['a monitor', (fiber) => monitored(fiber)],
    ['a call put before', (fiber) => call(fiber, 'question')],
    ['a call put while it is taken down', (fiber) => asksAt(11, fiber)],
  ]
  function* selected(fiber: Fiber<number>): Routine<number> {
    return (yield* Fiber.select(fiber))[1]
  }
  /** The ends that a monitor is told of. */
  function* monitored(fiber: Fiber<number>): Routine<unknown> {
    fiber.monitor()
    yield* sleep(200)
    return receiveAllPending<FiberEnd>().map(({ outcome }) => outcome)
  }
  function* asksAt(ms: number, fiber: Fiber<number>): Routine<unknown> {
    yield* sleep(ms)
    return yield* call(fiber, 'question')
  }
  /** In its first life it waits, and cleans up for 5 ms; in its second it answers a question, and ends with a value. */
  function* member(): Routine<number> {
    const { incarnation } = Fiber.current
    if (incarnation === 1) yield* waits(() => sleep(5))
    const question = yield* moveOnAfter(50, () => receive<Call>())
    question?.reply('answered')
    yield* sleep(10)
    return incarnation
  }
  /** What is heard of a fiber that is restarted at 10 ms. */
  function* heard(hear: (fiber: Fiber<number>) => Op<unknown>, restart: (fiber: Fiber<number>) => void) {
    const fiber = spin({ name: 'member', link: false }, member)
    restart(fiber)
    const begin = now()
    yield* sleep(1) // all have begun
    const hearer = spin({ link: false }, () => hear(fiber))
    const outcome = yield* hearer.join()
    const { error, value }: any = outcome
    yield* fiber.join()
    assert.equal(fiber.incarnation, 2)
    return [error === undefined ? value : error.name, now() - begin]
  }
  const byHand = (fiber: Fiber) => void after(10, () => void fiber.restart())
  for (const strategy of ['oneForAll', 'restForOne'] as const) {
    const withItsGroup = (fiber: Fiber) => {
      const first: Fiber = spin({ name: 'first', link: false }, function* () {
        if (first.incarnation === 1) yield* failAfter(10, new Error('of another child'))
      })
      spin('supervisor', () => supervise([first, fiber], { restart: 'onError', strategy }))
    }
    for (const [what, hear] of hearers) {
      test(`a restart with its group, ${strategy}, is told like one by hand: ${what}`, function* () {
        const told = yield* spin(() => heard(hear, withItsGroup))
        assert.deepEqual(told, yield* spin(() => heard(hear, byHand)))
      })
    }

    test(`awaiters of a fiber that is restarted with its group, ${strategy}, wait on`, function* () {
      const waiters = function* (fiber: Fiber<number>): Routine<unknown> {
        const ways = [() => fiber.await(), () => fiber.join(), () => Fiber.select(fiber)]
        const fibers = ways.map((way) => spin<unknown, []>(way as () => Op<unknown>))
        return (yield* Fiber.await(...fibers)).map((value: any) => value.value ?? value[1] ?? value)
      }
      assert.deepEqual(yield* spin(() => heard(waiters, withItsGroup)), [[2, 2, 2], 75])
    })
  }

  test('the awaiter of the child that itself failed has its error, though it is restarted (S42)', function* () {
    const error = new Error('its own')
    const child: Fiber<any> = spin({ link: false }, () =>
      child.incarnation === 1 ? failAfter(5, error) : 'well',
    )
    const awaiter = spin(() => thrownBy(child))
    yield* supervise([child, { body: () => sleep(20) }], { restart: 'onError', strategy: 'oneForAll' })
    assert.deepEqual([yield* awaiter, yield* child], [error, 'well'])
  })

  test('awaiters of a fiber that waits for the restart of its group are told when it is stopped instead', function* () {
    const sibling = spin('sibling', () => sleep())
    const failing = spin('failing', () => failAfter(5, new Error('again')))
    const told = spin(() => sibling.join())
    spin(function* () {
      yield* sleep(10)
      assert.deepEqual([sibling.state, told.state], ['dead', 'waiting'])
      sibling.stop()
      failing.stop()
    })
    yield* supervise([sibling, failing], { restart: 'onError', strategy: 'oneForAll', backoff: 100 })
    assert.equal((yield* told).type, 'stopped')
    assert.equal(now(), 10)
  })
})

/** Takes back its own return so many times. */
function* clinging(times = 1000): Routine<void> {
  for (let i = 0; ; i++) {
    try {
      yield* sleep(1)
    } finally {
      // biome-ignore lint/correctness/noUnsafeFinally: that is what it is for
      if (i < times) continue
    }
  }
}

/** The ends that monitors have told this fiber of. */
const ends = () => receiveAllPending<FiberEnd>().map((end) => end.outcome.type)

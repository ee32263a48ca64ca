// What the callbacks of a supervisor are told and decide, what is seen of it, and what waits for a child that it holds.

import {
  after,
  assert,
  type Call,
  call,
  describe,
  Fiber,
  type FiberEnd,
  failAfter,
  moveOnAfter,
  neverLetsGo,
  now,
  type Op,
  receive,
  receiveAllPending,
  type SuperviseOptions,
  sleep,
  spin,
  supervise,
  suppressedErrors,
  test,
  thrownBy,
} from '../prelude.js'
import { failsAtEnd, failsOnce, flaky, kinds, slow } from './lives.js'

const boom = new Error('boom')

test('with both, onError is called for failures only and onDone for all, failures first to onError', function* () {
  const told: string[] = []
  yield* supervise([{ name: 'w', body: flaky(2).body }], {
    restart: 'onError',
    onDone: (fiber, { type }) => void told.push(`done ${fiber.name} ${type}`),
    onError: (error, fiber) => void told.push(`error ${fiber.name} ${(error as Error).message}`),
  })
  assert.deepEqual(told, ['error w life 1', 'done w error', 'error w life 2', 'done w error', 'done w value'])
})

test('siblings that are stopped for a group are told when the group is down', function* () {
  const log: string[] = []
  yield* supervise([slow('a', log, 0), { name: 'w', body: flaky(1, 10).body }], {
    strategy: 'oneForAll',
    restart: 'onError',
    onDone(fiber, { type }) {
      log.push(`${fiber.name} ${type}`)
      if (type === 'value') Fiber.current.children[0]?.stop()
    },
  })
  assert.deepEqual(log, ['+a', 'w error', '-a', 'a stopped', '+a', 'w value', '-a', 'a stopped'])
})

test('callbacks may wait; ends that come meanwhile are told afterwards, none is lost', function* () {
  const told: string[] = []
  for (const ms of [1, 2, 3]) spin(`${ms}`, () => sleep(ms))
  yield* supervise({
    *onDone(fiber) {
      yield* sleep(10)
      told.push(`${fiber.name}@${now()}`)
    },
  })
  assert.deepEqual(told, ['1@11', '2@21', '3@31'])
})

test('an arrow that returns the restarted fiber is not made to wait for it', function* () {
  const child = spin(flaky(2, 10).body)
  yield* supervise({ onError: (_, fiber) => fiber.restart() })
  assert.deepEqual([child.incarnation, now()], [3, 30])
})

test("'ignore' outweighs a rule that would restart, and is an end for good", function* () {
  const child = spin(flaky(9).body)
  const onError = () => 'ignore' as const
  yield* supervise([child, { body: () => sleep() }], { restart: 'always', until: 'any', onError })
  assert.equal(child.incarnation, 1)
})

test("'restart' outweighs the rule, with strategy, intensity and back-off", function* () {
  const child = spin(flaky(2, 0).body)
  yield* supervise([child], { backoff: 100, onError: () => 'restart' })
  assert.deepEqual([child.incarnation, now()], [3, 200])
})

test("'restart' brings back even a child that was stopped", function* () {
  const child = spin(() => sleep(10))
  after(5, () => void child.stop())
  yield* supervise([child], { onDone: (_, { type }) => (type === 'stopped' ? 'restart' : undefined) })
  assert.deepEqual([child.incarnation, child.outcome?.type], [2, 'value'])
})

test('what a callback throws ends the supervision; the error it was told of is kept beside', function* () {
  const own = new Error('callback')
  const onError = () => {
    throw own
  }
  const other = spin(() => sleep())
  const op = supervise([other, spin(failAfter, 5, boom)], { restart: 'onError', onError })
  assert.equal(yield* thrownBy(op), own)
  assert.deepEqual(suppressedErrors(own), [boom])
  assert.equal(other.state, 'dead')
})

test('a callback that returns a promise fails with a sentence', function* () {
  spin(() => 1)
  const promise: unknown = Promise.resolve()
  const error = yield* thrownBy(supervise({ onDone: () => promise as undefined }))
  assert.equal(error.code, 'BAD_ARGUMENT')
  assert.match(error.message, /returned a promise/)
})

test('a callback cannot supervise in the same fiber', function* () {
  spin(() => 1)
  const error = yield* thrownBy(supervise({ onDone: () => supervise() }))
  assert.equal(error.code, 'BAD_STATE')
  assert.match(error.message, /main is supervising already/)
  yield* supervise() // and now it may
})

test('the tree says whom a supervisor watches', function* () {
  const log: string[] = []
  const supervisor = spin('supervisor', () =>
    supervise([slow('a', log, 0), slow('b', log, 10), { body: flaky(1, 5).body }], {
      restart: 'onError',
      backoff: 100,
    }),
  )
  yield* sleep(1)
  assert.equal(supervisor.waitsFor, 'supervise(3 children)')
  yield* sleep(10)
  assert.equal(supervisor.waitsFor, 'supervise(2 children, 1 to be restarted)')
  yield* sleep(96)
  assert.equal(supervisor.waitsFor, 'supervise(3 children)')
  supervisor.stop()
  yield* sleep(1)
  assert.equal(supervisor.waitsFor, 'supervise: b to end')
  yield* supervisor.join()
  const one = spin(() => supervise([slow('a', log, 0)]))
  yield* sleep(1)
  assert.equal(one.waitsFor, 'supervise(1 child)')
  yield* one.stop()
})

/** The ends that monitors have told this fiber of. */
const endsTold = () => receiveAllPending<FiberEnd>().map(({ outcome }) => outcome.type)

/** A supervisor with `other`, which does nothing unless told otherwise, `first`, which fails at 5 ms, and a member that falls with it. */
interface Hold {
  other?: (lives: number) => Op<unknown>
  options?: SuperviseOptions
  around?: (op: Op<unknown>) => Op<unknown>
}
function* held({ other = () => sleep(), options, around = (op) => op }: Hold) {
  const member = spin({ name: 'member', link: false }, () => sleep())
  const bodies = {
    other: () => other(Fiber.current.incarnation),
    first: () => failAfter(5, new Error('first')),
  }
  const children = Object.entries(bodies).map(([name, body]) => ({ name, body }))
  const supervisor = spin({ name: 'supervisor', link: false, grace: 10 }, () =>
    around(
      supervise([...children, member], {
        strategy: 'restForOne',
        restart: 'onError',
        backoff: 1000,
        ...options,
      }),
    ),
  )
  yield* sleep(1)
  return { member, supervisor }
}

describe('a member that waits for its restart with its group', () => {
  const failsAt15 = () => failAfter(15, boom)
  const clings: SuperviseOptions = {
    onError: (_, { name }) => (name === 'other' ? neverLetsGo() : undefined),
  }
  const ways: [what: string, Hold, strike: (supervisor: Fiber, member: Fiber) => unknown, type: string][] = [
    ['it is stopped', {}, (_, member) => member.stop(), 'waiting'],
    ['its supervisor is stopped', {}, (supervisor) => supervisor.stop(), 'stopped'],
    ['its supervisor is killed', {}, (supervisor) => supervisor.kill(), 'stopped'],
    ['its supervisor is raised in', {}, (supervisor) => supervisor.raise(boom), 'error'],
    ['a time limit ends supervise', { around: (op) => moveOnAfter(20, () => op) }, () => {}, 'value'],
    [
      'another child fails for good',
      { other: failsAt15, options: { onError: throwsIf(boom) } },
      () => {},
      'error',
    ],
    [
      'there are too many restarts',
      { other: failsAt15, options: { intensity: { restarts: 1 } } },
      () => {},
      'error',
    ],
    [
      'its supervisor is abandoned in a callback',
      { other: failsAt15, options: clings },
      (supervisor) => after(10, () => void supervisor.stop()),
      'error',
    ],
    [
      'a block around supervise is abandoned',
      {
        other: failsAt15,
        options: clings,
        around: (op) => moveOnAfter(20, () => op, { grace: 5 }),
      },
      () => {},
      'error',
    ],
  ]
  for (const [what, hold, strike, type] of ways) {
    test(`when ${what}, all that wait for it are told, once`, function* () {
      const { member, supervisor } = yield* held(hold)
      const ways = [() => member.join(), () => thrownBy(member), () => thrownBy(Fiber.select(member))]
      const waiters: Fiber<any>[] = ways.map((body) => spin({ link: false }, body as () => Op<any>))
      member.monitor()
      yield* sleep(10)
      assert.deepEqual([member.state, endsTold()], ['dead', ['stopped']])
      member.mailbox.cap(1)
      assert.equal(member.send('fits'), true)
      ways.push(() => thrownBy(call(member, 'question')))
      waiters.push(...ways.map((body) => spin({ link: false }, body as () => Op<any>)))
      const pusher = spin({ link: false }, () => member.mailbox.push('does not fit'))
      yield* sleep(1)
      assert.ok([...waiters, pusher].every(({ state }) => state === 'waiting'))
      strike(supervisor, member)
      yield* sleep(40)
      const told = waiters.map(
        ({ outcome }) => outcome?.type === 'value' && (outcome.value.code ?? outcome.value.type),
      )
      const early = ['stopped', 'FIBER_STOPPED', 'FIBER_STOPPED']
      assert.deepEqual(told, [...early, ...early, 'FIBER_STOPPED'])
      assert.deepEqual([yield* pusher, member.send('anybody?'), endsTold()], [false, false, []])
      assert.equal(supervisor.outcome?.type ?? supervisor.state, type)
      yield* supervisor.stop()
    })
  }

  test("'ignore' is an end for its awaiters, and its monitors are told once", function* () {
    const onDone = ({ name }: Fiber) => (name === 'member' ? 'ignore' : undefined)
    const { member, supervisor } = yield* held({ options: { onDone } })
    member.monitor()
    assert.equal((yield* member.join()).type, 'stopped')
    assert.deepEqual([now(), endsTold()], [5, ['stopped']])
    yield* supervisor.stop()
  })

  test('awaiters, callers and monitors that come meanwhile wait for the next life', function* () {
    const bodies = [
      () => sleep(),
      function* () {
        ;(yield* receive<Call>()).reply('answered')
        return 'second life'
      },
    ]
    const member: Fiber = spin({ link: false }, () => bodies[member.incarnation - 1]?.() as any)
    const supervisor = spin(() =>
      supervise([{ body: failsOnce, args: ['x', [], 5] }, member], {
        strategy: 'oneForAll',
        restart: 'onError',
        backoff: 100,
      }),
    )
    yield* sleep(10)
    member.monitor()
    const awaiter = spin(() => member.await())
    assert.equal(yield* call(member, 'question'), 'answered')
    assert.deepEqual([yield* awaiter, now(), endsTold()], ['second life', 105, ['value']])
    yield* supervisor.stop()
  })

  test('one whose teardown failed is dead for its awaiters; a caller that asked meanwhile is told when it stays dead', function* () {
    const error = new Error('teardown')
    const member = spin({ link: false }, failsAtEnd, error, 10)
    const supervisor = spin({ link: false }, () =>
      supervise([{ body: failAfter, args: [5, boom] }, member], {
        strategy: 'oneForAll',
        restart: 'onError',
        backoff: 1000,
      }),
    )
    yield* sleep(7)
    const caller = spin(() => thrownBy(call(member, 'question')))
    assert.deepEqual([yield* thrownBy(member), now()], [error, 15])
    yield* sleep(10)
    assert.equal(caller.state, 'waiting')
    yield* supervisor.stop()
    assert.equal((yield* caller).code, 'FIBER_STOPPED')
  })

  test('one that had ended with a value before is dead for its awaiters', function* () {
    const child: Fiber<number> = spin(() => after(5, () => child.incarnation))
    const supervisor = spin(() => supervise([child], { restart: 'always', backoff: 100 }))
    yield* sleep(10)
    assert.deepEqual([yield* child, now()], [1, 10])
    yield* supervisor.stop()
  })
})

function throwsIf(bad: Error): SuperviseOptions['onError'] {
  return (error) => {
    if (error === bad) throw error
  }
}

describe('a supervisor whose generator is dropped (S19)', () => {
  test('in a block that was abandoned, leaves: its errors are thrown there, and its children are stopped', function* () {
    let lasting!: Fiber
    const block = moveOnAfter(
      10,
      function* () {
        lasting = spin(() => sleep())
        spin(failAfter, 5, boom)
        yield* supervise({ onError: () => neverLetsGo() })
      },
      { grace: 5 },
    )
    assert.equal(yield* thrownBy(block), boom)
    yield* sleep(1)
    assert.deepEqual([lasting.state, kinds()], ['dead', ['forced', 'abandoned']])
    spin({ link: false }, failAfter, 1, boom)
    yield* supervise({ onError: () => 'ignore' }) // it is free to supervise again
  })
})

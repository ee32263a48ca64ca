// Which children supervise watches, what its callbacks are told and decide, and what is seen of it. Its rules: test/semantics/supervision.test.ts.

import {
  after,
  assert,
  Fiber,
  failAfter,
  now,
  scope,
  sleep,
  spin,
  supervise,
  suppressedErrors,
  test,
  thrownBy,
} from '../prelude.js'
import { flaky, server, slow } from './lives.js'

const boom = new Error('boom')

test('children that are spun or attached while it runs are watched too', function* () {
  const log: string[] = []
  const supervisor = spin(function* () {
    spin('first', () => sleep(10))
    yield* supervise({ onDone: (fiber) => void log.push(`${fiber.name} at ${now()}`) })
  })
  const attached = spin('attached', () => sleep(50))
  yield* sleep(5)
  supervisor.spin('spun', () => sleep(20))
  attached.attachTo(supervisor)
  yield* supervisor
  assert.deepEqual(log, ['first at 10', 'spun at 25', 'attached at 50'])
})

test('a fiber of the list that is not a child is attached', function* () {
  const stranger = spin('stranger', () => sleep(20))
  const supervisor = spin('supervisor', () => supervise([stranger]))
  yield* sleep(1)
  assert.equal(stranger.parent, supervisor)
  yield* supervisor
  assert.equal(now(), 20)
})

test('with a list, other children are not watched: their errors strike as always, and the listed are stopped', function* () {
  const listed = spin(() => sleep())
  spin(failAfter, 10, boom)
  assert.equal(yield* thrownBy(supervise([listed], { restart: 'onError' })), boom)
  assert.equal(listed.state, 'dead')
})

test('with a list, it does not wait for other children', function* () {
  const other = spin(() => sleep(100))
  yield* supervise([spin(() => sleep(10))])
  assert.deepEqual([now(), other.state], [10, 'waiting'])
})

test('a child that is detached is watched no more, nor waited for if it is being stopped', function* () {
  const log: string[] = []
  for (const isStopped of [false, true]) {
    const child = spin(server, 'child', log, 100)
    const supervisor = spin(() => supervise([child]))
    yield* sleep(10)
    if (isStopped) supervisor.stop()
    yield* sleep(1)
    child.detach()
    yield* supervisor.join()
    assert.equal(child.state, 'waiting')
    yield* child.stop()
  }
})

test('a child that has moved to another supervisor is no concern of the first one', function* () {
  const worker = flaky(2, 10)
  const [first, second] = [1, 2].map(() =>
    spin(() => supervise({ restart: 'onError', backoff: 10, until: 'never' })),
  ) as [Fiber, Fiber]
  const child = first.spin(worker.body)
  yield* sleep(25)
  child.attachTo(second)
  yield* sleep(10) // it has failed again, and waits for its restart
  yield* first.stop()
  yield* sleep(10)
  assert.equal(worker.lives, 3)
  yield* second.stop()
})

test('in a scope it watches the children of the scope, and those that come meanwhile', function* () {
  const outside = spin(() => sleep(1000))
  const me = Fiber.current
  yield* scope(function* () {
    spin(() => sleep(10))
    outside.spin(() => after(5, () => void me.spin(() => sleep(20))))
    yield* supervise()
    assert.equal(now(), 25)
  })
  assert.equal(outside.state, 'waiting')
})

test('a child of a scope that fails is restarted there; the scope is not struck', function* () {
  yield* scope(function* () {
    const child = spin(flaky(2).body)
    yield* supervise({ restart: 'onError' })
    assert.equal(child.incarnation, 3)
  })
})

test('the same op can be used again: the specs are spun anew', function* () {
  let runs = 0
  const op = supervise([{ body: () => void runs++ }])
  yield* op
  yield* op
  assert.equal(runs, 2)
  assert.equal((Fiber.current as any).cold.atEnd.size, 0) // nothing is kept of it (S04)
})

test('specs are spun in order, with name, arguments and grace', function* () {
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
})

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

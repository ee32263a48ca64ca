// Which children supervise watches, and what its specs say. Its rules: test/semantics/supervision.test.ts.

import {
  after,
  assert,
  endListeners,
  Fiber,
  failAfter,
  now,
  scope,
  sleep,
  spin,
  supervise,
  test,
  thrownBy,
} from '../prelude.js'
import { flaky, server } from './lives.js'

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
  assert.equal(endListeners(Fiber.current), 0) // nothing is kept of it (S04)
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

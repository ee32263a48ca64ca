// Edges of a fiber that no rule names.

import { setDebug } from '#core/debug'
import {
  assert,
  describe,
  Fiber,
  moveOnAfter,
  type Op,
  reports,
  sleep,
  snooze,
  spin,
  started,
  suspend,
  tap,
  test,
  thrownBy,
  tryReceive,
  virtual,
} from '../prelude.js'

test('many errors that wait for one fiber cost as much each as few', async () => {
  const microseconds = (errors: number) =>
    virtual(function* () {
      const fiber = yield* started(function* () {
        for (let received = 0; received < errors; received++) yield* thrownBy(sleep())
      })
      const { user } = process.cpuUsage()
      for (let i = 0; i < errors; i++) fiber.raise('one of many')
      yield* fiber
      return process.cpuUsage().user - user
    })
  await microseconds(5_000)
  const [few, many] = [await microseconds(10_000), await microseconds(50_000)]
  assert.ok(many < 10 * few, `5 times as many took ${Math.round(many / few)} times as long`)
})

test('a body may return an op that only wraps another', function* () {
  const wrapped = {
    [Symbol.iterator]() {
      const inner: any = moveOnAfter(5, () => sleep(), 'waited')[Symbol.iterator]()
      const how = ['next', 'throw', 'return'].map((name) => [name, (value: unknown) => inner[name](value)])
      return Object.fromEntries(how)
    },
  } as Op<string>
  assert.equal(yield* spin(() => wrapped), 'waited')
})

test('a fiber, or a block, in an op of its own kind that has no return() can be killed', function* () {
  const noReturn: Op<unknown> = {
    [Symbol.iterator]() {
      const inner = sleep(100_000)[Symbol.iterator]()
      return { next: () => inner.next(), throw: (error) => inner.throw?.(error) as never }
    },
  }
  for (const body of [() => noReturn, () => moveOnAfter(50_000, () => noReturn)]) {
    const fiber = yield* started(body)
    assert.equal((yield* fiber.kill()).type, 'stopped')
  }
})

describe('a tap listener', () => {
  test('that restarts a fiber while its observers are told: each of them learns how it ended', function* () {
    const fiber = spin(function* () {
      yield* sleep(1)
      return 'value'
    })
    const first = spin(() => fiber.await())
    const second = spin(() => Fiber.select(fiber))
    const untap = tap((event, told) => {
      if (event === 'schedule' && told === first && fiber.state === 'dead') fiber.restart()
    })
    yield* first
    const [, value] = yield* second
    untap()
    assert.deepEqual([value, fiber.incarnation], ['value', 2])
    yield* fiber
  })

  test('that takes away the last child of a fiber as it ends: the fiber dies once', function* () {
    let ends = 0
    const parent = spin(function* () {
      Fiber.current.raise('too late') // the body ends before it strikes: dropped, and told to taps (S26)
      spin(() => sleep(5))
    })
    const untap = tap((event, fiber) => {
      if (event === 'dropped' && fiber === parent) for (const child of parent.children) child.detach()
      if (event === 'end' && fiber === parent) ends++
    })
    yield* parent.join()
    yield* Fiber.current.joinChildren()
    untap()
    assert.equal(ends, 1)
  })
})

test('a fiber can be renamed', function* () {
  const fiber = spin('old', () => sleep(1))
  fiber.name = 'new'
  assert.deepEqual([fiber.name, fiber.path], ['new', 'main > new'])
  yield* fiber
})

test('a fiber that has ended its monitoring keeps nothing of the other', function* () {
  const fiber = spin(() => sleep(1))
  fiber.monitor()
  fiber.unmonitor()
  yield* fiber
  assert.equal((Fiber.current as any).cold.monitoring.size, 0)
  assert.equal(tryReceive(), undefined)
})

test('in debug mode a forgotten snooze or suspend is reported, a verb is not', async () => {
  setDebug(true)
  const found = virtual(function* () {
    yield* spin('careless', () => {
      spin(() => {}).stop()
      Fiber.current.shutdownChildren()
      void snooze()
      void suspend()
    })
    return reports().map((report) => report.split(' was made')[0])
  })
  assert.deepEqual(await found.finally(() => setDebug(false)), ['floating: snooze()', 'floating: suspend()'])
})

// Edges of a fiber that no rule names.

import { inspect } from 'node:util'
import { setDebug } from '#core/debug'
import {
  assert,
  describe,
  Fiber,
  failing,
  moveOnAfter,
  type Op,
  type Routine,
  receive,
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
  waits,
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
  assert.equal((Fiber.current as any).rare.monitoring.size, 0)
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

describe('a fiber as text', () => {
  /** Fibers in all their states, and what must be said of each. */
  function* states(): Routine<[fiber: Fiber<any>, says: RegExp[]][]> {
    const [value, failed, stopped] = [
      spin('value', () => 1),
      spin({ name: 'failed', link: false }, () => failing('boom')),
      spin('stopped', () => sleep()),
    ]
    const sleeper = spin('sleeper', function* () {
      spin('inner', () => receive())
      yield* sleep(1000)
    })
    const unwinding = spin('unwinding', function* () {
      try {
        yield* sleep()
      } finally {
        yield* sleep(20)
      }
    })
    yield* sleep(1)
    stopped.stop()
    unwinding.stop()
    yield* sleep(1)
    const inner = sleeper.children[0] as Fiber
    return [
      [Fiber.current, [/\bmain\b/, /running/]],
      [spin('fresh', () => {}), [/main > fresh/, /runnable/]],
      [sleeper, [/main > sleeper/, /waiting/, /sleep\(1000\)/]],
      [inner, [/main > sleeper > inner/, /waiting/, /receive\(\)/]],
      [unwinding, [/main > unwinding/, /unwinding/, /sleep\(20\)/]],
      [value, [/main > value/, /dead|value/]],
      [failed, [/main > failed/, /dead|error|failed/]],
      [stopped, [/main > stopped/, /dead|stopped/]],
    ]
  }

  test('says its path, its state and what it waits for, on one short line', function* () {
    for (const [fiber, says] of yield* states()) {
      for (const text of [
        String(fiber),
        inspect(fiber),
        inspect({ fiber }),
        inspect([fiber], { depth: 0 }),
      ]) {
        for (const each of says) assert.match(text, each)
        assert.ok(text.length < 120 && !text.slice(0, -2).includes('\n'), text)
      }
      assert.doesNotMatch(String(fiber), /\[object/)
    }
    for (const child of Fiber.current.children) child.kill()
  })

  test('is short also in an error that carries a fiber, and outside of any fiber', async () => {
    let kept!: Fiber
    await virtual(function* () {
      kept = Fiber.current
      const error = Object.assign(new Error('with a fiber'), { fiber: kept })
      assert.ok(inspect(error).length < (error.stack as string).length + 120)
      yield* sleep(1)
    })
    assert.ok(inspect(kept).length < 120, inspect(kept))
    assert.match(String(kept), /\bmain\b/)
  })
})

test('as text it tells its path, what it waits for, and its phase while that is neither live nor dead', function* () {
  const fiber = spin('patient', () => waits(() => sleep(5)))
  yield* sleep(1)
  assert.equal(String(fiber), 'main > patient (waiting for sleep())')
  fiber.stop()
  yield* sleep(1)
  assert.equal(String(fiber), 'main > patient (waiting for sleep(5), unwinding)')
  yield* fiber.join()
  assert.equal(String(fiber), 'main > patient (dead)')
})

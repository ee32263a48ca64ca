// Edges of a fiber that no rule names.

import { setDebug } from '#core/debug'
import {
  assert,
  describe,
  Fiber,
  Mutex,
  moveOnAfter,
  now,
  type Op,
  receive,
  reports,
  type Switchpoint,
  shield,
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

test('two errors and a message in one turn: the errors strike in order, the message stays', function* () {
  const fiber = yield* started(function* () {
    const log: unknown[] = []
    while (log.length < 3) {
      try {
        log.push(yield* receive())
      } catch (error) {
        log.push((error as Error).message)
      }
    }
    return log
  })
  fiber.raise('first')
  fiber.send('letter')
  fiber.raise('second')
  assert.deepEqual(yield* fiber, ['first', 'second', 'letter'])
})

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
  const wrapped: Op<string> = {
    [Symbol.iterator]() {
      const inner = moveOnAfter(5, () => sleep(), 'waited')[Symbol.iterator]()
      type Result = IteratorResult<Switchpoint, string>
      return {
        next: (value) => inner.next(value) as Result,
        throw: (error) => inner.throw?.(error) as Result,
        return: (value) => inner.return?.(value as never) as Result,
      }
    },
  }
  assert.equal(yield* spin(() => wrapped), 'waited')
})

for (const [what, around] of [
  ['fiber', (op: Op<unknown>) => op],
  ['block', (op: Op<unknown>) => moveOnAfter(50_000, () => op)],
] as const) {
  test(`a ${what} in an op of its own kind that has no return() can be killed`, function* () {
    const noReturn: Op<unknown> = {
      [Symbol.iterator]() {
        const inner = sleep(100_000)[Symbol.iterator]()
        return { next: () => inner.next(), throw: (error) => inner.throw?.(error) as never }
      },
    }
    const fiber = spin({ link: false }, () => around(noReturn))
    yield* sleep(1)
    assert.equal((yield* fiber.kill()).type, 'stopped')
  })
}

test('what listens for the end of a body hears of it before the children are dead', function* () {
  const mutex = new Mutex()
  const times: number[] = []
  const forgetful = spin(function* () {
    yield* mutex.lock() // and never unlocks it
    spin(() =>
      shield(function* () {
        yield* mutex.lock()
        times.push(now())
        yield* sleep(10)
        mutex.unlock()
      }),
    )
    yield* sleep(2)
  })
  yield* sleep(1)
  const stranger = spin(() => mutex.synchronize(() => times.push(now())))
  yield* Fiber.await(forgetful, stranger)
  assert.deepEqual(times, [2, 12])
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

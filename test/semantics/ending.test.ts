// S11-S14: the verbs that end a fiber, seeing the end through, and the reason that travels.

import { setDebug } from '#core/debug'
import {
  after,
  assert,
  Cancel,
  describe,
  explore,
  Fiber,
  FiberStopped,
  failAfter,
  isStop,
  moveOnAfter,
  now,
  type Outcome,
  type Routine,
  reports,
  run,
  sleep,
  spin,
  started,
  suspend,
  test,
  thrownBy,
  turns,
  until,
  virtual,
  waits,
} from '../prelude.js'

const oops = new Error('oops')

describe('S11 the verbs act when they are called', () => {
  test('yield* on what a verb returns only observes, as often as one likes', function* () {
    const fiber = yield* started(() => waits(() => sleep(10)))
    const seen = fiber.stop('v')
    assert.equal(fiber.phase, 'requested')
    yield* sleep(100)
    assert.equal(fiber.state, 'dead')
    for (let i = 0; i < 2; i++) assert.deepEqual(yield* seen, { type: 'stopped', value: 'v' })
    assert.equal(now(), 101)
  })

  const isStopped = { type: 'stopped', value: undefined }
  const failed = (error: Error) => ({ type: 'error', error })
  const verbs: [string, (fiber: Fiber) => Routine<Outcome<unknown>>, object][] = [
    ['stop(7)', (fiber) => fiber.stop(7) as any, { type: 'stopped', value: 7 }],
    ['terminate()', (fiber) => fiber.terminate({ grace: 10 }) as any, isStopped],
    ['kill()', (fiber) => fiber.kill() as any, isStopped],
    ['cancel()', (fiber) => fiber.cancel() as any, failed(new Cancel('main > it was cancelled'))],
    ['cancel(error)', (fiber) => fiber.cancel(oops) as any, failed(oops)],
    [
      'cancel(class, message)',
      (fiber) => fiber.cancel(TypeError, 'oops') as any,
      failed(new TypeError('oops')),
    ],
    ['raise()', (fiber) => fiber.raise() as any, failed(new Error('raised in main > it'))],
    ['raise(error)', (fiber) => fiber.raise(oops) as any, failed(oops)],
    ['raise(message)', (fiber) => fiber.raise('oops') as any, failed(oops)],
    [
      'raise(class, message)',
      (fiber) => fiber.raise(TypeError, 'oops') as any,
      failed(new TypeError('oops')),
    ],
    ['raise(class)', (fiber) => fiber.raise(TypeError) as any, failed(new TypeError('raised in main > it'))],
  ]
  for (const [name, verb, ended] of verbs) {
    const isTold = 'error' in ended
    test(`${name}: the outcome is ${(ended as any).type}, and the parent is ${isTold ? '' : 'not '}told`, function* () {
      const watched = spin({ name: 'it', link: false }, () => sleep())
      yield* sleep(1)
      assert.deepEqual(stripped(yield* verb(watched)), stripped(ended))
      const parent = yield* started(function* () {
        spin('it', () => sleep())
        yield* sleep(10)
      })
      verb(parent.children[0] as Fiber)
      assert.equal((yield* parent.join()).type, isTold ? 'error' : 'value')
      const dead = spin(() => 'value')
      yield* dead
      assert.deepEqual(yield* verb(dead), { type: 'value', value: 'value' }) // nothing happens to the dead
      assert.equal(dead.phase, 'dead')
    })
  }
  function stripped({ error, ...rest }: any): unknown {
    return { ...rest, is: error?.constructor, says: error?.message }
  }

  test('raise and cancel are ordinary errors: a fiber that catches them lives on', function* () {
    const fiber = yield* started(function* () {
      return [yield* thrownBy(sleep()), yield* thrownBy(sleep())].map(({ message }) => message)
    })
    fiber.raise('one')
    yield* sleep(1)
    assert.equal(fiber.phase, 'live')
    fiber.cancel('two')
    assert.deepEqual(yield* fiber, ['one', 'two'])
  })

  test('a stop whose observer is itself stopped goes on by itself', function* () {
    const target = yield* started(() => waits(() => sleep(50)))
    const observer = yield* started(() => target.stop() as any)
    yield* observer.stop()
    assert.equal(target.phase, 'unwinding')
    yield* target.join()
    assert.equal(now(), 51)
  })

  test('a fiber of another world can be stopped', function* () {
    const outer = yield* started(() => sleep() as any)
    explore(() => void outer.stop('from inside'))
    assert.equal(yield* outer, 'from inside')
  })

  const never = new Promise<never>(() => {})
  for (const [name, act, expected] of [
    ['a stop', () => Fiber.current.stop(), 'FIBER_STOPPED'],
    ['a raise', () => Fiber.current.raise(Object.assign(oops, { code: 'OOPS' })), 'OOPS'],
    ['an AbortSignal', (controller) => controller.abort(), 'FIBER_STOPPED'],
  ] as [string, (controller: AbortController) => unknown, string][]) {
    test(`${name} that comes from the function given to until strikes that wait`, async () => {
      const controller = new AbortController()
      const running = run(
        () =>
          until(() => {
            act(controller)
            return never
          }),
        { signal: controller.signal },
      )
      const late = turns(1000).then(() => 'hangs')
      assert.equal(await Promise.race([running.catch(({ code }) => code), late]), expected)
    })
  }
})

describe('S12 observing a death', () => {
  test('waits for the whole subtree and all its cleanup', function* () {
    const log: number[] = []
    function* level(depth: number): Routine<void> {
      if (depth > 0) spin(level, depth - 1)
      yield* waits(() => after(10, () => log.push(depth)))
    }
    const top = yield* started(() => level(3))
    assert.deepEqual(yield* top.stop(), { type: 'stopped', value: undefined })
    assert.deepEqual([log, now()], [[3, 2, 1, 0], 41])
  })

  test('shutdownChildren does so for all children', function* () {
    spin(waits, () => sleep(10))
    yield* sleep(1)
    assert.deepEqual(yield* Fiber.current.shutdownChildren(), [{ type: 'stopped', value: undefined }])
    assert.equal(now(), 11)
  })

  test("gives the outcome and never throws the fiber's error", function* () {
    const fiber = spin(waits, () => failAfter(1, oops))
    yield* sleep(1)
    assert.deepEqual(yield* fiber.stop(), { type: 'error', error: oops })
    yield* sleep(10) // its parent has observed it, so it does not strike here
  })

  test('several fibers can observe one end', function* () {
    const target = spin(() => sleep())
    const observers = [1, 2, 3].map(() => spin(() => target.stop('v')))
    const ended = { type: 'stopped', value: 'v' }
    assert.deepEqual(yield* Fiber.await(...observers), [ended, ended, ended])
  })
})

describe('S13 stopping yourself', () => {
  test('strikes at the next switchpoint, not before', function* () {
    const log: string[] = []
    const fiber = spin(function* () {
      const me = Fiber.current
      me.stop('by myself')
      log.push(me.phase)
      yield* waits(() => {
        log.push(me.phase)
        return sleep(5)
      })
    })
    assert.equal(yield* fiber, 'by myself')
    assert.deepEqual([log, now()], [['requested', 'unwinding'], 5])
  })

  test('a fiber that ends before any switchpoint keeps its result', function* () {
    const fiber = spin(() => {
      Fiber.current.stop('too late')
      return 'result'
    })
    assert.deepEqual(yield* fiber.join(), { type: 'value', value: 'result' })
  })

  test('killing yourself: the next wait does not begin, cannot be caught, and synchronous cleanup runs', function* () {
    const log: string[] = []
    const fiber = spin(function* () {
      try {
        Fiber.current.kill()
        log.push('still here')
        yield* sleep(10)
        log.push('not reached')
      } catch {
        log.push('not caught either')
      } finally {
        log.push('cleaned up')
      }
    })
    assert.deepEqual(yield* fiber.join(), { type: 'stopped', value: undefined })
    assert.deepEqual([log, now()], [['still here', 'cleaned up'], 0])
  })

  test('main can stop itself', async () => {
    const log: string[] = []
    const result = await virtual(function* () {
      spin(waits, () => log.push('child cleaned up'))
      yield* sleep(1)
      yield* Fiber.current.stop('the end')
    })
    assert.deepEqual([result, log], ['the end', ['child cleaned up']])
  })

  test('a fiber stopped by its own child, which it then awaits, ends in order', function* () {
    const parent = spin(() => {
      const self = Fiber.current
      return spin(() => self.stop('by my child'))
    })
    assert.deepEqual(yield* parent.join(), { type: 'stopped', value: 'by my child' })
  })
})

describe('S14 a reason always travels', () => {
  test('with the stop, to every descendant, and to those who await them', function* () {
    const reason = { why: 'maintenance' }
    const seen: unknown[] = []
    const fibers: Fiber[] = []
    function* level(depth: number): Routine<void> {
      if (depth > 0) fibers.push(spin(level, depth - 1))
      const stop = yield* thrownBy(sleep())
      seen.push(stop.reason)
      throw stop
    }
    const top = yield* started(() => level(3))
    assert.equal(top.stopReason, undefined)
    top.stop(undefined, { reason })
    assert.equal(top.stopReason, reason)
    const error = yield* thrownBy(top)
    assert.ok(error instanceof FiberStopped)
    for (const told of [error.cause, ...seen, ...fibers.map(({ stopReason }) => stopReason)])
      assert.equal(told, reason)
    assert.deepEqual([seen.length, fibers.length], [4, 3])
  })

  for (const [what, act, reason] of [
    ['stop', (fiber) => fiber.stop(), 'stopped by main'],
    ['kill', (fiber) => fiber.kill(), 'killed'],
    ['the end of its parent', (fiber) => fiber.parent?.schedule(), 'main > parent ended'],
  ] as [string, (fiber: Fiber) => unknown, string][]) {
    test(`without one, the reason of ${what} is a sentence`, function* () {
      let child!: Fiber
      const parent = spin('parent', function* () {
        child = spin(() => sleep())
        yield* suspend()
      })
      yield* sleep(1)
      act(child)
      yield* child.join()
      assert.equal(child.stopReason, reason)
      yield* parent.stop()
    })
  }

  test('the stop of a time limit has one too', function* () {
    yield* moveOnAfter(1, function* () {
      const stop = yield* thrownBy(sleep())
      assert.ok(isStop(stop))
      assert.match(String(stop.reason), /moveOnAfter/)
    })
  })

  test('in debug mode a stop remembers the line that called it, and the report of a forced fiber shows it', function* () {
    let stop: any
    const fiber = yield* started(function* () {
      stop = yield* thrownBy(sleep())
      yield* sleep()
    })
    setDebug(true)
    fiber.stop()
    setDebug(false)
    yield* fiber.join()
    assert.match(stop.site, /ending\.test/)
    assert.match(reports().join(), /It was stopped here:\n.*ending\.test/)
  })
})

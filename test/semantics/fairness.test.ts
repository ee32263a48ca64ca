// S49-S52: in which order fibers run, how long, and who is served first.

import { Loop } from '../core/loop.js'
import {
  all,
  allSettled,
  assert,
  cancelAfter,
  createLocal,
  describe,
  endListeners,
  ensure,
  explore,
  Fiber,
  forEach,
  Mutex,
  moveOnAfter,
  type Op,
  Queue,
  type Routine,
  receive,
  retry,
  Semaphore,
  scope,
  shield,
  sleep,
  snooze,
  spin,
  spinLoop,
  supervise,
  suspend,
  switches,
  test,
  thrownBy,
} from '../prelude.js'
import { signals } from '../shared/signals.js'

/** A test that runs first in, first out, whatever POLY_SEED says. */
function inOrder(name: string, body: () => Routine<void>): void {
  test(name, () => void explore(body, { trace: '' }))
}

describe('S49 first come, first served, in batches', () => {
  inOrder('fibers begin in the order they were spun, and take turns', function* () {
    const log: string[] = []
    const worker = function* (name: string) {
      for (const i of [0, 1, 2]) {
        log.push(name + i)
        yield* snooze()
      }
    }
    for (const name of 'abc') spin(worker, name)
    yield* Fiber.current.joinChildren()
    assert.equal(log.join(' '), 'a0 b0 c0 a1 b1 c1 a2 b2 c2')
  })

  for (const [what, stepMs, least, most] of [
    ['1,024 steps that take no time', 0, 1024, 1024],
    ['10 ms of steps of 1 ms', 1, 10, 10],
    ['not a step more once 10 ms have passed', 3, 4, 4],
    ['one step that takes longer', 50, 1, 1],
    ['little more than 10 ms of steps of a tenth', 0.1, 100, 164],
  ] as const) {
    test(`a batch has ${what}; then the event loop gets a turn`, () => {
      const loop = new Loop()
      let steps = 0
      loop.spin(function* () {
        for (;;) {
          steps++
          loop.time += stepMs
          yield* snooze()
        }
      })
      for (let batch = 1; batch <= 3; batch++) {
        const before = steps
        loop.runtime.batch()
        assert.ok(steps - before >= least && steps - before <= most, `${steps - before} steps`)
        assert.equal(loop.yields, batch)
      }
      loop.runtime.close()
    })
  }

  test('fibers that become runnable meanwhile belong to the batch', () => {
    const loop = new Loop()
    const root = loop.spin(function* () {
      for (let i = 0; i < 100; i++) yield* spin(() => snooze())
    })
    loop.runtime.batch()
    assert.equal(root.state, 'dead')
    assert.equal(loop.yields, 0)
    loop.runtime.close()
  })

  test('timers that are due fire at the next batch, at most 1,024 of them', () => {
    const loop = new Loop()
    let awake = 0
    loop.spin(function* () {
      const sleeper = function* () {
        yield* sleep(5)
        awake++
      }
      for (let i = 0; i < 2000; i++) spin(sleeper)
      yield* Fiber.current.joinChildren()
    })
    for (let i = 0; i < 3; i++) loop.runtime.batch()
    loop.time = 5
    loop.runtime.batch()
    assert.equal(awake, 1024)
    loop.runtime.batch()
    assert.equal(awake, 2000)
    loop.runtime.close()
  })
})

describe('S50 budget', () => {
  /** Sends itself a message and receives it: an op that is ready. */
  function* note<T>(value: T): Routine<T> {
    Fiber.current.send(value)
    return yield* receive<T>()
  }
  const [mutex, semaphore, local] = [new Mutex(), new Semaphore(1), createLocal(1)]
  const ready: [string, () => Op<unknown>][] = [
    ['receive', () => note(1)],
    ['scope', () => scope(() => 1)],
    ['shield', () => shield(() => 1)],
    ['moveOnAfter', () => moveOnAfter(10, () => 1)],
    ['cancelAfter', () => cancelAfter(10, () => 1)],
    ['blocks in each other', () => shield(() => scope(() => moveOnAfter(10, () => 1)))],
    ['a limit of 0 ms', () => moveOnAfter(0, () => 1)],
    ['retry', () => retry(() => 1)],
    ['all of nothing', () => all([])],
    ['allSettled of nothing', () => allSettled([])],
    ['forEach of nothing', () => forEach([], () => 1)],
    ['supervise of nothing', () => supervise([])],
    ['synchronize', () => mutex.synchronize(() => 1)],
    ['acquire', () => semaphore.acquire(() => 1)],
    ['with of a local', () => local.with(2, () => 1)],
    ['ensure', () => ensure(Math.random, Math.random)],
    ['snooze', () => snooze()],
    ['joinChildren', () => Fiber.current.joinChildren()],
    ['Fiber.await of nothing', () => Fiber.await()],
    ['shutdownChildren', () => Fiber.current.shutdownChildren()],
  ]
  /** Waits for such ops until a sibling has run. */
  function* untilOthersRun(op: () => Op<unknown>): Routine<boolean> {
    let others = false
    Fiber.current.parent?.spin(() => (others = true))
    for (let round = 0; round < 50_000 && !others; round++) yield* op()
    return others
  }

  for (const [name, op] of ready) {
    test(`a loop over ${name} lets others run`, function* () {
      assert.equal(yield* spin(untilOthersRun, op), true)
    })

    for (const verb of ['stop', 'kill', 'raise'] as const) {
      test(`a loop over ${name} is ended by a ${verb}`, function* () {
        let rounds = 0
        const loop = function* () {
          while (rounds++ < 50_000) yield* op()
        }
        const fiber = spin({ link: false }, loop)
        yield* snooze()
        assert.equal((yield* fiber[verb]()).type, verb === 'raise' ? 'error' : 'stopped')
        assert.ok(rounds < 50_000)
      })
    }
  }

  for (const [what, strike] of signals) {
    inOrder(`after ${what} a fiber has its whole budget again: 128 ops`, function* () {
      yield* strike()
      let others = false
      let ops = 0
      const other = spin(() => (others = true))
      for (; !others && ops < 1000; ops++) yield* note(1)
      assert.equal(ops, 129) // at the last one it gave way
      yield* other
    })
  }

  inOrder('a fiber finishes 128 ops at once, then the others get one turn; no value is lost', function* () {
    let runs = ''
    const busy = function* (name: string) {
      for (let i = 1; i <= 260; i++) {
        assert.equal(yield* note(i), i)
        runs += name
      }
    }
    spin(busy, 'a')
    spin(busy, 'b')
    yield* Fiber.current.joinChildren()
    const lengths = runs.match(/a+|b+/g)?.map((run) => run.length)
    assert.deepEqual(lengths, [128, 128, 129, 129, 3, 3]) // the op at which it gave way is the first of the next turn
  })

  for (const [what, wait] of [
    ['waits', () => snooze()],
    ['does not wait', () => []],
  ] as const) {
    inOrder(`a spinLoop whose round ${what} has one round in each turn, the first at once`, function* () {
      let rounds = 0
      const loop = spinLoop(function* () {
        rounds++
        yield* wait()
      })
      const seen: number[] = []
      for (let i = 0; i < 8; i++) {
        yield* snooze()
        seen.push(rounds)
      }
      assert.deepEqual(seen, [1, 2, 3, 4, 5, 6, 7, 8])
      yield* loop.stop()
    })
  }

  test('a fiber with a held stop lets others run too', function* () {
    const worker = spin(() =>
      shield(function* () {
        Fiber.current.stop()
        return yield* untilOthersRun(() => note(1))
      }),
    )
    assert.deepEqual(yield* worker.join(), { type: 'value', value: true })
  })

  for (const verb of ['kill', 'stop', 'raise'] as const) {
    test(`a block whose loop lets others run can be entered again after a ${verb}`, function* () {
      const limit = moveOnAfter(1000, () => 'whole')
      const fiber = spin({ link: false }, function* () {
        for (;;) yield* limit
      })
      yield* snooze()
      yield* fiber[verb]()
      assert.equal(yield* limit, 'whole')
    })
  }

  test('a block whose body fails at once lets others run when the budget is spent, and its error is thrown then', function* () {
    const error = new Error('at once')
    const refused = () =>
      scope(() => {
        throw error
      })
    let others = 0
    spin(function* () {
      for (;;) {
        others++
        yield* snooze()
      }
    })
    for (let i = 0; i < 3000; i++) assert.equal(yield* thrownBy(refused()), error)
    assert.ok(others >= 2 && others < 100, String(others)) // in any order
  })

  test('a new incarnation of a fiber has a whole one', function* () {
    const dead = spin(() => {})
    yield* dead
    const fiber: Fiber<number> = spin(function* () {
      if (Fiber.current.incarnation === 1) yield* sleep()
      const before = switches()
      for (let i = 0; i < 100; i++) yield* dead
      return switches() - before
    })
    yield* sleep(1)
    assert.equal(yield* fiber.restart(), 0)
  })
})

describe('S51 priority', () => {
  const rows: [
    string,
    act: (waiter: Fiber, log: unknown[]) => unknown[],
    said: unknown[],
    order: string[],
  ][] = [
    [
      'scheduleWithPriority puts a waiting fiber at the head of the queue',
      (waiter) => [waiter.scheduleWithPriority('first')],
      [true],
      ['first', 'a', 'b', 'c'],
    ],
    [
      'schedule puts it behind all that are runnable; there it keeps its place and its value',
      (waiter) => [waiter.schedule('value'), waiter.scheduleWithPriority('other')],
      [true, false],
      ['a', 'b', 'value', 'c'],
    ],
    [
      'an out-of-band fiber begins before all that are runnable',
      (waiter, log) => [waiter.schedule('waiter'), Fiber.outOfBand(() => log.push('handler')).parent],
      [true, null],
      ['handler', 'a', 'b', 'waiter', 'c'],
    ],
  ]
  for (const [promise, act, said, order] of rows) {
    inOrder(promise, function* () {
      const log: unknown[] = []
      const waiter = spin(function* () {
        log.push(yield* suspend())
      })
      yield* snooze()
      for (const name of 'ab') spin(() => log.push(name))
      assert.deepEqual(act(waiter, log), said)
      spin(() => log.push('c'))
      yield* Fiber.current.joinChildren()
      assert.deepEqual(log, order)
    })
  }

  inOrder('stops, raises and errors of children take their places at the end of the queue', function* () {
    const log: unknown[] = []
    const witness = function* (name: string): Routine<void> {
      const child = spin(() => suspend())
      try {
        yield* suspend()
      } catch {
        log.push(name)
      }
      yield* child.stop()
    }
    const [stopped, raised, parent] = ['stopped', 'raised', 'told'].map((name) =>
      spin(witness, name),
    ) as Fiber[]
    yield* sleep(1)
    spin(() => log.push('a'))
    stopped?.stop()
    spin(() => log.push('b'))
    raised?.raise('oops')
    spin(() => log.push('c'))
    parent?.children[0]?.raise('oops') // the child has its turn, then its parent
    spin(() => log.push('d'))
    yield* Fiber.current.joinChildren()
    assert.deepEqual(log, ['a', 'stopped', 'b', 'raised', 'c', 'd', 'told'])
  })
})

describe('S52 first come, first served also for those who wait', () => {
  // Those who wait for locks, conditions, resources and room: test/shared/line.ts. A throttler: test/time/throttler.test.ts.
  const lines: Record<string, () => { wait: () => Op<unknown>; serve: () => unknown }> = {
    awaiters() {
      const target = spin(() => suspend())
      return { wait: () => target.join(), serve: () => target.schedule() }
    },
    'the awaiters of several'() {
      const target = spin(() => suspend())
      return { wait: () => Fiber.await(target), serve: () => target.schedule() }
    },
    'a queue'() {
      const queue = new Queue<number>()
      return { wait: () => queue.shift(), serve: () => [1, 2, 3].map((item) => queue.tryPush(item)) }
    },
  }
  for (const [what, open] of Object.entries(lines)) {
    inOrder(`${what}: a stopped waiter leaves the line; the others keep their places`, function* () {
      const log: string[] = []
      const { wait, serve } = open()
      const waiters = ['a', 'b', 'c', 'd'].map((name) =>
        spin(function* () {
          yield* wait()
          log.push(name)
        }),
      )
      yield* sleep(1)
      yield* waiters[1]!.stop()
      serve()
      yield* Fiber.current.joinChildren()
      assert.equal(log.join(' '), 'a c d')
    })
  }

  for (const wait of [
    (fiber: Fiber) => fiber.await(),
    (fiber: Fiber) => fiber.join(),
    (fiber: Fiber) => Fiber.await(fiber),
    (fiber: Fiber) => Fiber.select(fiber),
  ]) {
    test(`a stopped waiter leaves nothing with the fiber it waited for: ${wait}`, function* () {
      const target = spin(() => sleep())
      const waiter = spin(() => wait(target))
      yield* sleep(1)
      assert.equal(endListeners(target), 1)
      yield* waiter.stop()
      assert.equal(endListeners(target), 0)
    })
  }

  test('a match that stops the fiber whose message it looks at costs no other fiber its place', function* () {
    const [first, second] = ['first', 'second'].map((name) => spin(() => fiber.mailbox.push(name)))
    const fiber: Fiber<unknown[], string> = spin(function* () {
      yield* sleep(10)
      const stopFirst = (message: string) => message === 'first' && first?.stop() !== undefined
      const found = yield* moveOnAfter(10, () => receive(stopFirst), 'nothing')
      return [found, yield* receive(), yield* receive()]
    })
    fiber.mailbox.cap(1)
    fiber.send('full')
    assert.deepEqual(yield* fiber, ['nothing', 'full', 'second'])
    assert.equal(yield* second as Fiber, true)
  })
})

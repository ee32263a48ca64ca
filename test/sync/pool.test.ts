import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  ensure,
  Fiber,
  moveOnAfter,
  PoolClosed,
  ResourcePool,
  type Routine,
  run,
  scope,
  sleep,
  snooze,
  spin,
  suppressedErrors,
  suspend,
  TimedOut,
  until,
} from 'polyphony'
import { leaks, virtual } from 'polyphony/testing'
import { clock } from '../time/clock.js'
import { Factory } from './resources.js'

/** What an op throws. */
function* failure(op: Iterable<any>): Routine<any> {
  try {
    yield* op as any
  } catch (error) {
    return error
  }
  assert.fail('nothing was thrown')
}

/** Lets promises that are settled reach those who wait for them. */
const settled = () => until(new Promise<void>((resolve) => setImmediate(resolve)))

/** A fiber that holds a resource until it is told to go on. */
function holder(pool: ResourcePool<any>, name = 'holder') {
  return spin(name, () => pool.acquire(() => suspend()))
}

/** It takes back its own return, so it is abandoned in the end (S19). */
function* neverLetsGo(): Routine<never> {
  for (;;) {
    // biome-ignore lint/suspicious/noConfusingLabels: a plain `continue` would be taken for a useless one
    hold: try {
      yield* sleep(1000)
    } finally {
      // biome-ignore lint/correctness/noUnsafeFinally: that is the point
      break hold
    }
  }
}

describe('a resource pool', () => {
  it('P1 creates resources when they are needed, up to the limit, and uses them again', () =>
    virtual(function* () {
      const { make, things } = new Factory()
      const pool = new ResourcePool({ limit: 2 }, make)
      assert.deepEqual([pool.limit, pool.size, pool.available], [2, 0, 0])
      assert.equal(yield* pool.acquire((thing) => thing.id), 1)
      assert.equal(yield* pool.acquire((thing) => thing.id), 1)
      assert.deepEqual([pool.size, pool.available], [1, 1])
      yield* pool.acquire(function* (first) {
        const other = spin(() => pool.acquire((second) => second.id))
        assert.deepEqual([first.id, yield* other], [1, 2])
      })
      assert.deepEqual([things.length, pool.size, pool.available], [2, 2, 2])
    }))

  it('S36 S52 P1 fibers wait in line, and what comes back goes to the first: none ever sees a resource that is not there', () =>
    virtual(function* () {
      const factory = new Factory()
      const pool = new ResourcePool({ limit: 2, create: factory.make, destroy: factory.end })
      const order: number[] = []
      for (let n = 0; n < 20; n++) {
        spin(function* () {
          yield* sleep(n / 100)
          yield* pool.acquire(function* (thing) {
            factory.begin(thing)
            order.push(n)
            yield* n % 3 === 0 ? snooze() : sleep(n % 4)
            factory.finish(thing)
          })
        })
      }
      yield* Fiber.current.joinChildren()
      assert.deepEqual(
        order,
        order.map((_, n) => n),
      )
      assert.equal(factory.most, 2)
      yield* pool.close()
      assert.equal(factory.alive, 0)
    }))

  it('S52 a waiter that is stopped leaves its place, and nobody else loses theirs', () =>
    virtual(function* () {
      const pool = new ResourcePool({ limit: 1, create: () => 'it' })
      const first = holder(pool)
      yield* sleep(1)
      const order: string[] = []
      const [a, b, c] = ['a', 'b', 'c'].map((name, n) =>
        spin(name, function* () {
          yield* sleep(n)
          yield* pool.acquire(() => void order.push(name))
        }),
      )
      yield* sleep(5)
      assert.equal(pool.waiting, 3)
      yield* (b as Fiber).stop()
      assert.equal(pool.waiting, 2)
      first.schedule()
      yield* Fiber.await(a as Fiber, c as Fiber)
      assert.deepEqual(order, ['a', 'c'])
    }))

  it('P1 is re-entrant: the same fiber gets the same resource again, its children do not', () =>
    virtual(function* () {
      const { make, things } = new Factory()
      const pool = new ResourcePool({ limit: 2 }, make)
      yield* pool.acquire(function* (outer) {
        yield* pool.acquire(function* (inner) {
          assert.equal(inner, outer)
          yield* moveOnAfter(1000, () =>
            scope(() =>
              pool.acquire(function* (third) {
                assert.equal(third, outer)
                yield* sleep(1)
              }),
            ),
          )
          assert.equal(pool.stats().inUse, 1)
        })
        assert.equal(pool.stats().inUse, 1, 'the outer acquire still has it')
        assert.notEqual(yield* spin(() => pool.acquire((mine) => mine)), outer)
      })
      assert.deepEqual([things.length, pool.available], [2, 2])
    }))

  it('P1 a nested acquire in a pool of one does not wait for itself, also when a budget is spent or another pool lies between', () =>
    virtual(function* () {
      const pool = new ResourcePool({ limit: 1, create: () => 'a' })
      const other = new ResourcePool({ limit: 1, create: () => 'b' })
      yield* pool.acquire(function* () {
        for (let n = 0; n < 300; n++) {
          const both = yield* other.acquire((b) => pool.acquire((a) => a + b))
          assert.equal(both, 'ab')
        }
      })
      assert.deepEqual([pool.available, other.available], [1, 1])
    }))

  it('P1 gives the resource back on any exit: value, error, stop, kill, restart, time limit', () =>
    virtual(function* () {
      const pool = new ResourcePool({ limit: 1, create: () => 'it' })
      const isBack = () => assert.deepEqual([pool.available, pool.stats().inUse], [1, 0])
      assert.equal(yield* pool.acquire(() => 1), 1)
      assert.equal(yield* pool.acquire(() => sleep(1)), undefined)
      isBack()
      const oops = new Error('oops')
      const throws = () => {
        throw oops
      }
      assert.equal(yield* failure(pool.acquire(throws)), oops)
      isBack()
      const throwsLater = function* () {
        yield* sleep(1)
        throw oops
      }
      assert.equal(yield* failure(pool.acquire(throwsLater)), oops)
      isBack()
      for (const verb of ['stop', 'kill', 'restart'] as const) {
        let runs = 0
        const fiber = spin(() =>
          pool.acquire(function* () {
            if (++runs === 1) yield* suspend()
            return 'again'
          }),
        )
        yield* sleep(1)
        assert.equal(pool.stats().inUse, 1)
        fiber[verb]()
        yield* fiber.join()
        isBack()
      }
      const raised = spin({ link: false }, () => pool.acquire(() => suspend()))
      yield* sleep(1)
      yield* raised.raise(oops)
      isBack()
      yield* moveOnAfter(10, () => pool.acquire(() => sleep()))
      isBack()
    }))

  it('S19 a forced body lets go at once; one that is abandoned costs its resource, not the slot', () =>
    virtual(function* () {
      const factory = new Factory()
      const pool = new ResourcePool({ limit: 1, create: factory.make, destroy: factory.end })
      const forced = spin(() =>
        pool.acquire(function* () {
          try {
            yield* suspend()
          } finally {
            yield* sleep(1000)
          }
        }),
      )
      yield* sleep(1)
      yield* forced.kill()
      assert.equal(pool.available, 1)
      const hostile = spin(() => pool.acquire(neverLetsGo))
      yield* sleep(1)
      const heir = spin(() => pool.acquire((thing) => thing.id))
      yield* sleep(1)
      const outcome = yield* hostile.kill()
      assert.equal(outcome.type, 'abandoned')
      assert.equal(yield* heir, 2, 'the generator that was dropped may still use the first')
      assert.equal(factory.alive, 1)
    }))

  it('a create that never lets go costs no slot either', () =>
    virtual(function* () {
      let tries = 0
      const pool = new ResourcePool({
        limit: 1,
        *create() {
          if (++tries > 1) return 'it'
          return yield* neverLetsGo()
        },
      })
      const hostile = spin(() => pool.acquire(() => {}))
      yield* sleep(1)
      assert.equal((yield* hostile.kill()).type, 'abandoned')
      assert.equal(yield* pool.acquire((it) => it), 'it')
    }))

  it('S16b a cleanup that is held has the resource until it is over', () =>
    virtual(function* () {
      const now = clock()
      const pool = new ResourcePool({ limit: 1, create: () => 'it' })
      const fiber = spin(() =>
        pool.acquire(() =>
          ensure(
            () => sleep(),
            () => sleep(50),
          ),
        ),
      )
      yield* sleep(10)
      fiber.stop()
      yield* pool.acquire(() => assert.equal(now(), 60))
    }))

  it('S17 can be used in cleanup', () =>
    virtual(function* () {
      const pool = new ResourcePool({ limit: 1, create: () => sleep(5) })
      const first = holder(pool)
      let isClean = false
      const fiber = spin(function* () {
        try {
          yield* sleep()
        } finally {
          yield* pool.acquire(() => {
            isClean = true
          })
        }
      })
      yield* sleep(10)
      fiber.stop()
      yield* sleep(10)
      first.schedule()
      yield* fiber.join()
      assert.equal(isClean, true)
    }))

  it('takes every kind of body, and refuses the wrong ones at the call', () =>
    virtual(function* () {
      const pool = new ResourcePool({ limit: 1, create: () => 'it' })
      assert.equal(yield* pool.acquire((it) => `${it}!`), 'it!')
      assert.deepEqual(yield* pool.acquire((it) => [it]), ['it'])
      assert.equal(
        yield* pool.acquire(function* (it) {
          return it
        }),
        'it',
      )
      const op = pool.acquire((it) => it)
      assert.equal(yield* op, 'it')
      assert.equal(yield* op, 'it', 'an op may be used again')
      assert.throws(() => pool.acquire(undefined as never), { code: 'BAD_ARGUMENT' })
      assert.throws(() => pool.acquire((async () => {}) as never), { code: 'BAD_ARGUMENT' })
      const promising = yield* failure(pool.acquire((() => Promise.resolve()) as never))
      assert.equal(promising.code, 'BAD_ARGUMENT')
      assert.equal(pool.available, 1)
    }))

  it('S69 an acquire that is shared by two fibers, or taken apart, is refused, and loses nothing', () =>
    virtual(function* () {
      const pool = new ResourcePool({ limit: 2, create: () => 'it' })
      const op = pool.acquire(() => sleep(10))
      const first = spin(() => op)
      yield* sleep(1)
      const second = spin({ link: false }, () => op)
      const outcome = yield* second.join()
      assert.equal(outcome.type === 'error' && (outcome.error as any).code, 'BAD_ARGUMENT')
      yield* first
      let caught: any
      try {
        const taken = [...(pool.acquire(() => sleep(10)) as any)]
        assert.fail(`got ${taken}`)
      } catch (error) {
        caught = error
      }
      assert.equal(caught.code, 'BAD_YIELD')
      assert.deepEqual([pool.stats().inUse, pool.size], [0, pool.available])
      let refused = 0
      for (let n = 0; n < 300; n++) {
        try {
          void [...(pool.acquire(() => {}) as any)]
        } catch {
          refused++ // it had to let the others run first, with a resource in its hands (S50)
        }
      }
      assert.ok(refused > 0)
      assert.deepEqual([pool.stats().inUse, pool.size], [0, pool.available])
    }))
})

describe('create', () => {
  it('P2 F5.6 that fails gives its slot back: the next waiter tries', () =>
    virtual(function* () {
      let tries = 0
      const pool = new ResourcePool({
        limit: 1,
        *create() {
          yield* sleep(10)
          if (++tries < 3) throw new Error(`try ${tries}`)
          return tries
        },
      })
      for (const ms of [1, 2, 3, 4]) {
        spin({ link: false }, function* () {
          yield* sleep(ms)
          return yield* pool.acquire((n) => n)
        })
      }
      const outcomes = yield* Fiber.current.joinChildren()
      assert.deepEqual(
        outcomes.map((outcome: any) => outcome.error?.message ?? outcome.value),
        ['try 1', 'try 2', 3, 3],
      )
      assert.deepEqual([pool.size, pool.available, pool.stats().created], [1, 1, 1])
    }))

  it('P2 that throws at once leaves the pool as it was', () =>
    virtual(function* () {
      const pool = new ResourcePool({
        limit: 1,
        create: (): string => {
          throw new Error('no')
        },
      })
      for (let n = 0; n < 3; n++) assert.equal((yield* failure(pool.acquire(() => {}))).message, 'no')
      assert.deepEqual([pool.size, pool.stats().creating], [0, 0])
    }))

  it('is stopped with the fiber that waits for it, and its slot goes to the next', () =>
    virtual(function* () {
      const log: string[] = []
      const pool = new ResourcePool({
        limit: 1,
        *create() {
          try {
            yield* sleep(10)
            return 'it'
          } finally {
            log.push('left create')
          }
        },
      })
      const fiber = spin(() => pool.acquire(() => {}))
      yield* sleep(5)
      const heir = spin(() => pool.acquire(() => void log.push('served')))
      yield* sleep(1)
      yield* fiber.stop()
      yield* heir
      assert.deepEqual(log, ['left create', 'left create', 'served'])
      assert.deepEqual([pool.size, pool.available], [1, 1])
    }))

  it('may be an async function; a stop aborts its signal', () =>
    virtual(function* () {
      const signals: AbortSignal[] = []
      const pool = new ResourcePool({
        limit: 1,
        create: async (signal) => {
          signals.push(signal)
          if (signals.length === 1) await new Promise((_, reject) => signal.addEventListener('abort', reject))
          return 'it'
        },
      })
      const fiber = spin(() => pool.acquire(() => {}))
      yield* sleep(5)
      yield* fiber.stop()
      assert.equal(yield* pool.acquire((it) => it), 'it')
      assert.deepEqual(
        signals.map(({ aborted }) => aborted),
        [true, false],
      )
    }))

  it('S58 what comes after a stop joins the pool if there is room, and is destroyed if there is none', () =>
    virtual(function* () {
      for (const isRoom of [true, false]) {
        const factory = new Factory()
        const answers: ((thing: unknown) => void)[] = []
        const pool = new ResourcePool({
          limit: 1,
          create: () => new Promise<any>((resolve) => answers.push(resolve)),
          destroy: factory.end,
        })
        const fiber = spin(() => pool.acquire(() => {}))
        yield* sleep(1)
        yield* fiber.stop()
        assert.equal(pool.size, 0, 'the slot is free at once')
        const heir = isRoom ? undefined : spin(() => pool.acquire((thing) => thing.id))
        yield* sleep(1)
        answers[0]?.(factory.make())
        yield* settled()
        if (heir === undefined) {
          assert.equal(pool.available, 1)
          assert.equal(yield* pool.acquire((thing) => thing.id), 1)
        } else {
          assert.deepEqual([factory.alive, pool.size], [0, 1])
          answers[1]?.(factory.make())
          assert.equal(yield* heir, 2)
        }
        const { created, destroyed } = pool.stats()
        assert.equal(created - destroyed, factory.alive)
        yield* pool.close()
        assert.equal(factory.alive, 0)
      }
    }))

  it('S58 a late rejection is nobody’s error, and a late resource of a closed pool is destroyed', () =>
    virtual(function* () {
      const factory = new Factory()
      const answers: [(thing: any) => void, (error: Error) => void][] = []
      const pool = new ResourcePool({
        limit: 2,
        create: () => new Promise<any>((...both) => answers.push(both)),
        destroy: factory.end,
      })
      const fibers = [1, 2].map(() => spin(() => pool.acquire(() => {})))
      yield* sleep(1)
      for (const fiber of fibers) yield* fiber.stop()
      yield* pool.close()
      answers[0]?.[1](new Error('late'))
      answers[1]?.[0](factory.make())
      yield* settled()
      assert.deepEqual([factory.things.length, factory.alive, pool.size], [1, 0, 0])
    }))
})

describe('discard', () => {
  it('P2 lets a queued waiter create a new one, after the old one is destroyed', () =>
    virtual(function* () {
      const factory = new Factory()
      const pool = new ResourcePool({
        limit: 1,
        create: factory.make,
        *destroy(thing) {
          yield* sleep(10)
          factory.end(thing)
        },
      })
      const waiter = yield* pool.acquire(function* (thing) {
        const fiber = spin(() => pool.acquire((other) => other.id))
        yield* sleep(1)
        assert.equal(pool.discard(thing), true)
        assert.equal(pool.discard(thing), true)
        assert.equal(yield* pool.acquire((again) => again.id), 1, 'until then it is in use')
        return fiber.detach()
      })
      assert.equal(yield* waiter, 2)
      assert.deepEqual([factory.most, factory.alive, pool.available], [1, 1, 1])
    }))

  it('destroys an idle resource at once, one in use elsewhere when it comes back; tells what it does not know', () =>
    virtual(function* () {
      const factory = new Factory()
      const pool = new ResourcePool({ limit: 2, create: factory.make, destroy: factory.end })
      yield* pool.fill()
      const fiber = holder(pool)
      yield* sleep(1)
      const [first, second] = factory.things as [any, any]
      assert.equal(pool.discard(first), true)
      yield* sleep(1)
      assert.deepEqual([factory.alive, pool.size, pool.stats().inUse], [1, 1, 1])
      assert.equal(pool.discard(second), true)
      yield* sleep(1)
      assert.equal(factory.alive, 1, 'still in use')
      fiber.schedule()
      yield* fiber
      yield* sleep(1)
      assert.deepEqual([factory.alive, pool.size], [0, 0])
      assert.equal(pool.discard(second), false)
      assert.equal(pool.discard({} as never), false)
    }))

  it('may be called from outside any fiber, as an event handler does', async () => {
    const pool = new ResourcePool({ limit: 1, create: () => 'it' })
    await run(() => pool.fill())
    assert.equal(pool.discard('it'), true)
    assert.equal(pool.discard('it'), false)
    await run(() => pool.close())
  })
})

describe('destroy', () => {
  it('that fails is reported, and breaks nothing', async () => {
    const reports: string[] = []
    const write = process.stderr.write
    process.stderr.write = ((text: string) => reports.push(text)) as never
    try {
      await run(function* () {
        let made = 0
        const pool = new ResourcePool({
          name: 'db',
          limit: 1,
          create: () => ++made,
          destroy: (n) => {
            throw new Error(`${n} does not want to go`)
          },
        })
        yield* pool.acquire((n) => pool.discard(n))
        assert.equal(yield* pool.acquire((n) => n), 2)
        yield* pool.close()
        assert.deepEqual([pool.size, pool.stats().destroyed], [0, 2])
      })
    } finally {
      process.stderr.write = write
    }
    assert.equal(reports.length, 2)
    assert.match(reports[0] as string, /destroying a resource of the pool db failed: .*1 does not want to go/)
  })

  it('S16b S18 is whole whatever happens to the fiber that gave the resource back, within its grace', () =>
    virtual(function* () {
      const now = clock()
      const log: string[] = []
      const pool = new ResourcePool({
        limit: 1,
        create: () => 'it',
        *destroy(it) {
          yield* sleep(100)
          log.push(`${it} destroyed at ${now()}`)
        },
      })
      const fiber = spin(() =>
        pool.acquire(function* (it) {
          pool.discard(it)
          yield* suspend()
        }),
      )
      yield* sleep(10)
      yield* fiber.kill()
      assert.equal(now(), 10)
      assert.equal(pool.stats().destroying, 1)
      yield* pool.close()
      assert.deepEqual(log, ['it destroyed at 110'])
    }))

  it('S18 that never ends keeps its slot no longer than its grace', () =>
    virtual(function* () {
      const now = clock()
      let made = 0
      const pool = new ResourcePool({ limit: 1, create: () => ++made, destroy: () => sleep() })
      yield* pool.acquire((n) => pool.discard(n))
      assert.equal(yield* pool.acquire((n) => n), 2)
      assert.equal(now(), 5000)
      yield* pool.close()
      assert.equal(now(), 10_000)
    }))

  it('may be an async function, or one that returns a promise', () =>
    virtual(function* () {
      const ended: string[] = []
      let letGo = () => {}
      const gone = new Promise<void>((resolve) => {
        letGo = resolve
      })
      const pool = new ResourcePool({
        limit: 1,
        create: async () => 'it',
        destroy: async (it) => {
          await gone
          ended.push(it)
        },
      })
      yield* pool.fill()
      const closing = spin(() => pool.close())
      yield* sleep(1)
      assert.equal(closing.state, 'waiting')
      letGo()
      yield* closing
      assert.deepEqual(ended, ['it'])
    }))
})

describe('validate', () => {
  const kinds: [string, (bad: number) => (thing: { id: number }) => any][] = [
    ['a plain function that returns false', (bad) => (thing) => thing.id !== bad],
    [
      'a plain function that throws',
      (bad) => (thing) => {
        if (thing.id === bad) throw new Error('broken')
      },
    ],
    [
      'a generator that returns false',
      (bad) =>
        function* (thing) {
          yield* sleep(1)
          return thing.id !== bad
        },
    ],
    [
      'a generator that throws',
      (bad) =>
        function* (thing) {
          yield* sleep(1)
          if (thing.id === bad) throw new Error('broken')
        },
    ],
    ['an async function that gives false', (bad) => async (thing) => thing.id !== bad],
    [
      'an async function that rejects',
      (bad) => async (thing) => {
        if (thing.id === bad) throw new Error('broken')
      },
    ],
  ]
  for (const [kind, make] of kinds) {
    it(`${kind}: the resource is destroyed, and replaced`, () =>
      virtual(function* () {
        const factory = new Factory()
        const pool = new ResourcePool({
          limit: 1,
          create: factory.make,
          destroy: factory.end,
          validate: make(1),
        })
        assert.equal(yield* pool.acquire((thing) => thing.id), 1, 'a new one is not looked at')
        assert.equal(yield* pool.acquire((thing) => thing.id), 2)
        assert.equal(yield* pool.acquire((thing) => thing.id), 2)
        assert.deepEqual([factory.most, factory.alive, pool.size], [1, 1, 1])
      }))
  }

  it('looks at a resource that goes from hand to hand, too, but not at a nested acquire', () =>
    virtual(function* () {
      let looks = 0
      const pool = new ResourcePool({ limit: 1, create: () => 'it', validate: () => void looks++ })
      const first = holder(pool)
      yield* sleep(1)
      const second = spin(() => pool.acquire(() => pool.acquire(() => {})))
      yield* sleep(1)
      first.schedule()
      yield* second
      assert.equal(looks, 1)
    }))

  it('a stop while it waits destroys the resource, whose state nobody knows, and the slot goes on', () =>
    virtual(function* () {
      const factory = new Factory()
      const pool = new ResourcePool({
        limit: 1,
        create: factory.make,
        destroy: factory.end,
        validate: () => sleep(10),
      })
      yield* pool.fill()
      const fiber = spin(() => pool.acquire(() => {}))
      yield* sleep(5)
      assert.equal(pool.stats().inUse, 1)
      yield* fiber.stop()
      assert.equal(yield* pool.acquire((thing) => thing.id), 2)
      assert.equal(factory.alive, 1)
    }))

  it('an error raised in the fiber while it waits is not taken for an answer', () =>
    virtual(function* () {
      const pool = new ResourcePool({ limit: 1, create: () => 'it', validate: () => sleep(10) })
      yield* pool.fill()
      const fiber = spin({ link: false }, () => pool.acquire(() => 'not reached'))
      yield* sleep(5)
      const outcome = yield* fiber.raise('a shock')
      assert.equal(outcome.type === 'error' && (outcome.error as Error).message, 'a shock')
    }))

  it('a stop while an invalid one is destroyed leaves the slot to whoever comes next', () =>
    virtual(function* () {
      const factory = new Factory()
      const pool = new ResourcePool({
        limit: 1,
        create: factory.make,
        *destroy(thing) {
          yield* sleep(20)
          factory.end(thing)
        },
        validate: () => false,
      })
      yield* pool.fill()
      const fiber = spin(() => pool.acquire(() => {}))
      yield* sleep(10)
      assert.equal(pool.stats().destroying, 1)
      const heir = spin(() => pool.acquire((thing) => thing.id))
      yield* sleep(1)
      yield* fiber.stop()
      assert.equal(yield* heir, 2)
      assert.equal(factory.most, 1)
    }))
})

describe('idleTimeout and maxAge', () => {
  it('P3 an idle resource is destroyed when its time has come; one that is used again is not', () =>
    virtual(function* () {
      const factory = new Factory()
      const pool = new ResourcePool({
        limit: 2,
        create: factory.make,
        destroy: factory.end,
        idleTimeout: 100,
      })
      yield* pool.fill()
      yield* sleep(60)
      yield* pool.acquire(() => {})
      yield* sleep(50)
      assert.deepEqual([factory.alive, pool.size], [1, 1])
      yield* sleep(49)
      assert.equal(factory.alive, 1)
      yield* sleep(2)
      assert.deepEqual([factory.alive, pool.size, pool.stats().destroyed], [0, 0, 2])
      assert.equal(yield* pool.acquire((thing) => thing.id), 3)
      yield* pool.close()
    }))

  it('P3 the last used goes out first, so that those who are not needed grow old', () =>
    virtual(function* () {
      const factory = new Factory()
      const pool = new ResourcePool({
        limit: 5,
        create: factory.make,
        destroy: factory.end,
        idleTimeout: 100,
      })
      yield* pool.fill()
      for (let n = 0; n < 20; n++) {
        yield* pool.acquire(() => sleep(10))
      }
      assert.equal(pool.size, 1)
      yield* pool.close()
    }))

  it('P3 a resource older than maxAge is destroyed when it comes back, or where it lies', () =>
    virtual(function* () {
      const factory = new Factory()
      const pool = new ResourcePool({ limit: 1, create: factory.make, destroy: factory.end, maxAge: 100 })
      yield* pool.acquire(() => sleep(60))
      assert.equal(pool.available, 1)
      yield* pool.acquire(function* (thing) {
        yield* sleep(60)
        assert.equal(thing.state, 'alive', 'it is in use')
      })
      assert.equal(yield* pool.acquire((thing) => thing.id), 2)
      yield* sleep(99)
      assert.equal(pool.size, 1)
      yield* sleep(2)
      assert.equal(pool.size, 0)
      const first = spin(() => pool.acquire(() => sleep(200)))
      yield* sleep(1)
      assert.equal(yield* pool.acquire((thing) => thing.id), 4, 'not handed over either')
      yield* first
      yield* pool.close()
    }))

  it('S64 its timer keeps no program alive, is no leak, and is gone when the pool is closed', async () => {
    const pool = new ResourcePool({ limit: 1, create: () => 'it', idleTimeout: 60_000 })
    const before = leaks()
    await run(() => pool.fill())
    assert.deepEqual(leaks(), before)
    await run(() => pool.close())
    await virtual(function* () {
      const kept = new ResourcePool({ limit: 1, create: () => 'it', idleTimeout: 60_000 })
      yield* kept.fill()
      assert.equal((Fiber.current as any).runtime.weakTimers.size, 1)
      yield* kept.close()
      assert.equal((Fiber.current as any).runtime.weakTimers.size, 0)
    })
  })
})

describe('acquireTimeout', () => {
  it('P3 throws TimedOut, which names the pool and tells its statistics', () =>
    virtual(function* () {
      const now = clock()
      const pool = new ResourcePool({ name: 'db', limit: 1, create: () => 'it', acquireTimeout: 100 })
      holder(pool)
      yield* sleep(1)
      const third = spin({ link: false }, () => pool.acquire(() => {}))
      yield* sleep(10)
      const error = yield* failure(pool.acquire(() => {}))
      assert.ok(error instanceof TimedOut)
      assert.equal(error.code, 'TIMED_OUT')
      assert.match(
        error.message,
        /^main got no resource from the pool db in 100 ms\. It has 1 of 1: 1 in use, 0 idle/,
      )
      assert.equal(now(), 111)
      assert.equal((yield* third.join()).type, 'error')
      assert.equal(pool.waiting, 0)
      yield* Fiber.current.shutdownChildren()
    }))

  it('P3 covers a create that never answers, body or promise, and what is left of it after the line', () =>
    virtual(function* () {
      const now = clock()
      for (const create of [() => sleep(), () => new Promise<never>(() => {})]) {
        const pool = new ResourcePool<any>({ limit: 1, create, acquireTimeout: 100 })
        const begin = now()
        const first = spin({ link: false }, () => pool.acquire(() => {}))
        yield* sleep(40)
        const second = spin({ link: false }, () => pool.acquire(() => {}))
        const one: any = yield* first.join()
        assert.equal(now() - begin, 100)
        assert.match(one.error.message, /0 in use, 0 idle, 1 being created/)
        const two: any = yield* second.join()
        assert.equal(now() - begin, 140, 'it stood in line for 60 ms, and had 40 left')
        assert.equal(two.error.code, 'TIMED_OUT')
        assert.equal(pool.size, 0)
      }
    }))

  it('does not count when the resource is there', () =>
    virtual(function* () {
      const pool = new ResourcePool({ limit: 1, create: () => 'it', acquireTimeout: 10 })
      yield* pool.acquire(() => sleep(100))
      const first = spin(() => pool.acquire(() => sleep(5)))
      yield* sleep(1)
      assert.equal(yield* pool.acquire(() => sleep(50)), undefined)
      yield* first
    }))

  it('S34 a create that comes to an end all the same loses nothing', () =>
    virtual(function* () {
      const factory = new Factory()
      const pool = new ResourcePool({
        limit: 1,
        *create() {
          try {
            yield* sleep(1000)
          } catch {}
          return factory.make()
        },
        acquireTimeout: 10,
      })
      assert.equal((yield* failure(pool.acquire(() => {}))).code, 'TIMED_OUT')
      assert.equal(pool.available, 1)
      assert.equal(yield* pool.acquire((thing) => thing.id), 1)
    }))
})

describe('fill and close', () => {
  it('P1 fill creates up to the limit, all at the same time', () =>
    virtual(function* () {
      const now = clock()
      const pool = new ResourcePool({ limit: 3, create: () => sleep(10) })
      yield* pool.acquire(() => {})
      yield* pool.fill()
      assert.deepEqual([pool.size, pool.available, now()], [3, 3, 20])
      yield* pool.fill()
      assert.equal(pool.stats().created, 3)
    }))

  it('P2 fill throws the first error, keeps what was created, and takes no slot', () =>
    virtual(function* () {
      let n = 0
      const pool = new ResourcePool({
        limit: 3,
        *create() {
          const id = ++n
          yield* sleep(id * 10)
          if (id === 2) throw new Error('no')
          return id
        },
      })
      assert.equal((yield* failure(pool.fill())).message, 'no')
      assert.deepEqual([pool.size, pool.available, pool.stats().creating], [1, 1, 0])
    }))

  it('close refuses those in line and new ones, waits for those in use, and destroys all', () =>
    virtual(function* () {
      const now = clock()
      const factory = new Factory()
      const pool = new ResourcePool({
        limit: 2,
        create: factory.make,
        *destroy(thing) {
          yield* sleep(10)
          factory.end(thing)
        },
      })
      yield* pool.fill()
      const users = [1, 2].map(() =>
        spin(() =>
          pool.acquire(function* () {
            yield* sleep(50)
            return yield* pool.acquire(() => 'done')
          }),
        ),
      )
      yield* sleep(1)
      const waiter = spin({ link: false }, () => pool.acquire(() => {}))
      yield* sleep(5)
      const closing = spin(() => pool.close())
      yield* sleep(1)
      assert.equal(pool.isClosed, true)
      const refused: any = yield* waiter.join()
      assert.ok(refused.error instanceof PoolClosed)
      for (const op of [pool.acquire(() => {}), pool.fill(), pool.close()]) {
        assert.equal((yield* failure(op)).code, 'POOL_CLOSED')
      }
      yield* closing
      assert.equal(now(), 60)
      assert.deepEqual(yield* Fiber.await(...users), ['done', 'done'])
      assert.deepEqual([factory.alive, pool.size, pool.waiting], [0, 0, 0])
    }))

  it('close of a pool that was never used is over at once; inside acquire it is refused', () =>
    virtual(function* () {
      const pool = new ResourcePool({ limit: 1, create: () => 'it' })
      yield* pool.close()
      const other = new ResourcePool({ limit: 1, create: () => 'it' })
      assert.equal((yield* failure(other.acquire(() => other.close()))).code, 'BAD_STATE')
      assert.equal(other.isClosed, false)
    }))

  it('a close that is stopped goes on without anybody waiting for it', () =>
    virtual(function* () {
      const factory = new Factory()
      const pool = new ResourcePool({ limit: 1, create: factory.make, destroy: factory.end })
      const user = holder(pool)
      yield* sleep(1)
      yield* moveOnAfter(10, () => pool.close())
      user.schedule()
      yield* user
      yield* sleep(1)
      assert.equal(factory.alive, 0)
    }))

  it('S60 await using closes it, and waits until it is empty', async () => {
    const factory = new Factory()
    {
      await using pool = new ResourcePool({ limit: 2, create: factory.make, destroy: factory.end })
      await run(() => pool.fill())
      assert.equal(factory.alive, 2)
    }
    assert.equal(factory.alive, 0)
    const closed = new ResourcePool({ limit: 1, create: () => 'it' })
    await run(() => closed.close())
    await closed[Symbol.asyncDispose]()
    await new ResourcePool({ limit: 1, create: () => 'it' })[Symbol.asyncDispose]()
  })
})

describe('what a pool tells', () => {
  it('P3 stats: what is there, what was made, who waited and how long', () =>
    virtual(function* () {
      const pool = new ResourcePool({ limit: 2, create: () => sleep(10), destroy: () => sleep(10) })
      const fibers = [1, 2, 3, 4].map(() => spin(() => pool.acquire(() => sleep(20))))
      yield* sleep(5)
      assert.deepEqual(pool.stats(), {
        limit: 2,
        size: 2,
        inUse: 0,
        idle: 0,
        creating: 2,
        destroying: 0,
        waiting: 2,
        created: 0,
        destroyed: 0,
        waits: { count: 0, mean: 0, max: 0 },
      })
      yield* Fiber.await(...fibers)
      const { created, idle, waits } = pool.stats()
      assert.deepEqual(
        { created, idle, waits },
        { created: 2, idle: 2, waits: { count: 2, mean: 30, max: 30 } },
      )
      yield* pool.close()
      assert.equal(pool.stats().destroyed, 2)
    }))

  it('a fiber in line says what it waits for', () =>
    virtual(function* () {
      const pool = new ResourcePool({ name: 'db', limit: 1, create: () => 'it' })
      yield* pool.acquire(function* () {
        const fiber = spin(() => pool.acquire(() => {}))
        yield* sleep(1)
        assert.equal(fiber.waitsFor, 'a resource of the pool db')
        yield* fiber.stop()
      })
    }))

  it('refuses wrong options by name, with what is allowed', () => {
    const create = () => 'it'
    for (const limit of [0, -1, 1.5, NaN, Infinity, '3', undefined]) {
      assert.throws(() => new ResourcePool({ limit: limit as never, create }), {
        code: 'BAD_ARGUMENT',
        message: /limit that is a whole number above 0/,
      })
    }
    const wrong: [object, RegExp][] = [
      [{ limit: 1 }, /the create of new ResourcePool/],
      [{ limit: 1, create: 'x' }, /the create of/],
      [{ limit: 1, create, destroy: 1 }, /the destroy of/],
      [{ limit: 1, create, validate: true }, /the validate of/],
      [{ limit: 1, create: async function* () {} }, /async function/],
      [{ limit: 1, create, idleTimeout: -1 }, /the idleTimeout of/],
      [{ limit: 1, create, maxAge: '1s' }, /the maxAge of/],
      [{ limit: 1, create, acquireTimeout: NaN }, /the acquireTimeout of/],
      [{ limit: 1, create, name: '' }, /name/],
      [{ limit: 1, create, max: 3 }, /no option "max"; there are: limit, create, destroy/],
    ]
    for (const [options, message] of wrong) {
      assert.throws(() => new ResourcePool(options as never), { code: 'BAD_ARGUMENT', message })
    }
    assert.throws(() => new ResourcePool({ limit: 1 }, (() => {})() as never), { code: 'BAD_ARGUMENT' })
  })

  it('serves one runtime at a time, and says so', async () => {
    const pool = new ResourcePool({ limit: 1, create: () => 'it' })
    await run(() => pool.fill())
    const error: any = await virtual(() => pool.acquire(() => {})).catch((error) => error)
    assert.equal(error.code, 'BAD_STATE')
    assert.match(error.message, /another runtime/)
    assert.equal(suppressedErrors(error).length, 0)
  })
})

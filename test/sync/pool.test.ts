// The resource pool: creating, checking, discarding, destroying, growing old, timing out, closing.

import {
  assert,
  BadState,
  describe,
  Fiber,
  failAfter,
  leaks,
  moveOnAfter,
  neverLetsGo,
  now,
  type Op,
  type PoolOptions,
  ResourcePool,
  type Routine,
  reports,
  run,
  runtime,
  scope,
  sleep,
  spin,
  started,
  suspend,
  TimedOut,
  test,
  thrownBy,
  turn,
  turns,
  until,
  virtual,
  waits,
} from '../prelude.js'
import { aLine } from '../shared/line.js'
import { aLock, lineAt } from '../shared/lock.js'
import { poolLock } from './locks.js'
import { Factory, type Thing } from './resources.js'

aLock('a pool', poolLock)
aLine('a pool', () => lineAt(poolLock()))

/** A pool of one thing, and the factory that knows how many there are. */
function ofThings(options: Partial<PoolOptions<Thing, any>> = {}): [ResourcePool<Thing>, Factory] {
  const factory = new Factory()
  const { make, end } = factory
  return [new ResourcePool<Thing>({ limit: 1, create: make, destroy: end, ...options } as any), factory]
}

const idOf = (pool: ResourcePool<Thing>) => pool.acquire(({ id }) => id)

/** A fiber that holds a resource until it is scheduled. */
const holder = (pool: ResourcePool<any>): Routine<Fiber> => started(() => pool.acquire(() => suspend()))

/** A fiber that wants a resource, and gives its number. */
const wanting = (pool: ResourcePool<Thing>): Routine<Fiber<number>> => started(() => idOf(pool))

describe('a pool', () => {
  test('creates resources when they are needed, up to its limit, and uses them again', function* () {
    const [pool, { things }] = ofThings({ limit: 2 })
    assert.deepEqual([pool.limit, pool.size, pool.available], [2, 0, 0])
    assert.deepEqual([yield* idOf(pool), yield* idOf(pool)], [1, 1])
    yield* pool.acquire(function* () {
      assert.equal(yield* spin(() => idOf(pool)), 2)
    })
    assert.deepEqual([things.length, pool.size, pool.available], [2, 2, 2])
    assert.equal(runtime().weakTimers.size, 0)
  })

  test('gives a fiber that asks again the same resource, in any block, but not its children', function* () {
    const [pool] = ofThings({ limit: 2 })
    const other = new ResourcePool({ limit: 1, create: () => 'other' })
    yield* pool.acquire(function* (outer) {
      const inner = () => pool.acquire((thing) => assert.equal(thing, outer))
      yield* pool.acquire(() => moveOnAfter(1000, () => scope(inner)))
      for (let n = 0; n < 300; n++) yield* other.acquire(inner) // also when a budget is spent
      assert.equal(pool.stats().inUse, 1, 'the outer acquire still has it')
      assert.notEqual(yield* spin(() => idOf(pool)), outer.id)
    })
    assert.deepEqual([pool.available, other.available], [2, 1])
  })

  test('loses the resource of a body that is abandoned, but not its slot, nor that of such a create', function* () {
    const [pool, factory] = ofThings()
    const hostile = yield* started(() => pool.acquire(neverLetsGo))
    const heir = yield* wanting(pool)
    assert.equal((yield* hostile.kill()).type, 'abandoned')
    assert.equal(yield* heir, 2, 'the generator that was dropped may still use the first')
    assert.equal(factory.alive, 1)
    let tries = 0
    const other = new ResourcePool({ limit: 1, create: () => (++tries > 1 ? 'it' : neverLetsGo()) as any })
    const creating = yield* started(() => other.acquire(() => {}))
    assert.equal((yield* creating.kill()).type, 'abandoned')
    assert.equal(yield* other.acquire((it) => it), 'it')
  })

  test('tells what is there, what was made, and how long fibers waited', function* () {
    const pool = new ResourcePool({ name: 'db', limit: 2, create: () => sleep(10), destroy: () => sleep(10) })
    const fibers = [1, 2, 3, 4].map(() => spin(() => pool.acquire(() => sleep(20))))
    yield* sleep(5)
    const stats = { limit: 2, size: 2, inUse: 0, idle: 0, creating: 2, destroying: 0, waiting: 2 }
    const none = { created: 0, destroyed: 0, waits: { count: 0, mean: 0, max: 0 } }
    assert.deepEqual(pool.stats(), { ...stats, ...none })
    assert.ok(fibers.some((fiber) => fiber.waitsFor === 'a resource of the pool db'))
    yield* sleep(10)
    assert.equal(pool.stats().inUse, 2)
    yield* Fiber.await(...fibers)
    const waits = { count: 2, mean: 30, max: 30 }
    const served = { ...stats, creating: 0, idle: 2, waiting: 0, created: 2, destroyed: 0, waits }
    assert.deepEqual(pool.stats(), served)
    const closing = yield* started(() => pool.close())
    assert.deepEqual([pool.stats().destroying, closing.waitsFor], [2, 'the last resources of the pool db'])
    yield* closing
    assert.deepEqual(pool.stats(), { ...served, size: 0, idle: 0, destroyed: 2 })
  })

  test('serves one runtime at a time, and another when it is empty', async () => {
    const pool = new ResourcePool({ limit: 1, create: () => 'it', destroy: () => {} })
    await run(() => pool.fill())
    const error = await virtual(() => pool.acquire(() => {})).catch((error) => error)
    assert.ok(error instanceof BadState && /another runtime/.test(error.message))
    pool.discard('it')
    await turns()
    await virtual(() => pool.acquire(() => {}))
  })
})

describe('create', () => {
  test('that fails, at once or later, gives its slot to the next in line, which tries again', function* () {
    let tries = 0
    const pool = new ResourcePool({
      limit: 1,
      create: () => {
        if (++tries === 1) throw new Error('try 1')
        if (tries === 4) return Promise.reject(new Error('try 4')) as any
        return waits(() => {
          if (tries < 3) throw new Error(`try ${tries}`)
        }, 10)
      },
    })
    assert.equal((yield* thrownBy(pool.acquire(() => {}))).message, 'try 1')
    assert.deepEqual([pool.size, pool.stats().creating], [0, 0])
    const fibers = [1, 2, 3].map(() => spin({ link: false }, () => pool.acquire(() => 'served')))
    for (const fiber of fibers) yield* fiber.join()
    const outcomes = fibers.map(({ outcome }: any) => outcome.error?.message ?? outcome.value)
    assert.deepEqual(outcomes.sort(), ['served', 'served', 'try 2'])
    assert.deepEqual([pool.size, pool.available, pool.stats().created], [1, 1, 1])
    const op = pool.acquire(() => pool.acquire(() => 'nested'))
    yield* pool.acquire(() => pool.discard(undefined as any))
    assert.equal((yield* thrownBy(op)).message, 'try 4')
    yield* pool.acquire(() => {})
    assert.equal(yield* op, 'nested')
  })

  test('is stopped with the fiber that waits for it, and its slot goes to the next', function* () {
    const log: string[] = []
    const pool = new ResourcePool({ limit: 1, create: () => waits(() => log.push('left create'), 10) })
    const fiber = yield* started(() => pool.acquire(() => {}))
    const heir = yield* started(() => pool.acquire(() => void log.push('served')))
    yield* fiber.stop()
    yield* heir
    assert.deepEqual([log, pool.available], [['left create', 'left create', 'served'], 1])
  })

  test('may be an async function, whose signal is aborted by a stop', function* () {
    const signals: AbortSignal[] = []
    const pool = new ResourcePool({
      limit: 1,
      create: async (signal) => {
        signals.push(signal)
        if (signals.length === 1) await new Promise((_, reject) => signal.addEventListener('abort', reject))
        return 'it'
      },
    })
    const fiber = yield* started(() => pool.acquire(() => {}))
    assert.deepEqual([fiber.waitsFor, runtime().external], ['a promise', 1])
    yield* fiber.stop(undefined, { reason: 'enough' })
    assert.equal(runtime().external, 0)
    assert.equal(yield* pool.acquire((it) => it), 'it')
    assert.deepEqual([signals.map(({ aborted }) => aborted), signals[0]?.reason], [[true, false], 'enough'])
  })

  test('that comes too late joins the pool if there is room; else it is destroyed; its rejection is dropped', function* () {
    const answers: [(thing: Thing) => void, (error: Error) => void][] = []
    const [pool, factory] = ofThings({ create: () => new Promise((...both) => answers.push(both)) })
    const { make, things } = factory
    const leaves = function* () {
      const fiber = yield* wanting(pool)
      yield* fiber.stop()
      assert.equal(pool.stats().creating, 0, 'the slot is free at once')
    }
    yield* leaves()
    yield* leaves()
    answers[0]![1](new Error('late'))
    answers[1]![0](make())
    yield* turn()
    assert.deepEqual([yield* idOf(pool), pool.available], [1, 1])
    pool.discard(things[0]!)
    yield* leaves()
    const heir = yield* wanting(pool)
    answers[2]![0](make())
    yield* turn()
    assert.deepEqual([things[1]!.state, pool.size, pool.stats().destroyed], ['dead', 1, 2])
    answers[3]![0](make())
    assert.equal(yield* heir, 3)
    pool.discard(things[2]!)
    yield* leaves()
    yield* pool.close()
    answers[4]![0](make())
    yield* turn()
    assert.deepEqual([things[3]!.state, pool.size, factory.alive], ['dead', 0, 0])
  })
})

describe('discard', () => {
  test('of a resource in use: it is destroyed when it comes back, then a waiter creates another', function* () {
    const [pool, factory] = ofThings({
      destroy: (thing: Thing) => waits(() => factory.end(thing), 10),
    })
    const waiter = yield* pool.acquire(function* (thing) {
      const fiber = yield* wanting(pool)
      assert.deepEqual([pool.discard(thing), pool.discard(thing)], [true, true])
      assert.equal(yield* idOf(pool), 1, 'until then it is in use')
      assert.equal(pool.stats().inUse, 1)
      return fiber.detach()
    })
    assert.equal(pool.discard(factory.things[0]!), true) // dying already
    assert.equal(yield* waiter, 2)
    assert.deepEqual([factory.most, factory.alive, pool.available], [1, 1, 1])
  })

  test('of an idle resource: it is destroyed at once, also outside any fiber; of an unknown one: false', function* () {
    const [pool, factory] = ofThings({ limit: 3 })
    yield* pool.fill()
    const [first, second, third] = factory.things as [Thing, Thing, Thing]
    const user = yield* holder(pool) // of the last
    assert.deepEqual(
      [second, third, {} as Thing].map((each) => pool.discard(each)),
      [true, true, false],
    )
    yield* sleep(1)
    assert.deepEqual([factory.alive, pool.available, pool.stats().inUse, third.state], [2, 1, 1, 'alive'])
    user.schedule()
    yield* user
    yield* sleep(1)
    assert.deepEqual([factory.alive, pool.discard(third)], [1, false])
    yield* until(new Promise<void>((resolve) => setImmediate(() => resolve(void pool.discard(first)))))
    yield* sleep(1)
    assert.equal(factory.alive, 0)
  })

  test('of equal resources: that of the fiber which calls, else one in use, else an idle one', function* () {
    const pool = new ResourcePool({ limit: 3, create: () => 'same', destroy: () => {} })
    yield* pool.fill()
    const user = yield* holder(pool)
    yield* pool.acquire(() => pool.discard('same'))
    yield* sleep(1)
    assert.deepEqual([pool.stats().inUse, pool.available], [1, 1])
    pool.discard('same')
    assert.equal(pool.available, 1)
    user.schedule()
    yield* user
    pool.discard('same')
    yield* sleep(1)
    assert.deepEqual([pool.size, pool.available], [0, 0])
  })
})

describe('destroy', () => {
  const refuse = ({ id }: Thing) => assert.fail(`${id} does not want to go`)
  const refuseLater = function* (thing: Thing) {
    yield* sleep(5)
    refuse(thing)
  }
  for (const [when, destroy] of [
    ['at once', refuse],
    ['later', refuseLater],
  ] as const) {
    test(`that fails ${when} is reported, and breaks nothing`, function* () {
      const [pool] = ofThings({ name: 'db', destroy })
      yield* pool.acquire((thing) => pool.discard(thing))
      assert.equal(yield* idOf(pool), 2)
      yield* pool.close()
      assert.deepEqual([pool.size, pool.stats().destroyed], [0, 2])
      assert.match(reports()[0]!, /destroying a resource of the pool db failed: .*1 does not want to go/)
      assert.equal(reports().length, 2)
    })
  }

  test('is whole whatever happens to the fiber that gave the resource back', function* () {
    const log: number[] = []
    const [pool, { things }] = ofThings({ destroy: () => waits(() => log.push(now()), 100) })
    const fiber = yield* holder(pool)
    pool.discard(things[0]!)
    yield* fiber.kill()
    assert.deepEqual([now(), pool.stats().destroying], [1, 1])
    yield* pool.close()
    assert.deepEqual(log, [101])
  })

  test('that never ends keeps its slot no longer than the grace of a fiber, with a report', function* () {
    const [pool] = ofThings({ destroy: () => sleep() })
    yield* pool.acquire((thing) => pool.discard(thing))
    assert.deepEqual([yield* idOf(pool), now()], [2, 5000])
    assert.match(reports()[0]!, /forced: destroying a resource of a pool took longer than 5000 ms/)
  })
})

describe('validate', () => {
  const fail = () => {
    throw new Error('broken')
  }
  const kinds: [string, (isGood: boolean) => any][] = [
    ['a function that returns false', (isGood) => isGood],
    ['a function that throws', (isGood) => (isGood ? undefined : fail())],
    ['an op', (isGood) => (isGood ? sleep(1) : spin(() => false))],
    ['a body that throws', (isGood) => (isGood ? null : waits(fail, 1))],
    ['a promise of false', async (isGood) => isGood],
    ['a promise that rejects', async (isGood) => isGood || fail()],
  ]
  for (const [kind, answer] of kinds) {
    test(`by ${kind}: a bad resource is destroyed, and replaced; a new one is not looked at`, function* () {
      const [pool, factory] = ofThings({ validate: ({ id }: Thing) => answer(id !== 1) })
      assert.deepEqual([yield* idOf(pool), yield* idOf(pool), yield* idOf(pool)], [1, 2, 2])
      yield* sleep(1)
      assert.deepEqual([factory.most, factory.alive, pool.size], [1, 1, 1])
    })
  }

  test('looks at a resource that goes from hand to hand, but not for a nested acquire', function* () {
    let looks = 0
    const [pool] = ofThings({ validate: () => void looks++ })
    const first = yield* holder(pool)
    const second = yield* started(() => pool.acquire(() => pool.acquire(() => {})))
    first.schedule()
    yield* second
    assert.equal(looks, 1)
  })

  for (const verb of ['stop', 'kill', 'raise'] as const) {
    test(`ended by ${verb} while it waits, destroys the resource, and the slot goes on`, function* () {
      let isOver = false
      const [pool, factory] = ofThings({ validate: () => waits(() => (isOver = true), 10) })
      yield* pool.fill()
      const fiber = yield* wanting(pool)
      assert.equal(pool.stats().inUse, 1)
      assert.equal((yield* fiber[verb]()).type, verb === 'raise' ? 'error' : 'stopped')
      assert.ok(isOver)
      assert.deepEqual([yield* idOf(pool), factory.alive], [2, 1])
    })
  }

  test('is not begun by a fiber that is forced to end', function* () {
    const validate = () => {
      Fiber.current.kill()
      return sleep(1)
    }
    const [pool] = ofThings({ validate })
    yield* pool.fill()
    const fiber = spin(() => pool.acquire(() => {}))
    assert.equal((yield* fiber.join()).type, 'stopped')
    assert.equal(yield* idOf(pool), 2)
  })

  test('discarded meanwhile, the resource is replaced', function* () {
    const [pool, { things }] = ofThings({ validate: () => sleep(10) })
    yield* pool.fill()
    const fiber = yield* wanting(pool)
    pool.discard(things[0]!)
    assert.equal(yield* fiber, 2)
  })
})

describe('idleTimeout and maxAge', () => {
  test('a resource that lies idle for so long is destroyed; the last used goes out first', function* () {
    const [pool, factory] = ofThings({ limit: 3, idleTimeout: 100 })
    yield* pool.fill()
    yield* sleep(60)
    yield* pool.acquire(() => {})
    yield* sleep(39)
    assert.equal(factory.alive, 3)
    yield* sleep(2)
    assert.deepEqual([factory.alive, pool.size], [1, 1])
    yield* sleep(58)
    assert.equal(factory.alive, 1)
    yield* sleep(2)
    assert.deepEqual([factory.alive, pool.size, pool.stats().destroyed], [0, 0, 3])
    assert.equal(yield* idOf(pool), 4)
  })

  test('a resource that is too old is destroyed where it lies, or when it comes back, and not handed over', function* () {
    const [pool] = ofThings({ maxAge: 100 })
    yield* pool.acquire(() => sleep(60))
    assert.equal(pool.available, 1)
    yield* pool.acquire(function* (thing) {
      yield* sleep(60)
      assert.equal(thing.state, 'alive', 'it is in use')
    })
    assert.equal(yield* idOf(pool), 2)
    yield* sleep(99)
    assert.equal(pool.size, 1)
    yield* sleep(2)
    assert.equal(pool.size, 0)
    yield* started(() => pool.acquire(() => sleep(200)))
    assert.equal(yield* idOf(pool), 4, 'not handed over either')
  })

  test('the earlier of both counts, also if the timer is late', function* () {
    const [pool, factory] = ofThings({ limit: 2, idleTimeout: 20, maxAge: 50 })
    yield* idOf(pool)
    runtime().backend.time += 30 // no timer fires meanwhile
    assert.equal(yield* idOf(pool), 2)
    for (let n = 0; n < 4; n++) {
      yield* sleep(10)
      yield* idOf(pool)
    }
    yield* sleep(11)
    assert.deepEqual([factory.alive, factory.things.length], [0, 2])
  })

  test('a resource whose end is nearer than that of others ends in time', function* () {
    const [pool, factory] = ofThings({ limit: 2, idleTimeout: 100, maxAge: 160 })
    const old = spin(() => pool.acquire(() => sleep(100)))
    yield* sleep(90)
    yield* idOf(pool) // ends at 190
    yield* old // ends at 160
    yield* sleep(61)
    assert.deepEqual([factory.alive, factory.things[0]?.state], [1, 'dead'])
    yield* pool.close()
    assert.equal(runtime().weakTimers.size, 0)
  })

  test('the timer keeps no program alive, is no leak, and is gone when the pool is closed', async () => {
    const [pool] = ofThings({ idleTimeout: 60_000 })
    const before = leaks()
    await run(() => pool.fill())
    assert.deepEqual(leaks(), before)
    await run(function* () {
      assert.equal(runtime().weakTimers.size, 1)
      yield* pool.close()
      assert.equal(runtime().weakTimers.size, 0)
    })
  })
})

describe('acquireTimeout', () => {
  test('ends the wait in line with TimedOut, which tells the state of the pool', function* () {
    const [pool] = ofThings({ name: 'db', acquireTimeout: 100 })
    yield* holder(pool)
    const second = yield* wanting(pool)
    const error = yield* thrownBy(pool.acquire(() => {}))
    assert.ok(error instanceof TimedOut)
    assert.match(
      error.message,
      /^main got no resource from the pool db in 100 ms\. It has 1 of 1: 1 in use, 0 idle/,
    )
    assert.deepEqual([now(), (yield* second.join()).type, pool.waiting], [102, 'error', 0])
    assert.equal(runtime().timers.size, 0)
  })

  for (const [what, create] of [
    ['a body', () => sleep()],
    ['a promise', () => new Promise<never>(() => {})],
  ] as const) {
    test(`covers a create by ${what} that never answers, with what is left after the line`, function* () {
      const [pool] = ofThings({ create, acquireTimeout: 100 })
      const first = yield* wanting(pool)
      yield* sleep(40)
      const second = yield* wanting(pool)
      const one: any = yield* first.join()
      assert.deepEqual([now(), /0 in use, 0 idle, 1 being created/.test(one.error.message)], [100, true])
      const two: any = yield* second.join()
      assert.deepEqual([now(), two.error.code, pool.size], [141, 'TIMED_OUT', 0])
    })
  }

  test('does not count for the use of the resource, and a create that ends all the same loses nothing', function* () {
    const [pool, factory] = ofThings({
      acquireTimeout: 10,
      *create() {
        try {
          yield* sleep(1000)
        } catch {}
        return factory.make()
      },
    })
    assert.equal((yield* thrownBy(pool.acquire(() => {}))).code, 'TIMED_OUT')
    assert.equal(pool.available, 1)
    const first = yield* started(() => pool.acquire(() => sleep(5)))
    yield* pool.acquire(() => sleep(50))
    yield* first
    let checking = 0
    const [other] = ofThings({ acquireTimeout: 100, validate: () => sleep(checking) })
    yield* started(() => other.acquire(() => sleep(60)))
    yield* idOf(other) // waits for 59 ms
    checking = 70
    assert.equal(yield* idOf(other), 1)
    const gone = yield* holder(pool)
    yield* (yield* wanting(pool)).stop()
    assert.equal(runtime().timers.size, 0)
    gone.schedule()
  })

  test('Infinity is no limit, for each of the times of a pool', function* () {
    const [pool] = ofThings({ limit: 1, acquireTimeout: Infinity, idleTimeout: Infinity, maxAge: Infinity })
    const holder = spin(() => pool.acquire(() => sleep(2 ** 31 - 1)))
    yield* sleep(1)
    assert.equal(yield* pool.acquire(() => 'at last'), 'at last')
    yield* sleep(1_000_000)
    assert.deepEqual([pool.stats().created, (yield* holder.join()).type], [1, 'value'])
    yield* pool.close()
  })
})

describe('fill and close', () => {
  test('fill creates nothing in a pool that is closed meanwhile', function* () {
    const [pool, factory] = ofThings({
      create() {
        assert.equal(pool.isClosed, false, 'it is closed')
        return factory.make()
      },
    })
    const filling = spin({ link: false }, () => pool.fill())
    yield* spin(() => pool.close())
    yield* filling.join()
    assert.ok(!/it is closed/.test((filling.outcome as any).error?.message))
    assert.equal(factory.alive, 0)
  })

  test('fill creates up to the limit, all at the same time', function* () {
    const pool = new ResourcePool({ limit: 3, create: () => sleep(10) })
    yield* pool.acquire(() => {})
    yield* pool.fill()
    assert.deepEqual([pool.size, pool.available, now()], [3, 3, 20])
    yield* pool.fill()
    assert.equal(pool.stats().created, 3)
  })

  test('fill throws the first error, keeps what was created, and takes no slot', function* () {
    let n = 0
    const error = new Error('no')
    const create = (): Op<void> => (++n === 2 ? failAfter(20, error) : sleep(n * 10))
    const pool = new ResourcePool({ limit: 3, create })
    assert.equal(yield* thrownBy(pool.fill()), error)
    assert.deepEqual([pool.size, pool.available, pool.stats().creating], [1, 1, 0])
  })

  test('close refuses the fibers in line and new ones, waits for those inside, and destroys all', function* () {
    const [pool, factory] = ofThings({
      limit: 2,
      acquireTimeout: 1000,
      destroy: (thing: Thing) => waits(() => factory.end(thing), 10),
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
    const waiter = yield* wanting(pool)
    const closing = [1, 2].map(() => spin({ link: false }, () => pool.close()))
    yield* sleep(1)
    assert.equal(pool.isClosed, true)
    assert.equal((waiter.outcome as any).error.code, 'POOL_CLOSED')
    assert.equal(runtime().timers.size, 2) // of the users, none of the waiter
    for (const op of [pool.acquire(() => {}), pool.fill(), pool.close()]) {
      assert.equal((yield* thrownBy(op)).code, 'POOL_CLOSED')
    }
    const outcomes = [yield* closing[0]!.join(), yield* closing[1]!.join()].map(({ type }) => type)
    assert.deepEqual([now(), outcomes.sort()], [60, ['error', 'value']])
    assert.deepEqual(yield* Fiber.await(...users), ['done', 'done'])
    assert.deepEqual([factory.alive, pool.size, pool.waiting], [0, 0, 0])
  })

  test('close is over at once if the pool was never used, and goes on if its fiber is stopped', function* () {
    yield* new ResourcePool({ limit: 1, create: () => 'it' }).close()
    const [pool, factory] = ofThings()
    yield* started(() => pool.acquire(() => sleep(20)))
    yield* moveOnAfter(10, () => pool.close())
    yield* sleep(50)
    assert.deepEqual([factory.alive, now()], [0, 61])
  })

  test('close inside acquire, or inside its own create, is refused: it would wait for itself', function* () {
    const [pool] = ofThings()
    const [other] = ofThings({ create: () => other.close() })
    for (const op of [pool.acquire(() => pool.close()), other.acquire(() => {})]) {
      const error = yield* thrownBy(op)
      assert.ok(error instanceof BadState && /cannot close a pool inside acquire\(\)/.test(error.message))
    }
    assert.deepEqual([pool.isClosed, other.isClosed, other.size], [false, false, 0])
  })

  test('await using closes it, and waits until it is empty', async () => {
    const [pool, factory] = ofThings({
      limit: 2,
      destroy: (thing: Thing) => turns(2).then(() => factory.end(thing)),
    })
    {
      await using used = pool
      await run(() => used.fill())
      assert.equal(factory.alive, 2)
    }
    assert.equal(factory.alive, 0)
    await pool[Symbol.asyncDispose]()
    await ofThings()[0][Symbol.asyncDispose]()
  })

  test('a fiber that holds a resource gets the same again, although others are idle', function* () {
    let made = 0
    const pool = new ResourcePool({ limit: 2, create: () => ++made })
    yield* pool.fill()
    const pair = yield* pool.acquire((outer) => pool.acquire((inner) => [outer, inner]))
    assert.equal(pair[0], pair[1])
  })

  test('fill leaves out what others take meanwhile', function* () {
    const pool = new ResourcePool({ limit: 2, create: () => 'made' })
    spin(() => pool.acquire(() => sleep(10)))
    const filling = spin(() => pool.fill())
    spin(() => pool.acquire(() => sleep(10)))
    yield* filling
    assert.equal(pool.size, 2)
  })
})

test('a pool with a limit of Infinity makes a resource for each fiber, and cannot be filled', function* () {
  let made = 0
  const pool = new ResourcePool({ limit: Infinity, create: () => ++made })
  const users = [1, 2, 3].map(() => spin(() => pool.acquire(() => sleep(5))))
  yield* Fiber.await(...users)
  assert.deepEqual([made, pool.stats().idle, (yield* thrownBy(pool.fill())).code], [3, 3, 'BAD_STATE'])
  yield* pool.close()
})

test('a close that is cut leaves no place behind', function* () {
  const pool = new ResourcePool({ limit: 1, create: () => 'one' })
  const user = yield* started(() => pool.acquire(() => sleep(20)))
  assert.equal(yield* moveOnAfter(1, () => pool.close(), 'cut'), 'cut')
  assert.equal((pool as any).state.watchers.size, 0)
  yield* user
})

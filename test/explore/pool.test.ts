// A resource pool in every order of three fibers and a killer, in all its ways: whatever happens, what was created is
// destroyed or in the pool, no slot is lost, no two fibers share a resource, and there are never more than the limit.

import {
  assert,
  describe,
  ensure,
  explore,
  type Fiber,
  failEverywhere,
  ResourcePool,
  type Routine,
  raiseEverywhere,
  scope,
  sleep,
  snooze,
  spin,
  stopEverywhere,
  test,
} from '../prelude.js'
import { killers } from '../shared/killers.js'
import { Factory, type Thing } from '../sync/resources.js'

interface Way {
  /** What each fiber does with its resource. */
  use?: (pool: ResourcePool<Thing>, thing: Thing) => Routine<unknown>
  create?: (factory: Factory) => () => any
  validate?: () => any
  destroy?: (factory: Factory) => (thing: Thing) => any
  limit?: number
  /** What is done before the fibers come. */
  before?: (pool: ResourcePool<Thing>) => Routine<unknown>
  /** Done beside the fibers. */
  beside?: (pool: ResourcePool<Thing>) => Routine<unknown>
  acquireTimeout?: number
}

/** At its second turn. */
function* later<T>(body: () => T): Routine<T> {
  yield* snooze()
  return body()
}

const fill = (pool: ResourcePool<Thing>) => pool.fill() as Routine<void>

const ways: Record<string, Way> = {
  'resources that are there': { before: fill },
  'a create that waits': { create: (factory) => () => later(factory.make) },
  'a create that fails every other time': {
    create: (factory) => {
      let n = 0
      const make = () => {
        if (n++ % 2 === 0) throw new Error('not this time')
        return factory.make()
      }
      return () => later(make)
    },
  },
  'a check that waits': { before: fill, validate: () => snooze() },
  'a check that refuses': { before: fill, validate: () => false },
  'resources that are discarded': {
    *use(pool, thing) {
      pool.discard(thing)
      yield* snooze()
    },
    destroy: (factory) => (thing) => later(() => factory.end(thing)),
  },
  'a pool that is closed meanwhile': {
    *beside(pool) {
      yield* snooze()
      yield* pool.close()
    },
  },
  'a pool that is filled meanwhile': { limit: 2, beside: fill },
  'a nested acquire': {
    use: (pool, thing) => pool.acquire((same) => void assert.equal(same, thing)) as Routine<void>,
  },
  'a limit on the time to wait': { acquireTimeout: 5, use: () => sleep(5) as Routine<void> },
}

function scenario(way: Way, kill: (fibers: Fiber<any>[]) => unknown): () => Routine<void> {
  return function* () {
    const factory = new Factory()
    const limit = way.limit ?? 1
    const pool = new ResourcePool<Thing>({
      limit,
      create: way.create?.(factory) ?? factory.make,
      destroy: way.destroy?.(factory) ?? factory.end,
      ...(way.validate && { validate: way.validate }),
      ...(way.acquireTimeout && { acquireTimeout: way.acquireTimeout }),
    })
    if (way.before) yield* way.before(pool)
    const workers = [1, 2, 3].map(() =>
      spin({ link: false }, function* () {
        yield* pool.acquire(function* (thing) {
          factory.begin(thing)
          try {
            yield* way.use?.(pool, thing) ?? snooze()
          } finally {
            factory.finish(thing)
          }
        })
      }),
    )
    const others = [spin(later, () => void kill(workers))]
    if (way.beside) others.push(spin(way.beside, pool) as Fiber<any>)
    for (const fiber of [...workers, ...others]) {
      const outcome = yield* fiber.join()
      assert.notEqual(outcome.type, 'abandoned')
      if (outcome.type === 'error') assert.ok(isExpected(outcome.error as any), String(outcome.error))
    }
    yield* checkPool(pool, factory, limit)
  }
}

function isExpected({ message, code }: { message: string; code?: string }): boolean {
  return /killed|not this time/.test(message) || code === 'POOL_CLOSED' || code === 'TIMED_OUT'
}

/** When all fibers are over. */
function* checkPool(pool: ResourcePool<Thing>, factory: Factory, limit: number): Routine<void> {
  assert.equal(pool.waiting, 0)
  if (!pool.isClosed) {
    // No slot is lost: as many as there may be can be had at once.
    yield* scope(() => {
      for (let n = 0; n < limit; n++) spin(holdOne, pool)
    })
    assert.equal(pool.stats().inUse, 0)
    yield* pool.close()
  }
  const { size, created, destroyed } = pool.stats()
  assert.deepEqual({ size, alive: factory.alive }, { size: 0, alive: 0 })
  assert.equal(created, factory.things.length)
  assert.equal(destroyed, created)
  assert.ok(factory.most <= limit, `there were ${factory.most} resources at a time`)
}

function* holdOne(pool: ResourcePool<Thing>): Routine<void> {
  for (;;) {
    try {
      yield* pool.acquire(() => sleep(1))
      return
    } catch (error) {
      if (!isExpected(error as Error)) throw error
    }
  }
}

describe('a resource pool in every order of three fibers and a killer', () => {
  for (const [name, way] of Object.entries(ways)) {
    for (const [how, kill] of killers) {
      test(`${name}, and ${how}: no resource and no slot is lost`, () => {
        // Every order that differs from that of the queue up to three times, then some that differ more.
        const few = explore(scenario(way, kill), { preemptions: 3 })
        const many = explore(scenario(way, kill), { maxSchedules: 500 })
        assert.ok(few.schedules > 50 && many.schedules > 50)
      })
    }
  }
})

describe('a resource pool, disturbed at every switchpoint', () => {
  test('stopped, raised in or failing anywhere, a scenario that uses all of it loses nothing', () => {
    let factory = new Factory()
    let pool: ResourcePool<Thing> | undefined
    let uses = 0
    let isSlow = true
    function* everything(): Routine<void> {
      factory = new Factory()
      uses = 0
      const made = new ResourcePool<Thing>({
        name: 'everything',
        limit: 2,
        *create() {
          yield* sleep(1)
          return factory.make()
        },
        destroy: (thing) => {
          factory.end(thing)
          return isSlow ? sleep(1) : undefined // its failure would be reported
        },
        *validate(thing) {
          yield* sleep(1)
          return thing.id !== 2
        },
        idleTimeout: 30,
        maxAge: 200,
        acquireTimeout: 50,
      })
      pool = made
      yield* ensure(
        function* () {
          yield* made.fill()
          const fibers = [1, 2, 3, 4].map((n) => spin({ link: false }, use, made, n))
          for (const fiber of fibers) yield* fiber.join()
          yield* sleep(40)
          yield* made.acquire(() => sleep(1))
        },
        () => made.close(),
      )
    }
    function* use(made: ResourcePool<Thing>, n: number): Routine<void> {
      yield* made.acquire(function* (thing) {
        uses++
        if (n === 3) made.discard(thing)
        yield* sleep(n)
        yield* made.acquire(() => sleep(1))
      })
    }
    const check = () => {
      const { size, waiting, created, destroyed } = (pool as ResourcePool<Thing>).stats()
      assert.deepEqual({ size, waiting, alive: factory.alive }, { size: 0, waiting: 0, alive: 0 })
      assert.equal(destroyed, created)
      assert.ok(factory.most <= 2)
    }
    assert.ok(stopEverywhere(everything, { check }).switchpoints > 30)
    assert.ok(uses <= 4)
    raiseEverywhere(everything, { check })
    isSlow = false
    failEverywhere(everything, { check })
  })
})

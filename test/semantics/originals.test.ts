// Faults of the originals that no other test names: what went wrong there goes right here.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Fiber, Mutex, moveOnAfter, now, receive, sleep, snooze, spin, supervise } from 'polyphony'
import { virtual } from 'polyphony/testing'

test('T6 F5.8 nested time limits do not overwrite each other: the outer one fires although an inner one came and went', () =>
  virtual(function* () {
    const outer = yield* moveOnAfter(
      50,
      function* () {
        const inner = yield* moveOnAfter(10, () => sleep(1000), 'inner')
        assert.equal(inner, 'inner')
        yield* moveOnAfter(10, () => sleep(5))
        yield* sleep(1000)
      },
      'outer',
    )
    assert.deepEqual([outer, now()], ['outer', 50])
  }))

test('T6 many fibers have limits at the same time, each its own', () =>
  virtual(function* () {
    const fibers = Array.from({ length: 100 }, (_, i) =>
      spin(function* () {
        yield* moveOnAfter(100 - i, () => sleep(1000))
        return now()
      }),
    )
    assert.deepEqual(
      yield* Fiber.await(...fibers),
      Array.from({ length: 100 }, (_, i) => 100 - i),
    )
  }))

test('L30 awaiting ten times as many fibers at once costs about ten times as much', async () => {
  const cost = async (n: number): Promise<number> => {
    const begin = process.cpuUsage()
    await virtual(function* () {
      const fibers = Array.from({ length: n }, (_, i) => spin(() => i))
      assert.equal((yield* Fiber.await(...fibers)).length, n)
    })
    const { user, system } = process.cpuUsage(begin)
    return user + system
  }
  await cost(20_000)
  const few = await cost(2_000)
  const many = await cost(20_000)
  assert.ok(many < 50 * few + 50_000, `2,000 took ${few} us, 20,000 took ${many} us`)
})

test('V3 supervision does not swallow errors', () =>
  virtual(function* () {
    const oops = new Error('oops')
    spin(function* () {
      yield* sleep(1)
      throw oops
    })
    try {
      yield* supervise()
      assert.fail('nothing was thrown')
    } catch (error) {
      assert.equal(error, oops)
    }
  }))

test('V9 the children of a server can be handed to a supervisor of their own and drained with grace', () =>
  virtual(function* () {
    const log: string[] = []
    const undertaker = spin('undertaker', () => supervise({ until: 'never' }))
    undertaker.detach()
    const server = spin('server', function* () {
      for (const name of ['one', 'two']) {
        spin(name, function* () {
          try {
            yield* sleep(1000)
          } finally {
            yield* sleep(10) // the request is finished
            log.push(name)
          }
        })
      }
      yield* receive()
    })
    yield* snooze()
    yield* sleep(1)
    for (const child of server.children) child.attachTo(undertaker)
    yield* server.stop()
    assert.deepEqual(log, [])
    yield* undertaker.stop(undefined, { grace: 1000 })
    assert.deepEqual(log, ['two', 'one'])
  }))

test('X3 a mutex is a monitor as well: entered again by its holder, left as many times', () =>
  virtual(function* () {
    const monitor = new Mutex()
    yield* monitor.lock()
    yield* monitor.lock()
    monitor.unlock()
    assert.equal(monitor.isHeld, true)
    monitor.unlock()
    assert.equal(monitor.isHeld, false)
    assert.throws(() => monitor.unlock(), /nobody holds it/)
  }))

test('F5.7 a message to a dead fiber is refused and not kept', () =>
  virtual(function* () {
    const fiber = spin(() => {})
    yield* fiber
    assert.deepEqual([fiber.send('late'), fiber.mailbox.size], [false, 0])
  }))

// S56: the async context (AsyncLocalStorage), carried into fibers by one option, and into nothing else.

import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { EventEmitter } from 'node:events'
import { describe, it } from 'node:test'
import {
  action,
  ensure,
  Fiber,
  moveOnAfter,
  once,
  receive,
  run,
  scope,
  shield,
  sleep,
  snooze,
  spin,
  suspend,
  transfer,
  until,
} from 'polyphony'
import { virtual } from 'polyphony/testing'
import { turn } from '../prelude.js'

const storage = new AsyncLocalStorage<string>()
const seen = () => storage.getStore()
const NODE = Number.parseInt(process.versions.node, 10)

describe('S56 the async context', () => {
  it('is there before and after every kind of wait', () =>
    virtual(function* () {
      const emitter = new EventEmitter()
      const waits: Record<string, () => any> = {
        snooze: () => snooze(),
        sleep: () => sleep(1),
        promise: () => until(Promise.resolve()),
        'function of a promise': () => until(async () => assert.equal(seen(), 'store')),
        action: () => action<void>((settle) => void setImmediate(settle)),
        event: () => once(emitter, 'x'),
        receive: () => receive(),
        suspend: () => suspend(),
        child: () => spin(() => snooze()),
        join: () => spin(() => sleep(1)).join(),
        scope: () => scope(() => void spin(() => sleep(1))),
        'limit in time': () => moveOnAfter(10, () => sleep(1)),
        'limit that expires': () => moveOnAfter(1, () => sleep()),
        shield: () => shield(() => sleep(1)),
        ensure: () =>
          ensure(
            () => sleep(1),
            function* () {
              assert.equal(seen(), 'store')
              yield* sleep(1)
              assert.equal(seen(), 'store')
            },
          ),
      }
      for (const [name, wait] of Object.entries(waits)) {
        const fiber = storage.run('store', () =>
          spin({ context: true }, function* () {
            const log = [seen()]
            yield* wait()
            log.push(seen())
            return log
          }),
        )
        yield* sleep(2)
        storage.run('of whoever wakes it', () => {
          emitter.emit('x')
          fiber.send('message')
          fiber.schedule('value')
        })
        assert.deepEqual(yield* fiber, ['store', 'store'], name)
        assert.equal(seen(), undefined, name)
      }
    }))

  it('is there in cleanup, whoever stops the fiber: by a throw, and by a forced return', () =>
    virtual(function* () {
      const log: unknown[] = []
      const body = function* () {
        try {
          yield* sleep()
        } catch (error) {
          log.push(seen())
          throw error
        } finally {
          log.push(seen())
          try {
            yield* sleep(5)
          } finally {
            log.push(seen())
          }
        }
      }
      const fibers = storage.run('store', () => [1, 2].map(() => spin({ context: true }, body)))
      yield* sleep(1)
      yield* storage.run('of the one who stops', () => fibers[0]?.stop() as any)
      assert.deepEqual(log.splice(0), ['store', 'store', 'store'])
      yield* storage.run('of the one who kills', () => fibers[1]?.kill() as any)
      assert.ok(log.length > 0 && log.every((store) => store === 'store'), String(log))
    }))

  it('goes with children, each with the context of its own spin, and with theirs', () =>
    virtual(function* () {
      const parent = storage.run('parent', () =>
        spin({ context: true }, function* () {
          const plain = spin(seen)
          const named = spin('named', () => spin(() => spin(seen)))
          const other = storage.run('other', () =>
            spin(function* () {
              yield* sleep(1)
              return yield* spin(seen)
            }),
          )
          const off = storage.run('other', () => spin({ context: false }, () => spin(seen)))
          const late = yield* Fiber.await(plain, named, other, off)
          return [...late, seen()]
        }),
      )
      assert.deepEqual(yield* parent, ['parent', 'parent', 'other', undefined, 'parent'])
    }))

  it('goes with raw fibers, and stays through a restart', () =>
    virtual(function* () {
      const fiber = storage.run('store', () =>
        spin({ context: true }, function* () {
          const here = Fiber.current
          const raw = new Fiber(function* () {
            yield* transfer(here, seen())
          })
          const inRaw = yield* transfer(raw)
          return [inRaw, seen()]
        }),
      )
      assert.deepEqual(yield* fiber, ['store', 'store'])
      fiber.restart()
      assert.deepEqual(yield* fiber, ['store', 'store'])
    }))

  it('of one fiber is never that of another, nor of what is outside', () =>
    virtual(function* () {
      const log: unknown[] = []
      function* worker(expected: string | undefined) {
        for (let i = 0; i < 10; i++) {
          if (seen() !== expected) log.push([expected, seen()])
          yield* i % 2 ? snooze() : sleep(1)
        }
      }
      const fibers = ['a', 'b', 'c'].map((name) =>
        storage.run(name, () => spin({ context: true }, worker, name)),
      )
      const none = spin(worker, undefined)
      yield* Fiber.await(...fibers, none)
      assert.deepEqual(log, [])
      assert.equal(seen(), undefined)
    }))

  it('is seen by the callbacks that are started inside', () =>
    virtual(function* () {
      const fiber = storage.run('store', () =>
        spin({ context: true }, function* () {
          const found: unknown[] = []
          yield* snooze()
          yield* until(Promise.resolve().then(() => found.push(seen())))
          yield* action<void>((settle) => {
            setImmediate(() => settle(void found.push(seen())))
          })
          yield* action<void>((settle) => {
            process.nextTick(() => settle(void found.push(seen())))
          })
          yield* until(
            (async () => {
              await null
              await new Promise((resolve) => setImmediate(resolve))
              found.push(seen())
            })(),
          )
          return found
        }),
      )
      assert.deepEqual(yield* fiber, ['store', 'store', 'store', 'store'])
    }))

  it('set with storage.run around a spin holds for that child: the way to have another for a while', () =>
    virtual(function* () {
      const fiber = storage.run('outer', () =>
        spin({ context: true }, function* () {
          const inner: unknown[] = yield* storage.run('inner', () =>
            spin(function* () {
              yield* sleep(1)
              return [seen()]
            }),
          )
          return [...inner, seen()]
        }),
      )
      assert.deepEqual(yield* fiber, ['inner', 'outer'])
    }))

  it('changed by enterWith reaches the children spun after it, and no other fiber', () =>
    virtual(function* () {
      const sibling = storage.run('store', () =>
        spin({ context: true }, function* () {
          yield* sleep(5)
          return seen()
        }),
      )
      const fiber = storage.run('store', () =>
        spin({ context: true }, function* () {
          storage.enterWith('entered')
          const child = spin(seen)
          assert.equal(seen(), 'entered')
          yield* snooze()
          // For how long it holds is Node's to say: until the next wait since Node 24, for the rest of the fiber before.
          assert.equal(seen(), NODE >= 24 ? 'store' : 'entered')
          return yield* child
        }),
      )
      assert.equal(yield* fiber, 'entered')
      assert.equal(yield* sibling, 'store')
      assert.equal(seen(), undefined)
    }))

  it('off, nothing is carried', () =>
    virtual(function* () {
      const fiber = storage.run('store', () => spin(seen))
      assert.equal((fiber as any).cold, null)
      yield* fiber
      const wrong = () => spin({ context: 'yes' as any }, () => {})
      assert.throws(wrong, /spin\(\) needs true or false as context, got "yes"/)
    }))
})

describe('S56 the async context of run', () => {
  it('is that of the call, through every wait and in children', async () => {
    const running = storage.run('request', () =>
      run(
        function* () {
          const log = [seen()]
          yield* turn()
          log.push(seen(), yield* spin(seen))
          return log
        },
        { context: true },
      ),
    )
    assert.deepEqual(await running, ['request', 'request', 'request'])
    assert.equal(seen(), undefined)
  })

  it('of many requests at once is never mixed up', async () => {
    const handle = (id: string) =>
      storage.run(id, () =>
        run(
          function* () {
            for (let i = 0; i < 20; i++) {
              assert.equal(seen(), id)
              yield* i % 3 === 0 ? turn() : i % 2 === 0 ? snooze() : until(Promise.resolve())
            }
            return seen()
          },
          { context: true },
        ),
      )
    const ids = Array.from({ length: 50 }, (_, i) => `request ${i}`)
    assert.deepEqual(await Promise.all(ids.map(handle)), ids)
  })

  it('does not become that of a fiber without one that a callback from inside wakes', async () => {
    const log: unknown[] = []
    const plain = run(function* () {
      for (let i = 0; i < 3; i++) {
        yield* receive()
        log.push(seen())
      }
    })
    await storage.run('request', () =>
      run(
        function* () {
          plain.fiber.send(1)
          yield* turn()
          yield* action<void>((settle) => {
            setImmediate(() => {
              plain.fiber.send(2)
              settle()
            })
          })
          yield* until(Promise.resolve().then(() => plain.fiber.send(3)))
        },
        { context: true },
      ),
    )
    await plain
    assert.deepEqual(log, [undefined, undefined, undefined])
  })

  it('wrong use is told in words', () => {
    assert.throws(() => run(() => {}, { context: 1 as any }), /run\(\) needs true or false as context, got 1/)
    assert.throws(() => run(() => {}, { contxt: true } as any), /run\(\) has no option "contxt"/)
  })
})

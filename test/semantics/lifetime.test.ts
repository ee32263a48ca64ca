// S01-S07: the tree, how a fiber begins, and what its end means for its children.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { BadArgument, BadState, Fiber, receive, run, scope, sleep, snooze, spin, tap } from 'polyphony'
import { virtual } from 'polyphony/testing'

/** The virtual clock. */
const now = (): number => (Fiber.current as any).runtime.now()

test('S01 every fiber but the root has one parent', () =>
  virtual(function* () {
    const main = Fiber.current
    assert.equal(main.parent, null)
    let grandchild: Fiber | undefined
    const child = spin(function* () {
      grandchild = spin(() => sleep(10))
      yield* grandchild
    })
    yield* child
    assert.equal(child.parent, main)
    assert.equal(grandchild?.parent, child)
  }))

test('S01 a fiber is dead only when its body has ended and all its children are dead', () =>
  virtual(function* () {
    const log: string[] = []
    const parent = spin(function* parent() {
      spin(function* child() {
        try {
          yield* sleep()
        } finally {
          yield* sleep(50)
          log.push('child is done')
        }
      })
      yield* sleep(1)
      log.push('body is over')
      return 42
    })
    yield* sleep(10)
    assert.deepEqual(log, ['body is over'])
    assert.equal(parent.phase, 'closing')
    assert.notEqual(parent.state, 'dead')
    assert.equal(parent.outcome, undefined)
    assert.equal(yield* parent, 42)
    assert.equal(now(), 51)
    assert.deepEqual(log, ['body is over', 'child is done'])
    assert.equal(parent.state, 'dead')
  }))

test('S01 children die before their parents, however deep the tree', () =>
  virtual(function* () {
    const deaths: string[] = []
    const untap = tap((event, fiber) => {
      if (event === 'end') deaths.push(fiber.name)
    })
    function* level(depth: number): Generator<any, void, any> {
      if (depth > 0) spin(`level ${depth}`, level, depth - 1)
      yield* sleep()
    }
    const top = spin('level 5', level, 4)
    yield* sleep(1)
    yield* top.stop()
    untap()
    assert.deepEqual(deaths, ['level 1', 'level 2', 'level 3', 'level 4', 'level 5'])
  }))

test('S02 when a parent ends its children are stopped, then awaited', () =>
  virtual(function* () {
    const log: string[] = []
    const parent = spin(function* () {
      spin(function* forever() {
        try {
          for (;;) yield* sleep(10)
        } finally {
          log.push('stopped')
          yield* sleep(5)
          log.push('cleaned up')
        }
      })
      yield* sleep(25)
      log.push('parent ends')
      return 'its value'
    })
    assert.equal(yield* parent, 'its value')
    assert.deepEqual(log, ['parent ends', 'stopped', 'cleaned up'])
    assert.equal(now(), 30)
  }))

test('S02 a child that never had a turn is stopped with its parent, and runs no line', () =>
  virtual(function* () {
    let ran = false
    yield* spin(() => {
      spin(() => {
        ran = true
      })
    })
    yield* sleep(1)
    assert.equal(ran, false)
  }))

test('S02 a parent that fails stops its children too, and then fails', () =>
  virtual(function* () {
    const log: string[] = []
    const parent = spin({ link: false }, function* () {
      spin(function* () {
        try {
          yield* sleep()
        } finally {
          log.push('child stopped')
        }
      })
      yield* sleep(1)
      throw new Error('parent failed')
    })
    const outcome = yield* parent.join()
    assert.equal(outcome.type === 'error' && (outcome.error as Error).message, 'parent failed')
    assert.deepEqual(log, ['child stopped'])
  }))

test('S02 scope and joinChildren are the forms that wait for children instead', () =>
  virtual(function* () {
    const log: string[] = []
    const work = function* (name: string, ms: number) {
      yield* sleep(ms)
      log.push(name)
      return name
    }
    yield* scope(function* () {
      spin(work, 'slow', 20)
      spin(work, 'fast', 10)
    })
    assert.deepEqual(log, ['fast', 'slow'])
    yield* spin(function* () {
      spin(work, 'first', 2)
      spin(work, 'second', 1)
      assert.deepEqual(yield* Fiber.current.joinChildren(), [
        { type: 'value', value: 'first' },
        { type: 'value', value: 'second' },
      ])
    })
  }))

test('S03 the body goes first: its finally may still use its children', () =>
  virtual(function* () {
    const log: string[] = []
    const parent = spin(function* () {
      const writer = spin(function* () {
        try {
          for (;;) log.push(`wrote ${yield* receive()}`)
        } finally {
          log.push('writer stopped')
        }
      })
      try {
        yield* sleep()
      } finally {
        writer.send('goodbye')
        yield* sleep(10)
      }
    })
    yield* sleep(5)
    yield* parent.stop()
    assert.deepEqual(log, ['wrote goodbye', 'writer stopped'])
  }))

test('S03 children are asked to stop newest first', () =>
  virtual(function* () {
    const asked: string[] = []
    const parent = spin('parent', function* () {
      for (const name of ['oldest', 'middle', 'newest']) spin(name, () => sleep())
      yield* sleep(1)
    })
    const untap = tap((event, fiber) => {
      if (event === 'stop') asked.push(fiber.name)
    })
    yield* parent
    untap()
    assert.deepEqual(asked, ['newest', 'middle', 'oldest'])
  }))

test('S03 children clean up concurrently', () =>
  virtual(function* () {
    const parent = spin(function* () {
      for (let i = 0; i < 5; i++) {
        spin(function* () {
          try {
            yield* sleep()
          } finally {
            yield* sleep(100)
          }
        })
      }
      yield* sleep(1)
    })
    yield* parent
    assert.equal(now(), 101)
  }))

test('S03 children share one deadline: one grace period, not the sum', () =>
  virtual(function* () {
    const parent = spin({ grace: 1000 }, function* () {
      for (let i = 0; i < 5; i++) {
        spin(function* () {
          try {
            yield* sleep()
          } finally {
            yield* sleep()
          }
        })
      }
      yield* sleep(1)
    })
    yield* parent.join()
    assert.equal(now(), 1001)
  }))

test('S04 a finished child is forgotten by its parent at once, its handle is not', () =>
  virtual(function* () {
    const child = spin(() => 'kept by the handle')
    assert.deepEqual(Fiber.current.children, [child])
    yield* child.join()
    assert.deepEqual(Fiber.current.children, [])
    assert.equal(yield* child, 'kept by the handle')
    assert.deepEqual(child.outcome, { type: 'value', value: 'kept by the handle' })
  }))

test('S04 a million spins leave the heap flat', async () => {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as () => void
  await run(function* () {
    const rounds = function* (n: number) {
      for (let i = 0; i < n; i++) {
        spin(snooze)
        if (i % 1000 === 999) yield* Fiber.current.joinChildren()
      }
    }
    yield* rounds(10_000)
    gc()
    const before = process.memoryUsage().heapUsed
    yield* rounds(1_000_000)
    gc()
    const grown = process.memoryUsage().heapUsed - before
    assert.ok(grown < 2_000_000, `the heap grew by ${grown} bytes`)
  })
})

test('S05 spin returns the handle at once, and the body runs at a later turn', () =>
  virtual(function* () {
    const log: string[] = []
    const child = spin(
      'child',
      function* (a: number, b: number) {
        log.push(`ran with ${a} and ${b}`)
        return a + b
      },
      1,
      2,
    )
    assert.ok(child instanceof Fiber)
    assert.equal(child.name, 'child')
    assert.equal(child.state, 'runnable')
    log.push('spun')
    assert.equal(yield* child, 3)
    assert.deepEqual(log, ['spun', 'ran with 1 and 2'])
  }))

test('S05 the body is called at its first turn: default parameters and plain functions do not run in spin', () =>
  virtual(function* () {
    const log: string[] = []
    const noteDefault = () => {
      log.push('default parameter')
      return 'x'
    }
    const generator = spin(function* (x: string = noteDefault()) {
      return x
    })
    const plain = spin(() => log.push('plain function'))
    const thrower = spin({ link: false }, () => {
      throw new Error('from the first turn')
    })
    assert.deepEqual(log, [])
    yield* Fiber.await(generator, plain)
    assert.deepEqual(log.toSorted(), ['default parameter', 'plain function'])
    const outcome = yield* thrower.join()
    assert.equal(outcome.type, 'error')
  }))

test('S05 a fiber stopped before it starts never runs one line', () =>
  virtual(function* () {
    let ran = false
    const body = function* () {
      ran = true
      try {
        yield* sleep(1)
      } finally {
        ran = true
      }
    }
    const stopped = spin(body)
    const killed = spin(body)
    stopped.stop('never ran')
    killed.kill()
    assert.deepEqual(yield* stopped.join(), { type: 'stopped', value: 'never ran' })
    assert.deepEqual(yield* killed.join(), { type: 'stopped', value: undefined })
    assert.equal(yield* stopped, 'never ran')
    yield* sleep(10)
    assert.equal(ran, false)
  }))

test('S05 what the function object tells is thrown at the call', () =>
  virtual(function* () {
    const loose = spin as (body: unknown) => Fiber
    const before = Fiber.current.children.length
    assert.throws(() => loose(42), BadArgument)
    assert.throws(() => loose(undefined), BadArgument)
    assert.throws(() => loose(async () => {}), BadArgument)
    assert.throws(() => loose(async function* () {}), BadArgument)
    assert.equal(Fiber.current.children.length, before)
  }))

test('S05 a wrong return value fails the fiber at its first turn', () =>
  virtual(function* () {
    const loose = spin as (options: object, body: unknown) => Fiber
    const fiber = loose({ link: false }, () => Promise.resolve(1))
    const outcome = yield* fiber.join()
    assert.ok(outcome.type === 'error' && outcome.error instanceof BadArgument)
    assert.match(outcome.error.message, /until/)
  }))

test('S06 cleanup may spin; the child is stopped when the cleanup is over', () =>
  virtual(function* () {
    const log: string[] = []
    const parent = spin(function* () {
      try {
        yield* sleep()
      } finally {
        const helper = spin(function* () {
          yield* sleep(10)
          return 'helped'
        })
        spin(function* () {
          try {
            yield* sleep()
          } finally {
            log.push('the other was stopped')
          }
        })
        log.push(yield* helper)
      }
    })
    yield* sleep(1)
    assert.deepEqual(yield* parent.stop('v'), { type: 'stopped', value: 'v' })
    assert.deepEqual(log, ['helped', 'the other was stopped'])
    assert.equal(now(), 11)
  }))

test("S06 a child spun in cleanup inherits its parent's deadline", () =>
  virtual(function* () {
    const parent = spin({ grace: 100 }, function* () {
      try {
        yield* sleep()
      } finally {
        yield* sleep(40)
        spin({ grace: 10_000 }, function* () {
          try {
            yield* sleep()
          } finally {
            yield* sleep()
          }
        })
        yield* sleep(1) // lets it start
      }
    })
    yield* sleep(1)
    yield* parent.stop()
    assert.equal(now(), 101)
  }))

test('S06 in the forced phase spin throws', () =>
  virtual(function* () {
    const log: unknown[] = []
    const parent = spin(function* () {
      try {
        yield* sleep()
      } finally {
        try {
          spin(() => log.push('ran'))
        } catch (error) {
          log.push(error)
        }
      }
    })
    yield* sleep(1)
    yield* parent.kill()
    assert.equal(log.length, 1)
    assert.ok(log[0] instanceof BadState)
  }))

test('S06 nobody can spin under a fiber that is over', () =>
  virtual(function* () {
    const child = spin(() => 1)
    yield* child
    assert.throws(() => child.spin(() => 2), BadState)
  }))

test('S07 attachTo moves a live fiber: it lives and dies with its new parent', () =>
  virtual(function* () {
    const log: string[] = []
    const host = spin('host', () => sleep(50))
    const first = spin('first', function* () {
      const child = spin('child', function* () {
        try {
          yield* sleep()
        } finally {
          log.push(`child stopped at ${now()}`)
        }
      })
      yield* sleep(1)
      assert.equal(child.attachTo(host), child)
      assert.deepEqual(Fiber.current.children, [])
      assert.equal(child.parent, host)
    })
    yield* first
    assert.deepEqual(log, [])
    yield* host
    assert.deepEqual(log, ['child stopped at 50'])
  }))

test('S07 detach gives a fiber to the root, so that it outlives its parent', () =>
  virtual(function* () {
    const log: string[] = []
    yield* spin(function* parent() {
      yield* spin(function* nested() {
        spin(function* () {
          yield* sleep(30)
          log.push('outlived both')
        }).detach()
      })
    })
    assert.deepEqual(log, [])
    assert.equal(Fiber.current.children.length, 1)
    yield* Fiber.current.joinChildren()
    assert.deepEqual(log, ['outlived both'])
  }))

test('S07 a fiber can detach itself, also while its parent is already waiting for it to end', () =>
  virtual(function* () {
    const parent = spin(function* () {
      spin(function* () {
        try {
          yield* sleep()
        } finally {
          yield* sleep(10)
          Fiber.current.detach()
          yield* sleep(10)
        }
      })
      yield* sleep(1)
    })
    yield* parent
    assert.equal(now(), 11) // the parent was over once the child had left
    yield* Fiber.current.joinChildren()
    assert.equal(now(), 21)
  }))

test('S07 a fiber taken out of a scope is no longer waited for by it', () =>
  virtual(function* () {
    const long = yield* scope(function* () {
      const long = spin(() => sleep(100))
      spin(() => sleep(10))
      return long.detach()
    })
    assert.equal(now(), 10)
    yield* long
    assert.equal(now(), 100)
  }))

test('S07 a scope whose last child is taken away ends', () =>
  virtual(function* () {
    let child: Fiber | undefined
    spin(function* () {
      yield* sleep(10)
      child?.detach()
    })
    yield* scope(function* () {
      child = spin(() => sleep(100))
    })
    assert.equal(now(), 10)
    yield* (child as Fiber).stop()
  }))

test('S07 the error of an attached fiber goes to its new parent', () =>
  virtual(function* () {
    const host = spin({ name: 'host', link: false }, function* () {
      try {
        yield* sleep()
        return 'not reached'
      } catch (error) {
        return `caught ${(error as Error).message}`
      }
    })
    const child = spin(function* () {
      yield* sleep(5)
      throw new Error('oops')
    })
    child.attachTo(host)
    assert.equal(yield* host, 'caught oops')
  }))

test('S07 a cycle throws, and nothing moves', () =>
  virtual(function* () {
    const main = Fiber.current
    let grandchild: Fiber | undefined
    const child = spin(function* () {
      grandchild = spin(() => sleep(10))
      yield* grandchild
    })
    yield* sleep(1)
    const inner = grandchild as Fiber
    assert.throws(() => child.attachTo(inner), BadState)
    assert.throws(() => child.attachTo(child), BadState)
    assert.throws(() => main.attachTo(inner), BadState)
    assert.equal(child.parent, main)
    assert.equal(inner.parent, child)
    yield* child
  }))

test('S07 a dead fiber cannot be moved, and a dead fiber takes no children', () =>
  virtual(function* () {
    const dead = spin(() => 1)
    yield* dead
    const alive = spin(() => sleep(10))
    assert.throws(() => dead.attachTo(alive), BadState)
    assert.throws(() => alive.attachTo(dead), BadState)
    assert.equal(alive.parent, Fiber.current)
    yield* alive
  }))

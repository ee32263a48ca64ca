// S84, where fibers are concerned: who owns an executor, what its end takes along, and what handlers leave behind.

import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { describe, it } from 'node:test'
import {
  after,
  createLocal,
  Event,
  Fiber,
  FiberStopped,
  now,
  type Routine,
  receive,
  run,
  scope,
  sleep,
  spin,
  suspend,
  tryReceive,
  until,
  use,
} from 'polyphony'
import { type Future, Killed, NotRunning, Proco } from 'polyphony/proco'
import { leaks, virtual } from 'polyphony/testing'
import { thrownBy, turn } from '../prelude.js'
import { clock } from '../time/clock.js'

/** Names of all fibers alive in this world. */
function names(): string[] {
  const { roots } = (Fiber.current as any).runtime as { roots: Set<Fiber> }
  const withChildren = (fiber: Fiber): string[] => [fiber.name, ...fiber.children.flatMap(withChildren)]
  return [...roots].flatMap(withChildren)
}

/** What the runtime of this world was told to report. */
function reports(kind: string): string[] {
  const all: { kind: string; message: string }[] = (Fiber.current as any).runtime.backend.reports
  return all.filter((report) => report.kind === kind).map(({ message }) => message)
}

describe('S84 an executor started in a fiber', () => {
  it('is over when the fiber is: what is left is handled first, if that has ended in order', () =>
    virtual(function* () {
      const proco = Proco.new<number, number>()
      const futures: Future<number>[] = []
      yield* spin(function* () {
        proco.start(function* (n) {
          yield* sleep(10)
          return n
        })
        for (const n of [1, 2, 3]) futures.push(yield* proco.submitAsync(n))
        yield* sleep(15)
      })
      assert.deepEqual(
        futures.map((future) => future.state),
        ['done', 'done', 'done'],
      )
      assert.equal(proco.state, 'idle')
      assert.equal(now(), 30)
    }))

  it('is over when the fiber is: if that was stopped, or has failed, what is left is killed', () =>
    virtual(function* () {
      for (const end of ['stopped', 'failed']) {
        const proco = Proco.new<number, number>()
        const futures: Future<number>[] = []
        const owner = spin({ link: false }, function* () {
          proco.start(function* (n) {
            yield* sleep(10)
            return n
          })
          for (const n of [1, 2, 3]) futures.push(yield* proco.submitAsync(n))
          yield* sleep(15)
          if (end === 'failed') throw new Error('no more')
          yield* sleep(15)
        })
        if (end === 'stopped') after(15, () => owner.stop())
        yield* owner.join()
        assert.deepEqual(
          futures.map((future) => future.state),
          ['done', 'cancelled', 'cancelled'],
        )
        assert.equal(proco.state, 'idle')
        assert.ok((yield* thrownBy(futures[1]!.get())) instanceof Killed)
        assert.deepEqual(proco.stats().cancelled, 2)
      }
    }))

  it('is over when the scope is: if that has failed, what is left is killed', () =>
    virtual(function* () {
      const proco = Proco.new<number, void>()
      let future!: Future<void>
      const error = yield* thrownBy(
        scope(function* () {
          proco.start(() => sleep(10))
          future = yield* proco.submitAsync(1)
          throw new Error('no more')
        }),
      )
      assert.equal((error as Error).message, 'no more')
      assert.equal(future.state, 'cancelled')
    }))

  it('an owner does not fail because somebody kills its executor while that handles the rest', () =>
    virtual(function* () {
      const proco = Proco.new<number, void>()
      let future!: Future<void>
      after(10, () => proco.kill())
      yield* scope(function* () {
        proco.start(() => sleep(1000))
        future = yield* proco.submitAsync(1)
      })
      assert.equal(now(), 10)
      assert.equal(future.state, 'cancelled')
    }))

  it('an owner that is stopped while its executor handles the rest gives it its grace, and then kills it', () =>
    virtual(function* () {
      let future!: Future<void>
      const owner = spin({ grace: 100 }, function* () {
        const proco = Proco.new<number, void>().start(() => sleep(1000))
        future = yield* proco.submitAsync(1)
      })
      yield* sleep(10)
      owner.stop()
      yield* owner.join()
      assert.equal(now(), 110)
      assert.equal(future.state, 'cancelled')
    }))

  it('is over when the scope is, not with the fiber; after the children there, which may still submit', () =>
    virtual(function* () {
      const proco = Proco.new<string, string>()
      const log: string[] = []
      yield* scope(function* () {
        proco.start(function* (text) {
          yield* sleep(1)
          return `${text}!`
        })
        spin(function* () {
          yield* sleep(10)
          log.push(yield* proco.submit('child of the scope'))
        })
      })
      assert.deepEqual(log, ['child of the scope!'])
      assert.equal(proco.state, 'idle')
      assert.ok((yield* thrownBy(proco.submit('late'))) instanceof NotRunning)
    }))

  it('a stopped child still gets its answers in its cleanup: the executor ends after it', () =>
    virtual(function* () {
      const proco = Proco.new<string, string>()
      const log: string[] = []
      yield* spin(function* () {
        proco.start((text) => `${text}!`)
        spin(function* () {
          try {
            yield* suspend()
          } finally {
            log.push(yield* proco.submit('goodbye'))
          }
        })
        yield* sleep(1)
      })
      assert.deepEqual(log, ['goodbye!'])
    }))

  it('handlers have time for cleanup when the owner is stopped', () =>
    virtual(function* () {
      const log: string[] = []
      let future!: Future<void>
      const owner = spin(function* () {
        const proco = Proco.new<number, void>().start(function* () {
          try {
            yield* sleep(1000)
          } finally {
            yield* sleep(5)
            log.push('cleaned up')
          }
        })
        future = yield* proco.submitAsync(1)
        yield* sleep()
      })
      yield* sleep(10)
      const time = clock()
      owner.stop()
      yield* owner.join()
      assert.equal(time(), 5)
      assert.deepEqual(log, ['cleaned up'])
      assert.equal(future.state, 'cancelled')
    }))

  it('an owner that is stopped while it drains: the rest is killed, nothing is left open', () =>
    virtual(function* () {
      const proco = Proco.new<number, number>()
      const futures: Future<number>[] = []
      const owner = spin(function* () {
        proco.start(function* (n) {
          yield* sleep(10)
          return n
        })
        for (const n of [1, 2, 3]) futures.push(yield* proco.submitAsync(n))
        yield* proco.exit()
      })
      const other = spin(function* () {
        yield* sleep(1)
        return yield* thrownBy(proco.exit())
      })
      yield* sleep(15)
      assert.equal(proco.state, 'draining')
      yield* owner.stop()
      assert.deepEqual(
        futures.map((future) => future.state),
        ['done', 'cancelled', 'cancelled'],
      )
      assert.equal(proco.state, 'idle')
      assert.ok((yield* other) instanceof Killed)
    }))

  it('who stops waiting for exit does not stop the exit', () =>
    virtual(function* () {
      const proco = Proco.new<number, number>().start(function* (n) {
        yield* sleep(10)
        return n
      })
      const future = yield* proco.submitAsync(1)
      const exiting = spin(() => proco.exit())
      yield* sleep(1)
      yield* exiting.stop()
      assert.equal(proco.state, 'draining')
      yield* proco.exit()
      assert.equal(future.state, 'done')
    }))

  it('use() exits it at the end of the block: everything is handled', () =>
    virtual(function* () {
      const done: number[] = []
      const time = clock()
      const proco = Proco.new<number, void>()
      yield* scope(function* () {
        proco.start(function* (n) {
          yield* sleep(10)
          done.push(n)
        })
        yield* use(proco)
        for (const n of [1, 2, 3]) yield* proco.submitAsync(n)
      })
      assert.deepEqual(done, [1, 2, 3])
      assert.equal(time(), 30)
      assert.equal(proco.state, 'idle')
    }))

  it('use() of one that is killed, or was never started, is as well', () =>
    virtual(function* () {
      yield* scope(function* () {
        yield* use(Proco.new())
        const proco = Proco.new().start(() => {})
        yield* use(proco)
        proco.kill()
      })
    }))

  it('ended early, it is forgotten by its owner; started again elsewhere, it belongs there', () =>
    virtual(function* () {
      const proco = Proco.new<number, number>()
      yield* scope(function* () {
        proco.start((n) => n)
        yield* proco.exit()
        yield* scope(function* () {
          proco.start((n) => n * 2)
          assert.equal(yield* proco.submit(1), 2)
        })
        assert.equal(proco.state, 'idle')
      })
      const outer = spin(function* () {
        proco.start((n) => n * 3)
        yield* sleep(10)
      })
      yield* sleep(1)
      assert.equal(yield* proco.submit(1), 3)
      yield* outer
      assert.equal(proco.state, 'idle')
    }))

  it('a thousand executors of one owner leave nothing in it', () =>
    virtual(function* () {
      const proco = Proco.new<number, number>()
      for (let n = 0; n < 1000; n++) {
        proco.start((m) => m)
        assert.equal(yield* proco.submit(n), n)
        if (n % 2 === 0) yield* proco.exit()
        else proco.kill()
      }
      yield* sleep(1)
      assert.deepEqual(names(), ['main'])
      assert.equal((Fiber.current as any).cold?.cleanups ?? null, null)
    }))

  it('shows in the tree with its name, and what it waits for', () =>
    virtual(function* () {
      const proco = Proco.threads(2)
        .new<number>({ name: 'mill' })
        .start(() => sleep(10))
      for (const n of [1, 2, 3]) yield* proco.submitAsync(n)
      yield* sleep(1)
      assert.deepEqual(names(), ['main', 'mill', 'mill[0]', 'mill[1]'])
      yield* proco.exit()
      assert.deepEqual(names(), ['main'])
    }))

  it('kill stops handlers without time for cleanup that waits, and start works at once', () =>
    virtual(function* () {
      const log: string[] = []
      const proco = Proco.new<string, string>().start(function* (text) {
        try {
          yield* sleep(100)
          return text
        } finally {
          log.push('begin')
          yield* sleep(5)
          log.push('never')
        }
      })
      const future = yield* proco.submitAsync('old')
      yield* sleep(1)
      proco.kill()
      proco.start((text) => `new ${text}`)
      assert.equal(yield* proco.submit('item'), 'new item')
      yield* sleep(10)
      assert.deepEqual(log, ['begin'])
      assert.equal(future.state, 'cancelled')
      assert.equal(proco.state, 'running')
      yield* proco.exit()
    }))

  it('a handler may kill its own executor: its item is killed like all others, and it is stopped', () =>
    virtual(function* () {
      const log: string[] = []
      const proco = Proco.new<number, void>().start(function* () {
        proco.kill()
        log.push('after kill')
        yield* sleep(1)
        log.push('never')
      })
      const futures = [proco.trySubmit(1)!, proco.trySubmit(2)!]
      assert.ok((yield* thrownBy(futures[0]!.get())) instanceof Killed)
      assert.equal(futures[1]!.state, 'cancelled')
      yield* sleep(5)
      assert.deepEqual(log, ['after kill'])
    }))

  it('the host stopped by somebody: every item is killed, and it can be started again', () =>
    virtual(function* () {
      let host!: Fiber
      const proco = Proco.new<number, void>().start(function* () {
        host = Fiber.current.parent as Fiber
        yield* sleep(100)
      })
      const futures = [proco.trySubmit(1)!, proco.trySubmit(2)!]
      yield* sleep(1)
      yield* host.stop()
      assert.deepEqual(
        futures.map((future) => future.state),
        ['cancelled', 'cancelled'],
      )
      assert.equal(proco.state, 'idle')
      proco.start(() => {})
      yield* proco.exit()
    }))
})

describe('S84 an executor started in plain async code', () => {
  it('belongs to nobody: await using exits it', async () => {
    const before = leaks().fibers
    const done: number[] = []
    const proco = Proco.new<number, void>()
    {
      // The same as `await using`, which this compiler target writes as a helper.
      await using started = proco.start(async (n) => void done.push(n))
      for (const n of [1, 2, 3]) await started.submitAsync(n)
    }
    assert.deepEqual(done, [1, 2, 3])
    assert.equal(proco.state, 'idle')
    assert.equal(leaks().fibers, before)
  })

  it('takes items from fibers as well, and one started in a fiber from async code', async () => {
    const proco = Proco.new<number, number>().start(function* (n) {
      return n * 2
    })
    assert.equal(await run(() => proco.submit(4)), 8)
    await proco.exit()
    const inFiber = Proco.new<number, number>()
    await run(function* () {
      inFiber.start(async (n) => n * 3)
      assert.equal(yield* until((async () => await inFiber.submit(4))()), 12)
    })
    assert.equal(inFiber.state, 'idle')
  })

  it('a fiber that ends takes nothing of it along', async () => {
    const proco = Proco.new<number, number>().start((n) => n)
    await run(() => proco.submit(1))
    assert.equal(proco.state, 'running')
    assert.equal(await proco.submit(2), 2)
    await proco.exit()
  })

  it('then, catch and finally are those of a promise', async () => {
    const proco = Proco.new<number, number>().start((n) => {
      if (n < 0) throw new RangeError('below')
      return n
    })
    const log: unknown[] = []
    assert.equal(
      await proco
        .submit(1)
        .then((n) => n + 1)
        .catch(() => 0),
      2,
    )
    assert.equal(await proco.submit(-1).catch((error) => error.message), 'below')
    assert.equal(
      await proco
        .submit(3)
        .finally(() => log.push('ended'))
        .then((n) => n * 2),
      6,
    )
    await assert.rejects(
      proco.submit(-2).finally(() => log.push('ended')),
      RangeError,
    )
    assert.deepEqual(await Promise.all([proco.submit(5), proco.submit(6)]), [5, 6])
    assert.deepEqual(log, ['ended', 'ended'])
    await proco.exit()
  })

  it('a future is not thenable: awaiting it gives the future itself', async () => {
    const proco = Proco.new<number, number>().start((n) => n)
    const future = await proco.submitAsync(1)
    assert.equal('then' in future, false)
    assert.equal(await (future as unknown), future)
    assert.equal(await future.get(), 1)
    await proco.exit()
  })

  it('a failed item that nobody looks at is no unhandled rejection', async () => {
    const unhandled: unknown[] = []
    const listen = (error: unknown) => unhandled.push(error)
    process.on('unhandledRejection', listen)
    const proco = Proco.new<number, number>().start(async () => {
      throw new Error('nobody looks')
    })
    const futures = [await proco.submitAsync(1), proco.trySubmit(2)]
    const killed = Proco.new<number>().start(() => new Promise(() => {}))
    await killed.submitAsync(1)
    killed.kill()
    await proco.exit()
    await new Promise((resolve) => setImmediate(resolve))
    process.off('unhandledRejection', listen)
    assert.deepEqual(unhandled, [])
    assert.equal(futures[0]!.state, 'failed')
  })
})

describe('S84 what a handler leaves behind', () => {
  it('children are stopped before the next item of that handler, locals and messages are gone', () =>
    virtual(function* () {
      const name = createLocal('nobody')
      const log: unknown[] = []
      const proco = Proco.new<string, unknown>().start(function* (text) {
        log.push([text, name.get(), tryReceive(), Fiber.current.children.length])
        name.set(text)
        Fiber.current.send(`to ${text}`)
        spin(function* () {
          try {
            yield* sleep(100)
          } finally {
            log.push(`child of ${text} stopped`)
          }
        })
        yield* sleep(1)
        return text
      })
      const futures = [proco.trySubmit('a')!, proco.trySubmit('b')!]
      for (const future of futures) yield* future.get()
      yield* proco.exit()
      assert.deepEqual(log, [
        ['a', 'nobody', undefined, 0],
        'child of a stopped',
        ['b', 'nobody', undefined, 0],
        'child of b stopped',
      ])
    }))

  it('a child that fails while the handler runs fails the item (S24)', () =>
    virtual(function* () {
      const proco = Proco.new<number, number>().start(function* (n) {
        if (n === 1) {
          spin(function* () {
            yield* sleep(1)
            throw new Error('in a child')
          })
        }
        yield* sleep(5)
        return n
      })
      assert.match((yield* thrownBy(proco.submit(1))).message, /in a child/)
      assert.equal(yield* proco.submit(2), 2)
      yield* proco.exit()
    }))

  /** Leaves a child behind whose cleanup fails, with the first item. */
  function* careless(n: number): Routine<number> {
    if (n > 1) return n
    spin(function* () {
      try {
        yield* sleep(100)
      } finally {
        // biome-ignore lint/correctness/noUnsafeFinally: that is the point
        throw new Error('in the cleanup')
      }
    })
    yield* sleep(1)
    return n
  }

  it('S78 S82 a child whose cleanup fails after the result is reported, and harms no other item', () =>
    virtual(function* () {
      const proco = Proco.new<number, number>().start(careless)
      const futures = [proco.trySubmit(1)!, proco.trySubmit(2)!]
      assert.equal(yield* futures[0]!.get(), 1)
      assert.equal(yield* futures[1]!.get(), 2)
      yield* proco.exit()
      const [message, ...more] = reports('unobserved')
      assert.match(message!, /^proco: a handler failed when all its items had an outcome: .*in the cleanup/)
      assert.deepEqual(more, [])
    }))

  it('S82 where there is a logger, it is told instead; also when the cleanup of a cancelled handler fails', () =>
    virtual(function* () {
      const logged: string[] = []
      const logger = { debug() {}, info() {}, warn() {}, error: (message: string) => logged.push(message) }
      const proco = Proco.logger(logger)
        .new<number, number>()
        .start(function* (n) {
          if (n < 3) return yield* careless(n)
          try {
            yield* sleep(100)
          } finally {
            // biome-ignore lint/correctness/noUnsafeFinally: that is the point
            throw new Error('after the cancel')
          }
        })
      assert.equal(yield* proco.submit(1), 1)
      const future = yield* proco.submitAsync(3)
      yield* sleep(1)
      future.cancel()
      assert.equal(yield* proco.submit(2), 2)
      yield* proco.exit()
      assert.deepEqual(reports('unobserved'), [])
      assert.equal(logged.length, 2)
      assert.match(logged[0]!, /in the cleanup/)
      assert.match(
        logged[1]!,
        /^proco: a handler failed when all its items had an outcome: .*after the cancel/,
      )
    }))

  it('a raise that comes too late for its handler harms nobody', () =>
    virtual(function* () {
      const proco = Proco.new<number, number>().start((n) => {
        if (n === 1) Fiber.current.raise(new Error('too late'))
        if (n === 2) Fiber.current.cancel()
        return n
      })
      const futures = [1, 2, 3].map((n) => proco.trySubmit(n)!)
      for (const [n, future] of futures.entries()) assert.equal(yield* future.get(), n + 1)
      yield* proco.exit()
      assert.equal(reports('unobserved').length, 2)
    }))

  it("a handler's fiber stopped by the user: the item fails with FiberStopped, the next is handled", () =>
    virtual(function* () {
      const fibers: Fiber[] = []
      const proco = Proco.new<number, number>().start(function* (n) {
        fibers.push(Fiber.current)
        yield* sleep(10)
        return n
      })
      const futures = [1, 2].map((n) => proco.trySubmit(n)!)
      yield* sleep(1)
      yield* fibers[0]!.stop()
      const error = yield* thrownBy(futures[0]!.get())
      assert.ok(error instanceof FiberStopped)
      assert.match(error.message, /proco\[0\] was stopped while it handled this item/)
      assert.equal(yield* futures[1]!.get(), 2)
      yield* proco.exit()
      assert.deepEqual([proco.stats().failed, proco.stats().done], [1, 1])
    }))

  it("a handler's fiber killed, or raised in, by the user: the same", () =>
    virtual(function* () {
      const fibers: Fiber[] = []
      const proco = Proco.new<number, number>().start(function* (n) {
        fibers.push(Fiber.current)
        yield* sleep(10)
        return n
      })
      const futures = [1, 2, 3].map((n) => proco.trySubmit(n)!)
      yield* sleep(1)
      fibers[0]!.kill()
      assert.ok((yield* thrownBy(futures[0]!.get())) instanceof FiberStopped)
      yield* sleep(1)
      fibers[1]!.raise(new RangeError('from outside'))
      assert.ok((yield* thrownBy(futures[1]!.get())) instanceof RangeError)
      assert.equal(yield* futures[2]!.get(), 3)
      yield* proco.exit()
    }))

  it("a handler's fiber restarted by the user: the item fails, and the fiber goes on with the next", () =>
    virtual(function* () {
      const fibers: Fiber[] = []
      const proco = Proco.new<number, number>().start(function* (n) {
        fibers.push(Fiber.current)
        yield* sleep(10)
        return n
      })
      const futures = [1, 2, 3].map((n) => proco.trySubmit(n)!)
      yield* sleep(1)
      fibers[0]!.restart()
      const error = yield* thrownBy(futures[0]!.get())
      assert.ok(error instanceof FiberStopped, String(error))
      assert.match(error.message, /was restarted while it handled this item/)
      assert.equal(yield* futures[1]!.get(), 2)
      assert.equal(yield* futures[2]!.get(), 3)
      yield* proco.exit()
      assert.deepEqual([proco.stats().failed, proco.stats().done], [1, 2])
    }))

  it('a resting worker stopped or killed by the user is replaced', () =>
    virtual(function* () {
      const fibers: Fiber[] = []
      const proco = Proco.new<number, number>().start((n) => {
        fibers.push(Fiber.current)
        return n
      })
      assert.equal(yield* proco.submit(1), 1)
      yield* sleep(1)
      yield* fibers[0]!.stop()
      assert.equal(yield* proco.submit(2), 2)
      yield* sleep(1)
      fibers.at(-1)!.kill()
      assert.equal(yield* proco.submit(3), 3)
      yield* sleep(1)
      fibers.at(-1)!.raise('while it rests')
      assert.equal(yield* proco.submit(4), 4)
      yield* proco.exit()
    }))

  it('a handler that stops its own fiber and returns has returned', () =>
    virtual(function* () {
      const proco = Proco.new<number, number>().start((n) => {
        Fiber.current.stop()
        return n
      })
      const futures = [1, 2, 3].map((n) => proco.trySubmit(n)!)
      for (const [n, future] of futures.entries()) assert.equal(yield* future.get(), n + 1)
      yield* proco.exit()
    }))

  it('a handler that receives gets only what was sent to it, and is stopped with its item', () =>
    virtual(function* () {
      let fiber!: Fiber
      const proco = Proco.new<number, unknown>().start(function* () {
        fiber = Fiber.current
        return yield* receive()
      })
      const first = yield* proco.submitAsync(1)
      yield* sleep(1)
      fiber.send('hello')
      assert.equal(yield* first.get(), 'hello')
      const second = yield* proco.submitAsync(2)
      yield* sleep(1)
      second.cancel()
      yield* proco.exit()
    }))
})

describe('S84 S56 what handlers know of who started them', () => {
  it('locals of the moment of the start', () =>
    virtual(function* () {
      const user = createLocal('nobody')
      const proco = Proco.new<number, string>()
      yield* user.with('ada', function* () {
        yield* scope(function* (): Routine<void> {
          proco.start(() => user.get())
          user.set('later')
          assert.equal(yield* proco.submit(1), 'ada')
        })
      })
      proco.start(() => user.get())
      assert.equal(yield* user.with('who submits', () => proco.submit(1)), 'nobody')
      yield* proco.exit()
    }))

  it('the async context, if the fiber that started it carries one', () =>
    run(function* () {
      const storage = new AsyncLocalStorage<string>()
      const seen = (): unknown => storage.getStore()
      const starts = storage.run('starter', () =>
        spin({ context: true }, function* () {
          const proco = Proco.new<number, unknown>().start(function* () {
            const before = seen()
            yield* turn()
            return [before, seen()]
          })
          const results = [yield* proco.submit(1), yield* proco.submit(2)]
          yield* proco.exit()
          const inAsync = Proco.new<number, unknown>().start(async () => seen())
          results.push((yield* inAsync.submit(1)) as any)
          yield* inAsync.exit()
          return results
        }),
      )
      assert.deepEqual(yield* starts, [['starter', 'starter'], ['starter', 'starter'], 'starter'])
      const plain = Proco.new<number, unknown>().start(() => seen())
      assert.equal(yield* storage.run('who submits', () => plain.submit(1)), undefined)
      yield* plain.exit()
    }))

  it('the grace of who started it', () =>
    virtual(function* () {
      const proco = Proco.new<number, void>()
      const owner = spin({ grace: 20 }, function* () {
        proco.start(function* () {
          try {
            yield* sleep(100)
          } finally {
            yield* sleep(1000)
          }
        })
        yield* proco.submitAsync(1)
        yield* sleep()
      })
      yield* sleep(1)
      const time = clock()
      yield* owner.stop()
      assert.equal(time(), 20)
    }))
})

it('S84 a handler that waits for an event of its submitter is no deadlock', () =>
  virtual(function* () {
    const event = new Event()
    const proco = Proco.new<Event, string>().start(function* (wanted) {
      yield* wanted.await()
      return 'came'
    })
    const future = yield* proco.submitAsync(event)
    yield* sleep(1)
    event.signal()
    assert.equal(yield* future.get(), 'came')
    yield* proco.exit()
  }))

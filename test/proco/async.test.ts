// Handlers that are async functions: they cannot be stopped, so what becomes of their place, their answers and their errors
// is told here; and what async code gets: promises, which have begun.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { describe, it } from 'node:test'
import {
  all,
  createLocal,
  errorFiber,
  Fiber,
  NotInFiber,
  type Op,
  run,
  scope,
  sleep,
  snooze,
} from 'polyphony'
import { type Executor, Killed, Proco } from 'polyphony/proco'
import { leaks, virtual } from 'polyphony/testing'
import { thrownBy } from '../prelude.js'
import { addUp } from '../shared/proco.js'
import { clock } from '../time/clock.js'

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

/** An async handler whose calls end when they are told to. */
function held() {
  const calls: { item: string; end: (result: string) => void; fail: (error: Error) => void }[] = []
  let running = 0
  let most = 0
  const handler = async (item: string): Promise<string> => {
    most = Math.max(most, ++running)
    try {
      return await new Promise<string>((end, fail) => calls.push({ item, end, fail }))
    } finally {
      running--
    }
  }
  /** Until it was called so often. */
  const called = async (times: number): Promise<void> => {
    for (let turns = 0; calls.length < times; turns++) {
      assert.ok(turns < 100, `called ${calls.length} times, not ${times}`)
      await turn()
    }
  }
  return { calls, called, handler, most: () => most }
}

describe('S82 S84 an async handler', () => {
  it('S80 runs at most `threads` times at once, and takes the items in order', async () => {
    const { calls, called, handler, most } = held()
    const proco = Proco.threads(2).new<string, string>().start(handler)
    const futures = ['a', 'b', 'c', 'd'].map((item) => proco.trySubmit(item)!)
    for (let n = 0; n < 4; n++) {
      await called(n + 1)
      assert.ok(proco.stats().running <= 2)
      calls[n]!.end(`${calls[n]!.item}!`)
      assert.equal(await futures[n]!.get(), ['a!', 'b!', 'c!', 'd!'][n])
    }
    await proco.exit()
    assert.equal(most(), 2)
  })

  it('that was killed may still answer, or fail: nobody hears of it, and the next run is untouched', async () => {
    const unhandled: unknown[] = []
    const listen = (error: unknown) => unhandled.push(error)
    process.on('unhandledRejection', listen)
    const { calls, called, handler } = held()
    const proco = Proco.threads(2).new<string, string>().start(handler)
    const old = ['a', 'b'].map((item) => proco.trySubmit(item)!)
    await called(2)
    proco.kill()
    proco.start(handler)
    const future = proco.trySubmit('c')!
    await called(3)
    calls[0]!.end('late')
    calls[1]!.fail(new Error('late'))
    await turn()
    assert.equal(future.state, 'running')
    assert.deepEqual([proco.stats().done, proco.stats().failed, proco.stats().running], [0, 0, 1])
    calls[2]!.end('c!')
    assert.equal(await future.get(), 'c!')
    for (const each of old) await assert.rejects(each.get().finally(), Killed)
    await proco.exit()
    process.off('unhandledRejection', listen)
    assert.deepEqual(unhandled, [])
  })

  it('whose item was cancelled gives its place to the next, and its late answer settles nothing', async () => {
    const { calls, called, handler } = held()
    const proco = Proco.new<string, string>().start(handler)
    const [first, second] = [proco.trySubmit('a')!, proco.trySubmit('b')!]
    await called(1)
    first.cancel()
    await called(2)
    calls[0]!.end('late')
    await turn()
    assert.deepEqual([first.state, second.state], ['cancelled', 'running'])
    calls[1]!.end('b!')
    assert.equal(await second.get(), 'b!')
    await proco.exit()
    addUp(proco.stats())
  })

  it('may kill its own executor, and cancel its own item', async () => {
    const proco: Executor<string, string> = Proco.new<string, string>().start(async (item) => {
      if (item === 'cancel') future?.cancel()
      else proco.kill()
      return 'too late'
    })
    let future = proco.trySubmit('cancel')
    await assert.rejects(future!.get().finally(), { code: 'CANCEL' })
    future = proco.trySubmit('kill')
    const queued = proco.trySubmit('queued')!
    await assert.rejects(future!.get().finally(), Killed)
    await assert.rejects(queued.get().finally(), Killed)
    assert.equal(proco.state, 'idle')
    await proco[Symbol.asyncDispose]()
  })

  it('that is killed, with many in its queue: nothing is left of it', async () => {
    const before = leaks()
    const { handler } = held()
    const proco = Proco.queueSize(100).threads(4).new<string, string>().start(handler)
    const futures = Array.from({ length: 100 }, (_, n) => proco.trySubmit(String(n))!)
    await turn()
    proco.kill()
    assert.ok(futures.every((future) => future.state === 'cancelled'))
    await proco[Symbol.asyncDispose]()
    assert.deepEqual(
      [leaks().fibers, leaks().timers, leaks().pendingOps],
      [before.fibers, before.timers, before.pendingOps],
    )
  })

  it('keeps its interval, and its keys', () =>
    virtual(function* () {
      const log: [number, number[]][] = []
      const time = clock()
      const proco = Proco.interval(100)
        .batch(true)
        .new<number, void>()
        .start(async (items) => void log.push([time(), items]))
      for (const n of [1, 2, 3]) {
        proco.trySubmit(n, { key: 'k' })
        yield* sleep(60)
      }
      yield* sleep(100)
      assert.deepEqual(log, [
        [100, [1, 2]],
        [200, [3]],
      ])
      yield* proco.exit()
    }))
})

describe('S84 who ends an executor', () => {
  it('and disposes of it after a kill, waits until its handlers are gone', () =>
    virtual(function* () {
      const log: string[] = []
      const proco = Proco.new<number, void>().start(function* () {
        try {
          yield* sleep(100)
        } finally {
          log.push('handler ended')
        }
      })
      proco.trySubmit(1)
      yield* sleep(1)
      proco.kill()
      assert.deepEqual(log, [])
      yield* proco[Symbol.asyncDispose]()
      assert.deepEqual(log, ['handler ended'])
    }))

  it('an executor of a scope that ends in order handles what is left, also if its handler is async', () =>
    virtual(function* () {
      const done: number[] = []
      yield* scope(function* () {
        const proco = Proco.new<number, void>().start(async (n) => {
          await turn()
          done.push(n)
        })
        for (const n of [1, 2, 3]) proco.trySubmit(n)
        yield* snooze()
      })
      assert.deepEqual(done, [1, 2, 3])
    }))
})

it('S82 an error of a handler knows the fiber it came from', () =>
  virtual(function* () {
    const proco = Proco.new<number>({ name: 'mill' }).start(() => {
      throw new Error('x')
    })
    const error = yield* thrownBy(proco.submit(1))
    assert.equal(errorFiber(error)?.name, 'mill[0]')
    yield* proco.exit()
  }))

it('S56 an async handler runs in no fiber, so it sees no locals', () =>
  virtual(function* () {
    const user = createLocal('nobody')
    yield* user.with('ada', () =>
      scope(function* () {
        const proco = Proco.new<number, string>().start(async () => {
          assert.throws(() => Fiber.current, NotInFiber)
          return user.get()
        })
        assert.equal(yield* proco.submit(1), 'nobody')
      }),
    )
  }))

it('S83 in a fiber nothing begins before it is waited for', () =>
  virtual(function* () {
    const proco = Proco.new<number, number>().start((n) => n)
    const ops = [proco.submit(1), proco.submitAsync(2), proco.exit()]
    yield* sleep(1)
    assert.deepEqual([proco.stats().accepted, proco.state], [0, 'running'])
    for (const op of ops) yield* op as Op<unknown>
    assert.deepEqual([proco.stats().accepted, proco.state], [2, 'idle'])
  }))

it('S83 in async code it is a promise, and begins at the call', async () => {
  const items: number[] = []
  const proco = Proco.new<number, number>().start((n) => items.push(n))
  proco.submit(1)
  const promise = proco.submit(2)
  assert.ok(promise instanceof Promise)
  assert.equal(Object.prototype.toString.call(promise), '[object Promise]')
  proco.submitAsync(3)
  assert.equal(proco.stats().accepted, 3)
  assert.ok(proco.trySubmit(4)?.get() instanceof Promise)
  const exit = proco.exit()
  assert.equal(proco.state, 'draining')
  await exit
  assert.deepEqual(items, [1, 2, 3, 4])
  assert.equal(await promise, 2)
})

it('S83 what was begun in async code can be waited for in a fiber', async () => {
  const proco = Proco.new<number, number>().start(async (n) => {
    if (n === 0) throw new Error('nothing')
    return n
  })
  const [fine, bad] = [proco.submit(1), proco.submit(0)]
  bad.catch(() => {}) // it is waited for later
  await run(function* () {
    assert.equal(yield* fine, 1)
    assert.deepEqual(yield* all([fine, fine]), [1, 1])
    assert.equal(((yield* thrownBy(bad)) as Error).message, 'nothing')
  })
  await proco.exit()
})

it('S83 an error of a promise that nobody handles is an unhandled rejection, as with any promise', () => {
  const program = `
    import { Proco } from 'polyphony/proco'
    const proco = Proco.new().start((what) => { throw new Error(what) })
    await proco.submitAsync('of a future that nobody looks at')
    proco.submit('of a promise')
    await proco.exit()
    setTimeout(() => console.log('not reached'))`
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program])
  assert.deepEqual([status, String(stdout)], [1, ''])
  assert.match(String(stderr), /Error: of a promise/)
})

// S78, S79, S82, S83: items that are not waited for any more, by cancel(), by a signal, by a time-out, by a stop.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Cancel, Fiber, moveOnAfter, race, scope, sleep, snooze, spin, TimedOut, until } from 'polyphony'
import { type Future, Killed, Proco, type Work } from 'polyphony/proco'
import { virtual } from 'polyphony/testing'
import { thrownBy } from '../prelude.js'
import { addUp } from '../shared/proco.js'
import { clock } from '../time/clock.js'

/** One that takes so many milliseconds for an item, and says what it began and ended. */
function slow(ms: number, template = Proco.queueSize(1)) {
  const log: string[] = []
  const proco = template.new<string, string>().start(function* (item) {
    log.push(`begin ${item}`)
    try {
      yield* sleep(ms)
      log.push(`done ${item}`)
      return `${item}!`
    } finally {
      log.push(`end ${item}`)
    }
  })
  return { proco, log }
}

describe('S82 an item that is cancelled', () => {
  it('while it runs alone: its outcome is there at once, its handler is stopped', () =>
    virtual(function* () {
      const { proco, log } = slow(100)
      const future = yield* proco.submitAsync('a')
      yield* sleep(1)
      assert.equal(future.cancel(), true)
      assert.equal(future.state, 'cancelled')
      yield* sleep(1)
      assert.deepEqual(log, ['begin a', 'end a'])
      assert.equal(yield* proco.submit('b'), 'b!')
      yield* proco.exit()
      addUp(proco.stats())
    }))

  it('has its place until its handler has ended, cleanup included', () =>
    virtual(function* () {
      const log: [string, number][] = []
      const time = clock()
      const proco = Proco.new<string, void>().start(function* (item) {
        log.push([item, time()])
        try {
          yield* sleep(100)
        } finally {
          yield* sleep(20)
        }
      })
      const first = yield* proco.submitAsync('a')
      yield* proco.submitAsync('b')
      yield* sleep(10)
      first.cancel()
      assert.deepEqual([first.state, proco.stats().running, proco.stats().depth], ['cancelled', 1, 1])
      yield* sleep(1)
      assert.equal(proco.stats().running, 1)
      yield* proco.exit()
      assert.deepEqual(log, [
        ['a', 0],
        ['b', 30],
      ])
    }))

  it('in a batch with others: they go on; with the last of them the handler is stopped, and the signal says why', () =>
    virtual(function* () {
      const reasons: unknown[] = []
      const proco = Proco.batch(true)
        .new<number, string>()
        .start(function* (items, work) {
          work.signal.addEventListener('abort', () => reasons.push([items, work.signal.reason]))
          yield* sleep(100)
          return 'result'
        })
      const futures = [1, 2, 3].map((n) => proco.trySubmit(n)!)
      yield* sleep(1)
      futures[0]!.cancel()
      futures[1]!.cancel()
      yield* sleep(1)
      assert.deepEqual(reasons, [])
      assert.equal(futures[2]!.state, 'running')
      futures[2]!.cancel('nobody cares')
      const [[items, reason]] = reasons as unknown as [[number[], Cancel]]
      assert.deepEqual(items, [1, 2, 3])
      assert.ok(reason instanceof Cancel)
      assert.equal(reason.cause, 'nobody cares')
      yield* proco.exit()
      assert.equal(proco.stats().cancelled, 3)
    }))

  it('when the handler swallows its stop: what it returns goes nowhere, and the next item has a worker of its own', () =>
    virtual(function* () {
      const proco = Proco.new<string, string>().start(function* (item) {
        if (item === 'b') return 'b!'
        try {
          yield* sleep(100)
        } catch {
          yield* sleep(10)
        }
        return 'swallowed'
      })
      const first = yield* proco.submitAsync('a')
      const second = yield* proco.submitAsync('b')
      yield* sleep(1)
      first.cancel('enough')
      assert.equal(yield* second.get(), 'b!')
      assert.equal((yield* thrownBy(first.get())).cause, 'enough')
      yield* proco.exit()
      assert.deepEqual([proco.stats().done, proco.stats().cancelled], [1, 1])
    }))

  it('before the handler had its first turn: it is not called for it', () =>
    virtual(function* () {
      const { proco, log } = slow(1)
      proco.trySubmit('a')!.cancel()
      yield* sleep(5)
      assert.deepEqual(log, [])
      assert.equal(yield* proco.submit('b'), 'b!')
      yield* proco.exit()
    }))

  it('by its own handler: it is the handler that is stopped', () =>
    virtual(function* () {
      const log: string[] = []
      let future: Future<string> | undefined
      const proco = Proco.new<number, string>().start(function* () {
        log.push(String(future?.cancel('myself')))
        yield* sleep(1)
        log.push('never')
        return 'result'
      })
      future = proco.trySubmit(1)
      yield* sleep(5)
      assert.equal(future?.state, 'cancelled')
      assert.deepEqual(log, ['true'])
      yield* proco.exit()
    }))

  it('at the same moment as its handler ends: one of the two, and the counts add up', () =>
    virtual(function* () {
      const { proco } = slow(10)
      const future = yield* proco.submitAsync('a')
      yield* sleep(10)
      const before = future.state
      assert.equal(future.cancel(), before !== 'done')
      yield* proco.exit()
      addUp(proco.stats())
    }))

  it('with any reason, also one that cannot be put in words', () =>
    virtual(function* () {
      const { proco } = slow(10, Proco.queueSize(10))
      const reasons = [
        undefined,
        null,
        0,
        '',
        Symbol('s'),
        Object.create(null),
        new Error('e'),
        { toString: null },
      ]
      for (const reason of reasons) {
        const future = proco.trySubmit('a')!
        assert.equal(future.cancel(reason), true)
        const error = yield* thrownBy(future.get())
        assert.ok(error instanceof Cancel)
        assert.equal(error.cause, reason)
        const controller = new AbortController()
        const other = proco.trySubmit('b', { signal: controller.signal })!
        controller.abort(reason)
        assert.equal(other.state, 'cancelled')
        if (reason !== undefined) assert.equal((yield* thrownBy(other.get())).cause, reason)
        const signal = AbortSignal.abort(reason)
        assert.throws(() => proco.trySubmit('c', { signal }), Cancel)
      }
      yield* proco.exit()
    }))

  it('an async handler hears of it by its signal; its result comes too late', () =>
    virtual(function* () {
      const seen: unknown[] = []
      const proco = Proco.new<string, string>().start(
        (item, { signal }: Work) =>
          new Promise<string>((resolve) => {
            if (item === 'b') return resolve('b!')
            signal.addEventListener('abort', () => {
              seen.push(signal.reason)
              resolve('too late')
            })
          }),
      )
      const first = yield* proco.submitAsync('a')
      const second = yield* proco.submitAsync('b')
      yield* sleep(1)
      first.cancel()
      assert.equal(yield* second.get(), 'b!')
      assert.equal(seen.length, 1)
      assert.equal(first.state, 'cancelled')
      yield* proco.exit()
    }))

  it('an async handler that rejects after it was told is no unhandled rejection', () =>
    virtual(function* () {
      const unhandled: unknown[] = []
      const listen = (error: unknown) => unhandled.push(error)
      process.on('unhandledRejection', listen)
      const proco = Proco.new<number, never>().start(
        (_, { signal }) =>
          new Promise<never>((_resolve, reject) => {
            signal.addEventListener('abort', () => reject(signal.reason))
          }),
      )
      const future = yield* proco.submitAsync(1)
      yield* sleep(1)
      future.cancel()
      yield* until(new Promise((resolve) => setImmediate(resolve)))
      process.off('unhandledRejection', listen)
      assert.deepEqual(unhandled, [])
      yield* proco.exit()
    }))

  it('kill: the signal of a handler that runs is aborted with Killed, also if it is asked for later', () =>
    virtual(function* () {
      const works: Work[] = []
      const proco = Proco.threads(2)
        .new<number, void>()
        .start(function* (n, work) {
          works.push(work)
          if (n === 1) assert.equal(work.signal.aborted, false)
          yield* sleep(100)
        })
      proco.trySubmit(1)
      proco.trySubmit(2)
      yield* sleep(1)
      proco.kill()
      for (const { signal } of works) {
        assert.equal(signal.aborted, true)
        assert.ok(signal.reason instanceof Killed)
      }
    }))
})

describe('S78 a time-out', () => {
  it('counts from the submission: while it waits for room, in the queue, in the hands of the handler', () =>
    virtual(function* () {
      const { proco, log } = slow(100)
      const time = clock()
      const running = yield* proco.submitAsync('running', { timeout: 30 })
      yield* sleep(1)
      const queued = yield* proco.submitAsync('queued', { timeout: 10 })
      const blocked = spin(() => thrownBy(proco.submitAsync('blocked', { timeout: 5 })))
      const blockedToo = spin(() => thrownBy(proco.submit('blocked too', { timeout: 6 })))
      const words: string[] = []
      for (const [op, at] of [
        [blocked, 6],
        [blockedToo, 7],
        [spin(() => thrownBy(queued.get())), 11],
        [spin(() => thrownBy(running.get())), 30],
      ] as const) {
        const error = yield* op
        assert.ok(error instanceof TimedOut)
        assert.equal(time(), at)
        words.push(error.message)
      }
      assert.deepEqual(words, [
        'an item of proco was waiting for too long: its timeout is 5 ms',
        'an item of proco was waiting for too long: its timeout is 6 ms',
        'an item of proco was queued for too long: its timeout is 10 ms',
        'an item of proco was running for too long: its timeout is 30 ms',
      ])
      assert.deepEqual([running.state, queued.state], ['failed', 'failed'])
      yield* proco.exit()
      assert.deepEqual(log, ['begin running', 'end running'])
      assert.deepEqual([proco.stats().accepted, proco.stats().failed], [2, 2])
    }))

  it('of a handler that never ends frees its place for the next', () =>
    virtual(function* () {
      const proco = Proco.new<string, string>().start(function* (item) {
        if (item === 'never') yield* sleep()
        return item
      })
      const inAsync = Proco.new<string, string>().start((item) =>
        item === 'never' ? new Promise<string>(() => {}) : item,
      )
      for (const each of [proco, inAsync]) {
        assert.ok((yield* thrownBy(each.submit('never', { timeout: 50 }))) instanceof TimedOut)
        assert.equal(yield* each.submit('next'), 'next')
        yield* each.exit()
        assert.deepEqual([each.stats().failed, each.stats().done], [1, 1])
      }
    }))

  it('in a batch fails its item only; the others get their result', () =>
    virtual(function* () {
      const proco = Proco.batch(true)
        .new<number, string>()
        .start(function* () {
          yield* sleep(20)
          return 'result'
        })
      const [hasty, patient] = [proco.trySubmit(1, { timeout: 10 })!, proco.trySubmit(2)!]
      assert.equal(yield* patient.get(), 'result')
      assert.ok((yield* thrownBy(hasty.get())) instanceof TimedOut)
      yield* proco.exit()
      addUp(proco.stats())
    }))

  it('that was kept leaves no timer; of 0 it strikes at the next turn of the clock', () =>
    virtual(function* () {
      const { proco } = slow(10, Proco.queueSize(10))
      assert.equal(yield* proco.submit('a', { timeout: 1000 }), 'a!')
      assert.equal((Fiber.current as any).runtime.timers.size, 0)
      assert.ok((yield* thrownBy(proco.submit('b', { timeout: 0 }))) instanceof TimedOut)
      const killed = proco.trySubmit('c', { timeout: 1000 })!
      proco.kill()
      assert.equal(killed.state, 'cancelled')
      assert.equal((Fiber.current as any).runtime.timers.size, 0)
    }))

  it('and a signal on one item: the first wins', () =>
    virtual(function* () {
      const { proco } = slow(100, Proco.queueSize(10))
      const controller = new AbortController()
      const limits = { timeout: 10, signal: controller.signal }
      const future = yield* proco.submitAsync('a', limits)
      assert.ok((yield* thrownBy(future.get())) instanceof TimedOut)
      controller.abort()
      assert.ok((yield* thrownBy(future.get())) instanceof TimedOut)
      assert.ok((yield* thrownBy(proco.submit('b', limits))) instanceof Cancel)
      yield* proco.exit()
    }))
})

describe('S83 who leaves', () => {
  it('submit cancels its item: while it waits for room, in the queue, in the hands of the handler', () =>
    virtual(function* () {
      const { proco, log } = slow(100)
      const running = spin(() => proco.submit('running'))
      yield* sleep(1)
      const queued = spin(() => proco.submit('queued'))
      yield* sleep(1)
      const blocked = spin(() => proco.submit('blocked'))
      yield* sleep(1)
      assert.deepEqual([proco.stats().waiting, proco.stats().depth], [1, 1])
      yield* blocked.stop()
      assert.deepEqual([proco.stats().waiting, proco.stats().depth], [0, 1])
      yield* queued.stop()
      assert.deepEqual([proco.stats().depth, proco.stats().cancelled], [0, 1])
      yield* running.stop()
      assert.equal(proco.stats().cancelled, 2)
      yield* proco.exit()
      assert.deepEqual(log, ['begin running', 'end running'])
    }))

  it('submit by a time limit, a race or an error does the same', () =>
    virtual(function* () {
      const { proco, log } = slow(100)
      assert.equal(yield* moveOnAfter(5, () => proco.submit('limit'), 'gave up'), 'gave up')
      assert.equal(yield* race([proco.submit('race'), () => snooze()]), undefined)
      const failing = scope(function* () {
        spin(() => proco.submit('scope'))
        yield* sleep(1)
        throw new Error('x')
      })
      assert.equal((yield* thrownBy(failing)).message, 'x')
      yield* proco.exit()
      assert.ok(!log.some((line) => line.startsWith('done')))
      assert.equal(proco.stats().cancelled, proco.stats().accepted)
    }))

  it('submitAsync before there was room takes its item back; after that it is on its own', () =>
    virtual(function* () {
      const { proco, log } = slow(10)
      yield* proco.submitAsync('a')
      yield* sleep(1)
      yield* proco.submitAsync('b')
      const blocked = spin(() => proco.submitAsync('c'))
      yield* sleep(1)
      assert.equal(proco.stats().waiting, 1)
      yield* blocked.stop()
      assert.equal(proco.stats().waiting, 0)
      const accepted = spin(function* () {
        yield* proco.submitAsync('d')
        yield* sleep()
      })
      yield* sleep(15)
      yield* accepted.stop()
      yield* proco.exit()
      assert.deepEqual(
        log.filter((line) => line.startsWith('done')),
        ['done a', 'done b', 'done d'],
      )
    }))

  it('get only stops waiting: the item goes on, and others get its result', () =>
    virtual(function* () {
      const { proco } = slow(10)
      const future = yield* proco.submitAsync('a')
      const waiters = [1, 2, 3].map(() => spin(() => future.get()))
      yield* sleep(1)
      yield* waiters[0]!.stop()
      yield* waiters[1]!.stop()
      assert.equal(future.state, 'running')
      assert.equal(yield* waiters[2]!, 'a!')
      assert.equal(yield* moveOnAfter(1, () => future.get(), 'gave up'), 'a!')
      yield* proco.exit()
    }))

  it('a submit that others wait for too: the fiber that began it is the one that counts', () =>
    virtual(function* () {
      const { proco } = slow(10)
      const op = proco.submit('a')
      const owner = spin(() => op)
      yield* sleep(1)
      const guest = spin(() => op)
      yield* sleep(1)
      yield* guest.stop()
      assert.equal(proco.stats().cancelled, 0)
      assert.equal(yield* owner, 'a!')
      const next = proco.submit('b')
      const first = spin(() => next)
      yield* sleep(1)
      const second = spin(() => thrownBy(next))
      yield* sleep(1)
      yield* first.stop(undefined, { reason: 'over' })
      const error = yield* second
      assert.ok(error instanceof Cancel)
      assert.equal(error.cause, 'over')
      yield* proco.exit()
    }))

  it('a fiber stopped after its result came keeps the result (S34)', () =>
    virtual(function* () {
      const proco = Proco.new<number, number>().start((n) => n)
      const got: number[] = []
      const fiber = spin(function* () {
        got.push(yield* proco.submit(1))
      })
      yield* snooze()
      while (proco.stats().done === 0) yield* snooze()
      yield* fiber.stop()
      assert.deepEqual(got, [1])
      yield* proco.exit()
    }))

  it('async code cannot be stopped: what it began goes on', () =>
    virtual(function* () {
      const { proco, log } = slow(10)
      const promise = proco.submit('a').then((text) => text)
      yield* sleep(1)
      yield* moveOnAfter(1, () => until(promise))
      assert.equal(yield* until(promise), 'a!')
      assert.deepEqual(log, ['begin a', 'done a', 'end a'])
      yield* proco.exit()
    }))
})

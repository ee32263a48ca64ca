// Hostile programs, third round: bodies of odd kinds, worlds inside fibers, everything due at once, what stays in memory.

import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { describe, mock, test } from 'node:test'
import { createContext, runInContext } from 'node:vm'
import {
  after,
  BadArgument,
  ensure,
  Fiber,
  moveOnAfter,
  type Op,
  receive,
  run,
  type Switchpoint,
  sleep,
  snooze,
  spin,
  tap,
  until,
} from 'polyphony'
import { explore, ScheduleFailed, virtual } from 'polyphony/testing'
import { NodeChannel } from '#io/nodechannel'
import { type Reader, Stream } from '#io/stream'
import { program, thrownBy } from './prelude.js'

function* plain() {
  yield* sleep(1)
  return 'ran'
}
class Holder {
  static *still() {
    return yield* plain()
  }
  *method() {
    return yield* plain()
  }
}
/** A generator function of another realm, or something else from there. */
function foreign(source: string): () => Op<unknown> {
  return runInContext(`(${source})`, createContext({ sleep }))
}
/** A fresh generator function that something is done to. */
function altered(alter: (body: any) => void): () => Op<string> {
  const body = function* () {
    return yield* plain()
  }
  alter(body)
  return body
}

describe('bodies of odd kinds', () => {
  const bodies: Record<string, () => Op<unknown>> = {
    'a bound generator function': plain.bind(null),
    'a proxy of a generator function': new Proxy(plain, {}),
    'a static generator method': Holder.still,
    'a generator method': new Holder().method,
    'a frozen generator function': Object.freeze(altered(() => {})),
    'a generator function whose prototype property is null': altered((body) => (body.prototype = null)),
    'a generator function that inherits from Function': altered((body) =>
      Object.setPrototypeOf(body, Function.prototype),
    ),
    'a generator function that inherits from nothing': altered((body) => Object.setPrototypeOf(body, null)),
    'a generator function of another realm': foreign('function* () { yield* sleep(1); return "ran" }'),
  }
  for (const [name, body] of Object.entries(bodies)) {
    test(`S05 ${name} runs as a fiber, in a block, and as cleanup`, () =>
      virtual(function* () {
        assert.equal(yield* spin(body), 'ran')
        assert.equal(yield* moveOnAfter(1000, body), 'ran')
        assert.equal(yield* ensure(body, body), 'ran')
        const stopped = spin(body)
        yield* snooze()
        assert.equal((yield* stopped.stop()).type, 'stopped')
      }))
  }

  test('S05 a mocked generator function may return a value, or an op', () =>
    virtual(function* () {
      const value = mock.fn(plain as () => unknown, () => 42)
      const op = mock.fn(plain as () => Op<unknown>, () => sleep(1))
      assert.equal(yield* spin(value), 42)
      assert.equal(yield* moveOnAfter(10, value), 42)
      assert.equal(yield* spin(op), undefined)
    }))

  test('S70 a mocked generator function whose result cannot be looked at fails its fiber, not the scheduler', () =>
    virtual(function* () {
      const shy = new Proxy(
        {},
        {
          get() {
            throw new Error('do not look')
          },
        },
      )
      const body = mock.fn(plain as () => unknown, () => shy)
      const error = yield* thrownBy(spin({ link: false }, body))
      assert.equal(error.message, 'do not look')
      yield* sleep(1)
    }))

  test('S05 a generator function whose prototype property was replaced runs wherever a body may stand', () =>
    virtual(function* () {
      const body = altered((generator) => (generator.prototype = {}))
      assert.equal(yield* spin(body), 'ran')
      assert.equal(yield* after(1, body), 'ran')
    }))

  for (const [what, name] of [
    ['is a symbol', { value: Symbol('name') }],
    [
      'throws when it is read',
      {
        get() {
          throw new Error('no name')
        },
      },
    ],
  ] as const) {
    test(`S70 a body whose name ${what} does not break the scheduler`, () =>
      virtual(function* () {
        const body = () => {
          spin(() => sleep()) // stopped when the body ends: the reason names the parent
        }
        const fiber = spin({ link: false }, Object.defineProperty(body, 'name', name))
        assert.equal((yield* fiber.join()).type, 'value')
      }))
  }

  test('S05 an async function of another realm fails its fiber by name', () =>
    virtual(function* () {
      const body = foreign('async function () {}')
      assert.ok((yield* thrownBy(spin({ link: false }, body))) instanceof BadArgument)
    }))
})

describe('a world inside a fiber', () => {
  test('the fiber that explores is the current one again afterwards, also if a schedule failed', () =>
    run(function* () {
      const me = Fiber.current
      const explored = explore(function* () {
        yield* Fiber.await(spin(plain), spin(plain))
      })
      assert.equal(explored.complete, true)
      assert.equal(Fiber.current, me)
      const fail = () => {
        throw new Error('inner')
      }
      assert.throws(() => explore(fail), ScheduleFailed)
      assert.equal(Fiber.current, me)
      yield* snooze()
    }))

  test('a virtual clock in a run in a virtual clock: each keeps its own time', () =>
    virtual(function* () {
      const inner = () => virtual(() => sleep(3_600_000))
      yield* until(run(() => until(inner())))
      assert.equal(yield* moveOnAfter(1, () => sleep(2), 'late'), 'late')
    }))

  test('S11 a fiber of the outer world can be stopped from the inner one', () =>
    virtual(function* () {
      const outer = spin(() => sleep())
      yield* snooze()
      explore(() => {
        outer.stop('from inside')
      })
      assert.equal(yield* outer, 'from inside')
    }))

  test('a fiber that the inner world spins under an outer one runs in the outer world', () =>
    virtual(function* () {
      const me = Fiber.current
      const spun: Fiber[] = []
      explore(function* () {
        spun.push(me.spin(plain))
        yield* snooze()
      })
      assert.deepEqual(yield* Fiber.await(...spun), ['ran'])
    }))

  test('the answer of an op outlives a world that ran before it was looked at', () =>
    virtual(function* () {
      const fiber = spin(() => 'the answer')
      /** An op of somebody's own around the wait for a fiber. */
      const wrapped: Op<string> = {
        [Symbol.iterator]() {
          const inner = fiber[Symbol.iterator]() as Required<Iterator<Switchpoint, string, unknown>>
          return {
            next() {
              const result = inner.next()
              explore(() => snooze())
              return result
            },
            throw: (error) => inner.throw(error),
            return: (value) => inner.return(value),
          }
        },
      }
      assert.equal(yield* wrapped, 'the answer')
    }))

  test('S70 a tap listener may explore', () =>
    virtual(function* () {
      let explored = 0
      const untap = tap((event) => {
        if (event === 'block') explored += explore(() => snooze()).schedules
      })
      yield* sleep(1)
      yield* sleep(1)
      untap()
      assert.equal(explored, 2)
    }))
})

describe('two things in one turn', () => {
  test('S34 a message and a stop: the message is received, then the stop strikes', () =>
    virtual(function* () {
      let received: unknown
      const fiber = spin(function* () {
        received = yield* receive()
        yield* snooze()
      })
      yield* snooze()
      fiber.send('letter')
      fiber.stop('stopped')
      assert.deepEqual(yield* fiber.join(), { type: 'stopped', value: 'stopped' })
      assert.equal(received, 'letter')
    }))

  test('S26 two errors and a message: both errors strike in order, the message stays', () =>
    virtual(function* () {
      const fiber = spin(function* () {
        const log: unknown[] = []
        while (log.length < 3) {
          try {
            log.push(yield* receive())
          } catch (error) {
            log.push((error as Error).message)
          }
        }
        return log
      })
      yield* snooze()
      fiber.raise('first')
      fiber.send('letter')
      fiber.raise('second')
      assert.deepEqual(yield* fiber, ['first', 'second', 'letter'])
    }))

  test('S50 a block whose fiber is killed while it lets others run first can be entered again', () =>
    virtual(function* () {
      const limit = moveOnAfter(1000, () => 'whole')
      const fiber = spin(function* () {
        for (;;) yield* limit
      })
      yield* snooze()
      yield* fiber.kill()
      assert.equal(yield* limit, 'whole')
    }))
})

describe('a reader', () => {
  /** A stream to write to, and its reader. */
  function readerOf(stream: PassThrough): Reader {
    return new Stream((flow) => new NodeChannel('pipe', flow, { readable: () => stream, isIdle: true }))
  }
  function pipe(): { stream: PassThrough; reader: Reader } {
    const stream = new PassThrough()
    return { stream, reader: readerOf(stream) }
  }
  /** Bytes that once cannot become a string, as those of a line beyond half a gigabyte: not at the call with this number. */
  function unreadable(text: string, call: number): Buffer {
    const bytes = Buffer.from(text)
    let calls = 0
    bytes.toString = (...args) => {
      if (++calls === call) throw new Error('too long')
      return Buffer.prototype.toString.apply(bytes, args)
    }
    return bytes
  }

  test('S70 a tap listener that stops a waiting fiber as another is served loses no line', () =>
    virtual(function* () {
      const { stream, reader } = pipe()
      const first = spin(() => reader.gets())
      const second = spin(() => reader.gets())
      yield* snooze()
      const untap = tap((event, fiber) => {
        if (event === 'schedule' && fiber === first) second.stop()
      })
      assert.doesNotThrow(() => stream.write('one\ntwo\n'))
      assert.equal(yield* first, 'one')
      untap()
      assert.equal(yield* reader.gets(), 'two')
    }))

  test('a line that is too long for a string fails the fiber that waits for it, not the process', () =>
    virtual(function* () {
      const { stream, reader } = pipe()
      const waiting = spin({ link: false }, () => reader.gets())
      yield* snooze()
      assert.doesNotThrow(() => stream.write(unreadable('long\n', 1)))
      assert.equal((yield* thrownBy(waiting)).message, 'too long')
    }))

  test('S69 a wait that failed as it began can be begun again', () =>
    virtual(function* () {
      const { stream, reader } = pipe()
      stream.write(unreadable('first\nsecond\n', 2))
      assert.equal(yield* reader.gets(), 'first')
      stream.write('third\n')
      const op = reader.gets()
      assert.equal((yield* thrownBy(op)).message, 'too long')
      const next = yield* op
      assert.ok(next === 'second' || next === 'third')
    }))
})

test('S69 an op that a tap listener iterates leaves the fiber that has just begun to wait as it was', () =>
  virtual(function* () {
    const fiber = spin(plain)
    let isDone = false
    const untap = tap((event, tapped) => {
      if (event !== 'block' || tapped !== fiber || isDone) return
      isDone = true
      assert.throws(() => [...sleep(1)])
    })
    yield* snooze()
    untap()
    assert.equal(yield* moveOnAfter(100, () => fiber, 'hangs'), 'ran')
  }))

test('S26 many errors that wait for one fiber cost as much each as few', () => {
  /** CPU time for so many errors, in microseconds. */
  async function cost(errors: number): Promise<number> {
    const error = new Error('one of many')
    return virtual(function* () {
      const fiber = spin(function* () {
        for (let received = 0; received < errors; ) {
          try {
            yield* sleep()
          } catch {
            received++
          }
        }
      })
      yield* snooze()
      const { user } = process.cpuUsage()
      for (let i = 0; i < errors; i++) fiber.raise(error)
      yield* fiber
      return process.cpuUsage().user - user
    })
  }
  return (async () => {
    await cost(10_000)
    const few = await cost(20_000)
    const many = await cost(100_000)
    assert.ok(many < 10 * few, `5 times as many took ${Math.round(many / few)} times as long`)
  })()
})

describe('programs', { concurrency: 2 }, () => {
  for (const [what, source] of Object.entries({
    'an op that a killed fiber spreads in its finally': `
      const fiber = spin(function* () {
        try { yield* sleep() } finally { try { [...sleep(1)] } catch (error) { console.log(error.code) } }
      })
      yield* snooze()
      yield* fiber.kill()`,
    'a scope with a child that is spread': `
      const spread = () => [...scope(function* () { spin(() => sleep()) })]
      try { spread() } catch (error) { console.log(error.code) }`,
    'a Fiber.await that waits for the rest, and is spread': `
      const failed = spin({ link: false }, function* () { throw new Error('failed') })
      const slow = spin(function* () { try { yield* sleep() } finally { yield* sleep(1) } })
      yield* snooze()
      try { [...Fiber.await(failed, slow)] } catch (error) { console.log(error.code) }`,
  })) {
    test(`S69 ${what} is a named error, and does not hold the thread for ever`, async () => {
      const { code, stdout } = await program(`
        import { Fiber, run, scope, sleep, snooze, spin } from 'polyphony'
        await run(function* () {${source}
        })`)
      assert.deepEqual([code, stdout], [0, 'BAD_YIELD\n'])
    })
  }

  test('a sleep ends after timers were mocked and restored while another fiber slept', async () => {
    const { stdout } = await program(`
      import { mock } from 'node:test'
      import { run, sleep } from 'polyphony'
      mock.timers.enable({ apis: ['setTimeout', 'setImmediate'] })
      const asleep = run(() => sleep(5))
      await null
      asleep.stop()
      mock.timers.reset()
      setTimeout(() => process.exit(), 15_000)
      await run(() => sleep(20))
      console.log('awake')
      process.exit()`)
    assert.equal(stdout, 'awake\n')
  })

  test('S49 many timers that are due at one instant leave the event loop its turns', async () => {
    const { stdout } = await program(`
      import { Fiber, run, sleep, snooze, spin } from 'polyphony'
      let turns = 0
      let isOver = false
      const count = () => { turns++; if (!isOver) setImmediate(count) }
      await run(function* () {
        for (let i = 0; i < 50_000; i++) spin(() => sleep(1000))
        yield* snooze() // all have begun
        const begin = performance.now()
        while (performance.now() - begin < 1050); // now all of them are due
        setImmediate(count)
        yield* Fiber.current.joinChildren()
      })
      isOver = true
      console.log(turns >= 20 ? 'served' : turns) // 50 batches, at most two between two looks of setImmediate`)
    assert.equal(stdout, 'served\n')
  })

  test('S04 a fiber, its message, its error and the reason of its stop are forgotten while others live', async () => {
    const { stdout } = await program(`
      import { setFlagsFromString } from 'node:v8'
      import { runInNewContext } from 'node:vm'
      import { Fiber, receive, run, sleep, snooze, spin } from 'polyphony'
      setFlagsFromString('--expose-gc')
      const gc = runInNewContext('gc')
      const refs = []
      const keep = (thing) => { refs.push(new WeakRef(thing)); return thing }
      const living = run(function* () {
        const reader = spin(function* () { yield* receive(); yield* sleep() })
        yield* snooze()
        reader.send(keep({}))
        for (let i = 0; i < 10; i++) keep(spin(function* () { yield* snooze() }))
        let struck = keep(spin(function* () { try { yield* sleep() } catch {} }))
        let stopped = keep(spin(() => sleep()))
        yield* snooze()
        struck.raise(keep(new Error('struck')))
        stopped.stop(keep({}), { reason: keep({}) })
        struck = stopped = null
        yield* sleep()
      })
      for (let i = 0; i < 10; i++) { await new Promise((done) => setTimeout(done, 5)); gc() }
      console.log(refs.length, refs.filter((ref) => ref.deref() !== undefined).length)
      await living.stop()`)
    assert.equal(stdout, '16 0\n')
  })
})

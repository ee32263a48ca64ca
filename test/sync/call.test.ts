// Calls: questions between fibers, watched, with late answers dropped (S39).

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  BadArgument,
  Call,
  call,
  DeadlockError,
  Fiber,
  FiberStopped,
  moveOnAfter,
  type Routine,
  receive,
  receiveAllPending,
  receiveLoop,
  sleep,
  snooze,
  spin,
  suspend,
  TimedOut,
} from 'polyphony'
import { stopEverywhere, virtual } from 'polyphony/testing'
import { everyOrder } from '../explore/orders.js'
import { thrownBy } from '../prelude.js'

/** Answers with twice the number, after a while. */
function* doubler(ms = 0): Routine<void> {
  yield* receiveLoop(function* (question: Call<number, number>) {
    if (ms > 0) yield* sleep(ms)
    question.reply(question.message * 2)
  })
}

/** Who waits for the end of this fiber by `atEnd`: nobody, when all calls are over. */
function watchers(fiber: Fiber): number {
  return (fiber as any).cold?.atEnd?.size ?? 0
}

describe('call', () => {
  it('S39 the target receives a Call, the caller its answer', () =>
    virtual(function* () {
      const target = spin(doubler)
      assert.equal(yield* call(target, 21), 42)
      assert.equal(yield* call(target, 4), 8)
      assert.equal(watchers(target), 0)
      assert.deepEqual(receiveAllPending(), []) // the answer never lands in the mailbox
    }))

  it('S39 fail throws where the caller waits', () =>
    virtual(function* () {
      const error = new Error('no such thing')
      const target = spin(() => receiveLoop((question: Call) => question.fail(error)))
      assert.equal(yield* thrownBy(call(target, 'what?')), error)
    }))

  it('S39 a Call says who asked, and has the type of its question', () =>
    virtual(function* () {
      const target = spin(function* () {
        const types: string[] = []
        yield* receiveLoop((message) => {
          assert.ok(message instanceof Call)
          types.push(message.type)
          message.reply(message.caller.name)
          return types.length < 4
        })
        return types
      })
      for (const message of [1, 'word', { type: 'kind' }, { type: 3 }]) {
        assert.equal(yield* call(target, message), 'main')
      }
      assert.deepEqual(yield* target, ['call', 'call', 'kind', 'call'])
    }))

  it('S39 throws FiberStopped when the target ends without an answer, with the reason as its cause', () =>
    virtual(function* () {
      const failure = new Error('broken')
      const targets: [string, () => unknown, unknown][] = [
        ['returned', () => sleep(10), undefined],
        [
          'failed',
          function* () {
            yield* sleep(10)
            throw failure
          },
          failure,
        ],
      ]
      for (const [name, body, cause] of targets) {
        const target = spin({ name, link: false }, body as () => Routine<void>)
        const error = yield* thrownBy(call(target, 'anybody?'))
        assert.ok(error instanceof FiberStopped)
        assert.match(error.message, new RegExp(`${name} ended before it answered "anybody\\?"`))
        assert.equal(error.cause, cause)
      }
      const stopped = spin(() => suspend())
      spin(function* () {
        yield* sleep(10)
        stopped.stop(undefined, { reason: 'enough' })
      })
      assert.equal((yield* thrownBy(call(stopped, 1))).cause, 'enough')
    }))

  it('S25 a parent that is told of the failure by its call is not told again', () =>
    virtual(function* () {
      const target = spin(function* () {
        yield* receive()
        throw new Error('broken')
      })
      const error = yield* thrownBy(call(target, 'hello'))
      assert.equal(error.cause.message, 'broken')
      yield* sleep(10)
    }))

  it('S24 the parent hears of a failure that only the call of another was told of', () =>
    virtual(function* () {
      const target = spin(function* () {
        yield* receive()
        throw new Error('broken')
      })
      const caller = spin(function* () {
        return (yield* thrownBy(call(target, 'hello'))).constructor.name
      })
      assert.equal((yield* thrownBy(sleep(10))).message, 'broken')
      assert.equal(yield* caller, 'FiberStopped')
    }))

  it('S39 a dead target is refused at once, and the question counts as a dead letter', () =>
    virtual(function* () {
      const target = spin('gone', () => {})
      yield* target
      const error = yield* thrownBy(call(target, 'hello'))
      assert.ok(error instanceof FiberStopped)
      assert.match(error.message, /gone is over and cannot answer "hello"/)
      assert.equal((Fiber.current as any).runtime.counts.deadLetters, 1)
    }))

  it('S39 the time limit throws TimedOut, and a late answer is dropped', () =>
    virtual(function* () {
      const target = spin('slow', doubler, 100)
      const error = yield* thrownBy(call(target, 1, { timeout: 50 }))
      assert.ok(error instanceof TimedOut)
      assert.match(error.message, /slow did not answer 1 within 50 ms; it is waiting for sleep\(100\)/)
      yield* sleep(100)
      assert.deepEqual(receiveAllPending(), [])
      assert.equal(yield* call(target, 2, { timeout: 500 }), 4)
      assert.equal(watchers(target), 0)
    }))

  it('S39 an answer given twice, or to one who has left, says false', () =>
    virtual(function* () {
      const target = spin(function* () {
        const said: boolean[] = []
        const first = yield* receive<Call>()
        said.push(first.reply(1), first.reply(2), first.fail(new Error('three')))
        const second = yield* receive<Call>()
        yield* sleep(10)
        said.push(second.reply(1))
        return said
      })
      assert.equal(yield* call(target, 'first'), 1)
      assert.equal(yield* moveOnAfter(5, () => call(target, 'second'), 'left'), 'left')
      assert.deepEqual(yield* target, [true, false, false, false])
    }))

  it('S34 an answer and a stop in one turn: the answer is received first', () =>
    virtual(function* () {
      const me = Fiber.current
      const log: unknown[] = []
      const caller = spin(function* () {
        log.push(yield* call(me, 1))
        yield* sleep(10)
        log.push('never')
      })
      const question = yield* receive<Call<number, number>>()
      assert.equal(question.reply(2), true)
      caller.stop()
      yield* caller.join()
      assert.deepEqual(log, [2])
    }))

  it('S41 a question put after restart() is answered by the new incarnation, one before it is not', () =>
    virtual(function* () {
      const target = spin(function* () {
        try {
          yield* receiveLoop(function* (question: Call<string, string>) {
            yield* sleep(5)
            question.reply(`${question.message} of ${target.incarnation}`)
          })
        } finally {
          yield* sleep(10)
        }
      })
      const before = spin({ link: false }, () => call(target, 'before'))
      yield* sleep(1)
      target.restart()
      const after = spin(() => call(target, 'after'))
      assert.equal(yield* after, 'after of 2')
      assert.ok((yield* thrownBy(before.await())) instanceof FiberStopped)
      assert.equal(watchers(target), 0)
    }))

  it('S38 a full mailbox lets a call in: its sender waits already', () =>
    virtual(function* () {
      const target = spin(function* () {
        yield* sleep(10)
        const got = receiveAllPending()
        for (const m of got) if (m instanceof Call) m.reply('answered')
        return got.length
      })
      target.mailbox.cap(1)
      target.send('full')
      assert.equal(yield* call(target, 'question'), 'answered')
      assert.equal(yield* target, 2)
    }))

  it('a question can be handed on to another fiber', () =>
    virtual(function* () {
      const worker = spin(doubler, 10)
      const front = spin(() => receiveLoop((question) => worker.send(question)))
      assert.equal(yield* call(front, 5), 10)
    }))

  it('S32 calling oneself is a deadlock, said at once', () =>
    virtual(function* () {
      assert.ok((yield* thrownBy(call(Fiber.current, 1))) instanceof DeadlockError)
    }))

  it('S69 a call is an op like any other: waited for twice at once it is refused, one after the other it asks anew', () =>
    virtual(function* () {
      const target = spin(doubler, 10)
      const op = call(target, 3)
      const one = spin(() => op)
      yield* sleep(1)
      const two = spin({ link: false }, () => op)
      assert.match((yield* thrownBy(two.await())).message, /already being waited for/)
      assert.equal(yield* one, 6)
      assert.equal(yield* op, 6)
    }))

  it('wrong arguments are refused by name', () =>
    virtual(function* () {
      assert.throws(() => call('fiber' as any, 1), /call\(\) needs a fiber to ask, got "fiber"/)
      assert.throws(() => call(Fiber.current, 1, { timeOut: 3 } as any), BadArgument)
      assert.throws(() => call(Fiber.current, 1, { timeout: -3 }), /the timeout of call\(\)/)
    }))

  it('S36 S39 every schedule of two callers, a server that restarts and a killer: each caller gets its answer or is told', (t) => {
    everyOrder(t, function* () {
      const server = spin('server', function* () {
        for (;;) {
          const question = yield* receive<Call<number, number>>()
          yield* snooze()
          question.reply(question.message)
        }
      })
      const callers = [1, 2].map((n) => spin({ link: false }, () => call(server, n)))
      const killer = spin(function* () {
        yield* snooze()
        callers[0]?.stop()
        server.restart()
      })
      for (const [i, caller] of callers.entries()) {
        const outcome = yield* caller.join()
        if (outcome.type === 'value') assert.equal(outcome.value, i + 1)
        else if (outcome.type === 'error') assert.ok(outcome.error instanceof FiberStopped)
        else assert.equal(i, 0)
      }
      yield* killer
      assert.equal(watchers(server), 0)
      yield* server.stop()
    })
  })

  it('S09 a stop at every switchpoint of calls leaves no watcher behind', () => {
    stopEverywhere(function* () {
      const target = spin(doubler, 5)
      try {
        yield* call(target, 1)
        yield* call(target, 2, { timeout: 3 })
      } catch (error) {
        if (!(error instanceof TimedOut)) throw error
      } finally {
        assert.equal(watchers(target), 0)
      }
      yield* target.stop()
    })
  })
})

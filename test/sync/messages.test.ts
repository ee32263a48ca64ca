// Mailboxes beyond S38-S40 (see test/semantics): lines, matches, loops; and calls, which are questions with an answer.

import {
  assert,
  type Call,
  call,
  DeadlockError,
  describe,
  endListeners,
  Fiber,
  FiberStopped,
  failAfter,
  moveOnAfter,
  now,
  type Routine,
  receive,
  receiveAllPending,
  receiveLoop,
  runtime,
  sleep,
  spin,
  started,
  suspend,
  TimedOut,
  test,
  thrownBy,
  tryReceive,
  waits,
} from '../prelude.js'
import { type ALine, aLine } from '../shared/line.js'

aLine('fibers that wait for room in a mailbox', function* (): Routine<ALine> {
  const target = spin(function* () {
    for (;;) {
      const then = (yield* suspend()) as (() => unknown) | undefined
      tryReceive()
      then?.()
    }
  })
  target.mailbox.cap(1)
  target.send('full')
  return {
    wait: () => target.mailbox.push('more'),
    give: (then) => target.schedule(then),
    tryTake: () => target.send('in between'),
    waiting: () => target.mailbox.stats().pushing,
  }
})

describe('selective receive', () => {
  test('looks at a message once, also when others were taken meanwhile', function* () {
    const me = Fiber.current
    const looked: number[] = []
    const isNegative = (n: number) => {
      looked.push(n)
      return n < 0
    }
    const looksAt = function* (): Routine<unknown> {
      looked.length = 0
      const found = yield* moveOnAfter(5, () => receive(isNegative), 'none')
      return [found, ...looked]
    }
    for (const n of [0, 1, 2]) me.send(n)
    assert.deepEqual(yield* looksAt(), ['none', 0, 1, 2])
    assert.equal(tryReceive(), 0)
    for (const n of [-7, 3, -8]) me.send(n)
    assert.deepEqual(yield* looksAt(), [-7, -7])
    assert.deepEqual(yield* looksAt(), [-8, 3, -8])
    assert.deepEqual(receiveAllPending(), [1, 2, 3])
    me.send(-9)
    assert.deepEqual(yield* looksAt(), [-9, -9])
  })

  test('a match that stops the sender it looks at costs no other its place', function* () {
    const { mailbox } = Fiber.current
    mailbox.cap(1)
    Fiber.current.send('full')
    const first = yield* started(() => mailbox.push('first'))
    const second = yield* started(() => mailbox.push('second'))
    const match = (message: string) => message === 'first' && !!first.stop()
    assert.equal(yield* moveOnAfter(10, () => receive(match), 'nothing'), 'nothing')
    assert.equal(second.waitsFor, 'room in the mailbox of main')
    assert.deepEqual([yield* receive(), yield* receive(), yield* second], ['full', 'second', true])
  })
})

describe('receiveLoop', () => {
  test('runs its body for each message, waits for it, and ends at false', function* () {
    const log: string[] = []
    const loop = spin(() =>
      receiveLoop(function* (message: string) {
        yield* sleep(10)
        log.push(`${message} ${now()}`)
        return message !== 'last'
      }),
    )
    for (const message of ['first', 'last', 'never']) loop.send(message)
    yield* loop
    assert.deepEqual(log, ['first 10', 'last 20'])
  })
})

/** How many calls wait for the end of this fiber. */
function watchers(fiber: Fiber): number {
  return endListeners(fiber)
}

describe('call', () => {
  test('is answered by reply or fail, also by another fiber or by a match; the answer is no message', function* () {
    const error = new Error('no such thing')
    const back = spin(() =>
      receiveLoop(function* (question: Call<number, number>) {
        yield* sleep(10)
        question.reply(question.message * 2)
      }),
    )
    const front = spin(() =>
      receiveLoop((question: Call<number>) =>
        question.message < 0 ? question.fail(error) : back.send(question),
      ),
    )
    assert.equal(yield* call(front, 21), 42)
    assert.equal(yield* call(front, 4, { timeout: 500 }), 8)
    assert.equal(yield* thrownBy(call(front, -1)), error)
    const matching = yield* started(() =>
      receive((question: Call) => question.reply('by the match') && false),
    )
    assert.equal(yield* call(matching, 'what?'), 'by the match')
    assert.deepEqual([watchers(front), watchers(matching), receiveAllPending()], [0, 0, []])
  })

  test('tells the target which fiber asks, and has the type of its question', function* () {
    const types: string[] = []
    const target = spin(() =>
      receiveLoop((question: Call) => {
        types.push(question.type)
        question.reply(question.caller.name)
      }),
    )
    for (const message of [1, null, 'word', { type: 'kind' }, { type: 3 }]) {
      assert.equal(yield* call(target, message), 'main')
    }
    assert.deepEqual(types, ['call', 'call', 'call', 'kind', 'call'])
  })

  test('throws FiberStopped when the target ends without an answer; its cause says why', function* () {
    const failure = new Error('broken')
    const rows: [string, () => any, unknown][] = [
      ['returned', () => sleep(10), undefined],
      ['failed', () => failAfter(10, failure), failure],
      ['stopped', () => waits(() => {}), 'enough'],
    ]
    for (const [name, body, cause] of rows) {
      const target: Fiber = spin({ name, link: false }, body)
      spin(function* () {
        yield* sleep(20)
        target.stop(undefined, { reason: 'enough' })
      })
      const error = yield* thrownBy(call(target, 'anybody?'))
      assert.ok(error instanceof FiberStopped)
      assert.match(error.message, new RegExp(`${name} ended before it answered "anybody\\?"`))
      assert.equal(error.cause, cause)
      const again = call(target, 'hello')
      for (const op of [again, again]) {
        assert.match((yield* thrownBy(op)).message, /is over and cannot answer "hello"/)
      }
    }
    assert.equal(runtime().counts.deadLetters, 6)
  })

  test('tells the parent of a failure once, by its own call; that of another does not count', function* () {
    const broken = () =>
      spin(function* () {
        yield* receive()
        throw new Error('broken')
      })
    assert.equal((yield* thrownBy(call(broken(), 'hello'))).cause.message, 'broken')
    yield* sleep(10)
    const target = broken()
    const caller = spin(() => thrownBy(call(target, 'hello')))
    assert.equal((yield* thrownBy(sleep(10))).message, 'broken')
    assert.ok((yield* caller) instanceof FiberStopped)
  })

  test('to a grandchild that fails: its error still comes up through the tree', function* () {
    const error = new Error('broken')
    let target!: Fiber<any, any>
    spin('parent', function* () {
      target = spin('target', function* () {
        yield* receive()
        throw error
      })
      yield* sleep()
    })
    yield* sleep(1)
    const thrown = yield* thrownBy(call(target, 'hello'))
    assert.ok(thrown instanceof FiberStopped || thrown === error)
    if (thrown !== error) assert.equal(yield* thrownBy(sleep(10)), error)
  })

  test('whose question is taken out of the mailbox by hand fails when the target is restarted', function* () {
    const target = yield* started(() => waits(() => {}))
    const caller = spin(() => thrownBy(call(target, 'question')))
    yield* sleep(1)
    const [question] = [(target as any)._mailbox.at(0)]
    assert.equal(target.mailbox.delete(question), true)
    target.restart()
    assert.ok((yield* caller) instanceof FiberStopped)
    yield* target.kill()
  })

  test('leaving one that was read does not look through the mailbox of the target', function* () {
    const target = spin(function* () {
      for (let i = 0; i < 200; i++) yield* receive()
      yield* sleep()
    })
    const callers = Array.from({ length: 200 }, () => spin(() => call(target, 'question')))
    yield* sleep(1)
    for (let i = 0; i < 1000; i++) target.send(i)
    const ring = (target as any)._mailbox
    let looked = 0
    ring.at = (index: number) => {
      looked++
      return Object.getPrototypeOf(ring).at.call(ring, index)
    }
    for (const caller of callers) yield* caller.stop()
    assert.equal(looked, 0)
    yield* target.stop()
  })

  test('throws TimedOut when its time is up, and a late or second answer says false', function* () {
    const said: boolean[] = []
    const target = spin('slow', () =>
      receiveLoop(function* (question: Call) {
        yield* sleep(100)
        said.push(question.reply(1), question.reply(2), question.fail(new Error('three')))
      }),
    )
    const error = yield* thrownBy(call(target, 1, { timeout: 50 }))
    assert.ok(error instanceof TimedOut)
    assert.match(error.message, /slow did not answer 1 within 50 ms; it is waiting for sleep\(100\)/)
    yield* sleep(100)
    const asked = yield* started(() => call(target, 2))
    assert.equal(asked.waitsFor, 'slow to answer')
    assert.equal(yield* asked, 1)
    assert.deepEqual(said, [false, false, false, true, false, false])
  })

  test('put after a restart, is answered by the new incarnation; one before it is refused', function* () {
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
    const before = yield* started(() => call(target, 'before'))
    target.restart()
    assert.equal(yield* call(target, 'after'), 'after of 2')
    assert.ok((yield* thrownBy(before.await())) instanceof FiberStopped)
    assert.equal(watchers(target), 0)
  })

  test('for an incarnation that never comes, or ends without an answer, is refused', function* () {
    const mute = yield* started(() => waits(() => sleep(10), Fiber.current.incarnation === 1 ? 1000 : 5))
    mute.restart()
    assert.ok((yield* thrownBy(call(mute, 'hello?'))) instanceof FiberStopped)
    for (const error of [undefined, new Error('of the teardown')]) {
      const target = yield* started(() => waits(() => (error ? failAfter(10, error) : sleep(10))))
      target.restart()
      const caller = yield* started(() => thrownBy(call(target, 'hello?')))
      if (error === undefined) target.stop()
      assert.ok((yield* caller) instanceof FiberStopped)
    }
  })

  test('to itself is a deadlock, said at once', function* () {
    assert.ok((yield* thrownBy(call(Fiber.current, 1))) instanceof DeadlockError)
  })

  test('with a timeout of Infinity has no limit', function* () {
    const target = spin(function* () {
      const question = yield* receive<Call>()
      yield* sleep(2 ** 31 - 1)
      question.reply('late')
    })
    assert.equal(yield* call(target, 'question', { timeout: Infinity }), 'late')
  })
})

// Mailboxes beyond send and receive: choosing messages, caps, loops; and calls, which are questions with an answer.

import {
  assert,
  Call,
  call,
  DeadlockError,
  describe,
  Fiber,
  type FiberEnd,
  FiberStopped,
  failAfter,
  moveOnAfter,
  NotInFiber,
  now,
  type Routine,
  receive,
  receiveAllPending,
  receiveLoop,
  runtime,
  sleep,
  spin,
  suspend,
  TimedOut,
  tap,
  test,
  thrownBy,
  tryReceive,
  waits,
} from '../prelude.js'
import { type ALine, aLine } from '../shared/line.js'

const isEven = (n: number) => n % 2 === 0
const isString = (message: unknown): message is string => typeof message === 'string'

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
  test('takes the first message that matches, those that wait and those that come', function* () {
    const me = Fiber.current
    for (const n of [1, 2, 3, 4, undefined, null, false]) me.send(n)
    assert.deepEqual([yield* receive(isEven), tryReceive(isEven), tryReceive(isString)], [2, 4, undefined])
    for (const wanted of [undefined, null, false]) {
      assert.equal(yield* receive((message) => message === wanted), wanted)
    }
    const choosy = spin(function* () {
      return [yield* receive(isString), ...receiveAllPending()]
    })
    yield* sleep(1)
    for (const message of [1, 2, 'word', 3]) choosy.send(message)
    assert.deepEqual(yield* choosy, ['word', 1, 2, 3])
    assert.deepEqual(receiveAllPending(), [1, 3])
  })

  test('looks at a message once, however often the same match waits', function* () {
    const looked: number[] = []
    const isNegative = (n: number) => {
      looked.push(n)
      return n < 0
    }
    const me = Fiber.current
    const looksAt = function* (): Routine<unknown> {
      looked.length = 0
      const found = yield* moveOnAfter(5, () => receive(isNegative), 'none')
      return [found, ...looked]
    }
    for (const n of [0, 1, 2]) me.send(n)
    assert.deepEqual(yield* looksAt(), ['none', 0, 1, 2])
    assert.deepEqual(yield* looksAt(), ['none'])
    assert.equal(tryReceive(), 0) // the oldest goes
    me.send(-7)
    me.send(-8)
    assert.deepEqual(yield* looksAt(), [-7, -7])
    assert.equal(yield* receive((n: number) => n === 1), 1) // another match: the first begins anew
    assert.deepEqual(yield* looksAt(), [-8, 2, -8])
    spin(function* () {
      yield* sleep(1)
      for (const n of [3, 4]) me.send(n)
    })
    assert.deepEqual(yield* looksAt(), ['none', 3, 4])
    me.send(-9)
    assert.deepEqual(yield* looksAt(), [-9, -9])
    assert.deepEqual(receiveAllPending(), [2, 3, 4])
    me.send(-10)
    assert.deepEqual(yield* looksAt(), [-10, -10])
  })

  test('runs a match in no fiber; one that throws fails the receiver, not the sender, and takes nothing', function* () {
    const seen: unknown[] = []
    const greedy = (message: string) => {
      if (message === 'harmless') return true
      seen.push(tryReceive())
      return true
    }
    const fiber = spin(function* () {
      yield* receive(greedy)
      const errors = [yield* thrownBy(receive(greedy)), yield* thrownBy(receive(greedy))]
      yield* sleep(5)
      return [...errors.map((error) => error instanceof NotInFiber), ...receiveAllPending()]
    })
    yield* sleep(1)
    for (const message of ['harmless', 'before', 'after']) {
      assert.equal(fiber.send(message), true)
      yield* sleep(1)
    }
    assert.deepEqual([yield* fiber, seen], [[true, true, 'before', 'after'], []])
  })

  test('reaches past a full mailbox, among those that wait for room and those that come', function* () {
    const choosy = spin(function* () {
      yield* sleep(10)
      return [yield* receive(isString), yield* receive(isString), ...receiveAllPending()]
    })
    choosy.mailbox.cap(2)
    for (const message of [1, 2, 3, 'in line', 4]) {
      spin(() => choosy.mailbox.push(message))
      yield* sleep(1)
    }
    yield* sleep(10)
    assert.equal(choosy.send('later'), true)
    assert.deepEqual(yield* choosy, ['in line', 'later', 1, 2, 3, 4])
  })

  test('a match that stops the sender it looks at costs no other its place', function* () {
    const first = spin(() => fiber.mailbox.push('first'))
    const fiber: Fiber<unknown[], string> = spin(function* () {
      yield* sleep(10)
      const match = (message: string) => message === 'first' && !!first.stop()
      const found = yield* moveOnAfter(10, () => receive(match), 'nothing')
      assert.equal(fiber.mailbox.stats().pushing, 1)
      return [found, yield* receive(), yield* receive()]
    })
    fiber.mailbox.cap(1)
    fiber.send('full')
    yield* sleep(1)
    const second = spin(() => fiber.mailbox.push('second'))
    assert.deepEqual(yield* fiber, ['nothing', 'full', 'second'])
    assert.equal(yield* second, true)
  })

  test('a restarted fiber finds what came after the restart, and not what waited before it', function* () {
    const fiber = spin(function* () {
      return yield* receive(isEven)
    })
    fiber.mailbox.cap(2)
    yield* sleep(1)
    for (const n of [1, 3]) fiber.send(n)
    fiber.restart()
    assert.deepEqual([fiber.send(5), fiber.mailbox.size, fiber.send(6)], [true, 1, true])
    assert.equal(yield* fiber, 6)
  })
})

describe('a capped mailbox', () => {
  test('lets in as many as there is room for, in order; send says false', function* () {
    const me = Fiber.current
    me.mailbox.cap(1)
    for (let n = 1; n <= 6; n++) {
      spin(() => me.mailbox.push(n))
      yield* sleep(1)
    }
    const stats = { size: 1, capacity: 1, pushing: 5 }
    assert.deepEqual([me.mailbox.stats(), me.send(7)], [stats, false])
    assert.equal(yield* receive(), 1)
    assert.equal(yield* receive((n) => n === 2), 2)
    assert.deepEqual(me.mailbox.stats(), { ...stats, pushing: 3 })
    me.mailbox.cap(3)
    assert.deepEqual(me.mailbox.stats(), { size: 3, capacity: 3, pushing: 1 })
    me.mailbox.cap(1) // a smaller one drops nothing
    assert.deepEqual([me.mailbox.size, me.send(7)], [3, false])
    me.mailbox.cap(Infinity)
    assert.deepEqual(receiveAllPending(), [3, 4, 5, 6])
    assert.equal(runtime().counts.deadLetters, 0)
  })

  test('tells false to those that wait for room when its fiber ends, and counts their messages', function* () {
    const target = spin(() => sleep(100))
    target.mailbox.cap(1)
    target.send('first')
    const pushers = [1, 2].map((n) => spin(() => target.mailbox.push(n)))
    yield* sleep(10)
    const seen: unknown[] = []
    const untap = tap((event, _, message) => event === 'deadLetter' && seen.push(message))
    yield* target.stop()
    assert.deepEqual(yield* Fiber.await(...pushers), [false, false])
    assert.equal(yield* target.mailbox.push('late'), false)
    untap()
    assert.deepEqual([seen.sort(), runtime().counts.deadLetters], [[1, 2, 'late'], 3])
  })

  test('has room again at a restart: those that wait reach the new incarnation', function* () {
    const target = spin(function* () {
      yield* sleep(10)
      const got = [yield* receive()]
      yield* sleep(10)
      return [...got, ...receiveAllPending()]
    })
    target.mailbox.cap(1)
    target.send('old')
    const pusher = spin(() => target.mailbox.push('new'))
    yield* sleep(5)
    target.restart()
    assert.deepEqual([target.mailbox.size, yield* pusher], [1, true])
    assert.deepEqual(yield* target, ['new'])
  })

  test('lets in calls and the news of a monitor although it is full', function* () {
    const me = Fiber.current
    me.mailbox.cap(1)
    me.send('full')
    const worker = spin(() => 'done')
    worker.monitor()
    spin(() => call(me, 'question'))
    yield* sleep(1)
    assert.equal(tryReceive(), 'full')
    const got = receiveAllPending()
    assert.deepEqual([got.length, got.some((message) => message instanceof Call)], [2, true])
    assert.ok(got.some((message) => (message as FiberEnd).fiber === worker))
  })

  test('refuses to wait for room in its own', function* () {
    const me = Fiber.current
    me.mailbox.cap(1)
    me.send(1)
    const error = yield* thrownBy(me.mailbox.push(2))
    assert.ok(error instanceof DeadlockError && /own full mailbox/.test(error.message))
    const other = spin(() => me.mailbox.push(3))
    yield* sleep(1)
    assert.equal(other.waitsFor, 'room in the mailbox of main')
  })

  test('counts mailboxes that grow past a thousand messages', function* () {
    const { counts } = runtime()
    for (let n = 0; n < 2000; n++) {
      if (n === 1000) assert.equal(counts.crowdedMailboxes, 0)
      Fiber.current.send(n)
    }
    assert.equal(counts.crowdedMailboxes, 1)
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

/** Answers with twice the number, after a while. */
function* doubler(ms = 0): Routine<void> {
  yield* receiveLoop(function* (question: Call<number, number>) {
    if (ms > 0) yield* sleep(ms)
    question.reply(question.message * 2)
  })
}

/** How many calls wait for the end of this fiber. */
function watchers(fiber: Fiber): number {
  return (fiber as any).cold?.atEnd?.size ?? 0
}

describe('call', () => {
  test('is answered by reply or fail, also by another fiber or by a match; the answer is no message', function* () {
    const error = new Error('no such thing')
    const back = spin(doubler, 10)
    const front = spin(() =>
      receiveLoop((question: Call<number>) =>
        question.message < 0 ? question.fail(error) : back.send(question),
      ),
    )
    assert.equal(yield* call(front, 21), 42)
    assert.equal(yield* call(front, 4, { timeout: 500 }), 8)
    assert.equal(yield* thrownBy(call(front, -1)), error)
    const matching = spin(() => receive((question: Call) => question.reply('by the match') && false))
    yield* sleep(1)
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
    const asked = spin(() => call(target, 2))
    yield* sleep(1)
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
    const before = spin({ link: false }, () => call(target, 'before'))
    yield* sleep(1)
    target.restart()
    const after = spin(() => call(target, 'after'))
    assert.equal(yield* after, 'after of 2')
    assert.ok((yield* thrownBy(before.await())) instanceof FiberStopped)
    assert.equal(watchers(target), 0)
  })

  test('for an incarnation that never comes, or ends without an answer, is refused', function* () {
    const mute = spin(() => waits(() => sleep(10), Fiber.current.incarnation === 1 ? 1000 : 5))
    yield* sleep(1)
    mute.restart()
    assert.ok((yield* thrownBy(call(mute, 'hello?'))) instanceof FiberStopped)
    for (const error of [undefined, new Error('of the teardown')]) {
      const target = spin({ link: false }, () =>
        waits(function* () {
          yield* sleep(10)
          if (error !== undefined) throw error
        }),
      )
      yield* sleep(1)
      target.restart()
      const caller = spin(() => thrownBy(call(target, 'hello?')))
      yield* sleep(1)
      if (error === undefined) target.stop()
      assert.ok((yield* caller) instanceof FiberStopped)
    }
  })

  test('to itself is a deadlock, said at once', function* () {
    assert.ok((yield* thrownBy(call(Fiber.current, 1))) instanceof DeadlockError)
  })
})

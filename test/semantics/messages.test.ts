// S38-S40: mailboxes, messages to the dead, calls, and selective receive.

import {
  assert,
  Call,
  call,
  describe,
  endListeners,
  Fiber,
  FiberStopped,
  failAfter,
  isStop,
  moveOnAfter,
  NotInFiber,
  type Routine,
  receive,
  receiveAllPending,
  receiveLoop,
  runtime,
  sleep,
  spin,
  started,
  supervise,
  TimedOut,
  tap,
  test,
  thrownBy,
  tryReceive,
  turn,
  waits,
} from '../prelude.js'

/** Receives so many messages. */
function* collect(n: number): Routine<unknown[]> {
  const got: unknown[] = []
  while (got.length < n) got.push(yield* receive())
  return got
}

/** A fiber that takes what has come after so many milliseconds. */
const late = (ms: number): Fiber<unknown[]> =>
  spin(function* () {
    yield* sleep(ms)
    return receiveAllPending()
  })

describe('S38 mailbox', () => {
  test('send never waits; messages arrive in order, any value, an Error too', function* () {
    const messages = [1, undefined, null, 0, false, new Error('a value'), 'last']
    const waiting = yield* started(() => collect(messages.length))
    for (const fiber of [waiting, spin(collect, messages.length), late(5)]) {
      for (const message of messages) assert.equal(fiber.send(message), true)
      assert.deepEqual(yield* fiber, messages)
    }
  })

  test('messages of one sender arrive in the order sent, whatever comes in between', function* () {
    const receiver = spin(collect, 6)
    for (const [name, ms] of [
      ['a', 2],
      ['b', 3],
    ] as const) {
      spin(function* () {
        for (const n of [1, 2, 3]) {
          receiver.send(name + n)
          yield* sleep(ms)
        }
      })
    }
    const got = (yield* receiver) as string[]
    const from = (name: string) => got.filter((message) => message.startsWith(name)).join(' ')
    assert.deepEqual([from('a'), from('b')], ['a1 a2 a3', 'b1 b2 b3'])
  })

  test('a fiber can send to itself, and code outside fibers to any', function* () {
    const me = Fiber.current
    me.send('note')
    setImmediate(() => me.send('from a callback'))
    assert.equal(yield* receive(), 'note')
    yield* turn()
    yield* turn()
    assert.equal(tryReceive(), 'from a callback')
  })

  test('with a cap, send says false when it is full; that is no dead letter', function* () {
    const me = Fiber.current
    assert.equal(me.mailbox.capacity, Infinity)
    for (const n of [1, 2, 3]) me.send(n)
    me.mailbox.cap(1) // a smaller cap drops nothing
    assert.equal(me.send(4), false)
    assert.deepEqual(receiveAllPending(), [1, 2, 3])
    assert.deepEqual([me.send(5), me.send(6)], [true, false])
    assert.equal(runtime().counts.deadLetters, 0)
  })

  test('a cap is a whole number above 0, or Infinity', function* () {
    for (const wrong of [0, -1, 1.5, Number.NaN, '3', undefined]) {
      assert.throws(() => Fiber.current.mailbox.cap(wrong as number), /whole number above 0/)
    }
  })

  test('push waits for room, in line; every message that is taken lets one in', function* () {
    const log: string[] = []
    const slow = spin('slow', function* () {
      const got: unknown[] = []
      for (let n = 0; n < 3; n++) {
        yield* sleep(10)
        got.push(n === 0 ? yield* receive() : n === 1 ? tryReceive() : yield* receive(() => true))
      }
      yield* sleep(10)
      return [...got, ...receiveAllPending()]
    })
    slow.mailbox.cap(2)
    for (const name of ['a', 'b']) {
      spin(function* () {
        yield* sleep(name === 'a' ? 0 : 1)
        for (let n = 1; n <= 3; n++) {
          assert.equal(yield* slow.mailbox.push(`${name}${n}`), true)
          log.push(`${name}${n} at ${runtime().now()}`)
        }
      })
    }
    yield* sleep(5)
    assert.deepEqual(slow.mailbox.stats(), { size: 2, capacity: 2, pushing: 2 })
    assert.deepEqual(yield* slow, ['a1', 'a2', 'a3', 'b1', 'b2', 'b3'])
    yield* sleep(1)
    assert.deepEqual(log, ['a1 at 0', 'a2 at 0', 'a3 at 10', 'b1 at 20', 'b2 at 30', 'b3 at 40'])
  })

  test('a larger cap lets pushers in; one that is stopped leaves the line with its message', function* () {
    const { mailbox } = Fiber.current
    mailbox.cap(1)
    const pushers: Fiber[] = []
    for (let n = 0; n < 6; n++) {
      pushers.push(spin(() => mailbox.push(n)))
      yield* sleep(1)
    }
    yield* pushers[2]!.stop()
    assert.deepEqual(mailbox.stats(), { size: 1, capacity: 1, pushing: 4 })
    mailbox.cap(3)
    assert.deepEqual(mailbox.stats(), { size: 3, capacity: 3, pushing: 2 })
    mailbox.cap(Infinity)
    assert.deepEqual(receiveAllPending(), [0, 1, 3, 4, 5])
  })

  test('a mailbox that grows past a thousand messages is counted, and keeps their order', function* () {
    const me = Fiber.current
    const crowded = () => runtime().counts.crowdedMailboxes
    for (let n = 0; n < 1000; n++) me.send(n)
    assert.equal(crowded(), 0)
    for (let n = 1000; n < 2000; n++) me.send(n)
    assert.equal(crowded(), 1)
    assert.ok(receiveAllPending().every((message, n) => message === n))
  })
})

describe('S39 to a dead fiber', () => {
  const deadLetters = (): number => runtime().counts.deadLetters

  test('send says false and counts; the message is told to taps and not kept', function* () {
    const letters: unknown[] = []
    const untap = tap((event, fiber, detail) => void (event === 'deadLetter' && letters.push(fiber, detail)))
    const fiber = spin(() => 1)
    fiber.send('dropped with it')
    yield* fiber
    const before = fiber.mailbox.size
    assert.equal(fiber.send('m'), false)
    untap()
    assert.deepEqual(letters, [fiber, 'm'])
    assert.deepEqual([deadLetters(), fiber.mailbox.size], [1, before])
  })

  test('one whose body is over and whose children still die counts as dead', function* () {
    const fiber = spin(function* () {
      spin(waits, () => sleep(10))
      yield* sleep(1)
    })
    yield* sleep(5)
    assert.equal(fiber.phase, 'closing')
    assert.equal(fiber.send('m'), false)
    assert.equal(deadLetters(), 1)
  })

  test('one that is being stopped is not dead yet: its cleanup can read what is sent', function* () {
    const read: unknown[] = []
    const fiber = yield* started(() =>
      waits(function* () {
        yield* sleep(5)
        read.push(...receiveAllPending(), isStop(yield* thrownBy(receive()))) // no wait for more (S17)
      }),
    )
    fiber.stop()
    assert.equal(fiber.send('m'), true)
    yield* fiber.join()
    assert.deepEqual(read, ['m', true])
  })

  test('a push that waits for room gives false; its message is a dead letter', function* () {
    const fiber = spin(() => sleep(100))
    fiber.mailbox.cap(1)
    fiber.send('first')
    const pushers = [1, 2].map((n) => spin(() => fiber.mailbox.push(n)))
    yield* sleep(10)
    yield* fiber.stop()
    assert.deepEqual(yield* Fiber.await(...pushers), [false, false])
    assert.equal(yield* fiber.mailbox.push('late'), false)
    assert.equal(deadLetters(), 3)
  })

  test('a dead fiber is told of no end that it monitors: no dead letter is counted', function* () {
    const fiber = spin(() => sleep(10))
    yield* spin(() => fiber.monitor())
    assert.equal(endListeners(fiber), 0) // nothing is left of it there
    yield* fiber
    assert.equal(deadLetters(), 0)
  })

  test('nor is one that died after it, when that one is restarted', function* () {
    const fiber = spin(() => sleep(10))
    yield* spin(function* () {
      fiber.monitor()
      yield* fiber
    })
    yield* fiber.restart()
    assert.deepEqual([deadLetters(), endListeners(fiber)], [0, 0])
  })

  test('after unmonitor, monitor begins anew', function* () {
    const fiber = spin(() => sleep(10))
    fiber.monitor()
    fiber.unmonitor()
    fiber.monitor()
    yield* fiber
    assert.equal(((yield* receive()) as { type: string }).type, 'end')
  })

  test('a message that is deleted makes room, and is not looked at by a receive that waits', function* () {
    const seen: unknown[] = []
    const isLate = (message: unknown) => {
      seen.push(message)
      return message === 'late'
    }
    const fiber = spin(() => receive(isLate))
    fiber.mailbox.cap(3)
    for (const message of ['a', 'b', 'c']) fiber.send(message)
    const pusher = spin(() => fiber.mailbox.push('d'))
    yield* sleep(1)
    assert.deepEqual([fiber.mailbox.delete('b'), fiber.mailbox.delete('b')], [true, false])
    assert.deepEqual([yield* pusher, fiber.mailbox.has('d'), fiber.mailbox.has('b')], [true, true, false])
    fiber.mailbox.delete('a')
    fiber.send('late')
    assert.equal(yield* fiber, 'late')
    assert.deepEqual(seen, ['a', 'b', 'c', 'd', 'late'])
  })

  test('a message for the next incarnation can be deleted as well', function* () {
    const fiber = spin(function* () {
      try {
        return yield* receive()
      } finally {
        yield* sleep(5)
      }
    })
    yield* sleep(1)
    fiber.restart()
    fiber.mailbox.cap(1)
    fiber.send('first')
    const pusher = spin(() => fiber.mailbox.push('second'))
    yield* sleep(1)
    assert.equal(fiber.mailbox.delete('first'), true)
    assert.equal(yield* pusher, true)
    assert.equal(yield* fiber, 'second')
  })

  test('callers that leave take their unread questions back, also out of the middle', function* () {
    const server = spin('server', () => sleep())
    server.mailbox.cap(1)
    const callers = Array.from({ length: 100 }, (_, i) => spin(() => call(server, i)))
    yield* sleep(1) // in any order
    assert.equal(server.mailbox.size, 100)
    for (let step = 0; step < 3; step++) {
      for (const [i, caller] of callers.entries()) if (i % 3 === (step * 2) % 3) yield* caller.stop()
      assert.equal(server.mailbox.size, 100 - callers.filter(({ state }) => state === 'dead').length)
    }
    assert.ok((yield* thrownBy(call(server, 'late', { timeout: 5 }))) instanceof TimedOut)
    assert.equal(server.mailbox.size, 0)
    yield* server.stop()
  })

  test('a call gives the answer, or throws it, or TimedOut; one that comes too late is dropped', function* () {
    const error = new Error('no such thing')
    const said: boolean[] = []
    const server = spin(() =>
      receiveLoop(function* (question: Call<number>) {
        yield* sleep(question.message)
        said.push(question.message > 0 ? question.reply(`${question.message} ms`) : question.fail(error))
      }),
    )
    assert.equal(yield* call(server, 1), '1 ms')
    assert.equal(yield* thrownBy(call(server, 0)), error)
    assert.ok((yield* thrownBy(call(server, 100, { timeout: 50 }))) instanceof TimedOut)
    assert.equal(yield* moveOnAfter(10, () => call(server, 2), 'left'), 'left')
    yield* sleep(200)
    // No answer lands in a mailbox, and the server never sees the last question: it was unread when its caller left.
    assert.deepEqual([said, receiveAllPending()], [[true, true, false], []])
  })

  test('a full mailbox lets a call in, and the end of a monitored fiber', function* () {
    const server = spin(function* () {
      spin(() => 'over').monitor()
      yield* sleep(10)
      const messages = receiveAllPending()
      for (const message of messages) if (message instanceof Call) message.reply('answered')
      return messages.length
    })
    server.mailbox.cap(1)
    server.send('full')
    assert.equal(yield* call(server, 'question'), 'answered')
    assert.equal(yield* server, 3)
  })

  for (const end of ['the restart is called off', 'its supervisor is stopped']) {
    test(`call and push to a fiber that waits for its restart end when ${end}`, function* () {
      const child = spin(failAfter, 10, new Error('down'))
      const supervisor = spin(() => supervise([child], { restart: 'onError', backoff: 1000 }))
      yield* sleep(20)
      child.mailbox.cap(1)
      assert.equal(child.send('fits'), true)
      const caller = spin(() => thrownBy(call(child, 'hello?')))
      const pusher = yield* started(() => child.mailbox.push('does not fit'))
      yield* end === 'its supervisor is stopped' ? supervisor.stop() : child.stop()
      assert.ok((yield* caller) instanceof FiberStopped)
      assert.equal(yield* pusher, false)
      assert.equal(child.send('hello?'), false)
    })
  }
})

describe('S40 selective receive', () => {
  const isEven = (n: number) => n % 2 === 0
  const isString = (message: unknown): message is string => typeof message === 'string'

  test('takes the first message that matches and leaves the others in order', function* () {
    for (const n of [1, 2, 3, 4, 6]) Fiber.current.send(n)
    assert.equal(yield* receive(isEven), 2)
    assert.equal(tryReceive(isEven), 4)
    assert.equal(
      tryReceive((n) => n > 6),
      undefined,
    )
    for (const wanted of [undefined, null, false]) {
      const isWanted = (message: unknown) => message === wanted
      for (let n = 0; n < 2; n++) Fiber.current.send(wanted)
      assert.equal(yield* receive(isWanted), wanted)
      assert.equal(tryReceive(isWanted), wanted)
    }
    assert.deepEqual(receiveAllPending(), [1, 3, 6])
  })

  test('waits for a message that matches, which passes those that came before', function* () {
    const fiber = yield* started(function* () {
      return [yield* receive(isString), ...receiveAllPending()]
    })
    for (const message of [1, 2, 'word', 3]) fiber.send(message)
    assert.deepEqual(yield* fiber, ['word', 1, 2, 3])
  })

  test('misses no message when one that it has looked at is taken back', function* () {
    const got: unknown[] = []
    const fiber = yield* started(function* () {
      while (got.length < 2) {
        got.push(yield* receive(isString))
        yield* sleep(10)
      }
    })
    const caller = yield* started(() => call(fiber, 5))
    yield* caller.stop() // with its question
    fiber.send('one')
    yield* sleep(5)
    fiber.send('two')
    yield* moveOnAfter(100, () => fiber)
    assert.deepEqual(got, ['one', 'two'])
  })

  test('looks at each message once, as long as the match is the same', function* () {
    const me = Fiber.current
    let looked: number[] = []
    const isNegative = (n: number) => {
      looked.push(n)
      return n < 0
    }
    for (let n = 0; n < 100; n++) me.send(n)
    for (let i = 0; i < 5; i++) yield* moveOnAfter(1, () => receive(isNegative))
    assert.equal(looked.length, 100)
    looked = []
    assert.equal(tryReceive(), 0) // the cursor moves with it
    spin(function* () {
      yield* sleep(1)
      for (const n of [100, 101]) me.send(n) // these are looked at as they come
      yield* sleep(10)
      me.send(-7)
    })
    assert.equal(yield* moveOnAfter(5, () => receive(isNegative), 'none'), 'none')
    assert.equal(yield* receive(isNegative), -7)
    assert.deepEqual(looked, [100, 101, -7])
    me.send(-8)
    assert.equal(yield* receive((n: number) => n === 50), 50)
    assert.equal(yield* receive(isNegative), -8) // another match in between: from the first on
    assert.equal(me.mailbox.size, 100)
  })

  test('a restarted fiber looks at the messages of its new incarnation', function* () {
    const fiber = yield* started(() => receive(isEven) as Routine<number>)
    for (const n of [1, 3]) fiber.send(n)
    fiber.restart()
    for (const n of [6, 5]) fiber.send(n)
    assert.equal(yield* fiber, 6)
  })

  test('a match that throws fails the receiver, not the sender, and the message stays', function* () {
    const fiber = yield* started(function* () {
      const error = yield* thrownBy(receive((message: string) => message.startsWith('a')))
      return [error.constructor, yield* receive()]
    })
    assert.equal(fiber.send(null), true)
    assert.deepEqual(yield* fiber, [TypeError, null])
  })

  test('a match runs in the name of no fiber: it cannot receive', function* () {
    const greedy = () => {
      tryReceive()
      return true
    }
    for (const n of [1, 2]) Fiber.current.send(n)
    assert.ok((yield* thrownBy(receive(greedy))) instanceof NotInFiber)
    assert.equal(Fiber.current.name, 'main') // the receiver has its name back
    assert.deepEqual(receiveAllPending(), [1, 2])
    const waiting = yield* started(() => thrownBy(receive(greedy)))
    waiting.send(3)
    assert.ok((yield* waiting) instanceof NotInFiber)
  })

  test('a full mailbox does not keep out the message that its fiber waits for', function* () {
    const fiber = spin(function* () {
      yield* sleep(10)
      const found = [yield* receive(isString), yield* receive(isString)]
      return [...found, ...receiveAllPending()]
    })
    fiber.mailbox.cap(2)
    for (const [n, message] of [1, 2, 3, 'in line', 4, 'later'].entries()) {
      spin(function* () {
        yield* sleep(message === 'later' ? 20 : n)
        yield* fiber.mailbox.push(message)
      })
    }
    assert.deepEqual(yield* fiber, ['in line', 'later', 1, 2, 3, 4])
  })

  test('a match is a plain function', function* () {
    for (const wrong of ['even', 3, null, function* () {}, async () => true] as any[]) {
      assert.throws(() => receive(wrong), { code: 'BAD_ARGUMENT' })
      assert.throws(() => tryReceive(wrong), { code: 'BAD_ARGUMENT' })
    }
  })

  test('receiveAllPending and tryReceive never wait', function* () {
    assert.equal(tryReceive(), undefined)
    assert.deepEqual(receiveAllPending(), [])
  })

  test('they need a fiber', () => {
    assert.throws(tryReceive, { name: 'NotInFiber', message: /tryReceive/ })
    assert.throws(receiveAllPending, { name: 'NotInFiber', message: /receiveAllPending/ })
  })
})

// Mailboxes beyond send and receive: choosing messages (S40), caps (S38), loops.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  BadArgument,
  DeadlockError,
  Fiber,
  type FiberEnd,
  isStop,
  moveOnAfter,
  type Routine,
  receive,
  receiveAllPending,
  receiveLoop,
  shield,
  sleep,
  snooze,
  spin,
  tryReceive,
} from 'polyphony'
import { stopEverywhere, virtual } from 'polyphony/testing'
import { everyOrder } from '../explore/orders.js'
import { thrownBy } from '../prelude.js'

const isEven = (n: number) => n % 2 === 0
const isOdd = (n: number) => n % 2 !== 0
const isString = (message: unknown): message is string => typeof message === 'string'

/** The runtime that this fiber lives in. */
function counts(): { deadLetters: number; crowdedMailboxes: number } {
  return (Fiber.current as any).runtime.counts
}

describe('selective receive', () => {
  it('S40 takes the first message that matches and leaves the others in order', () =>
    virtual(function* () {
      const me = Fiber.current
      for (const n of [1, 2, 3, 4]) me.send(n)
      assert.equal(yield* receive(isEven), 2)
      assert.equal(yield* receive(isEven), 4)
      assert.deepEqual(receiveAllPending(), [1, 3])
    }))

  it('S40 waits for a message that matches, and is handed it over those that came before', () =>
    virtual(function* () {
      const fiber = spin(function* () {
        const word = yield* receive(isString)
        return [word, ...receiveAllPending()]
      })
      yield* sleep(1)
      for (const message of [1, 2, 'word', 3]) fiber.send(message)
      assert.deepEqual(yield* fiber, ['word', 1, 2, 3])
    }))

  it('S40 a repeated wait with the same match looks only at new messages', () =>
    virtual(function* () {
      let looks = 0
      const isWanted = (n: number) => {
        looks++
        return n < 0
      }
      const me = Fiber.current
      for (let n = 0; n < 100; n++) me.send(n)
      for (let i = 0; i < 5; i++) assert.equal(yield* moveOnAfter(1, () => receive(isWanted), 'none'), 'none')
      assert.equal(looks, 100)
      assert.equal(tryReceive(), 0) // the oldest goes: the cursor moves with it
      me.send(-7)
      assert.equal(yield* receive(isWanted), -7)
      assert.equal(looks, 101)
      me.send(-8)
      assert.equal(yield* receive((n: number) => n === 50), 50) // another match, then the first again
      assert.equal(yield* receive(isWanted), -8)
      assert.equal(me.mailbox.size, 98)
    }))

  it('S40 a message that came while the fiber waited for another is not looked at again', () =>
    virtual(function* () {
      const looked: number[] = []
      const isWanted = (n: number) => {
        looked.push(n)
        return n < 0
      }
      const fiber = spin(function* () {
        yield* moveOnAfter(10, () => receive(isWanted))
        return yield* receive(isWanted)
      })
      yield* sleep(5)
      fiber.send(1)
      fiber.send(2)
      yield* sleep(10)
      fiber.send(-1)
      assert.equal(yield* fiber, -1)
      assert.deepEqual(looked, [1, 2, -1])
    }))

  it('S40 undefined, null and false can be looked for', () =>
    virtual(function* () {
      const me = Fiber.current
      for (const message of [1, undefined, null, false]) me.send(message)
      assert.equal(yield* receive((m) => m === undefined), undefined)
      assert.equal(yield* receive((m) => m === null), null)
      assert.equal(
        tryReceive((m) => m === false),
        false,
      )
      assert.equal(
        tryReceive((m) => m === 'nothing'),
        undefined,
      )
      assert.equal(tryReceive(isOdd), 1)
    }))

  it('S40 a match that throws fails the receiver, not the sender, and the message stays', () =>
    virtual(function* () {
      const choosy = spin({ link: false }, function* () {
        const error = yield* thrownBy(
          receive((m: { name: string }) => {
            assert.equal((() => thrown(() => Fiber.current.name))(), 'NotInFiber') // nobody's code runs
            return m.name.startsWith('a')
          }),
        )
        return [error.constructor, receiveAllPending()]
      })
      yield* sleep(1)
      assert.equal(choosy.send(null), true)
      assert.deepEqual(yield* choosy, [TypeError, [null]])
    }))

  it('S17 S40 is refused while unwinding, like any receive', () =>
    virtual(function* () {
      const refused: boolean[] = []
      const fiber = spin(function* () {
        try {
          yield* sleep(100)
        } finally {
          try {
            yield* receive(isEven)
          } catch (error) {
            refused.push(isStop(error))
          }
        }
      })
      yield* sleep(1)
      yield* fiber.stop()
      assert.deepEqual(refused, [true])
    }))

  it('a restarted fiber does not see what was there before, and a choosy one finds what came after', () =>
    virtual(function* () {
      const fiber = spin(function* () {
        return yield* receive(isEven)
      })
      yield* sleep(1)
      for (const n of [1, 3]) fiber.send(n)
      fiber.restart()
      fiber.send(5)
      fiber.send(6)
      assert.equal(yield* fiber, 6)
    }))

  it('what is no predicate is refused by name', () =>
    virtual(function* () {
      for (const wrong of ['even', 3, null, function* () {}, async () => true]) {
        assert.throws(() => receive(wrong as any), BadArgument)
        assert.throws(() => tryReceive(wrong as any), BadArgument)
      }
    }))
})

function thrown(body: () => unknown): string {
  try {
    body()
    return ''
  } catch (error) {
    return (error as Error).name
  }
}

describe('capped mailboxes', () => {
  it('S38 L27 a push waits for room, in line, and order is kept', () =>
    virtual(function* () {
      const slow = spin('slow', function* () {
        const got: unknown[] = []
        while (got.length < 6) {
          yield* sleep(10)
          got.push(yield* receive())
        }
        return got
      })
      slow.mailbox.cap(2)
      const log: string[] = []
      for (const name of ['a', 'b']) {
        spin(function* () {
          yield* sleep(name === 'a' ? 0 : 1)
          for (let n = 1; n <= 3; n++) {
            assert.equal(yield* slow.mailbox.push(`${name}${n}`), true)
            log.push(`${name}${n} at ${now()}`)
          }
        })
      }
      yield* sleep(5)
      assert.deepEqual(slow.mailbox.stats(), { size: 2, capacity: 2, pushing: 2 })
      assert.deepEqual(yield* slow, ['a1', 'a2', 'a3', 'b1', 'b2', 'b3'])
      assert.deepEqual(log, ['a1 at 0', 'a2 at 0', 'a3 at 10', 'b1 at 20', 'b2 at 30', 'b3 at 40'])
    }))

  it('S38 send says false when it is full, and the message is not counted as a dead letter', () =>
    virtual(function* () {
      const me = Fiber.current
      me.mailbox.cap(1)
      assert.deepEqual([me.send(1), me.send(2)], [true, false])
      assert.deepEqual(receiveAllPending(), [1])
      assert.equal(counts().deadLetters, 0)
    }))

  it('S38 a larger cap, and none, let those in who wait', () =>
    virtual(function* () {
      const me = Fiber.current
      me.mailbox.cap(1)
      for (let n = 1; n <= 5; n++) {
        spin(() => me.mailbox.push(n))
        yield* sleep(1)
      }
      assert.deepEqual(me.mailbox.stats(), { size: 1, capacity: 1, pushing: 4 })
      me.mailbox.cap(3)
      assert.deepEqual(me.mailbox.stats(), { size: 3, capacity: 3, pushing: 2 })
      me.mailbox.cap(Number.POSITIVE_INFINITY)
      assert.deepEqual(receiveAllPending(), [1, 2, 3, 4, 5])
    }))

  it('S38 a smaller cap drops nothing', () =>
    virtual(function* () {
      const me = Fiber.current
      for (const n of [1, 2, 3]) me.send(n)
      me.mailbox.cap(1)
      assert.equal(me.send(4), false)
      assert.deepEqual(receiveAllPending(), [1, 2, 3])
      assert.equal(me.send(5), true)
    }))

  it('S39 those who wait for room get false when the fiber dies, and their messages are dead letters', () =>
    virtual(function* () {
      const target = spin(() => sleep(100))
      target.mailbox.cap(1)
      target.send('first')
      const pushers = [1, 2].map((n) => spin(() => target.mailbox.push(n)))
      yield* sleep(10)
      yield* target.stop()
      assert.deepEqual(yield* Fiber.await(...pushers), [false, false])
      assert.equal(yield* target.mailbox.push('late'), false)
      assert.equal(counts().deadLetters, 3)
    }))

  it('S41 a restart makes room: those who wait reach the new incarnation', () =>
    virtual(function* () {
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
      assert.equal(target.mailbox.size, 1)
      assert.equal(yield* pusher, true)
      assert.deepEqual(yield* target, ['new'])
    }))

  it('S40 a full mailbox does not keep out the message that its fiber waits for', () =>
    virtual(function* () {
      const choosy = spin(function* () {
        yield* sleep(10)
        const first = yield* receive(isString)
        const second = yield* receive(isString)
        return [first, second, ...receiveAllPending()]
      })
      choosy.mailbox.cap(2)
      for (const [n, message] of [1, 2, 'in line', 3, 'later'].entries()) {
        spin(function* () {
          yield* sleep(message === 'later' ? 20 : n)
          yield* choosy.mailbox.push(message)
        })
      }
      assert.deepEqual(yield* choosy, ['in line', 'later', 1, 2, 3])
    }))

  it('a monitor hears of an end although its mailbox is full', () =>
    virtual(function* () {
      const me = Fiber.current
      me.mailbox.cap(1)
      me.send('full')
      const worker = spin(() => 'done')
      worker.monitor()
      yield* sleep(1)
      assert.equal(tryReceive(), 'full')
      const end: FiberEnd = yield* receive()
      assert.equal(end.fiber, worker)
    }))

  it('S32 a push into one’s own full mailbox is a deadlock, said at once', () =>
    virtual(function* () {
      const me = Fiber.current
      me.mailbox.cap(1)
      me.send(1)
      const error = yield* thrownBy(me.mailbox.push(2))
      assert.ok(error instanceof DeadlockError)
      assert.match(error.message, /own full mailbox/)
    }))

  it('caps that make no sense are refused', () =>
    virtual(function* () {
      for (const wrong of [0, -1, 1.5, Number.NaN, '3', undefined]) {
        assert.throws(() => Fiber.current.mailbox.cap(wrong as number), /whole number above 0/)
      }
    }))

  it('S16 a push works in cleanup', () =>
    virtual(function* () {
      const log: unknown[] = []
      const sink = spin(() => receiveLoop((m) => log.push(m)))
      sink.mailbox.cap(1)
      const worker = spin(function* () {
        try {
          yield* sleep(100)
        } finally {
          for (const m of ['bye', 'bye bye', 'gone']) yield* sink.mailbox.push(m)
        }
      })
      yield* sleep(1)
      yield* worker.stop()
      yield* sleep(1)
      assert.deepEqual(log, ['bye', 'bye bye', 'gone'])
    }))

  it('S38 mailboxes that have grown past a thousand are counted', () =>
    virtual(function* () {
      const me = Fiber.current
      for (let n = 0; n < 1000; n++) me.send(n)
      assert.equal(counts().crowdedMailboxes, 0)
      for (let n = 0; n < 1000; n++) me.send(n)
      assert.equal(counts().crowdedMailboxes, 1)
    }))
})

describe('receiveLoop', () => {
  it('runs its body for each message, waits for it, and ends at false', () =>
    virtual(function* () {
      const log: string[] = []
      const loop = spin(() =>
        receiveLoop(function* (message: string) {
          yield* sleep(10)
          log.push(`${message} ${now()}`)
          return message !== 'last'
        }),
      )
      for (const m of ['first', 'last', 'never']) loop.send(m)
      yield* loop
      assert.deepEqual(log, ['first 10', 'last 20'])
    }))

  it('F3 a body that swallows every error does not keep its fiber alive', () =>
    virtual(function* () {
      let swallowed = 0
      const hostile = spin(function* () {
        for (;;) {
          try {
            yield* receiveLoop(() => {})
          } catch {
            swallowed++
          }
        }
      })
      yield* sleep(1)
      yield* hostile.stop()
      assert.equal(swallowed, 3)
    }))

  it('refuses what is no body', () => assert.throws(() => receiveLoop(3 as any), BadArgument))
})

function now(): number {
  return (Fiber.current as any).runtime.now()
}

describe('no message is lost or doubled', () => {
  function* produce(target: Fiber, name: string): Routine<number> {
    let sent = 0
    for (let n = 1; n <= 2; n++) if (yield* target.mailbox.push(`${name}${n}`)) sent++
    return sent
  }

  function scenario(verb: 'stop' | 'kill' | 'raise'): () => Routine<void> {
    return function* () {
      const got: string[] = []
      const consumer = spin('consumer', () =>
        receiveLoop((m: string) => {
          got.push(m)
        }),
      )
      consumer.mailbox.cap(1)
      const a = spin({ link: false }, produce, consumer, 'a')
      const b = spin({ link: false }, produce, consumer, 'b')
      const killer = spin(function* () {
        yield* snooze()
        a[verb]()
      })
      for (const fiber of [a, b, killer]) yield* fiber.join()
      for (let i = 0; consumer.mailbox.size > 0 || i < 1; i++) yield* sleep(1)
      assert.deepEqual(consumer.mailbox.stats(), { size: 0, capacity: 1, pushing: 0 })
      const ofB = got.filter((m) => m.startsWith('b'))
      assert.deepEqual(ofB, ['b1', 'b2'])
      const ofA = got.filter((m) => m.startsWith('a'))
      assert.deepEqual(ofA, ['a1', 'a2'].slice(0, ofA.length))
      if (a.outcome?.type === 'value') assert.equal(ofA.length, a.outcome.value)
      yield* consumer.stop()
    }
  }

  for (const verb of ['stop', 'kill', 'raise'] as const) {
    it(`S36 S52 in every schedule of two pushers, a consumer and a ${verb}`, (t) => {
      everyOrder(t, scenario(verb))
    })
  }

  it('S36 S40 a choosy consumer beside a stop: what was handed over is received, what was not is there', (t) => {
    everyOrder(t, function* () {
      const got: unknown[] = []
      const choosy = spin('choosy', function* () {
        for (;;) got.push(yield* receive(isEven))
      })
      const sender = spin(function* () {
        for (const n of [1, 2, 3, 4]) {
          choosy.send(n)
          yield* snooze()
        }
      })
      spin(function* () {
        yield* snooze()
        yield* snooze()
        choosy.stop()
      })
      yield* sender
      yield* choosy.join()
      assert.deepEqual(got, [2, 4].slice(0, got.length))
    })
  })

  it('S09 a stop at every switchpoint of a capped exchange leaves nobody waiting', () => {
    stopEverywhere(function* () {
      yield* shield(() => snooze())
      const consumer = spin(() => receiveLoop(() => snooze()))
      consumer.mailbox.cap(1)
      const producer = spin(produce, consumer, 'p')
      yield* producer
      yield* consumer.stop()
    })
  })
})

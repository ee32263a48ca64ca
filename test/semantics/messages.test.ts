// Messages: send, receive, tryReceive, receiveAllPending, and what becomes of messages to the dead (S38, S39).

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  ensure,
  Fiber,
  isStop,
  moveOnAfter,
  type Routine,
  receive,
  receiveAllPending,
  run,
  runtimeStats,
  shield,
  sleep,
  snooze,
  spin,
  tap,
  tryReceive,
  until,
} from 'polyphony'
import { explore, virtual } from 'polyphony/testing'

/** Receives n messages and returns them. */
function* collect(n: number): Routine<unknown[]> {
  const got: unknown[] = []
  while (got.length < n) got.push(yield* receive())
  return got
}

describe('mailboxes', () => {
  it('S38 send never waits and says that the message was taken', () =>
    virtual(function* () {
      const fiber = spin(collect, 1)
      assert.equal(fiber.send('m'), true)
      assert.deepEqual(yield* fiber, ['m'])
    }))

  it('S38 messages sent before the first receive are kept, in order (L25)', () =>
    virtual(function* () {
      const fiber = spin(collect, 4)
      for (const m of [1, 2]) fiber.send(m)
      yield* sleep(1)
      for (const m of [3, 4]) fiber.send(m)
      assert.deepEqual(yield* fiber, [1, 2, 3, 4])
    }))

  it('S38 messages of one sender arrive in the order sent, in every schedule of two senders', () => {
    const { complete } = explore(function* () {
      const receiver = spin(collect, 4)
      for (const name of ['a', 'b']) {
        spin(function* () {
          receiver.send(`${name}1`)
          yield* snooze()
          receiver.send(`${name}2`)
        })
      }
      const got = yield* receiver.await()
      for (const name of ['a', 'b']) {
        assert.deepEqual(
          got.filter((m) => String(m).startsWith(name)),
          [`${name}1`, `${name}2`],
        )
      }
    })
    assert.ok(complete)
  })

  it('S38 a message handed to a waiting fiber does not overtake, nor is it overtaken', () =>
    virtual(function* () {
      const fiber = spin(collect, 3)
      yield* sleep(1) // it waits in receive now
      for (const m of [1, 2, 3]) fiber.send(m)
      assert.deepEqual(yield* fiber, [1, 2, 3])
    }))

  it('S38 ten thousand messages keep their order', () =>
    virtual(function* () {
      const fiber = spin(collect, 10_000)
      for (let i = 0; i < 10_000; i++) fiber.send(i)
      const got = yield* fiber.await()
      assert.ok(got.every((m, i) => m === i))
    }))

  it('S38 an Error sent as a message is a value, never thrown', () =>
    virtual(function* () {
      const error = new Error('a value')
      const [waiting, busy] = [spin(collect, 1), spin(collect, 1)]
      busy.send(error)
      yield* sleep(1)
      waiting.send(error)
      assert.deepEqual(yield* Fiber.await(waiting, busy), [[error], [error]])
    }))

  it('S38 undefined and other falsy messages are messages', () =>
    virtual(function* () {
      const fiber = spin(collect, 4)
      for (const m of [undefined, null, 0, false]) fiber.send(m)
      assert.deepEqual(yield* fiber, [undefined, null, 0, false])
    }))

  it('S38 a fiber can send to itself', () =>
    virtual(function* () {
      Fiber.current.send('note')
      assert.equal(yield* receive(), 'note')
    }))

  it('S38 a message can be sent from outside any fiber', () =>
    virtual(function* () {
      const fiber = spin(collect, 1)
      setImmediate(() => fiber.send('from a callback'))
      yield* until(new Promise((resolve) => setImmediate(resolve)))
      assert.deepEqual(yield* fiber, ['from a callback'])
    }))

  it('S40 receiveAllPending and tryReceive never wait', () =>
    virtual(function* () {
      assert.equal(tryReceive(), undefined)
      assert.deepEqual(receiveAllPending(), [])
      for (const m of [1, 2, 3]) Fiber.current.send(m)
      assert.equal(tryReceive(), 1)
      assert.deepEqual(receiveAllPending(), [2, 3])
      assert.deepEqual(receiveAllPending(), [])
    }))

  it('S34 a time-out that strikes a receive leaves later messages in the mailbox', () =>
    virtual(function* () {
      const main = Fiber.current
      spin(function* () {
        yield* sleep(10)
        main.send('m')
      })
      assert.equal(yield* moveOnAfter(5, () => receive(), 'nothing'), 'nothing')
      assert.equal(yield* receive(), 'm')
    }))

  it('S34 a message that came before the time-out struck is received', () =>
    virtual(function* () {
      const main = Fiber.current
      spin(function* () {
        yield* sleep(5) // set before the time-out below, so it fires first (S68)
        main.send('m')
      })
      const got: unknown[] = []
      yield* sleep(1)
      yield* moveOnAfter(10, function* () {
        got.push(yield* receive())
        yield* sleep()
      })
      assert.deepEqual(got, ['m'])
    }))

  it('S17 a worker that is stopped can still drain its mailbox, but not wait for more (L26)', () =>
    virtual(function* () {
      const drained: unknown[] = []
      let refused = false
      const worker = spin(function* () {
        try {
          yield* sleep()
        } finally {
          drained.push(...receiveAllPending())
          try {
            yield* receive()
          } catch (e) {
            refused = isStop(e)
          }
        }
      })
      yield* sleep(1)
      for (const m of [1, 2]) worker.send(m)
      yield* worker.terminate()
      assert.deepEqual(drained, [1, 2])
      assert.ok(refused)
    }))

  it('S17 inside shield and ensure a worker that is stopped may still receive', () =>
    virtual(function* () {
      const got: unknown[] = []
      const worker = spin(() =>
        ensure(
          () => sleep(),
          function* () {
            got.push(yield* receive())
            got.push(yield* shield(() => receive()))
          },
        ),
      )
      yield* sleep(1)
      worker.stop()
      worker.send('a')
      yield* sleep(1)
      worker.send('b')
      yield* worker.join()
      assert.deepEqual(got, ['a', 'b'])
    }))

  it('S38 a fiber can receive what was sent while it waited for something else', () =>
    virtual(function* () {
      const fiber = spin(function* () {
        yield* sleep(10)
        return receiveAllPending()
      })
      yield* sleep(1)
      fiber.send('a')
      yield* sleep(1)
      fiber.send('b')
      assert.deepEqual(yield* fiber, ['a', 'b'])
    }))
})

describe('messages to the dead', () => {
  it('S39 send to a dead fiber returns false and tells the tap, nothing is kept (L24)', () =>
    virtual(function* () {
      const letters: unknown[] = []
      const untap = tap((event, fiber, detail) => {
        if (event === 'deadLetter') letters.push([fiber, detail])
      })
      const fiber = spin(() => 1)
      yield* fiber
      assert.equal(fiber.send('m'), false)
      untap()
      assert.deepEqual(letters, [[fiber, 'm']])
    }))

  it('S39 dead letters are counted', async () => {
    await run(function* () {
      const fiber = spin(() => 1)
      yield* fiber
      const before = runtimeStats().deadLetters
      fiber.send('a')
      fiber.send('b')
      assert.equal(runtimeStats().deadLetters, before + 2)
    })
  })

  it('S39 a fiber that is being stopped is not dead yet: its cleanup can read what is sent', () =>
    virtual(function* () {
      const fiber = spin(() =>
        ensure(
          () => sleep(),
          function* () {
            yield* sleep(5)
            return receiveAllPending()
          },
        ),
      )
      yield* sleep(1)
      fiber.stop()
      yield* sleep(1)
      assert.equal(fiber.send('m'), true)
      yield* fiber.join()
      assert.equal(fiber.send('m'), false)
    }))

  it('S39 a message to a fiber that never ran is dropped with it', () =>
    virtual(function* () {
      const fiber = spin(collect, 1)
      fiber.send('m')
      yield* fiber.stop()
      assert.equal(fiber.send('m'), false)
    }))
})

// Raw fibers, transfer and schedule (S62, S63), with the programs of the article on fiber switching.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { BadState, DeadlockError, Fiber, isStop, receive, sleep, spin, suspend, transfer } from 'polyphony'
import { stopEverywhere, virtual } from 'polyphony/testing'
import { thrownBy } from '../prelude.js'

describe('the programs of the article', () => {
  it('S62 main, f1 and f2 switch by hand, and the end of f1 leads back to main', () =>
    virtual(function* () {
      const log: string[] = []
      let f2!: Fiber
      const f1: Fiber = new Fiber(function* () {
        log.push('Hi from f1')
        yield* transfer(f2)
        log.push('Hi again from f1')
      })
      f2 = new Fiber(function* () {
        log.push('Hi from f2')
        yield* transfer(f1)
      })
      log.push('Hi from main fiber')
      yield* transfer(f1)
      log.push('Bye from main fiber')
      assert.deepEqual(log, [
        'Hi from main fiber',
        'Hi from f1',
        'Hi from f2',
        'Hi again from f1',
        'Bye from main fiber',
      ])
    }))

  it('S62 ping and pong pass messages; the first transfer gives the argument of the body', () =>
    virtual(function* () {
      const main = Fiber.current
      const log: string[] = []
      let rounds = 0
      const ping: Fiber = new Fiber(function* (peer: Fiber) {
        for (;;) {
          const msg: string = yield* transfer(peer, 'ping')
          log.push(msg)
          if (++rounds === 3) yield* transfer(main)
        }
      })
      const pong: Fiber = new Fiber(function* (msg: string) {
        for (;;) {
          log.push(msg)
          msg = yield* transfer(ping, 'pong')
        }
      })
      yield* transfer(ping, pong)
      assert.deepEqual(log, ['ping', 'pong', 'ping', 'pong', 'ping', 'pong'])
    }))

  it('S62 a fiber is controlled by what is transferred to it: increment and reset', () =>
    virtual(function* () {
      const main = Fiber.current
      const counts: number[] = []
      const f = new Fiber(function* (msg: string) {
        let count = 0
        for (;;) {
          if (msg === 'reset') count = 0
          else if (msg === 'increment') count++
          counts.push(count)
          msg = yield* transfer(main)
        }
      })
      for (let i = 0; i < 3; i++) yield* transfer(f, 'increment')
      yield* transfer(f, 'reset')
      for (let i = 0; i < 3; i++) yield* transfer(f, 'increment')
      assert.deepEqual(counts, [1, 2, 3, 0, 1, 2, 3])
    }))
})

describe('raw fibers', () => {
  it('S62 it has no parent, waits, and does not run by itself', () =>
    virtual(function* () {
      let ran = false
      const raw = new Fiber(function* () {
        ran = true
      })
      assert.equal(raw.parent, null)
      assert.equal(raw.state, 'waiting')
      assert.deepEqual(Fiber.current.children, [])
      yield* sleep(10)
      assert.equal(ran, false)
    }))

  it('S62 schedule runs it too, with its value as the argument', () =>
    virtual(function* () {
      const raw = new Fiber(function* (a: number) {
        yield* sleep(1)
        return a * 2
      })
      assert.equal(raw.schedule(21), true)
      assert.equal(raw.schedule(5), false)
      assert.equal(yield* raw.await(), 42)
    }))

  it('S62 transfer returns what is transferred back, or what the raw fiber returns at its end', () =>
    virtual(function* () {
      const main = Fiber.current
      const raw = new Fiber(function* (a: unknown) {
        const b = yield* transfer(main, `got ${a}`)
        return `and ${b}`
      })
      assert.equal(yield* transfer(raw, 1), 'got 1')
      assert.equal(yield* transfer(raw, 2), 'and 2')
      assert.deepEqual(raw.outcome, { type: 'value', value: 'and 2' })
    }))

  it('S62 its error goes to the fiber that transferred to it last', () =>
    virtual(function* () {
      const error = new Error('raw')
      const raw = new Fiber(function* () {
        yield* sleep(1)
        throw error
      })
      const child = spin({ link: false }, () => transfer(raw))
      assert.deepEqual(yield* child.join(), { type: 'error', error })
    }))

  it('S62 the error of one that was only scheduled goes to main', () =>
    virtual(function* () {
      const error = new Error('raw')
      const raw = new Fiber(function* () {
        yield* sleep(1)
        throw error
      })
      raw.schedule()
      assert.equal(yield* thrownBy(sleep()), error)
    }))

  it('S62 if the fiber that transferred to it is dead, main is told of its error', () =>
    virtual(function* () {
      const error = new Error('raw')
      const raw = new Fiber(function* () {
        yield* sleep(10)
        throw error
      })
      const child = spin(() => transfer(raw))
      yield* sleep(5)
      yield* child.stop()
      assert.equal(yield* thrownBy(sleep(100)), error)
    }))

  it('S62 an error among raw fibers that switched by hand reaches main in the end', () =>
    virtual(function* () {
      const error = new Error('f1')
      let f2!: Fiber
      const f1: Fiber = new Fiber(function* () {
        yield* transfer(f2)
        throw error
      })
      f2 = new Fiber(() => transfer(f1))
      assert.equal(yield* thrownBy(transfer(f1)), error)
    }))

  it('S62 the fiber that transferred goes on when the raw fiber is stopped', () =>
    virtual(function* () {
      const raw = new Fiber(() => sleep())
      spin(function* () {
        yield* sleep(5)
        raw.stop()
      })
      yield* transfer(raw)
      assert.equal(raw.outcome?.type, 'stopped')
    }))

  it('S62 one that has not started can be stopped and raised in, without running a line', () =>
    virtual(function* () {
      const body = function* () {
        assert.fail('must not run')
      }
      const error = new Error('raised')
      const [a, b] = [new Fiber(body), new Fiber(body)]
      assert.deepEqual(yield* a.stop('v'), { type: 'stopped', value: 'v' })
      assert.deepEqual(yield* b.raise(error), { type: 'error', error })
      assert.deepEqual(b.outcome, { type: 'error', error })
    }))

  it('S62 it can receive, sleep, spin children and be awaited like any fiber', () =>
    virtual(function* () {
      const raw = new Fiber(function* () {
        const child = spin(function* () {
          yield* sleep(5)
          return 1
        })
        return [yield* child.await(), yield* receive()]
      })
      raw.send('m')
      raw.schedule()
      assert.deepEqual(yield* raw.await(), [1, 'm'])
    }))

  it('S62 attached to a parent it ends with it', () =>
    virtual(function* () {
      const raw = new Fiber(() => sleep())
      const parent = spin(function* () {
        raw.attachTo(Fiber.current)
        raw.schedule()
        yield* sleep(5)
      })
      yield* parent
      assert.equal(raw.outcome?.type, 'stopped')
    }))

  it('S62 a parked fiber that is stopped gets its signal at the transfer', () =>
    virtual(function* () {
      const raw = new Fiber(() => sleep(20))
      let stopped = false
      const child = spin(function* () {
        try {
          yield* transfer(raw)
        } catch (e) {
          stopped = isStop(e)
          throw e
        }
      })
      yield* sleep(5)
      yield* child.stop()
      assert.ok(stopped)
      yield* raw.join()
    }))

  it('S62 one cannot transfer to oneself, to the dead, or to a fiber that waits for something else', () =>
    virtual(function* () {
      const dead = spin(() => 1)
      const busy = spin('busy', () => sleep(10))
      const fresh = spin('fresh', () => 1)
      yield* dead
      yield* sleep(1)
      for (const target of [Fiber.current, dead, busy]) {
        assert.ok((yield* thrownBy(transfer(target))) instanceof BadState)
      }
      assert.match((yield* thrownBy(transfer(busy))).message, /busy.*waiting for sleep\(10\)/)
      yield* fresh.join()
      yield* busy.join()
    }))

  it('S33 a program in which the last fiber transferred to nobody is a deadlock', async () => {
    await assert.rejects(
      virtual(function* () {
        yield* transfer(new Fiber(() => suspend()))
      }),
      DeadlockError,
    )
  })

  it('S62 a transfer can be stopped anywhere', () => {
    stopEverywhere(function* () {
      const raw = new Fiber(function* (n: number) {
        return n + 1
      })
      yield* spin(() => transfer(raw, 1)).join()
      yield* raw.stop()
    })
  })
})

describe('resume values', () => {
  it('S63 schedule wakes a fiber that waits in suspend, with the value', () =>
    virtual(function* () {
      const fiber = spin(() => suspend())
      yield* sleep(1)
      assert.equal(fiber.schedule('value'), true)
      assert.equal(yield* fiber.await(), 'value')
    }))

  it('S63 schedule wakes a fiber that waits in transfer', () =>
    virtual(function* () {
      const raw = new Fiber(() => sleep(100))
      const fiber = spin(() => transfer(raw))
      yield* sleep(1)
      assert.equal(fiber.schedule('value'), true)
      assert.equal(yield* fiber.await(), 'value')
      yield* raw.stop()
    }))

  it('S63 on a fiber that waits in another op, is runnable, running or dead it changes nothing', () =>
    virtual(function* () {
      const sleeping = spin(function* () {
        yield* sleep(10)
        return 'slept'
      })
      const receiving = spin(() => receive())
      yield* sleep(1)
      const runnable = spin(() => 'ran')
      assert.equal(sleeping.schedule('x'), false)
      assert.equal(receiving.schedule('x'), false)
      assert.equal(runnable.schedule('x'), false)
      assert.equal(Fiber.current.schedule('x'), false)
      receiving.send('m')
      assert.deepEqual(yield* Fiber.await(sleeping, receiving, runnable), ['slept', 'm', 'ran'])
      assert.equal(runnable.schedule('x'), false)
      assert.equal(runnable.scheduleWithPriority('x'), false)
    }))

  it('S63 the first schedule counts, a second one before the fiber ran is refused', () =>
    virtual(function* () {
      const fiber = spin(() => suspend())
      yield* sleep(1)
      assert.equal(fiber.schedule(1), true)
      assert.equal(fiber.schedule(2), false)
      assert.equal(yield* fiber.await(), 1)
    }))

  it('S63 an Error is raised at the wait, whatever it is', () =>
    virtual(function* () {
      class Odd extends TypeError {}
      for (const error of [new Error('plain'), new Odd('odd')]) {
        const fiber = spin({ link: false }, () => suspend())
        yield* sleep(1)
        assert.equal(fiber.schedule(error), true)
        assert.deepEqual(yield* fiber.join(), { type: 'error', error })
      }
    }))

  it('S63 a value scheduled before a stop is received first (S34)', () =>
    virtual(function* () {
      const got: unknown[] = []
      const fiber = spin(function* () {
        got.push(yield* suspend())
        yield* suspend()
      })
      yield* sleep(1)
      fiber.schedule('value')
      yield* fiber.stop()
      assert.deepEqual(got, ['value'])
    }))

  it('S63 a fiber that was struck in suspend is not woken by a schedule', () =>
    virtual(function* () {
      const fiber = spin(() => suspend())
      yield* sleep(1)
      fiber.stop('stopped')
      assert.equal(fiber.schedule('value'), false)
      assert.deepEqual(yield* fiber.join(), { type: 'stopped', value: 'stopped' })
    }))
})

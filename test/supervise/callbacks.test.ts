// onDone and onError: who is told what, and what they may decide (V4, V6, V10).

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Fiber, type Outcome, sleep, snooze, spin, supervise, suppressedErrors } from 'polyphony'
import { virtual } from 'polyphony/testing'
import { failAfter, thrownBy } from '../prelude.js'
import { flaky, now, server } from './lives.js'

describe('what callbacks are told', () => {
  it('V4 onDone is called at every end, with the fiber and the outcome', () =>
    virtual(function* () {
      const told: [string, Outcome<unknown>][] = []
      const error = new Error('no')
      const stopped = spin('stopped', () => sleep())
      spin(function* () {
        yield* sleep(15)
        stopped.stop('enough')
      })
      const children = [
        { name: 'value', body: () => 1 },
        { name: 'error', body: failAfter, args: [10, error], restart: 'onError' as const },
      ]
      const supervisor = spin(() =>
        supervise([...children, stopped], {
          onDone: (fiber, outcome) => void told.push([fiber.name, outcome]),
        }),
      )
      yield* sleep(16)
      yield* supervisor.stop()
      assert.deepEqual(told, [
        ['value', { type: 'value', value: 1 }],
        ['error', { type: 'error', error }],
        ['stopped', { type: 'stopped', value: 'enough' }],
      ])
    }))

  it('V4 V6 with both, onError is called for failures only and onDone for all, failures first to onError', () =>
    virtual(function* () {
      const told: string[] = []
      const worker = flaky(2)
      yield* supervise([{ name: 'w', body: worker.body }], {
        restart: 'onError',
        onDone: (fiber, { type }) => void told.push(`done ${fiber.name} ${type}`),
        onError: (error, fiber) => void told.push(`error ${fiber.name} ${(error as Error).message}`),
      })
      assert.deepEqual(told, [
        'error w life 1',
        'done w error',
        'error w life 2',
        'done w error',
        'done w value',
      ])
    }))

  it('V6 a callback does not switch the rule off', () =>
    virtual(function* () {
      const worker = flaky(1)
      yield* supervise([{ body: worker.body }], { restart: 'onError', onDone: () => {} })
      assert.equal(worker.lives, 2)
    }))

  it('S42 siblings that are stopped for a group are told when the group is down', () =>
    virtual(function* () {
      const log: string[] = []
      const worker = flaky(1, 10)
      yield* supervise(
        [
          { name: 'a', body: server, args: ['a', log] },
          { name: 'w', body: worker.body },
        ],
        {
          strategy: 'oneForAll',
          restart: 'onError',
          onDone(fiber, { type }) {
            log.push(`${fiber.name} ${type}`)
            if (type === 'value') Fiber.current.children[0]?.stop()
          },
        },
      )
      assert.deepEqual(log, ['+a', 'w error', '-a', 'a stopped', '+a', 'w value', '-a', 'a stopped'])
    }))

  it('S44 when supervise itself ends, it only stops what is left: the callbacks are not called', () =>
    virtual(function* () {
      const told: string[] = []
      const error = new Error('fatal')
      const children = [
        { name: 'a', body: () => sleep() },
        { name: 'bad', body: failAfter, args: [5, error] },
      ]
      const op = supervise(children, { onDone: (fiber) => void told.push(fiber.name) })
      assert.equal(yield* thrownBy(op), error)
      assert.deepEqual(told, ['bad'])
    }))

  it('S42 callbacks may wait; ends that come meanwhile are told afterwards, none is lost', () =>
    virtual(function* () {
      const told: string[] = []
      for (const ms of [1, 2, 3]) spin(`${ms}`, () => sleep(ms))
      yield* supervise({
        *onDone(fiber) {
          yield* sleep(10)
          told.push(`${fiber.name}@${now()}`)
        },
      })
      assert.deepEqual(told, ['1@11', '2@21', '3@31'])
    }))
})

describe('what callbacks decide', () => {
  it('V10 a policy by hand: fiber.restart() in onDone; the child is watched again', () =>
    virtual(function* () {
      let lives = 0
      const told: string[] = []
      const error = new Error('fourth')
      const child = spin('child', function* () {
        yield* sleep(10)
        if (++lives === 4) throw error
      })
      const op = supervise({
        onDone(fiber, { type }) {
          told.push(`${type} ${fiber.incarnation}`)
          if (type === 'value') fiber.restart()
        },
      })
      assert.equal(yield* thrownBy(op), error)
      assert.deepEqual(told, ['value 1', 'value 2', 'value 3', 'error 4'])
      assert.equal(child.state, 'dead')
    }))

  it('V10 an arrow that returns the restarted fiber is not made to wait for it', () =>
    virtual(function* () {
      let lives = 0
      spin('child', function* () {
        yield* sleep(10)
        if (++lives < 3) throw new Error('again')
      })
      yield* supervise({ onError: (_, fiber) => fiber.restart() })
      assert.equal(lives, 3)
      assert.equal(now(), 30)
    }))

  it('V7 S43 restarts by hand count too: no storm without end', () =>
    virtual(function* () {
      let lives = 0
      const op = supervise([{ body: () => void lives++ }], { onDone: (fiber) => fiber.restart() })
      assert.equal((yield* thrownBy(op)).code, 'RESTART_INTENSITY')
      assert.equal(lives, 4)
    }))

  it("S44 'ignore' takes care of an error: the others go on", () =>
    virtual(function* () {
      const seen: unknown[] = []
      spin(failAfter, 5, new Error('lost connection'))
      spin(() => sleep(20))
      yield* supervise({
        onError(error) {
          seen.push((error as Error).message)
          return 'ignore'
        },
      })
      assert.deepEqual(seen, ['lost connection'])
      assert.equal(now(), 20)
    }))

  it("S44 'ignore' outweighs a rule that would restart, and is an end for good", () =>
    virtual(function* () {
      const worker = flaky(9)
      yield* supervise([{ body: worker.body }, { body: () => sleep() }], {
        restart: 'always',
        until: 'any',
        onError: () => 'ignore',
      })
      assert.equal(worker.lives, 1)
    }))

  it("S42 'restart' outweighs the rule, with strategy, intensity and back-off", () =>
    virtual(function* () {
      const worker = flaky(2, 0)
      yield* supervise([{ body: worker.body }], { backoff: 100, onError: () => 'restart' })
      assert.equal(worker.lives, 3)
      assert.equal(now(), 200)
    }))

  it("S44 'restart' brings back even a child that was stopped", () =>
    virtual(function* () {
      const child = spin('child', () => sleep(10))
      spin(function* () {
        yield* sleep(5)
        child.stop()
      })
      yield* supervise([child], {
        *onDone(_, { type }) {
          yield* snooze()
          return type === 'stopped' ? 'restart' : undefined
        },
      })
      assert.equal(child.incarnation, 2)
      assert.equal(child.outcome?.type, 'value')
    }))

  it('S44 what a callback throws ends the supervision; the error it was told of is kept beside', () =>
    virtual(function* () {
      const [error, own] = [new Error('child'), new Error('callback')]
      const other = spin('other', () => sleep())
      const bad = spin('bad', failAfter, 5, error)
      const op = supervise([other, bad], {
        restart: 'onError',
        onError() {
          throw own
        },
      })
      assert.equal(yield* thrownBy(op), own)
      assert.deepEqual(suppressedErrors(own), [error])
      assert.equal(other.state, 'dead')
    }))

  it('S44 a callback that rethrows what it was told gives just that', () =>
    virtual(function* () {
      const error = new Error('child')
      spin(failAfter, 5, error)
      const op = supervise({
        restart: 'onError',
        onError(told) {
          throw told
        },
      })
      assert.equal(yield* thrownBy(op), error)
      assert.deepEqual(suppressedErrors(error), [])
    }))

  it('S05 a callback that returns a promise fails with a sentence', () =>
    virtual(function* () {
      spin(() => 1)
      const promise: unknown = Promise.resolve()
      const error = yield* thrownBy(supervise({ onDone: () => promise as undefined }))
      assert.equal(error.code, 'BAD_ARGUMENT')
      assert.match(error.message, /returned a promise/)
    }))

  it('S44 a callback cannot supervise in the same fiber', () =>
    virtual(function* () {
      spin(() => 1)
      const error = yield* thrownBy(supervise({ onDone: () => supervise() }))
      assert.equal(error.code, 'BAD_STATE')
      assert.match(error.message, /main is supervising already/)
      yield* supervise() // and now it may
    }))
})

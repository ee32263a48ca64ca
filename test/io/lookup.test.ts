// Names to addresses: what is answered at once, what is asked of the system, and leaving before it has answered.

import assert from 'node:assert/strict'
import { isIP } from 'node:net'
import { describe, it } from 'node:test'
import { BadArgument, type Fiber, moveOnAfter, run, snooze, spin, tap } from 'polyphony'
import { IOError, lookup } from 'polyphony/io'
import { stopEverywhere, virtual } from 'polyphony/testing'
import { thrownBy } from '../prelude.js'
import { held, untilHeld } from '../shared/outside.js'
import { struckWaiting } from './real.js'

describe('lookup', () => {
  it('gives an address back at once, without asking anybody', () => {
    const result = stopEverywhere(function* () {
      assert.deepEqual(yield* lookup('127.0.0.1'), { address: '127.0.0.1', family: 4 })
      assert.deepEqual(yield* lookup('::1', { family: 6 }), { address: '::1', family: 6 })
      assert.deepEqual(yield* lookup('10.0.0.1', { all: true }), [{ address: '10.0.0.1', family: 4 }])
    })
    assert.equal(result.switchpoints, 3)
  })

  it('asks the system for a name', () =>
    virtual(function* () {
      const { address, family } = yield* lookup('localhost')
      assert.equal(isIP(address), family)
      const all = yield* lookup('localhost', { all: true })
      assert.ok(all.some((each) => each.address === address))
      assert.deepEqual(yield* lookup('localhost', { family: 4 }), { address: '127.0.0.1', family: 4 })
    }))

  it('throws a typed error that names the host and the fiber', () =>
    virtual(function* () {
      const error = yield* thrownBy(spin({ name: 'asker', link: false }, () => lookup('a..b')))
      assert.ok(error instanceof IOError)
      assert.deepEqual([error.code, error.syscall], ['ENOTFOUND', 'getaddrinfo'])
      assert.match(error.message, /^lookup\(a\.\.b\) in main > asker failed: .*ENOTFOUND/)
      assert.equal((error.cause as NodeJS.ErrnoException).code, 'ENOTFOUND')
    }))

  it('throws when an address is of another kind than the one asked for', () =>
    virtual(function* () {
      const error = yield* thrownBy(lookup('127.0.0.1', { family: 6 }))
      assert.deepEqual([error.code, error.constructor], ['ENOTFOUND', IOError])
      assert.match(error.message, /it is not an IPv6 address/)
    }))

  it('S35 a fiber that is stopped leaves at once, and the late answer is dropped', async () => {
    const before = held()
    await run(function* () {
      let waitsFor: string | undefined
      let hasTurned = false
      const stopped = yield* struckWaiting(
        () => lookup('localhost'),
        (fiber) => {
          waitsFor = fiber.waitsFor
          setImmediate(() => (hasTurned = true))
          fiber.stop()
        },
      )
      // Unless the machine is so slow that the event loop had a turn meanwhile, the thread has not answered yet.
      assert.ok(hasTurned || process.getActiveResourcesInfo().includes('GetAddrInfoReqWrap'))
      assert.deepEqual([waitsFor, stopped.outcome?.type], ['lookup(localhost)', 'stopped'])
    })
    await untilHeld(before)
  })

  it('S69 one op serves one wait at a time, and an earlier answer does not disturb a later wait', () =>
    virtual(function* () {
      const op = lookup('localhost', { family: 4 })
      const first = spin(() => op)
      yield* snooze()
      assert.ok((yield* thrownBy(op)) instanceof BadArgument)
      yield* first.stop()
      assert.equal((yield* op).address, '127.0.0.1')
      yield* moveOnAfter(1, () => op)
      assert.equal((yield* op).address, '127.0.0.1')
    }))

  it('S34 an answer that has come is not lost to a stop', () =>
    virtual(function* () {
      let address = ''
      const fiber: Fiber = spin(function* () {
        address = (yield* lookup('localhost', { family: 4 })).address
        yield* snooze()
      })
      const untap = tap((event, who) => {
        if (event === 'schedule' && who === fiber && fiber.waitsFor !== undefined) fiber.stop()
      })
      yield* fiber.join()
      untap()
      assert.equal(address, '127.0.0.1')
    }))

  it('refuses what is no host and what is no option, at the call', () => {
    assert.throws(() => lookup(''), /^BadArgument: lookup\(\) needs a host, a name or an address, got ""/)
    assert.throws(() => lookup(4 as any), BadArgument)
    assert.throws(() => lookup('a\0b'), BadArgument)
    assert.throws(() => lookup('x', { family: 5 as any }), /the family of lookup\(\) is 4 or 6, got 5/)
    assert.throws(() => lookup('x', { all: 1 as any }), /is true or false, got 1/)
    assert.throws(() => lookup('x', { hints: 1 } as any), /no option "hints"; there are: family, all/)
  })
})

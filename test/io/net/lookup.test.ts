// Names to addresses: what is answered at once, what is asked of the system, and leaving before it has answered.

import { isIP } from 'node:net'
import { IOError, lookup } from 'polyphony/io'
import {
  assert,
  describe,
  type Fiber,
  moveOnAfter,
  snooze,
  spin,
  stopEverywhere,
  tap,
  test,
  thrownBy,
} from '../../prelude.js'
import { realTest, refusesTwo, struckWaiting } from '../real.js'

describe('lookup', () => {
  test('gives an address back at once, without asking the system', () => {
    const result = stopEverywhere(function* () {
      assert.deepEqual(yield* lookup('127.0.0.1'), { address: '127.0.0.1', family: 4 })
      assert.deepEqual(yield* lookup('::1', { family: 6 }), { address: '::1', family: 6 })
      assert.deepEqual(yield* lookup('10.0.0.1', { all: true }), [{ address: '10.0.0.1', family: 4 }])
    })
    assert.equal(result.switchpoints, 3)
  })

  test('asks the system for a name', function* () {
    const { address, family } = yield* lookup('localhost')
    assert.equal(isIP(address), family)
    const all = yield* lookup('localhost', { all: true })
    assert.ok(all.some((each) => each.address === address))
    assert.deepEqual(yield* lookup('localhost', { family: 4 }), { address: '127.0.0.1', family: 4 })
  })

  test('throws a typed error that names the host and the fiber', function* () {
    const error = yield* thrownBy(spin({ name: 'asker', link: false }, () => lookup('a..b')))
    assert.ok(error instanceof IOError)
    assert.deepEqual([error.code, error.syscall], ['ENOTFOUND', 'getaddrinfo'])
    assert.match(error.message, /^lookup\(a\.\.b\) in main > asker failed: .*ENOTFOUND/)
    const other = yield* thrownBy(lookup('127.0.0.1', { family: 6 }))
    assert.deepEqual([other.code, other.constructor], ['ENOTFOUND', IOError])
    assert.match(other.message, /it is not an IPv6 address/)
  })

  realTest('a fiber that is stopped leaves at once, and the late answer is dropped', function* () {
    let hasTurned = false
    const stopped = yield* struckWaiting(
      () => lookup('localhost'),
      (fiber) => {
        assert.equal(fiber.waitsFor, 'lookup(localhost)')
        setImmediate(() => (hasTurned = true))
        fiber.stop()
      },
    )
    // Unless the machine is so slow that the event loop had a turn meanwhile, the thread has not answered yet.
    assert.ok(hasTurned || process.getActiveResourcesInfo().includes('GetAddrInfoReqWrap'))
    assert.equal(stopped.outcome?.type, 'stopped')
  })

  test('one op serves one wait at a time, and an earlier answer does not disturb a later wait', function* () {
    const [op, first] = yield* refusesTwo(() => lookup('localhost', { family: 4 }))
    yield* first.stop()
    assert.equal((yield* op).address, '127.0.0.1')
    yield* moveOnAfter(1, () => op)
    assert.equal((yield* op).address, '127.0.0.1')
  })

  test('an answer that has come is not lost to a stop', function* () {
    let address = ''
    const fiber: Fiber = spin(function* () {
      address = (yield* lookup('localhost', { family: 4 })).address
      yield* snooze()
    })
    const untap = tap((event, struck) => {
      if (event === 'schedule' && struck === fiber && fiber.waitsFor !== undefined) fiber.stop()
    })
    yield* fiber.join()
    untap()
    assert.equal(address, '127.0.0.1')
  })
})

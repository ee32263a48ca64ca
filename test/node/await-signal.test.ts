// awaitSignal in worlds of their own. Signals of the system: test/semantics/signals.test.ts.

import {
  assert,
  awaitSignal,
  explore,
  type Fiber,
  moveOnAfter,
  now,
  sleep,
  snooze,
  spin,
  stopEverywhere,
  tap,
  test,
  thrownBy,
  trap,
  waits,
} from '../prelude.js'
import { listeners, play } from './play.js'

test('it gives the full name of the first that comes, and listens to none afterwards', function* () {
  const before = listeners()
  const waiter = spin(() => awaitSignal('quit', 'HUP', 'SIGHUP'))
  yield* snooze()
  assert.equal(waiter.waitsFor, 'awaitSignal(SIGQUIT, SIGHUP)')
  assert.equal(listeners(), before + 2)
  play('SIGHUP')
  play('SIGQUIT')
  assert.equal(yield* waiter, 'SIGHUP')
  assert.equal(listeners(), before)
})

test('a world where a fiber waits for a signal is not at its end', function* () {
  setImmediate(() => play('SIGQUIT'))
  assert.equal(yield* awaitSignal('QUIT'), 'SIGQUIT')
})

test('waiting for a signal is no cleanup: it is refused while a fiber unwinds', function* () {
  const fiber = spin(() => waits(() => awaitSignal('QUIT')))
  yield* snooze()
  assert.deepEqual(yield* fiber.stop(), { type: 'stopped', value: undefined })
  assert.equal(now(), 0)
})

test('a fiber that a tap stops while the signal is handed round is left out', function* () {
  trap('QUIT', () => {})
  const waiter = spin({ link: false }, () => awaitSignal('QUIT'))
  yield* snooze()
  const untap = tap((event) => void (event === 'spin' && waiter.stop()))
  play('SIGQUIT')
  untap()
  assert.equal((yield* waiter.join()).type, 'stopped')
})

test('one op serves one wait at a time, and may be used again', function* () {
  const op = awaitSignal('QUIT')
  const waiter = spin(() => op)
  yield* snooze()
  assert.match((yield* thrownBy(op)).message, /awaitSignal\(SIGQUIT\) is already being waited for by main >/)
  play('SIGQUIT')
  yield* waiter
  spin(() => void play('SIGQUIT'))
  assert.equal(yield* op, 'SIGQUIT')
})

test('a stop at every switchpoint leaves no listener behind', () => {
  const before = listeners()
  const { runs } = stopEverywhere(
    function* () {
      const waiter = spin(() => awaitSignal('QUIT', 'HUP'))
      trap('HUP', () => sleep(5))
      yield* snooze()
      spin(() => void play('SIGHUP'))
      yield* waiter
      assert.equal(yield* moveOnAfter(10, () => awaitSignal('QUIT'), 'in vain'), 'in vain')
    },
    { check: () => assert.equal(listeners(), before) },
  )
  assert.ok(runs > 10)
})

test('three waiters, one signal, one killer, in every order: each fiber that waited when it came has it', () => {
  const before = listeners()
  const { complete } = explore(function* () {
    const got: string[] = []
    trap('QUIT', () => got.push('trap'))
    const waiters = [1, 2, 3].map((n) => spin(`w${n}`, () => awaitSignal('QUIT')))
    yield* sleep(1)
    const victim = waiters[1] as Fiber
    let isHit = false
    spin(() => {
      isHit = victim.outcome === undefined && victim.waitsFor !== undefined // no answer yet
      victim.stop()
    })
    spin(() => void play('SIGQUIT'))
    yield* sleep(1)
    const had = waiters.map(({ outcome }) => outcome?.type)
    assert.deepEqual(had, ['value', isHit ? 'stopped' : 'value', 'value'])
    assert.deepEqual(got, ['trap'])
  })
  assert.ok(complete)
  assert.equal(listeners(), before)
})

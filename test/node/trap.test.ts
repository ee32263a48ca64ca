// trap and awaitSignal in worlds of their own. A test can play a signal: process.emit('SIGQUIT', 'SIGQUIT') is what Node itself
// does when it comes. (Not SIGINT and SIGTERM, to which the test runner listens, nor SIGUSR2: under the runner of Node 26 it
// writes a diagnostic report.)

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  awaitSignal,
  Fiber,
  FiberStopped,
  moveOnAfter,
  type Op,
  receive,
  sleep,
  snooze,
  spin,
  suspend,
  trap,
} from 'polyphony'
import { explore, stopEverywhere, virtual } from 'polyphony/testing'
import { thrownBy } from '../prelude.js'

const play = (signal: NodeJS.Signals) => process.emit(signal, signal)
const listeners = () => process.listenerCount('SIGQUIT') + process.listenerCount('SIGHUP')

describe('trap', () => {
  test('S46 S51 a handler runs before everyone who is runnable, and whoever runs is not disturbed', () =>
    virtual(function* () {
      const log: string[] = []
      trap('QUIT', (signal) => log.push(signal))
      spin(() => log.push('runnable'))
      play('SIGQUIT')
      log.push('running')
      yield* snooze()
      assert.deepEqual(log, ['running', 'SIGQUIT', 'runnable'])
    }))

  test('S46 several traps of one signal all run, the first one set first; so do signals that come together', () =>
    virtual(function* () {
      const log: string[] = []
      for (const n of [1, 2]) trap('QUIT', (signal) => log.push(`${signal} ${n}`))
      trap('HUP', (signal) => log.push(signal))
      play('SIGQUIT')
      play('SIGHUP')
      play('SIGQUIT')
      yield* snooze()
      assert.deepEqual(log, ['SIGQUIT 1', 'SIGQUIT 2', 'SIGHUP', 'SIGQUIT 1', 'SIGQUIT 2'])
    }))

  test('S46 each signal has a fiber of its own: a handler that waits holds up nobody', () =>
    virtual(function* () {
      const log: string[] = []
      let n = 0
      trap('QUIT', function* () {
        const mine = ++n
        yield* sleep(30 - 10 * mine)
        log.push(`${Fiber.current.path} ${mine}`)
      })
      play('SIGQUIT')
      play('SIGQUIT')
      yield* sleep(100)
      assert.deepEqual(log, ['trap SIGQUIT 2', 'trap SIGQUIT 1'])
    }))

  test('S46 the error of a handler is thrown in main at its switchpoint', () =>
    virtual(function* () {
      const failure = new Error('the handler failed')
      trap('QUIT', () => {
        throw failure
      })
      spin(function* () {
        yield* sleep(5)
        play('SIGQUIT')
      })
      assert.equal(yield* thrownBy(receive()), failure)
    }))

  test('S48 a trap goes with the fiber that set it, and so does the listener', () =>
    virtual(function* () {
      const before = listeners()
      const log: string[] = []
      const first = spin(function* () {
        trap('QUIT', () => log.push('first'))
        yield* sleep()
      })
      const second = spin(function* () {
        trap('QUIT', () => log.push('second'))
        yield* sleep()
      })
      yield* snooze()
      assert.equal(listeners(), before + 1)
      yield* first.stop()
      play('SIGQUIT')
      yield* snooze()
      assert.deepEqual(log, ['second'])
      yield* second.stop()
      assert.equal(listeners(), before)
    }))

  test('S41 S48 a fiber that is restarted sets its traps anew: there is one', () =>
    virtual(function* () {
      const log: number[] = []
      const fiber = spin(function* () {
        trap('QUIT', () => log.push(fiber.incarnation))
        yield* sleep()
      })
      yield* snooze()
      fiber.restart()
      yield* sleep(1)
      play('SIGQUIT')
      yield* snooze()
      assert.deepEqual(log, [2])
    }))

  test('S48 what trap returns removes it, once; a handler that has begun goes on', () =>
    virtual(function* () {
      const before = listeners()
      const log: string[] = []
      const remove = trap('QUIT', function* () {
        log.push('begins')
        yield* sleep(10)
        log.push('ends')
      })
      const other = trap('QUIT', () => log.push('other'))
      play('SIGQUIT')
      yield* snooze()
      remove()
      remove()
      assert.equal(listeners(), before + 1)
      play('SIGQUIT')
      yield* sleep(20)
      other()
      assert.equal(listeners(), before)
      assert.deepEqual(log, ['begins', 'other', 'other', 'ends'])
    }))

  test('S46 a signal that came before the trap was removed is handled', () =>
    virtual(function* () {
      const log: string[] = []
      const remove = trap('QUIT', () => log.push('handled'))
      play('SIGQUIT')
      remove()
      yield* snooze()
      assert.deepEqual(log, ['handled'])
    }))

  test('S46 a handler that is killed before it began takes its signal with it, and no other', () =>
    virtual(function* () {
      const log: string[] = []
      for (const name of ['QUIT', 'HUP'] as const) trap(name, (signal) => log.push(signal))
      play('SIGQUIT')
      for (const root of (Fiber.current as any).runtime.roots) if (!root.isMain) root.kill()
      yield* snooze()
      play('SIGHUP')
      yield* snooze()
      assert.deepEqual(log, ['SIGHUP'])
    }))

  test('S48 a trap set by a handler belongs to the fiber that the handler works for', () =>
    virtual(function* () {
      const before = listeners()
      const log: string[] = []
      const owner = spin(function* () {
        const remove = trap('QUIT', () => {
          remove()
          log.push('first')
          trap('QUIT', () => log.push('again'))
        })
        yield* sleep()
      })
      yield* snooze()
      for (let i = 0; i < 3; i++) {
        play('SIGQUIT')
        yield* sleep(1)
      }
      assert.deepEqual(log, ['first', 'again', 'again'])
      yield* owner.stop()
      assert.equal(listeners(), before)
    }))

  test('S48 a handler that is at work when its owner ends is stopped; a trap it sets then is its own', () =>
    virtual(function* () {
      const before = listeners()
      const log: unknown[] = []
      const owner = spin('owner', function* () {
        trap('QUIT', function* () {
          try {
            yield* sleep()
          } finally {
            log.push(Fiber.current.stopReason)
            yield* sleep(5)
            trap('QUIT', () => log.push('its own'))
            play('SIGQUIT')
            yield* sleep(5)
          }
        })
        yield* sleep()
      })
      yield* snooze()
      play('SIGQUIT')
      yield* snooze()
      yield* owner.stop()
      yield* sleep(20)
      assert.deepEqual(log, ['main > owner ended', 'its own'])
      assert.equal(listeners(), before)
    }))

  test('S64 a world where a trap is set is not at its end: suspend() waits for what comes from outside', () =>
    virtual(function* () {
      const me = Fiber.current
      trap('QUIT', (signal) => me.schedule(signal))
      setImmediate(() => play('SIGQUIT'))
      assert.equal(yield* suspend(), 'SIGQUIT')
    }))

  test('a name may come in any case, with or without SIG', () =>
    virtual(function* () {
      const log: string[] = []
      for (const name of ['quit', 'QUIT', 'SigQuit', 'SIGQUIT']) trap(name, (signal) => log.push(signal))
      play('SIGQUIT')
      yield* snooze()
      assert.deepEqual(log, ['SIGQUIT', 'SIGQUIT', 'SIGQUIT', 'SIGQUIT'])
    }))

  test('what cannot be listened to is refused in a sentence', () => {
    const before = listeners()
    const refusals: [unknown, RegExp][] = [
      ['KILL', /^trap\(\) cannot listen to SIGKILL: the system never lets a process hear of it/],
      ['sigstop', /^trap\(\) cannot listen to SIGSTOP: the system never lets/],
      ['USR1', /^trap\(\) cannot listen to SIGUSR1: Node keeps it for its debugger. SIGUSR2 is free/],
      ['SEGV', /^trap\(\) cannot listen to SIGSEGV: it means that the process is broken/],
      ['INTR', /^trap\(\) knows no signal "INTR"\. Often used are SIGINT \(Ctrl-C\)/],
      ['toString', /^trap\(\) knows no signal "toString"/],
      ['', /^trap\(\) knows no signal ""/],
      [2, /^trap\(\) needs the name of a signal, such as 'SIGINT', got 2/],
    ]
    for (const [name, message] of refusals) {
      assert.throws(() => trap(name as string, () => {}), { code: 'BAD_ARGUMENT', message })
    }
    assert.throws(() => trap('QUIT', (async () => {}) as any), {
      code: 'BAD_ARGUMENT',
      message: /^trap\(\) was given the async/,
    })
    assert.throws(() => trap('QUIT', undefined as any), {
      code: 'BAD_ARGUMENT',
      message: /^trap\(\) needs a function\*/,
    })
    assert.throws(() => awaitSignal('USR1'), { message: /^awaitSignal\(\) cannot listen to SIGUSR1/ })
    assert.throws(() => (awaitSignal as () => Op<unknown>)(), {
      message: /^awaitSignal\(\) needs at least one signal/,
    })
    assert.equal(listeners(), before)
  })
})

describe('awaitSignal', () => {
  test('S47 it gives the full name of the first that comes, and listens to none afterwards', () =>
    virtual(function* () {
      const before = listeners()
      const waiter = spin(() => awaitSignal('quit', 'HUP', 'SIGHUP'))
      yield* snooze()
      assert.equal(waiter.waitsFor, 'awaitSignal(SIGQUIT, SIGHUP)')
      assert.equal(listeners(), before + 2)
      play('SIGHUP')
      play('SIGQUIT')
      assert.equal(yield* waiter, 'SIGHUP')
      assert.equal(listeners(), before)
    }))

  test('every fiber that waits gets the signal, and traps run too', () =>
    virtual(function* () {
      const log: string[] = []
      trap('QUIT', () => log.push('trap'))
      const waiters = ['a', 'b'].map((name) => spin(name, () => awaitSignal('QUIT')))
      yield* snooze()
      play('SIGQUIT')
      assert.deepEqual(yield* Fiber.await(...waiters), ['SIGQUIT', 'SIGQUIT'])
      assert.deepEqual(log, ['trap'])
    }))

  test('S64 a world where somebody waits for a signal waits for what comes from outside', () =>
    virtual(function* () {
      setImmediate(() => play('SIGQUIT'))
      assert.equal(yield* awaitSignal('QUIT'), 'SIGQUIT')
    }))

  test('a time limit leaves no listener behind', () =>
    virtual(function* () {
      const before = listeners()
      assert.equal(yield* moveOnAfter(1000, () => awaitSignal('QUIT'), 'nobody came'), 'nobody came')
      assert.equal(listeners(), before)
    }))

  test('S17 waiting for a signal is no cleanup: it is refused while unwinding', () =>
    virtual(function* () {
      const fiber = spin(function* () {
        try {
          yield* sleep()
        } finally {
          yield* awaitSignal('QUIT')
        }
      })
      yield* snooze()
      assert.deepEqual(yield* fiber.stop(), { type: 'stopped', value: undefined })
    }))

  test('S69 one op serves one wait at a time, and may be used again', () =>
    virtual(function* () {
      const op = awaitSignal('QUIT')
      const waiter = spin(() => op)
      yield* snooze()
      assert.match(
        (yield* thrownBy(op)).message,
        /awaitSignal\(SIGQUIT\) is already being waited for by main >/,
      )
      play('SIGQUIT')
      yield* waiter
      spin(() => void play('SIGQUIT'))
      assert.equal(yield* op, 'SIGQUIT')
    }))

  test('S48 a stop at every switchpoint leaves no listener behind', () => {
    const before = listeners()
    const { runs } = stopEverywhere(
      function* () {
        const waiter = spin(() => awaitSignal('QUIT', 'HUP'))
        trap('HUP', () => sleep(5))
        yield* snooze()
        spin(() => void play('SIGHUP'))
        yield* waiter
        yield* moveOnAfter(10, () => awaitSignal('QUIT'))
      },
      { check: () => assert.equal(listeners(), before) },
    )
    assert.ok(runs > 10)
  })

  test('S34 three fibers, one signal, one killer, in every order: whoever waited when it came has it', (t) => {
    const before = listeners()
    const { schedules, complete } = explore(function* () {
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
    t.diagnostic(`${schedules} schedules`)
    assert.equal(listeners(), before)
  })

  test('a wait that is stopped throws what a stopped wait throws', () =>
    virtual(function* () {
      const waiter = spin(() => awaitSignal('QUIT'))
      yield* snooze()
      waiter.stop()
      assert.ok((yield* thrownBy(waiter)) instanceof FiberStopped)
    }))
})

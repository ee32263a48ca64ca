// trap in worlds of their own. Signals of the system: test/semantics/signals.test.ts.

import { assert, Fiber, runtime, sleep, snooze, spin, test, trap, waits } from '../prelude.js'
import { listeners, play } from './play.js'

test('a handler runs before every runnable fiber, and the running fiber is not disturbed', function* () {
  const log: string[] = []
  trap('QUIT', (signal) => log.push(signal))
  spin(() => log.push('runnable'))
  play('SIGQUIT')
  log.push('running')
  yield* snooze()
  assert.deepEqual(log, ['running', 'SIGQUIT', 'runnable'])
})

test('several traps of one signal run in the order in which they were set; so do signals that come together', function* () {
  const log: string[] = []
  for (const n of [1, 2]) trap('QUIT', () => log.push(`${Fiber.current.name} ${n}`))
  trap('HUP', () => log.push(Fiber.current.name))
  for (const signal of ['SIGQUIT', 'SIGQUIT', 'SIGHUP'] as const) play(signal)
  yield* snooze()
  const twice = ['trap SIGQUIT 1', 'trap SIGQUIT 2']
  assert.deepEqual(log, [...twice, ...twice, 'trap SIGHUP'])
})

test('each signal has a fiber of its own: a handler that waits holds up no other', function* () {
  const log: string[] = []
  const delays = [20, 10]
  trap('QUIT', function* () {
    const ms = delays.shift() as number
    yield* sleep(ms)
    log.push(`${Fiber.current.path} ${ms}`)
  })
  for (let i = 0; i < 2; i++) play('SIGQUIT')
  yield* sleep(100)
  assert.deepEqual(log, ['trap SIGQUIT 10', 'trap SIGQUIT 20'])
})

test('a trap goes with the fiber that set it, and is set anew if that is restarted; the listener goes with the last', function* () {
  const before = listeners()
  const log: string[] = []
  const [first, second] = ['first', 'second'].map((name) =>
    spin(function* () {
      trap('QUIT', () => log.push(`${name} ${Fiber.current.name}`))
      yield* sleep()
    }),
  ) as [Fiber, Fiber]
  yield* snooze()
  assert.equal(listeners(), before + 1)
  yield* first.stop()
  second.restart()
  yield* sleep(1)
  play('SIGQUIT')
  yield* snooze()
  assert.deepEqual(log, ['second trap SIGQUIT'])
  yield* second.stop()
  assert.equal(listeners(), before)
})

test('the function that trap returns removes it, once; a handler that has begun goes on', function* () {
  const before = listeners()
  const log: string[] = []
  const other = trap('QUIT', () => log.push('other'))
  yield* spin(function* () {
    const remove = trap('QUIT', function* () {
      log.push('begins')
      yield* sleep(10)
      log.push('ends')
    })
    play('SIGQUIT')
    yield* sleep(1)
    remove()
    remove()
  })
  assert.equal(runtime().external, 1)
  assert.equal(listeners(), before + 1)
  play('SIGQUIT')
  yield* sleep(20)
  play('SIGQUIT')
  other() // its signal has come, and is handled
  yield* snooze()
  assert.equal(listeners(), before)
  assert.deepEqual(log, ['other', 'begins', 'other', 'ends', 'other'])
})

test('a handler that is killed before it began takes its signal with it, and no other', function* () {
  const log: string[] = []
  for (const name of ['QUIT', 'HUP'] as const) trap(name, (signal) => log.push(signal))
  play('SIGQUIT')
  for (const root of runtime().roots) if (!root.isMain) root.kill()
  yield* snooze()
  play('SIGHUP')
  yield* snooze()
  assert.deepEqual(log, ['SIGHUP'])
})

test('a trap set by a handler belongs to the fiber that the handler works for', function* () {
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
})

test('a handler at work when its owner ends is stopped; a trap that it sets then is its own', function* () {
  const before = listeners()
  const log: unknown[] = []
  const owner = spin('owner', function* () {
    const last = function* () {
      log.push(Fiber.current.stopReason)
      yield* sleep(5)
      trap('QUIT', () => log.push('its own'))
      play('SIGQUIT')
      yield* sleep(5)
    }
    trap('QUIT', () => waits(last))
    yield* sleep()
  })
  yield* snooze()
  play('SIGQUIT')
  yield* snooze()
  yield* owner.stop()
  yield* sleep(20)
  assert.deepEqual(log, ['main > owner ended', 'its own'])
  assert.equal(listeners(), before)
})

test('a name may come in any case, with or without SIG', function* () {
  const log: string[] = []
  for (const name of ['quit', 'QUIT', 'SigQuit', 'SIGQUIT']) trap(name, (signal) => log.push(signal))
  play('SIGQUIT')
  yield* snooze()
  assert.deepEqual(log, ['SIGQUIT', 'SIGQUIT', 'SIGQUIT', 'SIGQUIT'])
})

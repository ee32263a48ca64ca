// Main and exit: S45. Each program is a process of its own, since the shell is the judge.

import { once } from 'node:events'
import { describe, ended, test } from '../prelude.js'
import { assertEnd, ends, lines, runFile, start } from '../programs/run.js'

describe('S45 exit codes', { concurrency: 2 }, () => {
  const codes =
    (...args: string[]) =>
    () =>
      runFile('exit-codes', { args })

  ends('a main that returns: 0, after its children have cleaned up', codes('value'), {
    stdout: lines('main returns', 'child cleaned up'),
  })
  ends('a main that fails: 1', codes('error'), { code: 1, stderr: ['Error: no such luck', 'main'] })
  ends('exit(n): n, after cleanup that waits', codes('exit'), {
    code: 7,
    stdout: lines('main cleaned up', 'worker cleaned up'),
  })
  ends('exit(n) works from any fiber', codes('exit-from-child'), { code: 3 })
  ends('a cleanup of exit(n) that fails is printed, and the code is 1', codes('exit-cleanup-fails'), {
    code: 1,
    stderr: ['Error: cleanup went wrong', 'main'],
  })
  ends('exit() outside main, exit(256), exit(1.5) and a second main() are refused in words', 'exit-misuse', {
    stdout: /^BAD_STATE .*main\(\).*\nBAD_ARGUMENT .*256.*\nBAD_ARGUMENT .*1\.5.*\nBAD_STATE .*main\(\).*\n$/,
  })
  ends('what keeps the process a second after main is named, and the process ends', 'lingering', {
    stdout: /^main is over after (?!0)\d{4,} ms\n$/,
    stderr: /kept open by .*TCPS/,
  })
  test('output that is read slowly is waited for before that', async () => {
    const child = start('lingering', { args: ['late'] })
    await once(child.stderr, 'data')
    assertEnd(await ended(child), { stdout: /^x{1000000}main is over/, stderr: /kept open by .*TCPS/ })
  })
  ends('the code survives a process that is kept open', () => runFile('lingering', { args: ['9'] }), {
    code: 9,
    stdout: /main is over/,
    stderr: /kept open by/,
  })
  ends(
    'a second main has neither the code of the first nor the watch for what keeps the process',
    `
    import { exit, main, sleep } from 'polyphony'
    main(function* () { exit(3) })
    setTimeout(() => {
      process.exitCode = 4
      main(function* () { yield* sleep(1500); console.log('second is done') })
    }, 20)`,
    { code: 4, stdout: 'second is done\n' },
  )

  for (const [how, code] of Object.entries({ value: 0, exit: 5, error: 1 })) {
    ends(
      `a megabyte on stdout arrives whole through a pipe, ending by ${how}`,
      () => runFile('flush', { args: [how] }),
      { code, stdout: /^[\s\S]{1048576}$/, stderr: how === 'error' ? /Error/ : '' },
    )
  }

  ends('a deadlock under run() rejects its promise, and the process goes on', 'run-deadlock', {
    stdout:
      /^DEADLOCK\nDeadlockError: [^\n]* stuck\.[\s\S]*\n└─ culprit {2}waiting for receive\(\)\n+answer 42\n$/,
  })
  ends(
    'stop() of a deadlocked run resolves when its fibers are dead',
    `
    import { receive, run, sleep } from 'polyphony'
    const stuck = run(function* () {
      try { yield* receive() } finally { yield* sleep(10); console.log('cleaned up') }
    })
    await stuck.catch(() => {})
    await stuck.stop()
    console.log(stuck.fiber.state)`,
    { stdout: lines('cleaned up', 'dead') },
  )

  const WAITING = `
    const waiting = run(() => receive())
    waiting.then(say)
    `
  const revived: Record<string, string> = {
    'a listener set before run() sends a message': `process.once('beforeExit', () => waiting.fiber.send('hello'))${WAITING}`,
    'a listener set after run() sends a message': `${WAITING}process.once('beforeExit', () => waiting.fiber.send('hello'))`,
    'a listener starts a timer that sends a message': `${WAITING}process.once('beforeExit', () => setTimeout(() => waiting.fiber.send('hello'), 5))`,
    'a listener starts another run': `
      process.once('beforeExit', () => run(() => sleep(10)).then(() => say('hello')))
      run(() => receive()).catch(() => {})`,
    'a listener wakes main, which returns': `
      let fiber
      main(function* () { fiber = Fiber.current; say(yield* receive()) })
      process.once('beforeExit', () => fiber.send('hello'))`,
  }
  const IMPORTS = `
    import { Fiber, main, receive, run, sleep } from 'polyphony'
    const say = (value) => console.log(value)
    `
  for (const [what, source] of Object.entries(revived)) {
    ends(`a beforeExit listener can go on, and no deadlock is told: ${what}`, IMPORTS + source, {
      stdout: 'hello\n',
    })
  }
})

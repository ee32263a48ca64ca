// Signals: S46 to S48, sent by the system to processes of their own. What each program does is in programs/signals.ts.
// Traps and waits inside one process: test/node/trap.test.ts and await-signal.test.ts.

import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { assert, describe, type Ended, test } from '../prelude.js'
import { assertEnd, type Expected, ended, ends, lines } from '../programs/run.js'
import { signalsAtRandom } from '../programs/signals-at-random.js'
import { talk } from '../talk.js'

const file = fileURLToPath(new URL('../programs/signals.js', import.meta.url))

/** A program, and the signals that it is sent, one by one, when it is ready, or ready again: what it promises. */
function declare(rows: Record<string, [promise: string, expected: Expected]>): void {
  for (const [key, [promise, expected]] of Object.entries(rows)) {
    const [mode = '', ...signals] = key.split(' ')
    const steps = signals.map((signal) => ({ seen: 'ready', signal: signal as NodeJS.Signals }))
    ends(promise, () => talk(file, [mode], steps), expected)
  }
}

const STOPPING = (signal: string, how = signal === 'SIGINT' ? 'Ctrl-C again' : 'SIGINT') =>
  lines(`polyphony: ${signal}: stopping, cleanup has up to 5 s; ${how} cuts it short`)
const KILLING = lines('polyphony: SIGINT: cleanup may no longer wait; another SIGINT exits at once')
const cleanedUp = (signal: string, ...names: string[]) =>
  names.flatMap((name) => [`${name} cleaned up: ${signal}`, `${name} over`])

describe('S46 handlers', { concurrency: 2 }, () => {
  const GOT = 'SIGUSR2 in trap SIGUSR2, parent null'
  declare({
    'trap SIGUSR2 SIGUSR2': [
      'a handler runs outside the tree, may wait and send, and is called at each signal',
      { stdout: lines('ready', GOT, 'ready again', GOT, '1 1 1 0') },
    ],
    'trap-fails': [
      'an error of a handler is thrown in main; other fibers are not disturbed',
      { stdout: lines('main caught: the handler failed', 'not disturbed') },
    ],
    'trap-fails-uncaught SIGUSR2': [
      'an error of a handler that main does not catch ends the program with code 1',
      { code: 1, stdout: /ready/, stderr: /Error: the handler failed[\s\S]*in fiber: trap SIGUSR2/ },
    ],
    'trap-fails-in-run': [
      'without main it is reported, and the run goes on',
      {
        stdout: 'the run goes on\n',
        stderr: /trap SIGUSR2 failed and there is no main to tell\nError: the handler failed/,
      },
    ],
  })

  test('handlers run while other fibers are busy', async () => {
    const child = spawn(process.execPath, [file, 'trap-busy'], { timeout: 20_000, killSignal: 'SIGKILL' })
    child.stdout.once('data', () => {
      child.kill('SIGTERM')
      child.kill('SIGUSR2')
    })
    assertEnd(await ended(child), { stdout: lines('ready', 'TERM, USR2 first, USR2 second') })
  })
})

describe('S47 what main does by itself', { concurrency: 2 }, () => {
  for (const [signal, code] of Object.entries({ SIGINT: 130, SIGTERM: 143, SIGHUP: 129 })) {
    const stdout = lines('ready', `main sees true ${signal}`, ...cleanedUp(signal, 'outer', 'inner'))
    const promise = `${signal} stops main in order, says so, and the code is ${code}`
    declare({ [`stop ${signal}`]: [promise, { code, stdout, stderr: STOPPING(signal) }] })
  }
  declare({
    'busy SIGINT': [
      'a signal is noticed while fibers run without end',
      { code: 130, stdout: lines('ready', ...cleanedUp('SIGINT', 'worker')), stderr: STOPPING('SIGINT') },
    ],
    second: [
      'a second SIGINT kills: only synchronous cleanup still runs',
      { code: 130, stdout: 'worker over\n', stderr: STOPPING('SIGINT') + KILLING },
    ],
    'second-after-term': [
      'a SIGINT after a SIGTERM kills, and the code is that of the first signal',
      { code: 143, stdout: 'worker over\n', stderr: STOPPING('SIGTERM') + KILLING },
    ],
    'second-kills-runs': [
      'the second SIGINT kills every tree of the process',
      { code: 130, stdout: /^(beside over\nworker over|worker over\nbeside over)\n$/, stderr: /stopping/ },
    ],
    echo: [
      'a SIGINT within 300 ms of the one before is its echo and changes nothing',
      { code: 130, stdout: lines(...cleanedUp('SIGINT', 'worker')), stderr: STOPPING('SIGINT') },
    ],
    'echo-after-the-end': [
      'an echo that comes when main is dead does not cut off output',
      { code: 130, stdout: 'drained\n', stderr: /stopping/ },
    ],
    terms: [
      'SIGTERM again, or SIGHUP after it, changes nothing',
      { code: 143, stdout: lines(...cleanedUp('SIGTERM', 'worker')), stderr: STOPPING('SIGTERM') },
    ],
    third: [
      'the third SIGINT exits at once, though synchronous cleanup is not over',
      { code: 130, stdout: 'cut short\n', stderr: STOPPING('SIGINT') + KILLING },
    ],
    lingers: [
      'when a signal has ended main, another one ends a process that something else keeps',
      { code: 143, stderr: STOPPING('SIGTERM') },
    ],
    'main-again SIGTERM': [
      'a main after one that a signal has ended acts on signals anew',
      {
        code: 143,
        stdout: lines('ready', ...cleanedUp('SIGTERM', 'second')),
        stderr: STOPPING('SIGINT') + STOPPING('SIGTERM'),
      },
    ],
    'stop-beside-trap SIGTERM': [
      'where SIGINT is trapped, it is not offered to cut cleanup short',
      { code: 143, stdout: 'ready\n', stderr: 'polyphony: SIGTERM: stopping, cleanup has up to 5 s\n' },
    ],
    'cleanup-fails SIGTERM': [
      'an error in the cleanup after a signal is printed, and the code is 1',
      { code: 1, stdout: /ready/, stderr: /Error: cleanup went wrong/ },
    ],
    'carries-on SIGINT': [
      'a main that catches the stop and returns a value was stopped: the code is that of the signal',
      { code: 130, stdout: lines('ready', 'main returns'), stderr: /stopping/ },
    ],
    'exit-in-cleanup SIGTERM': [
      'exit(n) in the cleanup after a signal decides the code',
      { code: 5, stdout: /ready/, stderr: /stopping/ },
    ],
    'exit-before': [
      'a signal during the cleanup of exit(n) changes neither code nor reason',
      { code: 6, stdout: 'cleaned up: exit(6)\n', stderr: /^/ },
    ],
    'exit-code-set SIGHUP': [
      'the code of a signal goes before a process.exitCode that was set',
      { code: 129, stdout: /ready/, stderr: /stopping/ },
    ],
    'grace SIGINT': [
      'main({ grace }) is what cleanup has after a signal',
      {
        code: 130,
        stdout: lines('ready', 'main over'),
        stderr: ['cleanup has up to 0.02 s', 'main was forced to end'],
      },
    ],
    'run-installs-nothing SIGTERM': [
      'run() installs nothing: a signal does what it does in any Node program',
      { code: null, stdout: lines('0 0 0 0', 'ready') },
    ],
    'before-main SIGINT': [
      'a signal that comes before main() does what it does in any Node program',
      { code: null, stdout: 'ready\n' },
    ],
    'await SIGTERM': [
      'a fiber in awaitSignal gets the signal, and main does not act on it',
      { stdout: lines('ready', 'got SIGTERM, quitting', ...cleanedUp('main ended', 'worker')) },
    ],
    'await-echo': [
      'the echo of a signal that was waited for is not another one',
      { stdout: lines('got SIGINT', ...cleanedUp('main ended', 'worker')), stderr: 'drained\n' },
    ],
    'await-then-stop SIGINT': [
      'when no fiber waits any more, main acts again',
      {
        code: 130,
        stdout: lines('got SIGINT', 'ready', ...cleanedUp('SIGINT', 'main')),
        stderr: STOPPING('SIGINT'),
      },
    ],
  })
  const interrupted = ['ready', 'removed'].map((seen) => ({ seen, signal: 'SIGINT' as const }))
  ends(
    'while a trap is set, main does not act on that signal; when it is removed, main does again',
    () => talk(file, ['trap-int'], interrupted),
    { code: 130, stdout: lines('ready', 'trapped', 'removed'), stderr: STOPPING('SIGINT') },
  )

  test('Ctrl-C under npm, which passes it on a second time, is one Ctrl-C', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'polyphony-npm-'))
    try {
      const script = `"${process.execPath}" "${file}" stop`
      writeFileSync(join(folder, 'package.json'), JSON.stringify({ scripts: { start: script } }))
      const child = spawn('npm', ['start', '--silent'], {
        cwd: folder,
        detached: true, // a process group of its own, as in a terminal
        timeout: 30_000,
        env: { PATH: process.env.PATH, HOME: folder, npm_config_update_notifier: 'false' },
      })
      child.stdout.once('data', () => process.kill(-(child.pid as number), 'SIGINT'))
      const { stdout, stderr } = await ended(child)
      const cleanup = cleanedUp('SIGINT', 'outer', 'inner')
      assert.equal(stdout, lines('ready', 'main sees true SIGINT', ...cleanup))
      assert.equal(stderr, STOPPING('SIGINT'))
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  test('at random moments the exit code and the cleanup are right (500 times: npm run test:signals)', async (t) => {
    const { seed, told, faults } = await signalsAtRandom(20)
    t.diagnostic(`seed ${seed}: ${told}`)
    assert.deepEqual(faults, [])
  })
})

describe('S48 listeners, and how long they stay', { concurrency: 2 }, () => {
  declare({
    'main-installs': ['main listens while it lives', { stdout: lines('1 1 1 0', '0 0 0 0') }],
    'trap-outside': [
      'a trap set outside any fiber goes with main, and does not keep the process',
      { stdout: lines('got SIGUSR2', '1 1 1 1', '0 0 0 0') },
    ],
    'trap-outside-holds SIGUSR2': [
      'without main it holds the process until it is removed',
      { stdout: lines('ready', 'got SIGUSR2') },
    ],
    'trap-run SIGTERM': [
      'a trap holds a process whose fibers only wait in suspend(), also under run',
      { stdout: lines('0 1 0 0', 'ready', 'trapped', '0 0 0 0') },
    ],
    'handler-at-the-end': [
      'a handler that still works when main ends is stopped, and cleans up',
      { stdout: lines('main returns', 'handler cleaned up: main ended', 'handler over') },
    ],
    'await-holds SIGHUP': [
      'awaitSignal holds the process, and its listeners are there exactly while it waits',
      { stdout: lines('0 0 0 0', '0 0 1 1', 'ready', 'got SIGHUP', '0 0 0 0') },
    ],
    'tree-holds-nothing': [
      'the live tree on a signal holds nothing: a bare suspend() in main returns, and the process ends',
      { stdout: lines('1 1 1 1', '0 0 0 0') },
    ],
  })

  /** Sends the first signal when the program is ready, and each other one when a tree was printed. Counts the trees. */
  async function printed(
    [first, ...rest]: NodeJS.Signals[],
    env: Record<string, string>,
  ): Promise<[Ended, number]> {
    const child = spawn(process.execPath, [file, 'tree'], {
      env: { PATH: process.env.PATH, ...env },
      timeout: 20_000,
      killSignal: 'SIGKILL',
    })
    child.stdout.once('data', () => child.kill(first))
    let seen = ''
    let trees = 0
    child.stderr.on('data', (text) => {
      seen += text
      for (const complete = seen.split('inbox').length - 1; trees < complete; trees++) {
        const next = rest.shift()
        if (next !== undefined) child.kill(next)
      }
    })
    return [await ended(child), trees]
  }

  test('main({ treeOn }) prints the live tree at each signal, also while fibers are busy', async () => {
    const [{ code, stderr }, trees] = await printed(['SIGUSR2', 'SIGUSR2', 'SIGINT'], {})
    assert.match(
      stderr,
      /^polyphony: SIGUSR2: process \d+ has 4 fibers, [01] of them runnable, and 1 timers\n/,
    )
    assert.match(
      stderr,
      /^main {2}waiting for sleep\(\)\n├─ clock {2}waiting for sleep\(60000\)\n├─ busy {2}runnable\n└─ inbox {2}waiting for receive\(\)\n/m,
    )
    assert.deepEqual([code, trees], [130, 2])
  })

  test('POLYPHONY_TREE_SIGNAL says from outside which signal it is', async () => {
    const [{ code, stderr }] = await printed(['SIGWINCH', 'SIGINT'], { POLYPHONY_TREE_SIGNAL: 'WINCH' })
    assert.match(stderr, /^polyphony: SIGWINCH: process \d+ has 4 fibers/)
    assert.equal(code, 130)
  })

  test('the live tree listens beside main: main acts on the same signal', async () => {
    const [{ code, stderr }] = await printed(['SIGTERM'], { POLYPHONY_TREE_SIGNAL: 'SIGTERM' })
    assert.match(stderr, /inbox {2}waiting for receive\(\)\npolyphony: SIGTERM: stopping/)
    assert.equal(code, 143)
  })
})

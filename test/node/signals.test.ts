// Signals, sent by the system to processes of their own. What each program does is in programs/signals.ts.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type Ended, ended, program } from '../prelude.js'
import { talk } from '../talk.js'
import { signalsAtRandom } from './signals-at-random.js'

const file = fileURLToPath(new URL('../programs/signals.js', import.meta.url))

/** Runs one of the programs; when it is ready, and ready again, it is sent these signals. */
function send(mode: string, ...signals: NodeJS.Signals[]): Promise<Ended> {
  return talk(
    file,
    [mode],
    signals.map((signal) => ({ seen: 'ready', signal })),
  )
}

const lines = (...expected: string[]) => expected.map((line) => `${line}\n`).join('')
const STOPPING = (signal: string, how = signal === 'SIGINT' ? 'Ctrl-C again' : 'SIGINT') =>
  lines(`polyphony: ${signal}: stopping, cleanup has up to 5 s; ${how} cuts it short`)
const KILLING = lines('polyphony: SIGINT: cleanup may not wait any more; once more exits at once')

describe('main acts on signals', { concurrency: 2 }, () => {
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const) {
    test(`S47 S45 ${signal} stops main in order, says so, and the code is ${code}`, async () => {
      // The order of the originals: main, then its child, then the child of that one.
      const { code: exited, stdout, stderr } = await send('stop', signal)
      const cleanup = ['outer', 'inner'].flatMap((name) => [`${name} cleaned up: ${signal}`, `${name} over`])
      assert.equal(stdout, lines('ready', `main sees true ${signal}`, ...cleanup))
      assert.deepEqual([exited, stderr], [code, STOPPING(signal)])
    })
  }

  test('S47 also while fibers run without end', async () => {
    const { code, stdout, stderr } = await send('busy', 'SIGINT')
    assert.equal(stdout, lines('ready', 'worker cleaned up: SIGINT', 'worker over'))
    assert.deepEqual([code, stderr], [130, STOPPING('SIGINT')])
  })

  test('S47 a second SIGINT kills: only synchronous cleanup still runs', async () => {
    const { code, stdout, stderr } = await send('second')
    assert.deepEqual([code, stdout, stderr], [130, 'worker over\n', STOPPING('SIGINT') + KILLING])
  })

  test('S47 so does a SIGINT after a SIGTERM, and the code is that of the first signal', async () => {
    const { code, stdout, stderr } = await send('second-after-term')
    assert.deepEqual([code, stdout, stderr], [143, 'worker over\n', STOPPING('SIGTERM') + KILLING])
  })

  test('S47 the second SIGINT kills all: every tree of the process', async () => {
    const { code, stdout } = await send('second-kills-runs')
    assert.deepEqual([code, stdout.split('\n').sort()], [130, ['', 'beside over', 'worker over']])
  })

  test('S47 a SIGINT within 300 ms of the one before is its echo, as npm makes it, and changes nothing', async () => {
    const { code, stdout, stderr } = await send('echo')
    assert.equal(stdout, lines('worker cleaned up: SIGINT', 'worker over'))
    assert.deepEqual([code, stderr], [130, STOPPING('SIGINT')])
  })

  test('S47 an echo that comes when main is dead does not cut off what the process has still to do', async () => {
    const { code, stdout } = await send('echo-after-the-end')
    assert.deepEqual([code, stdout], [130, 'drained\n'])
  })

  test('S47 SIGTERM again, or SIGHUP after it, changes nothing', async () => {
    const { code, stdout, stderr } = await send('terms')
    assert.equal(stdout, lines('worker cleaned up: SIGTERM', 'worker over'))
    assert.deepEqual([code, stderr], [143, STOPPING('SIGTERM')])
  })

  test('S47 the third SIGINT exits at once, whatever keeps the process', async () => {
    const { code, stdout, stderr } = await send('third')
    assert.deepEqual([code, stdout, stderr], [130, 'worker over\n', STOPPING('SIGINT') + KILLING])
  })

  test('S45 S47 an error in the cleanup after a signal is printed, and the code is 1', async () => {
    const { code, stderr } = await send('cleanup-fails', 'SIGTERM')
    assert.equal(code, 1)
    assert.match(stderr, /Error: cleanup went wrong/)
  })

  test('S45 S47 a main that catches the stop and returns a value was stopped: the code is that of the signal', async () => {
    const { code, stdout } = await send('carries-on', 'SIGINT')
    assert.deepEqual([code, stdout], [130, lines('ready', 'main returns')])
  })

  test('S45 S47 exit(n) in the cleanup after a signal has the last word', async () => {
    assert.equal((await send('exit-in-cleanup', 'SIGTERM')).code, 5)
  })

  test('S45 S47 a signal during the cleanup of exit(n) changes neither code nor reason', async () => {
    const { code, stdout } = await send('exit-before')
    assert.deepEqual([code, stdout], [6, 'cleaned up: exit(6)\n'])
  })

  test('S45 S47 the code of a signal goes before a process.exitCode that was set', async () => {
    assert.equal((await send('exit-code-set', 'SIGHUP')).code, 129)
  })

  test('S18 S47 main({ grace }) is what cleanup has after a signal', async () => {
    const { code, stdout, stderr } = await send('grace', 'SIGINT')
    assert.deepEqual([code, stdout], [130, lines('ready', 'main over')])
    assert.match(stderr, /cleanup has up to 0\.02 s/)
    assert.match(stderr, /main was forced to end/)
  })

  test('S48 main listens while it lives, and no longer', async () => {
    const { code, stdout, stderr } = await send('main-installs')
    assert.deepEqual([code, stdout, stderr], [0, lines('1 1 1 0', '0 0 0 0'), ''])
  })

  test('S45 run() installs nothing: a signal does what it does in any Node program', async () => {
    const { code, stdout, stderr } = await send('run-installs-nothing', 'SIGTERM')
    assert.deepEqual([code, stdout, stderr], [null, lines('0 0 0 0', 'ready'), ''])
  })

  test('a signal that comes before main() does what it does in any Node program', async () => {
    const { code, stdout, stderr } = await send('before-main', 'SIGINT')
    assert.deepEqual([code, stdout, stderr], [null, 'ready\n', ''])
  })
})

describe('trap', { concurrency: 2 }, () => {
  test('S46 a handler runs outside the tree, may wait and send, and is called at each signal', async () => {
    const { code, stdout, stderr } = await send('trap', 'SIGUSR2', 'SIGUSR2')
    const got = 'SIGUSR2 in trap SIGUSR2, parent null'
    assert.equal(stdout, lines('ready', got, 'ready again', got, '1 1 1 0'))
    assert.deepEqual([code, stderr], [0, ''])
  })

  test('S47 while a trap is set, main does not act on that signal; when it is removed, main does again', async () => {
    const { code, stdout, stderr } = await talk(
      file,
      ['trap-int'],
      [
        { seen: 'ready', signal: 'SIGINT' },
        { seen: 'removed', signal: 'SIGINT' },
      ],
    )
    assert.deepEqual([code, stdout], [130, lines('ready', 'trapped', 'removed')])
    assert.equal(stderr, STOPPING('SIGINT'))
  })

  test('S46 handlers run while other fibers are busy', async () => {
    const child = spawn(process.execPath, [file, 'trap-busy'], { timeout: 20_000, killSignal: 'SIGKILL' })
    child.stdout.once('data', () => {
      child.kill('SIGTERM')
      child.kill('SIGUSR2')
    })
    const { code, stdout, stderr } = await ended(child)
    assert.equal(stdout, lines('ready', 'TERM, USR2 first, USR2 second'))
    assert.deepEqual([code, stderr], [0, ''])
  })

  test('S46 an error of a handler is thrown in main, and nobody else is disturbed', async () => {
    const { code, stdout, stderr } = await send('trap-fails')
    assert.equal(stdout, lines('main caught: the handler failed', 'not disturbed'))
    assert.deepEqual([code, stderr], [0, ''])
  })

  test('S46 an error of a handler that main does not catch ends the program with code 1', async () => {
    const { code, stderr } = await send('trap-fails-uncaught', 'SIGUSR2')
    assert.equal(code, 1)
    assert.match(stderr, /Error: the handler failed[\s\S]*in fiber: trap SIGUSR2/)
  })

  test('S46 without main it is reported, and the run goes on', async () => {
    const { code, stdout, stderr } = await send('trap-fails-in-run')
    assert.deepEqual([code, stdout], [0, 'the run goes on\n'])
    assert.match(stderr, /trap SIGUSR2 failed and there is no main to tell\nError: the handler failed/)
  })

  test('S48 S64 a trap set outside any fiber goes with main, and does not keep the process', async () => {
    const { code, stdout, stderr } = await send('trap-outside')
    assert.deepEqual([code, stdout, stderr], [0, lines('got SIGUSR2', '1 1 1 1', '0 0 0 0'), ''])
  })

  test('S64 without main it holds the process until it is removed', async () => {
    const { code, stdout, stderr } = await send('trap-outside-holds', 'SIGUSR2')
    assert.deepEqual([code, stdout, stderr], [0, lines('ready', 'got SIGUSR2'), ''])
  })

  test('S64 a trap holds a process whose fibers only wait in suspend(), also under run', async () => {
    const { code, stdout, stderr } = await send('trap-run', 'SIGTERM')
    assert.equal(stdout, lines('0 1 0 0', 'ready', 'trapped', '0 0 0 0'))
    assert.deepEqual([code, stderr], [0, ''])
  })

  test('S48 a handler that still works when main ends is stopped, and cleans up', async () => {
    const { code, stdout, stderr } = await send('handler-at-the-end')
    assert.equal(stdout, lines('main returns', 'handler cleaned up: main ended', 'handler over'))
    assert.deepEqual([code, stderr], [0, ''])
  })

  test('signals do not arrive in worker threads, and those who wait there are told', async () => {
    const { code, stdout } = await program(`
      import { Worker } from 'node:worker_threads'
      const source = \`
        import('polyphony').then(({ awaitSignal, main, run, trap }) => {
          for (const listen of [() => trap('INT', () => {}), () => awaitSignal('INT')]) {
            try { listen() } catch (error) { console.log(error.code, error.message) }
          }
          main(() => console.log(process.listenerCount('SIGINT')))
        })\`
      new Worker(source, { eval: true })`)
    assert.equal(code, 0)
    const advice = 'Listen in the main thread and send a message'
    const refused = (what: string) =>
      `BAD_STATE ${what} was used in a worker thread, where no signal ever arrives. ${advice}`
    assert.equal(stdout, lines(refused('trap()'), refused('awaitSignal()'), '0'))
  })
})

describe('awaitSignal', { concurrency: 2 }, () => {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    test(`S47 whoever waits for ${signal} gets it, not main`, async () => {
      const { code, stdout, stderr } = await send('await', signal)
      const end = ['worker cleaned up: main ended', 'worker over']
      assert.equal(stdout, lines('ready', `got ${signal}, quitting`, ...end))
      assert.deepEqual([code, stderr], [0, ''])
    })
  }

  test('S47 the echo of a signal that was waited for is not another one: main does not act on it', async () => {
    const { code, stdout, stderr } = await send('await-echo')
    const end = ['worker cleaned up: main ended', 'worker over', 'drained']
    assert.deepEqual([code, stdout, stderr], [0, lines('got SIGINT', ...end), ''])
  })

  test('S47 when nobody waits any more, main acts again', async () => {
    const { code, stdout, stderr } = await send('await-then-stop', 'SIGINT')
    assert.equal(stdout, lines('got SIGINT', 'ready', 'main cleaned up: SIGINT', 'main over'))
    assert.deepEqual([code, stderr], [130, STOPPING('SIGINT')])
  })

  test('S48 S64 it holds the process, and its listeners are there exactly while it waits', async () => {
    const { code, stdout, stderr } = await send('await-holds', 'SIGHUP')
    assert.equal(stdout, lines('0 0 0 0', '0 0 1 1', 'ready', 'got SIGHUP', '0 0 0 0'))
    assert.deepEqual([code, stderr], [0, ''])
  })
})

describe('the live tree on a signal', { concurrency: 2 }, () => {
  const TREE = [
    /^polyphony: SIGUSR2: process \d+ has 4 fibers, [01] of them runnable, and 1 timers\n/,
    /^main {2}waiting for sleep\(\)\n├─ clock {2}waiting for sleep\(60000\)\n├─ busy {2}runnable\n└─ inbox {2}waiting for receive\(\)\n/m,
  ]

  /** Asks twice, then stops it. */
  async function asked(mode: string, env: Record<string, string>, signal: NodeJS.Signals): Promise<Ended> {
    const child = spawn(process.execPath, [file, mode], {
      env: { PATH: process.env.PATH, ...env },
      timeout: 20_000,
      killSignal: 'SIGKILL',
    })
    child.stdout.once('data', () => child.kill(signal))
    let seen = ''
    child.stderr.on('data', (text) => {
      seen += text
      if (seen.split('inbox').length === 2 && !seen.endsWith('again\n')) {
        seen += 'inbox again\n'
        child.kill(signal)
      } else if (seen.split('inbox').length === 4) child.kill('SIGINT')
    })
    return ended(child)
  }

  test('S48 main({ treeOn }) prints it, as often as it is asked, also while fibers are busy', async () => {
    const { code, stderr } = await asked('tree', {}, 'SIGUSR2')
    for (const part of TREE) assert.match(stderr, part)
    assert.equal(stderr.split('inbox').length, 3)
    assert.equal(code, 130)
  })

  test('S48 POLYPHONY_TREE_SIGNAL says from outside which signal it is', async () => {
    const { code, stderr } = await asked('tree', { POLYPHONY_TREE_SIGNAL: 'WINCH' }, 'SIGWINCH')
    assert.match(stderr, /^polyphony: SIGWINCH: process \d+ has 4 fibers/)
    assert.equal(code, 130)
  })

  test('S48 it listens beside the others: main acts on that signal all the same', async () => {
    const child = spawn(process.execPath, [file, 'tree'], {
      env: { PATH: process.env.PATH, POLYPHONY_TREE_SIGNAL: 'SIGTERM' },
      timeout: 20_000,
      killSignal: 'SIGKILL',
    })
    child.stdout.once('data', () => child.kill('SIGTERM'))
    const { code, stderr } = await ended(child)
    assert.match(stderr, /inbox {2}waiting for receive\(\)\npolyphony: SIGTERM: stopping/)
    assert.equal(code, 143)
  })

  test('S64 it holds nothing: a bare suspend() in main still returns, and the process ends', async () => {
    const { code, stdout, stderr } = await send('tree-holds-nothing')
    assert.deepEqual([code, stdout, stderr], [0, lines('1 1 1 1', '0 0 0 0'), ''])
  })

  test('a signal that does not exist is refused, whoever named it', async () => {
    const source = `import { main } from 'polyphony'
      try { main(() => {}, { treeOn: 'USR3' }) } catch (error) { console.log(error.message) }`
    const known = 'Often used are SIGINT (Ctrl-C), SIGTERM, SIGHUP and SIGUSR2'
    const { stdout } = await program(source)
    assert.equal(stdout, lines(`the treeOn of main() knows no signal "USR3". ${known}`))
    const outside = await program(source, { POLYPHONY_TREE_SIGNAL: 'kill' })
    assert.match(outside.stdout, /^POLYPHONY_TREE_SIGNAL cannot listen to SIGKILL: /)
  })
})

describe('under npm', () => {
  test('S47 Ctrl-C, which npm passes on a second time, is one Ctrl-C', async () => {
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
      const cleanup = ['outer', 'inner'].flatMap((name) => [`${name} cleaned up: SIGINT`, `${name} over`])
      assert.equal(stdout, lines('ready', 'main sees true SIGINT', ...cleanup))
      assert.equal(stderr, STOPPING('SIGINT'))
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})

describe('at random moments', () => {
  test('S45 S47 the exit code and the cleanup are always right (500 times: npm run test:signals)', async (t) => {
    const { seed, told, faults } = await signalsAtRandom(25)
    t.diagnostic(`seed ${seed}: ${told}`)
    assert.deepEqual(faults, [])
  })
})

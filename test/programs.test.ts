// Tiny programs, each run as a process of its own: what counts is what the shell sees.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type Ended, ended } from './prelude.js'

interface Timed extends Ended {
  ms: number
}

/** Runs `programs/<name>.js` and waits for its end. One that hangs is killed after a while, and its code is null. */
async function program(
  name: string,
  args: string[] = [],
  options: { env?: Record<string, string>; node?: string[]; limit?: number } = {},
): Promise<Timed> {
  const file = fileURLToPath(new URL(`programs/${name}.js`, import.meta.url))
  const started = performance.now()
  const child = spawn(process.execPath, [...(options.node ?? []), file, ...args], {
    env: { PATH: process.env.PATH, ...options.env },
    timeout: options.limit ?? 20_000,
    killSignal: 'SIGKILL',
  })
  return { ...(await ended(child)), ms: performance.now() - started }
}

const lines = (...expected: string[]) => expected.map((line) => `${line}\n`).join('')

/** The places where `words` begin in `text`, which must hold all of them in this order. */
function assertInOrder(text: string, ...words: string[]): void {
  let from = 0
  for (const word of words) {
    const at = text.indexOf(word, from)
    assert.ok(at >= 0, `${JSON.stringify(word)} is missing, or too early, in:\n${text}`)
    from = at + word.length
  }
}

describe('exit codes', { concurrency: 2 }, () => {
  test('S45 a main that returns exits with 0, after its children have cleaned up', async () => {
    const { code, stdout, stderr } = await program('exit-codes', ['value'])
    assert.deepEqual([code, stdout, stderr], [0, lines('main returns', 'child cleaned up'), ''])
  })

  test('S45 a main that fails exits with 1', async () => {
    const { code, stdout, stderr } = await program('exit-codes', ['error'])
    assert.deepEqual([code, stdout], [1, ''])
    assertInOrder(stderr, 'Error: no such luck', 'main')
  })

  test('S45 exit(n) lets cleanup wait, then exits with n', async () => {
    const { code, stdout, stderr } = await program('exit-codes', ['exit'])
    assert.deepEqual([code, stdout, stderr], [7, lines('main cleaned up', 'worker cleaned up'), ''])
  })

  test('S45 exit(n) works from any fiber', async () => {
    const { code, stdout, stderr } = await program('exit-codes', ['exit-from-child'])
    assert.deepEqual([code, stdout, stderr], [3, '', ''])
  })

  test('S45 an error in the cleanup of exit(n) is an error: it is printed, and the code is 1', async () => {
    const { code, stderr } = await program('exit-codes', ['exit-cleanup-fails'])
    assert.equal(code, 1)
    assertInOrder(stderr, 'Error: cleanup went wrong', 'main')
  })

  test('S45 exit() and a second main() are refused in words', async () => {
    const { code, stdout, stderr } = await program('exit-misuse')
    assert.deepEqual([code, stderr], [0, ''])
    const said = stdout.split('\n')
    assert.match(said[0] as string, /^BAD_STATE .*main\(\)/)
    assert.match(said[1] as string, /^BAD_ARGUMENT .*256/)
    assert.match(said[2] as string, /^BAD_ARGUMENT .*1\.5/)
    assert.match(said[3] as string, /^BAD_STATE .*main\(\)/)
  })

  test('S45 something that keeps the process a second after main is named, and the process ends', async () => {
    const { code, stdout, stderr, ms } = await program('lingering')
    assert.deepEqual([code, stdout], [0, 'main is over\n'])
    assert.match(stderr, /kept open by .*TCPS/)
    assert.ok(ms >= 1000, `it had only ${ms} ms`)
  })

  test('S45 the exit code survives a process that is kept open', async () => {
    const { code, stderr } = await program('lingering', ['9'])
    assert.equal(code, 9)
    assert.match(stderr, /kept open by/)
  })
})

describe('what goes wrong is told', { concurrency: 2 }, () => {
  test('S30 an unhandled error is printed with its fiber path, its cause and every suppressed error', async () => {
    const { code, stdout, stderr } = await program('unhandled')
    assert.deepEqual([code, stdout], [1, ''])
    assertInOrder(stderr, 'Error: the first', 'main > server > conn#3', 'a cut cable', 'suppressed 1 of 2')
    assertInOrder(stderr, 'suppressed 2 of 2')
    // Which of the two cleanups fails first is not promised.
    assert.match(stderr, /Error: the second[\s\S]*?main > server > conn#1/)
    assert.match(stderr, /Error: the third[\s\S]*?main > server > conn#2/)
  })

  test('S30 something thrown that is no Error is told as well', async () => {
    const { code, stderr } = await program('exit-codes', ['non-error'])
    assert.equal(code, 1)
    assert.match(stderr, /just a string/)
  })

  test('S29 the error of an isolated fiber that nobody awaits is reported, and main goes on', async () => {
    const { code, stdout, stderr } = await program('unobserved')
    assert.deepEqual([code, stdout], [0, 'main goes on\n'])
    assertInOrder(stderr, 'lonely', 'Error: nobody listens')
  })

  test('S33 a deadlock exits with 13 and names who waits for what', async () => {
    const { code, stdout, stderr } = await program('deadlock')
    assert.deepEqual([code, stdout], [13, ''])
    assert.match(stderr, /deadlock/i)
    assert.match(stderr, /main.*waiting for .*culprit/)
    assert.match(stderr, /culprit.*waiting for receive\(\)/)
    assert.match(stderr, /bystander.*waiting for suspend\(\)/)
    assert.match(stderr, /promised.*waiting for a promise/)
  })

  test('S45 a deadlock under run() rejects its promise, and the process goes on', async () => {
    const { code, stdout, stderr } = await program('run-deadlock')
    assert.deepEqual([code, stderr], [0, ''])
    assertInOrder(stdout, 'DEADLOCK\n', 'stuck', 'culprit', 'waiting for receive()', 'answer 42\n')
  })
})

describe('what holds the process', { concurrency: 2 }, () => {
  test('S64 suspend() in main returns when all other work is finished (decision 5)', async () => {
    const { code, stdout, stderr } = await program('quiescence')
    const expected = lines('Going to sleep...', 'Woke up', 'suspend returned undefined', "We're done")
    assert.deepEqual([code, stdout, stderr], [0, expected, ''])
  })

  test('S57 a fetch that is stopped is aborted: the server sees it, and nothing keeps the process', async () => {
    const { code, stdout, stderr } = await program('fetch-abort')
    const ways = ['stop', 'moveOnAfter', 'run', 'parent', 'kill']
    assert.equal(stderr, '')
    assert.equal(stdout, lines(...ways.map((way) => `/${way} was aborted`), 'the server is closed'))
    assert.equal(code, 0)
  })

  test('S64 sleep() holds the process', async () => {
    const { code, stdout, stderr } = await program('hold')
    assert.deepEqual([code, stdout, stderr], [42, 'still here\n', ''])
  })

  test('S64 a sleep() that was stopped holds nothing', async () => {
    const { code, stdout, stderr, ms } = await program('hold', ['let-go'])
    assert.deepEqual([code, stdout, stderr], [0, 'stopped\n', ''])
    assert.ok(ms < 10_000)
  })

  for (const kind of ['main', 'run']) {
    test(`S64 a long time-out that was cancelled does not hold the process of ${kind}`, async () => {
      const { code, stdout, stderr } = await program('cancelled-timeout', [kind])
      assert.deepEqual([code, stdout, stderr], [0, 'done\n', ''])
    })
  }
})

describe('run', { concurrency: 2 }, () => {
  test('run works many times, inside callbacks and beside main', async () => {
    const { code, stdout, stderr } = await program('run-beside-main')
    const expected = lines(
      'before main 328350',
      'beside main 328350',
      'in a callback run',
      'only this run fails',
      'one after the other 285',
    )
    assert.deepEqual([code, stdout, stderr], [0, expected, ''])
  })

  test('a run that is stopped cleans up, then settles its promise', async () => {
    const { code, stdout, stderr } = await program('run-stopped')
    const expected = lines(
      "{ type: 'stopped', value: undefined }",
      'cleaned up',
      "{ type: 'stopped', value: undefined }",
      'cleaned up',
      'FIBER_STOPPED watched was stopped without a value',
      'cleaned up',
      'resolves to given',
      'cleaned up',
      'FIBER_STOPPED',
      'reason no longer wanted',
      'cleaned up',
      'disposed dead',
      "result { type: 'value', value: 'result' }",
    )
    assert.deepEqual([code, stdout, stderr], [0, expected, ''])
  })
})

describe('debug mode', { concurrency: 2 }, () => {
  const env = { POLYPHONY_DEBUG: '1' }

  test('the stack of an error goes on through the spin sites up to main', async () => {
    const { code, stderr } = await program('debug-stack', [], { env })
    assert.equal(code, 1)
    assertInOrder(stderr, 'Error: broken', 'breakDown', 'startConnection', 'startServer')
    assert.doesNotMatch(stderr, /dist\/core/)
  })

  test('without debug mode the stack has no spin sites', async () => {
    const { code, stderr } = await program('debug-stack')
    assert.equal(code, 1)
    assertInOrder(stderr, 'Error: broken', 'breakDown', 'main > server > connection')
    assert.doesNotMatch(stderr, /startServer/)
  })

  test('with source maps too the frames of the library are left out', async () => {
    const { code, stderr } = await program('debug-stack', [], {
      env: { NODE_OPTIONS: '--enable-source-maps' },
    })
    assert.equal(code, 1)
    assertInOrder(stderr, 'Error: broken', 'breakDown', 'debug-stack.ts')
    assert.doesNotMatch(stderr, /(src|dist)\/core/)
  })

  test('an op that was never yield*ed is reported with the place where it was made', async () => {
    const { code, stdout, stderr } = await program('debug-floating', [], { env })
    assert.deepEqual([code, stdout], [0, 'done\n'])
    assertInOrder(stderr, 'sleep(1234)', 'forgetTheStar')
    assert.match(stderr, /careless/)
  })

  test('programs without a mistake are not reported', async () => {
    const { code, stdout, stderr } = await program('run-beside-main', [], { env })
    assert.deepEqual([code, stdout.includes('one after the other 285'), stderr], [0, true, ''])
  })

  test('a fiber that holds the loop over 100 ms is named', async () => {
    const { code, stdout, stderr } = await program('debug-slow', [], { env })
    assert.deepEqual([code, stdout], [0, 'done\n'])
    assert.match(stderr, /hog/)
  })
})

describe('output', { concurrency: 2 }, () => {
  for (const [how, expected] of Object.entries({ value: 0, exit: 5, error: 1 })) {
    test(`S45 a megabyte on stdout arrives whole through a pipe, ending by ${how}`, async () => {
      const { code, stdout } = await program('flush', [how])
      assert.equal(code, expected)
      assert.equal(stdout.length, 1024 * 1024)
    })
  }
})

describe('starvation', { concurrency: 2 }, () => {
  for (const kind of [
    'snooze',
    'schedule',
    'messages',
    'ready',
    'promise',
    'block',
    'empty-block',
    'loop',
    'spin',
    'children',
    'timers',
    'slow',
  ]) {
    test(`S49 timers and sockets are served beside fibers that never wait: ${kind}`, async () => {
      const { code, stdout, stderr } = await program('starvation', [kind], { limit: 20_000 })
      const expected = lines(
        'steps: at most 1,024 between two turns of the event loop',
        'socket: all round trips',
        'timer: all fired',
        'timer: in time',
      )
      assert.deepEqual([code, stdout, stderr], [0, expected, ''])
    })
  }
})

describe('memory', { concurrency: 1 }, () => {
  for (const [kind, promise] of Object.entries({
    spins: 'S04 a finished child is forgotten at once: a million spins, flat heap',
    unawaited: 'S04 children that nobody awaits are forgotten too',
    sleeps: 'a million sleeps that were stopped leave nothing behind',
    timeouts: 'a million time-outs that did not fire leave nothing behind',
    ended: 'a million time-outs around sleeps that ended first leave nothing behind',
    expired: 'a million time-outs that cut a sleep leave nothing behind',
    messages: 'a million messages that were received leave nothing behind',
    restarts: 'S41 a million restarts leave nothing behind',
    selects: 'S37 a million times selected together with others, a fiber keeps nothing of it',
    promises: 'S58 a million waits for a promise that never ends leave nothing behind',
    awaiters: 'S52 a million awaiters that were stopped leave nothing behind',
  })) {
    test(promise, async () => {
      const { code, stdout, stderr } = await program('heap', [kind], {
        node: ['--expose-gc'],
        limit: 180_000,
      })
      assert.deepEqual([code, stdout, stderr], [0, 'flat\n', ''])
    })
  }

  test('a million sleeping fibers fit into 1 GB, and end when they are stopped', async () => {
    const { code, stdout, stderr } = await program('heap', ['sleepers'], { limit: 180_000 })
    assert.deepEqual([code, stdout, stderr], [0, lines('less than 1 GB', '1 fiber, 0 timers left'), ''])
  })

  test('S04 S42 a supervisor keeps nothing of a hundred thousand children that have ended', async () => {
    const { code, stdout, stderr } = await program('supervised-heap', [], {
      node: ['--expose-gc'],
      limit: 60_000,
    })
    assert.deepEqual([code, stdout, stderr], [0, lines('flat', 'collected'), ''])
  })

  test('S78 many items, with failures and cancels at random: the counts add up, and the heap is flat', async (t) => {
    // npm run test:soak does it with a million.
    const { code, stdout, stderr } = await program('proco-soak', ['50000'], {
      node: ['--expose-gc'],
      limit: 60_000,
    })
    t.diagnostic(stdout)
    assert.deepEqual([code, stderr, stdout.split('\n').at(-2)], [0, '', 'all items, 1 fiber, 0 timers left'])
  })

  test('S04 dead fibers and their results are collected', async () => {
    const { code, stdout, stderr } = await program('heap', ['dead'], { node: ['--expose-gc'] })
    assert.deepEqual([code, stdout, stderr], [0, 'collected\n', ''])
  })
})

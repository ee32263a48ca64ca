// What a program says when something goes wrong, and what debug mode adds.

import { assert, describe, test } from '../prelude.js'
import { ends, lines, program, runFile } from './run.js'

describe('errors and deadlocks are told', { concurrency: 2 }, () => {
  test('an unhandled error is printed with its fiber path, its cause and every suppressed error', async () => {
    const { code, stdout, stderr } = await runFile('unhandled')
    assert.deepEqual([code, stdout], [1, ''])
    const first = /Error: the first[\s\S]*main > server > conn#3[\s\S]*a cut cable[\s\S]*suppressed 1 of 2/
    // Which of the two cleanups fails first is not promised.
    const others = [/suppressed 2 of 2/, /the second[\s\S]*?> conn#1/, /the third[\s\S]*?> conn#2/]
    for (const part of [first, ...others]) assert.match(stderr, part)
  })
  ends('a thrown string is told', () => runFile('exit-codes', { args: ['non-error'] }), {
    code: 1,
    stderr: /just a string/,
  })
  ends('the error of an isolated fiber that no fiber awaits is reported, and main goes on', 'unobserved', {
    stdout: 'main goes on\n',
    stderr: ['lonely', 'Error: nobody listens'],
  })
  for (const [what, source, said] of [
    [
      'an error whose cause is its own cause',
      `const cause = new Error('round'); cause.cause = cause; throw new Error('why', { cause })`,
      /why[\s\S]*caused by: Error: round/,
    ],
    [
      'several errors in one',
      `throw new AggregateError([new Error('first'), new Error('second')], 'both')`,
      /both[\s\S]*one of 2, no\. 1:\n +Error: first[\s\S]*one of 2, no\. 2:\n +Error: second/,
    ],
    [
      'errors that suppress each other',
      `const a = new Error('first'), b = new Error('second'); a.suppressed = [b]; b.suppressed = [a]; throw a`,
      /^(?![\s\S]*RangeError)[\s\S]*in fiber: main[\s\S]*second/,
    ],
  ] as const) {
    ends(
      `${what}: printed, and the code is 1`,
      `\nimport { main } from 'polyphony'\nmain(function* () { ${source} })`,
      {
        code: 1,
        stderr: said,
      },
    )
  }
  ends(
    'an error that cannot be printed does not end the scheduler',
    `
    import { main, sleep, spin } from 'polyphony'
    main(function* () {
      spin({ link: false }, function* () {
        throw Object.defineProperty(new Error('x'), 'stack', { get() { throw new Error('no stack') } })
      })
      yield* sleep(10)
      console.log('went on')
    })`,
    { stdout: 'went on\n', stderr: /^/ },
  )

  ends('S33 a deadlock exits with 13 and names what each fiber waits for', 'deadlock', {
    code: 13,
    stderr:
      /deadlock[\s\S]*main.*waiting for .*culprit[\s\S]*culprit.*waiting for receive\(\)[\s\S]*bystander.*waiting for suspend\(\)[\s\S]*promised.*waiting for a promise/i,
  })
  ends(
    'a deadlock after quiescence is told once, also if the process goes on',
    `
    import { main, receive, run, suspend } from 'polyphony'
    main(function* () { yield* suspend(); yield* receive() })
    run(() => receive()).catch(() => setTimeout(() => {}, 5))`,
    {
      code: 13,
      stderr: /^DeadlockError: deadlock: nothing can ever wake main\.(?![\s\S]*deadlock)/,
    },
  )
  ends(
    'a deadlock of a deep tree is told',
    `
    import { main, receive, spin } from 'polyphony'
    function* nest(n) { if (n > 0) spin(nest, n - 1); yield* receive() }
    main(() => nest(20_000))`,
    { code: 13, stderr: /deadlock/ },
  )
})

describe('debug mode', { concurrency: 2 }, () => {
  const env = { POLYPHONY_DEBUG: '1' }
  test('the stack of an error goes on through the spin sites up to main, without frames of the library', async () => {
    const [plain, debug, mapped] = await Promise.all([
      runFile('debug-stack'),
      runFile('debug-stack', { env }),
      runFile('debug-stack', { env: { NODE_OPTIONS: '--enable-source-maps' } }),
    ])
    assert.match(plain.stderr, /Error: broken[\s\S]*breakDown[\s\S]*main > server > connection/)
    assert.doesNotMatch(plain.stderr, /startServer/)
    assert.match(debug.stderr, /Error: broken[\s\S]*breakDown[\s\S]*startConnection[\s\S]*startServer/)
    assert.match(mapped.stderr, /Error: broken[\s\S]*breakDown[\s\S]*debug-stack\.ts/)
    for (const { code, stderr } of [plain, debug, mapped]) {
      assert.doesNotMatch(stderr, /(src|dist)\/core/)
      assert.equal(code, 1)
    }
  })
  ends(
    'an op that was never yield*ed is reported with the place where it was made',
    () => runFile('debug-floating', { env }),
    {
      stdout: 'done\n',
      stderr: /sleep\(1234\) was made in main > careless[\s\S]*forgetTheStar/,
    },
  )
  ends('programs without a mistake are not reported', () => runFile('run-beside-main', { env }), {
    stdout: /one after the other 285/,
  })
  ends('a fiber that holds the loop over 100 ms is named', () => runFile('debug-slow', { env }), {
    stdout: 'done\n',
    stderr: /hog/,
  })
})

describe('run', { concurrency: 2 }, () => {
  ends('run works many times, inside callbacks and beside main', 'run-beside-main', {
    stdout: [
      'before main 328350\n',
      'beside main 328350\n',
      'in a callback run\n',
      'only this run fails\n',
      'one after the other 285\n',
    ],
  })
  ends('a run that is stopped cleans up, then settles its promise', 'run-stopped', {
    stdout: [
      "{ type: 'stopped', value: undefined }\ncleaned up\n",
      "{ type: 'stopped', value: undefined }\ncleaned up\n",
      'FIBER_STOPPED watched was stopped without a value\ncleaned up\n',
      'resolves to given\ncleaned up\n',
      'FIBER_STOPPED\nreason no longer wanted\ncleaned up\n',
      "disposed dead\nresult { type: 'value', value: 'result' }\n",
    ],
  })
  ends(
    'a sleep ends after timers were mocked and restored while another fiber slept',
    () =>
      program(`
      import { mock } from 'node:test'
      import { run, sleep } from 'polyphony'
      mock.timers.enable({ apis: ['setTimeout', 'setImmediate'] })
      const asleep = run(() => sleep(5))
      await null
      asleep.stop()
      mock.timers.reset()
      setTimeout(() => process.exit(), 15_000)
      await run(() => sleep(20))
      console.log('awake')
      process.exit()`),
    { stdout: 'awake\n', stderr: /^/ },
  )
})

describe('what holds the process', { concurrency: 2 }, () => {
  ends('suspend() in main returns when all other work is finished', 'quiescence', {
    stdout: lines('Going to sleep...', 'Woke up', 'suspend returned undefined', "We're done"),
  })
  ends('sleep() holds the process', 'hold', { code: 42, stdout: 'still here\n' })
  ends('a sleep() that was stopped holds nothing', () => runFile('hold', { args: ['let-go'] }), {
    stdout: 'stopped\n',
  })
  ends(
    'a sleep holds the process, also after one that was stopped',
    `
    import { main, sleep, spin, until } from 'polyphony'
    main(function* () {
      const other = spin(() => sleep(30))
      yield* until(new Promise(setImmediate))
      other.stop()
      yield* until(new Promise(setImmediate)) // its timer is there, and holds nothing
      yield* sleep(60)
      console.log('awake')
    })`,
    { stdout: 'awake\n' },
  )
  ends(
    'an idle resource of a pool does not hold the process',
    `
    import { ResourcePool, run } from 'polyphony'
    const pool = new ResourcePool({ limit: 1, create: () => 'it', idleTimeout: 60_000 })
    console.log(await run(() => pool.acquire((it) => it)))`,
    { stdout: 'it\n' },
  )
  for (const kind of ['main', 'run']) {
    const run = () => runFile('cancelled-timeout', { args: [kind] })
    ends(`a long time-out that was cancelled does not hold the process of ${kind}`, run, { stdout: 'done\n' })
  }
  ends(
    'a fetch that is stopped is aborted: the server sees it, and nothing keeps the process',
    'fetch-abort',
    {
      stdout: [
        ...['stop', 'moveOnAfter', 'run', 'parent', 'kill'].map((way) => `/${way} was aborted\n`),
        'the server is closed\n',
      ],
    },
  )
  ends(
    'no warning is printed for a signal shared by many fibers, nor for the rejected promise of a refused body',
    `
    import { main, sleep, spin } from 'polyphony'
    const { signal } = new AbortController()
    main(function* () {
      for (let i = 0; i < 20; i++) spin({ signal }, () => sleep(1))
      const outcome = yield* spin(() => Promise.reject(new Error('late'))).join()
      yield* sleep(5)
      console.log(outcome.error.code)
    })`,
    { stdout: 'BAD_ARGUMENT\n' },
  )
})

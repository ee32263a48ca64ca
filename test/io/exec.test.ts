// exec with real processes: what they print, what they are given, how they fail, and that nothing of them is left.

import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { pathToFileURL } from 'node:url'
import { BadArgument, type Fiber, moveOnAfter, type Op, type Routine, run, snooze, spin } from 'polyphony'
import { exec, IOError, LimitExceeded, ProcessFailed, pipe, spawnProcess } from 'polyphony/io'
import { leaks, virtual } from 'polyphony/testing'
import { thrownBy } from '../prelude.js'
import { expiring } from '../shared/limits.js'
import { children, descriptors, disturbedEverywhere, js, loopTurn, sh } from './processhelpers.js'

const MB = 1024 * 1024

describe('what a process gives', () => {
  it('its status, and what it printed, apart', () =>
    run(function* () {
      const result = yield* exec(...sh('echo out; echo err >&2; exit 3'))
      assert.deepEqual(result, { status: 3, signal: null, stdout: 'out\n', stderr: 'err\n' })
    }))

  it('the signal that ended it', () =>
    run(function* () {
      const { status, signal } = yield* exec(...sh('kill -KILL $$'))
      assert.deepEqual([status, signal], [null, 'SIGKILL'])
    }))

  it('text in UTF-8, in another encoding, or bytes', () =>
    run(function* () {
      const program = sh(String.raw`printf '\303\251'`)
      assert.equal((yield* exec(...program)).stdout, '\xe9')
      assert.equal((yield* exec(...program, { encoding: 'latin1' })).stdout, '\xc3\xa9')
      const { stdout, stderr } = yield* exec(...program, { encoding: 'buffer' })
      assert.deepEqual([stdout, stderr], [Buffer.from([0xc3, 0xa9]), Buffer.alloc(0)])
    }))

  it('a character that was cut between two chunks, whole', () =>
    run(function* () {
      const program = js(
        `process.stdout.write(Buffer.from([0xc3]), () => setImmediate(() => process.stdout.write(Buffer.from([0xa9]))))`,
      )
      assert.equal((yield* exec(...program)).stdout, '\xe9')
    }))

  it('megabytes on both outputs at once, while it is given as many', () =>
    run(function* () {
      const program = js(
        `process.stdin.on('data', (chunk) => { process.stdout.write(chunk); process.stderr.write(chunk) })`,
      )
      const input = Buffer.alloc(8 * MB, 'polyphony ')
      const { stdout, stderr } = yield* exec(...program, { input, encoding: 'buffer' })
      assert.ok(stdout.equals(input))
      assert.ok(stderr.equals(input))
    }))

  it('what its own children print too, even if they outlive it', () =>
    run(function* () {
      const { stdout } = yield* exec(...sh('(read line; echo child) <&0 & echo parent'), { input: 'x\n' })
      assert.deepEqual(stdout.split('\n').sort(), ['', 'child', 'parent'])
    }))

  it('fibers go on while it runs', () =>
    run(function* () {
      const turns = { count: 0 }
      const counter = spin(function* () {
        for (;;) {
          turns.count++
          yield* loopTurn()
        }
      })
      const source = pipe()
      const running = spin(() => exec('cat', [], { input: source }))
      while (turns.count < 5) yield* loopTurn()
      yield* source.end('ok')
      assert.equal((yield* running).stdout, 'ok')
      yield* counter.stop()
    }))

  it('one op can be run again, and each time a process is started', () =>
    run(function* () {
      const op = exec(...sh('echo $$'))
      assert.notEqual((yield* op).stdout, (yield* op).stdout)
    }))
})

describe('what a process is given', () => {
  it('nothing to read: it finds the end of its input at once', () =>
    run(function* () {
      assert.equal((yield* exec('cat')).stdout, '')
    }))

  it('a string, bytes, or nothing at all', () =>
    run(function* () {
      assert.equal((yield* exec('cat', [], { input: 'caf\xe9' })).stdout, 'caf\xe9')
      assert.equal((yield* exec('cat', [], { input: Buffer.from('bytes') })).stdout, 'bytes')
      assert.equal((yield* exec('cat', [], { input: '' })).stdout, '')
    }))

  it('a stream, as fast as it comes', () =>
    run(function* () {
      const source = pipe()
      const running = spin(() => exec('cat', [], { input: source }))
      for (const part of ['one ', 'two ', 'three']) yield* source.write(part)
      yield* source.end()
      assert.equal((yield* running).stdout, 'one two three')
    }))

  it('the output of another process', () =>
    run(function* () {
      const numbers = yield* spawnProcess('seq', ['1000'])
      const { stdout } = yield* exec('grep', ['-c', '7'], { input: numbers.stdout })
      assert.equal(stdout, '271\n')
    }))

  it('more than it wants: it need not read it', () =>
    run(function* () {
      for (const program of [sh('exit 5'), sh('exec <&-; echo closed; exit 5')]) {
        assert.equal((yield* exec(...program, { input: Buffer.alloc(4 * MB) })).status, 5)
      }
    }))

  it('a stream that never ends: when the process is over, nobody waits for it', () =>
    run(function* () {
      const source = pipe()
      yield* source.write('first\nsecond\n')
      const { stdout } = yield* exec('head', ['-n', '1'], { input: source })
      assert.equal(stdout, 'first\n')
      assert.equal(source.stats().readers, 0)
    }))

  it('a stream that breaks: the process is ended, and the error is that of the stream', () =>
    run(function* () {
      const source = pipe('source')
      const running = spin({ link: false }, () => exec('cat', [], { input: source }))
      yield* source.write('a little')
      yield* snooze()
      yield* source.close()
      const error = yield* thrownBy(running)
      assert.match(error.message, /^source\.readLoop\(\)/)
      assert.deepEqual(children(), [])
    }))

  it('a directory and an environment', async () => {
    const place = realpathSync(mkdtempSync(join(tmpdir(), 'polyphony-')))
    try {
      await run(function* () {
        assert.equal((yield* exec('pwd', [], { cwd: place })).stdout, `${place}\n`)
        assert.equal((yield* exec('pwd', [], { cwd: pathToFileURL(place) })).stdout, `${place}\n`)
        const env = { PATH: process.env.PATH, GREETING: 'hello', NOT: undefined }
        assert.equal((yield* exec('env', [], { env })).stdout, `PATH=${env.PATH}\nGREETING=hello\n`)
      })
    } finally {
      rmSync(place, { recursive: true })
    }
  })

  it('arguments as they are: no shell looks at them', () =>
    run(function* () {
      const args = ['a b', '$HOME', '*', '"', '']
      assert.equal((yield* exec(...sh(`printf '<%s>' "$@"`), {})).stdout, '<>')
      const { stdout } = yield* exec('sh', ['-c', `printf '<%s>' "$@"`, 'sh', ...args])
      assert.equal(stdout, '<a b><$HOME><*><"><>')
    }))
})

describe('a process that fails', () => {
  it('gives its status as a value, or with check as an error that carries everything', () =>
    run(function* () {
      const program = sh('echo half; echo first >&2; echo no such branch >&2; exit 128')
      assert.equal((yield* exec(...program)).status, 128)
      const error = yield* thrownBy(exec(...program, { check: true }))
      assert.ok(error instanceof ProcessFailed)
      assert.equal(error.message, 'exec(sh) ended with status 128: no such branch')
      assert.deepEqual(
        [error.code, error.status, error.signal, error.stdout, error.stderr],
        ['PROCESS_FAILED', 128, null, 'half\n', 'first\nno such branch\n'],
      )
    }))

  it('was ended by a signal: check says which, and is content with 0', () =>
    run(function* () {
      const error = yield* thrownBy(exec(...sh('kill -TERM $$'), { check: true, encoding: 'buffer' }))
      assert.equal(error.message, 'exec(sh) was ended by SIGTERM')
      assert.equal((yield* exec('true', [], { check: true })).status, 0)
    }))

  it('does not exist: ENOENT, by name', () =>
    run(function* () {
      const error = yield* thrownBy(exec('no-such-program', ['-v']))
      assert.ok(error instanceof IOError)
      assert.deepEqual(
        [error.code, error.message],
        ['ENOENT', 'exec(no-such-program) failed: no such file or directory (ENOENT)'],
      )
      const hint = yield* thrownBy(exec('ls -l'))
      assert.match(hint.message, /^exec\(ls -l\) failed: .*give the arguments as an array$/)
    }))

  it('may not be run, or is no program: EACCES', async () => {
    const place = mkdtempSync(join(tmpdir(), 'polyphony-'))
    try {
      await run(function* () {
        const file = join(place, 'text')
        writeFileSync(file, 'no program', { mode: 0o644 })
        for (const path of [file, place]) {
          const error = yield* thrownBy(exec(path))
          assert.deepEqual([error.code, error.message.includes(path)], ['EACCES', true])
        }
      })
    } finally {
      rmSync(place, { recursive: true })
    }
  })

  it('cannot be run there: the directory is named, not the program', () =>
    run(function* () {
      for (const [cwd, why] of [
        ['/no/such/place', 'no such directory'],
        [process.execPath, 'not a directory'],
      ] as const) {
        const error = yield* thrownBy(exec('true', [], { cwd }))
        assert.ok(error instanceof IOError)
        assert.equal(
          error.message.includes(`in "${cwd.length > 60 ? cwd.slice(0, 57) : cwd}`),
          true,
          error.message,
        )
        assert.ok(error.message.includes(why), error.message)
      }
    }))

  it('has arguments that are too long: the error of the system', () =>
    run(function* () {
      const error = yield* thrownBy(exec('true', ['x'.repeat(8 * MB)]))
      assert.ok(error instanceof IOError)
      assert.equal(error.code, 'E2BIG')
      assert.deepEqual(children(), [])
    }))

  it('prints too much: LimitExceeded, and it is ended', () =>
    run(function* () {
      const error = yield* thrownBy(exec('yes', [], { limit: 100_000 }))
      assert.ok(error instanceof LimitExceeded)
      assert.match(error.message, /^the stdout of exec\(yes\) is longer than 100000 bytes\. /)
      const other = yield* thrownBy(exec(...sh('yes >&2'), { limit: 1 }))
      assert.match(other.message, /^the stderr of exec\(sh\) is longer than 1 byte\. /)
      assert.equal((yield* exec('echo', ['1234'], { limit: 5 })).stdout, '1234\n')
    }))

  const wrong: [string, unknown[], RegExp][] = [
    ['no program', [undefined], /^exec\(\) needs the name of a program, got undefined/],
    ['an empty name', [''], /^exec\(\) needs the name of a program, got ""/],
    [
      'options instead of arguments',
      ['ls', { cwd: '/' }],
      /^exec\(ls\) needs an array of arguments, got an object/,
    ],
    [
      'an argument that is no string',
      ['ls', ['-l', 3]],
      /^exec\(ls\) needs arguments that are strings.*got 3/,
    ],
    ['a zero byte', ['ls', ['a\0b']], /^exec\(ls\) needs arguments that are strings without \\0/],
    [
      'an unknown option',
      ['ls', [], { shell: true }],
      /^exec\(ls\) has no option "shell"; there are: cwd, env, grace, input/,
    ],
    ['a bad directory', ['ls', [], { cwd: 3 }], /^the cwd of exec\(ls\) is a path, got 3/],
    [
      'a bad environment',
      ['ls', [], { env: 'A=1' }],
      /^the env of exec\(ls\) is an object of strings, got "A=1"/,
    ],
    ['a bad encoding', ['ls', [], { encoding: 'klingon' }], /^the encoding of exec\(ls\) .* got "klingon"/],
    ['a bad limit', ['ls', [], { limit: 0 }], /^the limit of exec\(ls\) .* got 0/],
    ['a bad input', ['ls', [], { input: 3 }], /^the input of exec\(ls\) .* got 3/],
    ['a bad grace', ['ls', [], { grace: -1 }], /^the grace of exec\(ls\) .* got -1/],
    ['a bad check', ['ls', [], { check: 'yes' }], /^the check of exec\(ls\) is true or false, got "yes"/],
  ]
  for (const [what, args, sentence] of wrong) {
    it(`${what} is refused at the call, in words`, () => {
      assert.throws(
        () => (exec as (...args: unknown[]) => unknown)(...args),
        (error: Error) => error instanceof BadArgument && sentence.test(error.message),
      )
    })
  }
})

describe('a process whose fiber is stopped', () => {
  it('S77 is asked to end, and the fiber waits for that', async () => {
    const place = mkdtempSync(join(tmpdir(), 'polyphony-'))
    try {
      await run(function* () {
        const [ready, asked] = [join(place, 'ready'), join(place, 'asked')]
        const program = js(`
          const { writeFileSync } = require('node:fs')
          process.on('SIGTERM', () => setImmediate(() => { writeFileSync('${asked}', ''); process.exit() }))
          writeFileSync('${ready}', '')
          setInterval(() => {}, 1e6)`)
        const running = spin(() => exec(...program))
        while (!existsSync(ready)) yield* loopTurn()
        yield* running.stop()
        assert.equal(running.outcome?.type, 'stopped')
        assert.deepEqual([existsSync(asked), children()], [true, []])
      })
    } finally {
      rmSync(place, { recursive: true })
    }
  })

  it('S77 times out with moveOnAfter around it', () =>
    run(function* () {
      assert.equal(yield* expiring(moveOnAfter, () => exec('sleep', ['1000']), 'too slow'), 'too slow')
      assert.deepEqual(children(), [])
    }))

  it('does not even start in a fiber that was stopped before', () =>
    virtual(function* () {
      const fiber: Fiber = spin(function* (): Routine<void> {
        fiber.stop()
        yield* exec('touch', ['/no/such/place'])
      })
      yield* fiber.join()
      assert.deepEqual(children(), [])
    }))

  /** The undisturbed run must end too. */
  const bounded = (op: Op<unknown>) => moveOnAfter(10, () => op)
  const input = Buffer.alloc(MB)
  const scenarios: [string, () => Op<unknown>][] = [
    ['ends at once', () => exec('true')],
    ['prints and reads', () => exec('cat', [], { input })],
    ['never ends', () => bounded(exec('sleep', ['1000']))],
    ['does not read', () => bounded(exec('sleep', ['1000'], { input }))],
    ['floods', () => bounded(exec('yes', [], { limit: Infinity }))],
    ['does not exist', () => exec('no-such-program')],
    ['does not want to end', () => bounded(exec(...sh('trap "" TERM; exec sleep 1000')))],
  ]
  for (const [what, scenario] of scenarios) {
    it(`S77 leaves nothing behind, wherever it is stopped, when it ${what}`, async (t) => {
      const before = descriptors()
      const check = () => assert.deepEqual([children(), descriptors()], [[], before])
      const stopped = await disturbedEverywhere(scenario, (fiber) => fiber.stop(), check)
      const rooted = await disturbedEverywhere(scenario, (_, target) => target.stop(), check)
      const killed = await disturbedEverywhere(scenario, (_, target) => target.kill(), check)
      const raised = await disturbedEverywhere(scenario, (fiber) => fiber.raise('enough'), check)
      t.diagnostic(`disturbed ${stopped + rooted + killed + raised} times`)
      assert.ok(stopped >= 1)
    })
  }
})

describe('many', () => {
  it('200 processes one after another leave no descriptor, no child and no wait', () =>
    run(function* () {
      yield* exec('true')
      const before = [descriptors(), leaks().pendingOps]
      for (let i = 0; i < 200; i++) yield* exec('true')
      assert.deepEqual([descriptors(), leaks().pendingOps], before)
      assert.deepEqual(children(), [])
    }))

  it('20 at once give each its own output', () =>
    run(function* () {
      const fibers = Array.from({ length: 20 }, (_, i) => spin(() => exec('echo', [`${i}`])))
      const results: string[] = []
      for (const fiber of fibers) results.push((yield* fiber).stdout)
      assert.deepEqual(
        results,
        fibers.map((_, i) => `${i}\n`),
      )
    }))
})

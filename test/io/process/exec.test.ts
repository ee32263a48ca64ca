// exec with real processes: what they print, what they are given, and how they fail. That none outlives its owner is S77.

import { realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type ExecOptions, exec, IOError, LimitExceeded, pipe, spawnProcess } from 'polyphony/io'
import { assert, describe, eventually, spin, thrownBy } from '../../prelude.js'
import { children, sh } from '../processhelpers.js'
import { folder, realTest } from '../real.js'

const MB = 1024 * 1024

describe('what a process gives', () => {
  realTest('its status or the signal that ended it; the op can be waited for again', function* () {
    const op = exec(...sh('echo $$; kill -KILL $$'))
    const { status, signal, stdout } = yield* op
    assert.deepEqual([status, signal], [null, 'SIGKILL'])
    assert.notEqual((yield* op).stdout, stdout)
  })

  realTest('text in UTF-8, in another encoding, or bytes', function* () {
    const program = sh(String.raw`printf '\303\251'`)
    assert.equal((yield* exec(...program)).stdout, '\xe9')
    assert.equal((yield* exec(...program, { encoding: 'latin1' })).stdout, '\xc3\xa9')
    const { stdout, stderr } = yield* exec(...program, { encoding: 'buffer' })
    assert.deepEqual([stdout, stderr], [Buffer.from([0xc3, 0xa9]), Buffer.alloc(0)])
  })

  realTest('megabytes on both outputs at once, while it is given as many', function* () {
    const input = Buffer.alloc(8 * MB, 'polyphony ')
    const program = sh(`head -c ${8 * MB} /dev/zero >&2 & cat; wait`)
    const { stdout, stderr } = yield* exec(...program, { input, encoding: 'buffer' })
    assert.ok(stdout.equals(input))
    assert.equal(stderr.length, 8 * MB)
  })

  realTest('what its own children print too, even if they outlive it', function* () {
    const { stdout } = yield* exec(...sh('(read line; echo child) <&0 & echo parent'), { input: 'x\n' })
    assert.deepEqual(stdout.split('\n').sort(), ['', 'child', 'parent'])
  })
})

describe('what a process is given', () => {
  realTest('a string, bytes, a stream, or nothing: then it finds the end of its input at once', function* () {
    assert.equal((yield* exec('cat')).stdout, '')
    for (const input of ['caf\xe9', Buffer.from('bytes'), '']) {
      assert.equal((yield* exec('cat', [], { input })).stdout, `${input}`)
    }
    const numbers = yield* spawnProcess('seq', ['1000'])
    assert.equal((yield* exec('grep', ['-c', '7'], { input: numbers.stdout })).stdout, '271\n')
  })

  realTest('more than it wants: it need not read it', function* () {
    for (const program of [sh('exit 5'), sh('exec <&-; echo closed; exit 5')]) {
      assert.equal((yield* exec(...program, { input: Buffer.alloc(4 * MB) })).status, 5)
    }
    const source = pipe() // one that never ends
    yield* source.write('first\nsecond\n')
    assert.equal((yield* exec('head', ['-n', '1'], { input: source })).stdout, 'first\n')
    assert.equal(source.stats().readers, 0)
  })

  realTest('a stream that breaks: the process is ended, and the error is that of the stream', function* () {
    const source = pipe('source')
    const running = spin({ link: false }, () => exec('cat', [], { input: source }))
    yield* source.write('a little')
    yield* eventually(() => source.stats().readers === 1)
    yield* source.close()
    assert.match((yield* thrownBy(running)).message, /^source\.readLoop\(\)/)
    assert.deepEqual(children(), [])
  })

  realTest('a directory, an environment, and arguments that no shell looks at', function* () {
    const cwd = realpathSync(yield* folder())
    for (const each of [cwd, pathToFileURL(cwd)]) {
      assert.equal((yield* exec('pwd', [], { cwd: each })).stdout, `${cwd}\n`)
    }
    const env = { PATH: process.env.PATH, GREETING: 'hello', NOT: undefined }
    const given = (yield* exec('env', [], { env })).stdout.replace(/^NODE_V8_COVERAGE=.*\n/m, '') // npm run coverage
    assert.equal(given, `PATH=${env.PATH}\nGREETING=hello\n`)
    const { stdout } = yield* exec('printf', ['<%s>', 'a b', '$HOME', '*', '"', ''])
    assert.equal(stdout, '<a b><$HOME><*><"><>')
  })
})

describe('a process that fails', () => {
  realTest('to start: the program or the directory is named, with the code of the system', function* () {
    const place = yield* folder()
    const text = join(place, 'text')
    writeFileSync(text, 'no program', { mode: 0o644 })
    const rows: [[string, string[]?, ExecOptions?], string, RegExp][] = [
      [['no-such-program', ['-v']], 'ENOENT', /^exec\(no-such-program\) failed: no such file or directory/],
      [['ls -l'], 'ENOENT', /^exec\(ls -l\) failed: .*give the arguments as an array$/],
      [['no such', ['-l']], 'ENOENT', /\(ENOENT\)$/],
      [[text], 'EACCES', /text/],
      [[place], 'EACCES', /polyphony-/],
      [['true', ['x'.repeat(8 * MB)]], 'E2BIG', /^exec\(true\) failed/],
      [
        ['true', [], { cwd: '/no/such/place' }],
        'ENOENT',
        /in "\/no\/such\/place": no such directory \(ENOENT\)$/,
      ],
      [['true', [], { cwd: text }], 'ENOTDIR', /in ".*": not a directory \(ENOTDIR\)$/],
      [['no-such-program', [], { cwd: place }], 'ENOENT', /^exec\(no-such-program\) failed: no such file/],
    ]
    for (const [args, code, message] of rows) {
      const error = yield* thrownBy(exec(...(args as [string, string[]])))
      assert.ok(error instanceof IOError)
      assert.match(error.message, message)
      assert.equal(error.code, code)
    }
    assert.deepEqual(children(), [])
  })

  realTest('because it prints too much: LimitExceeded, and it is ended', function* () {
    const error = yield* thrownBy(exec('yes', [], { limit: 100_000 }))
    assert.ok(error instanceof LimitExceeded)
    assert.match(error.message, /^the stdout of exec\(yes\) is longer than 100000 bytes\. /)
    const other = yield* thrownBy(exec(...sh('yes >&2'), { limit: 1 }))
    assert.match(other.message, /^the stderr of exec\(sh\) is longer than 1 byte\. /)
    assert.equal((yield* exec('echo', ['1234'], { limit: 5 })).stdout, '1234\n')
  })

  realTest('with check: the last of its words is shown, up to 200 characters', function* () {
    for (const [script, end] of [
      ['kill -TERM $$', /^exec\(sh\) was ended by SIGTERM$/],
      [`printf '%0300d' 0 >&2; exit 1`, /^exec\(sh\) ended with status 1: 0{197}\.\.\.$/],
    ] as const) {
      const error = yield* thrownBy(exec(...sh(script), { check: true, encoding: 'buffer' }))
      assert.match(error.message, end)
    }
  })
})

// The descriptors of processes: more than three, errors merged with the output, files and numbers; and that none of ours is left.

import { closeSync, openSync } from 'node:fs'
import { exec, IOError, openFile, StreamClosed, spawnProcess, watchProcess } from 'polyphony/io'
import {
  assert,
  BadState,
  describe,
  eventually,
  program,
  test,
  thrownBy,
  turns,
  until,
  use,
} from '../../prelude.js'
import { fileWith, freshPath, textOf } from '../folder.js'
import { children, sh } from '../processhelpers.js'
import { real, realTest } from '../real.js'

const MB = 1024 * 1024

describe('descriptors 3 and up', () => {
  realTest('are streams in both directions, by number, with names and stats of their own', function* () {
    const source = 'read a <&3; echo "three: $a" >&3; read b <&4; echo "four: $b" >&4; echo out'
    const child = yield* spawnProcess(...sh(source), { stdio: ['ignore', 'pipe', 'inherit', 'pipe', 'pipe'] })
    const { streams } = child
    assert.deepEqual([streams.length, streams[0], streams[1]], [5, child.stdin, child.stdout])
    const [, , , three, four] = streams as Required<typeof streams>
    yield* three!.write('x\n')
    assert.equal(yield* three!.gets(), 'three: x')
    yield* four!.write('y\n')
    assert.equal(yield* four!.gets(), 'four: y')
    const stats = child.stats()
    assert.deepEqual([stats.streams[1], stats.streams.length], [stats.stdout, 5])
    assert.deepEqual([stats.streams[3]?.written, stats.streams[4]?.received], [2, 8])
    assert.deepEqual([yield* child.stdout.gets(), yield* four!.gets()], ['out', undefined])
    assert.deepEqual([three!.name, four!.name], ['sh.streams[3]', 'sh.streams[4]'])
  })

  realTest(
    'what was written to them before the end can be read after it, and writing is refused',
    function* () {
      const child = yield* spawnProcess(...sh('head -c 100000 /dev/zero >&3; echo last >&3'), {
        stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
      })
      yield* child.wait()
      const stream = child.streams[3]!
      yield* eventually(() => child.stats().streams[3]?.unread === 100_005)
      assert.equal((yield* stream.readAll()).length, 100_005)
      assert.ok((yield* thrownBy(stream.write('x'))) instanceof Error)
    },
  )

  realTest('one end of a stream can be ended while the other is read', function* () {
    const child = yield* spawnProcess(...sh('cat <&3 >&3; echo end >&3'), {
      stdio: ['ignore', 'ignore', 'inherit', 'pipe'],
    })
    yield* child.streams[3]!.end('all of it\n')
    assert.equal(`${yield* child.streams[3]!.readAll()}`, 'all of it\nend\n')
  })

  realTest('those that are no pipe are no stream, and say why', function* () {
    const file = yield* use(yield* openFile(freshPath(), 'a'))
    const child = yield* spawnProcess('true', [], {
      stdio: ['ignore', 'ignore', 'ignore', 'ignore', 1, file],
    })
    const whys = [
      `stdio 'ignore'`,
      'descriptor 1 in its stdio',
      `the file ${JSON.stringify(file.path)} in its stdio`,
    ]
    for (const [i, why] of whys.entries()) {
      const error = yield* thrownBy(child.streams[3 + i]!.read())
      assert.ok(error instanceof BadState)
      assert.equal(
        error.message,
        `true.streams[${3 + i}] cannot be read from: the process was started with ${why}`,
      )
    }
  })

  test('may be those of our own process', async () => {
    const source = `
      import { openSync } from 'node:fs'
      import { main } from 'polyphony'
      import { watchProcess } from 'polyphony/io'
      main(() => watchProcess('sh', ['-c', 'echo three >&3; echo four >&4; echo five >&5'], {
        stdio: ['ignore', 'ignore', 'inherit', 1, 2, 'inherit'],
      }))`
    const { stdout, stderr, code } = await program(source)
    assert.deepEqual([stdout, code], ['three\n', 0])
    assert.match(stderr, /^four\n/)
  })
})

describe('open files as descriptors', () => {
  realTest(
    'a File, or the number of a descriptor, is given to the process and stays open here',
    function* () {
      const [input, output, log] = [fileWith('from a file\n'), freshPath(), freshPath()]
      const file = yield* use(yield* openFile(output, 'a'))
      const fd = yield* use(openSync(log, 'a'), (each) => closeSync(each))
      const from = yield* use(yield* openFile(input))
      for (let i = 0; i < 2; i++)
        yield* watchProcess(...sh('cat; echo out; echo err >&2'), {
          stdio: [i === 0 ? from : 'ignore', file, fd],
        })
      yield* file.write('ours\n')
      assert.deepEqual([textOf(output), textOf(log)], ['from a file\nout\nout\nours\n', 'err\nerr\n'])
    },
  )

  realTest(
    'one that is closed is refused at the yield*, also when it is closed after the call',
    function* () {
      const file = yield* openFile(freshPath(), 'w')
      const op = spawnProcess('true', [], { stdio: ['ignore', file, 'ignore'] })
      yield* file.close()
      const error = yield* thrownBy(op)
      assert.ok(error instanceof StreamClosed)
      assert.equal(
        error.message,
        `spawnProcess(true) failed: the file ${JSON.stringify(file.path)} in its stdio is closed`,
      )
      const unknown = yield* thrownBy(
        watchProcess('true', [], { stdio: ['ignore', 'ignore', 'ignore', 9999] }),
      )
      assert.ok(unknown instanceof IOError)
      assert.deepEqual([unknown.code, children()], ['EBADF', []])
    },
  )
})

describe(`stderr: 'merge'`, () => {
  const both = sh('for i in 1 2 3 4 5; do echo out $i; echo err $i >&2; done; exit 3')
  const printed = [1, 2, 3, 4, 5].map((i) => `out ${i}\nerr ${i}\n`).join('')

  realTest('gives both in one stream, in the order in which they were printed', function* () {
    const { status, stdout, stderr } = yield* exec(...both, { stderr: 'merge' })
    assert.deepEqual([status, stdout, stderr], [3, printed, ''])
    const child = yield* spawnProcess(...both, { stderr: 'merge' })
    assert.equal(`${yield* child.stdout.readAll()}`, printed)
    assert.deepEqual(yield* child.wait(), { status: 3, signal: null })
    const error = yield* thrownBy(child.stderr.read())
    const why = `the process was started with stderr 'merge', so its errors are in stdout`
    assert.equal(error.message, `sh.stderr cannot be read from: ${why}`)
    const bytes = yield* exec(...both, { stderr: 'merge', encoding: 'buffer' })
    assert.deepEqual([`${bytes.stdout}`, bytes.stderr], [printed, Buffer.alloc(0)])
  })

  realTest('a process that is not read waits, and no byte is lost', function* () {
    const source = `head -c ${4 * MB} /dev/zero & head -c ${4 * MB} /dev/zero >&2; wait; exit 0`
    const child = yield* spawnProcess(...sh(source), { stderr: 'merge' })
    yield* child.stdout.readExactly(1)
    yield* until(turns(50))
    assert.ok(child.stats().stdout.received < MB)
    assert.equal((yield* child.stdout.readAll()).length, 8 * MB - 1)
    assert.equal((yield* child.wait()).status, 0)
  })

  realTest('its arguments, input, environment and errors are those of any other', function* () {
    const options = { stderr: 'merge' } as const
    const args = ['<%s>', 'a b', '$HOME', '*', '"', '', '-']
    assert.equal((yield* exec('printf', args, options)).stdout, '<a b><$HOME><*><"><><->')
    assert.equal((yield* exec('cat', [], { ...options, input: 'in' })).stdout, 'in')
    const env = { PATH: process.env.PATH, ONLY: 'this' }
    const given = (yield* exec('env', [], { ...options, env })).stdout.replace(/^NODE_V8_COVERAGE=.*\n/m, '')
    assert.equal(given, `PATH=${env.PATH}\nONLY=this\n`)
    assert.equal((yield* exec(...sh('exit 127'), options)).status, 127)
    assert.equal((yield* thrownBy(exec('no-such-program', [], options))).code, 'ENOENT')
    assert.equal((yield* thrownBy(exec('/etc/passwd', [], options))).code, 'EACCES')
    assert.equal((yield* thrownBy(exec('true', [], { ...options, cwd: '/no/such/place' }))).code, 'ENOENT')
    const failed = yield* thrownBy(exec(...sh('echo no luck >&2; exit 1'), { ...options, check: true }))
    assert.equal(failed.message, 'exec(sh) ended with status 1: no luck')
  })

  test('goes where the output goes: nowhere, to a file, or to our own', async () => {
    await real(function* () {
      const file = yield* use(yield* openFile(freshPath(), 'a'))
      yield* watchProcess(...both, { stderr: 'merge', stdio: ['ignore', file, file] })
      assert.equal(textOf(file.path), printed)
      yield* watchProcess(...both, { stderr: 'merge', stdio: 'ignore' })
    })
    const { stdout, stderr } = await program(`
      import { main } from 'polyphony'
      import { watchProcess } from 'polyphony/io'
      main(() => watchProcess('sh', ['-c', 'echo one >&2; echo two'], { stderr: 'merge' }))`)
    assert.deepEqual([stdout, stderr], ['one\ntwo\n', ''])
  })
})

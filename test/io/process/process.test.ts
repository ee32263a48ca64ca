// spawnProcess and watchProcess with real processes: talking, and their end. That none outlives its owner is S77.

import { IOError, type Process, spawnProcess, watchProcess } from 'polyphony/io'
import {
  assert,
  BadState,
  describe,
  eventually,
  Fiber,
  type Op,
  runtime,
  scope,
  snooze,
  spin,
  thrownBy,
  turns,
  until,
} from '../../prelude.js'
import { held } from '../../shared/outside.js'
import { polite, ready, sh } from '../processhelpers.js'
import { realTest, struckWaiting } from '../real.js'

const MB = 1024 * 1024

describe('talking with a process', () => {
  realTest('its streams have the words of every stream, each in its direction', function* () {
    const cat = yield* spawnProcess('cat')
    yield* cat.stdin.write('one\n', 'two\n')
    assert.equal(yield* cat.stdout.gets(), 'one')
    assert.equal((yield* thrownBy((cat.stdin as any).read())).message, 'cat.stdin cannot be read from')
    const error = yield* thrownBy((cat.stdout as any).write('x'))
    assert.equal(error.message, 'cat.stdout cannot be written to')
    yield* cat.stdin.end('three')
    assert.equal(`${yield* cat.stdout.readAll()}`, 'two\nthree')
    assert.equal(yield* cat.stderr.read(), undefined)
  })

  realTest('an ended process keeps no descriptor, even if what it printed is not read', function* () {
    const before = held().descriptors
    const process = yield* spawnProcess(...sh('head -c 100000 /dev/zero; echo err >&2'))
    yield* process.wait()
    yield* eventually(() => held().descriptors <= before)
    assert.equal((yield* process.stdout.readAll()).length, 100_000)
  })

  realTest('one whose output is not read waits, and goes on when it is', function* () {
    const process = yield* spawnProcess(...sh(`head -c ${8 * MB} /dev/zero`))
    yield* process.stdout.readExactly(1)
    yield* until(turns(100))
    const { received } = process.stats().stdout
    assert.ok(received < MB, `${received} bytes were read for one that was wanted`)
    assert.equal(process.end, undefined)
    assert.equal((yield* process.stdout.readAll()).length, 8 * MB - 1)
  })

  realTest('a write to one that does not read waits for room, and every byte arrives', function* () {
    const process = yield* spawnProcess('wc', ['-c'])
    process.kill('SIGSTOP')
    const writer = spin(() => process.stdin.write(Buffer.alloc(4 * MB)))
    yield* eventually(() => writer.waitsFor === 'wc.stdin.write()')
    yield* until(turns(20))
    assert.equal(writer.state, 'waiting')
    assert.equal(process.stdin.tryWrite('x'), false)
    process.kill('SIGCONT')
    yield* writer
    yield* process.stdin.end()
    assert.equal((yield* process.stdout.gets())?.trim(), `${4 * MB}`)
  })

  realTest('a write to one that is over, dies meanwhile, or closes its input is a broken pipe', function* () {
    const process = yield* spawnProcess('true')
    yield* process.wait()
    for (const op of [process.stdin.write('x'), process.stdin.end()]) {
      const error = yield* thrownBy(op)
      assert.ok(error instanceof IOError)
      assert.match(error.message, /^true\.stdin\.(write|end)\(\) failed: broken pipe \(EPIPE\)$/)
    }
    const other = yield* ready()
    const writer = spin({ link: false }, () => other.stdin.write(Buffer.alloc(4 * MB)))
    yield* eventually(() => writer.state === 'waiting')
    other.kill('SIGKILL')
    assert.equal((yield* thrownBy(writer)).code, 'EPIPE')
    assert.deepEqual(yield* other.wait(), { status: null, signal: 'SIGKILL' })
    const third = yield* ready(sh('exec <&-; echo ready; echo more; exec sleep 1000'))
    assert.match((yield* thrownBy(third.stdin.end(Buffer.alloc(MB)))).code, /^(EPIPE|ECONNRESET)$/)
    assert.equal(yield* third.stdout.gets(), 'more') // it can still be read from
  })

  realTest('what it does not have is no stream for us, and we are told so each time', function* () {
    const process = yield* spawnProcess('cat', [], { stdio: ['ignore', 'pipe', 'ignore'] })
    const rows: [Op<unknown>, string][] = [
      [process.stdin.write('x'), 'cat.stdin cannot be written to'],
      [process.stdin.end(), 'cat.stdin cannot be written to'],
      [process.stderr.readAll(), 'cat.stderr cannot be read from'],
    ]
    for (const [op, sentence] of [...rows, ...rows]) {
      const error = yield* thrownBy(op)
      assert.ok(error instanceof BadState)
      assert.equal(error.message, `${sentence}: the process was started with stdio 'ignore'`)
    }
    assert.equal(yield* process.stdout.gets(), undefined)
    yield* process.stderr.close() // nothing to close, and no reason to complain
    assert.deepEqual(yield* process.wait(), { status: 0, signal: null })
  })
})

describe('the end of a process', () => {
  realTest('every fiber that waits is told, and any that comes later', function* () {
    const process = yield* spawnProcess(...sh('read line; exit 4'))
    assert.deepEqual([process.name, process.end], ['sh', undefined])
    const fibers = [1, 2, 3].map(() => spin(() => process.wait()))
    const gone = spin(() => process.wait())
    yield* snooze()
    assert.deepEqual([process.stats().waiting, gone.waitsFor], [4, 'sh.wait()'])
    yield* gone.stop()
    assert.equal(process.stats().waiting, 3)
    yield* process.stdin.end('\n')
    const end = { status: 4, signal: null }
    assert.deepEqual(yield* Fiber.await(...fibers), [end, end, end])
    assert.deepEqual([yield* process.wait(), process.end, process.stats().waiting], [end, end, 0])
  })

  realTest('kill sends a signal, by name or number, and says whether it was received', function* () {
    for (const [signal, name] of [
      [undefined, 'SIGTERM'],
      ['SIGKILL', 'SIGKILL'],
      [2, 'SIGINT'],
    ] as const) {
      const child = yield* ready()
      assert.deepEqual([child.kill(0), child.kill(signal)], [true, true])
      assert.equal((yield* child.wait()).signal, name)
      assert.equal(child.kill(signal), false) // its pid may be that of another by now
    }
    for (const group of [false, true]) {
      const child = yield* ready(polite, undefined, { group })
      const { _handle: handle } = (child as any).node
      const { kill } = process
      handle.kill = () => -1 // EPERM: the process of another user
      process.kill = () => {
        throw Object.assign(new Error('kill EPERM'), { code: 'EPERM' })
      }
      const expected = { code: 'EPERM', message: /^sh\.kill\("SIGINT"\) failed: / }
      assert.throws(() => child.kill('SIGINT'), expected)
      delete handle.kill
      process.kill = kill
      assert.equal(child.kill(), true)
    }
  })

  realTest('a process that runs is pending work', function* () {
    const work = () => [runtime().external, runtime().stats().pendingOps]
    const [external, pendingOps] = work() as [number, number]
    const process = yield* ready()
    assert.deepEqual(work(), [external + 1, pendingOps + 1])
    process.kill()
    yield* process.wait()
    assert.deepEqual(work(), [external, pendingOps])
  })

  realTest('a fiber that lives long keeps nothing of processes that are over', function* () {
    const cleanups = () => {
      let count = 0
      for (let node = (Fiber.current as any).rare?.cleanups?.last; node != null; node = node.before) count++
      return count
    }
    const processes: Process[] = []
    for (let i = 0; i < 5; i++) processes.push(yield* spawnProcess('true'))
    assert.equal(cleanups(), 5)
    for (const process of processes) yield* process.wait()
    yield* eventually(() => cleanups() === 0)
    yield* scope(function* () {
      yield* (yield* spawnProcess('true')).wait()
    })
    assert.equal(cleanups(), 0)
  })

  realTest('one that its shell lets ignore SIGINT outlives a Ctrl-C, and is ended in order', function* () {
    const process = yield* ready(['sh', ['-c', `trap '' INT; exec "$@"`, 'sh', polite[0], ...polite[1]]])
    process.kill('SIGINT')
    yield* until(turns(1))
    assert.equal((yield* process.close()).signal, 'SIGTERM')
  })
})

describe('a process that cannot be started', () => {
  realTest('is told at the yield* that asked, by name, and nothing is left of it', function* () {
    for (const start of [spawnProcess, watchProcess]) {
      const { message } = yield* thrownBy(start('no-such-program'))
      assert.equal(message, `${start.name}(no-such-program) failed: no such file or directory (ENOENT)`)
      assert.equal((yield* thrownBy(start('/etc/passwd'))).code, 'EACCES')
    }
  })

  realTest('while it fails, its fiber may leave', function* () {
    const op = spawnProcess('no-such-program')
    for (const pause of [0, 3]) {
      let seen: unknown
      const { outcome } = yield* struckWaiting(
        () => op,
        (fiber: any) => {
          const { waitsFor, runtime } = fiber
          fiber.stop()
          seen = [waitsFor, runtime.external]
        },
      )
      assert.deepEqual([outcome?.type, seen], ['stopped', ['spawnProcess(no-such-program)', 0]])
      yield* until(turns(pause))
      assert.equal((yield* thrownBy(op)).code, 'ENOENT')
    }
  })
})

// spawnProcess and watchProcess with real processes: talking, ending, and whom they belong to.

import assert from 'node:assert/strict'
import { ChildProcess } from 'node:child_process'
import { describe, it } from 'node:test'
import {
  BadArgument,
  BadState,
  Fiber,
  moveOnAfter,
  now,
  type Op,
  type Routine,
  run,
  runtimeStats,
  scope,
  sleep,
  snooze,
  spin,
  supervise,
  until,
  use,
} from 'polyphony'
import {
  exec,
  IOError,
  type Process,
  ProcessFailed,
  StreamClosed,
  spawnProcess,
  watchProcess,
} from 'polyphony/io'
import { leaks, virtual } from 'polyphony/testing'
import { thrownBy } from '../prelude.js'
import {
  children,
  deaf,
  descriptors,
  disturbedEverywhere,
  exists,
  freezeChildren,
  js,
  loopTurn,
  noChildren,
  polite,
  sh,
} from './processhelpers.js'

const MB = 1024 * 1024

/** Which signals are sent while something runs, and when. */
function* signalsDuring(body: () => Op<unknown>): Routine<string[]> {
  const start = now()
  const signals: string[] = []
  const { kill } = ChildProcess.prototype
  ChildProcess.prototype.kill = function (signal) {
    signals.push(`${signal} after ${now() - start}`)
    return kill.call(this, signal)
  }
  try {
    yield* body()
    yield* noChildren()
  } finally {
    ChildProcess.prototype.kill = kill
  }
  return signals
}

describe('talking with a process', () => {
  it('its streams have the words of every stream', () =>
    run(function* () {
      const cat = yield* spawnProcess('cat')
      yield* cat.stdin.write('one\n', 'two\n')
      assert.equal(yield* cat.stdout.gets(), 'one')
      assert.equal(`${yield* cat.stdout.readExactly(2)}`, 'tw')
      assert.equal(`${yield* cat.stdout.readUntil('\n')}`, 'o\n')
      yield* cat.stdin.end('three')
      assert.equal(`${yield* cat.stdout.readAll()}`, 'three')
      assert.equal(yield* cat.stderr.read(), undefined)
      assert.deepEqual(yield* cat.wait(), { status: 0, signal: null })
    }))

  it('it has started when spawnProcess returns', () =>
    run(function* () {
      const process = yield* spawnProcess(...polite)
      assert.ok(exists(process.pid))
      assert.deepEqual([process.name, process.end], ['sh', undefined])
    }))

  it('S77 what it printed before its end can be read after it, however late', () =>
    run(function* () {
      const process = yield* spawnProcess(...sh('echo out; echo err >&2'))
      yield* process.wait()
      for (let i = 0; i < 20; i++) yield* loopTurn()
      assert.equal(yield* process.stdout.gets(), 'out')
      assert.equal(yield* process.stderr.gets(), 'err')
      assert.equal(yield* process.stdout.gets(), undefined)
    }))

  it('S77 nothing of it is lost, however much of what came before lies unread', () =>
    run(function* () {
      const process = yield* spawnProcess(
        ...js(`
          process.stdout.write(Buffer.alloc(${2 * MB}))
          process.stdin.once('data', () => process.stdout.write(Buffer.alloc(30_000), () => process.exit()))`),
      )
      const reader = spin(() => process.stdout.readAll())
      while (process.stats().stdout.unread < 2 * MB) yield* loopTurn()
      yield* reader.stop()
      yield* process.stdin.write('go on')
      yield* process.wait()
      for (let i = 0; i < 20; i++) yield* loopTurn()
      assert.equal((yield* process.stdout.readAll()).length, 2 * MB + 30_000)
    }))

  it('an ended process keeps no descriptor, even if nobody reads what it printed', () =>
    run(function* () {
      const before = descriptors()
      const process = yield* spawnProcess(...sh('echo out; echo err >&2'))
      yield* process.wait()
      while (descriptors() > before) yield* loopTurn()
      assert.equal(`${yield* process.stdout.readAll()}`, 'out\n')
    }))

  it('one that floods while nobody reads waits, and goes on when somebody does', () =>
    run(function* () {
      const process = yield* spawnProcess(
        ...js(`process.stdout.write(Buffer.alloc(${8 * MB}), () => process.exit(7))`),
      )
      assert.equal((yield* process.stdout.readExactly(1)).length, 1)
      for (let i = 0; i < 100; i++) yield* loopTurn()
      const { received, unread } = process.stats().stdout
      assert.ok(received < MB && unread < MB, `${received} bytes were read for one that was wanted`)
      assert.equal(process.end, undefined)
      assert.equal((yield* process.stdout.readAll()).length, 8 * MB - 1)
      assert.equal((yield* process.wait()).status, 7)
    }))

  it('a write to one that does not read waits for room, and every byte arrives', () =>
    run(function* () {
      const process = yield* spawnProcess(
        ...js(`
          let count = 0
          const alive = setInterval(() => {}, 1e6)
          process.on('SIGUSR2', () => {
            process.stdin.on('data', (chunk) => (count += chunk.length)).on('end', () => console.log(count))
            clearInterval(alive)
          })
          console.log('ready')`),
      )
      yield* process.stdout.gets()
      const chunk = Buffer.alloc(64 * 1024)
      const writer = spin(function* () {
        for (let i = 0; i < 64; i++) yield* process.stdin.write(chunk)
        yield* process.stdin.end()
      })
      while (writer.waitsFor !== 'node.stdin.write()') yield* snooze()
      for (let i = 0; i < 20; i++) yield* loopTurn()
      assert.equal(writer.waitsFor, 'node.stdin.write()')
      assert.ok(process.stats().stdin.written < 4 * MB)
      assert.equal(process.stdin.tryWrite('x'), false)
      process.kill('SIGUSR2')
      yield* writer
      assert.equal(yield* process.stdout.gets(), `${4 * MB}`)
    }))

  it('bytes may be reused when their write is over, however many they are', () =>
    run(function* () {
      for (const size of [10, 1000, 20_000, 200_000]) {
        const cat = yield* spawnProcess('cat')
        const reading = spin(() => cat.stdout.readAll())
        const chunk = Buffer.alloc(size)
        const expected: Buffer[] = []
        for (const byte of [1, 2, 3, 4]) {
          expected.push(Buffer.alloc(size, byte))
          yield* cat.stdin.write(chunk.fill(byte))
        }
        chunk.fill(0)
        yield* cat.stdin.end()
        assert.ok((yield* reading).equals(Buffer.concat(expected)), `${size} bytes`)
      }
    }))

  it('a write to one that is over is a broken pipe', () =>
    run(function* () {
      const process = yield* spawnProcess('true')
      yield* process.wait()
      for (const op of [() => process.stdin.write('x'), () => process.stdin.end()]) {
        const error = yield* thrownBy(op())
        assert.ok(error instanceof IOError)
        assert.match(error.message, /^true\.stdin\.(write|end)\(\) failed: broken pipe \(EPIPE\)$/)
      }
    }))

  it('who waits for room when it dies is told', () =>
    run(function* () {
      const process = yield* spawnProcess(...polite)
      const writer = spin({ link: false }, () => process.stdin.write(Buffer.alloc(4 * MB)))
      yield* process.stdout.gets()
      process.kill('SIGKILL')
      const error = yield* thrownBy(writer)
      assert.equal(error.code, 'EPIPE')
      assert.deepEqual(yield* process.wait(), { status: null, signal: 'SIGKILL' })
    }))

  it('one that closes its input early breaks the pipe, and can still be read from', () =>
    run(function* () {
      const process = yield* spawnProcess(...sh('exec <&-; echo closed; exec sleep 1000'))
      yield* process.stdout.gets()
      const error = yield* thrownBy(process.stdin.end(Buffer.alloc(MB)))
      assert.match(error.code, /^(EPIPE|ECONNRESET)$/)
      process.kill()
      assert.equal(yield* process.stdout.gets(), undefined)
    }))

  it('what it inherits, or does not have, is no stream for us, and we are told so', () =>
    run(function* () {
      const process = yield* spawnProcess('cat', [], { stdio: 'ignore' })
      for (const [op, sentence] of [
        [
          process.stdin.write('x'),
          "cat.stdin cannot be written to: the process was started with stdio 'ignore'",
        ],
        [process.stdin.end(), "cat.stdin cannot be written to: the process was started with stdio 'ignore'"],
        [
          process.stdout.gets(),
          "cat.stdout cannot be read from: the process was started with stdio 'ignore'",
        ],
        [
          process.stderr.readAll(),
          "cat.stderr cannot be read from: the process was started with stdio 'ignore'",
        ],
      ] as [Op<unknown>, string][]) {
        for (let twice = 0; twice < 2; twice++) {
          const error = yield* thrownBy(op)
          assert.ok(error instanceof BadState)
          assert.equal(error.message, sentence)
        }
      }
      yield* process.stdout.close() // nothing to close, and no reason to complain
      assert.deepEqual(yield* process.wait(), { status: 0, signal: null })
    }))

  it('the wrong direction is refused in words', () =>
    run(function* () {
      const cat = yield* spawnProcess('cat')
      assert.equal((yield* thrownBy((cat.stdin as any).read())).message, 'cat.stdin cannot be read from')
      assert.equal(
        (yield* thrownBy((cat.stdout as any).write('x'))).message,
        'cat.stdout cannot be written to',
      )
    }))

  it('stdio says which are streams', async () => {
    const program = `
      import { main } from 'polyphony'
      import { spawnProcess } from 'polyphony/io'
      main(function* () {
        const cat = yield* spawnProcess('sh', ['-c', 'cat; echo warning >&2'], { stdio: ['pipe', 'inherit', 'pipe'] })
        yield* cat.stdin.end('to our own output\\n')
        yield* cat.wait()
        console.log('heard: ' + (yield* cat.stderr.gets()))
      })`
    const { stdout } = await run(() => exec(process.execPath, ['--input-type=module', '-e', program]))
    assert.equal(stdout, 'to our own output\nheard: warning\n')
  })
})

describe('the end of a process', () => {
  it('everybody who waits is told, and whoever comes later', () =>
    run(function* () {
      const process = yield* spawnProcess(...sh('read line; exit 4'))
      const fibers = [1, 2, 3].map(() => spin(() => process.wait()))
      const gone = spin(() => process.wait())
      yield* snooze()
      assert.equal(process.stats().waiting, 4)
      assert.equal(gone.waitsFor, 'sh.wait()')
      yield* gone.stop()
      yield* process.stdin.end('\n')
      for (const fiber of fibers) assert.deepEqual(yield* fiber, { status: 4, signal: null })
      assert.deepEqual(yield* process.wait(), { status: 4, signal: null })
      assert.deepEqual(process.end, { status: 4, signal: null })
      assert.equal(process.stats().waiting, 0)
    }))

  it('kill sends a signal, by name or number, and says whether there was somebody to get it', () =>
    run(function* () {
      for (const signal of ['SIGTERM', 'SIGINT', 'SIGKILL', 2] as const) {
        const process = yield* spawnProcess(...polite)
        assert.equal(process.kill(0), true)
        assert.equal(process.kill(signal), true)
        assert.equal((yield* process.wait()).signal, signal === 2 ? 'SIGINT' : signal)
        assert.equal(process.kill(signal), false)
      }
    }))

  it('kill refuses what is no signal', () =>
    run(function* () {
      const process = yield* spawnProcess(...polite)
      for (const signal of ['TERM', 'SIGNOTHING', 999, null, {}]) {
        assert.throws(() => process.kill(signal as any), BadArgument)
      }
    }))

  it('S64 a process that runs is pending work', () =>
    run(function* () {
      const { pendingOps } = leaks()
      const process = yield* spawnProcess(...polite)
      assert.equal(leaks().pendingOps, pendingOps + 1)
      process.kill()
      yield* process.wait()
      assert.equal(leaks().pendingOps, pendingOps)
    }))

  it('S64 a main that waits for something else does not stand still while a process runs', async () => {
    const program = (source: string) => `
      import { main, suspend } from 'polyphony'
      import { spawnProcess } from 'polyphony/io'
      main(function* () {
        yield* spawnProcess('sh', ['-c', ${JSON.stringify(source)}], { stdio: 'inherit' })
        yield* suspend()
        console.log('nothing is left to wait for')
      })`
    const args = ['--input-type=module', '-e', program('sleep 0.1; echo ended')]
    const { stdout } = await run(() => exec(process.execPath, args))
    assert.equal(stdout, 'ended\nnothing is left to wait for\n')
  })

  it('S77 close asks first, and waits', () =>
    run(function* () {
      const process = yield* spawnProcess(
        ...js(
          `process.on('SIGTERM', () => console.log('asked')); console.log('ready'); setInterval(() => {}, 1e6)`,
        ),
      )
      yield* process.stdout.gets()
      const closing = spin(() => process.close({ grace: Infinity }))
      assert.equal(yield* process.stdout.gets(), 'asked')
      assert.equal(closing.state, 'waiting')
      process.kill('SIGKILL')
      assert.deepEqual(yield* closing, { status: null, signal: 'SIGKILL' })
    }))

  it('S77 close of one that ends when asked takes no longer than that', () =>
    run(function* () {
      const process = yield* spawnProcess(...polite)
      yield* process.stdout.gets()
      assert.deepEqual(yield* process.close({ grace: Infinity }), { status: null, signal: 'SIGTERM' })
      assert.ok(!exists(process.pid))
      assert.ok((yield* thrownBy(process.stdout.gets())) instanceof StreamClosed)
      assert.deepEqual(yield* process.close(), { status: null, signal: 'SIGTERM' })
    }))

  it('S77 one that does not listen is killed when its grace is over, and not before', () =>
    virtual(function* () {
      for (const [own, given, expected] of [
        [undefined, undefined, 5000],
        [300, undefined, 300],
        [300, 40, 40],
        [300, 0, 0],
      ]) {
        const process = yield* spawnProcess(...deaf, { grace: own })
        yield* process.stdout.gets()
        const start = now()
        assert.deepEqual(yield* process.close({ grace: given }), { status: null, signal: 'SIGKILL' })
        assert.equal(now() - start, expected)
      }
    }))

  it('S77 whoever gives up waiting for the close kills it at once', () =>
    virtual(function* () {
      const process = yield* spawnProcess(...deaf)
      yield* process.stdout.gets()
      yield* moveOnAfter(10, () => process.close({ grace: Infinity }))
      assert.equal(now(), 10)
      assert.equal((yield* process.wait()).signal, 'SIGKILL')
    }))

  it('its pid may be that of another by then: an ended process gets no signal', () =>
    run(function* () {
      const process = yield* spawnProcess('true')
      yield* process.wait()
      assert.equal(process.kill('SIGKILL'), false)
    }))
})

describe('whom a process belongs to', () => {
  function* started(program = polite, grace?: number): Routine<Process> {
    const process = yield* spawnProcess(...program, { grace })
    assert.equal(yield* process.stdout.gets(), 'ready')
    return process
  }

  it('S77 to its fiber: it is ended when that is over', () =>
    run(function* () {
      const process = yield* spin(() => started())
      assert.equal(process.end?.signal, 'SIGTERM')
      assert.ok(!exists(process.pid))
    }))

  it('S77 to the innermost scope', () =>
    run(function* () {
      let inside: Process | undefined
      const outside = yield* started()
      yield* scope(function* () {
        inside = yield* started()
      })
      assert.equal(inside?.end?.signal, 'SIGTERM')
      assert.equal(outside.end, undefined)
    }))

  it('S60 it outlives the children of its scope, who may need it, and the newest goes first', () =>
    run(function* () {
      const ends: string[] = []
      yield* scope(function* () {
        const oldest = yield* started()
        yield* use(
          'a resource',
          () => void ends.push(`used while ${oldest.end === undefined ? 'alive' : 'dead'}`),
        )
        const cat = yield* spawnProcess('cat')
        spin(function* () {
          yield* cat.stdin.end('last words')
          ends.push(`${yield* cat.stdout.readAll()}`)
        })
      })
      assert.deepEqual(ends, ['last words', 'used while alive'])
      assert.deepEqual(children(), [])
    }))

  it('S22 it is ended too when its fiber fails, and the error stays what it was', () =>
    run(function* () {
      let process: Process | undefined
      const fiber = spin({ link: false }, function* () {
        process = yield* started()
        throw new Error('no luck')
      })
      assert.equal((yield* thrownBy(fiber)).message, 'no luck')
      assert.equal(process?.end?.signal, 'SIGTERM')
    }))

  it('S18 a fiber that is stopped kills it before it would be forced itself', () =>
    virtual(function* () {
      for (const [grace, own, expected] of [
        [5000, undefined, 4500],
        [1000, undefined, 900],
        [5000, 2000, 2000],
        [5000, Infinity, 4500],
      ]) {
        const fiber = spin({ grace }, function* () {
          yield* started(deaf, own)
          yield* sleep()
        })
        while (fiber.waitsFor !== 'sleep()') yield* loopTurn()
        const signals = yield* signalsDuring(() => fiber.stop())
        assert.deepEqual(signals, ['SIGTERM after 0', `SIGKILL after ${expected}`])
      }
    }))

  it('S18 a fiber that has other children has half the time, and so has its process', () =>
    virtual(function* () {
      const fiber = spin({ grace: 1000 }, function* () {
        spin(() => sleep())
        yield* watchProcess('sleep', ['1000'])
      })
      while (fiber.waitsFor !== 'sleep.wait()') yield* snooze()
      yield* freezeChildren()
      const signals = yield* signalsDuring(() => fiber.stop())
      assert.deepEqual(signals, ['SIGTERM after 0', 'SIGKILL after 450'])
    }))

  it('S18 the same in a scope that has to end', () =>
    virtual(function* () {
      const command = ['sleep', ['1000']] as const
      for (const wait of [
        () => watchProcess(...command),
        () => exec(...command),
        () =>
          scope(function* () {
            yield* spawnProcess(...command)
            yield* sleep()
          }),
      ] as (() => Op<unknown>)[]) {
        let troublemaker!: Fiber
        const fiber = spin({ grace: 2000, link: false }, () =>
          scope(function* () {
            troublemaker = spin(() => sleep())
            yield* wait()
          }),
        )
        while (children().length === 0) yield* snooze()
        yield* freezeChildren()
        const signals = yield* signalsDuring(function* () {
          troublemaker.raise('trouble')
          assert.equal((yield* thrownBy(fiber)).message, 'trouble')
        })
        assert.deepEqual(signals, ['SIGTERM after 0', 'SIGKILL after 1800'])
      }
    }))

  it('S19 a fiber that is killed waits for nothing, and the process does not stay', () =>
    run(function* () {
      let process: Process | undefined
      const fiber = spin(function* () {
        process = yield* started(deaf)
        yield* sleep()
      })
      while (fiber.waitsFor !== 'sleep()') yield* loopTurn()
      yield* fiber.kill()
      assert.equal((yield* (process as Process).wait()).signal, 'SIGKILL')
    }))

  it('S21 a stop that is tightened while it waits kills it sooner', () =>
    virtual(function* () {
      let process: Process | undefined
      const fiber = spin(function* () {
        process = yield* started(deaf)
        yield* sleep()
      })
      while (fiber.waitsFor !== 'sleep()') yield* loopTurn()
      fiber.stop()
      yield* sleep(100)
      yield* fiber.kill()
      assert.equal(now(), 100)
      assert.equal((yield* (process as Process).wait()).signal, 'SIGKILL')
    }))

  it('a fiber that lives long keeps nothing of processes that are over', () =>
    run(function* () {
      const cleanups = () => (Fiber.current as any).cold?.cleanups?.length ?? 0
      const processes: Process[] = []
      for (let i = 0; i < 20; i++) processes.push(yield* spawnProcess('true'))
      assert.equal(cleanups(), 20)
      for (const process of processes) yield* process.wait()
      while (cleanups() > 0) yield* loopTurn()
      const inScope = scope(function* () {
        const process = yield* spawnProcess('true')
        yield* process.wait()
      })
      yield* inScope
      assert.equal(cleanups(), 0)
    }))

  for (const [what, program] of [
    ['a process that ends at once', sh('echo ready')],
    ['a process that ends when asked', polite],
    ['a process that does not', deaf],
    ['no such process', ['no-such-program', []]],
  ] as [string, [string, string[]]][]) {
    it(`S77 leaves nothing behind, wherever its fiber is stopped: ${what}`, async (t) => {
      const before = descriptors()
      function* scenario(): Routine<void> {
        const process = yield* spawnProcess(...program)
        yield* process.stdin.write('x'.repeat(1000))
        yield* process.stdout.gets()
        yield* scope(function* () {
          yield* spawnProcess(...program)
          yield* snooze()
        })
        yield* process.close()
      }
      const check = () => assert.deepEqual([children(), descriptors()], [[], before])
      let times = await disturbedEverywhere(scenario, (fiber) => fiber.stop(), check)
      times += await disturbedEverywhere(scenario, (fiber) => fiber.kill(), check)
      times += await disturbedEverywhere(scenario, (fiber) => fiber.raise('enough'), check)
      t.diagnostic(`disturbed ${times} times`)
    })
  }
})

describe('a process that cannot be started', () => {
  it('is told at the yield* that asked, by name, and nothing is left of it', () =>
    run(function* () {
      const before = descriptors()
      const { pendingOps } = leaks()
      for (const start of [spawnProcess, watchProcess]) {
        const error = yield* thrownBy(start('no-such-program'))
        assert.equal(
          error.message,
          `${start.name}(no-such-program) failed: no such file or directory (ENOENT)`,
        )
        assert.equal((yield* thrownBy(start('/etc/passwd'))).code, 'EACCES')
      }
      while (descriptors() > before) yield* loopTurn()
      assert.equal(leaks().pendingOps, pendingOps)
    }))

  it('while it fails, its fiber may leave', () =>
    virtual(function* () {
      const op = spawnProcess('no-such-program')
      const fiber = spin(() => op)
      yield* snooze()
      assert.equal(fiber.waitsFor, 'spawnProcess(no-such-program)')
      yield* fiber.stop()
      assert.equal((yield* thrownBy(op)).code, 'ENOENT')
    }))

  const wrong: [unknown[], RegExp][] = [
    [
      ['ls', [], { stdio: 'tty' }],
      /^the stdio of spawnProcess\(ls\) is one of 'pipe', 'inherit', 'ignore', or an array/,
    ],
    [['ls', [], { stdio: ['pipe'] }], /got \["pipe"\]$/],
    [
      ['ls', [], { detached: true }],
      /^spawnProcess\(ls\) has no option "detached"; there are: cwd, env, grace, stdio$/,
    ],
    [['ls', [], { grace: 'long' }], /^the grace of spawnProcess\(ls\)/],
    [[{}], /^spawnProcess\(\) needs the name of a program/],
  ]
  for (const [args, sentence] of wrong) {
    it(`what is refused at the call: ${sentence.source}`, () => {
      assert.throws(
        () => (spawnProcess as (...args: unknown[]) => unknown)(...args),
        (error: Error) => error instanceof BadArgument && sentence.test(error.message),
      )
    })
  }
})

describe('watching a process', () => {
  it('S77 waits for its end, and says how it ended', () =>
    run(function* () {
      assert.deepEqual(yield* watchProcess('true'), { status: 0, signal: null })
      assert.deepEqual(yield* watchProcess(...sh('exit 9')), { status: 9, signal: null })
      assert.deepEqual(yield* watchProcess(...sh('kill -INT $$')), { status: null, signal: 'SIGINT' })
    }))

  it('with check a bad end is an error', () =>
    run(function* () {
      assert.deepEqual(yield* watchProcess('true', [], { check: true }), { status: 0, signal: null })
      const error = yield* thrownBy(watchProcess(...sh('exit 9'), { check: true }))
      assert.ok(error instanceof ProcessFailed)
      assert.deepEqual([error.message, error.status], ['watchProcess(sh) ended with status 9', 9])
    }))

  it('prints where we do, and has nothing to read', async () => {
    const program = `
      import { main } from 'polyphony'
      import { watchProcess } from 'polyphony/io'
      main(() => watchProcess('sh', ['-c', 'cat; echo out; echo err >&2']))`
    const input = 'not for the child'
    const result = await run(() => exec(process.execPath, ['--input-type=module', '-e', program], { input }))
    assert.deepEqual([result.stdout, result.stderr], ['out\n', 'err\n'])
  })

  it('S77 a fiber that is stopped ends it', () =>
    run(function* () {
      const fiber = spin(() => watchProcess('sleep', ['1000']))
      while (children().length === 0) yield* snooze()
      yield* fiber.stop()
      assert.deepEqual(children(), [])
    }))

  it('S77 S42 under supervise it is a process that is started again', () =>
    run(function* () {
      const pids = new Set<string>()
      const supervisor = spin(() =>
        supervise([{ name: 'worker', body: () => watchProcess('sleep', ['1000'], { stdio: 'ignore' }) }], {
          restart: 'always',
          intensity: { restarts: 10 },
        }),
      )
      while (pids.size < 3) {
        const [pid] = children()
        if (pid !== undefined && !pids.has(pid)) {
          pids.add(pid)
          process.kill(Number(pid), 'SIGKILL')
        }
        yield* loopTurn()
      }
      yield* supervisor.stop()
      assert.deepEqual(children(), [])
    }))
})

describe('many processes', () => {
  it('200 one after another leave no descriptor', () =>
    run(function* () {
      const before = descriptors()
      const wereForced = runtimeStats().forced
      for (let i = 0; i < 200; i++) {
        const process = yield* spawnProcess('true')
        yield* process.wait()
      }
      while (descriptors() > before) yield* loopTurn()
      assert.equal(runtimeStats().forced, wereForced)
    }))

  it('when descriptors run out it is told, and later it works again', async () => {
    const program = `
      import { main, spin } from 'polyphony'
      import { spawnProcess } from 'polyphony/io'
      main(function* () {
        const many = []
        try {
          for (;;) many.push(yield* spawnProcess('sleep', ['1000']))
        } catch (error) {
          console.log(error.name, error.code, many.length > 5)
        }
        for (const process of many) yield* process.close()
        const process = yield* spawnProcess('echo', ['again'])
        console.log(yield* process.stdout.gets())
      })`
    const limited = [
      '-c',
      'ulimit -n 200; exec "$@"',
      'sh',
      process.execPath,
      '--input-type=module',
      '-e',
      program,
    ]
    const { stdout, stderr } = await run(() => exec('sh', limited))
    assert.equal(stdout, 'IOError EMFILE true\nagain\n', stderr)
  })
})

describe('processes and the terminal', () => {
  it('a process that ignores SIGINT by way of its shell outlives a Ctrl-C, and is ended in order', () =>
    run(function* () {
      const args = ['-c', `trap '' INT; exec "$@"`, 'sh', ...['sh', '-c', 'echo ready; exec sleep 1000']]
      const process = yield* spawnProcess('sh', args)
      yield* process.stdout.gets()
      process.kill('SIGINT')
      yield* until(new Promise((resolve) => setImmediate(resolve)))
      assert.equal((yield* process.close()).signal, 'SIGTERM')
      yield* noChildren()
    }))
})

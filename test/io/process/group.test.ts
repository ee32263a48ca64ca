// Process groups with real processes: which processes a signal reaches, and that no member outlives its owner (S77).

import { closeSync, existsSync, openSync, readFileSync } from 'node:fs'
import { exec, type Process, type SpawnProcessOptions, spawnProcess, watchProcess } from 'polyphony/io'
import {
  assert,
  comesTrue,
  describe,
  eventually,
  type Fiber,
  moveOnAfter,
  type Op,
  program,
  type Routine,
  scope,
  sleep,
  spin,
  type Timeout,
  test,
  thrownBy,
  use,
} from '../../prelude.js'
import { freshPath } from '../folder.js'
import { children, isRunning, processState, ready, sh } from '../processhelpers.js'
import { realTest } from '../real.js'

/** A script for the shell that writes the pid of its child to the file "$1". */
interface Script {
  readonly source: string
  /** Whether the shell is there as long as its child. */
  readonly stays: boolean
}
const SCRIPTS: Record<string, Script> = {
  'in the foreground': { source: `sh -c 'echo $$ > "$1"; exec sleep 1000' sh "$1"; true`, stays: true },
  'in the background': { source: 'sleep 1000 & echo $! > "$1"; wait', stays: true },
  'left behind': { source: 'sleep 1000 & echo $! > "$1"', stays: false },
}

const run = (source: string, path: string): [string, string[]] => ['sh', ['-c', source, 'sh', path]]

/** The number in a file, when it is there. */
function* numberIn(path: string): Routine<number> {
  yield* eventually(() => existsSync(path) && readFileSync(path, 'utf8').endsWith('\n'))
  return Number(readFileSync(path, 'utf8'))
}

describe('S77 what a process has started ends with it', () => {
  const starts: Record<string, (cmd: string, args: string[]) => Op<unknown>> = {
    exec,
    watchProcess,
    spawnProcess: function* (cmd: string, args: string[]) {
      yield* spawnProcess(cmd, args)
      yield* sleep()
    } as never,
  }
  const ends: ((fiber: Fiber) => Op<unknown>)[] = [
    (fiber) => fiber.stop(),
    (fiber) => fiber.kill(),
    (fiber) => {
      fiber.raise('enough')
      return thrownBy(fiber)
    },
  ]
  for (const [name, start] of Object.entries(starts)) {
    for (const [place, { source, stays }] of Object.entries(SCRIPTS)) {
      if (name === 'watchProcess' && !stays) continue // it is over then
      realTest(`${name}, with a child ${place}`, function* () {
        for (const end of ends) {
          const path = freshPath()
          const fiber = spin({ link: false }, () => start(...run(source, path)))
          const pid = yield* numberIn(path)
          assert.equal(isRunning(pid), true)
          yield* end(fiber)
          yield* eventually(() => !isRunning(pid) && children().length === 0)
        }
      })

      test(`${name}, with a child ${place}, at a time limit`, function* () {
        const path = freshPath()
        const limits: Timeout[] = []
        const limited = spin(() =>
          moveOnAfter(1, (limit) => {
            limit.extend(Infinity)
            limits.push(limit)
            return start(...run(source, path))
          }),
        )
        const pid = yield* numberIn(path)
        limits[0]?.reset()
        yield* limited
        yield* eventually(() => !isRunning(pid) && children().length === 0)
      })
    }
  }

  realTest('what is left when exec and watchProcess are over is asked to end, and waited for', function* () {
    for (const start of [exec, watchProcess]) {
      const path = freshPath()
      const source = 'sleep 1000 >/dev/null 2>&1 & echo $! > "$1"; exit 3'
      assert.equal((yield* start(...run(source, path))).status, 3)
      assert.equal(isRunning(yield* numberIn(path)), false)
    }
  })

  test('a member that does not end is killed after the grace', function* () {
    const path = freshPath()
    const source = `sh -c 'trap "" TERM; echo $$ > "$1"; while :; do sleep 1000; done' sh "$1" & wait`
    const fiber = spin(() => exec(...run(source, path)))
    const pid = yield* numberIn(path)
    yield* fiber.stop()
    yield* eventually(() => !isRunning(pid) && children().length === 0)
  })

  realTest('a member that cleans up has its grace, though the leader has ended', function* () {
    const [path, done] = [freshPath(), freshPath()]
    const source = `sh -c 'trap "sleep 0.2; echo 1 > \\"$2\\"; exit" TERM; echo $$ > "$1"; while :; do sleep 0.01; done' sh "$1" "$2"; true`
    const fiber = spin(() => exec('sh', ['-c', source, 'sh', path, done]))
    const pid = yield* numberIn(path)
    yield* fiber.stop()
    assert.deepEqual([isRunning(pid), existsSync(done)], [false, true])
  })

  realTest('a daemon that leaves the group stays, and with group: false all do', function* () {
    const rows: [string, SpawnProcessOptions][] = [
      [`setsid sh -c 'echo $$ > "$1"; exec sleep 1000' sh "$1" >/dev/null 2>&1 &`, {}],
      ['sleep 1000 >/dev/null 2>&1 & echo $! > "$1"', { group: false }],
    ]
    for (const [source, options] of rows) {
      const path = freshPath()
      yield* exec(...run(`${source}\nwhile ! [ -s "$1" ]; do sleep 0.01; done`, path), options)
      const pid = yield* use(yield* numberIn(path), (each) => void process.kill(each, 'SIGKILL'))
      assert.equal(isRunning(pid), true)
    }
  })

  realTest('kill reaches every member, also after the end of the process; then it says false', function* () {
    const child = yield* ready(sh('sleep 1000 >/dev/null & sleep 1000 >/dev/null & echo ready; echo $!'))
    const pid = Number(yield* child.stdout.gets())
    assert.deepEqual(yield* child.wait(), { status: 0, signal: null })
    assert.deepEqual([child.kill(0), child.kill('SIGUSR1')], [true, true])
    yield* eventually(() => !isRunning(pid))
    yield* eventually(() => !child.kill(0))
    const { kill } = process
    process.kill = () => assert.fail('its number may be that of another group by now')
    try {
      assert.deepEqual([child.kill(), (yield* child.close()).status], [false, 0])
    } finally {
      process.kill = kill
    }
  })

  realTest('a member that exits right before the signal is no error', function* () {
    const child = yield* ready(sh('sleep 1000 >/dev/null 2>&1 & echo ready'))
    yield* child.wait()
    const { kill } = process
    process.kill = (pid, signal) => {
      if (signal === 0) return kill.call(process, pid, signal)
      throw Object.assign(new Error('kill ESRCH'), { code: 'ESRCH' })
    }
    try {
      assert.deepEqual([child.kill(0), child.kill()], [true, false])
    } finally {
      process.kill = kill
    }
    assert.equal(child.kill('SIGKILL'), true)
  })

  realTest('one that has left members behind belongs to its scope until they are gone', function* () {
    let child: Process | undefined
    const pid = yield* scope(function* () {
      child = yield* ready(sh('sleep 1000 >/dev/null 2>&1 & echo ready; echo $!'))
      const left = Number(yield* child.stdout.gets())
      assert.equal(yield* child.stdout.gets(), undefined)
      yield* child.wait()
      assert.equal(isRunning(left), true)
      return left
    })
    assert.deepEqual([isRunning(pid), child?.kill()], [false, false])
  })

  realTest('it is noticed when the members are gone, also if no fiber asks', function* () {
    const child = yield* spawnProcess(...sh('sleep 0.3 >/dev/null 2>&1 &'))
    yield* child.wait()
    assert.equal(process.listenerCount('exit') > 0 && (child as any).group.phase, 'left')
    yield* eventually(() => (child as any).group.phase === 'gone')
  })
})

describe('a process leads a group of its own', () => {
  const groupOf = (child: Process) => processState(child.pid)?.group === child.pid

  realTest('by default, unless its input is a terminal', function* () {
    const terminal = yield* use(openSync('/dev/ptmx', 'r+'), (fd) => closeSync(fd))
    const rows: [SpawnProcessOptions, boolean][] = [
      [{}, true],
      [{ stdio: ['ignore', 'pipe', 'inherit'] }, true],
      [{ stdio: ['pipe', 'pipe', terminal] }, true],
      [{ stdio: [terminal, 'pipe', 'pipe'] }, false],
      [{ stdio: [terminal, 'pipe', 'pipe'], group: true }, true],
      [{ group: false }, false],
    ]
    for (const [options, expected] of rows) {
      const child = yield* ready(undefined, undefined, options)
      assert.equal(groupOf(child), expected)
      yield* child.close()
    }
  })
})

describe('when our own process ends, so do the groups', () => {
  const rows: [what: string, source: string, code: number | null][] = [
    ['in main, by SIGTERM', `main(body(() => process.kill(process.pid, 'SIGTERM')))`, 143],
    ['by process.exit()', 'main(body(() => process.exit(5)))', 5],
    ['by an error that is not caught', `main(body(() => setImmediate(() => { throw new Error('x') })))`, 1],
    [
      'by three Ctrl-C',
      `main(body(() => {
        let at = 0
        const { now } = performance
        performance.now = () => now.call(performance) + at // each is no echo of the one before
        for (let i = 0; i < 3; i++, at += 1000) process.emit('SIGINT', 'SIGINT')
      }))`,
      130,
    ],
    ['in run, by SIGINT', `run(body(() => process.kill(process.pid, 'SIGINT')))`, null],
    ['in run, by SIGHUP', `run(body(() => process.kill(process.pid, 'SIGHUP')))`, null],
  ]
  for (const [what, source, code] of rows) {
    test(what, async () => {
      const imports = `
        import { main, run, sleep } from 'polyphony'
        import { spawnProcess } from 'polyphony/io'
        const body = (end) => function* () {
          const child = yield* spawnProcess('sh', ['-c', 'trap "" TERM HUP INT; sleep 1000 & echo $!; wait'], { grace: 10 })
          console.log(yield* child.stdout.gets())
          end()
          yield* sleep()
        }\n`
      const ended = await program(imports + source)
      const pid = Number(ended.stdout)
      assert.ok(pid > 0, ended.stderr)
      assert.equal(ended.code, code, ended.stderr)
      assert.ok(await comesTrue(() => !isRunning(pid)))
    })
  }

  test('a signal that the program listens to is left to it', async () => {
    const { stdout, code } = await program(`
      import { run, sleep } from 'polyphony'
      import { exec, spawnProcess } from 'polyphony/io'
      const count = () => ['SIGINT', 'SIGTERM', 'SIGHUP'].map((event) => process.listenerCount(event)).join(' ')
      run(function* () {
        const before = count()
        process.once('SIGINT', () => console.log('heard'))
        const child = yield* spawnProcess('cat')
        process.kill(process.pid, 'SIGINT')
        yield* sleep(20)
        yield* child.stdin.end('alive')
        console.log(String(yield* child.stdout.readAll()))
        yield* child.wait()
        yield* exec('true')
        console.log(count() === before)
      })`)
    assert.deepEqual([stdout, code], ['heard\nalive\ntrue\n', 0])
  })
})

// Processes (S77), with real ones. Time jumps where a grace has to pass.

import { exec, type Process, ProcessFailed, StreamClosed, spawnProcess, watchProcess } from 'polyphony/io'
import {
  children,
  deaf,
  disturbedEverywhere,
  freezeChildren,
  js,
  noChildren,
  polite,
  ready,
  sh,
} from '../io/processhelpers.js'
import { realTest } from '../io/real.js'
import {
  assert,
  describe,
  eventually,
  type Fiber,
  moveOnAfter,
  now,
  type Op,
  type Routine,
  scope,
  sleep,
  snooze,
  spin,
  test,
  thrownBy,
  turns,
  until,
  use,
} from '../prelude.js'

/** Which signals are sent to a process or its group while something runs, and when. */
function* signalsDuring(body: () => Op<unknown>): Routine<string[]> {
  const start = now()
  const signals: string[] = []
  const { kill } = process
  process.kill = (pid, signal) => {
    if (signal !== 0) signals.push(`${signal} after ${now() - start}`) // 0 only asks whether any is left
    return kill.call(process, pid, signal)
  }
  try {
    yield* body()
    yield* noChildren()
  } finally {
    process.kill = kill
  }
  return signals
}

const SLEEP = ['sleep', ['1000']] as const

describe('S77 no process outlives its owner', () => {
  for (const start of [exec, watchProcess] as ((cmd: string, args: readonly string[]) => Op<unknown>)[]) {
    realTest(`a fiber that is stopped, or whose time is up, in ${start.name} ends the process`, function* () {
      const fiber = spin(() => start(...SLEEP))
      yield* eventually(() => children().length === 1)
      yield* fiber.stop()
      assert.deepEqual([fiber.outcome?.type, children()], ['stopped', []])
      assert.equal(yield* moveOnAfter(0, () => start(...SLEEP), 'too slow'), 'too slow')
      assert.deepEqual(children(), [])
    })
  }

  realTest('one of spawnProcess ends with its fiber or the innermost scope', function* () {
    const kept: Process[] = []
    const keep = function* (): Routine<void> {
      kept.push(yield* ready())
    }
    yield* spin(keep)
    const failing = spin({ link: false }, function* () {
      kept.push(yield* ready())
      throw new Error('no luck')
    })
    assert.equal((yield* thrownBy(failing)).message, 'no luck') // which stays what it was
    const outside = yield* ready()
    yield* scope(keep)
    const returned = yield* scope(() => spin(() => ready())) // it goes to what receives it
    assert.equal(returned.end, undefined)
    yield* returned.close()
    for (const { end } of kept) assert.equal(end?.signal, 'SIGTERM')
    assert.deepEqual([outside.end, children()], [undefined, [`${outside.pid}`]])
  })

  realTest('it outlives the children of its scope, and the newest goes first', function* () {
    const log: string[] = []
    yield* scope(function* () {
      const oldest = yield* ready()
      yield* use('a resource', () => void log.push(`the oldest has ended: ${oldest.end !== undefined}`))
      const cat = yield* spawnProcess('cat')
      spin(function* () {
        yield* cat.stdin.end('last words')
        log.push(`${yield* cat.stdout.readAll()}`)
      })
    })
    assert.deepEqual([log, children()], [['last words', 'the oldest has ended: false'], []])
  })

  realTest('it is asked first, and waited for; then its streams are closed', function* () {
    const program = `process.on('SIGTERM', () => console.log('asked')); console.log('ready'); setInterval(() => {}, 1e6)`
    const process = yield* ready(js(program))
    const closing = spin(() => process.close({ grace: Infinity }))
    assert.equal(yield* process.stdout.gets(), 'asked')
    assert.equal(closing.state, 'waiting')
    process.kill('SIGKILL')
    const end = { status: null, signal: 'SIGKILL' }
    assert.deepEqual([yield* closing, yield* process.close()], [end, end])
    assert.ok((yield* thrownBy(process.stdout.gets())) instanceof StreamClosed)
  })

  test('one that does not listen is killed when its grace is over, and not before', function* () {
    for (const [own, given, expected] of [
      [undefined, undefined, 5000],
      [300, undefined, 300],
      [300, 40, 40],
      [300, 0, 0],
    ]) {
      const process = yield* ready(deaf, own)
      const signals = yield* signalsDuring(() => process.close({ grace: given }))
      const killed = `SIGKILL after ${expected}`
      assert.deepEqual(signals, expected === 0 ? [killed] : ['SIGTERM after 0', killed])
    }
  })

  test('a fiber that gives up waiting for the close kills it at once', function* () {
    const process = yield* ready(deaf)
    yield* moveOnAfter(10, () => process.close({ grace: Infinity }))
    assert.equal(now(), 10)
    assert.equal((yield* process.wait()).signal, 'SIGKILL')
  })

  const owned = (grace?: number) =>
    function* (): Routine<void> {
      yield* spawnProcess(...SLEEP, { grace })
      yield* sleep()
    }
  const watched = () => watchProcess(...SLEEP)
  const besideOthers = function* (): Routine<void> {
    spin(() => sleep())
    yield* watched()
  }
  const stop = (fiber: Fiber) => fiber.stop()
  /** A child of the scope fails, so that the scope has to end. */
  const failChild = function* (fiber: Fiber): Routine<void> {
    fiber.children.find(({ name }) => name === 'troublemaker')?.raise('trouble')
    assert.equal((yield* thrownBy(fiber)).message, 'trouble')
  }
  const inScope = () =>
    scope(function* () {
      spin('troublemaker', () => sleep())
      yield* watched()
    })
  const shares: [string, number, () => Op<unknown>, (fiber: Fiber) => Op<unknown>, number][] = [
    ['a fiber that is stopped', 1000, owned(), stop, 900],
    ['a fiber that has longer', 5000, owned(2000), stop, 2000],
    ['a fiber, if it may take for ever', 5000, owned(Infinity), stop, 4500],
    ['a fiber that has other children, and half the time', 1000, besideOthers, stop, 450],
    ['a scope that has to end', 2000, inScope, failChild, 1800],
  ]
  for (const [what, grace, body, end, expected] of shares) {
    test(`it has ${expected} of the ${grace} ms of ${what}`, function* () {
      const fiber = spin({ grace, link: false }, body)
      yield* eventually(() => children().length === 1 && fiber.state === 'waiting')
      yield* freezeChildren() // frozen, it does not even end when it is asked to
      const signals = yield* signalsDuring(() => end(fiber))
      assert.deepEqual(signals, ['SIGTERM after 0', `SIGKILL after ${expected}`])
    })
  }

  test('a fiber that is forced, at once or while it waits, kills it and waits for nothing', function* () {
    for (const pause of [0, 100]) {
      let process: Process | undefined
      const start = now()
      const fiber = spin(function* () {
        process = yield* ready(deaf)
        yield* sleep()
      })
      yield* eventually(() => fiber.waitsFor === 'sleep()')
      if (pause > 0) fiber.stop()
      yield* sleep(pause)
      yield* fiber.kill()
      assert.equal(now() - start, pause)
      assert.equal((yield* process!.wait()).signal, 'SIGKILL')
    }
  })

  realTest('that it ends badly is a value; with check it is an error that carries everything', function* () {
    const program = sh('echo half; echo first >&2; echo no such branch >&2; exit 128')
    const end = { status: 128, signal: null }
    assert.deepEqual(yield* watchProcess('sh', ['-c', 'exit 128'], { check: false }), end)
    const printed = { stdout: 'half\n', stderr: 'first\nno such branch\n' }
    assert.deepEqual(yield* exec(...program), { ...end, ...printed })
    const error = yield* thrownBy(exec(...program, { check: true }))
    assert.ok(error instanceof ProcessFailed)
    assert.equal(error.message, 'exec(sh) ended with status 128: no such branch')
    const { code, status, signal, stdout, stderr } = error
    assert.deepEqual([code, { status, signal }, { stdout, stderr }], ['PROCESS_FAILED', end, printed])
    const watched = yield* thrownBy(watchProcess(...sh('kill -INT $$'), { check: true }))
    assert.deepEqual([watched.message, watched.status], ['watchProcess(sh) was ended by SIGINT', null])
    for (const run of [exec, watchProcess]) assert.equal((yield* run('true', [], { check: true })).status, 0)
  })

  realTest('what it printed before its end can be read after it, however much', function* () {
    const much = 2 * 1024 * 1024
    const program = `head -c ${much} /dev/zero; read line; echo bye >&2; head -c 30000 /dev/zero`
    const process = yield* spawnProcess(...sh(program))
    const reader = spin(() => process.stdout.readAll())
    yield* eventually(() => process.stats().stdout.unread === much)
    yield* reader.stop()
    yield* process.stdin.write('go on\n')
    yield* process.wait()
    yield* until(turns(20))
    assert.equal((yield* process.stdout.readAll()).length, much + 30_000)
    assert.deepEqual([yield* process.stderr.gets(), yield* process.stderr.gets()], ['bye', undefined])
  })

  const input = Buffer.alloc(1024 * 1024)
  /** The undisturbed run must end, too. */
  const bounded = (op: Op<unknown>) => moveOnAfter(10, () => op)
  const talk = (program: [string, string[]]) =>
    function* (): Routine<void> {
      const process = yield* spawnProcess(...program)
      yield* process.stdin.write('x'.repeat(1000))
      yield* process.stdout.gets()
      yield* scope(function* () {
        yield* spawnProcess(...program)
        yield* snooze()
      })
      yield* process.close()
    }
  const scenarios: [string, () => Op<unknown>][] = [
    ['exec of one that prints and reads', () => exec('cat', [], { input })],
    ['exec of one that does not read', () => bounded(exec(...SLEEP, { input }))],
    ['exec of none', () => exec('no-such-program')],
    ['exec with merged errors', () => exec('cat', [], { input, stderr: 'merge' })],
    ['exec of none with merged errors', () => exec('no-such-program', [], { stderr: 'merge' })],
    ['exec of one that leaves something behind', () => exec(...sh('sleep 1000 >/dev/null 2>&1 &'))],
    ['exec of one that does not want to end', () => bounded(exec(...deaf))],
    ['a talk with one that ends when asked', talk(polite)],
    ['a talk with one that does not', talk(deaf)],
  ]
  const disturbances: ((fiber: Fiber, target: Fiber) => unknown)[] = [
    (fiber) => fiber.stop(),
    (_, target) => target.stop(),
    (_, target) => target.kill(),
    (fiber) => fiber.raise('enough'),
  ]
  for (const [what, scenario] of scenarios) {
    test(`nothing is left of ${what}, wherever it is disturbed`, async () => {
      for (const disturb of disturbances) await disturbedEverywhere(scenario, disturb)
    })
  }
})

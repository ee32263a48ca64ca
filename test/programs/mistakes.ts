// Makes the mistakes that the guides warn of, one after another, and prints what people read then:
// errors to stdout, reports to stderr. test/documents/programs.test.ts compares it with the sentences in docs/guides.

import { Readable } from 'node:stream'
import {
  all,
  awaitSignal,
  call,
  Fiber,
  Mutex,
  moveOnAfter,
  type Op,
  Queue,
  ResourcePool,
  receive,
  run,
  Semaphore,
  sleep,
  snooze,
  spin,
  supervise,
  trap,
  until,
} from 'polyphony'
import {
  brotli,
  connect,
  exec,
  fromNode,
  gunzip,
  gzip,
  listen,
  openFile,
  pipe,
  readFile,
  sendFile,
  spawnProcess,
  udp,
} from 'polyphony/io'
import { type Attempt, check, OutsideOp, Waiters } from 'polyphony/op'
import { type Executor, Proco } from 'polyphony/proco'
import { explore, sequence, virtual } from 'polyphony/testing'

const mistakes: (() => Op<unknown> | unknown)[] = [
  function* swallowsItsStop() {
    const server = spin('server', function* () {
      for (;;) {
        try {
          yield* receive()
        } catch {}
      }
    })
    yield* sleep(1)
    yield* server.stop()
  },
  function* cleanupHangs() {
    const slow = spin('slow', function* () {
      try {
        yield* sleep()
      } finally {
        yield* sleep(60_000)
      }
    })
    yield* sleep(1)
    yield* slow.stop(undefined, { grace: 1 })
  },
  function* awaitsAStopped() {
    const worker = spin('worker', () => sleep())
    worker.stop()
    yield* worker
  },
  function* nobodyAwaits() {
    spin({ name: 'ping', link: false }, () => {
      throw new Error('ping failed')
    })
    yield* sleep(1)
  },
  function* throwsAString() {
    yield* spin('parser', function* () {
      throw 'oops'
    })
  },
  function* circle() {
    const main = Fiber.current
    yield* spin('worker', () => main)
  },
  () => until(virtual(() => receive())), // nobody will ever send anything
  () =>
    until(
      virtual(() => {
        Fiber.outOfBand(() => sleep(1000)) // belongs to nobody, so nobody stops it
      }),
    ),
  () => explore(() => until(Promise.resolve())),
  function* passesAPointTwice() {
    const at = sequence(2)
    yield* Fiber.await(
      spin(() => at(0)),
      spin(() => at(0)),
    )
  },
  notAnOp(() => sleep(10)),
  notAnOp(() => Promise.resolve()),
  () => spin(work() as any),
  () => moveOnAfter(10, sleep(5) as any),
  () => all([Promise.resolve() as any]),
  () => spin(async function load() {} as any),
  () => spin('page', () => Promise.resolve() as any),
  function* outsideAnyFiber() {
    yield* until(new Promise((_, reject) => setTimeout(() => attempt(() => spin(work)).catch(reject))))
  },
  function* oneOpForTwo() {
    const op = sleep(1)
    yield* Fiber.await(
      spin('first', () => op),
      spin('second', () => op),
    )
  },
  () => {
    const [nothing] = sleep(10)
    return nothing
  },
  function* callsADead() {
    const clerk = spin('clerk', () => {})
    yield* clerk
    yield* call(clerk, 'how many?')
  },
  function* endsWithoutAnAnswer() {
    yield* call(
      spin('clerk', () => receive()),
      'how many?',
    )
  },
  () =>
    call(
      spin('deaf', () => sleep()),
      'hello?',
      { timeout: 50 },
    ),
  () => call(Fiber.current, 'who am I?'),
  function* fillsItsOwnMailbox() {
    const { mailbox } = Fiber.current
    mailbox.cap(1)
    yield* mailbox.push('one')
    yield* mailbox.push('two')
  },
  () => Fiber.current.mailbox.cap(0),
  () => Fiber.current.monitor(),
  () => supervise([{ name: 'consumer', body: fails, restart: 'onError' }]),
  () => {
    spin(work)
    return supervise({ onDone: () => supervise() })
  },
  () => supervise([], { restart: 'allways' as any }),
  () => supervise(spin(work) as any),
  () => new Mutex({ name: 'file' }).unlock(),
  function* unlocksForAnother() {
    const file = new Mutex({ name: 'file' })
    spin('writer', () => file.synchronize(() => sleep()))
    yield* sleep(1)
    file.unlock()
  },
  function* endsWithoutUnlocking() {
    const file = new Mutex({ name: 'file' })
    yield* spin('writer', () => file.lock())
    yield* file.synchronize(() => {})
  },
  () => new Semaphore(2, { name: 'seats' }).release(),
  function* pushesToAClosed() {
    const jobs = new Queue<number>({ name: 'jobs' })
    jobs.close()
    yield* jobs.push(1)
  },
  function* usesAClosedPool() {
    const db = new ResourcePool({ limit: 1, create: () => ({ id: 1 }), name: 'db' })
    yield* db.close()
    yield* db.acquire(() => {})
  },
  () => run(() => 1, { context: 'yes' } as any),
  () => new Semaphore(0),
  () => new Queue({ size: 5 } as any),
  () => udp({ port: 70_000 }),
  () => exec('ls -l'),
  () => exec('ls', { cwd: '/' } as never),
  () => exec('ls', [], { cwd: '/no/such/place' }),
  () => spawnProcess('ls', [], { shell: true } as object),
  function* readsWhatIsNotPiped() {
    const process = yield* spawnProcess('true', [], { stdio: 'inherit' })
    yield* process.stdout.gets()
  },
  () => fromNode(Readable.from(['an object'])),
  () => connect({ port: 443, alpn: ['h2'] }),
  () => connect({ port: 443, tls: { servername: '127.0.0.1' } }),
  () => openFile('/no/such/file'),
  () => openFile('/'),
  () => openFile('/dev/null', 'w', (file) => file.gets()),
  () => openFile('notes.txt', 'rw' as 'r'),
  () => openFile('/dev/full', 'w', (file) => file.write('x')),
  () => openFile('/dev/zero', 'r', (file) => file.seek(0)),
  () => sendFile('/dev/null', pipe(), { length: 5 }),
  function* writesAfterTheClose() {
    const stream = pipe()
    yield* stream.close()
    yield* stream.write('x')
  },
  () => gunzip('this is no gzip'),
  () => brotli('', { quality: 12 }),
  () => listen(8080 as any),
  () => connect({ host: 'http://localhost', port: 80 }),
  () => connect({ port: 80, detached: true }, () => {}),
  () => readFile('notes.txt', 'utf8' as any),
  () => gzip('data', 'out.gz' as any),
  () => trap('KILL', () => {}),
  () => trap('USR1', () => {}),
  () => trap('INTERRUPT', () => {}),
  () => (awaitSignal as () => unknown)(),
  () => Proco.new().submit(1),
  function* submitsToOneThatExits() {
    const proco = Proco.new().start(() => sleep(1))
    yield* proco.submitAsync(1)
    spin(() => proco.exit())
    yield* snooze()
    yield* proco.submit(2)
  },
  () => Proco.new().start(work).start(work),
  function* waitsForItself() {
    const proco: Executor<number, unknown> = Proco.new<number>()
    yield* proco.start((n) => proco.submit(n + 1)).submit(1)
  },
  function* exitsInItsHandler() {
    const proco: Executor<number, unknown> = Proco.new<number>()
    yield* proco.start(() => proco.exit()).submit(1)
  },
  function* returnsTooFew() {
    const proco = Proco.batch(true)
      .results('each')
      .new<number>()
      .start(([first]) => [first])
    yield* all([proco.submit(1), proco.submit(2)])
  },
  () => new Proco({ results: 'each' }),
  () => new Proco({ concurrency: 4 } as object),
  function* waitsTwiceForOneOp() {
    const dial = new Dial()
    spin('first', () => dial)
    yield* snooze()
    yield* dial
  },
  function* leavesAnotherLine() {
    const [one, other] = [new Waiters(), new Waiters()]
    let reader!: Fiber
    class Wait extends Dial {
      protected override start({ fiber }: Attempt<void>): void {
        reader = fiber
        one.join(fiber, undefined)
      }
    }
    spin('reader', () => new Wait())
    yield* snooze()
    other.leave(reader)
  },
  function* entersWithAnAsyncFunction() {
    class Wait extends Dial {
      override async enter(): Promise<void> {}
    }
    yield* new Wait()
  },
  () => check.options({ nmae: 'belt' } as { name?: string }, { name: check.name }, 'new Conveyor()'),
]

/** Work outside that never answers. */
class Dial extends OutsideOp<void> {
  protected start(_attempt: Attempt<void>): void {}
  protected cancel(): void {}
  describe(): string {
    return 'dial(a.example)'
  }
}

function fails() {
  throw new Error('not today')
}

function* work() {
  yield* sleep(1)
}

/** A body that yields something without the star. */
function notAnOp(make: () => unknown): () => Op<unknown> {
  return function* () {
    yield make()
  } as () => any
}

async function attempt(what: () => unknown): Promise<unknown> {
  return what()
}

for (const mistake of mistakes) {
  await run(mistake, { name: 'main' }).catch((error) => console.log(`${error.name}: ${error.message}`))
}

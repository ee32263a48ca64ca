// What tools are told of every wait of the library: its kind, the resource, and the fiber that has to act. Only facts end the
// waits of these tests; each wait is looked at when it begins.

import { EventEmitter } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, gzip, listen, lookup, openFile, pair, readFile, spawnProcess, udp } from 'polyphony/io'
import { BaseOp } from 'polyphony/op'
import { type Executor, Proco } from 'polyphony/proco'
import { readSources } from '../house/sources.js'
import { fileWith } from '../io/folder.js'
import { polite } from '../io/processhelpers.js'
import { connected, listening, opened, placeOf, real } from '../io/real.js'
import {
  action,
  all,
  allSettled,
  any,
  assert,
  awaitSignal,
  Condition,
  call,
  describe,
  Event,
  each,
  eventually,
  every,
  Fiber,
  type FiberView,
  fiberTree,
  forEach,
  iterate,
  Mutex,
  moveOnAfter,
  type Op,
  on,
  once,
  Queue,
  ResourcePool,
  type Routine,
  race,
  receive,
  Semaphore,
  scope,
  sleep,
  snooze,
  spin,
  supervise,
  suspend,
  Throttler,
  tap,
  test,
  throttledLoop,
  transfer,
  until,
  untilWaiting,
  use,
} from '../prelude.js'

interface Wait {
  /** What the fiber called `waiter` does. */
  wait: () => Op<unknown>
  resource?: object
  /** The name of the resource, if it has one. */
  name?: string
  holder?: Fiber<any>
  /** Whether the resource is made by the call itself. */
  hasOwn?: boolean
}
type Row = [kind: string, what: string, prepare: () => Wait | Routine<Wait>]

/** What is told of one wait when it begins. */
interface Seen {
  fiber: Fiber<any>
  op: BaseOp<unknown>
  view: FiberView | undefined
}

const never = new Promise<never>(() => {})
const none = (wait: () => Op<unknown>) => (): Wait => ({ wait })

function viewOf(fiber: Fiber<any>): FiberView | undefined {
  const views = fiberTree()
  for (const view of views) {
    if (view.id === fiber.id) return view
    views.push(...view.children)
  }
  return undefined
}

/** Runs a body in a fiber called `waiter`; gives its first wait of this kind, or the last wait. */
function* seen(kind: string, { wait }: Wait): Routine<Seen> {
  const all: Seen[] = []
  const untap = tap(
    (_, fiber, op) => {
      if (fiber.name === 'waiter') all.push({ fiber, op: op as BaseOp<unknown>, view: viewOf(fiber) })
    },
    { events: ['block'] },
  )
  const isFound = ({ op }: Seen) => op.kind === kind
  const waiter = spin({ name: 'waiter', link: false }, wait)
  yield* eventually(() => all.some(isFound) || waiter.state === 'dead')
  untap()
  return all.find(isFound) ?? (all.at(-1) as Seen)
}

function* holding(lock: () => Op<unknown>): Routine<Fiber<unknown>> {
  const holder = spin('holder', lock)
  yield* untilWaiting(holder)
  return holder
}

const rows: Row[] = [
  ['sleep', 'sleep(ms)', none(() => sleep(60_000))],
  ['sleep', 'sleep()', none(() => sleep())],
  ['sleep', 'every()', none(() => every(60_000, () => {}))],
  ['suspend', 'suspend()', none(() => suspend())],
  [
    'suspend',
    'transfer()',
    function* () {
      const other = yield* holding(() => suspend())
      return { wait: () => transfer(other) }
    },
  ],
  ['receive', 'receive()', none(() => receive())],
  ['receive', 'receive(match)', none(() => receive((message) => message === 1))],
  ['children', 'the end of a scope', none(() => scope(() => void spin(() => sleep())))],
  ['promise', 'until(promise)', none(() => until(never))],
  ['promise', 'until(function)', none(() => until(() => never))],
  ['action', 'action()', none(() => action(() => {}))],
  ['signal', 'awaitSignal()', none(() => awaitSignal('USR2'))],
  ['members', 'all()', none(() => all([sleep()]))],
  ['members', 'allSettled()', none(() => allSettled([sleep()]))],
  ['members', 'race()', none(() => race([sleep()]))],
  ['members', 'any()', none(() => any([sleep()]))],
  ['members', 'forEach()', none(() => forEach([1], () => sleep()))],
  ['supervise', 'supervise()', none(() => supervise([{ body: () => sleep() }]))],
  ['connect', 'connect()', none(() => connect({ host: '127.0.0.1', port: 1 }))],
  ['listen', 'listen()', none(() => opened(listen({ host: '127.0.0.1' })))],
  ['lookup', 'lookup()', none(() => lookup('localhost'))],
  ['bind', 'udp()', none(() => opened(udp({ connect: { host: '127.0.0.1', port: 9 } })))],
  ['file', 'openFile()', none(() => openFile('/'))],
  ['file', 'readFile()', none(() => readFile(fileWith('text')))],
  ['compression', 'gzip()', none(() => gzip('text'))],
  ['process', 'spawnProcess() of what cannot be started', none(() => spawnProcess('/no/such/program'))],
  ['op', 'an op of its own that says no more', none(() => new Mute())],

  ['await', 'yield* fiber', () => awaiting((fiber) => fiber)],
  ['await', 'fiber.await()', () => awaiting((fiber) => fiber.await())],
  ['await', 'fiber.join()', () => awaiting((fiber) => fiber.join())],
  ['await', 'fiber.stop()', () => awaiting((fiber) => fiber.stop(), true)],
  ['await', 'Fiber.await() of one', () => awaiting((fiber) => Fiber.await(fiber))],
  ['await', 'Fiber.select() of one', () => awaiting((fiber) => Fiber.select(fiber))],
  ['await', 'Fiber.await() of two', none(() => Fiber.await(...two()))],
  ['await', 'Fiber.select() of two', none(() => Fiber.select(...two()))],
  ['call', 'call()', () => awaiting((fiber) => call(fiber, 'question'))],
  [
    'mailbox',
    'mailbox.push()',
    () => {
      const holder = spin(() => sleep())
      const { mailbox } = holder
      mailbox.cap(1)
      holder.send('first')
      return { wait: () => mailbox.push('second'), resource: mailbox, holder }
    },
  ],

  ['queue', 'queue.shift()', () => queueing((queue) => queue.shift())],
  ['queue', 'each(queue)', () => queueing((queue) => each(queue, () => {}))],
  ['queue', 'queue.push()', () => queueing((queue) => queue.push(2), 1)],
  ['lock', 'mutex.lock()', () => locking((mutex) => mutex.lock())],
  ['lock', 'mutex.synchronize()', () => locking((mutex) => mutex.synchronize(() => {}))],
  [
    'permit',
    'semaphore.acquire()',
    function* () {
      const resource = new Semaphore(1, { name: 'seats' })
      yield* holding(() => resource.acquire(() => sleep()))
      return { wait: () => resource.acquire(), resource, name: 'seats' }
    },
  ],
  [
    'condition',
    'condition.wait()',
    () => {
      const resource = new Condition()
      return { wait: () => resource.wait(), resource }
    },
  ],
  [
    'event',
    'event.await()',
    () => {
      const resource = new Event()
      return { wait: () => resource.await(), resource }
    },
  ],
  ['pool', 'pool.acquire()', () => pooling((pool) => pool.acquire(() => {}))],
  ['pool', 'pool.close()', () => pooling((pool) => pool.close())],
  [
    'promise',
    'pool.acquire(), while a promise creates the resource',
    none(() => new ResourcePool({ limit: 1, create: () => never }).acquire(() => {})),
  ],
  ['throttler', 'throttler.process()', () => throttling((throttler) => throttler.process(() => {}))],
  ['throttler', 'throttledLoop()', () => throttling((throttler) => throttledLoop(throttler, () => {}))],

  [
    'emitter',
    'once()',
    () => {
      const resource = Object.assign(new EventEmitter(), { name: 42 })
      return { wait: () => once(resource, 'ready'), resource }
    },
  ],
  [
    'emitter',
    'once() of an event target',
    () => {
      const resource = new EventTarget()
      return { wait: () => once(resource, 'ready'), resource }
    },
  ],
  [
    'emitter',
    'on().next()',
    () => {
      const resource = new EventEmitter()
      const events = on(resource, 'line')
      return { wait: () => events.next(), resource }
    },
  ],
  [
    'item',
    'iterate().next()',
    () => {
      const resource = iterate(endless())
      return { wait: () => resource.next(), resource }
    },
  ],
  ['item', 'each()', () => ({ wait: () => each(endless(), () => {}), hasOwn: true })],

  [
    'accept',
    'server.accept()',
    function* () {
      const server = yield* listening()
      return { wait: () => server.accept(), resource: server, name: server.name }
    },
  ],
  ['read', 'stream.read()', () => streaming((stream) => stream.read())],
  ['read', 'stream.gets()', () => streaming((stream) => stream.gets())],
  ['read', 'each(stream)', () => streaming((stream) => each(stream, () => {}))],
  ['gone', 'stream.gone()', () => streaming((stream) => stream.gone())],
  ['write', 'stream.write()', () => streaming((stream) => stream.write(Buffer.alloc(10_000_000)))],
  ['write', 'stream.end()', () => streaming((stream) => stream.end(Buffer.alloc(10_000_000)))],
  [
    'read',
    'socket.read()',
    function* () {
      const server = yield* listening()
      const resource = yield* connected(server)
      return { wait: () => resource.read(), resource, name: resource.name }
    },
  ],
  [
    'connect',
    'connect() to a server that listens',
    function* () {
      const server = yield* listening()
      return { wait: () => opened(connect(placeOf(server))) }
    },
  ],
  [
    'close',
    'stream.close()',
    function* () {
      const [resource, other] = pair()
      yield* use(other, () => void other.destroy())
      const wait = function* () {
        spin({ name: 'writer', link: false }, () => resource.write(Buffer.alloc(10_000_000)))
        yield* snooze()
        yield* resource.close()
      }
      return { wait, resource, name: resource.name }
    },
  ],
  ['read', 'udp.recv()', () => datagrams((socket) => socket.recv())],
  ['write', 'udp.send()', () => datagrams((socket) => socket.send('text', socket.port, '127.0.0.1'))],
  ['close', 'udp.close()', () => datagrams(sendThenClose)],
  [
    'process',
    'process.wait()',
    function* () {
      const resource = yield* spawnProcess(...polite)
      return { wait: () => resource.wait(), resource, name: resource.name }
    },
  ],

  ['executor', 'proco.submit()', () => executing((proco) => proco.submit(1))],
  ['executor', 'proco.submitAsync()', () => executing(fill)],
  ['executor', 'proco.exit()', () => executing((proco) => proco.exit(), [1])],
  [
    'executor',
    'future.get()',
    function* () {
      const proco = Proco.new<number>().start(() => sleep())
      yield* use(proco, () => proco.kill())
      const resource = yield* proco.submitAsync(1)
      return { wait: () => resource.get(), resource }
    },
  ],
]

class Mute extends BaseOp<void> {
  enter(): void {}
  abort(): void {}
  describe(): string {
    return 'nothing at all'
  }
}

/** An async iterable with a few items, and then one that never comes. */
function endless(items = 0): AsyncIterable<number> {
  let n = 0
  const next = () => (n++ < items ? Promise.resolve({ done: false, value: n }) : never)
  return { [Symbol.asyncIterator]: () => ({ next }) }
}

/** So many items that a fiber that takes them is sent to the end of the run queue. */
const many = () => Array.from({ length: 5000 }, (_, n) => n)

const two = () => [spin(() => sleep()), spin(() => sleep())] as const

/** A wait that another fiber has to end; `isSlow`: one that is being stopped, and does not end at once. */
function* awaiting(wait: (fiber: Fiber<any, any>) => Op<unknown>, isSlow = false): Routine<Wait> {
  const slowly = function* () {
    try {
      yield* sleep()
    } finally {
      yield* sleep()
    }
  }
  const holder = yield* holding(isSlow ? slowly : () => sleep())
  return { wait: () => wait(holder), holder }
}

function queueing(wait: (queue: Queue<number>) => Op<unknown>, ...items: number[]): Wait {
  const resource = new Queue<number>({ capacity: 1, name: 'jobs' })
  for (const item of items) resource.tryPush(item)
  return { wait: () => wait(resource), resource, name: 'jobs' }
}

function* locking(wait: (mutex: Mutex) => Op<unknown>): Routine<Wait> {
  const resource = new Mutex({ name: 'ledger' })
  const holder = yield* holding(() => resource.synchronize(() => sleep()))
  return { wait: () => wait(resource), resource, name: 'ledger', holder }
}

function* pooling(wait: (pool: ResourcePool<string>) => Op<unknown>): Routine<Wait> {
  const resource = new ResourcePool({ limit: 1, create: () => 'a connection', name: 'db' })
  yield* holding(() => resource.acquire(() => sleep()))
  return { wait: () => wait(resource), resource, name: 'db' }
}

function* throttling(wait: (throttler: Throttler) => Op<unknown>): Routine<Wait> {
  const resource = new Throttler({ interval: 60_000 })
  yield* resource.process(() => {})
  return { wait: () => wait(resource), resource }
}

function* streaming(wait: (stream: ReturnType<typeof pair>[0]) => Op<unknown>): Routine<Wait> {
  const [resource, other] = pair()
  yield* use(other, () => void other.destroy())
  return { wait: () => wait(resource), resource, name: resource.name }
}

function* datagrams(wait: (socket: any) => Op<unknown>): Routine<Wait> {
  const resource = yield* opened(udp({ host: '127.0.0.1' }))
  return { wait: () => wait(resource), resource, name: resource.name }
}

function* sendThenClose(socket: any): Routine<void> {
  for (let i = 0; i < 100; i++) spin('sender', () => socket.send('text', socket.port, '127.0.0.1')) // one would be over soon
  yield* snooze()
  yield* socket.close()
}

function* fill(proco: Executor<number, unknown>): Routine<void> {
  for (;;) yield* proco.submitAsync(1)
}

/** An executor whose handlers never end. */
function* executing(
  wait: (proco: Executor<number, unknown>) => Op<unknown>,
  items: number[] = [],
): Routine<Wait> {
  const resource = Proco.queueSize(1)
    .new<number>()
    .start(() => sleep())
  yield* use(resource, () => resource.kill())
  for (const item of items) resource.trySubmit(item)
  return { wait: () => wait(resource), resource }
}

describe('what is told of a wait', () => {
  for (const [kind, what, prepare] of rows) {
    test(`${what}: ${kind}`, () =>
      real(function* () {
        const prepared = prepare()
        const row = 'wait' in prepared ? prepared : yield* prepared
        const { view, op, fiber } = yield* seen(kind, row)
        assert.equal(view?.kind, kind)
        if (row.hasOwn) assert.notEqual(op.resource, null)
        else assert.ok(op.resource === (row.resource ?? null))
        assert.deepEqual([view?.resource, view?.holder], [row.name, row.holder?.id])
        assert.equal(view?.waitsFor, op.describe())
        fiber.kill()
        for (const child of Fiber.current.children) child.kill()
      }))
  }
})

/** The kinds in the table of the reference. */
const documented = [...readFileSync('src/view/tree.ts', 'utf8').matchAll(/^ \* \| `(\w+)` \|/gm)].map(
  ([, kind]) => kind as string,
)

describe('what a tap is told of waits that the tree shows only now and then', () => {
  const waits: [kind: string, waitsFor: RegExp, body: () => Op<unknown>][] = [
    ['snooze', /^snooze\(\)$/, () => snooze()],
    ['snooze', /^the next round$/, () => loop(() => every(1, () => sleep(2)))],
    ['item', /^the next item$/, () => forEach(many(), () => {})],
    ['item', /^the next item$/, () => each(many(), () => {})],
    [
      'item',
      /^its turn to take an item$/,
      () => loop(() => forEach(endless(1), () => sleep(1), { concurrency: 2 })),
    ],
    ['executor', /^items /, () => adding((proco) => proco.submit(1))],
    ['executor', /^work$/, () => adding((proco) => proco.submit(1))],
    ['executor', /^the next batch$/, () => adding((proco) => forEach(many(), (n) => proco.submitAsync(n)))],
  ]
  for (const [kind, waitsFor, body] of waits) {
    test(`${waitsFor.source}: ${kind}`, function* () {
      const kinds = new Set<string>()
      const listener = (_: string, __: Fiber, op: unknown) => {
        if (waitsFor.test((op as BaseOp<unknown>).describe())) kinds.add((op as BaseOp<unknown>).kind)
      }
      const untap = tap(listener, { events: ['block'] })
      yield* spin(body)
      untap()
      assert.deepEqual([...kinds], [kind])
    })
  }
})

/** Runs for a while what never ends. */
const loop = (body: () => Op<unknown>) => moveOnAfter(10, body)

function* adding(work: (proco: Executor<number, number>) => Op<unknown>): Routine<void> {
  const proco = Proco.queueSize(5000)
    .new<number>()
    .start((n) => n + 1)
  yield* work(proco)
  yield* sleep(1)
  yield* proco.exit()
}

describe('the table of kinds in the reference', () => {
  test('has every kind that a wait of the library can have, and no other', () => {
    const inSource = readSources('src')
      .filter(({ path }) => path !== 'core/op.ts')
      .flatMap(({ text }) => [...text.matchAll(/override get kind\(\): string \{\n\s+return '(\w+)'/g)])
      .map(([, kind]) => kind as string)
    assert.deepEqual([...documented].sort(), [...new Set([...inSource, 'op'])].sort())
  })

  test('has the kinds that were seen above', () => {
    assert.deepEqual([...new Set([...rows.map(([kind]) => kind), 'snooze'])].sort(), [...documented].sort())
  })
})

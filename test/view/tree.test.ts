// The live tree of fibers, as data and as text.

import { setDebug } from '#core/debug'
import {
  assert,
  call,
  describe,
  eventually,
  Fiber,
  fiberTree,
  Mutex,
  meter,
  printTree,
  type Routine,
  receive,
  run,
  Semaphore,
  sleep,
  snooze,
  spin,
  test,
  turn,
  untilWaiting,
  waits,
} from '../prelude.js'

const isBusy = ({ state, children }: any): boolean => state === 'runnable' || children.some(isBusy)

/** Lets a body start fibers in `app`, and gives what `look` gives when all of them wait. */
async function appOf<T>(body: () => unknown, look: () => T): Promise<T> {
  return await run(
    function* () {
      body()
      yield* eventually(() => !fiberTree().some(isBusy))
      const seen = look()
      for (const child of Fiber.current.children) child.kill()
      return seen
    },
    { name: 'app' },
  )
}

function lines(): string[] {
  let text = ''
  printTree((printed) => (text = printed))
  return text.split('\n')
}

/** A server with a connection, a fiber that is over but for a child, and one that is being stopped. */
function app(): void {
  spin('server', function* () {
    spin('connection', () => receive())
    yield* sleep(60_000)
  })
  spin('over', function* () {
    spin('last', () => waits(() => sleep()))
    yield* snooze()
  })
  spin('stopping\nslowly', function* () {
    Fiber.current.stop()
    yield* waits(() => sleep(60_000))
  })
}

describe('the live tree', () => {
  test('is given as data, and is empty when nothing runs', async () => {
    const view = ({ name, state, phase, waitsFor, children }: any): unknown[] => [
      `${name}: ${state}, ${phase}, ${waitsFor}`,
      ...children.map(view),
    ]
    assert.deepEqual(await appOf(app, () => fiberTree().map(view)), [
      [
        'app: running, live, undefined',
        ['server: waiting, live, sleep(60000)', ['connection: waiting, live, receive()']],
        ['over: waiting, closing, undefined', ['last: waiting, unwinding, sleep()']],
        ['stopping\nslowly: waiting, unwinding, sleep(60000)'],
      ],
    ])
    assert.deepEqual(fiberTree(), [])
  })

  test('is printed with what each fiber does or waits for, and how far its end has come', async () => {
    assert.deepEqual(await appOf(app, lines), [
      'app  running',
      '├─ server  waiting for sleep(60000)',
      '│  └─ connection  waiting for receive()',
      '├─ over  over, waiting for its children',
      '│  └─ last  waiting for sleep() [unwinding]',
      '└─ "stopping\\nslowly"  waiting for sleep(60000) [unwinding]',
    ])
  })

  test('is cut where a family is long or the tree is deep', async () => {
    const family = () => Array.from({ length: 53 }, (_, i) => spin(`child ${i}`, () => sleep()))
    const long = await appOf(family, lines)
    assert.deepEqual(long.slice(50), ['├─ child 49  waiting for sleep()', '└─ ... and 3 more'])
    function* nest(depth: number): Routine<void> {
      if (depth > 0) spin(nest, depth - 1)
      yield* sleep()
    }
    const deep = await appOf(() => spin(nest, 110), lines)
    assert.match(deep.at(-1) ?? '', /^\s+└─ \.\.\. and deeper$/)
    assert.equal(deep.length, 103)
  })
})

test('in debug mode it also says where the op was made that a fiber waits for', async () => {
  let text = ''
  await run(function* () {
    const child = spin('child', function* () {
      setDebug(true)
      const op = receive()
      setDebug(false)
      yield* op
    })
    yield* untilWaiting(child)
    text = lines().join('\n')
  })
  assert.match(text, /^run {2}running\n└─ child {2}waiting for receive\(\) {2}at .*tree\.test/)
})

describe('the view of a fiber', () => {
  /** The views of all fibers, by name. */
  const views = (): Record<string, any> => {
    const byName: Record<string, any> = {}
    const add = (view: any): void => {
      byName[view.name] = view
      view.children.forEach(add)
    }
    fiberTree().forEach(add)
    return byName
  }

  test('has the id of its parent, its incarnation and the size of its mailbox', async () => {
    const body = () => {
      const phoenix = spin('phoenix', function* () {
        spin('child', () => sleep())
        yield* sleep()
      })
      spin('restarter', function* () {
        yield* untilWaiting(phoenix)
        phoenix.restart()
        for (const message of ['a', 'b', 'c']) phoenix.send(message)
        yield* sleep()
      })
    }
    const { app, phoenix, child } = await appOf(body, views)
    assert.deepEqual([app.parent, phoenix.parent, child.parent], [undefined, app.id, phoenix.id])
    assert.deepEqual([app.incarnation, phoenix.incarnation, child.incarnation], [1, 2, 1])
    assert.deepEqual([app.mailbox, phoenix.mailbox, child.mailbox], [0, 3, 0])
  })

  test('says since when it waits, on the clock of the program; not of one that runs', async () => {
    const end = meter({ turn() {}, begin() {}, end() {} })
    await run(
      function* () {
        const first = spin('first', () => receive())
        yield* untilWaiting(first)
        const { since } = views().first
        yield* turn()
        const second = spin('second', () => receive())
        yield* untilWaiting(second)
        const seen = views()
        assert.ok(Number.isFinite(since) && seen.first.since === since && seen.second.since >= since)
        assert.equal(seen.app.since, undefined)
        for (const child of Fiber.current.children) child.kill()
      },
      { name: 'app' },
    )
    end()
  })

  test('says what kind of thing it waits for, its name, and the fiber that has it', async () => {
    const ledger = new Mutex({ name: 'ledger' })
    const slots = new Semaphore(1, { name: 'slots' })
    const body = () => {
      const holder = spin('holder', () => ledger.synchronize(() => slots.acquire(() => sleep())))
      const also = (name: string, wait: () => any) =>
        spin(name, function* () {
          yield* untilWaiting(holder)
          yield* wait()
        })
      also('locker', () => ledger.lock())
      also('other locker', () => ledger.synchronize(() => {}))
      also('acquirer', () => slots.acquire())
      also('awaiter', () => holder)
      also('joiner', () => holder.join())
      also('caller', () => call(holder, 'question'))
      also('sleeper', () => sleep(60_000))
      also('reader', () => receive())
    }
    const seen = await appOf(body, views)
    const { id } = seen.holder
    const wait = ({ resource, holder }: any) => [resource, holder]
    assert.deepEqual(wait(seen.locker), ['ledger', id])
    assert.deepEqual(wait(seen['other locker']), ['ledger', id])
    assert.deepEqual(wait(seen.acquirer), ['slots', undefined])
    for (const name of ['awaiter', 'joiner', 'caller'])
      assert.deepEqual(wait(seen[name]), [undefined, id], name)
    for (const name of ['sleeper', 'reader']) assert.deepEqual(wait(seen[name]), [undefined, undefined], name)
    const kinds = ['locker', 'acquirer', 'awaiter', 'caller', 'sleeper', 'reader'].map(
      (name) => seen[name].kind,
    )
    assert.ok(
      kinds.every((kind) => typeof kind === 'string' && kind !== '') && new Set(kinds).size === 6,
      String(kinds),
    )
    const same = [seen['other locker'].kind, seen.joiner.kind, seen.app.kind]
    assert.deepEqual(same, [seen.locker.kind, seen.awaiter.kind, undefined])
  })
})

// The live tree of fibers, as data and as text.

import { setDebug } from '#core/debug'
import {
  assert,
  describe,
  eventually,
  Fiber,
  fiberTree,
  printTree,
  type Routine,
  receive,
  run,
  sleep,
  snooze,
  spin,
  test,
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

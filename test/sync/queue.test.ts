// The queue: order, capacity, closing, putting back, iterating.

import {
  assert,
  describe,
  END,
  Fiber,
  Queue,
  QueueClosed,
  type Routine,
  run,
  type Source,
  sleep,
  spin,
  started,
  test,
  thrownBy,
  until,
} from '../prelude.js'
import { type ALine, aLine } from '../shared/line.js'

aLine('fibers that wait for an item', function* (): Routine<ALine> {
  const queue = new Queue<string>()
  return {
    wait: () => queue.shift(),
    give(then) {
      queue.tryPush('item')
      then?.()
    },
    tryTake: () => queue.tryShift(),
    waiting: () => queue.waiting,
    isIdle: true,
  }
})

aLine('fibers that wait for room', function* (): Routine<ALine> {
  const queue = filled(['full'], 1)
  return {
    wait: () => queue.push('more'),
    give(then) {
      queue.tryShift()
      then?.()
    },
    tryTake: () => queue.tryPush('in between'),
    waiting: () => queue.stats().pushing,
  }
})

function filled<T>(items: T[], capacity = Infinity): Queue<T> {
  const queue = new Queue<T>({ capacity })
  for (const item of items.toReversed()) queue.unshift(item)
  return queue
}

/** Spins fibers that push these, one after the other, and waits until all have tried. */
function* pushing(queue: Queue<string>, items: string, log: string[] = []): Routine<Fiber<void>[]> {
  const fibers: Fiber<void>[] = []
  for (const item of items) {
    const push = function* () {
      yield* queue.push(item)
      log.push(item)
    }
    fibers.push(yield* started(push))
  }
  return fibers
}

describe('a queue', () => {
  for (const capacity of [1, 2, Infinity]) {
    test(`of capacity ${capacity} gives any items in the order in which they came`, function* () {
      const queue = new Queue<unknown>({ capacity })
      const items = [undefined, null, 0, '', new Error('an item'), () => 1, Promise.resolve(2), sleep(1), END]
      spin(function* () {
        for (const item of items) yield* queue.push(item)
      })
      for (const item of items) assert.equal(yield* queue.shift(), item)
    })
  }

  const frees: [string, (queue: Queue<string>) => unknown, number][] = [
    ['shift()', (queue) => queue.shift(), 1],
    ['tryShift()', (queue) => queue.tryShift(), 1],
    ['delete()', (queue) => queue.delete('b'), 1],
    ['clear()', (queue) => queue.clear(), 2],
    ['shiftAll()', (queue) => queue.shiftAll(), 2],
    ['a capacity larger by 1', (queue) => Object.assign(queue, { capacity: 3 }), 1],
    ['a capacity of Infinity', (queue) => Object.assign(queue, { capacity: Infinity }), 3],
  ]
  for (const [what, free, n] of frees) {
    test(`lets as many push as ${what} makes room for, in order`, function* () {
      const queue = new Queue<string>({ capacity: 2 })
      const log: string[] = []
      yield* pushing(queue, 'abcde', log)
      assert.equal(log.length, 2)
      yield* spin(() => free(queue) as any)
      yield* sleep(1)
      assert.deepEqual(log.sort(), [...'abcde'].slice(0, 2 + n))
      assert.equal(queue.stats().pushing, 3 - n)
      assert.deepEqual(queue.shiftAll().at(-1), 'abcde'[1 + n])
    })
  }

  test('drops nothing when its capacity gets smaller, which takes effect as items go out', function* () {
    const queue = filled(['a', 'b', 'c'])
    queue.capacity = 1
    assert.deepEqual([queue.size, queue.capacity, queue.tryPush('d')], [3, 1, false])
    yield* pushing(queue, 'd')
    assert.deepEqual([queue.tryShift(), queue.tryShift(), queue.stats().pushing], ['a', 'b', 1])
    assert.deepEqual([queue.tryShift(), queue.tryShift(), queue.tryShift()], ['c', 'd', undefined])
  })

  test('takes an item back at its head, full or closed or not, and gives it to a fiber that waits', function* () {
    const queue = new Queue<string>({ capacity: 1 })
    const waiter = yield* started(() => queue.shift())
    queue.unshift('item')
    assert.equal(queue.size, 0)
    assert.equal(yield* waiter, 'item')
    queue.tryPush('second')
    queue.unshift('first')
    yield* pushing(queue, 'c')
    assert.deepEqual([queue.tryShift(), queue.stats().pushing], ['first', 1]) // still full
    queue.close()
    queue.unshift('zeroth')
    assert.deepEqual(queue.shiftAll(), ['zeroth', 'second'])
  })

  test('delete takes out the first that is the same, and tells whether there was one', () => {
    const queue = filled<unknown>(['b', 'a', 'b', Number.NaN])
    assert.deepEqual([queue.delete('b'), queue.delete('z'), queue.delete(Number.NaN)], [true, false, true])
    assert.deepEqual(queue.shiftAll(), ['a', 'b'])
    assert.deepEqual([queue.size, queue.shiftAll(), queue.tryShift()], [0, [], undefined])
  })

  test('counts what went in and out, and the tree shows the fibers that wait for it', function* () {
    const queue = new Queue<string>({ capacity: 2, name: 'jobs' })
    assert.equal(queue.tryShift(), undefined)
    const shifter = yield* started(() => queue.shift())
    assert.deepEqual([shifter.waitsFor, queue.stats().shifting], ['jobs.shift()', 1])
    const [, , , pusher] = yield* pushing(queue, 'abcde')
    assert.equal(pusher?.waitsFor, 'jobs.push()')
    const stats = { size: 2, capacity: 2, shifting: 0, pushing: 2, pushed: 3, shifted: 1, closed: false }
    assert.deepEqual(queue.stats(), stats)
    queue.tryShift()
    queue.shiftAll()
    queue.unshift('f')
    queue.close()
    assert.deepEqual(queue.stats(), { ...stats, pushing: 0, pushed: 6, shifted: 4, closed: true })
  })
})

describe('a queue that is closed', () => {
  test('refuses every fiber that waits to push or to shift, each with an error of its own', function* () {
    const [empty, full] = [new Queue<string>({ name: 'jobs' }), filled(['a'], 1)]
    const shifters = [1, 2].map(() => spin(() => thrownBy(empty.shift())))
    const pushers = [1, 2].map(() => spin(() => thrownBy(full.push('b'))))
    yield* sleep(1)
    empty.close()
    full.close()
    const errors = [...(yield* Fiber.await(...shifters)), ...(yield* Fiber.await(...pushers))]
    assert.equal(new Set(errors).size, 4)
    const [shift, push] = ['cannot shift from jobs: it was closed', 'cannot push to queue: it was closed']
    assert.deepEqual(
      errors.map(({ message }) => message),
      [shift, shift, push, push],
    )
    assert.deepEqual(full.shiftAll(), ['a'])
  })

  test('gives what is in it, then throws; takes nothing more', function* () {
    const queue = filled(['a', 'b'])
    queue.close()
    assert.equal(yield* queue.shift(), 'a')
    assert.equal(queue.tryShift(), 'b')
    assert.ok((yield* thrownBy(queue.shift())) instanceof QueueClosed)
    assert.equal(queue.tryShift(), undefined)
    assert.ok((yield* thrownBy(queue.push('c'))) instanceof QueueClosed)
    assert.throws(() => queue.tryPush('c'), new QueueClosed('cannot push to queue: it was closed'))
  })

  test('cannot be closed again, but disposed of', () => {
    const queue = new Queue()
    queue[Symbol.dispose]()
    assert.equal(queue.closed, true)
    queue[Symbol.dispose]()
    assert.throws(() => queue.close(), {
      code: 'QUEUE_CLOSED',
      message: 'cannot close queue again: it was closed. Use [Symbol.dispose](), or look at queue.closed.',
    })
  })
})

function* drain(items: Source<number>, log: unknown[]): Routine<void> {
  for (let item = yield* items.next(); item !== END; item = yield* items.next()) log.push(item)
  log.push('end')
}

describe('iterating over a queue', () => {
  test('fibers share the items, wait for more, and end when it is closed and empty', function* () {
    const queue = new Queue<number>()
    const logs: unknown[][] = [[], [], []]
    const fibers = logs.map((log) => spin(drain, queue.iterate(), log))
    yield* sleep(1)
    assert.equal(fibers[0]?.waitsFor, 'the next item of queue')
    for (let n = 0; n < 6; n++) yield* queue.push(n)
    queue.close()
    yield* Fiber.await(...fibers)
    for (const log of logs) assert.equal(log.at(-1), 'end')
    const items = logs.flat().filter((item) => item !== 'end')
    assert.deepEqual(items.sort(), [0, 1, 2, 3, 4, 5])
  })

  test('one that leaves early leaves the queue as it is', function* () {
    const queue = filled([1, 2])
    const items = queue.iterate()
    assert.equal(yield* items.next(), 1)
    yield* items.close()
    yield* items.close()
    assert.deepEqual([queue.closed, queue.shiftAll()], [false, [2]])
  })

  test('async code gets the items in for await, until the queue is closed or it breaks out', async () => {
    const queue = new Queue<number>({ capacity: 1 })
    const running = run(function* () {
      for (const n of [1, 2, 3, 4]) yield* queue.push(n)
      queue.close()
    })
    const log: number[] = []
    for await (const item of queue) {
      log.push(item)
      if (item === 2) break
    }
    for await (const item of queue) log.push(item)
    await running
    assert.deepEqual([log, queue.waiting], [[1, 2, 3, 4], 0])
  })

  const over = { done: true, value: undefined }

  test('async code and fibers stand in one line; what leaves it loses no item', function* () {
    const queue = new Queue<string>()
    const items = queue[Symbol.asyncIterator]()
    assert.equal(items[Symbol.asyncIterator](), items)
    const first = yield* started(() => queue.shift())
    const second = items.next()
    const third = yield* started(() => queue.shift())
    const late = [items.next(), items.next()]
    const last = yield* started(() => queue.shift())
    assert.equal(queue.waiting, 6)
    for (const item of ['a', 'b', 'c']) queue.tryPush(item)
    assert.deepEqual([yield* first, (yield* until(second)).value, yield* third], ['a', 'b', 'c'])
    assert.deepEqual(yield* until(items.return!()), over)
    for (const next of late) assert.deepEqual(yield* until(next), over)
    assert.equal(queue.waiting, 1)
    queue.tryPush('d')
    assert.equal(yield* last, 'd')
    queue.tryPush('e')
    assert.deepEqual([yield* until(items.next()), queue.size], [over, 1])
  })

  test('async code that waits when the queue is closed is told that it is over', async () => {
    const items = new Queue<string>()
    const [one, other] = [items[Symbol.asyncIterator](), items[Symbol.asyncIterator]()]
    const next = one.next()
    items.close()
    assert.deepEqual([await next, await one.next(), await other.next()], [over, over, over])
  })
})

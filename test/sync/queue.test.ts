// The queue: capacity, closing, putting back, iterating. What all queues share is in test/shared/queue.ts.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  BadArgument,
  END,
  Fiber,
  Queue,
  QueueClosed,
  type Routine,
  run,
  type Source,
  sleep,
  snooze,
  spin,
  until,
} from 'polyphony'
import { raiseEverywhere, stopEverywhere, virtual } from 'polyphony/testing'
import { everyOrder } from '../explore/orders.js'
import { thrownBy } from '../prelude.js'
import { killers } from '../shared/killers.js'
import { aQueue } from '../shared/queue.js'

aQueue('a queue without a capacity', () => new Queue<unknown>())
aQueue('a queue with a capacity of 1', () => new Queue<unknown>({ capacity: 1 }))
aQueue('a queue with a capacity of 2', () => new Queue<unknown>({ capacity: 2 }))

function filled<T>(items: T[], capacity = Infinity): Queue<T> {
  const queue = new Queue<T>({ capacity })
  for (const item of items) queue.unshift(item)
  return queue
}

/** Spins fibers that push these, one after the other, and waits until all have tried. */
function* pushing(queue: Queue<string>, items: string[], log: string[] = []): Routine<Fiber<void>[]> {
  const fibers: Fiber<void>[] = []
  for (const item of items) {
    fibers.push(
      spin({ link: false }, function* () {
        yield* queue.push(item)
        log.push(item)
      }),
    )
    yield* sleep(1)
  }
  return fibers
}

describe('the capacity of a queue', () => {
  it('Q5 push waits while it is full, and each item shifted lets one in, in order', () =>
    virtual(function* () {
      const queue = new Queue<string>({ capacity: 2 })
      const log: string[] = []
      yield* pushing(queue, ['a', 'b', 'c', 'd'], log)
      assert.deepEqual(log, ['a', 'b'])
      assert.deepEqual(queue.stats().pushing, 2)
      assert.equal(yield* queue.shift(), 'a')
      yield* sleep(1)
      assert.deepEqual(log, ['a', 'b', 'c'])
      assert.equal(queue.tryShift(), 'b')
      yield* sleep(1)
      assert.deepEqual(log, ['a', 'b', 'c', 'd'])
      assert.deepEqual(queue.shiftAll(), ['c', 'd'])
    }))

  const frees: [string, (queue: Queue<string>) => unknown, number][] = [
    ['shift', (queue) => queue.tryShift(), 1],
    ['delete', (queue) => queue.delete('b'), 1],
    ['clear', (queue) => queue.clear(), 2],
    ['shiftAll', (queue) => queue.shiftAll(), 2],
    [
      'a capacity larger by 1',
      (queue) => {
        queue.capacity = 3
      },
      1,
    ],
    [
      'a capacity of Infinity',
      (queue) => {
        queue.capacity = Infinity
      },
      3,
    ],
  ]
  for (const [what, free, n] of frees) {
    it(`Q4 Q5 ${what} lets as many in as there is room for, in order`, () =>
      virtual(function* () {
        const queue = new Queue<string>({ capacity: 2 })
        const log: string[] = []
        yield* pushing(queue, ['a', 'b', 'c', 'd', 'e'], log)
        free(queue)
        yield* sleep(1)
        assert.deepEqual(log.sort(), ['a', 'b', 'c', 'd', 'e'].slice(0, 2 + n))
        assert.equal(queue.stats().pushing, 3 - n)
        for (const fiber of Fiber.current.children) yield* fiber.stop()
      }))
  }

  it('a smaller capacity drops nothing, and takes effect as items go out', () =>
    virtual(function* () {
      const queue = new Queue<string>()
      for (const item of ['a', 'b', 'c']) yield* queue.push(item)
      queue.capacity = 1
      assert.equal(queue.size, 3)
      assert.equal(queue.tryPush('d'), false)
      const [pusher] = yield* pushing(queue, ['d'])
      assert.deepEqual([queue.tryShift(), queue.tryShift()], ['a', 'b'])
      assert.equal(queue.stats().pushing, 1)
      assert.equal(queue.tryShift(), 'c')
      yield* (pusher as Fiber).join()
      assert.equal(queue.tryShift(), 'd')
    }))

  it('S08 tryPush never waits: false when it is full', () => {
    const queue = new Queue<number>({ capacity: 1 })
    assert.equal(queue.tryPush(1), true)
    assert.equal(queue.tryPush(2), false)
    assert.deepEqual(queue.shiftAll(), [1])
  })

  it('a pusher that is stopped takes its item with it, and nobody else loses their place', () =>
    virtual(function* () {
      const queue = new Queue<string>({ capacity: 1 })
      const [, b] = yield* pushing(queue, ['a', 'b', 'c'])
      yield* (b as Fiber).stop()
      assert.equal(yield* queue.shift(), 'a')
      assert.equal(yield* queue.shift(), 'c')
      assert.equal(queue.size, 0)
    }))

  it('S34 room was made, then a stop: the item is in, and the push has ended well', () =>
    virtual(function* () {
      const queue = new Queue<string>({ capacity: 1 })
      const log: string[] = []
      const [, b] = yield* pushing(queue, ['a', 'b'], log)
      queue.tryShift()
      yield* (b as Fiber).stop()
      assert.deepEqual(log, ['a', 'b'])
      assert.equal(queue.size, 1)
    }))

  it('a capacity that is none is refused, at the making and later', () => {
    const queue = new Queue()
    for (const capacity of [0, -1, 1.5, Number.NaN, '2', null, -Infinity]) {
      assert.throws(() => new Queue({ capacity: capacity as any }), BadArgument, String(capacity))
      assert.throws(() => {
        queue.capacity = capacity as any
      }, /the capacity of a queue is a whole number from 1 up, or Infinity, got/)
    }
    assert.equal(queue.capacity, Infinity)
    assert.throws(() => new Queue({ limit: 1 } as any), /no option "limit"; there are: capacity, name/)
    assert.throws(() => new Queue(5 as any), BadArgument)
    assert.throws(() => new Queue({ name: '' }), BadArgument)
  })

  for (const [how, kill] of killers) {
    it(`Q5 no order of three who push into one slot, one who shifts and ${how} loses an item`, (t) => {
      everyOrder(t, function* () {
        const queue = new Queue<number>({ capacity: 1 })
        const pushed: number[] = []
        const shifted: number[] = []
        const pushers = [1, 2, 3].map((n) =>
          spin({ link: false }, function* () {
            yield* queue.push(n)
            pushed.push(n)
          }),
        )
        yield* snooze()
        kill(pushers)
        while (queue.size > 0) shifted.push(yield* queue.shift())
        yield* sleep(1)
        while (queue.size > 0) shifted.push(yield* queue.shift())
        for (const pusher of pushers) yield* pusher.join()
        shifted.push(...queue.shiftAll())
        assert.deepEqual(shifted.sort(), pushed.sort())
        assert.equal(queue.stats().pushing, 0)
      })
    })
  }
})

describe('putting back, taking out', () => {
  it('unshift puts an item before all others, full or not', () =>
    virtual(function* () {
      const queue = new Queue<string>({ capacity: 1 })
      yield* queue.push('second')
      queue.unshift('first')
      assert.equal(queue.size, 2)
      const [pusher] = yield* pushing(queue, ['third'])
      assert.equal(yield* queue.shift(), 'first')
      assert.equal(queue.stats().pushing, 1) // still full
      assert.equal(yield* queue.shift(), 'second')
      yield* (pusher as Fiber).join()
      assert.equal(yield* queue.shift(), 'third')
    }))

  it('unshift gives the item to who waits for one', () =>
    virtual(function* () {
      const queue = new Queue<string>()
      const waiter = spin(() => queue.shift())
      yield* sleep(1)
      queue.unshift('item')
      assert.equal(queue.size, 0)
      assert.equal(yield* waiter, 'item')
    }))

  it('what is put back into a closed queue can still be shifted', () =>
    virtual(function* () {
      const queue = filled(['item'])
      queue.close()
      const item = yield* queue.shift()
      queue.unshift(item)
      assert.equal(yield* queue.shift(), 'item')
    }))

  it('delete takes out the first that is the same, and tells whether there was one', () => {
    const queue = filled(['c', 'b', 'a', 'b'])
    assert.equal(queue.delete('b'), true)
    assert.equal(queue.delete('z'), false)
    assert.deepEqual(queue.shiftAll(), ['a', 'b', 'c'])
    assert.equal(filled([Number.NaN]).delete(Number.NaN), true)
  })

  it('clear and shiftAll leave nothing behind; tryShift of nothing is undefined', () => {
    const queue = filled([1, 2, 3])
    queue.clear()
    assert.deepEqual([queue.size, queue.shiftAll(), queue.tryShift()], [0, [], undefined])
  })

  it('a queue of 100,000 items is emptied as fast as it is filled', () => {
    const queue = new Queue<number>()
    for (let n = 0; n < 100_000; n++) queue.tryPush(n)
    for (let n = 0; n < 100_000; n++) assert.equal(queue.tryShift(), n)
    assert.equal(queue.size, 0)
  })

  it('counts in stats(), and the tree shows who waits for it', () =>
    virtual(function* () {
      const queue = new Queue<string>({ capacity: 1, name: 'jobs' })
      const waiter = spin(() => queue.shift())
      yield* sleep(1)
      assert.equal(waiter.waitsFor, 'jobs.shift()')
      assert.equal(queue.waiting, 1)
      yield* queue.push('a')
      const [, pusher] = yield* pushing(queue, ['b', 'c'])
      assert.equal((pusher as Fiber).waitsFor, 'jobs.push()')
      assert.deepEqual(queue.stats(), {
        size: 1,
        capacity: 1,
        shifting: 0,
        pushing: 1,
        pushed: 2,
        shifted: 1,
        closed: false,
      })
      yield* (pusher as Fiber).stop()
    }))
})

describe('closing a queue', () => {
  it('Q3 those who wait to shift get QueueClosed', () =>
    virtual(function* () {
      const queue = new Queue({ name: 'jobs' })
      const waiters = [1, 2].map(() => spin(() => thrownBy(queue.shift())))
      yield* sleep(1)
      queue.close()
      assert.equal(queue.closed, true)
      const errors = yield* Fiber.await(...waiters)
      for (const error of errors) {
        assert.ok(error instanceof QueueClosed)
        assert.equal(error.message, 'cannot shift from jobs: it was closed')
      }
      assert.notEqual(errors[0], errors[1])
    }))

  it('Q3 what is in it can still be shifted, then shift throws; tryShift gives undefined', () =>
    virtual(function* () {
      const queue = filled(['b', 'a'])
      queue.close()
      assert.equal(yield* queue.shift(), 'a')
      assert.equal(queue.tryShift(), 'b')
      assert.ok((yield* thrownBy(queue.shift())) instanceof QueueClosed)
      assert.equal(queue.tryShift(), undefined)
    }))

  it('Q3 nothing can be pushed any more', () =>
    virtual(function* () {
      const queue = new Queue<number>()
      queue.close()
      assert.ok((yield* thrownBy(queue.push(1))) instanceof QueueClosed)
      assert.throws(() => queue.tryPush(1), new QueueClosed('cannot push to queue: it was closed'))
      assert.equal(queue.size, 0)
    }))

  it('Q4 those who wait for room get QueueClosed, and their items do not come in', () =>
    virtual(function* () {
      const queue = new Queue<string>({ capacity: 1 })
      const [, b, c] = yield* pushing(queue, ['a', 'b', 'c'])
      queue.close()
      for (const fiber of [b, c]) {
        const outcome = yield* (fiber as Fiber).join()
        assert.ok(outcome.type === 'error' && outcome.error instanceof QueueClosed)
      }
      assert.deepEqual(queue.shiftAll(), ['a'])
    }))

  it('closing twice is refused with a sentence; dispose closes it unless it is closed', () => {
    const queue = new Queue()
    queue.close()
    assert.throws(() => queue.close(), {
      code: 'QUEUE_CLOSED',
      message: 'cannot close queue again: it was closed. Use [Symbol.dispose](), or look at queue.closed.',
    })
    queue[Symbol.dispose]()
    const other = new Queue()
    other[Symbol.dispose]()
    assert.equal(other.closed, true)
  })

  for (const [how, kill] of killers) {
    it(`Q3 Q4 no order of a pusher, two shifters, a close and ${how} leaves anybody behind`, (t) => {
      everyOrder(t, function* () {
        const queue = new Queue<number>({ capacity: 1 })
        const pushed: number[] = []
        const shifted: number[] = []
        const shifter = () =>
          spin({ link: false }, function* () {
            const items = queue.iterate()
            for (let item = yield* items.next(); item !== END; item = yield* items.next()) shifted.push(item)
          })
        const pusher = spin({ link: false }, function* () {
          for (const n of [1, 2]) {
            yield* queue.push(n)
            pushed.push(n)
          }
          queue.close()
        })
        const fibers = [pusher, shifter(), shifter()]
        yield* snooze()
        kill(fibers)
        yield* sleep(1)
        queue[Symbol.dispose]()
        for (const fiber of fibers) yield* fiber.join()
        shifted.push(...queue.shiftAll())
        assert.deepEqual(shifted.sort(), pushed.sort())
        assert.deepEqual([queue.waiting, queue.stats().pushing], [0, 0])
      })
    })
  }
})

describe('iterating over a queue', () => {
  function* drain(items: Source<number>, log: unknown[]): Routine<void> {
    for (let item = yield* items.next(); item !== END; item = yield* items.next()) log.push(item)
    log.push('end')
  }

  it('iterate gives the items, waits for more, and END once it is closed and empty', () =>
    virtual(function* () {
      const queue = new Queue<number>()
      const log: unknown[] = []
      const consumer = spin(drain, queue.iterate(), log)
      for (const n of [1, 2]) {
        yield* queue.push(n)
        yield* sleep(1)
      }
      assert.deepEqual(log, [1, 2])
      assert.equal(consumer.waitsFor, 'the next item of queue')
      queue.tryPush(3)
      queue.close()
      yield* consumer
      assert.deepEqual(log, [1, 2, 3, 'end'])
    }))

  it('several share a queue: each item goes to one of them, and all of them end', () =>
    virtual(function* () {
      const queue = new Queue<number>()
      const logs: unknown[][] = [[], [], []]
      for (const log of logs) spin(drain, queue.iterate(), log)
      yield* sleep(1)
      for (let n = 0; n < 6; n++) yield* queue.push(n)
      queue.close()
      yield* Fiber.current.joinChildren()
      for (const log of logs) assert.equal(log.at(-1), 'end')
      const items = logs.flat().filter((item) => item !== 'end')
      assert.deepEqual(items.sort(), [0, 1, 2, 3, 4, 5])
    }))

  it('one who leaves early leaves the queue as it is', () =>
    virtual(function* () {
      const queue = filled([2, 1])
      const items = queue.iterate()
      assert.equal(yield* items.next(), 1)
      yield* items.close()
      yield* items.close()
      assert.equal(queue.closed, false)
      assert.equal(yield* queue.shift(), 2)
    }))

  it('stopped or raised in everywhere, an iteration loses nothing', () => {
    let queue = new Queue<number>()
    let log: unknown[] = []
    const everyone = function* () {
      queue = new Queue<number>()
      log = []
      const consumer = spin({ link: false }, drain, queue.iterate(), log)
      for (const n of [1, 2, 3]) {
        queue.tryPush(n)
        yield* sleep(1)
      }
      queue.close()
      yield* consumer.join()
    }
    const check = () => {
      const seen = log.filter((item) => item !== 'end').length
      assert.equal(seen + queue.size, queue.stats().pushed)
      assert.equal(queue.waiting, 0)
    }
    stopEverywhere(everyone, { check })
    raiseEverywhere(everyone, { check })
  })

  it('for await in async code gets what fibers push, and ends when it is closed', async () => {
    const queue = new Queue<number>({ capacity: 1 })
    const running = run(function* () {
      for (const n of [1, 2, 3]) yield* queue.push(n)
      queue.close()
    })
    const log: number[] = []
    for await (const item of queue) log.push(item)
    await running
    assert.deepEqual(log, [1, 2, 3])
  })

  it('S52 async code and fibers stand in one line', () =>
    virtual(function* () {
      const queue = new Queue<string>()
      const fiber = () => spin(() => queue.shift())
      const items = queue[Symbol.asyncIterator]()
      const first = fiber()
      yield* sleep(1)
      const second = items.next()
      const third = fiber()
      yield* sleep(1)
      assert.equal(queue.waiting, 3)
      for (const item of ['a', 'b', 'c']) yield* queue.push(item)
      assert.deepEqual([yield* first, (yield* until(second)).value, yield* third], ['a', 'b', 'c'])
    }))

  it('async code that leaves gives up its places, and no item is lost', () =>
    virtual(function* () {
      const queue = new Queue<string>()
      const items = queue[Symbol.asyncIterator]()
      const pending = [items.next(), items.next()]
      const fiber = spin(() => queue.shift())
      yield* sleep(1)
      assert.equal(queue.waiting, 3)
      assert.deepEqual(yield* until(items.return!()), { done: true, value: undefined })
      for (const next of pending) assert.deepEqual(yield* until(next), { done: true, value: undefined })
      assert.equal(queue.waiting, 1)
      yield* queue.push('item')
      assert.equal(yield* fiber, 'item')
      assert.deepEqual(yield* until(items.next()), { done: true, value: undefined })
    }))

  it('async code that breaks out of for await leaves the rest to others', async () => {
    const queue = filled([3, 2, 1])
    for await (const item of queue) {
      assert.equal(item, 1)
      break
    }
    assert.deepEqual(queue.shiftAll(), [2, 3])
    assert.equal(queue.waiting, 0)
  })

  it('async code that waits when the queue is closed is told that it is over', async () => {
    const queue = new Queue<string>()
    const items = queue[Symbol.asyncIterator]()
    assert.equal(items[Symbol.asyncIterator](), items)
    const next = items.next()
    queue.close()
    assert.deepEqual(await next, { done: true, value: undefined })
    assert.deepEqual(await items.next(), { done: true, value: undefined })
  })
})

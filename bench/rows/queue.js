// What does it cost to hand an item from one fiber to another through a queue?
import { Queue, run, spin } from '../../dist/index.js'
import { PlainQueue } from '../plain.js'

/** Without a limit, whoever fills the queue waits after so many for a word from the other side, through a second queue:
 * else the one who is quicker would be ahead by thousands. With a limit, the queue sees to that. */
const BURST = 16

function* consumer(queue, n) {
  for (let i = 0; i < n; i++) yield* queue.shift()
}
function* burstConsumer(queue, back, n) {
  for (let i = 0; i < n; i += BURST) {
    for (let j = 0; j < BURST; j++) yield* queue.shift()
    yield* back.push(i)
  }
}
function* inBursts(n) {
  const queue = new Queue()
  const back = new Queue()
  const taking = spin(burstConsumer, queue, back, n)
  for (let i = 0; i < n; i += BURST) {
    for (let j = 0; j < BURST; j++) yield* queue.push(j)
    yield* back.shift()
  }
  yield* taking
}
function* upToCapacity(n) {
  const queue = new Queue({ capacity: BURST })
  const taking = spin(consumer, queue, n)
  for (let i = 0; i < n; i++) yield* queue.push(i)
  yield* taking
}

async function asyncConsumer(queue, n) {
  for (let i = 0; i < n; i++) await queue.shift()
}
/** async: nothing to wait for when there is no limit, so a push is not awaited. */
async function asyncBurstConsumer(queue, back, n) {
  for (let i = 0; i < n; i += BURST) {
    for (let j = 0; j < BURST; j++) await queue.shift()
    back.push(i)
  }
}
async function asyncInBursts(n) {
  const queue = new PlainQueue()
  const back = new PlainQueue()
  const taking = asyncBurstConsumer(queue, back, n)
  for (let i = 0; i < n; i += BURST) {
    for (let j = 0; j < BURST; j++) queue.push(j)
    await back.shift()
  }
  await taking
}
async function asyncUpToCapacity(n) {
  const queue = new PlainQueue(BURST)
  const taking = asyncConsumer(queue, n)
  for (let i = 0; i < n; i++) await queue.push(i)
  await taking
}

export const rows = [
  {
    name: 'queue, no limit, in bursts of 16',
    multiple: BURST,
    ours: (n) => run(() => inBursts(n)),
    async: asyncInBursts,

    // effect: Queue.offer and Queue.take, which are the same with a limit and without.
    effect: ({ Effect, Fiber, Queue }) => {
      const consumer = Effect.fnUntraced(function* (queue, back, n) {
        for (let i = 0; i < n; i += BURST) {
          for (let j = 0; j < BURST; j++) yield* Queue.take(queue)
          yield* Queue.offer(back, i)
        }
      })
      const producer = Effect.fnUntraced(function* (n) {
        const queue = yield* Queue.unbounded()
        const back = yield* Queue.unbounded()
        const taking = yield* Effect.forkChild(consumer(queue, back, n))
        for (let i = 0; i < n; i += BURST) {
          for (let j = 0; j < BURST; j++) yield* Queue.offer(queue, j)
          yield* Queue.take(back)
        }
        yield* Fiber.join(taking)
      })
      return (n) => Effect.runPromise(producer(n))
    },

    // effection: add never waits. It has no limit.
    effection: ({ run, spawn, createQueue }) => {
      function* consumer(queue, back, n) {
        for (let i = 0; i < n; i += BURST) {
          for (let j = 0; j < BURST; j++) yield* queue.next()
          back.add(i)
        }
      }
      function* producer(n) {
        const queue = createQueue()
        const back = createQueue()
        const taking = yield* spawn(() => consumer(queue, back, n))
        for (let i = 0; i < n; i += BURST) {
          for (let j = 0; j < BURST; j++) queue.add(j)
          yield* back.next()
        }
        yield* taking
      }
      return (n) => run(() => producer(n))
    },
  },
  {
    name: 'queue, capacity 16',
    ours: (n) => run(() => upToCapacity(n)),
    async: asyncUpToCapacity,
    effect: ({ Effect, Fiber, Queue }) => {
      const consumer = Effect.fnUntraced(function* (queue, n) {
        for (let i = 0; i < n; i++) yield* Queue.take(queue)
      })
      const producer = Effect.fnUntraced(function* (n) {
        const queue = yield* Queue.bounded(BURST)
        const taking = yield* Effect.forkChild(consumer(queue, n))
        for (let i = 0; i < n; i++) yield* Queue.offer(queue, i)
        yield* Fiber.join(taking)
      })
      return (n) => Effect.runPromise(producer(n))
    },
  },
]

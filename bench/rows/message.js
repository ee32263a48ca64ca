// What does a message cost? Two fibers send one there and back; the figure is for one message.
import { Fiber, receive, run, spin } from '../../dist/index.js'

/** A mailbox made of promises, the plain way. */
class Box {
  queue = []
  waiter = null

  send(message) {
    if (this.waiter === null) this.queue.push(message)
    else {
      const resolve = this.waiter
      this.waiter = null
      resolve(message)
    }
  }

  receive() {
    if (this.queue.length > 0) return Promise.resolve(this.queue.shift())
    return new Promise((resolve) => {
      this.waiter = resolve
    })
  }
}

async function asyncEcho(there, back, n) {
  for (let i = 0; i < n; i += 2) back.send(await there.receive())
}
async function asyncAsk(n) {
  const there = new Box()
  const back = new Box()
  const echo = asyncEcho(there, back, n)
  for (let i = 0; i < n; i += 2) {
    there.send(i)
    await back.receive()
  }
  await echo
}

function* echoTo(asker, n) {
  for (let i = 0; i < n; i += 2) asker.send(yield* receive())
}
function* ask(n) {
  const echo = spin(echoTo, Fiber.current, n)
  for (let i = 0; i < n; i += 2) {
    echo.send(i)
    yield* receive()
  }
}

export const rows = [
  {
    name: 'message between two fibers',
    short: true,
    aim: { async: 1, effect: 20 },
    multiple: 2,
    ours: (n) => run(() => ask(n)),
    async: asyncAsk,

    // effect: two unbounded Queues, offer and take (bounded ones, or offerUnsafe, cost the same).
    effect: ({ Effect, Fiber, Queue }) => {
      const echoing = Effect.fnUntraced(function* (there, back, n) {
        for (let i = 0; i < n; i += 2) yield* Queue.offer(back, yield* Queue.take(there))
      })
      const asking = Effect.fnUntraced(function* (n) {
        const there = yield* Queue.unbounded()
        const back = yield* Queue.unbounded()
        const echo = yield* Effect.forkChild(echoing(there, back, n))
        for (let i = 0; i < n; i += 2) {
          yield* Queue.offer(there, i)
          yield* Queue.take(back)
        }
        yield* Fiber.join(echo)
      })
      return (n) => Effect.runPromise(asking(n))
    },

    // effection: two queues, add and next; add never waits, so this is cheaper than a channel.
    effection: ({ run, spawn, createQueue }) => {
      function* echoing(there, back, n) {
        for (let i = 0; i < n; i += 2) back.add((yield* there.next()).value)
      }
      function* asking(n) {
        const there = createQueue()
        const back = createQueue()
        const echo = yield* spawn(() => echoing(there, back, n))
        for (let i = 0; i < n; i += 2) {
          there.add(i)
          yield* back.next()
        }
        yield* echo
      }
      return (n) => run(() => asking(n))
    },
  },
]

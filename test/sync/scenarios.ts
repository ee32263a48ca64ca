// Scenarios of a few fibers, which are run in every order with one that ends some of them (test/explore/sync.test.ts), and
// disturbed at each of their switchpoints (everywhere.test.ts). Whatever was handed over is received or still there.

import {
  assert,
  type Call,
  Condition,
  call,
  END,
  Event,
  endListeners,
  Fiber,
  Mutex,
  Queue,
  type Routine,
  receiveLoop,
  Semaphore,
  sleep,
  snooze,
  spin,
  suspend,
} from '../prelude.js'
import { type ALock, isBack } from '../shared/lock.js'
import { mutexLock, poolLock, semaphoreLock } from './locks.js'

export interface Stage {
  /** What must hold at the end, however early that is. */
  check(check: () => void): void
  /** Some of these may be ended at any moment. */
  kill(fibers: Fiber<any>[]): void
}
export type Scenario = (stage: Stage) => Routine<unknown>

/** A fiber whose error stays its own. */
const apart = <T>(body: () => T) => spin({ link: false }, body as () => any) as Fiber<any>

/** Three fibers that do this, one of which may be ended; until all are over. */
function* three(stage: Stage, body: () => unknown): Routine<void> {
  const fibers = [1, 2, 3].map(() => apart(body))
  stage.kill(fibers)
  for (const fiber of fibers) yield* fiber.join()
}

/** A semaphore of 1 as a user writes it, with suspend and schedule alone. */
function permitLock(): ALock {
  let free = 1
  let line: Fiber[] = []
  const release = () => {
    let next = line.shift()
    while (next !== undefined && !next.schedule()) next = line.shift() // false: it is being stopped
    if (next === undefined) free++
  }
  return {
    *hold(body): Routine<any> {
      const me = Fiber.current
      if (free > 0) free--
      else {
        line.push(me)
        try {
          yield* suspend()
        } finally {
          line = line.filter((each) => each !== me) // it has left already if the permit was handed over
        }
      }
      try {
        return yield* body()
      } finally {
        release()
      }
    },
    isFree: () => free === 1,
    waiting: () => line.length,
  }
}

export const locks: Record<string, () => ALock> = {
  'a mutex': mutexLock,
  'a semaphore': semaphoreLock,
  'a pool': poolLock,
  'a semaphore made of suspend': permitLock,
}

/** One fiber is inside at a time. */
const lockScenario = (make: () => ALock): Scenario =>
  function* (stage) {
    const lock = make()
    let inside = 0
    stage.check(() => {
      isBack(lock)
      assert.equal(inside, 0)
    })
    yield* three(stage, () =>
      lock.hold(function* () {
        assert.equal(++inside, 1, 'two are inside')
        try {
          yield* snooze()
        } finally {
          inside--
        }
      }),
    )
  }

/** Fibers that push, shift, iterate, and close; what was pushed is taken or still there. */
const queueScenario = (capacity: number, roles: ('push' | 'shift' | 'drain' | 'close')[]): Scenario =>
  function* (stage) {
    const queue = new Queue<number>({ capacity })
    let taken = 0
    stage.check(() => {
      const { size, pushed, shifting, pushing } = queue.stats()
      assert.deepEqual([taken + size, shifting, pushing], [pushed, 0, 0])
    })
    const bodies = {
      *push(): Routine<void> {
        yield* queue.push(1)
        yield* queue.push(2)
      },
      *shift(): Routine<void> {
        yield* queue.shift()
        taken++
        yield* snooze()
      },
      *drain(): Routine<void> {
        const items = queue.iterate()
        while ((yield* items.next()) !== END) taken++
      },
      *close(): Routine<void> {
        yield* bodies.push()
        queue.close()
      },
    }
    const fibers = roles.map((role) => apart(bodies[role]))
    stage.kill(fibers)
    yield* sleep(1)
    assert.ok(queue.size === 0 || queue.waiting === 0, 'a fiber waits, and there is an item')
    queue[Symbol.dispose]()
    for (const fiber of fibers) yield* fiber.join()
  }

export const scenarios: Record<string, Scenario> = {
  ...Object.fromEntries(
    Object.entries(locks).map(([name, make]) => [`${name} as a lock`, lockScenario(make)]),
  ),
  'two that push and one that shifts': queueScenario(1, ['push', 'push', 'shift']),
  'one that pushes and two that shift': queueScenario(1, ['shift', 'shift', 'push']),
  'the same without a capacity': queueScenario(Infinity, ['shift', 'shift', 'push']),
  'one that closes the queue and two that iterate': queueScenario(1, ['close', 'drain', 'drain']),

  *'a mutex, locked twice by hand'(stage) {
    const mutex = new Mutex()
    stage.check(() => assert.deepEqual([mutex.isLocked, mutex.waiting], [false, 0]))
    yield* three(stage, function* () {
      yield* mutex.lock()
      try {
        yield* mutex.lock()
        mutex.unlock()
      } finally {
        mutex.unlock()
      }
    })
  },

  *'a semaphore whose limit changes'(stage) {
    const semaphore = new Semaphore(1)
    stage.check(() => assert.deepEqual([semaphore.inUse, semaphore.waiting], [0, 0]))
    const fibers = [1, 2].map(() => apart(() => semaphore.acquire(() => snooze())))
    stage.kill(fibers)
    for (const limit of [2, 1]) {
      yield* snooze()
      semaphore.limit = limit
    }
    for (const fiber of fibers) yield* fiber.join()
  },

  *'a condition with its mutex'(stage) {
    const mutex = new Mutex()
    const condition = new Condition(mutex)
    let [given, room] = [0, 0]
    let taken = 0
    stage.check(() => {
      assert.deepEqual([mutex.isLocked, mutex.waiting, condition.waiting], [false, 0, 0])
      assert.equal(room + taken, given)
    })
    const taker = () =>
      mutex.synchronize(function* () {
        while (room === 0) {
          yield* condition.wait()
          assert.equal(mutex.isHeld, true)
        }
        room--
        taken++
      })
    const takers = [apart(taker), apart(taker)]
    stage.kill(takers)
    yield* mutex.synchronize(function* () {
      yield* snooze()
      room++
      given++
      condition.signal()
    })
    yield* sleep(1)
    assert.ok(
      room === 0 || takers.every((fiber) => fiber.state === 'dead'),
      'a fiber waits for what is there',
    )
    for (const fiber of takers) yield* fiber.stop()
  },

  *'an event'(stage) {
    const event = new Event()
    let answers = 0
    stage.check(() => {
      const { waiting, signals, isSignaled } = event.stats()
      assert.ok(waiting === 0 && (answers > 0 || isSignaled || signals === 0), 'the signal was lost')
    })
    const fibers = [1, 2, 3].map(() =>
      apart(function* () {
        yield* event.await()
        answers++
      }),
    )
    stage.kill(fibers)
    yield* snooze()
    event.signal()
    yield* sleep(1)
    event.signal()
    for (const fiber of fibers) yield* fiber.join()
  },

  *'two that send to a capped mailbox'(stage) {
    const got: string[] = []
    const of = (name: string) => got.filter((message) => message.startsWith(name))
    const consumer = spin(() => receiveLoop((message: string) => void got.push(message)))
    consumer.mailbox.cap(1)
    stage.check(() => {
      for (const name of 'ab') assert.deepEqual(of(name), [`${name}1`, `${name}2`].slice(0, of(name).length))
      assert.equal(consumer.mailbox.stats().pushing, 0)
    })
    const senders = [...'ab'].map((name) =>
      apart(function* () {
        for (const n of [1, 2]) yield* consumer.mailbox.push(`${name}${n}`)
        return name
      }),
    )
    stage.kill(senders)
    for (const sender of senders) yield* sender.join()
    yield* sleep(1)
    for (const { outcome } of senders) {
      const isLost = outcome?.type === 'value' && of(outcome.value).length < 2
      assert.ok(!isLost || consumer.state === 'dead', 'a message was lost')
    }
    yield* consumer.stop()
  },

  *'two that call a third'(stage) {
    const server = spin(() =>
      receiveLoop(function* (question: Call<number>) {
        yield* sleep(5)
        question.reply(question.message)
      }),
    )
    stage.check(() => assert.equal(endListeners(server), 0, 'a call is over, and still watches'))
    const callers = [0, 7].map((timeout) =>
      apart(() => call(server, timeout, timeout > 0 ? { timeout } : {})),
    )
    stage.kill(callers)
    for (const caller of callers) yield* caller.join()
    yield* server.stop()
  },
}

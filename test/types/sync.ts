// The types of queues, locks, conditions and events, and the mistakes that must not compile.

import { Condition, type END, Event, Mutex, type Op, Queue, Semaphore, sleep, spin } from 'polyphony'
import { expectType } from './equal.js'

spin(function* () {
  const mutex = new Mutex()
  expectType<Op<number>>()(mutex.synchronize(() => 1))
  expectType<void>()(yield* mutex.synchronize(() => sleep(1)))
  expectType<string>()(
    yield* mutex.synchronize(function* () {
      yield* sleep(1)
      return 'done'
    }),
  )
  // @ts-expect-error: an async body
  mutex.synchronize(async () => 1)
  // @ts-expect-error: a star is missing
  mutex.synchronize(function* () {
    yield sleep(1)
  })

  const semaphore = new Semaphore(2)
  expectType<Op<void>>()(semaphore.acquire())
  expectType<Op<boolean>>()(semaphore.acquire(() => true))
  // @ts-expect-error: an async body
  semaphore.acquire(async () => 1)
  // @ts-expect-error: how many at a time?
  new Semaphore()

  const queue = new Queue<string>({ capacity: 2 })
  expectType<string>()(yield* queue.shift())
  expectType<string | undefined>()(queue.tryShift())
  expectType<string | typeof END>()(yield* queue.iterate().next())
  // @ts-expect-error: not an item of this queue
  queue.push(1)

  const ready = new Event()
  ready.signal()
  expectType<void>()(yield* ready.await())
  const answer = new Event<number>({ latch: true })
  expectType<number>()(yield* answer.await())
  // @ts-expect-error: this event has a value
  answer.signal()

  const changed = new Condition<string>(mutex)
  expectType<string>()(yield* changed.wait())
  // @ts-expect-error: this condition has a value
  changed.broadcast()
})

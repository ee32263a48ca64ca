// Everything that a fiber can wait in, as it is used, for the promises that hold of all of them. Each waits much longer
// than any test does, and whatever it needs beside it is a child of the fiber that waits.

import { EventEmitter } from 'node:events'
import {
  action,
  after,
  all,
  allSettled,
  any,
  Condition,
  call,
  cancelAfter,
  createLocal,
  Event,
  each,
  ensure,
  every,
  Fiber,
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
  receiveLoop,
  retry,
  Semaphore,
  scope,
  sleep,
  spin,
  spinLoop,
  supervise,
  suspend,
  Throttler,
  throttledLoop,
  transfer,
  until,
  use,
} from 'polyphony'

export type Construct = [name: string, wait: () => Op<unknown>]

/** So long that no test waits for it. */
const LONG = 100_000
const long = () => sleep(LONG)
const never = () => new Promise<never>(() => {})
const newPool = () => new ResourcePool({ limit: 1, create: () => 'resource' })
const fails = () => {
  throw new Error('this try failed')
}

/** Another fiber holds what is waited for; it has begun to. */
function* behind(hold: (body: () => Op<unknown>) => Op<unknown>, wait: () => Op<unknown>): Routine<unknown> {
  spin('holder', () => hold(long))
  yield* sleep(1)
  return yield* wait()
}

/** Blocks and combinators: they run bodies or watch members, and deal with what these do. */
export const blocks: Construct[] = [
  ['scope', () => scope(long)],
  ['a scope that waits for its children', () => scope(() => void spin(long))],
  ['moveOnAfter', () => moveOnAfter(LONG, () => sleep())],
  ['cancelAfter', () => cancelAfter(LONG, () => sleep())],
  ['the body of ensure', () => ensure(long, () => {})],
  ['all', () => all([long, long])],
  ['all of fibers', () => all([spin(long), spin(long)])],
  ['allSettled', () => allSettled([long, long])],
  ['allSettled of fibers', () => allSettled([spin(long), spin(long)])],
  ['any', () => any([long, long])],
  ['any of fibers', () => any([spin(long), spin(long)])],
  ['race', () => race([long, long])],
  ['race of fibers', () => race([spin(long), spin(long)])],
  ['forEach', () => forEach([1, 2], long)],
  ['forEach, several at once', () => forEach([1, 2, 3], long, { concurrency: 2 })],
  ['retry', () => retry(long, { times: 5 })],
  ['retry of a body in a limit', () => retry(() => cancelAfter(LONG, () => sleep()), { times: 5 })],
  ['retry between two tries', () => retry(fails, { times: 5, backoff: LONG })],
  ['supervise', () => supervise([{ body: long }], { restart: 'always' })],
  ['supervise, with callbacks', () => supervise([{ body: long }], { onError: () => 'ignore', onDone() {} })],
  ['supervise until never', () => supervise([{ body: () => {} }], { until: 'never' })],
  ['synchronize', () => new Mutex().synchronize(long)],
  ['acquire with a body', () => new Semaphore(1).acquire(long)],
  ['a resource of a pool', () => newPool().acquire(long)],
  ['process of a throttler', () => new Throttler(1).process(long)],
  ['with of a local', () => createLocal(1).with(2, long)],
  ['each', () => each([1, 2], long)],
  ['every', () => every(LONG, () => {})],
  ['the body of every', () => every(1, long)],
  ['throttledLoop', () => throttledLoop(1, long)],
  ['receiveLoop', () => receiveLoop(() => {})],
]

/** Single waits. */
export const waitsForOne: Construct[] = [
  ['sleep', long],
  ['sleep for ever', () => sleep()],
  ['suspend', () => suspend()],
  ['receive', () => receive()],
  ['receive with a match', () => receive(() => false)],
  ['await', () => spin(long)],
  ['join', () => spin(long).join()],
  ['Fiber.await', () => Fiber.await(spin(long), spin(long))],
  ['Fiber.select', () => Fiber.select(spin(long), spin(long))],
  ['after', () => after(LONG, () => {})],
  ['spinLoop', () => spinLoop(long)],
  ['call', () => call(spin(long), 'question')],
  ['call with a timeout', () => call(spin(long), 'question', { timeout: LONG })],
  ['push to a full mailbox', () => fullMailbox()],
  ['transfer', () => transfer(new Fiber(() => suspend()).attachTo(Fiber.current))],
  ['until', () => until(never())],
  ['until with a signal', () => until(never)],
  ['action', () => action(() => {})],
  ['once', () => once(new EventEmitter(), 'event')],
  ['on', () => on(new EventEmitter(), 'event').next()],
  ['each of what is silent', () => each(new Queue(), () => {})],
  ['iterate', () => iterate(new Queue()).next()],
  ['shift', () => new Queue().shift()],
  ['push', () => fullQueue()],
  ['lock', () => mutexBehind((mutex) => mutex.lock())],
  ['synchronize in line', () => mutexBehind((mutex) => mutex.synchronize(() => {}))],
  ['acquire', () => semaphoreBehind((semaphore) => semaphore.acquire())],
  ['a pool that is empty', () => poolBehind()],
  ['wait of a condition', () => new Condition().wait()],
  ['await of an event', () => new Event().await()],
  ['wait of a throttler', () => twice(new Throttler({ interval: LONG }))],
  ['a resource in use', () => scope(used)],
]

export const constructs: Construct[] = [...blocks, ...waitsForOne]

function* fullMailbox(): Routine<unknown> {
  const { mailbox } = spin(long)
  mailbox.cap(1)
  yield* mailbox.push(1)
  return yield* mailbox.push(2)
}

function* fullQueue(): Routine<unknown> {
  const queue = new Queue({ capacity: 1 })
  yield* queue.push(1)
  return yield* queue.push(2)
}

function mutexBehind(wait: (mutex: Mutex) => Op<unknown>): Op<unknown> {
  const mutex = new Mutex()
  return behind(
    (body) => mutex.synchronize(body),
    () => wait(mutex),
  )
}

function semaphoreBehind(wait: (semaphore: Semaphore) => Op<unknown>): Op<unknown> {
  const semaphore = new Semaphore(1)
  return behind(
    (body) => semaphore.acquire(body),
    () => wait(semaphore),
  )
}

function poolBehind(): Op<unknown> {
  const pool = newPool()
  return behind(
    (body) => pool.acquire(body),
    () => pool.acquire(() => {}),
  )
}

function* twice(throttler: Throttler): Routine<void> {
  yield* throttler.wait()
  yield* throttler.wait()
}

function* used(): Routine<void> {
  yield* use({ [Symbol.dispose]() {} })
  yield* long()
}

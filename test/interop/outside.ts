// What the tests of the bridge need of the async world.

import { type EventEmitter, getEventListeners } from 'node:events'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import {
  assert,
  END,
  Fiber,
  type Op,
  test as plainTest,
  type Routine,
  runtime,
  type Source,
  sleep,
  spin,
  turns,
  until,
  use,
  virtual,
} from '../prelude.js'

const isFiber = (body: () => unknown) =>
  Object.getPrototypeOf(body) === Object.getPrototypeOf(function* () {})

/** As the prelude's. After a fiber, no wait for the outside may be counted any more. */
export function test(name: string, body: () => unknown): void {
  const asFiber = async () => {
    let world: any
    await virtual(function* () {
      world = runtime()
      yield* body() as Routine<unknown>
    })
    assert.equal(world.external, 0, 'a wait for the outside is still counted')
  }
  plainTest(name, isFiber(body) ? asFiber : body)
}

export const never = new Promise<never>(() => {})

/** A promise that the test settles. */
export function deferred<T = void>() {
  let resolve!: (value: T) => void
  let reject!: (error: unknown) => void
  const promise = new Promise<T>((yes, no) => {
    resolve = yes
    reject = no
  })
  return { promise, resolve, reject }
}

/** Lets promises settle, streams go on and callbacks run. */
export const settling = (): Op<void> => until(turns(2))

/** How many listeners there are, for all events of an emitter or for one of a target. */
export function listeners(emitter: EventEmitter<any> | EventTarget, event = 'abort'): number {
  if (emitter instanceof EventTarget) return getEventListeners(emitter, event).length
  return emitter.eventNames().reduce((sum, name) => sum + emitter.listenerCount(name as any), 0)
}

/** All items that are left. */
export function* rest<T>(source: Source<T>): Routine<T[]> {
  const items: T[] = []
  for (;;) {
    const item = yield* source.next()
    if (item === END) return items
    items.push(item as T)
  }
}

/** An async generator of 1, 2, 3 that notes how it is left; before the 2 it waits for a promise, if there is one. */
export async function* numbers(log: string[] = [], wait?: Promise<unknown>): AsyncGenerator<number> {
  try {
    for (let n = 1; n <= 3; n++) {
      if (n === 2) await wait
      yield n
    }
    log.push('whole')
  } finally {
    log.push('finally')
  }
}

/** A resource that is taken with `use`; closing it takes a while, and is noted. */
export function* take(name: string, log: string[], ms = 0): Routine<string> {
  return yield* use(name, function* () {
    log.push(`closing ${name}`)
    yield* sleep(ms)
    log.push(`closed ${name}`)
  })
}

/** A stop strikes at an op before its wait begins. */
export function* struck(make: () => Op<unknown>): Routine<void> {
  const fiber = spin(function* () {
    Fiber.current.stop()
    yield* make()
  })
  assert.equal((yield* fiber.join()).type, 'stopped')
}

/** Frees what nothing refers to, so that a WeakRef to it is empty. */
export function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
}

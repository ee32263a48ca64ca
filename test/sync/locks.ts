// The locks of this room, as the shared behaviours see them.

import { Mutex, ResourcePool, Semaphore } from '../prelude.js'
import type { ALock } from '../shared/lock.js'

export function mutexLock(): ALock {
  const mutex = new Mutex()
  return {
    hold: (body) => mutex.synchronize(body),
    giveBack: () => mutex.unlock(),
    tryTake: () => mutex.tryLock(),
    isFree: () => !mutex.isLocked,
    waiting: () => mutex.waiting,
  }
}

export function semaphoreLock(): ALock {
  const semaphore = new Semaphore(1)
  return {
    hold: (body) => semaphore.acquire(body),
    giveBack: () => semaphore.release(),
    tryTake: () => semaphore.tryAcquire(),
    isFree: () => semaphore.available === 1,
    waiting: () => semaphore.waiting,
  }
}

/** A resource is created when it is first needed: in use means that it is neither idle nor missing. */
export function poolLock(): ALock {
  const pool = new ResourcePool({ limit: 1, create: () => 'the only one' })
  return {
    hold: (body) => pool.acquire(body),
    isFree: () => pool.size === pool.available,
    waiting: () => pool.waiting,
  }
}

// The shared suite of locks, against the locks of this room.

import { Mutex, ResourcePool, Semaphore } from 'polyphony'
import { type ALock, aLock } from '../shared/lock.js'

function mutexLock(): ALock {
  const mutex = new Mutex()
  return {
    hold: (body) => mutex.synchronize(body),
    get isFree() {
      return !mutex.isLocked
    },
    get waiting() {
      return mutex.waiting
    },
  }
}

function semaphoreLock(): ALock {
  const semaphore = new Semaphore(1)
  return {
    hold: (body) => semaphore.acquire(body),
    get isFree() {
      return semaphore.available === 1
    },
    get waiting() {
      return semaphore.waiting
    },
  }
}

/** A resource is created when it is first needed: in use means that it is neither idle nor missing. */
function poolLock(): ALock {
  const pool = new ResourcePool({ limit: 1, create: () => 'the only one' })
  return {
    hold: (body) => pool.acquire(body),
    get isFree() {
      return pool.size === pool.available
    },
    get waiting() {
      return pool.waiting
    },
  }
}

aLock('a mutex', mutexLock)
aLock('a semaphore of 1', semaphoreLock)
aLock('a resource pool of 1', poolLock)

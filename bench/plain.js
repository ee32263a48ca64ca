// Queue, semaphore, mutex, pool and executor as one writes them oneself with promises: the "async" of the rows about constructs.
// The shortest code that is right and quick: who waits is handed the item, the permit, the resource. Nobody who waits can
// be stopped, no holder is known, nothing is counted.

/** What an operation answers that had nothing to wait for. */
const DONE = Promise.resolve()

export class PlainQueue {
  items = []
  takers = []
  putters = []

  constructor(capacity = Infinity) {
    this.capacity = capacity
  }

  push(item) {
    if (this.takers.length > 0) this.takers.shift()(item)
    else if (this.items.length < this.capacity) this.items.push(item)
    else return new Promise((resolve) => this.putters.push({ item, resolve }))
    return DONE
  }

  shift() {
    if (this.items.length === 0) return new Promise((resolve) => this.takers.push(resolve))
    const item = this.items.shift()
    if (this.putters.length > 0) {
      const putter = this.putters.shift()
      this.items.push(putter.item)
      putter.resolve()
    }
    return Promise.resolve(item)
  }
}

export class PlainSemaphore {
  waiters = []

  constructor(limit) {
    this.free = limit
  }

  acquire() {
    if (this.free === 0) return new Promise((resolve) => this.waiters.push(resolve))
    this.free--
    return DONE
  }

  release() {
    if (this.waiters.length > 0) this.waiters.shift()()
    else this.free++
  }

  async use(fn) {
    await this.acquire()
    try {
      return await fn()
    } finally {
      this.release()
    }
  }
}

export class PlainPool {
  idle = []
  waiters = []

  constructor(limit, create) {
    this.room = limit
    this.create = create
  }

  async acquire() {
    if (this.idle.length > 0) return this.idle.pop()
    if (this.room === 0) return new Promise((resolve) => this.waiters.push(resolve))
    this.room--
    return await this.create()
  }

  release(resource) {
    if (this.waiters.length > 0) this.waiters.shift()(resource)
    else this.idle.push(resource)
  }

  async use(fn) {
    const resource = await this.acquire()
    try {
      return await fn(resource)
    } finally {
      this.release(resource)
    }
  }
}

/** Items one by one: each is handled after the one before. */
export class PlainChain {
  last = DONE

  constructor(handle) {
    this.handle = handle
  }

  submit(item) {
    const result = this.last.then(() => this.handle(item))
    this.last = result.catch(() => {})
    return result
  }
}

/** Items in batches: takes what is there, hands it to `handle`, and begins again. */
export class PlainBatches {
  items = []
  isBusy = false

  constructor(handle) {
    this.handle = handle
  }

  submit(item) {
    return new Promise((resolve, reject) => {
      this.items.push({ item, resolve, reject })
      if (!this.isBusy) this.work()
    })
  }

  async work() {
    this.isBusy = true
    await DONE
    while (this.items.length > 0) {
      const batch = this.items
      this.items = []
      try {
        const result = await this.handle(batch.map(({ item }) => item))
        for (const { resolve } of batch) resolve(result)
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    this.isBusy = false
  }
}

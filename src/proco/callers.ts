// The transport for async functions. They cannot be stopped and do not wait as fibers do, so they need none: there are
// `threads` places, and each calls the handler, waits for its promise, and calls it again. The runtime is told of each
// promise (`external`): whoever waits for its answer is not deadlocked.

import type { Batch } from './batch.js'
import type { AnyHandler } from './crew.js'
import type { Front } from './front.js'
import type { Host } from './host.js'
import type { Transport } from './transport.js'

// As it is now: fake timers that a test installs later must not stop the work.
const { setImmediate } = globalThis
const resolved = Promise.resolve()

/** One call at a time. Who gives up on a call leaves the place with it: its promise may still answer. */
class Waiter {
  batch: Batch<any> | null = null
  readonly succeeded: (value: unknown) => void
  readonly failed: (error: unknown) => void

  constructor(callers: Callers) {
    this.succeeded = (value) => {
      callers.returned(this)?.succeed(value)
      callers.look()
    }
    this.failed = (error) => {
      callers.returned(this)?.fail(error)
      callers.look()
    }
  }
}

export class Callers implements Transport {
  private readonly free: Waiter[] = []
  private readonly busy = new Set<Waiter>()
  private isWaking = false

  constructor(
    private readonly front: Front,
    private readonly handler: AnyHandler,
    private readonly host: Host,
  ) {}

  /** A moment later, so that what is handed in at the same time goes together. */
  wake(): void {
    if (this.isWaking || this.busy.size >= this.front.setup.threads) return
    this.isWaking = true
    this.front.runtime.external++
    resolved.then(this.lookLater)
  }
  private readonly lookLater = (): void => {
    // Fibers that are about to run may have more: a turn that was cut short goes on first.
    if (this.front.runtime.queue.size > 0) setImmediate(this.lookNow)
    else this.lookNow()
  }
  private readonly lookNow = (): void => {
    this.isWaking = false
    this.front.runtime.external--
    this.look()
  }

  /** Calls the handler while there is work and a place. */
  look(): void {
    while (this.busy.size < this.front.setup.threads) {
      const batch = this.front.take()
      if (batch === undefined) return
      this.call(batch, this.free.pop() ?? new Waiter(this))
    }
  }

  private call(batch: Batch<any>, place: Waiter): void {
    const { front, handler } = this
    this.busy.add(place)
    front.runtime.external++
    place.batch = batch
    batch.carrier = place
    let promise: Promise<unknown>
    front.isCalling = true
    try {
      promise = Promise.resolve(handler(batch.argument, batch))
    } catch (error) {
      promise = Promise.reject(error) // a proxy of an async function, such as a mock, may do anything
    }
    front.isCalling = false
    promise.then(place.succeeded, place.failed)
  }

  /** The promise of a call has ended: gives its batch, if anybody still waits for it. */
  returned(place: Waiter): Batch<any> | null {
    if (place.batch === null) return null
    this.free.push(place)
    return this.leave(place)
  }

  private leave(place: Waiter): Batch<any> {
    const batch = place.batch as Batch<any>
    place.batch = null
    this.busy.delete(place)
    this.front.runtime.external--
    return batch
  }

  /** Its signal is aborted; more cannot be done. Its place is given to another. */
  stop(batch: Batch<any>): void {
    const place = batch.carrier as Waiter | null
    if (place?.batch !== batch) return // killed meanwhile, by a listener of its signal; or not yet called
    this.leave(place)
    batch.end()
    this.front.freed()
  }

  close(): void {
    this.host.close()
  }
  kill(): void {
    for (const place of this.busy) this.leave(place).end()
    this.host.fiber.kill()
  }
  isInside(): boolean {
    return false
  }
  isStuck(): boolean {
    return false
  }
  isHandling(): boolean {
    return false
  }
}

// The transport for async functions. They cannot be stopped and do not wait as fibers do, so they need none: there are
// `threads` places, and each calls the handler, waits for its promise, and calls it again.

import type { Batch } from './batch.js'
import type { AnyHandler } from './crew.js'
import type { Front } from './front.js'
import type { Host } from './host.js'
import type { Transport } from './transport.js'

const resolved = Promise.resolve()

/** One call at a time. Who gives up on a call leaves the place with it: its promise may still answer. */
class Place {
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
  private readonly free: Place[] = []
  /** Places that are busy. */
  private busy = 0
  private isWaking = false
  private isHolding = false

  constructor(
    private readonly front: Front,
    private readonly handler: AnyHandler,
    private readonly host: Host,
  ) {}

  /** A moment later, so that what is handed in at the same time goes together. */
  wake(): void {
    if (this.isWaking || this.busy >= this.front.setup.threads) return
    this.isWaking = true
    this.hold()
    resolved.then(this.lookLater)
  }
  private readonly lookLater = (): void => {
    this.isWaking = false
    this.look()
  }

  /** Calls the handler while there is work and a place. */
  look(): void {
    while (this.busy < this.front.setup.threads) {
      const batch = this.front.take()
      if (batch === undefined) break
      this.call(batch, this.free.pop() ?? new Place(this))
    }
    this.hold()
  }

  /** While a promise is on its way, the runtime has something to wait for. */
  private hold(): void {
    const isHolding = (this.busy > 0 || this.isWaking) && !this.front.isOver
    if (isHolding === this.isHolding) return
    this.isHolding = isHolding
    this.front.runtime.external += isHolding ? 1 : -1
  }

  private call(batch: Batch<any>, place: Place): void {
    const { front, handler } = this
    this.busy++
    place.batch = batch
    batch.carrier = place
    front.isCalling = true
    const promise = handler(batch.argument, batch) as Promise<unknown>
    front.isCalling = false
    promise.then(place.succeeded, place.failed)
  }

  /** The promise of a call has ended: gives its batch, if anybody still waits for it. */
  returned(place: Place): Batch<any> | null {
    const { batch } = place
    if (batch === null) return null
    place.batch = null
    this.free.push(place)
    this.busy--
    return batch
  }

  /** Its signal is aborted; more cannot be done. Its place is given to another. */
  stop(batch: Batch<any>): void {
    ;(batch.carrier as Place).batch = null
    this.busy--
    batch.end()
    this.front.freed()
    this.hold()
  }

  close(): void {
    this.host.close()
  }
  kill(): void {
    this.hold()
    this.host.fiber.kill()
  }
  isInside(): boolean {
    return false
  }
  isStuck(): boolean {
    return false
  }
}

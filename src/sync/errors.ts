// The errors of this room, each with a stable `code`.

import { PolyphonyError } from '../core/index.js'

/**
 * An operation took longer than its time limit: an acquire, a call.
 *
 * ```ts
 * const deaf = spin('deaf', () => sleep(1000))
 * try {
 *   yield* call(deaf, 'hello?', { timeout: 50 })
 * } catch (error) {
 *   if (error instanceof TimedOut) console.log(error.code) // TIMED_OUT
 * }
 * ```
 */
export class TimedOut extends PolyphonyError {
  override readonly code = 'TIMED_OUT'
}

/**
 * The queue is closed: it takes no more items, and has none left to shift.
 *
 * ```ts
 * const queue = new Queue<string>()
 * queue.close()
 * try {
 *   yield* queue.push('late')
 * } catch (error) {
 *   if (error instanceof QueueClosed) console.log(error.code) // QUEUE_CLOSED
 * }
 * ```
 */
export class QueueClosed extends PolyphonyError {
  override readonly code = 'QUEUE_CLOSED'
}

/**
 * The pool is closed: it has no more resources to acquire.
 *
 * ```ts
 * const pool = new ResourcePool({ limit: 1, create: () => 'a resource' })
 * yield* pool.close()
 * try {
 *   yield* pool.acquire(() => {})
 * } catch (error) {
 *   if (error instanceof PoolClosed) console.log(error.code) // POOL_CLOSED
 * }
 * ```
 */
export class PoolClosed extends PolyphonyError {
  override readonly code = 'POOL_CLOSED'
}

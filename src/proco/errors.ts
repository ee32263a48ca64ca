// The errors of this room.

import { PolyphonyError, show } from '../core/index.js'

/**
 * The executor is not running: it was not started yet, or has been told to exit. It was not the item's fault.
 *
 * ```ts
 * const proco = Proco.new<number>()
 * try {
 *   yield* proco.submit(1)
 * } catch (error) {
 *   if (error instanceof NotRunning) console.log(error.code) // NOT_RUNNING
 * }
 * ```
 */
export class NotRunning extends PolyphonyError {
  override readonly code = 'NOT_RUNNING'
}

/**
 * The executor was killed while the item was in a queue, or in the hands of the handler.
 *
 * ```ts
 * const proco = Proco.new<number>().start(() => sleep(1000))
 * const future = yield* proco.submitAsync(1)
 * proco.kill()
 * try {
 *   yield* future.get()
 * } catch (error) {
 *   if (error instanceof Killed) console.log(error.code) // KILLED
 * }
 * ```
 */
export class Killed extends PolyphonyError {
  override readonly code = 'KILLED'
}

/**
 * With `results('each')`, the handler has returned no outcome for this item: no array, or one that is too short.
 *
 * ```ts
 * const proco = Proco.batch(true).results('each').new<number, number>().start(() => [])
 * try {
 *   yield* proco.submit(1)
 * } catch (error) {
 *   if (error instanceof MissingResult) console.log(error.code) // MISSING_RESULT
 * }
 * yield* proco.exit()
 * ```
 */
export class MissingResult extends PolyphonyError {
  override readonly code = 'MISSING_RESULT'
}

/** A reason, of whichever kind, as part of a sentence. */
export function inWords(reason: unknown): string {
  if (typeof reason === 'string') return reason
  return reason instanceof Error ? reason.message : show(reason)
}

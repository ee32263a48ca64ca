// The errors of this room, each with a stable `code`.

import { PolyphonyError } from '../core/index.js'

/**
 * Children were restarted too often within the time allowed (S43). `cause` is the last error of a child.
 *
 * ```ts
 * function* hopeless() {
 *   throw new Error('no such host')
 * }
 * try {
 *   yield* supervise([{ name: 'client', body: hopeless, restart: 'onError' }])
 * } catch (error) {
 *   if (error instanceof RestartIntensityError) console.log(error.code, String(error.cause)) // RESTART_INTENSITY Error: no such host
 * }
 * ```
 */
export class RestartIntensityError extends PolyphonyError {
  override readonly code = 'RESTART_INTENSITY'
}

// Standard input. Importing this opens nothing: process.stdin is first touched by the first fiber that waits for it.

import type { Op } from '../core/index.js'
import { Reader } from './reader.js'

/** What the program is given to read. */
export const stdin = new Reader('stdin', () => process.stdin)

/**
 * The next line of standard input, without its end; `undefined` when there are no more. The same as `stdin.gets()`.
 *
 * ```ts
 * for (let line; (line = yield* gets()) !== undefined; ) console.log(line.toUpperCase())
 * ```
 */
export function gets(): Op<string | undefined> {
  return stdin.gets()
}

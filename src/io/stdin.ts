// Standard input. Importing this opens nothing: process.stdin is first touched by the first fiber that waits for it.

import type { Op } from '../core/index.js'
import { NodeChannel } from './nodechannel.js'
import { type Reader, Stream } from './stream.js'

/**
 * What the program is given to read. In this example, the two lines `hello` and `world`.
 *
 * ```ts
 * import { main } from 'polyphony'
 * import { stdin } from 'polyphony/io'
 *
 * main(function* () {
 *   console.log(yield* stdin.gets())
 *   console.log(`${yield* stdin.read()}`.trimEnd())
 *   console.log(yield* stdin.gets())
 * })
 * ```
 * ```text
 * hello
 * world
 * undefined
 * ```
 */
export const stdin: Reader = new Stream(
  (stream) => new NodeChannel('stdin', stream, { readable: () => process.stdin, isIdle: true }),
)

/**
 * The next line of standard input, without its end; `undefined` when there are no more. The same as `stdin.gets()`.
 * In this example, the two lines are `hello` and `world`.
 *
 * ```ts
 * import { main } from 'polyphony'
 * import { gets } from 'polyphony/io'
 *
 * main(function* () {
 *   for (let line: string | undefined; (line = yield* gets()) !== undefined; ) console.log(line.toUpperCase())
 * })
 * ```
 * ```text
 * HELLO
 * WORLD
 * ```
 */
export function gets(): Op<string | undefined> {
  return stdin.gets()
}

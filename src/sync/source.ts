// What fibers iterate over: a source gives its items one by one, and END when there are no more.

import type { Op } from '../core/index.js'

/**
 * What the `next()` of a source gives when nothing is left.
 *
 * ```ts
 * const words = iterate(['one', 'two'])
 * for (let word = yield* words.next(); word !== END; word = yield* words.next()) {
 *   console.log(word) // one, two
 * }
 * ```
 */
export const END: unique symbol = Symbol('polyphony.END')

/** Items one by one. `each(source, body)` runs a body for every one of them. */
export interface Source<T> {
  /** Waits for the next item; `END` when there are no more. */
  next(): Op<T | typeof END>
  /** Somebody leaves early: lets go of what is behind it. May be called after the end. */
  close(): Op<void>
}

/** Something that fibers can iterate over: it makes sources. A `Queue` is one. */
export interface Iterates<T> {
  /** A new source of its items. */
  iterate(): Source<T>
}

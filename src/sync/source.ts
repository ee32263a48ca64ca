// The interface of what fibers iterate over: a source gives its items one by one, then END. `iterate` and `each` in
// interop/ make sources of other things, and run through them.

import { BaseOp, type Fiber, type Op, settle } from '../core/index.js'

/**
 * What the `next()` of a source returns when there are no more items.
 *
 * ```ts
 * const words = iterate(['one', 'two'])
 * for (let word = yield* words.next(); word !== END; word = yield* words.next()) {
 *   console.log(word) // one, two
 * }
 * ```
 */
export const END: unique symbol = Symbol('polyphony.END')

/** Items one by one. `each(source, body)` runs a body for each of them. */
export interface Source<T> {
  /** Waits for the next item; `END` when there are no more. */
  next(): Op<T | typeof END>
  /** Releases what the source holds, when iteration ends early. May be called after the end. */
  close(): Op<void>
}

/** Something that fibers can iterate over, such as a `Queue`. */
export interface Iterates<T> {
  /** Makes a source of the items from now on. */
  iterate(): Source<T>
}

class Closed extends BaseOp<void> {
  enter(fiber: Fiber): void {
    settle(fiber, this, undefined)
  }
  abort(): void {}
  describe(): string {
    return 'close()'
  }
}
/** The `close()` of a source that has nothing to let go of, or has let go of it already. */
export const HAS_CLOSED: Op<void> = new Closed().droppable()

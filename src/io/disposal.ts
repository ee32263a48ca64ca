// Closing by whoever disposes of a stream: `use(stream)` in a fiber, `await using` in async code.

import { run } from '../node/index.js'
import { Close } from './writing.js'

/** Closes the stream when it is first waited for, by `yield*` or by `await`. */
export class Disposal extends Close implements PromiseLike<void> {
  // biome-ignore lint/suspicious/noThenProperty: async code waits for it
  then<A = void, B = never>(
    settled?: ((value: void) => A | PromiseLike<A>) | null,
    failed?: ((error: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return run(() => this as Close, { name: this.describe() }).then(settled, failed)
  }
}

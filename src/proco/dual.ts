// What fibers and async code can both wait for. Like every op it is lazy: it begins at the first `yield*` or `then`, and
// only once; whoever comes later waits for the same end.

import { BaseOp, debugging, type Op, opEntered } from '../core/index.js'
import type { Front } from './front.js'

/**
 * Something to wait for with `yield*` in a fiber, or with `await` in async code. It begins when it is first waited for.
 *
 * ```ts
 * const proco = Proco.new<number, number>().start((n) => n * 2)
 * const op: Awaitable<number> = proco.submit(21)
 * console.log(yield* op) // 42
 * yield* proco.exit()
 * ```
 */
export interface Awaitable<T> extends Op<T>, PromiseLike<T> {
  /** As of a promise. */
  then<A = T, B = never>(
    settled?: ((value: T) => A | PromiseLike<A>) | null,
    failed?: ((error: any) => B | PromiseLike<B>) | null,
  ): Promise<A | B>
  /** As of a promise. */
  catch<B = never>(failed?: ((error: any) => B | PromiseLike<B>) | null): Promise<T | B>
  /** As of a promise. */
  finally(ended?: (() => void) | null): Promise<T>
}

/** The base of such ops. */
export abstract class Dual<T> extends BaseOp<T> implements Awaitable<T> {
  /** The run that it waits for; null before it has begun. */
  abstract readonly front: Front | null

  constructor(
    /** Whether it was made while the handler was being called: by a plain one, or by an async one before its first await. */
    protected readonly isInside: boolean,
  ) {
    super()
  }

  /** Begins, unless it has begun, and gives the promise of its end. */
  protected abstract begin(): Promise<T>

  // biome-ignore lint/suspicious/noThenProperty: async code waits for it
  then<A = T, B = never>(
    settled?: ((value: T) => A | PromiseLike<A>) | null,
    failed?: ((error: any) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    if (debugging) opEntered(this)
    return this.begin().then(settled, failed)
  }
  catch<B = never>(failed?: ((error: any) => B | PromiseLike<B>) | null): Promise<T | B> {
    return this.then(undefined, failed)
  }
  finally(ended?: (() => void) | null): Promise<T> {
    return this.then().finally(ended)
  }
}

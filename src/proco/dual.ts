// What fibers and async code can both wait for. Each gets what it is used to: a fiber gets an op, which begins at its
// `yield*`, once; async code gets a promise, of something that has begun, and which a fiber can wait for as well.

import { BaseOp, type Op, runningFiber } from '../core/index.js'
import { PromiseOp } from '../sync/index.js'
import type { Front } from './front.js'

/**
 * Something to wait for with `yield*` in a fiber, or with `await` in async code. Made in a fiber, it begins when it is first
 * waited for; made in async code, it is a promise, and has begun.
 *
 * ```ts
 * const proco = Proco.new<number, number>().start((n) => n * 2)
 * const op: Awaitable<number> = proco.submit(21)
 * console.log(yield* op) // 42
 * yield* proco.exit()
 * ```
 */
export interface Awaitable<T> extends Op<T>, Promise<T> {}

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

  override get kind(): string {
    return 'executor'
  }

  /** Begins, unless it has begun, and gives the promise of its end. */
  protected abstract begin(): Promise<T>

  /** What is handed out: in a fiber the op, in async code the promise. */
  offer(): Awaitable<T> {
    if (runningFiber() !== null) return this
    const promise = this.begin() as Awaitable<T>
    promise[Symbol.iterator] = wait
    return promise
  }

  // biome-ignore lint/suspicious/noThenProperty: async code waits for it
  then<A = T, B = never>(
    settled?: ((value: T) => A | PromiseLike<A>) | null,
    failed?: ((error: any) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.droppable()
    return this.begin().then(settled, failed)
  }
  catch<B = never>(failed?: ((error: any) => B | PromiseLike<B>) | null): Promise<T | B> {
    return this.then(undefined, failed)
  }
  finally(ended?: (() => void) | null): Promise<T> {
    return this.then().finally(ended)
  }
  get [Symbol.toStringTag](): string {
    return 'Awaitable'
  }
}

/** `yield*` of such a promise. */
function wait<T>(this: Promise<T>): PromiseOp<T> {
  return new PromiseOp(this)
}

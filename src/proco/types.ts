// What the compiler knows of executors: whether the handler gets an item or an array, and what it has to return.

import type { Op, Result } from '../core/index.js'
import type { Work } from './batch.js'
import type { Executor } from './executor.js'
import type { Logger } from './log.js'
import type { ProcoOptions } from './options.js'

/** What a handler works on, and returns: `'item'`; `'batch'`, one result for all; `'each'`, one for each. */
export type Mode = 'item' | 'batch' | 'each'
/** Whose the result of a batch is. */
export type Results = 'shared' | 'each'

export type ModeOf<B extends boolean, S extends Results> = B extends true
  ? S extends 'each'
    ? 'each'
    : 'batch'
  : 'item'

/** What a handler is called with. */
export type Given<I, M extends Mode> = M extends 'item' ? I : I[]

/** What a handler may return: an op, a promise, or the result itself. */
export type Reply<R, M extends Mode> = M extends 'each' ? Answer<readonly (R | Error)[]> : Answer<R>
type Answer<T> = Op<T> | PromiseLike<T> | T

/** The result of an item, by what the handler returns. */
export type ResultOf<X, M extends Mode> = M extends 'each' ? OfEach<Settled<X>> : Settled<X>
type Settled<X> = X extends Op<any> ? Result<X> : X extends PromiseLike<infer T> ? T : X
type OfEach<X> = X extends readonly (infer E)[] ? Exclude<E, Error> : never

/** What an executor is started with: a fiber body, a plain or an async function. */
export type Handler<I, R, M extends Mode = 'item'> = (given: Given<I, M>, work: Work) => Reply<R, M>

/**
 * Options, given one after the other. Each call makes a new template, so one can be kept and used again.
 *
 * ```ts
 * const fast = Proco.batchSize(100).threads(2)
 * const writer = fast.batch(true).new<string, number>().start((lines) => lines.length)
 * const single = fast.new<string, number>().start((line) => line.length)
 * console.log(yield* writer.submit('one'), yield* single.submit('four')) // 1 4
 * yield* writer.exit()
 * yield* single.exit()
 * ```
 */
export interface ProcoTemplate<B extends boolean = false, S extends Results = 'shared'> {
  /** How many handlers run at a time. */
  threads(threads: number): ProcoTemplate<B, S>
  /** How many queues there are, each with its own dispatcher. */
  queues(queues: number): ProcoTemplate<B, S>
  /** How many items a queue holds before submitters wait. */
  queueSize(queueSize: number): ProcoTemplate<B, S>
  /** Milliseconds from one dispatch of a queue to the next. */
  interval(interval: number): ProcoTemplate<B, S>
  /** Whether the handler gets an array of items. */
  batch<C extends boolean>(batch: C): ProcoTemplate<C, S>
  /** How many items a batch may have. */
  batchSize(batchSize: number): ProcoTemplate<B, S>
  /** Whether the result of a batch is that of all its items, or an array with one for each. */
  results<T extends Results>(results: T): ProcoTemplate<B, T>
  /** Is told what happens. */
  logger(logger: Logger): ProcoTemplate<B, S>
  /** Makes an executor; options given here override those of the chain. */
  'new'<I = any, R = any>(options?: ProcoOptions & { batch?: undefined }): Executor<I, R, ModeOf<B, S>>
  /** One that hands over arrays, and gets an array of results. */
  'new'<I = any, R = any>(options: ProcoOptions & { batch: true; results: 'each' }): Executor<I, R, 'each'>
  /** One that hands over arrays. */
  'new'<I = any, R = any>(options: ProcoOptions & { batch: true }): Executor<I, R, ModeOf<true, S>>
  /** One that hands over item by item. */
  'new'<I = any, R = any>(options: ProcoOptions & { batch: false }): Executor<I, R, 'item'>
}

/** `Proco` itself: the empty template, and a class. */
export interface ProcoClass extends ProcoTemplate {
  /** An executor that hands over item by item. */
  new <I = any, R = any>(options?: ProcoOptions & { batch?: false }): Executor<I, R, 'item'>
  /** One that hands over arrays, and gets an array of results. */
  new <I = any, R = any>(options: ProcoOptions & { batch: true; results: 'each' }): Executor<I, R, 'each'>
  /** One that hands over arrays. */
  new <I = any, R = any>(options: ProcoOptions & { batch: true }): Executor<I, R, 'batch'>
}

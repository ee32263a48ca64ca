// toAsyncIterable: async code reads what fibers produce, with `for await`. The other direction is interop/iterate.ts.

import { BadArgument, show } from '../core/index.js'
import { END, type Iterates, type Source } from '../sync/index.js'
import { run } from './run.js'

/**
 * Turns a source (a queue, the events of an emitter) into an async iterable: for `for await`, `Readable.from`, a
 * `Response`. Leaving the loop closes the source.
 *
 * ```ts
 * import { EventEmitter } from 'node:events'
 * import { on, run, sleep, toAsyncIterable } from 'polyphony'
 *
 * const clock = new EventEmitter<{ tick: [number] }>()
 * const running = run(function* () {
 *   const ticks = toAsyncIterable(on(clock, 'tick'))
 *   setImmediate(async () => {
 *     for await (const n of ticks) {
 *       console.log(n)
 *       if (n === 2) break
 *     }
 *     running.stop()
 *   })
 *   for (let n = 1; ; n++) {
 *     clock.emit('tick', n)
 *     yield* sleep(5)
 *   }
 * })
 * ```
 *
 * ```text
 * 1
 * 2
 * ```
 */
export function toAsyncIterable<T>(items: Source<T> | Iterates<T>): AsyncIterableIterator<T> {
  const source = sourceOf(items)
  const over = (value: unknown = undefined) => ({ done: true as const, value: value as undefined })
  const close = () => run(() => source.close(), { name: 'toAsyncIterable' })
  return {
    async next() {
      const item = await run(() => source.next(), { name: 'toAsyncIterable' })
      return item === END ? over() : { done: false, value: item as T }
    },
    async return(value) {
      await close()
      return over(await value)
    },
    async throw(error) {
      await close()
      throw error
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

function sourceOf<T>(items: Source<T> | Iterates<T>): Source<T> {
  if (typeof (items as Iterates<T> | null)?.iterate === 'function') return (items as Iterates<T>).iterate()
  const { next, close } = (items ?? {}) as Source<T>
  if (typeof next === 'function' && typeof close === 'function') return items as Source<T>
  throw new BadArgument(
    `toAsyncIterable() needs a source of items: a queue, on(...), or what has next() and close(); got ${show(items)}`,
  )
}

// Iterating in fibers: `each` runs a body for every item, `iterate` gives the items one by one. Both take whatever has
// items: arrays, generators, async iterables, Node and web streams, queues.

import {
  BadArgument,
  checkBody,
  ensure,
  Fiber,
  type Op,
  type Returned,
  type Routine,
  repeatable,
  runReturned,
  show,
} from '../core/index.js'
import { END, type Iterates, type Source } from '../sync/index.js'
import { type AsyncItems, AsyncSource, SyncSource } from './sources.js'

/** Whatever has items: a queue, an async iterable, a stream, an array or another iterable, a source. */
export type Items<T> = Iterates<T> | Source<T> | AsyncIterable<T> | Iterable<T>

/**
 * The items of anything, one by one: `next()` waits for one and gives `END` at the end; `close()` lets go early, as
 * leaving a `for` loop does (S59). A fiber that is stopped while it waits loses no item: the next `next()` gives it.
 *
 * ```ts
 * async function* letters() {
 *   yield 'a'
 *   yield 'b'
 *   yield 'c'
 * }
 * const source = iterate(letters())
 * console.log(yield* source.next()) // a
 * console.log(yield* source.next()) // b
 * yield* source.close()
 * console.log((yield* source.next()) === END) // true
 * ```
 */
export function iterate<T>(items: Items<T>): Source<T> {
  return sourceOf(items, 'iterate()')
}

/**
 * Runs a body for every item of anything that has items, in this fiber, one after the other. Ends with the last item,
 * or when the body returns false. However it is left, the source is let go: an async generator runs its `finally`, a
 * stream is destroyed (S59).
 *
 * ```ts
 * import { Readable } from 'node:stream'
 * import { each, main } from 'polyphony'
 *
 * main(function* () {
 *   yield* each(Readable.from(['one', 'two', 'three', 'four']), function* (word) {
 *     console.log(word)
 *     return word !== 'three'
 *   })
 * })
 * ```
 *
 * ```text
 * one
 * two
 * three
 * ```
 */
export function each<T, R>(items: Items<T>, body: (item: T, index: number) => Returned<R>): Op<void> {
  checkItems(items, 'each()')
  checkBody(body, 'each()')
  return repeatable('each()', () => eachOf(sourceOf(items, 'each()'), body))
}

function* eachOf<T>(source: Source<T>, body: (item: T, index: number) => unknown): Routine<void> {
  yield* ensure(
    () => loop(source, body),
    () => source.close(),
  )
}

function* loop<T>(source: Source<T>, body: (item: T, index: number) => unknown): Routine<void> {
  for (let index = 0; ; index++) {
    const item = yield* source.next()
    if (item === END) return
    const returned = body(item as T, index)
    if (returned === false) return
    if (typeof returned === 'object' && returned !== null) {
      if ((yield* runReturned(returned, body)) === false) return
    }
  }
}

/** The source of anything that has items. `where` is who asks. */
export function sourceOf<T>(items: Items<T>, where: string): Source<T> {
  checkItems(items, where)
  const some = items as Iterates<T> & Source<T> & AsyncIterable<T> & Iterable<T>
  if (typeof some.iterate === 'function') return some.iterate()
  if (isWebStream(some)) return new AsyncSource(() => webItems(some))
  if (typeof some[Symbol.asyncIterator] === 'function') return new AsyncSource(() => asyncItems(some))
  if (typeof some[Symbol.iterator] === 'function') return new SyncSource(some)
  return some
}

/** Refuses what has no items. Ops are iterable by their nature, but not meant to be. */
export function checkItems(items: unknown, where: string): void {
  const some = items as Partial<Iterates<any> & Source<any> & AsyncIterable<any> & Iterable<any>> | null
  const isOp =
    items instanceof Fiber || typeof (some as { describe?: unknown } | null)?.describe === 'function'
  if (isOp && typeof some?.iterate !== 'function') {
    throw new BadArgument(
      `${where} was given an op, which must be waited for first: yield* it, and give the result`,
    )
  }
  const hasItems =
    typeof some?.iterate === 'function' ||
    typeof some?.[Symbol.asyncIterator] === 'function' ||
    typeof some?.[Symbol.iterator] === 'function' ||
    (typeof some?.next === 'function' && typeof some.close === 'function')
  if (hasItems) return
  const hint =
    typeof (items as PromiseLike<unknown> | null)?.then === 'function'
      ? '; wait for the promise first: yield* until(promise)'
      : ''
  throw new BadArgument(
    `${where} needs something with items (an iterable, an async iterable, a stream, a queue), got ${show(items)}${hint}`,
  )
}

/** An async iterable of any kind. Node's streams keep return() waiting behind a next() that waits for data. */
function asyncItems<T>(items: AsyncIterable<T>): AsyncItems<T> {
  const iterator = items[Symbol.asyncIterator]()
  const stream = items as { destroy?: () => void; pipe?: unknown }
  return {
    next: () => iterator.next(),
    leave() {
      if (typeof stream.destroy === 'function' && typeof stream.pipe === 'function') stream.destroy()
      return iterator.return?.()
    },
  }
}

function isWebStream(items: object): items is ReadableStream {
  return (
    typeof (items as ReadableStream).getReader === 'function' &&
    typeof (items as ReadableStream).cancel === 'function'
  )
}

/** A web stream, through a reader: its async iterator keeps return() waiting behind a next() that waits for data. */
function webItems<T>(stream: ReadableStream<T>): AsyncItems<T> {
  const reader = stream.getReader()
  const release = () => reader.releaseLock()
  return {
    async next() {
      try {
        const result = await reader.read()
        if (result.done) release()
        return result as IteratorResult<T>
      } catch (error) {
        release()
        throw error
      }
    },
    leave: () => reader.cancel().finally(release),
  }
}

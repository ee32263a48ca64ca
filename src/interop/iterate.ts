// Iterating in fibers: `each` runs a body for every item, `iterate` returns a source of the items. Both take arrays,
// generators, async iterables, Node and web streams, queues. The sources themselves are in sources.ts.

import {
  BadArgument,
  check,
  ensure,
  Fiber,
  type Op,
  op,
  type Returned,
  type Routine,
  runReturned,
  show,
} from '../core/index.js'
import { END, type Iterates, type Source } from '../sync/index.js'
import { type AsyncItems, AsyncSource, SyncSource } from './sources.js'

/** What can be iterated over: a queue, an async iterable, a stream, an array or another iterable, a source. */
export type Items<T> = Iterates<T> | Source<T> | AsyncIterable<T> | Iterable<T>

/**
 * Makes a source: `next()` waits for an item and returns `END` at the end; `close()` ends the iteration early, as leaving
 * a `for` loop does (S59). If a fiber is stopped while it waits, no item is lost: the following `next()` returns it.
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
 * Runs a body for every item of an iterable, a stream, a queue or another source, in this fiber, one after the other. Ends
 * with the last item, or when the body returns false. However it ends, the source is closed: an async generator runs its
 * `finally`, a stream is destroyed (S59).
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
  check.body(body, 'each()')
  return op('each()', () => eachOf(sourceOf(items, 'each()'), body))
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

/** Makes a source. `where` is the calling function, for messages. */
export function sourceOf<T>(items: Items<T>, where: string): Source<T> {
  checkItems(items, where)
  const some = items as Iterates<T> & Source<T> & AsyncIterable<T> & Iterable<T>
  if (typeof some.iterate === 'function') return some.iterate()
  if (isWebStream(some)) return new AsyncSource(() => webItems(some))
  if (typeof some[Symbol.asyncIterator] === 'function') return new AsyncSource(() => asyncItems(some))
  if (typeof some[Symbol.iterator] === 'function') return new SyncSource(some)
  return some
}

/** Throws unless `items` can be iterated over. Ops have an iterator, but no items. */
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

/** Any async iterable. Node's streams are destroyed first: their return() would wait behind a next() that waits for data. */
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

/** A web stream, through a reader: the return() of its async iterator would wait behind a next() that waits for data. */
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

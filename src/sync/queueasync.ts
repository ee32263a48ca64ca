// A queue in `for await`. Async code has no fiber, so it stands in line in a place that answers a promise: first come,
// first served among fibers and async code alike, and an item is handed over once, to one of them.

import { Place } from '../core/index.js'
import type { Queue } from './queue.js'
import { END } from './source.js'

class PromisePlace<T> extends Place<typeof END> {
  constructor(private readonly resolve: (result: IteratorResult<T>) => void) {
    super(null, END)
  }
  /** At the end of the queue it is given END. */
  override give(value: unknown): void {
    this.resolve(value === END ? OVER : { done: false, value: value as T })
  }
}
const OVER: IteratorReturnResult<undefined> = { done: true, value: undefined }

export function asyncIterator<T>(queue: Queue<T>): AsyncIterableIterator<T> {
  const { shifters } = queue
  /** Whoever calls next() again before the last one is answered waits more than once. */
  const waiting = new Set<PromisePlace<T>>()
  let isOver = false
  return {
    [Symbol.asyncIterator]() {
      return this
    },
    next() {
      if (isOver) return Promise.resolve(OVER)
      if (queue.size > 0) return Promise.resolve({ done: false, value: queue.tryShift() as T })
      if (queue.closed) return Promise.resolve(OVER)
      return new Promise((resolve) => {
        const place = new PromisePlace<T>((result) => {
          waiting.delete(place)
          resolve(result)
        })
        waiting.add(place)
        shifters.add(place)
      })
    },
    /** Left early: it gives its places up, and no item is lost. */
    return() {
      isOver = true
      for (const place of waiting) {
        shifters.remove(place)
        place.give(END)
      }
      return Promise.resolve(OVER)
    },
  }
}

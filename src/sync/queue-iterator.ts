// A queue in `for await`. Async code has no fiber, so it waits in the line of the queue with a waiter that resolves a
// promise: fibers and async code are served first come, first served, and each item goes to one of them.

import { Waiter } from '../core/index.js'
import type { Queue } from './queue.js'
import { END } from './source.js'

class PromiseWaiter<T> extends Waiter<typeof END> {
  constructor(private readonly resolve: (result: IteratorResult<T>) => void) {
    super(null, END)
  }
  /** A closed queue gives END. */
  override give(value: unknown): void {
    this.resolve(value === END ? OVER : { done: false, value: value as T })
  }
}
const OVER: IteratorReturnResult<undefined> = { done: true, value: undefined }

export function queueIterator<T>(queue: Queue<T>): AsyncIterableIterator<T> {
  const { shifters } = queue
  /** More than one if next() is called again before the last call was answered. */
  const waiting = new Set<PromiseWaiter<T>>()
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
        const waiter = new PromiseWaiter<T>((result) => {
          waiting.delete(waiter)
          resolve(result)
        })
        waiting.add(waiter)
        shifters.add(waiter)
      })
    },
    /** Called when the loop is left early: its waiters leave the line, so no item is lost. */
    return() {
      isOver = true
      for (const waiter of waiting) {
        shifters.remove(waiter)
        waiter.give(END)
      }
      return Promise.resolve(OVER)
    },
  }
}

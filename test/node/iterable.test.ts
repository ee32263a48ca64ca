// toAsyncIterable: what fibers make, read by async code.

import { EventEmitter } from 'node:events'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { assert, describe, END, on, run, snooze, test, toAsyncIterable, until } from '../prelude.js'

/** A source of these items that counts how often it is closed. */
function sourceOf<T>(items: T[]) {
  const source = {
    closed: 0,
    *next() {
      yield* snooze()
      return items.length > 0 ? (items.shift() as T) : END
    },
    *close() {
      yield* snooze()
      source.closed++
    },
  }
  return source
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const item of items) found.push(item)
  return found
}

describe('toAsyncIterable', () => {
  test('gives every item of a source, or of what can be iterated, then ends', async () => {
    assert.deepEqual(await collect(toAsyncIterable(sourceOf([1, 2, 3]))), [1, 2, 3])
    assert.deepEqual(await collect(toAsyncIterable({ iterate: () => sourceOf(['x']) })), ['x'])
    assert.equal(await text(Readable.from(toAsyncIterable(sourceOf(['a', 'b'])))), 'ab')
  })

  test('leaving the loop closes the source, and waits for that', async () => {
    const [left, failed, thrown] = [sourceOf([1, 2]), sourceOf([1, 2]), sourceOf([1, 2])]
    for await (const _ of toAsyncIterable(left)) break
    const failing = async () => {
      for await (const _ of toAsyncIterable(failed)) throw new Error('in the loop')
    }
    await assert.rejects(failing, /in the loop/)
    await assert.rejects(toAsyncIterable(thrown).throw?.(new Error('thrown')) as Promise<unknown>, /thrown/)
    assert.deepEqual([left.closed, failed.closed, thrown.closed], [1, 1, 1])
    const result = await toAsyncIterable(sourceOf([1])).return?.(Promise.resolve('last'))
    assert.deepEqual(result, { done: true, value: 'last' })
  })

  test('throws what the source throws', async () => {
    const emitter = new EventEmitter()
    const running = run(function* () {
      const items = toAsyncIterable(on(emitter, 'x'))
      emitter.emit('error', new Error('broken'))
      return yield* until(collect(items))
    })
    await assert.rejects(running, /broken/)
  })
})

// The parts of the bridge together: events, streams and async generators through each, forEach, race and for await.

import assert from 'node:assert/strict'
import { EventEmitter, getEventListeners } from 'node:events'
import { Readable } from 'node:stream'
import { describe, it } from 'node:test'
import {
  action,
  all,
  each,
  forEach,
  moveOnAfter,
  on,
  Queue,
  race,
  run,
  sleep,
  snooze,
  spin,
  toAsyncIterable,
  until,
} from 'polyphony'
import { virtual } from 'polyphony/testing'
import { expiring } from '../shared/limits.js'

describe('each, over', () => {
  it('events: one by one, until the body returns false, and no listener stays', () =>
    virtual(function* () {
      const emitter = new EventEmitter()
      const got: number[] = []
      const reader = spin(() =>
        each(on<number>(emitter, 'n'), function* (n) {
          yield* sleep(10)
          got.push(n)
          return n < 3
        }),
      )
      yield* sleep(1)
      for (const n of [1, 2, 3, 4]) emitter.emit('n', n)
      yield* reader
      assert.deepEqual(got, [1, 2, 3])
      assert.equal(emitter.listenerCount('n'), 0)
      assert.equal(emitter.listenerCount('error'), 0)
    }))

  it('events: a stop removes the listener', () =>
    virtual(function* () {
      const target = new EventTarget()
      const reader = spin(() => each(on(target, 'tick'), () => {}))
      yield* sleep(1)
      assert.equal(getEventListeners(target, 'tick').length, 1)
      yield* reader.stop()
      assert.equal(getEventListeners(target, 'tick').length, 0)
    }))

  it('events that are an error: it is thrown in the loop', () =>
    virtual(function* () {
      const emitter = new EventEmitter()
      const reader = spin({ link: false }, () => each(on(emitter, 'n'), () => {}))
      yield* sleep(1)
      emitter.emit('error', new Error('broken'))
      const outcome = yield* reader.join()
      assert.equal(outcome.type === 'error' && (outcome.error as Error).message, 'broken')
      assert.equal(emitter.listenerCount('n') + emitter.listenerCount('error'), 0)
    }))

  it('a Node stream and a web stream, through forEach with a concurrency', async () => {
    const results = await run(function* () {
      const upper = (word: string) =>
        (function* () {
          yield* snooze()
          return String(word).toUpperCase()
        })()
      const web = new Blob(['abc']).stream().pipeThrough(new TextDecoderStream())
      return yield* all([
        forEach(Readable.from(['a', 'b', 'c']), upper, { concurrency: 2 }),
        forEach(web, upper, { concurrency: 2 }),
      ])
    })
    assert.deepEqual(results, [['A', 'B', 'C'], ['ABC']])
  })
})

it('S57 the loser of a race aborts what it waits for', async () => {
  let reason: unknown
  const value = await run(() =>
    race([
      () =>
        until(
          (signal) =>
            new Promise((_, reject) => {
              signal.addEventListener('abort', () => {
                reason = signal.reason
                reject(signal.reason)
              })
            }),
        ),
      () => action<string>((settle) => void setImmediate(settle, 'quick')),
    ]),
  )
  assert.equal(value, 'quick')
  assert.notEqual(reason, undefined)
})

it('a queue joins async code and fibers: for await on one side, push with back-pressure on the other', async () => {
  const queue = new Queue<number>({ capacity: 1 })
  const producer = run(function* () {
    for (let n = 1; n <= 5; n++) yield* queue.push(n)
    queue.close()
  })
  const got: number[] = []
  for await (const n of queue) {
    assert.ok(queue.size <= 1)
    got.push(n)
  }
  await producer
  assert.deepEqual(got, [1, 2, 3, 4, 5])
})

it('a time limit around an async loop lets go of its source', async () => {
  let closed = false
  let count = 0
  async function* ticks() {
    try {
      for (let n = 0; ; n++) {
        await new Promise((resolve) => setImmediate(resolve))
        count = n
        yield n
      }
    } finally {
      closed = true
    }
  }
  const loop = () => each(ticks(), () => {})
  const value = await run(() => expiring(moveOnAfter, loop, 'over', () => count >= 3))
  assert.deepEqual([value, closed], ['over', true])
})

it('toAsyncIterable gives async code what fibers iterate over, and leaving early closes it', async () => {
  const queue = new Queue<string>()
  for (const word of ['one', 'two', 'three']) queue.tryPush(word)
  const got: string[] = []
  for await (const word of toAsyncIterable(queue)) {
    got.push(word)
    if (word === 'two') break
  }
  assert.deepEqual([got, queue.size], [['one', 'two'], 1])
})

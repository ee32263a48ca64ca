// Fibers inside async code: run from wherever callbacks come from, `using` in generators, sources read by `for await`.

import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { describe, it } from 'node:test'
import {
  action,
  BadArgument,
  Fiber,
  FiberStopped,
  fiberTree,
  on,
  receive,
  run,
  runtimeStats,
  sleep,
  snooze,
  spin,
  toAsyncIterable,
  until,
} from 'polyphony'
import { END } from '#sync/source'
import { turns } from '../prelude.js'

function* square(n: number) {
  yield* snooze()
  return n * n
}

describe('S30 run inside callbacks', () => {
  it('from a timer, a microtask, an immediate and a promise, beside each other', async () => {
    const results = await run(function* () {
      const inTimer = action<Promise<number>>(
        (settle) => void setTimeout(() => settle(run(() => square(2))), 1),
      )
      const inTick = action<Promise<number>>((settle) => process.nextTick(() => settle(run(() => square(3)))))
      const inImmediate = action<Promise<number>>((settle) => {
        setImmediate(() => settle(run(() => square(4))))
      })
      const inPromise = until(Promise.resolve().then(() => run(() => square(5))))
      return [
        yield* until(yield* inTimer),
        yield* until(yield* inTick),
        yield* until(yield* inImmediate),
        yield* inPromise,
      ]
    })
    assert.deepEqual(results, [4, 9, 16, 25])
  })

  it('from inside the step of a fiber: a tree of its own, which the fiber does not own', async () => {
    const log: string[] = []
    let inner!: ReturnType<typeof run>
    await run(
      function* () {
        inner = run(
          function* () {
            log.push(Fiber.current.path)
            yield* receive()
            log.push('inner done')
          },
          { name: 'inner' },
        )
        assert.equal(Fiber.current.name, 'outer')
        assert.deepEqual(Fiber.current.children, [])
        assert.equal(log.length, 0, 'it runs later')
        yield* snooze()
      },
      { name: 'outer' },
    )
    assert.deepEqual(log, ['inner'])
    inner.fiber.send('go on')
    await inner
    assert.deepEqual(log, ['inner', 'inner done'])
  })

  it('from a listener that a fiber calls by emitting: the fiber goes on undisturbed', async () => {
    const emitter = new EventEmitter()
    const answers: Promise<number>[] = []
    emitter.on('n', (n) => answers.push(run(() => square(n))))
    const name = await run(
      function* () {
        for (let n = 0; n < 100; n++) {
          emitter.emit('n', n)
          if (n % 7 === 0) yield* snooze()
        }
        return Fiber.current.name
      },
      { name: 'emitting' },
    )
    assert.equal(name, 'emitting')
    assert.deepEqual(
      await Promise.all(answers),
      Array.from({ length: 100 }, (_, n) => n * n),
    )
  })

  it('one that fails, or is stopped, does not touch the others', async () => {
    const before = runtimeStats().fibers
    const good = run(() => receive())
    const bad = run(function* () {
      yield* snooze()
      throw new Error('only mine')
    })
    const stopped = run(() => sleep())
    await assert.rejects(bad, /only mine/)
    await stopped.stop()
    await assert.rejects(stopped, FiberStopped)
    good.fiber.send('go on')
    await good
    assert.equal(runtimeStats().fibers, before)
  })

  it('a stop and a raise may come from any callback', async () => {
    const raised = run(() => sleep())
    setTimeout(() => raised.fiber.raise('from a timer'), 1)
    await assert.rejects(raised, /from a timer/)
    const child = run(function* () {
      const fiber = spin(() => sleep())
      setImmediate(() => fiber.stop('from an immediate'))
      return yield* fiber
    })
    assert.equal(await child, 'from an immediate')
    assert.equal(fiberTree().length, 0)
  })
})

describe('S60 dispose', () => {
  it('using inside a generator is cleaned up at the end of its block, also by a stop', async () => {
    const log: string[] = []
    const resource = (name: string): Disposable => ({
      [Symbol.dispose]: () => void log.push(`${name} disposed`),
    })
    const running = run(function* () {
      {
        using _inner = resource('inner')
        yield* snooze()
        log.push('in the block')
      }
      using _first = resource('first')
      using _second = resource('second')
      log.push('waiting')
      yield* sleep()
      log.push('never')
    })
    while (!log.includes('waiting')) await new Promise((resolve) => setImmediate(resolve))
    await running.stop()
    assert.deepEqual(log, ['in the block', 'inner disposed', 'waiting', 'second disposed', 'first disposed'])
  })

  it('await using of a run stops it and waits for its cleanup', async () => {
    const log: string[] = []
    {
      await using running = run(function* () {
        try {
          yield* sleep()
        } finally {
          yield* until(turns(3))
          log.push('cleaned up')
        }
      })
      while (running.fiber.state !== 'waiting') await new Promise((resolve) => setImmediate(resolve))
    }
    assert.deepEqual(log, ['cleaned up'])
  })
})

describe('toAsyncIterable', () => {
  /** A source that a test can look into. */
  function source<T>(items: T[]) {
    const state = { closed: 0 }
    const next = function* () {
      yield* snooze()
      return items.length > 0 ? (items.shift() as T) : END
    }
    const close = function* () {
      yield* snooze()
      state.closed++
    }
    return { state, source: { next, close } }
  }

  it('gives every item, then ends', async () => {
    const got: number[] = []
    for await (const n of toAsyncIterable(source([1, 2, 3]).source)) got.push(n)
    assert.deepEqual(got, [1, 2, 3])
  })

  it('leaving the loop closes the source, and waits for that', async () => {
    const { source: numbers, state } = source([1, 2, 3])
    for await (const _ of toAsyncIterable(numbers)) break
    assert.equal(state.closed, 1)
    const failing = source([1])
    await assert.rejects(async () => {
      for await (const _ of toAsyncIterable(failing.source)) throw new Error('in the loop')
    }, /in the loop/)
    assert.equal(failing.state.closed, 1)
  })

  it('throws what the source throws', async () => {
    const emitter = new EventEmitter()
    const running = run(function* () {
      const items = toAsyncIterable(on(emitter, 'x'))
      emitter.emit('x', 1)
      emitter.emit('error', new Error('broken'))
      return yield* until(collect(items))
    })
    await assert.rejects(running, /broken/)
  })

  it('feeds what takes async iterables: a stream, a response', async () => {
    assert.equal(await text(Readable.from(toAsyncIterable(source(['a', 'b']).source))), 'ab')
    const body = ReadableStream.from(toAsyncIterable(source(['c', 'd'].map((s) => Buffer.from(s))).source))
    assert.equal(await new Response(body as any).text(), 'cd')
  })

  it('takes what can be iterated, and refuses the rest in words', async () => {
    const iterates = { iterate: () => source(['x']).source }
    assert.deepEqual(await collect(toAsyncIterable(iterates)), ['x'])
    for (const wrong of [undefined, null, 5, [], {}]) {
      assert.throws(() => toAsyncIterable(wrong as any), BadArgument)
    }
    assert.throws(() => toAsyncIterable([1] as any), /needs a source of items: a queue, on\(...\)/)
  })
})

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const item of items) found.push(item)
  return found
}

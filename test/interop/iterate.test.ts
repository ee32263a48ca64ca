// iterate and each: arrays, generators, async generators, Node streams, web streams (S59).

import assert from 'node:assert/strict'
import { PassThrough, Readable } from 'node:stream'
import { describe, it } from 'node:test'
import {
  BadArgument,
  BadYield,
  END,
  each,
  ensure,
  Fiber,
  iterate,
  moveOnAfter,
  now,
  type Routine,
  run,
  type Source,
  sleep,
  snooze,
  spin,
  suppressedErrors,
  until,
} from 'polyphony'
import { stopEverywhere, virtual } from 'polyphony/testing'
import { thrownBy, turns } from '../prelude.js'
import { expiring } from '../shared/limits.js'

/** All items that are left. */
function* rest<T>(source: Source<T>): Routine<T[]> {
  const items: T[] = []
  for (;;) {
    const item = yield* source.next()
    if (item === END) return items
    items.push(item as T)
  }
}

/** An async generator that notes when it is left, and can be made to wait for a promise. */
async function* numbers(log: string[], wait?: Promise<unknown>): AsyncGenerator<number> {
  try {
    for (let n = 1; n <= 3; n++) {
      if (n === 2) await wait
      yield n
    }
    log.push('whole')
  } finally {
    log.push('finally')
  }
}

function deferred<T = void>() {
  let resolve!: (value: T) => void
  let reject!: (error: unknown) => void
  const promise = new Promise<T>((yes, no) => {
    resolve = yes
    reject = no
  })
  return { promise, resolve, reject }
}

/** Lets promises settle and streams go on. */
const loopTurns = () => until(new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve))))
const never = new Promise<never>(() => {})

/** How many listeners a stream has for what a reader listens to. */
const listening = (stream: Readable) =>
  ['readable', 'data', 'end', 'error', 'close'].map((event) => stream.listenerCount(event))

/** The reports that were made in this world. */
const reports = () => (Fiber.current as any).runtime.stats().reports as number

describe('iterate', () => {
  it('gives the items of arrays, sets, generators, strings and async generators, then END for ever', () =>
    run(function* () {
      function* three() {
        yield* [1, 2, 3]
      }
      for (const items of [[1, 2, 3], new Set([1, 2, 3]), three(), numbers([]), Readable.from([1, 2, 3])]) {
        const source = iterate<number>(items)
        assert.deepEqual(yield* rest(source), [1, 2, 3])
        assert.equal(yield* source.next(), END)
      }
      assert.deepEqual(yield* rest(iterate('ab')), ['a', 'b'])
      assert.deepEqual(yield* rest(iterate([])), [])
      assert.deepEqual(yield* rest(iterate([undefined, null])), [undefined, null])
    }))

  it('takes anything with iterate(), and a source itself', () =>
    virtual(function* () {
      let closed = 0
      const queue = {
        iterate: (): Source<number> => ({
          *next() {
            yield* snooze()
            return END
          },
          *close() {
            closed++
          },
        }),
      }
      assert.deepEqual(yield* rest(iterate(queue)), [])
      yield* each(queue.iterate(), () => {})
      assert.equal(closed, 1)
    }))

  it('S59 a stop while next() is under way loses no item: the next next() gives it', () =>
    run(function* () {
      const gate = deferred()
      const source = iterate(numbers([], gate.promise))
      assert.equal(yield* source.next(), 1)
      const reader = spin(() => source.next())
      yield* loopTurns()
      yield* reader.stop()
      assert.equal(yield* moveOnAfter(0, () => source.next(), 'moved on'), 'moved on')
      gate.resolve()
      yield* loopTurns() // the item comes while nobody waits
      assert.deepEqual(yield* rest(source), [2, 3])
    }))

  it('S59 an error that came while nobody was waiting is thrown at the next next(), then it is over', () =>
    run(function* () {
      const gate = deferred()
      const source = iterate(numbers([], gate.promise))
      yield* source.next()
      const reader = spin(() => source.next())
      yield* loopTurns()
      yield* reader.stop()
      const error = new Error('broken')
      gate.reject(error)
      yield* loopTurns()
      assert.equal(yield* thrownBy(source.next()), error)
      assert.equal(yield* source.next(), END)
    }))

  it('S52 fibers that share a source are served in the order in which they came', () =>
    run(function* () {
      const gate = deferred()
      const source = iterate(numbers([], gate.promise))
      const readers = [1, 2, 3, 4, 5].map(() => spin(() => source.next()))
      yield* loopTurns()
      yield* (readers[2] as Fiber).stop()
      gate.resolve()
      const others = readers.filter((_, i) => i !== 2)
      assert.deepEqual(yield* Fiber.await(...others), [1, 2, 3, END])
    }))

  it('an error goes to the first that waits, the others get END', () =>
    run(function* () {
      const gate = deferred()
      const source = iterate(numbers([], gate.promise))
      yield* source.next()
      const readers = [1, 2].map(() => spin({ link: false }, () => source.next()))
      yield* loopTurns()
      gate.reject(new Error('broken'))
      const outcomes = [yield* (readers[0] as Fiber).join(), yield* (readers[1] as Fiber).join()]
      assert.deepEqual(
        outcomes.map(({ type }) => type),
        ['error', 'value'],
      )
    }))

  it('S59 close() leaves as a for loop would: finally runs, and next() gives END', () =>
    run(function* () {
      const log: string[] = []
      const source = iterate(numbers(log))
      yield* source.next()
      yield* source.close()
      assert.deepEqual(log, ['finally'])
      assert.equal(yield* source.next(), END)
      yield* source.close()
      function* generator() {
        try {
          yield 1
          yield 2
        } finally {
          log.push('sync')
        }
      }
      const sync = iterate(generator())
      yield* sync.next()
      yield* sync.close()
      assert.deepEqual([log, yield* sync.next()], [['finally', 'sync'], END])
    }))

  it('close() after the end, or after an error, does nothing', () =>
    run(function* () {
      let returned = 0
      const items = (fails: boolean) => ({
        [Symbol.asyncIterator]: () => ({
          next: async () => {
            if (fails) throw new Error('broken')
            return { done: true as const, value: undefined }
          },
          return: async () => {
            returned++
            return { done: true as const, value: undefined }
          },
        }),
      })
      const whole = iterate(items(false))
      yield* whole.next()
      yield* whole.close()
      const broken = iterate(items(true))
      yield* thrownBy(broken.next())
      yield* broken.close()
      assert.equal(returned, 0)
    }))

  it('others who wait when a source is closed get END', () =>
    run(function* () {
      const source = iterate(new PassThrough())
      const reader = spin(() => source.next())
      yield* loopTurns()
      yield* source.close()
      assert.equal(yield* reader, END)
    }))

  it('iterators that break their contract fail in order', () =>
    run(function* () {
      const made = (next: () => any) => iterate({ [Symbol.asyncIterator]: () => ({ next }) })
      assert.match((yield* thrownBy(made(() => Promise.resolve(5)).next())).message, /gave 5, not an object/)
      const throws = made(() => {
        throw new Error('at once')
      })
      assert.equal((yield* thrownBy(throws.next())).message, 'at once')
      assert.equal(yield* throws.next(), END)
      assert.equal(yield* made(() => ({ done: false, value: 'no promise' })).next(), 'no promise')
    }))

  it('what has no items is refused at the call, with what to do instead', () =>
    virtual(function* () {
      const refused = (items: unknown, message: RegExp) => {
        for (const call of [() => iterate(items as any), () => each(items as any, () => {})]) {
          assert.throws(call, (error) => error instanceof BadArgument && message.test(error.message))
        }
      }
      refused(5, /needs something with items .* got 5/)
      refused(undefined, /got undefined/)
      refused({}, /got an object of class Object/)
      refused(Promise.resolve([]), /yield\* until\(promise\)/)
      refused(sleep(1), /was given an op.*yield\* it/)
      refused(
        spin(() => []),
        /was given an op/,
      )
      assert.throws(() => each([], 5 as any), BadArgument)
      assert.throws(() => each([], (async () => {}) as any), /until/)
    }))

  it('S69 a routine is not a list of items', () =>
    virtual(function* () {
      function* routine() {
        yield* sleep(1)
      }
      assert.ok((yield* thrownBy(each(routine(), () => {}))) instanceof BadYield)
      yield* sleep(1) // the fiber is sound
    }))
})

describe('each', () => {
  it('runs the body for every item, in order, in this fiber', () =>
    run(function* () {
      const me = Fiber.current
      const seen: unknown[] = []
      yield* each(numbers([]), function* (n, index) {
        assert.equal(Fiber.current, me)
        yield* snooze()
        seen.push([n, index])
      })
      yield* each(['plain'], (word) => void seen.push(word))
      assert.deepEqual(seen, [[1, 0], [2, 1], [3, 2], 'plain'])
    }))

  it('ends when the body returns false, and lets the source go', () =>
    run(function* () {
      const log: string[] = []
      yield* each(numbers(log), (n) => n < 2)
      yield* each(numbers(log), function* (n) {
        return n < 2
      })
      assert.deepEqual(log, ['finally', 'finally'])
      yield* each(numbers(log), (n) => n < 2 || undefined) // only false ends it
      assert.deepEqual(log.slice(2), ['whole', 'finally'])
    }))

  it('S59 an error of the body lets the source go first; one of the source is thrown as it is', () =>
    run(function* () {
      const log: string[] = []
      const error = new Error('body')
      const thrown = yield* thrownBy(
        each(numbers(log), () => {
          throw error
        }),
      )
      assert.deepEqual([thrown, log], [error, ['finally']])
      const broken = new Error('source')
      const failed = Promise.reject(broken)
      failed.catch(() => {}) // it is waited for later
      assert.equal(yield* thrownBy(each(numbers([], failed), () => {})), broken)
    }))

  it('S22 an error as it lets the source go is kept beside that of the body', () =>
    run(function* () {
      const [error, other] = [new Error('body'), new Error('finally')]
      async function* clumsy() {
        try {
          yield 1
        } finally {
          // biome-ignore lint/correctness/noUnsafeFinally: that is the point
          throw other
        }
      }
      const thrown = yield* thrownBy(
        each(clumsy(), () => {
          throw error
        }),
      )
      assert.equal(thrown, error)
      assert.deepEqual(suppressedErrors(thrown), [other])
      assert.equal(yield* thrownBy(each(clumsy(), () => false)), other)
    }))

  it('S16b S59 a stop waits until the generator is left, however often it is stopped', () =>
    run(function* () {
      const log: string[] = []
      async function* slow() {
        try {
          yield 1
        } finally {
          await turns(5)
          log.push('left')
        }
      }
      const fiber = spin(() => each(slow(), () => sleep()))
      yield* loopTurns()
      fiber.stop()
      fiber.stop()
      yield* fiber.join()
      assert.deepEqual(log, ['left'])
    }))

  it('S59 an async generator that never answers is left behind after the grace, and reported', () =>
    virtual(function* () {
      const fiber = spin({ grace: 100 }, () => each(numbers([], never), () => {}))
      yield* loopTurns()
      const before = reports()
      assert.deepEqual(yield* fiber.stop(), { type: 'stopped', value: undefined })
      assert.equal(reports(), before + 1)
      // In a fiber that lives on, after an error:
      Fiber.current.grace = 100
      const thrown = yield* thrownBy(
        (function* () {
          const me = Fiber.current
          spin(function* () {
            yield* loopTurns()
            me.raise('from outside')
          })
          yield* each(numbers([], never), () => {})
        })(),
      )
      assert.equal(thrown.message, 'from outside')
      assert.equal(reports(), before + 2)
    }))

  it('S17 waiting for the next item is refused in cleanup, unless ensure or shield allow it', () =>
    run(function* () {
      const seen: unknown[] = []
      const fiber = spin(function* () {
        try {
          yield* sleep()
        } finally {
          yield* ensure(
            () => {},
            () => each(numbers([]), (n) => void seen.push(n)),
          )
          yield* each([10], (n) => void seen.push(n)) // what is there already is no new work
          yield* each(numbers([]), () => void seen.push('never'))
        }
      })
      yield* loopTurns()
      yield* fiber.stop()
      assert.deepEqual(seen, [1, 2, 3, 10])
    }))

  it('says what it waits for', () =>
    virtual(function* () {
      const fiber = spin({ grace: 1 }, () => each(numbers([], never), () => {}))
      yield* loopTurns()
      assert.equal(fiber.waitsFor, 'the next item')
      yield* fiber.kill()
    }))

  it('S09 S50 an endless list that is there already lets others run, and can be stopped', () =>
    virtual(function* () {
      function* endless() {
        for (;;) yield 1
      }
      let count = 0
      const fiber = spin(() => each(endless(), () => void count++))
      while (count === 0) yield* snooze()
      yield* fiber.stop()
    }))

  it('stopped at every switchpoint, it closes what it has opened', () => {
    let open = 0
    function* items() {
      open++
      try {
        yield* [1, 2, 3]
      } finally {
        open--
      }
    }
    const source = {
      iterate(): Source<number> {
        open++
        return {
          *next() {
            yield* sleep(1)
            return 1
          },
          *close() {
            yield* sleep(1)
            open--
          },
        }
      },
    }
    let count = 0
    const { switchpoints } = stopEverywhere(
      function* () {
        open = 0
        count = 0
        yield* each(items(), () => snooze())
        yield* each(source, () => ++count < 3)
      },
      { check: () => assert.equal(open, 0) },
    )
    assert.ok(switchpoints > 10)
  })
})

describe('each over Node streams', () => {
  it('gives the chunks; an early leave destroys the stream', () =>
    run(function* () {
      const stream = Readable.from(['a', 'b', 'c'])
      const seen: string[] = []
      yield* each(stream, (chunk: string) => {
        seen.push(chunk)
        return chunk !== 'b'
      })
      assert.deepEqual([seen, stream.destroyed], [['a', 'b'], true])
    }))

  it('S59 a stop while it waits for data destroys the stream at once', () =>
    virtual(function* () {
      const stream = new PassThrough()
      const fiber = spin(() => each(stream, () => {}))
      yield* loopTurns()
      const start = now()
      assert.deepEqual(yield* fiber.stop(), { type: 'stopped', value: undefined })
      assert.equal(now() - start, 0, 'it did not wait for the grace')
      assert.equal(stream.destroyed, true)
    }))

  it('S59 one that is stopped before the first item is destroyed too', () =>
    run(function* () {
      const stream = new PassThrough()
      const fiber = spin(function* () {
        Fiber.current.stop()
        yield* each(stream, () => {})
      })
      yield* fiber.join()
      assert.equal(stream.destroyed, true)
    }))

  it('its error is thrown at the wait', () =>
    run(function* () {
      const stream = new PassThrough()
      const error = new Error('disk on fire')
      setImmediate(() => stream.destroy(error))
      assert.equal(yield* thrownBy(each(stream, () => {})), error)
    }))

  it('a time limit around next() loses nothing of a stream that goes on', () =>
    run(function* () {
      const stream = new PassThrough({ objectMode: true })
      const source = iterate(stream)
      assert.equal(yield* expiring(moveOnAfter, () => source.next(), 'nothing yet'), 'nothing yet')
      const before = listening(stream)
      for (let i = 0; i < 20; i++) yield* moveOnAfter(0, () => source.next())
      assert.deepEqual(listening(stream), before) // no listener for each of them
      stream.write('one')
      stream.end('two')
      yield* loopTurns()
      assert.deepEqual(yield* rest(source), ['one', 'two'])
    }))
})

describe('each over web streams', () => {
  const stream = (log: unknown[], chunks: string[]) =>
    new ReadableStream<string>({
      async pull(controller) {
        controller.enqueue(chunks.shift() ?? (await never))
      },
      cancel: (reason) => void log.push(['cancelled', reason]),
    })

  it('S59 an early leave cancels the stream and releases its lock', () =>
    run(function* () {
      const log: unknown[] = []
      const source = stream(log, ['a', 'b', 'c'])
      yield* each(source, (chunk) => chunk !== 'b')
      assert.deepEqual([log, source.locked], [[['cancelled', undefined]], false])
    }))

  it('S59 so does a stop while it waits for a chunk that never comes', () =>
    run(function* () {
      const log: unknown[] = []
      const source = stream(log, ['a'])
      const seen: string[] = []
      const fiber = spin(() => each(source, (chunk) => void seen.push(chunk)))
      yield* loopTurns()
      assert.equal(source.locked, true)
      assert.deepEqual(yield* fiber.stop(), { type: 'stopped', value: undefined })
      assert.deepEqual([seen, log.length, source.locked], [['a'], 1, false])
    }))

  it('read to its end, or broken, it is unlocked and not cancelled', () =>
    run(function* () {
      const whole = new ReadableStream<string>({
        start(controller) {
          controller.enqueue('a')
          controller.close()
        },
      })
      assert.deepEqual(yield* rest(iterate(whole)), ['a'])
      assert.equal(whole.locked, false)
      const error = new Error('broken')
      const broken = new ReadableStream<string>({ start: (controller) => controller.error(error) })
      assert.equal(yield* thrownBy(each(broken, () => {})), error)
      assert.equal(broken.locked, false)
    }))

  it('one that somebody else reads already is refused by the platform', () =>
    run(function* () {
      const source = stream([], ['a'])
      const reader = source.getReader()
      assert.ok((yield* thrownBy(each(source, () => {}))) instanceof TypeError)
      reader.releaseLock()
    }))

  it('the body of a fetch can be read', () =>
    run(function* () {
      const response = yield* until(fetch('data:text/plain,hello'))
      let text = ''
      const decoder = new TextDecoder()
      yield* each(
        response.body as ReadableStream<Uint8Array>,
        (chunk) => void (text += decoder.decode(chunk)),
      )
      assert.equal(text, 'hello')
    }))
})

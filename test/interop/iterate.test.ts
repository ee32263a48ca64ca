// iterate and each: sources of every kind, shared sources, close(), iterators that break their contract.

import { EventEmitter } from 'node:events'
import { PassThrough } from 'node:stream'
import {
  assert,
  describe,
  END,
  each,
  ensure,
  type Fiber,
  iterate,
  moveOnAfter,
  type Op,
  on,
  type Routine,
  reports,
  type Source,
  sleep,
  snooze,
  spin,
  started,
  thrownBy,
  waits,
} from '../prelude.js'
import { deferred, listeners, numbers, rest, settling, test } from './outside.js'

type Late = ReturnType<typeof deferred<IteratorResult<number>>>

/** The source of an async iterator that has only these methods. */
const made = (methods: object): Source<unknown> =>
  iterate({ [Symbol.asyncIterator]: () => methods as AsyncIterator<unknown> })

describe('iterate', () => {
  test('takes anything with iterate(), and a source itself, which each closes', function* () {
    let closed = 0
    const source: Source<number> = {
      *next() {
        yield* snooze()
        return END
      },
      *close() {
        closed++
      },
    }
    assert.deepEqual(yield* rest(iterate({ iterate: () => source })), [])
    yield* each(source, () => {})
    assert.equal(closed, 1)
  })

  /** Fibers that wait for an item each, in this order. */
  function* readersOf(source: Source<unknown>, count: number): Routine<Fiber<unknown>[]> {
    const readers: Fiber<unknown>[] = []
    for (let i = 0; i < count; i++) readers.push(yield* started(() => source.next()))
    return readers
  }
  /** What each of them got: an item, END or an error. */
  function* answersTo(readers: Fiber<unknown>[]): Routine<unknown[]> {
    const answers: unknown[] = []
    for (const reader of readers) {
      const outcome = yield* reader.join()
      answers.push(outcome.type === 'error' ? (outcome.error as Error).message : (outcome as any).value)
    }
    return answers
  }

  test('S52 fibers that share a source are served in the order in which they came', function* () {
    const { promise, resolve } = deferred()
    const readers = yield* readersOf(iterate(numbers([], promise)), 6)
    yield* readers[2]?.stop() as Op<unknown>
    resolve()
    assert.deepEqual(yield* answersTo(readers), [1, 2, undefined, 3, END, END])
  })

  test('an error goes to the first fiber that waits, the others get END', function* () {
    const { promise, reject } = deferred()
    const readers = yield* readersOf(iterate(numbers([], promise)), 4)
    reject(new Error('broken'))
    assert.deepEqual(yield* answersTo(readers), [1, 'broken', END, END])
    const first = deferred<IteratorResult<number>>()
    const answers = [() => first.promise]
    const next = () => (answers.shift() ?? assert.fail('at once'))()
    const others = yield* readersOf(made({ next }), 3)
    first.resolve({ value: 1 })
    assert.deepEqual(yield* answersTo(others), [1, 'at once', END])
  })

  test('close() ends a source: what waits gets END, what is kept or comes later is dropped', function* () {
    const lates = [(late: Late) => late.resolve({ value: 1 }), (late: Late) => late.reject('late')]
    for (const answer of lates) {
      const late = deferred<IteratorResult<number>>()
      const source = made({ next: () => late.promise })
      const readers = yield* readersOf(source, 2)
      yield* source.close()
      answer(late)
      yield* settling()
      assert.deepEqual([...(yield* answersTo(readers)), yield* source.next()], [END, END, END])
    }
    const { promise, resolve } = deferred()
    const kept = iterate(numbers([], promise))
    yield* kept.next()
    yield* moveOnAfter(1, () => kept.next())
    resolve()
    yield* settling()
    yield* kept.close()
    assert.equal(yield* kept.next(), END)
  })

  test('close() calls return() once, and not at all after the end or an error', function* () {
    let returned = 0
    const answers = {
      end: async () => ({ done: true }),
      error: () => Promise.reject('broken'),
      item: async () => ({}),
    }
    for (const [kind, next] of Object.entries(answers)) {
      const source = made({ next, return: async () => ++returned })
      yield* kind === 'error' ? thrownBy(source.next()) : source.next()
      for (let i = 0; i < 2; i++) yield* source.close()
      assert.equal(returned, kind === 'item' ? 1 : 0, kind)
    }
  })

  test('so it does for what is there already, if that was begun', function* () {
    const log: string[] = []
    function* items() {
      try {
        yield* [1, 2]
      } finally {
        log.push('closed')
      }
    }
    const [begun, whole, unread] = [iterate(items()), iterate(items()), iterate(items())]
    assert.equal(yield* begun.next(), 1)
    for (let i = 0; i < 2; i++) yield* begun.close()
    assert.deepEqual([yield* begun.next(), log.splice(0)], [END, ['closed']])
    yield* rest(whole)
    yield* whole.close()
    yield* unread.close()
    assert.deepEqual([yield* unread.next(), log], [END, ['closed']])
    const throwing = iterate({ [Symbol.iterator]: () => ({ next: () => assert.fail('broken') }) })
    assert.equal((yield* thrownBy(throwing.next())).message, 'broken')
    assert.equal(yield* throwing.next(), END)
  })

  const broken: [string, object, string][] = [
    ['gives no object', { next: async () => 5 }, 'the next() of an async iterator gave 5, not an object'],
    ['gives null', { next: async () => null }, 'the next() of an async iterator gave null, not an object'],
    ['throws at once', { next: () => assert.fail('at once') }, 'at once'],
    [
      'gives a result that throws when it is read',
      { next: async () => Object.defineProperty({}, 'done', { get: () => assert.fail('unreadable') }) },
      'unreadable',
    ],
  ]
  for (const [what, methods, message] of broken) {
    test(`an iterator that ${what} fails, then it is over`, function* () {
      const source = made(methods)
      assert.equal((yield* thrownBy(source.next())).message, message)
      assert.equal(yield* source.next(), END)
    })
  }

  test('an iterator may give its answers without promises, and have no return()', function* () {
    const next = () => ({ done: false, value: 'no promise' })
    for (const more of [
      {},
      ...[{ done: true }, null, undefined, 5].map((given) => ({ return: () => given })),
    ]) {
      const source = made({ next, ...more })
      assert.equal(yield* source.next(), 'no promise')
      yield* source.close()
    }
  })

  test('a limit around next() loses nothing of a Node stream, and adds no listeners to it', function* () {
    const stream = new PassThrough({ objectMode: true })
    const listening = () => stream.eventNames().map((event) => stream.listenerCount(event))
    const source = iterate(stream)
    assert.equal(yield* moveOnAfter(5, () => source.next(), 'nothing yet'), 'nothing yet')
    const before = listening()
    for (let i = 0; i < 20; i++) yield* moveOnAfter(0, () => source.next())
    assert.deepEqual(listening(), before)
    stream.write('one')
    stream.end('two')
    yield* settling()
    assert.deepEqual(yield* rest(source), ['one', 'two'])
    const failing = new PassThrough()
    setImmediate(() => failing.destroy(new Error('disk on fire')))
    assert.equal((yield* thrownBy(each(failing, () => {}))).message, 'disk on fire')
  })
})

describe('each', () => {
  test('S17 waiting for the next item is refused in cleanup, unless it is there already or ensure allows it', function* () {
    const seen: unknown[] = []
    const fiber = yield* started(() =>
      waits(function* () {
        yield* ensure(
          () => {},
          () => each(numbers(), (n) => void seen.push(n)),
        )
        yield* each([10], (n) => void seen.push(n))
        yield* each(numbers(), () => void seen.push('new work'))
      }),
    )
    yield* fiber.stop()
    assert.deepEqual(seen, [1, 2, 3, 10])
  })

  test('a fiber without a bound for its cleanup waits for the source as long as it takes', function* () {
    const { promise, resolve } = deferred()
    const fiber = spin({ grace: Infinity }, () => each(numbers([], promise), () => {}))
    yield* settling()
    assert.equal(fiber.waitsFor, 'the next item')
    fiber.stop()
    yield* sleep(3_600_000)
    assert.equal(fiber.state, 'waiting')
    resolve()
    assert.deepEqual([(yield* fiber.join()).type, reports()], ['stopped', []])
  })

  test('events are sources: each closes them when it is left', function* () {
    const emitter = new EventEmitter()
    const got: number[] = []
    const reader = yield* started(() =>
      each(on<number>(emitter, 'n'), function* (n) {
        yield* sleep(10)
        got.push(n)
        return n < 3
      }),
    )
    for (const n of [1, 2, 3, 4]) emitter.emit('n', n)
    yield* reader
    assert.deepEqual([got, listeners(emitter)], [[1, 2, 3], 0])
    const waiting = yield* started(() => each(on(emitter, 'n'), () => {}))
    yield* waiting.stop()
    assert.equal(listeners(emitter), 0)
  })
})

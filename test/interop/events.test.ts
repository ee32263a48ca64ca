// on and once: the events of emitters and event targets. No event is missed, no listener stays, no error is lost.

import assert from 'node:assert/strict'
import { EventEmitter, getEventListeners } from 'node:events'
import { describe, it } from 'node:test'
import {
  BadArgument,
  type Events,
  Fiber,
  moveOnAfter,
  NotInFiber,
  on,
  once,
  sleep,
  snooze,
  spin,
} from 'polyphony'
import { explore, failEverywhere, raiseEverywhere, stopEverywhere, virtual } from 'polyphony/testing'
import { END } from '#sync/source'
import { thrownBy } from '../prelude.js'

const listeners = (emitter: EventEmitter<any>) =>
  emitter.eventNames().reduce((sum, name) => sum + emitter.listenerCount(name), 0)
const reports = () => (Fiber.current as any).runtime.backend.reports as { kind: string; message: string }[]
const external = () => (Fiber.current as any).runtime.external as number

/** Everything a source gives until its end. */
function* rest<T>(events: Events<T>) {
  const found: T[] = []
  for (;;) {
    const item = yield* events.next()
    if (item === END) return found
    found.push(item)
  }
}

describe('on', () => {
  it('gives every event since the call, in order', () =>
    virtual(function* () {
      const emitter = new EventEmitter<{ n: [number] }>()
      const numbers = on(emitter, 'n')
      for (let n = 0; n < 20; n++) emitter.emit('n', n)
      assert.deepEqual(numbers.stats(), { unread: 20, dropped: 0, waiting: 0 })
      for (let n = 0; n < 20; n++) assert.equal(yield* numbers.next(), n)
      spin(function* () {
        yield* sleep(5)
        emitter.emit('n', 20)
      })
      assert.equal(yield* numbers.next(), 20)
      assert.equal(external(), 0)
    }))

  it('an item is the first argument; with args, all of them', () =>
    virtual(function* () {
      const emitter = new EventEmitter<{ exit: [number, string]; bare: [] }>()
      const first = on(emitter, 'exit')
      const all = on(emitter, 'exit', { args: true })
      const bare = on(emitter, 'bare')
      const none = on(emitter, 'bare', { args: true })
      emitter.emit('exit', 1, 'SIGTERM')
      emitter.emit('bare')
      assert.equal(yield* first.next(), 1)
      assert.deepEqual(yield* all.next(), [1, 'SIGTERM'])
      assert.equal(yield* bare.next(), undefined)
      assert.deepEqual(yield* none.next(), [])
    }))

  it('S48 its listeners are removed by close, by the end of the fiber that made it, and by nothing else', () =>
    virtual(function* () {
      const emitter = new EventEmitter()
      const events = on(emitter, 'x', { end: 'close' })
      assert.equal(listeners(emitter), 3)
      yield* moveOnAfter(5, () => events.next())
      assert.equal(listeners(emitter), 3)
      yield* events.close()
      assert.equal(listeners(emitter), 0)
      const bodies = [
        function* () {
          on(emitter, 'x')
        },
        function* () {
          on(emitter, 'x')
          throw new Error('no')
        },
        function* () {
          yield* on(emitter, 'x').next()
        },
      ]
      for (const body of bodies) {
        const fiber = spin({ link: false }, body)
        yield* sleep(1)
        yield* fiber.stop()
        assert.equal(listeners(emitter), 0)
      }
      reports().length = 0
      assert.equal((Fiber.current as any).cold.atEnd.size, 0, 'the fiber still knows of it')
    }))

  it('S41 a restarted fiber does not pile up listeners', () =>
    virtual(function* () {
      const emitter = new EventEmitter()
      const fiber = spin(() => on(emitter, 'x').next())
      for (let i = 0; i < 5; i++) {
        yield* sleep(1)
        assert.equal(listeners(emitter), 2)
        fiber.restart()
      }
      yield* fiber.stop()
      assert.equal(listeners(emitter), 0)
    }))

  it('close acts at the call: those who wait get END, unread events are dropped, later ones ignored', () =>
    virtual(function* () {
      const emitter = new EventEmitter()
      const events = on(emitter, 'x')
      const waiters = [spin(() => events.next()), spin(() => events.next())]
      yield* sleep(1)
      assert.equal(events.stats().waiting, 2)
      events.close()
      assert.deepEqual(yield* Fiber.await(...waiters), [END, END])
      emitter.emit('x', 1)
      assert.equal(yield* events.next(), END)
      yield* events.close()
      const unread = on(emitter, 'x')
      emitter.emit('x', 1)
      yield* unread.close()
      assert.equal(yield* unread.next(), END)
      assert.equal(external(), 0)
    }))

  it('ends with the event named by end; what came before it can still be read', () =>
    virtual(function* () {
      const emitter = new EventEmitter()
      const events = on<number>(emitter, 'data', { end: 'close' })
      emitter.emit('data', 1)
      emitter.emit('data', 2)
      emitter.emit('close')
      assert.equal(listeners(emitter), 0)
      emitter.emit('data', 3)
      assert.deepEqual(yield* rest(events), [1, 2])
      assert.equal(yield* events.next(), END)
      const waiting = on(emitter, 'data', { end: 'close' })
      const fiber = spin(() => waiting.next())
      yield* sleep(1)
      emitter.emit('close')
      assert.equal(yield* fiber, END)
    }))

  it('an error event is thrown, after the events that came before it; then it is over', () =>
    virtual(function* () {
      const emitter = new EventEmitter()
      const error = new Error('broken pipe')
      const events = on(emitter, 'data')
      emitter.emit('data', 1)
      emitter.emit('error', error)
      assert.equal(listeners(emitter), 0)
      assert.equal(yield* events.next(), 1)
      assert.equal(yield* thrownBy(events.next()), error)
      assert.equal(yield* events.next(), END)
      const waiting = on(emitter, 'data')
      const first = spin({ link: false }, () => waiting.next())
      yield* sleep(1)
      const second = spin({ link: false }, () => waiting.next())
      yield* sleep(1)
      emitter.emit('error', error)
      assert.deepEqual(yield* first.join(), { type: 'error', error })
      assert.deepEqual(yield* second.join(), { type: 'value', value: END })
      assert.equal(external(), 0)
    }))

  it('an error that nobody reads is reported, not lost', () =>
    virtual(function* () {
      const emitter = new EventEmitter()
      const fiber = spin('reader', function* () {
        on(emitter, 'data')
        yield* sleep(5)
      })
      yield* sleep(1)
      emitter.emit('error', new Error('broken pipe'))
      yield* fiber
      const [report] = reports().splice(0)
      assert.equal(report?.kind, 'unobserved')
      assert.match(report?.message ?? '', /on\(data\) in main > reader got an error that nobody has read/)
      const closed = on(emitter, 'data')
      emitter.emit('error', new Error('again'))
      closed.close()
      closed.close()
      assert.equal(reports().splice(0).length, 1)
    }))

  it('error events themselves can be listened to', () =>
    virtual(function* () {
      const emitter = new EventEmitter()
      const errors = on<Error>(emitter, 'error')
      emitter.emit('error', new Error('one'))
      emitter.emit('error', new Error('two'))
      assert.match(String(yield* errors.next()), /one/)
      assert.match(String(yield* errors.next()), /two/)
    }))

  it('keeps as many unread events as capacity says: the oldest goes, and is counted', () =>
    virtual(function* () {
      const emitter = new EventEmitter()
      const events = on<number>(emitter, 'n', { capacity: 2, end: 'close' })
      for (let n = 0; n < 5; n++) emitter.emit('n', n)
      assert.deepEqual(events.stats(), { unread: 2, dropped: 3, waiting: 0 })
      emitter.emit('close')
      assert.deepEqual(yield* rest(events), [3, 4])
    }))

  it('an event target gives its events; its error event is an event like any other', () =>
    virtual(function* () {
      const target = new EventTarget()
      const events = on(target, 'ping')
      const event = new Event('ping')
      target.dispatchEvent(event)
      target.dispatchEvent(new Event('error'))
      assert.equal(yield* events.next(), event)
      assert.equal(events.stats().unread, 0)
      yield* events.close()
      assert.equal(getEventListeners(target, 'ping').length, 0)
    }))

  it('S17 waiting for the next event is idle: refused in cleanup', () =>
    virtual(function* () {
      const emitter = new EventEmitter()
      const fiber = spin(function* () {
        const events = on(emitter, 'x')
        for (;;) {
          try {
            yield* events.next()
          } catch {}
        }
      })
      yield* sleep(1)
      yield* fiber.stop()
      assert.match(reports().splice(0)[0]?.message ?? '', /swallowed stop at on\(x\)\.next\(\)/)
      assert.equal(listeners(emitter), 0)
    }))

  it('S70 an emitter that throws when listeners are removed is reported', () =>
    virtual(function* () {
      const emitter = new EventEmitter()
      emitter.on('removeListener', () => {
        throw new Error('stay')
      })
      yield* spin(() => void on(emitter, 'x'))
      assert.match(reports().splice(0)[0]?.message ?? '', /removing the listeners of on\(x\).*stay/)
    }))

  it('an emitter that throws when a listener is added has none afterwards', () =>
    virtual(function* () {
      const emitter = new EventEmitter()
      emitter.on('newListener', (name) => {
        if (name === 'x') throw new Error('no more')
      })
      assert.throws(() => on(emitter, 'x', { end: 'close' }), /no more/)
      assert.equal(listeners(emitter), 1)
      assert.match(String(yield* thrownBy(once(emitter, 'x'))), /no more/)
      assert.equal(listeners(emitter), 1)
    }))

  it('S36 S52 in every order with a killer, no event is lost and none is given twice', (t) => {
    const { schedules, complete } = explore(
      function* () {
        const emitter = new EventEmitter()
        const events = on<number>(emitter, 'n')
        const got: number[] = []
        const readers = [1, 2, 3].map(() =>
          spin(function* () {
            const n = yield* events.next()
            if (n !== END) got.push(n)
          }),
        )
        spin(() => void readers[0]?.stop())
        const emitting = spin(function* () {
          emitter.emit('n', 1)
          yield* snooze()
          emitter.emit('n', 2)
        })
        yield* emitting.join()
        for (const reader of readers) reader.stop()
        for (const reader of readers) yield* reader.join()
        while (events.stats().unread > 0) got.push((yield* events.next()) as number)
        assert.deepEqual(got.sort(), [1, 2])
        yield* events.close()
      },
      { maxSchedules: 30_000 },
    )
    t.diagnostic(`${schedules} schedules${complete ? ', all there are' : ''}`)
    assert.ok(schedules > 500)
  })

  it('stopped, raised in or failing at every switchpoint, no listener stays', () => {
    const emitter = new EventEmitter()
    const everyone = function* () {
      const readers = [1, 2].map(() =>
        spin({ link: false }, function* () {
          const events = on(emitter, 'n', { end: 'close' })
          yield* rest(events)
        }),
      )
      readers.push(spin({ link: false }, () => once(emitter, 'close') as any))
      yield* snooze()
      emitter.emit('n', 1)
      yield* snooze()
      emitter.emit('close')
      for (const reader of readers) reader.stop()
      for (const reader of readers) yield* reader.join()
    }
    const check = () => assert.equal(listeners(emitter), 0)
    assert.ok(stopEverywhere(everyone, { check }).switchpoints >= 6)
    raiseEverywhere(everyone, { check })
    failEverywhere(everyone, { check })
  })
})

describe('once', () => {
  it('waits for one event and gives its first argument, or all', () =>
    virtual(function* () {
      const emitter = new EventEmitter<{ exit: [number, string] }>()
      const fibers = [
        spin(() => once(emitter, 'exit')),
        spin(() => once(emitter, 'exit', { args: true })),
      ] as const
      yield* sleep(1)
      emitter.emit('exit', 1, 'SIGTERM')
      emitter.emit('exit', 2, 'no')
      assert.deepEqual(yield* Fiber.await(...fibers), [1, [1, 'SIGTERM']])
      assert.equal(listeners(emitter), 0)
    }))

  it('an error event is thrown, unless it is the one', () =>
    virtual(function* () {
      const emitter = new EventEmitter()
      const error = new Error('no')
      const waiting = spin({ link: false }, () => once(emitter, 'open'))
      const wanting = spin(() => once(emitter, 'error'))
      yield* sleep(1)
      emitter.emit('error', error)
      assert.deepEqual(yield* waiting.join(), { type: 'error', error })
      assert.equal(yield* wanting, error)
      assert.equal(listeners(emitter), 0)
    }))

  it('S48 whichever way it is left, no listener stays', () =>
    virtual(function* () {
      const emitter = new EventEmitter()
      const target = new EventTarget()
      yield* moveOnAfter(5, () => once(emitter, 'x'))
      yield* moveOnAfter(5, () => once(target, 'x'))
      const fiber = spin(() => once(emitter, 'x'))
      yield* sleep(1)
      assert.equal(fiber.waitsFor, 'once(x)')
      assert.equal(listeners(emitter), 2)
      yield* fiber.stop()
      assert.equal(listeners(emitter), 0)
      assert.equal(getEventListeners(target, 'x').length, 0)
      assert.equal(external(), 0)
    }))

  it('S16 cleanup may wait for it', () =>
    virtual(function* () {
      const emitter = new EventEmitter()
      let closed = false
      const fiber = spin(function* () {
        try {
          yield* sleep()
        } finally {
          setImmediate(() => emitter.emit('close'))
          yield* once(emitter, 'close')
          closed = true
        }
      })
      yield* sleep(1)
      yield* fiber.stop()
      assert.ok(closed)
    }))
})

it('wrong use of on and once is told in words', () =>
  virtual(function* () {
    const emitter = new EventEmitter()
    for (const wrong of [undefined, null, 5, 'x', {}, { on() {} }]) {
      assert.throws(
        () => on(wrong as any, 'x'),
        /^BadArgument: on\(\) needs an EventEmitter or an EventTarget, got/,
      )
      assert.throws(() => once(wrong as any, 'x'), BadArgument)
    }
    assert.throws(() => on(emitter, 5 as any), /on\(\) needs the name of an event, got 5/)
    assert.throws(() => on(new EventTarget(), Symbol('x') as any), /needs the name of an event/)
    assert.throws(() => on(emitter, 'x', { end: 5 as any }), /the end of on\(\) needs the name of an event/)
    assert.throws(() => on(emitter, 'x', { close: ['y'] } as any), /no option "close"; there are: args, end/)
    assert.throws(() => on(emitter, 'x', { capacity: 0 }), /whole number above 0 as capacity, got 0/)
    assert.throws(() => on(emitter, 'x', { args: 1 as any }), /on\(\) needs true or false as args, got 1/)
    assert.throws(() => once(emitter, 'x', { end: 'y' } as any), /no option "end"; there are: args/)
    assert.equal(listeners(emitter), 0)
    yield* sleep(1)
  }))

it('on outside any fiber is refused: who would remove its listeners?', () => {
  assert.throws(() => on(new EventEmitter(), 'x'), NotInFiber)
})

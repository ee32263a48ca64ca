// on and once: arguments, ends, errors, room for unread events; emitters that misbehave.

import { EventEmitter } from 'node:events'
import {
  assert,
  describe,
  END,
  endListeners,
  Fiber,
  on,
  once,
  reports,
  sleep,
  spin,
  started,
  thrownBy,
  waits,
} from '../prelude.js'
import { listeners, rest, test } from './outside.js'

describe('on', () => {
  test('an item is the first argument of the event; with args, all of them; once is the same', function* () {
    const emitter = new EventEmitter<{ exit: [number, string]; bare: [] }>()
    const first = on(emitter, 'exit', { args: false })
    const all = on(emitter, 'exit', { args: true })
    const bare = on(emitter, 'bare')
    const none = on(emitter, 'bare', { args: true })
    const fibers = [spin(() => once(emitter, 'exit')), spin(() => once(emitter, 'exit', { args: true }))]
    yield* sleep(1)
    emitter.emit('exit', 1, 'SIGTERM')
    emitter.emit('bare')
    assert.deepEqual([yield* first.next(), yield* all.next()], [1, [1, 'SIGTERM']])
    assert.deepEqual([yield* bare.next(), yield* none.next()], [undefined, []])
    assert.deepEqual(yield* Fiber.await(...fibers), [1, [1, 'SIGTERM']])
  })

  test('close acts at the call: waiting fibers get END, unread events are dropped, later ones ignored', function* () {
    const emitter = new EventEmitter()
    const events = on(emitter, 'x')
    const waiting = [yield* started(() => events.next()), yield* started(() => events.next())]
    assert.deepEqual(events.stats(), { unread: 0, dropped: 0, waiting: 2 })
    events.close()
    assert.deepEqual(yield* Fiber.await(...waiting), [END, END])
    const unread = on(emitter, 'x')
    emitter.emit('x', 1)
    yield* unread.close()
    assert.deepEqual([yield* unread.next(), unread.stats().unread], [END, 0])
    const failed = on(emitter, 'x')
    emitter.emit('error', new Error('broken'))
    yield* thrownBy(failed.next())
    assert.equal(endListeners(Fiber.current), 0, 'the fiber still knows of one')
  })

  test('an event that closes the source while it is emitted is not taken any more', function* () {
    const emitter = new EventEmitter()
    emitter.on('x', () => events.close())
    emitter.on('error', () => events.close())
    const events = on(emitter, 'x', { end: 'x end' })
    emitter.emit('x', 1)
    assert.deepEqual(events.stats(), { unread: 0, dropped: 0, waiting: 0 })
    const next = on(emitter, 'y')
    emitter.prependListener('error', () => next.close())
    emitter.emit('error', new Error('too late'))
    assert.equal(yield* next.next(), END)
    assert.deepEqual(reports(), [])
  })

  test('ends with the event named by end; what came before can still be read', function* () {
    const emitter = new EventEmitter()
    const events = on<number>(emitter, 'data', { end: 'close' })
    const waiting = on(emitter, 'other', { end: 'close' })
    const fiber = yield* started(() => waiting.next())
    for (const n of [1, 2]) emitter.emit('data', n)
    emitter.emit('close')
    assert.equal(listeners(emitter), 0)
    assert.deepEqual([yield* rest(events), yield* events.next(), yield* fiber], [[1, 2], END, END])
  })

  test('an error goes to the first fiber that waits, the others get END', function* () {
    const emitter = new EventEmitter()
    const events = on(emitter, 'data')
    const [first, second] = [yield* started(() => events.next()), yield* started(() => events.next())]
    const error = new Error('broken')
    emitter.emit('error', error)
    assert.deepEqual(yield* first.join(), { type: 'error', error })
    assert.equal(yield* second, END)
  })

  test('error events themselves can be listened to; those of a target are events like any other', function* () {
    const emitter = new EventEmitter()
    const errors = on<string>(emitter, 'error')
    for (const error of ['one', 'two']) emitter.emit('error', error)
    assert.deepEqual([yield* errors.next(), yield* errors.next()], ['one', 'two'])
    const target = new EventTarget()
    const pings = on(target, 'ping')
    const event = new Event('ping')
    for (const each of [event, new Event('error')]) target.dispatchEvent(each)
    assert.deepEqual([yield* pings.next(), pings.stats().unread], [event, 0])
    yield* pings.close()
    assert.equal(listeners(target, 'ping'), 0)
  })

  test('keeps as many unread events as capacity says: the oldest goes, and is counted', function* () {
    const emitter = new EventEmitter()
    const events = on<number>(emitter, 'n', { capacity: 2, end: 'close' })
    for (let n = 0; n < 5; n++) emitter.emit('n', n)
    assert.deepEqual(events.stats(), { unread: 2, dropped: 3, waiting: 0 })
    emitter.emit('close')
    assert.deepEqual(yield* rest(events), [3, 4])
  })

  test('S17 waiting for the next event is refused in cleanup; waiting for one with once is not', function* () {
    const emitter = new EventEmitter()
    const swallowing = yield* started(function* () {
      for (const events = on(emitter, Symbol('x')); ; ) yield* thrownBy(events.next())
    })
    yield* swallowing.stop()
    assert.match(reports().join(), /swallowed stop at on\(Symbol\(x\)\)\.next\(\)/)
    const closing = yield* started(() => waits(() => once(emitter, 'close')))
    closing.stop()
    yield* sleep(1)
    assert.equal(closing.waitsFor, 'once(close)')
    emitter.emit('close')
    assert.equal((yield* closing.join()).type, 'stopped')
    assert.equal(listeners(emitter), 0)
  })

  test('an emitter that throws when a listener is added has none afterwards', function* () {
    for (const isClinging of [false, true]) {
      const emitter = new EventEmitter()
      emitter.on('newListener', (name) => name === 'x' && assert.fail('no more'))
      if (isClinging) emitter.on('removeListener', () => assert.fail('no less'))
      const before = listeners(emitter)
      assert.throws(() => on(emitter, 'x', { end: 'close' }), /no more/)
      assert.equal((yield* thrownBy(once(emitter, 'x'))).message, 'no more')
      assert.equal(listeners(emitter), before)
    }
  })

  test('S70 an emitter that throws when a listener is removed is reported, and keeps no other', function* () {
    const emitter = new EventEmitter()
    emitter.removeListener = (event, listener) => {
      EventEmitter.prototype.removeListener.call(emitter, event, listener)
      throw new Error(`cannot let go of ${String(event)}`)
    }
    yield* spin('listening', () => void on(emitter, 'x', { end: 'close' }))
    assert.equal(listeners(emitter), 0)
    assert.match(
      reports().join(),
      /removing the listeners of on\(x\) in main > listening.*cannot let go of x/,
    )
  })

  /** Emits an event as soon as there is a listener to it. */
  class Hasty extends EventEmitter {
    constructor(readonly event: string) {
      super()
    }
    override on(event: string, listener: (...args: any[]) => void): this {
      super.on(event, listener)
      if (event === this.event) this.emit(event, new Error('at once'))
      return this
    }
  }

  test('an emitter that ends or fails while listeners are being added keeps none', function* () {
    const ending = new Hasty('end')
    assert.equal(yield* on(ending, 'data', { end: 'end' }).next(), END)
    const failing = new Hasty('error')
    assert.equal((yield* thrownBy(on(failing, 'data', { end: 'end' }).next())).message, 'at once')
    assert.equal((yield* thrownBy(once(failing, 'data'))).message, 'at once')
    assert.deepEqual([listeners(ending), listeners(failing)], [0, 0])
  })
})

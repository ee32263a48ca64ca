// Wrong input of the bridge, by the sentence that refuses it.

import { EventEmitter } from 'node:events'
import {
  action,
  assert,
  each,
  iterate,
  NotInFiber,
  on,
  once,
  sleep,
  spin,
  started,
  thrownBy,
  toAsyncIterable,
  until,
  use,
} from '../prelude.js'
import { listeners, never, test } from './outside.js'

const emitter = new EventEmitter()
const target = new EventTarget()
const any = (value: unknown) => value as any
const nothing = () => {}
const later = async () => {}

const atTheCall: Record<string, () => unknown> = {
  'action() needs a function (settle, fail) => cleanup, got 5': () => action(any(5)),
  'the discard of action() needs a function, got 1': () => action(nothing, { discard: any(1) }),
  'action() has no option "discord"; there are: discard': () => action(nothing, any({ discord: 1 })),
  'until() needs a promise, or a function that returns one, got 5': () => until(any(5)),
  'the discard of until() needs a function, got 5': () => until(never, { discard: any(5) }),
  'until() has no option "drop"': () => until(never, any({ drop: 5 })),
  'on() needs an EventEmitter or an EventTarget, got null': () => on(any(null), 'x'),
  'on() needs an EventEmitter or an EventTarget, got an object': () => on(any({ on() {} }), 'x'),
  'once() needs an EventEmitter or an EventTarget, got an object': () =>
    once(any({ addEventListener() {} }), 'x'),
  'on() needs the name of an event, got 5': () => on(emitter, any(5)),
  'on() needs the name of an event, got Symbol(x)': () => on(target, any(Symbol('x'))),
  'the end of on() needs the name of an event, got 5': () => on(emitter, 'x', { end: any(5) }),
  'on() has no option "close"; there are: args, end, capacity': () => on(emitter, 'x', any({ close: 1 })),
  'the capacity of on() needs a whole number above 0, or Infinity, got 0': () =>
    on(emitter, 'x', { capacity: 0 }),
  'the capacity of on() needs a whole number above 0, or Infinity, got 1.5': () =>
    on(emitter, 'x', { capacity: 1.5 }),
  'the args of on() need true or false, got 1': () => on(emitter, 'x', { args: any(1) }),
  'the args of once() need true or false, got 1': () => once(emitter, 'x', { args: any(1) }),
  'once() has no option "end"; there are: args': () => once(emitter, 'x', any({ end: 'y' })),
  'a queue), got undefined': () => iterate(any(undefined)),
  'a queue), got an object of class Object': () => each(any({ next() {} }), nothing),
  'wait for the promise first: yield* until(promise)': () => iterate(any(Promise.resolve([]))),
  'iterate() was given an op, which must be waited for first': () => iterate(any(sleep(1))),
  'each() was given an op, which must be waited for first': () => each(any(spin(nothing)), nothing),
  'each() needs a function': () => each([], any(5)),
  'each() was given the async function later': () => each([], any(later)),
  'use() needs something with [Symbol.asyncDispose] or [Symbol.dispose]': () => use(any({ close() {} })),
  'use() needs a function': () => use(1, any('close')),
  'use() was given the async function later': () => use(1, any(later)),
  'toAsyncIterable() needs a source of items': () => toAsyncIterable(any([1])),
  'or what has next() and close(); got an object': () => toAsyncIterable(any({ next() {} })),
}
for (const [sentence, call] of Object.entries(atTheCall)) {
  test(`refused at the call: ${sentence}`, function* () {
    const isIt = ({ code, message }: any) => code === 'BAD_ARGUMENT' && message.includes(sentence)
    assert.throws(call, isIt)
    assert.equal(listeners(emitter), 0)
  })
}

function* routine() {
  yield* sleep(1)
}
const atTheWait: Record<string, () => any> = {
  'until() needs a promise, or a function that returns one; it returned 5': () => until(any(() => 5)),
  'returned an object of class Immediate': () => action(any((done: any) => setImmediate(done))),
  'in main returned null. It may return a function that cleans up': () => action(any(() => null)),
  'returned a promise. It calls settle or fail': () => action(any(async () => assert.fail('lost'))),
  'was iterated by something other than yield* in main': () => each(routine(), nothing),
}
for (const [sentence, op] of Object.entries(atTheWait)) {
  test(`refused at the wait: ${sentence}`, function* () {
    const { code, message } = yield* thrownBy(op())
    assert.match(code, /^BAD_(ARGUMENT|YIELD)$/)
    assert.ok(message.includes(sentence), message)
  })
}

for (const [name, op] of Object.entries({ action: action(nothing), until: until(never) })) {
  test(`S69 one ${name} serves one wait at a time`, function* () {
    yield* (yield* started(() => op)).stop()
    const first = yield* started(() => op)
    assert.match((yield* thrownBy(op)).message, /already being waited for by main > /)
    yield* first.stop()
  })
}

test('outside any fiber on and use are refused', () => {
  assert.throws(() => on(emitter, 'x'), NotInFiber)
  assert.throws(() => [...(use(null) as any)], NotInFiber)
})

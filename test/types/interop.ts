// The bridge: what action, on, once and toAsyncIterable infer, and what they refuse.

import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import {
  action,
  type Events,
  main,
  type Op,
  on,
  once,
  type Running,
  run,
  spin,
  toAsyncIterable,
  until,
} from 'polyphony'
import { expectType } from './equal.js'

// ---- action

expectType<Op<string>>()(action<string>((settle) => settle('value')))
expectType<Op<void>>()(action<void>((settle) => settle()))
expectType<Op<number>>()(action((settle: (n: number) => void) => settle(1)))
action<string>((_, fail) => {
  fail(new Error('no'))
  return () => {}
})
action<string>((settle) => settle('value'), { discard: (value) => value.length })
// @ts-expect-error: an arrow function that returns the timer by accident
action<void>((settle) => setTimeout(settle, 1))
// @ts-expect-error: a promise is for until
action<void>(async (settle) => settle())
// @ts-expect-error: not a string
action<string>((settle) => settle(1))
// @ts-expect-error: no such option
action<string>(() => {}, { timeout: 1 })

// ---- events

interface ChatEvents {
  line: [text: string, from: number]
  tick: []
}
declare const chat: EventEmitter<ChatEvents>
expectType<Events<string>>()(on(chat, 'line'))
expectType<Events<[text: string, from: number]>>()(on(chat, 'line', { args: true }))
expectType<Events<string>>()(on(chat, 'line', { end: 'tick', capacity: 10 }))
expectType<Events<undefined>>()(on(chat, 'tick'))
expectType<Op<string>>()(once(chat, 'line'))
expectType<Op<[text: string, from: number]>>()(once(chat, 'line', { args: true }))

// Emitters that say nothing about their events: any, unless told.
declare const socket: Socket
expectType<Events<any>>()(on(socket, 'data'))
expectType<Events<Buffer>>()(on<Buffer>(socket, 'data', { end: 'close' }))
expectType<Op<[code: number]>>()(once<[code: number]>(socket, 'close', { args: true }))
expectType<Events<any>>()(on(new EventEmitter(), 'anything'))

// Event targets give events.
declare const signal: AbortSignal
expectType<Op<Event>>()(once(signal, 'abort'))
expectType<Events<MessageEvent>>()(on<MessageEvent>(new EventTarget(), 'message'))

// @ts-expect-error: no emitter
on({}, 'x')
// @ts-expect-error: no such option
on(socket, 'data', { close: 'end' })
// @ts-expect-error: once has no end
once(socket, 'data', { end: 'close' })

// ---- the async context, and the way out

expectType<Running<number>>()(run(() => 1, { context: true }))
main(() => 1, { context: true })
spin({ context: true }, () => 1)
// @ts-expect-error: true or false
spin({ context: 'request' }, () => 1)
expectType<AsyncIterableIterator<string>>()(toAsyncIterable(on(chat, 'line')))
// @ts-expect-error: an array has an iterator of its own
toAsyncIterable([1, 2])
expectType<Op<Response>>()(until((given) => fetch('', { signal: given })))

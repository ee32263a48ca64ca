// What the verbs return, what they take, and what tools are told: taps and views.

import {
  cancelAfter,
  type Ending,
  type Fiber,
  type FiberView,
  type Op,
  type Outcome,
  type TapEvent,
  tap,
} from 'polyphony'
import { expectType } from './equal.js'

declare const fiber: Fiber<number>

// A verb has acted when it returns. What it returns may be dropped, and a linter knows it by its type.
expectType<Ending<number>>()(fiber.stop())
expectType<Ending<number>>()(fiber.stop('value', { grace: 10 }))
expectType<Ending<number>>()(fiber.terminate())
expectType<Ending<number>>()(fiber.kill())
expectType<Ending<number>>()(fiber.raise('message'))
expectType<Ending<number>>()(fiber.cancel())
// It can be waited for like any other op.
const op: Op<Outcome<number>> = fiber.stop()
export function* sees() {
  expectType<Outcome<number>>()(yield* fiber.kill())
  expectType<Outcome<number>>()(yield* op)
}
// raise takes a class with its message
fiber.raise(TypeError, 'message')
// @ts-expect-error: not as an array
fiber.raise([TypeError, 'message'])
// @ts-expect-error: nor here
cancelAfter(10, () => 1, [TypeError, 'message'])
// @ts-expect-error: an object is no error
fiber.cancel({ message: 'looks like one' })

// tap: the events are known by name
const untap = tap(
  (event, subject, detail) => {
    expectType<TapEvent>()(event)
    expectType<Fiber>()(subject)
    expectType<unknown>()(detail)
  },
  { events: ['spin', 'end', 'move'] },
)
expectType<() => void>()(untap)
// @ts-expect-error: there is no such event
tap(() => {}, { events: ['ends'] })

// views
declare const view: FiberView
expectType<number | undefined>()(view.parent)
expectType<number>()(view.incarnation)
expectType<number>()(view.mailbox)
expectType<number | undefined>()(view.since)
expectType<string | undefined>()(view.kind)
expectType<string | undefined>()(view.resource)
expectType<number | undefined>()(view.holder)

// Random lives of an executor: its options, what its handlers do with each item, and what a few fibers and async functions
// do with it, side by side.

import fc from 'fast-check'
import type { ProcoOptions } from 'polyphony/proco'
import type { Form } from '../../proco/witness.js'

/** What a handler does with an item. */
export type Kind = (typeof KINDS)[number]
const KINDS = [
  'return',
  'snooze',
  'wait',
  'waitLong',
  'throw',
  'error', // its result is an Error
  'missing', // its batch gets one result too few
  'cleanUp', // it has a finally block that waits
  'holdOut', // it catches everything, also a stop
  'child', // it leaves a child behind
  'failingChild',
  'try', // it hands in another item
  'nested', // it waits for another item
] as const

export type Action =
  | {
      do: 'submit' | 'submitAsync' | 'trySubmit'
      kind: Kind
      key?: number
      timeout?: number
      signal?: number
    }
  /** Gives up after a while. */
  | { do: 'submitFor'; kind: Kind; key?: number; ms: number }
  | { do: 'snooze' }
  | { do: 'sleep'; ms: number }
  /** With one of the futures that there are. */
  | { do: 'cancel' | 'get'; of: number }
  | { do: 'stop'; of: number }
  | { do: 'kill' | 'exit' | 'start' }

export interface Plan {
  readonly options: ProcoOptions
  readonly form: Form
  /** What each of them does; the async ones wait by `await`. */
  readonly people: readonly { isAsync: boolean; actions: readonly Action[] }[]
  /** How it ends. */
  readonly end: 'exit' | 'kill' | 'scope'
}

const of = fc.nat({ max: 5 })
const ms = fc.constantFrom(0, 1, 5, 10, 12, 30)
const maybe = <T>(some: fc.Arbitrary<T>, freq: number) => fc.option(some, { nil: undefined, freq })

const item = {
  kind: fc.constantFrom(...KINDS),
  key: maybe(fc.nat({ max: 2 }), 2),
}
const action: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constantFrom('submit' as const, 'submitAsync' as const, 'trySubmit' as const),
      ...item,
      timeout: maybe(ms, 5),
      signal: maybe(ms, 5),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('submitFor' as const), ...item, ms }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('sleep' as const), ms }) },
  { weight: 1, arbitrary: fc.constant({ do: 'snooze' as const }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('cancel' as const, 'get' as const), of }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('stop' as const), of }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constantFrom('kill' as const, 'exit' as const, 'start' as const) }),
  },
)

const options: fc.Arbitrary<ProcoOptions> = fc
  .record({
    threads: fc.integer({ min: 1, max: 4 }),
    queues: fc.integer({ min: 1, max: 3 }),
    queueSize: fc.integer({ min: 1, max: 4 }),
    interval: fc.constantFrom(0, 0, 10),
    batch: fc.boolean(),
    batchSize: fc.constantFrom(1, 2, 3, Infinity),
    results: fc.constantFrom('shared' as const, 'each' as const),
  })
  .map((all) => (all.batch ? all : { ...all, results: 'shared' as const }))

export const plans: fc.Arbitrary<Plan> = fc.record({
  options,
  form: fc.constantFrom<Form>('fiber', 'fiber', 'plain', 'async'),
  people: fc.array(
    fc.record({
      isAsync: fc.boolean().map((yes) => yes),
      actions: fc.array(action, { minLength: 1, maxLength: 8 }),
    }),
    { minLength: 1, maxLength: 5 },
  ),
  end: fc.constantFrom('exit' as const, 'exit' as const, 'kill' as const, 'scope' as const),
})

// The options of an executor: by the chain, which is an immutable template, or by an object.

import { Proco } from 'polyphony/proco'
import { assert, type Routine, test } from '../prelude.js'
import type { Any } from './handlers.js'

/** How many items an executor takes before its queue is full, and how large its batches are. */
function* measured(executor: unknown): Routine<[items: number, ...batches: number[]]> {
  const sizes: number[] = []
  const proco = (executor as Any).start((given) => void sizes.push(Array.isArray(given) ? given.length : 0))
  let items = 0
  while (proco.trySubmit(items) !== undefined) items++
  yield* proco.exit()
  return [items, ...sizes]
}

test('the chain makes a new template at each step, and never changes one', function* () {
  const small = Proco.queueSize(1)
  const large = small.queueSize(3)
  for (const template of [small, large, small])
    assert.equal((yield* measured(template.new()))[0], template === small ? 1 : 3)
  assert.ok(Object.isFrozen(small))
})

test('a template makes any number of executors, which share nothing', function* () {
  const template = Proco.threads(2)
  const [one, two] = [template.new<number, number>(), template.new<number, number>()]
  one.start((n) => n)
  assert.equal(yield* one.submit(1), 1)
  assert.deepEqual([one.state, two.state, two.stats().accepted], ['running', 'idle', 0])
  yield* one.exit()
})

const template = Proco.batch(true).batchSize(2).queueSize(3)
const rows: [what: string, executor: () => unknown, measures: number[]][] = [
  ['the chain', () => template.new(), [3, 2, 1]],
  ['an object', () => new Proco({ queueSize: 3, batch: true, batchSize: 2 }), [3, 2, 1]],
  ['an object given to new()', () => Proco.new({ queueSize: 3, batch: true, batchSize: 2 }), [3, 2, 1]],
  ['new(), over the chain', () => template.new({ batchSize: 1 }), [3, 1, 1, 1]],
  ['new(), without limit', () => template.new({ batchSize: Infinity }), [3, 3]],
  ['new(), undefined being as not given', () => template.new({ batchSize: undefined } as any), [3, 2, 1]],
  ['results before batch', () => Proco.results('each').queueSize(2).new({ batch: true }), [2, 2]],
  ['batchSize without batch: single items', () => Proco.batchSize(3).queueSize(3).new(), [3, 0, 0, 0]],
  ['batches without limit in a queue of 1,000, by default', () => Proco.batch(true).new(), [1000, 1000]],
]
for (const [what, executor, expected] of rows) {
  test(`options by ${what}`, function* () {
    assert.deepEqual(yield* measured(executor()), expected)
  })
}

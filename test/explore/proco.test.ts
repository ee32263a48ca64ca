// An executor in every order of three submitters and a killer, in all its ways: whatever happens, each item has one
// outcome, the counts add up, room and order are kept, nobody waits for ever, and it can be started again.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Fiber, type Routine, scope, sleep, snooze } from 'polyphony'
import type { Future, ProcoOptions, SubmitOptions } from 'polyphony/proco'
import { explore } from 'polyphony/testing'
import { aside, type Item, isExpected, joinAll, Witness } from '../proco/witness.js'
import { killers } from '../shared/killers.js'
import { everyOrder, leftOut } from './orders.js'

interface Way {
  options?: ProcoOptions
  /** What each of the three does; without it, it hands in an item and waits for the result. */
  submit?: (witness: Witness, n: number, futures: Future<any>[]) => Routine<unknown>
  limits?: (n: number) => SubmitOptions
  key?: (n: number) => unknown
  handler?: (given: any) => unknown
  /** Done beside the three. */
  beside?: (witness: Witness, futures: Future<any>[]) => Routine<unknown>
}

function* takesAMoment(): Routine<string> {
  yield* snooze()
  return 'done'
}

/** Hands in, and then looks at the future. */
function* viaFuture(witness: Witness, _n: number, futures: Future<any>[]): Routine<unknown> {
  const future = yield* witness.submitAsync(witness.item())
  futures.push(future)
  return yield* future.get()
}

const ways: Record<string, Way> = {
  'a full queue, and one of those in it is cancelled': {
    options: { queueSize: 1 },
    submit: viaFuture,
    *beside(_witness, futures) {
      yield* snooze()
      futures[0]?.cancel('by the test')
      futures.at(-1)?.cancel('by the test')
    },
  },
  'submitters who wait for room': { options: { queueSize: 1 }, handler: takesAMoment },
  'one who only tries': {
    options: { queueSize: 1 },
    *beside(witness) {
      witness.trySubmit(witness.item())
      yield* snooze()
      witness.trySubmit(witness.item())
    },
  },
  'two handlers, two queues and keys': {
    options: { threads: 2, queues: 2, queueSize: 1 },
    key: (n) => (n === 1 ? 'b' : 'a'),
    handler: takesAMoment,
  },
  'two handlers, one queue and one key': {
    options: { threads: 2 },
    key: () => 'a',
    handler: takesAMoment,
  },
  'an exit meanwhile': {
    options: { queueSize: 1 },
    *beside(witness) {
      yield* snooze()
      yield* witness.proco.exit()
    },
  },
  'two exits meanwhile': {
    handler: takesAMoment,
    *beside(witness) {
      yield* snooze()
      const { proco } = witness
      yield* joinAll([aside(() => proco.exit()), aside(() => proco.exit())])
    },
  },
  'a kill as results come': {
    options: { threads: 2, queueSize: 1 },
    handler: takesAMoment,
    *beside(witness) {
      yield* snooze()
      witness.proco.kill()
    },
  },
  'a kill as it exits': {
    handler: takesAMoment,
    *beside({ proco }) {
      aside(() => proco.exit())
      yield* snooze()
      if (proco.state !== 'idle') proco.kill()
    },
  },
  'a batch, one of whose items is cancelled': {
    options: { batch: true, results: 'each' },
    submit: viaFuture,
    *handler(items: Item[]) {
      yield* snooze()
      return items.map(({ id }) => (id === 1 ? new Error('not this time') : id))
    },
    *beside(_witness, futures) {
      yield* snooze()
      futures[0]?.cancel('by the test')
    },
  },
  'batches that get too few results': {
    options: { batch: true, results: 'each', queueSize: 2 },
    handler: (items: Item[]) => items.slice(1).map(({ id }) => id),
  },
  'an interval that ends as the batch is full': {
    options: { batch: true, batchSize: 2, interval: 5, queueSize: 2 },
    *submit(witness, n) {
      yield* sleep(n === 2 ? 0 : 5)
      return yield* witness.submit(witness.item())
    },
  },
  'a time-out as the result comes': {
    limits: () => ({ timeout: 5 }),
    handler: () => sleep(5),
  },
  'a time-out as there is room': {
    options: { queueSize: 1 },
    limits: (n) => (n === 2 ? { timeout: 5 } : {}),
    handler: () => sleep(5),
  },
  'signals that are aborted': {
    options: { queueSize: 1 },
    handler: takesAMoment,
    *submit(witness, n) {
      const controller = new AbortController()
      aside(function* () {
        for (let left = n; left > 0; left--) yield* snooze()
        controller.abort('by the test')
      })
      return yield* witness.submit(witness.item(), { signal: controller.signal })
    },
  },
  'a handler that fails': {
    options: { threads: 2 },
    *handler({ id }: Item) {
      yield* snooze()
      if (id === 1) throw new Error('not this time')
      return id
    },
  },
}

function scenario(way: Way, kill: (fibers: Fiber<any>[]) => unknown): () => Routine<void> {
  return function* () {
    const witness = new Witness(way.options, way.handler)
    witness.start()
    const futures: Future<any>[] = []
    const submitters = [0, 1, 2].map((n) =>
      aside(function* () {
        if (way.submit) yield* way.submit(witness, n, futures)
        else yield* witness.submit(witness.item(way.key?.(n)), way.limits?.(n))
      }),
    )
    const killer = aside(function* () {
      yield* snooze()
      kill(submitters)
    })
    const others = [killer]
    if (way.beside) others.push(aside(() => (way.beside as any)(witness, futures)))
    yield* joinAll([...submitters, ...others])
    yield* ending(witness)
  }
}

function* ending(witness: Witness): Routine<void> {
  const { proco } = witness
  try {
    if (proco.state !== 'idle') yield* proco.exit()
  } catch (error) {
    if (!isExpected(error)) throw error
  }
  witness.check()
  yield* witness.again()
}

describe('an executor in every order of three submitters and a killer', () => {
  for (const [name, way] of Object.entries(ways)) {
    for (const [how, kill] of killers) {
      it(`S78 S79 S80 ${name}, and ${how}: nothing is lost and nobody waits for ever`, (t) => {
        if (leftOut(t)) return
        // Every order that differs from that of the queue twice at the most, then some that differ more.
        const few = explore(scenario(way, kill), { preemptions: 2, maxSchedules: 5000 })
        const many = explore(scenario(way, kill), { maxSchedules: 100 })
        t.diagnostic(`${few.schedules} orders, and ${many.schedules} wilder ones`)
        assert.ok(few.schedules > 50)
      })
    }
  }
})

describe('an executor in every order there is', () => {
  it('S78 S79 a result, a cancel, and one who waits for room', (t) => {
    everyOrder(t, function* () {
      const witness = new Witness({ queueSize: 1 }).start()
      const first = yield* witness.submitAsync(witness.item())
      const fibers = [aside(() => witness.submit(witness.item())), aside(() => void first.cancel())]
      yield* joinAll(fibers)
      yield* ending(witness)
    })
  })

  it('S78 S82 two cancels of one batch, and its result', (t) => {
    everyOrder(t, function* () {
      const witness = new Witness({ batch: true }, takesAMoment).start()
      const futures = [yield* witness.submitAsync(witness.item()), yield* witness.submitAsync(witness.item())]
      yield* joinAll(futures.map((future) => aside(() => void future.cancel())))
      yield* ending(witness)
    })
  })

  it('S78 S84 a submission, an exit and a kill', (t) => {
    everyOrder(t, function* () {
      const witness = new Witness({ queueSize: 1 }).start()
      const { proco } = witness
      const kill = () => {
        if (proco.state !== 'idle') proco.kill()
      }
      yield* joinAll([aside(() => witness.submit(witness.item())), aside(() => proco.exit()), aside(kill)])
      witness.check()
    })
  })

  it('S84 the scope that it was started in ends, and somebody outside waits for room', (t) => {
    everyOrder(t, function* () {
      const witness = new Witness({ queueSize: 1 }, takesAMoment)
      const outside = aside(function* () {
        yield* snooze()
        yield* witness.submit(witness.item())
      })
      yield* scope(function* () {
        witness.start()
        yield* witness.submitAsync(witness.item())
        yield* snooze()
      })
      yield* joinAll([outside])
      witness.check()
      yield* witness.again()
    })
  })

  it('S80 two handlers, two items of one key and one without', (t) => {
    everyOrder(t, function* () {
      const witness = new Witness({ threads: 2 }, takesAMoment).start()
      const items = [witness.item('a'), witness.item(), witness.item('a')]
      for (const item of items) yield* witness.submitAsync(item)
      yield* ending(witness)
    })
  })
})

// The combinators with two members and one that ends them, in every order: no value, error or member is lost.

import {
  all,
  allSettled,
  any,
  assert,
  describe,
  END,
  each,
  explore,
  Fiber,
  forEach,
  isStop,
  type Op,
  Queue,
  type Routine,
  race,
  sleep,
  snooze,
  spin,
  test,
  whole,
} from '../prelude.js'
import { soon } from './orders.js'

/** Runs a scenario in many orders, all of them if there are not more. */
function orders(scenario: () => Routine<void>, maxSchedules = 60_000): void {
  const { schedules } = explore(scenario, { maxSchedules })
  assert.ok(schedules > 20, `${schedules} orders`)
}

type How = 'value' | 'error' | 'cleanup'

/** What has happened in one order of the fibers. */
class Ledger {
  open = 0
  readonly members = new Set<Fiber>()
  readonly dropped: unknown[] = []
  readonly seen: unknown[] = []
  readonly values: unknown[] = []

  discard = (value: unknown): void => {
    this.dropped.push(value)
  };

  /** Ends at its second turn, with a value or an error, or is struck and fails in its cleanup. */
  *member(how: How): Routine<object> {
    this.members.add(Fiber.current)
    this.open++
    try {
      yield* snooze()
      if (how === 'error') throw new Error('of a member')
      if (how === 'cleanup') yield* sleep(1000)
    } finally {
      yield* this.cleanup(how)
    }
    return {}
  }

  private *cleanup(how: How): Routine<void> {
    try {
      yield* snooze()
      if (how === 'cleanup') throw new Error('in cleanup')
    } finally {
      this.open--
    }
  }

  /** Runs a combinator and notes what came of it. */
  *run(op: Op<unknown>): Routine<void> {
    try {
      this.values.push(yield* op)
    } catch (error) {
      if (isStop(error)) throw error
      this.seen.push(error)
    }
  }

  /** How often each error that left a member has reached a fiber. */
  received(host: Fiber<unknown>): number[] {
    const told = [...this.seen, ...errorOf(host)].flatMap(whole)
    return [...this.members].flatMap(errorOf).map((error) => told.filter((each) => each === error).length)
  }
}

function errorOf({ outcome }: Fiber<unknown>): unknown[] {
  return outcome?.type === 'error' ? [outcome.error] : []
}

type Member = () => Routine<object>
type Make = (a: Member, b: Member, ledger: Ledger) => Op<unknown>
const contests: Record<string, Make> = {
  all: (a, b) => all([a, b]),
  allSettled: (a, b) => allSettled([a, b]),
  race: (a, b, { discard }) => race([a, b], { discard }),
  any: (a, b, { discard }) => any([a, b], { discard }),
  forEach: (a, b) => forEach([a, b], (body) => body(), { concurrency: 2 }),
}
const scenarios = [
  ...['all', 'race', 'any'].map((name) => [name, 'value', 'value'] as const),
  ...Object.keys(contests).map((name) => [name, 'value', 'error'] as const),
  ['all', 'error', 'error'] as const,
  ...['all', 'race', 'any'].map((name) => [name, 'value', 'cleanup'] as const),
]
for (const [name, a, b] of scenarios) {
  for (const verb of ['stop', 'kill', 'raise'] as const) {
    test(`${name} of ${a} and ${b}, and a ${verb}: no member is left, no error or value is lost`, () => {
      orders(function* () {
        const ledger = new Ledger()
        const [one, two] = [a, b].map((how) => () => ledger.member(how)) as [Member, Member]
        const op = (contests[name] as Make)(one, two, ledger)
        const host = spin({ link: false }, () => ledger.run(op))
        spin(soon, () => host[verb]())
        yield* host.join()
        yield* Fiber.current.joinChildren()
        assert.equal(ledger.open, 0, 'a member was left behind')
        const isTolerant = b === 'error' && (name === 'any' || name === 'allSettled')
        for (const times of ledger.received(host)) assert.ok(times === 1 || isTolerant, `${times} times`)
        if (isTolerant && verb === 'stop') assert.deepEqual(errorOf(host), [])
        if (name !== 'race' && name !== 'any') return
        // One that was struck and returned all the same counts as stopped (S66): it has no value.
        const given = [...ledger.members].filter(({ outcome }) => outcome?.type === 'value').length
        assert.equal(new Set([...ledger.values, ...ledger.dropped]).size, given)
        assert.equal(ledger.values.length + ledger.dropped.length, given)
      })
    })
  }
}

const stopped: [string, (list: any[]) => Op<unknown>, string[]][] = [
  ['all', all, ['a,b', 'FiberStopped']],
  ['race', race, ['a', 'b', 'FiberStopped']],
  ['any', any, ['a', 'b']],
]
for (const [name, contest, results] of stopped) {
  test(`${name} with a member that is stopped from outside gives ${results.join(' or ')}`, () => {
    orders(function* () {
      let first: Fiber | undefined
      const member = (name: string) =>
        function* (): Routine<string> {
          if (name === 'a') first = Fiber.current
          yield* snooze()
          return name
        }
      spin(soon, () => first?.stop())
      let result: string
      try {
        result = String(yield* contest([member('a'), member('b')]))
      } catch (error) {
        result = (error as Error).name
      }
      assert.ok(results.includes(result), result)
      yield* Fiber.current.joinChildren()
    })
  })
}

describe('forEach', () => {
  test('of three items with two fibers, and a stop: each item at most once, results in order', () => {
    orders(function* () {
      let open = 0
      const begun: number[] = []
      const body = function* (item: number, index: number) {
        begun.push(item)
        assert.ok(item === 10 + index && ++open <= 2)
        try {
          yield* snooze()
          return item
        } finally {
          open--
        }
      }
      const host = spin(() => forEach([10, 11, 12], body, { concurrency: 2 }))
      spin(soon, () => host.stop())
      const outcome = yield* host.join()
      assert.deepEqual([open, new Set(begun).size], [0, begun.length])
      if (outcome.type === 'value') assert.deepEqual(outcome.value, [10, 11, 12])
    })
  })

  test('over a source that is waited for keeps the order of the items', () => {
    orders(function* () {
      let next = 0
      let closed = 0
      const source = {
        *next(): Routine<any> {
          const item = next++
          if (item === 2) yield* sleep(5) // two that were asked at the same time would answer in the wrong order
          return item < 4 ? item : END
        },
        *close(): Routine<void> {
          closed++
        },
      }
      const body = function* (item: number, index: number) {
        yield* snooze()
        return [item, index]
      }
      const results = yield* forEach(source, body, { concurrency: 2 })
      assert.deepEqual([results.flat(), closed], [[0, 0, 1, 1, 2, 2, 3, 3], 1])
    })
  })

  test('with a fiber that is stopped from outside fails or has all results; it never waits for ever', () => {
    orders(function* () {
      const body = function* (n: number) {
        yield* snooze()
        return n
      }
      const host = spin({ link: false }, () => forEach([1, 2], body, { concurrency: 2 }))
      spin(soon, () => host.children[0]?.stop('why not'))
      const outcome = yield* host.join()
      if (outcome.type !== 'error') assert.deepEqual(outcome, { type: 'value', value: [1, 2] })
    })
  })

  for (const verb of ['stop', 'kill'] as const) {
    test(`and each share a queue, and a ${verb} of one: every item is worked on once`, () => {
      orders(function* () {
        const queue = new Queue<number>()
        const seen: number[] = []
        const reader = spin(() => each(queue, (n) => void seen.push(n)))
        const workers = spin(() => forEach(queue, (n) => void seen.push(n), { concurrency: 2 }))
        spin(soon, () => reader[verb]())
        for (const n of [1, 2]) {
          queue.tryPush(n)
          yield* snooze()
        }
        yield* reader.join()
        queue.close()
        yield* workers.join()
        assert.deepEqual(seen.sort(), [1, 2])
      })
    })
  }
})

// S22, S28, S37: the combinators with three members and a killer, in every order. No value, error or member is lost.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  all,
  allSettled,
  any,
  END,
  each,
  Fiber,
  forEach,
  isStop,
  moveOnAfter,
  type Op,
  type Outcome,
  Queue,
  type Routine,
  race,
  retry,
  sleep,
  snooze,
  spin,
} from 'polyphony'
import { explore, failEverywhere, raiseEverywhere, stopEverywhere } from 'polyphony/testing'
import { whole } from '../prelude.js'

/** What has happened in one order of the fibers. */
class Ledger {
  open = 0
  readonly members = new Set<Fiber>()
  readonly seen: unknown[] = []
  readonly values: unknown[] = []

  /** The errors that left a member. What a cleanup that was cut has lost never did. */
  get thrown(): Error[] {
    const outcomes = [...this.members].map((member) => member.outcome)
    return outcomes.flatMap((outcome) => (outcome?.type === 'error' ? [outcome.error as Error] : []))
  }

  /** A member that gives a value, or throws, at its second turn; with a cleanup that waits. */
  *member(name: string, how: 'value' | 'error' | 'cleanup'): Routine<string> {
    this.members.add(Fiber.current)
    this.open++
    try {
      yield* snooze()
      if (how === 'error') throw new Error(name)
      if (how === 'cleanup') yield* sleep(1000)
    } finally {
      try {
        yield* snooze()
        // biome-ignore lint/correctness/noUnsafeFinally: that is the point
        if (how === 'cleanup') throw new Error(name)
      } finally {
        this.open--
      }
    }
    return name
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

  /** Errors that reached somebody, with all that they carry. */
  received(outcome: Outcome<unknown>): unknown[] {
    return [...this.seen, ...(outcome.type === 'error' ? [outcome.error] : [])].flatMap(whole)
  }
}

type Make = (ledger: Ledger, discard: (value: unknown) => void) => Op<unknown>

const scenarios: [string, Make][] = [
  ['all, one fails', (l) => all([() => l.member('a', 'value'), () => l.member('b', 'error')])],
  ['all, two fail', (l) => all([() => l.member('a', 'error'), () => l.member('b', 'error')])],
  ['all, one fails in cleanup', (l) => all([() => l.member('a', 'cleanup'), () => l.member('b', 'error')])],
  ['race', (l, discard) => race([() => l.member('a', 'value'), () => l.member('b', 'value')], { discard })],
  [
    'race, one fails',
    (l, discard) => race([() => l.member('a', 'value'), () => l.member('b', 'error')], { discard }),
  ],
  [
    'race, a loser fails in cleanup',
    (l, discard) => race([() => l.member('a', 'value'), () => l.member('b', 'cleanup')], { discard }),
  ],
  [
    'any, a loser fails in cleanup',
    (l, discard) => any([() => l.member('a', 'value'), () => l.member('b', 'cleanup')], { discard }),
  ],
  [
    'forEach, one fails',
    (l) => forEach(['a', 'b'], (n) => l.member(n, n === 'b' ? 'error' : 'value'), { concurrency: 2 }),
  ],
]

const killers: [string, (host: Fiber) => unknown][] = [
  ['stop', (host) => host.stop()],
  ['kill', (host) => host.kill()],
  ['raise', (host) => host.raise('from outside')],
]

for (const [name, make] of scenarios) {
  for (const [verb, kill] of killers) {
    test(`S22 S28 S37 ${name}, and a ${verb}: nobody is left, no error is lost`, (t) => {
      const { schedules, complete } = explore(
        function* () {
          const ledger = new Ledger()
          const dropped: unknown[] = []
          const host = spin({ name: 'host', link: false }, () =>
            ledger.run(make(ledger, (value) => void dropped.push(value))),
          )
          spin('killer', function* () {
            yield* snooze()
            kill(host as Fiber)
          })
          const outcome = yield* host.join()
          yield* Fiber.current.joinChildren()
          assert.equal(ledger.open, 0, 'a member was left behind')
          const received = ledger.received(outcome)
          for (const error of ledger.thrown) {
            assert.equal(
              received.filter((seen) => seen === error).length,
              1,
              `${error.message} was lost, or came twice`,
            )
          }
          // Nothing is both received and discarded.
          for (const value of ledger.values) assert.ok(!dropped.includes(value))
          assert.equal(new Set(dropped).size, dropped.length)
        },
        { maxSchedules: 60_000 },
      )
      t.diagnostic(`${schedules} orders${complete ? ', all there are' : ''}`)
      assert.ok(schedules > 100)
    })
  }
}

for (const [verb, kill] of killers) {
  for (const contest of [race, any]) {
    test(`S37 ${contest.name}: every value that a member gave is received or discarded, in every order with a ${verb}`, (t) => {
      const { schedules, complete } = explore(
        function* () {
          const dropped: unknown[] = []
          const given: string[] = []
          const members: Fiber[] = []
          function* member(name: string): Routine<string> {
            members.push(Fiber.current)
            yield* snooze()
            given.push(name)
            return name
          }
          const values: unknown[] = []
          const host = spin('host', function* () {
            values.push(
              yield* contest([() => member('a'), () => member('b')], {
                discard: (v) => void dropped.push(v),
              }),
            )
          })
          spin('killer', function* () {
            yield* snooze()
            kill(host as Fiber)
          })
          yield* host.join()
          yield* Fiber.current.joinChildren()
          // One that was struck and returned all the same counts as stopped (S66): it has no value.
          const withValue = members.filter((fiber) => fiber.outcome?.type === 'value').length
          assert.equal(values.length + dropped.length, withValue)
          assert.equal(new Set([...values, ...dropped]).size, withValue)
        },
        { maxSchedules: 100_000 },
      )
      t.diagnostic(`${schedules} orders${complete ? ', all there are' : ''}`)
      assert.ok(schedules > 100)
    })
  }
}

test('S31 a member that somebody stops: all and race fail with FiberStopped, any goes on, in every order', (t) => {
  for (const [contest, results] of [
    [all, ['a,b', 'FiberStopped']],
    [race, ['a', 'b', 'FiberStopped']],
    [any, ['a', 'b']],
  ] as const) {
    const { schedules, complete } = explore(function* () {
      let stopped: Fiber | undefined
      function* member(name: string): Routine<string> {
        if (name === 'a') stopped = Fiber.current
        yield* snooze()
        return name
      }
      spin('killer', function* () {
        yield* snooze()
        stopped?.stop()
      })
      let result: string
      try {
        result = String(yield* contest([() => member('a'), () => member('b')]))
      } catch (error) {
        result = (error as Error).name
      }
      assert.ok((results as readonly string[]).includes(result), result)
      yield* Fiber.current.joinChildren()
    })
    t.diagnostic(`${schedules} orders`)
    assert.ok(complete && schedules > 50)
  }
})

test('any and allSettled: members that fail by themselves change nothing, in every order with a stop', (t) => {
  for (const make of [
    (l: Ledger) => any([() => l.member('a', 'error'), () => l.member('b', 'value')]),
    (l: Ledger) => allSettled([() => l.member('a', 'error'), () => l.member('b', 'value')]),
  ]) {
    const { schedules } = explore(
      function* () {
        const ledger = new Ledger()
        const host = spin('host', () => ledger.run(make(ledger)))
        spin('killer', function* () {
          yield* snooze()
          host.stop()
        })
        const outcome = yield* host.join()
        assert.notEqual(outcome.type, 'error')
        assert.deepEqual(ledger.seen, [])
        assert.equal(ledger.open, 0)
      },
      { maxSchedules: 60_000 },
    )
    t.diagnostic(`${schedules} orders`)
    assert.ok(schedules > 1000)
  }
})

test('S28 forEach: three items, two workers, one killer: each item at most once, results in order, nobody left', (t) => {
  const { schedules, complete } = explore(
    function* () {
      let open = 0
      const begun: number[] = []
      const results: unknown[] = []
      const host = spin('host', function* () {
        results.push(
          yield* forEach(
            [10, 11, 12],
            function* (item, index) {
              begun.push(item)
              assert.equal(item, 10 + index)
              assert.ok(++open <= 2)
              try {
                yield* snooze()
                return item
              } finally {
                open--
              }
            },
            { concurrency: 2 },
          ),
        )
      })
      spin('killer', function* () {
        yield* snooze()
        host.stop()
      })
      const outcome = yield* host.join()
      assert.equal(open, 0)
      assert.equal(new Set(begun).size, begun.length)
      if (outcome.type === 'value') assert.deepEqual(results, [[10, 11, 12]])
    },
    { maxSchedules: 100_000 },
  )
  t.diagnostic(`${schedules} orders${complete ? ', all there are' : ''}`)
  assert.ok(schedules > 1000)
})

test('forEach over a source that is waited for: items keep their order, whoever takes them', (t) => {
  const { schedules, complete } = explore(
    function* () {
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
      const results = yield* forEach(source, (item: number, index) => snoozing(item, index), {
        concurrency: 2,
      })
      assert.deepEqual(results, ['0 is 0', '1 is 1', '2 is 2', '3 is 3'])
      assert.equal(closed, 1)
    },
    { maxSchedules: 100_000 },
  )
  t.diagnostic(`${schedules} orders${complete ? ', all there are' : ''}`)
})

function* snoozing(item: number, index: number): Routine<string> {
  yield* snooze()
  return `${item} is ${index}`
}

test('a worker that somebody stops from outside makes forEach fail; it never waits for ever', (t) => {
  const { schedules } = explore(
    function* () {
      const host = spin({ name: 'host', link: false }, () =>
        forEach([1, 2], (n) => snoozing(n, n), { concurrency: 2 }),
      )
      spin('killer', function* () {
        yield* snooze()
        host.children[0]?.stop('why not')
      })
      const outcome = yield* host.join()
      if (outcome.type === 'value') assert.deepEqual(outcome.value, ['1 is 1', '2 is 2'])
      else assert.equal(outcome.type, 'error')
    },
    { maxSchedules: 60_000 },
  )
  t.diagnostic(`${schedules} orders`)
  assert.ok(schedules > 100)
})

for (const verb of ['stop', 'kill'] as const) {
  test(`S36 S59 each and forEach over a shared queue, and a ${verb}: every item is worked on, or still in the queue`, (t) => {
    const { schedules, complete } = explore(
      function* () {
        const queue = new Queue<number>()
        const seen: number[] = []
        const reader = spin(() => each(queue, (n) => void seen.push(n)))
        const workers = spin(() => forEach(queue, (n) => void seen.push(n), { concurrency: 2 }))
        spin('killer', function* () {
          yield* snooze()
          reader[verb]()
        })
        for (const n of [1, 2]) {
          queue.tryPush(n)
          yield* snooze()
        }
        yield* reader.join()
        queue.close()
        yield* workers.join()
        assert.deepEqual(seen.sort(), [1, 2])
      },
      { maxSchedules: 60_000 },
    )
    t.diagnostic(`${schedules} orders${complete ? ', all there are' : ''}`)
    assert.ok(schedules > 100)
  })
}

test('stopped, raised in or failing at every switchpoint, the combinators leave nobody behind', () => {
  let open = 0
  function* member(): Routine<number> {
    open++
    try {
      yield* sleep(1)
      yield* snooze()
      return 1
    } finally {
      open--
    }
  }
  const scenario = function* (): Routine<void> {
    open = 0
    yield* all([member(), member, () => member()])
    yield* allSettled([member, member])
    yield* race([member, () => sleep(5)])
    yield* any([member, () => sleep(5)])
    yield* moveOnAfter(1, () => all([sleep(5), member()]))
    yield* forEach([1, 2, 3], member, { concurrency: 2 })
    yield* retry(member, {
      times: 2,
      backoff: 1,
      when: (error) => !(error as Error).message.includes('test'),
    })
  }
  const check = () => assert.equal(open, 0)
  assert.ok(stopEverywhere(scenario, { check }).switchpoints > 40)
  raiseEverywhere(scenario, { check })
  failEverywhere(scenario, { check })
})

// What all, allSettled, race, any and forEach share: members in children of their own, stopped and awaited before they end.

import {
  all,
  allSettled,
  any,
  assert,
  DeadlockError,
  describe,
  Fiber,
  forEach,
  now,
  type Op,
  race,
  run,
  sleep,
  spin,
  suppressedErrors,
  test,
  thrownBy,
  turns,
  until,
  waits,
} from '../prelude.js'

type Combine = (list: any[]) => Op<unknown>

const contests: Record<string, Combine> = { all, allSettled, race, any } as any
const teams: Record<string, Combine> = {
  ...contests,
  forEach: (list) =>
    forEach(list, (each) => (typeof each === 'function' ? each() : each), { concurrency: 9 }),
}

for (const [name, combine] of Object.entries(teams)) {
  describe(`the members of ${name}`, () => {
    for (const [how, log, end] of [
      ['stop', ['a', 'b'], 25],
      ['raise', ['a', 'b'], 25],
      ['kill', [], 5],
    ] as const) {
      test(`are stopped by a ${how} of their host, and awaited; given fibers are left alone`, function* () {
        const seen: string[] = []
        const lasting = (name: string, ms: number) => () =>
          waits(function* () {
            yield* sleep(ms)
            seen.push(name)
          })
        const theirs = spin(() => sleep(100))
        const members = [lasting('a', 10), lasting('b', 20)]
        const host = spin({ link: false }, () =>
          combine([...members, ...(name === 'forEach' ? [] : [theirs])]),
        )
        yield* sleep(5)
        assert.equal((yield* host[how]()).type, how === 'raise' ? 'error' : 'stopped')
        assert.deepEqual([seen, now(), host.children, theirs.state], [log, end, [], 'waiting'])
      })
    }

    test('that fail in their cleanup make the outcome of a stopped host', function* () {
      const errors = [new Error('1'), new Error('2')]
      const clumsy = errors.map(
        (error, n) => () =>
          waits(function* () {
            yield* sleep(n + 1)
            throw error
          }),
      )
      const host = spin({ link: false }, () => combine(clumsy))
      yield* sleep(1)
      assert.deepEqual(yield* host.stop(), { type: 'error', error: errors[0] })
      assert.deepEqual(suppressedErrors(errors[0]), [errors[1]])
    })

    test('run again when it is waited for again', function* () {
      let count = 0
      const twice = combine([() => ++count])
      yield* twice
      yield* twice
      assert.equal(count, 2)
    })
  })
}

for (const [name, combine] of Object.entries(contests)) {
  describe(name, () => {
    test('shows its members by their names, or their places in the list', function* () {
      function* reader() {
        yield* sleep(10)
      }
      const given = spin('given', reader)
      const host = spin(() => combine([reader, sleep(10), () => sleep(10), given, sleep(10)]))
      yield* sleep(5)
      assert.deepEqual(
        host.children.map((child) => child.name),
        ['reader', `${name}[1]`, `${name}[2]`, `${name}[4]`],
      )
      assert.equal(host.waitsFor, `${name}(): reader, ${name}[1], ${name}[2] and 2 more`)
      yield* host
    })

    test('tells a fiber that is to await itself so', function* () {
      const error = yield* thrownBy(combine([Fiber.current, () => 1]))
      assert.ok(error instanceof DeadlockError && error.message.includes(`awaits itself in ${name}()`))
    })

    test('takes care of the promises that it is given, also if no member comes to wait for them', async () => {
      const seen: unknown[] = []
      const listener = (error: unknown) => seen.push(error)
      const rejected = () => until(Promise.reject(new Error('rejected')))
      process.on('unhandledRejection', listener)
      try {
        await run(function* () {
          const hosts = [
            // The members are spun, and run only after a turn of the event loop.
            spin({ link: false }, function* () {
              for (let n = 0; n < 2000; n++) spin(() => {})
              yield* combine([rejected()])
            }),
            // They are spun, and stopped before they run.
            spin(function* () {
              const me = Fiber.current
              spin(() => void me.stop())
              yield* combine([rejected()])
            }),
            // They are not even spun.
            spin(function* () {
              Fiber.current.stop()
              yield* combine([rejected()])
            }),
          ]
          for (const host of hosts) yield* host.join()
        })
        await turns(2)
        assert.deepEqual(seen, [])
      } finally {
        process.off('unhandledRejection', listener)
      }
    })
  })
}

// S22, S23, S28: children that fail, a body that fails, a stop: no error is lost and no fiber is left, in every order.

import {
  assert,
  cancelAfter,
  ensure,
  explore,
  Fiber,
  failEverywhere,
  isStop,
  now,
  type Routine,
  raiseEverywhere,
  scope,
  sleep,
  snooze,
  spin,
  stopEverywhere,
  suspend,
  test,
  waits,
  whole,
} from '../prelude.js'
import { inEveryOrder, leftOut, soon } from './orders.js'

let open = 0

/** A child that cleans up when it is stopped. */
function* sibling(): Routine<void> {
  open++
  yield* waits(function* () {
    yield* snooze()
    open--
  }, 1000)
}

/** What has left a body in this order, and where errors were received: each must be found in what was received. */
class Ledger {
  thrown: Error[] = []
  received: unknown[] = []

  fail(name: string): never {
    const error = new Error(name)
    this.thrown.push(error)
    throw error
  }
  /** Fails after so many turns. */
  fails(name: string, turns = 1): Routine<void> {
    return soon(() => this.fail(name), turns)
  }
  /** Keeps what a body receives, unless it is a stop. */
  *survives(body: () => Iterable<any> & any): Routine<void> {
    try {
      yield* body()
    } catch (error) {
      if (isStop(error)) throw error
      this.received.push(error)
    }
  }
  *close(fiber: Fiber): Routine<void> {
    const outcome = yield* fiber.join()
    yield* Fiber.current.joinChildren()
    if (outcome.type === 'error') this.received.push(outcome.error)
    const found = this.received.flatMap(whole)
    for (const error of this.thrown)
      assert.equal(found.filter((each) => each === error).length, 1, error.message)
  }
}

/** Two children that fail, and a scope with a third. */
function* family(ledger: Ledger): Routine<void> {
  for (const name of ['a', 'b']) spin(() => ledger.fails(name))
  yield* snooze()
  yield* scope(function* () {
    spin(() => ledger.fails('c', 0))
    yield* snooze()
  })
}
const bodies: [string, (ledger: Ledger) => Routine<unknown>, ('stop' | 'kill' | 'raise')?][] = [
  [
    'a child fails, and so does the body as it is stopped',
    function* (ledger) {
      yield* scope(function* () {
        spin(() => ledger.fails('child'))
        try {
          yield* snooze()
          yield* snooze()
        } finally {
          ledger.fail('body')
        }
      })
    },
  ],
  [
    'two children of a scope fail, and the others are stopped, not waited for',
    function* (ledger) {
      yield* ledger.survives(() =>
        scope(function* () {
          for (const name of ['a', 'b']) spin(() => ledger.fails(name))
          spin(sibling)
          yield* sibling()
        }),
      )
      assert.deepEqual([open, now(), Fiber.current.children], [0, 0, []])
      yield* snooze() // S25: none comes up again
    },
  ],
  [
    'two children fail, and their parent catches one',
    function* (ledger) {
      for (const name of ['a', 'b']) spin(() => ledger.fails(name))
      yield* ledger.survives(function* () {
        yield* snooze()
        yield* snooze()
      })
    },
  ],
  [
    'a child fails in its cleanup while its parent is stopped',
    function* (ledger) {
      spin(waits, () => ledger.fail('child'), 0)
      yield* ledger.survives(() => waits(() => snooze()))
    },
    'stop',
  ],
  [
    'children fail in a scope in a limit that expires',
    function* (ledger) {
      const body = function* () {
        for (const name of ['a', 'b']) spin(waits, () => ledger.fails(name), 1)
        yield* sleep(1)
      }
      yield* ledger.survives(() => cancelAfter(1, () => scope(body)))
      yield* snooze()
    },
  ],
  ...(['stop', 'kill', 'raise'] as const).map((verb): (typeof bodies)[0] => [
    `a child of a scope fails while a ${verb} comes`,
    function* (ledger) {
      const body = function* () {
        spin(sibling)
        spin(() => ledger.fails('child'))
        yield* snooze()
      }
      yield* ledger.survives(() => scope(body))
    },
    verb,
  ]),
]
for (const [what, body, verb] of bodies) {
  inEveryOrder(`S22 S26 ${what}: each error is received once, and no fiber is left`, function* () {
    open = 0
    const ledger = new Ledger()
    const fiber = spin({ link: false }, body, ledger)
    if (verb !== undefined) spin(soon, () => fiber[verb]())
    yield* ledger.close(fiber)
    if (verb !== 'kill') assert.equal(open, 0) // a kill leaves no time for a cleanup that waits
  })
}

test('S22 S26 three children that fail while their parent is killed: each error is received once', (t) => {
  if (leftOut(t)) return
  const scenario = function* () {
    const ledger = new Ledger()
    const fiber = spin({ link: false }, family, ledger)
    spin(soon, () => fiber.kill())
    yield* ledger.close(fiber)
  }
  explore(scenario, { maxSchedules: 5_000 })
})

test('S16b S28 a scope with a failing child and a fiber that stops it: the cleanup is whole', (t) => {
  if (leftOut(t)) return
  const worker = function* () {
    open++
    yield* ensure(
      () => suspend(),
      function* () {
        yield* sleep(0)
        open--
      },
    )
  }
  const body = function* () {
    spin(worker)
    spin(function* () {
      yield* sleep(0)
      throw new Error('child failed')
    })
    yield* worker()
  }
  const scenario = function* () {
    open = 0
    const victim = spin({ link: false }, () => scope(body))
    const killer = spin(function* () {
      yield* sleep(0)
      victim.stop()
    })
    yield* killer.join()
    assert.notEqual((yield* victim.join()).type, 'value')
    assert.equal(open, 0)
  }
  explore(scenario, { maxSchedules: 30_000 })
})

test('S28 a scope stopped, raised in or failing at every switchpoint leaves nobody behind', () => {
  const scenario = function* () {
    open = 0
    yield* scope(function* () {
      spin(sibling)
      spin(() => sleep(5))
      yield* sleep(1)
      Fiber.current.stopChildren()
    })
  }
  assert.ok(stopEverywhere(scenario, { check: () => assert.equal(open, 0) }).switchpoints > 5)
  raiseEverywhere(scenario)
  failEverywhere(scenario)
})

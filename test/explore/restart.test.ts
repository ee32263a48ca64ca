// S41: restarts that race with stops, with each other, with the fiber's own end and with messages, in every order.

import {
  assert,
  ensure,
  Fiber,
  type Routine,
  receive,
  sleep,
  snooze,
  spin,
  stopEverywhere,
  test,
} from '../prelude.js'
import { inEveryOrder, soon } from './orders.js'

let lives = 0
let open = 0

/** Never two lives at once; counts them. */
function* life(): Routine<string> {
  lives++
  assert.equal(++open, 1, 'the life before was not over')
  yield* ensure(
    function* () {
      yield* snooze()
      yield* snooze()
    },
    function* () {
      yield* snooze()
      open--
    },
  )
  return 'lived'
}

inEveryOrder(
  'S41 a restart and a stop: the later verb wins',
  function* () {
    open = 0
    const fiber = spin(function* () {
      yield* life()
      yield* sleep(10)
    })
    let last = ''
    for (const verb of ['stop', 'restart'] as const) {
      spin(soon, () => {
        fiber[verb]('enough')
        last = verb
      })
    }
    yield* sleep(1)
    assert.equal(fiber.state, last === 'stop' ? 'dead' : 'waiting')
    if (last === 'stop') assert.deepEqual(fiber.outcome, { type: 'stopped', value: 'enough' })
    yield* fiber.stop()
    assert.equal(open, 0)
    return last
  },
  ['restart', 'stop'],
)

inEveryOrder(
  'S41 two restarts: each life is over before the next begins, and the last one runs to its end',
  function* () {
    lives = open = 0
    const fiber = spin(life)
    for (let i = 0; i < 2; i++) spin(soon, () => fiber.restart())
    yield* Fiber.current.joinChildren()
    assert.equal(yield* fiber, 'lived')
    assert.ok(lives >= 1 && lives <= fiber.incarnation) // one stopped before its start runs no line (S05)
    assert.equal(open, 0)
    return fiber.incarnation
  },
  [2, 3],
)

inEveryOrder(
  'S41 a restart that races with the end of the fiber always gives it one more life',
  function* () {
    lives = 0
    const fiber = spin(function* () {
      const mine = ++lives
      yield* snooze()
      return mine
    })
    const waiting = spin(() => fiber.join())
    yield* snooze()
    const wasOver = fiber.outcome !== undefined
    fiber.restart()
    yield* fiber
    assert.equal(fiber.incarnation, 2)
    assert.deepEqual(fiber.outcome, { type: 'value', value: lives })
    // What was told before the restart was the first end; other observers kept waiting.
    const told = yield* waiting
    assert.deepEqual(told, { type: 'value', value: wasOver && told.type === 'value' ? told.value : lives })
  },
)

inEveryOrder(
  'S41 the mailbox is cut at the call: what was sent before is gone, what is sent after arrives once',
  function* () {
    const got: string[] = []
    const fiber = spin(function* () {
      for (;;) got.push(`${Fiber.current.incarnation}: ${yield* receive<string>()}`)
    })
    const sender = spin(function* () {
      fiber.send('old')
      yield* snooze()
      fiber.restart()
      fiber.send('new')
    })
    yield* Fiber.await(sender, spin(snooze))
    yield* sleep(1)
    yield* fiber.stop()
    return got.join()
  },
  ['1: old,2: new', '2: new'],
)

test('S41 a restart called off by a stop at every switchpoint leaves nothing behind', () => {
  const scenario = function* () {
    open = 0
    const fiber = spin({ link: false }, life)
    yield* snooze()
    fiber.restart()
    yield* fiber.join()
  }
  assert.ok(stopEverywhere(scenario, { check: () => assert.equal(open, 0) }).switchpoints > 4)
})

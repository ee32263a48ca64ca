// S20, S34, S66, S68: time limits and shields at their edges, in every order.

import {
  assert,
  failEverywhere,
  isStop,
  moveOnAfter,
  now,
  type Routine,
  raiseEverywhere,
  shield,
  sleep,
  snooze,
  spin,
  stopEverywhere,
  type Timeout,
  test,
} from '../prelude.js'
import { inEveryOrder, soon } from './orders.js'

inEveryOrder(
  'S34 S68 a limit and the wait in it end at one instant: set first, fires first; an answer that is there stands',
  function* () {
    let limit: Timeout | undefined
    let isSleeping = false
    let isLimitLater = false
    const body = function* (timeout: Timeout) {
      limit = timeout
      yield* snooze()
      isSleeping = true
      yield* sleep(5)
      return 'ended'
    }
    const limited = spin(() => moveOnAfter(5, body, 'late'))
    spin(soon, () => {
      isLimitLater = isSleeping
      limit?.reset() // for the same instant, but set later
    })
    const result = yield* limited
    assert.equal(result, isLimitLater ? 'ended' : 'late')
    return result
  },
  ['ended', 'late'],
)

inEveryOrder(
  'S66 two fibers set a limit anew just before it expires: the later of them counts',
  function* () {
    let limit: Timeout | undefined
    let last = ''
    const body = (timeout: Timeout) => {
      limit = timeout
      return sleep()
    }
    const limited = spin(() => moveOnAfter(5, body))
    for (const move of ['reset', 'extend'] as const) {
      spin(function* () {
        yield* sleep(4)
        if (move === 'reset') limit?.reset()
        else limit?.extend(3)
        last = move
      })
    }
    yield* limited
    assert.equal(now(), last === 'reset' ? 9 : 12) // reset: 4 + 5; extend: 3 more than what was set.
    return last
  },
  ['extend', 'reset'],
)

/** A fiber with a shield in the middle, and how far it came. */
function* shielded(log: string[]): Routine<string> {
  yield* snooze()
  yield* shield(function* () {
    log.push('in')
    yield* snooze()
    yield* snooze()
    log.push('out')
  })
  log.push('edge') // no switchpoint between the end of the shield and this
  yield* snooze()
  log.push('after')
  return 'whole'
}

for (const verb of ['stop', 'terminate'] as const) {
  inEveryOrder(
    `S20 a ${verb} that arrives before, in or after a shield never cuts it, and strikes right behind it`,
    function* () {
      const log: string[] = []
      const fiber = spin(shielded, log)
      let at = ''
      const strike = () => {
        at = log.join()
        fiber[verb]()
      }
      spin(soon, strike, 2)
      spin(snooze)
      const { type } = yield* fiber.join()
      if (at === 'in') assert.equal(log.join(), 'in,out,edge')
      assert.equal(type, log.includes('after') ? 'value' : 'stopped')
      return log.join()
    },
    ['', 'in,out,edge', 'in,out,edge,after'],
  )
}

inEveryOrder(
  'S20 a raise goes through a shield; a stop that is held strikes after the error was caught',
  function* () {
    const log: string[] = []
    const fiber = spin({ link: false }, function* () {
      yield* shield(function* () {
        try {
          log.push('in')
          yield* sleep(5)
        } catch (thrown) {
          assert.ok(!isStop(thrown))
          log.push('raised')
          yield* snooze()
        }
        log.push('out')
      })
      yield* sleep(1000)
      log.push('never')
    })
    spin(soon, () => fiber.raise('now'))
    spin(soon, () => fiber.stop())
    yield* fiber.join()
    return log.join()
  },
  // Stopped or raised in before it began it runs no line; after a stop the raise is refused (S67).
  ['', 'in,out', 'in,raised,out'],
)

test('S20 a shield stopped, raised in or failing at every switchpoint: what a stop finds begun is ended', () => {
  let log: string[] = []
  const scenario = function* () {
    log = []
    yield* moveOnAfter(50, () => shielded(log))
  }
  const check = () => assert.equal(log.includes('in'), log.includes('out'))
  assert.ok(stopEverywhere(scenario, { check }).switchpoints > 4)
  const errorsMayCut = { check: () => assert.ok(!log.includes('out') || log.includes('in')) }
  raiseEverywhere(scenario, errorsMayCut)
  failEverywhere(scenario, errorsMayCut)
})

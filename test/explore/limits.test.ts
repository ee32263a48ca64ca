// S20, S34, S65, S66, S68: time limits and shields at their edges, in every order.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  Cancel,
  cancelAfter,
  Fiber,
  isStop,
  moveOnAfter,
  type Routine,
  shield,
  sleep,
  snooze,
  spin,
  suspend,
  type Timeout,
} from 'polyphony'
import { failEverywhere, raiseEverywhere, stopEverywhere } from 'polyphony/testing'
import { everyOrder, now } from './orders.js'

test('S34 S63 a limit that expires before the wait is answered: schedule says so, and nothing is lost', (t) => {
  const seen = new Set<unknown>()
  everyOrder(t, function* () {
    let wasWoken = false
    let limited: Fiber<string> | null = null
    const wake = function* () {
      yield* sleep(5)
      wasWoken = limited?.schedule('woken') ?? false
    }
    spin(wake)
    limited = spin(() => moveOnAfter<any, string>(5, () => suspend<string>(), 'late'))
    const result = yield* limited
    yield* Fiber.current.joinChildren()
    assert.equal(result, wasWoken ? 'woken' : 'late')
    seen.add(result)
  })
  assert.deepEqual([...seen], ['late']) // all timers of an instant fire before a fiber runs
})

test('S34 S68 a limit and the wait in it end at one instant: set first, fires first; an answer that is there stands', (t) => {
  const seen = new Set<unknown>()
  everyOrder(t, function* () {
    let limit: Timeout | null = null
    let isSleeping = false
    let isLimitLater = false
    const limited = spin(() =>
      moveOnAfter(
        5,
        function* (timeout) {
          limit = timeout
          yield* snooze()
          isSleeping = true
          yield* sleep(5)
          return 'ended'
        },
        'late',
      ),
    )
    spin(function* () {
      yield* snooze()
      isLimitLater = isSleeping
      limit?.reset() // for the same instant, but set later
    })
    const result = yield* limited
    assert.equal(result, isLimitLater ? 'ended' : 'late')
    seen.add(result)
  })
  assert.equal(seen.size, 2)
})

test('S65 limits that expire together: the outermost strikes, once', (t) => {
  everyOrder(t, function* () {
    spin(() => sleep(5))
    spin(() => sleep(5))
    let strikes = 0
    const result = yield* moveOnAfter(
      5,
      function* () {
        yield* moveOnAfter(
          5,
          function* () {
            try {
              yield* sleep(1000)
            } catch (thrown) {
              strikes++
              yield* sleep(1) // nothing cuts what the strike began
              throw thrown
            }
          },
          'inner',
        )
        assert.fail('the outer one was struck')
      },
      'outer',
    )
    assert.deepEqual([result, strikes, now()], ['outer', 1, 6])
  })
})

test('S66 a limit that is set anew before it expires counts from there; after that it stays expired', (t) => {
  const seen = new Set<string>()
  everyOrder(t, function* () {
    let limit: Timeout | null = null
    let isInTime = false
    const limited = spin(() =>
      moveOnAfter(
        5,
        function* (timeout) {
          limit = timeout
          yield* sleep(7)
          return 'done'
        },
        'late',
      ),
    )
    for (const move of [(it: Timeout) => it.reset(), (it: Timeout) => it.extend(3)]) {
      spin(function* () {
        yield* sleep(5)
        if (limit !== null && limit.remaining > 0) isInTime = true
        if (limit !== null) move(limit)
      })
    }
    const result = yield* limited
    assert.equal(result, isInTime ? 'done' : 'late')
    seen.add(result)
  })
  assert.deepEqual([...seen], ['late'])
})

test('S66 two that set a limit anew just before it expires: the later of them counts', (t) => {
  const seen = new Set<number>()
  everyOrder(t, function* () {
    let limit: Timeout | null = null
    let last = ''
    const limited = spin(() =>
      moveOnAfter(5, function* (timeout) {
        limit = timeout
        yield* sleep()
      }),
    )
    for (const move of ['reset', 'extend'] as const) {
      spin(function* () {
        yield* sleep(4)
        if (move === 'reset') limit?.reset()
        else limit?.extend(3)
        last = move
      })
    }
    yield* limited
    // reset: 4 + 5; extend: 3 more than what was set.
    assert.equal(now(), last === 'reset' ? 9 : 12)
    seen.add(now())
  })
  assert.equal(seen.size, 2)
})

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
  test(`S20 a ${verb} that arrives before, in or after a shield never cuts it, and strikes right behind it`, (t) => {
    const seen = new Set<string>()
    everyOrder(t, function* () {
      const log: string[] = []
      const fiber = spin(shielded, log)
      let at = ''
      spin(function* () {
        yield* snooze()
        yield* snooze()
        at = log.join()
        fiber[verb]()
      })
      spin(snooze)
      const outcome = yield* fiber.join()
      const all = log.join()
      seen.add(all)
      assert.ok(['', 'in,out,edge', 'in,out,edge,after'].includes(all), all)
      if (at === 'in') assert.equal(all, 'in,out,edge')
      assert.equal(outcome.type, all === 'in,out,edge,after' ? 'value' : 'stopped')
    })
    assert.ok(seen.size > 1)
  })
}

test('S20 a raise goes through a shield; a stop that is held strikes after the error was caught', (t) => {
  const seen = new Set<string>()
  everyOrder(t, function* () {
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
    spin(function* () {
      yield* snooze()
      fiber.raise('now')
    })
    spin(function* () {
      yield* snooze()
      fiber.stop()
    })
    yield* fiber.join()
    seen.add(log.join())
    // Stopped or raised in before it began it runs no line; a stop comes before the raise, and the raise is refused (S67).
    assert.ok(['', 'in,raised,out', 'in,out', 'in'].includes(log.join()), log.join())
  })
  assert.ok(seen.has('in,raised,out'))
})

test('S20 S65 a limit around a shield expires in it: the shield is whole, then the limit strikes', (t) => {
  everyOrder(t, function* () {
    const log: string[] = []
    spin(() => sleep(5))
    const result = yield* moveOnAfter(
      5,
      function* () {
        yield* shield(function* () {
          yield* sleep(5)
          yield* sleep(5)
          log.push('whole')
        })
        yield* snooze()
        log.push('never')
      },
      'late',
    )
    assert.deepEqual([result, log, now()], ['late', ['whole'], 10])
  })
})

test('S66 cancelAfter at the edge: its error strikes once, and a body that catches it gives its own value', (t) => {
  everyOrder(t, function* () {
    spin(() => sleep(5))
    let strikes = 0
    const result = yield* cancelAfter(5, function* () {
      for (;;) {
        try {
          yield* sleep(5)
          return strikes
        } catch (error) {
          assert.ok(error instanceof Cancel)
          strikes++
        }
      }
    })
    assert.deepEqual([result, now()], [1, 10])
  })
})

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

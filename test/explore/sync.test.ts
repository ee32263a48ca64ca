// The constructs of sync with three fibers and one that ends some of them, in every order.

import {
  assert,
  type Call,
  call,
  describe,
  Fiber,
  FiberStopped,
  Mutex,
  moveOnAfter,
  receive,
  sleep,
  snooze,
  spin,
  test,
} from '../prelude.js'
import { killers } from '../shared/killers.js'
import { isBack } from '../shared/lock.js'
import { locks, scenarios } from '../sync/scenarios.js'
import { everyOrder, soon } from './orders.js'

describe('in every order, nothing is lost or doubled', () => {
  for (const [name, scenario] of Object.entries(scenarios)) {
    for (const [how, kill] of killers) {
      test(`${name}, and ${how}`, (t) => {
        everyOrder(t, function* () {
          let last = () => {}
          const killing = (fibers: Fiber[]) => spin(soon, () => kill(fibers))
          yield* scenario({ check: (check) => (last = check), kill: killing })
          last()
        })
      })
    }
  }
})

describe('in every order', () => {
  for (const [name, make] of Object.entries(locks)) {
    test(`a limit that expires as ${name} is handed over does not lose it`, (t) => {
      everyOrder(t, function* () {
        const lock = make()
        spin(() => lock.hold(() => sleep(5)))
        yield* snooze()
        for (let n = 0; n < 3; n++) spin(() => moveOnAfter(5, () => lock.hold(() => snooze())))
        yield* Fiber.current.joinChildren()
        isBack(lock)
      })
    })
  }

  test('a mutex that its holder leaves locked comes to the others', (t) => {
    everyOrder(t, function* () {
      const mutex = new Mutex()
      let served = 0
      spin(function* () {
        yield* mutex.lock()
        yield* snooze()
      })
      for (let n = 0; n < 2; n++) spin(() => mutex.synchronize(() => void served++))
      yield* Fiber.current.joinChildren()
      assert.equal(served, 2)
      yield* mutex.lock()
    })
  })

  test('a choosy receiver has what was handed over to it before a stop', (t) => {
    everyOrder(t, function* () {
      const got: number[] = []
      const choosy = spin(function* () {
        for (;;) got.push(yield* receive((n: number) => n % 2 === 0))
      })
      const sender = spin(function* () {
        for (const n of [1, 2, 3, 4]) {
          choosy.send(n)
          yield* snooze()
        }
      })
      spin(soon, () => choosy.stop(), 2)
      yield* sender
      yield* choosy.join()
      assert.deepEqual(got, [2, 4].slice(0, got.length))
    })
  })

  test('a caller of a server that restarts has its answer, or is told', (t) => {
    everyOrder(t, function* () {
      const server = spin('server', function* () {
        for (;;) {
          const question = yield* receive<Call<number, number>>()
          yield* snooze()
          question.reply(question.message)
        }
      })
      const callers = [0, 1].map((n) => spin({ link: false }, () => call(server, n)))
      const killer = spin(soon, () => {
        callers[0]?.stop()
        server.restart()
      })
      for (const [n, caller] of callers.entries()) {
        const outcome = yield* caller.join()
        if (outcome.type === 'value') assert.equal(outcome.value, n)
        else if (outcome.type === 'error') assert.ok(outcome.error instanceof FiberStopped)
        else assert.equal(n, 0)
      }
      yield* killer
      yield* server.stop()
    })
  })
})

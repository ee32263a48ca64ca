// What every lock promises: one fiber is inside at a time, and it is given back however that ends.
// Run against the mutex, a semaphore of 1, and a pool of 1.

import {
  assert,
  BadArgument,
  BadState,
  BadYield,
  describe,
  Fiber,
  failAfter,
  moveOnAfter,
  neverLetsGo,
  type Op,
  type Routine,
  reports,
  scope,
  sleep,
  snooze,
  spin,
  started,
  suppressedErrors,
  suspend,
  switches,
  test,
  thrownBy,
  waits,
} from '../prelude.js'
import type { ALine } from './line.js'

/** A lock, seen from the outside. */
export interface ALock {
  /** Runs a body inside. */
  hold(body: () => any): Op<any>
  /** Gives back what the fiber inside has, before the body ends; missing if there is no such thing. */
  giveBack?(): void
  /** Takes it without waiting. */
  tryTake?(): boolean
  isFree(): boolean
  /** Fibers that wait to get in. */
  waiting(): number
}

/** A lock that a fiber holds, as a line. */
export function* lineAt(lock: ALock): Routine<ALine> {
  const holder = spin(function* () {
    const then = yield* lock.hold(() => suspend())
    then?.()
  })
  yield* sleep(1)
  return {
    wait: () => lock.hold(() => {}),
    give: (then) => holder.schedule(then),
    ...(lock.tryTake && { tryTake: () => lock.tryTake?.() }),
    waiting: () => lock.waiting(),
  }
}

/** Comes in, stays, and says so. */
function* visit(lock: ALock, log: unknown[], name: unknown, stay = 10): Routine<void> {
  yield* lock.hold(() => {
    log.push(`${name} in`)
    return waits(() => log.push(`${name} out`), stay)
  })
}

export function isBack(lock: ALock): void {
  assert.equal(lock.isFree(), true, 'it was not given back')
  assert.equal(lock.waiting(), 0, 'a fiber stands in line that does not wait')
}

export function aLock(name: string, make: () => ALock): void {
  describe(`${name} as a lock`, () => {
    test('gives what the body gives: a value, an object, the answer of an op, the result of a generator', function* () {
      const lock = make()
      const object = { an: 'object' }
      for (const [body, result] of [
        [() => 1, 1],
        [() => undefined, undefined],
        [() => object, object],
        [() => sleep(1), undefined],
        [() => spin(() => 'child'), 'child'],
        [() => waits(() => {}, 1), undefined],
      ] as const) {
        assert.equal(yield* lock.hold(body), result)
        isBack(lock)
      }
    })

    test('is given back when the body throws, before and after it has waited', function* () {
      const lock = make()
      const error = new Error('in the body')
      const fail = () => {
        throw error
      }
      for (const body of [fail, () => failAfter(1, error), () => spin({ link: false }, fail)]) {
        assert.equal(yield* thrownBy(lock.hold(body)), error)
        isBack(lock)
      }
    })

    test('refuses a promise of the body, with what to write instead, and is given back', function* () {
      const lock = make()
      const error = yield* thrownBy(lock.hold(() => Promise.resolve(1)))
      assert.ok(error instanceof BadArgument && /until/.test(error.message))
      isBack(lock)
    })

    for (const verb of ['stop', 'kill', 'raise', 'restart'] as const) {
      test(`is held while a body ended by ${verb} cleans up, then given to the next`, function* () {
        const lock = make()
        const log: string[] = []
        const first = yield* started(() =>
          lock.hold(() => {
            if (Fiber.current.incarnation > 1) return void log.push('1 again')
            return waits(() => waits(() => log.push('1 out'), 5)) // of a kill only what is synchronous
          }),
        )
        yield* started(() => visit(lock, log, 2))
        first[verb]()
        yield* Fiber.current.joinChildren()
        assert.deepEqual(log, ['1 out', '2 in', '2 out', ...(verb === 'restart' ? ['1 again'] : [])])
        isBack(lock)
      })
    }

    test('is free when the body had to be abandoned, with its fiber or with a block', function* () {
      const lock = make()
      const log: string[] = []
      const stubborn = yield* started(() => lock.hold(neverLetsGo))
      yield* started(() => visit(lock, log, 'next'))
      assert.deepEqual(yield* stubborn.kill(), { type: 'abandoned' })
      yield* Fiber.current.joinChildren()
      assert.deepEqual(log, ['next in', 'next out'])
      let runs = 0
      const op = lock.hold(() => (runs++ === 0 ? neverLetsGo() : 'done'))
      yield* moveOnAfter(10, () => op, { value: undefined, grace: 0 })
      isBack(lock)
      assert.equal(yield* op, 'done', 'it may be used again')
    })

    test('takes an op that has no return() for a body, and is given back when that is forced to end', function* () {
      const lock = make()
      const op = () => {
        const inner = sleep(1000)[Symbol.iterator]() as any
        const body = { next: () => inner.next(), throw: (error: unknown) => inner.throw(error) }
        return { [Symbol.iterator]: () => body }
      }
      for (const verb of ['stop', 'kill'] as const) {
        const fiber = yield* started(() => lock.hold(op))
        assert.equal((yield* fiber[verb]()).type, 'stopped')
        isBack(lock)
      }
    })

    test('lets other fibers run, however often it is taken', function* () {
      const lock = make()
      const before = switches()
      for (let n = 0; n < 1300; n++) yield* lock.hold(() => 1)
      assert.ok(switches() - before >= 10, `${switches() - before} turns`)
    })

    test('is given back by a body that was begun by hand, and by one left in the wrong order', function* () {
      const lock = make()
      assert.throws(() => [...(lock.hold(() => sleep(1)) as any)], BadYield)
      isBack(lock)
      for (const body of [() => sleep(1), () => waits(() => {})]) {
        const op = lock.hold(body) as any
        op.next()
        assert.throws(() => op.throw(new Error('by hand')), /by hand|iterated/)
        isBack(lock)
      }
      const around = lock.hold(() => suspend())[Symbol.iterator]() as any
      around.next()
      yield* thrownBy(snooze())
      yield* scope(function* () {
        assert.throws(() => around.return(), BadState)
        yield* snooze()
      })
      isBack(lock)
    })

    test('serves one wait of an op at a time, inside and in line, and only in its own fiber', function* () {
      const lock = make()
      const inside = lock.hold(() => suspend()) as any
      const holder = yield* started(() => inside)
      assert.throws(() => inside.next(), BadState)
      const op = lock.hold(() => 'served') as any
      const first = yield* started(() => op)
      for (const each of [inside, op])
        assert.match((yield* thrownBy(each)).message, /already being waited for/)
      assert.equal((yield* first.stop()).type, 'stopped')
      op.next()
      assert.throws(() => op.throw(new Error('by hand')), /by hand/)
      const again = yield* started(() => op)
      holder.schedule()
      assert.deepEqual([yield* holder, yield* again], [undefined, 'served'])
      isBack(lock)
    })

    if (make().giveBack === undefined) return
    test('given back by hand, the end of the body says so, and keeps its error', function* () {
      const lock = make()
      const error = new Error('of the body')
      const giveBack = () => lock.giveBack?.()
      assert.ok((yield* thrownBy(lock.hold(giveBack))) instanceof BadState)
      const fails = function* () {
        giveBack()
        yield* failAfter(1, error)
      }
      assert.equal(yield* thrownBy(lock.hold(fails)), error)
      assert.ok(suppressedErrors(error)[0] instanceof BadState)
      isBack(lock)
    })

    test('given back by hand, a body that is stopped or abandoned harms no other fiber', function* () {
      const lock = make()
      const careless = (then: () => Op<unknown>) =>
        lock.hold(function* () {
          lock.giveBack?.()
          yield* then()
        })
      const stopped = yield* started(() => careless(sleep))
      const outcome = yield* stopped.stop()
      assert.ok(outcome.type === 'error' && outcome.error instanceof BadState)
      yield* moveOnAfter(10, () => careless(neverLetsGo), { value: undefined, grace: 0 })
      assert.ok(reports().some((each) => /leaving .* failed/.test(each)))
      isBack(lock)
    })
  })
}

// Observers of an end, and what an end leaves for the next incarnation.

import { onEnd } from '#core/index'
import {
  assert,
  type Call,
  call,
  describe,
  Fiber,
  failAfter,
  Mutex,
  moveOnAfter,
  receive,
  receiveAllPending,
  reports,
  runtime,
  sleep,
  spin,
  started,
  test,
  thrownBy,
  waits,
} from '../prelude.js'

describe('a callback of onEnd', () => {
  for (const moment of ['ranOut', 'ended', 'died'] as const) {
    test(`that another one removes at the same end is not called: ${moment}`, function* () {
      const log: number[] = []
      const fiber = spin(() => sleep(5))
      const removers: (() => void)[] = []
      for (const i of [0, 1, 2, 3]) {
        const callback = () => {
          log.push(i)
          if (i === 0) for (const late of [1, 3]) removers[late]?.()
        }
        removers.push(onEnd(fiber, callback, moment))
      }
      yield* fiber
      assert.deepEqual(log, [0, 2])
      for (const remove of removers) remove()
    })
  }

  test('may answer or stop a caller that would hear of the end next: it is told once', function* () {
    for (const act of ['reply', 'stop'] as const) {
      let question!: Call<string, string>
      const fiber = spin(function* () {
        question = yield* receive<Call>()
        yield* sleep(5)
      })
      const caller = spin({ link: false }, () => call(fiber, 'question'))
      onEnd(fiber, () => void (act === 'reply' ? question.reply('by onEnd') : caller.stop('stopped')))
      const { value }: any = yield* caller.join()
      assert.equal(value, act === 'reply' ? 'by onEnd' : 'stopped')
    }
    assert.deepEqual(reports(), [])
  })

  test('may end a monitor: it does not come back', function* () {
    const fiber = spin(() => sleep(5))
    onEnd(fiber, () => fiber.unmonitor())
    const watcher = spin(function* () {
      fiber.monitor()
      onEnd(fiber, () => {})
      yield* sleep(20)
      return receiveAllPending()
    })
    onEnd(fiber, () => {})
    yield* fiber
    assert.equal((yield* watcher).length, 1)
  })
})

describe('observers', () => {
  for (const leaver of [0, 1, 2]) {
    test(`waiter ${leaver} of three leaves and comes back with the same op: each is told once`, function* () {
      const told: number[] = []
      const target = spin(() => sleep(100))
      for (const i of [0, 1, 2]) {
        spin(function* () {
          const op = target.join()
          yield* sleep(i)
          if (i === leaver) yield* moveOnAfter(10, () => op)
          yield* op
          told.push(i)
        })
        yield* sleep(0)
      }
      yield* Fiber.current.joinChildren()
      assert.deepEqual(told.toSorted(), [0, 1, 2])
    })
  }

  test('one that ends its listening after it was told disturbs no other', function* () {
    const target = spin(() => sleep(10))
    const op = target.join()
    spin(() => op)
    yield* sleep(1)
    const stopListening = onEnd(target, () => {}, 'died')
    yield* target
    target.restart()
    const told = [spin(() => op), spin(() => target.join())]
    yield* sleep(1)
    stopListening()
    assert.deepEqual(
      (yield* Fiber.await(...told)).map(({ type }) => type),
      ['value', 'value'],
    )
  })
})

test('a root that has ended is a root no more', function* () {
  const { roots } = runtime()
  const before = roots.size
  Fiber.outOfBand(() => sleep(1))
  yield* sleep(2)
  assert.equal(roots.size, before)
})

describe('what an end leaves for the next incarnation', () => {
  test('an error of the second that is not awaited is told, though the first was awaited', function* () {
    for (const link of [true, false]) {
      const child: Fiber = spin({ link }, () => failAfter(1, new Error(`incarnation ${child.incarnation}`)))
      assert.equal((yield* thrownBy(child)).message, 'incarnation 1')
      child.restart()
      if (link) assert.equal((yield* thrownBy(sleep(10))).message, 'incarnation 2')
      else yield* sleep(10)
    }
    assert.match(reports().join(), /^unobserved: .* failed and nobody was awaiting it$/)
  })

  test('an error that was raised too late for the first does not hinder the second', function* () {
    let lives = 0
    const child = spin(() => {
      lives++
      Fiber.current.raise('too late')
    })
    yield* child
    child.restart()
    assert.equal((yield* child.join()).type, 'value')
    assert.equal(lives, 2)
  })
})

test('locks that a fiber holds are let go when its body is over, though its children still die', function* () {
  const mutex = new Mutex()
  spin(function* () {
    yield* mutex.lock()
    spin(waits, () => sleep(50))
    yield* sleep(1)
  })
  yield* sleep(0)
  const waiter = yield* started(() => mutex.lock() as any)
  yield* sleep(5)
  assert.notEqual(waiter.outcome, undefined)
  yield* Fiber.current.joinChildren()
})

// The bridge, disturbed at every switchpoint and run in every order: nothing is lost, nothing stays.

import { EventEmitter } from 'node:events'
import {
  action,
  assert,
  describe,
  each,
  explore,
  type Fiber,
  failEverywhere,
  moveOnAfter,
  on,
  once,
  type Routine,
  raiseEverywhere,
  runtime,
  type Source,
  scope,
  sleep,
  snooze,
  spin,
  stopEverywhere,
  test,
  until,
  use,
  waits,
} from '../prelude.js'
import { listeners, never, rest } from './outside.js'

/** What has to be closed in the end. */
let open = 0
let world: any
const emitter = new EventEmitter()
const check = () => assert.deepEqual([open, world.external, listeners(emitter)], [0, 0, 0])

const spinAlone = (body: () => unknown) => spin({ link: false }, body as () => Routine<unknown>)

/** Stops the first of some fibers and kills the second, at some moment. */
const strike = (fibers: Fiber[]) =>
  spinAlone(function* () {
    yield* snooze()
    fibers[0]?.stop()
    fibers[1]?.kill()
  })

const scenarios = {
  *callbacks(): Routine<void> {
    const answers: ((value: number) => void)[] = []
    let [received, discarded] = [0, 0]
    const start = (settle: (value: number) => void) => {
      open++
      answers.push(settle)
      return () => void open--
    }
    const ask = function* () {
      yield* action(start, { discard: () => void discarded++ })
      received++
    }
    const fibers = [spinAlone(ask), spinAlone(ask), spinAlone(ask)]
    const striking = strike(fibers)
    for (let n = 0; n < 2; n++) {
      yield* snooze()
      answers[n]?.(n)
    }
    for (const fiber of [striking, ...fibers]) yield* fiber.stop()
    for (const answer of answers) answer(0)
    assert.equal(received + discarded, answers.length)
  },

  *events(): Routine<void> {
    const numbers = on<number>(emitter, 'n', { end: 'close' })
    const got: unknown[] = []
    const read = function* () {
      got.push(yield* numbers.next())
    }
    const fibers = [spinAlone(read), spinAlone(read), spinAlone(() => once(emitter, 'close'))]
    const striking = strike(fibers)
    for (const n of [1, 2]) {
      yield* snooze()
      emitter.emit('n', n)
    }
    yield* striking.join()
    emitter.emit('close')
    for (const fiber of fibers) yield* fiber.stop()
    assert.deepEqual([...got, ...(yield* rest(numbers))].sort(), [1, 2])
  },

  *promises(): Routine<void> {
    const leave = function* () {
      for (let i = 0; i < 2; i++) yield* moveOnAfter(1, () => until(never))
    }
    const fibers = [spinAlone(leave), spinAlone(leave), spinAlone(leave)]
    for (const fiber of [strike(fibers), ...fibers]) yield* fiber.join()
  },

  *resources(): Routine<void> {
    const hold = (ms: number) => use(open++, () => waits(() => void open--, ms))
    const fiber = spinAlone(function* () {
      yield* hold(1)
      yield* scope(function* () {
        yield* hold(2)
        spin(() => hold(3))
        yield* snooze()
      })
      yield* hold(4)
    })
    for (const each of [strike([fiber]), fiber]) yield* each.join()
  },

  *iterations(): Routine<void> {
    const source: Source<number> = {
      *next() {
        yield* sleep(1)
        return 1
      },
      *close() {
        open--
        yield* sleep(1)
      },
    }
    const iterate = () => {
      open++
      return source
    }
    yield* each({ iterate }, (_, index) => index < 2)
  },
}

for (const [name, scenario] of Object.entries(scenarios)) {
  describe(name, () => {
    const counted = function* () {
      open = 0
      world = runtime()
      yield* scenario()
    }
    for (const everywhere of [stopEverywhere, raiseEverywhere, failEverywhere]) {
      test(`${everywhere.name}: all is closed`, () => void everywhere(counted, { check }))
    }
    test('in every order with at most two unlucky switches, nothing is lost', () => {
      const checked = function* () {
        yield* counted()
        check()
      }
      explore(checked, { preemptions: 2 })
    })
  })
}

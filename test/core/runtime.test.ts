// The turns of a runtime, on an event loop that is driven by hand. How long a batch lasts is S49. And the run queue against a
// plain array, with random programs from fixed seeds.

import { setDebug } from '#core/debug'
import { BaseOp, runtimes, VALUE } from '#core/index'
import { RunQueue } from '#core/runtime'
import {
  assert,
  describe,
  explore,
  Fiber,
  random,
  sleep,
  snooze,
  spin,
  suspend,
  tap,
  test,
  until,
} from '../prelude.js'
import { Loop } from './loop.js'

/** A loop whose root has run until it waits, and how to wake the root from outside. */
function waiting(body: (loop: Loop) => Generator<any, unknown>): { loop: Loop; root: Fiber } {
  const loop = new Loop()
  const root = loop.spin(() => body(loop))
  loop.runtime.batch()
  loop.wakes = loop.yields = 0
  return { loop, root }
}

describe('a turn', () => {
  test('is all that a timer that wakes a fiber costs', () => {
    const loop = new Loop()
    const root = loop.spin(function* () {
      const before = loop.runtime.stats().turns
      for (let i = 0; i < 50; i++) yield* sleep(2)
      return loop.runtime.stats().turns - before
    })
    loop.run()
    assert.equal(loop.time, 100)
    assert.deepEqual(root.outcome, { type: 'value', value: 50 })
    assert.ok(!runtimes.has(loop.runtime))
  })

  test('is asked for once, however many fibers become runnable', () => {
    const { loop, root } = waiting(function* () {
      for (let i = 0; i < 2; i++) spin(() => suspend())
      yield* Fiber.current.joinChildren()
    })
    for (const child of root.children) child.schedule()
    assert.deepEqual([loop.wakes, loop.yields], [1, 0])
    loop.run()
    assert.equal(root.state, 'dead')
  })

  for (const [what, steps, ms] of [
    ['1,024 steps', 1023, 0],
    ['10 ms', 0, 10],
  ] as const) {
    test(`comes after the event loop's own once ${what} are spent`, () => {
      const { loop, root } = waiting(function* (loop) {
        for (let i = 0; i < steps; i++) yield* snooze()
        loop.time += ms
        yield* suspend()
      })
      root.schedule()
      assert.deepEqual([loop.wakes, loop.yields], [0, 1])
      loop.run()
    })
  }

  test('does not count the time between turns', () => {
    let ran = 0
    const { loop, root } = waiting(function* (loop) {
      loop.time += 4
      yield* suspend()
      for (; ran < 5; ran++) {
        loop.time += 1
        yield* snooze()
      }
    })
    loop.time += 100
    root.schedule()
    loop.runtime.turn()
    assert.deepEqual([ran, loop.yields], [5, 0])
    loop.run()
  })

  test('is asked for when a timer is due at the end of one', () => {
    const loop = new Loop()
    loop.spin(function* () {
      spin(() => sleep(1))
      yield* snooze()
      loop.time += 5
      yield* suspend()
    })
    for (const yields of [1, 1]) {
      loop.runtime.batch()
      assert.equal(loop.yields, yields)
    }
    loop.runtime.close()
  })

  test('reads the clock seldom while steps are quick, and at every slow one', () => {
    const { loop } = waiting(function* (loop) {
      for (let i = 0; i < 2000; i++) {
        loop.time += 0.005
        yield* snooze()
      }
      for (;;) {
        loop.time += 3
        yield* snooze()
      }
    })
    assert.ok(loop.reads < 100, `${loop.reads} looks at the clock in 1,024 steps`)
    loop.runtime.batch()
    const { switches } = loop.runtime.stats()
    loop.runtime.batch()
    assert.equal(loop.runtime.stats().switches - switches, 4)
    loop.runtime.close()
  })

  for (const [what, quick] of [
    ['a whole batch', 1025],
    ['a part of one', 100],
  ] as const) {
    test(`ends after 10 ms of slow steps also if it comes after ${what} of quick ones`, () => {
      let steps = 0
      const { loop, root } = waiting(function* (loop) {
        for (;;) {
          if (++steps === 100 && quick === 100) yield* suspend()
          if (steps > quick) loop.time += 3
          yield* snooze()
        }
      })
      root.schedule()
      loop.runtime.batch()
      assert.ok(steps <= quick + 6, `${steps - quick} slow steps`)
      loop.runtime.close()
    })
  }

  test('is measured from its first step, however quick those of the turn before were', () => {
    let slow = 0
    const { loop, root } = waiting(function* (loop) {
      for (let i = 0; i < 100; i++) yield* snooze()
      yield* suspend()
      for (;;) {
        slow++
        loop.time += 20
        yield* snooze()
      }
    })
    root.schedule()
    loop.runtime.turn()
    assert.deepEqual([slow, loop.yields], [1, 1])
    loop.runtime.close()
  })

  test('ends with what was left to its end, once', () => {
    const calls: string[] = []
    const [first, second] = [() => calls.push('first'), () => calls.push('second')]
    const { loop } = waiting(function* ({ runtime }) {
      calls.push(...[first, first, second].map((callback) => String(runtime.afterTurn(callback))))
      yield* snooze()
      calls.push('same turn')
    })
    loop.runtime.batch()
    assert.equal(calls.join(' '), 'true true false same turn first')
    assert.equal(loop.runtime.afterTurn(first), false)
    loop.runtime.close()
  })

  test('in debug mode names a fiber that holds the event loop for more than 100 ms', () => {
    setDebug(true)
    try {
      const { loop } = waiting(function* (loop) {
        loop.time += 100
        yield* snooze()
      })
      assert.deepEqual(loop.reports, [])
      const slow = waiting(function* (loop) {
        loop.time += 150
        yield* snooze()
      })
      assert.deepEqual(slow.loop.reports, ['slow: root held the event loop for 150 ms'])
      for (const each of [loop, slow.loop]) each.run()
    } finally {
      setDebug(false)
    }
  })
})

/** What a promise does: it answers in a callback of its own. */
class Answered extends BaseOp<string> {
  enter(): void {}
  abort(): void {}
  describe(): string {
    return 'a promise'
  }
}

describe('the answer of a promise', () => {
  /** A loop with a fiber in its wait, past the first steps of a batch, which are measured. */
  function answering(after: (loop: Loop) => Generator<any, unknown>) {
    const op = new Answered()
    const log: string[] = []
    const { loop, root } = waiting(function* (loop) {
      for (let i = 0; i < 40; i++) yield* snooze()
      log.push(yield* op)
      yield* after(loop)
      log.push('went on')
    })
    const answer = () => loop.runtime.arrive(root, op, VALUE, 'answer')
    return { loop, root, log, answer }
  }

  test('runs its fiber at once, without a look at the clock', () => {
    const { loop, log, answer } = answering(() => suspend() as any)
    const { turns } = loop.runtime.stats()
    loop.reads = 0
    answer()
    assert.deepEqual([log, loop.wakes, loop.yields, loop.reads], [['answer'], 0, 0, 0])
    assert.equal(loop.runtime.stats().turns, turns + 1)
    loop.runtime.close()
  })

  test('leaves what it wakes, and what is left to the end of the turn, to one more turn, which others join', () => {
    for (const left of ['a fiber', 'a callback']) {
      let flushed = 0
      const flush = () => flushed++
      const { loop, log, answer, root } = answering(function* ({ runtime }) {
        if (left === 'a fiber') yield* snooze()
        else assert.ok(runtime.afterTurn(flush))
        yield* suspend()
      })
      answer()
      assert.deepEqual([log, loop.wakes, flushed], [['answer'], 1, 0])
      const other = loop.spin(() => log.push('other'))
      assert.deepEqual([loop.wakes, other.state], [1, 'runnable'])
      loop.runtime.turn()
      assert.deepEqual([log[1], flushed, root.state], ['other', left === 'a fiber' ? 0 : 1, 'waiting'])
      loop.runtime.close()
    }
  })

  test('tells the event loop of a timer that its fiber sets', () => {
    const { loop, answer } = answering(() => sleep(50) as any)
    answer()
    assert.deepEqual([loop.alarm, loop.isAwaited, loop.wakes], [50, true, 0])
    loop.runtime.close()
  })

  const busy: [string, (loop: Loop) => void][] = [
    ['another fiber is runnable', (loop) => loop.spin(() => suspend())],
    ['somebody traces', (loop) => untaps.push(tap(() => {})) && loop],
  ]
  const untaps: (() => void)[] = []
  for (const [when, make] of busy) {
    test(`comes in its turn if ${when}`, () => {
      const { loop, log, answer } = answering(() => suspend() as any)
      make(loop)
      answer()
      assert.deepEqual([log, loop.wakes], [[], 1])
      loop.runtime.turn()
      assert.deepEqual(log, ['answer'])
      for (const untap of untaps.splice(0)) untap()
      loop.runtime.close()
    })
  }

  test('counts as a step: after 1,024 of them the event loop gets its turn', () => {
    const op = new Answered()
    const { loop, root } = waiting(function* () {
      for (;;) yield* op
    })
    const { switches } = loop.runtime.stats()
    for (let answers = 0; loop.yields === 0; answers++) {
      loop.runtime.arrive(root, op, VALUE, 'answer')
      for (; loop.wakes > 0; loop.wakes--) loop.runtime.turn()
      assert.ok(answers <= 1024)
    }
    assert.ok(loop.runtime.stats().switches - switches >= 1022)
    loop.runtime.close()
  })

  test('counts in time as the steps that are measured: slow ones let the event loop have its turn', () => {
    const op = new Answered()
    let steps = 0
    const { loop, root } = waiting(function* (loop) {
      for (;;) {
        yield* op
        steps++
        loop.time += 1
      }
    })
    while (loop.yields === 0) {
      loop.runtime.arrive(root, op, VALUE, 'answer')
      for (; loop.wakes > 0; loop.wakes--) loop.runtime.turn()
    }
    assert.ok(steps <= 12, `${steps} steps of 1 ms`)
    loop.runtime.close()
  })
})

test('a world that runs inside a fiber leaves the answer that is about to be read', function* () {
  const inner = spin(() => 'the answer')[Symbol.iterator]()
  const next = () => {
    const result = inner.next()
    explore(() => snooze())
    return result
  }
  assert.equal(yield* { [Symbol.iterator]: () => ({ next }) }, 'the answer')
})

describe('the event loop is told', () => {
  const node = () => ({ time: 0, seq: 0, index: -1, fire() {} })

  test('when the next timer is due, and whether a fiber waits for it', () => {
    const loop = new Loop()
    const told = () => [loop.alarm, loop.isAwaited]
    const [strong, weak] = [node(), node()]
    loop.runtime.addWeakTimer(weak, 5)
    assert.deepEqual(told(), [5, false])
    loop.runtime.addTimer(strong, 3)
    assert.deepEqual(told(), [3, true])
    loop.runtime.removeTimer(strong)
    assert.deepEqual(told(), [5, false])
    loop.time = 5
    loop.runtime.batch()
    assert.deepEqual(told(), [Number.POSITIVE_INFINITY, false])
    assert.equal(loop.runtime.stats().timers, 0)
    loop.runtime.close()
  })

  test('of timers once, at the end of the turn in which they are set', () => {
    const { loop } = waiting(function* () {
      for (const ms of [5, 4, 3]) spin(() => sleep(ms))
      yield* suspend()
    })
    assert.equal(loop.rests, 1)
    assert.equal(loop.alarm, 3)
    loop.runtime.close()
  })

  test('that something holds the process, and that nothing does any more', () => {
    const loop = new Loop()
    for (const change of ['hold', 'hold', 'release', 'release', 'hold'] as const) loop.runtime[change]()
    assert.deepEqual(loop.held, [true, false, true])
    assert.equal(loop.runtime.stats().pendingOps, 1)
    loop.runtime.close()
  })
})

/** All that the queue needs of a fiber. */
const item = (): any => ({ behind: null })

function contents(queue: any): Fiber[] {
  const found: Fiber[] = []
  for (let fiber = queue.head; fiber !== null; fiber = fiber.behind) found.push(fiber)
  assert.equal(queue.tail, found.at(-1) ?? null)
  return found
}

test('a run queue does what an array does, and keeps no link in a fiber that is out', () => {
  for (let seed = 1; seed <= 60; seed++) {
    const next = random(seed)
    const pick = (n: number) => Math.floor(next() * n)
    let queue = new RunQueue()
    const model: Fiber[] = []
    const out: any[] = []
    for (let step = 0; step < 200; step++) {
      const choice = pick(8)
      const fiber = item()
      if (choice < 3) {
        queue.push(fiber)
        model.push(fiber)
      } else if (choice === 3) {
        queue.unshift(fiber)
        model.unshift(fiber)
      } else if (choice === 4 && model.length > 0) {
        out.push(queue.shift())
        assert.equal(out.at(-1), model.shift())
      } else if (choice === 5 && model.length > 0) {
        const at = pick(model.length)
        out.push(queue.take(at))
        assert.equal(out.at(-1), model.splice(at, 1)[0])
      } else if (choice === 6) {
        const gone = model[pick(model.length)] ?? fiber
        if (model.includes(gone)) out.push(...model.splice(model.indexOf(gone), 1))
        queue.delete(gone)
      } else if (choice === 7) queue = queue.renew()
      assert.deepEqual(contents(queue), model, `seed ${seed}, step ${step}`)
      assert.equal(queue.size, model.length)
    }
    for (const fiber of out) assert.equal(fiber.behind, null)
  }
})

test('a meter is told of each turn, and of the beginning and the end of each step', () => {
  const loop = new Loop()
  const told: string[] = []
  loop.runtime.meter = {
    turn: () => told.push('turn'),
    begin: ({ name }: Fiber) => told.push(`begin ${name}`),
    end: ({ name, state }: Fiber) => told.push(`end ${name} ${state}`),
  }
  loop.spin(() => sleep(5))
  loop.run()
  assert.deepEqual(told, ['turn', 'begin root', 'end root waiting', 'turn', 'begin root', 'end root dead'])
})

test('a timer that is set after a fiber took its step in the callback of a promise is told at once', async () => {
  const loop = new Loop()
  const { runtime } = loop
  let resolve = () => {}
  const promise = new Promise<void>((yes) => {
    resolve = yes
  })
  const fiber = loop.spin(function* () {
    yield* snooze()
    yield* until(promise)
    yield* sleep()
  })
  while (fiber.state !== 'waiting') runtime.turn()
  loop.wakes = loop.yields = 0
  const { turns } = runtime.stats()
  resolve()
  await promise
  await Promise.resolve()
  assert.equal(runtime.stats().turns, turns + 1)
  const { rests } = loop
  runtime.addTimer({ time: 0, seq: 0, index: -1, fire() {} }, 50)
  assert.equal(loop.rests, rests + 1)
  fiber.kill()
  loop.run()
})

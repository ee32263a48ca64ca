// The rules whose promise is an order between fibers. These run first in, first out, never shuffled.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Fiber, moveOnAfter, type Routine, receive, scope, sleep, snooze, spin, suspend } from 'polyphony'
import { explore } from 'polyphony/testing'
import { BaseOp, settle } from '#core/op'
import type { Runtime } from '#core/runtime'

/** Runs a body in the order of the queue, whatever POLY_SEED says. */
function inOrder(body: () => Routine<void>): () => void {
  return () => void explore(body, { trace: '' })
}

const runtime = (): Runtime => (Fiber.current as any).runtime

/** An op that is always ready. */
class Ready extends BaseOp<void> {
  enter(fiber: Fiber): void {
    settle(fiber, this, undefined)
  }
  abort(): void {}
  describe(): string {
    return 'ready'
  }
}

test(
  'S05 L1 siblings first run in the order they were spun, after the spinner has let go',
  inOrder(function* () {
    const log: string[] = []
    for (const name of ['a', 'b', 'c']) spin(() => log.push(name))
    log.push('spinner')
    yield* snooze()
    log.push('spinner again')
    assert.deepEqual(log, ['spinner', 'a', 'b', 'c', 'spinner again'])
  }),
)

test(
  'S03 children begin their cleanup newest first, after the body of their parent',
  inOrder(function* () {
    const log: string[] = []
    const waits = function* (name: string): Routine<void> {
      try {
        yield* sleep()
      } finally {
        log.push(name)
      }
    }
    const parent = spin(function* () {
      for (const name of ['oldest', 'middle', 'newest']) spin(waits, name)
      yield* waits('body')
    })
    yield* sleep(1)
    yield* parent.stop()
    assert.deepEqual(log, ['body', 'newest', 'middle', 'oldest'])
  }),
)

test(
  'S03 the children of a scope too',
  inOrder(function* () {
    const log: string[] = []
    yield* moveOnAfter(10, () =>
      scope(function* () {
        for (const name of ['oldest', 'middle', 'newest']) {
          spin(function* () {
            try {
              yield* sleep()
            } finally {
              log.push(name)
            }
          })
        }
      }),
    )
    assert.deepEqual(log, ['newest', 'middle', 'oldest'])
  }),
)

test(
  'S51 stops, raises and child errors take their place at the end of the queue',
  inOrder(function* () {
    const log: string[] = []
    const waits = function* (name: string): Routine<void> {
      try {
        yield* suspend()
      } catch {}
      log.push(name)
    }
    const [stopped, raised] = [spin(waits, 'stopped'), spin(waits, 'raised')]
    yield* sleep(1)
    spin(() => log.push('spun before'))
    stopped.stop()
    spin(() => log.push('spun between'))
    raised.raise('oops')
    spin(() => log.push('spun after'))
    yield* Fiber.current.joinChildren()
    assert.deepEqual(log, ['spun before', 'stopped', 'spun between', 'raised', 'spun after'])
  }),
)

test(
  'S34 a stop does not move a fiber that is runnable already',
  inOrder(function* () {
    const log: string[] = []
    const [a, b] = ['a', 'b'].map((name) =>
      spin(function* () {
        log.push(`${name} ${yield* receive()}`)
      }),
    ) as [Fiber, Fiber]
    yield* sleep(1)
    a.send('message')
    b.send('message')
    a.stop()
    yield* Fiber.current.joinChildren()
    assert.deepEqual(log, ['a message', 'b message'])
  }),
)

test(
  'S50 after 128 ready ops the others get exactly one turn each',
  inOrder(function* () {
    const log: string[] = []
    const ready = new Ready()
    const busy = (name: string) =>
      function* () {
        for (let i = 1; i <= 260; i++) {
          yield* ready
          if (i % 129 === 128 || i === 260) log.push(`${name} ${i}`)
        }
      }
    spin(busy('a'))
    spin(busy('b'))
    yield* Fiber.current.joinChildren()
    assert.deepEqual(log, ['a 128', 'b 128', 'a 257', 'b 257', 'a 260', 'b 260'])
  }),
)

test(
  'S10 a fiber whose budget is spent joins the queue of waiters before it lets others run',
  inOrder(function* () {
    const log: string[] = []
    const ready = new Ready()
    const waiting: Fiber[] = []
    class Turn extends BaseOp<void> {
      enter(fiber: Fiber): void {
        waiting.push(fiber)
      }
      abort(): void {}
      describe(): string {
        return 'turn'
      }
    }
    const turn = new Turn()
    const waits = function* (name: string, opsBefore: number): Routine<void> {
      for (let i = 0; i < opsBefore; i++) yield* ready
      yield* turn
      log.push(name)
    }
    spin(waits, 'came first, budget spent', 128)
    spin(waits, 'came second', 0)
    yield* sleep(1)
    for (const fiber of waiting) settle(fiber, turn, undefined)
    yield* Fiber.current.joinChildren()
    assert.deepEqual(log, ['came first, budget spent', 'came second'])
  }),
)

test(
  'S12 those who observe an end hear of it in the order they came',
  inOrder(function* () {
    const log: string[] = []
    const target = spin(() => sleep())
    for (const name of ['first', 'second', 'third']) {
      spin(function* () {
        yield* target.join()
        log.push(name)
      })
    }
    yield* sleep(1)
    yield* target.stop()
    yield* Fiber.current.joinChildren()
    assert.deepEqual(log, ['first', 'second', 'third'])
  }),
)

test(
  'S13 a fiber that stops itself goes on to its next switchpoint in the same turn',
  inOrder(function* () {
    const log: string[] = []
    const self = spin(function* () {
      try {
        Fiber.current.stop()
        log.push('still running')
        yield* snooze()
      } finally {
        log.push('struck')
      }
    })
    spin(() => log.push('other'))
    yield* self.join()
    assert.deepEqual(log, ['still running', 'struck', 'other'])
  }),
)

test(
  'S17 a swallower is through with its three refusals in one turn: nobody waits for it',
  inOrder(function* () {
    const log: string[] = []
    const swallower = spin(function* () {
      for (;;) {
        try {
          yield* receive()
        } catch {
          log.push('swallowed')
        }
      }
    })
    yield* sleep(1)
    swallower.stop()
    spin(() => log.push('other'))
    yield* swallower.join()
    assert.deepEqual(log, ['swallowed', 'swallowed', 'swallowed', 'other'])
    assert.equal(runtime().stats().forced, 1)
  }),
)

test(
  'S28 a scope stops its body first, then the other children newest first, then throws',
  inOrder(function* () {
    const log: string[] = []
    const waits = function* (name: string): Routine<void> {
      try {
        yield* sleep()
      } finally {
        log.push(name)
      }
    }
    try {
      yield* scope(function* () {
        spin(waits, 'older')
        spin(waits, 'newer')
        spin(function* () {
          yield* sleep(1)
          throw new Error('oops')
        })
        yield* waits('body')
      })
    } catch (error) {
      log.push((error as Error).message)
    }
    assert.deepEqual(log, ['body', 'newer', 'older', 'oops'])
  }),
)

test(
  'S68 equal deadlines fire in the order they were set',
  inOrder(function* () {
    const log: string[] = []
    for (const name of ['a', 'b', 'c']) {
      spin(function* () {
        yield* moveOnAfter(5, () => sleep())
        log.push(name)
      })
    }
    spin(function* () {
      yield* sleep(5)
      log.push('d')
    })
    yield* Fiber.current.joinChildren()
    assert.deepEqual(log, ['a', 'b', 'c', 'd'])
  }),
)

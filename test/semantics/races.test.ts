// Races between an answer and a signal (S34-S37). The ops here are written by hand, on the contract of core/op.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  Cancel,
  cancelAfter,
  ensure,
  Fiber,
  isStop,
  moveOnAfter,
  receive,
  receiveAllPending,
  scope,
  sleep,
  snooze,
  spin,
  suspend,
  tap,
} from 'polyphony'
import { explore, stopEverywhere, virtual } from 'polyphony/testing'
import { BaseOp, fail, LATER, LateOp, settle } from '#core/op'
import { leftOut } from '../explore/orders.js'

function now(): number {
  return (Fiber.current as any).runtime.now()
}

/** An op that the test answers by hand, and that tells what was done to it. */
class Door<T = string> extends LateOp<T> {
  readonly log: string[] = []
  fiber!: Fiber
  constructor(private readonly onAbort: (door: Door<T>) => void | typeof LATER = () => {}) {
    super()
  }
  enter(fiber: Fiber): void {
    this.fiber = fiber
    this.log.push('enter')
  }
  abort(): void | typeof LATER {
    this.log.push('abort')
    return this.onAbort(this)
  }
  override discard(value: T): void {
    this.log.push(`discard ${value}`)
  }
  describe(): string {
    return 'a door'
  }
  open(value: T): boolean {
    return settle(this.fiber, this, value)
  }
  jam(error: unknown): boolean {
    return fail(this.fiber, this, error)
  }
}

function later(): typeof LATER {
  return LATER
}

describe('completion wins', () => {
  const verbs: [string, (fiber: Fiber) => unknown][] = [
    ['stop', (fiber) => fiber.stop()],
    ['kill', (fiber) => fiber.kill()],
    ['raise', (fiber) => fiber.raise(new Error('raised'))],
    ['cancel', (fiber) => fiber.cancel()],
  ]
  for (const [verb, strike] of verbs) {
    it(`S34 an answer that came before ${verb} is received first, the signal strikes at the next switchpoint`, () =>
      virtual(function* () {
        const log: string[] = []
        const door = new Door()
        const fiber = spin({ link: false }, function* () {
          log.push(yield* door)
          yield* sleep()
        })
        yield* sleep(1)
        door.open('value')
        strike(fiber)
        yield* fiber.join()
        assert.deepEqual(log, ['value'])
        assert.deepEqual(door.log, ['enter'])
        assert.notEqual(fiber.outcome?.type, 'value')
      }))

    // A killed fiber is forced at once, so that a body which ends in its own way counts as stopped.
    const outcome =
      verb === 'kill' ? { type: 'stopped', value: undefined } : { type: 'value', value: 'value' }
    it(`S34 the outcome if the body ends before the next switchpoint: ${verb}, ${outcome.type}`, () =>
      virtual(function* () {
        const door = new Door()
        const fiber = spin(() => door)
        yield* sleep(1)
        door.open('value')
        strike(fiber)
        assert.deepEqual(yield* fiber.join(), outcome)
      }))

    it(`S34 an error that came before ${verb} is received first`, () =>
      virtual(function* () {
        const error = new Error('jammed')
        const door = new Door()
        const fiber = spin({ link: false }, () => door)
        yield* sleep(1)
        door.jam(error)
        strike(fiber)
        assert.deepEqual(yield* fiber.join(), { type: 'error', error })
      }))
  }

  it('S34 a block that got its answer before it expired keeps it, and moves on at the next switchpoint', () =>
    virtual(function* () {
      const door = new Door()
      const main = spin(function* () {
        const log: string[] = []
        const result = yield* moveOnAfter(
          5,
          function* () {
            log.push(yield* door)
            yield* sleep()
          },
          'moved on',
        )
        return [...log, result]
      })
      spin(function* () {
        yield* sleep(4)
        // Both happen in one turn: the answer first.
        ;(Fiber.current as any).runtime.backend.time = 5
        door.open('value')
      })
      assert.deepEqual(yield* main, ['value', 'moved on'])
    }))

  it('S34 a second answer is ignored and traced, never discarded while the first was received', () =>
    virtual(function* () {
      const late: unknown[] = []
      const untap = tap((event, _fiber, detail) => {
        if (event === 'late') late.push(detail)
      })
      const door = new Door()
      const fiber = spin(() => door)
      yield* sleep(1)
      assert.equal(door.open('first'), true)
      assert.equal(door.open('second'), false)
      assert.equal(yield* fiber, 'first')
      assert.equal(door.open('third'), false)
      untap()
      assert.deepEqual(door.log, ['enter'])
      assert.deepEqual(late, [door, door])
    }))

  it('S34 an op cannot wake a fiber that waits in another op', () =>
    virtual(function* () {
      const [old, door] = [new Door(), new Door()]
      const fiber = spin(function* () {
        yield* moveOnAfter(1, () => old)
        return yield* door
      })
      yield* sleep(2)
      assert.equal(old.open('stale'), false)
      assert.equal(old.jam(new Error('stale')), false)
      yield* sleep(1)
      assert.equal(fiber.state, 'waiting')
      door.open('right')
      assert.equal(yield* fiber, 'right')
      assert.deepEqual(old.log, ['enter', 'abort', 'discard stale'])
    }))

  it('S34 no schedule of a sender and a stopper loses a message that was accepted: it is received or still there', () => {
    const { complete } = explore(function* () {
      const got: unknown[] = []
      const fiber = spin(function* () {
        try {
          got.push(yield* receive())
          yield* snooze()
        } finally {
          got.push(...receiveAllPending())
        }
      })
      yield* snooze()
      const accepted: boolean[] = []
      spin(function* () {
        accepted.push(fiber.phase === 'live' && fiber.state === 'waiting' && fiber.send('m'))
      })
      spin(function* () {
        fiber.stop()
      })
      yield* Fiber.current.joinChildren()
      assert.equal(got.length, accepted[0] ? 1 : 0)
    })
    assert.ok(complete)
  })
})

describe('abort', () => {
  it('S35 it is called once, only while the op has no answer', () =>
    virtual(function* () {
      const door = new Door()
      const fiber = spin(() => door)
      yield* sleep(1)
      fiber.stop()
      fiber.stop()
      fiber.kill()
      yield* fiber.join()
      assert.deepEqual(door.log, ['enter', 'abort'])
    }))

  it('S35 a value that arrives after the fiber has left is discarded, once', () =>
    virtual(function* () {
      const door = new Door()
      const fiber = spin(() => door)
      yield* sleep(1)
      yield* fiber.stop()
      assert.equal(door.open('late'), false)
      door.open('later still')
      assert.deepEqual(door.log, ['enter', 'abort', 'discard late'])
    }))

  it('S35 an error that arrives then is dropped and traced', () =>
    virtual(function* () {
      const late: unknown[] = []
      const untap = tap((event, _fiber, detail) => {
        if (event === 'late') late.push(detail)
      })
      const error = new Error('late')
      const door = new Door()
      const fiber = spin(() => door)
      yield* sleep(1)
      yield* fiber.stop()
      door.jam(error)
      untap()
      assert.deepEqual(door.log, ['enter', 'abort'])
      assert.deepEqual(late, [error])
    }))

  it('S35 an abort that settles at once gives the value to the fiber, the signal comes next', () =>
    virtual(function* () {
      const log: unknown[] = []
      const door = new Door((self) => void self.open('partial'))
      const fiber = spin(function* () {
        log.push(yield* door)
        try {
          yield* sleep()
        } catch (e) {
          log.push(isStop(e))
          throw e
        }
      })
      yield* sleep(1)
      assert.equal((yield* fiber.stop()).type, 'stopped')
      assert.deepEqual(log, ['partial', true])
      assert.deepEqual(door.log, ['enter', 'abort'])
    }))

  it('S35 an abort that fails at once throws that error, the signal comes next', () =>
    virtual(function* () {
      const error = new Error('aborted')
      const door = new Door((self) => void self.jam(error))
      const caught: unknown[] = []
      const fiber = spin(function* () {
        try {
          yield* door
        } catch (e) {
          caught.push(e)
        }
        yield* sleep()
      })
      yield* sleep(1)
      assert.equal((yield* fiber.stop()).type, 'stopped')
      assert.deepEqual(caught, [error])
    }))

  it('S35 a value received from a settling abort is not discarded when it is answered again', () =>
    virtual(function* () {
      const door = new Door((self) => void self.open('descriptor'))
      const fiber = spin(() => door)
      yield* sleep(1)
      assert.deepEqual(yield* fiber.stop(), { type: 'value', value: 'descriptor' })
      door.open('descriptor')
      assert.deepEqual(door.log, ['enter', 'abort'])
    }))

  it('S35 kill lets an abort settle too: the value is received before the first forced return', () =>
    virtual(function* () {
      const log: string[] = []
      const door = new Door((self) => void self.open('partial'))
      const fiber = spin(function* () {
        log.push(yield* door)
        yield* sleep()
        log.push('not reached')
      })
      yield* sleep(1)
      assert.equal((yield* fiber.kill()).type, 'stopped')
      assert.deepEqual(log, ['partial'])
    }))
})

describe('abort answers LATER', () => {
  it('S35 the fiber waits until the op really ends, then the signal strikes and the value is discarded', () =>
    virtual(function* () {
      const log: string[] = []
      const door = new Door(later)
      const fiber = spin(function* () {
        try {
          yield* door
        } finally {
          log.push(`signal at ${now()}`)
        }
      })
      yield* sleep(1)
      fiber.stop()
      yield* sleep(10)
      assert.deepEqual(log, [])
      assert.equal(door.open('late'), false)
      yield* fiber.join()
      assert.deepEqual(log, ['signal at 11'])
      assert.deepEqual(door.log, ['enter', 'abort', 'discard late'])
    }))

  it('S35 the fiber waits for an error too, which is dropped', () =>
    virtual(function* () {
      const door = new Door(later)
      const fiber = spin(() => door)
      yield* sleep(1)
      fiber.stop()
      yield* sleep(10)
      door.jam(new Error('dropped'))
      assert.equal((yield* fiber.join()).type, 'stopped')
      assert.equal(now(), 11)
    }))

  it('S35 the wait is bounded by grace; a value that comes after is discarded', () =>
    virtual(function* () {
      const door = new Door(later)
      const fiber = spin({ grace: 50 }, () => door)
      yield* sleep(1)
      yield* fiber.stop()
      assert.equal(now(), 51)
      door.open('very late')
      assert.deepEqual(door.log, ['enter', 'abort', 'discard very late'])
    }))

  it('S35 the grace given to the stop bounds it', () =>
    virtual(function* () {
      const fiber = spin(() => new Door(later))
      yield* sleep(1)
      yield* fiber.stop(undefined, { grace: 20 })
      assert.equal(now(), 21)
    }))

  it('S35 a raise waits in the same way', () =>
    virtual(function* () {
      const error = new Error('raised')
      const door = new Door(later)
      const fiber = spin({ link: false, grace: 50 }, () => door)
      yield* sleep(1)
      fiber.raise(error)
      yield* sleep(10)
      assert.equal(fiber.state, 'waiting')
      door.open('late')
      assert.deepEqual(yield* fiber.join(), { type: 'error', error })
      assert.deepEqual(door.log, ['enter', 'abort', 'discard late'])
      assert.equal(now(), 11)
    }))

  it('S35 a raise that waits is bounded by grace', () =>
    virtual(function* () {
      const error = new Error('raised')
      const fiber = spin({ link: false, grace: 50 }, () => new Door(later))
      yield* sleep(1)
      assert.deepEqual(yield* fiber.raise(error), { type: 'error', error })
      assert.equal(now(), 51)
    }))

  it('S35 a stop with a small grace ends a wait that a raise began', () =>
    virtual(function* () {
      const fiber = spin({ link: false }, () => new Door(later))
      yield* sleep(1)
      fiber.raise(new Error('raised'))
      yield* sleep(1)
      yield* fiber.stop(undefined, { grace: 20 })
      assert.equal(now(), 22)
    }))

  it('S35 a kill ends the wait at once', () =>
    virtual(function* () {
      const door = new Door(later)
      const fiber = spin(() => door)
      yield* sleep(1)
      fiber.stop()
      yield* sleep(1)
      yield* fiber.kill()
      assert.equal(now(), 2)
      door.open('late')
      assert.deepEqual(door.log, ['enter', 'abort', 'discard late'])
    }))

  it('S35 a block that expires waits for the op, bounded by its own grace', () =>
    virtual(function* () {
      const door = new Door(later)
      const value = yield* moveOnAfter(5, () => door, { value: 'moved on', grace: 10 })
      assert.equal(value, 'moved on')
      assert.equal(now(), 15)
    }))

  it('S35 a block that expires goes on as soon as the op has ended', () =>
    virtual(function* () {
      const door = new Door(later)
      const main = spin(() => moveOnAfter(5, () => door, 'moved on'))
      yield* sleep(8)
      door.open('late')
      assert.equal(yield* main, 'moved on')
      assert.equal(now(), 8)
      assert.deepEqual(door.log, ['enter', 'abort', 'discard late'])
    }))

  it('S35 the stop of a fiber bounds the wait that a block inside it began', () =>
    virtual(function* () {
      const fiber = spin(() => moveOnAfter(5, () => new Door(later)))
      yield* sleep(10)
      yield* fiber.stop(undefined, { grace: 20 })
      assert.equal(now(), 30)
    }))

  it('S35 cancelAfter waits in the same way', () =>
    virtual(function* () {
      const door = new Door(later)
      const fiber = spin({ link: false }, () => cancelAfter(5, () => door))
      yield* sleep(8)
      door.open('late')
      const outcome = yield* fiber.join()
      assert.ok(outcome.type === 'error' && outcome.error instanceof Cancel)
      assert.equal(now(), 8)
    }))

  it('S35 an abort that settles and then answers LATER has settled', () =>
    virtual(function* () {
      const door = new Door((self) => {
        self.open('value')
        return LATER
      })
      const fiber = spin(() => door)
      yield* sleep(1)
      assert.deepEqual(yield* fiber.stop(), { type: 'value', value: 'value' })
    }))

  it('S35 child errors wait for the op too, and none is lost', () =>
    virtual(function* () {
      const error = new Error('child')
      const door = new Door(later)
      const fiber = spin({ link: false }, function* () {
        spin(function* () {
          yield* sleep(5)
          throw error
        })
        yield* door
      })
      yield* sleep(10)
      assert.equal(fiber.state, 'waiting')
      door.open('late')
      assert.deepEqual(yield* fiber.join(), { type: 'error', error })
    }))

  it('S35 inside the cleanup of ensure the op is not aborted before the deadline', () =>
    virtual(function* () {
      const door = new Door(later)
      const fiber = spin(() =>
        ensure(
          () => sleep(),
          () => door,
        ),
      )
      yield* sleep(1)
      fiber.stop()
      yield* sleep(1)
      fiber.stop()
      assert.deepEqual(door.log, ['enter'])
      door.open('in time')
      yield* fiber.join()
      assert.deepEqual(door.log, ['enter'])
    }))
})

describe('hand-over', () => {
  it('S36 a message goes to the fiber that waits for it as its value, whatever happens to it then', () =>
    virtual(function* () {
      const got: unknown[] = []
      const fiber = spin(function* () {
        got.push(yield* receive())
        yield* suspend()
      })
      yield* sleep(1)
      fiber.send('a')
      fiber.kill()
      fiber.send('b')
      yield* fiber.join()
      assert.deepEqual(got, ['a'])
    }))

  it('S36 a permit handed over directly is never lost: three workers, one killer, every schedule', (t) => {
    if (leftOut(t)) return
    const { schedules } = explore(
      function* () {
        const lock = new Lock()
        const workers = [1, 2, 3].map(() =>
          spin(function* () {
            yield* lock.acquire()
            try {
              yield* snooze()
            } finally {
              lock.release()
            }
          }),
        )
        spin(function* () {
          yield* snooze()
          workers[1]!.stop()
        })
        yield* Fiber.current.joinChildren()
        assert.equal(lock.free, 1)
        assert.equal(lock.waiting.length, 0)
      },
      { maxSchedules: 20_000 },
    )
    assert.ok(schedules > 100)
  })

  it('S36 stopping anywhere loses no permit', () => {
    stopEverywhere(function* () {
      const lock = new Lock()
      const op = scope(function* () {
        for (let i = 0; i < 3; i++) {
          spin(function* () {
            yield* lock.acquire()
            try {
              yield* sleep(1)
            } finally {
              lock.release()
            }
          })
        }
      })
      try {
        yield* op
      } finally {
        assert.equal(lock.free, 1)
      }
    })
  })
})

/** A lock as S36 asks for it: `release` gives the permit to the first waiter, as its value. */
class Lock {
  free = 1
  readonly waiting: Acquire[] = []
  acquire(): Acquire {
    return new Acquire(this)
  }
  release(): void {
    for (let op = this.waiting.shift(); op !== undefined; op = this.waiting.shift()) {
      if (settle(op.fiber, op, undefined)) return
    }
    this.free++
  }
}

class Acquire extends BaseOp<void> {
  fiber!: Fiber
  constructor(private readonly lock: Lock) {
    super()
  }
  enter(fiber: Fiber): void {
    this.fiber = fiber
    if (this.lock.free > 0) {
      this.lock.free--
      settle(fiber, this, undefined)
    } else this.lock.waiting.push(this)
  }
  abort(): void {
    this.lock.waiting.splice(this.lock.waiting.indexOf(this), 1)
  }
  describe(): string {
    return 'a lock'
  }
}

// restart: the same handle lives again (S41), and monitors hear of every end.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  BadState,
  createLocal,
  ensure,
  Fiber,
  type FiberEnd,
  isStop,
  moveOnAfter,
  type Outcome,
  receive,
  receiveAllPending,
  scope,
  sleep,
  snooze,
  spin,
  suppressedErrors,
  suspend,
} from 'polyphony'
import { explore, raiseEverywhere, stopEverywhere, virtual } from 'polyphony/testing'
import { leftOut } from '../explore/orders.js'
import { thrownBy } from '../prelude.js'

const types = (ends: unknown[]) => ends.map((end) => (end as FiberEnd).outcome.type)

describe('one handle, many incarnations', () => {
  it('S41 a running fiber is ended and runs again from the top: same handle, incarnation + 1 (R1)', () =>
    virtual(function* () {
      const log: string[] = []
      const fiber = spin(function* () {
        log.push(`start ${Fiber.current.incarnation}`)
        try {
          yield* sleep(10)
          log.push('whole')
        } catch (e) {
          log.push(isStop(e) ? 'stopped' : String(e))
          throw e
        }
        return 'value'
      })
      assert.equal(fiber.incarnation, 1)
      yield* sleep(5)
      assert.equal(fiber.restart(), fiber)
      assert.equal(yield* fiber, 'value')
      assert.equal(fiber.incarnation, 2)
      assert.deepEqual(log, ['start 1', 'stopped', 'start 2', 'whole'])
    }))

  it('S41 a dead fiber lives again, the same handle and not another one (R3)', () =>
    virtual(function* () {
      let runs = 0
      const fiber = spin('phoenix', () => ++runs)
      assert.equal(yield* fiber, 1)
      assert.equal(fiber.restart(), fiber)
      assert.notEqual(fiber.state, 'dead')
      assert.equal(fiber.outcome, undefined)
      assert.deepEqual(Fiber.current.children, [fiber])
      assert.equal(yield* fiber, 2)
      assert.equal(fiber.name, 'phoenix')
    }))

  it('S41 it can be restarted many times', () =>
    virtual(function* () {
      let runs = 0
      const fiber = spin(() => ++runs)
      for (let i = 1; i <= 100; i++) {
        assert.equal(yield* fiber, i)
        fiber.restart()
      }
      yield* fiber
      assert.equal(fiber.incarnation, 101)
    }))

  it('S41 one that failed, and one that was stopped, can be restarted', () =>
    virtual(function* () {
      let runs = 0
      const failing = spin({ link: false }, function* () {
        if (++runs === 1) throw new Error('first')
        return runs
      })
      yield* failing.join()
      assert.equal(yield* failing.restart(), 2)
      const stopped = spin(function* () {
        yield* sleep(10)
        return 'whole'
      })
      yield* stopped.stop('stop value')
      assert.equal(yield* stopped.restart(), 'whole')
      assert.equal(stopped.stopReason, undefined)
    }))

  it('S41 one that has not started yet is restarted before it ran a line', () =>
    virtual(function* () {
      let runs = 0
      const fiber = spin(() => ++runs)
      fiber.restart()
      assert.equal(yield* fiber, 1)
      assert.equal(fiber.incarnation, 2)
    }))

  it('S41 the arguments stay, given ones replace them', () =>
    virtual(function* () {
      const fiber = spin(
        function* (a: string, b: number) {
          yield* sleep(10)
          return `${a}${b}`
        },
        'a',
        1,
      )
      yield* sleep(5)
      assert.equal(yield* fiber.restart(), 'a1')
      assert.equal(yield* fiber.restart('b', 2), 'b2')
      assert.equal(yield* fiber.restart(), 'b2')
    }))

  it('S41 a fiber may restart itself: it strikes at its next switchpoint', () =>
    virtual(function* () {
      const log: string[] = []
      const fiber = spin(function* () {
        const { incarnation } = Fiber.current
        if (incarnation < 3) Fiber.current.restart()
        log.push(`after ${incarnation}`)
        yield* snooze()
        log.push(`whole ${incarnation}`)
      })
      yield* fiber.join()
      assert.deepEqual(log, ['after 1', 'after 2', 'after 3', 'whole 3'])
    }))

  it('S41 a restarted body that ends before the signal strikes runs again all the same', () =>
    virtual(function* () {
      let runs = 0
      const fiber = spin(function* () {
        if (++runs === 1) Fiber.current.restart()
        return runs
      })
      assert.equal(yield* fiber, 2)
    }))

  it('S41 restarting twice before the teardown is over is one restart', () =>
    virtual(function* () {
      let runs = 0
      const fiber = spin(function* () {
        runs++
        yield* ensure(
          () => sleep(100),
          () => sleep(10),
        )
      })
      yield* sleep(1)
      fiber.restart()
      yield* sleep(5)
      fiber.restart()
      yield* fiber.join()
      assert.equal(runs, 2)
      assert.equal(fiber.incarnation, 2)
    }))

  it('S41 it has a fresh signal, stop reason and state', () =>
    virtual(function* () {
      const signals: AbortSignal[] = []
      const fiber = spin(function* () {
        signals.push(Fiber.current.signal)
        assert.equal(Fiber.current.stopReason, undefined)
        assert.equal(Fiber.current.phase, 'live')
        yield* sleep(10)
      })
      yield* sleep(1)
      fiber.restart()
      yield* fiber.join()
      assert.deepEqual(
        signals.map((signal) => signal.aborted),
        [true, false],
      )
    }))

  it('S41 an incarnation has its own patience: earlier swallowed stops do not count', () =>
    virtual(function* () {
      const fiber = spin(function* () {
        for (let caught = 0; caught < 2; ) {
          try {
            yield* receive()
          } catch (e) {
            if (++caught === 2) throw e
          }
        }
      })
      for (let i = 0; i < 5; i++) {
        yield* sleep(1)
        fiber.restart()
      }
      yield* sleep(1)
      yield* fiber.stop()
      const { reports } = (Fiber.current as any).runtime.backend
      assert.deepEqual(reports, [])
    }))
})

describe('teardown', () => {
  it('S41 teardown is complete, children too, before the new body starts (R2)', () =>
    virtual(function* () {
      const log: string[] = []
      const fiber = spin(function* () {
        const { incarnation } = Fiber.current
        log.push(`start ${incarnation}`)
        spin(() =>
          ensure(
            () => sleep(),
            function* () {
              yield* sleep(20)
              log.push(`child gone ${incarnation}`)
            },
          ),
        )
        yield* ensure(
          () => sleep(50),
          function* () {
            yield* sleep(10)
            log.push(`body gone ${incarnation}`)
          },
        )
      })
      yield* sleep(1)
      fiber.restart()
      yield* fiber.join()
      assert.deepEqual(log, [
        'start 1',
        'body gone 1',
        'child gone 1',
        'start 2',
        'body gone 2',
        'child gone 2',
      ])
      assert.deepEqual(fiber.children, [])
    }))

  it('S41 a fiber whose body is over can be restarted while its children die', () =>
    virtual(function* () {
      const log: string[] = []
      const fiber = spin(function* () {
        const { incarnation } = Fiber.current
        log.push(`start ${incarnation}`)
        spin(() =>
          ensure(
            () => sleep(),
            function* () {
              yield* sleep(10)
              log.push(`child gone ${incarnation}`)
            },
          ),
        )
        yield* sleep(1)
        return incarnation
      })
      yield* sleep(5)
      assert.equal(fiber.phase, 'closing')
      fiber.restart()
      assert.equal(yield* fiber.await(), 2)
      assert.deepEqual(log, ['start 1', 'child gone 1', 'start 2', 'child gone 2'])
    }))

  it('S41 awaiters keep waiting through restarts and get the end of the last incarnation', () =>
    virtual(function* () {
      const fiber = spin(function* () {
        yield* sleep(10)
        return Fiber.current.incarnation
      })
      const waiters = [spin(() => fiber.await()), spin(() => fiber.join())]
      for (let i = 0; i < 3; i++) {
        yield* sleep(5)
        fiber.restart()
      }
      assert.deepEqual(yield* Fiber.await(...waiters), [4, { type: 'value', value: 4 }])
    }))

  it('S41 an error from the teardown cancels the restart and bubbles', () =>
    virtual(function* () {
      const error = new Error('cleanup')
      let runs = 0
      const fiber = spin(function* () {
        runs++
        try {
          yield* sleep()
        } finally {
          // biome-ignore lint/correctness/noUnsafeFinally: this is what the test is about
          throw error
        }
      })
      yield* sleep(1)
      fiber.restart()
      assert.equal(yield* thrownBy(sleep(100)), error)
      assert.equal(fiber.state, 'dead')
      assert.equal(fiber.incarnation, 1)
      assert.equal(runs, 1)
    }))

  it('S41 an error of a child in the teardown cancels it too', () =>
    virtual(function* () {
      const error = new Error('child')
      const fiber = spin({ link: false }, function* () {
        spin(function* () {
          try {
            yield* sleep()
          } finally {
            // biome-ignore lint/correctness/noUnsafeFinally: this is what the test is about
            throw error
          }
        })
        yield* sleep()
      })
      yield* sleep(1)
      fiber.restart()
      assert.deepEqual(yield* fiber.join(), { type: 'error', error })
    }))

  it('S41 a cancelled restart is not remembered: a later end is an end', () =>
    virtual(function* () {
      let runs = 0
      const fiber = spin({ link: false }, function* () {
        try {
          if (++runs > 1) return
          yield* sleep()
        } finally {
          // biome-ignore lint/correctness/noUnsafeFinally: this is what the test is about
          if (runs === 1) throw new Error('cleanup')
        }
      })
      yield* sleep(1)
      fiber.restart()
      yield* fiber.join()
      yield* fiber.restart().join()
      yield* sleep(10)
      assert.equal(runs, 2)
    }))
})

describe('stop and restart', () => {
  it('S41 the later verb wins: stop, then restart', () =>
    virtual(function* () {
      const fiber = spin(function* () {
        yield* ensure(
          () => sleep(20),
          () => sleep(10),
        )
        return Fiber.current.incarnation
      })
      yield* sleep(1)
      fiber.stop('never seen')
      yield* sleep(1)
      fiber.restart()
      assert.equal(yield* fiber, 2)
    }))

  it('S41 the later verb wins: restart, then stop, whose value is the outcome', () =>
    virtual(function* () {
      let runs = 0
      const fiber = spin(function* () {
        runs++
        yield* ensure(
          () => sleep(20),
          () => sleep(10),
        )
      })
      yield* sleep(1)
      fiber.restart()
      yield* sleep(1)
      assert.deepEqual(yield* fiber.stop('stopped'), { type: 'stopped', value: 'stopped' })
      assert.equal(runs, 1)
    }))

  for (const verb of ['terminate', 'kill'] as const) {
    it(`S41 ${verb} after restart ends the fiber too`, () =>
      virtual(function* () {
        let runs = 0
        const fiber = spin(function* () {
          runs++
          yield* sleep()
        })
        yield* sleep(1)
        fiber.restart()
        assert.equal((yield* fiber[verb]()).type, 'stopped')
        yield* sleep(10)
        assert.equal(runs, 1)
      }))
  }

  it('S41 the end of the parent comes after the restart and wins: the child does not live again', () =>
    virtual(function* () {
      let runs = 0
      let child!: Fiber
      const parent = spin(function* () {
        child = spin(function* () {
          runs++
          yield* sleep()
        })
        yield* sleep(1)
        child.restart()
      })
      const outcome = yield* moveOnAfter(100, () => parent.join())
      if (outcome === undefined) yield* child.kill()
      assert.equal(outcome?.type, 'value', 'the parent never ended')
      assert.equal(runs, 1)
    }))

  it('S41 a parent that stops its children ends a restarting one too', () =>
    virtual(function* () {
      let runs = 0
      const child = spin(function* () {
        runs++
        yield* sleep()
      })
      yield* sleep(1)
      child.restart()
      Fiber.current.stopChildren()
      yield* moveOnAfter(100, () => child.join())
      const { state } = child
      yield* child.kill()
      assert.equal(state, 'dead')
      assert.equal(runs, 1)
    }))

  it('S41 a scope that fails ends a restarting child too', () =>
    virtual(function* () {
      const error = new Error('sibling')
      let child!: Fiber
      const op = scope(function* () {
        child = spin(() =>
          ensure(
            () => sleep(),
            () => sleep(10),
          ),
        )
        yield* sleep(1)
        child.restart()
        yield* sleep(1)
        throw error
      })
      const caught = yield* moveOnAfter(100, () => thrownBy(op))
      const { state } = child
      yield* child.kill()
      assert.equal(state, 'dead', 'the child lives again in a scope that is over')
      assert.equal(caught, error)
    }))

  it('S41 an AbortSignal that fires after the restart was asked for ends the fiber', () =>
    virtual(function* () {
      const controller = new AbortController()
      const fiber = spin({ signal: controller.signal }, () =>
        ensure(
          () => sleep(),
          () => sleep(10),
        ),
      )
      yield* sleep(1)
      fiber.restart()
      yield* sleep(1)
      controller.abort()
      const outcome = yield* moveOnAfter(100, () => fiber.join())
      if (outcome === undefined) yield* fiber.kill()
      assert.equal(outcome?.type, 'stopped')
    }))

  it('S41 the AbortSignal given to spin ends every incarnation, also of a fiber that was dead', () =>
    virtual(function* () {
      for (const wasDead of [false, true]) {
        const controller = new AbortController()
        const fiber = spin({ signal: controller.signal }, () => sleep())
        yield* sleep(1)
        if (wasDead) yield* fiber.stop()
        fiber.restart()
        yield* sleep(1)
        controller.abort()
        const outcome = yield* moveOnAfter(100, () => fiber.join())
        if (outcome === undefined) yield* fiber.kill()
        assert.equal(outcome?.type, 'stopped', `wasDead: ${wasDead}`)
      }
    }))

  it('S41 a raise in a restarting fiber is refused, in the new incarnation it strikes', () =>
    virtual(function* () {
      const error = new Error('raised')
      const fiber = spin({ link: false }, () => sleep())
      yield* sleep(1)
      fiber.restart()
      fiber.raise(new Error('refused'))
      yield* sleep(1)
      assert.equal(fiber.phase, 'live')
      assert.deepEqual(yield* fiber.raise(error), { type: 'error', error })
    }))

  it('S41 a refused restart changes nothing', () =>
    virtual(function* () {
      const fiber = spin(function* () {
        yield* sleep(5)
        return receiveAllPending()
      })
      fiber.send('kept')
      yield* sleep(1)
      assert.throws(() => fiber.restartWith({ grace: Number.NaN }), { code: 'BAD_ARGUMENT' })
      assert.deepEqual(yield* fiber, ['kept'])
      assert.equal(fiber.incarnation, 1)
    }))
})

describe('mailbox and locals', () => {
  it('S41 the mailbox is cut at the call: earlier messages are dropped, later ones reach the new incarnation', () =>
    virtual(function* () {
      const fiber = spin(function* () {
        yield* ensure(
          () => sleep(20),
          () => sleep(10),
        )
        return receiveAllPending()
      })
      fiber.send('before')
      yield* sleep(1)
      fiber.restart()
      fiber.send('just after')
      yield* sleep(5)
      fiber.send('during the teardown')
      assert.deepEqual(yield* fiber, ['just after', 'during the teardown'])
    }))

  it('S41 a message for the new incarnation is not seen by the old one', () =>
    virtual(function* () {
      const seen: unknown[][] = []
      const fiber = spin(function* () {
        try {
          yield* sleep(20)
        } finally {
          seen.push(receiveAllPending())
        }
      })
      fiber.send('before')
      yield* sleep(1)
      fiber.restart()
      fiber.send('after')
      yield* fiber.join()
      assert.deepEqual(seen, [[], ['after']])
    }))

  it('S41 a restart of a fiber that waits in receive hands it nothing', () =>
    virtual(function* () {
      const fiber = spin(function* () {
        return [Fiber.current.incarnation, yield* receive()]
      })
      yield* sleep(1)
      fiber.restart()
      fiber.send('for the second')
      assert.deepEqual(yield* fiber, [2, 'for the second'])
    }))

  it('S41 keepMailbox keeps the messages, in order', () =>
    virtual(function* () {
      const fiber = spin(function* () {
        yield* sleep(20)
        return receiveAllPending()
      })
      fiber.send('before')
      yield* sleep(1)
      fiber.restartWith({ keepMailbox: true })
      fiber.send('after')
      assert.deepEqual(yield* fiber, ['before', 'after'])
    }))

  it('S41 a dead fiber starts with an empty mailbox', () =>
    virtual(function* () {
      const fiber = spin(function* () {
        yield* sleep(5)
        return Fiber.current.incarnation === 1 ? [] : receiveAllPending()
      })
      fiber.send('never read')
      yield* fiber
      fiber.restart()
      fiber.send('read')
      assert.deepEqual(yield* fiber, ['read'])
    }))

  it('S41 the search of the article: each query restarts the search, none is wiped (F5.4)', () =>
    virtual(function* () {
      const found: string[] = []
      const searcher = spin(function* () {
        const query: string = yield* receive()
        yield* sleep(10)
        found.push(query)
        yield* suspend()
      })
      for (const query of ['p', 'po', 'pol']) {
        searcher.restart()
        searcher.send(query)
        yield* sleep(5)
      }
      yield* sleep(100)
      assert.deepEqual(found, ['pol'])
      yield* searcher.stop()
    }))

  it('S41 locals are as they were when it was spun', () =>
    virtual(function* () {
      const color = createLocal('none')
      color.set('parent')
      const seen: string[] = []
      const fiber = spin(function* () {
        seen.push(color.get())
        color.set('child')
        yield* sleep(5)
      })
      yield* sleep(1)
      color.set('parent, later')
      fiber.restart()
      yield* fiber.join()
      yield* fiber.restart().join()
      assert.deepEqual(seen, ['parent', 'parent', 'parent'])
    }))
})

describe('where a restarted fiber lives', () => {
  it('S41 a dead fiber goes back under its old owner', () =>
    virtual(function* () {
      const owner = spin(() => sleep(100))
      const child = owner.spin(() => 1)
      yield* child
      child.restart()
      assert.equal(child.parent, owner)
      assert.deepEqual(owner.children, [child])
      yield* owner.join()
    }))

  it('S41 if that is over, restart throws and the fiber stays dead', () =>
    virtual(function* () {
      let child!: Fiber
      const parent = spin(function* () {
        child = spin(() => 1)
        yield* child
      })
      yield* parent
      assert.throws(() => child.restart(), BadState)
      assert.throws(() => child.restart(), /cannot be restarted: its parent is over/)
      assert.equal(child.state, 'dead')
    }))

  it('S41 the child of a scope that is over cannot be restarted', () =>
    virtual(function* () {
      let child!: Fiber
      yield* scope(function* () {
        child = spin(() => 1)
      })
      assert.throws(() => child.restart(), BadState)
    }))

  it('S41 a child whose parent is closing cannot be restarted: it would keep the parent from ending', () =>
    virtual(function* () {
      let child!: Fiber
      let runs = 0
      const parent = spin(function* () {
        child = spin(function* () {
          runs++
          yield* ensure(
            () => sleep(),
            () => sleep(10),
          )
        })
        yield* sleep(1)
      })
      yield* sleep(5)
      assert.equal(parent.phase, 'closing')
      assert.throws(() => child.restart(), BadState)
      yield* moveOnAfter(100, () => parent.join())
      const { state } = parent
      yield* child.kill()
      assert.equal(state, 'dead')
      assert.equal(runs, 1)
    }))

  it('S41 R4 main, and any other root, cannot be restarted: thrown at the call', () =>
    virtual(function* () {
      assert.throws(() => Fiber.current.restart(), { code: 'BAD_STATE', message: /main cannot be restarted/ })
      const raw = new Fiber(function* () {})
      assert.throws(() => raw.restart(), BadState)
      yield* sleep(1)
    }))
})

describe('monitors', () => {
  it('S41 the end of a fiber arrives in the mailbox of whoever monitors it', () =>
    virtual(function* () {
      const error = new Error('no')
      const [a, b, c] = [
        spin(() => 'value'),
        spin({ link: false }, function* () {
          throw error
        }),
        spin(() => sleep()),
      ]
      for (const fiber of [a, b, c]) fiber.monitor()
      c.stop('v')
      const ends = new Map<Fiber, Outcome<unknown>>()
      while (ends.size < 3) {
        const end: FiberEnd = yield* receive()
        assert.equal(end.type, 'end')
        ends.set(end.fiber, end.outcome)
      }
      assert.deepEqual(ends.get(a), { type: 'value', value: 'value' })
      assert.deepEqual(ends.get(b), { type: 'error', error })
      assert.deepEqual(ends.get(c), { type: 'stopped', value: 'v' })
    }))

  it('S41 a monitor gets one event per incarnation, also after a death', () =>
    virtual(function* () {
      const fiber = spin(function* () {
        yield* sleep(10)
      })
      fiber.monitor()
      yield* sleep(5)
      fiber.restart()
      yield* fiber.join()
      yield* fiber.restart().join()
      assert.deepEqual(types(receiveAllPending()), ['stopped', 'value', 'value'])
    }))

  it('S41 a restart that an error cancelled is one event', () =>
    virtual(function* () {
      const fiber = spin({ link: false }, function* () {
        try {
          yield* sleep()
        } finally {
          // biome-ignore lint/correctness/noUnsafeFinally: this is what the test is about
          throw new Error('cleanup')
        }
      })
      fiber.monitor()
      yield* sleep(1)
      fiber.restart()
      yield* fiber.join()
      assert.deepEqual(types(receiveAllPending()), ['error'])
    }))

  it('S41 monitoring twice tells once, monitoring a dead fiber tells at once', () =>
    virtual(function* () {
      const fiber = spin(() => 1)
      fiber.monitor()
      fiber.monitor()
      yield* fiber
      assert.equal(receiveAllPending().length, 1)
      fiber.monitor()
      assert.deepEqual(types(receiveAllPending()), ['value'])
    }))

  it('S41 unmonitor ends it', () =>
    virtual(function* () {
      const fiber = spin(() => 1)
      fiber.monitor()
      fiber.unmonitor()
      yield* fiber
      assert.deepEqual(receiveAllPending(), [])
    }))

  it('S39 a monitor that is dead gets nothing, and no dead letter is counted', () =>
    virtual(function* () {
      const fiber = spin(() => sleep(10))
      yield* spin(() => fiber.monitor())
      const { counts } = (Fiber.current as any).runtime
      yield* fiber
      assert.equal(counts.deadLetters, 0)
    }))

  it('S24 monitoring is not observing: the error still goes to the parent', () =>
    virtual(function* () {
      const error = new Error('no')
      const fiber = spin(function* () {
        yield* sleep(1)
        throw error
      })
      fiber.monitor()
      assert.equal(yield* thrownBy(sleep()), error)
      assert.deepEqual(types(receiveAllPending()), ['error'])
    }))
})

describe('restart in every schedule', () => {
  it('S41 teardown before rebirth, whatever the order of restarter, stopper and children', (t) => {
    if (leftOut(t)) return
    const { schedules } = explore(
      function* () {
        let bodies = 0
        let children = 0
        const fiber = spin(function* () {
          assert.equal(bodies, 0, 'two bodies at once')
          assert.equal(children, 0, 'children of an earlier incarnation are alive')
          bodies++
          try {
            spin(function* () {
              children++
              try {
                yield* snooze()
              } finally {
                children--
              }
            })
            yield* snooze()
          } finally {
            bodies--
          }
        })
        spin(function* () {
          if (fiber.state !== 'dead') fiber.restart()
        })
        spin(function* () {
          yield* snooze()
          fiber.stop()
        })
        yield* Fiber.current.joinChildren()
        assert.equal(fiber.state, 'dead')
      },
      { maxSchedules: 20_000 },
    )
    assert.ok(schedules > 100)
  })

  it('S41 a parent that ends in any schedule is not held by a child that is restarted', () => {
    explore(
      function* () {
        const parent = spin('parent', function* () {
          const child = spin('child', () => suspend())
          spin('restarter', function* () {
            child.restart()
            yield* snooze()
          })
          yield* snooze()
        })
        yield* parent.join()
      },
      { maxSchedules: 20_000 },
    )
  })

  it('S22 no error is lost when children fail around a restart', () => {
    explore(
      function* () {
        const thrown: Error[] = []
        const received: unknown[] = []
        const whole = (error: unknown): unknown[] => [error, ...suppressedErrors(error).flatMap(whole)]
        const fiber = spin({ link: false }, function* () {
          const { incarnation } = Fiber.current
          spin(function* () {
            yield* snooze()
            const error = new Error(`child ${incarnation}`)
            thrown.push(error)
            throw error
          })
          try {
            yield* snooze()
            yield* snooze()
          } catch (e) {
            if (!isStop(e)) received.push(e)
            throw e
          }
        })
        spin(function* () {
          yield* snooze()
          if (fiber.state !== 'dead') fiber.restart()
        })
        const outcome = yield* fiber.join()
        if (outcome.type === 'error') received.push(outcome.error)
        yield* Fiber.current.joinChildren()
        assert.deepEqual(new Set(received.flatMap(whole)), new Set(thrown))
      },
      { maxSchedules: 20_000 },
    )
  })

  const restarting = function* () {
    const fiber = spin(function* () {
      spin(() => sleep(20))
      yield* ensure(
        () => sleep(5),
        () => sleep(2),
      )
    })
    const restarter = spin(function* () {
      yield* sleep(3)
      if (fiber.state !== 'dead') fiber.restart()
    })
    yield* restarter.join()
    yield* fiber.join()
  }
  it('S41 it can be stopped anywhere', () => void stopEverywhere(restarting))
  it('S41 it can be raised in anywhere', () => void raiseEverywhere(restarting))
})

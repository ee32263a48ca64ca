// Bad input of every kind: each is refused with a named error that says what to do, and the fiber stays sound.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  after,
  BadArgument,
  BadState,
  BadYield,
  cancelAfter,
  DeadlockError,
  ensure,
  every,
  Fiber,
  main,
  moveOnAfter,
  NotInFiber,
  type Op,
  type Report,
  type Routine,
  receive,
  receiveAllPending,
  run,
  scope,
  shield,
  sleep,
  snooze,
  spin,
  spinLoop,
  suspend,
  tap,
  throttledLoop,
  transfer,
  tryReceive,
  until,
} from 'polyphony'
import { virtual } from 'polyphony/testing'
import { BaseOp, LateOp, settle } from '#core/op'
import { thrownBy } from '../prelude.js'

const anything = (x: unknown): any => x

/** The error that a body ends with, in a fiber of its own. */
function* failureOf(body: () => unknown): Routine<any> {
  const outcome = yield* spin({ link: false, name: 'culprit' }, body as () => Op<unknown>).join()
  assert.equal(outcome.type, 'error')
  return outcome.type === 'error' && outcome.error
}

function reports(): Report[] {
  return (Fiber.current as any).runtime.backend.reports
}

describe('bodies', () => {
  const notFunctions = [undefined, null, 5, {}, [], Promise.resolve(), sleep(1)]

  it('S05 a body that is not a function is refused at the call, and named', () =>
    virtual(function* () {
      const takers: [string, (body: any) => unknown][] = [
        ['spin()', (body) => spin('name', body)],
        ['spin()', (body) => spin({ name: 'name' }, body)],
        ['scope()', (body) => scope(body)],
        ['shield()', (body) => shield(body)],
        ['moveOnAfter()', (body) => moveOnAfter(1, body)],
        ['cancelAfter()', (body) => cancelAfter(1, body)],
        ['ensure()', (body) => ensure(body, () => {})],
        ['ensure()', (body) => ensure(() => {}, body)],
        ['new Fiber()', (body) => new Fiber(body)],
        ['after()', (body) => after(1, body)],
        ['every()', (body) => every(1, body)],
        ['spinLoop()', (body) => spinLoop(body)],
        ['throttledLoop()', (body) => throttledLoop(1, body)],
        ['run()', (body) => run(body)],
      ]
      for (const [name, take] of takers) {
        for (const body of notFunctions) {
          assert.throws(
            () => take(body),
            (error: any) => error instanceof BadArgument && error.message.startsWith(name),
          )
        }
      }
      assert.deepEqual(Fiber.current.children, [])
      yield* sleep(1)
    }))

  it('S05 spin without a body, or with a wrong first argument, says what it needs', () =>
    virtual(function* () {
      for (const args of [[], [undefined], [null], [5], ['name'], [{ name: 'x' }]]) {
        assert.throws(() => anything(spin)(...args), { code: 'BAD_ARGUMENT', message: /needs a function\*/ })
      }
      yield* sleep(1)
    }))

  it('S05 an async function is refused at the call with its own sentence', () =>
    virtual(function* () {
      const load = async () => {}
      const stream = async function* stream() {}
      for (const body of [load, stream]) {
        for (const take of [
          spin,
          scope,
          shield,
          run,
          (b: any) => new Fiber(b),
          (b: any) => moveOnAfter(1, b),
        ]) {
          assert.throws(() => anything(take)(body), {
            code: 'BAD_ARGUMENT',
            message: new RegExp(`async function ${body.name}.*until\\(promise\\)`),
          })
        }
      }
      yield* sleep(1)
    }))

  it('S05 main refuses the same bodies', () => {
    assert.throws(() => main(anything(5)), BadArgument)
    assert.throws(() => main(anything(async () => {})), BadArgument)
  })

  it('S05 a plain function that returns a promise fails its fiber, and the sentence names until', () =>
    virtual(function* () {
      const returns = function load() {
        return Promise.resolve(1)
      }
      for (const body of [returns, () => scope(anything(returns)), () => moveOnAfter(5, anything(returns))]) {
        const error = yield* failureOf(body)
        assert.ok(error instanceof BadArgument)
        assert.match(error.message, /returned a promise.*until\(promise\)/)
      }
    }))

  it('S05 unknown options are refused by name', () =>
    virtual(function* () {
      const fiber = spin(() => sleep(5))
      const calls: [string, () => unknown][] = [
        ['grce', () => spin(anything({ grce: 1 }), () => {})],
        ['timeout', () => run(() => {}, anything({ timeout: 1 }))],
        ['grce', () => fiber.stop(undefined, anything({ grce: 1 }))],
        ['grce', () => fiber.terminate(anything({ grce: 1 }))],
        ['keepmailbox', () => fiber.restartWith(anything({ keepmailbox: true }))],
        ['grce', () => Fiber.current.stopChildren(anything({ grce: 1 }))],
      ]
      for (const [name, call] of calls) {
        assert.throws(call, { code: 'BAD_ARGUMENT', message: new RegExp(`"${name}"`) }, name)
      }
      assert.equal(fiber.phase, 'live')
      yield* fiber.join()
    }))

  it('S05 a refused spin leaves no fiber behind', () =>
    virtual(function* () {
      for (const options of [{ grace: -1 }, { grace: '5' }, { signal: {} }, { signal: 5 }]) {
        assert.throws(() => spin(anything(options), () => sleep()), BadArgument, JSON.stringify(options))
        assert.deepEqual(Fiber.current.children, [])
      }
      yield* sleep(1)
    }))
})

describe('yields', () => {
  const things: [unknown, RegExp][] = [
    [5, /yielded 5, which is not an op/],
    ['text', /yielded "text"/],
    [undefined, /yielded undefined/],
    [null, /yielded null/],
    [{}, /yielded an object of class Object/],
    [Symbol('s'), /yielded Symbol\(s\)/],
    [10n, /yielded 10/],
    [Object.create(null), /yielded an object/],
    [() => 1, /yielded a function/],
    [[1, 2], /yielded an array of 2/],
    [new Error('boom'), /yielded Error: boom/],
    [Promise.resolve(), /yielded an object of class Promise.*yield\* until\(promise\)/],
    [sleep(1), /yielded sleep\(1\) without the star. Write yield\* sleep\(1\)/],
    [snooze(), /Write yield\* snooze\(\)/],
  ]
  for (const [thing, message] of things) {
    it(`S69 a yielded thing that is not an op is a BadYield that names it: ${message.source}`, () =>
      virtual(function* () {
        const error = yield* failureOf(function* () {
          yield anything(thing)
        })
        assert.ok(error instanceof BadYield, String(error))
        assert.equal(error.code, 'BAD_YIELD')
        assert.match(error.message, message)
        assert.match(error.message, /main > culprit/)
      }))
  }

  it('S69 yield* of a foreign generator is a BadYield', () =>
    virtual(function* () {
      const error = yield* failureOf(function* () {
        yield* anything(
          (function* () {
            yield 1
          })(),
        )
      })
      assert.ok(error instanceof BadYield)
    }))

  // The iterators of arrays and strings have no throw method, so the language turns what is thrown at them into a
  // TypeError of its own. The fiber still fails with the error that names what was yielded.
  for (const iterable of [[1], 'text', new Set([1]), new Map([[1, 2]])]) {
    it(`S69 yield* of a ${iterable.constructor.name} is a BadYield`, () =>
      virtual(function* () {
        const error = yield* failureOf(function* () {
          yield* anything(iterable)
        })
        assert.ok(error instanceof BadYield, String(error))
      }))
  }

  it('S69 a BadYield can be caught, and the fiber goes on', () =>
    virtual(function* () {
      const fiber = spin(function* () {
        try {
          yield anything(5)
        } catch (e) {
          assert.ok(e instanceof BadYield)
        }
        yield* sleep(1)
        return 'sound'
      })
      assert.equal(yield* fiber.await(), 'sound')
    }))

  it('S69 a bad yield inside a block is told where it happened, and the block can be left', () =>
    virtual(function* () {
      const bad = function* () {
        yield anything(5)
      }
      for (const op of [scope(anything(bad)), shield(anything(bad)), moveOnAfter(10, anything(bad))]) {
        assert.ok((yield* thrownBy(op)) instanceof BadYield)
        yield* sleep(1)
      }
    }))

  it('S69 a fiber that yields rubbish for ever while it is forced is abandoned, not looped over', () =>
    virtual(function* () {
      const fiber = spin(function* () {
        for (;;) {
          try {
            yield anything(5)
          } catch {
            try {
              yield* sleep()
            } catch {}
          }
        }
      })
      yield* sleep(1)
      const outcome = yield* fiber.kill()
      assert.ok(outcome.type === 'stopped' || outcome.type === 'abandoned')
    }))
})

describe('ops iterated by hand', () => {
  const ops: [string, () => Op<any>][] = [
    ['sleep', () => sleep(5)],
    ['snooze', () => snooze()],
    ['suspend', () => suspend()],
    ['receive', () => receive()],
    ['await', () => spin(() => sleep(5)).await()],
    ['Fiber.await', () => Fiber.await(spin(() => sleep(5)))],
    ['scope', () => scope(() => sleep(5))],
    ['moveOnAfter', () => moveOnAfter(10, () => sleep(5))],
    ['until', () => until(new Promise(() => {}))],
    ['a generator', () => waiting()],
  ]
  function* waiting() {
    yield* sleep(5)
  }
  const ways: [string, (op: any) => void][] = [
    ['spread', (op) => void [...op]],
    [
      'destructuring',
      (op) => {
        const [x] = op
        void x
      },
    ],
    [
      'for of',
      (op) => {
        for (const x of op) void x
      },
    ],
    [
      'for of with break',
      (op) => {
        for (const x of op) {
          void x
          break
        }
      },
    ],
    ['Array.from', (op) => void Array.from(op)],
  ]
  for (const [opName, make] of ops) {
    for (const [way, iterate] of ways) {
      it(`S69 ${opName} iterated by ${way} is a BadYield, and the fiber stays sound`, () =>
        virtual(function* () {
          const fiber = spin({ link: false }, function* () {
            assert.throws(() => iterate(make()), BadYield)
            yield* sleep(1)
            Fiber.current.send('m')
            assert.equal(yield* receive(), 'm')
            yield* Fiber.current.shutdownChildren()
            return 'sound'
          })
          assert.deepEqual(yield* fiber.join(), { type: 'value', value: 'sound' })
        }))
    }
  }

  it('S69 an op entered by next() and left alone is taken back when the next one is entered', () =>
    virtual(function* () {
      const fiber = spin(function* () {
        anything(sleep(50)).next()
        const error = yield* thrownBy(sleep(1))
        assert.ok(error instanceof BadYield)
        yield* sleep(1)
        return 'sound'
      })
      assert.equal(yield* fiber.await(), 'sound')
    }))

  it('S69 an op entered by next() and left alone is taken back when the body ends', () =>
    virtual(function* () {
      const fiber = spin({ link: false }, function* () {
        anything(sleep(50)).next()
      })
      yield* fiber.join()
      assert.equal((Fiber.current as any).runtime.timers.size, 0)
    }))

  it('S69 a fiber that ends with an op entered by hand ends once', () =>
    virtual(function* () {
      let ends = 0
      const untap = tap((event, fiber) => {
        if (event === 'end' && fiber.name === 'culprit') ends++
      })
      for (const strike of [
        (fiber: Fiber) => fiber.stop(),
        (fiber: Fiber) => fiber.raise('raised'),
        (fiber: Fiber) => fiber.schedule(),
      ]) {
        ends = 0
        const fiber = spin({ name: 'culprit', link: false }, function* () {
          anything(suspend()).next()
          strike(Fiber.current)
        })
        yield* fiber.join()
        yield* sleep(1)
        assert.equal(ends, 1)
      }
      untap()
    }))

  it('S69 one op entered by two fibers at once is a named error for the second', () =>
    virtual(function* () {
      const target = spin(() => sleep())
      const shared: [string, Op<unknown>][] = [
        ['sleep', sleep(5)],
        ['await', target.await()],
        ['join', target.join()],
        ['scope', scope(() => sleep(5))],
        ['moveOnAfter', moveOnAfter(10, () => sleep(5))],
        ['until', until(new Promise((resolve) => setImmediate(resolve)))],
      ]
      for (const [name, op] of shared) {
        const fibers = [1, 2].map(() => spin({ link: false }, () => op))
        yield* sleep(20)
        yield* until(new Promise((resolve) => setImmediate(resolve)))
        for (const fiber of fibers) fiber.stop('waited')
        const outcomes = [yield* fibers[0]!.join(), yield* fibers[1]!.join()]
        const failed = outcomes.flatMap((outcome) => (outcome.type === 'error' ? [outcome.error as any] : []))
        assert.equal(failed.length, 1, name)
        assert.match(String(failed[0].code), /^BAD_/, name)
      }
      yield* target.stop()
    }))

  it('S69 a block entered inside itself is a named error, and the fiber stays sound', () =>
    virtual(function* () {
      const fiber = spin(function* () {
        let caught: any
        const block: Op<unknown> = moveOnAfter(10, function* () {
          caught = yield* thrownBy(block)
          yield* sleep(1)
          return 'inner'
        })
        const value = yield* block
        assert.match(String(caught.code), /^BAD_/)
        yield* sleep(1)
        return value
      })
      assert.equal(yield* fiber.await(), 'inner')
    }))

  it('S69 an op may be used again when its first wait is over', () =>
    virtual(function* () {
      const target = spin(() => 7)
      const ops: [string, Op<unknown>, unknown][] = [
        ['sleep', sleep(1), undefined],
        ['await', target.await(), 7],
        ['join', target.join(), { type: 'value', value: 7 }],
        ['scope', scope(() => 1), 1],
        ['moveOnAfter', moveOnAfter(5, () => sleep(), 'late'), 'late'],
        ['until', until(Promise.resolve('p')), 'p'],
        ['Fiber.await', Fiber.await(target), [7]],
        ['Fiber.select', Fiber.select(target), [target, 7]],
      ]
      for (const [name, op, expected] of ops) {
        assert.deepEqual(yield* op, expected, name)
        let again: unknown
        try {
          again = yield* op
        } catch (e) {
          // Refusing the second wait is as good, if the error has a name.
          assert.match(String((e as any).code), /^BAD_/, name)
          continue
        }
        assert.deepEqual(again, expected, `${name}, the second time`)
      }
    }))
})

describe('outside any fiber', () => {
  const uses: [string, () => unknown][] = [
    ['spin', () => spin(() => {})],
    ['Fiber.current', () => Fiber.current],
    ['new Fiber', () => new Fiber(() => {})],
    ['tryReceive', () => tryReceive()],
    ['receiveAllPending', () => receiveAllPending()],
    ['after', () => after(1, () => {})],
    ['spinLoop', () => spinLoop(() => {})],
    ['sleep', () => [...anything(sleep(1))]],
    ['snooze', () => [...anything(snooze())]],
    ['suspend', () => [...anything(suspend())]],
    ['receive', () => [...anything(receive())]],
    ['scope', () => [...anything(scope(() => {}))]],
    ['until', () => [...anything(until(Promise.resolve()))]],
    ['Fiber.outOfBand', () => Fiber.outOfBand(() => {})],
  ]
  for (const [name, use] of uses) {
    it(`S69 ${name} throws NotInFiber, which names main and run`, () => {
      assert.throws(use, (error: any) => {
        assert.ok(error instanceof NotInFiber)
        assert.equal(error.code, 'NOT_IN_FIBER')
        assert.match(error.message, /main\(function\*.*run\(function\*/)
        return true
      })
    })
  }

  it('S69 in a callback of the event loop there is no current fiber', () =>
    virtual(function* () {
      const inCallback = new Promise((resolve) => {
        setImmediate(() => {
          try {
            resolve(Fiber.current)
          } catch (e) {
            resolve(e)
          }
        })
      })
      assert.ok((yield* until(inCallback)) instanceof NotInFiber)
    }))
})

describe('durations', () => {
  const bad: unknown[] = [-1, Number.NaN, Infinity, -Infinity, 2 ** 31, '5', null, {}, 5n]
  const takers: [string, (ms: any) => unknown][] = [
    ['sleep', (ms) => sleep(ms)],
    ['moveOnAfter', (ms) => moveOnAfter(ms, () => {})],
    ['cancelAfter', (ms) => cancelAfter(ms, () => {})],
    ['after', (ms) => after(ms, () => {})],
    ['every', (ms) => every(ms, () => {})],
    ['throttledLoop', (ms) => throttledLoop({ interval: ms }, () => {})],
    ['grace of moveOnAfter', (ms) => moveOnAfter(1, () => {}, { grace: ms })],
  ]
  for (const [name, take] of takers) {
    it(`S18 ${name} refuses negative, NaN and absurd durations at the call, naming what it got`, () =>
      virtual(function* () {
        for (const ms of bad) {
          if (name.startsWith('grace') && ms === Infinity) continue // for ever is a grace
          assert.throws(() => take(ms), BadArgument, String(ms))
        }
        assert.throws(() => take(-1), /-1/)
        assert.deepEqual(Fiber.current.children, [])
        yield* sleep(1)
      }))
  }

  it('S18 a bad grace is refused wherever it is given, and changes nothing', () =>
    virtual(function* () {
      const fiber = spin(() => sleep(5))
      for (const grace of [-1, Number.NaN, '5', null, {}] as any[]) {
        const calls = [
          () => spin({ grace }, () => {}),
          () => fiber.stop(undefined, { grace }),
          () => fiber.terminate({ grace }),
          () => fiber.restartWith({ grace }),
          () => Fiber.current.stopChildren({ grace }),
          () => run(() => {}, { grace }),
        ]
        for (const call of calls) assert.throws(call, BadArgument, `${String(grace)} in ${call}`)
      }
      assert.equal(fiber.phase, 'live')
      yield* fiber.join()
      assert.equal(fiber.incarnation, 1)
    }))

  it('S68 a duration of 0, and of a fraction, is allowed', () =>
    virtual(function* () {
      yield* sleep(0)
      yield* sleep(0.5)
      assert.equal(yield* moveOnAfter(0, () => sleep(5), 'moved on'), 'moved on')
    }))

  it('S18 every needs a period above 0', () => {
    assert.throws(() => every(0, () => {}), BadArgument)
  })

  it('S18 rates and counts are checked too', () => {
    for (const pace of [
      0,
      -1,
      Number.NaN,
      {},
      { rate: 1, interval: 1 },
      { rate: 1, count: -1 },
      { rte: 1 },
    ]) {
      assert.throws(() => throttledLoop(anything(pace), () => {}), BadArgument, JSON.stringify(pace))
    }
  })
})

describe('the wrong moment', () => {
  it('S32 awaiting yourself, or each other, is a DeadlockError', () =>
    virtual(function* () {
      assert.ok((yield* thrownBy(Fiber.current.await())) instanceof DeadlockError)
      let b!: Fiber
      const a = spin({ link: false }, function* () {
        yield* sleep(1)
        yield* b.await()
      })
      b = spin({ link: false }, function* () {
        yield* sleep(2)
        yield* a.await()
      })
      const outcome = yield* b.join()
      assert.ok(outcome.type === 'error' && outcome.error instanceof DeadlockError)
      yield* a.join()
    }))

  it('S07 attaching in a cycle, to oneself, to the dead, or main anywhere is refused, and nothing has moved', () =>
    virtual(function* () {
      const main = Fiber.current
      const a = spin('a', () => sleep(10))
      const b = a.spin('b', () => sleep(10))
      const dead = spin('dead', () => 1)
      yield* dead
      for (const attach of [
        () => a.attachTo(b),
        () => a.attachTo(a),
        () => a.attachTo(dead),
        () => dead.attachTo(a),
        () => main.attachTo(a),
      ]) {
        assert.throws(attach, BadState)
      }
      assert.throws(() => a.attachTo(b), /cannot be attached to main > a > b: that would make a cycle/)
      assert.equal(a.parent, main)
      assert.equal(b.parent, a)
      yield* Fiber.current.joinChildren()
    }))

  it('S41 restarting main is refused at the call', () =>
    virtual(function* () {
      assert.throws(() => Fiber.current.restart(), { code: 'BAD_STATE', message: /main cannot be restarted/ })
      yield* sleep(1)
    }))

  it('S69 raise and cancel refuse what is no error', () =>
    virtual(function* () {
      const fiber = spin(() => sleep(5))
      yield* sleep(1)
      for (const thing of [5, null, true, Symbol('s')]) {
        assert.throws(() => fiber.raise(anything(thing)), BadArgument)
        assert.throws(() => fiber.cancel(anything(thing)), BadArgument)
      }
      assert.equal((yield* fiber.join()).type, 'value')
    }))

  it('S69 Fiber.await and Fiber.select refuse what is no fiber', () =>
    virtual(function* () {
      for (const thing of [5, null, sleep(1), Promise.resolve()]) {
        assert.ok((yield* thrownBy(scope(() => Fiber.await(anything(thing))))) instanceof BadArgument)
        assert.ok((yield* thrownBy(scope(() => Fiber.select(anything(thing))))) instanceof BadArgument)
      }
      assert.ok((yield* thrownBy(scope(() => anything(Fiber.select)()))) instanceof BadArgument)
    }))

  it('S69 transfer, attachTo and until refuse what they cannot use', () =>
    virtual(function* () {
      for (const thing of [5, null, undefined, {}]) {
        assert.ok(
          (yield* thrownBy(scope(() => transfer(anything(thing))))) instanceof BadArgument,
          'transfer',
        )
        assert.ok((yield* thrownBy(scope(() => until(anything(thing))))) instanceof BadArgument, 'until')
        const attach = () => Fiber.current.spin(() => {}).attachTo(anything(thing))
        assert.throws(attach, BadArgument, 'attachTo')
      }
    }))

  it('S06 a fiber that is over cannot be given children', () =>
    virtual(function* () {
      const dead = spin('dead', () => 1)
      yield* dead
      assert.throws(() => dead.spin(() => 1), { code: 'BAD_STATE', message: /main > dead is over/ })
    }))
})

describe('exceptions where nobody expects them', () => {
  class Bad extends LateOp<string> {
    fiber!: Fiber
    constructor(
      private readonly where: 'enter' | 'abort' | 'discard' | 'describe',
      private readonly error = new Error(`thrown by ${where}`),
    ) {
      super()
    }
    private fail(where: string): void {
      if (where === this.where) throw this.error
    }
    enter(fiber: Fiber): void {
      this.fiber = fiber
      this.fail('enter')
    }
    abort(): void {
      this.fail('abort')
    }
    override discard(): void {
      this.fail('discard')
    }
    describe(): string {
      this.fail('describe')
      return 'a bad op'
    }
  }

  it('S70 an exception of enter is thrown into the fiber that enters, which goes on', () =>
    virtual(function* () {
      const fiber = spin(function* () {
        const error = yield* thrownBy(new Bad('enter'))
        yield* sleep(1)
        return error.message
      })
      assert.equal(yield* fiber.await(), 'thrown by enter')
    }))

  it('S70 an exception of abort is reported, and neither the stopper nor the stopped sees it', () =>
    virtual(function* () {
      const fiber = spin(() => new Bad('abort'))
      yield* sleep(1)
      assert.equal((yield* fiber.stop()).type, 'stopped')
      assert.deepEqual(
        reports().map((report) => [report.kind, (report.error as Error).message]),
        [['uncaught', 'thrown by abort']],
      )
    }))

  it('S70 an exception of discard is reported, and the one that settles does not see it', () =>
    virtual(function* () {
      const op = new Bad('discard')
      const fiber = spin(() => op)
      yield* sleep(1)
      yield* fiber.stop()
      assert.equal(settle(op.fiber, op, 'late'), false)
      assert.deepEqual(
        reports().map((report) => [report.kind, (report.error as Error).message]),
        [['uncaught', 'thrown by discard']],
      )
    }))

  it('S70 an exception of describe never reaches those who stop, settle, watch the tree or keep the time', () =>
    virtual(function* () {
      const tree = () => {
        const views = [Fiber.current, ...Fiber.current.children].map((fiber) => fiber.waitsFor)
        assert.equal(views.length, Fiber.current.children.length + 1)
      }
      // In abort, where the report would name the op.
      class Both extends Bad {
        override abort(): void {
          throw new Error('thrown by abort')
        }
      }
      const stopped = spin(() => new Both('describe'))
      yield* sleep(1)
      tree()
      assert.equal((yield* stopped.stop()).type, 'stopped')
      // At the deadline, where the report would say what the fiber waits for.
      const overdue = spin(() =>
        ensure(
          () => sleep(),
          () => new Bad('describe'),
        ),
      )
      yield* sleep(1)
      assert.equal((yield* overdue.stop(undefined, { grace: 10 })).type, 'stopped')
    }))

  it('S70 an exception of describe outside any fiber does not hide NotInFiber', () => {
    assert.throws(() => [...anything(new Bad('describe'))], NotInFiber)
  })

  it('S70 an exception of a tap listener is reported, and the others still listen', () =>
    virtual(function* () {
      const events: string[] = []
      const untaps = [
        tap(() => {
          throw new Error('thrown by tap')
        }),
        tap((event) => void events.push(event)),
      ]
      const fiber = spin(() => sleep(1))
      yield* fiber.join()
      for (const untap of untaps) untap()
      assert.ok(events.includes('spin') && events.includes('end'))
      assert.ok(reports().length > 0)
      assert.ok(reports().every((report) => (report.error as Error).message === 'thrown by tap'))
    }))

  it('S70 what a tap listener does is not told again, and does no harm', () =>
    virtual(function* () {
      const spun: Fiber[] = []
      const untap = tap((event, fiber) => {
        if (event === 'end' && fiber.name === 'first') spun.push(Fiber.current.spin('second', () => 1))
      })
      const parent = spin(function* () {
        yield* spin('first', () => 1).join()
        yield* sleep(1)
      })
      yield* parent.join()
      untap()
      assert.ok(spun.length <= 1)
    }))

  it('S70 an op that settles from within enter and fails after is answered once', () =>
    virtual(function* () {
      class Twice extends BaseOp<string> {
        enter(fiber: Fiber): void {
          settle(fiber, this, 'first')
          settle(fiber, this, 'second')
        }
        abort(): void {}
        describe(): string {
          return 'twice'
        }
      }
      assert.equal(yield* new Twice(), 'first')
      yield* sleep(1)
    }))
})

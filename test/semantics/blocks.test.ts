// S65, S66, S61 and the blocks themselves: scope, moveOnAfter, cancelAfter, alone and inside each other.
// T1-T5 are the acceptance rows of the original's time-outs.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  BadArgument,
  BadState,
  Cancel,
  cancelAfter,
  ensure,
  Fiber,
  FiberStopped,
  isStop,
  moveOnAfter,
  type Op,
  PolyphonyError,
  type Routine,
  receive,
  type Stop,
  scope,
  shield,
  sleep,
  snooze,
  spin,
  suppressedErrors,
  suspend,
  type Timeout,
} from 'polyphony'
import { explore, failEverywhere, raiseEverywhere, stopEverywhere, virtual } from 'polyphony/testing'
import { thrownBy } from '../prelude.js'

const runtime = (): any => (Fiber.current as any).runtime
const now = (): number => runtime().now()
const reports = (): string[] => runtime().backend.reports.map((r: any) => `${r.kind}: ${r.message}`)

// ---- moveOnAfter

test('moveOnAfter gives the value of its body when there is time, else its own', () =>
  virtual(function* () {
    assert.equal(
      yield* moveOnAfter(
        10,
        function* () {
          yield* sleep(9)
          return 'in time'
        },
        'too late',
      ),
      'in time',
    )
    assert.equal(yield* moveOnAfter(10, () => sleep(11), 'too late'), 'too late')
    assert.equal(yield* moveOnAfter(10, () => sleep(11)), undefined)
    assert.equal(yield* moveOnAfter(10, () => sleep(11), { value: 'too late', grace: 5 }), 'too late')
    assert.deepEqual(yield* moveOnAfter(10, () => sleep(11), { status: 504 }), { status: 504 })
    assert.equal(yield* moveOnAfter(10, () => 'a plain value'), 'a plain value')
    assert.equal(now(), 49)
    assert.equal(runtime().timers.size, 0)
  }))

test('T4 moveOnAfter(0) fires at the first switchpoint', () =>
  virtual(function* () {
    const log: string[] = []
    const value = yield* moveOnAfter(
      0,
      function* () {
        log.push('begun')
        yield* sleep(0)
        log.push('not reached')
      },
      'moved on',
    )
    assert.equal(value, 'moved on')
    assert.deepEqual(log, ['begun'])
    assert.equal(yield* moveOnAfter(0, () => 'no switchpoint', 'moved on'), 'no switchpoint')
  }))

test('T4 the timer is gone when the block ends, however it ends', () =>
  virtual(function* () {
    yield* moveOnAfter(1000, () => sleep(1))
    assert.equal(runtime().timers.size, 0)
    yield* thrownBy(
      cancelAfter(1000, () => {
        throw new Error('oops')
      }),
    )
    assert.equal(runtime().timers.size, 0)
    const fiber = spin(() => moveOnAfter(1000, () => cancelAfter(1000, () => sleep())))
    yield* sleep(1)
    yield* fiber.kill()
    assert.equal(runtime().timers.size, 0)
  }))

test('L29 a tight loop of a hundred thousand limits leaves nothing behind', () =>
  virtual(function* () {
    for (let i = 0; i < 100_000; i++) yield* moveOnAfter(1000, (limit) => limit.reset())
    assert.equal(runtime().timers.size, 0)
    assert.equal(runtime().stats().fibers, 1)
  }))

test('S68 moveOnAfter(5, () => sleep(5)) times out', () =>
  virtual(function* () {
    assert.equal(yield* moveOnAfter(5, () => sleep(5), 'timed out'), 'timed out')
  }))

/** A block whose body is answered in the same instant as its limit expires, the answer first. */
function* answeredAtTheEnd(body: () => Routine<string>): Routine<string> {
  let limit: Timeout | undefined
  const fiber = spin(() =>
    moveOnAfter(
      9,
      function* (timeout) {
        limit = timeout
        yield* sleep(10)
        return yield* body()
      },
      'timed out',
    ),
  )
  yield* sleep(1)
  limit?.reset() // from now on it expires at 10, like the sleep, which was set before
  return yield* fiber
}

test('S34 completion wins: a block that ends with the answer it has keeps its result, though its time is up', () =>
  virtual(function* () {
    const result = yield* answeredAtTheEnd(function* () {
      return 'result'
    })
    assert.equal(result, 'result')
  }))

test('S34 else the expiry strikes at the next switchpoint', () =>
  virtual(function* () {
    const log: string[] = []
    const result = yield* answeredAtTheEnd(function* () {
      log.push('answered')
      yield* sleep(0)
      log.push('not reached')
      return 'result'
    })
    assert.equal(result, 'timed out')
    assert.deepEqual(log, ['answered'])
  }))

test('moveOnAfter refuses durations that cannot be meant', () =>
  virtual(function* () {
    for (const ms of [-1, Number.NaN, Infinity, 2 ** 31, '10' as unknown as number]) {
      assert.throws(() => moveOnAfter(ms, () => {}), BadArgument)
      assert.throws(() => cancelAfter(ms, () => {}), BadArgument)
    }
  }))

// ---- the handle

for (const [name, limit] of [
  ['moveOnAfter', (ms: number, body: (t: Timeout) => Routine<void>) => moveOnAfter(ms, body)],
  ['cancelAfter', (ms: number, body: (t: Timeout) => Routine<void>) => cancelAfter(ms, body)],
] as const) {
  test(`the handle of ${name}: remaining counts down, reset begins anew, extend adds`, () =>
    virtual(function* () {
      const log: number[] = []
      let kept: Timeout | undefined
      try {
        yield* limit(100, function* (timeout) {
          kept = timeout
          log.push(timeout.remaining)
          yield* sleep(30)
          log.push(timeout.remaining)
          timeout.reset()
          log.push(timeout.remaining)
          yield* sleep(30)
          timeout.extend(50)
          log.push(timeout.remaining)
          try {
            yield* sleep()
          } finally {
            log.push(timeout.remaining, now())
          }
        })
      } catch (error) {
        assert.ok(error instanceof Cancel)
      }
      assert.deepEqual(log, [100, 70, 100, 120, 0, 180])
      kept?.reset() // the block is over: nothing happens
      kept?.extend(10)
      assert.equal(kept?.remaining, 0)
      assert.equal(runtime().timers.size, 0)
    }))
}

test('T5 a hundred resets keep a limit from firing', () =>
  virtual(function* () {
    const value = yield* moveOnAfter(
      10,
      function* (timeout) {
        for (let i = 0; i < 100; i++) {
          yield* sleep(9)
          timeout.reset()
        }
        return 'done'
      },
      'timed out',
    )
    assert.equal(value, 'done')
    assert.equal(now(), 900)
  }))

test('an expired limit stays expired: reset and extend during its cleanup change nothing', () =>
  virtual(function* () {
    const value = yield* moveOnAfter(
      10,
      function* (timeout) {
        try {
          yield* sleep()
        } finally {
          timeout.reset()
          timeout.extend(100)
          assert.equal(timeout.remaining, 0)
          yield* sleep(20)
        }
      },
      'timed out',
    )
    assert.equal(value, 'timed out')
    assert.equal(now(), 30)
    assert.equal(runtime().timers.size, 0)
  }))

test('the handle may be used from another fiber', () =>
  virtual(function* () {
    let handle: Timeout | undefined
    const fiber = spin(() =>
      moveOnAfter(
        10,
        function* (timeout) {
          handle = timeout
          yield* sleep(50)
          return 'done'
        },
        'timed out',
      ),
    )
    yield* sleep(5)
    handle?.extend(100)
    assert.equal(yield* fiber, 'done')
  }))

// ---- cancelAfter

test('cancelAfter throws Cancel, or the error, class or message given', () =>
  virtual(function* () {
    const mine = new TypeError('mine')
    assert.ok((yield* thrownBy(cancelAfter(1, () => sleep()))) instanceof Cancel)
    assert.equal(yield* thrownBy(cancelAfter(1, () => sleep(), mine)), mine)
    assert.ok((yield* thrownBy(cancelAfter(1, () => sleep(), RangeError))) instanceof RangeError)
    const named = yield* thrownBy(cancelAfter(1, () => sleep(), 'too slow'))
    assert.ok(named instanceof Cancel && named.message === 'too slow')
    assert.equal(yield* cancelAfter(10, () => 'in time'), 'in time')
  }))

test('T5 a hundred cancels in a row all throw', () =>
  virtual(function* () {
    let cancels = 0
    for (let i = 0; i < 100; i++) {
      if ((yield* thrownBy(cancelAfter(1, () => sleep()))) instanceof Cancel) cancels++
    }
    assert.equal(cancels, 100)
    assert.equal(now(), 100)
  }))

test('T5 a cancel inside a child travels up', () =>
  virtual(function* () {
    spin(() => cancelAfter(5, () => sleep()))
    assert.ok((yield* thrownBy(sleep())) instanceof Cancel)
    assert.equal(now(), 5)
  }))

test('S66 the Cancel of cancelAfter is an ordinary error: a block that catches it gives its own value', () =>
  virtual(function* () {
    const value = yield* cancelAfter(10, function* () {
      try {
        yield* sleep()
      } catch (error) {
        assert.ok(error instanceof Cancel)
      }
      yield* sleep(20) // thrown once: the block lives on
      Fiber.current.send('message')
      return yield* receive()
    })
    assert.equal(value, 'message')
    assert.equal(now(), 30)
  }))

// ---- after the signal was thrown

test('S66 a block that ends normally after the signal was thrown counts as timed out', () =>
  virtual(function* () {
    const value = yield* moveOnAfter(
      10,
      function* () {
        try {
          return yield* sleep()
        } catch {
          return 'its own'
        }
      },
      'timed out',
    )
    assert.equal(value, 'timed out')
  }))

test('S66 a fiber that ends normally after the stop was thrown counts as stopped', () =>
  virtual(function* () {
    const fiber = spin(function* () {
      try {
        yield* sleep()
        return 'not reached'
      } catch {
        yield* sleep(1)
        return 'its own'
      }
    })
    yield* sleep(1)
    assert.deepEqual(yield* fiber.stop('v'), { type: 'stopped', value: 'v' })
  }))

test("S66 an error that carries the region's own signal as its cause counts as that signal", () =>
  virtual(function* () {
    const wraps = function* (): Routine<void> {
      try {
        yield* sleep()
      } catch (error) {
        throw new Error('wrapped again', { cause: new Error('wrapped', { cause: error }) })
      }
    }
    assert.equal(yield* moveOnAfter(1, wraps, 'timed out'), 'timed out')
    const fiber = spin(wraps)
    yield* sleep(1)
    assert.deepEqual(yield* fiber.stop('v'), { type: 'stopped', value: 'v' })
  }))

test('S66 an error that does not carry it leaves the block', () =>
  virtual(function* () {
    const other = new Error('other')
    const error = yield* thrownBy(
      moveOnAfter(1, function* () {
        try {
          yield* sleep()
        } catch {
          throw other
        }
      }),
    )
    assert.equal(error, other)
  }))

test('S66 the signal of another block, kept and thrown later, is an ordinary failure', () =>
  virtual(function* () {
    let kept: unknown
    yield* moveOnAfter(1, function* () {
      try {
        yield* sleep()
      } catch (error) {
        kept = error
      }
    })
    assert.ok(isStop(kept))
    const fiber = spin({ link: false }, function* () {
      throw kept
    })
    const outcome = yield* fiber.join()
    assert.ok(outcome.type === 'error' && outcome.error instanceof FiberStopped)
  }))

// ---- nested limits

/** The three limits of a nest, inside out, and the block that has to end first. */
const orders = [
  [10, 20, 30],
  [10, 30, 20],
  [20, 10, 30],
  [20, 30, 10],
  [30, 10, 20],
  [30, 20, 10],
] as const

for (const [inner, middle, outer] of orders) {
  test(`T1 nested limits of ${inner}, ${middle} and ${outer}: each ends its own block`, () =>
    virtual(function* () {
      const log: string[] = []
      const level = (name: string, ms: number, body: () => Op<unknown>) =>
        function* () {
          const value = yield* moveOnAfter(ms, body, `${name} timed out`)
          log.push(`${value} at ${now()}`)
          yield* sleep()
        }
      yield* moveOnAfter(
        1000,
        level(
          'outer',
          outer,
          level(
            'middle',
            middle,
            level('inner', inner, () => sleep()),
          ),
        ),
      )
      const expected: string[] = []
      if (inner < middle && inner < outer) expected.push(`inner timed out at ${inner}`)
      if (middle < outer) expected.push(`middle timed out at ${middle}`)
      expected.push(`outer timed out at ${outer}`)
      assert.deepEqual(log, expected)
    }))
}

test('T1 S65 limits that expire together: the outermost strikes', () =>
  virtual(function* () {
    const log: string[] = []
    const value = yield* moveOnAfter(
      10,
      function* () {
        log.push(String(yield* moveOnAfter(10, () => sleep(), 'inner')))
        yield* sleep(1)
        log.push('not reached')
      },
      'outer',
    )
    assert.equal(value, 'outer')
    assert.deepEqual(log, [])
  }))

test('S65 a limit that expires while one further in unwinds waits until that block is left', () =>
  virtual(function* () {
    const log: string[] = []
    const value = yield* moveOnAfter(
      15,
      function* () {
        const inner = yield* moveOnAfter(
          10,
          function* () {
            try {
              yield* sleep()
            } finally {
              yield* sleep(20)
              log.push(`inner cleaned up at ${now()}`)
            }
          },
          'inner',
        )
        log.push(String(inner))
        yield* sleep(1)
        log.push('not reached')
      },
      'outer',
    )
    assert.equal(value, 'outer')
    assert.deepEqual(log, ['inner cleaned up at 30', 'inner'])
  }))

test('S65 so does a stop, a raise and the error of a child', () =>
  virtual(function* () {
    const acts: ((fiber: Fiber) => unknown)[] = [
      (fiber) => fiber.stop('v'),
      (fiber) => fiber.raise('oops'),
      (fiber) => fiber.children[0]?.raise('oops'),
    ]
    for (const act of acts) {
      const log: string[] = []
      const fiber = spin({ link: false }, function* () {
        spin(() => sleep())
        yield* moveOnAfter(10, function* () {
          try {
            yield* sleep()
          } finally {
            yield* sleep(20)
            log.push('cleaned up')
          }
        })
        log.push('left')
        yield* sleep(1)
        log.push('not reached')
      })
      yield* sleep(15)
      act(fiber)
      yield* fiber.join()
      assert.deepEqual(log, ['cleaned up', 'left'])
    }
  }))

test('S65 the deadline of an outer region forces the inner ones, shield or not', () =>
  virtual(function* () {
    const log: string[] = []
    const clings = function* (): Routine<void> {
      try {
        yield* sleep()
      } finally {
        log.push(`forced at ${now()}`)
      }
    }
    const inners: (() => Op<unknown>)[] = [
      () => shield(clings),
      () => ensure(() => {}, clings),
      () => shield(() => scope(() => moveOnAfter(10_000, clings))),
      () => moveOnAfter(5, () => ensure(() => sleep(), clings)),
    ]
    for (const inner of inners) {
      const from = now()
      const value = yield* moveOnAfter(10, inner, { value: 'moved on', grace: 20 })
      assert.equal(value, 'moved on')
      assert.equal(log.pop(), `forced at ${from + 30}`)
    }
    assert.equal(reports().length, inners.length)
  }))

test('S65 a fiber outside all blocks: when it is forced, every block inside is', () =>
  virtual(function* () {
    const log: string[] = []
    const fiber = spin({ grace: 20 }, () =>
      moveOnAfter(1000, () =>
        shield(() =>
          scope(function* () {
            spin(function* () {
              try {
                yield* sleep()
              } finally {
                log.push('child')
              }
            })
            try {
              yield* sleep()
            } finally {
              log.push('body')
            }
          }),
        ),
      ),
    )
    yield* sleep(1)
    assert.deepEqual(yield* fiber.stop('v'), { type: 'stopped', value: 'v' })
    assert.deepEqual(log, ['body', 'child'])
    assert.equal(now(), 11) // half of the grace is for the children (S18)
  }))

test('T2 a limit with a handle swallows neither an outer limit nor a stop', () =>
  virtual(function* () {
    const log: string[] = []
    const value = yield* moveOnAfter(
      10,
      function* () {
        yield* moveOnAfter(
          100,
          function* (timeout) {
            for (;;) {
              timeout.reset()
              yield* sleep(3)
            }
          },
          'inner',
        )
        log.push('not reached')
      },
      'outer',
    )
    assert.equal(value, 'outer')
    const fiber = spin(function* () {
      yield* moveOnAfter(100, function* (timeout) {
        timeout.reset()
        yield* sleep()
      })
      log.push('not reached')
    })
    yield* sleep(1)
    assert.deepEqual(yield* fiber.stop('v'), { type: 'stopped', value: 'v' })
    assert.deepEqual(log, [])
  }))

test('T3 stop(v) from outside during a limit ends the fiber with v', () =>
  virtual(function* () {
    for (const limit of [moveOnAfter, cancelAfter] as ((
      ms: number,
      body: () => Op<unknown>,
    ) => Op<unknown>)[]) {
      const fiber = spin(function* () {
        yield* limit(100, () => sleep())
        assert.fail('not reached')
      })
      yield* sleep(1)
      assert.deepEqual(yield* fiber.stop('v'), { type: 'stopped', value: 'v' })
    }
  }))

test('T1 cancelAfter and moveOnAfter inside each other', () =>
  virtual(function* () {
    const error = yield* thrownBy(moveOnAfter(20, () => cancelAfter(10, () => sleep())))
    assert.ok(error instanceof Cancel)
    assert.equal(yield* moveOnAfter(10, () => cancelAfter(20, () => sleep()), 'moved on'), 'moved on')
    assert.equal(yield* cancelAfter(20, () => moveOnAfter(10, () => sleep(), 'moved on')), 'moved on')
    assert.ok((yield* thrownBy(cancelAfter(10, () => moveOnAfter(20, () => sleep())))) instanceof Cancel)
    assert.equal(now(), 40)
    assert.equal(runtime().timers.size, 0)
  }))

test('T1 the same limit object can be used again, one after the other', () =>
  virtual(function* () {
    const limit = moveOnAfter(10, () => sleep(), 'again')
    assert.equal(yield* limit, 'again')
    assert.equal(yield* limit, 'again')
    assert.equal(now(), 20)
  }))

// ---- scope

test('scope gives the value of its body, when every child has ended', () =>
  virtual(function* () {
    const value = yield* scope(function* () {
      spin(() => sleep(20))
      yield* sleep(10)
      return 'value'
    })
    assert.equal(value, 'value')
    assert.equal(now(), 20)
  }))

test('scope: children of children, and those spun late, are waited for too', () =>
  virtual(function* () {
    const log: string[] = []
    yield* scope(function* () {
      const child = spin(function* () {
        yield* scope(function* () {
          spin(function* () {
            yield* sleep(10)
            log.push('grandchild')
          })
        })
        log.push('child')
      })
      yield* child
      spin(function* () {
        yield* sleep(10)
        log.push('late child')
      })
    })
    assert.deepEqual(log, ['grandchild', 'child', 'late child'])
  }))

test('scope: a fiber spun by a function called inside belongs to the innermost scope', () =>
  virtual(function* () {
    const helper = (ms: number) => spin(() => sleep(ms))
    yield* scope(function* () {
      helper(100)
      yield* scope(function* () {
        yield* moveOnAfter(1000, function* () {
          helper(10)
        })
      })
      assert.equal(now(), 10)
    })
    assert.equal(now(), 100)
  }))

test('S28 scope: the first error stops the body and the siblings, then is thrown', () =>
  virtual(function* () {
    const log: string[] = []
    const oops = new Error('oops')
    const waits = function* (name: string): Routine<void> {
      try {
        yield* sleep()
      } finally {
        yield* sleep(10)
        log.push(`${name} cleaned up at ${now()}`)
      }
    }
    const error = yield* thrownBy(
      scope(function* () {
        spin(waits, 'sibling')
        spin(function* () {
          yield* sleep(5)
          throw oops
        })
        yield* waits('body')
        log.push('not reached')
      }),
    )
    assert.equal(error, oops)
    assert.deepEqual(log, ['body cleaned up at 15', 'sibling cleaned up at 25'])
    yield* sleep(1) // it was received, and does not strike again
  }))

test('S28 scope: an error of the body stops the children first', () =>
  virtual(function* () {
    const log: string[] = []
    const error = yield* thrownBy(
      scope(function* () {
        spin(function* () {
          try {
            yield* sleep()
          } finally {
            yield* sleep(10)
            log.push('child cleaned up')
          }
        })
        yield* sleep(1)
        throw new Error('body failed')
      }),
    )
    assert.equal((error as Error).message, 'body failed')
    assert.deepEqual(log, ['child cleaned up'])
  }))

test('S66 scope: a body that catches the stop of its scope and returns does not hide the error', () =>
  virtual(function* () {
    const oops = new Error('oops')
    const caught: unknown[] = []
    const error = yield* thrownBy(
      scope(function* () {
        spin(function* () {
          yield* sleep(5)
          throw oops
        })
        try {
          yield* sleep()
        } catch (stop) {
          caught.push(isStop(stop), (stop as Stop).reason)
        }
        return 'value'
      }),
    )
    assert.equal(error, oops)
    assert.deepEqual(caught, [true, oops])
  }))

test('S22 scope: two children that fail in one turn, and one in its cleanup: the first is thrown, none is lost', () =>
  virtual(function* () {
    const errors = [new Error('a'), new Error('b'), new Error('c')]
    const thrown = yield* thrownBy(
      scope(function* () {
        for (const error of errors.slice(0, 2)) {
          spin(function* () {
            yield* sleep(5)
            throw error
          })
        }
        spin(function* () {
          try {
            yield* sleep()
          } finally {
            yield* sleep(1)
            // biome-ignore lint/correctness/noUnsafeFinally: an error from cleanup
            throw errors[2]
          }
        })
      }),
    )
    assert.deepEqual(new Set([thrown, ...suppressedErrors(thrown)]), new Set(errors))
  }))

test('scope: a stop reaches a scope that waits for its children, and they are stopped', () =>
  virtual(function* () {
    const log: string[] = []
    const fiber = spin(function* () {
      yield* scope(function* () {
        spin(function* () {
          try {
            yield* sleep()
          } finally {
            yield* sleep(10)
            log.push('child cleaned up')
          }
        })
      })
      log.push('not reached')
    })
    yield* sleep(5)
    assert.deepEqual(yield* fiber.stop('v'), { type: 'stopped', value: 'v' })
    assert.deepEqual(log, ['child cleaned up'])
    assert.equal(now(), 15)
  }))

test('scope: the wait for its children can be struck more than once, and every error is kept', () =>
  virtual(function* () {
    const fiber = spin({ link: false }, () =>
      scope(function* () {
        spin(function* () {
          try {
            yield* sleep()
          } finally {
            yield* sleep(50)
            // biome-ignore lint/correctness/noUnsafeFinally: an error from cleanup
            throw new Error('third')
          }
        })
      }),
    )
    yield* sleep(1)
    fiber.raise('first')
    yield* sleep(10)
    fiber.raise('second')
    const outcome = yield* fiber.join()
    assert.ok(outcome.type === 'error')
    const messages = [outcome.error, ...suppressedErrors(outcome.error)].map((e) => (e as Error).message)
    assert.deepEqual(messages, ['first', 'second', 'third'])
    assert.equal(now(), 51)
  }))

test('scope inside a limit: the children are stopped and awaited before the limit gives its value', () =>
  virtual(function* () {
    const log: string[] = []
    const value = yield* moveOnAfter(
      10,
      () =>
        scope(function* () {
          spin(function* () {
            try {
              yield* sleep()
            } finally {
              yield* sleep(20)
              log.push(`child cleaned up at ${now()}`)
            }
          })
          yield* sleep()
        }),
      'moved on',
    )
    assert.equal(value, 'moved on')
    assert.deepEqual(log, ['child cleaned up at 30'])
  }))

test('S65 scope inside a limit whose grace passes: the children are forced with it, its fiber lives on', () =>
  virtual(function* () {
    for (const inside of [
      (body: () => Routine<void>) => scope(body),
      (body: () => Routine<void>) => shield(() => scope(body)),
    ]) {
      const log: string[] = []
      const from = now()
      const value = yield* moveOnAfter(
        10,
        () =>
          inside(function* () {
            spin(function* () {
              try {
                yield* sleep()
              } finally {
                try {
                  yield* sleep()
                } finally {
                  log.push(`child forced at ${now() - from}`)
                }
              }
            })
            yield* sleep()
          }),
        { value: 'moved on', grace: 20 },
      )
      assert.equal(value, 'moved on')
      assert.equal(now() - from, 30)
      yield* Fiber.current.joinChildren()
      assert.deepEqual(log, ['child forced at 30'])
      yield* sleep(1)
    }
  }))

test('S18 S65 children of a scope do not outlast the deadline of a limit around it', () =>
  virtual(function* () {
    let died = 0
    const value = yield* moveOnAfter(
      10,
      () =>
        scope(function* () {
          spin(function* () {
            try {
              yield* sleep()
            } finally {
              try {
                yield* sleep(1000)
              } finally {
                died = now()
              }
            }
          })
        }),
      { value: 'moved on', grace: 20 },
    )
    assert.equal(value, 'moved on')
    yield* Fiber.current.joinChildren()
    assert.equal(died, 30)
  }))

test('scope: kill while it waits for its children forces them', () =>
  virtual(function* () {
    const log: string[] = []
    const fiber = spin(() =>
      scope(function* () {
        spin(function* () {
          try {
            yield* sleep()
          } finally {
            log.push('synchronous cleanup')
            yield* sleep(1)
            log.push('not reached')
          }
        })
      }),
    )
    yield* sleep(1)
    assert.deepEqual(yield* fiber.kill(), { type: 'stopped', value: undefined })
    assert.deepEqual(log, ['synchronous cleanup'])
    assert.equal(now(), 1)
  }))

test('scope: a child spun in the cleanup of its body is stopped with the others', () =>
  virtual(function* () {
    const log: string[] = []
    const fiber = spin(() =>
      scope(function* () {
        try {
          yield* sleep()
        } finally {
          spin(function* () {
            try {
              yield* sleep()
            } finally {
              log.push('stopped')
            }
          })
          yield* sleep(1)
        }
      }),
    )
    yield* sleep(1)
    yield* fiber.stop()
    assert.deepEqual(log, ['stopped'])
  }))

test('scope: an outer scope survives the error of an inner one that is caught', () =>
  virtual(function* () {
    const log: string[] = []
    yield* scope(function* () {
      spin(function* () {
        yield* sleep(20)
        log.push('child of the outer scope')
      })
      const error = yield* thrownBy(
        scope(function* () {
          spin(() => {
            throw new Error('inner')
          })
        }),
      )
      log.push((error as Error).message)
    })
    assert.deepEqual(log, ['inner', 'child of the outer scope'])
  }))

test('scope: a child that awaits its sibling, and a body that stops itself', () =>
  virtual(function* () {
    const fiber = spin(() =>
      scope(function* () {
        const slow = spin(() => sleep(100))
        spin(() => slow.join())
        yield* Fiber.current.stop('by its own body')
      }),
    )
    assert.deepEqual(yield* fiber.join(), { type: 'stopped', value: 'by its own body' })
    assert.equal(now(), 0)
  }))

// ---- S61

/** Drives the iterator of an op through a user-made one, as a library for pull streams might. */
function* byHand(iterator: Iterator<any, any, any>): Routine<any> {
  return yield* { [Symbol.iterator]: () => ({ next: () => iterator.next() }) } as Op<any>
}

test('S61 a block that is left by another fiber than the one that entered it throws', () =>
  virtual(function* () {
    for (const block of [
      scope(() => sleep()),
      moveOnAfter(100, () => sleep()),
      shield(() => sleep()),
    ] as Op<unknown>[]) {
      const iterator = block[Symbol.iterator]()
      const first = spin(() => byHand(iterator))
      yield* sleep(1)
      const second = spin({ link: false }, () => byHand(iterator))
      const outcome = yield* second.join()
      assert.ok(outcome.type === 'error' && outcome.error instanceof BadState, String(block))
      yield* first.stop()
    }
  }))

test('S61 blocks that are left in the wrong order throw', () =>
  virtual(function* () {
    const fiber = spin({ link: false }, function* () {
      yield* scope(function* () {
        // Enters a block, and lets go of it without leaving it.
        const block = shield(() => snooze())[Symbol.iterator]()
        let entered = false
        const next = () => {
          if (entered) return { done: true, value: undefined }
          entered = true
          return block.next()
        }
        yield* { [Symbol.iterator]: () => ({ next }) } as Op<void>
      })
    })
    const outcome = yield* fiber.join()
    assert.ok(outcome.type === 'error' && outcome.error instanceof PolyphonyError)
  }))

test('S61 a block does not cross a raw yield: it throws there, and strikes nobody else later', () =>
  virtual(function* () {
    // A generator that would give values to its consumer from inside a time limit.
    const values = (function* () {
      yield* moveOnAfter(10, function* () {
        yield 1 as never
        yield 2 as never
      })
    })()
    assert.throws(() => values.next(), PolyphonyError)
    yield* sleep(20) // outside the limit, which must not strike here
    assert.equal(runtime().timers.size, 0)
  }))

test('S61 S69 a block entered inside itself is a named error, and the fiber stays sound', () =>
  virtual(function* () {
    const error = yield* thrownBy(
      scope(function* () {
        const block: Op<void> = moveOnAfter(10, function* () {
          yield* block
        })
        yield* block
      }),
    )
    assert.ok(error instanceof PolyphonyError, String(error))
    assert.equal(yield* moveOnAfter(5, () => sleep(), 'sound'), 'sound')
  }))

// ---- everything that can go wrong, everywhere

/** Every kind of block, with cleanup that is counted. */
function* everything(open: { count: number }): Routine<string> {
  const held = function* (body: () => Op<unknown>): Routine<unknown> {
    open.count++
    return yield* ensure(body, function* () {
      yield* sleep(3)
      open.count--
    })
  }
  yield* scope(function* () {
    spin(function* () {
      yield* held(() => sleep(20))
    })
    spin(function* () {
      yield* moveOnAfter(10, () => held(() => moveOnAfter(30, () => sleep(15))))
      yield* shield(() => held(() => sleep(5)))
    })
    yield* held(() => moveOnAfter(5, () => held(() => moveOnAfter(2, () => sleep(9)))))
  })
  yield* moveOnAfter(10, () =>
    scope(function* () {
      spin(() => held(() => sleep()))
      yield* held(() => sleep(4))
    }),
  )
  return 'done'
}

test('S16b S65 a stop at every switchpoint of nested blocks leaves nothing open', () => {
  let open = { count: 0 }
  const { switchpoints, runs } = stopEverywhere(
    function* () {
      open = { count: 0 }
      return yield* everything(open)
    },
    { check: () => assert.equal(open.count, 0) },
  )
  assert.ok(switchpoints >= 20)
  assert.equal(runs, 2 * switchpoints)
})

test('S16b S65 an error raised at every switchpoint of nested blocks leaves nothing open', () => {
  let open = { count: 0 }
  raiseEverywhere(
    function* () {
      open = { count: 0 }
      return yield* everything(open)
    },
    { check: () => assert.equal(open.count, 0) },
  )
})

test('S16b S65 every op of nested blocks may fail: all others are cleaned up', () => {
  // The cleanup itself waits, and that wait may be the one that fails: then its own count is open.
  let open = { count: 0 }
  const { runs } = failEverywhere(
    function* () {
      open = { count: 0 }
      return yield* everything(open)
    },
    { check: () => assert.ok(open.count <= 1, `${open.count} were left open`) },
  )
  assert.ok(runs >= 20)
})

test('S41 stop, raise and failure everywhere in a fiber that is being restarted', () => {
  let log: string[] = []
  const scenario = function* () {
    log = []
    const fiber = spin(function* () {
      const mine = Fiber.current.incarnation
      log.push(`open ${mine}`)
      try {
        yield* scope(function* () {
          spin(() => sleep(10))
          yield* moveOnAfter(3, () => sleep())
        })
      } finally {
        log.push(`close ${mine}`)
      }
      return mine
    })
    yield* sleep(1)
    fiber.restart()
    yield* sleep(1)
    fiber.restart()
    yield* fiber.join()
  }
  const balanced = () => {
    const opened = log.filter((line) => line.startsWith('open')).map((line) => line.slice(5))
    const closed = log.filter((line) => line.startsWith('close')).map((line) => line.slice(6))
    assert.deepEqual(closed, opened)
  }
  stopEverywhere(scenario, { check: balanced })
  raiseEverywhere(scenario, { check: balanced })
  failEverywhere(scenario, { check: balanced })
})

test('S16b S28 explored: in every schedule of a scope with a failing child and a killer the cleanup is whole', () => {
  const { complete, schedules } = explore(
    function* () {
      let open = 0
      const worker = function* (): Routine<void> {
        open++
        yield* ensure(
          () => suspend(),
          function* () {
            yield* sleep(0)
            open--
          },
        )
      }
      const victim = spin({ link: false }, () =>
        scope(function* () {
          spin(worker)
          spin(function* () {
            yield* sleep(0)
            throw new Error('child failed')
          })
          yield* worker()
        }),
      )
      const killer = spin(function* () {
        yield* sleep(0)
        victim.stop()
      })
      yield* killer.join()
      const outcome = yield* victim.join()
      assert.notEqual(outcome.type, 'value')
      assert.equal(open, 0)
    },
    { maxSchedules: 30_000 },
  )
  assert.ok(complete || schedules === 30_000)
})

test('S65 explored: nested limits, a shield and a stop end in every order, within the grace', () => {
  const { schedules } = explore(
    function* () {
      let committed = true
      const victim = spin({ grace: 100 }, function* () {
        yield* moveOnAfter(1, function* () {
          yield* moveOnAfter(1, () => sleep(1))
          committed = false
          yield* shield(function* () {
            yield* sleep(1)
            committed = true
          })
        })
        yield* sleep(1)
      })
      spin(function* () {
        yield* sleep(1)
        victim.stop()
      })
      spin(function* () {
        yield* sleep(1)
        victim.stop(undefined, { grace: 50 })
      })
      yield* victim.join()
      assert.equal(committed, true)
      assert.ok(now() <= 3)
      yield* Fiber.current.joinChildren()
    },
    { maxSchedules: 30_000 },
  )
  assert.ok(schedules > 1)
})

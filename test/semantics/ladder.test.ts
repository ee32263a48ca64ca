// S15-S22: the stop ladder. Ask, throw once, let cleanup wait until the deadline, then force, then abandon.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  BadState,
  cancelAfter,
  ensure,
  every,
  Fiber,
  FiberStopped,
  isStop,
  moveOnAfter,
  type Op,
  type Routine,
  receive,
  scope,
  shield,
  sleep,
  spin,
  suppressedErrors,
  suspend,
  transfer,
} from 'polyphony'
import { virtual } from 'polyphony/testing'

const runtime = (): any => (Fiber.current as any).runtime
const now = (): number => runtime().now()
/** What was reported so far: `kind: message`. */
const reports = (): string[] => runtime().backend.reports.map((r: any) => `${r.kind}: ${r.message}`)

/** A fiber that has begun to wait. */
function* started<T>(body: () => Routine<T>, options: { grace?: number } = {}): Routine<Fiber<T>> {
  const fiber = spin({ link: false, ...options }, body) as Fiber<T>
  yield* sleep(1)
  return fiber
}

// ---- the findings behind the rules

test('F1 S16 nested finally blocks that wait run whole, and no code after them runs, however deep', () =>
  virtual(function* () {
    for (const depth of [1, 2, 3, 10, 100]) {
      const log: string[] = []
      const level = function* (n: number): Routine<void> {
        try {
          if (n > 1) yield* level(n - 1)
          else yield* sleep()
        } finally {
          log.push(`start ${n}`)
          yield* sleep(1)
          log.push(`end ${n}`)
        }
        log.push(`CONTINUED ${n}`)
      }
      const fiber = yield* started(function* () {
        yield* level(depth)
        log.push('CONTINUED')
      })
      assert.deepEqual(yield* fiber.stop('v'), { type: 'stopped', value: 'v' })
      const expected = Array.from({ length: depth }, (_, i) => [`start ${i + 1}`, `end ${i + 1}`])
      assert.deepEqual(log, expected.flat())
    }
  }))

test('F1 the same for a block that times out: its fiber goes on after the block, and nowhere else', () =>
  virtual(function* () {
    const log: string[] = []
    const inner = function* () {
      try {
        yield* sleep()
      } finally {
        yield* sleep(5)
        log.push('inner cleaned up')
      }
      log.push('CONTINUED in inner')
    }
    const outer = function* () {
      try {
        yield* inner()
      } finally {
        yield* sleep(5)
        log.push('outer cleaned up')
      }
      log.push('CONTINUED in outer')
    }
    assert.equal(yield* moveOnAfter(10, outer, 'timed out'), 'timed out')
    log.push('after the block')
    assert.deepEqual(log, ['inner cleaned up', 'outer cleaned up', 'after the block'])
    assert.equal(now(), 20)
  }))

test('F3 S16 a nested finally that sleeps 10: cleanup runs whole, stopped at +10', () =>
  virtual(function* () {
    const log: string[] = []
    const inner = function* () {
      try {
        yield* sleep()
      } finally {
        yield* sleep(10)
        log.push('cleaned up')
      }
    }
    const fiber = yield* started(function* () {
      yield* inner()
      log.push('not reached')
    })
    const at = now()
    assert.deepEqual(yield* fiber.stop(), { type: 'stopped', value: undefined })
    assert.equal(now() - at, 10)
    assert.deepEqual(log, ['cleaned up'])
    assert.deepEqual(reports(), [])
  }))

test('F3 S17 a fiber that swallows its stop and waits for work again is forced after 3 swallows, at +0, reported', () =>
  virtual(function* () {
    let swallows = 0
    const fiber = yield* started(function* () {
      for (;;) {
        try {
          yield* receive()
        } catch {
          swallows++
        }
      }
    })
    const at = now()
    assert.deepEqual(yield* fiber.stop('v'), { type: 'stopped', value: 'v' })
    assert.equal(now() - at, 0)
    assert.equal(swallows, 3)
    assert.equal(reports().length, 1)
    assert.match(String(reports()[0]), /^forced: swallowed stop at receive\(\)/)
    assert.equal(runtime().stats().refused, 3)
  }))

test('F3 S18 a finally that sleeps for ever: stopped exactly at the grace deadline, reported', () =>
  virtual(function* () {
    const log: string[] = []
    const fiber = yield* started(function* () {
      try {
        yield* sleep()
      } finally {
        log.push('waits')
        try {
          yield* sleep()
        } finally {
          log.push('synchronous cleanup still runs')
        }
      }
    })
    const at = now()
    assert.deepEqual(yield* fiber.stop(), { type: 'stopped', value: undefined })
    assert.equal(now() - at, 5000)
    assert.deepEqual(log, ['waits', 'synchronous cleanup still runs'])
    assert.equal(reports().length, 1)
    assert.match(String(reports()[0]), /^forced: .*grace/)
  }))

/** The most hostile thing a generator can do: it takes back its own return. */
function* hostile(): Routine<void> {
  for (;;) {
    // biome-ignore lint/suspicious/noConfusingLabels: a plain `continue` would be taken for a useless one
    hold: try {
      yield* sleep(1)
    } finally {
      // biome-ignore lint/correctness/noUnsafeFinally: that is the point
      break hold
    }
  }
}

test('F3 S19 a finally that never lets go is abandoned after 100 forced yields, reported', () =>
  virtual(function* () {
    const fiber = yield* started(hostile)
    assert.deepEqual(yield* fiber.kill(), { type: 'abandoned' })
    assert.equal(now(), 1)
    assert.equal(reports().length, 1)
    assert.match(String(reports()[0]), /^abandoned: /)
    assert.equal(runtime().stats().abandoned, 1)
  }))

// ---- phases

test('S15 the phases of a fiber, one after the other', () =>
  virtual(function* () {
    const phases: string[] = []
    const note = () => phases.push(fiber.phase)
    const fiber: Fiber = spin({ grace: 20 }, function* () {
      spin(function* () {
        try {
          yield* sleep()
        } finally {
          yield* sleep(5)
          note()
        }
      })
      try {
        note()
        yield* sleep()
      } finally {
        note()
        try {
          yield* sleep()
        } finally {
          note()
        }
      }
    })
    yield* sleep(1)
    fiber.stop()
    note()
    yield* fiber.join()
    note()
    assert.deepEqual(phases, ['live', 'requested', 'unwinding', 'forced', 'closing', 'dead'])
  }))

test('S15 a body that ends before the stop strikes keeps its result', () =>
  virtual(function* () {
    const fiber = spin(function* () {
      yield* suspend()
      return 'result'
    })
    yield* sleep(1)
    fiber.schedule()
    fiber.stop('stopped')
    assert.deepEqual(yield* fiber.join(), { type: 'value', value: 'result' })
  }))

test('S15 a block has the same ladder: a swallowing body is forced, its fiber lives on', () =>
  virtual(function* () {
    let swallows = 0
    const value = yield* moveOnAfter(
      10,
      function* () {
        for (;;) {
          try {
            yield* receive()
          } catch {
            swallows++
          }
        }
      },
      'moved on',
    )
    assert.equal(value, 'moved on')
    assert.equal(swallows, 3)
    assert.equal(now(), 10)
    assert.match(String(reports()), /swallowed stop at receive/)
    Fiber.current.send('the fiber itself may receive')
    assert.equal(yield* receive(), 'the fiber itself may receive')
  }))

test('S15 S18 a block has the same ladder: cleanup that sleeps for ever is forced at its grace', () =>
  virtual(function* () {
    const log: string[] = []
    const body = function* () {
      try {
        yield* sleep()
      } finally {
        try {
          yield* sleep()
        } finally {
          log.push(`forced at ${now()}`)
        }
      }
      log.push('not reached')
    }
    assert.equal(yield* moveOnAfter(10, body, { value: 'moved on', grace: 25 }), 'moved on')
    assert.deepEqual(log, ['forced at 35'])
    yield* moveOnAfter(10, body)
    assert.deepEqual(log, ['forced at 35', `forced at ${35 + 10 + 5000}`]) // the grace of its fiber
    assert.equal(reports().length, 2)
    yield* sleep(1) // the fiber lives on
  }))

test('S15 S19 a block has the same ladder: a body that never lets go is abandoned, its fiber lives on', () =>
  virtual(function* () {
    assert.equal(yield* moveOnAfter(10, hostile, { value: 'moved on', grace: 0 }), 'moved on')
    assert.match(String(reports()), /abandoned/)
    yield* sleep(1)
    assert.equal(now(), 11)
  }))

for (const [name, inside] of [
  ['shield', () => shield(hostile)],
  ['scope', () => scope(hostile)],
  ['moveOnAfter', () => moveOnAfter(1000, hostile)],
  ['ensure', () => ensure(hostile, () => {})],
] as const) {
  test(`S19 S65 a body that never lets go inside ${name} inside a forced block is abandoned with it`, () =>
    virtual(function* () {
      assert.equal(yield* moveOnAfter(10, inside, { value: 'moved on', grace: 0 }), 'moved on')
      assert.match(String(reports()), /abandoned/)
      // The fiber is sound: later blocks and stops work as ever.
      assert.equal(yield* moveOnAfter(5, () => sleep(), 'again'), 'again')
      assert.equal(now(), 15)
    }))
}

// ---- unwinding

test('S16 the stop is thrown once: afterwards ops work normally', () =>
  virtual(function* () {
    const log: string[] = []
    const fiber = yield* started(function* () {
      try {
        yield* sleep()
      } catch (error) {
        log.push(isStop(error) ? 'stop' : 'error')
        yield* sleep(5)
        const helper = spin(() => sleep(5))
        yield* helper
        yield* scope(() => {
          spin(() => sleep(5))
        })
        log.push(`waited until ${now()}`)
        throw error
      }
    })
    yield* fiber.stop()
    assert.deepEqual(log, ['stop', 'waited until 16'])
  }))

const limits: [string, (ms: number, body: () => Routine<void>) => Op<void>][] = [
  ['moveOnAfter', (ms, body) => moveOnAfter(ms, body)],
  ['cancelAfter', (ms, body) => cancelAfter(ms, body)],
]
for (const [name, limit] of limits) {
  test(`S16 a ${name} around a finally does not cut what a stop has started, nor make the fiber go on`, () =>
    virtual(function* () {
      // The limit would expire while the stop of the fiber unwinds through its block.
      const log: string[] = []
      const fiber = yield* started(function* () {
        yield* limit(50, function* () {
          try {
            yield* sleep()
          } finally {
            yield* sleep(100)
            log.push('cleaned up')
          }
        })
        log.push('not reached')
      })
      assert.deepEqual(yield* fiber.stop('v'), { type: 'stopped', value: 'v' })
      assert.deepEqual(log, ['cleaned up'])
    }))
}

test('S16 S27 a child of a scope that fails does not cut what a stop has started in the body of the scope', () =>
  virtual(function* () {
    const log: string[] = []
    const error = new Error('child failed')
    const fiber = yield* started(function* () {
      yield* scope(function* () {
        spin(function* () {
          yield* sleep(50)
          throw error
        })
        try {
          yield* sleep()
        } finally {
          yield* sleep(100)
          log.push('cleaned up')
        }
      })
      log.push('not reached')
    })
    const outcome = yield* fiber.stop()
    assert.deepEqual(log, ['cleaned up'])
    assert.ok(outcome.type === 'error' && outcome.error === error)
  }))

test('S16 nor does an inner limit cut what the expiry of an outer one has started', () =>
  virtual(function* () {
    for (const innerMs of [10, 15]) {
      const log: string[] = []
      const value = yield* moveOnAfter(
        10,
        () =>
          moveOnAfter(
            innerMs,
            function* () {
              try {
                yield* sleep()
              } finally {
                yield* sleep(20)
                log.push('cleaned up')
              }
            },
            'inner',
          ),
        'outer',
      )
      assert.equal(value, 'outer')
      assert.deepEqual(log, ['cleaned up'], `inner limit of ${innerMs}`)
    }
  }))

test('S16 a time limit begun inside cleanup works as ever', () =>
  virtual(function* () {
    const log: unknown[] = []
    const fiber = yield* started(function* () {
      try {
        yield* sleep()
      } finally {
        log.push(yield* moveOnAfter(10, () => sleep(), 'gave up'))
        try {
          yield* cancelAfter(10, () => sleep())
        } catch (error) {
          log.push((error as Error).name)
        }
        log.push(now())
      }
    })
    yield* fiber.stop()
    assert.deepEqual(log, ['gave up', 'Cancel', 21])
  }))

// ---- ensure

test('S16b ensure gives the value of its body, after the cleanup', () =>
  virtual(function* () {
    const log: string[] = []
    const value = yield* ensure(
      function* () {
        yield* sleep(1)
        log.push('body')
        return 42
      },
      function* () {
        yield* sleep(1)
        log.push('cleanup')
      },
    )
    assert.equal(value, 42)
    assert.deepEqual(log, ['body', 'cleanup'])
  }))

test('S16b a bare finally that runs for another reason can be cut, ensure cannot', () =>
  virtual(function* () {
    const disturb: [string, (fiber: Fiber) => void][] = [
      ['stop', (fiber) => void fiber.stop()],
      ['raise', (fiber) => void fiber.raise('raised')],
      ['cancel', (fiber) => void fiber.cancel()],
      ['child error', (fiber) => void fiber.children[0]?.raise('child failed')],
    ]
    for (const [name, act] of disturb) {
      const ends = () => {}
      const fails = () => {
        throw new Error('body failed')
      }
      for (const body of [ends, fails]) {
        const log: string[] = []
        const fiber = yield* started(function* () {
          spin(() => sleep())
          yield* ensure(body, function* () {
            yield* sleep(10)
            log.push('whole')
          })
          yield* sleep(1)
          log.push('not reached')
        })
        act(fiber)
        yield* fiber.join()
        assert.deepEqual(log, ['whole'], name)
      }
    }
  }))

test('S16b what was held strikes at the switchpoint after the cleanup', () =>
  virtual(function* () {
    const log: string[] = []
    const fiber = yield* started(function* () {
      const value = yield* ensure(
        () => 'value',
        () => sleep(10),
      )
      log.push(value, Fiber.current.phase)
      yield* sleep(1)
      log.push('not reached')
    })
    fiber.stop('v')
    assert.deepEqual(yield* fiber.join(), { type: 'stopped', value: 'v' })
    assert.deepEqual(log, ['value', 'requested'])
  }))

test('S16b the cleanup of ensure may wait for work: idle ops are allowed', () =>
  virtual(function* () {
    const log: unknown[] = []
    const fiber = yield* started(function* () {
      yield* ensure(
        () => sleep(),
        function* () {
          log.push(yield* receive(), yield* receive())
        },
      )
    })
    fiber.stop()
    yield* sleep(1)
    fiber.send('one')
    yield* sleep(1)
    fiber.send('two')
    yield* fiber.join()
    assert.deepEqual(log, ['one', 'two'])
    assert.deepEqual(reports(), [])
  }))

test('S16b a deadline forces the cleanup of ensure, and that is reported', () =>
  virtual(function* () {
    const log: string[] = []
    const fiber = yield* started(
      function* () {
        yield* ensure(
          () => sleep(),
          function* () {
            try {
              yield* sleep()
            } finally {
              log.push(`forced at ${now()}`)
            }
          },
        )
      },
      { grace: 100 },
    )
    yield* fiber.stop()
    assert.deepEqual(log, ['forced at 101'])
    assert.match(String(reports()), /^forced: /)
  }))

test('S16b the cleanup of ensure begins whatever is pending, also when forced: then only its synchronous part runs', () =>
  virtual(function* () {
    const log: string[] = []
    const fiber = yield* started(function* () {
      yield* ensure(
        () => sleep(),
        function* () {
          log.push('begun')
          try {
            yield* sleep(1)
            log.push('not reached')
          } finally {
            log.push('synchronous part')
          }
        },
      )
    })
    yield* fiber.kill()
    assert.deepEqual(log, ['begun', 'synchronous part'])
  }))

test("S16b S22 ensure keeps the body's own error, and the cleanup's beside it", () =>
  virtual(function* () {
    const a = new Error('a')
    const b = new Error('b')
    try {
      yield* ensure(
        () => {
          throw a
        },
        function* () {
          yield* sleep(1)
          throw b
        },
      )
      assert.fail('not reached')
    } catch (error) {
      assert.equal(error, a)
      assert.deepEqual(suppressedErrors(error), [b])
    }
  }))

test('S16b S22 ensure keeps whatever its body threw, though it be no object', () =>
  virtual(function* () {
    for (const thrown of ['oops', undefined, null, 0]) {
      let caught: unknown = 'nothing'
      try {
        yield* ensure(
          () => {
            throw thrown
          },
          () => {
            throw new Error('cleanup failed too')
          },
        )
      } catch (error) {
        caught = error
      }
      assert.equal(caught, thrown)
    }
    assert.match(String(reports()), /unobserved/) // it could not be kept beside, but it did not vanish
  }))

test('S16b an error of the cleanup outweighs a stop', () =>
  virtual(function* () {
    const fiber = yield* started(function* () {
      yield* ensure(
        () => sleep(),
        () => {
          throw new Error('cleanup failed')
        },
      )
    })
    const outcome = yield* fiber.stop()
    assert.ok(outcome.type === 'error' && (outcome.error as Error).message === 'cleanup failed')
  }))

test('S16b ensure nests: inner cleanup first, each whole', () =>
  virtual(function* () {
    const log: string[] = []
    const cleanup = (name: string) =>
      function* () {
        yield* sleep(10)
        log.push(name)
      }
    const fiber = yield* started(function* () {
      yield* ensure(
        () => ensure(() => sleep(), cleanup('inner')),
        () => ensure(cleanup('outer'), cleanup('cleanup of the cleanup')),
      )
    })
    fiber.stop()
    yield* sleep(5)
    fiber.stop()
    yield* fiber.join()
    assert.deepEqual(log, ['inner', 'outer', 'cleanup of the cleanup'])
  }))

test('S16b a time limit inside the cleanup of ensure works', () =>
  virtual(function* () {
    const log: unknown[] = []
    yield* ensure(
      () => sleep(1),
      function* () {
        log.push(yield* moveOnAfter(10, () => receive(), 'nothing came'))
      },
    )
    assert.deepEqual(log, ['nothing came'])
  }))

test('S16b an outer time limit waits for the cleanup of ensure', () =>
  virtual(function* () {
    const log: string[] = []
    const value = yield* moveOnAfter(
      10,
      () =>
        ensure(
          () => sleep(5),
          function* () {
            yield* sleep(20)
            log.push(`whole at ${now()}`)
          },
        ),
      'timed out',
    )
    assert.deepEqual(log, ['whole at 25'])
    assert.equal(value, undefined) // S34: the block ended before its signal could strike, so its own result stands
  }))

// ---- idle ops

const idle: [string, () => Routine<unknown>][] = [
  [
    'receive()',
    function* () {
      yield* receive()
    },
  ],
  [
    'suspend()',
    function* () {
      yield* suspend()
    },
  ],
  [
    'transfer',
    function* () {
      yield* transfer(new Fiber(() => 1))
    },
  ],
  [
    'every(10)',
    function* () {
      yield* every(10, () => {})
    },
  ],
]
for (const [name, op] of idle) {
  test(`S17 ${name} is refused while unwinding, by the same stop`, () =>
    virtual(function* () {
      const caught: unknown[] = []
      const fiber = yield* started(function* () {
        try {
          yield* sleep()
        } catch (stop) {
          caught.push(stop)
          try {
            yield* op()
          } catch (again) {
            caught.push(again)
          }
          throw stop
        }
      })
      const at = now()
      yield* fiber.stop()
      assert.equal(now(), at)
      assert.equal(caught.length, 2)
      assert.ok(isStop(caught[0]))
      assert.equal(caught[1], caught[0])
      assert.equal(runtime().stats().refused, 1)
      assert.deepEqual(reports(), []) // one refusal is counted, not reported
    }))

  test(`S17 S20 ${name} is allowed inside shield, also while unwinding`, () =>
    virtual(function* () {
      const fiber = yield* started(function* () {
        try {
          yield* sleep()
        } finally {
          yield* moveOnAfter(20, () => shield(() => moveOnAfter(10, op)))
        }
      })
      const at = now()
      yield* fiber.stop()
      if (name !== 'transfer') assert.equal(now() - at, 10)
      assert.equal(runtime().stats().refused, 0)
    }))
}

test('S17 a message that is already there is refused too: it waits for new outside work', () =>
  virtual(function* () {
    const log: unknown[] = []
    const fiber = yield* started(function* () {
      try {
        yield* sleep()
      } finally {
        try {
          log.push(yield* receive())
        } catch {
          log.push('refused')
        }
      }
    })
    fiber.send('message')
    yield* fiber.stop()
    assert.deepEqual(log, ['refused'])
  }))

test('S17 a time limit around an idle op in cleanup does not make it allowed', () =>
  virtual(function* () {
    const fiber = yield* started(function* () {
      try {
        yield* sleep()
      } finally {
        yield* moveOnAfter(10, () => receive())
      }
    })
    yield* fiber.stop()
    assert.equal(now(), 1)
    assert.equal(runtime().stats().refused, 1)
  }))

test('S17 a swallower that only sleeps lives until the deadline, and is reported then', () =>
  virtual(function* () {
    let rounds = 0
    const fiber = yield* started(
      function* () {
        for (;;) {
          try {
            yield* sleep(10)
            rounds++
          } catch {}
        }
      },
      { grace: 95 },
    )
    const at = now()
    yield* fiber.stop()
    assert.equal(now() - at, 95)
    assert.equal(rounds, 9)
    assert.equal(reports().length, 1)
    assert.match(String(reports()[0]), /^forced: .*sleep\(10\)/)
  }))

// ---- grace

test('S18 the grace is 5 seconds unless told otherwise, and children start with that of their parent', () =>
  virtual(function* () {
    assert.equal(Fiber.current.grace, 5000)
    const graces = spin({ grace: 100 }, function* () {
      return [Fiber.current.grace, spin(() => 1).grace, spin({ grace: 7 }, () => 1).grace]
    })
    assert.deepEqual(yield* graces, [100, 100, 7])
  }))

const clings = function* (log: string[]): Routine<void> {
  try {
    yield* sleep()
  } finally {
    try {
      yield* sleep()
    } finally {
      log.push(`forced at ${now()}`)
    }
  }
}

test('S18 the grace given to a stop, or set per fiber, is when it is forced', () =>
  virtual(function* () {
    const log: string[] = []
    const own = yield* started(() => clings(log), { grace: 30 })
    yield* own.stop()
    const given = yield* started(() => clings(log), { grace: 30 })
    yield* given.stop('v', { grace: 70 })
    assert.deepEqual(log, [`forced at ${1 + 30}`, `forced at ${1 + 30 + 1 + 70}`])
  }))

test("S18 a child has the smaller of its own grace and its parent's deadline", () =>
  virtual(function* () {
    const log: string[] = []
    const parent = yield* started(
      function* () {
        spin({ grace: 20 }, clings, log)
        spin({ grace: 10_000 }, clings, log)
        yield* sleep()
      },
      { grace: 100 },
    )
    yield* parent.stop()
    assert.deepEqual(log, ['forced at 21', 'forced at 101'])
  }))

test('S18 a body that still has children may use half of what is left, so that they get to clean up', () =>
  virtual(function* () {
    const log: string[] = []
    const parent = yield* started(
      function* () {
        spin(function* () {
          try {
            yield* sleep()
          } finally {
            yield* sleep(400)
            log.push('child cleaned up')
          }
        })
        yield* clings(log)
      },
      { grace: 1000 },
    )
    yield* parent.stop()
    assert.deepEqual(log, ['forced at 501', 'child cleaned up'])
    assert.equal(now(), 901)
  }))

test('S18 the deadline counts from the stop, also while a shield holds it', () =>
  virtual(function* () {
    const log: string[] = []
    const fiber = yield* started(
      function* () {
        yield* shield(() => sleep(60))
        yield* clings(log)
      },
      { grace: 100 },
    )
    yield* fiber.stop()
    assert.deepEqual(log, ['forced at 101'])
  }))

test('S18 the deadline bounds a whole subtree', () =>
  virtual(function* () {
    function* level(depth: number): Routine<void> {
      if (depth > 0) spin(level, depth - 1)
      yield* clings([])
    }
    const top = yield* started(() => level(6), { grace: 640 })
    yield* top.stop()
    assert.equal(now(), 641)
  }))

// ---- forced and abandoned

test('S19 when forced, synchronous cleanup runs at every level, waits do not begin, code after does not run', () =>
  virtual(function* () {
    const log: string[] = []
    const level = function* (n: number): Routine<void> {
      try {
        if (n > 0) yield* level(n - 1)
        else yield* sleep()
      } finally {
        log.push(`before ${n}`)
        try {
          yield* sleep(1)
          log.push('not reached')
        } finally {
          log.push(`after ${n}`)
        }
      }
      log.push('not reached either')
    }
    const fiber = yield* started(() => level(2))
    yield* fiber.kill()
    assert.deepEqual(log, ['before 0', 'after 0', 'before 1', 'after 1', 'before 2', 'after 2'])
    assert.equal(now(), 1)
  }))

test('S19 kill cannot be caught', () =>
  virtual(function* () {
    const log: string[] = []
    const fiber = yield* started(function* () {
      for (;;) {
        try {
          yield* sleep()
        } catch {
          log.push('caught')
        }
      }
    })
    assert.deepEqual(yield* fiber.kill(), { type: 'stopped', value: undefined })
    assert.deepEqual(log, [])
  }))

test('S19 kill reaches through shield and ensure, and takes the children along', () =>
  virtual(function* () {
    const log: string[] = []
    const body = function* (name: string): Routine<void> {
      try {
        yield* shield(() =>
          ensure(
            () => sleep(),
            () => sleep(),
          ),
        )
      } finally {
        log.push(name)
      }
    }
    const fiber = yield* started(function* () {
      spin(body, 'child')
      yield* body('parent')
    })
    yield* fiber.kill()
    assert.deepEqual(log, ['parent', 'child'])
    assert.equal(now(), 1)
  }))

test('S19 kill while its cleanup waits', () =>
  virtual(function* () {
    const log: string[] = []
    const fiber = yield* started(() => clings(log))
    fiber.stop('v')
    yield* sleep(10)
    assert.deepEqual(yield* fiber.kill(), { type: 'stopped', value: 'v' }) // S21: the first value stays
    assert.deepEqual(log, ['forced at 11'])
  }))

test('S19 an error thrown by cleanup when forced is the outcome', () =>
  virtual(function* () {
    const fiber = yield* started(function* () {
      try {
        yield* sleep()
      } finally {
        // biome-ignore lint/correctness/noUnsafeFinally: that is what this test is about
        throw new Error('cleanup failed')
      }
    })
    const outcome = yield* fiber.kill()
    assert.ok(outcome.type === 'error' && (outcome.error as Error).message === 'cleanup failed')
  }))

test('S19 an abandoned fiber: await throws FiberStopped, its children are stopped, restart is refused', () =>
  virtual(function* () {
    const log: string[] = []
    const fiber = yield* started(
      function* () {
        spin(function* () {
          try {
            yield* sleep()
          } finally {
            yield* sleep(10)
            log.push('child cleaned up')
          }
        })
        yield* hostile()
      },
      { grace: 100 },
    )
    assert.deepEqual(yield* fiber.stop(), { type: 'abandoned' })
    assert.deepEqual(log, ['child cleaned up'])
    assert.deepEqual(fiber.outcome, { type: 'abandoned' })
    try {
      yield* fiber
      assert.fail('not reached')
    } catch (error) {
      assert.ok(error instanceof FiberStopped)
      assert.match(error.message, /abandoned/)
    }
    assert.throws(() => fiber.restart(), BadState)
  }))

test('S19 S22 an abandoned fiber cannot be restarted, though the error of a child became its outcome', () =>
  virtual(function* () {
    const fiber = yield* started(function* () {
      spin(function* () {
        try {
          yield* sleep()
        } finally {
          // biome-ignore lint/correctness/noUnsafeFinally: an error from cleanup
          throw new Error('child failed')
        }
      })
      yield* sleep(1)
      yield* hostile()
    })
    yield* sleep(10)
    yield* fiber.kill()
    assert.equal(runtime().stats().abandoned, 1)
    assert.throws(() => fiber.restart(), BadState)
  }))

// ---- shield

test('S20 shield holds a stop until it ends', () =>
  virtual(function* () {
    const log: string[] = []
    const fiber = yield* started(function* () {
      const value = yield* shield(function* () {
        yield* sleep(10)
        yield* sleep(10)
        return 'committed'
      })
      log.push(value)
      yield* sleep(1)
      log.push('not reached')
    })
    assert.deepEqual(yield* fiber.stop('v'), { type: 'stopped', value: 'v' })
    assert.deepEqual(log, ['committed'])
    assert.equal(now(), 20)
  }))

test('S20 shield holds the expiry of outer blocks, not of inner ones', () =>
  virtual(function* () {
    const log: unknown[] = []
    const value = yield* moveOnAfter(
      10,
      function* () {
        yield* shield(function* () {
          log.push(yield* moveOnAfter(5, () => sleep(), 'inner'))
          yield* sleep(20)
          log.push(now())
        })
        yield* sleep(1)
        log.push('not reached')
      },
      'outer',
    )
    assert.equal(value, 'outer')
    assert.deepEqual(log, ['inner', 25])
    try {
      yield* cancelAfter(10, function* () {
        yield* shield(() => sleep(20))
        log.push(now())
        yield* sleep(1)
        log.push('not reached')
      })
      assert.fail('not reached')
    } catch (error) {
      assert.equal((error as Error).name, 'Cancel')
    }
    assert.deepEqual(log, ['inner', 25, 45])
  }))

test('S20 shield does not hold raise, cancel and the errors of children', () =>
  virtual(function* () {
    const acts: ((fiber: Fiber) => unknown)[] = [
      (fiber) => fiber.raise('oops'),
      (fiber) => fiber.cancel('oops'),
      (fiber) => fiber.children[0]?.raise('oops'),
    ]
    for (const act of acts) {
      const at = now()
      const fiber = yield* started(function* () {
        spin(() => sleep())
        yield* shield(() => sleep(100))
      })
      act(fiber)
      const outcome = yield* fiber.join()
      assert.ok(outcome.type === 'error' && (outcome.error as Error).message === 'oops')
      assert.equal(now(), at + 1)
    }
  }))

test('S20 shields nest: the stop waits for the outermost', () =>
  virtual(function* () {
    const log: string[] = []
    const fiber = yield* started(function* () {
      yield* shield(function* () {
        yield* shield(() => sleep(10))
        log.push('inner over')
        yield* sleep(10)
        log.push('outer over')
      })
      yield* sleep(1)
      log.push('not reached')
    })
    yield* fiber.stop()
    assert.deepEqual(log, ['inner over', 'outer over'])
  }))

test('S20 S65 the deadline forces a shield', () =>
  virtual(function* () {
    const log: string[] = []
    const fiber = yield* started(
      () =>
        shield(function* () {
          try {
            yield* sleep()
          } finally {
            log.push(`forced at ${now()}`)
          }
        }) as Routine<void>,
      { grace: 50 },
    )
    yield* fiber.stop()
    assert.deepEqual(log, ['forced at 51'])
    assert.equal(reports().length, 1)
  }))

test('S20 a shield may be entered while unwinding, and holds the expiry of blocks there', () =>
  virtual(function* () {
    const log: string[] = []
    const fiber = yield* started(function* () {
      try {
        yield* sleep()
      } finally {
        yield* moveOnAfter(5, function* () {
          yield* shield(() => sleep(20))
          log.push(`rolled back at ${now()}`)
        })
      }
    })
    yield* fiber.stop()
    assert.deepEqual(log, ['rolled back at 21'])
  }))

// ---- second stop

test('S21 a second stop never repeats the throw: the first value and reason stay', () =>
  virtual(function* () {
    let thrown = 0
    const fiber = yield* started(function* () {
      try {
        yield* sleep()
      } catch (error) {
        thrown++
        try {
          yield* sleep(10)
        } catch {
          thrown++
        }
        throw error
      }
    })
    fiber.stop('first', { reason: 'first reason' })
    fiber.stop('second', { reason: 'second reason' })
    yield* sleep(5)
    fiber.stop('third')
    fiber.terminate()
    assert.deepEqual(yield* fiber.join(), { type: 'stopped', value: 'first' })
    assert.equal(fiber.stopReason, 'first reason')
    assert.equal(thrown, 1)
  }))

test('S21 a second stop can only bring the deadline nearer', () =>
  virtual(function* () {
    const log: string[] = []
    const nearer = yield* started(() => clings(log))
    nearer.stop()
    yield* sleep(10)
    yield* nearer.stop(undefined, { grace: 20 })
    assert.deepEqual(log, ['forced at 31'])
    const later = yield* started(() => clings(log), { grace: 50 })
    later.stop()
    yield* sleep(10)
    yield* later.stop(undefined, { grace: 1000 })
    assert.deepEqual(log, ['forced at 31', 'forced at 82'])
  }))

test('S21 a nearer deadline reaches the children of a fiber whose body is over', () =>
  virtual(function* () {
    const log: string[] = []
    const fiber = yield* started(function* () {
      spin(function* child() {
        spin(clings, log)
        yield* sleep()
      })
      yield* sleep()
    })
    fiber.stop('first', { reason: 'first reason' })
    yield* sleep(10)
    assert.equal(fiber.phase, 'closing')
    yield* fiber.stop('second', { grace: 20, reason: 'second reason' })
    assert.deepEqual(log, ['forced at 31'])
    assert.equal(fiber.stopReason, 'first reason')
    assert.deepEqual(fiber.outcome, { type: 'stopped', value: 'first' })
  }))

test('S21 kill while the children are dying forces them all, however deep the tree', () =>
  virtual(function* () {
    const log: string[] = []
    function* level(depth: number): Routine<void> {
      if (depth === 0) yield* clings(log)
      else {
        spin(level, depth - 1)
        yield* sleep()
      }
    }
    const top = yield* started(() => level(20_000))
    top.stop('v')
    yield* sleep(1)
    assert.equal(top.phase, 'closing')
    assert.deepEqual(yield* top.kill(), { type: 'stopped', value: 'v' })
    assert.deepEqual(log, ['forced at 2'])
  }))

test('S21 L7 stop while stopping: cleanup that waits is not cut by a second stop', () =>
  virtual(function* () {
    const log: string[] = []
    const fiber = yield* started(function* () {
      try {
        yield* sleep()
      } finally {
        for (let i = 1; i <= 3; i++) {
          yield* sleep(10)
          log.push(`step ${i}`)
        }
      }
    })
    for (let i = 0; i < 4; i++) {
      fiber.terminate()
      yield* sleep(5)
    }
    yield* fiber.stop()
    assert.deepEqual(log, ['step 1', 'step 2', 'step 3'])
  }))

// ---- errors from cleanup

test('S22 the error that leaves the body is the outcome of a stopped fiber', () =>
  virtual(function* () {
    const fiber = yield* started(function* () {
      try {
        yield* sleep()
      } finally {
        yield* sleep(1)
        // biome-ignore lint/correctness/noUnsafeFinally: that is what this test is about
        throw new Error('from cleanup')
      }
    })
    const outcome = yield* fiber.stop('v')
    assert.ok(outcome.type === 'error' && (outcome.error as Error).message === 'from cleanup')
  }))

const failsAfter = function* (ms: number, error: unknown): Routine<void> {
  try {
    yield* sleep()
  } finally {
    yield* sleep(ms)
    // biome-ignore lint/correctness/noUnsafeFinally: an error from cleanup
    throw error
  }
}

test('S22 S27 errors of children that die after their parent: the first is its outcome, the rest are suppressed', () =>
  virtual(function* () {
    const [a, b, c] = [new Error('a'), new Error('b'), new Error('c')]
    const parent = yield* started(function* () {
      spin(failsAfter, 30, c)
      spin(failsAfter, 10, a)
      spin(failsAfter, 20, b)
      yield* sleep()
    })
    const outcome = yield* parent.stop('v')
    assert.ok(outcome.type === 'error')
    assert.equal(outcome.error, a)
    assert.deepEqual(suppressedErrors(a), [b, c])
  }))

test("S22 errors of children are suppressed onto the body's own", () =>
  virtual(function* () {
    const own = new Error('own')
    const late = new Error('late')
    const parent = yield* started(function* () {
      spin(failsAfter, 10, late)
      yield* sleep(5)
      throw own
    })
    const outcome = yield* parent.join()
    assert.ok(outcome.type === 'error' && outcome.error === own)
    assert.deepEqual(suppressedErrors(own), [late])
  }))

test('S22 S27 a child that fails while its parent cleans up does not interrupt it', () =>
  virtual(function* () {
    const log: string[] = []
    const error = new Error('child failed')
    const parent = yield* started(function* () {
      spin(function* () {
        yield* sleep(20)
        throw error
      })
      try {
        yield* sleep()
      } finally {
        yield* sleep(50)
        log.push('cleaned up')
      }
    })
    const outcome = yield* parent.stop()
    assert.deepEqual(log, ['cleaned up'])
    assert.ok(outcome.type === 'error' && outcome.error === error)
  }))

test('S22 an error thrown into cleanup that is no object still keeps its place', () =>
  virtual(function* () {
    const parent = yield* started(function* () {
      spin(failsAfter, 10, new Error('late'))
      yield* sleep(5)
      throw 'not an error'
    })
    const outcome = yield* parent.join()
    assert.ok(outcome.type === 'error')
    assert.equal((outcome.error as Error).cause, 'not an error')
    assert.equal(suppressedErrors(outcome.error).length, 1)
  }))

test('S22 errors of a scope: body, then children, none is lost', () =>
  virtual(function* () {
    const own = new Error('own')
    const [a, b] = [new Error('a'), new Error('b')]
    try {
      yield* scope(function* () {
        spin(failsAfter, 10, a)
        spin(failsAfter, 20, b)
        yield* sleep(5)
        throw own
      })
      assert.fail('not reached')
    } catch (error) {
      assert.equal(error, own)
      assert.deepEqual(suppressedErrors(error), [a, b])
    }
    yield* sleep(1)
  }))

test('S22 a scope whose body throws something that is no object, and whose children fail too, stays sound', () =>
  virtual(function* () {
    for (const thrown of ['oops', null, undefined]) {
      let caught: unknown = 'nothing'
      try {
        yield* scope(function* () {
          spin(failsAfter, 10, new Error('child failed too'))
          yield* sleep(5)
          throw thrown
        })
      } catch (error) {
        caught = error
      }
      assert.equal(caught, thrown)
    }
    assert.equal(runtime().stats().fibers, 1)
  }))

test('S22 an error of a child, when the scope is inside a block that timed out, is not lost', () =>
  virtual(function* () {
    const error = new Error('child failed')
    const received: unknown[] = []
    try {
      yield* moveOnAfter(10, () =>
        scope(function* () {
          spin(failsAfter, 5, error)
          yield* sleep()
        }),
      )
    } catch (caught) {
      received.push(caught)
    }
    try {
      yield* sleep(1)
    } catch (caught) {
      received.push(caught)
    }
    assert.deepEqual(received, [error]) // once, at the block or at the switchpoint after it
  }))

test('S22 restart of a fiber whose teardown fails is cancelled, and its error is told', () =>
  virtual(function* () {
    let starts = 0
    const fiber = yield* started(function* () {
      starts++
      yield* failsAfter(5, new Error('teardown failed'))
    })
    fiber.restart()
    const outcome = yield* fiber.join()
    assert.equal(outcome.type, 'error')
    assert.equal(starts, 1)
  }))

// Hostile programs: the name says which promise they attack.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  Cancel,
  cancelAfter,
  createLocal,
  ensure,
  Fiber,
  moveOnAfter,
  type Op,
  receive,
  run,
  type Switchpoint,
  scope,
  sleep,
  snooze,
  spin,
  spinLoop,
  suppressedErrors,
  tap,
  until,
} from 'polyphony'
import { explore, virtual } from 'polyphony/testing'
import { failing, program, turns } from './prelude.js'

/** A parent that throws `error` while a child fails in its cleanup: `later` has to be kept beside it. */
function* failsTwice(error: unknown) {
  spin(function* () {
    try {
      yield* sleep()
    } finally {
      yield* failing('later')
    }
  })
  yield* snooze()
  throw error
}
describe('the end of a process', { concurrency: 4 }, () => {
  test('S33 a main that went on after quiescence and then waits for nothing is a deadlock, not exit code 0', async () => {
    const { code, stderr } = await program(`
      import { main, receive, suspend } from 'polyphony'
      main(function* () {
        yield* suspend()
        yield* receive()
      })`) // nothing is printed before: a pending write would hide the fault
    assert.equal(code, 13)
    assert.match(stderr, /deadlock/)
  })

  test('S64 every bare suspend() of main returns at quiescence, not only the first', async () => {
    const { code, stdout } = await program(`
      import { main, suspend } from 'polyphony'
      main(function* () {
        try {
          yield* suspend()
          yield* suspend()
          console.log('twice')
        } finally {
          console.log('cleaned up')
        }
      })`)
    assert.deepEqual([code, stdout], [0, 'twice\ncleaned up\n'])
  })

  test('S45 a run started by a beforeExit listener is not called deadlocked', async () => {
    const { stdout } = await program(`
      import { receive, run, sleep } from 'polyphony'
      process.once('beforeExit', () => {
        run(function* () { yield* sleep(10) }).then(() => console.log('flushed'), () => console.log('refused'))
      })
      run(function* () { yield* receive() }).catch(() => {})`)
    assert.equal(stdout, 'flushed\n')
  })

  test('S45 a message sent by a beforeExit listener wakes its fiber: no deadlock', async () => {
    const { stdout } = await program(`
      import { receive, run } from 'polyphony'
      process.once('beforeExit', () => waiting.fiber.send('hello'))
      const waiting = run(function* () { return yield* receive() })
      waiting.then((value) => console.log(value), () => console.log('refused'))`)
    assert.equal(stdout, 'hello\n')
  })

  test('S45 the lingering watch of a main that is over does not end the main that came after it', async () => {
    const { stdout } = await program(`
      import { main, sleep } from 'polyphony'
      main(function* () {})
      setTimeout(() => {
        try {
          main(function* () { yield* sleep(1500); console.log('second is done') })
        } catch {
          console.log('refused')
        }
      }, 20)`)
    assert.match(stdout, /second is done|refused/)
  })

  test('S45 stop() of a deadlocked run resolves when its fibers are dead', async () => {
    const { stdout } = await program(`
      import { receive, run, sleep } from 'polyphony'
      const stuck = run(function* () {
        try { yield* receive() } finally { yield* sleep(10); console.log('cleaned up') }
      })
      await stuck.catch(() => {})
      await stuck.stop()
      console.log(stuck.fiber.state)`)
    assert.equal(stdout, 'cleaned up\ndead\n')
  })

  test('S30 an error that is its own cause is printed and ends the process', async () => {
    const { code, stderr } = await program(`
      import { main } from 'polyphony'
      main(function* () { const e = new Error('round'); e.cause = e; throw e })`)
    assert.equal(code, 1)
    assert.match(stderr, /round/)
  })

  test('S30 errors that suppress each other are printed', async () => {
    const { code, stderr } = await program(`
      import { main } from 'polyphony'
      const a = new Error('first'), b = new Error('second')
      a.suppressed = [b]
      b.suppressed = [a]
      main(function* () { throw a })`)
    assert.equal(code, 1)
    assert.match(stderr, /in fiber: main[\s\S]*second/)
    assert.doesNotMatch(stderr, /RangeError/)
  })

  test('S33 a deadlock of a deep tree exits with 13', async () => {
    const { code } = await program(`
      import { main, receive, spin } from 'polyphony'
      function* nest(n) { if (n > 0) spin(nest, n - 1); yield* receive() }
      main(() => nest(20000))`)
    assert.equal(code, 13)
  })

  test('S70 an unprintable error of an isolated fiber does not take the scheduler with it', async () => {
    const { code, stdout } = await program(`
      import { main, sleep, spin } from 'polyphony'
      main(function* () {
        spin({ link: false }, function* () {
          throw Object.defineProperty(new Error('x'), 'stack', { get() { throw new Error('no stack') } })
        })
        yield* sleep(10)
        console.log('went on')
      })`)
    assert.deepEqual([code, stdout], [0, 'went on\n'])
  })

  test('S70 a wrong error given to cancelAfter does not stop the clock of everybody', async () => {
    const { code, stdout } = await program(`
      import { cancelAfter, main, sleep, spin } from 'polyphony'
      process.on('uncaughtException', () => {})
      main(function* () {
        spin(function* () { yield* sleep(30); console.log('slept') })
        try { yield* cancelAfter(10, () => sleep(20), () => new Error('no class')) } catch {}
        yield* sleep(60)
      })`)
    assert.deepEqual([code, stdout], [0, 'slept\n'])
  })
})

describe('good manners', { concurrency: 4 }, () => {
  test('S57 a signal shared by many fibers gives no warning of a leak', async () => {
    const { stderr } = await program(`
      import { main, sleep, spin } from 'polyphony'
      const { signal } = new AbortController()
      main(function* () {
        for (let i = 0; i < 20; i++) spin({ signal }, () => sleep(1))
        yield* sleep(5)
      })`)
    assert.equal(stderr, '')
  })

  test('S58 the promise of a body that was refused does not end the process when it is rejected', async () => {
    const { code, stdout } = await program(`
      import { main, sleep, spin } from 'polyphony'
      main(function* () {
        const outcome = yield* spin(() => Promise.reject(new Error('late'))).join()
        yield* sleep(5)
        console.log(outcome.error.code)
      })`)
    assert.deepEqual([code, stdout], [0, 'BAD_ARGUMENT\n'])
  })
})

describe('debug mode', { concurrency: 4 }, () => {
  const debug = { POLYPHONY_DEBUG: '1' }

  test('an op that was waited for is never reported as floating', async () => {
    const { stderr } = await program(
      `
      import { Fiber, main, sleep, snooze, spin } from 'polyphony'
      main(function* () {
        yield* snooze()
        const worker = spin(function* () {
          Fiber.current.stop()
          yield* sleep(5)
        })
        yield* worker.join()
        const op = sleep(1)
        yield* spin(function* () { yield* op })
      })`,
      debug,
    )
    assert.equal(stderr, '')
  })

  test('a frozen error leaves its fiber like any other', async () => {
    const { code, stdout } = await program(
      `
      import { main, spin } from 'polyphony'
      main(function* () {
        const outcome = yield* spin(function* () { throw Object.freeze(new Error('ice')) }).join()
        console.log(outcome.error.message)
      })`,
      debug,
    )
    assert.deepEqual([code, stdout], [0, 'ice\n'])
  })

  test('Fiber.await of what is no fiber is a BadArgument there too', async () => {
    const { code, stdout } = await program(
      `
      import { Fiber, main } from 'polyphony'
      main(function* () {
        try { yield* Fiber.await(1) } catch (e) { console.log(e.code) }
      })`,
      debug,
    )
    assert.deepEqual([code, stdout], [0, 'BAD_ARGUMENT\n'])
  })

  test('a long stack names each spin site once', async () => {
    const { stdout } = await program(
      `
      import { main, sleep, spin } from 'polyphony'
      main(function* () {
        const outer = spin('outer', function* () {
          spin('inner', function* () { throw new Error('x') })
          yield* sleep(10)
        })
        const { error } = yield* outer.join()
        console.log(error.stack.split('outer was spun').length - 1)
      })`,
      debug,
    )
    assert.equal(stdout, '1\n')
  })
})

describe('things thrown that are hard to hold', () => {
  test('S22 a scope whose body throws null keeps the error of its child', () =>
    virtual(function* () {
      let thrown: unknown = 'nothing'
      try {
        yield* scope(() => failsTwice(null))
      } catch (e) {
        thrown = e
      }
      assert.ok(!(thrown instanceof TypeError), String(thrown))
    }))

  test('S16b an ensure whose body and cleanup throw strings gives the error of the body', () =>
    virtual(function* () {
      let thrown: unknown
      try {
        yield* ensure(
          () => {
            throw 'body'
          },
          () => {
            throw 'cleanup'
          },
        )
      } catch (e) {
        thrown = e
      }
      assert.equal(thrown instanceof Error ? thrown.cause : thrown, 'body')
    }))

  test('S22 an error that brings a suppressed one of its own (SuppressedError) does not lose it', () =>
    virtual(function* () {
      const own = new Error('own')
      const error = Object.assign(new Error('SuppressedError'), { error: new Error('x'), suppressed: own })
      const outcome = yield* spin(() => failsTwice(error)).join()
      assert.equal(outcome.type, 'error')
      const kept = [error.suppressed, ...suppressedErrors(error)].flat()
      assert.ok(kept.includes(own), 'the error that it had already was overwritten')
    }))

  test('S70 an error with a frozen list of suppressed ones does not break the scheduler', () =>
    virtual(function* () {
      const error = Object.assign(new Error('first'), { suppressed: Object.freeze([]) })
      const outcome = yield* spin(() => failsTwice(error)).join()
      assert.deepEqual(outcome, { type: 'error', error })
    }))

  for (const property of ['suppressed', 'cause'] as const) {
    test(`S70 an error whose ${property} throws when it is read does not break the scheduler`, () =>
      virtual(function* () {
        const error = new Error('first')
        Object.defineProperty(error, property, {
          get() {
            throw new Error('do not look')
          },
        })
        const fiber = spin({ link: false }, function* () {
          try {
            yield* failsTwice(error)
          } finally {
            yield* snooze()
          }
        })
        const stopped = spin({ link: false }, function* () {
          try {
            yield* sleep()
          } finally {
            yield* failsWith(error)
          }
        })
        yield* snooze()
        stopped.stop()
        assert.equal((yield* fiber.join()).type, 'error')
        assert.equal((yield* stopped.join()).type, 'error')
      }))
  }
  function* failsWith(error: unknown) {
    yield* snooze()
    throw error
  }

  test('S70 a proxy whose traps throw does not break the scheduler', () =>
    virtual(function* () {
      const thing = new Proxy(
        {},
        {
          getPrototypeOf() {
            throw new Error('trap')
          },
        },
      )
      const fiber = spin(function* () {
        yield* snooze()
        throw thing
      })
      assert.equal((yield* fiber.join()).type, 'error')
    }))
})

describe('verbs from inside', () => {
  test('S28 a listener that moves a sibling while children are stopped harms no innocent fiber', () =>
    virtual(function* () {
      const innocent = spin('innocent', function* () {
        yield* sleep(100)
        return 'fine'
      })
      const parent = spin('parent', function* () {
        const moved = spin('moved', () => sleep(50))
        spin('listener', function* () {
          Fiber.current.signal.addEventListener('abort', () => moved.detach())
          yield* sleep()
        })
        yield* sleep(1)
      })
      yield* parent
      assert.deepEqual(yield* innocent.join(), { type: 'value', value: 'fine' })
    }))

  test('S41 a tap listener that stops a fiber as it is restarted does not make it die twice', () =>
    virtual(function* () {
      const fiber = spin('fiber', function* () {
        spin(function* () {
          try {
            yield* sleep()
          } finally {
            yield* sleep(1)
          }
        })
        yield* sleep()
      })
      yield* sleep(1)
      const untap = tap((event, who) => {
        if (event === 'restart' && who === fiber) fiber.stop()
      })
      fiber.restart()
      yield* sleep(10)
      untap()
      assert.equal(fiber.state, 'dead')
    })) // virtual finds -1 fibers

  test('S01 a run whose root is attached to another tree still settles its promise', async () => {
    const parent = run(() => receive())
    const child = run(function* () {
      yield* receive()
      return 'child'
    })
    let refused = false
    try {
      child.fiber.attachTo(parent.fiber)
    } catch {
      refused = true
    }
    child.fiber.send('go on')
    await turns(10)
    parent.fiber.send('go on')
    await parent
    const late = turns(100).then(() => 'never')
    assert.notEqual(await Promise.race([child.catch(() => 'settled'), late]), 'never', `refused: ${refused}`)
  })
})

describe('switchpoints', () => {
  /** Repeats an op; gives up after a while, because nothing else would end it. */
  function* repeat(make: () => Op<unknown>) {
    for (let n = 0; n < 10_000; n++) yield* make()
    return 'never let go'
  }
  const local = createLocal(0)
  const ready: [string, () => Op<unknown>][] = [
    [
      'ensure',
      () =>
        ensure(
          () => 1,
          () => {},
        ),
    ],
    ['local.with', () => local.with(1, () => 1)],
  ]
  for (const [name, make] of ready) {
    test(`S09 ${name} is a switchpoint: a loop of it can be stopped, and lets others run`, () =>
      virtual(function* () {
        const busy = spin(() => repeat(make))
        yield* snooze()
        assert.equal((yield* busy.stop()).type, 'stopped')
      }))
  }

  test('S19 a forced block whose cleanup yields raw values for ever is abandoned', () =>
    virtual(function* () {
      let yields = 0
      const hostile = spin(() =>
        moveOnAfter(1000, function* () {
          try {
            yield* sleep()
          } finally {
            while (++yields < 10_000) {
              try {
                yield 5 as unknown as Switchpoint
              } catch {}
            }
          }
        }),
      )
      yield* snooze()
      yield* hostile.kill()
      assert.ok(yields < 1000, `it was let go after ${yields} yields`)
    }))

  test('S69 a block entered by two fibers is a named error for the second, and works for the first', () =>
    virtual(function* () {
      const block = moveOnAfter(1000, () => sleep(5), 'x')
      const enter = () =>
        spin({ link: false }, function* () {
          for (let n = 0; n < 128; n++) {
            Fiber.current.send(n) // spends the budget, so that the block has to let others run before it begins
            yield* receive()
          }
          return yield* block
        })
      const [first, second] = [enter(), enter()]
      assert.equal((yield* first.join()).type, 'value')
      const outcome = yield* second.join()
      assert.match(outcome.type === 'error' ? String(outcome.error) : '', /already being waited for/)
    }))
})

describe('wrong input', () => {
  test('a trace that explore cannot read is refused by name', () => {
    const scenario = function* () {
      spin(() => snooze())
      yield* snooze()
    }
    assert.throws(() => explore(scenario, { trace: '!' }), { code: 'BAD_ARGUMENT' })
  })

  test('cancelAfter refuses at the call what is no error', () =>
    virtual(function* () {
      yield* snooze()
      assert.throws(() => cancelAfter(10, () => sleep(), 42 as never), { code: 'BAD_ARGUMENT' })
    }))

  test('S70 an error class that throws when it is made fails the block, not the clock', () =>
    virtual(function* () {
      class Bad extends Error {
        constructor() {
          super()
          throw new Error('cannot be made')
        }
      }
      const other = spin(() => sleep(20))
      yield* assertFails(() => cancelAfter(10, () => sleep(), Bad))
      yield* other
    }))

  test('S70 an error class that throws at once leaves the fiber sound', () =>
    virtual(function* () {
      class Bad extends Error {
        constructor() {
          super()
          throw new Error('cannot be made')
        }
      }
      const result = yield* moveOnAfter(
        50,
        function* () {
          yield* assertFails(() => cancelAfter(0, () => sleep(), Bad))
          return 'in time'
        },
        'late',
      )
      assert.equal(result, 'in time')
    }))

  function* assertFails(make: () => Op<unknown>) {
    let failed = false
    try {
      yield* make()
    } catch {
      failed = true
    }
    assert.ok(failed)
  }

  test('a name that is no string is refused', () =>
    virtual(function* () {
      yield* snooze()
      assert.throws(() => spin({ name: Symbol('x') as never }, () => sleep(1)), { code: 'BAD_ARGUMENT' })
    }))

  test('spinLoop refuses a count that is no number', () =>
    virtual(function* () {
      yield* snooze()
      assert.throws(() => spinLoop(() => false, { count: 'x' as never }), { code: 'BAD_ARGUMENT' })
    }))

  test('S18 a grace that cannot be meant is refused when it is set', () =>
    virtual(function* () {
      yield* snooze()
      assert.throws(() => (Fiber.current.grace = Number.NaN), { code: 'BAD_ARGUMENT' })
    }))

  test('S08 a body may return any op, also one that only wraps another', () =>
    virtual(function* () {
      const wrapped: Op<string> = {
        [Symbol.iterator]() {
          const inner = moveOnAfter(5, () => sleep(), 'waited')[Symbol.iterator]()
          return {
            next: (value) => inner.next(value) as IteratorResult<Switchpoint, string>,
            throw: (error) => inner.throw!(error) as IteratorResult<Switchpoint, string>,
            return: (value) => inner.return!(value as never) as IteratorResult<Switchpoint, string>,
          }
        },
      }
      assert.equal(yield* spin(() => wrapped), 'waited')
    }))

  test('S66 a cancelAfter that has expired stays expired: reset() does not cancel twice', () =>
    virtual(function* () {
      const result = yield* cancelAfter(10, function* (timeout) {
        try {
          yield* sleep()
        } catch (e) {
          assert.ok(e instanceof Cancel)
          timeout.reset()
        }
        yield* sleep(50)
        return 'recovered'
      })
      assert.equal(result, 'recovered')
    }))
})

describe('virtual time and promises', () => {
  test('time does not jump past a promise that has resolved, even if another one never will', () =>
    virtual(function* () {
      spin(() => until(new Promise(() => {})))
      yield* sleep(1)
      assert.equal(yield* moveOnAfter(1000, () => until(Promise.resolve('value')), 'too late'), 'value')
    }))

  test('a promise of the real world comes, also beside a ticker that never ends', () =>
    virtual(function* () {
      spinLoop(() => {}, { interval: 1000 })
      const real = turns(100).then(() => 'came')
      assert.equal(yield* until(real), 'came')
    }))

  test('a deadlock is found, although a promise was left behind', async () => {
    const world = virtual(function* () {
      yield* moveOnAfter(5, () => until(new Promise(() => {})))
      yield* receive()
    })
    const hang = turns(1000).then(() => 'hangs')
    assert.notEqual(await Promise.race([world.catch(() => 'refused'), hang]), 'hangs')
  })

  for (const [name, answer] of [
    ['settles twice', (settle: (value: number) => void) => [settle(1), settle(2)]],
    [
      'throws',
      () => {
        throw new Error('x')
      },
    ],
  ] as const) {
    test(`S58 a thenable that ${name} leaves the count of pending promises right`, async () => {
      const world = virtual(function* () {
        try {
          yield* until(Object.defineProperty({}, 'then', { value: answer }) as PromiseLike<number>)
        } catch {}
        const two = [turns(5), Promise.resolve()]
        for (const promise of two) yield* until(promise)
        yield* receive() // a deadlock, and must be found
      })
      const hang = turns(1000).then(() => 'hangs')
      const end = await Promise.race([world.catch((e) => (e as Error).message), hang])
      assert.match(String(end), /waiting for receive/)
    })
  }
})

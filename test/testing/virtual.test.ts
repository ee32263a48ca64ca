import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Fiber, moveOnAfter, receive, sleep, snooze, spin, suspend, until } from 'polyphony'
import { Proco } from 'polyphony/proco'
import { virtual } from 'polyphony/testing'

describe('virtual', () => {
  it('runs a body and gives its result, however long it sleeps', async () => {
    const result = await virtual(function* () {
      for (let day = 0; day < 7; day++) yield* sleep(24 * 3_600_000)
      return 'a week later'
    })
    assert.equal(result, 'a week later')
  })

  it('a timer that async code sets while all fibers wait for that code is not missed', async () => {
    const result = await virtual(function* () {
      const proco = Proco.interval(100)
        .new<string, string>()
        .start((item) => item)
      async function later() {
        await null // the world rests by now, without any timer
        return await proco.submit('after the interval')
      }
      const value = yield* until(later())
      yield* proco.exit()
      return value
    })
    assert.equal(result, 'after the interval')
  })

  it('a timer that is due at once and wakes only async code does not end the world', async () => {
    const code = await virtual(function* () {
      const proco = Proco.interval(100)
        .new<string>()
        .start(() => {})
      const code = yield* until(proco.submit('late', { timeout: 0 }).catch((error) => error.code))
      yield* proco.exit()
      return code
    })
    assert.equal(code, 'TIMED_OUT')
  })

  it('a timer that async code takes away is not jumped to', async () => {
    const { time, state } = await virtual(function* () {
      const proco = Proco.interval(100)
        .new<string>()
        .start(() => {})
      const future = yield* proco.submitAsync('never')
      yield* until(
        Promise.resolve().then(
          () =>
            new Promise<void>((resolve) =>
              setImmediate(() => {
                future.cancel()
                setImmediate(() => setImmediate(() => setImmediate(() => setImmediate(resolve))))
              }),
            ),
        ),
      )
      yield* proco.exit()
      return { time: (Fiber.current as any).runtime.now(), state: future.state }
    })
    assert.deepEqual({ time, state }, { time: 0, state: 'cancelled' })
  })

  it('takes a plain body', async () => {
    assert.equal(await virtual(() => 42), 42)
    assert.equal(await virtual(() => sleep(1000)), undefined)
  })

  it('rejects with the error of the body', async () => {
    const error = new Error('mine')
    const failing = virtual(function* () {
      yield* sleep(1)
      throw error
    })
    await assert.rejects(failing, (thrown) => thrown === error)
  })

  it('rejects when nothing can ever happen again, and says who waits for what', async () => {
    const stuck = virtual(function* () {
      yield* spin('culprit', () => receive())
    })
    await assert.rejects(stuck, (error: Error & { code: string }) => {
      assert.equal(error.code, 'DEADLOCK')
      assert.match(error.message, /culprit.*waiting for receive\(\)/)
      return true
    })
  })

  it('rejects when something is left behind', async () => {
    const leaking = virtual(function* () {
      Fiber.outOfBand(() => sleep())
      yield* snooze()
    })
    await assert.rejects(leaking, (error: Error & { code: string }) => {
      assert.equal(error.code, 'LEAK')
      assert.match(error.message, /1 fibers/)
      return true
    })
  })

  it('S64 a bare suspend() in main returns when all else is done (decision 5)', () =>
    virtual(function* () {
      const log: string[] = []
      spin(function* () {
        yield* sleep(1000)
        log.push('woke up')
      })
      assert.equal(yield* suspend(), undefined)
      assert.deepEqual(log, ['woke up'])
    }))

  it('serves promises before time jumps past them', () =>
    virtual(function* () {
      const soon = new Promise((resolve) => setImmediate(resolve, 'came'))
      assert.equal(yield* moveOnAfter(1000, () => until(soon), 'timed out'), 'came')
    }))

  it('lets time pass while a promise does not come', () =>
    virtual(function* () {
      const never = new Promise(() => {})
      assert.equal(yield* moveOnAfter(1000, () => until(never), 'timed out'), 'timed out')
    }))

  it('refuses unknown options by name', async () => {
    await assert.rejects(
      virtual(() => 1, { speed: 2 } as never),
      /speed/,
    )
  })

  it('many worlds at once do not meet', async () => {
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        virtual(function* () {
          yield* until(Promise.resolve())
          yield* sleep(n * 1000)
          return n
        }),
      ),
    )
    assert.deepEqual(
      results,
      Array.from({ length: 20 }, (_, n) => n),
    )
  })
})

describe('seeds', () => {
  /** The order in which five fibers of three steps each run. */
  async function order(seed: number | undefined): Promise<string> {
    const log: string[] = []
    await virtual(
      function* () {
        const fibers = Array.from({ length: 5 }, (_, n) =>
          spin(function* () {
            for (let i = 0; i < 3; i++) {
              log.push(`${n}`)
              yield* snooze()
            }
          }),
        )
        yield* Fiber.await(...fibers)
      },
      seed === undefined ? {} : { seed },
    )
    return log.join('')
  }

  it('the same seed gives the same order', async () => {
    for (let seed = 1; seed <= 10; seed++) assert.equal(await order(seed), await order(seed))
  })

  it('POLY_SEED is the seed where none is given', async () => {
    const before = process.env.POLY_SEED
    try {
      process.env.POLY_SEED = '7'
      assert.equal(await order(undefined), await order(7))
      process.env.POLY_SEED = '8'
      assert.notEqual(await order(undefined), await order(7))
    } finally {
      if (before === undefined) delete process.env.POLY_SEED
      else process.env.POLY_SEED = before
    }
  })

  it('different seeds give different orders, but everything runs', async () => {
    const orders = new Set<string>()
    for (let seed = 1; seed <= 20; seed++) orders.add(await order(seed))
    assert.ok(orders.size >= 15, `only ${orders.size} orders`)
    for (const one of orders) assert.equal([...one].sort().join(''), '000111222333444')
  })
})

// until, waited for and left again: what a promise keeps of those who come and go.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Fiber, moveOnAfter, sleep, snooze, spin, until } from 'polyphony'
import { explore, raiseEverywhere, stopEverywhere, virtual } from 'polyphony/testing'

function deferred<T>() {
  let resolve!: (value: T) => void
  let reject!: (error: unknown) => void
  const promise = new Promise<T>((yes, no) => {
    resolve = yes
    reject = no
  })
  return { promise, resolve, reject }
}

/** Lets promises settle and callbacks run. */
const loopTurns = () => until(new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve))))
const external = () => (Fiber.current as any).runtime.external as number

describe('S58 a promise that lives long', () => {
  it('is looked at once, however often fibers wait for it and leave', () =>
    virtual(function* () {
      let looks = 0
      class Watched<T> extends Promise<T> {
        // biome-ignore lint/suspicious/noThenProperty: it counts the looks
        override then(...args: any[]): any {
          looks++
          return (super.then as any)(...args)
        }
      }
      const promise = new Watched<void>(() => {})
      for (let i = 0; i < 20; i++) {
        yield* moveOnAfter(1, () => until(promise))
        yield* moveOnAfter(1, () => until(() => promise))
        const fiber = spin(function* () {
          Fiber.current.stop()
          yield* until(promise)
        })
        yield* fiber.join()
      }
      yield* loopTurns()
      assert.equal(looks, 1)
    }))

  it('answers all who wait at its end, those who came back and those who never left', () =>
    virtual(function* () {
      const { promise, resolve } = deferred<number>()
      const faithful = spin(() => until(promise))
      yield* sleep(1)
      const left = spin(() => moveOnAfter(5, () => until(promise), -1))
      const back = spin(function* () {
        yield* moveOnAfter(5, () => until(promise))
        return yield* until(promise)
      })
      yield* sleep(10)
      const newcomer = spin(() => until(promise))
      yield* sleep(1)
      resolve(7)
      assert.deepEqual(yield* Fiber.await(faithful, left, back, newcomer), [7, -1, 7, 7])
      assert.equal(external(), 0)
      assert.equal(yield* until(promise), 7)
    }))

  it('fails all who wait, and is no unhandled rejection for those who left', () =>
    virtual(function* () {
      const { promise, reject } = deferred<number>()
      yield* moveOnAfter(1, () => until(promise))
      const fibers = [1, 2].map(() => spin({ link: false }, () => until(promise)))
      yield* sleep(1)
      reject(new Error('no'))
      for (const fiber of fibers) assert.equal((yield* fiber.join()).type, 'error')
      assert.equal(external(), 0)
    }))

  it('has its late value discarded once by each who left and did not come back', () =>
    virtual(function* () {
      const { promise, resolve } = deferred<number>()
      const discarded: string[] = []
      const op = (name: string) => until(promise, { discard: (n) => void discarded.push(`${name} ${n}`) })
      const returning = op('returning')
      for (const each of [op('first'), op('second'), returning]) yield* moveOnAfter(1, () => each)
      const fiber = spin(() => returning)
      const leaving = op('leaving twice')
      for (let i = 0; i < 2; i++) yield* moveOnAfter(1, () => leaving)
      resolve(7)
      assert.equal(yield* fiber, 7)
      yield* loopTurns()
      assert.deepEqual(discarded, ['first 7', 'second 7', 'leaving twice 7'])
    }))

  it('of each call of a function is its own: the late values of all are discarded', () =>
    virtual(function* () {
      const calls = [deferred<number>(), deferred<number>(), deferred<number>()]
      const discarded: number[] = []
      let n = 0
      const op = until(() => (calls[n++] as (typeof calls)[number]).promise, {
        discard: (value) => void discarded.push(value),
      })
      for (let i = 0; i < 2; i++) yield* moveOnAfter(1, () => op)
      const fiber = spin(() => op)
      yield* sleep(1)
      for (const [i, { resolve }] of calls.entries()) resolve(i)
      assert.equal(yield* fiber, 2)
      yield* loopTurns()
      assert.deepEqual(discarded, [0, 1])
    }))

  it('S34 in every order with a killer, each of three waiters has the value or was stopped', (t) => {
    const { schedules } = explore(
      function* () {
        const { promise } = deferred<number>()
        const waiters = [1, 2, 3].map(() =>
          spin(function* () {
            yield* moveOnAfter(1, () => until(promise))
            yield* moveOnAfter(1, () => until(promise))
          }),
        )
        spin(() => void waiters[1]?.stop())
        spin(() => void waiters[2]?.kill())
        for (const waiter of waiters) yield* waiter.join()
        assert.equal(external(), 0)
      },
      { maxSchedules: 20_000 },
    )
    t.diagnostic(`${schedules} schedules`)
    assert.ok(schedules > 100)
  })

  it('stopped or raised in at every switchpoint, nothing counts as waited for any more', () => {
    const { promise } = deferred<number>()
    let runtime: any
    const everyone = function* () {
      runtime = (Fiber.current as any).runtime
      const waiters = [1, 2].map(() => spin({ link: false }, () => moveOnAfter(1, () => until(promise))))
      yield* snooze()
      for (const waiter of waiters) yield* waiter.join()
    }
    const check = () => assert.equal(runtime.external, 0)
    stopEverywhere(everyone, { check })
    raiseEverywhere(everyone, { check })
  })

  it('wrong options are told in words', () => {
    assert.throws(() => until(Promise.resolve(), { discard: 5 as any }), /needs a function as discard, got 5/)
    assert.throws(() => until(Promise.resolve(), { drop: 5 } as any), /until\(\) has no option "drop"/)
  })
})

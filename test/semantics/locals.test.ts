// Fiber-local values (S56).

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createLocal, Fiber, type Local, moveOnAfter, scope, sleep, snooze, spin, transfer } from 'polyphony'
import { stopEverywhere, virtual } from 'polyphony/testing'

describe('fiber-local values', () => {
  it('S56 a value that was never set is the default, outside any fiber too', () =>
    virtual(function* () {
      assert.equal(createLocal(5).get(), 5)
      assert.equal(createLocal().get(), undefined)
      yield* sleep(1)
    }).then(() => assert.equal(createLocal('outside').get(), 'outside')))

  it('S56 a child starts with the values its parent has when it is spun', () =>
    virtual(function* () {
      const color = createLocal('none')
      color.set('red')
      const child = spin(function* () {
        const first = color.get()
        yield* sleep(10)
        return [first, color.get()]
      })
      color.set('green') // before the child ran one line
      yield* sleep(5)
      color.set('blue')
      assert.deepEqual(yield* child, ['red', 'red'])
    }))

  it('S56 what a child sets is its own: neither parent nor sibling sees it', () =>
    virtual(function* () {
      const color = createLocal('none')
      color.set('red')
      const paint = (value: string) =>
        spin(function* () {
          color.set(value)
          yield* sleep(5)
          return color.get()
        })
      const children = [paint('green'), paint('blue')]
      assert.deepEqual(yield* Fiber.await(...children), ['green', 'blue'])
      assert.equal(color.get(), 'red')
    }))

  it('S56 grandchildren inherit from their parent, not from the root', () =>
    virtual(function* () {
      const color = createLocal('none')
      color.set('root')
      const child = spin(function* () {
        color.set('child')
        return yield* spin(() => color.get()).await()
      })
      assert.equal(yield* child, 'child')
    }))

  it('S56 two locals are independent, undefined is a value', () =>
    virtual(function* () {
      const a: Local<string | undefined> = createLocal<string | undefined>('a')
      const b = createLocal('b')
      a.set(undefined)
      assert.equal(a.get(), undefined)
      assert.equal(b.get(), 'b')
      const child = spin(() => [a.get(), b.get()])
      assert.deepEqual(yield* child, [undefined, 'b'])
    }))

  it('S56 with gives a block another value and puts the old one back, after an error too', () =>
    virtual(function* () {
      const color = createLocal('none')
      const error = new Error('no')
      const seen = yield* color.with('red', function* () {
        yield* sleep(1)
        return [color.get(), yield* color.with('blue', () => color.get()), color.get()]
      })
      assert.deepEqual(seen, ['red', 'blue', 'red'])
      try {
        yield* color.with('red', function* () {
          yield* sleep(1)
          throw error
        })
      } catch (e) {
        assert.equal(e, error)
      }
      assert.equal(color.get(), 'none')
    }))

  it('S56 with puts the old value back when a time-out ends it', () =>
    virtual(function* () {
      const color = createLocal('none')
      color.set('old')
      yield* moveOnAfter(5, () => color.with('red', () => sleep()))
      assert.equal(color.get(), 'old')
    }))

  it('S56 a child spun inside with keeps the value when the block is over', () =>
    virtual(function* () {
      const request = createLocal('none')
      let child!: Fiber<string>
      yield* request.with('r-1', function* () {
        child = spin(function* () {
          yield* sleep(10)
          return request.get()
        })
      })
      assert.equal(request.get(), 'none')
      assert.equal(yield* child.await(), 'r-1')
    }))

  it('S56 what is set inside with, of other locals, stays', () =>
    virtual(function* () {
      const [a, b] = [createLocal('a'), createLocal('b')]
      yield* a.with('inner', function* () {
        b.set('set inside')
      })
      assert.deepEqual([a.get(), b.get()], ['a', 'set inside'])
    }))

  it('S56 two fibers interleaved in with do not disturb each other', () =>
    virtual(function* () {
      const id = createLocal(0)
      const fibers = [1, 2, 3].map((n) =>
        spin(() =>
          id.with(n, function* () {
            for (let i = 0; i < 5; i++) {
              yield* snooze()
              assert.equal(id.get(), n)
            }
          }),
        ),
      )
      yield* Fiber.await(...fibers)
      assert.equal(id.get(), 0)
    }))

  it('S56 fiber.spin gives the child the values of that fiber', () =>
    virtual(function* () {
      const color = createLocal('none')
      const owner = spin(function* () {
        color.set('owner')
        yield* sleep(20)
      })
      yield* sleep(1)
      color.set('spinner')
      assert.equal(yield* owner.spin(() => color.get()), 'owner')
      yield* owner.join()
    }))

  it('S56 moving a fiber does not change its values', () =>
    virtual(function* () {
      const color = createLocal('none')
      const other = spin(function* () {
        color.set('other')
        yield* sleep(20)
      })
      color.set('first')
      const child = spin(function* () {
        yield* sleep(10)
        return color.get()
      })
      yield* sleep(1)
      child.attachTo(other)
      assert.equal(yield* child.await(), 'first')
      yield* other.join()
    }))

  it('S56 a raw fiber starts with the values of its maker', () =>
    virtual(function* () {
      const color = createLocal('none')
      color.set('maker')
      const raw = new Fiber(function* () {
        return color.get()
      })
      color.set('later')
      assert.equal(yield* transfer(raw), 'maker')
    }))

  it('S56 values are back in place wherever a fiber in with is stopped', () => {
    stopEverywhere(function* () {
      const color = createLocal('none')
      try {
        yield* scope(() => color.with('red', () => sleep(5)))
      } finally {
        assert.equal(color.get(), 'none')
      }
    })
  })
})

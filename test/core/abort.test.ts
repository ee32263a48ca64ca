// AbortSignals that fibers share: one listener for all of them, and none afterwards.

import { listeners } from '../interop/outside.js'
import { assert, describe, Fiber, failAfter, sleep, spin, test } from '../prelude.js'

describe('a signal that fibers listen to', () => {
  test('has one listener, which goes with the last fiber, whichever way that ends', function* () {
    const { signal } = new AbortController()
    const ends = [() => sleep(5), () => failAfter(5, new Error('broken'))]
    for (const body of ends) {
      const fibers = [1, 2].map(() => spin({ signal, link: false }, body))
      assert.equal(listeners(signal), 1)
      yield* fibers[0]?.stop() as any
      assert.equal(listeners(signal), 1)
      yield* fibers[1]?.join() as any
      assert.equal(listeners(signal), 0)
    }
  })

  test('stops all of them when it aborts, also if one stops another', function* () {
    const controller = new AbortController()
    const { signal } = controller
    const fibers = Array.from({ length: 100 }, () => spin({ signal }, () => sleep()))
    yield* sleep(1)
    fibers[0]?.signal.addEventListener('abort', () => fibers[1]?.kill())
    controller.abort()
    yield* Fiber.current.joinChildren()
    assert.ok(fibers.every(({ outcome }) => outcome?.type === 'stopped'))
    assert.equal(listeners(signal), 0)
  })

  test('has one listener however often a fiber is restarted', function* () {
    const { signal } = new AbortController()
    const fiber = spin({ signal }, () => sleep())
    for (let i = 0; i < 5; i++) {
      yield* sleep(1)
      fiber.restart()
      assert.equal(listeners(signal), 1)
    }
    yield* fiber.stop()
    assert.equal(listeners(signal), 0)
    fiber.restart()
    yield* fiber.stop()
    assert.equal(listeners(signal), 0)
  })
})

// How many ready ops a fiber may take in a row (S50).

import { BaseOp, settle } from '#core/index'
import { assert, describe, Fiber, shield, spin, tap, test } from '../prelude.js'

/** Always ready; counts how often it was entered. */
class Ready extends BaseOp<void> {
  entered = 0
  enter(fiber: Fiber): void {
    this.entered++
    settle(fiber, this, undefined)
  }
  abort(): void {}
  describe(): string {
    return 'ready'
  }
}

describe('the budget', () => {
  for (const [what, step, before] of [
    ['', 129, () => {}], // the op that found the budget spent was entered too
    [', also while a stop is held', 128, () => void Fiber.current.stop()],
  ] as const) {
    test(`a fiber takes 128 ready ops in one turn, and not one more${what}`, function* () {
      const ready = new Ready()
      const perTurn: number[] = []
      const worker = spin(() =>
        shield(function* () {
          before()
          while (ready.entered < 1000) yield* ready
        }),
      )
      const untap = tap(
        (event, fiber) => event === 'unblock' && fiber === worker && perTurn.push(ready.entered),
      )
      yield* worker.join()
      untap()
      assert.deepEqual(perTurn, [0, ...Array.from({ length: 7 }, (_, i) => 128 + i * step)])
    })
  }
})

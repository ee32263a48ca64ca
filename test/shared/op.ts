// What every op that is one object for each wait promises. Ops that serve all waits at once are tested as lines.

import { assert, type Op, sleep, spin, started, test, thrownBy } from '../prelude.js'

/** `make` gives an op that waits for ten milliseconds. */
export function anOp(name: string, make: () => Op<unknown>): void {
  test(`${name} serves one wait at a time, and may be used again, also after a stop`, function* () {
    const op = make()
    const first = yield* started(() => op)
    const error = yield* thrownBy(op)
    assert.deepEqual(
      [error.code, /already being waited for by main > /.test(error.message)],
      ['BAD_ARGUMENT', true],
    )
    yield* first.stop()
    for (let n = 0; n < 2; n++) {
      const again = spin(() => op)
      yield* sleep(5)
      assert.equal(again.state, 'waiting')
      yield* again
    }
  })
}

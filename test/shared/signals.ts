// Signals that have been delivered to the fiber that goes on: what comes after them begins with a fresh budget (S50).

import { after, cancelAfter, Fiber, moveOnAfter, type Op, type Routine, sleep, spin } from 'polyphony'
import { failing, thrownBy } from '../prelude.js'

export const signals: [what: string, strike: () => Op<unknown>][] = [
  ['a moveOnAfter that expired', () => moveOnAfter(5, () => sleep())],
  ['a moveOnAfter of 0 ms', () => moveOnAfter(0, () => sleep())],
  ['a cancelAfter that expired', () => thrownBy(cancelAfter(5, () => sleep()))],
  ['a raise while it waited', raised],
  ['a raise before its switchpoint', raisedByItself],
  ['a cancel', cancelled],
  ['the error of a child', childFailed],
]

function* raised(): Routine<void> {
  const self = Fiber.current
  after(5, () => void self.raise('raised'))
  yield* thrownBy(sleep())
}

function* raisedByItself(): Routine<void> {
  Fiber.current.raise('raised')
  yield* thrownBy(sleep())
}

function* cancelled(): Routine<void> {
  const self = Fiber.current
  after(5, () => void self.cancel())
  yield* thrownBy(sleep())
}

function* childFailed(): Routine<void> {
  spin(() => failing('child'))
  yield* thrownBy(sleep())
}

// all and allSettled: wait for every item of a list. `all` returns the values, `allSettled` the outcomes. What they share
// with `race` and `any` is in contest.ts.

import { type Op, op } from '../core/index.js'
import {
  type Checked,
  Contest,
  checkList,
  type ItemOutcomes,
  type ItemResults,
  type Offered,
} from './contest.js'
import type { Member } from './team.js'

class All extends Contest {
  protected decides(member: Member): boolean {
    return !member.hasValue
  }
  protected result(): unknown[] {
    if (this.decider !== null) throw this.tell(this.decider)
    return [...this.members].map((member) => member.value)
  }
}

class AllSettled extends Contest {
  protected decides(): boolean {
    return false
  }
  protected result(): unknown[] {
    for (const member of this.members) member.isTold = true
    return [...this.members].map((member) => member.outcome)
  }
}

/**
 * Runs ops and bodies at the same time, each in a child, and returns their values in order. The first error stops the
 * others, waits for them, and is thrown; later ones are in its `suppressed` (S23, S28). A `Fiber` in the list is only
 * awaited.
 *
 * ```ts
 * function* square(n: number) {
 *   yield* sleep(n)
 *   return n * n
 * }
 * const [nine, four, word] = yield* all([square(3), () => square(2), () => 'plain'])
 * console.log(nine, four, word) // 9 4 plain
 * ```
 */
export function all<const L extends readonly Offered[]>(list: L & Checked<L>): Op<ItemResults<L>> {
  const items = checkList(list, 'all()')
  return op('all()', () => new All(items, 'all()').run())
}

/**
 * Runs ops and bodies at the same time, each in a child, and returns the outcome of each, in order. It does not throw if
 * they fail. A `Fiber` in the list is only awaited.
 *
 * ```ts
 * const outcomes = yield* allSettled([
 *   () => 'fine',
 *   () => {
 *     throw new Error('broken')
 *   },
 * ])
 * console.log(outcomes.map((outcome) => outcome.type)) // [ 'value', 'error' ]
 * ```
 */
export function allSettled<const L extends readonly Offered[]>(list: L & Checked<L>): Op<ItemOutcomes<L>> {
  const items = checkList(list, 'allSettled()')
  return op('allSettled()', () => new AllSettled(items, 'allSettled()', { isTolerant: true }).run())
}

// race and any: `race` takes the first item of a list that ends, `any` the first that succeeds. Losers are stopped and
// awaited before either returns (S37). What they share with `all` is in contest.ts.

import { check, type Op, op } from '../core/index.js'
import { DISCARD_OPTIONS } from '../interop/index.js'
import {
  type Checked,
  Contest,
  checkContenders,
  type ItemResult,
  type Offered,
  type RaceOptions,
} from './contest.js'
import type { Member } from './team.js'

class Race extends Contest {
  override get endsEarly(): boolean {
    return true
  }
  protected decides(_member: Member): boolean {
    return true
  }
  protected result(): unknown {
    const winner = this.decider as Member
    if (!winner.hasValue) throw this.tell(winner)
    this.stopHired(`${winner.target.name} won ${this.where}`)
    winner.isTold = true
    return winner.value
  }
}

class Any extends Race {
  protected override decides(member: Member): boolean {
    return member.hasValue
  }
  protected override result(): unknown {
    if (this.decider !== null) return super.result()
    const failures = [...this.members].map((member) => this.tell(member))
    throw new AggregateError(
      failures,
      `all ${failures.length} contenders of any() in ${this.host.path} failed; their errors are in \`errors\`, in order`,
    )
  }
}

/**
 * Runs ops and bodies at the same time, each in a child; the first to end wins, with its value or its error. The others
 * are stopped, and have cleaned up before `race` returns (S37). Values of losers are dropped, or passed to `discard`; an
 * error of a loser's cleanup is thrown. A `Fiber` in the list is only awaited.
 *
 * ```ts
 * function* answer(word: string, ms: number) {
 *   yield* sleep(ms)
 *   return word
 * }
 * console.log(yield* race([() => answer('hare', 30), () => answer('tortoise', 20)])) // tortoise
 * ```
 */
export function race<const L extends readonly Offered[]>(
  list: L & Checked<L>,
  options: RaceOptions<ItemResult<L[number]>> = {},
): Op<ItemResult<L[number]>> {
  const items = checkContenders(list, 'race()')
  const { discard } = check.options(options, DISCARD_OPTIONS, 'race()')
  return op('race()', () => new Race(items, 'race()', { discard }).run())
}

/**
 * Runs ops and bodies at the same time, each in a child; the first value wins, and the others are stopped and awaited
 * as in `race` (S37). Contenders may fail; if all do, `any` throws an `AggregateError` with their errors. A contender
 * that was stopped counts as failed.
 *
 * ```ts
 * function* mirror(name: string, ms: number) {
 *   yield* sleep(ms)
 *   if (name === 'near') throw new Error('out of order')
 *   return `from ${name}`
 * }
 * console.log(yield* any([() => mirror('near', 10), () => mirror('far', 50)])) // from far
 * ```
 */
export function any<const L extends readonly Offered[]>(
  list: L & Checked<L>,
  options: RaceOptions<ItemResult<L[number]>> = {},
): Op<ItemResult<L[number]>> {
  const items = checkContenders(list, 'any()')
  const { discard } = check.options(options, DISCARD_OPTIONS, 'any()')
  return op('any()', () => new Any(items, 'any()', { isTolerant: true, discard }).run())
}

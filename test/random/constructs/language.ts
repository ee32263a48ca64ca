// What random programs say to the constructs, as plain data like the rest of the language (../program.ts).
//
// A program has a shop (shop.ts) with a few of each: queues, mutexes, semaphores and so on. A statement names one by any
// number, modulo how many there are. Where several fibers are run together, each statement of the body is one of them.

import fc from 'fast-check'
import type { Statement } from '../program.js'

export type Construct =
  // queues
  | { do: 'push' | 'tryPush' | 'unshift' | 'shift' | 'tryShift' | 'next'; which: number }
  | { do: 'shiftAll' | 'clear' | 'closeQueue'; which: number }
  | { do: 'capacity'; which: number; most: number }
  // locks and permits; 'lock' and 'acquire' by hand, 'synchronize' and 'permit' with a body; 'forget' never unlocks
  | {
      do: 'lock' | 'tryLock' | 'synchronize' | 'acquire' | 'tryAcquire' | 'permit'
      which: number
      body: Statement[]
    }
  | { do: 'forget'; which: number }
  | { do: 'limit'; which: number; most: number }
  // conditions and events
  | { do: 'conditionWait' | 'signal' | 'broadcast' | 'eventWait' | 'happen' | 'reset'; which: number }
  // pools: `tune` says what create, validate and destroy do from now on
  | { do: 'lease'; which: number; discard: boolean; body: Statement[] }
  | { do: 'fill' | 'closePool'; which: number }
  | { do: 'tune'; which: number; create: Upkeep; validate: Upkeep | 'refuse'; destroy: Upkeep }
  | { do: 'throttle' | 'tryThrottle'; which: number }
  // messages
  | { do: 'pushTo'; of: number }
  | { do: 'cap'; of: number; most: number }
  | { do: 'pick'; odd: boolean }
  | { do: 'serve'; how: 'reply' | 'fail' | 'ignore' | 'later' }
  | { do: 'call'; of: number; timeout?: number }
  // resources of a scope
  | { do: 'use'; ms: number; fails: boolean }
  // several fibers at a time
  | { do: 'all' | 'allSettled' | 'race' | 'any'; body: Statement[] }
  | { do: 'forEach'; items: number; concurrency: number; body: Statement[] }
  | { do: 'retry'; times: number; ms: number; body: Statement[] }
  | {
      do: 'supervise'
      strategy: 'oneForOne' | 'oneForAll' | 'restForOne'
      restart: 'always' | 'onError' | 'never'
      until: 'any' | 'all' | 'never'
      ms: number
      body: Statement[]
    }

/** It takes so many milliseconds, fails after a while, or throws at once. */
export type Upkeep = number | 'fail' | 'throw'

type Weighted = fc.WeightedArbitrary<Statement>

const GROUPS = ['queues', 'locks', 'signals', 'pools', 'throttlers', 'messages', 'teams'] as const
export type Group = (typeof GROUPS)[number]

/** A program uses a few kinds of constructs, so that its fibers meet at them. */
export const groups: fc.Arbitrary<Group[]> = fc.subarray([...GROUPS], { minLength: 1, maxLength: 3 })
/** How often statements of all groups together come up, beside those of the core. */
const WEIGHT = 60

/** The statements of some groups, each as often as its weight says. */
export function constructs(
  chosen: readonly Group[],
  inner: fc.Arbitrary<Statement[]>,
  target: fc.Arbitrary<number>,
): Weighted[] {
  const which = fc.nat({ max: 2 })
  const ms = fc.nat({ max: 9 })
  const most = fc.integer({ min: 1, max: 3 })
  const upkeep = fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 6 }), fc.constantFrom('fail', 'throw'))
  const some = fc.constantFrom
  const make = (weight: number, fields: Record<string, fc.Arbitrary<unknown>>) =>
    ({ weight, arbitrary: fc.record(fields) }) as unknown as Weighted
  const all: Record<Group, Weighted[]> = {
    queues: [
      make(8, { do: some('push', 'push', 'push', 'tryPush', 'unshift'), which }),
      make(8, { do: some('shift', 'shift', 'shift', 'next', 'tryShift'), which }),
      make(1, { do: some('shiftAll', 'clear', 'closeQueue'), which }),
      make(1, { do: fc.constant('capacity'), which, most }),
    ],
    locks: [
      make(6, { do: some('lock', 'synchronize', 'synchronize', 'tryLock'), which, body: inner }),
      make(6, { do: some('acquire', 'permit', 'permit', 'tryAcquire'), which, body: inner }),
      make(1, { do: fc.constant('forget'), which }),
      make(2, { do: fc.constant('limit'), which, most }),
    ],
    signals: [
      make(4, { do: fc.constant('conditionWait'), which }),
      make(3, { do: some('signal', 'signal', 'broadcast'), which }),
      make(3, { do: fc.constant('eventWait'), which }),
      make(2, { do: some('happen', 'happen', 'reset'), which }),
    ],
    pools: [
      make(9, { do: fc.constant('lease'), which, discard: some(false, false, false, true), body: inner }),
      make(2, { do: some('fill', 'fill', 'closePool'), which }),
      make(4, {
        do: fc.constant('tune'),
        which,
        create: upkeep,
        validate: fc.oneof(upkeep, fc.constant('refuse')),
        destroy: upkeep,
      }),
    ],
    throttlers: [make(3, { do: some('throttle', 'throttle', 'tryThrottle'), which })],
    messages: [
      make(4, { do: fc.constant('pushTo'), of: target }),
      make(2, { do: fc.constant('cap'), of: target, most }),
      make(2, { do: fc.constant('pick'), odd: fc.boolean() }),
      make(4, { do: fc.constant('serve'), how: some('reply', 'reply', 'fail', 'ignore', 'later') }),
      make(4, { do: fc.constant('call'), of: target, timeout: fc.option(ms, { nil: undefined }) }),
    ],
    teams: [
      make(3, { do: fc.constant('use'), ms, fails: some(false, false, false, true) }),
      make(5, { do: some('all', 'allSettled', 'race', 'any'), body: inner }),
      make(2, { do: fc.constant('forEach'), items: most, concurrency: most, body: inner }),
      make(2, { do: fc.constant('retry'), times: most, ms, body: inner }),
      make(3, {
        do: fc.constant('supervise'),
        strategy: some('oneForOne', 'oneForAll', 'restForOne'),
        restart: some('always', 'onError', 'onError', 'never'),
        until: some('all', 'all', 'any', 'never'),
        ms,
        body: inner,
      }),
    ],
  }
  const list = chosen.flatMap((group) => all[group])
  const factor = WEIGHT / list.reduce((sum, { weight }) => sum + weight, 0)
  return list.map(({ weight, arbitrary }) => ({ weight: Math.ceil(weight * factor), arbitrary }))
}

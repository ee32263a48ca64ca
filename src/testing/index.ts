// polyphony/testing: time that jumps, schedules that can be chosen, things that go wrong on purpose.
// Part of the product: test your fibers with what these were tested with.

export {
  DisturbanceFailed,
  type EverywhereOptions,
  type EverywhereResult,
  failEverywhere,
  InjectedFailure,
  raiseEverywhere,
  stopEverywhere,
} from './everywhere.js'
export { type Exploration, type ExploreOptions, explore, ScheduleFailed } from './explore.js'
export { type Leaks, leaks } from './leaks.js'
export { type Sequence, sequence } from './sequence.js'
export { virtual } from './virtual.js'
export { LeakError } from './world.js'

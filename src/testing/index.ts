// polyphony/testing: a virtual clock, chosen schedules, injected failures, leak checks. It is public, and polyphony's own
// tests use it.

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
export { type VirtualOptions, virtual } from './virtual.js'
export { LeakError } from './world.js'

// Combinators: several ops or bodies at once (all, allSettled, race, any), many items with a few fibers (forEach), the
// same body again (retry).

export { all, allSettled } from './all.js'
export type { RaceOptions } from './contest.js'
export { type ForEachOptions, forEach } from './for-each.js'
export { any, race } from './race.js'
export { type RetryOptions, retry } from './retry.js'

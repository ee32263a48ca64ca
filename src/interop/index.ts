// The bridge to the async world.

export { checkItems, each, type Items, iterate, sourceOf } from './iterate.js'
export { SyncSource } from './sources.js'
export { type UntilOptions, until } from './until.js'
export { use } from './use.js'

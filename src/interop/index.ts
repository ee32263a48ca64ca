// The bridge to the async world.

export { type ActionOptions, action, type Start } from './action.js'
export type { DiscardOptions } from './discard.js'
export { Events, type OnceOptions, type OnOptions, on, once } from './events.js'
export { checkItems, each, type Items, iterate, sourceOf } from './iterate.js'
export type { Emitter, EventName } from './listen.js'
export { SyncSource } from './sources.js'
export { type UntilOptions, until } from './until.js'
export { use } from './use.js'
